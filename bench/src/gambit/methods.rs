//! The priority by methods with both names, and with each one: section 5.3 of GAMBIT's paper.
//!
//! There `GatherPost2` has a bug that a depth-first search with reduction did not find in a weekend. Best first with
//! `Enqueue` and `TryDequeue` as methods found it in 7 seconds; with the first alone in 68, with the second
//! alone in 13. Here the program is `raddle_corpus::case`, which has the shape that they describe, and what is
//! counted are executions.

use std::fmt::Write as _;

use raddle::{Note, Report};
use raddle_corpus::case::{GATHER, GATHER_LATE};
use raddle_corpus::program::Program;
use raddle_corpus::{Ask, run};

use crate::table::{Comparison, Table};

/// A search, and the seconds it took GAMBIT.
struct Row {
    strategy: &'static str,
    theirs: &'static str,
}

const fn row(strategy: &'static str, theirs: &'static str) -> Row {
    Row { strategy, theirs }
}

/// The first is compared with the others.
const ROWS: [Row; 14] = [
    row("all best-first(method(enqueue, try_dequeue), pb)", "7"),
    row("all best-first(method(enqueue), pb)", "68"),
    row("all best-first(method(try_dequeue), pb)", "13"),
    row("all best-first(pb)", ""),
    row("dpor(classic)", "a weekend is not enough"),
    row("dpor", ""),
    row("dpor(classic) best-first(pb)", "31"),
    row("dpor(classic) best-first(mdpor, pb)", "15"),
    row("dpor(classic) best-first(method(enqueue, try_dequeue), pb)", ""),
    row("all best-first(var(AtomicIsize, AtomicBool), pb)", ""),
    row("all best-first(patterns, pb)", ""),
    row("dfs preemptions(2)", "an hour is not enough"),
    row("random", ""),
    row("pct(3)", ""),
];

/// So many executions a search may run, and if it is to be quick.
const BUDGET: [u64; 2] = [100_000, 2_000];

static PROGRAMS: [Program; 2] = [GATHER, GATHER_LATE];

/// Runs a search on the program with the bug, or without it.
fn search(buggy: bool, strategy: &str, budget: u64) -> Result<Report, String> {
    let program = &PROGRAMS[usize::from(buggy)];
    let ask = Ask { executions: Some(budget), seed: 1, ..Ask::new(strategy) };
    run(program, &program.defaults(), &ask).map_err(|error| format!("{strategy}: {error}"))
}

/// Executions to the bug; none if it was not found. With what else there is to say.
fn found(report: &Report) -> (Option<u64>, String) {
    let mut notes = String::new();
    for note in &report.notes {
        if let Note::Text { text } = note {
            let _ = write!(notes, "; {text}");
        }
    }
    (report.failure.as_ref().map(|failure| failure.execution), notes)
}

/// Measures it.
pub(crate) fn measure(quick: bool) -> Table {
    measure_within(BUDGET[usize::from(quick)])
}

fn measure_within(budget: u64) -> Table {
    let mut table = Table {
        title: "Methods: a bug between two methods of a larger program".to_owned(),
        header: ["search", "executions to the bug", "steps", "GAMBIT: seconds"]
            .map(str::to_owned)
            .to_vec(),
        ..Table::default()
    };
    let mut first = None;
    for Row { strategy, theirs } in ROWS {
        let report = match search(true, strategy, budget) {
            Ok(report) => report,
            Err(error) => {
                table.failures.push(error);
                continue;
            }
        };
        let (executions, notes) = found(&report);
        if !notes.is_empty() {
            table.failures.push(format!("{strategy}{notes}"));
        }
        let shown =
            executions.map_or_else(|| format!("> {}", report.counts.executions), |n| n.to_string());
        table.rows.push(vec![
            format!("`{strategy}`"),
            shown,
            report.counts.max_steps.to_string(),
            theirs.to_owned(),
        ]);
        let both = *first.get_or_insert(executions);
        #[expect(clippy::cast_precision_loss, reason = "at most a hundred thousand")]
        let number = |n: Option<u64>| n.map(|n| n as f64);
        // A search that did not find it would have needed more than it ran.
        let peer = number(executions.or(Some(report.counts.executions)));
        table.comparisons.push(Comparison {
            table: "gambit-methods",
            row: strategy.to_owned(),
            column: "executions to the bug".to_owned(),
            ours: number(both),
            peer,
            ratio: number(both).zip(peer).map(|(ours, peer)| peer / ours),
        });
    }
    if first.flatten().is_none() {
        table.failures.push(format!("{}: found nothing", ROWS[0].strategy));
    }
    match search(false, ROWS[0].strategy, budget.min(10_000)) {
        Ok(report) if report.failure.is_none() => table.notes.push(format!(
            "The program without the bug: nothing found in {} executions of the first search.",
            report.counts.executions
        )),
        Ok(_) => table.failures.push("the program without the bug failed".to_owned()),
        Err(error) => table.failures.push(error),
    }
    table.notes.push(format!(
        "`>`: not found within {budget} executions, or before the search held more than it may. Samplers: seed 1."
    ));
    table.notes.push(
        "GAMBIT's seconds are of GatherPost2, from section 5.3 and table 2 (Coons, Burckhardt, Musuvathi, \
         PPoPP 2010). Its program is not public; ours has its shape."
            .to_owned(),
    );
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_names_find_the_bug_within_a_small_budget() {
        let table = measure_within(300);
        assert_eq!(table.failures, [""; 0]);
        assert_eq!(table.rows.len(), ROWS.len());
        assert!(table.comparisons[0].ours.is_some_and(|executions| executions <= 300.0));
    }
}
