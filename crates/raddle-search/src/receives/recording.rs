//! The receives of one execution, in order: a schedule in the sense of Bita.

use raddle_engine::receive::{Content, Effects, Order, Receive, ReceiveName, Reception};
use raddle_engine::strategy::{Event, Step};
use serde::{Deserialize, Serialize};

/// One receive that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// What it is in every execution.
    pub identity: u64,
    /// The message.
    pub message: u64,
    /// Who sent it.
    pub sender: u64,
    /// Who received it.
    pub receiver: u64,
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
    /// The actors that it created.
    pub created: Vec<u64>,
    /// The values that were decided in it.
    pub values: Vec<u32>,
}

/// As the engine's [`Order`], for files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MailboxOrder {
    /// Between each two actors.
    Pairs,
    /// As messages were sent.
    Queue,
    /// None.
    Unordered,
}

impl Received {
    fn new(effects: &Effects, values: Vec<u32>) -> Self {
        let &Effects { ref receive, reception, became, .. } = effects;
        let order = match receive.order {
            Order::Pairs => MailboxOrder::Pairs,
            Order::Queue => MailboxOrder::Queue,
            _ => MailboxOrder::Unordered,
        };
        let asynchronous = matches!(receive.content, Content::Message | Content::Timer);
        Self {
            identity: receive.identity(),
            message: receive.message,
            sender: receive.sender,
            receiver: receive.receiver,
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
            created: effects.created.iter().map(|actor| actor.actor).collect(),
            values,
        }
    }
}

/// The receives of one execution.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// In order.
    pub received: Vec<Received>,
}

/// Collects the receives of the execution that runs.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    run: Run,
    values: Vec<u32>,
}

impl Recording {
    /// An execution begins.
    pub fn begin(&mut self) {
        self.run.received.clear();
        self.values.clear();
    }

    /// Something happened. Returns the receive, if it was one.
    pub fn event<'a>(&mut self, event: &Event<'a>) -> Option<(&Received, Step<'a>)> {
        match event {
            Event::Value { taken, during: true, .. } => self.values.push(taken.option),
            Event::Step(step) => {
                let values = std::mem::take(&mut self.values);
                let effects = step.effects()?;
                if effects.receive.content == Content::Nothing {
                    return None;
                }
                self.run.received.push(Received::new(&effects, values));
                return self.run.received.last().map(|received| (received, *step));
            }
            _ => {}
        }
        None
    }

    /// What was received so far.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.run
    }
}

/// A receive as a person calls it, without its receiver.
pub(crate) fn named(name: &ReceiveName) -> String {
    const MOST: usize = 80;
    let ReceiveName { sender, message, .. } = name;
    let end = message.char_indices().nth(MOST).map(|(at, _)| at);
    let (message, rest) = end.map_or((message.as_str(), ""), |end| (&message[..end], "…"));
    format!("{message}{rest} from {sender}")
}

/// Whether an option is one that passes while a schedule is forced, whatever its head.
pub(crate) fn is_free(delivery: Option<&Receive>) -> bool {
    delivery.is_none_or(|receive| receive.content == Content::Nothing)
}
