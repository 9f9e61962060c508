//! A job: the user's configuration, and what only raddle itself knows of the search to be run.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use raddle_engine::explorer::Explorer;
use raddle_engine::{Limits, Setup, Stopwatch, Tape};
use raddle_search::bita::Start;
use raddle_trace::{OrderSet, PairSet, PartialSchedule};

use crate::config::{Config, Isolation};
use crate::custom::{Custom, Listener};
use crate::progress::ProgressListener;
use crate::terminal;

/// What is run: once in each execution.
pub(crate) type Body = Arc<dyn Fn() + Send + Sync>;

/// A search that is to be run, or something else that runs executions of a test.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) config: Config,
    /// Writes lines of progress, if [`check`](crate::check()) is to.
    pub(crate) lines: Option<ProgressListener>,
    /// What `cargo raddle` lends to the search.
    pub(crate) hosted: Option<Hosted>,
    /// Wall time of earlier parts of the search.
    pub(crate) searched: Duration,
    /// Pairs of statements that were learned before.
    pub(crate) known: Option<PairSet>,
    /// What `custom` stands for in the strategy.
    pub(crate) explorer: Option<Explorer>,
    /// Orders of receives that were learned before.
    pub(crate) known_orders: Option<OrderSet>,
    /// Executions are forced along this, whatever the strategy.
    pub(crate) partial: Option<PartialSchedule>,
    /// The execution that `bita` begins with.
    pub(crate) start: Start,
    /// The caller's own strategy, which is run in place of the one that the configuration names.
    pub(crate) custom: Option<Custom>,
    /// The caller's own observer of the search.
    pub(crate) listener: Option<Listener>,
}

/// What the driver lends to a search.
#[derive(Clone, Debug)]
pub(crate) struct Hosted {
    /// Set when the search is to end.
    pub(crate) stop: Arc<AtomicBool>,
    /// Where options are kept.
    pub(crate) tape: Option<Tape>,
    /// Whether it runs units, of which nothing may be lost: an execution that runs when its time is over comes to its end.
    pub(crate) units: bool,
}

impl From<Config> for Job {
    fn from(config: Config) -> Self {
        Self {
            config,
            lines: None,
            hosted: None,
            searched: Duration::ZERO,
            known: None,
            known_orders: None,
            partial: None,
            start: Start::default(),
            explorer: None,
            custom: None,
            listener: None,
        }
    }
}

impl Job {
    /// Those who hear how far the search is.
    pub(crate) fn observers(&self) -> Vec<&ProgressListener> {
        self.config.observer.iter().chain(&self.lines).collect()
    }

    /// The same without listeners, and with another limit of time.
    pub(crate) fn quiet(&self, time: Option<Duration>) -> Self {
        let config = Config { time, observer: None, ..self.config.clone() };
        Self { config, lines: None, ..self.clone() }
    }

    /// What is said if the process ends in the middle of an execution. Nothing where others see to that: the driver, or the
    /// process that has forked.
    fn at_death(&self) -> Option<&'static str> {
        /// Each is needed as long as the process lives, and there are as many as there are tests.
        static SAID: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

        let config = &self.config;
        if self.hosted.is_some() || config.isolation == Isolation::Process {
            return None;
        }
        let of = config.test.as_ref().map_or_else(String::new, |test| format!(" of `{test}`"));
        let how = match (&config.test, config.env.is_marked) {
            (Some(test), true) => {
                let package = config.env.package.as_ref().map(|package| format!(" -p {package}"));
                let (test, package) = (quoted(test), package.unwrap_or_default());
                format!("this finds the schedule that leads there:\n  cargo raddle test --exact {test}{package}")
            }
            _ => "with `isolation` set to `process` (RADDLE_ISOLATION=process, or in its Config) each execution has a \
                  process of its own, and the report has the schedule that leads there"
                .to_owned(),
        };
        let text = format!("\nraddle: the process ends in the middle of an execution{of}; {how}\n");
        let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = said.get(text.as_str()) {
            return Some(known);
        }
        let text: &'static str = Box::leak(text.into_boxed_str());
        said.insert(text);
        Some(text)
    }

    /// What the engine is run with.
    pub(crate) fn setup(&self) -> Setup {
        let config = &self.config;
        let usual = Limits::default();
        let limits = Limits {
            executions: config.executions.unwrap_or(usual.executions),
            steps: config.steps.unwrap_or(usual.steps),
            tasks: config.tasks.unwrap_or(usual.tasks),
            frontier_bytes: config.memory.unwrap_or(usual.frontier_bytes),
            ..usual
        };
        Setup {
            settings: config.settings(),
            limits,
            teardown: config.teardown,
            stack_size: config.stack_size,
            // A replay shows what happens, as it happens.
            loud: config.replay.is_some(),
            calls: config.replay.is_some(),
            backtraces: terminal::wants_short_backtraces(),
            tape: self.hosted.as_ref().and_then(|hosted| hosted.tape),
            stopwatch: STOPWATCH,
            isolation: (config.isolation == Isolation::Process).then_some(raddle_isolate::FORK),
            at_death: self.at_death(),
            ..Setup::default()
        }
    }
}

/// A word as a POSIX shell reads it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "/._-:+@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// What measures executions, where the system tells what a thread does.
#[cfg(all(target_os = "linux", not(miri)))]
const STOPWATCH: Option<Stopwatch> = Some(crate::stopwatch::STOPWATCH);
#[cfg(not(all(target_os = "linux", not(miri))))]
const STOPWATCH: Option<Stopwatch> = None;
