//! The measured programs under raddle.

use std::process::ExitCode;

use peer::{Search, SearchKind};

/// The programs with raddle's threads and primitives.
mod programs {
    peer::programs!(raddle);
}

fn main() -> ExitCode {
    peer::main("raddle", search)
}

fn search(Search { program, kind, limit }: Search) -> Result<u64, String> {
    let mut config = raddle::Config::default();
    config.strategy = match kind {
        SearchKind::Random => "random".into(),
        SearchKind::Dfs => "dfs".into(),
    };
    config.executions = Some(limit);
    config.seed = Some(1);
    // The others have none. With one, each search is handed to another OS thread and back.
    config.watchdog = None;
    let report = raddle::explore(config, move || programs::run(program))
        .map_err(|error| error.to_string())?;
    Ok(report.counts.executions)
}
