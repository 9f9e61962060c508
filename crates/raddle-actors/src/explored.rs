//! The exploratory manager: a system inside an execution, whose every delivery the search decides.
//!
//! Each [link](crate::world) is a passive task of the engine, so all strategies see deliveries as they
//! see the steps of threads. The order of deliveries at one actor is what matters: a step writes to the
//! actor it is delivered to, and follows the step that sent its message. With one queue for each actor,
//! steps that send to one mailbox depend on each other besides (Eta's relation).
//!
//! A test that handles all messages waits until no work is left; that is no choice. A test that counts
//! steps, or looks after each, depends on the order of all of them, and they on each other: then there
//! is nothing that a reduction could leave out, and it does not.
//!
//! `Misses:` what threads do beside a task that has messages handled. To send and to create an actor is no step of a thread, except to
//! send into a queue after `run`, so a reduction does not try it after the end of `handle_all` if it came before. The same
//! holds of the order in which two threads put messages into one queue before `run`, and of a crash, whose victims are the actors that
//! there are, and an actor that a thread creates. Exhaustive search tries what comes of the steps that a thread takes before:
//! what it does without one, it does as soon as it begins. A thread that sends is to begin after `run` and to be joined before
//! messages are handled by another call. `Gate::act` notices where that is not so, and the guarantee claims less.
//!
//! # Why: Links are tasks, not actors
//! The plan was that an actor is a task and its pending op a receive with a choice of channel. Then the order of two
//! messages would be decided at the sends and again at the receive. A link for each pair makes it one decision, and
//! needs no other kind of option.

use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use raddle_engine::receive::{Done, Effects, Receive, ReceiveName};
use raddle_engine::rt::{self, Act, Link, Object, PassiveWork, Worked};
use raddle_engine::strategy::Decided;
use raddle_engine::{Access, Model, ObjectId, TaskId};

use crate::actor::Actor;
use crate::address::{ActorId, Address};
use crate::letters::{Letters, MessageType};
use crate::mailboxes::Sender;
use crate::serial::lock;
use crate::things::ALL;
use crate::view::View;
use crate::waiter::Waiter;
use crate::world::{Message, ONLY_SET_UP, Stepped, World};

/// Whether there is work: what a test waits for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Quiet {
    work: u32,
    steps: u64,
    /// What a test waits for has come.
    hit: bool,
}

#[derive(Clone, Copy, Debug)]
enum Wait {
    /// For the end of all work.
    All,
    /// For so many steps.
    Steps(u64),
    /// For something that is looked for after each step.
    Hit,
}

impl Model for Quiet {
    type Op = Wait;
    type Reply = bool;
    const KIND: &'static str = "System";

    fn enabled(&self, _: TaskId, op: Wait) -> bool {
        self.work == 0
            || match op {
                Wait::All => false,
                Wait::Steps(steps) => self.steps >= steps,
                Wait::Hit => self.hit,
            }
    }

    fn access(&self, _: TaskId, op: Wait) -> Access {
        match op {
            Wait::All => Access::AwaitQuiescence,
            Wait::Steps(_) | Wait::Hit => Access::Woken,
        }
    }

    fn apply(&mut self, _: TaskId, op: Wait, _: u32) -> bool {
        match op {
            Wait::All => true,
            Wait::Steps(steps) => self.steps >= steps,
            Wait::Hit => self.hit,
        }
    }

    fn reset(&mut self) {
        *self = Self::default();
    }

    fn show(op: Wait, _: Option<&bool>) -> String {
        match op {
            Wait::All => "handle all",
            Wait::Steps(_) => "handle one",
            Wait::Hit => "handle until",
        }
        .to_owned()
    }
}

/// An answer that was given.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    pub(crate) given: bool,
}

impl Model for Signal {
    type Op = ();
    type Reply = ();
    const KIND: &'static str = "Answer";

    fn enabled(&self, _: TaskId, (): ()) -> bool {
        self.given
    }

    fn access(&self, _: TaskId, (): ()) -> Access {
        Access::Woken
    }

    fn apply(&mut self, _: TaskId, (): (), _: u32) {}

    fn reset(&mut self) {
        self.given = false;
    }

    fn show((): (), _: Option<&()>) -> String {
        "wait for an answer".to_owned()
    }
}

/// To put something into a mailbox, as a step of a thread.
#[derive(Debug, Default)]
struct Post;

impl Model for Post {
    type Op = ();
    type Reply = ();
    const KIND: &'static str = "System";
    const BLOCKS: bool = false;

    fn access(&self, _: TaskId, (): ()) -> Access {
        Access::Read
    }

    fn apply(&mut self, _: TaskId, (): (), _: u32) {}

    fn reset(&mut self) {}

    fn show((): (), _: Option<&()>) -> String {
        "send".to_owned()
    }
}

/// A system that is explored.
#[derive(Clone)]
pub(crate) struct Explored {
    /// Gone with the last handle: then its links have no more steps.
    held: Arc<Held>,
}

struct Held {
    shared: Arc<Shared>,
}

struct Shared {
    world: Mutex<World>,
    gate: Mutex<Gate>,
    quiet: Object<Quiet>,
    post: Object<Post>,
}

/// What the engine knows of the world.
#[derive(Default)]
struct Gate {
    /// Whether messages are handled now.
    open: bool,
    /// By link.
    links: Vec<Option<Link>>,
    /// By actor.
    objects: Vec<ObjectId>,
    /// What a task waits for.
    enough: Option<Enough>,
    steps: u64,
    hit: bool,
    /// What threads did for which there is no step: the last of each thread and kind.
    acts: Vec<(Kind, Act)>,
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It has messages handled, now or from now on.
    Handles,
    /// It sends.
    Sends,
    /// It creates an actor.
    Creates,
}

impl Gate {
    /// Notes what the running thread does. If another has done something whose order with that matters, and neither certainly
    /// comes first, the guarantee is to say that orders were left out. Two sends matter to each other in a queue,
    /// before a step stands for them.
    fn act(&mut self, kind: Kind, is_queue: bool) {
        let now = Act::now();
        let matters = |before: Kind| match (before, kind) {
            (Kind::Sends, Kind::Sends) => is_queue && !self.open,
            (Kind::Sends, Kind::Creates) | (Kind::Creates, Kind::Sends) => false,
            (Kind::Handles, _) | (_, Kind::Handles) | (Kind::Creates, Kind::Creates) => true,
        };
        if self.acts.iter().any(|&(before, act)| matters(before) && !act.is_before(now)) {
            rt::note_unordered_acts();
        }
        let is_it = |(other, act): &(Kind, Act)| *other == kind && act.is_of_same_task(now);
        self.acts.retain(|known| !is_it(known));
        self.acts.push((kind, now));
    }
}

/// What is looked for after each step.
pub(crate) type Enough = Box<dyn FnMut(&View<'_>) -> bool + Send>;

impl Explored {
    pub(crate) fn new(world: World) -> Self {
        assert!(
            rt::inside(),
            "raddle: a system is explored only inside an execution: call raddle::check, or choose \
             another manager"
        );
        let shared = Shared {
            world: Mutex::new(world),
            gate: Mutex::default(),
            quiet: Object::new(Quiet::default()),
            post: Object::new(Post),
        };
        // Numbered before tasks part, so that they mean the same in all executions.
        let system = shared.quiet.number().0;
        let _ = shared.post.number();
        if rt::messages_are_observed() {
            lock(&shared.world).turn.letters = Some(Box::new(Letters::new(system)));
        }
        Self { held: Arc::new(Held { shared: Arc::new(shared) }) }
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.held.shared
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        lock(&self.shared().world)
    }

    /// The world while nothing is handled: what is seen of it then is the same in equivalent executions.
    #[track_caller]
    pub(crate) fn at_rest(&self, what: &str) -> MutexGuard<'_, World> {
        assert!(
            !self.shared().gate().open,
            "raddle: {what} after run, while messages are handled at any time: when it happened would be no \
             decision of the search. Ask the actor instead, or call handle_all first"
        );
        self.world()
    }

    pub(crate) fn spawn<A: Actor>(
        &self,
        actor: A,
        name: Option<&str>,
        site: &'static Location<'static>,
    ) -> Address<A::Message> {
        let mut world = self.world();
        world.enter_outside();
        self.shared().gate().act(Kind::Creates, false);
        let address = world.spawn(actor, name, site, rt::step_now());
        world.leave_outside();
        self.shared().sync_world(world);
        address
    }

    pub(crate) fn send<N: Send + 'static>(
        &self,
        to: ActorId,
        message: N,
        site: &'static Location<'static>,
    ) {
        let shared = self.shared();
        let mut world = lock(&shared.world);
        let mailbox = world.touched_mailbox(to);
        shared.gate().act(Kind::Sends, mailbox != 0);
        if mailbox != 0 && shared.gate().open {
            drop(world);
            // Its place in the queue is a matter of order.
            rt::touch_shared_resources(mailbox);
            shared.post.step(());
            rt::touch_shared_resources(0);
            world = lock(&shared.world);
        }
        let sent_by = rt::step_now();
        let stamp = world.stamp_outside(MessageType::of(&message));
        let message = Message { payload: Box::new(message), sent_by, site, stamp };
        world.send(Sender::Outside(rt::task_key()), to, message);
        world.leave_outside();
        let identity = world.actors.get(to.index()).map_or(0, |slot| slot.state.identity);
        shared.sync_world(world);
        if rt::messages_are_observed() {
            let object = shared.gate().objects.get(to.index()).copied();
            if let Some(object) = object {
                rt::dealt_with(object, identity, Done::Sent);
            }
        }
    }

    #[track_caller]
    pub(crate) fn handle_all(&self) {
        let shared = self.shared();
        shared.gate().act(Kind::Handles, false);
        lock(&shared.world).arm_crashes(rt::step_now());
        shared.set_open(true);
        shared.quiet.wait(Wait::All);
        shared.set_open(false);
        let mut world = lock(&shared.world);
        world.observers.counted = 0;
        if let Some(letters) = &mut world.turn.letters {
            letters.settle();
        }
    }

    #[track_caller]
    pub(crate) fn handle_one(&self) -> bool {
        drop(self.at_rest("handle_one"));
        let steps = self.shared().gate().steps + 1;
        self.handle_seen(Wait::Steps(steps))
    }

    #[track_caller]
    pub(crate) fn handle_until(&self, mut enough: Enough) -> bool {
        if enough(&View::from(&*self.at_rest("handle_until"))) {
            return true;
        }
        self.shared().gate().enough = Some(enough);
        let hit = self.handle_seen(Wait::Hit);
        let mut gate = self.shared().gate();
        gate.enough = None;
        gate.hit = false;
        drop(gate);
        self.shared().sync();
        hit
    }

    /// Handles messages while every step is looked at.
    #[track_caller]
    fn handle_seen(&self, wait: Wait) -> bool {
        let shared = self.shared();
        shared.gate().act(Kind::Handles, false);
        if lock(&shared.world).ready.count == 0 {
            return false;
        }
        // So do the steps that are left for later: they might have come now. Only when nothing is left
        // have they all come.
        lock(&shared.world).observers.counted = ALL;
        shared.set_open(true);
        rt::touch_shared_resources(ALL);
        let done = shared.quiet.wait(wait);
        rt::touch_shared_resources(0);
        shared.set_open(false);
        done
    }

    pub(crate) fn run(&self) {
        // What a thread sends before this can be handled only after it, which no order of steps says.
        self.shared().gate().act(Kind::Handles, false);
        self.shared().set_open(true);
    }

    #[track_caller]
    pub(crate) fn wait_for<T: Send + 'static>(&self, waiter: &Waiter<T>) {
        let shared = self.shared();
        if shared.gate().open {
            waiter.signal().wait(());
            lock(&shared.world).answered_outside(waiter.answered_by());
            return;
        }
        shared.gate().act(Kind::Handles, false);
        lock(&shared.world).observers.counted = ALL;
        shared.set_open(true);
        rt::touch_shared_resources(ALL);
        // If all is handled and there is no answer this waits for good: a deadlock, which is shown.
        waiter.signal().wait(());
        rt::touch_shared_resources(0);
        shared.set_open(false);
        lock(&shared.world).answered_outside(waiter.answered_by());
    }
}

impl Shared {
    fn gate(&self) -> MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[track_caller]
    fn set_open(self: &Arc<Self>, open: bool) {
        let mut world = lock(&self.world);
        let mut gate = self.gate();
        let quiet = self.tell_engine(&mut world, &mut gate);
        assert!(!(open && world.is_model), "{ONLY_SET_UP}");
        if gate.open != open {
            gate.open = open;
            for (entry, link) in world.links.iter().zip(&gate.links) {
                if let (true, Some(link)) = (entry.ready, link) {
                    link.enable(open, entry.queue[0].site);
                }
            }
        }
        drop((world, gate));
        self.set_quiet(quiet);
    }

    /// Tells the engine what has changed.
    fn sync(self: &Arc<Self>) {
        self.sync_world(lock(&self.world));
    }

    /// Tells the engine what has changed in the world, and lets go of it.
    fn sync_world(self: &Arc<Self>, mut world: MutexGuard<'_, World>) {
        let mut gate = self.gate();
        let quiet = self.tell_engine(&mut world, &mut gate);
        drop((world, gate));
        self.set_quiet(quiet);
    }

    /// Tells the engine of new actors, and of links that have changed. What is to be told besides: how much work there
    /// is, if a task that waits for that could see the difference.
    fn tell_engine(self: &Arc<Self>, world: &mut World, gate: &mut Gate) -> Option<Quiet> {
        for actor in gate.objects.len()..world.actors.len() {
            let object = rt::number("Actor", world.actors[actor].site);
            rt::name_object(object, || world.name(ActorId(actor as u32)));
            gate.objects.push(object);
            rt::dealt_with(object, world.actors[actor].state.identity, Done::Created);
        }
        if gate.links.len() < world.links.len() {
            gate.links.resize(world.links.len(), None);
        }
        let mut changed = std::mem::take(&mut world.ready.changed);
        for &at in &changed {
            let entry = &world.links[at as usize];
            let Some(first) = entry.queue.front() else {
                if let Some(link) = gate.links[at as usize] {
                    link.enable(false, Location::caller());
                }
                continue;
            };
            let site = first.site;
            let link = gate.links[at as usize].or_else(|| {
                let object = gate.objects.get(entry.to.index()).copied();
                let object = object.unwrap_or(ObjectId::NONE);
                let mailbox = if entry.kind.is_crash() { ObjectId::NONE } else { object };
                let work: Arc<dyn PassiveWork> = Arc::clone(self) as _;
                let label = || Arc::from(world.label(at));
                Link::new(entry.key, label, work, at, object, mailbox, site)
            });
            gate.links[at as usize] = link;
            if let (true, Some(link)) = (gate.open, link) {
                link.enable(true, site);
            }
        }
        changed.clear();
        world.ready.changed = changed;
        let quiet = Quiet { work: world.ready.count, steps: gate.steps, hit: gate.hit };
        crate::follow::seek(world, &gate.links, gate.steps);
        // Tasks wait for all messages, so they need not look again before there is none left.
        let matters = |known: &Quiet| {
            let is_seen = quiet.work == 0 || world.observers.counted != 0 || known.work == 0;
            is_seen && *known != quiet
        };
        self.quiet.peek(matters).then_some(quiet)
    }

    /// Has the tasks look again that wait for the end of all work.
    fn set_quiet(&self, quiet: Option<Quiet>) {
        if let Some(quiet) = quiet {
            self.quiet.alter(|known| *known = quiet);
        }
    }
}

impl PassiveWork for Shared {
    fn work(&self, token: u32) -> Worked {
        let mut world = lock(&self.world);
        world.description.wanted = rt::is_recorded() || world.turn.letters.is_some();
        let Stepped { actor, lapsed, shared_resources, touches_others, spent, sent_by, site } =
            world.step(token, rt::step_now());
        world.observe();
        let mut gate = self.gate();
        gate.steps += 1;
        if let Some(mut enough) = gate.enough.take() {
            drop(gate);
            let hit = enough(&View::from(&*world));
            gate = self.gate();
            gate.hit |= hit;
            gate.enough = Some(enough);
        }
        let nothing = (ObjectId::NONE, Access::Yield);
        let access = if lapsed { Access::Cancelled } else { Access::Write };
        let object = actor.map_or(nothing, |actor| (gate.objects[actor.index()], access));
        let quiet = (self.quiet.number(), Access::DoWork);
        let has_faults = world.faults.may_happen();
        let decided = Decided { touches_others, spent, has_faults };
        Worked { touched: [object, quiet], shared_resources, decided, sent_by, site }
    }

    fn worked(self: Arc<Self>, _token: u32) {
        let mut world = lock(&self.world);
        let answers = std::mem::take(&mut world.answers);
        self.sync_world(world);
        for answer in answers {
            answer();
        }
    }

    fn show(&self) -> String {
        lock(&self.world).description.text.clone()
    }

    fn delivery(&self, token: u32) -> Option<Receive> {
        // Not while a handler runs, which may be when a value is decided.
        self.world.try_lock().ok()?.delivery(token)
    }

    fn ages(&self) -> u64 {
        // Not while a handler runs, either.
        self.world.try_lock().map_or(0, |world| world.ages())
    }

    fn effects(&self) -> Option<Effects> {
        lock(&self.world).effects()
    }

    fn receive_name(&self) -> ReceiveName {
        lock(&self.world).receive_name()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        for link in self.shared.gate().links.drain(..).flatten() {
            link.retire();
        }
        if !std::thread::panicking() && !rt::execution_ended() {
            lock(&self.shared.world).check_cold();
        }
    }
}
