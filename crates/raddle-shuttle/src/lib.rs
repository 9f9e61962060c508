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
//! # Differences from shuttle
//!
//! Where a test asks for something that is different here its report says so in a note, and so do the lines at the end of
//! `cargo test`; below these are marked with *. What is not there does not compile.
//!
//! | shuttle | here |
//! |---|---|
//! | tokens of [`replay`], [`replay_from_file`] and `SHUTTLE_RANDOM_SEED` | raddle's tokens (`rd1…`); a seed draws other numbers than shuttle's |
//! | a `Scheduler` is what a user implements; `Schedule`, `Task`, `DataSource`, `ReplayScheduler::new_from_schedule` and `set_target_clock` | a [`Scheduler`](scheduler::Scheduler) is one of those in [`scheduler`]; own ones are written for raddle's `Strategy`, the others are not there |
//! | [`AnnotationScheduler`](scheduler::AnnotationScheduler), `annotate_replay`, `SHUTTLE_ANNOTATION_FILE` * | no file is written: the report has the steps |
//! | `ReplayScheduler::set_allow_incomplete` * | has no effect |
//! | `wait_timeout`, `recv_timeout` and `park_timeout` never end by their timeouts | they may |
//! | [`PortfolioRunner`] runs its members on threads, each to its end if `stop_on_first_failure` is false * | in turns or at once as raddle's portfolio does, with one report, until the first failure |
//! | `stack_size`, `record_steps_in_span`, `ungraceful_shutdown_config` of a [`Config`] * | have no meaning |
//! | [`current::reset_step_count`] * | has no effect |
//! | [`current::context_switches`] | the number of steps |
//! | `current::clock`, `current::clock_for`; `raw_load` of atomics; [`annotations`] but for [`WithName`](annotations::WithName) | not there |
//! | a name of [`WithName`](annotations::WithName) is written to the annotated schedule | leaves no trace; for reports see `raddle::Named` |
//! | [`BatchSemaphore::close_no_scheduling_point`](future::batch_semaphore::BatchSemaphore::close_no_scheduling_point) | is one: more orders are explored |
//! | values of `lazy_static!` are dropped at the end of an execution | are not dropped |
//! | wrapper crates (`shuttle-tokio`, `shuttle-parking_lot` and others) | they build on shuttle's engine and do not compile against this crate |

pub mod annotations;
mod check;
mod config;
pub mod current;
pub mod future;
pub mod lazy_static;
pub mod rand;
mod runner;
pub mod scheduler;
mod signature;
pub mod thread;

pub use raddle::{hint, thread_local};

#[cfg(feature = "annotation")]
pub use self::check::annotate_replay;
pub use self::check::{
    check, check_dfs, check_pct, check_random, check_random_with_seed,
    check_uncontrolled_nondeterminism, check_urw, replay, replay_from_file,
};
pub use self::config::{
    Config, ContinuationFunctionBehavior, FailurePersistence, MaxSteps, UngracefulShutdownConfig,
};
pub use self::runner::{PortfolioRunner, Runner};

/// `shuttle::sync`: primitives under control.
pub mod sync {
    pub use raddle::sync::*;

    pub use crate::signature::{ResourceSignature, ResourceType};
}

/// The variable with which shuttle shows where each task is. A report has that always.
pub const CAPTURE_BACKTRACE: &str = "SHUTTLE_CAPTURE_BACKTRACE";

/// The variable that silences warnings of shuttle, of which there are none here.
pub const SILENCE_WARNINGS: &str = "SHUTTLE_SILENCE_WARNINGS";

/// The variable that names the file of an annotated schedule, of which there is none here.
pub const ANNOTATION_FILE: &str = "SHUTTLE_ANNOTATION_FILE";
