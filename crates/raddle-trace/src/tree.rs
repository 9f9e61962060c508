//! The part of the tree of decisions that a search has walked: a node for each decision point, with who
//! could have moved there.

use serde::{Deserialize, Serialize};

use crate::report::Failure;
use crate::schedule::{Decision, Key, Schedule, task_label};
use crate::trace::Site;

/// The version of [`DecisionTree`] that this crate writes.
pub const VERSION: u32 = 2;

/// How an execution ended, as far as a search is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum BranchEnd {
    /// As it may.
    Completed,
    /// As it must not.
    Failed,
    /// By a limit.
    Rejected,
    /// It was cut, because what followed was covered elsewhere.
    Blocked,
    /// It was cut, because what followed was out of the bound.
    OutOfBound,
}

/// Executions that ended at a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaf {
    /// The first of them, by its number, from 1.
    pub execution: u64,
    /// How many there were: samplers draw the same one again.
    pub times: u64,
    /// How it ended. Where executions that took the same decisions ended in several ways: the worst.
    pub ended: BranchEnd,
}

/// One option of a decision point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeOption {
    /// The task that would move, or whose value is decided. Empty if it is not known: the search repeated
    /// a prefix of which the tree has no execution.
    pub who: String,
    /// What it would do, or the value.
    pub what: String,
    /// To what it would do that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Where that stands in the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<Site>,
    /// Whether to take it leaves a task that could go on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preempts: bool,
    /// The node to which it leads; none if it was not taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<u32>,
}

/// A decision point, or the end of executions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeNode {
    /// Who could move; empty where no decision followed.
    pub options: Vec<TreeOption>,
    /// Executions that ended here, the cut ones among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Leaf>,
}

/// The executions that were kept, as a tree: those that begin with the same decisions share a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionTree {
    /// The version of this format: [`VERSION`].
    pub version: u32,
    /// The nodes. The first is where every execution begins; each is after the one that leads to it.
    pub nodes: Vec<TreeNode>,
    /// How many executions are in it.
    pub executions: u64,
    /// How many more were run and not kept.
    #[serde(default)]
    pub more: u64,
    /// Whether the search had nothing left to do: what was not taken then, it left out.
    #[serde(default)]
    pub over: bool,
}

impl Default for DecisionTree {
    /// No execution.
    fn default() -> Self {
        let nodes = vec![TreeNode::default()];
        Self { version: VERSION, nodes, executions: 0, more: 0, over: false }
    }
}

impl From<&Failure> for DecisionTree {
    /// The path of the failure, which is all that a report has of the tree.
    fn from(failure: &Failure) -> Self {
        let mut tree = Self { executions: 1, ..Self::default() };
        tree.more = failure.execution.saturating_sub(1);
        for decision in &failure.schedule.decisions {
            let to = Some(tree.nodes.len() as u32);
            let (who, what) = decided(&failure.schedule, *decision);
            if let Some(last) = tree.nodes.last_mut() {
                last.options.push(TreeOption { who, what, to, ..TreeOption::default() });
            }
            tree.nodes.push(TreeNode::default());
        }
        if let Some(last) = tree.nodes.last_mut() {
            let execution = failure.execution.max(1);
            last.ended = Some(Leaf { execution, times: 1, ended: BranchEnd::Failed });
        }
        tree
    }
}

fn decided(schedule: &Schedule, decision: Decision) -> (String, String) {
    let label = |task: u32| task_label(&schedule.tasks, task);
    match decision {
        Decision::Run(task) => (label(task), String::new()),
        Decision::Value { task, key: Key::Index(value), of } => {
            (label(task), format!("value {value} of {of}"))
        }
        Decision::Value { task, key: Key::Task(other), .. } => (label(task), label(other)),
    }
}
