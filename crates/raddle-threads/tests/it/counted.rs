//! `counted::Arc` and `counted::Weak` in programs.

#![expect(unsafe_code, reason = "handles are made of raw pointers")]

use std::borrow::{Borrow, Cow};
use std::collections::BTreeSet;
use std::error::Error;
use std::ffi::{CStr, OsStr, OsString};
use std::fmt::{Debug, Display, Pointer};
use std::fs::File;
use std::hash::Hash;
use std::io::{Read, Seek, Write};
use std::mem::ManuallyDrop;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::path::{Path, PathBuf};
use std::pin::Pin;

use raddle_engine::{Ended, Setup, Stop, explore};
use raddle_threads::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle_threads::sync::counted::{self, Arc, LeakCheck, Weak};
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

/// How many executions `dpor` needs, of a program that does not fail.
#[track_caller]
fn reduced(program: &dyn Fn()) -> u64 {
    let mut strategy = raddle_search::build("dpor", 0).expect("dpor is known").strategy;
    let setup = Setup::default();
    let explored = explore(&mut *strategy, &setup, &mut |_| Stop::No, &mut |_| {}, program)
        .expect("a search can run here");
    assert_eq!(explored.ended, Ended::Covered);
    explored.counts.executions
}

#[test]
fn clones_depend_on_nothing_but_looks() {
    let program = |look: bool| {
        move || {
            let ours = Arc::new(()).named("shared");
            let others: Vec<_> = (0..2)
                .map(|_| {
                    let theirs = Arc::clone(&ours);
                    thread::spawn(move || drop(Arc::clone(&theirs)))
                })
                .collect();
            if look {
                let _ = Arc::strong_count(&ours);
            }
            drop(ours);
            for other in others {
                other.join().expect("no panic");
            }
        }
    };
    // Drops alone: two of each thread, in order, and one of main: 5! / (2! * 2!). If clones depended on all,
    // main's second one would come after k of the first thread's 3 steps, and before the second's 3 and its own drop:
    // the sum over k of (7 - k)! / ((3 - k)! * 3!) = 140 + 60 + 20 + 4 = 224.
    assert_eq!(reduced(&program(false)), 30);
    // A look sees all of them.
    let (looked, plain) = (reduced(&program(true)), reduced(&program(false)));
    assert!(looked > plain, "{looked} {plain}");
}

#[test]
fn upgrades_that_succeed_depend_on_drops_and_not_on_each_other() {
    let executions = reduced(&|| {
        let strong = Arc::new(()).named("shared");
        let others: Vec<_> = (0..2)
            .map(|_| {
                let weak = Arc::downgrade(&strong);
                thread::spawn(move || assert!(weak.upgrade().is_some()))
            })
            .collect();
        for other in others {
            other.join().expect("no panic");
        }
    });
    // Each thread upgrades (u) and drops (d). Of the 6 orders of u d and u d, those that begin u u come in pairs.
    assert_eq!(executions, 4);
}

/// A handle that is a mere pointer for a while, as if it went through C.
fn through_a_pointer<T>(handle: Arc<T>) -> Arc<T> {
    let pointer = Arc::into_raw(handle);
    // SAFETY: it comes from `into_raw`, and the handles that are added are dropped.
    unsafe {
        Arc::increment_strong_count(pointer);
        Arc::decrement_strong_count(pointer);
        Arc::from_raw(pointer)
    }
}

#[test]
fn a_handle_survives_a_raw_pointer() {
    let all = || {
        let handle = through_a_pointer(Arc::new(7));
        let pointer = Arc::as_ptr(&handle);
        // SAFETY: `handle` keeps the value, and this one is not dropped.
        let borrowed = ManuallyDrop::new(unsafe { Arc::from_raw(pointer) });
        let clone = Arc::clone(&borrowed);
        let weak = Arc::downgrade(&handle).into_raw();
        // SAFETY: it comes from `into_raw`.
        let weak = unsafe { Weak::from_raw(weak) };
        let seen = [*clone, Arc::strong_count(&handle), Arc::weak_count(&handle)];
        drop((handle, clone));
        let nothing = Weak::<u8>::new().into_raw();
        // SAFETY: it comes from `into_raw`.
        let nothing = unsafe { Weak::from_raw(nothing) };
        (seen, weak.upgrade().is_none(), nothing.upgrade().is_none())
    };
    let expected = ([7, 2, 1], true, true);
    assert_eq!(all(), expected);
    assert_eq!(outcomes(all), (BTreeSet::from([expected]), 1));
    // Of an unsized value too.
    let text = through_a_pointer(Arc::new("text")).len();
    assert_eq!(text, 4);
    let boxed: Arc<str> = Arc::from("boxed");
    // SAFETY: it comes from `into_raw`.
    assert_eq!(&*unsafe { Arc::from_raw(Arc::into_raw(boxed)) }, "boxed");
}

#[test]
fn who_drops_last_is_open_with_pointers_too() {
    let (found, executions) = outcomes(|| {
        let ours = Arc::new(());
        let theirs = Arc::into_raw(Arc::clone(&ours)) as usize;
        let other = thread::spawn(move || {
            // SAFETY: it comes from `into_raw`, and is used once.
            let theirs = unsafe { Arc::from_raw(theirs as *const ()) };
            Arc::into_inner(theirs).is_some()
        });
        (Arc::into_inner(ours).is_some(), other.join().expect("no panic"))
    });
    assert_eq!(found, BTreeSet::from([(false, true), (true, false)]));
    assert_eq!(executions, 2);
}

#[test]
#[should_panic(expected = "take it by into_raw or as_ptr")]
fn a_pointer_that_was_not_taken_of_a_handle_is_refused() {
    let plain = std::sync::Arc::new(1);
    // SAFETY: refused before anything is done with it.
    drop(unsafe { Arc::from_raw(std::sync::Arc::as_ptr(&plain)) });
}

#[test]
fn a_handle_becomes_one_of_an_unsized_type_when_it_is_told_to() {
    type Any = dyn std::any::Any + Send + Sync;
    let all = || {
        let number = Arc::new(5);
        let shown = counted::unsize(number.clone(), |arc| arc as std::sync::Arc<dyn ToString>);
        let slice: Arc<[i32]> = counted::from_std(std::sync::Arc::new([1, 2, 3]));
        let any = counted::unsize(number.clone(), |arc| arc as std::sync::Arc<Any>);
        let any = any.downcast::<String>().expect_err("it is a number");
        let back = any.downcast::<i32>().expect("it is a number");
        assert_eq!((shown.to_string().as_str(), slice.len(), *back), ("5", 3, 5));
        assert_eq!(*Arc::pin(6), 6);
        assert_eq!(&*Arc::<str>::from(Cow::Borrowed("seven")), "seven");
        assert_eq!(*(1..3).collect::<Arc<[i32]>>(), [1, 2]);
        assert_eq!(*Arc::<[i32]>::from([8]), *Arc::<[i32]>::from(&[8][..]));
        Arc::strong_count(&number)
    };
    assert_eq!(all(), 3);
    assert_eq!(outcomes(all), (BTreeSet::from([3]), 1));
}

#[test]
#[should_panic(expected = "that is the only one")]
fn a_shared_handle_of_std_is_not_taken_over() {
    let arc = std::sync::Arc::new(1);
    let _other = std::sync::Arc::clone(&arc);
    drop(counted::from_std(arc));
}

#[test]
fn a_value_that_is_never_dropped_is_a_leak() {
    struct Ring(std::sync::Mutex<Option<Arc<Ring>>>);
    let leak = |closed: bool| {
        move || {
            let check = LeakCheck::new();
            let ring = Arc::new(Ring(std::sync::Mutex::default()));
            if closed {
                *ring.0.lock().expect("not poisoned") = Some(Arc::clone(&ring));
            }
            let theirs = Arc::clone(&ring);
            thread::spawn(move || drop(theirs)).join().expect("no panic");
            // What only weak handles are left of is no leak.
            let _weak = Arc::downgrade(&ring);
            drop(ring);
            check.finish();
        }
    };
    let message = panic_message(&leak(true));
    assert!(message.contains("1 leaked: the value of an Arc made at"), "{message}");
    assert!(message.contains("counted.rs"), "{message}");
    reduced(&leak(false));
}

fn is_handle<T>()
where
    T: Clone + Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + Debug,
{
}

fn is_value<T>()
where
    T: Ord + Hash + Default + Display + Pointer + AsRef<u32> + Borrow<u32> + From<u32>,
{
}

fn is_file<T: Read + Write + Seek>() {}

fn is_error<T: Error>() {}

#[cfg(unix)]
fn has_descriptor<T: std::os::fd::AsFd + std::os::fd::AsRawFd>() {}

/// Everything that is stable of std's, once for its own types and once for these.
macro_rules! api {
    ($name:ident, $($types:tt)*) => {
        fn $name() {
            use $($types)*::{Arc, Weak};
            // What std can do with functions, raw pointers and counts.
            let mut a: Arc<u32> = Arc::new(1);
            let _: Pin<Arc<u32>> = Arc::pin(1);
            let _: Arc<u32> = Arc::new_cyclic(|weak: &Weak<u32>| weak.strong_count() as u32);
            let raw: *const u32 = Arc::into_raw(Arc::clone(&a));
            // SAFETY: a pointer of `into_raw`, whose handle is taken back last.
            unsafe {
                Arc::increment_strong_count(raw);
                Arc::decrement_strong_count(raw);
                drop(Arc::from_raw(raw));
            }
            let weak: Weak<u32> = Arc::downgrade(&a);
            // SAFETY: as above.
            let weak = unsafe { Weak::from_raw(weak.into_raw()) };
            assert!(std::ptr::eq(weak.as_ptr(), Arc::as_ptr(&a)) && weak.ptr_eq(&weak.clone()));
            assert_eq!((Arc::strong_count(&a), Arc::weak_count(&a)), (1, 1));
            assert_eq!((weak.strong_count(), weak.weak_count(), Weak::<u8>::new().upgrade()), (1, 1, None));
            // Weak handles lose the value.
            *Arc::make_mut(&mut a) += 1;
            assert_eq!((weak.upgrade(), Arc::get_mut(&mut a).copied()), (None, Some(2)));
            let shared = Arc::clone(&a);
            *Arc::make_mut(&mut a) += 1;
            assert_eq!((*shared, *a, Arc::ptr_eq(&a, &shared)), (2, 3, false));
            assert_eq!((Arc::try_unwrap(a), Arc::into_inner(shared)), (Ok(3), Some(2)));
            assert_eq!(Arc::unwrap_or_clone(Arc::new(3)), 3);
            // Values that are written later.
            let (mut uninit, zeroed) = (Arc::<u32>::new_uninit(), Arc::<u32>::new_zeroed());
            Arc::get_mut(&mut uninit).expect("the only handle").write(5);
            let (mut slice, zeros) = (Arc::<[u32]>::new_uninit_slice(1), Arc::<[u32]>::new_zeroed_slice(1));
            Arc::get_mut(&mut slice).expect("the only handle")[0].write(5);
            // SAFETY: written above, or numbers, which may be zeros.
            unsafe {
                assert_eq!((*uninit.assume_init(), *zeroed.assume_init()), (5, 0));
                assert_eq!((&*slice.assume_init(), &*zeros.assume_init()), (&[5][..], &[0][..]));
            }
            // Values without a size.
            let mut numbers: Arc<[u32]> = Arc::from(vec![1, 2]);
            let other = Arc::clone(&numbers);
            Arc::make_mut(&mut numbers)[0] = 3;
            let weak = Arc::downgrade(&numbers);
            Arc::make_mut(&mut numbers)[1] = 4;
            assert_eq!((&*numbers, &*other, weak.upgrade()), (&[3, 4][..], &[1, 2][..], None));
            let mut text: Arc<str> = Arc::from("a");
            Arc::make_mut(&mut text).make_ascii_uppercase();
            assert_eq!((&*text, &*Arc::<[u8]>::from(Arc::clone(&text))), ("A", &b"A"[..]));
            assert_eq!(Arc::<[u32; 2]>::try_from(other).as_deref(), Ok(&[1, 2]));
            assert!(Arc::<[u32; 3]>::try_from(numbers).is_err());
            let mut string = String::from("b");
            let strings: [Arc<str>; 4] = [
                string.as_mut_str().into(),
                Box::<str>::from("b").into(),
                Cow::Borrowed("b").into(),
                string.into(),
            ];
            assert!(strings.iter().all(|string| **string == *"b"));
            let slices: [Arc<[u8]>; 5] = [
                [1].into(),
                [1][..].into(),
                (&mut [1][..]).into(),
                Box::<[u8]>::from([1]).into(),
                [1].into_iter().collect(),
            ];
            assert!(slices.iter().all(|slice| **slice == [1]));
            let _: [Arc<CStr>; 3] = [c"c".into(), c"c".to_owned().into(), c"c".to_owned().into_boxed_c_str().into()];
            let _: [Arc<OsStr>; 2] = [OsStr::new("o").into(), OsString::from("o").into()];
            let _: [Arc<Path>; 2] = [Path::new("p").into(), PathBuf::from("p").into()];
            assert_eq!((&*Arc::<str>::default(), Arc::<[u8]>::default().len()), ("", 0));
            assert!(Arc::<CStr>::default().is_empty());
            // Traits.
            is_handle::<Arc<u32>>();
            is_handle::<Weak<u32>>();
            is_value::<Arc<u32>>();
            is_file::<Arc<File>>();
            is_error::<Arc<std::fmt::Error>>();
            #[cfg(unix)]
            has_descriptor::<Arc<File>>();
        }
    };
}
api!(of_std, std::sync);
api!(of_counted, raddle_threads::sync::counted);

#[test]
fn handles_have_all_that_those_of_std_have() {
    of_std();
    of_counted();
    assert_eq!(outcomes(of_counted), (BTreeSet::from([()]), 1));
}
