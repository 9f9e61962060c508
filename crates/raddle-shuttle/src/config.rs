//! What a test is run with.

use std::path::PathBuf;
use std::time::Duration;

/// Settings of a [`Runner`](crate::Runner).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Has no meaning here: stacks grow up to a limit that `RADDLE_*` variables do not change.
    pub stack_size: usize,
    /// What is done with the schedule of a failure besides the report, which always has it.
    pub failure_persistence: FailurePersistence,
    /// How many steps an execution may have.
    pub max_steps: MaxSteps,
    /// At most for so long.
    pub max_time: Option<Duration>,
    /// Has no meaning here.
    pub silence_warnings: bool,
    /// Has no meaning here.
    pub record_steps_in_span: bool,
    /// Has no meaning here: after a failure nothing of the test runs on.
    pub ungraceful_shutdown_config: UngracefulShutdownConfig,
}

impl Config {
    /// At most 1,000,000 steps, no limit of time.
    #[must_use]
    pub fn new() -> Self {
        Self {
            stack_size: 0xf000,
            failure_persistence: FailurePersistence::Print,
            max_steps: MaxSteps::FailAfter(1_000_000),
            max_time: None,
            silence_warnings: false,
            record_steps_in_span: false,
            ungraceful_shutdown_config: UngracefulShutdownConfig::new(),
        }
    }

    /// What is asked for and has no meaning here.
    pub(crate) fn differences(&self) -> Vec<&'static str> {
        let UngracefulShutdownConfig {
            immediately_return_on_panic,
            continuation_function_behavior,
        } = self.ungraceful_shutdown_config;
        let drops = matches!(continuation_function_behavior, ContinuationFunctionBehavior::Drop);
        let fields = [
            (
                self.stack_size != Self::new().stack_size,
                "Config::stack_size has no meaning here: stacks grow",
            ),
            (
                self.record_steps_in_span,
                "Config::record_steps_in_span has no meaning here: the report of a failure has its steps",
            ),
            (
                immediately_return_on_panic || drops,
                "Config::ungraceful_shutdown_config has no meaning here: after a failure nothing of the test runs on",
            ),
        ];
        fields.into_iter().filter(|(asked, _)| *asked).map(|(_, text)| text).collect()
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

/// What is done with the schedule of a failure besides the report.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailurePersistence {
    /// Nothing. The report has it all the same.
    None,
    /// Nothing. The report has it.
    Print,
    /// It is written to a file `schedule000.txt` or the next number that is free, in this directory or in the current one.
    File(Option<PathBuf>),
}

/// How many steps an execution may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MaxSteps {
    /// As many as it needs, up to raddle's own limit of 1,000,000.
    None,
    /// The test fails if an execution has more.
    FailAfter(usize),
    /// An execution that has more is left there, and the next one begins.
    ContinueAfter(usize),
}

/// Has no meaning here.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ContinuationFunctionBehavior {
    /// Has no meaning here.
    Drop,
    /// Has no meaning here.
    Leak,
}

impl ContinuationFunctionBehavior {
    /// `Leak`.
    #[must_use]
    pub const fn new() -> Self {
        Self::Leak
    }
}

impl Default for ContinuationFunctionBehavior {
    fn default() -> Self {
        Self::new()
    }
}

/// Has no meaning here: after a failure nothing of the test runs on.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct UngracefulShutdownConfig {
    /// Has no meaning here.
    pub immediately_return_on_panic: bool,
    /// Has no meaning here.
    pub continuation_function_behavior: ContinuationFunctionBehavior,
}

impl UngracefulShutdownConfig {
    /// The one there is.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            immediately_return_on_panic: false,
            continuation_function_behavior: ContinuationFunctionBehavior::new(),
        }
    }
}

impl Default for UngracefulShutdownConfig {
    fn default() -> Self {
        Self::new()
    }
}
