//! What may go wrong in a system, and how much of it is left to come.
//!
//! [`Faults`] is taken apart without `..` wherever its parts matter, so that a new kind of fault is a
//! compile error in each of these places.
//!
//! # Why: Faults and reduction
//! With losses, duplicates or crashes all steps share a bit, so nothing is left out. A crash with a footprint by its
//! victim was built and lost traces: what a step touches must not hang on the values decided in it (`docs/ARCHITECTURE.md`, invariants of the searches).

/// What may go wrong, and how often. Each is a decision of the search.
///
/// With losses, duplicates or crashes a reduction leaves out nothing: whether the next one is still to
/// come hangs on all steps before, so all depend on each other.
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
    /// Whether what is left of a budget hangs on the order of all steps. The limit on timers does not:
    /// each actor has its own.
    pub(crate) fn have_a_common_budget(self) -> bool {
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
