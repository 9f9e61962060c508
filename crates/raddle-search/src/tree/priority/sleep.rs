//! `ss`: what sleep sets (Godefroid 1996) would not have left out first, then the rest. GAMBIT's.
//!
//! Siblings sleep in the order in which they were started. An execution that goes on with a task that
//! sleeps repeats another one, and so does all that follows: it comes last.

use super::{Candidate, Cost, Priority, Sees};

/// What does not sleep first.
#[derive(Clone, Copy, Debug, Default)]
pub struct SleepSets;

impl Priority for SleepSets {
    fn name(&self) -> String {
        "ss".to_owned()
    }

    fn sees(&self) -> Sees {
        Sees { sleep: true, ..Sees::default() }
    }

    fn cost(&mut self, candidate: &Candidate) -> Cost {
        // Last and not never: without a reduction every execution is run.
        Cost(u32::from(candidate.asleep))
    }
}
