//! How a tree is saved, given away in parts, and taken up again.
//!
//! A state has the points, each after the one above it, and the seeds. A part is the chain of points
//! that leads to one seed, of which nothing else belongs to it.

use raddle_engine::strategy::{Checkpoint, Unsupported, Work};

use super::seeds::{Seed, Seeds};
use super::{NAME, NONE, Node, Stage, Tree};
use crate::bound::{Bound, Price};
use crate::estimate::{Change, Growth, Sizes};
use crate::order::Order;
use crate::rng::Rng;
use crate::state::{FOREIGN, Reader, Writer};

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

impl<O: Order> Tree<O> {
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

    /// Gives away up to `n` seeds.
    pub(super) fn give(&mut self, n: usize) -> Vec<Work> {
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
        parts
    }

    /// The state between two executions.
    pub(super) fn written(&self) -> Checkpoint {
        let (nodes, number) = self.numbered();
        let renumbered = |seed: Seed| Seed { node: number[seed.node as usize], ..seed };
        // One that is being run, or was begun and never ended, is run again: last.
        let running = match self.stage {
            Stage::Running(seed) => Some(seed),
            _ => None,
        };
        let seeds: Vec<_> = self.seeds.iter().chain(running).map(renumbered).collect();
        self.saved(&State {
            drawn: self.drawn(),
            whole: self.whole,
            diverged: self.diverged,
            executions: self.executions,
            stage: self.stage,
            growth: &self.growth,
            nodes: &nodes,
            seeds: &seeds,
        })
    }

    /// Goes on from a state.
    pub(super) fn take_over(&mut self, saved: &Checkpoint) -> Result<(), Unsupported> {
        let mut reader = Reader::new(saved, NAME)?;
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
