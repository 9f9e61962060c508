//! The store: executions that were run, candidates that wait, and how they fit together.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::candidates::{Candidates, Pending};
use super::nodes::Nodes;
use super::priority::{Candidate, Priorities};

/// Entries that candidates which moved up may leave behind, however few wait.
const MOST_STALE: usize = 256;

/// What a search knows.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) nodes: Nodes,
    pub(super) candidates: Candidates,
    pub(super) priorities: Priorities,
    /// Whether executions are compared: nodes have siblings and points then.
    pub(super) compares: bool,
    /// What waits or runs, by what it costs.
    left: BTreeMap<u32, u64>,
}

impl Store {
    pub(super) fn new(
        nodes: Nodes,
        candidates: Candidates,
        priorities: Priorities,
        compares: bool,
    ) -> Self {
        Self { nodes, candidates, priorities, compares, left: BTreeMap::new() }
    }

    /// Candidates that wait or run.
    pub(super) fn pending(&self) -> u64 {
        self.left.values().sum()
    }

    /// What the cheapest costs that waits or runs, in preemptions or delays.
    pub(super) fn least_cost(&self) -> Option<u32> {
        self.left.first_key_value().map(|(cost, _)| *cost)
    }

    /// One more waits.
    pub(super) fn count(&mut self, cost: u32) {
        *self.left.entry(cost).or_insert(0) += 1;
    }

    /// One was run, or given away.
    pub(super) fn uncount(&mut self, cost: u32) {
        let left = self.left.get_mut(&cost).expect("it was counted");
        *left -= 1;
        // `least_cost` looks at the first key.
        if *left == 0 {
            self.left.remove(&cost);
        }
    }

    /// Takes over all but the priorities.
    pub(super) fn take(&mut self, other: Self) {
        let Self { nodes, candidates, left, .. } = other;
        (self.nodes, self.candidates, self.left) = (nodes, candidates, left);
    }

    /// A new candidate of the node at `parent`; says in which bin.
    pub(super) fn push(&mut self, parent: u32, candidate: &Candidate) -> u32 {
        let key = self.candidates.key(candidate, &mut self.priorities);
        let &Candidate { point, option, .. } = candidate;
        // Either is 0.
        let cost = candidate.preemptions + candidate.delays;
        let bin = self.candidates.push(key, Pending { parent, point, option, cost });
        self.nodes.node_mut(parent).open += 1;
        self.count(cost);
        bin
    }

    /// A candidate is started: it is the last of its siblings that were.
    pub(super) fn start(&mut self, pending: &Pending) {
        if self.compares {
            let place = pending.point - self.nodes.node(pending.parent).from;
            self.nodes.change(pending.parent, |all| all.start(place, pending.option));
        }
    }

    /// Whether an entry is a candidate, and not one that a candidate left behind when it moved up.
    pub(super) fn is_valid(&self, bin: u32, pending: &Pending) -> bool {
        if !self.compares {
            return true;
        }
        // The node may have been dropped, and another one may have its number.
        let Some(node) = self.nodes.get(pending.parent) else { return false };
        let Some(place) = pending.point.checked_sub(node.from) else { return false };
        node.sibling(place, pending.option).is_some_and(|sibling| sibling.bin() == Some(bin))
    }

    /// The candidates among the first `n` entries of a bin, each once.
    pub(super) fn valid(&self, bin: u32, entries: &VecDeque<Pending>, n: usize) -> Vec<Pending> {
        let entries = entries.iter().take(n);
        if !self.compares {
            return entries.copied().collect();
        }
        // An entry that was left behind may look like a candidate of another node, which has its own.
        let mut seen = BTreeSet::new();
        let mut valid: Vec<_> = entries
            .rev()
            .filter(|pending| self.is_valid(bin, pending))
            .filter(|pending| seen.insert((pending.parent, pending.point, pending.option)))
            .copied()
            .collect();
        valid.reverse();
        valid
    }

    /// Drops entries of candidates that moved up, if they are most of them.
    pub(super) fn purge(&mut self) {
        if !self.compares || self.candidates.entries() < MOST_STALE {
            return;
        }
        let waiting = self.pending() as usize;
        // In proportion, so that the time for it is spread over the entries that made it necessary.
        if self.candidates.entries() - MOST_STALE / 2 > waiting + waiting / 4 {
            self.drop_stale();
        }
    }

    /// Drops all entries that candidates left behind.
    pub(super) fn drop_stale(&mut self) {
        if self.compares {
            // Taken out of `self`, which is asked whether an entry is valid.
            let nothing = self.candidates.anew();
            let mut candidates = std::mem::replace(&mut self.candidates, nothing);
            candidates.retain(|bin, pending| self.is_valid(bin, pending));
            self.candidates = candidates;
        }
    }

    /// A candidate is not one of the tree any more.
    pub(super) fn leave(&mut self, pending: &Pending) {
        let node = self.nodes.node_mut(pending.parent);
        node.open -= 1;
        let place = pending.point - node.from;
        if self.compares {
            self.nodes.change(pending.parent, |all| all.remove(place, pending.option));
        }
        // It may have been the last that kept its node.
        self.nodes.detach(pending.parent);
    }

    /// Bytes that nodes and candidates hold, in a moment.
    pub(super) fn in_use(&self) -> usize {
        self.nodes.held() + self.candidates.entries() * size_of::<Pending>()
    }
}
