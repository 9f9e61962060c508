//! What the arrows of a page stand for: which steps had to come before which, and by what.

use std::collections::{BTreeMap, BTreeSet};

use raddle_trace::{Event, Trace};

use crate::order::Order;
use crate::shown_at::UNLOCK;
use crate::waits::verb_and_rest;

/// Why a step had to come before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Two accesses to one object that do not commute.
    Order = 0,
    /// What was done before the first is seen after the second: a release and an acquire. Locks, channels, the
    /// start and the end of threads.
    HandsOver = 1,
    /// A notification and who wakes by it.
    Wakes = 2,
}

/// For each step those of other tasks that come directly before it, and of which kind that is.
pub(super) fn edges(trace: &Trace, order: &Order) -> Vec<Vec<(u32, Kind)>> {
    let wakers = wakers(trace);
    let first = first_steps(trace);
    let all = order.after.iter().enumerate().map(|(step, before)| {
        let mut steps: BTreeSet<u32> = before.iter().copied().collect();
        // Whoever notifies under the lock unlocks it afterwards, and the relation without what follows from
        // the rest has only the unlock.
        steps.extend(wakers.get(&step));
        let is_first = first.contains(&step);
        steps.into_iter().map(|before| (before, kind(trace, before, step, is_first))).collect()
    });
    all.collect()
}

/// The first step of each task.
fn first_steps(trace: &Trace) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let mut first = BTreeSet::new();
    for (step, event) in trace.events.iter().enumerate() {
        if seen.insert(event.task) {
            first.insert(step);
        }
    }
    first
}

fn kind(trace: &Trace, before: u32, step: usize, is_first: bool) -> Kind {
    let (Some(a), Some(b)) = (trace.events.get(before as usize), trace.events.get(step)) else {
        return Kind::Order;
    };
    let ((gives, gave), (takes, took)) = (verb_and_rest(&a.op), verb_and_rest(&b.op));
    let same = a.object.is_some() && a.object == b.object;
    let kind_of = |event: &Event| {
        let object = event.object.and_then(|object| trace.objects.get(object as usize));
        object.map_or("", |object| object.kind.as_str())
    };
    if same && (is_notify(a) && takes == "wake" || gives == "unpark" && takes == "park") {
        return Kind::Wakes;
    }
    let done = |rest: &str| rest.is_empty() || rest == " -> Ok";
    let releases = gives == UNLOCK || gives == "downgrade" || is_wait(a, kind_of(a));
    let takes_lock =
        matches!(takes, "lock" | "read" | "write" | "try_lock" | "try_read" | "try_write")
            && done(took)
            || takes == "wake";
    // A wait and a wake act on a lock besides their condition variable, and the step does not say on which.
    let of_one_lock = same || is_wait(a, kind_of(a)) || takes == "wake";
    let sent = matches!(gives, "send" | "try_send")
        && done(gave)
        && matches!(takes, "recv" | "try_recv")
        && done(took);
    let joined = takes == "join";
    let spawned =
        is_first && !same && trace.tasks.get(b.task as usize).is_some_and(|t| t.parent == a.task);
    if releases && takes_lock && of_one_lock || sent && same || joined || spawned {
        Kind::HandsOver
    } else {
        Kind::Order
    }
}

fn is_notify(event: &Event) -> bool {
    event.op == "notify_one" || event.op.starts_with("notify_all")
}

/// Whether it begins to wait at a condition variable.
fn is_wait(event: &Event, kind: &str) -> bool {
    event.op == "wait" && kind == "Condvar"
}

/// Whether one who waits has been notified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Notified {
    No,
    By(u32),
    /// It or another.
    Perhaps,
}

/// For each wake the notification that it follows, where only one can have been it.
fn wakers(trace: &Trace) -> BTreeMap<usize, u32> {
    // By task: where it waits.
    let mut waiting: BTreeMap<u32, (u32, Notified)> = BTreeMap::new();
    let mut wakers = BTreeMap::new();
    for (step, event) in trace.events.iter().enumerate() {
        let now = Notified::By(step as u32);
        if event.op.starts_with("timeout of") {
            // The task of a timer belongs to the one that waits.
            let owner = trace.tasks.get(event.task as usize).map(|timer| timer.parent);
            owner.map(|owner| waiting.remove(&owner));
        }
        let Some(object) = event.object else { continue };
        let here = waiting.values_mut().filter(|(at, _)| *at == object).map(|(_, by)| by);
        match event.op.as_str() {
            "wait" => drop(waiting.insert(event.task, (object, Notified::No))),
            "wake" => {
                if let Some((_, Notified::By(waker))) = waiting.remove(&event.task) {
                    wakers.insert(step, waker);
                }
            }
            "notify_one" => {
                let left: Vec<_> = here.filter(|by| !matches!(by, Notified::By(_))).collect();
                let told = if left.len() == 1 { now } else { Notified::Perhaps };
                for by in left {
                    *by = told;
                }
            }
            _ if is_notify(event) => {
                here.filter(|by| **by == Notified::No).for_each(|by| *by = now);
            }
            _ => {}
        }
    }
    wakers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{event, object, threads};

    /// The edges of these steps: `0>1 HandsOver`.
    fn told(
        kinds: &[&str],
        steps: &[(u32, &str, Option<u32>, u32)],
        after: &[&[u32]],
    ) -> Vec<String> {
        let mut trace = Trace {
            tasks: threads(3),
            objects: kinds.iter().map(|kind| object(kind, None, 5)).collect(),
            events: steps.iter().copied().map(event).collect(),
            ..Trace::default()
        };
        for (event, after) in trace.events.iter_mut().zip(after) {
            event.after = Some(after.to_vec());
        }
        let order = Order::of(&trace);
        assert!(order.exact);
        let all = edges(&trace, &order).into_iter().enumerate();
        all.flat_map(|(to, from)| from.into_iter().map(move |(from, kind)| (from, to, kind)))
            .map(|(from, to, kind)| format!("{from}>{to} {kind:?}"))
            .collect()
    }

    #[test]
    fn an_unlock_hands_over_and_a_store_is_only_before() {
        let steps = [
            (1, "lock", Some(0), 1),
            (1, "store(1)", Some(1), 2),
            (1, "unlock", Some(0), 1),
            (2, "try_lock -> WouldBlock", Some(0), 3),
            (2, "lock", Some(0), 3),
            (3, "store(2)", Some(1), 4),
        ];
        let after: [&[u32]; 6] = [&[], &[], &[], &[0], &[2], &[1]];
        assert_eq!(
            told(&["Mutex", "AtomicU8"], &steps, &after),
            ["0>3 Order", "2>4 HandsOver", "1>5 Order"]
        );
    }

    #[test]
    fn a_notification_leads_to_its_wake_though_an_unlock_came_between() {
        let steps = [
            (1, "lock", Some(0), 1),
            (1, "wait", Some(1), 2),
            (2, "lock", Some(0), 3),
            (2, "notify_one", Some(1), 4),
            (2, "unlock", Some(0), 3),
            (1, "wake", Some(1), 2),
        ];
        let after: [&[u32]; 6] = [&[], &[], &[1], &[], &[], &[4]];
        assert_eq!(
            told(&["Mutex", "Condvar"], &steps, &after),
            ["1>2 HandsOver", "3>5 Wakes", "4>5 HandsOver"]
        );
    }

    #[test]
    fn who_was_notified_of_two_is_not_guessed() {
        let steps = [
            (1, "wait", Some(0), 1),
            (2, "wait", Some(0), 1),
            (3, "notify_one", Some(0), 2),
            (3, "notify_all -> wakes 1", Some(0), 3),
            (1, "wake", Some(0), 1),
        ];
        let none: [&[u32]; 5] = [&[]; 5];
        assert_eq!(told(&["Condvar"], &steps, &none), Vec::<String>::new());
        let all = [steps[0], steps[1], (3, "notify_all -> wakes 2", Some(0), 3), steps[4]];
        assert_eq!(told(&["Condvar"], &all, &none[1..]), ["2>3 Wakes"]);
    }

    #[test]
    fn threads_are_handed_what_came_before_their_start_and_hand_over_at_their_end() {
        let steps =
            [(0, "store(1)", Some(0), 1), (1, "load -> 1", Some(1), 2), (0, "join", Some(2), 3)];
        let after: [&[u32]; 3] = [&[], &[0], &[1]];
        assert_eq!(
            told(&["AtomicU8", "AtomicU8", "thread"], &steps, &after),
            ["0>1 HandsOver", "1>2 HandsOver"]
        );
    }
}
