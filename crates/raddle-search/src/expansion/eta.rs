//! Eta's own reduction: happens-before of messages, evil ancestors, good siblings.
//!
//! Follows section 5 of Simsa, Bryant, Gibson and Hickey (CMU-PDL-11-113). Two steps are ordered if one
//! actor took both, or one sent the message that the other handles, or by a chain of these. Two steps
//! commute unless they are of one actor or send to one mailbox. For each step of an execution the
//! nearest earlier one that is neither ordered before it nor commutes with it is its *evil ancestor*.
//! There one *good sibling* must be tried: a message that was there to be handled and is the step's own
//! or ordered before it. No sleep sets, so executions may be equivalent to earlier ones.
//!
//! Where it differs: whether two steps commute is what the engine's one table says, so that it is
//! right for other mailboxes and for threads too; and values are decided exhaustively. Its happens-before is
//! Eta's own and not the engine's history, whose order is finer.
//!
//! A sibling is also tried where the step *races*: at the nearest earlier step that depends on it and is not before
//! it in the order of causes and dependences together, as in Flanagan and Godefroid (POPL 2005). Where one actor has
//! one queue that is the evil ancestor itself, or one that comes to light after the evil ancestor has been passed.
//! Where messages of one actor can be taken in any order it need not: let `a` and `b` be messages of one actor, `b`
//! set a timer because `a` came before it, and the timer's step `t` depend on a step `c` of another actor that came
//! before `a`. The evil ancestor of `t` is `a`; but with `b` before `a` there is no timer, and `c` after `t` would
//! never be tried.
//!
//! Why it is bound to the path: a good sibling is tried unless one was tried *before*, which Eta's argument
//! needs to be complete; of siblings that only wait elsewhere in a tree that is not known.
//!
//! `dpor` without a word for its kind runs fewer executions. This one is here to compare with.

use raddle_engine::dependence::Footprint;
use raddle_engine::strategy::{Cut, Event, Finished, Needs, Options, Point, Step, Unsupported};
use raddle_engine::{Access, TaskId};
use raddle_trace::{Covered, Gaps};
use serde::{Deserialize, Serialize};

use crate::estimate::{Children, Kind};
use crate::path::{Advance, Decision, Expansion, Path, PathSearch, Standing};
use crate::state::FOREIGN;

/// Eta's reduction, depth first.
pub type Eta = PathSearch<GoodSiblings>;

/// A point of the current path.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Node {
    /// Steps before it.
    step: u32,
    what: What,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum What {
    /// Who moves. `left`: good siblings that are still to be tried.
    Step {
        option: u32,
        options: Vec<TaskId>,
        left: Vec<u32>,
        tried: Vec<u32>,
    },
    Value {
        option: u32,
        of: u32,
    },
}

impl Node {
    /// How many options are still to be tried.
    fn left(&self) -> u32 {
        match &self.what {
            What::Step { left, .. } => left.len() as u32,
            What::Value { option, of } => of - option - 1,
        }
    }
}

impl Decision for Node {
    fn of(&self) -> u32 {
        match &self.what {
            What::Step { options, .. } => options.len() as u32,
            What::Value { of, .. } => *of,
        }
    }

    fn option(&self) -> u32 {
        let (What::Step { option, .. } | What::Value { option, .. }) = &self.what;
        *option
    }

    fn is_valid(&self) -> bool {
        let of = self.of();
        let listed = match &self.what {
            What::Step { left, tried, .. } => left.iter().chain(tried).all(|option| *option < of),
            What::Value { .. } => true,
        };
        listed && self.option() < of
    }
}

/// A step of the last execution.
#[derive(Debug)]
struct Done {
    footprint: Footprint,
    immediate: bool,
    /// How many steps of each task are ordered before it, or are it.
    clock: Vec<u32>,
    /// The same, if steps that depend on each other are ordered too.
    history: Vec<u32>,
    /// The nearest step that it depends on and that is not before it by others.
    races_with: Option<usize>,
    /// Its number among the steps of its task, from 1.
    nth: u32,
}

/// Opens good siblings at evil ancestors.
#[derive(Debug, Default)]
pub struct GoodSiblings {
    steps: Vec<Done>,
    /// How many steps of this execution repeat the last one.
    kept: usize,
    heard: usize,
    /// By task: its last step and the step at which it was made, by their numbers from 1.
    lasts: Vec<(u32, u32)>,
    /// Why what was not run need not be equivalent to what was.
    gaps: Gaps,
    strayed: bool,
}

impl Eta {
    /// A new search.
    #[must_use]
    pub fn new() -> Self {
        Self::with(GoodSiblings::default())
    }
}

impl Default for Eta {
    fn default() -> Self {
        Self::new()
    }
}

/// Adds what is known to one clock to another.
fn join(clock: &mut Vec<u32>, theirs: &[u32]) {
    clock.resize(clock.len().max(theirs.len()), 0);
    clock.iter_mut().zip(theirs).for_each(|(own, theirs)| *own = (*own).max(*theirs));
}

impl GoodSiblings {
    fn lane(&mut self, task: TaskId) -> &mut (u32, u32) {
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

    /// The nearest step that neither commutes with a later one nor is ordered before it.
    fn evil_ancestor(&self, later: usize) -> Option<usize> {
        let step = &self.steps[later].footprint;
        (0..later).rev().find(|&earlier| {
            let other = &self.steps[earlier];
            !other.immediate && other.footprint.dependent(step) && !self.before(earlier, later)
        })
    }

    /// Has good siblings tried for a step: one at its evil ancestor, and one where it races.
    fn open(&self, path: &mut [Node], later: usize) {
        let evil = self.evil_ancestor(later);
        if let Some(evil) = evil {
            self.open_at(path, evil, later);
        }
        let race = self.steps[later].races_with;
        if let Some(race) = race.filter(|_| race != evil) {
            self.open_at(path, race, later);
        }
    }

    /// Has one good sibling of a step tried instead of an earlier one.
    fn open_at(&self, path: &mut [Node], evil: usize, later: usize) {
        let at = path.partition_point(|node| (node.step as usize) < evil);
        let is_step = |&at: &usize| matches!(path[at].what, What::Step { .. });
        let here = |&at: &usize| path[at].step as usize == evil;
        let Some(at) = (at..path.len()).take_while(here).find(is_step) else { return };
        let good = |task: TaskId| {
            let own = |&step: &usize| {
                self.steps[step].footprint.task == task && !self.steps[step].immediate
            };
            (evil..=later).find(own).is_some_and(|next| self.before(next, later))
        };
        let What::Step { option, options, left, tried } = &mut path[at].what else { return };
        let every = 0..options.len() as u32;
        let mut siblings = every.clone().filter(|&sibling| good(options[sibling as usize]));
        let known = |o: &u32| o == option || left.contains(o) || tried.contains(o);
        if siblings.clone().any(|sibling| known(&sibling)) {
            return;
        }
        // The step's own task if it can: else one without which it would not have come.
        let own = options.iter().position(|task| *task == self.steps[later].footprint.task);
        let own = own.map(|own| own as u32).filter(|own| siblings.clone().any(|s| s == *own));
        match own.or_else(|| siblings.next()) {
            Some(chosen) => left.push(chosen),
            // Never among messages; a thread may have had to wait: try all.
            None => left.extend(every.filter(|o| o != option && !tried.contains(o))),
        }
    }

    fn stepped(&mut self, step: &Step<'_>) {
        self.heard += 1;
        let number = self.heard as u32;
        let (last, born) = *self.lane(step.task);
        self.lane(step.task).0 = number;
        // After a search was restored they are all new.
        if self.heard <= self.kept.min(self.steps.len()) {
            return;
        }
        let (mut clock, mut history) = (Vec::new(), Vec::new());
        let mut follow = |earlier: &Done| {
            join(&mut clock, &earlier.clock);
            join(&mut history, &earlier.history);
        };
        let mut nth = 1;
        if last > 0 {
            let last = &self.steps[last as usize - 1];
            nth = last.nth + 1;
            follow(last);
        } else if born > 0 {
            follow(&self.steps[born as usize - 1]);
        }
        if let Some(sender) = step.sent_by.and_then(|number| self.steps.get(number as usize - 1)) {
            follow(sender);
        }
        // A task that waited for others goes on after them.
        let waited = match step.footprint.first().map(|touched| touched.1) {
            Some(Access::AwaitQuiescence) => 0..self.steps.len(),
            Some(Access::Woken) => {
                let by = (step.enabled_since as usize).min(self.steps.len());
                by.saturating_sub(1)..by
            }
            _ => 0..0,
        };
        self.steps[waited].iter().for_each(follow);
        let mut footprint = Footprint::of(step).with_any_values();
        if footprint.decided.has_faults {
            // A fault may come instead of what a good sibling was good for: then all are.
            footprint.shared_resources = u128::MAX;
        }
        let races_with = self.depend(&footprint, &mut history);
        for clock in [&mut clock, &mut history] {
            clock.resize(clock.len().max(step.task.index() + 1), 0);
            clock[step.task.index()] = nth;
        }
        let immediate = step.immediate;
        self.steps.push(Done { footprint, immediate, clock, history, races_with, nth });
    }

    /// Adds to the history of a new step what it depends on. Returns the nearest of those that was not in it before.
    fn depend(&self, footprint: &Footprint, history: &mut Vec<u32>) -> Option<usize> {
        let before = history.clone();
        let is_in = |history: &[u32], step: &Done| {
            history.get(step.footprint.task.index()).is_some_and(|known| *known >= step.nth)
        };
        let mut nearest = None;
        for (number, earlier) in self.steps.iter().enumerate().rev() {
            if is_in(&before, earlier) || !earlier.footprint.dependent(footprint) {
                continue;
            }
            nearest = nearest.or((!earlier.immediate).then_some(number));
            if !is_in(history, earlier) {
                join(history, &earlier.history);
            }
        }
        nearest
    }
}

impl Expansion for GoodSiblings {
    type Point = Node;
    /// Whether nothing can be claimed any more.
    type Saved = Gaps;

    fn name(&self) -> String {
        "dpor eta".to_owned()
    }

    fn needs(&self) -> Needs {
        Needs { steps: true, ..Needs::default() }
    }

    fn begin(&mut self, path: &[Node], _: bool) {
        self.kept = path.last().map_or(0, |node| node.step as usize);
        self.steps.truncate(self.kept);
        self.lasts.clear();
        self.heard = 0;
    }

    fn arrive(&mut self, point: &Point<'_>) -> Result<Node, Cut> {
        let what = match point.options {
            Options::Value { of, .. } => What::Value { option: 0, of },
            Options::Schedule(choices) => {
                let option = point.running_option().unwrap_or(0);
                let options = choices.iter().map(|choice| choice.task).collect();
                What::Step { option, options, left: Vec::new(), tried: Vec::new() }
            }
        };
        Ok(Node { step: self.heard as u32, what })
    }

    fn heard(&mut self, event: &Event<'_>, _: &[Node]) -> Option<Cut> {
        match *event {
            Event::Step(ref step) => self.stepped(step),
            Event::Spawn { parent, child } => {
                let (last, born) = *self.lane(parent);
                self.lane(child).1 = if last > 0 { last } else { born };
            }
            Event::Value { .. }
            | Event::Unasked { .. }
            | Event::Passed { .. }
            | Event::Actor(_) => {}
        }
        None
    }

    fn end(&mut self, path: &mut Path<Node>, execution: &Finished<'_>) {
        self.strayed |= self.steps.len() < self.kept;
        let limited = execution.outcome.is_cut_off();
        // Ops that never ran, and those of threads, need what this reduction does not look at.
        let threads = self.steps.iter().any(|s| !s.immediate && !s.footprint.learned);
        let stuck = !execution.stuck.is_empty();
        self.gaps |= execution.gaps | Gaps { cut_off: limited, threads, stuck, ..Gaps::default() };
        for later in (self.kept..self.steps.len()).rev() {
            if !self.steps[later].immediate {
                self.open(path.points_mut(), later);
            }
        }
    }

    fn advance(&mut self, _: usize, node: &mut Node) -> Advance {
        match &mut node.what {
            What::Value { option, of } if *option + 1 < *of => {
                *option += 1;
                Advance::Taken
            }
            What::Step { option, left, tried, .. } if !left.is_empty() => {
                tried.push(*option);
                *option = left.remove(0);
                Advance::Taken
            }
            _ => Advance::Done { of: node.of() },
        }
    }

    /// By Eta's rule, over all children of a point and not only those that are tried.
    fn children(&self, path: &[Node]) -> Vec<Children> {
        path.iter()
            .map(|node| Children { of: node.of(), pending: node.left(), dearer: None })
            .collect()
    }

    fn estimate_kind(&self) -> Option<Kind> {
        Some(Kind::Reduced)
    }

    fn covered(&self, standing: Standing) -> Covered {
        let executions = standing.executions;
        if standing.ended {
            Covered::of_reduction(executions, self.gaps)
        } else {
            Covered::Part { executions, preemptions: None }
        }
    }

    fn has_strayed(&self) -> bool {
        self.strayed
    }

    fn save(&self, _: &[Node]) -> Result<Gaps, Unsupported> {
        Ok(self.gaps)
    }

    fn restore(&mut self, gaps: Gaps, path: &[Node]) -> Result<(), Unsupported> {
        if !path.is_sorted_by_key(|node| node.step) {
            return Err(FOREIGN);
        }
        *self = Self { gaps, ..Self::default() };
        Ok(())
    }
}
