//! Distributed protocols as actors, each in a version that is right and in versions with a mistake.
//!
//! The experiment of Desai, Qadeer and Seshia, "Systematic Testing of Asynchronous Reactive Systems" (FSE
//! 2015), is protocols written in P: two-phase commit, chain replication, Paxos, a transaction manager made
//! of them, and a device driver. Theirs are not the programs here; these are written from the papers of the
//! protocols, on raddle's actors, so that the same code runs under a search and on threads.
//!
//! A protocol is one file. All its actors take messages of one enum, as P's machines take events, and a
//! message that a state has no use for is a failure ([`Context::unhandled`](raddle::actors::Context)). Its
//! mistakes are the variants of its enum `Bug`, of which one is `None`: the fix. Each says what is wrong and
//! which order of events shows it; that was written down from the protocol, with the version that is right,
//! before any search had seen it. They are of three kinds, which [`Program::pattern`] names:
//! [`UNHANDLED`], [`CRASH`] and [`MONITOR`].
//!
//! The environment is actors too, with explicit choices: clients, [timers](timer) and an [injector] of
//! failures. Every handler is one step and mailboxes are queues ([`Mailboxes::Queue`]), so two handlers that send
//! to the same actors are handled in one order by all of them; in P a process can be left between two sends.
//! Where that matters to a protocol, its actors send to one after another by messages to themselves.
//!
//! Every protocol ends: clients have so many operations, injectors so many failures, and proposals so many
//! rounds. Large sizes are executions of at least 200 steps, in which `random` needs at least 100 executions for
//! the bug: `docs/results/delaying-bugs-large.md` has how many. They were chosen by that alone. Most have a *pause*, which
//! makes timers and failures slow beside messages, or more nodes of which one certain must fail.
//!
//! In production a [witness] looks at the history of the same events that monitors are told of.

pub mod chain;
pub mod injector;
pub mod linearizable;
pub mod multi_paxos;
pub mod osr_driver;
pub mod paxos;
pub mod primary_backup;
pub mod raft;
pub mod timer;
pub mod transaction_manager;
pub mod two_phase_commit;
pub mod witness;

use std::time::{Duration, Instant};

use raddle::actors::{Mailboxes, Manager, Model, System};

use crate::libraries::Test;
use crate::program::{Group, Program, mailboxes};

/// The kind of a bug that is a message which comes when nothing is there to handle it.
pub const UNHANDLED: &str = "unhandled event";
/// The kind of a bug that is a panic of a handler.
pub const CRASH: &str = "crash";
/// The kind of a bug that a monitor, or the check at the end, sees: something that must never be, or something
/// left undone.
pub const MONITOR: &str = "violated monitor";

/// A protocol.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// What it is called.
    pub name: &'static str,
    /// What it is, in one line.
    pub line: &'static str,
    /// Runs the version that is right to its end in a system of any manager, with failures, and looks at what
    /// happened: panics if that must not be.
    pub produce: fn(&System),
    /// The version that is right, and those that are not.
    pub test: Test,
}

/// All protocols.
pub static PROTOCOLS: &[Protocol] = &[
    two_phase_commit::PROTOCOL,
    chain::PROTOCOL,
    paxos::PROTOCOL,
    primary_backup::PROTOCOL,
    raft::PROTOCOL,
    multi_paxos::PROTOCOL,
    osr_driver::PROTOCOL,
    transaction_manager::PROTOCOL,
];

/// All programs: of each protocol the correct one, then its bugs.
pub fn programs() -> impl Iterator<Item = &'static Program> {
    let tests = PROTOCOLS.iter().map(|protocol| &protocol.test);
    tests.flat_map(|test| std::iter::once(&test.correct).chain(test.bugs))
}

impl Protocol {
    /// Runs the version that is right on so many threads, with failures, again and again for so long. How many
    /// times that was.
    ///
    /// # Panics
    /// If its history or its end is not what it must be.
    #[must_use]
    pub fn produce_for(&self, threads: usize, time: Duration) -> u64 {
        let begin = Instant::now();
        let mut rounds = 0;
        while rounds == 0 || begin.elapsed() < time {
            let manager = Manager::Concurrent { threads };
            let system = System::builder().manager(manager).mailboxes(Mailboxes::Queue).build();
            (self.produce)(&system);
            system.shutdown();
            rounds += 1;
        }
        rounds
    }
}

/// A program of a protocol.
const fn program(name: &'static str, line: &'static str) -> Program {
    Program::new(name, Group::Protocols, line)
}

/// A model whose mailboxes are queues, if it is not called with others.
fn queues<S: Send + Sync + 'static>(
    setup: impl Fn(&System) -> S + Send + Sync + 'static,
) -> Model<S> {
    Model::new(setup).mailboxes(mailboxes(Mailboxes::Queue))
}
