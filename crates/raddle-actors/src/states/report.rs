//! What a search over states found, as data and as text.

use std::fmt;

use raddle_trace::{Failure, Guarantee, StateKey};

use crate::model::PropertyKind;
use crate::snapshot::Described;

/// Why a model cannot be searched state by state. Fits after "could not search states: ".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub(crate) why: String,
    /// Whether an explorer is what is wrong, and not the model.
    pub(crate) mistaken: bool,
}

impl Refused {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), mistaken: false }
    }

    /// An explorer is wrong.
    pub(super) fn explorer(why: impl Into<String>) -> Self {
        Self { why: why.into(), mistaken: true }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Refused {}

/// Why a search over states stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stopped {
    /// It has visited all states, within its depth.
    Covered,
    /// A violation.
    Violated,
    /// All that needs at most as many delays as were asked for was visited, and something is left.
    Delays,
    /// The limit on states.
    States,
    /// The limit on bytes.
    Bytes,
    /// The caller.
    Caller,
}

impl Stopped {
    /// The limit that ended it, if one did.
    pub(super) fn limit(self) -> Option<&'static str> {
        match self {
            Self::Covered | Self::Violated => None,
            Self::Delays => Some("the limit on delays"),
            Self::States => Some("the limit on states"),
            Self::Bytes => Some("the limit on bytes"),
            Self::Caller => Some("the caller"),
        }
    }
}

/// How far a search over states is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visited {
    /// Different states so far, or pairs as [`Searched::unique`] has them.
    pub unique: u64,
    /// Steps so far.
    pub transitions: u64,
    /// States that are yet to be gone on from.
    pub waiting: u64,
    /// Bytes for what has been seen and what is yet to be gone on from.
    pub bytes: usize,
}

/// A property, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Its name.
    pub name: String,
    /// What it says.
    pub kind: PropertyKind,
    /// Of a goal: it was reached. Of others: no state was seen in which it does not hold.
    pub holds: bool,
}

/// One step of a violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Sender and receiver.
    pub link: String,
    /// What.
    pub what: String,
    /// The values that were decided in it.
    pub values: Vec<u32>,
}

impl From<Described> for Delivery {
    fn from(Described { link, what, values }: Described) -> Self {
        Self { link, what, values }
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.link)?;
        if !self.what.is_empty() {
            write!(f, ": {}", self.what)?;
        }
        if !self.values.is_empty() {
            write!(f, " (values {:?})", self.values)?;
        }
        Ok(())
    }
}

/// What must not be, and how it came about.
#[derive(Clone, Debug)]
pub struct Violation {
    /// What does not hold.
    pub what: String,
    /// The steps that lead there from the beginning.
    pub steps: Vec<Delivery>,
    /// Of a stratified search: these steps need at most so many delays. With an increment of one, exactly so many.
    pub delays: Option<u32>,
    /// The same as an execution of the engine: a schedule, which `raddle::replay` takes, and a trace.
    /// None if the model did something else when it was run once more.
    pub failure: Option<Failure>,
    /// What that execution decides, as options.
    pub(crate) options: Vec<u32>,
}

/// What a search over states found.
#[derive(Clone, Debug)]
pub struct Searched {
    /// The search, as text.
    pub strategy: String,
    /// Different states; of an exact stratified search, different pairs of a state and its explorer's state.
    pub unique: u64,
    /// What was counted as different.
    pub keys: StateKey,
    /// States that were made: the first, and one by each step that did not panic.
    pub states: u64,
    /// Steps.
    pub transitions: u64,
    /// Steps to the state that is farthest along the ways that were taken first.
    pub depth: u32,
    /// States in which nothing is left to be handled.
    pub finals: u64,
    /// The properties.
    pub properties: Vec<Judged>,
    /// The violation, if there is one.
    pub violation: Option<Violation>,
    /// Bytes for what has been seen, at the end.
    pub seen_bytes: usize,
    /// Why it stopped.
    pub stopped: Stopped,
    /// What was covered.
    pub guarantee: Guarantee,
}

impl Searched {
    /// Goals that were not reached.
    pub fn unreached(&self) -> impl Iterator<Item = &Judged> {
        self.properties.iter().filter(|one| one.kind == PropertyKind::Goal && !one.holds)
    }

    /// Whether nothing is wrong: no violation, and every goal was reached.
    #[must_use]
    pub fn is_pass(&self) -> bool {
        self.violation.is_none() && self.unreached().next().is_none()
    }
}

impl Searched {
    /// How many different ones there were, and of what.
    pub(super) fn different(&self) -> String {
        match self.keys {
            StateKey::State => format!("{} of them different", self.unique),
            keys => format!("{} different {}", self.unique, keys.noun(self.unique)),
        }
    }
}

impl fmt::Display for Searched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(violation) = &self.violation {
            writeln!(f, "failed: {}", violation.what)?;
            for (index, step) in violation.steps.iter().enumerate() {
                writeln!(f, "{:>4}  {step}", index + 1)?;
            }
        }
        for goal in self.unreached() {
            writeln!(f, "failed: no state reached the goal \"{}\"", goal.name)?;
        }
        if self.is_pass() {
            writeln!(f, "passed")?;
        }
        writeln!(f, "covered: {}", self.guarantee)?;
        write!(
            f,
            "{}: {} states, {}, {} final; {} steps, depth {}",
            self.strategy,
            self.states,
            self.different(),
            self.finals,
            self.transitions,
            self.depth
        )?;
        if let Some(limit) = self.stopped.limit() {
            write!(f, "; stopped by {limit}")?;
        }
        for one in &self.properties {
            let what = match (one.kind, one.holds) {
                (PropertyKind::Goal, true) => "reached",
                (PropertyKind::Goal, false) => "not reached",
                (_, true) => "holds",
                (_, false) => "does not hold",
            };
            write!(f, "\n{} \"{}\": {what}", one.kind, one.name)?;
        }
        Ok(())
    }
}
