//! What the protocol of the threads is built of: std's. Its tests mount the same files over raddle's.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

pub(crate) use std::sync::PoisonError;

/// Takes a lock. Panics of handlers are caught elsewhere, so a poisoned lock is as good as any.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
