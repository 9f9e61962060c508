//! A system that steps change in place: the [store](crate::step) of all managers but the concurrent
//! one.
//!
//! A *link* is a lane of deliveries to one actor. Which messages share a link is what tells one kind of
//! [mailbox](crate::mailboxes) from another: all from one sender, all from any sender, or each message by
//! itself. Timers, crashes and restarts are links too.
//!
//! The manager decides which link is next. So the order of messages at an actor is decided when they
//! are handled, and sends of different senders commute. Only with one queue for each actor is the order
//! that of the sends: there steps that send to one mailbox depend on each other, which
//! [`Stepped::shared_resources`] tells.

#[cfg(feature = "check")]
mod deliveries;
mod observers;
mod store;

use std::collections::VecDeque;
use std::panic::Location;
use std::time::Duration;

use self::observers::Observers;
use crate::actor::Actor;
use crate::address::{ActorId, Address};
use crate::context::Timer;
use crate::faults::{Faults, MessageFaults};
use crate::hash::mix;
use crate::letters::Dispatch;
use crate::mailboxes::{LaneKey, Mailboxes, Sender};
use crate::step::{self, ActorState, Site};
use crate::things::{self, ActorThings, Things};
use crate::turn::{Chooser, Payload, Stamp, Turn};
use crate::view::View;

/// What a link delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Messages,
    /// A timer, and the time that it was set for.
    Timer(Timer, Duration),
    /// A crash that may happen, to any actor.
    Crash,
    /// A crash that has happened. Never ready again.
    SpentCrash,
    Restart,
}

impl Kind {
    /// Whether it is a crash that may happen.
    pub(crate) fn is_crash_to_come(self) -> bool {
        match self {
            Self::Crash => true,
            Self::Messages | Self::Timer(..) | Self::SpentCrash | Self::Restart => false,
        }
    }

    /// Whether it is a crash, to come or past.
    pub(crate) fn is_crash(self) -> bool {
        match self {
            Self::Crash | Self::SpentCrash => true,
            Self::Messages | Self::Timer(..) | Self::Restart => false,
        }
    }

    fn timer(self) -> Option<Timer> {
        match self {
            Self::Timer(timer, _) => Some(timer),
            Self::Messages | Self::Crash | Self::SpentCrash | Self::Restart => None,
        }
    }
}

pub(crate) struct Message {
    pub(crate) payload: Payload,
    /// The step that sent it, as the engine numbers steps.
    pub(crate) sent_by: Option<u64>,
    pub(crate) site: Site,
    pub(crate) stamp: Stamp,
}

pub(crate) struct Link {
    pub(crate) from: Sender,
    /// Of a crash: the first actor, without meaning.
    pub(crate) to: ActorId,
    pub(crate) kind: Kind,
    pub(crate) queue: VecDeque<Message>,
    /// Names it in every execution and process.
    pub(crate) key: u64,
    /// Whether it has something to deliver, as the manager knows it.
    pub(crate) ready: bool,
}

/// An actor.
pub(crate) struct Slot {
    pub(crate) state: ActorState,
    pub(crate) name: Option<Box<str>>,
    pub(crate) site: Site,
    things: ActorThings,
    /// The link from each sender; where each message has its own, how many there were.
    incoming: Vec<(Sender, u32)>,
}

/// What a step did, besides what it did to its actor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stepped {
    /// Whose state it may have read or changed.
    pub(crate) actor: Option<ActorId>,
    /// It did nothing: what it would have done had been cancelled.
    pub(crate) lapsed: bool,
    /// Mailboxes, monitors, faults: see the engine's `Step::shared_resources`.
    pub(crate) shared_resources: Things,
    /// With other values these might have been others: see the engine's `Decided`.
    pub(crate) touches_others: bool,
    /// A fault was taken from what may happen.
    pub(crate) spent: bool,
    pub(crate) sent_by: Option<u64>,
    pub(crate) site: Site,
}

/// Links that have something to deliver.
#[derive(Default)]
pub(crate) struct Ready {
    pub(crate) count: u32,
    /// Links whose readiness has changed since the manager looked.
    pub(crate) changed: Vec<u32>,
}

/// The text of the last step.
#[derive(Default)]
pub(crate) struct Description {
    pub(crate) wanted: bool,
    pub(crate) text: String,
}

/// The step that is being taken.
struct Current {
    link: u32,
    /// What was received, if messages are observed.
    #[cfg(feature = "check")]
    receive: Option<raddle_engine::receive::Receive>,
    /// The sender.
    #[cfg(feature = "check")]
    from: Sender,
    /// Who crashed.
    #[cfg(feature = "check")]
    victim: Option<ActorId>,
    /// Its number for the engine.
    number: Option<u64>,
    lapsed: bool,
    sent_by: Option<u64>,
    site: Site,
}

/// A system.
pub(crate) struct World {
    pub(crate) mailboxes: Mailboxes,
    /// As they were set.
    pub(crate) faults: Faults,
    message_faults: MessageFaults,
    pub(crate) actors: Vec<Slot>,
    pub(crate) links: Vec<Link>,
    pub(crate) turn: Turn,
    pub(crate) ready: Ready,
    /// What wakes those outside who have their answers, to be called after the step.
    pub(crate) answers: Vec<Box<dyn FnOnce() + Send>>,
    pub(crate) description: Description,
    pub(crate) observers: Observers,
    current: Current,
    /// Whether it is being set up for a model, and nothing may be handled yet.
    pub(crate) is_model: bool,
}

/// The refusal of a model whose setup does more.
pub(crate) const ONLY_SET_UP: &str = "raddle: a model's setup builds a system and sends the first \
                                      messages; the search has them handled, and nobody outside \
                                      waits for an answer";

impl World {
    pub(crate) fn new(mailboxes: Mailboxes, faults: Faults, chooser: Chooser) -> Self {
        let site = Location::caller();
        Self {
            mailboxes,
            faults,
            message_faults: faults.of_messages(),
            actors: Vec::new(),
            links: Vec::new(),
            turn: Turn::new(chooser),
            ready: Ready::default(),
            answers: Vec::new(),
            description: Description::default(),
            observers: Observers::new(faults),
            current: Current {
                link: 0,
                #[cfg(feature = "check")]
                receive: None,
                #[cfg(feature = "check")]
                from: Sender::Anybody,
                #[cfg(feature = "check")]
                victim: None,
                number: None,
                lapsed: false,
                sent_by: None,
                site,
            },
            is_model: false,
        }
    }

    fn path(&self, sender: Sender) -> u64 {
        match sender {
            Sender::Outside(key) => mix(key ^ 5),
            Sender::Actor(actor) => self.actors[actor.index()].state.path,
            Sender::Anybody => 7,
        }
    }

    /// The link for a message, made if it is new.
    fn link(&mut self, from: Sender, to: ActorId) -> u32 {
        let lane = self.mailboxes.lane(from);
        let (LaneKey::Shared(from) | LaneKey::Single(from)) = lane;
        let ends = mix(self.path(from) ^ mix(self.actors[to.index()].state.path));
        let incoming = &mut self.actors[to.index()].incoming;
        let known = incoming.iter().position(|(sender, _)| *sender == from);
        match lane {
            LaneKey::Shared(_) => {
                if let Some(at) = known {
                    return incoming[at].1;
                }
                let link = self.add_link(from, to, Kind::Messages, ends);
                self.actors[to.index()].incoming.push((from, link));
                link
            }
            LaneKey::Single(_) => {
                let at = known.unwrap_or_else(|| {
                    incoming.push((from, 0));
                    incoming.len() - 1
                });
                incoming[at].1 += 1;
                let nth = incoming[at].1;
                self.add_link(from, to, Kind::Messages, mix(ends ^ u64::from(nth)))
            }
        }
    }

    fn add_link(&mut self, from: Sender, to: ActorId, kind: Kind, key: u64) -> u32 {
        self.links.push(Link { from, to, kind, queue: VecDeque::new(), key, ready: false });
        self.links.len() as u32 - 1
    }

    /// Notes whether a link is ready.
    fn update_ready(&mut self, link: u32) {
        let entry = &mut self.links[link as usize];
        let ready = !entry.queue.is_empty();
        if ready != entry.ready {
            entry.ready = ready;
            if ready {
                self.ready.count += 1;
            } else {
                self.ready.count -= 1;
            }
            self.ready.changed.push(link);
        }
    }

    fn push(&mut self, link: u32, message: Message) {
        self.links[link as usize].queue.push_back(message);
        self.update_ready(link);
    }

    /// Puts something without contents into a link, as a part of the current step.
    fn push_signal(&mut self, link: u32, site: Site) {
        let sent_by = self.current.number;
        self.push(link, Message { payload: Box::new(()), sent_by, site, stamp: None });
    }

    /// Sends a message from outside.
    pub(crate) fn send(&mut self, from: Sender, to: ActorId, message: Message) {
        if let (Some(letters), Some(letter)) = (&mut self.turn.letters, &message.stamp) {
            let receiver = self.actors[to.index()].state.identity;
            letters.did.sent.push(Dispatch { letter: **letter, receiver, is_timer: false });
        }
        let link = self.link(from, to);
        self.push(link, message);
    }

    /// Adds an actor from outside, with `number` as the number of the test's step.
    pub(crate) fn spawn<A: Actor>(
        &mut self,
        actor: A,
        name: Option<&str>,
        site: Site,
        number: Option<u64>,
    ) -> Address<A::Message> {
        self.turn.begin_step();
        self.turn.next = self.actors.len() as u32;
        let address = self.turn.spawn(Box::new(actor), name, site);
        self.current.number = number;
        step::carry_out(self);
        address
    }

    /// An actor's mailbox, if those who send to it depend on each other.
    pub(crate) fn touched_mailbox(&self, to: ActorId) -> Things {
        if self.mailboxes.sends_conflict() { self.actors[to.index()].things.mailbox } else { 0 }
    }

    /// Calls the observers after a step.
    pub(crate) fn observe(&mut self) {
        if self.observers.is_empty() {
            return;
        }
        let mut looks = self.observers.take_looks();
        for (only, look) in &mut looks {
            look(&View { only, ..View::from(&*self) });
        }
        self.observers.put_looks(looks);
    }

    /// When nothing is left to be handled: no monitor waits for something.
    pub(crate) fn check_cold(&self) {
        if let Some(monitor) = self.turn.monitors.iter().find(|monitor| monitor.is_hot()) {
            panic!("the test is over, and {} is still hot", monitor.name());
        }
    }

    /// Crashes that have not happened may happen from now on, also those that were declined before.
    /// `number` is that of the test's step.
    pub(crate) fn arm_crashes(&mut self, number: Option<u64>) {
        self.current.number = number;
        let known = self.links.iter().filter(|link| link.kind.is_crash()).count() as u32;
        for nth in known..self.faults.crashes {
            self.add_link(Sender::Anybody, ActorId(0), Kind::Crash, mix(u64::from(nth) ^ 11 << 40));
        }
        for link in 0..self.links.len() as u32 {
            let entry = &self.links[link as usize];
            if entry.kind.is_crash_to_come() && !entry.ready {
                self.push_signal(link, Location::caller());
            }
        }
    }

    /// Takes the next step of a link, with `number` as the number of the step for the engine.
    pub(crate) fn step(&mut self, link: u32, number: Option<u64>) -> Stepped {
        (self.current.link, self.current.number, self.current.lapsed) = (link, number, false);
        #[cfg(feature = "check")]
        self.begin_receive(link);
        let actor = step::step(self, link);
        #[cfg(feature = "check")]
        if self.links[link as usize].kind.is_crash() {
            self.current.victim = actor;
        }
        self.update_ready(link);
        let is_crash = self.links[link as usize].kind.is_crash();
        let mut shared_resources = self.turn.shared_resources | self.observers.of_all_steps();
        if is_crash {
            shared_resources |= things::census(self.nth_crash(link));
        }
        let values_matter =
            is_crash || self.mailboxes.sends_conflict() || !self.turn.monitors.is_empty();
        let touches_others = std::mem::take(&mut self.turn.chose) && values_matter;
        let Current { lapsed, sent_by, site, .. } = self.current;
        if let Some(actor) = actor.filter(|_| !lapsed) {
            shared_resources |= self.observers.of_actor(actor, self.actors[actor.index()].things);
        }
        Stepped {
            actor,
            lapsed,
            shared_resources,
            touches_others,
            spent: self.turn.spent,
            sent_by,
            site,
        }
    }

    /// How many crashes were armed before this one.
    fn nth_crash(&self, link: u32) -> u32 {
        let before = &self.links[..link as usize];
        before.iter().filter(|other| other.kind.is_crash()).count() as u32
    }

    #[cfg_attr(not(feature = "check"), expect(clippy::unused_self, reason = "there is no search"))]
    fn is_heard(&self) -> bool {
        #[cfg(feature = "check")]
        return matches!(self.turn.chooser, Chooser::Engine)
            && raddle_engine::rt::steps_are_observed();
        #[cfg(not(feature = "check"))]
        return false;
    }

    /// Losses and duplicates that may happen, and the states of monitors.
    #[cfg(test)]
    pub(crate) fn budgets(&self) -> (u32, u32, Vec<u64>) {
        let MessageFaults { losses, duplicates } = self.message_faults;
        (losses, duplicates, step::monitor_hashes(&self.turn.monitors))
    }

    /// An actor in reports.
    pub(crate) fn name(&self, actor: ActorId) -> String {
        let given = self.actors[actor.index()].name.as_deref();
        step::display_name(actor, given, |id| self.actors[id.index()].state.actor.type_name())
    }

    /// A link in reports.
    pub(crate) fn label(&self, link: u32) -> String {
        let entry = &self.links[link as usize];
        let to = || self.name(entry.to);
        match (entry.kind, entry.from) {
            (Kind::Timer(..), _) => format!("timer → {}", to()),
            (Kind::Crash | Kind::SpentCrash, _) => "fault".to_owned(),
            (Kind::Restart, _) => format!("restart → {}", to()),
            (Kind::Messages, Sender::Actor(from)) => format!("{} → {}", self.name(from), to()),
            (Kind::Messages, Sender::Outside(_)) => format!("test → {}", to()),
            (Kind::Messages, Sender::Anybody) => to(),
        }
    }

    /// An actor's state.
    #[track_caller]
    pub(crate) fn state<A: 'static>(&self, actor: ActorId) -> &A {
        self.actors[actor.index()].state.downcast(|| self.name(actor))
    }
}
