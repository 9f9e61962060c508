//! More threads and more steps than others can count.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use crate::counts::arithmetic::factorial;
use crate::program::{Group, Program, parameter};

/// `empty-threads`.
///
/// To start, to end and to join are no choices: one execution.
pub const EMPTY_THREADS: Program = Program::new("empty-threads", Group::Peers, "n do nothing")
    .source("4 of them: loom 493 executions, shuttle 550")
    .one(empty_threads, &[parameter("n", 4, 1, 1_000)])
    .interleavings(|_| Some(1))
    .traces(|_| Some(1));

/// n threads that do nothing.
pub fn empty_threads(n: usize) {
    let threads: Vec<_> = (0..n).map(|_| thread::spawn(|| ())).collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

/// `many-threads`.
///
/// No two increments commute: n!.
pub const MANY_THREADS: Program =
    Program::new("many-threads", Group::Peers, "n increment x in one step, for n of 6 and more")
        .source("loom: at most 5 threads")
        .one(many_threads, &[parameter("n", 6, 6, 1_000)])
        .interleavings(|n| factorial(n[0]))
        .traces(|n| factorial(n[0]));

/// n × FAA x.
pub fn many_threads(n: usize) {
    let x = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..n {
            scope.spawn(|| x.fetch_add(1, SeqCst));
        }
    });
    assert_eq!(x.load(SeqCst), n);
}

/// `many-steps`.
///
/// One execution, since the test's body only waits.
pub const MANY_STEPS: Program =
    Program::new("many-steps", Group::Peers, "one thread with n steps, more than 16 bits count")
        .source("loom: a false race after 65,536 operations")
        .one(many_steps, &[parameter("n", 70_000, 65_537, 900_000)])
        .interleavings(|_| Some(1))
        .traces(|_| Some(1));

/// n increments by one thread, and a look by another when it has ended.
pub fn many_steps(n: usize) {
    let x = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..n {
                x.fetch_add(1, SeqCst);
            }
        });
    });
    assert_eq!(x.load(SeqCst), n);
}
