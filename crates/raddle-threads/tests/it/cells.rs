//! Data races on cells: found where nothing orders two accesses, and nowhere else.

#![expect(unsafe_code, reason = "cells are shared by raw pointers")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize as Uncontrolled;
use std::time::Duration;

use raddle_engine::{Ended, Explored, Limits, Setup, Stop, explore};
use raddle_threads::Named;
use raddle_threads::cell::{Cell, MutPtr, Tracked, UnsafeCell};
use raddle_threads::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use raddle_threads::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, fence};
use raddle_threads::sync::{
    Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, counted, mpsc,
};
use raddle_threads::thread;
use raddle_trace::{CellOp, DataRace, Missing, Outcome, Settings};

use crate::{explore_all, failure, outcomes, shared};

/// The race of a program that has one, after checking that it replays.
#[track_caller]
fn race(program: &dyn Fn()) -> DataRace {
    match failure(Settings::default(), program) {
        Outcome::DataRace(race) => *race,
        other => panic!("expected a data race, found {}", other.kind()),
    }
}

/// Runs every execution of a program that has no race, nor any other failure.
#[track_caller]
fn clean(program: &dyn Fn()) -> u64 {
    let explored = explore_all(Settings::default(), program);
    if let Some(failure) = explored.failure {
        panic!("{}: {:?}", failure.outcome.summary(&failure.trace.tasks), failure.outcome);
    }
    assert_eq!(explored.ended, Ended::Covered);
    explored.counts.executions
}

/// The first execution alone: what is wrong there must show there.
fn first(program: &dyn Fn()) -> Explored {
    let mut strategy = raddle_search::build("dfs", 0).expect("dfs is known").strategy;
    let limits = Limits { executions: 1, ..Limits::default() };
    let setup = Setup { limits, ..Setup::default() };
    explore(&mut *strategy, &setup, &mut |_| Stop::No, &mut |_| {}, program)
        .expect("a search can run here")
}

/// How often executions end in which way.
#[track_caller]
fn kinds(program: &dyn Fn()) -> Vec<(&'static str, u64)> {
    let mut strategy = raddle_search::build("dfs", 0).expect("dfs is known").strategy;
    let setup = Setup { keep_going: true, ..Setup::default() };
    let explored = explore(&mut *strategy, &setup, &mut |_| Stop::No, &mut |_| {}, program)
        .expect("a search can run here");
    assert_eq!(explored.ended, Ended::Covered);
    explored.kinds.into_iter().collect()
}

/// A cell that is written by one task and read by another after `publish` and `receive`.
#[track_caller]
fn passed_on<T: Send + Sync + 'static>(
    make: fn() -> T,
    publish: fn(&T),
    receive: fn(&T) -> bool,
) -> Explored {
    explore_all(Settings::default(), &|| {
        let (ours, theirs) = shared((make(), Tracked::new(0)));
        let other = thread::spawn(move || {
            theirs.1.set(42);
            publish(&theirs.0);
        });
        if receive(&ours.0) {
            assert_eq!(ours.1.get(), 42);
        }
        other.join().expect("no panic");
    })
}

#[track_caller]
fn is_passed_on<T: Send + Sync + 'static>(
    make: fn() -> T,
    publish: fn(&T),
    receive: fn(&T) -> bool,
) {
    let explored = passed_on(make, publish, receive);
    if let Some(failure) = explored.failure {
        panic!("{}: {:?}", failure.outcome.summary(&failure.trace.tasks), failure.outcome);
    }
    assert_eq!(explored.ended, Ended::Covered);
}

#[track_caller]
fn is_not_passed_on<T: Send + Sync + 'static>(
    make: fn() -> T,
    publish: fn(&T),
    receive: fn(&T) -> bool,
) -> DataRace {
    match passed_on(make, publish, receive).failure.expect("a race").outcome {
        Outcome::DataRace(race) => *race,
        other => panic!("expected a data race, found {}", other.kind()),
    }
}

#[test]
fn a_counter_without_a_lock_is_a_race_in_every_execution() {
    let program = || {
        let (a, b) = shared(Tracked::new(0).named("counter"));
        let other = thread::spawn(move || a.set(a.get() + 1));
        b.set(b.get() + 1);
        other.join().expect("no panic");
    };
    let race = race(&program);
    assert_eq!(race.cell_label(), "counter");
    assert_eq!((race.first.task, race.first.op), (1, CellOp::Write));
    assert_eq!((race.second.task, race.second.op), (0, CellOp::Read));
    assert_eq!(race.missing, Missing::Everything);
    assert!(race.first.locks.is_empty() && race.second.locks.is_empty());
    // No decision was made: nothing but the cell is shared.
    let explored = first(&program);
    assert_eq!(explored.counts.executions, 1);
    assert_eq!(explored.ended, Ended::Failed);
}

#[test]
fn a_race_shows_although_no_assertion_fails_and_no_value_differs() {
    let race = race(&|| {
        let (a, b) = shared((Mutex::new(()).named("a lock"), Tracked::new(7)));
        let other = thread::spawn(move || a.1.get());
        let held = b.0.lock().expect("not poisoned");
        b.1.set(7);
        drop(held);
        assert_eq!(other.join().expect("no panic"), 7);
    });
    assert_eq!((race.first.op, race.second.op), (CellOp::Read, CellOp::Write));
    assert_eq!(race.second.locks.len(), 1);
    assert!(race.first.locks.is_empty());
}

#[test]
fn a_thread_may_race_before_its_first_op_and_whoever_started_it_goes_on() {
    let race = race(&|| {
        let cell = Tracked::new(0);
        let spawned = Mutex::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| cell.set(1));
                *spawned.lock().expect("not poisoned") += 1;
            }
        });
    });
    assert_eq!((race.first.task, race.second.task), (1, 2));
}

#[test]
fn whoever_is_joined_races_with_those_who_are_not() {
    let race = race(&|| {
        let (a, b) = shared(Tracked::new(0));
        let lock = Arc::new(Mutex::new(()));
        let theirs = Arc::clone(&lock);
        let other = thread::spawn(move || {
            drop(theirs.lock());
            a.set(1);
        });
        thread::spawn(move || drop(lock.lock())).join().expect("no panic");
        b.set(2);
        other.join().expect("no panic");
    });
    assert_eq!((race.first.op, race.second.op), (CellOp::Write, CellOp::Write));
}

#[test]
fn what_a_mutex_guards_is_no_race() {
    let executions = clean(&|| {
        let (a, b) = shared((Mutex::new(()), Tracked::new(0)));
        let add = |(lock, count): &(Mutex<()>, Tracked<i32>)| {
            let _held = lock.lock().expect("not poisoned");
            count.set(count.get() + 1);
        };
        let other = thread::spawn(move || add(&a));
        add(&b);
        other.join().expect("no panic");
        assert_eq!(b.1.get(), 2);
    });
    // The cell adds no decision: two sections in either order.
    assert_eq!(executions, 2);
}

#[test]
fn two_locks_are_not_one() {
    let race = race(&|| {
        let (a, b) = shared((Mutex::new(()), Mutex::new(()), Tracked::new(0)));
        let other = thread::spawn(move || {
            let _held = a.0.lock().expect("not poisoned");
            a.2.set(1);
        });
        let held = b.1.lock().expect("not poisoned");
        b.2.set(2);
        drop(held);
        other.join().expect("no panic");
    });
    let locks = |access: &raddle_trace::CellAccess| access.locks.len();
    assert_eq!((locks(&race.first), locks(&race.second)), (1, 1));
    assert_ne!(race.first.locks[0].object, race.second.locks[0].object);
}

#[test]
fn spawn_and_join_put_accesses_in_order() {
    clean(&|| {
        let cell = Arc::new(Tracked::new(0));
        cell.set(1);
        let theirs = Arc::clone(&cell);
        thread::spawn(move || theirs.set(theirs.get() + 1)).join().expect("no panic");
        assert_eq!(cell.get(), 2);
        thread::scope(|scope| {
            scope.spawn(|| cell.set(3));
        });
        assert_eq!(cell.get(), 3);
        let inner = thread::scope(|scope| scope.spawn(|| cell.get()).join().expect("no panic"));
        assert_eq!(inner, 3);
    });
}

#[test]
fn to_see_that_a_thread_is_finished_orders_nothing() {
    let race = race(&|| {
        let (a, b) = shared(Tracked::new(0));
        let other = thread::spawn(move || a.set(1));
        if other.is_finished() {
            let _ = b.get();
        }
        other.join().expect("no panic");
    });
    assert_eq!(race.second.op, CellOp::Read);
}

fn flag() -> AtomicBool {
    AtomicBool::new(false)
}

#[test]
fn a_flag_passes_on_what_was_done_before_it_if_both_orderings_say_so() {
    is_passed_on(flag, |flag| flag.store(true, Release), |flag| flag.load(Acquire));
    is_passed_on(flag, |flag| flag.store(true, SeqCst), |flag| flag.load(SeqCst));
    is_passed_on(flag, |flag| assert!(!flag.swap(true, Release)), |flag| flag.swap(false, AcqRel));
    for race in [
        is_not_passed_on(flag, |flag| flag.store(true, Relaxed), |flag| flag.load(Relaxed)),
        is_not_passed_on(flag, |flag| flag.store(true, Release), |flag| flag.load(Relaxed)),
        is_not_passed_on(flag, |flag| flag.store(true, Relaxed), |flag| flag.load(Acquire)),
        is_not_passed_on(flag, |flag| assert!(!flag.swap(true, Acquire)), |flag| flag.load(SeqCst)),
    ] {
        assert!(matches!(race.missing, Missing::Ordering { .. }), "{:?}", race.missing);
    }
}

#[test]
fn the_ordering_that_is_too_weak_is_named() {
    let race = is_not_passed_on(flag, |flag| flag.store(true, Release), |flag| flag.load(Relaxed));
    let Missing::Ordering { releases, acquires, read, .. } = race.missing else {
        panic!("{:?}", race.missing)
    };
    assert!(releases && !acquires);
    assert!(read.file.ends_with("cells.rs"));
}

#[test]
fn an_exchange_acquires_by_the_ordering_of_how_it_went() {
    let exchange = |success: Ordering, failure: Ordering| {
        move || {
            let (ours, theirs) = shared((AtomicUsize::new(0), Tracked::new(0)));
            let other = thread::spawn(move || {
                theirs.1.set(1);
                theirs.0.store(1, Release);
            });
            // Succeeds if it comes second, fails otherwise.
            if ours.0.compare_exchange(1, 2, success, failure).is_ok() {
                let _ = ours.1.get();
            }
            // Fails.
            if ours.0.compare_exchange(9, 2, success, failure) == Err(1) {
                let _ = ours.1.get();
            }
            other.join().expect("no panic");
        }
    };
    clean(&exchange(Acquire, Acquire));
    race(&exchange(Relaxed, Acquire));
    race(&exchange(Acquire, Relaxed));
}

#[test]
fn fences_order_what_relaxed_accesses_carry() {
    let fenced = |released: bool, acquired: bool| {
        move || {
            let (ours, theirs) = shared((flag(), Tracked::new(0)));
            let other = thread::spawn(move || {
                theirs.1.set(1);
                if released {
                    fence(Release);
                }
                theirs.0.store(true, Relaxed);
            });
            if ours.0.load(Relaxed) {
                if acquired {
                    fence(SeqCst);
                }
                let _ = ours.1.get();
            }
            other.join().expect("no panic");
        }
    };
    clean(&fenced(true, true));
    race(&fenced(true, false));
    race(&fenced(false, true));
}

#[test]
fn an_update_of_another_continues_what_was_released_and_a_store_does_not() {
    let between = |store: bool| {
        move || {
            let state = Arc::new((AtomicUsize::new(0), Tracked::new(0)));
            let (writer, middle) = (Arc::clone(&state), Arc::clone(&state));
            let writer = thread::spawn(move || {
                writer.1.set(1);
                writer.0.store(1, Release);
            });
            let middle = thread::spawn(move || {
                if !store {
                    middle.0.fetch_add(10, Relaxed);
                } else if middle.0.load(Relaxed) == 1 {
                    middle.0.store(11, Relaxed);
                }
            });
            if state.0.load(Acquire) == 11 {
                let _ = state.1.get();
            }
            writer.join().expect("no panic");
            middle.join().expect("no panic");
        }
    };
    clean(&between(false));
    race(&between(true));
}

#[test]
fn to_make_a_cell_is_to_write_it() {
    let published = |order: Ordering| {
        move || {
            let (ours, theirs) = shared(AtomicPtr::new(std::ptr::null_mut()));
            let other = thread::spawn(move || {
                theirs.store(Box::into_raw(Box::new(UnsafeCell::new(5))), order);
            });
            let found = ours.load(Acquire);
            if !found.is_null() {
                // SAFETY: made by `Box::into_raw`, and freed below, later.
                unsafe { (*found).with(|value| assert_eq!(*value, 5)) };
            }
            other.join().expect("no panic");
            // SAFETY: made by `Box::into_raw`, and no other thread uses it any more.
            drop(unsafe { Box::from_raw(ours.load(Relaxed)) });
        }
    };
    clean(&published(Release));
    let race = race(&published(Relaxed));
    assert_eq!((race.first.op, race.second.op), (CellOp::Make, CellOp::Read));
}

#[test]
fn what_is_sent_is_passed_on() {
    for bound in [None, Some(0), Some(1)] {
        clean(&|| {
            let cell = Arc::new(Tracked::new(0));
            let theirs = Arc::clone(&cell);
            let (receiver, other) = match bound {
                None => {
                    let (sender, receiver) = mpsc::channel();
                    (
                        receiver,
                        thread::spawn(move || {
                            theirs.set(42);
                            sender.send(()).expect("the receiver is there");
                        }),
                    )
                }
                Some(bound) => {
                    let (sender, receiver) = mpsc::sync_channel(bound);
                    (
                        receiver,
                        thread::spawn(move || {
                            theirs.set(42);
                            sender.send(()).expect("the receiver is there");
                        }),
                    )
                }
            };
            receiver.recv().expect("a value");
            assert_eq!(cell.get(), 42);
            other.join().expect("no panic");
        });
    }
}

#[test]
fn a_bounded_channel_also_passes_on_what_made_room() {
    // The sender's second send waits for the first receive, which the receiver makes after its
    // write. Without a bound it does not wait.
    let program = |bound: Option<usize>| {
        move || {
            let (ours, theirs) = shared(Tracked::new(0));
            let send: Box<dyn Fn() + Send>;
            let receiver;
            match bound {
                None => {
                    let (sender, r) = mpsc::channel();
                    send = Box::new(move || sender.send(()).expect("there is a receiver"));
                    receiver = r;
                }
                Some(bound) => {
                    let (sender, r) = mpsc::sync_channel(bound);
                    send = Box::new(move || sender.send(()).expect("there is a receiver"));
                    receiver = r;
                }
            }
            let other = thread::spawn(move || {
                send();
                send();
                let _ = theirs.get();
            });
            ours.set(1);
            receiver.recv().expect("a value");
            receiver.recv().expect("a value");
            other.join().expect("no panic");
        }
    };
    clean(&program(Some(0)));
    clean(&program(Some(1)));
    race(&program(Some(2)));
    race(&program(None));
}

#[test]
fn senders_of_one_channel_do_not_know_of_each_other() {
    let race = race(&|| {
        let (a, b) = shared(Tracked::new(0));
        let (sender, receiver) = mpsc::channel();
        let also = sender.clone();
        let other = thread::spawn(move || {
            a.set(1);
            also.send(()).expect("the receiver is there");
        });
        sender.send(()).expect("the receiver is there");
        b.set(2);
        receiver.recv().expect("a value");
        other.join().expect("no panic");
    });
    assert_eq!(race.second.op, CellOp::Write);
}

#[test]
fn the_end_of_the_last_sender_is_passed_on() {
    clean(&|| {
        let (ours, theirs) = shared(Tracked::new(0));
        let (sender, receiver) = mpsc::channel::<()>();
        let other = thread::spawn(move || {
            theirs.set(1);
            drop(sender);
        });
        assert!(receiver.recv().is_err());
        assert_eq!(ours.get(), 1);
        other.join().expect("no panic");
    });
}

// Drops of senders commute, so they order nothing: else one order of them would hide the race.
#[test]
fn senders_that_are_dropped_do_not_know_of_each_other() {
    for bound in [None, Some(0), Some(1)] {
        let found = kinds(&move || {
            let (a, b) = shared(Tracked::new(0));
            let [ours, theirs]: [Box<dyn Send>; 2] = match bound {
                None => {
                    let (sender, _) = mpsc::channel::<()>();
                    [Box::new(sender.clone()), Box::new(sender)]
                }
                Some(bound) => {
                    let (sender, _) = mpsc::sync_channel::<()>(bound);
                    [Box::new(sender.clone()), Box::new(sender)]
                }
            };
            let other = thread::spawn(move || {
                a.set(1);
                drop(theirs);
            });
            drop(ours);
            b.set(2);
            other.join().expect("no panic");
        });
        assert_eq!(found, [("data-race", 2)], "{bound:?}");
    }
}

#[test]
fn what_is_initialised_once_is_passed_on() {
    is_passed_on(Once::new, |once| once.call_once(|| ()), Once::is_completed);
    is_passed_on(OnceLock::new, |once| assert!(once.set(1).is_ok()), |once| once.get().is_some());
    is_passed_on(
        OnceLock::new,
        |once| assert_eq!(*once.get_or_init(|| 1), 1),
        |once| *once.wait() == 1,
    );
    clean(&|| {
        let (ours, theirs) = shared(LazyLock::new(|| Tracked::new(5)));
        let other = thread::spawn(move || theirs.get());
        assert_eq!(ours.get(), 5);
        assert_eq!(other.join().expect("no panic"), 5);
    });
}

#[test]
fn what_is_done_before_a_barrier_is_known_after_it() {
    let both = |before: bool| {
        move || {
            let (a, b) = shared((Barrier::new(2), [Tracked::new(0), Tracked::new(0)]));
            let meet = move |state: &(Barrier, [Tracked<i32>; 2]), mine: usize| {
                if before {
                    state.1[mine].set(1);
                }
                state.0.wait();
                if !before {
                    state.1[mine].set(1);
                }
                let _ = state.1[1 - mine].get();
            };
            let other = thread::spawn(move || meet(&a, 0));
            meet(&b, 1);
            other.join().expect("no panic");
        }
    };
    clean(&both(true));
    race(&both(false));
}

#[test]
fn whoever_parks_knows_what_was_done_before_it_was_unparked() {
    clean(&|| {
        let (ours, theirs) = shared(Tracked::new(0));
        let main = thread::current();
        let other = thread::spawn(move || {
            theirs.set(1);
            main.unpark();
        });
        thread::park();
        assert_eq!(ours.get(), 1);
        other.join().expect("no panic");
    });
    // Also by an unpark that finds the token there.
    clean(&|| {
        let (ours, theirs) = shared((AtomicBool::new(false), Tracked::new(0)));
        let main = thread::current();
        let other = thread::spawn(move || {
            main.unpark();
            theirs.1.set(1);
            main.unpark();
            theirs.0.store(true, Relaxed);
        });
        if ours.0.load(Relaxed) {
            thread::park();
            assert_eq!(ours.1.get(), 1);
        }
        other.join().expect("no panic");
    });
    race(&|| {
        let (ours, theirs) = shared(Tracked::new(0));
        let main = thread::current();
        let other = thread::spawn(move || {
            main.unpark();
            theirs.set(1);
        });
        thread::park_timeout(Duration::from_secs(1));
        let _ = ours.get();
        other.join().expect("no panic");
    });
}

#[test]
fn a_condition_variable_passes_on_by_its_lock_and_by_its_notification() {
    clean(&|| {
        let (ours, theirs) = shared((Mutex::new(false), Condvar::new(), Tracked::new(0)));
        let other = thread::spawn(move || {
            theirs.2.set(1);
            *theirs.0.lock().expect("not poisoned") = true;
            theirs.1.notify_one();
        });
        let ready = ours.0.lock().expect("not poisoned");
        drop(ours.1.wait_while(ready, |ready| !*ready).expect("not poisoned"));
        assert_eq!(ours.2.get(), 1);
        other.join().expect("no panic");
    });
    // Nothing but a timeout ends the wait.
    race(&|| {
        let (ours, theirs) = shared((Mutex::new(()), Condvar::new(), Tracked::new(0)));
        let other = thread::spawn(move || theirs.2.set(1));
        let held = ours.0.lock().expect("not poisoned");
        drop(ours.1.wait_timeout(held, Duration::from_secs(1)).expect("not poisoned"));
        let _ = ours.2.get();
        other.join().expect("no panic");
    });
}

#[test]
fn readers_of_an_rwlock_may_read_together_and_not_write() {
    let readers = |writes: bool| {
        move || {
            let (a, b) = shared((RwLock::new(()), Tracked::new(0)));
            let read = move |(lock, cell): &(RwLock<()>, Tracked<i32>)| {
                let _held = lock.read().expect("not poisoned");
                if writes {
                    cell.set(1);
                } else {
                    let _ = cell.get();
                }
            };
            let other = thread::spawn(move || read(&a));
            read(&b);
            {
                let _held = b.0.write().expect("not poisoned");
                b.1.set(2);
            }
            read(&b);
            other.join().expect("no panic");
        }
    };
    clean(&readers(false));
    // Also where one read section came wholly before the other.
    let explored = first(&readers(true));
    assert!(matches!(explored.failure.expect("a race").outcome, Outcome::DataRace(_)));
}

#[test]
fn an_access_inside_that_of_another_is_a_race_even_if_its_beginning_is_known() {
    let program = || {
        let (a, b) = shared((Mutex::new(false), UnsafeShared::new(0)));
        let other = thread::spawn(move || {
            a.1.0.with_mut(|value| {
                *a.0.lock().expect("not poisoned") = true;
                // SAFETY: the execution ends before another task writes.
                unsafe { *value = 1 };
            });
        });
        if *b.0.lock().expect("not poisoned") {
            b.1.0.with(|_| ());
        }
        other.join().expect("no panic");
    };
    let race = race(&program);
    assert!(matches!(race.missing, Missing::End | Missing::Everything));
    assert_eq!((race.first.op, race.second.op), (CellOp::Write, CellOp::Read));
}

/// An `UnsafeCell` that is shared without more ado.
struct UnsafeShared<T>(UnsafeCell<T>);

// SAFETY: all tasks of an execution run on one OS thread.
unsafe impl<T> Sync for UnsafeShared<T> {}

impl<T> UnsafeShared<T> {
    #[track_caller]
    fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }
}

/// A slot that one task fills through a guard, and another empties once it sees the flag.
struct Slot {
    full: AtomicBool,
    value: UnsafeShared<u8>,
}

/// How a guard gives its slot back: its field is dropped after the body of `Drop` in any case.
#[derive(Clone, Copy)]
enum Leaves {
    /// By a store with this ordering, and nothing after it.
    With(Ordering),
    /// By a store that releases, and an operation on something else.
    ThenYields,
    /// By a store that releases, and then uses the pointer once more.
    ThenWrites,
}

struct Guard<'a> {
    pointer: MutPtr<u8>,
    slot: &'a Slot,
    leaves: Leaves,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        let order = if let Leaves::With(order) = self.leaves { order } else { Release };
        self.slot.full.store(true, order);
        match self.leaves {
            Leaves::With(_) => {}
            Leaves::ThenYields => thread::yield_now(),
            // SAFETY: the execution ends before another task has it.
            Leaves::ThenWrites => unsafe { *self.pointer.deref() = 2 },
        }
    }
}

fn filled_by_a_guard(leaves: Leaves) -> impl Fn() {
    move || {
        let slot = Slot { full: AtomicBool::new(false), value: UnsafeShared::new(0) };
        let (ours, theirs) = shared(slot);
        let other = thread::spawn(move || {
            let guard = Guard { pointer: theirs.value.0.get_mut(), slot: &theirs, leaves };
            // SAFETY: no other thread has it.
            unsafe { *guard.pointer.deref() = 1 };
        });
        if ours.full.load(Acquire) {
            // SAFETY: no other thread has it, or the execution has ended.
            assert_eq!(unsafe { *ours.value.0.get().deref() }, 1);
        }
        other.join().expect("no panic");
    }
}

/// What three kinds of searches come to.
#[track_caller]
fn searched(program: &dyn Fn()) -> [Outcome; 3] {
    ["dfs", "dpor", "random"].map(|strategy| {
        let mut built = raddle_search::build(strategy, 0).expect("it is known").strategy;
        let limits = Limits { executions: 500, ..Limits::default() };
        let setup = Setup { limits, ..Setup::default() };
        let explored = explore(&mut *built, &setup, &mut |_| Stop::No, &mut |_| {}, program)
            .expect("a search can run here");
        explored.failure.map_or(Outcome::Completed, |failure| failure.outcome)
    })
}

#[track_caller]
fn is_clean(program: &dyn Fn()) {
    for outcome in searched(program) {
        assert_eq!(outcome, Outcome::Completed);
    }
}

#[track_caller]
fn has_a_race(program: &dyn Fn()) {
    for outcome in searched(program) {
        assert!(matches!(outcome, Outcome::DataRace(_)), "{outcome:?}");
    }
}

// Nothing is done with the pointer between the store and its own drop.
#[test]
fn a_guard_may_drop_its_pointer_after_it_has_released() {
    is_clean(&filled_by_a_guard(Leaves::With(Release)));
    is_clean(&filled_by_a_guard(Leaves::ThenYields));
}

#[test]
fn a_guard_that_does_not_release_races_with_the_next_owner() {
    has_a_race(&filled_by_a_guard(Leaves::With(Relaxed)));
}

#[test]
fn a_guard_that_uses_its_pointer_after_it_has_released_races() {
    has_a_race(&filled_by_a_guard(Leaves::ThenWrites));
}

#[test]
fn a_pointer_is_used_as_long_as_the_closure_that_gets_it() {
    let race = race(&|| {
        let (a, b) = shared((AtomicBool::new(false), UnsafeShared::new(0)));
        let other = thread::spawn(move || {
            let pointer = a.1.0.get_mut();
            pointer.with(|_| {
                a.0.store(true, Release);
                a.0.load(Relaxed);
            });
        });
        if b.0.load(Acquire) {
            b.1.0.with(|_| ());
        }
        other.join().expect("no panic");
    });
    assert_eq!((race.first.op, race.second.op), (CellOp::Write, CellOp::Read));
}

#[test]
fn a_race_says_how_long_the_first_access_lasted() {
    // Both operations are in the closure.
    let found = race(&|| {
        let (a, b) = shared((AtomicBool::new(false), UnsafeShared::new(0)));
        let other = thread::spawn(move || {
            a.1.0.with_mut(|_| {
                a.0.store(true, Release);
                a.0.load(Relaxed);
            });
        });
        if b.0.load(Acquire) {
            b.1.0.with(|_| ());
        }
        other.join().expect("no panic");
    });
    let lasted = found.first.lasted.expect("there were steps meanwhile");
    assert!(lasted.to.is_none_or(|to| to > lasted.from), "{lasted:?}");
    assert_eq!(found.second.lasted, None);
    let none = race(&|| {
        let (a, b) = shared(Tracked::new(0));
        let other = thread::spawn(move || a.set(1));
        b.set(2);
        other.join().expect("no panic");
    });
    assert_eq!((none.first.lasted, none.second.lasted), (None, None));
}

#[test]
fn a_variable_is_not_given_out_while_another_task_is_inside() {
    let race = race(&|| {
        let (a, b) = shared((AtomicBool::new(false), Tracked::new(0)));
        let other = thread::spawn(move || {
            a.1.with_mut(|value| {
                a.0.store(true, SeqCst);
                a.0.load(SeqCst);
                *value += 1;
            });
        });
        if b.0.load(SeqCst) {
            b.1.with_mut(|value| *value += 1);
        }
        other.join().expect("no panic");
    });
    assert_eq!(race.second.op, CellOp::Write);
}

#[test]
fn cells_of_std_that_are_shared_by_force_are_watched_too() {
    struct Shared(Cell<u8>);
    // SAFETY: all tasks of an execution run on one OS thread.
    unsafe impl Sync for Shared {}
    let race = race(&|| {
        let (a, b) = shared(Shared(Cell::new(0)));
        let other = thread::spawn(move || a.0.set(1));
        let _ = b.0.get();
        other.join().expect("no panic");
    });
    assert_eq!(race.cell.kind, "Cell");
}

/// A value that looks at its cells when it is dropped.
struct Owned {
    cells: [Tracked<u8>; 2],
    /// What the cells hold is sent there in the end.
    to: mpsc::Sender<u8>,
}

impl Drop for Owned {
    fn drop(&mut self) {
        let sum = self.cells.iter().map(Tracked::get).sum();
        self.cells[0].set(sum);
        let _ = self.to.send(self.cells[0].get());
    }
}

/// Two owners of one value, each of which changes a cell of its own and drops its handle.
fn two_owners<A>(new: fn(Owned) -> A, clone: fn(&A) -> A) -> impl Fn()
where
    A: std::ops::Deref<Target = Owned> + Send + 'static,
{
    move || {
        let (to, from) = mpsc::channel();
        let ours = new(Owned { cells: [Tracked::new(0), Tracked::new(0)], to });
        let theirs = clone(&ours);
        let other = thread::spawn(move || {
            theirs.cells[1].set(2);
            drop(theirs);
        });
        ours.cells[0].set(1);
        drop(ours);
        assert_eq!(from.recv(), Ok(3));
        other.join().expect("no panic");
    }
}

#[test]
fn the_last_owner_knows_what_the_others_did_if_the_count_is_seen() {
    is_clean(&two_owners(counted::Arc::new, counted::Arc::clone));
}

// The count of std's is not seen, but that its last owner runs the destructor is.
#[test]
fn the_last_owner_knows_what_the_others_did_by_an_arc_of_std() {
    is_clean(&two_owners(Arc::new, Arc::clone));
}

#[test]
fn a_destructor_of_the_last_owner_races_with_what_comes_after_it() {
    // A task that is no owner and comes after the destructor is found, whatever the count.
    has_a_race(&|| {
        let (cell, theirs) = shared(Tracked::new(0));
        let touches = Arc::new(Writes(cell));
        let (go, went) = shared(AtomicBool::new(false));
        let other = thread::spawn(move || {
            if went.load(Relaxed) {
                let _ = theirs.get();
            }
        });
        drop(touches);
        go.store(true, Relaxed);
        other.join().expect("no panic");
    });
}

#[test]
fn a_destructor_that_no_count_runs_races_with_those_before() {
    struct Touches<'a>(&'a Tracked<u8>);
    impl Drop for Touches<'_> {
        fn drop(&mut self) {
            self.0.set(1);
        }
    }
    has_a_race(&|| {
        let (a, b) = shared(Tracked::new(0));
        let other = thread::spawn(move || a.set(2));
        drop(Touches(&b));
        other.join().expect("no panic");
    });
}

/// A value whose destructor writes to a cell that another task writes to, which is no owner of the value.
fn writes_to_what_others_have<A>(new: fn(Writes) -> A) -> impl Fn() {
    move || {
        let (a, b) = shared(Tracked::new(0));
        let other = thread::spawn(move || a.set(2));
        drop(new(Writes(b)));
        other.join().expect("no panic");
    }
}

struct Writes(Arc<Tracked<u8>>);

impl Drop for Writes {
    fn drop(&mut self) {
        self.0.set(1);
    }
}

// Which tasks are owners is not known of std's handles, so there the race is missed.
#[test]
fn a_destructor_whose_count_is_seen_races_with_those_who_are_no_owners() {
    has_a_race(&writes_to_what_others_have(counted::Arc::new));
    has_a_race(&writes_to_what_others_have(Box::new));
    is_clean(&writes_to_what_others_have(Arc::new));
    // The handle of std's inside is not the one inside of the other.
    is_clean(&writes_to_what_others_have(|value| counted::Arc::new(Arc::new(value))));
    is_clean(&writes_to_what_others_have(|value| Arc::new(counted::Arc::new(value))));
}

type TwoCells = [Tracked<u8>; 2];

/// Two owners write, each to a cell of its own; the one that is left with the value takes it out and reads both.
fn the_last_takes_it_out(take: fn(Arc<TwoCells>) -> Option<TwoCells>) -> impl Fn() {
    move || {
        let (a, b) = shared([Tracked::new(0), Tracked::new(0)]);
        let finish = move |own: usize, cells: Arc<TwoCells>| {
            cells[own].set(1);
            thread::yield_now();
            if let Some(cells) = take(cells) {
                assert_eq!(cells[0].get() + cells[1].get(), 2);
                cells[1 - own].set(3);
            }
        };
        let other = thread::spawn(move || finish(1, b));
        finish(0, a);
        other.join().expect("no panic");
    }
}

// The count of std's is not seen, but that the cells are elsewhere now is, and only their owner can move them.
#[test]
fn what_is_taken_out_of_an_arc_of_std_comes_after_what_its_owners_did() {
    is_clean(&the_last_takes_it_out(Arc::into_inner));
    is_clean(&the_last_takes_it_out(|arc| Arc::try_unwrap(arc).ok()));
}

// That a task has it to itself is shown by `&mut`, though `Arc::get_mut` leaves it in place.
#[test]
fn a_cell_that_a_task_has_to_itself_comes_after_what_others_did() {
    is_clean(&|| {
        let (mut ours, theirs) = shared(Tracked::new(0));
        let other = thread::spawn(move || theirs.set(1));
        thread::yield_now();
        if let Some(cell) = Arc::get_mut(&mut ours) {
            *cell.get_mut() += 1;
            cell.set(cell.get() + 1);
        }
        other.join().expect("no panic");
    });
}

/// A place through which values go from task to task, of which raddle knows nothing.
struct Unseen(std::cell::UnsafeCell<Option<Tracked<u8>>>);

// SAFETY: tasks share one OS thread.
unsafe impl Sync for Unseen {}

impl Unseen {
    fn swap(&self, value: Option<Tracked<u8>>) -> Option<Tracked<u8>> {
        // SAFETY: as above, and no reference is given out.
        unsafe { std::mem::replace(&mut *self.0.get(), value) }
    }
}

/// A task sends a cell, which it has made itself or not, by means that order nothing.
fn sent_without_order(makes: bool) -> impl Fn() {
    move || {
        let given = (!makes).then(|| Tracked::new(0));
        let (slot, theirs) = shared((Unseen(None.into()), AtomicBool::new(false)));
        let sender = thread::spawn(move || {
            let cell = given.unwrap_or_else(|| Tracked::new(0));
            cell.set(1);
            theirs.0.swap(Some(cell));
            theirs.1.store(true, Relaxed);
        });
        if slot.1.load(Relaxed) {
            let cell = slot.0.swap(None).expect("it was sent");
            let _ = cell.get();
        }
        sender.join().expect("no panic");
    }
}

// A cell that was moved is taken for one that was handed on in order, if only its making is in order.
#[test]
fn a_cell_that_is_moved_without_order_races_with_its_making() {
    has_a_race(&sent_without_order(true));
    is_clean(&sent_without_order(false));
}

#[test]
fn what_an_owner_did_is_known_after_the_last_drop_too() {
    struct Taken {
        inner: Tracked<u8>,
        out: mpsc::Sender<Tracked<u8>>,
    }
    impl Drop for Taken {
        fn drop(&mut self) {
            let inner = std::mem::replace(&mut self.inner, Tracked::new(0));
            // The last owner looks, and hands the rest on.
            let _ = inner.get();
            let _ = self.out.send(inner);
        }
    }
    is_clean(&|| {
        let (out, taken) = mpsc::channel();
        let ours = Arc::new(Taken { inner: Tracked::new(0), out });
        let theirs = Arc::clone(&ours);
        let other = thread::spawn(move || theirs.inner.set(1));
        drop(ours);
        assert_eq!(taken.recv().expect("sent").get(), 1);
        other.join().expect("no panic");
    });
}

#[test]
fn a_search_of_one_execution_finds_the_race_in_it() {
    // The cell is used last, when all that orders has happened unseen.
    let program = |order: Ordering| {
        move || {
            let (ours, theirs) = shared((AtomicUsize::new(0), Tracked::const_new(0)));
            let other = thread::spawn(move || {
                theirs.0.store(1, order);
                theirs.0.fetch_add(1, Relaxed);
            });
            other.join().expect("no panic");
            let (a, b) = (Arc::clone(&ours), ours);
            let other = thread::spawn(move || a.1.set(1));
            b.0.store(5, SeqCst);
            b.1.set(2);
            other.join().expect("no panic");
        }
    };
    let explored = first(&program(Relaxed));
    let failure = explored.failure.expect("a race");
    assert!(matches!(failure.outcome, Outcome::DataRace(_)));
    assert_eq!((failure.execution, failure.unstable), (1, None));
    assert_eq!(explored.counts.executions, 1);
}

#[test]
fn an_execution_that_is_run_once_more_is_counted_once() {
    let ran = Uncontrolled::new(0);
    let program = || {
        ran.fetch_add(1, SeqCst);
        let (a, b) = shared((Mutex::new(()), Tracked::new(0)));
        let add = |(lock, count): &(Mutex<()>, Tracked<i32>)| {
            let _held = lock.lock().expect("not poisoned");
            count.set(count.get() + 1);
        };
        let other = thread::spawn(move || add(&a));
        add(&b);
        other.join().expect("no panic");
    };
    assert_eq!(clean(&program), 2);
    assert_eq!(ran.into_inner(), 3);
}

#[test]
fn a_race_before_a_panic_is_what_failed() {
    let race = race(&|| {
        let (a, b) = shared(Tracked::new(0));
        let other = thread::spawn(move || a.set(1));
        assert_eq!(b.get(), 0, "the value is seen");
        other.join().expect("no panic");
    });
    assert_eq!(race.second.op, CellOp::Read);
}

#[test]
fn failures_go_on_being_counted_where_the_search_goes_on() {
    let found = kinds(&|| {
        let (a, b) = shared((AtomicBool::new(false), Tracked::new(0)));
        let other = thread::spawn(move || {
            a.1.set(1);
            a.0.store(true, Relaxed);
        });
        if b.0.load(Acquire) {
            let _ = b.1.get();
        }
        b.0.load(Relaxed);
        other.join().expect("no panic");
    });
    // The store comes before, between or after the loads; it is seen in the first case only.
    assert_eq!(found, [("completed", 2), ("data-race", 1)]);
}

#[test]
fn cells_do_nothing_in_destructors_of_an_execution_that_is_over() {
    struct Touches(Arc<(Mutex<()>, Tracked<u8>)>);
    impl Drop for Touches {
        fn drop(&mut self) {
            self.0.1.set(self.0.1.get() + 1);
        }
    }
    // A deadlock, with tasks that touch one cell as they are unwound: in the body and in `with_mut`.
    let outcome = failure(Settings::default(), &|| {
        let state = Arc::new((Mutex::new(()), Tracked::new(0)));
        let held = state.0.lock().expect("not poisoned");
        let (one, two) = (Arc::clone(&state), Arc::clone(&state));
        let one = thread::spawn(move || {
            let touches = Touches(one);
            drop(touches.0.0.lock());
        });
        one.join().expect("never");
        drop((held, two));
    });
    assert!(matches!(outcome, Outcome::Deadlock { .. }));

    let outcome = failure(Settings::default(), &|| {
        let state = Arc::new((Mutex::new(()), Tracked::new(0)));
        let held = state.0.lock().expect("not poisoned");
        let (inside, outside) = (Arc::clone(&state), Arc::clone(&state));
        let inside = thread::spawn(move || inside.1.with_mut(|_| drop(inside.0.lock())));
        let outside = thread::spawn(move || {
            let touches = Touches(outside);
            drop(touches.0.0.lock());
        });
        inside.join().expect("never");
        outside.join().expect("never");
        drop(held);
    });
    assert!(matches!(outcome, Outcome::Deadlock { .. }));
}

#[test]
fn a_race_in_a_destructor_that_unwinds_is_found() {
    struct Touches(Arc<Tracked<u8>>);
    impl Drop for Touches {
        fn drop(&mut self) {
            self.0.set(1);
        }
    }
    let race = race(&|| {
        let (a, b) = shared(Tracked::new(0));
        let _other = thread::spawn(move || a.set(2));
        let _touches = Touches(b);
        std::panic::resume_unwind(Box::new(()));
    });
    assert_eq!((race.first.op, race.second.op), (CellOp::Write, CellOp::Write));
}

#[test]
fn a_static_cell_begins_without_a_past_in_each_execution() {
    static CELL: Tracked<usize> = Tracked::const_new(0);
    let (found, executions) = outcomes(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&flag);
        let other = thread::spawn(move || {
            CELL.set(1);
            theirs.store(true, SeqCst);
        });
        let seen = flag.load(SeqCst).then(|| CELL.get());
        other.join().expect("no panic");
        seen
    });
    assert_eq!((found, executions), (BTreeSet::from([None, Some(1)]), 2));
}

#[test]
fn a_cell_whose_references_are_plain_is_none_of_ours() {
    // What is not in a cell is not seen: a pass says nothing of it.
    struct Unseen(std::cell::UnsafeCell<u8>);
    // SAFETY: all tasks of an execution run on one OS thread.
    unsafe impl Sync for Unseen {}
    clean(&|| {
        let (a, b) = shared(Unseen(std::cell::UnsafeCell::new(0)));
        // SAFETY: as above, and no reference lives.
        let other = thread::spawn(move || unsafe { *a.0.get() = 1 });
        // SAFETY: as above.
        unsafe { *b.0.get() = 2 };
        other.join().expect("no panic");
    });
}
