//! What the tool itself could not do. What the tested program does is never an error: that is an
//! [`Outcome`](raddle_trace::Outcome).
//!
//! # Why: Error types are written by hand
//! All but the driver's are in what users' tests compile, where `thiserror` would be two more crates; the driver's is a
//! sentence with an exit code (`DriverError`), with nothing to derive.

use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

use raddle_engine::EngineError;
use raddle_trace::Site;
use raddle_trace::checkpoint::ANEW;

/// Why a search or a replay could not be run. The message says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// An environment variable has a value that does not parse.
    Environment {
        /// Which.
        variable: String,
        /// What it has.
        value: String,
        /// What would parse.
        expected: String,
    },
    /// An environment variable begins with `RADDLE_` and is not known.
    UnknownVariable {
        /// Which.
        variable: String,
        /// The known one that was probably meant.
        nearest: Option<String>,
    },
    /// The strategy does not exist, does not combine, or is not here yet.
    Strategy {
        /// As it was given.
        strategy: String,
        /// What is wrong with it, and what to write instead.
        reason: String,
    },
    /// What was given to replay is no schedule.
    Recording {
        /// As it was given: a token, or a path.
        given: String,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// What an earlier run has learned is there and cannot be read.
    Learned {
        /// The file, and what is wrong with it.
        why: String,
    },
    /// A search cannot go on from the checkpoint that is there.
    Checkpoint {
        /// The file.
        file: String,
        /// What is wrong with it, and what to do.
        why: String,
    },
    /// A search was started inside an execution.
    Nested,
    /// Another OS thread used an object of the running execution.
    Foreign,
    /// An execution stopped moving.
    Hung(Box<Hang>),
    /// The operating system gave no thread to search on.
    Thread {
        /// What it said.
        reason: String,
    },
    /// An explorer panicked, or does not reach every process that can move.
    Explorer {
        /// Which one, and how.
        reason: String,
    },
    /// Executions cannot be run in processes of their own.
    Isolation {
        /// Why, and what to do.
        reason: String,
    },
    /// `cargo raddle` asked for something that this test binary cannot do.
    Host {
        /// What, and what to do.
        reason: String,
    },
    /// Something that should be impossible: a bug of raddle, not of the test.
    Bug {
        /// What is known of it.
        message: String,
    },
}

/// Where an execution stopped moving.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hang {
    /// How long nothing moved.
    pub after: Duration,
    /// Which execution, from 1.
    pub execution: u64,
    /// The number of the task that moved last: 0 is the test's body.
    pub task: u32,
    /// Its last operation; none if no task has done any yet.
    pub site: Option<Site>,
    /// The panics of that execution, a line for each, the first one first. What hangs may follow from them.
    pub panics: String,
    /// If it follows from a panic.
    pub(crate) cut_off: Option<CutOff>,
}

/// An execution that a panic led to where it never came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CutOff {
    /// The options it had taken when the panic was raised.
    pub(crate) options: Vec<u32>,
    /// The setting `rounds` of its search, which a reduction sets by itself.
    pub(crate) rounds: Option<u32>,
    /// It called `abort`; else it hangs.
    pub(crate) aborted: bool,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment { variable, value, expected } => {
                write!(f, "{variable} is `{value}`; it must be {expected}")
            }
            Self::UnknownVariable { variable, nearest: Some(nearest) } => {
                write!(f, "there is no variable {variable}; did you mean {nearest}?")
            }
            Self::UnknownVariable { variable, nearest: None } => write!(
                f,
                "there is no variable {variable}; unset it, or see raddle::Config::with_env for \
                 those there are"
            ),
            Self::Strategy { strategy, reason } => {
                write!(f, "the strategy `{strategy}` cannot be used: {reason}")
            }
            Self::Recording { given, reason } => write!(f, "cannot replay `{given}`: {reason}"),
            Self::Learned { why } => write!(
                f,
                "what earlier runs have learned cannot be read: {why}; remove the file to begin anew"
            ),
            Self::Checkpoint { file, why } => {
                write!(f, "the search cannot go on from the checkpoint {file}: {why}")
            }
            Self::Nested => EngineError::Nested.fmt(f),
            Self::Foreign => EngineError::Foreign.fmt(f),
            Self::Hung(hang) => hang.fmt(f),
            Self::Thread { reason } => write!(
                f,
                "the operating system gave no thread to search on: {reason}; run fewer tests at a \
                 time (cargo test -- --test-threads=1)"
            ),
            Self::Explorer { reason } => EngineError::Explorer(reason.clone()).fmt(f),
            Self::Isolation { reason } => EngineError::Isolation(reason.clone()).fmt(f),
            Self::Host { reason } => write!(f, "the job of cargo raddle cannot be done: {reason}"),
            Self::Bug { message } => write!(
                f,
                "raddle itself panicked: {message}; this is a bug of raddle, please report it \
                 with the test"
            ),
        }
    }
}

impl fmt::Display for Hang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { after, execution, task, site, panics, cut_off } = self;
        if cut_off.as_ref().is_some_and(|cut_off| cut_off.aborted) {
            let panics = panics.trim_end();
            return write!(
                f,
                "execution {execution} aborts the process while a panic unwinds\nWhat came before:\n{panics}\nThe \
                 OS thread that aborts is left behind: what it holds stays held until the process ends."
            );
        }
        if !panics.is_empty() {
            writeln!(f, "a task panicked, and then the execution hangs:\n{}", panics.trim_end())?;
        }
        writeln!(f, "execution {execution} hangs: no task has made a step for {after:?}")?;
        let body = if *task == 0 { " (the test's body)" } else { "" };
        match site {
            Some(site) => writeln!(f, "last to move: task {task}{body} at {site}")?,
            None => writeln!(f, "last to move: task {task}{body}, before its first step")?,
        }
        f.write_str(
            "\
The task, or one that it has spawned since, waits for something that raddle does not control:
- a lock, channel or thread of std, parking_lot or another crate, which a suspended task will
  never let go: use raddle::sync and raddle::thread, also in the code under test
- real input or output, or std::thread::sleep: replace it in the test, or use raddle::thread::sleep
- a loop that does nothing raddle sees: call raddle::hint::spin_loop or raddle::thread::yield_now
raddle controls what is in raddle::sync, raddle::thread, raddle::time and raddle::hint, and nothing
else. If the code only computes for long, set a longer RADDLE_WATCHDOG, or none. The hanging OS
thread is left behind: what it holds stays held until the process ends.",
        )
    }
}

impl std::error::Error for Error {}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Nested => Self::Nested,
            EngineError::Foreign => Self::Foreign,
            EngineError::Isolation(reason) => Self::Isolation { reason },
            EngineError::Explorer(reason) => Self::Explorer { reason },
            EngineError::Schedule(reason) => {
                Self::Recording { given: "the schedule".to_owned(), reason }
            }
            EngineError::Carried => Self::Checkpoint {
                file: "that was read".to_owned(),
                why: format!("it is damaged, or not of this strategy; {ANEW}"),
            },
            other => Self::Bug { message: other.to_string() },
        }
    }
}

impl From<Infallible> for Error {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}
