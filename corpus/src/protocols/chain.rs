//! Chain replication: updates go from the head to the tail, acknowledgements the other way, and a master
//! mends the chain when servers fail.
//!
//! van Renesse and Schneider, "Chain Replication for Supporting High Throughput and Availability" (OSDI
//! 2004), with one register whose versions are the numbers of updates. Servers fail and stop; the master hears
//! of it after all that the server has sent. Without the head its successor is the head, without the tail its
//! predecessor is. Without one in between, the master tells the successor of its new predecessor, is told how
//! far the successor has come, and tells the predecessor to go on from there. More servers may fail before
//! that is done: then the gap is another one, and the answer to the old question is of no use.
//!
//! A client has one operation at a time, and sends it again when it hears of another head or tail. So the head
//! may be asked for an update that it has: that is answered if it is stable, and will be answered by the tail
//! if it is not.
//!
//! What must hold: servers that have not failed have the same updates in the same order, each once; an
//! operation sees all that was returned before it was invoked (which, with versions, is linearizability);
//! and in the end no client waits.

use std::collections::{BTreeMap, BTreeSet};

use raddle::actors::{Actor, Address, Context, Model, Monitor, System};
use raddle::explorer::change_order;

use super::injector::{Failing, Failure, Injector};
use super::witness::Witness;
use super::{CRASH, MONITOR, Protocol, UNHANDLED, program, queues};
use crate::libraries::Test;
use crate::program::{Expected, Parameter, parameter};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// Nothing.
    None,
    /// A client has no use for a second reply to one request.
    ///
    /// Order: the tail fails while an update is on its way, and the client, which hears of the new tail, sends
    /// its request again. The update reaches the new tail, which replies, and is acknowledged up to the head
    /// before the request arrives there the second time: the head replies as well.
    RepeatedReply,
    /// The master has no use for the answer to a question about a gap that has changed.
    ///
    /// Order: two neighbours fail. A server fails, its successor answers, and before the master has the
    /// answer it hears that the predecessor has failed as well.
    StaleLink,
    /// The master tells clients of a new head before it tells the server.
    ///
    /// Order: the head fails; a client sends its update to the new head, which handles it before it knows
    /// that it has no predecessor any more.
    EarlyClients,
    /// A predecessor sends all that is not acknowledged to its new successor, which may have some of it.
    ///
    /// Order: in a chain of at least four the second server fails when it has passed an update on, and the
    /// third one has not had the acknowledgement of it.
    ResendsAll,
    /// The master knows a gap by its place in the chain, which moves when a server before it fails.
    ///
    /// Order: a server fails, its successor answers, and before the master has the answer it hears that a server
    /// before both has failed as well.
    GapByPlace,
    /// A server expects each acknowledgement to be of one more update.
    ///
    /// Order: a server between two others fails after an update has been acknowledged. Its successor tells its
    /// new predecessor what is stable, which that one knows.
    AcksOneByOne,
    /// A predecessor sends nothing to its new successor of what was lost on the way.
    ///
    /// Order: a server between two others fails before it handles an update that its predecessor has passed
    /// on. That update is never answered.
    LosesInFlight,
    /// The head takes a request that is sent again for a new one.
    ///
    /// Order: the tail fails while an update is on its way; the client hears of the new tail and sends its
    /// request again.
    RepeatsUpdate,
    /// The head replies to a request that is sent again if it has the update, stable or not.
    ///
    /// Order: as for [`RepeatsUpdate`](Self::RepeatsUpdate), and the client then asks the tail, which
    /// answers before the update arrives there.
    DirtyReply,
    /// The master does not listen to failures while it mends the chain.
    ///
    /// Order: two neighbours fail. A server fails, and its successor does before it has answered.
    DeafDuringRepair,
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
    parameter("servers", 4, 2, 64),
    parameter("clients", 1, 1, 16),
    parameter("operations", 2, 1, 64),
    parameter("failures", 2, 0, 63),
    parameter("pause", 0, 0, 1_000),
];

const LARGE: [usize; 5] = [6, 4, 20, 2, 0];

/// Four servers and two failures are the least that shows every bug.
pub const PROTOCOL: Protocol = Protocol {
    name: "chain replication",
    line: "a chain of servers, a master that mends it, clients, and servers that fail",
    produce,
    test: Test {
        correct: program("chain", "chain replication with servers that fail")
            .many(|size| sized(Bug::None, size).run(), &PARAMETERS)
            .states(|size, visit| visit.model(&sized(Bug::None, size)))
            .large(&LARGE),
        bugs: &[
            program("chain-repeated-reply", "a client does not expect a second reply")
                .many(|size| sized(Bug::RepeatedReply, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::RepeatedReply, size)))
                .bug(Expected::Panic, UNHANDLED)
                .large(&[8, 1, 16, 1, 120]),
            program("chain-stale-link", "an answer about a gap that has changed")
                .many(|size| sized(Bug::StaleLink, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::StaleLink, size)))
                .bug(Expected::Panic, UNHANDLED)
                .large(&[16, 1, 24, 2, 10]),
            program("chain-early-clients", "clients know the new head before it does")
                .many(|size| sized(Bug::EarlyClients, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::EarlyClients, size)))
                .bug(Expected::Panic, UNHANDLED)
                .large(&[8, 1, 16, 1, 145]),
            program("chain-resends-all", "a new successor is sent what it has")
                .many(|size| sized(Bug::ResendsAll, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::ResendsAll, size)))
                .bug(Expected::Panic, CRASH)
                .large(&[16, 1, 10, 1, 170]),
            program("chain-gap-by-place", "a gap is known by its place, which moves")
                .many(|size| sized(Bug::GapByPlace, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::GapByPlace, size)))
                .bug(Expected::Panic, CRASH)
                .large(&[16, 1, 24, 2, 10]),
            program("chain-acks-one-by-one", "an acknowledgement is of one update")
                .many(|size| sized(Bug::AcksOneByOne, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::AcksOneByOne, size)))
                .bug(Expected::Panic, CRASH)
                .large(&[16, 1, 24, 1, 5]),
            program("chain-loses-in-flight", "a new successor is not sent what was lost")
                .many(|size| sized(Bug::LosesInFlight, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::LosesInFlight, size)))
                .bug(Expected::Panic, MONITOR)
                .large(&[64, 1, 3, 1, 150]),
            program("chain-repeats-update", "a request that is sent again is carried out again")
                .many(|size| sized(Bug::RepeatsUpdate, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::RepeatsUpdate, size)))
                .bug(Expected::Panic, MONITOR)
                .large(&[8, 1, 16, 1, 145]),
            program("chain-dirty-reply", "an update is confirmed before it is stable")
                .many(|size| sized(Bug::DirtyReply, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::DirtyReply, size)))
                .bug(Expected::Panic, MONITOR)
                .large(&[8, 1, 16, 1, 100]),
            program("chain-deaf-during-repair", "a failure while the chain is mended is missed")
                .many(|size| sized(Bug::DeafDuringRepair, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::DeafDuringRepair, size)))
                .bug(Expected::Panic, MONITOR)
                .large(&[16, 1, 24, 2, 10]),
        ],
    },
};

fn sized(bug: Bug, size: &[usize]) -> Model<Nodes> {
    let &[servers, clients, operations, failures, pause] = size else {
        unreachable!("five arguments")
    };
    model(bug, Size { servers, clients, operations, failures, pause })
}

/// What a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// To make a new version.
    Update,
    /// To know the version.
    Query,
}

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// Whose: its number.
    pub client: usize,
    /// Which of the client's, from 0.
    pub number: u32,
    /// Where the reply goes.
    pub address: Address<Message>,
}

/// What all its actors are told.
#[derive(Clone, Debug, Hash)]
pub enum Message {
    /// To a client: who is the head and who the tail from now on.
    Configuration {
        /// Takes updates.
        head: Address<Message>,
        /// Takes queries.
        tail: Address<Message>,
    },
    /// To a client: the version that its update made, or that its query saw.
    Reply {
        /// Which of its requests.
        number: u32,
        /// The version.
        version: u32,
    },
    /// To the master: a client that wants to know the configuration.
    Join {
        /// Who.
        client: Address<Message>,
    },
    /// To the master: a server has failed.
    Failed {
        /// Which.
        server: usize,
    },
    /// To the master: a server has a new predecessor.
    Linked {
        /// As it was asked.
        epoch: u32,
        /// Which server.
        server: usize,
        /// Its last version.
        version: u32,
    },
    /// To the master, from itself: the new head is to be told. Only with [`Bug::EarlyClients`].
    Promote,
    /// To a server: its place.
    Place {
        /// None: it is the head.
        predecessor: Option<Address<Message>>,
        /// None: it is the tail.
        successor: Option<Address<Message>>,
        /// Who mends the chain.
        master: Address<Message>,
    },
    /// To the head.
    Update(Request),
    /// To the tail.
    Query(Request),
    /// To a successor.
    Forward {
        /// The version that it makes.
        version: u32,
        /// The update.
        update: Request,
    },
    /// To a predecessor: the tail has all up to this version.
    Ack {
        /// The last one.
        version: u32,
    },
    /// To a server without a predecessor.
    BecomeHead,
    /// To a server without a successor.
    BecomeTail,
    /// To a server whose predecessor has failed.
    NewPredecessor {
        /// To be repeated in the answer.
        epoch: u32,
        /// Who.
        predecessor: Address<Message>,
    },
    /// To a server whose successor has failed.
    NewSuccessor {
        /// Who.
        successor: Address<Message>,
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

/// Updates and queries, one after another.
#[derive(Clone, Debug, Hash)]
pub struct Client {
    bug: Bug,
    watch: Witness<Event>,
    number: usize,
    operations: u32,
    master: Address<Message>,
    /// The head and the tail.
    ends: Option<(Address<Message>, Address<Message>)>,
    /// How many it has begun.
    begun: u32,
    /// The operation that it waits for.
    waiting: Option<Operation>,
}

impl Client {
    fn send(&self, cx: &mut Context<'_, Message>) {
        let (Some(operation), Some((head, tail))) = (self.waiting, &self.ends) else { return };
        let (client, number, address) = (self.number, self.begun, cx.me().clone());
        let request = Request { client, number, address };
        match operation {
            Operation::Update => cx.send(head, Message::Update(request)),
            Operation::Query => cx.send(tail, Message::Query(request)),
        }
    }

    fn begin(&mut self, cx: &mut Context<'_, Message>) {
        if self.begun == self.operations {
            return;
        }
        self.begun += 1;
        self.waiting = Some(*cx.choose_from(&[Operation::Update, Operation::Query]));
        self.watch.tell(Event::Invoked { client: self.number }, cx);
        self.send(cx);
    }
}

impl Actor for Client {
    type Message = Message;
    raddle::actors::snapshots!();

    fn start(&mut self, cx: &mut Context<'_, Message>) {
        let client = cx.me().clone();
        cx.send(&self.master, Message::Join { client });
    }

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Message>) {
        match message {
            Message::Configuration { head, tail } => {
                let is_first = self.ends.replace((head, tail)).is_none();
                if is_first {
                    self.begin(cx);
                } else {
                    self.send(cx);
                }
            }
            Message::Reply { number, version } => match self.waiting {
                Some(operation) if number == self.begun => {
                    self.waiting = None;
                    let client = self.number;
                    let returned = Event::Returned { client, number, operation, version };
                    self.watch.tell(returned, cx);
                    self.begin(cx);
                }
                // It was sent twice, and answered twice.
                _ if self.bug != Bug::RepeatedReply => {}
                _ => cx.unhandled(&message),
            },
            other => cx.unhandled(&other),
        }
    }
}

/// A server between two that were not neighbours before.
#[derive(Clone, Debug, Hash)]
struct Gap {
    epoch: u32,
    predecessor: Address<Message>,
    successor: Address<Message>,
    /// Where the successor was when this was asked.
    place: usize,
}

/// Knows the chain and mends it.
#[derive(Clone, Debug, Hash)]
struct Master {
    bug: Bug,
    /// Those that have not failed, as far as is known, with their numbers.
    chain: Vec<(usize, Address<Message>)>,
    clients: Vec<Address<Message>>,
    /// How many clients are yet to join.
    joining: usize,
    epoch: u32,
    /// By the number of the successor.
    gaps: BTreeMap<usize, Gap>,
}

impl Master {
    fn configuration(&self) -> Message {
        let [(_, head), ..] = &self.chain[..] else { unreachable!("one does not fail") };
        let [.., (_, tail)] = &self.chain[..] else { unreachable!("one does not fail") };
        Message::Configuration { head: head.clone(), tail: tail.clone() }
    }

    fn tell_clients(&self, cx: &mut Context<'_, Message>) {
        for client in &self.clients {
            cx.send(client, self.configuration());
        }
    }

    fn mend(&mut self, failed: usize, cx: &mut Context<'_, Message>) {
        if self.bug == Bug::DeafDuringRepair && !self.gaps.is_empty() {
            return;
        }
        let place = self.chain.iter().position(|(number, _)| *number == failed);
        let place = place.expect("a server fails once");
        self.chain.remove(place);
        self.gaps.remove(&failed);
        if place == 0 {
            let (number, head) = &self.chain[0];
            self.gaps.remove(number);
            if self.bug == Bug::EarlyClients {
                let me = cx.me().clone();
                cx.send(&me, Message::Promote);
            } else {
                cx.send(head, Message::BecomeHead);
            }
            self.tell_clients(cx);
        } else if place == self.chain.len() {
            cx.send(&self.chain[place - 1].1, Message::BecomeTail);
            self.tell_clients(cx);
        } else {
            self.epoch += 1;
            let (epoch, predecessor) = (self.epoch, self.chain[place - 1].1.clone());
            let (number, successor) = self.chain[place].clone();
            let question = Message::NewPredecessor { epoch, predecessor: predecessor.clone() };
            cx.send(&successor, question);
            self.gaps.insert(number, Gap { epoch, predecessor, successor, place });
        }
    }
}

impl Actor for Master {
    type Message = Message;
    raddle::actors::snapshots!();

    fn start(&mut self, cx: &mut Context<'_, Message>) {
        let address = |place: usize| self.chain.get(place).map(|(_, address)| address.clone());
        for (place, (_, server)) in self.chain.iter().enumerate() {
            let predecessor = place.checked_sub(1).and_then(address);
            let (successor, master) = (address(place + 1), cx.me().clone());
            cx.send(server, Message::Place { predecessor, successor, master });
        }
    }

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Message>) {
        match message {
            Message::Join { client } => {
                cx.send(&client, self.configuration());
                self.clients.push(client);
                self.joining -= 1;
                if self.joining == 0 {
                    // The chain is set up. Only an explorer that is made for this hears of it.
                    change_order(["injector", "master"]);
                }
            }
            Message::Failed { server } => self.mend(server, cx),
            Message::Linked { epoch, server, version } => {
                match self.gaps.get(&server) {
                    Some(gap) if gap.epoch == epoch => {
                        if self.bug == Bug::GapByPlace {
                            let there = self.chain.get(gap.place).map(|(number, _)| *number);
                            assert_eq!(there, Some(server), "a gap is where it was");
                        }
                        let successor = gap.successor.clone();
                        let go_on = Message::NewSuccessor { successor, version };
                        cx.send(&gap.predecessor, go_on);
                        self.gaps.remove(&server);
                    }
                    // The gap has changed since: there is another question, or none is needed.
                    _ if self.bug != Bug::StaleLink => {}
                    _ => cx.unhandled(&message),
                }
            }
            Message::Promote => cx.send(&self.chain[0].1, Message::BecomeHead),
            other => cx.unhandled(&other),
        }
    }
}

/// Has a copy of the register.
#[derive(Clone, Debug, Hash)]
pub struct Server {
    bug: Bug,
    watch: Witness<Event>,
    number: usize,
    is_down: bool,
    master: Option<Address<Message>>,
    predecessor: Option<Address<Message>>,
    successor: Option<Address<Message>>,
    /// All updates; the first one makes version 1.
    history: Vec<Request>,
    /// The tail has all up to this version, as far as is known. What comes after it is on its way.
    stable: u32,
}

impl Server {
    /// Whether it has failed.
    #[must_use]
    pub fn is_down(&self) -> bool {
        self.is_down
    }

    /// How many updates it has.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.history.len() as u32
    }

    fn reply(&self, version: u32, cx: &mut Context<'_, Message>) {
        let request = &self.history[version as usize - 1];
        cx.send(&request.address, Message::Reply { number: request.number, version });
    }

    fn forward(&self, version: u32, cx: &mut Context<'_, Message>) {
        if let Some(successor) = &self.successor {
            let update = self.history[version as usize - 1].clone();
            cx.send(successor, Message::Forward { version, update });
        }
    }

    fn acknowledge(&mut self, version: u32, cx: &mut Context<'_, Message>) {
        self.stable = version;
        if let Some(predecessor) = &self.predecessor {
            cx.send(predecessor, Message::Ack { version });
        }
    }

    fn apply(&mut self, update: Request, cx: &mut Context<'_, Message>) {
        let (client, number) = (update.client, update.number);
        self.history.push(update);
        let (server, version) = (self.number, self.version());
        self.watch.tell(Event::Applied { server, version, client, number }, cx);
        if self.successor.is_some() {
            self.forward(version, cx);
        } else {
            self.reply(version, cx);
            self.acknowledge(version, cx);
        }
    }

    fn update(&mut self, update: Request, cx: &mut Context<'_, Message>) {
        let known = match self.bug {
            Bug::RepeatsUpdate => None,
            _ => self.history.iter().position(|other| *other == update),
        };
        match known.map(|place| place as u32 + 1) {
            None => self.apply(update, cx),
            Some(version) if version <= self.stable || self.bug == Bug::DirtyReply => {
                self.reply(version, cx);
            }
            // The tail will reply.
            Some(_) => {}
        }
    }

    fn become_tail(&mut self, cx: &mut Context<'_, Message>) {
        self.successor = None;
        let last = self.version();
        if self.stable < last {
            for version in self.stable + 1..=last {
                self.reply(version, cx);
            }
            self.acknowledge(last, cx);
        }
    }

    fn link(&mut self, epoch: u32, predecessor: Address<Message>, cx: &mut Context<'_, Message>) {
        // What the server between has acknowledged may have been lost with it.
        if self.stable > 0 {
            cx.send(&predecessor, Message::Ack { version: self.stable });
        }
        self.predecessor = Some(predecessor);
        let (server, version) = (self.number, self.version());
        let master = self.master.as_ref().expect("a server is placed before all else");
        cx.send(master, Message::Linked { epoch, server, version });
    }

    fn go_on(&mut self, successor: Address<Message>, has: u32, cx: &mut Context<'_, Message>) {
        self.successor = Some(successor);
        let has = match self.bug {
            Bug::ResendsAll => self.stable,
            Bug::LosesInFlight => self.version(),
            _ => has,
        };
        for version in has + 1..=self.version() {
            self.forward(version, cx);
        }
    }
}

impl Actor for Server {
    type Message = Message;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Message>) {
        match message {
            _ if self.is_down => {}
            Message::Place { predecessor, successor, master } => {
                (self.predecessor, self.successor) = (predecessor, successor);
                self.master = Some(master);
            }
            Message::Crash => {
                self.is_down = true;
                let server = self.number;
                self.watch.tell(Event::Failed { server }, cx);
                let master = self.master.as_ref().expect("a server is placed before all else");
                cx.send(master, Message::Failed { server });
            }
            Message::Update(update) if self.predecessor.is_none() => self.update(update, cx),
            Message::Query(query) if self.successor.is_none() => {
                let (number, version) = (query.number, self.version());
                cx.send(&query.address, Message::Reply { number, version });
            }
            Message::Forward { version, update } => {
                assert_eq!(version, self.version() + 1, "updates come in order and once");
                self.apply(update, cx);
            }
            Message::Ack { version } => {
                if self.bug == Bug::AcksOneByOne {
                    assert_eq!(version, self.stable + 1, "updates are acknowledged one by one");
                }
                if version > self.stable {
                    self.acknowledge(version, cx);
                }
            }
            Message::BecomeHead => self.predecessor = None,
            Message::BecomeTail => self.become_tail(cx),
            Message::NewPredecessor { epoch, predecessor } => self.link(epoch, predecessor, cx),
            Message::NewSuccessor { successor, version } => self.go_on(successor, version, cx),
            other => cx.unhandled(&other),
        }
    }
}

/// What the monitor is told.
#[derive(Clone, Copy, Debug, Hash)]
pub enum Event {
    /// A client has begun an operation.
    Invoked {
        /// Which client.
        client: usize,
    },
    /// A client has the reply.
    Returned {
        /// Which client.
        client: usize,
        /// Which of its requests.
        number: u32,
        /// What it wanted.
        operation: Operation,
        /// The version.
        version: u32,
    },
    /// A server has a new version.
    Applied {
        /// Which server.
        server: usize,
        /// The version.
        version: u32,
        /// Whose update it is.
        client: usize,
        /// Which of its requests.
        number: u32,
    },
    /// A server has failed.
    Failed {
        /// Which.
        server: usize,
    },
}

/// One register for all who look.
#[derive(Clone, Debug, Default, Hash)]
struct Register {
    /// The update of each version that a server has which has not failed.
    order: Vec<(usize, u32)>,
    /// The versions of servers that have not failed.
    versions: BTreeMap<usize, u32>,
    /// The highest version that was returned.
    returned: u32,
    /// Those who wait, and what had been returned when they began.
    waiting: BTreeMap<usize, u32>,
}

impl Monitor for Register {
    type Event = Event;
    raddle::actors::snapshots!(monitor);

    fn observe(&mut self, event: Event) {
        match event {
            Event::Invoked { client } => {
                self.waiting.insert(client, self.returned);
            }
            Event::Returned { client, number, operation, version } => {
                let before = self.waiting.remove(&client).expect("it was invoked");
                let new = u32::from(operation == Operation::Update);
                assert!(
                    version >= before + new,
                    "client {client} sees version {version}, and {before} was returned before"
                );
                if operation == Operation::Update {
                    let made_by = self.order.get(version as usize - 1);
                    assert_eq!(made_by, Some(&(client, number)), "version {version} is lost");
                }
                self.returned = self.returned.max(version);
            }
            Event::Applied { server, version, client, number } => {
                let last = self.versions.insert(server, version).unwrap_or(0);
                assert_eq!(version, last + 1, "server {server} leaves out a version");
                let update = (client, number);
                if let Some(other) = self.order.get(version as usize - 1) {
                    assert_eq!(*other, update, "version {version} is two updates");
                } else {
                    let twice = self.order.contains(&update);
                    assert!(!twice, "update {number} of client {client} is applied twice");
                    self.order.push(update);
                }
            }
            Event::Failed { server } => {
                // What it alone had is lost, and may be asked for again.
                self.versions.remove(&server);
                let known = self.versions.values().max().copied().unwrap_or(0);
                self.order.truncate(known as usize);
            }
        }
    }

    fn is_hot(&self) -> bool {
        !self.waiting.is_empty()
    }
}

/// Where its actors are.
#[derive(Clone, Debug)]
pub struct Nodes {
    /// From the head to the tail, as they are at the beginning.
    pub servers: Vec<Address<Message>>,
    /// Update and query.
    pub clients: Vec<Address<Message>>,
    /// Is told what happens.
    pub history: Witness<Event>,
}

/// Builds it in a system of any manager.
#[must_use]
pub fn build(system: &System, bug: Bug, size: Size) -> Nodes {
    let history = Witness::new(system, Register::default);
    let server = |number| {
        let (master, predecessor, successor) = (None, None, None);
        let (watch, is_down, history, stable) = (history.clone(), false, Vec::new(), 0);
        let server =
            Server { bug, watch, number, is_down, master, predecessor, successor, history, stable };
        system.spawn_named(&format!("server {number}"), server)
    };
    let servers: Vec<_> = (0..size.servers).map(server).collect();
    let chain = servers.iter().cloned().enumerate().collect();
    let (clients, joining, gaps) = (Vec::new(), size.clients, BTreeMap::new());
    let master = Master { bug, chain, clients, joining, epoch: 0, gaps };
    let master = system.spawn_named("master", master);
    let client = |number| {
        let (operations, master) = (size.operations as u32, master.clone());
        let (watch, ends, begun, waiting) = (history.clone(), None, 0, None);
        let client = Client { bug, watch, number, operations, master, ends, begun, waiting };
        system.spawn_named(&format!("client {number}"), client)
    };
    let clients: Vec<_> = (0..size.clients).map(client).collect();
    let injector =
        Injector::new(servers.clone(), Failure::Stops, size.failures).pause(size.pause as u32);
    system.spawn_named("injector", injector);
    Nodes { servers, clients, history }
}

/// Whether all servers that have not failed have the same updates, each once, and know them to be stable; and
/// all clients have had their replies.
#[must_use]
pub fn agree(servers: &[Server], clients: &[Client]) -> bool {
    let up: Vec<_> = servers.iter().filter(|server| !server.is_down).collect();
    let updates = |server: &Server| {
        let each = server.history.iter().map(|update| (update.client, update.number));
        each.collect::<BTreeSet<_>>().len()
    };
    up.windows(2).all(|pair| pair[0].history == pair[1].history)
        && up.iter().all(|server| server.stable == server.version())
        && up.iter().all(|server| updates(server) == server.history.len())
        && clients.iter().all(|one| one.begun == one.operations && one.waiting.is_none())
}

/// The system with what must hold of it.
#[must_use]
pub fn model(bug: Bug, size: Size) -> Model<Nodes> {
    queues(move |system| build(system, bug, size)).finally("all agree", |nodes, view| {
        let server = |address| view.actor::<Server>(address).clone();
        let servers: Vec<_> = nodes.servers.iter().map(server).collect();
        let client = |address| view.actor::<Client>(address).clone();
        let clients: Vec<_> = nodes.clients.iter().map(client).collect();
        agree(&servers, &clients)
    })
}

/// Runs it to its end in a system of any manager, and looks at its history and at its end.
///
/// # Panics
/// If they are not what they must be.
fn produce(system: &System) {
    let size = Size { servers: 6, clients: 4, operations: 50, failures: 5, pause: 0 };
    let nodes = build(system, Bug::None, size);
    system.handle_all();
    let server = |address| system.inspect(address, |one: &Server| one.clone());
    let servers: Vec<_> = nodes.servers.iter().map(server).collect();
    let client = |address| system.inspect(address, |one: &Client| one.clone());
    let clients: Vec<_> = nodes.clients.iter().map(client).collect();
    assert!(agree(&servers, &clients), "all agree");
    assert!(!nodes.history.is_hot::<Register>(system), "nothing is left undone");
}
