//! Tests that are stopped before they are through, and go on in another run.

use std::fs;
use std::io::BufRead as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use raddle_trace::exit;
use serde_json::Value;

use crate::interrupts::{is_gone, signal, started_with};
use crate::{Done, Project, target};

/// A project of its own, whose checkpoints no other test touches, one test at a time.
fn project() -> MutexGuard<'static, Project> {
    static PROJECT: OnceLock<Mutex<Project>> = OnceLock::new();
    let make = || {
        let project = Project::new("stopped");
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

/// The endless one has 24! / 6!^4 executions.
const TESTS: &str = "
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
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

#[raddle::test]
fn a_right_one(n: AtomicU32) {
    add(&n, 2, 1);
}

#[raddle::test]
fn an_endless_one(n: AtomicU32) {
    add(&n, 4, 6);
}

#[raddle::test]
fn another_one(n: AtomicU32) {
    add(&n, 2, 2);
}

// Its first execution ends the process, and none of the other 16! / 4!^4 - 1.
#[raddle::test(strategy = \"dfs\")]
fn one_that_aborts_first(n: AtomicU32) {
    // Digits of the order so far: not raddle's, so no step.
    let order = std::sync::atomic::AtomicU64::new(0);
    thread::scope(|scope| {
        for id in 1..5 {
            let (n, order) = (&n, &order);
            scope.spawn(move || {
                for _ in 0..4 {
                    n.fetch_add(1, SeqCst);
                    let so_far = 8 * order.load(SeqCst) + id;
                    order.store(so_far, SeqCst);
                    if so_far == 0o1111_2222_3333_4444 {
                        std::process::abort();
                    }
                }
            });
        }
    });
}
";

/// The checkpoints of the project.
fn files() -> Vec<PathBuf> {
    let entries = fs::read_dir(target().join("raddle/checkpoints")).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    let ours = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("stopped.");
    paths.filter(ours).collect()
}

fn executions(done: &Done, test: &str) -> u64 {
    done.finished()[test]["report"]["counts"]["executions"].as_u64().unwrap()
}

fn notes(done: &Done, test: &str) -> Vec<Value> {
    done.finished()[test]["report"]["notes"].as_array().unwrap().clone()
}

fn test(project: &Project, arguments: &[&str]) -> Done {
    let all = [&["test", "--no-regressions", "--exact"], arguments].concat();
    project.run(&all)
}

/// A driver that is interrupted when its host has said how far it is.
fn interrupted(project: &Project, arguments: &[&str]) -> Done {
    let all = [&["test", "--no-regressions", "--exact", "--format=json"], arguments].concat();
    let (child, out, _) = started_with(project.command(&all).stderr(Stdio::piped()));
    signal("-INT", child.id());
    let mut text = String::new();
    std::io::Read::read_to_string(&mut { out }, &mut text).unwrap();
    let mut output = child.wait_with_output();
    output.stdout = text.into_bytes();
    Done::of(&output)
}

#[test]
fn ctrl_c_leaves_a_checkpoint_and_resume_goes_on_from_it() {
    let project = project();
    let strategy = ["--strategy=dpor", "an_endless_one"];
    let first = interrupted(&project, &strategy).ended_with(exit::INTERRUPTED);
    let before = executions(&first, "an_endless_one");
    assert!(before > 0);
    assert_eq!(notes(&first, "an_endless_one")[0]["note"], "kept");
    assert_eq!(files().len(), 1, "{:?}", files());
    // It ends at once: the budget is of all parts together.
    let limit = format!("--executions={before}");
    let all = [&strategy[..], &["--format=json", "--resume", &limit]].concat();
    let second = test(&project, &all).ended_with(exit::PASSED);
    assert_eq!(executions(&second, "an_endless_one"), before);
    let limit = format!("--executions={}", before + 50);
    let all = [&strategy[..], &["--format=json", "--resume", &limit]].concat();
    let third = test(&project, &all).ended_with(exit::PASSED);
    assert_eq!(executions(&third, "an_endless_one"), before + 50);
    let resumed = notes(&third, "an_endless_one");
    let resumed = resumed.iter().find(|note| note["note"] == "resumed").unwrap();
    assert_eq!((&resumed["parts"], &resumed["executions"]), (&3.into(), &before.into()));
    // The same without an interruption.
    let all = [&strategy[..], &["--format=json", &limit]].concat();
    let whole = test(&project, &all).ended_with(exit::PASSED);
    let of = |done: &Done, what: &str| done.finished()["an_endless_one"]["report"][what].clone();
    for what in ["counts", "guarantee", "verdict"] {
        assert_eq!(of(&third, what), of(&whole, what), "{what}");
    }
    let estimate = |done: &Done| of(done, "progress")["estimate"].clone();
    assert_eq!(estimate(&third), estimate(&whole));
}

#[test]
fn the_summary_has_the_command_that_goes_on() {
    let project = project();
    let done = test(&project, &["--time=3s", "an_endless_one"]).ended_with(exit::PASSED);
    let line = "an_endless_one was stopped before it was through; go on with: cargo raddle test \
                --no-regressions --exact --time=3s an_endless_one --resume\n";
    assert!(done.out.contains(line), "{}", done.out);
    // What goes on is what was stopped, and nothing else.
    let resumed = project.run(&["test", "--no-regressions", "--resume", "--time=3s"]);
    assert!(resumed.out.contains("1 raddle test"), "{}", resumed.out);
    assert!(resumed.out.contains("an_endless_one"), "{}", resumed.out);
    // Without the flag it begins anew.
    let all = ["--executions=5", "--strategy=random", "--format=json", "an_endless_one"];
    let anew = test(&project, &all).ended_with(exit::PASSED);
    assert_eq!(executions(&anew, "an_endless_one"), 5);
    let kept = files();
    assert_eq!(kept.len(), 1, "a budget that was given: {kept:?}");
    fs::remove_file(&kept[0]).unwrap();
    let done = test(&project, &["--resume", "an_endless_one"]).ended_with(exit::NO_TESTS);
    assert!(done.err.contains("there is nothing to go on with"), "{}", done.err);
}

#[test]
fn a_test_that_is_through_removes_its_checkpoint() {
    let project = project();
    test(&project, &["--executions=1", "--strategy=dfs", "a_right_one"]).ended_with(exit::PASSED);
    assert_eq!(files().len(), 1);
    let done = test(&project, &["--resume", "--strategy=dfs", "--format=json", "a_right_one"]);
    let done = done.ended_with(exit::PASSED);
    assert_eq!(executions(&done, "a_right_one"), 2);
    assert_eq!(done.finished()["a_right_one"]["report"]["verdict"], "covered");
    assert!(files().is_empty(), "{:?}", files());
}

#[test]
fn a_checkpoint_of_another_search_is_reported_and_kept() {
    let project = project();
    test(&project, &["--executions=1", "--strategy=dfs", "a_right_one"]).ended_with(exit::PASSED);
    let done = test(&project, &["--resume", "--strategy=dpor", "a_right_one"]);
    let done = done.ended_with(exit::INCONCLUSIVE);
    assert!(done.out.contains("it is of the strategy `dfs` and this is `dpor`"), "{}", done.out);
    assert_eq!(files().len(), 1);
    // The command that begins it anew is named, and does so.
    assert!(done.out.contains("a_right_one --resume --discard-checkpoints\n"), "{}", done.out);
    let anew = ["--resume", "--discard-checkpoints", "--strategy=dpor", "a_right_one"];
    let done = test(&project, &anew).ended_with(exit::PASSED);
    assert!(done.out.contains("every execution"), "{}", done.out);
    assert_eq!(files().len(), 0);
}

#[test]
fn after_a_rebuild_it_is_said_what_has_changed_and_how_to_begin_anew() {
    let project = project();
    let tests = fs::read_to_string(project.0.join("tests/it.rs")).unwrap();
    let arguments = ["--executions=200", "--strategy=dfs", "an_endless_one"];
    test(&project, &arguments).ended_with(exit::PASSED);
    assert_eq!(files().len(), 1, "{:?}", files());
    project.write("tests/it.rs", &format!("{tests}\n#[raddle::test]\nfn a_new_one() {{}}\n"));
    let again = [&["--resume"], &arguments[..]].concat();
    let done = test(&project, &again).ended_with(exit::INCONCLUSIVE);
    let built = "it was written by another build of this test";
    assert!(done.out.contains(built), "{}", done.out);
    let changed = "an_endless_one: changed since it was stopped: tests/it.rs\n";
    assert!(done.out.contains(changed), "{}", done.out);
    assert!(!done.out.contains("delete") && !done.out.contains("remove"), "{}", done.out);
    // The command is there, and does what it says.
    let begin = "1 test cannot go on from what was kept; to begin it anew: cargo raddle ";
    let line = done.out.lines().find_map(|line| line.strip_prefix(begin)).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words.last(), Some(&"--discard-checkpoints"));
    let done = project.run(&[&words[..], &["--format=json"]].concat());
    let done = done.ended_with(exit::PASSED);
    let notes = notes(&done, "an_endless_one");
    assert!(notes.iter().all(|note| note["note"] != "resumed"), "{notes:?}");
    project.write("tests/it.rs", &tests);
}

#[test]
fn tests_that_were_not_begun_are_run_when_it_goes_on() {
    let project = project();
    let both = ["--jobs=1", "--strategy=dfs", "an_endless_one", "another_one"];
    interrupted(&project, &both).ended_with(exit::INTERRUPTED);
    let all = [&both[..], &["--resume", "--executions=1000000", "--time=3s", "--format=json"]];
    let done = test(&project, &all.concat()).ended_with(exit::PASSED);
    assert_eq!(done.finished().len(), 2, "{}", done.out);
    let left: Vec<_> = files();
    assert_eq!(left.len(), 1, "only that of the endless one: {left:?}");
}

/// The driver is killed, and its host with it, after a checkpoint was written: that is where it goes on.
#[test]
fn a_driver_that_is_killed_loses_what_came_after_the_last_checkpoint() {
    let project = project();
    let endless = ["--strategy=dpor", "an_endless_one"];
    let first = ["test", "--no-regressions", "--exact", "--format=json", "--checkpoint-every=50ms"];
    let all = [&first[..], &endless].concat();
    let (mut child, mut out, host) = started_with(&mut project.command(&all));
    let mut line = String::new();
    while files().iter().all(|file| file.extension().is_none_or(|kind| kind != "checkpoint")) {
        line.clear();
        assert_ne!(out.read_line(&mut line).unwrap(), 0, "it ended before it was killed");
    }
    signal("-KILL", child.id());
    child.wait().unwrap();
    is_gone(host);
    let limit = |more: &[&str]| {
        let all = [&endless[..], &["--format=json"], more].concat();
        test(&project, &all).ended_with(exit::PASSED)
    };
    // As many as it has run up to then: nothing is run again, and nothing is left out.
    let resumed = limit(&["--resume", "--executions=1"]);
    let before = executions(&resumed, "an_endless_one");
    assert!(before > 0);
    let more = format!("--executions={}", before + 30);
    let parts = limit(&["--resume", &more]);
    let whole = limit(&[&more]);
    let of = |done: &Done, what: &str| done.finished()["an_endless_one"]["report"][what].clone();
    for what in ["counts", "guarantee", "verdict"] {
        assert_eq!(of(&parts, what), of(&whole, what), "{what}");
    }
    assert_eq!(of(&parts, "progress")["estimate"], of(&whole, "progress")["estimate"]);
}

/// A checkpoint is past the death, so it is not met again: what was found of it is kept beside.
#[test]
fn what_a_host_died_of_is_not_lost_when_the_search_goes_on() {
    let project = project();
    let name = "one_that_aborts_first";
    let found = |more: &[&str]| {
        let all = [&[name, "--format=json"], more].concat();
        let done = test(&project, &all).ended_with(exit::FAILED);
        let report = done.finished()[name]["report"].clone();
        assert_eq!(report["failure"]["outcome"]["death"]["number"], 6, "{report}");
        report
    };
    found(&["--executions=300"]);
    assert!(!files().is_empty(), "there is something to go on with");
    let parts = found(&["--executions=600", "--resume"]);
    let whole = found(&["--executions=600"]);
    for what in ["counts", "guarantee", "verdict"] {
        assert_eq!(parts[what], whole[what], "{what}");
    }
    // The driver is killed after a checkpoint of the host that went on.
    for file in files() {
        fs::remove_file(file).unwrap();
    }
    let first = ["test", "--no-regressions", "--exact", "--format=json", "--checkpoint-every=50ms"];
    let all = [&first[..], &[name]].concat();
    let (mut child, mut out, _) = started_with(&mut project.command(&all));
    let mut line = String::new();
    while files().iter().all(|file| file.extension().is_none_or(|kind| kind != "checkpoint")) {
        line.clear();
        assert_ne!(out.read_line(&mut line).unwrap(), 0, "it ended before it was killed");
    }
    signal("-KILL", child.id());
    child.wait().unwrap();
    found(&["--executions=1", "--resume"]);
}
