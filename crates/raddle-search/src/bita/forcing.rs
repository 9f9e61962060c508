//! Has an execution follow a partial schedule: a list of messages in the order in which they are to be received.
//!
//! Forcing only chooses among the options that there are, so whatever happens is an execution that the mailboxes
//! allow, and its decisions are an ordinary schedule. While the list is not empty an option is taken if it delivers
//! the message at its head, after as many steps of threads as there were in the execution of which the schedule was
//! made: in a queue it matters what has been sent. If none does, what is not a receive goes on: steps of threads, timers that were
//! cancelled; then answers, which no criterion counts; then what is ahead of the head in its lane. Every other
//! message is held, named or not.
//!
//! If nothing of this is left, or what would be delivered is named further down, or nothing has been received for
//! [`PATIENCE`] steps, the schedule is *infeasible* here: it is released, and the execution goes on freely.

use std::collections::BTreeSet;

use raddle_engine::receive::{Content, Order, Receive};
use raddle_engine::strategy::{Event, Options, Point};
use serde::{Deserialize, Serialize};

use crate::receives::Received;
use crate::receives::is_free;
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

/// An execution on its way along a partial schedule.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forcing {
    wanted: Vec<Wanted>,
    named: BTreeSet<u64>,
    next: usize,
    released: bool,
    /// Values that the running step has asked for.
    asked: usize,
    /// Steps of threads so far.
    thread_steps: u32,
    idle: u32,
}

impl Forcing {
    pub(crate) fn new(wanted: Vec<Wanted>) -> Self {
        let named = wanted.iter().map(|wanted| wanted.message).collect();
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
                let delivery =
                    |choice: &raddle_engine::strategy::Choice| point.pending.delivery(choice.task);
                let deliveries: Vec<_> = choices.iter().map(delivery).collect();
                let option = self.option(&head, &deliveries, rng);
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
    fn option(&self, head: &Wanted, deliveries: &[Option<Receive>], rng: &mut Rng) -> Option<u32> {
        let is_head = |receive: &Option<Receive>| {
            receive.is_some_and(|receive| receive.message == head.message)
        };
        let fitting = |fits: &dyn Fn(&Option<Receive>) -> bool| -> Vec<u32> {
            (0..).zip(deliveries).filter(|(_, receive)| fits(receive)).map(|(at, _)| at).collect()
        };
        let mut drawn = |options: Vec<u32>| {
            (!options.is_empty()).then(|| options[rng.below(options.len() as u32) as usize])
        };
        if self.thread_steps < head.thread_steps
            && let Some(thread) = drawn(fitting(&Option::is_none))
        {
            return Some(thread);
        }
        if let Some(at) = deliveries.iter().position(is_head) {
            return Some(at as u32);
        }
        if let Some(free) = drawn(fitting(&|receive| is_free(receive.as_ref()))) {
            return Some(free);
        }
        let unnamed = |receive: &&Receive| !self.named.contains(&receive.message);
        let answers = fitting(&|receive| {
            let receive = receive.as_ref().filter(unnamed);
            receive.is_some_and(|receive| receive.content == Content::Answer)
        });
        let ahead = || {
            fitting(&|receive| {
                receive.as_ref().filter(unnamed).is_some_and(|receive| match receive.order {
                    Order::Pairs => {
                        (receive.sender, receive.receiver) == (head.sender, head.receiver)
                    }
                    Order::Queue => receive.receiver == head.receiver,
                    _ => false,
                })
            })
        };
        answers.first().copied().or_else(|| ahead().first().copied())
    }

    /// Something happened; what was received, if it was a receive.
    pub(crate) fn heard(&mut self, event: &Event<'_>, received: Option<&Received>) {
        let Event::Step(step) = event else { return };
        self.thread_steps += u32::from(received.is_none() && step.effects().is_none());
        self.asked = 0;
        let Some(head) = self.head().map(|head| head.message) else { return };
        self.idle += 1;
        match received {
            Some(received) if received.message == head => {
                self.next += 1;
                self.idle = 0;
            }
            // There was no other option.
            Some(received) if self.named.contains(&received.message) => {
                let is_left = |wanted: &Wanted| wanted.message == received.message;
                self.released = self.wanted[self.next..].iter().any(is_left);
            }
            _ => self.released = self.idle > PATIENCE,
        }
    }
}
