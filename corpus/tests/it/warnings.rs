//! What is said of programs that pass.

use raddle::{Note, Verdict};
use raddle_corpus::{Ask, Expected};

use crate::{SEARCHES, all, check, program};

#[test]
fn locks_in_opposite_orders_are_told_by_every_search_and_fail_nothing() {
    for strategy in SEARCHES {
        let report = check(program("lock-order"), &[], &Ask::new(strategy));
        assert!(report.verdict.is_pass(), "{strategy}");
        let cycles = report.notes.iter().filter(|note| matches!(note, Note::LockOrder { .. }));
        assert_eq!(cycles.count(), 1, "{strategy}: {:?}", report.notes);
    }
}

#[test]
fn no_other_program_without_a_bug_is_warned_of() {
    let rest = all().filter(|(program, _)| {
        program.expected == Expected::Pass
            && program.name != "lock-order"
            && program.steps.is_none()
    });
    for (program, arguments) in rest {
        let report = check(program, &arguments, &Ask::new("dfs"));
        assert_eq!(report.verdict, Verdict::Covered, "{}", program.name);
        let warned = report.notes.iter().any(|note| matches!(note, Note::LockOrder { .. }));
        assert!(!warned, "{}: {:?}", program.name, report.notes);
    }
}
