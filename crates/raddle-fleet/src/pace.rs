//! How long a worker goes on with a unit, and into how many parts it cuts what is left.
//!
//! Long units cost fewer messages; short ones spread over idle workers. What a worker knows when it takes a
//! unit is how many others wait. If few do, workers are idle or soon will be: it returns soon, with many parts. If
//! many wait it goes on for long and returns one. So the number of units that wait regulates itself, no
//! worker need know how many others there are, and nothing is asked of a coordinator. `docs/results/fleet-sim.md` has what
//! the defaults come to.

use std::time::Duration;

use crate::queue::Lease;

/// How far a worker goes on with a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// At most so many executions.
    pub executions: u64,
    /// At most so long.
    pub time: Duration,
    /// What is left is returned as so many units, if it can be cut that often.
    pub parts: u32,
}

/// How slices are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The time of a slice while no unit waits.
    pub short: Duration,
    /// The time of a slice while enough wait.
    pub long: Duration,
    /// How many waiting units are enough.
    pub enough: u64,
    /// The parts of what is left while no unit waits.
    pub parts: u32,
    /// At most so many executions in a slice.
    pub executions: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            short: Duration::from_millis(150),
            long: Duration::from_secs(3),
            enough: 2_000,
            parts: 4,
            executions: u64::MAX,
        }
    }
}

impl Pace {
    /// The slice of a unit that was leased while so many others waited.
    ///
    /// ```
    /// use raddle_fleet::Pace;
    ///
    /// let pace = Pace::default();
    /// assert_eq!((pace.slice(0).time, pace.slice(0).parts), (pace.short, pace.parts));
    /// assert_eq!((pace.slice(1_000_000).time, pace.slice(1_000_000).parts), (pace.long, 1));
    /// ```
    #[must_use]
    pub fn slice(&self, waiting: u64) -> Slice {
        let waiting = u32::try_from(waiting.min(self.enough)).unwrap_or(u32::MAX);
        let enough = u32::try_from(self.enough).unwrap_or(u32::MAX).max(1);
        let more = self.long.saturating_sub(self.short);
        let parts = self.parts - (self.parts.max(1) - 1).saturating_mul(waiting) / enough;
        Slice { executions: self.executions, time: self.short + more * waiting / enough, parts }
    }

    /// The slice of a lease.
    #[must_use]
    pub fn of(&self, lease: &Lease) -> Slice {
        self.slice(lease.waiting)
    }
}
