//! Sets of small numbers, as bits: of tasks by their place in the order of creation.

/// A set of numbers. Iterates in ascending order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bits {
    words: Vec<u64>,
}

#[inline]
fn split(number: u32) -> (usize, u64) {
    (number as usize / 64, 1 << (number % 64))
}

impl Bits {
    pub(crate) const fn new() -> Self {
        Self { words: Vec::new() }
    }

    /// Makes it empty. Keeps the allocation, and the first word, which is all that most sets ever have.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.words.truncate(1);
        if let Some(first) = self.words.first_mut() {
            *first = 0;
        }
    }

    #[inline]
    pub(crate) fn contains(&self, number: u32) -> bool {
        let (word, bit) = split(number);
        self.words.get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// Adds a number. Whether it is new.
    #[inline]
    pub(crate) fn insert(&mut self, number: u32) -> bool {
        let (word, bit) = split(number);
        if word >= self.words.len() {
            self.grow(word);
        }
        let bits = &mut self.words[word];
        let new = *bits & bit == 0;
        *bits |= bit;
        new
    }

    #[cold]
    fn grow(&mut self, word: usize) {
        self.words.resize(word + 1, 0);
    }

    /// Takes a number out. Whether it was there.
    #[inline]
    pub(crate) fn remove(&mut self, number: u32) -> bool {
        let (word, bit) = split(number);
        let Some(bits) = self.words.get_mut(word) else { return false };
        let known = *bits & bit != 0;
        *bits &= !bit;
        known
    }

    /// The smallest number that is not below this one.
    #[inline]
    pub(crate) fn next(&self, from: u32) -> Option<u32> {
        let (word, bit) = split(from);
        let mut bits = self.words.get(word)? & bit.wrapping_neg();
        let mut word = word;
        while bits == 0 {
            word += 1;
            bits = *self.words.get(word)?;
        }
        Some(word as u32 * 64 + bits.trailing_zeros())
    }

    /// The number that has so many smaller ones beside it.
    pub(crate) fn nth(&self, mut n: u32) -> Option<u32> {
        for (word, &bits) in self.words.iter().enumerate() {
            let count = bits.count_ones();
            if n >= count {
                n -= count;
                continue;
            }
            let mut bits = bits;
            for _ in 0..n {
                bits &= bits - 1;
            }
            return Some(word as u32 * 64 + bits.trailing_zeros());
        }
        None
    }

    /// Calls this for each number, in ascending order.
    #[inline]
    pub(crate) fn for_each(&self, mut call: impl FnMut(u32)) {
        for (word, &bits) in self.words.iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                call(word as u32 * 64 + bits.trailing_zeros());
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
    pub(crate) fn add(&mut self, others: &Self) -> u32 {
        if self.words.len() < others.words.len() {
            self.grow(others.words.len() - 1);
        }
        let mut new = 0;
        for (bits, others) in self.words.iter_mut().zip(&others.words) {
            new += (others & !*bits).count_ones();
            *bits |= others;
        }
        new
    }

    /// Takes all of another set out. How many were there.
    pub(crate) fn take_out(&mut self, others: &Self) -> u32 {
        let mut known = 0;
        for (bits, others) in self.words.iter_mut().zip(&others.words) {
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
