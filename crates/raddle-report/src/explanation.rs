//! Why an execution fails, in sentences.

use std::collections::BTreeSet;

use raddle_trace::{Call, Event, Explanation, Lost, Pivot, Second, Trace};

use crate::columns::{clean, count, place};
use crate::shown_at::shown_at;
use crate::waits::{op_on_object, verb_and_rest};

/// One sentence for each thing that was found out.
///
/// ```
/// use raddle_trace::{Explanation, Lost, Trace};
///
/// let lost = Some(Lost { step: None, tried: 300 });
/// let why = Explanation::new(Vec::new(), 0, lost);
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
    let function = event.calls.first().map(Call::name).filter(|name| !name.contains('{'));
    let function = function.map(|name| format!(", in `{name}`")).unwrap_or_default();
    clean(&format!("step {step} ({who}: {what}{function})"))
}

/// The steps that an explanation names.
pub(crate) fn told(why: &Explanation) -> BTreeSet<u32> {
    let pivots = why.pivots.iter().flat_map(|pivot| {
        let second = match pivot.second {
            Second::Step(step) => Some(step),
            _ => None,
        };
        [Some(pivot.first), second]
    });
    let lost = why.lost.and_then(|lost| lost.step);
    pivots.chain([lost]).flatten().collect()
}

fn pivoted(pivot: &Pivot, trace: &Trace) -> String {
    let otherwise = match pivot.otherwise.as_str() {
        "completed" => "the test would have passed".to_owned(),
        other => format!("it would have been another failure ({})", clean(other)),
    };
    let came = by_calls(pivot, trace).unwrap_or_else(|| {
        let second = match pivot.second {
            Second::Step(step) => step_at(step, trace),
            Second::Waiting(task) => format!("what {} waits for", clean(&trace.task_label(task))),
            _ => "another step".to_owned(),
        };
        format!("{} came before {second}", step_at(pivot.first, trace))
    });
    format!("{came}; in the other order {otherwise}")
}

/// `get at cache.rs:40 read items before insert at cache.rs:51 wrote it`, with steps and tasks. None if it is
/// not known which functions did so.
fn by_calls(pivot: &Pivot, trace: &Trace) -> Option<String> {
    let Second::Step(second) = pivot.second else { return None };
    let did = |step: u32, before: Option<u32>| {
        let event = trace.events.get(step as usize)?;
        let object = event.object?;
        let label =
            if before == Some(object) { "it".to_owned() } else { trace.object_label(object) };
        let (by, verb, who) = (function_at(event)?, past(event)?, trace.task_label(event.task));
        Some((object, format!("{by} {verb} {label} (step {step}, {who})")))
    };
    let (object, first) = did(pivot.first, None)?;
    let (_, then) = did(second, Some(object))?;
    Some(clean(&format!("{first} before {then}")))
}

/// The innermost function of the program that led to a step, and where.
fn function_at(event: &Event) -> Option<String> {
    let name = event.calls.first()?.name();
    let site = place(shown_at(event), usize::MAX);
    (!name.contains('{') && !site.is_empty()).then(|| format!("`{name}` at {site}"))
}

/// What a step did, as a word that takes its object.
fn past(event: &Event) -> Option<&'static str> {
    let (verb, rest) = verb_and_rest(&event.op);
    Some(match verb {
        "load" => "read",
        "store" => "wrote",
        "compare_exchange" | "compare_exchange_weak" if rest.contains("-> Err") => "read",
        "swap" | "compare_exchange" | "compare_exchange_weak" => "changed",
        _ if verb.starts_with("fetch_") => "changed",
        "lock" | "write" => "locked",
        "read" => "locked (to read)",
        "unlock" => "unlocked",
        "notify_one" | "notify_all" => "notified",
        "wait" => "waited on",
        "wake" => "woke on",
        "send" => "sent to",
        "recv" => "received from",
        _ => return None,
    })
}
