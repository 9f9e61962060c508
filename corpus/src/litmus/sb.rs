//! Store buffering.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use crate::program::{Group, Program};

/// `sb`.
///
/// The thread that writes second reads the first write.
pub const SB: Program =
    Program::new("sb", Group::Litmus, "two write and read what the other writes")
        .source("Alglave, Maranget, Tautschnig, TOPLAS 2014")
        .sees(sb, &[&[0, 1], &[1, 0], &[1, 1]]);

/// W x; R y ‖ W y; R x.
#[must_use]
pub fn sb() -> Vec<usize> {
    let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        let one = scope.spawn(|| {
            x.store(1, SeqCst);
            y.load(SeqCst)
        });
        let two = scope.spawn(|| {
            y.store(1, SeqCst);
            x.load(SeqCst)
        });
        vec![one.join().unwrap(), two.join().unwrap()]
    })
}
