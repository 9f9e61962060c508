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
//! Memory: 16 bytes for each that waits; for each that was run and has some that wait below it, 72 and a
//! byte for each decision; and if executions are compared, what `known.rs` keeps. [`Progress`] counts all.
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
//! [`covered`]: Strategy::covered
//!
//! Misses: what is out of the bound; what follows an execution that a limit cut off, which the engine
//! counts; with a reduction, what `dpor.rs` says. With a reduction spurious wake-ups are refused: of a wait
//! that also has a timeout not all races are known, which loses executions in some orders. Nothing else, if
//! the program does the same under the same decisions.
//! Overreports: nothing.

mod analysis;
mod fringe;
mod known;
mod nodes;
mod parcel;
mod priority;
mod saved;
mod spill;
mod windows;

use raddle_engine::context::Context;
use raddle_engine::op::{Op, TaskId};
use raddle_engine::store::Store;
use raddle_engine::strategy::{
    Answer, Checkpoint, Cut, Finished, Label, Needs, Options, Plan, Point, Step, Strategy, Taken,
    Unsupported, Work,
};
use raddle_trace::{Covered, Note, Outcome, PairSet, Progress, Settings, Timeouts};

use self::analysis::{Analysis, Opening};
use self::fringe::{Fringe, Pending};
use self::known::{CLOSED, Done, Known, Place, STARTED, Slot};
use self::nodes::{Link, NONE, Nodes};
use self::priority::Priorities;
pub(crate) use self::priority::name;
pub use self::priority::{
    By, Candidate, Cost, Delays, Dpor, MOST, Method, ModifiedDpor, NewPair, Patterns, Preemptions,
    Priority, Rand, Reversal, Sees, SleepSets, Sum, Var, Window,
};
use self::spill::Spill;
use self::windows::Windows;
use crate::bound::Bound;
use crate::depth_first::CostlyOrder;
use crate::dpor::Reduction;
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

/// What a search holds, and what it would hold otherwise. GAMBIT's Figure 5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Held {
    /// Executions that were run and are kept, for what waits below them.
    pub nodes: u64,
    /// Executions that wait.
    pub pending: u64,
    /// Bytes of both, with all that is kept for them and with spare room. What is out of memory is not
    /// among them.
    pub bytes: u64,
    /// Decisions of all those in memory, if each were kept as the list of its decisions: of one that was
    /// run, to its end; of one that waits, to the one that is its own.
    pub decisions: u64,
    /// Nodes of the tree of partial schedules that have those in memory below them: one for each decision.
    pub partial: u64,
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
            nodes: Nodes::default(),
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
            left: Vec::new(),
            analysis: analysis.map(Box::new),
            diverged: false,
            whole: true,
            spill: None,
            incomplete: false,
            executions: 0,
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

    /// Executions that are known and were not run, the current one among them.
    #[must_use]
    pub fn pending(&self) -> u64 {
        self.left.iter().sum()
    }

    /// Executions that were run and are kept, for what waits below them.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// What it holds. Takes time in proportion to that.
    #[must_use]
    pub fn held(&self) -> Held {
        let waits = self.fringe.bins().flat_map(|(_, bin, entries)| {
            entries.iter().filter(move |pending| self.is_valid(bin, pending))
        });
        let (mut decisions, mut partial) = (0, 0);
        for pending in waits {
            decisions += u64::from(pending.point) + 1;
            partial += 1;
        }
        for (all, own) in self.nodes.lengths() {
            decisions += all;
            partial += own;
        }
        Held {
            nodes: self.nodes.len() as u64,
            pending: self.pending(),
            bytes: (self.fringe.bytes() + self.nodes.bytes()) as u64,
            decisions,
            partial,
        }
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

    /// The next one to run; none also if what was moved out of memory cannot be read back.
    fn pop(&mut self) -> Option<Pending> {
        loop {
            if self.spill.is_some() && !self.move_in() {
                return None;
            }
            let (bin, pending) = self.fringe.pop()?;
            if self.is_valid(bin, &pending) {
                return Some(self.start(pending));
            }
        }
    }

    fn is_in_trouble(&self) -> bool {
        self.spill.as_ref().is_some_and(|spill| spill.trouble.is_some())
    }

    /// Makes the path that leads to a candidate; says how much of it is that of the last execution.
    fn make_path(&mut self, pending: Pending) -> usize {
        self.nodes.chain(pending.parent, &mut self.next);
        if self.stale {
            self.path.clear();
            self.chain.clear();
        }
        let same = self.chain.iter().zip(&self.next).take_while(|(a, b)| a == b).count();
        // Each goes its own way from where the next node of either begins.
        let ends = |chain: &[Link]| chain.get(same).map(|link| link.from - 1);
        let shared = if same == 0 {
            0
        } else {
            let met = self.path.len() as u32;
            let old = ends(&self.chain).unwrap_or(met).min(met);
            old.min(ends(&self.next).unwrap_or(pending.point))
        };
        self.path.truncate(shared as usize);
        // Its parent's decision at the point, for the number of options there.
        self.nodes.follow(&self.next, pending.point + 1, &mut self.path);
        self.path[pending.point as usize].option = pending.option;
        std::mem::swap(&mut self.chain, &mut self.next);
        shared as usize
    }

    /// A new candidate of the node at `parent`.
    fn insert(&mut self, parent: u32, candidate: &Candidate) {
        let key = self.priorities.cost(candidate);
        let &Candidate { point, option, preemptions, reversal, .. } = candidate;
        let bin = self.fringe.push(key, Pending { parent, point, option, preemptions });
        let node = self.nodes.node_mut(parent);
        node.open += 1;
        if let Some(known) = &mut node.known {
            let slot = known.slot_mut(point - node.from, option);
            (slot.bin, slot.reversal) = (bin, reversal);
        }
        self.count(preemptions);
    }

    /// Puts the execution into the tree; says where. A `leaf` has nothing below it, and is not kept.
    fn keep(&mut self, parent: u32, leaf: bool, known: Option<Box<Known>>) -> u32 {
        let from = self.planned as u32;
        let id = if leaf && parent != NONE {
            NONE
        } else {
            self.nodes.insert(parent, from, &self.path, known)
        };
        self.chain.push(Link { node: id, from });
        id
    }

    /// All options of the new points that are within the bound, the deepest last, so that it is next
    /// among equals.
    fn open_all(&mut self, id: u32, spent: u32) {
        let limit = self.bound.limit();
        let delays = self.nodes.node(id).delays + 1;
        let mut before = spent;
        for at in 0..self.met.len() {
            let met = self.met[at];
            for option in (0..met.of).rev().filter(|option| *option != met.default) {
                let preemptions = before + met.preempts(option);
                if preemptions > limit {
                    continue;
                }
                let mut candidate = self.candidate(at, option, preemptions, delays);
                if let Some(analysis) = &self.analysis {
                    let stop = analysis.road[self.planned + at];
                    let asleep = |task| analysis.sleeping(&stop).iter().any(|s| s.task == task);
                    candidate.asleep = stop.redundant || candidate.task.is_some_and(asleep);
                    if let Some(known) = &self.nodes.node(id).known
                        && let Some(slot) = known.slot(at as u32, option)
                    {
                        candidate.reversal = slot.reversal;
                    }
                }
                self.insert(id, &candidate);
            }
            before += met.preempts(met.default);
        }
    }

    /// A candidate at a new point.
    fn candidate(&self, at: usize, option: u32, preemptions: u32, delays: u32) -> Candidate {
        let met = self.met[at];
        let seen = (met.tasks != u32::MAX && !met.value).then_some(met.tasks as usize);
        let of = |option: u32| seen.map(|from| from + option as usize);
        let op = |option: u32| of(option).and_then(|at| self.ops.get(at).copied().flatten());
        let context = |option: u32| of(option).and_then(|at| self.contexts.get(at).copied());
        let label = |option: u32| of(option).and_then(|at| self.labels.get(at).copied().flatten());
        let task = of(option).map(|at| self.tasks[at]);
        let window = self.windows.as_ref().zip(task);
        Candidate {
            point: (self.planned + at) as u32,
            option,
            of: met.of,
            preemptions,
            delays,
            preempts: met.preempts(option) > 0,
            task,
            op: op(option),
            instead: op(met.default),
            context: context(option).unwrap_or_default(),
            instead_context: context(met.default).unwrap_or_default(),
            label: label(option),
            instead_label: label(met.default),
            reversal: Reversal::None,
            asleep: false,
            window: window.map_or(Window::None, |(windows, task)| windows.broken(at, task)),
        }
    }

    /// Whether a new point has an option that is within the bound and was not taken.
    fn opens(&self, spent: u32) -> bool {
        let limit = self.bound.limit();
        let mut before = spent;
        self.met.iter().any(|met| {
            let cheap = |option| option != met.default && before + met.preempts(option) <= limit;
            let opens = before < limit || (0..met.of).any(cheap);
            before += met.preempts(met.default);
            opens
        })
    }

    /// What is known of the new points.
    fn known(&self, spent: u32) -> Option<Box<Known>> {
        let analysis = self.analysis.as_ref()?;
        let mut known = Known::default();
        let options = self.met.iter().map(|met| met.of as usize).sum();
        known.places.reserve_exact(self.met.len());
        known.slots.reserve_exact(options);
        let mut preemptions = spent;
        for (at, met) in self.met.iter().enumerate() {
            let Met { of, running, value, .. } = *met;
            let (event, first) = (analysis.road[self.planned + at].event, known.slots.len() as u32);
            let record = u32::MAX;
            known.places.push(Place { event, first, of, preemptions, running, record, value });
            for option in 0..of {
                let task = self.tasks[(met.tasks + option) as usize];
                let bin = if option == met.default { STARTED } else { CLOSED };
                known.slots.push(Slot { task, bin, reversal: Reversal::None });
            }
            preemptions += met.preempts(met.default);
        }
        Some(Box::new(known))
    }

    /// Compares the execution, which is the node at `id` or none, with those it could have been.
    fn compare(&mut self, id: u32, limited: bool) {
        let Some(mut analysis) = self.analysis.take() else { return };
        analysis.settle(id);
        if analysis.sleeps {
            if let Some(own) = self.planned.checked_sub(1) {
                self.learn(&analysis, own);
            }
            if self.reduction.is_none() {
                (self.planned..analysis.road.len()).for_each(|at| self.learn(&analysis, at));
            }
        }
        if analysis.races && !limited {
            analysis.find_openings(self.reduction.is_some());
            for at in 0..analysis.openings.len() {
                let opening = analysis.openings[at];
                match self.reduction {
                    None => self.prefer(&analysis, &opening),
                    Some(reduction) => self.open(&analysis, &opening, reduction),
                }
            }
        }
        self.analysis = Some(analysis);
    }

    /// What was taken at a decision of the path sleeps for those that are started there later.
    fn learn(&mut self, analysis: &Analysis, at: usize) {
        let stop = analysis.road[at];
        if stop.value || stop.owner == NONE {
            return;
        }
        let (option, footprint) = (self.path[at].option, analysis.done_at(at));
        let known = self.nodes.node_mut(stop.owner).known.as_mut();
        let known = known.expect("kept while there is an analysis");
        let before = known.bytes();
        if known.done(stop.place).is_empty() {
            known.start(stop.place, Done { option, footprint });
        } else {
            known.learn(stop.place, option, footprint);
        }
        let after = known.bytes();
        self.nodes.recount(before, after);
    }

    /// A race was found: whoever reverses it moves up.
    fn prefer(&mut self, analysis: &Analysis, opening: &Opening) {
        let stop = analysis.road[opening.stop as usize];
        if stop.owner == NONE {
            // There is nothing else to run there.
            return;
        }
        let node = self.nodes.node(stop.owner);
        let known = node.known.as_ref().expect("kept while there is an analysis");
        let racing = opening.racing.and_then(|task| known.option_of(stop.place, task));
        let of = known.places[stop.place as usize].of;
        match racing {
            Some(option) if opening.releases => {
                self.improve(stop.owner, stop.place, option, Reversal::Conservative);
            }
            Some(option) => self.improve(stop.owner, stop.place, option, Reversal::Race),
            None => (0..of).for_each(|option| {
                self.improve(stop.owner, stop.place, option, Reversal::Conservative);
            }),
        }
    }

    /// There is a reason to run something, perhaps a better one than was known.
    fn improve(&mut self, owner: u32, place: u32, option: u32, reversal: Reversal) {
        let node = self.nodes.node_mut(owner);
        let point = node.from + place;
        let known = node.known.as_mut().expect("kept while there is an analysis");
        let at = known.places[place as usize];
        let slot = known.slot_mut(place, option);
        if slot.reversal >= reversal {
            return;
        }
        slot.reversal = reversal;
        if slot.bin == CLOSED || slot.bin == STARTED {
            return;
        }
        let before = self.fringe.key(slot.bin);
        let key = self.priorities.improved(before, reversal);
        if key < before {
            let preemptions = at.preemptions + u32::from(at.preempts(option));
            slot.bin = self.fringe.push(key, Pending { parent: owner, point, option, preemptions });
        }
    }

    /// Opens what a race asks for, unless it is covered by what is open or sleeps.
    fn open(&mut self, analysis: &Analysis, opening: &Opening, reduction: Reduction) {
        let stop = analysis.road[opening.stop as usize];
        let begins = analysis.begins(opening);
        let asleep = |who: TaskId| analysis.sleeping(&stop).iter().any(|s| s.task == who);
        if begins.iter().any(|who| asleep(*who)) {
            return;
        }
        let taken = self.path[opening.stop as usize].option;
        let known = self.nodes.node(stop.owner).known.as_ref();
        let known = known.expect("kept while there is an analysis");
        let slot = |who: &TaskId| {
            let option = known.option_of(stop.place, *who)?;
            Some((option, *known.slot(stop.place, option)?))
        };
        let is_racing = |who: &TaskId| opening.racing == Some(*who);
        let started = |(option, slot): (u32, Slot)| slot.bin == STARTED && option != taken;
        if begins.iter().filter_map(slot).any(started) {
            return;
        }
        let mut wanted = [None; 2];
        let open = begins.iter().filter_map(slot).find(|(_, slot)| slot.bin != CLOSED);
        if open.is_none() {
            let can = || begins.iter().filter(|who| slot(who).is_some());
            wanted[0] = can().find(|who| is_racing(who)).or_else(|| can().next()).and_then(slot);
        }
        if reduction == Reduction::Classic
            && let Some(racing) = opening.racing
            && !asleep(racing)
        {
            wanted[1] = slot(&racing);
        }
        let reason = |task: TaskId| {
            let direct = is_racing(&task) && !opening.releases;
            if direct { Reversal::Race } else { Reversal::Conservative }
        };
        let wanted = wanted.map(|w| w.map(|(option, slot)| (option, reason(slot.task))));
        let open = open.map(|(option, slot)| (option, reason(slot.task)));
        for (option, reversal) in wanted.into_iter().flatten() {
            self.open_option(analysis, opening.stop as usize, option, reversal);
        }
        if let Some((option, reversal)) = open {
            self.improve(stop.owner, stop.place, option, reversal);
        }
    }

    /// Makes an option a candidate, unless it is one or was one.
    fn open_option(&mut self, analysis: &Analysis, at: usize, option: u32, reversal: Reversal) {
        let stop = analysis.road[at];
        let node = self.nodes.node(stop.owner);
        let known = node.known.as_ref().expect("kept while there is an analysis");
        let Some(slot) = known.slot(stop.place, option).copied() else { return };
        if slot.bin != CLOSED {
            self.improve(stop.owner, stop.place, option, reversal);
            return;
        }
        let place = known.places[stop.place as usize];
        let preempts = place.preempts(option);
        let preemptions = place.preemptions + u32::from(preempts);
        let delays = node.delays + 1;
        let candidate = if at >= self.planned {
            self.candidate(at - self.planned, option, preemptions, delays)
        } else {
            Candidate {
                point: at as u32,
                option,
                of: place.of,
                preemptions,
                delays,
                preempts,
                task: Some(slot.task),
                op: None,
                instead: None,
                context: Context::NONE,
                instead_context: Context::NONE,
                label: None,
                instead_label: None,
                reversal,
                asleep: false,
                window: Window::None,
            }
        };
        if known.done(stop.place).is_empty() {
            // What is taken there now was the first.
            self.learn(analysis, at);
        }
        self.insert(stop.owner, &Candidate { reversal, ..candidate });
    }

    /// All other values at the new points of a reduced search.
    fn open_values(&mut self, id: u32) {
        let delays = self.nodes.node(id).delays + 1;
        for at in 0..self.met.len() {
            let met = self.met[at];
            let node = self.nodes.node(id);
            let known = node.known.as_ref().expect("kept while there is an analysis");
            let preemptions = known.places[at].preemptions;
            if met.value {
                for option in (0..met.of).rev().filter(|option| *option != met.default) {
                    let candidate = self.candidate(at, option, preemptions, delays);
                    self.insert(id, &candidate);
                }
            }
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
        if let Some(analysis) = &mut self.analysis {
            if self.stale {
                analysis.forget();
            }
            analysis.begin(shared, self.planned, &self.chain, &self.nodes);
        }
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
        true
    }

    fn untold(&mut self) -> u64 {
        if self.windows.is_some() || self.priorities.sees.steps {
            return 0;
        }
        self.analysis.as_mut().map_or(0, |analysis| analysis.hush())
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
        self.met.push(Met { of, default, running, tasks, value: value.is_some() });
        if let Some(analysis) = &mut self.analysis {
            analysis.note(value.is_some());
        }
        Answer::Take(default)
    }

    fn spawn(&mut self, parent: TaskId, child: TaskId) {
        if let Some(analysis) = &mut self.analysis {
            analysis.spawn(parent, child);
        }
    }

    fn value(&mut self, _: TaskId, _: Taken, during: bool) {
        if let Some(analysis) = &mut self.analysis {
            analysis.value(during, &self.path, &self.nodes);
        }
    }

    fn step(&mut self, step: &Step<'_>) -> Option<Cut> {
        if let Some(windows) = &mut self.windows {
            windows.step(step);
        }
        self.priorities.hearing().for_each(|part| part.step(step));
        let analysis = self.analysis.as_mut()?;
        analysis.step(step, &self.path, &self.nodes).then_some(Cut::Redundant)
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
        if let Some(analysis) = &mut self.analysis {
            analysis.road.truncate(self.planned + new);
            if !analysis.cut {
                analysis.stuck.extend_from_slice(execution.stuck);
            }
        }
        let leaf = self.reduction.is_none() && !self.opens(spent);
        let known = if leaf && parent != NONE { None } else { self.known(spent) };
        let id = self.keep(parent, leaf, known);
        self.compare(id, matches!(execution.outcome, Outcome::Limit { .. }));
        if id != NONE {
            if self.reduction.is_some() {
                self.open_values(id);
            } else {
                self.open_all(id, spent);
            }
        }
        if let Stage::Running(pending) = self.stage {
            self.left[pending.preemptions as usize] -= 1;
        }
        if id == NONE {
            self.nodes.node_mut(parent).open -= 1;
            self.nodes.detach(parent);
        } else {
            self.nodes.detach(id);
        }
        self.stage = Stage::Ended;
        self.relieve();
    }

    fn refuses(&self, settings: &Settings) -> Option<&'static str> {
        self.reduction?;
        if settings.timeouts == Timeouts::Idle {
            return Some(
                "timeouts that fire only when nothing else can move depend on all that moves; use \
                 `all`, or let timeouts fire at any time",
            );
        }
        settings.spurious.then_some(
            "not all races of a wait are known that has a timeout and may wake spuriously, and in \
             some orders that loses executions; use `all`, or leave spurious wake-ups out",
        )
    }

    fn notes(&self) -> Vec<Note> {
        self.priorities.notes().into_iter().map(|text| Note::Text { text }).collect()
    }

    fn know(&mut self, pairs: &PairSet) {
        self.priorities.know(pairs);
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

    fn progress(&self) -> Progress {
        let path = self.path.capacity() * size_of::<Taken>();
        let analysis = self.analysis.as_ref().map_or(0, |analysis| analysis.bytes());
        let spill = self.spill.as_ref().map_or(0, |spill| spill.bytes());
        let tree = self.fringe.bytes() + self.nodes.bytes();
        let frontier_bytes = (tree + path + analysis + spill) as u64;
        let pending = self.pending() + u64::from(self.stage == Stage::First);
        let covered = (self.stage == Stage::Last).then_some(1.0);
        let bound = match self.covered() {
            Covered::Preemptions(k) if self.stage != Stage::Last => Some(k),
            _ => None,
        };
        Progress { covered, bound, pending, frontier_bytes, ..Progress::default() }
    }

    /// Not with a reduction: a race may ask for something at any execution that is above what is left, so
    /// those must be at hand.
    fn keep_within(&mut self, bytes: u64, store: Box<dyn Store>) {
        if self.reduction.is_none() {
            self.spill = Some(Box::new(Spill::new(bytes, store)));
        }
    }

    fn trouble(&self) -> Option<String> {
        self.spill.as_ref()?.trouble.clone()
    }

    fn split(&mut self, n: usize) -> Result<Vec<Work>, Unsupported> {
        self.give(n)
    }

    fn save(&self) -> Result<Checkpoint, Unsupported> {
        self.save_all()
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        self.restore_all(state)
    }
}

#[cfg(test)]
mod tests;
