//! Panics of tasks: what the hook keeps of them, and what a payload says.
//!
//! # Why: One panic hook
//! The place of a panic is known to the hook alone. Ours holds no setting and hands on whatever happens outside
//! executions.

use std::any::Any;

use raddle_trace::Site;

/// How many panics of one task are kept; of more, the latest. A task may catch as many as it likes.
const MOST_OF_ONE: usize = 8;

/// A panic as the hook saw it, before anything was unwound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Raised {
    pub(crate) message: String,
    /// None if it was raised again, without the hook.
    pub(crate) site: Option<Site>,
    /// Its place among the panics of the execution.
    pub(crate) nth: u32,
}

/// The panics of one task, which may have caught them.
#[derive(Debug, Default)]
pub(crate) struct AllRaised(Vec<Raised>);

impl AllRaised {
    pub(crate) fn push(&mut self, raised: Raised) {
        if self.0.len() == MOST_OF_ONE {
            self.0.remove(0);
        }
        self.0.push(raised);
    }

    /// The latest with this message: a payload does not say where it comes from. It is no longer among those that
    /// the task has caught.
    pub(crate) fn take(&mut self, message: &str) -> Option<Raised> {
        let at = self.0.iter().rposition(|raised| raised.message == message)?;
        Some(self.0.remove(at))
    }

    pub(crate) fn first(&self) -> Option<&Raised> {
        self.0.first()
    }

    pub(crate) fn last(&self) -> Option<&Raised> {
        self.0.last()
    }
}

/// The text of a panic's payload.
pub(crate) fn message(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a value that is not text".to_owned()
    }
}
