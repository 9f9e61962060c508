//! Values that the search decides: which of n, any of a type, random data.

use std::ops::{Bound, RangeBounds};

use raddle_engine::rt;

/// A value below `n`, as a decision: a systematic search tries them all.
///
/// ```
/// let mut config = raddle::Config::default();
/// config.strategy = "dfs".into();
/// let report = raddle::explore(config, || {
///     assert!(raddle::choose(3) < 3);
/// })?;
/// assert_eq!(report.counts.executions, 3);
/// # Ok::<(), raddle::Error>(())
/// ```
///
/// # Panics
/// If `n` is 0, or outside an execution.
#[must_use]
#[track_caller]
pub fn choose(n: u32) -> u32 {
    rt::choose(n)
}

/// Any value of a type, as decisions.
///
/// ```
/// raddle::check(|| {
///     let (a, b): (bool, Option<bool>) = raddle::any();
///     assert!(u8::from(a) <= 1 || b.is_some());
/// });
/// ```
///
/// # Panics
/// Outside an execution.
#[must_use]
#[track_caller]
pub fn any<T: Arbitrary>() -> T {
    T::any()
}

/// A type all of whose values can be tried: see [`any`].
pub trait Arbitrary: Sized {
    /// Any value.
    ///
    /// # Panics
    /// Outside an execution.
    #[must_use]
    #[track_caller]
    fn any() -> Self;
}

impl Arbitrary for bool {
    #[track_caller]
    fn any() -> Self {
        choose(2) == 1
    }
}

impl Arbitrary for u8 {
    #[track_caller]
    fn any() -> Self {
        choose(256) as u8
    }
}

impl Arbitrary for i8 {
    #[track_caller]
    fn any() -> Self {
        u8::any().cast_signed()
    }
}

impl<T: Arbitrary> Arbitrary for Option<T> {
    #[track_caller]
    fn any() -> Self {
        if any() { Some(any()) } else { None }
    }
}

impl<T: Arbitrary, E: Arbitrary> Arbitrary for Result<T, E> {
    #[track_caller]
    fn any() -> Self {
        if any() { Err(any()) } else { Ok(any()) }
    }
}

impl<T: Arbitrary, const N: usize> Arbitrary for [T; N] {
    #[track_caller]
    fn any() -> Self {
        // A closure has no caller of its own to pass on, so a loop.
        let mut values = [const { None }; N];
        for value in &mut values {
            *value = Some(any());
        }
        values.map(|value| value.expect("each was set"))
    }
}

impl Arbitrary for () {
    fn any() -> Self {}
}

macro_rules! tuples {
    ($($($name:ident)+;)+) => {$(
        impl<$($name: Arbitrary),+> Arbitrary for ($($name,)+) {
            #[track_caller]
            fn any() -> Self {
                ($(any::<$name>(),)+)
            }
        }
    )+};
}
tuples! { A; A B; A B C; A B C D; }

/// Random data for a test.
///
/// By default every value is a decision, so a systematic search tries them all: ask for small
/// ranges. With [`Data::Seeded`](crate::Data::Seeded) values are drawn from the configured seed,
/// for each task its own sequence, the same in every execution.
///
/// ```
/// raddle::check(|| {
///     let rng = raddle::rng();
///     let mut order = [1, 2, 3];
///     rng.shuffle(&mut order);
///     assert!(rng.range(10..=12) >= 10 && order.contains(rng.pick(&[1, 2])));
/// });
/// ```
#[must_use]
pub fn rng() -> Rng {
    Rng(())
}

/// Random data for a test: see [`rng`].
///
/// Every method panics outside an execution.
#[derive(Clone, Copy, Debug)]
pub struct Rng(());

impl Rng {
    /// A number below `n`.
    ///
    /// # Panics
    /// If `n` is 0.
    #[must_use]
    #[track_caller]
    pub fn below(self, n: u32) -> u32 {
        match rt::seeded_u64() {
            // The high word of the product: below `n`, and even to one part in 2^32.
            Some(drawn) if n > 0 => (((drawn >> 32) * u64::from(n)) >> 32) as u32,
            _ => choose(n),
        }
    }

    /// Yes or no.
    #[must_use]
    #[track_caller]
    pub fn bool(self) -> bool {
        self.below(2) == 1
    }

    /// Any number. As decisions: four of 65,536 options each.
    #[must_use]
    #[track_caller]
    pub fn next_u64(self) -> u64 {
        self.up_to(u64::MAX)
    }

    /// A number in a range.
    ///
    /// # Panics
    /// If the range is empty.
    #[must_use]
    #[track_caller]
    pub fn range(self, range: impl RangeBounds<u64>) -> u64 {
        let least = match range.start_bound() {
            Bound::Included(&start) => Some(start),
            Bound::Excluded(&start) => start.checked_add(1),
            Bound::Unbounded => Some(0),
        };
        let most = match range.end_bound() {
            Bound::Included(&end) => Some(end),
            Bound::Excluded(&end) => end.checked_sub(1),
            Bound::Unbounded => Some(u64::MAX),
        };
        match (least, most) {
            (Some(least), Some(most)) if least <= most => least + self.up_to(most - least),
            _ => panic!("raddle::Rng::range: the range is empty"),
        }
    }

    /// One of these.
    ///
    /// # Panics
    /// If there are none.
    #[must_use]
    #[track_caller]
    pub fn pick<T>(self, from: &[T]) -> &T {
        assert!(!from.is_empty(), "raddle::Rng::pick: there is nothing to pick from");
        &from[self.index(from.len())]
    }

    /// Any order, each with the same chance.
    #[track_caller]
    pub fn shuffle<T>(self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
    }

    #[track_caller]
    fn index(self, n: usize) -> usize {
        self.up_to(n as u64 - 1) as usize
    }

    /// A number up to `most`. As decisions: its digits to the base 65,536, the highest first, so
    /// that no option is out of range. Not evenly spread if there is more than one digit.
    #[track_caller]
    fn up_to(self, most: u64) -> u64 {
        if let Ok(n) = u32::try_from(most.saturating_add(1)) {
            return u64::from(self.below(n));
        }
        if let Some(drawn) = rt::seeded_u64() {
            return match most.checked_add(1) {
                Some(n) => ((u128::from(drawn) * u128::from(n)) >> 64) as u64,
                None => drawn,
            };
        }
        let mut value = 0;
        let mut tight = true;
        for shift in [48, 32, 16, 0] {
            let highest = if tight { (most >> shift) as u32 & 0xffff } else { 0xffff };
            let digit = choose(highest + 1);
            tight &= digit == highest;
            value |= u64::from(digit) << shift;
        }
        value
    }
}
