//! What a handler can do: send, spawn, stop, become another, ask, set timers, choose.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::Location;
use std::time::Duration;

use crate::actor::{Actor, Behaviour};
use crate::address::{ActorRef, Address};
use crate::hash::rank;
use crate::monitor::Watch;
use crate::reply::{Reply, ToActor};
use crate::{concurrent, turn};

/// A handler's way to the world around its actor.
pub struct Context<'a, M> {
    me: &'a Address<M>,
    pub(crate) turn: HandlerTurn<'a>,
    pub(crate) next: Option<Box<dyn Behaviour<M>>>,
    pub(crate) stops: bool,
}

/// The manager that runs the handler.
pub(crate) enum HandlerTurn<'a> {
    Serial(&'a mut turn::Turn),
    Concurrent(&'a mut concurrent::ConcurrentTurn),
}

impl<M> fmt::Debug for Context<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("me", &self.me).finish_non_exhaustive()
    }
}

/// A timer that was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timer(pub(crate) u32);

/// In a search over states: its place among those of the actor that have not fired, so that a timer
/// which is set again and again does not make a new state each time.
impl Hash for Timer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u32(rank(self.0));
    }
}

impl<'a, M: fmt::Debug + Send + 'static> Context<'a, M> {
    pub(crate) fn new(me: &'a Address<M>, turn: HandlerTurn<'a>) -> Self {
        Self { me, turn, next: None, stops: false }
    }

    /// The actor's own address.
    #[must_use]
    pub fn me(&self) -> &Address<M> {
        self.me
    }

    /// Sends a message. Never waits.
    #[track_caller]
    pub fn send<N: fmt::Debug + Send + 'static>(&mut self, to: &Address<N>, message: N) {
        self.turn.send(to, message, Location::caller());
    }

    /// Makes a new actor. It has [started](Actor::start) when this returns.
    #[track_caller]
    pub fn spawn<A: Actor>(&mut self, actor: A) -> Address<A::Message> {
        let site = Location::caller();
        match &mut self.turn {
            HandlerTurn::Serial(turn) => turn.spawn(Box::new(actor), None, site),
            HandlerTurn::Concurrent(turn) => turn.spawn(Box::new(actor)),
        }
    }

    /// Makes a new actor that is called by a name in reports.
    #[track_caller]
    pub fn spawn_named<A: Actor>(&mut self, name: &str, actor: A) -> Address<A::Message> {
        let site = Location::caller();
        match &mut self.turn {
            HandlerTurn::Serial(turn) => turn.spawn(Box::new(actor), Some(name), site),
            HandlerTurn::Concurrent(turn) => turn.spawn(Box::new(actor)),
        }
    }

    /// This is the actor's last message. What is sent to it from now on goes nowhere.
    pub fn stop(&mut self) {
        self.stops = true;
    }

    /// From the next message on another behaviour is in its place, at the same address.
    pub fn become_<A: Actor<Message = M>>(&mut self, behaviour: A) {
        self.next = Some(Box::new(behaviour));
    }

    /// Asks another actor. `question` makes the message, with the [`Reply`] through which the other one
    /// answers; the answer comes back as a message that `answer` makes of it.
    ///
    /// ```
    /// use raddle_actors::{Actor, Address, Context, Reply};
    ///
    /// struct Clock(u64);
    /// impl Actor for Clock {
    ///     type Message = Reply<u64>;
    ///     fn handle(&mut self, reply: Reply<u64>, cx: &mut Context<'_, Reply<u64>>) {
    ///         cx.reply(reply, self.0);
    ///     }
    /// }
    ///
    /// #[derive(Debug)]
    /// enum Told { Begin, Time(u64) }
    /// struct Client { clock: Address<Reply<u64>>, seen: u64 }
    /// impl Actor for Client {
    ///     type Message = Told;
    ///     fn handle(&mut self, message: Told, cx: &mut Context<'_, Told>) {
    ///         match message {
    ///             Told::Begin => cx.ask(&self.clock, |reply| reply, Told::Time),
    ///             Told::Time(time) => self.seen = time,
    ///         }
    ///     }
    /// }
    ///
    /// let system = raddle_actors::System::deterministic();
    /// let clock = system.spawn(Clock(42));
    /// let client = system.spawn(Client { clock, seen: 0 });
    /// system.send(&client, Told::Begin);
    /// system.handle_all();
    /// assert_eq!(system.inspect(&client, |client: &Client| client.seen), 42);
    /// ```
    #[track_caller]
    pub fn ask<N, T>(
        &mut self,
        to: &Address<N>,
        question: impl FnOnce(Reply<T>) -> N,
        answer: fn(T) -> M,
    ) where
        N: fmt::Debug + Send + 'static,
        T: 'static,
    {
        let ask = match &mut self.turn {
            HandlerTurn::Serial(turn) => turn.asks(),
            HandlerTurn::Concurrent(_) => 0,
        };
        let reply = Reply::new(ToActor { to: self.me.clone(), wrap: answer, ask });
        self.send(to, question(reply));
    }

    /// Answers what was asked.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "there is one answer to a question")]
    pub fn reply<T>(&mut self, reply: Reply<T>, answer: T) {
        reply.answer(answer, &mut self.turn, Location::caller());
    }

    /// Sends `message` to this very actor after some time. Under test that may be any moment before
    /// all is handled: nothing else is known of how long other things take.
    ///
    /// `Overreports:` two timers may fire in either order, whatever their times.
    #[track_caller]
    pub fn set_timer(&mut self, after: Duration, message: M) -> Timer {
        let site = Location::caller();
        match &mut self.turn {
            HandlerTurn::Serial(turn) => turn.set_timer(after, message, site),
            HandlerTurn::Concurrent(turn) => turn.set_timer(self.me, after, message),
        }
    }

    /// A timer that has not fired does not fire any more.
    pub fn cancel(&mut self, timer: Timer) {
        match &mut self.turn {
            HandlerTurn::Serial(turn) => turn.cancel(timer),
            HandlerTurn::Concurrent(turn) => turn.cancel(self.me, timer),
        }
    }

    /// The time since the system began. Under test: the time that the latest of this actor's timers
    /// which have fired was set for. An actor learns of time by its timers alone, as it learns of all
    /// else by its messages.
    #[must_use]
    pub fn now(&self) -> Duration {
        match &self.turn {
            HandlerTurn::Serial(turn) => {
                turn.read_clock.set(true);
                turn.now
            }
            HandlerTurn::Concurrent(turn) => turn.now(),
        }
    }

    /// A value below `of` that the search decides, as it decides who moves; drawn in production.
    ///
    /// # Panics
    /// If `of` is 0.
    pub fn choose(&mut self, of: u32) -> u32 {
        assert!(of > 0, "there is nothing to choose from");
        match &mut self.turn {
            HandlerTurn::Serial(turn) => turn.choose(of),
            HandlerTurn::Concurrent(turn) => turn.choose(of),
        }
    }

    /// One of several, see [`choose`](Self::choose).
    ///
    /// # Panics
    /// If there are none.
    pub fn choose_from<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.choose(from.len() as u32) as usize]
    }

    /// Tells a monitor of something. Does nothing in production.
    pub fn observe<E: 'static>(&mut self, watch: &Watch<E>, event: E) {
        match &mut self.turn {
            HandlerTurn::Serial(turn) => turn.observe(*watch, event),
            HandlerTurn::Concurrent(_) => {}
        }
    }

    /// A message that should not have come: a failure of the test.
    ///
    /// # Panics
    /// Always.
    #[track_caller]
    pub fn unhandled(&self, message: &M) -> ! {
        panic!("{:?} has no use for {message:?} in its present state", self.me);
    }
}

impl HandlerTurn<'_> {
    pub(crate) fn send<N: fmt::Debug + Send + 'static>(
        &mut self,
        to: &Address<N>,
        message: N,
        site: &'static Location<'static>,
    ) {
        match (&mut *self, &to.place) {
            (HandlerTurn::Serial(turn), &ActorRef::Serial { actor, .. }) => {
                turn.send(actor, message, site);
            }
            (HandlerTurn::Concurrent(turn), ActorRef::Concurrent(mailbox)) => {
                turn.send(mailbox, message);
            }
            (HandlerTurn::Serial(_), ActorRef::Concurrent(mailbox)) => mailbox.push(message),
            (HandlerTurn::Concurrent(_), ActorRef::Serial { .. }) => {
                panic!("raddle: {site}: the address is one of a system under test")
            }
        }
    }
}
