//! `thread_local!` in programs.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;

use raddle_threads::sync::Mutex;
use raddle_threads::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle_threads::{thread, thread_local};
use raddle_trace::{Outcome, Settings};

use crate::{failure, outcomes, shared};

thread_local! {
    /// Attributes and visibility are allowed.
    pub(crate) static COUNT: Cell<u32> = const { Cell::new(0) };
    static NAMES: RefCell<Vec<u32>> = RefCell::new(vec![7]);
    static LOCKS: RefCell<Option<Locks>> = const { RefCell::new(None) }
}

/// Adds one under a lock when it is dropped.
struct Locks(Arc<Mutex<u32>>);

impl Drop for Locks {
    fn drop(&mut self) {
        *self.0.lock().expect("not poisoned") += 1;
    }
}

/// What every thread does first.
fn use_all() -> (u32, Vec<u32>) {
    COUNT.set(COUNT.get() + 1);
    NAMES.with_borrow_mut(|names| names.push(8));
    (COUNT.get(), NAMES.with_borrow(Clone::clone))
}

#[test]
fn each_task_of_each_execution_has_its_own() {
    let first = (1, vec![7, 8]);
    let second = (2, vec![7, 8, 8]);
    for _ in 0..2 {
        let (found, executions) = outcomes(|| {
            let (a, b) = shared(AtomicUsize::new(0));
            let child = thread::spawn(move || {
                a.store(1, SeqCst);
                use_all()
            });
            let one = use_all();
            b.store(2, SeqCst);
            (one, use_all(), child.join().expect("no panic"))
        });
        assert_eq!(found, BTreeSet::from([(first.clone(), second.clone(), first.clone())]));
        assert_eq!(executions, 2);
    }
}

#[test]
fn cells_are_used_as_in_std() {
    let use_cells = || {
        COUNT.set(5);
        assert_eq!((COUNT.replace(6), COUNT.take(), COUNT.get()), (5, 6, 0));
        // Set before its first use: the usual first value is not made.
        NAMES.set(vec![1]);
        assert_eq!(NAMES.replace(vec![2]), [1]);
        NAMES.set(vec![3]);
        assert_eq!((NAMES.take(), NAMES.take()), (vec![3], vec![]));
        assert_eq!(NAMES.try_with(|names| names.borrow().len()), Ok(0));
        COUNT.with(|count| count.set(9));
    };
    assert_eq!(outcomes(use_cells).1, 1);
    thread::spawn(use_cells).join().expect("no panic");
}

#[test]
fn destructors_run_as_steps_before_the_join() {
    let (found, executions) = outcomes(|| {
        let (a, b) = shared(Mutex::new(0));
        let child = thread::spawn(move || LOCKS.set(Some(Locks(a))));
        let early = *b.lock().expect("not poisoned");
        child.join().expect("no panic");
        let late = *b.lock().expect("not poisoned");
        (early, late)
    });
    assert_eq!(found, BTreeSet::from([(0, 1), (1, 1)]));
    // Two sections in either order.
    assert_eq!(executions, 2);
}

#[test]
fn a_destructor_can_deadlock_with_whoever_joins() {
    let outcome = failure(Settings::default(), &|| {
        let (a, b) = shared(Mutex::new(0));
        let child = thread::spawn(move || LOCKS.set(Some(Locks(a))));
        let _held = b.lock();
        let _ = child.join();
    });
    let Outcome::Deadlock { waiting } = outcome else { panic!("expected a deadlock") };
    let held_by: Vec<_> = waiting.iter().map(|one| (&*one.op, one.held_by.len())).collect();
    assert_eq!(held_by, [("join", 1), ("lock", 1)]);
}

#[test]
fn a_value_that_is_gone_is_an_error() {
    struct Looks(Arc<std::sync::Mutex<Vec<bool>>>);
    impl Drop for Looks {
        fn drop(&mut self) {
            let seen = LOOKS.try_with(|_| ()).is_ok();
            // One that was not used before is made once more.
            assert_eq!(COUNT.try_with(Cell::get), Ok(0));
            self.0.lock().expect("not poisoned").push(seen);
        }
    }
    thread_local! {
        static LOOKS: RefCell<Option<Looks>> = RefCell::new(None);
    }
    let program = || {
        let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
        let looks = Looks(Arc::clone(&seen));
        thread::spawn(move || LOOKS.set(Some(looks))).join().expect("no panic");
        seen.lock().expect("not poisoned").clone()
    };
    assert_eq!(outcomes(program), (BTreeSet::from([vec![false]]), 1));
    assert_eq!(program(), [false]);
}

#[test]
fn outside_an_execution_they_are_those_of_std() {
    let inner = thread::spawn(use_all).join().expect("no panic");
    assert_eq!(inner, (1, vec![7, 8]));
    let (a, b) = shared(Mutex::new(0));
    thread::spawn(move || LOCKS.set(Some(Locks(a)))).join().expect("no panic");
    assert_eq!(*b.lock().expect("not poisoned"), 1);
}
