//! The tree of decisions: what a search walked, and nothing else.

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::{Config, DecisionTree, Report, Tree, explore, thread};
use raddle_trace::BranchEnd;

use crate::programs::{large, lost_update};

fn walked(
    strategy: &str,
    executions: Option<u64>,
    kept: u64,
    program: fn(),
) -> (Report, DecisionTree) {
    let tree = Tree::first(kept);
    let mut config = Config::default();
    config.strategy = strategy.into();
    config.executions = executions;
    config.tree = Some(tree.clone());
    let report = explore(config, program).expect("a search can run here");
    (report, tree.decisions())
}

/// Two threads that meet at a lock and at a counter, and one that meets neither.
fn meetings() {
    let (total, seen) = (Arc::new(Mutex::new(0)), Arc::new(AtomicU32::new(0)));
    let alone = thread::spawn(|| AtomicU32::new(0).store(1, SeqCst));
    let threads = [1, 2].map(|n| {
        let (total, seen) = (Arc::clone(&total), Arc::clone(&seen));
        thread::spawn(move || {
            seen.fetch_add(n, SeqCst);
            *total.lock().unwrap() += n;
        })
    });
    threads.into_iter().chain([alone]).for_each(|thread| thread.join().unwrap());
}

/// How many executions ended so.
fn ended(tree: &DecisionTree, how: BranchEnd) -> u64 {
    let leaves = tree.nodes.iter().filter_map(|node| node.ended.as_ref());
    leaves.filter(|leaf| leaf.ended == how).map(|leaf| leaf.times).sum()
}

#[test]
fn a_tree_has_every_execution_of_its_search_and_changes_none() {
    for strategy in [
        "dfs",
        "dfs preemptions(1)",
        "dfs cache",
        "dpor",
        "dpor(source)",
        "dpor(classic)",
        "dpor(eta)",
        "dpor(source) best-first(mdpor, pb)",
        "all best-first(pb)",
        "all random",
        "hapset(dpor)",
    ] {
        let mut config = Config::default();
        config.strategy = strategy.into();
        let alone = explore(config, meetings).expect("a search can run here");
        let (report, tree) = walked(strategy, None, 1_000_000, meetings);
        let (counts, guarantee) = (report.counts, report.guarantee);
        assert_eq!((counts, guarantee), (alone.counts, alone.guarantee), "{strategy}");
        assert_eq!((tree.executions, tree.more, tree.over), (counts.executions, 0, true));
        assert_eq!(ended(&tree, BranchEnd::Blocked), counts.blocked, "{strategy}");
        let whole = counts.executions - counts.blocked;
        assert_eq!(ended(&tree, BranchEnd::Completed), whole, "{strategy}");
        // A search of all leaves nothing out and cuts nothing off; a reduction does one or the other.
        let left =
            tree.nodes.iter().flat_map(|node| &node.options).any(|option| option.to.is_none());
        let all = ["dfs", "all best-first(pb)", "all random"].contains(&strategy);
        assert_eq!(left || counts.blocked > 0, !all, "{strategy}");
        assert!(
            tree.nodes.iter().flat_map(|node| &node.options).all(|option| !option.who.is_empty())
        );
    }
}

#[test]
fn a_failure_is_where_it_happened() {
    let (report, tree) = walked("dfs", None, 100, lost_update);
    assert_eq!(tree.executions, report.counts.executions);
    assert_eq!(ended(&tree, BranchEnd::Failed), 1);
    assert!(!tree.over, "a search that fails has not covered everything");
}

#[test]
fn the_members_of_a_portfolio_share_a_tree() {
    let (report, tree) = walked("dfs | pos", Some(60), 25, large);
    assert_eq!((tree.executions, tree.more), (25, report.counts.executions - 25));
}
