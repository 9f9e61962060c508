//! Saving, restoring and splitting the search, and moving the dear part of it out of memory and back: all
//! by parcels (`parcel.rs`); but with a reduction the tree is saved as a whole (`tree.rs`).
//!
//! A candidate stands for all executions that begin as it does, within the bound: whoever has it runs them.
//! So what is left of a search is its candidates, and any way to deal them out is a split.

mod tree;

use std::collections::BTreeSet;

use raddle_engine::strategy::{Checkpoint, Unsupported, Work};

use super::fringe::{Fringe, Pending};
use super::parcel::{Keeps, Parcel};
use super::priority::Key;
use super::{BestFirst, Stage};
use crate::bound::Bound;
use crate::estimate::Met;
use crate::order::Order;
use crate::state::{FOREIGN, Reader, Writer};

const NAME: &str = "best-first";

/// Candidates that stay in memory whatever it may hold.
const FEWEST: usize = 8;

const REDUCED: Unsupported = Unsupported(
    "be split with a reduction: a race that is found in one part may ask for something in another; use \
     `all best-first(..)`, or one process",
);

/// What is saved besides what makes a search.
struct State<'a> {
    stage: u64,
    whole: bool,
    diverged: bool,
    executions: u64,
    running: Option<&'a Parcel>,
    parcels: &'a [Parcel],
}

impl<O: Order> BestFirst<O> {
    fn keeps(&self) -> Keeps {
        match &self.analysis {
            None => Keeps::Decisions,
            Some(analysis) => Keeps::Points { firsts: analysis.firsts() },
        }
    }

    /// Whether an entry of the fringe is not one that its candidate left behind when it moved up.
    pub(super) fn is_valid(&self, bin: u32, pending: &Pending) -> bool {
        if self.analysis.is_none() {
            return true;
        }
        // The node may be gone, or be another one.
        let Some(node) = self.nodes.get(pending.parent) else { return false };
        let Some(place) = pending.point.checked_sub(node.from) else { return false };
        node.sibling(place, pending.option).is_some_and(|sibling| sibling.bin() == Some(bin))
    }

    /// The candidates among the entries of a bin, each once.
    fn valid(&self, bin: u32, entries: &[Pending]) -> Vec<Pending> {
        if self.analysis.is_none() {
            return entries.to_vec();
        }
        // An entry that was left behind may look like a candidate of another node, which has its own.
        let mut seen = BTreeSet::new();
        let mut valid: Vec<_> = entries
            .iter()
            .rev()
            .filter(|pending| self.is_valid(bin, pending))
            .filter(|pending| seen.insert((pending.parent, pending.point, pending.option)))
            .copied()
            .collect();
        valid.reverse();
        valid
    }

    /// Adds the parcels of candidates that cost the same.
    fn pack(&self, key: Key, candidates: &[Pending], parcels: &mut Vec<Parcel>) {
        for run in candidates.chunk_by(|one, next| one.parent == next.parent) {
            parcels.push(Parcel::new(key, run[0].parent, run, &self.nodes, self.keeps()));
        }
    }

    /// All candidates in memory, the cheapest first, of equal ones the oldest.
    fn parcels(&self) -> Vec<Parcel> {
        let mut parcels = Vec::new();
        for (key, bin, entries) in self.fringe.bins() {
            self.pack(key, &self.valid(bin, entries), &mut parcels);
        }
        parcels
    }

    /// Bytes that the tree and the fringe hold, in a moment.
    fn in_use(&self) -> usize {
        self.nodes.held() + self.fringe.entries() * size_of::<Pending>()
    }

    /// Moves the dear part out of memory if there is too much in it.
    pub(super) fn relieve(&mut self) {
        let Some(enough) = self.spill.as_ref().and_then(|spill| spill.asks(self.in_use())) else {
            return;
        };
        while self.in_use() > enough && self.fringe.entries() > FEWEST {
            if !self.move_out(self.fringe.entries() / 2) {
                break;
            }
        }
        self.drop_stale();
        let moved = self.nodes.compact();
        self.fringe.renumber(&moved);
        // Nodes have other numbers now.
        self.stale = true;
        let held = self.in_use();
        if let Some(spill) = &mut self.spill {
            spill.stayed(held);
        }
    }

    /// Moves all but `stay` candidates out of memory, the dearest, and of equal ones the oldest.
    fn move_out(&mut self, mut stay: usize) -> bool {
        let mut leaving: Vec<(u32, usize)> = Vec::new();
        let mut parcels = Vec::new();
        for (key, bin, entries) in self.fringe.bins() {
            let staying = entries.len().min(stay);
            stay -= staying;
            let leave = &entries[..entries.len() - staying];
            leaving.push((bin, leave.len()));
            self.pack(key, &self.valid(bin, leave), &mut parcels);
        }
        let spill = self.spill.as_mut().expect("there is a store");
        if !spill.put(&parcels) {
            return false;
        }
        let mut gone = Vec::new();
        leaving.sort_unstable();
        self.fringe.retain(|bin, pending| {
            let at = leaving.binary_search_by_key(&bin, |(bin, _)| *bin);
            let left = at.map(|at| &mut leaving[at].1);
            match left {
                Ok(left) if *left > 0 => {
                    *left -= 1;
                    gone.push((bin, *pending));
                    false
                }
                _ => true,
            }
        });
        for (bin, pending) in gone {
            if self.is_valid(bin, &pending) {
                self.leave(&pending);
            }
        }
        true
    }

    /// A candidate is not one of the tree any more.
    fn leave(&mut self, pending: &Pending) {
        let node = self.nodes.node_mut(pending.parent);
        node.open -= 1;
        let place = pending.point - node.from;
        if self.analysis.is_some() {
            self.nodes.change(pending.parent, |all| all.remove(place, pending.option));
        }
        self.nodes.detach(pending.parent);
    }

    /// Takes back what is cheaper than all in memory. `false` if it cannot be read.
    pub(super) fn move_in(&mut self) -> bool {
        loop {
            let keeps = self.keeps();
            let Some(spill) = &mut self.spill else { return true };
            let Some(key) = spill.best() else { return true };
            if self.fringe.best().is_some_and(|best| best <= key) {
                return true;
            }
            let Some(parcels) = spill.take_best(keeps, self.bound.limit()) else { return false };
            // The newest go on top of each other last.
            for mut parcel in parcels.into_iter().rev() {
                let parent = parcel.adopt(&mut self.nodes);
                let bin = self.fringe.push_below(parcel.key, &parcel.candidates);
                self.nodes.change(parent, |all| *all = parcel.siblings(bin, keeps));
            }
            // A node may have the number of one that led to the last execution.
            self.stale = true;
        }
    }

    /// A candidate is started: it is the last of its siblings that were.
    pub(super) fn start(&mut self, pending: Pending) -> Pending {
        if self.analysis.is_some() {
            let place = pending.point - self.nodes.node(pending.parent).from;
            self.nodes.change(pending.parent, |all| all.start(place, pending.option));
        }
        pending
    }

    fn write(&self, state: &State<'_>) -> Checkpoint {
        let mut writer = Writer::new(NAME);
        writer.text(&self.name());
        writer.text(self.order.name());
        writer.number(self.order.state());
        match self.bound {
            Bound::None => writer.number(0),
            Bound::Preemptions(k) => {
                writer.number(1);
                writer.number(k.into());
            }
        }
        let words = self.priorities.save();
        writer.number(words.len() as u64);
        for word in words {
            writer.number(word);
        }
        writer.number(state.stage);
        writer.number(u64::from(state.whole));
        writer.number(u64::from(state.diverged));
        writer.number(state.executions);
        writer.real(if state.whole { self.chances.share() } else { 0.0 });
        if let Some(running) = state.running {
            running.write(&mut writer);
        }
        writer.number(state.parcels.len() as u64);
        for parcel in state.parcels {
            parcel.write(&mut writer);
        }
        writer.finish()
    }

    pub(super) fn save_all(&self) -> Result<Checkpoint, Unsupported> {
        if let Some(reduction) = self.reduction {
            return Ok(self.save_tree(reduction));
        }
        let mut parcels = self.parcels();
        if let Some(spill) = &self.spill {
            let mut away = spill.all(self.keeps(), self.bound.limit()).map_err(|_| {
                Unsupported("be saved: what was moved out of memory cannot be read back")
            })?;
            // Below what is in memory.
            away.append(&mut parcels);
            away.sort_by_key(|parcel| parcel.key);
            parcels = away;
        }
        let (stage, running) = match self.stage {
            Stage::First => (0, None),
            Stage::Running(pending) => {
                let (parent, keeps) = (pending.parent, self.keeps());
                let key = Key::default();
                (1, Some(Parcel::new(key, parent, &[pending], &self.nodes, keeps)))
            }
            Stage::Ended => (2, None),
            Stage::Last => (3, None),
        };
        Ok(self.write(&State {
            stage,
            whole: self.whole,
            diverged: self.diverged,
            executions: self.executions,
            running: running.as_ref(),
            parcels: &parcels,
        }))
    }

    pub(super) fn restore_all(&mut self, saved: &Checkpoint) -> Result<(), Unsupported> {
        if let Some(reduction) = self.reduction {
            return self.restore_tree(reduction, saved);
        }
        let mut reader = Reader::new(saved, NAME)?;
        reader.expect_text(&self.name())?;
        reader.expect_text(self.order.name())?;
        let order = reader.number()?;
        let bound = match reader.number()? {
            0 => Bound::None,
            1 => Bound::Preemptions(reader.small()?),
            _ => return Err(FOREIGN),
        };
        let n_words = reader.length()?;
        let words = (0..n_words).map(|_| reader.number()).collect::<Result<Vec<_>, _>>()?;
        let stage = reader.number()?;
        let (whole, diverged) = (reader.flag()?, reader.flag()?);
        let executions = reader.number()?;
        let share = reader.real()?;
        let (keeps, limit) = (self.keeps(), bound.limit());
        if bound != self.bound || stage > 3 || words.len() != self.priorities.save().len() {
            return Err(FOREIGN);
        }
        let read = |reader: &mut Reader<'_>| Parcel::read(reader, keeps, limit);
        let running = if stage == 1 { Some(read(&mut reader)?) } else { None };
        let n_parcels = reader.length()?;
        let parcels = (0..n_parcels).map(|_| read(&mut reader)).collect::<Result<Vec<_>, _>>()?;
        reader.finish()?;
        if stage != 1 && stage != 2 && !parcels.is_empty() {
            return Err(FOREIGN);
        }
        if running.as_ref().is_some_and(|running| running.candidates.len() != 1) {
            return Err(FOREIGN);
        }
        self.nodes = self.nodes.anew();
        self.fringe = Fringe::new();
        self.left.clear();
        if let Some(spill) = &mut self.spill {
            spill.clear();
        }
        self.stage = match stage {
            0 => Stage::First,
            2 => Stage::Ended,
            _ => Stage::Last,
        };
        if let Some(mut parcel) = running {
            let parent = parcel.adopt(&mut self.nodes);
            self.nodes.change(parent, |all| *all = parcel.siblings(0, keeps));
            let pending = parcel.candidates[0];
            self.count(pending.preemptions);
            self.stage = Stage::Running(self.start(pending));
        }
        for mut parcel in parcels {
            let parent = parcel.adopt(&mut self.nodes);
            let mut bin = 0;
            for &pending in &parcel.candidates {
                self.count(pending.preemptions);
                bin = self.fringe.push(parcel.key, pending);
            }
            self.nodes.change(parent, |all| *all = parcel.siblings(bin, keeps));
        }
        self.order.set_state(order);
        self.priorities.restore(&mut words.into_iter());
        (self.whole, self.diverged, self.executions) = (whole, diverged, executions);
        self.chances = Met::restored(share);
        self.path.clear();
        self.chain.clear();
        self.stale = true;
        Ok(())
    }

    /// One more waits.
    pub(super) fn count(&mut self, preemptions: u32) {
        let preemptions = preemptions as usize;
        if self.left.len() <= preemptions {
            self.left.resize(preemptions + 1, 0);
        }
        self.left[preemptions] += 1;
    }

    /// Gives away candidates, those first that leave the path early: most follows them.
    pub(super) fn give(&mut self, n: usize) -> Result<Vec<Work>, Unsupported> {
        if self.reduction.is_some() {
            return Err(REDUCED);
        }
        if !self.move_in() {
            return Err(Unsupported("be split: what was moved out of memory cannot be read back"));
        }
        let mut all: Vec<(Key, u32, Pending)> = Vec::new();
        for (key, bin, entries) in self.fringe.bins() {
            all.extend(self.valid(bin, entries).into_iter().map(|pending| (key, bin, pending)));
        }
        // One stays, unless one is being run.
        let running = matches!(self.stage, Stage::Running(_));
        let most = if running { all.len() } else { all.len().saturating_sub(1) };
        all.sort_by_key(|(.., pending)| pending.point);
        all.truncate(n.min(most));
        let mut works = Vec::with_capacity(all.len());
        for (key, _, pending) in &mut all {
            let one = std::slice::from_ref(pending);
            let parcel = Parcel::new(*key, pending.parent, one, &self.nodes, self.keeps());
            pending.preemptions = parcel.candidates[0].preemptions;
            let prefix = parcel.prefix(pending);
            let state = self.write(&State {
                stage: 2,
                whole: false,
                diverged: false,
                executions: 0,
                running: None,
                parcels: &[parcel],
            });
            works.push(Work { prefix, state });
        }
        let gone = |bin: u32, pending: &Pending| {
            let place = |pending: &Pending| (pending.parent, pending.point, pending.option);
            all.iter().any(|(_, theirs, one)| *theirs == bin && place(one) == place(pending))
        };
        self.fringe.retain(|bin, pending| !gone(bin, pending));
        for (.., pending) in &all {
            self.left[pending.preemptions as usize] -= 1;
            self.leave(pending);
        }
        if !all.is_empty() {
            self.whole = false;
            self.stale |= !running;
        }
        Ok(works)
    }
}

#[cfg(test)]
mod tests;
