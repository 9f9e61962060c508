//! `loom::sync::atomic`: raddle's atomics with loom's two methods of its own.

use std::fmt;
use std::ops::Deref;

use raddle::sync::atomic as controlled;
pub use raddle::sync::atomic::{Ordering, compiler_fence, fence};

/// Tells the processor that this is a loop that waits; here the others may move.
pub fn spin_loop_hint() {
    raddle::hint::spin_loop();
}

const UNSYNC_LOAD: &str = "loom finds a race between unsync_load and a store of another thread, and raddle does not: here it is a \
                           relaxed load";

macro_rules! atomics {
    ($($name:ident: $value:ty;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`: all of std's methods through `Deref`, and loom's own.")]
        #[derive(Default)]
        pub struct $name(controlled::$name);

        methods!($name, $value,);

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

macro_rules! methods {
    ($name:ident, $value:ty, $($generic:ident)?) => {
        impl$(<$generic>)? $name$(<$generic>)? {
            /// An atomic with this value.
            #[must_use]
            #[track_caller]
            pub const fn new(value: $value) -> Self {
                Self(controlled::$name::new(value))
            }

            /// The value, to be read and changed as plain data by its only owner.
            pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut $value) -> R) -> R {
                f(self.0.get_mut())
            }

            /// The value without any synchronisation.
            ///
            /// A step that loads with `Relaxed` here, so that orders are explored which loom does not explore.
            /// Misses: that the load races with a store.
            ///
            /// # Safety
            /// No other thread writes meanwhile.
            #[must_use]
            #[track_caller]
            #[expect(unsafe_code, reason = "loom's signature")]
            pub unsafe fn unsync_load(&self) -> $value {
                raddle::extend::tell_difference(UNSYNC_LOAD);
                self.0.load(Ordering::Relaxed)
            }

            /// The value.
            #[must_use]
            pub fn into_inner(self) -> $value {
                self.0.into_inner()
            }

            /// Sets the value if it is `current`; gives the value that was there.
            #[track_caller]
            pub fn compare_and_swap(&self, current: $value, new: $value, order: Ordering) -> $value {
                let failure = match order {
                    Ordering::AcqRel | Ordering::Acquire => Ordering::Acquire,
                    Ordering::SeqCst => Ordering::SeqCst,
                    _ => Ordering::Relaxed,
                };
                match self.0.compare_exchange(current, new, order, failure) {
                    Ok(before) | Err(before) => before,
                }
            }
        }

        impl$(<$generic>)? Deref for $name$(<$generic>)? {
            type Target = controlled::$name$(<$generic>)?;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }

        impl$(<$generic>)? From<$value> for $name$(<$generic>)? {
            #[track_caller]
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }
    };
}

atomics! {
    AtomicBool: bool;
    AtomicU8: u8;
    AtomicU16: u16;
    AtomicU32: u32;
    AtomicU64: u64;
    AtomicUsize: usize;
    AtomicI8: i8;
    AtomicI16: i16;
    AtomicI32: i32;
    AtomicI64: i64;
    AtomicIsize: isize;
}

/// `AtomicPtr`: all of std's methods through `Deref`, and loom's own.
pub struct AtomicPtr<T>(controlled::AtomicPtr<T>);

methods!(AtomicPtr, *mut T, T);

impl<T> Default for AtomicPtr<T> {
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}

impl<T> fmt::Debug for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
