//! Several hosts that share one search: the same result for any number of them, and if some are killed.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use raddle_trace::exit;
use serde_json::Value;

use crate::interrupts::{children, is_gone, signal};
use crate::{Done, Project, Watched, output, skipped, target};

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

// If the test of the driver asks for it, which then interrupts the search: so many executions of each process take a
// millisecond. So a search lasts long enough to be interrupted, however fast the machine is.
fn take_time() {
    static ASKED: std::sync::LazyLock<u32> = std::sync::LazyLock::new(|| {
        std::env::var(\"TAKE_TIME\").map_or(0, |asked| asked.parse().unwrap())
    });
    static TAKEN: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    if TAKEN.fetch_add(1, SeqCst) < *ASKED {
        std::thread::sleep(Duration::from_millis(1));
    }
}

// 12! / 4!^3 orders for each of 3 values.
#[raddle::test(strategy = \"dfs\")]
fn every_order(n: AtomicU32) {
    take_time();
    let _ = raddle::choose(3);
    add(&n, 3, 4);
}

// One of two orders ends the process as the kernel does where memory is short.
#[raddle::test(strategy = \"dfs\")]
fn one_order_kills(n: AtomicU32) {
    thread::scope(|scope| {
        scope.spawn(|| n.store(1, SeqCst));
        scope.spawn(|| {
            if n.load(SeqCst) == 1 {
                let own = std::process::id().to_string();
                let _ = std::process::Command::new(\"kill\").args([\"-KILL\", &own]).status();
                std::thread::park();
            }
        });
    });
}

// 24! / 6!^4 orders.
#[raddle::test(strategy = \"dfs\")]
fn endless(n: AtomicU32) {
    add(&n, 4, 6);
}

#[raddle::test(strategy = \"dfs\")]
fn endless_too(n: AtomicU32) {
    add(&n, 4, 6);
}

fn send_and_receive() {
    let (send, receive) = raddle::sync::mpsc::channel();
    thread::scope(|scope| {
        for id in 1..3 {
            let send = send.clone();
            scope.spawn(move || {
                for nth in 0..2 {
                    send.send(10 * id + nth).unwrap();
                }
            });
        }
        drop(send);
        while receive.recv().is_ok() {}
    });
}

#[raddle::test(strategy = \"dfs\")]
fn messages() {
    send_and_receive();
}

#[raddle::test(strategy = \"dpor\")]
fn messages_reduced() {
    send_and_receive();
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

fn aborts_in(order_of_death: u32, n: &AtomicU32, times: u32) {
    // Digits of the order so far: not raddle's, so no step.
    let order = std::sync::atomic::AtomicU32::new(0);
    thread::scope(|scope| {
        for id in 1..4 {
            let order = &order;
            scope.spawn(move || {
                for _ in 0..times {
                    n.fetch_add(1, SeqCst);
                    let so_far = 4 * order.load(SeqCst) + id;
                    order.store(so_far, SeqCst);
                    if so_far == order_of_death {
                        std::process::abort();
                    }
                }
            });
        }
    });
}

// In one of 1,680 orders.
#[raddle::test(strategy = \"dfs\")]
fn one_order_aborts(n: AtomicU32) {
    aborts_in(0b10_11_01_10_11_01_10_11_01, &n, 3);
}

// Of 34,650 for each of 3 values.
#[raddle::test(strategy = \"dfs\")]
fn the_first_order_aborts(n: AtomicU32) {
    take_time();
    if raddle::choose(3) > 0 {
        return add(&n, 3, 4);
    }
    aborts_in(0b01_01_01_01_10_10_10_10_11_11_11_11, &n, 4);
}
";

/// What hosts of the project have left to go on with.
fn files() -> Vec<PathBuf> {
    let entries = fs::read_dir(target().join("raddle/checkpoints")).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    let ours = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("shared.") && (name.contains(".units") || name.contains(".deaths"))
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

/// A driver that has said how far it is so often, of a search that takes seconds.
fn started(project: &Project, arguments: &[&str], times: u32) -> (Watched, BufReader<ChildStdout>) {
    started_slowly(project, arguments, times, SLOW)
}

/// Executions of each process that take a millisecond in a search which is interrupted after some seconds.
const SLOW: u32 = 4_000;

/// The same where so many executions of each process are slow.
fn started_slowly(
    project: &Project,
    arguments: &[&str],
    times: u32,
    slow: u32,
) -> (Watched, BufReader<ChildStdout>) {
    let all = [&["test", "--no-regressions", "--format=json"], arguments].concat();
    let mut command = project.command(&all);
    command.env("TAKE_TIME", slow.to_string());
    let mut child = Watched::spawn(command.stdout(Stdio::piped()));
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
                    let mut kill = Command::new("kill");
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
                let mut kill = Command::new("kill");
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

/// A search one of whose hosts is stopped by a signal: the exit code, and how its test ended. Its own watchdog stands still
/// with it.
fn with_a_host_stopped(workers: &[&str]) -> (Option<i32>, Value) {
    let project = project();
    let arguments = [&["--exact", "every_order"][..], workers].concat();
    let (child, out) = started(&project, &arguments, 1);
    let host = hosts(child.id(), "every_order")[0];
    signal("-STOP", host);
    let events = out.lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let event = events.into_iter().find(|event| event["event"] == "test-finished");
    is_gone(host);
    (child.wait_with_output().status.code(), event.expect("the test is finished"))
}

#[test]
fn a_host_that_is_stopped_is_ended_and_another_gets_its_unit() {
    let (code, event) = with_a_host_stopped(&["--workers=2", "--unit-time=20ms"]);
    let [verdict, guarantee, executions, _] = what_it_came_to(&event);
    assert_eq!((verdict, &guarantee["covered"]), ("covered".into(), &"everything".into()));
    assert_eq!(executions, 3 * 34_650, "{}", notes(&event));
    assert_eq!(code, Some(i32::from(exit::PASSED)), "{event}");
}

#[test]
fn a_host_that_is_stopped_alone_is_ended_and_is_no_finding() {
    let (code, event) = with_a_host_stopped(&[]);
    assert!(event["report"].is_null(), "{event}");
    let said = event["error"].as_str().unwrap();
    assert!(said.contains("something stopped its host (SIGSTOP)"), "{said}");
    assert_eq!(code, Some(i32::from(exit::INCONCLUSIVE)), "{event}");
}

#[test]
fn a_host_that_is_killed_alone_is_followed_by_another_and_is_no_finding() {
    let project = project();
    let (child, out) = started(&project, &["--exact", "every_order"], 1);
    signal("-KILL", hosts(child.id(), "every_order")[0]);
    let events = out.lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let event = events.into_iter().find(|event| event["event"] == "test-finished");
    let event = event.expect("the test is finished");
    let [verdict, guarantee, executions, _] = what_it_came_to(&event);
    assert_eq!((verdict, &guarantee["covered"]), ("covered".into(), &"everything".into()));
    assert_eq!(executions, 3 * 34_650, "{}", notes(&event));
    let said = "a host was killed once by something else than the test; what it had was run again";
    assert!(notes(&event).contains(said), "{}", notes(&event));
    assert_eq!(child.wait_with_output().status.code(), Some(i32::from(exit::PASSED)), "{event}");
}

#[test]
fn a_test_that_kills_its_own_process_is_a_finding_with_one_host_and_with_two() {
    let project = project();
    for workers in [&[][..], &["--workers=2"]] {
        let arguments = [&["--exact", "one_order_kills"][..], workers].concat();
        let done = test(&project, &arguments).ended_with(exit::FAILED);
        let event = done.finished()["one_order_kills"].clone();
        let failure = &event["report"]["failure"];
        assert_eq!(failure["outcome"]["death"]["number"], 9, "{event}");
        assert!(failure["unstable"].is_null(), "it dies again: {event}");
        assert!(!notes(&event).contains("something else"), "{}", notes(&event));
    }
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

/// The units that are left are past the death, so it is not met again: what was found of it is kept beside.
#[test]
fn what_a_host_died_of_is_not_lost_when_the_driver_is_killed() {
    let project = project();
    let name = "the_first_order_aborts";
    let arguments = ["--exact", "--workers=2", "--unit-time=20ms", name];
    for how in ["-KILL", "-INT"] {
        let (mut child, mut out) = started(&project, &arguments, 1);
        // A host has died, and another has gone on.
        let died = || files().iter().any(|file| file.extension().unwrap() == "deaths");
        while !died() {
            next_progress(&mut out).expect("it has not ended");
        }
        next_progress(&mut out).expect("it has not ended");
        signal(how, child.id());
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        child.wait().unwrap();
        assert!(!files().is_empty(), "what there is to go on with");
        let all = [&arguments[..], &["--resume"]].concat();
        let done = test(&project, &all).ended_with(exit::FAILED);
        let report = &done.finished()[name]["report"];
        assert_eq!(report["failure"]["outcome"]["death"]["number"], 6, "{report}");
        assert_eq!(report["counts"]["executions"], 3 * 34_650);
        assert_eq!(files(), [] as [PathBuf; 0]);
    }
}

/// Reads what a driver says until it has so many hosts for these tests; panics if there are ever more.
fn has_hosts(driver: &Watched, out: &mut BufReader<ChildStdout>, tests: &[&str], wanted: usize) {
    let mut most = 0;
    for told in 0.. {
        next_progress(out).expect("it has not ended");
        let now = tests.iter().map(|test| hosts(driver.id(), test).len()).sum::<usize>();
        most = most.max(now);
        assert!(most <= wanted, "{most} hosts, and not {wanted}");
        // All of them are started at once, so after some time there would be more.
        if most == wanted && told >= 6 {
            return;
        }
        assert!(told < 400, "{most} hosts, and not {wanted}");
    }
}

#[test]
fn tests_that_go_on_without_the_flag_have_as_many_hosts_as_jobs_and_no_more() {
    let project = project();
    let both = ["endless", "endless_too"];
    let units = |file: &&PathBuf| file.extension().is_some_and(|kind| kind == "units");
    let stop = |mut child: Watched, mut out: BufReader<ChildStdout>| {
        signal("-INT", child.id());
        out.read_to_string(&mut String::new()).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(i32::from(exit::INTERRUPTED)));
    };
    let arguments = [&["--exact", "--jobs=4", "--workers=2"][..], &both].concat();
    let (child, mut out) = started(&project, &arguments, 1);
    has_hosts(&child, &mut out, &both, 4);
    stop(child, out);
    assert_eq!(files().iter().filter(units).count(), 2, "{:?}", files());
    for (jobs, tests, wanted) in
        [("--jobs=1", &both[..], 1), ("--jobs=3", &both[..1], 3), ("--jobs=5", &both[..], 4)]
    {
        let arguments = [&["--exact", "--resume", jobs][..], tests].concat();
        let (child, mut out) = started(&project, &arguments, 1);
        has_hosts(&child, &mut out, tests, wanted);
        stop(child, out);
    }
}

/// What orders of statements and of receives were seen, without when: that is of one part.
#[track_caller]
fn seen(event: &Value) -> [Value; 6] {
    let report = &event["report"];
    let of = |what: &str, parts: &str| {
        let mut found = report[what][parts].clone();
        found.as_object_mut().map(|count| count.remove("last"));
        assert!(!found.is_null(), "{what} {parts}: {report}");
        found
    };
    [
        of("coverage", "count"),
        of("coverage", "pairs"),
        of("receives", "count"),
        of("receives", "orders"),
        of("receives", "uncovered"),
        of("receives", "open"),
    ]
}

#[test]
fn any_number_of_workers_sees_the_same_orders_of_statements_and_of_receives() {
    let project = project();
    let names = ["messages", "messages_reduced"];
    let run = |more: &[&str]| {
        let all = [&["--exact", "--pairs=count", "--receives=count"], &names[..], more].concat();
        test(&project, &all).ended_with(exit::PASSED).finished()
    };
    let whole = run(&[]);
    let ways: [&[&str]; 3] = [
        &["--workers=1"],
        &["--workers=2", "--unit-executions=50"],
        &["--workers=3", "--unit-executions=7"],
    ];
    for way in ways {
        let ran = run(way);
        for name in names {
            assert_eq!(seen(&ran[name]), seen(&whole[name]), "{name} {way:?}");
            let verdict = &ran[name]["report"]["verdict"];
            assert_eq!(verdict, &whole[name]["report"]["verdict"], "{name} {way:?}");
        }
    }
    let [pairs, _, receives, ..] = seen(&whole["messages"]);
    assert!(pairs["known"].as_u64() > Some(0), "{pairs}");
    assert!(receives["pr"]["covered"].as_u64() > Some(0), "{receives}");
}

#[test]
fn workers_and_a_process_for_each_execution_come_to_the_same() {
    let project = project();
    let run = |name: &str, code: u8, more: &[&str]| {
        let all = [&["--exact", name], more].concat();
        test(&project, &all).ended_with(code).finished()[name].clone()
    };
    let apart = ["--isolation=process", "--workers=2", "--unit-executions=100"];
    let whole = run("reduced", exit::PASSED, &[]);
    let parts = run("reduced", exit::PASSED, &apart);
    assert_eq!(what_it_came_to(&parts), what_it_came_to(&whole));
    // A death is an execution's, not its host's: nobody has to start another.
    let event = run("one_order_aborts", exit::FAILED, &[&apart[..], &["--minimise=none"]].concat());
    assert_eq!(event["report"]["failure"]["outcome"]["death"]["number"], 6, "{event}");
}

/// A driver of `every_order` that is killed when it has stored some units; their file.
fn killed_with_units(project: &Project) -> PathBuf {
    let arguments = ["--exact", "--workers=2", "--unit-time=20ms", "every_order"];
    let (mut child, _out) = started(project, &arguments, 4);
    signal("-KILL", child.id());
    child.wait().unwrap();
    let mut left = files();
    assert_eq!(left.len(), 1, "{left:?}");
    left.remove(0)
}

/// The result of `every_order`, however it was come by.
#[track_caller]
fn is_every_order(event: &Value) {
    let [verdict, guarantee, executions, _] = what_it_came_to(event);
    assert_eq!((verdict, &guarantee["covered"]), ("covered".into(), &"everything".into()));
    assert_eq!(executions, 3 * 34_650, "{}", notes(event));
}

#[test]
fn units_that_are_damaged_are_refused_with_advice_and_a_search_begun_anew_comes_to_the_same() {
    let project = project();
    let file = killed_with_units(&project);
    let intact = fs::read(&file).unwrap();
    let arguments = ["test", "--no-regressions", "--exact", "every_order", "--resume"];
    let damages: [(&str, Vec<u8>); 3] = [
        ("cut off", intact[..intact.len() / 2].to_vec()),
        ("something else", b"these are no units".to_vec()),
        ("empty", Vec::new()),
    ];
    for (what, damaged) in damages {
        fs::write(&file, &damaged).unwrap();
        let done = project.run(&arguments).ended_with(exit::INCONCLUSIVE);
        let said = &done.out;
        assert!(said.contains("is damaged, and nothing of it is used"), "{what}: {said}");
        assert!(said.contains("every_order --resume --discard-checkpoints\n"), "{what}: {said}");
        assert!(said.contains("0 passed, 1 inconclusive"), "{what}: {said}");
        assert!(!said.contains("every execution"), "nothing is said of the test: {said}");
        assert!(file.exists(), "{what}: it is left, until it is discarded");
    }
    // A tail of which some bytes were turned: noticed, or nothing was there that counts.
    let mut turned = intact.clone();
    let from = turned.len() - turned.len() / 4;
    turned[from..].iter_mut().for_each(|byte| *byte ^= 0x5a);
    fs::write(&file, &turned).unwrap();
    let done = project.run(&[&arguments[..], &["--format=json"]].concat());
    let event = done.finished()["every_order"].clone();
    if event["report"].is_null() {
        assert!(event["error"].as_str().unwrap().contains("is damaged"), "{event}");
    } else {
        is_every_order(&event);
    }
    fs::write(&file, &turned).unwrap();
    let anew = ["--exact", "--workers=2", "--resume", "--discard-checkpoints", "every_order"];
    let done = test(&project, &anew).ended_with(exit::PASSED);
    is_every_order(&done.finished()["every_order"]);
    assert_eq!(files(), [] as [PathBuf; 0]);
}

/// A disk of a few megabytes, gone when dropped. Only what [`SmallDisk::command`] makes sees it as the place of
/// checkpoints: other tests have theirs there.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn new() -> Option<Self> {
        let path = std::env::temp_dir().join(format!("raddle-it-disk-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=16m", "none"]).arg(&path);
        match mount.output() {
            Ok(output) if output.status.success() => Some(Self(path)),
            failed => {
                let _ = fs::remove_dir(&path);
                skipped(&format!("no small disk can be mounted: {failed:?}"));
                None
            }
        }
    }

    fn command(&self, project: &Project, arguments: &[&str]) -> Command {
        let place = target().join("raddle/checkpoints");
        fs::create_dir_all(&place).unwrap();
        let inner = project.command(arguments);
        let mut command = Command::new("unshare");
        let script = "mount --bind \"$1\" \"$2\" && shift 2 && exec \"$@\"";
        command.args(["--mount", "sh", "-c", script, "sh"]).arg(&self.0).arg(place);
        command.arg(inner.get_program()).args(inner.get_args());
        command.current_dir(&project.0);
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// Takes all the room that is left.
    fn fill(&self) {
        let mut file = fs::File::create(self.0.join("something-else")).unwrap();
        let mut size = 1 << 20;
        while size > 0 {
            if file.write_all(&vec![1; size]).is_err() {
                size /= 2;
            }
        }
    }

    fn has_units(&self) -> bool {
        let entries = fs::read_dir(&self.0).unwrap();
        entries.flatten().any(|entry| entry.path().extension().is_some_and(|kind| kind == "units"))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_disk_without_room_is_reported_and_the_search_goes_on_when_there_is_some() {
    let project = project();
    let Some(disk) = SmallDisk::new() else { return };
    let arguments = ["test", "--no-regressions", "--format=json", "--exact", "--traces=true"];
    let more = ["--workers=2", "--unit-time=20ms", "every_order"];
    let arguments = [&arguments[..], &more].concat();
    let mut command = disk.command(&project, &arguments);
    let mut child =
        Watched::spawn(command.env("TAKE_TIME", SLOW.to_string()).stdout(Stdio::piped()));
    let mut out = BufReader::new(child.stdout.take().unwrap());
    while !disk.has_units() {
        next_progress(&mut out).expect("it has not ended");
    }
    disk.fill();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(i32::from(exit::INCONCLUSIVE)), "{rest}");
    assert!(rest.contains("there is no room for"), "{rest}");
    assert!(rest.contains("Free some space and go on with --resume"), "{rest}");
    let events = rest.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ends: Vec<_> = events.filter(|event| event["event"] == "test-finished").collect();
    assert!(ends.len() == 1 && ends[0]["report"].is_null(), "no part is a result: {rest}");
    fs::remove_file(disk.0.join("something-else")).unwrap();
    let arguments = [&arguments[..], &["--resume"]].concat();
    let done = Done::of(&output(&mut disk.command(&project, &arguments)));
    let event = done.ended_with(exit::PASSED).finished()["every_order"].clone();
    is_every_order(&event);
    assert_eq!(event["report"]["guarantee"]["traces"]["distinct"], 3 * 34_650);
    assert!(!disk.has_units(), "nothing is left to go on with");
}

/// Numbers that are drawn: the same ones in every run of a test.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % n
    }
}

/// One search of which hosts are killed about every second, and the driver every fifth time. What it came to at last, and how many were killed.
fn killed_at_random(project: &Project, dice: &mut Dice) -> (Value, u32) {
    let mut killed = 0;
    let mut arguments = vec!["--exact", "--workers=2", "--unit-time=50ms", "every_order"];
    loop {
        // Longer than from one kill to the next, no process would get on.
        let (mut child, mut out) = started_slowly(project, &arguments, 0, 300);
        let mut told = 0;
        let mut finished = None;
        loop {
            let mut line = String::new();
            if out.read_line(&mut line).unwrap() == 0 {
                break;
            }
            let event: Value = serde_json::from_str(&line).unwrap();
            match event["event"].as_str() {
                Some("test-finished") => finished = Some(event),
                // A driver tells four times a second how far it is.
                Some("progress") => {
                    told += 1;
                    if told % 4 != 1 {
                        continue;
                    }
                    let hosts = hosts(child.id(), "every_order");
                    if dice.below(5) == 0 {
                        signal("-KILL", child.id());
                        killed += 1;
                    } else if let Some(host) = hosts.get(dice.below(hosts.len().max(1))) {
                        // It may be gone by now.
                        let mut kill = Command::new("kill");
                        let killing = kill.args(["-KILL", &host.to_string()]).output().unwrap();
                        killed += u32::from(killing.status.success());
                    }
                }
                _ => {}
            }
        }
        child.wait().unwrap();
        if let Some(event) = finished {
            return (event, killed);
        }
        // Killed before it had stored anything, it has nothing to go on from.
        arguments.retain(|argument| *argument != "--resume");
        if !files().is_empty() {
            arguments.push("--resume");
        }
    }
}

/// Once, or with `RADDLE_LONG=1` for two minutes.
#[test]
fn hosts_and_drivers_that_are_killed_at_random_change_nothing() {
    let project = project();
    let long = std::env::var("RADDLE_LONG").is_ok_and(|long| long == "1");
    let (began, mut dice, mut all) = (Instant::now(), Dice(7), 0);
    loop {
        let (event, killed) = killed_at_random(&project, &mut dice);
        is_every_order(&event);
        assert_eq!(files(), [] as [PathBuf; 0], "nothing is left to go on with");
        all += killed;
        if all > 0 && (!long || began.elapsed() >= Duration::from_secs(120)) {
            break;
        }
    }
}
