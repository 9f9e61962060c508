//! A livelock that was none.

use raddle::sync::atomic::{AtomicBool, Ordering::SeqCst};
use raddle::thread;

use crate::program::{Group, Program};

/// `spin-without-yield`.
///
/// Whether the spinner or the one who yields moves is a choice each time, until nothing has changed for
/// fifty steps: then the spinner lets the other one move. It is no livelock in any execution.
pub const SPIN_WITHOUT_YIELD: Program = Program::new(
    "spin-without-yield",
    Group::Ours,
    "one spins without a yield; one yields, writes",
)
.source("a livelock was reported although a task that could move had only yielded once")
.plain(spin_without_yield)
.steps(300);

/// A loop that does not yield, and another thread that did once and would end it.
pub fn spin_without_yield() {
    let ready = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| while !ready.load(SeqCst) {});
        thread::yield_now();
        ready.store(true, SeqCst);
    });
}
