//! `delays`: the fewest delays of the explorer first, in strata of so many at once.
//!
//! Emmi, Qadeer and Rakamarić, POPL 2011; Desai, Qadeer and Seshia, FSE 2015.

use super::{Candidate, Cost, Priority};

/// Fewest delays first.
#[derive(Clone, Copy, Debug)]
pub struct Delays {
    increment: u32,
}

impl Default for Delays {
    fn default() -> Self {
        Self::by(1)
    }
}

impl Delays {
    /// By so many delays at once: those with 1 up to `increment` delays count as equal, and so on. 0 counts
    /// as 1.
    #[must_use]
    pub fn by(increment: u32) -> Self {
        // It is divided by.
        Self { increment: increment.max(1) }
    }
}

impl Priority for Delays {
    fn name(&self) -> String {
        match self.increment {
            1 => "delays".to_owned(),
            n => format!("delays({n})"),
        }
    }

    fn counts_delays(&self) -> bool {
        true
    }

    fn cost(&mut self, candidate: &Candidate) -> Cost {
        // Rounded up, so that executions without a delay are a stratum of their own.
        Cost(candidate.delays.div_ceil(self.increment))
    }
}
