//! The measured programs under raddle.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use peer::{Program, Reduction, Search, SearchKind, Searched};
use raddle_engine::{Ended, Limits, Setup, Stop, explore};
use raddle_search::{self, Dpor};
use raddle_trace::Counts;

/// The programs with raddle's threads and primitives.
mod programs {
    peer::programs!(raddle);
}

fn main() -> ExitCode {
    peer::main("raddle", search)
}

fn search(Search { program, kind, limit, within }: Search) -> Result<Searched, String> {
    let strategy = match kind {
        SearchKind::Random => "random",
        SearchKind::Dfs => "dfs",
        SearchKind::Dpor(reduction) => return reduced(program, reduction, limit, within),
    };
    let mut config = raddle::Config::default();
    config.strategy = strategy.into();
    config.executions = Some(limit);
    config.time = within;
    config.seed = Some(1);
    // The others have none. With one, each search is handed to another OS thread and back.
    config.watchdog = None;
    let report = raddle::explore(config, move || programs::run(program))
        .map_err(|error| error.to_string())?;
    Ok(Searched::from(report.counts.executions))
}

/// A search that the registry does not offer yet.
fn reduced(
    program: Program,
    reduction: Reduction,
    limit: u64,
    within: Option<Duration>,
) -> Result<Searched, String> {
    let mut strategy = Dpor::new(match reduction {
        Reduction::Optimal => raddle_search::Reduction::Optimal,
        Reduction::Source => raddle_search::Reduction::Source,
        Reduction::Classic => raddle_search::Reduction::Classic,
    });
    let limits = Limits { executions: limit, ..Limits::default() };
    let setup = Setup { limits, ..Setup::default() };
    let start = Instant::now();
    let mut lap = |_| match within {
        Some(within) if start.elapsed() >= within => Stop::Search,
        _ => Stop::No,
    };
    let body = || programs::run(program);
    let explored = explore(&mut strategy, &setup, &mut lap, &mut |_| {}, &body)
        .map_err(|error| error.to_string())?;
    match explored.ended {
        Ended::Covered | Ended::Executions | Ended::Stopped => {}
        ended => return Err(format!("the search ended with {ended:?}")),
    }
    let Counts { executions, blocked, .. } = explored.counts;
    Ok(Searched { executions, blocked })
}
