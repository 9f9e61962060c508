//! A fleet of 1 to 10,000 workers, simulated: the real coordinator, ledger, queue and pace over workers whose time is a number.
//!
//! What is simulated is time: of executions, of messages at the server, of a network between them. What is real is all that
//! decides: which unit a worker gets, for how long it goes on with it and into how many parts it cuts the rest
//! (`raddle_fleet::Pace`), what is recorded (`MemoryQueue`) and how it is folded (`Coordinator`). At the end the leaves that were
//! folded are compared with those of the tree.
//!
//! Costs are those that `crates/raddle-fleet/examples/costs.rs` measured, see [`Costs`]. Subtrees are those of
//! `raddle_fleet::synthetic`: two to five children whose sizes are as the cubes of random numbers, so that one child often
//! has most of its parent's leaves. They are not drawn from a real search.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use raddle_fleet::synthetic::Node;
use raddle_fleet::{
    Clock as _, Completion, Coordinator, Lease, ManualClock, MemoryQueue, Pace, Queue as _,
    QueuedUnit, UnitKey,
};

use crate::numbers::grouped;
use crate::part::Part;
use crate::plot::{Plot, Scale, Series, Style};
use crate::table::{Comparison, Table};

/// What things cost, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    /// A message at the server, which has one after another: its CPU time.
    pub(crate) message: u64,
    /// From a worker to the server and back.
    pub(crate) network: u64,
    /// To fold a record, at the coordinator, which has one after another.
    pub(crate) fold: u64,
    /// To begin a unit in a host: its prefix is run again.
    pub(crate) begin: u64,
}

/// nats-server 2.9.10 took 2.38 s of CPU time for 12,000 units of 7 messages each; a record was read and folded in 143 µs by an
/// unoptimised build. The network is that of one data centre, and what a unit takes to begin is a guess.
pub(crate) const COSTS: Costs =
    Costs { message: 28_000, network: 500_000, fold: 150_000, begin: 1_000_000 };

/// A search.
#[derive(Clone, Copy, Debug)]
struct Search {
    name: &'static str,
    leaves: u64,
    /// Nanoseconds for each.
    execution: u64,
    /// Which tree.
    seed: u64,
}

/// The tree on which the default pace was chosen, out of nine that were tried.
const TUNED: u64 = 17;
/// Others, at a thousand workers.
const OTHERS: [u64; 5] = [1, 2, 3, 4, 5];
/// Both ten hours of one processor.
const SEARCHES: [Search; 2] = [
    Search { name: "10 µs an execution", leaves: 3_600_000_000, execution: 10_000, seed: TUNED },
    Search { name: "1 ms an execution", leaves: 36_000_000, execution: 1_000_000, seed: TUNED },
];
const WORKERS: [u64; 14] = [1, 2, 4, 8, 16, 24, 32, 40, 100, 300, 1_000, 2_000, 5_000, 10_000];
/// What Eta published: as many times the executions of one worker, on its figure 6.
const ETA: [(f64, f64); 2] = [(24.0, 17.5), (40.0, 17.5)];

/// What a simulated fleet did.
#[derive(Clone, Copy, Debug, Default)]
struct Ran {
    /// Nanoseconds until the last record was folded.
    time: u64,
    /// Until the last worker was through.
    worked: u64,
    messages: u64,
    units: u64,
    /// Nanoseconds in which workers had nothing to do, from their first request to the end.
    idle: u64,
    /// Nanoseconds of the server.
    server: u64,
    /// Nanoseconds of the coordinator.
    folding: u64,
}

/// What happens to a worker at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// Its request for a unit is at the server.
    Asks,
    /// It has run its slice, and its record is at the server.
    Completes,
}

struct Fleet {
    search: Search,
    costs: Costs,
    pace: Pace,
    queue: MemoryQueue,
    clock: ManualClock,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    /// By worker: what it has, and what it makes of it.
    running: Vec<Option<(Lease, Completion)>>,
    /// Workers that wait at the server, and since when.
    parked: VecDeque<(u64, u64)>,
    /// When the server has done all that has come to it.
    free: u64,
    folded: u64,
    ran: Ran,
}

/// Runs so many leaves of the nodes, the last first. How many there were.
fn walk(nodes: &mut Vec<Node>, most: u64) -> u64 {
    let mut left = most;
    while let Some(node) = nodes.pop() {
        if node.leaves <= left {
            left -= node.leaves;
        } else if left == 0 {
            nodes.push(node);
            break;
        } else {
            nodes.extend(node.children());
        }
    }
    most - left
}

fn nodes(bytes: &[u8]) -> Vec<Node> {
    serde_json::from_slice(bytes).expect("it was written here")
}

fn unit(nodes: &[Node]) -> Vec<u8> {
    serde_json::to_vec(nodes).expect("numbers can be written")
}

/// Cuts what is left, as hosts do: the shallowest subtrees, which are the largest, are units of their own; all others
/// are one.
fn cut(nodes: &[Node], parts: usize) -> Vec<Vec<u8>> {
    let (alone, together) = nodes.split_at(nodes.len().min(parts.max(1) - 1));
    let rest = (!together.is_empty()).then(|| unit(together));
    alone.iter().map(|node| unit(&[*node])).chain(rest).collect()
}

impl Fleet {
    fn new(search: Search, costs: Costs, pace: Pace, workers: u64) -> Self {
        let clock = ManualClock::default();
        let queue = MemoryQueue::new(Arc::new(clock.clone()));
        let events = (0..workers).map(|worker| Reverse((costs.network / 2, worker, Event::Asks)));
        Self {
            search,
            costs,
            pace,
            queue,
            clock,
            events: events.collect(),
            running: (0..workers).map(|_| None).collect(),
            parked: VecDeque::new(),
            free: 0,
            folded: 0,
            ran: Ran::default(),
        }
    }

    /// The server does so many messages, one after another. When it has done them.
    fn serve(&mut self, now: u64, messages: u64) -> u64 {
        let time = messages * self.costs.message;
        self.ran.messages += messages;
        self.ran.server += time;
        self.free = self.free.max(now) + time;
        self.free
    }

    /// Gives a unit to a worker that asked, if one waits.
    fn lease(&mut self, now: u64, worker: u64) -> bool {
        let lease = self.queue.lease(&worker.to_string(), Duration::from_secs(30));
        let Some(lease) = lease.expect("memory does not fail") else { return false };
        // The request, the delivery, and a look whether there is a record.
        let served = self.serve(now, 3);
        let slice = self.pace.of(&lease);
        let mut nodes = nodes(&lease.unit.bytes);
        let slice_ns = u64::try_from(slice.time.as_nanos()).unwrap_or(u64::MAX);
        let most = (slice_ns / self.search.execution).max(1).min(slice.executions);
        let leaves = walk(&mut nodes, most);
        let leftovers = cut(&nodes, slice.parts as usize);
        let result = leaves.to_le_bytes().to_vec();
        let completion = Completion { result, leftovers };
        let done =
            served + 2 * self.costs.network + self.costs.begin + leaves * self.search.execution;
        self.running[usize::try_from(worker).expect("few")] = Some((lease, completion));
        self.events.push(Reverse((done, worker, Event::Completes)));
        true
    }

    fn run(mut self) -> Ran {
        let root = QueuedUnit {
            key: UnitKey::root(0),
            bytes: unit(&[Node { leaves: self.search.leaves, seed: self.search.seed }]),
        };
        let mut coordinator =
            Coordinator::begin(&self.queue, vec![root]).expect("memory does not fail");
        let mut leaves = 0;
        let mut coordinated = 0;
        while let Some(Reverse((now, worker, event))) = self.events.pop() {
            let late = Duration::from_nanos(now).saturating_sub(self.clock.now());
            self.clock.advance(late);
            match event {
                Event::Asks => {
                    if !self.lease(now, worker) {
                        self.parked.push_back((now, worker));
                    }
                }
                Event::Completes => {
                    let index = usize::try_from(worker).expect("few");
                    let (lease, completion) = self.running[index].take().expect("it runs");
                    // The record, what is left, the acknowledgement.
                    let messages = 2 + completion.leftovers.len() as u64;
                    self.queue.complete(&lease, completion).expect("memory does not fail");
                    let served = self.serve(now, messages);
                    self.ran.worked = self.ran.worked.max(served);
                    self.ran.units += 1;
                    self.events.push(Reverse((served + self.costs.network, worker, Event::Asks)));
                    // One message more: the coordinator reads it.
                    self.serve(now, 1);
                    coordinator
                        .poll(&self.queue, &mut |record| {
                            if let raddle_fleet::Ending::Done(done) = &record.ending {
                                let bytes = done.result.as_slice().try_into().expect("eight bytes");
                                leaves += u64::from_le_bytes(bytes);
                                self.folded += 1;
                            }
                            Vec::new()
                        })
                        .expect("memory does not fail");
                    coordinated = served.max(coordinated) + self.costs.fold;
                    self.ran.folding += self.costs.fold;
                    while let Some(&(since, parked)) = self.parked.front() {
                        if !self.lease(served, parked) {
                            break;
                        }
                        self.ran.idle += served.saturating_sub(since);
                        self.parked.pop_front();
                    }
                }
            }
            if coordinator.is_finished() {
                break;
            }
        }
        assert_eq!(leaves, self.search.leaves, "a leaf was lost, or counted twice");
        let end = self.ran.worked;
        self.ran.idle +=
            self.parked.iter().map(|(since, _)| end.saturating_sub(*since)).sum::<u64>();
        self.ran.time = coordinated.max(end);
        self.ran
    }
}

/// How much of the fleet's time went into executions.
#[expect(clippy::cast_precision_loss, reason = "a share has few digits")]
fn efficiency(search: Search, workers: u64, ran: &Ran) -> f64 {
    let ideal = search.leaves as f64 * search.execution as f64 / workers as f64;
    ideal / ran.time as f64
}

/// Simulates all fleets.
#[expect(clippy::cast_precision_loss, reason = "shares and rates have few digits")]
pub(crate) fn measure(quick: bool, costs: Costs, pace: Pace, say: &dyn Fn(&str)) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut series = Vec::new();
    for search in SEARCHES {
        let mut table = Table {
            title: format!("A search of ten hours of one processor, {} (simulated)", search.name),
            header: [
                "workers",
                "time",
                "efficiency",
                "units",
                "messages/s",
                "server busy",
                "coordinator busy",
                "idle",
            ]
            .map(str::to_owned)
            .into(),
            ..Table::default()
        };
        let mut points = Vec::new();
        for workers in WORKERS.into_iter().filter(|workers| !quick || *workers <= 1_000) {
            say(&format!("{}: {workers} workers", search.name));
            let ran = Fleet::new(search, costs, pace, workers).run();
            let share = efficiency(search, workers, &ran);
            let seconds = ran.time as f64 / 1e9;
            let percent = |part: f64| format!("{:.1} %", 100.0 * part);
            let of_all = ran.time as f64 * workers as f64;
            table.rows.push(vec![
                grouped(workers),
                crate::numbers::duration(ran.time as f64),
                percent(share),
                grouped(ran.units),
                format!("{:.0}", ran.messages as f64 / seconds),
                percent(ran.server as f64 / ran.time as f64),
                percent(ran.folding as f64 / ran.time as f64),
                percent(ran.idle as f64 / of_all),
            ]);
            points.push((workers as f64, share * workers as f64));
            if workers == 1_000 {
                table.comparisons.push(Comparison {
                    table: "fleet-sim",
                    row: search.name.to_owned(),
                    column: "efficiency at 1,000 workers".to_owned(),
                    ours: Some(share),
                    peer: None,
                    ratio: None,
                });
            }
        }
        series.push(Series {
            name: format!("simulated, {}", search.name),
            points,
            style: Style::Marks,
        });
        parts.push(Part::from(table));
    }
    parts.push(Part::from(others(costs, pace, say)));
    let most = if quick { 1_000.0 } else { 10_000.0 };
    let ideal = vec![(1.0, 1.0), (most, most)];
    series.push(Series {
        name: "Eta, published: 17.5 at 24 to 40 workers".to_owned(),
        points: ETA.to_vec(),
        style: Style::Marks,
    });
    series.push(Series {
        name: "as many times as workers".to_owned(),
        points: ideal,
        style: Style::Guide,
    });
    let plot = Plot {
        title: "Executions in a second, in those of one worker".to_owned(),
        x: "workers".to_owned(),
        y: "times".to_owned(),
        scales: [Scale::Logarithmic; 2],
        series,
    };
    if let Some(last) = parts.last_mut() {
        last.plots.push(("scaling".to_owned(), plot));
        last.table.notes = notes(costs);
    }
    parts
}

/// A thousand workers on trees on which nothing was chosen.
fn others(costs: Costs, pace: Pace, say: &dyn Fn(&str)) -> Table {
    let mut table = Table {
        title: "1,000 workers on other trees (simulated)".to_owned(),
        header: ["search", "seed", "efficiency"].map(str::to_owned).into(),
        ..Table::default()
    };
    for search in SEARCHES {
        for seed in OTHERS {
            say(&format!("{}, seed {seed}", search.name));
            let search = Search { seed, ..search };
            let ran = Fleet::new(search, costs, pace, 1_000).run();
            let share = format!("{:.1} %", 100.0 * efficiency(search, 1_000, &ran));
            table.rows.push(vec![search.name.to_owned(), seed.to_string(), share]);
        }
    }
    table
}

fn notes(costs: Costs) -> Vec<String> {
    let us = |ns: u64| format!("{} µs", grouped(ns / 1_000));
    vec![
        format!(
            "Costs: {} a message at the server (its CPU time, measured), {} to a worker and back (assumed), {} to read and fold a \
             record (measured, unoptimised build), {} to begin a unit (assumed).",
            us(costs.message),
            us(costs.network),
            us(costs.fold),
            us(costs.begin)
        ),
        "Simulated: time. Real: queue, coordinator, pace. Sizes of subtrees are a distribution (cubes of random numbers), not \
         those of a real search; workers neither die nor differ in speed."
            .to_owned(),
        "Time ends when the coordinator has folded the last record.".to_owned(),
        format!(
            "The default pace was chosen on the tree of seed {TUNED}, which the first two tables show, among nine settings at 1,000 \
             workers (53 % to 90 %); the third table has other trees."
        ),
        "It stops scaling between 1,000 and 2,000 workers: at 10 hours of work they are done in half a minute, units run short, \
         slices become short, and the one server has as many messages as it can do. Whether longer searches scale further was not \
         simulated."
            .to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Search =
        Search { name: "small", leaves: 2_000_000, execution: 10_000, seed: TUNED };

    #[test]
    fn every_leaf_is_run_once_by_any_number_of_workers() {
        for workers in [1, 7, 100] {
            let ran = Fleet::new(SMALL, COSTS, Pace::default(), workers).run();
            let share = efficiency(SMALL, workers, &ran);
            assert!(share > 0.0 && share <= 1.0, "{workers}: {share}");
        }
    }

    #[test]
    fn walking_takes_as_many_leaves_as_it_may() {
        let mut stack = vec![Node { leaves: 1_000, seed: 3 }];
        assert_eq!(walk(&mut stack, 300), 300);
        assert_eq!(stack.iter().map(|node| node.leaves).sum::<u64>(), 700);
        assert_eq!(walk(&mut stack, 5_000), 700);
        assert!(stack.is_empty());
    }
}
