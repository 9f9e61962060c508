//! Saving and restoring the tree as a whole, for a reduction: a race may ask for something at any execution
//! that is kept, and whoever is started later must know who was before.
//!
//! Besides the candidates with what they cost a state has all nodes, and what steps did. Bins, and how many
//! children of a node are open, follow from the rest.
//!
//! A part of it cannot be given away, nor leave memory: a race that is found in one part may ask for something
//! in another.

use raddle_engine::dependence::Footprint;
use raddle_engine::strategy::{Checkpoint, Unsupported};

use super::super::footprints::Footprints;
use super::super::fringe::{Fringe, Pending};
use super::super::nodes::{NONE, Nodes, Saved};
use super::super::priority::Key;
use super::super::siblings::{Sibling, Siblings};
use super::super::{BestFirst, Stage};
use crate::expansion::reduced::Reduction;
use crate::order::Order;
use crate::state::{FOREIGN, Reader, Writer};

const NAME: &str = "reduced best-first";

impl<O: Order> BestFirst<O> {
    pub(super) fn save_tree(&self, reduction: Reduction) -> Checkpoint {
        let analysis = self.analysis.as_ref().expect("a reduction compares");
        let mut writer = Writer::new(NAME);
        writer.text(&self.name());
        writer.text(self.order.name());
        writer.number(self.order.state());
        writer.number(u64::from(reduction == Reduction::Classic));
        let words = self.priorities.save();
        writer.number(words.len() as u64);
        for word in words {
            writer.number(word);
        }
        let (stage, running) = match self.stage {
            Stage::First => (0, None),
            Stage::Running(pending) => (1, Some(pending)),
            Stage::Ended => (2, None),
            Stage::Last => (3, None),
        };
        writer.number(stage);
        writer.number(u64::from(self.diverged));
        writer.number(u64::from(self.incomplete));
        writer.number(self.executions);
        writer.number(analysis.footprints.len() as u64);
        for footprint in analysis.footprints.iter() {
            for word in footprint.to_words() {
                writer.number(word);
            }
        }
        let numbers = self.write_nodes(&mut writer);
        let write = |writer: &mut Writer, pending: &Pending| {
            writer.number(numbers[pending.parent as usize].into());
            writer.number(pending.point.into());
            writer.number(pending.option.into());
            writer.number(pending.preemptions.into());
        };
        if let Some(pending) = &running {
            write(&mut writer, pending);
        }
        let bins: Vec<_> = self
            .fringe
            .bins()
            .map(|(key, bin, entries)| (key, self.valid(bin, entries)))
            .filter(|(_, entries)| !entries.is_empty())
            .collect();
        writer.number(bins.len() as u64);
        for (Key(key), entries) in bins {
            writer.number((key >> 64) as u64);
            writer.number(key as u64);
            writer.number(entries.len() as u64);
            for pending in &entries {
                write(&mut writer, pending);
            }
        }
        writer.finish()
    }

    /// Writes all nodes; says which numbers they have in the state.
    fn write_nodes(&self, writer: &mut Writer) -> Vec<u32> {
        let mut numbers = Vec::new();
        for (number, (at, _)) in self.nodes.iter().enumerate() {
            numbers.resize(at as usize + 1, NONE);
            numbers[at as usize] = number as u32;
        }
        writer.number(self.nodes.len() as u64);
        writer.number(match numbers.get(self.nodes.root() as usize) {
            Some(root) => u64::from(*root) + 1,
            None => 0,
        });
        for (_, node) in self.nodes.iter() {
            writer.number(match numbers.get(node.parent as usize) {
                Some(parent) => u64::from(*parent) + 1,
                None => 0,
            });
            writer.number(node.from.into());
            writer.number(node.delays.into());
            writer.number(node.own().into());
            let (decisions, stops) = node.raw();
            writer.bytes(decisions);
            writer.bytes(stops);
            writer.number(node.siblings().all().len() as u64);
            for sibling in node.siblings().all() {
                writer.number(sibling.place.into());
                writer.number(sibling.option.into());
                // The bin is another one next time.
                let footprint = sibling.footprint().unwrap_or(0);
                writer.number(u64::from(footprint) << 4 | u64::from(sibling.flags()));
            }
        }
        numbers
    }

    pub(super) fn restore_tree(
        &mut self,
        reduction: Reduction,
        saved: &Checkpoint,
    ) -> Result<(), Unsupported> {
        let mut reader = Reader::new(saved, NAME)?;
        reader.expect_text(&self.name())?;
        reader.expect_text(self.order.name())?;
        let order = reader.number()?;
        if reader.flag()? != (reduction == Reduction::Classic) {
            return Err(FOREIGN);
        }
        let n_words = reader.length()?;
        let words = (0..n_words).map(|_| reader.number()).collect::<Result<Vec<_>, _>>()?;
        let stage = reader.number()?;
        let (diverged, incomplete) = (reader.flag()?, reader.flag()?);
        let executions = reader.number()?;
        if stage > 3 || words.len() != self.priorities.save().len() {
            return Err(FOREIGN);
        }
        let mut footprints = Footprints::default();
        let n_footprints = reader.length()?;
        for _ in 0..n_footprints {
            let mut words = [0; Footprint::WORDS];
            for word in &mut words {
                *word = reader.number()?;
            }
            footprints.number(&Footprint::from_words(words).ok_or(FOREIGN)?);
        }
        if footprints.len() != n_footprints {
            return Err(FOREIGN);
        }
        let mut nodes = self.read_nodes(&mut reader, footprints.len(), stage == 1)?;
        let running = if stage == 1 { Some(read_pending(&mut reader, &mut nodes)?) } else { None };
        let (mut fringe, mut left) = (Fringe::new(), Vec::new());
        let mut count = |pending: &Pending| {
            let at = pending.preemptions as usize;
            left.resize(left.len().max(at + 1), 0);
            left[at] += 1;
        };
        for _ in 0..reader.length()? {
            let (high, low) = (reader.number()?, reader.number()?);
            let key = Key(u128::from(high) << 64 | u128::from(low));
            for _ in 0..reader.length()? {
                let pending = read_pending(&mut reader, &mut nodes)?;
                let bin = fringe.push(key, pending);
                let node = nodes.node_mut(pending.parent);
                let place = pending.point - node.from;
                let sibling = node.sibling_mut(place, pending.option).ok_or(FOREIGN)?;
                let reversal = sibling.reversal();
                if sibling.is_started() {
                    return Err(FOREIGN);
                }
                sibling.wait(bin, reversal);
                count(&pending);
            }
        }
        reader.finish()?;
        running.iter().for_each(count);
        let waiting: usize = nodes.iter().map(|(_, node)| node.siblings().live().1).sum();
        if waiting != fringe.entries() || (stage == 0 || stage == 3) && waiting > 0 {
            return Err(FOREIGN);
        }
        let analysis = self.analysis.as_mut().expect("a reduction compares");
        analysis.footprints = footprints;
        analysis.forget();
        self.stage = match (stage, running) {
            (0, _) => Stage::First,
            (1, Some(pending)) => Stage::Running(pending),
            (2, _) => Stage::Ended,
            _ => Stage::Last,
        };
        (self.nodes, self.fringe, self.left) = (nodes, fringe, left);
        self.order.set_state(order);
        self.priorities.restore(&mut words.into_iter());
        (self.diverged, self.incomplete, self.executions) = (diverged, incomplete, executions);
        self.path.clear();
        self.chain.clear();
        self.stale = true;
        Ok(())
    }

    /// Reads the nodes, and looks whether each can be followed.
    fn read_nodes(
        &self,
        reader: &mut Reader<'_>,
        n_footprints: usize,
        running: bool,
    ) -> Result<Nodes, Unsupported> {
        let n_nodes = reader.length()?;
        let root = reader.small()?;
        let number = |one: u32| match one {
            0 => Ok(NONE),
            n if n as usize <= n_nodes => Ok(n - 1),
            _ => Err(FOREIGN),
        };
        let mut nodes = self.nodes.anew();
        for _ in 0..n_nodes {
            let parent = number(reader.small()?)?;
            let (from, delays, own) = (reader.small()?, reader.small()?, reader.small()?);
            let (decisions, stops) = (reader.bytes()?, reader.bytes()?);
            let n = reader.length()?;
            let mut siblings = Vec::with_capacity(n);
            for _ in 0..n {
                let (place, option) = (reader.small()?, reader.small()?);
                let state = reader.number()?;
                let footprint = u32::try_from(state >> 4).map_err(|_| FOREIGN)?;
                if footprint as usize > n_footprints {
                    return Err(FOREIGN);
                }
                let sibling = Sibling::saved(place, option, footprint, (state & 15) as u8);
                siblings.push(sibling.ok_or(FOREIGN)?);
            }
            let siblings = Siblings::saved(&siblings).ok_or(FOREIGN)?;
            nodes.put(Saved { parent, from, delays, own, decisions, stops, siblings });
        }
        if nodes.fit(number(root)?, running) { Ok(nodes) } else { Err(FOREIGN) }
    }
}

/// A candidate of one of the nodes.
fn read_pending(reader: &mut Reader<'_>, nodes: &mut Nodes) -> Result<Pending, Unsupported> {
    let (parent, point) = (reader.small()?, reader.small()?);
    let (option, preemptions) = (reader.small()?, reader.small()?);
    let node = nodes.get(parent).ok_or(FOREIGN)?;
    let place = point.checked_sub(node.from).ok_or(FOREIGN)?;
    let there = node.sibling(place, option).is_some();
    // More preemptions than decisions there are never.
    if there && preemptions <= point + 1 {
        Ok(Pending { parent, point, option, preemptions })
    } else {
        Err(FOREIGN)
    }
}
