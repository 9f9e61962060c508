//! Tasks that go round in circles wait: see [`crate::rounds`].

use std::panic::Location;

use super::{Ending, Execution, How, slow_path};
use crate::announce::Announced;
use crate::dependence::disturbs;
use crate::op::{Access, ObjectId, TaskId};
use crate::rounds::{Next, is_look};
use crate::task::NO_SLOT;
use raddle_trace::hash::mix;

/// The text of an op as a number, if in another state the op might do something else.
pub(crate) fn number_of(access: Access, show: impl FnOnce() -> String) -> u64 {
    if matches!(access, Access::Read | Access::Yield) {
        return 0;
    }
    show().bytes().fold(1, |sum, byte| mix(sum ^ u64::from(byte)))
}

impl Execution {
    /// Whether an op that a task announces must wait for a change of what the task has looked at.
    pub(super) fn must_wait(
        &mut self,
        task: TaskId,
        what: &dyn Announced,
        slots: [u32; 2],
        how: How,
    ) -> bool {
        let most = self.lasting.settings.rounds;
        if !self.waits.on || !self.task(task).rounds.is_close(most) {
            return false;
        }
        if how != How::Step || slots[1] != NO_SLOT {
            return false;
        }
        let (object, access) = what.footprint(task)[0];
        let op = number_of(access, || what.show());
        let next = Next { site: self.task(task).op.site, object, op };
        let waits = &self.waits;
        let entry = self.tasks.get_mut(task);
        let is_marked = entry.rounds.is_marked();
        let waits = entry.rounds.arrive(most, next, |object| waits.version(object));
        // A marked loop leaves nothing out.
        self.lasting.seen.waited |= waits && !is_marked;
        waits
    }

    /// A step was taken: counts changes, lets those go on who wait for one, and notes who looked.
    #[cold]
    pub(super) fn note_look(
        &mut self,
        task: TaskId,
        footprint: &[(ObjectId, Access)],
        site: &'static Location<'static>,
        how: How,
    ) {
        for &(object, access) in footprint {
            if object != ObjectId::NONE && disturbs(access) {
                self.waits.change(object);
                self.let_go_on(object);
            }
        }
        let (object, access) = footprint[0];
        let is_alone = footprint.iter().skip(1).all(|(object, _)| *object == ObjectId::NONE);
        let looked = is_alone && how == How::Step && is_look(access);
        let version = self.waits.version(object);
        let entry = self.task_mut(task);
        if looked {
            entry.rounds.looked(site, object, version);
        } else {
            entry.rounds.forget();
        }
        entry.rounds.watch = crate::strategy::Watch::default();
        (entry.rounds.last_resort, entry.rounds.op) = (false, 0);
        self.note_close(task);
    }

    /// Ops take the long way as long as a task is close to a look that may have to wait.
    pub(crate) fn note_close(&mut self, task: TaskId) {
        let close = self.task(task).rounds.is_close(self.lasting.settings.rounds);
        let known = self.waits.close.iter().position(|&other| other == task);
        match (close, known) {
            (true, None) => self.waits.close.push(task),
            (false, Some(at)) => drop(self.waits.close.swap_remove(at)),
            _ => {}
        }
        if self.waits.close.is_empty() {
            self.slow_path &= !slow_path::SPINS;
        } else {
            self.slow_path |= slow_path::SPINS;
        }
    }

    /// An object has changed: those who wait for that can move.
    fn let_go_on(&mut self, object: ObjectId) {
        for at in 0..self.waits.close.len() {
            let task = self.waits.close[at];
            if self.task(task).rounds.waits_for(object) {
                self.task_mut(task).rounds.waits = false;
                self.set_enabled(task, true);
            }
        }
    }

    /// No task can move, but some wait for changes that will not come: the next of them in turn takes a step all the
    /// same.
    #[inline]
    pub(super) fn last_resort(&mut self) -> Option<TaskId> {
        if self.waits.close.is_empty() { None } else { self.last_resort_of_close() }
    }

    #[cold]
    fn last_resort_of_close(&mut self) -> Option<TaskId> {
        let turn = self.waits.turn;
        let waits = |task: &&TaskId| self.task(**task).rounds.waits;
        let seq = |task: &TaskId| self.task(*task).lineage.seq;
        let spinning = || self.waits.close.iter().filter(waits).copied();
        let next = spinning().filter(|task| seq(task) > turn).min_by_key(seq);
        let next = next.or_else(|| spinning().min_by_key(seq))?;
        self.waits.turn = seq(&next);
        // Counted by itself: when yields came before, which count as well, is not part of the partial order.
        if self.waits.resorts.1 != self.pace.last_change {
            self.waits.resorts = (0, self.pace.last_change);
        }
        self.waits.resorts.0 += 1;
        if self.waits.resorts.0 >= self.lasting.limits.fruitless {
            self.end(Ending::Livelock { steps: self.n_steps - self.pace.last_change });
            return None;
        }
        let rounds = &mut self.task_mut(next).rounds;
        (rounds.waits, rounds.last_resort) = (false, true);
        Some(next)
    }

    /// A marked condition is evaluated: all looks from here on are its own.
    pub(crate) fn begin_await(&mut self, task: TaskId) {
        self.waits.on = true;
        self.set_carefree();
        self.task_mut(task).rounds.forget();
        self.note_close(task);
    }

    /// The condition was false: the next op waits for a change. `false` if that cannot be, because the
    /// condition has done something else than look, or has not looked at all.
    pub(crate) fn await_change(&mut self, task: TaskId) -> bool {
        let marked = self.task_mut(task).rounds.mark();
        self.note_close(task);
        marked
    }
}
