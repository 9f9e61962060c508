//! The measuring loop and command line of a peer.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::clock::cpu_time;
use crate::program::Program;

/// What is measured, by the words of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Random executions of one search.
    Random,
    /// Depth-first search, begun again from nothing each time it is exhausted.
    Dfs,
    /// The first execution of depth-first search, each in a search of its own.
    DfsFirst,
    /// One depth-first search, to its end or to the number of executions.
    Exhaust,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Random => "random",
            Self::Dfs => "dfs",
            Self::DfsFirst => "dfs-first",
            Self::Exhaust => "exhaust",
        })
    }
}

/// How a tool is asked to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchKind {
    /// Uniformly random decisions.
    Random,
    /// The tool's exhaustive search.
    Dfs,
}

/// One search, from nothing.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// What to run.
    pub program: Program,
    /// How to search.
    pub kind: SearchKind,
    /// Executions after which to stop; at least 1.
    pub limit: u64,
}

/// The line a peer prints.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measurement {
    /// The tool.
    pub tool: String,
    /// What was run.
    pub program: Program,
    /// How.
    pub mode: Mode,
    /// Executions measured, without those of the warm-up.
    pub executions: u64,
    /// Ops of these executions, by [`Program::ops`].
    pub steps: u64,
    /// CPU time of these executions in nanoseconds.
    pub cpu_ns: u64,
}

/// Measures one program under one tool.
#[derive(Debug, Parser)]
struct Arguments {
    /// tiny, long, locks, channel, condvar, or empty-N for N threads
    program: Program,
    mode: Mode,
    /// Executions to measure in each round
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    executions: u64,
    /// Measurements to make, one line each
    #[arg(long, default_value_t = 1)]
    rounds: u32,
}

/// The `main` of a peer.
///
/// `search` runs one search and says how many executions it made, or why it could not.
pub fn main(tool: &str, search: impl Fn(Search) -> Result<u64, String>) -> ExitCode {
    let arguments = Arguments::parse();
    match print_rounds(tool, &arguments, &search) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // A closed stderr leaves nowhere to complain; the exit code still says it.
            let _ = writeln!(io::stderr(), "peer-{tool}: {message}");
            ExitCode::FAILURE
        }
    }
}

fn print_rounds(
    tool: &str,
    arguments: &Arguments,
    search: &impl Fn(Search) -> Result<u64, String>,
) -> Result<(), String> {
    let &Arguments { program, mode, executions, rounds } = arguments;
    if mode != Mode::Exhaust {
        // Stacks, pools and caches are warm after a few executions; a tenth is plenty.
        run(program, mode, executions.div_ceil(10).min(1_000), search)?;
    }
    for _ in 0..rounds {
        let start = cpu_time();
        let executions = run(program, mode, executions, search)?;
        let cpu_ns = cpu_time().saturating_sub(start).as_nanos() as u64;
        let steps = executions * program.ops();
        let tool = tool.to_owned();
        let line = Measurement { tool, program, mode, executions, steps, cpu_ns };
        let line = serde_json::to_string(&line).map_err(|error| error.to_string())?;
        writeln!(io::stdout(), "{line}").map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Runs `executions` executions, and says how many there were: fewer only when exhausted.
fn run(
    program: Program,
    mode: Mode,
    executions: u64,
    search: &impl Fn(Search) -> Result<u64, String>,
) -> Result<u64, String> {
    let kind = if mode == Mode::Random { SearchKind::Random } else { SearchKind::Dfs };
    let mut done = 0;
    while done < executions {
        let limit = if mode == Mode::DfsFirst { 1 } else { executions - done };
        let n = search(Search { program, kind, limit })?;
        let expected = if mode == Mode::Random { limit..=limit } else { 1..=limit };
        if !expected.contains(&n) {
            return Err(format!("made {n} executions of {program} where {limit} were asked for"));
        }
        done += n;
        if mode == Mode::Exhaust {
            break;
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn limits(mode: Mode, executions: u64, in_a_search: u64) -> (Result<u64, String>, Vec<u64>) {
        let limits = RefCell::new(Vec::new());
        let done = run(Program::Tiny, mode, executions, &|search| {
            limits.borrow_mut().push(search.limit);
            Ok(search.limit.min(in_a_search))
        });
        (done, limits.into_inner())
    }

    #[test]
    fn an_exhausted_search_is_repeated() {
        assert_eq!(limits(Mode::Dfs, 25, 10), (Ok(25), vec![25, 15, 5]));
        assert_eq!(limits(Mode::DfsFirst, 3, 10), (Ok(3), vec![1, 1, 1]));
        assert_eq!(limits(Mode::Exhaust, 25, 10), (Ok(10), vec![25]));
        assert_eq!(limits(Mode::Random, 25, 25), (Ok(25), vec![25]));
    }

    #[test]
    fn a_search_that_stops_early_is_an_error() {
        assert!(limits(Mode::Random, 25, 24).0.is_err());
        assert!(limits(Mode::Dfs, 25, 0).0.is_err());
    }
}
