//! The API of loom 0.7 on top of raddle.
//!
//! Tests written for loom run under raddle by one line in the manifest of the crate under test, which puts the
//! package in `patch/` in the place of loom:
//!
//! ```toml
//! [patch.crates-io]
//! loom = { path = "…/raddle/crates/raddle-loom/patch/0.7" }
//! ```
//!
//! The command stays the same (`RUSTFLAGS="--cfg loom" cargo test --release`), and so do loom's own environment
//! variables; all `RADDLE_*` variables work too and go before them.
//!
//! Differences from loom; of these a report says the first:
//! - loom also explores values that weak memory allows a load to read. Here atomics are sequentially consistent;
//!   their orderings decide which accesses to [`cell`]s are data races. Every report says so.
//! - [`stop_exploring`], [`explore`] and [`skip_branch`] do nothing: more is explored than was asked for.
//! - `max_threads` and `max_branches` limit nothing. There is no limit to the number of threads, and a test that does
//!   not end is reported as a livelock or ends at the limit of steps.
//! - [`sync::Condvar::wait_timeout`] never times out, as with loom, unless the timeout is zero; with `RADDLE_TIMEOUTS=any` it can.
//! - [`future::block_on`] polls again only when it was woken. loom also polls once without a reason. Misses: futures that
//!   take a poll for a wake-up.
//! - Misses: leaks of allocations and of `Arc`s.

pub mod alloc;
pub mod future;
pub mod lazy_static;
pub mod model;
pub mod sync;
pub mod thread;

pub use raddle::{cell, hint, thread_local};

#[doc(inline)]
pub use self::model::model;

/// The number of threads that loom allows in a test. raddle has no such limit; the constant is for code that asks for it.
pub const MAX_THREADS: usize = 5;

/// Does nothing: everything is explored from the start.
pub fn explore() {}

/// Does nothing: what follows is explored too.
pub fn stop_exploring() {}

/// Does nothing: what follows is explored too.
pub fn skip_branch() {}
