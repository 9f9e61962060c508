//! Sets of small numbers, as bits: of tasks by their place in the order of creation.

/// A set of numbers. Iterates in ascending order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bits {
    /// Those below 64, which are all that most sets ever have.
    first: u64,
    /// The others, in words. May end with words that are 0.
    rest: Vec<u64>,
}

const WORD: u32 = u64::BITS;

/// The word of a number that is not among the first, and its bit.
#[inline]
fn split(number: u32) -> (usize, u64) {
    ((number / WORD - 1) as usize, 1 << (number % WORD))
}

/// The number of a bit in a word of the rest.
fn number(word: usize, bits: u64) -> u32 {
    (word as u32 + 1) * WORD + bits.trailing_zeros()
}

impl Bits {
    pub(crate) const fn new() -> Self {
        Self { first: 0, rest: Vec::new() }
    }

    /// Makes it empty. Keeps the allocation.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.first = 0;
        self.rest.clear();
    }

    #[inline]
    pub(crate) fn contains(&self, number: u32) -> bool {
        if number < WORD {
            return self.first & 1 << number != 0;
        }
        let (word, bit) = split(number);
        self.rest.get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// Whether it certainly has no numbers: it may have had some from 64 on, of which none is left.
    #[inline]
    pub(crate) fn is_surely_empty(&self) -> bool {
        self.first == 0 && self.rest.is_empty()
    }

    /// Adds a number. Whether it is new.
    #[inline]
    pub(crate) fn insert(&mut self, number: u32) -> bool {
        if number >= WORD {
            return self.insert_far(number);
        }
        let before = self.first;
        self.first |= 1 << number;
        before != self.first
    }

    #[inline(never)]
    fn insert_far(&mut self, number: u32) -> bool {
        let (word, bit) = split(number);
        if word >= self.rest.len() {
            self.rest.resize(word + 1, 0);
        }
        let bits = &mut self.rest[word];
        let new = *bits & bit == 0;
        *bits |= bit;
        new
    }

    /// Takes a number out. Whether it was there.
    #[inline]
    pub(crate) fn remove(&mut self, number: u32) -> bool {
        if number >= WORD {
            return self.remove_far(number);
        }
        let before = self.first;
        self.first &= !(1 << number);
        before != self.first
    }

    #[inline(never)]
    fn remove_far(&mut self, number: u32) -> bool {
        let (word, bit) = split(number);
        let Some(bits) = self.rest.get_mut(word) else { return false };
        let known = *bits & bit != 0;
        *bits &= !bit;
        known
    }

    /// The smallest number that is not below this one.
    #[inline]
    pub(crate) fn next(&self, from: u32) -> Option<u32> {
        if from < WORD {
            let bits = self.first & u64::MAX << from;
            if bits != 0 {
                return Some(bits.trailing_zeros());
            }
            if self.rest.is_empty() {
                return None;
            }
        }
        self.next_far(from.max(WORD))
    }

    #[inline(never)]
    fn next_far(&self, from: u32) -> Option<u32> {
        let (mut word, bit) = split(from);
        let mut bits = self.rest.get(word)? & bit.wrapping_neg();
        while bits == 0 {
            word += 1;
            bits = *self.rest.get(word)?;
        }
        Some(number(word, bits))
    }

    /// The number that has so many smaller ones beside it.
    #[inline]
    pub(crate) fn nth(&self, n: u32) -> Option<u32> {
        if !self.rest.is_empty() {
            return self.nth_of_many(n);
        }
        let mut bits = self.first;
        for _ in 0..n {
            // Stays 0 where there are not so many.
            bits &= bits.wrapping_sub(1);
        }
        (bits != 0).then(|| bits.trailing_zeros())
    }

    #[inline(never)]
    fn nth_of_many(&self, mut n: u32) -> Option<u32> {
        let words = std::iter::once(&self.first).chain(&self.rest);
        for (word, &bits) in words.enumerate() {
            let count = bits.count_ones();
            if n >= count {
                n -= count;
                continue;
            }
            let mut bits = bits;
            for _ in 0..n {
                bits &= bits - 1;
            }
            return Some(word as u32 * WORD + bits.trailing_zeros());
        }
        None
    }

    /// Calls this for each number, in ascending order.
    #[inline]
    pub(crate) fn for_each(&self, mut call: impl FnMut(u32)) {
        let mut bits = self.first;
        while bits != 0 {
            call(bits.trailing_zeros());
            bits &= bits - 1;
        }
        for (word, &bits) in self.rest.iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                call(number(word, bits));
                bits &= bits - 1;
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let next = self.next(from)?;
            from = next + 1;
            Some(next)
        })
    }

    /// Adds all of another set. How many are new.
    #[inline]
    pub(crate) fn add(&mut self, others: &Self) -> u32 {
        let new = (others.first & !self.first).count_ones();
        self.first |= others.first;
        if others.rest.is_empty() { new } else { new + self.add_far(others) }
    }

    #[inline(never)]
    fn add_far(&mut self, others: &Self) -> u32 {
        if self.rest.len() < others.rest.len() {
            self.rest.resize(others.rest.len(), 0);
        }
        let mut new = 0;
        for (bits, others) in self.rest.iter_mut().zip(&others.rest) {
            new += (others & !*bits).count_ones();
            *bits |= others;
        }
        new
    }

    /// Takes all of another set out. How many were there.
    #[inline]
    pub(crate) fn take_out(&mut self, others: &Self) -> u32 {
        let known = (others.first & self.first).count_ones();
        self.first &= !others.first;
        if others.rest.is_empty() { known } else { known + self.take_out_far(others) }
    }

    #[inline(never)]
    fn take_out_far(&mut self, others: &Self) -> u32 {
        let mut known = 0;
        for (bits, others) in self.rest.iter_mut().zip(&others.rest) {
            known += (others & *bits).count_ones();
            *bits &= !others;
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::rng::Rng;

    #[test]
    fn a_set_of_tasks_does_what_a_tree_of_numbers_does() {
        let mut rng = Rng::new(1);
        let (mut bits, mut set) = (Bits::new(), BTreeSet::new());
        for _ in 0..2_000 {
            let number = rng.below(200);
            if rng.below(3) == 0 {
                assert_eq!(bits.remove(number), set.remove(&number));
            } else {
                assert_eq!(bits.insert(number), set.insert(number));
            }
            assert_eq!(bits.contains(number), set.contains(&number));
            let from = rng.below(220);
            assert_eq!(bits.next(from), set.range(from..).next().copied());
            let n = rng.below(210);
            assert_eq!(bits.nth(n), set.iter().nth(n as usize).copied());
        }
        assert!(bits.iter().eq(set.iter().copied()));
        let mut each = Vec::new();
        bits.for_each(|number| each.push(number));
        assert!(each.iter().eq(set.iter()));
        bits.clear();
        assert_eq!(bits.next(0), None);
    }

    #[test]
    fn sets_are_added_and_taken_out_as_a_whole() {
        let of = |numbers: &[u32]| {
            let mut bits = Bits::new();
            for &number in numbers {
                bits.insert(number);
            }
            bits
        };
        let mut bits = of(&[1, 70]);
        assert_eq!(bits.add(&of(&[1, 2, 130])), 2);
        assert!(bits.iter().eq([1, 2, 70, 130]));
        assert_eq!(bits.take_out(&of(&[2, 3, 130, 500])), 2);
        assert!(bits.iter().eq([1, 70]));
    }
}
