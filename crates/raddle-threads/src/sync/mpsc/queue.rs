//! A channel with room: values wait in it.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use raddle_engine::receive::Carried;

use super::values::Parcel;
use super::{Reply, Senders, ends, show};
use crate::prelude::*;

#[derive(Debug)]
pub(super) struct Queue {
    values: VecDeque<Parcel>,
    bound: Option<usize>,
    /// How many values have been taken.
    taken: usize,
    senders: Senders,
    receiver: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum QueueOp {
    Send(Parcel),
    TrySend(Parcel),
    Recv,
    TryRecv,
    DropSender,
    DropReceiver,
}

impl Queue {
    pub(super) fn new(bound: Option<usize>, senders: Senders) -> Self {
        Self { values: VecDeque::new(), bound, taken: 0, senders, receiver: true }
    }

    fn places(&self) -> Option<u32> {
        self.bound.map(|bound| u32::try_from(bound).unwrap_or(u32::MAX))
    }

    fn full(&self) -> bool {
        self.bound.is_some_and(|bound| self.values.len() >= bound)
    }

    /// Under which key the value at a place of the queue is passed on: its own, or that of its slot
    /// if there is a bound, since then a send also follows the receive that made room for it.
    fn key(&self, place: usize, parcel: Parcel) -> u32 {
        self.bound.map_or(parcel.ticket.0, |bound| (self.taken.wrapping_add(place) % bound) as u32)
    }

    fn ended(&self) -> bool {
        self.senders.load(Ordering::Relaxed) == 0
    }
}

impl Model for Queue {
    type Op = QueueOp;
    type Reply = Reply;
    const KIND: &'static str = "channel";
    const CARRIES: bool = true;

    fn enabled(&self, _: TaskId, op: QueueOp) -> bool {
        match op {
            QueueOp::Send(_) => !self.receiver || !self.full(),
            QueueOp::Recv => !self.values.is_empty() || self.ended(),
            _ => true,
        }
    }

    // A send and a receive on a queue that is not empty commute: an append and a take, one of each
    // for every value, so that a receive is known to follow its send.
    //
    // A sender is a share of the channel, and the receive that finds none left has it alone. The
    // receiver that is dropped lets those go on who wait for room.
    fn access(&self, _: TaskId, op: QueueOp) -> Access {
        match op {
            QueueOp::Send(_) if !self.receiver => Access::PassGate,
            QueueOp::TrySend(_) if !self.receiver => Access::FailedUpdate,
            QueueOp::TrySend(_) if self.full() => Access::Refused,
            QueueOp::TryRecv if self.values.is_empty() => Access::FailedUpdate,
            QueueOp::Recv if self.values.is_empty() && self.ended() => Access::Acquire,
            QueueOp::DropSender => Access::Unshare,
            QueueOp::DropReceiver if self.full() => Access::Release,
            QueueOp::DropReceiver => Access::Write,
            QueueOp::Send(_) => self.places().map_or(Access::Append, Access::BoundedPush),
            QueueOp::TrySend(_) => self.places().map_or(Access::Append, Access::TryBoundedPush),
            QueueOp::Recv => Access::Take,
            QueueOp::TryRecv => Access::TryTake,
        }
    }

    fn synchronise(&self, _: TaskId, op: QueueOp, _: u32, edges: &mut Edges<'_>) {
        match op {
            QueueOp::Send(_) | QueueOp::TrySend(_) if !self.receiver => {
                edges.acquire(ends::RECEIVER);
            }
            QueueOp::TrySend(_) if self.full() => {}
            QueueOp::Send(parcel) | QueueOp::TrySend(parcel) => {
                let key = self.key(self.values.len(), parcel);
                if self.bound.is_some() {
                    edges.acquire(key);
                }
                edges.publish(key);
            }
            QueueOp::Recv | QueueOp::TryRecv => match self.values.front() {
                Some(&parcel) => {
                    let key = self.key(0, parcel);
                    edges.acquire(key);
                    if self.bound.is_some() {
                        edges.publish(key);
                    }
                }
                None if self.ended() => edges.acquire(ends::SENDER),
                None => {}
            },
            // To those who receive, and not to another sender that is dropped: drops commute.
            QueueOp::DropSender => edges.release(ends::SENDER),
            QueueOp::DropReceiver => {
                for (place, &parcel) in self.values.iter().enumerate() {
                    edges.acquire(self.key(place, parcel));
                }
                edges.release(ends::RECEIVER);
            }
        }
    }

    fn carried(&self, _: TaskId, op: QueueOp) -> Option<Carried> {
        match op {
            QueueOp::Send(_) | QueueOp::TrySend(_) if !self.receiver => None,
            QueueOp::TrySend(_) if self.full() => None,
            QueueOp::Send(parcel) | QueueOp::TrySend(parcel) => parcel.letter.sends(),
            QueueOp::Recv | QueueOp::TryRecv => self.values.front()?.letter.receives(),
            QueueOp::DropSender | QueueOp::DropReceiver => None,
        }
    }

    fn apply(&mut self, _: TaskId, op: QueueOp, _: u32) -> Reply {
        match op {
            // As in std a channel without a receiver is never full.
            QueueOp::Send(_) | QueueOp::TrySend(_) if !self.receiver => Reply::Disconnected,
            QueueOp::TrySend(_) if self.full() => Reply::Full,
            QueueOp::Send(parcel) | QueueOp::TrySend(parcel) => {
                self.values.push_back(parcel);
                Reply::Done
            }
            QueueOp::Recv | QueueOp::TryRecv => match self.values.pop_front() {
                Some(parcel) => {
                    self.taken = self.taken.wrapping_add(1);
                    Reply::Got(parcel)
                }
                None if self.ended() => Reply::Disconnected,
                None => Reply::Empty,
            },
            QueueOp::DropSender => {
                self.senders.fetch_sub(1, Ordering::Relaxed);
                Reply::Done
            }
            QueueOp::DropReceiver => {
                self.receiver = false;
                Reply::Left(self.values.drain(..).collect())
            }
        }
    }

    // The values stay, and so do the ends: a program that keeps a channel over executions is told
    // when it matters.
    fn reset(&mut self) {
        self.values.iter_mut().for_each(Parcel::forget);
    }

    fn show(op: QueueOp, reply: Option<&Reply>) -> String {
        let name = match op {
            QueueOp::Send(_) => "send",
            QueueOp::TrySend(_) => "try_send",
            QueueOp::Recv => "recv",
            QueueOp::TryRecv => "try_recv",
            QueueOp::DropSender => return "drop sender".to_owned(),
            QueueOp::DropReceiver => return "drop receiver".to_owned(),
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
    const ONE: Parcel = Parcel { ticket: Ticket(1), letter: Letter::NONE };
    const TWO: Parcel = Parcel { ticket: Ticket(2), letter: Letter::NONE };

    fn queue(bound: Option<usize>) -> Queue {
        Queue::new(bound, Arc::new(AtomicUsize::new(1)))
    }

    #[test]
    fn values_come_in_the_order_of_their_sends() {
        let mut queue = queue(None);
        assert!(!queue.enabled(A, QueueOp::Recv));
        assert_eq!(queue.apply(A, QueueOp::TryRecv, 0), Reply::Empty);
        assert_eq!(queue.access(A, QueueOp::TryRecv), Access::FailedUpdate);
        assert_eq!(queue.access(A, QueueOp::Send(TWO)), Access::Append);
        queue.apply(A, QueueOp::Send(TWO), 0);
        queue.apply(A, QueueOp::Send(ONE), 0);
        assert_eq!(queue.access(A, QueueOp::Recv), Access::Take);
        assert_eq!(queue.apply(A, QueueOp::Recv, 0), Reply::Got(TWO));
        assert_eq!(queue.apply(A, QueueOp::TryRecv, 0), Reply::Got(ONE));
        assert!(!queue.enabled(A, QueueOp::Recv));
    }

    #[test]
    fn a_full_queue_blocks_until_there_is_room() {
        let mut queue = queue(Some(1));
        assert_eq!(queue.access(A, QueueOp::TrySend(ONE)), Access::TryBoundedPush(1));
        assert_eq!(queue.apply(A, QueueOp::TrySend(ONE), 0), Reply::Done);
        assert!(!queue.enabled(A, QueueOp::Send(TWO)));
        assert_eq!(queue.access(A, QueueOp::TrySend(TWO)), Access::Refused);
        assert_eq!(queue.apply(A, QueueOp::TrySend(TWO), 0), Reply::Full);
        queue.apply(A, QueueOp::Recv, 0);
        assert!(queue.enabled(A, QueueOp::Send(TWO)));
    }

    #[test]
    fn what_was_sent_is_received_after_the_last_sender_is_gone() {
        let mut queue = queue(None);
        queue.senders.fetch_add(1, Ordering::Relaxed);
        queue.apply(A, QueueOp::Send(ONE), 0);
        queue.apply(A, QueueOp::DropSender, 0);
        queue.apply(A, QueueOp::DropSender, 0);
        assert_eq!(queue.apply(A, QueueOp::Recv, 0), Reply::Got(ONE));
        assert!(queue.enabled(A, QueueOp::Recv));
        assert_eq!(queue.access(A, QueueOp::Recv), Access::Acquire);
        assert_eq!(queue.apply(A, QueueOp::Recv, 0), Reply::Disconnected);
        assert_eq!(queue.apply(A, QueueOp::TryRecv, 0), Reply::Disconnected);
    }

    #[test]
    fn a_receiver_takes_what_is_left_with_it_and_frees_blocked_senders() {
        let mut queue = queue(Some(1));
        queue.apply(A, QueueOp::Send(ONE), 0);
        assert_eq!(queue.apply(A, QueueOp::DropReceiver, 0), Reply::Left(vec![ONE]));
        assert!(queue.enabled(A, QueueOp::Send(TWO)));
        assert_eq!(queue.apply(A, QueueOp::Send(TWO), 0), Reply::Disconnected);
        assert_eq!(queue.apply(A, QueueOp::TrySend(TWO), 0), Reply::Disconnected);
    }
}
