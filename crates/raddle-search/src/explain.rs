//! Why an execution fails: which orders of two steps matter, and after which step all is lost.
//!
//! Every race of the execution is tried in the other order: what has to come before the second step comes
//! before the first, and all else as before, as far as it can (`minimise/guide.rs`). If the execution then
//! ends well, the order of the two is a reason. Then the decisions are halved until the shortest beginning
//! is found after which a few hundred ways to go on at random all fail.
//!
//! Misses: reasons that are the order of more than two steps, or that show only together with others. The
//! step after which all is lost may be later than it says: a way out may be rarer than what was tried.
//! Overreports: that step, for the same reason. An order that matters was seen to.

use raddle_engine::happens::History;
use raddle_engine::op::TaskId;
use raddle_engine::strategy::{
    Answer, Cut, Event, Finished, Needs, Plan, Point, Step, Strategy, Stuck,
};
use raddle_trace::{Covered, Outcome};

use crate::minimise::{Block, Guide, Purse, Run};
use crate::rng::Rng;

/// Ways to go on that are tried from each place.
const TRIES: u64 = 300;

/// Two steps in the other order: a step of the execution by its number, and a later one, or the op for
/// which a task waits at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race {
    /// The step that came first, by its number from 0.
    pub first: u32,
    /// The step that came second, or none if it never came.
    pub second: Option<u32>,
    /// Whose it is.
    pub task: TaskId,
}

/// A race whose order matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matters {
    /// The race.
    pub race: Race,
    /// How the execution ends in the other order.
    pub otherwise: Outcome,
}

/// A beginning after which all that was tried failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoReturn {
    /// The number of its decisions.
    pub decisions: u32,
    /// How many ways to go on were tried.
    pub tried: u64,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Given {
        again: bool,
    },
    /// The race with this number.
    Reverse(usize),
    /// The shortest beginning after which all is lost has at least `from` decisions and at most `to`, from
    /// where `proven` ways to go on were tried. As many as `tried` from the middle have failed.
    Sample {
        from: u32,
        to: u32,
        proven: u64,
        tried: u64,
    },
    Last,
}

/// Runs executions that are like a failing one, to tell why it fails.
///
/// To be run to its end, past failures: [`Setup::keep_going`](raddle_engine::Setup::keep_going).
#[derive(Debug)]
pub struct Explain {
    given: Vec<u32>,
    wanted: Outcome,
    stage: Stage,
    purse: Purse,
    rng: Rng,
    history: History,
    stuck: Vec<Stuck>,
    run: Run,
    guide: Guide,
    races: Vec<Race>,
    matters: Vec<Matters>,
    /// Events of each task in the current execution, and whether the second step of the race came first.
    counts: Vec<u32>,
    reversed: Option<bool>,
    lost: Option<NoReturn>,
}

impl Explain {
    /// Explains the execution that has these decisions and ends like `wanted`, in about so many steps of
    /// all executions.
    #[must_use]
    pub fn new(given: Vec<u32>, wanted: Outcome, seed: u64, steps: u64) -> Self {
        Self {
            given,
            wanted,
            stage: Stage::Given { again: false },
            purse: Purse::new(steps),
            rng: Rng::new(seed),
            history: History::default(),
            stuck: Vec::new(),
            run: Run::default(),
            guide: Guide::default(),
            races: Vec::new(),
            matters: Vec::new(),
            counts: Vec::new(),
            reversed: None,
            lost: None,
        }
    }

    /// The races whose order matters.
    #[must_use]
    pub fn matters(&self) -> &[Matters] {
        &self.matters
    }

    /// Races that were tried in the other order so far.
    #[must_use]
    pub fn races(&self) -> usize {
        match self.stage {
            Stage::Reverse(at) => at,
            _ => self.races.len(),
        }
    }

    /// Who took a step of the given execution, by its number from 0.
    ///
    /// # Panics
    /// If there is no such step.
    #[must_use]
    pub fn task_of(&self, step: u32) -> TaskId {
        self.history.event(step as usize).footprint.task
    }

    /// The shortest beginning after which all that was tried failed, if it was found.
    #[must_use]
    pub fn lost(&self) -> Option<NoReturn> {
        self.lost
    }

    /// Finds the races of the given execution.
    fn find_races(&mut self) {
        let mut with = Vec::new();
        for index in 0..self.history.len() {
            self.history.races(index, &mut with);
            let task = self.history.event(index).footprint.task;
            let second = Some(index as u32);
            with.sort_unstable();
            self.races.extend(with.iter().map(|&first| Race { first, second, task }));
        }
        for stuck in std::mem::take(&mut self.stuck) {
            self.history.races_of_stuck(&stuck, &mut with);
            with.sort_unstable();
            let race = |&first: &u32| Race { first, second: None, task: stuck.task };
            self.races.extend(with.iter().map(race));
        }
    }

    /// An order in which the second step of a race comes first.
    fn reverse(&self, race: Race) -> Guide {
        let first = race.first as usize;
        let end = race.second.map_or(self.history.len(), |second| second as usize);
        let after = |event: &usize| self.history.before(first, *event);
        let events = |events: &[usize]| {
            let moves = events.iter().map(|event| self.history.event(*event));
            let chosen = moves.filter(|event| !event.immediate);
            chosen.map(|event| Block { task: event.footprint.task, moves: 1 }).collect::<Vec<_>>()
        };
        let before: Vec<usize> =
            (0..first).chain((first + 1..end).filter(|event| !after(event))).collect();
        let rest: Vec<usize> = std::iter::once(first)
            .chain((first + 1..end).filter(after))
            .chain(end + 1..self.history.len())
            .collect();
        let mut blocks = events(&before);
        blocks.push(Block { task: race.task, moves: 1 });
        blocks.extend(events(&rest));
        Guide::new(&blocks, &self.run.values)
    }

    /// What to do before the next execution. False: nothing is left.
    fn prepare(&mut self) -> bool {
        if let Stage::Reverse(at) = self.stage {
            match self.races.get(at) {
                Some(&race) if !self.purse.is_empty() => {
                    self.guide = self.reverse(race);
                    return true;
                }
                _ => {
                    self.races.truncate(at);
                    let to = self.given.len() as u32;
                    self.stage = Stage::Sample { from: 0, to, proven: 1, tried: 0 };
                }
            }
        }
        if let Stage::Sample { from, to, proven, .. } = self.stage {
            if from == to {
                self.lost = Some(NoReturn { decisions: to, tried: proven });
            }
            if from == to || self.purse.is_empty() {
                self.stage = Stage::Last;
            }
        }
        !matches!(self.stage, Stage::Last)
    }

    /// One way to go on from the middle was tried.
    fn sampled(&mut self, fails: bool) {
        let Stage::Sample { from, to, proven, tried } = &mut self.stage else { return };
        let middle = *from + (*to - *from) / 2;
        *tried += 1;
        if !fails {
            (*from, *tried) = (middle + 1, 0);
        } else if *tried == TRIES {
            (*to, *proven, *tried) = (middle, TRIES, 0);
        }
    }
}

impl Explain {
    /// A step was executed.
    fn executed(&mut self, step: &Step<'_>) {
        match self.stage {
            Stage::Given { .. } => self.history.step(step),
            Stage::Reverse(at) => {
                if !step.immediate {
                    self.guide.moved(step.task);
                }
                if self.counts.len() <= step.task.index() {
                    self.counts.resize(step.task.index() + 1, 0);
                }
                self.counts[step.task.index()] += 1;
                let nth = self.counts[step.task.index()];
                let Race { first, second, task } = self.races[at];
                let first = self.history.event(first as usize);
                let second = second.map_or_else(
                    || self.history.events_of(task) + 1,
                    |second| self.history.event(second as usize).nth,
                );
                if (step.task, nth) == (first.footprint.task, first.nth) {
                    self.reversed.get_or_insert(false);
                } else if (step.task, nth) == (task, second) {
                    self.reversed.get_or_insert(true);
                }
            }
            _ => {}
        }
    }
}

impl Strategy for Explain {
    fn needs(&self) -> Needs {
        Needs { steps: true, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        if !self.prepare() {
            return false;
        }
        plan.prefix.clear();
        self.counts.clear();
        self.reversed = None;
        match self.stage {
            Stage::Given { .. } => {
                self.history.begin(0);
                self.run = Run::default();
            }
            Stage::Sample { from, to, .. } => {
                let middle = from + (to - from) / 2;
                plan.prefix.extend_from_slice(&self.given[..middle as usize]);
            }
            _ => self.guide.begin(),
        }
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        Answer::Take(match self.stage {
            Stage::Given { .. } => {
                let option = self.given.get(point.index as usize).copied();
                option.filter(|option| *option < point.arity()).unwrap_or(0)
            }
            Stage::Sample { .. } => self.rng.below(point.arity()),
            _ => self.guide.option(point),
        })
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        let given = matches!(self.stage, Stage::Given { .. });
        match event {
            Event::Step(step) => self.executed(step),
            Event::Spawn { parent, child } if given => self.history.spawn(*parent, *child),
            Event::Value { task, taken, .. } if given => {
                self.history.value(*task, taken.option);
                self.run.value(*task, taken.option);
            }
            Event::Unasked { task } if given => self.history.value(*task, 0),
            Event::Spawn { .. }
            | Event::Value { .. }
            | Event::Unasked { .. }
            | Event::Passed { .. }
            | Event::Actor(_) => {}
        }
        None
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.purse.spend(execution.steps);
        let fails = execution.outcome.is_failure();
        match self.stage {
            Stage::Given { again: false } => self.stage = Stage::Given { again: true },
            Stage::Given { again: true } => {
                if !execution.outcome.is_like(&self.wanted) {
                    self.stage = Stage::Last;
                    return;
                }
                self.given = execution.decisions.iter().map(|taken| taken.option).collect();
                self.stuck = execution.stuck.to_vec();
                self.find_races();
                self.stage = Stage::Reverse(0);
            }
            Stage::Reverse(at) => {
                let limited = matches!(execution.outcome, Outcome::Limit { .. });
                if self.reversed == Some(true)
                    && !execution.outcome.is_like(&self.wanted)
                    && !limited
                {
                    let (race, otherwise) = (self.races[at], execution.outcome.clone());
                    self.matters.push(Matters { race, otherwise });
                }
                self.stage = Stage::Reverse(at + 1);
            }
            Stage::Sample { .. } => self.sampled(fails),
            Stage::Last => {}
        }
    }

    fn covered(&self) -> Covered {
        Covered::Replay
    }
}
