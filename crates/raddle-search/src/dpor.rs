//! Dynamic partial-order reduction: one execution for each partial order, not for each
//! interleaving.
//!
//! Optimal DPOR with wakeup trees: Abdulla, Aronis, Jonsson, Sagonas, POPL 2014 and JACM 2017.
//! When an execution ends, every race between two of its steps that could have come the other way
//! round yields a sequence which does that: the steps after the first that do not depend on it,
//! then the second. The sequence goes into the wakeup tree of the state before the first step,
//! unless a task that sleeps there could begin it. [`Reduction::Source`] keeps of the sequence
//! only who begins it (source sets), [`Reduction::Classic`] only who raced (Flanagan and
//! Godefroid, POPL 2005), both with sleep sets (Godefroid 1996).
//!
//! Where we differ: steps that are no scheduling points (a join that runs on) are events but not
//! part of sequences; values (`choose`, which waiter is woken) are opened in full, siblings do not
//! sleep. A release and a later acquire of its lock are ordered but do not race: the acquire races
//! with the acquire before. Ops that could not run when an execution ended blocked race as if
//! they had run last.
//!
//! Not optimal in two cases, in which a trace may be run twice or an execution be cut: sequences in
//! which values were decided are tried with every value; and objects that were first used after the tasks
//! parted have numbers that mean nothing to the other branch, unless they are named.
//!
//! Memory: one node for each step of the current path, and the wakeup trees along it.
//!
//! Misses: what follows an execution that a limit cut off. Where a task that yields twice is held
//! back until others have moved, the executions that are left are not closed under equivalence:
//! a partial order may then be missed whose only fair executions are ones not tried. The
//! guarantee names the assumption.
//!
//! Not offered by the registry yet, because on random programs it still loses traces: all three
//! reductions with condition variables (seed 1443), the optimal one where values are decided (seed
//! 697), the classic one with `try_read` (seed 1476). On the programs without those, up to that
//! seed, they kept every trace.
//! Overreports: nothing.

use raddle_engine::dependence::Footprint;
use raddle_engine::happens::History;
use raddle_engine::op::{ObjectId, TaskId};
use raddle_engine::strategy::{
    Answer, Cut, Finished, Needs, Options, Pending, Plan, Point, Step, Strategy, Stuck, Taken,
};
use raddle_trace::{Covered, Outcome, Progress};

/// Which alternatives a race opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// The task that raced, or all if it could not move there.
    Classic,
    /// One task that can begin a sequence which reverses the race.
    Source,
    /// The whole sequence.
    Optimal,
}

/// A node of a wakeup tree: a step to take, and what to try after it.
#[derive(Clone, Debug)]
struct Branch {
    step: Footprint,
    /// Tasks that must not sleep on the way, because it is not known that they may.
    awake: Vec<TaskId>,
    children: Vec<Branch>,
    /// Sequences that were left out because this branch leads to the same, with the node at which
    /// they belong. If the branch turns out to lead nowhere they are wanted after all.
    instead_of: Vec<(u32, Vec<Footprint>)>,
}

impl Branch {
    fn new(step: Footprint) -> Self {
        Self { step, awake: Vec::new(), children: Vec::new(), instead_of: Vec::new() }
    }

    /// Gives up the branch and all below it.
    fn give_up(self, wanted: &mut Vec<(u32, Vec<Footprint>)>) {
        wanted.extend(self.instead_of);
        self.children.into_iter().for_each(|child| child.give_up(wanted));
    }
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
    /// Objects announced before it.
    objects: u32,
    /// What is still to be tried here.
    wakeup: Vec<Branch>,
}

#[derive(Clone, Debug)]
enum What {
    /// A task moved. `options`: who could have, if it was a decision.
    Step { task: TaskId, options: Vec<TaskId> },
    /// A value was decided. `guide`: the wakeup tree below, for every value alike.
    Value { option: u32, of: u32, guide: Vec<Branch> },
}

/// Optimal, source-set and classic DPOR, depth first.
#[derive(Debug)]
pub struct Dpor {
    reduction: Reduction,
    path: Vec<Node>,
    history: History,
    /// The wakeup tree of the state that comes next.
    guide: Vec<Branch>,
    /// The sleep set of the state that comes next.
    sleep: Vec<Footprint>,
    /// Events of the plan that are known already.
    kept: usize,
    /// Steps heard of in this execution.
    heard: usize,
    cut: bool,
    started: bool,
    done: bool,
    /// Completed executions, and those that turned out to be redundant.
    executions: u64,
    blocked: u64,
    races: Vec<u32>,
    /// Races of ops that did not run: the event, and what would have come after it.
    missed: Vec<(u32, Footprint)>,
    /// Sequences whose branches turned out to lead nowhere.
    wanted: Vec<(u32, Vec<Footprint>)>,
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
            sleep: Vec::new(),
            kept: 0,
            heard: 0,
            cut: false,
            started: false,
            done: false,
            executions: 0,
            blocked: 0,
            races: Vec::new(),
            missed: Vec::new(),
            wanted: Vec::new(),
        }
    }

    /// Executions that were begun and turned out to repeat others. None under
    /// [`Reduction::Optimal`].
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
        while let Some(node) = self.path.last_mut() {
            match &mut node.what {
                What::Value { option, of, guide } if *option + 1 < *of => {
                    *option += 1;
                    self.guide.clone_from(guide);
                    self.sleep.clone_from(&node.sleep);
                    return true;
                }
                What::Step { task, options } => {
                    // What was taken here is covered now: it sleeps for its later siblings.
                    if let Some(event) = (node.event as usize != self.history.len())
                        .then(|| self.history.event(node.event as usize))
                        && !node.sleep.contains(&event.footprint)
                    {
                        node.sleep.push(event.footprint);
                    }
                    while !node.wakeup.is_empty() {
                        let branch = node.wakeup.remove(0);
                        if !options.contains(&branch.step.task) {
                            // It is disabled, or has yielded and waits for others to move first.
                            branch.give_up(&mut self.wanted);
                            continue;
                        }
                        *task = branch.step.task;
                        self.guide = branch.children;
                        self.sleep.clone_from(&node.sleep);
                        self.sleep.retain(|sleeper| !branch.awake.contains(&sleeper.task));
                        return true;
                    }
                }
                What::Value { .. } => {}
            }
            if self.wanted.is_empty() {
                self.path.pop();
            } else {
                // Some of it may belong to this very node.
                self.put_back();
            }
        }
        false
    }

    fn is_asleep(&self, task: TaskId) -> bool {
        self.sleep.iter().any(|sleeper| sleeper.task == task)
    }

    /// A task moves to a new state: whoever its step touched wakes up.
    fn fall_asleep_after(&mut self, step: &Footprint) {
        self.sleep.retain(|sleeper| !sleeper.dependent(step));
    }

    /// Opens what the race of the event at `first` with a later step opens.
    fn open_race(&mut self, first: usize, last: Footprint, last_index: Option<usize>) {
        let Some(node) = self.node_of(first) else { return };
        // The steps after the first one that do not depend on it, then the last one.
        let mut sequence: Vec<Footprint> = Vec::new();
        // Which of them begin it: nothing before them in it do they depend on.
        let mut begins: Vec<TaskId> = Vec::new();
        let mut taken: Vec<usize> = Vec::new();
        for index in first + 1..self.history.len() {
            let event = self.history.event(index);
            if event.immediate || self.history.before(first, index) {
                continue;
            }
            let free = taken.iter().all(|&earlier| !self.history.before(earlier, index));
            if free {
                begins.push(event.footprint.task);
            }
            sequence.push(event.footprint);
            taken.push(index);
        }
        let free = match last_index {
            Some(last) => taken.iter().all(|&earlier| !self.history.before(earlier, last)),
            None => sequence.iter().all(|earlier| !earlier.dependent(&last)),
        };
        if free {
            begins.push(last.task);
        }
        sequence.push(last);

        let root = node as u32;
        let node = &mut self.path[node];
        let What::Step { task, options } = &node.what else { return };
        // A sleeping task that could begin the sequence has it covered.
        let covers = |sleeper: &Footprint| {
            begins.contains(&sleeper.task) || sequence.iter().all(|step| !step.dependent(sleeper))
        };
        match self.reduction {
            Reduction::Optimal => {
                if !node.sleep.iter().any(covers) && options.contains(&sequence[0].task) {
                    insert(&mut node.wakeup, sequence, node.objects, root);
                }
            }
            Reduction::Source => {
                let opened = |who: &TaskId| {
                    *who == *task
                        || node.sleep.iter().any(|sleeper| sleeper.task == *who)
                        || node.wakeup.iter().any(|branch| branch.step.task == *who)
                };
                let mut can = begins.iter().copied().filter(|who| options.contains(who));
                if !begins.iter().any(opened)
                    && let Some(first) = can.clone().find(|who| *who == last.task).or(can.next())
                {
                    let who = first;
                    let step = sequence.iter().find(|step| step.task == who).copied();
                    let step = step.unwrap_or(last);
                    node.wakeup.push(Branch::new(step));
                }
            }
            Reduction::Classic => {
                // The racing task, or one whose step must come before its step.
                let leads = |who: &&TaskId| {
                    **who == last.task
                        || taken.iter().zip(&sequence).any(|(&earlier, step)| {
                            step.task == **who
                                && last_index.map_or_else(
                                    || step.dependent(&last),
                                    |last| self.history.before(earlier, last),
                                )
                        })
                };
                let mut leaders: Vec<TaskId> = options.iter().filter(leads).copied().collect();
                let all = leaders.is_empty();
                if all {
                    leaders.clone_from(options);
                }
                leaders.sort_by_key(|who| *who != last.task);
                let slept = &node.sleep[..node.slept as usize];
                let asleep = |who: &TaskId| slept.iter().any(|sleeper| sleeper.task == *who);
                let opened = |who: &TaskId| {
                    *who == *task
                        || node.sleep[slept.len()..].iter().any(|sleeper| sleeper.task == *who)
                        || node.wakeup.iter().any(|branch| branch.step.task == *who)
                };
                if !all && leaders.iter().any(opened) {
                    return;
                }
                leaders.retain(|who| !asleep(who) && !opened(who));
                if !all {
                    leaders.truncate(1);
                }
                let branch = |&task: &TaskId| {
                    let step = Footprint { task, ..last };
                    Branch::new(step)
                };
                let branches: Vec<_> = leaders.iter().map(branch).collect();
                node.wakeup.extend(branches);
            }
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

    /// Looks for races of the events that are new in this execution.
    fn open_races(&mut self, execution: &Finished<'_>) {
        let mut races = std::mem::take(&mut self.races);
        for index in self.kept..self.history.len() {
            self.history.races(index, &mut races);
            for &first in &races {
                let last = self.history.event(index).footprint;
                self.open_race(first as usize, last, Some(index));
            }
        }
        self.races = races;
        if !self.cut {
            execution.stuck.iter().for_each(|stuck| self.miss(stuck));
        }
        for (first, last) in std::mem::take(&mut self.missed) {
            self.open_race(first as usize, last, None);
        }
    }

    /// Nobody who can move need move. Those who wait race all the same.
    fn cut_at(&mut self, pending: &dyn Pending) {
        self.cut = true;
        pending.stuck().iter().for_each(|stuck| self.miss(stuck));
    }

    /// Puts back what was left out in favour of branches that could not be followed.
    fn put_back(&mut self) {
        for (root, sequence) in std::mem::take(&mut self.wanted) {
            let Some(node) = self.path.get_mut(root as usize) else { continue };
            insert(&mut node.wakeup, sequence, node.objects, root);
        }
    }

    /// Keeps the races of an op that does not run.
    fn miss(&mut self, stuck: &Stuck) {
        let mut races = std::mem::take(&mut self.races);
        self.history.races_of_stuck(stuck, &mut races);
        let last = Footprint::new(stuck.task, &stuck.footprint, stuck.partner);
        self.missed.extend(races.iter().map(|&first| (first, last)));
        self.races = races;
    }
}

/// Adds a sequence to a wakeup tree, unless a branch of it leads to the same.
///
/// A branch's step was recorded in an earlier execution. It is judged by the sequence's own step
/// of that task; if there is none, by the objects, whose numbers mean the same here and there only
/// if they had been announced before the tree's root, `objects` of them. Where it cannot be told,
/// the sequence becomes a branch of its own on which that task must not sleep: nothing is lost,
/// and something may be repeated.
fn insert(mut branches: &mut Vec<Branch>, mut sequence: Vec<Footprint>, objects: u32, root: u32) {
    let whole = sequence.clone();
    let is_new =
        |step: &Footprint| step.touched.iter().any(|(o, _)| *o != ObjectId::NONE && o.0 >= objects);
    let mut awake = Vec::new();
    'down: loop {
        for at in 0..branches.len() {
            let step = branches[at].step;
            // Whether the branch's step could begin the sequence.
            let place = sequence.iter().position(|other| other.task == step.task);
            let own = place.map_or(step, |place| sequence[place]);
            if own.values != step.values {
                continue;
            }
            let before = &sequence[..place.unwrap_or(sequence.len())];
            if before.iter().any(|other| other.dependent(&own)) {
                continue;
            }
            if place.is_none() && is_new(&step) && before.iter().any(is_new) {
                awake.push(step.task);
                continue;
            }
            if let Some(place) = place {
                sequence.remove(place);
            }
            if branches[at].children.is_empty() || sequence.is_empty() {
                branches[at].instead_of.push((root, whole));
                return;
            }
            branches = &mut branches[at].children;
            awake.clear();
            continue 'down;
        }
        let chain = sequence
            .into_iter()
            .rev()
            .fold(Vec::new(), |children, step| vec![Branch { children, ..Branch::new(step) }]);
        branches.extend(chain.into_iter().map(|branch| Branch { awake: awake.clone(), ..branch }));
        return;
    }
}

impl Strategy for Dpor {
    fn needs(&self) -> Needs {
        Needs { steps: true, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        if self.started && !self.backtrack() {
            self.done = true;
            return false;
        }
        if !self.started {
            self.started = true;
            self.guide.clear();
            self.sleep.clear();
        }
        plan.prefix.clear();
        for node in &self.path {
            match &node.what {
                What::Step { task, options } if options.len() > 1 => {
                    let option = options.iter().position(|other| other == task);
                    plan.prefix.push(option.unwrap_or(0) as u32);
                }
                What::Step { .. } => {}
                What::Value { option, .. } => plan.prefix.push(*option),
            }
        }
        // The last node's step is taken anew; a value's node has no step of its own.
        self.kept = match self.path.last() {
            None => 0,
            Some(node) => node.event as usize,
        };
        self.history.begin(self.kept);
        self.heard = 0;
        self.missed.clear();
        self.cut = false;
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        let choices = match point.options {
            Options::Schedule(choices) => choices,
            Options::Value { of, .. } => {
                let (sleep, event) = (self.sleep.clone(), self.history.len() as u32);
                let what = What::Value { option: 0, of, guide: self.guide.clone() };
                let (slept, objects) = (sleep.len() as u32, point.objects);
                let wakeup = Vec::new();
                self.path.push(Node { event, what, sleep, slept, objects, wakeup });
                return Answer::Take(0);
            }
        };
        let mut chosen = None;
        let mut wakeup = Vec::new();
        // Along the wakeup tree, as long as it can be followed.
        while !self.guide.is_empty() {
            let branch = self.guide.remove(0);
            if let Some(option) = point.option_of(branch.step.task) {
                self.sleep.retain(|sleeper| !branch.awake.contains(&sleeper.task));
                wakeup = std::mem::replace(&mut self.guide, branch.children);
                chosen = Some(option);
                break;
            }
            branch.give_up(&mut self.wanted);
        }
        if chosen.is_none() {
            let awake = |option: &u32| !self.is_asleep(choices[*option as usize].task);
            chosen = point.running_option().filter(awake);
            chosen = chosen.or_else(|| (0..choices.len() as u32).find(awake));
        }
        let Some(option) = chosen else {
            self.cut_at(point.pending);
            return Answer::Cut(Cut::Redundant);
        };
        let task = choices[option as usize].task;
        let options = choices.iter().map(|choice| choice.task).collect();
        let (sleep, event) = (self.sleep.clone(), self.history.len() as u32);
        let (slept, objects) = (sleep.len() as u32, point.objects);
        let what = What::Step { task, options };
        self.path.push(Node { event, what, sleep, slept, objects, wakeup });
        Answer::Take(option)
    }

    fn spawn(&mut self, parent: TaskId, child: TaskId) {
        self.history.spawn(parent, child);
    }

    fn withdrawn(&mut self, timer: &Stuck) {
        if !self.cut && self.heard >= self.kept {
            self.miss(timer);
        }
    }

    fn value(&mut self, task: TaskId, taken: Taken) {
        if !self.cut {
            self.history.value(task, taken.option);
        }
    }

    fn step(&mut self, step: &Step<'_>) -> Option<Cut> {
        if self.cut {
            return None;
        }
        self.heard += 1;
        if self.heard <= self.kept {
            self.history.forget_values(step.task);
            return None;
        }
        let footprint = Footprint::new(step.task, step.footprint, step.partner);
        if step.point.is_none() && !step.immediate {
            // Nobody was asked. The tree goes on below if it names this task, else it is void.
            let at = self.guide.iter().position(|branch| branch.step.task == step.task);
            let branch = at.map(|at| self.guide.swap_remove(at));
            for other in self.guide.drain(..) {
                other.give_up(&mut self.wanted);
            }
            if let Some(branch) = branch {
                self.sleep.retain(|sleeper| !branch.awake.contains(&sleeper.task));
                self.guide = branch.children;
            }
            if self.is_asleep(step.task) {
                self.cut_at(step.pending);
                return Some(Cut::Redundant);
            }
        }
        self.history.step(step);
        if !step.immediate {
            self.fall_asleep_after(&footprint);
        }
        None
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.executions += 1;
        self.blocked += u64::from(self.cut);
        for branch in self.guide.drain(..) {
            branch.give_up(&mut self.wanted);
        }
        self.put_back();
        if !matches!(execution.outcome, Outcome::Limit { .. }) {
            self.open_races(execution);
        }
    }

    fn covered(&self) -> Covered {
        if self.done {
            Covered::Equivalence
        } else {
            Covered::Part { executions: self.executions, preemptions: None }
        }
    }

    fn progress(&self) -> Progress {
        let pending = self.path.iter().map(|node| node.wakeup.len() as u64).sum();
        let frontier_bytes = (self.path.len() * size_of::<Node>()) as u64;
        Progress { covered: None, pending, frontier_bytes }
    }
}
