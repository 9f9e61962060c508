//! What a strategy and an observer see of messages: the receive that an option would be, and what it did.
//!
//! Identities are those of Bita (Tasharofi, Pradel, Lin and Johnson, ASE 2013), equal in every execution and
//! process: an actor is a hash of (its type, the receive that created it, how many that one had created
//! before), a message a hash of (its type, the receive that sent it, how many that one had sent before), and a
//! receive is (sender, receiver, message). The entry point, which is the test, is receive 0.
//!
//! Nothing of this is made unless a strategy or an observer asks for it ([`Needs::messages`]).
//!
//! [`Needs::messages`]: crate::strategy::Needs::messages

use raddle_trace::hash::mix;

use crate::op::{ObjectId, TaskId};

/// What is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content {
    /// A message that was sent.
    Message,
    /// The answer to a question: it follows the message that asked.
    Answer,
    /// The message of a timer, from an artificial actor beside the one whose timer it is.
    Timer,
    /// A fault from outside: an actor crashes, or none does.
    Crash,
    /// An actor that has crashed comes back.
    Restart,
    /// Nothing: a timer that was cancelled.
    Nothing,
}

/// Which order of messages is promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// Those from one sender to one receiver stay in order.
    Pairs,
    /// Those to one receiver are received in the order in which they were sent.
    Queue,
    /// None.
    Unordered,
}

/// A receive: one that an option would be, one that happened, or one that a message which was sent is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receive {
    /// The identity of the message.
    pub message: u64,
    /// The identity of the actor that sent it; 0: the test.
    pub sender: u64,
    /// The identity of the actor that it is for; 0: not known before it happens, as of a crash.
    pub receiver: u64,
    /// What it is.
    pub content: Content,
    /// The type of the message.
    pub type_name: &'static str,
    /// The receive that sent it, as [`Receive::identity`]; 0 if the test did.
    pub sent_in: u64,
    /// How many messages that one had sent before.
    pub nth: u32,
    /// How many receives of its system had happened when it was sent.
    pub sent_after: u32,
    /// So many receives of its system, the first ones, had to happen before it was sent: the test waited until
    /// nothing was left.
    pub settled: u32,
    /// The receive whose answer the test had waited for before it sent this; 0: none.
    pub answered_by: u64,
    /// Of a question and of its answer: which one; 0: neither.
    pub ask: u64,
    /// What is promised of the order at the receiver.
    pub order: Order,
    /// The system of actors that it is in: a number for each of an execution.
    pub system: u32,
}

impl Receive {
    /// What it is in every execution: a hash of (sender, receiver, message).
    #[must_use]
    pub fn identity(&self) -> u64 {
        mix(self.message ^ mix(self.receiver ^ mix(self.sender)))
    }
}

/// An actor that a step made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewActor {
    /// Its identity.
    pub actor: u64,
    /// Its type.
    pub type_name: &'static str,
}

/// Something that was done to an actor, as strategies with [`Needs::on_host`](crate::strategy::Needs::on_host) hear of
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActorNews {
    /// Who did it: a thread of the test, or the lane whose message is being handled.
    pub by: TaskId,
    /// The actor, as an object.
    pub actor: ObjectId,
    /// The actor's identity.
    pub identity: u64,
    /// What was done.
    pub what: Done,
}

/// What was done to an actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Done {
    /// It was created.
    Created,
    /// A thread of the test sent it a message. What a handler sends is in [`Effects::sent`].
    Sent,
}

/// What became of what was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reception {
    /// It was handled.
    Handled,
    /// Its receiver is down or has stopped, so it went nowhere.
    Dropped,
    /// It was lost on the way: a fault.
    Lost,
}

/// What a receive did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effects {
    /// Which one it was.
    pub receive: Receive,
    /// What became of it.
    pub reception: Reception,
    /// What it sent, to whom, in order: messages, answers, timers.
    pub sent: Vec<Receive>,
    /// The actors that it created, in order.
    pub created: Vec<NewActor>,
    /// Its receiver has another behaviour from now on: it became another, crashed or came back.
    pub became: bool,
    /// Its receiver handles nothing any more.
    pub stopped: bool,
    /// It answered the test, or a thread of it.
    pub answered_test: bool,
}

/// How a person calls a receive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiveName {
    /// The receiver.
    pub receiver: String,
    /// The sender.
    pub sender: String,
    /// The message, as it is written.
    pub message: String,
}
