//! A value that is made at its first use.

use std::fmt;
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync;

use raddle_engine::fresh::Fresh;
use raddle_engine::rt;

use super::once::{Kind, Latch, poisoned};
use crate::Named;

#[derive(Debug)]
struct LazyLockKind;

impl Kind for LazyLockKind {
    const NAME: &'static str = "LazyLock";
    const LOOK: &'static str = "get";
    const BEGIN: &'static str = "force";
}

/// Like [`std::sync::LazyLock`]. The closure must be `Fn` where std asks for `FnOnce`: even a
/// static begins anew in each execution, so it runs once in each, and once outside.
///
/// A closure that consumes what it captured is refused when it is compiled, not when it is called
/// for the second time. A static keeps the values of all executions, since references to them may
/// be `'static`.
pub struct LazyLock<T, F = fn() -> T> {
    latch: Latch<LazyLockKind>,
    /// Invariant: set before `latch` is done, and only by whom `latch` lets through.
    inside: Fresh<T>,
    /// Outside, who may make the value: unlike `outside` it remembers a panic.
    once: sync::Once,
    outside: sync::OnceLock<T>,
    init: F,
}

impl<T, F: Fn() -> T> LazyLock<T, F> {
    /// A value that `f` will make.
    #[must_use]
    #[track_caller]
    pub const fn new(f: F) -> Self {
        Self {
            latch: Latch::new(),
            inside: Fresh::new(),
            once: sync::Once::new(),
            outside: sync::OnceLock::new(),
            init: f,
        }
    }

    /// The value, made now if it has not been.
    ///
    /// # Panics
    /// If the closure panics or has panicked, as in std.
    #[track_caller]
    pub fn force(this: &Self) -> &T {
        if rt::inside() {
            this.latch.run(false, |_| {
                this.inside.set((this.init)());
            });
            this.inside.get().expect("the value is set before the latch is done")
        } else {
            this.once.call_once_force(|state| {
                if state.is_poisoned() {
                    poisoned(LazyLockKind::NAME);
                }
                let new = this.outside.set((this.init)());
                assert!(new.is_ok(), "a call that completed is not repeated");
            });
            this.outside.get().expect("the value is set before the call completes")
        }
    }

    /// The value to change, made now if it has not been.
    ///
    /// # Panics
    /// If the closure panics or has panicked, as in std.
    #[track_caller]
    pub fn force_mut(this: &mut Self) -> &mut T {
        Self::force(this);
        Self::get_mut(this).expect("it has just been made")
    }
}

impl<T, F> LazyLock<T, F> {
    /// The value, if it has been made.
    #[track_caller]
    pub fn get(this: &Self) -> Option<&T> {
        if rt::inside() {
            if this.latch.look() { this.inside.get() } else { None }
        } else {
            this.outside.get()
        }
    }

    /// The value to change, if it has been made.
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        if rt::inside() { this.inside.get_mut() } else { this.outside.get_mut() }
    }
}

impl<T, F: Fn() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        Self::force(self)
    }
}

impl<T, F> Named for LazyLock<T, F> {
    fn named(mut self, name: &'static str) -> Self {
        self.latch.set_name(name);
        self
    }
}

impl<T: Default> Default for LazyLock<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without a step: only a person sees it.
        let value = if rt::inside() { self.inside.get() } else { self.outside.get() };
        let mut tuple = f.debug_tuple("LazyLock");
        match value {
            Some(value) => tuple.field(value),
            None => tuple.field(&format_args!("<uninit>")),
        };
        tuple.finish()
    }
}

impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}
