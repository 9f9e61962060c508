//! `Barrier` in programs.

use std::collections::BTreeSet;
use std::sync::Arc;

use raddle_threads::sync::Barrier;
use raddle_threads::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle_threads::thread;
use raddle_trace::{Outcome, Settings};

use crate::{failure, outcomes, panic_message, shared};

#[test]
fn the_last_to_arrive_leads() {
    let (found, executions) = outcomes(|| {
        let (a, b) = shared(Barrier::new(2));
        let other = thread::spawn(move || a.wait().is_leader());
        let leads = b.wait().is_leader();
        (leads, other.join().expect("no panic"))
    });
    assert_eq!(found, BTreeSet::from([(false, true), (true, false)]));
    // Who arrives last: 2. To pass is no step.
    assert_eq!(executions, 2);
}

#[test]
fn what_came_before_the_barrier_is_seen_after_it() {
    let (found, executions) = outcomes(|| {
        let (a, b) = shared((Barrier::new(2), AtomicUsize::new(0)));
        let meet = |shared: &(Barrier, AtomicUsize)| {
            shared.1.fetch_add(1, SeqCst);
            shared.0.wait();
            shared.1.load(SeqCst)
        };
        let other = thread::spawn(move || meet(&a));
        let seen = meet(&b);
        (seen, other.join().expect("no panic"))
    });
    assert_eq!(found, BTreeSet::from([(2, 2)]));
    // Two tasks add and arrive, in any order: C(4, 2). Then both load, in any order: 2.
    assert_eq!(executions, 12);
}

#[test]
fn a_barrier_can_be_used_again() {
    let (found, _) = outcomes(|| {
        let shared = Arc::new((Barrier::new(3), AtomicUsize::new(0)));
        let rounds = |shared: &(Barrier, AtomicUsize)| {
            (0..2).filter(|_| shared.0.wait().is_leader()).count()
        };
        let others: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || rounds(&shared))
            })
            .collect();
        let mine = rounds(&shared);
        mine + others.into_iter().map(|other| other.join().expect("no panic")).sum::<usize>()
    });
    assert_eq!(found, BTreeSet::from([2]));
}

#[test]
fn a_barrier_for_more_than_come_is_a_deadlock() {
    let outcome = failure(Settings::default(), &|| {
        let (a, b) = shared(Barrier::new(3));
        let other = thread::spawn(move || a.wait().is_leader());
        b.wait();
        let _ = other.join();
    });
    let Outcome::Deadlock { waiting } = outcome else { panic!("expected a deadlock") };
    let ops: Vec<_> = waiting.iter().map(|one| (one.task, one.op.as_str())).collect();
    assert_eq!(ops, [(0, "wait"), (1, "wait")]);
    assert!(waiting.iter().all(|one| one.object.is_some()));
}

#[test]
fn who_changes_something_after_one_barrier_is_seen_before_the_next() {
    // The second meeting that would keep the phases apart is missing.
    let message = panic_message(&|| {
        let (a, b) = shared((Barrier::new(2), AtomicUsize::new(0)));
        let other = thread::spawn(move || {
            a.0.wait();
            a.1.store(1, SeqCst);
        });
        b.0.wait();
        assert_eq!(b.1.load(SeqCst), 0, "the next phase has begun");
        other.join().expect("no panic");
    });
    assert!(message.contains("the next phase has begun"), "{message}");
}

#[test]
fn outside_an_execution_a_barrier_is_a_barrier() {
    static MEET: Barrier = Barrier::new(3);
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let rounds = || {
        (1..=20)
            .filter(|round| {
                COUNT.fetch_add(1, SeqCst);
                let leads = MEET.wait().is_leader();
                assert!(COUNT.load(SeqCst) >= 3 * round);
                leads
            })
            .count()
    };
    let others = [thread::spawn(rounds), thread::spawn(rounds)];
    let leads =
        rounds() + others.map(|other| other.join().expect("no panic")).iter().sum::<usize>();
    assert_eq!(leads, 20);
    assert!(Barrier::new(0).wait().is_leader());
}
