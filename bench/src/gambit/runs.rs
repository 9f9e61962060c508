//! Every bug of the libraries under every strategy, within a budget of executions.

use std::time::Duration;

use peer::cpu_time;
use raddle::Config;
use raddle_corpus::libraries::LIBRARIES;
use raddle_corpus::program::{Expected, Program};
use raddle_engine::{Ended, Lap, Limits, Setup, Stop, explore};

/// Which arguments the programs have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    Small,
    Large,
}

/// How long, and how often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) size: Size,
    /// Executions after which a bug counts as not found.
    pub(crate) budget: u64,
    /// Runs of a strategy that draws.
    pub(crate) seeds: u64,
    /// CPU time after which a run is given up before that; the tables say where.
    pub(crate) cap: Duration,
}

/// The tables that strategies belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Without a bound, with the reduction of Flanagan and Godefroid.
    Reduced,
    /// With at most two preemptions.
    Bounded,
    /// The rest of what raddle has.
    Others,
}

/// A column of the tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) family: Family,
    /// The head of the column.
    pub(crate) name: &'static str,
    /// As raddle is asked for it.
    pub(crate) strategy: &'static str,
    /// Whether another seed is another search.
    pub(crate) draws: bool,
    /// Whether it is also run with the large arguments, which take minutes for each column.
    pub(crate) large: bool,
}

const fn column(family: Family, name: &'static str, strategy: &'static str) -> Column {
    Column { family, name, strategy, draws: false, large: false }
}

const fn drawn(family: Family, name: &'static str, strategy: &'static str) -> Column {
    Column { family, name, strategy, draws: true, large: false }
}

const fn large(column: Column) -> Column {
    Column { large: true, ..column }
}

/// What a portfolio is asked for by.
pub(crate) const PORTFOLIO: &str = "portfolio";

/// All strategies: those of table 2, then what else there is.
pub(crate) const COLUMNS: [Column; 19] = [
    large(column(Family::Reduced, "DF", "dpor(classic)")),
    column(Family::Reduced, "BF(pb)", "dpor(classic) best-first(pb)"),
    large(column(Family::Reduced, "BF(mdpor,pb)", "dpor(classic) best-first(mdpor, pb)")),
    drawn(Family::Reduced, "BF(rand)", "dpor(classic) best-first(rand)"),
    column(Family::Bounded, "DF", "dfs preemptions(2)"),
    column(Family::Bounded, "BF(ss,dpor)", "all best-first(ss, dpor) preemptions(2)"),
    large(column(Family::Bounded, "BF(ss,mdpor)", "all best-first(ss, mdpor) preemptions(2)")),
    drawn(Family::Bounded, "BF(rand)", "all best-first(rand) preemptions(2)"),
    drawn(Family::Others, "random", "random"),
    drawn(Family::Others, "pct(3)", "pct(3)"),
    large(drawn(Family::Others, "pos", "pos")),
    drawn(Family::Others, "surw", "surw"),
    column(Family::Others, "dpor", "dpor"),
    column(Family::Others, "dpor(source) BF(pb)", "dpor(source) best-first(pb)"),
    column(Family::Others, "dpor(source) BF(mdpor,pb)", "dpor(source) best-first(mdpor, pb)"),
    column(Family::Others, "BF(mdpor,departures)", "dpor(classic) best-first(mdpor, departures)"),
    large(column(Family::Others, "BF(rare)", "dpor(classic) best-first(rare)")),
    large(drawn(Family::Others, "BF(rare), mixed", "dpor(classic) best-first(rare) mixed")),
    large(drawn(Family::Others, PORTFOLIO, PORTFOLIO)),
];

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It showed the bug.
    Found,
    /// It showed a failure of another kind.
    Other(&'static str),
    /// The budget was used up.
    Budget,
    /// The CPU time was.
    Cap,
    /// It had nothing left.
    Covered,
    /// A repeated prefix did something else, or the search cannot be run.
    Broken,
}

/// One run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Try {
    pub(crate) end: End,
    /// Up to and with the one that showed it.
    pub(crate) executions: u64,
    /// CPU time of the process, which does nothing else meanwhile.
    pub(crate) cpu: Duration,
}

impl Try {
    /// The number of the execution that showed the bug.
    pub(crate) fn found(self) -> Option<u64> {
        (self.end == End::Found).then_some(self.executions)
    }
}

/// A bug, with its runs: for each column, for each seed.
#[derive(Debug)]
pub(crate) struct Bug {
    pub(crate) program: &'static Program,
    pub(crate) tries: Vec<Vec<Try>>,
}

impl Bug {
    /// As GAMBIT's table says it.
    pub(crate) fn kind(&self) -> &'static str {
        kind(self.program.expected)
    }

    /// Whether a column was run.
    pub(crate) fn was_run(&self, column: usize) -> bool {
        !self.tries[column].is_empty()
    }

    /// The run of this column with the nth seed.
    pub(crate) fn try_at(&self, column: usize, seed: usize) -> Try {
        let tries = &self.tries[column];
        tries[seed % tries.len()]
    }
}

pub(crate) fn kind(expected: Expected) -> &'static str {
    match expected {
        Expected::Panic => "assertion",
        Expected::Deadlock => "deadlock",
        Expected::Livelock => "livelock",
        Expected::DataRace => "data race",
        _ => "none",
    }
}

/// All that was measured.
#[derive(Debug)]
pub(crate) struct Runs {
    pub(crate) effort: Effort,
    pub(crate) bugs: Vec<Bug>,
    /// CPU time of all of it.
    pub(crate) cpu: Duration,
}

/// The bugs in the order of the libraries.
pub(crate) fn bugs() -> impl Iterator<Item = &'static Program> {
    LIBRARIES.iter().flat_map(|library| library.tests).flat_map(|test| test.bugs)
}

/// Runs everything.
pub(crate) fn run_all(effort: Effort, progress: &dyn Fn(&str)) -> Runs {
    let begin = cpu_time();
    let all: Vec<_> = bugs().collect();
    let run = |(nth, program): (usize, &&'static Program)| {
        progress(&format!("{} of {}: {}", nth + 1, all.len(), program.name));
        let tries = COLUMNS.iter().map(|column| {
            let seeds = match (effort.size, column.draws) {
                (Size::Large, _) if !column.large => 0,
                (_, true) => effort.seeds,
                (_, false) => 1,
            };
            (1..=seeds).map(|seed| run(program, column.strategy, seed, effort)).collect()
        });
        Bug { program, tries: tries.collect() }
    };
    let bugs = all.iter().enumerate().map(run).collect();
    Runs { effort, bugs, cpu: cpu_time().saturating_sub(begin) }
}

/// Runs one strategy on one bug.
pub(crate) fn run(program: &'static Program, strategy: &str, seed: u64, effort: Effort) -> Try {
    let arguments = match effort.size {
        Size::Small => program.defaults(),
        Size::Large => program.large.to_vec(),
    };
    let begin = cpu_time();
    let (end, executions) = if strategy == PORTFOLIO || strategy.contains('|') {
        by_facade(program, arguments, strategy, seed, effort)
    } else {
        by_engine(program, &arguments, strategy, seed, effort)
    };
    Try { end, executions, cpu: cpu_time().saturating_sub(begin) }
}

fn by_engine(
    program: &'static Program,
    arguments: &[usize],
    strategy: &str,
    seed: u64,
    effort: Effort,
) -> (End, u64) {
    let Ok(mut built) = raddle_search::build(strategy, seed) else { return (End::Broken, 0) };
    let usual = Limits::default();
    let steps = program.steps.unwrap_or(usual.steps);
    let limits = Limits { executions: effort.budget, steps, ..usual };
    let setup = Setup { limits, ..Setup::default() };
    let begin = cpu_time();
    let mut lap = |lap: Lap| {
        let looks = lap.executions.is_multiple_of(16) && lap.steps == 0;
        let over = looks && cpu_time().saturating_sub(begin) > effort.cap;
        if over { Stop::Search } else { Stop::No }
    };
    let body = || program.call(arguments);
    let explored = explore(&mut *built.strategy, &setup, &mut lap, &mut |_| {}, &body);
    let Ok(explored) = explored else { return (End::Broken, 0) };
    let end = match (&explored.failure, explored.ended) {
        (Some(failure), _) if program.expected.is_met_by(Some(&failure.outcome)) => End::Found,
        (Some(failure), _) => End::Other(failure.outcome.kind()),
        (None, Ended::Executions | Ended::Memory) => End::Budget,
        (None, Ended::Stopped) => End::Cap,
        (None, Ended::Covered) => End::Covered,
        (None, _) => End::Broken,
    };
    (end, explored.counts.executions)
}

/// As a user runs it, because it is no strategy of the engine: in turns on one thread, so that its
/// executions are the same every time.
fn by_facade(
    program: &'static Program,
    arguments: Vec<usize>,
    strategy: &str,
    seed: u64,
    effort: Effort,
) -> (End, u64) {
    let mut config = Config::default();
    strategy.clone_into(&mut config.strategy);
    config.executions = Some(effort.budget);
    config.seed = Some(seed);
    config.steps = program.steps;
    let report = raddle::explore(config, move || program.call(&arguments));
    let Ok(report) = report else { return (End::Broken, 0) };
    let end = match &report.failure {
        Some(failure) if program.expected.is_met_by(Some(&failure.outcome)) => End::Found,
        Some(failure) => End::Other(failure.outcome.kind()),
        None if report.counts.executions >= effort.budget => End::Budget,
        None => End::Covered,
    };
    (end, report.counts.executions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_names_a_strategy_that_can_be_built() {
        for Column { strategy, .. } in COLUMNS.iter().filter(|column| column.strategy != PORTFOLIO)
        {
            let built = raddle_search::build(strategy, 1);
            assert!(built.is_ok(), "{strategy}: {:?}", built.err());
        }
    }
}
