//! Priorities: what a candidate costs. Cheap ones are run first; none is left out.
//!
//! GAMBIT, section 4 (Coons, Burckhardt, Musuvathi, `PPoPP` 2010). A priority is one method in a file of
//! its own. Several are compared one after the other: the first decides, ties go to the next.
//!
//! What a user writes, here to run last what touches no more than it reads:
//!
//! ```
//! use raddle_engine::op::Access;
//! use raddle_search::tree::priority::{ClosurePriority, Candidate, Cost};
//! use raddle_search::tree::{Frontier, TreeExpansion, TreeSearch};
//!
//! let writes_first = ClosurePriority::new("writes-first", |candidate: &Candidate| {
//!     let reads = candidate.op.is_some_and(|op| op.access == Access::Read);
//!     Cost(u32::from(reads))
//! });
//! let frontier = Frontier::BestFirst(vec![Box::new(writes_first)]);
//! let search = TreeSearch::new(TreeExpansion::All, frontier);
//! assert_eq!(search.name(), "best-first(writes-first)");
//! ```

mod closure;
mod delays;
mod departures;
mod mdpor;
mod method;
mod new_pair;
mod patterns;
mod pb;
mod race;
mod rand;
mod rare;
mod sleep;
mod sum;
mod var;

use std::fmt;
use std::panic::Location;

use raddle_engine::context::Context;
use raddle_engine::op::{Op, TaskId};
use raddle_engine::strategy::{Label, Step};
use raddle_trace::PairSet;
use serde::{Deserialize, Serialize};

pub use self::closure::ClosurePriority;
pub use self::delays::Delays;
pub use self::departures::Departures;
pub use self::mdpor::ModifiedDpor;
pub use self::method::Method;
pub use self::new_pair::NewPair;
pub use self::patterns::Patterns;
pub use self::pb::Preemptions;
pub use self::race::Dpor;
pub use self::rand::Rand;
pub use self::rare::Rare;
pub use self::sleep::SleepSets;
pub use self::sum::Sum;
pub use self::var::Var;

/// How many priorities can be compared one after the other.
pub const MAX_PRIORITIES: usize = 4;

/// What a candidate costs by one priority. The cheapest is run first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost(pub u32);

/// What it costs by all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Key(pub(super) u128);

/// Whether a reduction would have added a candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reversal {
    /// No race is known that it would reverse.
    #[default]
    None,
    /// To be on the safe side: it is not the task that raced, or the race is with the release of a lock.
    Conservative,
    /// Its task raced with what was done there.
    Race,
}

/// Whether a candidate would break into a window of another task, as its parent shows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Window {
    /// No window is known.
    #[default]
    None,
    /// Something is changed that another task has looked at and is about to change.
    CheckThenAct,
    /// A lock is taken that another task is about to wait for, while it holds one that is wanted next.
    LockOrder,
}

/// What a priority may look at. Each costs, so ask for the least.
#[expect(clippy::struct_excessive_bools, reason = "a list of wishes")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sees {
    /// [`Candidate::task`], [`Candidate::op`] and [`Candidate::instead`].
    pub ops: bool,
    /// [`Candidate::reversal`].
    pub races: bool,
    /// [`Candidate::asleep`].
    pub sleep: bool,
    /// [`Candidate::context`] and [`Candidate::instead_context`], of so many calls; with `ops`.
    pub contexts: u8,
    /// [`Candidate::label`] and [`Candidate::instead_label`]; with `ops`.
    pub labels: bool,
    /// [`Candidate::window`].
    pub windows: bool,
    /// Every step of every execution: [`Priority::step`].
    pub steps: bool,
}

impl Sees {
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            ops: self.ops || other.ops,
            races: self.races || other.races,
            sleep: self.sleep || other.sleep,
            // The deepest that is asked for: one that wants fewer calls finds them among these.
            contexts: self.contexts.max(other.contexts),
            labels: self.labels || other.labels,
            windows: self.windows || other.windows,
            steps: self.steps || other.steps,
        }
    }
}

/// An execution that is known and was not run: another one up to a point, where it takes another option.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Candidate {
    /// The point, by its number in the schedule.
    pub point: u32,
    /// What it takes there.
    pub option: u32,
    /// Of so many.
    pub of: u32,
    /// Preemptions up to that option, which is one perhaps.
    pub preemptions: u32,
    /// Options other than the default one up to that option, which is one.
    pub departures: u32,
    /// Delays of the explorer up to that option, if the search goes along one.
    pub delays: u32,
    /// Whether the option is a preemption.
    pub preempts: bool,
    /// The task that moves there. None if it is a value.
    pub task: Option<TaskId>,
    /// What that task is about to do. None if it is a value, or a race above the last execution's own
    /// part opened it.
    pub op: Option<Op>,
    /// What the task was about to do that moved there instead.
    pub instead: Option<Op>,
    /// From where `op` is called.
    pub context: Context,
    /// From where `instead` is called.
    pub instead_context: Context,
    /// What the object of `op` is called.
    pub label: Option<Label>,
    /// What the object of `instead` is called.
    pub instead_label: Option<Label>,
    /// Whether a reduction would have added it, by what is known so far.
    pub reversal: Reversal,
    /// Where the two steps of that race stand in the source, the one that came first first; if [`Sees::races`] and a
    /// reduction opened it.
    pub race: Option<[&'static Location<'static>; 2]>,
    /// Whether sleep sets would have left it out.
    pub asleep: bool,
    /// Whether it would break into a window of another task.
    pub window: Window,
}

impl Candidate {
    /// Whether another task moves where the running one waits, yielded or is done.
    #[must_use]
    pub fn is_free_switch(&self) -> bool {
        // At a value no task is chosen.
        self.task.is_some() && !self.preempts
    }
}

/// Puts an order on candidates.
///
/// Called between executions, on an ordinary stack: user code is welcome. Any order is right; what it
/// returns decides when a candidate is run and not whether.
pub trait Priority: Send + fmt::Debug {
    /// As it is written in a composition.
    fn name(&self) -> String;

    /// What it looks at.
    fn sees(&self) -> Sees {
        Sees::default()
    }

    /// Whether it looks at [`Candidate::delays`]: then the search goes along an explorer.
    fn counts_delays(&self) -> bool {
        false
    }

    /// An execution begins. Called, as the next two, if it [sees](Sees::steps) steps.
    fn begin(&mut self) {}

    /// A step was taken, in the repeated part of an execution or after it. On a task's small stack.
    fn step(&mut self, step: &Step<'_>) {
        let _ = step;
    }

    /// The execution ended. What it makes known is asked about next.
    fn end(&mut self, passed: bool) {
        let _ = passed;
    }

    /// These pairs of statements have been seen in passing executions before.
    fn know(&mut self, pairs: &PairSet) {
        let _ = pairs;
    }

    /// What a candidate costs.
    fn cost(&mut self, candidate: &Candidate) -> Cost;

    /// What a candidate costs of which a better reason to run it became known, if nothing else bears on
    /// that. None: as before.
    fn improved(&self, reversal: Reversal) -> Option<Cost> {
        let _ = reversal;
        None
    }

    /// What the user should know when the search has ended, a sentence each.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Adds what a saved search must have to go on as this one would, if anything.
    fn save(&self, words: &mut Vec<u64>) {
        let _ = words;
    }

    /// How many of these words, with which a saved state goes on, are its own. To be written only if
    /// [`save`](Self::save) does not always add as many.
    fn saved_words(&self, words: &[u64]) -> usize {
        let _ = words;
        let mut own = Vec::new();
        self.save(&mut own);
        own.len()
    }

    /// Takes back what [`save`](Self::save) added.
    fn restore(&mut self, words: &mut dyn Iterator<Item = u64>) {
        let _ = words;
    }
}

/// Some, compared one after the other.
#[derive(Debug)]
pub(super) struct Priorities {
    parts: Vec<Box<dyn Priority>>,
    pub(super) sees: Sees,
}

impl Priorities {
    /// # Panics
    /// If there are more than [`MAX_PRIORITIES`].
    pub(super) fn new(parts: Vec<Box<dyn Priority>>) -> Self {
        // More than four would not fit into the 128 bits of a key.
        assert!(
            parts.len() <= MAX_PRIORITIES,
            "at most {MAX_PRIORITIES} priorities can be compared"
        );
        // What one of them looks at is recorded for all: points are recorded once.
        let sees = parts.iter().fold(Sees::default(), |sees, part| sees.or(part.sees()));
        Self { parts, sees }
    }

    /// All of them, if they are to hear of steps.
    pub(super) fn hearing(&mut self) -> impl Iterator<Item = &mut Box<dyn Priority>> {
        // All or none: notifications are the search's, and one that did not ask ignores them.
        let hear = self.sees.steps;
        self.parts.iter_mut().filter(move |_| hear)
    }

    pub(super) fn know(&mut self, pairs: &PairSet) {
        // Also those that are told of no steps: knowing costs nothing.
        self.parts.iter_mut().for_each(|part| part.know(pairs));
    }

    // 32 bits for each, the first priority highest: comparing the numbers compares one priority after the other.
    fn shift(index: usize) -> usize {
        32 * (MAX_PRIORITIES - 1 - index)
    }

    pub(super) fn cost(&mut self, candidate: &Candidate) -> Key {
        let costs = self.parts.iter_mut().map(|part| part.cost(candidate).0);
        // A priority that is not there costs 0, like one that finds all equal.
        let place = |(index, cost)| u128::from(cost) << Self::shift(index);
        Key(costs.enumerate().map(place).sum())
    }

    /// What something costs that cost `key`, now that there is a better reason to run it.
    pub(super) fn improved(&self, key: Key, reversal: Reversal) -> Key {
        let mut key = key.0;
        for (index, part) in self.parts.iter().enumerate() {
            // Only what it says of the reversal changes. The candidate itself is not at hand any more, so a priority that needs it
            // keeps its first answer.
            if let Some(Cost(cost)) = part.improved(reversal) {
                let shift = Self::shift(index);
                // Its 32 bits are replaced, the others stay.
                key = key & !(u128::from(u32::MAX) << shift) | u128::from(cost) << shift;
            }
        }
        Key(key)
    }

    pub(super) fn notes(&self) -> Vec<String> {
        self.parts.iter().flat_map(|part| part.notes()).collect()
    }

    pub(super) fn save(&self) -> Vec<u64> {
        let mut words = Vec::new();
        self.parts.iter().for_each(|part| part.save(&mut words));
        words
    }

    /// Whether these words are as many as they say they are.
    pub(super) fn fits(&self, words: &[u64]) -> bool {
        let rest =
            self.parts.iter().try_fold(words, |rest, part| rest.get(part.saved_words(rest)..));
        rest.is_some_and(<[u64]>::is_empty)
    }

    pub(super) fn restore(&mut self, words: &mut dyn Iterator<Item = u64>) {
        // One after the other from the same words, as they were saved.
        self.parts.iter_mut().for_each(|part| part.restore(words));
    }
}

/// As in a composition: `best-first(mdpor, pb)`.
pub(crate) fn name(parts: &[Box<dyn Priority>]) -> String {
    // This name is compared when a search is restored: other priorities would run what is left in another order.
    let names: Vec<_> = parts.iter().map(|part| part.name()).collect();
    format!("best-first({})", names.join(", "))
}

#[cfg(test)]
pub(super) fn candidate() -> Candidate {
    Candidate {
        point: 3,
        option: 1,
        of: 2,
        preemptions: 1,
        departures: 2,
        delays: 3,
        preempts: true,
        task: Some(TaskId(1)),
        op: None,
        instead: None,
        context: Context::NONE,
        instead_context: Context::NONE,
        label: None,
        instead_label: None,
        reversal: Reversal::None,
        race: None,
        asleep: false,
        window: Window::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_priority_decides_and_ties_go_to_the_next() {
        let mut both = Priorities::new(vec![Box::new(Dpor), Box::new(Preemptions)]);
        let cheap = Candidate { preemptions: 0, ..candidate() };
        let raced = Candidate { reversal: Reversal::Race, preemptions: 9, ..candidate() };
        assert!(both.cost(&raced) < both.cost(&cheap));
        assert!(both.cost(&cheap) < both.cost(&candidate()));
        assert_eq!(name(&both.parts), "best-first(dpor, pb)");
    }

    #[test]
    fn what_improves_changes_its_own_part_of_the_cost_alone() {
        let mut both = Priorities::new(vec![Box::new(ModifiedDpor), Box::new(Preemptions)]);
        let before = both.cost(&candidate());
        let raced = Candidate { reversal: Reversal::Race, ..candidate() };
        assert_eq!(both.improved(before, Reversal::Race), both.cost(&raced));
    }
}
