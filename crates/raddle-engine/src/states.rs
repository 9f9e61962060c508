//! Searches over states: what a strategy asks of a frontend whose states can be kept, and what comes of it.
//!
//! The engine runs executions and knows no states. A frontend that can copy the whole state of what a test runs says so
//! in an execution ([`rt::offer_states`](crate::rt::offer_states)); a strategy that wants states takes the offer
//! ([`Stateful`](crate::strategy::Stateful)), has the frontend search between two executions, and has what was found
//! run as an ordinary execution.

use std::fmt;

use raddle_trace::{Covered, StateKey};
use serde::{Deserialize, Serialize};

use crate::explorer::Explorer;

/// In which order states are visited.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StateOrder {
    /// Those that can be reached in fewer steps first.
    BreadthFirst,
    /// As deep as possible first.
    DepthFirst,
    /// Those that need fewer delays of an explorer first.
    Strata {
        /// The explorer.
        explorer: Explorer,
        /// Whether states of the explorer are told apart, so that each stratum can be claimed.
        exact: bool,
        /// How many strata are gone through at once.
        increment: u32,
        /// At most so many delays.
        delays: Option<u32>,
    },
}

/// A search over states, as a strategy asks for it.
#[derive(Clone, Debug)]
pub struct AskedStates {
    /// The order.
    pub order: StateOrder,
    /// Only states that can be reached in so many steps.
    pub depth: Option<u32>,
    /// On so many threads.
    pub threads: usize,
    /// At most about so many bytes for what has been seen and what is yet to be gone on from; none: as many as the
    /// frontend finds right.
    pub bytes: Option<u64>,
    /// Whether it will be [saved](StateSearch::save): then it keeps the steps that lead to what is yet to be gone on from.
    pub saved: bool,
}

impl AskedStates {
    /// What is counted as different.
    #[must_use]
    pub fn keys(&self) -> StateKey {
        match self.order {
            StateOrder::BreadthFirst | StateOrder::DepthFirst => StateKey::State,
            StateOrder::Strata { exact, .. } => StateKey::new(exact, self.depth.is_some()),
        }
    }
}

/// States that can be searched.
pub trait StateSpace: Send + Sync {
    /// Begins a search, or goes on with one that was saved.
    ///
    /// # Errors
    /// Why it cannot be searched: a clause.
    fn search(
        &self,
        asked: &AskedStates,
        from: Option<SavedStates>,
    ) -> Result<Box<dyn StateSearch>, String>;
}

impl fmt::Debug for dyn StateSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StateSpace")
    }
}

/// A search over states that is under way.
pub trait StateSearch: Send {
    /// Goes on for a few milliseconds. What was found, once it is over.
    ///
    /// # Errors
    /// Why it cannot go on.
    fn advance(&mut self) -> Result<Option<FoundStates>, CannotSearch>;

    /// How far it is.
    fn progress(&self) -> StateProgress;

    /// What it needs to go on in another process; none if it was not asked to be saved, or has ended meanwhile.
    fn save(&mut self) -> Option<SavedStates>;
}

/// A search over states that was saved.
///
/// States are values of the program's own types, and are not in it: what is yet to be gone on from is known by the steps
/// that lead there, which are taken once more. What has been seen is in it as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedStates {
    /// What counts as a part of a state: the time, the numbers of timers.
    pub exact: (bool, bool),
    /// What has been seen, part by part: its slots, of which 0 is a free one, and the price of each if there are prices.
    pub seen: Vec<(Vec<u64>, Vec<u8>)>,
    /// How many states were not kept among what has been seen.
    pub dropped: u64,
    /// How many states were counted against the limit.
    pub counted: u64,
    /// Of a stratified search: the most delays of the strata that are gone through, and of those that are finished.
    pub strata: (u32, Option<u32>),
    /// Steps, each after the first state or after another step that stands before it.
    pub steps: Vec<SavedStep>,
    /// What is yet to be gone on from, in order.
    pub entries: Vec<SavedEntry>,
    /// What was done so far.
    pub done: SavedTally,
}

/// A step of a search that was saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedStep {
    /// 0: after the first state; n: after the n-th step.
    pub after: u32,
    /// What was delivered: its kind and two numbers.
    pub delivered: (u8, u32, u32),
    /// The values that were decided in it.
    pub values: Vec<u32>,
}

/// A state that is yet to be gone on from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedEntry {
    /// 0: the first state; n: the state after the n-th step.
    pub at: u32,
    /// Its fingerprint, to see that the program is the same.
    pub fingerprint: u64,
    /// Whether it is for the next round.
    pub later: bool,
    /// Of a stratified search: the delays that lead to it.
    pub spent: u32,
    /// How much of it was tried; depth-first: how much is left to be tried.
    pub tried: u32,
    /// Values that are to be tried next: of which offer, and which.
    pub values: Vec<(u32, Vec<u32>)>,
}

/// What a search over states has done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedTally {
    /// Steps.
    pub transitions: u64,
    /// States that were made by steps.
    pub made: u64,
    /// States in which nothing is left to be handled.
    pub finals: u64,
    /// The most steps to a state.
    pub depth: u32,
    /// Whether a limit on the depth left something out.
    pub cut: bool,
    /// By property: whether it is a goal that was reached.
    pub reached: Vec<bool>,
    /// How many parts of states are told apart by their fingerprints alone.
    pub parts: u64,
}

impl fmt::Debug for dyn StateSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateSearch").field("progress", &self.progress()).finish()
    }
}

/// Why a search over states cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CannotSearch {
    /// A clause.
    pub why: String,
    /// Whether something that it was given is wrong, such as an explorer of the user's, and not the states.
    pub mistaken: bool,
}

/// How far a search over states is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateProgress {
    /// Different states so far.
    pub unique: u64,
    /// States that are yet to be gone on from.
    pub waiting: u64,
    /// Bytes for what has been seen and what is yet to be gone on from.
    pub bytes: u64,
}

/// What a search over states found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundStates {
    /// What was covered.
    pub covered: Covered,
    /// Whether it ended by itself: then it visited all that it was asked for.
    pub ended: bool,
    /// What must not be, if there is something.
    pub violation: Option<FoundViolation>,
    /// What else there is to say, as a sentence: how many states and steps there were.
    pub summary: String,
}

/// Something that must not be, and the execution that shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundViolation {
    /// What is wrong.
    pub what: String,
    /// The decisions of an execution that shows it, as options; none if there is no such execution.
    pub decisions: Option<Vec<u32>>,
}
