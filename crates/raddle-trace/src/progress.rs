//! How far a search is: what was run, what is known of the rest, and how sure that is.
//!
//! The strategy fills in what it knows of its space, the caller what needs a clock. Numbers of
//! executions are real numbers here: most are estimates, and spaces of 10^17 executions are common.

use serde::{Deserialize, Serialize};

use crate::guarantee::TraceCount;
use crate::pairs::PairCount;
use crate::receives::ReceiveCount;

/// The version of [`Progress`] that this crate writes.
pub const VERSION: u32 = 1;

/// No estimate is larger: what would be is written as this.
pub const MAX_ESTIMATE: f64 = 1e300;

/// An estimated number and the band in which it should be with a chance of 90 %.
///
/// The band is calibrated on programs with known counts; how often it held on others is in
/// `docs/results/estimates.md`. Invariant: `low <= about <= high`.
///
/// Misses: a band is no promise. About one in ten does not hold the true number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// The estimate.
    pub about: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Band {
    /// A number that is known.
    #[must_use]
    pub fn exact(number: f64) -> Self {
        Self { about: number, low: number, high: number }
    }

    /// Whether its ends are at most three orders of magnitude apart. What is wider is no help in planning, and
    /// reports for people leave it out.
    ///
    /// ```
    /// use raddle_trace::Band;
    ///
    /// assert!(Band { about: 2e4, low: 5e3, high: 1e6 }.is_narrow());
    /// assert!(!Band { about: 1e17, low: 1e12, high: 1e20 }.is_narrow());
    /// ```
    #[must_use]
    pub fn is_narrow(&self) -> bool {
        self.high <= self.low.max(1.0) * 1e3
    }

    /// This and another number.
    #[must_use]
    pub fn and(self, more: Self) -> Self {
        let add = |one: f64, other: f64| (one + other).min(MAX_ESTIMATE);
        Self {
            about: add(self.about, more.about),
            low: add(self.low, more.low),
            high: add(self.high, more.high),
        }
    }

    /// This without a number that is known.
    #[must_use]
    pub fn without(self, number: f64) -> Self {
        let less = |one: f64| (one - number).max(0.0);
        Self { about: less(self.about), low: less(self.low), high: less(self.high) }
    }

    /// So much of it.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { about: self.about * factor, low: self.low * factor, high: self.high * factor }
    }

    /// Whether a number is inside.
    #[must_use]
    pub fn holds(&self, number: f64) -> bool {
        self.low <= number && number <= self.high
    }
}

/// What a search is estimated to come to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Executions of the space: all within the bound. Under a reduction or with a cache that is more
    /// than the search will run.
    pub total: Band,
    /// How many of these are covered by what was run.
    pub covered: f64,
    /// Executions that the search will have run at its end.
    pub search: Band,
    /// [`total`](Self::total) by another rule, the weighted one: executions that were run, by the
    /// chance that a random descent meets one of them. None where the search leaves out executions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weighted: Option<f64>,
    /// [`total`](Self::total) from random probes, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probed: Option<Probed>,
}

impl Estimate {
    /// What is estimated to be left: of the space, and to be run.
    #[must_use]
    pub fn left(&self) -> (Band, Band) {
        let covered = if self.total.about > 0.0 { self.covered / self.total.about } else { 1.0 };
        (self.total.without(self.covered), self.search.times((1.0 - covered).max(0.0)))
    }
}

/// An estimate from random descents: Knuth's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probed {
    /// Executions of the space.
    pub total: Band,
    /// Executions that were run for this alone. They are not among those of the search.
    pub probes: u64,
}

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// The version of this format: [`VERSION`].
    pub version: u32,
    /// Executions that were run, probes among them.
    pub executions: u64,
    /// Wall time in milliseconds, as measured by the caller.
    pub elapsed_ms: u64,
    /// Executions per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Distinct partial orders, if they are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traces: Option<TraceCount>,
    /// Pairs of statements of which one directly preceded the other, if they are learned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<PairCount>,
    /// Orders in which actors received two messages, if they are looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receives: Option<ReceiveCount>,
    /// What the search is estimated to come to, if the strategy knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// The part of the space that is covered, from 0 to 1, if the strategy knows.
    pub covered: Option<f64>,
    /// Milliseconds until the search is done, if it goes on at its rate; none where the estimate is too wide
    /// for that ([`Band::is_narrow`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_ms: Option<f64>,
    /// Every execution with at most so many preemptions has been run, of a search that goes on to more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<u32>,
    /// The wall time that the search may take, in milliseconds, if it is limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_ms: Option<u64>,
    /// The executions that it may run, if they are limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_executions: Option<u64>,
    /// Alternatives that are known and have not been run.
    pub pending: u64,
    /// Bytes that the strategy holds for them.
    pub frontier_bytes: u64,
}

impl Default for Progress {
    /// Nothing was run and nothing is known.
    fn default() -> Self {
        Self {
            version: VERSION,
            executions: 0,
            elapsed_ms: 0,
            rate: None,
            traces: None,
            pairs: None,
            receives: None,
            estimate: None,
            covered: None,
            left_ms: None,
            bound: None,
            limit_ms: None,
            limit_executions: None,
            pending: 0,
            frontier_bytes: 0,
        }
    }
}

impl Progress {
    /// This, with what a clock adds: `executions` were run in `elapsed_ms`.
    ///
    /// ```
    /// use raddle_trace::{Band, Estimate, Progress};
    ///
    /// let search = Band { about: 3_000.0, low: 2_000.0, high: 5_000.0 };
    /// let estimate = Estimate { total: search, covered: 1_000.0, search, weighted: None, probed: None };
    /// let progress = Progress { estimate: Some(estimate), ..Progress::default() };
    /// // 1,000 executions took 2 s, and 2,000 are left.
    /// let progress = progress.timed(1_000, 2_000);
    /// assert_eq!(progress.rate, Some(500.0));
    /// assert_eq!(progress.left_ms, Some(4_000.0));
    /// ```
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a rate has few digits")]
    pub fn timed(self, executions: u64, elapsed_ms: u64) -> Self {
        let elapsed = elapsed_ms as f64;
        let rate = (elapsed_ms > 0).then(|| executions as f64 * 1e3 / elapsed);
        let left = |estimate: Estimate| {
            // Probes take time and are none of the search's own.
            let probes = estimate.probed.map_or(0, |probed| probed.probes);
            let run = executions.saturating_sub(probes) as f64;
            let more = (estimate.search.about - run).max(0.0);
            (run > 0.0 && elapsed_ms > 0).then(|| (more * (elapsed / run)).min(MAX_ESTIMATE))
        };
        let left_ms = self.estimate.filter(|estimate| estimate.search.is_narrow()).and_then(left);
        Self { executions, elapsed_ms, rate, left_ms, ..self }
    }

    /// Milliseconds until the search is over: because it is done, or because it has used what it may.
    ///
    /// ```
    /// use raddle_trace::Progress;
    ///
    /// let progress = Progress { limit_ms: Some(10_000), ..Progress::default() };
    /// assert_eq!(progress.timed(500, 4_000).over_in_ms(), Some(6_000.0));
    /// // At 125 executions in a second, 100 more are there sooner.
    /// let progress = Progress { limit_executions: Some(600), ..progress };
    /// assert_eq!(progress.timed(500, 4_000).over_in_ms(), Some(800.0));
    /// ```
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "an estimate has few digits")]
    pub fn over_in_ms(&self) -> Option<f64> {
        let time = self.limit_ms.map(|limit| limit.saturating_sub(self.elapsed_ms) as f64);
        let more = self.limit_executions.map(|limit| limit.saturating_sub(self.executions) as f64);
        let rate = self.rate.filter(|rate| *rate > 0.0);
        let runs = more.zip(rate).map(|(more, rate)| more * 1e3 / rate);
        [self.left_ms, time, runs].into_iter().flatten().reduce(f64::min)
    }
}
