//! `cargo raddle work`: hosts that run units of a run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use raddle_fleet::nats::{self, Manifest, Nats, NatsQueue, Run, RunState, WorkerStatus, sha256};
use raddle_fleet::{
    CannotRun, Completion, Pace, QueuedUnit, Slice, TurnResult, UnitRunner, Worker,
};
use raddle_knobs::KNOBS;
use raddle_trace::events::TestId;
use raddle_trace::host::Avoid;
use raddle_trace::unit::{Completed, Order, Quota, Unit, UnitEnd, UnitResult, Upwards, VERSION};
use raddle_trace::{Counts, Covered, Failure, exit};

use super::access::{connect, time, wrong};
use super::{PLAN, UNIT_EXECUTIONS, UNIT_TIME};
use crate::cli;
use crate::error::DriverError;
use crate::find::Test;
use crate::host::Hosts;
use crate::os;
use crate::print;
use crate::project::Binary;
use crate::run;
use crate::settings::{Shared, Workers};
use crate::workers::{Answer, Host, HostFate};

/// From one look for a run, or at whether it is over, to the next.
const LOOK: Duration = Duration::from_millis(500);
/// From one word of how it goes to the next.
const TELL: Duration = Duration::from_secs(2);
/// A machine that cannot run so many units in a row is of no use.
const MOST_FAILURES: u32 = 3;
/// So often a host may die in one unit of what is not the test's doing, or cannot be told.
const MOST_DEATHS: usize = 8;

/// How it goes, for the status.
#[derive(Debug, Default)]
struct Counted {
    units: AtomicU64,
    executions: AtomicU64,
    over: AtomicBool,
    /// It is, because the coordinator ended before the run was.
    stopped: AtomicBool,
    failed: Mutex<Option<DriverError>>,
}

/// Runs units until the run is over.
pub(crate) fn work(asked: &cli::Work) -> Result<u8, DriverError> {
    let wait = time("--wait", &asked.wait)?;
    let nats = connect(&asked.server)?;
    os::catch_interrupts();
    let (run, manifest) = find(&nats, asked.run.as_deref(), wait)?;
    manifest.check_version().map_err(wrong)?;
    check_variables(&manifest)?;
    let scratch = Scratch::new()?;
    let path = binary(asked, &run, &manifest, &scratch.0)?;
    let directory = asked.directory.clone().unwrap_or_else(|| scratch.0.clone());
    let binary = Arc::new(Binary::from_elsewhere(path, directory));
    let id = TestId { package: String::new(), target: String::new(), test: manifest.test.clone() };
    let test = Test { id, site: String::new(), ignored: false, binary };
    let queue = NatsQueue::open(&run, &manifest).map_err(wrong)?;
    let n_hosts =
        asked.hosts.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    let name = asked.name.clone().unwrap_or_else(machine);
    print::err(&format!(
        "{name}: {} of run {}, {n_hosts} hosts at a time\n",
        manifest.test,
        run.name()
    ));
    let (counted, pace) = (Counted::default(), pace(&manifest)?);
    let desk = run::desk()?;
    let hosts = Hosts {
        desk: &desk,
        variables: &manifest.variables,
        memory: None,
        progress: run::PROGRESS,
        tree: None,
        workers: Workers::default(),
        shared: Shared { tests: 1, hosts: 1 },
        fleet: None,
        no_capture: false,
    };
    thread::scope(|scope| {
        for nth in 0..n_hosts {
            let worker = Worker { name: format!("{name}-{nth}"), lease: manifest.lease(), pace };
            let (queue, hosts, test, counted, manifest) =
                (&queue, &hosts, &test, &counted, &manifest);
            // The thread that starts a host waits for it: a host dies with its thread.
            scope.spawn(move || {
                let (plan, parts) = (manifest.more.get(PLAN), pace.parts);
                let work = HostWork { hosts, test, plan, parts, counted, host: None };
                turns(&worker, queue, work, counted);
            });
        }
        attend(&run, &name, n_hosts, &counted);
    });
    let failed = counted.failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(failed) = failed {
        return Err(failed);
    }
    let units = counted.units.load(Ordering::Relaxed);
    let executions = counted.executions.load(Ordering::Relaxed);
    let (units, executions) = (print::grouped(units), print::grouped(executions));
    print::err(&format!("{name}: {units} units, {executions} executions\n"));
    if counted.stopped.load(Ordering::Relaxed) {
        print::err(&format!("{name}: {}\n", stopped(&run)));
    }
    Ok(if os::interrupts() > 0 { exit::INTERRUPTED } else { exit::PASSED })
}

/// Looks whether the run is over, and tells how it goes.
fn attend(run: &Run, name: &str, n_hosts: usize, counted: &Counted) {
    let (mut told, mut before) = (Instant::now(), 0);
    while !counted.over.load(Ordering::Relaxed) {
        thread::sleep(LOOK);
        // A server that does not answer may again.
        let over = match run.manifest() {
            Ok(Some(manifest)) => {
                counted.stopped.store(manifest.state == RunState::Stopped, Ordering::Relaxed);
                manifest.state != RunState::Open
            }
            Ok(None) => true,
            Err(_) => false,
        };
        if over || os::interrupts() > 0 {
            counted.over.store(true, Ordering::Relaxed);
        }
        if over || told.elapsed() >= TELL {
            let executions = counted.executions.load(Ordering::Relaxed);
            #[expect(clippy::cast_precision_loss, reason = "a rate has few digits")]
            let rate = executions.saturating_sub(before) as f64 / told.elapsed().as_secs_f64();
            (told, before) = (Instant::now(), executions);
            let _ = run.report_worker(&WorkerStatus {
                worker: name.to_owned(),
                raddle: env!("CARGO_PKG_VERSION").to_owned(),
                hosts: u32::try_from(n_hosts).unwrap_or(u32::MAX),
                units: counted.units.load(Ordering::Relaxed),
                executions,
                rate,
            });
        }
    }
}

/// Takes units until the run is over, or this machine turns out to be of no use.
fn turns(worker: &Worker, queue: &NatsQueue, mut work: HostWork<'_>, counted: &Counted) {
    let mut failures = 0;
    while !counted.over.load(Ordering::Relaxed) {
        let failed = match worker.turn(queue, &mut work) {
            Ok(TurnResult::Idle) => continue,
            Ok(TurnResult::Ran(..)) => {
                counted.units.fetch_add(1, Ordering::Relaxed);
                failures = 0;
                continue;
            }
            Ok(TurnResult::GaveUp(why)) => {
                print::err(&format!("a unit was given up: {why}\n"));
                continue;
            }
            Ok(TurnResult::GaveBack(why)) => {
                DriverError::tool(format!("this machine cannot run the test: {why}"))
            }
            Err(error) if error.problem() == raddle_fleet::Problem::Unreachable => {
                print::err(&format!("{error}; waiting for it\n"));
                continue;
            }
            Err(error) => wrong(error),
        };
        failures += 1;
        if failures >= MOST_FAILURES {
            *counted.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(failed);
            counted.over.store(true, Ordering::Relaxed);
        }
    }
    if let Some((host, _)) = work.host.take() {
        let _ = host.end();
    }
}

/// Units in hosts of this machine.
struct HostWork<'a> {
    hosts: &'a Hosts<'a>,
    test: &'a Test,
    /// What the coordinator's host meant by the test.
    plan: Option<&'a String>,
    /// Into so many parts what is left of a unit is cut when other workers have nothing to do.
    parts: u32,
    counted: &'a Counted,
    host: Option<(Host, u64)>,
}

impl HostWork<'_> {
    /// A host that waits for a unit, and how many executions the search may run.
    fn host(&mut self) -> Result<(Host, u64), CannotRun> {
        if let Some(host) = self.host.take() {
            return Ok(host);
        }
        let greeted = Host::greet(self.hosts, self.test);
        let greeted =
            greeted.map_err(|error| CannotRun(format!("its host could not be run: {error}")))?;
        let (host, plan) = greeted.map_err(CannotRun)?;
        if self.plan.is_some_and(|known| *known != plan.run) {
            let _ = host.end();
            return Err(CannotRun(
                "its host does not mean the same by the test as the coordinator's: is a RADDLE_ variable set here, or does \
                 the test read something that is different on this machine?"
                    .to_owned(),
            ));
        }
        Ok((host, plan.executions))
    }
}

impl UnitRunner for HostWork<'_> {
    fn run(
        &mut self,
        queued: &QueuedUnit,
        slice: Slice,
        return_soon: &AtomicBool,
    ) -> Result<Completion, CannotRun> {
        let unit: Unit = serde_json::from_slice(&queued.bytes)
            .map_err(|error| CannotRun(format!("the unit cannot be read: {error}")))?;
        let (mut avoid, mut deaths): (Vec<Avoid>, Vec<Failure>) = (Vec::new(), Vec::new());
        for _ in 0..MOST_DEATHS {
            let (mut host, samples) = self.host()?;
            let quota = Quota {
                executions: slice.executions.min(samples),
                time_ms: slice.time.as_millis().try_into().unwrap_or(u64::MAX),
                pieces: slice.parts,
                spread: false,
            };
            let order =
                Order::Run { unit: Box::new(unit.clone()), quota, samples, avoid: avoid.clone() };
            let (counted, parts, mut told) = (self.counted, self.parts, 0);
            let answer = host.obey(&order, &mut |run| {
                // A unit may take longer than it is from one word of the worker to the next.
                let more = run.map_or(0, |run| run.saturating_sub(told));
                told += more;
                counted.executions.fetch_add(more, Ordering::Relaxed);
                if counted.over.load(Ordering::Relaxed) {
                    return Some(quota.pieces.max(1));
                }
                return_soon.load(Ordering::Relaxed).then_some(quota.pieces.max(parts))
            });
            match answer {
                Ok(Answer::Completed(mut completed)) => {
                    self.host = Some((host, samples));
                    completed.result.deaths.append(&mut deaths);
                    let more = completed.result.counts.executions.saturating_sub(told);
                    counted.executions.fetch_add(more, Ordering::Relaxed);
                    return written(&completed);
                }
                Ok(Answer::Error(why)) => {
                    let _ = host.end();
                    return Err(CannotRun(why));
                }
                Err(error) => {
                    return Err(CannotRun(format!("its host could not be heard: {error}")));
                }
                Ok(Answer::Gone) => {
                    // All of the unit is run again.
                    counted.executions.fetch_sub(told, Ordering::Relaxed);
                    let found = host.examine(self.hosts, self.test);
                    let Some((_, HostFate::Death(failure, way))) = found else { continue };
                    if failure.unstable.is_some() {
                        continue;
                    }
                    match way.filter(|way| !avoid.contains(way)) {
                        Some(way) => {
                            deaths.push(*failure);
                            avoid.push(way);
                        }
                        // It cannot be kept from that, so the rest of the unit cannot be run.
                        None => return written(&ended(&unit, *failure, deaths)),
                    }
                }
            }
        }
        match deaths.pop() {
            Some(last) => written(&ended(&unit, last, deaths)),
            None => Err(CannotRun(
                "its hosts die, and not of what the test does: too little memory?".to_owned(),
            )),
        }
    }
}

/// A unit that ended with the death of its host.
fn ended(unit: &Unit, failure: Failure, deaths: Vec<Failure>) -> Completed {
    let mut counts = Counts::default();
    counts.executions = 1;
    let result = UnitResult {
        version: VERSION,
        unit: unit.id,
        generation: unit.generation,
        search: unit.search,
        end: UnitEnd::Failed,
        counts,
        claim: Covered::Part { executions: 1, preemptions: None },
        assumptions: Vec::new(),
        failure: Some(failure),
        deaths,
        notes: Vec::new(),
        traces: None,
        coverage: None,
        receives: None,
        estimate: None,
        upwards: Upwards::default(),
        busy_us: 0,
    };
    Completed { result, leftovers: Vec::new() }
}

fn written(completed: &Completed) -> Result<Completion, CannotRun> {
    let write = || -> Result<Completion, serde_json::Error> {
        let leftovers = completed.leftovers.iter().map(serde_json::to_vec);
        let result = serde_json::to_vec(&completed.result)?;
        Ok(Completion { result, leftovers: leftovers.collect::<Result<_, _>>()? })
    };
    write().map_err(|error| CannotRun(format!("its result cannot be written: {error}")))
}

/// How long a host goes on with a unit: as the coordinator was told, if it was.
fn pace(manifest: &Manifest) -> Result<Pace, DriverError> {
    let number = |name: &str| -> Result<Option<u64>, DriverError> {
        let Some(text) = manifest.more.get(name) else { return Ok(None) };
        let wrong = |_| DriverError::usage(format!("{name} of the run is `{text}`, no number"));
        text.parse().map(Some).map_err(wrong)
    };
    let mut pace = Pace::default();
    if let Some(most) = number(UNIT_EXECUTIONS)? {
        pace.executions = most.max(1);
    }
    if let Some(longest) = number(UNIT_TIME)? {
        pace.long = Duration::from_millis(longest);
        pace.short = pace.short.min(pace.long);
    }
    Ok(pace)
}

/// What there is to do about a run that was stopped.
fn stopped(run: &Run) -> String {
    format!(
        "the run {} was ended by its coordinator, by a limit or an error, before all was searched; to go on start the coordinator \
         again with the same command, and then workers",
        run.name()
    )
}

/// A run that was not stopped.
fn not_stopped((run, manifest): (Run, Manifest)) -> Result<(Run, Manifest), DriverError> {
    if manifest.state == RunState::Stopped {
        return Err(DriverError::usage(stopped(&run)));
    }
    Ok((run, manifest))
}

/// The run, when it is there and not stopped.
fn find(nats: &Nats, name: Option<&str>, wait: Duration) -> Result<(Run, Manifest), DriverError> {
    let began = Instant::now();
    loop {
        let found = match name {
            Some(name) => Run::find(nats, name).map_err(wrong).and_then(not_stopped),
            None => only(nats),
        };
        match found {
            Ok(found) => return Ok(found),
            Err(error) if began.elapsed() >= wait || os::interrupts() > 0 => return Err(error),
            Err(_) => thread::sleep(LOOK.min(wait)),
        }
    }
}

/// The one run that is open.
fn only(nats: &Nats) -> Result<(Run, Manifest), DriverError> {
    let all = Run::all(nats).map_err(wrong)?;
    let open: Vec<&str> = all
        .iter()
        .filter(|(_, manifest)| manifest.state == RunState::Open)
        .map(|(name, _)| name.as_str())
        .collect();
    match open[..] {
        [one] => Run::find(nats, one).map_err(wrong),
        [] => Err(DriverError::usage(format!(
            "no run is open at {}; begin one with cargo raddle coordinate",
            nats.shown()
        ))),
        _ => Err(DriverError::usage(format!(
            "several runs are open: {}; choose one with --run",
            open.join(", ")
        ))),
    }
}

/// A run may set what raddle reads, and nothing else: no `LD_PRELOAD`.
fn check_variables(manifest: &Manifest) -> Result<(), DriverError> {
    let known = |name: &str| KNOBS.iter().any(|knob| knob.is_flag() && knob.variable() == name);
    match manifest.variables.iter().find(|(name, _)| !known(name)) {
        None => Ok(()),
        Some((name, _)) => Err(DriverError::usage(format!(
            "the run wants to set the variable {name} here, which is no setting of a search; it is refused"
        ))),
    }
}

/// Whether this worker's operator allowed the binary: by its hash, or by the key that signed it.
fn check_trust(asked: &cli::Work, binary: &nats::Binary) -> Result<(), DriverError> {
    let wanted = &binary.sha256;
    if asked.trust.iter().any(|trusted| trusted.eq_ignore_ascii_case(wanted)) {
        return Ok(());
    }
    if let Some(signature) = &binary.signature
        && asked.trust_key.contains(&signature.key)
    {
        return signature.check(wanted).map_err(wrong);
    }
    let signed = match &binary.signature {
        Some(signature) => format!(", signed by {},", signature.key),
        None if asked.trust_key.is_empty() => String::new(),
        None => ", without a signature,".to_owned(),
    };
    let or = match &binary.signature {
        Some(signature) => format!(", or --trust-key {} for all that it signs", signature.key),
        None => String::new(),
    };
    Err(DriverError::usage(format!(
        "the run's binary has the SHA-256 {wanted}{signed} which this worker was not told to trust; if its coordinator, which \
         prints it too, is yours: --trust {wanted}{or}"
    )))
}

/// The test binary: this machine's, or the server's if it is trusted.
fn binary(
    asked: &cli::Work,
    run: &Run,
    manifest: &Manifest,
    scratch: &Path,
) -> Result<PathBuf, DriverError> {
    let wanted = &manifest.binary.sha256;
    if let Some(path) = &asked.binary {
        let unreadable =
            |error| DriverError::usage(format!("--binary: {}: {error}", path.display()));
        let (digits, _) = fs::File::open(path).and_then(sha256).map_err(unreadable)?;
        if digits != *wanted {
            return Err(DriverError::usage(format!(
                "{} is another binary than that of the run: its SHA-256 is {digits}, and the run's is {wanted}; build it \
                 from the same source by the same compiler, or have the coordinator store its own",
                path.display()
            )));
        }
        return fs::canonicalize(path).map_err(unreadable);
    }
    check_trust(asked, &manifest.binary)?;
    if !manifest.binary.stored {
        return Err(DriverError::usage(
            "the run's binary is not at the server: name this machine's copy by --binary FILE",
        ));
    }
    let bytes = run.fetch_binary(&manifest.binary).map_err(wrong)?;
    let (digits, _) = sha256(&bytes[..]).map_err(|error| DriverError::tool(error.to_string()))?;
    if digits != *wanted {
        return Err(DriverError::usage(format!(
            "what the server sent is not the run's binary: its SHA-256 is {digits} instead of {wanted}; it was not run"
        )));
    }
    let path = scratch.join("test-binary");
    fs::write(&path, bytes)
        .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o700)))
        .map_err(|error| DriverError::tool(format!("{}: {error}", path.display())))?;
    Ok(path)
}

fn machine() -> String {
    let name =
        fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_else(|_| "worker".to_owned());
    format!("{}-{}", name.trim(), std::process::id())
}

/// A directory that is gone when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, DriverError> {
        let path = std::env::temp_dir().join(format!("raddle-work-{}", std::process::id()));
        fs::create_dir_all(&path)
            .map(|()| Self(path))
            .map_err(|error| DriverError::tool(format!("no temporary directory: {error}")))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
