//! Small systems of actors, each in a version that is right and in versions with a mistake.
//!
//! The experiment of Tasharofi, Pradel, Lin and Johnson, "Bita: Coverage-Guided, Automatic Testing of Actor
//! Programs" (ASE 2013), is twelve bugs of Scala programs: a load generator (Gatling), a framework for graphs
//! (Signal/Collect), a client of redis (fyrie), and three textbook programs. Theirs are not the programs here;
//! these have their shapes, and there are three more: a pool of supervised workers, a session and a saga.
//!
//! A system is one file. Its mistakes are the variants of its enum `Bug`, of which one is `None`: the fix. Each
//! says what is wrong and which order of messages shows it; that was written down with the version that is
//! right before any search had seen it. The same code runs under a search and on threads
//! ([`Program::call_on`]): a system is told what to do, has everything handled, and is looked at. An oracle
//! is a handler that panics, or the look at the end.
//!
//! Mailboxes keep the order between each two actors and no other. So a message that takes a longer way
//! than another one comes after it in most executions and before it in few. How long the ways are is a parameter
//! (`hops`: see [`route`]). At the small sizes an execution at random shows a bug soon; at the large ones a
//! hundred or more of them are needed. Measured over 20 seeds, the strategy `random` needs on average from 180
//! executions (`saga-forgets-cancellation`) to 923 (`barber-customers-wake-him`) at the large size;
//! `docs/results/bita.md` has the number for each.

pub mod barber;
pub mod graph;
pub mod load_generator;
pub mod messenger;
pub mod process_registry;
pub mod redis;
pub mod saga;
pub mod session;
pub mod tiles;
pub mod worker_pool;

use std::fmt::Debug;
use std::hash::Hash;

use raddle::actors::{Actor, Address, Context, System};

use crate::libraries::Test;
use crate::program::{Expected, Group, Parameter, Program};

/// The kind of a bug that is a message which comes before or after another one that it should not.
pub const ORDER: &str = "order of two messages";
/// The kind of a bug that is a message which comes between two others.
pub const BETWEEN: &str = "message between two others";
/// The kind of a bug that is a message which meets a behaviour that has no use for it.
pub const BEHAVIOUR: &str = "message in a behaviour without use for it";

/// A system of actors.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// What it is called.
    pub name: &'static str,
    /// What it is, in one line.
    pub line: &'static str,
    /// The version that is right, and those that are not.
    pub test: Test,
}

/// All systems.
pub static SUBJECTS: &[Subject] = &[
    load_generator::SUBJECT,
    graph::SUBJECT,
    redis::SUBJECT,
    tiles::SUBJECT,
    barber::SUBJECT,
    messenger::SUBJECT,
    process_registry::SUBJECT,
    worker_pool::SUBJECT,
    session::SUBJECT,
    saga::SUBJECT,
];

/// All programs: of each system the correct one, then its bugs.
pub fn programs() -> impl Iterator<Item = &'static Program> {
    let tests = SUBJECTS.iter().map(|subject| &subject.test);
    tests.flat_map(|test| std::iter::once(&test.correct).chain(test.bugs))
}

/// The version that is right.
const fn correct(
    name: &'static str,
    line: &'static str,
    body: fn(&System, &[usize]),
    parameters: &'static [Parameter],
    large: &'static [usize],
) -> Program {
    Program::new(name, Group::Actors, line).actors(body, parameters).large(large)
}

/// A version with a bug of this kind.
const fn wrong(
    (name, line): (&'static str, &'static str),
    kind: &'static str,
    body: fn(&System, &[usize]),
    parameters: &'static [Parameter],
    large: &'static [usize],
) -> Program {
    correct(name, line, body, parameters, large).bug(Expected::Panic, kind)
}

/// Passes on what it is told: a router, a proxy, a gateway.
#[derive(Clone, Debug, Hash)]
struct Hop<M> {
    next: Address<M>,
}

impl<M: Clone + Debug + Hash + Send + 'static> Actor for Hop<M> {
    type Message = M;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: M, cx: &mut Context<'_, M>) {
        cx.send(&self.next, message);
    }
}

/// A way to an actor: what is sent there is passed on so many times. The actor itself, if that is never.
#[must_use]
pub fn route<M>(system: &System, hops: usize, to: &Address<M>) -> Address<M>
where
    M: Clone + Debug + Hash + Send + 'static,
{
    (0..hops).fold(to.clone(), |next, nth| {
        system.spawn_named(&format!("hop {}", hops - nth), Hop { next })
    })
}
