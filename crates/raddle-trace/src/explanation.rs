//! Why an execution fails, as far as trying can tell.

use serde::{Deserialize, Serialize};

use crate::trace::{Event, Trace};

/// What came second of two steps that could have come in the other order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Second {
    /// This step: an index into the trace's events.
    Step(u32),
    /// What this task waits for at the end: an index into the trace's tasks.
    Waiting(u32),
}

/// Two steps that could have come in the other order, which decides whether the execution fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pivot {
    /// The step that came first: an index into the trace's events.
    pub first: u32,
    /// What came second.
    pub second: Second,
    /// How the execution ends if it comes first and all else is kept as far as it can be.
    pub otherwise: String,
}

/// The step after which the execution could not be saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// An index into the trace's events. None: every execution that was tried fails.
    pub step: Option<u32>,
    /// Ways to go on from there that were tried, at random. All fail.
    pub tried: u64,
}

/// Why an execution fails.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The races whose order matters. In the order of their second steps.
    pub pivots: Vec<Pivot>,
    /// Races that were tried in the other order.
    pub races: u64,
    /// Where it was lost; none if that could not be found out with the steps there were.
    pub lost: Option<Lost>,
}

impl Explanation {
    /// What was found out about a failure.
    #[must_use]
    pub fn new(pivots: Vec<Pivot>, races: u64, lost: Option<Lost>) -> Self {
        Self { pivots, races, lost }
    }
}

impl Trace {
    /// The steps: the events without those that only show a value which the code asked for. With their
    /// places among the events.
    pub fn steps(&self) -> impl Iterator<Item = (u32, &Event)> {
        let is_value = |event: &Event| event.object.is_none() && event.op.starts_with("choose(");
        (0..).zip(&self.events).filter(move |(_, event)| !is_value(event))
    }
}
