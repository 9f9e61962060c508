//! A client of redis that sends commands without waiting for answers, over a connection that is lost.
//!
//! In the shape of fyrie-redis, in two versions of which Bita found a bug. Callers give commands to the client,
//! which sends them to the server at once and remembers which it has sent: answers come in the order of
//! commands, so that the next answer is for the first that has none. Each connection has a reader, which passes
//! on what comes by it. When the connection is lost, the client
//! connects again, and sends what has no answer once more. A server that is asked twice answers twice.
//!
//! What must hold: each caller gets the answer to its command, and every caller gets one.

use std::collections::VecDeque;

use raddle::actors::{Actor, Address, Context, System};

use super::{BETWEEN, Hop, ORDER, Subject, correct, route, wrong};
use crate::libraries::Test;
use crate::program::{Parameter, parameter};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// Nothing.
    None,
    /// An answer that came by a connection that was lost is taken for an answer of the next one.
    ///
    /// Order: the loss and the new connection are at the client before an answer that was sent earlier. The command is
    /// sent again and answered twice, and the second answer is given to the next caller, or to none.
    OldAnswers,
    /// A command that comes while there is no connection is sent on the one that was lost.
    ///
    /// Order: a command is at the client after the loss and before the new connection.
    SentWhileDown,
}

const PARAMETERS: [Parameter; 3] = [
    parameter("callers", 2, 1, 16),
    parameter("hops of the loss", 0, 0, 64),
    parameter("hops of a command", 0, 0, 64),
];

/// Two callers and one loss are the least that shows every bug.
pub const SUBJECT: Subject = Subject {
    name: "redis client",
    line: "commands without waiting, over a connection that is lost",
    test: Test {
        correct: correct(
            "redis",
            "a client of redis whose connection is lost",
            |system, size| run(system, Bug::None, size),
            &PARAMETERS,
            &[4, 4, 1],
        ),
        bugs: &[
            wrong(
                ("redis-old-answers", "an answer of a lost connection is taken for a new one"),
                ORDER,
                |system, size| run(system, Bug::OldAnswers, size),
                &PARAMETERS,
                &[2, 16, 0],
            ),
            wrong(
                ("redis-sent-while-down", "a command comes while there is no connection"),
                BETWEEN,
                |system, size| run(system, Bug::SentWhileDown, size),
                &PARAMETERS,
                &[2, 9, 0],
            ),
        ],
    },
};

#[derive(Clone, Debug, Hash)]
enum ToClient {
    Command {
        key: usize,
        caller: Address<ToCaller>,
    },
    Answer {
        connection: usize,
        key: usize,
    },
    /// The connection is lost, says the operating system.
    Lost {
        server: Address<ToServer>,
    },
    Connected {
        connection: usize,
    },
}

#[derive(Clone, Debug, Hash)]
enum ToServer {
    Connect { connection: usize, client: Address<ToClient> },
    Get { connection: usize, key: usize, reader: Address<ToClient> },
}

#[derive(Clone, Debug, Hash)]
enum ToCaller {
    /// The input: ask for this key.
    Ask,
    Answer {
        key: usize,
    },
}

#[derive(Clone, Debug, Hash)]
struct Client {
    bug: Bug,
    server: Address<ToServer>,
    connection: usize,
    /// That of the connection, from the first command on.
    reader: Option<Address<ToClient>>,
    is_up: bool,
    /// What has no answer, the first that was sent first.
    waiting: VecDeque<(usize, Address<ToCaller>)>,
}

impl Client {
    fn get(&mut self, key: usize, cx: &mut Context<'_, ToClient>) {
        let client = cx.me().clone();
        let new = || cx.spawn_named("reader", Hop { next: client });
        let (connection, reader) = (self.connection, self.reader.get_or_insert_with(new).clone());
        cx.send(&self.server, ToServer::Get { connection, key, reader });
    }
}

impl Actor for Client {
    type Message = ToClient;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToClient, cx: &mut Context<'_, ToClient>) {
        match message {
            ToClient::Command { key, caller } => {
                // What is waiting when the connection is up is sent then.
                if self.is_up {
                    self.get(key, cx);
                } else if self.bug == Bug::SentWhileDown {
                    // Written to a socket that is closed: it is on its way to nowhere.
                    return;
                }
                self.waiting.push_back((key, caller));
            }
            ToClient::Answer { connection, key } => {
                if connection != self.connection && self.bug != Bug::OldAnswers {
                    return;
                }
                let (_, caller) = self.waiting.pop_front().expect("a command waits for the answer");
                cx.send(&caller, ToCaller::Answer { key });
            }
            ToClient::Lost { server } => {
                (self.is_up, self.reader) = (false, None);
                self.connection += 1;
                let (connection, client) = (self.connection, cx.me().clone());
                cx.send(&server, ToServer::Connect { connection, client });
            }
            ToClient::Connected { connection } => {
                assert_eq!(connection, self.connection, "it connects once at a time");
                self.is_up = true;
                let waiting: Vec<_> = self.waiting.iter().map(|(key, _)| *key).collect();
                for key in waiting {
                    self.get(key, cx);
                }
            }
        }
    }
}

#[derive(Clone, Debug, Hash)]
struct Server {
    connection: usize,
}

impl Actor for Server {
    type Message = ToServer;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToServer, cx: &mut Context<'_, ToServer>) {
        match message {
            ToServer::Connect { connection, client } => {
                self.connection = connection;
                cx.send(&client, ToClient::Connected { connection });
            }
            // By the old connection it is not heard of any more.
            ToServer::Get { connection, .. } if connection != self.connection => {}
            ToServer::Get { connection, key, reader } => {
                cx.send(&reader, ToClient::Answer { connection, key });
            }
        }
    }
}

#[derive(Clone, Debug, Hash)]
struct Caller {
    key: usize,
    client: Address<ToClient>,
    answers: usize,
}

impl Actor for Caller {
    type Message = ToCaller;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToCaller, cx: &mut Context<'_, ToCaller>) {
        match message {
            ToCaller::Ask => {
                let caller = cx.me().clone();
                cx.send(&self.client, ToClient::Command { key: self.key, caller });
            }
            ToCaller::Answer { key } => {
                assert_eq!(key, self.key, "an answer was given to another caller");
                self.answers += 1;
            }
        }
    }
}

fn run(system: &System, bug: Bug, size: &[usize]) {
    let &[callers, loss_hops, command_hops] = size else { unreachable!("three arguments") };
    let server = system.spawn_named("server", Server { connection: 0 });
    let client = Client {
        bug,
        server: server.clone(),
        connection: 0,
        reader: None,
        is_up: true,
        waiting: VecDeque::new(),
    };
    let client = system.spawn_named("client", client);
    let caller = |key| {
        let caller = Caller { key, client: route(system, command_hops, &client), answers: 0 };
        system.spawn_named(&format!("caller {key}"), caller)
    };
    let all: Vec<_> = (0..callers).map(caller).collect();
    // The operating system, which loses the connection, is a way of its own.
    let lost = route(system, loss_hops + 1, &client);
    for caller in &all {
        system.send(caller, ToCaller::Ask);
    }
    system.send(&lost, ToClient::Lost { server });
    system.handle_all();
    for (key, caller) in all.iter().enumerate() {
        let answers = system.inspect(caller, |caller: &Caller| caller.answers);
        assert_eq!(answers, 1, "caller {key} has {answers} answers");
    }
}
