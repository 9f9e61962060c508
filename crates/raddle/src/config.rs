//! What a search is run with: fields, knobs of `#[raddle::test]` and environment variables, all
//! under the same words.

use std::time::Duration;

use raddle_engine::{Limits, Setup, Teardown};
use raddle_trace::{Outcome, PairSet, Settings, Timeouts};

use crate::error::Error;
use crate::host::Hosted;
use crate::progress::{Observer, ShowProgress};
use crate::tree::Tree;

mod vars;

/// Executions of a sampler, or of [`AUTO`] in all, if neither executions nor time are given.
pub(crate) const EXECUTIONS: u64 = 10_000;

/// The strategy that is used if none is named.
pub(crate) const AUTO: &str = "auto";

/// Whether the values of [`rng`](crate::rng()) are decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Data {
    /// Every value is a decision, so a systematic search tries them all.
    #[default]
    Decisions,
    /// Every value is drawn from the seed, the same in every execution. The report says so.
    Seeded,
}

/// Whether it is learned which statement directly preceded which.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pairs {
    /// No, but by strategies that need it.
    #[default]
    Off,
    /// Yes, and the report says how many pairs there are and how they grew.
    Count,
    /// Also, [`check`](crate::check()) leaves what was learned under `target/raddle/` if the test passes,
    /// begins with what the last run left there, and says what is new. A guided search (`hapset(dpor)`)
    /// then goes on where the last one stopped. Lines that were changed drop their pairs.
    Keep,
}

/// Whether executions share a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Isolation {
    /// All executions run in the process of the test: some hundred thousand a second. What they leave in
    /// statics is there in the next one.
    #[default]
    None,
    /// Each execution runs in a fork of a process that has run none: about a thousand a second. Statics start
    /// anew, and one that ends its process is a failure like others, after which the search goes on. Not on
    /// Windows. What the test prints is not caught by the test harness.
    Process,
}

/// How [`check`](crate::check()) expects a test to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Expect {
    /// Without a failure.
    #[default]
    Pass,
    /// With a panic that nobody took.
    Panic,
    /// With a deadlock.
    Deadlock,
    /// With a livelock.
    Livelock,
    /// With a stack overflow.
    StackOverflow,
    /// With a data race.
    DataRace,
}

impl Expect {
    /// With an article, as in a message.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pass => "a pass",
            Self::Panic => "a panic",
            Self::Deadlock => "a deadlock",
            Self::Livelock => "a livelock",
            Self::StackOverflow => "a stack overflow",
            Self::DataRace => "a data race",
        }
    }

    pub(crate) fn is_met_by(self, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::Panicked { .. } => self == Self::Panic,
            Outcome::Deadlock { .. } => self == Self::Deadlock,
            Outcome::Livelock { .. } => self == Self::Livelock,
            Outcome::StackOverflow { .. } => self == Self::StackOverflow,
            Outcome::DataRace(_) => self == Self::DataRace,
            _ => false,
        }
    }
}

/// What a search is run with.
///
/// The fields are also the knobs of [`#[raddle::test]`](macro@crate::test), and each has an
/// environment variable, `RADDLE_` and the field's name, that [`with_env`](Self::with_env) reads.
/// A budget that is `None` is not limited, except as said.
///
/// ```
/// let mut config = raddle::Config::default();
/// config.strategy = "pct(3)".into();
/// config.executions = Some(1_000);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// A composition such as `random`, `pct(3)`, `surw`, `dfs` or `dfs preemptions(2)`; several with
    /// `|` between them; or `portfolio` or `auto`.
    ///
    /// `a | b | c` is a portfolio: these searches are run at once, or in turns, until one finds a
    /// failure or has covered every execution. `portfolio` is the one with the members that did best
    /// in `docs/results/gambit.md`.
    ///
    /// `auto`, the default, is `portfolio` if `time` is given. Else it is `dfs` for half of the budget;
    /// if that covers every execution, the search is over; else `random` has the other half.
    ///
    /// ```
    /// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
    ///
    /// let mut config = raddle::Config::default();
    /// config.strategy = "dpor | pos".into();
    /// let report = raddle::explore(config, || {
    ///     let n = AtomicU32::new(0);
    ///     raddle::thread::scope(|scope| {
    ///         scope.spawn(|| n.fetch_add(1, SeqCst));
    ///         n.fetch_add(1, SeqCst);
    ///     });
    /// })?;
    /// // Two orders of the two steps: `dpor` has run both, so nobody need go on.
    /// assert_eq!(report.verdict, raddle::Verdict::Covered);
    /// assert_eq!(report.members[0].counts.executions, 2);
    /// # Ok::<(), raddle::Error>(())
    /// ```
    pub strategy: String,
    /// Executions of the search, of all members together if there are several. If this and `time`
    /// are `None`: 10,000 for `auto`, for samplers and for portfolios with one, no limit for searches
    /// that end by themselves, such as `dfs`.
    pub executions: Option<u64>,
    /// Wall time of the search.
    pub time: Option<Duration>,
    /// Wall time of one execution: one that takes longer is rejected. Noticed between steps.
    pub execution_time: Option<Duration>,
    /// Steps of one execution: a longer one is a livelock if nothing changed for half of them,
    /// else it is rejected. `None`: 1,000,000.
    pub steps: Option<u64>,
    /// Tasks of one execution, timers included. `None`: 10,000.
    pub tasks: Option<u32>,
    /// Bytes that the strategy may hold for alternatives which it knows of and has not run; the
    /// members of a portfolio have equal shares. `None`: 4 GiB. `all best-first(..)` moves what is more
    /// to a file under `target/raddle/`, which is gone when the search is; other searches stop there.
    pub memory: Option<u64>,
    /// Members of a portfolio that run at once, each on an OS thread. `None`: one for each core if
    /// `time` is given; else 1, so that the members take turns and a test does the same every time.
    ///
    /// If a test has raddle's objects in statics, its members take turns whatever this is. Set it to 1
    /// if executions of the test must not overlap for other reasons: a file, a static of std.
    pub jobs: Option<u32>,
    /// The seed of all that is drawn. `None`: 0, so that a test does the same every time.
    pub seed: Option<u64>,
    /// Short for `preemptions(k)` in the strategy, which is `dfs` if it was `auto`.
    pub preemptions: Option<u32>,
    /// When a timed wait may end by its timeout.
    pub timeouts: Timeouts,
    /// Whether condition variables wake, and weak compare-exchanges fail, for no reason. More
    /// executions, and closer to what hardware does.
    pub spurious: bool,
    /// Whether the values of [`rng`](crate::rng()) are decisions.
    pub data: Data,
    /// Whether distinct partial orders are counted: one by one up to 1,000,000, then estimated. The
    /// guarantee has the number, and for samplers that draw every execution with the same chances
    /// how likely a new one is. Executions take longer.
    ///
    /// ```
    /// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
    ///
    /// let mut config = raddle::Config::default();
    /// config.strategy = "pos".into();
    /// config.executions = Some(100);
    /// config.traces = true;
    /// let report = raddle::explore(config, || {
    ///     let n = AtomicU32::new(0);
    ///     raddle::thread::scope(|scope| {
    ///         scope.spawn(|| n.store(1, SeqCst));
    ///         n.store(2, SeqCst);
    ///     });
    /// })?;
    /// let traces = report.guarantee.traces.expect("asked for");
    /// assert_eq!((traces.distinct, traces.exact), (2, true));
    /// // No order was seen only once, so a third one is unlikely.
    /// assert_eq!(traces.unseen.map(|unseen| unseen.chance()), Some(0.0));
    /// # Ok::<(), raddle::Error>(())
    /// ```
    pub traces: bool,
    /// Whether it is learned which statement directly preceded which of another task, in executions that
    /// pass: a measure of what a search has shown. Executions take longer.
    ///
    /// ```
    /// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
    ///
    /// let mut config = raddle::Config::default();
    /// config.strategy = "dfs".into();
    /// config.pairs = raddle::Pairs::Count;
    /// let report = raddle::explore(config, || {
    ///     let n = AtomicU32::new(0);
    ///     raddle::thread::scope(|scope| {
    ///         scope.spawn(|| n.store(1, SeqCst));
    ///         n.store(2, SeqCst);
    ///     });
    /// })?;
    /// // Each store came directly after the other.
    /// assert_eq!(report.coverage.expect("asked for").count.known, 2);
    /// # Ok::<(), raddle::Error>(())
    /// ```
    pub pairs: Pairs,
    /// What happens to tasks that are unfinished when an execution ends early.
    pub teardown: Teardown,
    /// Bytes of stack for each task.
    pub stack_size: usize,
    /// Whether executions share a process, and so their statics.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    ///
    /// static STARTED: AtomicU32 = AtomicU32::new(0);
    ///
    /// let mut config = raddle::Config::default();
    /// config.isolation = raddle::Isolation::Process;
    /// let report = raddle::explore(config, || {
    ///     assert_eq!(STARTED.fetch_add(1, Relaxed), 0, "an earlier execution was here");
    ///     raddle::thread::spawn(raddle::thread::yield_now);
    /// })?;
    /// # if cfg!(unix) {
    /// assert!(report.verdict.is_pass());
    /// # }
    /// # Ok::<(), raddle::Error>(())
    /// ```
    pub isolation: Isolation,
    /// How long an execution may go without a step before the search is given up as hung. With
    /// [`Isolation::Process`] it is that execution's failure instead. `None`: for ever.
    pub watchdog: Option<Duration>,
    /// A file for what the search needs to go on later. It is written when the search is stopped before it is
    /// through, by a limit of time, memory or (if it was given) executions, and every
    /// [`checkpoint_every`](Self::checkpoint_every) before. If it is there already the search goes on from
    /// it, and the report is of all parts together: counts, traces and time; so are limits of executions,
    /// but not of time. It fits the same test, strategy, seed, settings and binary, else it is an error.
    /// When the search is over the file is removed.
    ///
    /// ```
    /// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
    ///
    /// let search = |executions| {
    ///     let mut config = raddle::Config::default();
    ///     config.strategy = "dpor".into();
    ///     config.executions = executions;
    ///     let file = std::env::temp_dir().join(format!("{}.checkpoint", std::process::id()));
    ///     config.checkpoint = Some(file.to_string_lossy().into_owned());
    ///     raddle::explore(config, || {
    ///         let n = AtomicU32::new(0);
    ///         raddle::thread::scope(|scope| {
    ///             scope.spawn(|| n.store(1, SeqCst));
    ///             scope.spawn(|| n.store(2, SeqCst));
    ///             n.store(3, SeqCst);
    ///         });
    ///     })
    /// };
    /// assert_eq!(search(Some(4))?.verdict, raddle::Verdict::Passed);
    /// // Three stores have 3! orders: it runs the two that are left.
    /// let report = search(None)?;
    /// assert_eq!((report.verdict, report.counts.executions), (raddle::Verdict::Covered, 6));
    /// # Ok::<(), raddle::Error>(())
    /// ```
    pub checkpoint: Option<String>,
    /// How often the file of [`checkpoint`](Self::checkpoint) is written while the search runs: so much is lost,
    /// at most, if the process is killed. Less often if that would take more than a twentieth of the time, as
    /// of a search that holds much. `None`: only when the search is stopped.
    pub checkpoint_every: Option<Duration>,
    /// Whether the search goes on from the file of [`checkpoint`](Self::checkpoint) if it is there; else it begins
    /// anew, and writes over it when it has something to write.
    pub resume: bool,
    /// Replays instead of searching: a token (`rd1…`), or the path of a file that raddle wrote.
    pub replay: Option<String>,
    /// What the test is called in reports. `None`: as its OS thread, if the test harness named it.
    pub test: Option<String>,
    /// How [`check`](crate::check()) expects the test to end. [`explore`](crate::explore) reports
    /// whatever it finds.
    pub expect: Expect,
    /// Whether [`check`](crate::check()) writes lines to standard error while it searches, with the
    /// executions, the estimate and the time left.
    pub progress: ShowProgress,
    /// How long [`check`](crate::check()) may try to make a failure that it found smaller: fewer
    /// preemptions, then fewer steps, then fewer tasks. `None`: not at all. [`explore`](crate::explore)
    /// shows what it found; see [`minimise`](crate::minimise()).
    pub minimise: Option<Duration>,
    /// Whether [`check`](crate::check()) looks into why the test fails: see
    /// [`explain`](crate::explain()). `None`: of failures that it found, not of replays.
    pub explain: Option<bool>,
    /// Hears how far the search is. No variable and no knob.
    pub observer: Option<Observer>,
    /// Keeps the decisions of the first executions, to look at. No variable and no knob; `cargo raddle test
    /// --tree` sets it.
    pub tree: Option<Tree>,
    /// Writes lines, if [`check`](crate::check()) is to.
    pub(crate) lines: Option<Observer>,
    /// The job of `cargo raddle`, as it stands in the variable.
    pub(crate) host: Option<String>,
    /// What `cargo raddle` lends to a search.
    pub(crate) hosted: Option<Hosted>,
    /// Whether the variable `CI` is set; `None` if the environment was not read.
    pub(crate) ci: Option<bool>,
    /// Wall time of earlier parts of the search.
    pub(crate) searched: Duration,
    /// What was learned before.
    pub(crate) known: Option<PairSet>,
    /// The package of the test, for the command that replays it.
    pub(crate) package: Option<String>,
    /// Where the package is, to find the directory for saved failures.
    pub(crate) manifest_dir: Option<String>,
    /// The build directory, if it is not the usual one.
    pub(crate) target_dir: Option<String>,
}

impl Default for Config {
    /// `auto`, 10,000 executions, a watchdog of 10 s, 1 MiB of stack, 2 s to make a failure small, a checkpoint (if
    /// there is a file for it) every 30 s; every other field is `None`
    /// or the type's own default.
    fn default() -> Self {
        Self {
            strategy: AUTO.to_owned(),
            executions: None,
            time: None,
            execution_time: None,
            steps: None,
            tasks: None,
            memory: None,
            jobs: None,
            seed: None,
            preemptions: None,
            timeouts: Timeouts::default(),
            spurious: false,
            data: Data::default(),
            traces: false,
            pairs: Pairs::default(),
            teardown: Teardown::default(),
            isolation: Isolation::default(),
            stack_size: Setup::default().stack_size,
            watchdog: Some(Duration::from_secs(10)),
            checkpoint: None,
            checkpoint_every: Some(Duration::from_secs(30)),
            resume: true,
            replay: None,
            test: None,
            expect: Expect::default(),
            progress: ShowProgress::default(),
            minimise: Some(Duration::from_secs(2)),
            explain: None,
            observer: None,
            tree: None,
            lines: None,
            host: None,
            hosted: None,
            ci: None,
            searched: Duration::ZERO,
            known: None,
            package: None,
            manifest_dir: None,
            target_dir: None,
        }
    }
}

impl Config {
    /// The defaults, changed by the environment: see [`with_env`](Self::with_env).
    ///
    /// # Errors
    /// As for `with_env`.
    pub fn from_env() -> Result<Self, Error> {
        Self::default().with_env()
    }

    /// This configuration, changed by the environment.
    ///
    /// | variable | value |
    /// |---|---|
    /// | `RADDLE_STRATEGY` | `auto`, `random`, `pct(3)`, `dfs preemptions(2)`, `portfolio`, … |
    /// | `RADDLE_EXECUTIONS`, `RADDLE_STEPS`, `RADDLE_TASKS` | a number, or `none` |
    /// | `RADDLE_SEED`, `RADDLE_PREEMPTIONS`, `RADDLE_JOBS` | a number, or `none` |
    /// | `RADDLE_TIME`, `RADDLE_EXECUTION_TIME`, `RADDLE_WATCHDOG`, `RADDLE_MINIMISE` | `500ms`, `10s`, `2m`, `1h`, or `none` |
    /// | `RADDLE_MEMORY`, `RADDLE_STACK_SIZE` | bytes: `65536`, `64k`, `512m`, `4g`; memory also `none` |
    /// | `RADDLE_TIMEOUTS` | `any`, `idle` |
    /// | `RADDLE_SPURIOUS`, `RADDLE_TRACES`, `RADDLE_EXPLAIN` | `true`, `false` |
    /// | `RADDLE_PAIRS` | `off`, `count`, `keep` |
    /// | `RADDLE_DATA` | `decisions`, `seeded` |
    /// | `RADDLE_TEARDOWN` | `unwind`, `leak` |
    /// | `RADDLE_ISOLATION` | `none`, `process` |
    /// | `RADDLE_CHECKPOINT` | the path of a file |
    /// | `RADDLE_CHECKPOINT_EVERY` | as `RADDLE_TIME` |
    /// | `RADDLE_RESUME` | `true`, `false` |
    /// | `RADDLE_REPLAY` | a token, or the path of a saved failure |
    /// | `RADDLE_PROGRESS` | `auto`, `true`, `false`, or a time from one line to the next: `500ms` |
    ///
    /// An empty value is as if the variable were not set. `RADDLE_STRATEGY` also takes back the
    /// field `preemptions`, which belongs to the strategy that was there. Of other variables `CI` is
    /// read, for [`progress`](Self::progress), and where cargo builds; `RADDLE_HOST` is set by `cargo raddle`.
    /// Nothing else in raddle reads the environment.
    ///
    /// # Errors
    /// If a value does not parse, or if a variable begins with `RADDLE_` and is none of these.
    pub fn with_env(self) -> Result<Self, Error> {
        vars::apply(self, &vars::of_process()?)
    }

    /// The seed of all that is drawn.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or(0)
    }

    /// Who hears how far the search is.
    pub(crate) fn observers(&self) -> Vec<&Observer> {
        self.observer.iter().chain(&self.lines).collect()
    }

    /// The composition to build; `None` for `auto`.
    pub(crate) fn composition(&self) -> Option<String> {
        let auto = self.strategy.trim() == AUTO;
        match self.preemptions {
            None if auto => None,
            None => Some(self.strategy.clone()),
            Some(k) => {
                let strategy = if auto { "dfs" } else { self.strategy.trim() };
                Some(format!("{strategy} preemptions({k})"))
            }
        }
    }

    /// What the engine is run with, but for the number of executions.
    pub(crate) fn setup(&self) -> Setup {
        let usual = Limits::default();
        let limits = Limits {
            executions: self.executions.unwrap_or(usual.executions),
            steps: self.steps.unwrap_or(usual.steps),
            tasks: self.tasks.unwrap_or(usual.tasks),
            frontier_bytes: self.memory.unwrap_or(usual.frontier_bytes),
            ..usual
        };
        let data_seed = match self.data {
            Data::Decisions => None,
            Data::Seeded => Some(self.seed()),
        };
        let settings = Settings { timeouts: self.timeouts, spurious: self.spurious, data_seed };
        let (teardown, stack_size) = (self.teardown, self.stack_size);
        // Who replays wants to see what happens, as it happens.
        let loud = self.replay.is_some();
        let tape = self.hosted.as_ref().and_then(|hosted| hosted.tape);
        let isolation = (self.isolation == Isolation::Process).then_some(raddle_isolate::FORK);
        let usual = Setup::default();
        Setup { settings, limits, teardown, stack_size, loud, tape, isolation, ..usual }
    }
}
