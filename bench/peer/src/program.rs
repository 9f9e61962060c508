//! The names of the measured programs, and how many ops each does.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A measured program. What each does is in `programs.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Program {
    /// 2 threads × 3 atomic ops on one atomic.
    Tiny,
    /// 2 threads × 1,000 ops, each on the thread's own atomic.
    Long,
    /// 3 threads × 2 sections on one lock.
    Locks,
    /// 2 producers send 4 messages in all to the main thread.
    Channel,
    /// A bounded buffer for 1 item, 1 producer, 1 consumer, 3 items.
    Condvar,
    /// This many threads that do nothing, spawned and joined.
    Empty(u32),
}

impl Program {
    /// The ops of one execution, by the program's text and not by what a tool counts as a step.
    ///
    /// Spawns and joins are not counted: they are steps in some tools and not in others. Nor are
    /// the waits of `condvar`, whose number depends on the schedule.
    #[must_use]
    pub const fn ops(self) -> u64 {
        match self {
            Self::Tiny => 2 * 3,
            Self::Long => 2 * 1_000,
            // Lock and unlock.
            Self::Locks => 3 * 2 * 2,
            // Send and receive.
            Self::Channel => 4 * 2,
            // Lock, notify and unlock for the put and for the take of each item.
            Self::Condvar => 3 * 2 * 3,
            Self::Empty(_) => 0,
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tiny => f.write_str("tiny"),
            Self::Long => f.write_str("long"),
            Self::Locks => f.write_str("locks"),
            Self::Channel => f.write_str("channel"),
            Self::Condvar => f.write_str("condvar"),
            Self::Empty(threads) => write!(f, "empty-{threads}"),
        }
    }
}

/// The name is not one of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownProgram(String);

impl fmt::Display for UnknownProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no program `{}`: there are tiny, long, locks, channel, condvar and empty-<threads>",
            self.0
        )
    }
}

impl std::error::Error for UnknownProgram {}

impl FromStr for Program {
    type Err = UnknownProgram;

    fn from_str(name: &str) -> Result<Self, UnknownProgram> {
        match name {
            "tiny" => Ok(Self::Tiny),
            "long" => Ok(Self::Long),
            "locks" => Ok(Self::Locks),
            "channel" => Ok(Self::Channel),
            "condvar" => Ok(Self::Condvar),
            _ => name
                .strip_prefix("empty-")
                .and_then(|threads| threads.parse().ok())
                .map(Self::Empty)
                .ok_or_else(|| UnknownProgram(name.to_owned())),
        }
    }
}

impl TryFrom<String> for Program {
    type Error = UnknownProgram;

    fn try_from(name: String) -> Result<Self, UnknownProgram> {
        name.parse()
    }
}

impl From<Program> for String {
    fn from(program: Program) -> Self {
        program.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_one_name() {
        for program in [Program::Tiny, Program::Long, Program::Locks, Program::Channel]
            .into_iter()
            .chain([Program::Condvar, Program::Empty(6)])
        {
            assert_eq!(program.to_string().parse(), Ok(program));
        }
        for name in ["", "huge", "empty", "empty-", "empty-x"] {
            assert_eq!(name.parse::<Program>(), Err(UnknownProgram(name.to_owned())));
        }
    }
}
