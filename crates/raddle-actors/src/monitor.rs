//! Monitors: what must never happen, and what must not be left undone.

use std::any::Any;
use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;

use crate::hash::Fingerprint;

/// Watches a system by events that handlers tell it of. Exists under test only.
///
/// What must never happen is a panic in [`observe`](Self::observe). What must happen in the end is a
/// *hot* state: a test that ends while a monitor is hot has failed.
///
/// ```
/// use raddle_actors::{Actor, Context, Monitor, System, Watch};
///
/// /// Every request is answered.
/// #[derive(Default)]
/// struct Answered(i32);
/// impl Monitor for Answered {
///     type Event = i32;
///     fn observe(&mut self, change: i32) {
///         self.0 += change;
///         assert!(self.0 >= 0, "an answer without a request");
///     }
///     fn is_hot(&self) -> bool {
///         self.0 > 0
///     }
/// }
///
/// struct Server(Watch<i32>);
/// impl Actor for Server {
///     type Message = i32;
///     fn handle(&mut self, change: i32, cx: &mut Context<'_, i32>) {
///         cx.observe(&self.0, change);
///     }
/// }
///
/// let system = System::deterministic();
/// let watch = system.monitor(Answered::default());
/// let server = system.spawn(Server(watch));
/// system.send(&server, 1);
/// system.send(&server, -1);
/// system.handle_all();
/// ```
pub trait Monitor: Send + 'static {
    /// What it is told.
    type Event: 'static;

    /// Something happened.
    fn observe(&mut self, event: Self::Event);

    /// Whether something is yet to happen.
    fn is_hot(&self) -> bool {
        false
    }

    /// How to copy it, if that can be done: searches over states need it. Write
    /// [`snapshots!(monitor)`](crate::snapshots) in the `impl`.
    #[must_use]
    fn copies() -> Option<Copies<Self>>
    where
        Self: Sized,
    {
        None
    }
}

/// How to copy and compare a monitor.
#[derive(Debug)]
pub struct Copies<M> {
    copy: fn(&M) -> M,
    hash: fn(&M, &mut Fingerprint),
}

impl<M: Clone + Hash> Copies<M> {
    /// By `Clone` and `Hash`.
    #[must_use]
    pub fn new() -> Self {
        Self { copy: M::clone, hash: |monitor, hasher| monitor.hash(hasher) }
    }
}

impl<M: Clone + Hash> Default for Copies<M> {
    fn default() -> Self {
        Self::new()
    }
}

/// By this handlers tell a monitor.
pub struct Watch<E> {
    /// None in production.
    pub(crate) monitor: Option<u32>,
    pub(crate) events: PhantomData<fn(E)>,
}

impl<E> Watch<E> {
    /// Whether a monitor is told: not in production, where handlers run at the same time.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.monitor.is_some()
    }
}

impl<E> Clone for Watch<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Watch<E> {}

impl<E> std::hash::Hash for Watch<E> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.monitor.hash(state);
    }
}

impl<E> fmt::Debug for Watch<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

/// A monitor without its type.
pub(crate) trait AnyMonitor: Send {
    /// `event` is an `Option<M::Event>`.
    fn observe(&mut self, event: &mut dyn Any);
    fn is_hot(&self) -> bool;
    fn name(&self) -> &'static str;
    /// None if it cannot be copied.
    fn copy(&self) -> Option<Box<dyn AnyMonitor>>;
    /// Feeds its state to the hasher. `false` if it cannot.
    fn hash(&self, hasher: &mut Fingerprint) -> bool;
}

impl<M: Monitor> AnyMonitor for M {
    fn observe(&mut self, event: &mut dyn Any) {
        let event = event.downcast_mut::<Option<M::Event>>().and_then(Option::take);
        Monitor::observe(self, event.expect("a watch is of its monitor's events"));
    }

    fn is_hot(&self) -> bool {
        Monitor::is_hot(self)
    }

    fn name(&self) -> &'static str {
        std::any::type_name::<M>()
    }

    fn copy(&self) -> Option<Box<dyn AnyMonitor>> {
        M::copies().map(|copies| Box::new((copies.copy)(self)) as _)
    }

    fn hash(&self, hasher: &mut Fingerprint) -> bool {
        let Some(copies) = M::copies() else { return false };
        (copies.hash)(self, hasher);
        true
    }
}
