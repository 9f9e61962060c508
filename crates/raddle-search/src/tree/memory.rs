//! What a search holds in memory.

use std::collections::BTreeMap;

use super::TreeSearch;
use super::nodes::NONE;
use crate::order::Order;
use crate::rng::Rng;

/// What a search holds, and what it would hold otherwise. GAMBIT's Figure 5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeMemory {
    /// Executions that were run and are kept, for what waits below them.
    pub nodes: u64,
    /// Executions that wait.
    pub pending: u64,
    /// Bytes of both, with all that is kept for them and with spare room. What is out of memory is not
    /// among them.
    pub bytes: u64,
    /// Of these: candidates.
    pub candidates: u64,
    /// Of these: decisions of executions that were run and, if executions are compared, what the points
    /// were.
    pub points: u64,
    /// Of these: what is kept of options that wait or were started.
    pub siblings: u64,
    /// Of these: what steps did.
    pub footprints: u64,
    /// Decisions of all those in memory, if each were kept as the list of its decisions: of one that was
    /// run, up to the last point at which something departs from it that waits or has something below it; of one that
    /// waits, to the one that is its own.
    pub decisions: u64,
    /// Nodes of the tree of partial schedules that have those in memory below them: one for each decision.
    pub partial: u64,
}

impl<O: Order> TreeSearch<O> {
    /// Executions that are known and were not run, the current one among them.
    #[must_use]
    pub fn pending(&self) -> u64 {
        self.store.pending()
    }

    /// Executions that were run and are kept, for what waits below them.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.store.nodes.len()
    }

    /// Whether no execution was begun that has not ended.
    pub(crate) fn is_between(&self) -> bool {
        matches!(self.stage, super::Stage::Ended)
    }

    /// The decisions that lead to any candidate in memory, with the same chance.
    pub(crate) fn draw(&self, rng: &mut Rng) -> Option<Vec<u32>> {
        let entries = u32::try_from(self.store.candidates.entries()).unwrap_or(u32::MAX);
        let mut nth = if entries > 0 { rng.below(entries) as usize } else { return None };
        let mut bins = self.store.candidates.bins();
        let pending = bins.find_map(|(_, _, bin)| {
            let found = bin.get(nth).copied();
            // Numbers go through all bins one after the other; what is left over belongs to the next one.
            nth = nth.saturating_sub(bin.len());
            found
        })?;
        let (mut chain, mut path) = (Vec::new(), Vec::new());
        self.store.nodes.chain(pending.parent, &mut chain);
        self.store.nodes.follow(&chain, pending.point + 1, &mut path);
        // Its parent's decisions up to its own, where it takes another option.
        path[pending.point as usize].option = pending.option;
        Some(path.into_iter().map(|taken| taken.option).collect())
    }

    /// What it holds. Takes time in proportion to that.
    #[must_use]
    pub fn memory(&self) -> TreeMemory {
        let store = &self.store;
        // Entries that were left behind by candidates which moved up are no executions.
        let waits = store.candidates.bins().flat_map(|(_, bin, entries)| {
            entries.iter().filter(move |pending| store.is_valid(bin, pending))
        });
        let (mut decisions, mut partial) = (0, 0);
        // Of each execution that was run, the last point at which something departs from it.
        let mut last: BTreeMap<u32, u32> = BTreeMap::new();
        let mut departs = |node: u32, point: u32| {
            let known = last.entry(node).or_insert(point);
            *known = point.max(*known);
        };
        for pending in waits {
            // As a list it would have all decisions up to its own; in a tree of partial schedules it adds one.
            decisions += u64::from(pending.point) + 1;
            partial += 1;
            departs(pending.parent, pending.point);
        }
        for (_, node) in store.nodes.iter().filter(|(_, node)| node.parent != NONE) {
            departs(node.parent, node.from - 1);
        }
        for (at, last) in last {
            let from = store.nodes.node(at).from;
            decisions += u64::from(last);
            // Its own decision, and those up to where the last one departs.
            partial += u64::from(last - from) + u64::from(from > 0);
        }
        TreeMemory {
            nodes: store.nodes.len() as u64,
            pending: store.pending(),
            bytes: self.tree_bytes() as u64,
            candidates: store.candidates.bytes() as u64,
            points: store.nodes.point_bytes() as u64,
            siblings: store.nodes.sibling_bytes() as u64,
            footprints: self.footprint_bytes() as u64,
            decisions,
            partial,
        }
    }

    /// Bytes of all that is kept of executions.
    pub(super) fn tree_bytes(&self) -> usize {
        // What is on disk is not among it: this is what `keep_within` bounds.
        self.store.candidates.bytes() + self.store.nodes.bytes() + self.footprint_bytes()
    }

    fn footprint_bytes(&self) -> usize {
        self.comparison.as_ref().map_or(0, |comparison| comparison.footprints.bytes())
    }
}
