//! Saving, restoring and splitting the search, and moving the dear part of it out of memory and back.
//!
//! A state has all nodes and candidates, and what steps did if executions are compared; bins, and how many
//! children of a node are open, follow from the rest. A restored search runs what it would have run, in the same
//! order.
//!
//! A candidate stands for all executions that begin as it does, within the bound, whichever search runs them. So
//! what is left of a search is its candidates, and any way to deal them out is a split. With a reduction a part
//! cannot be given away, nor leave memory: a race that is found in one part may ask for something at any
//! execution that is kept, so those must be at hand.

use std::collections::BTreeMap;

use raddle_engine::dependence::Footprint;
use raddle_engine::strategy::{Checkpoint, SearchPart, Unsupported};
use raddle_trace::Gaps;
use serde::{Deserialize, Serialize};

use super::branches::{Attaching, Bounds, Branches};
use super::candidates::{NONE, Pending};
use super::footprints::Footprints;
use super::priority::Key;
use super::sizes::SavedSizing;
use super::store::Store;
use super::visited::SavedVisited;
use super::{Stage, TreeExpansion, TreeSearch};
use crate::order::Order;
use crate::state::{self, FOREIGN};

const NAME: &str = "tree";

/// Candidates that stay in memory, however little it may hold.
const FEWEST: usize = 8;

const REDUCED: Unsupported = Unsupported(
    "be split with a reduction: a race that is found in one part may ask for something in another; use \
     `all` with the same frontier, or one process",
);

/// Which search a state is of: one of another search is refused.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Identity {
    expansion: TreeExpansion,
    frontier: String,
    order: String,
    bound: String,
    /// Which prefixes are remembered, and how many.
    cache: Option<String>,
}

/// Numbers from which the parts of a search go on.
#[derive(Debug, Serialize, Deserialize)]
struct Parts {
    order: u64,
    /// Of a frontier that draws.
    frontier: u64,
    priorities: Vec<u64>,
}

/// A search as it is saved.
#[derive(Debug, Serialize, Deserialize)]
struct SavedSearch {
    identity: Identity,
    parts: Parts,
    stage: Stage,
    whole: bool,
    diverged: bool,
    gaps: Gaps,
    executions: u64,
    sizing: SavedSizing,
    footprints: Vec<Footprint>,
    /// Which node is the first execution.
    root: Option<u32>,
    branches: Branches,
    visited: Option<SavedVisited>,
}

impl<O: Order> TreeSearch<O> {
    fn identity(&self) -> Identity {
        Identity {
            expansion: self.expansion,
            frontier: self.frontier.clone(),
            order: self.order.name(),
            bound: self.bound.suffix(),
            cache: self.visited.as_ref().map(|visited| visited.name()),
        }
    }

    fn parts(&self) -> Parts {
        Parts {
            order: self.order.state(),
            frontier: self.store.candidates.drawn(),
            priorities: self.store.priorities.save(),
        }
    }

    fn bounds(&self, footprints: usize) -> Bounds {
        Bounds { cost: self.bound.limit(), delays: self.order.explores(), footprints }
    }

    /// The state between two executions.
    pub(super) fn saved(&self) -> Result<Checkpoint, Unsupported> {
        // Numbers of nodes have gaps where others were dropped; in the state they have none.
        let (mut branches, numbers) = self.branches();
        let numbered =
            |pending: Pending| Pending { parent: numbers[pending.parent as usize], ..pending };
        let mut bins = BTreeMap::<Key, Vec<Pending>>::new();
        if let Some(spill) = &self.spill {
            // Older than what is in memory.
            let blocks = spill.all().map_err(|_| {
                Unsupported("be saved: what was moved out of memory cannot be read back")
            })?;
            for block in blocks {
                let from = branches.nodes.len() as u32;
                branches.nodes.extend(block.nodes);
                for (key, entries) in block.bins {
                    let moved = |pending: Pending| Pending {
                        // The nodes of a block are numbered from 0, and come after those that are there already.
                        parent: pending.parent.saturating_add(from),
                        ..pending
                    };
                    bins.entry(key).or_default().extend(entries.into_iter().map(moved));
                }
            }
        }
        for (key, bin, entries) in self.store.candidates.bins() {
            let valid = self.store.valid(bin, entries, entries.len());
            bins.entry(key).or_default().extend(valid.into_iter().map(numbered));
        }
        // A bin may have had nothing but entries that candidates left behind.
        bins.retain(|_, entries| !entries.is_empty());
        branches.bins = bins.into_iter().collect();
        let footprints = self.comparison.iter().flat_map(|comparison| comparison.footprints.iter());
        Ok(state::write(
            NAME,
            &SavedSearch {
                identity: self.identity(),
                parts: self.parts(),
                stage: self.stage.map(numbered),
                whole: self.whole,
                diverged: self.diverged,
                gaps: self.gaps,
                executions: self.executions,
                sizing: self.sizing.saved(false),
                footprints: footprints.copied().collect(),
                root: numbers.get(self.store.nodes.root() as usize).copied(),
                branches,
                visited: self.visited.as_ref().map(|visited| visited.saved()),
            },
        ))
    }

    /// All nodes in memory, without candidates, and the numbers that they have in the state.
    fn branches(&self) -> (Branches, Vec<u32>) {
        let nodes = &self.store.nodes;
        let mut numbers = Vec::new();
        for (number, (at, _)) in nodes.iter().enumerate() {
            numbers.resize(at as usize + 1, NONE);
            numbers[at as usize] = number as u32;
        }
        let mut branches = Branches::default();
        for (at, node) in nodes.iter() {
            let mut saved = node.saved(numbers.get(node.parent as usize).copied());
            if let Some(sizes) = self.sizing.as_recursive() {
                saved.sizes = sizes.saved(at);
            }
            branches.nodes.push(saved);
        }
        (branches, numbers)
    }

    /// Goes on from a state, or as a part that was given away.
    pub(super) fn go_on(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let saved: SavedSearch = state::read(NAME, state)?;
        // A number that one priority does not take would be taken by the next one.
        let has_parts = self.store.priorities.fits(&saved.parts.priorities);
        if saved.identity != self.identity() || !has_parts || saved.executions >= u64::MAX / 2 {
            return Err(FOREIGN);
        }
        let mut footprints = Footprints::default();
        for footprint in &saved.footprints {
            footprints.number(footprint);
        }
        // One stood there twice, so the numbers after it would mean others.
        if footprints.len() != saved.footprints.len() {
            return Err(FOREIGN);
        }
        let running = match saved.stage {
            Stage::Running(pending) => Some(pending),
            Stage::First | Stage::Ended | Stage::Last => None,
        };
        let is_empty = saved.branches.bins.is_empty();
        let fits = match saved.stage {
            // A stage and a tree that do not go together would run something twice, or never.
            Stage::First => saved.branches.nodes.is_empty() && saved.executions == 0,
            Stage::Last => is_empty,
            Stage::Running(_) | Stage::Ended => true,
        };
        if !fits {
            return Err(FOREIGN);
        }
        let visited = match (&self.visited, saved.visited) {
            (Some(own), Some(saved)) => Some(Box::new(own.restored(saved)?)),
            (None, None) => None,
            _ => return Err(FOREIGN),
        };
        let mut sizing = self.sizing.restored(saved.sizing).ok_or(FOREIGN)?;
        // Made beside the present one and taken over when all of it fits: a state that is refused leaves the search as it was.
        let mut store = self.store.anew();
        let mut attaching = Attaching {
            store: &mut store,
            bounds: self.bounds(footprints.len()),
            sizes: sizing.recursive(),
        };
        let running = attaching.attach(saved.branches, saved.root, running, true)?;
        if let Some(comparison) = &mut self.comparison {
            comparison.footprints = footprints;
            // The path belongs to the search that was replaced.
            comparison.forget();
        }
        if let Some(spill) = &mut self.spill {
            spill.clear();
        }
        self.store.take(store);
        self.store.candidates.set_drawn(saved.parts.frontier);
        self.store.priorities.restore(&mut saved.parts.priorities.into_iter());
        self.order.set_state(saved.parts.order);
        self.stage = running.map_or(saved.stage, Stage::Running);
        (self.sizing, self.visited) = (sizing, visited);
        (self.whole, self.diverged) = (saved.whole, saved.diverged);
        (self.gaps, self.executions) = (saved.gaps, saved.executions);
        self.current.clear();
        Ok(())
    }

    /// Gives away candidates, those first that leave the path early: most follows them.
    pub(super) fn give(&mut self, n: usize) -> Result<Vec<SearchPart>, Unsupported> {
        let mut all = self.candidates_to_give()?;
        // One stays, unless one is being run.
        let running = matches!(self.stage, Stage::Running(_));
        let most = if running { all.len() } else { all.len().saturating_sub(1) };
        // Stable: of those that leave as early, the frontier's order stays.
        all.sort_by_key(|(.., pending)| pending.point);
        all.truncate(n.min(most));
        Ok(self.give_these(all))
    }

    /// Gives away all candidates, in the order of the frontier.
    pub(super) fn give_all(&mut self) -> Result<Vec<SearchPart>, Unsupported> {
        // What an execution that runs will make known belongs to no candidate yet. A cache has cut what others were to run, and
        // would be lost with the search.
        if matches!(self.stage, Stage::First | Stage::Running(_)) || self.visited.is_some() {
            return Err(Unsupported(
                "be taken apart before its first execution, in one, or with a cache",
            ));
        }
        let all = self.candidates_to_give()?;
        Ok(self.give_these(all))
    }

    /// The candidates that may be given away.
    fn candidates_to_give(&mut self) -> Result<Vec<(Key, u32, Pending)>, Unsupported> {
        if self.expansion != TreeExpansion::All {
            return Err(REDUCED);
        }
        if !self.move_in() {
            return Err(Unsupported("be split: what was moved out of memory cannot be read back"));
        }
        let mut all: Vec<(Key, u32, Pending)> = Vec::new();
        for (key, bin, entries) in self.store.candidates.bins() {
            let valid = self.store.valid(bin, entries, entries.len());
            all.extend(valid.into_iter().map(|pending| (key, bin, pending)));
        }
        Ok(all)
    }

    fn give_these(&mut self, mut all: Vec<(Key, u32, Pending)>) -> Vec<SearchPart> {
        let running = matches!(self.stage, Stage::Running(_));
        let works = all.iter_mut().map(|(key, _, pending)| self.work(*key, pending)).collect();
        self.drop_given(&all);
        if !all.is_empty() {
            self.whole = false;
            // Nodes may have been dropped. If one is being run, its path is needed as it is.
            self.current.is_known &= running;
        }
        works
    }

    /// A candidate as a part of the search. Its preemptions are counted anew.
    fn work(&self, key: Key, pending: &mut Pending) -> SearchPart {
        let mut branches = Branches::default();
        let prefix = branches.detach(key, std::slice::from_mut(pending), &self.store);
        pending.cost = branches.bins[0].1[0].cost;
        if self.sizing.as_recursive().is_some() {
            branches = branches.with_sizes(prefix.len());
        }
        let state = state::write(
            NAME,
            &SavedSearch {
                identity: self.identity(),
                parts: self.parts(),
                stage: Stage::Ended,
                whole: false,
                diverged: false,
                gaps: Gaps::default(),
                executions: 0,
                sizing: self.sizing.saved(true),
                footprints: Vec::new(),
                root: None,
                branches,
                visited: self.visited.as_ref().map(|visited| visited.of_part()),
            },
        );
        SearchPart { prefix, state, spent: pending.cost }
    }

    /// Candidates that were given away are not this search's any more.
    fn drop_given(&mut self, given: &[(Key, u32, Pending)]) {
        let place = |pending: &Pending| (pending.parent, pending.point, pending.option);
        let is_given = |bin: u32, pending: &Pending| {
            // The same place in another bin is an entry that was left behind.
            given.iter().any(|(_, theirs, one)| *theirs == bin && place(one) == place(pending))
        };
        self.store.candidates.retain(|bin, pending| !is_given(bin, pending));
        let mut chain = Vec::new();
        for (.., pending) in given {
            if let Some(sizes) = self.sizing.recursive() {
                self.store.nodes.chain(pending.parent, &mut chain);
                sizes.gave(&chain, pending.point + 1);
            }
            self.store.uncount(pending.cost);
            self.store.leave(pending);
        }
    }

    /// Moves the dear part out of memory if there is too much in it.
    pub(super) fn relieve(&mut self) {
        let in_use = self.store.in_use();
        let Some(enough) = self.spill.as_ref().and_then(|spill| spill.asks(in_use)) else {
            return;
        };
        // Halves, since what leaves with a candidate depends on whether its node has others that stay.
        while self.store.in_use() > enough && self.store.candidates.entries() > FEWEST {
            if !self.move_out(self.store.candidates.entries() / 2) {
                break;
            }
        }
        // Before nodes get other numbers: whether an entry is valid is asked by the old ones.
        self.store.drop_stale();
        let moved = self.store.nodes.compact();
        self.store.candidates.renumber(&moved);
        // Nodes have other numbers now.
        self.current.is_known = false;
        if let Some(spill) = &mut self.spill {
            spill.stayed(self.store.in_use());
        }
    }

    /// Moves all but `stay` candidates out of memory, the dearest, and of equal ones the oldest.
    fn move_out(&mut self, mut stay: usize) -> bool {
        let mut leaving = BTreeMap::<u32, usize>::new();
        let mut candidates = Vec::new();
        for (key, bin, entries) in self.store.candidates.bins() {
            // Bins come with the cheapest first; of the one in which the number is used up the newest stay.
            let staying = entries.len().min(stay);
            stay -= staying;
            let n = entries.len() - staying;
            leaving.insert(bin, n);
            candidates.push((key, self.store.valid(bin, entries, n)));
        }
        let Some(spill) = &mut self.spill else { return false };
        // Nothing has been taken out of the tree yet, so what could not be written is still there.
        if !spill.put(&candidates, &self.store) {
            return false;
        }
        let mut gone = Vec::new();
        self.store.candidates.retain(|bin, pending| match leaving.get_mut(&bin) {
            Some(left) if *left > 0 => {
                *left -= 1;
                gone.push((bin, *pending));
                false
            }
            _ => true,
        });
        for (bin, pending) in gone {
            if self.store.is_valid(bin, &pending) {
                self.store.leave(&pending);
            }
        }
        true
    }

    /// Takes back what is cheaper than all in memory. `false` if it cannot be read.
    pub(super) fn move_in(&mut self) -> bool {
        loop {
            let bounds = self.bounds(0);
            let Some(spill) = &mut self.spill else { return true };
            let Some(key) = spill.best() else { return true };
            // Of equal costs what is in memory comes first: it is newer.
            if self.store.candidates.best().is_some_and(|best| best <= key) {
                return true;
            }
            let Some(block) = spill.take_best() else { return false };
            let mut attaching = Attaching { store: &mut self.store, bounds, sizes: None };
            if attaching.attach(block, None, None, false).is_err() {
                spill.is_damaged();
                return false;
            }
            // A node may have the number of one that led to the last execution.
            self.current.is_known = false;
        }
    }
}

impl Stage {
    /// The same, with the candidate that runs in another form.
    fn map(self, change: impl FnOnce(Pending) -> Pending) -> Self {
        match self {
            Self::Running(pending) => Self::Running(change(pending)),
            Self::First | Self::Ended | Self::Last => self,
        }
    }
}

impl Store {
    /// An empty one of the same kind, without priorities.
    fn anew(&self) -> Self {
        let nothing = super::priority::Priorities::new(Vec::new());
        Self::new(self.nodes.anew(), self.candidates.anew(), nothing, self.compares)
    }
}

#[cfg(test)]
mod tests;
