//! A pool of supervised workers: tasks with an effect, workers that fail, a supervisor that starts others.
//!
//! Erlang's supervisors with one strategy: a worker that fails is replaced, and what it had is done by its
//! successor. A worker books its task in a ledger and tells the supervisor; a task that is poisoned makes it fail right
//! after that. That a worker has failed is told by a monitor. The ledger books each task once.
//!
//! What must hold: each task that was taken is booked once, and when the pool is closed no worker is left.

use std::collections::{BTreeMap, BTreeSet};

use raddle::actors::{Actor, Address, Context, System};

use super::{ORDER, Subject, correct, route, wrong};
use crate::libraries::Test;
use crate::program::{Parameter, parameter};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// Nothing.
    None,
    /// The ledger books a task as often as it is told to.
    ///
    /// Order: the supervisor hears that a worker has failed before it hears that the worker had done a task, and
    /// gives the task to the successor.
    BooksTwice,
    /// The supervisor replaces a worker that has failed also when the pool is being closed.
    ///
    /// Order: the pool is closed before the supervisor hears that a worker has failed.
    ReplacesWhileClosing,
}

const PARAMETERS: [Parameter; 3] = [
    parameter("workers", 2, 1, 16),
    parameter("hops of a failure", 0, 0, 64),
    parameter("hops to close", 0, 0, 64),
];

/// Two workers, of which one fails, are the least that shows every bug.
pub const SUBJECT: Subject = Subject {
    name: "worker pool",
    line: "tasks, workers that fail, and a supervisor that replaces them",
    test: Test {
        correct: correct(
            "supervised-pool",
            "a pool of supervised workers",
            |system, size| run(system, Bug::None, size),
            &PARAMETERS,
            &[4, 2, 4],
        ),
        bugs: &[
            wrong(
                ("pool-books-twice", "a failure is heard of before what was done"),
                ORDER,
                |system, size| run(system, Bug::BooksTwice, size),
                &PARAMETERS,
                &[2, 7, 16],
            ),
            wrong(
                ("pool-replaces-while-closing", "a failure is heard of as the pool is closed"),
                ORDER,
                |system, size| run(system, Bug::ReplacesWhileClosing, size),
                &PARAMETERS,
                &[2, 0, 15],
            ),
        ],
    },
};

#[derive(Clone, Debug, Hash)]
enum ToSupervisor {
    /// The input: a task. One that is poisoned has the monitor to which the failure of its worker is told.
    Submit {
        task: usize,
        poison: Option<Address<ToSupervisor>>,
    },
    Done {
        worker: usize,
        task: usize,
    },
    /// A worker has failed, says its monitor.
    Failed {
        worker: usize,
    },
    /// The input: take no more.
    Close,
    Stopped {
        worker: usize,
    },
}

#[derive(Clone, Debug, Hash)]
enum ToWorker {
    Run { task: usize, poison: Option<Address<ToSupervisor>> },
    Stop,
}

#[derive(Clone, Debug, Hash)]
enum ToLedger {
    Book { task: usize },
}

#[derive(Clone, Debug, Hash)]
struct Worker {
    number: usize,
    supervisor: Address<ToSupervisor>,
    ledger: Address<ToLedger>,
    has_failed: bool,
}

impl Actor for Worker {
    type Message = ToWorker;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToWorker, cx: &mut Context<'_, ToWorker>) {
        let worker = self.number;
        match message {
            // What is sent to one that has failed is lost.
            _ if self.has_failed => {}
            ToWorker::Run { task, poison } => {
                cx.send(&self.ledger, ToLedger::Book { task });
                cx.send(&self.supervisor, ToSupervisor::Done { worker, task });
                if let Some(monitor) = poison {
                    self.has_failed = true;
                    cx.send(&monitor, ToSupervisor::Failed { worker });
                }
            }
            ToWorker::Stop => cx.send(&self.supervisor, ToSupervisor::Stopped { worker }),
        }
    }
}

#[derive(Clone, Debug, Hash)]
struct Ledger {
    bug: Bug,
    booked: Vec<usize>,
}

impl Actor for Ledger {
    type Message = ToLedger;
    raddle::actors::snapshots!();

    fn handle(&mut self, ToLedger::Book { task }: ToLedger, _: &mut Context<'_, ToLedger>) {
        if self.bug == Bug::BooksTwice || !self.booked.contains(&task) {
            self.booked.push(task);
        }
    }
}

#[derive(Clone, Debug, Hash)]
struct Supervisor {
    bug: Bug,
    ledger: Address<ToLedger>,
    hired: usize,
    workers: BTreeMap<usize, Address<ToWorker>>,
    /// What each worker was given and has not done.
    given: BTreeMap<usize, BTreeSet<usize>>,
    accepted: Vec<usize>,
    is_closing: bool,
}

impl Supervisor {
    /// A new worker, with its number.
    fn hire(&mut self, cx: &mut Context<'_, ToSupervisor>) -> usize {
        let number = self.hired;
        self.hired += 1;
        let (supervisor, ledger) = (cx.me().clone(), self.ledger.clone());
        let worker = Worker { number, supervisor, ledger, has_failed: false };
        let worker = cx.spawn_named(&format!("worker {number}"), worker);
        self.workers.insert(number, worker);
        number
    }

    fn give(
        &mut self,
        worker: usize,
        task: usize,
        poison: Option<Address<ToSupervisor>>,
        cx: &mut Context<'_, ToSupervisor>,
    ) {
        self.given.entry(worker).or_default().insert(task);
        cx.send(&self.workers[&worker], ToWorker::Run { task, poison });
    }

    /// Another worker in the place of one that has failed. A pool that is being closed has use for it only if it has
    /// something to do.
    fn replace(&mut self, worker: usize, cx: &mut Context<'_, ToSupervisor>) {
        self.workers.remove(&worker);
        let tasks = self.given.remove(&worker).unwrap_or_default();
        if self.is_closing && tasks.is_empty() && self.bug != Bug::ReplacesWhileClosing {
            return;
        }
        let successor = self.hire(cx);
        for task in tasks {
            self.give(successor, task, None, cx);
        }
        if self.is_closing && self.bug != Bug::ReplacesWhileClosing {
            cx.send(&self.workers[&successor], ToWorker::Stop);
        }
    }
}

impl Actor for Supervisor {
    type Message = ToSupervisor;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToSupervisor, cx: &mut Context<'_, ToSupervisor>) {
        match message {
            ToSupervisor::Submit { .. } if self.is_closing => {}
            ToSupervisor::Submit { task, poison } => {
                self.accepted.push(task);
                let worker = self.hire(cx);
                self.give(worker, task, poison, cx);
            }
            ToSupervisor::Done { worker, task } => {
                if let Some(given) = self.given.get_mut(&worker) {
                    given.remove(&task);
                }
            }
            ToSupervisor::Failed { worker } => self.replace(worker, cx),
            ToSupervisor::Close => {
                self.is_closing = true;
                for worker in self.workers.values() {
                    cx.send(worker, ToWorker::Stop);
                }
            }
            ToSupervisor::Stopped { worker } => {
                self.workers.remove(&worker);
            }
        }
    }
}

/// The first of so many workers has a task that makes it fail.
fn run(system: &System, bug: Bug, size: &[usize]) {
    let &[workers, failure_hops, close_hops] = size else { unreachable!("three arguments") };
    let ledger = system.spawn_named("ledger", Ledger { bug, booked: Vec::new() });
    let supervisor = Supervisor {
        bug,
        ledger: ledger.clone(),
        hired: 0,
        workers: BTreeMap::new(),
        given: BTreeMap::new(),
        accepted: Vec::new(),
        is_closing: false,
    };
    let supervisor = system.spawn_named("supervisor", supervisor);
    let monitor = route(system, failure_hops + 1, &supervisor);
    let close = route(system, close_hops + 1, &supervisor);
    for task in 0..workers {
        let poison = (task == 0).then(|| monitor.clone());
        system.send(&supervisor, ToSupervisor::Submit { task, poison });
    }
    system.send(&close, ToSupervisor::Close);
    system.handle_all();
    let mut booked = system.inspect(&ledger, |ledger: &Ledger| ledger.booked.clone());
    booked.sort_unstable();
    let (accepted, left) =
        system.inspect(&supervisor, |one: &Supervisor| (one.accepted.clone(), one.workers.len()));
    assert_eq!(booked, accepted, "not every task was booked once");
    assert_eq!(left, 0, "workers are left in a pool that is closed");
}
