//! The actors of a model as the processes of an explorer, and what it hears of a step.
//!
//! Process 0 is the test, which waits while messages are handled. The actors that it spawned follow in their order,
//! then, if actors may crash, one for the crashes, then the actors that are spawned later. An actor can move if
//! something waits for it: a message, a timer or its restart. What is decided in a row is the process, by the
//! explorer, and what it handles: messages the oldest first, then timers in the order in which they were set, then
//! the restart. Each decision costs its rank. So do the values that are decided in a step.
//!
//! Actors never finish: what is sent to one that has stopped is still handed to it, and dropped.

use std::sync::Arc;

use raddle_engine::explorer::{About, Explorer, Process, ProcessEvent, ProcessKind};

use super::explorers::{MAX_AS_BITS, Ranking};
use crate::hash::mix;
use crate::mailboxes::Mailboxes;
use crate::snapshot::{ANYBODY, Happened, Move, OUTSIDE, Snapshot};

/// Which processes there are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Processes {
    /// The actors that the setup spawned.
    known: u32,
    crashes: bool,
    mailboxes: Mailboxes,
}

/// Something that can be delivered, and what that costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    /// How many delays it takes.
    pub(super) price: u32,
    /// How many of them are the explorer's.
    pub(super) rank: u32,
    pub(super) step: Move,
}

/// Something that can be delivered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deliverable {
    /// The receiver.
    process: Process,
    /// What is less comes first: the rank of the process, above the age among what can be delivered to it.
    key: u64,
    step: Move,
}

/// How many bits of a key are the age. The rest is the rank.
const AGE_BITS: u32 = 40;

impl Deliverable {
    /// How many delays of the explorer lead to the process.
    fn rank(&self) -> u32 {
        (self.key >> AGE_BITS) as u32
    }
}

/// What can move in a state.
#[derive(Default)]
pub(super) struct Movers {
    /// The processes, if there are so few.
    bits: Option<u64>,
    /// The processes, ascending; of few only when they are asked for.
    list: Vec<Process>,
    all: Vec<Deliverable>,
}

impl Movers {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The processes as bits, unless there are too many.
    pub(super) fn bits(&self) -> Option<u64> {
        self.bits
    }

    /// The processes, ascending.
    pub(super) fn list(&mut self) -> &[Process] {
        if let Some(mut bits) = self.bits {
            self.list.clear();
            while bits != 0 {
                self.list.push(Process(bits.trailing_zeros()));
                bits &= bits - 1;
            }
        }
        &self.list
    }
}

/// The process of the test.
const TEST: Process = Process(0);

impl Processes {
    pub(super) fn new(first: &Snapshot, mailboxes: Mailboxes) -> Self {
        Self { known: first.actors.len() as u32, crashes: first.crashes > 0, mailboxes }
    }

    fn of_actor(self, actor: u32) -> Process {
        Process(1 + actor + u32::from(self.crashes && actor >= self.known))
    }

    pub(super) fn of(self, state: &Snapshot, step: Move) -> Process {
        match step {
            Move::Lane(at) => self.of_actor(state.lanes[at as usize].to),
            Move::Timer(of, _) | Move::Restart(of) => self.of_actor(of),
            Move::Crash => Process(1 + self.known),
        }
    }

    /// What can move in a state.
    pub(super) fn movers(self, state: &Snapshot, movers: &mut Movers) {
        let Movers { bits, list, all } = movers;
        all.clear();
        if state.actors.len() + 2 <= MAX_AS_BITS {
            // As bits they are in order, and each is there once.
            let mut few = 0u64;
            self.each(state, |one| {
                few |= 1 << one.process.0;
                all.push(one);
            });
            *bits = Some(few);
        } else {
            *bits = None;
            self.each(state, |one| all.push(one));
            list.clear();
            list.extend(all.iter().map(|one| one.process));
            list.sort_unstable();
            list.dedup();
        }
    }

    /// All that can be delivered.
    #[inline]
    fn each(self, state: &Snapshot, mut add: impl FnMut(Deliverable)) {
        let of = |process, key, step| Deliverable { process, key, step };
        for (at, lane) in state.lanes.iter().enumerate() {
            add(of(self.of_actor(lane.to), lane.age().into(), Move::Lane(at as u32)));
        }
        for (at, actor) in state.actors.iter().enumerate() {
            let (at, process) = (at as u32, self.of_actor(at as u32));
            for nth in 0..actor.timers.len() as u32 {
                add(of(process, 1 << 32 | u64::from(nth), Move::Timer(at, nth)));
            }
            if actor.is_down() {
                add(of(process, 1 << 33, Move::Restart(at)));
            }
        }
        if state.crashes > 0 {
            add(of(self.of(state, Move::Crash), 0, Move::Crash));
        }
    }

    /// All that can be delivered in a state, the cheapest first: what can move, with what it costs. Of two messages that
    /// are alike only the older one is there, but both count.
    pub(super) fn offers(
        self,
        state: &Snapshot,
        ranking: &Ranking,
        movers: &mut Movers,
        offers: &mut Vec<Offer>,
    ) {
        offers.clear();
        let all = &mut movers.all;
        for one in &mut *all {
            one.key |= u64::from(ranking.rank(one.process)) << AGE_BITS;
        }
        // Those of the same age stay in their order.
        all.sort_by_key(|one| one.key);
        // Where the deliverables of the same process begin.
        let mut first = 0;
        for (at, one) in all.iter().enumerate() {
            let (rank, step) = (one.rank(), one.step);
            if all[first].rank() != rank {
                first = at;
            }
            if at == first || !self.is_alike(state, step, &all[first..at]) {
                offers.push(Offer { price: rank + (at - first) as u32, rank, step });
            }
        }
        // No two have the same price and rank. If each process has one they are in order.
        if offers.len() > ranking.ranks.len() {
            offers.sort_unstable_by_key(|offer| (offer.price, offer.rank));
        }
    }

    fn is_alike(self, state: &Snapshot, step: Move, older: &[Deliverable]) -> bool {
        let hash = |step| match step {
            Move::Lane(at) => Some(state.lanes[at as usize].hash),
            Move::Timer(..) | Move::Crash | Move::Restart(_) => None,
        };
        let same = |other: &Deliverable| hash(other.step).is_some_and(|of| Some(of) == hash(step));
        !self.mailboxes.senders_matter() && older.iter().any(same)
    }

    /// Tells an explorer of the first state.
    pub(super) fn begin(self, explorer: &mut Explorer, first: &Snapshot) {
        explorer.start(TEST, &About::new(ProcessKind::Thread, "", None));
        for actor in 0..self.known {
            self.create(explorer, first, actor, TEST);
        }
        if self.crashes {
            let process = self.of(first, Move::Crash);
            explorer.start(process, &About::new(ProcessKind::Actor, "crashes", Some(TEST)));
            explorer.step(&ProcessEvent::Created { by: TEST, process });
        }
        let mut sent: Vec<_> = first
            .lanes
            .iter()
            .flat_map(|lane| lane.each().map(|(_, age)| (age, lane.to)))
            .collect();
        sent.sort_unstable();
        for (_, to) in sent {
            explorer.step(&ProcessEvent::Sent { by: TEST, to: self.of_actor(to) });
        }
        if let Some(names) = raddle_engine::explorer::take_order() {
            explorer.step(&ProcessEvent::Ordered { names });
        }
        let mut movers = Movers::default();
        self.movers(first, &mut movers);
        let all = (0..1 + self.known + u32::from(self.crashes)).map(Process);
        Self::block(explorer, all, movers.list());
    }

    fn create(self, explorer: &mut Explorer, state: &Snapshot, actor: u32, by: Process) {
        let process = self.of_actor(actor);
        let name = state.actors[actor as usize].name.as_deref().unwrap_or_default();
        explorer.start(process, &About::new(ProcessKind::Actor, name, Some(by)));
        explorer.step(&ProcessEvent::Created { by, process });
    }

    /// Tells of those that cannot move now.
    fn block(explorer: &mut Explorer, could: impl Iterator<Item = Process>, runnable: &[Process]) {
        for process in could.filter(|process| runnable.binary_search(process).is_err()) {
            explorer.step(&ProcessEvent::Blocked { process });
        }
    }

    /// Tells an explorer of a step, after it was delayed until it named the process that moves. `blocked`: those that
    /// could move before the step, and those that can after it, if it makes something of that.
    pub(super) fn step(
        self,
        explorer: &mut Explorer,
        (from, step): (&Snapshot, Move),
        to: &Snapshot,
        did: &[Happened],
        blocked: Option<(&[Process], &[Process])>,
    ) {
        let process = self.of(from, step);
        explorer.step(&ProcessEvent::Ran { process });
        if let Move::Lane(at) = step {
            let from = match from.lanes[at as usize].from {
                OUTSIDE => Some(TEST),
                ANYBODY => None,
                actor => Some(self.of_actor(actor)),
            };
            explorer.step(&ProcessEvent::Received { process, from });
        }
        self.tell(explorer, process, to, did);
        if let Some((before, after)) = blocked {
            let new = from.actors.len() as u32..to.actors.len() as u32;
            let new = new.map(|actor| self.of_actor(actor));
            Self::block(explorer, before.iter().copied().chain(new), after);
        }
    }

    /// A number for what an explorer hears of a step that it took these delays to name, as [`step`](Self::step) tells it. None
    /// if that is more than a number can say. `blocked`: which processes could move before and can after, if it hears of
    /// that.
    pub(super) fn heard(
        self,
        (from, step): (&Snapshot, Move),
        delayed: &[Process],
        did: &[Happened],
        blocked: Option<(Option<u64>, Option<u64>)>,
    ) -> Option<u64> {
        let add = |hash: u64, kind: u64, of: u32| mix(hash ^ (kind << 40 | u64::from(of)));
        let mut hash = add(0, 1, self.of(from, step).0);
        hash = delayed.iter().fold(hash, |hash, process| add(hash, 2, process.0));
        if let Move::Lane(at) = step {
            hash = add(hash, 3, from.lanes[at as usize].from);
        }
        for did in did {
            hash = match *did {
                Happened::Sent(to) => add(hash, 4, to),
                Happened::Became => add(hash, 5, 0),
                Happened::Spawned(_) | Happened::Ordered(_) => return None,
            };
        }
        match blocked {
            None => Some(hash),
            Some((before, after)) => Some(mix(mix(hash ^ before?) ^ after?)),
        }
    }

    /// What a handler did: which actors it created, to which it sent, what it became, what it asked for.
    fn tell(self, explorer: &mut Explorer, process: Process, to: &Snapshot, did: &[Happened]) {
        for did in did {
            if let Happened::Spawned(actor) = *did {
                self.create(explorer, to, actor, process);
            }
        }
        for did in did {
            if let Happened::Sent(to) = *did {
                explorer.step(&ProcessEvent::Sent { by: process, to: self.of_actor(to) });
            }
        }
        for did in did {
            match did {
                Happened::Became => explorer.step(&ProcessEvent::Became { process }),
                Happened::Ordered(names) => {
                    explorer.step(&ProcessEvent::Ordered { names: Arc::clone(names) });
                }
                Happened::Spawned(_) | Happened::Sent(_) => {}
            }
        }
    }

    /// A hash of what a state leaves out and what offers depend on: which of the messages to an actor are older,
    /// and which numbers the actors have that were spawned on the way.
    pub(super) fn order_hash(self, state: &Snapshot) -> u64 {
        let spawned = state.actors.iter().skip(self.known as usize);
        let mut hash = spawned.fold(0, |hash, actor| mix(hash ^ actor.state.path));
        if matches!(self.mailboxes, Mailboxes::Queue) {
            return hash;
        }
        let mut all: Vec<(u32, u32, u64)> = Vec::new();
        for lane in &state.lanes {
            let several = state.lanes.iter().filter(|other| other.to == lane.to).nth(1).is_some();
            if several {
                let from = if self.mailboxes.senders_matter() { lane.from } else { 0 };
                let one = |(message, age): (&std::rc::Rc<crate::snapshot::SharedMessage>, u32)| {
                    (lane.to, age, message.hash ^ mix(from.into()))
                };
                all.extend(lane.each().map(one));
            }
        }
        all.sort_unstable();
        for (to, _, what) in all {
            hash = mix(hash ^ mix(u64::from(to) ^ what));
        }
        hash
    }
}
