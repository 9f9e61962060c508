//! Small programs in the shape of real ones, written for this corpus: each in a version that is right
//! and in versions with a mistake that its original had.
//!
//! The experiment of `HaPSet` (Wang, Said, Gupta, ICSE 2011) is a thread library, three command-line
//! programs and eleven bugs out of Mozilla and `MySQL`, all in C or C++. These are programs of the same
//! shapes; beside them stand those shapes of `SCTBench` (Thomson, Donaldson, Betts, `PPoPP` 2014) that
//! [`bugs`](crate::bugs) and [`libraries`](crate::libraries) do not have.
//!
//! The environment is in memory: files, servers, disks, a clock that ticks. A system call that may
//! block is an op that may block. What is a plain variable in C is an atomic here that is loaded
//! and stored, so that each access is a step; where the data race itself is the failure it is a
//! `Tracked` cell, whose accesses are no steps.
//!
//! As in the libraries the mistakes of a program are the variants of its enum `Flaw`, of which one is
//! `None`, and each was written down with its fix before any search had seen it.

#![expect(clippy::unwrap_used, reason = "programs are as their users write them")]

pub mod aget;
pub mod busy_wait;
pub mod extracted;
pub mod pbzip2;
pub mod pfscan;
pub mod shapes;
pub mod thrift;

use crate::libraries::Test;
use crate::program::{Group, Program};

/// A program, or several that belong together.
#[derive(Clone, Copy, Debug)]
pub struct Application {
    /// What it is called.
    pub name: &'static str,
    /// What it is, in one line.
    pub line: &'static str,
    /// What is run of it: the version that is right, and those that are not.
    pub tests: &'static [Test],
}

/// All applications.
pub static APPLICATIONS: &[Application] = &[
    thrift::APPLICATION,
    aget::APPLICATION,
    pbzip2::APPLICATION,
    pfscan::APPLICATION,
    extracted::APPLICATION,
    busy_wait::APPLICATION,
    shapes::APPLICATION,
];

/// All programs: of each test the correct one, then its bugs.
pub fn programs() -> impl Iterator<Item = &'static Program> {
    let tests = APPLICATIONS.iter().flat_map(|application| application.tests);
    tests.flat_map(|test| std::iter::once(&test.correct).chain(test.bugs))
}

/// A program of an application.
const fn program(name: &'static str, line: &'static str) -> Program {
    Program::new(name, Group::Applications, line)
}
