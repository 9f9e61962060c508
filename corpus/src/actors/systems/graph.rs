//! Computation on a graph in rounds: a coordinator, workers with a part of the graph each, votes to halt.
//!
//! In the shape of Signal/Collect, in which Bita found three bugs. What is computed: the largest value, at every
//! worker. A loader gives each worker a value. In a round, a worker whose value has grown signals it to its
//! neighbours; when they have all acknowledged that, it votes, and says whether it had something to signal. If no
//! worker had, the coordinator halts them and collects their values; otherwise there is another round.
//!
//! What must hold: a worker has its value before the first round and hears no signal after it was halted, and in
//! the end each has the largest value.

use std::collections::BTreeSet;

use raddle::actors::{Actor, Address, Context, System};

use super::{ORDER, Subject, correct, route, wrong};
use crate::libraries::Test;
use crate::program::{Parameter, parameter};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// Nothing.
    None,
    /// A worker votes when it has sent its signals, and does not wait until they are acknowledged.
    ///
    /// Order: all votes are counted twice, and the halt is at a worker before a signal to it.
    VotesBeforeAcknowledged,
    /// Whether there is another round is decided by the last vote alone.
    ///
    /// Order: the vote of a worker that had nothing to signal comes last in a round in which another one had.
    LastVoteDecides,
    /// The loader tells the coordinator that it has sent all values, and the workers do not tell it that they have
    /// them.
    ///
    /// Order: the first round is at a worker before its value is.
    BeginsBeforeLoaded,
}

const PARAMETERS: [Parameter; 3] = [
    parameter("workers", 3, 2, 16),
    parameter("hops to the coordinator", 0, 0, 64),
    parameter("hops of a signal", 0, 0, 64),
];

/// Three workers are the least that shows every bug.
pub const SUBJECT: Subject = Subject {
    name: "graph computation",
    line: "rounds of signals between workers that vote to halt",
    test: Test {
        correct: correct(
            "graph",
            "a graph computation in rounds, with votes to halt",
            |system, size| run(system, Bug::None, size),
            &PARAMETERS,
            &[4, 1, 1],
        ),
        bugs: &[
            wrong(
                ("graph-votes-before-acknowledged", "a signal is under way as all is halted"),
                ORDER,
                |system, size| run(system, Bug::VotesBeforeAcknowledged, size),
                &PARAMETERS,
                &[3, 3, 0],
            ),
            wrong(
                ("graph-last-vote-decides", "the last vote decides whether to halt"),
                ORDER,
                |system, size| run(system, Bug::LastVoteDecides, size),
                &PARAMETERS,
                &[3, 0, 5],
            ),
            wrong(
                ("graph-begins-before-loaded", "a round begins before a value is loaded"),
                ORDER,
                |system, size| run(system, Bug::BeginsBeforeLoaded, size),
                &PARAMETERS,
                &[3, 8, 0],
            ),
        ],
    },
};

#[derive(Clone, Debug, Hash)]
enum ToCoordinator {
    /// A worker has its value.
    Stored,
    /// The loader has sent all values.
    Sent,
    Vote {
        worker: usize,
        signalled: bool,
    },
    Value(usize),
}

#[derive(Clone, Debug, Hash)]
enum ToWorker {
    /// A value of the graph, and whom to tell of it.
    Load {
        value: usize,
        coordinator: Address<ToCoordinator>,
    },
    /// The next round, with the ways to the neighbours.
    Round {
        neighbours: Vec<Address<ToWorker>>,
    },
    /// With whom to acknowledge it to.
    Signal {
        value: usize,
        from: Address<ToWorker>,
    },
    Acknowledged,
    Halt {
        coordinator: Address<ToCoordinator>,
    },
}

#[derive(Clone, Debug, Hash)]
struct Worker {
    bug: Bug,
    number: usize,
    value: usize,
    has_begun: bool,
    has_grown: bool,
    is_halted: bool,
    unacknowledged: usize,
    /// The way to the coordinator, of which it hears with its value.
    coordinator: Option<Address<ToCoordinator>>,
}

impl Worker {
    fn vote(&mut self, signalled: bool, cx: &mut Context<'_, ToWorker>) {
        if let (0, Some(coordinator)) = (self.unacknowledged, &self.coordinator) {
            cx.send(coordinator, ToCoordinator::Vote { worker: self.number, signalled });
        }
    }
}

impl Actor for Worker {
    type Message = ToWorker;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToWorker, cx: &mut Context<'_, ToWorker>) {
        match message {
            ToWorker::Load { value, coordinator } => {
                assert!(!self.has_begun, "a value comes after the first round has begun");
                (self.value, self.has_grown) = (value, true);
                if self.bug != Bug::BeginsBeforeLoaded {
                    cx.send(&coordinator, ToCoordinator::Stored);
                }
                self.coordinator = Some(coordinator);
            }
            ToWorker::Round { neighbours } => {
                self.has_begun = true;
                let signals = std::mem::take(&mut self.has_grown) && !neighbours.is_empty();
                if signals {
                    for neighbour in &neighbours {
                        let from = cx.me().clone();
                        cx.send(neighbour, ToWorker::Signal { value: self.value, from });
                    }
                    if self.bug != Bug::VotesBeforeAcknowledged {
                        self.unacknowledged = neighbours.len();
                    }
                }
                self.vote(signals, cx);
            }
            ToWorker::Signal { value, from } => {
                assert!(!self.is_halted, "a signal comes after the halt");
                if value > self.value {
                    (self.value, self.has_grown) = (value, true);
                }
                if self.bug != Bug::VotesBeforeAcknowledged {
                    cx.send(&from, ToWorker::Acknowledged);
                }
            }
            ToWorker::Acknowledged => {
                self.unacknowledged -= 1;
                self.vote(true, cx);
            }
            ToWorker::Halt { coordinator } => {
                self.is_halted = true;
                cx.send(&coordinator, ToCoordinator::Value(self.value));
            }
        }
    }
}

#[derive(Clone, Debug, Hash)]
struct Coordinator {
    bug: Bug,
    workers: Vec<Address<ToWorker>>,
    /// For each worker the ways to its neighbours.
    neighbours: Vec<Vec<Address<ToWorker>>>,
    stored: usize,
    voters: BTreeSet<usize>,
    goes_on: bool,
    values: Vec<usize>,
}

impl Coordinator {
    fn begin_round(&mut self, cx: &mut Context<'_, ToCoordinator>) {
        (self.voters, self.goes_on) = (BTreeSet::new(), false);
        for (worker, neighbours) in self.workers.iter().zip(&self.neighbours) {
            cx.send(worker, ToWorker::Round { neighbours: neighbours.clone() });
        }
    }
}

impl Actor for Coordinator {
    type Message = ToCoordinator;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToCoordinator, cx: &mut Context<'_, ToCoordinator>) {
        match message {
            ToCoordinator::Stored => {
                self.stored += 1;
                if self.stored == self.workers.len() {
                    self.begin_round(cx);
                }
            }
            ToCoordinator::Sent => {
                if self.bug == Bug::BeginsBeforeLoaded {
                    self.begin_round(cx);
                }
            }
            ToCoordinator::Vote { worker, signalled } => {
                self.voters.insert(worker);
                self.goes_on = match self.bug {
                    Bug::LastVoteDecides => signalled,
                    _ => self.goes_on || signalled,
                };
                if self.voters.len() < self.workers.len() {
                    return;
                }
                if self.goes_on {
                    self.begin_round(cx);
                    return;
                }
                for worker in &self.workers {
                    cx.send(worker, ToWorker::Halt { coordinator: cx.me().clone() });
                }
            }
            ToCoordinator::Value(value) => self.values.push(value),
        }
    }
}

/// Gives each worker its value.
#[derive(Clone, Debug, Hash)]
struct Loader {
    workers: Vec<Address<ToWorker>>,
    /// The way of what workers say.
    coordinator: Address<ToCoordinator>,
}

impl Actor for Loader {
    type Message = ();
    raddle::actors::snapshots!();

    fn handle(&mut self, (): (), cx: &mut Context<'_, ()>) {
        for (nth, worker) in self.workers.iter().enumerate() {
            let coordinator = self.coordinator.clone();
            cx.send(worker, ToWorker::Load { value: nth + 1, coordinator });
        }
        cx.send(&self.coordinator, ToCoordinator::Sent);
    }
}

/// The last worker has the largest value and signals to the one before it, that one to the one before, and so on.
fn run(system: &System, bug: Bug, size: &[usize]) {
    let &[n, coordinator_hops, signal_hops] = size else { unreachable!("three arguments") };
    let worker = |number| {
        let worker = Worker {
            bug,
            number,
            value: 0,
            has_begun: false,
            has_grown: false,
            is_halted: false,
            unacknowledged: 0,
            coordinator: None,
        };
        system.spawn_named(&format!("worker {number}"), worker)
    };
    let workers: Vec<_> = (0..n).map(worker).collect();
    let before = |nth: usize| match nth.checked_sub(1) {
        Some(before) => vec![route(system, signal_hops, &workers[before])],
        None => Vec::new(),
    };
    let coordinator = Coordinator {
        bug,
        workers: workers.clone(),
        neighbours: (0..n).map(before).collect(),
        stored: 0,
        voters: BTreeSet::new(),
        goes_on: false,
        values: Vec::new(),
    };
    let coordinator = system.spawn_named("coordinator", coordinator);
    let way = route(system, coordinator_hops, &coordinator);
    let loader = system.spawn_named("loader", Loader { workers, coordinator: way });
    system.send(&loader, ());
    system.handle_all();
    let mut values = system.inspect(&coordinator, |one: &Coordinator| one.values.clone());
    values.sort_unstable();
    assert_eq!(values, vec![n; n], "not every worker has the largest value");
}
