//! What must be known of an execution even if its process dies in the middle of it.

use std::fmt;
use std::panic::Location;

use crate::op::{Name, TaskId};
use crate::strategy::Taken;

/// What a decision was about, to notice when a replayed prefix goes another way.
#[derive(Clone, Copy, Debug)]
pub struct DecisionMark {
    pub(crate) of: u32,
    pub(crate) task: TaskId,
    pub(crate) site: &'static Location<'static>,
    /// Who had announced an op where before it, folded into a number.
    pub(crate) trail: u64,
}

/// Hears of names and decisions as they come about, and keeps them where another process finds them.
pub trait CrashLog: fmt::Debug {
    /// A task was named for the first time in this search.
    fn named(&self, name: Name);
    /// A decision was taken, by whomever.
    fn decided(&self, taken: Taken, mark: DecisionMark);
}
