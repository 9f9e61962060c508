//! Reference counts under control, for programs that look at counts, race to upgrade, or do something
//! in the destructor of what they share.
//!
//! [`crate::sync::Arc`] and [`crate::sync::Weak`] are std's own: only those coerce to
//! `Arc<dyn Trait>` and can be the type of `self`, and most programs only share by them. Take the types
//! here where it matters *who drops last*, *whether an upgrade succeeds* or *what a count says*: of std's,
//! raddle sees none of that, so it does not try the other orders, and a reduction may leave them out.
//! They have all of std's API, raw pointers too, but they do not coerce and cannot be the type of `self` (so a `Waker`
//! is not made of them): [`unsize`] and [`from_std`] make `Arc<dyn Trait>` in so many words.
//!
//! Every operation on a count is a step. Clones, and what is done to weak handles, depend on nothing but
//! looks at counts. Drops depend on drops, since only their order decides who drops last, and on upgrades
//! that succeed. Looks (`strong_count`, `get_mut`, `try_unwrap`, an upgrade that fails) depend on all that
//! change counts. What is released by drops is acquired by the last one, as in std.
//!
//! One point is left out: an operation that owns the only handle there ever was, strong or weak. No other
//! task has seen the count then, or could have. So all orders of what can be seen of counts are explored.
//!
//! Values that are never dropped: [`LeakCheck`], which a test asks for.
//!
//! Misses: values that `strong_count` could show with relaxed atomics, as everywhere.
//!
//! # Why: `Arc` and `Weak` are std's
//! An own type could not coerce to `Arc<dyn Trait>` on stable Rust. `sync::counted` has counts that are steps. Of std's
//! counts one thing is seen: a destructor that the last owner runs is after what the other owners did. Where a race is
//! suspected the stack is looked at for `Arc::drop_slow` (`context/last_drop.rs`); `cell.rs` has what that misses.
#![expect(unsafe_code, reason = "raw pointers to values, as std's handles have them")]

use std::any::Any;
use std::borrow::{Borrow, Cow};
use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Deref;
#[cfg(unix)]
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync;
use std::sync::atomic::{AtomicUsize, Ordering};

use raddle_engine::cell::CountedDrop;
use raddle_engine::{at_fork, rt};

use crate::Named;
use crate::prelude::*;

/// How many handles there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    strong: usize,
    weak: usize,
    /// There has been a second handle.
    shared: bool,
}

#[derive(Clone, Copy, Debug)]
enum CountOp {
    Clone,
    Drop,
    Downgrade,
    CloneWeak,
    DropWeak,
    Upgrade,
    StrongCount,
    WeakCount,
    GetMut,
    TryUnwrap,
    IntoInner,
    MakeMut,
    /// A value that had weak handles before it existed, one of them its maker's, exists.
    Born,
}

impl Counts {
    const fn new() -> Self {
        Self { strong: 1, weak: 0, shared: false }
    }

    fn is_unique(self) -> bool {
        self.strong == 1 && self.weak == 0
    }
}

impl Model for Counts {
    type Op = CountOp;
    /// The counts before the op.
    type Reply = Counts;
    const KIND: &'static str = "Arc";
    const BLOCKS: bool = false;

    // Overreports: attempts that fail depend on clones, which cannot change that they do.
    fn access(&self, _: TaskId, op: CountOp) -> Access {
        let (changes, how) = match op {
            CountOp::Clone | CountOp::Downgrade | CountOp::CloneWeak | CountOp::DropWeak => {
                (true, Access::Adjust)
            }
            CountOp::Drop | CountOp::IntoInner => (true, Access::Lower),
            CountOp::Upgrade => (self.strong > 0, Access::TryRaise),
            CountOp::TryUnwrap => (self.strong == 1, Access::Write),
            CountOp::MakeMut => (self.strong == 1 && self.weak > 0, Access::Write),
            CountOp::Born => (true, Access::Write),
            CountOp::StrongCount | CountOp::WeakCount | CountOp::GetMut => (true, Access::Read),
        };
        if changes { how } else { Access::FailedUpdate }
    }

    // As the orderings of std's counts have it: drops release, and a holder that finds itself alone
    // acquires; clones and looks do neither. In std a downgrade also acquires what a weak handle's drop
    // before it released. But it may always come before that drop, without any difference that could be
    // seen, so nothing can rely on it.
    fn synchronise(&self, _: TaskId, op: CountOp, _: u32, edges: &mut Edges<'_>) {
        const STRONG: u32 = 0;
        const WEAK: u32 = 1;
        let last = self.strong == 1;
        match op {
            CountOp::Drop | CountOp::IntoInner => {
                edges.release(STRONG);
                if last {
                    edges.acquire(STRONG);
                }
            }
            CountOp::TryUnwrap | CountOp::MakeMut if last => edges.acquire(STRONG),
            CountOp::Upgrade if self.strong > 0 => edges.acquire(STRONG),
            CountOp::GetMut if self.is_unique() => {
                edges.acquire(STRONG);
                edges.acquire(WEAK);
            }
            CountOp::Born => edges.release(STRONG),
            CountOp::DropWeak => edges.release(WEAK),
            _ => {}
        }
    }

    fn apply(&mut self, task: TaskId, op: CountOp, _: u32) -> Counts {
        let before = *self;
        if self.access(task, op).changes() {
            match op {
                CountOp::Clone | CountOp::Upgrade => self.strong += 1,
                CountOp::Drop | CountOp::TryUnwrap | CountOp::IntoInner | CountOp::MakeMut => {
                    self.strong -= 1;
                }
                CountOp::Downgrade | CountOp::CloneWeak => self.weak += 1,
                CountOp::DropWeak => self.weak -= 1,
                CountOp::Born => {
                    self.strong = 1;
                    self.weak -= 1;
                }
                CountOp::StrongCount | CountOp::WeakCount | CountOp::GetMut => {}
            }
        }
        self.shared |= self.strong + self.weak > 1;
        before
    }

    // The counts stay: they are those of handles that are still there.
    fn reset(&mut self) {}

    fn show(op: CountOp, before: Option<&Counts>) -> String {
        let (name, says) = match op {
            CountOp::Clone | CountOp::CloneWeak => return "clone".to_owned(),
            CountOp::Drop if before.is_some_and(|counts| counts.strong == 1) => {
                return "drop the last".to_owned();
            }
            CountOp::Drop | CountOp::DropWeak => return "drop".to_owned(),
            CountOp::Downgrade => return "downgrade".to_owned(),
            CountOp::Born => return "new_cyclic".to_owned(),
            CountOp::StrongCount => ("strong_count", before.map(|c| c.strong.to_string())),
            CountOp::WeakCount => ("weak_count", before.map(|c| c.weak.to_string())),
            CountOp::Upgrade => ("upgrade", before.map(|c| some(c.strong > 0))),
            CountOp::GetMut => ("get_mut", before.map(|c| some(c.is_unique()))),
            CountOp::IntoInner => ("into_inner", before.map(|c| some(c.strong == 1))),
            CountOp::TryUnwrap => {
                ("try_unwrap", before.map(|c| if c.strong == 1 { "Ok" } else { "Err" }.to_owned()))
            }
            CountOp::MakeMut => ("make_mut", None),
        };
        says.map_or_else(|| name.to_owned(), |says| format!("{name} -> {says}"))
    }
}

fn some(is: bool) -> String {
    if is { "Some" } else { "None" }.to_owned()
}

/// What the real count says too, since it changes in the same step as the model's.
fn agreed<T>(value: Option<T>) -> T {
    value.expect("engine bug: a model's count is not the real one")
}

/// What the handles to one value share.
struct Shared {
    /// Invariant: agrees with the real counts whenever a task of an execution can move.
    counts: Object<Counts>,
    /// Where the value is, once a raw pointer to it was taken; else 0.
    pointed: AtomicUsize,
    /// The execution in which it was made, if that is checked for leaks.
    checked: Option<u64>,
}

/// By where a value is: what the handles to it share.
static POINTED: sync::Mutex<BTreeMap<usize, Pointer>> = sync::Mutex::new(BTreeMap::new());

#[derive(Clone, Copy)]
struct Pointer(*const Shared);

// SAFETY: what it points to is `Sync`, and `Send` too.
unsafe impl Send for Pointer {}

/// What is made in the executions that are checked for leaks, by execution and by address.
static CHECKED: sync::Mutex<BTreeMap<u64, BTreeMap<usize, Pointer>>> =
    sync::Mutex::new(BTreeMap::new());
/// How many those are.
static N_CHECKED: AtomicUsize = AtomicUsize::new(0);

fn checked() -> at_fork::Locked<BTreeMap<u64, BTreeMap<usize, Pointer>>> {
    at_fork::lock(&CHECKED)
}

impl Shared {
    #[track_caller]
    fn new(counts: Counts) -> sync::Arc<Self> {
        let epoch = rt::epoch().filter(|_| N_CHECKED.load(Ordering::Relaxed) > 0);
        let epoch = epoch.filter(|epoch| checked().contains_key(epoch));
        let (counts, pointed) = (Object::new(counts), AtomicUsize::new(0));
        let shared = sync::Arc::new(Self { counts, pointed, checked: epoch });
        if let Some(epoch) = epoch
            && let Some(made) = checked().get_mut(&epoch)
        {
            let own = sync::Arc::as_ptr(&shared);
            made.insert(own.addr(), Pointer(own));
        }
        shared
    }

    /// A raw pointer to the value, which is there, is about to be handed out.
    fn point(self: &sync::Arc<Self>, value: *const ()) {
        if self.pointed.load(Ordering::Relaxed) == 0 {
            let mut pointed = at_fork::lock(&POINTED);
            pointed.insert(value.addr(), Pointer(sync::Arc::as_ptr(self)));
            self.pointed.store(value.addr(), Ordering::Relaxed);
        }
    }

    /// What the handles to the value at this place share.
    fn at(value: *const ()) -> Option<*const Self> {
        let pointed = at_fork::lock(&POINTED);
        pointed.get(&value.addr()).map(|pointer| pointer.0)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let own = std::ptr::from_ref(self);
        let pointed = *self.pointed.get_mut();
        if pointed != 0 {
            let mut known = at_fork::lock(&POINTED);
            // The value went first, so another one may be there by now.
            if known.get(&pointed).is_some_and(|pointer| std::ptr::eq(pointer.0, own)) {
                known.remove(&pointed);
            }
        }
        if let Some(epoch) = self.checked
            && let Some(made) = checked().get_mut(&epoch)
        {
            made.remove(&own.addr());
        }
    }
}

/// Looks for values that are never dropped: those of every [`Arc`] that is made while it lives.
///
/// loom does so in every test; here a test asks for it, since a test may leak on purpose. Of std's `Arc` nothing is
/// known.
///
/// ```
/// use raddle_threads::sync::counted::{Arc, LeakCheck};
///
/// let check = LeakCheck::new();
/// drop(Arc::new(1));
/// check.finish();
/// ```
#[derive(Debug)]
pub struct LeakCheck {
    epoch: Option<u64>,
}

impl LeakCheck {
    /// Begins to look for leaks in this execution. A second one forgets what the first has seen. Outside an execution
    /// nothing is looked for.
    #[expect(clippy::new_without_default, reason = "to begin is an act, not a value")]
    #[must_use = "ask with `finish`"]
    pub fn new() -> Self {
        let epoch = rt::epoch();
        if let Some(epoch) = epoch
            && checked().insert(epoch, BTreeMap::new()).is_none()
        {
            N_CHECKED.fetch_add(1, Ordering::Relaxed);
        }
        Self { epoch }
    }

    /// All that was made must be gone. To be called at the end of a test, after its threads were joined: a
    /// thread that still runs still has its handles.
    ///
    /// # Panics
    /// If there are values left, with where each was made.
    #[track_caller]
    pub fn finish(self) {
        let left: Vec<String> = self.left().iter().map(ToString::to_string).collect();
        let n = left.len();
        assert!(n == 0, "raddle: {n} leaked: the value of an Arc made at {}", left.join(", at "));
    }

    /// Where the values were made that are not gone yet.
    #[must_use]
    pub fn left(&self) -> Vec<&'static Location<'static>> {
        let mut left = Vec::new();
        let checked = checked();
        for pointer in self.epoch.and_then(|epoch| checked.get(&epoch)).into_iter().flatten() {
            // SAFETY: it takes itself off the list before it goes, which waits for the lock.
            let shared = unsafe { &*pointer.1.0 };
            if shared.counts.peek(|counts| counts.strong > 0) {
                left.push(shared.counts.created());
            }
        }
        left.sort_unstable();
        left
    }
}

impl Drop for LeakCheck {
    fn drop(&mut self) {
        if let Some(epoch) = self.epoch
            && checked().remove(&epoch).is_some()
        {
            N_CHECKED.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Like [`std::sync::Arc`], with a count under control. Does not coerce to an unsized type ([`unsize`],
/// [`from_std`]), and cannot be the type of `self`.
///
/// ```
/// use raddle_threads::sync::counted::Arc;
///
/// let one = Arc::new(5);
/// let two = Arc::clone(&one);
/// assert_eq!((*two, Arc::strong_count(&one)), (5, 2));
/// ```
pub struct Arc<T: ?Sized> {
    /// None only once the handle has been used up.
    value: Option<sync::Arc<T>>,
    shared: sync::Arc<Shared>,
}

/// Like [`std::sync::Weak`], with a count under control.
///
/// ```
/// use raddle_threads::sync::counted::Arc;
///
/// let strong = Arc::new(5);
/// let weak = Arc::downgrade(&strong);
/// assert_eq!(weak.upgrade().as_deref(), Some(&5));
/// drop(strong);
/// assert!(weak.upgrade().is_none());
/// ```
pub struct Weak<T: ?Sized> {
    value: sync::Weak<T>,
    /// None: there never was a value, or the handle has been used up.
    shared: Option<sync::Arc<Shared>>,
}

/// A handle under control from the only handle of std's: the way to `Arc<dyn Trait>` from a new value.
///
/// ```
/// use raddle_threads::sync::counted;
///
/// let shown: std::sync::Arc<dyn ToString> = std::sync::Arc::new(5);
/// assert_eq!(counted::from_std(shown).to_string(), "5");
/// ```
///
/// # Panics
/// If there are other handles, strong or weak.
#[track_caller]
pub fn from_std<T: ?Sized>(arc: sync::Arc<T>) -> Arc<T> {
    Arc::from_std(arc)
}

/// The same handle, with another type: the way to `Arc<dyn Trait>` from an `Arc` that is there. std's handle
/// is lent to the closure, which only lets it coerce.
///
/// ```
/// use raddle_threads::sync::counted::{self, Arc};
///
/// let number = Arc::new(5);
/// let shown = counted::unsize(number.clone(), |arc| arc as std::sync::Arc<dyn ToString>);
/// assert_eq!((shown.to_string().as_str(), Arc::strong_count(&number)), ("5", 2));
/// ```
///
/// # Panics
/// If the closure returns another handle.
#[track_caller]
pub fn unsize<T: ?Sized, U: ?Sized>(
    mut arc: Arc<T>,
    coerce: impl FnOnce(sync::Arc<T>) -> sync::Arc<U>,
) -> Arc<U> {
    let value = arc.spend();
    let before = sync::Arc::as_ptr(&value).cast::<()>();
    let value = coerce(value);
    let after = sync::Arc::as_ptr(&value).cast::<()>();
    assert!(before == after, "raddle: what unsize is to return is the handle that it lends");
    Arc { value: Some(value), shared: sync::Arc::clone(&arc.shared) }
}

impl<T> Arc<T> {
    /// The first handle to a value.
    #[must_use]
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self::of(sync::Arc::new(value))
    }

    /// The first handle to a value that is still to be written.
    #[must_use]
    #[track_caller]
    pub fn new_uninit() -> Arc<MaybeUninit<T>> {
        Arc::of(sync::Arc::new_uninit())
    }

    /// The first handle to a value that is still to be written, in memory that is all zeros.
    #[must_use]
    #[track_caller]
    pub fn new_zeroed() -> Arc<MaybeUninit<T>> {
        // `new_zeroed` of std needs Rust 1.92.
        Arc::of(sync::Arc::new(MaybeUninit::zeroed()))
    }

    /// The first handle to a value that does not move.
    #[must_use]
    #[track_caller]
    pub fn pin(value: T) -> Pin<Self> {
        // SAFETY: the value is on the heap and stays there. `&mut` to it takes an `Arc` that is not pinned, as of std's.
        unsafe { Pin::new_unchecked(Self::new(value)) }
    }

    /// A value that has weak handles to itself. Its birth is a step: before it they do not upgrade.
    #[track_caller]
    pub fn new_cyclic<F>(data_fn: F) -> Self
    where
        F: FnOnce(&Weak<T>) -> T,
    {
        let shared = Shared::new(Counts { strong: 0, weak: 1, shared: true });
        let mut own = None;
        let value = sync::Arc::new_cyclic(|weak| {
            let weak = Weak { value: weak.clone(), shared: Some(sync::Arc::clone(&shared)) };
            let value = data_fn(&weak);
            own = Some(weak);
            value
        });
        shared.counts.step(CountOp::Born);
        // Its end is part of the birth.
        if let Some(mut own) = own {
            own.shared = None;
        }
        Self { value: Some(value), shared }
    }

    /// The value, if this is the only strong handle.
    ///
    /// # Errors
    /// The handle, if it is not.
    #[track_caller]
    pub fn try_unwrap(mut this: Self) -> Result<T, Self> {
        if rt::inside() {
            if this.is_private() || this.shared.counts.step(CountOp::TryUnwrap).strong == 1 {
                Ok(agreed(sync::Arc::into_inner(this.spend())))
            } else {
                Err(this)
            }
        } else {
            match sync::Arc::try_unwrap(this.spend()) {
                Ok(value) => {
                    this.shared.counts.step(CountOp::Drop);
                    Ok(value)
                }
                Err(value) => {
                    this.value = Some(value);
                    Err(this)
                }
            }
        }
    }

    /// Gives the handle up, and returns the value if it was the last.
    #[must_use]
    #[track_caller]
    pub fn into_inner(mut this: Self) -> Option<T> {
        if !this.is_private() {
            this.shared.counts.step(CountOp::IntoInner);
        }
        sync::Arc::into_inner(this.spend())
    }

    /// The value if this is the only strong handle, or else a clone of it.
    #[expect(clippy::must_use_candidate, reason = "std's is not")]
    #[track_caller]
    pub fn unwrap_or_clone(this: Self) -> T
    where
        T: Clone,
    {
        Self::try_unwrap(this).unwrap_or_else(|shared| (*shared).clone())
    }
}

impl<T> Arc<MaybeUninit<T>> {
    /// The same handle, once the value has been written.
    ///
    /// ```
    /// use raddle_threads::sync::counted::Arc;
    ///
    /// let mut five = Arc::<u32>::new_uninit();
    /// Arc::get_mut(&mut five).unwrap().write(5);
    /// // SAFETY: it was written.
    /// assert_eq!(*unsafe { five.assume_init() }, 5);
    /// ```
    ///
    /// # Safety
    /// As of [`std::sync::Arc::assume_init`].
    #[must_use = "`self` will be dropped if the result is not used"]
    pub unsafe fn assume_init(mut self) -> Arc<T> {
        // SAFETY: by contract.
        let value = unsafe { self.spend().assume_init() };
        Arc { value: Some(value), shared: sync::Arc::clone(&self.shared) }
    }
}

impl<T> Arc<[T]> {
    /// The first handle to values that are still to be written.
    #[must_use]
    #[track_caller]
    pub fn new_uninit_slice(len: usize) -> Arc<[MaybeUninit<T>]> {
        Arc::of(sync::Arc::new_uninit_slice(len))
    }

    /// The first handle to values that are still to be written, in memory that is all zeros.
    #[must_use]
    #[track_caller]
    pub fn new_zeroed_slice(len: usize) -> Arc<[MaybeUninit<T>]> {
        Arc::of((0..len).map(|_| MaybeUninit::zeroed()).collect())
    }
}

impl<T> Arc<[MaybeUninit<T>]> {
    /// The same handle, once all values have been written.
    ///
    /// # Safety
    /// As of [`std::sync::Arc::assume_init`].
    #[must_use = "`self` will be dropped if the result is not used"]
    pub unsafe fn assume_init(mut self) -> Arc<[T]> {
        // SAFETY: by contract.
        let value = unsafe { self.spend().assume_init() };
        Arc { value: Some(value), shared: sync::Arc::clone(&self.shared) }
    }
}

/// What [`Arc::make_mut`] can copy: every `Clone`, and what std can copy though it has no size.
pub trait MakeMut {
    /// A copy of the value, in a handle of its own.
    fn copied(&self) -> sync::Arc<Self>;

    /// The value of the only strong handle: weak handles lose it.
    fn alone(arc: &mut sync::Arc<Self>) -> &mut Self;
}

impl<T: Clone> MakeMut for T {
    fn copied(&self) -> sync::Arc<Self> {
        sync::Arc::new(self.clone())
    }

    fn alone(arc: &mut sync::Arc<Self>) -> &mut Self {
        sync::Arc::make_mut(arc)
    }
}

macro_rules! make_mut {
    ($(($($t:ident)?) $of:ty,)*) => {$(
        impl$(<$t: Clone>)? MakeMut for $of {
            fn copied(&self) -> sync::Arc<Self> {
                self.into()
            }

            fn alone(arc: &mut sync::Arc<Self>) -> &mut Self {
                sync::Arc::make_mut(arc)
            }
        }
    )*};
}
make_mut!((T) [T], () str, () CStr, () OsStr, () Path,);

impl<T: MakeMut + ?Sized> Arc<T> {
    /// The value to change; a clone of it if there are other strong handles. Weak handles lose it.
    #[track_caller]
    pub fn make_mut(this: &mut Self) -> &mut T {
        if rt::inside() {
            let counts = if this.is_private() {
                Counts::new()
            } else {
                this.shared.counts.step(CountOp::MakeMut)
            };
            if counts.strong > 1 {
                *this = Self::of((**this).copied());
            } else if counts.weak > 0 {
                // The step has dropped this handle's count with the value.
                let mut value = this.spend();
                T::alone(&mut value);
                *this = Self::of(value);
            }
        } else if Self::get_mut(this).is_none() {
            let mut value = this.spend();
            if sync::Arc::strong_count(&value) == 1 {
                this.shared.counts.step(CountOp::Drop);
                T::alone(&mut value);
                *this = Self::of(value);
            } else {
                this.value = Some(value);
                *this = Self::of((**this).copied());
            }
        }
        agreed(this.value.as_mut().and_then(sync::Arc::get_mut))
    }
}

impl<T: ?Sized> Arc<T> {
    #[track_caller]
    fn of(value: sync::Arc<T>) -> Self {
        Self { value: Some(value), shared: Shared::new(Counts::new()) }
    }

    /// See [`from_std`]. loom's name for it.
    ///
    /// # Panics
    /// If there are other handles, strong or weak.
    #[must_use]
    #[track_caller]
    pub fn from_std(mut arc: sync::Arc<T>) -> Self {
        let unique = sync::Arc::get_mut(&mut arc).is_some();
        assert!(unique, "raddle: only the handle of std's that is the only one can be taken over");
        Self::of(arc)
    }

    /// How many strong handles there are.
    #[must_use]
    #[track_caller]
    pub fn strong_count(this: &Self) -> usize {
        if rt::inside() {
            this.shared.counts.step(CountOp::StrongCount).strong
        } else {
            sync::Arc::strong_count(this.real())
        }
    }

    /// How many weak handles there are.
    #[must_use]
    #[track_caller]
    pub fn weak_count(this: &Self) -> usize {
        if rt::inside() {
            this.shared.counts.step(CountOp::WeakCount).weak
        } else {
            sync::Arc::weak_count(this.real())
        }
    }

    /// A weak handle to the value.
    #[must_use = "this returns a new `Weak` pointer, without modifying the original `Arc`"]
    #[track_caller]
    pub fn downgrade(this: &Self) -> Weak<T> {
        this.shared.counts.step(CountOp::Downgrade);
        let value = sync::Arc::downgrade(this.real());
        Weak { value, shared: Some(sync::Arc::clone(&this.shared)) }
    }

    /// The value to change, if this is the only handle.
    #[track_caller]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        let unique = !rt::inside()
            || this.is_private()
            || this.shared.counts.step(CountOp::GetMut).is_unique();
        if unique { sync::Arc::get_mut(this.value.as_mut()?) } else { None }
    }

    /// Whether two handles are to the same value.
    #[must_use]
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        sync::Arc::ptr_eq(this.real(), other.real())
    }

    /// Where the value is.
    #[must_use]
    pub fn as_ptr(this: &Self) -> *const T {
        let pointer = sync::Arc::as_ptr(this.real());
        this.shared.point(pointer.cast());
        pointer
    }

    /// Gives the handle up for a pointer, without a step: the count stays as it is.
    ///
    /// ```
    /// use raddle_threads::sync::counted::Arc;
    ///
    /// let pointer = Arc::into_raw(Arc::new(5));
    /// // SAFETY: it comes from `into_raw`, and is used once.
    /// let handle = unsafe { Arc::from_raw(pointer) };
    /// assert_eq!((*handle, Arc::strong_count(&handle)), (5, 1));
    /// ```
    #[must_use = "losing the pointer will leak memory"]
    pub fn into_raw(this: Self) -> *const T {
        Self::as_ptr(&ManuallyDrop::new(this))
    }

    /// The handle that was given up for a pointer, without a step.
    ///
    /// # Safety
    /// As of [`std::sync::Arc::from_raw`]; the pointer comes from [`into_raw`](Self::into_raw) or
    /// [`as_ptr`](Self::as_ptr) of a handle of this type.
    ///
    /// # Panics
    /// If no pointer was taken of a value at this place.
    #[must_use]
    #[track_caller]
    pub unsafe fn from_raw(ptr: *const T) -> Self {
        let Some(shared) = Shared::at(ptr.cast()) else {
            panic!(
                "raddle: no handle of counted::Arc is known for this pointer: take it by into_raw or \
                 as_ptr"
            )
        };
        // SAFETY: the handle that was given up has left its part of both, by contract.
        unsafe {
            Self { value: Some(sync::Arc::from_raw(ptr)), shared: sync::Arc::from_raw(shared) }
        }
    }

    /// Adds a handle to a value of which only a pointer is known: a clone.
    ///
    /// # Safety
    /// As of [`std::sync::Arc::increment_strong_count`]; see [`from_raw`](Self::from_raw).
    #[track_caller]
    pub unsafe fn increment_strong_count(ptr: *const T) {
        // SAFETY: by contract; the handle that stays where it is is not dropped here.
        let handle = ManuallyDrop::new(unsafe { Self::from_raw(ptr) });
        let _one_more = ManuallyDrop::new(Self::clone(&handle));
    }

    /// Drops a handle to a value of which only a pointer is known.
    ///
    /// # Safety
    /// As of [`std::sync::Arc::decrement_strong_count`]; see [`from_raw`](Self::from_raw).
    #[track_caller]
    pub unsafe fn decrement_strong_count(ptr: *const T) {
        // SAFETY: by contract.
        drop(unsafe { Self::from_raw(ptr) });
    }

    fn real(&self) -> &sync::Arc<T> {
        self.value.as_ref().expect("a live handle has its value")
    }

    fn spend(&mut self) -> sync::Arc<T> {
        self.value.take().expect("a live handle has its value")
    }

    /// Whether there never was another handle: not a scheduling point, see the header. The caller
    /// has it by value or by `&mut`, or else others could use it too.
    ///
    /// To be the only handle that is left would not do: that it is depends on when the others
    /// were dropped.
    fn is_private(&mut self) -> bool {
        rt::inside() && self.shared.counts.peek(|counts| !counts.shared)
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    #[track_caller]
    fn drop(&mut self) {
        if self.value.is_some() {
            let is_last = self.is_private() || {
                let counts = &self.shared.counts;
                counts.step_at(CountOp::Drop, counts.created()).strong == 1
            };
            // By the last handle, in the same step.
            let _counted = is_last.then(CountedDrop::begin);
            drop(self.value.take());
        }
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        self.shared.counts.step(CountOp::Clone);
        Self { value: Some(sync::Arc::clone(self.real())), shared: sync::Arc::clone(&self.shared) }
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.real()
    }
}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: Default> Default for Arc<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for Arc<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized> From<Box<T>> for Arc<T> {
    #[track_caller]
    fn from(value: Box<T>) -> Self {
        Self::of(value.into())
    }
}

macro_rules! from {
    ($(($($t:ident $(: $bound:ident)?)?) $of:ty => $what:ty,)*) => {$(
        impl$(<$t $(: $bound)?>)? From<$of> for Arc<$what> {
            #[track_caller]
            fn from(value: $of) -> Self {
                Self::of(value.into())
            }
        }
    )*};
}
from! {
    () &str => str,
    () &mut str => str,
    () String => str,
    () &CStr => CStr,
    () &mut CStr => CStr,
    () CString => CStr,
    () &OsStr => OsStr,
    () &mut OsStr => OsStr,
    () OsString => OsStr,
    () &Path => Path,
    () &mut Path => Path,
    () PathBuf => Path,
    (T: Clone) &[T] => [T],
    (T: Clone) &mut [T] => [T],
    (T) Vec<T> => [T],
}

macro_rules! default {
    ($(($($t:ident)?) $of:ty,)*) => {$(
        impl$(<$t>)? Default for Arc<$of> {
            #[track_caller]
            fn default() -> Self {
                Self::of(sync::Arc::default())
            }
        }
    )*};
}
default!(() str, () CStr, (T) [T],);

impl From<Arc<str>> for Arc<[u8]> {
    fn from(mut arc: Arc<str>) -> Self {
        Self { value: Some(arc.spend().into()), shared: sync::Arc::clone(&arc.shared) }
    }
}

impl<T, const N: usize> TryFrom<Arc<[T]>> for Arc<[T; N]> {
    type Error = Arc<[T]>;

    fn try_from(mut arc: Arc<[T]>) -> Result<Self, Self::Error> {
        match arc.spend().try_into() {
            Ok(value) => Ok(Self { value: Some(value), shared: sync::Arc::clone(&arc.shared) }),
            Err(value) => {
                arc.value = Some(value);
                Err(arc)
            }
        }
    }
}

impl<T, const N: usize> From<[T; N]> for Arc<[T]> {
    #[track_caller]
    fn from(value: [T; N]) -> Self {
        Self::of(value.into())
    }
}

impl<'a, B> From<Cow<'a, B>> for Arc<B>
where
    B: ToOwned + ?Sized,
    Self: From<&'a B> + From<B::Owned>,
{
    #[track_caller]
    fn from(value: Cow<'a, B>) -> Self {
        match value {
            Cow::Borrowed(value) => Self::from(value),
            Cow::Owned(value) => Self::from(value),
        }
    }
}

impl<T> FromIterator<T> for Arc<[T]> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self::of(values.into_iter().collect())
    }
}

impl Arc<dyn Any + Send + Sync> {
    /// The same handle, to a value of this type if it is one.
    ///
    /// # Errors
    /// The handle, if it is not.
    pub fn downcast<T: Any + Send + Sync>(mut self) -> Result<Arc<T>, Self> {
        match self.spend().downcast::<T>() {
            Ok(value) => Ok(Arc { value: Some(value), shared: sync::Arc::clone(&self.shared) }),
            Err(value) => {
                self.value = Some(value);
                Err(self)
            }
        }
    }
}

impl<T: ?Sized + Error> Error for Arc<T> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        (**self).source()
    }
}

impl<T: ?Sized> fmt::Pointer for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(self.real(), f)
    }
}

impl Read for Arc<File> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (&**self).read(buf)
    }
}

impl Write for Arc<File> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        (&**self).write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&**self).flush()
    }
}

impl Seek for Arc<File> {
    fn seek(&mut self, pos: SeekFrom) -> io::Result<u64> {
        (&**self).seek(pos)
    }
}

#[cfg(unix)]
impl<T: AsFd + ?Sized> AsFd for Arc<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        (**self).as_fd()
    }
}

#[cfg(unix)]
impl<T: AsRawFd> AsRawFd for Arc<T> {
    fn as_raw_fd(&self) -> RawFd {
        (**self).as_raw_fd()
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Arc<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for Arc<T> {}

impl<T: ?Sized + PartialOrd> PartialOrd for Arc<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: ?Sized + Ord> Ord for Arc<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: ?Sized + std::hash::Hash> std::hash::Hash for Arc<T> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> Named for Arc<T> {
    /// Only the first handle can give the name: a shared one leaves it as it is.
    fn named(mut self, name: &'static str) -> Self {
        if let Some(shared) = sync::Arc::get_mut(&mut self.shared) {
            shared.counts.set_name(name);
        }
        self
    }
}

impl<T> Weak<T> {
    /// A handle to nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { value: sync::Weak::new(), shared: None }
    }
}

impl<T: ?Sized> Weak<T> {
    /// A strong handle, if the value is still there.
    #[must_use = "this returns a new `Arc`, without modifying the original weak pointer"]
    #[track_caller]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        let shared = self.shared.as_ref()?;
        let value = if rt::inside() {
            let there = shared.counts.step(CountOp::Upgrade).strong > 0;
            there.then(|| agreed(self.value.upgrade()))
        } else {
            let value = self.value.upgrade();
            if value.is_some() {
                shared.counts.step(CountOp::Clone);
            }
            value
        };
        value.map(|value| Arc { value: Some(value), shared: sync::Arc::clone(shared) })
    }

    /// How many strong handles there are.
    #[must_use]
    #[track_caller]
    pub fn strong_count(&self) -> usize {
        match &self.shared {
            Some(shared) if rt::inside() => shared.counts.step(CountOp::StrongCount).strong,
            _ => self.value.strong_count(),
        }
    }

    /// How many weak handles there are, or 0 if the value is gone.
    #[must_use]
    #[track_caller]
    pub fn weak_count(&self) -> usize {
        match &self.shared {
            Some(shared) if rt::inside() => {
                let counts = shared.counts.step(CountOp::WeakCount);
                if counts.strong > 0 { counts.weak } else { 0 }
            }
            _ => self.value.weak_count(),
        }
    }

    /// Whether two handles are to the same value.
    #[must_use]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.value.ptr_eq(&other.value)
    }

    /// Where the value is or was; of a handle to nothing, some place where no value is.
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        let pointer = self.value.as_ptr();
        if let Some(shared) = &self.shared {
            shared.point(pointer.cast());
        }
        pointer
    }

    /// Gives the handle up for a pointer, without a step: the count stays as it is.
    #[must_use = "losing the pointer will leak memory"]
    pub fn into_raw(self) -> *const T {
        ManuallyDrop::new(self).as_ptr()
    }

    /// The handle that was given up for a pointer, without a step.
    ///
    /// # Safety
    /// As of [`std::sync::Weak::from_raw`]; the pointer comes from [`into_raw`](Self::into_raw) or
    /// [`as_ptr`](Self::as_ptr) of a handle of this type.
    #[must_use]
    pub unsafe fn from_raw(ptr: *const T) -> Self {
        // At no place where a value is: a handle to nothing.
        let shared = Shared::at(ptr.cast());
        // SAFETY: the handle that was given up has left its part of both, by contract.
        unsafe {
            let shared = shared.map(|shared| sync::Arc::from_raw(shared));
            Self { value: sync::Weak::from_raw(ptr), shared }
        }
    }
}

impl<T: ?Sized> Drop for Weak<T> {
    #[track_caller]
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            shared.counts.step(CountOp::DropWeak);
        }
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        if let Some(shared) = &self.shared {
            shared.counts.step(CountOp::CloneWeak);
        }
        Self { value: self.value.clone(), shared: self.shared.clone() }
    }
}

impl<T> Default for Weak<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(Weak)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: TaskId = TaskId(0);

    fn counts(strong: usize, weak: usize) -> Counts {
        Counts { strong, weak, shared: true }
    }

    #[test]
    fn an_attempt_that_would_fail_only_reads() {
        let mut model = counts(2, 1);
        assert_eq!(model.access(A, CountOp::TryUnwrap), Access::FailedUpdate);
        assert_eq!(model.access(A, CountOp::Upgrade), Access::TryRaise);
        model.apply(A, CountOp::TryUnwrap, 0);
        assert_eq!(model, counts(2, 1));
        model.apply(A, CountOp::Drop, 0);
        assert_eq!(model.access(A, CountOp::TryUnwrap), Access::Write);
        model.apply(A, CountOp::TryUnwrap, 0);
        assert_eq!(model.access(A, CountOp::Upgrade), Access::FailedUpdate);
        model.apply(A, CountOp::Upgrade, 0);
        assert_eq!(model, counts(0, 1));
    }

    #[test]
    fn counts_follow_the_handles() {
        let mut model = counts(0, 1);
        model.apply(A, CountOp::CloneWeak, 0);
        model.apply(A, CountOp::Born, 0);
        assert_eq!(model, counts(1, 1));
        model.apply(A, CountOp::Clone, 0);
        model.apply(A, CountOp::Downgrade, 0);
        assert_eq!(model.apply(A, CountOp::Upgrade, 0), counts(2, 2));
        model.apply(A, CountOp::DropWeak, 0);
        assert_eq!(model, counts(3, 1));
    }

    #[test]
    fn what_was_shared_once_stays_so() {
        let mut model = Counts::new();
        model.apply(A, CountOp::GetMut, 0);
        assert!(!model.shared);
        model.apply(A, CountOp::Clone, 0);
        model.apply(A, CountOp::Drop, 0);
        assert!(model.shared && model.is_unique());
    }

    #[test]
    fn what_is_shown_says_what_came_of_it() {
        let show = |op, strong, weak| Counts::show(op, Some(&counts(strong, weak)));
        assert_eq!(show(CountOp::Upgrade, 0, 1), "upgrade -> None");
        assert_eq!(show(CountOp::GetMut, 1, 1), "get_mut -> None");
        assert_eq!(show(CountOp::TryUnwrap, 1, 1), "try_unwrap -> Ok");
        assert_eq!(show(CountOp::Drop, 1, 1), "drop the last");
        assert_eq!(show(CountOp::StrongCount, 2, 0), "strong_count -> 2");
    }
}
