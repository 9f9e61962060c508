//! Who waits for whom at the end of an execution that deadlocked.

use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};

use raddle_trace::{Site, Trace, Waiting};

use crate::columns::{NO_BREAK, clean, fit, fit_op, place};
use crate::messages::is_actor;

/// An op with its object: `lock` and `Mutex#1` give `lock Mutex#1`; the result stays last. A message
/// stands alone: the name of the lane says which task it is for.
pub(crate) fn op_on_object(trace: &Trace, op: &str, object: Option<u32>) -> String {
    let Some(object) = object.filter(|&object| !is_actor(trace, object)) else { return clean(op) };
    with_object(op, &trace.object_label(object))
}

/// The same in at most `limit` characters.
pub(crate) fn op_in_lane(trace: &Trace, op: &str, object: Option<u32>, limit: usize) -> String {
    let Some(object) = object.filter(|&object| !is_actor(trace, object)) else {
        return fit(&clean(op), limit);
    };
    let label = trace.object_label(object);
    let tells_nothing_apart =
        trace.objects.get(object as usize).is_some_and(|object| object.kind == label);
    if tells_nothing_apart {
        return fit(&with_object(op, &label), limit);
    }
    let (verb, rest) = verb_and_rest(op);
    fit_op(verb, &clean(&label), rest, limit)
}

/// An op with the name of its object before its values.
pub(crate) fn with_object(op: &str, object: &str) -> String {
    let (verb, rest) = verb_and_rest(op);
    clean(&format!("{verb} {object} {rest}"))
}

/// What an op is called, and its values.
pub(crate) fn verb_and_rest(op: &str) -> (&str, &str) {
    let end = [op.find('('), op.find(" -> ")].into_iter().flatten().min().unwrap_or(op.len());
    op.split_at(end)
}

/// `waits for lock Mutex#1`, or what reads better for this op.
pub(crate) fn waits_for(trace: &Trace, waiting: &Waiting) -> String {
    match (waiting.held_by.as_slice(), waiting.object) {
        ([(joined, _)], _) if is_join(waiting) => {
            format!("waits to join {}", label(trace, *joined))
        }
        (_, Some(object)) if waiting.op.starts_with("wait") => {
            format!("waits on {}", clean(&trace.object_label(object)))
        }
        (_, Some(_)) => format!("waits for {}", op_on_object(trace, &waiting.op, waiting.object)),
        (_, None) => format!("waits in {}", clean(&waiting.op)),
    }
}

/// The same with its holders, for a lane, where names are not broken:
/// `waits for lock Mutex#1 held by thread 2`.
pub(crate) fn waits_for_in_lane(trace: &Trace, waiting: &Waiting) -> String {
    let whole = |task: u32| label(trace, task).replace(' ', NO_BREAK);
    let holders: Vec<_> = waiting.held_by.iter().map(|&(task, _)| whole(task)).collect();
    let holders = holders.join(", ");
    match waiting.held_by.len() {
        0 => waits_for(trace, waiting),
        1 if is_join(waiting) => format!("waits to join {holders}"),
        _ => format!("{} held by {holders}", waits_for(trace, waiting)),
    }
}

/// A sentence for each waiting task, then the cycle if there is one.
pub(crate) fn explain(trace: &Trace, waiting: &[Waiting]) -> Vec<String> {
    let mut lines: Vec<_> = waiting.iter().map(|one| sentence(trace, waiting, one)).collect();
    match cycle(waiting).as_deref() {
        Some([alone]) => lines.push(format!("{} waits for itself", label(trace, *alone))),
        Some(tasks) => {
            let names: Vec<_> =
                tasks.iter().chain(tasks.first()).map(|&task| label(trace, task)).collect();
            lines.push(format!("cycle: {}", names.join(" -> ")));
        }
        None => {}
    }
    lines
}

fn sentence(trace: &Trace, waiting: &[Waiting], one: &Waiting) -> String {
    let mut parts = vec![label(trace, one.task), waits_for(trace, one)];
    let site = place(&one.site, usize::MAX);
    if !site.is_empty() {
        parts.push(format!("at {site}"));
    }
    let text = parts.join(" ");
    if is_join(one) {
        return text;
    }
    // Nothing can move, so a task that does not wait has ended.
    let has_ended = |task: u32| waiting.iter().all(|other| other.task != task);
    let holder = |&(task, ref since): &(u32, Option<Site>)| {
        let since = since.as_ref().map(|site| format!(" since {}", place(site, usize::MAX)));
        let ended = if has_ended(task) { " (which has ended)" } else { "" };
        format!("{}{}{ended}", label(trace, task), since.unwrap_or_default())
    };
    match one.held_by.iter().map(holder).collect::<Vec<_>>().join(" and ").as_str() {
        "" => format!("{text}, and no task is left that could let it go on"),
        holders => format!("{text}, held by {holders}"),
    }
}

/// The shortest cycle of tasks that wait for each other; of several, one with the first task.
pub(crate) fn cycle(waiting: &[Waiting]) -> Option<Vec<u32>> {
    waiting.iter().filter_map(|one| cycle_through(waiting, one.task)).min_by_key(Vec::len)
}

fn cycle_through(waiting: &[Waiting], start: u32) -> Option<Vec<u32>> {
    let mut reached_from: BTreeMap<u32, u32> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(task) = queue.pop_front() {
        let holders = waiting.iter().filter(|one| one.task == task).flat_map(|one| &one.held_by);
        for &(holder, _) in holders {
            if holder == start {
                let mut path = vec![task];
                while let Some(&before) = path.last().and_then(|last| reached_from.get(last)) {
                    path.push(before);
                }
                path.reverse();
                return Some(path);
            }
            if let Entry::Vacant(entry) = reached_from.entry(holder) {
                entry.insert(task);
                queue.push_back(holder);
            }
        }
    }
    None
}

/// Whether it waits for the end of another task.
pub(crate) fn is_join(waiting: &Waiting) -> bool {
    waiting.op == "join" && waiting.held_by.len() == 1
}

fn label(trace: &Trace, task: u32) -> String {
    clean(&trace.task_label(task))
}

#[cfg(test)]
mod tests {
    use raddle_trace::ObjectName;

    use super::*;

    fn waiting(edges: &[(u32, &[u32])]) -> Vec<Waiting> {
        let one = |&(task, holders): &(u32, &[u32])| Waiting {
            task,
            op: "lock".to_owned(),
            object: None,
            site: Site::default(),
            held_by: holders.iter().map(|&holder| (holder, None)).collect(),
        };
        edges.iter().map(one).collect()
    }

    #[test]
    fn the_object_stands_between_an_op_and_its_arguments() {
        let kind = "AtomicU8".to_owned();
        let name = Some("counter".into());
        let counter = ObjectName { kind, created: Site::default(), name, nth: 0, variable: None };
        let trace = Trace { objects: vec![counter], ..Trace::default() };
        let shown = |op: &str| op_on_object(&trace, op, Some(0));
        assert_eq!(shown("lock"), "lock counter");
        assert_eq!(shown("load -> Some(3)"), "load counter -> Some(3)");
        assert_eq!(shown("swap(1) -> 0"), "swap counter (1) -> 0");
        assert_eq!(op_on_object(&trace, "choose(3) -> 1", None), "choose(3) -> 1");
    }

    #[test]
    fn the_shortest_cycle_is_named() {
        assert_eq!(cycle(&waiting(&[(0, &[1]), (1, &[2])])), None);
        assert_eq!(cycle(&waiting(&[(0, &[0])])), Some(vec![0]));
        assert_eq!(cycle(&waiting(&[(0, &[1]), (1, &[2]), (2, &[3, 1])])), Some(vec![1, 2]));
        assert_eq!(cycle(&waiting(&[(5, &[7]), (7, &[6]), (6, &[5])])), Some(vec![5, 7, 6]));
    }
}
