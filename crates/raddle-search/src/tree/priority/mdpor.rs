//! `mdpor`: `dpor`, but what a reduction adds only to be on the safe side comes after what it adds because
//! that very task raced. GAMBIT's. A switch that is no preemption is one of those (see `race.rs`).

use super::{Candidate, Cost, Priority, Reversal, Sees};

/// Reversals of races first, of these the ones that are not merely conservative.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModifiedDpor;

impl ModifiedDpor {
    fn of(reversal: Reversal) -> Cost {
        Cost(match reversal {
            Reversal::Race => 0,
            Reversal::Conservative => 1,
            Reversal::None => 2,
        })
    }
}

impl Priority for ModifiedDpor {
    fn name(&self) -> String {
        "mdpor".to_owned()
    }

    fn sees(&self) -> Sees {
        Sees { races: true, ..Sees::default() }
    }

    fn cost(&mut self, candidate: &Candidate) -> Cost {
        let cost = Self::of(candidate.reversal);
        // Never better than a race: see `race.rs` for what that cost.
        if candidate.is_free_switch() { cost.min(Self::of(Reversal::Conservative)) } else { cost }
    }

    fn improved(&self, reversal: Reversal) -> Option<Cost> {
        // A reversal is no worse than a free switch, so whether it was one need not be known here.
        Some(Self::of(reversal))
    }
}
