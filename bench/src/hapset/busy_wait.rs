//! The loop without a yield: figure 2 of the paper.

use super::searched::{How, Result, until_bug};
use super::tables::case;
use super::{Effort, Part};
use crate::table::{Comparison, Table};

const STRATEGIES: [&str; 8] = [
    "hapset(dpor)",
    "hapset(preemptions(2))",
    "hapset(all)",
    "pset(dpor)",
    "dpor(classic)",
    "dpor",
    "dfs preemptions(2)",
    "dfs",
];

/// Limits on the steps of an execution. A search that must try every number of rounds has as many
/// executions as the limit allows.
const LIMITS: [u64; 3] = [1_000, 10_000, 100_000];

pub(crate) fn busy_wait(effort: Effort, progress: &dyn Fn(&str)) -> Vec<Part> {
    let header = ["writers, most steps"].into_iter().chain(STRATEGIES).chain(["hapset(dpor)"]);
    let mut table = Table {
        title: "Busy waiting: to the end of the search".to_owned(),
        header: header.map(str::to_owned).collect(),
        ..Table::default()
    };
    for (arguments, steps) in [&[1_usize][..], &[2]]
        .into_iter()
        .flat_map(|arguments| LIMITS.map(|steps| (arguments, steps)))
    {
        progress(&format!("busy wait: {} writers, {steps} steps", arguments[0]));
        let case = case("busy-wait", arguments);
        let results = STRATEGIES.map(|strategy| {
            let how = How { steps: Some(steps), ..How::new(strategy, effort).to_the_end() };
            until_bug(case, how)
        });
        let ended = matches!(results[0], Result::Ended(n, _) if n <= 20);
        let row = format!("{}, {}", arguments[0], crate::numbers::grouped(steps));
        table.comparisons.push(Comparison {
            table: "busy-wait",
            row: row.clone(),
            column: "dfs".to_owned(),
            ours: results[0].run(),
            peer: results[7].run(),
            ratio: results[0].run().zip(results[7].run()).map(|(ours, peer)| peer / ours),
        });
        let verdict = if ended { "ends" } else { "does not end in a handful" };
        table.rows.push(
            [row]
                .into_iter()
                .chain(results.iter().map(Result::cell))
                .chain([verdict.to_owned()])
                .collect(),
        );
    }
    table.notes = vec![
        "Executions · CPU time. Each number of rounds before the write is a class of its own, so exhaustive \
         search ends only because executions do, at a limit on their steps: it runs as many as fit below the \
         limit. Nothing but the limit holds for an execution without one."
            .to_owned(),
        "`dpor` and `dpor(classic)` that end after 1 execution have seen one that went round up to the limit. The \
         others never moved in it, so nothing raced; the report says that the execution was rejected, and the \
         verdict is inconclusive."
            .to_owned(),
    ];
    vec![table.into()]
}
