//! A sampler: a task that is picked goes on for a while before another is picked.

use raddle::Covered;
use raddle::extend::{Answer, Finished, Needs, Plan, Point, Rng, Strategy};

/// Picks a task at random, and stays with it for up to `longest` decisions as long as it can move.
#[derive(Debug)]
pub struct Bursts {
    rng: Rng,
    longest: u32,
    left: u32,
    executions: u64,
}

impl Bursts {
    /// The sampler of this seed.
    pub fn new(seed: u64, longest: u32) -> Self {
        Self { rng: Rng::new(seed), longest, left: 0, executions: 0 }
    }
}

impl Strategy for Bursts {
    fn needs(&self) -> Needs {
        Needs { plans: false, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        plan.prefix.clear();
        plan.memoryless = true;
        self.left = 0;
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        let stays = if self.left > 0 { point.running_option() } else { None };
        self.left = if stays.is_some() { self.left - 1 } else { self.rng.below(self.longest + 1) };
        Answer::Take(stays.unwrap_or_else(|| self.rng.below(point.arity())))
    }

    fn end(&mut self, _: &Finished<'_>) {
        self.executions += 1;
    }

    fn covered(&self) -> Covered {
        Covered::Sample { executions: self.executions, bound: None }
    }
}
