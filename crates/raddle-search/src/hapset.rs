//! Coverage of orders of statements, and searches guided by it: `HaPSet`.
//!
//! Wang, Said and Gupta, ICSE 2011. Most executions, even after partial-order reduction, repeat what
//! others have shown. So learn from executions that passed which statement directly preceded which on the
//! same object (the *history-aware predecessor sets*), and run only what would add a pair.
//!
//! - A statement is a place in the source with the innermost calls that led to it. Of a pair the later is
//!   always of the task at hand and the earlier of another one: the paper's `thr`, so that the sets do not
//!   grow with the number of tasks.
//! - An event *directly follows* the last event of another task on the same object if they conflict
//!   (`dependence.rs`) and its own task has not touched the object in between. The paper's definition does
//!   not say the latter, its example does, and what it finds of atomicity rests on it: if `check; use` is
//!   always undivided, no other statement ever directly precedes `use`.
//! - Events are steps on atomics, locks, condition variables, channels and what else has ops. Giving back a
//!   lock is none for those who wait for it: they could not have come before. It is one for those who try.
//!   (The paper counts it for re-entrant locks; there are none here.) Accesses to cells are no steps: a data
//!   race between them is found in whatever order they come.
//! - Only executions that come to their end are learned from; the one that runs, up to the event in question,
//!   among them.
//!
//! Searches: `hapset(dpor)` is classic DPOR with one extra condition where races open alternatives
//! (`filter.rs`); `hapset(all)` and `hapset(preemptions(k))` open all options of a point where a race asks
//! for one (`expansion/raced.rs`). `pset(…)` is the same with accesses to memory alone and without calls: Yu and
//! Narayanasamy, ISCA 2009. All go on with the running task, but one that goes round in circles makes way
//! (`laps.rs`), so that waiting without yields comes to an end.
//!
//! Misses: failures whose orders of statements have all been seen in executions that passed, if not
//! together. [`Covered::Guided`](raddle_trace::Covered::Guided) says so.
//! Overreports: nothing.
//!
//! # Why: predecessors are directly before
//! The definition of Wang, Said and Gupta takes the last event of each other task on an object; their example, and what
//! they say of atomicity, takes only those since the task's own last event there. So do we: `check; use` that no other
//! task divides leaves nothing before `use`.
//!
//! # Why: nothing is taken back
//! What was opened because its order was new is run, also if another execution has shown that order since. To ask again
//! was built and measured: fewer executions, and 47 of the 122 bugs that the corpus then had were missed instead of 35.
//!
//! # Why: asked before it is learned
//! Whether an order is new is asked with what was known before the step, and of every step that came while the task was
//! about to move, as in the paper. With what the step itself shows, and of races alone, five more were missed.

mod filter;
mod laps;
mod learner;
mod pairs;
mod statements;

use raddle_engine::op::Access;

pub(crate) use self::filter::{Filter, SavedFilter};
pub(crate) use self::learner::{Learner, sees};
pub(crate) use self::pairs::Pairs;
pub(crate) use self::statements::{StatementId, Statements};

/// What is learned of executions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Which statement directly follows which of another task.
    HapSet,
    /// The same of reads and writes alone.
    PSet,
    /// Which statement wrote what a statement saw, its own task's among them.
    ReadsFrom,
}

impl Metric {
    /// Whether a step with this access is an event.
    #[inline]
    pub(crate) fn counts(self, access: Access) -> bool {
        match self {
            // A notification is taken for a write, too, and so is a change of a count.
            Self::PSet => matches!(
                access,
                Access::Read
                    | Access::Write
                    | Access::FailedUpdate
                    | Access::Adjust
                    | Access::Lower
                    | Access::TryRaise
            ),
            Self::HapSet | Self::ReadsFrom => !matches!(
                access,
                Access::Yield | Access::Woken | Access::Cancelled | Access::Observe(_)
            ),
        }
    }
}

/// How many of the innermost calls tell statements apart, if nothing else is said.
pub const DEFAULT_CALLS: u8 = 5;
