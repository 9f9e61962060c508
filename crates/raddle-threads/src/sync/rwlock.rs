//! A reader-writer lock for threads.
//!
//! std leaves open whether a waiting writer keeps new readers out. Here readers are let in
//! whenever no writer holds the lock. Misses: the deadlock of a task that reads twice while a
//! writer waits in between, which a lock that prefers writers has. All other orders of readers
//! and writers of such a lock are among those explored.
#![expect(unsafe_code, reason = "a guard is shared on the condition that its value is")]

use std::fmt;
use std::panic::Location;
use std::sync::{self, LockResult, TryLockError, TryLockResult};

use super::guarded::{Guarded, Held, pointer_to_value};
use super::small_list::SmallList;
use crate::Named;
use crate::prelude::*;

/// A lock which either one writer holds, or any number of readers.
#[derive(Debug)]
struct Shared {
    /// Invariant: if there is one, there are no readers.
    writer: Option<TaskId>,
    /// One entry for each guard: a task may read more than once.
    readers: SmallList<TaskId>,
}

#[derive(Clone, Copy, Debug)]
enum SharedOp {
    Read,
    TryRead,
    UnlockRead,
    Write,
    TryWrite,
    UnlockWrite,
    /// A writer becomes a reader, and no other writer comes in between.
    Downgrade,
}

impl Shared {
    const fn new() -> Self {
        Self { writer: None, readers: SmallList::new() }
    }

    fn can_read(&self) -> bool {
        self.writer.is_none()
    }

    // Not even the only reader may write: std leaves that unspecified, we call it a deadlock.
    fn can_write(&self) -> bool {
        self.writer.is_none() && self.readers.len() == 0
    }
}

impl Model for Shared {
    type Op = SharedOp;
    /// Whether the caller now holds the lock.
    type Reply = bool;
    const KIND: &'static str = "RwLock";
    const LOCKS: bool = true;

    fn enabled(&self, _: TaskId, op: SharedOp) -> bool {
        match op {
            SharedOp::Read => self.can_read(),
            SharedOp::Write => self.can_write(),
            _ => true,
        }
    }

    // Overreports: an attempt to read that works commutes with other readers.
    fn access(&self, _: TaskId, op: SharedOp) -> Access {
        match op {
            SharedOp::TryRead if !self.can_read() => Access::Refused,
            SharedOp::TryWrite if !self.can_write() => Access::Refused,
            SharedOp::TryRead => Access::TryShare,
            SharedOp::TryWrite => Access::TryAcquire,
            SharedOp::Read => Access::Share,
            SharedOp::Write => Access::Acquire,
            SharedOp::UnlockRead => Access::Unshare,
            SharedOp::UnlockWrite | SharedOp::Downgrade => Access::Release,
        }
    }

    fn keeps_share(op: SharedOp) -> bool {
        matches!(op, SharedOp::Downgrade)
    }

    fn apply(&mut self, task: TaskId, op: SharedOp, _: u32) -> bool {
        match op {
            SharedOp::Read | SharedOp::TryRead => {
                let free = self.can_read();
                if free {
                    self.readers.push(task);
                }
                free
            }
            SharedOp::Write | SharedOp::TryWrite => {
                let free = self.can_write();
                if free {
                    self.writer = Some(task);
                }
                free
            }
            SharedOp::UnlockRead => {
                self.readers.remove_first(|reader| reader == task);
                false
            }
            SharedOp::UnlockWrite => {
                self.writer = None;
                false
            }
            SharedOp::Downgrade => {
                self.writer = None;
                self.readers.push(task);
                true
            }
        }
    }

    fn holders(&self, _: TaskId, _: SharedOp) -> Vec<TaskId> {
        let mut holders: Vec<TaskId> = self.writer.into_iter().chain(self.readers.iter()).collect();
        holders.sort_unstable();
        holders.dedup();
        holders
    }

    fn reset(&mut self) {
        self.writer = None;
        self.readers.clear();
    }

    fn show(op: SharedOp, reply: Option<&bool>) -> String {
        let tried = match reply {
            Some(true) => " -> Ok",
            Some(false) => " -> WouldBlock",
            None => "",
        };
        match op {
            SharedOp::Read => "read".to_owned(),
            SharedOp::TryRead => format!("try_read{tried}"),
            SharedOp::Write => "write".to_owned(),
            SharedOp::TryWrite => format!("try_write{tried}"),
            SharedOp::UnlockRead | SharedOp::UnlockWrite => "unlock".to_owned(),
            SharedOp::Downgrade => "downgrade".to_owned(),
        }
    }
}

/// Like [`std::sync::RwLock`].
pub struct RwLock<T: ?Sized> {
    lock: Object<Shared>,
    value: Guarded<sync::RwLock<T>>,
}

impl<T> RwLock<T> {
    /// An unlocked lock.
    #[must_use]
    #[track_caller]
    pub const fn new(value: T) -> Self {
        Self { lock: Object::new(Shared::new()), value: Guarded::new(sync::RwLock::new(value)) }
    }

    /// The value.
    ///
    /// # Errors
    /// If the lock is poisoned, as in std.
    pub fn into_inner(self) -> LockResult<T> {
        self.value.real.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until no writer holds the lock, then takes it for reading.
    ///
    /// # Errors
    /// If the lock is poisoned, as in std.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.lock.step(SharedOp::Read);
        self.read_guard()
    }

    /// Takes the lock for reading if no writer holds it.
    ///
    /// # Errors
    /// If a writer holds the lock, or if it is poisoned, as in std.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        if self.lock.step(SharedOp::TryRead) {
            Ok(self.read_guard()?)
        } else {
            Err(TryLockError::WouldBlock)
        }
    }

    /// Waits until no thread holds the lock, then takes it for writing.
    ///
    /// # Errors
    /// If the lock is poisoned, as in std.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.lock.step(SharedOp::Write);
        self.write_guard()
    }

    /// Takes the lock for writing if no thread holds it.
    ///
    /// # Errors
    /// If the lock is held or poisoned, as in std.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        if self.lock.step(SharedOp::TryWrite) {
            Ok(self.write_guard()?)
        } else {
            Err(TryLockError::WouldBlock)
        }
    }

    /// Whether a task panicked while it held the lock for writing.
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
    /// If the lock is poisoned, as in std.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.value.real.get_mut()
    }

    /// The guard of a lock that the model has just granted.
    #[track_caller]
    fn read_guard(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let guard = |held| RwLockReadGuard { lock: &self.lock, held };
        self.value.granted(self.value.real.try_read(), guard)
    }

    /// As [`read_guard`](Self::read_guard).
    #[track_caller]
    fn write_guard(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let guard = |held| RwLockWriteGuard { lock: self, held };
        self.value.granted(self.value.real.try_write(), guard)
    }
}

impl<T> Named for RwLock<T> {
    fn named(mut self, name: &'static str) -> Self {
        self.lock.set_name(name);
        self
    }
}

impl<T: Default> Default for RwLock<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.real.fmt(f)
    }
}

/// Like [`std::sync::RwLockReadGuard`].
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a Object<Shared>,
    held: Held<sync::RwLockReadGuard<'a, T>>,
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        // The value first: the task that the model lets in next must find it free.
        self.held.value = None;
        self.lock.step_at(SharedOp::UnlockRead, self.held.site);
    }
}

pointer_to_value!(RwLockReadGuard);

/// Like [`std::sync::RwLockWriteGuard`].
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    held: Held<sync::RwLockWriteGuard<'a, T>>,
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Makes of a writer a reader, without letting another writer in between.
    ///
    /// # Panics
    /// Never: a live guard has its value.
    #[track_caller]
    pub fn downgrade(mut this: Self) -> RwLockReadGuard<'a, T> {
        let RwLock { lock, value } = this.lock;
        let written = this.held.value.take().expect("a live guard has its value");
        // The value first, as in `drop`: readers are let in by the step. Until then the model keeps all others out, so
        // nothing can come between the two guards of the real lock. (std's own `downgrade` needs Rust 1.92.)
        let was_poisoned = value.real.is_poisoned();
        drop(written);
        if !was_poisoned {
            // A guard that is dropped while its task unwinds poisons the lock; one that is downgraded does not.
            value.real.clear_poison();
        }
        let value = value.real.read().unwrap_or_else(sync::PoisonError::into_inner);
        lock.step(SharedOp::Downgrade);
        RwLockReadGuard { lock, held: Held { value: Some(value), site: Location::caller() } }
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        if self.held.value.is_some() {
            // The value first: the task that the model lets in next must find it free.
            self.lock.value.release(&mut self.held);
            self.lock.lock.step_at(SharedOp::UnlockWrite, self.held.site);
        }
    }
}

// SAFETY: who shares a guard can look at the value and no more: the lock behind it is used only by who
// owns the guard.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

pointer_to_value!(mut RwLockWriteGuard);

#[cfg(test)]
mod tests {
    use super::*;

    const A: TaskId = TaskId(0);
    const B: TaskId = TaskId(1);

    #[test]
    fn readers_share_and_a_writer_does_not() {
        let mut lock = Shared::new();
        assert!(lock.apply(A, SharedOp::Read, 0));
        assert!(lock.apply(B, SharedOp::TryRead, 0));
        assert!(!lock.enabled(B, SharedOp::Write));
        assert!(!lock.apply(B, SharedOp::TryWrite, 0));
        lock.apply(A, SharedOp::UnlockRead, 0);
        lock.apply(B, SharedOp::UnlockRead, 0);
        assert!(lock.apply(B, SharedOp::Write, 0));
        assert!(!lock.enabled(A, SharedOp::Read));
        assert!(!lock.enabled(A, SharedOp::Write));
        assert!(!lock.apply(A, SharedOp::TryRead, 0));
    }

    #[test]
    fn a_task_that_reads_twice_gives_back_twice() {
        let mut lock = Shared::new();
        lock.apply(A, SharedOp::Read, 0);
        lock.apply(A, SharedOp::Read, 0);
        lock.apply(B, SharedOp::Read, 0);
        assert_eq!(lock.holders(B, SharedOp::Write), [A, B]);
        lock.apply(A, SharedOp::UnlockRead, 0);
        lock.apply(B, SharedOp::UnlockRead, 0);
        assert_eq!(lock.holders(B, SharedOp::Write), [A]);
        assert!(!lock.enabled(B, SharedOp::Write));
        lock.apply(A, SharedOp::UnlockRead, 0);
        assert!(lock.enabled(B, SharedOp::Write));
    }

    #[test]
    fn a_writer_that_downgrades_lets_readers_in() {
        let mut lock = Shared::new();
        lock.apply(A, SharedOp::Write, 0);
        assert_eq!(lock.holders(B, SharedOp::Read), [A]);
        lock.apply(A, SharedOp::Downgrade, 0);
        assert!(lock.enabled(B, SharedOp::Read));
        assert!(!lock.enabled(B, SharedOp::Write));
    }

    #[test]
    fn an_attempt_that_would_fail_only_reads() {
        let mut lock = Shared::new();
        assert_eq!(lock.access(A, SharedOp::TryWrite), Access::TryAcquire);
        lock.apply(A, SharedOp::Read, 0);
        assert_eq!(lock.access(B, SharedOp::TryWrite), Access::Refused);
        assert_eq!(lock.access(B, SharedOp::TryRead), Access::TryShare);
        lock.reset();
        lock.apply(A, SharedOp::Write, 0);
        assert_eq!(lock.access(B, SharedOp::TryRead), Access::Refused);
    }
}
