//! The fringe: known executions that were not run, in bins of equal cost, each a stack.
//!
//! GAMBIT's (Coons, Burckhardt, Musuvathi, `PPoPP` 2010, section 5.4). The cheapest bin is next, and of
//! a bin what came last: ties are explored depth first, which keeps the fringe small.

use std::collections::BTreeMap;

use super::priority::Key;

/// Entries for which a bin keeps room that has none.
const MOST_SPARE: usize = 64;

/// No bin.
pub(super) const NONE: u32 = u32::MAX;

/// A known execution that was not run: it is its parent's, up to `point`, where it takes `option`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pending {
    pub(super) parent: u32,
    pub(super) point: u32,
    pub(super) option: u32,
    /// Preemptions up to that option, which is one perhaps.
    pub(super) preemptions: u32,
}

const _: () = assert!(size_of::<Pending>() == 16, "these are what a wide search holds");

#[derive(Debug)]
struct Bin {
    key: Key,
    stack: Vec<Pending>,
}

/// The bins, by cost.
#[derive(Debug)]
pub(super) struct Fringe {
    by_key: BTreeMap<Key, u32>,
    bins: Vec<Bin>,
    free: Vec<u32>,
    /// The bin that was used last: most often it is the next one, too.
    hint: u32,
    entries: usize,
}

impl Fringe {
    pub(super) fn new() -> Self {
        Self { by_key: BTreeMap::new(), bins: Vec::new(), free: Vec::new(), hint: NONE, entries: 0 }
    }

    /// Adds an entry; says in which bin it is.
    pub(super) fn push(&mut self, key: Key, pending: Pending) -> u32 {
        let at = match self.bins.get(self.hint as usize) {
            Some(bin) if bin.key == key => self.hint,
            _ => self.bin_of(key),
        };
        self.hint = at;
        self.entries += 1;
        let stack = &mut self.bins[at as usize].stack;
        if stack.len() == stack.capacity() {
            // Spare room counts.
            stack.reserve_exact(stack.len() / 4 + 4);
        }
        stack.push(pending);
        at
    }

    fn bin_of(&mut self, key: Key) -> u32 {
        if let Some(&at) = self.by_key.get(&key) {
            return at;
        }
        let at = self.free.pop().unwrap_or_else(|| {
            self.bins.push(Bin { key, stack: Vec::new() });
            self.bins.len() as u32 - 1
        });
        self.bins[at as usize].key = key;
        self.by_key.insert(key, at);
        at
    }

    /// Takes the entry that was added last to the cheapest bin; and which bin that is.
    pub(super) fn pop(&mut self) -> Option<(u32, Pending)> {
        let (_, &at) = self.by_key.first_key_value()?;
        let bin = &mut self.bins[at as usize];
        let pending = bin.stack.pop().expect("an empty bin is removed");
        self.entries -= 1;
        if bin.stack.is_empty() {
            if bin.stack.capacity() > MOST_SPARE {
                bin.stack = Vec::new();
            }
            self.by_key.pop_first();
            self.free.push(at);
            if self.hint == at {
                self.hint = NONE;
            }
        }
        Some((at, pending))
    }

    /// What the cheapest costs.
    pub(super) fn best(&self) -> Option<Key> {
        self.by_key.first_key_value().map(|(key, _)| *key)
    }

    /// Adds entries, of which there is one, below those of equal cost: they are older. Says in which bin.
    pub(super) fn push_below(&mut self, key: Key, older: &[Pending]) -> u32 {
        debug_assert!(!older.is_empty(), "an empty bin is removed");
        let at = self.bin_of(key);
        self.entries += older.len();
        self.bins[at as usize].stack.splice(0..0, older.iter().copied());
        at
    }

    /// All bins, the cheapest first, with their numbers; of each the oldest entry first.
    pub(super) fn bins(&self) -> impl Iterator<Item = (Key, u32, &[Pending])> {
        self.by_key.iter().map(|(key, &at)| (*key, at, self.bins[at as usize].stack.as_slice()))
    }

    /// Leaves in each bin what `stays` says of (bin, entry), and no bin without entries.
    pub(super) fn retain(&mut self, mut stays: impl FnMut(u32, &Pending) -> bool) {
        let Self { by_key, bins, free, entries, .. } = self;
        by_key.retain(|_, &mut at| {
            let stack = &mut bins[at as usize].stack;
            *entries -= stack.len();
            stack.retain(|pending| stays(at, pending));
            stack.shrink_to_fit();
            *entries += stack.len();
            if stack.is_empty() {
                free.push(at);
            }
            !stack.is_empty()
        });
        self.hint = NONE;
    }

    /// The parents have moved; that of an entry which was left behind may be gone, since long perhaps.
    pub(super) fn renumber(&mut self, moved: &[u32]) {
        for pending in self.bins.iter_mut().flat_map(|bin| &mut bin.stack) {
            pending.parent = moved.get(pending.parent as usize).copied().unwrap_or(NONE);
        }
    }

    /// What a bin that has entries costs.
    pub(super) fn key(&self, bin: u32) -> Key {
        self.bins[bin as usize].key
    }

    /// Entries, those among them that are not valid any more.
    pub(super) fn entries(&self) -> usize {
        self.entries
    }

    pub(super) fn bytes(&self) -> usize {
        let stacks = self.bins.iter().map(|bin| bin.stack.capacity() * size_of::<Pending>());
        // A map holds a key and a number for each bin, with some room.
        let map = self.by_key.len() * 2 * (size_of::<Key>() + size_of::<u32>());
        stacks.sum::<usize>() + map + self.bins.capacity() * size_of::<Bin>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(point: u32) -> Pending {
        Pending { parent: 0, point, option: 1, preemptions: 0 }
    }

    #[test]
    fn the_cheapest_is_next_and_of_equal_ones_the_last() {
        let mut fringe = Fringe::new();
        for (key, point) in [(2, 0), (1, 1), (1, 2), (3, 3), (0, 4)] {
            fringe.push(Key(key), pending(point));
        }
        let points: Vec<_> =
            std::iter::from_fn(|| fringe.pop()).map(|(_, pending)| pending.point).collect();
        assert_eq!(points, [4, 2, 1, 0, 3]);
        assert_eq!(fringe.entries(), 0);
    }

    // As it was left behind by a candidate that moved up and was run, and whose parent went.
    #[test]
    fn an_entry_whose_parent_is_gone_stays_so() {
        let mut fringe = Fringe::new();
        fringe.push(Key(1), Pending { parent: 1, ..pending(0) });
        fringe.push(Key(1), Pending { parent: 2, ..pending(1) });
        fringe.renumber(&[0, NONE, 1]);
        fringe.renumber(&[0, 1]);
        let parents: Vec<_> =
            std::iter::from_fn(|| fringe.pop()).map(|(_, pending)| pending.parent).collect();
        assert_eq!(parents, [1, NONE]);
    }

    #[test]
    fn a_bin_that_was_emptied_can_be_another_one() {
        let mut fringe = Fringe::new();
        let first = fringe.push(Key(1), pending(0));
        fringe.pop();
        let second = fringe.push(Key(9), pending(1));
        assert_eq!(first, second);
        assert_eq!(fringe.key(second), Key(9));
    }
}
