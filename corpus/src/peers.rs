//! What other tools get wrong, as programs with the right answer.
//!
//! Each was seen to go wrong with loom 0.7, shuttle 0.9 or traceforge 0.2; the source says with
//! which. What it takes to be right is not to have the limit, so most of these pass.

#![expect(clippy::unwrap_used, reason = "programs are as their users write them")]
#![expect(clippy::missing_panics_doc, reason = "to panic is what programs do")]

pub mod atomics;
pub mod conditions;
pub mod ends;
pub mod many;
pub mod timeouts;
