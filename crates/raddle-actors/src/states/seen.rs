//! What has been seen: a table of fingerprints that the threads of a search share.
//!
//! A state is a key of 8 bytes and, where a search asks for it, a price of one byte. Keys are in lines of the size that a
//! processor fetches at once, eight in a line, or seven and their prices: so to meet a state takes one access to memory that
//! is far away. The table is in parts with a lock each, which grow by themselves: then only one part is there twice for a
//! moment. Parts are between 3/5 and 4/5 full once they have grown, so that a state takes at most 15.3 bytes.
//!
//! Where a state came from is not kept: the way to a violation is found again by searching again.

use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A power of two.
const PARTS: usize = 64;
const FIRST_LINES: usize = 2;

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
    /// By part, where its lines are and how many: so that one can be fetched ahead without the lock.
    lines: Box<[Lines]>,
    priced: bool,
    most_bytes: usize,
    when_full: WhenFull,
    bytes: AtomicUsize,
    dropped: AtomicU64,
}

/// Keys, and in the last word of a line with prices the price of each, one byte after the other.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// How many keys a line with prices has.
const PRICED: usize = 7;

impl Line {
    const EMPTY: Self = Self([0; 8]);

    /// 0 is no key.
    #[inline]
    fn key(&self, place: usize) -> u64 {
        self.0[place]
    }

    #[inline]
    fn price(&self, place: usize) -> u8 {
        (self.0[PRICED] >> (8 * place)) as u8
    }

    #[inline]
    fn set_price(&mut self, place: usize, price: u8) {
        let shift = 8 * place;
        self.0[PRICED] = self.0[PRICED] & !(0xff << shift) | u64::from(price) << shift;
    }
}

struct Part {
    lines: Vec<Line>,
    priced: bool,
    len: usize,
}

/// Where a key is: in which line, and where in it.
type Place = (usize, usize);

impl Part {
    fn new(lines: usize, priced: bool) -> Self {
        Self { lines: vec![Line::EMPTY; lines], priced, len: 0 }
    }

    /// How many keys a line has.
    #[inline]
    fn width(&self) -> usize {
        width(self.priced)
    }

    /// How many keys there is room for.
    fn slots(&self) -> usize {
        self.lines.len() * self.width()
    }

    /// Where this key is looked for first. The first bits of a key say which part it is in.
    #[inline]
    fn home(&self, key: u64) -> Place {
        let (line, within) = home_line(key, self.lines.len());
        let place = u128::from(within) * self.width() as u128;
        (line, (place >> 64) as usize)
    }

    /// Where this key is, or where it would be.
    #[inline]
    fn find(&self, key: u64) -> Place {
        let (mut line, mut place) = self.home(key);
        loop {
            let found = self.lines[line].key(place);
            if found == key || found == 0 {
                return (line, place);
            }
            place += 1;
            if place == self.width() {
                (line, place) = (line + 1, 0);
                if line == self.lines.len() {
                    line = 0;
                }
            }
        }
    }

    /// The place before this one.
    fn before(&self, (line, place): Place) -> Place {
        match (line, place.checked_sub(1)) {
            (line, Some(before)) => (line, before),
            (0, None) => (self.lines.len() - 1, self.width() - 1),
            (line, None) => (line - 1, self.width() - 1),
        }
    }

    #[inline]
    fn set(&mut self, (line, place): Place, key: u64, price: u8) {
        self.lines[line].0[place] = key;
        if self.priced {
            self.lines[line].set_price(place, price);
        }
    }

    /// All keys in their order, 0 where there is none, with their prices, which are 0 where there are none.
    fn each(&self) -> impl Iterator<Item = (u64, u8)> {
        let of =
            |line: &Line, place| (line.key(place), if self.priced { line.price(place) } else { 0 });
        self.lines.iter().flat_map(move |line| (0..self.width()).map(move |at| of(line, at)))
    }

    fn grow(&mut self, lines: usize) {
        let old = std::mem::replace(self, Self::new(lines, self.priced));
        for line in &old.lines {
            for place in 0..self.width() {
                let key = line.key(place);
                if key != 0 {
                    let at = self.find(key);
                    let price = if self.priced { line.price(place) } else { 0 };
                    self.set(at, key, price);
                }
            }
        }
        self.len = old.len;
    }
}

/// The line of a part with so many in which a key is looked for first, and how far on in it from 0 to 2^64.
#[inline]
fn home_line(key: u64, lines: usize) -> (usize, u64) {
    let line = u128::from(key << PARTS.ilog2()) * lines as u128;
    ((line >> 64) as usize, line as u64)
}

fn width(priced: bool) -> usize {
    if priced { PRICED } else { size_of::<Line>() / size_of::<u64>() }
}

/// The part that a key is in.
#[inline]
fn part_of(key: u64) -> usize {
    (key >> (64 - PARTS.ilog2())) as usize
}

/// Where the lines of a part are, and how many.
type Lines = (AtomicPtr<Line>, AtomicUsize);

/// Parts as threads share them, with where their lines are.
fn shared(mut parts: Vec<Part>) -> (Box<[Mutex<Part>]>, Box<[Lines]>) {
    let lines = |part: &mut Part| {
        (AtomicPtr::new(part.lines.as_mut_ptr()), AtomicUsize::new(part.lines.len()))
    };
    let lines = parts.iter_mut().map(lines).collect();
    (parts.into_iter().map(Mutex::new).collect(), lines)
}

/// Has the processor fetch the line that an address is in, because it is soon needed.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[expect(unsafe_code, reason = "there is no safe function for it")]
#[inline]
pub(super) fn fetch<T>(address: *const T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: it is a hint, which nothing depends on: an address at which there is nothing any more is passed over.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(super) fn fetch<T>(_: *const T) {}

/// What was saved of one part: its keys, and their prices if they have any.
type SavedPart = (Vec<u64>, Vec<u8>);

impl Seen {
    /// With room for at most about so many bytes. `priced`: each has a price.
    pub(super) fn new(most_bytes: usize, when_full: WhenFull, priced: bool) -> Self {
        let parts = (0..PARTS).map(|_| Part::new(FIRST_LINES, priced)).collect();
        let (parts, lines) = shared(parts);
        let bytes = PARTS * (size_of::<Mutex<Part>>() + FIRST_LINES * size_of::<Line>());
        let (bytes, dropped) = (AtomicUsize::new(bytes), AtomicU64::new(0));
        Self { parts, lines, priced, most_bytes, when_full, bytes, dropped }
    }

    /// All of it, to be saved.
    pub(super) fn save(&self) -> Vec<SavedPart> {
        let save = |part: &Mutex<Part>| {
            let part = part.lock().unwrap_or_else(PoisonError::into_inner);
            let (keys, prices): SavedPart = part.each().unzip();
            (keys, if self.priced { prices } else { Vec::new() })
        };
        self.parts.iter().map(save).collect()
    }

    /// As it was saved, with so many that were not kept. `None` if that is no such table.
    pub(super) fn restored(mut self, saved: Vec<SavedPart>, dropped: u64) -> Option<Self> {
        if saved.len() != PARTS {
            return None;
        }
        let mut bytes = PARTS * size_of::<Mutex<Part>>();
        let mut parts = Vec::with_capacity(PARTS);
        for (nth, (keys, mut prices)) in saved.into_iter().enumerate() {
            let (len, width) = (keys.iter().filter(|key| **key != 0).count(), width(self.priced));
            let has_prices = prices.len() == if self.priced { keys.len() } else { 0 };
            let is_whole = keys.len() >= FIRST_LINES * width && keys.len().is_multiple_of(width);
            if !has_prices || !is_whole || len * 5 > keys.len() * 4 {
                return None;
            }
            let mut part = Part { len, ..Part::new(keys.len() / width, self.priced) };
            prices.resize(keys.len(), 0);
            for (at, (&key, &price)) in keys.iter().zip(&prices).enumerate() {
                part.set((at / width, at % width), key, price);
            }
            let is_found = |(at, &key): (usize, &u64)| {
                let of_part = part_of(key) == nth;
                key == 0 || of_part && part.find(key) == (at / width, at % width)
            };
            if !keys.iter().enumerate().all(is_found) {
                return None;
            }
            bytes += part.lines.len() * size_of::<Line>();
            parts.push(part);
        }
        (self.parts, self.lines) = shared(parts);
        (self.bytes, self.dropped) = (AtomicUsize::new(bytes), AtomicU64::new(dropped));
        Some(self)
    }

    fn key(fingerprint: u64) -> u64 {
        fingerprint.max(1)
    }

    #[inline]
    fn part(&self, key: u64) -> MutexGuard<'_, Part> {
        self.parts[part_of(key)].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the processor fetch what it takes to meet a state, which is soon.
    #[inline]
    pub(super) fn fetch(&self, fingerprint: u64) {
        let key = Self::key(fingerprint);
        let (first, count) = &self.lines[part_of(key)];
        let (line, _) = home_line(key, count.load(Ordering::Relaxed));
        fetch(first.load(Ordering::Relaxed).wrapping_add(line));
    }

    /// A state is met at a price, which is 0 where states have none.
    #[inline]
    pub(super) fn meet(&self, fingerprint: u64, price: u8) -> Met {
        let key = Self::key(fingerprint);
        let mut part = self.part(key);
        let mut at = part.find(key);
        let (line, place) = at;
        if part.lines[line].key(place) == key {
            if !part.priced || part.lines[line].price(place) <= price {
                return Met::Known;
            }
            part.lines[line].set_price(place, price);
            return Met::Cheaper;
        }
        if (part.len + 1) * 5 > part.slots() * 4 {
            let lines = part.lines.len();
            let more = (lines / 3).max(1);
            if self.bytes.load(Ordering::Relaxed) + more * size_of::<Line>() > self.most_bytes {
                return self.refuse(&mut part, key, price);
            }
            self.bytes.fetch_add(more * size_of::<Line>(), Ordering::Relaxed);
            part.grow(lines + more);
            let (first, count) = &self.lines[part_of(key)];
            first.store(part.lines.as_mut_ptr(), Ordering::Relaxed);
            count.store(part.lines.len(), Ordering::Relaxed);
            at = part.find(key);
        }
        part.set(at, key, price);
        part.len += 1;
        Met::New
    }

    /// Takes a state that was met at this price and is to be gone on from. `false` if it was met at a lower one since, or
    /// gone on from.
    #[inline]
    pub(super) fn claim(&self, fingerprint: u64, price: u8) -> bool {
        let key = Self::key(fingerprint);
        let mut part = self.part(key);
        let (line, place) = part.find(key);
        let line = &mut part.lines[line];
        if line.key(place) != key {
            // It was not kept.
            return true;
        }
        let claimed = line.price(place) == price;
        if claimed {
            line.set_price(place, 0);
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
                    let at = part.before(free);
                    part.set(at, key, price);
                }
            }
        }
        self.dropped.fetch_add(1, Ordering::Relaxed);
        Met::New
    }

    /// From now on nothing that was seen is met at a lower price.
    pub(super) fn settle(&self) {
        for part in &self.parts {
            let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
            if part.priced {
                part.lines.iter_mut().for_each(|line| line.0[PRICED] = 0);
            }
        }
    }

    /// How many states have the price 0, those that were not kept included.
    pub(super) fn free(&self) -> u64 {
        let free = |part: &Mutex<Part>| {
            let part = part.lock().unwrap_or_else(PoisonError::into_inner);
            part.each().filter(|(key, price)| *key != 0 && *price == 0).count() as u64
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
