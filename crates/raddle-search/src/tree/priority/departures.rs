//! `departures`: the fewest departures from the default order first, whatever each passes over.

use super::{Candidate, Cost, Priority};

/// Fewest departures from the default order first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Departures;

impl Priority for Departures {
    fn name(&self) -> String {
        "departures".to_owned()
    }

    fn cost(&mut self, candidate: &Candidate) -> Cost {
        // Counts switches away from a task that waits, too, which `pb` takes to be free.
        Cost(candidate.departures)
    }
}
