//! Has an execution follow a partial schedule: a list of messages in the order in which they are to be received.
//!
//! Forcing only chooses among the options that there are, so whatever happens is an execution that the mailboxes
//! allow, and its decisions are an ordinary schedule. While the list is not empty an option is taken if it delivers
//! the message at its head, after as many steps of threads as there were in the execution of which the schedule was
//! made: in a queue it matters what has been sent. If none does, what is not a receive goes on: steps of threads, timers that were
//! cancelled; then answers, which no criterion counts; then what is ahead of the head in its lane. Every other
//! message is held, named or not.
//!
//! In a channel of threads messages are received in the order in which they were sent, and a thread that is about to send
//! can be held there. So a send is let through if all messages are sent that the schedule has before it in the
//! same channel. A thread that is held does nothing else either, which an actor that has sent does; so where nothing else
//! is left, a thread receives from another channel what is next there, then what the schedule does not name; then it sends
//! what the schedule does not name. Messages are in their order if those of each channel are.
//!
//! If nothing of this is left, or what would be delivered is named further down, or nothing has been received for
//! [`PATIENCE`] steps, the schedule is *infeasible* here: it is released, and the execution goes on freely.

use std::collections::{BTreeMap, BTreeSet};

use raddle_engine::TaskId;
use raddle_engine::receive::{Content, Order, Receive};
use raddle_engine::strategy::{Choice, Event, Lane, Options, Pending, Point};
use raddle_trace::{PartialSchedule, ScheduledReceive};
use serde::{Deserialize, Serialize};

use crate::receives::{MailboxOrder, Received, is_free};
use crate::rng::Rng;

/// Steps without a receive after which a schedule is released: a thread that waits for a message by looking again
/// and again would look for ever.
const PATIENCE: u32 = 10_000;

/// A message of a partial schedule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Wanted {
    pub(crate) message: u64,
    /// Who sends it and who receives it; 0 if that is not known.
    pub(crate) sender: u64,
    pub(crate) receiver: u64,
    /// The values that are decided in its receive.
    pub(crate) values: Vec<u32>,
    /// How many steps threads have taken before, if they can.
    pub(crate) thread_steps: u32,
}

impl From<&Received> for Wanted {
    fn from(received: &Received) -> Self {
        let &Received { message, sender, receiver, ref values, .. } = received;
        Self { message, sender, receiver, values: values.clone(), thread_steps: 0 }
    }
}

impl Wanted {
    /// All messages of a schedule that was read.
    pub(crate) fn all(schedule: &PartialSchedule) -> Vec<Self> {
        let wanted = |receive: &ScheduledReceive| Self {
            message: receive.message.0,
            sender: receive.sender.0,
            receiver: receive.receiver.0,
            values: receive.values.clone(),
            thread_steps: 0,
        };
        schedule.receives.iter().map(wanted).collect()
    }
}

/// What an option is, to one who orders messages.
#[derive(Clone, Copy, Debug)]
enum Offer {
    /// A step of a thread that is neither a receive nor a send into a channel.
    Free,
    /// A timer that was cancelled.
    Lapsed,
    /// The time of a thread that waits is up.
    Timeout,
    Receive(Receive),
    Send(Receive),
}

impl Offer {
    fn new(pending: &dyn Pending, task: TaskId) -> Self {
        if let Some(receive) = pending.delivery(task) {
            return if is_free(Some(&receive)) { Self::Lapsed } else { Self::Receive(receive) };
        }
        match pending.sending(task) {
            Some(receive) => Self::Send(receive),
            None if pending.lane(task) == Lane::Timer => Self::Timeout,
            None => Self::Free,
        }
    }

    fn receive(&self) -> Option<&Receive> {
        if let Self::Receive(receive) = self { Some(receive) } else { None }
    }
}

/// An execution on its way along a partial schedule.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forcing {
    wanted: Vec<Wanted>,
    /// Where each message is in it.
    named: BTreeMap<u64, usize>,
    next: usize,
    /// What was received from channels before its turn.
    ahead: BTreeSet<usize>,
    /// Messages that were sent into channels.
    sent: BTreeSet<u64>,
    released: bool,
    /// Values that the running step has asked for.
    asked: usize,
    /// Steps of threads so far.
    thread_steps: u32,
    idle: u32,
}

impl Forcing {
    pub(crate) fn new(wanted: Vec<Wanted>) -> Self {
        let named = wanted.iter().zip(0..).map(|(wanted, at)| (wanted.message, at)).collect();
        Self { wanted, named, ..Self::default() }
    }

    /// The message that is to be received next.
    fn head(&self) -> Option<&Wanted> {
        self.wanted.get(self.next).filter(|_| !self.released)
    }

    /// How many messages were received as they are named, from the first; and whether that is all.
    pub(crate) fn followed(&self) -> (usize, bool) {
        (self.next, self.next == self.wanted.len())
    }

    /// Whether it was given up.
    pub(crate) fn is_released(&self) -> bool {
        self.released
    }

    /// Answers a question.
    pub(crate) fn decide(&mut self, point: &Point<'_>, rng: &mut Rng) -> u32 {
        let forced = match point.options {
            Options::Schedule(choices) => self.head().cloned().and_then(|head| {
                let offer = |choice: &Choice| Offer::new(point.pending, choice.task);
                let offers: Vec<_> = choices.iter().map(offer).collect();
                let option = self.option(&head, &offers, rng);
                self.released |= option.is_none();
                option
            }),
            Options::Value { of, during, .. } => {
                let head = self.head().filter(|_| during);
                let value = head.and_then(|head| head.values.get(self.asked)).copied();
                self.asked += usize::from(during);
                value.filter(|value| *value < of)
            }
        };
        forced.unwrap_or_else(|| rng.below(point.arity()))
    }

    /// Which option is next, while something is at the head.
    fn option(&self, head: &Wanted, offers: &[Offer], rng: &mut Rng) -> Option<u32> {
        let fitting = |fits: &dyn Fn(&Offer) -> bool| -> Vec<u32> {
            (0..).zip(offers).filter(|(_, offer)| fits(offer)).map(|(at, _)| at).collect()
        };
        let mut drawn = |options: Vec<u32>| {
            (!options.is_empty()).then(|| options[rng.below(options.len() as u32) as usize])
        };
        let of_thread = |offer: &Offer| match offer {
            Offer::Free => true,
            Offer::Send(sent) => self.may_send(sent),
            Offer::Lapsed | Offer::Timeout | Offer::Receive(_) => false,
        };
        if self.thread_steps < head.thread_steps
            && let Some(thread) = drawn(fitting(&of_thread))
        {
            return Some(thread);
        }
        let is_head =
            |offer: &Offer| offer.receive().is_some_and(|receive| receive.message == head.message);
        if let Some(at) = offers.iter().position(is_head) {
            return Some(at as u32);
        }
        let free = drawn(fitting(&|offer| matches!(offer, Offer::Lapsed) || of_thread(offer)));
        if let Some(free) =
            free.or_else(|| drawn(fitting(&|offer| matches!(offer, Offer::Timeout))))
        {
            return Some(free);
        }
        self.ways_out(head, offers)
    }

    /// What may pass where nothing else is left, so that the message at the head comes.
    fn ways_out(&self, head: &Wanted, offers: &[Offer]) -> Option<u32> {
        let first = |fits: &dyn Fn(&Offer) -> bool| offers.iter().position(fits);
        let unnamed = |receive: &&Receive| !self.named.contains_key(&receive.message);
        let answer = |offer: &Offer| {
            let receive = offer.receive().filter(unnamed);
            receive.is_some_and(|receive| receive.content == Content::Answer)
        };
        let ahead = |offer: &Offer| {
            offer.receive().filter(unnamed).is_some_and(|receive| match receive.order {
                Order::Pairs => (receive.sender, receive.receiver) == (head.sender, head.receiver),
                Order::Queue | Order::Channel => receive.receiver == head.receiver,
                _ => false,
            })
        };
        let from_channel = |offer: &Offer| {
            offer.receive().filter(|receive| receive.order == Order::Channel).copied()
        };
        let next_elsewhere = |offer: &Offer| {
            from_channel(offer).is_some_and(|receive| self.is_next(receive.message))
        };
        let unnamed_elsewhere =
            |offer: &Offer| from_channel(offer).is_some_and(|receive| unnamed(&&receive));
        let unnamed_send = |offer: &Offer| matches!(offer, Offer::Send(sent) if unnamed(&sent));
        let ways: [&dyn Fn(&Offer) -> bool; 5] =
            [&answer, &ahead, &next_elsewhere, &unnamed_elsewhere, &unnamed_send];
        ways.iter().find_map(|fits| first(fits)).map(|at| at as u32)
    }

    /// Messages that are to come before this one in its channel, or before what is not named, and were not received.
    fn left_before(&self, message: u64, receiver: u64) -> impl Iterator<Item = &Wanted> {
        let end = self.named.get(&message).copied().unwrap_or(self.wanted.len());
        let left = (self.next..end.max(self.next)).filter(|at| !self.ahead.contains(at));
        let in_channel =
            move |wanted: &&Wanted| wanted.receiver == receiver || wanted.receiver == 0;
        left.map(|at| &self.wanted[at]).filter(in_channel)
    }

    /// Whether a message may be put into its channel.
    fn may_send(&self, sent: &Receive) -> bool {
        self.left_before(sent.message, sent.receiver)
            .all(|before| self.sent.contains(&before.message))
    }

    /// Whether a message is named, was not received, and is the next of those of its channel.
    fn is_next(&self, message: u64) -> bool {
        let Some(&at) = self.named.get(&message) else { return false };
        let is_left = at >= self.next && !self.ahead.contains(&at);
        is_left && self.left_before(message, self.wanted[at].receiver).next().is_none()
    }

    /// Something happened; what was received, if it was a receive.
    pub(crate) fn heard(&mut self, event: &Event<'_>, received: Option<&Received>) {
        let Event::Step(step) = event else { return };
        self.thread_steps += u32::from(received.is_none() && step.effects().is_none());
        self.asked = 0;
        if self.head().is_none() {
            return;
        }
        self.idle += 1;
        let Some(received) = received else {
            self.sent.extend(step.sent().map(|sent| sent.message));
            self.released = self.idle > PATIENCE;
            return;
        };
        let is_head = self.wanted[self.next].message == received.message;
        let at = self.named.get(&received.message).copied();
        match at
            .map(|at| if is_head { self.next } else { at })
            .filter(|at| *at >= self.next && !self.ahead.contains(at))
        {
            Some(at) if at == self.next => {
                self.next += 1;
                while self.ahead.remove(&self.next) {
                    self.next += 1;
                }
                self.idle = 0;
            }
            Some(at)
                if received.order == MailboxOrder::Channel && self.is_next(received.message) =>
            {
                self.ahead.insert(at);
                self.idle = 0;
            }
            // There was no other option.
            Some(_) => self.released = true,
            None => self.released = self.idle > PATIENCE,
        }
    }
}
