//! Why the engine could not do its work.

use std::fmt;

/// The tool could not do its work.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EngineError {
    /// A search was started from inside an execution.
    Nested,
    /// Another OS thread used an object of the execution.
    Foreign,
    /// A schedule that cannot be one of this program's.
    Schedule(String),
    /// Executions cannot be run in processes of their own: why.
    Isolation(String),
    /// An explorer panicked, or does not reach every option: which one, and how.
    Explorer(String),
    /// A search was to go on from what no engine carries.
    Carried,
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nested => f.write_str(
                "a search was started inside an execution of another search; call raddle::check \
                 and raddle::explore from an ordinary test, not from the closure they run",
            ),
            Self::Foreign => f.write_str(
                "another OS thread used an object of the running execution; start threads with \
                 raddle::thread::spawn, and create what a test shares inside the closure that \
                 raddle runs",
            ),
            Self::Carried => f.write_str(
                "what the search was to go on from is damaged, or of another version; begin anew",
            ),
            Self::Schedule(why) => write!(f, "the schedule cannot be replayed: {why}"),
            Self::Explorer(why) => write!(f, "the search cannot go on: {why}"),
            Self::Isolation(why) => {
                write!(f, "an execution could not be run in a process of its own: {why}")
            }
        }
    }
}

impl std::error::Error for EngineError {}
