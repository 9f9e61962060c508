//! The receives of one execution, in order: a schedule in the sense of Bita.

use raddle_engine::receive::{Content, Effects, Order, Receive, ReceiveName, Reception};
use raddle_engine::strategy::{Event, Step, Taken};
use serde::{Deserialize, Serialize};

/// One receive that happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// What it is in every execution.
    pub identity: u64,
    /// The message.
    pub message: u64,
    /// Who sent it.
    pub sender: u64,
    /// Who received it: an actor, or a channel of threads.
    pub receiver: u64,
    /// Whose state it may have changed: the actor, or the thread that received from the channel.
    pub by: u64,
    /// The receive that sent the message; 0 if the test did.
    pub sent_in: u64,
    /// How many messages that one had sent before.
    pub nth: u32,
    /// See [`Receive::sent_after`].
    pub sent_after: u32,
    /// See [`Receive::settled`].
    pub settled: u32,
    /// See [`Receive::answered_by`].
    pub answered_by: u64,
    /// The system of actors.
    pub system: u32,
    /// Which order is promised at the receiver.
    pub order: MailboxOrder,
    /// Whether the criteria count it: an asynchronous receive.
    pub counted: bool,
    /// Whether it may pass while a schedule is forced: an answer.
    pub passes: bool,
    /// Whether it changed the behaviour of its receiver.
    pub became: bool,
    /// Of a message that a thread sent, if another one spawned that: which, and where that was among what it sent.
    pub spawned: Option<(u64, (u32, u32))>,
    /// The actors that it created.
    pub created: Vec<u64>,
    /// The values that were decided in it.
    pub values: Vec<u32>,
    /// How many decisions of its execution led up to it, its own among them.
    pub decisions: u32,
    /// How many steps of threads there were before it.
    pub thread_steps: u32,
}

/// As the engine's [`Order`], for files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MailboxOrder {
    /// Between each two actors.
    Pairs,
    /// As messages were sent.
    Queue,
    /// None.
    #[default]
    Unordered,
    /// A channel of threads: as messages were sent, and each send is a step of its own.
    Channel,
}

impl Received {
    /// When its sender sent it, among all that it has sent into channels: between two sends there was a receive, or both
    /// belong to the same.
    pub(crate) fn sent_at(&self) -> (u32, u32) {
        (self.sent_after, self.nth)
    }

    /// Whether a schedule can ask for it. That a thread has ended is received as soon as it can be.
    pub(crate) fn can_be_held(&self) -> bool {
        self.counted || self.order != MailboxOrder::Channel
    }

    fn new(effects: &Effects, values: Vec<u32>) -> Self {
        let &Effects { ref receive, reception, became, .. } = effects;
        let order = match receive.order {
            Order::Pairs => MailboxOrder::Pairs,
            Order::Queue => MailboxOrder::Queue,
            Order::Channel => MailboxOrder::Channel,
            _ => MailboxOrder::Unordered,
        };
        let asynchronous = matches!(receive.content, Content::Message | Content::Timer);
        Self {
            identity: receive.identity(),
            message: receive.message,
            sender: receive.sender,
            receiver: receive.receiver,
            by: effects.by,
            sent_in: receive.sent_in,
            nth: receive.nth,
            sent_after: receive.sent_after,
            settled: receive.settled,
            answered_by: receive.answered_by,
            system: receive.system,
            order,
            counted: asynchronous && reception != Reception::Lost,
            passes: receive.content == Content::Answer,
            became,
            spawned: receive.spawned.map(|spawned| (spawned.by, (spawned.after, spawned.nth))),
            created: effects.created.iter().map(|actor| actor.actor).collect(),
            values,
            decisions: 0,
            thread_steps: 0,
        }
    }
}

/// The receives of one execution.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// In order.
    pub received: Vec<Received>,
    /// The options that were taken, if they are known: the execution can be repeated with them.
    pub decisions: Vec<u32>,
}

/// Collects the receives of the execution that runs.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    run: Run,
    values: Vec<u32>,
    decisions: u32,
    thread_steps: u32,
}

impl Recording {
    /// An execution begins.
    pub fn begin(&mut self) {
        self.run.received.clear();
        self.run.decisions.clear();
        self.values.clear();
        (self.decisions, self.thread_steps) = (0, 0);
    }

    /// Something happened. Returns the receive, if it was one.
    pub fn event<'a>(&mut self, event: &Event<'a>) -> Option<(&Received, Step<'a>)> {
        match event {
            Event::Value { taken, during, .. } => {
                self.decisions += 1;
                if *during {
                    self.values.push(taken.option);
                }
            }
            Event::Step(step) => {
                self.decisions += u32::from(step.point.is_some());
                let values = std::mem::take(&mut self.values);
                let Some(effects) = step.effects() else {
                    self.thread_steps += 1;
                    return None;
                };
                if effects.receive.content == Content::Nothing {
                    return None;
                }
                let mut received = Received::new(&effects, values);
                (received.decisions, received.thread_steps) = (self.decisions, self.thread_steps);
                self.run.received.push(received);
                return self.run.received.last().map(|received| (received, *step));
            }
            Event::Spawn { .. }
            | Event::Unasked { .. }
            | Event::Passed { .. }
            | Event::Actor(_) => {}
        }
        None
    }

    /// The execution has ended, with these decisions.
    pub(crate) fn end(&mut self, decisions: &[Taken]) {
        if decisions.len() == self.decisions as usize {
            self.run.decisions.extend(decisions.iter().map(|taken| taken.option));
        }
    }

    /// What was received so far.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.run
    }
}

/// A receive as a person calls it, without its receiver.
pub(crate) fn named(name: &ReceiveName) -> String {
    const MAX_CHARACTERS: usize = 80;
    let ReceiveName { sender, message, .. } = name;
    let end = message.char_indices().nth(MAX_CHARACTERS).map(|(at, _)| at);
    let (message, rest) = end.map_or((message.as_str(), ""), |end| (&message[..end], "…"));
    format!("{message}{rest} from {sender}")
}

/// Whether an option is one that passes while a schedule is forced, whatever its head.
pub(crate) fn is_free(delivery: Option<&Receive>) -> bool {
    delivery.is_none_or(|receive| receive.content == Content::Nothing)
}
