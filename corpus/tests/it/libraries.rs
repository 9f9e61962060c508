//! Unit tests of libraries: each runs, and those without a bug end well.

use raddle_corpus::libraries::programs;
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
