//! One recorded execution again: in a host or in a debugger, made small, explained.

use std::path::{Path, PathBuf};

use raddle_report::TextOptions;
use raddle_trace::events::Ending;
use raddle_trace::{PartialSchedule, SavedFailure, Schedule, exit};

use crate::check::{self, Tested, What};
use crate::cli::{self, Build, Recorded};
use crate::debugger::Places;
use crate::error::DriverError;
use crate::find::{self, Test};
use crate::project::Project;
use crate::run::{self, Runner};
use crate::settings::Settings;
use crate::show::replayed;
use crate::{deaths, debugger, os, print, regressions};

/// A recording and what it says of its test.
struct Given {
    /// As a host is given it.
    recording: String,
    saved: Option<SavedFailure>,
    /// Only if it is no recording but a schedule of receives.
    partial: Option<PartialSchedule>,
}

impl Given {
    fn read(given: &str) -> Result<Self, DriverError> {
        let path = PathBuf::from(given);
        let wrong = |why: String| DriverError::usage(format!("cannot read `{given}`: {why}"));
        if path.is_dir() {
            return Err(wrong("it is a directory; give a file in it, or a token".to_owned()));
        }
        if !path.exists() {
            if given.starts_with("rd1") && !given.contains(['/', '.']) {
                // What is wrong with a token is said before anything is built.
                given.parse::<Schedule>().map_err(|error| {
                    wrong(format!("{error} (give all of it, or the file that the failure named)"))
                })?;
                return Ok(Self { recording: given.to_owned(), saved: None, partial: None });
            }
            return Err(wrong(
                "there is no such file, and a token begins with `rd1`; give either".to_owned(),
            ));
        }
        let path = path.canonicalize().map_err(|error| wrong(error.to_string()))?;
        let text = std::fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
        let recording = path.to_string_lossy().into_owned();
        if path.extension().is_some_and(|extension| extension == PartialSchedule::EXTENSION) {
            let partial = raddle_report::partial_schedule_from_json(&text);
            let partial = Some(partial.map_err(|error| wrong(error.to_string()))?);
            return Ok(Self { recording, saved: None, partial });
        }
        raddle_report::schedule_from_json(&text).map_err(|error| wrong(error.to_string()))?;
        let saved = serde_json::from_str(&text).ok();
        Ok(Self { recording, saved, partial: None })
    }

    /// What to build: only the package of the test, unless told otherwise.
    fn build(&self, build: &Build) -> Build {
        let mut build = build.clone();
        let of_partial = self.partial.as_ref().and_then(|partial| partial.package.clone());
        let package = self.saved.as_ref().and_then(|saved| saved.package.clone()).or(of_partial);
        if build.package.is_empty() && !build.workspace {
            build.package.extend(package);
        }
        build
    }

    /// The one test it belongs to.
    fn test(&self, tests: Vec<Test>, name: Option<&str>) -> Result<Test, DriverError> {
        let saved = self.saved.as_ref();
        let partial = self.partial.as_ref();
        let test = saved.and_then(|saved| saved.test.as_deref());
        let test = test.or_else(|| partial.and_then(|partial| partial.test.as_deref()));
        let Some(name) = name.or(test) else {
            let n = tests.len();
            return match <[Test; 1]>::try_from(tests) {
                Ok([test]) => Ok(test),
                Err(_) => Err(DriverError::usage(format!(
                    "to which of the {n} raddle tests does it belong? Add the name after it; cargo raddle \
                 list shows them"
                ))),
            };
        };
        let target = saved.and_then(|saved| saved.target.as_deref());
        let is_it = |test: &Test| {
            test.id.test == name && target.is_none_or(|target| target == test.id.target)
        };
        let mut found: Vec<Test> = tests.into_iter().filter(is_it).collect();
        match found.len() {
            1 => Ok(found.remove(0)),
            0 => Err(DriverError::no_tests(format!(
                "there is no raddle test `{name}`; cargo raddle list shows those there are"
            ))),
            _ => Err(DriverError::usage(format!(
                "there are several raddle tests `{name}`; say which by -p and --test"
            ))),
        }
    }
}

/// A recording with the one test that it belongs to, built.
struct ReplayTarget {
    given: Given,
    project: Project,
    test: Test,
}

impl ReplayTarget {
    fn new(recorded: &Recorded, build: &Build) -> Result<Self, DriverError> {
        let given = Given::read(&recorded.recording)?;
        let build = given.build(build);
        let project = Project::load(build.manifest_path.as_deref())?;
        let tests = find::all(project.build(&build)?)?;
        let test = given.test(tests, recorded.name.as_deref())?;
        Ok(Self { given, project, test })
    }

    /// Runs it in a host, with these variables too.
    fn run(&self, what: What, more: &[(&str, &str)]) -> Result<Tested, DriverError> {
        let mut settings = settings(&self.project.root)?;
        for (name, value) in more {
            if let Some(knob) = raddle_knobs::find(name) {
                settings.knobs.insert(knob.name, (*value).to_owned());
            }
        }
        os::catch_interrupts();
        let desk = run::desk()?;
        let runner = Runner::plain(&desk, &settings);
        let recording = &self.given.recording;
        let tested = runner.with_hosts(|hosts| check::replay(hosts, &self.test, recording, what));
        match tested.error {
            Some(error) => Err(DriverError::tool(error)),
            None => Ok(tested),
        }
    }

    /// What a failure that ends its process needs besides, to be tried again and again.
    fn apart(&self) -> &'static [(&'static str, &'static str)] {
        let saved = self.given.saved.as_ref();
        let ends = saved.is_some_and(|saved| deaths::ends_its_process(&saved.failure));
        if ends { &[("isolation", "process")] } else { &[] }
    }

    /// Prints what came of it.
    fn show(&self, recorded: &Recorded, tested: &Tested, full: bool) -> u8 {
        let Some(report) = &tested.report else { return exit::INCONCLUSIVE };
        let (recording, test) = (&recorded.recording, &self.test.id.test);
        let options = TextOptions {
            width: print::width(),
            colour: print::colour(),
            full: print::full(full),
            replay_command: Some(format!("cargo raddle replay {recording} {test}")),
            replayed: Some(recording)
                .filter(|file| Path::new(file).is_file())
                .map(|file| replayed(file)),
            ..TextOptions::default()
        };
        print::out(&raddle_report::render(report, &options));
        match (report.failure.is_some(), tested.ending) {
            (true, _) => exit::FAILED,
            (false, Ending::Inconclusive) => exit::INCONCLUSIVE,
            (false, _) if report.verdict.is_pass() => exit::PASSED,
            (false, _) => exit::INCONCLUSIVE,
        }
    }
}

pub(crate) fn replay(asked: &cli::Replay) -> Result<u8, DriverError> {
    let found = ReplayTarget::new(&asked.recorded, &asked.build)?;
    if let Some(which) = asked.debugger {
        let path = &found.test.binary.path;
        let bytes = std::fs::read(path)
            .map_err(|error| DriverError::tool(format!("{}: {error}", path.display())))?;
        let places = Places::of(&bytes);
        if asked.print_script {
            print::out(&debugger::script(which, asked.step, &places));
            return Ok(exit::PASSED);
        }
        return debugger::start(which, (asked.step, &places), &found.test, &found.given.recording);
    }
    let tested = found.run(What::Replay, &[])?;
    // What it prints is what one replays it for.
    if !tested.output.is_empty() {
        print::out(&format!("{}\n\n", tested.output));
    }
    Ok(found.show(&asked.recorded, &tested, asked.full))
}

/// A replay that is explained.
pub(crate) fn explain(asked: &cli::Explain) -> Result<u8, DriverError> {
    let found = ReplayTarget::new(&asked.recorded, &asked.build)?;
    let tested = found.run(What::Replay, &[&[("explain", "true")], found.apart()].concat())?;
    Ok(found.show(&asked.recorded, &tested, asked.full))
}

/// Makes a failure small, and writes it where it was read from.
pub(crate) fn minimise(asked: &cli::Minimise) -> Result<u8, DriverError> {
    if let Some(knob) = raddle_knobs::find("minimise") {
        knob.check("--time", &asked.time).map_err(DriverError::usage)?;
    }
    let found = ReplayTarget::new(&asked.recorded, &asked.build)?;
    let more = [&[("minimise", asked.time.as_str())], found.apart()].concat();
    let tested = found.run(What::Minimise, &more)?;
    let code = found.show(&asked.recorded, &tested, false);
    let failure = tested.report.as_ref().and_then(|report| report.failure.as_ref());
    let smaller = failure.filter(|failure| failure.minimised.is_some());
    let (Some(smaller), Some(saved)) = (smaller, &found.given.saved) else { return Ok(code) };
    if asked.dry_run || smaller.schedule == saved.failure.schedule {
        return Ok(code);
    }
    let saved = SavedFailure { failure: smaller.clone(), ..saved.clone() };
    regressions::write(Path::new(&found.given.recording), &saved)
        .map_err(|error| DriverError::tool(format!("{}: {error}", found.given.recording)))?;
    print::out(&format!("\nwritten to {}\n", asked.recorded.recording));
    Ok(code)
}

/// Of the file and the environment: no flags.
fn settings(root: &Path) -> Result<Settings, DriverError> {
    Settings::read(root, &cli::Settings::default())
}
