//! `RwLock` in programs.

use std::collections::BTreeSet;
use std::sync::Arc;

use raddle_threads::sync::{RwLock, RwLockWriteGuard, TryLockError, TryLockResult};
use raddle_threads::{Named, thread};
use raddle_trace::{Outcome, Settings};

use crate::{failure, outcomes, panic_message, shared};

fn got<G>(result: TryLockResult<G>) -> bool {
    match result {
        Ok(guard) => {
            drop(guard);
            true
        }
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Poisoned(_)) => unreachable!("nobody panics"),
    }
}

#[test]
fn a_reader_sees_all_of_a_write_or_nothing() {
    let (found, executions) = outcomes(|| {
        let (a, b) = shared(RwLock::new((0, 0)).named("pair"));
        let writer = thread::spawn(move || {
            let mut pair = a.write().expect("not poisoned");
            pair.0 = 1;
            pair.1 = 1;
        });
        let seen = *b.read().expect("not poisoned");
        writer.join().expect("no panic");
        seen
    });
    assert_eq!(found, BTreeSet::from([(0, 0), (1, 1)]));
    // Whichever takes the lock first, the other waits for its unlock.
    assert_eq!(executions, 2);
}

#[test]
fn readers_do_not_exclude_each_other() {
    let (found, executions) = outcomes(|| {
        let (a, b) = shared(RwLock::new(7));
        let other = thread::spawn(move || *a.read().expect("not poisoned"));
        let one = *b.read().expect("not poisoned");
        (one, other.join().expect("no panic"))
    });
    assert_eq!(found, BTreeSet::from([(7, 7)]));
    // Two tasks of two steps, none of which waits: C(4, 2).
    assert_eq!(executions, 6);
}

#[test]
fn attempts_see_who_holds_the_lock() {
    let found = |write: bool| {
        outcomes(move || {
            let (a, b) = shared(RwLock::new(()));
            let other = thread::spawn(move || {
                if write {
                    drop(a.write());
                } else {
                    drop(a.read());
                }
            });
            let seen = (got(b.try_read()), got(b.try_write()));
            other.join().expect("no panic");
            seen
        })
    };
    // Against a reader, to read always works. The try_read that worked is unlocked before the
    // try_write: 2 + 1 steps if that fails, 2 + 2 if it works.
    assert_eq!(found(false).0, BTreeSet::from([(true, true), (true, false)]));
    assert_eq!(
        found(true).0,
        BTreeSet::from([(true, true), (true, false), (false, true), (false, false)])
    );
}

#[test]
fn a_task_may_read_twice() {
    let (found, _) = outcomes(|| {
        let lock = RwLock::new(1);
        let (one, two) = (lock.read().expect("not poisoned"), lock.read().expect("not poisoned"));
        let sum = *one + *two;
        drop(one);
        let held = !got(lock.try_write());
        drop(two);
        (sum, held, got(lock.try_write()))
    });
    assert_eq!(found, BTreeSet::from([(2, true, true)]));
}

#[test]
fn two_readers_that_both_want_to_write_deadlock() {
    let outcome = failure(Settings::default(), &|| {
        let (a, b) = shared(RwLock::new(0));
        let upgrade = |lock: &RwLock<i32>| {
            let seen = lock.read().expect("not poisoned");
            *lock.write().expect("not poisoned") = *seen + 1;
        };
        let other = thread::spawn(move || upgrade(&a));
        upgrade(&b);
        let _ = other.join();
    });
    let Outcome::Deadlock { waiting } = outcome else { panic!("expected a deadlock") };
    for one in &waiting {
        assert_eq!(one.op, "write");
        assert!(one.held_by.iter().any(|(holder, _)| *holder == one.task), "{waiting:?}");
        assert!(one.held_by.iter().all(|(_, since)| since.is_some()), "{waiting:?}");
    }
}

#[test]
fn reading_and_then_writing_loses_updates() {
    let message = panic_message(&|| {
        let (a, b) = shared(RwLock::new(0));
        let add = |lock: &RwLock<i32>| {
            let seen = *lock.read().expect("not poisoned");
            *lock.write().expect("not poisoned") = seen + 1;
        };
        let other = thread::spawn(move || add(&a));
        add(&b);
        other.join().expect("no panic");
        assert_eq!(*b.read().expect("not poisoned"), 2, "an update was lost");
    });
    assert!(message.contains("an update was lost"), "{message}");
}

#[test]
fn nobody_writes_while_a_writer_becomes_a_reader() {
    let (found, _) = outcomes(|| {
        let (a, b) = shared(RwLock::new(0));
        let other = thread::spawn(move || *a.write().expect("not poisoned") += 10);
        let mut mine = b.write().expect("not poisoned");
        *mine += 1;
        let before = *mine;
        let mine = RwLockWriteGuard::downgrade(mine);
        let unchanged = *mine == before;
        let readable = got(b.try_read());
        let writable = got(b.try_write());
        drop(mine);
        other.join().expect("no panic");
        (before, unchanged, readable, writable)
    });
    assert_eq!(found, BTreeSet::from([(1, true, true, false), (11, true, true, false)]));
}

#[test]
fn a_writer_that_panics_poisons_and_a_reader_does_not() {
    let (found, _) = outcomes(|| {
        let (a, b) = shared(RwLock::new(0));
        let reader = Arc::clone(&a);
        let reader = thread::spawn(move || {
            let _held = reader.read();
            panic!("on purpose");
        });
        let after_reader = (reader.join().is_err(), b.is_poisoned());
        let writer = thread::spawn(move || {
            *a.write().expect("not poisoned yet") = 1;
            let _held = a.write();
            panic!("on purpose");
        });
        let after_writer = (writer.join().is_err(), b.read().is_err(), b.try_write().is_err());
        b.clear_poison();
        (after_reader, after_writer, b.read().map(|value| *value).ok())
    });
    assert_eq!(found, BTreeSet::from([((true, false), (true, true, true), Some(1))]));
}

#[test]
fn outside_an_execution_a_lock_is_a_lock() {
    static LOCK: RwLock<u32> = RwLock::new(0);
    let others: Vec<_> = (0..3)
        .map(|_| {
            thread::spawn(|| {
                for _ in 0..300 {
                    let before = *LOCK.read().expect("not poisoned");
                    *LOCK.write().expect("not poisoned") += 1;
                    assert!(*LOCK.read().expect("not poisoned") > before);
                }
            })
        })
        .collect();
    for other in others {
        other.join().expect("no panic");
    }
    assert_eq!(*LOCK.read().expect("not poisoned"), 900);
    assert_eq!(RwLock::from(3).into_inner().expect("not poisoned"), 3);
    assert_eq!(*RwLock::new(4).get_mut().expect("not poisoned"), 4);
}
