//! A transaction manager that survives the failure of its coordinator: two-phase commit on top of Paxos.
//!
//! Gray and Lamport, "Consensus on Transaction Commit" (2006). The vote of each resource on each transaction is
//! an instance of Paxos: the resource proposes its vote in ballot 0, which needs no promises, to all acceptors, and
//! they tell all leaders. A transaction is committed if every resource is known to have voted yes by a majority
//! of acceptors, and aborted if one is known to have voted no. The first leader asks the resources and announces
//! what came of it. Leaders fail and stop; another one whose timer fires takes over: it asks acceptors, in a
//! ballot of its own, what they have accepted, and proposes that, or no where there is nothing. One that has heard
//! of all votes announces them instead.
//!
//! What must hold: one vote at most is chosen for a resource and a transaction, all announcements of a transaction
//! are equal, and a commit is one of votes that were chosen. That all ends is not promised, as two leaders may
//! disturb each other for as long as they are allowed to.
//!
//! It is the two protocols in one and not built of the actors of [`paxos`](super::paxos) and
//! [`two_phase_commit`](super::two_phase_commit), which could not be its parts as they are. A vote is proposed in ballot 0
//! without a first phase, by a resource that never proposes again, and is told to all leaders and not to its proposer alone. One
//! acceptor serves the instances of all resources and transactions, in which a leader that takes over runs its first phase for
//! all at once. An acceptor of `paxos` has one instance and answers who asked; a coordinator of `two_phase_commit` decides
//! alone and logs what it decided, which is what Paxos is here in place of. What they share is the order of ballots,
//! [timers](super::timer), the [injector](super::injector) of failures and the [witness](super::witness).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use raddle::actors::{Actor, Address, Context, Model, Monitor, System};

use super::injector::{Failing, Failure, Injector};
use super::paxos::Ballot;
use super::timer::{Timeout, Timer, ToTimer};
use super::witness::Witness;
use super::{CRASH, MONITOR, Protocol, UNHANDLED, program, queues};
use crate::libraries::Test;
use crate::program::{Expected, Parameter, parameter};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// Nothing.
    None,
    /// A resource has no use for the outcome of a transaction that it was not asked about.
    ///
    /// Order: the first leader fails, or is slow, before it has asked a resource; the time of the second one
    /// is over; it finds no votes and aborts.
    OutcomeBeforeAsk,
    /// A leader takes it that it hears of a transaction by the client before all votes on it are in.
    ///
    /// Order: the client tells the first leader, all resources vote, and the acceptors tell the second leader
    /// of all votes before the client tells it of the transaction.
    UnknownTransaction,
    /// A leader that takes over proposes no without asking what was accepted.
    ///
    /// Order: all votes are yes and accepted by a majority, so that the transaction is committed; the time of
    /// the second leader is over before it has heard of that.
    SkipsPhaseOne,
    /// An acceptor takes a vote of ballot 0 whatever it has promised.
    ///
    /// Order: the second leader is promised by a majority that has no vote of a resource, and has a no
    /// accepted; the yes of the resource arrives late at these acceptors.
    AcceptsLateVote,
}

/// How large it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Who vote.
    pub resources: usize,
    /// Who remember: an odd number is best.
    pub acceptors: usize,
    /// Who may take over.
    pub leaders: usize,
    /// How many there are, one after another.
    pub transactions: usize,
    /// How many leaders fail.
    pub failures: usize,
    /// How many steps of their own pass before a timer may fire and before a failure.
    pub pause: usize,
}

const PARAMETERS: [Parameter; 6] = [
    parameter("resources", 2, 1, 8),
    parameter("acceptors", 3, 1, 63),
    parameter("leaders", 2, 1, 5),
    parameter("transactions", 1, 1, 32),
    parameter("failures", 1, 0, 4),
    parameter("pause", 0, 0, 1_000),
];

const LARGE: [usize; 6] = [3, 3, 3, 4, 1, 0];

/// How many times a leader takes a transaction over at most.
const TAKEOVERS: u32 = 2;

/// Two resources, three acceptors, two leaders and one transaction are the least that shows every bug.
pub const PROTOCOL: Protocol = Protocol {
    name: "transaction manager",
    line: "two-phase commit on top of Paxos: leaders that fail, and others that take over",
    produce,
    test: Test {
        correct: program("transactions", "two-phase commit on top of Paxos, leaders that fail")
            .many(|size| sized(Bug::None, size).run(), &PARAMETERS)
            .states(|size, visit| visit.model(&sized(Bug::None, size)))
            .large(&LARGE),
        bugs: &[
            program("transactions-before-ask", "an outcome comes before the question")
                .many(|size| sized(Bug::OutcomeBeforeAsk, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::OutcomeBeforeAsk, size)))
                .bug(Expected::Panic, UNHANDLED)
                .large(&[3, 3, 2, 3, 1, 15]),
            program("transactions-unknown", "a vote comes before the transaction")
                .many(|size| sized(Bug::UnknownTransaction, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::UnknownTransaction, size)))
                .bug(Expected::Panic, CRASH)
                .large(&[4, 5, 2, 2, 0, 0]),
            program("transactions-skips-phase-one", "a new leader does not ask what was accepted")
                .many(|size| sized(Bug::SkipsPhaseOne, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::SkipsPhaseOne, size)))
                .bug(Expected::Panic, MONITOR)
                .large(&[3, 5, 2, 3, 1, 35]),
            program("transactions-late-vote", "a vote is accepted in spite of a promise")
                .many(|size| sized(Bug::AcceptsLateVote, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::AcceptsLateVote, size)))
                .bug(Expected::Panic, MONITOR)
                .large(&[3, 5, 2, 3, 1, 10]),
        ],
    },
};

fn sized(bug: Bug, size: &[usize]) -> Model<Nodes> {
    let &[resources, acceptors, leaders, transactions, failures, pause] = size else {
        unreachable!("six arguments")
    };
    model(bug, Size { resources, acceptors, leaders, transactions, failures, pause })
}

/// An instance of Paxos: the vote of a resource on a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instance {
    /// On which.
    pub transaction: u32,
    /// Whose.
    pub resource: usize,
}

/// Yes or no, and the ballot in which it was accepted.
type Vote = (Ballot, bool);

/// What all its actors are told.
#[derive(Clone, Debug, Hash)]
pub enum Message {
    /// To the client, from itself: tell the next leader of the next transaction.
    Next,
    /// To a leader: a transaction.
    Begin {
        /// Which.
        transaction: u32,
    },
    /// To a leader: the transaction should be over.
    Timeout {
        /// Which.
        transaction: u32,
    },
    /// To a leader or a resource, from itself: send to the next acceptor.
    Send,
    /// To an acceptor: all leaders, by number.
    Leaders(Vec<Address<Message>>),
    /// To a resource: vote.
    Ask {
        /// On which.
        transaction: u32,
    },
    /// To a resource.
    Outcome {
        /// Of which.
        transaction: u32,
        /// Committed, not aborted.
        commit: bool,
    },
    /// To an acceptor.
    Prepare {
        /// Of which instance.
        instance: Instance,
        /// Of a leader.
        ballot: Ballot,
    },
    /// To an acceptor.
    Accept {
        /// Of which instance.
        instance: Instance,
        /// Of a leader, or in round 0 of a resource.
        ballot: Ballot,
        /// The vote.
        yes: bool,
    },
    /// To a leader.
    Promise {
        /// Of which instance.
        instance: Instance,
        /// Of the leader.
        ballot: Ballot,
        /// Who.
        acceptor: usize,
        /// What it has accepted.
        accepted: Option<(Ballot, bool)>,
    },
    /// To all leaders.
    Accepted {
        /// Of which instance.
        instance: Instance,
        /// In which ballot.
        ballot: Ballot,
        /// Who.
        acceptor: usize,
        /// The vote.
        yes: bool,
    },
    /// To a leader, from an acceptor that has promised a higher ballot.
    Refused {
        /// Of which instance.
        instance: Instance,
        /// Of the leader.
        ballot: Ballot,
        /// What was promised.
        promised: Ballot,
    },
    /// To a leader: it fails, and does not come back.
    Crash,
}

impl Timeout for Message {
    fn timeout(transaction: u32) -> Self {
        Self::Timeout { transaction }
    }
}

impl Failing for Message {
    fn crash() -> Self {
        Self::Crash
    }

    fn restart() -> Self {
        unreachable!("a leader does not come back")
    }
}

/// Tells all leaders of transactions.
#[derive(Clone, Debug, Hash)]
struct Client {
    leaders: Vec<Address<Message>>,
    transactions: u32,
    transaction: u32,
    /// The next one to be told.
    leader: usize,
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
            Message::Next if self.transaction < self.transactions => {
                let transaction = self.transaction;
                cx.send(&self.leaders[self.leader], Message::Begin { transaction });
                self.leader += 1;
                if self.leader == self.leaders.len() {
                    (self.leader, self.transaction) = (0, transaction + 1);
                }
                let me = cx.me().clone();
                cx.send(&me, Message::Next);
            }
            Message::Next => {}
            other => cx.unhandled(&other),
        }
    }
}

/// What is to be sent to acceptors, one after another.
#[derive(Clone, Debug, Default, Hash)]
struct Outbox(VecDeque<(usize, Message)>);

impl Outbox {
    fn add(&mut self, acceptors: usize, message: &Message, cx: &mut Context<'_, Message>) {
        if self.0.is_empty() {
            let me = cx.me().clone();
            cx.send(&me, Message::Send);
        }
        self.0.extend((0..acceptors).map(|acceptor| (acceptor, message.clone())));
    }

    fn send(&mut self, acceptors: &[Address<Message>], cx: &mut Context<'_, Message>) {
        let Some((acceptor, message)) = self.0.pop_front() else { return };
        cx.send(&acceptors[acceptor], message);
        if !self.0.is_empty() {
            let me = cx.me().clone();
            cx.send(&me, Message::Send);
        }
    }
}

/// Votes as it likes, and does as was decided.
#[derive(Clone, Debug, Hash)]
pub struct Resource {
    bug: Bug,
    number: usize,
    acceptors: Vec<Address<Message>>,
    outbox: Outbox,
    votes: BTreeMap<u32, bool>,
    outcomes: BTreeMap<u32, bool>,
}

impl Resource {
    /// What it knows to be committed, or aborted.
    #[must_use]
    pub fn outcomes(&self) -> &BTreeMap<u32, bool> {
        &self.outcomes
    }
}

impl Actor for Resource {
    type Message = Message;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Message>) {
        match message {
            // It is too late to vote.
            Message::Ask { transaction } if self.outcomes.contains_key(&transaction) => {}
            Message::Ask { transaction } => {
                let yes = cx.choose(2) == 0;
                self.votes.insert(transaction, yes);
                let instance = Instance { transaction, resource: self.number };
                let ballot = Ballot { round: 0, proposer: self.number };
                let accept = Message::Accept { instance, ballot, yes };
                self.outbox.add(self.acceptors.len(), &accept, cx);
            }
            Message::Send => self.outbox.send(&self.acceptors, cx),
            Message::Outcome { transaction, .. }
                if self.bug == Bug::OutcomeBeforeAsk && !self.votes.contains_key(&transaction) =>
            {
                cx.unhandled(&message)
            }
            Message::Outcome { transaction, commit } => {
                let known = *self.outcomes.entry(transaction).or_insert(commit);
                assert_eq!(known, commit, "transaction {transaction} has two outcomes");
            }
            other => cx.unhandled(&other),
        }
    }
}

/// What an acceptor knows of an instance.
#[derive(Clone, Copy, Debug, Default, Hash)]
struct Memory {
    promised: Option<Ballot>,
    accepted: Option<Vote>,
}

/// Remembers votes.
#[derive(Clone, Debug, Hash)]
struct Acceptor {
    bug: Bug,
    watch: Witness<Event>,
    number: usize,
    leaders: Vec<Address<Message>>,
    memory: BTreeMap<Instance, Memory>,
}

impl Acceptor {
    fn refuse(
        &self,
        instance: Instance,
        ballot: Ballot,
        promised: Ballot,
        cx: &mut Context<'_, Message>,
    ) {
        // A resource has nothing more to say.
        if ballot.round > 0 {
            let refused = Message::Refused { instance, ballot, promised };
            cx.send(&self.leaders[ballot.proposer], refused);
        }
    }
}

impl Actor for Acceptor {
    type Message = Message;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Message>) {
        let acceptor = self.number;
        match message {
            Message::Leaders(leaders) => self.leaders = leaders,
            Message::Prepare { instance, ballot } => {
                let memory = self.memory.entry(instance).or_default();
                match memory.promised {
                    Some(promised) if promised > ballot => {
                        self.refuse(instance, ballot, promised, cx);
                    }
                    _ => {
                        memory.promised = Some(ballot);
                        let accepted = memory.accepted;
                        let promise = Message::Promise { instance, ballot, acceptor, accepted };
                        cx.send(&self.leaders[ballot.proposer], promise);
                    }
                }
            }
            Message::Accept { instance, ballot, yes } => {
                let is_free = ballot.round == 0 && self.bug == Bug::AcceptsLateVote;
                let memory = self.memory.entry(instance).or_default();
                match memory.promised {
                    Some(promised) if promised > ballot && !is_free => {
                        self.refuse(instance, ballot, promised, cx);
                    }
                    _ => {
                        memory.promised = memory.promised.max(Some(ballot));
                        memory.accepted = Some((ballot, yes));
                        let accepted = Event::Accepted { acceptor, instance, ballot, yes };
                        self.watch.tell(accepted, cx);
                        for leader in &self.leaders {
                            let vote = Message::Accepted { instance, ballot, acceptor, yes };
                            cx.send(leader, vote);
                        }
                    }
                }
            }
            other => cx.unhandled(&other),
        }
    }
}

/// What a leader knows of a transaction.
#[derive(Clone, Debug, Default, Hash)]
struct Transaction {
    /// The client has told of it.
    is_begun: bool,
    /// Of its own ballot; 0 if it has not taken over.
    round: u32,
    /// How many times it has taken over.
    takeovers: u32,
    /// By resource, to its own ballot.
    promises: BTreeMap<usize, BTreeMap<usize, Option<Vote>>>,
    /// Who has accepted what of which resource.
    votes: BTreeMap<(usize, Vote), BTreeSet<usize>>,
    /// By resource.
    chosen: BTreeMap<usize, bool>,
    is_announced: bool,
}

impl Transaction {
    fn outcome(&self, resources: usize) -> Option<bool> {
        if self.chosen.values().any(|yes| !yes) {
            return Some(false);
        }
        (self.chosen.len() == resources).then_some(true)
    }
}

/// Asks and announces: the first one at once, the others when their time is over.
#[derive(Clone, Debug, Hash)]
struct Leader {
    bug: Bug,
    watch: Witness<Event>,
    number: usize,
    resources: Vec<Address<Message>>,
    acceptors: Vec<Address<Message>>,
    outbox: Outbox,
    /// Of its timers.
    pause: u32,
    is_down: bool,
    transactions: BTreeMap<u32, Transaction>,
}

impl Leader {
    fn majority(&self) -> usize {
        self.acceptors.len() / 2 + 1
    }

    fn begin(&mut self, transaction: u32, cx: &mut Context<'_, Message>) {
        self.transactions.entry(transaction).or_default().is_begun = true;
        if self.number == 0 {
            for resource in &self.resources {
                cx.send(resource, Message::Ask { transaction });
            }
        } else {
            let me = cx.me().clone();
            let timer = cx.spawn(Timer::new(me, 1).pause(self.pause));
            cx.send(&timer, ToTimer::Start { round: transaction });
        }
    }

    /// Proposes in a ballot above this round.
    fn take_over(&mut self, transaction: u32, above: u32, cx: &mut Context<'_, Message>) {
        let of = self.transactions.entry(transaction).or_default();
        if of.is_announced || of.takeovers == TAKEOVERS {
            return;
        }
        of.takeovers += 1;
        of.round = above + 1;
        of.promises.clear();
        if of.outcome(self.resources.len()).is_some() {
            self.announce(transaction, cx);
            return;
        }
        let ballot = Ballot { round: of.round, proposer: self.number };
        for resource in 0..self.resources.len() {
            let instance = Instance { transaction, resource };
            let message = match self.bug {
                Bug::SkipsPhaseOne => Message::Accept { instance, ballot, yes: false },
                _ => Message::Prepare { instance, ballot },
            };
            self.outbox.add(self.acceptors.len(), &message, cx);
        }
    }

    fn promised(
        &mut self,
        instance: Instance,
        ballot: Ballot,
        acceptor: usize,
        accepted: Option<Vote>,
        cx: &mut Context<'_, Message>,
    ) {
        let (majority, acceptors) = (self.majority(), self.acceptors.len());
        let Some(of) = self.transactions.get_mut(&instance.transaction) else { return };
        if of.round != ballot.round {
            return;
        }
        let promises = of.promises.entry(instance.resource).or_default();
        promises.insert(acceptor, accepted);
        // Those beyond the majority change nothing.
        if promises.len() == majority {
            let vote = promises.values().flatten().max();
            let yes = vote.is_some_and(|(_, yes)| *yes);
            self.outbox.add(acceptors, &Message::Accept { instance, ballot, yes }, cx);
        }
    }

    fn accepted(
        &mut self,
        instance: Instance,
        vote: Vote,
        acceptor: usize,
        cx: &mut Context<'_, Message>,
    ) {
        let majority = self.majority();
        let Instance { transaction, resource } = instance;
        let of = self.transactions.entry(transaction).or_default();
        let voters = of.votes.entry((resource, vote)).or_default();
        voters.insert(acceptor);
        if voters.len() >= majority {
            of.chosen.insert(resource, vote.1);
            let all_are_in = of.chosen.len() == self.resources.len();
            if self.bug == Bug::UnknownTransaction && all_are_in {
                assert!(of.is_begun, "votes come after the beginning");
            }
            self.announce(transaction, cx);
        }
    }

    /// Tells the outcome if it is known, and if it is this one's business.
    fn announce(&mut self, transaction: u32, cx: &mut Context<'_, Message>) {
        let resources = self.resources.len();
        let of = self.transactions.entry(transaction).or_default();
        let is_ours = self.number == 0 || of.round > 0;
        if let Some(commit) = of.outcome(resources)
            && is_ours
            && !of.is_announced
        {
            of.is_announced = true;
            self.watch.tell(Event::Announced { transaction, commit }, cx);
            for resource in &self.resources {
                cx.send(resource, Message::Outcome { transaction, commit });
            }
        }
    }
}

impl Actor for Leader {
    type Message = Message;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Message>) {
        match message {
            _ if self.is_down => {}
            Message::Crash => self.is_down = true,
            Message::Begin { transaction } => self.begin(transaction, cx),
            Message::Timeout { transaction } => self.take_over(transaction, 0, cx),
            Message::Send => self.outbox.send(&self.acceptors, cx),
            Message::Promise { instance, ballot, acceptor, accepted } => {
                self.promised(instance, ballot, acceptor, accepted, cx);
            }
            Message::Accepted { instance, ballot, acceptor, yes } => {
                self.accepted(instance, (ballot, yes), acceptor, cx);
            }
            Message::Refused { instance, ballot, promised } => {
                let of = self.transactions.get(&instance.transaction);
                if of.is_some_and(|of| of.round == ballot.round) {
                    self.take_over(instance.transaction, promised.round, cx);
                }
            }
            other => cx.unhandled(&other),
        }
    }
}

/// What the monitor is told.
#[derive(Clone, Copy, Debug, Hash)]
pub enum Event {
    /// An acceptor has accepted a vote.
    Accepted {
        /// Who.
        acceptor: usize,
        /// Whose vote, on which transaction.
        instance: Instance,
        /// In which ballot.
        ballot: Ballot,
        /// The vote.
        yes: bool,
    },
    /// A leader announces an outcome.
    Announced {
        /// Of which.
        transaction: u32,
        /// Committed, not aborted.
        commit: bool,
    },
}

/// One outcome, by votes that were chosen.
#[derive(Clone, Debug, Hash)]
struct Atomic {
    resources: usize,
    majority: usize,
    votes: BTreeMap<(Instance, Vote), BTreeSet<usize>>,
    chosen: BTreeMap<Instance, bool>,
    outcomes: BTreeMap<u32, bool>,
}

impl Monitor for Atomic {
    type Event = Event;
    raddle::actors::snapshots!(monitor);

    fn observe(&mut self, event: Event) {
        match event {
            Event::Accepted { acceptor, instance, ballot, yes } => {
                let voters = self.votes.entry((instance, (ballot, yes))).or_default();
                voters.insert(acceptor);
                if voters.len() >= self.majority {
                    let chosen = *self.chosen.entry(instance).or_insert(yes);
                    assert_eq!(chosen, yes, "two votes are chosen of {instance:?}");
                }
            }
            Event::Announced { transaction, commit } => {
                let known = *self.outcomes.entry(transaction).or_insert(commit);
                assert_eq!(known, commit, "transaction {transaction} has two outcomes");
                let votes: Vec<_> = (0..self.resources)
                    .map(|resource| self.chosen.get(&Instance { transaction, resource }))
                    .collect();
                let is_backed = if commit {
                    votes.iter().all(|vote| *vote == Some(&true))
                } else {
                    votes.contains(&Some(&false))
                };
                assert!(is_backed, "transaction {transaction}: {commit} without votes for it");
            }
        }
    }
}

/// Where its actors are.
#[derive(Clone, Debug)]
pub struct Nodes {
    /// Vote.
    pub resources: Vec<Address<Message>>,
    /// Is told what happens.
    pub history: Witness<Event>,
}

/// Builds it in a system of any manager.
#[must_use]
pub fn build(system: &System, bug: Bug, size: Size) -> Nodes {
    let history = Witness::new(system, || Atomic {
        resources: size.resources,
        majority: size.acceptors / 2 + 1,
        votes: BTreeMap::new(),
        chosen: BTreeMap::new(),
        outcomes: BTreeMap::new(),
    });
    let acceptor = |number| {
        let (watch, leaders, memory) = (history.clone(), Vec::new(), BTreeMap::new());
        let acceptor = Acceptor { bug, watch, number, leaders, memory };
        system.spawn_named(&format!("acceptor {number}"), acceptor)
    };
    let acceptors: Vec<_> = (0..size.acceptors).map(acceptor).collect();
    let resource = |number| {
        let (acceptors, outbox) = (acceptors.clone(), Outbox::default());
        let (votes, outcomes) = (BTreeMap::new(), BTreeMap::new());
        let resource = Resource { bug, number, acceptors, outbox, votes, outcomes };
        system.spawn_named(&format!("resource {number}"), resource)
    };
    let resources: Vec<_> = (0..size.resources).map(resource).collect();
    let leader = |number| {
        let leader = Leader {
            bug,
            watch: history.clone(),
            number,
            resources: resources.clone(),
            acceptors: acceptors.clone(),
            outbox: Outbox::default(),
            pause: size.pause as u32,
            is_down: false,
            transactions: BTreeMap::new(),
        };
        system.spawn_named(&format!("leader {number}"), leader)
    };
    let leaders: Vec<_> = (0..size.leaders).map(leader).collect();
    for acceptor in &acceptors {
        system.send(acceptor, Message::Leaders(leaders.clone()));
    }
    let (transactions, targets) = (size.transactions as u32, leaders.clone());
    let client = Client { leaders, transactions, transaction: 0, leader: 0 };
    system.spawn_named("client", client);
    system.spawn_named(
        "injector",
        Injector::new(targets, Failure::Stops, size.failures).pause(size.pause as u32),
    );
    Nodes { resources, history }
}

/// Whether all resources that know an outcome know the same.
#[must_use]
pub fn agree(resources: &[Resource]) -> bool {
    let mut known = BTreeMap::new();
    let mut all = resources.iter().flat_map(|resource| &resource.outcomes);
    all.all(|(transaction, commit)| *known.entry(*transaction).or_insert(*commit) == *commit)
}

/// The system with what must hold of it.
#[must_use]
pub fn model(bug: Bug, size: Size) -> Model<Nodes> {
    queues(move |system| build(system, bug, size)).finally("all agree", |nodes, view| {
        let resource = |address| view.actor::<Resource>(address).clone();
        agree(&nodes.resources.iter().map(resource).collect::<Vec<_>>())
    })
}

/// Runs it to its end in a system of any manager, and looks at its history and at its end.
///
/// # Panics
/// If they are not what they must be.
fn produce(system: &System) {
    let size =
        Size { resources: 4, acceptors: 5, leaders: 3, transactions: 20, failures: 2, pause: 0 };
    let nodes = build(system, Bug::None, size);
    system.handle_all();
    let resource = |address| system.inspect(address, |one: &Resource| one.clone());
    let resources: Vec<_> = nodes.resources.iter().map(resource).collect();
    assert!(agree(&resources), "all agree");
    assert!(!nodes.history.is_hot::<Atomic>(system), "nothing is left undone");
}
