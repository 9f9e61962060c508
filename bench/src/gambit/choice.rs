//! Which strategies a portfolio is made of: chosen on one half of the bugs, reported on the other.
//!
//! A portfolio of m members that take turns has run m times the executions of its first successful
//! member. So to add a member pays if it is much faster on some bugs than those there are. The
//! choice is greedy: first the search that can end with the word that everything is covered, without
//! which a pass would mean nothing; then whichever member makes the portfolio best, until none does.

use super::runs::{Bug, COLUMNS, PORTFOLIO, Runs};
use crate::numbers::grouped;
use crate::table::Table;

/// Searches that cover everything if they end.
const ENDING: [&str; 6] = [
    "dpor(classic)",
    "dpor(classic) best-first(pb)",
    "dpor(classic) best-first(mdpor, pb)",
    "dpor",
    "dpor(source) best-first(pb)",
    "dpor(source) best-first(mdpor, pb)",
];

/// More members than this wait too long for their turn.
const MAX_MEMBERS: usize = 4;

/// How good some members are on some bugs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Score {
    /// Pairs of a bug and a seed that no member finds within its share of the budget.
    missed: usize,
    /// The geometric mean of executions, all members together; what is missed counts as the budget.
    executions: f64,
}

impl Score {
    fn is_better_than(self, other: Self) -> bool {
        // A hundredth is no reason to add a member.
        (self.missed, self.executions * 1.01) < (other.missed, other.executions)
            || self.missed < other.missed
    }
}

/// The choice, step by step, with both halves.
pub(crate) fn tables(all: &Runs) -> Vec<Table> {
    let half = |odd: usize| {
        let bugs = all.bugs.iter().enumerate().filter(move |(nth, _)| nth % 2 == odd);
        bugs.map(|(_, bug)| bug).collect::<Vec<_>>()
    };
    let (chosen_on, reported) = (half(0), half(1));
    let mut table = Table {
        title: "The members of the portfolio".to_owned(),
        header: [
            "members",
            "missed, half A",
            "executions, half A",
            "missed, half B",
            "executions, half B",
            "",
        ]
        .map(str::to_owned)
        .to_vec(),
        ..Table::default()
    };
    let mut row = |name: String, members: &[usize], note: &str| {
        let (a, b) = (score(all, &chosen_on, members), score(all, &reported, members));
        let numbers =
            [a, b].map(|score| [score.missed.to_string(), format!("{:.1}", score.executions)]);
        let cells =
            [name].into_iter().chain(numbers.into_iter().flatten()).chain([note.to_owned()]);
        table.rows.push(cells.collect());
    };
    for (nth, column) in
        COLUMNS.iter().enumerate().filter(|(_, column)| column.strategy != PORTFOLIO)
    {
        row(format!("`{}`", column.strategy), &[nth], "");
    }
    let steps = choose(all, &chosen_on);
    for members in &steps {
        row(named(members), members, "chosen");
    }
    if let Some(nth) = COLUMNS.iter().position(|column| column.strategy == PORTFOLIO) {
        row(format!("`{PORTFOLIO}`, as it is built in, when it was run"), &[nth], "measured");
    }
    let seeds = all.effort.seeds;
    table.notes = vec![
        format!(
            "Half A is the bugs at even places of the list above ({}), half B the others ({}). Members \
             were chosen on half A alone.",
            chosen_on.len(),
            reported.len()
        ),
        format!(
            "Missed: of a bug with each of {seeds} seeds. Executions: the geometric mean over bugs and \
             seeds, all members together in turns; what is missed counts as {}.",
            grouped(all.effort.budget)
        ),
        format!(
            "Greedy: first the best of the searches that cover everything if they end, then \
             whatever makes the score on half A better, up to {MAX_MEMBERS} members; fewer missed is better, \
             then fewer executions by at least a hundredth."
        ),
    ];
    table.notes.push(KEPT.to_owned());
    vec![table]
}

/// Why the members that are built in may not be those of the last row.
const KEPT: &str = "The portfolio that is built in is chosen by runs of whole lists with small and with large arguments \
    ([gambit-portfolios.md](gambit-portfolios.md)); this table reckons from runs of single strategies with small arguments, where some \
    of its members are of little use.";

fn named(members: &[usize]) -> String {
    let names: Vec<_> = members.iter().map(|nth| COLUMNS[*nth].strategy).collect();
    format!("`{}`", names.join(" \\| "))
}

/// The members after each step.
fn choose(all: &Runs, bugs: &[&Bug]) -> Vec<Vec<usize>> {
    let mut steps: Vec<Vec<usize>> = Vec::new();
    let mut members: Vec<usize> = Vec::new();
    let mut best: Option<Score> = None;
    while members.len() < MAX_MEMBERS {
        let fits = |nth: &usize| {
            let strategy = COLUMNS[*nth].strategy;
            let ends = !members.is_empty() || ENDING.contains(&strategy);
            strategy != PORTFOLIO && ends && !members.contains(nth)
        };
        let mut next: Option<(usize, Score)> = None;
        for nth in (0..COLUMNS.len()).filter(fits) {
            let with: Vec<_> = members.iter().copied().chain([nth]).collect();
            let score = score(all, bugs, &with);
            if next.is_none_or(|(_, best)| score.is_better_than(best)) {
                next = Some((nth, score));
            }
        }
        let Some((nth, score)) =
            next.filter(|(_, score)| best.is_none_or(|best| score.is_better_than(best)))
        else {
            break;
        };
        members.push(nth);
        best = Some(score);
        steps.push(members.clone());
    }
    steps
}

#[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
fn score(all: &Runs, bugs: &[&Bug], members: &[usize]) -> Score {
    let (budget, n) = (all.effort.budget, members.len() as u64);
    let mut missed = 0;
    let mut logarithms = 0.0;
    for bug in bugs {
        for seed in 0..all.effort.seeds as usize {
            let found = members.iter().filter_map(|nth| bug.try_at(*nth, seed).found()).min();
            let found = found.map(|at| at * n).filter(|at| *at <= budget);
            missed += usize::from(found.is_none());
            logarithms += (found.unwrap_or(budget) as f64).ln();
        }
    }
    let cases = (bugs.len() as u64 * all.effort.seeds).max(1);
    Score { missed, executions: (logarithms / cases as f64).exp() }
}
