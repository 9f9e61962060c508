//! The part of the tree of decisions that a search has walked: a path for each execution.

use serde::{Deserialize, Serialize};

use crate::report::Failure;
use crate::schedule::Schedule;

/// The version of [`DecisionTree`] that this crate writes.
pub const VERSION: u32 = 1;

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
}

/// One execution as a path of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// Its decisions. Tables of tasks may differ from branch to branch: decisions are the same if
    /// they name the same tasks.
    pub schedule: Schedule,
    /// How it ended.
    pub ended: BranchEnd,
}

/// Executions in the order in which they were run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionTree {
    /// The version of this format: [`VERSION`].
    pub version: u32,
    /// The executions that were kept.
    pub branches: Vec<Branch>,
    /// How many more there were.
    #[serde(default)]
    pub more: u64,
}

impl Default for DecisionTree {
    /// No execution.
    fn default() -> Self {
        Self { version: VERSION, branches: Vec::new(), more: 0 }
    }
}

impl From<&Failure> for DecisionTree {
    /// The path of the failure, which is all that a report has of the tree.
    fn from(failure: &Failure) -> Self {
        let schedule = failure.schedule.clone();
        let branches = vec![Branch { schedule, ended: BranchEnd::Failed }];
        Self { branches, more: failure.execution.saturating_sub(1), ..Self::default() }
    }
}
