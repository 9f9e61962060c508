//! What is said of a data race, and of locks taken in orders that could deadlock.

use raddle_trace::{
    CellAccess, CellOp, DataRace, Lasted, Missing, Nested, ObjectName, Site, Trace,
};

use crate::columns::{clean, place};

/// `writes total`, or `writes the Tracked from src/lib.rs:5`, for a lane.
pub(crate) fn access_in_lane(race: &DataRace, access: &CellAccess) -> String {
    let cell = race.cell.variable.as_ref().filter(|_| race.cell.name.is_none());
    let cell = cell.map_or_else(|| object(&race.cell), |variable| clean(variable));
    format!("{} {cell}", verb(access.op))
}

/// A line for each access, a sentence on what is missing, and one on what to do.
pub(crate) fn explain(trace: &Trace, race: &DataRace) -> Vec<String> {
    let line = |access: &CellAccess| {
        let who = label(trace, access.task);
        let (lasted, locks) = (lasted(access), held(trace, access));
        let (verb, cell) = (verb(access.op), object(&race.cell));
        format!("{who} {verb} {cell}{}{lasted}, {locks}", at(&access.site))
    };
    vec![line(&race.first), line(&race.second), missing(trace, race), remedy(race)]
}

fn verb(op: CellOp) -> &'static str {
    match op {
        CellOp::Make => "makes",
        CellOp::Read => "reads",
        CellOp::Write => "writes",
    }
}

/// The name of an object, or its variable, what it is and where it comes from.
fn object(object: &ObjectName) -> String {
    if let Some(name) = &object.name {
        return clean(name);
    }
    let from = place(&object.created, usize::MAX);
    let from = if from.is_empty() { from } else { format!(" from {from}") };
    let what = format!("the {}{from}", clean(&object.kind));
    match &object.variable {
        Some(variable) => format!("{} ({what})", clean(variable)),
        None => what,
    }
}

fn at(site: &Site) -> String {
    let site = place(site, usize::MAX);
    if site.is_empty() { site } else { format!(" at {site}") }
}

fn label(trace: &Trace, task: u32) -> String {
    clean(&trace.task_label(task))
}

fn held(trace: &Trace, access: &CellAccess) -> String {
    let lock = |lock: &raddle_trace::HeldLock| {
        format!("{} (taken{})", clean(&trace.object_label(lock.object)), at(&lock.taken))
    };
    match access.locks.iter().map(lock).collect::<Vec<_>>().as_slice() {
        [] => "holding no lock".to_owned(),
        locks => format!("holding {}", locks.join(" and ")),
    }
}

/// Between which steps an access lasted, if there were any.
fn lasted(access: &CellAccess) -> String {
    match access.lasted {
        None => String::new(),
        Some(Lasted { from, to: Some(to) }) => format!(", from step {from} to step {to}"),
        Some(Lasted { from, to: None }) => format!(", since step {from}"),
    }
}

/// The sentence on the edge that is not there.
fn missing(trace: &Trace, race: &DataRace) -> String {
    let (first, second) = (label(trace, race.first.task), label(trace, race.second.task));
    match &race.missing {
        Missing::End => {
            format!("missing: the access of {first} has not ended, it is still inside the closure")
        }
        Missing::Ordering { object, written, releases, read, acquires } => {
            let object = clean(&trace.object_label(*object));
            let (written, read) = (at(written), at(read));
            let weak = match (releases, acquires) {
                (true, _) => "that load does not acquire",
                (_, true) => "that write does not release",
                _ => "that write does not release and that load does not acquire",
            };
            format!(
                "missing: {second} has loaded {object}{read}, and sees what was written{written} \
                 after the access of {first}, but {weak}"
            )
        }
        _ => {
            // What was released while it went on does not count.
            let until = match race.first.lasted {
                Some(Lasted { to: Some(to), .. }) => format!("the end of its access in step {to}"),
                _ => "its access".to_owned(),
            };
            format!(
                "missing: {second} has acquired nothing that {first} released after {until}, by a \
                 lock, an atomic, a channel, a join or otherwise"
            )
        }
    }
}

/// What to do about it.
fn remedy(race: &DataRace) -> String {
    match &race.missing {
        Missing::End => "to do: end the access before the data is handed on".to_owned(),
        Missing::Ordering { releases, acquires, .. } => {
            let orderings = match (releases, acquires) {
                (true, _) => "Ordering::Acquire for the load",
                (_, true) => "Ordering::Release for the write",
                _ => "Ordering::Release for the write and Ordering::Acquire for the load",
            };
            format!("to do: use {orderings}, or a lock around both accesses")
        }
        _ => "to do: hold one lock at both accesses, or let the second task wait for the first: \
              join it, receive from it, or load with Ordering::Acquire what it stores with \
              Ordering::Release"
            .to_owned(),
    }
}

/// A line for each acquisition of a cycle.
pub(crate) fn cycle(cycle: &[Nested]) -> Vec<String> {
    let lock = |lock: &ObjectName| {
        let several = cycle.iter().any(|nested| {
            [&nested.held, &nested.taken].iter().any(|other| {
                other.kind == lock.kind && other.created == lock.created && other.nth != lock.nth
            })
        });
        let nth =
            if several { format!(" (#{})", lock.nth.saturating_add(1)) } else { String::new() };
        format!("{}{nth}", object(lock))
    };
    let line = |nested: &Nested| {
        format!(
            "{} held {}, taken{}, and took {}{}",
            clean(&nested.task),
            lock(&nested.held),
            at(&nested.held_at),
            lock(&nested.taken),
            at(&nested.taken_at),
        )
    };
    cycle.iter().map(line).collect()
}
