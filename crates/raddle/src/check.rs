//! A search as a test: passes silently, or panics with the whole report.

use std::fs;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use raddle_report::{LONG_TOKEN, TextOptions};
use raddle_trace::{Failure, Report, Verdict};

use crate::config::{Config, Expect, Pairs};
use crate::error::Error;
use crate::explain;
use crate::learned;
use crate::minimise;
use crate::progress;
use crate::search::{self, Body};

/// Runs `test` under one schedule after another, and panics with the report if one fails.
///
/// As [`check_with`] of the default [`Config`], changed by the environment.
///
/// ```
/// use raddle::sync::{Arc, Mutex};
///
/// raddle::check(|| {
///     let total = Arc::new(Mutex::new(0));
///     let theirs = Arc::clone(&total);
///     let thread = raddle::thread::spawn(move || *theirs.lock().unwrap() += 1);
///     *total.lock().unwrap() += 1;
///     thread.join().unwrap();
///     assert_eq!(*total.lock().unwrap(), 2);
/// });
/// ```
///
/// # Panics
/// If an execution fails, if the search comes to no conclusion, or if it cannot be run.
#[track_caller]
pub fn check<F>(test: F)
where
    F: Fn() + Send + Sync + 'static,
{
    let caller = Location::caller();
    finish(Config::from_env().and_then(|config| run(config, caller, Arc::new(test))));
}

/// [`check`] with a configuration. The environment is not read: see [`Config::with_env`].
///
/// A failure is saved whole, as JSON, under `target/raddle/`. A pass is one or two lines on
/// standard error, which the test harness shows if asked to.
///
/// # Panics
/// As [`check`]. If `config.expect` is not [`Expect::Pass`]: if no such failure is found.
#[track_caller]
pub fn check_with<F>(config: Config, test: F)
where
    F: Fn() + Send + Sync + 'static,
{
    finish(run(config, Location::caller(), Arc::new(test)));
}

/// A report as text, as [`check`] shows it.
#[must_use]
pub fn render(report: &Report) -> String {
    raddle_report::render(report, &TextOptions::default())
}

/// Where the `#[raddle::test]` is that expands to a call of [`test`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The package.
    pub package: Option<&'static str>,
    /// As `module_path!` says.
    pub module: &'static str,
    /// The function.
    pub name: &'static str,
}

/// What `#[raddle::test]` expands to: [`check_with`], with the environment and a name.
#[doc(hidden)]
#[track_caller]
pub fn test<F, R>(mut config: Config, place: Place, test: F)
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Returned,
{
    // As the test harness calls it: without the crate.
    let module = place.module.split_once("::").map_or("", |(_, module)| module);
    let colons = if module.is_empty() { "" } else { "::" };
    config.test.get_or_insert_with(|| format!("{module}{colons}{}", place.name));
    config.package = place.package.map(str::to_owned);
    let body = Arc::new(move || test().finish());
    let caller = Location::caller();
    finish(config.with_env().and_then(|config| run(config, caller, body)));
}

/// What a test may return.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a raddle test returns `()` or `Result<(), E>` where `E: Debug`, not `{Self}`",
    label = "this cannot be the result of a test"
)]
pub trait Returned {
    /// Panics if it is an error.
    fn finish(self);
}

impl Returned for () {
    fn finish(self) {}
}

impl<E: std::fmt::Debug> Returned for Result<(), E> {
    fn finish(self) {
        if let Err(error) = self {
            panic!("the test returned an error: {error:?}");
        }
    }
}

/// The one place where raddle panics and prints, but for the lines of `progress.rs`.
#[track_caller]
fn finish(result: Result<Result<String, String>, Error>) {
    match result {
        Ok(Ok(pass)) => print(&pass),
        Ok(Err(failed)) => panic!("{failed}"),
        Err(error) => panic!("raddle could not run this test: {error}"),
    }
}

#[expect(clippy::print_stderr, reason = "the harness keeps it, and shows it if asked to")]
fn print(text: &str) {
    eprint!("{text}");
}

/// Runs the test. The text of a pass, or that of what is wrong.
fn run(
    mut config: Config,
    caller: &Location<'_>,
    test: Body,
) -> Result<Result<String, String>, Error> {
    if config.test.is_none() {
        // The harness runs a test on the main thread if there is only one at a time.
        let name = std::thread::current().name().filter(|name| *name != "main").map(str::to_owned);
        config.test = name;
    }
    config.lines = progress::lines(&config);
    let mut said = None;
    let keeps = config.pairs == Pairs::Keep && config.replay.is_none();
    if keeps {
        let learned = learned::load(learned_file(&config, caller).as_deref());
        (config.known, said) = learned.map_err(|why| Error::Learned { why })?;
    }
    let mut report = search::explore_dyn(config.clone(), Arc::clone(&test))?;
    report.notes.extend(said.map(search::text));
    if keeps && report.verdict.is_pass() {
        let coverage = report.coverage.as_ref();
        let pairs = coverage.map(|coverage| coverage.pairs.clone()).unwrap_or_default();
        let saved = learned::save(learned_file(&config, caller).as_deref(), pairs);
        report.notes.extend(saved.err().map(search::text));
    }
    if config.expect != Expect::Pass {
        return Ok(expected(&config, &report));
    }
    let replays = config.replay.is_some();
    if replays && report.verdict == Verdict::Inconclusive {
        report.notes.push(search::text(
            "every test that is run now replays this recording: run only the one it belongs to"
                .to_owned(),
        ));
    }
    if replays && report.verdict == Verdict::Passed {
        report.notes.push(search::text("the recorded execution passes now".to_owned()));
    }
    if report.verdict.is_pass() {
        return Ok(Ok(render(&report)));
    }
    if let (Some(failure), Some(time)) = (&mut report.failure, config.minimise)
        && !replays
        && let Some(smaller) = minimise::minimise_dyn(&config, time, failure, Arc::clone(&test))?
    {
        *failure = smaller;
    }
    if let Some(failure) = &mut report.failure
        && config.explain.unwrap_or(!replays)
    {
        failure.explanation = explain::explain_dyn(&config, failure, test)?;
    }
    let mut file = None;
    if let Some(failure) = report.failure.as_ref().filter(|_| !replays) {
        match save(&config, caller, failure) {
            Ok(path) => file = Some(path),
            Err(why) => report.notes.push(search::text(why)),
        }
    }
    Ok(Err(text(&config, &report, file)))
}

/// The text of a test that has to fail.
fn expected(config: &Config, report: &Report) -> Result<String, String> {
    let name = config.expect.name();
    let text = text(config, report, None);
    match &report.failure {
        Some(failure) if config.expect.is_met_by(&failure.outcome) => {
            Ok(format!("as expected, {name}:\n{text}"))
        }
        Some(_) => Err(format!("expected {name}, found another failure:\n{text}")),
        None => Err(format!("expected {name}, found no failure:\n{text}")),
    }
}

/// The report as text, with the command for exactly this test.
fn text(config: &Config, report: &Report, trace_file: Option<PathBuf>) -> String {
    let command = |failure| replay_command(config, failure, trace_file.as_deref());
    let replay_command = report.failure.as_ref().map(command);
    raddle_report::render(
        report,
        &TextOptions { replay_command, trace_file, ..TextOptions::default() },
    )
}

/// The command that shows a failure again, and nothing else.
fn replay_command(config: &Config, failure: &Failure, file: Option<&Path>) -> String {
    let token = failure.schedule.to_string();
    let what = match (&config.replay, file) {
        (Some(given), _) => quoted(given),
        (None, Some(file)) if token.len() > LONG_TOKEN => quoted(&file.to_string_lossy()),
        _ => token,
    };
    let package = config.package.as_ref().map(|package| format!(" -p {package}"));
    let test = config.test.as_ref().map(|test| format!(" {} -- --exact", quoted(test)));
    let (package, test) = (package.unwrap_or_default(), test.unwrap_or_default());
    format!("RADDLE_REPLAY={what} cargo test{package}{test}")
}

/// For a POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "/._-:+@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Saves a failure whole. The path, or a sentence that says why there is none.
fn save(config: &Config, caller: &Location<'_>, failure: &Failure) -> Result<PathBuf, String> {
    let Some(target) = target_dir(config) else {
        return Err("the whole trace was not saved: no target directory was found".to_owned());
    };
    let directory = target.join("raddle");
    let path = directory.join(file_name(config, caller));
    match write(&path, &raddle_report::failure_to_json(failure)) {
        Ok(()) => Ok(path),
        Err(error) => {
            Err(format!("the whole trace could not be saved in {}: {error}", directory.display()))
        }
    }
}

/// Writes a file beside its place and moves it there: another process may read or write the same.
pub(crate) fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let draft = path.with_extension(format!("{}.tmp", std::process::id()));
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(&draft, text)?;
    fs::rename(&draft, path)
}

/// Where pairs of statements are kept from one run to the next.
fn learned_file(config: &Config, caller: &Location<'_>) -> Option<PathBuf> {
    let name = file_name(config, caller);
    let name = name.strip_suffix(".json").unwrap_or(&name);
    Some(target_dir(config)?.join("raddle").join(format!("{name}.pairs.json")))
}

/// The package and the test, or where the test is if it has no name.
fn file_name(config: &Config, caller: &Location<'_>) -> String {
    let test = match &config.test {
        Some(test) => test.replace("::", "."),
        None => format!("{}.{}", caller.file(), caller.line()),
    };
    let package = config.package.as_ref().map(|package| format!("{package}."));
    let name = format!("{}{test}", package.unwrap_or_default());
    let kept = |letter: char| letter.is_alphanumeric() || "._-".contains(letter);
    let name = name.replace(|letter| !kept(letter), "-");
    // Leaves room for the extension of the draft on every file system.
    let name: String = name.chars().take(200).collect();
    format!("{name}.json")
}

/// The build directory: of the running binary, or as cargo was told, or of the package.
fn target_dir(config: &Config) -> Option<PathBuf> {
    let marked = |directory: &&Path| directory.join("CACHEDIR.TAG").is_file();
    let exe = std::env::current_exe().ok();
    let of_exe = exe.as_deref().and_then(|exe| exe.ancestors().skip(1).find(marked));
    if let Some(found) = of_exe {
        return Some(found.to_owned());
    }
    if let Some(told) = &config.target_dir {
        return Some(PathBuf::from(told));
    }
    let package = config.manifest_dir.as_deref().map(Path::new)?;
    package.ancestors().map(|above| above.join("target")).find(|target| target.is_dir())
}
