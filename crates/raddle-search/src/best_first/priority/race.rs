//! `dpor`: what dynamic partial-order reduction would have added first, then the rest. GAMBIT's.
//!
//! A switch that is no preemption, because the running task waits, yielded or is done, is not put off
//! either. GAMBIT says why one would want that (section 5.2, of its ScatterGather): within a bound the
//! reversal of a race may cost a preemption too many where another task, let go first when it was
//! free, has the same effect.
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
        if candidate.is_free_switch() { Cost(0) } else { Self::of(candidate.reversal) }
    }

    fn improved(&self, reversal: Reversal) -> Option<Cost> {
        Some(Self::of(reversal))
    }
}
