//! Every format that other tools read.

use insta::assert_snapshot;
use raddle_trace::{
    Branch, BranchEnd, Decision, DecisionTree, Failure, Key, Report, Schedule, TaskKind, TaskName,
};
use serde_json::Value;

use super::*;
use crate::samples::{lock_order, long, lost_update, threads, two_tills};

fn failure(report: Report) -> Failure {
    report.failure.expect("a failed report")
}

#[test]
fn a_timeline_has_a_thread_for_each_task_and_a_slice_for_each_step() {
    let failure = failure(two_tills());
    let timeline: Value = serde_json::from_str(&perfetto(&failure)).expect("JSON");
    let events = timeline["traceEvents"].as_array().expect("a list");
    let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
    let slices = of("X");
    assert_eq!(slices.len(), failure.trace.events.len());
    assert_eq!(slices[2]["name"], "Left { till: actor 1 }");
    assert!(
        slices.iter().zip(&failure.trace.events).all(|(slice, event)| slice["tid"] == event.task)
    );
    // An arrow has two ends: one later than the other, in another thread.
    let (starts, ends) = (of("s"), of("f"));
    let n_arrows: usize = failure.trace.events.iter().flat_map(|e| &e.after).map(Vec::len).sum();
    assert_eq!((starts.len(), ends.len()), (n_arrows, n_arrows));
    for (start, end) in starts.iter().zip(&ends) {
        assert_eq!(start["id"], end["id"]);
        assert!(start["ts"].as_f64() < end["ts"].as_f64() && start["tid"] != end["tid"]);
    }
    assert_eq!(of("i")[0]["name"], "panicked: sold twice");
    let names: Vec<_> = of("M")
        .iter()
        .filter(|e| e["name"] == "thread_name")
        .map(|e| e["args"]["name"].clone())
        .collect();
    assert_eq!(names[..3], ["main", "test → left", "test → right"]);
}

#[test]
fn a_diagram_of_threads_has_their_objects() {
    assert_snapshot!(mermaid(&failure(lock_order())), @"
    sequenceDiagram
        participant t0 as main
        participant t1 as thread 1
        participant t2 as thread 2
        participant o0 as Mutex#35;1
        participant o1 as Mutex#35;2
        t1->>o0: lock
        t2->>o1: lock (preempts)
        Note over t0: waits to join thread 1
        Note over t1: waits for lock Mutex#35;2 held by thread 2
        Note over t2: waits for lock Mutex#35;1 held by thread 1
    ");
}

#[test]
fn a_diagram_of_actors_has_their_messages() {
    assert_snapshot!(mermaid(&failure(two_tills())), @"
    sequenceDiagram
        participant a0 as test
        participant a1 as left
        participant a2 as right
        participant a3 as stock
        participant a4 as main
        a0-)a1: Sell
        a0-)a2: Sell
        a1-)a3: Left #123; till#58; actor 1 #125;
        a2-)a3: Left #123; till#58; actor 2 #125;
        a3-)a1: There(1)
        a3-)a2: There(1)
        a4->>a4: handle all
        Note over a4: panicked#58; sold twice
    ");
}

#[test]
fn a_long_diagram_is_folded() {
    let text = mermaid(&failure(long()));
    assert!(text.lines().count() < 220, "{}", text.lines().count());
    assert!(text.contains("steps of thread 1"));
}

#[test]
fn no_text_is_taken_for_syntax() {
    let mut failure = failure(lost_update());
    failure.trace.tasks[1].label = Some("end".to_owned());
    failure.trace.events[0].op = "send(\"a;b\"): %% <c> #d\nparticipant x".to_owned();
    let text = mermaid(&failure);
    assert!(text.contains("participant t1 as (end)\n"));
    let line = text.lines().find(|line| line.contains("send")).expect("a step");
    assert_eq!(
        line,
        "    t1->>o0: send(#quot;a#59;b#quot;)#58; #37;#37; #lt;c#gt; #35;d participant x"
    );
}

fn branch(decisions: &[Decision], ended: BranchEnd) -> Branch {
    let (tasks, decisions) = (threads(2), decisions.to_vec());
    Branch { schedule: Schedule { tasks, decisions, ..Schedule::default() }, ended }
}

#[test]
fn executions_share_the_decisions_with_which_they_begin() {
    let (one, two) = (Decision::Run(1), Decision::Run(2));
    let value = |value| Decision::Value { task: 2, key: Key::Index(value), of: 2 };
    let tree = DecisionTree {
        branches: vec![
            branch(&[one, one, two, value(0)], BranchEnd::Completed),
            branch(&[one, one, two, value(1)], BranchEnd::Failed),
            branch(&[one, two], BranchEnd::Blocked),
            branch(&[two, two, two, one, one, two, one, two], BranchEnd::Rejected),
        ],
        more: 12,
        ..DecisionTree::default()
    };
    assert_snapshot!(dot(&tree), @r##"
    digraph decisions {
        rankdir=TB;
        node [shape=point, width=0.08, fontname="monospace", fontsize=10];
        edge [arrowhead=none, fontname="monospace", fontsize=10];
        label="12 more executions not shown"; labelloc=b;
        n0 -> n1 [label="thread 1"];
        n0 -> n2 [label="thread 2 ×3\nthread 1 ×2\nthread 2\nthread 1\n… 1 more"];
        n1 -> n3 [label="thread 1\nthread 2"];
        n1 -> n4 [label="thread 2"];
        n3 -> n5 [label="thread 2: 0 of 2"];
        n3 -> n6 [label="thread 2: 1 of 2"];
        n5 [shape=circle, width=0.15, label="", tooltip="execution 1: completed"];
        n6 [shape=octagon, style=filled, fillcolor="#f4b8b4", color="#b3261e", label="2", tooltip="execution 2: failed"];
        n4 [shape=box, style=dotted, label="", width=0.15, height=0.15, tooltip="execution 3: covered elsewhere"];
        n2 [shape=box, style=dashed, label="", width=0.15, height=0.15, tooltip="execution 4: cut off by a limit"];
    }
    "##);
}

#[test]
fn tasks_of_one_name_are_told_apart_and_tables_may_differ() {
    let mut first = branch(&[Decision::Run(1)], BranchEnd::Completed);
    let mut second = branch(&[Decision::Run(2)], BranchEnd::Completed);
    for branch in [&mut first, &mut second] {
        for task in &mut branch.schedule.tasks[1..] {
            task.label = Some("worker \"a\\b\"".to_owned());
        }
    }
    // The same first thread, in a table in which a timer comes before it.
    let mut third = first.clone();
    let timer = TaskName { parent: 0, nth: 0, kind: TaskKind::Environment, label: None };
    third.schedule.tasks.insert(1, timer);
    third.schedule.decisions = vec![Decision::Run(2)];
    let tree = DecisionTree { branches: vec![first, second, third], ..DecisionTree::default() };
    let text = dot(&tree);
    assert_eq!(text.matches("n0 -> ").count(), 2, "{text}");
    assert!(text.contains(r#"[label="worker \"a\\b\""]"#), "{text}");
}

#[test]
fn of_a_failure_alone_there_is_one_path() {
    let failure = failure(lost_update());
    let text = dot(&DecisionTree::from(&failure));
    assert_eq!(text.matches(" -> ").count(), 1);
    assert!(text.contains("11 more executions not shown"), "execution 12 failed: {text}");
}
