//! `dpor`: what dynamic partial-order reduction would have added first, then the rest. GAMBIT's.
//!
//! A switch that is no preemption, because the running task waits, yielded or is done, comes before the rest.
//! GAMBIT says why one would want that (section 5.2, of its ScatterGather): within a bound the reversal
//! of a race may cost a preemption too many where another task, let go first when it was free, has the same
//! effect. Not before the races: on `scatter-gather-lost` within two preemptions that took ten times the
//! executions.
//!
//! A race is one by happens-before, as in our reductions; GAMBIT takes for each thread the last step that
//! conflicts. A candidate for which a race is found in a later execution moves up.

use super::{Candidate, Cost, Priority, Reversal, Sees};

/// Reversals of races first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dpor;

impl Dpor {
    fn of(reversal: Reversal) -> Cost {
        // 1 is left for free switches, between races and the rest.
        Cost(if reversal == Reversal::None { 2 } else { 0 })
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
        let cost = Self::of(candidate.reversal);
        if candidate.is_free_switch() { cost.min(Cost(1)) } else { cost }
    }

    fn improved(&self, reversal: Reversal) -> Option<Cost> {
        // Either 0, which no free switch is below, or what it was.
        Some(Self::of(reversal))
    }
}
