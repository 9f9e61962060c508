//! What a queue is, for drivers, coordinators and workers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::QueueError;
use crate::key::UnitKey;
use crate::record::{Completion, QueuedUnit, Record};

/// A unit in the hands of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The unit.
    pub unit: QueuedUnit,
    /// Which worker has it.
    pub worker: String,
    /// How often it was leased, this time included. More than a few times: it may take its workers down.
    pub attempt: u32,
    /// How many other units waited then: 0 if other workers may be idle, so that it should be returned soon.
    pub waiting: u64,
    /// Which lease of the queue.
    pub number: u64,
}

/// Whether a worker still has its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// It has, for as long as it was leased, from now on.
    Yes,
    /// It has, and workers are idle: what is left of the unit should be returned soon.
    Hungry,
    /// It has not: the lease has lapsed and another worker may have the unit, or the unit is done.
    Lost,
}

/// What became of a completed unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordOutcome {
    /// It is in the record of this number.
    Recorded(u64),
    /// The unit had a record before. This one is ignored.
    Ignored,
}

/// A worker as a queue knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerState {
    /// Its name.
    pub name: String,
    /// The units it has.
    pub units: Vec<UnitKey>,
}

/// How a run stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueState {
    /// Units that no worker has.
    pub waiting: u64,
    /// Units that workers have.
    pub leased: u64,
    /// Units with a record.
    pub done: u64,
    /// Those of them that were given up.
    pub given_up: u64,
    /// Leases that lapsed.
    pub lapsed: u64,
    /// Results that were ignored because their unit had a record.
    pub ignored: u64,
    /// Those that have a unit.
    pub workers: Vec<WorkerState>,
}

impl QueueState {
    /// Whether every unit has its record, and there was one at all.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.waiting == 0 && self.leased == 0 && self.done > 0
    }
}

/// Units of one run, and what came of them.
///
/// Every function may be called from any thread. After an error nothing has changed, and the same call may be
/// made again.
///
/// ```
/// use std::time::Duration;
/// use raddle_fleet::{RecordOutcome, Completion, MemoryQueue, Queue, QueuedUnit, UnitKey};
///
/// let queue = MemoryQueue::default();
/// queue.put(vec![QueuedUnit { key: UnitKey::root(0), bytes: b"everything".to_vec() }])?;
/// let lease = queue.lease("me", Duration::from_secs(30))?.expect("a unit waits");
/// let done = Completion { result: b"half of it".to_vec(), leftovers: vec![b"the rest".to_vec()] };
/// assert_eq!(queue.complete(&lease, done.clone())?, RecordOutcome::Recorded(1));
/// // A second time changes nothing.
/// assert_eq!(queue.complete(&lease, done)?, RecordOutcome::Ignored);
/// assert_eq!(queue.state()?.waiting, 1);
/// assert_eq!(queue.records(0, 10)?.len(), 1);
/// # Ok::<(), raddle_fleet::QueueError>(())
/// ```
pub trait Queue: Send + Sync {
    /// Adds the units that a run begins with. Those that are known are left as they are, so this may be repeated.
    ///
    /// # Errors
    /// If they cannot be stored.
    fn put(&self, units: Vec<QueuedUnit>) -> Result<(), QueueError>;

    /// Adds units that the queue must have lost: it says that none is there, and they have no record.
    ///
    /// # Errors
    /// If they cannot be stored.
    fn restore(&self, units: Vec<QueuedUnit>) -> Result<(), QueueError> {
        self.put(units)
    }

    /// A unit for this worker, for this long; none if none waits.
    ///
    /// # Errors
    /// If the queue cannot be asked.
    fn lease(&self, worker: &str, time: Duration) -> Result<Option<Lease>, QueueError>;

    /// The worker goes on with its unit: the time of the lease begins anew.
    ///
    /// # Errors
    /// If the queue cannot be asked.
    fn heartbeat(&self, lease: &Lease) -> Result<Held, QueueError>;

    /// Records what came of a unit, and puts what is left of it, both or neither. The first record of a
    /// unit counts, also if its lease has lapsed since; any other is ignored with its leftovers.
    ///
    /// # Errors
    /// If it cannot be stored.
    fn complete(&self, lease: &Lease, done: Completion) -> Result<RecordOutcome, QueueError>;

    /// The worker does not go on with its unit, so another may have it at once.
    ///
    /// # Errors
    /// If the queue cannot be asked.
    fn give_back(&self, lease: &Lease) -> Result<(), QueueError>;

    /// Records that a unit cannot be run: the run ends without it, and can claim nothing of what it covers.
    ///
    /// # Errors
    /// If it cannot be stored.
    fn give_up(&self, lease: &Lease, why: &str) -> Result<RecordOutcome, QueueError>;

    /// The records after this one, in order, at most so many. Those that a [`fold`](Self::fold) has taken up are gone.
    ///
    /// # Errors
    /// If they cannot be read.
    fn records(&self, after: u64, most: usize) -> Result<Vec<Record>, QueueError>;

    /// Keeps what all records up to `through` come to, in their place. That they were is not forgotten.
    ///
    /// # Errors
    /// If it cannot be stored.
    fn fold(&self, through: u64, folded: &[u8]) -> Result<(), QueueError>;

    /// What was kept last by [`fold`](Self::fold), with the number of the last record in it.
    ///
    /// # Errors
    /// If it cannot be read.
    fn folded(&self) -> Result<Option<(u64, Vec<u8>)>, QueueError>;

    /// Returns when all that was done so far outlives this process and the machine's loss of power.
    ///
    /// # Errors
    /// If it cannot be stored.
    fn sync(&self) -> Result<(), QueueError>;

    /// How the run stands.
    ///
    /// # Errors
    /// If the queue cannot be asked.
    fn state(&self) -> Result<QueueState, QueueError>;
}

#[cfg(test)]
mod tests;
