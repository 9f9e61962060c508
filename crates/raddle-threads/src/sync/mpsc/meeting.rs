//! A channel without room: a sender and a receiver meet.
//!
//! The side that comes first makes itself known and waits; the second completes the exchange.
//! To make oneself known is a step of its own, because `try_send` and `try_recv` see it. Waiting
//! senders are served in the order in which they came, as in std.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use raddle_engine::receive::Carried;

use super::values::Parcel;
use super::{Reply, Senders, ends, show};
use crate::prelude::*;

#[derive(Debug)]
pub(super) struct Meeting {
    /// Senders that wait, in order, each at most once.
    offers: VecDeque<(TaskId, Parcel)>,
    /// Senders that waited when the receiver left, and have not heard of it.
    refused: Vec<TaskId>,
    receiver: Receiver,
    senders: Senders,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Receiver {
    Elsewhere,
    Waiting,
    /// It waited and was given this.
    Given(Parcel),
    Gone,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum MeetingOp {
    Send(Parcel),
    /// Waits for what comes of the sender's offer.
    Sent,
    TrySend(Parcel),
    Recv,
    /// Waits to be given a value.
    Received,
    TryRecv,
    DropSender,
    DropReceiver,
}

impl Meeting {
    pub(super) fn new(senders: Senders) -> Self {
        Self {
            offers: VecDeque::new(),
            refused: Vec::new(),
            receiver: Receiver::Elsewhere,
            senders,
        }
    }

    fn ended(&self) -> bool {
        self.senders.load(Ordering::Relaxed) == 0
    }

    fn send(&mut self, parcel: Parcel, otherwise: Reply) -> Reply {
        match self.receiver {
            Receiver::Waiting => {
                self.receiver = Receiver::Given(parcel);
                Reply::Done
            }
            Receiver::Gone => Reply::Disconnected,
            Receiver::Elsewhere | Receiver::Given(_) => otherwise,
        }
    }

    fn recv(&mut self, otherwise: Reply) -> Reply {
        match self.offers.pop_front() {
            Some((_, parcel)) => Reply::Got(parcel),
            None if self.ended() => Reply::Disconnected,
            None => otherwise,
        }
    }
}

impl Model for Meeting {
    type Op = MeetingOp;
    type Reply = Reply;
    const KIND: &'static str = "channel";
    const CARRIES: bool = true;

    fn enabled(&self, task: TaskId, op: MeetingOp) -> bool {
        match op {
            MeetingOp::Sent => self.offers.iter().all(|(sender, _)| *sender != task),
            MeetingOp::Received => self.receiver != Receiver::Waiting || self.ended(),
            _ => true,
        }
    }

    // Overreports: the drop of a sender that is not the last commutes with all but other drops.
    fn access(&self, _: TaskId, op: MeetingOp) -> Access {
        let waiting = self.receiver == Receiver::Waiting;
        match op {
            MeetingOp::Send(_) if self.receiver == Receiver::Gone => Access::FailedUpdate,
            MeetingOp::TrySend(_) if !waiting => Access::FailedUpdate,
            MeetingOp::Recv if self.offers.is_empty() && self.ended() => Access::FailedUpdate,
            MeetingOp::TryRecv if self.offers.is_empty() => Access::FailedUpdate,
            // Whose value was taken, or who was given one, is its own affair.
            MeetingOp::Sent | MeetingOp::Received => Access::Woken,
            _ => Access::Write,
        }
    }

    // The side that comes first leaves what it has done: a sender under its own number, the receiver under
    // one that no task has. The side that comes second takes that and leaves its own in its place.
    fn synchronise(&self, task: TaskId, op: MeetingOp, _: u32, edges: &mut Edges<'_>) {
        const WAITING: u32 = u32::MAX - 2;
        match op {
            MeetingOp::Send(_) | MeetingOp::TrySend(_) => match (self.receiver, op) {
                (Receiver::Waiting, _) => {
                    edges.acquire(WAITING);
                    edges.publish(WAITING);
                }
                (Receiver::Gone, _) => edges.acquire(ends::RECEIVER),
                (_, MeetingOp::Send(_)) => edges.publish(task.0),
                _ => {}
            },
            MeetingOp::Sent if self.refused.contains(&task) => edges.acquire(ends::RECEIVER),
            MeetingOp::Sent => edges.acquire(task.0),
            MeetingOp::Recv | MeetingOp::TryRecv => match (self.offers.front(), op) {
                (Some((sender, _)), _) => {
                    edges.acquire(sender.0);
                    edges.publish(sender.0);
                }
                (None, _) if self.ended() => edges.acquire(ends::SENDER),
                (None, MeetingOp::Recv) => edges.publish(WAITING),
                (None, _) => {}
            },
            MeetingOp::Received => match self.receiver {
                Receiver::Given(_) => edges.acquire(WAITING),
                _ => edges.acquire(ends::SENDER),
            },
            // As of a channel with room: nothing is promised between two senders.
            MeetingOp::DropSender => edges.release(ends::SENDER),
            MeetingOp::DropReceiver => edges.release(ends::RECEIVER),
        }
    }

    // A sender that comes first has its place in the order from then on, though it still waits.
    fn carried(&self, _: TaskId, op: MeetingOp) -> Option<Carried> {
        match op {
            MeetingOp::Send(_) if self.receiver == Receiver::Gone => None,
            MeetingOp::TrySend(_) if self.receiver != Receiver::Waiting => None,
            MeetingOp::Send(parcel) | MeetingOp::TrySend(parcel) => parcel.letter.sends(),
            MeetingOp::Recv | MeetingOp::TryRecv => self.offers.front()?.1.letter.receives(),
            MeetingOp::Received => match self.receiver {
                Receiver::Given(parcel) => parcel.letter.receives(),
                _ => None,
            },
            MeetingOp::Sent | MeetingOp::DropSender | MeetingOp::DropReceiver => None,
        }
    }

    fn apply(&mut self, task: TaskId, op: MeetingOp, _: u32) -> Reply {
        match op {
            MeetingOp::Send(parcel) => {
                let reply = self.send(parcel, Reply::Waits);
                if reply == Reply::Waits {
                    self.offers.push_back((task, parcel));
                }
                reply
            }
            MeetingOp::Sent => match self.refused.iter().position(|sender| *sender == task) {
                Some(at) => {
                    self.refused.swap_remove(at);
                    Reply::Disconnected
                }
                None => Reply::Done,
            },
            MeetingOp::TrySend(parcel) => self.send(parcel, Reply::Full),
            MeetingOp::Recv => {
                let reply = self.recv(Reply::Waits);
                if reply == Reply::Waits {
                    self.receiver = Receiver::Waiting;
                }
                reply
            }
            // What was given comes before the news that no sender is left.
            MeetingOp::Received => match std::mem::replace(&mut self.receiver, Receiver::Elsewhere)
            {
                Receiver::Given(parcel) => Reply::Got(parcel),
                _ => Reply::Disconnected,
            },
            MeetingOp::TryRecv => self.recv(Reply::Empty),
            MeetingOp::DropSender => {
                self.senders.fetch_sub(1, Ordering::Relaxed);
                Reply::Done
            }
            MeetingOp::DropReceiver => {
                self.receiver = Receiver::Gone;
                self.refused.extend(self.offers.drain(..).map(|(sender, _)| sender));
                Reply::Done
            }
        }
    }

    fn expire(&mut self, _: TaskId, op: MeetingOp) {
        if let MeetingOp::Received = op {
            self.receiver = Receiver::Elsewhere;
        }
    }

    // The task that waited is gone with its execution; the ends stay as they are.
    fn reset(&mut self) {
        self.offers.clear();
        self.refused.clear();
        if self.receiver != Receiver::Gone {
            self.receiver = Receiver::Elsewhere;
        }
    }

    fn show(op: MeetingOp, reply: Option<&Reply>) -> String {
        let name = match op {
            MeetingOp::Send(_) | MeetingOp::Sent => "send",
            MeetingOp::TrySend(_) => "try_send",
            MeetingOp::Recv | MeetingOp::Received => "recv",
            MeetingOp::TryRecv => "try_recv",
            MeetingOp::DropSender => return "drop sender".to_owned(),
            MeetingOp::DropReceiver => return "drop receiver".to_owned(),
        };
        show(name, reply)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use raddle_engine::receive::Letter;

    use super::super::values::Ticket;
    use super::*;

    const A: TaskId = TaskId(0);
    const B: TaskId = TaskId(1);
    const R: TaskId = TaskId(2);
    const ONE: Parcel = Parcel { ticket: Ticket(1), letter: Letter::NONE };
    const TWO: Parcel = Parcel { ticket: Ticket(2), letter: Letter::NONE };

    fn meeting() -> Meeting {
        Meeting::new(Arc::new(AtomicUsize::new(1)))
    }

    #[test]
    fn senders_wait_and_are_served_in_order() {
        let mut meeting = meeting();
        assert_eq!(meeting.apply(B, MeetingOp::Send(TWO), 0), Reply::Waits);
        assert_eq!(meeting.apply(A, MeetingOp::Send(ONE), 0), Reply::Waits);
        assert!(!meeting.enabled(A, MeetingOp::Sent));
        assert_eq!(meeting.apply(R, MeetingOp::Recv, 0), Reply::Got(TWO));
        assert!(meeting.enabled(B, MeetingOp::Sent) && !meeting.enabled(A, MeetingOp::Sent));
        assert_eq!(meeting.apply(B, MeetingOp::Sent, 0), Reply::Done);
        assert_eq!(meeting.apply(R, MeetingOp::TryRecv, 0), Reply::Got(ONE));
        assert_eq!(meeting.apply(R, MeetingOp::TryRecv, 0), Reply::Empty);
    }

    #[test]
    fn a_receiver_that_waits_is_given_one_value() {
        let mut meeting = meeting();
        assert_eq!(meeting.apply(A, MeetingOp::TrySend(ONE), 0), Reply::Full);
        assert_eq!(meeting.apply(R, MeetingOp::Recv, 0), Reply::Waits);
        assert!(!meeting.enabled(R, MeetingOp::Received));
        assert_eq!(meeting.apply(A, MeetingOp::TrySend(ONE), 0), Reply::Done);
        assert_eq!(meeting.apply(B, MeetingOp::TrySend(TWO), 0), Reply::Full);
        meeting.apply(A, MeetingOp::DropSender, 0);
        assert_eq!(meeting.apply(R, MeetingOp::Received, 0), Reply::Got(ONE));
        assert_eq!(meeting.apply(R, MeetingOp::Recv, 0), Reply::Disconnected);
    }

    #[test]
    fn whoever_waits_hears_that_the_other_side_is_gone() {
        let mut meeting = meeting();
        meeting.apply(R, MeetingOp::Recv, 0);
        meeting.apply(A, MeetingOp::DropSender, 0);
        assert!(meeting.enabled(R, MeetingOp::Received));
        assert_eq!(meeting.apply(R, MeetingOp::Received, 0), Reply::Disconnected);

        let mut meeting = self::meeting();
        meeting.apply(A, MeetingOp::Send(ONE), 0);
        meeting.apply(R, MeetingOp::DropReceiver, 0);
        assert!(meeting.enabled(A, MeetingOp::Sent));
        assert_eq!(meeting.apply(A, MeetingOp::Sent, 0), Reply::Disconnected);
        assert_eq!(meeting.apply(A, MeetingOp::Send(ONE), 0), Reply::Disconnected);
        assert_eq!(meeting.apply(A, MeetingOp::TrySend(ONE), 0), Reply::Disconnected);
    }

    #[test]
    fn a_receiver_whose_time_is_up_is_not_met() {
        let mut meeting = meeting();
        meeting.apply(R, MeetingOp::Recv, 0);
        assert!(meeting.may_expire(R, MeetingOp::Received));
        meeting.expire(R, MeetingOp::Received);
        assert_eq!(meeting.apply(A, MeetingOp::TrySend(ONE), 0), Reply::Full);
    }
}
