//! The concurrent manager: actors on threads, for production.
//!
//! A pool of workers runs the actors that have messages. Each actor has an inbox of its own type, so
//! messages are not boxed. An actor is in at most one run queue, and one worker runs it at a time: it
//! handles some messages and goes to the end of the queue if there are more. Messages from one actor
//! to another are put into one queue by one worker after another, so they stay in order.
//!
//! Reading order: `inbox` (when an actor is scheduled), `run_queues` (which actor runs next, sleep,
//! shutdown), `backpressure` (actors that wait for room), `timers`, `hooked` (the hook into deliveries); then
//! `mailbox`, which puts them together. The first three are also mounted by `tests/protocol.rs`, over raddle's primitives, which
//! tries their interleavings.
//!
//! # Back-pressure
//! With a capacity, a thread that sends from outside waits while so many messages of the actor are
//! unhandled. A handler never waits. But an actor whose handler has sent beyond a capacity is not run
//! again before half of that mailbox is free, except where that would close a circle of actors that
//! wait for each other. `backpressure` has the argument that one actor can always go on. What this
//! bounds: a mailbox holds its capacity, and what one handler of each of its senders has sent, as long
//! as no circle is closed.
//!
//! # The end
//! When the last [`System`](crate::System) is dropped, or one is shut down, workers finish the handler
//! they are in and end. The last of them drops all actors and messages. Handles that an actor has
//! keep its system alive.

mod backpressure;
mod hooked;
mod inbox;
mod mailbox;
mod run_queues;
mod sync;
mod timers;

use std::any::Any;
use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::actor::{Actor, Behaviour};
use crate::address::{ActorRef, Address};
use crate::context::Timer;
use crate::deliveries::Deliveries;
use crate::hash::mix;
use crate::turn::Chooser;

use self::backpressure::Backpressure;
use self::hooked::{Due, Hook, Receiving};
use self::mailbox::Run;
use self::run_queues::RunQueues;
use self::sync::{AtomicUsize, Mutex, Ordering, lock};
use self::timers::{Key, Timers};

pub(crate) use self::mailbox::Mailbox;

/// How often the system checks for workers that run one handler for long.
const WATCH: Duration = Duration::from_millis(1);

/// What a handler panicked with.
type Panic = Box<dyn Any + Send>;

/// One handler's turn; each worker has one.
pub(crate) struct ConcurrentTurn {
    shared: Arc<Shared>,
    /// None outside.
    worker: Option<usize>,
    /// An actor whose mailbox holds more than it should, because of this handler.
    full: Option<Arc<dyn Run>>,
    chooser: Chooser,
    /// The receive that runs. Kept only while there is a hook.
    receiving: Receiving,
}

impl ConcurrentTurn {
    fn new(shared: Arc<Shared>, worker: Option<usize>) -> Self {
        let seed = RandomState::new().hash_one(worker);
        let (chooser, receiving) = (Chooser::Random(mix(seed)), Receiving::default());
        Self { shared, worker, full: None, chooser, receiving }
    }

    pub(crate) fn send<M: Debug + Send + 'static>(&mut self, to: &Arc<Mailbox<M>>, message: M) {
        to.push_by(self, message);
    }

    pub(crate) fn spawn<M: Debug + Send + 'static>(
        &mut self,
        behaviour: Box<dyn Behaviour<M>>,
    ) -> Address<M> {
        Mailbox::spawn(self, behaviour)
    }

    #[expect(clippy::unused_self, reason = "only in a turn")]
    pub(crate) fn set_timer<M: Debug + Send + 'static>(
        &mut self,
        me: &Address<M>,
        after: Duration,
        message: M,
    ) -> Timer {
        mailbox(me).set_timer(after, message)
    }

    #[expect(clippy::unused_self, reason = "only in a turn")]
    pub(crate) fn cancel<M: Debug + Send + 'static>(&mut self, me: &Address<M>, timer: Timer) {
        mailbox(me).cancel(timer);
    }

    pub(crate) fn now(&self) -> Duration {
        self.shared.began.elapsed()
    }

    pub(crate) fn choose(&mut self, of: u32) -> u32 {
        self.chooser.choose(of)
    }
}

#[track_caller]
fn mailbox<M>(address: &Address<M>) -> &Arc<Mailbox<M>> {
    match &address.place {
        ActorRef::Concurrent(mailbox) => mailbox,
        ActorRef::Serial { .. } => panic!("raddle: the address is one of another system"),
    }
}

/// What workers, actors and handles share.
pub(crate) struct Shared {
    run_queues: RunQueues<Arc<dyn Run>>,
    backpressure: Backpressure<Arc<dyn Run>>,
    timers: Timers<Due<Arc<dyn Run>>>,
    hook: Option<Hook>,
    capacity: Option<usize>,
    began: Instant,
    roll: Mutex<Roll>,
    panics: Mutex<VecDeque<Panic>>,
    /// Workers that have not ended.
    workers: AtomicUsize,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// All actors, to be closed in the end. Those that are gone are removed now and then.
#[derive(Default)]
struct Roll {
    actors: Vec<Weak<dyn Run>>,
    /// How many there may be before it is time to look who is gone.
    most: usize,
    closed: bool,
}

thread_local! {
    /// Whose worker this thread is: the address of its `Shared`.
    static WORKS_FOR: Cell<usize> = const { Cell::new(0) };
}

impl Shared {
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Whether this is a handler's thread.
    fn is_inside(&self) -> bool {
        WORKS_FOR.get() == self.address()
    }

    #[track_caller]
    fn refuse_inside(&self, what: &str) {
        assert!(
            !self.is_inside(),
            "raddle: {what} inside a handler of the same system would wait for itself; a handler \
             has its Context"
        );
    }

    /// A new actor: it is closed with the others.
    fn enrol(&self, actor: &Arc<dyn Run>) {
        let mut roll = lock(&self.roll);
        if roll.closed {
            drop(roll);
            actor.close();
            return;
        }
        if roll.actors.len() >= roll.most {
            roll.actors.retain(|actor| actor.strong_count() > 0);
            roll.most = 2 * roll.actors.len() + 64;
        }
        roll.actors.push(Arc::downgrade(actor));
    }

    fn set_timer(self: &Arc<Self>, after: Duration, actor: Arc<dyn Run>, timer: u32) -> Key {
        let (key, is_first) = self.timers.add(after, Due::Timer(actor, timer));
        self.start_timers(is_first);
        key
    }

    fn start_timers(self: &Arc<Self>, is_first: bool) {
        if is_first {
            let shared = Arc::clone(self);
            self.start("actors' timers".to_owned(), move || shared.keep_time());
        }
    }

    /// The thread of the timers.
    fn keep_time(&self) {
        while let Some(due) = self.timers.next() {
            self.guard(|| match due {
                Due::Timer(actor, timer) => actor.fire(timer),
                Due::Arrival(deliver) => deliver(),
            });
            self.timers.done();
            self.run_queues.notify_quiet();
        }
    }

    fn start(&self, name: String, code: impl FnOnce() + Send + 'static) {
        let thread = thread::Builder::new().name(name).spawn(code);
        lock(&self.threads).push(thread.expect("the system has threads left"));
    }

    /// A worker.
    fn work(self: &Arc<Self>, worker: usize) {
        WORKS_FOR.set(self.address());
        let mut turn = ConcurrentTurn::new(Arc::clone(self), Some(worker));
        let mut tick = 0;
        while let Some(actor) = self.run_queues.next(worker, &mut tick) {
            // Panics of handlers are caught in there. Others come of what is dropped.
            self.guard(|| actor.run(&mut turn));
        }
        if self.workers.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.clear();
        }
    }

    /// No worker runs any more: drops all actors, and what is left of messages.
    fn clear(&self) {
        let mut roll = lock(&self.roll);
        roll.closed = true;
        let actors = std::mem::take(&mut roll.actors);
        drop(roll);
        // Held until all are closed, so that an actor is not dropped inside another's drop.
        let actors: Vec<_> = actors.iter().filter_map(Weak::upgrade).collect();
        for actor in &actors {
            actor.close();
        }
        self.guard(|| {
            drop((self.timers.close(), self.run_queues.drain(), self.backpressure.drain()));
        });
        self.guard(|| drop(actors));
    }

    /// Runs code that is not ours.
    fn guard(&self, code: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(code)) {
            self.report(panic);
        }
    }

    /// Keeps a panic until it is asked for.
    fn report(&self, panic: Panic) {
        lock(&self.panics).push_back(panic);
        self.run_queues.notify_quiet();
    }

    fn is_panicked(&self) -> bool {
        !lock(&self.panics).is_empty()
    }

    /// Passes on the first panic that has not been reported.
    fn pass_on(&self) {
        let panic = lock(&self.panics).pop_front();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// Ends all threads. The one that calls this, if it is one of them, ends when it is done.
    fn end(&self) {
        self.run_queues.close();
        let due = self.timers.close();
        self.guard(move || drop(due));
        let threads = std::mem::take(&mut *lock(&self.threads));
        let this = thread::current().id();
        for thread in threads.into_iter().filter(|thread| thread.thread().id() != this) {
            if let Err(panic) = thread.join() {
                self.report(panic);
            }
        }
    }
}

/// The threads of a system. They end with the last clone.
#[derive(Clone)]
pub(crate) struct Pool {
    held: Arc<Held>,
}

struct Held {
    shared: Arc<Shared>,
}

impl Pool {
    pub(crate) fn new(
        threads: usize,
        capacity: Option<usize>,
        deliveries: Option<Arc<dyn Deliveries>>,
    ) -> Self {
        let threads = match threads {
            0 => thread::available_parallelism().map_or(1, Into::into),
            threads => threads,
        };
        let shared = Arc::new(Shared {
            run_queues: RunQueues::new(threads, Some(WATCH)),
            backpressure: Backpressure::new(),
            timers: Timers::new(),
            hook: deliveries.map(Hook::new),
            capacity,
            began: Instant::now(),
            roll: Mutex::default(),
            panics: Mutex::default(),
            workers: AtomicUsize::new(threads),
            threads: Mutex::default(),
        });
        for worker in 0..threads {
            let own = Arc::clone(&shared);
            shared.start(format!("actors {worker}"), move || own.work(worker));
        }
        Self { held: Arc::new(Held { shared }) }
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.held.shared
    }

    pub(crate) fn spawn<A: Actor>(&self, actor: A) -> Address<A::Message> {
        ConcurrentTurn::new(Arc::clone(self.shared()), None).spawn(Box::new(actor))
    }

    #[expect(clippy::unused_self, reason = "only a system can send")]
    pub(crate) fn send<M: Debug + Send + 'static>(&self, to: &Arc<Mailbox<M>>, message: M) {
        if WORKS_FOR.get() != 0 {
            // A handler never waits, whosever it is.
            to.push(message);
        } else {
            to.push_when_room(message);
        }
    }

    /// Before a thread waits for an answer.
    #[track_caller]
    pub(crate) fn refuse_inside(&self, what: &str) {
        self.shared().refuse_inside(what);
    }

    #[track_caller]
    pub(crate) fn wait_idle(&self) {
        let shared = self.shared();
        shared.refuse_inside("handle_all");
        shared.run_queues.wait_quiet(|| shared.timers.is_empty(), || shared.is_panicked());
        shared.pass_on();
    }

    #[track_caller]
    pub(crate) fn inspect<A: Actor, T>(
        &self,
        address: &Address<A::Message>,
        look: impl FnOnce(&A) -> T,
    ) -> T {
        self.shared().refuse_inside("inspect");
        mailbox(address).look(|state| {
            look(state.downcast_ref().unwrap_or_else(|| {
                panic!("raddle: an actor is not a {}", std::any::type_name::<A>())
            }))
        })
    }

    #[track_caller]
    pub(crate) fn shutdown(self) {
        let shared = Arc::clone(self.shared());
        shared.refuse_inside("shutdown");
        shared.end();
        shared.pass_on();
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.shared.end();
        if !thread::panicking() && !self.shared.is_inside() {
            self.shared.pass_on();
        }
    }
}
