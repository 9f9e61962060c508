//! What `cargo raddle test --format json` writes: one event on each line, each with its version.

use serde::{Deserialize, Serialize};

use crate::progress::Progress;
use crate::report::Report;

/// The version of [`Line`] that this crate writes. It grows when a field changes its meaning or goes;
/// new fields and events may come without.
pub const VERSION: u32 = 1;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The version of this format: [`VERSION`].
    pub version: u32,
    /// Milliseconds since the run began.
    pub at_ms: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: RunEvent,
}

/// Which test.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TestId {
    /// The package.
    pub package: String,
    /// The target of the package: a test file, or the library itself.
    pub target: String,
    /// As the test harness calls it.
    pub test: String,
}

/// What came of a saved schedule that was tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Retried {
    /// It fails as before.
    Fails,
    /// It passes now.
    Fixed,
    /// The test does something else under it: it has changed since.
    Stale,
}

/// How a test of a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// As it should.
    Passed,
    /// Not as it should.
    Failed,
    /// Ctrl-C ended its search before that was through, and no failure was found until then. Its report, if there is one, has
    /// the verdict `passed`, which speaks of the part that was run.
    Interrupted,
    /// Nothing can be said: the search could not be run, or not go on.
    Inconclusive,
}

/// What happens in a run of tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RunEvent {
    /// The tests were built and found.
    RunStarted {
        /// How many will be run.
        tests: u64,
        /// Tests that are marked to be ignored.
        ignored: u64,
    },
    /// A test begins.
    TestStarted {
        /// Which.
        #[serde(flatten)]
        test: TestId,
    },
    /// How far its search is.
    Progress {
        /// Which.
        #[serde(flatten)]
        test: TestId,
        /// That.
        progress: Box<Progress>,
    },
    /// A saved schedule was tried again.
    Regression {
        /// Which test.
        #[serde(flatten)]
        test: TestId,
        /// The file.
        file: String,
        /// What came of it.
        retried: Retried,
    },
    /// A test is over.
    TestFinished {
        /// Which.
        #[serde(flatten)]
        test: TestId,
        /// How.
        ending: Ending,
        /// What the search found; none if it could not be run.
        report: Option<Box<Report>>,
        /// What failure the test is to have, with its article.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expected: Option<String>,
        /// Why nothing can be said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Where the failure was saved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        saved: Option<String>,
    },
    /// The last line.
    RunFinished {
        /// Tests that passed.
        passed: u64,
        /// Tests that failed.
        failed: u64,
        /// Tests of which nothing can be said.
        inconclusive: u64,
        /// Tests whose searches Ctrl-C has ended.
        #[serde(default)]
        interrupted: u64,
        /// Tests that were not begun, because the run was stopped.
        not_run: u64,
        /// The exit code.
        exit_code: u8,
    },
}
