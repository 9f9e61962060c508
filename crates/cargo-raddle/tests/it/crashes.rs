//! Tests that take their process with them under `cargo test`: they leave the command that finds the schedule.

use std::process::Command;

use raddle_trace::exit;

use crate::{Done, Project, fixture};

/// `cargo test` of one test of the file `deaths`.
fn cargo_test(project: &Project, test: &str, variables: &[(&str, &str)]) -> Done {
    // With the same environment as the driver, so that nothing is built twice.
    let driver = project.command(&[]);
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["test", "--test=deaths", "--", "--exact", test]).current_dir(&project.0);
    for (name, value) in driver.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    Done::of(&crate::output(command.envs(variables.iter().copied())))
}

const ENDS: &str = "raddle: the process ends in the middle of an execution";

/// Crashes under `cargo test`, which says which command to run; that command finds out how.
#[track_caller]
fn leaves_the_command(test: &str, how: &str) {
    let fixture = fixture();
    let done = cargo_test(&fixture, test, &[]);
    assert_ne!(done.code, Some(0), "{}", done.err);
    let said = format!(
        "{ENDS} of `{test}`; this finds the schedule that leads there:\n  \
         cargo raddle test --exact {test} -p fixture\n"
    );
    assert!(done.err.contains(&said), "{}\n{}", done.out, done.err);
    assert_eq!(done.err.matches(ENDS).count(), 1, "{}", done.err);
    let line = said.lines().last().unwrap();
    let words: Vec<&str> = line.split_whitespace().skip(2).chain(["--no-regressions"]).collect();
    let done = fixture.run(&words).ended_with(exit::FAILED);
    assert!(done.out.contains(how) && done.out.contains("replay it with:"), "{}", done.out);
}

#[test]
fn an_abort_leaves_the_command_that_finds_its_schedule() {
    leaves_the_command("an_abort", "main ended the process by SIGABRT");
}

#[test]
fn a_segmentation_fault_leaves_the_command_that_finds_its_schedule() {
    leaves_the_command("a_segmentation_fault", "main ended the process by SIGSEGV");
}

#[test]
fn an_illegal_instruction_leaves_the_command_that_finds_its_schedule() {
    leaves_the_command("an_illegal_instruction", "main ended the process by SIGILL");
}

#[test]
fn a_signal_that_is_sent_leaves_the_command_and_is_not_survived() {
    leaves_the_command("a_bus_error_that_is_sent", "main ended the process by SIGBUS");
}

#[test]
fn an_exit_in_an_execution_leaves_the_command_that_finds_its_schedule() {
    leaves_the_command("an_exit", "main ended the process with exit code 7");
}

#[test]
fn what_ends_as_tests_do_leaves_no_command() {
    let done = cargo_test(&fixture(), "a_static", &[]);
    assert_eq!(done.code, Some(101), "{}", done.err);
    assert!(!done.err.contains(ENDS) && !done.out.contains(ENDS), "{}{}", done.out, done.err);
}

#[test]
fn an_execution_in_a_process_of_its_own_leaves_no_command_but_a_report() {
    for test in ["a_segmentation_fault", "an_abort", "an_exit", "an_illegal_instruction"] {
        let done = cargo_test(&fixture(), test, &[("RADDLE_ISOLATION", "process")]);
        assert_eq!(done.code, Some(101), "{}{}", done.out, done.err);
        let said = done.out + &done.err;
        assert!(!said.contains(ENDS) && said.contains("main ended the process"), "{said}");
    }
}
