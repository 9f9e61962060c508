//! Each execution in a process of its own: a fork of one that has never run the test.
//!
//! So statics start anew, and what ends a process ends one execution: the search goes on. The fork has a
//! copy of everything, the strategy too, and runs the execution with it; what it does is written into memory
//! that both processes see (`log.rs`), and the original takes it over when the fork has ended, however it ended
//! (`transcript.rs`). A fork costs nearly a millisecond, so this is for programs that need it.
//!
//! What the fork prints reaches the same standard output. What a test harness catches in memory is lost
//! with the fork. Of the OS threads of the process only the searching one is there in a fork; a lock that
//! another one held at that moment stays locked.

#![cfg_attr(unix, expect(unsafe_code, reason = "processes are forked, and share memory"))]

#[cfg(unix)]
mod fork;
#[cfg(unix)]
mod log;
#[cfg(unix)]
mod transcript;

use raddle_engine::EngineError;
use raddle_engine::search::{Isolate, Isolator};

/// Forks this process for each execution: for [`Setup::isolation`](raddle_engine::Setup::isolation).
pub const FORK: Isolator = Isolator(fork_each);

#[cfg(unix)]
fn fork_each() -> Result<Box<dyn Isolate>, EngineError> {
    Ok(Box::new(fork::Fork::new()?))
}

#[cfg(not(unix))]
fn fork_each() -> Result<Box<dyn Isolate>, EngineError> {
    Err(EngineError::Isolation("processes cannot be forked on this system".to_owned()))
}
