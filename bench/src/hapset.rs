//! `HaPSet`'s tables, measured with raddle: what is found, after how many executions, and what is missed.
//!
//! Follows Wang, Said and Gupta, "Coverage Guided Systematic Concurrency Testing" (ICSE 2011): tables 1
//! to 5. The programs are those of `corpus/src/applications`. Beside them a scoreboard of samplers on the
//! shapes of `SCTBench`, the bugs of the whole corpus that pruning loses, and how soon there is nothing new.
//!
//! Where it differs: searches are given up after so many executions, not after minutes, so that the same
//! is measured on every machine; a cap on CPU time is there for searches that would hold up the rest.
//! Nothing is trained. A strategy that this version does not have is `—`.

mod aget;
mod busy_wait;
mod cost;
mod missed;
mod saturation;
mod scoreboard;
mod searched;
mod tables;

use std::time::Duration;

use crate::part::Part;

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum What {
    /// The thread pool with 2 to 5 workers
    Table1,
    /// aget, pbzip2 and pfscan
    Table2,
    /// aget with 0 to 4 preemptions
    Table3,
    /// aget with 2 to 10 threads
    Table4,
    /// The eleven bugs out of Mozilla and of a database
    Table5,
    /// The loop without a yield
    BusyWait,
    /// Samplers on shapes that others have published means of
    Scoreboard,
    /// Bugs that `dpor` finds and `hapset(dpor)` does not
    Missed,
    /// Pairs over executions
    Saturation,
    /// Instructions that learning and filtering add
    Cost,
    /// All of these
    All,
}

/// How long, and how often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Executions after which a search is given up.
    pub(crate) executions: u64,
    /// CPU time after which it is given up if it has not come so far.
    pub(crate) cap: Duration,
    /// Seeds of a sampler in a table.
    pub(crate) seeds: u64,
}

impl Effort {
    pub(crate) fn new(quick: bool) -> Self {
        let (executions, cap) = if quick { (1_000, 200) } else { (5_000, 1_500) };
        Self { executions, cap: Duration::from_millis(cap), seeds: if quick { 2 } else { 5 } }
    }
}

type Measure = fn(Effort, &dyn Fn(&str)) -> Vec<Part>;

/// Measures what was asked for. `progress` hears what is measured next.
pub(crate) fn measure(what: What, effort: Effort, progress: &dyn Fn(&str)) -> Vec<Part> {
    let all: [(What, Measure); 10] = [
        (What::Table1, tables::table1),
        (What::Table2, tables::table2),
        (What::Table3, tables::table3),
        (What::Table4, aget::table4),
        (What::Table5, tables::table5),
        (What::BusyWait, busy_wait::busy_wait),
        (What::Scoreboard, scoreboard::scoreboard),
        (What::Missed, missed::missed),
        (What::Saturation, saturation::saturation),
        (What::Cost, |effort, _| vec![cost::measure(effort.seeds < 5).into()]),
    ];
    let asked = all.into_iter().filter(|(part, _)| what == What::All || what == *part);
    asked.flat_map(|(_, measure)| measure(effort, progress)).collect()
}
