//! Dynamic partial-order reduction: one execution for each partial order, not for each interleaving.
//!
//! Optimal DPOR with wakeup trees: Abdulla, Aronis, Jonsson, Sagonas, POPL 2014 and JACM 2017. When an
//! execution ends, every race between two of its steps that could have come the other way round yields a
//! sequence which does that: the steps after the first that do not depend on it, then the second. The
//! sequence goes into the wakeup tree of the state before the first step, unless a task that sleeps there
//! could begin it. [`Reduction::Source`] keeps of the sequence only one task that begins it (source sets),
//! [`Reduction::Classic`] also the task that raced (Flanagan and Godefroid, POPL 2005), both with sleep sets.
//!
//! Where we differ: steps that are no scheduling points (a join that runs on) are events but not part of
//! sequences, and belong to the step with which they ran on; values (`choose`, which waiter is woken) are opened
//! in full, siblings do not sleep. A release and a later acquire of its lock are ordered but do not race: the
//! acquire races with the acquire before. Ops that could not run when an execution ended blocked race as if they
//! had run last. A timeout and the op that it would end are two steps of which one makes the other impossible: the one that
//! did not run races with what made it so (`races::Instead`). Where timeouts fire only when nothing else can move, such a step depends
//! on all before it and comes before none of them; so it is in no race, the op that it ends races as at the end of an execution,
//! and of timers that are due at the same time each is tried first.
//!
//! The optimal reduction looks at the races of every execution again, also those of its repeated part: what a
//! sleeping task covers is known only of whole executions.
//!
//! Objects are numbered where they are first used, so their numbers mean nothing to a branch that parted before that.
//! `wakeup.rs` says how steps are compared all the same, and which sequences are decided about later (`watch.rs`).
//!
//! Not optimal, so that a trace may be run twice or an execution be cut: with `is_finished` of a task that waits; and
//! where an op that waits for a lock finds it held, in an order that could not be told to be impossible.
//!
//! With a filter (`hapset/filter.rs`) orders of statements that passing executions have shown are left out:
//! `HaPSet`'s one extra condition, where races open alternatives.
//!
//! Why it is bound to the path: a wakeup tree belongs to the state before a step of the current path, and is
//! consumed by the very next executions; what sleeps is known of the order of siblings on one path. Source and
//! classic sets need only who was *started* before, and so also run in any order (`tree.rs`).
//!
//! Memory: one node for each decision of the current path, and the wakeup trees along it.
//!
//! Misses: what follows an execution that a limit cut off, and what reverses its races; where a task that yields
//! twice is held back until others have moved, the executions that are left are not closed under equivalence. Then
//! nothing is said to be covered.
//! Overreports: nothing.

mod guide;
mod movable;
mod opening;
mod units;
mod watch;

use raddle_engine::dependence::Footprint;
use raddle_engine::happens::History;
use raddle_engine::op::{Access, TaskId};
use raddle_engine::strategy::{
    Choice, Cut, Event, Finished, Needs, Options, Point, SearchPart, Step, Stuck, Unsupported,
};
use raddle_trace::unit::{SharedPoint, Sibling, Upwards};
use raddle_trace::{Covered, Gaps, Outcome, PairCount};
use serde::{Deserialize, Serialize};

use self::guide::Guide;
use self::movable::{Movable, MovableTasks};
use self::opening::Opener;
use self::units::AtShared;
use self::watch::Watch;
use crate::estimate::{Children, Kind};
use crate::hapset::{Filter, SavedFilter};
use crate::path::{Advance, Decision, Expansion, Path, PathSearch, Standing};
use crate::races::{Instead, Later, Ops, RaceFilter, RaceFinder, Reversal};
use crate::sleep;
use crate::state::FOREIGN;
use crate::wakeup::{Branch, Link, Way};

/// Optimal, source-set and classic DPOR, depth first.
pub type Dpor = PathSearch<Reduced>;

/// Which alternatives a race opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// The task that raced, if it could move there, and one that can begin a sequence which reverses
    /// the race.
    Classic,
    /// One task that can begin a sequence which reverses the race.
    Source,
    /// The whole sequence.
    Optimal,
}

/// One point of the current path.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Node {
    /// Events before it.
    event: u32,
    what: What,
    /// Steps that need not be taken first here: what follows them is covered elsewhere. Explored
    /// siblings join.
    sleep: Vec<Footprint>,
    /// How many of them slept when the state was reached; the others are explored siblings.
    slept: u32,
    /// How many of those, the first ones, have outlasted a sequence of a wakeup tree: no step of it depended on them. They slept at
    /// some point to which no tree led, here or before, and cover no sequence (`Node::covers`).
    outlasted: u32,
    /// Objects announced before it.
    objects: u32,
    /// What is still to be tried here.
    wakeup: Vec<Branch>,
    /// What must be seen below the step that is tried now, for branches of `wakeup` not to be needed.
    watch: Option<Watch>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum What {
    /// A task moved. `options`: who could have.
    Step { task: TaskId, options: MovableTasks },
    /// A value was decided. `left`: options still to be tried. `ways`: what to try after it, by the
    /// values decided.
    Value { option: u32, of: u32, left: Vec<u32>, during: bool, ways: Option<Vec<Way>> },
}

impl Node {
    /// What is known and still to be tried here.
    fn pending(&self) -> u32 {
        let values = match &self.what {
            What::Value { left, .. } => left.len(),
            What::Step { .. } => 0,
        };
        (self.wakeup.len() + values) as u32
    }

    /// A sequence cannot be followed here: every other option is to be tried instead.
    fn open_all(&mut self) {
        let What::Step { task, options } = &self.what else { return };
        for other in options.iter().map(|movable| movable.task) {
            // A sleeper is left out: what follows it was covered before this state was reached, or by a sibling. So is what has a
            // branch: that is tried anyway, and a second one of the same task would repeat it.
            let opened = other == *task
                || sleep::contains(&self.sleep, other)
                || self.wakeup.iter().any(|branch| branch.step.task == other);
            if !opened {
                self.wakeup.push(Branch::free(other));
            }
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
        match &self.what {
            What::Step { task, options } => options.place_of(*task).unwrap_or(0) as u32,
            What::Value { option, .. } => *option,
        }
    }

    fn is_valid(&self) -> bool {
        let fits = match &self.what {
            What::Step { task, options } => options.len() > 1 && options.contains(*task),
            What::Value { option, of, left, .. } => {
                option < of && left.iter().all(|left| left < of)
            }
        };
        fits && self.outlasted <= self.slept && self.slept as usize <= self.sleep.len()
    }
}

/// What is known of the current execution.
#[derive(Debug, Default)]
struct Current {
    /// Events that are those of the last execution.
    kept: usize,
    /// Whether the execution differs from the last one in a value.
    other_value: bool,
    /// Steps heard of.
    heard: usize,
    cut: bool,
    /// Whether tasks may know more than the partial order of the steps says: times.
    times_matter: bool,
    /// What could have come instead of events.
    instead: Vec<(u32, Instead)>,
    /// Ops that could not run at the end, or where the execution was cut.
    stuck: Vec<Stuck>,
}

/// Opens what reverses races.
#[derive(Debug)]
pub struct Reduced {
    reduction: Reduction,
    history: History,
    guide: Guide,
    /// The sleep set of the state that comes next, and how many of it have [outlasted](Node::outlasted) a sequence.
    sleep: Vec<Footprint>,
    outlasted: usize,
    current: Current,
    finder: RaceFinder,
    reversal: Reversal,
    /// Room for a sequence on its way into a wakeup tree.
    sequence: Vec<Link>,
    /// What steps did with values that have been left, by event.
    valued: Vec<(u32, Footprint)>,
    /// What the last execution did at points of its path, if the search was restored since.
    done: Vec<(u32, Footprint)>,
    /// Why what was not run need not be equivalent to what was.
    gaps: Gaps,
    strayed: bool,
    /// A step might have touched other things with other values.
    values_touch_others: bool,
    /// Executions that turned out to be redundant.
    blocked: u64,
    spare: Spare,
    /// Leaves out orders that are not worth a run.
    filter: Option<Box<Filter>>,
    /// Of a part: what is wanted at points above it.
    requests: Vec<AtShared>,
    /// Points that lie above parts since it was split, and the first point that might change before that.
    shared: Vec<SharedPoint>,
    entered: Option<usize>,
}

/// Allocations of nodes that were left.
#[derive(Debug, Default)]
struct Spare {
    sleeps: Vec<Vec<Footprint>>,
    options: Vec<Vec<Movable>>,
}

/// What is saved besides the points.
#[derive(Debug, Serialize, Deserialize)]
pub struct SavedReduction {
    gaps: Gaps,
    blocked: u64,
    /// What the last execution did at each point.
    done: Vec<Option<Footprint>>,
    valued: Vec<(u32, Footprint)>,
    known: Vec<(u32, Later)>,
    #[serde(default)]
    values_touch_others: bool,
    filter: Option<SavedFilter>,
}

impl Dpor {
    /// A search with this reduction.
    #[must_use]
    pub fn new(reduction: Reduction) -> Self {
        Self::with(Reduced::new(reduction))
    }

    /// Classic DPOR that opens only what a filter finds worth a run.
    #[must_use]
    pub(crate) fn filtered(filter: Filter) -> Self {
        let reduced = Reduced::new(Reduction::Classic);
        Self::with(Reduced { filter: Some(Box::new(filter)), ..reduced })
    }

    /// What it leaves out orders by, if it does.
    pub(crate) fn filter(&self) -> Option<&Filter> {
        self.expansion.filter.as_deref()
    }

    pub(crate) fn filter_mut(&mut self) -> Option<&mut Filter> {
        self.expansion.filter.as_deref_mut()
    }

    /// Executions that were begun and turned out to repeat others. Few under
    /// [`Reduction::Optimal`]; the head of this file says when.
    #[must_use]
    pub fn blocked(&self) -> u64 {
        self.expansion.blocked
    }

    /// The order of the last execution's events.
    #[must_use]
    pub fn history(&self) -> &History {
        &self.expansion.history
    }
}

impl Reduced {
    fn new(reduction: Reduction) -> Self {
        let optimal = reduction == Reduction::Optimal;
        Self {
            reduction,
            history: History::default(),
            guide: Guide::default(),
            sleep: Vec::new(),
            outlasted: 0,
            current: Current::default(),
            // Source and classic sets keep one task of a sequence and look at a race once. The optimal reduction keeps the whole
            // sequence, which goes on as the execution does: the head of `races.rs` has the reason.
            finder: if optimal { RaceFinder::revisiting() } else { RaceFinder::default() },
            reversal: Reversal::default(),
            sequence: Vec::new(),
            valued: Vec::new(),
            done: Vec::new(),
            gaps: Gaps::default(),
            strayed: false,
            values_touch_others: false,
            blocked: 0,
            spare: Spare::default(),
            filter: None,
            requests: Vec::new(),
            shared: Vec::new(),
            entered: None,
        }
    }

    /// The sleep set, for a node.
    fn sleepers(&mut self) -> Vec<Footprint> {
        let mut sleep = self.spare.sleeps.pop().unwrap_or_default();
        sleep.clone_from(&self.sleep);
        sleep
    }

    /// An execution leaves the path at this node.
    fn sleep_as_at(&mut self, node: &Node) {
        self.sleep.clone_from(&node.sleep);
        self.outlasted = node.outlasted as usize;
    }

    fn is_asleep(&self, task: TaskId) -> bool {
        sleep::contains(&self.sleep, task)
    }

    /// A task takes the next step without a question. `false` if it sleeps.
    fn go_on_with(&mut self, task: TaskId) -> bool {
        self.guide.go_on_with(task);
        !self.is_asleep(task)
    }

    /// All that can move is asleep. The ops that wait, which are `stuck`, race all the same.
    fn cut_at(&mut self, stuck: Vec<Stuck>) -> Cut {
        self.current.cut = true;
        self.current.stuck = stuck;
        Cut::Redundant
    }

    /// What the last execution did at an event of its path, if it came so far.
    fn done_at(&self, event: u32) -> Option<Footprint> {
        if (event as usize) < self.history.len() {
            return Some(self.history.event(event as usize).footprint);
        }
        let at = self.done.partition_point(|(other, _)| *other < event);
        self.done.get(at).filter(|(other, _)| *other == event).map(|(_, step)| *step)
    }

    fn arrive_at_value(
        &mut self,
        point: &Point<'_>,
        task: TaskId,
        of: u32,
        during: bool,
    ) -> Result<Node, Cut> {
        // A value decided within a step comes before the step is told. Where there was one option and so no point, this is
        // where the step shows up first, and where it may be found to be asleep.
        if during && !self.guide.chosen && !self.go_on_with(task) {
            return Err(self.cut_at(point.pending.stuck()));
        }
        let mut left = self.guide.values_to_try(of, during, self.current.heard as u32);
        // Those that the tree lists, or all: no race would show that another value does something else, so none is left to
        // be opened by races.
        let option = left.remove(0);
        let ways = self.guide.ways.clone();
        let what = What::Value { option, of, left, during, ways };
        Ok(self.node(point, what, Vec::new()))
    }

    fn node(&mut self, point: &Point<'_>, what: What, wakeup: Vec<Branch>) -> Node {
        let (sleep, event) = (self.sleepers(), self.history.len() as u32);
        let (slept, objects) = (sleep.len() as u32, point.objects);
        let watch = match &what {
            What::Step { task, .. } => Watch::new(*task, &wakeup),
            What::Value { .. } => None,
        };
        let outlasted = self.outlasted as u32;
        Node { event, what, sleep, slept, outlasted, objects, wakeup, watch }
    }

    /// Where no wakeup tree leads: the running task if it is awake, else the first that is.
    fn first_awake(&self, point: &Point<'_>, choices: &[Choice]) -> Option<u32> {
        let awake = |option: &u32| !self.is_asleep(choices[*option as usize].task);
        // To stay with the running task makes the first executions those with the fewest switches. Any awake task would do:
        // the rest is opened by races.
        let running = point.running_option().filter(awake);
        let chosen = running.or_else(|| (0..choices.len() as u32).find(awake));
        match &self.filter {
            Some(filter) => filter.laps.make_way(point, chosen, awake),
            None => chosen,
        }
    }

    fn arrive_at_step(&mut self, point: &Point<'_>, choices: &[Choice]) -> Result<Node, Cut> {
        let led = self.guide.lead(point);
        if led.is_none() {
            self.outlasted = self.sleep.len();
        }
        let (chosen, wakeup) = match led {
            Some((option, wakeup)) => (Some(option), wakeup),
            None => (self.first_awake(point, choices), Vec::new()),
        };
        let Some(option) = chosen else { return Err(self.cut_at(point.pending.stuck())) };
        let task = choices[option as usize].task;
        // What the others would do here tells what a step of them does if it comes earlier than it did (`access_after`).
        // An op that is not known is taken for a write, which depends on most.
        let optimal = self.reduction == Reduction::Optimal;
        let access = |task| point.pending.op(task).map_or(Access::Write, |op| op.access);
        let movable = |&Choice { task }: &Choice| {
            let access = optimal.then(|| access(task));
            Movable { task, access }
        };
        let options = MovableTasks::new(choices.iter().map(movable), &mut self.spare.options);
        // Taken before the node is made: it is about this point alone, and the next one is not to inherit it.
        let lost = std::mem::take(&mut self.guide.lost);
        let mut node = self.node(point, What::Step { task, options }, wakeup);
        // Timers that fire because nothing else can move race with nothing, and which of them is first matters.
        if lost || point.running.is_none() && point.pending.idle() {
            node.open_all();
        }
        Ok(node)
    }

    /// A step of the path is heard of again, after the search was restored: it becomes an event.
    #[cold]
    fn recall(&mut self, step: &Step<'_>, path: &[Node]) {
        let index = self.history.len();
        let node = step.point.and_then(|point| path.get(point as usize));
        // It is a step of the task that was chosen there.
        let fits = node.is_none_or(|node| {
            let chosen = matches!(&node.what, What::Step { task, .. } if *task == step.task);
            chosen && node.event as usize == index
        });
        self.strayed |= !fits;
        self.history.step(step);
    }

    fn stepped(&mut self, step: &Step<'_>, path: &[Node]) -> Option<Cut> {
        if let Some(filter) = &mut self.filter {
            filter.step(step);
        }
        if self.current.cut {
            return None;
        }
        let index = self.current.heard as u32;
        self.current.heard += 1;
        // A step of the repeated part. Its event is in the history, except after a restart, when the history is empty
        // and is made again from what the engine tells.
        if self.current.heard <= self.current.kept {
            if !step.immediate {
                self.guide.last = Some(index);
            }
            if self.history.len() < self.current.heard {
                self.recall(step, path);
                self.current.instead.extend(Instead::of(step).map(|instead| (index, instead)));
            } else {
                self.history.forget_values(step.task);
            }
            return None;
        }
        // A step that nothing was asked about: it had no alternative, so there was no point at which to notice that it sleeps.
        if !step.immediate && !self.guide.chosen && !self.go_on_with(step.task) {
            return Some(self.cut_at(step.stuck()));
        }
        self.history.step(step);
        self.values_touch_others |= step.decided.touches_others;
        if !self.sleep.is_empty() {
            let step = Footprint::of(step);
            self.outlasted = sleep::wake(&mut self.sleep, self.outlasted, &step);
        }
        self.current.instead.extend(Instead::of(step).map(|instead| (index, instead)));
        if !step.immediate {
            self.guide.chosen = false;
            self.guide.last = Some(index);
        }
        None
    }

    /// Notes what the execution has shown of what nodes of its path watch for.
    fn look_out(&self, path: &mut [Node]) {
        for node in path {
            if let Some(watch) = &mut node.watch {
                // With another value the step might have led elsewhere, and not every value need be tried: see the head of `watch.rs`.
                let decided = !self.guide.values_of(node.event).is_empty();
                let doubtful = decided || self.current.times_matter;
                watch.look(&self.history, node.event as usize, self.current.kept, doubtful);
            }
        }
    }

    /// Opens what the races of the execution ask for.
    fn open_races(&mut self, path: &mut [Node], floor: usize) {
        let Self { history, finder, current, filter, .. } = self;
        let mut opener = Opener {
            reduction: self.reduction,
            reversal: &mut self.reversal,
            sequence: &mut self.sequence,
            guide: &self.guide,
            stuck: &current.stuck,
            path,
            floor,
            requests: &mut self.requests,
        };
        // Before `find`, which adds the races of new events to the known ones: they are not to be visited twice.
        let again = current.other_value;
        finder.find_again(history, current.kept, again, |history, first, later| {
            opener.open(history, first, later);
        });
        // A step that might have touched more is woken by steps that do not depend on what it did. If it comes where it could
        // have slept on, it covers what reverses a race; where it comes later it does not. So the races
        // of the repeated part are looked at again; the optimal reduction has done so.
        let again = self.values_touch_others && self.reduction != Reduction::Optimal;
        let from = if again { 0 } else { current.kept };
        let ops = Ops { from, instead: &current.instead, stuck: &current.stuck };
        let filter = filter.as_deref_mut().map(|filter| filter as &mut dyn RaceFilter);
        finder
            .find(history, ops, filter, |history, first, later| opener.open(history, first, later));
    }
}

impl Expansion for Reduced {
    type Point = Node;
    type Saved = SavedReduction;

    fn name(&self) -> String {
        let filtered = if self.filter.is_some() { " filtered" } else { "" };
        format!("dpor {:?}{filtered}", self.reduction)
    }

    fn needs(&self) -> Needs {
        let contexts = self.filter.as_ref().map_or(0, |filter| filter.contexts());
        Needs { steps: true, contexts, ..Needs::default() }
    }

    fn begin(&mut self, path: &[Node], _: bool) {
        // The last node's step is taken anew; a value's node has no step of its own.
        let kept = path.last().map_or(0, |node| node.event as usize);
        let is_value = |node: &Node| matches!(node.what, What::Value { .. });
        self.current.kept = kept;
        self.current.other_value = path.last().is_some_and(is_value);
        self.current.heard = 0;
        self.current.cut = false;
        self.current.times_matter = false;
        // Those of the repeated part are not told again and are still looked at: see `Ops::instead`.
        self.current.instead.retain(|(index, _)| (*index as usize) < kept);
        self.current.stuck.clear();
        self.done.clear();
        self.history.begin(kept);
        self.finder.begin(kept);
        self.guide.begin();
        if let Some(filter) = &mut self.filter {
            filter.begin();
        }
    }

    fn arrive(&mut self, point: &Point<'_>) -> Result<Node, Cut> {
        self.current.times_matter |= point.pending.strayed();
        match point.options {
            Options::Schedule(choices) => self.arrive_at_step(point, choices),
            Options::Value { task, of, during } => self.arrive_at_value(point, task, of, during),
        }
    }

    fn heard(&mut self, event: &Event<'_>, path: &[Node]) -> Option<Cut> {
        match *event {
            Event::Step(ref step) => return self.stepped(step, path),
            // What comes after a cut is covered elsewhere: its races are found there.
            _ if self.current.cut => {}
            Event::Spawn { parent, child } => self.history.spawn(parent, child),
            Event::Value { task, taken, during } => {
                self.history.value(task, taken.option);
                self.guide.decided(taken.option, during, self.current.heard as u32);
            }
            Event::Unasked { task } => {
                self.history.value(task, 0);
                self.guide.decided(0, true, self.current.heard as u32);
            }
            // Only explorers ask for these.
            Event::Passed { .. } | Event::Actor(_) => {}
        }
        None
    }

    fn end(&mut self, path: &mut Path<Node>, execution: &Finished<'_>) {
        // It ended before the repeated part did, so the prefix was not repeated. Nothing that was derived from it holds, and
        // nothing is opened.
        self.strayed |= self.history.len() < self.current.kept;
        let cut_off = execution.outcome.is_cut_off();
        self.gaps |= execution.gaps | Gaps { cut_off, ..Gaps::default() };
        self.blocked += u64::from(self.current.cut);
        if !self.current.cut {
            self.current.stuck.extend_from_slice(execution.stuck);
        }
        self.look_out(path.points_mut());
        self.guide.end();
        if let Some(filter) = &mut self.filter {
            filter.end(execution);
        }
        // What a limit cuts off is long; what ends its process has shown all that leads to that.
        if !matches!(execution.outcome, Outcome::Limit { .. }) && !self.strayed {
            let floor = path.floor;
            self.open_races(path.points_mut(), floor);
        }
    }

    fn advance(&mut self, _: usize, node: &mut Node) -> Advance {
        let done = self.done_at(node.event);
        // A value decided within the step decides what the step touches; one decided after it does not.
        if let What::Value { during: true, .. } = &node.what
            && let Some(done) = done
        {
            // What the step did with this value it may not do with another.
            self.valued.push((node.event, done.with_any_values()));
        }
        match &mut node.what {
            What::Value { option, left, during, ways, .. } if !left.is_empty() => {
                *option = left.remove(0);
                self.guide.follow(ways.clone(), *during);
                self.sleep_as_at(node);
                return Advance::Taken;
            }
            What::Value { .. } => {}
            What::Step { .. } => {
                // What was taken here is covered now: it sleeps for its later siblings.
                let here = |last: &mut (u32, Footprint)| last.0 >= node.event;
                while let Some((event, step)) = self.valued.pop_if(here) {
                    if event == node.event && !node.sleep.contains(&step) {
                        node.sleep.push(step);
                    }
                }
                let done = done.map(Footprint::with_any_values);
                if let Some(done) = done.filter(|done| !node.sleep.contains(done)) {
                    node.sleep.push(done);
                }
                if let Some(watch) = node.watch.take() {
                    node.wakeup.retain(|branch| !watch.has_seen(branch));
                }
                // In the order in which they were added. A branch may say that it is not needed unless an earlier one of the same
                // state has failed to cover it (`Branch::unless`), so the earlier ones come first.
                while !node.wakeup.is_empty() {
                    let branch = node.wakeup.remove(0);
                    let What::Step { task, options } = &mut node.what else { break };
                    if !options.contains(branch.step.task) {
                        // It is disabled, or has yielded and waits for others to move first.
                        node.open_all();
                        continue;
                    }
                    *task = branch.step.task;
                    node.watch = Watch::new(*task, &node.wakeup);
                    self.guide.follow(Some(branch.ways), true);
                    self.sleep_as_at(node);
                    return Advance::Taken;
                }
            }
        }
        Advance::Done { of: node.of() }
    }

    /// Its allocations are for the next ones.
    fn leave(&mut self, node: Node, _: bool) {
        self.spare.sleeps.push(node.sleep);
        if let What::Step { options, .. } = node.what {
            options.leave(&mut self.spare.options);
        }
    }

    fn children(&self, path: &[Node]) -> Vec<Children> {
        let children =
            |node: &Node| Children { of: node.of(), pending: node.pending(), dearer: None };
        path.iter().map(children).collect()
    }

    fn estimate_kind(&self) -> Option<Kind> {
        Some(Kind::Reduced)
    }

    fn covered(&self, standing: Standing) -> Covered {
        if let Some(filter) = self.filter.as_ref().filter(|filter| !filter.is_whole()) {
            return filter.covered(standing.ended, None);
        }
        let executions = standing.executions;
        if standing.ended {
            Covered::of_reduction(executions, self.gaps)
        } else {
            Covered::Part { executions, preemptions: None }
        }
    }

    fn pairs(&self) -> Option<PairCount> {
        self.filter.as_ref().map(|filter| filter.count())
    }

    fn has_strayed(&self) -> bool {
        self.strayed
    }

    fn is_divisible(&self) -> bool {
        self.reduction == Reduction::Source && self.filter.is_none()
    }

    fn split(search: &mut Dpor, n: usize) -> Result<Vec<SearchPart>, Unsupported> {
        Ok(search.split_source(n))
    }

    fn upwards(search: &mut Dpor) -> Upwards {
        search.say_upwards()
    }

    fn begin_with(&mut self, last: &mut Node, sibling: &Sibling) -> Result<(), Unsupported> {
        self.begin_with_sibling(last, sibling)
    }

    fn save(&self, path: &[Node]) -> Result<SavedReduction, Unsupported> {
        Ok(SavedReduction {
            gaps: self.gaps,
            blocked: self.blocked,
            done: path.iter().map(|node| self.done_at(node.event)).collect(),
            valued: self.valued.clone(),
            known: self.finder.known().to_vec(),
            values_touch_others: self.values_touch_others,
            filter: self.filter.as_ref().map(|filter| filter.save()),
        })
    }

    fn restore(&mut self, saved: SavedReduction, path: &[Node]) -> Result<(), Unsupported> {
        let in_order = path.is_sorted_by_key(|node| node.event);
        // What could have come instead of an event races with that.
        let can_be = |(first, later): &(u32, Later)| *first as usize <= later.index;
        if !in_order || saved.done.len() != path.len() || !saved.known.iter().all(can_be) {
            return Err(FOREIGN);
        }
        let mut new = Self::new(self.reduction);
        new.filter = match (&self.filter, saved.filter) {
            (None, None) => None,
            // A state with a filter means nothing to a search without one, and the other way round.
            (Some(filter), Some(saved)) => Some(Box::new(filter.restored(saved)?)),
            _ => return Err(FOREIGN),
        };
        let done = path.iter().zip(saved.done);
        new.done = done.filter_map(|(node, done)| Some((node.event, done?))).collect();
        (new.gaps, new.blocked) = (saved.gaps, saved.blocked);
        new.valued = saved.valued;
        new.values_touch_others = saved.values_touch_others;
        new.finder.restore(saved.known);
        new.take_last(path);
        *self = new;
        Ok(())
    }
}
