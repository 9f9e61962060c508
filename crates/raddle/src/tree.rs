//! The tree of decisions that a search has walked, for a person to look at.

use raddle_search::RecordedTree;
use raddle_trace::DecisionTree;

/// Keeps the decisions of the first executions of a search: who could move, what was taken, how
/// executions ended.
///
/// ```
/// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
/// use raddle::{Config, Tree, explore};
///
/// let tree = Tree::first(100);
/// let mut config = Config::default();
/// config.strategy = "dfs".into();
/// config.tree = Some(tree.clone());
/// explore(config, || {
///     let n = AtomicU32::new(0);
///     raddle::thread::scope(|scope| {
///         scope.spawn(|| n.fetch_add(1, SeqCst));
///         n.fetch_add(1, SeqCst);
///     });
/// })?;
/// // One decision, who comes first, and both answers were tried.
/// let decisions = tree.decisions();
/// assert_eq!((decisions.executions, decisions.more, decisions.over), (2, 0, true));
/// let first = &decisions.nodes[0].options;
/// assert_eq!((first[0].who.as_str(), first[1].who.as_str()), ("main", "thread 1"));
/// assert!(first.iter().all(|option| option.what == "fetch_add(1)" && option.to.is_some()));
/// // For Graphviz: dot -Tsvg tree.dot
/// assert!(tree.dot().starts_with("digraph"));
/// # Ok::<(), raddle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tree(RecordedTree);

impl Tree {
    /// Keeps the first so many executions, as long as they have no more than 64 new decision points each
    /// on average. How many more there were is counted.
    #[must_use]
    pub fn first(executions: u64) -> Self {
        Self(RecordedTree::first(executions))
    }

    /// What has been walked so far.
    #[must_use]
    pub fn decisions(&self) -> DecisionTree {
        self.0.tree()
    }

    /// Where a search keeps its decisions.
    pub(crate) fn recorded(&self) -> RecordedTree {
        self.0.clone()
    }

    /// Forgets all decisions.
    pub(crate) fn clear(&self) {
        self.0.clear();
    }

    /// The same as the text of a Graphviz graph.
    #[must_use]
    pub fn dot(&self) -> String {
        raddle_report::export::dot(&self.decisions())
    }
}

/// Whether they are the same tree, and not two that are alike.
impl PartialEq for Tree {
    fn eq(&self, other: &Self) -> bool {
        self.0.is(&other.0)
    }
}

impl Eq for Tree {}
