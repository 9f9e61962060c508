//! Orders of receives: what a schedule of an actor program is, and how much of it a search has shown.
//!
//! Tasharofi, Pradel, Lin and Johnson, "Bita: Coverage-guided, Automatic Testing of Actor Programs", ASE 2013. The
//! order in which each actor receives its messages is all that a schedule of actors decides. Three criteria say
//! which orders a set of schedules should show ([`Criterion`]); each is about ordered pairs of receives of one
//! actor, its *ordering goals*, and a pair is *covered* when both of its orders have been seen.
//!
//! - `recording.rs`: the receives of one execution, as the engine tells them ([`raddle_engine::receive`]).
//! - `orders.rs`: which orders executions have shown.
//! - `must_happen.rs`: which receives of an execution must happen before which.
//! - `posts.rs`: what threads send into channels.
//! - `generator.rs`: partial schedules that show an order which none has shown yet.
//! - `coverage.rs`: the observer that measures any search.
//!
//! Where this differs from the paper: a question (`ask`) does not block the actor that asks, and its answer is an
//! ordinary message, so between the two other messages may be received. The answer is counted in no criterion, as
//! in the paper, and is let through while a schedule is forced. Crashes and restarts are events of a schedule and are
//! counted in none of the criteria.
//!
//! External events are messages of artificial actors, as in section VI of the paper: each thread of the test that sends
//! is one, and beside every actor there is one that sends what its timers bring. What an adapter answers (a clock, a server, a
//! disk) is a value that is decided within a receive, and a part of the schedule. Logical time, a tick for each receive,
//! is there if a system asks for it (`Builder::logical_time` of the actors) and not always, as in the paper: it makes every
//! receive depend on every other, of which a reduction could then leave out none. Otherwise an actor learns of time by
//! its timers.
//!
//! Beyond the paper, receives from channels of threads are receives, too ([`raddle_engine::receive`]).
//! Misses: a message that was sent into a channel and never received has no place in an order of receives, and none is
//! planned for it.

mod bits;
mod coverage;
mod generator;
mod must_happen;
mod orders;
mod posts;
mod recording;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub(crate) use self::bits::Bits;
pub use self::coverage::ReceiveCoverage;
pub use self::generator::rehearse;
pub(crate) use self::generator::{Generator, Goal, Planned, senders};
pub(crate) use self::must_happen::spawners;
pub use self::must_happen::{Causality, MustHappen};
pub(crate) use self::orders::Orders;
pub(crate) use self::recording::is_free;
pub use self::recording::{MailboxOrder, Received, Recording, Run};

/// Which pairs of receives of one actor are wanted in both orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Criterion {
    /// Pair of receives: one before the other, anything between.
    Pr,
    /// Pair of a change of behaviour and a receive: one of the two changes the actor's behaviour, and between them
    /// no other receive does.
    Pbr,
    /// Pair of consecutive receives: one directly before the other.
    Pcr,
}

impl Criterion {
    /// All, in the order in which they are worth trying: the cheap ones first.
    pub const ALL: [Self; 3] = [Self::Pr, Self::Pbr, Self::Pcr];

    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pr => "pr",
            Self::Pbr => "pbr",
            Self::Pcr => "pcr",
        }
    }

    pub(crate) fn index(self) -> usize {
        self as usize
    }
}
