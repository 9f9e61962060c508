//! What a yield means for the others: see [`crate::fair`].

use super::{Ending, Execution, How, slow_path};
use crate::op::{Access, TaskId};
use crate::rounds::FREE_YIELDS;
use crate::strategy::Choice;
use crate::task::State;

impl Execution {
    /// A task, or a timer that fired, says that it cannot get on by itself. See [`crate::fair`].
    pub(crate) fn yielded(&mut self, task: TaskId) {
        self.enabled.last_yielded = true;
        self.lasting.seen.yielded |= !self.task(task).fiber.is_null();
        // Who moved between two yields of a task is not part of the partial order.
        self.strayed = true;
        self.pace.fruitless += 1;
        if self.pace.fruitless >= self.lasting.limits.fruitless && self.everyone_moved() {
            self.end(Ending::Livelock { steps: self.n_steps - self.pace.last_change });
        }
        if self.is_part_of_waiting(task) {
            return;
        }
        let now = self.n_steps;
        if let Some(before) = self.task_mut(task).fair.yielded.replace(now) {
            let mut waits_for = std::mem::take(&mut self.task_mut(task).fair.waits_for.1);
            waits_for.clear();
            // What the owner of a timer does after it fired counts as the timer's doing.
            let timer = self.task(task).fiber.is_null();
            let owner = if timer { self.task(task).timing.owner } else { task };
            waits_for.extend(self.tasks.created.iter().copied().filter(|&other| {
                let entry = self.task(other);
                let starved = self.is_enabled(other) && self.enabled_since(other) <= before;
                let (by, at) = self.disabled(other);
                let pushed = (by == task || by == owner) && at > before;
                let live = entry.state == State::Live;
                other != task && live && (starved || pushed) && entry.steps.last_move <= before
            }));
            if !waits_for.is_empty() {
                self.slow_path |= slow_path::UNFAIR;
            }
            self.task_mut(task).fair.waits_for = (now, waits_for);
        }
    }

    /// Whether a yield need not be fair: the task looks again and again at the same place, which ends by another rule
    /// ([`crate::rounds`]), or it has not yielded often.
    fn is_part_of_waiting(&mut self, task: TaskId) -> bool {
        let idle = self.n_steps - self.pace.last_change > self.lasting.limits.idle;
        if self.lasting.settings.rounds.is_none() || idle || self.task(task).fiber.is_null() {
            return false;
        }
        let entry = self.task_mut(task);
        if entry.rounds.yielded_at(entry.op.site) {
            return true;
        }
        entry.rounds.yields += 1;
        entry.rounds.yields <= FREE_YIELDS
    }

    /// A task took a step, and for a long time no task has changed anything: as good as a yield, unless it
    /// is one.
    #[cold]
    pub(super) fn idle(&mut self, task: TaskId, access: Access, how: How) {
        let is_timer = self.task(task).fiber.is_null();
        if how != How::Wait && access != Access::Yield && !is_timer {
            self.lasting.seen.idle = true;
            self.yielded(task);
        }
    }

    /// Leaves in `fair_options` those who need not wait for another to move.
    pub(super) fn keep_fair(&mut self) {
        self.list_options();
        let mut fair = std::mem::take(&mut self.enabled.fair_options);
        fair.clear();
        let may_move = |choice: &Choice| {
            let (since, waits_for) = &self.task(choice.task).fair.waits_for;
            !waits_for
                .iter()
                .any(|&other| self.is_enabled(other) && self.task(other).steps.last_move <= *since)
        };
        fair.extend(self.enabled.options.iter().copied().filter(may_move));
        self.lasting.seen.held_back |= fair.len() < self.enabled.options.len();
        assert!(
            !fair.is_empty() || self.enabled.options.is_empty(),
            "engine bug: every task waits for another to move"
        );
        self.enabled.fair_options = fair;
    }

    /// Whether every task that can move has moved lately, in the second half of the time since
    /// something changed, and none is about to change something. If not, it was only unlucky.
    pub(super) fn everyone_moved(&self) -> bool {
        let lately = self.pace.last_change.midpoint(self.n_steps);
        self.options().all(|task| {
            let changes = self.op_of(task).is_some_and(|op| op.access.changes());
            let timer = self.task(task).fiber.is_null();
            self.task(task).steps.last_move > lately && (timer || !changes)
        })
    }
}
