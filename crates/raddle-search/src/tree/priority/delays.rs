//! `delays`: the fewest departures from the default order first, as delay bounding counts them with one
//! for each (Emmi, Qadeer, Rakamarić, POPL 2011, count one for each task that is passed over).

use super::{Candidate, Cost, Priority};

/// Fewest departures from the default order first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delays;

impl Priority for Delays {
    fn name(&self) -> String {
        "delays".to_owned()
    }

    fn cost(&mut self, candidate: &Candidate) -> Cost {
        Cost(candidate.delays)
    }
}
