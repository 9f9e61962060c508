//! What a system on threads keeps while there is a hook into its deliveries: identities, and messages that are held.
//!
//! A message does not go into the inbox of its receiver but to the thread of the timers, which puts it there when
//! its time has come. That thread delivers one message after another, and a message is never due before an earlier one
//! of the same two actors, so those stay in order. A system without a hook has none of this: where it would be used it
//! looks at one `Option` that is never set.

use std::collections::{HashMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::mem::discriminant;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Instant;

use super::sync::{Mutex, Ordering, lock};
use crate::deliveries::{Deliveries, Transit};
use crate::hash::{Fingerprint, mix};

/// The hook of a system.
pub(crate) struct Hook {
    pub(crate) deliveries: Arc<dyn Deliveries>,
    /// When the last message of each two actors is due.
    last: Mutex<HashMap<(u64, u64), Instant>>,
    /// What was sent and created outside of all handlers.
    sent: AtomicU32,
    created: AtomicU32,
}

/// The receive that a worker runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Receiving {
    /// The actor; 0 outside.
    pub(crate) actor: u64,
    /// The receive; 0 outside.
    receive: u64,
    sent: u32,
    created: u32,
}

impl Receiving {
    pub(crate) fn new(transit: &Transit) -> Self {
        Self { actor: transit.receiver, receive: transit.receive(), sent: 0, created: 0 }
    }
}

/// What an actor has of it.
#[derive(Debug)]
pub(crate) struct Hooked {
    pub(crate) identity: u64,
    /// Of the messages in the inbox, in the same order.
    pub(crate) arrived: Mutex<VecDeque<Transit>>,
}

/// How many there were before.
fn count(n: &mut u32) -> u32 {
    let before = *n;
    *n += 1;
    before
}

fn identity(kind: impl Hash, receive: u64, nth: u32) -> u64 {
    let mut hasher = Fingerprint::new();
    kind.hash(&mut hasher);
    mix(hasher.finish() ^ mix(receive ^ mix(u64::from(nth))))
}

impl Hook {
    pub(crate) fn new(deliveries: Arc<dyn Deliveries>) -> Self {
        let (sent, created) = (AtomicU32::new(0), AtomicU32::new(0));
        Self { deliveries, last: Mutex::default(), sent, created }
    }

    /// A new actor.
    pub(crate) fn actor(&self, by: &mut Receiving, type_name: &str) -> Hooked {
        let nth = match by.receive {
            0 => self.created.fetch_add(1, Ordering::Relaxed),
            _ => count(&mut by.created),
        };
        let identity = identity(type_name, by.receive, nth);
        Hooked { identity, arrived: Mutex::default() }
    }

    /// A message that is sent. None of the receives: from outside.
    pub(crate) fn transit<M>(
        &self,
        by: Option<&mut Receiving>,
        receiver: u64,
        message: &M,
    ) -> Transit {
        let type_name = std::any::type_name::<M>();
        let (sender, receive, nth) = match by {
            Some(by) if by.receive != 0 => (by.actor, by.receive, count(&mut by.sent)),
            by => {
                let sender = by.map_or(0, |by| by.actor);
                (sender, 0, self.sent.fetch_add(1, Ordering::Relaxed))
            }
        };
        let message = identity((type_name, discriminant(message)), receive, nth);
        Transit { sender, receiver, message, type_name }
    }

    /// The message of a timer.
    pub(crate) fn timer<M>(receiver: u64, timer: u32, message: &M) -> Transit {
        let type_name = std::any::type_name::<M>();
        let message = identity((type_name, discriminant(message)), receiver, timer);
        Transit { sender: 0, receiver, message, type_name }
    }

    /// Says when a message is due, and has it put where it waits until then: in the order of those of its two actors.
    pub(crate) fn post(&self, transit: &Transit, put: impl FnOnce(Instant)) {
        let due = Instant::now() + self.deliveries.delay(transit);
        let mut all = lock(&self.last);
        let last = all.entry((transit.sender, transit.receiver)).or_insert(due);
        *last = due.max(*last);
        put(*last);
    }
}

/// What the thread of the timers does when the time has come.
pub(crate) enum Due<T> {
    /// Tells an actor of its timer.
    Timer(T, u32),
    /// Puts a message into an inbox.
    Arrival(Box<dyn FnOnce() + Send>),
}
