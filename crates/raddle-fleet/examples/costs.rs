//! What a queue costs on this machine: what the simulation of fleets (`raddle-bench -- fleet-sim`) is run with.
//!
//! `cargo run --profile nightly -p raddle-fleet --example costs -- nats://127.0.0.1:4222`, with a server that runs there; without
//! an address only the queues of one process are measured.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use raddle_fleet::nats::{Access, Binary, Manifest, Nats, NatsQueue, Run, RunState};
use raddle_fleet::{Completion, Coordinator, DiskQueue, MemoryQueue, Queue, QueuedUnit, UnitKey};

const LEASE: Duration = Duration::from_secs(30);
/// As many bytes as units and results of real searches have, about.
const BYTES: usize = 500;

fn say(what: &str, n: u64, time: Duration) {
    let each = time / u32::try_from(n).unwrap_or(u32::MAX);
    let _ = writeln!(std::io::stdout(), "{what}: {each:?} each, {n} of them");
}

fn roots(n: u32) -> Vec<QueuedUnit> {
    let unit = |index| QueuedUnit { key: UnitKey::root(index), bytes: vec![1; BYTES] };
    (0..n).map(unit).collect()
}

/// Leases and completes every unit, by so many threads, and folds the records.
fn measure(name: &str, queue: &Arc<dyn Queue>, n: u32, threads: u64) -> Result<(), String> {
    let text = |error: raddle_fleet::QueueError| error.to_string();
    let began = Instant::now();
    queue.put(roots(n)).map_err(text)?;
    say(&format!("{name}: put a unit"), n.into(), began.elapsed());
    let done = AtomicU64::new(0);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for nth in 0..threads {
            let (queue, done) = (Arc::clone(queue), &done);
            scope.spawn(move || {
                while let Ok(Some(lease)) = queue.lease(&nth.to_string(), LEASE) {
                    let completion = Completion { result: vec![2; BYTES], leftovers: Vec::new() };
                    if queue.complete(&lease, completion).is_ok() {
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                    if done.load(Ordering::Relaxed) == u64::from(n) {
                        break;
                    }
                }
            });
        }
    });
    let what = format!("{name}: lease and complete, {threads} workers");
    say(&what, done.load(Ordering::Relaxed).max(1), began.elapsed());
    let began = Instant::now();
    let mut coordinator = Coordinator::begin(&**queue, roots(n)).map_err(text)?;
    coordinator.poll(&**queue, &mut |_| Vec::new()).map_err(text)?;
    say(&format!("{name}: read a record"), coordinator.done().0.max(1), began.elapsed());
    Ok(())
}

fn run() -> Result<(), String> {
    let text = |error: raddle_fleet::QueueError| error.to_string();
    let memory: Arc<dyn Queue> = Arc::new(MemoryQueue::default());
    measure("memory", &memory, 20_000, 1)?;
    let path = std::env::temp_dir().join(format!("raddle-costs-{}", std::process::id()));
    let disk = DiskQueue::open(&path, b"costs").map_err(text)?;
    let disk: Arc<dyn Queue> = Arc::new(disk);
    measure("disk", &disk, 20_000, 1)?;
    // One commit, as there is at most every half second.
    let began = Instant::now();
    for index in 0..20 {
        let key = UnitKey::root(index).in_generation(1);
        disk.put(vec![QueuedUnit { key, bytes: vec![1; BYTES] }]).map_err(text)?;
        disk.sync().map_err(text)?;
    }
    say("disk: a commit", 20, began.elapsed());
    drop(disk);
    let _ = std::fs::remove_file(&path);
    let Some(url) = std::env::args().nth(1) else { return Ok(()) };
    let nats = Nats::connect(&Access { url, ..Access::default() }).map_err(text)?;
    for threads in [1, 8, 32] {
        let manifest = Manifest {
            version: Manifest::current_version(),
            raddle: String::new(),
            binary: Binary { sha256: String::new(), size: 0, stored: false, signature: None },
            test: String::new(),
            variables: Vec::new(),
            lease_ms: 30_000,
            replicas: 1,
            state: RunState::Open,
            more: BTreeMap::new(),
        };
        let run = Run::begin(&nats, &format!("costs-{threads}"), &manifest).map_err(text)?;
        let queue: Arc<dyn Queue> = Arc::new(NatsQueue::open(&run, &manifest).map_err(text)?);
        measure("nats", &queue, 4_000, threads)?;
        run.remove().map_err(text)?;
    }
    Ok(())
}

fn main() {
    if let Err(error) = run() {
        let _ = writeln!(std::io::stderr(), "{error}");
        std::process::exit(1);
    }
}
