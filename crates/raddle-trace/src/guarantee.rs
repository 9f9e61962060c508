//! What a search has covered, as data and as a sentence.
//!
//! A guarantee is computed from the parts of a search and from what the engine saw; nobody writes
//! one by hand. Its sentence is the [`Display`](fmt::Display) of its data.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::schedule::Timeouts;

/// A lower bound on the chance that one execution of a sampler shows a bug, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SampleBound {
    /// At least `1 / (tasks * steps^(depth - 1))` for a bug of this depth. `tasks` and `steps`
    /// are the largest seen; the bound does not hold for an execution longer than all before it.
    Pct {
        /// The number of ordering constraints that the bug needs.
        depth: u32,
        /// The most tasks of any execution so far.
        tasks: u64,
        /// The most decisions between tasks of any execution so far.
        steps: u64,
    },
}

/// What has been covered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Covered {
    /// Every execution.
    Everything,
    /// Every execution, one for each order of the steps that depend on each other.
    Equivalence,
    /// Every execution that leaves a task which could go on at most this many times.
    Preemptions(u32),
    /// Every execution within the bound, if there is one, at least once for each order of the
    /// steps that depend on each other. Prefixes with the same fingerprint, a hash of 64 bits, were
    /// taken to be equivalent: see [`collision`](Self::collision).
    Cached {
        /// At most so many preemptions, if bounded.
        preemptions: Option<u32>,
        /// How many prefixes were compared with those that were stored.
        compared: u64,
        /// How many prefixes were stored.
        stored: u64,
        /// How many of these were dropped to make room. What follows them may have been run again.
        dropped: u64,
    },
    /// Some executions of a systematic search that did not end.
    Part {
        /// How many.
        executions: u64,
        /// The bound under which the search ran, if any.
        preemptions: Option<u32>,
    },
    /// Executions drawn one by one.
    Sample {
        /// How many.
        executions: u64,
        /// What the sampler promises of each.
        bound: Option<SampleBound>,
    },
    /// One execution, given in advance.
    Replay,
}

/// Something that holds for all covered executions and need not hold in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Assumption {
    /// Atomics are sequentially consistent whatever their orderings say.
    SequentialConsistency,
    /// Timed waits fire as this setting says. Only named if the program had one.
    Timeouts(TimeoutsUsed),
    /// A task that yields again and again lets the others move first. Only named if one had to.
    FairYields,
    /// No wake-up or weak compare-exchange is spurious. Only named if the program had either.
    NothingSpurious,
    /// A task that unwinds is not interrupted. Only named if one unwound.
    UndividedUnwinding,
    /// `raddle::rng` draws from one seed. Only named if the program drew from it.
    SeededData,
}

/// [`Timeouts`], ordered so that assumptions sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeoutsUsed {
    /// [`Timeouts::Any`].
    Any,
    /// [`Timeouts::Idle`].
    Idle,
}

impl From<Timeouts> for TimeoutsUsed {
    fn from(timeouts: Timeouts) -> Self {
        match timeouts {
            Timeouts::Any => Self::Any,
            Timeouts::Idle => Self::Idle,
        }
    }
}

/// What a search has covered, under which assumptions, and what it had to leave out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Guarantee {
    /// What has been covered.
    pub covered: Covered,
    /// Executions that a limit cut off: what would have followed is not covered.
    pub rejected: u64,
    /// Under which assumptions, in a fixed order.
    pub assumptions: Vec<Assumption>,
}

impl Covered {
    /// A bound on the chance that two prefixes which are not equivalent had the same fingerprint,
    /// so that something is missing: as if fingerprints were drawn at random, 2^-64 for each pair
    /// that was compared. `None` where nothing rests on fingerprints.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a chance, to a few digits")]
    pub fn collision(&self) -> Option<f64> {
        match *self {
            Self::Cached { compared, stored, .. } => {
                Some((compared as f64 * stored as f64 * 0.5_f64.powi(64)).min(1.0))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Covered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Everything => f.write_str("every execution"),
            Self::Equivalence => f.write_str("every execution up to equivalence"),
            Self::Preemptions(0) => f.write_str("every execution without a preemption"),
            Self::Preemptions(1) => f.write_str("every execution with at most 1 preemption"),
            Self::Preemptions(k) => write!(f, "every execution with at most {k} preemptions"),
            Self::Cached { preemptions, compared, stored, dropped } => {
                match preemptions {
                    None => write!(f, "{}", Self::Equivalence)?,
                    Some(k) => write!(f, "{}, up to equivalence", Self::Preemptions(k))?,
                }
                let chance = self.collision().unwrap_or(1.0).log10().ceil();
                write!(
                    f,
                    ", unless 64-bit fingerprints collided (chance below 1e{chance}: {compared} \
                     compared with {stored}"
                )?;
                if dropped > 0 {
                    write!(f, ", of which {dropped} were dropped")?;
                }
                f.write_str(")")
            }
            Self::Part { executions, preemptions } => {
                match executions {
                    0 => f.write_str("no execution of a search that did not end")?,
                    1 => f.write_str("the first execution of a search that did not end")?,
                    n => write!(f, "the first {n} executions of a search that did not end")?,
                }
                match preemptions {
                    Some(1) => f.write_str(" (at most 1 preemption each)"),
                    Some(k) => write!(f, " (at most {k} preemptions each)"),
                    None => Ok(()),
                }
            }
            Self::Sample { executions, bound } => {
                match executions {
                    1 => f.write_str("1 sampled execution")?,
                    n => write!(f, "{n} sampled executions")?,
                }
                if let Some(SampleBound::Pct { depth, tasks, steps }) = bound {
                    #[expect(clippy::cast_precision_loss, reason = "printed to the nearest unit")]
                    let chance = (tasks as f64) * (steps as f64).powi(depth.cast_signed() - 1);
                    write!(
                        f,
                        ", each showing a bug of depth {depth} with a chance of at least 1 in \
                         {chance:.0} (if no execution has more than {tasks} tasks and {steps} \
                         scheduling decisions)"
                    )?;
                }
                Ok(())
            }
            Self::Replay => f.write_str("one recorded execution"),
        }
    }
}

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SequentialConsistency => "sequentially consistent memory",
            Self::Timeouts(TimeoutsUsed::Any) => "a timeout may fire whenever it is pending",
            Self::Timeouts(TimeoutsUsed::Idle) => "a timeout fires only when nothing else can move",
            Self::FairYields => {
                "a task that yields twice lets every task move that could have in between"
            }
            Self::NothingSpurious => "nothing wakes or fails spuriously",
            Self::UndividedUnwinding => "no switch while a task unwinds",
            Self::SeededData => "random data from one seed",
        })
    }
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.covered)?;
        if self.rejected > 0 {
            let (what, their) = if self.rejected == 1 {
                ("1 that was cut off by a limit", "its")
            } else {
                ("those cut off by a limit", "their")
            };
            write!(f, ", except {what}")?;
            if self.rejected > 1 {
                write!(f, " ({})", self.rejected)?;
            }
            write!(f, " and {their} continuations")?;
        }
        for (index, assumption) in self.assumptions.iter().enumerate() {
            write!(f, "{}{assumption}", if index == 0 { "; assuming " } else { ", " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // 2000 * 1000 / 2^64 is 1.08e-13.
    #[test]
    fn what_rests_on_fingerprints_says_so() {
        let cached = |preemptions, dropped| Covered::Cached {
            preemptions,
            compared: 2000,
            stored: 1000,
            dropped,
        };
        assert_eq!(
            cached(None, 0).to_string(),
            "every execution up to equivalence, unless 64-bit fingerprints collided (chance below \
             1e-12: 2000 compared with 1000)"
        );
        assert_eq!(
            cached(Some(1), 17).to_string(),
            "every execution with at most 1 preemption, up to equivalence, unless 64-bit \
             fingerprints collided (chance below 1e-12: 2000 compared with 1000, of which 17 \
             were dropped)"
        );
        assert_eq!(Covered::Everything.collision(), None);
    }

    #[test]
    fn a_guarantee_is_a_sentence() {
        let guarantee = Guarantee {
            covered: Covered::Preemptions(2),
            rejected: 3,
            assumptions: vec![Assumption::SequentialConsistency, Assumption::FairYields],
        };
        assert_eq!(
            guarantee.to_string(),
            "every execution with at most 2 preemptions, except those cut off by a limit (3) and \
             their continuations; assuming sequentially consistent memory, a task that yields \
             twice lets every task move that could have in between"
        );
    }
}
