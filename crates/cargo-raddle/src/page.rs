//! What is left of a run, under `target/raddle/`: its data (`run.json`), a page to look at
//! (`report.html`), and a page for each failure. Of a comparison the same, as `compare.html`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use raddle_report::Links;
use raddle_report::html::{Sources, run_page, trace_page};
use raddle_trace::events::Ending;
use raddle_trace::saved::file_stem;
use raddle_trace::{
    About, Band, Estimate, Progress, Report, Run, Sample, TraceCount, Tried, Verdict,
};

use crate::check::Tested;
use crate::project::Project;
use crate::settings::Settings;

/// Of what a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Run,
    Comparison,
}

impl Of {
    fn page(self) -> &'static str {
        match self {
            Self::Run => "report.html",
            Self::Comparison => "compare.html",
        }
    }

    fn data(self) -> &'static str {
        match self {
            Self::Run => "run.json",
            Self::Comparison => "compare.json",
        }
    }

    /// Where the pages of failures are, beside it.
    fn failures(self) -> &'static str {
        match self {
            Self::Run => "failures",
            Self::Comparison => "compared",
        }
    }
}

/// A run that is over.
pub(crate) struct Ran<'a> {
    pub(crate) of: Of,
    pub(crate) title: &'a str,
    pub(crate) settings: &'a Settings,
    pub(crate) elapsed: Duration,
}

/// Writes what a run has found. Returns the path of what a person is to look at.
pub(crate) fn write(project: &Project, ran: &Ran<'_>, tested: &[Tested]) -> io::Result<PathBuf> {
    let of = ran.of;
    let directory = project.directory();
    let failures = directory.join(of.failures());
    let unwritable = |path: &Path, error: io::Error| {
        io::Error::new(error.kind(), format!("{}: {error}", path.display()))
    };
    fs::create_dir_all(&failures).map_err(|error| unwritable(&failures, error))?;
    // Those of the last run would be taken for this one's. The directory stays: another run may be about to write there.
    for old in fs::read_dir(&failures).map_err(|error| unwritable(&failures, error))?.flatten() {
        let _ = fs::remove_file(old.path());
    }
    let mut sources = Sources::default();
    if let Some(format) = ran.settings.links.clone() {
        let root = std::path::absolute(&project.root)?;
        sources.link(Links { root, format });
    }
    let mut tried = Vec::new();
    for (index, test) in tested.iter().enumerate() {
        let Some(report) = &test.report else { continue };
        read_sources(&mut sources, report, &project.root);
        let page = match &report.failure {
            Some(_) => {
                let name = format!("{}.{}.{index}", test.id.package, test.id.test);
                let file = format!("{}/{}.html", of.failures(), file_stem(&name));
                let path = directory.join(&file);
                fs::write(&path, trace_page(report, &sources))
                    .map_err(|error| unwritable(&path, error))?;
                Some(file)
            }
            None => None,
        };
        let sample = |progress: &Progress| {
            let pairs = progress.pairs.map(|pairs| pairs.known);
            Sample { progress: *progress, pairs }
        };
        let samples = curve(test, report).iter().map(sample).collect();
        let expected = test.ending == Ending::Passed && !report.verdict.is_pass();
        tried.push(Tried { report: report.clone(), samples, page, expected });
    }
    let run = Run {
        title: Some(ran.title.to_owned()),
        elapsed_ms: ran.elapsed.as_millis().try_into().unwrap_or(u64::MAX),
        about: about(project, ran.settings),
        tried,
        ..Run::default()
    };
    let data = directory.join(of.data());
    fs::write(&data, serde_json::to_string(&run).map_err(io::Error::other)?)
        .map_err(|error| unwritable(&data, error))?;
    let path = path(project, of);
    fs::write(&path, run_page(&run, &sources)).map_err(|error| unwritable(&path, error))?;
    Ok(path)
}

/// What a run was run with, and of what. What cannot be had is left out.
fn about(project: &Project, settings: &Settings) -> About {
    let mut given: Vec<(String, String)> =
        settings.knobs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    given.push(("jobs".to_owned(), settings.jobs.to_string()));
    let workers = settings.workers.count.map(|count| ("workers".to_owned(), count.to_string()));
    given.extend(workers);
    let said = |command: &mut Command| {
        let output = command.current_dir(&project.root).stdin(Stdio::null()).output().ok()?;
        let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let compiler = said(Command::new(rustc).arg("--version"));
    // The commit, whatever tags there are. Only looked at: no lock is taken.
    let revision = said(
        Command::new("git")
            .args(["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"])
            .env("GIT_OPTIONAL_LOCKS", "0"),
    );
    let revision = revision.map(|revision| match revision.strip_suffix("-dirty") {
        Some(commit) => format!("{commit}, with changes"),
        None => revision,
    });
    About { settings: given, compiler, revision }
}

/// How a search went, from nothing to its end: a short one has said nothing on the way.
#[expect(clippy::cast_precision_loss, reason = "a plot shows few digits")]
pub(crate) fn curve(test: &Tested, report: &Report) -> Vec<Progress> {
    let traces = report.guarantee.traces;
    let nothing = traces.map(|traces| TraceCount { distinct: 0, unseen: None, ..traces });
    let mut curve = vec![Progress { traces: nothing, ..Progress::default() }];
    let executions = report.counts.executions;
    let before = |progress: &&Progress| progress.executions < executions;
    curve.extend(test.samples.iter().filter(before));
    if report.verdict != Verdict::Inconclusive && executions > 0 {
        let last = report.progress.or(test.samples.last().copied()).unwrap_or_default();
        // What has been run is known.
        let search = Band::exact(executions as f64);
        let estimate = match (report.verdict, last.estimate) {
            (Verdict::Covered, Some(estimate)) => {
                Some(Estimate { search, covered: estimate.total.about, ..estimate })
            }
            (_, estimate) => estimate,
        };
        let elapsed_ms = report.elapsed_ms.max(last.elapsed_ms);
        let covered = if report.verdict == Verdict::Covered { Some(1.0) } else { last.covered };
        curve.push(Progress { executions, elapsed_ms, traces, estimate, covered, ..last });
    }
    curve
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

/// Where the page is, if there is one.
pub(crate) fn path(project: &Project, of: Of) -> PathBuf {
    project.directory().join(of.page())
}

/// A path as a person would type it here.
pub(crate) fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}
