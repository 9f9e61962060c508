//! Ctrl-C, and a driver that is killed: partial results, and no process left behind.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use raddle_trace::exit;
use serde_json::Value;

use crate::{Watched, fixture};

/// A driver whose host has said how far it is.
fn started() -> (Watched, BufReader<ChildStdout>, u32) {
    let arguments = ["test", "--no-regressions", "--format=json", "--exact", "an_endless_one"];
    started_with(&mut fixture().command(&arguments))
}

/// The same of this command, which writes JSON.
pub(crate) fn started_with(command: &mut Command) -> (Watched, BufReader<ChildStdout>, u32) {
    let mut child = Watched::spawn(command.stdout(Stdio::piped()));
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("\"event\":\"progress\"") {
        line.clear();
        assert_ne!(out.read_line(&mut line).unwrap(), 0, "it ended before it began");
    }
    let host = children(child.id());
    assert_eq!(host.len(), 1, "one host");
    (child, out, host[0])
}

/// The processes that a process has started and that are still there.
pub(crate) fn children(of: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for thread in std::fs::read_dir(format!("/proc/{of}/task")).unwrap() {
        let path = thread.unwrap().path().join("children");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        found.extend(text.split_whitespace().map(|pid| pid.parse::<u32>().unwrap()));
    }
    found
}

pub(crate) fn signal(name: &str, pid: u32) {
    let status = Command::new("kill").args([name, &pid.to_string()]).status().unwrap();
    assert!(status.success());
}

#[track_caller]
pub(crate) fn is_gone(pid: u32) {
    let since = Instant::now();
    while Path::new(&format!("/proc/{pid}")).exists() {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if state.contains(") Z ") {
            return;
        }
        assert!(since.elapsed() < Duration::from_secs(300), "host {pid} is left: {state}");
        std::thread::yield_now();
    }
}

#[test]
fn ctrl_c_ends_the_search_and_keeps_what_was_found() {
    let (mut child, mut out, host) = started();
    signal("-INT", child.id());
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(i32::from(exit::INTERRUPTED)));
    is_gone(host);
    let events: Vec<Value> = rest.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let finished = events.iter().find(|event| event["event"] == "test-finished").unwrap();
    assert_eq!(finished["ending"], "interrupted", "{finished}");
    let report = &finished["report"];
    assert_eq!(report["verdict"], "passed", "a part of the search, without a failure");
    assert!(report["counts"]["executions"].as_u64() > Some(0), "{report}");
    assert!(report["progress"]["estimate"]["total"]["about"].as_f64() > Some(1e6), "{report}");
    let last = events.last().unwrap();
    assert_eq!(last["exit_code"], exit::INTERRUPTED);
    assert_eq!((&last["passed"], &last["interrupted"]), (&0.into(), &1.into()), "{last}");
}

#[test]
fn an_interrupted_test_is_called_so_in_every_file_and_acknowledged_on_standard_error() {
    let fixture = fixture();
    let (junit, summary) = (fixture.0.join("interrupted.xml"), fixture.0.join("interrupted.md"));
    let _ = std::fs::remove_file(&summary);
    let flags = [("--junit", &junit), ("--summary", &summary)];
    let flags = flags.map(|(flag, path)| format!("{flag}={}", path.display()));
    let arguments = ["test", "--no-regressions", "--format=json", "--exact", "an_endless_one"];
    let mut command = fixture.command(&arguments);
    command.args(&flags).stderr(Stdio::piped());
    let (child, mut out, _) = started_with(&mut command);
    drop(fixture);
    signal("-INT", child.id());
    out.read_to_string(&mut String::new()).unwrap();
    let output = child.wait_with_output();
    assert_eq!(output.status.code(), Some(i32::from(exit::INTERRUPTED)));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("Ctrl-C: ending 1 search; again kills it; add --resume"), "{said}");
    let text = std::fs::read_to_string(junit).unwrap();
    assert!(text.contains("failures=\"0\" errors=\"0\""), "{text}");
    assert!(text.contains("<skipped message=\"interrupted: Ctrl-C ended its search"), "{text}");
    let text = std::fs::read_to_string(summary).unwrap();
    assert!(text.contains("### raddle: 0 passed, 1 not"), "{text}");
    assert!(text.contains("| `an_endless_one` | interrupted |"), "{text}");
}

#[test]
fn hosts_die_with_a_driver_that_is_killed() {
    let (mut child, _out, host) = started();
    signal("-KILL", child.id());
    child.wait().unwrap();
    is_gone(host);
}
