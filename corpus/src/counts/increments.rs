//! Counters that many increment.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use super::arithmetic::{factorial, interleavings};
use crate::program::{Group, Program, parameter};

const NIDHUGG: &str = "GenMC and Nidhugg, regression suites";

/// `inc`.
///
/// Traces: the loads between two stores commute; as published (n!)². Interleavings: (2n)! / 2^n.
pub const INC: Program = Program::new("inc", Group::Counts, "n read x, then write it")
    .source(NIDHUGG)
    .one(inc, &[parameter("n", 3, 1, 6)])
    .interleavings(|n| interleavings(n[0], 2))
    .traces(|n| factorial(n[0])?.checked_pow(2));

/// n × (R x; W x).
pub fn inc(n: usize) {
    let x = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..n {
            scope.spawn(|| x.store(x.load(SeqCst) + 1, SeqCst));
        }
    });
}

/// n threads that increment one counter after the other.
fn all_inc(n: usize, counters: usize) {
    let counters: Vec<_> = (0..counters).map(|_| AtomicUsize::new(0)).collect();
    thread::scope(|scope| {
        for _ in 0..n {
            scope.spawn(|| {
                for counter in &counters {
                    counter.fetch_add(1, SeqCst);
                }
            });
        }
    });
    assert!(counters.iter().all(|counter| counter.load(SeqCst) == n));
}

/// `ainc`.
///
/// One counter: every order of the n increments. Two and three: an order for each of them, and all
/// combinations can be had. Interleavings: (k·n)! / (k!)^n.
pub const AINC: Program = Program::new("ainc", Group::Counts, "n increment x in one step")
    .source(NIDHUGG)
    .one(ainc, &[parameter("n", 4, 1, 12)])
    .interleavings(|n| factorial(n[0]))
    .traces(|n| factorial(n[0]));

/// n × FAA x.
pub fn ainc(n: usize) {
    all_inc(n, 1);
}

/// `binc`: see [`AINC`].
pub const BINC: Program = Program::new("binc", Group::Counts, "n increment x, then y")
    .source(NIDHUGG)
    .one(binc, &[parameter("n", 3, 1, 8)])
    .interleavings(|n| interleavings(n[0], 2))
    .traces(|n| factorial(n[0])?.checked_pow(2));

/// n × (FAA x; FAA y).
pub fn binc(n: usize) {
    all_inc(n, 2);
}

/// `cinc`: see [`AINC`].
pub const CINC: Program = Program::new("cinc", Group::Counts, "n increment x, then y, then z")
    .source(NIDHUGG)
    .one(cinc, &[parameter("n", 3, 1, 6)])
    .interleavings(|n| interleavings(n[0], 3))
    .traces(|n| factorial(n[0])?.checked_pow(3));

/// n × (FAA x; FAA y; FAA z).
pub fn cinc(n: usize) {
    all_inc(n, 3);
}

/// `wcas`.
///
/// Traces: of the k exchanges after the write the first succeeds and changes x, so the others,
/// which fail, come after it and commute, as do those before the write: 1 for k = 0, and k ways to
/// choose the first for each set of k: 1 + Σ k·C(n, k) = n·2^(n-1) + 1.
pub const WCAS: Program =
    Program::new("wcas", Group::Counts, "one writes 2 to x; n exchange 2 for 3")
        .source(NIDHUGG)
        .one(wcas, &[parameter("n", 4, 1, 12)])
        .interleavings(|n| factorial(n[0] + 1))
        .traces(|n| Some((n[0] as u64) * (1 << (n[0] - 1)) + 1));

/// W x = 2 ‖ n × CAS(x, 2 → 3).
pub fn wcas(n: usize) {
    let x = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| x.store(2, SeqCst));
        for _ in 0..n {
            scope.spawn(|| x.compare_exchange(2, 3, SeqCst, SeqCst));
        }
    });
}
