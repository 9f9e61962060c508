//! `loom::sync`: primitives under control. `Arc` has counts that are steps, as loom's has.

pub mod atomic;
pub mod mpsc;
mod notify;

pub use raddle::sync::{
    Barrier, BarrierWaitResult, Condvar, LazyLock, LockResult, Mutex, MutexGuard, Once, OnceLock,
    OnceState, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult,
    WaitTimeoutResult,
};

pub use raddle::sync::counted::{Arc, Weak};

pub use self::notify::Notify;
pub(crate) use self::notify::wakes_early;
