//! `Mutex` in programs.

use std::collections::BTreeSet;
use std::sync::Arc;

use raddle_threads::sync::{Mutex, TryLockError};
use raddle_threads::thread;
use raddle_trace::{Outcome, Settings};

use crate::{failure, outcomes, shared};

#[test]
fn a_lock_makes_updates_whole() {
    let (found, executions) = outcomes(|| {
        let (a, b) = shared(Mutex::new(0));
        let other = thread::spawn(move || *a.lock().expect("not poisoned") += 1);
        *b.lock().expect("not poisoned") += 1;
        other.join().expect("no panic");
        *b.lock().expect("not poisoned")
    });
    assert_eq!(found, BTreeSet::from([2]));
    // Whichever locks first, the other waits for the unlock: 2 orders. After the child's unlock
    // nothing of it is left; if main goes first, the child's lock, unlock follow main's unlock
    // with main blocked in join.
    assert_eq!(executions, 2);
}

#[test]
fn two_locks_in_opposite_orders_deadlock() {
    let outcome = failure(Settings::default(), &|| {
        let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let (first, second) = (Arc::clone(&b), Arc::clone(&a));
        let other = thread::spawn(move || {
            let _first = first.lock();
            let _second = second.lock();
        });
        {
            let _first = a.lock();
            let _second = b.lock();
        }
        let _ = other.join();
    });
    let Outcome::Deadlock { waiting } = outcome else { panic!("expected a deadlock") };
    let holders: Vec<_> =
        waiting.iter().map(|one| (one.task, one.held_by.iter().map(|h| h.0).collect())).collect();
    assert_eq!(holders, [(0, vec![1]), (1, vec![0])]);
}

#[test]
fn try_lock_sees_a_lock_held_or_free() {
    let (found, executions) = outcomes(|| {
        let (a, b) = shared(Mutex::new(()));
        let other = thread::spawn(move || drop(a.lock()));
        let free = match b.try_lock() {
            Ok(_) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Poisoned(_)) => unreachable!("nobody panics"),
        };
        other.join().expect("no panic");
        free
    });
    assert_eq!(found, BTreeSet::from([false, true]));
    // The child locks and unlocks. Main tries before the lock (then unlocks before it, since the
    // child waits: 1), between lock and unlock (1), or after the unlock (1).
    assert_eq!(executions, 3);
}

#[test]
fn a_panic_poisons_as_in_std() {
    let (found, _) = outcomes(|| {
        let (a, b) = shared(Mutex::new(0));
        let other = thread::spawn(move || {
            let mut guard = a.lock().expect("not poisoned yet");
            *guard = 1;
            panic!("on purpose");
        });
        let joined = other.join().is_err();
        let poisoned = b.lock().is_err();
        b.clear_poison();
        (joined, poisoned, b.lock().map(|value| *value).ok())
    });
    assert_eq!(found, BTreeSet::from([(true, true, Some(1))]));
}

#[test]
fn locking_twice_is_a_deadlock_with_oneself() {
    let outcome = failure(Settings::default(), &|| {
        let lock = Mutex::new(());
        let _first = lock.lock();
        let _second = lock.lock();
    });
    assert!(matches!(outcome, Outcome::Deadlock { waiting } if waiting[0].held_by[0].0 == 0));
}

#[test]
fn outside_an_execution_a_mutex_is_a_mutex() {
    let (a, b) = shared(Mutex::new(0));
    let other = thread::spawn(move || {
        for _ in 0..1000 {
            *a.lock().expect("not poisoned") += 1;
        }
    });
    for _ in 0..1000 {
        *b.lock().expect("not poisoned") += 1;
    }
    other.join().expect("no panic");
    assert_eq!(*b.lock().expect("not poisoned"), 2000);
}
