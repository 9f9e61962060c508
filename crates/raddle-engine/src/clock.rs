//! Virtual time: an object of the program.
//!
//! Time stands still while tasks compute. It advances when a timer fires, to that timer's
//! deadline, and when a task reads the clock again although nothing has changed since it last
//! did: it waits for time to pass, so time passes, in steps that double until it stops asking.

use crate::model::Model;
use crate::op::{Access, TaskId};
use crate::race::Edges;

#[derive(Debug, Default)]
pub(crate) struct Clock {
    pub(crate) now_ns: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ClockOp {
    Now,
}

impl Model for Clock {
    type Op = ClockOp;
    type Reply = u64;
    const KIND: &'static str = "clock";
    const BLOCKS: bool = false;

    // Overreports: most readings do not advance the clock and would commute.
    fn access(&self, _: TaskId, _: ClockOp) -> Access {
        Access::Write
    }

    // That time has passed tells nothing of what others did meanwhile.
    fn synchronise(&self, _: TaskId, _: ClockOp, _: u32, _: &mut Edges<'_>) {}

    fn apply(&mut self, _: TaskId, _: ClockOp, _: u32) -> u64 {
        self.now_ns
    }

    fn reset(&mut self) {
        self.now_ns = 0;
    }

    fn show(_: ClockOp, reply: Option<&u64>) -> String {
        match reply {
            Some(now_ns) => format!("now -> {:?}", std::time::Duration::from_nanos(*now_ns)),
            None => "now".to_owned(),
        }
    }
}
