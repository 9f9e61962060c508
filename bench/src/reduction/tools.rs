//! The same programs under several tools: executions and time to finish.

use std::fmt;

use peer::{Measurement, Mode, Program, Reduction};

use super::Effort;
use crate::numbers::{duration, grouped};
use crate::peers::{PeerError, Peers, Run, Tool};
use crate::table::{Comparison, Table};

/// A program, with what an optimal search needs and what was known of other tools before.
#[derive(Debug)]
struct Row {
    program: Program,
    name: &'static str,
    /// The number of Mazurkiewicz traces.
    optimum: u64,
    /// loom 0.7 with its own `Arc`, shuttle 0.9 DFS, traceforge 0.2.
    known: [Known; 3],
}

/// A figure that was known before this run.
#[derive(Clone, Copy, Debug)]
enum Known {
    Exactly(u64),
    MoreThan(u64),
    Nothing,
}

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(n) => f.write_str(&grouped(*n)),
            Self::MoreThan(n) => write!(f, "> {}", grouped(*n)),
            Self::Nothing => f.write_str("—"),
        }
    }
}

const ROWS: [Row; 5] = {
    use Known::{Exactly, MoreThan, Nothing};
    [
        Row {
            program: Program::Own(3, 2),
            name: "3 threads × 2 accesses, each to its own variable",
            optimum: 1,
            known: [Exactly(414), Exactly(25_424), Exactly(1)],
        },
        Row {
            program: Program::Pairs(2, 2),
            name: "2 threads × 2 load-store pairs on one variable",
            optimum: 34,
            known: [Exactly(639), Exactly(923), Exactly(70)],
        },
        Row {
            program: Program::Pairs(2, 3),
            name: "2 threads × 3 load-store pairs",
            optimum: 328,
            known: [Exactly(11_322), Exactly(12_869), Exactly(924)],
        },
        Row {
            program: Program::Pairs(3, 2),
            name: "3 threads × 2 load-store pairs",
            optimum: 7_134,
            known: [MoreThan(267_000), MoreThan(3_100_000), Exactly(34_650)],
        },
        Row {
            program: Program::Locks,
            name: "3 threads × 2 lock sections",
            optimum: 90,
            known: [Exactly(116_319), MoreThan(2_300_000), Nothing],
        },
    ]
};

/// A tool with one of its searches: a column.
#[derive(Clone, Copy, Debug)]
struct Column {
    name: &'static str,
    tool: Tool,
    reduction: Option<Reduction>,
    /// Where in [`Row::known`] its figures are.
    known: Option<usize>,
}

const COLUMNS: [Column; 8] = {
    const fn ours(name: &'static str, reduction: Option<Reduction>) -> Column {
        Column { name, tool: Tool::Raddle, reduction, known: None }
    }
    const fn theirs(name: &'static str, tool: Tool, known: Option<usize>) -> Column {
        Column { name, tool, reduction: None, known }
    }
    [
        ours("dpor", Some(Reduction::Optimal)),
        ours("source", Some(Reduction::Source)),
        ours("classic", Some(Reduction::Classic)),
        ours("dfs", None),
        theirs("loom", Tool::Loom, None),
        theirs("loom, its Arc", Tool::LoomArc, Some(0)),
        theirs("shuttle dfs", Tool::Shuttle, Some(1)),
        theirs("traceforge", Tool::Traceforge, Some(2)),
    ]
};

/// A search stops by its time: there is no number of executions for which it would.
const EXECUTIONS: u64 = 1 << 40;

type Cells = [Result<Measurement, PeerError>; COLUMNS.len()];

pub(super) fn measure(peers: &Peers, effort: Effort, progress: &impl Fn(&str)) -> Vec<Table> {
    let seconds = effort.cap.as_secs();
    let mut executions = Table {
        title: format!("Other Rust tools: executions to finish, at most {seconds} s"),
        header: executions_header(),
        notes: vec![
            "dpor, source, classic and dfs are raddle's: optimal DPOR, DPOR with source sets, \
             classic DPOR, all interleavings. n + m: m more executions were begun and given up \
             because they repeat others. The optimum is the number of traces; the last column says whether dpor makes \
             exactly that many executions."
                .to_owned(),
            "known: the figures that were known before this run, of loom 0.7 with its own Arc, \
             shuttle 0.9 and traceforge 0.2, with 20 s. > n: not finished after n executions."
                .to_owned(),
            "loom also explores weak memory; with its own Arc it explores the counts of references \
             too. traceforge's variables are threads that answer messages, so its loads do not \
             commute."
                .to_owned(),
        ],
        ..Table::default()
    };
    let header = ["program"].into_iter().chain(COLUMNS.map(|column| column.name)).chain([""]);
    let mut times = Table {
        title: format!("Other Rust tools: CPU time to finish, at most {seconds} s"),
        header: header.map(str::to_owned).collect(),
        notes: vec![
            "One search each, in a fresh process, from nothing: the first stacks are allocated in \
             this time. The limit is one of wall time, since loom and shuttle have no other: on a busy \
             machine a search that is given up has had less CPU time."
                .to_owned(),
        ],
        ..Table::default()
    };
    for row in &ROWS {
        let cells = COLUMNS.map(|Column { name, tool, reduction, .. }| {
            progress(&format!("exhausting {} under {tool} {name}", row.program));
            let within = Some(effort.cap);
            let run = Run { reduction, within, ..Run::new(row.program, Mode::Exhaust, EXECUTIONS) };
            peers.run(tool, &run)
        });
        add(&mut executions, &mut times, row, &cells);
    }
    vec![executions, times]
}

fn executions_header() -> Vec<String> {
    let mut header = vec!["program".to_owned(), "optimum".to_owned()];
    for column in COLUMNS {
        header.push(column.name.to_owned());
        header.extend(column.known.map(|_| "known".to_owned()));
    }
    header.push("optimal".to_owned());
    header
}

#[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
fn add(executions: &mut Table, times: &mut Table, row: &Row, cells: &Cells) {
    let made = |cell: &Result<Measurement, PeerError>| {
        cell.as_ref().ok().filter(|cell| cell.finished).map(|cell| cell.executions)
    };
    let ours = made(&cells[0]);
    let mut counts = vec![row.name.to_owned(), grouped(row.optimum)];
    let mut took = vec![row.name.to_owned()];
    for (nth, (column, cell)) in COLUMNS.iter().zip(cells).enumerate() {
        let (count, time) = match cell {
            Ok(cell) => (count(cell), time(cell)),
            Err(_) => ("—".to_owned(), "—".to_owned()),
        };
        counts.push(count);
        counts.extend(column.known.map(|known| row.known[known].to_string()));
        took.push(time);
        let ours = ours.map(|ours| ours as f64);
        let peer = if nth == 0 { None } else { made(cell).map(|peer| peer as f64) };
        executions.comparisons.push(Comparison {
            table: "tools",
            row: row.program.to_string(),
            column: column.name.to_owned(),
            ours,
            peer,
            ratio: ours.zip(peer).map(|(ours, peer)| peer / ours),
        });
        let ns = |cell: &Result<Measurement, PeerError>| {
            cell.as_ref().ok().filter(|cell| cell.finished).map(|cell| cell.cpu_ns as f64)
        };
        let (ours, peer) = (ns(&cells[0]), if nth == 0 { None } else { ns(cell) });
        times.comparisons.push(Comparison {
            table: "tools-ns",
            row: row.program.to_string(),
            column: column.name.to_owned(),
            ours,
            peer,
            ratio: ours.zip(peer).map(|(ours, peer)| peer / ours),
        });
    }
    let optimal = cells[0]
        .as_ref()
        .ok()
        .map(|cell| cell.finished && cell.blocked == 0 && cell.executions == row.optimum);
    let optimal = optimal.map_or("not measured", |optimal| if optimal { "yes" } else { "no" });
    counts.push(optimal.to_owned());
    took.push(String::new());
    executions.rows.push(counts);
    times.rows.push(took);
    let failures = cells.iter().filter_map(|cell| cell.as_ref().err());
    executions.failures.extend(failures.map(ToString::to_string));
}

fn count(cell: &Measurement) -> String {
    let completed = grouped(cell.executions - cell.blocked);
    match (cell.finished, cell.blocked) {
        (true, 0) => completed,
        (true, blocked) => format!("{completed} + {}", grouped(blocked)),
        (false, _) => format!("> {}", grouped(cell.executions)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "times are far below 2^52 ns")]
fn time(cell: &Measurement) -> String {
    let time = duration(cell.cpu_ns as f64);
    if cell.finished { time } else { format!("> {time}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(executions: u64, blocked: u64, finished: bool) -> Measurement {
        let (program, mode, reduction) = (Program::Pairs(2, 2), Mode::Exhaust, None);
        let (tool, cpu_ns, steps) = ("a tool".to_owned(), 1_500_000, 0);
        Measurement { tool, program, mode, reduction, executions, blocked, finished, steps, cpu_ns }
    }

    /// The last cell of a row whose first cell is this one.
    fn judged(first: Result<Measurement, PeerError>) -> (String, Table, Table) {
        let (mut counts, mut times) = (Table::default(), Table::default());
        let mut cells = COLUMNS.map(|_| Ok(measured(70, 0, true)));
        cells[0] = first;
        cells[1] = Ok(measured(40, 6, true));
        cells[7] = Ok(measured(123_456, 0, false));
        add(&mut counts, &mut times, &ROWS[1], &cells);
        (counts.rows[0].last().cloned().unwrap_or_default(), counts, times)
    }

    #[test]
    fn only_the_number_of_traces_is_optimal() {
        assert_eq!(judged(Ok(measured(34, 0, true))).0, "yes");
        for (executions, blocked, finished) in
            [(35, 0, true), (33, 0, true), (34, 1, true), (34, 0, false)]
        {
            assert_eq!(judged(Ok(measured(executions, blocked, finished))).0, "no");
        }
        let (verdict, counts, _) = judged(Err(PeerError::from("gone".to_owned())));
        assert_eq!((verdict.as_str(), counts.failures.len()), ("not measured", 1));
    }

    #[test]
    fn cells_tell_what_was_given_up_and_what_did_not_finish() {
        let (_, counts, times) = judged(Ok(measured(34, 0, true)));
        let row: Vec<_> = counts.rows[0].iter().map(String::as_str).collect();
        assert_eq!(row[1..4], ["34", "34", "34 + 6"]);
        assert_eq!(row[row.len() - 3..], ["> 123,456", "70", "yes"]);
        assert_eq!(times.rows[0][1], "1.5 ms");
        assert_eq!(times.rows[0][8], "> 1.5 ms");
    }

    #[test]
    fn rows_are_as_long_as_their_headers() {
        let (_, counts, times) = judged(Ok(measured(34, 0, true)));
        assert_eq!(counts.rows[0].len(), executions_header().len());
        assert_eq!(times.rows[0].len(), COLUMNS.len() + 2);
    }
}
