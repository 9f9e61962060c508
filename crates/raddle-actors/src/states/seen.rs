//! What has been seen: a table of fingerprints that the threads of a search share.
//!
//! Each state is one slot of 8 bytes and, where a search asks for it, one byte of price. The table is in
//! parts with a lock each, which grow by themselves: then only one part is there twice for a moment. Parts
//! are between 4/7 and 4/5 full once they have grown, so that a state takes at most 15.75 bytes.
//!
//! Where a state came from is not kept: the way to a violation is found again by searching again.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A power of two.
const PARTS: usize = 64;
const FIRST_SLOTS: usize = 16;

/// What happens when there is no room for a state that is new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WhenFull {
    /// The search stops.
    #[default]
    Stop,
    /// The new one is not kept. If it is met again it is gone on from again: with states that lead back
    /// to themselves such a search need not end.
    Refuse,
    /// The new one takes the place of another. As for [`Refuse`](Self::Refuse), of the other.
    Replace,
}

/// What is known of a state that was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Met {
    New,
    /// It was seen at a higher price.
    Cheaper,
    Known,
    /// New, and there is no room.
    Full,
}

/// Fingerprints of states.
pub(super) struct Seen {
    parts: Box<[Mutex<Part>]>,
    priced: bool,
    most_bytes: usize,
    when_full: WhenFull,
    bytes: AtomicUsize,
    dropped: AtomicU64,
}

struct Part {
    /// 0 is no fingerprint.
    slots: Vec<u64>,
    /// By slot; empty if states have no price.
    prices: Vec<u8>,
    len: usize,
}

impl Part {
    fn new(slots: usize, priced: bool) -> Self {
        Self { slots: vec![0; slots], prices: vec![0; if priced { slots } else { 0 }], len: 0 }
    }

    /// Where this key is looked for first. The first bits of a key say which part it is in.
    #[inline]
    fn home(&self, key: u64) -> usize {
        let within = key << PARTS.ilog2();
        ((u128::from(within) * self.slots.len() as u128) >> 64) as usize
    }

    /// The slot of this key, or the one where it would be.
    #[inline]
    fn find(&self, key: u64) -> usize {
        let mut at = self.home(key);
        while self.slots[at] != key && self.slots[at] != 0 {
            at += 1;
            if at == self.slots.len() {
                at = 0;
            }
        }
        at
    }

    fn bytes_of(slots: usize, priced: bool) -> usize {
        slots * (size_of::<u64>() + usize::from(priced))
    }

    fn grow(&mut self, slots: usize) {
        let priced = !self.prices.is_empty();
        let old = std::mem::replace(self, Self::new(slots, priced));
        for (from, &key) in old.slots.iter().enumerate() {
            if key != 0 {
                let at = self.find(key);
                self.slots[at] = key;
                if priced {
                    self.prices[at] = old.prices[from];
                }
            }
        }
        self.len = old.len;
    }
}

impl Seen {
    /// With room for at most about so many bytes. `priced`: each has a price.
    pub(super) fn new(most_bytes: usize, when_full: WhenFull, priced: bool) -> Self {
        let parts = (0..PARTS).map(|_| Mutex::new(Part::new(FIRST_SLOTS, priced))).collect();
        let bytes = PARTS * (size_of::<Mutex<Part>>() + Part::bytes_of(FIRST_SLOTS, priced));
        let (bytes, dropped) = (AtomicUsize::new(bytes), AtomicU64::new(0));
        Self { parts, priced, most_bytes, when_full, bytes, dropped }
    }

    /// All of it, to be saved.
    pub(super) fn save(&self) -> Vec<(Vec<u64>, Vec<u8>)> {
        let save = |part: &Mutex<Part>| {
            let part = part.lock().unwrap_or_else(PoisonError::into_inner);
            (part.slots.clone(), part.prices.clone())
        };
        self.parts.iter().map(save).collect()
    }

    /// As it was saved, with so many that were not kept. `None` if that is no such table.
    pub(super) fn restored(
        mut self,
        saved: Vec<(Vec<u64>, Vec<u8>)>,
        dropped: u64,
    ) -> Option<Self> {
        if saved.len() != PARTS {
            return None;
        }
        let mut bytes = PARTS * size_of::<Mutex<Part>>();
        let mut parts = Vec::with_capacity(PARTS);
        for (nth, (slots, prices)) in saved.into_iter().enumerate() {
            let len = slots.iter().filter(|&&key| key != 0).count();
            let priced = if self.priced { slots.len() } else { 0 };
            if slots.len() < FIRST_SLOTS || len * 5 > slots.len() * 4 || prices.len() != priced {
                return None;
            }
            bytes += Part::bytes_of(slots.len(), self.priced);
            let part = Part { slots, prices, len };
            let is_found = |(at, &key): (usize, &u64)| {
                let of_part = (key >> (64 - PARTS.ilog2())) as usize == nth;
                key == 0 || of_part && part.find(key) == at
            };
            if !part.slots.iter().enumerate().all(is_found) {
                return None;
            }
            parts.push(Mutex::new(part));
        }
        self.parts = parts.into();
        (self.bytes, self.dropped) = (AtomicUsize::new(bytes), AtomicU64::new(dropped));
        Some(self)
    }

    fn key(fingerprint: u64) -> u64 {
        fingerprint.max(1)
    }

    fn part(&self, key: u64) -> MutexGuard<'_, Part> {
        let part = &self.parts[(key >> (64 - PARTS.ilog2())) as usize];
        part.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A state is met at a price, which is 0 where states have none.
    #[inline]
    pub(super) fn meet(&self, fingerprint: u64, price: u8) -> Met {
        let key = Self::key(fingerprint);
        let mut part = self.part(key);
        let mut at = part.find(key);
        if part.slots[at] == key {
            return match part.prices.get_mut(at) {
                Some(known) if price < *known => {
                    *known = price;
                    Met::Cheaper
                }
                _ => Met::Known,
            };
        }
        if (part.len + 1) * 5 > part.slots.len() * 4 {
            let slots = part.slots.len() * 7 / 5;
            let (before, after) = (part.slots.len(), slots);
            let more = Part::bytes_of(after, self.priced) - Part::bytes_of(before, self.priced);
            if self.bytes.load(Ordering::Relaxed) + more > self.most_bytes {
                return self.refuse(&mut part, key, price);
            }
            self.bytes.fetch_add(more, Ordering::Relaxed);
            part.grow(slots);
            at = part.find(key);
        }
        part.slots[at] = key;
        if let Some(new) = part.prices.get_mut(at) {
            *new = price;
        }
        part.len += 1;
        Met::New
    }

    /// Takes a state that was met at this price and is to be gone on from. `false` if it was met at a lower one since, or
    /// gone on from.
    #[inline]
    pub(super) fn claim(&self, fingerprint: u64, price: u8) -> bool {
        let key = Self::key(fingerprint);
        let mut part = self.part(key);
        let at = part.find(key);
        if part.slots[at] != key {
            // It was not kept.
            return true;
        }
        let claimed = part.prices[at] == price;
        if claimed {
            part.prices[at] = 0;
        }
        claimed
    }

    #[cold]
    fn refuse(&self, part: &mut Part, key: u64, price: u8) -> Met {
        match self.when_full {
            WhenFull::Stop => return Met::Full,
            WhenFull::Refuse => {}
            WhenFull::Replace => {
                // The place before the first free one that it could have: nothing comes after it that is
                // found by way of it. If its first place is free there is none, and it is not kept.
                let free = part.find(key);
                if free != part.home(key) {
                    let at = free.checked_sub(1).unwrap_or(part.slots.len() - 1);
                    part.slots[at] = key;
                    if let Some(known) = part.prices.get_mut(at) {
                        *known = price;
                    }
                }
            }
        }
        self.dropped.fetch_add(1, Ordering::Relaxed);
        Met::New
    }

    /// From now on nothing that was seen is met at a lower price.
    pub(super) fn settle(&self) {
        for part in &self.parts {
            part.lock().unwrap_or_else(PoisonError::into_inner).prices.fill(0);
        }
    }

    /// How many states have the price 0, those that were not kept included.
    pub(super) fn free(&self) -> u64 {
        let free = |part: &Mutex<Part>| {
            let part = part.lock().unwrap_or_else(PoisonError::into_inner);
            let slots = part.slots.iter().zip(&part.prices);
            slots.filter(|(key, price)| **key != 0 && **price == 0).count() as u64
        };
        self.parts.iter().map(free).sum::<u64>() + self.dropped()
    }

    /// How many states it has.
    pub(super) fn len(&self) -> u64 {
        let len = |part: &Mutex<Part>| part.lock().unwrap_or_else(PoisonError::into_inner).len;
        self.parts.iter().map(|part| len(part) as u64).sum()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// How many states were not kept, or gave their place to others.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix;

    #[test]
    fn a_state_takes_at_most_sixteen_bytes() {
        for priced in [false, true] {
            let seen = Seen::new(usize::MAX, WhenFull::Stop, priced);
            for n in 0..2_000_000 {
                assert_eq!(seen.meet(mix(n), 1), Met::New);
                if n >= 20_000 && n.is_multiple_of(997) {
                    assert!(seen.bytes() as u64 <= 16 * (n + 1), "{} for {n}", seen.bytes());
                }
            }
            assert_eq!(seen.len(), 2_000_000);
            assert_eq!(seen.meet(mix(77), 1), Met::Known);
            assert_eq!(seen.meet(mix(77), 0), if priced { Met::Cheaper } else { Met::Known });
        }
    }

    #[test]
    fn a_state_is_claimed_once_and_at_its_lowest_price() {
        let seen = Seen::new(usize::MAX, WhenFull::Stop, true);
        assert_eq!(
            (seen.meet(7, 9), seen.meet(7, 4), seen.meet(7, 4)),
            (Met::New, Met::Cheaper, Met::Known)
        );
        assert!(!seen.claim(7, 9));
        assert!(seen.claim(7, 4));
        assert!(!seen.claim(7, 4));
        assert_eq!(seen.meet(7, 1), Met::Known);
    }

    #[test]
    fn what_was_saved_is_there_and_what_is_damaged_is_refused() {
        for priced in [false, true] {
            let new = || Seen::new(usize::MAX, WhenFull::Stop, priced);
            let seen = new();
            assert!((0..10_000).all(|n| seen.meet(mix(n), 3) == Met::New));
            let again = new().restored(seen.save(), 7).expect("it was saved by one like it");
            assert_eq!((again.len(), again.bytes(), again.dropped()), (10_000, seen.bytes(), 7));
            assert!((0..10_000).all(|n| again.meet(mix(n), 3) == Met::Known));
            assert_eq!(again.meet(mix(77), 1), if priced { Met::Cheaper } else { Met::Known });
            assert_eq!(again.meet(mix(10_000), 3), Met::New);
            let mut other = seen.save();
            other[5].0.rotate_left(1);
            assert!(new().restored(other, 0).is_none());
            assert!(new().restored(seen.save()[1..].to_vec(), 0).is_none());
        }
    }

    #[test]
    fn a_table_that_is_full_does_as_it_is_told() {
        let met = |when_full| {
            let seen = Seen::new(20_000, when_full, false);
            let first = (0..10_000).map(|n| seen.meet(mix(n), 0)).collect::<Vec<_>>();
            let again = (0..10_000).map(|n| seen.meet(mix(n), 0)).collect::<Vec<_>>();
            let count = |all: &[Met], what| all.iter().filter(|met| **met == what).count();
            assert!(seen.bytes() <= 20_000);
            (count(&first, Met::New), count(&again, Met::Known), seen.dropped())
        };
        let (new, known, dropped) = met(WhenFull::Stop);
        assert!(new < 2_500 && known == new && dropped == 0, "{new} {known}");
        let (new, known, dropped) = met(WhenFull::Refuse);
        assert!(new == 10_000 && known > 1_000 && dropped > 7_500, "{known} {dropped}");
        let (new, _, dropped) = met(WhenFull::Replace);
        assert!(new == 10_000 && dropped > 7_500, "{dropped}");
    }
}
