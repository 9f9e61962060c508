//! Fair scheduling around yields: Musuvathi & Qadeer, PLDI 2008.
//!
//! A task that yields says that it cannot get on. If another task could have moved ever since its
//! last yield and did not, the yielding task waits until that one has moved. So loops that yield,
//! and timers that fire again and again, do not make a search infinite. One yield alone holds
//! no task back. A step after many of which none has changed anything counts as a yield
//! ([`Limits::idle`](crate::limits::Limits::idle)): loops that wait and do not say so end as well, or are
//! found never to.
//!
//! Where we differ: the paper updates three sets for every task at every step. Here the sets are
//! computed at a yield, from the times at which tasks last moved and became enabled, so a step
//! that yields not pays nothing.
//!
//! Misses: executions in which a task yields twice and goes on while another that could move all
//! the time stands still; and those in which it takes more than fifty steps while nothing changes and
//! that other one stands still. Real schedulers can do that; the guarantee names it.

use crate::op::TaskId;

/// A task's part in fairness. Times are numbers of steps.
#[derive(Debug, Default)]
pub(crate) struct Fair {
    /// Enabled without a break since then.
    pub(crate) enabled_since: u64,
    /// By whom and when it was last disabled.
    pub(crate) disabled: (TaskId, u64),
    /// When it last yielded.
    pub(crate) yielded: Option<u64>,
    /// It waits for these to move after then.
    pub(crate) waits_for: (u64, Vec<TaskId>),
}

impl Fair {
    pub(crate) fn begin(&mut self) {
        self.enabled_since = 0;
        self.disabled = (TaskId::ROOT, 0);
        self.yielded = None;
        self.waits_for.1.clear();
    }
}
