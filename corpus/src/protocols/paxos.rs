//! Single-decree Paxos: proposers that compete, acceptors that crash and come back.
//!
//! Lamport, "Paxos Made Simple" (2001). A proposer asks all acceptors to promise its ballot. With the promises of
//! a majority it asks them to accept a value: that of the highest ballot which one of these has accepted, or its
//! own if there is none. A ballot is a round and the number of its proposer. A proposer that is refused, or
//! waits too long, begins a higher round, so many times. What an acceptor has promised and accepted is on its
//! disk. A proposer sends to one acceptor after another, each in a step of its own: were it one step, all
//! acceptors would be asked in the same order.
//!
//! What must hold: a majority of acceptors accepts one value at most in whichever ballots, and what a proposer
//! takes for chosen has been accepted by a majority in one ballot. That something is chosen is not promised.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use raddle::actors::{Actor, Address, Context, Model, Monitor, System};

use super::injector::{Failing, Failure, Injector};
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
    /// A proposer has no use for a promise of an earlier round.
    ///
    /// Order: the proposer's time is over, or an acceptor refuses it, while the promise of another acceptor
    /// is on its way.
    StalePromise,
    /// A proposer takes over the value of the last acceptor that has accepted one, and not that of the
    /// highest ballot.
    ///
    /// Order: proposer 0 has its value accepted by acceptor 2 alone; proposer 1 has its own accepted by the
    /// others, a majority, with promises that do not tell of it; proposer 0 begins a second round, and is
    /// promised by acceptor 2 and one of the others. It takes the older value, and a majority accepts it.
    AnyValue,
    /// An acceptor has its promise in memory only.
    ///
    /// Order: an acceptor promises a ballot, crashes, comes back, and accepts a lower one that was on its way
    /// meanwhile. So a majority accepts the lower one after another has promised the higher, and knows
    /// nothing of it.
    ForgetsPromise,
}

/// How large it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Each has a value of its own.
    pub proposers: usize,
    /// How many there are: an odd number is best.
    pub acceptors: usize,
    /// How many rounds each proposer begins at most.
    pub rounds: usize,
    /// How many times an acceptor crashes.
    pub crashes: usize,
    /// How many steps of their own pass before a timer may fire and before a failure.
    pub pause: usize,
}

const PARAMETERS: [Parameter; 5] = [
    parameter("proposers", 2, 1, 16),
    parameter("acceptors", 3, 1, 63),
    parameter("rounds", 2, 1, 16),
    parameter("crashes", 1, 0, 16),
    parameter("pause", 0, 0, 1_000),
];

const LARGE: [usize; 5] = [4, 7, 4, 2, 0];

/// Two proposers of two rounds, three acceptors and one crash are the least that shows every bug.
pub const PROTOCOL: Protocol = Protocol {
    name: "Paxos",
    line: "proposers of one value, and acceptors that crash",
    produce,
    test: Test {
        correct: program("paxos", "proposers of one value, and acceptors that crash")
            .many(|size| sized(Bug::None, size).run(), &PARAMETERS)
            .states(|size, visit| visit.model(&sized(Bug::None, size)))
            .large(&LARGE),
        bugs: &[
            program("paxos-stale-promise", "a promise of a round that is over")
                .many(|size| sized(Bug::StalePromise, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::StalePromise, size)))
                .bug(Expected::Panic, UNHANDLED)
                .large(&[1, 31, 2, 1, 60]),
            program("paxos-any-value", "a value is taken over that is not the newest")
                .many(|size| sized(Bug::AnyValue, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::AnyValue, size)))
                .bug(Expected::Panic, MONITOR)
                .large(&LARGE),
            program("paxos-forgets-promise", "a promise is not on the disk")
                .many(|size| sized(Bug::ForgetsPromise, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::ForgetsPromise, size)))
                .bug(Expected::Panic, MONITOR)
                .large(&LARGE),
        ],
    },
};

fn sized(bug: Bug, size: &[usize]) -> Model<Nodes> {
    let &[proposers, acceptors, rounds, crashes, pause] = size else {
        unreachable!("five arguments")
    };
    model(bug, Size { proposers, acceptors, rounds, crashes, pause })
}

/// Ordered by rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ballot {
    /// From 1.
    pub round: u32,
    /// Whose.
    pub proposer: usize,
}

/// A value, and the ballot in which it was accepted.
pub type Vote = (Ballot, u32);

/// What all its actors are told.
#[derive(Clone, Debug, Hash)]
pub enum Message {
    /// To a proposer: begin.
    Propose,
    /// To a proposer, from itself: send to the next acceptor.
    Send,
    /// To a proposer, from an acceptor.
    Promise {
        /// Of what.
        ballot: Ballot,
        /// Who.
        acceptor: usize,
        /// What it has accepted last.
        accepted: Option<Vote>,
    },
    /// To a proposer, from an acceptor that has promised a higher ballot.
    Refused {
        /// What was asked.
        ballot: Ballot,
        /// What it has promised.
        promised: Ballot,
    },
    /// To a proposer, from an acceptor.
    Accepted {
        /// In which ballot.
        ballot: Ballot,
        /// Who.
        acceptor: usize,
    },
    /// To a proposer: it has waited long enough.
    Timeout {
        /// In which round.
        round: u32,
    },
    /// To an acceptor: promise to accept no lower ballot.
    Prepare {
        /// Which.
        ballot: Ballot,
        /// Who asks.
        proposer: Address<Message>,
    },
    /// To an acceptor.
    Accept {
        /// In which ballot.
        ballot: Ballot,
        /// What.
        value: u32,
        /// Who asks.
        proposer: Address<Message>,
    },
    /// To an acceptor.
    Crash,
    /// To an acceptor that is down.
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

#[derive(Clone, Debug, Hash)]
enum Phase {
    /// Before the first round, or after the last.
    Idle,
    Preparing(BTreeMap<usize, Option<Vote>>),
    Accepting(u32, BTreeSet<usize>),
    Chosen(u32),
}

/// Wants its value to be chosen.
#[derive(Clone, Debug, Hash)]
pub struct Proposer {
    bug: Bug,
    watch: Witness<Event>,
    number: usize,
    acceptors: Vec<Address<Message>>,
    timer: Option<Address<ToTimer>>,
    /// Of its timer.
    pause: u32,
    /// What is to be sent, and to which acceptor.
    outbox: VecDeque<(usize, Message)>,
    /// How many rounds it may begin.
    rounds: u32,
    round: u32,
    phase: Phase,
}

impl Proposer {
    /// What it takes for chosen.
    #[must_use]
    pub fn chosen(&self) -> Option<u32> {
        match self.phase {
            Phase::Chosen(value) => Some(value),
            Phase::Idle | Phase::Preparing(_) | Phase::Accepting(..) => None,
        }
    }

    fn ballot(&self) -> Ballot {
        Ballot { round: self.round, proposer: self.number }
    }

    fn majority(&self) -> usize {
        self.acceptors.len() / 2 + 1
    }

    fn time(&self, what: ToTimer, cx: &mut Context<'_, Message>) {
        cx.send(self.timer.as_ref().expect("it has one since its start"), what);
    }

    /// Sends this, and nothing that was to be sent before.
    fn send_all(&mut self, message: &Message, cx: &mut Context<'_, Message>) {
        if self.outbox.is_empty() {
            let me = cx.me().clone();
            cx.send(&me, Message::Send);
        }
        self.outbox = (0..self.acceptors.len()).map(|to| (to, message.clone())).collect();
    }

    fn send_next(&mut self, cx: &mut Context<'_, Message>) {
        let Some((to, message)) = self.outbox.pop_front() else { return };
        cx.send(&self.acceptors[to], message);
        if !self.outbox.is_empty() {
            let me = cx.me().clone();
            cx.send(&me, Message::Send);
        }
    }

    /// Begins a round that is higher than this one.
    fn begin(&mut self, above: u32, cx: &mut Context<'_, Message>) {
        if self.rounds == 0 {
            self.phase = Phase::Idle;
            return;
        }
        self.rounds -= 1;
        self.round = above + 1;
        self.phase = Phase::Preparing(BTreeMap::new());
        let (ballot, proposer) = (self.ballot(), cx.me().clone());
        self.send_all(&Message::Prepare { ballot, proposer }, cx);
        self.time(ToTimer::Start { round: self.round }, cx);
    }

    fn promised(&mut self, acceptor: usize, accepted: Option<Vote>, cx: &mut Context<'_, Message>) {
        let majority = self.majority();
        // A promise beyond the majority changes nothing.
        let Phase::Preparing(promises) = &mut self.phase else { return };
        promises.insert(acceptor, accepted);
        if promises.len() < majority {
            return;
        }
        let mut votes = promises.values().flatten();
        let vote = match self.bug {
            Bug::AnyValue => votes.next_back(),
            _ => votes.max(),
        };
        let value = vote.map_or(self.number as u32, |(_, value)| *value);
        self.phase = Phase::Accepting(value, BTreeSet::new());
        let (ballot, proposer) = (self.ballot(), cx.me().clone());
        self.send_all(&Message::Accept { ballot, value, proposer }, cx);
    }

    fn accepted(&mut self, acceptor: usize, cx: &mut Context<'_, Message>) {
        let majority = self.majority();
        let Phase::Accepting(value, acceptors) = &mut self.phase else { return };
        acceptors.insert(acceptor);
        if acceptors.len() == majority {
            let value = *value;
            self.phase = Phase::Chosen(value);
            self.time(ToTimer::Cancel, cx);
            self.watch.tell(Event::Learned { value }, cx);
        }
    }

    /// Whether it still waits for something.
    fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Preparing(_) | Phase::Accepting(..))
    }
}

impl Actor for Proposer {
    type Message = Message;
    raddle::actors::snapshots!();

    fn start(&mut self, cx: &mut Context<'_, Message>) {
        let me = cx.me().clone();
        cx.send(&me, Message::Propose);
        self.timer = Some(cx.spawn(Timer::new(me, 3).pause(self.pause)));
    }

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Message>) {
        let now = self.ballot();
        match message {
            Message::Propose => self.begin(0, cx),
            Message::Send => self.send_next(cx),
            Message::Promise { ballot, acceptor, accepted } if ballot == now => {
                self.promised(acceptor, accepted, cx);
            }
            Message::Promise { .. } if self.bug == Bug::StalePromise => cx.unhandled(&message),
            Message::Accepted { ballot, acceptor } if ballot == now => self.accepted(acceptor, cx),
            Message::Refused { ballot, promised } if ballot == now && self.is_open() => {
                self.begin(promised.round, cx);
            }
            Message::Timeout { round } if round == now.round && self.is_open() => {
                self.begin(round, cx);
            }
            // Of a round that is over.
            Message::Promise { .. }
            | Message::Accepted { .. }
            | Message::Refused { .. }
            | Message::Timeout { .. } => {}
            other => cx.unhandled(&other),
        }
    }
}

/// Promises and accepts.
#[derive(Clone, Debug, Hash)]
pub struct Acceptor {
    bug: Bug,
    watch: Witness<Event>,
    number: usize,
    is_down: bool,
    /// On the disk.
    promised: Option<Ballot>,
    /// On the disk.
    accepted: Option<Vote>,
}

impl Acceptor {
    /// What it has accepted last.
    #[must_use]
    pub fn accepted(&self) -> Option<Vote> {
        self.accepted
    }
}

impl Actor for Acceptor {
    type Message = Message;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Message>) {
        let acceptor = self.number;
        match message {
            Message::Restart => self.is_down = false,
            _ if self.is_down => {}
            Message::Crash => {
                self.is_down = true;
                if self.bug == Bug::ForgetsPromise {
                    self.promised = self.accepted.map(|(ballot, _)| ballot);
                }
            }
            Message::Prepare { ballot, proposer } => match self.promised {
                Some(promised) if promised >= ballot => {
                    cx.send(&proposer, Message::Refused { ballot, promised });
                }
                _ => {
                    self.promised = Some(ballot);
                    let accepted = self.accepted;
                    cx.send(&proposer, Message::Promise { ballot, acceptor, accepted });
                }
            },
            Message::Accept { ballot, value, proposer } => match self.promised {
                Some(promised) if promised > ballot => {
                    cx.send(&proposer, Message::Refused { ballot, promised });
                }
                _ => {
                    self.promised = Some(ballot);
                    self.accepted = Some((ballot, value));
                    self.watch.tell(Event::Accepted { acceptor, ballot, value }, cx);
                    cx.send(&proposer, Message::Accepted { ballot, acceptor });
                }
            },
            other => cx.unhandled(&other),
        }
    }
}

/// What the monitor is told.
#[derive(Clone, Copy, Debug, Hash)]
pub enum Event {
    /// An acceptor has accepted.
    Accepted {
        /// Who.
        acceptor: usize,
        /// In which ballot.
        ballot: Ballot,
        /// What.
        value: u32,
    },
    /// A proposer takes something for chosen.
    Learned {
        /// What.
        value: u32,
    },
}

/// One value is chosen.
#[derive(Clone, Debug, Hash)]
struct Agreement {
    majority: usize,
    votes: BTreeMap<Vote, BTreeSet<usize>>,
    chosen: Option<u32>,
}

impl Monitor for Agreement {
    type Event = Event;
    raddle::actors::snapshots!(monitor);

    fn observe(&mut self, event: Event) {
        match event {
            Event::Accepted { acceptor, ballot, value } => {
                let votes = self.votes.entry((ballot, value)).or_default();
                votes.insert(acceptor);
                if votes.len() >= self.majority {
                    let chosen = *self.chosen.get_or_insert(value);
                    assert_eq!(chosen, value, "two values are chosen");
                }
            }
            Event::Learned { value } => {
                assert_eq!(self.chosen, Some(value), "a value is learned that is not chosen");
            }
        }
    }
}

/// Where its actors are.
#[derive(Clone, Debug)]
pub struct Nodes {
    /// Propose.
    pub proposers: Vec<Address<Message>>,
    /// Accept.
    pub acceptors: Vec<Address<Message>>,
    /// Is told what happens.
    pub history: Witness<Event>,
}

/// Builds it in a system of any manager.
#[must_use]
pub fn build(system: &System, bug: Bug, size: Size) -> Nodes {
    let majority = size.acceptors / 2 + 1;
    let agreement = || Agreement { majority, votes: BTreeMap::new(), chosen: None };
    let history = Witness::new(system, agreement);
    let acceptor = |number| {
        let (watch, is_down, promised, accepted) = (history.clone(), false, None, None);
        let acceptor = Acceptor { bug, watch, number, is_down, promised, accepted };
        system.spawn_named(&format!("acceptor {number}"), acceptor)
    };
    let acceptors: Vec<_> = (0..size.acceptors).map(acceptor).collect();
    let proposer = |number| {
        let proposer = Proposer {
            bug,
            watch: history.clone(),
            number,
            acceptors: acceptors.clone(),
            timer: None,
            pause: size.pause as u32,
            outbox: VecDeque::new(),
            rounds: size.rounds as u32,
            round: 0,
            phase: Phase::Idle,
        };
        system.spawn_named(&format!("proposer {number}"), proposer)
    };
    let proposers = (0..size.proposers).map(proposer).collect();
    let injector =
        Injector::new(acceptors.clone(), Failure::Restarts, size.crashes).pause(size.pause as u32);
    system.spawn_named("injector", injector);
    Nodes { proposers, acceptors, history }
}

/// Whether all proposers that take something for chosen mean the same.
#[must_use]
pub fn agree(proposers: &[Proposer]) -> bool {
    let chosen: BTreeSet<_> = proposers.iter().filter_map(Proposer::chosen).collect();
    chosen.len() <= 1
}

/// The system with what must hold of it.
#[must_use]
pub fn model(bug: Bug, size: Size) -> Model<Nodes> {
    queues(move |system| build(system, bug, size)).finally("all agree", |nodes, view| {
        let proposer = |address| view.actor::<Proposer>(address).clone();
        agree(&nodes.proposers.iter().map(proposer).collect::<Vec<_>>())
    })
}

/// Runs it to its end in a system of any manager, and looks at its history and at its end.
///
/// # Panics
/// If they are not what they must be.
fn produce(system: &System) {
    let size = Size { proposers: 5, acceptors: 5, rounds: 10, crashes: 10, pause: 0 };
    let nodes = build(system, Bug::None, size);
    system.handle_all();
    let proposer = |address| system.inspect(address, |one: &Proposer| one.clone());
    let proposers: Vec<_> = nodes.proposers.iter().map(proposer).collect();
    assert!(agree(&proposers), "all agree");
    assert!(!nodes.history.is_hot::<Agreement>(system), "nothing is left undone");
}
