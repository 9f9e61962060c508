//! Says how far a search is, and leaves a checkpoint, when the supervisor asks for it.
//!
//! The searching thread is asked by the one that waits for it (`supervisor.rs`), which has the clock, and
//! answers between two executions. While nothing is asked, that costs one load for each execution; if
//! nothing ever will be, nothing.

use raddle_engine::Ended;
use raddle_engine::op::TaskId;
use raddle_engine::strategy::{
    Answer, Carries, Cut, Finished, Needs, Plan, Point, Step, Strategy, Taken, Unsupported, Work,
};
use raddle_trace::{Covered, Note, PairSet, Progress, Settings};

use crate::checkpoint;
use crate::supervisor::Control;

/// A strategy that says how far it is, and leaves a checkpoint, when it is asked to.
pub(crate) struct Telling<'a> {
    pub(crate) inner: &'a mut dyn Strategy,
    pub(crate) control: &'a Control,
    /// Executions of this strategy.
    pub(crate) executions: u64,
    /// Where what it needs to go on is kept, if it is.
    pub(crate) kept: Option<&'a checkpoint::Place>,
}

impl Strategy for Telling<'_> {
    fn needs(&self) -> Needs {
        self.inner.needs()
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        // Before the first execution there is nothing to say.
        if self.executions > 0 && self.control.progress_requested() {
            let progress = self.inner.progress();
            self.control.report_progress(&Progress { executions: self.executions, ..progress });
        }
        self.inner.begin(plan)
    }

    fn untold(&mut self) -> u64 {
        self.inner.untold()
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
        self.inner.step(step)
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.executions += 1;
        self.inner.end(execution);
    }

    fn carry(&mut self, engine: &dyn Carries, ended: Option<&Ended>) {
        if let Some(kept) = self.kept
            && (ended.is_some() || self.control.checkpoint_requested())
        {
            kept.carry(self.inner, engine, ended);
        }
    }

    fn know(&mut self, pairs: &PairSet) {
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

    fn notes(&self) -> Vec<Note> {
        self.inner.notes()
    }

    fn progress(&self) -> Progress {
        self.inner.progress()
    }

    fn trouble(&self) -> Option<String> {
        self.inner.trouble()
    }

    fn split(&mut self, n: usize) -> Result<Vec<Work>, Unsupported> {
        self.inner.split(n)
    }
}
