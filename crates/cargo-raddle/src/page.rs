//! What is left of a run, under `target/raddle/`: its data (`run.json`), a page to look at
//! (`report.html`), and a page for each failure.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use raddle_report::html::{Sources, run_page, trace_page};
use raddle_trace::events::Ending;
use raddle_trace::saved::file_stem;
use raddle_trace::{Progress, Report, Run, Sample, Tried};

use crate::check::Tested;
use crate::project::Project;

/// The page of a run.
const PAGE: &str = "report.html";
/// Where the pages of failures are, beside it.
const FAILURES: &str = "failures";

/// Writes what a run has found. Returns the path of what a person is to look at.
pub(crate) fn write(
    project: &Project,
    title: &str,
    elapsed: Duration,
    tested: &[Tested],
) -> io::Result<PathBuf> {
    let directory = project.directory();
    // Those of the last run would be taken for this one's.
    let _ = fs::remove_dir_all(directory.join(FAILURES));
    fs::create_dir_all(directory.join(FAILURES))?;
    let mut sources = Sources::default();
    let mut tried = Vec::new();
    for (index, test) in tested.iter().enumerate() {
        let Some(report) = &test.report else { continue };
        read_sources(&mut sources, report, &project.root);
        let page = match &report.failure {
            Some(_) => Some(write_failure(&directory, index, test, report, &sources)?),
            None => None,
        };
        let sample = |progress: &Progress| {
            let pairs = progress.pairs.map(|pairs| pairs.known);
            Sample { progress: *progress, pairs }
        };
        let samples = test.samples.iter().map(sample).collect();
        let expected = test.ending == Ending::Passed && !report.verdict.is_pass();
        tried.push(Tried { report: report.clone(), samples, page, expected });
    }
    let run = Run {
        title: Some(title.to_owned()),
        elapsed_ms: elapsed.as_millis().try_into().unwrap_or(u64::MAX),
        tried,
        ..Run::default()
    };
    fs::write(directory.join("run.json"), serde_json::to_string(&run).map_err(io::Error::other)?)?;
    let path = directory.join(PAGE);
    fs::write(&path, run_page(&run, &sources))?;
    Ok(path)
}

/// The page of one failure; its path from that of the run.
fn write_failure(
    directory: &Path,
    index: usize,
    test: &Tested,
    report: &Report,
    sources: &Sources,
) -> io::Result<String> {
    let name = format!("{}.{}.{index}", test.id.package, test.id.test);
    let file = format!("{FAILURES}/{}.html", file_stem(&name));
    fs::write(directory.join(&file), trace_page(report, sources))?;
    Ok(file)
}

/// Reads the files in which a failure is shown: those of the workspace, which the compiler names from
/// its root. A dependency's are left out, and so is what cannot be read.
fn read_sources(sources: &mut Sources, report: &Report, root: &Path) {
    for file in Sources::wanted(report) {
        let path = root.join(file);
        if path.starts_with(root)
            && let Ok(text) = fs::read_to_string(&path)
        {
            sources.insert(file, &text);
        }
    }
}

/// The page of the last run, if there was one.
pub(crate) fn last(project: &Project) -> Option<PathBuf> {
    Some(project.directory().join(PAGE)).filter(|path| path.is_file())
}

/// A path as a person would type it here.
pub(crate) fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}
