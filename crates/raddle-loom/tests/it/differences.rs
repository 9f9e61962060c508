//! What loom does and raddle does not is said, also of a test that passes.
#![expect(unsafe_code, reason = "loom's signature")]

use std::process::Command;

use raddle_loom::model::Builder;
use raddle_loom::sync::atomic::AtomicUsize;
use raddle_loom::{MAX_THREADS, explore, model, skip_branch, stop_exploring, thread};

use crate::report_of;

const STALE_READS: &str = "loom also explores the older values that weak memory allows a load to read, and raddle does not: a \
                           pass here says nothing of them";

#[test]
fn every_report_says_what_loom_explores_besides() {
    let report = report_of(|| panic!("as it is to"));
    assert!(report.contains(STALE_READS), "{report}");
}

/// Run by the tests below in a process of its own, whose last lines they look at.
#[test]
fn asks_for_nothing_that_differs() {
    model(|| {});
}

/// As above.
#[test]
fn asks_for_all_that_differs() {
    let mut builder = Builder::new();
    (builder.expect_explicit_explore, builder.max_threads) = (true, 2);
    builder.check(|| {
        stop_exploring();
        explore();
        skip_branch();
        (0..2).for_each(|_| drop(thread::spawn(|| {})));
        // SAFETY: no other thread has it.
        assert_eq!(unsafe { AtomicUsize::new(1).unsync_load() }, 1);
    });
}

/// The last lines of a process that runs one of the tests above.
fn lines_of(test: &str, variables: &[(&str, &str)]) -> Vec<String> {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    for (name, _) in std::env::vars_os() {
        let variable = name.to_string_lossy();
        if variable.starts_with("RADDLE_") || variable.starts_with("LOOM_") {
            command.env_remove(&name);
        }
    }
    command.args([&format!("differences::{test}"), "--exact"]).envs(variables.iter().copied());
    let output = command.output().expect("it can be run");
    let said = String::from_utf8(output.stderr).expect("lines are text");
    assert!(output.status.success(), "{said}");
    assert!(said.contains("raddle: what 1 passed test covers"), "{said}");
    let notes = said.lines().filter_map(|line| line.strip_prefix("  note: "));
    notes.map(str::to_owned).collect()
}

#[test]
fn a_pass_says_that_older_values_were_not_explored_and_nothing_else() {
    assert_eq!(lines_of("asks_for_nothing_that_differs", &[]), [STALE_READS]);
}

#[test]
fn a_pass_says_what_the_test_asked_for_in_vain() {
    let mut lines = lines_of("asks_for_all_that_differs", &[]);
    assert_eq!(lines.remove(0), STALE_READS);
    for (line, beginning) in lines.iter().zip([
        "expect_explicit_explore has no meaning here",
        "the test says where loom is to explore (explore, stop_exploring, skip_branch)",
        "loom refuses a test with more than 2 threads (max_threads)",
        "loom finds a race between unsync_load and a store of another thread",
    ]) {
        assert!(line.starts_with(beginning), "{line}");
    }
    assert_eq!(lines.len(), 4, "{lines:?}");
}

#[test]
fn every_variable_of_loom_is_read_or_said_to_be_ignored() {
    let variables = [
        ("LOOM_MAX_BRANCHES", "7"),
        ("LOOM_CHECKPOINT_INTERVAL", "7"),
        ("LOOM_LOCATION", "1"),
        ("LOOM_LOG", "trace"),
        ("LOOM_NEW", "1"),
        ("LOOM_MAX_PREEMPTIONS", "2"),
        ("LOOM_MAX_PERMUTATIONS", "1000"),
        ("LOOM_MAX_DURATION", "60"),
    ];
    let lines = lines_of("asks_for_nothing_that_differs", &variables);
    let of = |name: &str| lines.iter().filter(|line| line.contains(name)).count();
    let said: Vec<_> = variables.iter().map(|(name, _)| (*name, of(name))).collect();
    let expected: Vec<_> = variables
        .iter()
        .enumerate()
        .map(|(nth, (name, _))| (*name, usize::from(nth < 5)))
        .collect();
    assert_eq!(said, expected, "{lines:?}");
}

#[test]
fn as_many_threads_as_loom_allows_are_no_difference() {
    let report = report_of(|| {
        (1..MAX_THREADS).for_each(|_| drop(thread::spawn(|| {})));
        panic!("as it is to");
    });
    assert!(!report.contains("max_threads"), "{report}");
}
