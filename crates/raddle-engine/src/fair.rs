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
//!
//! # Why: Yields
//! The plan was that a task which yields is not picked before another has moved. That loses outcomes after a single
//! yield. Instead: fair scheduling (Musuvathi & Qadeer, PLDI 2008): only a task that yields twice while another could
//! move all the time has to wait for it. A step after fifty of which none has changed anything counts as a yield, so
//! that loops need not say that they wait.
//!
//! # Why: DPOR and fairness
//! Where a task was held back after yields, which is left to loops that change something, executions that are
//! equivalent to fair ones may be unfair, so the reduction says of such a program only how many executions it ran.
//! Timeouts that fire only when nothing else can move are refused: such a step comes after all before it, whatever they
//! touch; which timer it is hangs on deadlines, which are read from the clock without a step when a wait begins; and of
//! equal deadlines the wait that began first is due first, an order of steps that are otherwise independent. So two
//! executions with the same order of dependent steps may fire different timers.

use crate::op::TaskId;

/// A task's part in fairness. Times are numbers of steps.
#[derive(Debug, Default)]
pub(crate) struct Fair {
    /// Enabled without a break since then.
    pub(crate) enabled_since: u64,
    /// By which task and when it was last disabled.
    pub(crate) disabled: (TaskId, u64),
    /// When it last yielded.
    pub(crate) yielded: Option<u64>,
    /// It waits for these to move after then.
    pub(crate) waits_for: (u64, Vec<TaskId>),
}

impl Fair {
    #[inline]
    pub(crate) fn begin(&mut self) {
        // `waits_for.1` is cleared and not replaced, for its allocation: this is called for every task of every execution.
        self.enabled_since = 0;
        self.disabled = (TaskId::ROOT, 0);
        self.yielded = None;
        self.waits_for.1.clear();
    }
}
