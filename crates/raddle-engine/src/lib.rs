//! Runs one test under many schedules.
//!
//! [`explore()`] is the loop: ask the strategy to begin, run the test once, tell the strategy how it
//! ended, and again. In one execution all tasks are coroutines of one OS thread. A task stops
//! before each op and announces it; then one question is put, "which of these moves next?", to the
//! plan, to the strategy, or is made without asking if there is one option; and the chosen task does its op and
//! runs on to the next. Data is asked for in the same way.
//!
//! The engine knows no strategy, no file, no clock, no environment and no printing, and no
//! primitive: those are [`Model`]s, written elsewhere.
//!
//! Reading order: [`op`] and [`model`] (what a primitive says of itself), [`strategy`] (what a
//! search must answer), [`observer`] (what listens to one), `execution` (one execution), `host` (who
//! runs it), [`search`] (one after the other), [`mod@explore`] (many), [`rt`] (what frontends call).

#![expect(unsafe_code, reason = "tasks share one OS thread by switching stacks")]

mod act;
mod announce;
pub mod at_fork;
mod bits;
pub mod cell;
mod clock;
pub mod context;
mod crash_log;
pub mod debug;
pub mod dependence;
mod error;
mod execution;
pub mod explore;
pub mod explorer;
mod failures;
mod fair;
mod faults;
mod fiber;
pub mod happens;
mod host;
pub mod inspect;
mod join_park;
mod last_words;
pub mod limits;
mod locks;
pub mod model;
mod names;
mod object;
pub mod observer;
pub mod op;
mod outside;
mod overflow;
mod packet;
mod panic_hook;
mod panics;
mod passive;
pub mod per_execution;
pub mod pulse;
pub mod race;
pub mod receive;
mod recorder;
mod renewed;
mod replay;
pub mod rng;
mod rounds;
pub mod rt;
pub mod scope;
mod script;
pub mod search;
mod seen;
pub mod states;
mod stopwatch;
pub mod store;
pub mod strategy;
mod tape;
mod task;
mod tasks;
mod vector_clock;
mod witness;

pub use error::EngineError;
pub use explore::{Explored, explore, explore_from, explore_observed};
pub use fiber::{kept, kept_here};
pub use last_words::{LastWords, SoFar, forget_last_words, panics_so_far, unwinds_now};
pub use limits::{Lap, Limits, MOST_KEPT, Stop, Teardown};
pub use model::Model;
pub use object::{clashes, fork_alone};
pub use observer::{Ended, Observer};
pub use op::{Access, ObjectId, Op, TaskId};
pub use pulse::{Beat, Pulse};
pub use replay::{AfterOptions, Replayed, replay, retrace};
pub use search::{Isolator, Setup};
pub use stopwatch::{Reading, Stopwatch};
pub use strategy::Strategy;
pub use tape::{KnownDeath, Tape};
