//! Values that begin anew in each execution even if their owner is a static.

use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::rt;

/// A value that is set at most once in each execution, and once outside.
///
/// References to it may live as long as the cell, so a value of an earlier execution is not
/// dropped when a new one begins, but with the cell. A static that is set in each of many
/// executions therefore keeps them all: the price of handing out plain references.
pub struct PerExecution<T> {
    /// The execution whose value `value` is; 0 for the one set outside, if any.
    epoch: AtomicU64,
    /// Points into `all`, or null.
    value: AtomicPtr<T>,
    /// Every value ever set, each alone in a `Vec`. Not in a `Box`, because references to a value must
    /// stay valid while the list grows, and to move a `Box` is to claim that there are none. Not behind
    /// a type with a destructor of its own either: with std's alone, a value may borrow what is dropped
    /// before the cell, as std's `OnceLock` allows.
    all: Mutex<Vec<Vec<T>>>,
}

impl<T> fmt::Debug for PerExecution<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PerExecution")
    }
}

impl<T> Default for PerExecution<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> PerExecution<T> {
    /// Without a value.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            epoch: AtomicU64::new(0),
            value: AtomicPtr::new(ptr::null_mut()),
            all: Mutex::new(Vec::new()),
        }
    }

    /// The value of this execution, if it has been set.
    pub fn get(&self) -> Option<&T> {
        let value = self.value.load(Ordering::Acquire);
        if self.epoch.load(Ordering::Acquire) != rt::epoch().unwrap_or(0) {
            return None;
        }
        // SAFETY: null, or owned by `all`, which drops nothing before the cell.
        unsafe { value.as_ref() }
    }

    /// Sets the value of this execution. The caller makes sure that no other thread does so at the same time.
    pub fn set(&self, value: T) -> &T {
        let mut owner = vec![value];
        let value = owner.as_mut_ptr();
        self.all.lock().unwrap_or_else(PoisonError::into_inner).push(owner);
        self.epoch.store(rt::epoch().unwrap_or(0), Ordering::Release);
        self.value.store(value, Ordering::Release);
        // SAFETY: owned by `all`, which drops nothing before the cell.
        unsafe { &*value }
    }

    /// The value of this execution, to change.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        if *self.epoch.get_mut() != rt::epoch().unwrap_or(0) {
            return None;
        }
        // SAFETY: null, or owned by `all`; `&mut self` shows that no reference is out.
        unsafe { self.value.get_mut().as_mut() }
    }

    /// Takes the value of this execution out.
    pub fn take(&mut self) -> Option<T> {
        let value = ptr::from_mut(self.get_mut()?);
        *self.value.get_mut() = ptr::null_mut();
        let all = self.all.get_mut().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().position(|owner| ptr::eq(owner.as_ptr(), value))?;
        all.swap_remove(at).pop()
    }
}

// SAFETY: shared access hands out `&T`, and values set by one thread may be dropped by another.
unsafe impl<T: Send + Sync> Sync for PerExecution<T> {}
