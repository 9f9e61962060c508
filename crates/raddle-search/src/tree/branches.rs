//! Nodes and candidates outside of the tree: in a checkpoint, in a part that is given away, on disk.
//!
//! A checkpoint has all nodes. A part that is given away, and what goes to disk, has *detached* nodes: one
//! execution that was run, with all decisions that lead to its candidates, so that it needs no parent. If
//! executions are compared it also has what its points were: without that a plan could not be followed. What had
//! been started there before stays behind, and does not sleep. That bears on the order of the search alone,
//! which is why a reduction detaches nothing.
//!
//! # Why: Best first out of memory
//! What leaves the tree needs nothing of it: candidates with all decisions that lead to them (`tree/branches.rs`), for
//! a file or another worker. What was known of their options for comparing executions stays behind, which changes the
//! order and not the set. With a reduction nothing leaves: a race may ask for something at any execution above what is
//! left. A checkpoint has the whole tree (`tree/saved.rs`), so that a restored search goes on in the same order. The
//! strategy is given a `Store` (`raddle-engine/src/store.rs`); the file is `raddle`'s.

use raddle_engine::strategy::{Taken, Unsupported};
use serde::{Deserialize, Serialize};

use super::candidates::Pending;
use super::nodes::{NONE, SavedNode, write_decisions};
use super::path_points::PathPoints;
use super::priority::{Key, Reversal};
use super::siblings::{Sibling, Siblings};
use super::sizes::{Recursive, SavedPointSizes, of_part};
use super::store::Store;
use crate::state::FOREIGN;

/// Nodes, and candidates by what they cost.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Branches {
    /// Their parents are numbers among them.
    pub(super) nodes: Vec<SavedNode>,
    /// Candidates that cost the same, the oldest first. Their parents are numbers among the nodes.
    pub(super) bins: Vec<(Key, Vec<Pending>)>,
}

/// What bounds the numbers of branches that are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// The most that a candidate may cost.
    pub(super) cost: u32,
    /// Whether that is in delays, of which there may be several at a point.
    pub(super) delays: bool,
    /// How many footprints there are.
    pub(super) footprints: usize,
}

impl Branches {
    /// Adds candidates of one node that cost the same, detached. Says what leads to the first of them.
    pub(super) fn detach(&mut self, key: Key, candidates: &[Pending], store: &Store) -> Vec<Taken> {
        let Some(&first) = candidates.first() else { return Vec::new() };
        let (nodes, firsts) = (&store.nodes, store.nodes.keeps_firsts());
        // Up to the last decision that one of them needs. What the node did after that no candidate repeats.
        let length = candidates.iter().map(|pending| pending.point + 1).max().unwrap_or(0);
        let (mut chain, mut path) = (Vec::new(), Vec::new());
        nodes.chain(first.parent, &mut chain);
        nodes.follow(&chain, length, &mut path);
        let mut node =
            SavedNode { departures: nodes.node(first.parent).departures, ..SavedNode::default() };
        write_decisions(&path, &mut node.decisions);
        if store.compares {
            let mut points = PathPoints::default();
            points.follow(&chain, nodes, &path, firsts);
            // Numbers of footprints belong to this search. Without them what was taken here does not sleep for the candidates,
            // which costs executions and loses none.
            (0..points.len()).for_each(|at| points.point_mut(at).first = 0);
            points.write(0, points.len(), firsts, &mut node.points);
            let mut siblings = Siblings::default();
            siblings.add_all(
                &candidates
                    .iter()
                    .map(|pending| {
                        let value = points.points()[pending.point as usize].value;
                        Sibling::waiting(pending.point, pending.option, 0, value, Reversal::None)
                    })
                    .collect::<Vec<_>>(),
            );
            node.siblings = siblings.saved();
        }
        let parent = self.nodes.len() as u32;
        self.nodes.push(node);
        let moved = candidates.iter().map(|pending| Pending { parent, ..*pending });
        match self.bins.last_mut() {
            // Callers go through the bins in order, so equal keys come one after the other.
            Some((last, entries)) if *last == key => entries.extend(moved),
            _ => self.bins.push((key, moved.collect())),
        }
        path.truncate(first.point as usize + 1);
        // The path is that of the node; the candidate departs from it at its own point.
        path[first.point as usize].option = first.option;
        path
    }

    /// As a part of a search whose estimate is recursive.
    pub(super) fn with_sizes(mut self, length: usize) -> Self {
        self.nodes.iter_mut().for_each(|node| node.sizes = of_part(length));
        self
    }

    /// What is below each node.
    fn below(&self, running: Option<&Pending>) -> Result<Vec<Below>, Unsupported> {
        let mut below = vec![Below::default(); self.nodes.len()];
        for node in &self.nodes {
            let Some(parent) = node.parent else { continue };
            // A node with a parent begins after its own decision, which is one of the parent's points.
            let own = node.from.checked_sub(1).ok_or(FOREIGN)?;
            below[parent as usize].nodes.push((own, node.own));
        }
        for (bin, (_, entries)) in self.bins.iter().enumerate() {
            for (entry, pending) in entries.iter().enumerate() {
                let parent = below.get_mut(pending.parent as usize).ok_or(FOREIGN)?;
                parent.candidates.push((bin, entry));
            }
        }
        if let Some(pending) = running {
            below.get_mut(pending.parent as usize).ok_or(FOREIGN)?.runs = true;
        }
        Ok(below)
    }

    /// About how many bytes the last node and its `n` candidates are written with.
    pub(super) fn last_bytes(&self, n: usize) -> usize {
        let node = self
            .nodes
            .last()
            .map_or(0, |node| node.decisions.len() + node.points.len() + 8 * node.siblings.len());
        24 + node + 6 * n
    }
}

/// What is attached to a node: candidates, nodes below it, and one that runs.
#[derive(Clone, Debug, Default)]
struct Below {
    /// (point, option) of each node below it.
    nodes: Vec<(u32, u32)>,
    /// Which candidates it has: the bin among the branches, and the entry.
    candidates: Vec<(usize, usize)>,
    runs: bool,
}

/// Puts branches into a store, and looks whether they can be.
#[derive(Debug)]
pub(super) struct Attaching<'a> {
    pub(super) store: &'a mut Store,
    pub(super) bounds: Bounds,
    /// The points' sizes, if they are kept.
    pub(super) sizes: Option<&'a mut Recursive>,
}

impl Attaching<'_> {
    /// Attaches branches, and counts the candidates if they are `new` to the search; else they are older than
    /// all that wait. `root`: which node is the first execution. `running`: one that was started and did not end.
    /// Says which one that is now.
    pub(super) fn attach(
        &mut self,
        branches: Branches,
        root: Option<u32>,
        mut running: Option<Pending>,
        new: bool,
    ) -> Result<Option<Pending>, Unsupported> {
        let numbers = self.put(&branches)?;
        if let Some(root) = root {
            self.store.nodes.set_root(*numbers.get(root as usize).ok_or(FOREIGN)?);
        }
        let below = branches.below(running.as_ref())?;
        let Branches { nodes, mut bins } = branches;
        for (at, (node, below)) in nodes.iter().zip(&below).enumerate() {
            // The first execution stays when nothing is left below it; any other node without candidates is a mistake.
            let is_root = root == Some(at as u32);
            self.check(numbers[at], (node, is_root), below, &mut bins, running.as_mut())?;
        }
        let place = |store: &mut Store, pending: &mut Pending| {
            pending.parent = numbers[pending.parent as usize];
            if new {
                store.count(pending.cost);
            }
        };
        for (key, mut entries) in bins {
            if entries.is_empty() {
                return Err(FOREIGN);
            }
            for pending in &mut entries {
                place(self.store, pending);
            }
            let mut bin = 0;
            // What is given back from disk was there before all that waits now. Of equal costs the newest is next, so it must not
            // overtake what came after it.
            if new {
                for pending in &entries {
                    bin = self.store.candidates.push(key, *pending);
                }
            } else {
                bin = self.store.candidates.push_older(key, &entries);
            }
            for pending in entries.iter().filter(|_| self.store.compares) {
                let node = self.store.nodes.node_mut(pending.parent);
                let place = pending.point - node.from;
                let sibling = node.sibling_mut(place, pending.option).ok_or(FOREIGN)?;
                // Two entries for one option: a file that was not written by this code.
                if !sibling.is_unplaced() {
                    return Err(FOREIGN);
                }
                let reversal = sibling.reversal();
                sibling.wait(bin, reversal);
            }
        }
        if let Some(pending) = &mut running {
            place(self.store, pending);
        }
        Ok(running)
    }

    /// Puts the nodes into the tree; says where each is.
    fn put(&mut self, branches: &Branches) -> Result<Vec<u32>, Unsupported> {
        let nodes = &mut self.store.nodes;
        let mut numbers = Vec::with_capacity(branches.nodes.len());
        for node in &branches.nodes {
            let siblings = Siblings::restored(&node.siblings).ok_or(FOREIGN)?;
            if node.siblings.iter().any(|one| one.footprint as usize > self.bounds.footprints) {
                return Err(FOREIGN);
            }
            numbers.push(nodes.put(node, NONE, siblings));
        }
        for (node, &at) in branches.nodes.iter().zip(&numbers) {
            // In a second pass, because a parent may come after its child.
            if let Some(parent) = node.parent {
                nodes.node_mut(at).parent = *numbers.get(parent as usize).ok_or(FOREIGN)?;
            }
        }
        Ok(numbers)
    }

    /// Looks whether a node that was put and what is below it can be, and tells the tree how much that is. Whether
    /// it is the first execution: `is_root`.
    fn check(
        &mut self,
        number: u32,
        (node, is_root): (&SavedNode, bool),
        below: &Below,
        bins: &mut [(Key, Vec<Pending>)],
        running: Option<&mut Pending>,
    ) -> Result<(), Unsupported> {
        let (path, points) = self.store.nodes.decode(number, self.store.compares).ok_or(FOREIGN)?;
        let (from, limit) = (node.from as usize, self.bounds.cost);
        let delays = self.bounds.delays;
        let mut open = vec![0_u32; path.len() - from];
        // An option is taken at a point of the node, which took another one there.
        let mut take = |point: u32, option: u32| {
            let taken = path.get(point as usize).filter(|taken| option < taken.of)?;
            *open.get_mut((point as usize).checked_sub(from)?)? += 1;
            (option != taken.option).then_some(())
        };
        for &(point, option) in &below.nodes {
            take(point, option).ok_or(FOREIGN)?;
        }
        let mut candidate = |pending: &mut Pending| {
            take(pending.point, pending.option)?;
            if let Some(points) = &points {
                // An entry that was left behind may be of a node that had its number before.
                let point = &points.points()[pending.point as usize];
                pending.cost = point.preemptions_with(pending.option);
            }
            // There is at most one preemption at a decision, but an option may cost several delays.
            let most = if delays { limit } else { limit.min(pending.point + 1) };
            (pending.cost <= most).then_some(())
        };
        for &(bin, entry) in &below.candidates {
            candidate(&mut bins[bin].1[entry]).ok_or(FOREIGN)?;
        }
        if let Some(pending) = running.filter(|_| below.runs) {
            candidate(pending).ok_or(FOREIGN)?;
        }
        let started = below.nodes.len() + usize::from(below.runs);
        let all = below.candidates.len() + started;
        let tree_node = self.store.nodes.node_mut(number);
        tree_node.open = all as u32;
        let has_its_siblings = !self.store.compares || {
            let is_started = |&(point, option): &(u32, u32)| {
                let sibling = tree_node.sibling(point - node.from, option);
                sibling.is_some_and(|sibling| sibling.is_started() && sibling.is_live())
            };
            tree_node.siblings().live() == (all, below.candidates.len())
                && below.nodes.iter().all(is_started)
        };
        let has_its_sizes = match &mut self.sizes {
            None => node.sizes.is_empty(),
            Some(sizes) => {
                // Points after the last that has sizes have been left: nothing may wait there.
                let beyond = open.iter().skip(node.sizes.len());
                let has_width =
                    |(taken, sizes): (&Taken, &SavedPointSizes)| sizes.width <= taken.of;
                node.sizes.len() <= open.len()
                    && path[from..].iter().zip(&node.sizes).all(has_width)
                    && beyond.sum::<u32>() == 0
                    && sizes.restore(number, &node.sizes, |place| open[place as usize])
            }
        };
        let can_be = (all > 0 || is_root) && node.departures as usize <= path.len();
        if can_be && has_its_siblings && has_its_sizes { Ok(()) } else { Err(FOREIGN) }
    }
}
