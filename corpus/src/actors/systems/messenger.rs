//! Instant messages: a server that knows who is there, and clients that write to each other by it.
//!
//! The messenger of Erlang's getting-started guide, with clients that are done at some time. A client logs on, writes
//! when it is confirmed, and logs off when it is told to. The server passes messages on to those who are there.
//!
//! What must hold: a client that is closed gets no messages, and no message is lost of which the server has said
//! that it was passed on.

use std::collections::BTreeMap;

use raddle::actors::{Actor, Address, Context, System};

use super::{ORDER, Subject, correct, route, wrong};
use crate::libraries::Test;
use crate::program::{Parameter, parameter};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// Nothing.
    None,
    /// A client is closed when it has sent that it logs off, and not when the server has confirmed that.
    ///
    /// Order: the client is told to leave while a message that the server has passed on is on its way to it.
    ClosesAtOnce,
}

const PARAMETERS: [Parameter; 2] =
    [parameter("writers", 1, 1, 16), parameter("hops to leave", 0, 0, 64)];

/// One writer is the least that shows the bug.
pub const SUBJECT: Subject = Subject {
    name: "messenger",
    line: "a server, and clients that log on, write and log off",
    test: Test {
        correct: correct(
            "messenger",
            "clients that log on, write to each other and log off",
            |system, size| run(system, Bug::None, size),
            &PARAMETERS,
            &[4, 2],
        ),
        bugs: &[wrong(
            ("messenger-closes-at-once", "a message comes to a client that is closed"),
            ORDER,
            |system, size| run(system, Bug::ClosesAtOnce, size),
            &PARAMETERS,
            &[1, 15],
        )],
    },
};

#[derive(Clone, Debug, Hash)]
enum ToServer {
    LogOn { name: usize, client: Address<ToClient> },
    LogOff { name: usize },
    Write { to: usize, client: Address<ToClient> },
}

#[derive(Clone, Debug, Hash)]
enum ToClient {
    /// The input: be there, and write to this one.
    Join {
        writes_to: Option<usize>,
    },
    LoggedOn,
    Message,
    /// What was written was passed on, or there was no client of that name.
    Sent {
        passed_on: bool,
    },
    /// The input: enough.
    Leave,
    LoggedOff,
}

#[derive(Clone, Debug, Default, Hash)]
struct Server {
    clients: BTreeMap<usize, Address<ToClient>>,
}

impl Actor for Server {
    type Message = ToServer;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToServer, cx: &mut Context<'_, ToServer>) {
        match message {
            ToServer::LogOn { name, client } => {
                cx.send(&client, ToClient::LoggedOn);
                self.clients.insert(name, client);
            }
            ToServer::LogOff { name } => {
                if let Some(client) = self.clients.remove(&name) {
                    cx.send(&client, ToClient::LoggedOff);
                }
            }
            ToServer::Write { to, client } => {
                let receiver = self.clients.get(&to);
                if let Some(receiver) = receiver {
                    cx.send(receiver, ToClient::Message);
                }
                cx.send(&client, ToClient::Sent { passed_on: receiver.is_some() });
            }
        }
    }
}

#[derive(Clone, Debug, Hash)]
struct Client {
    bug: Bug,
    name: usize,
    server: Address<ToServer>,
    writes_to: Option<usize>,
    /// It was told to leave before it had logged on.
    leaves: bool,
    is_there: bool,
    is_closed: bool,
    messages: usize,
    passed_on: usize,
}

impl Client {
    fn log_off(&mut self, cx: &mut Context<'_, ToClient>) {
        cx.send(&self.server, ToServer::LogOff { name: self.name });
        if self.bug == Bug::ClosesAtOnce {
            self.is_closed = true;
        }
    }
}

impl Actor for Client {
    type Message = ToClient;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToClient, cx: &mut Context<'_, ToClient>) {
        match message {
            ToClient::Join { writes_to } => {
                self.writes_to = writes_to;
                let client = cx.me().clone();
                cx.send(&self.server, ToServer::LogOn { name: self.name, client });
            }
            ToClient::LoggedOn => {
                self.is_there = true;
                if let Some(to) = self.writes_to {
                    let client = cx.me().clone();
                    cx.send(&self.server, ToServer::Write { to, client });
                }
                if self.leaves {
                    self.log_off(cx);
                }
            }
            ToClient::Message => {
                assert!(!self.is_closed, "a message comes to a client that is closed");
                self.messages += 1;
            }
            ToClient::Sent { passed_on } => self.passed_on += usize::from(passed_on),
            ToClient::Leave if self.is_there => self.log_off(cx),
            ToClient::Leave => self.leaves = true,
            ToClient::LoggedOff => self.is_closed = true,
        }
    }
}

/// The first is written to by all others, and leaves.
fn run(system: &System, bug: Bug, size: &[usize]) {
    let &[writers, hops] = size else { unreachable!("two arguments") };
    let server = system.spawn_named("server", Server::default());
    let client = |name| {
        let client = Client {
            bug,
            name,
            server: server.clone(),
            writes_to: None,
            leaves: false,
            is_there: false,
            is_closed: false,
            messages: 0,
            passed_on: 0,
        };
        system.spawn_named(&format!("client {name}"), client)
    };
    let all: Vec<_> = (0..=writers).map(client).collect();
    // Told by a person, and not by the actor that has it join.
    let leave = route(system, hops + 1, &all[0]);
    for (name, client) in all.iter().enumerate() {
        let writes_to = (name > 0).then_some(0);
        system.send(client, ToClient::Join { writes_to });
    }
    system.send(&leave, ToClient::Leave);
    system.handle_all();
    let sum = |of: fn(&Client) -> usize| -> usize {
        all.iter().map(|client| system.inspect(client, of)).sum()
    };
    assert_eq!(sum(|one| one.messages), sum(|one| one.passed_on), "a message was lost");
    assert!(system.inspect(&all[0], |one: &Client| one.is_closed), "it was told to leave");
}
