//! A mutex for threads.
#![expect(unsafe_code, reason = "a guard is shared on the condition that its value is")]

use std::fmt;
use std::sync::{self, LockResult, TryLockError, TryLockResult};

use super::guarded::{Guarded, Held, pointer_to_value};
use crate::Named;
use crate::prelude::*;

/// A lock which at most one task holds.
#[derive(Debug, Default)]
pub(crate) struct Lock {
    holder: Option<TaskId>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum LockOp {
    Lock,
    TryLock,
    Unlock,
}

impl Lock {
    pub(crate) const fn new() -> Self {
        Self { holder: None }
    }
}

impl Model for Lock {
    type Op = LockOp;
    /// Whether the caller now holds the lock.
    type Reply = bool;
    const KIND: &'static str = "Mutex";
    const LOCKS: bool = true;
    const EXCLUSIVE: bool = true;

    fn enabled(&self, _: TaskId, op: LockOp) -> bool {
        match op {
            // Not even the holder may lock: std leaves that unspecified, we call it a deadlock.
            LockOp::Lock => self.holder.is_none(),
            LockOp::TryLock | LockOp::Unlock => true,
        }
    }

    fn access(&self, _: TaskId, op: LockOp) -> Access {
        match op {
            LockOp::TryLock if self.holder.is_some() => Access::Refused,
            LockOp::TryLock => Access::TryAcquire,
            LockOp::Lock => Access::Acquire,
            LockOp::Unlock => Access::Release,
        }
    }

    fn apply(&mut self, task: TaskId, op: LockOp, _: u32) -> bool {
        match op {
            LockOp::Lock | LockOp::TryLock => {
                let free = self.holder.is_none();
                self.holder.get_or_insert(task);
                free
            }
            LockOp::Unlock => {
                // A guard may be dropped by another task than the one that locked, if it is sent.
                self.holder = None;
                false
            }
        }
    }

    fn holders(&self, _: TaskId, _: LockOp) -> Vec<TaskId> {
        self.holder.into_iter().collect()
    }

    fn reset(&mut self) {
        self.holder = None;
    }

    fn show(op: LockOp, reply: Option<&bool>) -> String {
        match (op, reply) {
            (LockOp::Lock, _) => "lock".to_owned(),
            (LockOp::TryLock, Some(true)) => "try_lock -> Ok".to_owned(),
            (LockOp::TryLock, Some(false)) => "try_lock -> WouldBlock".to_owned(),
            (LockOp::TryLock, None) => "try_lock".to_owned(),
            (LockOp::Unlock, _) => "unlock".to_owned(),
        }
    }
}

/// Like [`std::sync::Mutex`].
pub struct Mutex<T: ?Sized> {
    pub(crate) lock: Object<Lock>,
    value: Guarded<sync::Mutex<T>>,
}

impl<T> Mutex<T> {
    /// An unlocked mutex.
    #[must_use]
    #[track_caller]
    pub const fn new(value: T) -> Self {
        Self { lock: Object::new(Lock::new()), value: Guarded::new(sync::Mutex::new(value)) }
    }

    /// The value.
    ///
    /// # Errors
    /// If the mutex is poisoned, as in std.
    pub fn into_inner(self) -> LockResult<T> {
        self.value.real.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until the mutex is free, then takes it.
    ///
    /// # Errors
    /// If the mutex is poisoned, as in std.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.lock.step(LockOp::Lock);
        self.guard()
    }

    /// Takes the mutex if it is free.
    ///
    /// # Errors
    /// If the mutex is held or poisoned, as in std.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        if self.lock.step(LockOp::TryLock) {
            Ok(self.guard()?)
        } else {
            Err(TryLockError::WouldBlock)
        }
    }

    /// Whether a task panicked while it held the mutex.
    pub fn is_poisoned(&self) -> bool {
        self.value.is_poisoned()
    }

    /// Forgets the poison.
    pub fn clear_poison(&self) {
        self.value.real.clear_poison();
    }

    /// The value, without locking.
    ///
    /// # Errors
    /// If the mutex is poisoned, as in std.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.value.real.get_mut()
    }

    /// The guard of a lock that the model has just granted.
    #[track_caller]
    pub(crate) fn guard(&self) -> LockResult<MutexGuard<'_, T>> {
        self.value.granted(self.value.real.try_lock(), |held| MutexGuard { mutex: self, held })
    }
}

impl<T> Named for Mutex<T> {
    fn named(mut self, name: &'static str) -> Self {
        self.lock.set_name(name);
        self
    }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.real.fmt(f)
    }
}

/// Like [`std::sync::MutexGuard`].
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized> {
    pub(crate) mutex: &'a Mutex<T>,
    held: Held<sync::MutexGuard<'a, T>>,
}

impl<T: ?Sized> MutexGuard<'_, T> {
    /// Lets go of the value: the real lock, not the model's.
    pub(crate) fn release_value(&mut self) {
        self.mutex.value.release(&mut self.held);
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        if self.held.value.is_some() {
            // The value first: the task that the model lets in next must find it free.
            self.release_value();
            self.mutex.lock.step_at(LockOp::Unlock, self.held.site);
        }
    }
}

// SAFETY: who shares a guard can look at the value and no more: the lock behind it is used only by who
// owns the guard.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

pointer_to_value!(mut MutexGuard);

#[cfg(test)]
mod tests {
    use super::*;

    const A: TaskId = TaskId(0);
    const B: TaskId = TaskId(1);

    #[test]
    fn only_the_holder_excludes() {
        let mut lock = Lock::new();
        assert!(lock.apply(A, LockOp::Lock, 0));
        assert!(!lock.enabled(B, LockOp::Lock));
        assert!(!lock.enabled(A, LockOp::Lock));
        assert!(!lock.apply(B, LockOp::TryLock, 0));
        lock.apply(A, LockOp::Unlock, 0);
        assert!(lock.enabled(B, LockOp::Lock));
    }

    #[test]
    fn a_try_lock_that_would_fail_only_reads() {
        let mut lock = Lock::new();
        assert_eq!(lock.access(A, LockOp::TryLock), Access::TryAcquire);
        lock.apply(A, LockOp::TryLock, 0);
        assert_eq!(lock.access(B, LockOp::TryLock), Access::Refused);
    }
}
