//! Best-first search: every execution once, the most promising first.
//!
//! GAMBIT (Coons, Burckhardt, Musuvathi, `PPoPP` 2010). Each execution that was run makes others known: the
//! same up to a point, another option there, and then the default order. Those wait in the *fringe*
//! (`fringe.rs`) by what they cost, and the cheapest is run next. What was run is kept in the *execution
//! tree* (`nodes.rs`) as long as something below it waits. What something costs is the business of
//! priorities (`priority.rs`), each a small file of its own.
//!
//! With the expansion `all` nothing is left out but what is out of the bound: races and sleep sets serve
//! to put candidates in order. With a reduction ([`Reduction::Source`] or [`Reduction::Classic`]) only what
//! a race asks for is run, and nobody who sleeps. The argument that this is right in any order: whether an
//! alternative is needed at a point is asked of what has been *opened* there, which only grows, and of what
//! slept when the point was reached, which is fixed by the order in which siblings were started
//! (`analysis.rs`). When the search ends, the tree of all it ran is one that a depth-first search with the
//! same order of siblings could have run, with the same sleep sets, and all its races are taken care of.
//!
//! A race may ask for an alternative above the execution's own decision. That belongs to the ancestor which
//! owns the point, and what was done there is kept there, until nothing waits below it any more: then no
//! execution passes there again.
//!
//! Where it differs from GAMBIT: races are found by happens-before and not by the last conflict; sleep
//! sets with a reduction are there in this order, too (GAMBIT's were depth first); a candidate whose reason
//! becomes better moves up, and its old entry is skipped.
//!
//! Memory: 16 bytes for each that waits; for each that was run and has some that wait below it, 56 and a
//! byte for each decision; and if executions are compared, some two bytes more for each decision (`road.rs`),
//! twelve for each option that waits or was started (`siblings.rs`), and what different steps did, each
//! once (`footprints.rs`). [`Progress`] counts all.
//! If it may not hold all that, the dear part goes to a store (`spill.rs`), and it can be saved and split
//! (`saved.rs`); not with a reduction, whose races may ask for something at any execution that is kept.
//!
//! Time: an execution repeats its beginning without being asked about it, and hears of no step that the one
//! before had too. Priorities that compare executions, and reductions, hear of each other step, with clocks.
//!
//! By `pb` alone this is iterative preemption bounding (Musuvathi and Qadeer, PLDI 2007) that repeats
//! nothing: all executions without a preemption, then those with one. Whatever the priorities, [`covered`]
//! names the bound below which nothing is left.
//!
//! How much of all of it there is is estimated by the weighted rule, which knows no order (`estimate.rs`); not
//! within a bound, nor with a reduction.
//!
//! [`covered`]: Strategy::covered
//!
//! Who adds something finds it in: `priority.rs`, what candidates cost; `expand.rs`, what an execution makes
//! known, by `all` and by each reduction; `analysis.rs`, races and sleep sets; `next.rs`, which is next;
//! `nodes.rs`, `road.rs`, `siblings.rs` and `footprints.rs`, what is kept; `saved.rs`, how that is saved.
//!
//! Misses: what is out of the bound; what follows an execution that a limit cut off, which the engine
//! counts; with a reduction, what `dpor.rs` says. With a reduction spurious wake-ups are refused: of a wait
//! that also has a timeout not all races are known, which loses executions in some orders. Nothing else, if
//! the program does the same under the same decisions.
//! Overreports: nothing.

mod analysis;
mod expand;
mod footprints;
mod fringe;
mod held;
mod next;
mod nodes;
mod parcel;
mod priority;
mod road;
mod saved;
mod siblings;
mod spill;
mod windows;

use raddle_engine::context::Context;
use raddle_engine::op::{Op, TaskId};
use raddle_engine::store::Store;
use raddle_engine::strategy::{
    Answer, Checkpoint, Cut, Divisible, Estimating, Event, Finished, Label, Needs, Options, Plan,
    Point, Remarks, Resumable, Strategy, Taken, Unsupported, Work,
};
use raddle_trace::{Covered, Note, Outcome, PairSet, Progress};

use self::analysis::{Analysis, New};
use self::fringe::{Fringe, Pending};
pub use self::held::Held;
use self::nodes::{Link, NONE, Nodes};
use self::priority::Priorities;
pub(crate) use self::priority::name;
pub use self::priority::{
    By, Candidate, Cost, Delays, Dpor, MOST, Method, ModifiedDpor, NewPair, Patterns, Preemptions,
    Priority, Rand, Reversal, Sees, SleepSets, Sum, Var, Window,
};
use self::siblings::Sibling;
use self::spill::Spill;
use self::windows::Windows;
use crate::bound::Bound;
use crate::estimate;
use crate::expansion::all::CostlyOrder;
use crate::expansion::reduced::Reduction;
use crate::order::{NonPreemptive, Order};

/// A point met for the first time.
#[derive(Clone, Copy, Debug)]
struct Met {
    of: u32,
    default: u32,
    /// The option of the running task, or none.
    running: u32,
    /// Who could move, among those of all points; none if nobody asked.
    tasks: u32,
    value: bool,
}

impl Met {
    fn preempts(self, option: u32) -> u32 {
        u32::from(self.running != u32::MAX && option != self.running)
    }
}

/// Where the search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing was run: the first execution is the default one.
    First,
    /// This one is to be run, or is being run.
    Running(Pending),
    /// An execution was run to its end.
    Ended,
    /// Nothing is left.
    Last,
}

/// Runs every execution within a bound, or one of each equivalence class, the cheapest first.
///
/// ```
/// use raddle_search::best_first::{BestFirst, Preemptions};
///
/// let search = BestFirst::new(vec![Box::new(Preemptions)]);
/// assert_eq!(search.name(), "best-first(pb)");
/// ```
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub struct BestFirst<O = NonPreemptive> {
    order: O,
    bound: Bound,
    reduction: Option<Reduction>,
    priorities: Priorities,
    nodes: Nodes,
    fringe: Fringe,
    stage: Stage,
    /// The decisions of the current execution: as planned, then all.
    path: Vec<Taken>,
    planned: usize,
    /// The nodes that lead to the current execution, and to the next one.
    chain: Vec<Link>,
    next: Vec<Link>,
    /// Whether the last execution is not one to share decisions with.
    stale: bool,
    /// New points of the current execution.
    met: Vec<Met>,
    tasks: Vec<TaskId>,
    ops: Vec<Option<Op>>,
    /// From where they are called, and what their objects are called; if a priority asks.
    contexts: Vec<Context>,
    labels: Vec<Option<Label>>,
    windows: Option<Box<Windows>>,
    /// Why their options are to be run, by the races of the current execution.
    reversals: Vec<Reversal>,
    /// Preemptions of the current execution so far, if executions are compared.
    spent: u32,
    /// Room to work in.
    siblings: Vec<Sibling>,
    /// What waits or runs, by its preemptions.
    left: Vec<u64>,
    analysis: Option<Box<Analysis>>,
    diverged: bool,
    /// Whether this is neither a part of a search nor has given parts away.
    whole: bool,
    /// Where candidates go that do not fit into memory, if they may.
    spill: Option<Box<Spill>>,
    /// Of a reduction: what was not run need not be equivalent to what was.
    incomplete: bool,
    executions: u64,
    /// Of all of it without a bound: what a random descent would meet.
    chances: estimate::Met,
}

impl BestFirst {
    /// Searches everything. At most [`MOST`] priorities.
    ///
    /// # Panics
    /// If there are more.
    #[must_use]
    pub fn new(priorities: Vec<Box<dyn Priority>>) -> Self {
        Self::unbounded(priorities, NonPreemptive)
    }

    /// Searches one execution of each equivalence class, if it can be this reduction's. None: the optimal
    /// one goes depth first, what it tries next belongs to the path it is on.
    ///
    /// # Panics
    /// If there are more than [`MOST`] priorities.
    #[must_use]
    pub fn reduced(reduction: Reduction, priorities: Vec<Box<dyn Priority>>) -> Option<Self> {
        if reduction == Reduction::Optimal {
            return None;
        }
        let mut search = Self::unbounded(priorities, NonPreemptive);
        search.reduction = Some(reduction);
        search.analysis = Some(Box::new(Analysis::reducing()));
        search.nodes = Nodes::new(true, false);
        Some(search)
    }
}

impl<O: Order> BestFirst<O> {
    fn unbounded(priorities: Vec<Box<dyn Priority>>, order: O) -> Self {
        let priorities = Priorities::new(priorities);
        let Sees { races, sleep: sleeps, windows, .. } = priorities.sees;
        let compares = races || sleeps;
        let analysis = compares.then(|| Analysis::new(races, sleeps));
        Self {
            order,
            bound: Bound::None,
            reduction: None,
            priorities,
            nodes: Nodes::new(sleeps, sleeps),
            fringe: Fringe::new(),
            stage: Stage::First,
            path: Vec::new(),
            planned: 0,
            chain: Vec::new(),
            next: Vec::new(),
            stale: true,
            met: Vec::new(),
            tasks: Vec::new(),
            ops: Vec::new(),
            contexts: Vec::new(),
            labels: Vec::new(),
            windows: windows.then(Box::default),
            reversals: Vec::new(),
            spent: 0,
            siblings: Vec::new(),
            left: Vec::new(),
            analysis: analysis.map(Box::new),
            diverged: false,
            whole: true,
            spill: None,
            incomplete: false,
            executions: 0,
            chances: estimate::Met::default(),
        }
    }

    /// Searches everything within a bound.
    ///
    /// # Errors
    /// If the default options of `order` are not free under `bound`.
    ///
    /// # Panics
    /// If there are more than [`MOST`] priorities.
    pub fn within(
        priorities: Vec<Box<dyn Priority>>,
        order: O,
        bound: Bound,
    ) -> Result<Self, CostlyOrder> {
        if bound.allows(&order) {
            Ok(Self { bound, ..Self::unbounded(priorities, order) })
        } else {
            Err(CostlyOrder::of(&order))
        }
    }

    /// The frontier as in a composition.
    #[must_use]
    pub fn name(&self) -> String {
        self.priorities.name()
    }

    fn records_tasks(&self) -> bool {
        self.analysis.is_some() || self.priorities.sees.ops || self.windows.is_some()
    }

    /// Notes who could move at a new point, and what the priorities ask of them.
    fn record(&mut self, point: &Point<'_>) {
        let sees = self.priorities.sees;
        if let Some(windows) = &mut self.windows {
            windows.point();
        }
        let choices = match point.options {
            Options::Schedule(choices) => choices,
            Options::Value { task, of, .. } => {
                let of = of as usize;
                self.tasks.extend(std::iter::repeat_n(task, of));
                self.ops.extend(std::iter::repeat_n(None, if sees.ops { of } else { 0 }));
                let contexts = if sees.contexts > 0 { of } else { 0 };
                self.contexts.extend(std::iter::repeat_n(Context::NONE, contexts));
                self.labels.extend(std::iter::repeat_n(None, if sees.labels { of } else { 0 }));
                return;
            }
        };
        let tasks = choices.iter().map(|choice| choice.task);
        self.tasks.extend(tasks.clone());
        if sees.ops {
            self.ops.extend(tasks.clone().map(|task| point.pending.op(task)));
        }
        if sees.contexts > 0 {
            self.contexts.extend(tasks.clone().map(|task| point.pending.context(task)));
        }
        if sees.labels {
            let label = |task| point.pending.label(point.pending.op(task)?.object);
            self.labels.extend(tasks.map(label));
        }
    }
}

impl<O: Order> BestFirst<O> {
    /// Takes these pairs of statements to have been seen in passing executions before.
    pub fn know(&mut self, pairs: &PairSet) {
        self.priorities.know(pairs);
    }

    /// Holds about so many bytes in memory from now on, and the rest of what is left to do in a store.
    ///
    /// Not with a reduction: a race may ask for something at any execution that is above what is left, so
    /// those must be at hand.
    pub fn keep_within(&mut self, bytes: u64, store: Box<dyn Store>) {
        if self.reduction.is_none() {
            self.spill = Some(Box::new(Spill::new(bytes, store)));
        }
    }
}

impl<O: Order> Strategy for BestFirst<O> {
    fn needs(&self) -> Needs {
        let sees = self.priorities.sees;
        Needs {
            steps: self.analysis.is_some() || self.windows.is_some() || sees.steps,
            contexts: sees.contexts,
            labels: sees.labels,
            ..Needs::default()
        }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        match self.stage {
            Stage::Ended if self.is_in_trouble() => return false,
            Stage::Ended => match self.pop() {
                Some(pending) => self.stage = Stage::Running(pending),
                None if self.is_in_trouble() => return false,
                None => self.stage = Stage::Last,
            },
            // One that never ended: again, from the beginning.
            Stage::Running(_) | Stage::First => self.stale = true,
            Stage::Last => {}
        }
        let shared = match self.stage {
            Stage::Last | Stage::Ended => return false,
            Stage::First => {
                self.path.clear();
                self.chain.clear();
                0
            }
            Stage::Running(pending) => self.make_path(pending),
        };
        self.planned = self.path.len();
        self.chances.begin(shared);
        if let Some(analysis) = &mut self.analysis {
            if self.stale {
                analysis.forget();
            }
            analysis.begin(shared, &self.path, &self.chain, &self.nodes);
            if let Stage::Running(pending) = &mut self.stage {
                // An entry that was left behind may be of a node that had its number before.
                let stop = analysis.road.stops()[pending.point as usize];
                pending.preemptions = stop.preemptions_with(pending.option);
            }
        }
        self.spent = match self.stage {
            Stage::Running(pending) => pending.preemptions,
            _ => 0,
        };
        self.priorities.hearing().for_each(|part| part.begin());
        self.stale = false;
        self.met.clear();
        self.tasks.clear();
        self.ops.clear();
        self.contexts.clear();
        self.labels.clear();
        if let Some(windows) = &mut self.windows {
            windows.begin();
        }
        plan.prefix.clear();
        plan.prefix.extend(self.path.iter().map(|taken| taken.option));
        if self.windows.is_none()
            && !self.priorities.sees.steps
            && let Some(analysis) = &mut self.analysis
        {
            plan.steps_to_skip = analysis.hush();
        }
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        debug_assert_eq!(
            self.planned + self.met.len(),
            point.index as usize,
            "engine bug: a point is missing"
        );
        let of = point.arity();
        let value = match point.options {
            Options::Schedule(_) => None,
            Options::Value { task, during, .. } => Some((task, during)),
        };
        if let Some(analysis) = &mut self.analysis
            && analysis.cuts
            && !analysis.meet(value, &self.path, &self.nodes)
        {
            analysis.cut_at(point.pending);
            return Answer::Cut(Cut::Redundant);
        }
        let mut default = match point.options {
            Options::Schedule(_) => self.order.next(point),
            Options::Value { .. } => 0,
        };
        assert!(default < of, "an order takes one of the options");
        if let (Some(analysis), Options::Schedule(choices)) = (&mut self.analysis, point.options)
            && analysis.cuts
        {
            let awake = |option: &u32| !analysis.is_asleep(choices[*option as usize].task);
            // As the depth-first reductions do.
            let running = point.running_option().filter(awake);
            let Some(option) = running.or_else(|| (0..of).find(awake)) else {
                analysis.cut_at(point.pending);
                return Answer::Cut(Cut::Redundant);
            };
            default = option;
        }
        let running = match value {
            None => point.running_option().unwrap_or(u32::MAX),
            Some(_) => u32::MAX,
        };
        let mut tasks = u32::MAX;
        if self.records_tasks() {
            tasks = self.tasks.len() as u32;
            self.record(point);
        }
        let met = Met { of, default, running, tasks, value: value.is_some() };
        self.met.push(met);
        if let Some(analysis) = &mut self.analysis {
            let (preemptions, tasks) = (self.spent, (tasks, self.tasks.len() as u32 - tasks));
            analysis.note(New { value, running, preemptions, tasks }, &self.tasks);
            self.spent += met.preempts(default);
        }
        Answer::Take(default)
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        if let Event::Step(step) = event {
            if let Some(windows) = &mut self.windows {
                windows.step(step);
            }
            self.priorities.hearing().for_each(|part| part.step(step));
        }
        let analysis = self.analysis.as_mut()?;
        match event {
            Event::Spawn { parent, child } => analysis.spawn(*parent, *child),
            Event::Value { during, .. } => analysis.value(*during, &self.path, &self.nodes),
            Event::Step(step) => {
                return analysis.step(step, &self.path, &self.nodes).then_some(Cut::Redundant);
            }
        }
        None
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.executions += 1;
        let passed = matches!(execution.outcome, Outcome::Completed);
        self.priorities.hearing().for_each(|part| part.end(passed));
        let limited = execution.outcome.is_cut_off();
        let taken = execution.decisions;
        let same = |(planned, taken): (&Taken, &Taken)| planned == taken;
        if (taken.len() < self.planned && !limited) || !self.path.iter().zip(taken).all(same) {
            self.diverged = true;
            self.stale = true;
        }
        // A limit on time may cut the plan itself.
        self.stale |= taken.len() < self.planned;
        self.incomplete |= execution.irregular || limited;
        // A limit may end an execution at a point that was asked about.
        let new = taken.len().saturating_sub(self.planned);
        self.met.truncate(new);
        if let Some(windows) = &mut self.windows {
            windows.find();
        }
        let (parent, spent) = match self.stage {
            Stage::Running(pending) => (pending.parent, pending.preemptions),
            _ => (NONE, 0),
        };
        self.path.extend_from_slice(taken.get(self.planned..).unwrap_or_default());
        let leaf = parent != NONE && self.reduction.is_none() && !self.opens(spent);
        if let Some(analysis) = &mut self.analysis {
            if !analysis.cuts {
                analysis.go_through(leaf, &self.path, &self.nodes, &self.tasks);
            }
            analysis.road.truncate(self.planned + new);
            if !analysis.cut {
                analysis.stuck.extend_from_slice(execution.stuck);
            }
        }
        if self.estimates() {
            self.chances.ended(self.path.iter().map(|taken| taken.of));
        }
        // What ends its process has shown all that leads to that; what a limit cuts off is long.
        let long = matches!(execution.outcome, Outcome::Limit { .. });
        let id = self.expand(parent, spent, leaf, long);
        if let Stage::Running(pending) = self.stage {
            self.left[pending.preemptions as usize] -= 1;
        }
        if id == NONE {
            // What was taken at its own decision, which is the parent's.
            let own = self.planned as u32 - 1;
            let place = own - self.nodes.node(parent).from;
            self.nodes.end(parent, place, self.path[own as usize].option);
        } else {
            self.nodes.detach(id);
        }
        self.stage = Stage::Ended;
        self.purge();
        self.relieve();
    }

    /// Before the end: every execution with fewer preemptions than all that wait.
    fn covered(&self) -> Covered {
        let executions = self.executions;
        let part = Covered::Part { executions, preemptions: self.bound.preemptions() };
        if self.diverged || !self.whole {
            return part;
        }
        match (self.stage, self.reduction) {
            (Stage::Last, Some(_)) if !self.incomplete => Covered::Equivalence,
            (_, Some(_)) | (Stage::First, _) => part,
            (Stage::Last, None) => self.bound.covered(),
            (_, None) => match self.left.iter().position(|&left| left > 0) {
                None => self.bound.covered(),
                Some(0) => part,
                Some(least) => Covered::Preemptions(least as u32 - 1),
            },
        }
    }

    fn remarks(&self) -> Remarks {
        let notes = self.priorities.notes().into_iter().map(|text| Note::Text { text }).collect();
        let unfinished = self.spill.as_ref().and_then(|spill| spill.trouble.clone());
        Remarks { notes, unfinished }
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

impl<O: Order> Resumable for BestFirst<O> {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        self.save_all()
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        self.restore_all(state)
    }
}

impl<O: Order> Divisible for BestFirst<O> {
    fn split(&mut self, n: usize) -> Result<Vec<Work>, Unsupported> {
        self.give(n)
    }
}

impl<O: Order> Estimating for BestFirst<O> {
    fn progress(&self) -> Progress {
        let path = self.path.capacity() * size_of::<Taken>();
        let analysis = self.analysis.as_ref().map_or(0, |analysis| analysis.bytes());
        let spill = self.spill.as_ref().map_or(0, |spill| spill.bytes());
        let chances = self.chances.bytes();
        let frontier_bytes = (self.tree_bytes() + path + analysis + spill + chances) as u64;
        let pending = self.pending() + u64::from(self.stage == Stage::First);
        let estimate = self.estimate();
        let covered = match self.stage {
            Stage::Last => Some(1.0),
            _ => estimate.map(|_| self.chances.share()),
        };
        let bound = match self.covered() {
            Covered::Preemptions(k) if self.stage != Stage::Last => Some(k),
            _ => None,
        };
        Progress { covered, estimate, bound, pending, frontier_bytes, ..Progress::default() }
    }
}

#[cfg(test)]
mod tests;
