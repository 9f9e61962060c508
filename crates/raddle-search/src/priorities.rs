//! Random priorities of pending ops, as partial order sampling uses them (`pos.rs`, `rff.rs`): drawn
//! when first asked for, and anew after a race.

use raddle_engine::dependence::conflict;
use raddle_engine::op::{Access, ObjectId, Op, TaskId};
use raddle_engine::strategy::Point;

use crate::rng::Rng;

/// Of a task whose op has no priority. Lower than every priority that is drawn.
const UNDRAWN: u64 = 0;

/// The priorities of the pending ops, by task id.
#[derive(Clone, Debug, Default)]
pub(crate) struct Priorities(Vec<u64>);

impl Priorities {
    /// Forgets all of them, for a new execution.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The priority of a task's pending op, above 0. Draws one if there is none.
    #[inline]
    pub(crate) fn of(&mut self, task: TaskId, rng: &mut Rng) -> u64 {
        if self.0.len() <= task.index() {
            self.0.resize(task.index() + 1, UNDRAWN);
        }
        let priority = &mut self.0[task.index()];
        if *priority == UNDRAWN {
            *priority = rng.next() | 1;
        }
        *priority
    }

    /// Forgets the priority of a task that has made a step: what it does next is another op.
    #[inline]
    pub(crate) fn forget(&mut self, task: TaskId) {
        if let Some(priority) = self.0.get_mut(task.index()) {
            *priority = UNDRAWN;
        }
    }

    /// Forgets the priorities of the pending ops that race with that of `task`.
    #[inline]
    pub(crate) fn forget_races(&mut self, task: TaskId, point: &Point<'_>) {
        let Some(op) = point.pending.op(task) else { return };
        for (index, priority) in self.0.iter_mut().enumerate() {
            let other = TaskId(index as u32);
            if *priority != UNDRAWN && other != task {
                let races = |pending: Op| race((task, op), (other, pending));
                if point.pending.op(other).is_some_and(races) {
                    *priority = UNDRAWN;
                }
            }
        }
    }
}

/// Whether two pending ops depend on each other.
#[inline]
fn race((task, op): (TaskId, Op), (other, pending): (TaskId, Op)) -> bool {
    op.access == Access::Observe(other)
        || pending.access == Access::Observe(task)
        || op.object == pending.object
            && op.object != ObjectId::NONE
            && conflict(op.access, pending.access)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_stays_until_it_is_forgotten() {
        let (mut rng, mut priorities) = (Rng::new(1), Priorities::default());
        let first = priorities.of(TaskId(3), &mut rng);
        assert_eq!(priorities.of(TaskId(3), &mut rng), first);
        priorities.forget(TaskId(3));
        priorities.forget(TaskId(9));
        assert_ne!(priorities.of(TaskId(3), &mut rng), first);
    }
}
