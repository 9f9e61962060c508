//! Makes a failing execution small, for a person to read: fewest preemptions, then fewest steps, then
//! fewest tasks, always the same failure.
//!
//! First the given execution is changed step by step (Jalbert and Sen, FSE 2010, who move the blocks of one
//! thread together). An execution is taken as a *guide* (`guide.rs`): an order in which tasks should move,
//! which the next one follows as far as it can. The guide is cut short, its blocks are moved, its values
//! set to the first; whatever shows the failure and is smaller is what is changed next. Then best-first
//! search looks for the failure with fewer preemptions, fewest first: if it finds it, that is changed in
//! turn; if it covers all there is below, no execution has fewer.
//!
//! Where it differs from Jalbert and Sen: preemptions count first and not switches, since a switch that a
//! wait asks for is not a choice; and the search for fewer, which says when there are none.
//!
//! Misses: smaller executions, if the limit comes first; fewest is said of preemptions alone, and only
//! where it was proved ([`Minimise::is_least`]).
//! Overreports: nothing: every execution it keeps was run and showed the failure.

mod guide;

use raddle_engine::op::TaskId;
use raddle_engine::strategy::{
    Answer, Cut, Estimating, Event, Finished, Needs, Options, Plan, Point, Strategy,
};
use raddle_trace::{Covered, Outcome, Progress, Size};

pub(crate) use self::guide::{Block, Guide, Run};
use crate::bound::Bound;
use crate::order::NonPreemptive;
use crate::tree::priority::{ModifiedDpor, Preemptions};
use crate::tree::{Frontier, TreeSearch};

/// Executions that are run however long they are.
const MIN_EXECUTIONS: u64 = 20;

/// Steps that may be spent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purse {
    steps: u64,
    executions: u64,
}

impl Purse {
    pub(crate) fn new(steps: u64) -> Self {
        Self { steps, executions: 0 }
    }

    pub(crate) fn spend(&mut self, steps: u64) {
        self.steps = self.steps.saturating_sub(steps);
        self.executions += 1;
    }

    pub(crate) fn is_empty(self) -> bool {
        self.steps == 0 && self.executions >= MIN_EXECUTIONS
    }
}

/// What the next execution is.
#[derive(Debug)]
enum Stage {
    /// The given one. The first time the engine may learn that it has to look for races.
    Given { again: bool },
    /// The guide up to a block, then the default order. The blocks left to decide about.
    Cut { from: usize, to: usize },
    /// The change with this number, to the blocks of the best; whether one was good in this round.
    Change { at: usize, good: bool },
    /// One that a search comes up with.
    Search(Box<TreeSearch>),
    /// What the search found, to see how large it is.
    Found,
    /// None.
    Last,
}

/// Runs executions that are like a failing one, and smaller.
///
/// To be run to its end, past failures: [`Setup::keep_going`](raddle_engine::Setup::keep_going).
/// [`best`](Self::best) has the decisions of the smallest.
#[derive(Debug)]
pub struct Minimise {
    wanted: Outcome,
    given: Vec<u32>,
    stage: Stage,
    /// What may still be spent on changes, and on the search.
    changes: Purse,
    searches: Purse,
    executions: u64,
    guide: Guide,
    run: Run,
    best: Option<Run>,
    from: Option<Size>,
    least: bool,
}

impl Minimise {
    /// Makes the execution small that has these decisions and ends like `wanted`, in about so many steps
    /// of all executions: half of them for changes, half for the search. A few executions are run
    /// however long they are.
    #[must_use]
    pub fn new(given: Vec<u32>, wanted: Outcome, steps: u64) -> Self {
        Self {
            wanted,
            given,
            stage: Stage::Given { again: false },
            changes: Purse::new(steps.div_ceil(2)),
            searches: Purse::new(steps / 2),
            executions: 0,
            guide: Guide::default(),
            run: Run::default(),
            best: None,
            from: None,
            least: false,
        }
    }

    /// The decisions of the smallest execution that showed the failure; none if none did.
    #[must_use]
    pub fn best(&self) -> Option<&[u32]> {
        self.best.as_ref().map(|best| best.options.as_slice())
    }

    /// How large the given execution is, and the smallest.
    #[must_use]
    pub fn sizes(&self) -> Option<(Size, Size)> {
        Some((self.from?, self.best.as_ref()?.size))
    }

    /// Whether no execution with fewer preemptions shows the failure.
    #[must_use]
    pub fn is_least(&self) -> bool {
        self.least || self.best.as_ref().is_some_and(|best| best.size.preemptions == 0)
    }

    /// Executions so far.
    #[must_use]
    pub fn executions(&self) -> u64 {
        self.executions
    }

    /// Sets the guide for the next change that can be made. False: there is none.
    fn next_change(&mut self) -> bool {
        let Some(best) = &self.best else { return false };
        let blocks = best.blocks();
        loop {
            if self.changes.is_empty() {
                return false;
            }
            match &mut self.stage {
                Stage::Cut { from, to } if *from < *to => {
                    let middle = *from + (*to - *from) / 2;
                    self.guide = Guide::new(&blocks[..middle], &best.values);
                    return true;
                }
                Stage::Cut { .. } => self.stage = Stage::Change { at: 0, good: false },
                Stage::Change { at, good } => {
                    let Some(change) = Change::nth(*at, blocks.len(), best.values.len()) else {
                        if !*good {
                            return false;
                        }
                        (*at, *good) = (0, false);
                        continue;
                    };
                    if let Some(guide) = change.apply(&blocks, &best.values) {
                        self.guide = guide;
                        return true;
                    }
                    *at += 1;
                }
                _ => return false,
            }
        }
    }

    /// What comes after the changes: a search for fewer preemptions, unless there are none.
    fn search(&mut self) -> Stage {
        let Some(best) = &self.best else { return Stage::Last };
        let Some(fewer) = best.size.preemptions.checked_sub(1) else { return Stage::Last };
        if self.least || self.searches.is_empty() {
            return Stage::Last;
        }
        let frontier =
            Frontier::BestFirst(vec![Box::new(Preemptions), Box::<ModifiedDpor>::default()]);
        let bound = Bound::Preemptions(fewer);
        let search = TreeSearch::within(frontier, NonPreemptive, bound);
        Stage::Search(Box::new(search.expect("the default order does not preempt")))
    }

    /// Hears how a change went.
    fn judge(&mut self, is_like: bool) {
        let smaller = self.best.as_ref().is_none_or(|best| self.run.size < best.size);
        let good = is_like && smaller;
        if good {
            self.best = Some(std::mem::take(&mut self.run));
        }
        match &mut self.stage {
            Stage::Cut { from, to } => {
                let middle = *from + (*to - *from) / 2;
                if good {
                    let blocks = self.best.as_ref().map_or(0, |best| best.blocks().len());
                    (*from, *to) = (0, middle.min(blocks));
                } else {
                    *from = middle + 1;
                }
            }
            Stage::Change { at, good: any } => {
                // After a good one others have taken its place.
                *at += usize::from(!good);
                *any |= good;
            }
            _ => {}
        }
    }
}

/// A change to a guide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// The next block of the same task follows this one at once.
    Up(usize),
    /// This block comes just before the next one of the same task.
    Down(usize),
    /// This block comes last, after the failure perhaps.
    Drop(usize),
    /// This block and the next change places.
    Swap(usize),
    /// This value is the first one.
    Value(usize),
}

impl Change {
    fn nth(at: usize, blocks: usize, values: usize) -> Option<Self> {
        let kinds = [Self::Up, Self::Down, Self::Drop, Self::Swap];
        match at.checked_sub(blocks * kinds.len()) {
            None => Some(kinds[at / blocks](at % blocks)),
            Some(value) => (value < values).then_some(Self::Value(value)),
        }
    }

    /// None: it would change nothing.
    fn apply(self, blocks: &[Block], values: &[(TaskId, u32)]) -> Option<Guide> {
        let next = |of: usize| {
            let same = |block: &Block| block.task == blocks[of].task;
            blocks[of + 1..].iter().position(same).map(|after| of + 1 + after)
        };
        let mut order = blocks.to_vec();
        match self {
            Self::Up(at) => {
                let block = order.remove(next(at)?);
                order.insert(at + 1, block);
            }
            Self::Down(at) => {
                let to = next(at)?;
                let block = order.remove(at);
                order.insert(to - 1, block);
            }
            Self::Drop(at) => {
                let block = order.remove(at);
                order.push(block);
            }
            Self::Swap(at) => {
                if at + 1 >= order.len() {
                    return None;
                }
                order.swap(at, at + 1);
            }
            Self::Value(at) => {
                let mut values = values.to_vec();
                if std::mem::take(&mut values[at].1) == 0 {
                    return None;
                }
                return Some(Guide::new(blocks, &values));
            }
        }
        (order != blocks).then(|| Guide::new(&order, values))
    }
}

impl Strategy for Minimise {
    fn needs(&self) -> Needs {
        Needs { steps: true, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        loop {
            let ready = match &mut self.stage {
                Stage::Given { .. } | Stage::Found => true,
                Stage::Cut { .. } | Stage::Change { .. } => self.next_change(),
                Stage::Search(search) => {
                    if self.searches.is_empty() {
                        self.stage = Stage::Last;
                        continue;
                    }
                    if search.begin(plan) {
                        return true;
                    }
                    self.least = matches!(search.covered(), Covered::Preemptions(_));
                    self.stage = Stage::Last;
                    continue;
                }
                Stage::Last => return false,
            };
            if ready {
                break;
            }
            self.stage = self.search();
        }
        plan.prefix.clear();
        self.guide.begin();
        self.run = Run::default();
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        let option = match &mut self.stage {
            Stage::Search(search) => return search.decide(point),
            Stage::Given { .. } | Stage::Found => {
                let option = self.given.get(point.index as usize).copied();
                option.filter(|option| *option < point.arity()).unwrap_or(0)
            }
            _ => self.guide.option(point),
        };
        let preempts = matches!(point.options, Options::Schedule(_))
            && point.running_option().is_some_and(|running| running != option);
        self.run.size.preemptions += u32::from(preempts);
        Answer::Take(option)
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        if let Stage::Search(search) = &mut self.stage {
            return search.step(event);
        }
        match event {
            Event::Spawn { .. }
            | Event::Unasked { .. }
            | Event::Passed { .. }
            | Event::Actor(_) => {}
            Event::Value { task, taken, .. } => self.run.value(*task, taken.option),
            Event::Step(step) => {
                if !step.immediate {
                    self.guide.moved(step.task);
                }
                self.run.step(step.task, step.immediate);
            }
        }
        None
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.executions += 1;
        let is_like = execution.outcome.is_like(&self.wanted);
        if let Stage::Search(search) = &mut self.stage {
            search.end(execution);
            self.searches.spend(execution.steps);
            if is_like {
                self.given = execution.decisions.iter().map(|taken| taken.option).collect();
                // Those with fewer came first, and none of them showed it.
                self.least = true;
                self.stage = Stage::Found;
            }
            return;
        }
        self.run.end(execution);
        match self.stage {
            Stage::Given { again: false } => self.stage = Stage::Given { again: true },
            Stage::Given { again: true } if is_like => {
                self.from = Some(self.run.size);
                let to = self.run.blocks().len();
                self.best = Some(std::mem::take(&mut self.run));
                self.stage = Stage::Cut { from: 0, to };
            }
            Stage::Found => {
                self.judge(is_like);
                let to = self.best.as_ref().map_or(0, |best| best.blocks().len());
                self.stage = Stage::Cut { from: 0, to };
            }
            Stage::Cut { .. } | Stage::Change { .. } => {
                self.changes.spend(execution.steps);
                self.judge(is_like);
            }
            _ => self.stage = Stage::Last,
        }
    }

    fn covered(&self) -> Covered {
        Covered::Part { executions: self.executions, preemptions: None }
    }

    fn estimating(&self) -> Option<&dyn Estimating> {
        Some(self)
    }
}

impl Estimating for Minimise {
    fn progress(&self) -> Progress {
        match &self.stage {
            Stage::Search(search) => search.progress(),
            _ => Progress::default(),
        }
    }
}

#[cfg(test)]
mod tests;
