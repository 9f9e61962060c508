//! Mozilla on the Macintosh starts to read, notes that this is pending, and waits until it is not. The
//! one who ends it may come before the note.

use raddle::sync::{Condvar, Mutex, mpsc};
use raddle::thread;

use super::{Bystander, Flaw, HANG, right, wrong};
use crate::libraries::Test;

const LINE: &str = "one starts to read and waits; one says that it is done";

pub(super) const TEST: Test = Test {
    correct: right("read-write-proc", LINE, || test(Flaw::None)),
    bugs: &[wrong(
        "read-write-proc-late",
        "pending is noted afterwards",
        || test(Flaw::Here),
        HANG,
    )],
};

/// Who waits for the read goes on.
fn test(flaw: Flaw) {
    let (pending, done) = (Mutex::new(false), Condvar::new());
    let bystander = Bystander::default();
    let (start, started) = mpsc::channel();
    let (pending, done, bystander) = (&pending, &done, &bystander);
    thread::scope(|scope| {
        scope.spawn(move || {
            if flaw == Flaw::None {
                *pending.lock().unwrap() = true;
            }
            start.send(()).unwrap();
            bystander.visit();
            if flaw == Flaw::Here {
                *pending.lock().unwrap() = true;
            }
            let held = pending.lock().unwrap();
            drop(done.wait_while(held, |pending| *pending).unwrap());
        });
        scope.spawn(move || {
            started.recv().unwrap();
            bystander.visit();
            *pending.lock().unwrap() = false;
            done.notify_one();
        });
    });
}
