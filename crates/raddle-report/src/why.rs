//! Why an execution fails, in sentences.

use raddle_trace::{Explanation, Lost, Pivot, Second, Trace};

use crate::columns::{clean, count};
use crate::waits::op_on_object;

/// One sentence for each thing that was found out.
///
/// ```
/// use raddle_trace::{Explanation, Lost, Trace};
///
/// let lost = Some(Lost { step: None, tried: 300 });
/// let why = Explanation { lost, ..Explanation::default() };
/// assert_eq!(
///     raddle_report::explanation(&why, &Trace::default()),
///     ["all of 300 executions that were tried fail: it is no matter of the order"]
/// );
/// ```
#[must_use]
pub fn explanation(why: &Explanation, trace: &Trace) -> Vec<String> {
    let mut lines: Vec<_> = why.pivots.iter().map(|pivot| pivoted(pivot, trace)).collect();
    if why.pivots.is_empty() && why.races > 0 {
        lines.push(format!(
            "none of {} matters alone: the failure stays whichever of its two steps comes first",
            count(why.races, "race")
        ));
    }
    match why.lost {
        Some(Lost { step: Some(step), tried: 0 | 1 }) => {
            lines.push(format!("{} was the last choice there was", step_at(step, trace)));
        }
        Some(Lost { step: Some(step), tried }) => lines.push(format!(
            "after {} it was lost: all of {} to go on that were tried fail",
            step_at(step, trace),
            count(tried, "way")
        )),
        // Without a choice there is nothing to say.
        Some(Lost { step: None, tried: 0 | 1 }) | None => {}
        Some(Lost { step: None, tried }) => lines.push(format!(
            "all of {} that were tried fail: it is no matter of the order",
            count(tried, "execution")
        )),
    }
    lines
}

fn step_at(step: u32, trace: &Trace) -> String {
    let Some(event) = trace.events.get(step as usize) else { return format!("step {step}") };
    let (who, what) = (trace.task_label(event.task), op_on_object(trace, &event.op, event.object));
    clean(&format!("step {step} ({who}: {what})"))
}

fn pivoted(pivot: &Pivot, trace: &Trace) -> String {
    let first = step_at(pivot.first, trace);
    let second = match pivot.second {
        Second::Step(step) => step_at(step, trace),
        Second::Waiting(task) => format!("what {} waits for", clean(&trace.task_label(task))),
        _ => "another step".to_owned(),
    };
    let otherwise = match pivot.otherwise.as_str() {
        "completed" => "the test would have passed".to_owned(),
        other => format!("it would have been another failure ({})", clean(other)),
    };
    format!("{first} came before {second}; in the other order {otherwise}")
}
