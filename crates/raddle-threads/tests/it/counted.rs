//! `counted::Arc` and `counted::Weak` in programs.

use std::collections::BTreeSet;

use raddle_threads::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle_threads::sync::counted::{Arc, Weak};
use raddle_threads::{Named, thread};

use crate::{outcomes, panic_message, shared};

#[test]
fn an_upgrade_races_with_the_last_drop() {
    let (found, executions) = outcomes(|| {
        let strong = Arc::new(7).named("seven");
        let weak = Arc::downgrade(&strong);
        let other = thread::spawn(move || weak.upgrade().map(|value| *value));
        drop(strong);
        other.join().expect("no panic")
    });
    assert_eq!(found, BTreeSet::from([None, Some(7)]));
    // Main drops (d). The child upgrades (u), drops what it got (s), and then the weak handle (w).
    // d u w, without s: 1. Or u first, and then d before, between or after s and w: 3.
    assert_eq!(executions, 4);
}

#[test]
fn exactly_one_of_two_gets_the_value() {
    let (found, executions) = outcomes(|| {
        let one = Arc::new(());
        let two = Arc::clone(&one);
        let other = thread::spawn(move || Arc::into_inner(two).is_some());
        (Arc::into_inner(one).is_some(), other.join().expect("no panic"))
    });
    assert_eq!(found, BTreeSet::from([(false, true), (true, false)]));
    // Who is first.
    assert_eq!(executions, 2);
}

#[test]
fn two_that_try_may_both_fail() {
    let (found, _) = outcomes(|| {
        let one = Arc::new(());
        let two = Arc::clone(&one);
        let other = thread::spawn(move || Arc::try_unwrap(two).is_ok());
        let mine = Arc::try_unwrap(one).is_ok();
        (mine, other.join().expect("no panic"))
    });
    assert_eq!(found, BTreeSet::from([(false, true), (true, false), (false, false)]));
}

#[test]
fn whoever_leaves_last_by_the_count_may_be_nobody() {
    let message = panic_message(&|| {
        let (cleaned, seen) = shared(AtomicUsize::new(0));
        let one = Arc::new(cleaned);
        let two = Arc::clone(&one);
        let leave = |handle: Arc<std::sync::Arc<AtomicUsize>>| {
            if Arc::strong_count(&handle) == 1 {
                handle.fetch_add(1, SeqCst);
            }
        };
        let other = thread::spawn(move || leave(two));
        leave(one);
        other.join().expect("no panic");
        assert_eq!(seen.load(SeqCst), 1, "nobody cleaned up");
    });
    assert!(message.contains("nobody cleaned up"), "{message}");
}

#[test]
fn a_count_of_one_is_no_promise_while_there_is_a_weak_handle() {
    let message = panic_message(&|| {
        let strong = Arc::new(1);
        let weak = Arc::downgrade(&strong);
        let other = thread::spawn(move || weak.upgrade().is_some());
        if Arc::strong_count(&strong) == 1 {
            Arc::try_unwrap(strong).expect("the only one");
        }
        other.join().expect("no panic");
    });
    assert!(message.contains("the only one"), "{message}");
}

#[test]
fn who_drops_last_does_not_depend_on_who_moved_last() {
    struct Noisy(std::sync::Arc<AtomicUsize>);
    impl Drop for Noisy {
        fn drop(&mut self) {
            // The value before says whether main had gone on.
            self.0.fetch_add(10, SeqCst);
        }
    }
    let (found, _) = outcomes(|| {
        let (flag, seen) = shared(AtomicUsize::new(0));
        let one = Arc::new(Noisy(flag));
        let two = Arc::clone(&one);
        let other = thread::spawn(move || {
            two.0.store(1, SeqCst);
            drop(two);
        });
        while seen.load(SeqCst) % 10 == 0 {
            thread::yield_now();
        }
        // Main knows that the other has stored, and not whether it has dropped.
        let last = Arc::into_inner(one).is_some();
        other.join().expect("no panic");
        (last, seen.load(SeqCst))
    });
    assert_eq!(found, BTreeSet::from([(false, 11), (true, 11)]));
}

#[test]
fn the_only_handle_there_ever_was_needs_no_step() {
    let (_, executions) = outcomes(|| {
        let private = || {
            let mut value = Arc::new(1);
            *Arc::get_mut(&mut value).expect("the only handle") += 1;
            *Arc::make_mut(&mut value) += 1;
            Arc::try_unwrap(value).expect("the only handle")
        };
        let other = thread::spawn(private);
        private() + other.join().expect("no panic")
    });
    assert_eq!(executions, 1);
}

/// Whether it was there before it was made, and a handle to itself.
struct Cyclic(bool, Weak<Cyclic>);

/// What can be asked of handles, by one task.
fn all_by_one() -> Vec<usize> {
    let mut one = Arc::new(1);
    let two = Arc::clone(&one);
    let weak = Arc::downgrade(&one);
    let mut seen = vec![Arc::strong_count(&one), Arc::weak_count(&one), weak.strong_count()];
    seen.push(usize::from(Arc::get_mut(&mut one).is_some()));
    *Arc::make_mut(&mut one) += 1;
    seen.extend([*one, *two, usize::from(Arc::ptr_eq(&one, &two))]);
    let mut two = two;
    *Arc::make_mut(&mut two) += 5;
    // Its value has moved away from the weak handle.
    seen.extend([*two, usize::from(weak.upgrade().is_some()), weak.weak_count()]);
    seen.push(Arc::unwrap_or_clone(two));
    let text: Arc<str> = Arc::from("four");
    let list: Arc<[u8]> = vec![1, 2].into();
    let three: Box<dyn Fn() -> usize + Send + Sync> = Box::new(|| 3);
    let dynamic: Arc<dyn Fn() -> usize + Send + Sync> = Arc::from(three);
    seen.extend([text.len(), list.len(), (*dynamic)()]);
    seen.push(usize::from(Weak::<u8>::new().upgrade().is_some()));
    let cyclic = Arc::new_cyclic(|weak| Cyclic(weak.upgrade().is_some(), weak.clone()));
    seen.extend([usize::from(cyclic.0), Arc::weak_count(&cyclic), Arc::strong_count(&cyclic)]);
    seen.push(cyclic.1.upgrade().map_or(0, |same| usize::from(Arc::ptr_eq(&same, &cyclic))));
    seen
}

#[test]
fn inside_and_outside_an_execution_handles_do_as_in_std() {
    let expected = vec![2, 1, 2, 0, 2, 1, 0, 6, 0, 0, 6, 4, 2, 3, 0, 0, 1, 1, 1];
    assert_eq!(all_by_one(), expected);
    assert_eq!(outcomes(all_by_one), (BTreeSet::from([expected]), 1));
}

#[test]
fn outside_an_execution_threads_share_handles() {
    let first = Arc::new(AtomicUsize::new(0));
    let weak = Arc::downgrade(&first);
    let others: Vec<_> = (0..3)
        .map(|_| {
            let weak = weak.clone();
            thread::spawn(move || {
                for _ in 0..200 {
                    let strong = weak.upgrade().expect("main keeps one");
                    Arc::clone(&strong).fetch_add(1, SeqCst);
                }
            })
        })
        .collect();
    for other in others {
        other.join().expect("no panic");
    }
    assert_eq!((Arc::strong_count(&first), Arc::weak_count(&first)), (1, 1));
    assert_eq!(Arc::try_unwrap(first).expect("the only one").load(SeqCst), 600);
    assert!(weak.upgrade().is_none());
}
