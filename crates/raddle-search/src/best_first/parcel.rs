//! Candidates that leave the tree: with the decisions that lead to them, so that they need nothing of it.
//!
//! For what goes to disk, for checkpoints, and for parts that are given away. A parcel is one execution
//! that was run, as far as its candidates share it, and those of its candidates that cost the same. Put back
//! it is an execution without a parent.
//!
//! If executions are compared, it also has where the decisions were among the events: without that a plan
//! could not be followed. What was known of their options stays behind: a race that is found later moves up
//! no candidate that has been away, and what had been started there before does not sleep. That bears on
//! the order of the search alone, which is why a reduction sends nothing away.

use raddle_engine::strategy::{Taken, Unsupported};

use super::fringe::Pending;
use super::known::Known;
use super::nodes::{Link, Nodes};
use super::priority::Key;
use crate::state::{FOREIGN, Reader, Writer};

/// Candidates of one execution.
#[derive(Debug, Default)]
pub(super) struct Parcel {
    pub(super) key: Key,
    /// What leads to them; where a candidate leaves it, what its parent took.
    path: Vec<Taken>,
    /// If executions are compared: events before each decision, and whether it is a value's.
    stops: Vec<(u32, bool)>,
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
        compares: bool,
    ) -> Self {
        let length = candidates.iter().map(|pending| pending.point + 1).max().unwrap_or(0);
        let (mut chain, mut path, mut stops) = (Vec::new(), Vec::new(), Vec::new());
        nodes.chain(parent, &mut chain);
        nodes.follow(&chain, length, &mut path);
        if compares {
            for (index, link) in chain.iter().enumerate() {
                let until = chain.get(index + 1).map_or(length, |next: &Link| next.from);
                let known = nodes.node(link.node).known.as_ref();
                let known = known.expect("kept while there is an analysis");
                let places =
                    (link.from..until).map(|point| &known.places[(point - link.from) as usize]);
                stops.extend(places.map(|place| (place.event, place.value)));
            }
        }
        let delays = nodes.node(parent).delays;
        Self { key, path, stops, delays, candidates: candidates.to_vec() }
    }

    /// Puts its candidates' parent into the tree; says where.
    pub(super) fn adopt(&mut self, nodes: &mut Nodes) -> u32 {
        let known = (!self.stops.is_empty()).then(|| Box::new(Known::bare(&self.stops)));
        let parent = nodes.adopt(&self.path, self.delays, self.candidates.len() as u32, known);
        self.candidates.iter_mut().for_each(|pending| pending.parent = parent);
        parent
    }

    /// What leads to a candidate, and it.
    pub(super) fn prefix(&self, candidate: &Pending) -> Vec<Taken> {
        let mut prefix = self.path[..=candidate.point as usize].to_vec();
        prefix[candidate.point as usize].option = candidate.option;
        prefix
    }

    /// About how many bytes it is written with.
    pub(super) fn bytes(&self) -> usize {
        24 + 2 * self.path.len() + 3 * self.stops.len() + 6 * self.candidates.len()
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
        writer.number(self.stops.len() as u64);
        let mut before = 0;
        for &(event, value) in &self.stops {
            writer.number(u64::from(event - before) << 1 | u64::from(value));
            before = event;
        }
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
        compares: bool,
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
        let n_stops = reader.length()?;
        if n_stops != if compares { path.len() } else { 0 } {
            return Err(FOREIGN);
        }
        let (mut stops, mut event) = (Vec::with_capacity(n_stops), 0_u32);
        for _ in 0..n_stops {
            let number = reader.number()?;
            let more = u32::try_from(number >> 1).map_err(|_| FOREIGN)?;
            event = event.checked_add(more).ok_or(FOREIGN)?;
            stops.push((event, number & 1 == 1));
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
