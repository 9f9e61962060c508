//! What a step touches besides its actor, as the engine's `Step::shared_resources` has it: a set of bits, of which any two steps that
//! share one depend on each other.
//!
//! A thing has a bit to itself if it is of one of the first actors that the test itself makes, or one of the first monitors or
//! observers. All others share the bits that are left: strangers may then depend on each other, which costs
//! executions and misses none. A bit must mean the same in every execution, so it goes by names and not by the order in
//! which things came about.

use crate::hash::mix;

/// A set of things.
pub(crate) type Things = u128;

/// How many actors of the test have bits of their own.
const ACTORS: u32 = 32;
const MONITORS: u32 = 8;
const LOOKS: u32 = 4;
/// Where the shared bits begin.
const SHARED: u32 = 2 * ACTORS + MONITORS + LOOKS;

/// The bit of tests that count steps, or look at the whole system after each.
pub(crate) const ALL: Things = 1 << 127;
/// How many crashes have bits of their own.
const CRASHES: u32 = 4;
/// What steps that create actors touch for crashes, whose victims are chosen by number: a bit of each crash.
pub(crate) const CENSUS: Things = ((1 << CRASHES) - 1) << (127 - CRASHES);

/// One of the shared bits.
fn shared(name: u64) -> Things {
    let bits = CENSUS.trailing_zeros() - SHARED;
    1 << (SHARED + (mix(name) % u64::from(bits)) as u32)
}

/// The path of the test, which is the parent of the first actors.
pub(crate) const TEST_PATH: u64 = 1;

/// The path of an actor's child, by how many children it had before.
pub(crate) const fn child_path(parent: u64, nth: u32) -> u64 {
    mix(parent ^ mix(nth as u64 + 1))
}

/// The paths of the actors that have bits of their own.
const FIRST_PATHS: [u64; ACTORS as usize] = {
    let mut paths = [0; ACTORS as usize];
    let mut nth = 0;
    while nth < ACTORS {
        paths[nth as usize] = child_path(TEST_PATH, nth);
        nth += 1;
    }
    paths
};

/// What there is of an actor to be touched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActorThings {
    /// Its mailbox.
    pub(crate) mailbox: Things,
    /// Its timers, and that it may crash.
    pub(crate) own: Things,
}

impl ActorThings {
    /// Of the actor with this path.
    pub(crate) fn new(path: u64) -> Self {
        match FIRST_PATHS.iter().position(|first| *first == path) {
            Some(nth) => Self { mailbox: 1 << nth, own: 1 << (ACTORS as usize + nth) },
            None => Self { mailbox: shared(path ^ 2), own: shared(path ^ 3) },
        }
    }
}

/// The bit of a monitor.
pub(crate) fn monitor(index: u32) -> Things {
    if index < MONITORS { 1 << (2 * ACTORS + index) } else { shared(u64::from(index) << 32 | 1) }
}

/// What a crash touches besides its victim: how many actors there are. Two crashes read that and do not change it, so they
/// share no bit, unless there are many.
pub(crate) fn census(nth: u32) -> Things {
    1 << (CENSUS.trailing_zeros() + nth % CRASHES)
}

/// The bit of something that looks at some actors after each of their steps.
pub(crate) fn look(index: u32) -> Things {
    if index < LOOKS {
        1 << (2 * ACTORS + MONITORS + index)
    } else {
        shared(u64::from(index) ^ 19 << 40)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_bit_of_its_own_shares_it_with_nothing() {
        let mut all = ALL;
        let mut is_new = |things: Things| {
            assert_eq!((things.count_ones(), all & things), (1, 0));
            all |= things;
        };
        for nth in 0..ACTORS {
            let ActorThings { mailbox, own } = ActorThings::new(child_path(TEST_PATH, nth));
            is_new(mailbox);
            is_new(own);
        }
        (0..MONITORS).for_each(|index| is_new(monitor(index)));
        (0..LOOKS).for_each(|index| is_new(look(index)));
        (0..CRASHES).for_each(|nth| is_new(census(nth)));
        assert_eq!(CENSUS, (0..2 * CRASHES).fold(0, |bits, nth| bits | census(nth)));
        // Those that have none share what is left.
        let grandchild = child_path(child_path(TEST_PATH, 0), 0);
        let ActorThings { mailbox, own } = ActorThings::new(grandchild);
        let others = [mailbox, own, ActorThings::new(child_path(TEST_PATH, ACTORS)).mailbox];
        for thing in others.into_iter().chain([monitor(MONITORS), look(LOOKS)]) {
            assert_eq!((thing.count_ones(), all & thing), (1, 0));
        }
    }
}
