//! `rand`: any order, and still every execution once. GAMBIT's.
//!
//! Each candidate gets one of 1,024 costs. More would make every bin of the fringe a bin of one.

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
        Cost(self.rng.below(BINS))
    }
}
