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
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use raddle_engine::{AfterOptions, KnownDeath, Tape};
use raddle_search::registry::{Entry, Status, names};
use raddle_trace::host::{
    Avoid, Job as HostJob, JobKind, Message, OUTPUT, Part, STOP, VERSION, page,
};
use raddle_trace::unit::{Order as UnitOrder, ToJudge};
use raddle_trace::{Progress, Report};

use crate::check::{self, Judged};
use crate::config::{AUTO, Config, EXECUTIONS, Expect, Isolation};
use crate::error::Error;
use crate::explore::explore_dyn;
use crate::job::{Body, Hosted, Job};
use crate::partial;
use crate::plan;
use crate::progress::{ProgressListener, ShowProgress};
use crate::recording::Recording;
use crate::supervisor;
use crate::tree::Tree;
use crate::units::{self, Yields};

mod memory;

/// The way to the driver.
#[derive(Clone)]
struct Channel(Arc<Mutex<UnixStream>>);

impl Channel {
    /// Writes a line. If the driver is gone, the listener ends the process.
    fn say(&self, message: &Message) {
        let mut line = serde_json::to_string(message).expect("every map has names for keys");
        line.push('\n');
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = stream.write_all(line.as_bytes());
    }
}

/// Does the job, and ends as the test would: by a panic, or not. The driver has heard what there is to
/// say, so the panic is for the test harness alone, and nothing is printed.
pub(crate) fn serve(config: Config, test: &Body) {
    let why = match work(config, test) {
        Ok(None) => return,
        Ok(Some(failed)) => failed,
        // It may be that the driver was not reached.
        Err(error @ Error::Host { .. }) => panic!("{error}"),
        Err(error) => error.to_string(),
    };
    resume_unwind(Box::new(why));
}

/// Does the job. Why the test fails, if it does.
fn work(config: Config, test: &Body) -> Result<Option<String>, Error> {
    let asked = read(config.env.host.as_deref().unwrap_or_default())?;
    let connect = || -> io::Result<(UnixStream, UnixStream)> {
        let stream = UnixStream::connect(&asked.channel)?;
        let theirs = stream.try_clone()?;
        Ok((stream, theirs))
    };
    let (stream, theirs) =
        connect().map_err(|error| wrong(format!("{}: {error}", asked.channel)))?;
    let channel = Channel(Arc::new(Mutex::new(stream)));
    channel.say(&Message::Hello {
        version: VERSION,
        pid: std::process::id(),
        test: config.test.clone().unwrap_or_default(),
        strategy: config.composition().unwrap_or_else(|| config.strategy.clone()),
        seed: config.seed_or_default(),
    });
    let stop = Arc::new(AtomicBool::new(false));
    let (orders, yields) = listen(theirs, Arc::clone(&stop))?;
    let tape = tape(&asked)?;
    let hosted = Some(Hosted { stop, tape, units: false });
    let mut job = Job { hosted, ..configured(config, &asked, &channel) };
    fence();
    let result = match asked.work {
        JobKind::Search => search(&mut job, test, &channel),
        JobKind::Retrace { page } => retrace(&job, &page, test, &channel),
        JobKind::Minimise => minimised(&job, test, &channel),
        JobKind::Units => serve_units(&mut job, &orders, &yields, test, &channel).map(|()| None),
        JobKind::Judge { file } => judge(&mut job, &file, test, &channel),
        JobKind::Strategies => plan::check_names(&job.config).map(|()| {
            channel.say(&Message::Strategies { parts: strategies() });
            None
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

/// The configuration for a host: its time is what is left, and the driver hears how far it is.
fn configured(mut config: Config, asked: &HostJob, channel: &Channel) -> Job {
    let spent = Duration::from_millis(asked.spent_ms);
    config.time = config.time.map(|time| time.saturating_sub(spent));
    let every = Duration::from_millis(asked.progress_ms);
    let teller = channel.clone();
    let limit_ms = config.time.and_then(|time| time.as_millis().try_into().ok());
    let usual = config.time.is_none() && config.strategy.trim() == AUTO;
    let limit_executions = config.executions.or(usual.then_some(EXECUTIONS));
    config.observer = Some(ProgressListener::new(every, move |progress| {
        let progress = Progress { limit_ms, limit_executions, ..*progress };
        teller.say(&Message::Progress { progress: Box::new(progress) });
    }));
    config.progress = ShowProgress::Never;
    config.tree = asked.tree.map(Tree::first);
    config.into()
}

/// The page on which options are kept, if there is one.
fn tape(asked: &HostJob) -> Result<Option<Tape>, Error> {
    let Some(path) = &asked.page else { return Ok(None) };
    let tape = memory::map(path).map_err(|why| wrong(format!("{path}: {why}")))?;
    match &asked.avoid {
        Some(path) => avoiding(tape, path).map(Some),
        None => Ok(Some(tape)),
    }
}

fn wrong(reason: String) -> Error {
    Error::Host { reason }
}

fn read(job: &str) -> Result<HostJob, Error> {
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
    let known = |Avoid { options, death }| KnownDeath { options, death };
    Ok(tape.avoiding(ways.into_iter().map(known).collect()))
}

/// Hears the driver. If it is gone, the host ends too: nothing else would end a search that has no limit. What is to be run in
/// units comes through the channel; that what is left of one is wanted is set at once.
fn listen(
    stream: UnixStream,
    stop: Arc<AtomicBool>,
) -> Result<(mpsc::Receiver<UnitOrder>, Yields), Error> {
    let (send, orders) = mpsc::channel();
    let yields = Yields::default();
    let wanted = yields.clone();
    let listen = move || {
        for line in BufReader::new(stream).lines() {
            match line {
                Ok(line) if line == STOP => {
                    wanted.0.store(1, Ordering::Relaxed);
                    stop.store(true, Ordering::Relaxed);
                }
                Ok(line) => match serde_json::from_str(&line) {
                    Ok(UnitOrder::Yield { pieces }) => {
                        wanted.0.store(pieces.max(1), Ordering::Relaxed);
                    }
                    // What is not understood is of a newer driver, which has compared versions.
                    Ok(order) => {
                        // One that was meant for the unit before came too late.
                        wanted.0.store(0, Ordering::Relaxed);
                        drop(send.send(order));
                    }
                    Err(_) => {}
                },
                Err(_) => break,
            }
        }
        memory::end_group();
    };
    let spawned = thread::Builder::new().name("raddle-host".to_owned()).spawn(listen);
    spawned.map_err(|error| Error::Thread { reason: error.to_string() })?;
    Ok((orders, yields))
}

/// Says what there is to be run, and runs one unit after another.
fn serve_units(
    job: &mut Job,
    orders: &mpsc::Receiver<UnitOrder>,
    yields: &Yields,
    test: &Body,
    channel: &Channel,
) -> Result<(), Error> {
    check::load_learned(job, None)?;
    channel.say(&Message::Plan { plan: Box::new(units::plan(job)?) });
    for order in orders {
        let UnitOrder::Run { unit, quota, samples, avoid } = order else { break };
        let known = |Avoid { options, death }| KnownDeath { options, death };
        let avoid = avoid.into_iter().map(known).collect();
        let task = units::Task { unit: *unit, quota, samples, avoid };
        let completed = units::run(job, task, yields, test, memory::busy_us)?;
        channel.say(&Message::Completed { completed: Box::new(completed) });
    }
    Ok(())
}

/// Makes a report of what units came to, and judges the test by it.
fn judge(
    job: &mut Job,
    file: &str,
    test: &Body,
    channel: &Channel,
) -> Result<Option<String>, Error> {
    let bytes = fs::read(file).map_err(|error| wrong(format!("{file}: {error}")))?;
    let judged: ToJudge =
        serde_json::from_slice(&bytes).map_err(|error| wrong(format!("{file}: {error}")))?;
    let report = units::report(job, judged, test)?;
    Ok(finish(job, report, test, channel))
}

/// Separates what the test prints from what the harness does. Not by the macros, whose output the
/// harness may keep.
fn fence() {
    let line = format!("\n{OUTPUT}\n");
    let _ = io::stdout().write_all(line.as_bytes());
    let _ = io::stdout().flush();
    let _ = io::stderr().write_all(line.as_bytes());
}

fn search(job: &mut Job, test: &Body, channel: &Channel) -> Result<Option<String>, Error> {
    let explored =
        check::with_learned_pairs(job, None, test, &mut |job| explore_dyn(job.clone(), test));
    if let Some(tree) = &job.config.tree {
        channel.say(&Message::Tree { tree: Box::new(tree.decisions()) });
    }
    Ok(finish(job, explored?, test, channel))
}

/// Says what a report comes to.
fn finish(job: &Job, report: Report, test: &Body, channel: &Channel) -> Option<String> {
    let found =
        &mut |report: &Report| channel.say(&Message::Found { report: Box::new(report.clone()) });
    let Judged { report, text, passed } = check::finish_report(job, report, test, None, found);
    let expect = job.config.expect;
    channel.say(&Message::Finished {
        report: Box::new(report),
        expected: (expect != Expect::Pass).then(|| expect.name().to_owned()),
        as_expected: passed,
    });
    (!passed).then_some(text)
}

/// Replays a recording, and makes its failure as small as it can in the time of `minimise`.
fn minimised(job: &Job, test: &Body, channel: &Channel) -> Result<Option<String>, Error> {
    let config = &job.config;
    let mut report = explore_dyn(job.clone(), test)?;
    let time = config.minimise.unwrap_or(Duration::MAX);
    let explains = config.explain.unwrap_or(config.isolation == Isolation::Process);
    check::make_clear(job, &mut report, test, Some(time), explains);
    check::name_objects(&mut report);
    let (expected, as_expected) = (None, report.failure.is_none());
    channel.say(&Message::Finished { report: Box::new(report), expected, as_expected });
    Ok(None)
}

/// Goes the way of a host that died once more, and tells of each step.
fn retrace(job: &Job, page: &str, test: &Body, channel: &Channel) -> Result<Option<String>, Error> {
    let bytes = fs::read(page).map_err(|error| wrong(format!("{page}: {error}")))?;
    let page::Read { options, rounds, .. } = page::read(&bytes).map_err(wrong)?;
    let mut setup = job.setup();
    // A search that leaves out equivalent executions sets it by itself.
    setup.settings.rounds = setup.settings.rounds.or(rounds);
    if let Some(given) = &job.config.replay
        && partial::given(given)?.is_none()
    {
        setup.settings = Recording::try_from(given)?.settings();
    }
    let (teller, test) = (channel.clone(), Arc::clone(test));
    let outcome = supervisor::run(job, move |control| {
        raddle_engine::retrace(
            &options,
            AfterOptions::Nothing,
            &setup,
            Box::new(move |told| teller.say(&Message::Told { told })),
            &mut |lap| control.should_stop(lap),
            &mut |pulse| control.attach(pulse),
            &*test,
        )
    })?;
    channel.say(&Message::Survived { outcome: Box::new(outcome) });
    Ok(None)
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
        assert_eq!(read(job).expect("a job").work, JobKind::Search);
    }

    #[test]
    fn every_example_of_a_strategy_is_one_that_a_test_could_have() {
        for Part { name, example, .. } in strategies().into_iter().filter(|part| part.here) {
            let config = Config { strategy: example.clone(), ..Config::default() };
            let found = plan::check_names(&config);
            assert!(found.is_ok(), "{name}: {example}: {found:?}");
            let config = Config { executions: Some(1), ..config };
            let ran = explore_dyn(config.into(), &(Arc::new(|| {}) as Body));
            assert!(ran.is_ok(), "{name}: {example}: {ran:?}");
        }
    }
}
