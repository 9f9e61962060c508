//! Passive tasks: lanes without code of their own. Their steps are run by the task that asks which moves next.
//!
//! The messages from one actor to another are such a lane: each step hands one to the receiver, whose
//! handler runs to its end. A handler is one step, so it needs no stack that could be left and come
//! back to. It runs on the stack of the task that waits, or on the host's.

use std::panic::Location;
use std::sync::Arc;

use crate::op::{Access, ObjectId};
use crate::receive::{Effects, Receive, ReceiveName};
use crate::strategy::Decided;

/// What the steps of passive tasks do.
pub trait PassiveWork: Send + Sync {
    /// Takes the next step of the passive task with this token.
    fn work(&self, token: u32) -> Worked;

    /// The step has been counted: now others can be enabled by it, or disabled.
    fn worked(self: Arc<Self>, token: u32);

    /// The last step as a person reads it.
    fn show(&self) -> String;

    /// What the next step of the passive task with this token would receive, if
    /// [messages are observed](crate::rt::messages_are_observed).
    fn delivery(&self, token: u32) -> Option<Receive> {
        let _ = token;
        None
    }

    /// A hash of which messages are older than which others that wait for the same actor, on the same condition.
    fn ages(&self) -> u64 {
        0
    }

    /// What the last step received and did, on the same condition.
    fn effects(&self) -> Option<Effects> {
        None
    }

    /// How a person calls what the last step received, on the same condition.
    fn receive_name(&self) -> ReceiveName {
        ReceiveName::default()
    }
}

/// What a step of a passive task touched.
#[derive(Clone, Copy, Debug)]
pub struct Worked {
    /// First what the task had announced.
    pub touched: [(ObjectId, Access); 2],
    /// See [`Step::shared_resources`](crate::strategy::Step::shared_resources).
    pub shared_resources: u128,
    /// See [`Step::decided`](crate::strategy::Step::decided).
    pub decided: Decided,
    /// See [`Step::sent_by`](crate::strategy::Step::sent_by).
    pub sent_by: Option<u64>,
    /// Where the message was sent.
    pub site: &'static Location<'static>,
}

/// The part of a task that only passive ones have.
pub(crate) struct Passive {
    pub(crate) work: Arc<dyn PassiveWork>,
    pub(crate) token: u32,
    /// What its next step will act on.
    pub(crate) object: ObjectId,
    /// Whose lane it is: see [`Lane::Mailbox`](crate::strategy::Lane::Mailbox).
    pub(crate) mailbox: ObjectId,
}

impl std::fmt::Debug for Passive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Passive").field("token", &self.token).finish_non_exhaustive()
    }
}
