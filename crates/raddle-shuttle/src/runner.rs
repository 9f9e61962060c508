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
    stop_on_first_failure: bool,
}

impl fmt::Debug for PortfolioRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PortfolioRunner").field("members", &self.members).finish_non_exhaustive()
    }
}

impl PortfolioRunner {
    /// Without schedulers. A portfolio always stops at the first failure: if it is not to, the report says so.
    #[must_use]
    pub fn new(stop_on_first_failure: bool, config: Config) -> Self {
        Self { members: Vec::new(), config, stop_on_first_failure }
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
        let mut differences: Vec<_> =
            self.members.iter().flat_map(|member| member.differences.iter().copied()).collect();
        if !self.stop_on_first_failure {
            differences.push("a portfolio stops at its first failure here, although stop_on_first_failure is false");
        }
        let all = Search {
            strategy: lines.join(" | "),
            executions,
            seeded_values: self.members.iter().any(|member| member.seeded_values),
            differences,
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
    let differences = config.differences().into_iter().map(ToOwned::to_owned);
    let differences = differences.chain(search.differences.iter().map(|&text| text.to_owned()));
    let differences = differences.chain(ignored_variables());
    let judged = settings.with_env().and_then(|settings| {
        let settings = differences.fold(settings, raddle::Config::with_difference);
        let mut judged = raddle::judge(settings.clone(), move || {
            current::begin();
            future::begin();
            test();
            // A task that was detached does not keep an execution from its end.
            future::cancel_detached();
        })?;
        let passed = judged.passed;
        judged.passed &= too_long(config, &judged.report).is_none();
        raddle::add_to_summary(&settings, &judged);
        judged.passed = passed;
        Ok(judged)
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
    if let Some(why) = too_long(config, &report) {
        panic!("{why}\n{text}");
    }
    assert!(passed, "{text}");
    print(&text);
    report
}

/// Why a test that has not failed by itself fails: executions had too many steps.
fn too_long(config: &Config, report: &Report) -> Option<String> {
    match (config.max_steps, report.counts.rejected, &report.failure) {
        (MaxSteps::FailAfter(most), n @ 1.., None) => Some(format!(
            "{n} executions had more than {most} steps, the limit of Config::max_steps"
        )),
        _ => None,
    }
}

/// What is said of variables that shuttle reads and raddle does not. `SHUTTLE_RANDOM_SEED` is read, and there are no
/// warnings to silence.
fn ignored_variables() -> impl Iterator<Item = String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let ignored = |name: &String| {
        name.starts_with("SHUTTLE_")
            && !["SHUTTLE_RANDOM_SEED", crate::SILENCE_WARNINGS].contains(&name.as_str())
    };
    let mut names: Vec<String> = names.filter(ignored).collect();
    names.sort_unstable();
    names.into_iter().map(|name| format!("{name} was ignored: it has no meaning here"))
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
