//! What is seen of a run while it runs and at its end: lines for people, JSON for programs.

mod human;
mod json;
mod junit;
mod summary;

use std::path::Path;

use raddle_trace::Progress;
use raddle_trace::events::Retried;

use crate::check::Tested;
use crate::find::Test;
use crate::run::Tally;

pub(crate) use human::Human;
pub(crate) use json::Json;
pub(crate) use junit::junit;
pub(crate) use summary::{failure_text, guarantee, interrupted, replayed, verdict};

/// Who is told.
pub(crate) trait Show {
    /// The tests are built and found.
    fn began(&mut self, tests: &[Test], ignored: u64) {
        let _ = (tests, ignored);
    }

    /// A test begins.
    fn started(&mut self, test: &Test) {
        let _ = test;
    }

    /// How far it is.
    fn progress(&mut self, test: &Test, progress: &Progress) {
        let _ = (test, progress);
    }

    /// A saved schedule was tried.
    fn retried(&mut self, test: &Test, file: &Path, what: Retried) {
        let _ = (test, file, what);
    }

    /// The search of a test takes long, and so many hosts could share it.
    fn processors_idle(&mut self, test: &Test, workers: usize) {
        let _ = (test, workers);
    }

    /// Ctrl-C was pressed while so many tests were running.
    fn interrupted(&mut self, running: usize) {
        let _ = running;
    }

    /// A test is over.
    fn finished(&mut self, tested: &Tested);

    /// All is over.
    fn ended(&mut self, tested: &[Tested], tally: &Tally) {
        let _ = (tested, tally);
    }
}
