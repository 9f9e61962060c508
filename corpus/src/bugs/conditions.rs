//! Notifications that no thread hears, or the wrong one.

use raddle::sync::atomic::{AtomicBool, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex};
use raddle::thread;

use crate::program::{Expected, Group, Program, parameter};

/// `bounded-buffer`.
///
/// Consumers wait; the producer wakes one and waits for room; that one takes, and wakes another
/// consumer. Everybody stops where they cannot go on.
pub const BOUNDED_BUFFER: Program =
    Program::new("bounded-buffer", Group::Bugs, "a slot, one producer, n consumers, notify_one")
        .source("Lea, Concurrent Programming in Java, 1999, §3.4")
        .one(bounded_buffer, &[parameter("n", 2, 1, 4)])
        .fails(Expected::Deadlock, |_| 0);

/// One condition for "there is one" and "there is room", and notifications for only one of those
/// who wait, who may wait for the other thing.
pub fn bounded_buffer(n: usize) {
    let (full, changed) = (Mutex::new(false), Condvar::new());
    thread::scope(|scope| {
        for _ in 0..n {
            scope.spawn(|| {
                let full = full.lock().unwrap();
                *changed.wait_while(full, |full| !*full).unwrap() = false;
                changed.notify_one();
            });
        }
        scope.spawn(|| {
            for _ in 0..n {
                let full = full.lock().unwrap();
                *changed.wait_while(full, |full| *full).unwrap() = true;
                changed.notify_one();
            }
        });
    });
}

/// `bounded-buffer-fixed`.
pub const BOUNDED_BUFFER_FIXED: Program =
    Program::new("bounded-buffer-fixed", Group::Bugs, "a slot, two conditions, notify_one")
        .source("Lea, Concurrent Programming in Java, 1999, §3.4")
        .one(bounded_buffer_fixed, &[parameter("n", 2, 1, 4)]);

/// [`bounded_buffer`] with a condition for each.
pub fn bounded_buffer_fixed(n: usize) {
    let (full, filled, emptied) = (Mutex::new(false), Condvar::new(), Condvar::new());
    thread::scope(|scope| {
        for _ in 0..n {
            scope.spawn(|| {
                let full = full.lock().unwrap();
                *filled.wait_while(full, |full| !*full).unwrap() = false;
                emptied.notify_one();
            });
        }
        scope.spawn(|| {
            for _ in 0..n {
                let full = full.lock().unwrap();
                *emptied.wait_while(full, |full| *full).unwrap() = true;
                filled.notify_one();
            }
        });
    });
}

/// `missed-wakeup`.
pub const MISSED_WAKEUP: Program =
    Program::new("missed-wakeup", Group::Bugs, "one looks, then waits; one sets and notifies")
        .plain(missed_wakeup)
        .fails(Expected::Deadlock, |_| 1);

/// The flag is not under the lock of the condition, so the notification may come between looking
/// at it and waiting.
pub fn missed_wakeup() {
    let (flag, lock, changed) = (AtomicBool::new(false), Mutex::new(()), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            if !flag.load(SeqCst) {
                let held = lock.lock().unwrap();
                drop(changed.wait(held).unwrap());
            }
        });
        scope.spawn(|| {
            flag.store(true, SeqCst);
            changed.notify_one();
        });
    });
}

/// `missed-wakeup-fixed`.
pub const MISSED_WAKEUP_FIXED: Program =
    Program::new("missed-wakeup-fixed", Group::Bugs, "one looks and waits under the lock")
        .plain(missed_wakeup_fixed);

/// [`missed_wakeup`] with the flag under the lock.
pub fn missed_wakeup_fixed() {
    let (flag, changed) = (Mutex::new(false), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            let flag = flag.lock().unwrap();
            drop(changed.wait_while(flag, |flag| !*flag).unwrap());
        });
        scope.spawn(|| {
            *flag.lock().unwrap() = true;
            changed.notify_one();
        });
    });
}
