//! Litmus tests: what two to four threads can see of each other's writes.
//!
//! Each program returns what its threads saw, and its constant has all that they can see under
//! sequential consistency, which is what raddle explores whatever the orderings say. The set of
//! what `dfs` sees must *equal* it: something less is an execution missed, something more an
//! execution that cannot be. One file for each, named as in the literature.

#![expect(clippy::unwrap_used, reason = "programs are as their users write them")]
#![expect(clippy::missing_panics_doc, reason = "to panic is what programs do")]

pub mod corr;
pub mod iriw;
pub mod lb;
pub mod mp;
pub mod sb;
pub mod two_plus_two_w;
