//! Every program of the corpus under every strategy.
//!
//! The functions here know how a program is run and what must hold of every report; the tests are
//! data. Environment: `RADDLE_LONG=1` adds the counts that take minutes without optimisation,
//! `UPDATE_COUNTS=1` rewrites `counts.txt`.

mod actors;
mod applications;
mod best_first;
mod bounds;
mod brute;
mod channels;
mod cli;
mod counts;
mod delays;
mod guarantees;
mod hidden;
mod libraries;
mod minimise;
mod orders;
mod outcomes;
mod outside;
mod pages;
mod protocols;
mod retraces;
mod samplers;
mod spinning;
mod systems;
mod table;
mod traces;
mod verdicts;
mod warnings;

use raddle::{Report, Schedule, Verdict};
use raddle_corpus::run::{Ask, replay, run};
use raddle_corpus::{Program, REGISTRY, find};
use raddle_trace::TaskName;

/// The searches of this version; each ends by itself.
pub(crate) const SEARCHES: [&str; 4] = ["dfs", "dfs preemptions(2)", "dpor", "round-robin"];

/// The samplers of this version.
pub(crate) const SAMPLERS: [&str; 6] = ["random", "pct(3)", "pos", "urw", "surw", "rff"];

/// What follows explorers, states or receives. What it covers is compared with brute force where it is defined
/// (`raddle-search/src/explorers`, `raddle-actors/src/states`, `raddle-actors/tests/reduction/bita.rs`); here each
/// runs for a while on every program of the registry. That shows false alarms and failures that do not replay; it
/// does not show what they miss.
pub(crate) const FOR_A_WHILE: [&str; 8] = [
    "strata(rr)",
    "strata(rtc, exact)",
    "ses(prr)",
    "strata-sample(rr)",
    "ss(rtc)",
    "irs",
    "states(bfs)",
    "bita",
];

/// How to sample a program: so often, but only twice if it has one execution.
pub(crate) fn sample(program: &Program, arguments: &[usize], strategy: &str, n: u64) -> Ask {
    let interleavings = program.interleavings.and_then(|count| count(arguments));
    let executions = Some(if interleavings == Some(1) { 2 } else { n });
    Ask { executions, seed: 1, ..Ask::new(strategy) }
}

/// A program by name.
pub(crate) fn program(name: &str) -> &'static Program {
    find(name, &[]).expect("it is in the registry").0
}

/// Runs a program and checks what must hold of every report: the same again gives the same, and a
/// failure survives its token and replays to the same trace.
#[track_caller]
pub(crate) fn check(program: &'static Program, arguments: &[usize], ask: &Ask) -> Report {
    let once = || {
        let mut report = run(program, arguments, ask).expect("a known strategy");
        report.elapsed_ms = 0;
        // What a clock says is not the same again.
        report.progress = report.progress.map(|p| p.timed(p.executions, 0));
        report
    };
    let report = once();
    let (name, strategy) = (program.name, &ask.strategy);
    assert_eq!(report, once(), "{name}{arguments:?} under {strategy}: not the same again");
    let Some(failure) = &report.failure else { return report };

    assert_eq!(failure.unstable, None, "{name}{arguments:?} under {strategy}");
    let token = failure.schedule.to_string();
    let read: Schedule = token.parse().expect("a token can be read");
    // Labels are not part of a task's identity, and not of its token.
    let mut written = failure.schedule.clone();
    written.tasks.iter_mut().for_each(|task| *task = TaskName { label: None, ..task.clone() });
    assert_eq!(read, written);

    let again = replay(program, arguments, &token).expect("a schedule of this program");
    assert_eq!(again.verdict, Verdict::Failed, "{name}{arguments:?}: {token}");
    let again = again.failure.expect("it failed");
    assert_eq!(again.outcome, failure.outcome, "{name}{arguments:?}: {token}");
    assert_eq!(again.trace, failure.trace, "{name}{arguments:?}: {token}");
    report
}

pub(crate) use raddle_testing::long;

/// Every program, with its defaults.
pub(crate) fn all() -> impl Iterator<Item = (&'static Program, Vec<usize>)> {
    REGISTRY.iter().map(|program| (program, program.defaults()))
}
