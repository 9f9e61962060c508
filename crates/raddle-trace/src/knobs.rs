//! The knobs of a search by name: fields of `raddle::Config`, variables, keys of `raddle.toml` and
//! flags are all the same words, and this is the list.

/// One knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knob {
    /// The field: `execution_time`.
    pub name: &'static str,
    /// What it may be set to.
    pub value: Value,
    /// What it is, in one line.
    pub line: &'static str,
}

/// What a knob may be set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// The line of a strategy; read by the registry.
    Strategy,
    /// A whole number, or `none`.
    Number,
    /// A number with a unit of time, or `none`.
    Time,
    /// A number of bytes, or `none`.
    Memory,
    /// A number of bytes.
    Size,
    /// One of these.
    Word(&'static [&'static str]),
}

const FLAG: Value = Value::Word(&["true", "false"]);

/// Every knob that a search can be given from outside.
pub const KNOBS: &[Knob] = &[
    knob("strategy", Value::Strategy, "which executions, in which order"),
    knob("preemptions", Value::Number, "short for preemptions(k) in the strategy"),
    knob("executions", Value::Number, "executions of one search"),
    knob("time", Value::Time, "wall time of one search"),
    knob(
        "execution_time",
        Value::Time,
        "wall time of one execution; one that takes longer is rejected",
    ),
    knob("steps", Value::Number, "steps of one execution"),
    knob("tasks", Value::Number, "tasks of one execution, timers included"),
    knob("memory", Value::Memory, "bytes that the strategy may hold for what it has not run"),
    knob("seed", Value::Number, "the seed of all that is drawn"),
    knob("timeouts", Value::Word(&["any", "idle"]), "when a timed wait may end by its timeout"),
    knob("spurious", FLAG, "whether waits wake, and weak exchanges fail, for no reason"),
    knob(
        "data",
        Value::Word(&["decisions", "seeded"]),
        "whether values of raddle::rng are decisions",
    ),
    knob("traces", FLAG, "whether distinct partial orders are counted"),
    knob(
        "pairs",
        Value::Word(&["off", "count", "keep"]),
        "whether orders of statements are counted, and kept for the next run",
    ),
    knob("teardown", Value::Word(&["unwind", "leak"]), "what happens to tasks that are unfinished"),
    knob(
        "isolation",
        Value::Word(&["none", "process"]),
        "whether each execution runs in a process of its own, so that statics start anew",
    ),
    knob("stack_size", Value::Size, "bytes of stack for each task"),
    knob("watchdog", Value::Time, "how long an execution may go without a step"),
    knob(
        "minimise",
        Value::Time,
        "wall time for making a failure small; none: it is left as it is",
    ),
    knob(
        "checkpoint_every",
        Value::Time,
        "time from one checkpoint of a search to the next; none: only when it is stopped",
    ),
    knob("explain", FLAG, "whether a failure is explained: which orders of steps matter"),
];

const fn knob(name: &'static str, value: Value, line: &'static str) -> Knob {
    Knob { name, value, line }
}

impl Knob {
    /// The variable: `RADDLE_EXECUTION_TIME`.
    ///
    /// ```
    /// let knob = raddle_trace::knobs::find("execution_time").expect("a knob");
    /// assert_eq!(knob.variable(), "RADDLE_EXECUTION_TIME");
    /// assert_eq!(knob.flag(), "execution-time");
    /// ```
    #[must_use]
    pub fn variable(&self) -> String {
        format!("RADDLE_{}", self.name.to_ascii_uppercase())
    }

    /// The flag, without its dashes: `execution-time`.
    #[must_use]
    pub fn flag(&self) -> String {
        self.name.replace('_', "-")
    }
}

impl Value {
    /// What a value must be, to stand after "it must be".
    #[must_use]
    pub fn expected(&self) -> String {
        match self {
            Self::Strategy => "a strategy such as auto, random or dfs".to_owned(),
            Self::Number => "a whole number such as 5000, or none".to_owned(),
            Self::Time => "a time such as 500ms, 10s, 2m or 1h, or none".to_owned(),
            Self::Memory => "a number of bytes such as 512m or 4g, or none".to_owned(),
            Self::Size => "a number of bytes such as 262144, 256k or 2m".to_owned(),
            Self::Word(words) => match words.split_last() {
                Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
                _ => words.concat(),
            },
        }
    }

    /// Whether a text is such a value. Of a strategy only that it is not empty: the registry, which
    /// the driver does not link, knows the rest.
    #[must_use]
    pub fn accepts(&self, text: &str) -> bool {
        let none = text == "none";
        match self {
            Self::Strategy => !text.is_empty(),
            Self::Number => none || number(text, &[""]),
            Self::Time => none || number(text, &["us", "ms", "s", "m", "h"]),
            Self::Memory => none || number(text, &["", "k", "m", "g", "K", "M", "G"]),
            Self::Size => number(text, &["", "k", "m", "g", "K", "M", "G"]),
            Self::Word(words) => words.contains(&text),
        }
    }
}

/// Digits, with `_` between them as in Rust, and one of these units right after.
fn number(text: &str, units: &[&str]) -> bool {
    let at = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(at);
    let begins = digits.starts_with(|first: char| first.is_ascii_digit());
    begins && digits.replace('_', "").parse::<u64>().is_ok() && units.contains(&unit)
}

pub use crate::spelling::nearest;

/// The knob of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Knob> {
    KNOBS.iter().find(|knob| knob.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_accepted_or_not() {
        let accepts = |name: &str, text: &str| find(name).expect("a knob").value.accepts(text);
        for (name, right, wrong) in [
            ("executions", ["10_000", "none"], ["many", "-1"]),
            ("time", ["500ms", "1h"], ["10", "1.5s"]),
            ("memory", ["512m", "none"], ["4t", "m"]),
            ("stack_size", ["64k", "65536"], ["none", ""]),
            ("timeouts", ["any", "idle"], ["never", ""]),
            ("traces", ["true", "false"], ["yes", "1"]),
        ] {
            assert!(right.iter().all(|text| accepts(name, text)), "{name}");
            assert!(!wrong.iter().any(|text| accepts(name, text)), "{name}");
        }
    }
}
