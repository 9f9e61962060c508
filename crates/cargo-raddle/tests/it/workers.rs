//! Several hosts that share one search: the same result for any number of them, and if some are killed.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use raddle_trace::exit;
use serde_json::Value;

use crate::interrupts::{children, is_gone, signal};
use crate::{Done, Project, target};

/// A project of its own, whose files no other test touches, one test at a time.
fn project() -> MutexGuard<'static, Project> {
    static PROJECT: OnceLock<Mutex<Project>> = OnceLock::new();
    let make = || {
        let project = Project::new("shared");
        project.write("src/lib.rs", "");
        project.write("tests/it.rs", TESTS);
        Mutex::new(project)
    };
    let project = PROJECT.get_or_init(make).lock().unwrap_or_else(PoisonError::into_inner);
    for file in files() {
        fs::remove_file(file).unwrap();
    }
    project
}

const TESTS: &str = "
use std::time::Duration;

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex};
use raddle::thread;

fn add(n: &AtomicU32, threads: u32, times: u32) {
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..times {
                    n.fetch_add(1, SeqCst);
                }
            });
        }
    });
}

// 12! / 4!^3 orders for each of 3 values.
#[raddle::test(strategy = \"dfs\")]
fn every_order(n: AtomicU32) {
    let _ = raddle::choose(3);
    add(&n, 3, 4);
}

#[raddle::test(strategy = \"dpor\")]
fn reduced(n: AtomicU32) {
    add(&n, 3, 3);
}

#[raddle::test(strategy = \"dpor preemptions(1)\")]
fn reduced_within_a_bound(n: AtomicU32) {
    add(&n, 3, 3);
}

#[raddle::test(strategy = \"all best-first(pb) preemptions(2)\")]
fn a_frontier(n: AtomicU32) {
    add(&n, 3, 4);
}

#[raddle::test(strategy = \"pos\", executions = 5000)]
fn sampled(n: AtomicU32) {
    add(&n, 3, 3);
}

#[raddle::test]
fn by_default(n: AtomicU32) {
    add(&n, 3, 2);
}

// The reduction that needs no record does not see through the timeout.
#[raddle::test(strategy = \"dpor\")]
fn a_wait_with_a_timeout() {
    let (lock, woken) = (Mutex::new(false), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            *lock.lock().unwrap() = true;
            woken.notify_one();
        });
        let mut ready = lock.lock().unwrap();
        if !*ready {
            ready = woken.wait_timeout(ready, Duration::from_millis(1)).unwrap().0;
        }
        drop(ready);
    });
}

#[raddle::test(strategy = \"dfs\")]
fn one_order_fails(n: AtomicU32) {
    let last = AtomicU32::new(0);
    thread::scope(|scope| {
        for id in 1..4 {
            let (n, last) = (&n, &last);
            scope.spawn(move || {
                n.fetch_add(1, SeqCst);
                last.store(id, SeqCst);
                if n.fetch_add(1, SeqCst) == 5 && last.load(SeqCst) == 1 {
                    panic!(\"the first was the last\");
                }
            });
        }
    });
}

// In one of 1,680 orders.
#[raddle::test(strategy = \"dfs\")]
fn one_order_aborts(n: AtomicU32) {
    // Digits of the order so far: not raddle's, so no step.
    let order = std::sync::atomic::AtomicU32::new(0);
    thread::scope(|scope| {
        for id in 1..4 {
            let (n, order) = (&n, &order);
            scope.spawn(move || {
                for _ in 0..3 {
                    n.fetch_add(1, SeqCst);
                    let so_far = 4 * order.load(SeqCst) + id;
                    order.store(so_far, SeqCst);
                    if so_far == 0b10_11_01_10_11_01_10_11_01 {
                        std::process::abort();
                    }
                }
            });
        }
    });
}
";

/// What hosts of the project have left to go on with.
fn files() -> Vec<PathBuf> {
    let entries = fs::read_dir(target().join("raddle/checkpoints")).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    let ours = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("shared.") && name.contains(".units")
    };
    paths.filter(ours).collect()
}

fn test(project: &Project, arguments: &[&str]) -> Done {
    let all = [&["test", "--no-regressions", "--format=json"], arguments].concat();
    project.run(&all)
}

/// Verdict, guarantee and counts, without what is of the longest execution alone.
#[track_caller]
fn what_it_came_to(event: &Value) -> [Value; 4] {
    let report = &event["report"];
    let counts = &report["counts"];
    [
        report["verdict"].clone(),
        report["guarantee"].clone(),
        counts["executions"].clone(),
        counts["blocked"].clone(),
    ]
}

fn notes(event: &Value) -> String {
    let notes = event["report"]["notes"].as_array().unwrap();
    notes.iter().filter_map(|note| note["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// A driver that has said how far it is so often.
fn started(project: &Project, arguments: &[&str], times: u32) -> (Child, BufReader<ChildStdout>) {
    let all = [&["test", "--no-regressions", "--format=json"], arguments].concat();
    let mut child = project.command(&all).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    for _ in 0..times {
        next_progress(&mut out).expect("it has not ended");
    }
    (child, out)
}

/// The executions that are told next; none if the driver has told all.
fn next_progress(out: &mut BufReader<ChildStdout>) -> Option<u64> {
    let mut line = String::new();
    loop {
        line.clear();
        if out.read_line(&mut line).unwrap() == 0 || line.contains("\"test-finished\"") {
            return None;
        }
        if line.contains("\"event\":\"progress\"") {
            let event: Value = serde_json::from_str(&line).unwrap();
            return event["progress"]["executions"].as_u64();
        }
    }
}

const COVERED: [&str; 6] = [
    "reduced",
    "reduced_within_a_bound",
    "a_frontier",
    "sampled",
    "by_default",
    "a_wait_with_a_timeout",
];

#[test]
fn any_number_of_workers_comes_to_the_same() {
    let project = project();
    let run = |more: &[&str]| {
        let all = [&["--exact", "--traces=true"], &COVERED[..], more].concat();
        test(&project, &all).ended_with(exit::PASSED).finished()
    };
    let whole = run(&[]);
    let ways: [&[&str]; 3] =
        [&["--workers=1"], &["--workers=2"], &["--workers=3", "--unit-executions=7"]];
    let ran: Vec<_> = ways.iter().map(|way| run(way)).collect();
    for name in COVERED {
        let all: Vec<_> = ran.iter().map(|ran| what_it_came_to(&ran[name])).collect();
        match name {
            // How much its members run hangs on time.
            "by_default" => {
                for [verdict, guarantee, ..] in &all {
                    assert_eq!(
                        (verdict, &guarantee["covered"]),
                        (&"covered".into(), &"everything".into())
                    );
                }
                continue;
            }
            // Samples are drawn in blocks, each from a seed of its own.
            "sampled" => {}
            _ => assert_eq!(all[0], what_it_came_to(&whole[name]), "{name}"),
        }
        assert_eq!(all[0], all[1], "{name}");
        assert_eq!(all[0], all[2], "{name}");
    }
    assert!(notes(&ran[1]["reduced"]).contains("keeps no record"), "{}", notes(&ran[1]["reduced"]));
    let instead = notes(&ran[1]["a_wait_with_a_timeout"]);
    assert!(instead.contains("`dpor(source)` was run by 2 workers"), "{instead}");
    assert_eq!(files(), [] as [PathBuf; 0], "nothing is left to go on with");
}

#[test]
fn a_failure_is_found_made_small_and_ends_the_search() {
    let project = project();
    let done = test(&project, &["--exact", "--workers=2", "one_order_fails"]);
    let report = &done.ended_with(exit::FAILED).finished()["one_order_fails"]["report"];
    assert_eq!(report["verdict"], "failed");
    assert_eq!(report["failure"]["outcome"]["kind"], "panicked");
    assert!(report["failure"]["minimised"].is_object(), "{report}");
}

#[test]
fn what_the_test_dies_of_is_found_and_the_search_goes_on() {
    let project = project();
    for workers in ["--workers=1", "--workers=2"] {
        let done = test(&project, &["--exact", workers, "one_order_aborts"]);
        let event = done.ended_with(exit::FAILED).finished()["one_order_aborts"].clone();
        let report = &event["report"];
        assert_eq!(report["failure"]["outcome"]["death"]["number"], 6, "{report}");
        assert_eq!(report["failure"]["unstable"], Value::Null);
        assert_eq!(report["counts"]["executions"], 1680, "{}", notes(&event));
    }
}

#[test]
fn hosts_that_are_killed_change_nothing() {
    let project = project();
    let arguments = ["--exact", "--workers=2", "--unit-time=20ms", "every_order"];
    let (mut child, mut out) = started(&project, &arguments, 1);
    let (mut killed, mut finished) = (0, None);
    for line in out.by_ref().lines() {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        match event["event"].as_str() {
            Some("test-finished") => finished = Some(event),
            Some("progress") if killed < 5 => {
                // It may be gone by now.
                for host in children(child.id()).into_iter().take(1) {
                    let mut kill = std::process::Command::new("kill");
                    let killing = kill.args(["-KILL", &host.to_string()]).output().unwrap();
                    killed += u32::from(killing.status.success());
                }
            }
            _ => {}
        }
    }
    assert!(killed > 0, "it ended before a host was killed");
    let code = child.wait().unwrap().code();
    let event = finished.expect("the test is finished");
    assert_eq!(code, Some(i32::from(exit::PASSED)), "{event}");
    let [verdict, guarantee, executions, _] = what_it_came_to(&event);
    assert_eq!((verdict, &guarantee["covered"]), ("covered".into(), &"everything".into()));
    assert_eq!(executions, 3 * 34_650, "{}", notes(&event));
}

/// The hosts that a driver has started for a test. It runs the binary also to see which tests there are.
fn hosts(driver: u32, test: &str) -> Vec<u32> {
    let runs_it = |pid: &u32| {
        let said = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut words = said.split(|&byte| byte == 0);
        // Between its fork and its begin a child is called as the driver is.
        words.next().is_some_and(|file| !file.ends_with(b"cargo-raddle"))
            && words.any(|word| word == test.as_bytes())
    };
    children(driver).into_iter().filter(runs_it).collect()
}

#[test]
fn hosts_that_are_killed_as_soon_as_they_are_started_change_nothing() {
    let project = project();
    let arguments = ["--exact", "--workers=2", "--unit-time=20ms", "every_order"];
    let (mut child, out) = started(&project, &arguments, 0);
    // Some of them have said nothing yet. No more than three: a host is taken to die of its unit if three that repeat it are killed, too.
    let mut killed = std::collections::BTreeSet::new();
    while killed.len() < 3 && child.try_wait().unwrap().is_none() {
        for host in hosts(child.id(), "every_order") {
            // Two may have been started since the last look.
            if killed.len() < 3 && killed.insert(host) {
                let mut kill = std::process::Command::new("kill");
                kill.args(["-KILL", &host.to_string()]).output().unwrap();
            }
        }
        std::thread::yield_now();
    }
    let events = out.lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let event = events.into_iter().find(|event| event["event"] == "test-finished");
    let event = event.expect("the test is finished");
    assert_eq!(killed.len(), 3, "it ended before");
    let [verdict, guarantee, executions, _] = what_it_came_to(&event);
    assert_eq!((verdict, &guarantee["covered"]), ("covered".into(), &"everything".into()));
    assert_eq!(executions, 3 * 34_650, "{}", notes(&event));
    assert_eq!(child.wait().unwrap().code(), Some(i32::from(exit::PASSED)));
}

#[test]
fn a_driver_that_is_killed_goes_on_where_it_was() {
    let project = project();
    let arguments = ["--exact", "--workers=2", "--unit-time=20ms", "every_order"];
    let mut more = Vec::new();
    for times in [4, 2] {
        let all = [&arguments[..], &more].concat();
        let (mut child, _out) = started(&project, &all, times);
        let hosts = children(child.id());
        signal("-KILL", child.id());
        child.wait().unwrap();
        hosts.into_iter().for_each(is_gone);
        assert!(!files().is_empty(), "what there is to go on with");
        more = vec!["--resume"];
    }
    let all = [&arguments[..], &more].concat();
    let done = test(&project, &all).ended_with(exit::PASSED);
    let event = done.finished()["every_order"].clone();
    let [verdict, guarantee, executions, _] = what_it_came_to(&event);
    assert_eq!((verdict, &guarantee["covered"]), ("covered".into(), &"everything".into()));
    assert_eq!(executions, 3 * 34_650, "{}", notes(&event));
    let resumed =
        event["report"]["notes"].as_array().unwrap().iter().any(|note| note["note"] == "resumed");
    assert!(resumed, "{event}");
    assert_eq!(files(), [] as [PathBuf; 0]);
}

#[test]
fn ctrl_c_leaves_units_to_go_on_with() {
    let project = project();
    let arguments = ["--exact", "--workers=2", "every_order"];
    let (mut child, mut out) = started(&project, &arguments, 2);
    signal("-INT", child.id());
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(i32::from(exit::INTERRUPTED)));
    assert!(rest.contains("\"note\":\"kept\""), "{rest}");
    let all = [&arguments[..], &["--resume"]].concat();
    let done = test(&project, &all).ended_with(exit::PASSED);
    let [verdict, _, executions, _] = what_it_came_to(&done.finished()["every_order"]);
    assert_eq!((verdict, executions), ("covered".into(), (3 * 34_650).into()));
}
