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

use raddle_engine::explorer::{About, Explorer, Process, ProcessEvent, ProcessKind, Runnable};

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

/// So many processes are kept as bits, or by number.
const MAX_AS_BITS: usize = u64::BITS as usize;

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

    /// The processes that can move in a state, ascending, and all that can be delivered to them.
    pub(super) fn runnable(
        self,
        state: &Snapshot,
        runnable: &mut Vec<Process>,
        all: &mut Vec<Deliverable>,
    ) {
        runnable.clear();
        all.clear();
        if state.actors.len() + 2 <= MAX_AS_BITS {
            // As bits they are in order, and each is there once.
            let mut bits = 0u64;
            self.each(state, |one| {
                bits |= 1 << one.process.0;
                all.push(one);
            });
            while bits != 0 {
                runnable.push(Process(bits.trailing_zeros()));
                bits &= bits - 1;
            }
        } else {
            self.each(state, |one| all.push(one));
            runnable.extend(all.iter().map(|one| one.process));
            runnable.sort_unstable();
            runnable.dedup();
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

    /// The processes that can move, by rank, where their offers are known.
    pub(super) fn ranks(self, state: &Snapshot, offers: &[Offer], ranks: &mut Vec<Process>) {
        let most = offers.iter().map(|offer| offer.rank).max();
        ranks.clear();
        ranks.resize(most.map_or(0, |most| most as usize + 1), TEST);
        for offer in offers {
            ranks[offer.rank as usize] = self.of(state, offer.step);
        }
    }

    /// All that can be delivered in a state, the cheapest first: `all`, with what it costs. `ranks` are the processes
    /// that can move, as the explorer has them. Of two messages that are alike only the older one is there, but both count.
    pub(super) fn offers(
        self,
        state: &Snapshot,
        ranks: &[Process],
        all: &mut [Deliverable],
        offers: &mut Vec<Offer>,
    ) {
        const UNRANKED: &str = "the explorer has ranked all that can move";
        offers.clear();
        let mut rank_of = [u8::MAX; MAX_AS_BITS];
        let is_few = state.actors.len() + 2 <= MAX_AS_BITS;
        if is_few {
            let ranks = ranks.iter().enumerate();
            ranks.for_each(|(rank, process)| rank_of[process.0 as usize] = rank as u8);
        }
        for one in &mut *all {
            let rank = if is_few {
                let rank = rank_of[one.process.0 as usize];
                assert!(rank != u8::MAX, "{UNRANKED}");
                rank.into()
            } else {
                let rank = ranks.iter().position(|&other| other == one.process);
                rank.expect(UNRANKED) as u64
            };
            one.key |= rank << AGE_BITS;
        }
        all.sort_unstable_by(|a, b| a.key.cmp(&b.key).then_with(|| a.step.cmp(&b.step)));
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
        if offers.len() > ranks.len() {
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
        let mut runnable = Vec::new();
        self.runnable(first, &mut runnable, &mut Vec::new());
        let all = (0..1 + self.known + u32::from(self.crashes)).map(Process);
        Self::block(explorer, all, &runnable);
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

    /// Tells an explorer of a step, after it was delayed until it named the process that moves. `before` could move
    /// before the step; `after` is for those that can move after it, and what can be delivered to them.
    pub(super) fn step(
        self,
        explorer: &mut Explorer,
        (from, step): (&Snapshot, Move),
        to: &Snapshot,
        did: &[Happened],
        before: &[Process],
        (after, deliverable): (&mut Vec<Process>, &mut Vec<Deliverable>),
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
        if !explorer.hears_blocked() {
            return;
        }
        self.runnable(to, after, deliverable);
        let new = from.actors.len() as u32..to.actors.len() as u32;
        let new = new.map(|actor| self.of_actor(actor));
        Self::block(explorer, before.iter().copied().chain(new), after);
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

/// Has an explorer rank the processes that can move.
pub(super) fn rank(
    explorer: &Explorer,
    runnable: &[Process],
    ranks: &mut Vec<Process>,
) -> Result<(), String> {
    explorer.rank(Runnable::new(runnable), ranks).map_err(|why| why.to_string())
}
