//! Unit tests of libraries: each runs, and those without a bug end well.

use std::path::Path;

use raddle_corpus::libraries::programs;
use raddle_corpus::libraries::table::table;
use raddle_corpus::{Ask, Expected, run};

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
