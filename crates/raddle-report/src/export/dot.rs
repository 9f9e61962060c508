//! The tree of decisions that a search has walked, for Graphviz.
//!
//! Executions that begin with the same decisions share a path from the root. Decisions are the same
//! if they name the same task, by its path of spawns, or the same value. A path without a branch is
//! drawn as one edge.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use raddle_trace::schedule::task_label;
use raddle_trace::{BranchEnd, Decision, DecisionTree, Key, Schedule, TaskKind, TaskName};

use crate::columns::{clean, count};

/// More executions than this are not drawn: Graphviz takes minutes, and nobody sees anything.
const MOST_BRANCHES: usize = 2_000;
/// How many decisions of a path without a branch are named.
const NAMED: usize = 4;

/// What was decided: what tells it from others, and how people call it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Decided {
    key: (Vec<u32>, Option<(Vec<u32>, u32)>),
    label: String,
}

/// A point of the tree.
#[derive(Default)]
struct Node {
    /// What was decided there, and where that leads; in order of discovery.
    options: Vec<(Decided, usize)>,
    /// The number of the execution that ended here, from 1, and how.
    ended: Option<(usize, BranchEnd)>,
}

/// A tree of decisions as the text of a Graphviz graph.
///
/// ```
/// use raddle_report::export::dot;
/// use raddle_trace::{Branch, Decision, DecisionTree, BranchEnd, Schedule, TaskKind, TaskName};
///
/// let thread = |nth| TaskName { parent: 0, nth, kind: TaskKind::Thread, label: None };
/// let tasks = vec![TaskName::root(), thread(0), thread(1)];
/// let branch = |first| Branch {
///     schedule: Schedule {
///         tasks: tasks.clone(),
///         decisions: vec![Decision::Run(first)],
///         ..Schedule::default()
///     },
///     ended: BranchEnd::Completed,
/// };
/// let tree = DecisionTree { branches: vec![branch(1), branch(2)], ..DecisionTree::default() };
/// let text = dot(&tree);
/// assert!(text.contains("n0 -> n1 [label=\"thread 1\"]"));
/// assert!(text.contains("n0 -> n2 [label=\"thread 2\"]"));
/// ```
#[must_use]
pub fn dot(tree: &DecisionTree) -> String {
    let mut nodes = vec![Node::default()];
    for (index, branch) in tree.branches.iter().take(MOST_BRANCHES).enumerate() {
        let mut at = 0;
        for decision in &branch.schedule.decisions {
            let decided = decided(&branch.schedule, *decision);
            let known = nodes[at].options.iter().find(|(other, _)| other.key == decided.key);
            let known = known.map(|&(_, to)| to);
            at = known.unwrap_or_else(|| {
                let to = nodes.len();
                nodes.push(Node::default());
                nodes[at].options.push((decided, to));
                to
            });
        }
        nodes[at].ended.get_or_insert((index + 1, branch.ended));
    }
    let left_out = tree.branches.len().saturating_sub(MOST_BRANCHES) as u64 + tree.more;
    let mut out = "digraph decisions {\n    rankdir=TB;\n    \
                   node [shape=point, width=0.08, fontname=\"monospace\", fontsize=10];\n    \
                   edge [arrowhead=none, fontname=\"monospace\", fontsize=10];\n"
        .to_owned();
    if left_out > 0 {
        let text = count(left_out, "more execution");
        let _ =
            writeln!(out, "    label=\"{}\"; labelloc=b;", quoted(&format!("{text} not shown")));
    }
    // Only points at which something branches or ends are drawn.
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::from([(0, 0)]);
    let mut stack = vec![0];
    let mut drawn = BTreeSet::new();
    while let Some(from) = stack.pop() {
        if !drawn.insert(from) {
            continue;
        }
        let mut next = Vec::new();
        for (decided, to) in &nodes[from].options {
            let (mut path, mut at) = (vec![decided.label.as_str()], *to);
            while let ([(decided, to)], None) = (nodes[at].options.as_slice(), nodes[at].ended) {
                path.push(&decided.label);
                at = *to;
            }
            let number = numbers.len();
            let number = *numbers.entry(at).or_insert(number);
            let _ = writeln!(
                out,
                "    n{} -> n{number} [label=\"{}\"];",
                numbers[&from],
                quoted(&along(&path))
            );
            next.push(at);
        }
        stack.extend(next.into_iter().rev());
    }
    for (node, number) in &numbers {
        let Some((execution, ended)) = nodes[*node].ended else { continue };
        let (shape, word) = match ended {
            BranchEnd::Completed => ("shape=circle, width=0.15, label=\"\"", "completed"),
            BranchEnd::Failed => {
                ("shape=octagon, style=filled, fillcolor=\"#f4b8b4\", color=\"#b3261e\"", "failed")
            }
            BranchEnd::Rejected => ("shape=box, style=dashed", "cut off by a limit"),
            _ => ("shape=box, style=dotted", "covered elsewhere"),
        };
        let label = match ended {
            BranchEnd::Failed => format!(", label=\"{execution}\""),
            BranchEnd::Completed => String::new(),
            _ => ", label=\"\", width=0.15, height=0.15".to_owned(),
        };
        let _ = writeln!(
            out,
            "    n{number} [{shape}{label}, tooltip=\"execution {execution}: {word}\"];"
        );
    }
    out.push_str("}\n");
    out
}

/// A path without a branch, in a few words.
fn along(path: &[&str]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut runs: Vec<(&str, u64)> = Vec::new();
    for name in path {
        match runs.last_mut() {
            Some((last, n)) if last == name => *n += 1,
            _ => runs.push((name, 1)),
        }
    }
    let n_more = runs.len().saturating_sub(NAMED) as u64;
    for (name, n) in runs.iter().take(NAMED) {
        parts.push(if *n == 1 { (*name).to_owned() } else { format!("{name} ×{n}") });
    }
    if n_more > 0 {
        parts.push(format!("… {n_more} more"));
    }
    parts.join("\n")
}

/// What was decided. Tasks are told apart by their path of spawns, which is the same in every
/// execution; two may be called the same.
fn decided(schedule: &Schedule, decision: Decision) -> Decided {
    let label = |task: u32| clean(&task_label(&schedule.tasks, task));
    let path = |task: u32| path(&schedule.tasks, task);
    match decision {
        Decision::Run(task) => Decided { key: (path(task), None), label: label(task) },
        Decision::Value { task, key: Key::Index(value), of } => Decided {
            key: (path(task), Some((Vec::new(), value))),
            label: format!("{}: {value} of {of}", label(task)),
        },
        Decision::Value { task, key: Key::Task(other), .. } => Decided {
            key: (path(task), Some((path(other), 0))),
            label: format!("{}: {}", label(task), label(other)),
        },
        _ => Decided { key: (Vec::new(), None), label: "?".to_owned() },
    }
}

/// A task as (kind, n-th spawn) of itself and of those above it.
fn path(tasks: &[TaskName], task: u32) -> Vec<u32> {
    let mut path = Vec::new();
    let mut at = task as usize;
    while let Some(entry) = tasks.get(at).filter(|_| at > 0) {
        let kind = u32::from(entry.kind == TaskKind::Environment);
        path.extend([kind, entry.nth]);
        // Parents come first in a table that was checked; in another this ends all the same.
        at = (entry.parent as usize).min(at - 1);
    }
    path
}

/// Within double quotes of Graphviz.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
