//! The measured programs under shuttle, with its default configuration.

use std::process::ExitCode;

use peer::{Search, SearchKind};
use shuttle::scheduler::{DfsScheduler, RandomScheduler};
use shuttle::{Config, Runner};

/// The programs with shuttle's threads and primitives.
mod programs {
    peer::programs!(shuttle);
}

fn main() -> ExitCode {
    peer::main("shuttle", search)
}

#[expect(clippy::unnecessary_wraps, reason = "the signature is that of all peers")]
fn search(Search { program, kind, limit }: Search) -> Result<u64, String> {
    let limit = limit as usize;
    let body = move || programs::run(program);
    let made = match kind {
        SearchKind::Random => {
            Runner::new(RandomScheduler::new_from_seed(1, limit), Config::default()).run(body)
        }
        SearchKind::Dfs => {
            Runner::new(DfsScheduler::new(Some(limit), false), Config::default()).run(body)
        }
    };
    Ok(made as u64)
}
