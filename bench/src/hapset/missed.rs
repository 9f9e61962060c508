//! Bugs of the whole corpus that `dpor` finds and a guided search does not.

use raddle_corpus::{Expected, Program, everything, find};

use super::searched::{How, Result, search};
use super::{Effort, Part};
use crate::table::{Comparison, Table};

const STRATEGIES: [&str; 7] = [
    "dpor",
    "dpor(classic)",
    "hapset(dpor)",
    "hapset(preemptions(2))",
    "pset(dpor)",
    "hapset(dpor, widen)",
    "pset(dpor, widen)",
];

pub(crate) fn missed(effort: Effort, progress: &dyn Fn(&str)) -> Vec<Part> {
    let effort = Effort { executions: effort.executions / 2, cap: effort.cap / 3, ..effort };
    let bugs: Vec<_> = everything().filter(|program| program.expected != Expected::Pass).collect();
    let found = STRATEGIES.map(|strategy| {
        progress(&format!("missed: {} bugs under {strategy}", bugs.len()));
        bugs.iter().map(|program| hunt(program, strategy, effort)).collect::<Vec<_>>()
    });
    let by_dpor: Vec<_> = found[0].iter().map(|result| result.found().is_some()).collect();
    let mut table = Table {
        title: "Missed bugs: the whole corpus".to_owned(),
        header: [
            "strategy",
            "found",
            "of these by dpor too",
            "ended without it",
            "given up",
            "missed, half A",
            "missed, half B",
            "found by dpor and not by this",
        ]
        .map(str::to_owned)
        .to_vec(),
        ..Table::default()
    };
    for (strategy, results) in STRATEGIES.iter().zip(&found) {
        add_row(&mut table, strategy, (&bugs[..], &by_dpor[..]), results);
    }
    let also: Vec<_> = bugs
        .iter()
        .zip(&by_dpor)
        .zip(&found[2])
        .filter(|((_, by), ours)| !**by && ours.found().is_some())
        .map(|((program, _), _)| program.name)
        .collect();
    table.notes = vec![
        format!(
            "{} bugs at their default arguments, {} executions or {} s of CPU time for each. Ended without it: \
             the search left out the orders that show the bug. Those are lost; with more executions they are \
             still lost.",
            bugs.len(),
            crate::numbers::grouped(effort.executions),
            effort.cap.as_secs_f64()
        ),
        format!(
            "Found by hapset(dpor) and not by dpor within its budget: {}.",
            if also.is_empty() {
                "none".to_owned()
            } else {
                format!("{}: {}", also.len(), also.join(", "))
            }
        ),
    ];
    table.notes.push(WHY.to_owned());
    table.notes.push(larger(effort));
    vec![table.into()]
}

/// A bug that is missed with the default arguments and not with larger ones.
fn larger(effort: Effort) -> String {
    let each = [&[2, 2][..], &[2, 3], &[2, 4], &[3, 4]].map(|arguments| {
        let (program, _) = find("pfscan-close", arguments).expect("it is in the corpus");
        let said = match search(program, arguments, How::new("hapset(dpor)", effort), None) {
            Result::Found(at, _) => format!("found by execution {at}"),
            other => other.hunt(),
        };
        format!("({}, {}): {said}", arguments[0], arguments[1])
    });
    format!(
        "What is missed at the default arguments may be found at others. `pfscan-close`, threads and files, under `hapset(dpor)`: {}.",
        each.join("; ")
    )
}

/// One strategy: what it finds, what it misses of what `dpor` finds, and how.
fn add_row(
    table: &mut Table,
    strategy: &str,
    (bugs, by_dpor): (&[&'static Program], &[bool]),
    results: &[Result],
) {
    if results.iter().all(|result| *result == Result::Missing) {
        let row = std::iter::once(strategy.to_owned()).chain((0..7).map(|_| "—".to_owned()));
        table.rows.push(row.collect());
        return;
    }
    let count = |which: fn(&Result) -> bool| results.iter().filter(|of| which(of)).count();
    let finds = |result: &Result| result.found().is_some();
    let with_dpor = results.iter().zip(by_dpor).filter(|(of, by)| **by && finds(of)).count();
    let lost: Vec<usize> =
        (0..bugs.len()).filter(|at| by_dpor[*at] && !finds(&results[*at])).collect();
    let missed: Vec<_> = lost
        .iter()
        .map(|&at| match &results[at] {
            Result::GaveUp(..) => format!("{} (given up)", bugs[at].name),
            Result::Wrong(what) => format!("{} ({what})", bugs[at].name),
            _ => bugs[at].name.to_owned(),
        })
        .collect();
    if strategy == "hapset(dpor)" {
        table.comparisons.push(Comparison {
            table: "missed",
            row: "whole corpus".to_owned(),
            column: "bugs missed".to_owned(),
            ours: Some(number(missed.len())),
            peer: Some(number(by_dpor.iter().filter(|by| **by).count())),
            ratio: None,
        });
    }
    let of_half = |half| lost.iter().filter(|at| *at % 2 == half).count().to_string();
    let names = if missed.is_empty() {
        "none".to_owned()
    } else {
        format!("{}: {}", missed.len(), missed.join(", "))
    };
    table.rows.push(vec![
        strategy.to_owned(),
        count(|of| of.found().is_some()).to_string(),
        with_dpor.to_string(),
        count(|of| matches!(of, Result::Ended(..))).to_string(),
        count(|of| matches!(of, Result::GaveUp(..))).to_string(),
        of_half(0),
        of_half(1),
        names,
    ]);
}

/// Why a guided search ends without bugs that are there, and what `widen` does about it.
const WHY: &str = "Why: a pair of statements counts as known whichever tasks take them. Three philosophers take their two forks by the same two statements, \
    each after the other, so the first executions show every pair and the search ends, although the deadlock needs all three orders at \
    once. With `widen` the search then goes on: by 16 calls, by the tasks that take the statements, and last without leaving anything \
    out; each begins anew. Halves are the bugs at even and odd places of the corpus; `widen` has no number that was chosen on either.";

fn hunt(program: &'static Program, strategy: &str, effort: Effort) -> Result {
    search(program, &program.defaults(), How::new(strategy, effort), None)
}

#[expect(clippy::cast_precision_loss, reason = "there are some hundred bugs")]
fn number(n: usize) -> f64 {
    n as f64
}
