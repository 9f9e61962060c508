//! Mozilla's thread for timers looks whether it is to end, and then waits to be notified. The
//! notification may come in between, and who joins the thread waits for ever.

use raddle::sync::atomic::{AtomicBool, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex};
use raddle::thread;

use super::{Bystander, DEADLOCK, Flaw, right, wrong};
use crate::libraries::Test;

const LINE: &str = "a thread waits for timers; one ends it";

pub(super) const TEST: Test = Test {
    correct: right("timer-thread", LINE, || test(Flaw::None)),
    bugs: &[wrong(
        "timer-thread-end",
        "the end is told without the lock",
        || test(Flaw::Here),
        DEADLOCK,
    )],
};

/// The thread ends.
fn test(flaw: Flaw) {
    let (ending, lock, changed) = (AtomicBool::new(false), Mutex::new(()), Condvar::new());
    let bystander = Bystander::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            bystander.visit();
            let mut held = lock.lock().unwrap();
            while !ending.load(SeqCst) {
                held = changed.wait(held).unwrap();
            }
        });
        bystander.visit();
        let held = (flaw == Flaw::None).then(|| lock.lock().unwrap());
        ending.store(true, SeqCst);
        changed.notify_one();
        drop(held);
    });
}
