//! What is not given back is found, and nothing else is taken for it.
#![expect(unsafe_code, reason = "memory is allocated by hand")]

use std::cell::RefCell;
use std::mem::forget;

use raddle_loom::alloc::{Layout, Track, alloc, alloc_zeroed, dealloc};
use raddle_loom::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use raddle_loom::sync::{Arc, Mutex, mpsc};
use raddle_loom::{lazy_static, model, thread, thread_local};

use crate::report_of;

const LAYOUT: Layout = Layout::new::<u64>();

fn allocate() -> *mut u8 {
    // SAFETY: the size is not zero.
    unsafe { alloc(LAYOUT) }
}

fn free(pointer: *mut u8) {
    // SAFETY: the tests give back what `allocate` has returned.
    unsafe { dealloc(pointer, LAYOUT) }
}

#[test]
fn an_arc_that_is_forgotten_is_found_with_the_place_where_it_was_made() {
    let line = line!() + 1;
    let report = report_of(|| forget(Arc::new(1)));
    let expected = format!("Arc leaked: made at {}:{line}:", file!());
    assert!(report.contains(&expected), "{report}");
}

#[test]
fn a_ring_of_arcs_is_found() {
    struct Ring(Mutex<Option<Arc<Ring>>>);
    let ring = |closed: bool| {
        move || {
            let ring = Arc::new(Ring(Mutex::new(None)));
            if closed {
                *ring.0.lock().expect("not poisoned") = Some(Arc::clone(&ring));
            }
        }
    };
    model(ring(false));
    assert!(report_of(ring(true)).contains("Arc leaked"));
}

#[test]
fn a_raw_pointer_that_is_not_turned_back_is_found() {
    let raw = |back: bool| {
        move || {
            let pointer = Arc::into_raw(Arc::new(1));
            if back {
                // SAFETY: it comes from `into_raw`, and once.
                drop(unsafe { Arc::from_raw(pointer) });
            }
        }
    };
    model(raw(true));
    assert!(report_of(raw(false)).contains("Arc leaked"));
}

#[test]
fn memory_that_is_not_given_back_is_found() {
    model(|| free(allocate()));
    assert!(report_of(|| _ = allocate()).contains("Allocation leaked: made at"));
    let zeroed = || {
        // SAFETY: the size is not zero.
        _ = unsafe { alloc_zeroed(LAYOUT) };
    };
    assert!(report_of(zeroed).contains("Allocation leaked"));
    let all = report_of(|| (0..3).for_each(|_| _ = allocate()));
    assert!(all.contains("3 times"), "{all}");
}

#[test]
fn memory_that_loom_did_not_allocate_is_not_given_back_by_it() {
    let report = report_of(|| free(Box::into_raw(Box::new(0_u64)).cast()));
    assert!(report.contains("pointer not tracked"), "{report}");
}

#[test]
fn outside_of_a_model_memory_is_that_of_std() {
    free(allocate());
    forget(Track::new(1));
    forget(Arc::new(1));
}

#[test]
fn a_track_is_over_when_it_is_dropped_or_its_value_taken() {
    model(|| {
        drop(Track::new(1));
        let mut track = Track::new(1);
        *track.get_mut() += 1;
        assert_eq!((*track.get_ref(), track.into_inner()), (2, 2));
    });
    assert!(report_of(|| forget(Track::new(1))).contains("Allocation leaked: a Track made at"));
}

#[test]
fn a_message_that_is_never_received_is_found_unless_its_receiver_is_dropped() {
    model(|| {
        let (sender, receiver) = mpsc::channel();
        sender.send(1).expect("the receiver is there");
        sender.send(2).expect("the receiver is there");
        assert_eq!(receiver.recv(), Ok(1));
        drop(receiver);
        assert_eq!(sender.send(3), Err(mpsc::SendError(3)));
    });
    let forgotten = || {
        let (sender, receiver) = mpsc::channel();
        sender.send(1).expect("the receiver is there");
        forget(receiver);
    };
    assert!(report_of(forgotten).contains("Messages leaked: sent at"));
}

#[test]
fn what_a_thread_leaks_is_found_even_if_it_ends_after_the_body() {
    let spawned = |leaks: bool| {
        move || {
            let (flag, theirs) = two(AtomicBool::new(false));
            let track = Track::new(1);
            drop(thread::spawn(move || {
                theirs.store(true, Ordering::Release);
                if leaks {
                    forget(track);
                }
            }));
            flag.load(Ordering::Acquire);
        }
    };
    model(spawned(false));
    assert!(report_of(spawned(true)).contains("a Track made at"));
}

fn two<T>(value: T) -> (Arc<T>, Arc<T>) {
    let one = Arc::new(value);
    (Arc::clone(&one), one)
}

#[test]
fn a_leak_in_one_order_of_two_is_found() {
    // Both put memory into the place, and only one of them is taken out.
    let both = |swaps: bool| {
        move || {
            let (ours, theirs) = two(AtomicPtr::new(std::ptr::null_mut()));
            let put = move |place: &AtomicPtr<u8>| {
                let new = allocate();
                if swaps {
                    let old = place.swap(new, Ordering::AcqRel);
                    if !old.is_null() {
                        free(old);
                    }
                } else if place.load(Ordering::Acquire).is_null() {
                    place.store(new, Ordering::Release);
                } else {
                    free(new);
                }
            };
            let thread = thread::spawn(move || put(&theirs));
            put(&ours);
            thread.join().expect("it does not panic");
            free(ours.load(Ordering::Acquire));
        }
    };
    model(both(true));
    let report = report_of(both(false));
    assert!(report.contains("Allocation leaked"), "{report}");
}

lazy_static! {
    static ref SHARED: Arc<Track<u32>> = Arc::new(Track::new(1));
    static ref FIRST: UsesOther = UsesOther;
}

struct UsesOther;

impl Drop for UsesOther {
    fn drop(&mut self) {
        assert_eq!(*SHARED.get_ref(), 1);
    }
}

#[test]
fn statics_are_no_leaks() {
    model(|| {
        let thread = thread::spawn(|| *SHARED.get_ref());
        assert_eq!(*SHARED.get_ref(), 1);
        thread.join().expect("it does not panic");
        forget(thread::spawn(|| *SHARED.get_ref()));
    });
}

#[test]
fn a_static_is_not_used_by_the_destructor_of_another() {
    let report = report_of(|| _ = &*FIRST);
    assert!(report.contains("a lazy_static is used while the statics are dropped"), "{report}");
}

thread_local! {
    static OWN: RefCell<Option<Arc<Track<u32>>>> = RefCell::new(None);
}

#[test]
fn what_is_in_thread_locals_is_no_leak() {
    model(|| {
        let keep = || OWN.with(|own| own.replace(Some(Arc::new(Track::new(1)))));
        keep();
        let (ours, theirs) = two(AtomicBool::new(false));
        drop(thread::spawn(move || {
            theirs.store(true, Ordering::Relaxed);
            keep();
        }));
        ours.load(Ordering::Relaxed);
    });
}

#[test]
fn what_a_thread_returns_is_no_leak_if_it_is_not_joined() {
    model(|| {
        drop(thread::spawn(|| Arc::new(Track::new(1))));
        let (ours, theirs) = two(AtomicBool::new(false));
        let handle = thread::spawn(move || {
            theirs.store(true, Ordering::Relaxed);
            theirs
        });
        ours.load(Ordering::Relaxed);
        drop(handle);
    });
}

#[test]
fn an_execution_that_fails_has_its_own_failure_and_no_leak() {
    let report = report_of(|| {
        forget(Arc::new(1));
        panic!("on its own");
    });
    assert!(report.contains("on its own") && !report.contains("leaked"), "{report}");
    let report = report_of(|| {
        forget(Arc::new(1));
        drop(thread::spawn(|| panic!("on its own")));
    });
    assert!(report.contains("on its own") && !report.contains("leaked"), "{report}");
}

#[test]
fn a_panic_that_the_test_catches_hides_no_leak() {
    let report = report_of(|| {
        forget(Arc::new(1));
        assert!(std::panic::catch_unwind(|| panic!("it is caught")).is_err());
    });
    assert!(report.contains("Arc leaked"), "{report}");
}

#[test]
fn a_deadlock_of_a_thread_that_is_not_joined_is_one() {
    let report = report_of(|| {
        let lock = Arc::new(Mutex::new(()));
        forget(lock.lock().expect("not poisoned"));
        drop(thread::spawn(move || drop(lock.lock())));
    });
    assert!(report.contains("deadlock"), "{report}");
}
