//! Mozilla's cache opens a stream of an entry and waits until the entry is valid, with the lock of the
//! cache in hand. Who makes it valid needs that lock.

use raddle::sync::{Condvar, Mutex};
use raddle::thread;

use super::{Bystander, DEADLOCK, Flaw, right, wrong};
use crate::libraries::Test;

const LINE: &str = "one opens a stream when its entry is valid; one makes it so";

pub(super) const TEST: Test = Test {
    correct: right("open-input-stream", LINE, || test(Flaw::None)),
    bugs: &[wrong(
        "open-input-stream-nested",
        "it waits with another lock in hand",
        || test(Flaw::Here),
        DEADLOCK,
    )],
};

/// The stream is opened.
fn test(flaw: Flaw) {
    let (cache, valid, made_valid) = (Mutex::new(0), Mutex::new(false), Condvar::new());
    let bystander = Bystander::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            bystander.visit();
            let mut cache = cache.lock().unwrap();
            *cache += 1;
            let cache = (flaw == Flaw::Here).then_some(cache);
            let held = valid.lock().unwrap();
            drop(made_valid.wait_while(held, |valid| !*valid).unwrap());
            drop(cache);
        });
        scope.spawn(|| {
            bystander.visit();
            let entry = cache.lock().unwrap();
            *valid.lock().unwrap() = true;
            made_valid.notify_one();
            drop(entry);
        });
    });
}
