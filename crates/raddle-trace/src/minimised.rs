//! How small a failing execution is, and how small it was made.

use serde::{Deserialize, Serialize};

use crate::outcome::Outcome;
use crate::trace::Site;

/// How much there is to read in an execution. Smaller is what has less of the first that differs.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Size {
    /// Steps before which a task was left that could have gone on.
    pub preemptions: u32,
    /// Steps.
    pub steps: u64,
    /// Tasks, timers included.
    pub tasks: u64,
    /// Steps of another task than the step before.
    pub switches: u32,
    /// Values other than the first one.
    pub values: u32,
}

/// What was done to make a failing execution small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Minimised {
    /// What was found.
    pub from: Size,
    /// What it was made into.
    pub to: Size,
    /// Executions that this took.
    pub executions: u64,
    /// Whether no execution with fewer preemptions shows this failure.
    pub least: bool,
}

impl Minimised {
    /// How a failure was made small.
    #[must_use]
    pub fn new(from: Size, to: Size, executions: u64, least: bool) -> Self {
        Self { from, to, executions, least }
    }
}

impl Outcome {
    /// Whether two executions fail in the same way, whatever led there: panics at one place, deadlocks
    /// of tasks that wait at the same places, races of the same two places, stack overflows after the
    /// same operation, processes that ended by the same signal or code. Livelocks are all alike.
    ///
    /// ```
    /// use raddle_trace::Outcome;
    ///
    /// let livelock = |steps| Outcome::Livelock { spinning: vec![1], steps };
    /// assert!(livelock(10).is_like(&livelock(20)));
    /// assert!(!Outcome::Completed.is_like(&Outcome::Completed));
    /// ```
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Panicked { panics, .. }, Self::Panicked { panics: others, .. }) => {
                match (panics.first(), others.first()) {
                    (Some(a), Some(b)) if a.site.is_some() || b.site.is_some() => a.site == b.site,
                    (a, b) => a.map(|a| &a.message) == b.map(|b| &b.message),
                }
            }
            (Self::Deadlock { waiting }, Self::Deadlock { waiting: others }) => {
                let mut sites: Vec<&Site> = waiting.iter().map(|one| &one.site).collect();
                let mut theirs: Vec<&Site> = others.iter().map(|one| &one.site).collect();
                for sites in [&mut sites, &mut theirs] {
                    sites.sort_unstable();
                    sites.dedup();
                }
                sites == theirs
            }
            (Self::Livelock { .. }, Self::Livelock { .. }) => true,
            (Self::Died { death, .. }, Self::Died { death: other, .. }) => death == other,
            (Self::StackOverflow { site, .. }, Self::StackOverflow { site: other, .. }) => {
                site == other
            }
            (Self::DataRace(race), Self::DataRace(other)) => {
                let (a, b) = (&race.first.site, &race.second.site);
                let (c, d) = (&other.first.site, &other.second.site);
                race.cell.created == other.cell.created && ((a, b) == (c, d) || (a, b) == (d, c))
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Panic, Waiting};

    fn site(line: u32) -> Site {
        Site { file: "a.rs".to_owned(), line, column: 1 }
    }

    fn deadlock(lines: &[u32]) -> Outcome {
        let waiting = |&line: &u32| Waiting {
            task: line,
            op: "lock".to_owned(),
            object: None,
            site: site(line),
            held_by: Vec::new(),
        };
        Outcome::Deadlock { waiting: lines.iter().map(waiting).collect() }
    }

    fn panic(line: Option<u32>, message: &str) -> Outcome {
        let (message, site) = (message.to_owned(), line.map(site));
        Outcome::Panicked { panics: vec![Panic { task: 0, message, site }], then: None }
    }

    #[test]
    fn a_deadlock_is_known_by_the_places_and_not_by_how_many_wait_there() {
        assert!(deadlock(&[1, 2]).is_like(&deadlock(&[2, 1, 1])));
        assert!(!deadlock(&[1, 2]).is_like(&deadlock(&[1, 3])));
    }

    #[test]
    fn a_panic_is_known_by_its_place_or_else_by_what_it_says() {
        assert!(panic(Some(1), "left: 1").is_like(&panic(Some(1), "left: 2")));
        assert!(!panic(Some(1), "left: 1").is_like(&panic(Some(2), "left: 1")));
        assert!(panic(None, "a").is_like(&panic(None, "a")));
        assert!(!panic(None, "a").is_like(&panic(None, "b")));
        assert!(!panic(Some(1), "a").is_like(&deadlock(&[1])));
    }

    #[test]
    fn preemptions_weigh_more_than_steps_and_steps_more_than_tasks() {
        let size =
            |preemptions, steps, tasks| Size { preemptions, steps, tasks, ..Size::default() };
        assert!(size(1, 100, 9) < size(2, 10, 2));
        assert!(size(1, 10, 9) < size(1, 11, 2));
    }
}
