//! A failure in a file, with the test it belongs to: under `target/raddle/`, and as a regression
//! under `raddle-regressions/`.

use serde::{Deserialize, Serialize};

use crate::report::Failure;

/// A failure and whose it is. As JSON it is that of the failure with a few fields more, so whatever
/// reads a failure reads this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedFailure {
    /// The package of the test, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// The target of the package: `tour` of `tests/tour.rs`, or the package itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The test, as the harness calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// What failed.
    #[serde(flatten)]
    pub failure: Failure,
}

/// The name of a file for a test, without its extension.
///
/// ```
/// assert_eq!(raddle_trace::saved::file_stem("queue::is fifo"), "queue.is-fifo");
/// ```
#[must_use]
pub fn file_stem(test: &str) -> String {
    let kept = |letter: char| letter.is_alphanumeric() || "._-".contains(letter);
    let name = test.replace("::", ".").replace(|letter| !kept(letter), "-");
    // Leaves room for a number and an extension on every file system.
    name.chars().take(200).collect()
}
