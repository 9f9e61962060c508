//! Searches over states: what a strategy asks of a frontend whose states can be kept, and what comes of it.
//!
//! The engine runs executions and knows no states. A frontend that can copy the whole state of what a test runs says so
//! in an execution ([`rt::offer_states`](crate::rt::offer_states)); a strategy that wants states takes the offer
//! ([`Stateful`](crate::strategy::Stateful)), has the frontend search between two executions, and has what was found
//! run as an ordinary execution.

use std::fmt;

use raddle_trace::Covered;

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
}

/// States that can be searched.
pub trait StateSpace: Send + Sync {
    /// Begins a search.
    ///
    /// # Errors
    /// Why it cannot be searched: a clause.
    fn search(&self, asked: &AskedStates) -> Result<Box<dyn StateSearch>, String>;
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
#[derive(Clone, Debug)]
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
#[derive(Clone, Debug)]
pub struct FoundViolation {
    /// What is wrong.
    pub what: String,
    /// The decisions of an execution that shows it, as options; none if there is no such execution.
    pub decisions: Option<Vec<u32>>,
}
