//! Values, limits, the caller's clock, and what is refused.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use raddle_engine::rt::{Spawn, choose, scope, spawn};
use raddle_engine::{Ended, EngineError, Limits, Setup, Stop, explore};
use raddle_trace::Outcome;

use crate::primitive::Semaphore;
use crate::{Every, explored, kinds, limited};

#[test]
fn values_are_decisions() {
    let seen = Mutex::new(BTreeSet::new());
    let (executions, _) = kinds(&|| {
        let first = choose(3);
        // One option is no decision.
        assert_eq!(choose(1), 0);
        let second = if first == 0 { choose(4) } else { 0 };
        seen.lock().unwrap().insert((first, second));
    });
    // 4 ways to go on after the first value, one after each of the other two.
    assert_eq!(executions, 4 + 2);
    assert_eq!(seen.into_inner().unwrap().len(), 6);
}

/// Three tasks of two steps each, and nothing waits: 6! / 2!³ = 90 orders.
#[test]
fn tasks_of_a_scope_borrow_and_interleave() {
    let (executions, ends) = kinds(&|| {
        let semaphore = Semaphore::new(3);
        scope(|scope| {
            for _ in 0..3 {
                scope.spawn(Spawn::default(), || {
                    semaphore.take();
                    semaphore.give();
                });
            }
        });
    });
    assert_eq!((executions, ends), (90, vec![("completed", 90)]));
}

/// So many steps by itself.
fn steps(n: usize) {
    let semaphore = Semaphore::new(1);
    for _ in 0..n / 2 {
        semaphore.take();
        semaphore.give();
    }
}

#[test]
fn an_execution_beyond_a_limit_is_rejected_and_is_no_failure() {
    let ended = |limits, body: &dyn Fn()| {
        let explored = explored(&limited(limits), body);
        assert!(explored.failure.is_none());
        (explored.ended, explored.counts.executions, explored.counts.rejected)
    };
    // An execution that reaches the limit is over, and one with fewer steps is not.
    let few = Limits { steps: 11, ..Limits::default() };
    assert_eq!(ended(few, &|| steps(10)), (Ended::Covered, 1, 0));
    assert_eq!(ended(few, &|| steps(12)), (Ended::Covered, 1, 1));
    let spawns = || {
        for _ in 0..3 {
            spawn(Spawn::default(), || ()).join().expect("no panic");
        }
    };
    // The body is one of them.
    assert_eq!(ended(Limits { tasks: 4, ..Limits::default() }, &spawns).2, 0);
    assert_eq!(ended(Limits { tasks: 3, ..Limits::default() }, &spawns).2, 1);
    let three = || {
        let _ = choose(3);
    };
    let some = Limits { executions: 2, ..Limits::default() };
    assert_eq!(ended(some, &three), (Ended::Executions, 2, 0));
    let all = Limits { executions: 3, ..Limits::default() };
    assert_eq!(ended(all, &three).1, 3);
}

#[test]
fn the_caller_has_the_clock() {
    let mut laps = Vec::new();
    let mut lap = |lap: raddle_engine::Lap| {
        laps.push(lap.executions);
        if lap.executions == 2 { Stop::Search } else { Stop::No }
    };
    let setup = Setup::default();
    let body = || {
        let _ = choose(5);
    };
    let stopped = explore(&mut Every::default(), &setup, &mut lap, &mut |_| {}, &body);
    let stopped = stopped.expect("a search can run here");
    assert_eq!((stopped.ended, stopped.counts.executions), (Ended::Stopped, 2));
    assert!(laps.is_sorted() && laps.last() == Some(&2), "{laps:?}");
}

#[test]
fn a_search_inside_an_execution_is_refused() {
    let nested = Arc::new(Mutex::new(None));
    let theirs = Arc::clone(&nested);
    explored(&Setup::default(), &move || {
        let setup = Setup::default();
        let refused =
            explore(&mut Every::default(), &setup, &mut |_| Stop::No, &mut |_| {}, &|| ());
        *theirs.lock().unwrap() = refused.err();
    });
    assert_eq!(*nested.lock().unwrap(), Some(EngineError::Nested));
}

#[test]
fn what_needs_an_execution_says_so_outside() {
    let said = |wrong: fn()| {
        let payload = std::panic::catch_unwind(wrong).expect_err("it is refused");
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| payload.downcast_ref::<String>().cloned()).expect("a message")
    };
    let choose_outside = || {
        let _ = choose(2);
    };
    let choose_nothing = || {
        let _ = choose(0);
    };
    assert!(said(choose_outside).contains("only known inside an execution"));
    assert!(said(choose_nothing).contains("nothing to choose from"));
    assert!(said(|| drop(spawn(Spawn::default(), || ()))).contains("outside an execution"));
}

#[test]
fn a_panic_of_a_task_that_nobody_joins_is_the_outcome() {
    let explored = explored(&Setup::default(), &|| {
        drop(spawn(Spawn::default(), || {
            Semaphore::new(1).take();
            panic!("alone");
        }));
    });
    assert_eq!(explored.ended, Ended::Failed);
    let outcome = explored.failure.expect("a panic").outcome;
    let Outcome::Panicked { panics, .. } = outcome else { panic!("{outcome:?}") };
    assert!(panics[0].message.contains("alone"), "{panics:?}");
}
