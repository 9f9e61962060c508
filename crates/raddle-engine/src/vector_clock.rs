//! Vector clocks: for each task, how many of its events are known.
//!
//! Both orders of an execution use them: dependence ([`happens`](crate::happens), whose clocks are rows of
//! one arena) and synchronisation ([`race`](crate::race), whose clocks stand alone).

use std::ops::{Deref, DerefMut};

use crate::op::TaskId;

/// A clock that grows with what it learns. Shorter than the number of tasks: nothing is known of the others.
#[derive(Debug, Default)]
pub(crate) struct VectorClock(Vec<u32>);

impl VectorClock {
    /// Knows nothing any more. Keeps its allocation.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Knows nothing any more, of so many tasks.
    pub(crate) fn reset(&mut self, tasks: usize) {
        self.0.clear();
        self.0.resize(tasks, 0);
    }

    /// Knows what `other` knows, and nothing else.
    pub(crate) fn copy(&mut self, other: &[u32]) {
        self.0.clear();
        self.0.extend_from_slice(other);
    }

    /// Has room for so many tasks.
    pub(crate) fn widen(&mut self, tasks: usize) {
        if self.0.len() < tasks {
            self.0.resize(tasks, 0);
        }
    }

    /// Learns all that `other` knows.
    pub(crate) fn join(&mut self, other: &[u32]) {
        self.widen(other.len());
        join(&mut self.0, other);
    }
}

impl Clone for VectorClock {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }

    fn clone_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }
}

impl Deref for VectorClock {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.0
    }
}

impl DerefMut for VectorClock {
    fn deref_mut(&mut self) -> &mut [u32] {
        &mut self.0
    }
}

/// `own` learns what `other` knows, of the tasks for which both have room.
#[inline]
pub(crate) fn join(own: &mut [u32], other: &[u32]) {
    for (own, other) in own.iter_mut().zip(other) {
        *own = (*own).max(*other);
    }
}

/// Whether a clock knows the event with this number of a task.
#[inline]
pub(crate) fn knows(clock: &[u32], task: TaskId, event: u32) -> bool {
    clock.get(task.index()).is_some_and(|known| *known >= event)
}
