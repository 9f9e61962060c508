//! A thread outside a system that waits for an answer.

use std::hash::{Hash, Hasher};
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::context::HandlerTurn;
use crate::reply::{Asker, Reply};
use crate::turn::Effect;

/// The place for an answer.
pub(crate) struct Waiter<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    answer: Mutex<Option<T>>,
    /// The receive that answered, if messages are observed.
    answered_by: AtomicU64,
    answered: Condvar,
    #[cfg(feature = "check")]
    signal: raddle_engine::rt::Object<crate::explored::Signal>,
}

impl<T: Send + 'static> Waiter<T> {
    pub(crate) fn new() -> Self {
        Self {
            shared: Arc::new(Shared {
                answer: Mutex::new(None),
                answered_by: AtomicU64::new(0),
                answered: Condvar::new(),
                #[cfg(feature = "check")]
                signal: raddle_engine::rt::Object::new(crate::explored::Signal::default()),
            }),
        }
    }

    pub(crate) fn reply(&self) -> Reply<T> {
        Reply::new(ToOutside { shared: Arc::clone(&self.shared) })
    }

    pub(crate) fn is_answered(&self) -> bool {
        self.shared.answer.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Blocks the OS thread until there is an answer, or nothing is left that could give one.
    pub(crate) fn wait(&self) {
        let mut answer = self.shared.answer.lock().unwrap_or_else(PoisonError::into_inner);
        while answer.is_none() && Arc::strong_count(&self.shared) > 1 {
            let waited = self
                .shared
                .answered
                .wait_timeout(answer, std::time::Duration::from_millis(50))
                .unwrap_or_else(PoisonError::into_inner);
            answer = waited.0;
        }
    }

    #[cfg(feature = "check")]
    pub(crate) fn signal(&self) -> &raddle_engine::rt::Object<crate::explored::Signal> {
        &self.shared.signal
    }

    /// The receive that answered; 0 if messages are not observed.
    #[cfg(feature = "check")]
    pub(crate) fn answered_by(&self) -> u64 {
        self.shared.answered_by.load(Ordering::Relaxed)
    }

    pub(crate) fn take(self) -> Option<T> {
        self.shared.answer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

struct ToOutside<T> {
    shared: Arc<Shared<T>>,
}

impl<T: Send + 'static> Asker<T> for ToOutside<T> {
    fn answer(&self, answer: T, turn: &mut HandlerTurn<'_>, _: &'static Location<'static>) {
        *self.shared.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        let shared = Arc::clone(&self.shared);
        match turn {
            HandlerTurn::Serial(turn) => {
                shared.answered_by.store(turn.receive(), Ordering::Relaxed);
                turn.effects.push(Effect::Answered(Box::new(move || {
                    #[cfg(feature = "check")]
                    if raddle_engine::rt::inside() {
                        shared.signal.alter(|signal| signal.given = true);
                    }
                    shared.answered.notify_all();
                })));
            }
            HandlerTurn::Concurrent(_) => shared.answered.notify_all(),
        }
    }

    fn key(&self, mut hasher: &mut dyn Hasher) {
        Arc::as_ptr(&self.shared).addr().hash(&mut hasher);
    }
}
