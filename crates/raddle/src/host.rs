//! The test binary as a host of `cargo raddle`: does one job for one test, and says on a socket what
//! comes of it. The messages are those of [`raddle_trace::host`].
//!
//! The test ends as it would without the driver, by a panic or not, so that the harness has the last
//! word on whether it passed.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use raddle_engine::{Known, Tape};
use raddle_search::registry::{Entry, Status, names};
use raddle_trace::host::{Avoid, Job, Message, OUTPUT, Part, STOP, VERSION, Work, page};
use raddle_trace::{Progress, Report};

use crate::check;
use crate::config::{AUTO, Config, EXECUTIONS, Expect, Isolation};
use crate::error::Error;
use crate::explain::explain_dyn;
use crate::minimise::minimise_dyn;
use crate::progress::{Observer, ShowProgress};
use crate::recording::Recording;
use crate::search::{self, Body};
use crate::tree::Tree;
use crate::watch::{self, Turn};

mod memory;

/// What the driver lends to a search.
#[derive(Clone, Debug)]
pub(crate) struct Hosted {
    /// Set when the search is to end.
    pub(crate) stop: Arc<AtomicBool>,
    /// Where options are kept.
    pub(crate) tape: Option<Tape>,
}

/// Whether they are of the same host.
impl PartialEq for Hosted {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.stop, &other.stop) && self.tape == other.tape
    }
}

impl Eq for Hosted {}

/// The way to the driver.
#[derive(Clone)]
struct Channel(Arc<Mutex<UnixStream>>);

impl Channel {
    /// Writes a line. If nobody is there to read it, the listener ends the process.
    fn say(&self, message: &Message) {
        let mut line = serde_json::to_string(message).expect("every map has names for keys");
        line.push('\n');
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = stream.write_all(line.as_bytes());
    }
}

/// Does the job, and ends as the test would: by a panic, or not. The driver has heard what there is to
/// say, so the panic is for the test harness alone, and nothing is printed.
pub(crate) fn serve(config: Config, test: Body) {
    let why = match work(config, test) {
        Ok(Ok(_)) => return,
        Ok(Err(failed)) => failed,
        // It may be that the driver was not reached.
        Err(error @ Error::Host { .. }) => panic!("{error}"),
        Err(error) => error.to_string(),
    };
    resume_unwind(Box::new(why));
}

/// Does the job. The result is as that of [`check::judge`].
fn work(mut config: Config, test: Body) -> Result<Result<String, String>, Error> {
    let job = read(config.host.as_deref().unwrap_or_default())?;
    let connect = || -> io::Result<(UnixStream, UnixStream)> {
        let stream = UnixStream::connect(&job.channel)?;
        let theirs = stream.try_clone()?;
        Ok((stream, theirs))
    };
    let (stream, theirs) = connect().map_err(|error| wrong(format!("{}: {error}", job.channel)))?;
    let channel = Channel(Arc::new(Mutex::new(stream)));
    channel.say(&Message::Hello {
        version: VERSION,
        pid: std::process::id(),
        test: config.test.clone().unwrap_or_default(),
        strategy: config.composition().unwrap_or_else(|| config.strategy.clone()),
        seed: config.seed(),
    });
    let stop = Arc::new(AtomicBool::new(false));
    listen(theirs, Arc::clone(&stop))?;
    let tape = match &job.page {
        Some(path) => Some(memory::map(path).map_err(|why| wrong(format!("{path}: {why}")))?),
        None => None,
    };
    let tape = match &job.avoid {
        Some(path) => tape.map(|tape| avoiding(tape, path)).transpose()?,
        None => tape,
    };
    let spent = Duration::from_millis(job.spent_ms);
    config.time = config.time.map(|time| time.saturating_sub(spent));
    let every = Duration::from_millis(job.progress_ms);
    let teller = channel.clone();
    let limit_ms = config.time.and_then(|time| time.as_millis().try_into().ok());
    let usual = config.time.is_none() && config.strategy.trim() == AUTO;
    let limit_executions = config.executions.or(usual.then_some(EXECUTIONS));
    config.observer = Some(Observer::new(every, move |progress| {
        let progress = Progress { limit_ms, limit_executions, ..*progress };
        teller.say(&Message::Progress { progress: Box::new(progress) });
    }));
    config.progress = ShowProgress::Never;
    config.tree = job.tree.map(Tree::first);
    config.hosted = Some(Hosted { stop, tape });
    fence();
    let result = match job.work {
        Work::Search => search(&mut config, test, &channel),
        Work::Retrace { page } => retrace(&config, &page, test, &channel),
        Work::Minimise => minimised(&config, test, &channel),
        Work::Strategies => search::known(&config).map(|()| {
            channel.say(&Message::Strategies { parts: strategies() });
            Ok(String::new())
        }),
        _ => Err(wrong("it is of a newer version; use the cargo-raddle of this raddle".to_owned())),
    };
    fence();
    if let Err(error) = &result {
        channel.say(&match error {
            Error::Hung(hang) => Message::Hung {
                after_ms: hang.after.as_millis().try_into().unwrap_or(u64::MAX),
                text: error.to_string(),
            },
            _ => Message::Error { text: error.to_string() },
        });
    }
    result
}

fn wrong(reason: String) -> Error {
    Error::Host { reason }
}

fn read(job: &str) -> Result<Job, Error> {
    // First of all the version, so that another one is not reported as a wrong shape.
    let value: serde_json::Value =
        serde_json::from_str(job).map_err(|error| wrong(error.to_string()))?;
    let version = value["version"].as_u64();
    if version != Some(u64::from(VERSION)) {
        let found = version.map_or("none".to_owned(), |version| version.to_string());
        return Err(wrong(format!(
            "it has format version {found} and this test speaks version {VERSION}; install the \
             cargo-raddle of the raddle that the test depends on"
        )));
    }
    serde_json::from_value(value).map_err(|error| wrong(error.to_string()))
}

/// Has the search keep from what other hosts died of.
fn avoiding(tape: Tape, path: &str) -> Result<Tape, Error> {
    let bytes = fs::read(path).map_err(|error| wrong(format!("{path}: {error}")))?;
    let ways: Vec<Avoid> =
        serde_json::from_slice(&bytes).map_err(|error| wrong(format!("{path}: {error}")))?;
    let known = |Avoid { options, death }| Known { options, death };
    Ok(tape.avoiding(ways.into_iter().map(known).collect()))
}

/// Hears the driver. If it is gone, so are we: nobody would end a search that has no limit.
fn listen(stream: UnixStream, stop: Arc<AtomicBool>) -> Result<(), Error> {
    let listen = move || {
        for line in BufReader::new(stream).lines() {
            match line {
                Ok(line) if line == STOP => stop.store(true, Ordering::Relaxed),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        memory::end_group();
    };
    let spawned = thread::Builder::new().name("raddle-host".to_owned()).spawn(listen);
    spawned.map(drop).map_err(|error| Error::Thread { reason: error.to_string() })
}

/// Separates what the test prints from what the harness does. Not by the macros, whose output the
/// harness may keep.
fn fence() {
    let line = format!("\n{OUTPUT}\n");
    let _ = io::stdout().write_all(line.as_bytes());
    let _ = io::stdout().flush();
    let _ = io::stderr().write_all(line.as_bytes());
}

fn search(
    config: &mut Config,
    test: Body,
    channel: &Channel,
) -> Result<Result<String, String>, Error> {
    let explored = check::explored(config, None, &test);
    if let Some(tree) = &config.tree {
        channel.say(&Message::Tree { tree: Box::new(tree.decisions()) });
    }
    let report = explored?;
    let found =
        &mut |report: &Report| channel.say(&Message::Found { report: Box::new(report.clone()) });
    let (report, result) = check::judge(config, report, test, None, found)?;
    channel.say(&Message::Finished {
        report: Box::new(report),
        expected: (config.expect != Expect::Pass).then(|| config.expect.name().to_owned()),
        as_expected: result.is_ok(),
    });
    Ok(result)
}

/// Replays a recording, and makes its failure as small as it can in the time of `minimise`.
fn minimised(
    config: &Config,
    test: Body,
    channel: &Channel,
) -> Result<Result<String, String>, Error> {
    let mut report = search::explore_dyn(config.clone(), Arc::clone(&test))?;
    if let Some(failure) = &mut report.failure {
        let time = config.minimise.unwrap_or(Duration::MAX);
        if let Some(smaller) = minimise_dyn(config, time, failure, Arc::clone(&test))? {
            *failure = smaller;
        }
        if config.explain.unwrap_or(config.isolation == Isolation::Process) {
            failure.explanation = explain_dyn(config, failure, test)?;
        }
    }
    let (expected, as_expected) = (None, report.failure.is_none());
    channel.say(&Message::Finished { report: Box::new(report), expected, as_expected });
    Ok(Ok(String::new()))
}

/// Goes the way of a host that died once more, and tells of each step.
fn retrace(
    config: &Config,
    page: &str,
    test: Body,
    channel: &Channel,
) -> Result<Result<String, String>, Error> {
    let bytes = fs::read(page).map_err(|error| wrong(format!("{page}: {error}")))?;
    let page::Read { options, .. } = page::read(&bytes).map_err(wrong)?;
    let mut setup = config.setup();
    if let Some(given) = &config.replay {
        setup.settings = Recording::try_from(given)?.settings();
    }
    let teller = channel.clone();
    let outcome = watch::run(config, Turn::Last, move |orders| {
        raddle_engine::retrace(
            &options,
            &setup,
            Box::new(move |told| teller.say(&Message::Told { told })),
            &mut |lap| orders.lap(Turn::Last, lap),
            &mut |pulse| orders.begin(pulse),
            &*test,
        )
    })?;
    channel.say(&Message::Survived { outcome: Box::new(outcome) });
    Ok(Ok(String::new()))
}

/// Every name, as the driver shows it.
fn strategies() -> Vec<Part> {
    names().map(part).collect()
}

fn part(entry: &Entry) -> Part {
    Part {
        name: format!("{}{}", entry.name, entry.arguments),
        role: entry.role.to_string(),
        means: entry.role.line().to_owned(),
        line: entry.line.to_owned(),
        paper: entry.paper.to_owned(),
        example: entry.example.to_owned(),
        here: entry.status == Status::Here,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_of_another_version_says_what_to_install() {
        let wrong = |job: &str| read(job).expect_err("refused").to_string();
        insta::assert_snapshot!(wrong(r#"{"version": 99, "work": 3}"#), @"the job of cargo raddle cannot be done: it has format version 99 and this test speaks version 1; install the cargo-raddle of the raddle that the test depends on");
        assert!(wrong("nothing").contains("cannot be done"));
        let job =
            r#"{"version": 1, "work": {"do": "search"}, "channel": "/a", "progress_ms": 250}"#;
        assert_eq!(read(job).expect("a job").work, Work::Search);
    }

    #[test]
    fn every_example_of_a_strategy_is_one_that_a_test_could_have() {
        for Part { name, example, .. } in strategies().into_iter().filter(|part| part.here) {
            let config = Config { strategy: example.clone(), ..Config::default() };
            let found = search::known(&config);
            assert!(found.is_ok(), "{name}: {example}: {found:?}");
            let config = Config { executions: Some(1), ..config };
            let ran = search::explore_dyn(config, Arc::new(|| {}));
            assert!(ran.is_ok(), "{name}: {example}: {ran:?}");
        }
    }
}
