//! `thread` in programs.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use raddle_engine::Ended;
use raddle_threads::hint;
use raddle_threads::sync::Mutex;
use raddle_threads::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use raddle_threads::thread::{self, Builder, JoinHandle};
use raddle_trace::{Outcome, Settings, Timeouts};

use crate::{explore_all, failure, outcomes, outcomes_with, panic_message, shared};

const SOON: Duration = Duration::from_millis(10);
const IDLE: Settings =
    Settings { timeouts: Timeouts::Idle, spurious: false, data_seed: None, rounds: None };

#[test]
fn empty_threads_cost_one_execution() {
    for n in 1..=6 {
        let (_, executions) = outcomes(move || {
            let threads: Vec<_> = (0..n).map(|_| thread::spawn(|| {})).collect();
            for thread in threads {
                thread.join().expect("no panic");
            }
        });
        assert_eq!(executions, 1, "{n} threads");
    }
}

#[test]
fn threads_that_spawn_threads_interleave_at_their_steps() {
    let (found, executions) = outcomes(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let count2 = Arc::clone(&count);
        let outer = thread::spawn(move || {
            let count3 = Arc::clone(&count2);
            let inner = thread::spawn(move || count3.fetch_add(1, SeqCst));
            (count2.fetch_add(1, SeqCst), inner.join().expect("no panic"))
        });
        let mine = count.fetch_add(1, SeqCst);
        let (outer, inner) = outer.join().expect("no panic");
        [mine, outer, inner]
    });
    // Three tasks of one step: every permutation once.
    assert_eq!(executions, 6);
    assert_eq!(found.len(), 6);
}

#[test]
fn a_panic_reaches_whoever_joins() {
    let (found, executions) = outcomes(|| {
        let panics = thread::spawn(|| panic!("on purpose"));
        let payload = panics.join().expect_err("it panicked");
        let value = thread::spawn(|| 7).join().expect("no panic");
        (payload.downcast_ref::<&str>().map(ToString::to_string), value)
    });
    assert_eq!(found, BTreeSet::from([(Some("on purpose".to_owned()), 7)]));
    assert_eq!(executions, 1);
}

#[test]
fn a_panic_that_nobody_took_is_the_failure() {
    let message = panic_message(&|| {
        drop(thread::spawn(|| panic!("nobody looks")));
    });
    assert!(message.contains("nobody looks"), "{message}");
    // Also when the thread panics after the body is done.
    let message = panic_message(&|| {
        let (a, b) = shared(AtomicBool::new(false));
        drop(thread::spawn(move || assert!(!a.load(SeqCst), "too late")));
        b.store(true, SeqCst);
    });
    assert!(message.contains("too late"), "{message}");
}

#[test]
fn the_panic_of_a_thread_goes_before_that_of_who_unwraps_it() {
    let message = panic_message(&|| thread::spawn(|| panic!("the cause")).join().unwrap());
    assert_eq!(message, "the cause");
    // Not one that was dealt with.
    let message = panic_message(&|| {
        let _ = thread::spawn(|| panic!("dealt with")).join();
        panic!("of its own");
    });
    assert_eq!(message, "of its own");
}

#[test]
fn scoped_threads_borrow() {
    let (found, executions) = outcomes(|| {
        let mut own = [1, 2];
        let count = AtomicUsize::new(0);
        let [first, second] = &mut own;
        let sum = thread::scope(|scope| {
            let one = scope.spawn(|| {
                *first += 10;
                count.fetch_add(1, SeqCst)
            });
            // One that a thread of the scope starts.
            scope.spawn(|| {
                scope.spawn(|| *second += 10);
            });
            let mine = count.fetch_add(1, SeqCst);
            mine + one.join().expect("no panic")
        });
        (own, sum)
    });
    assert_eq!(found, BTreeSet::from([([11, 12], 1)]));
    // Two tasks have a step.
    assert_eq!(executions, 2);
}

#[test]
fn a_scope_waits_for_its_threads() {
    let (found, executions) = outcomes(|| {
        let count = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| count.fetch_add(1, SeqCst));
            }
        });
        count.into_inner()
    });
    assert_eq!(found, BTreeSet::from([2]));
    assert_eq!(executions, 2);
}

#[test]
fn a_scope_hands_on_the_panics_that_nobody_joined() {
    let (found, executions) = outcomes(|| {
        let taken = thread::scope(|scope| scope.spawn(|| panic!("joined")).join().is_err());
        let scope = std::panic::AssertUnwindSafe(|| {
            thread::scope(|scope| {
                scope.spawn(|| panic!("not joined"));
            });
        });
        let payload = std::panic::catch_unwind(scope).expect_err("the scope panics");
        (taken, payload.downcast_ref::<&str>().map(ToString::to_string))
    });
    let message = "a scoped thread panicked".to_owned();
    assert_eq!(found, BTreeSet::from([(true, Some(message))]));
    assert_eq!(executions, 1);
    let message = panic_message(&|| {
        thread::scope(|scope| {
            scope.spawn(|| panic!("not joined"));
        });
    });
    assert_eq!(message, "not joined");
}

#[test]
fn a_deadlock_in_a_scope_is_torn_down_before_what_it_borrows() {
    let outcome = failure(Settings::default(), &|| {
        let (a, b) = (Mutex::new(vec![1]), Mutex::new(vec![2]));
        thread::scope(|scope| {
            scope.spawn(|| {
                let _a = a.lock();
                let _b = b.lock();
            });
            let _b = b.lock();
            let _a = a.lock();
        });
    });
    assert!(matches!(outcome, Outcome::Deadlock { waiting } if waiting.len() == 2));
}

#[test]
fn names_are_shown_and_known() {
    let explored = explore_all(Settings::default(), &|| {
        assert_eq!(thread::current().name(), Some("main"));
        let (a, b) = shared(AtomicBool::new(false));
        let worker = Builder::new().name("worker".to_owned()).stack_size(100_000);
        let handle = worker.spawn(move || {
            let me = thread::current();
            assert_eq!(me.name(), Some("worker"));
            a.store(true, SeqCst);
            me.id()
        });
        let handle = handle.expect("inside there are always threads");
        assert_eq!(handle.thread().name(), Some("worker"));
        let id = handle.thread().id();
        let seen = b.load(SeqCst);
        assert_eq!(handle.join().expect("no panic"), id);
        assert_ne!(thread::current().id(), id);
        assert_eq!(format!("{id:?}"), "ThreadId(2)");
        assert_eq!(thread::spawn(|| thread::current().name().is_none()).join().ok(), Some(true));
        thread::scope(|scope| {
            let named = Builder::new().name("scoped".to_owned());
            let handle = named.spawn_scoped(scope, || thread::current().id());
            let handle = handle.expect("inside there are always threads");
            assert_eq!(handle.thread().name(), Some("scoped"));
            let id = handle.thread().id();
            assert_eq!(handle.join().expect("no panic"), id);
        });
        assert!(!seen, "at last");
    });
    let failure = explored.failure.expect("the load may see the store");
    assert!(
        matches!(&failure.outcome, Outcome::Panicked { panics, .. } if panics[0].message == "at last")
    );
    let labels: Vec<_> = (0..3).map(|task| failure.trace.task_label(task)).collect();
    assert_eq!(labels[..2], ["main", "worker"]);
}

#[test]
fn a_thread_is_finished_or_not() {
    let (found, executions) = outcomes(|| {
        let (a, b) = shared(AtomicBool::new(false));
        let child = thread::spawn(move || a.store(true, SeqCst));
        let finished = child.is_finished();
        let stored = b.load(SeqCst);
        child.join().expect("no panic");
        (finished, stored)
    });
    // Never finished without having stored.
    assert_eq!(found, BTreeSet::from([(false, false), (false, true), (true, true)]));
    // Looked at before the store: the load before or after it, 2. After it, and seen as finished
    // or not yet: 2.
    assert_eq!(executions, 4);
}

#[test]
fn a_thread_seen_finished_stays_so() {
    let (found, executions) = outcomes(|| {
        let child = thread::spawn(|| {});
        (child.is_finished(), child.is_finished())
    });
    assert_eq!(found, BTreeSet::from([(false, false), (false, true), (true, true)]));
    // Not yet twice, not yet and then finished, finished from the first: 3.
    assert_eq!(executions, 3);
}

#[test]
fn a_program_that_takes_unfinished_for_not_begun_is_found() {
    let message = panic_message(&|| {
        let (a, b) = shared(AtomicBool::new(false));
        let child = thread::spawn(move || a.store(true, SeqCst));
        if !child.is_finished() {
            assert!(!b.load(SeqCst), "not finished, but done");
        }
    });
    assert!(message.contains("not finished, but done"), "{message}");
}

#[test]
fn an_unpark_is_kept_until_the_park() {
    let (found, executions) = outcomes(|| {
        let (a, b) = shared(AtomicBool::new(false));
        let child = thread::spawn(move || {
            while !a.load(SeqCst) {
                thread::park();
            }
        });
        b.store(true, SeqCst);
        child.thread().unpark();
        child.join().is_ok()
    });
    assert_eq!(found, BTreeSet::from([true]));
    // The store first: the unpark comes before or after the child's load, 2. The child's load
    // first, then it parks: store, unpark, park and load follow in this order, 1.
    assert_eq!(executions, 3);
}

#[test]
fn two_unparks_are_one_token() {
    let outcome = failure(Settings::default(), &|| {
        let child = thread::spawn(|| {
            thread::park();
            thread::park();
        });
        child.thread().unpark();
        child.thread().unpark();
        child.join().expect("no panic");
    });
    let Outcome::Deadlock { waiting } = outcome else { panic!("expected a deadlock") };
    assert_eq!(waiting[1].op, "park");
}

#[test]
fn a_timed_park_ends_with_a_token_or_without() {
    let program = || {
        let (a, b) = shared(AtomicBool::new(false));
        let child = thread::spawn(move || {
            thread::park_timeout(SOON);
            a.load(SeqCst)
        });
        b.store(true, SeqCst);
        child.thread().unpark();
        child.join().expect("no panic")
    };
    let (found, executions) = outcomes(program);
    assert_eq!(found, BTreeSet::from([false, true]));
    // The store S and the unpark U against the timeout T and the load L, in their orders; instead
    // of T the child can park P once U is done, and then must. T first: T L against S U, 3 orders
    // of L, S, U with S before U. S first, then T: L and U in 2 orders. S, U: then P, L. 6.
    assert_eq!(executions, 6);
    assert_eq!(outcomes_with(IDLE, program), (BTreeSet::from([true]), 1));
    for settings in [Settings::default(), IDLE] {
        let alone = outcomes_with(settings, || thread::park_timeout(SOON));
        assert_eq!(alone.1, 1);
    }
}

#[test]
fn a_loop_that_yields_until_it_sees_a_flag_ends() {
    for spin in [thread::yield_now, hint::spin_loop] {
        let (found, executions) = outcomes(move || {
            let (a, b) = shared(AtomicBool::new(false));
            let child = thread::spawn(move || a.store(true, SeqCst));
            while !b.load(SeqCst) {
                spin();
            }
            child.join().is_ok()
        });
        assert_eq!(found, BTreeSet::from([true]));
        // The store comes at one of the places load, yield, load, yield; then the child must move.
        assert_eq!(executions, 5);
    }
}

#[test]
fn a_loop_that_nobody_ends_is_a_livelock() {
    for spin in [thread::yield_now, hint::spin_loop] {
        let outcome = failure(Settings::default(), &|| {
            let (a, b) = shared(AtomicBool::new(false));
            let child = thread::spawn(move || a.load(SeqCst));
            while !b.load(SeqCst) {
                spin();
            }
            let _ = child.join();
        });
        let Outcome::Livelock { spinning, .. } = outcome else { panic!("expected a livelock") };
        assert_eq!(spinning, [0]);
    }
}

/// Waits for its worker when it is dropped, as thread pools do.
struct Pool {
    worker: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.stop.store(true, SeqCst);
        if let Some(worker) = self.worker.take() {
            worker.join().expect("the worker does not panic");
        }
    }
}

#[test]
fn a_destructor_that_joins_during_a_panic_neither_hangs_nor_aborts() {
    let program = || {
        let (stop, stop2) = shared(AtomicBool::new(false));
        let (done, done2) = shared(AtomicUsize::new(0));
        let worker = thread::spawn(move || {
            while !stop2.load(SeqCst) {
                done.fetch_add(1, SeqCst);
                thread::yield_now();
            }
        });
        let _pool = Pool { worker: Some(worker), stop };
        assert_eq!(done2.load(SeqCst), 0, "the worker was faster");
    };
    let explored = explore_all(Settings::default(), &program);
    assert_eq!(explored.ended, Ended::Failed);
    assert_eq!(panic_message(&program), panic_message(&program));
    assert!(panic_message(&program).contains("the worker was faster"));
}

#[test]
fn a_panic_that_is_caught_after_a_join_in_a_destructor_ends_well() {
    let (found, _) = outcomes(|| {
        let panics = thread::spawn(|| {
            let (stop, stop2) = shared(AtomicBool::new(false));
            let worker = thread::spawn(move || {
                while !stop2.load(SeqCst) {
                    thread::yield_now();
                }
            });
            let pool = Pool { worker: Some(worker), stop };
            assert!(pool.stop.load(SeqCst), "on purpose");
        });
        panics.join().is_err()
    });
    assert_eq!(found, BTreeSet::from([true]));
}

#[test]
fn a_destructor_knows_that_its_thread_panics() {
    struct Looks(Arc<std::sync::Mutex<Vec<bool>>>);
    impl Drop for Looks {
        fn drop(&mut self) {
            self.0.lock().expect("not poisoned").push(thread::panicking());
        }
    }
    let (found, _) = outcomes(|| {
        let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
        let looks = Looks(Arc::clone(&seen));
        let panics = thread::spawn(move || {
            let _looks = looks;
            panic!("on purpose");
        });
        let _ = panics.join();
        drop(Looks(Arc::clone(&seen)));
        seen.lock().expect("not poisoned").clone()
    });
    assert_eq!(found, BTreeSet::from([vec![true, false]]));
}

#[test]
fn outside_an_execution_threads_are_those_of_std() {
    assert_eq!(thread::current().name(), std::thread::current().name());
    let worker = Builder::new().name("worker".to_owned());
    let handle = worker.spawn(|| {
        thread::park();
        thread::yield_now();
        thread::sleep(Duration::from_millis(1));
        thread::park_timeout(Duration::from_millis(1));
        thread::current().id()
    });
    let handle = handle.expect("there are threads");
    assert_eq!(handle.thread().name(), Some("worker"));
    assert!(!handle.is_finished());
    let id = handle.thread().id();
    handle.thread().unpark();
    assert_eq!(handle.join().expect("no panic"), id);
    assert_ne!(id, thread::current().id());

    let mut own = [1, 2];
    let [first, second] = &mut own;
    let sum = thread::scope(|scope| {
        let handle = scope.spawn(|| {
            *first += 1;
            scope.spawn(|| *second += 1);
            1
        });
        let panics = scope.spawn(|| panic!("on purpose"));
        assert!(panics.join().is_err());
        handle.join().expect("no panic")
    });
    assert_eq!((own, sum), ([2, 3], 1));
    assert!(!thread::panicking());
    assert!(thread::available_parallelism().is_ok());
}
