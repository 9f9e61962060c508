//! What may go wrong in a system, and how much of it is left to come.
//!
//! [`Faults`] is taken apart without `..` wherever its parts matter, so that a new kind of fault is a
//! compile error in each of these places.
//!
//! # Why: Faults and reduction
//! A loss or a duplicate is a value of the step that delivers the message, and touches what that touches; a crash
//! touches its victim, and how many actors there are, because victims are numbered. A budget is touched by nothing: which
//! of two messages is lost is no order of the two. Why that is sound: let T be a trace with at most k losses. Wherever
//! a reduction argues with T, it argues with steps of T, with the values that they have there, so with no more losses
//! than T has; and a step that sleeps was tried with at least as much left. Three things were needed. A step that is
//! not asked because nothing is left must be the step that was asked and nothing went wrong (`Event::Unasked`), or traces
//! that are the same differ. A branch of a wakeup tree that spends something does not stand for sequences without its
//! step, since what it spends may be what they need (`Decided::spent`). And races of the repeated part are looked at
//! again: without that `dpor(source)` lost 17 of 84 traces of a program in which the timer of one actor woke the message
//! of another that might have been lost (seed 10,991 of the comparison). With losses *and* duplicates an option means one
//! or the other by what is left, so all steps depend on each other; with Eta's reduction and any fault, too: a good
//! sibling may be lost instead.

/// What may go wrong, and how often. Each is a decision of the search.
///
/// A reduction takes a fault for a step of its actor: a loss and a duplicate of the one that the message was sent to, a
/// crash of the one that crashes. With losses and duplicates together it leaves out nothing, and neither does Eta's with any.
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
    /// Whether the same option of two deliveries may mean different faults. Then all steps depend on each other: which
    /// it is hangs on which budget has been used up before.
    pub(crate) fn have_ambiguous_options(self) -> bool {
        let Self { losses, duplicates, crashes: _, timers: _ } = self;
        losses > 0 && duplicates > 0
    }

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

impl MessageFaults {
    /// How many options there are for one delivery: nothing goes wrong, or something that is left to.
    /// 1 if nothing can.
    #[inline]
    pub(crate) fn options(self) -> u32 {
        let Self { losses, duplicates } = self;
        1 + u32::from(losses > 0) + u32::from(duplicates > 0)
    }

    /// Takes the option with this number from the budget: nothing, then a loss, then a duplicate.
    pub(crate) fn spend(&mut self, option: u32) -> Option<MessageFault> {
        let fault = match (option, self.losses > 0) {
            (0, _) => return None,
            (1, true) => MessageFault::Loss,
            (_, _) => MessageFault::Duplicate,
        };
        match fault {
            MessageFault::Loss => self.losses -= 1,
            MessageFault::Duplicate => self.duplicates -= 1,
        }
        Some(fault)
    }
}
