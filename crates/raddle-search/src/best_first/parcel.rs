//! Candidates that leave the tree: with the decisions that lead to them, so that they need nothing of it.
//!
//! For what goes to disk, for checkpoints, and for parts that are given away. A parcel is one execution
//! that was run, as far as its candidates share it, and those of its candidates that cost the same. Put back
//! it is an execution without a parent.
//!
//! If executions are compared, it also has what its points were: without that a plan could not be followed.
//! What had been started there before stays behind, and does not sleep. That bears on the order of the search
//! alone, which is why a reduction sends nothing away.

use raddle_engine::strategy::{Taken, Unsupported};

use super::fringe::Pending;
use super::nodes::Nodes;
use super::priority::{Key, Reversal};
use super::road::Road;
use super::siblings::{Sibling, Siblings};
use crate::state::{FOREIGN, Reader, Writer};

/// What nodes keep of their points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeps {
    /// What they decided.
    Decisions,
    /// Also what the points were; and, perhaps, what they did there.
    Points { firsts: bool },
}

/// Candidates of one execution.
#[derive(Debug, Default)]
pub(super) struct Parcel {
    pub(super) key: Key,
    /// What leads to them; where a candidate leaves it, what its parent took.
    path: Vec<Taken>,
    /// What the points were, as a node without a parent has it.
    stops: Vec<u8>,
    delays: u32,
    /// Their parent is none of the tree's.
    pub(super) candidates: Vec<Pending>,
}

impl Parcel {
    /// Takes copies of candidates of one node.
    pub(super) fn new(
        key: Key,
        parent: u32,
        candidates: &[Pending],
        nodes: &Nodes,
        keeps: Keeps,
    ) -> Self {
        let length = candidates.iter().map(|pending| pending.point + 1).max().unwrap_or(0);
        let (mut chain, mut path, mut stops) = (Vec::new(), Vec::new(), Vec::new());
        nodes.chain(parent, &mut chain);
        nodes.follow(&chain, length, &mut path);
        let mut candidates = candidates.to_vec();
        if let Keeps::Points { firsts } = keeps {
            let mut road = Road::default();
            road.follow(&chain, nodes, &path, firsts);
            for pending in &mut candidates {
                // An entry that was left behind may be of a node that had its number before.
                let stop = &road.stops()[pending.point as usize];
                pending.preemptions = stop.preemptions_with(pending.option);
            }
            (0..road.len()).for_each(|at| road.stop_mut(at).first = 0);
            road.write(0, road.len(), firsts, &mut stops);
        }
        let delays = nodes.node(parent).delays;
        Self { key, path, stops, delays, candidates }
    }

    /// Puts its candidates' parent into the tree; says where.
    pub(super) fn adopt(&mut self, nodes: &mut Nodes) -> u32 {
        let open = self.candidates.len() as u32;
        let parent = nodes.adopt(&self.path, self.delays, open, &self.stops);
        self.candidates.iter_mut().for_each(|pending| pending.parent = parent);
        parent
    }

    /// What their parent keeps of its candidates, which all wait in one bin.
    pub(super) fn siblings(&self, bin: u32, keeps: Keeps) -> Siblings {
        let Keeps::Points { firsts } = keeps else { return Siblings::default() };
        let road = Road::decode(&self.stops, &self.path, firsts).expect("it was read before");
        let sibling = |pending: &Pending| {
            let value = road.stops()[pending.point as usize].value;
            Sibling::waiting(pending.point, pending.option, bin, value, Reversal::None)
        };
        let mut siblings = Siblings::default();
        siblings.add_all(&self.candidates.iter().map(sibling).collect::<Vec<_>>());
        siblings
    }

    /// What leads to a candidate, and it.
    pub(super) fn prefix(&self, candidate: &Pending) -> Vec<Taken> {
        let mut prefix = self.path[..=candidate.point as usize].to_vec();
        prefix[candidate.point as usize].option = candidate.option;
        prefix
    }

    /// About how many bytes it is written with.
    pub(super) fn bytes(&self) -> usize {
        24 + 2 * self.path.len() + self.stops.len() + 6 * self.candidates.len()
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.number((self.key.0 >> 64) as u64);
        writer.number(self.key.0 as u64);
        writer.number(self.delays.into());
        writer.number(self.path.len() as u64);
        for taken in &self.path {
            writer.number(taken.option.into());
            writer.number(taken.of.into());
        }
        writer.bytes(&self.stops);
        writer.number(self.candidates.len() as u64);
        for pending in &self.candidates {
            writer.number(pending.point.into());
            writer.number(pending.option.into());
            writer.number(pending.preemptions.into());
        }
    }

    /// Reads one, and looks whether it can be: candidates within `limit` preemptions at decisions of the path.
    pub(super) fn read(
        reader: &mut Reader<'_>,
        keeps: Keeps,
        limit: u32,
    ) -> Result<Self, Unsupported> {
        let (high, low) = (reader.number()?, reader.number()?);
        let key = Key(u128::from(high) << 64 | u128::from(low));
        let delays = reader.small()?;
        let length = reader.length()?;
        let mut path = Vec::with_capacity(length);
        for _ in 0..length {
            let taken = Taken { option: reader.small()?, of: reader.small()? };
            if taken.of < 2 || taken.option >= taken.of {
                return Err(FOREIGN);
            }
            path.push(taken);
        }
        let stops = reader.bytes()?.to_vec();
        let is_whole = match keeps {
            Keeps::Decisions => stops.is_empty(),
            Keeps::Points { firsts } => Road::decode(&stops, &path, firsts).is_some(),
        };
        if !is_whole {
            return Err(FOREIGN);
        }
        let length = reader.length()?;
        let mut candidates = Vec::with_capacity(length);
        for _ in 0..length {
            let (point, option) = (reader.small()?, reader.small()?);
            let preemptions = reader.small()?;
            let there = path.get(point as usize).ok_or(FOREIGN)?;
            if option >= there.of || option == there.option || preemptions > limit {
                return Err(FOREIGN);
            }
            candidates.push(Pending { parent: super::nodes::NONE, point, option, preemptions });
        }
        if candidates.is_empty() {
            return Err(FOREIGN);
        }
        Ok(Self { key, path, stops, delays, candidates })
    }
}
