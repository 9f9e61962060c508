//! What one step of a system does: the semantics of messages, timers, crashes and restarts.
//!
//! A step delivers one thing that waits: a message, a timer, a crash or a restart. The handler runs to
//! its end, and then what it did is carried out. This is written once, over a [`Store`], which keeps
//! the actors and what waits for them. There are two:
//!
//! - [`World`](crate::world::World) changes one system in place, for all managers that run a system
//!   step by step, and tells the engine what each step touched;
//! - [`NextState`](crate::stepper) makes a new state that shares what has not changed with the one
//!   before, and keeps its fingerprint, for searches over states.
//!
//! What the two do differently is in the methods of the trait, each with its reason.
//!
//! # Why: a step that looks at several actors touches bits of a mask
//! A step may touch up to 128 things besides its object (`Step::shared_resources`): mailboxes in a queue, monitors, invariants.
//! Two steps that share a bit depend on each other. The first 32 actors that a test makes, and the first monitors and
//! invariants, have bits to themselves (`things.rs`); all others share what is left by their names, which costs
//! executions and misses none.

use std::any::type_name;
use std::panic::Location;
use std::time::Duration;

use crate::address::ActorId;
use crate::any_actor::{AnyActor, Flow};
use crate::context::Timer;
use crate::faults::{MessageFault, MessageFaults};
use crate::letters::Did;
use crate::mailboxes::{LaneKey, Mailboxes, Sender};
use crate::turn::{Effect, Made, Payload, Running, Stamp, Turn};

/// Whether an actor handles messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    Up,
    /// Crashed, and will restart.
    Down,
    /// Stopped, or crashed for good.
    Gone,
}

/// An actor, as far as a step reads and changes it.
pub(crate) struct ActorState {
    pub(crate) actor: Box<dyn AnyActor>,
    pub(crate) health: Health,
    /// Names it in every execution and process: see [`ActorRef`](crate::address::ActorRef).
    pub(crate) path: u64,
    /// Another such name, if messages are observed: see [`letters`](crate::letters).
    pub(crate) identity: u64,
    pub(crate) made: Made,
    /// How many of its timers have fired.
    pub(crate) fired: u32,
    /// The time that the latest of them was set for.
    pub(crate) now: Duration,
}

impl ActorState {
    /// The state that the user's code sees.
    #[track_caller]
    pub(crate) fn downcast<A: 'static>(&self, name: impl FnOnce() -> String) -> &A {
        self.actor.state().downcast_ref().unwrap_or_else(|| {
            panic!("raddle: {} is a {}, not a {}", name(), self.actor.type_name(), type_name::<A>())
        })
    }
}

/// What a step takes from its store.
pub(crate) enum Taken<M> {
    Message {
        from: Sender,
        to: ActorId,
        message: M,
    },
    Timer {
        of: ActorId,
        /// The time that it was set for.
        due: Duration,
        message: M,
    },
    /// A timer that was cancelled: see [`Store::cancel_timers`].
    Cancelled {
        of: ActorId,
    },
    /// A crash that may happen, to any actor.
    Crash,
    Restart {
        of: ActorId,
    },
}

/// A timer that is set.
pub(crate) struct SetTimer {
    pub(crate) timer: Timer,
    /// The time that it is set for.
    pub(crate) due: Duration,
    pub(crate) stamp: Stamp,
}

/// Which timers of an actor.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Timers {
    All,
    One(Timer),
}

impl Timers {
    pub(crate) fn include(self, timer: Timer) -> bool {
        match self {
            Self::All => true,
            Self::One(one) => one == timer,
        }
    }
}

/// The actors of a system and what waits for them.
pub(crate) trait Store: Sized {
    /// A message that waits.
    type Message;
    /// Names something that can be delivered next.
    type Delivery: Copy;

    fn mailboxes(&self) -> Mailboxes;
    /// How many timers of one actor may fire; `None`: all.
    fn timer_limit(&self) -> Option<u32>;
    fn message_faults(&mut self) -> &mut MessageFaults;
    fn turn(&mut self) -> &mut Turn;

    fn actor_count(&self) -> u32;
    fn actor(&self, id: ActorId) -> &ActorState;
    /// An actor that is about to change.
    fn actor_mut(&mut self, id: ActorId) -> (&mut ActorState, &mut Turn);
    fn add_actor(&mut self, actor: ActorState, name: Option<Box<str>>, site: Site);

    /// Takes what is to be delivered. A crash that is taken is no longer armed, whether it happens or
    /// not.
    fn take(&mut self, next: Self::Delivery) -> Taken<Self::Message>;
    /// A copy of a message, to be handled besides it.
    fn copy_message(&self, to: ActorId, message: &Self::Message) -> Self::Message;
    /// Puts a message at the end of its lane.
    fn enqueue(&mut self, from: Sender, to: ActorId, message: Self::Message);
    /// Puts a message back to the front of the lane that it was taken from, which is shared.
    fn enqueue_first(&mut self, from: Sender, to: ActorId, message: Self::Message);
    /// A handler sends a message.
    fn send(&mut self, from: ActorId, to: ActorId, payload: Payload, stamp: Stamp, site: Site);
    fn set_timer(&mut self, of: ActorId, timer: SetTimer, payload: Payload, site: Site);
    /// These timers do nothing any more. A store may keep them, as [`Taken::Cancelled`], for a search
    /// that must hear of steps that could have been.
    fn cancel_timers(&mut self, of: ActorId, which: Timers);
    /// Wakes a test or thread outside the system.
    fn answer(&mut self, answer: Box<dyn FnOnce() + Send>);

    /// This cannot go wrong with the message that is delivered. If it could have, had not so much gone wrong before, a
    /// search hears of it.
    fn no_fault_left(&mut self, fault: MessageFault) {
        let _ = fault;
    }
    /// The crash that was taken has happened. A crash that was taken and did not happen is armed
    /// again when a test has messages handled once more ([`World`](crate::world::World)); a search
    /// over states has all handled at once, so nothing is armed twice and there is nothing to count.
    fn spend_crash(&mut self) {}
    /// A crashed actor will restart. Where its health says so already there is nothing to do.
    fn add_restart(&mut self, of: ActorId) {
        let _ = of;
    }

    /// Calls the handler of an actor.
    fn call(actor: &mut dyn AnyActor, message: Self::Message, turn: &mut Turn) -> Flow;
    /// Has an actor that is up handle a message of its mailbox. A store may know what comes of it.
    fn handle(&mut self, to: ActorId, message: Self::Message) {
        handle(self, to, message);
    }

    /// Describes the step, if descriptions are wanted.
    fn describe(&mut self, text: impl FnOnce(&Self) -> String) {
        let _ = text;
    }
    fn show(&self, to: ActorId, message: &Self::Message) -> String;
    fn name(&self, actor: ActorId) -> String;
}

/// A place in the program under test.
pub(crate) type Site = &'static Location<'static>;

/// Takes a step. Returns the actor whose state it has read or changed, if there is one.
#[inline]
pub(crate) fn step<S: Store>(store: &mut S, next: S::Delivery) -> Option<ActorId> {
    store.turn().begin_step();
    let touched = match store.take(next) {
        Taken::Message { from, to, message } => {
            deliver(store, from, to, message);
            Some(to)
        }
        Taken::Timer { of, due, message } => {
            fire(store, of, due, message);
            Some(of)
        }
        Taken::Cancelled { of } => {
            store.describe(|_| "a timer that was cancelled".to_owned());
            Some(of)
        }
        Taken::Crash => crash(store),
        Taken::Restart { of } => {
            restart(store, of);
            Some(of)
        }
    };
    carry_out(store);
    touched
}

/// Delivers a message, which may be lost or duplicated. Its actor counts as touched in any case: a step touches the same whatever
/// its values are.
#[inline]
fn deliver<S: Store>(store: &mut S, from: Sender, to: ActorId, message: S::Message) {
    match message_fault(store) {
        None => {}
        Some(MessageFault::Loss) => {
            store.describe(|store| format!("lose {}", store.show(to, &message)));
            note(store, |did| did.lost = true);
            return;
        }
        Some(MessageFault::Duplicate) => {
            let copy = store.copy_message(to, &message);
            match store.mailboxes().lane(from) {
                LaneKey::Shared(_) => store.enqueue_first(from, to, copy),
                LaneKey::Single(_) => store.enqueue(from, to, copy),
            }
        }
    }
    if is_up(store, to, &message, "") {
        store.handle(to, message);
    }
}

/// Decides what goes wrong with a message: at most one thing.
#[inline]
fn message_fault<S: Store>(store: &mut S) -> Option<MessageFault> {
    MessageFault::ALL.into_iter().find(|&fault| goes_wrong(store, fault))
}

/// Decides whether this goes wrong with a message. Each fault has a question of its own, so that an answer means the same
/// whatever is left of the others: with one question for both, its second option would be a loss or, once all losses
/// had happened, a duplicate, and every step would depend on every other.
#[inline]
fn goes_wrong<S: Store>(store: &mut S, fault: MessageFault) -> bool {
    if !store.message_faults().include(fault) {
        store.no_fault_left(fault);
        return false;
    }
    let happens = store.turn().choose(2) == 1;
    if happens {
        store.message_faults().spend(fault);
        store.turn().spent = true;
    }
    happens
}

/// A timer fires, unless as many of its actor have fired as may.
fn fire<S: Store>(store: &mut S, of: ActorId, due: Duration, message: S::Message) {
    let limit = store.timer_limit();
    let (actor, _) = store.actor_mut(of);
    if limit.is_some_and(|most| actor.fired >= most) {
        store.describe(|store| format!("let {} pass", store.show(of, &message)));
        note(store, |did| did.dropped = true);
        return;
    }
    actor.fired += 1;
    actor.now = actor.now.max(due);
    if is_up(store, of, &message, "timer: ") {
        handle(store, of, message);
    }
}

/// Whether an actor can handle a message. Describes what becomes of the message.
#[inline]
fn is_up<S: Store>(store: &mut S, to: ActorId, message: &S::Message, prefix: &str) -> bool {
    let why = match store.actor(to).health {
        Health::Up => {
            store.describe(|store| format!("{prefix}{}", store.show(to, message)));
            return true;
        }
        Health::Down => "is down",
        Health::Gone => "is gone",
    };
    store.describe(|store| format!("{prefix}{why}: drop {}", store.show(to, message)));
    note(store, |did| did.dropped = true);
    false
}

/// Runs the handler of an actor.
#[inline]
pub(crate) fn handle<S: Store>(store: &mut S, to: ActorId, message: S::Message) {
    store.turn().tick();
    let flow = run(store, to, |actor, turn| S::call(actor, message, turn));
    if flow.becomes {
        note(store, |did| did.became = true);
    }
    if flow.stops {
        store.actor_mut(to).0.health = Health::Gone;
        store.cancel_timers(to, Timers::All);
        note(store, |did| did.stopped = true);
    }
}

/// Notes something of the step, if messages are observed.
#[inline]
fn note<S: Store>(store: &mut S, what: impl FnOnce(&mut Did)) {
    if let Some(letters) = &mut store.turn().letters {
        what(&mut letters.did);
    }
}

/// Runs code of an actor in a turn of its own.
#[inline]
fn run<S: Store>(
    store: &mut S,
    id: ActorId,
    code: impl FnOnce(&mut dyn AnyActor, &mut Turn) -> Flow,
) -> Flow {
    let next = store.actor_count();
    let (actor, turn) = store.actor_mut(id);
    let ActorState { path, identity, made, .. } = *actor;
    let running = Running { id, path, identity, made };
    let outer = std::mem::replace(&mut turn.running, running);
    turn.now = match turn.logical_time {
        Some((tick, receives)) => tick.saturating_mul(receives),
        None => actor.now,
    };
    turn.next = next;
    let flow = code(&mut *actor.actor, turn);
    actor.made = std::mem::replace(&mut turn.running, outer).made;
    flow
}

/// An actor crashes, or none does.
fn crash<S: Store>(store: &mut S) -> Option<ActorId> {
    let options = store.actor_count() + 1;
    let option = store.turn().choose(options);
    let Some(victim) = option.checked_sub(1).map(ActorId) else {
        store.describe(|_| "no crash".to_owned());
        return None;
    };
    store.spend_crash();
    match store.actor(victim).health {
        Health::Up => {}
        Health::Down | Health::Gone => {
            store.describe(|store| format!("crash of {}, which is down", store.name(victim)));
            return Some(victim);
        }
    }
    store.describe(|store| format!("crash of {}", store.name(victim)));
    note(store, |did| did.became = true);
    let (actor, _) = store.actor_mut(victim);
    let back = actor.actor.restart();
    let restarts = back.is_some();
    actor.health = if restarts { Health::Down } else { Health::Gone };
    if let Some(back) = back {
        actor.actor = back;
    }
    store.cancel_timers(victim, Timers::All);
    if restarts {
        store.add_restart(victim);
    }
    Some(victim)
}

/// A crashed actor comes back. Timers that it sets as it starts stay, even if it stops at once.
fn restart<S: Store>(store: &mut S, of: ActorId) {
    store.describe(|store| format!("restart of {}", store.name(of)));
    note(store, |did| did.became = true);
    store.actor_mut(of).0.health = Health::Up;
    let flow = run(store, of, |actor, turn| actor.start(turn));
    if flow.stops {
        store.actor_mut(of).0.health = Health::Gone;
    }
}

/// Carries out what a handler, or the test, did.
#[inline]
pub(crate) fn carry_out<S: Store>(store: &mut S) {
    if store.turn().effects.is_empty() {
        return;
    }
    let mut effects = std::mem::take(&mut store.turn().effects);
    for effect in effects.drain(..) {
        match effect {
            Effect::Send { from, to, message, stamp, site } => {
                store.send(from, to, message, stamp, site);
            }
            Effect::Spawn { actor, path, identity, name, site, made } => {
                let actor = actor.expect("an actor that was spawned has started");
                let (health, fired, now) = (Health::Up, 0, Duration::ZERO);
                let state = ActorState { actor, health, path, identity, made, fired, now };
                store.add_actor(state, name, site);
            }
            Effect::Timer { of, timer, after, message, stamp, site } => {
                let due = store.actor(of).now.saturating_add(after);
                store.set_timer(of, SetTimer { timer, due, stamp }, message, site);
            }
            Effect::Cancel { of, timer } => store.cancel_timers(of, Timers::One(timer)),
            Effect::Answered(answer) => {
                note(store, |did| did.answered_test = true);
                store.answer(answer);
            }
        }
    }
    store.turn().effects = effects;
}

/// An actor in reports: its given name, or its type and its number among those of that type.
pub(crate) fn display_name(
    id: ActorId,
    given: Option<&str>,
    type_name: impl Fn(ActorId) -> &'static str,
) -> String {
    if let Some(name) = given {
        return name.to_owned();
    }
    let name = type_name(id);
    let before = (0..id.0).filter(|&other| type_name(ActorId(other)) == name).count();
    let name = name.split('<').next().unwrap_or(name);
    format!("{} {}", name.rsplit("::").next().unwrap_or(name), before + 1)
}

/// The states of monitors, each as a hash.
#[cfg(test)]
pub(crate) fn monitor_hashes(monitors: &[Box<dyn crate::monitor::AnyMonitor>]) -> Vec<u64> {
    use std::hash::Hasher;
    let mut states = Vec::new();
    for monitor in monitors {
        let mut hasher = crate::hash::Fingerprint::new();
        monitor.hash(&mut hasher);
        states.push(hasher.finish());
    }
    states
}
