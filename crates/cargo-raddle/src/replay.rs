//! One recorded execution again: in a host, or in a debugger.

use std::path::{Path, PathBuf};

use raddle_report::TextOptions;
use raddle_trace::events::Ending;
use raddle_trace::{Saved, exit};

use crate::check::{self, Regressions};
use crate::cli::{self, Build};
use crate::debugger::Places;
use crate::find::{self, Test};
use crate::project::Project;
use crate::run::{self, Runner};
use crate::settings::Settings;
use crate::wrong::Wrong;
use crate::{debugger, os, print};

/// A recording and what it says of its test.
struct Given {
    /// As a host is given it.
    recording: String,
    saved: Option<Saved>,
}

impl Given {
    fn read(given: &str) -> Result<Self, Wrong> {
        let path = PathBuf::from(given);
        if !path.is_file() {
            if given.starts_with("rd") && !given.contains(['/', '.']) {
                return Ok(Self { recording: given.to_owned(), saved: None });
            }
            return Err(Wrong::usage(format!(
                "cannot replay `{given}`: there is no such file, and a token begins with `rd1`; give either"
            )));
        }
        let wrong = |why: String| Wrong::usage(format!("cannot replay `{given}`: {why}"));
        let path = path.canonicalize().map_err(|error| wrong(error.to_string()))?;
        let text = std::fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
        raddle_report::schedule_from_json(&text).map_err(|error| wrong(error.to_string()))?;
        let saved = serde_json::from_str(&text).ok();
        Ok(Self { recording: path.to_string_lossy().into_owned(), saved })
    }

    /// What to build: only the package of the test, if nobody said otherwise.
    fn build(&self, build: &Build) -> Build {
        let mut build = build.clone();
        let package = self.saved.as_ref().and_then(|saved| saved.package.clone());
        if build.package.is_empty() && !build.workspace {
            build.package.extend(package);
        }
        build
    }

    /// The one test it belongs to.
    fn test(&self, tests: Vec<Test>, name: Option<&str>) -> Result<Test, Wrong> {
        let saved = self.saved.as_ref();
        let Some(name) = name.or_else(|| saved.and_then(|saved| saved.test.as_deref())) else {
            return Err(Wrong::usage(
                "to which test does it belong? Add its name: cargo raddle replay TOKEN TEST",
            ));
        };
        let target = saved.and_then(|saved| saved.target.as_deref());
        let is_it = |test: &Test| {
            test.id.test == name && target.is_none_or(|target| target == test.id.target)
        };
        let mut found: Vec<Test> = tests.into_iter().filter(is_it).collect();
        match found.len() {
            1 => Ok(found.remove(0)),
            0 => Err(Wrong::no_tests(format!(
                "there is no raddle test `{name}`; cargo raddle list shows those there are"
            ))),
            _ => Err(Wrong::usage(format!(
                "there are several raddle tests `{name}`; say which by -p and --test"
            ))),
        }
    }
}

pub(crate) fn replay(asked: &cli::Replay) -> Result<u8, Wrong> {
    let given = Given::read(&asked.recording)?;
    let build = given.build(&asked.build);
    let project = Project::load(build.manifest_path.as_deref())?;
    let tests = find::all(project.build(&build)?)?;
    let test = given.test(tests, asked.name.as_deref())?;
    if let Some(which) = asked.debugger {
        let bytes = std::fs::read(&test.binary.path)
            .map_err(|error| Wrong::tool(format!("{}: {error}", test.binary.path.display())))?;
        let script = debugger::script(which, asked.step, &Places::of(&bytes));
        if asked.print_script {
            print::out(&script);
            return Ok(exit::PASSED);
        }
        return debugger::start(which, &script, &test, &given.recording);
    }
    let settings = settings(&project.root)?;
    os::catch_interrupts();
    let desk = run::desk()?;
    let regressions = Regressions::LeftAlone;
    let runner = Runner { desk: &desk, settings: &settings, regressions };
    let tested = runner.with_hosts(|hosts| check::replay(hosts, &test, &given.recording));
    if let Some(error) = tested.error {
        return Err(Wrong::tool(error));
    }
    let Some(report) = &tested.report else { return Ok(exit::INCONCLUSIVE) };
    if !tested.output.is_empty() {
        print::out(&format!("{}\n\n", tested.output));
    }
    let usual = TextOptions::default();
    let options = TextOptions {
        width: print::width(),
        colour: print::colour(),
        max_rows: if asked.trace { usize::MAX } else { usual.max_rows },
        replay_command: Some(format!("cargo raddle replay {} {}", asked.recording, test.id.test)),
        ..usual
    };
    print::out(&raddle_report::render(report, &options));
    Ok(match (report.failure.is_some(), tested.ending) {
        (true, _) => exit::FAILED,
        (false, Ending::Inconclusive) => exit::INCONCLUSIVE,
        (false, _) if report.verdict.is_pass() => exit::PASSED,
        (false, _) => exit::INCONCLUSIVE,
    })
}

/// Of the file and the environment: no flags.
fn settings(root: &Path) -> Result<Settings, Wrong> {
    let flags = cli::Settings {
        knobs: cli::Knobs::default(),
        jobs: None,
        host_memory: None,
        profile: None,
        config: None,
    };
    Settings::read(root, &flags)
}
