//! Plain data that is handed from thread to thread, and locks that are taken in turn.

use raddle::cell::Tracked;
use raddle::sync::atomic::{AtomicBool, Ordering};
use raddle::sync::{Mutex, mpsc};
use raddle::{Named, thread};

use crate::program::{Expected, Group, Program};

/// `racy-publish`.
///
/// A race in the one execution of two in which the flag is seen.
pub const RACY_PUBLISH: Program =
    Program::new("racy-publish", Group::Bugs, "plain data behind a flag that is stored relaxed")
        .source("message passing: Boehm and Adve, PLDI 2008")
        .plain(racy_publish)
        .fails(Expected::DataRace, |_| 0);

fn publish(store: Ordering) {
    let (ready, data) = (AtomicBool::new(false).named("ready"), Tracked::new(0).named("data"));
    thread::scope(|scope| {
        scope.spawn(|| {
            data.set(42);
            ready.store(true, store);
        });
        scope.spawn(|| {
            if ready.load(Ordering::Acquire) {
                assert_eq!(data.get(), 42);
            }
        });
    });
}

/// data = 42; ready = true (relaxed) ‖ if ready, data is 42: no assertion fails.
pub fn racy_publish() {
    publish(Ordering::Relaxed);
}

/// `published`.
///
/// Two steps that depend on each other; the accesses to the data are none.
pub const PUBLISHED: Program =
    Program::new("published", Group::Bugs, "plain data behind a flag that is stored with release")
        .plain(published)
        .interleavings(|_| Some(2))
        .traces(|_| Some(2));

/// [`racy_publish`] as it should be.
pub fn published() {
    publish(Ordering::Release);
}

/// `lock-order`.
///
/// Covered without a deadlock, so the warning is all there is to say.
pub const LOCK_ORDER: Program = Program::new(
    "lock-order",
    Group::Bugs,
    "two locks in opposite orders, kept apart by a channel: a warning",
)
.plain(lock_order);

/// a, b; send ‖ receive; b, a.
pub fn lock_order() {
    let (a, b) = (Mutex::new(()).named("a"), Mutex::new(()).named("b"));
    let (sender, receiver) = mpsc::channel();
    let (a, b) = (&a, &b);
    thread::scope(|scope| {
        scope.spawn(move || {
            let first = a.lock().unwrap();
            drop(b.lock().unwrap());
            drop(first);
            sender.send(()).unwrap();
        });
        scope.spawn(move || {
            receiver.recv().unwrap();
            let _second = b.lock().unwrap();
            let _first = a.lock().unwrap();
        });
    });
}
