//! Pairs of statements as a measure of any search: how many orders it has shown, and whether it still
//! shows new ones.
//!
//! Wraps any strategy and listens, as `traces.rs` does. What is learned is in `hapset.rs`: which statement
//! directly preceded which of another task, or which one wrote what a statement saw. Only executions that
//! pass are learned from.
//!
//! Misses: what an execution shows that fails or that a limit ends.
//! Overreports: nothing.

use raddle_engine::op::TaskId;
use raddle_engine::strategy::{
    Answer, Checkpoint, Cut, Finished, Needs, Plan, Point, Step, Strategy, Taken, Unsupported, Work,
};
use raddle_trace::{Coverage, Covered, Outcome, PairCount, PairSet, Progress, Settings};

use crate::hapset::{Learner, Metric};
use crate::state::{Reader, Writer};

const NAME: &str = "watched";

/// A strategy of whose executions it is learned which statement directly preceded which.
///
/// ```
/// use raddle_search::{Random, Watched};
/// use raddle_search::hapset::Metric;
///
/// let watched = Watched::new(Random::new(1), Metric::HapSet, 0);
/// // Given to the engine, it explores as `Random` does.
/// assert_eq!(watched.coverage().count.known, 0);
/// ```
#[derive(Debug)]
pub struct Watched<S> {
    inner: S,
    learner: Learner,
    calls: u8,
    executions: u64,
    count: PairCount,
    before: Option<PairSet>,
    series: Vec<(u64, u64)>,
}

impl<S: Strategy> Watched<S> {
    /// Learns this of `inner`, and tells statements apart by so many of the innermost calls; if `inner`
    /// asks for calls itself, by those.
    #[must_use]
    pub fn new(inner: S, metric: Metric, calls: u8) -> Self {
        let asked = inner.needs().contexts;
        let calls = if asked > 0 { asked } else { calls };
        Self {
            inner,
            learner: Learner::new(metric, calls > 0),
            calls,
            executions: 0,
            count: PairCount::default(),
            before: None,
            series: Vec::new(),
        }
    }

    /// The strategy.
    pub fn inner(&self) -> &S {
        &self.inner
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

impl<S: Strategy> Watched<S> {
    fn write(&self, inner: &Checkpoint) -> Checkpoint {
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
        writer.bytes(&inner.0);
        writer.finish()
    }
}

impl<S: Strategy> Strategy for Watched<S> {
    fn needs(&self) -> Needs {
        Needs { steps: true, contexts: self.calls, ..self.inner.needs() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        self.learner.begin();
        self.inner.begin(plan)
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        self.inner.decide(point)
    }

    fn spawn(&mut self, parent: TaskId, child: TaskId) {
        self.inner.spawn(parent, child);
    }

    fn value(&mut self, task: TaskId, taken: Taken, during: bool) {
        self.inner.value(task, taken, during);
    }

    fn step(&mut self, step: &Step<'_>) -> Option<Cut> {
        self.learner.step(step);
        self.inner.step(step)
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
        self.inner.end(execution);
    }

    fn know(&mut self, pairs: &PairSet) {
        self.learner.know(pairs);
        self.count.known = self.learner.known().len() as u64;
        self.before = Some(pairs.clone());
        self.inner.know(pairs);
    }

    fn covered(&self) -> Covered {
        self.inner.covered()
    }

    fn is_memoryless(&self) -> bool {
        self.inner.is_memoryless()
    }

    fn refuses(&self, settings: &Settings) -> Option<&'static str> {
        self.inner.refuses(settings)
    }

    fn progress(&self) -> Progress {
        Progress { pairs: Some(self.count), ..self.inner.progress() }
    }

    fn trouble(&self) -> Option<String> {
        self.inner.trouble()
    }

    /// A part begins with what is known.
    fn split(&mut self, n: usize) -> Result<Vec<Work>, Unsupported> {
        let mut parts = self.inner.split(n)?;
        for part in &mut parts {
            part.state = self.write(&part.state);
        }
        Ok(parts)
    }

    fn save(&self) -> Result<Checkpoint, Unsupported> {
        Ok(self.write(&self.inner.save()?))
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
        let inner = Checkpoint(reader.bytes()?.to_vec());
        reader.finish()?;
        self.inner.restore(&inner)?;
        (self.learner, self.executions, self.series) = (learner, executions, series);
        self.count = PairCount { known, added, last };
        Ok(())
    }
}
