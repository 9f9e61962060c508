//! A value that is made at its first use.
#![expect(unsafe_code, reason = "function pointers are recognised by their type and then copied")]

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::ptr;
use std::sync::{self, PoisonError};

use raddle_engine::per_execution::PerExecution;
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

/// Like [`std::sync::LazyLock`]. A static begins anew in each execution: its function runs once in
/// each, and once outside.
///
/// That takes a function that can be called again, and those of statics can: their type has to be
/// written down, and is nearly always the default, `fn() -> T`. Any other closure is called once in the
/// life of its `LazyLock`, as in std: one that is made inside the test, as most are, notices no
/// difference. If the closure was called outside all executions, its value is seen in them; one
/// that was called in an earlier execution is refused.
///
/// A static keeps the values of all executions, since references to them may be `'static`.
///
/// ```
/// use raddle_threads::sync::LazyLock;
///
/// static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| vec!["warp", "weft"]);
/// let owned = String::from("selvedge");
/// let consumes = LazyLock::new(move || owned.into_bytes());
/// assert_eq!((WORDS.len(), consumes.len()), (2, 8));
/// ```
pub struct LazyLock<T, F = fn() -> T> {
    latch: Latch<LazyLockKind>,
    /// Invariant: set before `latch` is done, and only by the task that `latch` lets through.
    inside: PerExecution<T>,
    /// Outside, who may make the value: unlike `outside` it remembers a panic.
    once: sync::Once,
    outside: sync::OnceLock<T>,
    /// Makes the value. None once it has been called, unless it can be called again.
    init: sync::Mutex<Option<F>>,
}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// A value that `f` will make.
    #[must_use]
    #[track_caller]
    pub const fn new(f: F) -> Self {
        Self {
            latch: Latch::new(),
            inside: PerExecution::new(),
            once: sync::Once::new(),
            outside: sync::OnceLock::new(),
            init: sync::Mutex::new(Some(f)),
        }
    }

    /// The value, made now if it has not been.
    ///
    /// # Panics
    /// If the closure panics or has panicked, as in std. If it was called in an earlier execution and
    /// is not a function pointer.
    #[track_caller]
    pub fn force(this: &Self) -> &T {
        if !rt::inside() {
            this.once.call_once_force(|state| {
                if state.is_poisoned() {
                    poisoned(LazyLockKind::NAME);
                }
                let new = this.outside.set(this.make());
                assert!(new.is_ok(), "a call that completed is not repeated");
            });
            return this.outside.get().expect("the value is set before the call completes");
        }
        if let Some(value) = this.made_for_all() {
            return value;
        }
        this.latch.run(false, |_| {
            this.inside.set(this.make());
        });
        this.inside.get().expect("the value is set before the latch is done")
    }

    /// The value to change, made now if it has not been.
    ///
    /// # Panics
    /// As [`force`](Self::force).
    #[track_caller]
    pub fn force_mut(this: &mut Self) -> &mut T {
        Self::force(this);
        Self::get_mut(this).expect("it has just been made")
    }

    /// Calls the closure.
    #[track_caller]
    fn make(&self) -> T {
        // Not held while the closure runs, which may do anything.
        let init = {
            let mut init = self.init.lock().unwrap_or_else(PoisonError::into_inner);
            copied_if_fn::<T, F>(init.as_ref()).or_else(|| init.take())
        };
        match init {
            Some(init) => init(),
            None => called_before(self.latch.created()),
        }
    }
}

impl<T, F> LazyLock<T, F> {
    /// The value, if it has been made.
    #[must_use]
    #[track_caller]
    pub fn get(this: &Self) -> Option<&T> {
        if !rt::inside() {
            return this.outside.get();
        }
        let made = this.made_for_all();
        made.or_else(|| if this.latch.look() { this.inside.get() } else { None })
    }

    /// The value to change, if it has been made.
    #[must_use]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        if rt::inside() && this.made_for_all().is_none() {
            this.inside.get_mut()
        } else {
            this.outside.get_mut()
        }
    }

    /// The value that was made outside all executions by a closure that cannot be called again, and
    /// so is that of executions too: made before them, like whatever a test captures.
    fn made_for_all(&self) -> Option<&T> {
        self.outside.get().filter(|_| !is_fn_pointer::<T, F>())
    }

    /// The value, without a step: for what only a person sees.
    fn peek(&self) -> Option<&T> {
        if rt::inside() {
            self.made_for_all().or_else(|| self.inside.get())
        } else {
            self.outside.get()
        }
    }
}

/// The function that makes a value of a static, again: it stays where it is for the next execution.
///
/// What `FnOnce` consumes cannot be called twice, and what a type's bits allow is not known without
/// `Copy`: even a closure that has no destructor may own a `&mut`, or a token of which there must be
/// only one. So this is for function pointers alone, which are `Copy`. Statics lose nothing by that: the
/// type of a static must be written, and that of a closure cannot be.
fn copied_if_fn<T, F>(init: Option<&F>) -> Option<F> {
    let init = init.filter(|_| is_fn_pointer::<T, F>())?;
    // SAFETY: `F` is a function pointer, so it is `Copy`.
    Some(unsafe { ptr::read(init) })
}

/// Whether `F` is `fn() -> T`, whatever lifetimes the two types have.
fn is_fn_pointer<T, F>() -> bool {
    id_without_lifetimes::<F>() == id_without_lifetimes::<fn() -> T>()
}

/// The identity of a type that may have lifetimes, with all of these taken for `'static`.
fn id_without_lifetimes<A>() -> TypeId {
    trait Identity {
        fn id(&self) -> TypeId
        where
            Self: 'static;
    }

    impl<A> Identity for PhantomData<A> {
        fn id(&self) -> TypeId
        where
            Self: 'static,
        {
            TypeId::of::<A>()
        }
    }

    let marker = PhantomData::<A>;
    let marker: &dyn Identity = &marker;
    // SAFETY: only a lifetime changes, on a reference that is used at once. `id` may rely on `A` being
    // `'static`, and does nothing with it but ask for its identity, which knows no lifetimes.
    let marker: &(dyn Identity + 'static) = unsafe { std::mem::transmute(marker) };
    marker.id()
}

#[cold]
#[track_caller]
fn called_before(created: &Location<'_>) -> ! {
    panic!(
        "raddle: the closure of the LazyLock created at {created} has been called, in another execution or \
         outside, and cannot be called again. Create the LazyLock inside the closure that raddle \
         runs, or make it a static of type LazyLock<T>: function pointers are called in each execution"
    );
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        Self::force(self)
    }
}

impl<T, F: FnOnce() -> T> DerefMut for LazyLock<T, F> {
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        Self::force_mut(self)
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
        let mut tuple = f.debug_tuple("LazyLock");
        match self.peek() {
            Some(value) => tuple.field(value),
            None => tuple.field(&format_args!("<uninit>")),
        };
        tuple.finish()
    }
}

impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}

#[cfg(test)]
mod tests {
    use super::*;

    struct Borrowing<'a>(PhantomData<&'a ()>);

    fn borrowing<'a>() -> Borrowing<'a> {
        Borrowing(PhantomData)
    }

    fn of<T, F: FnOnce() -> T>(_: F) -> bool {
        is_fn_pointer::<T, F>()
    }

    fn of_lifetime<'a>(_: &'a str) -> bool {
        of::<Borrowing<'a>, fn() -> Borrowing<'a>>(borrowing)
    }

    #[test]
    fn function_pointers_are_recognised_and_nothing_else_is() {
        assert!(of::<u8, fn() -> u8>(|| 1));
        assert!(of::<&str, fn() -> &'static str>(|| "a"));
        assert!(of_lifetime("a"));
        assert!(!of(|| 1));
        assert!(!of(borrowing));
        assert!(!of(Box::new(|| 1) as Box<dyn FnOnce() -> i32>));
        let pointer: &fn() -> u8 = &((|| 1) as fn() -> u8);
        assert!(!of(pointer));
    }
}
