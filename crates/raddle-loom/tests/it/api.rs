//! What loom's users write compiles and does what it does under loom.

use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::atomic::AtomicUsize as StdAtomic;
use std::task::Poll;

use raddle_loom::cell::UnsafeCell;
use raddle_loom::future::{AtomicWaker, block_on};
use raddle_loom::model::Builder;
use raddle_loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use raddle_loom::sync::{Arc, Notify};
use raddle_loom::{lazy_static, model, thread, thread_local};

use crate::report_of;

#[test]
fn what_is_not_send_crosses_to_a_thread_and_back() {
    model(|| {
        let shared = Rc::new(Cell::new(1));
        let theirs = Rc::clone(&shared);
        let thread = thread::spawn(move || {
            theirs.set(2);
            theirs
        });
        let back = thread.join().expect("it does not panic");
        assert_eq!(back.get(), 2);
        let named = thread::Builder::new().name("worker".to_owned());
        let named = named.spawn(move || thread::current().name().map(str::to_owned));
        let name = named.expect("it can be started").join().expect("it does not panic");
        assert_eq!(name.as_deref(), Some("worker"));
    });
}

#[test]
fn atomics_have_the_methods_of_loom() {
    model(|| {
        let mut n = AtomicUsize::new(1);
        n.with_mut(|n| *n += 1);
        assert_eq!(n.compare_and_swap(2, 3, Ordering::AcqRel), 2);
        assert_eq!(n.fetch_add(1, Ordering::Relaxed), 3);
        assert_eq!(n.into_inner(), 4);
        let mut pointer = AtomicPtr::<u8>::default();
        assert!(pointer.with_mut(|pointer| pointer.is_null()));
    });
}

#[test]
fn a_future_is_polled_when_it_was_woken() {
    model(|| {
        let shared = Arc::new((AtomicWaker::new(), AtomicBool::new(false)));
        let theirs = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            theirs.1.store(true, Ordering::Release);
            theirs.0.wake();
        });
        block_on(poll_fn(|context| {
            shared.0.register_by_ref(context.waker());
            if shared.1.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
        }));
        thread.join().expect("it does not panic");
    });
}

lazy_static! {
    static ref COUNT: AtomicUsize = AtomicUsize::new(0);
}

thread_local! {
    static OWN: Cell<u32> = Cell::new(0);
}

#[test]
fn statics_begin_anew_in_each_execution_and_locals_in_each_thread() {
    model(|| {
        let thread = thread::spawn(|| {
            COUNT.fetch_add(1, Ordering::Relaxed);
            OWN.with(|own| own.replace(7))
        });
        assert_eq!(OWN.with(Cell::get), 0);
        assert_eq!(thread.join().expect("it does not panic"), 0);
        assert_eq!(COUNT.fetch_add(1, Ordering::Relaxed), 1);
    });
}

#[test]
fn a_wait_without_a_notification_is_a_deadlock() {
    let report = report_of(|| Notify::new().wait());
    assert!(report.contains("deadlock"), "{report}");
}

#[test]
fn a_wait_may_end_once_without_a_notification() {
    static WAITS: [StdAtomic; 2] = [StdAtomic::new(0), StdAtomic::new(0)];
    model(|| {
        let (notify, notified) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
        let (their_notify, theirs) = (Arc::clone(&notify), Arc::clone(&notified));
        let thread = thread::spawn(move || {
            theirs.store(true, Ordering::Release);
            their_notify.notify();
        });
        notify.wait();
        let early = !notified.load(Ordering::Acquire);
        WAITS[usize::from(early)].fetch_add(1, Ordering::Relaxed);
        if early {
            notify.wait();
            assert!(notified.load(Ordering::Acquire), "only once");
        }
        thread.join().expect("it does not panic");
    });
    assert!(WAITS.iter().all(|n| n.load(Ordering::Relaxed) > 0), "{WAITS:?}");
}

#[test]
fn only_one_thread_waits_for_a_notify() {
    let report = report_of(|| {
        let notify = Arc::new(Notify::new());
        let theirs = Arc::clone(&notify);
        let thread = thread::spawn(move || theirs.wait());
        notify.wait();
        thread.join().expect("it does not panic");
    });
    assert!(report.contains("only one thread may wait for a Notify"), "{report}");
}

#[test]
fn a_future_may_be_polled_once_without_having_been_woken() {
    let report = report_of(|| {
        let shared = Arc::new((AtomicWaker::new(), AtomicBool::new(false)));
        let theirs = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            theirs.1.store(true, Ordering::Release);
            theirs.0.wake();
        });
        let mut polls = 0;
        block_on(poll_fn(|context| {
            polls += 1;
            shared.0.register_by_ref(context.waker());
            let ready = shared.1.load(Ordering::Acquire);
            assert!(ready || polls < 2, "a poll is not a wake-up");
            if ready { Poll::Ready(()) } else { Poll::Pending }
        }));
        thread.join().expect("it does not panic");
    });
    assert!(report.contains("a poll is not a wake-up"), "{report}");
}

#[test]
fn a_bound_of_a_builder_is_that_of_the_search() {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(0);
    let lost = || {
        let n = Arc::new(AtomicUsize::new(0));
        let theirs = Arc::clone(&n);
        let add = |n: &AtomicUsize| n.store(n.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        let thread = thread::spawn(move || add(&theirs));
        add(&n);
        thread.join().expect("it does not panic");
        assert_eq!(n.load(Ordering::Relaxed), 2);
    };
    builder.check(lost);
    builder.preemption_bound = Some(1);
    std::panic::catch_unwind(move || builder.check(lost)).expect_err("one preemption loses one");
}

struct Owned(UnsafeCell<u32>);

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.with_mut(|_| ());
    }
}

#[test]
fn the_last_owner_of_an_arc_is_after_the_others() {
    model(|| {
        let ours = Arc::new(Owned(UnsafeCell::new(0)));
        let theirs = Arc::clone(&ours);
        let thread = thread::spawn(move || {
            theirs.0.with(|_| ());
            drop(theirs);
        });
        ours.0.with(|_| ());
        drop(ours);
        thread.join().expect("it does not panic");
    });
}
