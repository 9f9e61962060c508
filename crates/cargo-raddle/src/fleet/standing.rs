//! How a run stands: what the coordinator has folded, what the server has, and who works.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use raddle_fleet::nats::{Manifest, NatsQueue, Run, RunState, WorkerStatus};
use raddle_fleet::{Queue as _, QueueError};
use raddle_trace::Progress;
use serde::{Deserialize, Serialize};

use crate::print;

/// What the coordinator keeps with the run, from time to time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Folded {
    pub(super) progress: Progress,
    /// Units that were folded, and that are open.
    pub(super) done: u64,
    pub(super) open: u64,
    /// A line for each.
    pub(super) failures: Vec<String>,
    /// How it ended, if it has.
    pub(super) verdict: Option<String>,
    /// When that was, in seconds since 1970.
    pub(super) at: u64,
}

/// Under this name it is kept.
const FOLDED: &str = "standing";
/// Failures that are kept so.
const MOST_FAILURES: usize = 50;
/// Letters that are kept of each.
const MOST_LETTERS: usize = 2000;

/// How a run stands.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Standing {
    pub(super) run: String,
    pub(super) test: String,
    pub(super) binary: String,
    pub(super) state: RunState,
    /// What the coordinator said last; none: it has said nothing yet.
    pub(super) folded: Option<Folded>,
    /// Seconds since then.
    pub(super) age: Option<u64>,
    /// As the server counts.
    pub(super) waiting: u64,
    pub(super) leased: u64,
    pub(super) records: u64,
    pub(super) workers: Vec<WorkerStatus>,
}

pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

impl Folded {
    /// Of many and of long failures only the beginnings: a server takes messages of a megabyte. The report has them whole.
    pub(super) fn keep(&self, run: &Run) -> Result<(), QueueError> {
        let mut kept = self.clone();
        kept.failures.truncate(MOST_FAILURES);
        for failure in &mut kept.failures {
            *failure = failure.chars().take(MOST_LETTERS).collect();
        }
        run.keep(FOLDED, &serde_json::to_vec(&kept).unwrap_or_default())
    }
}

impl Standing {
    pub(super) fn look(
        run: &Run,
        manifest: &Manifest,
        queue: &NatsQueue,
    ) -> Result<Self, QueueError> {
        let folded = run.kept(FOLDED)?.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let age = folded.as_ref().map(|folded: &Folded| now().saturating_sub(folded.at));
        let state = queue.state()?;
        Ok(Self {
            run: run.name().to_owned(),
            test: manifest.test.clone(),
            binary: manifest.binary.sha256.clone(),
            state: manifest.state,
            folded,
            age,
            waiting: state.waiting,
            leased: state.leased,
            records: state.done,
            workers: run.workers(manifest.lease())?,
        })
    }

    /// Lines for people.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        let state = match self.state {
            RunState::Open => "open",
            RunState::Stopped => "stopped before it was over; its coordinator can go on with it",
            RunState::Finished => "finished",
        };
        let _ = writeln!(out, "{}: {} ({state})", self.run, self.test);
        let number = print::grouped;
        if let Some(folded) = &self.folded {
            let rate = folded.progress.rate.unwrap_or(0.0);
            #[expect(clippy::cast_sign_loss, reason = "a rate is positive")]
            let rate = rate as u64;
            let _ = writeln!(
                out,
                "  {} executions folded, {}/s; {} units done, {} open; as of {} s ago",
                number(folded.progress.executions),
                number(rate),
                number(folded.done),
                number(folded.open),
                self.age.unwrap_or(0)
            );
            if let Some(left) = folded.progress.over_in_ms() {
                let left = Duration::from_secs_f64((left / 1e3).clamp(0.0, 1e9));
                let _ = writeln!(out, "  about {} left", raddle_knobs::units::time_text(left));
            }
            for failure in &folded.failures {
                let _ = writeln!(out, "  failure: {failure}");
            }
            if let Some(verdict) = &folded.verdict {
                let _ = writeln!(out, "  verdict: {verdict}");
            }
        } else {
            let _ = writeln!(out, "  no coordinator has folded anything yet");
        }
        let _ = writeln!(
            out,
            "  at the server: {} units wait, {} are leased, {} records",
            number(self.waiting),
            number(self.leased),
            number(self.records)
        );
        for worker in &self.workers {
            #[expect(clippy::cast_sign_loss, reason = "a rate is positive")]
            let rate = worker.rate as u64;
            let _ = writeln!(
                out,
                "  worker {}: {} hosts, {} units, {} executions, {}/s",
                worker.worker,
                worker.hosts,
                number(worker.units),
                number(worker.executions),
                number(rate)
            );
        }
        out
    }
}
