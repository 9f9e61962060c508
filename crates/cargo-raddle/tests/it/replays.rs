//! Replays, in hosts and in a debugger.

use std::io::Write as _;
use std::process::{Command, Stdio};

use raddle_trace::exit;

use crate::{Done, Project, Watched, fixture};

/// The token of the failure of a test.
fn token(project: &Project, test: &str) -> (String, usize) {
    let arguments = ["test", "--no-regressions", "--format=json", "--exact", test];
    let done = project.run(&arguments).ended_with(exit::FAILED);
    let report = done.finished()[test]["report"].clone();
    let failure: raddle_trace::Failure = serde_json::from_value(report["failure"].clone()).unwrap();
    (failure.schedule.to_string(), failure.trace.events.len())
}

#[test]
fn a_token_is_replayed_by_the_test_it_is_given_with() {
    let fixture = fixture();
    let (token, _) = token(&fixture, "a_wrong_one");
    let done = fixture.run(&["replay", &token, "a_wrong_one"]).ended_with(exit::FAILED);
    assert!(done.out.contains("hello from an execution"), "{}", done.out);
    assert!(done.out.contains("FAILED a_wrong_one: main panicked"), "{}", done.out);
    assert!(done.out.contains("execution 1, step by step:"), "{}", done.out);
    let done = fixture.run(&["replay", &token, "a_right_one"]).ended_with(exit::INCONCLUSIVE);
    assert!(done.out.contains("did not repeat what was recorded"), "{}", done.out);
    let done = fixture.run(&["replay", &token]).ended_with(exit::USAGE);
    let said = "to which of the 25 raddle tests does it belong?";
    assert!(done.err.contains(said), "{}", done.err);
    let done = fixture.run(&["replay", &token, "no_such_test"]).ended_with(exit::NO_TESTS);
    assert!(done.err.contains("there is no raddle test `no_such_test`"), "{}", done.err);
    let done = fixture.run(&["replay", "no/such/file.json"]).ended_with(exit::USAGE);
    assert!(done.err.contains("there is no such file"), "{}", done.err);
    let done = fixture.run(&["explain", "tests"]).ended_with(exit::USAGE);
    assert!(done.err.contains("cannot read `tests`: it is a directory"), "{}", done.err);
    let done = fixture.run(&["replay", &token[..9], "a_right_one"]).ended_with(exit::USAGE);
    assert!(done.err.contains("not a schedule token"), "{}", done.err);
}

/// Two threads write to a channel: the first message should be of the first.
const CHANNEL: &str = r#"
use raddle::sync::mpsc;

#[raddle::test(strategy = "bita")]
fn the_first_is_first() {
    let (to_main, from_threads) = mpsc::channel();
    for number in [1, 2] {
        let to_main = to_main.clone();
        raddle::thread::spawn(move || to_main.send(number).unwrap());
    }
    let received = [from_threads.recv().unwrap(), from_threads.recv().unwrap()];
    assert_eq!(received, [1, 2]);
}

#[raddle::test]
fn another() {}
"#;

#[test]
fn a_schedule_of_receives_is_forced_from_its_file() {
    let project = Project::new("receives");
    project.write("src/lib.rs", "");
    project.write("tests/channel.rs", CHANNEL);
    let test = "the_first_is_first";
    let arguments = ["test", "--no-regressions", "--format=json", "--exact", test];
    let done = project.run(&arguments).ended_with(exit::FAILED);
    let report: raddle_trace::Report =
        serde_json::from_value(done.finished()[test]["report"].clone()).unwrap();
    let mut failing =
        *report.receives.and_then(|seen| seen.failing).expect("messages were received");
    (failing.name, failing.test) = ("second first".to_owned(), Some(test.to_owned()));
    project.write("as-it-failed.receives", &serde_json::to_string(&failing).unwrap());
    // The file says to which test it belongs.
    let done = project.run(&["replay", "as-it-failed.receives"]).ended_with(exit::FAILED);
    assert!(done.out.contains("FAILED the_first_is_first: main panicked"), "{}", done.out);
    // One of another program is said not to fit, and one that is damaged is refused.
    let done = project.run(&["replay", "as-it-failed.receives", "another"]);
    assert!(done.out.contains("did not follow the schedule `second first`"), "{}", done.out);
    project.write("damaged.receives", "{}");
    let done = project.run(&["replay", "damaged.receives"]).ended_with(exit::USAGE);
    assert!(done.err.contains("cannot read `damaged.receives`"), "{}", done.err);
    // A search can begin with it.
    let start = ["--start-with", "as-it-failed.receives"];
    let done = project.run(&[&arguments[..], &start].concat()).ended_with(exit::FAILED);
    assert_eq!(done.finished()[test]["report"]["failure"]["execution"], 1);
}

#[test]
fn a_debugger_is_told_where_to_stop() {
    let fixture = fixture();
    let (token, _) = token(&fixture, "a_wrong_one");
    let arguments = ["replay", &token, "a_wrong_one", "--print-script", "--debugger"];
    let gdb = fixture.run(&[&arguments[..], &["gdb"]].concat()).ended_with(exit::PASSED);
    assert!(gdb.out.contains("raddle_failed") && gdb.out.ends_with("run\n"), "{}", gdb.out);
    let lldb = fixture.run(&[&arguments[..], &["lldb", "--step=3"]].concat());
    assert!(lldb.ended_with(exit::PASSED).out.contains("-N step -i 3 -n "));
}

/// What a debugger says that stops after step 1 of a test in which two threads add, and is told these commands then; nothing if it
/// is not there, or cannot run `probe`.
fn debugged(debugger: &str, probe: &[&str], input: &str) -> Option<Done> {
    let answer = Command::new(debugger).args(probe).stdin(Stdio::null()).output();
    if answer.is_err() || !Done::of(&answer.unwrap()).out.contains("42") {
        let notice =
            format!("{debugger} with Python is not installed: its commands were not tested\n");
        let _ = std::io::stderr().write_all(notice.as_bytes());
        return None;
    }
    let fixture = fixture();
    let (token, _) = token(&fixture, "a_wrong_one");
    let which = format!("--debugger={debugger}");
    let mut command = fixture.command(&["replay", &token, "a_wrong_one", &which, "--step=1"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Watched::spawn(&mut command);
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Some(Done::of(&child.wait_with_output()))
}

/// Both threads are in the middle of `add_one`, the one that runs and the one that waits; and what the program does next is not
/// changed by having looked.
#[track_caller]
fn has_both_tasks_and_then_the_panic(done: &Done) {
    let (out, err) = (&done.out, &done.err);
    // What stands after a prompt.
    let begins = |line: &str, with: &str| line.trim_start_matches("(gdb) ").starts_with(with);
    let tasks = ["main: it ", "thread 1: it "];
    let tasks = tasks.map(|task| out.lines().any(|line| begins(line, task)));
    assert_eq!(tasks, [true, true], "{out}\n{err}");
    let states = [": it runs", ": it waits for its turn"];
    let states = states.map(|state| out.lines().filter(|line| line.ends_with(state)).count());
    assert_eq!(states, [1, 1], "{out}\n{err}");
    let frames = |function: &str, file: &str| {
        let is_one =
            |line: &&str| line.starts_with("  #") && line.contains(function) && line.contains(file);
        out.lines().filter(is_one).count()
    };
    assert_eq!(frames("add_one", "src/lib.rs:11"), 2, "{out}\n{err}");
    assert!(frames("a_wrong_one", "tests/plain.rs:") > 0, "{out}\n{err}");
    assert_eq!(frames("raddle_engine", ""), 0, "{out}\n{err}");
    assert!(
        out.lines().any(|line| line.contains("#0") && line.contains("raddle_panicked")),
        "{out}\n{err}"
    );
}

#[test]
fn gdb_shows_where_each_task_is_and_goes_on() {
    let probe = ["-batch", "-ex", "python print(6*7)"];
    let input = "raddle-tasks\nraddle-continue\nbt 1\nkill\nquit\n";
    if let Some(done) = debugged("gdb", &probe, input) {
        has_both_tasks_and_then_the_panic(&done);
    }
}

#[test]
fn lldb_shows_where_each_task_is_and_goes_on() {
    let probe = ["-b", "-o", "script print(6*7)"];
    let input = "raddle-tasks\nraddle-continue\nbt\nkill\nquit\n";
    if let Some(done) = debugged("lldb", &probe, input) {
        has_both_tasks_and_then_the_panic(&done);
    }
}

/// With gdb, if it is there: it stops at the step asked for, and at the panic.
#[test]
fn gdb_stops_at_steps_and_at_the_failure() {
    if Command::new("gdb").arg("--version").output().is_err() {
        let notice = "gdb is not installed: that it stops where it should was not tested\n";
        let _ = std::io::stderr().write_all(notice.as_bytes());
        return;
    }
    let fixture = fixture();
    let (token, steps) = token(&fixture, "a_wrong_one");
    let last = steps - 1;
    let step = format!("--step={last}");
    let arguments = ["replay", &token, "a_wrong_one", "--debugger=gdb", &step];
    let mut command = fixture.command(&arguments);
    // Gdb reads commands from its input when those of the script are done.
    let input = "bt 1\ninfo breakpoints\ncontinue\nbt 3\ncontinue\nbt 1\nkill\nquit\n";
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Watched::spawn(&mut command);
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let done = Done::of(&child.wait_with_output());
    let stopped: Vec<&str> = ["raddle_step", "raddle_panicked", "raddle_failed"]
        .into_iter()
        .filter(|name| done.out.lines().any(|line| line.contains("#0") && line.contains(name)))
        .collect();
    assert_eq!(
        stopped,
        ["raddle_step", "raddle_panicked", "raddle_failed"],
        "{}\n{}",
        done.out,
        done.err
    );
    // The breakpoint at steps was met once for each step, and only the last stopped.
    let hits = format!("breakpoint already hit {steps} times");
    assert!(done.out.contains(&hits), "{}", done.out);
}
