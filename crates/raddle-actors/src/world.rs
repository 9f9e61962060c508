//! The actors of a system, the links between them, and what one step does: the semantics that all
//! managers but the concurrent one share.
//!
//! A *link* is a lane of deliveries to one actor. Which messages share a link is what tells one kind of
//! mailbox from another: all from one sender, all from anybody, or each message by itself. Timers,
//! faults and restarts are links too. A step delivers the next message of one link: the handler runs to
//! its end, and then what it did is carried out.
//!
//! Whoever runs a world decides which link is next. So the order of messages at an actor is decided
//! when they are handled, and sends of different senders commute. Only with one queue for each actor is
//! the order that of the sends: there steps that send to one mailbox depend on each other, which
//! [`Stepped::also`] tells.

use std::collections::VecDeque;
use std::panic::Location;
use std::time::Duration;

use crate::address::{ActorId, AnyAddress};
use crate::cell::Cell;
use crate::context::Timer;
use crate::hash::mix;
use crate::system::View;
use crate::turn::{BITS, Chooser, Effect, Payload, Turn};

/// In which order messages to one actor are handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mailboxes {
    /// Those of one sender in the order in which they were sent; those of different senders in any
    /// order. What Akka and Erlang promise, and all that a run on threads can do.
    #[default]
    Pairs,
    /// In the order in which they were sent, whoever sent them: one queue for each actor, as in Eta.
    ///
    /// `Misses:` a handler is one step, so no other sender's message comes between two messages that
    /// one handler sends to one actor, or before the first of them if it was sent later.
    Queue,
    /// In any order: a network that keeps none.
    Unordered,
}

/// What may go wrong, and how often. Each is a decision of the search.
///
/// With losses, duplicates or crashes a reduction leaves out nothing: whether the next one is still to
/// come hangs on all steps before, so all depend on each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Faults {
    /// How many messages may be lost.
    pub losses: u32,
    /// How many messages may be handled twice.
    pub duplicates: u32,
    /// How many times an actor may crash. It loses its state and its timers; what is delivered while it
    /// is down is lost. What it comes back with is [`Actor::restart`](crate::Actor::restart).
    pub crashes: u32,
    /// How many timers of one actor may fire; `None`: all. With timers that are set again and again a
    /// test would not end otherwise.
    pub timers: Option<u32>,
}

/// Who sent a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Sender {
    /// The test, or a thread of it.
    Outside(u64),
    Actor(ActorId),
    /// Of a link whose messages have many senders.
    Anybody,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Messages,
    Timer(Timer, Duration),
    /// A crash that may happen, to any actor.
    Fault,
    /// A crash that has happened.
    Spent,
    Restart,
}

pub(crate) struct Message {
    pub(crate) payload: Payload,
    /// The step that sent it, see the engine.
    pub(crate) sent_by: Option<u64>,
    pub(crate) site: &'static Location<'static>,
}

pub(crate) struct Link {
    pub(crate) from: Sender,
    /// Of a fault: nobody in particular.
    pub(crate) to: ActorId,
    pub(crate) kind: Kind,
    pub(crate) queue: VecDeque<Message>,
    /// Names it in every execution and process.
    pub(crate) key: u64,
    pub(crate) ready: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    Up,
    /// Crashed.
    Down,
    /// Stopped, or crashed for good.
    Gone,
}

pub(crate) struct Slot {
    /// None while its handler runs.
    pub(crate) cell: Option<Box<dyn Cell>>,
    pub(crate) health: Health,
    pub(crate) path: u64,
    pub(crate) name: Option<Box<str>>,
    pub(crate) site: &'static Location<'static>,
    /// Actors and timers that it has made.
    pub(crate) made: (u32, u32),
    /// How many of its timers have fired, and the time that the latest was set for.
    pub(crate) fired: u32,
    pub(crate) now: Duration,
    /// The link from each sender; where each message has its own, how many there were.
    incoming: Vec<(Sender, u32)>,
}

/// What a step did, besides what it did to its actor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stepped {
    /// Whose state it may have changed.
    pub(crate) actor: Option<ActorId>,
    /// It did nothing: what it would have done had been taken back.
    pub(crate) lapsed: bool,
    /// Mailboxes, monitors, budgets: see the engine's `Step::also`.
    pub(crate) also: u64,
    pub(crate) sent_by: Option<u64>,
    pub(crate) site: &'static Location<'static>,
}

pub(crate) struct World {
    pub(crate) mailboxes: Mailboxes,
    pub(crate) faults: Faults,
    pub(crate) actors: Vec<Slot>,
    pub(crate) links: Vec<Link>,
    pub(crate) turn: Turn,
    /// Links whose readiness may have changed.
    pub(crate) changed: Vec<u32>,
    /// How many links are ready.
    pub(crate) work: u32,
    /// Answers to whoever waits outside, to be given after the step.
    pub(crate) answers: Vec<Box<dyn FnOnce() + Send>>,
    /// Whether texts are wanted, and the last one.
    pub(crate) writes: bool,
    pub(crate) text: String,
    /// Messages that nobody could handle: their actors are gone.
    pub(crate) dead: u64,
    /// Actors of which each step is seen by somebody who looks at several, with the bits of those.
    pub(crate) observed: Vec<(ActorId, u64)>,
    /// The bits of whoever looks at all of them.
    pub(crate) seen_by: u64,
    /// The same of a test that counts steps, until all are handled.
    pub(crate) counted: u64,
    /// Those who look after each step.
    looks: Vec<(Vec<ActorId>, Look)>,
    /// Whose turn it is, where each has its turn.
    pub(crate) turn_of: u32,
    /// The bit of all steps if things may go wrong, or have gone.
    budget: u64,
    losses: u32,
    duplicates: u32,
    /// Of the running step.
    lapsed: bool,
    /// It is set up for a model, and nothing is handled yet.
    pub(crate) is_model: bool,
}

/// What is said of a model whose setup does more.
pub(crate) const ONLY_SET_UP: &str = "raddle: a model's setup builds a system and sends the first \
                                      messages; the search has them handled, and nobody outside \
                                      waits for an answer";
/// The bit of the budget for losses and duplicates.
const BUDGET: u64 = 1 << BITS;
/// The bit of whoever counts steps, or looks at the whole system after each.
pub(crate) const ALL: u64 = 1 << (BITS + 1);
/// Looks at the system after a step.
pub(crate) type Look = Box<dyn FnMut(&View<'_>) + Send>;

/// The bit of a mailbox.
fn bit(path: u64) -> u64 {
    1 << (mix(path ^ 2) % BITS)
}

/// The bit of an actor's timers.
fn timer_bit(path: u64) -> u64 {
    1 << (mix(path ^ 3) % BITS)
}

impl World {
    pub(crate) fn new(mailboxes: Mailboxes, faults: Faults, chooser: Chooser) -> Self {
        let mut turn = Turn::new(chooser);
        turn.path = 1;
        Self {
            mailboxes,
            faults,
            actors: Vec::new(),
            links: Vec::new(),
            turn,
            changed: Vec::new(),
            work: 0,
            answers: Vec::new(),
            writes: false,
            text: String::new(),
            dead: 0,
            observed: Vec::new(),
            seen_by: 0,
            counted: 0,
            looks: Vec::new(),
            turn_of: 0,
            budget: if faults.losses + faults.duplicates + faults.crashes > 0 { BUDGET } else { 0 },
            losses: faults.losses,
            duplicates: faults.duplicates,
            lapsed: false,
            is_model: false,
        }
    }

    fn path(&self, sender: Sender) -> u64 {
        match sender {
            Sender::Outside(key) => mix(key ^ 5),
            Sender::Actor(actor) => self.actors[actor.index()].path,
            Sender::Anybody => 7,
        }
    }

    /// The link for a message, made if it is new.
    fn link(&mut self, from: Sender, to: ActorId) -> u32 {
        let from = if self.mailboxes == Mailboxes::Queue { Sender::Anybody } else { from };
        let incoming = &self.actors[to.index()].incoming;
        let known = incoming.iter().position(|(sender, _)| *sender == from);
        if self.mailboxes != Mailboxes::Unordered
            && let Some(at) = known
        {
            return incoming[at].1;
        }
        let ends = mix(self.path(from) ^ mix(self.actors[to.index()].path));
        if self.mailboxes != Mailboxes::Unordered {
            let link = self.add_link(from, to, Kind::Messages, ends);
            self.actors[to.index()].incoming.push((from, link));
            return link;
        }
        let incoming = &mut self.actors[to.index()].incoming;
        let at = known.unwrap_or_else(|| {
            incoming.push((from, 0));
            incoming.len() - 1
        });
        incoming[at].1 += 1;
        let nth = incoming[at].1;
        self.add_link(from, to, Kind::Messages, mix(ends ^ u64::from(nth)))
    }

    fn add_link(&mut self, from: Sender, to: ActorId, kind: Kind, key: u64) -> u32 {
        self.links.push(Link { from, to, kind, queue: VecDeque::new(), key, ready: false });
        self.links.len() as u32 - 1
    }

    fn look_again(&mut self, link: u32) {
        let entry = &mut self.links[link as usize];
        let ready = !entry.queue.is_empty();
        if ready != entry.ready {
            entry.ready = ready;
            if ready {
                self.work += 1;
            } else {
                self.work -= 1;
            }
            self.changed.push(link);
        }
    }

    fn push(&mut self, link: u32, message: Message) {
        self.links[link as usize].queue.push_back(message);
        self.look_again(link);
    }

    /// Sends a message from outside.
    pub(crate) fn send(
        &mut self,
        from: Sender,
        to: ActorId,
        payload: Payload,
        sent_by: Option<u64>,
        site: &'static Location<'static>,
    ) {
        let link = self.link(from, to);
        self.push(link, Message { payload, sent_by, site });
    }

    /// The bit of an actor's mailbox, if whoever sends to it depends on others who do.
    pub(crate) fn mailbox_bit(&self, to: ActorId) -> u64 {
        if self.mailboxes == Mailboxes::Queue { bit(self.actors[to.index()].path) } else { 0 }
    }

    /// Somebody looks at these actors after each of their steps; at all, if there are none.
    pub(crate) fn look(&mut self, of: &[AnyAddress], look: Look) {
        self.looks.push((of.iter().map(|address| address.0).collect(), look));
        // Their steps depend on each other from now on.
        let bit = 1 << (mix(self.looks.len() as u64 ^ 19 << 40) % BITS);
        if of.is_empty() {
            self.seen_by |= ALL;
        }
        self.observed.extend(of.iter().map(|address| (address.0, bit)));
    }

    /// After a step.
    pub(crate) fn look_after(&mut self) {
        let mut looks = std::mem::take(&mut self.looks);
        for (only, look) in &mut looks {
            look(&View { only, ..View::from(&*self) });
        }
        self.looks = looks;
    }

    /// Nothing is left to be done that a monitor waits for.
    pub(crate) fn check_cold(&self) {
        if let Some(monitor) = self.turn.monitors.iter().find(|monitor| monitor.is_hot()) {
            panic!("the test is over, and {} is still hot", monitor.name());
        }
    }

    /// Faults that have not happened may happen now.
    pub(crate) fn arm_faults(&mut self, number: Option<u64>) {
        let known = self.links.iter().filter(|link| link.kind == Kind::Fault).count() as u32;
        for nth in known..self.faults.crashes {
            self.add_link(Sender::Anybody, ActorId(0), Kind::Fault, mix(u64::from(nth) ^ 11 << 40));
        }
        for link in 0..self.links.len() as u32 {
            let entry = &self.links[link as usize];
            if entry.kind == Kind::Fault && !entry.ready && self.faults.crashes > 0 {
                let message =
                    Message { payload: Box::new(()), sent_by: number, site: Location::caller() };
                self.push(link, message);
            }
        }
    }

    /// Takes the next step of a link, with `number` as the number of the step for the engine.
    pub(crate) fn step(&mut self, link: u32, number: Option<u64>) -> Stepped {
        let entry = &mut self.links[link as usize];
        let (kind, to) = (entry.kind, entry.to);
        let message = entry.queue.pop_front().expect("a link that is ready has a message");
        let (sent_by, site) = (message.sent_by, message.site);
        self.turn.also = 0;
        self.lapsed = false;
        let actor = match kind {
            Kind::Messages => self.deliver(link, to, message),
            Kind::Timer(_, after) => {
                self.fire(to, after, message);
                Some(to)
            }
            Kind::Fault => self.crash(link, number),
            Kind::Restart => {
                self.restart(to);
                Some(to)
            }
            Kind::Spent => None,
        };
        self.carry_out(number);
        self.look_again(link);
        let mut also = self.turn.also | self.seen_by | self.counted | self.budget;
        let bits = self.mailboxes == Mailboxes::Queue || !self.turn.monitors.is_empty();
        if std::mem::take(&mut self.turn.chose) && bits {
            // With another value it might have touched others. What a step touches must not hang on the
            // values decided in it.
            also = u64::MAX;
        }
        let lapsed = self.lapsed;
        if let Some(actor) = actor.filter(|_| !lapsed) {
            let seen = self.observed.iter().filter(|(observed, _)| *observed == actor);
            also |= seen.fold(0, |bits, (_, bit)| bits | bit);
        }
        Stepped { actor, lapsed, also, sent_by, site }
    }

    fn deliver(&mut self, link: u32, to: ActorId, message: Message) -> Option<ActorId> {
        let copy = |world: &Self| {
            let cell = world.actors[to.index()].cell.as_ref();
            cell.and_then(|cell| cell.copy_message(&message.payload))
        };
        if self.losses + self.duplicates > 0 {
            let of = 1 + u32::from(self.losses > 0) + u32::from(self.duplicates > 0);
            let choice = self.turn.choose(of);
            if choice == 1 && self.losses > 0 {
                self.losses -= 1;
                self.write(|world| format!("lose {}", world.show(to, &message)));
                return None;
            }
            if choice > 0 {
                self.duplicates -= 1;
                let payload = copy(self).unwrap_or_else(|| {
                    panic!(
                        "raddle: messages to {} cannot be duplicated, because they cannot be \
                         copied: write raddle_actors::snapshots!(); in its `impl Actor`",
                        self.name(to)
                    )
                });
                let copy = Message { payload, sent_by: message.sent_by, site: message.site };
                if self.mailboxes == Mailboxes::Unordered {
                    let from = self.links[link as usize].from;
                    let link = self.link(from, to);
                    self.push(link, copy);
                } else {
                    self.links[link as usize].queue.push_front(copy);
                }
            }
        }
        self.handle(to, message, "");
        Some(to)
    }

    fn fire(&mut self, to: ActorId, after: Duration, message: Message) {
        let slot = &mut self.actors[to.index()];
        self.turn.also |= timer_bit(slot.path);
        if message.payload.is::<Cancelled>() {
            // It was cancelled while somebody had to hear of all steps that might have been.
            self.write(|_| "a timer that was cancelled".to_owned());
            self.lapsed = true;
            return;
        }
        if self.faults.timers.is_some_and(|most| slot.fired >= most) {
            self.write(|world| format!("let {} pass", world.show(to, &message)));
            return;
        }
        slot.fired += 1;
        slot.now = slot.now.max(after);
        self.handle(to, message, "timer: ");
    }

    /// Runs the handler.
    fn handle(&mut self, to: ActorId, message: Message, what: &str) {
        let slot = &mut self.actors[to.index()];
        if slot.health != Health::Up {
            self.dead += 1;
            let why = if slot.health == Health::Down { "is down" } else { "is gone" };
            self.write(|world| format!("{what}{why}: drop {}", world.show(to, &message)));
            return;
        }
        self.write(|world| format!("{what}{}", world.show(to, &message)));
        let slot = &mut self.actors[to.index()];
        let mut cell = slot.cell.take().expect("handlers do not run inside handlers");
        let own = (self.turn.me, self.turn.path, self.turn.made);
        (self.turn.me, self.turn.path, self.turn.made) = (to, slot.path, slot.made);
        self.turn.now = slot.now;
        self.turn.next = self.actors.len() as u32;
        let flow = cell.handle(message.payload, &mut self.turn);
        let slot = &mut self.actors[to.index()];
        slot.made = self.turn.made;
        (self.turn.me, self.turn.path, self.turn.made) = own;
        slot.cell = Some(cell);
        if flow.stops {
            slot.health = Health::Gone;
            self.cancel_timers(to);
        }
    }

    /// An actor crashes, or none does.
    fn crash(&mut self, link: u32, number: Option<u64>) -> Option<ActorId> {
        let choice = self.turn.choose(self.actors.len() as u32 + 1);
        let Some(actor) = choice.checked_sub(1).map(ActorId) else {
            self.write(|_| "no crash".to_owned());
            return None;
        };
        let slot = &mut self.actors[actor.index()];
        self.faults.crashes -= 1;
        // What has happened cannot happen again.
        self.links[link as usize].kind = Kind::Spent;
        if slot.health != Health::Up {
            self.write(|world| format!("crash of {}, which is down", world.name(actor)));
            return Some(actor);
        }
        let back = slot.cell.as_ref().and_then(|cell| cell.restart());
        slot.health = if back.is_some() { Health::Down } else { Health::Gone };
        slot.cell = back.or(slot.cell.take());
        self.write(|world| format!("crash of {}", world.name(actor)));
        self.cancel_timers(actor);
        if self.actors[actor.index()].health == Health::Down {
            let key = mix(self.links[link as usize].key ^ 0xd);
            let restart = self.add_link(Sender::Anybody, actor, Kind::Restart, key);
            let message =
                Message { payload: Box::new(()), sent_by: number, site: Location::caller() };
            self.push(restart, message);
        }
        Some(actor)
    }

    fn restart(&mut self, actor: ActorId) {
        self.write(|world| format!("restart of {}", world.name(actor)));
        let slot = &mut self.actors[actor.index()];
        slot.health = Health::Up;
        let mut cell = slot.cell.take().expect("handlers do not run inside handlers");
        let own = (self.turn.me, self.turn.path, self.turn.made);
        (self.turn.me, self.turn.path, self.turn.made) = (actor, slot.path, slot.made);
        self.turn.now = slot.now;
        self.turn.next = self.actors.len() as u32;
        let flow = cell.start(&mut self.turn);
        let slot = &mut self.actors[actor.index()];
        slot.made = self.turn.made;
        (self.turn.me, self.turn.path, self.turn.made) = own;
        slot.cell = Some(cell);
        if flow.stops {
            slot.health = Health::Gone;
        }
    }

    /// Carries out what a handler, or the test, did.
    pub(crate) fn carry_out(&mut self, number: Option<u64>) {
        let mut effects = std::mem::take(&mut self.turn.effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::Send { from, to, message, site } => {
                    self.turn.also |= self.mailbox_bit(to);
                    self.send(Sender::Actor(from), to, message, number, site);
                }
                Effect::Spawn { cell, path, name, site, made } => {
                    let (health, fired, now, incoming) =
                        (Health::Up, 0, Duration::ZERO, Vec::new());
                    self.actors.push(Slot {
                        cell,
                        health,
                        path,
                        name,
                        site,
                        made,
                        fired,
                        now,
                        incoming,
                    });
                }
                Effect::Timer { of, timer, after, message, site } => {
                    let key =
                        mix(self.actors[of.index()].path ^ mix(u64::from(timer.0) ^ 17 << 40));
                    let after = self.actors[of.index()].now.saturating_add(after);
                    let link = self.add_link(Sender::Actor(of), of, Kind::Timer(timer, after), key);
                    self.push(link, Message { payload: message, sent_by: number, site });
                }
                Effect::Cancel { of, timer } => self.cancel(of, |other| other == timer),
                Effect::Answered(answer) => self.answers.push(answer),
            }
        }
        self.turn.effects = effects;
    }

    fn cancel_timers(&mut self, of: ActorId) {
        self.cancel(of, |_| true);
    }

    /// Timers do not fire any more. A search that leaves out equivalent executions must hear that one
    /// could have: then it stays, and does nothing when its turn comes.
    fn cancel(&mut self, of: ActorId, which: impl Fn(Timer) -> bool) {
        let heard = self.is_heard();
        for link in 0..self.links.len() as u32 {
            let entry = &mut self.links[link as usize];
            let Kind::Timer(timer, _) = entry.kind else { continue };
            if entry.to != of || !entry.ready || !which(timer) {
                continue;
            }
            self.turn.also |= timer_bit(self.actors[of.index()].path);
            if heard {
                for message in &mut entry.queue {
                    message.payload = Box::new(Cancelled);
                }
            } else {
                entry.queue.clear();
                self.look_again(link);
            }
        }
    }

    #[cfg_attr(not(feature = "check"), expect(clippy::unused_self, reason = "there is no search"))]
    fn is_heard(&self) -> bool {
        #[cfg(feature = "check")]
        return matches!(self.turn.chooser, Chooser::Engine)
            && raddle_engine::rt::steps_are_observed();
        #[cfg(not(feature = "check"))]
        return false;
    }

    fn write(&mut self, text: impl FnOnce(&Self) -> String) {
        if self.writes {
            self.text = text(self);
        }
    }

    fn show(&self, to: ActorId, message: &Message) -> String {
        let cell = self.actors[to.index()].cell.as_ref();
        cell.map_or_else(String::new, |cell| cell.show(&message.payload))
    }

    /// Losses and duplicates that may happen, and what monitors have heard.
    #[cfg(test)]
    pub(crate) fn budgets(&self) -> (u32, u32, Vec<u64>) {
        (self.losses, self.duplicates, heard(&self.turn.monitors))
    }

    /// What a person calls an actor.
    pub(crate) fn name(&self, actor: ActorId) -> String {
        let slot = &self.actors[actor.index()];
        if let Some(name) = &slot.name {
            return name.to_string();
        }
        let name = slot.cell.as_ref().map_or("actor", |cell| cell.type_name());
        let name = name.split('<').next().unwrap_or(name);
        let name = name.rsplit("::").next().unwrap_or(name);
        let alike = |other: &&Slot| {
            other.cell.as_ref().map(|cell| cell.type_name())
                == slot.cell.as_ref().map(|cell| cell.type_name())
        };
        let before = self.actors[..actor.index()].iter().filter(alike).count();
        format!("{name} {}", before + 1)
    }

    /// What a person calls a link.
    pub(crate) fn label(&self, link: u32) -> String {
        let entry = &self.links[link as usize];
        let to = || self.name(entry.to);
        match (entry.kind, entry.from) {
            (Kind::Timer(..), _) => format!("timer → {}", to()),
            (Kind::Fault | Kind::Spent, _) => "fault".to_owned(),
            (Kind::Restart, _) => format!("restart → {}", to()),
            (Kind::Messages, Sender::Actor(from)) => format!("{} → {}", self.name(from), to()),
            (Kind::Messages, Sender::Outside(_)) => format!("test → {}", to()),
            (Kind::Messages, Sender::Anybody) => to(),
        }
    }

    /// An actor's state.
    #[track_caller]
    pub(crate) fn state<A: 'static>(&self, actor: ActorId) -> &A {
        let cell = self.actors[actor.index()].cell.as_ref();
        let cell = cell.expect("an actor is not looked at while its handler runs");
        cell.state().downcast_ref().unwrap_or_else(|| {
            panic!(
                "raddle: {} is a {}, not a {}",
                self.name(actor),
                cell.type_name(),
                std::any::type_name::<A>()
            )
        })
    }
}

/// In place of the message of a timer that was cancelled.
struct Cancelled;

/// The states of monitors.
#[cfg(test)]
pub(crate) fn heard(monitors: &[Box<dyn crate::monitor::AnyMonitor>]) -> Vec<u64> {
    use std::hash::Hasher;
    let mut heard = Vec::new();
    for monitor in monitors {
        let mut hasher = crate::hash::Fingerprint::new();
        monitor.hash(&mut hasher);
        heard.push(hasher.finish());
    }
    heard
}
