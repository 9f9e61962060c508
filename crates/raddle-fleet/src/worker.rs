//! What a worker does: leases a unit, runs it while it says that it goes on, records what came of it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::error::QueueError;
use crate::pace::{Pace, Slice};
use crate::queue::{Held, Queue, RecordOutcome};
use crate::record::{Completion, QueuedUnit};

/// A unit that was leased so often and has no record is given up: it seems to take its workers down.
pub const MOST_ATTEMPTS: u32 = 25;

/// Runs units.
pub trait UnitRunner {
    /// Runs a unit as far as the slice says. `return_soon` becomes true while that goes on if other workers have nothing to do.
    ///
    /// # Errors
    /// If it cannot be run; another worker may.
    fn run(
        &mut self,
        unit: &QueuedUnit,
        slice: Slice,
        return_soon: &AtomicBool,
    ) -> Result<Completion, CannotRun>;
}

/// Why a unit could not be run here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CannotRun(pub String);

impl fmt::Display for CannotRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What one turn of a worker came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnResult {
    /// No unit waited.
    Idle,
    /// A unit was run, and this became of it.
    Ran(RecordOutcome, Completion),
    /// A unit could not be run here, and waits for another worker.
    GaveBack(String),
    /// A unit was given up.
    GaveUp(String),
}

/// A worker: its name and how it takes units.
#[derive(Clone, Debug)]
pub struct Worker {
    /// What it is called: no other worker of the run has this name.
    pub name: String,
    /// How long its leases are.
    pub lease: Duration,
    /// How long it goes on with a unit.
    pub pace: Pace,
}

impl Worker {
    /// Takes one unit, if one waits, and runs it.
    ///
    /// # Errors
    /// If the queue fails. What was run is lost then, and the unit waits for another turn.
    pub fn turn(
        &self,
        queue: &dyn Queue,
        work: &mut dyn UnitRunner,
    ) -> Result<TurnResult, QueueError> {
        let Some(lease) = queue.lease(&self.name, self.lease)? else { return Ok(TurnResult::Idle) };
        if lease.attempt > MOST_ATTEMPTS {
            let why = format!(
                "it was leased {MOST_ATTEMPTS} times and never completed: it seems to take its workers down"
            );
            queue.give_up(&lease, &why)?;
            return Ok(TurnResult::GaveUp(why));
        }
        let slice = self.pace.of(&lease);
        let return_soon = AtomicBool::new(false);
        let ran = thread::scope(|scope| {
            let (over, until_over) = mpsc::channel::<()>();
            let (lease, return_soon) = (&lease, &return_soon);
            let beats = move || {
                while until_over.recv_timeout(self.lease / 3) == Err(RecvTimeoutError::Timeout) {
                    // Without an answer the record decides.
                    if queue.heartbeat(lease) == Ok(Held::Hungry) {
                        return_soon.store(true, Ordering::Relaxed);
                    }
                }
            };
            scope.spawn(beats);
            let ran = work.run(&lease.unit, slice, return_soon);
            drop(over);
            ran
        });
        match ran {
            Ok(completion) => {
                let completed = queue.complete(&lease, completion.clone())?;
                Ok(TurnResult::Ran(completed, completion))
            }
            Err(CannotRun(why)) if lease.attempt == MOST_ATTEMPTS => {
                queue.give_up(&lease, &why)?;
                Ok(TurnResult::GaveUp(why))
            }
            Err(CannotRun(why)) => {
                queue.give_back(&lease)?;
                Ok(TurnResult::GaveBack(why))
            }
        }
    }
}
