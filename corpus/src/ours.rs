//! What we got wrong: programs that showed a bug of raddle.

#![expect(clippy::unwrap_used, reason = "programs are as their users write them")]
#![expect(clippy::missing_panics_doc, reason = "to panic is what programs do")]

pub mod spin;

use std::sync::atomic::AtomicUsize as Uncontrolled;

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use crate::counts::arithmetic::interleavings;
use crate::program::{Expected, Group, Program, parameter};

/// `hammer`.
///
/// Sections exclude each other, so they come one after the other in any order: (t·n)! / (n!)^t.
pub const HAMMER: Program =
    Program::new("hammer", Group::Ours, "t threads with n short sections each under one lock")
        .source("a model that let go before the value did: outside an execution others got in")
        .two(hammer, &[parameter("t", 2, 1, 64), parameter("n", 3, 1, 100_000)])
        .interleavings(|n| interleavings(n[0], n[1]))
        .traces(|n| interleavings(n[0], n[1]));

/// t × n sections that increment.
pub fn hammer(t: usize, n: usize) {
    let count = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..t {
            scope.spawn(|| (0..n).for_each(|_| *count.lock().unwrap() += 1));
        }
    });
    assert_eq!(*count.lock().unwrap(), t * n);
}

/// `deadlock-held-in-drop`.
pub const DEADLOCK_HELD_IN_DROP: Program = Program::new(
    "deadlock-held-in-drop",
    Group::Ours,
    "a deadlock with destructors that lock what others hold",
)
.source("a task that is left behind while it unwinds leaves its OS thread panicking")
.plain(deadlock_held_in_drop)
.fails(Expected::Deadlock, |_| 1);

struct Logs<'a>(&'a Mutex<usize>);

impl Drop for Logs<'_> {
    fn drop(&mut self) {
        // Panics if the lock is poisoned, as it would be by a thread that was unwound with it.
        *self.0.lock().unwrap() += 1;
    }
}

/// Two locks in opposite orders, by threads whose destructors use a lock that one of them holds.
pub fn deadlock_held_in_drop() {
    let (a, b) = (Mutex::new(0), Mutex::new(0));
    thread::scope(|scope| {
        for (first, second) in [(&a, &b), (&b, &a)] {
            scope.spawn(|| {
                let _logs = Logs(second);
                let _first = first.lock().unwrap();
                let _second = second.lock().unwrap();
            });
        }
    });
}

/// State that outlives an execution, so that the next one does something else. Not in the
/// registry: no verdict is right for it.
///
/// Two executions that share their decisions differ at first only in what a thread *would* do. That
/// was once not looked at.
pub fn leak(executions: &Uncontrolled) {
    let even = executions.fetch_add(1, SeqCst).is_multiple_of(2);
    let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            if even {
                x.load(SeqCst);
            } else {
                y.load(SeqCst);
            }
        });
        x.store(1, SeqCst);
        x.store(2, SeqCst);
    });
}
