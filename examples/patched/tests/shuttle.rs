//! As users of shuttle write tests: nothing here knows of raddle.

use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::{Arc, Mutex};
use shuttle::{check_dfs, check_pct, check_random, future, thread};

#[test]
fn a_lock_keeps_two_increments_apart() {
    check_dfs(
        || {
            let total = Arc::new(Mutex::new(0));
            let theirs = total.clone();
            let thread = thread::spawn(move || *theirs.lock().unwrap() += 1);
            *total.lock().unwrap() += 1;
            thread.join().unwrap();
            assert_eq!(*total.lock().unwrap(), 2);
        },
        None,
    );
}

#[test]
#[should_panic(expected = "an update was lost")]
fn an_increment_in_two_steps_loses_updates() {
    check_random(
        || {
            let n = Arc::new(AtomicUsize::new(0));
            let add = |n: &AtomicUsize| n.store(n.load(Ordering::SeqCst) + 1, Ordering::SeqCst);
            let theirs = n.clone();
            let thread = thread::spawn(move || add(&theirs));
            add(&n);
            thread.join().unwrap();
            assert_eq!(n.load(Ordering::SeqCst), 2, "an update was lost");
        },
        1_000,
    );
}

#[test]
fn tasks_are_awaited() {
    check_pct(
        || {
            let sum = future::block_on(async {
                let one = future::spawn(async { 1 });
                one.await.unwrap() + 1
            });
            assert_eq!(sum, 2);
        },
        20,
        2,
    );
}

/// It is there with the feature `annotation` alone.
#[test]
fn a_recording_can_be_annotated() {
    let _: fn(fn(), &str) = shuttle::annotate_replay;
}
