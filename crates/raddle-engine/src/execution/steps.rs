//! After a step: it is counted and told, what it holds is noted, and the tasks that wait for its object are checked again.

use std::panic::Location;

use raddle_trace::Timeouts;

use super::view::View;
use super::{Execution, How, slow_path};
use crate::context;
use crate::fiber::Fiber;
use crate::model::Model;
use crate::op::{Access, ObjectId, TaskId};
use crate::recorder::Recorder;
use crate::strategy::{Decided, Event, Step, Tasks};
use crate::task::Task;

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
    /// `ex` is the current execution; `task`, by its number and its entry, has just applied its op.
    #[inline]
    pub(crate) unsafe fn commit(
        ex: *mut Self,
        (task, entry): (TaskId, *mut Task),
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
            let number = this.n_steps + 1;
            this.n_steps = number;
            this.lasting.pulse.step(number, task.0, site);
            let steps = &mut (*entry).steps;
            steps.last = number;
            if how != How::Wait {
                // A wait that runs on is not a move: it must not look like a preemption.
                steps.last_move = number;
                this.enabled.last = task;
                this.enabled.last_yielded = false;
            }
            // Time that passes is no change: a task that only watches the clock does not get on.
            if footprint.iter().any(|(id, access)| access.changes() && id.0 != this.time.slot) {
                this.pace.last_change = number;
                this.pace.fruitless = 0;
            }
            if number > this.pace.carefree {
                this.attend(task, footprint, site, how, show);
            }
        }
    }

    /// What some steps need: to be told, to be looked at because nothing gets on, or a look at the limits.
    #[inline(never)]
    fn attend(
        &mut self,
        task: TaskId,
        footprint: &[(ObjectId, Access)],
        site: &'static Location<'static>,
        how: How,
        show: impl FnOnce() -> String,
    ) {
        if self.listeners.needs.messages
            && let (How::Wait, Access::Observe(ended)) = (how, footprint[0].1)
        {
            self.messages.join(task, ended, self.n_steps, site);
        }
        if self.n_steps > self.listeners.notify_from_step {
            if self.listeners.recorder.is_none() && self.listeners.witness.is_none() {
                // Nearly always: the step is told because the strategy asks for it.
                self.tell_strategy(task, footprint, site, how);
            } else {
                let text = if self.listeners.takes_text() { show() } else { String::new() };
                self.tell_all(task, footprint, site, how, text);
            }
        }
        self.look_after(task, footprint, site, how);
    }

    /// The part of [`attend`](Self::attend) that is the same for all models.
    #[inline]
    fn look_after(
        &mut self,
        task: TaskId,
        footprint: &[(ObjectId, Access)],
        site: &'static Location<'static>,
        how: How,
    ) {
        if self.waits.on {
            self.note_look(task, footprint, site, how);
        }
        // Where tasks go on beyond what they wait for, no other one can move, and that is counted by itself.
        if self.n_steps - self.pace.last_change > self.lasting.limits.idle
            && !self.waits.has_resorted_since(self.pace.last_change)
        {
            self.idle(task, footprint[0].1, how);
        }
        if self.check_is_due() {
            self.slow_path |= slow_path::CHECK_DUE;
        }
        if self.n_steps <= self.listeners.notify_from_step
            || self.listeners.needs.skip_decided && self.n_steps >= self.pace.undisturbed
        {
            self.set_carefree();
        }
    }

    /// Computes how many steps need no attention. To be called when one of the reasons for it may come earlier than
    /// before; that it may come later is found out when the time has come.
    pub(super) fn set_carefree(&mut self) {
        self.pace.undisturbed =
            if self.listeners.needs.messages || self.waits.on || self.listeners.takes_text() {
                0
            } else {
                let idle = self.pace.last_change.saturating_add(self.lasting.limits.idle);
                let check = self.pace.next_check.saturating_sub(1);
                idle.min(check)
            };
        self.pace.carefree = self.listeners.notify_from_step.min(self.pace.undisturbed);
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
    fn tell_all(
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
        let mut recorder = self.listeners.recorder.take();
        self.tell_unusual(task, footprint, site, how, recorder.as_deref_mut());
        self.listeners.recorder = recorder;
        self.recount();
    }

    /// Tells the strategy of a step, if it is to hear of it.
    #[inline(never)]
    fn tell_strategy(
        &mut self,
        task: TaskId,
        footprint: &[(ObjectId, Access)],
        site: &'static Location<'static>,
        how: How,
    ) {
        let entry = self.task(task);
        let is_usual = match how {
            How::Step => !matches!(footprint[0].1, Access::Observe(_)),
            How::Wait => true,
            How::Timed(_) => false,
        };
        if !is_usual || entry.fiber.is_null() {
            return self.tell_unusual(task, footprint, site, how, None);
        }
        debug_assert!(
            entry.passive.is_none()
                && entry.steps.sent_by.is_none()
                && entry.steps.decided == Decided::default(),
            "only steps of passive tasks are sent or decided"
        );
        if self.n_steps > self.listeners.strategy_from_step {
            let view = View(self);
            let step = self.usual_step(task, footprint, site, how, &view);
            self.hand_to_strategy(&Event::Step(step));
        }
    }

    /// A step of a thread, without a timeout, that does not look whether another has ended.
    #[inline]
    fn usual_step<'a>(
        &self,
        task: TaskId,
        footprint: &'a [(ObjectId, Access)],
        site: &'static Location<'static>,
        how: How,
        view: &'a View,
    ) -> Step<'a> {
        let entry = self.task(task);
        let point = if how == How::Wait { None } else { self.decisions.point };
        Step {
            task,
            footprint,
            site,
            context: entry.op.context,
            shared_resources: entry.steps.shared_resources,
            learned: false,
            decided: Decided::default(),
            watch: entry.rounds.watch,
            last_resort: entry.rounds.last_resort,
            sent_by: None,
            point,
            replayed: point.is_some_and(|at| (at as usize) < self.decisions.plan.prefix.len()),
            immediate: how == How::Wait,
            partner: None,
            enabled_since: entry.op.first_since.unwrap_or_else(|| self.enabled_since(task)),
            timer: None,
            ended: None,
            waited_for: Tasks::default(),
            pending: view,
        }
    }

    /// Tells the strategy of any step, if it is to hear of it, and the recorder.
    #[inline(never)]
    fn tell_unusual(
        &mut self,
        task: TaskId,
        footprint: &[(ObjectId, Access)],
        site: &'static Location<'static>,
        how: How,
        recorder: Option<&mut Recorder>,
    ) {
        let asked = self.n_steps > self.listeners.strategy_from_step;
        if !asked && recorder.is_none() {
            return;
        }
        let entry = self.task(task);
        let is_timer = entry.is_timer();
        let has_timeout = matches!(how, How::Timed(_));
        let could_fire = |lane: &TaskId| has_timeout && self.task(*lane).timing.by_itself;
        let timer = entry.timing.timer.filter(could_fire);
        let idle = is_timer && self.lasting.settings.timeouts == Timeouts::Idle;
        let waited_for = match footprint[0].1 {
            Access::Observe(other) if how != How::Wait => self.waited_for(other),
            _ => Tasks::default(),
        };
        let view = View(self);
        let event = Event::Step(Step {
            context: if is_timer { self.context_of(task) } else { entry.op.context },
            learned: entry.passive.is_some(),
            decided: entry.steps.decided,
            sent_by: entry.steps.sent_by,
            last_resort: idle || entry.rounds.last_resort,
            partner: is_timer.then_some(entry.timing.owner),
            timer: timer.map(|timer| self.timer_on(timer, footprint[0].0)),
            ended: entry.timing.ended.filter(|_| is_timer),
            waited_for,
            ..self.usual_step(task, footprint, site, how, &view)
        });
        if let (Some(recorder), Event::Step(step)) = (recorder, &event) {
            recorder.step(step);
        }
        if asked {
            self.hand_to_strategy(&event);
        }
    }

    #[inline]
    fn hand_to_strategy(&mut self, event: &Event<'_>) {
        // SAFETY: the strategy outlives the search, and holds no way back to the execution.
        let cut = unsafe { (*self.listeners.strategy).step(event) };
        if cut.is_some() {
            self.decisions.cut = cut;
            self.slow_path |= slow_path::NO_STRATEGY;
        }
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

    /// The tasks which a task waits for that will run on by itself, and the tasks which those wait for.
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
}
