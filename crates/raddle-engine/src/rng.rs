//! The generator that all strategies draw from, and the engine for those that only want a number.
//!
//! `SplitMix64`: Steele, Lea and Flood, OOPSLA 2014. One word of state, so that it is saved as one
//! number. One deviation from the paper: the seed is mixed before use, so that the sequences of
//! neighbouring seeds do not overlap early. Not for secrets.

use raddle_trace::hash::{GAMMA, mix};

/// A small deterministic generator: the same numbers on every machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// The generator of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: mix(seed) }
    }

    /// The next 64 bits.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "an iterator would be of options")]
    pub fn next(&mut self) -> u64 {
        let drawn = mix(self.state);
        self.state = self.state.wrapping_add(GAMMA);
        drawn
    }

    /// A number below `n`; 0 if `n` is 0.
    ///
    /// By multiplication instead of rejection: some numbers come up too often, by a factor of at
    /// most `1 + n / 2^32`. For the arities of decision points that cannot be noticed.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        (((self.next() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// The state, from which [`from_state`](Self::from_state) goes on.
    #[must_use]
    pub fn state(&self) -> u64 {
        self.state
    }

    /// Goes on where a generator with this state would.
    #[must_use]
    pub fn from_state(state: u64) -> Self {
        Self { state }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The first outputs of the published SplitMix64 from state 0.
    #[test]
    fn the_sequence_is_the_published_one() {
        let mut rng = Rng::from_state(0);
        let drawn = [rng.next(), rng.next(), rng.next()];
        assert_eq!(drawn, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
    }

    // 60,000 draws in 6 cells: the deviation of a cell is 91, so 600 is more than six of them.
    #[test]
    fn every_number_below_the_bound_comes_up_equally_often() {
        let mut rng = Rng::new(1);
        let mut cells = [0_i32; 6];
        for _ in 0..60_000 {
            cells[rng.below(6) as usize] += 1;
        }
        assert!(cells.iter().all(|&n| (n - 10_000).abs() < 600), "{cells:?}");
    }

    #[test]
    fn the_extreme_bounds_are_kept() {
        let mut rng = Rng::new(2);
        for _ in 0..1_000 {
            assert_eq!(rng.below(0), 0);
            assert_eq!(rng.below(1), 0);
            assert!(rng.below(u32::MAX) < u32::MAX);
        }
    }

    #[test]
    fn a_saved_generator_goes_on_where_it_was() {
        let mut rng = Rng::new(3);
        rng.next();
        let mut other = Rng::from_state(rng.state());
        assert_eq!(rng.next(), other.next());
    }

    #[test]
    fn neighbouring_seeds_draw_different_numbers() {
        let firsts: std::collections::BTreeSet<_> =
            (0..1_000).map(|seed| Rng::new(seed).next()).collect();
        assert_eq!(firsts.len(), 1_000);
    }
}
