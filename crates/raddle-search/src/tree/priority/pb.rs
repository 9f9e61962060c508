//! `pb`: the fewest preemptions first. GAMBIT's; with nothing before it, iterative context bounding
//! (Musuvathi and Qadeer, PLDI 2007) in one search: all without a preemption, then all with one, …

use super::{Candidate, Cost, Priority};

/// Fewest preemptions first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Preemptions;

impl Priority for Preemptions {
    fn name(&self) -> String {
        "pb".to_owned()
    }

    fn cost(&mut self, candidate: &Candidate) -> Cost {
        // Up to the candidate's own decision; what follows it is the default order, which preempts nothing.
        Cost(candidate.preemptions)
    }
}
