//! A session: an actor that is connecting, then active, then expired until it is renewed, then active again.
//!
//! Its behaviours differ in what they do with a request. While it is connecting it puts requests aside; active it
//! answers them; expired it puts them aside as well. The service that grants sessions lets each expire some
//! times, and grants it again when it is asked to.
//!
//! What must hold: each request is answered.

use raddle::actors::{Actor, Address, Context, System};

use super::{BEHAVIOUR, Subject, correct, route, wrong};
use crate::libraries::Test;
use crate::program::{Parameter, parameter};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// Nothing.
    None,
    /// A session that is expired has no use for a request.
    ///
    /// Order: the session expires, then a request comes, and then the session is renewed. A request that comes
    /// before the session expires, or after it is renewed, is answered, and one that comes while it is connecting is
    /// put aside.
    RequestWhileExpired,
}

const PARAMETERS: [Parameter; 3] = [
    parameter("clients", 1, 1, 16),
    parameter("times it expires", 1, 0, 16),
    parameter("hops of a request", 0, 0, 64),
];

/// One client and one time are enough to show the bug.
pub const SUBJECT: Subject = Subject {
    name: "session",
    line: "a session that is connecting, active, expired and renewed",
    test: Test {
        correct: correct(
            "session",
            "a session that expires and is renewed",
            |system, size| run(system, Bug::None, size),
            &PARAMETERS,
            &[3, 2, 6],
        ),
        bugs: &[wrong(
            ("session-request-while-expired", "a request comes while the session is expired"),
            BEHAVIOUR,
            |system, size| run(system, Bug::RequestWhileExpired, size),
            &PARAMETERS,
            &[1, 1, 18],
        )],
    },
};

#[derive(Clone, Debug, Hash)]
enum ToSession {
    /// The session is good.
    Granted,
    /// It is not any more.
    Expired,
    Request {
        client: Address<ToClient>,
    },
}

#[derive(Clone, Debug, Hash)]
enum ToService {
    /// A session wants to be granted.
    Ask { session: Address<ToSession> },
    /// A session has become active.
    Active { session: Address<ToSession> },
}

#[derive(Clone, Debug, Hash)]
enum ToClient {
    /// The input: make a request.
    Go,
    Answer,
}

type Aside = Vec<Address<ToClient>>;

#[derive(Clone, Debug, Hash)]
struct Connecting {
    bug: Bug,
    service: Address<ToService>,
    aside: Aside,
}

#[derive(Clone, Debug, Hash)]
struct Active {
    bug: Bug,
    service: Address<ToService>,
}

#[derive(Clone, Debug, Hash)]
struct Expired {
    bug: Bug,
    service: Address<ToService>,
    aside: Aside,
}

impl Active {
    /// The session is good: it says so, and answers what was put aside.
    fn begin(
        bug: Bug,
        service: &Address<ToService>,
        aside: &mut Aside,
        cx: &mut Context<'_, ToSession>,
    ) {
        let session = cx.me().clone();
        cx.send(service, ToService::Active { session });
        for client in aside.drain(..) {
            cx.send(&client, ToClient::Answer);
        }
        cx.become_(Self { bug, service: service.clone() });
    }
}

impl Actor for Connecting {
    type Message = ToSession;
    raddle::actors::snapshots!();

    fn start(&mut self, cx: &mut Context<'_, ToSession>) {
        let session = cx.me().clone();
        cx.send(&self.service, ToService::Ask { session });
    }

    fn handle(&mut self, message: ToSession, cx: &mut Context<'_, ToSession>) {
        match message {
            ToSession::Granted => Active::begin(self.bug, &self.service, &mut self.aside, cx),
            ToSession::Request { client } => self.aside.push(client),
            ToSession::Expired => cx.unhandled(&message),
        }
    }
}

impl Actor for Active {
    type Message = ToSession;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToSession, cx: &mut Context<'_, ToSession>) {
        match message {
            ToSession::Expired => {
                let session = cx.me().clone();
                cx.send(&self.service, ToService::Ask { session });
                let (bug, service) = (self.bug, self.service.clone());
                cx.become_(Expired { bug, service, aside: Vec::new() });
            }
            ToSession::Request { client } => cx.send(&client, ToClient::Answer),
            ToSession::Granted => cx.unhandled(&message),
        }
    }
}

impl Actor for Expired {
    type Message = ToSession;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToSession, cx: &mut Context<'_, ToSession>) {
        match message {
            ToSession::Granted => Active::begin(self.bug, &self.service, &mut self.aside, cx),
            ToSession::Request { client } if self.bug != Bug::RequestWhileExpired => {
                self.aside.push(client);
            }
            ToSession::Request { .. } | ToSession::Expired => cx.unhandled(&message),
        }
    }
}

#[derive(Clone, Debug, Hash)]
struct Service {
    /// How many times it lets a session expire.
    expires: usize,
}

impl Actor for Service {
    type Message = ToService;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToService, cx: &mut Context<'_, ToService>) {
        match message {
            ToService::Ask { session } => cx.send(&session, ToSession::Granted),
            ToService::Active { session } => {
                if let Some(left) = self.expires.checked_sub(1) {
                    self.expires = left;
                    cx.send(&session, ToSession::Expired);
                }
            }
        }
    }
}

#[derive(Clone, Debug, Hash)]
struct Client {
    /// The way to the session.
    session: Address<ToSession>,
    answers: usize,
}

impl Actor for Client {
    type Message = ToClient;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToClient, cx: &mut Context<'_, ToClient>) {
        match message {
            ToClient::Go => {
                let client = cx.me().clone();
                cx.send(&self.session, ToSession::Request { client });
            }
            ToClient::Answer => self.answers += 1,
        }
    }
}

fn run(system: &System, bug: Bug, size: &[usize]) {
    let &[clients, expires, hops] = size else { unreachable!("three arguments") };
    let service = system.spawn_named("service", Service { expires });
    let session = Connecting { bug, service, aside: Vec::new() };
    let session = system.spawn_named("session", session);
    let client = |nth| {
        let client = Client { session: route(system, hops, &session), answers: 0 };
        system.spawn_named(&format!("client {nth}"), client)
    };
    let all: Vec<_> = (0..clients).map(client).collect();
    for client in &all {
        system.send(client, ToClient::Go);
    }
    system.handle_all();
    for client in &all {
        let answers = system.inspect(client, |client: &Client| client.answers);
        assert_eq!(answers, 1, "a request has {answers} answers");
    }
}
