//! Iterative random search: every option with the same chance up to a depth, which is raised round by round.
//!
//! The baseline of Desai, Qadeer and Seshia, FSE 2015: round `i` takes `3^i` samples with `i + 1` times as many
//! decisions as the first one. Programs that do not end, or whose bugs are shallow, are then not drawn to their
//! full length each time. What comes after the depth is run by a fair order without questions, since an execution
//! has an end; a failure there is real.
//!
//! Misses: as `random`, and what is deeper than the last round.
//! Overreports: nothing.

use raddle_engine::strategy::{
    Answer, Checkpoint, Cut, Finished, Needs, Plan, Point, Resumable, Strategy, Unsupported,
};
use raddle_trace::Covered;

use crate::rng::Rng;
use crate::state::{FOREIGN, Reader, Writer};

const NAME: &str = "irs";

/// Draws executions up to a depth that grows.
#[derive(Clone, Debug)]
pub struct IterativeRandom {
    rng: Rng,
    /// How many decisions the depth grows by.
    increment: u32,
    round: u32,
    /// Samples of this round so far.
    samples: u64,
    executions: u64,
}

impl IterativeRandom {
    /// Begins with so many decisions; 0 counts as 1.
    #[must_use]
    pub fn new(seed: u64, increment: u32) -> Self {
        let increment = increment.max(1);
        Self { rng: Rng::new(seed), increment, round: 0, samples: 0, executions: 0 }
    }

    /// How many decisions are drawn in this round.
    fn depth(&self) -> u32 {
        self.increment.saturating_mul(self.round.saturating_add(1))
    }
}

impl Strategy for IterativeRandom {
    fn needs(&self) -> Needs {
        Needs { plans: false, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        plan.prefix.clear();
        if self.samples >= 3_u64.saturating_pow(self.round) {
            (self.round, self.samples) = (self.round.saturating_add(1), 0);
        }
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        if point.index >= self.depth() {
            return Answer::Cut(Cut::OutOfBound);
        }
        Answer::Take(self.rng.below(point.arity()))
    }

    fn end(&mut self, _: &Finished<'_>) {
        self.samples += 1;
        self.executions += 1;
    }

    fn covered(&self) -> Covered {
        Covered::Sample { executions: self.executions, bound: None }
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }
}

impl Resumable for IterativeRandom {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        let mut writer = Writer::new(NAME);
        writer.number(self.increment.into());
        writer.number(self.rng.state());
        writer.number(self.round.into());
        writer.number(self.samples);
        writer.number(self.executions);
        Ok(writer.finish())
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let mut reader = Reader::new(state, NAME)?;
        if reader.small()? != self.increment {
            return Err(FOREIGN);
        }
        let rng = Rng::from_state(reader.number()?);
        let (round, samples) = (reader.small()?, reader.number()?);
        let executions = reader.number()?;
        reader.finish()?;
        if samples > u64::MAX / 2 || executions > u64::MAX / 2 {
            return Err(FOREIGN);
        }
        *self = Self { rng, increment: self.increment, round, samples, executions };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::{self, Toy};

    // Rounds of 1, 3 and 9 samples with 2, 4 and 6 decisions drawn of 6 steps.
    #[test]
    fn each_round_draws_more_decisions_of_more_executions() {
        let toy = Toy::independent(&[4, 4]);
        let mut irs = IterativeRandom::new(1, 2);
        let mut plan = Plan::default();
        let mut cut = Vec::new();
        for _ in 0..13 {
            cut.push(toy::execute(&mut irs, &mut plan, &toy).unwrap().cut.is_some());
        }
        assert_eq!(irs.depth(), 6);
        assert!(cut[0] && cut[1..4].iter().all(|cut| *cut), "{cut:?}");
        assert_eq!(irs.covered(), Covered::Sample { executions: 13, bound: None });
    }
}
