//! `Once`, `OnceLock` and `LazyLock` in programs.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize as RealAtomic;

use raddle_threads::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use raddle_threads::sync::{LazyLock, Once, OnceLock};
use raddle_threads::{Named, thread};
use raddle_trace::{Outcome, Settings};

use crate::{failure, outcomes, panic_message, shared};

fn panics(f: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

#[test]
fn one_call_is_made_and_both_callers_see_it_done() {
    let (found, executions) = outcomes(|| {
        let (a, b) = shared((Once::new(), AtomicUsize::new(0)));
        let call = |shared: &(Once, AtomicUsize), id| {
            shared.0.call_once(|| shared.1.store(id, SeqCst));
            shared.1.load(SeqCst)
        };
        let other = thread::spawn(move || call(&a, 1));
        let seen = call(&b, 2);
        (seen, other.join().expect("no panic"))
    });
    assert_eq!(found, BTreeSet::from([(1, 1), (2, 2)]));
    // The one that begins first (2) stores and ends while the other waits; then one has a load left,
    // the other its call and its load: C(3, 1).
    assert_eq!(executions, 6);
}

#[test]
fn a_call_that_is_not_completed_can_be_seen() {
    let (found, executions) = outcomes(|| {
        let (a, b) = shared(Once::new().named("setup"));
        let other = thread::spawn(move || a.call_once(|| ()));
        let seen = b.is_completed();
        b.wait();
        other.join().expect("no panic");
        seen
    });
    assert_eq!(found, BTreeSet::from([false, true]));
    // The child begins and ends. Main looks before both, between them, or after them. If it was
    // too early it must wait, and if not, to wait is no step.
    assert_eq!(executions, 3);
}

#[test]
fn a_call_that_panics_poisons_and_can_be_forced() {
    let (found, _) = outcomes(|| {
        let (a, b) = shared(Once::new());
        let other = thread::spawn(move || a.call_once(|| panic!("on purpose")));
        let failed = other.join().is_err();
        let refused = panics(|| b.call_once(|| ())) && panics(|| b.wait());
        let early = b.is_completed();
        let mut told = None;
        b.call_once_force(|state| told = Some(state.is_poisoned()));
        b.call_once(|| unreachable!("it is done"));
        b.wait_force();
        (failed, refused, early, told, b.is_completed())
    });
    assert_eq!(found, BTreeSet::from([(true, true, false, Some(true), true)]));
}

#[test]
fn a_call_within_itself_is_a_deadlock_with_oneself() {
    let outcome = failure(Settings::default(), &|| {
        let once = Once::new();
        once.call_once(|| once.call_once(|| ()));
    });
    let Outcome::Deadlock { waiting } = outcome else { panic!("expected a deadlock") };
    assert_eq!(waiting[0].op, "call_once");
    assert_eq!(waiting[0].held_by[0].0, 0);
    assert!(waiting[0].held_by[0].1.is_some());
}

#[test]
fn outside_an_execution_a_once_is_a_once() {
    static ONCE: Once = Once::new();
    static CALLS: RealAtomic = RealAtomic::new(0);
    let call = || {
        ONCE.call_once(|| {
            CALLS.fetch_add(1, SeqCst);
        });
        assert!(ONCE.is_completed());
        ONCE.wait();
    };
    let others = [thread::spawn(call), thread::spawn(call)];
    call();
    for other in others {
        other.join().expect("no panic");
    }
    assert_eq!(CALLS.load(SeqCst), 1);
}

#[test]
fn a_cell_is_initialised_once() {
    let (found, executions) = outcomes(|| {
        let (a, b) = shared(OnceLock::new());
        let other = thread::spawn(move || *a.get_or_init(|| 1));
        let seen = *b.get_or_init(|| 2);
        (seen, other.join().expect("no panic"))
    });
    assert_eq!(found, BTreeSet::from([(1, 1), (2, 2)]));
    // The one that begins first ends first: the other waits, and then nothing of the first is left.
    assert_eq!(executions, 2);
}

#[test]
fn a_cell_is_set_once() {
    let (found, executions) = outcomes(|| {
        let (a, b) = shared(OnceLock::new());
        let other = thread::spawn(move || a.set(1));
        let before = b.get().copied();
        let mine = b.set(2);
        (before, mine, other.join().expect("no panic"), *b.wait())
    });
    assert_eq!(
        found,
        BTreeSet::from([
            (None, Ok(()), Err(1), 2),
            (None, Err(2), Ok(()), 1),
            (Some(1), Err(2), Ok(()), 1)
        ])
    );
    // The child's one step before, between or after main's two. Where it comes first, main's
    // are no steps any more.
    assert_eq!(executions, 3);
}

#[test]
fn an_initialiser_that_panics_leaves_the_cell_to_others() {
    let (found, _) = outcomes(|| {
        let (a, b) = shared(OnceLock::new());
        let other = thread::spawn(move || *a.get_or_init(|| panic!("on purpose")));
        let seen = *b.get_or_init(|| 2);
        (seen, other.join().ok())
    });
    assert_eq!(found, BTreeSet::from([(2, None), (2, Some(2))]));
}

#[test]
fn what_is_set_can_be_waited_for_changed_and_taken() {
    let (found, _) = outcomes(|| {
        let (a, b) = shared(OnceLock::new());
        let other = thread::spawn(move || a.set(1).expect("nobody else sets it"));
        let seen = *b.wait();
        other.join().expect("no panic");
        let mut cell = std::sync::Arc::into_inner(b).expect("the other is gone");
        *cell.get_mut().expect("it is set") += 1;
        let twin = cell.clone();
        let (taken, left, shown) = (cell.take(), cell.get().copied(), format!("{cell:?}"));
        let again = cell.set(5).is_ok();
        (seen, taken, left, shown, again, cell.into_inner(), twin == OnceLock::from(2))
    });
    let shown = "OnceLock(<uninit>)".to_owned();
    assert_eq!(found, BTreeSet::from([(1, Some(2), None, shown, true, Some(5), true)]));
}

#[test]
fn initialisation_that_is_checked_twice_by_hand_shows_half_of_it() {
    // The flag is raised before the value is there.
    let message = panic_message(&|| {
        let (a, b) = shared((AtomicBool::new(false), AtomicUsize::new(0)));
        let get = |cell: &(AtomicBool, AtomicUsize)| {
            if !cell.0.load(SeqCst) && !cell.0.swap(true, SeqCst) {
                cell.1.store(42, SeqCst);
            }
            cell.1.load(SeqCst)
        };
        let other = thread::spawn(move || get(&a));
        assert_eq!(get(&b), 42, "used before it was made");
        other.join().expect("no panic");
    });
    assert!(message.contains("used before it was made"), "{message}");
}

#[test]
fn two_cells_that_initialise_each_other_deadlock() {
    let outcome = failure(Settings::default(), &|| {
        let (a, b) = shared((OnceLock::new(), OnceLock::new()));
        let other = thread::spawn(move || *a.0.get_or_init(|| *a.1.get_or_init(|| 1)));
        b.1.get_or_init(|| *b.0.get_or_init(|| 2));
        let _ = other.join();
    });
    let Outcome::Deadlock { waiting } = outcome else { panic!("expected a deadlock") };
    let holders: Vec<_> = waiting.iter().map(|one| (one.task, one.held_by[0].0)).collect();
    assert_eq!(holders, [(0, 1), (1, 0)]);
}

#[test]
fn a_cell_in_a_static_is_empty_in_each_execution() {
    static CELL: OnceLock<usize> = OnceLock::new();
    static MADE: RealAtomic = RealAtomic::new(0);
    CELL.set(7).expect("it is new");
    let program = || {
        let other = thread::spawn(|| CELL.get().is_none());
        CELL.get_or_init(|| MADE.fetch_add(1, SeqCst));
        other.join().expect("no panic")
    };
    let (found, executions) = outcomes(program);
    assert_eq!(found, BTreeSet::from([false, true]));
    // The child looks before main begins, between, or after it ends.
    assert_eq!(executions, 3);
    assert_eq!(MADE.load(SeqCst), 3);
    // What was set outside is still there.
    assert_eq!(CELL.get(), Some(&7));
    assert_eq!(outcomes(program).1, 3);
}

#[test]
fn outside_an_execution_a_cell_is_a_cell() {
    static CELL: OnceLock<String> = OnceLock::new();
    let others = [1, 2].map(|id| thread::spawn(move || CELL.get_or_init(|| id.to_string())));
    let [one, two] = others.map(|other| other.join().expect("no panic"));
    assert!(std::ptr::eq(one, two));
    let mut cell = OnceLock::from(3);
    assert_eq!(cell.set(4), Err(4));
    assert_eq!((cell.take(), cell.into_inner()), (Some(3), None));
}

#[test]
fn a_lazy_value_is_made_once_in_each_execution() {
    static MADE: RealAtomic = RealAtomic::new(0);
    static LAZY: LazyLock<usize> = LazyLock::new(|| MADE.fetch_add(1, SeqCst));
    // Outside first: that is one more, and it stays.
    assert_eq!(*LAZY, 0);
    let program = || {
        let other = thread::spawn(|| *LAZY);
        let mine = *LAZY;
        assert_eq!(other.join().expect("no panic"), mine);
        // Once it is there, to look at it is no step: the two others ask for nothing.
        thread::spawn(|| *LAZY + *LAZY).join().expect("no panic");
        mine
    };
    let (found, executions) = outcomes(program);
    // Who begins.
    assert_eq!(executions, 2);
    assert_eq!(found, BTreeSet::from([1, 2]));
    assert_eq!(MADE.load(SeqCst), 3);
    assert_eq!(*LAZY, 0);
}

#[test]
fn a_lazy_value_whose_maker_panics_is_poisoned() {
    let program = || {
        let lazy: LazyLock<u32> = LazyLock::new(|| panic!("on purpose"));
        let before = LazyLock::get(&lazy).is_none();
        let force = || panics(|| assert!(*lazy > 0));
        (before, force(), force(), LazyLock::get(&lazy).is_none())
    };
    assert_eq!(outcomes(program).0, BTreeSet::from([(true, true, true, true)]));
    assert_eq!(program(), (true, true, true, true));
}

#[test]
fn a_lazy_value_that_needs_itself_is_a_deadlock() {
    static LAZY: LazyLock<u32> = LazyLock::new(|| *LAZY + 1);
    let outcome = failure(Settings::default(), &|| assert!(*LAZY > 0));
    assert!(matches!(outcome, Outcome::Deadlock { waiting } if waiting[0].held_by[0].0 == 0));
}

#[test]
fn a_lazy_value_may_capture_and_can_be_changed() {
    let program = || {
        let base = String::from("ab");
        let mut lazy = LazyLock::new(move || base.len());
        let empty = format!("{lazy:?}");
        let early = LazyLock::get_mut(&mut lazy).is_none();
        *LazyLock::force_mut(&mut lazy) += 1;
        (empty, early, *lazy, format!("{lazy:?}"))
    };
    let expected = ("LazyLock(<uninit>)".to_owned(), true, 3, "LazyLock(3)".to_owned());
    assert_eq!(program(), expected);
    assert_eq!(outcomes(program).0, BTreeSet::from([expected]));
}

/// Counts in a std atomic how often it is dropped.
struct Dropped(&'static RealAtomic);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_lazy_value_is_made_by_a_closure_that_consumes_what_it_captured() {
    static DROPPED: RealAtomic = RealAtomic::new(0);
    let program = || {
        let owned = (String::from("ab"), std::cell::Cell::new(1), Dropped(&DROPPED));
        // Neither `Fn` nor `Sync`.
        let (ours, theirs) = shared(LazyLock::new(move || {
            let (text, cell, _dropped) = owned;
            cell.set(cell.get() + text.len());
            cell.into_inner()
        }));
        let other = thread::spawn(move || **theirs);
        (**ours, other.join().expect("no panic"))
    };
    let (found, executions) = outcomes(program);
    assert_eq!(found, BTreeSet::from([(3, 3)]));
    // Who begins, as with a function pointer.
    assert_eq!(executions, 2);
    assert_eq!(DROPPED.load(SeqCst), 2);
    assert_eq!(program(), (3, 3));
    assert_eq!(DROPPED.load(SeqCst), 3);
}

#[test]
fn a_closure_that_was_never_called_is_dropped_with_its_lazy_value() {
    static DROPPED: RealAtomic = RealAtomic::new(0);
    let program = || {
        let dropped = Dropped(&DROPPED);
        let lazy = LazyLock::new(move || drop(dropped));
        LazyLock::get(&lazy).is_none()
    };
    assert_eq!(outcomes(program), (BTreeSet::from([true]), 1));
    assert_eq!(DROPPED.load(SeqCst), 1);
    assert!(program());
    assert_eq!(DROPPED.load(SeqCst), 2);
}

#[test]
fn what_a_closure_made_outside_is_seen_in_every_execution() {
    let text = String::from("abc");
    let lazy = LazyLock::new(move || text.into_bytes());
    assert_eq!(lazy.len(), 3);
    let program = || {
        thread::scope(|scope| {
            let other = scope.spawn(|| lazy.len());
            (LazyLock::get(&lazy).map(Vec::len), lazy.len(), other.join().expect("no panic"))
        })
    };
    // It was there before: no step, nothing to decide.
    assert_eq!(outcomes(program), (BTreeSet::from([(Some(3), 3, 3)]), 1));
}

#[test]
fn a_closure_that_an_earlier_execution_consumed_is_refused() {
    let text = String::from("abc");
    let lazy = LazyLock::new(move || text.into_bytes());
    let told = panic_message(&|| {
        // So that there is a second execution.
        let _ = raddle_engine::rt::choose(2);
        assert_eq!(lazy.len(), 3);
    });
    assert!(told.starts_with("raddle: the closure of the LazyLock created at crates/"), "{told}");
    assert!(told.contains("cannot be called again"), "{told}");
}

#[test]
fn a_lazy_value_is_changed_through_the_lock_as_through_the_value() {
    let program = || {
        let mut lazy = LazyLock::new(|| vec![1]);
        lazy.push(2);
        lazy.len()
    };
    assert_eq!(outcomes(program).0, BTreeSet::from([2]));
    assert_eq!(program(), 2);
}

#[test]
fn a_cell_may_hold_what_is_dropped_before_it() {
    let program = || {
        let cell = OnceLock::new();
        let text = String::from("ab");
        cell.set(&text).expect("it is empty");
        cell.get().map(|text| text.len())
    };
    assert_eq!(program(), Some(2));
    assert_eq!(outcomes(program).0, BTreeSet::from([Some(2)]));
}
