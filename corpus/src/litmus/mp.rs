//! Message passing.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use crate::program::{Group, Program};

/// `mp`.
///
/// Who sees the flag sees the data.
pub const MP: Program = Program::new(
    "mp",
    Group::Litmus,
    "one writes data and a flag; one reads the flag and the data",
)
.source("Alglave, Maranget, Tautschnig, TOPLAS 2014")
.sees(mp, &[&[0, 0], &[0, 1], &[1, 1]]);

/// W x; W y ‖ R y; R x.
#[must_use]
pub fn mp() -> Vec<usize> {
    let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            x.store(1, SeqCst);
            y.store(1, SeqCst);
        });
        let reader = scope.spawn(|| vec![y.load(SeqCst), x.load(SeqCst)]);
        reader.join().unwrap()
    })
}
