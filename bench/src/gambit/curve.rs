//! Bugs found over executions, for each strategy.

use super::Part;
use super::runs::{COLUMNS, PORTFOLIO, Runs};
use crate::plot::{Plot, Scale, Series, Style};
use crate::table::Table;

/// What is drawn: more lines could not be told apart.
const DRAWN: [&str; 4] = [PORTFOLIO, "dpor(classic) best-first(mdpor, pb)", "pos", "dpor(classic)"];
const BOUNDED: [&str; 4] = [
    "all best-first(ss, mdpor) preemptions(2)",
    "all best-first(ss, dpor) preemptions(2)",
    "all best-first(rand) preemptions(2)",
    "dfs preemptions(2)",
];

/// The curves, and the same in numbers.
pub(crate) fn curve(all: &Runs) -> Part {
    let powers = (0..).map(|power| 10_u64.pow(power)).take_while(|n| *n < all.effort.budget);
    let budgets: Vec<_> = powers.chain([all.effort.budget]).collect();
    let mut table = Table {
        title: "Bugs found within a budget of executions".to_owned(),
        header: budgets.iter().map(|budget| crate::numbers::grouped(*budget)).collect(),
        ..Table::default()
    };
    table.header.insert(0, "strategy".to_owned());
    table.header.push(String::new());
    let run = |nth: &usize| all.bugs.iter().all(|bug| bug.was_run(*nth));
    for (nth, column) in COLUMNS.iter().enumerate().filter(|(nth, _)| run(nth)) {
        let mut row = vec![format!("`{}`", column.strategy)];
        row.extend(budgets.iter().map(|budget| {
            let text = format!("{:.1}", found_within(all, nth, *budget));
            text.trim_end_matches(".0").to_owned()
        }));
        row.push(String::new());
        table.rows.push(row);
    }
    table.notes.push("The average over seeds, of what draws.".to_owned());
    let plots = [("reduced", "no bound", DRAWN), ("bounded", "at most two preemptions", BOUNDED)];
    let plots = plots
        .map(|(file, name, strategies)| (format!("found-{file}"), plot(all, name, &strategies)));
    Part { table, plots: plots.into() }
}

fn plot(all: &Runs, name: &str, strategies: &[&str]) -> Plot {
    let series = strategies.iter().filter_map(|strategy| {
        let nth = COLUMNS.iter().position(|column| column.strategy == *strategy)?;
        Some(Series { name: (*strategy).to_owned(), points: points(all, nth), style: Style::Line })
    });
    Plot {
        title: format!("Bugs found of {}, {name}", all.bugs.len()),
        x: "executions for each bug".to_owned(),
        y: "bugs found".to_owned(),
        scales: [Scale::Logarithmic, Scale::Linear],
        series: series.collect(),
    }
}

/// A step for every number of executions at which a bug was found.
#[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
fn points(all: &Runs, nth: usize) -> Vec<(f64, f64)> {
    let found = all.bugs.iter().flat_map(|bug| bug.tries[nth].iter().filter_map(|run| run.found()));
    let mut at: Vec<u64> = found.chain([1, all.effort.budget]).collect();
    at.sort_unstable();
    at.dedup();
    let before = |n: &u64| (*n as f64, found_within(all, nth, n - 1));
    let after = |n: &u64| (*n as f64, found_within(all, nth, *n));
    at.iter().flat_map(|n| [before(n), after(n)]).collect()
}

/// The average over seeds.
#[expect(clippy::cast_precision_loss, reason = "there are some bugs and seeds")]
fn found_within(all: &Runs, nth: usize, budget: u64) -> f64 {
    let share = |tries: &Vec<super::runs::Try>| {
        let hits = tries.iter().filter(|run| run.found().is_some_and(|at| at <= budget));
        hits.count() as f64 / tries.len() as f64
    };
    all.bugs.iter().map(|bug| share(&bug.tries[nth])).sum()
}
