//! `random` with points that shuttle has and it lacks, and without one that only it has.
//!
//! A point more shows nothing new: where a task could be left between a spawn and its next operation, what the others do
//! there they could do before or after. It only changes how often an execution is drawn. So the engine's points stay as they are,
//! and a sampler makes up for those that are missing: it draws, notes that the drawn task has passed such a point, and
//! draws again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use raddle_engine::rng::Rng;
use raddle_engine::strategy::{
    Answer, Choice, Finished, Lane, Needs, Options, Plan, Point, Strategy,
};
use raddle_trace::Covered;

/// Which points differ from those of the engine.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a point of its own")]
pub(crate) struct Points {
    /// One before each spawn: a task that was spawned may run before the next one is.
    pub(crate) spawns: bool,
    /// One before the first operation of a task: to begin is a turn of its own.
    pub(crate) starts: bool,
    /// One between a notification that a task has received and its lock: to hear of it is a turn of its own.
    pub(crate) wakes: bool,
    /// None before an end of a channel is dropped: whatever the task did before that goes on with it.
    pub(crate) closes: bool,
    /// Only in every second execution, by chance.
    pub(crate) halved: bool,
}

/// Draws as [`Points`] says. Tasks are known by their place in the order of creation.
#[derive(Debug)]
pub(crate) struct Drawn {
    rng: Rng,
    points: Points,
    executions: u64,
    is_plain: bool,
    /// Tasks from this place on have not been seen.
    known: u32,
    /// By the task that spawned them: those that are yet to be spawned, as far as this sampler goes.
    unborn: BTreeMap<u32, VecDeque<u32>>,
    /// Those that have not begun.
    beginning: BTreeSet<u32>,
    /// Those that have heard of a notification and have not taken their lock.
    woken: BTreeSet<u32>,
}

impl Drawn {
    pub(crate) fn new(seed: u64, points: Points) -> Self {
        Self {
            rng: Rng::new(seed),
            points,
            executions: 0,
            is_plain: false,
            known: 1,
            unborn: BTreeMap::new(),
            beginning: BTreeSet::new(),
            woken: BTreeSet::new(),
        }
    }

    /// Notes the threads that are new. The task that moved last has spawned them.
    fn meet(&mut self, choices: &[Choice], point: &Point<'_>) {
        let parent = point.pending.place(point.last);
        for choice in choices {
            let place = point.pending.place(choice.task);
            if place < self.known {
                continue;
            }
            if point.pending.lane(choice.task) == Lane::Thread {
                if self.points.starts {
                    self.beginning.insert(place);
                }
                if self.points.spawns && place != parent {
                    self.unborn.entry(parent).or_default().push_back(place);
                }
            }
        }
        let places = choices.iter().map(|choice| point.pending.place(choice.task) + 1);
        self.known = places.max().unwrap_or(0).max(self.known);
    }

    /// The tasks to draw from, with their options. One that cannot move may be among them because it has yet to
    /// spawn others.
    fn candidates(&self, choices: &[Choice], point: &Point<'_>) -> Vec<(Option<u32>, u32)> {
        let is_unborn = |place: u32| self.unborn.values().any(|all| all.contains(&place));
        let places = choices.iter().map(|choice| point.pending.place(choice.task));
        let mut all: Vec<_> = (0..)
            .zip(places)
            .filter(|(_, place)| !is_unborn(*place))
            .map(|(option, place)| (Some(option), place))
            .collect();
        for &parent in self.unborn.keys() {
            if !is_unborn(parent) && !all.iter().any(|(_, place)| *place == parent) {
                all.push((None, parent));
            }
        }
        all
    }

    /// Whether a task that was drawn passes a point that the engine does not have.
    fn passes(&mut self, place: u32, is_notified: bool) -> bool {
        if let Some(children) = self.unborn.get_mut(&place) {
            children.pop_front();
            if children.is_empty() {
                self.unborn.remove(&place);
            }
            return true;
        }
        if self.beginning.remove(&place) {
            return true;
        }
        let hears = self.points.wakes && is_notified && self.woken.insert(place);
        if !hears {
            self.woken.remove(&place);
        }
        hears
    }
}

impl Strategy for Drawn {
    fn needs(&self) -> Needs {
        Needs { plans: false, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        plan.prefix.clear();
        plan.memoryless = true;
        self.known = 1;
        self.unborn.clear();
        self.beginning.clear();
        self.woken.clear();
        self.is_plain = self.points.halved && self.rng.below(2) == 0;
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        let choices = match point.options {
            Options::Schedule(choices) if !self.is_plain => choices,
            _ => return Answer::Take(self.rng.below(point.arity())),
        };
        self.meet(choices, point);
        let closes = |text: String| text.starts_with("drop ");
        if self.points.closes
            && let Some(option) = point.option_of(point.last)
            && point.pending.says(point.last).is_some_and(closes)
        {
            return Answer::Take(option);
        }
        loop {
            let all = self.candidates(choices, point);
            let (option, place) = all[self.rng.below(all.len() as u32) as usize];
            // An op on two objects is one that waits for a notification and then for its lock.
            let is_notified = option.is_some_and(|option| {
                let op = point.pending.op(choices[option as usize].task);
                op.is_some_and(|op| op.second.is_some())
            });
            if !self.passes(place, is_notified)
                && let Some(option) = option
            {
                return Answer::Take(option);
            }
        }
    }

    fn end(&mut self, _: &Finished<'_>) {
        self.executions += 1;
    }

    fn covered(&self) -> Covered {
        Covered::Sample { executions: self.executions, bound: None }
    }
}
