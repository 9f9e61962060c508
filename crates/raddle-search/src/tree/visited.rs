//! The cache of a search with a tree: prefixes that were met, after which every option is known.
//!
//! Stratified exhaustive search, Desai, Qadeer and Seshia, FSE 2015. For programs whose state cannot be captured
//! the partial order of a prefix stands for its state (`cache.rs` has the argument). A search with a tree knows all
//! options of a point as soon as an execution that passed there has ended: they were run or wait. So a prefix
//! that was met, and is met again by another execution, need not be gone on from. It may wait for longer than
//! depth first, and in no order of the frontier is anything lost.
//!
//! Two ways to tell prefixes apart:
//! - [`Keys::Program`]: by the program's state alone, as in the paper. A prefix that was first met at a higher
//!   cost hides a cheaper one, whose explorer would reach other executions for less. So only the end of the search
//!   is a guarantee.
//! - [`Keys::Exact`]: by all that decides what options cost later, the explorer's state or the running task; and a
//!   prefix that is met again for less is gone on from again. Then all that waits costs at least as much as
//!   the cheapest that waits, and everything below that was run.
//!
//! An execution that was begun and did not end has opened nothing: what it had met is forgotten.

use raddle_engine::strategy::{Event, Point, Unsupported};
use serde::{Deserialize, Serialize};

use crate::cache::{Alike, Cache, CachePoint, Full, SavedCache, Used};
use crate::state::FOREIGN;

/// Which prefixes are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Keys {
    /// Those that lead to the same state of the program.
    Program,
    /// Those after which, besides, the same options cost the same.
    Exact,
}

/// What was met.
#[derive(Clone, Debug)]
pub(super) struct Visited {
    pub(super) keys: Keys,
    cache: Cache,
    /// Of the current execution, one for each new point.
    met: Vec<CachePoint>,
    pub(super) uncompared: bool,
    /// The most that an execution cost.
    pub(super) most: u32,
}

/// As it is saved.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SavedVisited {
    cache: SavedCache,
    used: Used,
    uncompared: bool,
    most: u32,
}

impl Visited {
    /// Remembers up to so many prefixes.
    pub(super) fn new(keys: Keys, prefixes: usize, full: Full) -> Self {
        let cache = Cache::new(prefixes).when_full(full);
        Self { keys, cache, met: Vec::new(), uncompared: false, most: 0 }
    }

    pub(super) fn name(&self) -> String {
        format!("{:?} {} {:?}", self.keys, self.cache.limit(), self.cache.full())
    }

    pub(super) fn used(&self) -> Used {
        self.cache.used
    }

    pub(super) fn bytes(&self) -> usize {
        self.cache.bytes() as usize + self.met.capacity() * size_of::<CachePoint>()
    }

    /// An execution begins whose own decision costs so much.
    pub(super) fn begin(&mut self, cost: u32) {
        // The one before did not end: what it had met has opened nothing, so it must not cut anything.
        self.withdraw_from(0);
        // What it shares with the one before is not known in steps.
        self.cache.begin(0);
        self.most = self.most.max(cost);
    }

    pub(super) fn heard(&mut self, event: &Event<'_>) {
        self.cache.heard(event);
    }

    /// Meets a new point, after so much was spent. `false`: what follows is known. `salt`: what decides what
    /// options cost later, besides the running task.
    pub(super) fn meet(&mut self, point: &Point<'_>, cost: u32, salt: Option<u64>) -> bool {
        self.uncompared |= point.pending.strayed();
        // The state of an explorer says which task runs; without one the running task decides what an option costs.
        let alike = if salt.is_some() { Alike::Unbounded } else { Alike::Bounded };
        let mark = match self.keys {
            Keys::Program => self.cache.meet(point, Alike::Unbounded, 0),
            // The cache keeps what could still be spent; without a bound that is all there is less what was.
            Keys::Exact => self.cache.meet_salted(point, alike, u32::MAX - cost, salt.unwrap_or(0)),
        };
        self.met.extend(mark);
        mark.is_some()
    }

    /// The execution has ended, and what it met at its first `new` points is known.
    pub(super) fn end(&mut self, new: usize) {
        self.withdraw_from(new);
        self.met.clear();
    }

    fn withdraw_from(&mut self, new: usize) {
        for mut mark in self.met.drain(new.min(self.met.len())..) {
            self.cache.withdraw(&mut mark);
        }
    }

    pub(super) fn saved(&self) -> SavedVisited {
        let mut settled = self.clone();
        // A checkpoint is taken between executions, or in one that is begun again.
        settled.withdraw_from(0);
        SavedVisited {
            cache: settled.cache.save(),
            used: self.used(),
            uncompared: self.uncompared,
            most: self.most,
        }
    }

    /// That of a part that is given away, which has met nothing.
    pub(super) fn of_part(&self) -> SavedVisited {
        // A part has its own prefixes to run; to be cut by one of the whole search would leave it to the whole.
        Self::new(self.keys, 1, Full::Replace).saved()
    }

    pub(super) fn restored(&self, saved: SavedVisited) -> Result<Self, Unsupported> {
        let mut visited = Self::new(self.keys, self.cache.limit(), self.cache.full());
        visited.cache.restore(saved.cache)?;
        visited.cache.used = saved.used;
        (visited.uncompared, visited.most) = (saved.uncompared, saved.most);
        if saved.used.stored > u64::MAX / 2 { Err(FOREIGN) } else { Ok(visited) }
    }
}
