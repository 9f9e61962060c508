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
    /// So many threads, with so many accesses each to the thread's own variable.
    Own(u32, u32),
    /// So many threads, with so many pairs each of a load and a store, on one variable.
    Pairs(u32, u32),
    /// lastzero of so many writers, dealt to so many threads, and a reader.
    LastZero(u32, u32),
    /// filesystem of so many processes, dealt to so many threads.
    FileSystem(u32, u32),
}

impl Program {
    /// The ops of one execution, by the program's text and not by what a tool counts as a step.
    ///
    /// Spawns and joins are not counted: they are steps in some tools and not in others. Nor are
    /// those whose number depends on the schedule: the waits of `condvar`, the search for a zero or
    /// for a free block beyond the first look.
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
            Self::Own(threads, accesses) => (threads * accesses) as u64,
            Self::Pairs(threads, pairs) => (threads * pairs * 2) as u64,
            // A load and a store of each writer, and the first load of the reader.
            Self::LastZero(writers, _) => (writers * 2 + 1) as u64,
            // Two locks and two unlocks of each process, if it finds a block at once.
            Self::FileSystem(processes, _) => (processes * 4) as u64,
        }
    }

    /// The threads besides the main thread.
    #[must_use]
    pub const fn threads(self) -> u32 {
        match self {
            Self::Tiny | Self::Long | Self::Channel | Self::Condvar => 2,
            Self::Locks => 3,
            Self::Empty(threads)
            | Self::Own(threads, _)
            | Self::Pairs(threads, _)
            | Self::FileSystem(_, threads) => threads,
            Self::LastZero(_, threads) => threads + 1,
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
            Self::Own(threads, accesses) => write!(f, "own-{threads}x{accesses}"),
            Self::Pairs(threads, pairs) => write!(f, "pairs-{threads}x{pairs}"),
            Self::LastZero(writers, threads) => write!(f, "lastzero-{writers}x{threads}"),
            Self::FileSystem(processes, threads) => write!(f, "filesystem-{processes}x{threads}"),
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
            "no program `{}`: there are tiny, long, locks, channel, condvar, empty-<threads>, and \
             own, pairs, lastzero and filesystem with -<n>x<n>",
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
            _ => sized(name).ok_or_else(|| UnknownProgram(name.to_owned())),
        }
    }
}

/// A program with numbers in its name.
fn sized(name: &str) -> Option<Program> {
    let (kind, numbers) = name.split_once('-')?;
    if kind == "empty" {
        return Some(Program::Empty(numbers.parse().ok()?));
    }
    let (first, second) = numbers.split_once('x')?;
    // A program without threads, or whose threads do nothing, is none to measure.
    let at_least_one = |number: &str| number.parse().ok().filter(|&number: &u32| number > 0);
    let (first, second) = (at_least_one(first)?, at_least_one(second)?);
    Some(match kind {
        "own" => Program::Own(first, second),
        "pairs" => Program::Pairs(first, second),
        "lastzero" => Program::LastZero(first, second),
        "filesystem" => Program::FileSystem(first, second),
        _ => return None,
    })
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
impl Program {
    /// One of each.
    pub(crate) fn samples() -> impl Iterator<Item = Self> {
        [Self::Tiny, Self::Long, Self::Locks, Self::Channel, Self::Condvar].into_iter().chain([
            Self::Empty(6),
            Self::Own(3, 2),
            Self::Pairs(2, 3),
            Self::LastZero(10, 3),
            Self::FileSystem(18, 4),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_one_name() {
        for program in Program::samples() {
            assert_eq!(program.to_string().parse(), Ok(program));
        }
        for name in ["", "huge", "empty", "empty-", "empty-x", "own-3", "pairs-3x0", "sum-3x2"] {
            assert_eq!(name.parse::<Program>(), Err(UnknownProgram(name.to_owned())));
        }
    }
}
