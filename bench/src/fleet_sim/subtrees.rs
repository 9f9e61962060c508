//! Sizes of subtrees as real searches have them.
//!
//! Searches of programs of the corpus are run to their end, and of each decision with two executions or more below it is kept how
//! these are shared among its options. A tree of any size is made of that: each node is shared as a real one of about its size was,
//! drawn by the node's seed; one that is larger than all real ones, as one of the largest.

use raddle_engine::observer::Observer;
use raddle_engine::strategy::Finished;
use raddle_engine::{Ended, Limits, Setup, Stop, explore_observed};
use raddle_fleet::synthetic::Node;

/// The searches: a program of the corpus, its arguments, a strategy.
const REAL: [(&str, &[usize], &str); 4] = [
    ("lastzero", &[9], "dpor"),
    ("two-phase-commit", &[5], "dpor(source)"),
    ("actor-senders", &[6], "dpor(source)"),
    ("inc", &[3], "dfs"),
];
/// More executions than any of them has.
const MOST: u64 = 200_000;
/// So many nodes of a size are enough to draw from.
const ENOUGH: usize = 8;

/// How nodes are shared among their children.
#[derive(Clone, Debug)]
pub(super) struct Subtrees {
    /// By the logarithm of a node's size: the sizes of the children of each real one.
    by_size: Vec<Vec<Vec<u64>>>,
    /// What was run, for people.
    pub(super) about: Vec<String>,
}

/// The decisions of every execution.
#[derive(Default)]
struct Paths(Vec<Vec<u32>>);

impl Observer for Paths {
    fn end(&mut self, execution: &Finished<'_>) {
        if execution.cut.is_none() {
            self.0.push(execution.decisions.iter().map(|taken| taken.option).collect());
        }
    }
}

/// Spreads a number over all others (the finaliser of `SplitMix64`).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

impl Subtrees {
    /// Runs the searches.
    ///
    /// # Errors
    /// If one of them does not come to its end: a part of a tree is none.
    pub(super) fn of_real_searches(say: &dyn Fn(&str)) -> Result<Self, String> {
        let mut all = Self { by_size: Vec::new(), about: Vec::new() };
        for (name, arguments, strategy) in REAL {
            say(&format!("subtrees of {name}, {strategy}"));
            let found = raddle_corpus::find(name, arguments).map_err(|error| error.to_string())?;
            let (program, arguments) = found;
            let built = raddle_search::build(strategy, 0).map_err(|error| error.to_string())?;
            let (mut search, mut paths) = (built.strategy, Paths::default());
            let limits = Limits { executions: MOST, ..Limits::default() };
            let setup = Setup { limits, keep_going: true, ..Setup::default() };
            let (lap, pulse) = (&mut |_| Stop::No, &mut |_| {});
            let body = || program.call(&arguments);
            let ran = explore_observed(&mut *search, &mut [&mut paths], &setup, lap, pulse, &body);
            let ended = ran.map_err(|error| error.to_string())?.ended;
            if ended != Ended::Covered {
                return Err(format!("{name}, {strategy}: the search ended with {ended:?}"));
            }
            let mut paths = paths.0;
            paths.sort_unstable();
            paths.dedup();
            all.about.push(format!("{program} by `{strategy}` ({} executions)", paths.len()));
            all.add(&paths, 0);
        }
        Ok(all)
    }

    /// Adds the nodes of a tree: all its paths in order, and how much of them is known to be the same.
    fn add(&mut self, paths: &[Vec<u32>], same: usize) {
        let mut work = vec![(paths, same)];
        while let Some((paths, depth)) = work.pop() {
            if paths.len() < 2 {
                continue;
            }
            let children: Vec<&[Vec<u32>]> =
                paths.chunk_by(|one, other| one.get(depth) == other.get(depth)).collect();
            if children.len() > 1 {
                let bucket = paths.len().ilog2() as usize;
                self.by_size.resize(self.by_size.len().max(bucket + 1), Vec::new());
                let sizes = children.iter().map(|child| child.len() as u64).collect();
                self.by_size[bucket].push(sizes);
            }
            work.extend(children.into_iter().map(|child| (child, depth + 1)));
        }
    }

    /// The real nodes that one of this size is like.
    fn like(&self, leaves: u64) -> &[Vec<u64>] {
        let wanted = (leaves.max(1).ilog2() as usize).min(self.by_size.len().saturating_sub(1));
        let known = self.by_size[..=wanted].iter().rfind(|nodes| nodes.len() >= ENOUGH);
        known.or_else(|| self.by_size.iter().find(|nodes| !nodes.is_empty())).map_or(&[], |all| all)
    }

    /// The children of a node: together they have its leaves.
    pub(super) fn children(&self, node: Node) -> Vec<Node> {
        let like = self.like(node.leaves);
        let drawn = mixed(node.seed) % (like.len().max(1) as u64);
        let drawn = usize::try_from(drawn).unwrap_or(0);
        let sizes = like.get(drawn).map_or(&[1, 1][..], |sizes| sizes);
        let seed = |nth: u64| mixed(node.seed.wrapping_mul(31).wrapping_add(nth));
        let total: u128 = sizes.iter().map(|size| u128::from(*size)).sum();
        let (mut children, mut left, mut before) = (Vec::new(), node.leaves, 0_u128);
        for (nth, size) in (1..).zip(sizes) {
            // Shares are rounded where they end, so that all together are the whole.
            let end = before + u128::from(*size);
            let of = |until: u128| u128::from(node.leaves) * until / total;
            let leaves = u64::try_from(of(end) - of(before)).unwrap_or(left).min(left);
            // One with all of them would have no end.
            let leaves = if leaves == node.leaves { leaves - 1 } else { leaves };
            before = end;
            left -= leaves;
            children.extend((leaves > 0).then(|| Node { leaves, seed: seed(nth) }));
        }
        children.extend((left > 0).then(|| Node { leaves: left, seed: seed(0) }));
        children
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_shared_as_the_real_one_was() {
        // Two executions below one option, and one below another; of the two, each below one.
        let paths = [vec![0, 0], vec![0, 1], vec![1]];
        let mut all = Subtrees { by_size: Vec::new(), about: Vec::new() };
        all.add(&paths, 0);
        assert_eq!(all.by_size, [vec![], vec![vec![2, 1], vec![1, 1]]]);
    }

    #[test]
    fn the_children_of_a_node_have_its_leaves() {
        let by_size = vec![vec![], vec![vec![1, 1]; ENOUGH], vec![vec![5, 1, 1]; ENOUGH]];
        let all = Subtrees { by_size, about: Vec::new() };
        let mut stack = vec![Node { leaves: 5_000, seed: 7 }];
        let mut leaves = 0;
        while let Some(node) = stack.pop() {
            if node.leaves == 1 {
                leaves += 1;
                continue;
            }
            let children = all.children(node);
            assert!(children.iter().all(|child| child.leaves < node.leaves), "{node:?}");
            assert_eq!(children.iter().map(|child| child.leaves).sum::<u64>(), node.leaves);
            stack.extend(children);
        }
        assert_eq!(leaves, 5_000);
    }
}
