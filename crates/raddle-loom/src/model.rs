//! `loom::model`: running a test.

use std::panic::Location;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::leaks;

/// Runs every execution of a test up to the order of independent steps.
///
/// As [`Builder::check`] with what the environment says.
///
/// ```
/// use raddle_loom::sync::Arc;
/// use raddle_loom::sync::atomic::{AtomicUsize, Ordering};
///
/// raddle_loom::model(|| {
///     let n = Arc::new(AtomicUsize::new(0));
///     let theirs = Arc::clone(&n);
///     let thread = raddle_loom::thread::spawn(move || theirs.fetch_add(1, Ordering::Relaxed));
///     n.fetch_add(1, Ordering::Relaxed);
///     thread.join().unwrap();
///     assert_eq!(n.load(Ordering::Relaxed), 2);
/// });
/// ```
///
/// # Panics
/// If an execution fails, with the whole report.
#[track_caller]
pub fn model<F>(test: F)
where
    F: Fn() + Sync + Send + 'static,
{
    Builder::new().check(test);
}

/// What a test is run with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Builder {
    /// Limits nothing here: a test that has more threads is told so in its report.
    pub max_threads: usize,
    /// Limits nothing here. `LOOM_MAX_BRANCHES`.
    pub max_branches: usize,
    /// At most so many executions. `LOOM_MAX_PERMUTATIONS`.
    pub max_permutations: Option<usize>,
    /// At most for so long. `LOOM_MAX_DURATION`, in seconds.
    pub max_duration: Option<Duration>,
    /// At most so many preemptions in each execution. `LOOM_MAX_PREEMPTIONS`.
    pub preemption_bound: Option<usize>,
    /// A file from which the search goes on and in which it is kept. `LOOM_CHECKPOINT_FILE`.
    pub checkpoint_file: Option<PathBuf>,
    /// Has no meaning here: raddle writes a checkpoint when a limit ends the search. `LOOM_CHECKPOINT_INTERVAL`.
    pub checkpoint_interval: usize,
    /// Has no meaning here: everything is explored from the start.
    pub expect_explicit_explore: bool,
    /// Has no meaning here: places are always kept. `LOOM_LOCATION`.
    pub location: bool,
    /// Has no meaning here: a failure is shown step by step. `LOOM_LOG`.
    pub log: bool,
}

impl Builder {
    /// No bound and no limit but those of the environment.
    ///
    /// # Panics
    /// If a `LOOM_*` variable is not a number.
    #[must_use]
    pub fn new() -> Self {
        Self {
            max_threads: crate::MAX_THREADS,
            max_branches: variable("LOOM_MAX_BRANCHES").unwrap_or(MAX_BRANCHES),
            max_permutations: variable("LOOM_MAX_PERMUTATIONS"),
            max_duration: variable("LOOM_MAX_DURATION").map(Duration::from_secs),
            preemption_bound: variable("LOOM_MAX_PREEMPTIONS"),
            checkpoint_file: std::env::var_os("LOOM_CHECKPOINT_FILE").map(PathBuf::from),
            checkpoint_interval: variable("LOOM_CHECKPOINT_INTERVAL").unwrap_or(INTERVAL),
            expect_explicit_explore: false,
            location: std::env::var_os("LOOM_LOCATION").is_some(),
            log: std::env::var_os("LOOM_LOG").is_some(),
        }
    }

    /// Sets [`checkpoint_file`](Self#structfield.checkpoint_file).
    pub fn checkpoint_file(&mut self, file: &str) -> &mut Self {
        self.checkpoint_file = Some(file.into());
        self
    }

    /// Runs the test: `dpor`, or `dfs preemptions(k) cache` with a bound.
    ///
    /// Both cover every order of dependent steps, with a bound those that some execution within the bound has; the cache goes by
    /// hashes, and the report says how likely two of them were the same. With a bound the cache took 3 to 40 times less CPU than
    /// `dpor preemptions(k)` on four tests of concurrent-queue and diatomic-waker, which is all that was compared, and it can say that
    /// everything within the bound is covered where tasks yield or spin, of which the bounded reduction claims nothing. But from
    /// the first yield, timeout or reading of the clock on nothing is cached, and `--workers` does not divide such a test.
    ///
    /// # Panics
    /// If an execution fails, with the whole report; or if a `RADDLE_*` variable cannot be read.
    #[track_caller]
    pub fn check<F>(&self, test: F)
    where
        F: Fn() + Sync + Send + 'static,
    {
        let strategy = match self.preemption_bound {
            Some(bound) => format!("dfs preemptions({bound}) cache"),
            None => "dpor".to_owned(),
        };
        let mut config = raddle::Config::default();
        config.strategy = strategy;
        config.executions = self.max_permutations.map(|n| n as u64);
        config.time = self.max_duration;
        // As with loom, whose timed waits are waits. `RADDLE_TIMEOUTS=any` tries timeouts, too.
        config.timeouts = raddle::Timeouts::Never;
        config.checkpoint =
            self.checkpoint_file.as_ref().map(|file| file.to_string_lossy().into_owned());
        let config = match config.with_env() {
            Ok(config) => {
                self.differences().into_iter().fold(config, raddle::Config::with_difference)
            }
            Err(error) => panic!("raddle could not run this test: {error}"),
        };
        let (site, max_threads) = (Location::caller(), self.max_threads);
        raddle::check_with(config, move || {
            leaks::begin(site, max_threads);
            leaks::run(&test);
        });
    }

    /// What is asked for and is different here.
    fn differences(&self) -> Vec<String> {
        let fields = [
            (
                self.expect_explicit_explore,
                "expect_explicit_explore has no meaning here: everything is explored from the start",
            ),
            (
                self.max_branches != MAX_BRANCHES,
                "max_branches (LOOM_MAX_BRANCHES) limits nothing here: RADDLE_STEPS limits steps",
            ),
            (
                self.checkpoint_interval != INTERVAL,
                "checkpoint_interval (LOOM_CHECKPOINT_INTERVAL) has no meaning here: a checkpoint is written when a limit ends the search",
            ),
            (
                self.location,
                "location (LOOM_LOCATION) has no meaning here: the places of steps are always known",
            ),
            (
                self.log,
                "log (LOOM_LOG) has no meaning here: a failure is shown step by step, and what passes is not",
            ),
        ];
        let asked = fields.into_iter().filter(|(asked, _)| *asked).map(|(_, text)| text.to_owned());
        let mut differences: Vec<String> =
            [STALE_READS.to_owned()].into_iter().chain(asked).collect();
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        let unknown =
            |name: &String| name.starts_with("LOOM_") && !VARIABLES.contains(&name.as_str());
        let mut unknown: Vec<String> = names.filter(unknown).collect();
        unknown.sort_unstable();
        differences.extend(
            unknown
                .iter()
                .map(|name| format!("{name} was ignored: raddle knows no such variable of loom")),
        );
        differences
    }
}

/// How many thread switches loom allows in an execution, if it is told nothing else.
const MAX_BRANCHES: usize = 1_000;

/// After how many executions loom writes a checkpoint, if it is told nothing else.
const INTERVAL: usize = 20_000;

/// The variables of loom that a [`Builder`] reads.
const VARIABLES: [&str; 8] = [
    "LOOM_MAX_BRANCHES",
    "LOOM_MAX_PERMUTATIONS",
    "LOOM_MAX_DURATION",
    "LOOM_MAX_PREEMPTIONS",
    "LOOM_CHECKPOINT_FILE",
    "LOOM_CHECKPOINT_INTERVAL",
    "LOOM_LOCATION",
    "LOOM_LOG",
];

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

/// What a pass here does not say and one of loom does.
const STALE_READS: &str = "loom also explores the older values that weak memory allows a load to read, and raddle does not: a \
                           pass here says nothing of them";

fn variable<T: FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    let value = text.parse().ok();
    assert!(value.is_some(), "{name} is {text:?}, which is not a number: correct it or unset it");
    value
}
