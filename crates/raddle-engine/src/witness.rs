//! The steps of one execution, to compare another one with that takes the same decisions.
//!
//! A search relies on that the same decisions lead to the same steps. Where an execution begins like the one
//! before, the two are compared as it runs; a test with no choice is never repeated, and a sampler repeats
//! nothing. So a few executions of each search are run twice, and compared here: who moved, where, and what
//! the step did to which object.
//!
//! Misses: what differs in values alone, such as addresses that are stored in an atomic; what differs after
//! the first [`MOST_STEPS`]; and what differs only in executions that are not run twice.

use std::panic::Location;

use raddle_trace::{Divergence, Note, Site};

use crate::op::{Access, ObjectId, TaskId};
use crate::stopwatch::{Stopwatch, Timing};

/// So many steps are kept, of some hundred bytes each.
pub(crate) const MOST_STEPS: usize = 1 << 16;

/// A step as it was seen.
#[derive(Debug)]
struct Step {
    task: TaskId,
    touched: (ObjectId, Access),
    site: &'static Location<'static>,
    /// Who did what where, for people.
    text: String,
}

impl Step {
    fn is_like(&self, other: &Self) -> bool {
        (self.task, self.touched, self.site) == (other.task, other.touched, other.site)
    }
}

/// Keeps the steps of the first execution, and compares those of the second.
#[derive(Debug, Default)]
pub(crate) struct Witness {
    steps: Vec<Step>,
    /// In the second execution: how many steps it has taken.
    again: Option<usize>,
    difference: Option<Divergence>,
    /// If time is measured.
    timing: Option<Timing>,
}

impl Witness {
    /// Of an execution that begins.
    pub(crate) fn new(watch: Option<Stopwatch>) -> Self {
        Self { timing: watch.map(Timing::new), ..Self::default() }
    }

    /// What comes now is the second execution.
    pub(crate) fn compare(&mut self) {
        if let Some(timing) = &mut self.timing {
            timing.first(self.steps.len());
            timing.again();
        }
        self.again = Some(0);
    }

    /// Where both executions waited for something outside of raddle, if they did. After the second one.
    pub(crate) fn waited(&mut self) -> Option<Note> {
        let (timing, at) = (self.timing.as_mut()?, self.again?);
        timing.second(at);
        let (n_before, waited_ns) = timing.waited()?;
        let place = |step: &Step| Site {
            file: step.site.file().to_owned(),
            line: step.site.line(),
            column: step.site.column(),
        };
        let (before, after) = self.steps.split_at(n_before.min(self.steps.len()));
        // What runs after a step is the code of its task, up to the next step of that.
        let next = match before.last() {
            Some(last) => after.iter().find(|step| step.task == last.task),
            None => after.first(),
        };
        Some(Note::WaitsOutside {
            us: waited_ns / 1_000,
            after: before.last().map(place),
            before: next.map(place),
        })
    }

    /// Whether it has heard of as many steps as it keeps.
    pub(crate) fn is_full(&self) -> bool {
        self.again.unwrap_or(self.steps.len()) == MOST_STEPS
    }

    /// Hears of a step, unless it is full. `decisions`: how many were taken so far.
    pub(crate) fn step(
        &mut self,
        task: TaskId,
        touched: (ObjectId, Access),
        site: &'static Location<'static>,
        text: String,
        decisions: usize,
    ) {
        let step = Step { task, touched, site, text };
        let Some(at) = self.again else {
            if let Some(timing) = &mut self.timing {
                timing.first(self.steps.len());
            }
            self.steps.push(step);
            return;
        };
        self.again = Some(at + 1);
        if let Some(timing) = &mut self.timing {
            timing.second(at);
        }
        if self.difference.is_some() {
            return;
        }
        let expected = self.steps.get(at);
        if expected.is_none_or(|expected| !expected.is_like(&step)) {
            self.difference = Some(difference(at, decisions, expected, Some(&step)));
        }
    }

    /// The first step of the second execution that was another one, if there was one.
    pub(crate) fn difference(self) -> Option<Divergence> {
        self.difference
    }

    /// The same, or the step that is missing in the second execution, which is over after so many decisions.
    pub(crate) fn end(self, decisions: usize) -> Option<Divergence> {
        let at = self.again?;
        self.difference.or_else(|| {
            let missing = self.steps.get(at)?;
            Some(difference(at, decisions, Some(missing), None))
        })
    }
}

fn difference(
    at: usize,
    decisions: usize,
    expected: Option<&Step>,
    found: Option<&Step>,
) -> Divergence {
    let say = |step: Option<&Step>| {
        step.map_or("the end of the execution".to_owned(), |step| step.text.clone())
    };
    let (expected, found) = (say(expected), say(found));
    Divergence { step: at as u64, decision: decisions as u32, expected, found }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: (ObjectId, Access) = (ObjectId(1), Access::Acquire);
    const UNLOCK: (ObjectId, Access) = (ObjectId(1), Access::Release);

    /// What is said of these steps after those.
    fn compared(
        first: &[(ObjectId, Access)],
        second: &[(ObjectId, Access)],
    ) -> Option<(u64, String, String)> {
        let mut witness = Witness::default();
        let site = Location::caller();
        for &touched in first {
            witness.step(TaskId::ROOT, touched, site, format!("{:?}", touched.1), 0);
        }
        witness.compare();
        for &touched in second {
            witness.step(TaskId::ROOT, touched, site, format!("{:?}", touched.1), 0);
        }
        let found = witness.end(0)?;
        Some((found.step, found.expected, found.found))
    }

    #[test]
    fn the_first_step_that_differs_is_named() {
        let end = "the end of the execution";
        let of =
            |step, expected: &str, found: &str| Some((step, expected.to_owned(), found.to_owned()));
        assert_eq!(compared(&[LOCK, UNLOCK], &[LOCK, UNLOCK]), None);
        assert_eq!(compared(&[LOCK, UNLOCK], &[LOCK, LOCK]), of(1, "Release", "Acquire"));
        assert_eq!(compared(&[LOCK, UNLOCK], &[LOCK]), of(1, "Release", end));
        assert_eq!(compared(&[LOCK], &[LOCK, UNLOCK, LOCK]), of(1, end, "Release"));
    }

    #[test]
    fn it_keeps_so_many_steps_and_no_more() {
        let mut witness = Witness::default();
        let site = Location::caller();
        for time in 0..2 {
            for _ in 0..MOST_STEPS {
                assert!(!witness.is_full());
                witness.step(TaskId::ROOT, LOCK, site, String::new(), 0);
            }
            assert!(witness.is_full());
            if time == 0 {
                witness.compare();
            }
        }
        assert_eq!(witness.end(0), None);
    }
}
