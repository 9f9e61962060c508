//! What is used before it is there.

use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Mutex, OnceLock};
use raddle::thread;

use crate::program::{Expected, Group, Program};

/// `double-checked`.
pub const DOUBLE_CHECKED: Program = Program::new(
    "double-checked",
    Group::Bugs,
    "two initialise a value if it is not ready, and say so too early",
)
.source("Bacon et al., The \"Double-Checked Locking is Broken\" Declaration, 2000")
.plain(double_checked)
.fails(Expected::Panic, |_| 1);

/// Ready is set before the value is: the order that hardware or compiler may make of the other.
pub fn double_checked() {
    let (ready, value, lock) = (AtomicBool::new(false), AtomicUsize::new(0), Mutex::new(()));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                if !ready.load(SeqCst) {
                    let _held = lock.lock().unwrap();
                    if !ready.load(SeqCst) {
                        ready.store(true, SeqCst);
                        value.store(42, SeqCst);
                    }
                }
                assert_eq!(value.load(SeqCst), 42);
            });
        }
    });
}

/// `double-checked-fixed`.
pub const DOUBLE_CHECKED_FIXED: Program =
    Program::new("double-checked-fixed", Group::Bugs, "two initialise a value through OnceLock")
        .plain(double_checked_fixed);

/// [`double_checked`] as std has it.
pub fn double_checked_fixed() {
    let (value, made) = (OnceLock::new(), AtomicUsize::new(0));
    let get = || {
        *value.get_or_init(|| {
            made.fetch_add(1, SeqCst);
            42
        })
    };
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(get(), 42));
        scope.spawn(|| assert_eq!(get(), 42));
    });
    assert_eq!(made.load(SeqCst), 1);
}
