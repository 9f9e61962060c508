//! How one execution ended: what the program did, as data.
//!
//! # Why: The first panic leads
//! Of several panics the earliest that was not handled is the one to look at, or what it comes of if it only passes on
//! another (`Panic::is_passed_on`). A deadlock, livelock or limit after it is told as what followed.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::schedule::{TaskName, task_label};
use crate::trace::{ObjectName, Site};

/// A panic that was neither caught nor taken by a join.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Panic {
    /// Who panicked: an index into the trace's tasks.
    pub task: u32,
    /// The message, if the payload was text.
    pub message: String,
    /// Where, if known.
    pub site: Option<Site>,
}

impl Panic {
    /// Whether it only passes on what another task did, by its message: it unwrapped or asserted what a `join` gave,
    /// or a lock that is poisoned, or ended a scope whose thread had panicked.
    ///
    /// ```
    /// use raddle_trace::Panic;
    ///
    /// let panic = |message: &str| Panic { task: 0, message: message.into(), site: None };
    /// assert!(panic("called `Result::unwrap()` on an `Err` value: PoisonError { .. }").is_passed_on());
    /// assert!(!panic("assertion failed: n == 2").is_passed_on());
    /// ```
    #[must_use]
    pub fn is_passed_on(&self) -> bool {
        let says = |text: &str| self.message.contains(text);
        says("Any { .. }")
            || says("PoisonError")
            || says(".join()")
            || self.message == "a scoped thread panicked"
    }
}

/// A task that can never move again, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// Who waits: an index into the trace's tasks.
    pub task: u32,
    /// For what operation.
    pub op: String,
    /// On what: an index into the trace's objects.
    pub object: Option<u32>,
    /// Where it waits.
    pub site: Site,
    /// Who holds what it waits for, and where they took it, if the object has holders.
    pub held_by: Vec<(u32, Option<Site>)>,
}

/// A limit of the engine that an execution ran into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum LimitKind {
    /// Steps in one execution.
    Steps,
    /// Tasks in one execution.
    Tasks,
    /// Wall time of one execution.
    Time,
}

/// A replay that did not do what was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Divergence {
    /// The step, counted from 0, at which the difference showed.
    pub step: u64,
    /// The decision, counted from 0, at or after which it showed.
    pub decision: u32,
    /// What was recorded.
    pub expected: String,
    /// What there was instead.
    pub found: String,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "at step {} (decision {}): expected {}, found {}",
            self.step, self.decision, self.expected, self.found
        )
    }
}

/// What a task did to a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CellOp {
    /// Made it: its first write.
    Make,
    /// Read it.
    Read,
    /// Wrote it, or could have.
    Write,
}

/// A lock that a task held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldLock {
    /// Which: an index into the trace's objects.
    pub object: u32,
    /// Where it was taken.
    pub taken: Site,
}

/// One of the two accesses of a data race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellAccess {
    /// Whose: an index into the trace's tasks.
    pub task: u32,
    /// What it did.
    pub op: CellOp,
    /// Where.
    pub site: Site,
    /// The locks it held, in the order in which it took them.
    pub locks: Vec<HeldLock>,
    /// How long it lasted, if there were steps meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasted: Option<Lasted>,
}

/// Between which steps of the trace an access to a cell lasted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lasted {
    /// The step after which it began.
    pub from: u64,
    /// The step after which it ended. None: it had not ended.
    pub to: Option<u64>,
}

/// Why two accesses are not in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "missing", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Missing {
    /// The second task has acquired nothing that the first released after its access.
    Everything,
    /// The second task has read an atomic that the first wrote after its access, but one of the
    /// two orderings is too weak.
    Ordering {
        /// The atomic: an index into the trace's objects.
        object: u32,
        /// Where it was written.
        written: Site,
        /// Whether that released.
        releases: bool,
        /// Where it was read.
        read: Site,
        /// Whether that acquired.
        acquires: bool,
    },
    /// The first access had not ended: its task was inside the closure.
    End,
}

/// Two accesses to one cell that nothing puts in order, at least one of them a write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataRace {
    /// The cell.
    pub cell: ObjectName,
    /// The access that came first in this execution.
    pub first: CellAccess,
    /// The access at which the race was found.
    pub second: CellAccess,
    /// What would have put them in order.
    pub missing: Missing,
}

impl DataRace {
    /// How a person calls the cell: its name, or its variable, its kind and where it was made.
    #[must_use]
    pub fn cell_label(&self) -> String {
        let ObjectName { kind, created, name, variable, .. } = &self.cell;
        match (name, variable) {
            (Some(name), _) => name.clone(),
            (None, Some(variable)) => format!("{variable} (the {kind} from {created})"),
            (None, None) => format!("the {kind} from {created}"),
        }
    }
}

/// How a process ended in the middle of an execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Death {
    /// By a signal: a segmentation fault, an abort.
    Signal {
        /// Its number.
        number: i32,
        /// What a person calls it: `SIGSEGV (a segmentation fault)`.
        name: String,
    },
    /// It ended itself.
    Exit {
        /// With this code.
        code: i32,
    },
    /// It got no more memory.
    Memory {
        /// The bytes it was allowed, if it was limited.
        limit: Option<u64>,
    },
    /// It made no step for too long, and was ended.
    Hang {
        /// How long.
        after_ms: u64,
    },
}

impl Death {
    /// By the signal with this number.
    ///
    /// ```
    /// assert_eq!(raddle_trace::Death::signal(11).to_string(), "ended the process by SIGSEGV (a segmentation fault)");
    /// ```
    #[must_use]
    pub fn signal(number: i32) -> Self {
        // The numbers that Linux, macOS and the BSDs share, and the one that they do not.
        let bus = if cfg!(any(target_os = "linux", target_os = "android")) { 7 } else { 10 };
        let name = match number {
            4 => "SIGILL (an illegal instruction)",
            5 => "SIGTRAP (a trap)",
            6 => "SIGABRT (an abort)",
            8 => "SIGFPE (an arithmetic error)",
            9 => "SIGKILL (killed from outside, perhaps for lack of memory)",
            11 => "SIGSEGV (a segmentation fault)",
            15 => "SIGTERM (ended from outside)",
            _ if number == bus => "SIGBUS (a bus error)",
            _ => return Self::Signal { number, name: format!("signal {number}") },
        };
        Self::Signal { number, name: name.to_owned() }
    }
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal { name, .. } => write!(f, "ended the process by {name}"),
            Self::Exit { code } => write!(f, "ended the process with exit code {code}"),
            Self::Memory { limit: None } => f.write_str("ran out of memory"),
            Self::Memory { limit: Some(bytes) } => {
                write!(f, "ran out of memory: the host may have {} MiB", bytes >> 20)
            }
            Self::Hang { after_ms } => {
                write!(f, "hangs: no step was made for {after_ms} ms")
            }
        }
    }
}

/// What one execution did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome {
    /// Every task ended and no panic was left over.
    Completed,
    /// A task panicked, and the panic was neither caught nor taken by a join.
    Panicked {
        /// Never empty. The one to look at is first: the earliest that was not handled, or what it comes of if it only
        /// [passes on](Panic::is_passed_on) another. The others follow in the order in which they happened.
        panics: Vec<Panic>,
        /// How the execution ended after that, if it did not just go on to its end: by a deadlock, a livelock or
        /// a limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        then: Option<Box<Outcome>>,
    },
    /// Some tasks are not finished and none can move.
    Deadlock {
        /// Never empty.
        waiting: Vec<Waiting>,
    },
    /// Tasks moved for a long time, fairly, and changed nothing.
    Livelock {
        /// Who can still move: indexes into the trace's tasks.
        spinning: Vec<u32>,
        /// Steps since something last changed.
        steps: u64,
    },
    /// A task ran out of stack.
    StackOverflow {
        /// Who: an index into the trace's tasks.
        task: u32,
        /// Its last operation.
        site: Option<Site>,
    },
    /// Two tasks accessed one cell, one of them to write, and nothing put them in order.
    DataRace(Box<DataRace>),
    /// The process ended in the middle of it, as the driver saw it.
    Died {
        /// How.
        death: Death,
        /// Who moved last: an index into the trace's tasks. None if no task had made a step.
        task: Option<u32>,
        /// Its last operation; the process ended somewhere after that.
        site: Option<Site>,
        /// A panic before that, neither caught nor taken by a join.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        panic: Option<Box<Panic>>,
    },
    /// A limit of the engine ended it: neither a pass nor a failure.
    Limit {
        /// Which limit.
        limit: LimitKind,
    },
}

impl Outcome {
    /// Whether this is something the program must not do.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        !matches!(self, Self::Completed | Self::Limit { .. })
    }

    /// Whether it never came back, so that each time it is run takes as long as the watchdog waits.
    #[must_use]
    pub fn hangs(&self) -> bool {
        matches!(self, Self::Died { death: Death::Hang { .. }, .. })
    }

    /// Whether it ended before the program could come to an end of its own: by a limit, or with its process.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        match self {
            Self::Limit { .. } | Self::Died { .. } => true,
            Self::Panicked { then: Some(then), .. } => then.is_cut_off(),
            _ => false,
        }
    }

    /// One word for it, as in the JSON.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Panicked { .. } => "panicked",
            Self::Deadlock { .. } => "deadlock",
            Self::Livelock { .. } => "livelock",
            Self::StackOverflow { .. } => "stack-overflow",
            Self::DataRace(_) => "data-race",
            Self::Died { .. } => "died",
            Self::Limit { .. } => "limit",
        }
    }

    /// One line for it, with tasks called as in `tasks`.
    #[must_use]
    pub fn summary(&self, tasks: &[TaskName]) -> String {
        let label = |task: u32| task_label(tasks, task);
        let panicked = |Panic { task, message, site }: &Panic| match site {
            Some(site) => format!("{} panicked at {site}: {message}", label(*task)),
            None => format!("{} panicked: {message}", label(*task)),
        };
        match self {
            Self::Completed => "completed".to_owned(),
            Self::Panicked { panics, then } => {
                let what = panics.first().map_or_else(|| "panicked".to_owned(), panicked);
                let then = then.as_ref().map(|then| format!("; then {}", then.summary(tasks)));
                format!("{what}{}", then.unwrap_or_default())
            }
            Self::Deadlock { waiting } => match waiting.as_slice() {
                [one] => format!("deadlock: {} waits for ever", label(one.task)),
                many => {
                    let who: Vec<_> = many.iter().map(|one| label(one.task)).collect();
                    format!("deadlock of {} tasks: {}", many.len(), who.join(", "))
                }
            },
            Self::Livelock { spinning, steps } => {
                let who: Vec<_> = spinning.iter().map(|&task| label(task)).collect();
                format!("livelock: {} changed nothing for {steps} steps", who.join(", "))
            }
            Self::StackOverflow { task, .. } => {
                format!("{} overflowed its stack", label(*task))
            }
            Self::DataRace(race) => format!(
                "data race of {} and {} on {}",
                label(race.first.task),
                label(race.second.task),
                race.cell_label()
            ),
            Self::Died { death, task, panic, .. } => {
                let who = task.map_or_else(|| "the test".to_owned(), label);
                match panic {
                    Some(panic) => format!("{}; then {who} {death}", panicked(panic)),
                    None => format!("{who} {death}"),
                }
            }
            Self::Limit { limit } => match limit {
                LimitKind::Steps => "stopped at the limit of steps".to_owned(),
                LimitKind::Tasks => "stopped at the limit of tasks".to_owned(),
                LimitKind::Time => "stopped at the time limit of one execution".to_owned(),
            },
        }
    }
}
