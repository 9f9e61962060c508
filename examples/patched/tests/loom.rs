//! As users of loom write tests: nothing here knows of raddle.

use loom::cell::UnsafeCell;
use loom::future::block_on;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex, Notify};
use loom::thread;

#[test]
fn a_lock_keeps_two_increments_apart() {
    loom::model(|| {
        let total = Arc::new(Mutex::new(0));
        let theirs = total.clone();
        let thread = thread::spawn(move || *theirs.lock().unwrap() += 1);
        *total.lock().unwrap() += 1;
        thread.join().unwrap();
        assert_eq!(*total.lock().unwrap(), 2);
    });
}

#[test]
#[should_panic(expected = "an update was lost")]
fn an_increment_in_two_steps_loses_updates() {
    loom::model(|| {
        let n = Arc::new(AtomicUsize::new(0));
        let add = |n: &AtomicUsize| n.store(n.load(Ordering::SeqCst) + 1, Ordering::SeqCst);
        let theirs = n.clone();
        let thread = thread::spawn(move || add(&theirs));
        add(&n);
        thread.join().unwrap();
        assert_eq!(n.load(Ordering::SeqCst), 2, "an update was lost");
    });
}

#[test]
#[should_panic(expected = "data race")]
fn a_relaxed_flag_publishes_nothing() {
    loom::model(|| {
        let shared = Arc::new((UnsafeCell::new(0), AtomicBool::new(false)));
        let theirs = shared.clone();
        let thread = thread::spawn(move || {
            theirs.0.with_mut(|n| unsafe { *n = 1 });
            theirs.1.store(true, Ordering::Relaxed);
        });
        if shared.1.load(Ordering::Relaxed) {
            shared.0.with(|n| assert_eq!(unsafe { *n }, 1));
        }
        thread.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "Arc leaked")]
fn an_arc_that_is_forgotten_is_a_leak() {
    loom::model(|| std::mem::forget(Arc::new(1)));
}

#[test]
fn a_future_is_driven_until_it_is_ready() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        let theirs = notify.clone();
        let thread = thread::spawn(move || theirs.notify());
        assert_eq!(block_on(async { 5 }), 5);
        notify.wait();
        thread.join().unwrap();
    });
}
