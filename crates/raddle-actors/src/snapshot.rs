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

use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use crate::address::ActorId;
use crate::cell::Cell;
use crate::hash::mix;
use crate::monitor::AnyMonitor;
use crate::turn::Payload;
use crate::world::Health;

/// A message that states share.
pub(crate) struct Letter {
    pub(crate) payload: Payload,
    pub(crate) hash: u64,
}

#[derive(Clone)]
pub(crate) enum Queue {
    One(Rc<Letter>),
    Many(Rc<VecDeque<Rc<Letter>>>),
}

/// A link with its messages, which are delivered in order. Never empty.
#[derive(Clone)]
pub(crate) struct Lane {
    /// The index of an actor, or [`OUTSIDE`], or [`ANYBODY`].
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Its part of the fingerprint.
    pub(crate) hash: u64,
    pub(crate) queue: Queue,
}

pub(crate) const OUTSIDE: u32 = u32::MAX;
pub(crate) const ANYBODY: u32 = u32::MAX - 1;

impl Lane {
    pub(crate) fn first(&self) -> &Rc<Letter> {
        match &self.queue {
            Queue::One(letter) => letter,
            Queue::Many(letters) => &letters[0],
        }
    }

    /// All of them, in order.
    #[cfg(test)]
    pub(crate) fn contents(&self) -> impl Iterator<Item = Rc<Letter>> + use<> {
        let letters = self.letters();
        (0..letters.len()).map(move |at| Rc::clone(&letters[at]))
    }

    fn len(&self) -> usize {
        match &self.queue {
            Queue::One(_) => 1,
            Queue::Many(letters) => letters.len(),
        }
    }

    pub(crate) fn letters(&self) -> Rc<VecDeque<Rc<Letter>>> {
        match &self.queue {
            Queue::One(letter) => Rc::new(VecDeque::from([Rc::clone(letter)])),
            Queue::Many(letters) => Rc::clone(letters),
        }
    }
}

/// A timer that was set.
#[derive(Clone)]
pub(crate) struct Pending {
    pub(crate) number: u32,
    pub(crate) after: Duration,
    pub(crate) letter: Rc<Letter>,
}

/// An actor.
pub(crate) struct Seat {
    pub(crate) cell: Box<dyn Cell>,
    pub(crate) health: Health,
    pub(crate) path: u64,
    pub(crate) name: Option<Rc<str>>,
    pub(crate) made: (u32, u32),
    pub(crate) fired: u32,
    /// The time that the latest of them was set for.
    pub(crate) now: Duration,
    /// In the order in which they were set.
    pub(crate) timers: Vec<Pending>,
    /// Its part of the fingerprint.
    pub(crate) hash: u64,
}

#[cfg(test)]
impl Seat {
    /// The actors that it has made, and how many of its timers have fired.
    pub(crate) fn counts(&self) -> (u32, u32) {
        (self.made.0, self.fired)
    }
}

/// A state of a system: its actors, the messages on their way, timers, monitors and faults to come.
///
/// Cheap to clone. Stays on the OS thread that made it.
#[derive(Clone)]
pub struct Snapshot {
    pub(crate) actors: Vec<Rc<Seat>>,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) monitors: Rc<Vec<Box<dyn AnyMonitor>>>,
    /// Crashes that may happen.
    pub(crate) faults: u32,
    pub(crate) losses: u32,
    pub(crate) duplicates: u32,
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
        let timers: usize = self.actors.iter().map(|seat| seat.timers.len()).sum();
        let restarts = self.actors.iter().filter(|seat| seat.health == Health::Down).count();
        let messages: usize = self.lanes.iter().map(Lane::len).sum();
        messages + timers + restarts + self.faults as usize
    }

    /// An actor's state.
    #[track_caller]
    pub(crate) fn state<A: 'static>(&self, actor: ActorId) -> &A {
        let cell = &self.actors[actor.index()].cell;
        cell.state().downcast_ref().unwrap_or_else(|| {
            panic!(
                "raddle: {} is a {}, not a {}",
                self.name(actor.0),
                cell.type_name(),
                std::any::type_name::<A>()
            )
        })
    }

    /// A monitor that waits for something.
    pub(crate) fn hot(&self) -> Option<&'static str> {
        self.monitors.iter().find(|monitor| monitor.is_hot()).map(|monitor| monitor.name())
    }

    /// What a person calls an actor.
    pub(crate) fn name(&self, actor: u32) -> String {
        let seat = &self.actors[actor as usize];
        if let Some(name) = &seat.name {
            return name.to_string();
        }
        let name = seat.cell.type_name();
        let before = self.actors[..actor as usize].iter();
        let before = before.filter(|other| other.cell.type_name() == name).count();
        let name = name.split('<').next().unwrap_or(name);
        format!("{} {}", name.rsplit("::").next().unwrap_or(name), before + 1)
    }

    /// Losses and duplicates that may happen, and what monitors have heard.
    #[cfg(test)]
    pub(crate) fn budgets(&self) -> (u32, u32, Vec<u64>) {
        (self.losses, self.duplicates, crate::world::heard(&self.monitors))
    }

    /// Roughly how many bytes it has for itself.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.actors.len() * size_of::<Rc<Seat>>()
            + self.lanes.len() * size_of::<Lane>()
            + size_of::<Seat>()
            + 256
    }

    /// What a way on is, for a person; `values` as it was run with.
    pub(crate) fn tell(&self, way: Move, values: &[u32]) -> Told {
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
                let cell = &self.actors[lane.to as usize].cell;
                (ends, cell.show(&lane.first().payload))
            }
            Move::Timer(actor, at) => {
                let seat = &self.actors[actor as usize];
                let what = seat.cell.show(&seat.timers[at as usize].letter.payload);
                (format!("timer → {}", name(actor)), what)
            }
            Move::Fault => {
                let whom = values.first().copied().unwrap_or(0).checked_sub(1);
                let what =
                    whom.map_or("no crash".to_owned(), |actor| format!("crash of {}", name(actor)));
                return Told { link: "fault".to_owned(), what, values: Vec::new() };
            }
            Move::Restart(actor) => (format!("restart → {}", name(actor)), String::new()),
        };
        Told { link, what, values: values.to_vec() }
    }

    /// What is in no actor and no lane, as a part of the fingerprint.
    pub(crate) fn rest(&self) -> u64 {
        let budgets = mix(u64::from(self.faults) << 32 | u64::from(self.losses));
        mix(budgets ^ u64::from(self.duplicates) ^ 23 << 40)
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
    Fault,
    /// An actor comes back.
    Restart(u32),
}

/// What counts as a part of a state, because a handler can see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exact {
    /// The time: a handler asked for it.
    pub(crate) clock: bool,
    /// The numbers of timers: one was sent in a message.
    pub(crate) timers: bool,
}

/// A step, for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) link: String,
    pub(crate) what: String,
    pub(crate) values: Vec<u32>,
}
