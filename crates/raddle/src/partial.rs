//! Partial schedules in files: orders of receives that are forced instead of, or before, a search.
//!
//! A failure of a test with actors leaves one under `target/raddle/`. Moved to `raddle-regressions/` beside
//! the manifest of the package it is run before every search of its test. Unlike a token it names messages and not
//! decisions, so it outlives changes of the test that do not touch these.

use std::fs;
use std::path::{Path, PathBuf};

use raddle_trace::{Note, PartialSchedule, Report};

use crate::conclusion::note;
use crate::error::Error;
use crate::files::find;
use crate::job::{Body, Job};
use crate::plan::Plan;
use crate::portfolio;

/// The directory of a package for what is run before its searches.
const DIRECTORY: &str = "raddle-regressions";

fn wrong(given: &str, reason: String) -> Error {
    Error::Recording { given: given.to_owned(), reason }
}

/// The schedule in a file, if the name of the file says that it is one.
pub(crate) fn given(name: &str) -> Result<Option<PartialSchedule>, Error> {
    let path = Path::new(name.trim());
    if path.extension().is_none_or(|extension| extension != PartialSchedule::EXTENSION) {
        return Ok(None);
    }
    let Some(path) = find(path) else {
        return Err(wrong(name, "there is no such file".to_owned()));
    };
    read(&path).map(Some).map_err(|reason| wrong(name, reason))
}

fn read(path: &Path) -> Result<PartialSchedule, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    raddle_report::partial_schedule_from_json(&text).map_err(|error| error.to_string())
}

/// Runs a few executions along a schedule; what it leaves open is drawn.
pub(crate) fn force(job: &Job, schedule: PartialSchedule, test: &Body) -> Result<Report, Error> {
    let mut job = job.clone();
    (job.config.replay, job.config.strategy) = (None, "random".to_owned());
    (job.config.time, job.config.checkpoint) = (None, None);
    job.partial = Some(schedule);
    let plan = Plan::new(&job.config, job.explorer.as_ref())?;
    portfolio::explore(job, &plan, test)
}

/// Runs the schedules that are kept for the test of a job. Returns the report of the first that fails, and what
/// there is to say of the others.
pub(crate) fn run_kept(job: &Job, test: &Body) -> Result<(Option<Report>, Vec<Note>), Error> {
    let mut notes = Vec::new();
    for path in kept(job) {
        let file = path.display();
        match read(&path) {
            Err(why) => notes.push(note(format!("{file} cannot be read, and was not run: {why}"))),
            Ok(schedule) if schedule.test != job.config.test => {}
            Ok(schedule) => {
                let mut report = force(job, schedule, test)?;
                if report.failure.is_some() {
                    report.notes.push(note(format!(
                        "the schedule of {file} was forced; no search was run"
                    )));
                    return Ok((Some(report), notes));
                }
                notes.append(&mut report.notes);
            }
        }
    }
    Ok((None, notes))
}

/// The files of the package, by name.
fn kept(job: &Job) -> Vec<PathBuf> {
    let Some(package) = &job.config.env.manifest_dir else { return Vec::new() };
    let entries = fs::read_dir(Path::new(package).join(DIRECTORY)).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_one = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == PartialSchedule::EXTENSION)
    };
    let mut paths: Vec<_> = paths.filter(is_one).collect();
    paths.sort();
    paths
}
