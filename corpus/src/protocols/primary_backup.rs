//! A register with a primary and backups, and a check that its history is linearizable.
//!
//! Alsberg and Day, "A Principle for Resilient Sharing of Distributed Resources" (1976), with a service that
//! says who is in the *view*: servers fail and stop, the first that has not is the primary. The primary takes
//! one request after another. A write is applied, sent to one backup after another, and answered when all
//! have it; a read is answered when no write is on its way. A server that becomes the primary brings all backups
//! to its own state before it answers anything: it may have a write that others lack, or lack one that they
//! have, and has to let all have the one or none the other.
//!
//! A client has one operation at a time and sends it again when the view changes; a write that the primary has
//! carried out before is only answered.
//!
//! What must hold: the history of reads and writes is [linearizable](super::linearizable), and in the end no
//! client waits.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use raddle::actors::{Actor, Address, Context, Model, System};

use super::injector::{Failing, Failure, Injector};
use super::linearizable::{Event, Linearizable, Operation};
use super::witness::Witness;
use super::{CRASH, MONITOR, Protocol, program, queues};
use crate::libraries::Test;
use crate::program::{Expected, Parameter, parameter};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// Nothing.
    None,
    /// The primary answers a write before the backups have it.
    ///
    /// Order: the primary fails after the answer and before it has sent the write to the server that is
    /// the next primary; a read that is begun after the answer does not see the write.
    RepliesEarly,
    /// The primary answers a read at once, with a write that is on its way.
    ///
    /// Order: one client writes, another one reads that and then reads again; between the two reads the
    /// primary fails, and the next primary has never heard of the write.
    DirtyRead,
    /// A new primary does not bring the backups to its own state.
    ///
    /// Order: of three servers the primary fails when it has sent a write to the third server only. The next
    /// primary makes a write of its own with that number, which the third server cannot take. (To see that
    /// the backups have to be sent to in another order than that in which they become primary.)
    NoSync,
}

/// How large it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// How many servers there are.
    pub servers: usize,
    /// How many clients there are.
    pub clients: usize,
    /// How many operations each client has.
    pub operations: usize,
    /// How many servers fail.
    pub failures: usize,
    /// How many steps of its own the injector takes before each failure.
    pub pause: usize,
}

const PARAMETERS: [Parameter; 5] = [
    parameter("servers", 3, 2, 16),
    parameter("clients", 2, 1, 8),
    parameter("operations", 2, 1, 64),
    parameter("failures", 1, 0, 15),
    parameter("pause", 0, 0, 1_000),
];

const LARGE: [usize; 5] = [4, 4, 20, 2, 0];

/// Three servers, two clients and one failure are the least that shows every bug.
pub const PROTOCOL: Protocol = Protocol {
    name: "primary and backups",
    line: "a register with a primary and backups, which fail",
    produce,
    test: Test {
        correct: program("primary-backup", "a register with a primary and backups, which fail")
            .many(|size| sized(Bug::None, size).run(), &PARAMETERS)
            .states(|size, visit| visit.model(&sized(Bug::None, size)))
            .large(&LARGE),
        bugs: &[
            program("primary-backup-replies-early", "a write is answered before backups have it")
                .many(|size| sized(Bug::RepliesEarly, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::RepliesEarly, size)))
                .bug(Expected::Panic, MONITOR)
                .large(&[6, 2, 10, 1, 180]),
            program("primary-backup-dirty-read", "a write is read before backups have it")
                .many(|size| sized(Bug::DirtyRead, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::DirtyRead, size)))
                .bug(Expected::Panic, MONITOR)
                .large(&[6, 2, 10, 1, 170]),
            program("primary-backup-no-sync", "a new primary takes the backups for its equals")
                .many(|size| sized(Bug::NoSync, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::NoSync, size)))
                .bug(Expected::Panic, CRASH)
                .large(&[6, 2, 10, 1, 220]),
        ],
    },
};

fn sized(bug: Bug, size: &[usize]) -> Model<Nodes> {
    let &[servers, clients, operations, failures, pause] = size else {
        unreachable!("five arguments")
    };
    model(bug, Size { servers, clients, operations, failures, pause })
}

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// Whose.
    pub client: usize,
    /// Which of the client's, from 1.
    pub number: u32,
    /// What.
    pub operation: Operation,
    /// Where the reply goes.
    pub address: Address<Message>,
}

/// A write with its place in the order of all writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Write {
    /// From 1.
    pub version: u32,
    /// The value of the register from then on.
    pub value: u32,
    /// Whose.
    pub client: usize,
    /// Which of the client's requests.
    pub number: u32,
}

/// The register, and which writes of each client it has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Register {
    version: u32,
    value: u32,
    /// By client: the last request that was a write.
    written: BTreeMap<usize, u32>,
}

impl Register {
    /// How many writes it has seen.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }

    fn apply(&mut self, write: Write) {
        (self.version, self.value) = (write.version, write.value);
        self.written.insert(write.client, write.number);
    }

    fn has(&self, request: &Request) -> bool {
        self.written.get(&request.client).is_some_and(|last| *last >= request.number)
    }
}

/// Servers with their numbers, the primary first.
type Members = Vec<(usize, Address<Message>)>;

/// What all its actors are told.
#[derive(Clone, Debug, Hash)]
pub enum Message {
    /// To a client: who is the primary from now on.
    Primary(Address<Message>),
    /// To a client.
    Reply {
        /// Which of its requests.
        number: u32,
        /// What was read, or written.
        value: u32,
    },
    /// To the service: a client that wants to know the primary.
    Join(Address<Message>),
    /// To the service: a server has failed.
    Failed {
        /// Which.
        server: usize,
    },
    /// To a server: who has not failed.
    View {
        /// The primary is the first.
        members: Members,
        /// Who is told of failures.
        service: Address<Message>,
    },
    /// To the primary.
    Ask(Request),
    /// To the primary, from itself: send what is on its way to the next backup.
    Send,
    /// To a backup: a write.
    Replicate {
        /// The write.
        write: Write,
        /// Where the acknowledgement goes.
        primary: Address<Message>,
    },
    /// To a backup: the state of a new primary.
    Sync {
        /// The state.
        register: Register,
        /// Where the acknowledgement goes.
        primary: Address<Message>,
    },
    /// To the primary, from a backup.
    Ack {
        /// Who.
        server: usize,
        /// What it has.
        version: u32,
    },
    /// To a server: it fails, and does not come back.
    Crash,
}

impl Failing for Message {
    fn crash() -> Self {
        Self::Crash
    }

    fn restart() -> Self {
        unreachable!("a server does not come back")
    }
}

/// Reads and writes, one after another. No two writes are of one value.
#[derive(Clone, Debug, Hash)]
pub struct Client {
    watch: Witness<Event>,
    number: usize,
    operations: u32,
    service: Address<Message>,
    primary: Option<Address<Message>>,
    begun: u32,
    waiting: Option<Operation>,
}

impl Client {
    fn send(&self, cx: &mut Context<'_, Message>) {
        let (Some(operation), Some(primary)) = (self.waiting, &self.primary) else { return };
        let (client, number, address) = (self.number, self.begun, cx.me().clone());
        cx.send(primary, Message::Ask(Request { client, number, operation, address }));
    }

    fn begin(&mut self, cx: &mut Context<'_, Message>) {
        if self.begun == self.operations {
            return;
        }
        self.begun += 1;
        let write = Operation::Write(1_000 * self.number as u32 + self.begun);
        let operation = *cx.choose_from(&[write, Operation::Read]);
        self.waiting = Some(operation);
        self.watch.tell(Event::Invoked { client: self.number, operation }, cx);
        self.send(cx);
    }
}

impl Actor for Client {
    type Message = Message;
    raddle::actors::snapshots!();

    fn start(&mut self, cx: &mut Context<'_, Message>) {
        let me = cx.me().clone();
        cx.send(&self.service, Message::Join(me));
    }

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Message>) {
        match message {
            Message::Primary(primary) => {
                let is_first = self.primary.replace(primary).is_none();
                if is_first {
                    self.begin(cx);
                } else {
                    self.send(cx);
                }
            }
            Message::Reply { number, value } if number == self.begun && self.waiting.is_some() => {
                self.waiting = None;
                self.watch.tell(Event::Returned { client: self.number, value }, cx);
                self.begin(cx);
            }
            // It was sent twice, and answered twice.
            Message::Reply { .. } => {}
            other => cx.unhandled(&other),
        }
    }
}

/// Says who has not failed.
#[derive(Clone, Debug, Hash)]
struct Service {
    members: Members,
    clients: Vec<Address<Message>>,
}

impl Service {
    fn tell_servers(&self, cx: &mut Context<'_, Message>) {
        let service = cx.me().clone();
        for (_, server) in &self.members {
            let (members, service) = (self.members.clone(), service.clone());
            cx.send(server, Message::View { members, service });
        }
    }

    fn primary(&self) -> Message {
        Message::Primary(self.members[0].1.clone())
    }
}

impl Actor for Service {
    type Message = Message;
    raddle::actors::snapshots!();

    fn start(&mut self, cx: &mut Context<'_, Message>) {
        self.tell_servers(cx);
    }

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Message>) {
        match message {
            Message::Join(client) => {
                cx.send(&client, self.primary());
                self.clients.push(client);
            }
            Message::Failed { server } => {
                self.members.retain(|(number, _)| *number != server);
                self.tell_servers(cx);
                for client in &self.clients {
                    cx.send(client, self.primary());
                }
            }
            other => cx.unhandled(&other),
        }
    }
}

/// What is on its way from the primary to the backups.
#[derive(Clone, Debug, Hash)]
struct Transfer {
    /// None: the whole register, by a new primary.
    write: Option<(Write, Request)>,
    /// Those to whom it is to be sent; the next one is the last here.
    unsent: Vec<usize>,
    /// Those who have not acknowledged it.
    missing: BTreeSet<usize>,
}

/// A primary or a backup.
#[derive(Clone, Debug, Hash)]
pub struct Server {
    bug: Bug,
    number: usize,
    is_down: bool,
    service: Option<Address<Message>>,
    members: Members,
    register: Register,
    /// Of a primary: requests that have not had their turn.
    waiting: VecDeque<Request>,
    /// Of a primary.
    transfer: Option<Transfer>,
}

impl Server {
    /// Whether it has failed.
    #[must_use]
    pub fn is_down(&self) -> bool {
        self.is_down
    }

    /// What it has.
    #[must_use]
    pub fn register(&self) -> &Register {
        &self.register
    }

    fn is_primary(&self) -> bool {
        self.members.first().is_some_and(|(number, _)| *number == self.number)
    }

    fn reply(&self, request: &Request, cx: &mut Context<'_, Message>) {
        let value = match request.operation {
            Operation::Read => self.register.value,
            Operation::Write(value) => value,
        };
        cx.send(&request.address, Message::Reply { number: request.number, value });
    }

    /// Sends a write, or all, to the backups: the last to become primary first.
    fn begin(&mut self, write: Option<(Write, Request)>, cx: &mut Context<'_, Message>) {
        let unsent: Vec<_> = self.members.iter().skip(1).map(|(number, _)| *number).collect();
        let missing = unsent.iter().copied().collect();
        self.transfer = Some(Transfer { write, unsent, missing });
        let me = cx.me().clone();
        cx.send(&me, Message::Send);
        self.end_if_all_have_it(cx);
    }

    fn send_next(&mut self, cx: &mut Context<'_, Message>) {
        let Some(transfer) = &mut self.transfer else { return };
        let Some(next) = transfer.unsent.pop() else { return };
        let primary = cx.me().clone();
        if let Some((_, backup)) = self.members.iter().find(|(number, _)| *number == next) {
            let message = match &transfer.write {
                Some((write, _)) => Message::Replicate { write: *write, primary: primary.clone() },
                None => Message::Sync { register: self.register.clone(), primary: primary.clone() },
            };
            cx.send(backup, message);
        }
        cx.send(&primary, Message::Send);
    }

    fn end_if_all_have_it(&mut self, cx: &mut Context<'_, Message>) {
        if self.transfer.as_ref().is_some_and(|transfer| transfer.missing.is_empty()) {
            if let Some((_, request)) = self.transfer.take().and_then(|transfer| transfer.write) {
                self.reply(&request, cx);
            }
            self.take_next(cx);
        }
    }

    fn take_next(&mut self, cx: &mut Context<'_, Message>) {
        while self.transfer.is_none() {
            let Some(request) = self.waiting.pop_front() else { return };
            match request.operation {
                Operation::Write(value) if !self.register.has(&request) => {
                    let (client, number) = (request.client, request.number);
                    let version = self.register.version + 1;
                    let write = Write { version, value, client, number };
                    self.register.apply(write);
                    if self.bug == Bug::RepliesEarly {
                        self.reply(&request, cx);
                    }
                    self.begin(Some((write, request)), cx);
                }
                Operation::Read | Operation::Write(_) => self.reply(&request, cx),
            }
        }
    }

    fn enter_view(&mut self, members: Members, cx: &mut Context<'_, Message>) {
        let was_primary = self.is_primary();
        let is_first_view = self.members.is_empty();
        self.members = members;
        if let Some(transfer) = &mut self.transfer {
            let members = &self.members;
            let is_member = |one: &usize| members.iter().any(|(number, _)| number == one);
            transfer.missing.retain(is_member);
            self.end_if_all_have_it(cx);
        } else if self.is_primary() && !was_primary && !is_first_view && self.bug != Bug::NoSync {
            self.begin(None, cx);
        }
    }
}

impl Actor for Server {
    type Message = Message;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Message>) {
        let server = self.number;
        match message {
            _ if self.is_down => {}
            Message::View { members, service } => {
                self.service = Some(service);
                self.enter_view(members, cx);
            }
            Message::Crash => {
                self.is_down = true;
                let service = self.service.as_ref().expect("the first view comes before all else");
                cx.send(service, Message::Failed { server });
            }
            Message::Ask(request) if self.is_primary() => {
                if self.bug == Bug::DirtyRead && request.operation == Operation::Read {
                    self.reply(&request, cx);
                } else {
                    self.waiting.push_back(request);
                    self.take_next(cx);
                }
            }
            Message::Send => self.send_next(cx),
            Message::Replicate { write, primary } => {
                let next = self.register.version + 1;
                assert_eq!(write.version, next, "writes come in order and once");
                self.register.apply(write);
                cx.send(&primary, Message::Ack { server, version: write.version });
            }
            Message::Sync { register, primary } => {
                let version = register.version;
                self.register = register;
                cx.send(&primary, Message::Ack { server, version });
            }
            Message::Ack { server, version } if version == self.register.version => {
                if let Some(transfer) = &mut self.transfer {
                    transfer.missing.remove(&server);
                    self.end_if_all_have_it(cx);
                }
            }
            other => cx.unhandled(&other),
        }
    }
}

/// Where its actors are.
#[derive(Clone, Debug)]
pub struct Nodes {
    /// The first one is the primary at the beginning.
    pub servers: Vec<Address<Message>>,
    /// Read and write.
    pub clients: Vec<Address<Message>>,
    /// Is told what happens.
    pub history: Witness<Event>,
}

/// Builds it in a system of any manager.
#[must_use]
pub fn build(system: &System, bug: Bug, size: Size) -> Nodes {
    let history = Witness::new(system, Linearizable::default);
    let server = |number| {
        let (is_down, service, members) = (false, None, Members::new());
        let (register, waiting, transfer) = (Register::default(), VecDeque::new(), None);
        let server = Server { bug, number, is_down, service, members, register, waiting, transfer };
        system.spawn_named(&format!("server {number}"), server)
    };
    let servers: Vec<_> = (0..size.servers).map(server).collect();
    let members = servers.iter().cloned().enumerate().collect();
    let service = system.spawn_named("service", Service { members, clients: Vec::new() });
    let client = |number| {
        let (operations, service) = (size.operations as u32, service.clone());
        let client = Client {
            watch: history.clone(),
            number,
            operations,
            service,
            primary: None,
            begun: 0,
            waiting: None,
        };
        system.spawn_named(&format!("client {number}"), client)
    };
    let clients = (0..size.clients).map(client).collect();
    let injector =
        Injector::new(servers.clone(), Failure::Stops, size.failures).pause(size.pause as u32);
    system.spawn_named("injector", injector);
    Nodes { servers, clients, history }
}

/// Whether all servers that have not failed have the same register.
#[must_use]
pub fn agree(servers: &[Server]) -> bool {
    let up: Vec<_> = servers.iter().filter(|server| !server.is_down).collect();
    up.windows(2).all(|pair| pair[0].register == pair[1].register)
}

/// The system with what must hold of it.
#[must_use]
pub fn model(bug: Bug, size: Size) -> Model<Nodes> {
    queues(move |system| build(system, bug, size)).finally("all agree", |nodes, view| {
        let server = |address| view.actor::<Server>(address).clone();
        agree(&nodes.servers.iter().map(server).collect::<Vec<_>>())
    })
}

/// Runs it to its end in a system of any manager, and looks at its history and at its end.
///
/// # Panics
/// If they are not what they must be.
fn produce(system: &System) {
    let size = Size { servers: 5, clients: 4, operations: 20, failures: 4, pause: 0 };
    let nodes = build(system, Bug::None, size);
    system.handle_all();
    let server = |address| system.inspect(address, |one: &Server| one.clone());
    let servers: Vec<_> = nodes.servers.iter().map(server).collect();
    assert!(agree(&servers), "all agree");
    assert!(!nodes.history.is_hot::<Linearizable>(system), "nothing is left undone");
}
