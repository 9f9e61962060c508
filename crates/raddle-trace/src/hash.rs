//! The two hash functions of raddle, both of which give the same numbers on every machine.
//!
//! [`mix`] spreads the bits of a number: the random numbers of samplers, names of tasks as numbers,
//! fingerprints of traces. [`fnv1a`] hashes bytes: checksums of saved states, the steps of a
//! schedule, lines of source. Schedules, saved regressions and pinned counts contain their values, so
//! neither may change. Neither withstands an adversary who looks for collisions.

/// The odd number nearest to 2^64 divided by the golden ratio: how far the state of [`mix`]'s
/// generator moves from one number to the next.
pub const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output of `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014) from this state: a bijection that
/// turns close numbers into unrelated ones.
#[inline]
#[must_use]
pub const fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(GAMMA);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// FNV-1a (Fowler, Noll and Vo) with 64 bits, over bytes that come in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fnv1a(u64);

impl Fnv1a {
    /// The hash of no bytes.
    #[must_use]
    pub const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds bytes at the end.
    pub fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// The hash of all bytes that were added.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }
}

impl Default for Fnv1a {
    fn default() -> Self {
        Self::new()
    }
}

/// The FNV-1a hash of these bytes.
#[must_use]
pub fn fnv1a(bytes: &[u8]) -> u64 {
    let mut hash = Fnv1a::new();
    hash.add(bytes);
    hash.value()
}

#[cfg(test)]
mod tests {
    use super::*;

    // The first outputs of the published SplitMix64 from state 0.
    #[test]
    fn mix_is_the_published_function() {
        let states = [0, GAMMA, GAMMA.wrapping_mul(2)];
        let expected = [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f];
        assert_eq!(states.map(mix), expected);
    }

    // From the test suite that its authors published.
    #[test]
    fn fnv1a_is_the_published_function() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn bytes_may_come_in_parts() {
        let mut hash = Fnv1a::default();
        hash.add(b"foo");
        hash.add(b"");
        hash.add(b"bar");
        assert_eq!(hash.value(), fnv1a(b"foobar"));
    }
}
