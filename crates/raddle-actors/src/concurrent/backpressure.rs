//! Which actor waits for room in whose mailbox.
//!
//! An actor that has put more into a mailbox than it should hold is not run again before half of
//! that mailbox is free, unless that would close a circle: then it goes on, and the mailbox grows.
//! Each actor waits for at most one other, and all changes are made under one lock, so there are no
//! circles, and at the end of each chain there is an actor that does not wait. That one has messages, or
//! no other would wait for it; so it is in a run queue or is run, and makes room.

use std::collections::HashMap;

use super::sync::{Mutex, lock};

/// The actors that wait for room, by numbers that differ.
pub(crate) struct Backpressure<T> {
    graph: Mutex<Graph<T>>,
}

struct Graph<T> {
    /// The actor that each waits for. Invariant: without circles.
    waits_for: HashMap<usize, usize>,
    waiters: HashMap<usize, Vec<(usize, T)>>,
}

impl<T> Backpressure<T> {
    pub(crate) fn new() -> Self {
        let graph = Graph { waits_for: HashMap::new(), waiters: HashMap::new() };
        Self { graph: Mutex::new(graph) }
    }

    /// `who`, called `name`, waits for `other`. Gives it back if it must not wait: because of a circle,
    /// or because `is_full`, which is asked under the lock that releases take, says that there is room.
    pub(crate) fn wait(
        &self,
        name: usize,
        who: T,
        other: usize,
        is_full: impl FnOnce() -> bool,
    ) -> Result<(), T> {
        let mut graph = lock(&self.graph);
        let mut last = other;
        while last != name {
            match graph.waits_for.get(&last) {
                Some(&next) => last = next,
                None => break,
            }
        }
        if last == name || !is_full() {
            return Err(who);
        }
        graph.waits_for.insert(name, other);
        graph.waiters.entry(other).or_default().push((name, who));
        Ok(())
    }

    /// Those who wait for `other` need not wait any longer.
    pub(crate) fn release(&self, other: usize) -> Vec<(usize, T)> {
        let mut graph = lock(&self.graph);
        let waiters = graph.waiters.remove(&other).unwrap_or_default();
        for (name, _) in &waiters {
            graph.waits_for.remove(name);
        }
        waiters
    }

    /// All that wait.
    pub(crate) fn drain(&self) -> Vec<(usize, T)> {
        let mut graph = lock(&self.graph);
        graph.waits_for.clear();
        graph.waiters.drain().flat_map(|(_, waiters)| waiters).collect()
    }
}
