//! What is asked for, of raddle.
#![allow(clippy::duplicate_mod, reason = "the same file against another library is the point")]

use raddle_threads as lib;

#[path = "same.rs"]
pub(crate) mod same;
