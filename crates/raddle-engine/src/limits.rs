//! Budgets. They belong to the engine: no strategy counts for itself, and only the caller has a
//! clock.

/// Limits of a search and of each of its executions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Executions of the search.
    pub executions: u64,
    /// Steps of one execution.
    pub steps: u64,
    /// Tasks of one execution, timers included.
    pub tasks: u32,
    /// Yields and fired timeouts in a row that change nothing: then it is a livelock.
    pub fruitless: u64,
    /// Steps in a row, of all tasks, that change nothing: each further one counts as a yield of its task.
    /// So a loop that waits for another task and does not yield is treated as if it did.
    pub idle: u64,
    /// Bytes that a strategy may hold for alternatives it knows of.
    pub frontier_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            executions: u64::MAX,
            steps: 1_000_000,
            tasks: 10_000,
            fruitless: 5_000,
            idle: 50,
            frontier_bytes: 4 << 30,
        }
    }
}

/// What to do with tasks that are unfinished when an execution ends early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Teardown {
    /// After a failure forget them and their stacks, so that nothing of the test runs any more that could end
    /// the process or hang before the failure is reported. Otherwise unwind them, which frees what they hold.
    ///
    /// At most [`MOST_KEPT`] stacks of a process are kept so. If there are more, the rest are unwound.
    #[default]
    Auto,
    /// Unwind them, so that destructors run, after failures too.
    Unwind,
    /// Forget them and their stacks, always.
    Leak,
}

/// How many stacks of unfinished tasks a process keeps after failures before [`Teardown::Auto`] unwinds them:
/// some 250 MiB, if their tasks hold little else.
pub const MOST_KEPT: u64 = 16_384;

/// Whether the search may go on: the caller's answer, by its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Go on.
    No,
    /// This execution has taken too long: reject it and go on with the next.
    Execution,
    /// End the search.
    Search,
    /// This execution does not come back. Only an execution in a process of its own hears that: it is
    /// ended, and counts as one that hangs.
    Hang {
        /// How long nothing has moved.
        after_ms: u64,
    },
}

/// When the caller is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lap {
    /// Executions finished.
    pub executions: u64,
    /// Steps of the execution that runs; 0 between executions.
    pub steps: u64,
}
