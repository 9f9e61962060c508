//! The systematic search with its tree in memory: all options of every point, in any order.
//!
//! Eta's decision tree (Simsa, Bryant, Gibson, Hickey, CMU-PDL-11-113, section 3): a *seed* is an option
//! that is known and has not been taken. The next execution follows the decisions that lead to a seed,
//! takes it, and goes on by the default order; every point it meets on the way gives new seeds. Which
//! seed is next is the [`Frontier`]: the shallowest, as Eta does to split the work, or any with the same
//! chance, which makes its estimates stable. Depth first is `depth_first.rs`, which needs no tree.
//!
//! The tree has the points below which something is left to run; a point below which all has been run is
//! dropped, and its size stays in the point above. A seed is 8 bytes, a point 88. Memory grows with
//! the seeds, which under either order are about as many as the executions that are left, up to the
//! half of all.
//!
//! Where we differ from Eta: the size of a subtree is kept exactly once all of it was run, and what goes
//! on after a seed is the default order, which may be random as theirs.
//!
//! Misses: what is out of the bound; what follows an execution that a limit cut off, which the
//! engine counts. Nothing else, if the program does the same under the same decisions. The engine compares
//! an execution with the one before it as far as they share their decisions, which is less here than
//! depth first; where the number of options of a planned point changes, this search notices.
//! Overreports: nothing.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use raddle_engine::strategy::{
    Answer, Checkpoint, Finished, Options, Plan, Point, Strategy, Taken, Unsupported, Work,
};
use raddle_trace::{Covered, Estimate, Outcome, Progress};

use crate::bound::{Bound, Price};
use crate::depth_first::CostlyOrder;
use crate::estimate::{Change, Growth, Kind, Size, Sizes};
use crate::order::{NonPreemptive, Order};
use crate::rng::Rng;
use crate::state::{FOREIGN, Reader, Writer};

/// Which seed is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frontier {
    /// The one with the fewest decisions before it; of those, the one found first.
    Breadth,
    /// Any, with the same chance.
    Random,
}

impl Frontier {
    /// As the registry names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Breadth => "breadth-first",
            Self::Random => "random",
        }
    }

    fn kind(self) -> Kind {
        match self {
            Self::Breadth => Kind::Breadth,
            Self::Random => Kind::Random,
        }
    }
}

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

/// An option that was not taken yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seed {
    node: u32,
    option: u32,
}

const _: () = assert!(size_of::<Seed>() <= 16, "seeds are what a wide search holds");
const _: () = assert!(size_of::<Node>() <= 96, "there is a point for every few seeds");

/// The known seeds.
#[derive(Clone, Debug)]
enum Seeds {
    /// By depth, in the order in which they were found.
    Breadth {
        levels: BTreeMap<u32, VecDeque<Seed>>,
        len: usize,
    },
    Random {
        seeds: Vec<Seed>,
        rng: Rng,
    },
}

impl Seeds {
    fn new(frontier: Frontier, seed: u64) -> Self {
        match frontier {
            Frontier::Breadth => Self::Breadth { levels: BTreeMap::new(), len: 0 },
            Frontier::Random => Self::Random { seeds: Vec::new(), rng: Rng::new(seed) },
        }
    }

    fn frontier(&self) -> Frontier {
        match self {
            Self::Breadth { .. } => Frontier::Breadth,
            Self::Random { .. } => Frontier::Random,
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Breadth { len, .. } => *len,
            Self::Random { seeds, .. } => seeds.len(),
        }
    }

    fn bytes(&self) -> usize {
        let entries = match self {
            Self::Breadth { levels, .. } => levels.values().map(VecDeque::capacity).sum(),
            Self::Random { seeds, .. } => seeds.capacity(),
        };
        entries * size_of::<Seed>()
    }

    fn push(&mut self, depth: u32, seed: Seed) {
        match self {
            Self::Breadth { levels, len } => {
                levels.entry(depth).or_default().push_back(seed);
                *len += 1;
            }
            Self::Random { seeds, .. } => seeds.push(seed),
        }
    }

    /// The next one to run.
    fn pop(&mut self) -> Option<Seed> {
        match self {
            Self::Breadth { levels, len } => {
                let mut entry = levels.first_entry()?;
                let seed = entry.get_mut().pop_front()?;
                if entry.get().is_empty() {
                    entry.remove();
                }
                *len -= 1;
                Some(seed)
            }
            Self::Random { seeds, rng } => {
                let n = u32::try_from(seeds.len()).unwrap_or(u32::MAX);
                (n > 0).then(|| seeds.swap_remove(rng.below(n) as usize))
            }
        }
    }

    /// One with few decisions before it, to be given away: what follows is large.
    fn shallowest(&mut self, depth: impl Fn(&Seed) -> u32) -> Option<Seed> {
        match self {
            Self::Breadth { .. } => self.pop(),
            Self::Random { seeds, .. } => {
                let (at, _) = seeds.iter().enumerate().min_by_key(|(_, seed)| depth(seed))?;
                Some(seeds.swap_remove(at))
            }
        }
    }

    /// All, in an order in which pushing them gives the same again.
    fn iter(&self) -> Box<dyn Iterator<Item = Seed> + '_> {
        match self {
            Self::Breadth { levels, .. } => Box::new(levels.values().flatten().copied()),
            Self::Random { seeds, .. } => Box::new(seeds.iter().copied()),
        }
    }
}

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

    fn saved(&self, state: &State<'_>) -> Checkpoint {
        let mut writer = Writer::new(NAME);
        writer.text(self.seeds.frontier().name());
        writer.text(self.order.name());
        writer.number(self.order.state());
        match self.bound {
            Bound::None => writer.number(0),
            Bound::Preemptions(k) => {
                writer.number(1);
                writer.number(k.into());
            }
        }
        writer.number(state.drawn);
        writer.number(u64::from(state.whole));
        writer.number(u64::from(state.diverged));
        writer.number(state.executions);
        writer.number(match state.stage {
            Stage::First => 0,
            Stage::Running(_) | Stage::Ended => 1,
            Stage::Last => 2,
        });
        state.growth.save(&mut writer);
        writer.number(state.nodes.len() as u64);
        for node in state.nodes {
            writer.number(if node.parent == NONE { 0 } else { u64::from(node.parent) + 1 });
            for number in [node.option, node.of, node.default, node.width, node.open] {
                writer.number(number.into());
            }
            writer.number(node.price as u64);
            node.sizes.save(&mut writer);
        }
        writer.number(state.seeds.len() as u64);
        for seed in state.seeds {
            writer.number(seed.node.into());
            writer.number(seed.option.into());
        }
        writer.finish()
    }

    /// The points that are in use, numbered so that each comes after the one above it, and the new
    /// number of each.
    fn numbered(&self) -> (Vec<Node>, Vec<u32>) {
        let mut used: Vec<u32> = (0..self.nodes.len() as u32).collect();
        let mut is_free = vec![false; self.nodes.len()];
        self.free.iter().for_each(|&at| is_free[at as usize] = true);
        used.retain(|&at| !is_free[at as usize]);
        used.sort_by_key(|&at| self.nodes[at as usize].depth);
        let mut number = vec![NONE; self.nodes.len()];
        (0..).zip(&used).for_each(|(new, &at)| number[at as usize] = new);
        let mut nodes: Vec<Node> = used.iter().map(|&at| self.nodes[at as usize]).collect();
        for node in &mut nodes {
            node.parent = if node.parent == NONE { NONE } else { number[node.parent as usize] };
        }
        (nodes, number)
    }

    fn read_node(&self, reader: &mut Reader<'_>, above: &[Node]) -> Result<Node, Unsupported> {
        let parent = match reader.small()? {
            0 => NONE,
            number => number - 1,
        };
        let mut small = || reader.small();
        let (option, of, default) = (small()?, small()?, small()?);
        let (width, open) = (small()?, small()?);
        let price = match (reader.number()?, self.bound) {
            (0, _) => Price::Free,
            (1, Bound::Preemptions(_)) => Price::One,
            _ => return Err(FOREIGN),
        };
        let sizes = Sizes::restore(reader)?;
        let (depth, spent) = match above.get(parent as usize) {
            None if parent == NONE => (0, 0),
            Some(above) if option < above.of => {
                let cost = above.price.cost(u32::from(option != above.default));
                (above.depth + 1, above.spent + cost)
            }
            _ => return Err(FOREIGN),
        };
        let fits = default < of && width <= of && 0 < open && open <= of;
        if fits && spent <= self.bound.limit() {
            Ok(Node { parent, option, of, spent, open, depth, default, width, price, sizes })
        } else {
            Err(FOREIGN)
        }
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

/// What is saved besides the order and the bound.
struct State<'a> {
    drawn: u64,
    whole: bool,
    diverged: bool,
    executions: u64,
    stage: Stage,
    growth: &'a Growth,
    nodes: &'a [Node],
    seeds: &'a [Seed],
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
        let limited = matches!(execution.outcome, Outcome::Limit { .. });
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

    fn split(&mut self, n: usize) -> Result<Vec<Work>, Unsupported> {
        let mut parts = Vec::new();
        while parts.len() < n {
            let nodes = &self.nodes;
            let depth = |seed: &Seed| nodes[seed.node as usize].depth;
            let Some(seed) = self.seeds.shallowest(depth) else { break };
            let prefix = self.path(seed);
            let mut chain = Vec::with_capacity(prefix.len());
            let mut at = seed.node;
            while at != NONE {
                let node = self.nodes[at as usize];
                chain.push(Node { open: 1, width: 1, sizes: Sizes::default(), ..node });
                at = node.parent;
            }
            chain.reverse();
            (0..).zip(&mut chain).for_each(|(at, node): (u32, _)| {
                node.parent = at.checked_sub(1).unwrap_or(NONE);
            });
            let seeds = [Seed { node: chain.len() as u32 - 1, option: seed.option }];
            self.whole = false;
            let state = State {
                drawn: self.drawn(),
                whole: false,
                diverged: false,
                executions: 0,
                stage: Stage::Ended,
                growth: &Growth::default(),
                nodes: &chain,
                seeds: &seeds,
            };
            parts.push(Work { prefix, state: self.saved(&state) });
            self.change(seed.node, Change::Nothing, 1);
        }
        Ok(parts)
    }

    fn save(&self) -> Result<Checkpoint, Unsupported> {
        let (nodes, number) = self.numbered();
        let renumbered = |seed: Seed| Seed { node: number[seed.node as usize], ..seed };
        // One that is being run, or was begun and never ended, is run again: last.
        let running = match self.stage {
            Stage::Running(seed) => Some(seed),
            _ => None,
        };
        let seeds: Vec<_> = self.seeds.iter().chain(running).map(renumbered).collect();
        Ok(self.saved(&State {
            drawn: self.drawn(),
            whole: self.whole,
            diverged: self.diverged,
            executions: self.executions,
            stage: self.stage,
            growth: &self.growth,
            nodes: &nodes,
            seeds: &seeds,
        }))
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let mut reader = Reader::new(state, NAME)?;
        let frontier = self.seeds.frontier();
        reader.expect_text(frontier.name())?;
        reader.expect_text(self.order.name())?;
        let order = reader.number()?;
        let bound = match reader.number()? {
            0 => Bound::None,
            1 => Bound::Preemptions(reader.small()?),
            _ => return Err(FOREIGN),
        };
        if bound != self.bound {
            return Err(FOREIGN);
        }
        let drawn = reader.number()?;
        let (whole, diverged) = (reader.flag()?, reader.flag()?);
        let executions = reader.number()?;
        let stage = match reader.number()? {
            0 => Stage::First,
            1 => Stage::Ended,
            2 => Stage::Last,
            _ => return Err(FOREIGN),
        };
        let growth = Growth::restore(&mut reader)?;
        let length = reader.length()?;
        let mut nodes: Vec<Node> = Vec::with_capacity(length);
        for _ in 0..length {
            let node = self.read_node(&mut reader, &nodes)?;
            nodes.push(node);
        }
        let mut seeds = Seeds::new(frontier, 0);
        if let Seeds::Random { rng, .. } = &mut seeds {
            *rng = Rng::from_state(drawn);
        }
        let mut open: Vec<u32> = nodes.iter().map(|node| node.open).collect();
        let mut close = |node: u32| -> Result<(), Unsupported> {
            let open = open.get_mut(node as usize).ok_or(FOREIGN)?;
            *open = open.checked_sub(1).ok_or(FOREIGN)?;
            Ok(())
        };
        for _ in 0..reader.length()? {
            let seed = Seed { node: reader.small()?, option: reader.small()? };
            let node = nodes.get(seed.node as usize).ok_or(FOREIGN)?;
            let cost = node.spent + node.price.cost(u32::from(seed.option != node.default));
            if seed.option >= node.of || cost > bound.limit() {
                return Err(FOREIGN);
            }
            seeds.push(node.depth, seed);
            close(seed.node)?;
        }
        // Every option that is open is a seed or leads to a point.
        nodes.iter().filter(|node| node.parent != NONE).try_for_each(|node| close(node.parent))?;
        reader.finish()?;
        let fits = match stage {
            Stage::First => nodes.is_empty() && executions == 0,
            Stage::Last => nodes.is_empty(),
            _ => true,
        };
        if !fits || open.iter().any(|&open| open > 0) {
            return Err(FOREIGN);
        }
        self.order.set_state(order);
        self.nodes = nodes;
        self.free.clear();
        self.seeds = seeds;
        self.stage = stage;
        self.growth = growth;
        self.whole = whole;
        self.diverged = diverged;
        self.executions = executions;
        self.met.clear();
        self.prefix.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
