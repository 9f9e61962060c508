//! Following a wakeup tree: what is to be tried after the steps so far, and with which values.

use raddle_engine::op::TaskId;
use raddle_engine::strategy::Point;

use crate::wakeup::{Branch, Way};

/// Where the current execution is in the wakeup tree that it follows, if it follows one.
#[derive(Debug, Default)]
pub(super) struct Guide {
    /// The wakeup tree of the state that comes next.
    branches: Vec<Branch>,
    /// That tree by the values decided in the last step and after it, as long as those are not all
    /// known.
    pub(super) ways: Option<Vec<Way>>,
    /// Whether the next step has been chosen, so that `ways` belongs to it.
    pub(super) chosen: bool,
    /// The tree cannot be followed at the next point.
    pub(super) lost: bool,
    /// The last step that was a scheduling point; none at the beginning.
    pub(super) last: Option<u32>,
    /// The values decided in this execution, with the step to which they belong.
    decided: Vec<(u32, u32)>,
}

impl Guide {
    /// An execution begins. Its first new step or value has been chosen by [`follow`](Self::follow).
    pub(super) fn begin(&mut self) {
        self.last = None;
        self.decided.clear();
    }

    /// The execution ended: what was not followed of the tree is void.
    pub(super) fn end(&mut self) {
        self.branches.clear();
        self.ways = None;
        self.lost = false;
    }

    /// The next execution goes this way after its plan. `chosen`: the plan ends with a choice of the next
    /// step, or with a value of it.
    pub(super) fn follow(&mut self, ways: Option<Vec<Way>>, chosen: bool) {
        (self.ways, self.chosen) = (ways, chosen);
    }

    /// A value was decided in the step that is next, or in the code after the last one.
    pub(super) fn decided(&mut self, option: u32, during: bool, next: u32) {
        // Code after a step belongs to it until the next step, so its values do, too. Before the first step there is none to
        // which they could belong.
        if let Some(step) = if during { Some(next) } else { self.last } {
            self.decided.push((step, option));
        }
    }

    /// The values decided in an event and in the code after it.
    pub(super) fn values_of(&self, event: u32) -> Box<[u32]> {
        if self.decided.is_empty() {
            return Box::default();
        }
        let from = self.decided.partition_point(|(at, _)| *at < event);
        let decided = self.decided[from..].iter().take_while(|(at, _)| *at == event);
        decided.map(|(_, option)| *option).collect()
    }

    /// The last step and the code after it are done: what to try next hangs on the values decided.
    fn go_on(&mut self) {
        let Some(mut ways) = self.ways.take() else { return };
        let values = self.last.map_or_else(Box::default, |last| self.values_of(last));
        let listed = ways.iter().position(|way| way.values.as_ref() == Some(&values));
        let any = || ways.iter().position(|way| way.values.is_none());
        if let Some(at) = listed.or_else(any) {
            self.branches = ways.swap_remove(at).children;
        }
        // As many values as were decided when they were recorded: they cannot be followed.
        let same = |known: &[u32]| known.iter().zip(&values).all(|(a, b)| a == b);
        self.lost |= ways.iter().any(|way| way.values.as_deref().is_some_and(same));
    }

    /// A task takes the next step without a question. The tree goes on below if it names this task,
    /// else it is void.
    pub(super) fn go_on_with(&mut self, task: TaskId) {
        self.go_on();
        self.chosen = true;
        let at = self.branches.iter().position(|branch| branch.step.task == task);
        let branch = at.map(|at| self.branches.swap_remove(at));
        // No other task could move: what the other branches would lead to is not there.
        self.branches.clear();
        self.lost = false;
        if let Some(branch) = branch {
            self.ways = Some(branch.ways);
        }
    }

    /// The option to which the tree leads at a point, and what else it has there; none if it leads nowhere.
    pub(super) fn lead(&mut self, point: &Point<'_>) -> Option<(u32, Vec<Branch>)> {
        self.go_on();
        self.chosen = true;
        // A branch whose task cannot move here was recorded in an execution that differs from this one before it. The others
        // may still fit; that one has failed shows in `lost`, and then all options of the point are opened instead.
        while !self.branches.is_empty() {
            let branch = self.branches.remove(0);
            if let Some(option) = point.option_of(branch.step.task) {
                self.ways = Some(branch.ways);
                return Some((option, std::mem::take(&mut self.branches)));
            }
            self.lost = true;
        }
        None
    }

    /// The options of a value that are to be tried: those along the tree, or all.
    pub(super) fn values_to_try(&self, of: u32, during: bool, next: u32) -> Vec<u32> {
        let Some(ways) = &self.ways else { return (0..of).collect() };
        let step = if during { Some(next) } else { self.last };
        let mut decided = step.map_or_else(Vec::new, |step| self.values_of(step).into_vec());
        let at = decided.len();
        decided.push(0);
        let listed = |option: &u32| {
            decided[at] = *option;
            ways.iter().any(|way| way.allows(&decided))
        };
        let options: Vec<u32> = (0..of).filter(listed).collect();
        // If none is left, other values were asked for than when the tree was recorded.
        if options.is_empty() { (0..of).collect() } else { options }
    }
}
