//! Random search: every option of every point with the same chance.
//!
//! The baseline of every other sampler. It follows no paper. Equal chances at each point are not
//! equal chances for each schedule: a schedule of `m` decisions among two options has `2^-m`.
//!
//! Misses: bugs that need one task to stay behind for long, with a chance that shrinks
//! exponentially in the number of its rivals' steps.
//! Overreports: nothing. Every schedule drawn is one that the program can take.
//!
//! # Why: The engine's points alone
//! shuttle's random scheduler decides at other points, where that changes nothing but how often an execution is drawn. With
//! these some bugs are more frequent and more of them rarer: `docs/decisions/points-of-random.md`.

use raddle_engine::strategy::{
    Answer, Checkpoint, Finished, Needs, Plan, Point, Resumable, Shortcut, Strategy, Unsupported,
};
use raddle_trace::Covered;

use crate::rng::Rng;
use crate::state::{Reader, Writer};

const NAME: &str = "random";

/// Picks one of the options, each with the same chance.
#[derive(Clone, Debug)]
pub struct Random {
    rng: Rng,
    executions: u64,
}

impl Random {
    /// The sampler of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed), executions: 0 }
    }
}

impl Strategy for Random {
    fn needs(&self) -> Needs {
        Needs { plans: false, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        plan.prefix.clear();
        plan.memoryless = true;
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        Answer::Take(self.rng.below(point.arity()))
    }

    fn shortcut(&mut self) -> Option<Shortcut<'_>> {
        Some(Shortcut::Draws(&mut self.rng))
    }

    fn end(&mut self, _: &Finished<'_>) {
        self.executions += 1;
    }

    fn covered(&self) -> Covered {
        Covered::Sample { executions: self.executions, bound: None }
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }
}

impl Resumable for Random {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        let mut writer = Writer::new(NAME);
        writer.number(self.rng.state());
        writer.number(self.executions);
        Ok(writer.finish())
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let mut reader = Reader::new(state, NAME)?;
        let (rng, executions) = (Rng::from_state(reader.number()?), reader.number()?);
        reader.finish()?;
        *self = Self { rng, executions };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::toy::{self, Toy};

    #[test]
    fn one_seed_gives_one_sequence_of_executions() {
        let toy = Toy::independent(&[3, 3]);
        let run = |seed| toy::first(&mut Random::new(seed), &toy, 20);
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }

    // Two tasks of one step: one point, two options. The deviation of 10,000 draws is 50.
    #[test]
    fn the_options_of_a_point_come_up_equally_often() {
        let toy = Toy::independent(&[1, 1]);
        let mut counts = BTreeMap::new();
        for moves in toy::first(&mut Random::new(3), &toy, 10_000) {
            *counts.entry(moves).or_insert(0_i32) += 1;
        }
        assert_eq!(counts.len(), 2);
        assert!(counts.values().all(|n| (n - 5_000).abs() < 300), "{counts:?}");
    }

    #[test]
    fn a_restored_sampler_goes_on_where_it_was() {
        let toy = Toy::independent(&[2, 3, 1]);
        let mut random = Random::new(5);
        toy::first(&mut random, &toy, 7);
        let mut other = Random::new(99);
        other.restore(&random.save().unwrap()).unwrap();
        assert_eq!(toy::first(&mut other, &toy, 7), toy::first(&mut random, &toy, 7));
        assert_eq!(other.covered(), Covered::Sample { executions: 14, bound: None });
    }

    #[test]
    fn a_foreign_state_is_refused_and_changes_nothing() {
        let mut random = Random::new(5);
        let before = random.save();
        random.restore(&Checkpoint(b"something else".to_vec())).unwrap_err();
        assert_eq!(random.save(), before);
    }
}
