//! A cell that is written once.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync;

use raddle_engine::per_execution::PerExecution;
use raddle_engine::rt;

use super::once::{Kind, Latch};
use crate::Named;

#[derive(Debug)]
struct OnceLockKind;

impl Kind for OnceLockKind {
    const NAME: &'static str = "OnceLock";
    const LOOK: &'static str = "get";
    const BEGIN: &'static str = "get_or_init";
}

/// Like [`std::sync::OnceLock`]. Begins anew in each execution, even as a static: what was set
/// outside is not seen inside, nor the other way round.
///
/// A static keeps the values of all executions, since references to them may be `'static`.
pub struct OnceLock<T> {
    latch: Latch<OnceLockKind>,
    /// Invariant: set before `latch` is done, and only by the task that `latch` lets through.
    inside: PerExecution<T>,
    outside: sync::OnceLock<T>,
}

impl<T> OnceLock<T> {
    /// An empty cell.
    #[must_use]
    #[track_caller]
    pub const fn new() -> Self {
        Self { latch: Latch::new(), inside: PerExecution::new(), outside: sync::OnceLock::new() }
    }

    /// The value, if it has been set.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        if rt::inside() { self.latch.look().then(|| self.value()) } else { self.outside.get() }
    }

    /// The value, to change.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        if rt::inside() { self.inside.get_mut() } else { self.outside.get_mut() }
    }

    /// Waits until the value has been set.
    #[track_caller]
    pub fn wait(&self) -> &T {
        if rt::inside() {
            self.latch.wait(true);
            self.value()
        } else {
            self.outside.wait()
        }
    }

    /// Sets the value if it is not set; waits while another thread initialises it.
    ///
    /// # Errors
    /// The given value, if there is one already.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        if !rt::inside() {
            return self.outside.set(value);
        }
        if self.latch.set() {
            // Still the same step: no other task moves before the next op of this task.
            self.inside.set(value);
            Ok(())
        } else {
            Err(value)
        }
    }

    /// The value, made by `f` if it is not set. If `f` panics the cell stays empty, and others
    /// may try.
    #[track_caller]
    pub fn get_or_init<F>(&self, f: F) -> &T
    where
        F: FnOnce() -> T,
    {
        if !rt::inside() {
            return self.outside.get_or_init(f);
        }
        self.latch.run(true, |_| {
            self.inside.set(f());
        });
        self.value()
    }

    /// The value.
    #[must_use]
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }

    /// Takes the value out and leaves the cell empty.
    pub fn take(&mut self) -> Option<T> {
        if rt::inside() {
            self.latch.renew();
            self.inside.take()
        } else {
            self.outside.take()
        }
    }

    /// The value of a cell whose latch is done.
    fn value(&self) -> &T {
        self.inside.get().expect("the value is set before the latch is done")
    }

    /// The value, without a step.
    fn peek(&self) -> Option<&T> {
        if rt::inside() { self.latch.is_done().then(|| self.value()) } else { self.outside.get() }
    }
}

impl<T> Named for OnceLock<T> {
    fn named(mut self, name: &'static str) -> Self {
        self.latch.set_name(name);
        self
    }
}

impl<T> Default for OnceLock<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple = f.debug_tuple("OnceLock");
        match self.peek() {
            Some(value) => tuple.field(value),
            None => tuple.field(&format_args!("<uninit>")),
        };
        tuple.finish()
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        match self.get() {
            Some(value) => Self::from(value.clone()),
            None => Self::new(),
        }
    }
}

impl<T> From<T> for OnceLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        let mut cell = Self::new();
        if rt::inside() {
            cell.inside.set(value);
            cell.latch.open();
        } else {
            cell.outside = sync::OnceLock::from(value);
        }
        cell
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}

impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}
