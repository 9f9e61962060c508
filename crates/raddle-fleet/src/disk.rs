//! A queue in a file, for one process at a time: what it has completed outlives it.
//!
//! The file is a redb database. `SQLite` was the other candidate: it is C, which has to be compiled wherever `cargo raddle` is
//! installed, and redb is Rust without dependencies. What is needed is little: commits that are whole or absent after `kill -9`
//! and after a loss of power, checksums, and a lock on the file. Both have the first; redb has the second by default.
//!
//! *Leases are not stored.* Workers of an embedded queue end with its process, so after a restart every open unit waits.
//!
//! *Commits are gathered.* One that reaches the disk costs milliseconds, and a unit may take a hundred. So changes wait for
//! half a second, or for a hundred times what the last commit took, and are then committed together, by the next call. A process that is killed loses those that
//! waited: their units are open again and are run once more. [`Queue::sync`] is for what must not be lost.
//!
//! *A file that is damaged is refused*, before anything of it is used: every page is checked when it is opened.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use redb::{Database, ReadableDatabase as _, ReadableTable as _, TableDefinition};

use crate::clock::{Clock, SystemClock};
use crate::error::{Problem, QueueError};
use crate::key::UnitKey;
use crate::ledger::Ledger;
use crate::queue::{Held, Lease, Queue, QueueState, RecordOutcome};
use crate::record::{Completion, Ending, QueuedUnit, Record, VERSION};

/// What to do about a file that cannot be used. Nobody has to know where it is.
const ANEW: &str = "begin anew (cargo raddle test: --discard-checkpoints)";

/// How long changes wait for others before they are committed, at least.
const INTERVAL: Duration = Duration::from_millis(500);
/// They wait for so many times what the last commit took: a hundredth of the time goes into commits, whatever the disk.
const SHARE: u32 = 100;

type StoredKey = (u64, u32, u32);

/// `version`, `run` and `folded`.
const ABOUT: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("about");
/// Units that are not done.
const OPEN: TableDefinition<'_, StoredKey, &[u8]> = TableDefinition::new("open");
/// Units that are: the number of the record, and whether it gives the unit up.
const DONE: TableDefinition<'_, StoredKey, (u64, bool)> = TableDefinition::new("done");
/// Records that no fold has taken up.
const RECORDS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("records");

/// Opens the database, also for a second time after a failure.
type Opener = Box<dyn Fn() -> Result<Database, redb::DatabaseError> + Send + Sync>;

/// A queue in a file.
pub struct DiskQueue {
    place: String,
    opener: Opener,
    clock: Arc<dyn Clock>,
    inner: Mutex<Inner>,
}

impl fmt::Debug for DiskQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskQueue").field("place", &self.place).finish_non_exhaustive()
    }
}

struct Inner {
    /// None after a failure: it must be opened again.
    database: Option<Database>,
    ledger: Ledger,
    /// Those that no fold has taken up.
    records: BTreeMap<u64, Record>,
    folded: Option<(u64, Vec<u8>)>,
    changes: Vec<Change>,
    /// When the first of the changes was made.
    since: Duration,
    /// What the last commit took.
    took: Duration,
}

/// What is not in the file yet.
enum Change {
    Put(QueuedUnit),
    Record(Record),
    Fold(u64, Vec<u8>),
}

impl DiskQueue {
    /// Opens the file of a run, or begins one. `run` says which: binary, test and settings. A file of another run is refused.
    ///
    /// # Errors
    /// If the file is damaged, in use, of another version or of another run, or if there is no room for it.
    pub fn open(path: &Path, run: &[u8]) -> Result<Self, QueueError> {
        Self::open_with_clock(path, run, Arc::new(SystemClock::default()))
    }

    /// The same with leases that lapse, and commits that are due, by this clock.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with_clock(
        path: &Path,
        run: &[u8],
        clock: Arc<dyn Clock>,
    ) -> Result<Self, QueueError> {
        let place = path.display().to_string();
        if !path.exists() {
            create(path, &place, run)?;
        }
        let file = PathBuf::from(path);
        let opener: Opener = Box::new(move || Database::open(&file));
        Self::open_by(place, opener, run, clock)
    }

    fn open_by(
        place: String,
        opener: Opener,
        run: &[u8],
        clock: Arc<dyn Clock>,
    ) -> Result<Self, QueueError> {
        let read = quietly(|| {
            let database = open_checked(&opener).map_err(|error| wrong(&place, error))?;
            let mut inner = Inner::read(&place, &database, run)?;
            inner.database = Some(database);
            Ok(inner)
        });
        let inner = read.unwrap_or_else(|| Err(damaged(&place, &"a page makes no sense")))?;
        Ok(Self { place, opener, clock, inner: Mutex::new(inner) })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Commits what waits, if it has waited long enough or `now` is none.
    fn commit(&self, inner: &mut Inner, now: Option<Duration>) -> Result<(), QueueError> {
        let wait = INTERVAL.max(inner.took * SHARE);
        let due = now.is_none_or(|now| now >= inner.since + wait);
        if inner.changes.is_empty() || !due {
            return Ok(());
        }
        let began = self.clock.now();
        let written = inner.write(&self.opener).map_err(|error| {
            // redb refuses everything after a failed write, until it is opened again.
            inner.database = None;
            wrong(&self.place, error)
        });
        inner.took = self.clock.now().saturating_sub(began);
        written
    }

    fn note(&self, inner: &mut Inner, change: Change) {
        if inner.changes.is_empty() {
            inner.since = self.clock.now();
        }
        inner.changes.push(change);
    }

    fn end(&self, lease: &Lease, ending: Ending) -> Result<RecordOutcome, QueueError> {
        let mut inner = self.inner();
        // Before the change, so that after an error there is none.
        self.commit(&mut inner, Some(self.clock.now()))?;
        let unit = lease.unit.key;
        let Some(sequence) = inner.ledger.next_record(unit) else {
            inner.ledger.ignore();
            return Ok(RecordOutcome::Ignored);
        };
        let record = Record { sequence, tag: sequence, unit, worker: lease.worker.clone(), ending };
        let completed = inner.ledger.record(&record);
        inner.records.insert(sequence, record.clone());
        self.note(&mut inner, Change::Record(record));
        Ok(completed)
    }
}

impl Drop for DiskQueue {
    fn drop(&mut self) {
        // What is lost here is run once more.
        let _ = self.sync();
    }
}

impl Queue for DiskQueue {
    fn put(&self, units: Vec<QueuedUnit>) -> Result<(), QueueError> {
        let mut inner = self.inner();
        self.commit(&mut inner, Some(self.clock.now()))?;
        for unit in units {
            if !inner.ledger.knows(unit.key) {
                inner.ledger.put(unit.clone());
                self.note(&mut inner, Change::Put(unit));
            }
        }
        Ok(())
    }

    fn lease(&self, worker: &str, time: Duration) -> Result<Option<Lease>, QueueError> {
        let mut inner = self.inner();
        self.commit(&mut inner, Some(self.clock.now()))?;
        Ok(inner.ledger.lease(worker, time, self.clock.now()))
    }

    fn heartbeat(&self, lease: &Lease) -> Result<Held, QueueError> {
        let mut inner = self.inner();
        self.commit(&mut inner, Some(self.clock.now()))?;
        Ok(inner.ledger.heartbeat(lease.unit.key, lease.number, self.clock.now()))
    }

    fn complete(&self, lease: &Lease, done: Completion) -> Result<RecordOutcome, QueueError> {
        self.end(lease, Ending::Done(done))
    }

    fn give_back(&self, lease: &Lease) -> Result<(), QueueError> {
        self.inner().ledger.give_back(lease.unit.key, lease.number);
        Ok(())
    }

    fn give_up(&self, lease: &Lease, why: &str) -> Result<RecordOutcome, QueueError> {
        self.end(lease, Ending::GivenUp { why: why.to_owned() })
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
        self.commit(&mut inner, Some(self.clock.now()))?;
        inner.records = inner.records.split_off(&through.saturating_add(1));
        inner.folded = Some((through, folded.to_vec()));
        self.note(&mut inner, Change::Fold(through, folded.to_vec()));
        Ok(())
    }

    fn folded(&self) -> Result<Option<(u64, Vec<u8>)>, QueueError> {
        Ok(self.inner().folded.clone())
    }

    fn sync(&self) -> Result<(), QueueError> {
        let mut inner = self.inner();
        self.commit(&mut inner, None)
    }

    fn state(&self) -> Result<QueueState, QueueError> {
        let mut inner = self.inner();
        inner.ledger.expire(self.clock.now());
        Ok(inner.ledger.state())
    }
}

impl Inner {
    /// What the file says.
    fn read(place: &str, database: &Database, run: &[u8]) -> Result<Self, QueueError> {
        let damaged = |what: &str| wrong(place, redb::Error::Corrupted(what.to_owned()));
        let stored = Stored::read(database).map_err(|error| wrong(place, error))?;
        let stored = stored.ok_or_else(|| damaged("it does not say what it is"))?;
        let mut inner = Self {
            database: None,
            ledger: Ledger::default(),
            records: BTreeMap::new(),
            folded: None,
            changes: Vec::new(),
            since: Duration::ZERO,
            took: Duration::ZERO,
        };
        if stored.version != VERSION.to_le_bytes() {
            return Err(QueueError::new(
                Problem::Mismatch,
                format!(
                    "{place} was written by another version of raddle; go on with that one, or \
                     {ANEW}"
                ),
            ));
        }
        if stored.run != run {
            return Err(QueueError::new(
                Problem::Mismatch,
                format!(
                    "{place} is of another search: the test binary, the test or its settings have changed; \
                     {ANEW}"
                ),
            ));
        }
        for (key, sequence, given_up) in stored.done {
            inner.ledger.restore_done(key, sequence, given_up);
        }
        for unit in stored.open {
            inner.ledger.put(unit);
        }
        for (sequence, bytes) in stored.records {
            let record: Record =
                postcard::from_bytes(&bytes).map_err(|_| damaged("a record is unreadable"))?;
            if record.sequence != sequence || inner.ledger.next_record(record.unit).is_some() {
                return Err(damaged("a record is of a unit that is not done"));
            }
            inner.records.insert(sequence, record);
        }
        if let Some(bytes) = stored.folded {
            let folded = postcard::from_bytes(&bytes)
                .map_err(|_| damaged("what was folded is unreadable"))?;
            inner.folded = Some(folded);
        }
        Ok(inner)
    }

    /// Commits the changes; those that fail to be stay.
    fn write(&mut self, opener: &Opener) -> Result<(), redb::Error> {
        if self.database.is_none() {
            self.database = Some(opener()?);
        }
        let database = self.database.as_ref().expect("it was opened");
        let transaction = database.begin_write()?;
        {
            let mut open = transaction.open_table(OPEN)?;
            let mut done = transaction.open_table(DONE)?;
            let mut records = transaction.open_table(RECORDS)?;
            let mut about = transaction.open_table(ABOUT)?;
            for change in &self.changes {
                match change {
                    Change::Put(unit) => {
                        open.insert(stored_key(unit.key), unit.bytes.as_slice())?;
                    }
                    Change::Record(record) => {
                        let given_up = matches!(record.ending, Ending::GivenUp { .. });
                        open.remove(stored_key(record.unit))?;
                        done.insert(stored_key(record.unit), (record.sequence, given_up))?;
                        records.insert(record.sequence, encode(record)?.as_slice())?;
                        for unit in record.leftovers() {
                            open.insert(stored_key(unit.key), unit.bytes.as_slice())?;
                        }
                    }
                    Change::Fold(through, folded) => {
                        records.retain(|sequence, _| sequence > *through)?;
                        about.insert("folded", encode(&(*through, folded))?.as_slice())?;
                    }
                }
            }
        }
        transaction.commit()?;
        self.changes.clear();
        Ok(())
    }
}

/// All that a file has.
struct Stored {
    version: Vec<u8>,
    run: Vec<u8>,
    folded: Option<Vec<u8>>,
    open: Vec<QueuedUnit>,
    done: Vec<(UnitKey, u64, bool)>,
    records: Vec<(u64, Vec<u8>)>,
}

impl Stored {
    /// None: it is a database, but not of this kind.
    fn read(database: &Database) -> Result<Option<Self>, redb::Error> {
        let transaction = database.begin_read()?;
        let about = match transaction.open_table(ABOUT) {
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
            about => about?,
        };
        let text = |key| -> Result<Option<Vec<u8>>, redb::Error> {
            Ok(about.get(key)?.map(|value| value.value().to_vec()))
        };
        let (version, run) =
            (text("version")?.unwrap_or_default(), text("run")?.unwrap_or_default());
        let mut stored = Self {
            version,
            run,
            folded: text("folded")?,
            open: vec![],
            done: vec![],
            records: vec![],
        };
        for entry in transaction.open_table(OPEN)?.iter()? {
            let (key, bytes) = entry?;
            let unit = QueuedUnit { key: unit_key(key.value()), bytes: bytes.value().to_vec() };
            stored.open.push(unit);
        }
        for entry in transaction.open_table(DONE)?.iter()? {
            let (key, value) = entry?;
            let (sequence, given_up) = value.value();
            stored.done.push((unit_key(key.value()), sequence, given_up));
        }
        for entry in transaction.open_table(RECORDS)?.iter()? {
            let (sequence, bytes) = entry?;
            stored.records.push((sequence.value(), bytes.value().to_vec()));
        }
        Ok(Some(stored))
    }
}

/// Opens a database and checks every page of it.
fn open_checked(opener: &Opener) -> Result<Database, redb::Error> {
    let mut database = opener()?;
    if database.check_integrity()? {
        Ok(database)
    } else {
        Err(redb::Error::Corrupted("a checksum does not match".to_owned()))
    }
}

/// None if it panics, which is not printed. redb panics on some pages that are damaged, before it has compared
/// their checksums.
fn quietly<T>(read: impl FnOnce() -> T) -> Option<T> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = Arc::new(panic::take_hook());
    let (here, others) = (thread::current().id(), Arc::clone(&before));
    panic::set_hook(Box::new(move |panic| {
        if thread::current().id() != here {
            others(panic);
        }
    }));
    let read = panic::catch_unwind(AssertUnwindSafe(read));
    drop(panic::take_hook());
    panic::set_hook(match Arc::try_unwrap(before) {
        Ok(before) => before,
        Err(before) => Box::new(move |panic| before(panic)),
    });
    read.ok()
}

/// Makes the file of a run: under another name until it is whole, because half of a database is none.
fn create(path: &Path, place: &str, run: &[u8]) -> Result<(), QueueError> {
    let lost = |error: io::Error| failed(place, &error);
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(lost)?;
    }
    let mut new = path.as_os_str().to_owned();
    new.push(format!(".{}.new", std::process::id()));
    let _ = fs::remove_file(&new);
    let made = Database::create(&new).map_err(redb::Error::from);
    let made = made.and_then(|database| begin(&database, run)).map_err(|error| wrong(place, error));
    // Fails if another process was quicker, whose file is as good.
    let made = made.map(|()| fs::hard_link(&new, path));
    let _ = fs::remove_file(&new);
    match made? {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(lost(error)),
        _ => Ok(()),
    }
}

/// Writes which run it is, and makes all tables.
fn begin(database: &Database, run: &[u8]) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut about = transaction.open_table(ABOUT)?;
        about.insert("version", VERSION.to_le_bytes().as_slice())?;
        about.insert("run", run)?;
        transaction.open_table(OPEN)?;
        transaction.open_table(DONE)?;
        transaction.open_table(RECORDS)?;
    }
    Ok(transaction.commit()?)
}

fn encode(value: &impl serde::Serialize) -> Result<Vec<u8>, redb::Error> {
    postcard::to_allocvec(value).map_err(|error| redb::Error::Io(io::Error::other(error)))
}

fn stored_key(key: UnitKey) -> StoredKey {
    (key.record, key.index, key.generation)
}

fn unit_key((record, index, generation): StoredKey) -> UnitKey {
    UnitKey { record, index, generation }
}

fn failed(place: &str, error: &io::Error) -> QueueError {
    let full =
        [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::FileTooLarge];
    if full.contains(&error.kind()) {
        let text = format!(
            "there is no room for {place}: {error}; what was committed before is intact. Free some space and go on \
             with --resume"
        );
        return QueueError::new(Problem::Full, text);
    }
    if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) {
        return damaged(place, error);
    }
    QueueError::new(
        Problem::Failed,
        format!("{place} cannot be used: {error}; what was committed before is intact"),
    )
}

fn wrong(place: &str, error: impl Into<redb::Error>) -> QueueError {
    match error.into() {
        redb::Error::Io(error) => failed(place, &error),
        redb::Error::DatabaseAlreadyOpen => QueueError::new(
            Problem::InUse,
            format!(
                "{place} is in use: another cargo raddle runs this test; wait for it, or stop it"
            ),
        ),
        redb::Error::UpgradeRequired(_) => {
            QueueError::new(Problem::Mismatch, format!("{place} has an old format; {ANEW}"))
        }
        error => damaged(place, &error),
    }
}

fn damaged(place: &str, error: &dyn fmt::Display) -> QueueError {
    QueueError::new(
        Problem::Corrupt,
        format!("{place} is damaged, and nothing of it is used: {error}; {ANEW}"),
    )
}

#[cfg(test)]
mod tests;
