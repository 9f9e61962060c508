//! The part of the fringe that does not fit: blocks of parcels in a store.
//!
//! GAMBIT proposes it (Coons, Burckhardt, Musuvathi, `PPoPP` 2010, section 3.2). If the tree holds more
//! than it may, the dearer half of the candidates leaves it, and again, until it holds less than half of
//! that. An execution goes with its last candidate, so what stays in memory is the cheap part of the fringe
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

use super::parcel::{Keeps, Parcel};
use super::priority::Key;
use crate::state::{Reader, Writer};

const NAME: &str = "best-first block";

/// Bytes of a block, if the limit is not smaller.
const BLOCK: usize = 1 << 20;

#[derive(Clone, Copy, Debug)]
struct Block {
    ticket: Ticket,
    parcels: usize,
}

/// Blocks in a store.
#[derive(Debug)]
pub(super) struct Spill {
    store: Box<dyn Store>,
    limit: usize,
    /// What may be held before something leaves.
    most: usize,
    /// By what the cheapest costs, and the newest first: ties are explored depth first.
    blocks: BTreeMap<(Key, Reverse<u64>), Block>,
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
        (held > self.most && self.trouble.is_none()).then_some(self.limit / 2)
    }

    /// So much stayed: it may be more than was asked for.
    pub(super) fn stayed(&mut self, held: usize) {
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

    /// Writes parcels, the cheapest first. `false` if there was trouble: then none was written.
    pub(super) fn put(&mut self, parcels: &[Parcel]) -> bool {
        let most = (self.limit / 8).clamp(512, BLOCK);
        let (mut new, mut from) = (Vec::new(), 0);
        while from < parcels.len() {
            let mut bytes = 0;
            let fits = |parcel: &&Parcel| {
                bytes += parcel.bytes();
                bytes <= most
            };
            let n = parcels[from..].iter().take_while(fits).count().max(1);
            match self.put_block(&parcels[from..from + n]) {
                Ok(ticket) => new.push((parcels[from].key, Block { ticket, parcels: n })),
                Err(StoreError(why)) => {
                    for (_, block) in new {
                        self.store.free(block.ticket);
                    }
                    self.trouble = Some(why);
                    return false;
                }
            }
            from += n;
        }
        for (key, block) in new {
            self.blocks.insert((key, Reverse(self.written)), block);
            self.written += 1;
        }
        true
    }

    fn put_block(&mut self, parcels: &[Parcel]) -> Result<Ticket, StoreError> {
        let mut writer = Writer::new(NAME);
        for parcel in parcels {
            parcel.write(&mut writer);
        }
        self.store.put(&writer.finish().0)
    }

    /// Takes back the block with the cheapest. None if it cannot be read, which is trouble.
    pub(super) fn take_best(&mut self, keeps: Keeps, limit: u32) -> Option<Vec<Parcel>> {
        let (_, block) = self.blocks.pop_first()?;
        let parcels = self.get(block, keeps, limit);
        self.store.free(block.ticket);
        match parcels {
            Ok(parcels) => Some(parcels),
            Err(StoreError(why)) => {
                self.trouble = Some(why);
                None
            }
        }
    }

    /// All that is there, the cheapest first.
    pub(super) fn all(&self, keeps: Keeps, limit: u32) -> Result<Vec<Parcel>, StoreError> {
        let mut all = Vec::new();
        // Of blocks that begin with the same cost the older first, as in a bin.
        let mut blocks: Vec<_> = self.blocks.iter().collect();
        blocks.sort_by_key(|((key, written), _)| (*key, written.0));
        for (_, block) in blocks {
            all.append(&mut self.get(*block, keeps, limit)?);
        }
        Ok(all)
    }

    fn get(&self, block: Block, keeps: Keeps, limit: u32) -> Result<Vec<Parcel>, StoreError> {
        let bytes = Checkpoint(self.store.get(block.ticket)?);
        let read = || {
            let mut reader = Reader::new(&bytes, NAME)?;
            let parcel = |_| Parcel::read(&mut reader, keeps, limit);
            let parcels = (0..block.parcels).map(parcel).collect::<Result<Vec<_>, _>>()?;
            reader.finish()?;
            Ok(parcels)
        };
        read().map_err(|_: raddle_engine::strategy::Unsupported| {
            StoreError(
                "what the search had moved out of memory came back damaged; is the disk full or \
                 failing? raise RADDLE_MEMORY so that less is moved"
                    .to_owned(),
            )
        })
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        for block in std::mem::take(&mut self.blocks).into_values() {
            self.store.free(block.ticket);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.blocks.len() * 2 * (size_of::<(Key, u64)>() + size_of::<Block>())
    }
}
