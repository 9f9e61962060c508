//! `thread_local!`: a value for each task inside an execution, for each OS thread outside.
//!
//! Inside, values begin anew in every execution, and are dropped when their task is done, the
//! latest first; what their destructors do are steps of that task, before it counts as finished.

use std::cell::{Cell, RefCell};
use std::error::Error;
use std::fmt;
use std::ptr;
use std::rc::Rc;

use raddle_engine::rt;

/// Like [`std::thread_local!`], with the same syntax.
///
/// ```
/// use std::cell::{Cell, RefCell};
///
/// raddle_threads::thread_local! {
///     /// How often this thread was asked.
///     pub static ASKED: Cell<u32> = const { Cell::new(0) };
///     static NAMES: RefCell<Vec<String>> = RefCell::default();
/// }
///
/// ASKED.set(ASKED.get() + 1);
/// NAMES.with_borrow_mut(|names| names.push("a".to_owned()));
/// assert_eq!(ASKED.get(), 1);
/// ```
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = const $init:block; $($rest:tt)*) => {
        $crate::thread_local!($(#[$attr])* $vis static $name: $t = const $init);
        $crate::thread_local!($($rest)*);
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = const $init:block) => {
        $(#[$attr])*
        $vis static $name: $crate::thread::LocalKey<$t> = {
            ::std::thread_local! { static OUTSIDE: $t = const $init; }
            fn init() -> $t {
                const { $init }
            }
            $crate::thread::LocalKey::new(&OUTSIDE, init)
        };
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = $init:expr; $($rest:tt)*) => {
        $crate::thread_local!($(#[$attr])* $vis static $name: $t = $init);
        $crate::thread_local!($($rest)*);
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = $init:expr) => {
        $(#[$attr])*
        $vis static $name: $crate::thread::LocalKey<$t> = {
            fn init() -> $t {
                $init
            }
            ::std::thread_local! { static OUTSIDE: $t = init(); }
            $crate::thread::LocalKey::new(&OUTSIDE, init)
        };
    };
}

/// Like [`std::thread::LocalKey`].
pub struct LocalKey<T: 'static> {
    outside: &'static std::thread::LocalKey<T>,
    init: fn() -> T,
}

impl<T: 'static> LocalKey<T> {
    /// For [`thread_local!`](crate::thread_local), which makes a static of it: its address is
    /// what tells it from others.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(outside: &'static std::thread::LocalKey<T>, init: fn() -> T) -> Self {
        Self { outside, init }
    }

    /// The calling task's value, made by `init` if it has none. Not a step: no other task sees it.
    fn inside(&'static self, init: impl FnOnce() -> T) -> Result<Rc<T>, AccessError> {
        rt::local(ptr::from_ref(self).addr(), init).ok_or(AccessError)
    }

    /// Looks at the value, which is made at its first use.
    ///
    /// # Panics
    /// If the value has been dropped, because the thread is ending.
    #[track_caller]
    pub fn with<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        match self.try_with(f) {
            Ok(result) => result,
            Err(error) => gone(error),
        }
    }

    /// Like [`with`](Self::with).
    ///
    /// # Errors
    /// If the value has been dropped, because the thread is ending.
    pub fn try_with<F, R>(&'static self, f: F) -> Result<R, AccessError>
    where
        F: FnOnce(&T) -> R,
    {
        if rt::inside() {
            Ok(f(&*self.inside(self.init)?))
        } else {
            self.outside.try_with(f).map_err(AccessError::from)
        }
    }

    /// Gives `value` to `set`, or makes it the first value instead of the usual one.
    #[track_caller]
    fn put<V>(&'static self, value: V, make: fn(V) -> T, set: fn(&T, V)) {
        let mut value = Some(value);
        let mut first = || make(value.take().expect("a first value is made once"));
        match self.inside(&mut first) {
            Err(error) => gone(error),
            Ok(local) => {
                if let Some(value) = value {
                    set(&local, value);
                }
            }
        }
    }
}

#[cold]
#[track_caller]
fn gone(error: AccessError) -> ! {
    panic!("cannot access a Thread Local Storage value during or after destruction: {error:?}")
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// Sets the value, without making the usual first one.
    ///
    /// # Panics
    /// As [`with`](Self::with).
    #[track_caller]
    pub fn set(&'static self, value: T) {
        if rt::inside() {
            self.put(value, Cell::new, Cell::set);
        } else {
            self.outside.set(value);
        }
    }

    /// A copy of the value.
    ///
    /// # Panics
    /// As [`with`](Self::with).
    #[must_use]
    #[track_caller]
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// Takes the value and leaves the default.
    ///
    /// # Panics
    /// As [`with`](Self::with).
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    /// Sets the value and returns the one before.
    ///
    /// # Panics
    /// As [`with`](Self::with).
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// Looks at what is in the cell.
    ///
    /// # Panics
    /// As [`with`](Self::with), and if it is borrowed mutably.
    #[track_caller]
    pub fn with_borrow<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        self.with(|cell| f(&cell.borrow()))
    }

    /// Changes what is in the cell.
    ///
    /// # Panics
    /// As [`with`](Self::with), and if it is borrowed.
    #[track_caller]
    pub fn with_borrow_mut<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&mut T) -> R,
    {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }

    /// Sets the value, without making the usual first one.
    ///
    /// # Panics
    /// As [`with_borrow_mut`](Self::with_borrow_mut).
    #[track_caller]
    pub fn set(&'static self, value: T) {
        if rt::inside() {
            self.put(value, RefCell::new, |cell, value| {
                cell.replace(value);
            });
        } else {
            self.outside.set(value);
        }
    }

    /// Takes the value and leaves the default.
    ///
    /// # Panics
    /// As [`with_borrow_mut`](Self::with_borrow_mut).
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }

    /// Sets the value and returns the one before.
    ///
    /// # Panics
    /// As [`with_borrow_mut`](Self::with_borrow_mut).
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

/// Like [`std::thread::AccessError`].
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessError;

impl From<std::thread::AccessError> for AccessError {
    fn from(_: std::thread::AccessError) -> Self {
        Self
    }
}

impl fmt::Debug for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessError").finish()
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("already destroyed")
    }
}

impl Error for AccessError {}
