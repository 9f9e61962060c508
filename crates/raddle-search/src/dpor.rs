//! Dynamic partial-order reduction: one execution for each partial order, not for each
//! interleaving.
//!
//! Optimal DPOR with wakeup trees: Abdulla, Aronis, Jonsson, Sagonas, POPL 2014 and JACM 2017.
//! When an execution ends, every race between two of its steps that could have come the other way
//! round yields a sequence which does that: the steps after the first that do not depend on it,
//! then the second. The sequence goes into the wakeup tree of the state before the first step,
//! unless a task that sleeps there could begin it. [`Reduction::Source`] keeps of the sequence
//! only who begins it (source sets), [`Reduction::Classic`] also who raced (Flanagan and
//! Godefroid, POPL 2005), both with sleep sets (Godefroid 1996).
//!
//! Where we differ: steps that are no scheduling points (a join that runs on) are events but not
//! part of sequences; values (`choose`, which waiter is woken) are opened in full, siblings do not
//! sleep. A release and a later acquire of its lock are ordered but do not race: the acquire races
//! with the acquire before. Ops that could not run when an execution ended blocked race as if
//! they had run last.
//!
//! The races of every execution are all looked at again, also those of its repeated part: what a
//! sleeping task covers is known only of whole executions. Steps that are no scheduling points belong
//! to the step with which they ran on.
//!
//! Not optimal, so that a trace may be run twice or an execution be cut: where a sequence has objects
//! that were first used after the tasks parted, whose numbers mean nothing to the other branch
//! (unless they are named); with `is_finished` of a task that waits; and where an op that waits for a
//! lock finds it held, in an order that could not be told to be impossible.
//!
//! With a filter (`Dpor::filtered`, `hapset.rs`) orders of statements that passing executions have shown
//! are left out: `HaPSet`'s one extra condition, where races open alternatives.
//!
//! Memory: one node for each step of the current path, and the wakeup trees along it.
//!
//! Misses: what follows an execution that a limit cut off, and what reverses its races; where a task that yields twice is held
//! back until others have moved, the executions that are left are not closed under equivalence. Then
//! nothing is said to be covered. Timeouts that fire only when nothing else can move are
//! refused.
//! Overreports: nothing.

pub(crate) mod reversal;
mod saved;
mod wakeup;

use raddle_engine::dependence::{Footprint, widest};
use raddle_engine::happens::History;
use raddle_engine::op::{Access, ObjectId, TaskId};
use raddle_engine::strategy::{
    Answer, Checkpoint, Choice, Cut, Estimating, Event, Finished, Needs, Options, Pending, Plan,
    Point, Remarks, Resumable, Step, Strategy, Stuck, Taken, Tasks, Timer, Unsupported,
};
use raddle_trace::{Covered, Estimate, Outcome, Progress};

use self::reversal::{Later, find_begins, find_sequence, repeats};
use self::saved::Stage;
use self::wakeup::{Branch, Found, Way};
use crate::estimate::{Children, Kind, Levels, Size};
use crate::hapset::Filter;
use crate::state::STRAYED;

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
#[derive(Clone, Debug)]
struct Node {
    /// Events before it.
    event: u32,
    what: What,
    /// Steps that need not be taken first here: what follows them is covered elsewhere. Explored
    /// siblings join.
    sleep: Vec<Footprint>,
    /// How many of them slept when the state was reached; the others are explored siblings.
    slept: u32,
    /// Whether a wakeup tree led here.
    guided: bool,
    /// Objects announced before it.
    objects: u32,
    /// What is still to be tried here.
    wakeup: Vec<Branch>,
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
}

#[derive(Clone, Debug)]
enum What {
    /// A task moved. `options`: who could have, if it was a decision; `accesses`: what they would have
    /// done.
    Step { task: TaskId, options: Vec<TaskId>, accesses: Vec<Access> },
    /// A value was decided. `left`: options still to be tried. `ways`: what to try after it, by the
    /// values decided.
    Value { option: u32, of: u32, left: Vec<u32>, during: bool, ways: Option<Vec<Way>> },
}

impl What {
    /// The number of options.
    fn of(&self) -> u32 {
        match self {
            Self::Step { options, .. } => options.len() as u32,
            Self::Value { of, .. } => *of,
        }
    }
}

/// Optimal, source-set and classic DPOR, depth first.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub struct Dpor {
    reduction: Reduction,
    path: Vec<Node>,
    history: History,
    /// The wakeup tree of the state that comes next.
    guide: Vec<Branch>,
    /// That tree by the values decided in the last step and after it, as long as those are not all
    /// known.
    ways: Option<Vec<Way>>,
    /// Whether the next step has been chosen, so that `ways` belongs to it.
    chosen: bool,
    /// The last step that was a scheduling point; none at the beginning.
    last: Option<u32>,
    /// The values decided in this execution, with the step to which they belong.
    decided: Vec<(u32, u32)>,
    /// The sleep set of the state that comes next.
    sleep: Vec<Footprint>,
    /// Events of the plan that are known already.
    kept: usize,
    /// Whether the execution differs from the last one in a value.
    other_value: bool,
    /// Steps heard of in this execution.
    heard: usize,
    cut: bool,
    /// A limit ended an execution, or a task that yielded was held back: what was not run need not be
    /// equivalent to what was.
    incomplete: bool,
    stage: Stage,
    /// The execution after a search was restored is not the one that was planned.
    strayed: bool,
    /// What the last execution did at points of its path, if the search was restored since.
    done: Vec<(u32, Footprint)>,
    /// Completed executions, and those that turned out to be redundant.
    executions: u64,
    blocked: u64,
    /// New events whose ops had timeouts.
    timers: Vec<(u32, Timer)>,
    /// Ops that could not run at the end, or where the execution was cut.
    stuck: Vec<Stuck>,
    races: Vec<u32>,
    /// The races of the path's events.
    found: Vec<(u32, Later)>,
    then: Vec<usize>,
    begins: Vec<TaskId>,
    firsts: Vec<u32>,
    sequence: Vec<u32>,
    seen: Vec<u32>,
    /// What steps did with values that have been left, by event.
    valued: Vec<(u32, Footprint)>,
    /// The tree cannot be followed at the next point.
    lost: bool,
    spare: Spare,
    /// One for each node: what is known of what was left there.
    levels: Levels,
    /// What the last execution was; once all is done, what all of it was.
    leaf: Size,
    /// Leaves out orders that are not worth a run.
    filter: Option<Box<Filter>>,
}

/// Allocations of nodes that were left.
#[derive(Debug, Default)]
struct Spare {
    sleeps: Vec<Vec<Footprint>>,
    options: Vec<Vec<TaskId>>,
    accesses: Vec<Vec<Access>>,
}

impl Dpor {
    /// A search with this reduction.
    #[must_use]
    pub fn new(reduction: Reduction) -> Self {
        Self {
            reduction,
            path: Vec::new(),
            history: History::default(),
            guide: Vec::new(),
            ways: None,
            chosen: false,
            last: None,
            decided: Vec::new(),
            sleep: Vec::new(),
            kept: 0,
            other_value: false,
            heard: 0,
            cut: false,
            incomplete: false,
            stage: Stage::First,
            strayed: false,
            done: Vec::new(),
            executions: 0,
            blocked: 0,
            timers: Vec::new(),
            stuck: Vec::new(),
            races: Vec::new(),
            found: Vec::new(),
            then: Vec::new(),
            begins: Vec::new(),
            firsts: Vec::new(),
            sequence: Vec::new(),
            seen: Vec::new(),
            valued: Vec::new(),
            lost: false,
            spare: Spare::default(),
            levels: Levels::default(),
            leaf: Size::LEAF,
            filter: None,
        }
    }

    /// Classic DPOR that opens only what a filter finds worth a run.
    #[must_use]
    pub(crate) fn filtered(filter: Filter) -> Self {
        Self { filter: Some(Box::new(filter)), ..Self::new(Reduction::Classic) }
    }

    /// What it leaves out orders by, if it does.
    pub(crate) fn filter(&self) -> Option<&Filter> {
        self.filter.as_deref()
    }

    pub(crate) fn filter_mut(&mut self) -> Option<&mut Filter> {
        self.filter.as_deref_mut()
    }

    /// Executions that were begun and turned out to repeat others. Few under
    /// [`Reduction::Optimal`]; the head of this file says when.
    #[must_use]
    pub fn blocked(&self) -> u64 {
        self.blocked
    }

    /// The order of the last execution's events.
    #[must_use]
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Leaves the path at its deepest point with something left to try; `false` if there is none.
    fn backtrack(&mut self) -> bool {
        let mut left = self.leaf;
        while let Some(event) = self.path.last().map(|node| node.event) {
            let done = self.done_at(event);
            let Some(node) = self.path.last_mut() else { break };
            if let What::Value { during: true, .. } = &node.what
                && let Some(done) = done
            {
                // What the step did with this value it may not do with another.
                self.valued.push((event, done));
            }
            self.levels.add(left);
            match &mut node.what {
                What::Value { option, left, during, ways, .. } if !left.is_empty() => {
                    *option = left.remove(0);
                    self.chosen = *during;
                    self.ways.clone_from(ways);
                    self.sleep.clone_from(&node.sleep);
                    return true;
                }
                What::Step { task, options, .. } => {
                    // What was taken here is covered now: it sleeps for its later siblings.
                    let here = |last: &mut (u32, Footprint)| last.0 >= node.event;
                    while let Some((event, step)) = self.valued.pop_if(here) {
                        if event == node.event && !node.sleep.contains(&step) {
                            node.sleep.push(step);
                        }
                    }
                    if let Some(done) = done.filter(|done| !node.sleep.contains(done)) {
                        node.sleep.push(done);
                    }
                    while !node.wakeup.is_empty() {
                        let branch = node.wakeup.remove(0);
                        if !options.contains(&branch.step.task) {
                            // It is disabled, or has yielded and waits for others to move first.
                            open_all(options, *task, &node.sleep, &mut node.wakeup);
                            continue;
                        }
                        *task = branch.step.task;
                        self.chosen = true;
                        self.ways = Some(branch.ways);
                        self.sleep.clone_from(&node.sleep);
                        self.sleep.retain(|sleeper| !branch.awake.contains(&sleeper.task));
                        return true;
                    }
                }
                What::Value { .. } => {}
            }
            left = self.levels.pop(node.what.of());
            self.drop_last();
        }
        self.leaf = left;
        false
    }

    fn estimate(&self) -> Option<Estimate> {
        let children = |at: usize| {
            let node = &self.path[at];
            Some(Children { of: node.what.of(), pending: node.pending() })
        };
        let now = (self.executions > 0).then_some(self.leaf);
        let reading = self.levels.read(self.levels.len(), now, children)?;
        Some(reading.estimate(Kind::Reduced))
    }

    /// Leaves the last node. Its allocations are for the next ones.
    fn drop_last(&mut self) {
        let Some(Node { what, sleep, .. }) = self.path.pop() else { return };
        self.spare.sleeps.push(sleep);
        if let What::Step { options, accesses, .. } = what {
            self.spare.options.push(options);
            self.spare.accesses.push(accesses);
        }
    }

    /// The sleep set, for a node.
    fn sleepers(&mut self) -> Vec<Footprint> {
        let mut sleep = self.spare.sleeps.pop().unwrap_or_default();
        sleep.clone_from(&self.sleep);
        sleep
    }

    fn is_asleep(&self, task: TaskId) -> bool {
        self.sleep.iter().any(|sleeper| sleeper.task == task)
    }

    /// A task moves to a new state: whoever its step touched wakes up.
    ///
    /// A step that did different things with different values sleeps with all of them, and wakes with
    /// any.
    fn fall_asleep_after(&mut self, step: &Footprint) {
        let several = self.sleep.len() > 1;
        let mut woken = Tasks::default();
        self.sleep.retain(|sleeper| {
            let wakes = sleeper.dependent(step);
            if wakes {
                woken.insert(sleeper.task);
            }
            !wakes
        });
        if several && !woken.is_empty() {
            self.sleep.retain(|sleeper| !woken.contains(sleeper.task));
        }
    }

    /// The last step and the code after it are done: what to try next hangs on the values decided.
    fn go_on(&mut self) {
        let Some(mut ways) = self.ways.take() else { return };
        let values = self.last.map_or_else(Box::default, |last| self.values_of(last));
        let listed = ways.iter().position(|way| way.values.as_ref() == Some(&values));
        let any = || ways.iter().position(|way| way.values.is_none());
        if let Some(at) = listed.or_else(any) {
            self.guide = ways.swap_remove(at).children;
        }
        // As many values as were decided when they were recorded: they cannot be followed.
        let same = |known: &[u32]| known.iter().zip(&values).all(|(a, b)| a == b);
        self.lost |= ways.iter().any(|way| way.values.as_deref().is_some_and(same));
    }

    /// A task takes the next step without a question. The tree goes on below if it names this task,
    /// else it is void. `false` if the task sleeps.
    fn go_on_with(&mut self, task: TaskId) -> bool {
        self.go_on();
        self.chosen = true;
        let at = self.guide.iter().position(|branch| branch.step.task == task);
        let branch = at.map(|at| self.guide.swap_remove(at));
        // Nobody else could move: what the others would lead to is not there.
        self.guide.clear();
        self.lost = false;
        if let Some(branch) = branch {
            self.sleep.retain(|sleeper| !branch.awake.contains(&sleeper.task));
            self.ways = Some(branch.ways);
        }
        !self.is_asleep(task)
    }

    /// The options of a value that are to be tried: those along the tree, or all.
    fn values_to_try(&self, of: u32, during: bool) -> Vec<u32> {
        let Some(ways) = &self.ways else { return (0..of).collect() };
        let step = if during { Some(self.heard as u32) } else { self.last };
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

    /// The values decided in an event and in the code after it.
    fn values_of(&self, event: u32) -> Box<[u32]> {
        let from = self.decided.partition_point(|(at, _)| *at < event);
        let decided = self.decided[from..].iter().take_while(|(at, _)| *at == event);
        decided.map(|(_, option)| *option).collect()
    }

    /// Opens what the race of the event at `first` with a later op opens.
    fn open_race(&mut self, first: usize, later: &Later) {
        let Some(at) = self.node_of(first) else { return };
        let mut then = std::mem::take(&mut self.then);
        let mut begins = std::mem::take(&mut self.begins);
        if find_sequence(&self.history, first, later.step.as_ref(), &mut then) {
            let mut later = *later;
            if let Some(step) = &mut later.step {
                step.touched[0].1 = self.access_before(at, &then, step);
                if step.learned && !repeats(&self.history, first, later.index, &then, step) {
                    step.also = u64::MAX;
                }
            }
            let last = later.step.as_ref();
            find_begins(&self.history, &then, last, &mut begins, &mut self.firsts);
            if !self.is_covered(at, &later, &then, &begins) {
                match self.reduction {
                    Reduction::Optimal => self.open_optimal(at, &then, &later),
                    Reduction::Source => self.open_source(at, &begins, &later),
                    Reduction::Classic => self.open_classic(at, &begins, &later),
                }
            }
        }
        self.then = then;
        self.begins = begins;
    }

    /// Whether what begins with a sequence is covered from a task that sleeps.
    fn is_covered(&self, at: usize, later: &Later, then: &[usize], begins: &[TaskId]) -> bool {
        let node = &self.path[at];
        // One that could begin the sequence has it covered.
        if node.sleep.iter().any(|sleeper| begins.contains(&sleeper.task)) {
            return true;
        }
        // So has one that could be put before it, but only if what is opened is the whole sequence,
        // and not if it slept when nothing led here: on the way along a sequence all sleepers wake.
        if self.reduction != Reduction::Optimal {
            return false;
        }
        let from = if node.guided { 0 } else { node.slept as usize };
        let event = |&event: &usize| self.history.event(event).footprint;
        let covers = |sleeper: &Footprint| {
            later.step.is_none_or(|last| !last.dependent(sleeper))
                && then.iter().map(event).all(|step| !step.dependent(sleeper))
        };
        // With all the values that it was tried with.
        let whole = |sleeper: &Footprint| {
            let alike = node.sleep.iter().filter(|other| other.task == sleeper.task);
            alike.into_iter().all(covers)
        };
        node.sleep[from..].iter().any(|sleeper| covers(sleeper) && whole(sleeper))
    }

    fn open_optimal(&mut self, at: usize, then: &[usize], later: &Later) {
        let mut last = later.step;
        if let Some(step) = last.as_mut().filter(|_| !later.ran) {
            step.nth = self.history.events_of(step.task) + 1;
        }
        let mut sequence = std::mem::take(&mut self.sequence);
        sequence.clear();
        sequence.extend(then.iter().map(|&event| event as u32));
        sequence.extend(last.map(|_| LAST));
        let mut wakeup = std::mem::take(&mut self.path[at].wakeup);
        let What::Step { options, .. } = &self.path[at].what else { return };
        let begins = |&link: &u32| match (link, &last) {
            (LAST, Some(last)) => options.contains(&last.task),
            _ => options.contains(&self.history.event(link as usize).footprint.task),
        };
        if sequence.first().is_some_and(begins) {
            let found = InHistory { dpor: self, last, objects: self.path[at].objects };
            wakeup::insert(&mut wakeup, &mut sequence, &found);
        }
        self.path[at].wakeup = wakeup;
        self.sequence = sequence;
    }

    /// What a step that came later would do after these.
    fn access_before(&self, at: usize, then: &[usize], step: &Footprint) -> Access {
        let (object, access) = step.touched[0];
        let What::Step { options, accesses, .. } = &self.path[at].what else { return access };
        let same = |&event: &usize| {
            let earlier = &self.history.event(event).footprint;
            let changes = |(o, a): &(ObjectId, Access)| *o == object && a.changes();
            earlier.task != step.task && !earlier.touched.iter().any(changes)
        };
        // Its task has not moved, nor has its object changed: it does what it would have done here.
        let here = options.iter().position(|task| *task == step.task);
        match here.and_then(|here| accesses.get(here)) {
            Some(&here) if then.iter().all(same) => here,
            _ => widest(access),
        }
    }

    /// Whoever can begin the sequence, unless somebody who can is opened already.
    fn open_source(&mut self, at: usize, begins: &[TaskId], later: &Later) {
        let node = &mut self.path[at];
        let What::Step { task, options, .. } = &node.what else { return };
        let opened = |who: &TaskId| {
            *who == *task || node.wakeup.iter().any(|branch| branch.step.task == *who)
        };
        if begins.iter().any(opened) {
            return;
        }
        let mut can = begins.iter().copied().filter(|who| options.contains(who));
        let racing = |who: &TaskId| later.step.is_some_and(|step| step.task == *who);
        if let Some(task) = can.clone().find(racing).or_else(|| can.next()) {
            node.wakeup.push(Branch::free(task));
        }
    }

    /// The racing task, if it could move, whatever it would do there. It need not be one that can
    /// begin the sequence: then one of those, too.
    fn open_classic(&mut self, at: usize, begins: &[TaskId], later: &Later) {
        self.open_source(at, begins, later);
        let node = &mut self.path[at];
        let What::Step { task, options, .. } = &node.what else { return };
        let opened = |who: TaskId| {
            who == *task
                || node.sleep.iter().any(|sleeper| sleeper.task == who)
                || node.wakeup.iter().any(|branch| branch.step.task == who)
        };
        let racing = later.step.map(|step| step.task);
        if let Some(who) = racing.filter(|who| options.contains(who) && !opened(*who)) {
            node.wakeup.push(Branch::free(who));
        }
    }

    /// The node at which an event was decided; none if there was no choice.
    fn node_of(&self, event: usize) -> Option<usize> {
        let at = self.path.partition_point(|node| (node.event as usize) < event);
        // Values decided before the step stand at the same event.
        (at..self.path.len()).take_while(|&at| self.path[at].event as usize == event).find(
            |&at| matches!(&self.path[at].what, What::Step { options, .. } if options.len() > 1),
        )
    }

    /// Opens the races of the execution. Those of known events are open already, but not the
    /// sequences which go on as this execution does: the optimal reduction needs them all, the others
    /// only those who begin them.
    fn open_races(&mut self) {
        if self.reduction == Reduction::Optimal {
            let mut seen = std::mem::take(&mut self.seen);
            self.history.seen_since(self.kept, &mut seen);
            if self.other_value {
                // It is new to all sequences that have its step.
                seen.clear();
            }
            for at in 0..self.found.len() {
                let (first, later) = self.found[at];
                let event = self.history.event(first as usize);
                if seen.get(event.footprint.task.index()).is_some_and(|&seen| seen >= event.nth) {
                    // All that is new depends on it: the sequence is the one that was opened.
                    continue;
                }
                self.history.order_of(later.index, later.timer);
                self.open_race(first as usize, &later);
            }
            self.seen = seen;
        }
        for index in self.kept..self.history.len() {
            let event = self.history.event(index);
            let mut step = (!event.immediate).then_some(event.footprint);
            if let Some(step) = &mut step
                && let Access::Observe(_) = step.touched[0].1
            {
                // Whom the task waited for that it looked at, if it had come earlier, is not known.
                step.waited_for = Tasks::ALL;
            }
            self.open_races_of(&Later { step, index, ran: true, timer: None });
        }
        for (index, timer) in std::mem::take(&mut self.timers) {
            let owner = self.history.event(index as usize).footprint.task;
            let step = Some(Footprint::new(timer.task, &timer.footprint, Some(owner)));
            let index = index as usize;
            self.open_races_of(&Later { step, index, ran: false, timer: Some(timer.task) });
        }
        let mut races = std::mem::take(&mut self.races);
        for at in 0..self.stuck.len() {
            let stuck = self.stuck[at];
            self.history.races_of_stuck(&stuck, &mut races);
            if let Some(filter) = &mut self.filter {
                filter.keep_new_of_stuck(&stuck, &mut races);
            }
            let step = Footprint::new(stuck.task, &stuck.footprint, None);
            self.open_stuck(&races, step);
            if let Some(timer) = stuck.timer {
                self.history.races_of_stuck_timer(&stuck, timer.task, &mut races);
                if let Some(filter) = &mut self.filter {
                    filter.keep_new_of_stuck(&stuck, &mut races);
                }
                let step = Footprint::new(timer.task, &timer.footprint, Some(stuck.task));
                self.open_stuck(&races, step);
            }
        }
        self.races = races;
    }

    /// Opens the races of an op that is new in this execution.
    fn open_races_of(&mut self, later: &Later) {
        let mut races = std::mem::take(&mut self.races);
        match later.timer {
            Some(timer) => self.history.races_of_timer(later.index, timer, &mut races),
            None => self.history.races(later.index, &mut races),
        }
        if let Some(filter) = &mut self.filter {
            filter.keep_new(&self.history, later, &mut races);
            // It adds events of which the history was not asked.
            self.history.order_of(later.index, later.timer);
        }
        for &first in &races {
            self.open_race(first as usize, later);
            self.found.push((first, *later));
        }
        self.races = races;
    }

    /// Opens the races of an op that did not run.
    fn open_stuck(&mut self, races: &[u32], step: Footprint) {
        let index = self.history.len();
        let later = Later { step: Some(step), index, ran: false, timer: None };
        for &first in races {
            self.open_race(first as usize, &later);
        }
    }

    /// Nobody who can move need move. Those who wait race all the same.
    fn cut_at(&mut self, pending: &dyn Pending) {
        self.cut = true;
        self.stuck = pending.stuck();
    }
}

/// Of a sequence's last step, which is not an event of the execution.
const LAST: u32 = u32::MAX;

/// A sequence of events of the last execution.
struct InHistory<'a> {
    dpor: &'a Dpor,
    last: Option<Footprint>,
    objects: u32,
}

impl Found for InHistory<'_> {
    fn step(&self, link: u32) -> &Footprint {
        match &self.last {
            Some(last) if link == LAST => last,
            _ => &self.dpor.history.event(link as usize).footprint,
        }
    }

    fn values(&self, link: u32) -> Option<Box<[u32]>> {
        (link != LAST).then(|| self.dpor.values_of(link))
    }

    fn objects(&self) -> u32 {
        self.objects
    }

    fn touched(&self, task: TaskId, nth: u32) -> Option<[ObjectId; 2]> {
        let objects = |touched: &[(ObjectId, Access); 2]| touched.map(|(object, _)| object);
        if let Some(event) = self.dpor.history.event_of(task, nth) {
            return Some(objects(&event.footprint.touched));
        }
        let stuck = self.dpor.stuck.iter().find(|stuck| stuck.task == task)?;
        (nth == self.dpor.history.events_of(task) + 1).then(|| objects(&stuck.footprint))
    }
}

/// A sequence cannot be followed here: everybody is to be tried instead.
fn open_all(options: &[TaskId], task: TaskId, sleep: &[Footprint], wakeup: &mut Vec<Branch>) {
    for &other in options {
        let opened = other == task
            || sleep.iter().any(|sleeper| sleeper.task == other)
            || wakeup.iter().any(|branch| branch.step.task == other);
        if !opened {
            wakeup.push(Branch::free(other));
        }
    }
}

impl Dpor {
    /// A task was created.
    fn spawned(&mut self, parent: TaskId, child: TaskId) {
        if !self.cut {
            self.history.spawn(parent, child);
        }
    }

    /// A value was decided.
    fn valued(&mut self, task: TaskId, taken: Taken, during: bool) {
        if self.cut {
            return;
        }
        self.history.value(task, taken.option);
        let step = if during { Some(self.heard as u32) } else { self.last };
        if let Some(step) = step {
            self.decided.push((step, taken.option));
        }
    }

    /// A step was executed.
    fn executed(&mut self, step: &Step<'_>) -> Option<Cut> {
        if let Some(filter) = &mut self.filter {
            filter.step(step);
        }
        if self.cut {
            return None;
        }
        let index = self.heard as u32;
        self.heard += 1;
        if self.heard <= self.kept {
            if !step.immediate {
                self.last = Some(index);
            }
            if self.history.len() < self.heard {
                self.recall(step);
            } else {
                self.history.forget_values(step.task);
            }
            return None;
        }
        if !step.immediate && !self.chosen && !self.go_on_with(step.task) {
            self.cut_at(step.pending);
            return Some(Cut::Redundant);
        }
        self.history.step(step);
        self.fall_asleep_after(&Footprint::of(step));
        self.timers.extend(step.timer.map(|timer| (index, timer)));
        if !step.immediate {
            self.chosen = false;
            self.last = Some(index);
        }
        None
    }
}

impl Strategy for Dpor {
    fn needs(&self) -> Needs {
        let contexts = self.filter.as_ref().map_or(0, |filter| filter.contexts());
        Needs { steps: true, contexts, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        let goes_on = match self.stage {
            Stage::First => true,
            Stage::Running | Stage::Ended => !self.strayed && self.backtrack(),
            Stage::Last => false,
        };
        if !goes_on {
            self.stage = if self.strayed { Stage::Running } else { Stage::Last };
            return false;
        }
        self.stage = Stage::Running;
        plan.prefix.clear();
        for node in &self.path {
            match &node.what {
                What::Step { task, options, .. } if options.len() > 1 => {
                    let option = options.iter().position(|other| other == task);
                    plan.prefix.push(option.unwrap_or(0) as u32);
                }
                What::Step { .. } => {}
                What::Value { option, .. } => plan.prefix.push(*option),
            }
        }
        // The last node's step is taken anew; a value's node has no step of its own.
        self.kept = self.path.last().map_or(0, |node| node.event as usize);
        self.done.clear();
        let is_value = |node: &Node| matches!(node.what, What::Value { .. });
        self.other_value = self.path.last().is_some_and(is_value);
        self.history.begin(self.kept);
        let kept = self.kept;
        self.found.retain(|(_, later)| later.index < kept);
        self.heard = 0;
        self.last = None;
        self.decided.clear();
        self.timers.clear();
        self.stuck.clear();
        self.cut = false;
        if let Some(filter) = &mut self.filter {
            filter.begin();
        }
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        let choices = match point.options {
            Options::Schedule(choices) => choices,
            Options::Value { task, of, during } => {
                if during && !self.chosen && !self.go_on_with(task) {
                    self.cut_at(point.pending);
                    return Answer::Cut(Cut::Redundant);
                }
                let mut left = self.values_to_try(of, during);
                let option = left.remove(0);
                let ways = self.ways.clone();
                let guided = ways.is_some();
                let what = What::Value { option, of, left, during, ways };
                let (sleep, event) = (self.sleepers(), self.history.len() as u32);
                let (slept, objects) = (sleep.len() as u32, point.objects);
                let wakeup = Vec::new();
                self.path.push(Node { event, what, sleep, slept, guided, objects, wakeup });
                self.levels.push();
                return Answer::Take(option);
            }
        };
        self.go_on();
        let mut chosen = None;
        let mut wakeup = Vec::new();
        // Along the wakeup tree, if it can be followed.
        while !self.guide.is_empty() {
            let branch = self.guide.remove(0);
            if let Some(option) = point.option_of(branch.step.task) {
                self.sleep.retain(|sleeper| !branch.awake.contains(&sleeper.task));
                wakeup = std::mem::take(&mut self.guide);
                self.ways = Some(branch.ways);
                chosen = Some(option);
                break;
            }
            self.lost = true;
        }
        let guided = chosen.is_some();
        self.chosen = true;
        if chosen.is_none() {
            let awake = |option: &u32| !self.is_asleep(choices[*option as usize].task);
            chosen = point.running_option().filter(awake);
            chosen = chosen.or_else(|| (0..choices.len() as u32).find(awake));
            if let Some(filter) = &self.filter {
                chosen = filter.laps.make_way(point, chosen, awake);
            }
        }
        let Some(option) = chosen else {
            self.cut_at(point.pending);
            return Answer::Cut(Cut::Redundant);
        };
        let task = choices[option as usize].task;
        let mut options = self.spare.options.pop().unwrap_or_default();
        options.clear();
        options.extend(choices.iter().map(|choice| choice.task));
        if std::mem::take(&mut self.lost) {
            open_all(&options, task, &self.sleep, &mut wakeup);
        }
        let (sleep, event) = (self.sleepers(), self.history.len() as u32);
        let (slept, objects) = (sleep.len() as u32, point.objects);
        let mut accesses = self.spare.accesses.pop().unwrap_or_default();
        accesses.clear();
        if self.reduction == Reduction::Optimal {
            let access = |choice: &Choice| point.pending.op(choice.task).map(|op| op.access);
            accesses.extend(choices.iter().map(|choice| access(choice).unwrap_or(Access::Write)));
        }
        let what = What::Step { task, options, accesses };
        self.path.push(Node { event, what, sleep, slept, guided, objects, wakeup });
        self.levels.push();
        Answer::Take(option)
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        match event {
            Event::Spawn { parent, child } => self.spawned(*parent, *child),
            Event::Value { task, taken, during } => self.valued(*task, *taken, *during),
            Event::Step(step) => return self.executed(step),
        }
        None
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.executions += 1;
        self.stage = Stage::Ended;
        self.strayed |= self.history.len() < self.kept;
        self.incomplete |= execution.irregular || execution.outcome.is_cut_off();
        self.blocked += u64::from(self.cut);
        self.leaf = if self.cut { Size::CUT } else { Size::LEAF };
        if !self.cut {
            self.stuck.extend_from_slice(execution.stuck);
        }
        self.guide.clear();
        self.ways = None;
        self.lost = false;
        if let Some(filter) = &mut self.filter {
            filter.end(execution);
        }
        // What a limit cuts off is long; what ends its process has shown all that leads to that.
        if !matches!(execution.outcome, Outcome::Limit { .. }) && !self.strayed {
            self.open_races();
        }
    }

    fn covered(&self) -> Covered {
        if let Some(filter) = &self.filter {
            return filter.covered(self.stage == Stage::Last, None);
        }
        if self.stage == Stage::Last && !self.incomplete {
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

impl Resumable for Dpor {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        self.saved()
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        self.take_over(state)
    }
}

impl Estimating for Dpor {
    /// What is covered is what Eta estimates to be covered: of a point that was left, all that is below
    /// it, run or not.
    fn progress(&self) -> Progress {
        let pending = self.path.iter().map(|node| u64::from(node.pending())).sum();
        let frontier_bytes = (self.path.len() * size_of::<Node>() + self.levels.bytes()) as u64;
        let estimate = self.estimate();
        let part = |estimate: Estimate| estimate.covered / estimate.total.about;
        let is_over = self.stage == Stage::Last;
        let covered = if is_over { Some(1.0) } else { estimate.map(part) };
        let pairs = self.filter.as_ref().map(|filter| filter.count());
        Progress { covered, estimate, pending, frontier_bytes, pairs, ..Progress::default() }
    }
}
