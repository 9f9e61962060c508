//! Raft: the election of a leader, and a log that it replicates.
//!
//! Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm" (USENIX ATC 2014), sections 5.2 to
//! 5.4, without snapshots and changes of members. Servers crash and come back with their term, their vote and
//! their log. A server becomes a candidate when its timer fires, so many times. A leader sends what a follower
//! lacks when it is elected, when it has a command and when it has committed something; there are no other
//! heartbeats, so that an execution ends. A server sends to one peer after another, each in a step of its own.
//!
//! What must hold: a term has one leader at most, and what is committed at an index is the same for all servers,
//! for ever. That something is committed is not promised.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use raddle::actors::{Actor, Address, Context, Model, Monitor, System};

use super::injector::{Failing, Failure, Injector};
use super::timer::{Timeout, Timer, ToTimer};
use super::witness::Witness;
use super::{CRASH, MONITOR, Protocol, program, queues};
use crate::libraries::Test;
use crate::program::{Expected, Parameter, parameter};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// Nothing.
    None,
    /// A server has its vote in memory only.
    ///
    /// Order: two servers are candidates in one term. The third votes for one, crashes, comes back, and votes
    /// for the other: both are leaders of the term.
    VotesTwice,
    /// A leader commits an entry of an earlier term when a majority has it (figure 8 of the paper).
    ///
    /// Order: the leader of term 1 has an entry that no other server has. Another server is elected in term 2 and
    /// has another entry. The first one is elected in term 3 and brings its old entry to a majority, which
    /// commits it; then the second one is elected in term 4, because its last entry is of a later term, and
    /// replaces what was committed.
    CommitsOldTerms,
    /// A leader goes back by one entry for each refusal, whichever it sent.
    ///
    /// Order: a leader that has entries sends to a follower that has none, and sends again because of a
    /// command before the first refusal is there. It goes back twice, to before the first entry.
    BackTwice,
}

/// How large it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// How many there are: an odd number is best.
    pub servers: usize,
    /// How many times each becomes a candidate at most.
    pub elections: usize,
    /// How many commands there are, each for one server.
    pub commands: usize,
    /// How many times a server crashes.
    pub crashes: usize,
    /// How many steps of their own pass before a timer may fire and before a failure.
    pub pause: usize,
}

const PARAMETERS: [Parameter; 5] = [
    parameter("servers", 3, 1, 15),
    parameter("elections", 2, 1, 16),
    parameter("commands", 2, 0, 64),
    parameter("crashes", 1, 0, 16),
    parameter("pause", 0, 0, 1_000),
];

const LARGE: [usize; 5] = [5, 3, 8, 2, 0];

/// Three servers that become candidates twice, two commands and one crash are the least that shows every bug.
pub const PROTOCOL: Protocol = Protocol {
    name: "Raft",
    line: "the election of a leader and the log that it replicates",
    produce,
    test: Test {
        correct: program("raft", "the election of a leader and the log that it replicates")
            .many(|size| sized(Bug::None, size).run(), &PARAMETERS)
            .states(|size, visit| visit.model(&sized(Bug::None, size)))
            .large(&LARGE),
        bugs: &[
            program("raft-votes-twice", "a vote is not on the disk")
                .many(|size| sized(Bug::VotesTwice, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::VotesTwice, size)))
                .bug(Expected::Panic, MONITOR)
                .large(&LARGE),
            program("raft-commits-old-terms", "an entry of an earlier term is committed")
                .many(|size| sized(Bug::CommitsOldTerms, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::CommitsOldTerms, size)))
                .bug(Expected::Panic, MONITOR)
                .large(&LARGE),
            program("raft-back-twice", "one conflict is taken for two")
                .many(|size| sized(Bug::BackTwice, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::BackTwice, size)))
                .bug(Expected::Panic, CRASH)
                .large(&LARGE),
        ],
    },
};

fn sized(bug: Bug, size: &[usize]) -> Model<Nodes> {
    let &[servers, elections, commands, crashes, pause] = size else {
        unreachable!("five arguments")
    };
    model(bug, Size { servers, elections, commands, crashes, pause })
}

/// An entry of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Of the leader that has made it.
    pub term: u32,
    /// The command.
    pub value: u32,
}

/// The place of an entry, or 0 and 0 for the one before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Of the entry.
    pub term: u32,
    /// From 1.
    pub index: usize,
}

/// What all its actors are told.
#[derive(Clone, Debug, Hash)]
pub enum Message {
    /// To the client: send the next command.
    Next,
    /// To a server: all servers, by number.
    Servers(Vec<Address<Message>>),
    /// To a server: its time as a follower or a candidate is over.
    Timeout {
        /// Of the timer.
        round: u32,
    },
    /// To a server, from itself: send to the next peer.
    Send,
    /// To a server, which takes it when it is the leader.
    Command(u32),
    /// To all from a candidate.
    RequestVote {
        /// Of the candidate.
        term: u32,
        /// Who.
        candidate: usize,
        /// Its last entry.
        last: Position,
    },
    /// To a candidate.
    Vote {
        /// Of the voter.
        term: u32,
        /// Who.
        voter: usize,
        /// For the candidate.
        granted: bool,
    },
    /// To a follower from the leader.
    Append {
        /// Of the leader.
        term: u32,
        /// Who.
        leader: usize,
        /// The entry before the first of these.
        previous: Position,
        /// What the follower lacks.
        entries: Vec<Entry>,
        /// All up to this are committed.
        commit: usize,
    },
    /// To the leader.
    Appended {
        /// Of the follower.
        term: u32,
        /// Who.
        follower: usize,
        /// The last index that is as the leader's; or the one before the entries that were refused.
        index: usize,
        /// Not refused.
        success: bool,
    },
    /// To a server.
    Crash,
    /// To a server that is down.
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

/// Sends commands to any server.
#[derive(Clone, Debug, Hash)]
struct Client {
    servers: Vec<Address<Message>>,
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
                let server = cx.choose_from(&self.servers);
                cx.send(server, Message::Command(self.left));
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
    Candidate {
        votes: BTreeSet<usize>,
    },
    /// By follower: the index to send next, and the last one that it is known to have.
    Leader {
        next: Vec<usize>,
        matched: Vec<usize>,
    },
}

/// Follows, or leads.
#[derive(Clone, Debug, Hash)]
pub struct Server {
    bug: Bug,
    watch: Witness<Event>,
    number: usize,
    servers: Vec<Address<Message>>,
    timer: Option<Address<ToTimer>>,
    /// How slow the timer is.
    pause: u32,
    /// Of the timer.
    round: u32,
    /// How many times it may become a candidate.
    elections: u32,
    is_down: bool,
    role: Role,
    /// Peers to whom it is to send what goes with its role.
    outbox: VecDeque<usize>,
    /// Commands for when it is the leader. Lost in a crash.
    waiting: Vec<u32>,
    /// All up to this index are committed. Lost in a crash.
    commit: usize,
    /// On the disk.
    term: u32,
    /// On the disk.
    voted_for: Option<usize>,
    /// On the disk.
    log: Vec<Entry>,
}

impl Server {
    /// What it knows to be committed.
    #[must_use]
    pub fn committed(&self) -> &[Entry] {
        &self.log[..self.commit]
    }

    fn majority(&self) -> usize {
        self.servers.len() / 2 + 1
    }

    fn position(&self, index: usize) -> Position {
        match index {
            0 => Position::default(),
            _ => Position { term: self.log[index - 1].term, index },
        }
    }

    /// Its timer fires once more, if it may be a candidate once more.
    fn arm(&mut self, cx: &mut Context<'_, Message>) {
        self.round += 1;
        if self.elections > 0 {
            let timer = self.timer.as_ref().expect("it has one since its start");
            cx.send(timer, ToTimer::Start { round: self.round });
        }
    }

    /// Sends to all peers, one after another, what goes with its role.
    fn send_all(&mut self, cx: &mut Context<'_, Message>) {
        if self.outbox.is_empty() {
            let me = cx.me().clone();
            cx.send(&me, Message::Send);
        }
        let number = self.number;
        self.outbox = (0..self.servers.len()).filter(|peer| *peer != number).collect();
    }

    fn send_next(&mut self, cx: &mut Context<'_, Message>) {
        let Some(peer) = self.outbox.pop_front() else { return };
        self.send(peer, cx);
        if !self.outbox.is_empty() {
            let me = cx.me().clone();
            cx.send(&me, Message::Send);
        }
    }

    fn send(&self, peer: usize, cx: &mut Context<'_, Message>) {
        let (term, number) = (self.term, self.number);
        let message = match &self.role {
            Role::Follower => return,
            Role::Candidate { .. } => {
                let last = self.position(self.log.len());
                Message::RequestVote { term, candidate: number, last }
            }
            Role::Leader { next, .. } => {
                let before = next[peer].checked_sub(1).expect("a log begins at 1");
                let (previous, commit) = (self.position(before), self.commit);
                let entries = self.log[before..].to_vec();
                Message::Append { term, leader: number, previous, entries, commit }
            }
        };
        cx.send(&self.servers[peer], message);
    }

    fn follow(&mut self, cx: &mut Context<'_, Message>) {
        let was_leader = matches!(self.role, Role::Leader { .. });
        self.role = Role::Follower;
        self.outbox.clear();
        if was_leader {
            self.arm(cx);
        }
    }

    /// What every message tells: that its own term may be over.
    fn hear(&mut self, term: u32, cx: &mut Context<'_, Message>) {
        if term > self.term {
            self.term = term;
            self.voted_for = None;
            self.follow(cx);
        }
    }

    fn stand(&mut self, cx: &mut Context<'_, Message>) {
        self.elections -= 1;
        self.term += 1;
        self.voted_for = Some(self.number);
        self.role = Role::Candidate { votes: BTreeSet::new() };
        self.arm(cx);
        self.send_all(cx);
        self.count(self.number, cx);
    }

    fn count(&mut self, voter: usize, cx: &mut Context<'_, Message>) {
        let majority = self.majority();
        let Role::Candidate { votes } = &mut self.role else { return };
        votes.insert(voter);
        if votes.len() >= majority {
            let (servers, next) = (self.servers.len(), self.log.len() + 1);
            self.role = Role::Leader { next: vec![next; servers], matched: vec![0; servers] };
            let (term, server) = (self.term, self.number);
            self.watch.tell(Event::Elected { term, server }, cx);
            self.take_commands();
            self.send_all(cx);
        }
    }

    fn take_commands(&mut self) {
        let term = self.term;
        self.log.extend(self.waiting.drain(..).map(|value| Entry { term, value }));
    }

    fn vote(&mut self, candidate: usize, term: u32, last: Position, cx: &mut Context<'_, Message>) {
        let is_free = self.voted_for.is_none_or(|voted| voted == candidate);
        let granted = term == self.term && is_free && last >= self.position(self.log.len());
        if granted {
            self.voted_for = Some(candidate);
        }
        let (term, voter) = (self.term, self.number);
        cx.send(&self.servers[candidate], Message::Vote { term, voter, granted });
    }

    fn commit_to(&mut self, index: usize, cx: &mut Context<'_, Message>) {
        for index in self.commit + 1..=index {
            let entry = self.log[index - 1];
            self.watch.tell(Event::Committed { index, entry }, cx);
        }
        self.commit = self.commit.max(index);
    }

    /// The answer to what the leader sent: an index, and whether it was taken.
    fn append(
        &mut self,
        previous: Position,
        entries: &[Entry],
        commit: usize,
        cx: &mut Context<'_, Message>,
    ) -> (usize, bool) {
        let fits = previous.index <= self.log.len() && self.position(previous.index) == previous;
        if !fits {
            return (previous.index, false);
        }
        for (at, entry) in (previous.index..).zip(entries) {
            if self.log.get(at) != Some(entry) {
                self.log.truncate(at);
                self.log.push(*entry);
            }
        }
        let last = previous.index + entries.len();
        self.commit_to(commit.min(last), cx);
        (last, true)
    }

    fn appended(
        &mut self,
        follower: usize,
        index: usize,
        success: bool,
        cx: &mut Context<'_, Message>,
    ) {
        let Role::Leader { next, matched } = &mut self.role else { return };
        if !success {
            next[follower] = match self.bug {
                Bug::BackTwice => next[follower] - 1,
                // An older refusal, after a newer one, changes nothing.
                _ => next[follower].min(index).max(matched[follower] + 1),
            };
            self.send(follower, cx);
            return;
        }
        matched[follower] = matched[follower].max(index);
        next[follower] = matched[follower] + 1;
        let has = |index: usize| matched.iter().filter(|matched| **matched >= index).count() + 1;
        let majority = self.servers.len() / 2 + 1;
        let is_committed = |index: &usize| {
            let is_of_this_term = self.log[*index - 1].term == self.term;
            has(*index) >= majority && (is_of_this_term || self.bug == Bug::CommitsOldTerms)
        };
        let last = (self.commit + 1..=self.log.len()).rev().find(is_committed);
        if let Some(last) = last {
            self.commit_to(last, cx);
            self.send_all(cx);
        }
    }
}

impl Actor for Server {
    type Message = Message;
    raddle::actors::snapshots!();

    fn start(&mut self, cx: &mut Context<'_, Message>) {
        let me = cx.me().clone();
        self.timer = Some(cx.spawn(Timer::new(me, 3).pause(self.pause)));
    }

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Message>) {
        match message {
            Message::Restart => {
                self.is_down = false;
                self.arm(cx);
            }
            Message::Servers(servers) => {
                self.servers = servers;
                self.arm(cx);
            }
            // Before it knows the others, as on threads it may be, it hears nothing.
            _ if self.is_down || self.servers.is_empty() => {}
            Message::Crash => {
                self.is_down = true;
                (self.role, self.commit) = (Role::Follower, 0);
                self.waiting.clear();
                self.outbox.clear();
                if self.bug == Bug::VotesTwice {
                    self.voted_for = None;
                }
            }
            Message::Timeout { round } => {
                let leads = matches!(self.role, Role::Leader { .. });
                if round == self.round && !leads && self.elections > 0 {
                    self.stand(cx);
                }
            }
            Message::Send => self.send_next(cx),
            Message::Command(value) => {
                self.waiting.push(value);
                if matches!(self.role, Role::Leader { .. }) {
                    self.take_commands();
                    self.send_all(cx);
                }
            }
            Message::RequestVote { term, candidate, last } => {
                self.hear(term, cx);
                self.vote(candidate, term, last, cx);
            }
            Message::Vote { term, voter, granted } => {
                self.hear(term, cx);
                if granted && term == self.term {
                    self.count(voter, cx);
                }
            }
            Message::Append { term, leader, previous, entries, commit } => {
                self.hear(term, cx);
                let (mut index, mut success) = (previous.index, false);
                if term == self.term {
                    self.follow(cx);
                    (index, success) = self.append(previous, &entries, commit, cx);
                }
                let (term, follower) = (self.term, self.number);
                let answer = Message::Appended { term, follower, index, success };
                cx.send(&self.servers[leader], answer);
            }
            Message::Appended { term, follower, index, success } => {
                self.hear(term, cx);
                if term == self.term {
                    self.appended(follower, index, success, cx);
                }
            }
            Message::Next => cx.unhandled(&message),
        }
    }
}

/// What the monitor is told.
#[derive(Clone, Copy, Debug, Hash)]
pub enum Event {
    /// A server is the leader of a term.
    Elected {
        /// Which term.
        term: u32,
        /// Which server.
        server: usize,
    },
    /// A server takes an entry for committed.
    Committed {
        /// Where.
        index: usize,
        /// What.
        entry: Entry,
    },
}

/// One leader in a term, and one log.
#[derive(Clone, Debug, Default, Hash)]
struct Safety {
    leaders: BTreeMap<u32, usize>,
    committed: Vec<Entry>,
}

impl Monitor for Safety {
    type Event = Event;
    raddle::actors::snapshots!(monitor);

    fn observe(&mut self, event: Event) {
        match event {
            Event::Elected { term, server } => {
                let leader = *self.leaders.entry(term).or_insert(server);
                assert_eq!(leader, server, "term {term} has two leaders");
            }
            Event::Committed { index, entry } => {
                if let Some(other) = self.committed.get(index - 1) {
                    assert_eq!(*other, entry, "two entries are committed at index {index}");
                } else {
                    assert_eq!(index, self.committed.len() + 1, "an index is left out");
                    self.committed.push(entry);
                }
            }
        }
    }
}

/// Where its actors are.
#[derive(Clone, Debug)]
pub struct Nodes {
    /// By number.
    pub servers: Vec<Address<Message>>,
    /// Is told what happens.
    pub history: Witness<Event>,
}

/// Builds it in a system of any manager.
#[must_use]
pub fn build(system: &System, bug: Bug, size: Size) -> Nodes {
    let history = Witness::new(system, Safety::default);
    let server = |number| {
        let server = Server {
            bug,
            watch: history.clone(),
            number,
            servers: Vec::new(),
            timer: None,
            pause: size.pause as u32,
            round: 0,
            elections: size.elections as u32,
            is_down: false,
            role: Role::Follower,
            outbox: VecDeque::new(),
            waiting: Vec::new(),
            commit: 0,
            term: 0,
            voted_for: None,
            log: Vec::new(),
        };
        system.spawn_named(&format!("server {number}"), server)
    };
    let servers: Vec<_> = (0..size.servers).map(server).collect();
    for server in &servers {
        system.send(server, Message::Servers(servers.clone()));
    }
    let (left, targets) = (size.commands as u32, servers.clone());
    system.spawn_named("client", Client { servers: servers.clone(), left });
    system.spawn_named(
        "injector",
        Injector::new(targets, Failure::Restarts, size.crashes).pause(size.pause as u32),
    );
    Nodes { servers, history }
}

/// Whether of each two servers one has committed what the other has, or more.
#[must_use]
pub fn agree(servers: &[Server]) -> bool {
    let longest = servers.iter().map(Server::committed).max_by_key(|log| log.len());
    longest.is_none_or(|longest| servers.iter().all(|one| longest.starts_with(one.committed())))
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
    let size = Size { servers: 5, elections: 20, commands: 50, crashes: 10, pause: 0 };
    let nodes = build(system, Bug::None, size);
    system.handle_all();
    let server = |address| system.inspect(address, |one: &Server| one.clone());
    let servers: Vec<_> = nodes.servers.iter().map(server).collect();
    assert!(agree(&servers), "all agree");
    assert!(!nodes.history.is_hot::<Safety>(system), "nothing is left undone");
}
