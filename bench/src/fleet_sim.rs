//! A fleet of 1 to 10,000 workers, simulated: the real coordinator, ledger, queue and pace over workers whose time is a number.
//!
//! What is simulated is time: of executions, of messages at the server, of a network between them. What is real is all that
//! decides: which unit a worker gets, for how long it goes on with it and into how many parts it cuts the rest
//! (`raddle_fleet::Pace`), what is recorded (`MemoryQueue`) and how it is folded (`Coordinator`). At the end the leaves that were
//! folded are compared with those of the tree.
//!
//! Costs are those that `crates/raddle-fleet/examples/costs.rs` measured, see [`Costs`]. Subtrees are those of
//! `raddle_fleet::synthetic`: two to five children whose sizes are as the cubes of random numbers, so that one child often
//! has most of its parent's leaves; and, in tables of their own, drawn from real searches (`subtrees.rs`).

mod races_at_coordinator;
mod subtrees;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use raddle_fleet::synthetic::Node;
use raddle_fleet::{
    Clock as _, Completion, Coordinator, Lease, ManualClock, MemoryQueue, Pace, Queue as _,
    QueuedUnit, UnitKey,
};

use self::subtrees::Subtrees;
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

/// The tree of all columns but that of the efficiency. The default pace was chosen on others, of seeds 101 to 105, which no table shows.
const FIRST: u64 = 17;
/// Others, at a thousand workers.
const OTHERS: [u64; 5] = [1, 2, 3, 4, 5];
/// The trees of each point.
const REPEATED: [u64; 3] = [FIRST, 1, 2];
/// Both ten hours of one processor.
const SEARCHES: [Search; 2] = [
    Search { name: "10 µs an execution", leaves: 3_600_000_000, execution: 10_000, seed: FIRST },
    Search { name: "1 ms an execution", leaves: 36_000_000, execution: 1_000_000, seed: FIRST },
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
    /// Nanoseconds from the moment when the first worker has nothing more to do until the last one has not.
    tail: u64,
    /// Nanoseconds of a unit, from its lease to its record: the median, the one that 1 in 100 is longer than, the longest.
    unit: [u64; 3],
}

/// What happens to a worker at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// Its request for a unit is at the server.
    Asks,
    /// It has run its slice, and its record is at the server.
    Completes,
}

/// How a node is shared among its children.
#[derive(Clone, Copy, Debug)]
enum Shape<'a> {
    /// As the cubes of random numbers.
    Cubes,
    /// As in real searches.
    Real(&'a Subtrees),
}

impl Shape<'_> {
    fn children(self, node: Node) -> Vec<Node> {
        match self {
            Self::Cubes => node.children(),
            Self::Real(subtrees) => subtrees.children(node),
        }
    }
}

struct Fleet<'a> {
    search: Search,
    shape: Shape<'a>,
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
    /// What each unit took.
    took: Vec<u64>,
    ran: Ran,
}

/// Runs so many leaves of the nodes, the last first. How many there were.
fn walk(shape: Shape<'_>, nodes: &mut Vec<Node>, most: u64) -> u64 {
    let mut left = most;
    while let Some(node) = nodes.pop() {
        if node.leaves <= left {
            left -= node.leaves;
        } else if left == 0 {
            nodes.push(node);
            break;
        } else {
            nodes.extend(shape.children(node));
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

impl<'a> Fleet<'a> {
    fn new(search: Search, shape: Shape<'a>, costs: Costs, pace: Pace, workers: u64) -> Self {
        let clock = ManualClock::default();
        let queue = MemoryQueue::new(Arc::new(clock.clone()));
        let events = (0..workers).map(|worker| Reverse((costs.network / 2, worker, Event::Asks)));
        Self {
            search,
            shape,
            costs,
            pace,
            queue,
            clock,
            events: events.collect(),
            running: (0..workers).map(|_| None).collect(),
            parked: VecDeque::new(),
            free: 0,
            folded: 0,
            took: Vec::new(),
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
        let leaves = walk(self.shape, &mut nodes, most);
        let leftovers = cut(&nodes, slice.parts as usize);
        let result = leaves.to_le_bytes().to_vec();
        let completion = Completion { result, leftovers };
        let done =
            served + 2 * self.costs.network + self.costs.begin + leaves * self.search.execution;
        self.took.push(done.saturating_sub(now));
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
        let first = self.parked.iter().map(|(since, _)| *since).min();
        self.ran.tail = end.saturating_sub(first.unwrap_or(end));
        self.took.sort_unstable();
        let at = |share: usize| self.took.get((self.took.len() - 1) * share / 100).copied();
        self.ran.unit = [50, 99, 100].map(|share| at(share).unwrap_or(0));
        self.ran
    }
}

/// How much of the fleet's time went into executions.
#[expect(clippy::cast_precision_loss, reason = "a share has few digits")]
fn efficiency(search: Search, workers: u64, ran: &Ran) -> f64 {
    let ideal = search.leaves as f64 * search.execution as f64 / workers as f64;
    ideal / ran.time as f64
}

/// Fleets of one size on several trees.
struct Repeated {
    /// What they did on the first tree.
    first: Ran,
    /// The mean of their efficiencies, and the standard deviation.
    efficiency: f64,
    deviation: f64,
}

/// Simulates a fleet on several trees.
#[expect(clippy::cast_precision_loss, reason = "a share has few digits")]
fn repeated(
    (search, shape): (Search, Shape<'_>),
    (costs, pace): (Costs, Pace),
    workers: u64,
    seeds: &[u64],
) -> Repeated {
    let mut all = Vec::new();
    for &seed in seeds {
        let search = Search { seed, ..search };
        let ran = Fleet::new(search, shape, costs, pace, workers).run();
        all.push((ran, efficiency(search, workers, &ran)));
    }
    let n = all.len() as f64;
    let mean = all.iter().map(|(_, share)| share).sum::<f64>() / n;
    let variance = all.iter().map(|(_, share)| (share - mean).powi(2)).sum::<f64>() / n;
    Repeated { first: all[0].0, efficiency: mean, deviation: variance.sqrt() }
}

fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

/// A table of one search by workers, and its curve.
#[expect(clippy::cast_precision_loss, reason = "shares and rates have few digits")]
fn by_workers(
    quick: bool,
    (search, shape): (Search, Shape<'_>),
    (costs, pace): (Costs, Pace),
    say: &dyn Fn(&str),
) -> (Table, Vec<(f64, f64)>) {
    let trees = match shape {
        Shape::Cubes => "simulated",
        Shape::Real(_) => "simulated, subtrees drawn from real searches",
    };
    let mut table = Table {
        title: format!("A search of ten hours of one processor, {} ({trees})", search.name),
        header: [
            "workers",
            "time",
            "efficiency",
            "±",
            "units",
            "messages/s",
            "server busy",
            "coordinator busy",
            "idle",
            "unit: median",
            "1 in 100 longer",
            "longest",
            "tail",
        ]
        .map(str::to_owned)
        .into(),
        ..Table::default()
    };
    let seeds = if quick { &REPEATED[..1] } else { &REPEATED[..] };
    let (mut points, mut half) = (Vec::new(), None);
    for workers in WORKERS.into_iter().filter(|workers| !quick || *workers <= 1_000) {
        say(&format!("{}, {trees}: {workers} workers", search.name));
        let Repeated { first: ran, efficiency, deviation } =
            repeated((search, shape), (costs, pace), workers, seeds);
        let seconds = ran.time as f64 / 1e9;
        let time = |ns: u64| crate::numbers::duration(ns as f64);
        let mut row = vec![
            grouped(workers),
            time(ran.time),
            percent(efficiency),
            percent(deviation),
            grouped(ran.units),
            format!("{:.0}", ran.messages as f64 / seconds),
            percent(ran.server as f64 / ran.time as f64),
            percent(ran.folding as f64 / ran.time as f64),
            percent(ran.idle as f64 / (ran.time as f64 * workers as f64)),
        ];
        row.extend(ran.unit.map(time));
        row.push(time(ran.tail));
        table.rows.push(row);
        points.push((workers as f64, efficiency * workers as f64));
        if efficiency < 0.5 && half.is_none() {
            let server = percent(ran.server as f64 / ran.time as f64);
            half = Some(format!(
                "The first size below 50 %: {} workers. The search is over in {}, and the server is busy for {server} of it.",
                grouped(workers),
                time(ran.time)
            ));
        }
        if workers == 1_000 {
            table.comparisons.push(Comparison {
                table: "fleet-sim",
                row: format!("{}, {trees}", search.name),
                column: "efficiency at 1,000 workers".to_owned(),
                ours: Some(efficiency),
                peer: None,
                ratio: None,
            });
        }
    }
    table.notes.extend(half);
    (table, points)
}

/// Simulates all fleets.
///
/// # Errors
/// If a real search from which subtrees are drawn cannot be run.
pub(crate) fn measure(
    quick: bool,
    costs: Costs,
    pace: Pace,
    say: &dyn Fn(&str),
) -> Result<Vec<Part>, String> {
    let real = Subtrees::of_real_searches(say)?;
    let mut parts = Vec::new();
    let mut series = Vec::new();
    for (shape, name) in [(Shape::Cubes, "simulated"), (Shape::Real(&real), "real subtrees")] {
        for search in SEARCHES {
            let (table, points) = by_workers(quick, (search, shape), (costs, pace), say);
            let name = format!("{name}, {}", search.name);
            series.push(Series { name, points, style: Style::Marks });
            parts.push(Part::from(table));
        }
    }
    let (table, points) = races_at_coordinator::table(costs, pace, say);
    parts.push(Part::from(table));
    series.push(Series {
        name: "races found by the coordinator, 10 ms an execution".to_owned(),
        points,
        style: Style::Marks,
    });
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
        last.table.notes = notes(costs, &real);
    }
    Ok(parts)
}

/// A thousand workers on more trees.
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
            let ran = Fleet::new(search, Shape::Cubes, costs, pace, 1_000).run();
            let share = percent(efficiency(search, 1_000, &ran));
            table.rows.push(vec![search.name.to_owned(), seed.to_string(), share]);
        }
    }
    table
}

fn notes(costs: Costs, real: &Subtrees) -> Vec<String> {
    let us = |ns: u64| format!("{} µs", grouped(ns / 1_000));
    let source =
        |given: u64, usual: u64, how: &'static str| if given == usual { how } else { "as given" };
    vec![
        format!(
            "Costs: {} a message at the server ({}), {} to a worker and back ({}), {} to read and fold a record ({}), {} to begin \
             a unit ({}).",
            us(costs.message),
            source(costs.message, COSTS.message, "its CPU time, measured"),
            us(costs.network),
            source(costs.network, COSTS.network, "assumed"),
            us(costs.fold),
            source(costs.fold, COSTS.fold, "measured, unoptimised build"),
            us(costs.begin),
            source(costs.begin, COSTS.begin, "assumed"),
        ),
        format!(
            "Simulated: time. Real: queue, coordinator, pace. Sizes of subtrees are as the cubes of random numbers, or drawn \
             from real searches: {}. Workers neither die nor differ in speed.",
            real.about.join(", ")
        ),
        format!(
            "Efficiency is the mean over {} trees, ± the standard deviation; all else is of the tree of seed {FIRST}.",
            REPEATED.len()
        ),
        "Units: from their lease to their record. Tail: from the moment when the first worker has nothing more to do to the last \
         record. Time ends when the coordinator has folded that."
            .to_owned(),
        "The default pace was chosen at 1,000 workers on trees with cubes of seeds 101 to 105, which no table shows, among eight settings, of which only the chosen one was run on all five \
         (means of 84 % to 92 %)."
            .to_owned(),
        "Where it stops scaling, units run short, slices become short, and the one server has as many messages as it can do. \
         Whether longer searches scale further was not simulated."
            .to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Search =
        Search { name: "small", leaves: 2_000_000, execution: 10_000, seed: FIRST };

    #[test]
    fn every_leaf_is_run_once_by_any_number_of_workers() {
        for workers in [1, 7, 100] {
            let ran = Fleet::new(SMALL, Shape::Cubes, COSTS, Pace::default(), workers).run();
            let share = efficiency(SMALL, workers, &ran);
            assert!(share > 0.0 && share <= 1.0, "{workers}: {share}");
        }
    }

    #[test]
    fn units_have_a_median_and_the_longest_is_no_shorter_than_it() {
        let ran = Fleet::new(SMALL, Shape::Cubes, COSTS, Pace::default(), 100).run();
        assert!(ran.unit.is_sorted() && ran.unit[0] > 0, "{:?}", ran.unit);
        assert!(ran.tail > 0 && ran.tail <= ran.time, "{} {}", ran.tail, ran.time);
    }

    #[test]
    fn walking_takes_as_many_leaves_as_it_may() {
        let mut stack = vec![Node { leaves: 1_000, seed: 3 }];
        assert_eq!(walk(Shape::Cubes, &mut stack, 300), 300);
        assert_eq!(stack.iter().map(|node| node.leaves).sum::<u64>(), 700);
        assert_eq!(walk(Shape::Cubes, &mut stack, 5_000), 700);
        assert!(stack.is_empty());
    }
}
