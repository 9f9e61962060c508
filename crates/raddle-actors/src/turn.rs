//! One handler's turn in a system that runs one step after another: what it did, to be carried out
//! when it is done.

use std::any::Any;
use std::cell::Cell;
use std::panic::Location;
use std::time::Duration;

use crate::actor::Behaviour;
use crate::address::{ActorId, Address};
use crate::cell::{self, Typed};
use crate::context::Timer;
use crate::hash::{GAMMA, mix};
use crate::monitor::{AnyMonitor, Watch};

/// A message without its type.
pub(crate) type Payload = Box<dyn Any + Send>;

/// Something that a handler did.
pub(crate) enum Effect {
    Send {
        from: ActorId,
        to: ActorId,
        message: Payload,
        site: &'static Location<'static>,
    },
    Spawn {
        /// None only while it starts.
        cell: Option<Box<dyn cell::Cell>>,
        path: u64,
        name: Option<Box<str>>,
        site: &'static Location<'static>,
        /// How many actors and timers it made when it started.
        made: (u32, u32),
    },
    Timer {
        of: ActorId,
        timer: Timer,
        after: Duration,
        message: Payload,
        site: &'static Location<'static>,
    },
    Cancel {
        of: ActorId,
        timer: Timer,
    },
    /// Somebody outside has an answer.
    Answered(Box<dyn FnOnce() + Send>),
}

/// Who decides values.
#[derive(Clone, Debug)]
pub(crate) enum Chooser {
    /// Always the first.
    First,
    /// At random, from this state.
    Random(u64),
    /// As written, then the first; notes how many there were of each.
    Script { planned: Vec<u32>, of: Vec<u32> },
    /// The search.
    #[cfg(feature = "check")]
    Engine,
}

impl Chooser {
    #[track_caller]
    pub(crate) fn choose(&mut self, of: u32) -> u32 {
        if of < 2 {
            return 0;
        }
        match self {
            Self::First => 0,
            Self::Random(state) => {
                *state = state.wrapping_add(GAMMA);
                ((u128::from(mix(*state)) * u128::from(of)) >> 64) as u32
            }
            Self::Script { planned, of: asked } => {
                asked.push(of);
                planned.get(asked.len() - 1).copied().unwrap_or(0)
            }
            #[cfg(feature = "check")]
            Self::Engine => raddle_engine::rt::choose(of),
        }
    }
}

/// A turn. One for each system; handed from handler to handler.
pub(crate) struct Turn {
    pub(crate) effects: Vec<Effect>,
    pub(crate) monitors: Vec<Box<dyn AnyMonitor>>,
    pub(crate) chooser: Chooser,
    pub(crate) now: Duration,
    /// Whose turn it is, which actor that is in any order of spawns, and how many actors and timers it
    /// has made.
    pub(crate) me: ActorId,
    pub(crate) path: u64,
    pub(crate) made: (u32, u32),
    /// The number of the next actor.
    pub(crate) next: u32,
    /// Monitors that were told something, each a bit.
    pub(crate) also: u64,
    /// A value was decided.
    pub(crate) chose: bool,
    /// Whether any was told something.
    pub(crate) told: bool,
    /// Whether a handler asked for the time.
    pub(crate) read_clock: Cell<bool>,
}

impl Turn {
    pub(crate) fn new(chooser: Chooser) -> Self {
        Self {
            effects: Vec::new(),
            monitors: Vec::new(),
            chooser,
            now: Duration::ZERO,
            me: ActorId(0),
            path: 0,
            made: (0, 0),
            next: 0,
            also: 0,
            chose: false,
            told: false,
            read_clock: Cell::new(false),
        }
    }

    pub(crate) fn send(&mut self, to: ActorId, message: Payload, site: &'static Location<'static>) {
        self.effects.push(Effect::Send { from: self.me, to, message, site });
    }

    pub(crate) fn spawn<M: std::fmt::Debug + Send + 'static>(
        &mut self,
        behaviour: Box<dyn Behaviour<M>>,
        name: Option<&str>,
        site: &'static Location<'static>,
    ) -> Address<M> {
        let id = ActorId(self.next);
        self.next += 1;
        let path = mix(self.path ^ mix(u64::from(self.made.0) + 1));
        self.made.0 += 1;
        let address = Address::serial(id, path);
        let mut cell = Typed { address: address.clone(), behaviour };
        let at = self.effects.len();
        let name = name.map(Box::from);
        self.effects.push(Effect::Spawn { cell: None, path, name, site, made: (0, 0) });
        let own = (self.me, self.path, self.made);
        (self.me, self.path, self.made) = (id, path, (0, 0));
        let flow = cell::Cell::start(&mut cell, self);
        let theirs = self.made;
        (self.me, self.path, self.made) = own;
        assert!(!flow.stops, "raddle: {site}: an actor cannot stop as it starts");
        if let Effect::Spawn { cell: place, made, .. } = &mut self.effects[at] {
            *place = Some(Box::new(cell));
            *made = theirs;
        }
        address
    }

    pub(crate) fn set_timer(
        &mut self,
        after: Duration,
        message: Payload,
        site: &'static Location<'static>,
    ) -> Timer {
        let timer = Timer(self.made.1);
        self.made.1 += 1;
        self.effects.push(Effect::Timer { of: self.me, timer, after, message, site });
        timer
    }

    pub(crate) fn cancel(&mut self, timer: Timer) {
        self.effects.push(Effect::Cancel { of: self.me, timer });
    }

    #[track_caller]
    pub(crate) fn choose(&mut self, of: u32) -> u32 {
        self.chose |= of > 1;
        self.chooser.choose(of)
    }

    pub(crate) fn observe<E: 'static>(&mut self, watch: Watch<E>, event: E) {
        let Some(index) = watch.monitor else { return };
        let Some(monitor) = self.monitors.get_mut(index as usize) else { return };
        self.also |= 1 << (mix(u64::from(index) << 32 | 1) % BITS);
        self.told = true;
        monitor.observe(&mut Some(event));
    }
}

/// The bits that stand for mailboxes and monitors. The others are for what concerns the whole system.
pub(crate) const BITS: u64 = 60;
