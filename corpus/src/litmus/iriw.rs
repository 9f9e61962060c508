//! Independent reads of independent writes.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use crate::program::{Group, Program};

/// `iriw`.
///
/// All but one: the two readers do not see the writes in opposite orders.
pub const IRIW: Program =
    Program::new("iriw", Group::Litmus, "two write; two read both, in opposite orders")
        .source("Boehm and Adve, PLDI 2008; loom#180")
        .sees(
            iriw,
            &[
                &[0, 0, 0, 0],
                &[0, 0, 0, 1],
                &[0, 0, 1, 0],
                &[0, 0, 1, 1],
                &[0, 1, 0, 0],
                &[0, 1, 0, 1],
                &[0, 1, 1, 0],
                &[0, 1, 1, 1],
                &[1, 0, 0, 0],
                &[1, 0, 0, 1],
                &[1, 0, 1, 1],
                &[1, 1, 0, 0],
                &[1, 1, 0, 1],
                &[1, 1, 1, 0],
                &[1, 1, 1, 1],
            ],
        );

/// W x ‖ W y ‖ R x; R y ‖ R y; R x.
#[must_use]
pub fn iriw() -> Vec<usize> {
    let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| x.store(1, SeqCst));
        scope.spawn(|| y.store(1, SeqCst));
        let one = scope.spawn(|| [x.load(SeqCst), y.load(SeqCst)]);
        let two = scope.spawn(|| [y.load(SeqCst), x.load(SeqCst)]);
        [one.join().unwrap(), two.join().unwrap()].concat()
    })
}
