//! What a search holds, and how much there is of what it searches.

use raddle_trace::Estimate;

use super::BestFirst;
use crate::bound::Bound;
use crate::estimate::Kind;
use crate::order::Order;

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
    /// Of these: the fringe.
    pub fringe: u64,
    /// Of these: decisions of executions that were run and, if executions are compared, what the points
    /// were.
    pub points: u64,
    /// Of these: what is kept of options that wait or were started.
    pub siblings: u64,
    /// Of these: what steps did.
    pub footprints: u64,
    /// Decisions of all those in memory, if each were kept as the list of its decisions: of one that was
    /// run, as far as something is left of it, which may be less than all; of one that waits, to the one that
    /// is its own.
    pub decisions: u64,
    /// Nodes of the tree of partial schedules that have those in memory below them: one for each decision.
    pub partial: u64,
}

impl<O: Order> BestFirst<O> {
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
            bytes: self.tree_bytes() as u64,
            fringe: self.fringe.bytes() as u64,
            points: self.nodes.points() as u64,
            siblings: self.nodes.siblings() as u64,
            footprints: self.footprint_bytes() as u64,
            decisions,
            partial,
        }
    }

    /// Bytes of all that is kept of executions.
    pub(super) fn tree_bytes(&self) -> usize {
        self.fringe.bytes() + self.nodes.bytes() + self.footprint_bytes()
    }

    pub(super) fn footprint_bytes(&self) -> usize {
        self.analysis.as_ref().map_or(0, |analysis| analysis.footprints.bytes())
    }

    /// Whether it can be said how much of the space there is: within a bound the number of options that are
    /// within it would have to be known of points that are repeated.
    pub(super) fn estimates(&self) -> bool {
        self.reduction.is_none() && self.bound == Bound::None
    }

    pub(super) fn estimate(&self) -> Option<Estimate> {
        let can = self.estimates() && self.whole && !self.diverged;
        let reading = can.then(|| self.chances.read(self.executions, self.pending()))??;
        Some(reading.estimate(Kind::Best))
    }
}
