//! Keeps the tree of decisions that a search walks, for a person to look at: who could move, what that
//! would have been, what was taken, how executions ended.
//!
//! An observer of any strategy, as in `traces.rs`. Options mean the same in every execution that
//! shares the decisions so far, so the path of an execution is a list of indexes, and the searches of a
//! portfolio can share a tree. What the options are called is asked where the strategy is asked: at the
//! first execution that comes by.
//!
//! An execution that was cut is in the tree up to where it was cut. What the engine ran after that, by
//! its own order, was not chosen.
//!
//! Misses: executions after the first so many, or once the tree has its nodes; they are counted. Names of
//! options in a prefix that the strategy repeats and that no kept execution has decided.
//! Overreports: nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use raddle_engine::observer::{Ended, Observer, ObserverNeeds, Paused};
use raddle_engine::op::ObjectId;
use raddle_engine::strategy::{Answer, Cut, Event, Finished, Options, Plan, Point, Taken};
use raddle_trace::{BranchEnd, DecisionTree, Leaf, Outcome, Site, TreeNode, TreeOption};

/// Nodes of a tree for each execution that may be in it.
const NODES: usize = 64;

/// A tree that grows, for one search or for several.
///
/// ```
/// use raddle_search::RecordedTree;
///
/// let recorded = RecordedTree::first(100);
/// assert_eq!(recorded.tree().executions, 0);
/// ```
#[derive(Clone, Debug)]
pub struct RecordedTree(Arc<Mutex<Growing>>);

#[derive(Debug)]
struct Growing {
    tree: DecisionTree,
    /// Executions that may be in it.
    most: u64,
}

impl RecordedTree {
    /// Keeps the first so many executions, as long as they have no more than 64 new decision points each
    /// on average.
    #[must_use]
    pub fn first(executions: u64) -> Self {
        let tree = DecisionTree::default();
        Self(Arc::new(Mutex::new(Growing { tree, most: executions })))
    }

    /// What has been walked so far.
    #[must_use]
    pub fn tree(&self) -> DecisionTree {
        self.growing().tree.clone()
    }

    /// Forgets all of it: the search begins anew.
    pub fn clear(&self) {
        self.growing().tree = DecisionTree::default();
    }

    /// Whether they are the same, and not two that are alike.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn growing(&self) -> MutexGuard<'_, Growing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Growing {
    fn has_room(&self) -> bool {
        let most = usize::try_from(self.most).unwrap_or(usize::MAX).saturating_mul(NODES);
        self.tree.executions < self.most && self.tree.nodes.len() < most.max(NODES)
    }

    /// The node after these decisions, if it is there.
    fn find(&self, path: &[u32]) -> Option<usize> {
        let mut at = 0;
        for &option in path {
            at = self.tree.nodes[at].options.get(option as usize)?.to? as usize;
        }
        Some(at)
    }

    /// Adds an execution that took these decisions.
    fn add(&mut self, taken: &[Taken], named: &[(u32, Vec<TreeOption>)], ended: BranchEnd) {
        let nodes = &mut self.tree.nodes;
        let mut at = 0;
        for (index, taken) in (0_u32..).zip(taken) {
            let len = nodes.len() as u32;
            let options = &mut nodes[at].options;
            let known = options.iter().any(|option| !option.who.is_empty());
            let place = named.binary_search_by_key(&index, |(at, _)| *at).ok();
            if let Some(place) = place.filter(|_| !known) {
                let old: Vec<_> = options.iter().map(|option| option.to).collect();
                options.clone_from(&named[place].1);
                for (option, to) in options.iter_mut().zip(old) {
                    option.to = to;
                }
            }
            let of = options.len().max(taken.of as usize);
            options.resize_with(of, TreeOption::default);
            let to = *options[taken.option as usize].to.get_or_insert(len);
            if to == len {
                nodes.push(TreeNode::default());
            }
            at = to as usize;
        }
        self.tree.executions += 1;
        let execution = self.tree.executions;
        let leaf = nodes[at].ended.get_or_insert(Leaf { execution, times: 0, ended });
        leaf.times += 1;
        if ended == BranchEnd::Failed {
            leaf.ended = ended;
        }
    }
}

/// Keeps the decisions of a search.
#[derive(Debug)]
pub struct TreeRecorder {
    recorded: RecordedTree,
    /// Whether the running execution is to be kept.
    keeps: bool,
    /// The decisions that were planned.
    planned: Vec<u32>,
    /// The node of the next point, if it is there, and the index of that point.
    at: (Option<usize>, u32),
    /// What the options were at the points that were decided in it, by index.
    named: Vec<(u32, Vec<TreeOption>)>,
    /// How many decisions there were when it was cut.
    cut_at: Option<u32>,
    /// Decisions so far, by what is heard of steps and values.
    n_decided: u32,
}

impl TreeRecorder {
    /// Keeps what is decided in `recorded`.
    #[must_use]
    pub fn new(recorded: RecordedTree) -> Self {
        let (planned, named, at) = (Vec::new(), Vec::new(), (None, 0));
        Self { recorded, keeps: false, planned, at, named, cut_at: None, n_decided: 0 }
    }

    /// An option was taken at a point that was not planned.
    fn took(&mut self, point: &Point<'_>, option: u32) {
        let growing = self.recorded.growing();
        let (node, index) = self.at;
        let node = if index == point.index { node } else { growing.find(&self.planned) };
        let options = node.map_or(&[][..], |node| &growing.tree.nodes[node].options);
        let known = options.iter().any(|option| !option.who.is_empty());
        let next = options.get(option as usize).and_then(|option| option.to);
        self.at = (next.map(|next| next as usize), point.index + 1);
        drop(growing);
        if !known {
            self.named.push((point.index, named(point)));
        }
    }
}

/// What the options of a point are called.
fn named(point: &Point<'_>) -> Vec<TreeOption> {
    let pending = point.pending;
    match point.options {
        Options::Schedule(choices) => choices
            .iter()
            .map(|choice| {
                let task = choice.task;
                let op = pending.op(task);
                let label = op.filter(|op| op.object != ObjectId::NONE);
                let label = label.and_then(|op| pending.label(op.object));
                let what = pending.says(task);
                TreeOption {
                    who: pending.name(task),
                    // A link is called after its actors.
                    object: label
                        .filter(|_| what.is_some())
                        .map(|label| label.name.unwrap_or(label.kind).to_owned()),
                    what: what.unwrap_or_default(),
                    site: op.map(|op| Site {
                        file: op.site.file().to_owned(),
                        line: op.site.line(),
                        column: op.site.column(),
                    }),
                    preempts: point.running.is_some_and(|running| running != task),
                    to: None,
                }
            })
            .collect(),
        Options::Value { task, of, .. } => (0..of)
            .map(|value| TreeOption {
                who: pending.name(task),
                what: format!("value {value} of {of}"),
                ..TreeOption::default()
            })
            .collect(),
    }
}

impl Observer for TreeRecorder {
    fn needs(&self) -> ObserverNeeds {
        ObserverNeeds { steps: true, decisions: true, labels: true, ..ObserverNeeds::default() }
    }

    fn begin(&mut self, plan: &Plan) {
        self.keeps = self.recorded.growing().has_room();
        self.planned.clone_from(&plan.prefix);
        self.at = (None, u32::MAX);
        self.named.clear();
        (self.cut_at, self.n_decided) = (None, 0);
    }

    fn decided(&mut self, point: &Point<'_>, answer: Answer) {
        match answer {
            _ if !self.keeps => {}
            Answer::Take(option) => self.took(point, option),
            Answer::Cut(_) => {
                self.cut_at.get_or_insert(point.index);
            }
        }
    }

    fn event(&mut self, event: &Event<'_>, cut: Option<Cut>) {
        match event {
            Event::Spawn { .. }
            | Event::Unasked { .. }
            | Event::Passed { .. }
            | Event::Actor(_) => {}
            Event::Value { .. } => self.n_decided += 1,
            Event::Step(step) => {
                if let Some(point) = step.point {
                    self.n_decided = self.n_decided.max(point + 1);
                }
            }
        }
        if cut.is_some() {
            self.cut_at.get_or_insert(self.n_decided);
        }
    }

    fn end(&mut self, execution: &Finished<'_>) {
        let mut growing = self.recorded.growing();
        if !self.keeps || !growing.has_room() {
            growing.tree.more += 1;
            return;
        }
        let failed = execution.outcome.is_failure();
        let limited = matches!(execution.outcome, Outcome::Limit { .. });
        let ended = match execution.cut {
            _ if failed => BranchEnd::Failed,
            Some(Cut::Redundant) => BranchEnd::Blocked,
            Some(_) => BranchEnd::OutOfBound,
            None if limited => BranchEnd::Rejected,
            None => BranchEnd::Completed,
        };
        let n_taken = execution.decisions.len();
        // A failure is shown where it is, even below the depth that was asked for.
        let upto = self.cut_at.filter(|_| !failed).map_or(n_taken, |at| at as usize);
        growing.add(&execution.decisions[..upto.min(n_taken)], &self.named, ended);
    }

    fn finish(&mut self, _: &mut Paused<'_, '_>, ended: &Ended) {
        // Of a portfolio one that is done is enough: it has covered what there is.
        match ended {
            Ended::Covered => self.recorded.growing().tree.over = true,
            Ended::Trouble(_) => self.recorded.growing().tree.over = false,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, Strategy as _, any, prop_oneof, proptest};
    use raddle_engine::Strategy;

    use super::*;
    use crate::expansion::all::DepthFirst;
    use crate::random::Random;
    use crate::toy::{self, Moves, Op, Toy};

    /// The paths of a tree that lead to an end.
    fn paths(tree: &DecisionTree) -> Vec<(Vec<u32>, Leaf)> {
        let mut found = Vec::new();
        let mut stack = vec![(0, Vec::new())];
        while let Some((at, path)) = stack.pop() {
            let node: &TreeNode = &tree.nodes[at];
            found.extend(node.ended.clone().map(|leaf| (path.clone(), leaf)));
            for (option, to) in (0_u32..).zip(&node.options) {
                let Some(to) = to.to else { continue };
                assert!(to as usize > at, "each node is after the one that leads to it");
                stack.push((to as usize, [&path[..], &[option]].concat()));
            }
        }
        found.sort_by_key(|(_, leaf)| leaf.execution);
        found
    }

    /// The decisions and the moves of every execution, in order.
    fn decided(
        strategy: &mut dyn Strategy,
        tree: Option<&RecordedTree>,
        toy: &Toy,
        n: usize,
    ) -> Vec<(Vec<u32>, Moves)> {
        let mut recorder = tree.map(|tree| TreeRecorder::new(tree.clone()));
        let mut observers: Vec<&mut dyn Observer> = Vec::new();
        observers.extend(recorder.as_mut().map(|recorder| recorder as &mut dyn Observer));
        let executions = toy::observed(strategy, &mut observers, toy, n);
        let decided = |execution: toy::Execution| {
            (execution.decisions.iter().map(|taken| taken.option).collect(), execution.moves)
        };
        executions.into_iter().map(decided).collect()
    }

    #[test]
    fn every_execution_of_a_search_is_a_path_of_the_tree() {
        // C(4, 2) interleavings: as many leaves, and nothing that was not taken.
        let (toy, recorded) = (Toy::independent(&[2, 2]), RecordedTree::first(100));
        let ran = decided(&mut DepthFirst::default(), Some(&recorded), &toy, 1_000);
        let tree = recorded.tree();
        assert_eq!((ran.len(), tree.executions, tree.more, tree.over), (6, 6, 0, true));
        let found: Vec<_> = paths(&tree).into_iter().map(|(path, _)| path).collect();
        assert_eq!(found, ran.into_iter().map(|(path, _)| path).collect::<Vec<_>>());
        assert!(tree.nodes.iter().flat_map(|node| &node.options).all(|option| option.to.is_some()));
    }

    #[test]
    fn executions_without_room_in_the_tree_are_counted() {
        let (toy, recorded) = (Toy::independent(&[3, 3]), RecordedTree::first(7));
        let ran = decided(&mut DepthFirst::default(), Some(&recorded), &toy, 1_000);
        let tree = recorded.tree();
        assert_eq!((ran.len() as u64, tree.executions, tree.more), (20, 7, 13));
        let found: Vec<_> = paths(&tree).into_iter().map(|(path, _)| path).collect();
        assert_eq!(found, ran.into_iter().take(7).map(|(path, _)| path).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_drawn_again_is_counted_where_it_ended() {
        let (toy, recorded) = (Toy::independent(&[1, 1]), RecordedTree::first(50));
        decided(&mut Random::new(3), Some(&recorded), &toy, 50);
        let tree = recorded.tree();
        let times: u64 = paths(&tree).iter().map(|(_, leaf)| leaf.times).sum();
        assert_eq!((paths(&tree).len(), times, tree.over), (2, 50, false));
    }

    #[test]
    fn two_searches_share_a_tree() {
        let (toy, recorded) = (Toy::independent(&[2, 1]), RecordedTree::first(100));
        decided(&mut DepthFirst::default(), Some(&recorded), &toy, 2);
        decided(&mut Random::new(1), Some(&recorded), &toy, 40);
        // C(3, 1) interleavings, in whatever order they ran.
        assert_eq!((paths(&recorded.tree()).len(), recorded.tree().executions), (3, 42));
    }

    fn programs() -> impl proptest::prelude::Strategy<Value = Toy> {
        let op = prop_oneof![
            1 => Just(Op::Step),
            2 => (0..2_u32).prop_map(Op::Write),
            2 => (0..2_u32).prop_map(Op::Read),
            1 => (2..4_u32).prop_map(Op::Value),
        ];
        let task = proptest::collection::vec(op, 0..4);
        proptest::collection::vec(task, 1..4).prop_map(Toy::new)
    }

    proptest! {
        #![proptest_config(toy::fixed_seed())]

        // A strategy does the same with a tree as without; and the tree has what it did.
        #[test]
        fn listening_changes_nothing(
            toy in programs(),
            seed in any::<u64>(),
            name in proptest::sample::select(vec![
                "dfs", "dfs preemptions(1)", "dfs cache",
                "all best-first(mdpor, pb)", "all random", "pos",
            ]),
        ) {
            let build = || crate::build(name, seed).expect("a strategy").strategy;
            let alone = decided(&mut build(), None, &toy, 300);
            let recorded = RecordedTree::first(300);
            let walked = decided(&mut build(), Some(&recorded), &toy, 300);
            proptest::prop_assert_eq!(&alone, &walked);
            let tree = recorded.tree();
            proptest::prop_assert_eq!(tree.executions, walked.len() as u64);
            // A path for each, or the beginning of one that was cut.
            let mut ends: Vec<_> = paths(&tree);
            ends.retain(|(_, leaf)| leaf.ended == BranchEnd::Completed);
            for (path, _) in &ends {
                proptest::prop_assert!(walked.iter().any(|(whole, _)| whole == path));
            }
            for (whole, _) in &walked {
                let begun = |(path, leaf): &(Vec<u32>, Leaf)| {
                    whole == path || leaf.ended != BranchEnd::Completed && whole.starts_with(path)
                };
                proptest::prop_assert!(paths(&tree).iter().any(begun), "{:?}", whole);
            }
        }
    }
}
