//! Hosts that die: each is a finding with its schedule, which replays.

use std::path::Path;

use raddle_trace::exit;
use serde_json::Value;

use crate::fixture;

fn died(test: &str, more: &[&str]) -> Value {
    let arguments = ["test", "--no-regressions", "--format=json", "--exact", test];
    let done = fixture().run(&[&arguments, more].concat()).ended_with(exit::FAILED);
    let event = done.finished()[test].clone();
    assert_eq!(event["ending"], "failed");
    event["report"].clone()
}

/// The steps of the failing execution, without those of the second thread's making.
fn steps(report: &Value) -> Vec<String> {
    let events = report["failure"]["trace"]["events"].as_array().unwrap();
    events.iter().map(|event| event["op"].as_str().unwrap().to_owned()).collect()
}

/// Replays the schedule in a fresh host, which dies in the same way.
#[track_caller]
fn dies_again(report: &Value, test: &str, how: &str) {
    let schedule: raddle_trace::Schedule =
        serde_json::from_value(report["failure"]["schedule"].clone()).unwrap();
    let token = schedule.to_string();
    let done = fixture().run(&["replay", &token, test]).ended_with(exit::FAILED);
    assert!(done.out.contains(how), "{}", done.out);
}

#[test]
fn a_segmentation_fault_is_a_finding() {
    let report = died("a_segmentation_fault", &["--strategy=dfs"]);
    let outcome = &report["failure"]["outcome"];
    assert_eq!((&outcome["kind"], &outcome["death"]["number"]), (&"died".into(), &11.into()));
    // The first execution loads before the store, the second after it: that one dies.
    assert_eq!(report["counts"]["executions"], 2);
    assert_eq!(steps(&report), ["store(1)", "load -> 1"].map(str::to_owned));
    assert_eq!(outcome["task"], 0, "who moved last");
    dies_again(&report, "a_segmentation_fault", "main ended the process by SIGSEGV");
}

#[test]
fn an_abort_is_a_finding() {
    let report = died("an_abort", &[]);
    assert_eq!(report["failure"]["outcome"]["death"]["number"], 6);
    assert_eq!(report["failure"]["unstable"], Value::Null, "it died again when retraced");
    dies_again(&report, "an_abort", "main ended the process by SIGABRT (an abort)");
}

#[test]
fn an_exit_is_a_finding() {
    let report = died("an_exit", &[]);
    assert_eq!(report["failure"]["outcome"]["death"]["code"], 7);
    dies_again(&report, "an_exit", "main ended the process with exit code 7");
}

#[test]
fn a_loop_without_steps_is_a_finding() {
    let report = died("a_loop", &[]);
    let death = &report["failure"]["outcome"]["death"];
    assert_eq!((&death["by"], &death["after_ms"]), (&"hang".into(), &4_000.into()));
    assert_eq!(steps(&report).len(), 2);
    dies_again(&report, "a_loop", "main hangs: no step was made for 4000 ms");
}

#[test]
fn a_lack_of_memory_is_a_finding() {
    let report = died("a_lack_of_memory", &["--host-memory=4g"]);
    let death = &report["failure"]["outcome"]["death"];
    assert_eq!((&death["by"], &death["limit"]), (&"memory".into(), &(4_u64 << 30).into()));
}

#[test]
fn a_stack_overflow_is_a_finding_without_a_death() {
    let report = died("a_stack_overflow", &[]);
    let kind = &report["failure"]["outcome"]["kind"];
    // Elsewhere than on x86-64 Linux the process dies of it.
    let expected = if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        "stack-overflow"
    } else {
        "died"
    };
    assert_eq!(kind, expected);
}

#[test]
fn values_are_part_of_the_schedule_of_a_death() {
    let report = died("a_death_after_a_value", &[]);
    let decisions = report["failure"]["schedule"]["decisions"].as_array().unwrap();
    let values: Vec<&Value> =
        decisions.iter().filter(|entry| entry.get("Value").is_some()).collect();
    assert_eq!(values[0]["Value"]["key"]["Index"], 2);
    assert_eq!(values.len(), 2);
    dies_again(&report, "a_death_after_a_value", "SIGABRT");
}

#[test]
fn a_failure_is_not_lost_when_making_it_small_kills_the_host() {
    // With this seed the first execution is the one that panics.
    let report = died("a_death_on_the_way_to_less", &["--seed=0"]);
    assert_eq!(report["failure"]["outcome"]["kind"], "panicked");
    let notes = report["notes"].as_array().unwrap();
    let note = notes.last().unwrap()["text"].as_str().unwrap();
    assert_eq!(
        note,
        "an execution that was tried to make the failure small ended the process by SIGABRT (an abort)"
    );
}

#[test]
fn the_other_tests_go_on() {
    let done = fixture()
        .run(&["test", "--no-regressions", "--jobs=1", "--exact", "an_abort", "a_right_one"])
        .ended_with(exit::FAILED);
    assert!(done.out.contains("1 passed, 1 failed"), "{}", done.out);
    assert!(
        done.out.contains("FAILED an_abort: main ended the process by SIGABRT"),
        "{}",
        done.out
    );
    assert!(!done.out.contains("covered so far: every execution"), "{}", done.out);
}

#[test]
fn an_abort_while_a_panic_unwinds_is_headed_by_the_panic() {
    let report = died("an_abort_after_a_panic", &[]);
    let outcome = &report["failure"]["outcome"];
    assert_eq!((&outcome["kind"], &outcome["death"]["number"]), (&"died".into(), &6.into()));
    assert_eq!(outcome["panic"]["message"], "too late");
    dies_again(&report, "an_abort_after_a_panic", "main panicked at tests/deaths.rs:");
    let report = died("an_abort_after_a_panic", &["--isolation=process"]);
    assert_eq!(report["failure"]["outcome"]["panic"]["message"], "too late");
}

#[test]
fn a_guard_that_aborts_when_it_is_unwound_does_not_hide_a_data_race() {
    let report = died("a_race_beside_a_guard", &[]);
    assert_eq!(kinds(&report), ["data-race"]);
}

#[test]
fn a_std_lock_over_an_operation_is_explained_as_without_the_driver() {
    let arguments = ["test", "--no-regressions", "--exact", "a_std_lock"];
    let done = fixture().run(&arguments).ended_with(exit::FAILED);
    let said = [
        "waits for something that raddle does not control",
        "- a lock, channel or thread of std, parking_lot or another crate",
        "operation was at tests/deaths.rs:",
    ];
    for said in said {
        assert!(done.out.contains(said), "{said}: {}", done.out);
    }
}

#[test]
fn what_a_test_has_started_goes_with_its_host() {
    let arguments = ["test", "--no-regressions", "--exact", "an_orphan"];
    let done = fixture().run(&arguments).ended_with(exit::FAILED);
    let orphans: Vec<&str> =
        done.out.lines().filter_map(|line| line.trim().strip_prefix("orphan ")).collect();
    assert!(!orphans.is_empty(), "{}", done.out);
    for orphan in orphans {
        let state = std::fs::read_to_string(format!("/proc/{orphan}/stat")).unwrap_or_default();
        let alive = Path::new(&format!("/proc/{orphan}")).exists() && !state.contains(") Z ");
        assert!(!alive, "{orphan} is left: {state}");
    }
}

/// Every failure of a report, the first first.
fn kinds(report: &Value) -> Vec<String> {
    let others = report["others"].as_array().cloned().unwrap_or_default();
    let all = std::iter::once(report["failure"].clone()).chain(others);
    let kind = |failure: Value| {
        let outcome = &failure["outcome"];
        match outcome["kind"].as_str().unwrap() {
            "died" => format!("died: {}", outcome["death"]["by"].as_str().unwrap()),
            other => other.to_owned(),
        }
    };
    all.map(kind).collect()
}

#[test]
fn the_search_goes_on_in_a_fresh_host() {
    let report = died("several_ends", &[]);
    // A failure of another kind goes first, though it was found later.
    assert_eq!(kinds(&report), ["panicked", "died: signal"]);
    assert!(report["failure"]["execution"].as_u64() > report["others"][0]["execution"].as_u64());
    let notes = report["notes"].as_array().unwrap();
    let said = notes.iter().filter_map(|note| note["text"].as_str());
    assert!(said.clone().any(|text| text.contains("went on in a fresh one")), "{notes:?}");
}

#[test]
fn the_search_goes_on_where_each_execution_has_a_process() {
    let report = died("several_ends", &["--isolation=process"]);
    assert_eq!(kinds(&report), ["panicked", "died: signal"]);
}

#[test]
fn a_death_is_made_small_and_explained() {
    let report = died("a_death_after_a_value", &[]);
    let failure = &report["failure"];
    // The store before the load, while the body could go on.
    assert_eq!(failure["minimised"]["to"]["preemptions"], 1);
    assert_eq!(failure["minimised"]["least"], true);
    assert!(failure["explanation"].is_object());
}

#[test]
fn a_saved_death_that_dies_again_is_told_as_the_first_time() {
    let project = fixture();
    let saved = project.0.join("raddle-regressions");
    let _ = std::fs::remove_dir_all(&saved);
    let name = "a_death_after_a_value";
    let arguments = ["test", "--format=json", "--exact", name];
    let run = || {
        let done = project.run(&arguments).ended_with(exit::FAILED);
        done.finished()[name]["report"]["failure"].clone()
    };
    let (first, again) = (run(), run());
    std::fs::remove_dir_all(&saved).unwrap();
    assert!(first["minimised"].is_object() && first["explanation"].is_object(), "{first}");
    for what in ["minimised", "explanation", "schedule", "outcome"] {
        assert_eq!(first[what], again[what], "{what}");
    }
}

#[test]
fn statics_start_anew_where_each_execution_has_a_process() {
    let arguments = ["test", "--no-regressions", "--exact", "a_static"];
    fixture().run(&arguments).ended_with(exit::FAILED);
    let arguments = [&arguments[..], &["--isolation=process"]].concat();
    let done = fixture().run(&arguments).ended_with(exit::PASSED);
    assert!(done.out.contains("1 passed"), "{}", done.out);
}

#[test]
fn a_loop_without_steps_does_not_end_a_search_of_processes() {
    let report = died("a_loop", &["--strategy=dfs", "--isolation=process"]);
    assert_eq!(kinds(&report), ["died: hang"]);
    assert_eq!(report["counts"]["executions"], 2, "both orders");
}
