//! `rand`: any order, and still every execution once. GAMBIT's.
//!
//! Each candidate gets one of 1,024 costs. More would make every bin a bin of one.

use super::{Candidate, Cost, Priority};
use crate::rng::Rng;

const BINS: u32 = 1024;

/// Any candidate first.
#[derive(Clone, Debug)]
pub struct Rand {
    rng: Rng,
}

impl Rand {
    /// Draws from this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed) }
    }
}

impl Priority for Rand {
    fn name(&self) -> String {
        "rand".to_owned()
    }

    fn cost(&mut self, _: &Candidate) -> Cost {
        // Drawn once, when the candidate becomes known: its place in the order is fixed then.
        Cost(self.rng.below(BINS))
    }

    fn save(&self, words: &mut Vec<u64>) {
        // So that a restored search draws what this one would have drawn.
        words.push(self.rng.state());
    }

    fn restore(&mut self, words: &mut dyn Iterator<Item = u64>) {
        self.rng = words.next().map_or_else(|| self.rng.clone(), Rng::from_state);
    }
}
