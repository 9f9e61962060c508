//! What we got wrong: programs that showed a bug of raddle.

#![expect(clippy::unwrap_used, reason = "programs are as their users write them")]
#![expect(clippy::missing_panics_doc, reason = "to panic is what programs do")]

pub mod open;

use std::sync::atomic::AtomicUsize as Uncontrolled;

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use crate::counts::arithmetic::interleavings;
use crate::program::{Group, Program, parameter};

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
