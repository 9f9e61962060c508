//! A test that was written for loom. Only its imports have changed.

#![expect(unsafe_code, reason = "the slot is what the test is about")]

// ANCHOR: imports
// Was: use loom::…
use raddle::migrate::loom;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
// ANCHOR_END: imports

// ANCHOR: code
/// A value that is written once and then published by a flag.
struct Slot {
    full: AtomicBool,
    value: UnsafeCell<u32>,
}

// SAFETY: the value is written before the flag is up, and read after.
unsafe impl Sync for Slot {}

fn publish(ordering: Ordering) {
    let slot = Arc::new(Slot { full: AtomicBool::new(false), value: UnsafeCell::new(0) });
    let theirs = Arc::clone(&slot);
    let writer = thread::spawn(move || {
        // SAFETY: no thread reads before the flag is up.
        theirs.value.with_mut(|value| unsafe { *value = 7 });
        theirs.full.store(true, ordering);
    });
    if slot.full.load(Ordering::Acquire) {
        // SAFETY: the flag is up, so the value was written.
        assert_eq!(slot.value.with(|value| unsafe { *value }), 7);
    }
    writer.join().unwrap();
}
// ANCHOR_END: code

// ANCHOR: test
#[test]
fn a_value_is_published_by_a_flag() {
    loom::model(|| publish(Ordering::Release));
}
// ANCHOR_END: test

/// Wrong: a relaxed store publishes nothing, so the reader may see the flag without the value.
fn published_without_release() {
    publish(Ordering::Relaxed);
}

#[test]
fn the_bug_is_reported() {
    crate::reports::compare("moved_from_loom", published_without_release);
}
