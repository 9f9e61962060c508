//! Timers: tasks of the environment with one op, which ends the op of their owner.

use std::panic::Location;
use std::time::Duration;

use raddle_trace::{LimitKind, TaskKind, Timeouts};

use super::{Ending, Execution, How, slow_path};
use crate::announce::Announced;
use crate::op::{Access, ObjectId, TaskId};
use crate::strategy::{Choice, Timer};
use crate::task::{State, Task};

impl Execution {
    /// Gives a pending timed op its timer: one more task, of the environment, with one op.
    pub(super) fn arm(&mut self, task: TaskId, what: &dyn Announced, timeout: Duration) {
        self.lasting.seen.timers = true;
        let known = self.task(task).timing.timer;
        let mut create = || self.create(task, TaskKind::Environment, Location::caller());
        let Some(lane) = known.or_else(|| create().map(|(lane, _)| lane)) else {
            self.end(Ending::Limit(LimitKind::Tasks));
            return;
        };
        self.task_mut(task).timing.timer = Some(lane);
        let timeout_ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        let deadline_ns = self.time.clock.model().now_ns.saturating_add(timeout_ns);
        let site = self.task(task).op.site;
        let by_itself =
            self.lasting.settings.timeouts != Timeouts::Idle && self.can_time_out(what, timeout);
        let entry = self.task_mut(lane);
        entry.timing.owner = task;
        entry.timing.deadline_ns = deadline_ns;
        entry.timing.armed = true;
        entry.timing.disabled_since = None;
        entry.fiber = std::ptr::null_mut();
        entry.op.site = site;
        entry.timing.by_itself = by_itself;
        self.set_enabled(lane, by_itself && what.may_expire(task));
    }

    /// Whether the settings let an op with this timeout end by it at all.
    pub(super) fn can_time_out(&self, what: &dyn Announced, timeout: Duration) -> bool {
        self.lasting.settings.timeouts != Timeouts::Never || timeout.is_zero() || what.is_sleep()
    }

    /// Looks again whether the timer of a pending timed op can fire.
    pub(super) fn rearm(&mut self, task: TaskId) {
        let Some(lane) = self.task(task).timing.timer else { return };
        let Some(what) = self.task(task).op.announced else { return };
        if self.task(lane).timing.by_itself && self.task(lane).timing.armed {
            // SAFETY: the op of a suspended task is valid, and touches models only.
            let may_expire = unsafe { (*what).may_expire(task) };
            if !may_expire && self.is_enabled(lane) {
                self.task_mut(lane).timing.disabled_since = Some(self.n_steps);
            }
            self.set_enabled(lane, may_expire);
        }
    }

    pub(super) fn disarm(&mut self, task: TaskId) {
        if let Some(lane) = self.task(task).timing.timer {
            self.set_enabled(lane, false);
            self.task_mut(lane).timing.armed = false;
        }
    }

    /// What the timer of an op on this object would do.
    pub(super) fn timer_on(&self, task: TaskId, object: ObjectId) -> Timer {
        let clock = ObjectId(self.time.slot);
        let footprint = [(object, Access::Write), (clock, Access::Write)];
        Timer { task, footprint, disabled_since: self.task(task).timing.disabled_since }
    }

    /// With [`Timeouts::Idle`]: the timers of which one fires because nothing else can move. There are several where
    /// deadlines are the same: in which order their owners began to wait is not a matter of time.
    pub(super) fn due_timers(&self) -> Vec<Choice> {
        if self.lasting.settings.timeouts != Timeouts::Idle || !self.lasting.seen.timers {
            return Vec::new();
        }
        let due = |&&lane: &&TaskId| {
            let owner = self.task(lane).timing.owner;
            let entry = self.task(owner);
            entry.timing.timer == Some(lane)
                && entry.state == State::Live
                && self.task(lane).timing.armed
                // SAFETY: the op of a suspended task is valid, and touches models only.
                && entry.op.announced.is_some_and(|what| unsafe { (*what).may_expire(owner) })
        };
        let deadline = |lane: &TaskId| self.task(*lane).timing.deadline_ns;
        let Some(first) = self.tasks.created.iter().filter(due).map(deadline).min() else {
            return Vec::new();
        };
        let due = self.tasks.created.iter().filter(due).filter(|lane| deadline(lane) == first);
        due.map(|&task| Choice { task }).collect()
    }

    /// A timer fires: time advances to its deadline, and its owner's op is over.
    pub(super) unsafe fn fire(ex: *mut Self, lane: TaskId) {
        // SAFETY: as in `ask`; nothing here switches.
        unsafe {
            Self::clock_slot(ex);
            let this = &mut *ex;
            let owner = this.task(lane).timing.owner;
            let what = this.task(owner).op.announced.expect("an armed timer has a pending op");
            let op = (*what).footprint(owner);
            let object = op[0].0;
            let ended = if this.lasting.settings.timeouts == Timeouts::Idle {
                // It could not come at another time, so the op is one that waited, as at the end of an execution.
                Some((*what).waits_for(owner))
            } else {
                (*what).first_enabled(owner).then_some(op)
            };
            this.task_mut(lane).timing.ended = ended;
            let shown = (*what).show();
            (*what).expire(owner);
            let clock = this.time.clock.model_mut();
            clock.now_ns = clock.now_ns.max(this.tasks.list[lane.index()].timing.deadline_ns);
            this.set_enabled(lane, false);
            this.set_enabled(owner, false);
            this.disarm(owner);
            let entry = this.task_mut(owner);
            entry.timing.timed_out = true;
            entry.op.announced = None;
            let site = entry.op.site;
            this.unwatch(owner);
            this.enabled.run_on.push(owner);
            this.slow_path |= slow_path::RUN_ON;
            let change = this.pace.last_change;
            let fruitless = this.pace.fruitless;
            let footprint = this.timer_on(lane, object).footprint;
            let show = || format!("timeout of {shown}");
            let entry: *mut Task = &raw mut *this.tasks.list[lane.index()];
            Self::commit(ex, (lane, entry), &footprint, site, How::Step, show);
            // To fire is to yield: a loop of timeouts in which nothing else happens is fruitless.
            (*ex).pace.last_change = change;
            (*ex).pace.fruitless = fruitless;
            (*ex).set_carefree();
            (*ex).yielded(lane);
        }
    }

    /// The step at which something other than the clock last changed.
    pub(crate) fn last_change(&self) -> u64 {
        self.pace.last_change
    }

    /// The clock's number, so that its passing is not taken for a change.
    pub(crate) unsafe fn clock_slot(ex: *mut Self) -> u32 {
        // SAFETY: `ex` is the current execution.
        unsafe {
            let slot = Self::claim(ex, &*(*ex).time.clock);
            (*ex).time.slot = slot;
            slot
        }
    }

    /// A task is over: it has no op any more.
    #[inline]
    pub(crate) fn forget_pending(&mut self, task: TaskId) {
        self.set_enabled(task, false);
        self.unwatch(task);
        self.task_mut(task).op.announced = None;
        if self.waits.on {
            self.task_mut(task).rounds.begin();
            self.note_close(task);
        }
    }
}
