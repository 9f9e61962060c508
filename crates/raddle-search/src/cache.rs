//! The happens-before cache: prefixes of executions that are equivalent to one seen before are not
//! explored again.
//!
//! Musuvathi and Qadeer, "Partial-order reduction for context-bounded state exploration",
//! MSR-TR-2007-12: the partial order of the steps so far stands for the program's state, which a
//! stateless search does not have. It differs in four ways. The budget left is kept with each
//! fingerprint, not in the key, so that a visit with more covers all with less. Without a bound the
//! running task is no part of the key. And where the partial order is not all that decides what can
//! follow, nothing is compared. The cache is bounded, and forgets the oldest first.
//!
//! # What decides what can follow
//! Two prefixes with the same partial order lead to the same state of the program and of every
//! model, and the same tasks can move; that is what independence of steps means. Of what the engine
//! knows besides, the key has:
//! - at a value, whose step it is and who moved last; the values decided since a task's last step
//!   are in the fingerprint;
//! - with a bound, the running task, because leaving it costs. Without one it only says which option
//!   is tried first;
//! - the order in which tasks and timers were created: the others move in this order while a task
//!   that unwinds waits, and of two timeouts due at once the older is first.
//!
//! What is left are the times of yields, timeouts and readings of the clock, relative to steps that
//! are independent of them ([`Pending::strayed`]). From the first of these on, an execution is
//! neither compared nor stored. The equivalent prefixes above are not touched by that: fairness and
//! the clock compare times only from then on, so the same continuations, step by step, are possible
//! after each of them.
//!
//! # Why what is stored may be relied on
//! A prefix is stored when it is first met, and at that time nothing after it has been run. But a
//! depth-first search leaves no prefix before it has run, within the budget, all that follows; and a
//! prefix that is met meanwhile has more steps, so it is not the same. An execution that meets an equivalent
//! one later finds all of it done, by induction over the steps that are left: what follows has been
//! run, or was cut because an equivalent prefix of as many steps has been. The induction asks who
//! has run it nowhere, so a part that was given away may be relied on, provided that it is run:
//! without it neither side claims anything. What a limit, or the end of the search, kept from being
//! run is taken out again. Parts begin with an empty cache; a restored search has the one that was saved.
//!
//! Misses: what follows a prefix whose fingerprint is that of another by accident. [`Covered`] has
//! the numbers and the chance.
//! Overreports: nothing. An execution that is cut runs on to its end, and a failure there is real.
//!
//! [`Pending::strayed`]: raddle_engine::strategy::Pending::strayed
//! [`Covered`]: raddle_trace::Covered::Cached

#![expect(clippy::disallowed_types, reason = "only looked up, never iterated over")]

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use raddle_engine::happens::History;
use raddle_engine::op::TaskId;
use raddle_engine::strategy::{Event, Options, Point, Step, Taken, Unsupported};
use raddle_trace::hash::mix;

use serde::{Deserialize, Serialize};

use crate::state::FOREIGN;

/// Hashes what is a hash already.
#[derive(Clone, Copy, Debug, Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers")
    }

    fn write_u64(&mut self, number: u64) {
        // Keys come out of `mix`, which spreads all bits: to hash them again would cost time and change nothing.
        self.0 = number;
    }
}

/// How much a cache was used, for the guarantee. Goes on where a saved search is restored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Used {
    pub(crate) compared: u64,
    pub(crate) stored: u64,
    /// Taken out again to make room.
    pub(crate) dropped: u64,
    pub(crate) cut: u64,
}

/// What a search has run, by the partial order of what came before.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    /// What could be spent after each prefix when it was met. Never iterated over.
    left: HashMap<u64, u32, BuildHasherDefault<Mixed>>,
    /// Its keys, as they were stored, round and round; withdrawn ones may be among them.
    ring: Vec<u64>,
    oldest: usize,
    limit: usize,
    full: Full,
    pub(crate) used: Used,
    history: History,
    /// Steps of the current execution that `history` has from the one before.
    kept: usize,
    heard: usize,
    /// The order of creation of the tasks, folded into a number.
    created: u64,
    /// The current execution was cut, or has strayed: the rest of it is of no interest.
    is_over: bool,
}

/// What happens where there is no room for another prefix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Full {
    /// The oldest is forgotten.
    #[default]
    Replace,
    /// The new one is not stored.
    Refuse,
}

/// What is known of a decision on the current path.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct CachePoint {
    /// The steps before it.
    pub(crate) steps: usize,
    /// Under which key it is stored, if it is.
    key: Option<u64>,
}

/// Which prefixes are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alike {
    /// Whatever the running task.
    Unbounded,
    /// With the same running task.
    Bounded,
}

/// The prefixes of a cache, the oldest first, and what could be spent after each; none if it was withdrawn,
/// which keeps its place.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedCache(Vec<(u64, Option<u32>)>);

impl Cache {
    /// Of at most so many prefixes, but at least one.
    pub(crate) fn new(limit: usize) -> Self {
        // The ring is indexed modulo the limit.
        let limit = limit.max(1);
        Self {
            left: HashMap::default(),
            ring: Vec::new(),
            oldest: 0,
            limit,
            full: Full::default(),
            used: Used::default(),
            history: History::default(),
            kept: 0,
            heard: 0,
            created: 0,
            is_over: false,
        }
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// The same, with what happens where there is no room.
    pub(crate) fn when_full(mut self, full: Full) -> Self {
        self.full = full;
        self
    }

    pub(crate) fn full(&self) -> Full {
        self.full
    }

    /// What the table takes: for each place a key, a number, and a byte of its own.
    pub(crate) fn bytes(&self) -> u64 {
        let table = self.left.capacity() * (size_of::<(u64, u32)>() + 1);
        (table + self.ring.capacity() * size_of::<u64>()) as u64
    }

    /// Forgets all prefixes and the last execution, but not how much it was used.
    pub(crate) fn clear(&mut self) {
        self.left.clear();
        self.ring.clear();
        self.oldest = 0;
        self.history.begin(0);
    }

    /// All prefixes, for a saved state.
    pub(crate) fn save(&self) -> SavedCache {
        // The ring begins at `oldest`. Withdrawn keys keep their places: what a restored cache forgets next must be what the
        // saved one would have forgotten.
        let (newer, older) = self.ring.split_at(self.oldest.min(self.ring.len()));
        let entry = |key: &u64| (*key, self.left.get(key).copied());
        SavedCache(older.iter().chain(newer).map(entry).collect())
    }

    /// Forgets all prefixes, and takes those that [`save`](Self::save) gave.
    pub(crate) fn restore(&mut self, saved: SavedCache) -> Result<(), Unsupported> {
        self.clear();
        if saved.0.len() > self.limit {
            return Err(FOREIGN);
        }
        for (key, left) in saved.0 {
            self.ring.push(key);
            if let Some(left) = left {
                self.left.insert(key, left);
            }
        }
        Ok(())
    }

    /// Begins an execution whose first `kept` steps are those of the one before.
    pub(crate) fn begin(&mut self, kept: usize) {
        // The execution before may have been cut or have strayed before it came that far; from there on its steps are not in
        // the history, and have to be told.
        self.kept = kept.min(self.history.len());
        self.history.begin(self.kept);
        self.heard = 0;
        self.created = 0;
        self.is_over = false;
    }

    /// Notes what happens.
    pub(crate) fn heard(&mut self, event: &Event<'_>) {
        match *event {
            Event::Spawn { parent, child } => self.spawn(parent, child),
            Event::Value { task, taken, .. } => self.value(task, taken),
            Event::Unasked { task } => self.value(task, Taken { option: 0, of: 1 }),
            Event::Step(ref step) => self.step(step),
            Event::Passed { .. } | Event::Actor(_) => {}
        }
    }

    pub(crate) fn spawn(&mut self, parent: TaskId, child: TaskId) {
        if self.is_over {
            return;
        }
        self.history.spawn(parent, child);
        // Of the whole prefix: spawns of the repeated part are told again, and `begin` has reset this. A task has the same
        // number in every execution of a search.
        self.created = mix(self.created ^ u64::from(child.0));
    }

    pub(crate) fn value(&mut self, task: TaskId, taken: Taken) {
        if !self.is_over {
            self.history.value(task, taken.option);
        }
    }

    pub(crate) fn step(&mut self, step: &Step<'_>) {
        if self.is_over {
            return;
        }
        // From here on equal partial orders need not have equal futures; see the head of the file.
        if step.pending.strayed() {
            self.is_over = true;
            return;
        }
        self.heard += 1;
        if self.heard > self.kept {
            self.history.step(step);
        } else {
            // The event is in the history with its values; `value` has just been told of them once more.
            self.history.forget_values(step.task);
        }
    }

    /// Meets a prefix, at a decision that was not planned, with so much left to spend. `None`: all
    /// that follows has been run with at least as much.
    pub(crate) fn meet(
        &mut self,
        point: &Point<'_>,
        alike: Alike,
        spare: u32,
    ) -> Option<CachePoint> {
        self.meet_salted(point, alike, spare, 0)
    }

    /// As [`meet`](Self::meet); prefixes with different salts are different.
    pub(crate) fn meet_salted(
        &mut self,
        point: &Point<'_>,
        alike: Alike,
        spare: u32,
        salt: u64,
    ) -> Option<CachePoint> {
        let mut mark = CachePoint { steps: self.history.len(), key: None };
        // Not stored, so that no later prefix is cut by it; and not cut, so everything after it is run.
        if point.pending.strayed() {
            self.is_over = true;
            return Some(mark);
        }
        let key = if salt == 0 { 0 } else { mix(salt) } ^ self.key(point, alike);
        self.used.compared += 1;
        if let Some(left) = self.left.get_mut(&key) {
            // Equal counts too: whatever the visit now could spend, the one before has spent. Less is not enough: with a bound of
            // two preemptions, one that was met with none left has not run what needs one.
            if *left >= spare {
                self.used.cut += 1;
                self.is_over = true;
                return None;
            }
            // Run again with more; then this visit covers what the earlier one did.
            *left = spare;
        } else if !self.store(key, spare) {
            return Some(mark);
        }
        mark.key = Some(key);
        Some(mark)
    }

    /// Stores a new key, instead of the oldest one if there is no room: what was met lately is what
    /// a depth-first search is about to meet again. To forget is always sound.
    fn store(&mut self, key: u64, spare: u32) -> bool {
        self.used.stored += 1;
        if self.full == Full::Refuse && self.left.len() >= self.limit {
            self.used.dropped += 1;
            return false;
        }
        if self.ring.len() < self.limit {
            self.ring.push(key);
        } else {
            let oldest = std::mem::replace(&mut self.ring[self.oldest], key);
            self.oldest = (self.oldest + 1) % self.limit;
            self.used.dropped += u64::from(self.left.remove(&oldest).is_some());
        }
        self.left.insert(key, spare);
        true
    }

    fn key(&self, point: &Point<'_>, alike: Alike) -> u64 {
        let number = |task: Option<TaskId>| task.map_or(0, |task| u64::from(task.0) + 1);
        let place = match point.options {
            // Without a bound the running task decides only which option is tried first, and all are tried.
            Options::Schedule(_) if alike == Alike::Unbounded => 0,
            Options::Schedule(_) => number(point.running),
            Options::Value { task, .. } => number(Some(task)) << 32 | number(Some(point.last)),
        };
        mix(self.history.fingerprint() ^ mix(self.created ^ mix(place)))
    }

    /// Takes out a prefix after which not everything has been run.
    pub(crate) fn withdraw(&mut self, mark: &mut CachePoint) {
        if let Some(key) = mark.key.take() {
            // The key stays in the ring: it is overwritten when its turn comes, and `store` counts as dropped only what was there.
            self.left.remove(&key);
        }
    }
}
