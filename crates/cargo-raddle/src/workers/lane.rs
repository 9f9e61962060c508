//! One search that workers share: its units in a queue, and what those that were completed came to.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use raddle_fleet::{
    Completion, DiskQueue, Ending, Lease, Queue, QueuedUnit, RecordOutcome as Stored, UnitKey,
};
use raddle_trace::fold::Fold;
use raddle_trace::unit::{Completed, Method, PlannedSearch, Unit, UnitResult};
use raddle_trace::{Covered, Gaps};
use serde::{Deserialize, Serialize};

/// Workers of this process hold their units until they are done with them, or gone.
const LEASE: Duration = Duration::from_secs(365 * 24 * 3_600);
/// After so many records what they came to is kept in their place.
const FOLD_EVERY: u64 = 256;
/// So many of them are read at a time.
const RECORDS: usize = 256;

/// One search.
pub(super) struct Lane {
    /// Its number in the plan.
    pub(super) search: u32,
    pub(super) planned: PlannedSearch,
    queue: Box<dyn Queue>,
    pub(super) fold: Fold,
    /// The last record that is in `fold`, and the last that is in what is kept.
    folded: u64,
    kept: u64,
    /// Executions that workers may run of it now, by unit.
    leased: BTreeMap<UnitKey, u64>,
    /// It was begun anew in another way: what it came to is not counted.
    pub(super) replaced: bool,
    /// How long it was searched before this process, and in how many parts.
    pub(super) before: Before,
}

/// What earlier processes have done of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Before {
    pub(super) parts: u32,
    pub(super) elapsed_ms: u64,
    pub(super) executions: u64,
}

/// What is kept in place of records; the fold is borrowed when it is written, for it may be large.
#[derive(Serialize, Deserialize)]
struct Kept<F = Fold> {
    fold: F,
    parts: u32,
    elapsed_ms: u64,
}

/// A unit in the hands of a worker.
pub(super) struct Leased {
    pub(super) lease: Lease,
    pub(super) unit: Unit,
}

impl Lane {
    /// Opens the lane's file, or begins one. `anew`: what is there is of no use.
    pub(super) fn open(
        path: &Path,
        run: &str,
        search: u32,
        planned: PlannedSearch,
        anew: bool,
    ) -> Result<Self, String> {
        if anew
            && let Err(error) = std::fs::remove_file(path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(format!("{}: {error}", path.display()));
        }
        let run = format!("{run}search {search} {}\n", planned.line);
        let queue = DiskQueue::open(path, run.as_bytes()).map_err(|error| error.to_string())?;
        Self::over(Box::new(queue), search, planned)
    }

    fn over(queue: Box<dyn Queue>, search: u32, planned: PlannedSearch) -> Result<Self, String> {
        let said = |error: raddle_fleet::QueueError| error.to_string();
        let root = Unit::root(search, &planned.line, planned.method, planned.seed);
        let bytes = to_bytes(&root)?;
        queue.put(vec![QueuedUnit { key: UnitKey::root(0), bytes }]).map_err(said)?;
        let mut lane = Self {
            search,
            planned,
            queue,
            fold: Fold::new(std::slice::from_ref(&root)),
            folded: 0,
            kept: 0,
            leased: BTreeMap::new(),
            replaced: false,
            before: Before::default(),
        };
        if let Some((through, bytes)) = lane.queue.folded().map_err(said)? {
            let Kept { fold, parts, elapsed_ms } = from_bytes(&bytes)?;
            (lane.fold, lane.folded, lane.kept) = (fold, through, through);
            lane.before = Before { parts, elapsed_ms, executions: 0 };
        }
        loop {
            let records = lane.queue.records(lane.folded, RECORDS).map_err(said)?;
            let Some(last) = records.last() else { break };
            lane.folded = last.sequence;
            for record in &records {
                let Ending::Done(done) = &record.ending else { continue };
                let result: UnitResult = from_bytes(&done.result)?;
                let leftovers = done
                    .leftovers
                    .iter()
                    .map(|bytes| from_bytes(bytes))
                    .collect::<Result<_, _>>()?;
                lane.fold.complete(&Completed { result, leftovers }, lane.planned.method);
                // Those that were put before are known.
                lane.put_opened()?;
            }
        }
        lane.before.executions = lane.fold.sum.counts.executions;
        if lane.before.executions > 0 {
            lane.before.parts = lane.before.parts.max(1);
        }
        Ok(lane)
    }

    /// A unit for a worker, if one waits.
    pub(super) fn lease(&mut self, worker: usize) -> Result<Option<Leased>, String> {
        let lease =
            self.queue.lease(&worker.to_string(), LEASE).map_err(|error| error.to_string())?;
        let Some(lease) = lease else { return Ok(None) };
        let mut unit: Unit = from_bytes(&lease.unit.bytes)?;
        unit.generation = lease.attempt - 1;
        Ok(Some(Leased { lease, unit }))
    }

    /// A worker may run so many executions of its unit.
    pub(super) fn allow(&mut self, lease: &Lease, executions: u64) {
        self.leased.insert(lease.unit.key, executions);
    }

    /// Executions that workers may run of it now.
    pub(super) fn allowed(&self) -> u64 {
        self.leased.values().fold(0, |sum, more| sum.saturating_add(*more))
    }

    /// Executions that have been run of it, and those that workers may run now.
    pub(super) fn run_or_allowed(&self) -> u64 {
        self.fold.sum.counts.executions.saturating_add(self.allowed())
    }

    /// How many units workers have.
    pub(super) fn running(&self) -> usize {
        self.leased.len()
    }

    /// The worker does not go on with its unit.
    pub(super) fn give_back(&mut self, lease: &Lease) -> Result<(), String> {
        self.leased.remove(&lease.unit.key);
        self.queue.give_back(lease).map_err(|error| error.to_string())
    }

    /// The unit cannot be run: nothing can be claimed of the whole.
    pub(super) fn give_up(&mut self, lease: &Lease, why: &str) -> Result<(), String> {
        self.leased.remove(&lease.unit.key);
        self.queue.give_up(lease, why).map(drop).map_err(|error| error.to_string())
    }

    /// A unit was run.
    pub(super) fn complete(&mut self, lease: &Lease, record: &Completed) -> Result<(), String> {
        self.leased.remove(&lease.unit.key);
        let result = to_bytes(&record.result)?;
        let leftovers = record.leftovers.iter().map(to_bytes).collect::<Result<_, _>>()?;
        let done = Completion { result, leftovers };
        match self.queue.complete(lease, done).map_err(|error| error.to_string())? {
            Stored::Ignored => {}
            Stored::Recorded(sequence) => {
                self.folded = sequence;
                self.fold.complete(record, self.planned.method);
                self.put_opened()?;
            }
        }
        Ok(())
    }

    /// Puts the units that requests have opened. What is kept of the fold must not be ahead of that.
    fn put_opened(&mut self) -> Result<(), String> {
        let opened = self.fold.opened();
        if opened.is_empty() {
            return Ok(());
        }
        let units = opened.iter().map(queued).collect::<Result<_, _>>()?;
        self.queue.put(units).map_err(|error| error.to_string())
    }

    /// Whether many records have come since what they came to was kept.
    pub(super) fn has_many_records(&self) -> bool {
        self.folded - self.kept >= FOLD_EVERY
    }

    /// Keeps what its records came to. That is written whole, with every trace it knows.
    pub(super) fn keep(&mut self, elapsed_ms: u64) -> Result<(), String> {
        if self.folded > self.kept {
            let parts = self.before.parts + 1;
            let kept = Kept { fold: &self.fold, parts, elapsed_ms };
            let said = |error: raddle_fleet::QueueError| error.to_string();
            self.queue.fold(self.folded, &to_bytes(&kept)?).map_err(said)?;
            self.kept = self.folded;
        }
        Ok(())
    }

    /// What was recorded is on the disk.
    pub(super) fn sync(&self) -> Result<(), String> {
        self.queue.sync().map_err(|error| error.to_string())
    }

    /// Whether nothing of it is left, or nothing more is to be run.
    pub(super) fn is_over(&self) -> bool {
        self.replaced || self.fold.sum.over
    }

    /// Whether something ended it that ends the whole.
    pub(super) fn has_answer(&self) -> bool {
        let sum = &self.fold.sum;
        sum.failure.is_some() || sum.diverged.is_some() || sum.trouble.is_some() || sum.memory
    }

    /// Whether it is a reduction without a record that met what only one with a record sees through.
    pub(super) fn has_gaps(&self) -> bool {
        let bounded = self.planned.line != "dpor";
        let gaps = match self.fold.sum.claim {
            Some(Covered::Reduced { gaps, .. }) => gaps,
            _ => Gaps::default(),
        };
        self.planned.method == Method::Memoryless && !bounded && gaps.are_of_memoryless()
    }
}

/// A unit that a request has opened, as a queue has it.
pub(crate) fn queued(unit: &Unit) -> Result<QueuedUnit, String> {
    Ok(QueuedUnit { key: UnitKey::following(unit.id.0), bytes: to_bytes(unit)? })
}

fn to_bytes(value: &impl Serialize) -> Result<Vec<u8>, String> {
    serde_json::to_vec(value).map_err(|error| error.to_string())
}

fn from_bytes<T: for<'a> Deserialize<'a>>(bytes: &[u8]) -> Result<T, String> {
    serde_json::from_slice(bytes)
        .map_err(|error| format!("what was kept cannot be read ({error}); run without --resume"))
}
