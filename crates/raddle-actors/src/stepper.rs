//! Steps from states to states, for searches over states.
//!
//! What a step does is [`step`]'s; the store here is a state that is being made of the one
//! before ([`NextState`]). A handler is a function of its actor's state and of the message, unless it
//! spawns, decides or tells a monitor something: what came of both once is [remembered](Memo).

mod fingerprint;
mod memo;
mod next_state;

use std::rc::Rc;

use raddle_engine::explorer::take_order;

pub(crate) use self::memo::FingerprintHasher;
use self::memo::Memo;
use self::next_state::NextState;
use crate::faults::Faults;
use crate::hash::take_numbered;
use crate::mailboxes::Mailboxes;
use crate::monitor::AnyMonitor;
use crate::snapshot::{Exact, Happened, Lane, Move, Pending, SharedActor, Snapshot};
use crate::step;
use crate::turn::{Chooser, Turn};
use crate::world::{Kind, World};

/// Makes steps from states to states.
pub(crate) struct Stepper {
    mailboxes: Mailboxes,
    timer_limit: Option<u32>,
    turn: Turn,
    /// The monitors that the turn has, if none has been told anything since.
    loaded: Option<Rc<Vec<Box<dyn AnyMonitor>>>>,
    pub(crate) exact: Exact,
    /// What has to be a part of states by now: if more than `exact`, the search begins anew.
    pub(crate) needed: Exact,
    /// Why this system has no states that can be kept.
    pub(crate) refused: Option<String>,
    memo: Memo,
    /// The actors that were there at first: their numbers are the same in all states.
    known: usize,
    /// What the last step did, in order.
    pub(crate) did: Vec<Happened>,
}

impl Stepper {
    /// A system as it was set up, with its first state.
    pub(crate) fn new(world: World, exact: Exact) -> (Self, Snapshot) {
        let World { mailboxes, faults, actors, links, mut turn, .. } = world;
        let message_faults = faults.of_messages();
        let Faults { losses: _, duplicates: _, crashes, timers: timer_limit } = faults;
        turn.chooser = Chooser::Script { planned: Vec::new(), of: Vec::new() };
        let monitors = Rc::new(std::mem::take(&mut turn.monitors));
        let mut stepper = Self {
            mailboxes,
            timer_limit,
            turn,
            loaded: None,
            exact,
            needed: exact,
            refused: None,
            memo: Memo::default(),
            known: actors.len(),
            did: Vec::new(),
        };
        take_numbered();
        let actor = |slot: crate::world::Slot| Rc::new(SharedActor::new(slot.state, slot.name));
        let mut first = Snapshot {
            actors: actors.into_iter().map(actor).collect(),
            lanes: Vec::new(),
            monitors,
            crashes,
            message_faults,
            sent: 0,
            fingerprint: 0,
        };
        for link in links {
            for message in link.queue {
                match link.kind {
                    Kind::Messages => {
                        let message = stepper.share(&first, link.to, message.payload);
                        first.push(mailboxes, link.from, link.to.0, message);
                    }
                    Kind::Timer(timer, due) => {
                        let message = stepper.share(&first, link.to, message.payload);
                        let actor = Rc::get_mut(&mut first.actors[link.to.index()]);
                        let actor = actor.expect("no other state has it yet");
                        actor.timers.push(Pending { number: timer.0, due, message });
                    }
                    // A number in the state. Nothing has crashed yet, so that nothing restarts.
                    Kind::Crash | Kind::SpentCrash | Kind::Restart => {}
                }
            }
        }
        for actor in 0..first.actors.len() {
            stepper.rehash(&mut first, actor);
        }
        first.fingerprint = first.fingerprint.wrapping_add(first.budget_hash());
        let monitors = stepper.hash_monitors(&first.monitors);
        first.fingerprint = first.fingerprint.wrapping_add(monitors);
        stepper.note_needs();
        (stepper, first)
    }

    /// Notes what handlers have seen that states may leave out.
    fn note_needs(&mut self) {
        self.needed.timers |= take_numbered();
        self.needed.clock |= self.turn.read_clock.get();
    }

    /// Whether the search has to begin anew, with states that say more.
    pub(crate) fn outdated(&self) -> bool {
        self.needed != self.exact
    }

    fn refuse(&mut self, why: String) {
        self.refused.get_or_insert(why);
    }

    /// The ways on from a state. Two messages that are alike are one way.
    pub(crate) fn moves(&self, state: &Snapshot, moves: &mut Vec<Move>) {
        moves.clear();
        for (at, lane) in state.lanes.iter().enumerate() {
            let alike = |other: &Lane| other.hash == lane.hash;
            if self.mailboxes.senders_matter() || !state.lanes[..at].iter().any(alike) {
                moves.push(Move::Lane(at as u32));
            }
        }
        for (at, actor) in state.actors.iter().enumerate() {
            let at = at as u32;
            moves.extend((0..actor.timers.len() as u32).map(|timer| Move::Timer(at, timer)));
            if actor.is_down() {
                moves.push(Move::Restart(at));
            }
        }
        if state.crashes > 0 {
            moves.push(Move::Crash);
        }
    }

    /// Decides values as planned, then the first of each.
    pub(crate) fn plan(&mut self, values: &[u32]) {
        if let Chooser::Script { planned, of } = &mut self.turn.chooser {
            planned.clear();
            planned.extend_from_slice(values);
            of.clear();
        }
    }

    /// How many options each value of the last step had.
    pub(crate) fn asked(&self) -> &[u32] {
        match &self.turn.chooser {
            Chooser::Script { of, .. } => of,
            Chooser::First | Chooser::Random(_) | Chooser::Engine => &[],
        }
    }

    /// The state after a step. Panics if the program does.
    pub(crate) fn step(&mut self, from: &Snapshot, way: Move) -> Snapshot {
        self.did.clear();
        self.load_monitors(from);
        self.memo.forget_step();
        let mut state = Snapshot {
            actors: Vec::with_capacity(from.actors.len()),
            lanes: Vec::with_capacity(from.lanes.len() + 4),
            monitors: Rc::clone(&from.monitors),
            ..*from
        };
        state.actors.extend_from_slice(&from.actors);
        state.lanes.extend_from_slice(&from.lanes);
        let mut next = NextState::new(self, &mut state);
        step::step(&mut next, way);
        next.finish(from.actors.len());
        let (before, after) = (from.budget_hash(), state.budget_hash());
        state.fingerprint = state.fingerprint.wrapping_sub(before).wrapping_add(after);
        if self.turn.told {
            self.keep_monitors(&mut state);
        }
        // Of a timer or a restart; a message's handler has noted it before.
        if !matches!(way, Move::Lane(_)) {
            self.note_flow();
        }
        self.note_needs();
        state
    }

    /// Notes how the actor that has moved goes on, and what it asked of an explorer; whether it asked for something.
    fn note_flow(&mut self) -> bool {
        self.did.extend(self.turn.became.then_some(Happened::Became));
        let ordered = take_order();
        let asked = ordered.is_some();
        self.did.extend(ordered.map(Happened::Ordered));
        asked
    }

    /// Which kind of mailboxes the system has.
    pub(crate) fn mailboxes(&self) -> Mailboxes {
        self.mailboxes
    }

    /// Has handlers tell the monitors of a state.
    fn load_monitors(&mut self, state: &Snapshot) {
        let is_loaded = |loaded: &Rc<_>| Rc::ptr_eq(loaded, &state.monitors);
        if !state.monitors.is_empty() && !self.loaded.as_ref().is_some_and(is_loaded) {
            self.loaded = None;
            self.turn.monitors = copy_monitors(&state.monitors);
            self.loaded = Some(Rc::clone(&state.monitors));
        }
    }

    /// Puts the monitors as they are now into a state that has those from before.
    fn keep_monitors(&mut self, state: &mut Snapshot) {
        let monitors = copy_monitors(&self.turn.monitors);
        let (before, after) = (self.hash_monitors(&state.monitors), self.hash_monitors(&monitors));
        state.fingerprint = state.fingerprint.wrapping_sub(before).wrapping_add(after);
        state.monitors = Rc::new(monitors);
        self.loaded = Some(Rc::clone(&state.monitors));
    }

    /// After a step that panicked.
    pub(crate) fn recover(&mut self) {
        self.loaded = None;
        self.turn.effects.clear();
    }

    /// How many parts of states are told apart by their fingerprints alone.
    pub(crate) fn parts(&self) -> u64 {
        2 * self.memo.len() as u64
    }
}

fn copy_monitors(monitors: &[Box<dyn AnyMonitor>]) -> Vec<Box<dyn AnyMonitor>> {
    monitors.iter().map(|monitor| monitor.copy().expect("it was hashed before")).collect()
}
