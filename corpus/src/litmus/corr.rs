//! Coherence of two reads.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use crate::program::{Group, Program};

/// `corr`.
///
/// A write that was seen stays seen.
pub const CORR: Program = Program::new("corr", Group::Litmus, "one writes, one reads twice")
    .source("Alglave, Maranget, Tautschnig, TOPLAS 2014")
    .sees(corr, &[&[0, 0], &[0, 1], &[1, 1]]);

/// W x ‖ R x; R x.
#[must_use]
pub fn corr() -> Vec<usize> {
    let x = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| x.store(1, SeqCst));
        let reader = scope.spawn(|| vec![x.load(SeqCst), x.load(SeqCst)]);
        reader.join().unwrap()
    })
}
