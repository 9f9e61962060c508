//! How executions end: panics that were caught, and deadlocks that are certain.

use raddle::sync::{Mutex, mpsc};
use raddle::thread;

use crate::program::{Expected, Group, Program};

/// `caught-panic`.
pub const CAUGHT_PANIC: Program =
    Program::new("caught-panic", Group::Peers, "a thread panics, and who joins it knows")
        .source("shuttle#193: the test fails even so")
        .plain(caught_panic);

/// A panic that `join` returns is no failure.
pub fn caught_panic() {
    let child = thread::spawn(|| panic!("as expected"));
    let payload = child.join().expect_err("it panicked");
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"as expected"));
}

/// `certain-deadlock`.
pub const CERTAIN_DEADLOCK: Program =
    Program::new("certain-deadlock", Group::Peers, "two wait for a message before they send one")
        .source("traceforge: it passes")
        .plain(certain_deadlock)
        .fails(Expected::Deadlock, |_| 0);

/// Each waits for the other, in every execution.
pub fn certain_deadlock() {
    let (to_one, one) = mpsc::channel();
    let (to_two, two) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            let _ = to_two.send(one.recv().unwrap());
        });
        scope.spawn(move || {
            let _ = to_one.send(two.recv().unwrap_or(0));
        });
    });
}

/// `deadlock-in-drop`.
pub const DEADLOCK_IN_DROP: Program =
    Program::new("deadlock-in-drop", Group::Peers, "a deadlock with destructors that lock")
        .source("loom: a double panic aborts the process")
        .plain(deadlock_in_drop)
        .fails(Expected::Deadlock, |_| 1);

struct Logs<'a>(&'a Mutex<usize>);

impl Drop for Logs<'_> {
    fn drop(&mut self) {
        // Panics if the lock is poisoned, as it would be by a thread that was unwound with it.
        *self.0.lock().unwrap() += 1;
    }
}

/// Two locks in opposite orders, by threads whose destructors use a third.
pub fn deadlock_in_drop() {
    let (a, b, log) = (Mutex::new(0), Mutex::new(0), Mutex::new(0));
    thread::scope(|scope| {
        for (first, second) in [(&a, &b), (&b, &a)] {
            scope.spawn(|| {
                let _logs = Logs(&log);
                let _first = first.lock().unwrap();
                let _second = second.lock().unwrap();
            });
        }
    });
}

/// `spin-with-yield`.
///
/// The spinner's steps before the write: none; load; load, yield; load, yield, load; and load,
/// yield, load, yield, after which it lets the writer go first: 5.
pub const SPIN_WITH_YIELD: Program =
    Program::new("spin-with-yield", Group::Peers, "one spins, with a yield, until another writes")
        .source("shuttle: DFS dies at a million steps; loom#162")
        .plain(spin_with_yield)
        .interleavings(|_| Some(5));

/// A loop that yields does not make the search infinite.
pub fn spin_with_yield() {
    use raddle::sync::atomic::{AtomicBool, Ordering::SeqCst};

    let ready = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ready.load(SeqCst) {
                thread::yield_now();
            }
        });
        scope.spawn(|| ready.store(true, SeqCst));
    });
}
