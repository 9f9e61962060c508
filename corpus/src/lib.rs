//! Programs with known verdicts and counts, grouped by where they come from.
//!
//! A program is a plain function with numbers as arguments, written with raddle's primitives as a
//! user would write it, and a [`Program`] that says of it what is known: how it ends, how many
//! executions it has, how many of them differ in more than the order of independent steps. So one
//! list serves the tests of every strategy, the benchmarks, and people who ask on the command
//! line. Programs print nothing and keep nothing between executions.
//!
//! Reading order: [`program`] (what is known of a program), [`registry`] (all of them), then the
//! groups. [`mod@run`] runs one, and is the only place that knows how.
//!
//! The programs of [`libraries`], [`applications`] and [`protocols`] are longer than a search can cover in a
//! test. They are in lists of their own, with each bug beside its correct version.
//!
//! # To add a program
//! 1. Write the function, in the file of its kind or in a new one, with a constant beside it that
//!    describes it: what the bug is, where it comes from, which arguments make sense, and counts
//!    with their arithmetic in a comment.
//! 2. Add the constant to [`REGISTRY`].
//! 3. `UPDATE_COUNTS=1 cargo test -p raddle-corpus`, and read the new lines of `counts.txt`.

pub mod actors;
pub mod applications;
pub mod bugs;
pub mod case;
pub mod channels;
pub mod counts;
pub mod hidden;
pub mod libraries;
pub mod litmus;
pub mod minimise;
pub mod ours;
pub mod peers;
pub mod program;
pub mod protocols;
pub mod registry;
pub mod run;
pub mod tables;
pub mod unit_tests;

pub use program::{Expected, Group, Parameter, Program};
pub use registry::{Lookup, REGISTRY, everything, find};
pub use run::{Ask, Told, run};
