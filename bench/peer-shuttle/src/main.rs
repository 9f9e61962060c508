//! The measured programs under shuttle, with its default configuration.

use std::process::ExitCode;

use peer::{Search, SearchKind, Searched};
use shuttle::scheduler::{DfsScheduler, RandomScheduler};
use shuttle::{Config, Runner};

/// The programs with shuttle's threads and primitives.
mod programs {
    peer::programs!(shuttle);
}

fn main() -> ExitCode {
    peer::main("shuttle", search)
}

fn search(Search { program, kind, limit, within }: Search) -> Result<Searched, String> {
    let limit = limit as usize;
    let body = move || programs::run(program);
    let mut config = Config::default();
    config.max_time = within;
    let made = match kind {
        SearchKind::Random => {
            Runner::new(RandomScheduler::new_from_seed(1, limit), config).run(body)
        }
        SearchKind::Dfs => Runner::new(DfsScheduler::new(Some(limit), false), config).run(body),
        SearchKind::Dpor(reduction) => return Err(format!("shuttle has no {reduction} reduction")),
    };
    Ok(Searched::from(made as u64))
}
