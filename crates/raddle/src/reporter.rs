//! Says how far a search is, and leaves a checkpoint, when the supervisor asks for it.
//!
//! The searching thread is asked by the one that waits for it (`supervisor.rs`), which has the clock, and
//! answers between two executions. While nothing is asked, that costs one load for each execution; if
//! nothing ever will be, nothing.

use raddle_engine::Ended;
use raddle_engine::observer::{Observer, Paused};
use raddle_trace::Progress;

use crate::checkpoint;
use crate::supervisor::Control;

/// Says how far a search is, and leaves a checkpoint, when it is asked to.
pub(crate) struct ProgressReporter<'a> {
    pub(crate) control: &'a Control,
    /// Where what the search needs to go on is kept, if it is.
    pub(crate) kept: Option<&'a checkpoint::CheckpointSlot>,
}

impl Observer for ProgressReporter<'_> {
    fn between(&mut self, search: &mut Paused<'_, '_>) {
        let executions = search.counts().executions;
        // Before the first execution there is nothing to say.
        if executions == 0 {
            return;
        }
        if let Some(kept) = self.kept
            && self.control.checkpoint_requested()
        {
            kept.keep(search);
        }
        if self.control.progress_requested() {
            self.control.report_progress(&Progress { executions, ..search.progress() });
        }
    }

    fn finish(&mut self, search: &mut Paused<'_, '_>, ended: &Ended) {
        if let Some(kept) = self.kept {
            kept.finish(search, ended);
        }
    }
}
