//! A system of actors, and the test's way to it: build, inject, handle, inspect.

use std::fmt::Debug;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use crate::actor::Actor;
use crate::address::{ActorRef, Address};
use crate::concurrent::Pool;
use crate::deliveries::Deliveries;
#[cfg(feature = "check")]
use crate::explored::Explored;
use crate::faults::Faults;
use crate::hash::mix;
use crate::mailboxes::{Mailboxes, Sender};
use crate::monitor::{Monitor, Watch};
use crate::reply::Reply;
use crate::serial::{Picker, Serial};
use crate::turn::Chooser;
use crate::view::View;
use crate::waiter::Waiter;
use crate::world::{Message, World};

/// Who decides which message is handled next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Manager {
    /// The operating system: actors run on this many threads. For production.
    ///
    /// Handlers of one actor never run at the same time, and messages from one actor to another stay in
    /// order. A handler that panics stops its actor; the others go on, and
    /// [`handle_all`](System::handle_all), [`shutdown`](System::shutdown) or the drop of the last
    /// [`System`] passes the panic on. An actor that stops is dropped at once, and one whose
    /// address no actor, timer or thread has is dropped as well; all the others when the system ends. A
    /// `System` that an actor has keeps its system from ending.
    Concurrent {
        /// How many threads; 0: as many as the machine has.
        threads: usize,
    },
    /// Each in turn.
    Deterministic,
    /// One at random, the same ones for the same seed.
    Random {
        /// The seed.
        seed: u64,
    },
    /// The search whose execution this is: see `raddle::check`.
    #[cfg(feature = "check")]
    Exploratory,
}

/// What a system is to be like.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    manager: Option<Manager>,
    mailboxes: Mailboxes,
    faults: Faults,
    capacity: Option<usize>,
    deliveries: Option<Arc<dyn Deliveries>>,
    logical_time: Option<Duration>,
}

impl Builder {
    /// Who decides which message is next. Without this: the search, inside an execution; outside,
    /// each in turn.
    #[must_use]
    pub fn manager(mut self, manager: Manager) -> Self {
        self.manager = Some(manager);
        self
    }

    /// In which order messages to one actor are handled. The concurrent manager has queues.
    #[must_use]
    pub fn mailboxes(mut self, mailboxes: Mailboxes) -> Self {
        self.mailboxes = mailboxes;
        self
    }

    /// What may go wrong. Not with the concurrent manager.
    #[must_use]
    pub fn faults(mut self, faults: Faults) -> Self {
        self.faults = faults;
        self
    }

    /// How many messages of an actor may be unhandled before those who send from outside have to wait;
    /// at least 1, the ones that are being handled included. For the concurrent manager.
    ///
    /// A handler never waits when it sends. But an actor whose handler has sent more than a mailbox
    /// should hold is not run again before half of that mailbox is free, unless actors would
    /// wait for each other in a circle: then the last one goes on, and the mailbox grows. So without
    /// circles a mailbox holds at most this many messages, and what one handler of each of its
    /// senders has sent; and whatever actors send to each other, one of them can always go on.
    #[must_use]
    pub fn capacity(mut self, messages: usize) -> Self {
        self.capacity = Some(messages);
        self
    }

    /// Hears of every message and says how long it is on its way: for tests on threads that want other orders than the
    /// operating system shows ([`RandomDelays`](crate::RandomDelays)). For the concurrent manager; the capacity of
    /// mailboxes is not looked at then.
    #[must_use]
    pub fn deliveries(mut self, deliveries: impl Deliveries) -> Self {
        self.deliveries = Some(Arc::new(deliveries));
        self
    }

    /// Under test, [`Context::now`](crate::Context::now) is the number of messages that were received in the whole system,
    /// each taking so long: the logical time of Bita (Tasharofi, Pradel, Lin and Johnson, ASE 2013). For code that asks for
    /// the time to see whether something took too long. Not with the concurrent manager, whose time is real.
    ///
    /// Then every receive changes what the others see, so all of them depend on each other and no reduction leaves anything
    /// out. Without this an actor learns of time by its timers alone. A model has no logical time: it would tell states
    /// apart that are the same but for it.
    ///
    #[cfg_attr(feature = "check", doc = "```")]
    #[cfg_attr(not(feature = "check"), doc = "```ignore")]
    /// use raddle_actors::{Actor, Context, System};
    /// use std::time::Duration;
    ///
    /// /// When it was told something.
    /// struct At(Duration);
    /// impl Actor for At {
    ///     type Message = ();
    ///     fn handle(&mut self, (): (), cx: &mut Context<'_, ()>) {
    ///         self.0 = cx.now();
    ///     }
    /// }
    ///
    /// let second = Duration::from_secs(1);
    /// raddle::check(move || {
    ///     let system = System::builder().logical_time(second).build();
    ///     let one = system.spawn(At(Duration::ZERO));
    ///     let two = system.spawn(At(Duration::ZERO));
    ///     system.send(&one, ());
    ///     system.send(&two, ());
    ///     system.handle_all();
    ///     let at = |actor| system.inspect(actor, |at: &At| at.0);
    ///     // One of the two was first, and a second passed until the other was.
    ///     assert_eq!(at(&one) + at(&two), 3 * second);
    /// });
    /// ```
    #[must_use]
    pub fn logical_time(mut self, tick: Duration) -> Self {
        self.logical_time = Some(tick);
        self
    }

    /// The system.
    ///
    /// # Panics
    /// If it is to be explored, and no search runs.
    #[must_use]
    pub fn build(self) -> System {
        let manager = self.manager.unwrap_or_else(default_manager);
        let world = |chooser| {
            let mut world = World::new(self.mailboxes, self.faults, chooser);
            if let Some(tick) = self.logical_time {
                world.turn.logical_time = Some((tick, 0));
                world.observers.depend_on_each_other();
            }
            world
        };
        let (world, picker) = match manager {
            Manager::Concurrent { threads } => {
                let pool = Pool::new(threads, self.capacity, self.deliveries);
                return System { inner: Inner::Concurrent(pool) };
            }
            #[cfg(feature = "check")]
            Manager::Exploratory => {
                let explored = Explored::new(world(Chooser::Engine));
                return System { inner: Inner::Explored(explored) };
            }
            Manager::Deterministic => (world(Chooser::First), Picker::InTurn(0)),
            Manager::Random { seed } => {
                let picker = Picker::Random(Chooser::Random(mix(seed ^ 1)));
                (world(Chooser::Random(mix(seed))), picker)
            }
        };
        System { inner: Inner::Serial(Arc::new(Serial::new(world, picker))) }
    }
}

fn default_manager() -> Manager {
    #[cfg(feature = "check")]
    if raddle_engine::rt::inside() {
        return Manager::Exploratory;
    }
    Manager::Deterministic
}

/// A system of actors. Cheap to clone: clones are the same system.
///
/// A test builds one, sends messages into it, has them handled and looks at what came of it:
///
/// ```
/// use raddle_actors::{Actor, Context, System};
///
/// struct Last(u32);
/// impl Actor for Last {
///     type Message = u32;
///     fn handle(&mut self, value: u32, _cx: &mut Context<'_, u32>) {
///         self.0 = value;
///     }
/// }
///
/// let system = System::new();
/// let last = system.spawn(Last(0));
/// system.send(&last, 1);
/// system.send(&last, 2);
/// assert!(system.handle_one());
/// assert_eq!(system.inspect(&last, |last: &Last| last.0), 1);
/// system.handle_all();
/// assert_eq!(system.inspect(&last, |last: &Last| last.0), 2);
/// ```
///
/// As an ordinary test it is run once, each actor in turn. Inside `raddle::check` the same code is run
/// in every order of messages.
#[derive(Clone, Debug)]
pub struct System {
    inner: Inner,
}

#[derive(Clone)]
enum Inner {
    Serial(Arc<Serial>),
    #[cfg(feature = "check")]
    Explored(Explored),
    Concurrent(Pool),
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Serial(_) => "Serial",
            #[cfg(feature = "check")]
            Self::Explored(_) => "Explored",
            Self::Concurrent(_) => "Concurrent",
        })
    }
}

impl System {
    /// The world of a system that was set up and of which nothing has been handled.
    ///
    /// # Errors
    /// If the system is kept elsewhere.
    #[cfg(feature = "check")]
    pub(crate) fn into_world(self) -> Result<World, String> {
        let Inner::Serial(serial) = self.inner else {
            return Err("a model is run step by step, by a search".to_owned());
        };
        Serial::take_world(&serial).ok_or_else(|| {
            "the setup of a model keeps the system: nobody outside can use it while the search \
             goes from state to state"
                .to_owned()
        })
    }

    pub(crate) fn has_monitors(&self) -> bool {
        match &self.inner {
            Inner::Serial(serial) => !serial.world().turn.monitors.is_empty(),
            #[cfg(feature = "check")]
            Inner::Explored(explored) => !explored.world().turn.monitors.is_empty(),
            Inner::Concurrent(_) => false,
        }
    }

    /// Looks at a system between two steps.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&View<'_>) -> T) -> T {
        match &self.inner {
            Inner::Serial(serial) => look(&View::from(&*serial.world())),
            #[cfg(feature = "check")]
            Inner::Explored(explored) => look(&View::from(&*explored.world())),
            Inner::Concurrent(_) => panic!("raddle: actors on threads cannot be looked at"),
        }
    }

    /// While it is set up, nothing of a model can be handled; then faults may happen too.
    pub(crate) fn set_up(&self, is_model: bool) {
        let mut world = match &self.inner {
            Inner::Serial(serial) => serial.world(),
            #[cfg(feature = "check")]
            Inner::Explored(explored) => explored.world(),
            Inner::Concurrent(_) => return,
        };
        assert!(
            !(is_model && world.turn.logical_time.is_some()),
            "raddle: a model has no logical time, which would be a part of every state; leave logical_time out, or search \
             its executions"
        );
        world.is_model = is_model;
        if !is_model {
            world.arm_crashes(None);
        }
    }

    /// A system with the default settings: FIFO between each two actors, no faults.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// A system to be set up.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A system in which each actor has its turn.
    #[must_use]
    pub fn deterministic() -> Self {
        Self::builder().manager(Manager::Deterministic).build()
    }

    /// Adds an actor. It has [started](Actor::start) when this returns.
    #[track_caller]
    pub fn spawn<A: Actor>(&self, actor: A) -> Address<A::Message> {
        self.add(actor, None, Location::caller())
    }

    /// Adds an actor that is called by a name in reports.
    #[track_caller]
    pub fn spawn_named<A: Actor>(&self, name: &str, actor: A) -> Address<A::Message> {
        self.add(actor, Some(name), Location::caller())
    }

    fn add<A: Actor>(
        &self,
        actor: A,
        name: Option<&str>,
        site: &'static Location<'static>,
    ) -> Address<A::Message> {
        match &self.inner {
            Inner::Serial(serial) => serial.world().spawn(actor, name, site, None),
            #[cfg(feature = "check")]
            Inner::Explored(explored) => explored.spawn(actor, name, site),
            Inner::Concurrent(pool) => pool.spawn(actor),
        }
    }

    /// Sends a message from outside.
    ///
    /// # Panics
    /// If the address is one of another system.
    #[track_caller]
    pub fn send<M: Debug + Send + 'static>(&self, to: &Address<M>, message: M) {
        let site = Location::caller();
        match (&self.inner, &to.place) {
            (Inner::Serial(serial), &ActorRef::Serial { actor, .. }) => {
                let mut world = serial.world();
                let (payload, sent_by) = (Box::new(message), None);
                let message = Message { payload, sent_by, site, stamp: None };
                world.send(Sender::Outside(0), actor, message);
            }
            #[cfg(feature = "check")]
            (Inner::Explored(explored), &ActorRef::Serial { actor, .. }) => {
                explored.send(actor, message, site);
            }
            (Inner::Concurrent(pool), ActorRef::Concurrent(mailbox)) => pool.send(mailbox, message),
            _ => panic!("raddle: {site}: the address is one of another system"),
        }
    }

    /// Asks an actor and waits for its answer; messages are handled meanwhile.
    ///
    /// # Panics
    /// If all is handled and there is no answer. With the concurrent manager: if the [`Reply`]
    /// was dropped and there is no answer; and inside a handler, which would wait for itself.
    #[track_caller]
    pub fn ask<M, T>(&self, to: &Address<M>, question: impl FnOnce(Reply<T>) -> M) -> T
    where
        M: Debug + Send + 'static,
        T: Send + 'static,
    {
        if let Inner::Concurrent(pool) = &self.inner {
            pool.refuse_inside("ask");
        }
        let waiter = Waiter::new();
        self.send(to, question(waiter.reply()));
        match &self.inner {
            Inner::Serial(serial) => while !waiter.is_answered() && serial.step() {},
            #[cfg(feature = "check")]
            Inner::Explored(explored) => explored.wait_for(&waiter),
            Inner::Concurrent(_) => waiter.wait(),
        }
        waiter.take().unwrap_or_else(|| {
            panic!("all messages are handled, and nobody has answered what was asked here")
        })
    }

    /// Handles one message: `false` if there is none. The concurrent manager handles them by itself.
    #[track_caller]
    #[expect(clippy::must_use_candidate, reason = "it is called for what it does")]
    pub fn handle_one(&self) -> bool {
        match &self.inner {
            Inner::Serial(serial) => serial.step(),
            #[cfg(feature = "check")]
            Inner::Explored(explored) => explored.handle_one(),
            Inner::Concurrent(_) => false,
        }
    }

    /// Handles messages until there are none left, timers included.
    ///
    /// With the concurrent manager: waits until no message is left, no handler runs and no timer is to
    /// come, in real time. If timers are set again and again, that is never.
    ///
    /// `Misses:` under a reduction (`dpor`), orders in which a thread that has not been joined sends messages or creates actors while
    /// this handles messages, or after it has. Let threads do that between [`run`](Self::run) and their join.
    ///
    /// # Panics
    /// If a handler panics. The concurrent manager passes on each panic once, the first one first.
    #[track_caller]
    pub fn handle_all(&self) {
        match &self.inner {
            Inner::Serial(serial) => {
                serial.world().arm_crashes(None);
                while serial.step() {}
            }
            #[cfg(feature = "check")]
            Inner::Explored(explored) => explored.handle_all(),
            Inner::Concurrent(pool) => pool.wait_idle(),
        }
    }

    /// Handles messages until `enough` holds, looking before the first and after each. `false` if there
    /// are none left and it does not hold.
    ///
    /// # Panics
    /// With the concurrent manager, whose actors cannot be looked at while they run.
    #[track_caller]
    pub fn handle_until(&self, mut enough: impl FnMut(&View<'_>) -> bool + Send + 'static) -> bool {
        match &self.inner {
            Inner::Serial(serial) => loop {
                if enough(&View::from(&*serial.world())) {
                    return true;
                }
                if !serial.step() {
                    return false;
                }
            },
            #[cfg(feature = "check")]
            Inner::Explored(explored) => explored.handle_until(Box::new(enough)),
            Inner::Concurrent(_) => panic!(
                "raddle: actors on threads cannot be looked at while they run; use handle_all, or \
                 another manager"
            ),
        }
    }

    /// From now on messages are handled at any time, while the test runs on: for tests that have
    /// threads besides actors, until the next [`handle_all`](Self::handle_all). Meanwhile actors are asked,
    /// and not inspected. Does nothing outside a search; the concurrent manager always does so.
    pub fn run(&self) {
        match &self.inner {
            #[cfg(feature = "check")]
            Inner::Explored(explored) => explored.run(),
            _ => {}
        }
    }

    /// Ends the system. With the concurrent manager: threads end after the handlers that they are in,
    /// and what is left of actors, messages and timers is dropped, also if there are other handles:
    /// what is sent by those goes nowhere. Have it [handle all](Self::handle_all) before where that
    /// matters. To drop the last handle does the same.
    ///
    /// # Panics
    /// With the concurrent manager, if a handler has panicked and the panic was not passed on yet; and inside a
    /// handler.
    #[track_caller]
    pub fn shutdown(self) {
        if let Inner::Concurrent(pool) = self.inner {
            pool.shutdown();
        }
    }

    /// Looks at an actor's state. With the concurrent manager: between two of its messages; what has not
    /// been handled then is not seen, see [`handle_all`](Self::handle_all).
    ///
    /// # Panics
    /// If it is of another type. With the concurrent manager: if it has stopped, since its state is
    /// gone; and inside a handler, which has its [`Context`](crate::Context).
    #[track_caller]
    pub fn inspect<A: Actor, T>(
        &self,
        address: &Address<A::Message>,
        look: impl FnOnce(&A) -> T,
    ) -> T {
        match (&self.inner, address.actor()) {
            (Inner::Serial(serial), Some(actor)) => look(serial.world().state(actor)),
            #[cfg(feature = "check")]
            (Inner::Explored(explored), Some(actor)) => {
                look(explored.at_rest("inspect").state(actor))
            }
            (Inner::Concurrent(pool), None) => pool.inspect(address, look),
            _ => panic!("raddle: the address is one of another system"),
        }
    }

    /// Adds a monitor. Handlers tell it what happens by the watch.
    pub fn monitor<M: Monitor>(&self, monitor: M) -> Watch<M::Event> {
        let events = std::marker::PhantomData;
        let mut world = match &self.inner {
            Inner::Serial(serial) => serial.world(),
            #[cfg(feature = "check")]
            Inner::Explored(explored) => explored.world(),
            Inner::Concurrent(_) => return Watch { monitor: None, events },
        };
        world.turn.monitors.push(Box::new(monitor));
        Watch { monitor: Some(world.turn.monitors.len() as u32 - 1), events }
    }

    /// Calls `look` after every step: for invariants. It panics if one does not hold.
    ///
    /// `of`: the actors that it looks at, and no others; if there are none, it may look at all. A search that leaves
    /// out equivalent executions must know, because the order of their steps matters to it.
    ///
    /// # Panics
    /// With the concurrent manager.
    pub fn invariant(
        &self,
        of: &[crate::AnyAddress],
        look: impl FnMut(&View<'_>) + Send + 'static,
    ) {
        let mut world = match &self.inner {
            Inner::Serial(serial) => serial.world(),
            #[cfg(feature = "check")]
            Inner::Explored(explored) => explored.at_rest("invariant"),
            Inner::Concurrent(_) => panic!(
                "raddle: actors on threads cannot be looked at while they run; use another manager"
            ),
        };
        world.observers.add(of, Box::new(look));
    }
}

impl Default for System {
    fn default() -> Self {
        Self::new()
    }
}
