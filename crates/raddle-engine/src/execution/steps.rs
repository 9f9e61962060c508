//! After a step: it is counted and told, what it holds is noted, and the tasks that wait for its object are checked again.

use std::panic::Location;

use super::view::View;
use super::{Execution, How, slow_path};

use crate::context;
use crate::fiber::Fiber;
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
            let mut edges = self.detectors.race.edges(self.current, slot, site);
            model.synchronise(self.current, op, option, &mut edges);
        }
    }

    /// Counts a step and tells the strategy and the observers that listen.
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
            this.lasting.pulse.step(this.n_steps, task.0, site);
            let number = this.n_steps;
            this.task_mut(task).steps.last = number;
            if how != How::Wait {
                // A wait that runs on is not a move: it must not look like a preemption.
                this.enabled.last = task;
                this.enabled.last_yielded = false;
                this.task_mut(task).steps.last_move = this.n_steps;
            }
            // Time that passes is no change: a task that only watches the clock does not get on.
            if footprint.iter().any(|(id, access)| access.changes() && id.0 != this.time.slot) {
                this.pace.last_change = this.n_steps;
                this.pace.fruitless = 0;
            }
            if this.listeners.needs.messages
                && let (How::Wait, Access::Observe(ended)) = (how, footprint[0].1)
            {
                this.messages.join(task, ended, number, site);
            }
            if this.n_steps > this.listeners.notify_from_step {
                let text = if this.listeners.takes_text() { show() } else { String::new() };
                this.tell(task, footprint, site, how, text);
            }
            if this.waits.on {
                this.note_look(task, footprint, site, how);
            }
            // Where tasks go on beyond what they wait for, no other one can move, and that is counted by itself.
            if this.n_steps - this.pace.last_change > this.lasting.limits.idle
                && !this.waits.has_resorted_since(this.pace.last_change)
            {
                this.idle(task, footprint[0].1, how);
            }
        }
    }

    /// Tells what was recorded, if the strategy or an observer is to hear it as it happens.
    #[cold]
    pub(crate) fn recount(&mut self) {
        if let Some(mut recorder) = self.listeners.recorder.take() {
            recorder.recount(&self.tasks, self.lasting.settings);
            self.listeners.recorder = Some(recorder);
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
        let point = if how == How::Wait { None } else { self.decisions.point };
        if let Some(mut witness) = self.listeners.witness.take_if(|witness| !witness.is_full()) {
            let said = format!("{}: {text} at {site}", self.label(task));
            witness.step(task, footprint[0], site, said, self.decisions.taken.len());
            if witness.is_full() {
                self.listeners.dismiss_witness();
            }
            self.listeners.witness = Some(witness);
        }
        if let Some(recorder) = &mut self.listeners.recorder {
            let preempts = how != How::Wait && self.decisions.preempting;
            recorder.event(task, text, footprint, site, point, preempts);
            if self.lasting.shown.calls && recorder.has_room_for_calls() {
                self.record_calls(task, site);
            }
            self.note_went_on(task);
        }
        let asked = self.n_steps > self.listeners.strategy_from_step;
        let mut recorder = self.listeners.recorder.take();
        if asked || recorder.is_some() {
            let entry = self.task(task);
            let is_timer = entry.fiber.is_null() && entry.passive.is_none();
            let partner = is_timer.then_some(entry.timing.owner);
            let (also, sent_by, context) =
                (entry.steps.shared_resources, entry.steps.sent_by, self.context_of(task));
            let (learned, decided) = (entry.passive.is_some(), entry.steps.decided);
            let (watch, last_resort) = (entry.rounds.watch, entry.rounds.last_resort);
            let enabled_since = entry.op.first_since.unwrap_or(entry.fair.enabled_since);
            let timer = entry.timing.timer.filter(|_| matches!(how, How::Timed(_)));
            let timer = timer.map(|timer| self.timer_on(timer, footprint[0].0));
            let ended = entry.timing.ended.filter(|_| is_timer);
            let waited_for = match footprint[0].1 {
                Access::Observe(other) if how != How::Wait => self.waited_for(other),
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
                decided,
                watch,
                last_resort,
                sent_by,
                point,
                replayed: point.is_some_and(|at| (at as usize) < self.decisions.plan.prefix.len()),
                immediate: how == How::Wait,
                partner,
                enabled_since,
                timer,
                ended,
                waited_for,
                pending: &view,
            });
            if let (Some(recorder), Event::Step(step)) = (&mut recorder, &event) {
                recorder.step(step);
            }
            if asked {
                // SAFETY: the strategy outlives the search, and holds no way back to the execution.
                let cut = unsafe { (*self.listeners.strategy).step(&event) };
                if cut.is_some() {
                    self.decisions.cut = cut;
                    self.slow_path |= slow_path::NO_STRATEGY;
                }
            }
        }
        self.listeners.recorder = recorder;
        self.recount();
    }

    /// Records the functions of the program that led to the last step of a task. None if it has no stack, or is on
    /// that of another: a timer, a handler.
    fn record_calls(&mut self, task: TaskId, site: &'static Location<'static>) {
        let fiber = self.task(task).fiber;
        if let Some(recorder) = self.listeners.recorder.as_mut().filter(|_| !fiber.is_null()) {
            // SAFETY: the task has not ended, so its fiber is live.
            let stack = unsafe { Fiber::stack(fiber) };
            recorder.called(context::calls(&stack, site));
        }
    }

    /// Whom a task waits for that will run on by itself, and whom those wait for.
    fn waited_for(&self, task: TaskId) -> Tasks {
        let mut tasks = Tasks::default();
        let mut next = task;
        loop {
            let entry = self.task(next);
            let Some(what) = entry.op.announced.filter(|_| entry.op.immediate) else {
                return tasks;
            };
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
            for index in 0..this.tasks.created.len() {
                let task = this.tasks.created[index];
                if !this.enabled.slots[task.index()].contains(&slot) {
                    continue;
                }
                let Some(what) = this.task(task).op.announced else { continue };
                if this.task(task).rounds.waits {
                    // What it waits for is a change, of which it has heard when the step was counted.
                    continue;
                }
                let enabled = (*what).enabled(task);
                if this.enabled.slots[task.index()][1] != NO_SLOT
                    && this.task(task).op.first_since.is_none()
                    && (*what).first_enabled(task)
                {
                    this.task_mut(task).op.first_since = Some(this.n_steps);
                }
                if !this.task(task).op.immediate {
                    this.set_enabled(task, enabled);
                    this.rearm(task);
                } else if enabled {
                    this.task_mut(task).op.first_since = Some(this.n_steps);
                    this.task_mut(task).op.announced = None;
                    this.enabled.slots[task.index()] = [NO_SLOT; 2];
                    this.enabled.run_on.push(task);
                    this.slow_path |= slow_path::RUN_ON;
                }
            }
        }
    }
}
