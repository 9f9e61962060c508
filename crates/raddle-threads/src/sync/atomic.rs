//! `std::sync::atomic`: every operation is one step.
//!
//! Values are sequentially consistent, whatever the orderings say. Misses: values that weaker
//! orderings allow to be read. The guarantee says so. What the orderings do decide is which plain
//! data a task may access after it: a relaxed load of a flag shows the flag, and a cell read after
//! it is a data race.
#![expect(unsafe_code, reason = "an atomic hands out where its value is")]

use std::fmt;
use std::sync::atomic as real;
pub use std::sync::atomic::Ordering;

use raddle_engine::rt;

use crate::Named;
use crate::prelude::*;

/// Where an atomic's value is kept.
trait Store: Send + fmt::Debug {
    type Value: Copy + PartialEq + fmt::Debug;
    /// The name of the atomic.
    const ATOMIC: &'static str;
    fn get(&self) -> Self::Value;
    fn set(&mut self, value: Self::Value);
    fn show(value: Self::Value) -> String {
        format!("{value:?}")
    }
    /// The text of what an update with this name is given.
    fn show_operand(_name: &str, value: Self::Value) -> String {
        Self::show(value)
    }
}

/// A value that is read and written whole.
#[derive(Debug)]
struct Word<S>(S);

#[derive(Clone, Copy, Debug)]
enum WordOp<V> {
    Load(Ordering),
    Store(V, Ordering),
    /// Reads, computes and writes, whatever it read.
    Update {
        name: &'static str,
        compute: fn(V, V) -> V,
        operand: V,
        order: Ordering,
    },
    /// Writes only if it reads `current`.
    Exchange {
        current: V,
        new: V,
        weak: bool,
        success: Ordering,
        failure: Ordering,
    },
}

/// What an operation saw.
#[derive(Clone, Copy, Debug)]
struct Saw<V> {
    before: V,
    /// Of an exchange: whether it wrote.
    wrote: bool,
}

impl<S: Store> Model for Word<S> {
    type Op = WordOp<S::Value>;
    type Reply = Saw<S::Value>;
    const KIND: &'static str = S::ATOMIC;
    const BLOCKS: bool = false;

    fn access(&self, _: TaskId, op: Self::Op) -> Access {
        match op {
            WordOp::Load(_) => Access::Read,
            WordOp::Exchange { current, .. } if current != self.0.get() => Access::FailedUpdate,
            _ => Access::Write,
        }
    }

    fn options(&self, _: TaskId, op: Self::Op, settings: &Settings) -> u32 {
        match op {
            WordOp::Exchange { current, weak: true, .. }
                if settings.spurious && current == self.0.get() =>
            {
                2
            }
            _ => 1,
        }
    }

    fn synchronise(&self, _: TaskId, op: Self::Op, option: u32, edges: &mut Edges<'_>) {
        match op {
            WordOp::Load(order) => edges.load(order),
            WordOp::Store(_, order) => edges.store(order),
            WordOp::Update { order, .. } => edges.update(order),
            WordOp::Exchange { current, success, failure, .. } => {
                if option == 0 && current == self.0.get() {
                    edges.update(success);
                } else {
                    edges.load(failure);
                }
            }
        }
    }

    #[inline]
    fn apply(&mut self, _: TaskId, op: Self::Op, option: u32) -> Self::Reply {
        let before = self.0.get();
        let mut wrote = true;
        match op {
            WordOp::Load(_) => wrote = false,
            WordOp::Store(value, _) => self.0.set(value),
            WordOp::Update { compute, operand, .. } => self.0.set(compute(before, operand)),
            WordOp::Exchange { current, new, .. } => {
                wrote = current == before && option == 0;
                if wrote {
                    self.0.set(new);
                }
            }
        }
        Saw { before, wrote }
    }

    // The value stays: a program that keeps one over executions is told when it matters.
    fn reset(&mut self) {}

    fn show(op: Self::Op, reply: Option<&Self::Reply>) -> String {
        let text = match op {
            WordOp::Load(_) => "load".to_owned(),
            WordOp::Store(value, _) => return format!("store({})", S::show(value)),
            WordOp::Update { name, operand, .. } => {
                format!("{name}({})", S::show_operand(name, operand))
            }
            WordOp::Exchange { current, new, weak, .. } => {
                let weak = if weak { "_weak" } else { "" };
                format!("compare_exchange{weak}({}, {})", S::show(current), S::show(new))
            }
        };
        let Some(saw) = reply else { return text };
        let before = S::show(saw.before);
        match op {
            WordOp::Exchange { .. } if saw.wrote => format!("{text} -> Ok({before})"),
            WordOp::Exchange { .. } => format!("{text} -> Err({before})"),
            _ => format!("{text} -> {before}"),
        }
    }
}

/// Like [`std::sync::atomic::fence`]. Not a step: values are sequentially consistent without it. It
/// orders accesses to plain data as in std, by the relaxed loads before it and stores after it.
///
/// # Panics
/// With [`Ordering::Relaxed`], as in std.
#[track_caller]
pub fn fence(order: Ordering) {
    assert!(order != Ordering::Relaxed, "there is no such thing as a relaxed fence");
    rt::fence(order);
}

/// Like [`std::sync::atomic::spin_loop_hint`].
#[deprecated(note = "as in std: use `hint::spin_loop`")]
#[track_caller]
pub fn spin_loop_hint() {
    crate::hint::spin_loop();
}

/// Like [`std::sync::atomic::compiler_fence`]. Does nothing.
///
/// # Panics
/// With [`Ordering::Relaxed`], as in std.
#[track_caller]
pub fn compiler_fence(order: Ordering) {
    assert!(order != Ordering::Relaxed, "there is no such thing as a relaxed fence");
}

#[track_caller]
fn check_load(order: Ordering) {
    match order {
        Ordering::Release => panic!("there is no such thing as a release load"),
        Ordering::AcqRel => panic!("there is no such thing as an acquire-release load"),
        _ => {}
    }
}

#[track_caller]
fn check_store(order: Ordering) {
    match order {
        Ordering::Acquire => panic!("there is no such thing as an acquire store"),
        Ordering::AcqRel => panic!("there is no such thing as an acquire-release store"),
        _ => {}
    }
}

/// The strongest ordering of a failed exchange that goes with `success`.
fn on_failure(success: Ordering) -> Ordering {
    match success {
        Ordering::Release => Ordering::Relaxed,
        Ordering::AcqRel => Ordering::Acquire,
        other => other,
    }
}

#[track_caller]
fn check_failure(order: Ordering) {
    match order {
        Ordering::Release => panic!("there is no such thing as a release failure ordering"),
        Ordering::AcqRel => panic!("there is no such thing as an acquire-release failure ordering"),
        _ => {}
    }
}

/// The operations that every atomic has.
macro_rules! common {
    ([$($generics:tt)*] $atomic:ty, $value:ty) => {
        impl<$($generics)*> $atomic {
            /// Reads the value.
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                check_load(order);
                self.word.step(WordOp::Load(order)).before
            }

            /// Writes the value.
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                check_store(order);
                self.word.step(WordOp::Store(value, order));
            }

            /// Writes the value and returns the one before.
            #[track_caller]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                self.modify("swap", |_, new| new, value, order)
            }

            /// Writes `new` if the value is `current`.
            ///
            /// # Errors
            /// The value, if it is another one.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.exchange(current, new, success, failure, false)
            }

            /// Like `compare_exchange`, but may fail for no reason if spurious failures are
            /// explored.
            ///
            /// # Errors
            /// The value, if nothing was written.
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                rt::note_spurious();
                self.exchange(current, new, success, failure, true)
            }

            /// Applies `update` until it is not overtaken, or returns `None`.
            ///
            /// # Errors
            /// The value, if `update` returned `None`.
            #[track_caller]
            pub fn fetch_update<F>(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                update: F,
            ) -> Result<$value, $value>
            where
                F: FnMut($value) -> Option<$value>,
            {
                self.try_update(set_order, fetch_order, update)
            }

            /// Applies `update` until it is not overtaken, or returns `None`.
            ///
            /// # Errors
            /// The value, if `update` returned `None`.
            #[track_caller]
            pub fn try_update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut update: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut before = self.load(fetch_order);
                while let Some(next) = update(before) {
                    match self.compare_exchange_weak(before, next, set_order, fetch_order) {
                        Ok(value) => return Ok(value),
                        Err(value) => before = value,
                    }
                }
                Err(before)
            }

            /// Applies `update` until it is not overtaken. Returns the value before.
            #[track_caller]
            pub fn update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut update: impl FnMut($value) -> $value,
            ) -> $value {
                let mut before = self.load(fetch_order);
                loop {
                    let next = update(before);
                    match self.compare_exchange_weak(before, next, set_order, fetch_order) {
                        Ok(value) => return value,
                        Err(value) => before = value,
                    }
                }
            }

            /// Writes `new` if the value is `current`. Returns the value before.
            #[deprecated(note = "as in std: use `compare_exchange` or `compare_exchange_weak`")]
            #[track_caller]
            pub fn compare_and_swap(
                &self,
                current: $value,
                new: $value,
                order: Ordering,
            ) -> $value {
                match self.compare_exchange(current, new, order, on_failure(order)) {
                    Ok(value) | Err(value) => value,
                }
            }

            #[track_caller]
            fn exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
                weak: bool,
            ) -> Result<$value, $value> {
                check_failure(failure);
                let op = WordOp::Exchange { current, new, weak, success, failure };
                let saw = self.word.step(op);
                if saw.wrote { Ok(saw.before) } else { Err(saw.before) }
            }

            #[track_caller]
            fn modify(
                &self,
                name: &'static str,
                compute: fn($value, $value) -> $value,
                operand: $value,
                order: Ordering,
            ) -> $value {
                self.modify_inline(name, compute, operand, order)
            }

            /// The same where the caller is, for the updates that are in use most: with the op known, much of it folds.
            #[allow(clippy::inline_always, reason = "that is what it is for")]
            #[inline(always)]
            #[track_caller]
            fn modify_inline(
                &self,
                name: &'static str,
                compute: fn($value, $value) -> $value,
                operand: $value,
                order: Ordering,
            ) -> $value {
                self.word.step(WordOp::Update { name, compute, operand, order }).before
            }
        }

        impl<$($generics)*> fmt::Debug for $atomic {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                // Not a step: to print a value must not change what is explored.
                self.word.peek(|word| word.0.get()).fmt(f)
            }
        }

        impl<$($generics)*> From<$value> for $atomic {
            #[track_caller]
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }

        impl<$($generics)*> Named for $atomic {
            fn named(mut self, name: &'static str) -> Self {
                self.word.set_name(name);
                self
            }
        }
    };
}

macro_rules! plain {
    ($($atomic:ident $value:ident $name:literal;)*) => { $(
        impl Store for $value {
            type Value = $value;
            const ATOMIC: &'static str = $name;

            fn get(&self) -> $value {
                *self
            }

            fn set(&mut self, value: $value) {
                *self = value;
            }
        }

        #[doc = concat!("Like [`std::sync::atomic::", $name, "`].")]
        pub struct $atomic {
            word: Object<Word<$value>>,
        }

        impl $atomic {
            /// An atomic with this value.
            #[must_use]
            #[track_caller]
            pub const fn new(value: $value) -> Self {
                Self { word: Object::new(Word(value)) }
            }

            /// The value, without a step.
            pub fn get_mut(&mut self) -> &mut $value {
                &mut self.word.get_mut().0
            }

            /// The value.
            #[must_use]
            pub const fn into_inner(self) -> $value {
                // SAFETY: the caller owns it, so no other has it.
                unsafe { (*self.word.as_ptr()).0 }
            }

            /// Where the value is. What is done through the pointer is no step, and is seen by no
            /// check for data races.
            #[must_use]
            pub const fn as_ptr(&self) -> *mut $value {
                // SAFETY: the pointer is that of a live model, whose field is not read here.
                unsafe { &raw mut (*self.word.as_ptr()).0 }
            }
        }

        impl Default for $atomic {
            #[track_caller]
            fn default() -> Self {
                Self::new($value::default())
            }
        }

        common!([] $atomic, $value);
    )* };
}

macro_rules! fetch {
    ($atomic:ident $value:ident by $modify:ident: $($name:ident $compute:expr, $what:literal;)*) => {
        impl $atomic { $(
            #[doc = concat!($what, " Returns the value before.")]
            #[track_caller]
            pub fn $name(&self, value: $value, order: Ordering) -> $value {
                self.$modify(stringify!($name), $compute, value, order)
            }
        )* }
    };
}

macro_rules! integers {
    ($($atomic:ident $value:ident;)*) => { $(
        fetch! { $atomic $value by modify_inline:
            fetch_add $value::wrapping_add, "Adds, wrapping around.";
            fetch_sub $value::wrapping_sub, "Subtracts, wrapping around.";
        }
        fetch! { $atomic $value by modify:
            fetch_and |a, b| a & b, "Bitwise and.";
            fetch_nand |a, b| !(a & b), "Bitwise nand.";
            fetch_or |a, b| a | b, "Bitwise or.";
            fetch_xor |a, b| a ^ b, "Bitwise exclusive or.";
            fetch_max std::cmp::max, "The greater of the two.";
            fetch_min std::cmp::min, "The lesser of the two.";
        }
    )* };
}

plain! {
    AtomicBool bool "AtomicBool";
    AtomicI8 i8 "AtomicI8";
    AtomicI16 i16 "AtomicI16";
    AtomicI32 i32 "AtomicI32";
    AtomicI64 i64 "AtomicI64";
    AtomicIsize isize "AtomicIsize";
    AtomicU8 u8 "AtomicU8";
    AtomicU16 u16 "AtomicU16";
    AtomicU32 u32 "AtomicU32";
    AtomicU64 u64 "AtomicU64";
    AtomicUsize usize "AtomicUsize";
}

integers! {
    AtomicI8 i8;
    AtomicI16 i16;
    AtomicI32 i32;
    AtomicI64 i64;
    AtomicIsize isize;
    AtomicU8 u8;
    AtomicU16 u16;
    AtomicU32 u32;
    AtomicU64 u64;
    AtomicUsize usize;
}

fetch! { AtomicBool bool by modify:
    fetch_and |a, b| a & b, "Logical and.";
    fetch_nand |a, b| !(a & b), "Logical nand.";
    fetch_or |a, b| a | b, "Logical or.";
    fetch_xor |a, b| a ^ b, "Logical exclusive or.";
}

impl AtomicBool {
    /// Logical not. Returns the value before.
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        self.modify("fetch_not", |value, _| !value, true, order)
    }
}

/// Like [`std::sync::atomic::ATOMIC_BOOL_INIT`].
#[deprecated(note = "as in std: use `AtomicBool::new`")]
#[expect(clippy::declare_interior_mutable_const, reason = "as in std")]
pub const ATOMIC_BOOL_INIT: AtomicBool = AtomicBool::new(false);

/// Like [`std::sync::atomic::ATOMIC_ISIZE_INIT`].
#[deprecated(note = "as in std: use `AtomicIsize::new`")]
#[expect(clippy::declare_interior_mutable_const, reason = "as in std")]
pub const ATOMIC_ISIZE_INIT: AtomicIsize = AtomicIsize::new(0);

/// Like [`std::sync::atomic::ATOMIC_USIZE_INIT`].
#[deprecated(note = "as in std: use `AtomicUsize::new`")]
#[expect(clippy::declare_interior_mutable_const, reason = "as in std")]
pub const ATOMIC_USIZE_INIT: AtomicUsize = AtomicUsize::new(0);

// The real atomic, only because a raw pointer alone could not be sent to another task.
impl<T> Store for real::AtomicPtr<T> {
    type Value = *mut T;
    const ATOMIC: &'static str = "AtomicPtr";

    fn get(&self) -> *mut T {
        self.load(Ordering::Relaxed)
    }

    fn set(&mut self, value: *mut T) {
        *self.get_mut() = value;
    }

    // Addresses differ from run to run, and traces must not.
    fn show(value: *mut T) -> String {
        if value.is_null() { "null" } else { "ptr" }.to_owned()
    }

    // Offsets and tags are numbers below the first page, or all bits but those.
    fn show_operand(name: &str, value: *mut T) -> String {
        const PAGE: usize = 4096;
        match value.addr() {
            number if name != "swap" && number < PAGE => number.to_string(),
            mask if name != "swap" && !mask < PAGE => format!("!{}", !mask),
            _ => Self::show(value),
        }
    }
}

/// Like [`std::sync::atomic::AtomicPtr`].
pub struct AtomicPtr<T> {
    word: Object<Word<real::AtomicPtr<T>>>,
}

impl<T> AtomicPtr<T> {
    /// An atomic with this value.
    #[must_use]
    #[track_caller]
    pub const fn new(value: *mut T) -> Self {
        Self { word: Object::new(Word(real::AtomicPtr::new(value))) }
    }

    /// The value, without a step.
    pub fn get_mut(&mut self) -> &mut *mut T {
        self.word.get_mut().0.get_mut()
    }

    /// The value.
    #[must_use]
    pub const fn into_inner(self) -> *mut T {
        // SAFETY: the caller owns it, so no other has it.
        unsafe { self.word.as_ptr().read().0.into_inner() }
    }

    /// Where the pointer is. What is done through it is no step, and is seen by no check for data
    /// races.
    #[must_use]
    pub const fn as_ptr(&self) -> *mut *mut T {
        // SAFETY: the pointer is that of a live model.
        unsafe { (*self.word.as_ptr()).0.as_ptr() }
    }

    /// Moves the pointer on by so many values of `T`. Returns the pointer before.
    #[track_caller]
    pub fn fetch_ptr_add(&self, val: usize, order: Ordering) -> *mut T {
        self.offset("fetch_ptr_add", |ptr, by| ptr.wrapping_add(by.addr()), val, order)
    }

    /// Moves the pointer back by so many values of `T`. Returns the pointer before.
    #[track_caller]
    pub fn fetch_ptr_sub(&self, val: usize, order: Ordering) -> *mut T {
        self.offset("fetch_ptr_sub", |ptr, by| ptr.wrapping_sub(by.addr()), val, order)
    }

    /// Moves the pointer on by so many bytes. Returns the pointer before.
    #[track_caller]
    pub fn fetch_byte_add(&self, val: usize, order: Ordering) -> *mut T {
        self.offset("fetch_byte_add", |ptr, by| ptr.wrapping_byte_add(by.addr()), val, order)
    }

    /// Moves the pointer back by so many bytes. Returns the pointer before.
    #[track_caller]
    pub fn fetch_byte_sub(&self, val: usize, order: Ordering) -> *mut T {
        self.offset("fetch_byte_sub", |ptr, by| ptr.wrapping_byte_sub(by.addr()), val, order)
    }

    /// Bitwise or of the address. Returns the pointer before.
    #[track_caller]
    pub fn fetch_or(&self, val: usize, order: Ordering) -> *mut T {
        self.offset("fetch_or", |ptr, bits| ptr.map_addr(|at| at | bits.addr()), val, order)
    }

    /// Bitwise and of the address. Returns the pointer before.
    #[track_caller]
    pub fn fetch_and(&self, val: usize, order: Ordering) -> *mut T {
        self.offset("fetch_and", |ptr, bits| ptr.map_addr(|at| at & bits.addr()), val, order)
    }

    /// Bitwise exclusive or of the address. Returns the pointer before.
    #[track_caller]
    pub fn fetch_xor(&self, val: usize, order: Ordering) -> *mut T {
        self.offset("fetch_xor", |ptr, bits| ptr.map_addr(|at| at ^ bits.addr()), val, order)
    }

    /// An update whose operand is a number: the model knows values alone, so it goes as an address.
    #[track_caller]
    fn offset(
        &self,
        name: &'static str,
        compute: fn(*mut T, *mut T) -> *mut T,
        operand: usize,
        order: Ordering,
    ) -> *mut T {
        self.modify(name, compute, std::ptr::without_provenance_mut(operand), order)
    }
}

impl<T> fmt::Pointer for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not a step: to print a value must not change what is explored.
        fmt::Pointer::fmt(&self.word.peek(|word| word.0.get()), f)
    }
}

impl<T> Default for AtomicPtr<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}

common!([T] AtomicPtr<T>, *mut T);

#[cfg(test)]
mod tests {
    use super::*;

    const A: TaskId = TaskId(0);

    fn exchange(current: u8, weak: bool) -> WordOp<u8> {
        let order = Ordering::SeqCst;
        WordOp::Exchange { current, new: 9, weak, success: order, failure: order }
    }

    #[test]
    fn an_exchange_that_would_fail_only_reads() {
        let word = Word(1_u8);
        let exchange = |current| exchange(current, false);
        assert_eq!(word.access(A, exchange(1)), Access::Write);
        assert_eq!(word.access(A, exchange(2)), Access::FailedUpdate);
    }

    #[test]
    fn only_a_weak_exchange_that_would_succeed_can_fail_spuriously() {
        let spurious = Settings { spurious: true, ..Settings::default() };
        let mut word = Word(1_u8);
        let options = |word: &Word<u8>, op| word.options(A, op, &spurious);
        assert_eq!(options(&word, exchange(1, true)), 2);
        assert_eq!(options(&word, exchange(2, true)), 1);
        assert_eq!(options(&word, exchange(1, false)), 1);
        assert_eq!(word.options(A, exchange(1, true), &Settings::default()), 1);
        assert!(!word.apply(A, exchange(1, true), 1).wrote);
        assert!(word.apply(A, exchange(1, true), 0).wrote);
        assert_eq!(word.0, 9);
    }

    #[test]
    fn integers_wrap_as_in_std() {
        let byte = AtomicU8::new(255);
        assert_eq!(byte.fetch_add(2, Ordering::SeqCst), 255);
        assert_eq!(byte.load(Ordering::SeqCst), 1);
        assert_eq!(byte.fetch_sub(2, Ordering::SeqCst), 1);
        assert_eq!(byte.fetch_max(3, Ordering::SeqCst), 255);
        assert_eq!(byte.fetch_nand(3, Ordering::SeqCst), 255);
        assert_eq!(byte.into_inner(), !3);
    }

    #[test]
    fn an_atomic_can_be_a_static() {
        static COUNT: AtomicUsize = AtomicUsize::new(1);
        static NOTHING: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
        assert_eq!(COUNT.swap(5, Ordering::SeqCst), 1);
        assert!(NOTHING.load(Ordering::SeqCst).is_null());
    }

    #[test]
    fn an_offset_or_a_tag_is_shown_and_an_address_is_not() {
        type Place = Word<real::AtomicPtr<u16>>;
        let show = |name, operand| {
            let order = Ordering::SeqCst;
            let operand = std::ptr::without_provenance_mut(operand);
            Place::show(WordOp::Update { name, compute: |_, new| new, operand, order }, None)
        };
        assert_eq!(show("fetch_ptr_add", 3), "fetch_ptr_add(3)");
        assert_eq!(show("fetch_or", 0), "fetch_or(0)");
        assert_eq!(show("fetch_and", !1), "fetch_and(!1)");
        assert_eq!(show("fetch_xor", 0x7fff_0000), "fetch_xor(ptr)");
        assert_eq!(show("swap", 0), "swap(null)");
        assert_eq!(show("swap", 8), "swap(ptr)");
    }

    #[test]
    fn where_the_value_is_stays_the_same() {
        let mut word = AtomicU32::new(1);
        let place = word.as_ptr();
        // SAFETY: nothing else has the atomic.
        unsafe { *place += 1 };
        assert_eq!(*word.get_mut(), 2);
        let mut null = AtomicPtr::<u8>::default();
        // SAFETY: as above.
        assert!(unsafe { *null.as_ptr() }.is_null() && null.get_mut().is_null());
    }
}
