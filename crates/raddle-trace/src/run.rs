//! Several searches together: what each found, and how it got there. What a driver keeps of one run
//! over many tests, or of one test under many strategies.

use serde::{Deserialize, Serialize};

use crate::progress::Progress;
use crate::report::Report;

/// The version of [`Run`] that this crate writes.
pub const VERSION: u32 = 1;

/// Several searches. Those of one test, by the name in their reports, are compared with each other.
///
/// ```
/// let run: raddle_trace::Run = serde_json::from_str(r#"{"version": 1, "tried": []}"#)?;
/// assert_eq!(run, raddle_trace::Run::default());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The version of this format: [`VERSION`].
    pub version: u32,
    /// What was run, in a few words: a package, a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Wall time of all in milliseconds.
    #[serde(default)]
    pub elapsed_ms: u64,
    /// What it was run with.
    #[serde(default, skip_serializing_if = "About::is_empty")]
    pub about: About,
    /// The searches, in the order in which they are to be shown.
    pub tried: Vec<Tried>,
}

impl Default for Run {
    /// Nothing was run.
    fn default() -> Self {
        let about = About::default();
        Self { version: VERSION, title: None, elapsed_ms: 0, about, tried: Vec::new() }
    }
}

/// What a run was run with, as far as it is known: what one needs to see the same again. Seeds are in the reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Settings that were given, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<(String, String)>,
    /// The compiler and its version, as it says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiler: Option<String>,
    /// The revision of the source, and whether it was changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

impl About {
    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One search: a test under a strategy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// What came of it.
    pub report: Report,
    /// How far it was, from time to time, in order. The last is the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Sample>,
    /// Where the page of its failure is, relative to that of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    /// Whether the test is to fail in just this way.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expected: bool,
}

/// How far a search was at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Executions, traces, the estimate; its `elapsed_ms` says when.
    pub progress: Progress,
    /// Ordered pairs of places in the source that were seen to follow each other on one object, in
    /// two tasks, if they are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs: Option<u64>,
}
