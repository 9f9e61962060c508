//! A search as a test: passes silently, or panics with the whole report.

use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use raddle_engine::LastWords;
use raddle_report::{LONG_TOKEN, TextOptions};
use raddle_trace::{Event, Failure, PartialSchedule, Report, SavedFailure, Verdict, saved};

use crate::conclusion::note;
use crate::config::{Config, Expect, Isolation, Pairs, Receives};
use crate::error::Error;
use crate::explain::explain_dyn;
use crate::explore::explore_dyn;
use crate::files::{find, target_dir, write};
use crate::job::{Body, Job, quoted};
use crate::learned;
use crate::minimise;
use crate::partial;
use crate::summary::Summary;
use crate::terminal;

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
    check_dyn(Config::from_env(), Location::caller(), &(Arc::new(test) as Body));
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
    check_dyn(Ok(config), Location::caller(), &(Arc::new(test) as Body));
}

/// A report as text, as [`check`] shows it.
#[must_use]
pub fn render(report: &Report) -> String {
    raddle_report::render(report, &TextOptions::default())
}

/// [`check_with`] for those who go on with what came of it: neither prints nor panics.
///
/// ```
/// let mut config = raddle::Config::default();
/// config.strategy = "dfs".into();
/// let judged = raddle::judge(config, || assert_ne!(raddle::choose(3), 2))?;
/// assert!(!judged.passed && judged.text.contains("assertion"));
/// assert_eq!(judged.report.counts.executions, 3);
/// # Ok::<(), raddle::Error>(())
/// ```
///
/// # Errors
/// If the test cannot be run.
#[track_caller]
pub fn judge<F>(config: Config, test: F) -> Result<Judged, Error>
where
    F: Fn() + Send + Sync + 'static,
{
    run(config, Location::caller(), &(Arc::new(test) as Body))
}

/// A report with what the test comes to.
#[derive(Debug)]
#[non_exhaustive]
pub struct Judged {
    /// What came of the search. A failure is made small and explained.
    pub report: Report,
    /// The text of a pass, or that of what is wrong.
    pub text: String,
    /// Whether the test is as its configuration expects it.
    pub passed: bool,
}

/// Has the lines at the end of the process name what a test came to that was run by [`judge`], as they name those of
/// [`check_with`]: for a package that stands in for another tool.
#[doc(hidden)]
pub fn add_to_summary(config: &Config, judged: &Judged) {
    Summary::new(config).add(&judged.report, judged.passed);
}

/// [`check_with`], of a configuration that may be wrong. The one place where raddle panics and prints, but for lines of
/// progress and those at the end of the process.
#[track_caller]
pub(crate) fn check_dyn(config: Result<Config, Error>, caller: &Location<'_>, test: &Body) {
    let judged = config.and_then(|config| {
        let summary = Summary::new(&config);
        let judged = run(config, caller, test)?;
        summary.add(&judged.report, judged.passed);
        Ok(judged)
    });
    match judged {
        Ok(Judged { text, passed: true, .. }) => print(&text),
        Ok(Judged { text, .. }) if terminal::wants_short_backtraces() => fail(text),
        Ok(Judged { text, .. }) => panic!("{text}"),
        Err(error) => panic!("raddle could not run this test: {error}"),
    }
}

/// Panics without a backtrace: it would consist of functions of raddle. Those of the test that led to its own
/// panic were printed when it was replayed.
#[track_caller]
fn fail(text: String) -> ! {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("<unnamed>");
    print(&format!("\nthread '{name}' panicked at {}:\n{text}\n", Location::caller()));
    std::panic::resume_unwind(Box::new(text))
}

#[expect(clippy::print_stderr, reason = "the harness keeps it, and shows it if asked to")]
fn print(text: &str) {
    eprint!("{text}");
}

/// Runs the test.
fn run(mut config: Config, caller: &Location<'_>, test: &Body) -> Result<Judged, Error> {
    if config.test.is_none() {
        // The harness runs a test on the main thread if there is only one at a time.
        let name = std::thread::current().name().filter(|name| *name != "main").map(str::to_owned);
        config.test = name;
    }
    let mut job = Job::from(config);
    job.lines = terminal::lines(&job.config);
    let caller = Some(caller);
    let report =
        with_learned_pairs(&mut job, caller, test, &mut |job| explore_dyn(job.clone(), test))?;
    Ok(finish_report(&job, report, test, caller, &mut |_| {}))
}

/// Comes to a report by `explore`, with the pairs of statements and the orders of receives of earlier runs if they are kept.
pub(crate) fn with_learned_pairs(
    job: &mut Job,
    caller: Option<&Location<'_>>,
    test: &Body,
    explore: &mut dyn FnMut(&Job) -> Result<Report, Error>,
) -> Result<Report, Error> {
    if job.config.replay.is_some() {
        return explore(job);
    }
    let (failed, kept_said) = partial::run_kept(job, test)?;
    if let Some(report) = failed {
        return Ok(report);
    }
    let said = load_learned(job, caller)?;
    let config = &job.config;
    let keeps = (config.pairs == Pairs::Keep, config.receives == Receives::Keep);
    let (file, orders) =
        (learned_file(config, caller, "pairs"), learned_file(config, caller, "receives"));
    let mut report = explore(job)?;
    report.notes.extend(kept_said.into_iter().chain(said.map(note)));
    if let (true, true, Some(seen)) = (keeps.1, report.verdict.is_pass(), &report.receives) {
        let saved = learned::save_orders(orders.as_deref(), &seen.orders);
        report.notes.extend(saved.err().map(note));
    }
    if report.verdict.is_pass() && keeps.0 {
        let coverage = report.coverage.as_ref();
        let pairs = coverage.map(|coverage| coverage.pairs.clone()).unwrap_or_default();
        report.notes.extend(learned::save(file.as_deref(), pairs).err().map(note));
    }
    Ok(report)
}

/// Gives a job what earlier runs have learned, if that is kept. What there is to say of it.
pub(crate) fn load_learned(
    job: &mut Job,
    caller: Option<&Location<'_>>,
) -> Result<Option<String>, Error> {
    let error = |why| Error::Learned { why };
    let mut said = None;
    if job.config.pairs == Pairs::Keep {
        let file = learned_file(&job.config, caller, "pairs");
        (job.known, said) = learned::load(file.as_deref()).map_err(error)?;
    }
    if job.config.receives == Receives::Keep {
        let file = learned_file(&job.config, caller, "receives");
        job.known_orders = learned::load_orders(file.as_deref()).map_err(error)?;
    }
    Ok(said)
}

/// Whether a report is what the test is to have. A failure is made small and explained, and saved if it is
/// known where the test is. `found` hears of it before that: the executions that are tried for it may do
/// worse things than the first.
pub(crate) fn finish_report(
    job: &Job,
    mut report: Report,
    test: &Body,
    caller: Option<&Location<'_>>,
    found: &mut dyn FnMut(&Report),
) -> Judged {
    let config = &job.config;
    if config.expect != Expect::Pass {
        name_objects(&mut report);
        return expected(config, report);
    }
    let replays = config.replay.is_some();
    if replays && report.verdict == Verdict::Inconclusive {
        report.notes.push(note(
            "every test that is run now replays this recording: run only the one it belongs to",
        ));
    }
    if replays && report.verdict == Verdict::Passed {
        report.notes.push(note("the recorded execution passes now"));
    }
    if report.verdict.is_pass() {
        return Judged { text: render(&report), report, passed: true };
    }
    found(&report);
    let to_save = caller.filter(|_| !replays);
    let save = |report: &Report| Some(save(config, to_save?, report.failure.as_ref()?));
    // Whatever is run from here on, this much is known, and is not lost.
    let file = save(&report).and_then(Result::ok);
    let time = config.minimise.filter(|_| !replays);
    let explains = config.explain.unwrap_or(!replays);
    if report.failure.is_some() && (time.is_some() || explains) {
        // The driver knows it; and where each execution has a process of its own, this one does not abort.
        let outlived = job.hosted.is_some() || config.isolation == Isolation::Process;
        let known = || format!("\n{LOST}\n\n{}", text(config, &report, file));
        let words = (!outlived).then(|| LastWords::new(known()));
        make_clear(job, &mut report, test, time, explains);
        drop(words);
    }
    name_objects(&mut report);
    let file = save(&report).and_then(|saved| match saved {
        Ok(path) => Some(path),
        Err(why) => {
            report.notes.push(note(why));
            None
        }
    });
    if let Some(saved) = to_save.and_then(|caller| save_receives(config, caller, &report)) {
        report.notes.push(note(saved));
    }
    Judged { text: text(config, &report, file), report, passed: false }
}

/// Writes in which order the actors of a failure received their messages. Returns what there is to say of it.
fn save_receives(config: &Config, caller: &Location<'_>, report: &Report) -> Option<String> {
    let failing = report.receives.as_ref()?.failing.as_ref()?;
    let mut schedule = (**failing).clone();
    (schedule.package, schedule.test) = (config.env.package.clone(), config.test.clone());
    schedule.name = format!("how {} failed", config.test.as_deref().unwrap_or("the test"));
    let name = file_name(config, Some(caller));
    let name = name.strip_suffix(".json").unwrap_or(&name);
    let file = format!("{name}.{}", PartialSchedule::EXTENSION);
    let path = target_dir(&config.env)?.join("raddle").join(file);
    let written = write(&path, &raddle_report::partial_schedule_to_json(&schedule));
    let path = path.display();
    Some(match written {
        Ok(()) => format!(
            "the order in which actors received their messages is in {path}; in raddle-regressions/ it is \
             forced before every search"
        ),
        Err(error) => format!("the order of receives could not be saved in {path}: {error}"),
    })
}

/// Names objects as the source does, where it can be read.
pub(crate) fn name_objects(report: &mut Report) {
    let read = &mut |file: &str| std::fs::read_to_string(find(Path::new(file))?).ok();
    raddle_report::name_objects(report, read);
}

/// What is said of a report that is shown because the process aborts.
const LOST: &str = "raddle: the test aborts the process in an execution that was run to make a failure small, or \
                    to explain it. This is the failure as it was found:";

/// Makes the failure of a report small, in this time if any, and explains it. What cannot be done is noted: the
/// failure is the same without.
pub(crate) fn make_clear(
    job: &Job,
    report: &mut Report,
    test: &Body,
    time: Option<Duration>,
    explains: bool,
) {
    let Some(failure) = &mut report.failure else { return };
    // The first line says what went wrong, the others how to mend the test.
    let why = |error: Error| error.to_string().lines().next().unwrap_or_default().to_owned();
    let smaller = time.map(|time| minimise::minimise_dyn(job, time, failure, Arc::clone(test)));
    match smaller {
        None | Some(Ok(None)) => {}
        Some(Ok(Some(smaller))) => *failure = smaller,
        Some(Err(error)) => {
            report.notes.push(note(format!("the failure could not be made small: {}", why(error))));
            return;
        }
    }
    if explains && let Err(error) = explain(job, failure, test) {
        report.notes.push(note(format!("why it fails could not be found out: {}", why(error))));
    }
}

/// Explains a failure, and adds to its trace which functions led to the steps.
pub(crate) fn explain(job: &Job, failure: &mut Failure, test: &Body) -> Result<(), Error> {
    let explained = explain_dyn(job, failure, Arc::clone(test))?;
    failure.explanation = None;
    let Some((why, trace)) = explained else { return Ok(()) };
    failure.explanation = Some(why);
    let same = |(a, b): (&Event, &Event)| (a.task, &a.op, &a.site) == (b.task, &b.op, &b.site);
    let events = &mut failure.trace.events;
    if events.len() == trace.events.len() && events.iter().zip(&trace.events).all(same) {
        for (event, replayed) in events.iter_mut().zip(trace.events) {
            event.calls = replayed.calls;
        }
    }
    Ok(())
}

/// A test that has to fail.
fn expected(config: &Config, report: Report) -> Judged {
    let name = config.expect.name();
    let text = text(config, &report, None);
    let (passed, text) = match &report.failure {
        Some(failure) if config.expect.is_met_by(&failure.outcome) => {
            (true, format!("as expected, {name}:\n{text}"))
        }
        Some(_) => (false, format!("expected {name}, found another failure:\n{text}")),
        None => (false, format!("expected {name}, found no failure:\n{text}")),
    };
    Judged { report, text, passed }
}

/// The report as text, with the command for exactly this test.
fn text(config: &Config, report: &Report, trace_file: Option<PathBuf>) -> String {
    let command = |failure| replay_command(config, failure, trace_file.as_deref());
    let replay_command = report.failure.as_ref().map(command);
    let full = config.full;
    raddle_report::render(
        report,
        &TextOptions { replay_command, trace_file, full, ..TextOptions::default() },
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
    let package = config.env.package.as_ref().map(|package| format!(" -p {package}"));
    let test = config.test.as_ref().map(|test| format!(" {} -- --exact", quoted(test)));
    let (package, test) = (package.unwrap_or_default(), test.unwrap_or_default());
    format!("RADDLE_REPLAY={what} cargo test{package}{test}")
}

/// Saves a failure whole. The path, or a sentence that says why there is none.
fn save(config: &Config, caller: &Location<'_>, failure: &Failure) -> Result<PathBuf, String> {
    let Some(target) = target_dir(&config.env) else {
        return Err("the whole trace was not saved: no target directory was found".to_owned());
    };
    let directory = target.join("raddle");
    let path = directory.join(file_name(config, Some(caller)));
    match write(&path, &saved_as_json(config, failure)) {
        Ok(()) => Ok(path),
        Err(error) => {
            Err(format!("the whole trace could not be saved in {}: {error}", directory.display()))
        }
    }
}

/// Where what was learned is kept from one run to the next.
fn learned_file(config: &Config, caller: Option<&Location<'_>>, what: &str) -> Option<PathBuf> {
    let name = file_name(config, caller);
    let name = name.strip_suffix(".json").unwrap_or(&name);
    Some(target_dir(&config.env)?.join("raddle").join(format!("{name}.{what}.json")))
}

/// A failure with the name of its test.
fn saved_as_json(config: &Config, failure: &Failure) -> String {
    let (package, test) = (config.env.package.clone(), config.test.clone());
    let saved = SavedFailure { package, target: None, test, failure: failure.clone() };
    serde_json::to_string_pretty(&saved).expect("every map has names for keys")
}

/// The package and the test, or where the test is if it has no name.
fn file_name(config: &Config, caller: Option<&Location<'_>>) -> String {
    let test = match (&config.test, caller) {
        (Some(test), _) => test.replace("::", "."),
        (None, Some(caller)) => format!("{}.{}", caller.file(), caller.line()),
        (None, None) => "test".to_owned(),
    };
    let package = config.env.package.as_ref().map(|package| format!("{package}."));
    format!("{}.json", saved::file_stem(&format!("{}{test}", package.unwrap_or_default())))
}
