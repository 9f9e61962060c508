//! The messages of a state that wait to be handled.

use std::collections::VecDeque;
use std::rc::Rc;

use super::Snapshot;
use crate::address::ActorId;
use crate::hash::mix;
use crate::mailboxes::{LaneKey, Mailboxes, Sender};
use crate::turn::Payload;

/// A message that states share.
pub(crate) struct SharedMessage {
    pub(crate) payload: Payload,
    pub(crate) hash: u64,
}

/// A message and its age: how many had been sent before it.
pub(crate) type Aged = (Rc<SharedMessage>, u32);

#[derive(Clone)]
enum Queue {
    One(Rc<SharedMessage>, u32),
    Many(Rc<VecDeque<Aged>>),
}

/// Messages that are delivered in order. Never empty.
#[derive(Clone)]
pub(crate) struct Lane {
    /// The index of an actor, or [`OUTSIDE`], or [`ANYBODY`].
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Its part of the fingerprint.
    pub(crate) hash: u64,
    queue: Queue,
}

pub(crate) const OUTSIDE: u32 = u32::MAX;
pub(crate) const ANYBODY: u32 = u32::MAX - 1;

/// A sender as a number. Threads of the test are one sender: a model has none.
#[inline]
fn number(from: Sender) -> u32 {
    match from {
        Sender::Outside(_) => OUTSIDE,
        Sender::Actor(actor) => actor.0,
        Sender::Anybody => ANYBODY,
    }
}

#[inline]
fn sender(number: u32) -> Sender {
    match number {
        OUTSIDE => Sender::Outside(0),
        ANYBODY => Sender::Anybody,
        actor => Sender::Actor(ActorId(actor)),
    }
}

impl Lane {
    /// With these messages, of which there is at least one.
    pub(super) fn of(
        from: u32,
        to: u32,
        hash: u64,
        mut messages: impl ExactSizeIterator<Item = Aged>,
    ) -> Self {
        let queue = match (messages.len(), messages.next()) {
            (1, Some((message, age))) => Queue::One(message, age),
            (_, first) => Queue::Many(Rc::new(first.into_iter().chain(messages).collect())),
        };
        Self { from, to, hash, queue }
    }

    pub(crate) fn first(&self) -> &Rc<SharedMessage> {
        match &self.queue {
            Queue::One(message, _) => message,
            Queue::Many(messages) => &messages[0].0,
        }
    }

    /// How old its first message is.
    pub(crate) fn age(&self) -> u32 {
        match &self.queue {
            Queue::One(_, age) => *age,
            Queue::Many(messages) => messages[0].1,
        }
    }

    /// All of them, in order, with their ages.
    pub(crate) fn each(&self) -> impl ExactSizeIterator<Item = (&Rc<SharedMessage>, u32)> {
        (0..self.len()).map(|at| match &self.queue {
            Queue::One(message, age) => (message, *age),
            Queue::Many(messages) => (&messages[at].0, messages[at].1),
        })
    }

    pub(super) fn len(&self) -> usize {
        match &self.queue {
            Queue::One(..) => 1,
            Queue::Many(messages) => messages.len(),
        }
    }

    fn messages(&self) -> Rc<VecDeque<Aged>> {
        match &self.queue {
            Queue::One(message, age) => Rc::new(VecDeque::from([(Rc::clone(message), *age)])),
            Queue::Many(messages) => Rc::clone(messages),
        }
    }
}

impl Snapshot {
    /// The part of a lane in the fingerprint.
    fn lane_hash(&self, mailboxes: Mailboxes, lane: &Lane) -> u64 {
        let to = self.actors[lane.to as usize].state.path;
        let ends = if mailboxes.senders_matter() {
            let from = match lane.from {
                OUTSIDE => 5,
                ANYBODY => 7,
                actor => self.actors[actor as usize].state.path,
            };
            mix(from ^ mix(to))
        } else {
            mix(to ^ 29 << 40)
        };
        match &lane.queue {
            Queue::One(message, _) => mix(ends ^ message.hash),
            Queue::Many(messages) => {
                messages.iter().fold(ends, |hash, (one, _)| mix(hash ^ one.hash))
            }
        }
    }

    fn lane(&self, from: u32, to: u32) -> Option<usize> {
        self.lanes.iter().position(|lane| lane.from == from && lane.to == to)
    }

    fn add_lane(&mut self, mailboxes: Mailboxes, from: u32, to: u32, (message, age): Aged) {
        let mut lane = Lane { from, to, hash: 0, queue: Queue::One(message, age) };
        lane.hash = self.lane_hash(mailboxes, &lane);
        self.fingerprint = self.fingerprint.wrapping_add(lane.hash);
        self.lanes.push(lane);
    }

    /// Puts a message at the end of its lane.
    #[inline]
    pub(crate) fn push(
        &mut self,
        mailboxes: Mailboxes,
        from: Sender,
        to: u32,
        message: Rc<SharedMessage>,
    ) {
        let (from, at) = match mailboxes.lane(from) {
            LaneKey::Shared(from) => {
                let from = number(from);
                (from, self.lane(from, to))
            }
            LaneKey::Single(from) => (number(from), None),
        };
        let aged = (message, self.next_age());
        let Some(at) = at else { return self.add_lane(mailboxes, from, to, aged) };
        let mut messages = self.lanes[at].messages();
        Rc::make_mut(&mut messages).push_back(aged);
        self.set_queue(mailboxes, at, messages);
    }

    /// Puts a message to the front of the lane that it was taken from, as old as it was.
    pub(crate) fn push_first(
        &mut self,
        mailboxes: Mailboxes,
        from: Sender,
        to: u32,
        message: Aged,
    ) {
        let from = number(from);
        let Some(at) = self.lane(from, to) else {
            return self.add_lane(mailboxes, from, to, message);
        };
        let mut messages = self.lanes[at].messages();
        Rc::make_mut(&mut messages).push_front(message);
        self.set_queue(mailboxes, at, messages);
    }

    fn set_queue(&mut self, mailboxes: Mailboxes, at: usize, messages: Rc<VecDeque<Aged>>) {
        let queue = if messages.len() == 1 {
            let (message, age) = &messages[0];
            Queue::One(Rc::clone(message), *age)
        } else {
            Queue::Many(messages)
        };
        let (before, ends) = (self.lanes[at].hash, (self.lanes[at].from, self.lanes[at].to));
        let mut lane = Lane { from: ends.0, to: ends.1, hash: 0, queue };
        lane.hash = self.lane_hash(mailboxes, &lane);
        self.fingerprint = self.fingerprint.wrapping_sub(before).wrapping_add(lane.hash);
        self.lanes[at] = lane;
    }

    /// The age of what is sent next.
    #[inline]
    fn next_age(&mut self) -> u32 {
        self.sent += 1;
        self.sent - 1
    }

    /// Takes the first message of a lane, with its sender and its receiver.
    #[inline]
    pub(crate) fn pop(&mut self, mailboxes: Mailboxes, at: usize) -> (Sender, ActorId, Aged) {
        let (from, to) = (sender(self.lanes[at].from), ActorId(self.lanes[at].to));
        if let Queue::Many(_) = &self.lanes[at].queue {
            let mut messages = self.lanes[at].messages();
            let message = Rc::make_mut(&mut messages).pop_front();
            self.set_queue(mailboxes, at, messages);
            return (from, to, message.expect("a lane is never empty"));
        }
        let lane = self.lanes.swap_remove(at);
        self.fingerprint = self.fingerprint.wrapping_sub(lane.hash);
        (from, to, (Rc::clone(lane.first()), lane.age()))
    }
}
