//! States of a system that can be kept, compared and gone on from.
//!
//! A [`Snapshot`] shares what it has in common with the one before it: a step copies the actor that it
//! is delivered to, and what it adds to or takes from. Its fingerprint is a sum over its parts (actors,
//! lanes of messages, budgets), each hashed once, so that a step also hashes only what it changes. Parts
//! are named by paths, not by the order in which they came about: equal states have equal
//! fingerprints whatever the order of spawns.
//!
//! What a state leaves out: who sent a message, where messages keep no order; numbers of timers (see
//! [`rank`](crate::hash::rank)); the time, until a handler asks for it ([`Exact`]).
//!
//! # Why: States
//! Snapshots are on one OS thread (`Rc`): messages need not be `Sync`. A handler that meets the same message in the
//! same state again is not run again; the fingerprints that this rests on are in the guarantee, as parts.

mod lanes;
mod parcel;

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use self::lanes::{ANYBODY, Lane, OUTSIDE, SharedMessage};
pub(crate) use self::parcel::Parcel;
use crate::address::ActorId;
use crate::faults::MessageFaults;
use crate::hash::mix;
use crate::monitor::AnyMonitor;
use crate::step::{ActorState, Health, display_name};

/// A timer that was set.
#[derive(Clone)]
pub(crate) struct Pending {
    pub(crate) number: u32,
    /// The time that it was set for.
    pub(crate) due: Duration,
    pub(crate) message: Rc<SharedMessage>,
}

/// An actor that states share.
pub(crate) struct SharedActor {
    pub(crate) state: ActorState,
    pub(crate) name: Option<Arc<str>>,
    /// In the order in which they were set.
    pub(crate) timers: Vec<Pending>,
    /// Its part of the fingerprint.
    pub(crate) hash: u64,
}

impl SharedActor {
    pub(crate) fn new(state: ActorState, name: Option<Box<str>>) -> Self {
        Self { state, name: name.map(Arc::from), timers: Vec::new(), hash: 0 }
    }

    /// A copy that no other state has.
    pub(crate) fn copy(&self) -> Self {
        let actor = self.state.actor.copy().expect("it was hashed before");
        Self {
            state: ActorState { actor, ..self.state },
            name: self.name.clone(),
            timers: self.timers.clone(),
            hash: self.hash,
        }
    }

    /// Whether it waits to be restarted.
    pub(crate) fn is_down(&self) -> bool {
        match self.state.health {
            Health::Down => true,
            Health::Up | Health::Gone => false,
        }
    }
}

/// A state of a system: its actors, the messages on their way, timers, monitors and faults to come.
///
/// Cheap to clone. Stays on the OS thread that made it: a search on several threads hands over copies.
#[derive(Clone)]
pub struct Snapshot {
    pub(crate) actors: Vec<Rc<SharedActor>>,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) monitors: Rc<Vec<Box<dyn AnyMonitor>>>,
    /// Crashes that may happen.
    pub(crate) crashes: u32,
    pub(crate) message_faults: MessageFaults,
    /// How many messages have been sent. No part of the state: it only says which is older.
    pub(crate) sent: u32,
    pub(crate) fingerprint: u64,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("actors", &self.actors.len())
            .field("waiting", &self.waiting())
            .field("fingerprint", &self.fingerprint)
            .finish_non_exhaustive()
    }
}

impl Snapshot {
    /// A hash of 64 bits: equal for equal states, and different for different ones but for a chance of
    /// 2⁻⁶⁴ for each two.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// How many messages wait to be handled, timers and faults included.
    #[must_use]
    pub fn waiting(&self) -> usize {
        let timers: usize = self.actors.iter().map(|actor| actor.timers.len()).sum();
        let restarts = self.actors.iter().filter(|actor| actor.is_down()).count();
        let messages: usize = self.lanes.iter().map(Lane::len).sum();
        messages + timers + restarts + self.crashes as usize
    }

    /// An actor's state.
    #[track_caller]
    pub(crate) fn state<A: 'static>(&self, actor: ActorId) -> &A {
        self.actors[actor.index()].state.downcast(|| self.name(actor.0))
    }

    /// A monitor that waits for something.
    pub(crate) fn hot(&self) -> Option<&'static str> {
        self.monitors.iter().find(|monitor| monitor.is_hot()).map(|monitor| monitor.name())
    }

    /// An actor in reports.
    pub(crate) fn name(&self, actor: u32) -> String {
        let given = self.actors[actor as usize].name.as_deref();
        let type_name = |id: ActorId| self.actors[id.index()].state.actor.type_name();
        display_name(ActorId(actor), given, type_name)
    }

    /// Losses and duplicates that may happen, and the states of monitors.
    #[cfg(test)]
    pub(crate) fn budgets(&self) -> (u32, u32, Vec<u64>) {
        let MessageFaults { losses, duplicates } = self.message_faults;
        (losses, duplicates, crate::step::monitor_hashes(&self.monitors))
    }

    /// Roughly how many bytes it has for itself.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.actors.len() * size_of::<Rc<SharedActor>>()
            + self.lanes.len() * size_of::<Lane>()
            + size_of::<SharedActor>()
            + 256
    }

    /// A step in reports; `values` as it was run with.
    pub(crate) fn describe(&self, way: Move, values: &[u32]) -> Described {
        let name = |actor: u32| self.name(actor);
        let sender = |from| match from {
            OUTSIDE => "test".to_owned(),
            ANYBODY => String::new(),
            actor => self.name(actor),
        };
        let (link, what) = match way {
            Move::Lane(at) => {
                let lane = &self.lanes[at as usize];
                let to = name(lane.to);
                let from = sender(lane.from);
                let ends = if from.is_empty() { to } else { format!("{from} → {to}") };
                let actor = &self.actors[lane.to as usize].state.actor;
                (ends, actor.show(&lane.first().payload))
            }
            Move::Timer(actor, at) => {
                let shared = &self.actors[actor as usize];
                let what = shared.state.actor.show(&shared.timers[at as usize].message.payload);
                (format!("timer → {}", name(actor)), what)
            }
            Move::Crash => {
                let victim = values.first().copied().unwrap_or(0).checked_sub(1);
                let what = victim
                    .map_or("no crash".to_owned(), |actor| format!("crash of {}", name(actor)));
                return Described { link: "fault".to_owned(), what, values: Vec::new() };
            }
            Move::Restart(actor) => (format!("restart → {}", name(actor)), String::new()),
        };
        Described { link, what, values: values.to_vec() }
    }

    /// The part of the fingerprint of what is in no actor and no lane. Monitors have their own.
    #[inline]
    pub(crate) fn budget_hash(&self) -> u64 {
        let MessageFaults { losses, duplicates } = self.message_faults;
        let budgets = mix(u64::from(self.crashes) << 32 | u64::from(losses));
        mix(budgets ^ u64::from(duplicates) ^ 23 << 40)
    }
}

/// One way on from a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Move {
    /// The first message of the lane with this index.
    Lane(u32),
    /// The timer of this actor with this index.
    Timer(u32, u32),
    /// A crash, or none.
    Crash,
    /// An actor comes back.
    Restart(u32),
}

/// Something that a step did besides changing its actor, as explorers hear of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Happened {
    /// A message was sent to this actor.
    Sent(u32),
    /// This actor was spawned.
    Spawned(u32),
    /// The actor handles messages otherwise from now on.
    Became,
    /// The program asked for an order of processes.
    Ordered(Arc<[String]>),
}

/// What counts as a part of a state, because a handler can see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exact {
    /// The time: a handler asked for it.
    pub(crate) clock: bool,
    /// The numbers of timers: one was sent in a message.
    pub(crate) timers: bool,
}

/// A step in reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Described {
    pub(crate) link: String,
    pub(crate) what: String,
    pub(crate) values: Vec<u32>,
}
