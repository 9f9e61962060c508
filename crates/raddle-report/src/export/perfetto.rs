//! The JSON format of Chrome's tracing, which Perfetto reads too: a thread for each task, a slice for
//! each step, a flow for each arrow of happens-before.
//!
//! Steps have no durations, so each is drawn one microsecond long, the next a microsecond later.
//!
//! Perfetto takes the thread whose number is that of its process for the main one, and one with the number 0 for
//! the same: so the first task has the number of the process, which is that of no other.

use raddle_trace::Failure;
use serde_json::{Value, json};

use crate::columns::{clean, place};
use crate::order::Order;
use crate::table::endings;
use crate::waits::op_on_object;

/// How long a step is, in microseconds; the rest until the next is a gap, so that slices are told apart.
const LENGTH: f64 = 0.9;

/// An execution as a timeline, in JSON. Open it at `ui.perfetto.dev` or `chrome://tracing`.
///
/// ```
/// # use raddle_trace::{Event, Failure, Outcome, Schedule, TaskName, Trace};
/// # let event = Event { op: "yield".into(), ..Event::default() };
/// # let trace = Trace { tasks: vec![TaskName::root()], events: vec![event], ..Trace::default() };
/// # let outcome = Outcome::Livelock { spinning: vec![0], steps: 1 };
/// # let schedule = Schedule::default();
/// # let failure = Failure::new(outcome, schedule, trace, 1);
/// let json = raddle_report::export::perfetto(&failure);
/// assert!(json.contains(r#""name":"yield""#));
/// ```
#[must_use]
pub fn perfetto(failure: &Failure) -> String {
    let trace = &failure.trace;
    let order = Order::of(trace);
    let process = trace.tasks.len().max(1) as u32;
    let thread = |task: u32| if task == 0 { process } else { task };
    let mut events = vec![json!({
        "ph": "M", "pid": process, "name": "process_name",
        "args": {"name": "one execution, a microsecond for each step"},
    })];
    for task in 0..trace.tasks.len() as u32 {
        let name = clean(&trace.task_label(task));
        events.push(json!({
            "ph": "M", "pid": process, "tid": thread(task), "name": "thread_name", "args": {"name": name},
        }));
        events.push(json!({
            "ph": "M", "pid": process, "tid": thread(task), "name": "thread_sort_index",
            "args": {"sort_index": task},
        }));
    }
    let mut n_flows = 0;
    for (index, event) in (0_u32..).zip(&trace.events) {
        let mut arguments = json!({
            "step": index,
            "at": place(&event.site, usize::MAX),
            "preempts": event.preempts,
        });
        if let Some(object) = event.object {
            arguments["object"] = Value::from(clean(&trace.object_label(object)));
        }
        if let Some(decision) = event.decision {
            arguments["decision"] = Value::from(decision);
        }
        events.push(json!({
            "ph": "X", "pid": process, "tid": thread(event.task), "ts": index, "dur": LENGTH,
            "cat": if event.preempts { "step,preemption" } else { "step" },
            "name": op_on_object(trace, &event.op, event.object),
            "args": arguments,
        }));
        for &before in &order.after[index as usize] {
            n_flows += 1;
            let earlier = &trace.events[before as usize];
            let flow = |phase: &str, task: u32, at: f64| {
                json!({
                    "ph": phase, "pid": process, "tid": thread(task), "ts": at, "id": n_flows,
                    "cat": "happens-before", "name": "happens before",
                })
            };
            events.push(flow("s", earlier.task, f64::from(before) + LENGTH / 2.0));
            let mut end = flow("f", event.task, f64::from(index) + LENGTH / 2.0);
            end["bp"] = Value::from("e");
            events.push(end);
        }
    }
    for ending in endings(trace, &failure.outcome) {
        events.push(json!({
            "ph": "i", "s": "t", "pid": process, "tid": thread(ending.task), "ts": trace.events.len(),
            "cat": "end", "name": ending.plain(),
        }));
    }
    json!({"displayTimeUnit": "ns", "traceEvents": events}).to_string()
}
