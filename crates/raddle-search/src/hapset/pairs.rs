//! A set of pairs of statements, as bits.

use super::statements::StatementId;

/// Which statement was before which: for each later one a row of bits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairs {
    rows: Vec<Vec<u64>>,
    len: usize,
}

impl Pairs {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn contains(&self, later: StatementId, earlier: StatementId) -> bool {
        let word = self.rows.get(later.index()).and_then(|row| row.get(earlier.index() / 64));
        word.is_some_and(|word| word >> (earlier.index() % 64) & 1 == 1)
    }

    /// Adds one; says whether it is new.
    pub(crate) fn insert(&mut self, later: StatementId, earlier: StatementId) -> bool {
        if self.rows.len() <= later.index() {
            self.rows.resize_with(later.index() + 1, Vec::new);
        }
        let row = &mut self.rows[later.index()];
        let (word, bit) = (earlier.index() / 64, 1 << (earlier.index() % 64));
        if row.len() <= word {
            row.resize(word + 1, 0);
        }
        let new = row[word] & bit == 0;
        row[word] |= bit;
        self.len += usize::from(new);
        new
    }

    pub(crate) fn remove(&mut self, later: StatementId, earlier: StatementId) {
        if self.contains(later, earlier) {
            self.rows[later.index()][earlier.index() / 64] &= !(1 << (earlier.index() % 64));
            self.len -= 1;
        }
    }

    /// All of them, by the later statement.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (StatementId, StatementId)> {
        self.rows.iter().enumerate().flat_map(|(later, row)| {
            let bits = (0..row.len() * 64).filter(|bit| row[bit / 64] >> (bit % 64) & 1 == 1);
            bits.map(move |earlier| (StatementId(later as u32), StatementId(earlier as u32)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_there_once() {
        let mut pairs = Pairs::default();
        let added = [(3, 70), (3, 1), (0, 0), (3, 70)];
        let new =
            added.map(|(later, earlier)| pairs.insert(StatementId(later), StatementId(earlier)));
        assert_eq!(new, [true, true, true, false]);
        let all: Vec<_> = pairs.iter().map(|(later, earlier)| (later.0, earlier.0)).collect();
        assert_eq!(all, [(0, 0), (3, 1), (3, 70)]);
        assert!(!pairs.contains(StatementId(70), StatementId(3)));
        pairs.remove(StatementId(3), StatementId(70));
        assert_eq!(pairs.len(), 2);
    }
}
