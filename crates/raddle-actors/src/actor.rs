//! What an actor is: private state, and a handler for its messages.

use std::any::{Any, TypeId};
use std::fmt::Debug;
use std::hash::Hash;

use crate::context::Context;
use crate::hash::Fingerprint;

/// An actor: state that nothing else can touch, and a handler that changes it.
///
/// A handler runs to its end before the next one begins: it is one step. It changes its own state,
/// sends messages and makes new actors, all through its [`Context`]. It must not wait, nor share data
/// with others.
///
/// ```
/// use raddle_actors::{Actor, Context};
///
/// struct Counter(u64);
///
/// impl Actor for Counter {
///     type Message = u64;
///
///     fn handle(&mut self, by: u64, _cx: &mut Context<'_, u64>) {
///         self.0 += by;
///     }
/// }
/// ```
pub trait Actor: Send + 'static {
    /// What it can be told.
    type Message: Debug + Send + 'static;

    /// Handles one message.
    fn handle(&mut self, message: Self::Message, cx: &mut Context<'_, Self::Message>);

    /// Called once, before the first message, as a part of the step that spawns it.
    fn start(&mut self, cx: &mut Context<'_, Self::Message>) {
        let _ = cx;
    }

    /// What is left of it after a crash: what it had on disk. `None`: it does not come back.
    fn restart(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// How to copy it and its messages, if that can be done. Write [`snapshots!`](crate::snapshots)
    /// in the `impl`.
    #[must_use]
    fn snapshots() -> Option<Snapshots<Self>>
    where
        Self: Sized,
    {
        None
    }
}

/// How to copy and compare an actor and its messages.
#[derive(Debug)]
pub struct Snapshots<A: Actor> {
    copy: fn(&A) -> A,
    hash: fn(&A, &mut Fingerprint),
    messages: Messages<A::Message>,
}

/// How to copy and compare messages.
#[derive(Debug)]
pub(crate) struct Messages<M> {
    pub(crate) copy: fn(&M) -> M,
    pub(crate) hash: fn(&M, &mut Fingerprint),
}

impl<M> Clone for Messages<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Messages<M> {}

impl<A> Snapshots<A>
where
    A: Actor + Clone + Hash,
    A::Message: Clone + Hash,
{
    /// By `Clone` and `Hash`.
    #[must_use]
    pub fn new() -> Self {
        Self {
            copy: A::clone,
            hash: |actor, hasher| actor.hash(hasher),
            messages: Messages {
                copy: A::Message::clone,
                hash: |message, hasher| message.hash(hasher),
            },
        }
    }
}

impl<A> Default for Snapshots<A>
where
    A: Actor + Clone + Hash,
    A::Message: Clone + Hash,
{
    fn default() -> Self {
        Self::new()
    }
}

/// Says, inside an `impl Actor`, that the actor and its messages are `Clone + Hash` and may be copied:
/// then searches can go back to an earlier state instead of running the test again, and messages can
/// be duplicated. `snapshots!(monitor)`, inside an `impl Monitor`, says the same of a monitor.
///
/// ```
/// use raddle_actors::{Actor, Context};
///
/// #[derive(Clone, Hash)]
/// struct Counter(u64);
///
/// impl Actor for Counter {
///     type Message = u64;
///     raddle_actors::snapshots!();
///
///     fn handle(&mut self, by: u64, _cx: &mut Context<'_, u64>) {
///         self.0 += by;
///     }
/// }
/// ```
#[macro_export]
macro_rules! snapshots {
    () => {
        fn snapshots() -> ::core::option::Option<$crate::Snapshots<Self>> {
            ::core::option::Option::Some($crate::Snapshots::new())
        }
    };
    (monitor) => {
        fn copies() -> ::core::option::Option<$crate::Copies<Self>> {
            ::core::option::Option::Some($crate::Copies::new())
        }
    };
}

/// An actor without its type, but with that of its messages: actors can become others.
pub(crate) trait Behaviour<M>: Send {
    fn handle(&mut self, message: M, cx: &mut Context<'_, M>);
    fn start(&mut self, cx: &mut Context<'_, M>);
    fn restart(&self) -> Option<Box<dyn Behaviour<M>>>;
    fn as_any(&self) -> &dyn Any;
    fn type_name(&self) -> &'static str;
    fn messages(&self) -> Option<Messages<M>>;
    fn copy(&self) -> Option<Box<dyn Behaviour<M>>>;
    /// Feeds its state to the hasher. `false` if it cannot.
    fn hash(&self, hasher: &mut Fingerprint) -> bool;
}

impl<A: Actor> Behaviour<A::Message> for A {
    fn handle(&mut self, message: A::Message, cx: &mut Context<'_, A::Message>) {
        Actor::handle(self, message, cx);
    }

    fn start(&mut self, cx: &mut Context<'_, A::Message>) {
        Actor::start(self, cx);
    }

    fn restart(&self) -> Option<Box<dyn Behaviour<A::Message>>> {
        Actor::restart(self).map(|actor| Box::new(actor) as _)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn type_name(&self) -> &'static str {
        std::any::type_name::<A>()
    }

    fn messages(&self) -> Option<Messages<A::Message>> {
        A::snapshots().map(|snapshots| snapshots.messages)
    }

    fn copy(&self) -> Option<Box<dyn Behaviour<A::Message>>> {
        A::snapshots().map(|snapshots| Box::new((snapshots.copy)(self)) as _)
    }

    fn hash(&self, hasher: &mut Fingerprint) -> bool {
        let Some(snapshots) = A::snapshots() else { return false };
        // Two behaviours of one actor are different states.
        TypeId::of::<A>().hash(hasher);
        (snapshots.hash)(self, hasher);
        true
    }
}
