//! Units of a search, handed to workers so that none is lost and none counts twice, whatever dies.
//!
//! A *unit* is a part of a search that can be run by itself; here it is bytes with a key. A worker
//! *leases* a unit, runs it for a while, and *completes* it: what it found and what is left of it, as
//! further units, become one *record*. The first record of a unit counts; any other is ignored, with
//! its leftovers. The records, in order, are all there is to know of a run: which units are open follows
//! from them, so whatever folds them can be restarted at any time, and a worker that dies costs
//! the time since it took its unit.
//!
//! Reading order: `key` and `record` (what is stored), `queue` (the interface), `ledger` (which units wait, are leased, are
//! done; no clock and no files), `memory` and `disk` (queues in one process), `nats` (the queue of many machines), `worker` and `pace`
//! (what takes units, and for how long), `coordinator` (what folds records), `synthetic` (a search to test all this with).
//!
//! This crate knows neither engine nor test: users' tests compile nothing of it.

mod clock;
mod coordinator;
mod disk;
mod error;
mod key;
mod ledger;
mod memory;
#[cfg(feature = "nats")]
pub mod nats;
mod pace;
mod queue;
mod record;
pub mod synthetic;
mod worker;

pub use clock::{Clock, ManualClock, SystemClock};
pub use coordinator::Coordinator;
pub use disk::DiskQueue;
pub use error::{Problem, QueueError};
pub use key::UnitKey;
pub use ledger::Ledger;
pub use memory::MemoryQueue;
pub use pace::{Pace, Slice};
pub use queue::{Held, Lease, Queue, QueueState, RecordOutcome, WorkerState};
pub use record::{Completion, Ending, QueuedUnit, Record};
pub use worker::{CannotRun, MOST_ATTEMPTS, TurnResult, UnitRunner, Worker};
