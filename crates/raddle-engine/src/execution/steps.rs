//! After a step: it is counted and told, what it holds is noted, and whoever waits for its object looks again.

use std::panic::Location;

use super::view::View;
use super::{Execution, How, busy};
use crate::locks::Held;
use crate::model::Model;
use crate::op::{Access, ObjectId, TaskId};
use crate::strategy::{Event, Step, Tasks};
use crate::task::NO_SLOT;

impl Execution {
    /// What the step of the current task on an object passes on and takes over.
    #[cold]
    pub(crate) fn synchronise<M: Model>(
        &mut self,
        model: &M,
        op: M::Op,
        option: u32,
        slot: u32,
        site: &'static Location<'static>,
    ) {
        if !self.is_tearing() {
            let mut edges = self.race.edges(self.current, slot, site);
            model.synchronise(self.current, op, option, &mut edges);
        }
    }

    /// The current task has taken a lock or given one back.
    #[expect(
        clippy::inline_always,
        reason = "after a switch every return is mispredicted: keep them few"
    )]
    #[inline(always)]
    pub(crate) fn hold(&mut self, mut lock: Held, access: Access, keeps_share: bool) {
        if self.is_tearing() {
            return;
        }
        lock.shared = matches!(access, Access::Share | Access::TryShare);
        // SAFETY: the current task, boxed and used by nobody else for this moment.
        let held = unsafe { &mut (*self.me).held };
        match access {
            Access::Acquire | Access::Share | Access::TryAcquire | Access::TryShare => {
                if held.is_empty() {
                    held.push(lock);
                } else {
                    // Who only tries cannot be made to wait.
                    let waits = matches!(access, Access::Acquire | Access::Share);
                    self.took_nested(lock, waits);
                }
            }
            Access::Release | Access::Unshare => match held.as_slice() {
                [one] if one.slot == lock.slot && !keeps_share => held.clear(),
                _ => self.gave_nested(lock.slot, keeps_share),
            },
            _ => {}
        }
    }

    /// Counts a step and tells whoever wants to know.
    ///
    /// # Safety
    /// `ex` is the current execution; `task` has just applied its op.
    #[inline]
    pub(crate) unsafe fn commit(
        ex: *mut Self,
        task: TaskId,
        footprint: &[(ObjectId, Access)],
        site: &'static Location<'static>,
        how: How,
        show: impl FnOnce() -> String,
    ) {
        // SAFETY: by contract; nothing here switches.
        unsafe {
            let this = &mut *ex;
            if this.is_tearing() {
                return;
            }
            this.n_steps += 1;
            this.pulse.step(this.n_steps, task.0, site);
            let number = this.n_steps;
            this.task_mut(task).last_event = number;
            if how != How::Wait {
                // A wait that runs on is not a move: it must not look like a preemption.
                this.last = task;
                this.last_yielded = false;
                this.task_mut(task).last_step = this.n_steps;
            }
            // Time that passes is no change: a task that only watches the clock does not get on.
            if footprint.iter().any(|(id, access)| access.changes() && id.0 != this.clock_slot) {
                this.last_change = this.n_steps;
                this.fruitless = 0;
            }
            if this.n_steps > this.untold {
                let text = if this.recorder.is_some() { show() } else { String::new() };
                this.tell(task, footprint, site, how, text);
            }
            if this.n_steps - this.last_change > this.limits.idle {
                this.idle(task, footprint[0].1, how);
            }
        }
    }

    /// Tells what was recorded, if somebody is to hear it as it happens.
    #[cold]
    pub(crate) fn recount(&mut self) {
        if let Some(mut recorder) = self.recorder.take() {
            recorder.recount(self);
            self.recorder = Some(recorder);
        }
    }

    #[cold]
    fn tell(
        &mut self,
        task: TaskId,
        footprint: &[(ObjectId, Access)],
        site: &'static Location<'static>,
        how: How,
        text: String,
    ) {
        let point = if how == How::Wait { None } else { self.point };
        if let Some(recorder) = &mut self.recorder {
            let preempts = how != How::Wait && self.preempting;
            recorder.event(task, text, footprint, site, point, preempts);
        }
        let asked = self.needs.steps && !self.strict;
        let mut recorder = self.recorder.take();
        if asked || recorder.is_some() {
            let replayed = point.is_some_and(|point| (point as usize) < self.plan.prefix.len());
            let entry = self.task(task);
            let is_timer = entry.fiber.is_null() && entry.passive.is_none();
            let partner = is_timer.then_some(entry.owner);
            let (also, sent_by, context) = (entry.also, entry.sent_by, self.context_of(task));
            let learned = entry.passive.is_some();
            let enabled_since = entry.first_since.unwrap_or(entry.fair.enabled_since);
            let timer = entry.timer.filter(|_| matches!(how, How::Timed(_)));
            let timer = timer.map(|timer| self.timer_on(timer, footprint[0].0));
            let immediate = how == How::Wait;
            let waited_for = match footprint[0].1 {
                Access::Observe(other) if !immediate => self.waited_for(other),
                _ => Tasks::default(),
            };
            let view = View(self);
            let event = Event::Step(Step {
                task,
                footprint,
                site,
                context,
                also,
                learned,
                sent_by,
                point,
                replayed,
                immediate,
                partner,
                enabled_since,
                timer,
                waited_for,
                pending: &view,
            });
            if let (Some(recorder), Event::Step(step)) = (&mut recorder, &event) {
                recorder.step(step);
            }
            if asked {
                // SAFETY: the strategy outlives the search, and holds no way back to the execution.
                let cut = unsafe { (*self.strategy).step(&event) };
                if cut.is_some() {
                    self.cut = cut;
                    self.busy |= busy::UNASKED;
                }
            }
        }
        self.recorder = recorder;
        self.recount();
    }

    /// Whom a task waits for that will run on by itself, and whom those wait for.
    fn waited_for(&self, task: TaskId) -> Tasks {
        let mut tasks = Tasks::default();
        let mut next = task;
        loop {
            let entry = self.task(next);
            let Some(what) = entry.pending.filter(|_| entry.immediate) else { return tasks };
            // SAFETY: the op of a suspended task is valid, and touches models only.
            let Access::Observe(other) = (unsafe { (*what).footprint(next)[0].1 }) else {
                return Tasks::ALL;
            };
            if tasks.contains(other) {
                return tasks;
            }
            tasks.insert(other);
            next = other;
        }
    }

    /// Looks again at the ops that are pending on an object whose state may have changed.
    ///
    /// # Safety
    /// `ex` is the current execution.
    pub(crate) unsafe fn wake(ex: *mut Self, slot: u32) {
        // SAFETY: by contract; nothing here switches. Announced ops of suspended tasks are valid,
        // and they touch models only.
        unsafe {
            let this = &mut *ex;
            if this.is_tearing() {
                return;
            }
            for index in 0..this.created.len() {
                let task = this.created[index];
                if !this.slots[task.index()].contains(&slot) {
                    continue;
                }
                let Some(what) = this.task(task).pending else { continue };
                let enabled = (*what).enabled(task);
                if this.slots[task.index()][1] != NO_SLOT
                    && this.task(task).first_since.is_none()
                    && (*what).first_enabled(task)
                {
                    this.task_mut(task).first_since = Some(this.n_steps);
                }
                if !this.task(task).immediate {
                    this.set_enabled(task, enabled);
                    this.rearm(task);
                } else if enabled {
                    this.task_mut(task).first_since = Some(this.n_steps);
                    this.task_mut(task).pending = None;
                    this.slots[task.index()] = [NO_SLOT; 2];
                    this.run_on.push(task);
                    this.busy |= busy::RUN_ON;
                }
            }
        }
    }
}
