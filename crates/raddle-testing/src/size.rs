//! Whether a program has more interleavings than a comparison can run, from a few dozen executions.
//!
//! An execution that takes every option of every point with the same chance has the product of the numbers of
//! options as its weight; the mean of the weights is, on average, the number of interleavings (Knuth, Mathematics of
//! Computation 1975). To run `most` executions only to learn that there are more of them costs as much as hundreds of
//! programs that are compared.
//!
//! A program is taken for too large if the mean is above `most` by three times its standard error. A weight that is far
//! above the others raises both, so a few of them do not decide. A mean that is not so far above decides nothing: the
//! search runs, and its own limit holds.
//!
//! Misses: most weights of an unbalanced program are below their mean, so some large programs are run up to the limit.
//! Overreports: a program within the limit may be taken for a larger one, if it is close to the limit. Draws are the same
//! in every run, so it is always the same one.

use raddle_engine::strategy::{Answer, Finished, Needs, Plan, Point, Strategy};
use raddle_trace::Covered;
use raddle_trace::hash::{GAMMA, mix};

/// By how many standard errors the mean of the weights must be above the limit.
const ERRORS: f64 = 3.0;

/// Draws executions with equal chances and adds up their weights.
///
/// ```
/// use raddle_testing::SizeProbes;
///
/// let probes = SizeProbes::new(20_000);
/// assert!(!probes.finds_too_many(), "nothing was drawn yet");
/// ```
#[derive(Clone, Debug)]
pub struct SizeProbes {
    most: u64,
    drawn: u64,
    state: u64,
    /// Of the weights, and of their squares.
    sum: f64,
    squares: f64,
}

impl SizeProbes {
    /// For programs that are to have at most so many interleavings.
    #[must_use]
    pub fn new(most: u64) -> Self {
        Self { most, drawn: 0, state: mix(0), sum: 0.0, squares: 0.0 }
    }

    /// After so many executions it knows enough: a small part of what a search up to the limit runs.
    fn wanted(&self) -> u64 {
        (self.most / 64).clamp(32, 256)
    }

    /// Whether to draw on is worth less than to run the search: half of all programs have a few hundred interleavings.
    #[expect(clippy::cast_precision_loss, reason = "an estimate has few digits")]
    fn looks_small(&self) -> bool {
        self.drawn >= 16 && self.sum * 8.0 < self.most as f64 * self.drawn as f64
    }

    /// Whether the program has more interleavings, as far as these executions tell.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "an estimate has few digits")]
    pub fn finds_too_many(&self) -> bool {
        if self.drawn < self.wanted() {
            return false;
        }
        let n = self.drawn as f64;
        let mean = self.sum / n;
        let variance = (self.squares / n - mean * mean).max(0.0);
        mean - ERRORS * (variance / n).sqrt() > self.most as f64
    }
}

impl Strategy for SizeProbes {
    fn needs(&self) -> Needs {
        Needs { plans: false, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        plan.prefix.clear();
        plan.memoryless = true;
        self.drawn < self.wanted() && !self.looks_small()
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        let drawn = mix(self.state) >> 32;
        self.state = self.state.wrapping_add(GAMMA);
        Answer::Take(((drawn * u64::from(point.arity())) >> 32) as u32)
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.drawn += 1;
        let weight = execution.decisions.iter().map(|taken| f64::from(taken.of)).product::<f64>();
        self.sum += weight;
        self.squares += weight * weight;
    }

    fn covered(&self) -> Covered {
        Covered::Sample { executions: self.drawn, bound: None }
    }
}

#[cfg(test)]
mod tests {
    use raddle_engine::{Setup, Stop, explore, rt};

    use super::*;

    fn too_many(most: u64, program: &dyn Fn()) -> bool {
        let mut probes = SizeProbes::new(most);
        explore(&mut probes, &Setup::default(), &mut |_| Stop::No, &mut |_| {}, program)
            .expect("a search can run here");
        probes.finds_too_many()
    }

    #[test]
    fn a_program_is_too_large_from_one_execution_above_the_limit_if_all_weigh_the_same() {
        let balanced = || (0..10).for_each(|_| _ = rt::choose(2));
        assert!(too_many(1_023, &balanced) && !too_many(1_024, &balanced));
    }

    #[test]
    fn few_heavy_executions_do_not_decide() {
        // One value of sixteen leads to 1,024 executions: 1,039 in all.
        let lopsided = || {
            if rt::choose(16) == 0 {
                (0..10).for_each(|_| _ = rt::choose(2));
            }
        };
        assert!(!too_many(1_039, &lopsided) && !too_many(500, &lopsided));
    }
}
