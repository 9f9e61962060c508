//! Atomics in programs, litmus style.

use std::collections::BTreeSet;
use std::sync::Arc;

use raddle_threads::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle_threads::thread;
use raddle_trace::Settings;

use crate::{outcomes, outcomes_with, panic_message, shared};

#[test]
fn store_buffering_is_sequentially_consistent() {
    let (found, executions) = outcomes(|| {
        let (x, y) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (x2, y2) = (Arc::clone(&x), Arc::clone(&y));
        let other = thread::spawn(move || {
            y2.store(1, SeqCst);
            x2.load(SeqCst)
        });
        x.store(1, SeqCst);
        let a = y.load(SeqCst);
        (a, other.join().expect("no panic"))
    });
    assert_eq!(found, BTreeSet::from([(0, 1), (1, 0), (1, 1)]));
    // Two tasks of two steps: C(4, 2).
    assert_eq!(executions, 6);
}

#[test]
fn a_read_and_a_write_lose_updates_and_an_update_does_not() {
    let lost = |whole: bool| {
        move || {
            let (a, b) = shared(AtomicUsize::new(0));
            let add = move |x: &AtomicUsize| {
                if whole {
                    x.fetch_add(1, SeqCst);
                } else {
                    let value = x.load(SeqCst);
                    x.store(value + 1, SeqCst);
                }
            };
            let other = thread::spawn(move || add(&a));
            add(&b);
            other.join().expect("no panic");
            b.load(SeqCst)
        }
    };
    assert_eq!(outcomes(lost(false)).0, BTreeSet::from([1, 2]));
    assert_eq!(outcomes(lost(true)), (BTreeSet::from([2]), 2));
}

#[test]
fn an_update_by_a_closure_is_not_lost_and_may_be_tried_again() {
    let (found, executions) = outcomes(|| {
        let (a, b) = shared(AtomicUsize::new(1));
        let other = thread::spawn(move || a.update(SeqCst, SeqCst, |n| n * 2));
        let mine = b.update(SeqCst, SeqCst, |n| n * 3);
        (mine, other.join().expect("no panic"), b.load(SeqCst))
    });
    assert_eq!(found, BTreeSet::from([(1, 3, 6), (2, 1, 6)]));
    // Two tasks of a load and an exchange: C(4, 2). Who is overtaken tries again, last of all.
    assert_eq!(executions, 6);
}

#[test]
fn a_lost_update_is_found_and_replayed() {
    let message = panic_message(&|| {
        let (a, b) = shared(AtomicUsize::new(0));
        let add = |x: &AtomicUsize| x.store(x.load(SeqCst) + 1, SeqCst);
        let other = thread::spawn(move || add(&a));
        add(&b);
        other.join().expect("no panic");
        assert_eq!(b.load(SeqCst), 2, "an update was lost");
    });
    assert!(message.contains("an update was lost"), "{message}");
}

#[test]
fn a_weak_exchange_fails_spuriously_only_where_that_is_explored() {
    let program = || {
        let x = AtomicUsize::new(0);
        x.compare_exchange_weak(0, 1, SeqCst, SeqCst)
    };
    assert_eq!(outcomes(program), (BTreeSet::from([Ok(0)]), 1));
    let spurious = Settings { spurious: true, ..Settings::default() };
    assert_eq!(outcomes_with(spurious, program), (BTreeSet::from([Ok(0), Err(0)]), 2));
}
