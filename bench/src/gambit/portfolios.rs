//! Lists of strategies as one portfolio, with small and with large arguments: which members `portfolio` has.
//!
//! Unlike `choice.rs`, which reckons from runs of single strategies, each list is run as a user would run it: its members in
//! turns on one thread. The list is chosen on one half of the bugs and shown on the other.

use super::runs::{Effort, Size, Try, bugs, run};
use crate::numbers::grouped;
use crate::table::Table;

/// Lists of the strategies that did best alone, and at the end what `portfolio` was before. All begin with one that can end.
const LISTS: [&str; 5] = [
    "dpor(classic) best-first(rare) mixed | dpor(classic) best-first(rare) | dpor(classic) best-first(pb) | pos",
    "dpor(classic) best-first(rare) mixed | dpor(classic) best-first(rare) | pos",
    "dpor(classic) best-first(rare) | dpor(classic) best-first(rare) mixed",
    "dpor(classic) best-first(rare) mixed | dpor(classic) best-first(rare) mixed",
    "dpor(classic) best-first(pb) | pos",
];

/// What a list came to on one half of the bugs, with arguments of one size.
struct Score {
    /// Pairs of a bug and a seed.
    missed: Vec<&'static str>,
    /// The geometric mean; what is missed counts as the budget.
    executions: f64,
}

/// The table of all lists.
pub(crate) fn table(effort: Effort, progress: &dyn Fn(&str)) -> Table {
    let mut table = Table {
        title: format!("Lists as one portfolio, within {} executions", grouped(effort.budget)),
        header: [
            "members",
            "small, missed, half A",
            "executions, half A",
            "missed, half B",
            "executions, half B",
            "large, missed, half A",
            "executions, half A",
            "missed, half B",
            "executions, half B",
            "missed with some seed",
        ]
        .map(str::to_owned)
        .to_vec(),
        ..Table::default()
    };
    for list in LISTS {
        progress(&format!("as one: {list}"));
        let mut row = vec![format!("`{}`", list.replace('|', "\\|"))];
        let mut missed = Vec::new();
        for size in [Size::Small, Size::Large] {
            for score in scores(list, Effort { size, ..effort }) {
                let (n, executions) = (score.missed.len(), score.executions);
                progress(&format!("{size:?}: missed {n}, {executions:.1} executions"));
                row.push(score.missed.len().to_string());
                row.push(format!("{:.1}", score.executions));
                missed.extend(score.missed);
            }
        }
        missed.sort_unstable();
        missed.dedup();
        row.push(missed.join(", "));
        table.rows.push(row);
    }
    table.notes = vec![
        format!(
            "Each list was run as one, its members in turns, with {} seeds. Half A is the bugs at even places in the order of their names, half B the others. Missed: pairs of a bug and a seed. \
             Executions: the geometric mean over bugs and seeds, of all members together; what is missed counts as {}.",
            effort.seeds,
            grouped(effort.budget)
        ),
        "Chosen on half A, of the lists with a sampler: the fewest missed at both sizes together, then the fewest executions. Without a \
         sampler no member goes on when a reduction has ended, and what tasks share outside of raddle's types is not seen."
            .to_owned(),
    ];
    table
}

/// On half A and on half B: the bugs at even places in the order of their names, and the others.
fn scores(list: &str, effort: Effort) -> [Score; 2] {
    let mut programs: Vec<_> = bugs().collect();
    programs.sort_unstable_by_key(|program| program.name);
    [0, 1].map(|half| {
        let mut tries: Vec<(&'static str, Try)> = Vec::new();
        for program in programs.iter().skip(half).step_by(2) {
            let with = |seed| (program.name, run(program, list, seed, effort));
            tries.extend((1..=effort.seeds).map(with));
        }
        score(&tries, effort.budget)
    })
}

#[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
fn score(tries: &[(&'static str, Try)], budget: u64) -> Score {
    let logarithm = |(_, run): &(_, Try)| (run.found().unwrap_or(budget) as f64).ln();
    let logarithms: f64 = tries.iter().map(logarithm).sum();
    let missed = tries.iter().filter(|(_, run)| run.found().is_none()).map(|(name, _)| *name);
    let executions = (logarithms / tries.len().max(1) as f64).exp();
    Score { missed: missed.collect(), executions }
}

#[cfg(test)]
mod tests {
    use super::super::runs::End;
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_is_missed_counts_as_the_budget() {
        let of = |end, executions| Try { end, executions, cpu: Duration::ZERO };
        let score = score(&[("a", of(End::Found, 1)), ("b", of(End::Budget, 100))], 100);
        assert_eq!((score.missed, score.executions.round()), (vec!["b"], 10.0));
    }
}
