//! Panics: which of several is the one to look at, and what follows them.

use std::sync::Arc;

use raddle_engine::{Explored, Limits, Setup, Stop, explore};
use raddle_threads::sync::Mutex;
use raddle_threads::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle_threads::thread;
use raddle_trace::{Failure, Outcome};

use crate::{panic_message, shared};

fn search(setup: &Setup, program: &dyn Fn()) -> Explored {
    let mut strategy = raddle_search::build("dfs", 0).expect("dfs is known").strategy;
    explore(&mut *strategy, setup, &mut |_| Stop::No, &mut |_| {}, program)
        .expect("a search can run here")
}

/// The failure of a program.
#[track_caller]
fn found(program: &dyn Fn()) -> Failure {
    search(&Setup::default(), program).failure.expect("the program has a bug")
}

#[test]
fn the_first_panic_goes_before_those_of_who_find_a_lock_poisoned() {
    let message = panic_message(&|| {
        let lock = Arc::new(Mutex::new(()));
        let (one, two) = (Arc::clone(&lock), Arc::clone(&lock));
        let first = thread::spawn(move || {
            let _held = one.lock().unwrap();
            panic!("the cause");
        });
        let second = thread::spawn(move || drop(two.lock().unwrap()));
        second.join().unwrap();
        first.join().unwrap();
    });
    assert_eq!(message, "the cause");
    // Also if it was caught: that poisons too.
    let message = panic_message(&|| {
        let lock = Mutex::new(());
        let holding = std::panic::AssertUnwindSafe(|| {
            let _held = lock.lock().unwrap();
            panic!("caught");
        });
        assert!(std::panic::catch_unwind(holding).is_err());
        drop(lock.lock().unwrap());
    });
    assert_eq!(message, "caught");
}

#[test]
fn a_panic_that_is_raised_again_by_who_joins_is_that_of_the_thread() {
    let failure = found(&|| {
        let result = thread::spawn(|| panic!("the cause")).join();
        std::panic::resume_unwind(result.unwrap_err());
    });
    let Outcome::Panicked { panics, .. } = &failure.outcome else { panic!("a panic") };
    assert_eq!(panics.iter().map(|panic| panic.task).collect::<Vec<_>>(), [1, 0]);
    assert!(panics[0].site.is_some());
}

/// A thread panics, and another one waits in this way for what it would have stored.
fn panics_before_it_stores(wait: fn(&AtomicUsize)) -> Failure {
    found(&move || {
        let (ours, theirs) = shared(AtomicUsize::new(0));
        let thread = thread::spawn(move || {
            assert_eq!(theirs.load(SeqCst), 7, "the cause");
            theirs.store(1, SeqCst);
        });
        wait(&ours);
        thread.join().expect("it panics");
    })
}

#[test]
fn a_panic_comes_before_the_livelock_of_who_waits_for_its_thread() {
    let failure = panics_before_it_stores(|flag| {
        while flag.load(SeqCst) == 0 {
            thread::yield_now();
        }
    });
    let Outcome::Panicked { panics, then: Some(then) } = &failure.outcome else {
        panic!("a panic and what followed, not {:?}", failure.outcome)
    };
    assert_eq!(panics[0].task, 1);
    assert!(panics[0].message.contains("the cause"), "{panics:?}");
    assert_eq!(then.kind(), "livelock");
    // The panic has its place between the steps.
    let [raised] = failure.trace.panics.as_slice() else { panic!("{:?}", failure.trace.panics) };
    assert!((raised.step as usize) < failure.trace.events.len());
    assert_eq!((raised.panic.task, raised.handled), (1, false));
}

#[test]
fn a_panic_comes_before_the_limit_that_ends_who_waits_for_its_thread() {
    let limits = Limits { steps: 100, ..Default::default() };
    let setup = Setup { limits, ..Default::default() };
    let explored = search(&setup, &|| {
        let n = AtomicUsize::new(0);
        let thread = thread::spawn(|| panic!("the cause"));
        loop {
            n.fetch_add(1, SeqCst);
            if n.load(SeqCst) == usize::MAX {
                break;
            }
        }
        thread.join().unwrap();
    });
    let outcome = explored.failure.expect("a panic").outcome;
    let Outcome::Panicked { panics, then: Some(then) } = &outcome else { panic!("{outcome:?}") };
    assert_eq!((panics[0].message.as_str(), then.kind()), ("the cause", "limit"));
}

#[test]
fn a_deadlock_after_a_panic_that_was_caught_names_it() {
    let failure = found(&|| {
        assert!(std::panic::catch_unwind(|| panic!("caught")).is_err());
        let lock = Mutex::new(());
        let _first = lock.lock();
        let _second = lock.lock();
    });
    assert_eq!(failure.outcome.kind(), "deadlock");
    let [raised] = failure.trace.panics.as_slice() else { panic!("{:?}", failure.trace.panics) };
    assert_eq!((raised.panic.message.as_str(), raised.step, raised.handled), ("caught", 0, true));
}
