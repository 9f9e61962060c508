//! A pending op without its type: what the engine may ask of it while its task waits.

use crate::model::Model;
use crate::object::Object;
use crate::op::{Access, NOTHING, ObjectId, TaskId};
use crate::receive::Carried;

/// An op that has been announced and has not run.
///
/// Lives on the stack of the task that announced it. Every method reads or changes only the
/// models of the op's objects, never the engine's own state.
pub(crate) trait Announced {
    fn enabled(&self, task: TaskId) -> bool;
    /// What it would touch now; the first entry is the op's own object.
    fn footprint(&self, task: TaskId) -> [(ObjectId, Access); 2];
    /// See [`Pending::thread_object`](crate::strategy::Pending::thread_object).
    fn object(&self, task: TaskId) -> ObjectId {
        let (object, access) = self.footprint(task)[0];
        access.object_alone(object)
    }
    /// What it waits for, if it could not run: the part of the footprint that others may have had
    /// before it.
    fn waits_for(&self, task: TaskId) -> [(ObjectId, Access); 2] {
        self.footprint(task)
    }
    /// Whether the first part of it could run now.
    fn first_enabled(&self, task: TaskId) -> bool {
        self.enabled(task)
    }
    fn may_expire(&self, task: TaskId) -> bool;
    /// Whether it can run if and only if each other such op on its object can: it takes a lock that one task has at a
    /// time.
    fn queues(&self, task: TaskId) -> bool {
        let _ = task;
        false
    }
    /// Whether it touches nothing.
    fn is_yield(&self) -> bool {
        false
    }
    /// Whether it ends by its timer and in no other way.
    fn is_sleep(&self) -> bool {
        false
    }
    fn expire(&self, task: TaskId);
    fn holders(&self, task: TaskId) -> Vec<TaskId>;
    fn show(&self) -> String;
    /// The message that it would send or receive now.
    fn carried(&self, task: TaskId) -> Option<Carried> {
        let _ = task;
        None
    }
}

/// An op on one object.
#[derive(Debug)]
pub(crate) struct Single<'a, M: Model> {
    pub(crate) object: &'a Object<M>,
    /// A copy that the caller does not use itself, or what it does with the op could not be folded: others may reach
    /// this one.
    pub(crate) op: &'a M::Op,
}

/// See [`Announced::queues`].
#[inline]
pub(crate) fn queues<M: Model>(object: &Object<M>, op: M::Op, task: TaskId) -> bool {
    M::EXCLUSIVE && object.model().access(task, op) == Access::Acquire
}

impl<M: Model> Announced for Single<'_, M> {
    fn enabled(&self, task: TaskId) -> bool {
        self.object.model().enabled(task, *self.op)
    }

    fn footprint(&self, task: TaskId) -> [(ObjectId, Access); 2] {
        [(self.object.id(), self.object.model().access(task, *self.op)), NOTHING]
    }

    fn object(&self, task: TaskId) -> ObjectId {
        self.object.model().access(task, *self.op).object_alone(self.object.id())
    }

    fn may_expire(&self, task: TaskId) -> bool {
        self.object.model().may_expire(task, *self.op)
    }

    fn queues(&self, task: TaskId) -> bool {
        queues(self.object, *self.op, task)
    }

    fn expire(&self, task: TaskId) {
        self.object.model_mut().expire(task, *self.op);
    }

    fn holders(&self, task: TaskId) -> Vec<TaskId> {
        self.object.model().holders(task, *self.op)
    }

    fn show(&self) -> String {
        M::show(*self.op, None)
    }

    fn carried(&self, task: TaskId) -> Option<Carried> {
        if M::CARRIES { self.object.model().carried(task, *self.op) } else { None }
    }
}

/// One op on two objects at once: waiting on a condition variable gives its lock back.
#[derive(Debug)]
pub(crate) struct Double<'a, A: Model, B: Model> {
    pub(crate) first: Single<'a, A>,
    pub(crate) second: Single<'a, B>,
}

impl<A: Model, B: Model> Announced for Double<'_, A, B> {
    fn enabled(&self, task: TaskId) -> bool {
        // The second is a lock, which is asked with less effort.
        self.second.enabled(task) && self.first.enabled(task)
    }

    fn footprint(&self, task: TaskId) -> [(ObjectId, Access); 2] {
        [self.first.footprint(task)[0], self.second.footprint(task)[0]]
    }

    // While the first op waits, no other task took anything from it that it could have had: whether it
    // is notified hangs on when it began to wait, which was a step of its own.
    fn waits_for(&self, task: TaskId) -> [(ObjectId, Access); 2] {
        if self.first.enabled(task) { self.footprint(task) } else { [NOTHING, NOTHING] }
    }

    fn first_enabled(&self, task: TaskId) -> bool {
        self.first.enabled(task)
    }

    // Only the first op has a timeout: to wait for the lock afterwards has none.
    fn may_expire(&self, task: TaskId) -> bool {
        self.first.may_expire(task)
    }

    fn expire(&self, task: TaskId) {
        self.first.expire(task);
    }

    // Whichever of the two is in the way.
    fn holders(&self, task: TaskId) -> Vec<TaskId> {
        if self.first.enabled(task) { self.second.holders(task) } else { self.first.holders(task) }
    }

    fn show(&self) -> String {
        self.first.show()
    }
}

/// A yield: touches nothing.
#[derive(Debug)]
pub(crate) struct Yield(pub(crate) &'static str);

impl Announced for Yield {
    fn is_yield(&self) -> bool {
        true
    }

    fn enabled(&self, _: TaskId) -> bool {
        true
    }

    fn footprint(&self, _: TaskId) -> [(ObjectId, Access); 2] {
        [NOTHING, NOTHING]
    }

    fn may_expire(&self, _: TaskId) -> bool {
        false
    }

    fn expire(&self, _: TaskId) {}

    fn holders(&self, _: TaskId) -> Vec<TaskId> {
        Vec::new()
    }

    fn show(&self) -> String {
        self.0.to_owned()
    }
}

/// A sleep: never enabled, it ends by its timer.
#[derive(Debug)]
pub(crate) struct Sleep;

impl Announced for Sleep {
    fn is_yield(&self) -> bool {
        true
    }

    fn enabled(&self, _: TaskId) -> bool {
        false
    }

    fn footprint(&self, _: TaskId) -> [(ObjectId, Access); 2] {
        [NOTHING, NOTHING]
    }

    fn may_expire(&self, _: TaskId) -> bool {
        true
    }

    fn is_sleep(&self) -> bool {
        true
    }

    fn expire(&self, _: TaskId) {}

    fn holders(&self, _: TaskId) -> Vec<TaskId> {
        Vec::new()
    }

    fn show(&self) -> String {
        "sleep".to_owned()
    }
}
