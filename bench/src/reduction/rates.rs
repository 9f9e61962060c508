//! Executions per second, beside loom's on programs of similar length.
//!
//! loom allows four threads besides the main thread. So under loom the writers and processes are
//! dealt to so many threads, one after another on each: the same ops, fewer threads.

use peer::{Mode, Program, Reduction};

use super::Effort;
use crate::numbers::{grouped, median, number, shown};
use crate::peers::{PeerError, Peers, Run, Tool};
use crate::table::{Comparison, Table};

/// A program of ours, and what loom can run of it.
#[derive(Debug)]
struct Row {
    name: &'static str,
    ours: Program,
    traces: Option<u64>,
    looms: Program,
}

const ROWS: [Row; 4] = [
    Row {
        name: "lastzero(10)",
        ours: Program::LastZero(10, 10),
        traces: Some(3_328),
        looms: Program::LastZero(10, 3),
    },
    Row {
        name: "filesystem(18)",
        ours: Program::FileSystem(18, 18),
        traces: Some(32),
        looms: Program::FileSystem(18, 4),
    },
    Row {
        name: "lastzero(10), 3 + 1 threads",
        ours: Program::LastZero(10, 3),
        traces: None,
        looms: Program::LastZero(10, 3),
    },
    Row {
        name: "filesystem(18), 4 threads",
        ours: Program::FileSystem(18, 4),
        traces: None,
        looms: Program::FileSystem(18, 4),
    },
];

/// Executions per second, and what one search of ours needs.
#[derive(Debug)]
struct Rates {
    executions: Result<u64, PeerError>,
    ours: Result<f64, PeerError>,
    looms: Result<f64, PeerError>,
}

pub(super) fn measure(peers: &Peers, effort: Effort, progress: &impl Fn(&str)) -> Table {
    let header = ["program", "ops", "executions", "dpor", "loom", "÷"];
    let mut table = Table {
        title: format!("Executions per second of CPU time, median of {} rounds", effort.rounds),
        header: header.map(str::to_owned).to_vec(),
        notes: vec![
            "loom allows 4 threads besides the main thread: it runs lastzero(10) with the writers \
             dealt to 3 threads and one reader, filesystem(18) with the processes dealt to 4. The \
             ops are the same; the last two rows have the same threads under both tools."
                .to_owned(),
            "ops is the least that an execution has. executions is what dpor needs for one search, \
             which is begun again when it is exhausted; n of m: there are only m traces. \
             loom's search is cut off, and also explores weak memory."
                .to_owned(),
        ],
        ..Table::default()
    };
    for row in &ROWS {
        progress(&format!("measuring executions per second of {}", row.name));
        let reduction = Some(Reduction::Optimal);
        let once = Run { reduction, ..Run::new(row.ours, Mode::Exhaust, 1 << 20) };
        let ours = Run { reduction, ..Run::new(row.ours, Mode::Dfs, 0) };
        let looms = Run::new(row.looms, Mode::Dfs, 0);
        let (ours, looms) = rates(peers, effort, [(Tool::Raddle, ours), (Tool::Loom, looms)]);
        let executions = peers.run(Tool::Raddle, &once).map(|run| run.executions);
        add(&mut table, row, &Rates { executions, ours, looms });
    }
    table
}

/// Executions per second of both, measured in turn.
fn rates(
    peers: &Peers,
    effort: Effort,
    runs: [(Tool, Run); 2],
) -> (Result<f64, PeerError>, Result<f64, PeerError>) {
    let sized = runs.map(|(tool, run)| {
        let executions = executions_for(peers, effort, tool, run)?;
        Ok::<_, PeerError>((tool, Run { executions, ..run }))
    });
    let mut samples = [Ok(Vec::new()), Ok(Vec::new())];
    for _ in 0..effort.rounds {
        for (sized, samples) in sized.iter().zip(&mut samples) {
            let rate = match sized {
                Ok((tool, run)) => rate(peers, *tool, run),
                Err(error) => Err(error.clone()),
            };
            match (rate, samples) {
                (Ok(rate), Ok(samples)) => samples.push(rate),
                (Err(error), samples) => *samples = Err(error),
                (Ok(_), Err(_)) => {}
            }
        }
    }
    let [ours, looms] = samples.map(|samples| samples.map(median));
    (ours, looms)
}

/// The number of executions that take as long as a round shall.
#[expect(clippy::cast_sign_loss, reason = "rates are positive")]
fn executions_for(peers: &Peers, effort: Effort, tool: Tool, run: Run) -> Result<u64, PeerError> {
    let rate = rate(peers, tool, &Run { executions: 200, ..run })?;
    Ok((rate * effort.round.as_secs_f64()).ceil().max(200.0) as u64)
}

#[expect(clippy::cast_precision_loss, reason = "both are far below 2^52")]
fn rate(peers: &Peers, tool: Tool, run: &Run) -> Result<f64, PeerError> {
    let measured = peers.run(tool, run)?;
    Ok(measured.executions as f64 * 1e9 / measured.cpu_ns.max(1) as f64)
}

fn add(table: &mut Table, row: &Row, rates: &Rates) {
    let (ours, looms) = (rates.ours.as_ref().ok().copied(), rates.looms.as_ref().ok().copied());
    let ratio = ours.zip(looms).map(|(ours, looms)| ours / looms);
    let executions = rates.executions.as_ref().ok().copied();
    table.rows.push(vec![
        row.name.to_owned(),
        format!("≥ {}", row.ours.ops()),
        match (executions, row.traces) {
            (None, _) => "—".to_owned(),
            (Some(executions), Some(traces)) if executions != traces => {
                format!("{} of {}", grouped(executions), grouped(traces))
            }
            (Some(executions), _) => grouped(executions),
        },
        number(ours),
        number(looms),
        shown(ratio, 1),
    ]);
    table.comparisons.push(Comparison {
        table: "rates",
        row: row.name.to_owned(),
        column: Tool::Loom.to_string(),
        ours,
        peer: looms,
        ratio,
    });
    let errors = [rates.executions.as_ref().err(), rates.ours.as_ref().err()];
    let failures = errors.into_iter().chain([rates.looms.as_ref().err()]).flatten();
    table.failures.extend(failures.map(ToString::to_string));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown_cells(row: &Row, executions: u64, ours: f64, looms: Option<f64>) -> Vec<String> {
        let mut table = Table::default();
        let looms = looms.ok_or_else(|| PeerError::from("gone".to_owned()));
        let failures = usize::from(looms.is_err());
        add(&mut table, row, &Rates { executions: Ok(executions), ours: Ok(ours), looms });
        assert_eq!(table.failures.len(), failures);
        table.rows.remove(0).split_off(2)
    }

    #[test]
    fn a_ratio_is_given_where_both_were_measured() {
        let row = &ROWS[0];
        let both = shown_cells(row, 3_328, 10_000.0, Some(1_000.0));
        assert_eq!(both, ["3,328", "10,000", "1,000", "10.0"]);
        assert_eq!(shown_cells(row, 3_328, 9_990.0, None)[2..], ["—", "—"]);
    }

    #[test]
    fn more_executions_than_traces_are_shown() {
        assert_eq!(shown_cells(&ROWS[1], 81, 10_000.0, Some(100.0))[0], "81 of 32");
    }
}
