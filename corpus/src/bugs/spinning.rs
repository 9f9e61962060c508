//! Loops that wait for what does not come.

use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use crate::program::{Expected, Group, Program};

/// `missed-window`.
///
/// It is enough that the one who opens comes first.
pub const MISSED_WINDOW: Program = Program::new(
    "missed-window",
    Group::Bugs,
    "one spins until a flag is up that comes down again",
)
.plain(missed_window)
.fails(Expected::Livelock, |_| 0);

/// The flag is up for a moment, and who looks too late looks for ever.
pub fn missed_window() {
    let open = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !open.load(SeqCst) {
                thread::yield_now();
            }
        });
        scope.spawn(|| {
            open.store(true, SeqCst);
            open.store(false, SeqCst);
        });
    });
}

/// `missed-window-fixed`.
pub const MISSED_WINDOW_FIXED: Program =
    Program::new("missed-window-fixed", Group::Bugs, "one spins until a counter has moved")
        .plain(missed_window_fixed);

/// [`missed_window`] with a count of how often the flag was up.
pub fn missed_window_fixed() {
    let opened = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            while opened.load(SeqCst) == 0 {
                thread::yield_now();
            }
        });
        scope.spawn(|| opened.fetch_add(1, SeqCst));
    });
}

/// `after-you`.
pub const AFTER_YOU: Program =
    Program::new("after-you", Group::Bugs, "two spin until the other has gone first")
        .plain(after_you)
        .fails(Expected::Livelock, |_| 0);

/// Each waits for the other's flag before it raises its own.
pub fn after_you() {
    let gone = [AtomicBool::new(false), AtomicBool::new(false)];
    thread::scope(|scope| {
        for me in 0..2 {
            let gone = &gone;
            scope.spawn(move || {
                while !gone[1 - me].load(SeqCst) {
                    thread::yield_now();
                }
                gone[me].store(true, SeqCst);
            });
        }
    });
}
