//! The default search: which members it is made of, what it finds and what it covers.
//!
//! Every bug of the corpus is searched for by each candidate alone. A portfolio whose members take turns can be
//! reckoned from that: all have as many executions until the samplers have had half of the budget, and then the
//! reduction has what it lacks to the other half. The members are chosen on one half of the bugs; what is built in is then run on all of them, and reported by
//! half. Budgets are of executions and steps, which are the same on every machine; limits of CPU time are there so that
//! the command ends. The unit tests of the corpus, which have no bug, show what a pass of the default says.

use std::time::Duration;

use peer::cpu_time;
use raddle::{Config, Failure, Report, Verdict};
use raddle_corpus::program::{Expected, Program};
use raddle_corpus::unit_tests::UNIT_TESTS;
use raddle_engine::{Ended, Lap, Limits, Setup, Stop, explore};
use raddle_trace::Counts;

use crate::numbers::grouped;
use crate::table::Table;

/// Searches that cover everything if they end: one of them is the first member.
const REDUCTIONS: [&str; 2] = ["dpor", "dpor(classic) best-first(pb)"];
/// What may take turns with it.
const SAMPLERS: [&str; 5] = ["random", "pos", "pct(2)", "pct(3)", "surw"];
/// Samplers beside a reduction: with more of them each waits too long for its turn.
const MOST_SAMPLERS: usize = 3;
/// The budget of a test that says nothing of it.
const BUDGET: u64 = 10_000;
/// Steps after which a run is given up before that: a test with long executions has fewer of them.
const STEPS: u64 = 100_000;
/// Executions of `random` that show how long those of a test are.
const PILOTS: u64 = 20;
/// CPU time after which a single run is given up all the same, and is reported as one that found nothing.
const CAP: Duration = Duration::from_secs(3);
/// CPU time after which no further bug is begun. The others are listed.
const ALL_BUGS: Duration = Duration::from_secs(150);
/// Executions within which `dpor` and the default are compared on every correct program of the corpus.
const COMPARED: u64 = 600;

/// What a candidate did with a bug: the execution that showed it, for each seed.
type Tries = Vec<Option<u64>>;

/// A bug, and what each candidate did.
struct Bug {
    program: &'static Program,
    /// The executions that each may run.
    budget: u64,
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
        if quick { Effort { seeds: 1, budget: 500 } } else { Effort { seeds: 3, budget: BUDGET } };
    let programs: Vec<_> =
        raddle_corpus::everything().filter(|program| program.expected != Expected::Pass).collect();
    let (mut bugs, mut not_run) = (Vec::new(), Vec::new());
    let begin = cpu_time();
    for nth in spread(programs.len()) {
        let program = programs[nth];
        if cpu_time().saturating_sub(begin) > ALL_BUGS {
            not_run.push(program.name);
            continue;
        }
        progress(&format!("{} of {}: {}", nth + 1, programs.len(), program.name));
        bugs.push((nth, search_for(program, effort)));
    }
    bugs.sort_by_key(|(nth, _)| *nth);
    let bugs: Vec<_> = bugs.into_iter().map(|(_, bug)| bug).collect();
    vec![
        members(&bugs, &not_run, effort),
        found(&bugs, effort),
        covered(effort, &progress),
        kept(effort, &progress),
        each(&bugs, effort),
    ]
}

/// The numbers below `n` in an order in which every beginning is spread over all of them.
fn spread(n: usize) -> Vec<usize> {
    const STRIDE: usize = 7;
    (0..STRIDE).flat_map(|first| (first..n).step_by(STRIDE)).collect()
}

fn search_for(program: &'static Program, effort: Effort) -> Bug {
    let pilots = Effort { seeds: 1, budget: PILOTS };
    let counts = run_alone(program, "random", 1, pilots).1;
    let length = counts.steps / counts.executions.max(1);
    let budget = (STEPS / length.max(1)).clamp(PILOTS, effort.budget);
    let effort = Effort { budget, ..effort };
    let alone = |(nth, strategy): (usize, &&str)| {
        let seeds = if nth < REDUCTIONS.len() { 1 } else { effort.seeds };
        (1..=seeds).map(|seed| run_alone(program, strategy, seed, effort).0).collect()
    };
    let tries = REDUCTIONS.iter().chain(&SAMPLERS).enumerate().map(alone).collect();
    let default = (1..=effort.seeds).map(|seed| run_default(program, seed, effort)).collect();
    Bug { program, budget, tries, default }
}

/// The execution that showed the bug, and what was run.
fn run_alone(
    program: &'static Program,
    strategy: &str,
    seed: u64,
    effort: Effort,
) -> (Option<u64>, Counts) {
    let nothing = (None, Counts::default());
    let Ok(mut built) = raddle_search::build(strategy, seed) else { return nothing };
    let usual = Limits::default();
    let steps = program.steps.unwrap_or(usual.steps);
    let limits = Limits { executions: effort.budget, steps, ..usual };
    let setup = Setup { limits, ..Setup::default() };
    let begin = cpu_time();
    let mut lap = |lap: Lap| {
        let looks = lap.executions.is_multiple_of(16) && lap.steps == 0;
        let over = looks && cpu_time().saturating_sub(begin) > CAP;
        if over { Stop::Search } else { Stop::No }
    };
    let arguments = program.defaults();
    let body = || program.call(&arguments);
    let explored = explore(&mut *built.strategy, &setup, &mut lap, &mut |_| {}, &body);
    let Ok(explored) = explored else { return nothing };
    let failure = explored.failure.filter(|_| explored.ended != Ended::Covered);
    let is_it = |failure: Failure| program.expected.is_met_by(Some(&failure.outcome));
    (failure.is_some_and(is_it).then_some(explored.counts.executions), explored.counts)
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
    /// The median of executions; what is missed counts as more than any number.
    median: Option<u64>,
}

fn score<'a>(
    bugs: impl Iterator<Item = &'a Bug>,
    effort: Effort,
    executions: impl Fn(&Bug, usize) -> Option<u64>,
) -> Score {
    let (mut missed, mut logarithms, mut cases, mut all) = (0, 0.0, 0.0, Vec::new());
    for bug in bugs {
        for seed in 0..effort.seeds as usize {
            let found = executions(bug, seed).filter(|at| *at <= bug.budget);
            missed += usize::from(found.is_none());
            logarithms += as_float(found.unwrap_or(bug.budget)).ln();
            cases += 1.0;
            all.push(found);
        }
    }
    let executions = (logarithms / f64::max(cases, 1.0)).exp();
    Score { missed, executions, median: median(&all) }
}

#[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
fn as_float(executions: u64) -> f64 {
    executions as f64
}

fn one(bug: &Bug, candidate: usize, seed: usize) -> Option<u64> {
    let tries = &bug.tries[candidate];
    tries[seed % tries.len()]
}

/// Executions of all members together until one of them shows the bug, in turns of one.
fn in_turns(bug: &Bug, reduction: usize, samplers: &[usize], seed: usize) -> Option<u64> {
    let n = samplers.len() as u64;
    if n == 0 {
        return one(bug, reduction, seed);
    }
    // Of each member, before the reduction goes on alone.
    let level = bug.budget / 2 / n;
    let in_round = |at: u64, place: u64| (n + 1) * (at - 1) + place;
    let reduced = one(bug, reduction, seed).filter(|at| *at <= bug.budget / 2);
    let reduced = reduced.map(|at| if at <= level { in_round(at, 1) } else { n * level + at });
    let sampled = (2..).zip(samplers).filter_map(|(place, nth)| {
        let at = one(bug, *nth, seed).filter(|at| *at <= level)?;
        Some(in_round(at, place))
    });
    sampled.chain(reduced).min()
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

fn members(bugs: &[Bug], not_run: &[&str], effort: Effort) -> Table {
    let mut table = Table {
        title: "Members".to_owned(),
        header: [
            "members",
            "missed, half A",
            "median, half A",
            "mean, half A",
            "missed, half B",
            "median, half B",
            "mean, half B",
            "",
        ]
        .map(str::to_owned)
        .to_vec(),
        ..Table::default()
    };
    let mut row = |name: String, note: &str, by: &dyn Fn(&Bug, usize) -> Option<u64>| {
        let scores = [Half::Choice, Half::Report].map(|which| score(half(bugs, which), effort, by));
        let numbers = scores.map(|score| {
            let median = score.median.map_or("more".to_owned(), grouped);
            [score.missed.to_string(), median, format!("{:.1}", score.executions)]
        });
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
            "{} bugs: half A is those at even places of the table at the end, half B the others. Missed: pairs of \
             a bug and one of {} seeds, within {} executions of all members together, or as many as make about \
             {} steps if that is less. Median and geometric mean of the executions until the bug shows, over \
             bugs and seeds; in the mean, what is missed counts as the budget.",
            bugs.len(),
            effort.seeds,
            grouped(effort.budget),
            grouped(STEPS)
        ),
        format!(
            "In turns: a reduction and up to {MOST_SAMPLERS} samplers have as many executions each until the \
             samplers have had half of the budget, then the reduction has the other half. These rows are reckoned from the rows of members alone; the default is measured. The eight \
             best on half A are shown, by misses and then by the mean."
        ),
    ];
    if !not_run.is_empty() {
        table.notes.push(format!(
            "Not run, because the time for this table was up: {}.",
            not_run.join(", ")
        ));
    }
    table
}

fn median(tries: &Tries) -> Option<u64> {
    let mut all: Vec<_> = tries.iter().map(|found| found.unwrap_or(u64::MAX)).collect();
    all.sort_unstable();
    all.get(all.len() / 2).copied().filter(|at| *at < u64::MAX)
}

/// Why the default missed a bug with this seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Why {
    /// None of its members shows it, each with the whole budget.
    NoMember,
    /// One does, after more executions than it has as a member.
    TooLate,
    /// One does within the executions that it has as a member: what it draws there is something else.
    OtherDraws,
}

impl Why {
    const ALL: [Self; 3] = [Self::NoMember, Self::TooLate, Self::OtherDraws];

    /// `of`: the members, the reduction first.
    fn of(bug: &Bug, of: &[usize], seed: usize) -> Self {
        let alone = of.iter().filter_map(|candidate| one(bug, *candidate, seed));
        let Some((reduction, samplers)) = of.split_first() else { return Self::NoMember };
        if in_turns(bug, *reduction, samplers, seed).is_some() {
            Self::OtherDraws
        } else if alone.min().is_some() {
            Self::TooLate
        } else {
            Self::NoMember
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::NoMember => "no member shows it alone with the whole budget",
            Self::TooLate => "a member shows it alone, after more executions than it has in turns",
            Self::OtherDraws => {
                "a member shows it alone within the executions that it has in turns"
            }
        }
    }
}

/// Where the default finds less than a member of its own would.
fn found(bugs: &[Bug], effort: Effort) -> Table {
    let of = built_in();
    let mut table = Table {
        title: "Bugs that the default misses".to_owned(),
        header: [
            "bug",
            "half",
            "budget",
            "missed with",
            "reason, seeds",
            "found by, median executions",
        ]
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
        let seeds = (0..).zip(&bug.default).filter(|(_, found)| found.is_none());
        let whys: Vec<_> = seeds.map(|(seed, _)| Why::of(bug, &of, seed)).collect();
        let reasons = Why::ALL.iter().filter_map(|why| {
            let seeds = whys.iter().filter(|other| *other == why).count();
            (seeds > 0).then(|| format!("{}: {seeds}", why.text()))
        });
        table.rows.push(vec![
            bug.program.name.to_owned(),
            if nth % 2 == 0 { "A" } else { "B" }.to_owned(),
            grouped(bug.budget),
            format!("{missed} of {} seeds", effort.seeds),
            reasons.collect::<Vec<_>>().join("; "),
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
    // The first may have gone on with another search.
    let first = |member: &str| member.split(", then ").next().unwrap_or_default().to_owned();
    let candidate =
        |member: String| (0..REDUCTIONS.len() + SAMPLERS.len()).find(|nth| name(*nth) == member);
    members.iter().filter_map(|member| candidate(first(&member.strategy))).collect()
}

/// Every bug: medians of the default and of each candidate.
fn each(bugs: &[Bug], effort: Effort) -> Table {
    let of = built_in();
    let names = (0..REDUCTIONS.len() + SAMPLERS.len()).map(|nth| format!("`{}`", name(nth)));
    let header = ["bug", "the default"].map(str::to_owned).into_iter().chain(names);
    let mut table = Table {
        title: "Executions until the bug shows".to_owned(),
        header: header.chain([String::new()]).collect(),
        ..Table::default()
    };
    let (mut within, mut compared) = (0, 0);
    for bug in bugs {
        let cell = |tries: &Tries| median(tries).map_or("-".to_owned(), grouped);
        let best = of.iter().filter_map(|candidate| median(&bug.tries[*candidate])).min();
        let mut note = String::new();
        if let (Some(ours), Some(best)) = (median(&bug.default), best) {
            compared += 1;
            if ours <= best * of.len() as u64 {
                within += 1;
            } else {
                note = format!("{:.1} times the best member", as_float(ours) / as_float(best));
            }
        }
        let cells = [bug.program.name.to_owned(), cell(&bug.default)];
        table
            .rows
            .push(cells.into_iter().chain(bug.tries.iter().map(cell)).chain([note]).collect());
    }
    table.notes.push(format!(
        "Medians of {} seeds, of one run for a search that does not draw; `-`: not within the budget. Of {compared} \
         bugs that the default and one of its members show, the default needs at most {} times the executions \
         of the best of its {} members for {within}; the others say how many times.",
        effort.seeds,
        of.len(),
        of.len()
    ));
    table
}

fn covered(effort: Effort, progress: &impl Fn(&str)) -> Table {
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

/// Whether the default covers what its reduction alone does with half of the executions.
fn kept(effort: Effort, progress: &impl Fn(&str)) -> Table {
    let mut table = Table {
        title: "What `dpor` covers with half of the executions".to_owned(),
        header: ["program", "`dpor`", "the default", ""].map(str::to_owned).to_vec(),
        ..Table::default()
    };
    let (mut programs, mut by_dpor, mut by_default, mut more) = (0, 0, 0, 0);
    let small = raddle_corpus::REGISTRY.iter().chain(UNIT_TESTS);
    for program in small.filter(|program| program.expected == Expected::Pass) {
        progress(&format!("covered by half: {}", program.name));
        programs += 1;
        let run = |strategy: &str, budget| {
            let mut config = config(program, 1, Effort { budget, ..effort });
            strategy.clone_into(&mut config.strategy);
            let arguments = program.defaults();
            raddle::explore(config, move || program.call(&arguments)).ok()
        };
        let covers = |report: &Report| report.verdict == Verdict::Covered;
        let (Some(reduced), Some(ours)) = (run("dpor", COMPARED / 2), run("auto", COMPARED)) else {
            table.failures.push(format!("{}: could not run", program.name));
            continue;
        };
        by_dpor += u64::from(covers(&reduced));
        by_default += u64::from(covers(&reduced) && covers(&ours));
        more += u64::from(!covers(&reduced) && covers(&ours));
        if covers(&reduced) && !covers(&ours) {
            table.rows.push(vec![
                program.name.to_owned(),
                grouped(reduced.counts.executions),
                format!("{}, {:?}", grouped(ours.counts.executions), ours.verdict),
                String::new(),
            ]);
        }
    }
    table.notes.push(format!(
        "Of {programs} correct programs of `raddle-corpus list`, `dpor` covers {by_dpor} within {} executions. The default with \
         {} executions covers {by_default} of these, and {more} others. The table has those that it does not cover.",
        grouped(COMPARED / 2),
        grouped(COMPARED)
    ));
    table
}
