//! The kinds of mailboxes.
//!
//! All that tells one kind from another is asked here, each question by a `match` without a wildcard:
//! a new kind is a variant, and the compiler names the questions that it has to answer.

use crate::address::ActorId;

/// In which order messages to one actor are handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mailboxes {
    /// Those of one sender in the order in which they were sent; those of different senders in any
    /// order. What Akka and Erlang promise, and all that a run on threads can do.
    #[default]
    Pairs,
    /// In the order in which they were sent, whichever sender they came from: one queue for each actor, as in Eta.
    ///
    /// `Misses:` a handler is one step, so no other sender's message comes between two messages that
    /// one handler sends to one actor, or before the first of them if it was sent later.
    Queue,
    /// In any order: a network that keeps none.
    Unordered,
}

/// The sender of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Sender {
    /// The test, or the thread of it that has this key.
    Outside(u64),
    Actor(ActorId),
    /// Of a lane whose messages have many senders.
    Anybody,
}

/// The lane that a message to an actor joins. Messages of one lane are handled in order; which lane of
/// an actor is next is decided by the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaneKey {
    /// One for all messages of this sender.
    Shared(Sender),
    /// One for this message alone, which has this sender.
    Single(Sender),
}

impl Mailboxes {
    /// The lane of a message from a sender.
    #[inline]
    pub(crate) fn lane(self, from: Sender) -> LaneKey {
        match self {
            Self::Pairs => LaneKey::Shared(from),
            Self::Queue => LaneKey::Shared(Sender::Anybody),
            Self::Unordered => LaneKey::Single(from),
        }
    }

    /// Whether two sends to one actor by different senders depend on each other: whether their order
    /// is the order in which the messages are handled.
    #[inline]
    pub(crate) fn sends_conflict(self) -> bool {
        match self {
            Self::Queue => true,
            Self::Pairs | Self::Unordered => false,
        }
    }

    /// Whether the sender of a waiting message is a part of the system's state. Where it is not, two
    /// states that differ in it alone are one, and so are the steps that deliver two equal messages.
    #[inline]
    #[cfg_attr(not(feature = "check"), expect(dead_code, reason = "only states ask"))]
    pub(crate) fn senders_matter(self) -> bool {
        match self {
            Self::Pairs | Self::Queue => true,
            Self::Unordered => false,
        }
    }
}
