//! A queue in memory: for tests, and for searches that are not to be resumed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::{Clock, SystemClock};
use crate::error::QueueError;
use crate::ledger::Ledger;
use crate::queue::{Held, Lease, Queue, QueueState, RecordOutcome};
use crate::record::{Completion, Ending, QueuedUnit, Record};

/// A queue in memory.
#[derive(Debug)]
pub struct MemoryQueue {
    clock: Arc<dyn Clock>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    ledger: Ledger,
    records: BTreeMap<u64, Record>,
    folded: Option<(u64, Vec<u8>)>,
}

impl Default for MemoryQueue {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock::default()))
    }
}

impl MemoryQueue {
    /// An empty one, whose leases lapse by this clock.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, inner: Mutex::default() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, lease: &Lease, ending: Ending) -> RecordOutcome {
        let mut inner = self.inner();
        let unit = lease.unit.key;
        let Some(sequence) = inner.ledger.next_record(unit) else {
            inner.ledger.ignore();
            return RecordOutcome::Ignored;
        };
        let record = Record { sequence, tag: sequence, unit, worker: lease.worker.clone(), ending };
        let completed = inner.ledger.record(&record);
        inner.records.insert(sequence, record);
        completed
    }
}

impl Queue for MemoryQueue {
    fn put(&self, units: Vec<QueuedUnit>) -> Result<(), QueueError> {
        let mut inner = self.inner();
        for unit in units {
            inner.ledger.put(unit);
        }
        Ok(())
    }

    fn lease(&self, worker: &str, time: Duration) -> Result<Option<Lease>, QueueError> {
        Ok(self.inner().ledger.lease(worker, time, self.clock.now()))
    }

    fn heartbeat(&self, lease: &Lease) -> Result<Held, QueueError> {
        Ok(self.inner().ledger.heartbeat(lease.unit.key, lease.number, self.clock.now()))
    }

    fn complete(&self, lease: &Lease, done: Completion) -> Result<RecordOutcome, QueueError> {
        Ok(self.end(lease, Ending::Done(done)))
    }

    fn give_back(&self, lease: &Lease) -> Result<(), QueueError> {
        self.inner().ledger.give_back(lease.unit.key, lease.number);
        Ok(())
    }

    fn give_up(&self, lease: &Lease, why: &str) -> Result<RecordOutcome, QueueError> {
        Ok(self.end(lease, Ending::GivenUp { why: why.to_owned() }))
    }

    fn records(&self, after: u64, most: usize) -> Result<Vec<Record>, QueueError> {
        let from = after.saturating_add(1);
        Ok(self
            .inner()
            .records
            .range(from..)
            .take(most)
            .map(|(_, record)| record.clone())
            .collect())
    }

    fn fold(&self, through: u64, folded: &[u8]) -> Result<(), QueueError> {
        let mut inner = self.inner();
        inner.records = inner.records.split_off(&through.saturating_add(1));
        inner.folded = Some((through, folded.to_vec()));
        Ok(())
    }

    fn folded(&self) -> Result<Option<(u64, Vec<u8>)>, QueueError> {
        Ok(self.inner().folded.clone())
    }

    fn sync(&self) -> Result<(), QueueError> {
        Ok(())
    }

    fn state(&self) -> Result<QueueState, QueueError> {
        let mut inner = self.inner();
        inner.ledger.expire(self.clock.now());
        Ok(inner.ledger.state())
    }
}
