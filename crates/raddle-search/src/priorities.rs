//! Random priorities of pending ops, as partial order sampling uses them (`pos.rs`, `rff.rs`): drawn
//! when first asked for, and anew after a race.

use raddle_engine::dependence::conflict;
use raddle_engine::op::{Access, ObjectId, Op, TaskId};
use raddle_engine::strategy::{Point, Step};

use crate::rng::Rng;

/// Of a task whose op has no priority. Lower than every priority that is drawn.
const UNDRAWN: u64 = 0;

/// What is known of a task's pending op.
#[derive(Clone, Copy, Debug)]
struct Known {
    priority: u64,
    /// The one object that decides what it races with. [`ObjectId::NONE`] if that was not asked yet, or is more than an
    /// object, or may become another one without a step of the task: then it is asked for every time.
    object: ObjectId,
}

const NOTHING: Known = Known { priority: UNDRAWN, object: ObjectId::NONE };

/// The priorities of the pending ops, by task id.
#[derive(Clone, Debug, Default)]
pub(crate) struct Priorities(Vec<Known>);

impl Priorities {
    /// Forgets all of them, for a new execution.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The priority of a task's pending op, above 0. Draws one if there is none.
    #[inline]
    pub(crate) fn of(&mut self, task: TaskId, rng: &mut Rng) -> u64 {
        if self.0.len() <= task.index() {
            self.make_room(task);
        }
        let priority = &mut self.0[task.index()].priority;
        if *priority == UNDRAWN {
            *priority = rng.next() | 1;
        }
        *priority
    }

    #[cold]
    fn make_room(&mut self, task: TaskId) {
        self.0.resize(task.index() + 1, NOTHING);
    }

    /// Forgets the priority of a task that has made a step: what it does next is another op. After a timer's step so is
    /// that of its owner, which has not moved.
    #[inline]
    pub(crate) fn stepped(&mut self, step: &Step<'_>) {
        self.forget(step.task);
        if step.partner.is_some() {
            self.forget_objects();
        }
    }

    /// Forgets the priority of a task.
    #[inline]
    pub(crate) fn forget(&mut self, task: TaskId) {
        if let Some(known) = self.0.get_mut(task.index()) {
            *known = NOTHING;
        }
    }

    #[cold]
    fn forget_objects(&mut self) {
        self.0.iter_mut().for_each(|known| known.object = ObjectId::NONE);
    }

    /// A task that has a priority was chosen at a point: forgets its priority, and those of the pending ops that race
    /// with its own.
    #[inline]
    pub(crate) fn take(&mut self, task: TaskId, point: &Point<'_>) {
        let known_object = |task| point.pending.thread_object(task).unwrap_or(ObjectId::NONE);
        let mut own = self.0[task.index()].object;
        if own == ObjectId::NONE {
            own = known_object(task);
        }
        let mut op = None;
        for (index, known) in self.0.iter_mut().enumerate() {
            if known.priority == UNDRAWN || index == task.index() {
                continue;
            }
            let other = TaskId(index as u32);
            if known.object == ObjectId::NONE {
                known.object = known_object(other);
            }
            if own != known.object && own != ObjectId::NONE && known.object != ObjectId::NONE {
                continue;
            }
            let op = *op.get_or_insert_with(|| point.pending.op(task));
            if let (Some(op), Some(pending)) = (op, point.pending.op(other))
                && race((task, op), (other, pending))
            {
                known.priority = UNDRAWN;
            }
        }
        self.forget(task);
    }
}

/// Whether two pending ops depend on each other.
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
