//! The other place for a reduction: the coordinator. Workers run one execution after another and send its steps; the coordinator alone
//! finds the races and hands out what they open. Eta's authors tried both and kept the reduction in the workers, which is what
//! raddle does.
//!
//! `raddle-fleet` has no such coordinator, so here everything is simulated, the queue too. What it gains is left out: a coordinator
//! that sees every execution opens nothing twice. For the reductions that raddle cuts into units cutting adds no execution either
//! (`docs/results/fleet.md`).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use raddle_fleet::Pace;
use raddle_fleet::synthetic::Node;

use super::{Costs, FIRST, Fleet, Search, Shape, efficiency, percent, walk};
use crate::numbers::grouped;
use crate::table::Table;

/// To find the races of an execution: 200 steps, of half a microsecond each. Reductions take 0.5 to 1.4 µs a step of their own
/// (`docs/results/reduction.md`).
const ANALYSIS: u64 = 100_000;
/// So many executions are enough to see how many workers a coordinator keeps busy, which does not depend on how long it goes on.
const EXECUTIONS: u64 = 100_000;
/// The search that workers share among themselves: an hour of one processor.
const HOUR: u64 = 3_600_000_000_000;
const WORKERS: [u64; 10] = [1, 2, 4, 8, 16, 24, 32, 40, 100, 300];
/// Executions take so long, in nanoseconds. Those of Eta took 6 to 15 ms.
const TIMES: [(&str, u64); 3] = [("10 µs", 10_000), ("1 ms", 1_000_000), ("10 ms", 10_000_000)];

/// How much of the workers' time goes into executions.
#[expect(clippy::cast_precision_loss, reason = "a share has few digits")]
fn at_coordinator(search: Search, costs: Costs, workers: u64) -> f64 {
    let mut pending = vec![Node { leaves: search.leaves, seed: search.seed }];
    let mut running = BinaryHeap::new();
    let mut idle: Vec<u64> = (0..workers).collect();
    // When the coordinator has done all that has come to it.
    let mut free = 0;
    let mut leaves = 0;
    loop {
        let handed_out = pending.len().min(idle.len());
        for (node, worker) in
            pending.drain(pending.len() - handed_out..).zip(idle.drain(..handed_out))
        {
            free += costs.message;
            let done = free + costs.network + search.execution;
            running.push(Reverse((done, worker, node.leaves, node.seed)));
        }
        let Some(Reverse((now, worker, size, seed))) = running.pop() else { break };
        let mut opened = vec![Node { leaves: size, seed }];
        leaves += walk(Shape::Cubes, &mut opened, 1);
        free = free.max(now) + costs.message + costs.fold + ANALYSIS;
        pending.append(&mut opened);
        idle.push(worker);
    }
    assert_eq!(leaves, search.leaves, "a leaf was lost, or counted twice");
    search.leaves as f64 * search.execution as f64 / (workers * free) as f64
}

/// Both variants side by side, and the curve of the other one with the executions of Eta.
#[expect(clippy::cast_precision_loss, reason = "numbers of workers have few digits")]
pub(super) fn table(costs: Costs, pace: Pace, say: &dyn Fn(&str)) -> (Table, Vec<(f64, f64)>) {
    let mut table = Table {
        title: "Races found by the workers, and by the coordinator (simulated): efficiency"
            .to_owned(),
        header: vec!["workers".to_owned()],
        ..Table::default()
    };
    for (name, _) in TIMES {
        table.header.extend(["workers", "coordinator"].map(|by| format!("{name}: {by}")));
    }
    let mut points = Vec::new();
    for workers in WORKERS {
        say(&format!("races found by the coordinator: {workers} workers"));
        let mut row = vec![grouped(workers)];
        for (name, execution) in TIMES {
            let whole = Search { name, leaves: HOUR / execution, execution, seed: FIRST };
            let ran = Fleet::new(whole, Shape::Cubes, costs, pace, workers).run();
            let search = Search { leaves: EXECUTIONS, ..whole };
            let share = at_coordinator(search, costs, workers);
            row.extend([efficiency(whole, workers, &ran), share].map(percent));
            if execution == 10_000_000 {
                points.push((workers as f64, share * workers as f64));
            }
        }
        table.rows.push(row);
    }
    let each = 2 * costs.message + costs.fold + ANALYSIS;
    let us = |ns: u64| format!("{} µs", grouped(ns / 1_000));
    let enough = TIMES.map(|(name, execution)| format!("{} of {name}", execution.div_ceil(each)));
    table.notes = vec![
        format!(
            "*workers*: as in the tables above, for an hour of one processor. *coordinator*: it gets the steps of every execution, \
             finds the races and hands out what they open, one execution at a time: {} each, {} of it for the races (200 steps, assumed). \
             It keeps as many workers busy as executions fit into that time: {}.",
            us(each),
            us(ANALYSIS),
            enough.join(", "),
        ),
        "Eta's authors tried both, found the reduction alike, and kept it in the workers; so does raddle. Left out here: the bytes of the steps."
            .to_owned(),
    ];
    (table, points)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet_sim::COSTS;

    fn share(workers: u64, execution: u64) -> f64 {
        let search = Search { name: "small", leaves: 5_000, execution, seed: FIRST };
        at_coordinator(search, COSTS, workers)
    }

    #[test]
    fn a_coordinator_that_finds_all_races_keeps_few_workers_busy() {
        // It does 1 s / 306 µs = 3,268 executions a second: of 10 ms those of 33 workers.
        assert!(share(4, 10_000_000) > 0.9);
        let times = 300.0 * share(300, 10_000_000);
        assert!((30.0..33.0).contains(&times), "{times}");
        assert!(share(1, 10_000) < 0.05, "one worker alone waits for it");
    }
}
