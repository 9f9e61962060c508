//! `loom::alloc`: std's allocation. What a test has not given back when its threads have ended is a failure.
#![expect(unsafe_code, reason = "the signatures of std")]

use std::panic::Location;

#[doc(no_inline)]
pub use std::alloc::Layout;

use crate::leaks::{self, Kind, Listed};

/// Like [`std::alloc::alloc`], looked after until [`dealloc`].
///
/// # Safety
/// As of [`std::alloc::alloc`].
#[must_use]
#[track_caller]
pub unsafe fn alloc(layout: Layout) -> *mut u8 {
    // SAFETY: by contract.
    let pointer = unsafe { std::alloc::alloc(layout) };
    leaks::allocated(pointer, Location::caller());
    pointer
}

/// Like [`std::alloc::alloc_zeroed`], looked after until [`dealloc`].
///
/// # Safety
/// As of [`std::alloc::alloc_zeroed`].
#[must_use]
#[track_caller]
pub unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
    // SAFETY: by contract.
    let pointer = unsafe { std::alloc::alloc_zeroed(layout) };
    leaks::allocated(pointer, Location::caller());
    pointer
}

/// Like [`std::alloc::dealloc`], of memory that [`alloc`] or [`alloc_zeroed`] has returned in the same execution.
///
/// # Safety
/// As of [`std::alloc::dealloc`].
///
/// # Panics
/// In an execution, if they have not.
#[track_caller]
pub unsafe fn dealloc(ptr: *mut u8, layout: Layout) {
    leaks::deallocated(ptr, Location::caller());
    // SAFETY: by contract.
    unsafe { std::alloc::dealloc(ptr, layout) }
}

/// A value that must be dropped, or taken out, before the execution ends.
///
/// ```should_panic
/// use raddle_loom::alloc::Track;
///
/// raddle_loom::model(|| std::mem::forget(Track::new(5)));
/// ```
#[derive(Debug)]
pub struct Track<T> {
    value: T,
    _listed: Listed,
}

impl<T> Track<T> {
    /// Looks after the value from now on.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self { value, _listed: Listed::new(Kind::Track, Location::caller()) }
    }

    /// The value.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// The value.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// The value, which is not looked after any more.
    pub fn into_inner(self) -> T {
        self.value
    }
}
