//! Unit tests of concurrency libraries, written for this corpus: each library in a version that is
//! right and in versions with a mistake that such libraries had.
//!
//! The experiment of GAMBIT (Coons, Burckhardt, Musuvathi, 2010) is 23 bugs that unit tests
//! of .NET's concurrency libraries found. That code is not public. So these are libraries of the
//! same shapes, with bugs of the same kinds: assertions, deadlocks and livelocks, in executions of
//! some hundred to ten thousand steps. A few are data races instead.
//!
//! A library is one file. Its mistakes are the variants of an enum, `Flaw`, of which one is
//! `None`: the versions differ in a few lines each, and one can see which. Each bug was written
//! down together with its correct version before any search had seen it, and not changed after.

#![expect(clippy::unwrap_used, reason = "programs are as their users write them")]
pub mod bag;
pub mod barrier;
pub mod blocking;
pub mod bounded;
pub mod deque;
pub mod event;
pub mod exchanger;
pub mod latch;
pub mod msqueue;
pub mod once;
pub mod parallel;
pub mod pool;
pub mod ports;
pub mod region;
pub mod rwlock;
pub mod scheduler;
pub mod semaphore;
pub mod seqlock;
pub mod snapshot;
pub mod stack;
pub mod unbounded;

use crate::program::{Group, Program};

/// A library and its unit tests.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    /// What it is called.
    pub name: &'static str,
    /// What it is, in one line.
    pub line: &'static str,
    /// Its unit tests.
    pub tests: &'static [Test],
}

/// A unit test, with the library as it should be and as it should not.
#[derive(Clone, Copy, Debug)]
pub struct Test {
    /// The library is right.
    pub correct: Program,
    /// The library has a mistake that this test can show. The same arguments.
    pub bugs: &'static [Program],
}

/// All libraries.
pub static LIBRARIES: &[Library] = &[
    deque::LIBRARY,
    bounded::LIBRARY,
    unbounded::LIBRARY,
    bag::LIBRARY,
    blocking::LIBRARY,
    barrier::LIBRARY,
    event::LIBRARY,
    semaphore::LIBRARY,
    rwlock::LIBRARY,
    once::LIBRARY,
    latch::LIBRARY,
    pool::LIBRARY,
    scheduler::LIBRARY,
    parallel::LIBRARY,
    ports::LIBRARY,
    region::LIBRARY,
    stack::LIBRARY,
    msqueue::LIBRARY,
    seqlock::LIBRARY,
    snapshot::LIBRARY,
    exchanger::LIBRARY,
];

/// All programs: of each test the correct one, then its bugs.
pub fn programs() -> impl Iterator<Item = &'static Program> {
    let tests = LIBRARIES.iter().flat_map(|library| library.tests);
    tests.flat_map(|test| std::iter::once(&test.correct).chain(test.bugs))
}

/// A program of a library.
const fn program(name: &'static str, line: &'static str) -> Program {
    Program::new(name, Group::Libraries, line)
}
