//! Timers of actors on threads: what is due when, and the thread that waits for it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::sync::{AtomicUsize, Condvar, Mutex, Ordering, PoisonError, lock};

/// When it is due, and which of those that are due then it is.
pub(crate) type Key = (Instant, u64);

/// What is due when.
pub(crate) struct Timers<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    /// How many are to come, the one that is made known right now among them.
    pending: AtomicUsize,
}

struct State<T> {
    waiting: BTreeMap<Key, T>,
    made: u64,
    closed: bool,
}

/// What stands for "never" where a time is too far away to be written.
const NEVER: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

impl<T> Timers<T> {
    pub(crate) fn new() -> Self {
        let state = State { waiting: BTreeMap::new(), made: 0, closed: false };
        Self { state: Mutex::new(state), changed: Condvar::new(), pending: AtomicUsize::new(0) }
    }

    /// Adds one. The second: whether it is the first that there ever was.
    pub(crate) fn add(&self, after: Duration, what: T) -> (Key, bool) {
        let now = Instant::now();
        self.add_at(now.checked_add(after).unwrap_or_else(|| now + NEVER), what)
    }

    /// Like [`add`](Self::add). Of two that are due at the same time the one that was added first is first.
    pub(crate) fn add_at(&self, at: Instant, what: T) -> (Key, bool) {
        let mut state = lock(&self.state);
        let key = (at, state.made);
        state.made += 1;
        if !state.closed {
            self.pending.fetch_add(1, Ordering::SeqCst);
            state.waiting.insert(key, what);
            if state.waiting.first_key_value().is_some_and(|(first, _)| *first == key) {
                self.changed.notify_one();
            }
        }
        (key, key.1 == 0 && !state.closed)
    }

    /// It does not become due any more, if it has not.
    pub(crate) fn cancel(&self, key: Key) {
        let cancelled = lock(&self.state).waiting.remove(&key);
        if cancelled.is_some() {
            self.pending.fetch_sub(1, Ordering::SeqCst);
        }
        // Here, without the lock: it may be the last that keeps an actor.
        drop(cancelled);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pending.load(Ordering::SeqCst) == 0
    }

    /// Waits for the next one. `None`: all is over. It is pending until [`done`](Self::done).
    pub(crate) fn next(&self) -> Option<T> {
        let mut state = lock(&self.state);
        loop {
            if state.closed {
                return None;
            }
            let Some((&key, _)) = state.waiting.first_key_value() else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = key.0.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return state.waiting.remove(&key);
            }
            let waited = self.changed.wait_timeout(state, left);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// What [`next`](Self::next) returned has been made known.
    pub(crate) fn done(&self) {
        self.pending.fetch_sub(1, Ordering::SeqCst);
    }

    /// Nothing is due any more. Returns what was to come.
    pub(crate) fn close(&self) -> BTreeMap<Key, T> {
        let mut state = lock(&self.state);
        state.closed = true;
        self.changed.notify_all();
        let waiting = std::mem::take(&mut state.waiting);
        self.pending.fetch_sub(waiting.len(), Ordering::SeqCst);
        waiting
    }
}
