//! How often executions of a sampler fail.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use serde::{Deserialize, Serialize};

use crate::clock::cpu_time;

/// What is asked of a sampler. It ends with whatever of this comes first.
#[derive(Clone, Debug, Parser)]
pub struct RateAsked {
    /// The name of the program; without one all names are printed
    pub program: Option<String>,
    /// End when so many executions have failed
    #[arg(long, default_value_t = 100)]
    pub failures: u64,
    /// End after so many executions
    #[arg(long, default_value_t = 100_000)]
    pub executions: u64,
    /// End after so much CPU time
    #[arg(long, default_value_t = 1.0)]
    pub seconds: f64,
}

/// How many executions failed, of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// All of them.
    pub executions: u64,
    /// Those that failed.
    pub failures: u64,
}

/// One search: up to its first failure or its limits.
#[derive(Clone, Copy, Debug)]
pub struct RateSearch {
    /// Another one for each search.
    pub seed: u64,
    /// At most so many executions.
    pub executions: u64,
    /// At most so much CPU time.
    pub within: Duration,
}

impl Rate {
    /// Runs one search after another. Each says how many executions it ran, and whether the last of them failed.
    pub fn measure(asked: &RateAsked, mut search: impl FnMut(RateSearch) -> (u64, bool)) -> Self {
        let (begin, within) = (cpu_time(), Duration::from_secs_f64(asked.seconds));
        let mut rate = Self::default();
        for seed in 0.. {
            let left = within.saturating_sub(cpu_time().saturating_sub(begin));
            let executions = asked.executions.saturating_sub(rate.executions);
            if rate.failures >= asked.failures || executions == 0 || left.is_zero() {
                break;
            }
            let (run, failed) = search(RateSearch { seed, executions, within: left });
            rate.executions += run;
            rate.failures += u64::from(failed);
            // A search that runs nothing would be begun for ever.
            if run == 0 {
                break;
            }
        }
        rate
    }
}

/// The binary of a tool: prints the rate of one program as a JSON line, or the names of all programs.
pub fn rate_main<'a>(
    names: impl IntoIterator<Item = &'a str>,
    mut search: impl FnMut(&str, RateSearch) -> Option<(u64, bool)>,
) -> ExitCode {
    let asked = RateAsked::parse();
    let mut out = io::stdout().lock();
    let Some(program) = &asked.program else {
        let written = names.into_iter().try_for_each(|name| writeln!(out, "{name}"));
        return if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    };
    let mut is_known = true;
    let rate = Rate::measure(&asked, |one| {
        search(program, one).unwrap_or_else(|| {
            is_known = false;
            (0, false)
        })
    });
    if !is_known {
        let _ = writeln!(
            io::stderr(),
            "no program is called {program}: see the list without arguments"
        );
        return ExitCode::FAILURE;
    }
    let line = serde_json::to_string(&rate).unwrap_or_default();
    if writeln!(out, "{line}").is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
