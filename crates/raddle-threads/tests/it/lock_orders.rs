//! Locks taken in orders that could deadlock and did not.

use std::sync::Arc;

use raddle_engine::{Explored, Limits, Setup, Stop, explore};
use raddle_threads::Named;
use raddle_threads::sync::{Mutex, RwLock, mpsc};
use raddle_threads::thread;
use raddle_trace::{Nested, Note, Outcome, Settings};

use crate::{explore_all, shared};

type Locks = (Mutex<()>, Mutex<()>, Mutex<()>);

fn locks() -> (Arc<Locks>, Arc<Locks>) {
    let lock = |name| Mutex::new(()).named(name);
    shared((lock("a"), lock("b"), lock("gate")))
}

fn both(first: &Mutex<()>, second: &Mutex<()>) {
    let _first = first.lock().expect("not poisoned");
    let _second = second.lock().expect("not poisoned");
}

#[track_caller]
fn warnings(explored: &Explored) -> Vec<&[Nested]> {
    let warning = |note: &'_ Note| match note {
        Note::LockOrder { .. } => true,
        Note::NothingConcurrent => false,
        other => panic!("unexpected: {other:?}"),
    };
    let cycles = explored.notes.iter().filter(|note| warning(note));
    cycles
        .map(|note| match note {
            Note::LockOrder { cycle } => cycle.as_slice(),
            _ => &[],
        })
        .collect()
}

/// How many cycles a program without a failure is warned of.
#[track_caller]
fn warned(program: &dyn Fn()) -> usize {
    let explored = explore_all(Settings::default(), program);
    assert!(explored.failure.is_none());
    warnings(&explored).len()
}

/// Two threads that a channel keeps apart.
fn one_after_the_other(first: fn(&Locks), second: fn(&Locks)) {
    let (ours, theirs) = locks();
    let (sender, receiver) = mpsc::channel();
    let other = thread::spawn(move || {
        first(&theirs);
        sender.send(()).expect("the receiver is there");
    });
    receiver.recv().expect("a value");
    second(&ours);
    other.join().expect("no panic");
}

#[test]
fn opposite_orders_that_did_not_deadlock_are_told_once() {
    let explored = explore_all(Settings::default(), &|| {
        one_after_the_other(|l| both(&l.0, &l.1), |l| both(&l.1, &l.0));
    });
    assert!(explored.failure.is_none());
    let cycles = warnings(&explored);
    let [cycle] = cycles.as_slice() else { panic!("{cycles:?}") };
    let name = |lock: &raddle_trace::ObjectName| lock.name.clone().expect("it has one");
    let said: Vec<_> = cycle
        .iter()
        .map(|nested| (nested.task.as_str(), name(&nested.held), name(&nested.taken)))
        .collect();
    assert_eq!(
        said,
        [("thread 1", "a".to_owned(), "b".to_owned()), ("main", "b".to_owned(), "a".to_owned())]
    );
    assert!(cycle.iter().all(|nested| nested.held_at.line + 1 == nested.taken_at.line));
}

#[test]
fn a_first_execution_that_goes_well_warns_of_the_deadlock() {
    let program = || {
        let (ours, theirs) = locks();
        let other = thread::spawn(move || both(&theirs.0, &theirs.1));
        both(&ours.1, &ours.0);
        other.join().expect("no panic");
    };
    let mut strategy = raddle_search::build("dfs", 0).expect("dfs is known").strategy;
    let limits = Limits { executions: 1, ..Limits::default() };
    let setup = Setup { limits, ..Setup::default() };
    let explored = explore(&mut *strategy, &setup, &mut |_| Stop::No, &mut |_| {}, &program)
        .expect("a search can run here");
    assert_eq!(warnings(&explored).len(), 1);
    // Where the deadlock itself is found the warning would say nothing more.
    let explored = explore_all(Settings::default(), &program);
    let outcome = explored.failure.expect("a deadlock").outcome;
    assert!(matches!(outcome, Outcome::Deadlock { .. }));
    assert_eq!(explored.notes, []);
}

#[test]
fn one_order_is_no_cycle() {
    assert_eq!(warned(&|| one_after_the_other(|l| both(&l.0, &l.1), |l| both(&l.0, &l.1))), 0);
}

#[test]
fn a_lock_around_both_keeps_them_apart() {
    let gated = |l: &Locks, first: &Mutex<()>, second: &Mutex<()>| {
        let _gate = l.2.lock().expect("not poisoned");
        both(first, second);
    };
    let program = move || {
        let (ours, theirs) = locks();
        let other = thread::spawn(move || gated(&theirs, &theirs.0, &theirs.1));
        gated(&ours, &ours.1, &ours.0);
        other.join().expect("no panic");
    };
    assert_eq!(warned(&program), 0);
}

#[test]
fn a_thread_that_is_joined_first_is_in_no_ones_way() {
    let joined = || {
        let (ours, theirs) = locks();
        both(&ours.1, &ours.0);
        let other = thread::spawn(move || both(&theirs.0, &theirs.1));
        other.join().expect("no panic");
        both(&ours.1, &ours.0);
    };
    assert_eq!(warned(&joined), 0);
    // By way of others.
    let in_turn = || {
        let (ours, theirs) = locks();
        let outer = thread::spawn(move || {
            let inner = thread::spawn(move || both(&theirs.0, &theirs.1));
            inner.join().expect("no panic");
        });
        outer.join().expect("no panic");
        thread::spawn(move || both(&ours.1, &ours.0)).join().expect("no panic");
    };
    assert_eq!(warned(&in_turn), 0);
}

#[test]
fn one_task_alone_does_not_deadlock_by_two_orders() {
    let program = || {
        let (ours, theirs) = locks();
        let other = thread::spawn(move || drop(theirs.2.lock()));
        both(&ours.0, &ours.1);
        both(&ours.1, &ours.0);
        other.join().expect("no panic");
    };
    assert_eq!(warned(&program), 0);
}

#[test]
fn who_only_tries_does_not_wait() {
    let program = || {
        one_after_the_other(
            |l| both(&l.0, &l.1),
            |l| {
                let _second = l.1.lock().expect("not poisoned");
                let _first = l.0.try_lock().expect("free");
            },
        );
    };
    assert_eq!(warned(&program), 0);
}

#[test]
fn shares_of_a_lock_do_not_exclude_each_other() {
    let program = |write: bool| {
        move || {
            let state = Arc::new((RwLock::new(()), RwLock::new(())));
            let theirs = Arc::clone(&state);
            let (sender, receiver) = mpsc::channel();
            let other = thread::spawn(move || {
                let first = theirs.0.read().expect("not poisoned");
                if write {
                    drop(theirs.1.write());
                } else {
                    drop(theirs.1.read());
                }
                drop(first);
                sender.send(()).expect("the receiver is there");
            });
            receiver.recv().expect("a value");
            let _second = state.1.read().expect("not poisoned");
            if write {
                drop(state.0.write());
            } else {
                drop(state.0.read());
            }
            other.join().expect("no panic");
        }
    };
    assert_eq!(warned(&program(false)), 0);
    assert_eq!(warned(&program(true)), 1);
}

#[test]
fn three_in_a_ring_are_one_cycle() {
    let explored = explore_all(Settings::default(), &|| {
        let forks: Arc<Vec<Mutex<()>>> = Arc::new((0..3).map(|_| Mutex::new(())).collect());
        let mut before: Option<mpsc::Receiver<()>> = None;
        let mut threads = Vec::new();
        for place in 0..3 {
            let (sender, receiver) = mpsc::channel();
            let (forks, wait) = (Arc::clone(&forks), before.replace(receiver));
            threads.push(thread::spawn(move || {
                if let Some(wait) = wait {
                    wait.recv().expect("a turn");
                }
                both(&forks[place], &forks[(place + 1) % 3]);
                let _ = sender.send(());
            }));
        }
        for thread in threads {
            thread.join().expect("no panic");
        }
    });
    assert!(explored.failure.is_none());
    let cycles = warnings(&explored);
    assert_eq!(cycles.iter().map(|cycle| cycle.len()).collect::<Vec<_>>(), [3]);
}
