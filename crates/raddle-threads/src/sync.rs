//! `std::sync`.

pub mod atomic;
mod barrier;
mod condvar;
pub mod counted;
mod guarded;
mod lazy_lock;
pub mod mpsc;
mod mutex;
mod once;
mod once_lock;
mod rwlock;
mod small_list;

// std's own: only those coerce to `Arc<dyn Trait>` and can be the type of `self`, and a program that
// never looks at a count cannot tell. See `counted` for those that do.
pub use std::sync::{Arc, LockResult, PoisonError, TryLockError, TryLockResult, Weak};

pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use lazy_lock::LazyLock;
pub use mutex::{Mutex, MutexGuard};
#[expect(deprecated, reason = "as in std")]
pub use once::ONCE_INIT;
pub use once::{Once, OnceState};
pub use once_lock::OnceLock;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
