//! The command, as scripts call it.

use std::process::{Command, Output};

use serde_json::Value;

fn corpus(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle-corpus"));
    command.args(arguments).output().expect("the command can be started")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one JSON value")
}

#[test]
fn a_run_is_one_json_object() {
    let output = corpus(&["run", "readers", "3", "--strategy", "dfs", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let told = json(&output);
    assert_eq!(told["program"], "readers");
    assert_eq!(told["arguments"], serde_json::json!([3]));
    assert_eq!(told["verdict"], "covered");
    assert_eq!(told["executions"], 630);
    assert_eq!(told["guarantee"], "every execution; assuming sequentially consistent memory");
    for (field, value) in [("rejected", 0), ("blocked", 0)] {
        assert_eq!(told[field], value);
    }
    for field in ["traces", "traces_exact", "unseen", "failure", "schedule"] {
        assert_eq!(told[field], Value::Null);
    }
    assert!(told["elapsed_ms"].is_u64() && told["steps"].is_u64());
}

#[test]
fn traces_are_counted_if_asked_for() {
    let arguments = ["run", "readers", "3", "--strategy", "dfs", "--traces", "--json"];
    let told = json(&corpus(&arguments));
    assert_eq!((&told["traces"], &told["traces_exact"]), (&8.into(), &true.into()));
    assert_eq!(told["unseen"], Value::Null);
    assert_eq!(
        told["guarantee"],
        "every execution; 8 distinct partial orders; assuming sequentially consistent memory"
    );
    let sampled = ["run", "readers", "3", "--strategy", "pos", "--traces", "--json"];
    let told = json(&corpus(&sampled));
    assert_eq!((&told["traces"], &told["unseen"]), (&8.into(), &0.0.into()));
}

#[test]
fn a_failure_comes_with_its_schedule() {
    let output = corpus(&["run", "abba", "--strategy", "dfs preemptions(1)", "--json"]);
    assert_eq!(output.status.code(), Some(0), "a known bug that is found is as known");
    let told = json(&output);
    assert_eq!((&told["verdict"], &told["failure"]), (&"failed".into(), &"deadlock".into()));
    assert!(told["schedule"].as_str().is_some_and(|token| token.starts_with("rd1")));
}

#[test]
fn a_bug_that_is_missed_is_exit_code_1() {
    let output = corpus(&["run", "abba", "--strategy", "dfs preemptions(0)", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(json(&output)["as_expected"], false);
}

#[test]
fn the_same_seed_draws_the_same() {
    let ask = |seed| {
        let options = ["--strategy", "random", "--executions", "9", "--seed", seed, "--json"];
        let mut told = json(&corpus(&[["run", "cinc", "3"].as_slice(), &options].concat()));
        told["elapsed_ms"] = 0.into();
        told
    };
    assert_eq!(ask("4"), ask("4"));
    assert_eq!(ask("4")["executions"], 9);
}

#[test]
fn a_time_limit_ends_a_search() {
    let output = corpus(&["run", "inc", "6", "--strategy", "dfs", "--time", "50ms", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(json(&output)["verdict"], "passed");
}

#[test]
fn what_cannot_be_run_is_exit_code_2_and_says_what_to_write() {
    for (arguments, said) in [
        (
            ["run", "philosopher", "--json"].as_slice(),
            "raddle-corpus: there is no program `philosopher`; did you mean `philosophers`?\n",
        ),
        (
            &["run", "abba", "3"],
            "raddle-corpus: wrong number of arguments: 1; give those of `abba`, or none\n",
        ),
        (
            &["run", "philosophers", "6"],
            "raddle-corpus: n = 6 is out of range: in `philosophers(n)` it is from 2 to 5\n",
        ),
        (
            &["run", "abba", "--strategy", "dsf"],
            "raddle-corpus: the strategy `dsf` cannot be used: `dsf` is not a known strategy; did \
             you mean `dfs`?\n",
        ),
    ] {
        let output = corpus(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!((text(&output.stderr).as_str(), text(&output.stdout).as_str()), (said, ""));
    }
    for arguments in [
        ["run", "inc", "many"].as_slice(),
        &["run", "inc", "--time", "soon"],
        &["run"],
        &["run", "inc", "--all"],
        &[],
    ] {
        let output = corpus(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
    }
}

#[test]
fn every_program_is_listed() {
    let listed = json(&corpus(&["list", "--json"]));
    let names: Vec<_> = listed.as_array().expect("an array").iter().map(|p| &p["name"]).collect();
    let known: Vec<_> = raddle_corpus::everything().map(|program| program.name).collect();
    assert_eq!(names, known);
    let shown = text(&corpus(&["list"]).stdout);
    assert!(known.iter().all(|name| shown.contains(name)));
}

#[test]
fn all_programs_can_be_run_at_once() {
    let output = corpus(&["run", "--all", "--executions", "20000"]);
    let shown = text(&output.stdout);
    assert_eq!(shown.lines().count(), raddle_corpus::REGISTRY.len());
    assert_eq!(output.status.code(), Some(0), "{shown}");
}
