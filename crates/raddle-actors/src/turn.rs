//! One handler's turn in a system that runs one step after another.
//!
//! A *turn*, as in E and Orleans, is the handling of one message from its beginning to its end. What
//! the handler does (sends, spawns, timers, answers) is noted as [`Effect`]s and carried out by
//! [`step`](crate::step) after the handler has returned.

use std::any::Any;
use std::cell::Cell;
use std::panic::Location;
use std::time::Duration;

use crate::actor::Behaviour;
use crate::address::{ActorId, Address};
use crate::any_actor::{AnyActor, Typed};
use crate::context::Timer;
use crate::hash::{GAMMA, mix};
use crate::letters::{Letter, Letters, MessageType};
use crate::mailboxes::Sender;
use crate::monitor::{AnyMonitor, Watch};
use crate::things::{self, TEST_PATH, Things};

/// A message without its type.
pub(crate) type Payload = Box<dyn Any + Send>;

/// The identity of a message, if messages are observed.
pub(crate) type Stamp = Option<Box<Letter>>;

/// Something that a handler did.
pub(crate) enum Effect {
    Send {
        from: ActorId,
        to: ActorId,
        message: Payload,
        stamp: Stamp,
        site: &'static Location<'static>,
    },
    Spawn {
        /// None only while it starts.
        actor: Option<Box<dyn AnyActor>>,
        path: u64,
        /// See [`Letters`].
        identity: u64,
        name: Option<Box<str>>,
        site: &'static Location<'static>,
        /// What it made when it started.
        made: Made,
    },
    Timer {
        of: ActorId,
        timer: Timer,
        after: Duration,
        message: Payload,
        stamp: Stamp,
        site: &'static Location<'static>,
    },
    Cancel {
        of: ActorId,
        timer: Timer,
    },
    /// A test or thread outside the system has its answer: this wakes it.
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

/// How many actors and timers an actor has made. They are numbered by this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) actors: u32,
    pub(crate) timers: u32,
}

/// The actor whose handler runs. Outside of handlers: the test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Running {
    pub(crate) id: ActorId,
    /// See [`ActorRef::Serial`](crate::address::ActorRef).
    pub(crate) path: u64,
    /// See [`Letters`].
    pub(crate) identity: u64,
    pub(crate) made: Made,
}

/// A turn. One for each system; handed from handler to handler.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Turn {
    pub(crate) effects: Vec<Effect>,
    pub(crate) monitors: Vec<Box<dyn AnyMonitor>>,
    pub(crate) chooser: Chooser,
    pub(crate) now: Duration,
    /// How long a receive takes, if that is what time is told by; and how many there were.
    pub(crate) logical_time: Option<(Duration, u32)>,
    pub(crate) running: Running,
    /// The number of the next actor that is spawned.
    pub(crate) next: u32,
    /// What the step touched besides its actor: mailboxes, timers, monitors.
    pub(crate) shared_resources: Things,
    /// Whether a value was decided.
    pub(crate) chose: bool,
    /// Whether something went wrong with the message, as one of so many that may.
    pub(crate) spent: bool,
    /// Whether a monitor was told something.
    pub(crate) told: bool,
    /// Whether an actor has another behaviour now.
    pub(crate) became: bool,
    /// Whether a handler asked for the time.
    pub(crate) read_clock: Cell<bool>,
    /// Only if messages are observed.
    pub(crate) letters: Option<Box<Letters>>,
}

impl Turn {
    pub(crate) fn new(chooser: Chooser) -> Self {
        Self {
            effects: Vec::new(),
            monitors: Vec::new(),
            chooser,
            now: Duration::ZERO,
            logical_time: None,
            running: Running {
                id: ActorId(0),
                path: TEST_PATH,
                identity: 0,
                made: Made::default(),
            },
            next: 0,
            shared_resources: 0,
            chose: false,
            spent: false,
            told: false,
            became: false,
            read_clock: Cell::new(false),
            letters: None,
        }
    }

    /// A message is received: logical time passes.
    #[inline]
    pub(crate) fn tick(&mut self) {
        if let Some((_, receives)) = &mut self.logical_time {
            *receives += 1;
        }
    }

    /// A step begins. Effects that are left are those of a handler that has panicked.
    #[inline]
    pub(crate) fn begin_step(&mut self) {
        self.effects.clear();
        self.shared_resources = 0;
        (self.told, self.became, self.spent) = (false, false, false);
    }

    pub(crate) fn send<N: Send + 'static>(
        &mut self,
        to: ActorId,
        message: N,
        site: &'static Location<'static>,
    ) {
        let (stamp, from) = (self.stamp(&message), self.running.id);
        self.effects.push(Effect::Send { from, to, message: Box::new(message), stamp, site });
    }

    /// The identity of a message that the running actor sends.
    fn stamp<N>(&mut self, message: &N) -> Stamp {
        let letters = self.letters.as_deref_mut()?;
        let from = Sender::Actor(self.running.id);
        Some(Box::new(letters.stamp(MessageType::of(message), self.running.identity, from)))
    }

    /// The next message asks something: which question it is, if messages are observed.
    pub(crate) fn asks(&mut self) -> u64 {
        self.letters.as_deref_mut().map_or(0, Letters::asks)
    }

    /// The next message answers a question.
    pub(crate) fn answers(&mut self, ask: u64) {
        if let Some(letters) = &mut self.letters {
            letters.answers(ask);
        }
    }

    /// The receive that runs, if messages are observed; else 0.
    pub(crate) fn receive(&self) -> u64 {
        self.letters.as_ref().map_or(0, |letters| letters.receive())
    }

    pub(crate) fn spawn<M: std::fmt::Debug + Send + 'static>(
        &mut self,
        behaviour: Box<dyn Behaviour<M>>,
        name: Option<&str>,
        site: &'static Location<'static>,
    ) -> Address<M> {
        let id = ActorId(self.next);
        self.next += 1;
        let path = things::child_path(self.running.path, self.running.made.actors);
        self.running.made.actors += 1;
        let letters = self.letters.as_deref_mut();
        let identity = letters.map_or(0, |letters| letters.create(behaviour.type_name()));
        let address = Address::serial(id, path);
        let mut typed = Typed { address: address.clone(), behaviour };
        let at = self.effects.len();
        let name = name.map(Box::from);
        self.effects.push(Effect::Spawn {
            actor: None,
            path,
            identity,
            name,
            site,
            made: Made::default(),
        });
        let started = Running { id, path, identity, made: Made::default() };
        let parent = std::mem::replace(&mut self.running, started);
        let flow = typed.start(self);
        let child = std::mem::replace(&mut self.running, parent);
        assert!(!flow.stops, "raddle: {site}: an actor cannot stop as it starts");
        if let Effect::Spawn { actor, made, .. } = &mut self.effects[at] {
            *actor = Some(Box::new(typed));
            *made = child.made;
        }
        address
    }

    pub(crate) fn set_timer<N: Send + 'static>(
        &mut self,
        after: Duration,
        message: N,
        site: &'static Location<'static>,
    ) -> Timer {
        let timer = Timer(self.running.made.timers);
        self.running.made.timers += 1;
        let (stamp, of) = (self.stamp(&message), self.running.id);
        let message = Box::new(message);
        self.effects.push(Effect::Timer { of, timer, after, message, stamp, site });
        timer
    }

    pub(crate) fn cancel(&mut self, timer: Timer) {
        self.effects.push(Effect::Cancel { of: self.running.id, timer });
    }

    #[track_caller]
    pub(crate) fn choose(&mut self, of: u32) -> u32 {
        self.chose |= of > 1;
        self.chooser.choose(of)
    }

    pub(crate) fn observe<E: 'static>(&mut self, watch: Watch<E>, event: E) {
        let Some(index) = watch.monitor else { return };
        let Some(monitor) = self.monitors.get_mut(index as usize) else { return };
        self.shared_resources |= things::monitor(index);
        self.told = true;
        monitor.observe(&mut Some(event));
    }
}
