//! Cells of plain data whose accesses are checked for data races.
//!
//! [`UnsafeCell`] and [`Cell`] have loom's API, for code that is to run in production: without the
//! feature `check` of the crate `raddle` they are thin wrappers of std's. [`Tracked`] is for the
//! plain data of a test.
//!
//! Two accesses to one cell by different threads, at least one of them a write, are a data race if
//! nothing puts them in order: no lock, channel, join, or release that the other acquires. It ends
//! the execution and fails the test even if no assertion does. Accesses are not scheduling points:
//! a race shows in whatever order the two came. Outside an execution nothing is checked.
//!
//! ```
//! use raddle_threads::cell::UnsafeCell;
//!
//! let cell = UnsafeCell::new(1);
//! cell.with_mut(|value| unsafe { *value += 1 });
//! assert_eq!(cell.with(|value| unsafe { *value }), 2);
//! ```
#![expect(unsafe_code, reason = "what is shared without a lock is shared by raw pointers")]

mod tracked;

use std::cell;
use std::cmp::Ordering;
use std::fmt;
use std::panic::Location;

use raddle_engine::cell::{Pointed, Watch};
use raddle_engine::race::Touch;

pub use self::tracked::Tracked;
use crate::Named;

/// Like [`std::cell::UnsafeCell`], with accesses that have a beginning and an end. The API is that
/// of loom.
///
/// An access lasts as long as the closure of [`with`](Self::with) and [`with_mut`](Self::with_mut): another
/// task's access in between is a race too, if one of the two is a write. [`get`](Self::get) and
/// [`get_mut`](Self::get_mut) are accesses, and so is each use of the pointer that they return: `deref`,
/// and `with` as long as its closure. Merely to hold it is none, as with a pointer of std, so it may be dropped after
/// the cell was handed on: a guard that has one may do that in its `Drop`.
///
/// Misses: what is done through a reference that `deref` returned, after the task's next operation. In loom an
/// access lasts until the pointer is dropped. That finds more, but a pointer that is merely held counts as an access
/// there.
///
/// ```
/// use raddle_threads::cell::UnsafeCell;
///
/// struct Slot(UnsafeCell<u32>);
/// // SAFETY: the threads that share it take turns.
/// unsafe impl Sync for Slot {}
///
/// let slot = Slot(UnsafeCell::new(3));
/// slot.0.with_mut(|value| unsafe { *value = 4 });
/// assert_eq!(slot.0.into_inner(), 4);
/// ```
pub struct UnsafeCell<T: ?Sized> {
    watch: Watch,
    value: cell::UnsafeCell<T>,
}

impl<T> UnsafeCell<T> {
    /// A cell with this value. That it is made counts as a write, so `new` is not `const`: for
    /// statics there is [`const_new`](Self::const_new).
    ///
    /// ```
    /// let cell = raddle_threads::cell::UnsafeCell::new("plain");
    /// assert_eq!(cell.into_inner(), "plain");
    /// ```
    #[must_use]
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self { watch: Watch::made("UnsafeCell"), value: cell::UnsafeCell::new(value) }
    }

    /// A cell with this value, in a `const` context. That it is made is not an access. Misses: a
    /// task that reads the cell without an order between that and its making.
    ///
    /// ```
    /// # use raddle_threads::cell::UnsafeCell;
    /// const EMPTY: UnsafeCell<Option<u8>> = UnsafeCell::const_new(None);
    /// # let _ = EMPTY;
    /// ```
    #[must_use]
    #[track_caller]
    pub const fn const_new(value: T) -> Self {
        Self { watch: Watch::new("UnsafeCell"), value: cell::UnsafeCell::new(value) }
    }

    /// The value.
    ///
    /// ```
    /// # use raddle_threads::cell::UnsafeCell;
    /// assert_eq!(UnsafeCell::new(7).into_inner(), 7);
    /// ```
    #[must_use]
    pub fn into_inner(self) -> T {
        // The owner has the only reference: no access to check.
        self.value.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Reads: hands out a pointer that must not be used to write, nor after the closure.
    ///
    /// ```
    /// # use raddle_threads::cell::UnsafeCell;
    /// let cell = UnsafeCell::new(7);
    /// assert_eq!(cell.with(|value| unsafe { *value }), 7);
    /// ```
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        let _open = self.watch.open(Touch::Read, Location::caller());
        f(self.value.get())
    }

    /// Writes: hands out a pointer that must not be used after the closure.
    ///
    /// ```
    /// # use raddle_threads::cell::UnsafeCell;
    /// let cell = UnsafeCell::new(7);
    /// cell.with_mut(|value| unsafe { *value += 1 });
    /// assert_eq!(cell.into_inner(), 8);
    /// ```
    #[track_caller]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        let _open = self.watch.open(Touch::Write, Location::caller());
        f(self.value.get())
    }

    /// Reads, and returns a pointer of which each use is a read too.
    ///
    /// ```
    /// # use raddle_threads::cell::UnsafeCell;
    /// let cell = UnsafeCell::new(7);
    /// let pointer = cell.get();
    /// assert_eq!(unsafe { *pointer.deref() }, 7);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn get(&self) -> ConstPtr<T> {
        let cell = self.watch.point(Touch::Read, Location::caller());
        ConstPtr { cell, pointer: self.value.get() }
    }

    /// Writes, and returns a pointer of which each use is a write too. Unlike std's it takes `&self`,
    /// as loom's does.
    ///
    /// ```
    /// # use raddle_threads::cell::UnsafeCell;
    /// let cell = UnsafeCell::new(7);
    /// {
    ///     let pointer = cell.get_mut();
    ///     unsafe { *pointer.deref() += 1 };
    /// }
    /// assert_eq!(cell.into_inner(), 8);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<T> {
        let cell = self.watch.point(Touch::Write, Location::caller());
        MutPtr { cell, pointer: self.value.get() }
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T> Named for UnsafeCell<T> {
    fn named(mut self, name: &'static str) -> Self {
        self.watch.set_name(name);
        self
    }
}

/// A pointer to what is in an [`UnsafeCell`]. Each use of it is a read.
///
/// ```
/// let cell = raddle_threads::cell::UnsafeCell::new(1);
/// assert_eq!(cell.get().with(|value| unsafe { *value }), 1);
/// ```
pub struct ConstPtr<T: ?Sized> {
    cell: Pointed,
    pointer: *const T,
}

impl<T: ?Sized> ConstPtr<T> {
    /// What it points to.
    ///
    /// ```
    /// let cell = raddle_threads::cell::UnsafeCell::new(1);
    /// assert_eq!(unsafe { *cell.get().deref() }, 1);
    /// ```
    ///
    /// # Safety
    /// The cell is still there, and no other thread writes to it meanwhile. Races are found, not prevented.
    #[must_use]
    #[track_caller]
    pub unsafe fn deref(&self) -> &T {
        self.cell.touch(Location::caller());
        // SAFETY: by contract; the pointer is that of a live cell.
        unsafe { &*self.pointer }
    }

    /// Hands out the pointer, which must not be used after the closure.
    ///
    /// ```
    /// let cell = raddle_threads::cell::UnsafeCell::new(1);
    /// assert_eq!(cell.get().with(|value| unsafe { *value }), 1);
    /// ```
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        let _open = self.cell.open(Location::caller());
        f(self.pointer)
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
/// let cell = raddle_threads::cell::UnsafeCell::new(1);
/// cell.get_mut().with(|value| unsafe { *value = 2 });
/// assert_eq!(cell.into_inner(), 2);
/// ```
pub struct MutPtr<T: ?Sized> {
    cell: Pointed,
    pointer: *mut T,
}

impl<T: ?Sized> MutPtr<T> {
    /// What it points to.
    ///
    /// ```
    /// let cell = raddle_threads::cell::UnsafeCell::new(1);
    /// unsafe { *cell.get_mut().deref() = 2 };
    /// assert_eq!(cell.into_inner(), 2);
    /// ```
    ///
    /// # Safety
    /// The cell is still there, and nothing else uses it meanwhile, not by this pointer either. Races
    /// are found, not prevented.
    #[expect(clippy::mut_from_ref, reason = "loom's signature; exclusive by contract")]
    #[must_use]
    #[track_caller]
    pub unsafe fn deref(&self) -> &mut T {
        self.cell.touch(Location::caller());
        // SAFETY: by contract; the pointer is that of a live cell.
        unsafe { &mut *self.pointer }
    }

    /// Hands out the pointer, which must not be used after the closure.
    ///
    /// ```
    /// let cell = raddle_threads::cell::UnsafeCell::new(1);
    /// cell.get_mut().with(|value| unsafe { *value = 2 });
    /// assert_eq!(cell.into_inner(), 2);
    /// ```
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        let _open = self.cell.open(Location::caller());
        f(self.pointer)
    }
}

impl<T: ?Sized> fmt::Debug for MutPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MutPtr").finish_non_exhaustive()
    }
}

/// Like [`std::cell::Cell`], for code that shares one by means of `unsafe`. That it is made counts
/// as a write, so `new` is not `const`.
///
/// ```
/// use raddle_threads::cell::Cell;
///
/// let cell = Cell::new(1);
/// cell.set(cell.get() + 1);
/// assert_eq!(cell.into_inner(), 2);
/// ```
pub struct Cell<T> {
    watch: Watch,
    value: cell::Cell<T>,
}

impl<T> Cell<T> {
    /// A cell with this value.
    ///
    /// ```
    /// # use raddle_threads::cell::Cell;
    /// assert_eq!(Cell::new(1).get(), 1);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self { watch: Watch::made("Cell"), value: cell::Cell::new(value) }
    }

    /// Sets the value.
    ///
    /// ```
    /// # use raddle_threads::cell::Cell;
    /// let cell = Cell::new(1);
    /// cell.set(2);
    /// assert_eq!(cell.get(), 2);
    /// ```
    #[track_caller]
    pub fn set(&self, value: T) {
        drop(self.replace(value));
    }

    /// Swaps the values of two cells.
    ///
    /// ```
    /// # use raddle_threads::cell::Cell;
    /// let (a, b) = (Cell::new(1), Cell::new(2));
    /// a.swap(&b);
    /// assert_eq!((a.get(), b.get()), (2, 1));
    /// ```
    #[track_caller]
    pub fn swap(&self, other: &Self) {
        if std::ptr::eq(self, other) {
            return;
        }
        self.watch.touch(Touch::Write, Location::caller());
        other.watch.touch(Touch::Write, Location::caller());
        self.value.swap(&other.value);
    }

    /// Sets the value and returns the one before.
    ///
    /// ```
    /// # use raddle_threads::cell::Cell;
    /// assert_eq!(Cell::new(1).replace(2), 1);
    /// ```
    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        self.watch.touch(Touch::Write, Location::caller());
        self.value.replace(value)
    }

    /// A copy of the value.
    ///
    /// ```
    /// # use raddle_threads::cell::Cell;
    /// assert_eq!(Cell::new(1).get(), 1);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        self.watch.touch(Touch::Read, Location::caller());
        self.value.get()
    }

    /// Sets the value to what a function makes of it.
    ///
    /// ```
    /// # use raddle_threads::cell::Cell;
    /// let cell = Cell::new(1);
    /// cell.update(|value| value + 1);
    /// assert_eq!(cell.get(), 2);
    /// ```
    #[track_caller]
    pub fn update(&self, f: impl FnOnce(T) -> T)
    where
        T: Copy,
    {
        let old = self.get();
        self.set(f(old));
    }

    /// The value, to change. Not an access: `&mut` shows that there is no other reference.
    ///
    /// ```
    /// # use raddle_threads::cell::Cell;
    /// let mut cell = Cell::new(1);
    /// *cell.get_mut() += 1;
    /// assert_eq!(cell.get(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.watch.own();
        self.value.get_mut()
    }

    /// A pointer to the value. What is done with it is not checked.
    ///
    /// ```
    /// # use raddle_threads::cell::Cell;
    /// let cell = Cell::new(1);
    /// assert_eq!(unsafe { *cell.as_ptr() }, 1);
    /// ```
    #[must_use]
    pub const fn as_ptr(&self) -> *mut T {
        self.value.as_ptr()
    }

    /// Takes the value and leaves the default.
    ///
    /// ```
    /// # use raddle_threads::cell::Cell;
    /// let cell = Cell::new(5);
    /// assert_eq!((cell.take(), cell.get()), (5, 0));
    /// ```
    #[track_caller]
    pub fn take(&self) -> T
    where
        T: Default,
    {
        self.replace(T::default())
    }

    /// The value.
    ///
    /// ```
    /// # use raddle_threads::cell::Cell;
    /// assert_eq!(Cell::new(1).into_inner(), 1);
    /// ```
    #[must_use]
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for Cell<T> {
    // Not an access: to print must not change what is found.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").field("value", &self.value.get()).finish_non_exhaustive()
    }
}

impl<T: Default> Default for Cell<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: Copy> Clone for Cell<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        Self::new(self.get())
    }
}

impl<T> From<T> for Cell<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: PartialEq + Copy> PartialEq for Cell<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq + Copy> Eq for Cell<T> {}

impl<T: PartialOrd + Copy> PartialOrd for Cell<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.get().partial_cmp(&other.get())
    }
}

impl<T: Ord + Copy> Ord for Cell<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.get().cmp(&other.get())
    }
}

impl<T> Named for Cell<T> {
    fn named(mut self, name: &'static str) -> Self {
        self.watch.set_name(name);
        self
    }
}
