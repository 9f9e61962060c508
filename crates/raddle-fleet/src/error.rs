//! Why a queue could not do what it was asked for, and what to do about it.

use std::fmt;

/// What kind of problem it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// There is no room on the disk, or in the stream.
    Full,
    /// What is stored cannot be read.
    Corrupt,
    /// What is stored, or the other side, is of another version or of another run.
    Mismatch,
    /// Another process uses it.
    InUse,
    /// The server cannot be reached.
    Unreachable,
    /// The server does not let this user in, or not do this.
    Refused,
    /// A file or a socket failed in another way.
    Failed,
}

/// A queue could not do what it was asked for. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueError {
    problem: Problem,
    text: String,
}

impl QueueError {
    pub(crate) fn new(problem: Problem, text: impl Into<String>) -> Self {
        Self { problem, text: text.into() }
    }

    /// What kind of problem it is.
    #[must_use]
    pub fn problem(&self) -> Problem {
        self.problem
    }
}

impl fmt::Display for QueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for QueueError {}
