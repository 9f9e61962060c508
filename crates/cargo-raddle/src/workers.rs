//! One search by several hosts: each runs units of it, and what all of them came to is one report.
//!
//! The driver keeps the units in a queue on disk (`raddle-fleet`), gives each host one after another, and folds what comes
//! back (`raddle_trace::fold`). A host that is killed costs the time since it got its unit: another gets it. If this
//! process is killed, `--resume` goes on with what is in the file. When nothing is left, one more host makes the report
//! and judges the test: it has the test's configuration, and the harness has the last word.
//!
//! `lane.rs`: one search; `board.rs`: what workers share and who decides what is next; `worker.rs`: a thread with a host.

mod board;
mod lane;
mod rare;
mod worker;

use std::thread;
use std::time::{Duration, Instant};

use raddle_trace::Progress;

use self::board::Board;
#[cfg(feature = "nats")]
pub(crate) use self::board::Remote;
#[cfg(feature = "nats")]
pub(crate) use self::worker::{Answer, Host, HostFate};
use crate::find::Test;
use crate::host::Hosts;

/// From one word of progress to the next.
const LOOK: Duration = Duration::from_millis(50);

/// How many hosts share the search of a test; none if one runs it whole.
pub(crate) fn count(hosts: &Hosts<'_>, test: &Test) -> Option<usize> {
    let checkpoints = hosts.desk.checkpoints.as_ref()?;
    let left = checkpoints.resumes() && Board::is_kept(&checkpoints.units(&test.id));
    if !left && checkpoints.has_checkpoint(&test.id) {
        // What is to go on was begun by one host.
        return None;
    }
    (left || hosts.workers.count.is_some()).then_some(hosts.shared.hosts)
}

/// A test begins anew in one host: units of an earlier run are of no use.
pub(crate) fn forget(hosts: &Hosts<'_>, test: &Test) {
    if let Some(checkpoints) = hosts.desk.checkpoints.as_ref().filter(|kept| !kept.resumes()) {
        let _ = checkpoints.remove_units(&test.id);
    }
}

/// Has so many hosts search. The file for the host that makes the report of it, and what the test printed last; or
/// why nothing can be said.
pub(crate) fn search(
    hosts: &Hosts<'_>,
    test: &Test,
    workers: usize,
    hear: &mut dyn FnMut(Progress),
) -> Result<(String, String), String> {
    let checkpoints = hosts.desk.checkpoints.as_ref().ok_or("there is no place for units")?;
    checkpoints.prepare().map_err(|error| format!("no place for units: {error}"))?;
    if !checkpoints.resumes() {
        // Those of a search that this run does not come to would be taken up by one that goes on from it.
        let removed = checkpoints.remove_units(&test.id);
        removed.map_err(|error| format!("units of an earlier run cannot be removed: {error}"))?;
    }
    let file = checkpoints.units(&test.id);
    let binary = hosts.desk.binary(&test.binary.path).map_err(|error| error.to_string())?;
    let deaths = checkpoints.known_deaths(&test.id, || Ok(binary.clone()))?;
    let resume = checkpoints.resumes().then_some(deaths);
    let board = Board::new(hosts.workers, workers, file, binary, resume);
    let mut output = String::new();
    thread::scope(|scope| {
        // The thread that starts a host waits for it: a host dies with its thread.
        let running: Vec<_> = (0..workers)
            .map(|nth| {
                let board = &board;
                scope.spawn(move || worker::work(board, hosts, test, nth))
            })
            .collect();
        let mut told = Instant::now();
        while running.iter().any(|worker| !worker.is_finished()) {
            thread::sleep(LOOK.min(hosts.progress));
            if told.elapsed() >= hosts.progress {
                told = Instant::now();
                hear(board.progress());
            }
        }
        for worker in running {
            if let Ok(printed) = worker.join()
                && !printed.is_empty()
            {
                output = printed;
            }
        }
    });
    let judged = board.end(workers)?;
    let file = hosts.desk.to_judge(&judged).map_err(|error| error.to_string())?;
    Ok((file.to_string_lossy().into_owned(), output))
}
