//! Applications: each runs, the bugs are found, and those without one end well.

use std::path::Path;

use raddle::Verdict;
use raddle_corpus::applications::programs;
use raddle_corpus::run::is_as_expected;
use raddle_corpus::tables::applications::table;
use raddle_corpus::{Ask, Expected, Program, run};

use crate::outside::ends_well;
use crate::{check, long, program};

fn sample(strategy: &str, executions: u64) -> Ask {
    Ask { executions: Some(executions), seed: 1, ..Ask::new(strategy) }
}

fn correct() -> impl Iterator<Item = &'static Program> {
    programs().filter(|program| program.expected == Expected::Pass)
}

/// Those whose executions end by themselves.
fn ending() -> impl Iterator<Item = &'static Program> {
    correct().filter(|program| program.steps.is_none())
}

// One execution in which all take turns. It may show a bug, and must show no other.
#[test]
fn every_application_runs() {
    for program in programs() {
        for arguments in [&program.defaults(), program.large] {
            if arguments.len() != program.parameters.len() {
                continue;
            }
            let report = run(program, arguments, &Ask::new("round-robin")).expect("it runs");
            let found = report.failure.as_ref().map(|failure| &failure.outcome);
            let allowed = found.is_none() || program.expected.is_met_by(found);
            assert!(allowed, "{}{arguments:?}: {found:?}", program.name);
            assert_eq!(report.counts.rejected, 0, "{}{arguments:?}", program.name);
        }
    }
}

#[test]
fn an_application_has_a_bug_if_and_only_if_it_says_which() {
    for program in programs() {
        assert_eq!(program.expected == Expected::Pass, program.pattern.is_empty());
        let large = program.large.len();
        assert!(large == program.parameters.len() || large == 0, "{}", program.name);
    }
}

#[test]
fn the_table_of_applications_is_as_it_was() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results/applications.md");
    let now = table();
    if std::env::var_os("UPDATE_COUNTS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &now).expect("the table can be written");
        return;
    }
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(now == before, "docs/results/applications.md: run the tests with UPDATE_COUNTS=1");
}

#[test]
fn every_bug_of_an_application_is_found_and_no_other() {
    for program in programs().filter(|program| program.expected != Expected::Pass) {
        let reports = ["pos", "pct(3)"]
            .map(|strategy| check(program, &program.defaults(), &sample(strategy, 300)));
        let found = reports.iter().filter(|report| report.failure.is_some());
        assert!(found.clone().count() > 0, "{}", program.name);
        for report in found {
            assert!(is_as_expected(program, report), "{}: {:?}", program.name, report.failure);
        }
    }
}

#[test]
fn an_application_without_a_bug_passes() {
    let executions = if long() { 10_000 } else { 100 };
    for program in ending() {
        for strategy in ["random", "pct(3)", "pos"] {
            let ask = sample(strategy, executions);
            let report = run(program, &program.defaults(), &ask).expect("a known strategy");
            assert_eq!(report.verdict, Verdict::Passed, "{}: {:?}", program.name, report.failure);
        }
    }
}

/// How far those without a bug are covered in a minute with optimisation: by which search, with so many
/// executions.
const COVERED: [(&str, &[usize], &str, u64); 22] = [
    ("thrift", &[2, 2], "dfs preemptions(0)", 2_560),
    ("aget", &[2, 1], "dpor", 534),
    ("pbzip2", &[2, 2], "dpor", 10_944),
    ("pfscan", &[2, 2], "dfs preemptions(1)", 184),
    ("pfscan", &[2, 2], "dfs preemptions(2)", 3_696),
    ("pfscan", &[2, 2], "dpor", 56_704),
    ("mysql-log", &[], "dpor", 20),
    ("node-state", &[], "dpor", 8),
    ("load-script", &[], "dpor", 2),
    ("seek-to-item", &[], "dpor", 8),
    ("update-timer", &[], "dpor", 42),
    ("file-transport", &[], "dpor", 12),
    ("create-thread", &[], "dpor", 4),
    ("read-write-proc", &[], "dpor", 16),
    ("open-input-stream", &[], "dpor", 12),
    ("http-connect", &[], "dpor", 2),
    ("timer-thread", &[], "dpor", 8),
    ("stringbuffer", &[], "dpor", 3),
    ("queue", &[3], "dpor", 20),
    ("ring-log", &[3], "dpor", 20),
    ("quicksort", &[3, 2], "dpor", 156),
    ("quicksort", &[7, 2], "dfs preemptions(1)", 507),
];

#[test]
fn applications_without_a_bug_are_covered() {
    for (name, arguments, strategy, executions) in COVERED {
        if executions < 1_000 || long() {
            let report = run(program(name), arguments, &Ask::new(strategy)).expect("it is known");
            let failure = &report.failure;
            assert_eq!(report.verdict, Verdict::Covered, "{name} under {strategy}: {failure:?}");
            assert_eq!(report.counts.executions, executions, "{name} under {strategy}");
        }
    }
    for program in ending() {
        assert!(COVERED.iter().any(|(name, ..)| *name == program.name), "{}", program.name);
    }
}

// The loop runs up to the limit if nothing makes it stop, and no search calls that a failure.
#[test]
fn a_loop_that_waits_is_no_failure() {
    for strategy in ["random", "dfs", "dpor"] {
        let ask = sample(strategy, 300);
        let report = run(program("busy-wait"), &[1], &ask).expect("a known strategy");
        assert_eq!(report.failure, None, "{strategy}");
        assert_ne!(report.verdict, Verdict::Covered, "{strategy}");
    }
}

#[test]
fn an_application_without_a_bug_ends_well_on_real_threads() {
    for program in ending() {
        ends_well(program.name, || program.call(&program.defaults()));
    }
}
