//! What every task has: its end, which others join or look at, and its parking token.

use raddle_trace::Settings;

use crate::model::Model;
use crate::op::{Access, TaskId};
use crate::race::Edges;

/// Whether a task is finished, and whether anyone has seen it.
#[derive(Debug, Default)]
pub(crate) struct JoinPark {
    /// Whose life it is.
    pub(crate) task: TaskId,
    pub(crate) exited: bool,
    seen: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum LifeOp {
    /// Waits for the end.
    Join,
    /// Looks whether it has come.
    IsFinished,
}

impl Model for JoinPark {
    type Op = LifeOp;
    type Reply = bool;
    const KIND: &'static str = "thread";

    fn enabled(&self, _: TaskId, op: LifeOp) -> bool {
        match op {
            LifeOp::Join => self.exited,
            LifeOp::IsFinished => true,
        }
    }

    fn access(&self, _: TaskId, _: LifeOp) -> Access {
        Access::Observe(self.task)
    }

    // The exit is folded into the last step, so a task that has exited may still be on its way
    // out: until a task has seen it finished, "not yet" is a possible answer too.
    fn options(&self, _: TaskId, op: LifeOp, _: &Settings) -> u32 {
        match op {
            LifeOp::IsFinished if self.exited && !self.seen => 2,
            _ => 1,
        }
    }

    // A join is told by the task that joins, which knows the other. To look gives no order, as in std.
    fn synchronise(&self, _: TaskId, _: LifeOp, _: u32, _: &mut Edges<'_>) {}

    fn apply(&mut self, _: TaskId, op: LifeOp, option: u32) -> bool {
        match op {
            LifeOp::Join => self.seen = true,
            LifeOp::IsFinished => self.seen |= self.exited && option == 0,
        }
        self.seen
    }

    fn holders(&self, _: TaskId, _: LifeOp) -> Vec<TaskId> {
        if self.exited { Vec::new() } else { vec![self.task] }
    }

    fn reset(&mut self) {
        (self.exited, self.seen) = (false, false);
    }

    fn show(op: LifeOp, reply: Option<&bool>) -> String {
        match (op, reply) {
            (LifeOp::Join, _) => "join".to_owned(),
            (LifeOp::IsFinished, Some(reply)) => format!("is_finished -> {reply}"),
            (LifeOp::IsFinished, None) => "is_finished".to_owned(),
        }
    }
}

/// A parking token: at most one.
#[derive(Debug, Default)]
pub(crate) struct Parker {
    token: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ParkOp {
    Park,
    Unpark,
}

impl Model for Parker {
    type Op = ParkOp;
    type Reply = ();
    const KIND: &'static str = "parking token";

    fn enabled(&self, _: TaskId, op: ParkOp) -> bool {
        match op {
            ParkOp::Park => self.token,
            ParkOp::Unpark => true,
        }
    }

    // A token is like a lock that is free: the task that parks takes it, the one that unparks gives it back, or
    // finds that it is there.
    fn access(&self, _: TaskId, op: ParkOp) -> Access {
        match op {
            ParkOp::Park => Access::Acquire,
            ParkOp::Unpark if self.token => Access::FailedUpdate,
            ParkOp::Unpark => Access::Release,
        }
    }

    // All unparks of one token are seen by the park that takes it, and none by another unpark.
    fn synchronise(&self, _: TaskId, op: ParkOp, _: u32, edges: &mut Edges<'_>) {
        match op {
            ParkOp::Park => edges.acquire(Edges::FIRST),
            ParkOp::Unpark => edges.release(Edges::FIRST),
        }
    }

    fn apply(&mut self, _: TaskId, op: ParkOp, _: u32) {
        self.token = matches!(op, ParkOp::Unpark);
    }

    fn reset(&mut self) {
        self.token = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: TaskId = TaskId(0);

    #[test]
    fn an_end_may_be_overlooked_until_it_is_seen() {
        let settings = Settings::default();
        let mut life = JoinPark::default();
        assert_eq!(life.options(A, LifeOp::IsFinished, &settings), 1);
        assert!(!life.apply(A, LifeOp::IsFinished, 0));
        life.exited = true;
        assert_eq!(life.options(A, LifeOp::IsFinished, &settings), 2);
        assert!(!life.apply(A, LifeOp::IsFinished, 1));
        assert!(life.apply(A, LifeOp::IsFinished, 0));
        assert_eq!(life.options(A, LifeOp::IsFinished, &settings), 1);
        assert!(life.apply(A, LifeOp::IsFinished, 0));
    }

    #[test]
    fn two_unparks_are_one_token() {
        let mut parker = Parker::default();
        assert!(!parker.enabled(A, ParkOp::Park));
        parker.apply(A, ParkOp::Unpark, 0);
        parker.apply(A, ParkOp::Unpark, 0);
        assert!(parker.enabled(A, ParkOp::Park));
        parker.apply(A, ParkOp::Park, 0);
        assert!(!parker.enabled(A, ParkOp::Park));
    }
}
