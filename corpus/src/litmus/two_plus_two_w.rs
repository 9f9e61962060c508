//! Two and two writes.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use crate::program::{Group, Program};

/// `2+2w`.
///
/// A first write that stays is the first of all for one of them: the other wrote before.
pub const TWO_PLUS_TWO_W: Program =
    Program::new("2+2w", Group::Litmus, "two write both variables, in opposite orders")
        .source("Alglave, Maranget, Tautschnig, TOPLAS 2014")
        .sees(two_plus_two_w, &[&[1, 2], &[2, 1], &[2, 2]]);

/// W x = 1; W y = 2 ‖ W y = 1; W x = 2, and then both.
#[must_use]
pub fn two_plus_two_w() -> Vec<usize> {
    let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            x.store(1, SeqCst);
            y.store(2, SeqCst);
        });
        scope.spawn(|| {
            y.store(1, SeqCst);
            x.store(2, SeqCst);
        });
    });
    vec![x.load(SeqCst), y.load(SeqCst)]
}
