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

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::plot::Plot;
use crate::table::Table;

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

/// A table with the plots that belong to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    pub(crate) table: Table,
    /// By file name.
    pub(crate) plots: Vec<(String, Plot)>,
}

impl From<Table> for Part {
    fn from(table: Table) -> Self {
        Self { table, plots: Vec::new() }
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

/// Tables as Markdown, each with its plots below.
pub(crate) fn markdown(parts: &[Part]) -> String {
    let mut text = String::new();
    for part in parts {
        let _ = writeln!(text, "{}", part.table.markdown());
        for (file, plot) in &part.plots {
            let _ = writeln!(text, "![{}](hapset/{file}.svg)\n", plot.title);
        }
    }
    text
}

/// Writes the text to `<dir>/<name>.md` and the plots to `<dir>/hapset`.
///
/// # Errors
/// If they cannot be written.
pub(crate) fn write(dir: &Path, name: &str, text: &str, parts: &[Part]) -> Result<(), String> {
    let failed = |path: &Path, error| format!("could not write {}: {error}", path.display());
    let plots = dir.join("hapset");
    fs::create_dir_all(&plots).map_err(|error| failed(&plots, error))?;
    for (file, plot) in parts.iter().flat_map(|part| &part.plots) {
        let path = plots.join(file).with_added_extension("svg");
        fs::write(&path, plot.svg()).map_err(|error| failed(&path, error))?;
    }
    let path = dir.join(name).with_added_extension("md");
    fs::write(&path, text).map_err(|error| failed(&path, error))
}
