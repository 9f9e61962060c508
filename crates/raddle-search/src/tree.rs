//! The search that keeps a tree: every frontier but depth-first, which is `path.rs` and needs none.
//!
//! Each execution that was run makes others known: the same up to a point, another option there, and then the
//! default order. Those are *candidates* (`candidates.rs`), and the [`Frontier`] says which of them is run next:
//! the one with the fewest decisions before it or any with the same chance, as Eta goes about its tree (Simsa,
//! Bryant, Gibson, Hickey, CMU-PDL-11-113, section 3); or the cheapest by priorities (`priority.rs`), as in GAMBIT
//! (Coons, Burckhardt, Musuvathi, `PPoPP` 2010). Executions that were run are kept in the *execution tree*
//! (`nodes.rs`) as long as candidates wait below them.
//!
//! Which candidates an execution makes known is the [`TreeExpansion`]. With `All` nothing is left out but what is
//! out of the bound: races and sleep sets serve to put candidates in order, if a priority asks for them. With a
//! reduction, `Source` or `Classic`, only what a race asks for is run, and no task that sleeps.
//!
//! # Why a reduction is right in any order
//! Whether an alternative is needed at a point is decided by what has been *opened* there, which only grows, and
//! by what slept when the point was reached, which is fixed by the order in which siblings were started
//! (`comparison.rs`). When the search ends, the tree of all it ran is one that a depth-first search with the same
//! order of siblings could have run, with the same sleep sets, and all its races have been answered. This does
//! not depend on which candidate is taken when, so every frontier goes with every expansion.
//!
//! A race may ask for an alternative above the execution's own decision. That point belongs to an ancestor, and
//! what was started there is kept there until nothing waits below it any more: then no execution passes there
//! again.
//!
//! # Where it differs from the papers
//! From GAMBIT: races are found by happens-before and not by the last conflict; sleep sets with a reduction work in
//! this order, too (GAMBIT's were depth first); a candidate whose reason becomes better moves up, and its old
//! entry is skipped. From Eta: the size of a subtree is kept exactly once all of it was run, and what goes on after
//! a candidate is the default order, which may be random as theirs.
//!
//! # Cost
//! Memory: 16 bytes for each candidate; for each execution that is kept, 56 and a byte for each decision; with
//! Eta's estimate, 48 for each point below which something is left (`sizes.rs`); and if executions are compared,
//! some two bytes more for each decision (`path_points.rs`), twelve for each option that waits or was started
//! (`siblings.rs`), and what different steps did, each once (`footprints.rs`). [`Progress`] counts all.
//! With priorities and without a reduction, what does not fit goes to disk (`spill.rs`).
//!
//! Time: an execution repeats its beginning without being asked about it, and there is no notification of steps
//! that the one before had too. Priorities that compare executions, and reductions, are notified of each other
//! step, with clocks.
//!
//! By `pb` alone this is iterative preemption bounding (Musuvathi and Qadeer, PLDI 2007) that repeats nothing: all
//! executions without a preemption, then those with one. Whatever the priorities, [`covered`] names the bound below
//! which nothing is left.
//!
//! [`covered`]: Strategy::covered
//!
//! # Where to add something
//! `candidates.rs`, which is next; `priority.rs`, what candidates cost; `expand.rs`, what an execution makes known,
//! by `all` and by each reduction; `comparison.rs` and `openings.rs`, sleep sets and races; `sizes.rs`, estimates;
//! `saved.rs` and `branches.rs`, how it is saved and divided.
//!
//! Misses: what is out of the bound; what follows an execution that a limit cut off, which the engine
//! counts; with a reduction, what `expansion/reduced.rs` says. Nothing else, if the program does the same under
//! the same decisions. The engine compares an execution with the one before it as far as they share their
//! decisions, which is less here than depth first.
//! Overreports: nothing.
//!
//! # Why: One tree for every frontier
//! Breadth-first, random and best-first differ in what a candidate costs and in which one of equal cost is taken
//! (`tree/candidates.rs`); the tree, the bound, sleep sets, the saved form and the parts for others are the same. So
//! each goes with `all`, `dpor(source)` and `dpor(classic)`.

mod branches;
mod candidates;
mod compact;
mod comparison;
mod current;
mod expand;
mod footprints;
mod memory;
mod new_points;
mod nodes;
mod openings;
mod path_points;
pub mod priority;
mod saved;
mod siblings;
mod sizes;
mod spill;
mod store;
mod visited;
mod windows;

use raddle_engine::op::TaskId;
use raddle_engine::store::Store as Disk;
use raddle_engine::strategy::{
    Answer, Checkpoint, Cut, Divisible, Estimating, Event, Finished, Needs, Options, Plan, Point,
    Remarks, Resumable, SearchPart, Strategy, Taken, Unsupported,
};
use raddle_trace::{Covered, Gaps, Note, Outcome, PairSet, Progress};
use serde::{Deserialize, Serialize};

pub use self::candidates::Frontier;
use self::candidates::Pending;
pub use self::compact::CompactTree;
use self::comparison::{Compares, Comparison, PointNote};
use self::current::Current;
use self::expand::Expander;
pub use self::memory::TreeMemory;
use self::new_points::NewPoints;
use self::nodes::{NONE, Nodes};
use self::sizes::{Recursive, Sizing};
use self::spill::Spill;
use self::store::Store;
pub use self::visited::Keys;
use self::visited::Visited;
use crate::bound::Bound;
pub use crate::cache::Full;
use crate::cache::Used;
use crate::estimate::MetShare;
use crate::expansion::all::CostlyOrder;
use crate::order::{NonPreemptive, Order};

/// Which alternatives an execution opens. The optimal reduction and Eta's are not among them: what they try
/// next belongs to the path they are on, so they go depth first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TreeExpansion {
    /// Every option of every point.
    All,
    /// One execution of each equivalence class, by source sets.
    Source,
    /// The same, with the racing task always.
    Classic,
}

/// Where the search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// Runs every execution within a bound, or one of each equivalence class, in the order of a frontier.
///
/// ```
/// use raddle_search::tree::priority::Preemptions;
/// use raddle_search::tree::{Frontier, TreeExpansion, TreeSearch};
///
/// let frontier = Frontier::BestFirst(vec![Box::new(Preemptions)]);
/// let search = TreeSearch::new(TreeExpansion::All, frontier);
/// assert_eq!(search.name(), "best-first(pb)");
/// ```
#[derive(Debug)]
pub struct TreeSearch<O = NonPreemptive> {
    order: O,
    bound: Bound,
    expansion: TreeExpansion,
    /// As in a composition.
    frontier: String,
    store: Store,
    stage: Stage,
    current: Current,
    new: NewPoints,
    comparison: Option<Box<Comparison>>,
    sizing: Sizing,
    /// Where candidates go that do not fit into memory, if they may.
    spill: Option<Box<Spill>>,
    /// Which prefixes were met, if those are not gone on from again.
    visited: Option<Box<Visited>>,
    /// Whether an execution left its plan.
    diverged: bool,
    /// Whether nothing is taken over from the execution before, however much of it is repeated.
    starts_over: bool,
    /// Whether this is neither a part of a search nor has given parts away.
    whole: bool,
    /// Of a reduction: why what was not run need not be equivalent to what was.
    gaps: Gaps,
    executions: u64,
}

impl TreeSearch {
    /// Searches without a bound, executions going on without preemption.
    ///
    /// # Panics
    /// If there are more than [`MAX_PRIORITIES`](priority::MAX_PRIORITIES) priorities.
    #[must_use]
    pub fn new(expansion: TreeExpansion, frontier: Frontier) -> Self {
        Self::make(expansion, frontier, NonPreemptive, Bound::None)
    }
}

impl<O: Order> TreeSearch<O> {
    /// Searches everything within a bound.
    ///
    /// # Errors
    /// If the default options of `order` are not free under `bound`.
    ///
    /// # Panics
    /// If there are more than [`MAX_PRIORITIES`](priority::MAX_PRIORITIES) priorities.
    pub fn within(frontier: Frontier, order: O, bound: Bound) -> Result<Self, CostlyOrder> {
        if bound.allows(&order) {
            Ok(Self::make(TreeExpansion::All, frontier, order, bound))
        } else {
            Err(CostlyOrder::of(&order))
        }
    }

    /// Searches with a reduction and without a bound, executions going on in this order.
    ///
    /// # Panics
    /// If there are more than [`MAX_PRIORITIES`](priority::MAX_PRIORITIES) priorities.
    #[must_use]
    pub fn along(expansion: TreeExpansion, frontier: Frontier, order: O) -> Self {
        Self::make(expansion, frontier, order, Bound::None)
    }

    fn make(expansion: TreeExpansion, frontier: Frontier, order: O, bound: Bound) -> Self {
        let name = frontier.name();
        let (candidates, priorities) = frontier.begin();
        let (sees, is_best_first) = (priorities.sees, candidates.is_best_first());
        let reduces = expansion != TreeExpansion::All;
        // A reduction needs both whatever the priorities are: races say what to open, sleep sets what not to run again.
        let compares =
            Compares { races: sees.races || reduces, sleep: sees.sleep || reduces, cuts: reduces };
        let has_comparison = compares.races || compares.sleep;
        let comparison = has_comparison.then(|| Box::new(Comparison::new(compares)));
        let sizing = match (reduces, is_best_first, bound) {
            // Best first goes by the weighted rule, which needs no sizes and does not depend on the order; the head of `sizes.rs`
            // says why there is none within a bound or with a reduction.
            (false, false, _) => Sizing::Recursive(Recursive::default()),
            (false, true, Bound::None) => Sizing::Weighted(MetShare::default()),
            _ => Sizing::Nothing,
        };
        // Kept with a node only if siblings may be started there later: see `Compares::keeps_firsts`.
        let nodes = Nodes::new(compares.sleep, compares.keeps_firsts());
        Self {
            order,
            bound,
            expansion,
            frontier: name,
            store: Store::new(nodes, candidates, priorities, has_comparison),
            stage: Stage::First,
            current: Current::default(),
            new: NewPoints::new(sees, has_comparison),
            comparison,
            sizing,
            spill: None,
            visited: None,
            diverged: false,
            starts_over: false,
            whole: true,
            gaps: Gaps::default(),
            executions: 0,
        }
    }

    /// Takes nothing over from the execution before, neither its events nor what slept: what a search costs whose executions
    /// have little in common, for measurements.
    #[must_use]
    pub fn starting_over(self) -> Self {
        Self { starts_over: true, ..self }
    }

    /// Goes on from no prefix that was met before; remembers up to so many. To be called before the first execution.
    ///
    /// # Panics
    /// If the search has a reduction, or compares executions: a prefix that is not gone on from hides races.
    #[must_use]
    pub fn cached(mut self, keys: Keys, prefixes: usize, full: Full) -> Self {
        assert!(self.comparison.is_none(), "executions are not compared beside a cache");
        // Along an explorer two prefixes are the same only if the explorer is in the same state after both, so its state
        // is hashed into the key.
        if let Some(explorer) = self.order.explorer() {
            explorer.with_hashes();
        }
        self.visited = Some(Box::new(Visited::new(keys, prefixes, full)));
        // What is cut has no size of its own, so an estimate would count it as nothing.
        self.sizing = Sizing::Nothing;
        self
    }

    /// The frontier as in a composition.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.frontier
    }

    /// Takes these pairs of statements to have been seen in passing executions before.
    pub fn know(&mut self, pairs: &PairSet) {
        self.store.priorities.know(pairs);
    }

    /// Holds about so many bytes in memory from now on, and the rest of what is left to do on disk. Only best
    /// first without a reduction: other frontiers have no dear part, and a race may ask for something at any
    /// execution that is above what is left.
    pub fn keep_within(&mut self, bytes: u64, store: Box<dyn Disk>) {
        if self.expansion == TreeExpansion::All && self.store.candidates.is_best_first() {
            self.spill = Some(Box::new(Spill::new(bytes, store)));
        }
    }

    /// The next candidate to run; none also if what was moved out of memory cannot be read back.
    fn pop(&mut self) -> Option<Pending> {
        loop {
            if !self.move_in() {
                return None;
            }
            let (bin, pending) = self.store.candidates.pop()?;
            // A candidate that was moved up has a second entry in a cheaper bin. The old one is left where it is, because to find it
            // in its bin would take time in proportion to the bin, and is skipped here.
            if self.store.is_valid(bin, &pending) {
                self.store.start(&pending);
                return Some(pending);
            }
        }
    }

    /// Why the explorer ended the search, if it did.
    fn explorer_trouble(&self) -> Option<&str> {
        self.order.trouble()
    }

    /// What has been covered if all that cost at most so much was run, or all within the bound.
    fn covered_within(&self, most: Option<u32>) -> Covered {
        let bound = match most {
            None => self.bound,
            Some(k) if self.order.explores() => Bound::Delays(k),
            Some(k) => Bound::Preemptions(k),
        };
        let Some(visited) = &self.visited else { return bound.covered() };
        let Used { compared, stored, dropped, cut } = visited.used();
        // The cache left nothing out, so the guarantee is the one without it.
        if cut == 0 {
            return bound.covered();
        }
        // The end of the whole space is a guarantee whatever was met first.
        if visited.keys == Keys::Program && bound != Bound::None {
            return Covered::SomeStrata { executions: self.executions, delays: visited.most };
        }
        // Along an explorer what is spent are delays. Prefixes that strayed were not compared.
        if self.order.explores() {
            let delays = match bound {
                Bound::Delays(k) => Some(k),
                Bound::None | Bound::Preemptions(_) | Bound::Depth(_) => None,
            };
            let uncompared = visited.uncompared;
            return Covered::Strata { delays, compared, stored, dropped, uncompared };
        }
        Covered::Cached { preemptions: bound.preemptions(), compared, stored, dropped }
    }

    fn is_in_trouble(&self) -> bool {
        self.spill.as_ref().is_some_and(|spill| spill.trouble.is_some())
    }

    /// Makes the path of the execution that is next; says how much of it is that of the last one.
    fn make_path(&mut self) -> usize {
        let Stage::Running(mut pending) = self.stage else {
            self.current.clear();
            self.begin_path(0);
            return 0;
        };
        let shared = self.current.follow(pending, &self.store.nodes);
        self.begin_path(shared);
        if let Some(comparison) = &self.comparison {
            // An entry that was left behind may be of a node that had its number before.
            let point = comparison.path.points()[pending.point as usize];
            pending.cost = point.preemptions_with(pending.option);
            self.stage = Stage::Running(pending);
        }
        self.current.preemptions = pending.cost;
        shared
    }

    fn begin_path(&mut self, shared: usize) {
        let Current { path, chain, is_known, .. } = &mut self.current;
        if let Some(comparison) = &mut self.comparison {
            // The last execution did not end, or nodes have other numbers now: nothing may be taken over from it.
            if !*is_known {
                comparison.forget();
            }
            comparison.begin(shared, path, chain, &self.store.nodes);
        }
        *is_known = true;
        self.current.planned = self.current.path.len();
        self.current.preemptions = 0;
    }

    /// The option that is taken first at a new point; none if the execution need not go on.
    fn first_option(&mut self, point: &Point<'_>) -> Option<u32> {
        let value = value_of(point);
        if !self.is_new(point) {
            return None;
        }
        // Without a reduction the default order decides, whether its task sleeps or not: sleeping only makes a candidate
        // dearer there, and every option is run in the end.
        let comparison = self.comparison.as_deref_mut().filter(|one| one.compares.cuts);
        let Some(comparison) = comparison else {
            let default = if value.is_some() { 0 } else { self.order.next(point) };
            if self.order.trouble().is_some() {
                return None;
            }
            assert!(default < point.arity(), "an order takes one of the options");
            return Some(default);
        };
        let option = if comparison.meet(value, &self.current.path, &self.store.nodes) {
            match point.options {
                Options::Value { .. } => Some(0),
                Options::Schedule(choices) => {
                    let awake = |option: u32| !comparison.is_asleep(choices[option as usize].task);
                    self.order.next_of(point, &awake)
                }
            }
        } else {
            None
        };
        // All that can move sleeps, so all that follows is covered. Ops that wait here have not run, and race all the same.
        if option.is_none() {
            comparison.cut_at(point.pending.stuck());
        }
        option
    }

    /// Whether no execution has met this point, or none for as little.
    fn is_new(&mut self, point: &Point<'_>) -> bool {
        let Some(visited) = &mut self.visited else { return true };
        // The default order costs nothing, so an execution costs what its own decision does.
        let spent = match self.stage {
            Stage::Running(pending) => pending.cost,
            _ => 0,
        };
        let salt = self.order.explorer().map(|explorer| explorer.state_at(point));
        visited.meet(point, spent, salt)
    }

    /// The execution has ended: puts it into the tree.
    fn keep(&mut self, limited: bool) {
        let (parent, spent) = match self.stage {
            Stage::Running(pending) => (pending.parent, pending.cost),
            _ => (NONE, 0),
        };
        let (planned, limit) = (self.current.planned, self.bound.limit());
        let reduces = self.expansion != TreeExpansion::All;
        // Not the first execution, which later ones are made from; nor with a reduction, where a race of another execution may
        // ask for something at any of its points.
        let leaf = parent != NONE && !reduces && !self.new.open_any(spent, limit);
        if let Some(comparison) = &mut self.comparison {
            if !comparison.compares.cuts {
                let (path, nodes) = (&self.current.path, &self.store.nodes);
                comparison.go_through(leaf, path, nodes, &self.new.tasks);
            }
            comparison.path.truncate(planned + self.new.all.len());
        }
        let mut expander = Expander {
            expansion: self.expansion,
            limit,
            store: &mut self.store,
            current: &mut self.current,
            new: &mut self.new,
        };
        let comparison = self.comparison.as_deref_mut();
        let id = expander.expand((parent, spent), leaf, limited, comparison);
        match &mut self.sizing {
            Sizing::Nothing => {}
            Sizing::Weighted(met) => met.ended(self.current.path.iter().map(|taken| taken.of)),
            Sizing::Recursive(recursive) => {
                recursive.ended(&self.current.chain, planned, self.new.widths(spent, limit));
            }
        }
        if let Stage::Running(pending) = self.stage {
            // It counted as waiting while it ran, so that `covered` did not claim what it costs.
            self.store.uncount(pending.cost);
        }
        if id == NONE {
            // What was taken at its own decision, which is the parent's.
            let own = planned as u32 - 1;
            let place = own - self.store.nodes.node(parent).from;
            self.store.nodes.end(parent, place, self.current.path[own as usize].option);
        } else {
            self.store.nodes.detach(id);
        }
    }
}

/// Whose value is decided at a point, and whether that is during a step.
fn value_of(point: &Point<'_>) -> Option<(TaskId, bool)> {
    match point.options {
        Options::Schedule(_) => None,
        Options::Value { task, during, .. } => Some((task, during)),
    }
}

impl<O: Order> Strategy for TreeSearch<O> {
    fn needs(&self) -> Needs {
        let sees = self.store.priorities.sees;
        let explores = self.order.explores();
        let hears = explores || self.visited.is_some();
        Needs {
            steps: self.comparison.is_some() || sees.windows || sees.steps || hears,
            contexts: sees.contexts,
            labels: sees.labels || explores,
            on_host: explores,
            messages: explores,
            ..Needs::default()
        }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        match self.stage {
            _ if self.explorer_trouble().is_some() => return false,
            // Candidates that cannot be read back are lost: to say that nothing is left would be false, so the search ends without
            // a claim.
            Stage::Ended if self.is_in_trouble() => return false,
            Stage::Ended => match self.pop() {
                Some(pending) => self.stage = Stage::Running(pending),
                None if self.is_in_trouble() => return false,
                None => self.stage = Stage::Last,
            },
            // One that never ended: again, from the beginning.
            Stage::Running(_) | Stage::First => self.current.is_known = false,
            Stage::Last => {}
        }
        if self.stage == Stage::Last {
            return false;
        }
        self.current.is_known &= !self.starts_over;
        let shared = self.make_path();
        self.order.begin();
        self.sizing.begin(shared);
        if let Some(explorer) = self.order.explorer() {
            explorer.begin();
        }
        if let Some(visited) = &mut self.visited {
            visited.begin(match self.stage {
                Stage::Running(pending) => pending.cost,
                _ => 0,
            });
        }
        self.store.priorities.hearing().for_each(|part| part.begin());
        self.new.clear();
        plan.prefix.clear();
        plan.prefix.extend(self.current.path.iter().map(|taken| taken.option));
        if let Some(comparison) = &mut self.comparison
            && self.new.windows.is_none()
            && !self.store.priorities.sees.steps
        {
            // The history has them. Not where windows or priorities hear of steps: these begin anew with every execution.
            plan.steps_to_skip = comparison.skip_known();
        }
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        // Values and tasks are asked about alike, so the points of an execution are numbered without gaps.
        debug_assert_eq!(
            self.current.planned + self.new.all.len(),
            point.index as usize,
            "engine bug: a point is missing"
        );
        let Some(default) = self.first_option(point) else { return Answer::Cut(Cut::Redundant) };
        let prices = self.order.explorer().map(|explorer| explorer.prices_at(point));
        let new = self.new.push(point, default, prices);
        if let Some(comparison) = &mut self.comparison {
            let preemptions = self.current.preemptions;
            let tasks = (new.tasks, self.new.tasks.len() as u32 - new.tasks);
            let (value, running) = (value_of(point), new.running);
            comparison.note(PointNote { value, running, preemptions, tasks }, &self.new.tasks);
            self.current.preemptions += new.preempts(default);
        }
        Answer::Take(default)
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        if let Some(explorer) = self.order.explorer() {
            explorer.heard(event);
        }
        if let Some(visited) = &mut self.visited {
            visited.heard(event);
        }
        if let Event::Step(step) = event {
            if let Some(windows) = &mut self.new.windows {
                windows.step(step);
            }
            self.store.priorities.hearing().for_each(|part| part.step(step));
        }
        let comparison = self.comparison.as_mut()?;
        let (path, nodes) = (&self.current.path, &self.store.nodes);
        match event {
            Event::Spawn { parent, child } => comparison.spawn(*parent, *child),
            Event::Value { during, .. } => comparison.value(*during, path, nodes),
            Event::Unasked { .. } | Event::Passed { .. } | Event::Actor(_) => {}
            Event::Step(step) => {
                return comparison.step(step, path, nodes).then_some(Cut::Redundant);
            }
        }
        None
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.executions += 1;
        let passed = matches!(execution.outcome, Outcome::Completed);
        self.store.priorities.hearing().for_each(|part| part.end(passed));
        let limited = execution.outcome.is_cut_off();
        self.gaps |= execution.gaps | Gaps { cut_off: limited, ..Gaps::default() };
        let new = execution.decisions.len().saturating_sub(self.current.planned);
        self.diverged |= !self.current.end(execution.decisions, limited);
        self.new.end(new);
        // After a cut the engine runs on without asking. Those decisions are of no point that is kept, and a
        // node with more decisions than points could not be read back.
        self.current.path.truncate(self.current.planned + self.new.all.len());
        if let Some(visited) = &mut self.visited {
            visited.end(self.new.all.len());
        }
        if let Some(comparison) = self.comparison.as_mut().filter(|one| !one.cut) {
            comparison.stuck.extend_from_slice(execution.stuck);
        }
        // What ends its process has shown all that leads to that; what a limit cuts off is long.
        self.keep(matches!(execution.outcome, Outcome::Limit { .. }));
        self.stage = Stage::Ended;
        self.store.purge();
        self.relieve();
    }

    /// Before the end, best first: every execution that costs less than all that wait.
    fn covered(&self) -> Covered {
        let executions = self.executions;
        let part = Covered::Part { executions, preemptions: self.bound.preemptions() };
        let reduces = self.expansion != TreeExpansion::All;
        match self.stage {
            _ if self.diverged || !self.whole => part,
            Stage::Last if !reduces => self.covered_within(None),
            Stage::Last => Covered::of_reduction(executions, self.gaps),
            Stage::Running(_) | Stage::Ended
                if !reduces && self.store.candidates.is_best_first() =>
            {
                match self.store.least_cost() {
                    None => self.covered_within(None),
                    Some(0) => part,
                    // Costs only grow along an execution, so what waits at cost k leads to nothing cheaper than k: all below has been run.
                    Some(least) => self.covered_within(Some(least - 1)),
                }
            }
            _ => part,
        }
    }

    fn remarks(&self) -> Remarks {
        let notes = self.store.priorities.notes();
        let notes = notes.into_iter().map(|text| Note::Text { text }).collect();
        let mistake = self.explorer_trouble().map(str::to_owned);
        let mistaken = mistake.is_some();
        let spill = || self.spill.as_ref().and_then(|spill| spill.trouble.clone());
        Remarks { notes, unfinished: mistake.or_else(spill), mistaken }
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

impl<O: Order> Resumable for TreeSearch<O> {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        self.saved()
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        self.go_on(state)
    }
}

impl<O: Order> Divisible for TreeSearch<O> {
    fn split(&mut self, n: usize) -> Result<Vec<SearchPart>, Unsupported> {
        self.give(n)
    }

    fn parts(&self) -> usize {
        match self.stage {
            Stage::First => 1,
            Stage::Last => 0,
            Stage::Running(_) => self.store.pending() as usize + 1,
            Stage::Ended => self.store.pending() as usize,
        }
    }

    fn claim(&self) -> Covered {
        let executions = self.executions;
        match self.expansion {
            _ if self.diverged => {
                Covered::Part { executions, preemptions: self.bound.preemptions() }
            }
            // Of the parts together, each of which has run all of its own: see `Divisible::claim`.
            TreeExpansion::All => self.covered_within(None),
            _ => Covered::of_reduction(executions, self.gaps),
        }
    }

    fn dissolve(&mut self) -> Result<Vec<SearchPart>, Unsupported> {
        self.give_all()
    }
}

impl<O: Order> Estimating for TreeSearch<O> {
    fn progress(&self) -> Progress {
        let path = self.current.path.capacity() * size_of::<Taken>();
        let comparison = self.comparison.as_ref().map_or(0, |comparison| comparison.bytes());
        let spill = self.spill.as_ref().map_or(0, |spill| spill.bytes());
        let visited = self.visited.as_ref().map_or(0, |visited| visited.bytes());
        let bytes = self.tree_bytes() + path + comparison + spill + visited + self.sizing.bytes();
        let (waiting, kind) = (self.store.pending(), self.store.candidates.kind());
        let counts = (self.executions, waiting);
        let read = self.sizing.read(kind, counts, self.whole, self.diverged);
        let covered = match self.stage {
            Stage::Last => Some(1.0),
            _ => read.map(|(_, share)| share),
        };
        let bound = match self.covered() {
            Covered::Preemptions(k)
            | Covered::Delays(k)
            | Covered::Cached { preemptions: Some(k), .. }
            | Covered::Strata { delays: Some(k), .. }
                if self.stage != Stage::Last =>
            {
                Some(k)
            }
            _ => None,
        };
        Progress {
            covered,
            estimate: read.map(|(estimate, _)| estimate),
            bound,
            pending: waiting + u64::from(self.stage == Stage::First),
            frontier_bytes: bytes as u64,
            ..Progress::default()
        }
    }
}

#[cfg(test)]
mod frontier_tests;
#[cfg(test)]
mod tests;
