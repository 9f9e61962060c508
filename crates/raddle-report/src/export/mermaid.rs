//! A sequence diagram for Mermaid. Of actors: an arrow for each message, where it is handled. Of
//! threads: an arrow from the task to the object for each step.
//!
//! Mermaid draws some hundred arrows at most, so a long execution is folded as in the table.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use raddle_trace::{Failure, Trace};

use crate::columns::{clean, fit};
use crate::fold::{self, Row};
use crate::messages::Messages;
use crate::minor::Hidden;
use crate::table::endings;

/// Steps and folds that are drawn.
const MOST_ROWS: usize = 200;
/// Longer texts are cut.
const LONGEST: usize = 80;

/// An execution as the text of a Mermaid sequence diagram.
///
/// ```
/// # use raddle_trace::{Event, Failure, Outcome, Schedule, TaskName, Trace};
/// # let event = Event { op: "yield".into(), ..Event::default() };
/// # let trace = Trace { tasks: vec![TaskName::root()], events: vec![event], ..Trace::default() };
/// # let outcome = Outcome::Completed;
/// # let schedule = Schedule::default();
/// # let failure = Failure::new(outcome, schedule, trace, 1);
/// let text = raddle_report::export::mermaid(&failure);
/// assert_eq!(
///     text,
///     "sequenceDiagram\n    participant t0 as main\n    t0->>t0: yield\n"
/// );
/// ```
#[must_use]
pub fn mermaid(failure: &Failure) -> String {
    let trace = &failure.trace;
    let rows = fold::rows(trace, &failure.outcome, &Hidden::nothing(), MOST_ROWS);
    match Messages::of(trace) {
        Some(messages) => of_messages(failure, &messages, &rows),
        None => of_steps(failure, &rows),
    }
}

/// Text without what Mermaid takes for syntax.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for letter in fit(&clean(text), LONGEST).chars() {
        match letter {
            '#' => out.push_str("#35;"),
            ';' => out.push_str("#59;"),
            ':' => out.push_str("#58;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            '"' => out.push_str("#quot;"),
            '%' => out.push_str("#37;"),
            '{' => out.push_str("#123;"),
            '}' => out.push_str("#125;"),
            _ => out.push(letter),
        }
    }
    // Mermaid ends a block at this word, wherever it stands alone.
    if out.trim().eq_ignore_ascii_case("end") { format!("({out})") } else { out }
}

fn steps(rows: &[Row]) -> impl Iterator<Item = usize> {
    rows.iter().filter_map(|row| match row {
        Row::Step(index) => Some(*index),
        Row::Fold(_) => None,
    })
}

fn of_steps(failure: &Failure, rows: &[Row]) -> String {
    let trace = &failure.trace;
    let ends = endings(trace, &failure.outcome);
    let tasks: BTreeSet<u32> = steps(rows)
        .map(|index| trace.events[index].task)
        .chain(ends.iter().map(|end| end.task))
        .collect();
    let objects: BTreeSet<u32> =
        steps(rows).filter_map(|index| trace.events[index].object).collect();
    let mut out = "sequenceDiagram\n".to_owned();
    for &task in &tasks {
        let _ = writeln!(out, "    participant t{task} as {}", plain(&trace.task_label(task)));
    }
    for &object in &objects {
        let label = plain(&trace.object_label(object));
        let _ = writeln!(out, "    participant o{object} as {label}");
    }
    let whole = ends_of(tasks.iter().map(|task| format!("t{task}")));
    for row in rows {
        match row {
            Row::Step(index) => {
                let event = &trace.events[*index];
                let to =
                    event.object.map_or_else(|| format!("t{}", event.task), |o| format!("o{o}"));
                let star = if event.preempts { " (preempts)" } else { "" };
                let _ = writeln!(out, "    t{}->>{to}: {}{star}", event.task, plain(&event.op));
            }
            Row::Fold(steps) => folded(&mut out, trace, steps, &whole),
        }
    }
    for end in ends {
        let _ = writeln!(out, "    Note over t{}: {}", end.task, plain(&end.plain()));
    }
    out
}

fn of_messages(failure: &Failure, messages: &Messages, rows: &[Row]) -> String {
    let trace = &failure.trace;
    let mut out = "sequenceDiagram\n".to_owned();
    for (lane, name) in messages.names.iter().enumerate() {
        let _ = writeln!(out, "    participant a{lane} as {}", plain(name));
    }
    let whole = ends_of((0..messages.names.len()).map(|lane| format!("a{lane}")));
    for row in rows {
        match row {
            Row::Step(index) => {
                let (event, lane) = (&trace.events[*index], messages.lanes[*index]);
                let from = messages.from[*index].map_or(lane, |(from, _)| from);
                let arrow = if messages.from[*index].is_some() { "-)" } else { "->>" };
                let _ = writeln!(out, "    a{from}{arrow}a{lane}: {}", plain(&event.op));
            }
            Row::Fold(steps) => folded(&mut out, trace, steps, &whole),
        }
    }
    for end in endings(trace, &failure.outcome) {
        // A task that is no lane here says how it ended over all of them.
        let label = trace.task_label(end.task);
        let over = messages.names.iter().position(|name| *name == label);
        let over = over.map_or_else(|| whole.clone(), |lane| format!("a{lane}"));
        let _ = writeln!(out, "    Note over {over}: {}", plain(&end.plain()));
    }
    out
}

/// The first and the last participant, over which a note about all of them stands.
fn ends_of(mut names: impl DoubleEndedIterator<Item = String>) -> String {
    match (names.next(), names.next_back()) {
        (Some(first), Some(last)) => format!("{first},{last}"),
        (Some(only), None) => only,
        _ => String::new(),
    }
}

fn folded(out: &mut String, trace: &Trace, steps: &[usize], over: &str) {
    let (text, _) = fold::describe(trace, steps);
    let _ = writeln!(out, "    Note over {over}: {}", plain(&text));
}
