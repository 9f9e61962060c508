//! Unit tests of libraries: each runs, the bugs are found, and those without one end well.

use std::path::Path;

use raddle::Verdict;
use raddle_corpus::libraries::programs;
use raddle_corpus::run::is_as_expected;
use raddle_corpus::tables::libraries::table;
use raddle_corpus::{Ask, Expected, Program, run};

use crate::outside::ends_well;
use crate::{check, long, program};

/// A sample of a program of a library. Seed 1, as everywhere in these tests.
fn sample(strategy: &str, executions: u64) -> Ask {
    Ask { executions: Some(executions), seed: 1, ..Ask::new(strategy) }
}

fn correct() -> impl Iterator<Item = &'static Program> {
    programs().filter(|program| program.expected == Expected::Pass)
}

// One execution in which all take turns. It may show a bug, and must show no other.
#[test]
fn every_program_of_a_library_runs() {
    for program in programs() {
        for arguments in [&program.defaults(), program.large] {
            let report = run(program, arguments, &Ask::new("round-robin")).expect("it runs");
            let found = report.failure.as_ref().map(|failure| &failure.outcome);
            let allowed = found.is_none() || program.expected.is_met_by(found);
            assert!(allowed, "{}{arguments:?}: {found:?}", program.name);
            assert_eq!(report.counts.rejected, 0, "{}{arguments:?}", program.name);
        }
    }
}

#[test]
fn a_program_of_a_library_has_a_bug_if_and_only_if_it_says_which() {
    for program in programs() {
        assert_eq!(program.expected == Expected::Pass, program.pattern.is_empty());
        assert_eq!(program.large.len(), program.parameters.len(), "{}", program.name);
    }
}

#[test]
fn the_table_of_libraries_is_as_it_was() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results/libraries.md");
    let now = table();
    if std::env::var_os("UPDATE_COUNTS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &now).expect("the table can be written");
        return;
    }
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(now == before, "docs/results/libraries.md: run the tests with UPDATE_COUNTS=1");
}

// A wait gives its lock back too; what reverses its race with a notification is no mere precaution.
#[test]
fn lost_wake_ups_are_among_the_first_that_races_ask_for() {
    let most =
        [("event-unlocked", 100), ("semaphore-unlocked", 2_000), ("unbounded-queue-wake", 2_000)];
    for (name, executions) in most {
        let ask = sample("dpor(classic) best-first(mdpor, pb)", executions);
        let report = run(program(name), &program(name).defaults(), &ask).expect("it runs");
        assert!(is_as_expected(program(name), &report), "{name}: {}", report.guarantee);
    }
}

// At seed 1 `pos` alone finds all but one within 151 executions, and `pct(3)` that one in its 87th.
#[test]
fn every_bug_of_a_library_is_found_and_no_other() {
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
fn a_library_without_a_bug_passes() {
    let executions = if long() { 10_000 } else { 100 };
    for program in correct() {
        for strategy in ["random", "pct(3)", "pos"] {
            let ask = sample(strategy, executions);
            let report = run(program, &program.defaults(), &ask).expect("a known strategy");
            assert_eq!(report.verdict, Verdict::Passed, "{}: {:?}", program.name, report.failure);
        }
    }
}

/// Those that `dfs preemptions(2)` covers in ten seconds with optimisation, with so many executions.
const COVERED: [(&str, u64); 22] = [
    ("deque", 306_226),
    ("bag-mixed", 378),
    ("phases", 7_898),
    ("event", 4_524),
    ("semaphore", 53_328),
    ("semaphore-batch", 124_272),
    ("shared-lock", 906),
    ("upgrade-lock", 1_014),
    ("once", 4_914),
    ("countdown", 306),
    ("countdown-add", 1_818),
    ("pool-idle", 976),
    ("parallel-sum", 4_786),
    ("parallel-break", 132),
    ("regions", 210),
    ("regions-merge", 13_134),
    ("regions-hand", 1_085),
    ("stack", 398),
    ("ms-queue", 3_470),
    ("snapshot", 67_208),
    ("exchanger", 13_326),
    ("ms-queue-eager", 3_212),
];

#[test]
fn libraries_without_a_bug_are_covered_up_to_two_preemptions() {
    for (name, executions) in COVERED {
        if executions < 2_000 || long() {
            let program = program(name);
            let ask = Ask::new("dfs preemptions(2)");
            let report = run(program, &program.defaults(), &ask).expect("a known strategy");
            assert_eq!(report.verdict, Verdict::Covered, "{name}: {:?}", report.failure);
            assert_eq!(report.counts.executions, executions, "{name}");
        }
    }
}

#[test]
fn a_library_without_a_bug_ends_well_on_real_threads() {
    for program in correct() {
        ends_well(program.name, || program.call(&program.defaults()));
    }
}
