//! Which steps of a long execution are worth a row.
//!
//! A row is spent, while there are any left, on: the end; the steps that the outcome points at;
//! preemptions; other switches; the first step. Each preemption and switch comes with the step
//! before it, the latest first. What lies between is folded into one row for each gap.

use std::collections::BTreeMap;

use raddle_trace::{Event, Outcome, Trace};

use crate::columns::{clean, count};
use crate::minor::Hidden;
use crate::waits::op_on_object;

/// Below this the end of an execution would not be legible.
const FEWEST_ROWS: usize = 6;
/// A fold that mixes more tasks than this says only how many.
const NAMED_TASKS: usize = 3;

/// Longer rounds of steps that repeat are not looked for.
const LONGEST_ROUND: usize = 4;

/// One row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    /// The event at this index.
    Step(usize),
    /// The events at these indexes, at least two.
    Fold(Vec<usize>),
}

/// The rows for the steps of `trace` that are not hidden, at most `max_rows` (but see [`FEWEST_ROWS`]).
pub(crate) fn rows(trace: &Trace, outcome: &Outcome, hidden: &Hidden, max_rows: usize) -> Vec<Row> {
    let steps: Vec<usize> =
        (0..trace.events.len()).filter(|&index| hidden.why(index).is_none()).collect();
    let n_steps = steps.len();
    let max_rows = max_rows.max(FEWEST_ROWS);
    if n_steps <= max_rows {
        return steps.into_iter().map(Row::Step).collect();
    }
    let mut selection = Selection { kept: vec![false; n_steps], n_rows: 1 };
    let event = |at: usize| &trace.events[steps[at]];
    let preempts = |&at: &usize| event(at).preempts;
    let switches = |&at: &usize| at > 0 && event(at).task != event(at - 1).task;
    let with_step_before = |at: usize| [at, at.saturating_sub(1)];
    // The end of a livelock says the same again and again.
    let livelock = matches!(outcome, Outcome::Livelock { .. });
    let n_last = if livelock { max_rows / 8 } else { max_rows / 4 };
    let landmarks = landmarks(trace, outcome);
    let landmarks = landmarks.iter().filter_map(|index| steps.binary_search(index).ok());
    let candidates = (n_steps - n_last.max(2)..n_steps)
        .rev()
        .chain(landmarks)
        .chain((0..n_steps).rev().filter(preempts).flat_map(with_step_before))
        .chain((0..n_steps).rev().filter(switches).flat_map(with_step_before))
        .chain([0]);
    for at in candidates {
        selection.keep(at, max_rows);
        if selection.n_rows == max_rows {
            break;
        }
    }
    // A gap of one step costs as many rows as the step.
    for at in 0..n_steps {
        selection.keep(at, selection.n_rows);
    }
    selection.rows(&steps)
}

/// What folded steps say of themselves, and whose they are if one task's.
pub(crate) fn describe(trace: &Trace, folded: &[usize]) -> (String, Option<u32>) {
    let mut by_task: BTreeMap<u32, u64> = BTreeMap::new();
    for &index in folded {
        *by_task.entry(trace.events[index].task).or_default() += 1;
    }
    let steps = count(folded.len() as u64, "step");
    let label = |task: u32| clean(&trace.task_label(task));
    let tasks: Vec<(u32, u64)> = by_task.into_iter().collect();
    match tasks.as_slice() {
        &[(task, _)] => (format!("… {steps} of {} …", label(task)), Some(task)),
        few if few.len() <= NAMED_TASKS => {
            let parts: Vec<_> =
                few.iter().map(|&(task, n)| format!("{n} of {}", label(task))).collect();
            (format!("… {steps}: {} …", parts.join(", ")), None)
        }
        many => (format!("… {steps} of {} tasks …", many.len()), None),
    }
}

/// If folded steps are the same few again and again: these.
pub(crate) fn repeated(trace: &Trace, folded: &[usize]) -> Option<String> {
    let events: Vec<&Event> = folded.iter().map(|&index| &trace.events[index]).collect();
    let alike = |a: &Event, b: &Event| {
        a.task == b.task && a.op == b.op && a.object == b.object && a.site == b.site
    };
    let is_round = |&n: &usize| {
        let mut pairs = events.iter().zip(&events[n..]);
        events.len() >= 2 * n && pairs.all(|(a, b)| alike(a, b))
    };
    let n = (1..=LONGEST_ROUND.min(events.len())).find(is_round)?;
    let ops = events[..n].iter().map(|event| op_on_object(trace, &event.op, event.object));
    Some(ops.collect::<Vec<_>>().join(", "))
}

/// The steps that explain the outcome: where held locks were taken, where spinning began.
fn landmarks(trace: &Trace, outcome: &Outcome) -> Vec<usize> {
    let n_events = trace.events.len();
    match outcome {
        Outcome::Deadlock { waiting } => waiting
            .iter()
            .flat_map(|one| one.held_by.iter().map(move |(holder, _)| (*holder, one.object)))
            .filter_map(|(holder, object)| {
                object?;
                trace
                    .events
                    .iter()
                    .rposition(|event| event.task == holder && event.object == object)
            })
            .collect(),
        Outcome::Livelock { steps, .. } => {
            let begin = n_events.saturating_sub(usize::try_from(*steps).unwrap_or(usize::MAX));
            (begin.saturating_sub(2)..n_events.min(begin + 2)).collect()
        }
        _ => Vec::new(),
    }
}

/// A set of kept steps that knows how many rows it takes, gaps included.
struct Selection {
    kept: Vec<bool>,
    n_rows: usize,
}

impl Selection {
    /// Keeps a step unless that would take more than `max_rows` rows.
    fn keep(&mut self, index: usize, max_rows: usize) {
        if self.kept[index] {
            return;
        }
        // The step replaces the gap it was in, and leaves a gap on each side that is not kept.
        let before = index > 0 && !self.kept[index - 1];
        let after = self.kept.get(index + 1).is_some_and(|&kept| !kept);
        let n_rows = self.n_rows + usize::from(before) + usize::from(after);
        if n_rows <= max_rows {
            self.kept[index] = true;
            self.n_rows = n_rows;
        }
    }

    /// The rows, where these are the steps.
    fn rows(&self, steps: &[usize]) -> Vec<Row> {
        let mut rows = Vec::with_capacity(self.n_rows);
        for (&index, &kept) in steps.iter().zip(&self.kept) {
            match rows.last_mut() {
                _ if kept => rows.push(Row::Step(index)),
                Some(Row::Fold(folded)) => folded.push(index),
                _ => rows.push(Row::Fold(vec![index])),
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One event for each letter; an upper-case one preempts.
    fn trace(steps: &str) -> Trace {
        let events = steps
            .bytes()
            .map(|letter| Event {
                task: u32::from(letter.to_ascii_lowercase() - b'a'),
                op: "yield".to_owned(),
                preempts: letter.is_ascii_uppercase(),
                ..Event::default()
            })
            .collect();
        Trace { events, ..Trace::default() }
    }

    fn shown(steps: &str, max_rows: usize) -> String {
        let trace = trace(steps);
        let rows = rows(&trace, &Outcome::Completed, &Hidden::nothing(), max_rows);
        assert!(rows.len() <= max_rows, "{} rows", rows.len());
        let row = |row: &Row| match row {
            Row::Step(index) => steps[*index..=*index].to_owned(),
            Row::Fold(folded) => format!("[{}]", folded.len()),
        };
        rows.iter().map(row).collect()
    }

    #[test]
    fn a_short_execution_is_shown_whole() {
        assert_eq!(shown("abAb", 8), "abAb");
    }

    #[test]
    fn preemptions_survive_folding() {
        let steps = format!("{}B{}", "a".repeat(50), "b".repeat(50));
        assert_eq!(shown(&steps, 12), "a[48]aB[47]bbb");
    }

    #[test]
    fn the_rows_are_used_and_never_exceeded() {
        let steps = "aaabBbcaAacbbbC".repeat(40);
        for max_rows in FEWEST_ROWS..60 {
            let rows = rows(&trace(&steps), &Outcome::Completed, &Hidden::nothing(), max_rows);
            assert!(rows.len() <= max_rows && rows.len() + 1 >= max_rows);
            for row in &rows {
                assert!(!matches!(row, Row::Fold(folded) if folded.len() < 2), "{row:?}");
            }
        }
    }

    #[test]
    fn a_fold_of_one_task_says_what_repeats() {
        let mut trace = trace("aaaaaab");
        for event in trace.events.iter_mut().step_by(2) {
            event.op = "load".to_owned();
        }
        let steps: Vec<usize> = (0..7).collect();
        assert_eq!(repeated(&trace, &steps[..6]).as_deref(), Some("load, yield"));
        assert_eq!(repeated(&trace, &steps[1..6]).as_deref(), Some("yield, load"));
        assert_eq!(repeated(&trace, &steps[..3]), None, "twice is needed to see that it repeats");
        assert_eq!(repeated(&trace, &steps[3..]), None, "two tasks do not repeat each other");
    }

    #[test]
    fn a_fold_says_whose_steps_it_hides() {
        let trace = trace("aaabbcd");
        let said = |range: std::ops::Range<usize>| describe(&trace, &range.collect::<Vec<_>>());
        assert_eq!(said(0..3), ("… 3 steps of task 0 …".to_owned(), Some(0)));
        assert_eq!(said(1..5), ("… 4 steps: 2 of task 0, 2 of task 1 …".to_owned(), None));
        assert_eq!(said(0..7), ("… 7 steps of 4 tasks …".to_owned(), None));
    }
}
