//! Counts distinct traces: how many different partial orders a search has run.
//!
//! Wraps any strategy and listens. Exact up to a limit, then it stops counting and says so.

use std::collections::BTreeSet;

use raddle_engine::happens::History;
use raddle_engine::op::TaskId;
use raddle_engine::strategy::{
    Answer, Checkpoint, Cut, Finished, Needs, Plan, Point, Step, Strategy, Taken, Unsupported, Work,
};
use raddle_trace::{Covered, Progress};

/// A strategy whose executions are told apart by their partial order.
#[derive(Debug)]
pub struct Traces<S> {
    inner: S,
    history: History,
    seen: BTreeSet<u64>,
    limit: usize,
    repeated: u64,
}

impl<S: Strategy> Traces<S> {
    /// Counts the traces of `inner`, up to `limit` of them.
    #[must_use]
    pub fn new(inner: S, limit: usize) -> Self {
        Self { inner, history: History::default(), seen: BTreeSet::new(), limit, repeated: 0 }
    }

    /// The fingerprints of the traces so far. Executions that were cut are not among them.
    #[must_use]
    pub fn seen(&self) -> &BTreeSet<u64> {
        &self.seen
    }

    /// Whether there were more than could be counted.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.seen.len() >= self.limit
    }

    /// Executions that showed a trace which had been seen before.
    #[must_use]
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// The strategy.
    pub fn inner(&self) -> &S {
        &self.inner
    }
}

impl<S: Strategy> Strategy for Traces<S> {
    fn needs(&self) -> Needs {
        Needs { steps: true, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        self.history.begin(0);
        self.inner.begin(plan)
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        self.inner.decide(point)
    }

    fn spawn(&mut self, parent: TaskId, child: TaskId) {
        self.history.spawn(parent, child);
        self.inner.spawn(parent, child);
    }

    fn value(&mut self, task: TaskId, taken: Taken, during: bool) {
        self.history.value(task, taken.option);
        self.inner.value(task, taken, during);
    }

    fn step(&mut self, step: &Step<'_>) -> Option<Cut> {
        self.history.step(step);
        self.inner.step(step)
    }

    fn end(&mut self, execution: &Finished<'_>) {
        if execution.cut.is_none() && !self.is_full() {
            let new = self.seen.insert(self.history.fingerprint());
            self.repeated += u64::from(!new);
        }
        self.inner.end(execution);
    }

    fn covered(&self) -> Covered {
        self.inner.covered()
    }

    fn progress(&self) -> Progress {
        self.inner.progress()
    }

    fn split(&mut self, n: usize) -> Result<Vec<Work>, Unsupported> {
        self.inner.split(n)
    }

    fn save(&self) -> Result<Checkpoint, Unsupported> {
        self.inner.save()
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        self.inner.restore(state)
    }
}
