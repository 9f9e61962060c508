//! What is left of a run: its data in `target/raddle/run.json`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use raddle_trace::Report;
use serde_json::{Value, json};

use crate::check::Tested;
use crate::project::Project;

/// The version of the file.
const VERSION: u32 = 1;

/// Writes what a run has found. Returns the path of what a person is to look at.
pub(crate) fn write(
    project: &Project,
    title: &str,
    elapsed: Duration,
    tested: &[Tested],
) -> io::Result<PathBuf> {
    let directory = project.directory();
    fs::create_dir_all(&directory)?;
    let tried: Vec<Value> =
        tested.iter().filter_map(|test| Some((test, test.report.as_ref()?))).map(tried).collect();
    let elapsed_ms: u64 = elapsed.as_millis().try_into().unwrap_or(u64::MAX);
    let run = json!({
        "version": VERSION, "title": title, "elapsed_ms": elapsed_ms, "tried": tried,
    });
    let path = directory.join("run.json");
    fs::write(&path, serde_json::to_string(&run).map_err(io::Error::other)?)?;
    Ok(path)
}

fn tried((test, report): (&Tested, &Report)) -> Value {
    let samples: Vec<Value> =
        test.samples.iter().map(|progress| json!({ "progress": progress })).collect();
    json!({ "report": report, "samples": samples })
}

/// The page of the last run, if there was one.
pub(crate) fn last(project: &Project) -> Option<PathBuf> {
    Some(project.directory().join("run.json")).filter(|path| path.is_file())
}

/// A path as a person would type it here.
pub(crate) fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}
