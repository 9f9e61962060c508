//! What the races of an execution ask for: at which decision of the current path, and which tasks could move
//! there instead to reverse the race.

use raddle_engine::dependence::Footprint;
use raddle_engine::happens::History;
use raddle_engine::op::{Access, ObjectId, TaskId};
use raddle_engine::strategy::Stuck;

use super::comparison::Site;
use super::path_points::PathPoint;
use crate::races::{Instead, Later, Ops, RaceFinder, Reversal};

/// What one race asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    /// The decision which led to the first step.
    pub(super) at: u32,
    /// The task of the second one; none if it was no scheduling point.
    pub(super) racing: Option<TaskId>,
    /// The first step gave a lock back, and that is all that it had in common with the second.
    pub(super) releases: bool,
    /// Where the two steps stand in the source, the one that came first first.
    pub(super) sites: [Site; 2],
    /// The tasks that can begin a sequence which reverses the race: from here on, so many.
    initials: (u32, u32),
}

/// Finds openings, and holds those of the last execution.
#[derive(Debug, Default)]
pub(super) struct Openings {
    finder: RaceFinder,
    reversal: Reversal,
    all: Vec<Opening>,
    initials: Vec<TaskId>,
}

impl Openings {
    pub(super) fn all(&self) -> &[Opening] {
        &self.all
    }

    pub(super) fn initials(&self, opening: &Opening) -> &[TaskId] {
        &self.initials[opening.initials.0 as usize..][..opening.initials.1 as usize]
    }

    /// Finds what the races of the events from `from` on ask for. `sequences`: also who can begin the
    /// sequences that reverse them; a race for which there is none is left out then.
    pub(super) fn find(
        &mut self,
        history: &mut History,
        (points, sites): (&[PathPoint], &[Site]),
        (from, instead, stuck): (usize, &[(u32, Instead)], &[Stuck]),
        sequences: bool,
    ) {
        let Self { finder, reversal, all, initials } = self;
        all.clear();
        initials.clear();
        finder.find(history, Ops { from, instead, stuck }, None, |history, first, later| {
            let Some(at) = decision_of(points, first) else { return };
            let before = initials.len() as u32;
            if sequences {
                // On a copy: what the later op would be where it comes earlier matters to the sequence, not to what is noted below. What
                // it would do there is not known, since points keep no accesses, so it is taken at its widest.
                if !reversal.find(history, first, &mut { *later }, |_, _| None) {
                    return;
                }
                initials.extend_from_slice(&reversal.initials);
            }
            all.push(Opening {
                at,
                // A join that ran on could not have been chosen, so there is no task to prefer.
                racing: later.step.map(|step| step.task),
                sites: [sites[first], site_of(later, first, sites, stuck)],
                releases: is_about_release(&history.event(first).footprint, later),
                initials: (before, initials.len() as u32 - before),
            });
        });
    }
}

/// Where the later op of a race stands: its event, or the one that came instead, or what is stuck; and if it is the timer
/// of that, where the `first` step does.
fn site_of(later: &Later, first: usize, sites: &[Site], stuck: &[Stuck]) -> Site {
    let waits = |task| stuck.iter().find(|stuck| stuck.task == task).map(|stuck| stuck.site);
    let of_stuck = || later.step.and_then(|step| waits(step.task));
    sites.get(later.index).copied().or_else(of_stuck).unwrap_or(sites[first])
}

/// The decision which led to an event; none if there was no choice.
fn decision_of(points: &[PathPoint], event: usize) -> Option<u32> {
    let at = points.partition_point(|point| (point.event as usize) < event);
    // Values decided before the step stand at the same event.
    (at..points.len())
        .take_while(|&at| points[at].event as usize == event)
        .find(|&at| !points[at].value)
        .map(|at| at as u32)
}

/// Whether all that the first step of a race has in common with the second is that it gave a lock back. A
/// wait on a condition does that too, but a race for the notification is another matter.
fn is_about_release(first: &Footprint, later: &Later) -> bool {
    let meets = |object: ObjectId| match &later.step {
        Some(step) => step.touched.iter().any(|(other, _)| *other == object),
        // Of an op that was no scheduling point it is not known what it would touch: take it to meet everything.
        None => true,
    };
    let common =
        first.touched.iter().filter(|(object, _)| *object != ObjectId::NONE && meets(*object));
    let mut gives_back =
        common.map(|(_, access)| matches!(access, Access::Release | Access::Unshare)).peekable();
    gives_back.peek().is_some() && gives_back.all(|gives_back| gives_back)
}
