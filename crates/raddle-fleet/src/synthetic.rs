//! A search whose result is known: a tree of any size with leaves that are counted and summed up.
//!
//! For tests of queues and for the simulation of fleets. A node is a number of leaves and a seed, from which its children
//! follow; so a unit of a billion leaves is a few bytes, and whatever order it is searched in, by
//! however many workers, the count and the sum are the same. Children are of very different sizes, as in real searches.

use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use crate::pace::Slice;
use crate::record::{Completion, QueuedUnit};
use crate::worker::{CannotRun, UnitRunner};

/// A subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its leaves.
    pub leaves: u64,
    /// What its children follow from.
    pub seed: u64,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// Leaves.
    pub leaves: u64,
    /// All of their seeds, added up.
    pub sum: u64,
    /// The seeds of those that count as failures.
    pub failures: Vec<u64>,
}

impl Sum {
    /// Both together.
    pub fn add(&mut self, other: &Self) {
        self.leaves += other.leaves;
        self.sum = self.sum.wrapping_add(other.sum);
        self.failures.extend(&other.failures);
        self.failures.sort_unstable();
    }
}

/// Spreads a number over all others (the finaliser of `SplitMix64`).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

impl Node {
    /// Its children: two to five, whose sizes are as the cubes of random numbers.
    #[must_use]
    pub fn children(self) -> Vec<Self> {
        let n = (2 + mixed(self.seed) % 4).min(self.leaves);
        let weight = |nth| {
            let share = mixed(self.seed ^ mixed(nth + 1)) % 1_000 + 1;
            u128::from(share).pow(3)
        };
        let total: u128 = (0..n).map(weight).sum();
        let mut left = self.leaves;
        let mut children = Vec::new();
        for nth in 0..n {
            let share = u128::from(self.leaves) * weight(nth) / total;
            let last = nth + 1 == n;
            let leaves = if last { left } else { u64::try_from(share).unwrap_or(left) };
            left -= leaves;
            let seed = mixed(self.seed.wrapping_mul(31).wrapping_add(nth));
            // A child with all leaves would have no end.
            children.extend((leaves > 0).then_some(Self { leaves, seed }));
        }
        children
    }

    /// A unit with this alone.
    #[must_use]
    pub fn unit(self) -> Vec<u8> {
        unit(&[self])
    }
}

fn unit(nodes: &[Node]) -> Vec<u8> {
    postcard::to_allocvec(nodes).expect("numbers can be written")
}

/// Searches trees.
#[derive(Clone, Copy, Debug)]
pub struct Synthetic {
    /// Rounds of arithmetic for each leaf: how long an execution takes.
    pub rounds: u32,
    /// One leaf in so many counts as a failure.
    pub failures: u64,
    /// At most so many leaves in a slice, in place of its time: a test must not hang on that.
    pub leaves: u64,
}

impl Synthetic {
    /// What a search of a whole tree finds.
    #[must_use]
    pub fn search(&self, root: Node) -> Sum {
        let mut stack = vec![root];
        let mut sum = Sum::default();
        self.walk(&mut stack, u64::MAX, &mut sum);
        sum.failures.sort_unstable();
        sum
    }

    fn walk(&self, stack: &mut Vec<Node>, most: u64, sum: &mut Sum) {
        let mut n = 0;
        while n < most {
            let Some(node) = stack.pop() else { return };
            if node.leaves > 1 {
                stack.extend(node.children());
                continue;
            }
            n += 1;
            let mut value = node.seed;
            for _ in 0..self.rounds {
                value = mixed(std::hint::black_box(value));
            }
            sum.leaves += 1;
            sum.sum = sum.sum.wrapping_add(value);
            if node.seed % self.failures == 0 {
                sum.failures.push(node.seed);
            }
        }
    }
}

impl UnitRunner for Synthetic {
    fn run(
        &mut self,
        queued: &QueuedUnit,
        slice: Slice,
        _: &AtomicBool,
    ) -> Result<Completion, CannotRun> {
        let nodes: Vec<Node> = postcard::from_bytes(&queued.bytes)
            .map_err(|error| CannotRun(format!("it is no list of nodes: {error}")))?;
        let mut stack = nodes;
        let mut sum = Sum::default();
        self.walk(&mut stack, self.leaves, &mut sum);
        let result = postcard::to_allocvec(&sum).expect("numbers can be written");
        let parts = (slice.parts as usize).min(stack.len());
        let part = |nth: usize| {
            let nodes: Vec<Node> = stack.iter().skip(nth).step_by(parts).copied().collect();
            unit(&nodes)
        };
        Ok(Completion { result, leftovers: (0..parts).map(part).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_children_of_a_node_have_its_leaves() {
        let mut stack = vec![Node { leaves: 5_000, seed: 7 }];
        let mut leaves = 0;
        while let Some(node) = stack.pop() {
            if node.leaves == 1 {
                leaves += 1;
                continue;
            }
            let children = node.children();
            assert_eq!(children.iter().map(|child| child.leaves).sum::<u64>(), node.leaves);
            stack.extend(children);
        }
        assert_eq!(leaves, 5_000);
    }
}
