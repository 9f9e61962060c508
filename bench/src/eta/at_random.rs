//! Eta's reduction with seeds chosen at random, for figure 5.
//!
//! Follows section 5 of the paper as `raddle_search::Eta` does, but the next execution begins at any of
//! the known seeds, each with the same chance, and after its seed any message is handled. So the tree of
//! all that was run is held in memory: this is here for a figure and no strategy to use.
//!
//! The estimate is the paper's rule: a point is the mean of its children that were visited, times the
//! number of its children, whether they will be visited or not. *Covered* is a point with all that is
//! below it once nothing is left to try there; before that, what is covered of its children.

use raddle_engine::dependence::Footprint;
use raddle_engine::strategy::{
    Answer, Cut, Estimating, Event, Finished, Needs, Options, Plan, Point, Step, Strategy,
};
use raddle_engine::{Access, TaskId};
use raddle_trace::hash::{GAMMA, mix};
use raddle_trace::{Band, Covered, Estimate, Progress};

/// A point of the tree.
#[derive(Debug)]
struct Node {
    parent: Option<(usize, u32)>,
    /// Steps before it.
    step: usize,
    /// Who could move; empty where a value is decided.
    tasks: Vec<TaskId>,
    children: Vec<Child>,
}

/// An option of a point.
#[derive(Clone, Copy, Debug, Default)]
struct Child {
    /// It is a seed, or was one.
    is_known: bool,
    /// What is below it, if it was visited.
    below: Option<Size>,
}

/// What is known of a subtree.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Size {
    all: f64,
    covered: f64,
    is_done: bool,
}

impl Node {
    #[expect(clippy::cast_precision_loss, reason = "options are few")]
    fn size(&self) -> Size {
        let visited = || self.children.iter().filter_map(|child| child.below);
        let mean = visited().map(|size| size.all).sum::<f64>() / visited().count() as f64;
        let all = mean * self.children.len() as f64;
        let is_left =
            |child: &Child| child.is_known && child.below.is_none_or(|size| !size.is_done);
        let is_done = !self.children.iter().any(is_left);
        let covered = if is_done { all } else { visited().map(|size| size.covered).sum() };
        Size { all, covered, is_done }
    }
}

/// A step of the last execution.
#[derive(Debug)]
struct Done {
    footprint: Footprint,
    immediate: bool,
    /// How many steps of each task are ordered before it, or are it.
    clock: Vec<u32>,
    /// Its number among the steps of its task, from 1.
    nth: u32,
}

/// Eta's reduction, seeds at random.
#[derive(Debug)]
pub(super) struct AtRandom {
    random: u64,
    nodes: Vec<Node>,
    seeds: Vec<(usize, u32)>,
    /// The points of this execution, with the options taken.
    path: Vec<(usize, u32)>,
    steps: Vec<Done>,
    /// By task: its last step and the step at which it was made, by their numbers from 1.
    lasts: Vec<(usize, usize)>,
    executions: u64,
}

impl AtRandom {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            random: seed,
            nodes: Vec::new(),
            seeds: Vec::new(),
            path: Vec::new(),
            steps: Vec::new(),
            lasts: Vec::new(),
            executions: 0,
        }
    }

    /// A number below `of`, by splitmix64.
    fn draw(&mut self, of: usize) -> usize {
        let drawn = mix(self.random);
        self.random = self.random.wrapping_add(GAMMA);
        ((u128::from(drawn) * of as u128) >> 64) as usize
    }

    fn lane(&mut self, task: TaskId) -> &mut (usize, usize) {
        if self.lasts.len() <= task.index() {
            self.lasts.resize(task.index() + 1, (0, 0));
        }
        &mut self.lasts[task.index()]
    }

    /// Whether a step is ordered before a later one, or is it.
    fn before(&self, first: usize, second: usize) -> bool {
        let first = &self.steps[first];
        let known = self.steps[second].clock.get(first.footprint.task.index());
        known.is_some_and(|known| *known >= first.nth)
    }

    /// Makes a good sibling at the evil ancestor of a step a seed.
    fn schedule(&mut self, later: usize) {
        let step = &self.steps[later];
        let is_evil = |&earlier: &usize| {
            let other = &self.steps[earlier];
            !other.immediate
                && other.footprint.dependent(&step.footprint)
                && !self.before(earlier, later)
        };
        let Some(evil) = (0..later).rev().find(is_evil) else { return };
        let here = |&(node, _): &(usize, u32)| {
            self.nodes[node].step == evil && !self.nodes[node].tasks.is_empty()
        };
        let Some((at, _)) = self.path.iter().copied().find(here) else { return };
        let good = |task: TaskId| {
            let own = |&s: &usize| self.steps[s].footprint.task == task && !self.steps[s].immediate;
            (evil..=later).find(own).is_some_and(|next| self.before(next, later))
        };
        let node = &self.nodes[at];
        let siblings: Vec<_> = (0..node.tasks.len()).filter(|&o| good(node.tasks[o])).collect();
        if siblings.iter().any(|&sibling| node.children[sibling].is_known) {
            return;
        }
        // The step's own task if it can: else one without which it would not have come.
        let own = siblings.iter().find(|&&o| node.tasks[o] == step.footprint.task);
        if let Some(&chosen) = own.or(siblings.first()) {
            self.nodes[at].children[chosen].is_known = true;
            self.seeds.push((at, chosen as u32));
        }
    }
}

impl AtRandom {
    /// A task was created.
    fn spawned(&mut self, parent: TaskId, child: TaskId) {
        let (last, born) = *self.lane(parent);
        self.lane(child).1 = if last > 0 { last } else { born };
    }

    /// A step was executed.
    fn executed(&mut self, step: &Step<'_>) {
        let (last, born) = *self.lane(step.task);
        self.lane(step.task).0 = self.steps.len() + 1;
        let join = |clock: &mut Vec<u32>, theirs: &[u32]| {
            clock.resize(clock.len().max(theirs.len()), 0);
            clock.iter_mut().zip(theirs).for_each(|(own, theirs)| *own = (*own).max(*theirs));
        };
        let (mut clock, mut nth) = (Vec::new(), 1);
        if last > 0 {
            nth = self.steps[last - 1].nth + 1;
        }
        let sender = step.sent_by.map_or(0, |number| number as usize);
        for earlier in [if last > 0 { last } else { born }, sender] {
            if let Some(earlier) = earlier.checked_sub(1) {
                join(&mut clock, &self.steps[earlier].clock);
            }
        }
        // The test goes on after all messages.
        if step.footprint.first().is_some_and(|touched| touched.1 == Access::AwaitQuiescence) {
            self.steps.iter().for_each(|earlier| join(&mut clock, &earlier.clock));
        }
        clock.resize(clock.len().max(step.task.index() + 1), 0);
        clock[step.task.index()] = nth;
        let footprint = Footprint::of(step);
        self.steps.push(Done { footprint, immediate: step.immediate, clock, nth });
    }
}

impl Strategy for AtRandom {
    fn needs(&self) -> Needs {
        Needs { steps: true, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        plan.prefix.clear();
        self.path.clear();
        self.steps.clear();
        self.lasts.clear();
        if self.executions == 0 {
            return true;
        }
        if self.seeds.is_empty() {
            return false;
        }
        let nth = self.draw(self.seeds.len());
        let mut next = Some(self.seeds.swap_remove(nth));
        while let Some((node, option)) = next {
            self.path.push((node, option));
            next = self.nodes[node].parent;
        }
        self.path.reverse();
        plan.prefix.extend(self.path.iter().map(|(_, option)| *option));
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        let (of, tasks) = match point.options {
            Options::Value { of, .. } => (of as usize, Vec::new()),
            Options::Schedule(choices) => {
                (choices.len(), choices.iter().map(|choice| choice.task).collect())
            }
        };
        let option = self.draw(of) as u32;
        let (id, is_value) = (self.nodes.len(), tasks.is_empty());
        let mut children = vec![Child::default(); of];
        for (other, child) in children.iter_mut().enumerate() {
            // All values are tried.
            child.is_known = is_value || other as u32 == option;
            if is_value && other as u32 != option {
                self.seeds.push((id, other as u32));
            }
        }
        let (parent, step) = (self.path.last().copied(), self.steps.len());
        self.nodes.push(Node { parent, step, tasks, children });
        self.path.push((id, option));
        Answer::Take(option)
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        match event {
            Event::Spawn { parent, child } => self.spawned(*parent, *child),
            Event::Value { .. }
            | Event::Unasked { .. }
            | Event::Passed { .. }
            | Event::Actor(_) => {}
            Event::Step(step) => self.executed(step),
        }
        None
    }

    fn end(&mut self, _: &Finished<'_>) {
        self.executions += 1;
        for later in (0..self.steps.len()).rev() {
            if !self.steps[later].immediate {
                self.schedule(later);
            }
        }
        let mut below = Size { all: 1.0, covered: 1.0, is_done: true };
        for &(node, option) in self.path.iter().rev() {
            self.nodes[node].children[option as usize].below = Some(below);
            below = self.nodes[node].size();
        }
    }

    fn covered(&self) -> Covered {
        Covered::Part { executions: self.executions, preemptions: None }
    }

    fn estimating(&self) -> Option<&dyn Estimating> {
        Some(self)
    }
}

impl Estimating for AtRandom {
    fn progress(&self) -> Progress {
        // An execution without a point is all there is.
        let whole = Size { all: 1.0, covered: 1.0, is_done: true };
        let size = self.nodes.first().map_or(whole, Node::size);
        let (total, covered) = (Band::exact(size.all), size.covered);
        let (search, weighted, probed) = (Band::default(), None, None);
        let estimate = Some(Estimate { total, covered, search, weighted, probed });
        Progress { estimate, pending: self.seeds.len() as u64, ..Progress::default() }
    }
}

#[cfg(test)]
mod checks {
    use std::time::Duration;

    use super::super::reduced::{ETA, ETA_AT_RANDOM};
    use super::super::tests::test;
    use super::super::watched::{How, run};
    use super::*;

    #[test]
    fn sizes_are_means_times_options_and_covered_once_nothing_is_left() {
        let size = |all, is_done| Some(Size { all, covered: all, is_done });
        let child = |is_known, below| Child { is_known, below };
        let node = |children| Node { parent: None, step: 0, tasks: Vec::new(), children };
        let three = [child(true, size(2.0, true)), child(true, size(4.0, true)), Child::default()];
        assert_eq!(node(three.to_vec()).size(), Size { all: 9.0, covered: 9.0, is_done: true });
        let seed = [child(true, size(2.0, true)), child(true, None), Child::default()];
        assert_eq!(node(seed.to_vec()).size(), Size { all: 6.0, covered: 2.0, is_done: false });
    }

    #[test]
    fn it_ends_and_has_covered_all_that_it_estimates() {
        for name in ["Store(1,1,1,3)", "Phils(2)", "PingPong(10)"] {
            let run = run(test(name), How::new(ETA_AT_RANDOM, Duration::from_mins(1)));
            let run = run.expect("runs");
            assert!(run.is_whole, "{name}");
            let estimate = run.last().estimate.expect("it estimates");
            assert!((estimate.covered - estimate.total.about).abs() < 1e-6, "{name}");
        }
    }

    // Both try what races, each in its order: neither may try less than there is.
    #[test]
    fn it_runs_no_fewer_executions_than_there_are_traces() {
        let cap = Duration::from_mins(1);
        for (name, traces) in [("Store(1,1,1,3)", 5), ("Phils(2)", 5), ("PingPong(10)", 1)] {
            for strategy in [ETA, ETA_AT_RANDOM] {
                let run = run(test(name), How::new(strategy, cap)).expect("runs");
                assert!(run.last().executions >= traces, "{name} {strategy}");
            }
        }
    }
}
