//! A new project, from a bug to its end: find, save, replay, fix, green.

use std::fs;

use raddle_trace::exit;

use crate::{Project, fixture};

const WRONG: &str = r"
//! A counter.
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};

#[derive(Default)]
pub struct Counter(AtomicU32);

impl Counter {
    pub fn add_one(&self) {
        let n = self.0.load(SeqCst);
        self.0.store(n + 1, SeqCst);
    }

    pub fn get(&self) -> u32 {
        self.0.load(SeqCst)
    }
}

#[cfg(test)]
mod tests {
    #[raddle::test]
    fn nothing_is_lost(counter: super::Counter) {
        raddle::thread::scope(|scope| {
            scope.spawn(|| counter.add_one());
            counter.add_one();
        });
        assert_eq!(counter.get(), EXPECTED);
    }

    #[raddle::test]
    fn one_counts_to_one(counter: super::Counter) {
        raddle::thread::scope(|scope| drop(scope.spawn(|| counter.add_one())));
        assert_eq!(counter.get(), 1);
    }
}
";

#[test]
fn a_bug_is_found_saved_replayed_and_fixed() {
    // The report of a run is where cargo builds, which is one place for all these projects.
    let _alone = fixture();
    let project = Project::new("cycle");
    let wrong = WRONG.trim_start().replace("EXPECTED", "2");
    project.write("src/lib.rs", &wrong);

    // Find and save.
    let arguments = ["test", "--strategy=random", "--seed=1", "--minimise=none"];
    let done = project.run(&arguments).ended_with(exit::FAILED);
    assert!(done.out.contains("1 passed, 1 failed"), "{}", done.out);
    let file = "raddle-regressions/tests.nothing_is_lost.json";
    assert!(
        done.out.contains(&format!("replay it with:\n  cargo raddle replay {file}")),
        "{}",
        done.out
    );
    let saved = fs::read_to_string(project.0.join(file)).unwrap();

    // Replay: no name is needed, the file knows.
    let done = project.run(&["replay", file]).ended_with(exit::FAILED);
    assert!(done.out.contains("FAILED tests::nothing_is_lost"), "{}", done.out);

    // Make it small: an update is lost with one preemption, and not with none.
    assert!(!saved.contains("\"minimised\""), "{saved}");
    let done = project.run(&["minimise", file]).ended_with(exit::FAILED);
    let small: raddle_trace::SavedFailure =
        serde_json::from_str(&fs::read_to_string(project.0.join(file)).unwrap()).unwrap();
    let minimised = small.failure.minimised.expect("it says how small it is");
    assert_eq!((minimised.to.preemptions, minimised.least), (1, true), "{}", done.out);
    assert_eq!(small.test.as_deref(), Some("tests::nothing_is_lost"));
    let saved = fs::read_to_string(project.0.join(file)).unwrap();

    // Explain it.
    let done = project.run(&["explain", file]).ended_with(exit::FAILED);
    assert!(done.out.contains("src/lib.rs:9"), "{}", done.out);
    let explained = done.out.clone();
    let done = project.run(&["replay", file]).ended_with(exit::FAILED);
    assert_ne!(explained, done.out, "a replay alone is not explained");

    // The next run begins with it, and needs no search.
    let done = project.run(&["test", "--format=json"]).ended_with(exit::FAILED);
    let retried: Vec<_> =
        done.events().into_iter().filter(|event| event["event"] == "regression").collect();
    assert_eq!(retried.len(), 1);
    assert_eq!(
        (&retried[0]["retried"], &retried[0]["test"]),
        (&"fails".into(), &"tests::nothing_is_lost".into())
    );
    let report = &done.finished()["tests::nothing_is_lost"]["report"];
    assert_eq!(
        (&report["strategy"], &report["counts"]["executions"]),
        (&"replay".into(), &1.into())
    );
    // It is told as it was the first time: how small it is, and why it fails.
    let small = serde_json::to_value(&small.failure).unwrap();
    assert_eq!(report["failure"]["minimised"], small["minimised"]);
    assert!(report["failure"]["explanation"].is_object(), "{report}");
    let told = project.run(&["test"]).ended_with(exit::FAILED).out;
    assert!(told.contains(&format!("replayed the saved schedule of {file}: ")), "{told}");
    assert!(!told.contains("searched with replay"), "{told}");
    // Unless that is not wanted.
    let done = project.run(&["test", "--format=json", "--explain=false"]).ended_with(exit::FAILED);
    let report = &done.finished()["tests::nothing_is_lost"]["report"];
    assert_eq!(report["failure"].get("explanation"), None, "{report}");
    assert_eq!(fs::read_to_string(project.0.join(file)).unwrap(), saved, "nothing new is saved");

    // A change of what is expected: the same steps, and they pass.
    project.write("src/lib.rs", &wrong.replace("counter.get(), 2", "counter.get(), 1"));
    let done = project.run(&["test", "--exact", "tests::nothing_is_lost"]);
    assert!(
        done.out
            .contains("the schedule in raddle-regressions/tests.nothing_is_lost.json passes now"),
        "{}",
        done.out
    );

    // The fix: other steps. The schedule is stale, and stays until it is deleted.
    let fixed = wrong.replace(
        "let n = self.0.load(SeqCst);\n        self.0.store(n + 1, SeqCst);",
        "self.0.fetch_add(1, SeqCst);",
    );
    assert_ne!(fixed, wrong);
    project.write("src/lib.rs", &fixed);
    let second = project.0.join("raddle-regressions/tests.nothing_is_lost.2.json");
    assert!(second.is_file(), "the change before was a failure of its own");
    fs::remove_file(second).unwrap();
    let done = project.run(&["test"]).ended_with(exit::PASSED);
    assert!(done.out.contains("2 passed"), "{}", done.out);
    assert!(
        done.out.contains("is stale: the test does something else under it now"),
        "{}",
        done.out
    );
    assert!(project.0.join(file).is_file());
    fs::remove_file(project.0.join(file)).unwrap();
    let done = project.run(&["test"]).ended_with(exit::PASSED);
    assert!(!done.out.contains("stale"), "{}", done.out);
}

#[test]
fn a_damaged_file_is_named_and_left_alone() {
    let _alone = fixture();
    let project = Project::new("damaged");
    project.write("src/lib.rs", &WRONG.trim_start().replace("EXPECTED", "counter.get()"));
    project.write("raddle-regressions/tests.nothing_is_lost.json", "{\"schedule\": 3");
    let done = project.run(&["test"]).ended_with(exit::PASSED);
    assert!(
        done.err.contains("warning: ") && done.err.contains("not complete JSON"),
        "{}",
        done.err
    );
}
