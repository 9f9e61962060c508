//! Replays: one recorded execution instead of a search.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use raddle_engine::Replayed;
use raddle_trace::{Covered, Failure, Guarantee, Note, Report, Schedule, Settings, Trace, Verdict};

use crate::conclusion::{note, verdict};
use crate::config::Config;
use crate::cut_off;
use crate::error::Error;
use crate::files::find;
use crate::job::{Body, Job};
use crate::supervisor;

/// What can be replayed: a schedule, and what happened when it was recorded, if that is known.
///
/// Made from a token or the path of a file that raddle wrote (a schedule, a failure or a report,
/// as JSON), from a [`Schedule`], or from a [`Failure`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    schedule: Schedule,
    trace: Option<Trace>,
}

impl Recording {
    /// What it was recorded with.
    pub(crate) fn settings(&self) -> Settings {
        self.schedule.settings
    }
}

impl From<Schedule> for Recording {
    fn from(schedule: Schedule) -> Self {
        Self { schedule, trace: None }
    }
}

impl From<&Schedule> for Recording {
    fn from(schedule: &Schedule) -> Self {
        schedule.clone().into()
    }
}

impl From<&Failure> for Recording {
    fn from(failure: &Failure) -> Self {
        Self { schedule: failure.schedule.clone(), trace: Some(failure.trace.clone()) }
    }
}

impl TryFrom<&str> for Recording {
    type Error = Error;

    fn try_from(given: &str) -> Result<Self, Error> {
        let wrong = |reason: String| {
            let shown: String = given.chars().take(60).collect();
            let more = if shown.len() < given.len() { "…" } else { "" };
            Error::Recording { given: format!("{shown}{more}"), reason }
        };
        let given = given.trim();
        if is_token(given) {
            return match given.parse::<Schedule>() {
                Ok(schedule) => Ok(schedule.into()),
                Err(error) => Err(wrong(format!(
                    "{error} (give all of the token that the failure printed, or the file that it \
                     named)"
                ))),
            };
        }
        let Some(path) = find(Path::new(given)) else {
            return Err(wrong(
                "there is no such file, and a token begins with `rd1`; give either".to_owned(),
            ));
        };
        let text = std::fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
        let read = raddle_report::schedule_from_json(&text);
        let (schedule, trace) = read.map_err(|error| wrong(error.to_string()))?;
        Ok(Self { schedule, trace })
    }
}

impl TryFrom<&String> for Recording {
    type Error = Error;

    fn try_from(given: &String) -> Result<Self, Error> {
        given.as_str().try_into()
    }
}

/// Whether this is meant as a token, whole or not.
fn is_token(given: &str) -> bool {
    let version = given.strip_prefix("rd").and_then(|rest| rest.chars().next());
    version.is_some_and(|first| first.is_ascii_digit()) && !given.contains(['.', '/', '\\'])
}

/// Runs `test` once, with the decisions of a recording: a token, a path, a [`Schedule`] or a
/// [`Failure`].
///
/// The report fails if the execution does; it is inconclusive, with a note that names the step, if
/// the execution is another one than was recorded.
///
/// ```
/// use raddle::sync::Mutex;
/// use raddle::{Config, Verdict};
///
/// fn test() {
///     let (a, b) = (Mutex::new(()), Mutex::new(()));
///     raddle::thread::scope(|scope| {
///         scope.spawn(|| drop((a.lock(), b.lock())));
///         scope.spawn(|| drop((b.lock(), a.lock())));
///     });
/// }
/// let report = raddle::explore(Config::default(), test)?;
/// let failure = report.failure.expect("a deadlock");
///
/// let token = failure.schedule.to_string();
/// assert_eq!(raddle::replay(&token, test)?.verdict, Verdict::Failed);
/// # Ok::<(), raddle::Error>(())
/// ```
///
/// # Errors
/// If the recording cannot be read, or cannot be one of any test.
pub fn replay<R, F>(recording: R, test: F) -> Result<Report, Error>
where
    R: TryInto<Recording>,
    R::Error: Into<Error>,
    F: Fn() + Send + Sync + 'static,
{
    replay_with(Config::default(), recording, test)
}

/// [`replay`] with other limits. The settings that decide which decisions there are come from the
/// recording.
///
/// # Errors
/// As for [`replay`].
pub fn replay_with<R, F>(config: Config, recording: R, test: F) -> Result<Report, Error>
where
    R: TryInto<Recording>,
    R::Error: Into<Error>,
    F: Fn() + Send + Sync + 'static,
{
    let recording = recording.try_into().map_err(Into::into)?;
    replay_dyn(&config.into(), recording, &(Arc::new(test) as Body))
}

pub(crate) fn replay_dyn(job: &Job, recording: Recording, test: &Body) -> Result<Report, Error> {
    let began = Instant::now();
    let (setup, test) = (job.setup(), Arc::clone(test));
    let seed = recording.schedule.settings.data_seed;
    let (settings, body) = (recording.settings(), Arc::clone(&test));
    let replayed = supervisor::run(job, move |control| {
        raddle_engine::replay(
            &recording.schedule,
            recording.trace.as_ref(),
            &setup,
            &mut |lap| control.should_stop(lap),
            &mut |pulse| control.attach(pulse),
            &*test,
        )
    });
    let replayed = match replayed {
        Err(Error::Hung(hang)) => return cut_off::report(job, hang, settings, began, &body),
        replayed => replayed?,
    };
    let mut report = conclude(&job.config, replayed);
    report.seed = seed.unwrap_or_else(|| job.config.seed_or_default());
    report.elapsed_ms = began.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
    Ok(report)
}

/// The options that a recorded execution took, by running it again.
pub(crate) fn options(job: &Job, given: &str, test: &Body) -> Result<Vec<u32>, Error> {
    let recording = Recording::try_from(given)?;
    let wrong = |reason: String| Error::Recording { given: given.to_owned(), reason };
    if recording.settings() != job.config.settings() {
        return Err(wrong(
            "it was recorded with other settings (timeouts, spurious, rounds, data), so its decisions mean something else \
             here; search with the same: a token of `dpor` has `rounds = 2` if none were given"
                .to_owned(),
        ));
    }
    let (setup, test) = (job.setup(), Arc::clone(test));
    let replayed = supervisor::run(job, move |control| {
        raddle_engine::replay(
            &recording.schedule,
            recording.trace.as_ref(),
            &setup,
            &mut |lap| control.should_stop(lap),
            &mut |pulse| control.attach(pulse),
            &*test,
        )
    })?;
    match replayed.divergence {
        Some(divergence) => Err(wrong(format!("the test did not repeat it: {divergence}"))),
        None => Ok(replayed.decisions.iter().map(|taken| taken.option).collect()),
    }
}

fn conclude(config: &Config, replayed: Replayed) -> Report {
    let Replayed { outcome, schedule, trace, divergence, counts, assumptions, .. } = replayed;
    let failed = outcome.is_failure();
    let (verdict, why) = verdict(failed, divergence.is_some(), &counts, Verdict::Passed);
    let mut notes: Vec<_> = config.differences().collect();
    match divergence {
        Some(divergence) if failed => notes.push(note(format!(
            "the test fails, but not by the recorded steps: {divergence}. The test has changed \
             since the recording, or something decides that raddle does not control"
        ))),
        Some(divergence) => notes.push(Note::Diverged(divergence)),
        None => {}
    }
    notes.extend(why.map(note));
    let mut guarantee = Guarantee::new(Covered::Replay);
    (guarantee.rejected, guarantee.assumptions) = (counts.rejected, assumptions);
    let mut report = Report::new("replay".to_owned(), verdict, guarantee, counts);
    report.test.clone_from(&config.test);
    report.failure = failed.then(|| Failure::new(outcome, schedule, trace, 1));
    report.notes = notes;
    report
}
