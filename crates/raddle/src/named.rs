//! Names of primitives in builds without `check`: ignored.

use std::cell::Cell;
use std::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8,
    AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
};
use std::sync::mpsc::{Receiver, Sender, SyncSender};
use std::sync::{Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock};

use crate::cell::UnsafeCell;

/// Gives a primitive a name for reports. Without the feature `check` it does nothing.
///
/// ```
/// use raddle::Named;
/// use raddle::sync::Mutex;
///
/// let queue = Mutex::new(Vec::<u8>::new()).named("queue");
/// ```
pub trait Named: Sized {
    /// The same primitive with a name.
    #[must_use]
    fn named(self, name: &'static str) -> Self;
}

macro_rules! named {
    ($($({$($generic:ident),+})? $type:ty;)+) => {$(
        impl$(<$($generic),+>)? Named for $type {
            #[inline]
            fn named(self, _: &'static str) -> Self {
                self
            }
        }
    )+};
}

named! {
    AtomicBool;
    AtomicI8;
    AtomicI16;
    AtomicI32;
    AtomicI64;
    AtomicIsize;
    AtomicU8;
    AtomicU16;
    AtomicU32;
    AtomicU64;
    AtomicUsize;
    {T} AtomicPtr<T>;
    Barrier;
    {T} Cell<T>;
    Condvar;
    {T, F} LazyLock<T, F>;
    {T} Mutex<T>;
    Once;
    {T} OnceLock<T>;
    {T} RwLock<T>;
    {T} UnsafeCell<T>;
    {T} (Sender<T>, Receiver<T>);
    {T} (SyncSender<T>, Receiver<T>);
}
