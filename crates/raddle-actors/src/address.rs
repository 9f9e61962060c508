//! Where messages go.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;

use crate::concurrent;

/// An actor's number in its system, in the order in which they were spawned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActorId(pub(crate) u32);

impl ActorId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The address of an actor that takes messages of type `M`. Cheap to clone; may be sent in messages.
///
/// Two addresses are equal if they are of the same actor. Where actors are (under which manager they
/// run) makes no difference to those who have their addresses.
pub struct Address<M> {
    pub(crate) place: ActorRef<M>,
}

pub(crate) enum ActorRef<M> {
    /// In a system that runs one step after another.
    Serial {
        actor: ActorId,
        /// Which actor it is, whatever the order in which actors were spawned: a hash of (parent's
        /// path, n-th spawn).
        path: u64,
        messages: PhantomData<fn(M)>,
    },
    /// In a system on threads.
    Concurrent(Arc<concurrent::Mailbox<M>>),
}

impl<M> Address<M> {
    pub(crate) fn serial(actor: ActorId, path: u64) -> Self {
        Self { place: ActorRef::Serial { actor, path, messages: PhantomData } }
    }

    /// Its place in a system that runs one step after another.
    pub(crate) fn actor(&self) -> Option<ActorId> {
        match self.place {
            ActorRef::Serial { actor, .. } => Some(actor),
            ActorRef::Concurrent(_) => None,
        }
    }

    fn key(&self) -> u64 {
        match &self.place {
            ActorRef::Serial { path, .. } => *path,
            ActorRef::Concurrent(mailbox) => Arc::as_ptr(mailbox).addr() as u64,
        }
    }
}

impl<M> Clone for Address<M> {
    fn clone(&self) -> Self {
        let place = match &self.place {
            &ActorRef::Serial { actor, path, messages } => {
                ActorRef::Serial { actor, path, messages }
            }
            ActorRef::Concurrent(mailbox) => ActorRef::Concurrent(Arc::clone(mailbox)),
        };
        Self { place }
    }
}

impl<M> PartialEq for Address<M> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<M> Eq for Address<M> {}

impl<M> PartialOrd for Address<M> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<M> Ord for Address<M> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl<M> Hash for Address<M> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl<M> fmt::Debug for Address<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            ActorRef::Serial { actor, .. } => write!(f, "actor {}", actor.0),
            ActorRef::Concurrent(_) => f.write_str("actor"),
        }
    }
}

/// An address whose messages do not matter: an actor that is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AnyAddress(pub(crate) ActorId);

impl<M> From<&Address<M>> for AnyAddress {
    fn from(address: &Address<M>) -> Self {
        // Actors on threads are not looked at: `System::invariant` says so.
        Self(address.actor().unwrap_or(ActorId(u32::MAX)))
    }
}
