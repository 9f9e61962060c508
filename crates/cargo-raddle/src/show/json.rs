//! One JSON object for each event: the format of [`raddle_trace::events`].

use std::path::Path;
use std::time::Instant;

use raddle_trace::Progress;
use raddle_trace::events::{Line, Retried, RunEvent, VERSION};

use super::{Show, interrupted};
use crate::check::Tested;
use crate::find::Test;
use crate::print;
use crate::run::Tally;

/// Writes to standard output.
#[derive(Debug)]
pub(crate) struct Json {
    began: Instant,
}

impl Json {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now() }
    }

    fn say(&self, event: RunEvent) {
        let at_ms = self.began.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
        let line = Line { version: VERSION, at_ms, event };
        if let Ok(text) = serde_json::to_string(&line) {
            print::out(&(text + "\n"));
        }
    }
}

impl Show for Json {
    fn began(&mut self, tests: &[Test], ignored: u64) {
        self.say(RunEvent::RunStarted { tests: tests.len() as u64, ignored });
    }

    fn started(&mut self, test: &Test) {
        self.say(RunEvent::TestStarted { test: test.id.clone() });
    }

    fn progress(&mut self, test: &Test, progress: &Progress) {
        self.say(RunEvent::Progress { test: test.id.clone(), progress: Box::new(*progress) });
    }

    fn retried(&mut self, test: &Test, file: &Path, retried: Retried) {
        let file = file.to_string_lossy().into_owned();
        self.say(RunEvent::Regression { test: test.id.clone(), file, retried });
    }

    /// Not an event: for the person who pressed it.
    fn interrupted(&mut self, running: usize) {
        print::err(&interrupted(running, "; add --resume to go on later"));
    }

    fn finished(&mut self, tested: &Tested) {
        self.say(RunEvent::TestFinished {
            test: tested.id.clone(),
            ending: tested.ending,
            report: tested.report.clone().map(Box::new),
            expected: tested.expected.clone(),
            error: tested.error.clone(),
            saved: tested.saved.as_ref().map(|path| path.to_string_lossy().into_owned()),
        });
    }

    fn ended(&mut self, _tested: &[Tested], tally: &Tally) {
        let Tally { passed, failed, inconclusive, interrupted, not_run, .. } = *tally;
        let exit_code = tally.exit_code();
        self.say(RunEvent::RunFinished {
            passed,
            failed,
            inconclusive,
            interrupted,
            not_run,
            exit_code,
        });
    }
}
