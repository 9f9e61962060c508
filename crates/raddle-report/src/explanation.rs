//! Why an execution fails, in sentences.

use std::collections::BTreeSet;

use raddle_trace::{Call, Event, Explanation, Lost, Pivot, Second, Site, Trace};

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
    let mut lines = pivots(&why.pivots, trace);
    if why.pivots.is_empty() && why.races > 0 {
        lines.push(format!(
            "none of {} matters alone: the failure stays whichever of its two steps comes first",
            count(why.races, "race")
        ));
    }
    match why.lost {
        Some(Lost { step: Some(step), tried: 0 | 1 }) => {
            let named = why.pivots.len() > 1 && told(why, false).contains(&step);
            let step = if named { format!("step {step}") } else { step_at(step, trace) };
            lines.push(format!("{step} was the last choice there was"));
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
pub(crate) fn steps_told(why: &Explanation) -> BTreeSet<u32> {
    told(why, true)
}

fn told(why: &Explanation, with_lost: bool) -> BTreeSet<u32> {
    let pivots = why.pivots.iter().flat_map(|pivot| {
        let second = match pivot.second {
            Second::Step(step) => Some(step),
            _ => None,
        };
        [Some(pivot.first), second]
    });
    let lost = why.lost.and_then(|lost| lost.step).filter(|_| with_lost);
    pivots.chain([lost]).flatten().collect()
}

/// What would have come of it in the other order.
fn otherwise(pivot: &Pivot) -> String {
    match pivot.otherwise.as_str() {
        "completed" => "the test would have passed".to_owned(),
        other => format!("it would have been another failure ({})", clean(other)),
    }
}

/// A sentence for each order that matters. What they have in common is said once, and an order that
/// follows from another is left out.
fn pivots(pivots: &[Pivot], trace: &Trace) -> Vec<String> {
    let mut groups: Vec<Vec<&Pivot>> = Vec::new();
    for pivot in pivots {
        match groups.iter_mut().find(|group| group[0].otherwise == pivot.otherwise) {
            Some(group) => group.push(pivot),
            None => groups.push(vec![pivot]),
        }
    }
    let mut lines = Vec::new();
    for group in groups {
        let follows = |pivot: &&Pivot| group.iter().any(|other| forces(other, pivot, trace));
        let left: Vec<&Pivot> = group.iter().copied().filter(|pivot| !follows(pivot)).collect();
        let otherwise = otherwise(group[0]);
        if let [pivot] = left[..] {
            let came = came_before(pivot, trace, &mut Places::default());
            lines.push(format!("{came}; in the other order {otherwise}"));
            continue;
        }
        let which = if left.len() == 2 { "either of these" } else { "any one of these" };
        lines.push(format!("with {which} in the other order {otherwise}:"));
        let mut places = Places { named: Some(BTreeSet::new()), file: String::new() };
        lines.extend(left.into_iter().map(|pivot| came_before(pivot, trace, &mut places)));
    }
    lines
}

/// Whether the order of one pair leaves no other order for the second pair: its first step is no later in
/// its task than that of the first pair, and its second step no earlier.
fn forces(pair: &Pivot, other: &Pivot, trace: &Trace) -> bool {
    let (Second::Step(then), Second::Step(other_then)) = (pair.second, other.second) else {
        return false;
    };
    let task = |step: u32| trace.events.get(step as usize).map(|event| event.task);
    let is_other = (pair.first, then) != (other.first, other_then);
    let around = other.first <= pair.first && then <= other_then;
    is_other && around && task(other.first) == task(pair.first) && task(other_then) == task(then)
}

/// The places that were named so far.
#[derive(Default)]
struct Places {
    /// None: each is named in full, wherever it was named before.
    named: Option<BTreeSet<(String, Site)>>,
    file: String,
}

impl Places {
    /// ` at src/lib.rs:7`; less if it was named, or is in the file that was named last.
    fn at(&mut self, function: &str, site: &Site) -> String {
        let Some(named) = &mut self.named else {
            return format!(" at {}", place(site, usize::MAX));
        };
        if !named.insert((function.to_owned(), site.clone())) {
            return String::new();
        }
        if self.file == site.file {
            return format!(" at line {}", site.line);
        }
        self.file.clone_from(&site.file);
        format!(" at {}", place(site, usize::MAX))
    }
}

fn came_before(pivot: &Pivot, trace: &Trace, places: &mut Places) -> String {
    by_calls(pivot, trace, places).unwrap_or_else(|| {
        let second = match pivot.second {
            Second::Step(step) => step_at(step, trace),
            Second::Waiting(task) => format!("what {} waits for", clean(&trace.task_label(task))),
            _ => "another step".to_owned(),
        };
        format!("{} came before {second}", step_at(pivot.first, trace))
    })
}

/// `get at cache.rs:40 read items before insert at cache.rs:51 wrote it`, with steps and tasks. None if it is
/// not known which functions did so.
fn by_calls(pivot: &Pivot, trace: &Trace, places: &mut Places) -> Option<String> {
    let Second::Step(second) = pivot.second else { return None };
    let known = |step: u32| {
        let event = trace.events.get(step as usize)?;
        Some((event, event.object?, function(event)?, past(event)?))
    };
    // Both are known before a place is taken to be named.
    let (first, second) = ((pivot.first, known(pivot.first)?), (second, known(second)?));
    let mut did = |(step, (event, object, name, verb)): (u32, (&Event, u32, String, &str)),
                   same| {
        let label = if same { "it".to_owned() } else { trace.object_label(object) };
        let at = places.at(&name, shown_at(event));
        format!("`{name}`{at} {verb} {label} (step {step}, {})", trace.task_label(event.task))
    };
    let same = first.1.1 == second.1.1;
    let (first, then) = (did(first, false), did(second, same));
    Some(clean(&format!("{first} before {then}")))
}

/// The innermost function of the program that led to a step, if it has a name and a place.
fn function(event: &Event) -> Option<String> {
    let name = event.calls.first()?.name();
    (!name.contains('{') && !shown_at(event).file.is_empty()).then_some(name)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{event, object, site, threads};

    /// Steps of a lock by named functions: who, and in which line.
    fn trace(steps: &[(u32, &str, u32)]) -> Trace {
        let step = |&(task, op, line): &(u32, &str, u32)| {
            let function = if line < 20 { "app::Queue::push" } else { "app::Queue::pop" };
            let calls = vec![Call { function: function.to_owned(), site: site(line) }];
            Event { calls, ..event((task, op, Some(0), line)) }
        };
        let events = steps.iter().map(step).collect();
        let objects = vec![object("Mutex", Some("items"), 5)];
        Trace { tasks: threads(2), objects, events, ..Trace::default() }
    }

    fn pivot(first: u32, second: u32, otherwise: &str) -> Pivot {
        Pivot { first, second: Second::Step(second), otherwise: otherwise.to_owned() }
    }

    fn said(pivots: Vec<Pivot>, trace: &Trace) -> Vec<String> {
        explanation(&Explanation::new(pivots, 9, None), trace)
    }

    #[test]
    fn what_several_orders_have_in_common_is_said_once() {
        let trace = trace(&[(0, "lock", 18), (1, "lock", 23), (2, "lock", 23), (0, "lock", 19)]);
        let all =
            vec![pivot(0, 1, "completed"), pivot(1, 2, "completed"), pivot(2, 3, "completed")];
        assert_eq!(
            said(all, &trace),
            [
                "with any one of these in the other order the test would have passed:",
                "`Queue::push` at tests/account.rs:18 locked items (step 0, main) before `Queue::pop` \
                 at line 23 locked it (step 1, thread 1)",
                "`Queue::pop` locked items (step 1, thread 1) before `Queue::pop` locked it (step 2, \
                 thread 2)",
                "`Queue::pop` locked items (step 2, thread 2) before `Queue::push` at line 19 locked it \
                 (step 3, main)",
            ]
        );
    }

    #[test]
    fn orders_with_other_ends_are_kept_apart() {
        let trace = trace(&[(0, "lock", 18), (1, "lock", 23), (2, "lock", 23)]);
        let two = vec![pivot(0, 1, "completed"), pivot(1, 2, "deadlock")];
        let said = said(two, &trace);
        assert_eq!(said.len(), 2);
        assert!(
            said[0].ends_with("; in the other order the test would have passed"),
            "{}",
            said[0]
        );
        let other = "; in the other order it would have been another failure (deadlock)";
        assert!(said[1].ends_with(other), "{}", said[1]);
        assert_eq!(said[1].matches("tests/account.rs:23").count(), 2, "one alone has its places");
    }

    #[test]
    fn an_order_that_follows_from_another_is_left_out() {
        // Main: 0, 1; thread 1: 2, 3. That 1 is before 2 leaves no way for 3 to be before 0.
        let trace = trace(&[(0, "lock", 18), (0, "lock", 19), (1, "lock", 23), (1, "lock", 24)]);
        let inner = pivot(1, 2, "completed");
        let both = said(vec![pivot(0, 3, "completed"), inner.clone()], &trace);
        assert_eq!(both, said(vec![inner], &trace));
        // These two cross: neither follows.
        let crossed = said(vec![pivot(0, 2, "completed"), pivot(1, 3, "completed")], &trace);
        assert_eq!(crossed.len(), 3);
        assert_eq!(
            crossed[0],
            "with either of these in the other order the test would have passed:"
        );
    }

    #[test]
    fn a_step_that_was_named_is_only_numbered() {
        let trace = trace(&[(0, "lock", 18), (1, "lock", 23), (2, "lock", 23)]);
        let two = vec![pivot(0, 1, "completed"), pivot(1, 2, "completed")];
        let lost = Some(Lost { step: Some(2), tried: 1 });
        let said = explanation(&Explanation::new(two, 9, lost), &trace);
        assert_eq!(said.last().map(String::as_str), Some("step 2 was the last choice there was"));
    }
}
