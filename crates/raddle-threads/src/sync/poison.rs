//! In which execution a lock was poisoned.
//!
//! The poison is std's, in the value that a lock guards, and stays there. A lock that outlives an
//! execution begins anew in the next one, and so must be free of it.

use std::sync::atomic::{AtomicU64, Ordering};

use raddle_engine::rt;

/// The execution in which a lock was poisoned last; 0 if that was outside, or never.
#[derive(Debug)]
pub(crate) struct PoisonedIn(AtomicU64);

impl PoisonedIn {
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// The lock was poisoned just now.
    #[cold]
    pub(crate) fn note(&self) {
        self.0.store(rt::epoch().unwrap_or(0), Ordering::Relaxed);
    }

    /// Whether the poison is that of another execution. What was poisoned outside, before, stays so.
    #[cold]
    pub(crate) fn is_stale(&self) -> bool {
        let noted = self.0.load(Ordering::Relaxed);
        noted != 0 && Some(noted) != rt::epoch()
    }
}
