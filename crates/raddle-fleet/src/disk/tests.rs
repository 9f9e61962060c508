//! Crashes at every write, full disks and damaged files, on a disk that is a vector of bytes.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::atomic::{AtomicU64, Ordering};

use redb::StorageBackend;

use super::*;
use crate::clock::ManualClock;

const LEASE: Duration = Duration::from_secs(10);
const NEVER: u64 = u64::MAX;

/// A disk that refuses after so many writes.
#[derive(Clone, Debug)]
struct Disk {
    bytes: Arc<Mutex<Vec<u8>>>,
    /// Writes, changes of size and syncs that it still takes.
    left: Arc<AtomicU64>,
    /// What it says then.
    kind: io::ErrorKind,
}

impl Disk {
    /// With the file of a run on which nothing was done.
    fn new(left: u64, kind: io::ErrorKind) -> Self {
        let disk = Self::of(Vec::new(), NEVER, kind);
        let database = redb::Builder::new().create_with_backend(disk.clone()).unwrap();
        begin(&database, b"run").unwrap();
        drop(database);
        disk.left.store(left, Ordering::SeqCst);
        disk
    }

    fn of(bytes: Vec<u8>, left: u64, kind: io::ErrorKind) -> Self {
        let bytes = Arc::new(Mutex::new(bytes));
        Self { bytes, left: Arc::new(AtomicU64::new(left)), kind }
    }

    fn take(&self) -> io::Result<()> {
        let less = |left: u64| if left == NEVER { Some(NEVER) } else { left.checked_sub(1) };
        match self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less) {
            Ok(_) => Ok(()),
            Err(_) => Err(io::Error::new(self.kind, "the disk takes no more")),
        }
    }

    fn contents(&self) -> Vec<u8> {
        self.bytes.lock().unwrap().clone()
    }

    fn queue(&self, clock: &ManualClock) -> Result<DiskQueue, QueueError> {
        let disk = self.clone();
        let opener: Opener =
            Box::new(move || redb::Builder::new().create_with_backend(disk.clone()));
        DiskQueue::open_by("queue".to_owned(), opener, b"run", Arc::new(clock.clone()))
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.lock().unwrap().len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let bytes = self.bytes.lock().unwrap();
        let from = usize::try_from(offset).unwrap();
        let read = bytes.get(from..from + out.len());
        out.copy_from_slice(read.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.take()?;
        self.bytes.lock().unwrap().resize(usize::try_from(len).unwrap(), 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.take()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.take()?;
        let from = usize::try_from(offset).unwrap();
        self.bytes.lock().unwrap()[from..from + data.len()].copy_from_slice(data);
        Ok(())
    }
}

/// What a queue says: what was folded, records, open units.
type Said = (Option<(u64, Vec<u8>)>, Vec<Record>, Vec<UnitKey>);

fn said(queue: &DiskQueue) -> Said {
    let open = queue.inner().ledger.open_units();
    (queue.folded().unwrap(), queue.records(0, usize::MAX).unwrap(), open)
}

/// Four commits, each of which is noted as soon as it is about to be made. Stops at the first error.
fn work(queue: &DiskQueue, mut note: impl FnMut(Said)) -> Result<(), QueueError> {
    let unit = |index| QueuedUnit { key: UnitKey::root(index), bytes: vec![7; 300] };
    note(said(queue));
    queue.put((0..3).map(unit).collect())?;
    note(said(queue));
    queue.sync()?;
    for round in 0..3_u8 {
        let lease = queue.lease("w", LEASE)?.expect("a unit waits");
        let leftovers = vec![vec![round; 200]; usize::from(2 - round)];
        queue.complete(&lease, Completion { result: vec![round; 500], leftovers })?;
        if round == 1 {
            queue.fold(1, b"the first")?;
        }
        note(said(queue));
        queue.sync()?;
    }
    Ok(())
}

/// How many writes the work above takes, and what is in the file after each commit.
fn undisturbed() -> (u64, Vec<Said>, Vec<u8>) {
    let disk = Disk::new(1 << 40, io::ErrorKind::Other);
    let clock = ManualClock::default();
    let mut states = Vec::new();
    let queue = disk.queue(&clock).unwrap();
    work(&queue, |said| states.push(said)).unwrap();
    let taken = (1 << 40) - disk.left.load(Ordering::SeqCst);
    drop(queue);
    (taken, states, disk.contents())
}

#[test]
fn after_a_crash_at_any_write_there_is_the_state_of_a_commit() {
    let (writes, states, _) = undisturbed();
    let clock = ManualClock::default();
    let mut seen = std::collections::BTreeSet::new();
    for left in 0..writes {
        let disk = Disk::new(left, io::ErrorKind::Other);
        let mut tried = 0;
        if let Ok(queue) = disk.queue(&clock) {
            assert!(
                work(&queue, |_| tried += 1).is_err(),
                "write {left} of {writes} was not needed"
            );
            // As after `kill -9`: nothing is closed.
            std::mem::forget(queue);
        }
        let after = Disk::of(disk.contents(), NEVER, io::ErrorKind::Other);
        let queue = after.queue(&clock).unwrap();
        let said = said(&queue);
        let commit = states.iter().position(|state| *state == said);
        let commit = commit.unwrap_or_else(|| panic!("after write {left}: {said:?}"));
        // The last commit that was tried, or the one before it.
        assert!(commit + 2 >= tried && commit <= tried, "after write {left}: {commit}, {tried}");
        seen.insert(commit);
    }
    assert_eq!(seen.len(), states.len());
}

#[test]
fn a_full_disk_is_an_error_and_the_work_goes_on_when_there_is_room() {
    let (writes, states, _) = undisturbed();
    let clock = ManualClock::default();
    let mut full = 0;
    for left in 0..writes {
        let disk = Disk::new(left, io::ErrorKind::StorageFull);
        match disk.queue(&clock) {
            Err(error) => assert_eq!(error.problem(), Problem::Full, "{error}"),
            Ok(queue) => {
                let before = work(&queue, |_| ()).unwrap_err();
                assert_eq!(before.problem(), Problem::Full, "{before}");
                assert!(before.to_string().contains("--resume"), "{before}");
                let told = said(&queue);
                // With room again the same queue writes what it still had.
                disk.left.store(NEVER, Ordering::SeqCst);
                queue.sync().unwrap();
                drop(queue);
                assert_eq!(said(&disk.queue(&clock).unwrap()), told);
                assert!(states.contains(&told));
                full += 1;
            }
        }
    }
    assert!(full > 10, "{full}");
}

#[test]
fn a_damaged_file_is_refused_or_says_what_it_said() {
    let (_, states, bytes) = undisturbed();
    let clock = ManualClock::default();
    let intact = states.last().unwrap();
    let mut refused = 0;
    let mut look = |bytes: Vec<u8>, what: &str| {
        match Disk::of(bytes, NEVER, io::ErrorKind::Other).queue(&clock) {
            // Where nothing is stored nothing is damaged.
            Ok(queue) => assert!(said(&queue) == *intact, "{what}: {:?}", said(&queue)),
            Err(error) => {
                assert!(error.to_string().ends_with(ANEW), "{what}: {error}");
                refused += 1;
            }
        }
    };
    // Of a file of mostly zeros the bytes that say something, and some of the others.
    let full: Vec<usize> = (0..bytes.len()).filter(|place| bytes[*place] != 0).collect();
    let some = full.iter().copied().step_by(full.len() / 200);
    for place in some.chain((0..bytes.len()).step_by(bytes.len() / 50)) {
        let mut bytes = bytes.clone();
        bytes[place] ^= 0x5a;
        look(bytes, &format!("byte {place}"));
    }
    for place in (1..bytes.len()).step_by(bytes.len() / 20) {
        look(bytes[..place].to_vec(), &format!("cut at {place}"));
        let mut bytes = bytes.clone();
        bytes[place..].fill(0);
        look(bytes, &format!("zeros from {place} on"));
    }
    assert!(refused > 20, "{refused}");
}

#[test]
fn a_file_of_another_run_or_in_use_is_refused() {
    let path = std::env::temp_dir().join(format!("raddle-disk-{}", std::process::id()));
    let _ = fs::remove_file(&path);
    let queue = DiskQueue::open(&path, b"one").unwrap();
    let error = DiskQueue::open(&path, b"one").unwrap_err();
    assert_eq!(error.problem(), Problem::InUse, "{error}");
    drop(queue);
    let error = DiskQueue::open(&path, b"two").unwrap_err();
    assert_eq!(error.problem(), Problem::Mismatch, "{error}");
    fs::write(&path, "this is no database").unwrap();
    let error = DiskQueue::open(&path, b"one").unwrap_err();
    assert_eq!(error.problem(), Problem::Corrupt, "{error}");
    fs::remove_file(&path).unwrap();
}
