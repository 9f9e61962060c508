//! Candidates: known executions that were not run, and which of them is next.
//!
//! They lie in bins of equal cost, GAMBIT's (Coons, Burckhardt, Musuvathi, `PPoPP` 2010, section 5.4), and the
//! cheapest bin is next. A frontier is what a candidate costs, and which one of a bin is taken:
//!
//! | frontier | costs | of a bin |
//! |---|---|---|
//! | breadth-first | the number of decisions before it | the oldest |
//! | random | the same | any, with the same chance |
//! | best-first | what its priorities say | the newest: ties are explored depth first, which keeps the bins small |

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::priority::{Candidate, Key, Priorities, Priority};
use crate::estimate::Kind;
use crate::rng::Rng;

/// Entries for which an empty bin keeps room.
const MOST_SPARE: usize = 64;

/// No bin, and no node.
pub(super) const NONE: u32 = u32::MAX;

/// Which known candidate is next.
#[derive(Debug)]
#[non_exhaustive]
pub enum Frontier {
    /// The one with the fewest decisions before it; of those, the one found first.
    BreadthFirst,
    /// Any, with the same chance.
    Random {
        /// All it draws comes from this.
        seed: u64,
    },
    /// The one that these priorities say costs least; of those, the one found last. At most
    /// [`MAX_PRIORITIES`](super::priority::MAX_PRIORITIES) priorities.
    BestFirst(Vec<Box<dyn Priority>>),
}

impl Frontier {
    /// As in a composition.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::BreadthFirst => "breadth-first".to_owned(),
            Self::Random { .. } => "random".to_owned(),
            Self::BestFirst(parts) => super::priority::name(parts),
        }
    }

    /// Whether it goes by delays, which only an order by an explorer has.
    pub(crate) fn counts_delays(&self) -> bool {
        match self {
            Self::BestFirst(parts) => parts.iter().any(|part| part.counts_delays()),
            Self::BreadthFirst | Self::Random { .. } => false,
        }
    }

    /// The empty set of candidates, and the priorities.
    pub(super) fn begin(self) -> (Candidates, Priorities) {
        match self {
            Self::BreadthFirst => (Candidates::new(Pick::Oldest), Priorities::new(Vec::new())),
            Self::Random { seed } => {
                (Candidates::new(Pick::Any(Rng::new(seed))), Priorities::new(Vec::new()))
            }
            Self::BestFirst(parts) => (Candidates::new(Pick::Newest), Priorities::new(parts)),
        }
    }
}

/// Which candidate of the cheapest bin is next.
#[derive(Clone, Debug)]
pub(super) enum Pick {
    Oldest,
    Any(Rng),
    Newest,
}

/// A known execution that was not run: its parent up to `point`, where it takes `option`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pending {
    pub(super) parent: u32,
    pub(super) point: u32,
    pub(super) option: u32,
    /// What it costs up to and with that option: preemptions, or delays along an explorer.
    pub(super) cost: u32,
}

const _: () = assert!(size_of::<Pending>() == 16, "these are what a wide search holds");

#[derive(Debug)]
struct Bin {
    key: Key,
    /// The oldest first.
    entries: VecDeque<Pending>,
}

/// Candidates in bins, by cost.
#[derive(Debug)]
pub(super) struct Candidates {
    pick: Pick,
    by_key: BTreeMap<Key, u32>,
    bins: Vec<Bin>,
    free: Vec<u32>,
    /// The bin that was used last: most often it is the next one, too.
    hint: u32,
    entries: usize,
}

impl Candidates {
    pub(super) fn new(pick: Pick) -> Self {
        let (by_key, bins, free) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self { pick, by_key, bins, free, hint: NONE, entries: 0 }
    }

    /// An empty set of the same kind.
    pub(super) fn anew(&self) -> Self {
        Self::new(self.pick.clone())
    }

    /// What a new candidate costs.
    pub(super) fn key(&self, candidate: &Candidate, priorities: &mut Priorities) -> Key {
        match self.pick {
            Pick::Oldest => Key(candidate.point.into()),
            // All in one bin, so that each has the same chance.
            Pick::Any(_) => Key::default(),
            Pick::Newest => priorities.cost(candidate),
        }
    }

    /// Whether priorities say which is next, and of equal ones the newest is.
    pub(super) fn is_best_first(&self) -> bool {
        matches!(self.pick, Pick::Newest)
    }

    /// How far off estimates are under this frontier.
    pub(super) fn kind(&self) -> Kind {
        match self.pick {
            Pick::Oldest => Kind::Breadth,
            Pick::Any(_) => Kind::Random,
            Pick::Newest => Kind::Best,
        }
    }

    /// What it needs to draw the same numbers from here on.
    pub(super) fn drawn(&self) -> u64 {
        match &self.pick {
            Pick::Any(rng) => rng.state(),
            Pick::Oldest | Pick::Newest => 0,
        }
    }

    /// Goes on from what [`drawn`](Self::drawn) gave.
    pub(super) fn set_drawn(&mut self, drawn: u64) {
        if let Pick::Any(rng) = &mut self.pick {
            *rng = Rng::from_state(drawn);
        }
    }

    /// Adds an entry; says in which bin it is.
    pub(super) fn push(&mut self, key: Key, pending: Pending) -> u32 {
        let at = match self.bins.get(self.hint as usize) {
            // An execution makes several candidates of one cost known in a row; this saves the look-up in the map. A bin that was
            // emptied keeps its key, but `pop` and `retain` reset the hint, so it never leads to one that is not in the map.
            Some(bin) if bin.key == key => self.hint,
            _ => self.bin_of(key),
        };
        self.hint = at;
        self.entries += 1;
        let entries = &mut self.bins[at as usize].entries;
        if entries.len() == entries.capacity() {
            // Spare room counts.
            entries.reserve_exact(entries.len() / 4 + 4);
        }
        entries.push_back(pending);
        at
    }

    fn bin_of(&mut self, key: Key) -> u32 {
        if let Some(&at) = self.by_key.get(&key) {
            return at;
        }
        // Numbers of bins are stored with siblings, so a bin keeps its place while it has entries; empty ones are used again.
        let at = self.free.pop().unwrap_or_else(|| {
            self.bins.push(Bin { key, entries: VecDeque::new() });
            self.bins.len() as u32 - 1
        });
        self.bins[at as usize].key = key;
        self.by_key.insert(key, at);
        at
    }

    /// Takes the next entry; and which bin it was in.
    pub(super) fn pop(&mut self) -> Option<(u32, Pending)> {
        let (_, &at) = self.by_key.first_key_value()?;
        let entries = &mut self.bins[at as usize].entries;
        let pending = match &mut self.pick {
            Pick::Oldest => entries.pop_front(),
            Pick::Newest => entries.pop_back(),
            Pick::Any(rng) => {
                let n = u32::try_from(entries.len()).unwrap_or(u32::MAX);
                // The order within the bin does not matter: every entry has the same chance.
                entries.swap_remove_back(rng.below(n) as usize)
            }
        };
        let pending = pending.expect("an empty bin is removed");
        self.entries -= 1;
        if entries.is_empty() {
            // A bin that was large once would hold its room for the whole search.
            if entries.capacity() > MOST_SPARE {
                *entries = VecDeque::new();
            }
            // It is the cheapest, from which the entry was taken.
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

    /// Adds entries before those of equal cost: they are older. Says in which bin.
    pub(super) fn push_older(&mut self, key: Key, older: &[Pending]) -> u32 {
        debug_assert!(!older.is_empty(), "an empty bin is removed");
        let at = self.bin_of(key);
        self.entries += older.len();
        let entries = &mut self.bins[at as usize].entries;
        // Reversed, so that they keep their order among themselves.
        older.iter().rev().for_each(|pending| entries.push_front(*pending));
        at
    }

    /// All bins, the cheapest first, with their numbers; of each the oldest entry first.
    pub(super) fn bins(&self) -> impl Iterator<Item = (Key, u32, &VecDeque<Pending>)> {
        self.by_key.iter().map(|(key, &at)| (*key, at, &self.bins[at as usize].entries))
    }

    /// Leaves in each bin what `stays` says of (bin, entry), and no bin without entries.
    pub(super) fn retain(&mut self, mut stays: impl FnMut(u32, &Pending) -> bool) {
        let Self { by_key, bins, free, entries: all, .. } = self;
        by_key.retain(|_, &mut at| {
            let entries = &mut bins[at as usize].entries;
            *all -= entries.len();
            entries.retain(|pending| stays(at, pending));
            // This is called to make room, or when most entries were stale.
            entries.shrink_to_fit();
            *all += entries.len();
            if entries.is_empty() {
                free.push(at);
            }
            !entries.is_empty()
        });
        // The bin that it names may have been emptied.
        self.hint = NONE;
    }

    /// The parents have moved. That of an entry which was left behind may have been dropped, and stays so.
    pub(super) fn renumber(&mut self, moved: &[u32]) {
        for pending in self.bins.iter_mut().flat_map(|bin| &mut bin.entries) {
            // An entry that was left behind keeps a parent that no node has. `is_valid` finds no sibling for it and skips it.
            pending.parent = moved.get(pending.parent as usize).copied().unwrap_or(NONE);
        }
    }

    /// What a bin that has entries costs.
    pub(super) fn key_of(&self, bin: u32) -> Key {
        self.bins[bin as usize].key
    }

    /// Entries, those among them that are not valid any more.
    pub(super) fn entries(&self) -> usize {
        self.entries
    }

    pub(super) fn bytes(&self) -> usize {
        let bins = self.bins.iter().map(|bin| bin.entries.capacity() * size_of::<Pending>());
        // A map holds a key and a number for each bin, with some room.
        let map = self.by_key.len() * 2 * (size_of::<Key>() + size_of::<u32>());
        bins.sum::<usize>() + map + self.bins.capacity() * size_of::<Bin>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(point: u32) -> Pending {
        Pending { parent: 0, point, option: 1, cost: 0 }
    }

    fn points(mut candidates: Candidates) -> Vec<u32> {
        for (key, point) in [(2, 0), (1, 1), (1, 2), (3, 3), (0, 4)] {
            candidates.push(Key(key), pending(point));
        }
        let points =
            std::iter::from_fn(|| candidates.pop()).map(|(_, pending)| pending.point).collect();
        assert_eq!(candidates.entries(), 0);
        points
    }

    #[test]
    fn the_cheapest_is_next_and_of_equal_ones_the_last_or_the_first() {
        assert_eq!(points(Candidates::new(Pick::Newest)), [4, 2, 1, 0, 3]);
        assert_eq!(points(Candidates::new(Pick::Oldest)), [4, 1, 2, 0, 3]);
    }

    // As it was left behind by a candidate that moved up and was run, and whose parent was dropped.
    #[test]
    fn an_entry_whose_parent_is_gone_stays_so() {
        let mut candidates = Candidates::new(Pick::Newest);
        candidates.push(Key(1), Pending { parent: 1, ..pending(0) });
        candidates.push(Key(1), Pending { parent: 2, ..pending(1) });
        candidates.renumber(&[0, NONE, 1]);
        candidates.renumber(&[0, 1]);
        let parents: Vec<_> =
            std::iter::from_fn(|| candidates.pop()).map(|(_, pending)| pending.parent).collect();
        assert_eq!(parents, [1, NONE]);
    }

    #[test]
    fn a_bin_that_was_emptied_can_be_another_one() {
        let mut candidates = Candidates::new(Pick::Newest);
        let first = candidates.push(Key(1), pending(0));
        candidates.pop();
        let second = candidates.push(Key(9), pending(1));
        assert_eq!(first, second);
        assert_eq!(candidates.key_of(second), Key(9));
    }
}
