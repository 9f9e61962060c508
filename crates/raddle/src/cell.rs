//! `raddle::cell` where nothing is checked: std's cells, with the API that the checked ones have.

#![expect(unsafe_code, reason = "what is shared without a lock is shared by raw pointers")]

use std::cell;
pub use std::cell::Cell;
use std::fmt;

/// [`std::cell::UnsafeCell`] with accesses that have a beginning and an end. With the feature `check`
/// they are checked for data races.
///
/// ```
/// use raddle::cell::UnsafeCell;
///
/// let cell = UnsafeCell::new(1);
/// cell.with_mut(|value| unsafe { *value += 1 });
/// assert_eq!(cell.with(|value| unsafe { *value }), 2);
/// ```
#[repr(transparent)]
pub struct UnsafeCell<T: ?Sized>(cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    /// A cell with this value. With the feature `check` it is not `const`: for statics there is
    /// [`const_new`](Self::const_new).
    #[inline]
    #[must_use]
    pub fn new(value: T) -> Self {
        Self::const_new(value)
    }

    /// A cell with this value, in a `const` context.
    #[inline]
    #[must_use]
    pub const fn const_new(value: T) -> Self {
        Self(cell::UnsafeCell::new(value))
    }

    /// The value.
    #[inline]
    #[must_use]
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Reads: hands out a pointer that must not be used to write, nor after the closure.
    #[inline]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        f(self.0.get())
    }

    /// Writes: hands out a pointer that must not be used after the closure.
    #[inline]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        f(self.0.get())
    }

    /// Reads, and returns a pointer of which each use is a read too.
    #[inline]
    #[must_use]
    pub fn get(&self) -> ConstPtr<T> {
        ConstPtr(self.0.get())
    }

    /// Writes, and returns a pointer of which each use is a write too.
    #[inline]
    #[must_use]
    pub fn get_mut(&self) -> MutPtr<T> {
        MutPtr(self.0.get())
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

/// A pointer to what is in an [`UnsafeCell`]. Each use of it is a read.
///
/// ```
/// let cell = raddle::cell::UnsafeCell::new(1);
/// assert_eq!(unsafe { *cell.get().deref() }, 1);
/// ```
pub struct ConstPtr<T: ?Sized>(*const T);

impl<T: ?Sized> ConstPtr<T> {
    /// What it points to.
    ///
    /// # Safety
    /// The cell is still there, and no other thread writes to it meanwhile.
    #[inline]
    #[must_use]
    pub unsafe fn deref(&self) -> &T {
        // SAFETY: by contract; the pointer is that of a live cell.
        unsafe { &*self.0 }
    }

    /// Hands out the pointer, which must not be used after the closure.
    #[inline]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        f(self.0)
    }
}

impl<T: ?Sized> fmt::Debug for ConstPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConstPtr").finish_non_exhaustive()
    }
}

/// A pointer to what is in an [`UnsafeCell`]. Each use of it is a write.
///
/// ```
/// let cell = raddle::cell::UnsafeCell::new(1);
/// unsafe { *cell.get_mut().deref() = 2 };
/// assert_eq!(cell.into_inner(), 2);
/// ```
pub struct MutPtr<T: ?Sized>(*mut T);

impl<T: ?Sized> MutPtr<T> {
    /// What it points to.
    ///
    /// # Safety
    /// The cell is still there, and nothing else uses it meanwhile, not by this pointer either.
    #[expect(clippy::mut_from_ref, reason = "loom's signature; exclusive by contract")]
    #[inline]
    #[must_use]
    pub unsafe fn deref(&self) -> &mut T {
        // SAFETY: by contract; the pointer is that of a live cell.
        unsafe { &mut *self.0 }
    }

    /// Hands out the pointer, which must not be used after the closure.
    #[inline]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        f(self.0)
    }
}

impl<T: ?Sized> fmt::Debug for MutPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MutPtr").finish_non_exhaustive()
    }
}
