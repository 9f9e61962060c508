//! The reduction's tables: what DPOR saves beside other tools, and what it costs.

mod growth;
mod rates;
mod steps;
mod tools;

use std::time::Duration;

use raddle_engine::observer::Observers;
use raddle_engine::{Ended, Explored, Limits, Setup, Stop, Strategy, explore_observed};

use crate::peers::{Peers, Tool};
use crate::plot::Plot;
use crate::table::Table;

/// The tools that are compared.
pub(crate) const TOOLS: [Tool; 5] =
    [Tool::Raddle, Tool::Loom, Tool::LoomArc, Tool::Shuttle, Tool::Traceforge];

/// How long, and how often.
#[derive(Clone, Copy, Debug)]
struct Effort {
    /// The time after which a search is given up.
    cap: Duration,
    /// Measurements of which the median is taken.
    rounds: usize,
    /// CPU time that one of them is sized for.
    round: Duration,
}

impl Effort {
    const QUICK: Self =
        Self { cap: Duration::from_secs(2), rounds: 3, round: Duration::from_millis(50) };
    const FULL: Self =
        Self { cap: Duration::from_secs(20), rounds: 7, round: Duration::from_millis(200) };
}

/// What there is to show.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) tables: Vec<Table>,
    pub(crate) growth: Plot,
}

/// Measures all of it. `progress` hears what is measured next.
pub(crate) fn measure(peers: &Peers, quick: bool, progress: impl Fn(&str)) -> Measured {
    let effort = if quick { Effort::QUICK } else { Effort::FULL };
    let mut tables = tools::measure(peers, effort, &progress);
    tables.push(steps::measure(effort, &progress));
    tables.push(rates::measure(peers, effort, &progress));
    let (table, growth) = growth::measure(effort, &progress);
    tables.push(table);
    Measured { tables, growth }
}

/// Runs a search in this process.
///
/// # Panics
/// If it ends in another way than by having covered all or having used up its executions: the
/// programs that are measured have no failures.
fn run(strategy: &mut dyn Strategy, executions: u64, body: &dyn Fn()) -> Explored {
    run_observed(strategy, &mut [], executions, body)
}

/// The same with observers.
fn run_observed(
    strategy: &mut dyn Strategy,
    observers: Observers<'_, '_>,
    executions: u64,
    body: &dyn Fn(),
) -> Explored {
    let limits = Limits { executions, ..Limits::default() };
    let setup = Setup { limits, ..Setup::default() };
    let (lap, pulse) = (&mut |_| Stop::No, &mut |_| {});
    let explored = explore_observed(strategy, observers, &setup, lap, pulse, body)
        .expect("no search runs around this one");
    let ended = matches!(explored.ended, Ended::Covered | Ended::Executions);
    assert!(ended, "the search ended with {:?}", explored.ended);
    explored
}
