//! The states that a thread is yet to go on from.
//!
//! Most of them wait for a round to come, and there are very many. A state has its actors and its messages in vectors of its
//! own. Those of states that wait are one after the other in blocks: they are written and read in the order in which they
//! are in memory, which a processor fetches ahead; and the vectors of a new state are those that were just freed, wherever
//! the states come from that a search goes on from.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use super::seen::fetch;
use super::way::Way;
use crate::faults::MessageFaults;
use crate::monitor::AnyMonitor;
use crate::snapshot::{Lane, SharedActor, Snapshot};

/// A state that is yet to be gone on from.
#[derive(Clone)]
pub(super) struct Entry<E> {
    pub(super) state: Snapshot,
    /// How many steps lead to it.
    pub(super) depth: u32,
    /// Which, if that is kept.
    pub(super) way: Option<Way>,
    pub(super) extra: E,
}

/// An entry that waits: all but its actors and its lanes, which are in its block.
struct Waiting<E> {
    actors: u32,
    lanes: u32,
    depth: u32,
    crashes: u32,
    sent: u32,
    message_faults: MessageFaults,
    fingerprint: u64,
    monitors: Rc<Vec<Box<dyn AnyMonitor>>>,
    way: Option<Way>,
    extra: E,
}

impl<E> Waiting<E> {
    fn entry(self, actors: Vec<Rc<SharedActor>>, lanes: Vec<Lane>) -> Entry<E> {
        let Self {
            depth, crashes, sent, message_faults, fingerprint, monitors, way, extra, ..
        } = self;
        let state =
            Snapshot { actors, lanes, monitors, crashes, message_faults, sent, fingerprint };
        Entry { state, depth, way, extra }
    }
}

/// How many entries a block has. With few, little is lost in the last block of each round to come.
const BLOCK: usize = 64;

/// How many blocks are kept for their allocations.
const SPARE: usize = 64;

/// Entries that came one after the other.
struct Block<E> {
    waiting: Vec<Waiting<E>>,
    actors: Vec<Rc<SharedActor>>,
    lanes: Vec<Lane>,
}

impl<E> Block<E> {
    fn new() -> Self {
        Self { waiting: Vec::with_capacity(BLOCK), actors: Vec::new(), lanes: Vec::new() }
    }

    fn push(&mut self, Entry { state, depth, way, extra }: Entry<E>) {
        let Snapshot {
            mut actors,
            mut lanes,
            monitors,
            crashes,
            message_faults,
            sent,
            fingerprint,
        } = state;
        self.waiting.push(Waiting {
            actors: actors.len() as u32,
            lanes: lanes.len() as u32,
            depth,
            crashes,
            sent,
            message_faults,
            fingerprint,
            monitors,
            way,
            extra,
        });
        self.actors.append(&mut actors);
        self.lanes.append(&mut lanes);
    }

    /// The one that came last.
    fn pop(&mut self) -> Option<Entry<E>> {
        let waiting = self.waiting.pop()?;
        let (actors, lanes) = (waiting.actors as usize, waiting.lanes as usize);
        let actors = self.actors.split_off(self.actors.len() - actors);
        let lanes = self.lanes.split_off(self.lanes.len() - lanes);
        Some(waiting.entry(actors, lanes))
    }

    /// All of them, in order.
    fn drain(&mut self) -> impl Iterator<Item = Entry<E>> {
        let (mut actors, mut lanes) = (self.actors.drain(..), self.lanes.drain(..));
        self.waiting.drain(..).map(move |waiting| {
            let of = actors.by_ref().take(waiting.actors as usize).collect();
            let messages = lanes.by_ref().take(waiting.lanes as usize).collect();
            waiting.entry(of, messages)
        })
    }
}

/// Entries in the order in which they came.
struct Queue<E> {
    /// None is empty.
    blocks: VecDeque<Block<E>>,
    len: usize,
}

impl<E> Queue<E> {
    fn new() -> Self {
        Self { blocks: VecDeque::new(), len: 0 }
    }

    #[inline]
    fn push(&mut self, entry: Entry<E>, spare: &mut Vec<Block<E>>) {
        self.len += 1;
        if let Some(last) = self.blocks.back_mut().filter(|last| last.waiting.len() < BLOCK) {
            return last.push(entry);
        }
        let mut block = spare.pop().unwrap_or_else(Block::new);
        block.push(entry);
        self.blocks.push_back(block);
    }

    /// The one that came last.
    fn pop(&mut self, spare: &mut Vec<Block<E>>) -> Option<Entry<E>> {
        let last = self.blocks.back_mut()?;
        let entry = last.pop();
        self.len -= usize::from(entry.is_some());
        if last.waiting.is_empty() {
            spare.extend(self.blocks.pop_back().filter(|_| spare.len() < SPARE));
        }
        entry
    }

    fn append(&mut self, mut other: Self) {
        self.len += other.len;
        self.blocks.append(&mut other.blocks);
    }

    fn each(&self) -> impl Iterator<Item = &Waiting<E>> {
        self.blocks.iter().flat_map(|block| &block.waiting)
    }
}

/// An entry as it is saved.
pub(super) struct Told<'a, E> {
    /// In which round it is due; none: in this one.
    pub(super) due: Option<u32>,
    pub(super) fingerprint: u64,
    pub(super) way: Option<&'a Way>,
    pub(super) extra: &'a E,
}

/// What a thread has to go on from.
pub(super) struct Frontier<E> {
    /// What came last, or is next.
    pub(super) now: VecDeque<Entry<E>>,
    /// What waited for this round.
    due: Queue<E>,
    /// What waits for rounds to come, by when it is due.
    later: BTreeMap<u32, Queue<E>>,
    later_len: usize,
    spare: Vec<Block<E>>,
    /// Whether what came last is next.
    last_first: bool,
    /// About how many bytes the state had that was next.
    of_one: usize,
}

impl<E> Frontier<E> {
    pub(super) fn new(now: Vec<Entry<E>>, last_first: bool) -> Self {
        let of_one = now.first().map_or(0, |entry| entry.state.bytes());
        Self {
            now: now.into(),
            due: Queue::new(),
            later: BTreeMap::new(),
            later_len: 0,
            spare: Vec::new(),
            last_first,
            of_one,
        }
    }

    /// The next entry of this round.
    pub(super) fn next(&mut self) -> Option<Entry<E>> {
        let next = if self.last_first {
            self.now.pop_back().or_else(|| self.due.pop(&mut self.spare))
        } else {
            if self.now.is_empty() {
                self.refill();
            }
            self.now.pop_front()
        };
        self.of_one = next.as_ref().map_or(self.of_one, |entry| entry.state.bytes());
        next
    }

    /// Of the state that is next once what came last is done: has the processor fetch its actors, and gives its
    /// fingerprint. None while something came last, so that this is done once.
    #[inline]
    pub(super) fn ahead(&self) -> Option<u64> {
        let block = self.due.blocks.back().filter(|_| self.now.is_empty())?;
        let waiting = block.waiting.last()?;
        let first = block.actors.len() - waiting.actors as usize;
        for actor in &block.actors[first..] {
            fetch(&raw const actor.state.health);
            fetch(&raw const actor.timers);
        }
        Some(waiting.fingerprint)
    }

    /// Makes the first block of what is due the next entries.
    fn refill(&mut self) {
        if let Some(mut block) = self.due.blocks.pop_front() {
            self.due.len -= block.waiting.len();
            self.now.extend(block.drain());
            if self.spare.len() < SPARE {
                self.spare.push(block);
            }
        }
    }

    /// Adds what waits for the round with this number.
    #[inline]
    pub(super) fn push_later(&mut self, due: u32, entry: Entry<E>) {
        self.later_len += 1;
        let queue = match self.later.get_mut(&due) {
            Some(queue) => queue,
            None => self.later.entry(due).or_insert_with(Queue::new),
        };
        queue.push(entry, &mut self.spare);
    }

    /// A round has begun: what is due until then is for this one.
    pub(super) fn begin(&mut self, until: u32) {
        while let Some(first) = self.later.first_entry().filter(|first| *first.key() <= until) {
            let queue = first.remove();
            self.later_len -= queue.len;
            self.due.append(queue);
        }
    }

    /// How many are for this round.
    pub(super) fn ready(&self) -> usize {
        self.now.len() + self.due.len
    }

    /// How many are for rounds to come.
    pub(super) fn later(&self) -> usize {
        self.later_len
    }

    pub(super) fn len(&self) -> usize {
        self.ready() + self.later_len
    }

    /// About how many bytes they have.
    pub(super) fn bytes(&self) -> usize {
        self.len() * self.of_one
    }

    /// Takes so many of this round, if there are, for another thread: those that would be the last here.
    pub(super) fn give(&mut self, n: usize) -> Vec<Entry<E>> {
        let mut given = Vec::with_capacity(n + BLOCK);
        while given.len() < n {
            let last = if self.last_first {
                self.due.blocks.pop_front()
            } else {
                self.due.blocks.pop_back()
            };
            let Some(mut block) = last else { break };
            self.due.len -= block.waiting.len();
            given.extend(block.drain());
        }
        if given.len() > n {
            let rest = given.split_off(n);
            if self.last_first {
                rest.into_iter().rev().for_each(|entry| self.now.push_front(entry));
            } else {
                self.now.extend(rest);
            }
        } else if self.last_first {
            given.extend(self.now.drain(..n - given.len()));
        } else {
            let left = self.now.len() - (n - given.len());
            given.extend(self.now.drain(left..));
        }
        given
    }

    /// All of them, those that are for this round first, and these in the order in which a search that goes on has to have them.
    pub(super) fn each(&self) -> impl Iterator<Item = Told<'_, E>> {
        let now = || {
            self.now.iter().map(|entry| Told {
                due: None,
                fingerprint: entry.state.fingerprint(),
                way: entry.way.as_ref(),
                extra: &entry.extra,
            })
        };
        let first = (!self.last_first).then(now).into_iter().flatten();
        let last = self.last_first.then(now).into_iter().flatten();
        let due = self.due.each().map(|one| told(None, one));
        let later = self.later.iter();
        let later = later.flat_map(|(&at, queue)| queue.each().map(move |one| told(Some(at), one)));
        first.chain(due).chain(last).chain(later)
    }
}

fn told<E>(due: Option<u32>, one: &Waiting<E>) -> Told<'_, E> {
    let Waiting { fingerprint, way, extra, .. } = one;
    Told { due, fingerprint: *fingerprint, way: way.as_ref(), extra }
}
