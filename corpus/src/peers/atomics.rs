//! Loads and exchanges.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use crate::counts::arithmetic::factorial;
use crate::program::{Group, Program, parameter};

/// `loads`.
///
/// Reads commute: one trace, in n! interleavings.
pub const LOADS: Program = Program::new("loads", Group::Peers, "n read x")
    .source("traceforge: loads do not commute, so readers(n) has (n + 1)! executions")
    .one(loads, &[parameter("n", 4, 1, 12)])
    .interleavings(|n| factorial(n[0]))
    .traces(|_| Some(1));

/// n × R x.
pub fn loads(n: usize) {
    let x = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..n {
            scope.spawn(|| x.load(SeqCst));
        }
    });
}

/// `failed-exchange`.
pub const FAILED_EXCHANGE: Program =
    Program::new("failed-exchange", Group::Peers, "an exchange fails and returns what is there")
        .source("traceforge: it returns what was expected")
        .sees(failed_exchange, &[&[1], &[5]]);

/// x = 1; W x = 5 ‖ CAS(x, 2 → 3).
#[must_use]
pub fn failed_exchange() -> Vec<usize> {
    let x = AtomicUsize::new(1);
    thread::scope(|scope| {
        scope.spawn(|| x.store(5, SeqCst));
        let failed = scope.spawn(|| x.compare_exchange(2, 3, SeqCst, SeqCst));
        vec![failed.join().unwrap().unwrap_err()]
    })
}

/// `redundant-load`.
pub const REDUNDANT_LOAD: Program = Program::new(
    "redundant-load",
    Group::Peers,
    "one raises and lowers two flags, with a look between; one sees every pair",
)
.source("loom#166: the look hides a pair")
.sees(redundant_load, &[&[0, 0], &[0, 1], &[1, 0], &[1, 1]]);

/// W x; W y; W y; R x; W x ‖ R y; R x.
#[must_use]
pub fn redundant_load() -> Vec<usize> {
    let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            x.store(1, SeqCst);
            y.store(1, SeqCst);
            y.store(0, SeqCst);
            x.load(SeqCst);
            x.store(0, SeqCst);
        });
        let reader = scope.spawn(|| vec![y.load(SeqCst), x.load(SeqCst)]);
        reader.join().unwrap()
    })
}
