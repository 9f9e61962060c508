//! A registry of processes: names for processes that start, are looked up, and end.
//!
//! The shape of Erlang's `proc_reg`, on which Claessen and others tried their tools (ICFP 2009), and in which Bita
//! found a bug by consecutive receives. A process is registered by the actor that starts it; the registry hears from
//! a monitor when a process has ended; clients ask who has a name.
//!
//! What must hold: no client is told of a process that the registry knows to have ended.

use std::collections::{BTreeMap, BTreeSet};

use raddle::actors::{Actor, Address, Context, System};

use super::{BETWEEN, Subject, correct, route, wrong};
use crate::libraries::Test;
use crate::program::{Parameter, parameter};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// Nothing.
    None,
    /// When a process ends, its name is not taken from the table: that is left to the next registration.
    ///
    /// Order: a process is registered, then it ends, then a client asks who has the name. If it ends before it is
    /// registered, the registration is refused; if a client asks before it ends, the answer is right.
    KeepsTheName,
}

const PARAMETERS: [Parameter; 3] = [
    parameter("processes", 1, 1, 16),
    parameter("hops of a registration", 0, 0, 64),
    parameter("hops of a question", 0, 0, 64),
];

/// One process is enough to show the bug.
pub const SUBJECT: Subject = Subject {
    name: "process registry",
    line: "names of processes that start, are looked up and end",
    test: Test {
        correct: correct(
            "registry",
            "a registry of the names of processes",
            |system, size| run(system, Bug::None, size),
            &PARAMETERS,
            &[3, 2, 2],
        ),
        bugs: &[wrong(
            ("registry-keeps-the-name", "the name of a process that has ended is looked up"),
            BETWEEN,
            |system, size| run(system, Bug::KeepsTheName, size),
            &PARAMETERS,
            &[1, 9, 9],
        )],
    },
};

#[derive(Clone, Debug, Hash)]
enum ToRegistry {
    Register {
        process: usize,
    },
    /// A process has ended, says the monitor.
    Down {
        process: usize,
    },
    WhoHas {
        process: usize,
        client: Address<ToClient>,
    },
}

#[derive(Clone, Debug, Hash)]
enum ToClient {
    /// The input: ask.
    Ask,
    Answer(Option<usize>),
}

#[derive(Clone, Debug, Hash)]
struct Registry {
    bug: Bug,
    /// Names, each that of a process by its number.
    names: BTreeMap<usize, usize>,
    ended: BTreeSet<usize>,
}

impl Actor for Registry {
    type Message = ToRegistry;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToRegistry, cx: &mut Context<'_, ToRegistry>) {
        match message {
            ToRegistry::Register { process } => {
                let ended = &self.ended;
                self.names.retain(|_, process| !ended.contains(process));
                if !self.ended.contains(&process) {
                    self.names.insert(process, process);
                }
            }
            ToRegistry::Down { process } => {
                self.ended.insert(process);
                if self.bug != Bug::KeepsTheName {
                    self.names.remove(&process);
                }
            }
            ToRegistry::WhoHas { process, client } => {
                let found = self.names.get(&process).copied();
                let is_alive = found.is_none_or(|process| !self.ended.contains(&process));
                assert!(is_alive, "process {process} has ended, and the registry says who it is");
                cx.send(&client, ToClient::Answer(found));
            }
        }
    }
}

#[derive(Clone, Debug, Hash)]
struct Client {
    process: usize,
    registry: Address<ToRegistry>,
    answers: usize,
}

impl Actor for Client {
    type Message = ToClient;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToClient, cx: &mut Context<'_, ToClient>) {
        match message {
            ToClient::Ask => {
                let client = cx.me().clone();
                cx.send(&self.registry, ToRegistry::WhoHas { process: self.process, client });
            }
            ToClient::Answer(_) => self.answers += 1,
        }
    }
}

fn run(system: &System, bug: Bug, size: &[usize]) {
    let &[processes, registration_hops, question_hops] = size else {
        unreachable!("three arguments")
    };
    let (names, ended) = (BTreeMap::new(), BTreeSet::new());
    let registry = system.spawn_named("registry", Registry { bug, names, ended });
    let mut clients = Vec::new();
    for process in 0..processes {
        let starter = route(system, registration_hops + 1, &registry);
        let monitor = route(system, 1, &registry);
        let way = route(system, question_hops, &registry);
        let client = Client { process, registry: way, answers: 0 };
        let client = system.spawn_named(&format!("client {process}"), client);
        system.send(&starter, ToRegistry::Register { process });
        system.send(&monitor, ToRegistry::Down { process });
        system.send(&client, ToClient::Ask);
        clients.push(client);
    }
    system.handle_all();
    for client in &clients {
        let answers = system.inspect(client, |client: &Client| client.answers);
        assert_eq!(answers, 1, "a question has {answers} answers");
    }
}
