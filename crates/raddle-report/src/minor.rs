//! Which steps of an execution cannot have led to its failure, so that they need not be read.
//!
//! Three kinds: an unlock that let no other task go on; what came after the failure; all of a task on whose
//! steps nothing depends that led to the failure. Preemptions are never among them.
//!
//! Misses: most steps that do not matter. What is hidden is decided by happens-before: state that tasks
//! share outside of raddle's types is not seen, so all steps can be had on request.

use std::collections::{BTreeMap, BTreeSet};

use raddle_trace::{Outcome, Raised, Trace};

use crate::columns::{clean, count};
use crate::order::Order;
use crate::shown_at::UNLOCK;

/// Fewer steps than this are not worth a line that says that they are hidden.
const WORTH_HIDING: usize = 3;
/// More tasks than this are not named.
const NAMED_TASKS: usize = 3;

/// Why a step need not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Minor {
    /// An unlock after which no other task went on that had waited.
    Unlock,
    /// It came after the failure.
    After,
    /// No step that led to the failure depends on its task.
    Apart,
}

/// The steps that are hidden unless they are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hidden {
    /// For each step.
    steps: Vec<Option<Minor>>,
}

impl Hidden {
    /// None.
    pub(crate) fn nothing() -> Self {
        Self::default()
    }

    /// What can be hidden of an execution, apart from the steps of which something else is said.
    pub(crate) fn of(trace: &Trace, outcome: &Outcome, told: &BTreeSet<u32>) -> Self {
        let order = Order::of(trace);
        let mut steps = vec![None; trace.events.len()];
        // Without the order it is not known who waited, and on what anything depends.
        if !order.exact {
            return Self::nothing();
        }
        let end = first_panic(trace, outcome);
        let apart = apart(trace, outcome, &order, end);
        let waited_for = waited_for(trace, &order);
        for (index, (step, event)) in steps.iter_mut().zip(&trace.events).enumerate() {
            *step = if event.preempts || told.contains(&(index as u32)) {
                None
            } else if index >= end {
                Some(Minor::After)
            } else if apart.contains(&event.task) {
                Some(Minor::Apart)
            } else if event.op == UNLOCK && !waited_for.contains(&(index as u32)) {
                Some(Minor::Unlock)
            } else {
                None
            };
        }
        let n_hidden = steps.iter().flatten().count();
        // Something must be left to look at.
        if n_hidden < WORTH_HIDING || n_hidden == steps.len() {
            return Self::nothing();
        }
        Self { steps }
    }

    /// Why a step is hidden, if it is.
    pub(crate) fn why(&self, step: usize) -> Option<Minor> {
        self.steps.get(step).copied().flatten()
    }

    /// What is hidden: `12 unlocks that let no other task go on, 5 steps after the failure`. None if
    /// nothing is.
    pub(crate) fn said(&self, trace: &Trace) -> Option<String> {
        let number = |kind: Minor| {
            let of_kind = self.steps.iter().filter(|step| **step == Some(kind));
            of_kind.count() as u64
        };
        let mut parts = Vec::new();
        match number(Minor::Unlock) {
            0 => {}
            n => parts.push(format!("{} that let no other task go on", count(n, "unlock"))),
        }
        match number(Minor::Apart) {
            0 => {}
            n => parts.push(format!(
                "{} of {}, on which nothing depends that led to the failure",
                count(n, "step"),
                self.tasks_apart(trace)
            )),
        }
        match number(Minor::After) {
            0 => {}
            n => parts.push(format!("{} after the failure", count(n, "step"))),
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    fn tasks_apart(&self, trace: &Trace) -> String {
        let steps = self.steps.iter().zip(&trace.events);
        let tasks: BTreeSet<u32> = steps
            .filter(|(step, _)| **step == Some(Minor::Apart))
            .map(|(_, event)| event.task)
            .collect();
        if tasks.len() > NAMED_TASKS {
            return format!("{} tasks", tasks.len());
        }
        let names: Vec<_> = tasks.iter().map(|&task| clean(&trace.task_label(task))).collect();
        names.join(" and ")
    }
}

/// The number of steps before the panic to look at; all if there is none. Where the trace does not say when it was, it
/// is taken from who unwinds.
fn first_panic(trace: &Trace, outcome: &Outcome) -> usize {
    let events = &trace.events;
    let Outcome::Panicked { panics, .. } = outcome else { return events.len() };
    let is_first = |raised: &&Raised| panics.first() == Some(&raised.panic);
    if let Some(raised) = trace.panics.iter().find(is_first) {
        return raised.step as usize;
    }
    let began = |task: u32| {
        // A trace of an earlier version does not say when; the last step of the task was not later.
        Some(events.iter().rposition(|event| event.task == task)? + 1)
    };
    let panics = panics.iter().map(|panic| panic.task);
    panics.filter_map(began).min().unwrap_or(events.len())
}

/// Unlocks after which another task went on that had waited: its step before is further back than the unlock.
fn waited_for(trace: &Trace, order: &Order) -> BTreeSet<u32> {
    let mut last: BTreeMap<u32, u32> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for (index, event) in (0..).zip(&trace.events) {
        let before = last.insert(event.task, index);
        // A join waits for the end of a task, which comes after its last step and is no step itself.
        if event.op == "join" {
            continue;
        }
        let releases = order.after[index as usize].iter().filter(|&&step| {
            trace.events[step as usize].op == UNLOCK && before.is_none_or(|before| before < step)
        });
        found.extend(releases);
    }
    found
}

/// The tasks that moved, without a step on which something depends that led to the failure.
fn apart(trace: &Trace, outcome: &Outcome, order: &Order, end: usize) -> BTreeSet<u32> {
    let failed: BTreeSet<u32> = match outcome {
        // What followed is part of the story.
        Outcome::Panicked { then: Some(_), .. } => return BTreeSet::new(),
        Outcome::Panicked { panics, .. } => panics.iter().map(|panic| panic.task).collect(),
        Outcome::Deadlock { waiting } => {
            let holders = waiting.iter().flat_map(|one| one.held_by.iter().map(|(task, _)| *task));
            waiting.iter().map(|one| one.task).chain(holders).collect()
        }
        Outcome::DataRace(race) => [race.first.task, race.second.task].into(),
        _ => return BTreeSet::new(),
    };
    let events = &trace.events[..end];
    let mut led: Vec<bool> = events.iter().map(|event| failed.contains(&event.task)).collect();
    // Backwards: what a step depends on is earlier, in its own task or by `after`.
    let mut tasks = failed;
    for index in (0..events.len()).rev() {
        led[index] |= tasks.contains(&events[index].task);
        if led[index] {
            tasks.insert(events[index].task);
            for &step in &order.after[index] {
                led[step as usize] = true;
            }
        }
    }
    let preempting = events.iter().filter(|event| event.preempts).map(|event| event.task);
    tasks.extend(preempting);
    events.iter().map(|event| event.task).filter(|task| !tasks.contains(task)).collect()
}

#[cfg(test)]
mod tests {
    use raddle_trace::Event;

    use super::*;
    use crate::samples::{event, object, panic, threads};

    /// Steps as `(task, op, object, after)`; main panics.
    fn hidden(steps: &[(u32, &str, u32, &[u32])]) -> (Trace, Hidden) {
        let events = steps.iter().map(|&(task, op, object, after)| Event {
            after: Some(after.to_vec()),
            ..event((task, op, Some(object), 1))
        });
        let trace = Trace {
            tasks: threads(3),
            objects: vec![object("Mutex", None, 1), object("Mutex", None, 2)],
            events: events.collect(),
            ..Trace::default()
        };
        let outcome = Outcome::Panicked { panics: vec![panic(0, "no", 9)], then: None };
        let hidden = Hidden::of(&trace, &outcome, &BTreeSet::new());
        (trace, hidden)
    }

    fn shown(hidden: &Hidden, n_steps: usize) -> Vec<usize> {
        (0..n_steps).filter(|&step| hidden.why(step).is_none()).collect()
    }

    #[test]
    fn an_unlock_is_hidden_unless_it_let_a_task_go_on_that_had_waited() {
        let (trace, hidden) = hidden(&[
            (1, "lock", 0, &[]),
            (2, "load -> 0", 1, &[]),
            // Thread 2 has waited since step 1.
            (1, "unlock", 0, &[]),
            (2, "lock", 0, &[2]),
            (2, "unlock", 0, &[]),
            // Thread 1 comes only now.
            (1, "store(1)", 1, &[1]),
            (1, "lock", 0, &[4]),
            (1, "unlock", 0, &[]),
            (0, "lock", 0, &[7]),
            (0, "unlock", 0, &[]),
            (0, "lock", 0, &[]),
            (0, "unlock", 0, &[]),
        ]);
        // Main had not moved before, so it may have waited for step 7.
        assert_eq!(shown(&hidden, 12), [0, 1, 2, 3, 5, 6, 7, 8, 10]);
        let said = "3 unlocks that let no other task go on";
        assert_eq!(hidden.said(&trace).as_deref(), Some(said));
    }

    #[test]
    fn what_comes_after_the_panic_is_hidden() {
        let (trace, hidden) = hidden(&[
            (0, "lock", 0, &[]),
            (1, "lock", 1, &[]),
            (1, "unlock", 1, &[]),
            (1, "lock", 1, &[]),
            (1, "unlock", 1, &[]),
        ]);
        assert_eq!(shown(&hidden, 5), [0]);
        assert_eq!(hidden.said(&trace).as_deref(), Some("4 steps after the failure"));
    }

    #[test]
    fn a_task_on_which_nothing_depends_is_hidden() {
        let (trace, hidden) = hidden(&[
            (1, "lock", 0, &[]),
            (3, "store(1)", 1, &[]),
            (3, "store(2)", 1, &[]),
            (3, "store(3)", 1, &[]),
            (2, "load -> 1", 0, &[0]),
            (0, "join", 0, &[4]),
        ]);
        assert_eq!(shown(&hidden, 6), [0, 4, 5]);
        let said = "3 steps of thread 3, on which nothing depends that led to the failure";
        assert_eq!(hidden.said(&trace).as_deref(), Some(said));
    }

    #[test]
    fn preemptions_and_steps_that_are_told_of_are_shown() {
        let steps = [(0, "lock", 0, &[][..]), (0, "unlock", 0, &[])].repeat(4);
        let (mut trace, all) = hidden(&steps);
        assert_eq!(shown(&all, 8), [0, 2, 4, 6]);
        trace.events[1].preempts = true;
        let outcome = Outcome::Panicked { panics: vec![panic(0, "no", 9)], then: None };
        let shown_with =
            |told: &[u32]| shown(&Hidden::of(&trace, &outcome, &told.iter().copied().collect()), 8);
        assert_eq!(shown_with(&[]), [0, 1, 2, 4, 6]);
        assert_eq!(shown_with(&[3]), [0, 1, 2, 3, 4, 5, 6, 7], "two are not worth a line");
    }

    #[test]
    fn without_the_order_of_steps_nothing_is_hidden() {
        let (mut trace, _) = hidden(&[(0, "lock", 0, &[]), (0, "unlock", 0, &[])]);
        trace.events = (0..4).flat_map(|_| trace.events.clone()).collect();
        trace.events[0].after = None;
        let outcome = Outcome::Panicked { panics: vec![panic(0, "no", 9)], then: None };
        assert_eq!(Hidden::of(&trace, &outcome, &BTreeSet::new()), Hidden::nothing());
    }
}
