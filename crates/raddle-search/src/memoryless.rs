//! An optimal reduction without wakeup trees and sleep sets, with a bound on preemptions if one is given.
//!
//! After POP (Abdulla, Atig, Das, Jonsson, Sagonas, CAV 2024), on our dependence, blocking ops and values.
//! What is left to do is a stack of *units*. A unit is a repeated part, then a *schedule*: what must come
//! before the later step of a race, then that step, its *head*. A race is reversed once, in the one
//! execution in which all that was chosen between its two steps and is not in the new schedule was
//! chosen by default: no head and no other value than the first is left behind. A step of a schedule
//! is never the earlier step of a race that is reversed.
//!
//! Several steps could be the head of what reverses the same step: if no two of them depend on each
//! other, an execution with all of them would be reached by each. POP remembers the schedules that
//! were tried. Here the one of the smallest task counts: whatever comes after a head must not be a
//! step of a smaller task that could have been the head instead. That needs no memory at all, so a
//! unit is all that a worker has to know.
//!
//! *The bound.* Equivalent executions differ in what they cost, so a trace is within the bound if one of its executions is.
//! To leave out executions that cost too much loses traces: a cheap trace may be found only by way of a dear
//! execution. But whatever is found from a unit on has some events in common (`races.rs`); where no order of these is
//! within the bound (`cost.rs`), the unit is dropped. For other reductions the same idea, with slack: Marmanis,
//! Kokologiannakis, Vafeiadis, TACAS 2023. Executions that are run may cost more than the bound, so traces may be shown
//! that are not within it.
//!
//! Misses, and says so ([`Gaps`]): what needs the other order of a timeout, of a reading of the clock, of a look whether a task is finished, of a yield,
//! or of steps of actors. Repeats a trace now and then.
//!
//! # Why: A bound together with DPOR
//! A bound together with DPOR is one on preemptions, and by the memoryless form of the optimal reduction
//! (`memoryless.rs`). Bounded partial-order reduction (Coons et al., OOPSLA 2013) was built and measured: with
//! backtracking points where a race happened and at every switch before it, it lost 17 of 344 traces of a random
//! program with channels at one preemption. The only executions of those with one preemption leave a task inside a
//! section where nothing races, so that the next one blocks and the switch back is free. A unit of the memoryless
//! reduction is dropped instead where no order of what all its executions have in common is within the bound
//! (`memoryless/cost.rs` has the argument). Why points at races and at switches lose them, with the smallest program
//! that shows it, is in `docs/decisions/bounded-reduction.md`. It may run executions beyond the bound on its way, and says
//! what it does not see through: timeouts, looks whether a task is finished, yields, actors. Not with delays: an explorer ranks
//! options by the whole execution so far, so equivalent prefixes cost differently in ways that no part of them shows.
//! `dfs delays(k) cache` is there for that.

mod cost;
mod lineage;
mod races;
mod run;
mod units;

use raddle_engine::op::Access;
use raddle_engine::strategy::{
    Answer, Checkpoint, Cut, Divisible, Estimating, Event, Finished, Needs, Plan, Point, Remarks,
    Resumable, SearchPart, Step, Strategy, Taken, Unsupported,
};
use raddle_trace::{Covered, Gaps, Outcome, Progress};
use serde::{Deserialize, Serialize};

use self::run::Run;
use self::units::Unit;
use crate::rng::Rng;
use crate::state::{self, FOREIGN, RUNNING, STRAYED};

/// What a search did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effort {
    /// Races that were looked at, and those that became units.
    pub races: u64,
    /// Races that became units.
    pub units: u64,
    /// Races that did not because of the bound.
    pub too_dear: u64,
    /// Schedules that could not be followed, and steps taken by default that were another unit's.
    pub impossible: u64,
    /// Most units at a time.
    pub most: u64,
    /// Most bytes in them.
    pub bytes: u64,
}

/// Which unit is next. What is run in the end does not hang on it.
#[derive(Clone, Debug)]
enum Takes {
    /// The one that was opened last: few are open at a time.
    Last,
    /// The one that was opened first: many are.
    First,
    Any(Rng),
}

/// The strategy.
#[derive(Debug)]
pub struct Memoryless {
    bound: Option<u32>,
    left: Vec<Unit>,
    run: Run,
    gaps: Gaps,
    executions: u64,
    /// Executions that were cut.
    blocked: u64,
    over: bool,
    running: bool,
    strayed: bool,
    /// In which order units are taken.
    takes: Takes,
    effort: Effort,
}

/// A search as it is saved. The events of the last execution are not in it: the next one has them again.
#[derive(Serialize, Deserialize)]
struct SavedUnits {
    bound: Option<u32>,
    left: Vec<Unit>,
    gaps: Gaps,
    executions: u64,
    blocked: u64,
    over: bool,
    strayed: bool,
    effort: Effort,
}

impl Default for Memoryless {
    fn default() -> Self {
        Self::new()
    }
}

impl Memoryless {
    /// Every execution, up to equivalence.
    #[must_use]
    pub fn new() -> Self {
        Self {
            bound: None,
            left: vec![Unit::first()],
            run: Run::default(),
            gaps: Gaps::default(),
            executions: 0,
            blocked: 0,
            over: false,
            running: false,
            strayed: false,
            takes: Takes::Last,
            effort: Effort::default(),
        }
    }

    /// Every execution with at most so many preemptions, up to equivalence.
    ///
    /// ```
    /// use raddle_engine::strategy::Strategy;
    /// use raddle_search::Memoryless;
    ///
    /// let search = Memoryless::within(2);
    /// assert_eq!(search.covered().to_string(), "no execution of a search that did not end");
    /// ```
    #[must_use]
    pub fn within(preemptions: u32) -> Self {
        Self { bound: Some(preemptions), ..Self::new() }
    }

    /// The same, but what is known is run in any order: what is run in the end must not differ.
    #[must_use]
    pub fn in_any_order(self, seed: u64) -> Self {
        Self { takes: Takes::Any(Rng::new(seed)), ..self }
    }

    /// What it did so far.
    #[must_use]
    pub fn effort(&self) -> Effort {
        self.effort
    }

    fn name(&self) -> String {
        match self.bound {
            Some(k) => format!("memoryless preemptions({k})"),
            None => "memoryless".to_owned(),
        }
    }

    /// The state of a search that has these units left.
    fn write(&self, left: Vec<Unit>) -> Checkpoint {
        let Self { bound, gaps, executions, blocked, over, strayed, effort, .. } = *self;
        let saved = SavedUnits { bound, left, gaps, executions, blocked, over, strayed, effort };
        state::write(&self.name(), &saved)
    }

    fn bytes(&self) -> u64 {
        self.left.iter().map(Unit::bytes).sum::<usize>() as u64
    }

    fn note_most(&mut self) {
        if self.left.len() as u64 > self.effort.most {
            self.effort.most = self.left.len() as u64;
            self.effort.bytes = self.bytes();
        }
    }

    /// Notes what this reduction does not see through.
    fn notice(&mut self, step: &Step<'_>) {
        self.gaps.timeouts |= step.timer.is_some() || step.partner.is_some();
        self.gaps.actors |= step.learned || step.shared_resources != 0 || step.sent_by.is_some();
        for (_, access) in step.footprint {
            match access {
                Access::Observe(_) => self.gaps.looks |= !step.immediate,
                Access::Yield => self.gaps.yields = true,
                Access::DoWork | Access::AwaitQuiescence | Access::Cancelled => {
                    self.gaps.actors = true;
                }
                _ => {}
            }
        }
        // A task that spins waits for a change: a yield to those that could make one.
        self.gaps.yields |= step.watch.steps > 0 || step.last_resort;
        // Else the clock was read.
        self.gaps.timeouts |= !self.gaps.yields && step.pending.strayed();
    }
}

impl Strategy for Memoryless {
    fn needs(&self) -> Needs {
        // The labels say which objects make tasks wait, which decides what an execution costs.
        Needs { steps: true, labels: true, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        if self.strayed {
            return false;
        }
        let next = match &mut self.takes {
            _ if self.left.is_empty() => None,
            Takes::Last => self.left.pop(),
            Takes::First => Some(self.left.remove(0)),
            Takes::Any(rng) => {
                let at = rng.below(self.left.len() as u32) as usize;
                Some(self.left.swap_remove(at))
            }
        };
        let Some(unit) = next else {
            self.over = true;
            return false;
        };
        self.run.begin(unit, plan);
        self.running = true;
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        let answer = self.run.answer(point, &mut self.left);
        self.note_most();
        answer
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        if let Event::Step(step) = event {
            self.notice(step);
        }
        self.run.hear(event)
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.running = false;
        self.executions += 1;
        self.blocked += u64::from(self.run.cut);
        self.effort.impossible += u64::from(self.run.lost);
        let cut_off = execution.outcome.is_cut_off();
        let (yields, impossible) = (execution.yielded, self.run.lost);
        let more = Gaps { cut_off, yields, impossible, ..Gaps::default() };
        self.gaps |= execution.gaps | more;
        self.gaps.timeouts |= execution.stuck.iter().any(|stuck| stuck.timer.is_some());
        self.strayed |= self.run.has_strayed() && !cut_off;
        if !self.run.cut {
            self.run.stuck.extend_from_slice(execution.stuck);
        }
        // What a limit cuts off is long; what ends its process has shown all that leads to that.
        if !matches!(execution.outcome, Outcome::Limit { .. }) && !self.strayed {
            let found = self.run.open_races(self.bound);
            self.gaps.cut_off |= found.gave_up;
            self.effort.races += found.races;
            self.effort.too_dear += found.too_dear;
            self.effort.units += found.units.len() as u64;
            self.left.extend(found.units);
            self.note_most();
        }
    }

    fn covered(&self) -> Covered {
        let executions = self.executions;
        if self.over {
            Covered::of_bounded_reduction(executions, self.gaps, self.bound)
        } else {
            // Some of them may be beyond the bound.
            Covered::Part { executions, preemptions: None }
        }
    }

    fn remarks(&self) -> Remarks {
        Remarks { unfinished: self.strayed.then(|| STRAYED.to_owned()), ..Remarks::default() }
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }

    fn divisible(&mut self) -> Option<&mut dyn Divisible> {
        Some(self)
    }

    fn estimating(&self) -> Option<&dyn Estimating> {
        Some(self)
    }
}

/// A unit is all that a worker has to know, so the units that are left are parts as they are.
impl Divisible for Memoryless {
    /// The oldest first: most follows them.
    fn split(&mut self, n: usize) -> Result<Vec<SearchPart>, Unsupported> {
        if self.running {
            return Err(RUNNING);
        }
        let given: Vec<Unit> = self.left.drain(..n.min(self.left.len())).collect();
        let work = |unit: Unit| {
            // Of how many options each was taken is not known; that it was one of more than one is.
            let taken = |&option: &u32| Taken { option, of: option.max(1) + 1 };
            let prefix = unit.decisions.iter().map(taken).collect();
            SearchPart { prefix, state: self.write(vec![unit]), spent: 0 }
        };
        Ok(given.into_iter().map(work).collect())
    }

    fn parts(&self) -> usize {
        self.left.len() + usize::from(self.running)
    }

    fn claim(&self) -> Covered {
        Covered::of_bounded_reduction(self.executions, self.gaps, self.bound)
    }

    fn spread(&mut self) {
        self.takes = Takes::First;
    }
}

impl Estimating for Memoryless {
    fn progress(&self) -> Progress {
        Progress {
            covered: self.over.then_some(1.0),
            pending: self.left.len() as u64 + u64::from(self.running),
            frontier_bytes: self.bytes(),
            ..Progress::default()
        }
    }
}

impl Resumable for Memoryless {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        if self.running || matches!(self.takes, Takes::Any(_)) {
            return Err(RUNNING);
        }
        Ok(self.write(self.left.clone()))
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let saved: SavedUnits = state::read(&self.name(), state)?;
        if saved.bound != self.bound || !saved.left.iter().all(Unit::is_valid) {
            return Err(FOREIGN);
        }
        let SavedUnits { bound, left, gaps, executions, blocked, over, strayed, effort } = saved;
        let new = Self::new();
        *self = Self { bound, left, gaps, executions, blocked, over, strayed, effort, ..new };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::bound::Bound;
    use crate::expansion::all::DepthFirst;
    use crate::order::NonPreemptive;
    use crate::toy::{self, Op, Toy};

    /// The partial orders that a search shows.
    fn shown(strategy: &mut dyn Strategy, toy: &Toy) -> BTreeSet<Vec<toy::Moves>> {
        let (mut plan, mut all) = (Plan::default(), BTreeSet::new());
        while let Some(execution) = toy::execute(strategy, &mut plan, toy) {
            if execution.cut.is_none() {
                all.insert(toy.partial_order(&execution.moves));
            }
        }
        all
    }

    #[test]
    fn what_is_within_the_bound_is_shown() {
        use Op::{Lock, Read, Unlock, Write};
        let toys = [
            vec![vec![Write(0), Write(1)], vec![Read(1), Read(0)]],
            vec![vec![Lock, Write(0), Unlock], vec![Write(0), Lock, Unlock], vec![Read(0)]],
            vec![vec![Read(0), Write(0)], vec![Read(0), Write(0)], vec![Write(1), Read(0)]],
            vec![vec![Op::Value(2), Write(0)], vec![Lock, Read(0), Unlock], vec![Lock, Unlock]],
        ];
        for toy in toys.map(Toy::new) {
            for k in 0..4 {
                let within = DepthFirst::within(NonPreemptive, Bound::Preemptions(k));
                let all = shown(&mut within.expect("its order does not preempt"), &toy);
                let mut search = Memoryless::within(k);
                let seen = shown(&mut search, &toy);
                assert!(all.is_subset(&seen), "{k}: {toy:?}");
                assert_eq!(search.covered(), Covered::BoundedEquivalence(k));
            }
        }
    }

    #[test]
    fn a_yield_takes_the_claim_away() {
        let toy = Toy::new(vec![vec![Op::Write(0), Op::Yield], vec![Op::Read(0)]]);
        let mut search = Memoryless::within(1);
        shown(&mut search, &toy);
        let Covered::Reduced { gaps, .. } = search.covered() else {
            panic!("it claims {}", search.covered())
        };
        assert_eq!(gaps, Gaps { yields: true, ..Gaps::default() });
    }

    #[test]
    fn a_state_of_another_bound_is_refused() {
        let saved = Memoryless::within(1).save().expect("it can be saved");
        assert!(Memoryless::within(1).restore(&saved).is_ok());
        assert!(Memoryless::within(2).restore(&saved).is_err());
        assert!(Memoryless::new().restore(&saved).is_err());
    }
}
