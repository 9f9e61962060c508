//! The measuring loop and command line of a peer that searches states.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::clock::cpu_time;
use crate::protocols::{Paxos, PingPong, Protocol, SingleCopy, TwoPhaseCommit};

/// A protocol in the size that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// Three pairs, 40 throws each.
    PingPong,
    /// Seven participants.
    TwoPhaseCommit,
    /// Five clients.
    SingleCopy,
    /// Three servers, two clients.
    Paxos,
}

/// In which order messages arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// In any; each once.
    Unordered,
    /// As sent, between each two.
    Ordered,
}

/// In which order states are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Frontier {
    /// Breadth-first.
    Bfs,
    /// Depth-first.
    Dfs,
    /// Breadth-first, on two threads.
    BfsTwoThreads,
    /// By delays of a round-robin explorer, with a cache of program states.
    Strata,
    /// The same on two threads.
    StrataTwoThreads,
    /// By delays of a run-to-completion explorer.
    StrataRtc,
    /// By delays of a round-robin explorer, with a cache of program states together with those of the explorer.
    StrataExact,
}

/// What one search of states counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Different states.
    pub unique: u64,
    /// States that were made.
    pub states: u64,
    /// Bytes for what has been seen, if the tool tells.
    pub seen_bytes: Option<u64>,
    /// Which limit stopped it before it had visited all.
    pub stopped: Option<&'static str>,
}

/// The line that a peer which searches states prints.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StatesMeasurement {
    /// The tool.
    pub tool: String,
    /// What was searched.
    pub subject: Subject,
    /// With which network.
    pub network: Network,
    /// In which order.
    pub frontier: Frontier,
    /// How often.
    pub searches: u64,
    /// Different states of one search.
    pub unique: u64,
    /// States made in one search.
    pub states: u64,
    /// Bytes for what has been seen at the end of one search, if the tool tells.
    pub seen_bytes: Option<u64>,
    /// Which limit stopped it before it had visited all.
    #[serde(default)]
    pub stopped: Option<String>,
    /// CPU time of all searches in nanoseconds.
    pub cpu_ns: u64,
}

/// A tool that searches states.
pub trait StateSearch {
    /// Searches all states of a protocol, from nothing, unless a limit stops it. It must find it safe, and its goal reached.
    ///
    /// # Errors
    /// If it does not.
    fn search<P: Protocol>(
        &self,
        protocol: P,
        network: Network,
        frontier: Frontier,
    ) -> Result<Counted, String>;
}

/// Measures one search of states under one tool.
#[derive(Debug, Parser)]
struct Arguments {
    subject: Subject,
    network: Network,
    frontier: Frontier,
    /// Milliseconds of CPU time to measure at least
    #[arg(long, default_value_t = 300)]
    at_least: u64,
}

/// The `main` of a peer that searches states.
pub fn states_main(tool: &str, search: &impl StateSearch) -> ExitCode {
    match print(tool, &Arguments::parse(), search) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _ = writeln!(io::stderr(), "peer-{tool}: {message}");
            ExitCode::FAILURE
        }
    }
}

fn print(tool: &str, arguments: &Arguments, search: &impl StateSearch) -> Result<(), String> {
    let &Arguments { subject, network, frontier, at_least } = arguments;
    let once = || match subject {
        Subject::PingPong => search.search(PingPong { pairs: 3, throws: 40 }, network, frontier),
        Subject::TwoPhaseCommit => {
            search.search(TwoPhaseCommit { participants: 7 }, network, frontier)
        }
        Subject::SingleCopy => search.search(SingleCopy { clients: 5 }, network, frontier),
        Subject::Paxos => search.search(Paxos { clients: 2 }, network, frontier),
    };
    let mut searches = 0;
    let start = cpu_time();
    let (counted, cpu_ns) = loop {
        let counted = once()?;
        searches += 1;
        let cpu_ns = cpu_time().saturating_sub(start).as_nanos() as u64;
        if cpu_ns >= at_least * 1_000_000 {
            break (counted, cpu_ns);
        }
    };
    let line = StatesMeasurement {
        tool: tool.to_owned(),
        subject,
        network,
        frontier,
        searches,
        unique: counted.unique,
        states: counted.states,
        seen_bytes: counted.seen_bytes,
        stopped: counted.stopped.map(str::to_owned),
        cpu_ns,
    };
    let line = serde_json::to_string(&line).map_err(|error| error.to_string())?;
    writeln!(io::stdout(), "{line}").map_err(|error| error.to_string())
}
