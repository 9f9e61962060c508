//! Reference counts under control, for tests that look at counts or race to upgrade.
//!
//! [`crate::sync::Arc`] and [`crate::sync::Weak`] are std's own: only those coerce to
//! `Arc<dyn Trait>` and can be the type of `self`, and most programs only share by them.
//! The types here cannot do either, but every operation on a count is a step: to clone and to
//! drop, since `strong_count`, `get_mut` and `try_unwrap` of other tasks see both, and since only
//! the order of drops decides who drops last. One point is left out: an operation that owns the
//! only handle there ever was, strong or weak. Nobody else has seen the count then, or could have.
//! So all orders of what can be seen of counts are explored.
//!
//! Misses: values that `strong_count` could show with relaxed atomics, as everywhere. Not here:
//! raw pointers, and a check that nothing is left when an execution ends.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::sync;

use raddle_engine::rt;

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

    // Overreports: clones and drops commute with each other unless a count is seen between them.
    fn access(&self, _: TaskId, op: CountOp) -> Access {
        let changes = match op {
            CountOp::StrongCount | CountOp::WeakCount | CountOp::GetMut => return Access::Read,
            CountOp::Upgrade => self.strong > 0,
            CountOp::TryUnwrap => self.strong == 1,
            CountOp::MakeMut => self.strong == 1 && self.weak > 0,
            _ => true,
        };
        if changes { Access::Write } else { Access::Missed }
    }

    // As the orderings of std's counts have it: drops release, and whoever finds itself alone
    // acquires; clones and looks do neither.
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
            CountOp::Downgrade => edges.acquire(WEAK),
            _ => {}
        }
    }

    fn apply(&mut self, task: TaskId, op: CountOp, _: u32) -> Counts {
        let before = *self;
        if self.access(task, op) == Access::Write {
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

/// Like [`std::sync::Arc`], with a count under control. Does not coerce to an unsized type (make
/// it from a `Box`), cannot be the type of `self`, and has no raw pointers.
pub struct Arc<T: ?Sized> {
    /// None only once the handle has been used up.
    value: Option<sync::Arc<T>>,
    /// Invariant: agrees with the real counts whenever a task of an execution can move.
    count: sync::Arc<Object<Counts>>,
}

/// Like [`std::sync::Weak`], with a count under control.
pub struct Weak<T: ?Sized> {
    value: sync::Weak<T>,
    /// None: there never was a value, or the handle has been used up.
    count: Option<sync::Arc<Object<Counts>>>,
}

impl<T> Arc<T> {
    /// The first handle to a value.
    #[must_use]
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self::of(sync::Arc::new(value))
    }

    /// A value that has weak handles to itself. Its birth is a step: before it they do not upgrade.
    #[track_caller]
    pub fn new_cyclic<F>(data_fn: F) -> Self
    where
        F: FnOnce(&Weak<T>) -> T,
    {
        let count = sync::Arc::new(Object::new(Counts { strong: 0, weak: 1, shared: true }));
        let mut own = None;
        let value = sync::Arc::new_cyclic(|weak| {
            let weak = Weak { value: weak.clone(), count: Some(sync::Arc::clone(&count)) };
            let value = data_fn(&weak);
            own = Some(weak);
            value
        });
        count.step(CountOp::Born);
        // Its end is part of the birth.
        if let Some(mut own) = own {
            own.count = None;
        }
        Self { value: Some(value), count }
    }

    /// The value, if this is the only strong handle.
    ///
    /// # Errors
    /// The handle, if it is not.
    #[track_caller]
    pub fn try_unwrap(mut this: Self) -> Result<T, Self> {
        if rt::inside() {
            if this.is_private() || this.count.step(CountOp::TryUnwrap).strong == 1 {
                Ok(agreed(sync::Arc::into_inner(this.spend())))
            } else {
                Err(this)
            }
        } else {
            match sync::Arc::try_unwrap(this.spend()) {
                Ok(value) => {
                    this.count.step(CountOp::Drop);
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
            this.count.step(CountOp::IntoInner);
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

impl<T: Clone> Arc<T> {
    /// The value to change; a clone of it if there are other strong handles. Weak handles lose it.
    #[track_caller]
    pub fn make_mut(this: &mut Self) -> &mut T {
        if rt::inside() {
            let counts =
                if this.is_private() { Counts::new() } else { this.count.step(CountOp::MakeMut) };
            if counts.strong > 1 {
                *this = Self::new((**this).clone());
            } else if counts.weak > 0 {
                // The step has dropped this handle's count with the value.
                let value = agreed(sync::Arc::into_inner(this.spend()));
                *this = Self::new(value);
            }
        } else if Self::get_mut(this).is_none() {
            *this = match sync::Arc::try_unwrap(this.spend()) {
                Ok(value) => {
                    this.count.step(CountOp::Drop);
                    Self::new(value)
                }
                Err(shared) => {
                    this.value = Some(shared);
                    Self::new((**this).clone())
                }
            };
        }
        agreed(this.value.as_mut().and_then(sync::Arc::get_mut))
    }
}

impl<T: ?Sized> Arc<T> {
    #[track_caller]
    fn of(value: sync::Arc<T>) -> Self {
        let count = sync::Arc::new(Object::new(Counts::new()));
        Self { value: Some(value), count }
    }

    /// How many strong handles there are.
    #[must_use]
    #[track_caller]
    pub fn strong_count(this: &Self) -> usize {
        if rt::inside() {
            this.count.step(CountOp::StrongCount).strong
        } else {
            sync::Arc::strong_count(this.real())
        }
    }

    /// How many weak handles there are.
    #[must_use]
    #[track_caller]
    pub fn weak_count(this: &Self) -> usize {
        if rt::inside() {
            this.count.step(CountOp::WeakCount).weak
        } else {
            sync::Arc::weak_count(this.real())
        }
    }

    /// A weak handle to the value.
    #[must_use = "this returns a new `Weak` pointer, without modifying the original `Arc`"]
    #[track_caller]
    pub fn downgrade(this: &Self) -> Weak<T> {
        this.count.step(CountOp::Downgrade);
        let value = sync::Arc::downgrade(this.real());
        Weak { value, count: Some(sync::Arc::clone(&this.count)) }
    }

    /// The value to change, if this is the only handle.
    #[track_caller]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        let unique =
            !rt::inside() || this.is_private() || this.count.step(CountOp::GetMut).is_unique();
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
        sync::Arc::as_ptr(this.real())
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
        rt::inside() && self.count.peek(|counts| !counts.shared)
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    #[track_caller]
    fn drop(&mut self) {
        if self.value.is_some() && !self.is_private() {
            self.count.step_at(CountOp::Drop, self.count.created());
        }
        // The value itself is dropped after this, by the last handle, in the same step.
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        self.count.step(CountOp::Clone);
        Self { value: Some(sync::Arc::clone(self.real())), count: sync::Arc::clone(&self.count) }
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

impl From<&str> for Arc<str> {
    #[track_caller]
    fn from(value: &str) -> Self {
        Self::of(value.into())
    }
}

impl From<String> for Arc<str> {
    #[track_caller]
    fn from(value: String) -> Self {
        Self::of(value.into())
    }
}

impl<T> From<Vec<T>> for Arc<[T]> {
    #[track_caller]
    fn from(value: Vec<T>) -> Self {
        Self::of(value.into())
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
        if let Some(count) = sync::Arc::get_mut(&mut self.count) {
            count.set_name(name);
        }
        self
    }
}

impl<T> Weak<T> {
    /// A handle to nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { value: sync::Weak::new(), count: None }
    }
}

impl<T: ?Sized> Weak<T> {
    /// A strong handle, if the value is still there.
    #[must_use = "this returns a new `Arc`, without modifying the original weak pointer"]
    #[track_caller]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        let count = self.count.as_ref()?;
        let value = if rt::inside() {
            let there = count.step(CountOp::Upgrade).strong > 0;
            there.then(|| agreed(self.value.upgrade()))
        } else {
            let value = self.value.upgrade();
            if value.is_some() {
                count.step(CountOp::Clone);
            }
            value
        };
        value.map(|value| Arc { value: Some(value), count: sync::Arc::clone(count) })
    }

    /// How many strong handles there are.
    #[must_use]
    #[track_caller]
    pub fn strong_count(&self) -> usize {
        match &self.count {
            Some(count) if rt::inside() => count.step(CountOp::StrongCount).strong,
            _ => self.value.strong_count(),
        }
    }

    /// How many weak handles there are, or 0 if the value is gone.
    #[must_use]
    #[track_caller]
    pub fn weak_count(&self) -> usize {
        match &self.count {
            Some(count) if rt::inside() => {
                let counts = count.step(CountOp::WeakCount);
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
}

impl<T: ?Sized> Drop for Weak<T> {
    #[track_caller]
    fn drop(&mut self) {
        if let Some(count) = &self.count {
            count.step(CountOp::DropWeak);
        }
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        if let Some(count) = &self.count {
            count.step(CountOp::CloneWeak);
        }
        Self { value: self.value.clone(), count: self.count.clone() }
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
        assert_eq!(model.access(A, CountOp::TryUnwrap), Access::Missed);
        assert_eq!(model.access(A, CountOp::Upgrade), Access::Write);
        model.apply(A, CountOp::TryUnwrap, 0);
        assert_eq!(model, counts(2, 1));
        model.apply(A, CountOp::Drop, 0);
        assert_eq!(model.access(A, CountOp::TryUnwrap), Access::Write);
        model.apply(A, CountOp::TryUnwrap, 0);
        assert_eq!(model.access(A, CountOp::Upgrade), Access::Missed);
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
