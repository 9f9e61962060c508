// Tests as users of loom write them. Included where `loom` is the crate, and where it is
// `raddle::migrate::loom`.

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::sync::{Arc, Condvar, Mutex, Notify, RwLock, mpsc};
use loom::thread;

#[test]
fn two_increments_make_two() {
    loom::model(|| {
        let n = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let n = Arc::clone(&n);
                thread::spawn(move || n.fetch_add(1, Ordering::Relaxed))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(n.load(Ordering::Relaxed), 2);
    });
}

#[test]
#[should_panic(expected = "an update was lost")]
fn an_increment_in_two_steps_is_lost() {
    loom::model(|| {
        let n = Arc::new(AtomicUsize::new(0));
        let theirs = Arc::clone(&n);
        let thread = thread::spawn(move || {
            let seen = theirs.load(Ordering::SeqCst);
            theirs.store(seen + 1, Ordering::SeqCst);
        });
        let seen = n.load(Ordering::SeqCst);
        n.store(seen + 1, Ordering::SeqCst);
        thread.join().unwrap();
        assert_eq!(n.load(Ordering::SeqCst), 2, "an update was lost");
    });
}

struct Slot {
    full: AtomicBool,
    value: UnsafeCell<u32>,
}

// SAFETY: the value is written before the flag is up, and read after.
unsafe impl Sync for Slot {}

#[test]
fn a_value_is_published_by_a_flag() {
    loom::model(|| {
        let slot = Arc::new(Slot { full: AtomicBool::new(false), value: UnsafeCell::new(0) });
        let theirs = Arc::clone(&slot);
        let writer = thread::spawn(move || {
            // SAFETY: no thread reads before the flag is up.
            theirs.value.with_mut(|value| unsafe { *value = 7 });
            theirs.full.store(true, Ordering::Release);
        });
        if slot.full.load(Ordering::Acquire) {
            // SAFETY: no thread writes any more.
            assert_eq!(slot.value.with(|value| unsafe { *value }), 7);
        }
        writer.join().unwrap();
    });
}

#[test]
fn a_waiter_hears_of_what_it_waits_for() {
    loom::model(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = Arc::clone(&pair);
        let thread = thread::spawn(move || {
            *theirs.0.lock().unwrap() = true;
            theirs.1.notify_one();
        });
        let mut ready = pair.0.lock().unwrap();
        while !*ready {
            ready = pair.1.wait(ready).unwrap();
        }
        drop(ready);
        thread.join().unwrap();
    });
}

#[test]
fn a_notification_is_kept_and_a_message_comes() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        let theirs = Arc::clone(&notify);
        let (send, receive) = mpsc::channel();
        let thread = thread::spawn(move || {
            send.send(3).unwrap();
            theirs.notify();
        });
        notify.wait();
        assert_eq!(receive.recv().unwrap(), 3);
        thread.join().unwrap();
    });
}

#[test]
fn readers_see_all_or_nothing_within_a_bound() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let pair = Arc::new(RwLock::new((0, 0)));
        let theirs = Arc::clone(&pair);
        let writer = thread::spawn(move || *theirs.write().unwrap() = (1, 1));
        let (a, b) = *pair.read().unwrap();
        assert_eq!(a, b);
        writer.join().unwrap();
    });
}
