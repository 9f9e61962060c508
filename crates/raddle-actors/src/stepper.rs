//! Steps from states to states.
//!
//! What a step does is what [`world`](crate::world) says; this is the same for states that are shared.
//! `states/tests.rs` compares the two. A handler is a function of its actor's state and of the message,
//! unless it spawns, decides or tells: what came of both once is remembered.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::rc::Rc;
use std::time::Duration;

use crate::address::ActorId;
use crate::cell::{Cell, Flow};
use crate::hash::{Fingerprint, mix, ranked, take_numbered};
use crate::monitor::AnyMonitor;
use crate::snapshot::{
    ANYBODY, Exact, Lane, Letter, Move, OUTSIDE, Pending, Queue, Seat, Snapshot,
};
use crate::turn::{Chooser, Effect, Payload, Turn};
use crate::world::{Faults, Health, Kind, Mailboxes, Sender, World};

/// What comes of a message that an actor handles in one state of its own: the same in every state of
/// the system, so that the handler need not be run again.
struct Remembered {
    seat: Rc<Seat>,
    sends: Box<[(u32, Rc<Letter>)]>,
}

/// The fingerprints of an actor and of a message. They are as good as random.
type Handled = (u64, u64);

#[derive(Clone, Copy, Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn write(&mut self, _: &[u8]) {
        unreachable!("only numbers of 64 bits are hashed");
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = self.0.rotate_left(32) ^ n;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// So many are remembered at most: some hundred megabytes.
const MOST_REMEMBERED: usize = 1 << 20;

/// Makes steps from states to states.
pub(crate) struct Stepper {
    mailboxes: Mailboxes,
    most_timers: Option<u32>,
    turn: Turn,
    /// The monitors that the turn has, if nobody has told them anything since.
    loaded: Option<Rc<Vec<Box<dyn AnyMonitor>>>>,
    pub(crate) exact: Exact,
    /// What has to be a part of states by now: if more than `exact`, the search begins anew.
    pub(crate) needed: Exact,
    /// Why this system has no states that can be kept.
    pub(crate) refused: Option<String>,
    remembered: HashMap<Handled, Remembered, BuildHasherDefault<AsIs>>,
    /// The actors that were there at first: their numbers are the same in all states.
    known: usize,
    /// What this step handles, if it can be remembered.
    handles: Option<Handled>,
    /// What this step has sent.
    sends: Vec<(u32, Rc<Letter>)>,
    /// To whom the last step has sent something, in order.
    pub(crate) sent_to: Vec<u32>,
}

impl Stepper {
    /// A system as it was set up, with its first state.
    pub(crate) fn new(world: World, exact: Exact) -> (Self, Snapshot) {
        let World { mailboxes, faults, actors, links, mut turn, .. } = world;
        let Faults { losses, duplicates, crashes, timers: most_timers } = faults;
        turn.chooser = Chooser::Script { planned: Vec::new(), of: Vec::new() };
        let monitors = Rc::new(std::mem::take(&mut turn.monitors));
        let mut stepper = Self {
            mailboxes,
            most_timers,
            turn,
            loaded: None,
            exact,
            needed: exact,
            refused: None,
            remembered: HashMap::default(),
            known: actors.len(),
            handles: None,
            sends: Vec::new(),
            sent_to: Vec::new(),
        };
        let mut first = Snapshot {
            actors: Vec::new(),
            lanes: Vec::new(),
            monitors,
            faults: crashes,
            losses,
            duplicates,
            fingerprint: 0,
        };
        take_numbered();
        for slot in actors {
            let cell = slot.cell.expect("no handler runs");
            first.actors.push(Rc::new(Seat {
                cell,
                health: slot.health,
                path: slot.path,
                name: slot.name.map(Rc::from),
                made: slot.made,
                fired: slot.fired,
                now: slot.now,
                timers: Vec::new(),
                hash: 0,
            }));
        }
        for link in links {
            // Faults are a number: nothing has crashed yet, so that nobody comes back.
            if !matches!(link.kind, Kind::Messages | Kind::Timer(..)) {
                continue;
            }
            for message in link.queue {
                let letter = stepper.letter(&first, link.to.0, message.payload);
                let Kind::Timer(timer, after) = link.kind else {
                    stepper.push(&mut first, link.from, link.to.0, letter);
                    continue;
                };
                let seat = Rc::get_mut(&mut first.actors[link.to.index()]);
                let seat = seat.expect("nobody else has it yet");
                seat.timers.push(Pending { number: timer.0, after, letter });
            }
        }
        for actor in 0..first.actors.len() {
            stepper.rehash(&mut first, actor);
        }
        first.fingerprint = first.fingerprint.wrapping_add(first.rest());
        let told = stepper.hash_monitors(&first.monitors);
        first.fingerprint = first.fingerprint.wrapping_add(told);
        stepper.note();
        (stepper, first)
    }

    fn note(&mut self) {
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

    fn letter(&mut self, state: &Snapshot, to: u32, payload: Payload) -> Rc<Letter> {
        let mut hasher = Fingerprint::new();
        if !state.actors[to as usize].cell.hash_message(&payload, &mut hasher) {
            self.refuse(format!(
                "{} or its messages cannot be copied: write raddle_actors::snapshots!(); in the \
                 `impl Actor` of {}",
                state.name(to),
                state.actors[to as usize].cell.type_name()
            ));
        }
        Rc::new(Letter { payload, hash: hasher.finish() })
    }

    fn path(state: &Snapshot, from: u32) -> u64 {
        match from {
            OUTSIDE => 5,
            ANYBODY => 7,
            actor => state.actors[actor as usize].path,
        }
    }

    /// The part of a lane in the fingerprint.
    fn lane_hash(&self, state: &Snapshot, lane: &Lane) -> u64 {
        let to = state.actors[lane.to as usize].path;
        let ends = if self.mailboxes == Mailboxes::Unordered {
            mix(to ^ 29 << 40)
        } else {
            mix(Self::path(state, lane.from) ^ mix(to))
        };
        match &lane.queue {
            Queue::One(letter) => mix(ends ^ letter.hash),
            Queue::Many(letters) => letters.iter().fold(ends, |hash, one| mix(hash ^ one.hash)),
        }
    }

    /// Puts a message where it waits.
    fn push(&self, state: &mut Snapshot, from: Sender, to: u32, letter: Rc<Letter>) {
        let from = match (self.mailboxes, from) {
            (Mailboxes::Queue, _) | (_, Sender::Anybody) => ANYBODY,
            (_, Sender::Outside(_)) => OUTSIDE,
            (_, Sender::Actor(actor)) => actor.0,
        };
        let at = if self.mailboxes == Mailboxes::Unordered {
            None
        } else {
            state.lanes.iter().position(|lane| lane.from == from && lane.to == to)
        };
        if let Some(at) = at {
            let mut letters = state.lanes[at].letters();
            Rc::make_mut(&mut letters).push_back(letter);
            self.set_queue(state, at, letters);
        } else {
            let mut lane = Lane { from, to, hash: 0, queue: Queue::One(letter) };
            lane.hash = self.lane_hash(state, &lane);
            state.fingerprint = state.fingerprint.wrapping_add(lane.hash);
            state.lanes.push(lane);
        }
    }

    fn set_queue(&self, state: &mut Snapshot, at: usize, letters: Rc<VecDeque<Rc<Letter>>>) {
        let queue = if letters.len() == 1 {
            Queue::One(Rc::clone(&letters[0]))
        } else {
            Queue::Many(letters)
        };
        let (before, ends) = (state.lanes[at].hash, (state.lanes[at].from, state.lanes[at].to));
        let mut lane = Lane { from: ends.0, to: ends.1, hash: 0, queue };
        lane.hash = self.lane_hash(state, &lane);
        state.fingerprint = state.fingerprint.wrapping_sub(before).wrapping_add(lane.hash);
        state.lanes[at] = lane;
    }

    /// Takes the first message of a lane.
    fn pop(&self, state: &mut Snapshot, at: usize) -> Rc<Letter> {
        if let Queue::Many(_) = &state.lanes[at].queue {
            let mut letters = state.lanes[at].letters();
            let letter = Rc::make_mut(&mut letters).pop_front();
            self.set_queue(state, at, letters);
            return letter.expect("a lane is never empty");
        }
        let lane = state.lanes.swap_remove(at);
        state.fingerprint = state.fingerprint.wrapping_sub(lane.hash);
        Rc::clone(lane.first())
    }

    /// An actor has changed.
    fn rehash(&mut self, state: &mut Snapshot, actor: usize) {
        let seat = &state.actors[actor];
        let mut hasher = Fingerprint::new();
        hasher.write_u64(seat.path);
        hasher.write_u64(u64::from(seat.made.0) | (seat.health as u64) << 32);
        hasher.write_usize(seat.timers.len());
        if self.most_timers.is_some() {
            hasher.write_u32(seat.fired);
        }
        if self.exact.clock {
            seat.now.hash(&mut hasher);
        }
        for pending in &seat.timers {
            hasher.write_u64(pending.letter.hash);
            if self.exact.clock {
                pending.after.hash(&mut hasher);
            }
            if self.exact.timers {
                hasher.write_u32(pending.number);
            }
        }
        let can = if self.exact.timers {
            hasher.write_u32(seat.made.1);
            seat.cell.hash(&mut hasher)
        } else if seat.made.1 > 0 {
            let pending = seat.timers.iter().map(|pending| pending.number).collect();
            ranked(pending, || seat.cell.hash(&mut hasher))
        } else {
            seat.cell.hash(&mut hasher)
        };
        let hash = hasher.finish();
        if !can {
            let (name, kind) = (state.name(actor as u32), seat.cell.type_name());
            self.refuse(format!(
                "{name} cannot be copied: write raddle_actors::snapshots!(); in the `impl Actor` \
                 of {kind}"
            ));
        }
        let seat = Rc::get_mut(&mut state.actors[actor]).expect("it was made in this step");
        state.fingerprint = state.fingerprint.wrapping_sub(seat.hash).wrapping_add(hash);
        seat.hash = hash;
    }

    fn hash_monitors(&mut self, monitors: &[Box<dyn AnyMonitor>]) -> u64 {
        let mut sum = 0u64;
        for (index, monitor) in monitors.iter().enumerate() {
            let mut hasher = Fingerprint::new();
            hasher.write_usize(index);
            if !monitor.hash(&mut hasher) {
                self.refuse(format!(
                    "the monitor {} cannot be copied: write \
                     raddle_actors::snapshots!(monitor); in its `impl Monitor`",
                    monitor.name()
                ));
            }
            sum = sum.wrapping_add(hasher.finish());
        }
        sum
    }

    /// The ways on from a state. Two messages that are alike are one way.
    pub(crate) fn moves(&self, state: &Snapshot, moves: &mut Vec<Move>) {
        moves.clear();
        for (at, lane) in state.lanes.iter().enumerate() {
            let alike = |other: &Lane| other.hash == lane.hash;
            if self.mailboxes != Mailboxes::Unordered || !state.lanes[..at].iter().any(alike) {
                moves.push(Move::Lane(at as u32));
            }
        }
        for (actor, seat) in state.actors.iter().enumerate() {
            let actor = actor as u32;
            moves.extend((0..seat.timers.len() as u32).map(|at| Move::Timer(actor, at)));
            if seat.health == Health::Down {
                moves.push(Move::Restart(actor));
            }
        }
        if state.faults > 0 {
            moves.push(Move::Fault);
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
            _ => &[],
        }
    }

    /// The state after a step. Panics if the program does.
    pub(crate) fn step(&mut self, from: &Snapshot, way: Move) -> Snapshot {
        self.turn.effects.clear();
        self.sends.clear();
        self.sent_to.clear();
        self.handles = None;
        self.turn.told = false;
        if !from.monitors.is_empty()
            && !self.loaded.as_ref().is_some_and(|loaded| Rc::ptr_eq(loaded, &from.monitors))
        {
            self.loaded = None;
            self.turn.monitors = copy_monitors(&from.monitors);
            self.loaded = Some(Rc::clone(&from.monitors));
        }
        let mut state = Snapshot {
            actors: Vec::with_capacity(from.actors.len()),
            lanes: Vec::with_capacity(from.lanes.len() + 4),
            monitors: Rc::clone(&from.monitors),
            ..*from
        };
        state.actors.extend_from_slice(&from.actors);
        state.lanes.extend_from_slice(&from.lanes);
        let known = state.actors.len();
        let actor = match way {
            Move::Lane(at) => self.deliver(&mut state, at as usize),
            Move::Timer(actor, at) => {
                self.fire(&mut state, actor as usize, at as usize);
                Some(actor as usize)
            }
            Move::Fault => self.crash(&mut state),
            Move::Restart(actor) => {
                self.run(&mut state, actor as usize, |cell, turn| Some(cell.start(turn)), false);
                Some(actor as usize)
            }
        };
        self.carry_out(&mut state);
        if let Some(actor) = actor {
            self.rehash(&mut state, actor);
            if let Some(handled) = self.handles.take() {
                let sends = self.sends.drain(..).collect();
                let seat = Rc::clone(&state.actors[actor]);
                self.remembered.insert(handled, Remembered { seat, sends });
            }
        }
        for actor in known..state.actors.len() {
            self.rehash(&mut state, actor);
        }
        let (before, after) = (from.rest(), state.rest());
        state.fingerprint = state.fingerprint.wrapping_sub(before).wrapping_add(after);
        if self.turn.told {
            let monitors = copy_monitors(&self.turn.monitors);
            let (before, after) =
                (self.hash_monitors(&from.monitors), self.hash_monitors(&monitors));
            state.fingerprint = state.fingerprint.wrapping_sub(before).wrapping_add(after);
            state.monitors = Rc::new(monitors);
            self.loaded = Some(Rc::clone(&state.monitors));
        }
        self.note();
        state
    }

    /// After a step that panicked.
    pub(crate) fn recover(&mut self) {
        self.loaded = None;
        self.turn.effects.clear();
    }

    /// Delivers the first message of a lane. The actor that has changed, if one has.
    fn deliver(&mut self, state: &mut Snapshot, at: usize) -> Option<usize> {
        let (from, to) = (state.lanes[at].from, state.lanes[at].to);
        let letter = self.pop(state, at);
        if state.losses + state.duplicates > 0 {
            let of = 1 + u32::from(state.losses > 0) + u32::from(state.duplicates > 0);
            let choice = self.turn.choose(of);
            if choice == 1 && state.losses > 0 {
                state.losses -= 1;
                return None;
            }
            if choice > 0 {
                state.duplicates -= 1;
                self.push_front(state, from, to, Rc::clone(&letter));
            }
        }
        let to = to as usize;
        if state.actors[to].health != Health::Up {
            return None;
        }
        // Numbers of actors must not differ from state to state.
        if state.actors.len() == self.known {
            let handled = (state.actors[to].hash, letter.hash);
            if let Some(Remembered { seat, sends }) = self.remembered.get(&handled) {
                state.fingerprint =
                    state.fingerprint.wrapping_sub(state.actors[to].hash).wrapping_add(seat.hash);
                state.actors[to] = Rc::clone(seat);
                let me = Sender::Actor(ActorId(to as u32));
                for (to, letter) in sends {
                    self.push(state, me, *to, Rc::clone(letter));
                }
                self.sent_to.extend(sends.iter().map(|(to, _)| *to));
                return None;
            }
            let asked = self.asked().len();
            self.handle(state, to, &letter);
            // What was decided or told besides is not the same in every state.
            let same = self.asked().len() == asked && !self.turn.told;
            if same && self.remembered.len() < MOST_REMEMBERED {
                self.handles = Some(handled);
            }
            return Some(to);
        }
        self.handle(state, to, &letter)
    }

    /// How many parts of states are told apart by their fingerprints alone.
    pub(crate) fn parts(&self) -> u64 {
        2 * self.remembered.len() as u64
    }

    /// Puts a message back to where it was taken from.
    fn push_front(&self, state: &mut Snapshot, from: u32, to: u32, letter: Rc<Letter>) {
        let same = |lane: &Lane| lane.from == from && lane.to == to;
        let at = state.lanes.iter().position(same);
        if let (Some(at), true) = (at, self.mailboxes != Mailboxes::Unordered) {
            let mut letters = state.lanes[at].letters();
            Rc::make_mut(&mut letters).push_front(letter);
            self.set_queue(state, at, letters);
            return;
        }
        let sender = match from {
            OUTSIDE => Sender::Outside(0),
            ANYBODY => Sender::Anybody,
            actor => Sender::Actor(ActorId(actor)),
        };
        self.push(state, sender, to, letter);
    }

    fn fire(&mut self, state: &mut Snapshot, actor: usize, at: usize) {
        let seat = copied(state, actor);
        let Pending { after, letter, .. } = seat.timers.remove(at);
        let passes = self.most_timers.is_some_and(|most| seat.fired >= most);
        if !passes {
            seat.fired += 1;
            seat.now = seat.now.max(after);
            self.handle(state, actor, &letter);
        }
    }

    fn handle(&mut self, state: &mut Snapshot, to: usize, letter: &Letter) -> Option<usize> {
        if state.actors[to].health != Health::Up {
            return None;
        }
        self.run(state, to, |cell, turn| cell.handle_copy(&letter.payload, turn), true);
        Some(to)
    }

    /// Runs a handler on a copy of its actor.
    fn run(
        &mut self,
        state: &mut Snapshot,
        actor: usize,
        code: impl FnOnce(&mut dyn Cell, &mut Turn) -> Option<Flow>,
        cancels: bool,
    ) {
        self.turn.next = state.actors.len() as u32;
        let seat = copied(state, actor);
        seat.health = Health::Up;
        (self.turn.me, self.turn.path, self.turn.made) =
            (ActorId(actor as u32), seat.path, seat.made);
        self.turn.now = seat.now;
        let flow = code(&mut *seat.cell, &mut self.turn);
        seat.made = self.turn.made;
        if flow.is_some_and(|flow| flow.stops) {
            seat.health = Health::Gone;
            if cancels {
                seat.timers.clear();
            }
        }
    }

    /// An actor crashes, or none does.
    fn crash(&mut self, state: &mut Snapshot) -> Option<usize> {
        state.faults -= 1;
        let actor = self.turn.choose(state.actors.len() as u32 + 1).checked_sub(1)? as usize;
        if state.actors[actor].health != Health::Up {
            return None;
        }
        let seat = copied(state, actor);
        seat.timers.clear();
        seat.health = Health::Gone;
        if let Some(back) = seat.cell.restart() {
            seat.cell = back;
            seat.health = Health::Down;
        }
        Some(actor)
    }

    /// Carries out what a handler did.
    fn carry_out(&mut self, state: &mut Snapshot) {
        let mut effects = std::mem::take(&mut self.turn.effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::Send { from, to, message, site: _ } => {
                    let letter = self.letter(state, to.0, message);
                    self.sent_to.push(to.0);
                    if self.handles.is_some() {
                        self.sends.push((to.0, Rc::clone(&letter)));
                    }
                    self.push(state, Sender::Actor(from), to.0, letter);
                }
                Effect::Spawn { cell, path, name, site: _, made } => {
                    self.handles = None;
                    state.actors.push(Rc::new(Seat {
                        cell: cell.expect("an actor that was spawned has started"),
                        health: Health::Up,
                        path,
                        name: name.map(Rc::from),
                        made,
                        fired: 0,
                        now: Duration::ZERO,
                        timers: Vec::new(),
                        hash: 0,
                    }));
                }
                Effect::Timer { of, timer, after, message, site: _ } => {
                    let letter = self.letter(state, of.0, message);
                    let seat = own(state, of);
                    let after = seat.now.saturating_add(after);
                    seat.timers.push(Pending { number: timer.0, after, letter });
                }
                Effect::Cancel { of, timer } => {
                    own(state, of).timers.retain(|pending| pending.number != timer.0);
                }
                Effect::Answered(_) => panic!(
                    "raddle: a model has nobody outside who could be answered: use Context::ask, \
                     or raddle::check"
                ),
            }
        }
        self.turn.effects = effects;
    }
}

fn copy_monitors(monitors: &[Box<dyn AnyMonitor>]) -> Vec<Box<dyn AnyMonitor>> {
    monitors.iter().map(|monitor| monitor.copy().expect("it was hashed before")).collect()
}

/// An actor that is about to change, copied unless it was in this step.
fn copied(state: &mut Snapshot, actor: usize) -> &mut Seat {
    let shared = &mut state.actors[actor];
    if Rc::get_mut(shared).is_none() {
        let seat = &**shared;
        *shared = Rc::new(Seat {
            cell: seat.cell.copy().expect("it was hashed before"),
            name: seat.name.clone(),
            timers: seat.timers.clone(),
            ..*seat
        });
    }
    Rc::get_mut(shared).expect("it was copied")
}

/// An actor whose own handler has run in this step.
fn own(state: &mut Snapshot, actor: ActorId) -> &mut Seat {
    Rc::get_mut(&mut state.actors[actor.index()]).expect("it was copied in this step")
}
