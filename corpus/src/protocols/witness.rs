//! Who watches a protocol: a monitor under a search, and an actor with the same rules on threads.
//!
//! There are no monitors under [`Manager::Concurrent`](raddle::actors::Manager): handlers run at the same time
//! there. So the monitor becomes an actor which is told of everything by messages. A handler tells it before it
//! sends anything else, and mailboxes are queues; so what happened because of something is told after it, and the
//! order in which the actor is told is one in which all could have happened. A history that is right is
//! therefore never taken for a wrong one. A wrong one makes the actor panic, which ends the test.

use std::fmt::Debug;
use std::hash::Hash;

use raddle::actors::{Actor, Address, Context, Monitor, System, Watch};

/// By this the actors of a protocol tell what happens.
#[derive(Clone, Debug, Hash)]
pub struct Witness<E> {
    watch: Watch<E>,
    /// On threads.
    history: Option<Address<E>>,
}

impl<E: Clone + Debug + Hash + Send + 'static> Witness<E> {
    /// This monitor, or the actor in its place.
    pub(super) fn new<M: Monitor<Event = E>>(system: &System, monitor: impl Fn() -> M) -> Self {
        let watch = system.monitor(monitor());
        let is_alone = !watch.is_watched();
        let history = is_alone.then(|| system.spawn_named("history", History(monitor())));
        Self { watch, history }
    }

    /// This has happened. To be told before anything that comes of it is sent.
    pub(super) fn tell<M: Debug + Send + 'static>(&self, event: E, cx: &mut Context<'_, M>) {
        match &self.history {
            Some(history) => cx.send(history, event),
            None => cx.observe(&self.watch, event),
        }
    }

    /// Whether, on threads, the monitor `M` waits for something now.
    pub(super) fn is_hot<M: Monitor<Event = E>>(&self, system: &System) -> bool {
        let look = |history: &History<M>| history.0.is_hot();
        self.history.as_ref().is_some_and(|history| system.inspect(history, look))
    }
}

/// A monitor as an actor.
#[derive(Debug)]
struct History<M>(M);

impl<M: Monitor> Actor for History<M>
where
    M::Event: Debug + Hash + Send + 'static,
{
    type Message = M::Event;

    fn handle(&mut self, event: M::Event, _: &mut Context<'_, M::Event>) {
        self.0.observe(event);
    }
}
