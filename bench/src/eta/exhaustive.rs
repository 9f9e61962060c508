//! Table 1: exhaustive search. And how fast that is, in how much memory.

use super::tests::{TESTS, Test, test};
use super::watched::{How, Look, Run, run};
use super::{Effort, Part, large, mean, seconds};
use crate::numbers::grouped;
use crate::table::{Comparison, Table};

/// Runs a search as often as asked, or once if it takes long.
pub(super) fn repeat(test: &Test, how: How, effort: Effort) -> Result<Vec<Run>, String> {
    let mut runs = vec![run(test, how)?];
    while runs.len() < effort.repetitions && runs[0].last().seconds < effort.once.as_secs_f64() {
        runs.push(run(test, How { seed: how.seed + runs.len() as u64, ..how })?);
    }
    Ok(runs)
}

/// Table 1.
pub(super) fn table1(effort: Effort, progress: &dyn Fn(&str)) -> Vec<Part> {
    let header =
        ["test", "Eta: executions", "ours", "", "Eta: time", "ours", "deviation", "runs", "÷", ""];
    let mut table = Table {
        title: "Table 1: exhaustive search".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        notes: vec![
            "÷ is Eta's time for one execution by ours.".to_owned(),
            format!(
                "`dfs`; CPU time, the mean of the runs and their standard deviation. The number of \
                 executions is the same in all runs. A search is not repeated if it takes more than \
                 {}; Scheduler is given up after {} s.",
                seconds(effort.once.as_secs_f64()),
                effort.cap.as_secs(),
            ),
            "* not all executions: Eta's after an hour, ours when given up. Eta ran all of Phils(3) \
             once, 3,159,870 in just under 9 hours."
                .to_owned(),
        ],
        ..Table::default()
    };
    for test in &TESTS {
        progress(&format!("table 1: {}", test.name));
        let cap = if test.all.is_some() { effort.long } else { effort.cap };
        match repeat(test, How::new("dfs", cap), effort) {
            Ok(runs) => add_row(&mut table, test, &runs),
            Err(error) => table.failures.push(error),
        }
    }
    vec![Part { table, plots: Vec::new() }]
}

#[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
fn add_row(table: &mut Table, test: &Test, runs: &[Run]) {
    let star = |is_whole: bool| if is_whole { "" } else { "*" };
    let (theirs, their_time) = test.exhaustive;
    let ours = runs[0].last().executions;
    let (our_time, deviation) =
        mean(&runs.iter().map(|run| run.last().seconds).collect::<Vec<_>>());
    let ratio = (their_time / theirs as f64) / (our_time / ours as f64);
    let verdict =
        match test.all {
            Some(all) if runs[0].is_whole => {
                if runs.iter().all(|run| run.last().executions == all) { "same" } else { "DIFFERS" }
            }
            _ => "",
        };
    table.rows.push(vec![
        test.name.to_owned(),
        grouped(theirs) + star(test.all == Some(theirs)),
        grouped(ours) + star(runs[0].is_whole),
        verdict.to_owned(),
        seconds(their_time),
        seconds(our_time),
        format!("{:.1} %", 100.0 * deviation),
        runs.len().to_string(),
        large(ratio),
        String::new(),
    ]);
    for (column, ours, peer, ratio) in [
        ("executions", ours as f64, theirs as f64, None),
        ("seconds", our_time, their_time, Some(ratio)),
    ] {
        table.comparisons.push(Comparison {
            table: "table1",
            row: test.name.to_owned(),
            column: column.to_owned(),
            ours: Some(ours),
            peer: Some(peer),
            ratio,
        });
    }
}

/// Parts of a long search at whose ends its memory is looked at.
const PARTS: u64 = 10;

/// Executions per second beside Eta's, and a search of millions.
pub(super) fn speed(effort: Effort, progress: &dyn Fn(&str)) -> Vec<Part> {
    vec![rate(effort, progress), memory(effort, progress)]
}

#[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
fn rate(effort: Effort, progress: &dyn Fn(&str)) -> Part {
    let test = test("Store(1,1,1,3)");
    progress("speed: Store(1,1,1,3)");
    let header = ["Store(1,1,1,3)", "executions/s", "Eta", "÷"];
    let mut table = Table {
        title: "Speed: executions per second".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        notes: vec![
            "Eta: 1,946 executions in 12.6 s, on a workstation of 2010. Ours: CPU time; the fastest \
             and the median of 100 whole searches, since the machine is shared."
                .to_owned(),
        ],
        ..Table::default()
    };
    let how = How::new("dfs", effort.cap);
    let runs: Result<Vec<_>, _> = (0..100).map(|_| run(test, how)).collect();
    let runs = match runs {
        Ok(runs) => runs,
        Err(error) => {
            table.failures.push(error);
            return Part { table, plots: Vec::new() };
        }
    };
    let mut rates: Vec<_> =
        runs.iter().map(|run| run.last().executions as f64 / run.last().seconds).collect();
    rates.sort_by(f64::total_cmp);
    let theirs = test.exhaustive.0 as f64 / test.exhaustive.1;
    for (name, ours) in [("fastest", rates[rates.len() - 1]), ("median", rates[rates.len() / 2])] {
        let ratio = ours / theirs;
        table.rows.push(vec![name.to_owned(), large(ours), large(theirs), large(ratio)]);
        table.comparisons.push(Comparison {
            table: "speed",
            row: name.to_owned(),
            column: "executions/s".to_owned(),
            ours: Some(ours),
            peer: Some(theirs),
            ratio: Some(ratio),
        });
    }
    Part { table, plots: Vec::new() }
}

fn memory(effort: Effort, progress: &dyn Fn(&str)) -> Part {
    let test = test("Phils(3)");
    progress("memory: Phils(3)");
    let header = ["executions", "CPU time", "resident memory", ""];
    let mut table = Table {
        title: "Memory: all of Phils(3) without reduction".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        notes: vec![
            "The memory of the whole process, with what was measured before in it. Eta: 3,159,870 \
             executions in just under 9 hours."
                .to_owned(),
        ],
        ..Table::default()
    };
    let all = test.all.expect("it is published");
    let how = How { look: Look::Every(all.div_ceil(PARTS)), ..How::new("dfs", effort.long) };
    match run(test, how) {
        Ok(run) => {
            for sample in &run.samples {
                table.rows.push(vec![
                    grouped(sample.executions),
                    seconds(sample.seconds),
                    format!("{} KiB", grouped(sample.resident)),
                    String::new(),
                ]);
            }
            if !run.is_whole {
                table.notes.push("Given up before its end.".to_owned());
            }
        }
        Err(error) => table.failures.push(error),
    }
    Part { table, plots: Vec::new() }
}
