//! Whether an optimal reduction needs wakeup trees: `dpor` beside the memoryless one, without a bound.
//!
//! Both run on the engine, with its dependence and its races. Random programs are also searched in
//! full, so that a trace that is lost is seen; corpus programs are timed.
//!
//! Errs: the memoryless one makes no estimate, which `dpor` does, and keeps vectors where `dpor` has arenas.

mod programs;

use std::collections::BTreeSet;

use peer::cpu_time;
use raddle_engine::observer::Observer;
use raddle_engine::{Ended, Explored, Limits, Setup, Stop, Strategy, explore_observed};
use raddle_search::{DepthFirst, Dpor, Memoryless, Reduction, TraceCounter};
use raddle_trace::{Assumption, Covered};

use crate::numbers::{grouped, median, shown};
use crate::table::Table;

/// Interleavings of a random program, at most.
const MAX_INTERLEAVINGS: u64 = 2_000;

const TIMED: [(&str, usize); 8] = [
    ("lastzero", 10),
    ("readers", 10),
    ("filesystem", 18),
    ("circular-buffer", 5),
    ("indexer", 13),
    ("inc", 4),
    ("wcas", 6),
    ("cinc", 3),
];

pub(crate) fn measure(quick: bool, progress: &impl Fn(&str)) -> [Table; 2] {
    let (programs, rounds) = if quick { (1_000, 3) } else { (6_000, 7) };
    [time(rounds, progress), compare(programs, progress)]
}

fn run(
    strategy: &mut dyn Strategy,
    observers: &mut [&mut dyn Observer],
    executions: u64,
    body: &dyn Fn(),
) -> Explored {
    let limits = Limits { executions, ..Limits::default() };
    let setup = Setup { limits, keep_going: true, ..Setup::default() };
    explore_observed(strategy, observers, &setup, &mut |_| Stop::No, &mut |_| {}, body)
        .expect("no search runs around this one")
}

/// What a whole search saw.
struct Saw {
    traces: BTreeSet<u64>,
    blocked: u64,
    repeated: u64,
}

/// Runs a whole search; none if it is too long, or its program not closed under equivalence.
fn search<S: Strategy>(mut strategy: S, most: u64, body: &dyn Fn()) -> Option<(Saw, S)> {
    let mut traces = TraceCounter::new(usize::MAX);
    let explored = run(&mut strategy, &mut [&mut traces], most, body);
    let held_back = explored.assumptions.contains(&Assumption::FairYields);
    let promises = !matches!(strategy.covered(), Covered::Part { .. } | Covered::Reduced { .. });
    if explored.ended != Ended::Covered || held_back || !promises {
        return None;
    }
    let (seen, repeated) = (traces.seen().clone(), traces.repeated());
    let saw = Saw { traces: seen, blocked: explored.counts.blocked, repeated };
    Some((saw, strategy))
}

/// What a search did on the programs of a family.
#[derive(Clone, Copy, Default)]
struct Sum {
    programs: u64,
    traces: usize,
    /// Programs with traces that were lost, run twice, and with executions that were cut.
    lost: u64,
    repeated: u64,
    blocked: u64,
    /// Executions that were cut, or repeated.
    spare: u64,
}

impl Sum {
    fn add(&mut self, all: &Saw, saw: Option<Saw>) {
        self.programs += 1;
        self.traces += all.traces.len();
        // One that runs more than all never ends in time.
        let Some(saw) = saw else { return self.repeated += 1 };
        self.lost += u64::from(saw.traces != all.traces);
        self.repeated += u64::from(saw.repeated > 0);
        self.blocked += u64::from(saw.blocked > 0);
        self.spare += saw.blocked + saw.repeated;
    }

    fn shown(&self) -> [String; 4] {
        [self.lost, self.repeated, self.blocked, self.spare].map(grouped)
    }
}

fn compare(programs: u64, progress: &impl Fn(&str)) -> Table {
    progress(&format!("comparing {programs} random programs"));
    let mut sums = [[Sum::default(); 3]; programs::FAMILIES.len()];
    let (mut compared, mut seed) = (0, 0);
    while compared < programs {
        let (program, families) = programs::program(seed);
        seed += 1;
        let body = || programs::execute(&program);
        let Some((all, _)) = search(DepthFirst::default(), MAX_INTERLEAVINGS, &body) else {
            continue;
        };
        compared += 1;
        let most = 4 * MAX_INTERLEAVINGS;
        let searches = [
            search(Dpor::new(Reduction::Optimal), most, &body).map(|(saw, _)| saw),
            search(Memoryless::new(), most, &body).map(|(saw, _)| saw),
            search(Memoryless::new().in_any_order(seed), most, &body).map(|(saw, _)| saw),
        ];
        for (at, saw) in searches.into_iter().enumerate() {
            sums[families[0].max(families[1])][at].add(&all, saw);
        }
    }
    let header =
        ["last family", "programs", "traces", "search", "lost", "repeated", "blocked", "spare"];
    let mut table = Table {
        title: format!("{} random programs of {} seeds, each against all interleavings", grouped(programs), grouped(seed)),
        header: header.map(str::to_owned).to_vec(),
        notes: vec!["lost, repeated, blocked: programs with such; spare: executions that showed nothing new.".to_owned()],
        ..Table::default()
    };
    for ((family, _), sums) in programs::FAMILIES.iter().zip(&sums) {
        for (name, sum) in ["dpor", "memoryless", "at random"].iter().zip(sums) {
            let mut row = vec![
                (*family).to_owned(),
                grouped(sum.programs),
                grouped(sum.traces as u64),
                (*name).to_owned(),
            ];
            row.extend(sum.shown());
            table.rows.push(row);
        }
    }
    table
}

#[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
fn time(rounds: usize, progress: &impl Fn(&str)) -> Table {
    let header = [
        "program",
        "executions",
        "blocked",
        "dpor µs",
        "memoryless µs",
        "ratio",
        "races",
        "units at a time",
        "bytes",
    ];
    let mut table = Table {
        title: format!("CPU time of an execution, median of {rounds} rounds in turn"),
        header: header.map(str::to_owned).to_vec(),
        notes: vec![
            "races: looked at for each execution; units, bytes: of the memoryless one, at most."
                .to_owned(),
        ],
        ..Table::default()
    };
    for (name, n) in TIMED {
        progress(&format!("timing {name}({n})"));
        let (program, arguments) = raddle_corpus::find(name, &[n]).expect("the corpus has it");
        let body = || program.call(&arguments);
        let mut counted = Memoryless::new();
        let counts = run(&mut counted, &mut [], u64::MAX, &body).counts;
        let mut samples = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            let strategies: [Box<dyn Strategy>; 2] =
                [Box::new(Dpor::new(Reduction::Optimal)), Box::new(Memoryless::new())];
            for (mut strategy, samples) in strategies.into_iter().zip(&mut samples) {
                let start = cpu_time();
                let executions = run(&mut *strategy, &mut [], u64::MAX, &body).counts.executions;
                let taken = cpu_time().saturating_sub(start).as_secs_f64() * 1e6;
                samples.push(taken / executions as f64);
            }
        }
        let [dpor, memoryless] = samples.map(median);
        table.rows.push(vec![
            format!("{name}({n})"),
            grouped(counts.executions),
            grouped(counts.blocked),
            shown(Some(dpor), 1),
            shown(Some(memoryless), 1),
            shown(Some(dpor / memoryless), 2),
            shown(Some(counted.effort().races as f64 / counts.executions as f64), 1),
            grouped(counted.effort().most),
            grouped(counted.effort().bytes),
        ]);
    }
    table
}
