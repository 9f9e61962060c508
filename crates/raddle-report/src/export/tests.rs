//! Every format that other tools read.

use insta::assert_snapshot;
use raddle_trace::{BranchEnd, DecisionTree, Failure, Leaf, Report, Site, TreeNode, TreeOption};
use serde_json::Value;

use super::*;
use crate::samples::{lock_order, long, lost_update, two_tills};

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
    // The first task is the main thread of the process; no other has its number, and none has 0.
    let process = failure.trace.tasks.len();
    let thread = |task: u32| if task == 0 { process as u32 } else { task };
    assert!(events.iter().all(|event| event["pid"] == process && event["tid"] != 0));
    let own = |(slice, event): (&&Value, &raddle_trace::Event)| slice["tid"] == thread(event.task);
    assert!(slices.iter().zip(&failure.trace.events).all(own));
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

fn option(who: &str, what: &str, preempts: bool, to: Option<u32>) -> TreeOption {
    let site = Some(Site { file: "src/queue.rs".to_owned(), line: 7, column: 5 });
    let object = (!what.starts_with("value")).then(|| "queue".to_owned());
    TreeOption { who: who.to_owned(), what: what.to_owned(), object, site, preempts, to }
}

fn leaf(execution: u64, times: u64, ended: BranchEnd) -> TreeNode {
    TreeNode { options: Vec::new(), ended: Some(Leaf { execution, times, ended }) }
}

fn point(options: Vec<TreeOption>) -> TreeNode {
    TreeNode { options, ended: None }
}

#[test]
fn a_point_shows_who_could_move_and_what_was_taken() {
    let tree = DecisionTree {
        nodes: vec![
            point(vec![
                option("main", "load", false, Some(1)),
                option("thread 1", "store(1)", true, Some(2)),
                option("worker \"<b>\"", "lock", true, None),
            ]),
            leaf(1, 1, BranchEnd::Completed),
            point(vec![
                option("thread 1", "value 0 of 2", false, Some(3)),
                option("thread 1", "value 1 of 2", false, Some(4)),
            ]),
            leaf(2, 3, BranchEnd::Failed),
            leaf(3, 1, BranchEnd::Blocked),
        ],
        executions: 5,
        more: 12,
        ..DecisionTree::default()
    };
    assert_snapshot!(dot(&tree));
}

#[test]
fn what_a_finished_search_has_not_taken_it_left_out() {
    let nodes = vec![
        point(vec![option("main", "load", false, Some(1)), option("thread 1", "load", true, None)]),
        leaf(1, 1, BranchEnd::Completed),
    ];
    let tree = DecisionTree { nodes, executions: 1, over: true, ..DecisionTree::default() };
    assert!(dot(&tree).contains("grey: left out"), "{}", dot(&tree));
    let tree = DecisionTree { over: false, ..tree };
    assert!(dot(&tree).contains("grey: not tried before the search ended"), "{}", dot(&tree));
}

/// A path of so many points, then two leaves.
fn deep(points: u32) -> DecisionTree {
    let mut nodes: Vec<TreeNode> = (0..points)
        .map(|at| {
            let other = option("thread 1", "load", true, None);
            point(vec![option("main", "load", false, Some(at + 1)), other])
        })
        .collect();
    let both = [
        option("main", "load", false, Some(points + 1)),
        option("thread 1", "load", true, Some(points + 2)),
    ];
    nodes.push(point(both.to_vec()));
    nodes.push(leaf(1, 1, BranchEnd::Completed));
    nodes.push(leaf(2, 1, BranchEnd::Rejected));
    DecisionTree { nodes, executions: 2, ..DecisionTree::default() }
}

#[test]
fn of_a_large_tree_the_shape_is_drawn() {
    assert_snapshot!(dot(&deep(500)), @r##"
    digraph decisions {
        rankdir=TB;
        node [shape=plain, fontname="monospace", fontsize=10];
        edge [arrowhead=none, fontname="monospace", fontsize=10];
        label="2 executions\ngrey: not tried before the search ended"; labelloc=b; fontname="monospace"; fontsize=10;
        n0 -> n1 [label="main ×500"];
        n1 -> n2 [label="main"];
        n1 -> n3 [label="thread 1"];
        n0 [shape=point, width=0.08, color="#9a9a9a"];
        n1 [shape=point, width=0.08, color="black"];
        n2 [shape=circle, margin=0.02, width=0.2, label="", tooltip="execution 1: completed"];
        n3 [shape=box, style=dashed, label="2\ncut off by a limit", tooltip="execution 2: cut off by a limit"];
    }
    "##);
}

#[test]
fn more_nodes_than_can_be_drawn_are_said_to_be_missing() {
    let text = dot(&deep(30_000));
    assert!(text.len() < 10_000, "{}", text.len());
    assert!(text.contains("0 executions; 2 more executions not shown"), "{text}");
}

/// What Graphviz makes of it, if it is installed. It is no part of raddle: where it is missing the test says so.
#[test]
#[expect(clippy::print_stderr, reason = "says that something was not tried")]
fn graphviz_reads_every_kind_of_graph() {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    let failure = DecisionTree::from(&failure(lost_update()));
    for tree in [failure, DecisionTree::default(), deep(3), deep(500)] {
        let mut command = Command::new("dot");
        command.arg("-Tsvg").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let Ok(mut child) = command.spawn() else {
            eprintln!("skipped: there is no program called dot (apt-get install graphviz)");
            return;
        };
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(dot(&tree).as_bytes()).expect("dot reads");
        drop(stdin);
        let output = child.wait_with_output().expect("dot ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{said}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("</svg>"));
    }
}

#[test]
fn of_a_failure_alone_there_is_one_path() {
    let failure = failure(lost_update());
    let text = dot(&DecisionTree::from(&failure));
    assert_eq!(text.matches(" -> ").count(), failure.schedule.decisions.len());
    assert!(text.contains("11 more executions not shown"), "execution 12 failed: {text}");
}
