//! Load buffering.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use crate::program::{Group, Program};

/// `lb`.
///
/// The thread that reads first reads no write.
pub const LB: Program =
    Program::new("lb", Group::Litmus, "two read and write what the other reads")
        .source("Alglave, Maranget, Tautschnig, TOPLAS 2014")
        .sees(lb, &[&[0, 0], &[0, 1], &[1, 0]]);

/// R x; W y ‖ R y; W x.
#[must_use]
pub fn lb() -> Vec<usize> {
    let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        let one = scope.spawn(|| {
            let seen = x.load(SeqCst);
            y.store(1, SeqCst);
            seen
        });
        let two = scope.spawn(|| {
            let seen = y.load(SeqCst);
            x.store(1, SeqCst);
            seen
        });
        vec![one.join().unwrap(), two.join().unwrap()]
    })
}
