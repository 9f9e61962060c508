//! What may go wrong in a system, and how much of it is left to come.
//!
//! [`Faults`] is taken apart without `..` wherever its parts matter, so that a new kind of fault is a
//! compile error in each of these places.
//!
//! # Why: Faults and reduction
//! A loss or a duplicate is a value of the step that delivers the message, and touches what that touches; a crash
//! touches its victim, and how many actors there are, because victims are numbered. The victim is a value, and values of a step
//! that is moved are tried anew, so a crash begins executions in vain: 2^(n - 1) (3 n + 2) for 3 n + 1 traces of n actors
//! with a message each. A budget is touched by nothing: which
//! of two messages is lost is no order of the two. Why that is sound: let T be a trace with at most k losses. Wherever
//! a reduction argues with T, it argues with steps of T, with the values that they have there, so with no more losses
//! than T has; and a step that sleeps was tried with at least as much left. Three things were needed. A step that is
//! not asked because nothing is left must be the step that was asked and nothing went wrong (`Event::Unasked`), or traces
//! that are the same differ. A branch of a wakeup tree that spends something does not stand for sequences without its
//! step, since what it spends may be what they need (`Decided::spent`). And races of the repeated part are looked at
//! again: without that `dpor(source)` lost 17 of 84 traces of a program in which the timer of one actor woke the message
//! of another that might have been lost (seed 10,991 of the comparison). A delivery that may be lost and may be
//! handled twice asks two questions, each with a budget of its own. With one question for both, an option would mean one or
//! the other by what is left. With Eta's reduction and any fault all steps depend on each other: a good sibling may be
//! lost instead.

/// What may go wrong, and how often. Each is a decision of the search.
///
/// A reduction takes a fault for a step of its actor: a loss and a duplicate of the one that the message was sent to, a
/// crash of the one that crashes. Eta's leaves out nothing with any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Faults {
    /// How many messages may be lost.
    pub losses: u32,
    /// How many messages may be handled twice.
    pub duplicates: u32,
    /// How many times an actor may crash. It loses its state and its timers; what is delivered while it
    /// is down is lost. What it comes back with is [`Actor::restart`](crate::Actor::restart).
    pub crashes: u32,
    /// How many timers of one actor may fire; `None`: all. With timers that are set again and again a
    /// test would not end otherwise.
    pub timers: Option<u32>,
}

impl Faults {
    /// Whether something may go wrong at all. A limit on timers is none.
    #[cfg(feature = "check")]
    pub(crate) fn may_happen(self) -> bool {
        let Self { losses, duplicates, crashes, timers: _ } = self;
        losses + duplicates + crashes > 0
    }

    /// The faults of messages that may happen.
    pub(crate) fn of_messages(self) -> MessageFaults {
        let Self { losses, duplicates, crashes: _, timers: _ } = self;
        MessageFaults { losses, duplicates }
    }
}

/// The faults of messages that are left to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageFaults {
    pub(crate) losses: u32,
    pub(crate) duplicates: u32,
}

/// What goes wrong with one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageFault {
    Loss,
    Duplicate,
}

impl MessageFault {
    /// In the order in which a delivery asks for them, each by a question of its own.
    pub(crate) const ALL: [Self; 2] = [Self::Loss, Self::Duplicate];
}

impl MessageFaults {
    /// Whether this fault may happen.
    #[inline]
    pub(crate) fn include(self, fault: MessageFault) -> bool {
        let Self { losses, duplicates } = self;
        match fault {
            MessageFault::Loss => losses > 0,
            MessageFault::Duplicate => duplicates > 0,
        }
    }

    /// Takes one fault of this kind, which is left.
    pub(crate) fn spend(&mut self, fault: MessageFault) {
        match fault {
            MessageFault::Loss => self.losses -= 1,
            MessageFault::Duplicate => self.duplicates -= 1,
        }
    }
}
