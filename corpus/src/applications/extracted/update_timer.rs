//! Mozilla sets a timer to an earlier time if it is set to a later one. Two look, and the later of the
//! two is set last.

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use super::{ATOMICITY, Bystander, Flaw, right, wrong};
use crate::libraries::Test;

const LINE: &str = "two set a timer to their time if that is earlier";

pub(super) const TEST: Test = Test {
    correct: right("update-timer", LINE, || test(Flaw::None)),
    bugs: &[wrong(
        "update-timer-later",
        "look and set are two steps",
        || test(Flaw::Here),
        ATOMICITY,
    )],
};

/// The timer is set to the earliest.
fn test(flaw: Flaw) {
    let (due, lock, bystander) = (AtomicUsize::new(100), Mutex::new(()), Bystander::default());
    let update = |when: usize| {
        bystander.visit();
        let held = (flaw == Flaw::None).then(|| lock.lock().unwrap());
        if when < due.load(SeqCst) {
            due.store(when, SeqCst);
        }
        drop(held);
        bystander.visit();
    };
    thread::scope(|scope| {
        scope.spawn(|| update(20));
        scope.spawn(|| update(10));
    });
    assert_eq!(due.load(SeqCst), 10, "the timer comes too late");
}
