//! The systematic search with its tree in memory: all options of every point, in any order.
//!
//! Eta's decision tree (Simsa, Bryant, Gibson, Hickey, CMU-PDL-11-113, section 3): a *seed* is an option
//! that is known and has not been taken. The next execution follows the decisions that lead to a seed,
//! takes it, and goes on by the default order; every point it meets on the way gives new seeds. Which
//! seed is next is the [`Frontier`]: the shallowest, as Eta does to split the work, or any with the same
//! chance, which makes its estimates stable. Depth first is `depth_first.rs`, which needs no tree.
//!
//! The tree has the points below which something is left to run; a point below which all has been run is
//! dropped, and its size stays in the point above. A seed is 8 bytes, a point 80. Without a bound every
//! point was met with a seed, so there are fewer points than seeds ever were; and every seed leads to an
//! execution, so there are never more seeds than executions left.
//!
//! Where we differ from Eta: the size of a subtree is kept exactly once all of it was run, and what goes
//! on after a seed is the default order, which may be random as theirs.
//!
//! Misses: what is out of the bound; what follows an execution that a limit cut off, which the
//! engine counts. Nothing else, if the program does the same under the same decisions. The engine compares
//! an execution with the one before it as far as they share their decisions, which is less here than
//! depth first; where the number of options of a planned point changes, this search notices.
//! Overreports: nothing.

mod saved;
mod seeds;

use std::fmt;

use raddle_engine::strategy::{
    Answer, Checkpoint, Divisible, Estimating, Finished, Options, Plan, Point, Resumable, Strategy,
    Taken, Unsupported, Work,
};
use raddle_trace::{Covered, Estimate, Progress};

pub use self::seeds::Frontier;
use self::seeds::{Seed, Seeds};
use crate::bound::{Bound, Price};
use crate::estimate::{Change, Growth, Size, Sizes};
use crate::expansion::all::CostlyOrder;
use crate::order::{NonPreemptive, Order};

const NAME: &str = "tree";

/// No point: above the first one.
const NONE: u32 = u32::MAX;

/// A point below which something is left to run.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// The point above, and the option taken there.
    parent: u32,
    option: u32,
    /// The number of options.
    of: u32,
    /// What was spent before it.
    spent: u32,
    /// Options below which something is left: seeds, and points.
    open: u32,
    /// Decisions before it.
    depth: u32,
    default: u32,
    /// The options that are this search's: those within the bound that were not given away.
    width: u32,
    price: Price,
    sizes: Sizes,
}

const _: () = assert!(size_of::<Node>() <= 80, "there may be a point for every seed");

/// Where the search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing was run: the first execution has no seed.
    First,
    /// This seed is to be run, or is being run.
    Running(Seed),
    /// An execution was run to its end.
    Ended,
    /// There are no seeds left.
    Last,
}

/// Runs every execution within a bound, in any order of seeds.
///
/// ```
/// use raddle_search::tree::{Frontier, Tree};
///
/// let search = Tree::new(Frontier::Random, 7);
/// assert_eq!(search.seeds(), 0);
/// ```
#[derive(Clone)]
pub struct Tree<O = NonPreemptive> {
    order: O,
    bound: Bound,
    nodes: Vec<Node>,
    /// Places in `nodes` that are free.
    free: Vec<u32>,
    seeds: Seeds,
    stage: Stage,
    /// The decisions that lead to the point from which the current execution goes on.
    prefix: Vec<Taken>,
    /// New points of the current execution, from its plan on.
    met: Vec<Met>,
    /// What the current execution has spent.
    spent: u32,
    growth: Growth,
    whole: bool,
    diverged: bool,
    executions: u64,
}

/// A point met for the first time.
#[derive(Clone, Copy, Debug)]
struct Met {
    of: u32,
    default: u32,
    price: Price,
}

impl<O: fmt::Debug> fmt::Debug for Tree<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree")
            .field("order", &self.order)
            .field("bound", &self.bound)
            .field("seeds", &self.seeds.len())
            .field("executions", &self.executions)
            .finish_non_exhaustive()
    }
}

impl Tree {
    /// Searches without a bound, executions going on without preemption. All it draws comes from `seed`.
    #[must_use]
    pub fn new(frontier: Frontier, seed: u64) -> Self {
        Self::unbounded(frontier, NonPreemptive, seed)
    }
}

impl<O: Order> Tree<O> {
    fn unbounded(frontier: Frontier, order: O, seed: u64) -> Self {
        Self {
            order,
            bound: Bound::None,
            nodes: Vec::new(),
            free: Vec::new(),
            seeds: Seeds::new(frontier, seed),
            stage: Stage::First,
            prefix: Vec::new(),
            met: Vec::new(),
            spent: 0,
            growth: Growth::default(),
            whole: true,
            diverged: false,
            executions: 0,
        }
    }

    /// Searches within a bound.
    ///
    /// # Errors
    /// If the default options of `order` are not free under `bound`.
    pub fn within(
        frontier: Frontier,
        order: O,
        bound: Bound,
        seed: u64,
    ) -> Result<Self, CostlyOrder> {
        if bound.allows(&order) {
            Ok(Self { bound, ..Self::unbounded(frontier, order, seed) })
        } else {
            Err(CostlyOrder::of(&order))
        }
    }

    /// How many seeds are known.
    #[must_use]
    pub fn seeds(&self) -> usize {
        self.seeds.len()
    }

    /// How many points are held.
    #[must_use]
    pub fn points(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    /// The decisions before a seed and itself.
    fn path(&self, seed: Seed) -> Vec<Taken> {
        let mut path = Vec::new();
        let (mut at, mut option) = (seed.node, seed.option);
        while at != NONE {
            let node = &self.nodes[at as usize];
            path.push(Taken { option, of: node.of });
            (at, option) = (node.parent, node.option);
        }
        path.reverse();
        path
    }

    /// The state of the generator of a random frontier.
    fn drawn(&self) -> u64 {
        match &self.seeds {
            Seeds::Breadth { .. } => 0,
            Seeds::Random { rng, .. } => rng.state(),
        }
    }

    fn cost(&self, seed: Seed) -> u32 {
        let node = &self.nodes[seed.node as usize];
        node.spent + node.price.cost(u32::from(seed.option != node.default))
    }

    fn insert(&mut self, node: Node) -> u32 {
        if let Some(at) = self.free.pop() {
            self.nodes[at as usize] = node;
            return at;
        }
        self.nodes.push(node);
        u32::try_from(self.nodes.len() - 1).expect("a tree of 4 billion points has no memory left")
    }

    /// Puts the points that the execution met below `seed` into the tree, with their seeds, and what it
    /// was into the estimates.
    fn grow(&mut self, seed: Option<Seed>) {
        let (mut parent, mut option) = seed.map_or((NONE, 0), |seed| (seed.node, seed.option));
        let spent = seed.map_or(0, |seed| self.cost(seed));
        let mut depth = self.prefix.len() as u32;
        for at in 0..self.met.len() {
            let Met { of, default, price } = self.met[at];
            let width = price.within(self.bound.limit() - spent, of);
            let (open, sizes) = (width, Sizes::default());
            let node =
                Node { parent, option, of, spent, open, depth, default, width, price, sizes };
            parent = self.insert(node);
            if width > 1 {
                for option in (0..of).filter(|option| *option != default) {
                    self.seeds.push(depth, Seed { node: parent, option });
                }
            }
            // The default option is free.
            (option, depth) = (default, depth + 1);
        }
        self.met.clear();
        self.growth.ended(self.share(parent));
        self.change(parent, Change::New(Size::LEAF), 0);
    }

    /// The chance that a random descent comes to an option of this point.
    fn share(&self, mut at: u32) -> f64 {
        let mut share = 1.0;
        while at != NONE {
            let node = &self.nodes[at as usize];
            share /= f64::from(node.width);
            at = node.parent;
        }
        share
    }

    /// Below one option of the point at `at` nothing is left to run. The estimates of that point and of
    /// all above it are made anew, and points below which nothing is left are dropped. `given`: options
    /// of the first point that are not this search's any more.
    fn change(&mut self, mut at: u32, mut change: Change, mut given: u32) {
        let mut is_over = true;
        while at != NONE {
            let node = &mut self.nodes[at as usize];
            node.open -= u32::from(is_over);
            is_over = node.open == 0;
            let before = node.width;
            node.width -= std::mem::take(&mut given);
            let width = (before, node.width);
            change = self.growth.change(&mut node.sizes, change, width, is_over);
            if is_over {
                self.free.push(at);
            }
            at = node.parent;
        }
        self.growth.arrive(change);
    }

    fn estimate(&self) -> Option<Estimate> {
        let running = matches!(self.stage, Stage::Running(_));
        let reading = self.growth.read(self.seeds.len() + usize::from(running))?;
        let mut estimate = reading.estimate(self.seeds.frontier().kind());
        if !self.whole {
            // Of what was given away it is not known how likely a descent goes there.
            estimate.weighted = None;
        }
        Some(estimate)
    }
}

impl<O: Order> Strategy for Tree<O> {
    fn begin(&mut self, plan: &mut Plan) -> bool {
        if self.stage == Stage::Ended {
            self.stage = self.seeds.pop().map_or(Stage::Last, Stage::Running);
        }
        self.met.clear();
        self.prefix.clear();
        self.spent = 0;
        match self.stage {
            Stage::Last | Stage::Ended => return false,
            Stage::First => {}
            Stage::Running(seed) => {
                self.prefix = self.path(seed);
                self.spent = self.cost(seed);
            }
        }
        plan.prefix.clear();
        plan.prefix.extend(self.prefix.iter().map(|taken| taken.option));
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        debug_assert_eq!(
            self.prefix.len() + self.met.len(),
            point.index as usize,
            "engine bug: a point is missing"
        );
        let of = point.arity();
        let default = match point.options {
            Options::Schedule(_) => self.order.next(point),
            Options::Value { .. } => 0,
        };
        assert!(default < of, "an order takes one of the options");
        let price = self.bound.price(point, default);
        self.met.push(Met { of, default, price });
        Answer::Take(default)
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.executions += 1;
        let limited = execution.outcome.is_cut_off();
        let same = |(planned, taken): (&Taken, &Taken)| planned.of == taken.of;
        let short = execution.decisions.len() < self.prefix.len();
        if (short && !limited) || !self.prefix.iter().zip(execution.decisions).all(same) {
            self.diverged = true;
        }
        let seed = match self.stage {
            Stage::Running(seed) => Some(seed),
            _ => None,
        };
        self.grow(seed);
        self.stage = Stage::Ended;
    }

    fn covered(&self) -> Covered {
        if self.stage == Stage::Last && self.whole && !self.diverged {
            self.bound.covered()
        } else {
            let (executions, preemptions) = (self.executions, self.bound.preemptions());
            Covered::Part { executions, preemptions }
        }
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

impl<O: Order> Resumable for Tree<O> {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        Ok(self.written())
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        self.take_over(state)
    }
}

impl<O: Order> Divisible for Tree<O> {
    fn split(&mut self, n: usize) -> Result<Vec<Work>, Unsupported> {
        Ok(self.give(n))
    }
}

impl<O: Order> Estimating for Tree<O> {
    /// The fraction is by the recursive estimate.
    fn progress(&self) -> Progress {
        let nodes = (self.nodes.capacity() * size_of::<Node>()) as u64;
        let free = (self.free.capacity() * size_of::<u32>()) as u64;
        let frontier_bytes = nodes + free + self.seeds.bytes() as u64;
        let pending =
            self.seeds.len() as u64 + u64::from(!matches!(self.stage, Stage::Ended | Stage::Last));
        let estimate = self.estimate();
        let covered = match self.stage {
            Stage::Last => Some(1.0),
            _ => estimate.map(|estimate| estimate.covered / estimate.total.about),
        };
        Progress { covered, estimate, pending, frontier_bytes, ..Progress::default() }
    }
}

#[cfg(test)]
mod tests;
