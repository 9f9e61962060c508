//! Multi-Paxos: a log of decisions, leaders that change, and a log that is compacted.
//!
//! Lamport, "The Part-Time Parliament" (1998), in the form of van Renesse and Altinbuken, "Paxos Made Moderately
//! Complex" (2015). Every replica proposes, accepts and learns. A replica whose timer fires asks all to promise
//! its ballot, for all slots at once. With the promises of a majority it leads: it proposes once more what may
//! have been chosen, nothing (0) where there is a gap, and commands after that. A slot that is chosen is told to
//! all; replicas apply slots in order. When a replica has applied so many it *compacts*: it forgets its votes for
//! these and keeps their effect alone. From then on it must say so: a proposer that asks about those slots is given the
//! effect. Replicas crash and come back with all but their leadership. They send to one peer after another,
//! each in a step of its own.
//!
//! What must hold: one value at most is chosen in a slot, and only that is applied there. That something is
//! chosen is not promised.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use raddle::actors::{Actor, Address, Context, Model, Monitor, System};

use super::injector::{Failing, Failure, Injector};
use super::paxos::{Ballot, Vote};
use super::timer::{Timeout, Timer, ToTimer};
use super::witness::Witness;
use super::{MONITOR, Protocol, UNHANDLED, program, queues};
use crate::libraries::Test;
use crate::program::{Expected, Parameter, parameter};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// Nothing.
    None,
    /// A replica has no use for a refusal when it does not lead any more.
    ///
    /// Order: two peers have promised a higher ballot, and both refuse what the old leader sends to them. The
    /// first refusal ends its leadership.
    SecondRefusal,
    /// A replica that has compacted does not say so: it promises as if it had never voted.
    ///
    /// Order: a slot is chosen by replicas 0 and 1, and replica 0 applies and compacts it. Replica 2, which has
    /// heard nothing, becomes the leader with the promise of replica 0, and has something else chosen there.
    SilentCompaction,
    /// A new leader counts the slots that it was told of, and goes on after as many.
    ///
    /// Order: a replica is down while it is asked to vote for the first slot, and votes for the second. It
    /// becomes the leader without the old one, knows of one slot, the second, and proposes a command there in
    /// which it has just proposed the old one.
    SlotsByCount,
}

/// How large it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// How many there are: an odd number is best.
    pub replicas: usize,
    /// How many times each tries to lead at most.
    pub elections: usize,
    /// How many commands there are, each for one replica.
    pub commands: usize,
    /// How many times a replica crashes.
    pub crashes: usize,
    /// How many steps of its own the injector takes before each failure, and the timer of the first replica
    /// before it may fire; that of the second takes twice as many, and so on.
    pub pause: usize,
}

const PARAMETERS: [Parameter; 5] = [
    parameter("replicas", 3, 1, 15),
    parameter("elections", 1, 1, 16),
    parameter("commands", 3, 0, 64),
    parameter("crashes", 1, 0, 16),
    parameter("pause", 0, 0, 1_000),
];

const LARGE: [usize; 5] = [5, 3, 30, 2, 0];

/// After so many slots a replica compacts.
const COMPACTION: u32 = 1;

/// Three replicas, three commands and one crash are the least that shows every bug.
pub const PROTOCOL: Protocol = Protocol {
    name: "multi-Paxos",
    line: "a log of decisions, leaders that change, and a log that is compacted",
    produce,
    test: Test {
        correct: program("multi-paxos", "decisions in slots, leaders that change, compaction")
            .many(|size| sized(Bug::None, size).run(), &PARAMETERS)
            .states(|size, visit| visit.model(&sized(Bug::None, size)))
            .large(&LARGE),
        bugs: &[
            program("multi-paxos-second-refusal", "a refusal comes to one that does not lead")
                .many(|size| sized(Bug::SecondRefusal, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::SecondRefusal, size)))
                .bug(Expected::Panic, UNHANDLED)
                .large(&[3, 1, 10, 0, 40]),
            program("multi-paxos-silent-compaction", "votes are forgotten, and that is forgotten")
                .many(|size| sized(Bug::SilentCompaction, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::SilentCompaction, size)))
                .bug(Expected::Panic, MONITOR)
                .large(&LARGE),
            program("multi-paxos-slots-by-count", "slots are counted as if there were no gaps")
                .many(|size| sized(Bug::SlotsByCount, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::SlotsByCount, size)))
                .bug(Expected::Panic, MONITOR)
                .large(&LARGE),
        ],
    },
};

fn sized(bug: Bug, size: &[usize]) -> Model<Nodes> {
    let &[replicas, elections, commands, crashes, pause] = size else {
        unreachable!("five arguments")
    };
    model(bug, Size { replicas, elections, commands, crashes, pause })
}

/// The effect of all slots up to one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Snapshot {
    /// The last slot.
    pub slots: u32,
    /// What they come to, in their order.
    pub digest: u32,
}

impl Snapshot {
    fn apply(&mut self, value: u32) {
        self.slots += 1;
        self.digest = self.digest.wrapping_mul(31).wrapping_add(value);
    }
}

/// What all its actors are told.
#[derive(Clone, Debug, Hash)]
pub enum Message {
    /// To the client: send the next command.
    Next,
    /// To a replica: all replicas, by number.
    Replicas(Vec<Address<Message>>),
    /// To a replica: it has waited long enough for a leader.
    Timeout {
        /// Of the timer.
        round: u32,
    },
    /// To a replica, from itself: send to the next peer.
    Send,
    /// To the leader, if it is one. Not 0.
    Command(u32),
    /// To all, from one that wants to lead.
    Prepare {
        /// With which ballot.
        ballot: Ballot,
    },
    /// To one that wants to lead.
    Promise {
        /// Which.
        ballot: Ballot,
        /// Who.
        acceptor: usize,
        /// Its votes, by slot.
        votes: BTreeMap<u32, Vote>,
        /// What it knows of the slots before these.
        snapshot: Snapshot,
    },
    /// To all, from the leader.
    Accept {
        /// Of the leader.
        ballot: Ballot,
        /// Where.
        slot: u32,
        /// What.
        value: u32,
    },
    /// To the leader.
    Accepted {
        /// Of the leader.
        ballot: Ballot,
        /// Where.
        slot: u32,
        /// Who.
        acceptor: usize,
    },
    /// To one that leads or wants to, from one that has promised a higher ballot.
    Refused {
        /// What was refused.
        ballot: Ballot,
        /// What was promised.
        promised: Ballot,
    },
    /// To all, from the leader.
    Chosen {
        /// Where.
        slot: u32,
        /// What.
        value: u32,
    },
    /// To the leader, which asks about a slot that is compacted.
    Compacted(Snapshot),
    /// To a replica.
    Crash,
    /// To a replica that is down.
    Restart,
}

impl Timeout for Message {
    fn timeout(round: u32) -> Self {
        Self::Timeout { round }
    }
}

impl Failing for Message {
    fn crash() -> Self {
        Self::Crash
    }

    fn restart() -> Self {
        Self::Restart
    }
}

/// Sends commands to any replica, which takes them if it is the leader.
#[derive(Clone, Debug, Hash)]
struct Client {
    replicas: Vec<Address<Message>>,
    left: u32,
}

impl Actor for Client {
    type Message = Message;
    raddle::actors::snapshots!();

    fn start(&mut self, cx: &mut Context<'_, Message>) {
        let me = cx.me().clone();
        cx.send(&me, Message::Next);
    }

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Message>) {
        match message {
            Message::Next if self.left > 0 => {
                let me = cx.me().clone();
                let replica = cx.choose_from(&self.replicas);
                cx.send(replica, Message::Command(self.left));
                self.left -= 1;
                cx.send(&me, Message::Next);
            }
            Message::Next => {}
            other => cx.unhandled(&other),
        }
    }
}

/// Lost in a crash.
#[derive(Clone, Debug, Hash)]
enum Role {
    Follower,
    /// With what it was promised by whom.
    Preparing {
        ballot: Ballot,
        promises: BTreeMap<usize, BTreeMap<u32, Vote>>,
    },
    /// With the slots that are not chosen: what it proposes there, and who has accepted that.
    Leading {
        ballot: Ballot,
        next: u32,
        open: BTreeMap<u32, (u32, BTreeSet<usize>)>,
    },
}

/// Proposes, accepts and learns.
#[derive(Clone, Debug, Hash)]
pub struct Replica {
    bug: Bug,
    watch: Witness<Event>,
    number: usize,
    replicas: Vec<Address<Message>>,
    timer: Option<Address<ToTimer>>,
    /// How slow the timer is.
    pause: u32,
    /// Of the timer.
    round: u32,
    /// How many times it may try to lead.
    elections: u32,
    is_down: bool,
    role: Role,
    /// What is to be sent, and to which peer.
    outbox: VecDeque<(usize, Message)>,
    /// On the disk, as all below.
    promised: Option<Ballot>,
    /// By slot; none that is compacted.
    votes: BTreeMap<u32, Vote>,
    /// Slots that are chosen and not compacted.
    chosen: BTreeMap<u32, u32>,
    /// What it has applied.
    applied: Snapshot,
    /// The last slot that is compacted.
    compacted: u32,
}

impl Replica {
    /// What it has applied.
    #[must_use]
    pub fn applied(&self) -> Snapshot {
        self.applied
    }

    fn majority(&self) -> usize {
        self.replicas.len() / 2 + 1
    }

    /// Its timer fires once more, if it may try to lead once more.
    fn arm(&mut self, cx: &mut Context<'_, Message>) {
        self.round += 1;
        if self.elections > 0 {
            let timer = self.timer.as_ref().expect("it has one since its start");
            cx.send(timer, ToTimer::Start { round: self.round });
        }
    }

    fn send_all(&mut self, message: &Message, cx: &mut Context<'_, Message>) {
        let was_empty = self.outbox.is_empty();
        for peer in (0..self.replicas.len()).filter(|peer| *peer != self.number) {
            self.outbox.push_back((peer, message.clone()));
        }
        if was_empty && !self.outbox.is_empty() {
            let me = cx.me().clone();
            cx.send(&me, Message::Send);
        }
    }

    fn send_next(&mut self, cx: &mut Context<'_, Message>) {
        let Some((peer, message)) = self.outbox.pop_front() else { return };
        cx.send(&self.replicas[peer], message);
        if !self.outbox.is_empty() {
            let me = cx.me().clone();
            cx.send(&me, Message::Send);
        }
    }

    fn ballot(&self) -> Option<Ballot> {
        match self.role {
            Role::Follower => None,
            Role::Preparing { ballot, .. } | Role::Leading { ballot, .. } => Some(ballot),
        }
    }

    /// Whether this ballot may be promised or accepted; if so it is promised, and ends a lower one of its own.
    fn promise(&mut self, ballot: Ballot, cx: &mut Context<'_, Message>) -> bool {
        if self.promised.is_some_and(|promised| promised > ballot) {
            return false;
        }
        self.promised = Some(ballot);
        if self.ballot().is_some_and(|own| own < ballot) {
            self.follow(cx);
        }
        true
    }

    fn follow(&mut self, cx: &mut Context<'_, Message>) {
        self.role = Role::Follower;
        self.outbox.clear();
        self.arm(cx);
    }

    fn refuse(&self, ballot: Ballot, cx: &mut Context<'_, Message>) {
        let promised = self.promised.expect("it has promised a higher one");
        cx.send(&self.replicas[ballot.proposer], Message::Refused { ballot, promised });
    }

    fn prepare(&mut self, cx: &mut Context<'_, Message>) {
        self.elections -= 1;
        let round = self.promised.map_or(0, |ballot| ballot.round) + 1;
        let ballot = Ballot { round, proposer: self.number };
        self.promised = Some(ballot);
        let promises = BTreeMap::new();
        self.role = Role::Preparing { ballot, promises };
        self.outbox.clear();
        self.arm(cx);
        self.send_all(&Message::Prepare { ballot }, cx);
        self.promised_by(self.number, self.votes.clone(), cx);
    }

    fn promised_by(
        &mut self,
        acceptor: usize,
        votes: BTreeMap<u32, Vote>,
        cx: &mut Context<'_, Message>,
    ) {
        let majority = self.majority();
        let Role::Preparing { ballot, promises } = &mut self.role else { return };
        promises.insert(acceptor, votes);
        if promises.len() < majority {
            return;
        }
        let mut known: BTreeMap<u32, Vote> = BTreeMap::new();
        for (slot, vote) in promises.values().flatten() {
            let newest = known.entry(*slot).or_insert(*vote);
            *newest = (*newest).max(*vote);
        }
        let ballot = *ballot;
        let first = self.applied.slots + 1;
        known.retain(|slot, _| *slot >= first);
        let last = known.keys().last().copied().unwrap_or(first - 1);
        let (next, slots): (u32, Vec<u32>) = match self.bug {
            Bug::SlotsByCount => (first + known.len() as u32, known.keys().copied().collect()),
            _ => (last + 1, (first..=last).collect()),
        };
        self.role = Role::Leading { ballot, next, open: BTreeMap::new() };
        for slot in slots {
            // Nothing can have been chosen in a gap.
            let value = known.get(&slot).map_or(0, |(_, value)| *value);
            self.propose(slot, value, cx);
        }
    }

    fn propose(&mut self, slot: u32, value: u32, cx: &mut Context<'_, Message>) {
        let Role::Leading { ballot, open, .. } = &mut self.role else { return };
        open.insert(slot, (value, BTreeSet::new()));
        let ballot = *ballot;
        self.send_all(&Message::Accept { ballot, slot, value }, cx);
        self.vote(ballot, slot, value, cx);
        self.accepted_by(self.number, slot, cx);
    }

    fn vote(&mut self, ballot: Ballot, slot: u32, value: u32, cx: &mut Context<'_, Message>) {
        self.votes.insert(slot, (ballot, value));
        let acceptor = self.number;
        self.watch.tell(Event::Accepted { acceptor, ballot, slot, value }, cx);
    }

    fn accepted_by(&mut self, acceptor: usize, slot: u32, cx: &mut Context<'_, Message>) {
        let majority = self.majority();
        let Role::Leading { open, .. } = &mut self.role else { return };
        let Some((value, acceptors)) = open.get_mut(&slot) else { return };
        acceptors.insert(acceptor);
        if acceptors.len() >= majority {
            let value = *value;
            open.remove(&slot);
            self.send_all(&Message::Chosen { slot, value }, cx);
            self.learn(slot, value, cx);
        }
    }

    fn learn(&mut self, slot: u32, value: u32, cx: &mut Context<'_, Message>) {
        if slot > self.applied.slots {
            self.chosen.insert(slot, value);
        }
        while let Some(&value) = self.chosen.get(&(self.applied.slots + 1)) {
            self.applied.apply(value);
            self.watch.tell(Event::Applied { slot: self.applied.slots, value }, cx);
        }
        if self.applied.slots >= self.compacted + COMPACTION {
            self.compact();
        }
    }

    fn compact(&mut self) {
        let last = self.applied.slots;
        self.compacted = last;
        self.votes.retain(|slot, _| *slot > last);
        self.chosen.retain(|slot, _| *slot > last);
    }

    /// Takes over what another one has applied, if that is more.
    fn install(&mut self, snapshot: Snapshot) {
        if snapshot.slots > self.applied.slots {
            self.applied = snapshot;
            self.compact();
            if let Role::Leading { next, open, .. } = &mut self.role {
                *next = (*next).max(snapshot.slots + 1);
                open.retain(|slot, _| *slot > snapshot.slots);
            }
        }
    }

    fn accept(&mut self, ballot: Ballot, slot: u32, value: u32, cx: &mut Context<'_, Message>) {
        if !self.promise(ballot, cx) {
            self.refuse(ballot, cx);
            return;
        }
        let answer = if slot <= self.compacted && self.bug != Bug::SilentCompaction {
            Message::Compacted(self.applied)
        } else {
            self.vote(ballot, slot, value, cx);
            Message::Accepted { ballot, slot, acceptor: self.number }
        };
        cx.send(&self.replicas[ballot.proposer], answer);
    }
}

impl Actor for Replica {
    type Message = Message;
    raddle::actors::snapshots!();

    fn start(&mut self, cx: &mut Context<'_, Message>) {
        let me = cx.me().clone();
        self.timer = Some(cx.spawn(Timer::new(me, 3).pause(self.pause)));
    }

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Message>) {
        let own = self.ballot();
        match message {
            Message::Restart => {
                self.is_down = false;
                self.arm(cx);
            }
            Message::Replicas(replicas) => {
                self.replicas = replicas;
                self.arm(cx);
            }
            // Before it knows the others, as on threads it may be, it hears nothing.
            _ if self.is_down || self.replicas.is_empty() => {}
            Message::Crash => {
                self.is_down = true;
                self.role = Role::Follower;
                self.outbox.clear();
            }
            Message::Timeout { round } => {
                let leads = matches!(self.role, Role::Leading { .. });
                if round == self.round && !leads && self.elections > 0 {
                    self.prepare(cx);
                }
            }
            Message::Send => self.send_next(cx),
            Message::Command(value) => {
                if let Role::Leading { next, .. } = &mut self.role {
                    let slot = *next;
                    *next += 1;
                    self.propose(slot, value, cx);
                }
            }
            Message::Prepare { ballot } => {
                if self.promise(ballot, cx) {
                    let (acceptor, votes) = (self.number, self.votes.clone());
                    let snapshot = match self.bug {
                        Bug::SilentCompaction => Snapshot::default(),
                        _ => self.applied,
                    };
                    let promise = Message::Promise { ballot, acceptor, votes, snapshot };
                    cx.send(&self.replicas[ballot.proposer], promise);
                } else {
                    self.refuse(ballot, cx);
                }
            }
            Message::Promise { ballot, acceptor, votes, snapshot } => {
                self.install(snapshot);
                if own == Some(ballot) {
                    self.promised_by(acceptor, votes, cx);
                }
            }
            Message::Accept { ballot, slot, value } => self.accept(ballot, slot, value, cx),
            Message::Accepted { ballot, slot, acceptor } => {
                if own == Some(ballot) {
                    self.accepted_by(acceptor, slot, cx);
                }
            }
            Message::Refused { ballot, promised } if own == Some(ballot) => {
                // The next ballot of its own is higher than this one.
                self.promised = self.promised.max(Some(promised));
                self.follow(cx);
            }
            Message::Refused { .. } if self.bug == Bug::SecondRefusal => cx.unhandled(&message),
            Message::Refused { .. } => {}
            Message::Chosen { slot, value } => self.learn(slot, value, cx),
            Message::Compacted(snapshot) => self.install(snapshot),
            Message::Next => cx.unhandled(&message),
        }
    }
}

/// What the monitor is told.
#[derive(Clone, Copy, Debug, Hash)]
pub enum Event {
    /// A replica has accepted.
    Accepted {
        /// Who.
        acceptor: usize,
        /// In which ballot.
        ballot: Ballot,
        /// Where.
        slot: u32,
        /// What.
        value: u32,
    },
    /// A replica has applied.
    Applied {
        /// Where.
        slot: u32,
        /// What.
        value: u32,
    },
}

/// One value in a slot.
#[derive(Clone, Debug, Hash)]
struct Agreement {
    majority: usize,
    votes: BTreeMap<(u32, Vote), BTreeSet<usize>>,
    chosen: BTreeMap<u32, u32>,
}

impl Monitor for Agreement {
    type Event = Event;
    raddle::actors::snapshots!(monitor);

    fn observe(&mut self, event: Event) {
        match event {
            Event::Accepted { acceptor, ballot, slot, value } => {
                let votes = self.votes.entry((slot, (ballot, value))).or_default();
                votes.insert(acceptor);
                if votes.len() >= self.majority {
                    let chosen = *self.chosen.entry(slot).or_insert(value);
                    assert_eq!(chosen, value, "two values are chosen in slot {slot}");
                }
            }
            Event::Applied { slot, value } => {
                let chosen = self.chosen.get(&slot);
                assert_eq!(chosen, Some(&value), "slot {slot} is applied and was not chosen");
            }
        }
    }
}

/// Where its actors are.
#[derive(Clone, Debug)]
pub struct Nodes {
    /// By number.
    pub replicas: Vec<Address<Message>>,
    /// Is told what happens.
    pub history: Witness<Event>,
}

/// Builds it in a system of any manager.
#[must_use]
pub fn build(system: &System, bug: Bug, size: Size) -> Nodes {
    let majority = size.replicas / 2 + 1;
    let history = Witness::new(system, || Agreement {
        majority,
        votes: BTreeMap::new(),
        chosen: BTreeMap::new(),
    });
    let replica = |number| {
        let replica = Replica {
            bug,
            watch: history.clone(),
            number,
            replicas: Vec::new(),
            timer: None,
            pause: (size.pause * (number + 1)) as u32,
            round: 0,
            elections: size.elections as u32,
            is_down: false,
            role: Role::Follower,
            outbox: VecDeque::new(),
            promised: None,
            votes: BTreeMap::new(),
            chosen: BTreeMap::new(),
            applied: Snapshot::default(),
            compacted: 0,
        };
        system.spawn_named(&format!("replica {number}"), replica)
    };
    let replicas: Vec<_> = (0..size.replicas).map(replica).collect();
    for replica in &replicas {
        system.send(replica, Message::Replicas(replicas.clone()));
    }
    let (left, targets) = (size.commands as u32, replicas.clone());
    system.spawn_named("client", Client { replicas: replicas.clone(), left });
    system.spawn_named(
        "injector",
        Injector::new(targets, Failure::Restarts, size.crashes).pause(size.pause as u32),
    );
    Nodes { replicas, history }
}

/// Whether replicas that have applied the same number of slots have come to the same.
#[must_use]
pub fn agree(replicas: &[Replica]) -> bool {
    let mut digests = BTreeMap::new();
    replicas.iter().all(|replica| {
        let Snapshot { slots, digest } = replica.applied;
        *digests.entry(slots).or_insert(digest) == digest
    })
}

/// The system with what must hold of it.
#[must_use]
pub fn model(bug: Bug, size: Size) -> Model<Nodes> {
    queues(move |system| build(system, bug, size)).finally("all agree", |nodes, view| {
        let replica = |address| view.actor::<Replica>(address).clone();
        agree(&nodes.replicas.iter().map(replica).collect::<Vec<_>>())
    })
}

/// Runs it to its end in a system of any manager, and looks at its history and at its end.
///
/// # Panics
/// If they are not what they must be.
fn produce(system: &System) {
    let size = Size { replicas: 5, elections: 10, commands: 50, crashes: 10, pause: 0 };
    let nodes = build(system, Bug::None, size);
    system.handle_all();
    let replica = |address| system.inspect(address, |one: &Replica| one.clone());
    let replicas: Vec<_> = nodes.replicas.iter().map(replica).collect();
    assert!(agree(&replicas), "all agree");
    assert!(!nodes.history.is_hot::<Agreement>(system), "nothing is left undone");
}
