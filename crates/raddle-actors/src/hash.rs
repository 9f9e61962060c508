//! Names of things as numbers, and fingerprints of their states.

use std::cell::{Cell, RefCell};
use std::hash::Hasher;

/// By how much the state of splitmix64 grows from one number to the next.
pub(crate) const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output of splitmix64 from this state. The same function as `raddle_trace::hash::mix`, written
/// again: in production this crate depends on nothing.
#[inline]
pub(crate) const fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(GAMMA);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// A hasher whose results are the same in every process that runs the same binary.
///
/// Each word is multiplied in and the two halves of the product are folded, as in wyhash. It is not
/// meant to resist an attacker who looks for collisions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fingerprint(u64);

const SEED: u64 = 0x243f_6a88_85a3_08d3;
const FACTOR: u64 = 0x9fb2_1c65_1e98_df25;

impl Fingerprint {
    #[inline]
    pub(crate) fn new() -> Self {
        Self(SEED)
    }
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

impl Hasher for Fingerprint {
    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.write_u64(u64::from_le_bytes(word.try_into().expect("eight bytes")));
        }
        let rest = words.remainder();
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.write_u64(u64::from_le_bytes(word) ^ (rest.len() as u64) << 59);
        }
    }

    #[inline]
    fn write_u8(&mut self, n: u8) {
        self.write_u64(n.into());
    }

    #[inline]
    fn write_u16(&mut self, n: u16) {
        self.write_u64(n.into());
    }

    #[inline]
    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }

    #[inline]
    fn write_u64(&mut self, n: u64) {
        self.0 = fold(self.0 ^ n, FACTOR).wrapping_add(SEED);
    }

    #[inline]
    fn write_u128(&mut self, n: u128) {
        self.write_u64(n as u64);
        self.write_u64((n >> 64) as u64);
    }

    #[inline]
    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        mix(self.0)
    }
}

/// How timers are hashed.
#[derive(Clone, Debug)]
enum Timers {
    /// By their numbers.
    Numbers,
    /// By their places among these, which are those of one actor that have not fired, in order.
    Places(Vec<u32>),
}

thread_local! {
    static TIMERS: RefCell<Timers> = const { RefCell::new(Timers::Numbers) };
    /// Whether one was hashed by its number.
    static NUMBERED: Cell<bool> = const { Cell::new(false) };
}

/// What stands for a timer in a state: its place among those that have not fired. All that have are
/// alike: nothing can be done with one. Outside of `ranked` its number.
///
/// `Misses:` an actor that keeps two timers which have fired, and compares them.
pub(crate) fn rank(timer: u32) -> u32 {
    TIMERS.with_borrow(|timers| match timers {
        Timers::Numbers => {
            NUMBERED.set(true);
            timer
        }
        Timers::Places(pending) => {
            pending.binary_search(&timer).map_or(u32::MAX, |place| place as u32)
        }
    })
}

/// Hashes the state of an actor with these timers.
#[cfg(feature = "check")]
pub(crate) fn ranked<T>(pending: Vec<u32>, hash: impl FnOnce() -> T) -> T {
    TIMERS.set(Timers::Places(pending));
    let result = hash();
    TIMERS.set(Timers::Numbers);
    result
}

/// Whether a timer was hashed by its number since this was asked last.
#[cfg(feature = "check")]
pub(crate) fn take_numbered() -> bool {
    NUMBERED.replace(false)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::hash::Hash;

    use super::*;

    fn of(value: impl Hash) -> u64 {
        let mut hasher = Fingerprint::new();
        value.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn mix_is_that_of_the_other_crates() {
        assert_eq!(GAMMA, raddle_trace::hash::GAMMA);
        for state in [0, 1, GAMMA, u64::MAX] {
            assert_eq!(mix(state), raddle_trace::hash::mix(state));
        }
    }

    // 2^17 values: the chance of a collision is below 2^33 / 2^64.
    #[test]
    fn small_values_have_different_fingerprints() {
        let words = (0..1u64 << 16).map(of);
        let pairs = (0..1u32 << 8).flat_map(|a| (0..1u32 << 8).map(move |b| of((a, b, 0u8))));
        let all: BTreeSet<u64> = words.chain(pairs).collect();
        assert_eq!(all.len(), 1 << 17);
    }

    #[test]
    fn lengths_and_orders_count() {
        let texts = ["", "a", "ab", "ba", "a\0", "abcdefgh", "abcdefgh\0", "abcdefghi"];
        let all: BTreeSet<u64> = texts.iter().map(of).collect();
        assert_eq!(all.len(), texts.len());
        assert_ne!(of((vec![1u8], vec![2u8, 3])), of((vec![1u8, 2], vec![3u8])));
    }
}
