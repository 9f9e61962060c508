//! `cargo raddle coordinate`: a test whose search other machines run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use raddle_fleet::nats::{Binary, Manifest, Nats, NatsQueue, Run, RunState, SigningKey, sha256};
use raddle_fleet::{
    Coordinator, Ending, Problem, Queue as _, QueueError, QueuedUnit, Record, UnitKey,
};
use raddle_knobs::KNOBS;
use raddle_trace::unit::{Completed, Unit, UnitId, UnitPlan};
use raddle_trace::{Progress, exit};

use super::access::{connect, time};
use super::page::LivePage;
use super::standing::{Folded, Standing, now};
use super::{Fleet, PLAN, UNIT_EXECUTIONS, UNIT_TIME};
use crate::cli;
use crate::command;
use crate::error::DriverError;
use crate::find::Test;
use crate::host::Hosts;
use crate::os;
use crate::print;
use crate::workers::{Host, Remote};

/// From one look at the records to the next.
const LOOK: Duration = Duration::from_millis(50);
/// From one word of how the run stands to the next.
const TELL: Duration = Duration::from_secs(1);
/// So many looks without a unit at the server, while some are open: it has lost them.
const EMPTY: u32 = 5;
/// How long a server that is silent is asked in one go: so soon a limit of time and Ctrl-C are noticed meanwhile.
const HASTE: Duration = Duration::from_secs(2);
/// What a lease must have at least: three heartbeats, and a server's moment to answer.
const SHORTEST_LEASE: Duration = Duration::from_secs(1);

/// The machines of one run.
#[derive(Debug)]
struct Machines<'a> {
    asked: &'a cli::Coordinate,
    nats: Nats,
    lease: Duration,
    page: Option<LivePage>,
    /// What signs the binary.
    key: Option<SigningKey>,
    /// The command that goes on.
    again: String,
    /// The run, when it was begun, and how it stood last.
    last: Mutex<Option<(Run, Manifest, Folded)>>,
}

/// Searches one test on other machines.
pub(crate) fn coordinate(asked: &cli::Coordinate, given: &[String]) -> Result<u8, DriverError> {
    if asked.test.resume || asked.test.tree.is_some() {
        return Err(DriverError::usage(
            "--resume and --tree are of `cargo raddle test`; a run of many machines goes on when its coordinator is started \
             again with the same command",
        ));
    }
    if asked.test.settings.knobs.given.iter().any(|(knob, _)| knob.name == "workers") {
        return Err(DriverError::usage(
            "--workers is of `cargo raddle test`, whose hosts share a search on this machine; those of a run of many machines \
             are started by `cargo raddle work --hosts N`, here too",
        ));
    }
    let lease = time("--lease", &asked.lease)?;
    if lease < SHORTEST_LEASE {
        return Err(DriverError::usage(
            "--lease is shorter than a second, so every worker would seem dead",
        ));
    }
    let nats = connect(&asked.server)?;
    let page = asked.page.map(LivePage::serve).transpose()?;
    if let Some(page) = &page {
        print::err(&format!("page: {}\n", page.url));
    }
    let key = asked.sign.as_deref().map(signing_key).transpose()?;
    let again = format!("cargo raddle {}", given.join(" "));
    let machines = Machines { asked, nats, lease, page, key, again, last: Mutex::new(None) };
    let code = command::test(&asked.test, given, Some(&machines))?;
    machines.verdict(code);
    Ok(code)
}

/// The key in a file, or a new one.
fn signing_key(path: &Path) -> Result<SigningKey, DriverError> {
    let (key, is_new) = SigningKey::of_file(path)
        .map_err(|error| DriverError::usage(format!("--sign: {error}")))?;
    if is_new {
        print::err(&format!(
            "made a key to sign with: {} has its seed, which is secret\n",
            path.display()
        ));
    }
    Ok(key)
}

impl Machines<'_> {
    /// What the run is.
    fn manifest(&self, hosts: &Hosts<'_>, test: &Test, plan: &UnitPlan) -> io::Result<Manifest> {
        let (digits, size) = sha256(File::open(&test.binary.path)?)?;
        let sign = |key: &SigningKey| key.sign(&digits).map_err(io::Error::other);
        let signature = self.key.as_ref().map(sign).transpose()?;
        // Those of this process reach its own hosts by themselves, and those of others only so.
        let mut variables: BTreeMap<String, String> = KNOBS
            .iter()
            .filter_map(|knob| Some((knob.variable(), std::env::var(knob.variable()).ok()?)))
            .collect();
        variables.extend(hosts.variables.iter().cloned());
        let mut more = BTreeMap::from([(PLAN.to_owned(), plan.run.clone())]);
        let most = hosts.workers.unit_executions.map(|most| most.to_string());
        more.extend(most.map(|most| (UNIT_EXECUTIONS.to_owned(), most)));
        let longest = hosts.workers.unit_time.map(|time| time.as_millis().to_string());
        more.extend(longest.map(|longest| (UNIT_TIME.to_owned(), longest)));
        Ok(Manifest {
            version: Manifest::current_version(),
            raddle: env!("CARGO_PKG_VERSION").to_owned(),
            binary: Binary { sha256: digits, size, stored: !self.asked.no_upload, signature },
            test: test.id.test.clone(),
            variables: variables.into_iter().collect(),
            lease_ms: self.lease.as_millis().try_into().unwrap_or(u64::MAX),
            replicas: self.asked.replicas,
            state: RunState::Open,
            more,
        })
    }

    fn begin(&self, test: &Test, manifest: &Manifest) -> Result<Run, QueueError> {
        let digits = &manifest.binary.sha256;
        let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let short: String = test.id.test.chars().map(plain).take(40).collect();
        let name = self.asked.run.clone().unwrap_or_else(|| format!("{short}-{}", &digits[..8]));
        let run = Run::begin(&self.nats, &name, manifest)?;
        if manifest.binary.stored {
            run.store_binary(&test.binary.path, &manifest.binary)?;
        }
        let url = self.nats.shown();
        let how = match &self.key {
            _ if !manifest.binary.stored => "--binary FILE".to_owned(),
            Some(key) => format!("--trust-key {}", key.public_key()),
            None => format!("--trust {digits}"),
        };
        print::err(&format!(
            "run {name}: start workers, here or on other machines, with\n  cargo raddle work --nats {url} --run {name} {how}\n"
        ));
        Ok(run)
    }

    /// Says how the run stands, to the server and to the page. That may fail without harm.
    fn tell(&self, run: &Run, manifest: &Manifest, queue: &NatsQueue, folded: &Folded) {
        let _ = folded.keep(run);
        if let (Some(page), Ok(standing)) = (&self.page, Standing::look(run, manifest, queue)) {
            page.show(&standing);
        }
        let last = Some((run.clone(), manifest.clone(), folded.clone()));
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = last;
    }

    /// Says how the run ended.
    fn verdict(&self, code: u8) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((run, manifest, folded)) = last.as_mut() else { return };
        if manifest.state != RunState::Finished {
            return;
        }
        let verdict = match code {
            exit::PASSED => "passed",
            exit::FAILED => "failed",
            _ => "inconclusive",
        };
        folded.verdict = Some(verdict.to_owned());
        let _ = folded.keep(run);
        if let (Some(page), Ok(queue)) = (&self.page, NatsQueue::open(run, manifest))
            && let Ok(standing) = Standing::look(run, manifest, &queue)
        {
            page.show(&standing);
        }
    }

    /// Folds until the search is over. How many workers there were.
    fn fold(
        &self,
        run: &Run,
        manifest: &Manifest,
        remote: &Remote,
        hear: &mut dyn FnMut(Progress),
    ) -> Result<usize, QueueError> {
        let queue = NatsQueue::open(run, manifest)?;
        let mut coordinator =
            Coordinator::begin(&queue, remote.roots().iter().map(queued).collect())?;
        // From here on a silent server is waited for below.
        let (run, queue) = (&run.with_patience(HASTE), queue.with_patience(HASTE));
        let mut workers = BTreeSet::new();
        let mut told: Option<Instant> = None;
        let mut empty = 0;
        let mut silent = false;
        loop {
            let polled = coordinator.poll(&queue, &mut |record| {
                workers.insert(record.worker.clone());
                let opened = take_up(remote, record);
                // A search that follows may have records, too, if a coordinator was here before.
                remote.roots().iter().chain(&opened).map(queued).collect()
            });
            let Some(new) = patient(polled, &mut silent)? else {
                // What was folded is folded.
                if remote.is_over() {
                    return Ok(workers.len());
                }
                continue;
            };
            let over = remote.is_over() || coordinator.is_finished();
            if over || told.is_none_or(|told| told.elapsed() >= TELL) {
                told = Some(Instant::now());
                let progress = remote.progress();
                hear(progress);
                let (done, open) = (coordinator.done().0, coordinator.n_open() as u64);
                let (failures, at) = (remote.failures(), now());
                self.tell(
                    run,
                    manifest,
                    &queue,
                    &Folded { progress, done, open, failures, verdict: None, at },
                );
            }
            if over {
                return Ok(workers.len());
            }
            let nothing = |state: raddle_fleet::QueueState| state.waiting + state.leased == 0;
            empty = if new == 0 && queue.state().is_ok_and(nothing) { empty + 1 } else { 0 };
            if empty == EMPTY {
                patient(coordinator.repair(&queue).map(|()| 0), &mut silent)?;
                empty = 0;
            }
            thread::sleep(LOOK);
        }
    }
}

/// A server that does not answer is waited for, as workers do; none: nothing was read.
fn patient(polled: Result<u64, QueueError>, silent: &mut bool) -> Result<Option<u64>, QueueError> {
    match polled {
        Ok(new) => {
            if std::mem::take(silent) {
                print::err("the server answers again\n");
            }
            Ok(Some(new))
        }
        Err(error) if error.problem() == Problem::Unreachable => {
            if !std::mem::replace(silent, true) {
                print::err(&format!("{error}; waiting for it\n"));
            }
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn queued(unit: &Unit) -> QueuedUnit {
    let bytes = serde_json::to_vec(unit).unwrap_or_default();
    let is_root = unit.id == UnitId::root(unit.search);
    let key = if is_root { UnitKey::root(unit.search) } else { UnitKey::following(unit.id.0) };
    QueuedUnit { key, bytes }
}

/// Folds a record. Returns the units that it opens.
fn take_up(remote: &Remote, record: &Record) -> Vec<Unit> {
    let completion = match &record.ending {
        Ending::Done(completion) => completion,
        Ending::GivenUp { why } => {
            remote.give_up(why);
            return Vec::new();
        }
    };
    let read = || -> Result<Completed, serde_json::Error> {
        let leftovers = completion.leftovers.iter().map(|bytes| serde_json::from_slice(bytes));
        let result = serde_json::from_slice(&completion.result)?;
        Ok(Completed { result, leftovers: leftovers.collect::<Result<_, _>>()? })
    };
    match read() {
        Ok(completed) => remote.fold(&completed),
        Err(error) => {
            remote.give_up(&format!(
                "what worker {} wrote cannot be read: {error}; see that it has the same cargo-raddle as this machine, and \
                 begin the run anew under another name (--run)",
                record.worker
            ));
            Vec::new()
        }
    }
}

impl Fleet for Machines<'_> {
    fn search(
        &self,
        hosts: &Hosts<'_>,
        test: &Test,
        hear: &mut dyn FnMut(Progress),
    ) -> Result<(String, String), String> {
        let (host, plan) = Host::greet(hosts, test).map_err(|error| error.to_string())??;
        let _ = host.end();
        let manifest = self.manifest(hosts, test, &plan);
        let mut manifest =
            manifest.map_err(|error| format!("{}: {error}", test.binary.path.display()))?;
        let said = |error: QueueError| error.to_string();
        let run = self.begin(test, &manifest).map_err(said)?;
        let remote = Remote::new(hosts.desk.path("units"), &plan);
        let folded = self.fold(&run, &manifest, &remote, hear);
        if folded.is_ok() && !remote.is_interrupted() {
            manifest.state = RunState::Finished;
            run.set(&manifest).map_err(said)?;
        } else if folded.is_err() || os::interrupts() == 0 {
            manifest.state = RunState::Stopped;
            // A server that is silent now may be so for long, and what was folded is to be told.
            if let Err(error) = run.with_patience(HASTE).set(&manifest) {
                manifest.state = RunState::Open;
                print::err(&format!("workers could not be told to end, and go on: {error}\n"));
            }
        }
        if let Some((_, kept, _)) =
            self.last.lock().unwrap_or_else(PoisonError::into_inner).as_mut()
        {
            kept.state = manifest.state;
        }
        let workers = folded.map_err(said)?;
        let left = match manifest.state {
            RunState::Open => "the run is not over, and its workers go on; fold the rest with",
            _ => {
                "the run is not over, and its workers were told to end; to go on start workers again, and the coordinator with"
            }
        };
        let judged = remote.end(workers, &format!("{left}: {}", self.again))?;
        let file = hosts.desk.to_judge(&judged).map_err(|error| error.to_string())?;
        Ok((file.to_string_lossy().into_owned(), String::new()))
    }
}
