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
//! right for other mailboxes and for threads too; and values are decided exhaustively.
//!
//! `dpor` without a word for its kind runs fewer executions. This one is here to compare with.

use raddle_engine::dependence::Footprint;
use raddle_engine::strategy::{
    Answer, Checkpoint, Cut, Estimating, Event, Finished, Needs, Options, Plan, Point, Remarks,
    Resumable, Step, Strategy, Unsupported,
};
use raddle_engine::{Access, TaskId};
use raddle_trace::{Covered, Estimate, Progress};

use crate::estimate::{Children, Kind, Levels, Size};
use crate::state::{FOREIGN, RUNNING, Reader, STRAYED, Writer};

const NAME: &str = "eta";

/// A point of the current path.
#[derive(Debug)]
struct Node {
    /// Steps before it.
    step: u32,
    what: What,
}

#[derive(Debug)]
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

impl What {
    /// How many options there are.
    fn of(&self) -> u32 {
        match self {
            Self::Step { options, .. } => options.len() as u32,
            Self::Value { of, .. } => *of,
        }
    }

    /// How many are still to be tried.
    fn left(&self) -> u32 {
        match self {
            Self::Step { left, .. } => left.len() as u32,
            Self::Value { option, of } => of - option - 1,
        }
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

/// Eta's reduction, depth first.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts about a search, in one place")]
pub struct Eta {
    path: Vec<Node>,
    /// What is known of the sizes below each point of the path.
    levels: Levels,
    /// What the last execution was, or the whole search when it is done.
    leaf: Size,
    steps: Vec<Done>,
    /// How many steps of this execution repeat the last one.
    kept: usize,
    heard: usize,
    /// By task: its last step and the step at which it was made, by their numbers from 1.
    lasts: Vec<(u32, u32)>,
    started: bool,
    /// An execution was begun and has not ended.
    running: bool,
    done: bool,
    executions: u64,
    incomplete: bool,
    /// The execution after a search was restored is not the one that was planned.
    strayed: bool,
}

impl Default for Eta {
    fn default() -> Self {
        Self {
            path: Vec::new(),
            levels: Levels::default(),
            leaf: Size::LEAF,
            steps: Vec::new(),
            kept: 0,
            heard: 0,
            lasts: Vec::new(),
            started: false,
            running: false,
            done: false,
            executions: 0,
            incomplete: false,
            strayed: false,
        }
    }
}

impl Eta {
    /// A new search.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Goes back to the deepest point with something left to try; `false` if there is none.
    fn backtrack(&mut self) -> bool {
        let mut left_below = self.leaf;
        while let Some(node) = self.path.last_mut() {
            self.levels.add(left_below);
            match &mut node.what {
                What::Value { option, of } if *option + 1 < *of => {
                    *option += 1;
                    return true;
                }
                What::Step { option, left, tried, .. } if !left.is_empty() => {
                    tried.push(*option);
                    *option = left.remove(0);
                    return true;
                }
                _ => {}
            }
            left_below = self.levels.pop(node.what.of());
            self.path.pop();
        }
        self.leaf = left_below;
        false
    }

    /// By Eta's rule, over all children of a point and not only those that are tried.
    fn estimate(&self) -> Option<Estimate> {
        let children = |at: usize| {
            let what = &self.path[at].what;
            Some(Children { of: what.of(), pending: what.left() })
        };
        let now = (self.executions > 0).then_some(self.leaf);
        let reading = self.levels.read(self.levels.len(), now, children)?;
        Some(reading.estimate(Kind::Reduced))
    }

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

    /// Has one good sibling tried at the evil ancestor of a step.
    fn schedule(&mut self, later: usize) {
        let Some(evil) = self.evil_ancestor(later) else { return };
        let at = self.path.partition_point(|node| (node.step as usize) < evil);
        let is_step = |&at: &usize| matches!(self.path[at].what, What::Step { .. });
        let here = |&at: &usize| self.path[at].step as usize == evil;
        let Some(at) = (at..self.path.len()).take_while(here).find(is_step) else { return };
        let good = |&task: &TaskId| {
            let own = |&step: &usize| {
                self.steps[step].footprint.task == task && !self.steps[step].immediate
            };
            (evil..=later).find(own).is_some_and(|next| self.before(next, later))
        };
        let What::Step { option, options, left, tried } = &self.path[at].what else { return };
        let mut siblings = (0..options.len() as u32).filter(|&o| good(&options[o as usize]));
        let known = |o: &u32| o == option || left.contains(o) || tried.contains(o);
        if siblings.clone().any(|sibling| known(&sibling)) {
            return;
        }
        // The step's own task if it can: else one without which it would not have come.
        let own = options.iter().position(|task| *task == self.steps[later].footprint.task);
        let own = own.map(|own| own as u32).filter(|own| siblings.clone().any(|s| s == *own));
        let every = options.len() as u32;
        let chosen = own.or_else(|| siblings.next());
        if let What::Step { option, left, tried, .. } = &mut self.path[at].what {
            match chosen {
                Some(chosen) => left.push(chosen),
                // Not among messages; of threads somebody may have had to wait: try all.
                None => left.extend(
                    (0..every).filter(|o| o != option && !tried.contains(o)).collect::<Vec<_>>(),
                ),
            }
        }
    }
}

impl Eta {
    /// A task was created.
    fn spawned(&mut self, parent: TaskId, child: TaskId) {
        let (last, born) = *self.lane(parent);
        self.lane(child).1 = if last > 0 { last } else { born };
    }

    /// A step was executed.
    fn executed(&mut self, step: &Step<'_>) {
        self.heard += 1;
        let number = self.heard as u32;
        let (last, born) = *self.lane(step.task);
        self.lane(step.task).0 = number;
        // After a search was restored they are all new.
        if self.heard <= self.kept.min(self.steps.len()) {
            return;
        }
        let mut clock = Vec::new();
        let mut nth = 1;
        let join = |clock: &mut Vec<u32>, theirs: &[u32]| {
            clock.resize(clock.len().max(theirs.len()), 0);
            clock.iter_mut().zip(theirs).for_each(|(own, theirs)| *own = (*own).max(*theirs));
        };
        if last > 0 {
            let last = &self.steps[last as usize - 1];
            nth = last.nth + 1;
            join(&mut clock, &last.clock);
        } else if born > 0 {
            join(&mut clock, &self.steps[born as usize - 1].clock);
        }
        if let Some(sender) = step.sent_by.and_then(|number| self.steps.get(number as usize - 1)) {
            join(&mut clock, &sender.clock);
        }
        // Whoever waited for others goes on after them.
        let waited = match step.footprint.first().map(|touched| touched.1) {
            Some(Access::Settle) => 0..self.steps.len(),
            Some(Access::Roused) => {
                let by = (step.enabled_since as usize).min(self.steps.len());
                by.saturating_sub(1)..by
            }
            _ => 0..0,
        };
        for earlier in waited {
            join(&mut clock, &self.steps[earlier].clock);
        }
        clock.resize(clock.len().max(step.task.index() + 1), 0);
        clock[step.task.index()] = nth;
        let footprint = Footprint::of(step);
        self.steps.push(Done { footprint, immediate: step.immediate, clock, nth });
    }
}

impl Strategy for Eta {
    fn needs(&self) -> Needs {
        Needs { steps: true, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        if self.strayed {
            return false;
        }
        if self.started && !self.backtrack() {
            self.done = true;
            return false;
        }
        (self.started, self.running) = (true, true);
        plan.prefix.clear();
        plan.prefix.extend(self.path.iter().map(|node| match &node.what {
            What::Step { option, .. } | What::Value { option, .. } => *option,
        }));
        self.kept = self.path.last().map_or(0, |node| node.step as usize);
        self.steps.truncate(self.kept);
        self.lasts.clear();
        self.heard = 0;
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        let step = self.heard as u32;
        let what = match point.options {
            Options::Value { of, .. } => What::Value { option: 0, of },
            Options::Schedule(choices) => {
                let option = point.running_option().unwrap_or(0);
                let options = choices.iter().map(|choice| choice.task).collect();
                What::Step { option, options, left: Vec::new(), tried: Vec::new() }
            }
        };
        let (What::Step { option, .. } | What::Value { option, .. }) = &what;
        let option = *option;
        self.path.push(Node { step, what });
        self.levels.push();
        Answer::Take(option)
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        match event {
            Event::Spawn { parent, child } => self.spawned(*parent, *child),
            Event::Value { .. } => {}
            Event::Step(step) => self.executed(step),
        }
        None
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.executions += 1;
        self.running = false;
        self.strayed |= self.steps.len() < self.kept;
        self.leaf = Size::LEAF;
        let limited = execution.outcome.is_cut_off();
        // Ops that never ran, and those of threads, need what this reduction does not look at.
        let threads = self.steps.iter().any(|s| !s.immediate && !s.footprint.learned);
        self.incomplete |= limited || threads || execution.irregular || !execution.stuck.is_empty();
        for later in (self.kept..self.steps.len()).rev() {
            if !self.steps[later].immediate {
                self.schedule(later);
            }
        }
    }

    fn covered(&self) -> Covered {
        if self.done && !self.incomplete {
            Covered::Equivalence
        } else {
            Covered::Part { executions: self.executions, preemptions: None }
        }
    }

    fn remarks(&self) -> Remarks {
        let unfinished = self.strayed.then(|| STRAYED.to_owned());
        Remarks { unfinished, ..Remarks::default() }
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }

    fn estimating(&self) -> Option<&dyn Estimating> {
        Some(self)
    }
}

impl Resumable for Eta {
    /// The steps of the path are not in it: the next execution has them again.
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        if self.running {
            return Err(RUNNING);
        }
        let mut writer = Writer::new(NAME);
        for flag in [self.started, self.done, self.incomplete] {
            writer.flag(flag);
        }
        writer.number(self.executions);
        self.leaf.save(&mut writer);
        self.levels.save(self.path.len(), &mut writer);
        writer.number(self.path.len() as u64);
        for Node { step, what } in &self.path {
            writer.number((*step).into());
            match what {
                What::Value { option, of } => {
                    writer.number(0);
                    writer.number((*option).into());
                    writer.number((*of).into());
                }
                What::Step { option, options, left, tried } => {
                    writer.number(options.len() as u64);
                    for task in options {
                        writer.number(task.0.into());
                    }
                    writer.number((*option).into());
                    for list in [left, tried] {
                        writer.number(list.len() as u64);
                        for option in list {
                            writer.number((*option).into());
                        }
                    }
                }
            }
        }
        Ok(writer.finish())
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let mut reader = Reader::new(state, NAME)?;
        let mut new = Self::new();
        for flag in [&mut new.started, &mut new.done, &mut new.incomplete] {
            *flag = reader.flag()?;
        }
        new.executions = reader.number()?;
        new.leaf = Size::restore(&mut reader)?;
        new.levels = Levels::restore(&mut reader)?;
        for _ in 0..reader.length()? {
            let node = read_node(&mut reader)?;
            if new.path.last().is_some_and(|above| above.step > node.step) {
                return Err(FOREIGN);
            }
            new.path.push(node);
        }
        reader.finish()?;
        if new.levels.len() != new.path.len() {
            return Err(FOREIGN);
        }
        *self = new;
        Ok(())
    }
}

impl Estimating for Eta {
    fn progress(&self) -> Progress {
        let pending = self.path.iter().map(|node| u64::from(node.what.left())).sum();
        let frontier_bytes = (self.path.len() * size_of::<Node>() + self.levels.bytes()) as u64;
        let estimate = self.estimate();
        let part = |estimate: Estimate| estimate.covered / estimate.total.about;
        let covered = if self.done { Some(1.0) } else { estimate.map(part) };
        Progress { covered, estimate, pending, frontier_bytes, ..Progress::default() }
    }
}

fn read_node(reader: &mut Reader<'_>) -> Result<Node, Unsupported> {
    let step = reader.small()?;
    let width = reader.length()?;
    if width == 0 {
        let (option, of) = (reader.small()?, reader.small()?);
        let what = What::Value { option, of };
        return if option < of { Ok(Node { step, what }) } else { Err(FOREIGN) };
    }
    let options = (0..width).map(|_| reader.task()).collect::<Result<Vec<_>, _>>()?;
    let option = |reader: &mut Reader<'_>| match reader.small()? {
        option if (option as usize) < width => Ok(option),
        _ => Err(FOREIGN),
    };
    let chosen = option(reader)?;
    let list = |reader: &mut Reader<'_>| {
        (0..reader.length()?).map(|_| option(reader)).collect::<Result<Vec<_>, _>>()
    };
    let (left, tried) = (list(reader)?, list(reader)?);
    Ok(Node { step, what: What::Step { option: chosen, options, left, tried } })
}
