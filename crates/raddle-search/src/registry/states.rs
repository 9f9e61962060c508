//! What names searches over states: `states(bfs)`, `states(dfs)`, and what `strata` is of a model.

use std::fmt;

use raddle_engine::states::{AskedStates, StateOrder};

use super::recipe::Recipe;
use super::{BuildError, Part, wrong_arguments};
use crate::grammar::{Arg, Term};

/// What may stand in the brackets of `states`.
pub(super) const STATES: &str = "bfs | dfs, depth(n), threads(n)";

/// A search over states, as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OfStates {
    pub(super) depth_first: bool,
    pub(super) limits: Limits,
}

/// What holds of states alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) depth: Option<u32>,
    pub(super) threads: Option<u32>,
}

impl Limits {
    /// Reads a setting. `false` if it is none of these.
    pub(super) fn read(&mut self, term: &Term) -> bool {
        match (term.name.as_str(), term.args.as_slice()) {
            ("depth", [Arg::Number(n)]) if *n > 0 => self.depth = Some(*n),
            ("threads", [Arg::Number(n)]) if *n > 0 => self.threads = Some(*n),
            _ => return false,
        }
        true
    }

    pub(super) fn of(self, order: StateOrder) -> AskedStates {
        let threads = self.threads.map_or(1, |threads| threads as usize);
        AskedStates { order, depth: self.depth, threads, bytes: None, saved: false }
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(depth) = self.depth {
            write!(f, ", depth({depth})")?;
        }
        self.threads.map_or(Ok(()), |threads| write!(f, ", threads({threads})"))
    }
}

impl fmt::Display for OfStates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = if self.depth_first { "dfs" } else { "bfs" };
        write!(f, "states({order}{})", self.limits)
    }
}

/// Reads the brackets of `states`.
pub(super) fn states(part: &Part<'_>) -> Result<OfStates, BuildError> {
    let wrong = || wrong_arguments(part.entry, part.term);
    let mut states = OfStates::default();
    for (nth, arg) in part.term.args.iter().enumerate() {
        let Arg::Term(term) = arg else { return Err(wrong()) };
        match (nth, term.name.as_str(), term.args.is_empty()) {
            (0, "bfs", true) => {}
            (0, "dfs", true) => states.depth_first = true,
            _ if states.limits.read(term) => {}
            _ => return Err(wrong()),
        }
    }
    if states.depth_first && states.limits != Limits::default() { Err(wrong()) } else { Ok(states) }
}

/// Makes the search one over states.
pub(super) fn set_states(part: &Part<'_>, recipe: &mut Recipe) -> Result<(), BuildError> {
    recipe.states = Some(states(part)?);
    Ok(())
}
