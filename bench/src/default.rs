//! The default search: which members it is made of, what it finds and what it covers.
//!
//! Every bug of the corpus is searched for by each candidate alone. A portfolio whose members take turns can be
//! reckoned from that: the reduction has half of the executions and the samplers share the other half. The
//! members are chosen on one half of the bugs; what is built in is then run on all of them, and reported by
//! half. The unit tests of the corpus, which have no bug, show what a pass of the default says.

use std::time::Duration;

use peer::cpu_time;
use raddle::{Config, Verdict};
use raddle_corpus::program::{Expected, Program};
use raddle_corpus::unit_tests::UNIT_TESTS;
use raddle_engine::{Ended, Lap, Limits, Setup, Stop, explore};

use crate::numbers::grouped;
use crate::table::Table;

/// Searches that cover everything if they end: one of them is the first member.
const REDUCTIONS: [&str; 3] =
    ["dpor", "dpor(source) best-first(pb)", "dpor(classic) best-first(pb)"];
/// What may share the other half.
const SAMPLERS: [&str; 6] = ["random", "pos", "pct(2)", "pct(3)", "surw", "rff"];
/// Samplers beside a reduction: with more of them each waits too long for its turn.
const MOST_SAMPLERS: usize = 3;
/// The budget of a test that says nothing of it.
const BUDGET: u64 = 10_000;
/// CPU time after which a run is given up before that.
const CAP: Duration = Duration::from_secs(4);

/// What a candidate did with a bug: the execution that showed it, for each seed.
type Tries = Vec<Option<u64>>;

/// A bug, and what each candidate did.
struct Bug {
    program: &'static Program,
    /// As [`REDUCTIONS`] and then [`SAMPLERS`].
    tries: Vec<Tries>,
    /// By what is built in.
    default: Tries,
}

/// How much is measured.
#[derive(Clone, Copy)]
struct Effort {
    seeds: u64,
    budget: u64,
}

/// Measures all of it.
pub(crate) fn measure(quick: bool, progress: impl Fn(&str)) -> Vec<Table> {
    let effort =
        if quick { Effort { seeds: 1, budget: 500 } } else { Effort { seeds: 5, budget: BUDGET } };
    let programs: Vec<_> =
        raddle_corpus::everything().filter(|program| program.expected != Expected::Pass).collect();
    let mut bugs = Vec::new();
    for (nth, program) in programs.iter().enumerate() {
        progress(&format!("{} of {}: {}", nth + 1, programs.len(), program.name));
        let alone = |(nth, strategy): (usize, &&str)| {
            let seeds = if nth < REDUCTIONS.len() { 1 } else { effort.seeds };
            (1..=seeds).map(|seed| run_alone(program, strategy, seed, effort)).collect()
        };
        let tries = REDUCTIONS.iter().chain(&SAMPLERS).enumerate().map(alone).collect();
        let default = (1..=effort.seeds).map(|seed| run_default(program, seed, effort)).collect();
        bugs.push(Bug { program, tries, default });
    }
    vec![
        members(&bugs, effort),
        found(&bugs, effort),
        slow(&bugs, effort),
        covered(effort, progress),
    ]
}

fn run_alone(program: &'static Program, strategy: &str, seed: u64, effort: Effort) -> Option<u64> {
    let mut built = raddle_search::build(strategy, seed).ok()?;
    let usual = Limits::default();
    let steps = program.steps.unwrap_or(usual.steps);
    let limits = Limits { executions: effort.budget, steps, ..usual };
    let setup = Setup { limits, ..Setup::default() };
    let begin = cpu_time();
    let mut lap = |lap: Lap| {
        let looks = lap.executions.is_multiple_of(64) && lap.steps == 0;
        let over = looks && cpu_time().saturating_sub(begin) > CAP;
        if over { Stop::Search } else { Stop::No }
    };
    let arguments = program.defaults();
    let body = || program.call(&arguments);
    let explored = explore(&mut *built.strategy, &setup, &mut lap, &mut |_| {}, &body).ok()?;
    let failure = explored.failure.filter(|_| explored.ended != Ended::Covered)?;
    program.expected.is_met_by(Some(&failure.outcome)).then_some(explored.counts.executions)
}

fn config(program: &Program, seed: u64, effort: Effort) -> Config {
    let mut config = Config::default();
    config.executions = Some(effort.budget);
    config.seed = Some(seed);
    config.steps = program.steps;
    config
}

/// As a user runs a test that says nothing of its search.
fn run_default(program: &'static Program, seed: u64, effort: Effort) -> Option<u64> {
    let arguments = program.defaults();
    let report =
        raddle::explore(config(program, seed, effort), move || program.call(&arguments)).ok()?;
    let failure = report.failure?;
    program.expected.is_met_by(Some(&failure.outcome)).then_some(report.counts.executions)
}

/// Which half of the bugs.
#[derive(Clone, Copy, PartialEq)]
enum Half {
    Choice,
    Report,
}

fn half(bugs: &[Bug], half: Half) -> impl Iterator<Item = &Bug> {
    let odd = usize::from(half == Half::Report);
    bugs.iter().enumerate().filter(move |(nth, _)| nth % 2 == odd).map(|(_, bug)| bug)
}

/// How good some members are on some bugs.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
struct Score {
    /// Pairs of a bug and a seed that no member finds within its share.
    missed: usize,
    /// The geometric mean of executions; what is missed counts as the budget.
    executions: f64,
}

fn score<'a>(
    bugs: impl Iterator<Item = &'a Bug>,
    effort: Effort,
    executions: impl Fn(&Bug, usize) -> Option<u64>,
) -> Score {
    let (mut missed, mut logarithms, mut cases) = (0, 0.0, 0.0);
    for bug in bugs {
        for seed in 0..effort.seeds as usize {
            let found = executions(bug, seed).filter(|at| *at <= effort.budget);
            missed += usize::from(found.is_none());
            logarithms += as_float(found.unwrap_or(effort.budget)).ln();
            cases += 1.0;
        }
    }
    Score { missed, executions: (logarithms / f64::max(cases, 1.0)).exp() }
}

#[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
fn as_float(executions: u64) -> f64 {
    executions as f64
}

fn one(bug: &Bug, candidate: usize, seed: usize) -> Option<u64> {
    let tries = &bug.tries[candidate];
    tries[seed % tries.len()]
}

/// Executions of all members together until one of them shows the bug.
fn in_turns(bug: &Bug, reduction: usize, samplers: &[usize], seed: usize) -> Option<u64> {
    let n = samplers.len() as u64;
    if n == 0 {
        return one(bug, reduction, seed);
    }
    let reduced = one(bug, reduction, seed).map(|at| 2 * at);
    let sampled = samplers.iter().filter_map(|nth| one(bug, *nth, seed)).min().map(|at| 2 * n * at);
    [reduced, sampled].into_iter().flatten().min()
}

/// Sets of samplers, the empty one first.
fn sets() -> Vec<Vec<usize>> {
    let all = 0..1_usize << SAMPLERS.len();
    let members = |bits: usize| {
        let is_in = move |nth: &usize| bits >> nth & 1 == 1;
        (0..SAMPLERS.len()).filter(is_in).map(|nth| nth + REDUCTIONS.len()).collect::<Vec<_>>()
    };
    let mut sets: Vec<_> = all.map(members).filter(|set| set.len() <= MOST_SAMPLERS).collect();
    sets.sort_by_key(Vec::len);
    sets
}

fn name(candidate: usize) -> &'static str {
    REDUCTIONS.iter().chain(&SAMPLERS).nth(candidate).expect("a candidate")
}

fn members(bugs: &[Bug], effort: Effort) -> Table {
    let mut table = Table {
        title: "Members".to_owned(),
        header: [
            "members",
            "missed, half A",
            "executions, half A",
            "missed, half B",
            "executions, half B",
            "",
        ]
        .map(str::to_owned)
        .to_vec(),
        ..Table::default()
    };
    let mut row = |name: String, note: &str, by: &dyn Fn(&Bug, usize) -> Option<u64>| {
        let scores = [Half::Choice, Half::Report].map(|which| score(half(bugs, which), effort, by));
        let numbers =
            scores.map(|score| [score.missed.to_string(), format!("{:.1}", score.executions)]);
        let cells =
            [name].into_iter().chain(numbers.into_iter().flatten()).chain([note.to_owned()]);
        table.rows.push(cells.collect());
    };
    for candidate in 0..REDUCTIONS.len() + SAMPLERS.len() {
        row(format!("`{}`", name(candidate)), "alone", &|bug, seed| one(bug, candidate, seed));
    }
    let mut compositions: Vec<(Score, usize, Vec<usize>)> = Vec::new();
    for reduction in 0..REDUCTIONS.len() {
        for set in sets() {
            let by = |bug: &Bug, seed| in_turns(bug, reduction, &set, seed);
            compositions.push((score(half(bugs, Half::Choice), effort, by), reduction, set));
        }
    }
    compositions.sort_by(|a, b| a.0.partial_cmp(&b.0).expect("finite"));
    for (nth, (_, reduction, set)) in compositions.iter().take(8).enumerate() {
        let names: Vec<_> =
            [*reduction].iter().chain(set).map(|candidate| name(*candidate)).collect();
        let note = if nth == 0 { "best on half A" } else { "" };
        let by = |bug: &Bug, seed: usize| in_turns(bug, *reduction, set, seed);
        row(format!("`{}`", names.join(" \\| ")), note, &by);
    }
    row("the default, as it is built in".to_owned(), "measured", &|bug, seed| bug.default[seed]);
    table.notes = vec![
        format!(
            "{} bugs: half A is those at even places of `raddle-corpus list`, half B the others. Missed: of a \
             bug with each of {} seeds, within {} executions of all members together (and {} CPU seconds \
             for one run). Executions: the geometric mean over bugs and seeds; what is missed counts as {}.",
            bugs.len(),
            effort.seeds,
            grouped(effort.budget),
            CAP.as_secs(),
            grouped(effort.budget)
        ),
        format!(
            "In turns: a reduction has half of the executions, up to {MOST_SAMPLERS} samplers share the other \
             half. These rows are reckoned from the rows of members alone; the default is measured. The eight \
             best on half A are shown."
        ),
    ];
    table
}

fn median(tries: &Tries) -> Option<u64> {
    let mut all: Vec<_> = tries.iter().map(|found| found.unwrap_or(u64::MAX)).collect();
    all.sort_unstable();
    all.get(all.len() / 2).copied().filter(|at| *at < u64::MAX)
}

/// Where the default finds less than a member of its own would.
fn found(bugs: &[Bug], effort: Effort) -> Table {
    let mut table = Table {
        title: "Bugs that the default misses".to_owned(),
        header: ["bug", "half", "missed with", "found by, median executions"]
            .map(str::to_owned)
            .to_vec(),
        ..Table::default()
    };
    for (nth, bug) in bugs.iter().enumerate() {
        let missed = bug.default.iter().filter(|found| found.is_none()).count();
        if missed == 0 {
            continue;
        }
        let by = bug.tries.iter().enumerate().filter_map(|(candidate, tries)| {
            Some(format!("`{}` {}", name(candidate), grouped(median(tries)?)))
        });
        let by: Vec<_> = by.collect();
        table.rows.push(vec![
            bug.program.name.to_owned(),
            if nth % 2 == 0 { "A" } else { "B" }.to_owned(),
            format!("{missed} of {} seeds", effort.seeds),
            if by.is_empty() { "none of them".to_owned() } else { by.join(", ") },
        ]);
    }
    if table.rows.is_empty() {
        table.notes.push("None.".to_owned());
    }
    table
}

/// The members of the default, as its reports name them.
fn built_in() -> Vec<usize> {
    let program = &UNIT_TESTS[0];
    let effort = Effort { seeds: 1, budget: 10 };
    let report = raddle::explore(config(program, 1, effort), || program.call(&[]));
    let members = report.map(|report| report.members).unwrap_or_default();
    let candidate =
        |member: &str| (0..REDUCTIONS.len() + SAMPLERS.len()).find(|nth| name(*nth) == member);
    members.iter().filter_map(|member| candidate(&member.strategy)).collect()
}

/// Where the default takes more executions than its best member would, times the number of members.
fn slow(bugs: &[Bug], effort: Effort) -> Table {
    let of = built_in();
    let mut table = Table {
        title: "Bugs for which the default takes longer than its members in turns should"
            .to_owned(),
        header: ["bug", "half", "default", "best member", "times"].map(str::to_owned).to_vec(),
        ..Table::default()
    };
    let mut within = 0;
    for (nth, bug) in bugs.iter().enumerate() {
        let best = of.iter().filter_map(|candidate| median(&bug.tries[*candidate])).min();
        let (Some(ours), Some(best)) = (median(&bug.default), best) else { continue };
        if ours <= best * of.len() as u64 {
            within += 1;
            continue;
        }
        table.rows.push(vec![
            bug.program.name.to_owned(),
            if nth % 2 == 0 { "A" } else { "B" }.to_owned(),
            grouped(ours),
            grouped(best),
            format!("{:.1}", as_float(ours) / as_float(best)),
        ]);
    }
    table.notes.push(format!(
        "Medians of {} seeds. For {within} bugs the default needs at most {} times the executions of the best \
         of its {} members alone.",
        effort.seeds,
        of.len(),
        of.len()
    ));
    table
}

fn covered(effort: Effort, progress: impl Fn(&str)) -> Table {
    let strategies = ["auto", "dpor", "dfs"];
    let mut table = Table {
        title: "Correct tests of the size of a unit test".to_owned(),
        header: ["test", "the default", "`dpor`", "`dfs`", ""].map(str::to_owned).to_vec(),
        ..Table::default()
    };
    let mut ended = [0; 3];
    for program in UNIT_TESTS {
        progress(&format!("correct: {}", program.name));
        let mut row = vec![program.name.to_owned()];
        for (nth, strategy) in strategies.iter().enumerate() {
            let mut config = config(program, 1, effort);
            (*strategy).clone_into(&mut config.strategy);
            let report = raddle::explore(config, || program.call(&[]));
            let Ok(report) = report else {
                table.failures.push(format!("{}: {strategy} could not run", program.name));
                row.push("could not run".to_owned());
                continue;
            };
            let executions = grouped(report.counts.executions);
            row.push(match report.verdict {
                Verdict::Covered => {
                    ended[nth] += 1;
                    format!("covered, {executions}")
                }
                Verdict::Passed => format!("the first {executions}"),
                other => {
                    table.failures.push(format!("{}: {strategy}: {other:?}", program.name));
                    format!("{other:?}")
                }
            });
        }
        row.push(String::new());
        table.rows.push(row);
    }
    table.notes = vec![
        format!(
            "Within {} executions the default covers {} of {}, `dpor` {} and `dfs` {}.",
            grouped(effort.budget),
            ended[0],
            UNIT_TESTS.len(),
            ended[1],
            ended[2]
        ),
        "Executions of the default are those of all its members together; after its reduction has ended, the \
         samplers go on for a stated number of executions, because they see what tasks share outside of \
         raddle's types."
            .to_owned(),
    ];
    table
}
