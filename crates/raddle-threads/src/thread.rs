//! `std::thread`.
//!
//! Inside an execution a thread is a task. Spawn, start, exit and join are not scheduling points:
//! a child runs up to its first op before `spawn` returns, and a joiner runs on at once.

mod builder;
mod current;
mod handle;
mod local;
mod scoped;

use std::any::Any;
pub use std::thread::available_parallelism;
use std::time::Duration;

use raddle_engine::rt;

pub use self::builder::Builder;
#[expect(deprecated, reason = "as in std")]
pub use self::current::park_timeout_ms;
pub use self::current::{Thread, ThreadId, current, park, park_timeout};
pub use self::handle::JoinHandle;
pub use self::local::{AccessError, LocalKey};
pub use self::scoped::{Scope, ScopedJoinHandle, scope};

/// Like [`std::thread::Result`].
pub type Result<T> = std::result::Result<T, Box<dyn Any + Send + 'static>>;

/// Like [`std::thread::spawn`].
///
/// # Panics
/// Outside an execution, if the operating system has no thread to give.
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(f).expect("failed to spawn thread")
}

/// Like [`std::thread::sleep`]: inside an execution in virtual time.
///
/// Whether other tasks may have moved before it ends, or must, is a setting of the search: see
/// [`crate::time`].
#[track_caller]
pub fn sleep(dur: Duration) {
    if rt::inside() {
        rt::sleep(dur);
    } else {
        std::thread::sleep(dur);
    }
}

/// Like [`std::thread::sleep_ms`].
#[deprecated(note = "as in std: use `thread::sleep`")]
#[track_caller]
pub fn sleep_ms(ms: u32) {
    sleep(Duration::from_millis(u64::from(ms)));
}

/// Like [`std::thread::yield_now`]: a step that touches nothing.
///
/// A task that yields again lets others move first that could have since it last did, so that a
/// loop which yields does not make the search infinite. If no task can get on, it is a livelock.
#[track_caller]
pub fn yield_now() {
    if rt::inside() {
        rt::yield_now("yield_now");
    } else {
        std::thread::yield_now();
    }
}

/// Like [`std::thread::panicking`].
#[must_use]
pub fn panicking() -> bool {
    if rt::inside() { rt::unwinding() } else { std::thread::panicking() }
}
