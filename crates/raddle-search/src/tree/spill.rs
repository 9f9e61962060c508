//! Candidates that do not fit into memory: blocks of branches (`branches.rs`) in a store.
//!
//! GAMBIT proposes it (Coons, Burckhardt, Musuvathi, `PPoPP` 2010, section 3.2). If the tree holds more
//! than it may, the dearer half of the candidates leaves it, and again, until it holds less than half of
//! that. An execution goes with its last candidate, so what stays in memory is the cheap part of the candidates
//! with what leads to it, and some 80 bytes for each block, however many candidates there are. A block comes
//! back as a whole when nothing in memory is as cheap as the cheapest in it.
//!
//! A block has a checksum. One that cannot be written leaves its candidates in memory; one that cannot be
//! read back is lost; either ends the search, and what it says to have covered leaves out all that was not
//! run.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use raddle_engine::store::{Store, StoreError, Ticket};
use raddle_engine::strategy::Checkpoint;

use super::branches::Branches;
use super::candidates::Pending;
use super::priority::Key;
use super::store::Store as Tree;
use crate::state;

const NAME: &str = "tree block";

/// Bytes of a block, if the limit is not smaller.
const BLOCK: usize = 1 << 20;

const DAMAGED: &str = "what the search had moved out of memory came back damaged; is the disk full or \
     failing? raise RADDLE_MEMORY so that less is moved";

/// Blocks in a store.
#[derive(Debug)]
pub(super) struct Spill {
    store: Box<dyn Store>,
    limit: usize,
    /// What may be held before something leaves.
    most: usize,
    /// By what the cheapest costs, and the newest first: ties are explored depth first.
    blocks: BTreeMap<(Key, Reverse<u64>), Ticket>,
    written: u64,
    /// Why the search cannot go on.
    pub(super) trouble: Option<String>,
}

impl Spill {
    pub(super) fn new(limit: u64, store: Box<dyn Store>) -> Self {
        // Vectors have room for up to twice of what is in them, and there is the path besides.
        let limit = usize::try_from(limit / 8 * 3).unwrap_or(usize::MAX);
        Self { store, limit, most: limit, blocks: BTreeMap::new(), written: 0, trouble: None }
    }

    /// Whether something must leave, and how much may stay.
    pub(super) fn asks(&self, held: usize) -> Option<usize> {
        // Half of it leaves at once, so that not every execution writes a block.
        (held > self.most && self.trouble.is_none()).then_some(self.limit / 2)
    }

    /// So much stayed: it may be more than was asked for.
    pub(super) fn stayed(&mut self, held: usize) {
        // What must stay may be more than the limit. Without this every further execution would try in vain to move out what
        // cannot be moved.
        self.most = self.limit.max(held.saturating_mul(2));
    }

    /// What the cheapest costs that is not in memory.
    pub(super) fn best(&self) -> Option<Key> {
        self.blocks.first_key_value().map(|((key, _), _)| *key)
    }

    /// Blocks that were written so far.
    #[cfg(test)]
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Writes candidates of the tree, the cheapest first. `false` if there was trouble: then none was
    /// written.
    pub(super) fn put(&mut self, candidates: &[(Key, Vec<Pending>)], tree: &Tree) -> bool {
        // A block comes back as a whole, so it must be small beside what may be held.
        let most = (self.limit / 8).clamp(512, BLOCK);
        let (mut new, mut block, mut bytes) = (Vec::new(), Branches::default(), 0);
        for (key, entries) in candidates {
            // Candidates of one execution share its decisions: written once for all of them.
            for run in entries.chunk_by(|one, next| one.parent == next.parent) {
                block.detach(*key, run, tree);
                bytes += block.last_bytes(run.len());
                if bytes >= most {
                    bytes = 0;
                    if !self.put_block(&std::mem::take(&mut block), &mut new) {
                        return false;
                    }
                }
            }
        }
        if !self.put_block(&block, &mut new) {
            return false;
        }
        for (key, ticket) in new {
            self.blocks.insert((key, Reverse(self.written)), ticket);
            self.written += 1;
        }
        true
    }

    /// Writes a block, if there is something in it. If that fails frees those that were written before.
    fn put_block(&mut self, block: &Branches, new: &mut Vec<(Key, Ticket)>) -> bool {
        let Some((key, _)) = block.bins.first() else { return true };
        match self.store.put(&state::write(NAME, block).0) {
            Ok(ticket) => new.push((*key, ticket)),
            Err(StoreError(why)) => {
                new.drain(..).for_each(|(_, ticket)| self.store.free(ticket));
                self.trouble = Some(why);
                return false;
            }
        }
        true
    }

    /// Takes back the block with the cheapest. None if it cannot be read, which is trouble.
    pub(super) fn take_best(&mut self) -> Option<Branches> {
        let (_, ticket) = self.blocks.pop_first()?;
        let block = self.get(ticket);
        // Freed in any case: a block that cannot be read now will not be asked for again.
        self.store.free(ticket);
        match block {
            Ok(block) => Some(block),
            Err(StoreError(why)) => {
                self.trouble = Some(why);
                None
            }
        }
    }

    /// A block came back, and cannot be what was written.
    pub(super) fn is_damaged(&mut self) {
        self.trouble = Some(DAMAGED.to_owned());
    }

    /// All that is there. Of blocks that begin with the same cost the older first, as in a bin.
    pub(super) fn all(&self) -> Result<Vec<Branches>, StoreError> {
        let mut blocks: Vec<_> = self.blocks.iter().collect();
        blocks.sort_by_key(|((key, written), _)| (*key, written.0));
        blocks.into_iter().map(|(_, ticket)| self.get(*ticket)).collect()
    }

    fn get(&self, ticket: Ticket) -> Result<Branches, StoreError> {
        let bytes = Checkpoint(self.store.get(ticket)?);
        state::read(NAME, &bytes).map_err(|_| StoreError(DAMAGED.to_owned()))
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        for ticket in std::mem::take(&mut self.blocks).into_values() {
            self.store.free(ticket);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.blocks.len() * 2 * (size_of::<(Key, u64)>() + size_of::<Ticket>())
    }
}
