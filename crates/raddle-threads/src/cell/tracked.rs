//! Plain data that a test shares between its threads as if nothing could go wrong.
//!
//! Safe to use although nothing keeps threads apart, because an access that would get in the way of
//! another is stopped first: inside an execution all tasks share one OS thread, and an access while
//! another task is inside [`Tracked::with_mut`] ends the execution as a data race; outside, and
//! within one task, such an access panics, as that of a `RefCell` does. So a reference to the value
//! is never given out while one that excludes it is.

use std::cell::UnsafeCell;
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicIsize, Ordering};

use raddle_engine::cell::{Open, Watch};
use raddle_engine::race::Touch;
use raddle_engine::rt;

use crate::Named;

/// Plain data, shared: a variable as C has it. Races on it are found, and fail the test.
///
/// For the data of tests. There is none without the feature `check` of the crate `raddle`: what is
/// safe, shared and costs nothing cannot be had in production. There, use a lock, or
/// [`UnsafeCell`](super::UnsafeCell) with its obligations.
///
/// ```
/// use raddle_threads::cell::Tracked;
///
/// let total = Tracked::new(1);
/// total.set(total.get() + 1);
/// total.with_mut(|total| *total *= 2);
/// assert_eq!(total.with(|total| *total), 4);
/// ```
pub struct Tracked<T> {
    watch: Watch,
    /// How many read; -1 while one writes.
    used: AtomicIsize,
    value: UnsafeCell<T>,
}

// SAFETY: `used` lets in either one who has `&mut T` or any number who have `&T`, whichever threads
// they are of. So `T: Send` for the one and `T: Sync` for the others is what it takes, as for an
// `RwLock`.
unsafe impl<T: Send + Sync> Sync for Tracked<T> {}
impl<T: UnwindSafe> UnwindSafe for Tracked<T> {}
impl<T: UnwindSafe> RefUnwindSafe for Tracked<T> {}

impl<T> Tracked<T> {
    /// A variable with this value. That it is made counts as a write, so `new` is not `const`: for
    /// statics there is [`const_new`](Self::const_new).
    ///
    /// ```
    /// # use raddle_threads::cell::Tracked;
    /// assert_eq!(Tracked::new(1).get(), 1);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self { watch: Watch::made("Tracked"), ..Self::const_new(value) }
    }

    /// A variable with this value, in a `const` context. That it is made is not an access. A static
    /// keeps its value from one execution to the next.
    ///
    /// ```
    /// # use raddle_threads::cell::Tracked;
    /// static LAST: Tracked<u8> = Tracked::const_new(0);
    /// assert_eq!(LAST.get(), 0);
    /// ```
    #[must_use]
    #[track_caller]
    pub const fn const_new(value: T) -> Self {
        Self {
            watch: Watch::new("Tracked"),
            used: AtomicIsize::new(0),
            value: UnsafeCell::new(value),
        }
    }

    /// A copy of the value.
    ///
    /// ```
    /// # use raddle_threads::cell::Tracked;
    /// assert_eq!(Tracked::new(1).get(), 1);
    /// ```
    ///
    /// # Panics
    /// As [`with`](Self::with).
    #[must_use]
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        self.with(|value| *value)
    }

    /// Sets the value.
    ///
    /// ```
    /// # use raddle_threads::cell::Tracked;
    /// let cell = Tracked::new(1);
    /// cell.set(2);
    /// assert_eq!(cell.get(), 2);
    /// ```
    ///
    /// # Panics
    /// As [`with_mut`](Self::with_mut).
    #[track_caller]
    pub fn set(&self, value: T) {
        // The old one is dropped when the access is over: its destructor may do anything.
        drop(self.with_mut(|place| std::mem::replace(place, value)));
    }

    /// Reads the value. The access lasts as long as the closure.
    ///
    /// ```
    /// # use raddle_threads::cell::Tracked;
    /// assert_eq!(Tracked::new(vec![1, 2]).with(Vec::len), 2);
    /// ```
    ///
    /// # Panics
    /// Inside [`with_mut`](Self::with_mut) of the same task; outside an execution also if another
    /// thread is inside one.
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        let _inside = self.enter(Touch::Read, Location::caller());
        // SAFETY: `used` counts this reader until `_inside` is dropped, so there is no writer.
        f(unsafe { &*self.value.get() })
    }

    /// Changes the value. The access lasts as long as the closure.
    ///
    /// ```
    /// # use raddle_threads::cell::Tracked;
    /// let list = Tracked::new(vec![1]);
    /// list.with_mut(|list| list.push(2));
    /// assert_eq!(list.into_inner(), [1, 2]);
    /// ```
    ///
    /// # Panics
    /// Inside [`with`](Self::with) or `with_mut` of the same task; outside an execution also if
    /// another thread is inside one.
    #[track_caller]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(&mut T) -> R,
    {
        let _inside = self.enter(Touch::Write, Location::caller());
        // SAFETY: `used` says that one writes until `_inside` is dropped, so there is no other access.
        f(unsafe { &mut *self.value.get() })
    }

    /// The value, to change. Not an access: `&mut` shows that there is no other reference.
    ///
    /// ```
    /// # use raddle_threads::cell::Tracked;
    /// let mut cell = Tracked::new(1);
    /// *cell.get_mut() += 1;
    /// assert_eq!(cell.get(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.watch.own();
        self.value.get_mut()
    }

    /// The value.
    ///
    /// ```
    /// # use raddle_threads::cell::Tracked;
    /// assert_eq!(Tracked::new(1).into_inner(), 1);
    /// ```
    #[must_use]
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    fn enter(&self, touch: Touch, site: &'static Location<'static>) -> Inside<'_> {
        // Does not return if another task is in: the execution ends.
        let open = self.watch.open(touch, site);
        let writes = touch != Touch::Read;
        let free = if writes {
            self.used.compare_exchange(0, -1, Ordering::Acquire, Ordering::Relaxed)
        } else {
            let more = |used: isize| (used >= 0).then(|| used.checked_add(1)).flatten();
            self.used.fetch_update(Ordering::Acquire, Ordering::Relaxed, more)
        };
        if free.is_err() {
            refuse();
        }
        Inside { used: &self.used, writes, _open: open }
    }
}

/// There is an access already.
#[cold]
#[track_caller]
fn refuse() -> ! {
    if rt::execution_ended() {
        // The task whose access lasts will be unwound, or never run again. To panic now could abort.
        rt::abandon();
    }
    panic!(
        "raddle: this Tracked is in use already: by a closure further up in the same task, by \
         another thread outside an execution, or by a task that an earlier execution left behind"
    );
}

struct Inside<'a> {
    used: &'a AtomicIsize,
    writes: bool,
    /// Ends after `used` says so.
    _open: Open,
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let added = if self.writes { -1 } else { 1 };
        self.used.fetch_sub(added, Ordering::Release);
    }
}

impl<T> fmt::Debug for Tracked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracked").finish_non_exhaustive()
    }
}

impl<T: Default> Default for Tracked<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for Tracked<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T> Named for Tracked<T> {
    fn named(mut self, name: &'static str) -> Self {
        self.watch.set_name(name);
        self
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn a_variable_in_use_is_not_given_out_again() {
        let cell = Tracked::new(1);
        let nested = |f: &dyn Fn()| catch_unwind(AssertUnwindSafe(f)).is_err();
        assert!(nested(&|| cell.with_mut(|_| cell.with(|_| ()))));
        assert!(nested(&|| cell.with(|_| cell.set(2))));
        assert!(!nested(&|| cell.with(|_| cell.with(|_| ()))));
        cell.set(3);
        assert_eq!(cell.get(), 3);
    }

    #[test]
    fn threads_outside_an_execution_may_read_together() {
        let cell = Tracked::new(1);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| assert_eq!((0..1000).map(|_| cell.get()).sum::<i32>(), 1000));
            }
        });
    }

    #[test]
    fn what_a_destructor_does_comes_after_the_access() {
        static CELL: Tracked<Option<Last>> = Tracked::const_new(None);
        struct Last;
        impl Drop for Last {
            fn drop(&mut self) {
                assert!(CELL.with(Option::is_none));
            }
        }
        CELL.set(Some(Last));
        CELL.set(None);
    }
}
