//! The API of loom 0.7 on top of raddle.
//!
//! Tests written for loom run under raddle by one line in the manifest of the crate under test, which puts the
//! package in `patch/` in the place of loom: `patch/0.7` for loom 0.7, `patch/0.5` for loom 0.5.
//!
//! ```toml
//! [patch.crates-io]
//! loom = { path = "…/raddle/crates/raddle-loom/patch/0.7" }
//! ```
//!
//! From a git repository the version says which of the two is meant; without it cargo finds both and takes neither:
//!
//! ```toml
//! [patch.crates-io]
//! loom = { git = "…/raddle", version = "=0.7.2" }   # or "=0.5.6"
//! ```
//!
//! The command stays the same (`RUSTFLAGS="--cfg loom" cargo test --release`), and so do loom's own environment
//! variables; all `RADDLE_*` variables work too and go before them.
//!
//! What a test has not given back when its threads have ended is a failure, as with loom: the value of an [`Arc`](sync::Arc), memory of
//! [`alloc`], a [`Track`](alloc::Track), a message in a channel. Statics of [`lazy_static!`] are dropped before.
//!
//! # Differences from loom
//!
//! Where a test asks for something that is different here its report says so in a note, and so do the lines at the end of
//! `cargo test`; below these are marked with *.
//!
//! | loom | here |
//! |---|---|
//! | explores values that weak memory allows a load to read * | atomics are sequentially consistent; their orderings decide which accesses to [`cell`]s are data races |
//! | [`stop_exploring`], [`explore`], [`skip_branch`], `expect_explicit_explore` * | everything is explored |
//! | refuses more threads than `max_threads` * | no limit |
//! | `max_branches` ends a test * | a test that does not end is reported as a livelock, or ends at the limit of steps |
//! | `LOOM_LOG`, `LOOM_LOCATION`, `LOOM_CHECKPOINT_INTERVAL` and their fields * | a failure is shown step by step with the place of each; a checkpoint is written when a limit ends the search |
//! | `unsync_load` races with a store * | a relaxed load, of which no race is found |
//! | [`Condvar::wait_timeout`](sync::Condvar::wait_timeout) never times out | nor here, unless the timeout is zero; with `RADDLE_TIMEOUTS=any` it can |
//! | a panic in a thread ends the test | `join` returns it, as in std; the test fails if it is not joined |
//! | `recv` waits for ever when all senders are gone | returns an error, as in std |
//! | a message that was sent when the receiver was gone counts as leaked | it was given back to the sender, and does not |
//! | statics are dropped when the body ends; who uses them later panics | when all threads have ended |
//! | `Weak`, `Once`, `OnceLock`, `LazyLock`, `Barrier`, scopes, bounded channels are not there | they are; but an `Arc` in a static `OnceLock` or `LazyLock` is never dropped, and so is a leak |

pub mod alloc;
pub mod future;
pub mod lazy_static;
mod leaks;
pub mod model;
pub mod sync;
pub mod thread;

pub use raddle::{cell, hint, thread_local};

#[doc(inline)]
pub use self::model::model;

/// The number of threads that loom allows in a test. raddle has no such limit; the constant is for code that asks for it.
pub const MAX_THREADS: usize = 5;

/// Everything is explored from the start: this only has the report say so.
pub fn explore() {
    raddle::extend::tell_difference(EXPLORED);
}

/// What follows is explored too: this only has the report say so.
pub fn stop_exploring() {
    raddle::extend::tell_difference(EXPLORED);
}

/// What follows is explored too: this only has the report say so.
pub fn skip_branch() {
    raddle::extend::tell_difference(EXPLORED);
}

const EXPLORED: &str = "the test says where loom is to explore (explore, stop_exploring, skip_branch): raddle explores everything";
