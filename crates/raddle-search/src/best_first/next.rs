//! Which execution is next, and what leads to it.

use super::BestFirst;
use super::fringe::{Fringe, Pending};
use super::nodes::Link;
use crate::order::Order;

/// Entries that candidates which moved up may leave behind, however few wait.
const MOST_STALE: usize = 256;

impl<O: Order> BestFirst<O> {
    /// The next one to run; none also if what was moved out of memory cannot be read back.
    pub(super) fn pop(&mut self) -> Option<Pending> {
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

    /// Drops entries of candidates that moved up, if they are most of them.
    pub(super) fn purge(&mut self) {
        if self.analysis.is_none() || self.fringe.entries() < MOST_STALE {
            return;
        }
        let waiting = self.pending() as usize;
        if self.fringe.entries() - MOST_STALE / 2 > waiting + waiting / 4 {
            self.drop_stale();
        }
    }

    /// Drops all entries that candidates left behind.
    pub(super) fn drop_stale(&mut self) {
        if self.analysis.is_some() {
            let mut fringe = std::mem::replace(&mut self.fringe, Fringe::new());
            fringe.retain(|bin, pending| self.is_valid(bin, pending));
            self.fringe = fringe;
        }
    }

    pub(super) fn is_in_trouble(&self) -> bool {
        self.spill.as_ref().is_some_and(|spill| spill.trouble.is_some())
    }

    /// Makes the path that leads to a candidate; says how much of it is that of the last execution.
    pub(super) fn make_path(&mut self, pending: Pending) -> usize {
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
}
