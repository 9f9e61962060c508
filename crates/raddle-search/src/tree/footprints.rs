//! What steps did, each once: siblings that sleep are known by a number here.
//!
//! A step of a task does the same in most executions, and with some hundred bytes what it did would outweigh
//! all else that is kept of it.
//!
//! Nothing leaves it, so it grows with what different steps there are, not with executions: some 600 in
//! 300,000 of a blocking collection.

use raddle_engine::dependence::Footprint;

/// Footprints by their numbers, from 1.
#[derive(Debug, Default)]
pub(super) struct Footprints {
    all: Vec<Footprint>,
    /// Their numbers by what they are, at most half full; 0 if a place is free.
    table: Vec<u32>,
}

impl Footprints {
    /// One by its number; none of 0.
    pub(super) fn get(&self, number: u32) -> Option<&Footprint> {
        // 0 wraps to the largest number, which is no index.
        self.all.get((number as usize).wrapping_sub(1))
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// All, in the order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Footprint> {
        self.all.iter()
    }

    pub(super) fn bytes(&self) -> usize {
        self.all.capacity() * size_of::<Footprint>() + self.table.capacity() * 4
    }

    /// The number of a footprint.
    pub(super) fn number(&mut self, footprint: &Footprint) -> u32 {
        // At most half full, so that a search along the table is short.
        if self.table.len() < 2 * (self.all.len() + 1) {
            self.grow();
        }
        let at = self.place(footprint);
        if self.table[at] == 0 {
            if self.all.len() == self.all.capacity() {
                self.all.reserve_exact(self.all.len() / 4 + 16);
            }
            self.all.push(*footprint);
            self.table[at] = self.all.len() as u32;
        }
        self.table[at]
    }

    /// Where it stands in the table, or would.
    fn place(&self, footprint: &Footprint) -> usize {
        let mask = self.table.len() - 1;
        let mut at = hash(footprint) as usize & mask;
        // Open addressing: nothing is ever removed, so a free place ends the search.
        while let Some(other) = self.get(self.table[at])
            && other != footprint
        {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        // Always a power of two: `place` takes the hash modulo its length by a mask.
        self.table = vec![0; (2 * self.table.len()).max(64)];
        for at in 0..self.all.len() {
            let place = self.place(&self.all[at]);
            self.table[place] = at as u32 + 1;
        }
    }
}

/// Of what differs most often.
fn hash(footprint: &Footprint) -> u64 {
    let Footprint { task, touched, nth, shared_resources, .. } = footprint;
    let objects = u64::from(touched[0].0.0) << 32 | u64::from(touched[1].0.0);
    let own = u64::from(task.0) << 32 | u64::from(*nth);
    let mixed = own.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ objects.wrapping_add(*shared_resources as u64 ^ (*shared_resources >> 64) as u64);
    let mixed = mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_engine::op::{Access, ObjectId, TaskId};

    #[test]
    fn equal_footprints_have_the_same_number() {
        let mut footprints = Footprints::default();
        let footprint =
            |n: u32| Footprint::new(TaskId(n % 7), &[(ObjectId(n), Access::Write)], None);
        let numbers: Vec<_> = (0..200).map(|n| footprints.number(&footprint(n))).collect();
        assert_eq!(numbers, (1..=200).collect::<Vec<_>>());
        for n in 0..200 {
            assert_eq!(footprints.number(&footprint(n)), n + 1);
            assert_eq!(footprints.get(n + 1), Some(&footprint(n)));
        }
        assert_eq!((footprints.len(), footprints.get(0)), (200, None));
    }
}
