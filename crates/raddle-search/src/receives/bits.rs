//! A set of small numbers, as bits.

use serde::{Deserialize, Serialize};

/// A set of numbers; as long as its largest one needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    /// Adds a number; says whether it is new.
    pub(crate) fn insert(&mut self, number: usize) -> bool {
        let (word, bit) = (number / 64, 1 << (number % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }

    #[inline]
    pub(crate) fn contains(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 != 0)
    }

    /// Adds all numbers of another set; says how many are new.
    pub(crate) fn add(&mut self, other: &Self) -> u64 {
        if other.0.len() > self.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut new = 0;
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            new += u64::from((more & !*word).count_ones());
            *word |= more;
        }
        new
    }

    /// Adds all numbers below this one.
    pub(crate) fn add_below(&mut self, end: usize) {
        let words = end.div_ceil(64);
        if words > self.0.len() {
            self.0.resize(words, 0);
        }
        for word in &mut self.0[..end / 64] {
            *word = u64::MAX;
        }
        if !end.is_multiple_of(64) {
            self.0[end / 64] |= (1 << (end % 64)) - 1;
        }
    }

    /// Whether there is a number in both.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(one, other)| one & other != 0)
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// In ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                (rest != 0).then(|| {
                    rest &= rest - 1;
                    at * 64 + bit as usize
                })
            })
        })
    }

    /// The numbers that are not in another set, in ascending order.
    pub(crate) fn without(&self, other: &Self) -> Vec<usize> {
        let mut found = Vec::new();
        for (at, &word) in self.0.iter().enumerate() {
            let mut rest = word & !other.0.get(at).copied().unwrap_or(0);
            while rest != 0 {
                found.push(at * 64 + rest.trailing_zeros() as usize);
                rest &= rest - 1;
            }
        }
        found
    }

    pub(crate) fn bytes(&self) -> usize {
        self.0.len() * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_added() {
        let mut bits = Bits::default();
        assert!(bits.insert(70) && bits.insert(3) && !bits.insert(3));
        assert_eq!(bits.iter().collect::<Vec<_>>(), [3, 70]);
        assert!(bits.contains(70) && !bits.contains(71) && !bits.contains(700));
        let mut below = Bits::default();
        below.add_below(65);
        assert_eq!((below.contains(64), below.contains(65)), (true, false));
        assert!(below.meets(&bits));
        assert_eq!(below.add(&bits), 1);
        assert_eq!(bits.without(&below), []);
        assert_eq!(below.without(&bits).len(), 64);
    }
}
