//! What the script of a page is given: the steps as columns of numbers, with tables of their texts.
//!
//! An execution of 100,000 steps has few different ops and sites, so this is small, and the script
//! makes rows only of what can be seen.

use std::collections::BTreeMap;

use raddle_trace::{Call, Failure, Outcome, Report, Site, Trace};
use serde_json::{Value, json};

use crate::columns::clean;
use crate::explanation::steps_told;
use crate::html::edges::{Kind, edges};
use crate::html::sources::Sources;
use crate::html::states::changes;
use crate::messages::Messages;
use crate::minor::Hidden;
use crate::order::Order;
use crate::shown_at::{is_at_its_lock, shown_at};
use crate::table::{endings, raised};
use crate::waits::op_on_object;

/// Texts by number.
#[derive(Default)]
struct Texts {
    numbers: BTreeMap<String, u32>,
    texts: Vec<String>,
}

impl Texts {
    fn number(&mut self, text: String) -> u32 {
        let next = self.texts.len() as u32;
        *self.numbers.entry(text).or_insert_with_key(|text| {
            self.texts.push(text.clone());
            next
        })
    }
}

/// Sites by number, and the lines of source that are shown for them.
struct Places<'a> {
    sources: &'a Sources,
    numbers: BTreeMap<Site, i64>,
    files: Texts,
    sites: Vec<Value>,
    /// Addresses of the sites, if they are links.
    addresses: Vec<String>,
    lines: BTreeMap<u32, BTreeMap<u32, &'a str>>,
}

impl<'a> Places<'a> {
    fn new(sources: &'a Sources) -> Self {
        Self {
            sources,
            numbers: BTreeMap::new(),
            files: Texts::default(),
            sites: Vec::new(),
            addresses: Vec::new(),
            lines: BTreeMap::new(),
        }
    }

    /// -1 for a site that is not known.
    fn number(&mut self, site: &Site) -> i64 {
        if site.file.is_empty() {
            return -1;
        }
        if let Some(&number) = self.numbers.get(site) {
            return number;
        }
        let number = i64::from(self.sites.len() as u32);
        self.numbers.insert(site.clone(), number);
        let file = self.files.number(site.file.clone());
        self.sites.push(json!([file, site.line, site.column]));
        self.addresses.extend(self.sources.address(site));
        self.lines.entry(file).or_default().extend(self.sources.around(site));
        number
    }
}

/// Everything that the page of a failure shows of its steps, as JSON.
pub(super) fn data(report: &Report, failure: &Failure, sources: &Sources) -> String {
    let trace = &failure.trace;
    let mut places = Places::new(sources);
    let mut ops = Texts::default();
    // The same op on the same object is written out once.
    let mut known: BTreeMap<(&str, Option<u32>), u32> = BTreeMap::new();
    let mut columns: [Vec<i64>; 6] = Default::default();
    for event in &trace.events {
        let op = *known
            .entry((&event.op, event.object))
            .or_insert_with(|| ops.number(op_on_object(trace, &event.op, event.object)));
        let optional = |number: Option<u32>| number.map_or(-1, i64::from);
        let row = [
            i64::from(event.task),
            i64::from(op),
            optional(event.object),
            places.number(shown_at(event)),
            optional(event.decision),
            i64::from(event.preempts),
        ];
        for (column, entry) in columns.iter_mut().zip(row) {
            column.push(entry);
        }
    }
    let [task, op, object, site, decision, preempts] = columns;
    let order = Order::of(trace);
    let (after, kinds) = arrows(trace, &order);
    let told = failure.explanation.as_ref().map(steps_told).unwrap_or_default();
    let hidden = Hidden::of(trace, &failure.outcome, &told);
    let is_hidden = |step: usize| hidden.why(step).is_some();
    let minor: Vec<usize> = (0..trace.events.len()).filter(|&step| is_hidden(step)).collect();
    let mut calls = BTreeMap::new();
    for (step, event) in (0_u32..).zip(&trace.events) {
        let call = |call: &Call| json!([call.name(), places.number(&call.site)]);
        if !event.calls.is_empty() {
            calls.insert(step, event.calls.iter().map(call).collect::<Vec<_>>());
        }
    }
    let at_locks = (0_u32..).zip(&trace.events).filter(|(_, event)| is_at_its_lock(event));
    let at_locks: Vec<u32> = at_locks.map(|(step, _)| step).collect();
    let ends = ends(failure, &mut places);
    let fails = failing_row(failure, &ends);
    let objects = objects(trace, &mut places);
    let lines: Vec<Value> = (0..places.files.texts.len() as u32)
        .map(|file| places.lines.get(&file).map_or(json!({}), |lines| json!(lines)))
        .collect();
    json!({
        "test": report.test,
        "tasks": tasks(trace),
        "objects": objects,
        "files": places.files.texts,
        "sites": places.sites,
        "addresses": places.addresses,
        "lines": lines,
        "ops": ops.texts,
        "task": task,
        "op": op,
        "object": object,
        "site": site,
        "decision": decision,
        "preempts": preempts,
        "after": after,
        "kinds": kinds,
        "exact": order.exact,
        "ends": ends,
        "fails": fails,
        "states": states(trace),
        "minor": minor,
        "hidden": hidden.said(trace),
        "calls": calls,
        "at_locks": at_locks,
        "messages": Messages::of(trace).map(|messages| messages_data(&messages)),
    })
    .to_string()
}

/// For each step those before it, and of which kind these arrows are. Most steps follow nothing but their own
/// task, and most arrows are of the first kind: 0 is shorter than a list.
fn arrows(trace: &Trace, order: &Order) -> (Vec<Value>, Vec<Value>) {
    let column = |before: &Vec<(u32, Kind)>| {
        let steps: Vec<u32> = before.iter().map(|(step, _)| *step).collect();
        let kinds: Vec<u8> = before.iter().map(|(_, kind)| *kind as u8).collect();
        let plain = kinds.iter().all(|kind| *kind == Kind::Order as u8);
        let steps = if steps.is_empty() { json!(0) } else { json!(steps) };
        (steps, if plain { json!(0) } else { json!(kinds) })
    };
    edges(trace, order).iter().map(column).unzip()
}

/// How tasks ended, and panics before the end.
fn ends(failure: &Failure, places: &mut Places<'_>) -> Vec<Value> {
    let mut ends = Vec::new();
    let mut endings = endings(&failure.trace, &failure.outcome);
    for (step, end) in raised(&failure.trace, &mut endings) {
        let site = end.site.as_ref().map_or(-1, |site| places.number(site));
        ends.push(json!({"task": end.task, "text": end.plain(), "site": site, "step": step}));
    }
    for end in endings {
        let site = end.site.as_ref().map_or(-1, |site| places.number(site));
        ends.push(json!({"task": end.task, "text": end.plain(), "site": site}));
    }
    ends
}

fn objects(trace: &Trace, places: &mut Places<'_>) -> Vec<Value> {
    let mut objects = Vec::new();
    for (index, object) in (0..).zip(&trace.objects) {
        let site = places.number(&object.created);
        let label = clean(&trace.object_label(index));
        objects.push(json!({"label": label, "kind": clean(&object.kind), "site": site}));
    }
    objects
}

/// Where states of objects change: steps, objects, and the numbers of the states in a list of texts.
fn states(trace: &Trace) -> Value {
    let mut texts = Texts::default();
    let mut columns: [Vec<u32>; 3] = Default::default();
    for change in changes(trace) {
        let row = [change.step, change.object, texts.number(change.state)];
        columns.iter_mut().zip(row).for_each(|(column, entry)| column.push(entry));
    }
    let [step, object, text] = columns;
    json!({"step": step, "object": object, "text": text, "texts": texts.texts})
}

/// The row with which a page begins: the step at which it failed. After it nothing but the code of its task ran
/// that panicked. Accesses of a data race are no steps, so there it is the row of the second one.
fn failing_row(failure: &Failure, ends: &[Value]) -> usize {
    let events = &failure.trace.events;
    let last_of = |tasks: &[u32]| events.iter().rposition(|event| tasks.contains(&event.task));
    let last = events.len().saturating_sub(1);
    match &failure.outcome {
        Outcome::Panicked { panics, .. } => {
            let Some(panic) = panics.first() else { return last };
            let raised = failure.trace.panics.iter().find(|raised| raised.panic == *panic);
            let before = raised.map_or(events.len(), |raised| raised.step as usize);
            let before = &events[..before.min(events.len())];
            let end = || ends.iter().position(|end| end["task"] == panic.task);
            let step = before.iter().rposition(|event| event.task == panic.task);
            step.or_else(|| Some(events.len() + end()?)).unwrap_or(last)
        }
        Outcome::DataRace(_) => events.len() + ends.len().saturating_sub(1),
        Outcome::Livelock { spinning, .. } => last_of(spinning).unwrap_or(last),
        Outcome::StackOverflow { task, .. } | Outcome::Died { task: Some(task), .. } => {
            last_of(&[*task]).unwrap_or(last)
        }
        _ => last,
    }
}

fn tasks(trace: &Trace) -> Vec<String> {
    (0..trace.tasks.len() as u32).map(|task| clean(&trace.task_label(task))).collect()
}

fn messages_data(messages: &Messages) -> Value {
    let from = |entry: &Option<(u32, Option<u32>)>| match entry {
        Some((lane, step)) => json!([lane, step.map_or(-1, i64::from)]),
        None => json!(0),
    };
    let names: Vec<String> = messages.names.iter().map(|name| clean(name)).collect();
    let from: Vec<Value> = messages.from.iter().map(from).collect();
    json!({"names": names, "lanes": messages.lanes, "from": from})
}
