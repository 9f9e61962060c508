//! Small programs that the tests run.

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::{Named, thread};

/// Two tasks add one each, in two steps.
pub(crate) fn lost_update() {
    let n = Arc::new(AtomicU32::new(0).named("n"));
    let theirs = Arc::clone(&n);
    let thread = thread::spawn(move || add_one(&theirs));
    add_one(&n);
    thread.join().unwrap();
    assert_eq!(n.load(SeqCst), 2, "an update was lost");
}

fn add_one(n: &AtomicU32) {
    let seen = n.load(SeqCst);
    n.store(seen + 1, SeqCst);
}

/// Two tasks take two locks in opposite orders.
pub(crate) fn lock_order() {
    let (a, b) = (Arc::new(Mutex::new(()).named("a")), Arc::new(Mutex::new(()).named("b")));
    let (their_a, their_b) = (Arc::clone(&a), Arc::clone(&b));
    let thread = thread::spawn(move || {
        let _b = their_b.lock().unwrap();
        let _a = their_a.lock().unwrap();
    });
    {
        let _a = a.lock().unwrap();
        let _b = b.lock().unwrap();
    }
    thread.join().unwrap();
}

/// Two tasks add one each, in one step.
pub(crate) fn kept_update() {
    let n = Arc::new(AtomicU32::new(0));
    let theirs = Arc::clone(&n);
    let thread = thread::spawn(move || theirs.fetch_add(1, SeqCst));
    n.fetch_add(1, SeqCst);
    thread.join().unwrap();
    assert_eq!(n.load(SeqCst), 2);
}

/// Three tasks of ten steps each: 30! / 10!^3 executions, too many for anyone.
pub(crate) fn large() {
    let n = Arc::new(AtomicU32::new(0));
    for _ in 0..2 {
        let theirs = Arc::clone(&n);
        thread::spawn(move || ten_times(&theirs));
    }
    ten_times(&n);
}

fn ten_times(n: &AtomicU32) {
    for _ in 0..10 {
        n.fetch_add(1, SeqCst);
    }
}
