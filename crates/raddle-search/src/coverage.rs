//! Pairs of statements as a measure of any search: how many orders it has shown, and whether it still
//! shows new ones.
//!
//! An observer of any strategy, as in `traces.rs`. What is learned is in `hapset.rs`: which statement
//! directly preceded which of another task, or which one wrote what a statement saw. Only executions that
//! pass are learned from.
//!
//! Misses: what an execution shows that fails or that a limit ends.
//! Overreports: nothing.

use raddle_engine::observer::{Observer, ObserverNeeds};
use raddle_engine::strategy::{
    Checkpoint, Cut, Event, Finished, Needs, Plan, Resumable, Unsupported,
};
use raddle_trace::{Coverage, Outcome, PairCount, PairSet, Progress};

use crate::hapset::{Learner, Metric};
use crate::state::{Reader, Writer};

const NAME: &str = "pairs";

/// Learns from the executions of a search which statement directly preceded which.
///
/// ```
/// use raddle_search::PairCoverage;
/// use raddle_search::hapset::Metric;
///
/// let pairs = PairCoverage::new(Metric::HapSet, 0);
/// // Given to the engine beside a strategy, it learns from what that one explores.
/// assert_eq!(pairs.coverage().count.known, 0);
/// ```
#[derive(Debug)]
pub struct PairCoverage {
    learner: Learner,
    calls: u8,
    executions: u64,
    count: PairCount,
    before: Option<PairSet>,
    series: Vec<(u64, u64)>,
}

impl PairCoverage {
    /// Learns by this metric, and tells statements apart by so many of the innermost calls.
    #[must_use]
    pub fn new(metric: Metric, calls: u8) -> Self {
        Self {
            learner: Learner::new(metric, calls > 0),
            calls,
            executions: 0,
            count: PairCount::default(),
            before: None,
            series: Vec::new(),
        }
    }

    /// The same beside a strategy with these needs: if it asks for calls itself, by those.
    #[must_use]
    pub fn beside(needs: Needs, metric: Metric, calls: u8) -> Self {
        Self::new(metric, if needs.contexts > 0 { needs.contexts } else { calls })
    }

    /// Takes these pairs to have been seen before: what is new is counted from there.
    #[must_use]
    pub fn knowing(mut self, pairs: &PairSet) -> Self {
        self.learner.know(pairs);
        self.count.known = self.learner.known().len() as u64;
        self.before = Some(pairs.clone());
        self
    }

    /// What was learned.
    #[must_use]
    pub fn coverage(&self) -> Coverage {
        let pairs = self.learner.pairs();
        let mut series = self.series.clone();
        let now = (self.executions, self.count.known);
        if self.executions > 0 && series.last() != Some(&now) {
            series.push(now);
        }
        let new = self.before.as_ref().map(|before| pairs.difference(before));
        let new = new.unwrap_or_default();
        Coverage { count: self.count, series, pairs, new }
    }
}

impl Observer for PairCoverage {
    fn needs(&self) -> ObserverNeeds {
        ObserverNeeds { steps: true, contexts: self.calls, ..ObserverNeeds::default() }
    }

    fn begin(&mut self, _: &Plan) {
        self.learner.begin();
    }

    fn event(&mut self, event: &Event<'_>, _: Option<Cut>) {
        if let Event::Step(step) = event {
            self.learner.step(step);
        }
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.executions += 1;
        self.learner.end(matches!(execution.outcome, Outcome::Completed));
        let known = self.learner.known().len() as u64;
        if known > self.count.known {
            self.count.added += known - self.count.known;
            (self.count.known, self.count.last) = (known, self.executions);
        }
        // A tenth more executions than at the last entry.
        if self.series.last().is_none_or(|(last, _)| self.executions > last + last / 10) {
            self.series.push((self.executions, known));
        }
    }

    fn add_to(&self, progress: &mut Progress) {
        progress.pairs = Some(self.count);
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }
}

impl Resumable for PairCoverage {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        let mut writer = Writer::new(NAME);
        self.learner.save(&mut writer);
        let PairCount { known, added, last } = self.count;
        for number in [self.executions, known, added, last, self.series.len() as u64] {
            writer.number(number);
        }
        for (executions, pairs) in &self.series {
            writer.number(*executions);
            writer.number(*pairs);
        }
        Ok(writer.finish())
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let mut reader = Reader::new(state, NAME)?;
        let learner = self.learner.restored(&mut reader)?;
        let mut number = || reader.number();
        let (executions, known, added, last) = (number()?, number()?, number()?, number()?);
        let mut series = Vec::new();
        for _ in 0..reader.length()? {
            series.push((reader.number()?, reader.number()?));
        }
        reader.finish()?;
        (self.learner, self.executions, self.series) = (learner, executions, series);
        self.count = PairCount { known, added, last };
        Ok(())
    }
}
