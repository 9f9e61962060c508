//! What the driver (`cargo raddle`) and its hosts (test binaries) say to each other.
//!
//! A host is the test binary, started for one test (`--exact name`) with a [`Job`] as JSON in the
//! variable [`VARIABLE`]. It connects to the job's socket and writes one [`Message`] as JSON on each
//! line; the driver may write [`STOP`] on a line of its own, and a socket that is closed ends the
//! host. Whether the test passed is what the test harness says by the exit code of the process, so
//! that `should_panic` means what it always does.
//!
//! A host that dies cannot say what it did. So it keeps the options it takes in a *page*: a file
//! that is mapped into its memory, one word for each decision. The driver reads that and has another
//! host go the same way once more, which tells each step before the next ([`RetracedEvent`]).

use serde::{Deserialize, Serialize};

use crate::outcome::{Death, Outcome};
use crate::progress::Progress;
use crate::report::{Failure, Report};
use crate::schedule::{Decision, Key, Schedule, Settings, TaskName};
use crate::trace::{Event, ObjectName, Raised, Trace};
use crate::tree::DecisionTree;
use crate::unit::{Completed, UnitPlan};

/// The version of everything in this module.
pub const VERSION: u32 = 1;

/// The variable that makes a test binary a host.
pub const VARIABLE: &str = "RADDLE_HOST";

/// On a line by itself: end the search, and report what was found.
pub const STOP: &str = "stop";

/// A line that a host writes to standard output and standard error before the test's own output and
/// after it, so that what the test harness says is told from it.
pub const OUTPUT: &str = "\u{1}raddle output\u{1}";

/// What every mark begins with: see [`TestMark`].
pub const MARK: &str = "\u{1}raddle::test\u{1}1\u{1}";

/// What `#[raddle::test]` leaves in the binary so that the driver can tell its tests from others.
///
/// The test's function refers to the text, so no linker drops it, on any platform; and to find it
/// nothing need be run. A list of tests in a section of the binary would need `unsafe` attributes in
/// the user's crate, and a spelling for each platform.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TestMark {
    /// As the test harness calls the test: the module without the crate, and the function.
    pub test: String,
    /// Where it is, as `file:line`.
    pub site: String,
}

impl TestMark {
    /// Reads what follows [`MARK`]: path, site, each with the separator after it.
    ///
    /// ```
    /// use raddle_trace::host::TestMark;
    ///
    /// let mark = TestMark::read(b"tour::orders::sold\x01src/orders.rs:7\x01 and so on").expect("a mark");
    /// assert_eq!((mark.test.as_str(), mark.site.as_str()), ("orders::sold", "src/orders.rs:7"));
    /// assert_eq!(TestMark::read(b"anything else"), None);
    /// ```
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        // No path is that long; what is longer is something else.
        let bytes = &bytes[..bytes.len().min(4096)];
        let mut parts = bytes.split(|&byte| byte == 1);
        let (path, site, _after) = (parts.next()?, parts.next()?, parts.next()?);
        let (_, test) = std::str::from_utf8(path).ok()?.split_once("::")?;
        let site = std::str::from_utf8(site).ok()?.to_owned();
        Some(Self { test: test.replace("r#", ""), site })
    }
}

/// What a host is to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The version of this format: [`VERSION`].
    pub version: u32,
    /// What to do.
    pub work: JobKind,
    /// The path of the socket to connect to.
    pub channel: String,
    /// The file in which options are kept, made by the driver; none: they are not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    /// The file with the ways to keep from, a list of [`Avoid`]; none: there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avoid: Option<String>,
    /// Wall time that hosts have spent on this search before, in milliseconds.
    #[serde(default)]
    pub spent_ms: u64,
    /// From one [`Message::Progress`] to the next.
    pub progress_ms: u64,
    /// The decisions of so many executions are to be kept, and told at the end: [`Message::Tree`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<u64>,
}

/// A way that a host died of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Avoid {
    /// The options that it took in its last execution.
    pub options: Vec<u32>,
    /// How it died.
    pub death: Death,
}

/// The work of a [`Job`]. What else a search is run with comes from the usual variables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum JobKind {
    /// Search, or replay if `RADDLE_REPLAY` says so.
    Search,
    /// Take the options that a host which died has left in this page, and tell each step.
    Retrace {
        /// The page.
        page: String,
    },
    /// Replay what `RADDLE_REPLAY` says, and make its failure small.
    Minimise,
    /// Say which strategies there are.
    Strategies,
    /// Say what there is to be run ([`Message::Plan`]), then run one unit after another, as [`Order`](crate::unit::Order)s
    /// on the socket say.
    Units,
    /// Units came to what is in this file, a [`ToJudge`](crate::unit::ToJudge): make a report of it, and end as the test
    /// does.
    Judge {
        /// The file.
        file: String,
    },
}

/// What a host says, one on each line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Message {
    /// First of all.
    Hello {
        /// The version of this format: [`VERSION`].
        version: u32,
        /// Which process.
        pid: u32,
        /// Which test.
        test: String,
        /// The composition, as it was given.
        strategy: String,
        /// The seed of all that is drawn.
        seed: u64,
    },
    /// How far the search is.
    Progress {
        /// That.
        progress: Box<Progress>,
    },
    /// A failure was found. It is made small now, and explained; if the host dies of that, this is
    /// what is known.
    Found {
        /// The report so far.
        report: Box<Report>,
    },
    /// What was decided in the search, before what came of it.
    Tree {
        /// That.
        tree: Box<DecisionTree>,
    },
    /// The search is over.
    Finished {
        /// What came of it.
        report: Box<Report>,
        /// What failure the test is to have, with its article: `a panic`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expected: Option<String>,
        /// Whether the test is as its configuration expects it, before the harness has its say.
        as_expected: bool,
    },
    /// The tool could not do its work.
    Error {
        /// Why, and what to do.
        text: String,
    },
    /// No task has made a step for too long. The host ends itself after this.
    Hung {
        /// How long.
        after_ms: u64,
        /// Where, and what to do.
        text: String,
    },
    /// What happened in an execution, as it happens.
    Told {
        /// That.
        told: RetracedEvent,
    },
    /// The execution that was to be told came to its end this time.
    Survived {
        /// How it ended.
        outcome: Box<Outcome>,
    },
    /// What there is to be run in units.
    Plan {
        /// That.
        plan: Box<UnitPlan>,
    },
    /// What came of a unit.
    Completed {
        /// That, and what is left of it.
        completed: Box<Completed>,
    },
    /// The answer to [`JobKind::Strategies`].
    Strategies {
        /// Every name that a user may write, and those that are planned.
        parts: Vec<Part>,
    },
}

/// A name of the registry of strategies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// As it is written, with what may stand in its brackets.
    pub name: String,
    /// What it is: `sampler`, `bound`, …
    pub role: String,
    /// What such parts are for.
    #[serde(default)]
    pub means: String,
    /// What it does.
    pub line: String,
    /// Where it comes from; empty if it is folklore.
    pub paper: String,
    /// A whole strategy with it.
    #[serde(default)]
    pub example: String,
    /// Whether it can be used in this version.
    pub here: bool,
}

/// One thing that happened in an execution, told before the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "told", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RetracedEvent {
    /// The settings, before anything else.
    Settings {
        /// Those.
        settings: Settings,
    },
    /// A task came to be, the test's body first.
    Task {
        /// Its name; its number is that of tasks told before.
        task: TaskName,
    },
    /// An object was used for the first time.
    Object {
        /// Its name; its number is that of objects told before.
        object: ObjectName,
    },
    /// Something was decided.
    Decision {
        /// That.
        decision: Decision,
    },
    /// The value decided last stands for this task.
    Key {
        /// An index into the tasks told.
        task: u32,
    },
    /// A step was made. The local code after it has not run yet.
    Step {
        /// That.
        event: Event,
    },
    /// A task panicked. It has not begun to unwind.
    Panicked {
        /// That.
        panic: Raised,
    },
    /// A panic was caught, or taken from a `join`.
    Handled {
        /// Its number among the panics told.
        panic: u32,
    },
}

/// An execution that was told step by step, as far as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retraced {
    /// The decisions.
    pub schedule: Schedule,
    /// What happened.
    pub trace: Trace,
}

impl Retraced {
    /// Nothing was told yet.
    #[must_use]
    pub fn new() -> Self {
        let schedule = Schedule { tasks: Vec::new(), ..Schedule::default() };
        Self { schedule, trace: Trace::default() }
    }

    /// Adds what was told.
    pub fn hear(&mut self, told: RetracedEvent) {
        match told {
            RetracedEvent::Settings { settings } => self.schedule.settings = settings,
            RetracedEvent::Task { task } => {
                self.schedule.tasks.push(task.clone());
                self.trace.tasks.push(task);
            }
            RetracedEvent::Object { object } => self.trace.objects.push(object),
            RetracedEvent::Decision { decision } => self.schedule.decisions.push(decision),
            RetracedEvent::Key { task } => {
                if let Some(Decision::Value { key, .. }) = self.schedule.decisions.last_mut() {
                    *key = Key::Task(task);
                }
            }
            RetracedEvent::Step { event } => self.trace.events.push(event),
            RetracedEvent::Panicked { panic } => self.trace.panics.push(panic),
            RetracedEvent::Handled { panic } => {
                if let Some(raised) = self.trace.panics.get_mut(panic as usize) {
                    raised.handled = true;
                }
            }
        }
    }

    /// The failure of an execution that ended its process like this, after the last step that was told.
    #[must_use]
    pub fn died(self, death: Death, execution: u64) -> Failure {
        let last = self.trace.events.last();
        let (task, site) = (last.map(|event| event.task), last.map(|event| event.site.clone()));
        let panics = &self.trace.panics;
        let open = panics.iter().find(|raised| !raised.handled);
        let lead =
            open.and_then(
                |raised| {
                    if raised.panic.is_passed_on() { panics.first() } else { Some(raised) }
                },
            );
        let panic = lead.map(|raised| Box::new(raised.panic.clone()));
        self.failure(Outcome::Died { death, task, site, panic }, execution)
    }

    /// The failure of an execution that ended like this.
    #[must_use]
    pub fn failure(self, outcome: Outcome, execution: u64) -> Failure {
        let Self { mut schedule, mut trace } = self;
        if schedule.tasks.is_empty() {
            schedule.tasks.push(TaskName::root());
            trace.tasks.push(TaskName::root());
        }
        Failure {
            outcome,
            schedule,
            trace,
            execution,
            unstable: None,
            minimised: None,
            explanation: None,
        }
    }
}

/// The words of a page.
///
/// Little-endian `u32`s: [`MAGIC`](page::MAGIC), the number of the execution that runs, the number of
/// decisions it has taken, then the option of each. If there are more decisions than words the
/// number still counts them.
pub mod page {
    /// The first word.
    pub const MAGIC: u32 = 0x3250_4452;
    /// Where the number of the execution is.
    pub const EXECUTION: usize = 1;
    /// Where the number of decisions is.
    pub const DECISIONS: usize = 2;
    /// Where the setting `rounds` of the execution is; 0: none.
    pub const ROUNDS: usize = 3;
    /// Where the options begin.
    pub const OPTIONS: usize = 4;
    /// Words of a page: four million decisions. The file has holes where nothing was written.
    pub const WORDS: usize = 4 << 20;

    /// What a page says.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Read {
        /// Which execution, from 1; 0: none was begun.
        pub execution: u32,
        /// The options it took.
        pub options: Vec<u32>,
        /// After how many rounds a task that looked in vain had to wait, if that was set: a search may have set it by itself.
        pub rounds: Option<u32>,
    }

    /// Reads a page.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn read(bytes: &[u8]) -> Result<Read, String> {
        let word = |index: usize| {
            let bytes = bytes.get(4 * index..4 * index + 4)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?))
        };
        if word(0) != Some(MAGIC) {
            return Err("the host wrote no schedule".to_owned());
        }
        let execution = word(EXECUTION).unwrap_or(0);
        let decisions = word(DECISIONS).unwrap_or(0) as usize;
        let options: Option<Vec<u32>> = (0..decisions).map(|at| word(OPTIONS + at)).collect();
        let options = options.ok_or_else(|| {
            format!("the execution took {decisions} decisions, more than are kept of one that dies")
        })?;
        let rounds = word(ROUNDS).filter(|&rounds| rounds > 0);
        Ok(Read { execution, options, rounds })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        fn bytes(words: &[u32]) -> Vec<u8> {
            words.iter().flat_map(|word| word.to_le_bytes()).collect()
        }

        #[test]
        fn a_page_is_read_as_far_as_it_goes() {
            let page = bytes(&[MAGIC, 7, 2, 0, 1, 0, 99]);
            assert_eq!(read(&page), Ok(Read { execution: 7, options: vec![1, 0], rounds: None }));
            let page = bytes(&[MAGIC, 7, 0, 2]);
            assert_eq!(
                read(&page),
                Ok(Read { execution: 7, options: Vec::new(), rounds: Some(2) })
            );
            assert!(
                read(&bytes(&[MAGIC, 7, 3, 0, 1, 0])).is_err_and(|why| why.contains("3 decisions"))
            );
            assert!(read(&bytes(&[0, 7, 0])).is_err());
            assert!(read(&[]).is_err());
        }
    }
}
