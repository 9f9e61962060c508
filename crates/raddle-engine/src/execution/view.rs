//! What can be seen of an execution while it stands still: by a strategy that decides, and by the report.

use std::sync::Arc;

use raddle_trace::hash::mix;

use super::Execution;
use crate::context::Context;
use crate::op::{Access, ObjectId, Op, TaskId};
use crate::passive::Passive;
use crate::receive::{Carried, Effects, Receive, ReceiveName};
use crate::strategy::{Label, Lane, Pending, Stuck};
use crate::task::State;

impl Execution {
    /// How a person calls a task.
    pub(crate) fn label(&self, task: TaskId) -> String {
        self.tasks.label(task)
    }

    /// The ops that have been announced and cannot run now.
    pub(crate) fn stuck(&self) -> Vec<Stuck> {
        let stuck = |&task: &TaskId| {
            let entry = self.task(task);
            // One that waits for a change races with nothing: its objects have not changed since it looked.
            let waits = entry.state == State::Live
                && !self.is_enabled(task)
                && !entry.op.immediate
                && !entry.rounds.waits;
            let what = entry.op.announced.filter(|_| waits && !entry.fiber.is_null())?;
            // SAFETY: the op of a suspended task is valid, and touches models only.
            let footprint = unsafe { (*what).waits_for(task) };
            let enabled_since = entry.op.first_since;
            let timer = entry.timing.timer;
            let timer = timer.filter(|&t| self.task(t).timing.armed && !self.is_enabled(t));
            // SAFETY: as above.
            let object = unsafe { (*what).footprint(task)[0].0 };
            let timer = timer.map(|timer| self.timer_on(timer, object));
            let (site, context) = (entry.op.site, entry.op.context);
            Some(Stuck { task, footprint, site, context, enabled_since, timer })
        };
        self.tasks.created.iter().filter_map(stuck).collect()
    }

    /// From where the op of a task was called. That of a timer is the wait it ends.
    pub(super) fn context_of(&self, task: TaskId) -> Context {
        let entry = self.task(task);
        let is_set = entry.is_timer() && entry.state == State::Live;
        let of = if is_set { self.task(entry.timing.owner) } else { entry };
        of.op.context
    }

    /// The text of what a task has announced. A passive task's message may be of any type of the
    /// program's, whose code does not run here.
    fn says(&self, task: TaskId) -> Option<String> {
        let entry = self.tasks.list.get(task.index())?;
        if entry.state != State::Live || entry.passive.is_some() {
            return None;
        }
        if entry.fiber.is_null() {
            let what = self.task(entry.timing.owner).op.announced?;
            // SAFETY: the op of a suspended task is valid, and touches models only.
            return Some(format!("timeout of {}", unsafe { (*what).show() }));
        }
        // SAFETY: as above.
        Some(unsafe { (*entry.op.announced?).show() })
    }

    /// The part of a task that only passive ones have, if messages are observed.
    fn passive(&self, task: TaskId) -> Option<&Passive> {
        let entry = self.tasks.list.get(task.index()).filter(|_| self.listeners.needs.messages)?;
        entry.passive.as_ref()
    }

    /// The message that a thread would send or receive by what it has announced, if messages are observed.
    fn carried(&self, task: TaskId) -> Option<Carried> {
        let entry = self.tasks.list.get(task.index()).filter(|_| self.listeners.needs.messages)?;
        let what = entry.op.announced.filter(|_| entry.state == State::Live)?;
        // SAFETY: the op of a suspended task is valid, and touches models only.
        if entry.fiber.is_null() { None } else { unsafe { (*what).carried(task) } }
    }

    /// See [`Pending::thread_object`].
    #[inline]
    fn thread_object(&self, task: TaskId) -> Option<ObjectId> {
        let entry = self.tasks.list.get(task.index())?;
        if entry.fiber.is_null() || entry.state != State::Live {
            return None;
        }
        // SAFETY: the op of a suspended task is valid, and touches models only.
        Some(unsafe { (*entry.op.announced?).object(task) })
    }

    pub(super) fn op_of(&self, task: TaskId) -> Option<Op> {
        let entry = self.tasks.list.get(task.index())?;
        if entry.state != State::Live {
            return None;
        }
        if let Some(Passive { object, .. }) = entry.passive {
            let (access, second, site) = (Access::Write, None, entry.op.site);
            return Some(Op { object, access, second, site });
        }
        if entry.fiber.is_null() {
            let owner = entry.timing.owner;
            let what = self.task(owner).op.announced?;
            // SAFETY: the op of a suspended task is valid, and touches models only.
            let object = unsafe { (*what).footprint(owner)[0].0 };
            let (access, second, site) = (Access::Write, None, entry.op.site);
            return Some(Op { object, access, second, site });
        }
        // SAFETY: as above.
        let [(object, access), second] = unsafe { (*entry.op.announced?).footprint(task) };
        let second = (second.0 != ObjectId::NONE).then_some(second);
        Some(Op { object, access, second, site: entry.op.site })
    }
}

/// What a strategy may look at while it decides.
pub(super) struct View(pub(super) *const Execution);

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("View")
    }
}

impl Pending for View {
    fn stuck(&self) -> Vec<Stuck> {
        // SAFETY: as in `op`.
        unsafe { (*self.0).stuck() }
    }

    fn place(&self, task: TaskId) -> u32 {
        // SAFETY: as in `op`.
        unsafe { (*self.0).task(task).lineage.seq }
    }

    fn strayed(&self) -> bool {
        // SAFETY: as in `op`.
        unsafe { (*self.0).strayed }
    }

    fn idle(&self) -> bool {
        // SAFETY: as in `op`.
        unsafe { (*self.0).enabled.count == 0 }
    }

    fn object_name(&self, object: ObjectId) -> String {
        // SAFETY: as in `op`.
        let names = unsafe { &(*self.0).listeners.object_names };
        let name = names.iter().find(|(other, _)| *other == object);
        name.map(|(_, name)| name.clone()).unwrap_or_default()
    }

    fn lane(&self, task: TaskId) -> Lane {
        // SAFETY: as in `op`.
        let entry = unsafe { (*self.0).task(task) };
        match &entry.passive {
            Some(passive) => Lane::Mailbox(passive.mailbox),
            // A thread that has finished has no code either: a timer is one that its owner has.
            None if entry.is_timer() => {
                // SAFETY: as above; the owner of a thread is the first task, whose timer is another.
                let owner = unsafe { (*self.0).task(entry.timing.owner) };
                if owner.timing.timer == Some(task) { Lane::Timer } else { Lane::Thread }
            }
            None => Lane::Thread,
        }
    }

    fn order(&self) -> Option<Arc<[String]>> {
        crate::explorer::take_order()
    }

    fn op(&self, task: TaskId) -> Option<Op> {
        // SAFETY: a view lives only during `decide`, where the execution is only read.
        unsafe { (*self.0).op_of(task) }
    }

    fn thread_object(&self, task: TaskId) -> Option<ObjectId> {
        // SAFETY: as above.
        unsafe { (*self.0).thread_object(task) }
    }

    fn yields(&self, task: TaskId) -> bool {
        // SAFETY: as above; the op of a suspended task is valid, and touches models only.
        let yields = unsafe {
            let entry = (*self.0).task(task);
            entry.op.announced.is_some_and(|what| (*what).is_yield())
        };
        debug_assert_eq!(yields, self.op(task).is_some_and(|op| op.access == Access::Yield));
        yields
    }

    fn context(&self, task: TaskId) -> Context {
        // SAFETY: as above.
        unsafe { (*self.0).context_of(task) }
    }

    fn label(&self, object: ObjectId) -> Option<Label> {
        // SAFETY: as above.
        let execution = unsafe { &*self.0 };
        execution.listeners.labels.get(object.0 as usize).copied()
    }

    fn name(&self, task: TaskId) -> String {
        // SAFETY: as above.
        unsafe { (*self.0).label(task) }
    }

    fn says(&self, task: TaskId) -> Option<String> {
        // SAFETY: as above.
        unsafe { (*self.0).says(task) }
    }

    fn delivery(&self, task: TaskId) -> Option<Receive> {
        // SAFETY: as above.
        let execution = unsafe { &*self.0 };
        match execution.passive(task) {
            Some(passive) => passive.work.delivery(passive.token),
            None => match execution.carried(task)? {
                Carried::Receives(letter) => Some(execution.messages.receive(letter)),
                Carried::Sends(_) => None,
            },
        }
    }

    fn sending(&self, task: TaskId) -> Option<Receive> {
        // SAFETY: as above.
        let execution = unsafe { &*self.0 };
        match execution.carried(task)? {
            Carried::Sends(letter) => Some(execution.messages.receive(letter)),
            Carried::Receives(_) => None,
        }
    }

    fn sent(&self, task: TaskId) -> Option<Receive> {
        // SAFETY: as above.
        let execution = unsafe { &*self.0 };
        match execution.messages.last(execution.n_steps, task)? {
            Carried::Sends(letter) => Some(execution.messages.receive(letter)),
            Carried::Receives(_) => None,
        }
    }

    fn ages(&self) -> u64 {
        // SAFETY: as above.
        let execution = unsafe { &*self.0 };
        let created = execution.tasks.created.iter();
        let mut works: Vec<_> = created
            .filter_map(|&task| execution.passive(task))
            .map(|passive| &passive.work)
            .collect();
        // One for each system of actors, mostly: the lanes of one are created one after the other.
        works.dedup_by(|one, other| Arc::ptr_eq(one, other));
        works.into_iter().fold(0, |hash, work| mix(hash ^ work.ages()))
    }

    fn effects(&self, task: TaskId) -> Option<Effects> {
        // SAFETY: as above.
        let execution = unsafe { &*self.0 };
        match execution.passive(task) {
            Some(passive) => passive.work.effects(),
            None => execution.messages.effects(execution.n_steps, task),
        }
    }

    fn receive_name(&self, task: TaskId) -> ReceiveName {
        // SAFETY: as above.
        let execution = unsafe { &*self.0 };
        match execution.passive(task) {
            Some(passive) => passive.work.receive_name(),
            None => execution.receive_name(task),
        }
    }

    fn blocked(&self) -> Vec<TaskId> {
        // SAFETY: as above.
        let execution = unsafe { &*self.0 };
        let blocked = |&task: &TaskId| {
            let entry = execution.task(task);
            entry.state == State::Live
                && !execution.is_enabled(task)
                && entry.op.announced.is_some()
        };
        execution.tasks.created.iter().copied().filter(blocked).collect()
    }
}
