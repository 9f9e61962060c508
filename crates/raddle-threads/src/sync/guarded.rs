//! The value of a lock: what mutexes and reader-writer locks have in common beside their models.
//!
//! A model decides who holds the lock, so the real lock around the value is never contended: it keeps
//! the value safe and carries std's poison. A lock that outlives an execution begins anew in the next
//! one, and so must be free of the poison of the one before.

use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{self, LockResult, PoisonError, TryLockError, TryLockResult};

use raddle_engine::rt;

/// A lock of std.
pub(crate) trait Real {
    /// What messages call its type and the thing.
    const CALLED: (&'static str, &'static str);

    fn is_poisoned(&self) -> bool;

    fn clear_poison(&self);
}

impl<T: ?Sized> Real for sync::Mutex<T> {
    const CALLED: (&'static str, &'static str) = ("Mutex", "mutex");

    fn is_poisoned(&self) -> bool {
        self.is_poisoned()
    }

    fn clear_poison(&self) {
        self.clear_poison();
    }
}

impl<T: ?Sized> Real for sync::RwLock<T> {
    const CALLED: (&'static str, &'static str) = ("RwLock", "lock");

    fn is_poisoned(&self) -> bool {
        self.is_poisoned()
    }

    fn clear_poison(&self) {
        self.clear_poison();
    }
}

/// A value in the real lock `L`, guarded by a model.
#[derive(Debug)]
pub(crate) struct Guarded<L: ?Sized> {
    /// The execution in which the lock was poisoned last; 0 if that was outside, or never.
    poisoned_in: AtomicU64,
    pub(crate) real: L,
}

impl<L> Guarded<L> {
    pub(crate) const fn new(real: L) -> Self {
        Self { poisoned_in: AtomicU64::new(0), real }
    }
}

impl<L: Real + ?Sized> Guarded<L> {
    /// Whether the lock was poisoned, in this execution or outside of any.
    pub(crate) fn is_poisoned(&self) -> bool {
        self.real.is_poisoned() && !self.is_stale()
    }

    /// Whether the poison is that of another execution. What was poisoned outside, before, stays so.
    #[cold]
    fn is_stale(&self) -> bool {
        let noted = self.poisoned_in.load(Ordering::Relaxed);
        noted != 0 && Some(noted) != rt::epoch()
    }

    /// The guard of a lock that the model has just granted, made of what the real lock answered.
    #[track_caller]
    pub(crate) fn granted<G, W>(
        &self,
        answer: TryLockResult<G>,
        guard: impl FnOnce(Held<G>) -> W,
    ) -> LockResult<W> {
        let site = Location::caller();
        let held = |value| guard(Held { value: Some(value), site });
        match answer {
            Ok(value) => Ok(held(value)),
            Err(TryLockError::Poisoned(poisoned)) if self.is_stale() => {
                self.real.clear_poison();
                Ok(held(poisoned.into_inner()))
            }
            Err(TryLockError::Poisoned(poisoned)) => {
                Err(PoisonError::new(held(poisoned.into_inner())))
            }
            Err(TryLockError::WouldBlock) => left_behind(L::CALLED),
        }
    }

    /// Lets go of the value, of which `held` is the only guard: the real lock, not the model's.
    pub(crate) fn release<G>(&self, held: &mut Held<G>) {
        let poisoned = self.is_poisoned();
        held.value = None;
        // To be unwound with its execution is not a panic of the program.
        if rt::tearing_down() && !poisoned {
            self.real.clear_poison();
        } else if !poisoned && self.real.is_poisoned() {
            self.note_poison();
        }
    }

    /// The lock was poisoned just now.
    #[cold]
    fn note_poison(&self) {
        self.poisoned_in.store(rt::epoch().unwrap_or(0), Ordering::Relaxed);
    }
}

#[cold]
#[track_caller]
fn left_behind((kind, thing): (&str, &str)) -> ! {
    panic!(
        "raddle: a {kind} is held by a guard that an earlier execution left behind; create the \
         {thing} inside the closure that raddle runs"
    );
}

/// The real guard inside of one that a model granted.
pub(crate) struct Held<G> {
    /// `None` only while the guard is being dropped, downgraded, or waits on a condition variable.
    pub(crate) value: Option<G>,
    /// Where it was locked: a destructor does not know where it runs.
    pub(crate) site: &'static Location<'static>,
}

/// What a guard with a field `held` is besides: a pointer to the value that shows itself as the value.
macro_rules! pointer_to_value {
    ($guard:ident) => {
        impl<T: ?Sized> std::ops::Deref for $guard<'_, T> {
            type Target = T;

            fn deref(&self) -> &T {
                self.held.value.as_ref().expect("a live guard has its value")
            }
        }

        impl<T: ?Sized + std::fmt::Debug> std::fmt::Debug for $guard<'_, T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + std::fmt::Display> std::fmt::Display for $guard<'_, T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }
    };
    (mut $guard:ident) => {
        $crate::sync::guarded::pointer_to_value!($guard);

        impl<T: ?Sized> std::ops::DerefMut for $guard<'_, T> {
            fn deref_mut(&mut self) -> &mut T {
                self.held.value.as_mut().expect("a live guard has its value")
            }
        }
    };
}

pub(crate) use pointer_to_value;
