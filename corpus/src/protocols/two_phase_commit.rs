//! Two-phase commit: a coordinator, participants that vote, timeouts, crashes and recovery.
//!
//! Gray, "Notes on Data Base Operating Systems" (1978), with presumed abort. The coordinator has one
//! transaction at a time. It asks every participant to prepare; if all vote yes it commits, and if one votes
//! no or time is over it aborts. A participant that has voted yes is locked until it hears the decision, and
//! votes no on all else. On the disks are: that a transaction was begun, and what was decided (coordinator);
//! for what it is locked, and what it has heard (participant). A coordinator that comes back aborts what it
//! had begun and not decided, and tells every decision once more. A participant that comes back asks for the
//! decision that it lacks.
//!
//! What must hold: all decisions of one transaction are equal, a commit has the yes of every participant,
//! and in the end no participant is locked.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use raddle::actors::{Actor, Address, Context, Model, Monitor, System};

use super::injector::{Failing, Failure, Injector};
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
    /// A participant has no use for the decision about a transaction that it has not been asked about.
    ///
    /// It is asked while it is down, and hears nothing. Order: a participant crashes before `Prepare` and
    /// is up again before the timeout, or the no of another one, makes the coordinator tell all to abort.
    AbortOfUnknown,
    /// The coordinator waits for all votes, also when one is no, and takes it that none comes after that.
    ///
    /// Order: the timer fires while a vote is on its way; the transaction is over when the vote arrives.
    LateVote,
    /// The coordinator counts a vote for the transaction that it has, whichever it was cast for.
    ///
    /// Order: time is over while the yes of one participant to the first transaction is on its way. It
    /// arrives when the second transaction has begun, and is counted for that one, on which the same
    /// participant then votes no, or has not voted at all.
    OldVotes,
    /// The coordinator tells a decision before it is on its disk, where it comes with the next entry.
    ///
    /// Order: all vote yes and the coordinator commits; it crashes before it has begun another transaction.
    /// When it is up again it finds a transaction without a decision, and aborts it.
    TellsBeforeItLogs,
}

/// How large it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Who vote.
    pub participants: usize,
    /// How many are asked for, one after another.
    pub transactions: usize,
    /// How many times a node fails.
    pub crashes: usize,
    /// How many steps of their own pass before a timer may fire and before a failure.
    pub pause: usize,
}

const PARAMETERS: [Parameter; 4] = [
    parameter("participants", 2, 1, 16),
    parameter("transactions", 2, 1, 64),
    parameter("crashes", 1, 0, 16),
    parameter("pause", 0, 0, 1_000),
];

/// Two participants, two transactions and one crash are the least that shows every bug.
pub const PROTOCOL: Protocol = Protocol {
    name: "two-phase commit",
    line: "a coordinator and participants with timeouts, crashes and recovery",
    produce,
    test: Test {
        correct: program("2pc", "two-phase commit with timeouts, crashes and recovery")
            .many(|size| sized(Bug::None, size).run(), &PARAMETERS)
            .states(|size, visit| visit.model(&sized(Bug::None, size)))
            .large(&LARGE),
        bugs: &[
            program("2pc-abort-of-unknown", "a participant hears of what it was not asked about")
                .many(|size| sized(Bug::AbortOfUnknown, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::AbortOfUnknown, size)))
                .bug(Expected::Panic, UNHANDLED)
                .large(&[8, 8, 1, 80]),
            program("2pc-late-vote", "a vote comes when the transaction is over")
                .many(|size| sized(Bug::LateVote, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::LateVote, size)))
                .bug(Expected::Panic, CRASH)
                .large(&[8, 8, 0, 12]),
            program("2pc-old-votes", "votes are counted for another transaction")
                .many(|size| sized(Bug::OldVotes, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::OldVotes, size)))
                .bug(Expected::Panic, MONITOR)
                .large(&[8, 6, 1, 20]),
            program("2pc-tells-before-it-logs", "a decision is told before it is on the disk")
                .many(|size| sized(Bug::TellsBeforeItLogs, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::TellsBeforeItLogs, size)))
                .bug(Expected::Panic, MONITOR)
                .large(&[3, 14, 1, 0]),
        ],
    },
};

const LARGE: [usize; 4] = [5, 12, 2, 0];

fn sized(bug: Bug, size: &[usize]) -> Model<Nodes> {
    let &[participants, transactions, crashes, pause] = size else {
        unreachable!("four arguments")
    };
    model(bug, Size { participants, transactions, crashes, pause })
}

/// What all its actors are told.
#[derive(Clone, Debug, Hash)]
pub enum Message {
    /// To the client: ask for the next transaction.
    Next,
    /// To the client: what came of a transaction.
    Outcome {
        /// Which.
        transaction: u32,
        /// Committed, not aborted.
        commit: bool,
    },
    /// To the coordinator: a transaction.
    Begin {
        /// Which.
        transaction: u32,
        /// Who wants to know.
        client: Address<Message>,
    },
    /// To the coordinator.
    Vote {
        /// On which.
        transaction: u32,
        /// Whose.
        participant: usize,
        /// For a commit.
        yes: bool,
    },
    /// To the coordinator: the time for votes is over.
    Timeout {
        /// On which.
        transaction: u32,
    },
    /// To the coordinator, from a participant that was down: what was decided?
    Query {
        /// Of which.
        transaction: u32,
        /// Who asks.
        participant: Address<Message>,
    },
    /// To a participant: vote.
    Prepare {
        /// On which.
        transaction: u32,
        /// Who counts.
        coordinator: Address<Message>,
    },
    /// To a participant.
    Decision {
        /// Of which.
        transaction: u32,
        /// Committed, not aborted.
        commit: bool,
    },
    /// To the coordinator or a participant.
    Crash,
    /// To the coordinator or a participant that is down.
    Restart,
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
        Self::Restart
    }
}

/// Asks for transactions, whatever comes of them.
#[derive(Clone, Debug, Hash)]
struct Client {
    coordinator: Address<Message>,
    transactions: u32,
    asked: u32,
    outcomes: BTreeMap<u32, bool>,
}

impl Actor for Client {
    type Message = Message;
    raddle::actors::snapshots!();

    fn start(&mut self, cx: &mut Context<'_, Message>) {
        let me = cx.me().clone();
        cx.send(&me, Message::Next);
    }

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Message>) {
        let client = cx.me().clone();
        match message {
            Message::Next if self.asked < self.transactions => {
                let transaction = self.asked;
                self.asked += 1;
                cx.send(&client, Message::Next);
                cx.send(&self.coordinator, Message::Begin { transaction, client });
            }
            Message::Next => {}
            Message::Outcome { transaction, commit } => {
                self.outcomes.insert(transaction, commit);
            }
            other => cx.unhandled(&other),
        }
    }
}

/// What is on the coordinator's disk of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Entry {
    Begun,
    Decided { commit: bool },
}

/// The transaction that is voted on. Lost in a crash.
#[derive(Clone, Debug, Hash)]
struct Voting {
    transaction: u32,
    client: Address<Message>,
    yes: BTreeSet<usize>,
    no: BTreeSet<usize>,
}

/// Asks for votes and decides.
#[derive(Clone, Debug, Hash)]
pub struct Coordinator {
    bug: Bug,
    watch: Witness<Event>,
    participants: Vec<Address<Message>>,
    timer: Option<Address<ToTimer>>,
    /// Of its timer.
    pause: u32,
    is_down: bool,
    voting: Option<Voting>,
    /// Transactions that are not begun. Lost in a crash, and no participant is bound to them.
    waiting: VecDeque<(u32, Address<Message>)>,
    /// Decisions that are told and are not on the disk, if there is the bug that there are any.
    unlogged: Vec<(u32, bool)>,
    /// On the disk.
    log: BTreeMap<u32, Entry>,
}

impl Coordinator {
    fn new(
        bug: Bug,
        watch: Witness<Event>,
        participants: Vec<Address<Message>>,
        pause: u32,
    ) -> Self {
        let (waiting, unlogged, log) = (VecDeque::new(), Vec::new(), BTreeMap::new());
        let (timer, is_down, voting) = (None, false, None);
        Self { bug, watch, participants, timer, pause, is_down, voting, waiting, unlogged, log }
    }

    fn time(&self, what: ToTimer, cx: &mut Context<'_, Message>) {
        cx.send(self.timer.as_ref().expect("it has one since its start"), what);
    }

    fn tell_all(&self, message: &Message, cx: &mut Context<'_, Message>) {
        for participant in &self.participants {
            cx.send(participant, message.clone());
        }
    }

    fn begin_next(&mut self, cx: &mut Context<'_, Message>) {
        if self.voting.is_some() {
            return;
        }
        let Some((transaction, client)) = self.waiting.pop_front() else { return };
        for (transaction, commit) in self.unlogged.drain(..) {
            self.log.insert(transaction, Entry::Decided { commit });
        }
        self.log.insert(transaction, Entry::Begun);
        self.voting =
            Some(Voting { transaction, client, yes: BTreeSet::new(), no: BTreeSet::new() });
        let coordinator = cx.me().clone();
        self.tell_all(&Message::Prepare { transaction, coordinator }, cx);
        self.time(ToTimer::Start { round: transaction }, cx);
    }

    fn decide(&mut self, transaction: u32, commit: bool, cx: &mut Context<'_, Message>) {
        if self.bug == Bug::TellsBeforeItLogs {
            self.unlogged.push((transaction, commit));
        } else {
            self.log.insert(transaction, Entry::Decided { commit });
        }
        self.watch.tell(Event::Decided { transaction, participant: None, commit }, cx);
        self.tell_all(&Message::Decision { transaction, commit }, cx);
    }

    /// Ends the vote.
    fn close(&mut self, commit: bool, cx: &mut Context<'_, Message>) {
        let Some(Voting { transaction, client, .. }) = self.voting.take() else { return };
        self.time(ToTimer::Cancel, cx);
        self.decide(transaction, commit, cx);
        cx.send(&client, Message::Outcome { transaction, commit });
        self.begin_next(cx);
    }

    fn count(
        &mut self,
        transaction: u32,
        participant: usize,
        yes: bool,
        cx: &mut Context<'_, Message>,
    ) {
        let is_of_this = |voting: &&mut Voting| match self.bug {
            Bug::OldVotes => true,
            _ => voting.transaction == transaction,
        };
        let voting = self.voting.as_mut().filter(is_of_this);
        let voting = match self.bug {
            Bug::LateVote => Some(voting.expect("a vote comes while it is counted")),
            _ => voting,
        };
        // A vote on what is decided already changes nothing.
        let Some(voting) = voting else { return };
        let votes = if yes { &mut voting.yes } else { &mut voting.no };
        votes.insert(participant);
        let all = self.participants.len();
        if voting.yes.len() == all {
            self.close(true, cx);
        } else if !voting.no.is_empty()
            && (self.bug != Bug::LateVote || voting.yes.len() + voting.no.len() == all)
        {
            self.close(false, cx);
        }
    }

    fn decision(&self, transaction: u32) -> Option<bool> {
        let unlogged = self.unlogged.iter().find(|(other, _)| *other == transaction);
        match (unlogged, self.log.get(&transaction)) {
            (Some(&(_, commit)), _) | (None, Some(&Entry::Decided { commit })) => Some(commit),
            (None, Some(Entry::Begun) | None) => None,
        }
    }

    /// What was begun is aborted; what was decided is told again, as it may have been told to those who
    /// were down, or have been asked for meanwhile.
    fn recover(&mut self, cx: &mut Context<'_, Message>) {
        for (transaction, entry) in self.log.clone() {
            match entry {
                Entry::Begun => self.decide(transaction, false, cx),
                Entry::Decided { commit } => {
                    self.tell_all(&Message::Decision { transaction, commit }, cx);
                }
            }
        }
    }
}

impl Actor for Coordinator {
    type Message = Message;
    raddle::actors::snapshots!();

    fn start(&mut self, cx: &mut Context<'_, Message>) {
        let me = cx.me().clone();
        self.timer = Some(cx.spawn_named("timer", Timer::new(me, 1).pause(self.pause)));
    }

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Message>) {
        match message {
            Message::Restart => {
                self.is_down = false;
                self.recover(cx);
            }
            _ if self.is_down => {}
            Message::Crash => {
                self.is_down = true;
                (self.voting, self.waiting, self.unlogged) = (None, VecDeque::new(), Vec::new());
                self.time(ToTimer::Cancel, cx);
            }
            Message::Begin { transaction, client } => {
                self.waiting.push_back((transaction, client));
                self.begin_next(cx);
            }
            Message::Vote { transaction, participant, yes } => {
                self.count(transaction, participant, yes, cx);
            }
            Message::Timeout { transaction } => {
                if self.voting.as_ref().is_some_and(|voting| voting.transaction == transaction) {
                    self.close(false, cx);
                }
            }
            Message::Query { transaction, participant } => {
                // If it is not decided yet, the decision will be told to all.
                if let Some(commit) = self.decision(transaction) {
                    cx.send(&participant, Message::Decision { transaction, commit });
                }
            }
            other => cx.unhandled(&other),
        }
    }
}

/// Votes as it likes, and does as was decided.
#[derive(Clone, Debug, Hash)]
pub struct Participant {
    bug: Bug,
    watch: Witness<Event>,
    number: usize,
    is_down: bool,
    /// The transaction that it has voted yes on and not heard the decision of, and whom to ask for it. On
    /// the disk.
    locked: Option<(u32, Address<Message>)>,
    /// What it knows to be committed or aborted. On the disk.
    outcomes: BTreeMap<u32, bool>,
}

impl Participant {
    /// How many transactions it knows to be committed.
    #[must_use]
    pub fn committed(&self) -> usize {
        self.outcomes.values().filter(|commit| **commit).count()
    }

    fn vote(
        &mut self,
        transaction: u32,
        coordinator: &Address<Message>,
        cx: &mut Context<'_, Message>,
    ) {
        let participant = self.number;
        let yes = self.locked.is_none() && cx.choose(2) == 0;
        if yes {
            self.locked = Some((transaction, coordinator.clone()));
            self.watch.tell(Event::VotedYes { transaction, participant }, cx);
        } else {
            self.hear(transaction, false, cx);
        }
        cx.send(coordinator, Message::Vote { transaction, participant, yes });
    }

    fn hear(&mut self, transaction: u32, commit: bool, cx: &mut Context<'_, Message>) {
        if self.locked.as_ref().is_some_and(|(locked, _)| *locked == transaction) {
            self.locked = None;
        }
        self.outcomes.insert(transaction, commit);
        let participant = Some(self.number);
        self.watch.tell(Event::Decided { transaction, participant, commit }, cx);
    }

    fn knows(&self, transaction: u32) -> bool {
        let is_locked = self.locked.as_ref().is_some_and(|(locked, _)| *locked == transaction);
        is_locked || self.outcomes.contains_key(&transaction)
    }
}

impl Actor for Participant {
    type Message = Message;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Message>) {
        match message {
            Message::Restart => {
                self.is_down = false;
                if let Some((transaction, coordinator)) = self.locked.clone() {
                    let participant = cx.me().clone();
                    cx.send(&coordinator, Message::Query { transaction, participant });
                }
            }
            _ if self.is_down => {}
            Message::Crash => self.is_down = true,
            Message::Prepare { transaction, coordinator } => {
                self.vote(transaction, &coordinator, cx);
            }
            Message::Decision { transaction, .. }
                if self.bug == Bug::AbortOfUnknown && !self.knows(transaction) =>
            {
                cx.unhandled(&message)
            }
            Message::Decision { transaction, commit } => self.hear(transaction, commit, cx),
            other => cx.unhandled(&other),
        }
    }
}

/// What the monitor is told.
#[derive(Clone, Copy, Debug, Hash)]
pub enum Event {
    /// A participant has voted yes, and is bound to what will be decided.
    VotedYes {
        /// On which transaction.
        transaction: u32,
        /// Who.
        participant: usize,
    },
    /// A participant, or the coordinator, takes a transaction for committed or aborted.
    Decided {
        /// Which transaction.
        transaction: u32,
        /// None: the coordinator.
        participant: Option<usize>,
        /// Committed, not aborted.
        commit: bool,
    },
}

/// All or nothing, by the votes of all, and in the end.
#[derive(Clone, Debug, Default, Hash)]
struct Atomic {
    participants: usize,
    outcomes: BTreeMap<u32, bool>,
    /// Votes for each transaction.
    yes: BTreeMap<u32, BTreeSet<usize>>,
    /// Those who are bound, and to what.
    locked: BTreeSet<(u32, usize)>,
}

impl Monitor for Atomic {
    type Event = Event;
    raddle::actors::snapshots!(monitor);

    fn observe(&mut self, event: Event) {
        match event {
            Event::VotedYes { transaction, participant } => {
                self.yes.entry(transaction).or_default().insert(participant);
                self.locked.insert((transaction, participant));
            }
            Event::Decided { transaction, participant, commit } => {
                let known = *self.outcomes.entry(transaction).or_insert(commit);
                assert_eq!(commit, known, "transaction {transaction} is committed and aborted");
                let votes = self.yes.get(&transaction).map_or(0, BTreeSet::len);
                assert!(
                    !commit || votes == self.participants,
                    "transaction {transaction} is committed with {votes} votes of {}",
                    self.participants
                );
                if let Some(participant) = participant {
                    self.locked.remove(&(transaction, participant));
                }
            }
        }
    }

    fn is_hot(&self) -> bool {
        !self.locked.is_empty()
    }
}

/// Where its actors are.
#[derive(Clone, Debug)]
pub struct Nodes {
    /// Decides.
    pub coordinator: Address<Message>,
    /// Vote.
    pub participants: Vec<Address<Message>>,
    /// Is told what happens.
    pub history: Witness<Event>,
}

/// Builds it in a system of any manager.
#[must_use]
pub fn build(system: &System, bug: Bug, size: Size) -> Nodes {
    let atomic = || Atomic { participants: size.participants, ..Atomic::default() };
    let history = Witness::new(system, atomic);
    let participant = |number| {
        let (watch, locked, outcomes) = (history.clone(), None, BTreeMap::new());
        let participant = Participant { bug, watch, number, is_down: false, locked, outcomes };
        system.spawn_named(&format!("participant {number}"), participant)
    };
    let participants: Vec<_> = (0..size.participants).map(participant).collect();
    let coordinator =
        Coordinator::new(bug, history.clone(), participants.clone(), size.pause as u32);
    let coordinator = system.spawn_named("coordinator", coordinator);
    let (transactions, outcomes) = (size.transactions as u32, BTreeMap::new());
    let client = Client { coordinator: coordinator.clone(), transactions, asked: 0, outcomes };
    system.spawn_named("client", client);
    let targets = std::iter::once(&coordinator).chain(&participants).cloned().collect();
    system.spawn_named(
        "injector",
        Injector::new(targets, Failure::Restarts, size.crashes).pause(size.pause as u32),
    );
    Nodes { coordinator, participants, history }
}

/// Whether no participant is locked, and what each knows is what the coordinator has decided.
#[must_use]
pub fn agree(coordinator: &Coordinator, participants: &[Participant]) -> bool {
    let all = participants.iter().flat_map(|participant| &participant.outcomes);
    participants.iter().all(|participant| participant.locked.is_none())
        && all.into_iter().all(|(of, commit)| coordinator.decision(*of) == Some(*commit))
}

/// The system with what must hold of it.
#[must_use]
pub fn model(bug: Bug, size: Size) -> Model<Nodes> {
    queues(move |system| build(system, bug, size)).finally("all agree", |nodes, view| {
        let participant = |address| view.actor::<Participant>(address).clone();
        let participants: Vec<_> = nodes.participants.iter().map(participant).collect();
        agree(view.actor::<Coordinator>(&nodes.coordinator), &participants)
    })
}

/// Runs it to its end in a system of any manager, and looks at its history and at its end.
///
/// # Panics
/// If they are not what they must be.
fn produce(system: &System) {
    let size = Size { participants: 5, transactions: 50, crashes: 10, pause: 0 };
    let nodes = build(system, Bug::None, size);
    system.handle_all();
    let participant = |address| system.inspect(address, |one: &Participant| one.clone());
    let participants: Vec<_> = nodes.participants.iter().map(participant).collect();
    let agreed = system.inspect(&nodes.coordinator, |one: &Coordinator| agree(one, &participants));
    assert!(agreed, "all agree");
    assert!(!nodes.history.is_hot::<Atomic>(system), "nothing is left undone");
}
