//! States on their way to another thread.
//!
//! States share their parts by counted references that belong to one thread: to count them atomically
//! would make every step slower, also of searches on one thread. So a state that is handed over is copied
//! whole. States that are handed over together go on sharing what they shared.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::lanes::Lane;
use super::{Pending, SharedActor, SharedMessage, Snapshot};
use crate::faults::MessageFaults;
use crate::monitor::AnyMonitor;
use crate::step::ActorState;
use crate::turn::Payload;

struct Message {
    payload: Payload,
    hash: u64,
}

struct Timer {
    number: u32,
    due: Duration,
    message: u32,
}

struct Actor {
    state: ActorState,
    name: Option<Arc<str>>,
    timers: Vec<Timer>,
    hash: u64,
}

struct LaneOf {
    from: u32,
    to: u32,
    hash: u64,
    /// Each with its age.
    messages: Vec<(u32, u32)>,
}

/// A state, with its parts by their numbers in the parcel.
struct State {
    actors: Vec<u32>,
    lanes: Vec<LaneOf>,
    monitors: u32,
    crashes: u32,
    message_faults: MessageFaults,
    sent: u32,
    fingerprint: u64,
}

/// Copies of states.
#[derive(Default)]
pub(crate) struct Parcel {
    messages: Vec<Message>,
    actors: Vec<Actor>,
    monitors: Vec<Vec<Box<dyn AnyMonitor>>>,
    states: Vec<State>,
}

/// Fills a parcel. What was packed is known by where it is.
#[derive(Default)]
struct Packer {
    parcel: Parcel,
    messages: BTreeMap<*const SharedMessage, u32>,
    actors: BTreeMap<*const SharedActor, u32>,
    monitors: BTreeMap<*const Vec<Box<dyn AnyMonitor>>, u32>,
}

const COPIED: &str = "it was hashed before";

impl Packer {
    /// A message to this actor.
    fn message(&mut self, to: &SharedActor, message: &Rc<SharedMessage>) -> u32 {
        let messages = &mut self.parcel.messages;
        *self.messages.entry(Rc::as_ptr(message)).or_insert_with(|| {
            let payload = to.state.actor.copy_message(&message.payload).expect(COPIED);
            messages.push(Message { payload, hash: message.hash });
            messages.len() as u32 - 1
        })
    }

    fn actor(&mut self, actor: &Rc<SharedActor>) -> u32 {
        if let Some(&known) = self.actors.get(&Rc::as_ptr(actor)) {
            return known;
        }
        let timer = |&Pending { number, due, ref message }: &Pending| Timer {
            number,
            due,
            message: self.message(actor, message),
        };
        let timers = actor.timers.iter().map(timer).collect();
        let SharedActor { state, name, hash, .. } = actor.copy();
        let number = self.parcel.actors.len() as u32;
        self.parcel.actors.push(Actor { state, name, timers, hash });
        self.actors.insert(Rc::as_ptr(actor), number);
        number
    }

    fn monitors(&mut self, monitors: &Rc<Vec<Box<dyn AnyMonitor>>>) -> u32 {
        let all = &mut self.parcel.monitors;
        *self.monitors.entry(Rc::as_ptr(monitors)).or_insert_with(|| {
            all.push(monitors.iter().map(|monitor| monitor.copy().expect(COPIED)).collect());
            all.len() as u32 - 1
        })
    }

    fn state(&mut self, state: &Snapshot) {
        let actors = state.actors.iter().map(|actor| self.actor(actor)).collect();
        let lane = |lane: &Lane| {
            let to = &state.actors[lane.to as usize];
            let messages =
                lane.each().map(|(message, age)| (self.message(to, message), age)).collect();
            LaneOf { from: lane.from, to: lane.to, hash: lane.hash, messages }
        };
        let lanes = state.lanes.iter().map(lane).collect();
        let monitors = self.monitors(&state.monitors);
        let &Snapshot { crashes, message_faults, sent, fingerprint, .. } = state;
        self.parcel.states.push(State {
            actors,
            lanes,
            monitors,
            crashes,
            message_faults,
            sent,
            fingerprint,
        });
    }
}

impl Parcel {
    pub(crate) fn pack<'a>(states: impl IntoIterator<Item = &'a Snapshot>) -> Self {
        let mut packer = Packer::default();
        for state in states {
            packer.state(state);
        }
        packer.parcel
    }

    /// The fingerprints of the states, in the order in which they were packed.
    pub(crate) fn fingerprints(&self) -> impl Iterator<Item = u64> {
        self.states.iter().map(|state| state.fingerprint)
    }

    /// The states, in the order in which they were packed.
    pub(crate) fn unpack(self) -> impl Iterator<Item = Snapshot> {
        let Self { messages, actors, monitors, states } = self;
        let message = |Message { payload, hash }: Message| Rc::new(SharedMessage { payload, hash });
        let messages: Vec<_> = messages.into_iter().map(message).collect();
        let actor = |Actor { state, name, timers, hash }: Actor| {
            let timer = |Timer { number, due, message }: Timer| {
                let message = Rc::clone(&messages[message as usize]);
                Pending { number, due, message }
            };
            let timers = timers.into_iter().map(timer).collect();
            Rc::new(SharedActor { state, name, timers, hash })
        };
        let actors: Vec<_> = actors.into_iter().map(actor).collect();
        let monitors: Vec<_> = monitors.into_iter().map(Rc::new).collect();
        states.into_iter().map(move |state| {
            let State { crashes, message_faults, sent, fingerprint, .. } = state;
            let lane = |LaneOf { from, to, hash, messages: of }: LaneOf| {
                let each = of.iter().map(|&(at, age)| (Rc::clone(&messages[at as usize]), age));
                Lane::of(from, to, hash, each)
            };
            Snapshot {
                actors: state.actors.iter().map(|&at| Rc::clone(&actors[at as usize])).collect(),
                lanes: state.lanes.into_iter().map(lane).collect(),
                monitors: Rc::clone(&monitors[state.monitors as usize]),
                crashes,
                message_faults,
                sent,
                fingerprint,
            }
        })
    }
}
