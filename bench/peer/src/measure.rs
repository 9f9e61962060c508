//! The measuring loop and command line of a peer.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

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
    /// One depth-first search, to its end, to the number of executions or to the end of its time.
    Exhaust,
}

/// Which executions an exhaustive search may leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// Optimal DPOR.
    Optimal,
    /// DPOR with source sets.
    Source,
    /// DPOR with persistent sets.
    Classic,
}

impl fmt::Display for Reduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Optimal => "optimal",
            Self::Source => "source",
            Self::Classic => "classic",
        })
    }
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
    /// Depth first, with a reduction that was asked for.
    Dpor(Reduction),
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
    /// Time after which to stop.
    pub within: Option<Duration>,
}

/// What a search did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Searched {
    /// Executions made.
    pub executions: u64,
    /// Those of them that were given up because they repeat others.
    pub blocked: u64,
}

/// A search that gave up none.
impl From<u64> for Searched {
    fn from(executions: u64) -> Self {
        Self { executions, blocked: 0 }
    }
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
    /// With which reduction; none if none was asked for.
    pub reduction: Option<Reduction>,
    /// Executions measured, without those of the warm-up.
    pub executions: u64,
    /// Those of them that were given up because they repeat others.
    pub blocked: u64,
    /// Whether nothing was left: neither the executions nor the time were used up.
    pub finished: bool,
    /// Ops of these executions, by [`Program::ops`].
    pub steps: u64,
    /// CPU time of these executions in nanoseconds.
    pub cpu_ns: u64,
}

/// Measures one program under one tool.
#[derive(Debug, Parser)]
struct Arguments {
    /// tiny, long, locks, channel, condvar, empty-N for N threads, own-TxN, pairs-TxN,
    /// lastzero-NxT or filesystem-NxT for T threads
    program: Program,
    mode: Mode,
    /// Executions to measure in each round
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    executions: u64,
    /// Seconds after which exhaust stops
    #[arg(long)]
    seconds: Option<f64>,
    /// Search with this reduction
    #[arg(long)]
    reduction: Option<Reduction>,
    /// Measurements to make, one line each
    #[arg(long, default_value_t = 1)]
    rounds: u32,
}

/// The `main` of a peer.
///
/// `search` runs one search and says what it did, or why it could not.
pub fn main(tool: &str, search: impl Fn(Search) -> Result<Searched, String>) -> ExitCode {
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
    search: &impl Fn(Search) -> Result<Searched, String>,
) -> Result<(), String> {
    let &Arguments { program, mode, executions, seconds, reduction, rounds } = arguments;
    let within = seconds
        .map(Duration::try_from_secs_f64)
        .transpose()
        .map_err(|error| format!("--seconds: {error}"))?;
    let task = Task { program, mode, reduction, within };
    if mode != Mode::Exhaust {
        // Stacks, pools and caches are warm after a few executions; a tenth is plenty.
        run(task, executions.div_ceil(10).min(1_000), search)?;
    }
    for _ in 0..rounds {
        let (wall, start) = (Instant::now(), cpu_time());
        let Searched { executions: made, blocked } = run(task, executions, search)?;
        let cpu_ns = cpu_time().saturating_sub(start).as_nanos() as u64;
        let line = Measurement {
            tool: tool.to_owned(),
            program,
            mode,
            reduction,
            executions: made,
            blocked,
            finished: made < executions && within.is_none_or(|within| wall.elapsed() < within),
            steps: made * program.ops(),
            cpu_ns,
        };
        let line = serde_json::to_string(&line).map_err(|error| error.to_string())?;
        writeln!(io::stdout(), "{line}").map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// What is repeated until the executions are made.
#[derive(Clone, Copy, Debug)]
struct Task {
    program: Program,
    mode: Mode,
    reduction: Option<Reduction>,
    within: Option<Duration>,
}

/// Runs `executions` executions, and says how many there were: fewer only when exhausted.
fn run(
    Task { program, mode, reduction, within }: Task,
    executions: u64,
    search: &impl Fn(Search) -> Result<Searched, String>,
) -> Result<Searched, String> {
    let kind = match (mode, reduction) {
        (Mode::Random, None) => SearchKind::Random,
        (Mode::Random, Some(_)) => return Err("random has no reduction".to_owned()),
        (_, None) => SearchKind::Dfs,
        (_, Some(reduction)) => SearchKind::Dpor(reduction),
    };
    let mut done = Searched { executions: 0, blocked: 0 };
    while done.executions < executions {
        let limit = if mode == Mode::DfsFirst { 1 } else { executions - done.executions };
        let Searched { executions: n, blocked } = search(Search { program, kind, limit, within })?;
        let expected = if mode == Mode::Random { limit..=limit } else { 1..=limit };
        if !expected.contains(&n) {
            return Err(format!("made {n} executions of {program} where {limit} were asked for"));
        }
        done.executions += n;
        done.blocked += blocked;
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
        let task = Task { program: Program::Tiny, mode, reduction: None, within: None };
        let done = run(task, executions, &|search| {
            limits.borrow_mut().push(search.limit);
            Ok(search.limit.min(in_a_search).into())
        });
        (done.map(|done| done.executions), limits.into_inner())
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

    #[test]
    fn executions_that_were_given_up_are_added_up() {
        let reduction = Some(Reduction::Source);
        let task = Task { program: Program::Tiny, mode: Mode::Dfs, reduction, within: None };
        let done = run(task, 4, &|search| {
            assert_eq!(search.kind, SearchKind::Dpor(Reduction::Source));
            Ok(Searched { executions: 2, blocked: 1 })
        });
        assert_eq!(done, Ok(Searched { executions: 4, blocked: 2 }));
    }
}
