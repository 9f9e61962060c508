//! Runs one test under many schedules.
//!
//! [`explore()`] is the loop: ask the strategy to begin, run the test once, tell the strategy how it
//! ended, and again. In one execution all tasks are coroutines of one OS thread. A task stops
//! before each op and announces it; then one question is put, "which of these moves next?", to the
//! plan, to the strategy, or to nobody if there is one option; and the chosen task does its op and
//! runs on to the next. Data is asked for in the same way.
//!
//! The engine knows no strategy, no file, no clock, no environment and no printing, and no
//! primitive: those are [`Model`]s, written elsewhere.
//!
//! Reading order: [`op`] and [`model`] (what a primitive says of itself), [`strategy`] (what a
//! search must answer), [`observer`] (what listens to one), `execution` (one execution), `host` (who runs it), [`mod@explore`] (many),
//! [`rt`] (what frontends call).

#![expect(unsafe_code, reason = "tasks share one OS thread by switching stacks")]

mod announce;
pub mod cell;
mod clock;
pub mod context;
pub mod debug;
pub mod dependence;
mod execution;
pub mod explore;
mod failures;
mod fair;
mod fiber;
pub mod fresh;
pub mod happens;
mod host;
#[cfg_attr(not(unix), path = "isolation/elsewhere.rs")]
mod isolation;
mod life;
pub mod limits;
mod locks;
pub mod model;
mod names;
mod object;
pub mod observer;
pub mod op;
mod overflow;
mod panics;
pub mod pulse;
pub mod race;
mod recorder;
pub mod rt;
mod script;
pub mod store;
pub mod strategy;
mod tape;
mod task;

pub use explore::{
    Ended, EngineError, Explored, Replayed, Setup, explore, explore_from, explore_observed, replay,
    retrace,
};
pub use limits::{Lap, Limits, Stop, Teardown};
pub use model::Model;
pub use object::clashes;
pub use observer::Observer;
pub use op::{Access, ObjectId, Op, TaskId};
pub use pulse::{Beat, Pulse};
pub use strategy::Strategy;
pub use tape::{Known, Tape};
