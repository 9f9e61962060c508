//! Random probes beside a search, for the size of its space: Knuth, Mathematics of Computation 1975.
//!
//! A probe is an execution that takes every option of every point with the same chance, from the first
//! point on. The product of the numbers of options it met is, on average over all probes, the number of
//! executions: unbiased, whatever the tree, which no estimate along a search is. With a bound the
//! options are those within it.
//!
//! Probes are executions of their own. The search does not hear of them: it runs what it would run
//! without them, and its guarantee counts only what it ran. The engine counts them among the executions,
//! because they are; a failure in one is real. [`Probed`] has their number.
//!
//! Misses: the product is far from its mean where the tree is unbalanced, and mostly below: few probes
//! meet the part with most of the executions.
//! Overreports: nothing that the band does not say.

use raddle_engine::strategy::{
    Answer, Checkpoint, Cut, Divisible, Estimating, Event, Finished, Needs, Options, Plan, Point,
    Remarks, Resumable, SearchPart, Strategy, Unsupported,
};
use raddle_trace::progress::MAX_ESTIMATE;
use raddle_trace::{Band, Covered, Probed, Progress};

use crate::bound::Bound;
use crate::order::{NonPreemptive, Order};
use crate::rng::Rng;
use crate::state::{FOREIGN, Reader, Writer};

const NAME: &str = "probes";

/// A search with random probes between its executions.
///
/// ```
/// use raddle_search::{Bound, DepthFirst, probe::Probes};
///
/// // After every ten executions of the search, one probe.
/// let probes = Probes::new(DepthFirst::default(), 10, Bound::None, 7);
/// assert_eq!(probes.count(), 0);
/// ```
#[derive(Debug)]
pub struct Probes<S> {
    inner: S,
    /// Executions of the search from one probe to the next.
    every: u32,
    bound: Bound,
    rng: Rng,
    /// Executions of the search since the last probe.
    since: u32,
    /// Whether the running execution is a probe.
    probing: bool,
    /// The decisions of the search's own last execution, while the engine has those of a probe.
    kept: Vec<u32>,
    /// Whether the engine's are a probe's.
    stale: bool,
    spent: u32,
    weight: f64,
    /// Probes that came to their end; the sum of their weights, and of the squares.
    n: u64,
    sum: f64,
    squares: f64,
}

impl<S: Strategy> Probes<S> {
    /// Runs one probe after `every` executions of `inner`, within its bound.
    #[must_use]
    pub fn new(inner: S, every: u32, bound: Bound, seed: u64) -> Self {
        Self {
            inner,
            every: every.max(1),
            bound,
            rng: Rng::new(seed),
            since: 0,
            probing: false,
            kept: Vec::new(),
            stale: false,
            spent: 0,
            weight: 1.0,
            n: 0,
            sum: 0.0,
            squares: 0.0,
        }
    }

    /// How many probes came to their end.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.n
    }

    /// What they say.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "an estimate has few digits")]
    pub fn probed(&self) -> Option<Probed> {
        if self.n == 0 {
            return None;
        }
        let n = self.n as f64;
        let about = self.sum / n;
        // The relative standard error, and something for weights that have not been seen yet.
        let variance = (self.squares / n / about / about - 1.0).max(0.0);
        let unit = (variance / n).sqrt() + 0.3 * about.ln() / n;
        let low = (about * (-BELOW * unit).exp()).max(1.0);
        let high = (about * (ABOVE * unit).exp()).min(MAX_ESTIMATE);
        Some(Probed { total: Band { about, low: low.min(about), high }, probes: self.n })
    }

    /// Any of the options within the bound.
    fn draw(&mut self, point: &Point<'_>) -> u32 {
        let of = point.arity();
        let default = match point.options {
            Options::Schedule(_) => NonPreemptive.next(point),
            Options::Value { .. } => 0,
        };
        let price = self.bound.price(point, default);
        let width = price.within(self.bound.limit() - self.spent, of);
        self.weight = (self.weight * f64::from(width)).min(MAX_ESTIMATE);
        if width == 1 {
            return default;
        }
        let option = self.rng.below(of);
        self.spent += price.cost(u32::from(option != default));
        option
    }

    fn write(&self, own: bool, inner: &Checkpoint) -> Checkpoint {
        let mut writer = Writer::new(NAME);
        writer.number(self.every.into());
        writer.number(self.rng.state());
        writer.number(if own { self.since.into() } else { 0 });
        writer.number(if own { self.n } else { 0 });
        writer.real(if own { self.sum } else { 0.0 });
        writer.real(if own { self.squares } else { 0.0 });
        writer.bytes(&inner.0);
        writer.finish()
    }
}

/// Standard errors, on the scale of logarithms, below and above: calibrated as the bands of searches
/// (`estimate/band.rs`). More above, since few probes meet large weights.
const BELOW: f64 = 1.3;
const ABOVE: f64 = 2.8;

impl<S: Strategy> Strategy for Probes<S> {
    fn needs(&self) -> Needs {
        self.inner.needs()
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        if self.probing {
            // A probe that never ended is given up.
            self.probing = false;
        } else if self.since >= self.every {
            self.since = 0;
            self.probing = true;
            if !self.stale {
                self.kept.clone_from(&plan.prefix);
                self.stale = true;
            }
            plan.prefix.clear();
            self.spent = 0;
            self.weight = 1.0;
            return true;
        }
        if std::mem::take(&mut self.stale) {
            plan.prefix.clone_from(&self.kept);
        }
        self.inner.begin(plan)
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        if self.probing { Answer::Take(self.draw(point)) } else { self.inner.decide(point) }
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        if self.probing { None } else { self.inner.step(event) }
    }

    fn end(&mut self, execution: &Finished<'_>) {
        if !std::mem::take(&mut self.probing) {
            self.since += 1;
            self.inner.end(execution);
            return;
        }
        self.n += 1;
        self.sum = (self.sum + self.weight).min(MAX_ESTIMATE);
        self.squares = (self.squares + self.weight * self.weight).min(MAX_ESTIMATE);
    }

    fn covered(&self) -> Covered {
        self.inner.covered()
    }

    fn remarks(&self) -> Remarks {
        self.inner.remarks()
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }

    fn divisible(&mut self) -> Option<&mut dyn Divisible> {
        Some(self)
    }

    fn estimating(&self) -> Option<&dyn Estimating> {
        Some(self)
    }
}

impl<S: Strategy> Estimating for Probes<S> {
    fn progress(&self) -> Progress {
        let inner: &dyn Strategy = &self.inner;
        let mut progress = inner.progress();
        if let Some(estimate) = &mut progress.estimate {
            estimate.probed = self.probed();
        }
        progress
    }
}

impl<S: Strategy> Divisible for Probes<S> {
    fn split(&mut self, n: usize) -> Result<Vec<SearchPart>, Unsupported> {
        let inner: &mut dyn Strategy = &mut self.inner;
        let mut parts = inner.split(n)?;
        // Probes go through the whole space, so those of a part begin anew, and draw other numbers.
        for part in &mut parts {
            self.rng.next();
            part.state = self.write(false, &part.state);
        }
        Ok(parts)
    }

    // Its probes are of the whole space: it is not run in units.
    fn parts(&self) -> usize {
        1
    }

    fn claim(&self) -> Covered {
        self.covered()
    }
}

impl<S: Strategy> Resumable for Probes<S> {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        let inner: &mut dyn Strategy = &mut self.inner;
        let state = inner.save()?;
        Ok(self.write(true, &state))
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let mut reader = Reader::new(state, NAME)?;
        if reader.small()? != self.every {
            return Err(FOREIGN);
        }
        let rng = Rng::from_state(reader.number()?);
        let (since, n) = (reader.small()?, reader.number()?);
        let (sum, squares) = (reader.real()?, reader.real()?);
        let state = Checkpoint(reader.bytes()?.to_vec());
        reader.finish()?;
        let inner: &mut dyn Strategy = &mut self.inner;
        inner.restore(&state)?;
        (self.rng, self.since, self.n) = (rng, since, n);
        (self.sum, self.squares) = (sum, squares);
        (self.probing, self.stale) = (false, false);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
