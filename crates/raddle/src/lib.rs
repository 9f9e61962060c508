//! raddle finds concurrency bugs in Rust code, and says exactly what a pass means.
//!
//! Write the code with `raddle::sync` and `raddle::thread` where it has `std::sync` and
//! `std::thread`, and a test as any other:
//!
#![cfg_attr(feature = "check", doc = "```should_panic")]
#![cfg_attr(not(feature = "check"), doc = "```ignore")]
//! use raddle::sync::Arc;
//! use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
//!
//! // In a test module: #[raddle::test] fn two_increments_make_two() { … }
//! raddle::check(|| {
//!     let n = Arc::new(AtomicU32::new(0));
//!     let theirs = Arc::clone(&n);
//!     let thread = raddle::thread::spawn(move || theirs.store(theirs.load(SeqCst) + 1, SeqCst));
//!     n.store(n.load(SeqCst) + 1, SeqCst); // wrong: not one step but two
//!     thread.join().unwrap();
//!     assert_eq!(n.load(SeqCst), 2);
//! });
//! ```
//!
//! Such a test is run under one schedule after another until one fails, every schedule has been
//! seen, or the budget is used up. A failure is shown step by step, with the command that replays
//! it; a pass says what was covered and under which assumptions.
//!
//! # Set-up
//! ```toml
//! [dependencies]
//! raddle = "0.1"
//!
//! [dev-dependencies]
//! raddle = { version = "0.1", features = ["check"] }
//! ```
//! Without the feature `check` this crate is a list of re-exports of std: no dependencies, no
//! cost. With it the same paths lead to primitives that raddle controls, inside an execution; and
//! outside one they behave as std's. Benchmarks and examples of the same package get the feature
//! too, because cargo gives dev-dependencies to them as well: put them, or the tests, into a
//! package of their own.
//!
//! # What to call
//! `#[raddle::test]` and [`check()`] are tests; [`explore()`] and [`replay`] return a [`Report`];
//! [`Config`] has all knobs, which are also environment variables; [`choose`], [`any`] and [`rng`]
//! are values that the search decides.
//!
//! # What a pass does not mean
//! Memory is sequentially consistent, whatever orderings the code asks for. Only what is in this
//! crate is controlled: a std lock held over a raddle operation can hang (and is reported), a data
//! race is found where the data is in a [`cell`] of this crate. Each report states the rest.
#![cfg_attr(not(feature = "check"), allow(rustdoc::broken_intra_doc_links, reason = "no search"))]

#[cfg(not(feature = "check"))]
pub mod cell;
mod method;
#[cfg(feature = "check")]
pub mod migrate;
#[cfg(not(feature = "check"))]
mod named;
#[cfg(feature = "check")]
mod value;

// The search. Reading order, in which a module uses only those before it:
// - what a user gives and gets: custom, error, progress, tree, config;
// - what is run, where its files lie, and the thread that keeps the time for it: job, files, supervisor;
// - one search, and what it leaves for later: checkpoint, spill, reporter, search;
// - the searches of one report, or a replay: plan, conclusion, portfolio, recording, explore;
// - a test: minimise, explain, learned, terminal, summary, check, units, host, harness.
#[cfg(feature = "check")]
mod check;
#[cfg(feature = "check")]
mod checkpoint;
#[cfg(feature = "check")]
mod conclusion;
#[cfg(feature = "check")]
mod config;
#[cfg(feature = "check")]
mod custom;
#[cfg(feature = "check")]
mod cut_off;
#[cfg(feature = "check")]
mod error;
#[cfg(feature = "check")]
mod explain;
#[cfg(feature = "check")]
mod explore;
#[cfg(feature = "check")]
pub mod extend;
#[cfg(feature = "check")]
mod files;
#[cfg(feature = "check")]
mod harness;
#[cfg(all(feature = "check", unix))]
mod host;
#[cfg(all(feature = "check", not(unix)))]
#[path = "host/unsupported.rs"]
mod host;
#[cfg(feature = "check")]
mod job;
#[cfg(feature = "check")]
mod learned;
#[cfg(feature = "check")]
mod minimise;
#[cfg(feature = "check")]
mod partial;
#[cfg(feature = "check")]
mod plan;
#[cfg(feature = "check")]
mod portfolio;
#[cfg(feature = "check")]
mod progress;
#[cfg(feature = "check")]
mod recording;
#[cfg(feature = "check")]
mod reporter;
#[cfg(feature = "check")]
mod search;
#[cfg(feature = "check")]
mod spill;
#[cfg(all(feature = "check", target_os = "linux", not(miri)))]
mod stopwatch;
#[cfg(feature = "check")]
mod summary;
#[cfg(feature = "check")]
mod supervisor;
#[cfg(feature = "check")]
mod terminal;
#[cfg(feature = "check")]
mod tree;
#[cfg(all(feature = "check", unix))]
mod units;

#[cfg(not(feature = "check"))]
pub use std::{thread, thread_local, time};

#[cfg(not(feature = "check"))]
pub mod hint;

/// `std::sync`.
#[cfg(not(feature = "check"))]
pub mod sync {
    pub use std::sync::*;

    /// With the feature `check`: reference counts whose every change is a step.
    pub mod counted {
        pub use std::sync::{Arc, Weak};

        /// The same handle. With the feature `check` the count is under control from here on.
        #[inline]
        #[must_use]
        pub fn from_std<T: ?Sized>(arc: Arc<T>) -> Arc<T> {
            arc
        }

        /// The same handle, with another type.
        #[inline]
        pub fn unsize<T: ?Sized, U: ?Sized>(
            arc: Arc<T>,
            coerce: impl FnOnce(Arc<T>) -> Arc<U>,
        ) -> Arc<U> {
            coerce(arc)
        }
    }
}

#[cfg(not(feature = "check"))]
pub use named::Named;

#[cfg(feature = "actors")]
pub use raddle_actors as actors;
#[cfg(feature = "check")]
pub use raddle_engine::Teardown;
#[cfg(feature = "check")]
pub use raddle_engine::explorer;

/// What a program may ask of an explorer: without a search, nothing.
#[cfg(not(feature = "check"))]
pub mod explorer {
    /// Does nothing: there is no explorer.
    #[expect(clippy::needless_pass_by_value, reason = "the signature of the one under control")]
    pub fn change_order<S: Into<String>>(names: impl IntoIterator<Item = S>) {
        let _ = names;
    }
}
#[cfg(feature = "check")]
pub use raddle_macros::test;
#[cfg(feature = "check")]
pub use raddle_threads::{Named, cell, hint, sync, thread, thread_local, time};
#[cfg(feature = "check")]
pub use raddle_trace as trace;
#[cfg(feature = "check")]
pub use raddle_trace::{
    Band, Counts, Covered, DataRace, DecisionTree, Estimate, Explanation, Failure, Guarantee,
    Member, Minimised, Note, Outcome, Probed, Progress, Report, SampleBound, Schedule, Second,
    Size, StateKey, Timeouts, Trace, TraceCount, Unseen, Verdict,
};

#[cfg(feature = "check")]
pub use check::{Judged, add_to_summary, check, check_with, judge, render};
#[cfg(feature = "check")]
pub use config::{Config, Data, Expect, Isolation, Pairs, Receives};
#[cfg(feature = "check")]
pub use error::{Error, Hang};
#[cfg(feature = "check")]
pub use explain::explain;
#[cfg(feature = "check")]
pub use explore::{explore, explore_by, explore_observed, explore_with};
#[cfg(feature = "check")]
pub use minimise::minimise;
#[cfg(feature = "check")]
pub use progress::{ProgressListener, ShowProgress};
#[cfg(feature = "check")]
pub use recording::{Recording, replay, replay_with};
#[cfg(feature = "check")]
pub use tree::Tree;
#[cfg(feature = "check")]
pub use value::{Arbitrary, Rng, any, choose, rng};

/// For what `#[raddle::test]` expands to.
#[cfg(feature = "check")]
#[doc(hidden)]
pub mod __private {
    pub use raddle_engine::scope::Scope;

    pub use crate::harness::{Returned, TestPlace, test};
}
