//! `shuttle::Runner` and `shuttle::PortfolioRunner`.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use raddle::{Data, Judged, Report};

use crate::scheduler::{Scheduler, Search};
use crate::{Config, FailurePersistence, MaxSteps, current, future};

/// Runs a test with one scheduler.
///
/// ```
/// use raddle_shuttle::scheduler::DfsScheduler;
/// use raddle_shuttle::{Config, Runner};
///
/// let runner = Runner::new(DfsScheduler::new(None, false), Config::new());
/// let executions = runner.run(|| assert!(raddle_shuttle::sync::Mutex::new(1).lock().is_ok()));
/// assert_eq!(executions, 1);
/// ```
pub struct Runner<S> {
    scheduler: S,
    config: Config,
}

impl<S> fmt::Debug for Runner<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner").field("config", &self.config).finish_non_exhaustive()
    }
}

impl<S: Scheduler + 'static> Runner<S> {
    /// With these settings.
    pub fn new(scheduler: S, config: Config) -> Self {
        Self { scheduler, config }
    }

    /// Runs the test. Returns how many executions were run.
    ///
    /// # Panics
    /// If an execution fails, with the whole report; or if a `RADDLE_*` variable cannot be read.
    #[track_caller]
    pub fn run<F>(self, f: F) -> usize
    where
        F: Fn() + Send + Sync + 'static,
    {
        let search = self.scheduler.search();
        run(&search, &self.config, f).counts.executions as usize
    }
}

/// Runs a test with several schedulers, as one portfolio.
pub struct PortfolioRunner {
    members: Vec<Search>,
    config: Config,
}

impl fmt::Debug for PortfolioRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PortfolioRunner").field("members", &self.members).finish_non_exhaustive()
    }
}

impl PortfolioRunner {
    /// Without schedulers. A portfolio always stops at the first failure: `stop_on_first_failure` has no meaning here.
    #[must_use]
    pub fn new(stop_on_first_failure: bool, config: Config) -> Self {
        let _ = stop_on_first_failure;
        Self { members: Vec::new(), config }
    }

    /// Adds a scheduler.
    #[expect(clippy::needless_pass_by_value, reason = "as shuttle has it")]
    pub fn add(&mut self, scheduler: impl Scheduler + Send + 'static) {
        self.members.push(scheduler.search());
    }

    /// Runs the test with all of them. Their executions are added up to the budget of all, of which the members
    /// have equal shares.
    ///
    /// # Panics
    /// If an execution fails, with the whole report; if there is no scheduler; or if a `RADDLE_*` variable
    /// cannot be read.
    #[track_caller]
    pub fn run<F>(self, f: F)
    where
        F: Fn() + Send + Sync + 'static,
    {
        let Some(first) = self.members.first() else {
            panic!("PortfolioRunner::run: there is no scheduler; add one with `add`");
        };
        if let Some(replay) = self.members.iter().find(|member| member.replay.is_some()) {
            run(replay, &self.config, f);
            return;
        }
        let lines: Vec<&str> = self.members.iter().map(|one| one.strategy.as_str()).collect();
        let executions = self.members.iter().map(|one| one.executions).sum();
        let all = Search {
            strategy: lines.join(" | "),
            executions,
            seeded_values: self.members.iter().any(|member| member.seeded_values),
            ..first.clone()
        };
        run(&all, &self.config, f);
    }
}

/// Runs the test as raddle does.
#[track_caller]
fn run<F>(search: &Search, config: &Config, test: F) -> Report
where
    F: Fn() + Send + Sync + 'static,
{
    let steps = match config.max_steps {
        MaxSteps::FailAfter(steps) | MaxSteps::ContinueAfter(steps) => Some(steps as u64),
        MaxSteps::None => None,
    };
    let mut settings = raddle::Config::default();
    settings.strategy.clone_from(&search.strategy);
    settings.executions = search.executions.map(|n| n as u64);
    settings.seed = search.seed;
    settings.time = config.max_time;
    settings.steps = steps;
    settings.replay.clone_from(&search.replay);
    if search.seeded_values {
        settings.data = Data::Seeded;
    }
    let judged = settings.with_env().and_then(|settings| {
        raddle::judge(settings, move || {
            current::begin();
            future::begin();
            test();
            // A task that was detached does not keep an execution from its end.
            future::cancel_detached();
        })
    });
    let Judged { report, text, passed, .. } = match judged {
        Ok(judged) => judged,
        Err(error) => panic!("raddle could not run this test: {error}"),
    };
    let kept = report.failure.as_ref().map(|failure| failure.schedule.to_string());
    if let (FailurePersistence::File(directory), Some(token)) = (&config.failure_persistence, kept)
    {
        let written = persist(directory.as_deref().unwrap_or(Path::new(".")), &token);
        let said = match written {
            Ok(path) => format!("the schedule is in {}", path.display()),
            Err(error) => format!("the schedule could not be written: {error}"),
        };
        panic!("{text}\n{said}");
    }
    if let (MaxSteps::FailAfter(most), 1.., None) =
        (config.max_steps, report.counts.rejected, &report.failure)
    {
        let n = report.counts.rejected;
        panic!("{n} executions had more than {most} steps, the limit of Config::max_steps\n{text}");
    }
    assert!(passed, "{text}");
    print(&text);
    report
}

#[expect(clippy::print_stderr, reason = "the harness keeps it, and shows it if asked to")]
fn print(text: &str) {
    eprint!("{text}");
}

/// Writes a token to the first file `scheduleNNN.txt` that is not there yet.
fn persist(directory: &Path, token: &str) -> io::Result<PathBuf> {
    for n in 0..1_000 {
        let path = directory.join(format!("schedule{n:03}.txt"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => return file.write_all(token.as_bytes()).map(|()| path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("{} has a thousand schedules already", directory.display())))
}
