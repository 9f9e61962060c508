//! Seeds: options that are known and were not taken, and which of them is next.

use std::collections::{BTreeMap, VecDeque};

use crate::estimate::Kind;
use crate::rng::Rng;

/// Which seed is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frontier {
    /// The one with the fewest decisions before it; of those, the one found first.
    Breadth,
    /// Any, with the same chance.
    Random,
}

impl Frontier {
    /// As the registry names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Breadth => "breadth-first",
            Self::Random => "random",
        }
    }

    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Breadth => Kind::Breadth,
            Self::Random => Kind::Random,
        }
    }
}

/// An option that was not taken yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seed {
    pub(super) node: u32,
    pub(super) option: u32,
}

const _: () = assert!(size_of::<Seed>() <= 16, "seeds are what a wide search holds");

/// The known seeds.
#[derive(Clone, Debug)]
pub(super) enum Seeds {
    /// By depth, in the order in which they were found.
    Breadth {
        levels: BTreeMap<u32, VecDeque<Seed>>,
        len: usize,
    },
    Random {
        seeds: Vec<Seed>,
        rng: Rng,
    },
}

impl Seeds {
    pub(super) fn new(frontier: Frontier, seed: u64) -> Self {
        match frontier {
            Frontier::Breadth => Self::Breadth { levels: BTreeMap::new(), len: 0 },
            Frontier::Random => Self::Random { seeds: Vec::new(), rng: Rng::new(seed) },
        }
    }

    pub(super) fn frontier(&self) -> Frontier {
        match self {
            Self::Breadth { .. } => Frontier::Breadth,
            Self::Random { .. } => Frontier::Random,
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Breadth { len, .. } => *len,
            Self::Random { seeds, .. } => seeds.len(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let entries = match self {
            Self::Breadth { levels, .. } => levels.values().map(VecDeque::capacity).sum(),
            Self::Random { seeds, .. } => seeds.capacity(),
        };
        entries * size_of::<Seed>()
    }

    pub(super) fn push(&mut self, depth: u32, seed: Seed) {
        match self {
            Self::Breadth { levels, len } => {
                levels.entry(depth).or_default().push_back(seed);
                *len += 1;
            }
            Self::Random { seeds, .. } => seeds.push(seed),
        }
    }

    /// The next one to run.
    pub(super) fn pop(&mut self) -> Option<Seed> {
        match self {
            Self::Breadth { levels, len } => {
                let mut entry = levels.first_entry()?;
                let seed = entry.get_mut().pop_front()?;
                if entry.get().is_empty() {
                    entry.remove();
                }
                *len -= 1;
                Some(seed)
            }
            Self::Random { seeds, rng } => {
                let n = u32::try_from(seeds.len()).unwrap_or(u32::MAX);
                (n > 0).then(|| seeds.swap_remove(rng.below(n) as usize))
            }
        }
    }

    /// One with few decisions before it, to be given away: what follows is large.
    pub(super) fn shallowest(&mut self, depth: impl Fn(&Seed) -> u32) -> Option<Seed> {
        match self {
            Self::Breadth { .. } => self.pop(),
            Self::Random { seeds, .. } => {
                let (at, _) = seeds.iter().enumerate().min_by_key(|(_, seed)| depth(seed))?;
                Some(seeds.swap_remove(at))
            }
        }
    }

    /// All, in an order in which pushing them gives the same again.
    pub(super) fn iter(&self) -> Box<dyn Iterator<Item = Seed> + '_> {
        match self {
            Self::Breadth { levels, .. } => Box::new(levels.values().flatten().copied()),
            Self::Random { seeds, .. } => Box::new(seeds.iter().copied()),
        }
    }
}
