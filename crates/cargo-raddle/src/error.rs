//! Why a command could not do its work, and with which code it ends.

use raddle_trace::exit;

/// A sentence that says what is wrong and what to do, and the exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DriverError {
    pub(crate) code: u8,
    pub(crate) text: String,
}

impl DriverError {
    /// The user asked for something that cannot be.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self { code: exit::USAGE, text: text.into() }
    }

    /// Cargo did not build.
    pub(crate) fn build(text: impl Into<String>) -> Self {
        Self { code: exit::BUILD, text: text.into() }
    }

    /// There is nothing to run.
    pub(crate) fn no_tests(text: impl Into<String>) -> Self {
        Self { code: exit::NO_TESTS, text: text.into() }
    }

    /// The tool could not do its work.
    pub(crate) fn tool(text: impl Into<String>) -> Self {
        Self { code: exit::INCONCLUSIVE, text: text.into() }
    }
}
