//! Protocols whose states are counted: one text for all tools.
//!
//! A protocol says what each of its actors does when it starts, when it hears something and when its
//! timer fires. A tool's side sends what came of it; who sent a message comes with it. So the models of
//! two tools differ in nothing, and must have the same states.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::hash::Hash;

/// What an actor does.
#[derive(Clone, Debug)]
pub struct Out<M> {
    /// The receiver, and the message.
    pub sends: Vec<(u8, M)>,
    /// Whether it sets its timer.
    pub timer: bool,
}

impl<M> Default for Out<M> {
    fn default() -> Self {
        Self { sends: Vec::new(), timer: false }
    }
}

impl<M: Clone> Out<M> {
    fn send(&mut self, to: u8, message: M) {
        self.sends.push((to, message));
    }

    fn send_all(&mut self, to: impl IntoIterator<Item = u8>, message: &M) {
        to.into_iter().for_each(|to| self.send(to, message.clone()));
    }
}

/// What can be kept and compared.
pub trait Plain: Clone + Debug + Eq + Hash + Send + Sync + 'static {}
impl<T: Clone + Debug + Eq + Hash + Send + Sync + 'static> Plain for T {}

/// A protocol.
pub trait Protocol: Copy + Debug + Send + Sync + 'static {
    /// What actors tell each other.
    type Message: Plain + Ord;
    /// What they keep.
    type State: Plain;

    /// How many they are. An actor that starts may send only to those before it.
    fn actors(self) -> u8;
    /// An actor starts.
    fn start(self, me: u8, out: &mut Out<Self::Message>) -> Self::State;
    /// It hears something.
    fn hear(
        self,
        me: u8,
        state: &mut Self::State,
        from: u8,
        message: Self::Message,
        out: &mut Out<Self::Message>,
    );
    /// Its timer fires.
    fn timeout(self, me: u8, state: &mut Self::State, out: &mut Out<Self::Message>) {
        let _ = (me, state, out);
    }
    /// What must hold in every state.
    fn is_safe<'a>(self, states: impl Fn(u8) -> &'a Self::State) -> bool;
    /// What must hold in some.
    fn is_done<'a>(self, states: impl Fn(u8) -> &'a Self::State) -> bool;
}

/// Pairs of actors that throw a ball to and fro, `throws` times. The pairs have nothing to do with each
/// other: (throws + 1) ^ pairs states.
#[derive(Clone, Copy, Debug)]
pub struct PingPong {
    /// How many pairs.
    pub pairs: u8,
    /// How often each ball is thrown.
    pub throws: u32,
}

impl Protocol for PingPong {
    type Message = u32;
    type State = u32;

    fn actors(self) -> u8 {
        2 * self.pairs
    }

    fn start(self, me: u8, out: &mut Out<u32>) -> u32 {
        if me % 2 == 1 {
            out.send(me - 1, 1);
        }
        0
    }

    fn hear(self, _me: u8, state: &mut u32, from: u8, nth: u32, out: &mut Out<u32>) {
        *state += 1;
        if nth < self.throws {
            out.send(from, nth + 1);
        }
    }

    fn is_safe<'a>(self, states: impl Fn(u8) -> &'a u32) -> bool {
        (0..self.pairs).all(|pair| states(2 * pair).abs_diff(*states(2 * pair + 1)) <= 1)
    }

    fn is_done<'a>(self, states: impl Fn(u8) -> &'a u32) -> bool {
        (0..self.pairs).all(|pair| states(2 * pair) + states(2 * pair + 1) == self.throws)
    }
}

/// Two-phase commit: participants, and last of all the coordinator, which gives up when its timer fires
/// before all are prepared.
#[derive(Clone, Copy, Debug)]
pub struct TwoPhaseCommit {
    /// How many participants.
    pub participants: u8,
}

/// What they tell each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vote {
    /// Get ready.
    Prepare,
    /// It is ready.
    Prepared,
    /// All do it.
    Commit,
    /// None does.
    Abort,
}

/// Where one of them is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// A participant before it is asked.
    Working,
    /// A participant that waits for the decision.
    Ready,
    /// It is done.
    Committed,
    /// It is not done.
    Aborted,
    /// The coordinator, with those that are ready.
    Waiting(BTreeSet<u8>),
}

impl Protocol for TwoPhaseCommit {
    type Message = Vote;
    type State = Phase;

    fn actors(self) -> u8 {
        self.participants + 1
    }

    fn start(self, me: u8, out: &mut Out<Vote>) -> Phase {
        if me < self.participants {
            return Phase::Working;
        }
        out.send_all(0..self.participants, &Vote::Prepare);
        out.timer = true;
        Phase::Waiting(BTreeSet::new())
    }

    fn hear(self, _me: u8, state: &mut Phase, from: u8, vote: Vote, out: &mut Out<Vote>) {
        match vote {
            Vote::Prepare => {
                if *state == Phase::Working {
                    *state = Phase::Ready;
                    out.send(from, Vote::Prepared);
                }
            }
            Vote::Prepared => {
                let Phase::Waiting(ready) = state else { return };
                ready.insert(from);
                if ready.len() == usize::from(self.participants) {
                    *state = Phase::Committed;
                    out.send_all(0..self.participants, &Vote::Commit);
                }
            }
            Vote::Commit => *state = Phase::Committed,
            Vote::Abort => *state = Phase::Aborted,
        }
    }

    fn timeout(self, _me: u8, state: &mut Phase, out: &mut Out<Vote>) {
        if matches!(state, Phase::Waiting(_)) {
            *state = Phase::Aborted;
            out.send_all(0..self.participants, &Vote::Abort);
        }
    }

    fn is_safe<'a>(self, states: impl Fn(u8) -> &'a Phase) -> bool {
        let any = |phase: &Phase| (0..self.actors()).any(|actor| states(actor) == phase);
        !(any(&Phase::Committed) && any(&Phase::Aborted))
    }

    fn is_done<'a>(self, states: impl Fn(u8) -> &'a Phase) -> bool {
        (0..self.actors()).all(|actor| *states(actor) == Phase::Committed)
    }
}

/// What clients and servers of a register tell each other, and what servers do: `M`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Register<M> {
    /// Write this.
    Put(u8),
    /// It is written.
    PutOk,
    /// What is it?
    Get,
    /// It is this.
    GetOk(u8),
    /// Between servers.
    Internal(M),
}

/// A client, which writes once and then reads; or a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Part<T> {
    /// A client's place: 0 writes, 1 reads, 2 has read.
    Client(u8, u8),
    /// A server.
    Server(T),
}

impl<T> Part<T> {
    /// Client `n` writes `n + 1` to server `n % servers` and reads from the next one.
    fn start<M: Clone>(client: u8, servers: u8, out: &mut Out<Register<M>>) -> Self {
        out.send(client % servers, Register::Put(client + 1));
        Self::Client(0, 0)
    }

    fn client<M: Clone>(
        &mut self,
        client: u8,
        servers: u8,
        message: &Register<M>,
        out: &mut Out<Register<M>>,
    ) {
        let Self::Client(place, read) = self else { return };
        match message {
            Register::PutOk if *place == 0 => {
                *place = 1;
                out.send((client + 1) % servers, Register::Get);
            }
            Register::GetOk(value) if *place == 1 => (*place, *read) = (2, *value),
            _ => {}
        }
    }
}

/// One server keeps the register.
#[derive(Clone, Copy, Debug)]
pub struct SingleCopy {
    /// How many clients.
    pub clients: u8,
}

impl Protocol for SingleCopy {
    type Message = Register<()>;
    type State = Part<u8>;

    fn actors(self) -> u8 {
        1 + self.clients
    }

    fn start(self, me: u8, out: &mut Out<Register<()>>) -> Part<u8> {
        if me == 0 { Part::Server(0) } else { Part::<u8>::start(me - 1, 1, out) }
    }

    fn hear(
        self,
        me: u8,
        state: &mut Part<u8>,
        from: u8,
        message: Register<()>,
        out: &mut Out<Register<()>>,
    ) {
        let Part::Server(value) = state else {
            return state.client(me - 1, 1, &message, out);
        };
        match message {
            Register::Put(new) => {
                *value = new;
                out.send(from, Register::PutOk);
            }
            Register::Get => out.send(from, Register::GetOk(*value)),
            _ => {}
        }
    }

    /// Who has written reads something that was written.
    fn is_safe<'a>(self, states: impl Fn(u8) -> &'a Part<u8>) -> bool {
        (1..self.actors()).all(|client| !matches!(states(client), Part::Client(2, 0)))
    }

    fn is_done<'a>(self, states: impl Fn(u8) -> &'a Part<u8>) -> bool {
        (1..self.actors()).all(|client| matches!(states(client), Part::Client(2, _)))
    }
}

/// Single-decree Paxos: three servers decide on one write.
#[derive(Clone, Copy, Debug)]
pub struct Paxos {
    /// How many clients.
    pub clients: u8,
}

/// The number of an attempt, and whose it is.
type Ballot = (u32, u8);
/// Who wants to write what.
type Wish = (u8, u8);

/// What servers tell each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Round {
    /// Promise to hear no ballot before mine.
    Prepare(Ballot),
    /// Promised; and what was accepted before.
    Promise(Ballot, Option<(Ballot, Wish)>),
    /// Accept this.
    Accept(Ballot, Wish),
    /// Accepted.
    Accepted(Ballot),
    /// A majority has accepted this.
    Decided(Ballot, Wish),
}

/// What a server keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Server {
    ballot: Ballot,
    wish: Option<Wish>,
    promises: BTreeMap<u8, Option<(Ballot, Wish)>>,
    accepts: BTreeSet<u8>,
    accepted: Option<(Ballot, Wish)>,
    decided: bool,
}

const SERVERS: u8 = 3;
const MAJORITY: usize = 2;

impl Protocol for Paxos {
    type Message = Register<Round>;
    type State = Part<Server>;

    fn actors(self) -> u8 {
        SERVERS + self.clients
    }

    fn start(self, me: u8, out: &mut Out<Self::Message>) -> Part<Server> {
        if me < SERVERS {
            Part::Server(Server::default())
        } else {
            Part::<Server>::start(me - SERVERS, SERVERS, out)
        }
    }

    fn hear(
        self,
        me: u8,
        state: &mut Part<Server>,
        from: u8,
        message: Self::Message,
        out: &mut Out<Self::Message>,
    ) {
        let Part::Server(server) = state else {
            return state.client(me - SERVERS, SERVERS, &message, out);
        };
        let others = (0..SERVERS).filter(|other| *other != me);
        match message {
            Register::Get => {
                if let (true, Some((_, (_, value)))) = (server.decided, server.accepted) {
                    out.send(from, Register::GetOk(value));
                }
            }
            _ if server.decided => {}
            Register::Put(value) if server.wish.is_none() => {
                server.wish = Some((from, value));
                server.ballot = (server.ballot.0 + 1, me);
                server.promises = BTreeMap::from([(me, server.accepted)]);
                server.accepts.clear();
                out.send_all(others, &Register::Internal(Round::Prepare(server.ballot)));
            }
            Register::Internal(Round::Prepare(ballot)) if server.ballot < ballot => {
                server.ballot = ballot;
                out.send(from, Register::Internal(Round::Promise(ballot, server.accepted)));
            }
            Register::Internal(Round::Promise(ballot, last)) if ballot == server.ballot => {
                server.promises.insert(from, last);
                if server.promises.len() == MAJORITY {
                    // What was accepted last may have been decided.
                    let last = server.promises.values().flatten().max().map(|(_, wish)| *wish);
                    let wish = last.or(server.wish).expect("it has a wish of its own");
                    server.wish = Some(wish);
                    server.accepted = Some((ballot, wish));
                    server.accepts.insert(me);
                    out.send_all(others, &Register::Internal(Round::Accept(ballot, wish)));
                }
            }
            Register::Internal(Round::Accept(ballot, wish)) if server.ballot <= ballot => {
                server.ballot = ballot;
                server.accepted = Some((ballot, wish));
                out.send(from, Register::Internal(Round::Accepted(ballot)));
            }
            Register::Internal(Round::Accepted(ballot)) if ballot == server.ballot => {
                server.accepts.insert(from);
                if server.accepts.len() == MAJORITY {
                    server.decided = true;
                    let wish = server.wish.expect("it has a wish of its own");
                    out.send_all(others, &Register::Internal(Round::Decided(ballot, wish)));
                    out.send(wish.0, Register::PutOk);
                }
            }
            Register::Internal(Round::Decided(ballot, wish)) => {
                server.ballot = ballot;
                server.accepted = Some((ballot, wish));
                server.decided = true;
            }
            _ => {}
        }
    }

    /// No two decide differently.
    fn is_safe<'a>(self, states: impl Fn(u8) -> &'a Part<Server>) -> bool {
        let mut decided = (0..SERVERS).filter_map(|server| match states(server) {
            Part::Server(server) if server.decided => server.accepted.map(|(_, wish)| wish),
            _ => None,
        });
        let first = decided.next();
        decided.all(|wish| Some(wish) == first)
    }

    fn is_done<'a>(self, states: impl Fn(u8) -> &'a Part<Server>) -> bool {
        (SERVERS..self.actors()).any(|client| matches!(states(client), Part::Client(2, _)))
    }
}
