//! An actor on threads: its inbox, its state, and a worker's turn with it.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use super::hooked::{Due, Hook, Hooked, Receiving};
use super::inbox::{Inbox, Pushed};
use super::sync::{AtomicUsize, Mutex, Ordering, lock};
use super::timers::Key;
use super::{ConcurrentTurn, Shared};
use crate::actor::Behaviour;
use crate::address::{ActorRef, Address};
use crate::context::{self, Context, Timer};
use crate::deliveries::Transit;

/// So many messages are handled before other actors have their turn.
const MAX_MESSAGES_IN_A_ROW: usize = 256;

/// An actor, by what it takes. An address refers to this.
///
/// It lives until there is no address of it, or until it stops or its system is shut down: then its state
/// and its messages are dropped, even if addresses are left. So actors that have each other's
/// addresses do not outlive their system.
pub(crate) struct Mailbox<M> {
    inbox: Inbox<M>,
    body: Mutex<Body<M>>,
    timers: Mutex<Timers<M>>,
    /// Threads that want to look at the state; the next turn lets them go first.
    lookers: AtomicUsize,
    first: Mutex<()>,
    /// If there is a hook into deliveries.
    hooked: Option<Box<Hooked>>,
    shared: Arc<Shared>,
}

/// What belongs to the worker that runs the actor.
struct Body<M> {
    /// None if it has stopped.
    behaviour: Option<Box<dyn Behaviour<M>>>,
    /// What was taken from the inbox and is not handled yet.
    messages: VecDeque<M>,
    due: VecDeque<u32>,
}

/// Timers that were set, with their messages. A timer that is due and not handled yet is still here,
/// so that it can be cancelled until the very moment.
struct Timers<M> {
    made: u32,
    set: HashMap<u32, (Key, M)>,
}

/// An actor without the type of its messages.
pub(crate) trait Run: Send + Sync {
    /// Handles some messages.
    fn run(self: Arc<Self>, turn: &mut ConcurrentTurn);
    /// A timer is due.
    fn fire(self: Arc<Self>, timer: u32);
    /// It handles nothing any more.
    fn close(&self);
    /// Whether there is more in it than there should be; then it will let go those who wait.
    fn must_wait(&self) -> bool;
}

/// A number of its own, as long as the actor exists.
pub(crate) fn name(actor: &Arc<dyn Run>) -> usize {
    Arc::as_ptr(actor).addr()
}

/// What follows from a turn.
enum After {
    /// Nothing is left to do.
    Idle,
    /// There is more.
    More,
    /// It stops.
    Stops,
}

impl<M: Debug + Send + 'static> Mailbox<M> {
    /// A new actor, which has started.
    pub(crate) fn spawn(turn: &mut ConcurrentTurn, behaviour: Box<dyn Behaviour<M>>) -> Address<M> {
        let shared = Arc::clone(&turn.shared);
        let hooked = shared.hook.as_ref();
        let hooked =
            hooked.map(|hook| Box::new(hook.actor(&mut turn.receiving, behaviour.type_name())));
        let outer = turn.receiving.actor;
        if let Some(hooked) = &hooked {
            // What it sends as it starts is of the receive that makes it, and it is the sender.
            turn.receiving.actor = hooked.identity;
        }
        let body =
            Body { behaviour: Some(behaviour), messages: VecDeque::new(), due: VecDeque::new() };
        let mailbox = Arc::new(Self {
            inbox: Inbox::new(shared.capacity),
            body: Mutex::new(body),
            timers: Mutex::new(Timers { made: 0, set: HashMap::new() }),
            lookers: AtomicUsize::new(0),
            first: Mutex::new(()),
            hooked,
            shared,
        });
        let task: Arc<dyn Run> = Arc::clone(&mailbox) as _;
        mailbox.shared.enrol(&task);
        let me = Address { place: ActorRef::Concurrent(Arc::clone(&mailbox)) };
        // The inbox is claimed: what is sent to it meanwhile waits.
        let started = catch_unwind(AssertUnwindSafe(|| {
            let mut body = lock(&mailbox.body);
            let Some(behaviour) = &mut body.behaviour else { return };
            let mut cx = Context::new(&me, context::HandlerTurn::Concurrent(turn));
            behaviour.start(&mut cx);
            assert!(!cx.stops, "raddle: an actor cannot stop as it starts");
            if let Some(next) = cx.next.take() {
                *behaviour = next;
            }
        }));
        turn.receiving.actor = outer;
        if let Err(panic) = started {
            mailbox.close();
            resume_unwind(panic);
        }
        if mailbox.take(&mut lock(&mailbox.body)) {
            mailbox.shared.run_queues.push(turn.worker, task);
        }
        me
    }

    /// Sends a message from a handler.
    pub(crate) fn push_by(self: &Arc<Self>, turn: &mut ConcurrentTurn, message: M) {
        if let (Some(hook), Some(hooked)) = (&self.shared.hook, &self.hooked) {
            let ours = Arc::ptr_eq(&self.shared, &turn.shared);
            self.post(hook, hooked, ours.then_some(&mut turn.receiving), message);
            return;
        }
        // What is not handled is dropped here, where no lock is held.
        let Ok(Pushed { claimed, overfull }) = self.inbox.push(message) else { return };
        let ours = Arc::ptr_eq(&self.shared, &turn.shared);
        if claimed {
            let worker = turn.worker.filter(|_| ours);
            self.shared.run_queues.push(worker, Arc::clone(self) as _);
        }
        if overfull && ours && turn.full.is_none() {
            turn.full = Some(Arc::clone(self) as _);
        }
    }

    /// Sends a message from a place that must not wait.
    pub(crate) fn push(self: &Arc<Self>, message: M) {
        if let (Some(hook), Some(hooked)) = (&self.shared.hook, &self.hooked) {
            self.post(hook, hooked, None, message);
            return;
        }
        if let Ok(Pushed { claimed: true, .. }) = self.inbox.push(message) {
            self.shared.run_queues.push(None, Arc::clone(self) as _);
        }
    }

    /// Sends a message from outside.
    pub(crate) fn push_when_room(self: &Arc<Self>, message: M) {
        if self.hooked.is_some() {
            self.push(message);
            return;
        }
        if let Ok(Pushed { claimed: true, .. }) = self.inbox.push_when_room(message) {
            self.shared.run_queues.push(None, Arc::clone(self) as _);
        }
    }

    /// Sends a message by the hook: it is in the inbox when its time has come.
    fn post(
        self: &Arc<Self>,
        hook: &Hook,
        hooked: &Hooked,
        by: Option<&mut Receiving>,
        message: M,
    ) {
        let transit = hook.transit(by, hooked.identity, &message);
        let mailbox = Arc::clone(self);
        let arrival = Due::Arrival(Box::new(move || mailbox.arrive(transit, message)));
        hook.post(&transit, |due| {
            let (_, is_first) = self.shared.timers.add_at(due, arrival);
            self.shared.start_timers(is_first);
        });
    }

    /// The time of a message has come. Called by one thread.
    fn arrive(self: Arc<Self>, transit: Transit, message: M) {
        let Some(hooked) = &self.hooked else { return };
        // Before the message: a worker that takes that finds this.
        lock(&hooked.arrived).push_back(transit);
        if let Ok(Pushed { claimed: true, .. }) = self.inbox.push(message) {
            let shared = Arc::clone(&self.shared);
            shared.run_queues.push(None, self);
        }
    }

    /// Sets a timer of this actor.
    pub(crate) fn set_timer(self: &Arc<Self>, after: std::time::Duration, message: M) -> Timer {
        let mut timers = lock(&self.timers);
        let timer = timers.made;
        timers.made = timers.made.wrapping_add(1);
        let key = self.shared.set_timer(after, Arc::clone(self) as _, timer);
        timers.set.insert(timer, (key, message));
        Timer(timer)
    }

    pub(crate) fn cancel(&self, timer: Timer) {
        let cancelled = lock(&self.timers).set.remove(&timer.0);
        if let Some((key, _message)) = cancelled {
            self.shared.timers.cancel(key);
        }
    }

    /// Looks at the state between two turns.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&dyn Any) -> T) -> T {
        self.lookers.fetch_add(1, Ordering::SeqCst);
        let first = lock(&self.first);
        let body = lock(&self.body);
        drop(first);
        self.lookers.fetch_sub(1, Ordering::SeqCst);
        let Some(behaviour) = &body.behaviour else {
            drop(body);
            panic!("raddle: an actor is looked at that has stopped; on threads its state is gone")
        };
        look(behaviour.as_any())
    }

    /// Takes what has come. `false`: nothing, and the actor may be scheduled by others from now on.
    fn take(&self, body: &mut Body<M>) -> bool {
        let taken = self.inbox.take(&mut body.messages, &mut body.due);
        if taken.unjam {
            self.unjam();
        }
        taken.more
    }

    /// Those who wait for room go on.
    fn unjam(&self) {
        for (_, actor) in self.shared.backpressure.release(std::ptr::from_ref(self).addr()) {
            self.shared.run_queues.push(None, actor);
        }
    }

    /// The next message that is to be handled now, and of a system with a hook which it is.
    fn next(&self, body: &mut Body<M>) -> Option<(M, Option<Transit>)> {
        while let Some(timer) = body.due.pop_front() {
            // One that was cancelled is not here.
            if let Some((_, message)) = lock(&self.timers).set.remove(&timer) {
                let hooked = self.hooked.as_ref();
                let transit = hooked.map(|hooked| Hook::timer(hooked.identity, timer, &message));
                return Some((message, transit));
            }
        }
        let message = body.messages.pop_front()?;
        let hooked = self.hooked.as_ref();
        Some((message, hooked.and_then(|hooked| lock(&hooked.arrived).pop_front())))
    }

    fn turn(&self, me: &Address<M>, turn: &mut ConcurrentTurn, body: &mut Body<M>) -> After {
        let most = self.inbox.capacity().map_or(MAX_MESSAGES_IN_A_ROW, |capacity| {
            capacity.div_ceil(2).min(MAX_MESSAGES_IN_A_ROW)
        });
        let mut handled = 0;
        loop {
            let Some((message, transit)) = self.next(body) else {
                if self.take(body) {
                    continue;
                }
                return After::Idle;
            };
            let Some(behaviour) = &mut body.behaviour else { return After::Stops };
            if let Some(transit) = &transit {
                turn.receiving = Receiving::new(transit);
            }
            let mut cx = Context::new(me, context::HandlerTurn::Concurrent(turn));
            behaviour.handle(message, &mut cx);
            let (next, stops) = (cx.next.take(), cx.stops);
            if let (Some(hook), Some(transit)) = (&self.shared.hook, &transit) {
                hook.deliveries.handled(transit, next.is_some());
            }
            if stops {
                return After::Stops;
            }
            if let Some(next) = next {
                *behaviour = next;
            }
            handled += 1;
            if handled >= most || turn.full.is_some() || self.shared.run_queues.is_closed() {
                return After::More;
            }
        }
    }
}

impl<M: Debug + Send + 'static> Run for Mailbox<M> {
    fn run(self: Arc<Self>, turn: &mut ConcurrentTurn) {
        if self.lookers.load(Ordering::Relaxed) > 0 {
            drop(lock(&self.first));
        }
        let me = Address { place: ActorRef::Concurrent(self) };
        let ActorRef::Concurrent(mailbox) = &me.place else { return };
        let mut body = lock(&mailbox.body);
        let run = || mailbox.turn(&me, turn, &mut body);
        let after = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
            mailbox.shared.report(panic);
            After::Stops
        });
        let left = body.messages.len();
        drop(body);
        let full = turn.full.take();
        match after {
            After::Idle => {}
            After::Stops => mailbox.close(),
            After::More => {
                if mailbox.inbox.handled(left) {
                    mailbox.unjam();
                }
                let ActorRef::Concurrent(mailbox) = me.place else { return };
                let shared = Arc::clone(&mailbox.shared);
                let task: Arc<dyn Run> = mailbox;
                let task = match full {
                    None => Err(task),
                    Some(full) => shared
                        .backpressure
                        .wait(name(&task), task, name(&full), || full.must_wait()),
                };
                if let Err(task) = task {
                    shared.run_queues.push(turn.worker, task);
                }
            }
        }
    }

    fn fire(self: Arc<Self>, timer: u32) {
        if self.inbox.fire(timer) {
            let shared = Arc::clone(&self.shared);
            shared.run_queues.push(None, self);
        }
    }

    fn close(&self) {
        let messages = self.inbox.close();
        self.unjam();
        let mut body = lock(&self.body);
        let taken = std::mem::take(&mut body.messages);
        body.due.clear();
        let behaviour = body.behaviour.take();
        drop(body);
        let timers = std::mem::take(&mut lock(&self.timers).set);
        for (key, _) in timers.values() {
            self.shared.timers.cancel(*key);
        }
        // What is dropped is not ours: it may panic, or drop other actors.
        self.shared.guard(move || drop(behaviour));
        self.shared.guard(move || drop((messages, taken, timers)));
    }

    fn must_wait(&self) -> bool {
        self.inbox.must_wait()
    }
}
