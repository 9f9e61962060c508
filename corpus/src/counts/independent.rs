//! Threads that have nothing to do with each other: one trace, in as many interleavings as can be.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use super::arithmetic::{binomial, interleavings};
use crate::program::{Group, Program, parameter};

/// `independent`.
///
/// Interleavings: (t·k)! / (k!)^t.
pub const INDEPENDENT: Program =
    Program::new("independent", Group::Counts, "t threads, each with k steps on its own variable")
        .two(independent, &[parameter("t", 3, 1, 64), parameter("k", 2, 1, 1_000)])
        .interleavings(|n| interleavings(n[0], n[1]))
        .traces(|_| Some(1));

/// t threads of k steps, each on its own variable.
pub fn independent(t: usize, k: usize) {
    let own: Vec<_> = (0..t).map(|_| AtomicUsize::new(0)).collect();
    thread::scope(|scope| {
        for x in &own {
            scope.spawn(move || step(x, k));
        }
    });
}

/// `steps`.
///
/// Interleavings: the places of the first thread's steps among all, C(a + b, a).
pub const STEPS: Program =
    Program::new("steps", Group::Counts, "two threads, of a and of b independent steps")
        .two(steps, &[parameter("a", 4, 0, 1_000), parameter("b", 4, 0, 1_000)])
        .interleavings(|n| binomial(n[0] + n[1], n[0]))
        .traces(|_| Some(1));

/// Two threads of a and of b steps, each on its own variable.
pub fn steps(a: usize, b: usize) {
    let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| step(&x, a));
        scope.spawn(|| step(&y, b));
    });
}

fn step(x: &AtomicUsize, times: usize) {
    for i in 0..times {
        x.store(i, SeqCst);
    }
}
