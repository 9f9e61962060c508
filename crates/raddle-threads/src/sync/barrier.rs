//! A barrier for threads.
//!
//! The last to arrive is the leader. Misses: that another is, which std allows and does not do.

use std::fmt;

use crate::Named;
use crate::prelude::*;

/// How many have arrived, and how often all have.
#[derive(Debug)]
struct Meeting {
    /// How many must arrive.
    size: usize,
    arrived: usize,
    /// How often all have arrived.
    generation: usize,
}

#[derive(Clone, Copy, Debug)]
enum MeetingOp {
    Arrive,
    /// Waits until all of the generation have arrived.
    Pass {
        generation: usize,
    },
}

/// What an arrival found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Arrived {
    leader: bool,
    generation: usize,
}

impl Model for Meeting {
    type Op = MeetingOp;
    type Reply = Arrived;
    const KIND: &'static str = "Barrier";

    fn enabled(&self, _: TaskId, op: MeetingOp) -> bool {
        match op {
            MeetingOp::Arrive => true,
            MeetingOp::Pass { generation } => self.generation != generation,
        }
    }

    // Overreports: two arrivals commute if neither is the last.
    fn access(&self, _: TaskId, op: MeetingOp) -> Access {
        match op {
            MeetingOp::Arrive => Access::Write,
            // Only the last of its own round lets it pass; later rounds do not bear on it.
            MeetingOp::Pass { .. } => Access::Woken,
        }
    }

    // Who arrives knows of all who came before, and who passes what the last of its own round knew.
    fn synchronise(&self, _: TaskId, op: MeetingOp, _: u32, edges: &mut Edges<'_>) {
        const ARRIVALS: u32 = u32::MAX;
        match op {
            MeetingOp::Arrive => {
                edges.acquire(ARRIVALS);
                edges.release(ARRIVALS);
                if self.arrived + 1 >= self.size {
                    edges.publish(self.generation as u32);
                }
            }
            MeetingOp::Pass { generation } => edges.acquire(generation as u32),
        }
    }

    fn apply(&mut self, _: TaskId, op: MeetingOp, _: u32) -> Arrived {
        let generation = self.generation;
        let mut leader = false;
        if let MeetingOp::Arrive = op {
            self.arrived += 1;
            leader = self.arrived >= self.size;
            if leader {
                self.arrived = 0;
                self.generation += 1;
            }
        }
        Arrived { leader, generation }
    }

    fn reset(&mut self) {
        self.arrived = 0;
        self.generation = 0;
    }

    fn show(op: MeetingOp, reply: Option<&Arrived>) -> String {
        match (op, reply) {
            (MeetingOp::Arrive, Some(Arrived { leader: true, .. })) => "wait -> leader".to_owned(),
            (MeetingOp::Arrive, _) | (MeetingOp::Pass { .. }, None) => "wait".to_owned(),
            (MeetingOp::Pass { .. }, Some(_)) => "pass".to_owned(),
        }
    }
}

/// Like [`std::sync::Barrier`].
pub struct Barrier {
    meeting: Object<Meeting>,
}

/// Like [`std::sync::BarrierWaitResult`].
pub struct BarrierWaitResult(bool);

impl Barrier {
    /// A barrier for `n` threads.
    #[must_use]
    #[track_caller]
    pub const fn new(n: usize) -> Self {
        Self { meeting: Object::new(Meeting { size: n, arrived: 0, generation: 0 }) }
    }

    /// Waits until all threads have arrived.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let arrived = self.meeting.step(MeetingOp::Arrive);
        if !arrived.leader {
            // Not a scheduling point: once all are there, to pass changes nothing and cannot be
            // undone, so it commutes with whatever the others do.
            self.meeting.wait(MeetingOp::Pass { generation: arrived.generation });
        }
        BarrierWaitResult(arrived.leader)
    }
}

impl BarrierWaitResult {
    /// Whether the caller is the one of its generation that was picked out.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Named for Barrier {
    fn named(mut self, name: &'static str) -> Self {
        self.meeting.set_name(name);
        self
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult").field("is_leader", &self.is_leader()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: TaskId = TaskId(0);
    const B: TaskId = TaskId(1);

    #[test]
    fn the_last_to_arrive_lets_all_pass_and_the_next_generation_begins() {
        let mut meeting = Meeting { size: 2, arrived: 0, generation: 0 };
        for generation in 0..3 {
            let first = meeting.apply(A, MeetingOp::Arrive, 0);
            assert_eq!(first, Arrived { leader: false, generation });
            assert!(!meeting.enabled(A, MeetingOp::Pass { generation }));
            let last = meeting.apply(B, MeetingOp::Arrive, 0);
            assert_eq!(last, Arrived { leader: true, generation });
            assert!(meeting.enabled(A, MeetingOp::Pass { generation }));
        }
    }

    #[test]
    fn a_barrier_for_none_or_one_stops_nobody() {
        for size in 0..2 {
            let mut meeting = Meeting { size, arrived: 0, generation: 0 };
            assert!(meeting.apply(A, MeetingOp::Arrive, 0).leader);
            assert!(meeting.apply(A, MeetingOp::Arrive, 0).leader);
        }
    }
}
