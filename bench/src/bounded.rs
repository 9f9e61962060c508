//! A bound on preemptions together with a reduction: `dpor preemptions(k)` beside the traces that there are within the bound, and
//! beside `dfs preemptions(k) cache`.
//!
//! The programs of the corpus that have no failure and that `dfs` finishes. What is within the bound is counted by `dfs
//! preemptions(k)`, which runs every execution within it.

use std::collections::BTreeSet;

use raddle_engine::strategy::{Checkpoint, Divisible as _, Resumable as _};
use raddle_engine::{Ended, Limits, Setup, Stop, Strategy, explore_observed};
use raddle_search::order::NonPreemptive;
use raddle_search::{Bound, DepthFirst, Memoryless, TraceCounter};
use raddle_trace::Covered;

use crate::numbers::{grouped, shown};
use crate::table::Table;

/// Executions of `dfs preemptions(k)`, at most.
const MAX_EXECUTIONS: u64 = 200_000;

const PROGRAMS: [(&str, &[usize]); 30] = [
    ("readers", &[3]),
    ("lastzero", &[3]),
    ("lastwrite", &[4]),
    ("floating-read", &[3]),
    ("inc", &[3]),
    ("ainc", &[4]),
    ("binc", &[3]),
    ("cinc", &[3]),
    ("wcas", &[4]),
    ("indexer", &[2]),
    ("filesystem", &[2]),
    ("circular-buffer", &[4]),
    ("senders", &[3]),
    ("independent", &[3, 2]),
    ("steps", &[4, 4]),
    ("lost-update-fixed", &[3]),
    ("abba-fixed", &[]),
    ("philosophers-fixed", &[2]),
    ("bounded-buffer-fixed", &[2]),
    ("check-then-act-fixed", &[]),
    ("double-checked-fixed", &[]),
    ("missed-wakeup-fixed", &[]),
    ("upgrade-fixed", &[]),
    ("channel-close-fixed", &[]),
    ("stale-guard-fixed", &[]),
    ("sb", &[]),
    ("mp", &[]),
    ("iriw", &[]),
    ("2+2w", &[]),
    ("corr", &[]),
];

/// What a search came to.
struct Ran {
    traces: BTreeSet<u64>,
    /// Those that were cut too.
    executions: u64,
    covered: Covered,
}

/// Runs a whole search; none if it is too long.
fn run(mut strategy: impl Strategy, body: &dyn Fn()) -> Option<Ran> {
    let mut traces = TraceCounter::new(usize::MAX);
    let limits = Limits { executions: MAX_EXECUTIONS, ..Limits::default() };
    let setup = Setup { limits, keep_going: true, ..Setup::default() };
    let (lap, pulse) = (&mut |_| Stop::No, &mut |_| {});
    let explored = explore_observed(&mut strategy, &mut [&mut traces], &setup, lap, pulse, body)
        .expect("no search runs around this one");
    let executions = explored.counts.executions + explored.counts.blocked;
    let covered = strategy.covered();
    let ended = explored.ended == Ended::Covered;
    ended.then(|| Ran { traces: traces.seen().clone(), executions, covered })
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

/// Measures it, a table for each bound.
pub(crate) fn measure(quick: bool, progress: &impl Fn(&str)) -> Vec<Table> {
    let programs = if quick { &PROGRAMS[..8] } else { &PROGRAMS[..] };
    (0..=3).map(|k| table(k, programs, progress)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
fn table(k: u32, programs: &[(&str, &[usize])], progress: &impl Fn(&str)) -> Table {
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
    let (mut logs, mut worst) = (Vec::new(), (0.0, String::new()));
    let (mut more, mut by_method) = (Vec::new(), Vec::new());
    for &(name, arguments) in programs {
        let (program, arguments) = raddle_corpus::find(name, arguments).expect("the corpus has it");
        let name = format!("{name}{arguments:?}").replace('[', "(").replace(']', ")");
        progress(&format!("{name}, {k} preemptions"));
        let body = || program.call(&arguments);
        let searches = (
            run(within(k), &body),
            run(Memoryless::within(k), &body),
            run(within(k).cached(1 << 22), &body),
        );
        let (Some(all), Some(bounded), Some(cached)) = searches else {
            table.failures.push(format!("{name}: more than {MAX_EXECUTIONS} executions"));
            continue;
        };
        if bounded.covered != Covered::BoundedEquivalence(k) {
            table.failures.push(format!("{name}: {}", bounded.covered));
            continue;
        }
        let lost = all.traces.difference(&bounded.traces).count();
        if lost > 0 {
            table.failures.push(format!("{name}: {lost} traces were lost"));
        }
        let ratio = bounded.executions as f64 / all.traces.len() as f64;
        logs.push(ratio.ln());
        if ratio > worst.0 {
            worst = (ratio, name.clone());
        }
        let needed = leading(k, None, &all.traces, &body).map(|(executions, _)| executions);
        if bounded.executions > cached.executions {
            more.push(name.clone());
        }
        if needed.is_some_and(|needed| needed > cached.executions) {
            by_method.push(name.clone());
        }
        table.rows.push(vec![
            name,
            grouped(all.traces.len() as u64),
            grouped(bounded.executions),
            shown(Some(ratio), 2),
            needed.map_or(String::new(), grouped),
            grouped(bounded.traces.len() as u64),
            grouped(cached.executions),
            grouped(all.executions),
        ]);
    }
    let mean = (logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp();
    let [more, by_method] = [more, by_method]
        .map(|names| if names.is_empty() { "none".to_owned() } else { names.join(", ") });
    table.notes = vec![
        format!("dpor ÷ traces: geometric mean {mean:.2}; worst {:.2}, {}.", worst.0, worst.1),
        format!(
            "More executions than `dfs preemptions({k}) cache`: {more}. Of these with any bound on what a unit costs: {by_method}."
        ),
        "*leading within*: executions of `dpor` within the bound or on the way to one that is, by the units that they open. The \
         rest was run because the bound on what a unit costs is too low; these would be with one that is exact."
            .to_owned(),
        "Executions that were begun and cut are among those of both. Traces that are shown beyond those within the \
         bound cost more than it: the reduction runs some such executions on its way."
            .to_owned(),
    ];
    table
}
