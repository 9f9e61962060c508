//! The result of a search: verdict, guarantee, counts, and the failure if there is one.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::explanation::Explanation;
use crate::guarantee::Guarantee;
use crate::minimised::Minimised;
use crate::outcome::{Divergence, Outcome};
use crate::pairs::Coverage;
use crate::progress::Progress;
use crate::receives::ReceivesSeen;
use crate::schedule::Schedule;
use crate::trace::{ObjectName, Site, Trace};

/// The version of [`Report`] that this crate writes.
pub const VERSION: u32 = 1;

/// What the search as a whole found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Verdict {
    /// No failure, and the search covered all it set out to.
    Covered,
    /// No failure within the budget.
    Passed,
    /// A failure, with the schedule that shows it.
    Failed,
    /// The search could not go on: see the notes.
    Inconclusive,
}

impl Verdict {
    /// Whether a test with this verdict passes.
    #[must_use]
    pub fn is_pass(self) -> bool {
        matches!(self, Self::Covered | Self::Passed)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Covered => "covered",
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Inconclusive => "inconclusive",
        })
    }
}

/// How much was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Counts {
    /// Executions that were run, the rejected ones among them.
    pub executions: u64,
    /// Executions that a limit ended: neither pass nor failure.
    pub rejected: u64,
    /// Executions that were cut because what followed was covered elsewhere.
    #[serde(default)]
    pub blocked: u64,
    /// Steps of all executions.
    pub steps: u64,
    /// Decisions of all executions.
    pub decisions: u64,
    /// Steps of the longest execution.
    pub max_steps: u64,
    /// Decisions of the execution with the most.
    pub max_depth: u64,
    /// Tasks of the execution with the most, timers included.
    pub max_tasks: u64,
}

/// An execution that did what the program must not do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    /// What it did.
    pub outcome: Outcome,
    /// What replays it.
    pub schedule: Schedule,
    /// What happened in it.
    pub trace: Trace,
    /// Number of the execution that showed it, from 1.
    pub execution: u64,
    /// If replaying the schedule did something else: where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unstable: Option<Divergence>,
    /// If this is a smaller execution than the one that was found: how it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimised: Option<Minimised>,
    /// Why it fails, if that was looked into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
}

impl Failure {
    /// A failure as it was found: stable, as far as is known, and neither made small nor explained.
    #[must_use]
    pub fn new(outcome: Outcome, schedule: Schedule, trace: Trace, execution: u64) -> Self {
        let (unstable, minimised, explanation) = (None, None, None);
        Self { outcome, schedule, trace, execution, unstable, minimised, explanation }
    }
}

/// A lock that a task took while it held another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nested {
    /// Who, as a person calls it.
    pub task: String,
    /// The lock it held.
    pub held: ObjectName,
    /// Where it had taken that.
    pub held_at: Site,
    /// The lock it took.
    pub taken: ObjectName,
    /// Where it took that.
    pub taken_at: Site,
}

/// Something the user should know that is not a failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Note {
    /// No execution had a decision point: the test explores nothing.
    NothingConcurrent,
    /// The search stopped because a replayed prefix did something else.
    Diverged(Divergence),
    /// Tasks that could not be unwound after a failure and were leaked.
    Leaked {
        /// How many.
        tasks: u64,
    },
    /// Tasks took locks in orders that could make them wait for each other, in an execution in
    /// which they did not. Each took a lock that the next one held.
    LockOrder {
        /// At least two; the last took the lock that the first held.
        cycle: Vec<Nested>,
    },
    /// An execution waited for something outside of raddle: it slept, or there was I/O. Measured in an execution
    /// that was run twice, and so both times.
    WaitsOutside {
        /// For how long, in microseconds: the shorter of the two.
        us: u64,
        /// After which step; none: before the first.
        after: Option<Site>,
        /// Before which step of the same task; none: it was the last.
        before: Option<Site>,
    },
    /// The search was stopped before it was through, and what it needs to go on is in a file.
    Kept {
        /// The file.
        file: String,
        /// Members of a portfolio that could not be saved: they would begin anew.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        anew: Vec<String>,
    },
    /// The search was stopped before it was through, and cannot go on later.
    NotKept {
        /// Why.
        why: String,
    },
    /// The search went on where an earlier one had stopped: all numbers are of all parts together.
    Resumed {
        /// How many parts there are, this one among them.
        parts: u32,
        /// Executions of the earlier ones.
        executions: u64,
        /// Their wall time.
        elapsed_ms: u64,
    },
    /// The test was written for another tool, and raddle in its place does not do this as that tool does.
    Difference {
        /// What is different, and what that means for a pass.
        text: String,
    },
    /// A sentence.
    Text {
        /// The sentence.
        text: String,
    },
}

/// One of several searches that were run for one report: a member of a portfolio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Member {
    /// The composition, as it would be typed.
    pub strategy: String,
    /// The seed of all that it drew.
    pub seed: u64,
    /// What it found.
    pub verdict: Verdict,
    /// What it covered.
    pub guarantee: Guarantee,
    /// How much it did.
    pub counts: Counts,
}

impl Member {
    /// What one of several searches found.
    #[must_use]
    pub fn new(
        strategy: String,
        seed: u64,
        verdict: Verdict,
        guarantee: Guarantee,
        counts: Counts,
    ) -> Self {
        Self { strategy, seed, verdict, guarantee, counts }
    }
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// The version of this format: [`VERSION`].
    pub version: u32,
    /// The test, if it has a name.
    pub test: Option<String>,
    /// The composition that searched, as it would be typed.
    pub strategy: String,
    /// The seed of all that was drawn.
    pub seed: u64,
    /// What was found.
    pub verdict: Verdict,
    /// What was covered.
    pub guarantee: Guarantee,
    /// How much was done.
    pub counts: Counts,
    /// The failure, if one was found.
    pub failure: Option<Failure>,
    /// Further failures: of executions that ended their process, after which the search went on. One for
    /// each way of doing so at each place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Failure>,
    /// What else the user should know.
    pub notes: Vec<Note>,
    /// How far the search was, if it did not cover what it set out to and can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// Which statement directly preceded which, if that was learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// Orders in which actors received their messages, if they were looked at and there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receives: Option<ReceivesSeen>,
    /// The searches that it is the report of, if there were several at once. Then `counts` has all
    /// of them, `guarantee` is that of the strongest, which a note names, and the number of the failing
    /// execution is that of the member which found it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Member>,
    /// Wall time in milliseconds, as measured by the caller.
    pub elapsed_ms: u64,
}

impl Report {
    /// A report of a search by this strategy. What else there is to say is set in its fields.
    #[must_use]
    pub fn new(strategy: String, verdict: Verdict, guarantee: Guarantee, counts: Counts) -> Self {
        Self {
            version: VERSION,
            test: None,
            strategy,
            seed: 0,
            verdict,
            guarantee,
            counts,
            failure: None,
            others: Vec::new(),
            notes: Vec::new(),
            progress: None,
            coverage: None,
            receives: None,
            members: Vec::new(),
            elapsed_ms: 0,
        }
    }
}
