//! The options of a point in the order in which they are tried, and what they cost.

use raddle_engine::strategy::Taken;
use serde::{Deserialize, Serialize};

use crate::bound::Price;
use crate::path::Decision;

/// The options of a point by rank: the default one is tried first, then the others ascending.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Ranked {
    of: u32,
    default: u32,
    rank: u32,
    price: Price,
}

const _: () = assert!(size_of::<Ranked>() <= 16, "these are what a deep search holds");

impl Ranked {
    pub(crate) fn new(of: u32, default: u32, price: Price) -> Self {
        assert!(default < of, "an order takes one of the options");
        Self { of, default, rank: 0, price }
    }

    /// A point at which this option is taken, and no other will be.
    pub(crate) fn fixed(taken: Taken) -> Self {
        Self { of: taken.of, default: taken.option, rank: 0, price: Price::Free }
    }

    /// The rank of the option that is taken.
    #[inline]
    pub(crate) fn rank(self) -> u32 {
        self.rank
    }

    pub(crate) fn set_rank(&mut self, rank: u32) {
        self.rank = rank;
    }

    /// Whether leaving the default option costs something.
    pub(crate) fn is_free(self) -> bool {
        self.price == Price::Free
    }

    /// What the option that is taken costs.
    #[inline]
    pub(crate) fn cost(self) -> u32 {
        self.price.cost(self.rank)
    }

    /// How many options can be tried if so much is left to spend.
    #[inline]
    pub(crate) fn within(self, spare: u32) -> u32 {
        self.price.within(spare, self.of)
    }
}

impl Decision for Ranked {
    fn of(&self) -> u32 {
        self.of
    }

    #[inline]
    fn option(&self) -> u32 {
        match self.rank {
            0 => self.default,
            rank if rank <= self.default => rank - 1,
            rank => rank,
        }
    }

    fn is_valid(&self) -> bool {
        self.default < self.of && self.rank < self.of
    }
}
