//! `MySQL`'s binary log is closed and opened again when it is rotated. A statement that asks in between
//! whether it is open is done and not logged.

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicBool, Ordering::SeqCst};
use raddle::thread;

use super::{ATOMICITY, Bystander, Flaw, right, wrong};
use crate::libraries::Test;

const LINE: &str = "one rotates the log; one does two statements";

pub(super) const TEST: Test = Test {
    correct: right("mysql-log", LINE, || test(Flaw::None)),
    bugs: &[wrong("mysql-log-lost", "rotation is not atomic", || test(Flaw::Here), ATOMICITY)],
};

struct Log {
    open: AtomicBool,
    entries: Mutex<Vec<usize>>,
    /// Of the look and the entry, and of a rotation.
    lock: Mutex<()>,
    flaw: Flaw,
}

impl Log {
    fn rotate(&self, archive: &Mutex<Vec<usize>>) {
        let held = (self.flaw == Flaw::None).then(|| self.lock.lock().unwrap());
        self.open.store(false, SeqCst);
        let entries = std::mem::take(&mut *self.entries.lock().unwrap());
        archive.lock().unwrap().extend(entries);
        self.open.store(true, SeqCst);
        drop(held);
    }

    fn write(&self, statement: usize) {
        let held = (self.flaw == Flaw::None).then(|| self.lock.lock().unwrap());
        if self.open.load(SeqCst) {
            self.entries.lock().unwrap().push(statement);
        }
        drop(held);
    }
}

/// What was done is logged, in one file or the other.
fn test(flaw: Flaw) {
    let (open, entries) = (AtomicBool::new(true), Mutex::default());
    let log = Log { open, entries, lock: Mutex::new(()), flaw };
    let (archive, bystander) = (Mutex::default(), Bystander::default());
    thread::scope(|scope| {
        scope.spawn(|| {
            bystander.visit();
            log.rotate(&archive);
        });
        scope.spawn(|| {
            for statement in 0..2 {
                bystander.visit();
                log.write(statement);
            }
        });
    });
    let logged = archive.lock().unwrap().len() + log.entries.lock().unwrap().len();
    assert_eq!(logged, 2, "a statement was done and not logged");
}
