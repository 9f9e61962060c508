//! A bound on preemptions together with a reduction: `dpor preemptions(k)` beside the traces that there are within the bound, and
//! beside `dfs preemptions(k) cache`.
//!
//! All programs of the registry and all unit tests of the corpus that have no failure, at their defaults, if `dfs preemptions(k)`
//! finishes them soon. What is within the bound is counted by that search, which runs every execution within it. Those that it does
//! not finish, and those of which one of the searches claims less than all within the bound, are named.

use std::collections::BTreeSet;

use raddle_corpus::unit_tests::UNIT_TESTS;
use raddle_corpus::{Expected, Program, REGISTRY};
use raddle_engine::strategy::{Checkpoint, Divisible as _, Resumable as _};
use raddle_engine::{Ended, Limits, Setup, Stop, Strategy, explore_observed};
use raddle_search::order::NonPreemptive;
use raddle_search::{Bound, DepthFirst, Memoryless, TraceCounter};
use raddle_trace::{Assumption, Covered};

use crate::numbers::{grouped, shown};
use crate::table::Table;

/// Executions of `dfs preemptions(k)`, at most.
const MAX_EXECUTIONS: u64 = 20_000;

/// What a search came to.
struct Ran {
    traces: BTreeSet<u64>,
    /// Those that were cut too.
    executions: u64,
    covered: Covered,
    /// Tasks were held back, or executions ended by a limit: then there may be more than was run.
    less: bool,
}

/// Runs a whole search; none if it has more than so many executions.
fn run(mut strategy: impl Strategy, most: u64, program: &Program, body: &dyn Fn()) -> Option<Ran> {
    let mut traces = TraceCounter::new(usize::MAX);
    let usual = Limits::default();
    let steps = program.steps.unwrap_or(usual.steps);
    let limits = Limits { executions: most, steps, ..usual };
    let setup = Setup { limits, keep_going: true, ..Setup::default() };
    let (lap, pulse) = (&mut |_| Stop::No, &mut |_| {});
    let explored = explore_observed(&mut strategy, &mut [&mut traces], &setup, lap, pulse, body)
        .expect("no search runs around this one");
    let executions = explored.counts.executions + explored.counts.blocked;
    let covered = strategy.covered();
    let held_back = explored.assumptions.contains(&Assumption::FairYields);
    let less = held_back || explored.counts.rejected > 0;
    let ended = explored.ended == Ended::Covered;
    ended.then(|| Ran { traces: traces.seen().clone(), executions, covered, less })
}

/// Executions of `dpor preemptions(k)` that are within the bound, or lead to one that is by the units that they open: what would be
/// left if the bound on what a unit costs were never too low. With whether the first of them is one.
fn leading(
    k: u32,
    unit: Option<&Checkpoint>,
    within: &BTreeSet<u64>,
    body: &dyn Fn(),
) -> Option<(u64, bool)> {
    let mut search = Memoryless::within(k);
    if let Some(unit) = unit {
        search.restore(unit).ok()?;
    }
    let mut traces = TraceCounter::new(usize::MAX);
    let limits = Limits { executions: 1, ..Limits::default() };
    let setup = Setup { limits, keep_going: true, ..Setup::default() };
    let (lap, pulse) = (&mut |_| Stop::No, &mut |_| {});
    explore_observed(&mut search, &mut [&mut traces], &setup, lap, pulse, body).ok()?;
    let (mut leading_ones, mut leads) = (0, !traces.seen().is_disjoint(within));
    for part in search.split(usize::MAX).ok()? {
        let (more, also) = leading(k, Some(&part.state), within, body)?;
        leading_ones += more;
        leads |= also;
    }
    Some((leading_ones + u64::from(leads), leads))
}

fn within(k: u32) -> DepthFirst {
    DepthFirst::within(NonPreemptive, Bound::Preemptions(k)).expect("its order does not preempt")
}

/// All within a bound that were counted, by search.
struct Searched {
    all: Ran,
    bounded: Ran,
    cached: Ran,
    /// Executions that lead to one within the bound.
    leading: Option<u64>,
}

/// Why there is no row of a program.
enum Left {
    /// `dfs` does not finish it.
    Unfinished,
    /// `dfs` claims less than all within the bound.
    Less,
    /// `dfs` claims all within the bound, and the reduction does not.
    LessReduced,
    /// `dfs` finishes it, and this search does not even with ten times as many executions.
    TooLong(&'static str),
}

fn search(k: u32, program: &Program, body: &dyn Fn()) -> Result<Searched, Left> {
    let all = run(within(k), MAX_EXECUTIONS, program, body).ok_or(Left::Unfinished)?;
    if all.less || all.covered != Covered::Preemptions(k) {
        return Err(Left::Less);
    }
    let most = 10 * MAX_EXECUTIONS;
    let bounded = run(Memoryless::within(k), most, program, body).ok_or(Left::TooLong("dpor"))?;
    let cached =
        run(within(k).cached(1 << 22), most, program, body).ok_or(Left::TooLong("dfs cache"))?;
    if bounded.less || bounded.covered != Covered::BoundedEquivalence(k) {
        return Err(Left::LessReduced);
    }
    let leading = leading(k, None, &all.traces, body).map(|(executions, _)| executions);
    Ok(Searched { all, bounded, cached, leading })
}

/// What is said of all programs below a table.
#[derive(Default)]
struct Sums {
    logs: Vec<f64>,
    worst: (f64, String),
    more: Vec<String>,
    by_method: Vec<String>,
    unfinished: Vec<String>,
    less: Vec<String>,
    less_reduced: Vec<String>,
}

impl Sums {
    #[expect(clippy::cast_precision_loss, reason = "there are few programs")]
    fn notes(self, k: u32) -> Vec<String> {
        let mean = (self.logs.iter().sum::<f64>() / self.logs.len().max(1) as f64).exp();
        let (worst, worst_name) = self.worst;
        let names = |names: Vec<String>| {
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        };
        let [more, by_method, unfinished, less, less_reduced] =
            [self.more, self.by_method, self.unfinished, self.less, self.less_reduced].map(names);
        vec![
            format!(
                "{} programs. dpor ÷ traces: geometric mean {mean:.2}; worst {worst:.2}, {worst_name}.",
                self.logs.len()
            ),
            format!(
                "More executions than `dfs preemptions({k}) cache`: {more}. Of these with any bound on what a unit costs: {by_method}."
            ),
            format!(
                "Not finished by `dfs preemptions({k})` within {} executions: {unfinished}. Finished, but it claims less than all within the \
                 bound, because tasks are held back after yields or executions end by a limit: {less}. It claims all, and `dpor` claims \
                 less, because there are yields, timeouts or actors, which it does not see through: {less_reduced}.",
                grouped(MAX_EXECUTIONS)
            ),
            "*leading within*: executions of `dpor` within the bound or on the way to one that is, by the units that they open. The \
             rest was run because the bound on what a unit costs is too low; these would be with one that is exact."
                .to_owned(),
            "Executions that were begun and cut are among those of both. Traces that are shown beyond those within the \
             bound cost more than it: the reduction runs some such executions on its way."
                .to_owned(),
        ]
    }
}

/// Measures it, a table for each bound.
pub(crate) fn measure(quick: bool, progress: &impl Fn(&str)) -> Vec<Table> {
    let correct = REGISTRY.iter().chain(UNIT_TESTS).filter(|p| p.expected == Expected::Pass);
    let programs: Vec<_> = correct.take(if quick { 8 } else { usize::MAX }).collect();
    (0..=3).map(|k| table(k, &programs, progress)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
fn table(k: u32, programs: &[&'static Program], progress: &impl Fn(&str)) -> Table {
    let header = [
        "program",
        "traces within",
        "dpor",
        "dpor ÷ traces",
        "leading within",
        "traces it showed",
        "dfs cache",
        "dfs",
    ];
    let mut table = Table {
        title: format!("At most {k} preemptions: executions"),
        header: header.map(str::to_owned).to_vec(),
        ..Table::default()
    };
    let mut sums = Sums::default();
    for program in programs {
        let arguments = program.defaults();
        let name = format!("{}{arguments:?}", program.name).replace('[', "(").replace(']', ")");
        progress(&format!("{name}, {k} preemptions"));
        let searched = match search(k, program, &|| program.call(&arguments)) {
            Ok(searched) => searched,
            Err(Left::Unfinished) => {
                sums.unfinished.push(name);
                continue;
            }
            Err(Left::Less) => {
                sums.less.push(name);
                continue;
            }
            Err(Left::LessReduced) => {
                sums.less_reduced.push(name);
                continue;
            }
            Err(Left::TooLong(search)) => {
                table.failures.push(format!("{name}: {search} has too many executions"));
                continue;
            }
        };
        let Searched { all, bounded, cached, leading } = searched;
        let lost = all.traces.difference(&bounded.traces).count();
        if lost > 0 {
            table.failures.push(format!("{name}: {lost} traces were lost"));
        }
        let ratio = bounded.executions as f64 / all.traces.len() as f64;
        sums.logs.push(ratio.ln());
        if ratio > sums.worst.0 {
            sums.worst = (ratio, name.clone());
        }
        if bounded.executions > cached.executions {
            sums.more.push(name.clone());
        }
        if leading.is_some_and(|needed| needed > cached.executions) {
            sums.by_method.push(name.clone());
        }
        table.rows.push(vec![
            name,
            grouped(all.traces.len() as u64),
            grouped(bounded.executions),
            shown(Some(ratio), 2),
            leading.map_or(String::new(), grouped),
            grouped(bounded.traces.len() as u64),
            grouped(cached.executions),
            grouped(all.executions),
        ]);
    }
    table.notes = sums.notes(k);
    table
}
