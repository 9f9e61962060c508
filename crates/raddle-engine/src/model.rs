//! The semantics of a primitive: a small state machine, without tasks, waiting lists or switches.

use std::fmt::Debug;

use crate::op::{Access, TaskId};
use crate::race::Edges;
use crate::receive::Carried;
use crate::strategy::Waits;

/// A primitive as a state machine. The engine asks; the model never waits.
///
/// The same model serves inside an execution, where the engine decides who moves, and outside,
/// where threads of the operating system really block.
pub trait Model: Debug + Send {
    /// What a task can do with it.
    type Op: Copy + Debug;
    /// What the task gets back.
    type Reply;

    /// The name of the primitive, as programs write it.
    const KIND: &'static str;

    /// Whether an op can ever be disabled. If not, the engine need not look who waits.
    const BLOCKS: bool = true;

    /// Whether it is a lock: what a task takes of it by an acquiring or sharing op, it holds until
    /// it gives that back. Locks that are held are named in reports, and their order is watched.
    const LOCKS: bool = false;

    /// Whether it carries messages that strategies can see: a channel.
    const CARRIES: bool = false;

    /// Of a lock: whether each task that takes it has it alone, so that only an acquiring op waits, and does so
    /// exactly while more tasks have taken it than have given it back.
    const EXCLUSIVE: bool = false;

    /// Whether `task` could do `op` now.
    fn enabled(&self, task: TaskId, op: Self::Op) -> bool {
        let _ = (task, op);
        true
    }

    /// What `op` would do in this very state: a compare-exchange that would fail is a read.
    fn access(&self, task: TaskId, op: Self::Op) -> Access;

    /// How many ways there are to do `op` now. More than one is a decision of the running step.
    fn options(&self, task: TaskId, op: Self::Op, settings: &raddle_trace::Settings) -> u32 {
        let _ = (task, op, settings);
        1
    }

    /// The task that an option stands for, where options are tasks (which waiter is woken).
    fn option_task(&self, task: TaskId, op: Self::Op, option: u32) -> Option<TaskId> {
        let _ = (task, op, option);
        None
    }

    /// What the step takes over of what other tasks have done, and what of its own it passes on:
    /// the order in which plain data may be accessed. In the state before it. Only called while
    /// data races are looked for.
    fn synchronise(&self, task: TaskId, op: Self::Op, option: u32, edges: &mut Edges<'_>) {
        let _ = option;
        edges.by_access(self.access(task, op));
    }

    /// The message that `op` would send or receive in this very state, if it has a letter. Only asked if [`CARRIES`](Self::CARRIES) and
    /// [messages are observed](crate::rt::messages_are_observed).
    fn carried(&self, task: TaskId, op: Self::Op) -> Option<Carried> {
        let _ = (task, op);
        None
    }

    /// Of a lock: whether an op that gives it back keeps a share of it.
    fn keeps_share(op: Self::Op) -> bool {
        let _ = op;
        false
    }

    /// Does it. Only called when enabled.
    fn apply(&mut self, task: TaskId, op: Self::Op, option: u32) -> Self::Reply;

    /// Whether the timeout of a pending timed `op` could fire now.
    fn may_expire(&self, task: TaskId, op: Self::Op) -> bool {
        !self.enabled(task, op)
    }

    /// The timeout of a pending timed `op` fired: withdraws it.
    fn expire(&mut self, task: TaskId, op: Self::Op) {
        let _ = (task, op);
    }

    /// Who must move for a blocked `op` to go on, where the model knows.
    fn holders(&self, task: TaskId, op: Self::Op) -> Vec<TaskId> {
        let _ = (task, op);
        Vec::new()
    }

    /// Begins anew: called at the first use in an execution, if the last use was in another one.
    fn reset(&mut self);

    /// The op as a person reads it, with its reply once it has one.
    fn show(op: Self::Op, reply: Option<&Self::Reply>) -> String {
        let _ = reply;
        format!("{op:?}").to_lowercase()
    }
}

/// Which ops on the objects of a model wait.
pub(crate) const fn waits_of<M: Model>() -> Waits {
    if !M::BLOCKS {
        Waits::Never
    } else if M::EXCLUSIVE {
        Waits::Lock
    } else {
        Waits::Unknown
    }
}
