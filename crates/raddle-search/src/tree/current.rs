//! The execution that is run: the decisions that lead to it, and which nodes they are of.

use raddle_engine::strategy::Taken;

use super::candidates::Pending;
use super::nodes::{Link, Nodes};

/// The current execution, or the last one.
#[derive(Debug, Default)]
pub(super) struct Current {
    /// Its decisions: as planned, then all.
    pub(super) path: Vec<Taken>,
    pub(super) planned: usize,
    /// The nodes that lead to it.
    pub(super) chain: Vec<Link>,
    /// Those of the next one, while its path is made.
    next: Vec<Link>,
    /// Whether the next one can share decisions with it.
    pub(super) is_known: bool,
    /// Preemptions so far, if executions are compared.
    pub(super) preemptions: u32,
}

impl Current {
    /// Forgets all of it: nothing can be shared with it.
    pub(super) fn clear(&mut self) {
        self.path.clear();
        self.chain.clear();
        self.is_known = false;
    }

    /// Makes the path that leads to a candidate; says how much of it is that of the last execution.
    pub(super) fn follow(&mut self, pending: Pending, nodes: &Nodes) -> usize {
        nodes.chain(pending.parent, &mut self.next);
        if !self.is_known {
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
        nodes.follow(&self.next, pending.point + 1, &mut self.path);
        self.path[pending.point as usize].option = pending.option;
        std::mem::swap(&mut self.chain, &mut self.next);
        shared as usize
    }

    /// The decisions of a plan that were taken, with all that followed; `false` if it was not followed.
    pub(super) fn end(&mut self, taken: &[Taken], limited: bool) -> bool {
        let same = |(planned, taken): (&Taken, &Taken)| planned == taken;
        let short = taken.len() < self.planned;
        let followed = (limited || !short) && self.path.iter().zip(taken).all(same);
        // A limit on time may cut the plan itself.
        self.is_known &= followed && !short;
        self.path.extend_from_slice(taken.get(self.planned..).unwrap_or_default());
        followed
    }
}
