//! Some of the measured programs under traceforge.
//!
//! traceforge's variables and locks are threads that answer messages. The text of the programs is
//! its own, since it has neither std's locks nor all of its ops.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread as os;
use std::time::{Duration, Instant};

use peer::{Program, Search, SearchKind, Searched};
use traceforge::sync::Mutex;
use traceforge::sync::atomic::AtomicUsize;
use traceforge::thread::{self, JoinHandle};

fn main() -> ExitCode {
    peer::main("traceforge", search)
}

fn search(Search { program, kind, limit, within }: Search) -> Result<Searched, String> {
    if kind != SearchKind::Dfs {
        return Err("traceforge has one search: ask for dfs, dfs-first or exhaust".to_owned());
    }
    let body: fn(u32, u32) = match program {
        Program::Own(..) => own,
        Program::Pairs(..) => pairs,
        Program::Locks => locks,
        _ => return Err(format!("{program} is not written for traceforge")),
    };
    let (threads, each) = match program {
        Program::Own(threads, each) | Program::Pairs(threads, each) => (threads, each),
        _ => (3, 2),
    };
    let (result, results) = mpsc::channel();
    let until = Until { limit, deadline: within.map(|within| Instant::now() + within) };
    // traceforge has no limit on time, and prints where it is stopped by its limit on executions.
    // So it runs on a thread that is left where it is when it has done enough.
    os::Builder::new()
        .stack_size(64 << 20)
        .spawn(move || {
            let begun = Arc::new(AtomicU64::new(0));
            let enough = result.clone();
            let stats = traceforge::verify(traceforge::Config::builder().build(), move || {
                until.check(&begun, &enough);
                body(threads, each);
            });
            let executions = (stats.execs + stats.block) as u64;
            let _ = result.send(Searched { executions, blocked: stats.block as u64 });
        })
        .map_err(|error| error.to_string())?;
    results.recv().map_err(|_| "the search panicked".to_owned())
}

/// When it is enough.
#[derive(Clone, Copy, Debug)]
struct Until {
    limit: u64,
    deadline: Option<Instant>,
}

impl Until {
    /// Before each execution. Does not return when it is enough.
    fn check(self, begun: &AtomicU64, enough: &Sender<Searched>) {
        let made = begun.fetch_add(1, Ordering::Relaxed);
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if made > 0 && (made >= self.limit || late) {
            let _ = enough.send(Searched::from(made));
            loop {
                os::sleep(Duration::from_hours(1));
            }
        }
    }
}

fn own(threads: u32, accesses: u32) {
    join(threads, |_| {
        let own = AtomicUsize::new(0);
        move || {
            for value in 0..accesses {
                own.store(value as usize, Ordering::SeqCst);
            }
        }
    });
}

fn pairs(threads: u32, pairs: u32) {
    let shared = AtomicUsize::new(0);
    join(threads, |_| {
        let shared = shared.clone();
        move || {
            for _ in 0..pairs {
                shared.store(shared.load(Ordering::SeqCst) + 1, Ordering::SeqCst);
            }
        }
    });
}

fn locks(threads: u32, sections: u32) {
    let total = Arc::new(Mutex::new(0_usize));
    join(threads, |value| {
        let total = Arc::clone(&total);
        move || {
            for _ in 0..sections {
                *total.blocking_lock() += value as usize;
            }
        }
    });
}

/// Spawns the threads and joins them.
fn join<F: FnOnce() + Send + 'static>(threads: u32, body: impl Fn(u32) -> F) {
    let threads: Vec<JoinHandle<()>> = (0..threads).map(|nth| thread::spawn(body(nth))).collect();
    for thread in threads {
        thread.join().expect("no thread panics");
    }
}
