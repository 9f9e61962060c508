//! What a search has covered, as data and as a sentence.
//!
//! A guarantee is computed from the parts of a search and from what the engine saw; no strategy writes
//! one by hand. Its sentence is the [`Display`](fmt::Display) of its data.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::schedule::Timeouts;

/// What a sampler promises of the chances of one execution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SampleBound {
    /// At least `1 / (tasks * steps^(depth - 1))` for a bug of this depth, if the decisions at which a task
    /// must be lowered to show it are among the first `steps`. Not promised where a task yielded.
    Pct {
        /// The number of ordering constraints that the bug needs.
        depth: u32,
        /// The most tasks of any execution so far.
        tasks: u64,
        /// The decisions between tasks among which the change points were drawn: the most of any
        /// execution before, or as given.
        steps: u64,
        /// The executions that were drawn with this many steps: only of these it is promised.
        executions: u64,
    },
    /// At least `tasks^-steps` for each partial order.
    Pos {
        /// The most tasks of any execution so far.
        tasks: u64,
        /// The most steps of any execution so far.
        steps: u64,
    },
    /// At least `1 / steps^delays` for each execution that needs so many delays of an explorer, if it and those with
    /// a part of its delays have at most `steps` places for a delay.
    Strata {
        /// The most delays of those executions of which enough samples were taken.
        delays: u32,
        /// The most places for a delay in an execution so far.
        steps: u64,
        /// The samples that were taken with so many delays.
        samples: u64,
    },
    /// The same chance for each interleaving.
    Uniform {
        /// How many there are; [`u64::MAX`] if there are more.
        interleavings: u64,
        /// The executions before, in which steps were counted: of these it is not promised.
        counting: u64,
    },
    /// The same chance for each interleaving of the accesses to an object, which is itself drawn.
    Selected {
        /// Among how many objects it is drawn.
        objects: u64,
        /// How many interleavings there are of the accesses to one; of the object with the most,
        /// among those drawn so far. [`u64::MAX`] if there are more.
        interleavings: u64,
        /// The executions that counted steps: of these it is not promised.
        counting: u64,
    },
}

/// How many different partial orders were seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceCount {
    /// Distinct partial orders of executions that came to their end.
    pub distinct: u64,
    /// Whether they were counted one by one. If there are too many, `distinct` is an estimate.
    pub exact: bool,
    /// The standard error of `distinct`, relative to it; 0 if it is exact.
    pub error: f64,
    /// What is known of the next execution. Only of samplers that draw each execution with the
    /// same chances, whatever came before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen: Option<Unseen>,
}

/// The Good–Turing estimate of the chance that the next execution shows a partial order that none
/// has shown: `once / executions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unseen {
    /// Partial orders that were seen exactly once.
    pub once: u64,
    /// The executions that were drawn with the same chances.
    pub executions: u64,
}

/// What a test did that a reduction does not see through: where something is set here, executions that were
/// left out need not be equivalent to any that was run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(clippy::struct_excessive_bools, reason = "a list of facts")]
pub struct Gaps {
    /// A task that yielded was kept from moving until others had moved.
    pub held_back: bool,
    /// An execution was cut off by a limit, or ended its process.
    pub cut_off: bool,
    /// Under a reduction that is for actors alone: threads took steps.
    pub threads: bool,
    /// Under a reduction that looks only at what was run: ops were left that never ran.
    pub stuck: bool,
    /// Under a reduction with a bound: an operation had a timeout, or the clock was read.
    #[serde(default)]
    pub timeouts: bool,
    /// Under a reduction with a bound: a task looked whether another is finished.
    #[serde(default)]
    pub looks: bool,
    /// Under a reduction with a bound: a task yielded or spun.
    #[serde(default)]
    pub yields: bool,
    /// Under a reduction with a bound: actors took steps.
    #[serde(default)]
    pub actors: bool,
    /// Under a reduction with a bound: steps that were taken to be possible in another order were not.
    #[serde(default)]
    pub impossible: bool,
    /// A thread sent to actors or created one, and another did so or had messages handled, neither certainly first.
    #[serde(default)]
    pub unordered: bool,
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
    /// Every execution that leaves a task which could go on at most this many times, at least one for each order of
    /// the steps that depend on each other.
    BoundedEquivalence(u32),
    /// Every execution that needs at most this many delays of an explorer.
    Delays(u32),
    /// Every execution that follows the default order after this many decisions.
    Depth(u32),
    /// Every execution within the bound, if there is one, at least once for each order of the steps that depend
    /// on each other, of a stratified search along an explorer. Prefixes with the same fingerprint, a hash of 64
    /// bits, were taken to be equivalent: see [`collision`](Self::collision).
    Strata {
        /// At most so many delays; none if nothing is left.
        delays: Option<u32>,
        /// How many prefixes were compared with those that were stored.
        compared: u64,
        /// How many prefixes were stored.
        stored: u64,
        /// How many of these were dropped, or not stored, because there was no room.
        dropped: u64,
        /// Whether prefixes were met after a yield, a timeout or a reading of the clock, which have no
        /// fingerprint: they were not compared.
        uncompared: bool,
    },
    /// Some executions of a stratified search that did not end, or was bounded. Its cache knows of the program's state alone and
    /// may have hidden an execution that needs fewer delays than those that were run, so nothing is claimed of a
    /// number of delays.
    SomeStrata {
        /// How many.
        executions: u64,
        /// The most delays of an execution that was run.
        delays: u32,
    },
    /// Every state that can be reached, each once, and every step from each. States with the same
    /// fingerprint, a hash of 64 bits, were taken to be equal: see [`collision`](Self::collision).
    States {
        /// How many different states there were.
        unique: u64,
        /// How many parts of states (actors and messages) were taken to be equal by fingerprints of
        /// their own, so that handlers were not run again.
        parts: u64,
        /// Only states that can be reached in so many steps, if there are others.
        depth: Option<u32>,
        /// How many states could not be kept, or gave their place to others. They may have been counted
        /// and gone on from more than once.
        #[serde(default)]
        dropped: u64,
        /// Only states that can be reached with at most so many delays of the search's explorer, if there may be
        /// others.
        #[serde(default)]
        delays: Option<u32>,
        /// What was counted as different.
        #[serde(default)]
        keys: StateKey,
    },
    /// Some states of a search over states that did not end.
    SomeStates {
        /// How many different ones.
        unique: u64,
        /// What was counted as different.
        #[serde(default)]
        keys: StateKey,
    },
    /// Some executions of a systematic search that did not end.
    Part {
        /// How many.
        executions: u64,
        /// The bound under which the search ran, if any.
        preemptions: Option<u32>,
    },
    /// Executions of a search with a reduction that has nothing left to run. That these are every execution up
    /// to equivalence is not claimed.
    Reduced {
        /// How many.
        executions: u64,
        /// Why it is not claimed.
        gaps: Gaps,
    },
    /// Executions of a search that leaves out orders of statements which passing executions have shown.
    /// That is not safe: what would have followed is not covered, and may fail.
    Guided {
        /// How many.
        executions: u64,
        /// How many orders were left out.
        pruned: u64,
        /// How many pairs of statements were learned.
        pairs: u64,
        /// The bound under which the search ran, if any.
        preemptions: Option<u32>,
        /// Whether nothing is left that it would run.
        ended: bool,
    },
    /// Executions along schedules that show new orders of receives.
    Receives {
        /// How many.
        executions: u64,
        /// How many of them were forced along a schedule that was made for an order.
        schedules: u64,
        /// How many of these could not be followed to their end.
        infeasible: u64,
        /// Pairs of receives of one actor that happened in one execution.
        pairs: u64,
        /// Those of which both orders were seen.
        covered: u64,
        /// Whether no execution offers an order that none has shown.
        ended: bool,
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

/// What a search over states counts, and tells apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StateKey {
    /// States of the program.
    #[default]
    State,
    /// Pairs of a state of the program and a state of the explorer: of one state there may be several.
    Explorer,
    /// Pairs of a state and the number of steps that lead there.
    Depth,
    /// States of the program, each with a state of the explorer and a number of steps.
    ExplorerAndDepth,
}

impl StateKey {
    /// With states of an explorer, with depths, with both or with neither.
    #[must_use]
    pub fn new(explorer: bool, depth: bool) -> Self {
        match (explorer, depth) {
            (false, false) => Self::State,
            (true, false) => Self::Explorer,
            (false, true) => Self::Depth,
            (true, true) => Self::ExplorerAndDepth,
        }
    }

    /// So many of them, as text.
    ///
    /// ```
    /// use raddle_trace::StateKey;
    ///
    /// assert_eq!(StateKey::State.count(1), "1 state");
    /// assert_eq!(StateKey::Explorer.count(7), "7 pairs of a state and its explorer's state");
    /// ```
    #[must_use]
    pub fn count(self, n: u64) -> String {
        format!("{n} {}", self.noun(n))
    }

    /// What one of them is called, or so many.
    #[must_use]
    pub fn noun(self, n: u64) -> &'static str {
        match (self, n) {
            (Self::State, 1) => "state",
            (Self::State, _) => "states",
            (Self::Explorer, 1) => "pair of a state and its explorer's state",
            (Self::Explorer, _) => "pairs of a state and its explorer's state",
            (Self::Depth, 1) => "pair of a state and its depth",
            (Self::Depth, _) => "pairs of a state and its depth",
            (Self::ExplorerAndDepth, 1) => "triple of a state, its explorer's state and its depth",
            (Self::ExplorerAndDepth, _) => "triples of a state, its explorer's state and its depth",
        }
    }
}

/// Something that holds for all covered executions and need not hold in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Assumption {
    /// Atomics are sequentially consistent whatever their orderings say.
    SequentialConsistency,
    /// Tasks share state only through raddle's types. Only named where executions were left out because others
    /// were taken to be equivalent: raddle sees no other state.
    SharedThroughRaddle,
    /// Timed waits fire as this setting says. Only named if the program had one.
    Timeouts(TimeoutsUsed),
    /// A task that yields again and again lets the others move first. Only named if one had to.
    FairYields,
    /// A task that goes on while nothing has changed for many steps counts as one that yields.
    FairSpins,
    /// A task that has made so many rounds in a row which saw the same waits until something that it saw changes.
    /// Only named if one had to.
    Rounds(u32),
    /// No wake-up or weak compare-exchange is spurious. Only named if the program had either.
    NothingSpurious,
    /// A task that unwinds is not interrupted. Only named if one unwound.
    UndividedUnwinding,
    /// `raddle::rng` draws from one seed. Only named if the program drew from it.
    SeededData,
    /// What threads send to actors, and the actors that they create, come right after the operation before. Only named if one
    /// did so beside another thread that did, or that had messages handled.
    SendsWithoutSteps,
}

/// [`Timeouts`], ordered so that assumptions sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeoutsUsed {
    /// [`Timeouts::Any`].
    Any,
    /// [`Timeouts::Idle`].
    Idle,
    /// [`Timeouts::Never`].
    Never,
}

impl From<Timeouts> for TimeoutsUsed {
    fn from(timeouts: Timeouts) -> Self {
        match timeouts {
            Timeouts::Any => Self::Any,
            Timeouts::Idle => Self::Idle,
            Timeouts::Never => Self::Never,
        }
    }
}

/// What a search has covered, under which assumptions, and what it had to leave out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Guarantee {
    /// What has been covered.
    pub covered: Covered,
    /// How many different partial orders were seen, if they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traces: Option<TraceCount>,
    /// Executions that a limit cut off: what would have followed is not covered.
    pub rejected: u64,
    /// Under which assumptions, in a fixed order.
    pub assumptions: Vec<Assumption>,
}

impl Guarantee {
    /// That this has been covered, under no assumption yet.
    #[must_use]
    pub fn new(covered: Covered) -> Self {
        Self { covered, traces: None, rejected: 0, assumptions: Vec::new() }
    }
}

impl Gaps {
    /// Whether a reduction that keeps a record of what it tried would see through more of it than one that keeps none.
    #[must_use]
    pub fn are_of_memoryless(self) -> bool {
        let Self { timeouts, looks, yields, actors, impossible, .. } = self;
        timeouts || looks || yields || actors || impossible
    }

    /// Each that is set, as the reason why a reduction claims less.
    fn reasons(self) -> impl Iterator<Item = &'static str> {
        let Self { held_back, cut_off, threads, stuck, .. } = self;
        let Self { timeouts, looks, yields, actors, impossible, unordered, .. } = self;
        [
            (held_back, "a task that yielded or spun was held back until others had moved"),
            (cut_off, "an execution was cut off by a limit or ended its process"),
            (threads, "threads took steps, and this reduction is for actors alone"),
            (stuck, "operations were left that never ran"),
            (timeouts, "an operation had a timeout, or the clock was read"),
            (looks, "a task looked whether another is finished"),
            (yields && !held_back, "a task yielded or spun"),
            (actors, "actors took steps"),
            (impossible, "steps were not possible in an order that was thought to be"),
            (
                unordered,
                "a thread sent to actors or created one, beside another that did so or had messages handled",
            ),
        ]
        .into_iter()
        .filter_map(|(set, why)| set.then_some(why))
    }
}

impl std::ops::BitOr for Gaps {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self {
            held_back: self.held_back | other.held_back,
            cut_off: self.cut_off | other.cut_off,
            threads: self.threads | other.threads,
            stuck: self.stuck | other.stuck,
            timeouts: self.timeouts | other.timeouts,
            looks: self.looks | other.looks,
            yields: self.yields | other.yields,
            actors: self.actors | other.actors,
            impossible: self.impossible | other.impossible,
            unordered: self.unordered | other.unordered,
        }
    }
}

impl std::ops::BitOrAssign for Gaps {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl Covered {
    /// What a search with a reduction has covered that has nothing left to run.
    #[must_use]
    pub fn of_reduction(executions: u64, gaps: Gaps) -> Self {
        if gaps == Gaps::default() { Self::Equivalence } else { Self::Reduced { executions, gaps } }
    }

    /// The same, where only executions with at most so many preemptions were looked for, if there is a bound.
    #[must_use]
    pub fn of_bounded_reduction(executions: u64, gaps: Gaps, preemptions: Option<u32>) -> Self {
        match (Self::of_reduction(executions, gaps), preemptions) {
            (Self::Equivalence, Some(k)) => Self::BoundedEquivalence(k),
            (covered, _) => covered,
        }
    }

    /// Whether a search that claims this, of no execution that a limit cut off, has run all that it set out to.
    #[must_use]
    pub fn is_all_of_a_search(&self) -> bool {
        matches!(
            self,
            Self::Everything
                | Self::Equivalence
                | Self::Preemptions(_)
                | Self::BoundedEquivalence(_)
                | Self::Cached { .. }
                | Self::Delays(_)
                | Self::Depth(_)
                | Self::Strata { .. }
                | Self::States { .. }
        )
    }

    /// Whether executions were left out because they were taken to be equivalent to others.
    #[must_use]
    pub fn rests_on_equivalence(&self) -> bool {
        matches!(
            self,
            Self::Equivalence
                | Self::BoundedEquivalence(_)
                | Self::Cached { .. }
                | Self::Reduced { .. }
                | Self::Strata { .. }
                | Self::SomeStrata { .. }
        )
    }

    /// A bound on the chance that two prefixes which are not equivalent had the same fingerprint,
    /// so that something is missing: as if fingerprints were drawn at random, 2^-64 for each pair
    /// that was compared. `None` where nothing rests on fingerprints.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a chance, to a few digits")]
    pub fn collision(&self) -> Option<f64> {
        match *self {
            Self::Cached { compared, stored, .. } | Self::Strata { compared, stored, .. } => {
                Some((compared as f64 * stored as f64 * 0.5_f64.powi(64)).min(1.0))
            }
            // Each two states, and each two parts.
            Self::States { unique, parts, .. } => {
                let pairs = |n: u64| n as f64 * (n as f64 - 1.0).max(0.0) / 2.0;
                Some(((pairs(unique) + pairs(parts)) * 0.5_f64.powi(64)).min(1.0))
            }
            _ => None,
        }
    }

    /// Of [`States`](Self::States).
    fn fmt_states(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::States { unique, parts, depth, dropped, delays, keys } = *self else {
            return Ok(());
        };
        f.write_str("every state that can be reached")?;
        if let Some(k) = depth {
            write!(f, " in at most {}", Many(k.into(), "step"))?;
        }
        match delays {
            None => {}
            Some(0) => f.write_str(" without a delay")?,
            Some(k) => write!(f, " with at most {}", Many(k.into(), "delay"))?,
        }
        if unique < 2 {
            return Ok(());
        }
        let chance = self.collision().unwrap_or(1.0).log10().ceil();
        write!(
            f,
            ", unless 64-bit fingerprints collided (chance below 1e{chance}: {} and {parts} parts of states",
            keys.count(unique)
        )?;
        if dropped > 0 {
            write!(f, "; {dropped} were not kept and may have been counted again")?;
        }
        f.write_str(")")
    }
}

impl Covered {
    /// A stratified search.
    fn fmt_strata(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Strata { delays, compared, stored, dropped, uncompared } = *self else {
            return Ok(());
        };
        match delays {
            None => write!(f, "{}", Self::Equivalence)?,
            Some(k) => write!(f, "{}, up to equivalence", Self::Delays(k))?,
        }
        if stored > 0 {
            let chance = self.collision().unwrap_or(1.0).log10().ceil();
            write!(
                f,
                ", unless 64-bit fingerprints collided (chance below 1e{chance}: {compared} \
                 compared with {stored}"
            )?;
            if dropped > 0 {
                write!(f, ", of which {dropped} were dropped")?;
            }
            f.write_str(")")?;
        }
        if uncompared {
            f.write_str(
                "; what follows a yield, a timeout or a reading of the clock was run without \
                 comparing",
            )?;
        }
        Ok(())
    }

    /// A search guided by pairs of statements.
    fn fmt_guided(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Guided { executions, pruned, pairs, preemptions, ended } = *self else {
            return Ok(());
        };
        let executions = Many(executions, "execution");
        if ended {
            write!(f, "{executions}, not all there are")?;
        } else {
            write!(f, "the first {executions} of a search that did not end")?;
        }
        match preemptions {
            Some(1) => f.write_str(" (at most 1 preemption each)")?,
            Some(k) => write!(f, " (at most {k} preemptions each)")?,
            None => {}
        }
        let (pruned, pairs) = (Many(pruned, "order"), Many(pairs, "pair"));
        write!(
            f,
            ": {pruned} of statements that passing executions had shown elsewhere ({pairs} \
             learned) were left out, which may miss failures"
        )
    }

    /// A search for orders of receives.
    fn fmt_receives(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Receives { executions, schedules, infeasible, pairs, covered, ended } = *self
        else {
            return Ok(());
        };
        let executions = Many(executions, "execution");
        if ended {
            write!(
                f,
                "{executions}, not all there are, after which none offers a new order of receives"
            )?;
        } else {
            write!(f, "the first {executions} of a search for orders of receives")?;
        }
        let pairs = Many(pairs, "pair");
        write!(f, ": both orders of {covered} of {pairs} of receives of one actor")?;
        if infeasible > 0 {
            let schedules = Many(schedules, "schedule");
            write!(f, "; {infeasible} of {schedules} could not be followed to the end")?;
        }
        Ok(())
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
            Self::BoundedEquivalence(k) => {
                write!(f, "{}, up to equivalence", Self::Preemptions(k))
            }
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
            Self::Delays(0) => f.write_str("every execution without a delay"),
            Self::Delays(1) => f.write_str("every execution with at most 1 delay"),
            Self::Delays(k) => write!(f, "every execution with at most {k} delays"),
            Self::Depth(k) => {
                let decisions = Many(k.into(), "decision");
                write!(f, "every execution that follows the default order after {decisions}")
            }
            Self::Strata { .. } => self.fmt_strata(f),
            Self::SomeStrata { executions, delays } => {
                let (executions, delays) =
                    (Many(executions, "execution"), Many(delays.into(), "delay"));
                write!(
                    f,
                    "{executions} of a stratified search, with up to {delays}; not claimed to be all with so \
                     few, because its cache looks at the program's state alone"
                )
            }
            Self::States { .. } => self.fmt_states(f),
            Self::SomeStates { unique, keys } => {
                write!(f, "the first {} of a search that did not end", keys.count(unique))
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
            Self::Reduced { executions, gaps } => {
                let executions = Many(executions, "execution");
                write!(
                    f,
                    "{executions}, after which the search has ended; not claimed to be every \
                     execution up to equivalence, because "
                )?;
                for (index, why) in gaps.reasons().enumerate() {
                    write!(f, "{}{why}", if index == 0 { "" } else { ", and " })?;
                }
                f.write_str(", which the reduction does not see through")
            }
            Self::Guided { .. } => self.fmt_guided(f),
            Self::Receives { .. } => self.fmt_receives(f),
            Self::Sample { executions, bound } => {
                match executions {
                    1 => f.write_str("1 sampled execution")?,
                    n => write!(f, "{n} sampled executions")?,
                }
                bound.map_or(Ok(()), |bound| bound.fmt_of(executions, f))
            }
            Self::Replay => f.write_str("one recorded execution"),
        }
    }
}

impl Unseen {
    /// The estimate itself, from 0 to 1.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a ratio of counts")]
    pub fn chance(&self) -> f64 {
        if self.executions == 0 { 1.0 } else { self.once as f64 / self.executions as f64 }
    }
}

impl SampleBound {
    /// As a clause after so many sampled executions.
    fn fmt_of(self, sampled: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let after = |counting: u64| match counting {
            1 => "each after the first, which counted steps,".to_owned(),
            n => format!("each after the first {n}, which counted steps,"),
        };
        match self {
            Self::Pct { depth, tasks, steps, executions } => {
                let each = match executions {
                    n if n == sampled => "each".to_owned(),
                    1 => "the last of them".to_owned(),
                    n => format!("each of the last {n}"),
                };
                let chance = OneIn::product(tasks, steps, depth.saturating_sub(1).into());
                let tasks = Many(tasks, "task");
                let premise = match (depth, steps) {
                    (0 | 1, _) => String::new(),
                    (2, 1) => "whose change point is the first scheduling decision ".to_owned(),
                    (2, k) => {
                        format!("whose change point lies in the first {k} scheduling decisions ")
                    }
                    (_, k) => {
                        let decisions = Many(k, "scheduling decision");
                        format!("whose change points lie in the first {decisions} ")
                    }
                };
                write!(
                    f,
                    ", {each} showing a bug of depth {depth} {premise}with a chance of at least \
                     {chance} (if no execution has more than {tasks})"
                )
            }
            Self::Pos { tasks, steps } => {
                let chance = OneIn::product(1, tasks, steps);
                let (tasks, steps) = (Many(tasks, "task"), Many(steps, "step"));
                write!(
                    f,
                    ", each showing any partial order with a chance of at least {chance} (if no \
                     execution has more than {tasks} and {steps})"
                )
            }
            Self::Strata { delays, steps, samples } => {
                let chance = OneIn::product(1, steps, delays.into());
                let (places, drawn) = (Many(steps, "place"), Many(samples, "sample"));
                write!(
                    f,
                    ", those with fewer delays on the way among them: each of {drawn} with {delays} delays \
                     shows any execution with so many with a chance of at least {chance} (if it is reached \
                     through executions with at most {places} for a delay)"
                )
            }
            Self::Uniform { interleavings, counting } => write!(
                f,
                ", {} showing any of {} with the same chance {CONDITION}",
                after(counting),
                Many(interleavings, "interleaving"),
            ),
            Self::Selected { objects, interleavings, counting } => {
                write!(f, ", each but {counting} that counted steps, ")?;
                let interleavings = Many(interleavings, "interleaving");
                match objects {
                    1 => write!(
                        f,
                        "showing any of {interleavings} of the accesses to the one shared object"
                    )?,
                    n => write!(
                        f,
                        "drawing one of {n} shared objects and showing any of at most \
                         {interleavings} of the accesses to it"
                    )?,
                }
                write!(f, " with the same chance {CONDITION}")
            }
        }
    }
}

/// What must hold for chances to be the same.
const CONDITION: &str = "(if every task takes the steps that were counted, and none waits for \
                         another but to join it)";

/// A chance of one in so many, written out while that is short.
struct OneIn {
    log10: f64,
}

impl OneIn {
    #[expect(clippy::cast_precision_loss, reason = "printed to the nearest unit, or rounded up")]
    fn product(factor: u64, base: u64, power: u64) -> Self {
        let log10 = (factor.max(1) as f64).log10() + (base.max(1) as f64).log10() * power as f64;
        Self { log10 }
    }
}

impl fmt::Display for OneIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Beyond this the digits are not exact.
        if self.log10 < 15.0 {
            write!(f, "1 in {:.0}", 10_f64.powf(self.log10))
        } else {
            write!(f, "1 in 10^{:.0}", self.log10.ceil())
        }
    }
}

/// A number with its noun; the largest number stands for more.
struct Many(u64, &'static str);

impl fmt::Display for Many {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(n, noun) = self;
        match n {
            1 => write!(f, "1 {noun}"),
            &u64::MAX => write!(f, "more than 10^19 {noun}s"),
            n => write!(f, "{n} {noun}s"),
        }
    }
}

impl fmt::Display for TraceCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { distinct, exact, error, unseen } = *self;
        let about = if exact { "" } else { "about " };
        let orders = if distinct == 1 { "order" } else { "orders" };
        write!(f, "{about}{distinct} distinct partial {orders}")?;
        if !exact {
            write!(f, " (estimated, with a standard error of {:.1} %)", error * 100.0)?;
        }
        match unseen {
            Some(Unseen { executions: 0, .. }) | None => Ok(()),
            Some(Unseen { once: 0, executions }) => write!(
                f,
                " (the chance that the next execution shows a new one is estimated as 0: none of \
                 them was seen only once in {executions})"
            ),
            Some(unseen) => {
                let Unseen { once, executions } = unseen;
                let chance = unseen.chance() * 100.0;
                let digits = if chance < 1.0 { 3 } else { 1 };
                write!(
                    f,
                    " (the chance that the next execution shows a new one is estimated as \
                     {chance:.digits$} %: {once} of {executions})"
                )
            }
        }
    }
}

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SequentialConsistency => "sequentially consistent memory",
            Self::SharedThroughRaddle => "tasks share state only through raddle's types",
            Self::Timeouts(TimeoutsUsed::Any) => "a timeout may fire whenever it is pending",
            Self::Timeouts(TimeoutsUsed::Idle) => "a timeout fires only when nothing else can move",
            Self::Timeouts(TimeoutsUsed::Never) => "no wait ends by its timeout",
            Self::FairSpins => {
                "a task that goes on while nothing has changed for 50 steps counts as one that yields"
            }
            Self::FairYields => {
                "a task that yields twice lets every task move that could have in between"
            }
            Self::Rounds(most) => {
                let rounds = if *most == 1 { "round" } else { "rounds" };
                return write!(
                    f,
                    "no task makes more than {most} successive identical {rounds} while nothing it \
                     reads changes"
                );
            }
            Self::NothingSpurious => "nothing wakes or fails spuriously",
            Self::UndividedUnwinding => "no switch while a task unwinds",
            Self::SeededData => "random data from one seed",
            Self::SendsWithoutSteps => {
                "what a thread sends to actors comes right after its operation before"
            }
        })
    }
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.covered)?;
        // A reduction that ended says itself that some were cut off.
        if self.rejected > 0 && !matches!(self.covered, Covered::Reduced { .. }) {
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
        if let Some(traces) = &self.traces {
            write!(f, "; {traces}")?;
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
    fn strata_say_what_is_claimed_of_delays() {
        let strata = |delays, uncompared| Covered::Strata {
            delays,
            compared: 2000,
            stored: 1000,
            dropped: 0,
            uncompared,
        };
        assert_eq!(
            strata(Some(2), false).to_string(),
            "every execution with at most 2 delays, up to equivalence, unless 64-bit fingerprints collided \
             (chance below 1e-12: 2000 compared with 1000)"
        );
        assert_eq!(
            strata(None, true).to_string(),
            "every execution up to equivalence, unless 64-bit fingerprints collided (chance below 1e-12: 2000 \
             compared with 1000); what follows a yield, a timeout or a reading of the clock was run without \
             comparing"
        );
        assert_eq!(
            Covered::SomeStrata { executions: 7, delays: 1 }.to_string(),
            "7 executions of a stratified search, with up to 1 delay; not claimed to be all with so few, because \
             its cache looks at the program's state alone"
        );
        assert_eq!(Covered::Delays(1).to_string(), "every execution with at most 1 delay");
    }

    // (1000 * 999 + 30 * 29) / 2^65 is 2.7e-14.
    #[test]
    fn states_are_told_apart_by_fingerprints() {
        let states = |depth| Covered::States {
            unique: 1000,
            parts: 30,
            depth,
            dropped: 0,
            delays: None,
            keys: StateKey::State,
        };
        assert_eq!(
            states(None).to_string(),
            "every state that can be reached, unless 64-bit fingerprints collided (chance below \
             1e-13: 1000 states and 30 parts of states)"
        );
        assert!(
            states(Some(3))
                .to_string()
                .starts_with("every state that can be reached in at most 3 steps, unless")
        );
        let dropped = Covered::States {
            unique: 1000,
            parts: 30,
            depth: None,
            dropped: 4,
            delays: Some(2),
            keys: StateKey::Explorer,
        };
        assert!(
            dropped.to_string().contains("1000 pairs of a state and its explorer's state and 30")
        );
        assert!(
            dropped
                .to_string()
                .starts_with("every state that can be reached with at most 2 delays, unless")
        );
        assert!(
            dropped
                .to_string()
                .ends_with("30 parts of states; 4 were not kept and may have been counted again)")
        );
        assert_eq!(
            Covered::SomeStates { unique: 7, keys: StateKey::State }.to_string(),
            "the first 7 states of a search that did not end"
        );
    }

    #[test]
    fn a_guarantee_is_a_sentence() {
        let guarantee = Guarantee {
            covered: Covered::Preemptions(2),
            traces: None,
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

    #[test]
    fn a_reduction_that_ended_without_its_claim_says_why() {
        let gaps = Gaps { held_back: true, ..Gaps::default() };
        assert_eq!(
            Covered::of_reduction(189, gaps).to_string(),
            "189 executions, after which the search has ended; not claimed to be every execution \
             up to equivalence, because a task that yielded or spun was held back until others had \
             moved, which the reduction does not see through"
        );
        let both = gaps | Gaps { stuck: true, ..Gaps::default() };
        let sentence = Covered::of_reduction(1, both).to_string();
        assert!(sentence.starts_with("1 execution, after which"), "{sentence}");
        assert!(sentence.contains("had moved, and operations were left that never ran, which"));
        assert_eq!(Covered::of_reduction(189, Gaps::default()), Covered::Equivalence);
    }

    #[test]
    fn a_bounded_reduction_claims_what_is_within_its_bound_up_to_equivalence() {
        let covered = |k, gaps| Covered::of_bounded_reduction(7, gaps, k).to_string();
        let none = Gaps::default();
        assert_eq!(
            covered(Some(0), none),
            "every execution without a preemption, up to equivalence"
        );
        assert_eq!(
            covered(Some(2), none),
            "every execution with at most 2 preemptions, up to equivalence"
        );
        assert_eq!(covered(None, none), "every execution up to equivalence");
        assert!(Covered::BoundedEquivalence(2).rests_on_equivalence());
        // Each thing that it does not see through takes the claim away, and is named.
        for (gaps, why) in [
            (Gaps { timeouts: true, ..none }, "an operation had a timeout"),
            (Gaps { looks: true, ..none }, "a task looked whether another is finished"),
            (Gaps { yields: true, ..none }, "a task yielded or spun"),
            (Gaps { actors: true, ..none }, "actors took steps"),
            (Gaps { cut_off: true, ..none }, "an execution was cut off by a limit"),
        ] {
            let sentence = covered(Some(2), none | gaps);
            assert!(sentence.starts_with("7 executions, after which the search has ended"));
            assert!(sentence.contains(why), "{sentence}");
        }
    }

    fn sampled(bound: SampleBound) -> String {
        Covered::Sample { executions: 50, bound: Some(bound) }.to_string()
    }

    #[test]
    fn what_a_sampler_promises_is_a_sentence() {
        let (depth, tasks, steps) = (2, 3, 9);
        assert_eq!(
            sampled(SampleBound::Pct { depth, tasks, steps, executions: 40 }),
            "50 sampled executions, each of the last 40 showing a bug of depth 2 whose change \
             point lies in the first 9 scheduling decisions with a chance of at least 1 in 27 (if \
             no execution has more than 3 tasks)"
        );
        assert_eq!(
            sampled(SampleBound::Pct { depth: 3, tasks, steps, executions: 50 }),
            "50 sampled executions, each showing a bug of depth 3 whose change points lie in the \
             first 9 scheduling decisions with a chance of at least 1 in 243 (if no execution has \
             more than 3 tasks)"
        );
        assert_eq!(
            sampled(SampleBound::Pct { depth: 1, tasks, steps, executions: 50 }),
            "50 sampled executions, each showing a bug of depth 1 with a chance of at least 1 in \
             3 (if no execution has more than 3 tasks)"
        );
        assert_eq!(
            sampled(SampleBound::Pos { tasks, steps }),
            "50 sampled executions, each showing any partial order with a chance of at least 1 in \
             19683 (if no execution has more than 3 tasks and 9 steps)"
        );
        assert!(sampled(SampleBound::Pos { tasks, steps: 1_000 }).contains("1 in 10^478 ("));
        assert_eq!(
            sampled(SampleBound::Uniform { interleavings: u64::MAX, counting: 1 }),
            format!(
                "50 sampled executions, each after the first, which counted steps, showing any of \
                 more than 10^19 interleavings with the same chance {CONDITION}"
            )
        );
        assert_eq!(
            sampled(SampleBound::Selected { objects: 4, interleavings: 6, counting: 3 }),
            format!(
                "50 sampled executions, each but 3 that counted steps, drawing one \
                 of 4 shared objects and showing any of at most 6 interleavings of the accesses to \
                 it with the same chance {CONDITION}"
            )
        );
    }

    #[test]
    fn a_number_of_traces_is_a_phrase() {
        let exact = TraceCount { distinct: 1, exact: true, error: 0.0, unseen: None };
        assert_eq!(exact.to_string(), "1 distinct partial order");
        let of = |once, executions| TraceCount {
            distinct: 36,
            unseen: Some(Unseen { once, executions }),
            ..exact
        };
        assert_eq!(
            of(3, 2_000).to_string(),
            "36 distinct partial orders (the chance that the next execution shows a new one is \
             estimated as 0.150 %: 3 of 2000)"
        );
        assert!(of(30, 60).to_string().contains("50.0 %: 30 of 60"));
        assert!(of(0, 60).to_string().contains("estimated as 0: none"));
        let many = TraceCount { distinct: 2_000_000, exact: false, error: 0.008_125, ..exact };
        assert_eq!(
            many.to_string(),
            "about 2000000 distinct partial orders (estimated, with a standard error of 0.8 %)"
        );
    }
}
