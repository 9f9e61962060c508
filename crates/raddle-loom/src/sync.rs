//! `loom::sync`: primitives under control. `Arc` has counts that are steps, as loom's has.

pub mod atomic;

pub use raddle::sync::{
    Barrier, BarrierWaitResult, Condvar, LazyLock, LockResult, Mutex, MutexGuard, Once, OnceLock,
    OnceState, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult,
    WaitTimeoutResult, mpsc,
};

pub use raddle::migrate::loom::sync::Notify;
pub use raddle::sync::counted::{Arc, Weak};
