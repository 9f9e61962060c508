//! Applications: each runs, the bugs are found, and those without one end well.

use std::path::Path;

use raddle::{Covered, Verdict};
use raddle_corpus::applications::programs;
use raddle_corpus::applications::table::table;
use raddle_corpus::run::is_as_expected;
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

#[test]
fn an_application_without_a_bug_ends_well_on_real_threads() {
    for program in ending() {
        ends_well(program.name, || program.call(&program.defaults()));
    }
}
