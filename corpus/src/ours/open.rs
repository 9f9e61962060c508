//! What we still get wrong. Not in [`REGISTRY`](crate::REGISTRY), so that it says nothing that is
//! not so; each moves there with its fix. The command runs them too.

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicBool, Ordering::SeqCst};
use raddle::thread;

use crate::program::{Expected, Group, Program};

/// All of them.
pub static OPEN: &[Program] = &[SPIN_WITHOUT_YIELD, DEADLOCK_HELD_IN_DROP];

/// `spin-without-yield`.
///
/// Whether the spinner or the one who yields moves is a choice each time, so some executions end
/// only by the limit: these are rejected, and no livelock, since somebody could have moved.
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

/// `deadlock-held-in-drop`.
pub const DEADLOCK_HELD_IN_DROP: Program = Program::new(
    "deadlock-held-in-drop",
    Group::Ours,
    "a deadlock with destructors that lock what others hold",
)
.source("a task that is left behind while it unwinds leaves its OS thread panicking")
.plain(deadlock_held_in_drop)
.fails(Expected::Deadlock, |_| 1);

struct Logs<'a>(&'a Mutex<usize>);

impl Drop for Logs<'_> {
    fn drop(&mut self) {
        // Panics if the lock is poisoned, as it would be by a thread that was unwound with it.
        *self.0.lock().unwrap() += 1;
    }
}

/// Two locks in opposite orders, by threads whose destructors use a lock that one of them holds.
pub fn deadlock_held_in_drop() {
    let (a, b) = (Mutex::new(0), Mutex::new(0));
    thread::scope(|scope| {
        for (first, second) in [(&a, &b), (&b, &a)] {
            scope.spawn(|| {
                let _logs = Logs(second);
                let _first = first.lock().unwrap();
                let _second = second.lock().unwrap();
            });
        }
    });
}
