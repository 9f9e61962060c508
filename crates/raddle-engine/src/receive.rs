//! What a strategy and an observer see of messages: the receive that an option would be, and what it did.
//!
//! Identities are those of Bita (Tasharofi, Pradel, Lin and Johnson, ASE 2013), equal in every execution and
//! process: an actor is a hash of (its type, the receive that created it, how many that one had created
//! before), a message a hash of (its type, the receive that sent it, how many that one had sent before), and a
//! receive is (sender, receiver, message). The entry point, which is the test, is receive 0.
//!
//! Receives on channels of threads are told in the same words. The receiver is then the receiving end of the
//! channel, made in a receive as an actor is; the sender is a thread; and what a thread does after it has received
//! a message, until it receives the next, is what that receive does. What a thread does before its first receive
//! is caused by the receive in which it was spawned.
//!
//! Nothing of this is made unless a strategy or an observer asks for it ([`Needs::messages`]).
//!
//! [`Needs::messages`]: crate::strategy::Needs::messages

use std::any::type_name;
use std::hash::{Hash, Hasher};
use std::mem::discriminant;
use std::panic::Location;

use raddle_trace::hash::{Fnv1a, mix};

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
    /// The end of a thread, as the thread hears of it that has joined it: an artificial message, the thread's last. It is
    /// received as soon as it can be.
    Exit,
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
    /// Those in one channel of threads are received in the order in which they were sent. To send is a step of a thread,
    /// which other steps may come before; with [`Order::Queue`] it is a part of the receive that sends.
    Channel,
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
    /// The receive that sent it, as [`Receive::identity`]; 0 if the test did. Of a thread that has received nothing: the
    /// receive in which it was spawned.
    pub sent_in: u64,
    /// How many messages that one had sent before; of a thread that has received nothing, how many the thread had.
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
    /// The system of actors that it is in: a number for each of an execution, and one for all channels.
    pub system: u32,
    /// Of a message that a thread sent, if another thread spawned it.
    pub spawned: Option<Spawned>,
}

/// Which thread spawned another, and when: what that one had sent before comes before what the other sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spawned {
    /// The identity of the thread that spawned it.
    pub by: u64,
    /// How many receives on channels had happened.
    pub after: u32,
    /// What [`Receive::nth`] would have been of a message that it had sent instead.
    pub nth: u32,
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
    /// Whose state it may have changed: the receiver, or of a channel the thread that received.
    pub by: u64,
    /// What it sent, to which receivers, in order: messages, answers, timers. A thread sends later, in steps of its own
    /// ([`Step::sent`](crate::strategy::Step::sent)).
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

/// A message in a channel of threads: a number in its execution. A [model](crate::Model) that carries messages keeps it
/// beside the value and knows nothing else of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Letter(u32);

impl Letter {
    /// Of a message that is not observed.
    pub const NONE: Self = Self(u32::MAX);

    pub(crate) fn new(number: usize) -> Self {
        Self(number as u32)
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// An op that sends it.
    #[must_use]
    pub fn sends(self) -> Option<Carried> {
        (self != Self::NONE).then_some(Carried::Sends(self))
    }

    /// An op that receives it.
    #[must_use]
    pub fn receives(self) -> Option<Carried> {
        (self != Self::NONE).then_some(Carried::Receives(self))
    }
}

/// What an op on a channel does with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// The message is in the channel from now on.
    Sends(Letter),
    /// The message is received.
    Receives(Letter),
}

/// What a thread is about to send, for [`rt::stamp`](crate::rt::stamp).
#[derive(Clone, Copy, Debug)]
pub struct Posting {
    /// The channel's identity, from [`rt::mailbox`](crate::rt::mailbox).
    pub receiver: u64,
    /// What the channel is called, if it has a name.
    pub name: Option<&'static str>,
    /// Where it was made.
    pub created: &'static Location<'static>,
    /// The type of the message.
    pub type_name: &'static str,
    /// See [`type_hash`].
    pub type_hash: u64,
    /// Where it is sent.
    pub site: &'static Location<'static>,
}

/// The identity of the `nth` thing of a type that a receive makes or sends.
#[must_use]
pub(crate) fn identity(type_hash: u64, receive: u64, nth: u32) -> u64 {
    mix(type_hash ^ mix(receive ^ mix(u64::from(nth) + 1)))
}

/// The type of a value as a number, the same in every process: of an enum also the variant, because a message of another
/// variant is one of another class in an actor language.
#[must_use]
pub fn type_hash<T>(value: &T) -> u64 {
    struct Bytes(Fnv1a);
    impl Hasher for Bytes {
        fn finish(&self) -> u64 {
            self.0.value()
        }
        fn write(&mut self, bytes: &[u8]) {
            self.0.add(bytes);
        }
    }
    let mut hasher = Bytes(Fnv1a::new());
    type_name::<T>().hash(&mut hasher);
    discriminant(value).hash(&mut hasher);
    hasher.finish()
}
