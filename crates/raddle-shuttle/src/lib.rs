//! The API of shuttle 0.9 on top of raddle.
//!
//! Tests written for shuttle run under raddle by one line in the manifest of the crate under test, which puts the
//! package in `patch/` in the place of shuttle:
//!
//! ```toml
//! [patch.crates-io]
//! shuttle = { path = "…/raddle/crates/raddle-shuttle/patch" }
//! ```
//!
//! The command stays the same. `RADDLE_*` variables go before what the test asks for: `RADDLE_STRATEGY=dpor RADDLE_EXECUTIONS=none` turns a
//! `check_random` into a search that covers everything.
//!
//! ```
//! use raddle_shuttle::sync::{Arc, Mutex};
//!
//! raddle_shuttle::check_random(
//!     || {
//!         let total = Arc::new(Mutex::new(0));
//!         let theirs = Arc::clone(&total);
//!         let thread = raddle_shuttle::thread::spawn(move || *theirs.lock().unwrap() += 1);
//!         *total.lock().unwrap() += 1;
//!         thread.join().unwrap();
//!         assert_eq!(*total.lock().unwrap(), 2);
//!     },
//!     100,
//! );
//! ```
//!
//! Differences from shuttle:
//! - [`replay`] and [`replay_from_file`] take raddle's tokens (`rd1…`). Those of shuttle mean nothing here.
//! - A [`Scheduler`](scheduler::Scheduler) is one of those in [`scheduler`]. Own ones are written for raddle's `Strategy`.
//! - Timeouts can happen: `wait_timeout`, `recv_timeout` and `park_timeout` may end by them. With shuttle they never do.
//! - [`PortfolioRunner`] runs its members in turns or at once as raddle's portfolio does, with one report.
//! - [`Config::stack_size`](Config#structfield.stack_size), `silence_warnings` and `record_steps_in_span` have no meaning here.
//! - There are no annotations, tags and vector clocks of tasks ([`current`]); a report has the steps with their order.
//! - Misses: wrapper crates of shuttle (`shuttle-tokio`, `shuttle-parking_lot` and others) build on its engine and do not compile
//!   against this crate.

mod check;
mod config;
pub mod current;
pub mod future;
pub mod lazy_static;
pub mod rand;
mod runner;
pub mod scheduler;
pub mod thread;

pub use raddle::{hint, sync, thread_local};

pub use self::check::{
    check, check_dfs, check_pct, check_random, check_random_with_seed,
    check_uncontrolled_nondeterminism, check_urw, replay, replay_from_file,
};
pub use self::config::{
    Config, ContinuationFunctionBehavior, FailurePersistence, MaxSteps, UngracefulShutdownConfig,
};
pub use self::runner::{PortfolioRunner, Runner};
