//! The correct versions of the libraries: nothing is found in them, and what is covered.

use raddle_corpus::libraries::LIBRARIES;

use super::runs::{Effort, End, PORTFOLIO, run};
use crate::numbers::grouped;
use crate::table::Table;

const STRATEGIES: [&str; 6] = [
    "dfs preemptions(2)",
    "dpor",
    "dpor(classic) best-first(mdpor, pb)",
    "all best-first(ss, mdpor) preemptions(2)",
    "pos",
    PORTFOLIO,
];

/// Runs every correct program under some strategies, with a quarter of the budget: each uses all of it.
pub(crate) fn table(effort: Effort, progress: &dyn Fn(&str)) -> Table {
    let effort = Effort { budget: effort.budget / 4, ..effort };
    let mut table = Table {
        title: "The correct versions".to_owned(),
        header: STRATEGIES.map(|strategy| format!("`{strategy}`")).to_vec(),
        ..Table::default()
    };
    table.header.insert(0, "program".to_owned());
    table.header.push(String::new());
    let tests = LIBRARIES.iter().flat_map(|library| library.tests);
    for program in tests.map(|test| &test.correct) {
        progress(&format!("correct: {}", program.name));
        let mut row = vec![program.name.to_owned()];
        for strategy in STRATEGIES {
            let found = run(program, strategy, 1, effort);
            let executions = grouped(found.executions);
            row.push(match found.end {
                End::Covered => format!("ended, {executions}"),
                End::Budget | End::Cap => format!("the first {executions}"),
                End::Found | End::Other(_) | End::Broken => {
                    table.failures.push(format!("{}: {strategy}: {:?}", program.name, found.end));
                    "broken".to_owned()
                }
            });
        }
        row.push(String::new());
        table.rows.push(row);
    }
    table.notes.push(format!(
        "Up to {} executions each. No strategy found anything. A search that ended has covered what it \
         set out to; where tasks yield, `dpor` ends without that claim.",
        grouped(effort.budget)
    ));
    table
}
