//! What a coordinator does: reads the records in order, folds each that counts once, and knows when none is missing.
//!
//! It holds nothing that is not in the records, so it can be killed and started again at any time, and
//! workers go on while there is none. It is for queues that keep all records: on a server, or in memory without folds.

use crate::error::{Problem, QueueError};
use crate::key::UnitKey;
use crate::ledger::Ledger;
use crate::queue::{Queue, RecordOutcome};
use crate::record::{QueuedUnit, Record};

/// Records that are read at a time.
const AT_A_TIME: usize = 256;

/// Folds the records of a run.
#[derive(Debug)]
pub struct Coordinator {
    ledger: Ledger,
    /// The last record that was read.
    after: u64,
    strays: u64,
}

impl Coordinator {
    /// Of a run that begins with these units. They are put, unless they are known to the queue.
    ///
    /// # Errors
    /// If the queue cannot take them.
    pub fn begin(queue: &dyn Queue, units: Vec<QueuedUnit>) -> Result<Self, QueueError> {
        let mut coordinator = Self { ledger: Ledger::default(), after: 0, strays: 0 };
        for unit in &units {
            coordinator.ledger.put(unit.clone());
        }
        // A run that was begun before has records, and its units were put. If not all were, a repair will.
        if queue.records(0, 1)?.is_empty() {
            queue.put(units)?;
        }
        Ok(coordinator)
    }

    /// Adds a unit that the run goes on with, as a search does that follows from what was folded. Repeated, it changes nothing.
    ///
    /// # Errors
    /// If the queue cannot take it.
    pub fn put(&mut self, queue: &dyn Queue, unit: QueuedUnit) -> Result<(), QueueError> {
        self.put_all(queue, vec![unit])
    }

    /// What is in the ledger and not in the queue is put by a repair.
    fn put_all(&mut self, queue: &dyn Queue, mut units: Vec<QueuedUnit>) -> Result<(), QueueError> {
        units.retain(|unit| !self.ledger.knows(unit.key));
        if units.is_empty() {
            return Ok(());
        }
        units.iter().cloned().for_each(|unit| self.ledger.put(unit));
        queue.put(units)
    }

    /// Reads the records that came since, and folds those that count. Returns how many there were. `fold` returns the units with
    /// which the run goes on because of a record, all or new ones: the records after it may be theirs.
    ///
    /// A record counts if its unit is open. Its leftovers are, from then on; they cannot have records
    /// before it, so the order of the records is enough.
    ///
    /// # Errors
    /// If the queue cannot be asked; what was folded until then stays.
    pub fn poll(
        &mut self,
        queue: &dyn Queue,
        fold: &mut dyn FnMut(&Record) -> Vec<QueuedUnit>,
    ) -> Result<u64, QueueError> {
        let mut n_read = 0;
        loop {
            let records = queue.records(self.after, AT_A_TIME)?;
            if records.is_empty() {
                return Ok(n_read);
            }
            n_read += records.len() as u64;
            for record in &records {
                self.after = record.sequence;
                if !self.ledger.is_open(record.unit) {
                    self.strays += 1;
                    continue;
                }
                if record.leftovers().any(|unit| self.ledger.knows(unit.key)) {
                    return Err(QueueError::new(
                        Problem::Corrupt,
                        format!("two records have the tag {}; begin the run anew", record.tag),
                    ));
                }
                if matches!(self.ledger.record(record), RecordOutcome::Recorded(_)) {
                    self.put_all(queue, fold(record))?;
                }
            }
        }
    }

    /// Whether every unit has its record.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.ledger.n_open() == 0 && self.ledger.n_done().0 > 0
    }

    /// Units without a record.
    #[must_use]
    pub fn open_units(&self) -> Vec<UnitKey> {
        self.ledger.open_units()
    }

    /// How many units have no record.
    #[must_use]
    pub fn n_open(&self) -> usize {
        self.ledger.n_open()
    }

    /// How many units are done, and how many of those were given up.
    #[must_use]
    pub fn done(&self) -> (u64, u64) {
        self.ledger.n_done()
    }

    /// Records that were not folded, because their unit had one or was itself left by a record that was not.
    #[must_use]
    pub fn strays(&self) -> u64 {
        self.strays
    }

    /// Puts all open units again. For a queue that says that none waits and none is leased, while some are open: it
    /// has lost them. A unit that was not lost is run once more at worst.
    ///
    /// # Errors
    /// If the queue cannot take them.
    pub fn repair(&self, queue: &dyn Queue) -> Result<(), QueueError> {
        let open = self.ledger.open_units();
        queue.restore(open.into_iter().filter_map(|key| self.ledger.unit(key)).collect())
    }
}
