//! Programs whose executions have been counted.
//!
//! Threads that do little, so that the number of their interleavings, and of their traces
//! (interleavings up to the order of independent steps), is exact and known from elsewhere. All
//! accesses are sequentially consistent. The test's body starts and joins, which adds no choices.

#![expect(clippy::unwrap_used, reason = "programs are as their users write them")]
#![expect(clippy::missing_panics_doc, reason = "to panic is what programs do")]

pub(crate) mod arithmetic;
pub mod increments;
pub mod independent;
pub mod locks;
pub mod messages;
pub mod readers;
pub mod spinning;
pub mod tables;
