//! `loom::sync::Notify`.

use raddle::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Wakes the one thread that waits, now or when it comes.
///
/// As with loom, one wait may end without a notification.
#[derive(Debug, Default)]
pub struct Notify {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    notified: bool,
    /// There is a thread that waits.
    waiting: bool,
    /// A wait has ended without a notification.
    woke_early: bool,
}

impl Notify {
    /// No thread was notified.
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        Self { state: Mutex::new(State::default()), changed: Condvar::new() }
    }

    #[track_caller]
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the thread that waits go on.
    #[track_caller]
    pub fn notify(&self) {
        self.state().notified = true;
        self.changed.notify_one();
    }

    /// Waits for a notification, and takes it; or for nothing, once.
    ///
    /// # Panics
    /// If another thread waits.
    #[track_caller]
    pub fn wait(&self) {
        let mut state = self.state();
        assert!(!state.waiting, "only one thread may wait for a Notify, and another one does");
        if !state.woke_early && wakes_early() {
            state.woke_early = true;
            return;
        }
        state.waiting = true;
        while !state.notified {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        (state.notified, state.waiting) = (false, false);
    }
}

/// Whether a wait ends now although nothing woke it: a decision of the search.
///
/// loom yields then. Here whatever the thread looks at next lets others move before, and a yield would only take the order of
/// independent steps into account, of which reductions claim less.
#[track_caller]
pub(crate) fn wakes_early() -> bool {
    raddle::extend::inside() && raddle::choose(2) == 1
}
