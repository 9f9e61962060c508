//! The tables of what was measured.

#![expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]

use super::columns::{COLUMNS, Column, Group, Unit};
use super::priorities::TIMES;
use super::runs::{Bug, Cell, End, Limit, Measured, Size};
use crate::numbers::{duration, grouped};
use crate::table::{Comparison, Table};

/// The tables of one size.
pub(crate) fn of(measured: &Measured) -> Vec<Table> {
    let mut samplers = counts(measured, "executions to the bug, strategies that draw", |column| {
        column.group == Group::Samplers || column.name == "pos" || column.name == "default"
    });
    samplers.notes.push(limits(measured));
    let mut exhaustive = counts(measured, "searches that end", |column| {
        column.group == Group::Exhaustive || column.name == "dpor" || column.name == "states"
    });
    exhaustive.notes.push(
        "Until the bug shows: executions of PB and `dpor`, different states of the others."
            .to_owned(),
    );
    vec![samplers, exhaustive, explorers(measured), sampling(measured), score(measured)]
}

pub(crate) fn name(size: Size) -> &'static str {
    match size {
        Size::Small => "Small",
        Size::Large => "Large",
    }
}

fn limits(measured: &Measured) -> String {
    let limits = &measured.limits;
    format!(
        "`> n`: not found in n, which is the limit: {} executions or {} states (SES P: {}). `> n (time)`, `> n (memory)`: it was \
         given up before that, after {} of CPU time or at {} MiB. `none in n`: the search ended and the bug was not among what it ran. `–`: the search cannot be run on \
         this program, or not in this version. Strategies that draw: the median of {} runs; once more than half \
         have missed, the rest are left out. All of it took {} of CPU time.",
        grouped(limits.executions),
        grouped(limits.states),
        grouped(TIMES * limits.states),
        duration(limits.cpu.as_secs_f64() * 1e9),
        limits.bytes >> 20,
        limits.runs,
        duration(measured.cpu.as_secs_f64() * 1e9),
    )
}

/// A cell as it is shown.
pub(crate) fn shown(cell: &Cell) -> String {
    let middle = cell.middle();
    let n = grouped(middle.n);
    match &middle.end {
        End::Found => n,
        End::Other(kind) => format!("another: {kind}"),
        End::Limit(Limit::Count) => format!("> {n}"),
        End::Limit(Limit::Time) => format!("> {n} (time)"),
        End::Limit(Limit::Memory) => format!("> {n} (memory)"),
        End::Covered => format!("none in {n}"),
        End::Refused(_) => "–".to_owned(),
    }
}

fn call(bug: &Bug) -> String {
    let arguments: Vec<_> = bug.arguments.iter().map(ToString::to_string).collect();
    format!("`{}({})`", bug.program.name, arguments.join(","))
}

fn counts(measured: &Measured, what: &str, is_in: impl Fn(&Column) -> bool) -> Table {
    let columns: Vec<_> = (0..COLUMNS.len()).filter(|&at| is_in(&COLUMNS[at])).collect();
    let head = |&at: &usize| COLUMNS[at].name.to_owned();
    let mut table = Table {
        title: format!("{}: {what}", name(measured.size)),
        header: ["bug".to_owned(), "steps".to_owned()]
            .into_iter()
            .chain(columns.iter().map(head))
            .chain(["kind".to_owned()])
            .collect(),
        ..Table::default()
    };
    for bug in &measured.bugs {
        let cells = columns.iter().map(|&at| shown(&bug.cells[at]));
        let steps = [call(bug), grouped(bug.steps)];
        let kind = [bug.program.pattern.to_owned()];
        table.rows.push(steps.into_iter().chain(cells).chain(kind).collect());
    }
    for &at in &columns {
        let refused = measured.bugs.iter().find_map(|bug| match &bug.cells[at].middle().end {
            End::Refused(why) => {
                Some(format!("{} on `{}`: {why}.", COLUMNS[at].name, bug.program.name))
            }
            _ => None,
        });
        table.notes.extend(refused);
    }
    table
}

/// Of those that search by delays, the one that finds a bug with the least CPU time, for each bug.
fn explorers(measured: &Measured) -> Table {
    let header = ["bug", "found by", "needs", "delays", "steps", "found as well by"];
    let mut table = Table {
        title: format!("{}: which explorer finds it", name(measured.size)),
        header: header.map(str::to_owned).to_vec(),
        ..Table::default()
    };
    for bug in &measured.bugs {
        let mut hits: Vec<_> = (COLUMNS.iter().zip(&bug.cells))
            .filter(|(column, cell)| column.delays() && cell.found().is_some())
            .collect();
        hits.sort_by_key(|(column, cell)| {
            let middle = cell.middle();
            (column.is_written_for_it(), middle.departures.unwrap_or(u32::MAX), middle.n)
        });
        table.comparisons.push(Comparison {
            table: "delaying explorers",
            row: format!("{} {}", name(measured.size), bug.program.name),
            column: hits.first().map_or("", |(column, _)| column.name).to_owned(),
            ours: Some(hits.len() as f64),
            peer: None,
            ratio: None,
        });
        let Some(((column, cell), others)) = hits.split_first() else {
            let none = ["none", "", "", "", ""].map(str::to_owned);
            table.rows.push([call(bug)].into_iter().chain(none).collect());
            continue;
        };
        let middle = cell.middle();
        let number = |n: Option<u64>| n.map_or("–".to_owned(), grouped);
        let unit = match column.unit {
            Unit::Executions => "executions",
            Unit::States => "states",
        };
        let others: Vec<_> = others.iter().map(|(column, _)| column.name).collect();
        table.rows.push(vec![
            call(bug),
            column.name.to_owned(),
            format!("{} {unit}", grouped(middle.n)),
            number(middle.departures.map(u64::from)),
            number(middle.depth),
            others.join(", "),
        ]);
    }
    table.notes.push(
        "`found by`: of the searches by delays that find it with the fewest delays the one that needs the fewest executions or \
         states; SES P only if there is no other one. Its priorities were written for this bug, from the order of events that \
         the bug's documentation names, so they show that a fitting explorer needs few delays and not that the bug was found \
         unknown: see `delaying-priorities.md`. `delays`: those of the execution that showed the bug. `steps`: its length."
            .to_owned(),
    );
    table
}

/// Why sampling by delays needs what it needs: how many ways there are to put in the delays of a bug.
fn sampling(measured: &Measured) -> Table {
    let header = [
        "bug",
        "explorer",
        "delays",
        "places",
        "places ^ delays",
        "executions to that stratum",
        "SS",
        "RS",
    ];
    let mut table = Table {
        title: format!("{}: what a sample of delays has to hit", name(measured.size)),
        header: header.map(str::to_owned).to_vec(),
        ..Table::default()
    };
    let of = |bug: &Bug, name: &str| {
        let at = COLUMNS.iter().position(|column| column.name == name);
        at.map(|at| bug.cells[at].clone())
    };
    for bug in &measured.bugs {
        // The explorer whose strata show it with the fewest delays.
        let explorers = ["RR", "RTC", "RTC'", "PRR"].into_iter().filter_map(|explorer| {
            let strata = of(bug, &format!("SES {explorer}"))?;
            let delays = strata.middle().departures.filter(|_| strata.found().is_some())?;
            Some((delays, explorer, of(bug, &format!("SS {explorer}"))?))
        });
        let fewest = explorers.min_by_key(|(delays, ..)| *delays);
        let Some((delays, explorer, samples)) = fewest else {
            let none = ["none", "", "", "", "", "", ""].map(str::to_owned);
            table.rows.push([call(bug)].into_iter().chain(none).collect());
            continue;
        };
        let places = samples.middle().places.unwrap_or(0);
        // A sample with n delays runs n executions.
        let before: u64 = (1..delays).map(|n| 10 * 3u64.pow(n) * u64::from(n)).sum::<u64>() + 1;
        table.rows.push(vec![
            call(bug),
            explorer.to_owned(),
            delays.to_string(),
            grouped(places),
            grouped(places.saturating_pow(delays)),
            grouped(before),
            shown(&samples),
            of(bug, "RS").map_or_else(String::new, |cell| shown(&cell)),
        ]);
    }
    table.notes.push(
        "`explorer`: of those whose strata show the bug within the limits, the one that needs the fewest `delays`. \
         `places`: the most decisions of one execution at which a delay can be put, L. A sample draws its delays one after \
         the other, each from all places that are left, so one certain way to put in n delays is drawn with a chance of \
         about 1 / L^n, and `places ^ delays` samples are needed where only one way shows the bug. `executions to that \
         stratum`: those with fewer delays that come first. How often samples and executions at random fail is in a \
         table of its own below."
            .to_owned(),
    );
    table
}

/// How many bugs each column finds, and what it needs beside the best search by delays.
fn score(measured: &Measured) -> Table {
    let all = measured.bugs.len();
    let mut table = Table {
        title: format!("{}: all bugs", name(measured.size)),
        header: ["strategy", "found", "missed", "times the best SS", "what it misses"]
            .map(str::to_owned)
            .to_vec(),
        ..Table::default()
    };
    for (at, column) in COLUMNS.iter().enumerate() {
        let (found, missed): (Vec<_>, Vec<_>) =
            measured.bugs.iter().partition(|bug| bug.cells[at].found().is_some());
        let names: Vec<_> = missed.iter().map(|bug| bug.program.name).collect();
        let some = if names.len() > 8 {
            format!("{} and {} more", names[..8].join(", "), names.len() - 8)
        } else {
            names.join(", ")
        };
        table.rows.push(vec![
            column.name.to_owned(),
            found.len().to_string(),
            (all - found.len()).to_string(),
            ratio(measured, at),
            some,
        ]);
    }
    table.notes.push(
        "`times …`: the geometric mean over the bugs that the strategy and a stratified sampling both find, of \
         the strategy's executions by those of the best of the three; in brackets, how many bugs these are. Not for \
         searches that count states."
            .to_owned(),
    );
    table.notes.push(beside_random(measured));
    table
}

/// What came of stratified sampling beside `random`, and what the paper says of it.
fn beside_random(measured: &Measured) -> String {
    let is_sampling = |column: &Column| column.name.starts_with("SS ");
    let (mut fewer, mut more, mut only_random, mut only_samples) = (0, 0, 0, 0);
    for bug in &measured.bugs {
        let cells = || COLUMNS.iter().zip(&bug.cells);
        let samples = cells()
            .filter(|(column, _)| is_sampling(column))
            .filter_map(|(_, cell)| cell.found())
            .min();
        let random =
            cells().find(|(column, _)| column.name == "RS").and_then(|(_, cell)| cell.found());
        match (samples, random) {
            (Some(samples), Some(random)) if samples < random => fewer += 1,
            (Some(samples), Some(random)) if samples > random => more += 1,
            (Some(_), None) => only_samples += 1,
            (None, Some(_)) => only_random += 1,
            _ => {}
        }
    }
    format!(
        "Stratified sampling beside `random`: the best of its explorers needs fewer executions for {fewer} bugs and more \
         for {more}; {only_samples} bugs are found by it alone and {only_random} by `random` alone. The paper has it the \
         other way on its programs: there uniformly random scheduling finds few bugs, and sampling by delays needs orders \
         of magnitude fewer schedules than PCT where both succeed. The programs here are shorter, and most of their bugs \
         need values, a failure of one certain node or a timer that fires, and not a rare order of steps: `random` draws \
         such a value with a chance of one in two, and a sample has to spend one of its few delays on it at the right \
         place."
    )
}

/// The executions of a column by those of the best stratified sampling: the geometric mean.
fn ratio(measured: &Measured, at: usize) -> String {
    if COLUMNS[at].unit == Unit::States {
        return String::new();
    }
    let logarithms: Vec<f64> = (measured.bugs.iter())
        .filter_map(|bug| {
            let best = (COLUMNS.iter().zip(&bug.cells))
                .filter(|(column, _)| column.name.starts_with("SS "))
                .filter_map(|(_, cell)| cell.found())
                .min()?;
            let own = bug.cells[at].found()?;
            Some((own as f64 / best as f64).ln())
        })
        .collect();
    if logarithms.is_empty() {
        return String::new();
    }
    let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    format!("{:.2} ({})", mean.exp(), logarithms.len())
}

/// What the columns are.
pub(crate) fn columns() -> Table {
    let mut table = Table {
        title: "The strategies".to_owned(),
        header: ["name", "as raddle is asked for it", "what it does"].map(str::to_owned).to_vec(),
        ..Table::default()
    };
    for column in &COLUMNS {
        let row = [column.name.to_owned(), column.how.to_string(), column.line.to_owned()];
        table.rows.push(row.to_vec());
    }
    table
}
