//! The foundation's tables: the cost of an execution, and the executions that empty threads cost.
//!
//! A row of the first table is a program in a mode. Each tool's number of executions is chosen once
//! so that a run takes about [`RUN_NS`]; then the tools take turns, round after round, so that a
//! change of the machine's speed meets all of them. A cell is the median over the rounds of CPU
//! time divided by executions.

use peer::{Mode, Program};

use crate::numbers::{grouped, median, number, shown};
use crate::peers::{PeerError, Peers, Run, Tool};
use crate::table::{Comparison, Table};

/// CPU time that one run is sized for.
const RUN_NS: f64 = 3e8;
/// CPU time from which on a run is long enough to size the others by.
const CALIBRATION_NS: f64 = 3e7;
/// Executions after which an exhaustive search of empty threads is given up.
const EMPTY_LIMIT: u64 = 1_000_000;
/// loom allows five threads, the main thread among them.
const LOOM_EMPTY_THREADS: u32 = 4;

/// A program in a mode.
#[derive(Debug)]
struct Row {
    program: Program,
    mode: Mode,
}

const ROWS: [Row; 10] = [
    Row { program: Program::Tiny, mode: Mode::Random },
    Row { program: Program::Tiny, mode: Mode::Dfs },
    Row { program: Program::Long, mode: Mode::Random },
    Row { program: Program::Long, mode: Mode::DfsFirst },
    Row { program: Program::Locks, mode: Mode::Random },
    Row { program: Program::Locks, mode: Mode::Dfs },
    Row { program: Program::Channel, mode: Mode::Random },
    Row { program: Program::Channel, mode: Mode::Dfs },
    Row { program: Program::Condvar, mode: Mode::Random },
    Row { program: Program::Condvar, mode: Mode::Dfs },
];

/// Measures both tables. `progress` hears what is measured next.
pub(crate) fn measure(peers: &Peers, quick: bool, progress: impl Fn(&str)) -> Vec<Table> {
    let rounds = if quick { 3 } else { 7 };
    vec![speed(peers, rounds, &progress), empty(peers, &progress)]
}

fn speed(peers: &Peers, rounds: usize, progress: &impl Fn(&str)) -> Table {
    let header = ["program", "raddle", "shuttle", "÷", "loom", "÷"];
    let mut table = Table {
        title: format!("CPU time of one execution in ns, median of {rounds} rounds"),
        header: header.map(str::to_owned).to_vec(),
        notes: vec![
            "÷ is the peer's time by raddle's: above 1, raddle is faster.".to_owned(),
            "loom also explores weak memory, so its executions do more than the others'. It has \
             one search, which stands in the rows of random and of dfs alike."
                .to_owned(),
            "dfs: a search that is exhausted begins again from nothing until the executions are \
             made. dfs-first: each execution is the first of a new search, whose start is in the \
             time."
                .to_owned(),
            format!(
                "long has {} ops in each execution, so its ÷ is also that of steps per second.",
                grouped(Program::Long.ops())
            ),
        ],
        ..Table::default()
    };
    for row in &ROWS {
        progress(&format!("measuring {} {}", row.program, row.mode));
        let ns = interleaved(peers, row, rounds);
        add_speed(&mut table, row, &ns);
    }
    table
}

/// Nanoseconds per execution of each tool, in the order of [`Tool::ALL`].
fn interleaved(peers: &Peers, row: &Row, rounds: usize) -> [Result<f64, PeerError>; 3] {
    let sizes = Tool::ALL.map(|tool| calibrate(peers, tool, row));
    let mut samples = sizes.clone().map(|size| size.map(|_| Vec::new()));
    for _ in 0..rounds {
        for (turn, tool) in Tool::ALL.into_iter().enumerate() {
            let (Ok(size), Ok(taken)) = (&sizes[turn], &mut samples[turn]) else { continue };
            match ns_per_execution(peers, tool, row, *size) {
                Ok(ns) => taken.push(ns),
                Err(error) => samples[turn] = Err(error),
            }
        }
    }
    samples.map(|taken| taken.map(median))
}

/// The number of executions that take [`RUN_NS`].
#[expect(clippy::cast_sign_loss, reason = "times are positive")]
#[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
fn calibrate(peers: &Peers, tool: Tool, row: &Row) -> Result<u64, PeerError> {
    let mut executions = 10_u64;
    loop {
        let ns = ns_per_execution(peers, tool, row, executions)?;
        if ns * executions as f64 >= CALIBRATION_NS {
            return Ok((RUN_NS / ns).ceil() as u64);
        }
        executions *= 10;
    }
}

#[expect(clippy::cast_precision_loss, reason = "both are far below 2^52")]
fn ns_per_execution(
    peers: &Peers,
    tool: Tool,
    row: &Row,
    executions: u64,
) -> Result<f64, PeerError> {
    let mode = match (tool, row.mode) {
        (Tool::Loom, Mode::Random) => Mode::Dfs,
        (_, mode) => mode,
    };
    let measured = peers.run(tool, &Run::new(row.program, mode, executions))?;
    Ok(measured.cpu_ns as f64 / measured.executions as f64)
}

fn add_speed(table: &mut Table, row: &Row, ns: &[Result<f64, PeerError>; 3]) {
    let name = format!("{} {}", row.program, row.mode);
    let [ours, peers @ ..] = ns.each_ref().map(|ns| ns.as_ref().ok().copied());
    let mut cells = vec![name.clone(), number(ours)];
    for (tool, peer) in [Tool::Shuttle, Tool::Loom].into_iter().zip(peers) {
        let ratio = ours.zip(peer).map(|(ours, peer)| peer / ours);
        cells.extend([number(peer), shown(ratio, 1)]);
        let (table_name, row, column) = ("speed", name.clone(), tool.to_string());
        table.comparisons.push(Comparison { table: table_name, row, column, ours, peer, ratio });
    }
    table.rows.push(cells);
    table.failures.extend(ns.iter().filter_map(|ns| ns.as_ref().err()).map(ToString::to_string));
}

fn empty(peers: &Peers, progress: &impl Fn(&str)) -> Table {
    let header = ["threads", "raddle", "shuttle", "loom"];
    let mut table = Table {
        title: "Executions to exhaust N empty threads, spawned and joined, under dfs".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        notes: vec![format!(
            "loom also explores weak memory. It allows {LOOM_EMPTY_THREADS} threads besides \
                 the main thread. A search is given up after {} executions.",
            grouped(EMPTY_LIMIT)
        )],
        ..Table::default()
    };
    for threads in 1..=6 {
        progress(&format!("exhausting {threads} empty threads"));
        let executions = Tool::ALL.map(|tool| match tool {
            Tool::Loom if threads > LOOM_EMPTY_THREADS => None,
            _ => {
                let run = Run::new(Program::Empty(threads), Mode::Exhaust, EMPTY_LIMIT);
                Some(peers.run(tool, &run))
            }
        });
        let executions = executions.map(|run| run.map(|run| run.map(|run| run.executions)));
        add_empty(&mut table, threads, &executions);
    }
    table
}

#[expect(clippy::cast_precision_loss, reason = "executions are at most the limit")]
fn add_empty(table: &mut Table, threads: u32, runs: &[Option<Result<u64, PeerError>>; 3]) {
    let [ours, peers @ ..] =
        runs.each_ref().map(|run| run.as_ref().and_then(|run| run.as_ref().ok()).copied());
    let [shuttle, loom] = peers;
    let cells = [threads.to_string(), exhausted(ours), exhausted(shuttle), exhausted(loom)];
    table.rows.push(cells.to_vec());
    for (tool, executions) in Tool::ALL.into_iter().zip([ours, shuttle, loom]) {
        let ours = ours.map(|ours| ours as f64);
        let peer = if tool == Tool::Raddle { None } else { executions.map(|peer| peer as f64) };
        table.comparisons.push(Comparison {
            table: "empty",
            row: Program::Empty(threads).to_string(),
            column: tool.to_string(),
            ours,
            peer,
            ratio: ours.zip(peer).map(|(ours, peer)| peer / ours),
        });
    }
    let failures = runs.iter().flatten().filter_map(|run| run.as_ref().err());
    table.failures.extend(failures.map(ToString::to_string));
}

fn exhausted(executions: Option<u64>) -> String {
    match executions {
        Some(EMPTY_LIMIT..) => format!("≥ {}", grouped(EMPTY_LIMIT)),
        Some(executions) => grouped(executions),
        None => "—".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_could_not_be_measured_leaves_its_cells_empty() {
        let error = || Err(PeerError::from("gone".to_owned()));
        for (ns, expected) in [
            ([Ok(100.0), Ok(800.0), Ok(5_000.0)], ["100", "800", "8.0", "5,000", "50.0"]),
            ([Ok(100.0), Ok(800.0), error()], ["100", "800", "8.0", "—", "—"]),
            ([error(), Ok(800.0), Ok(5_000.0)], ["—", "800", "—", "5,000", "—"]),
        ] {
            let mut table = Table::default();
            add_speed(&mut table, &ROWS[0], &ns);
            assert_eq!(table.rows[0][1..], expected);
            assert_eq!(table.failures.len(), ns.iter().filter(|ns| ns.is_err()).count());
        }
    }

    #[test]
    fn a_search_that_was_given_up_has_at_least_as_many_executions() {
        let mut table = Table::default();
        add_empty(&mut table, 5, &[Some(Ok(1)), Some(Ok(EMPTY_LIMIT)), None]);
        assert_eq!(table.rows[0], ["5", "1", "≥ 1,000,000", "—"]);
        assert_eq!(table.failures, [""; 0]);
    }
}
