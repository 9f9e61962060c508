//! `dpor`: what dynamic partial-order reduction would have added first, then the rest. GAMBIT's.
//!
//! A race is one by happens-before, as in our reductions; GAMBIT takes for each thread the last step that
//! conflicts. A candidate for which a race is found in a later execution moves up.

use super::{Candidate, Cost, Priority, Reversal, Sees};

/// Reversals of races first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dpor;

impl Dpor {
    fn of(reversal: Reversal) -> Cost {
        Cost(u32::from(reversal == Reversal::None))
    }
}

impl Priority for Dpor {
    fn name(&self) -> String {
        "dpor".to_owned()
    }

    fn sees(&self) -> Sees {
        Sees { races: true, ..Sees::default() }
    }

    fn cost(&mut self, candidate: &Candidate) -> Cost {
        Self::of(candidate.reversal)
    }

    fn improved(&self, reversal: Reversal) -> Option<Cost> {
        Some(Self::of(reversal))
    }
}
