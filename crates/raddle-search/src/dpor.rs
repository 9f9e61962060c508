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

mod wakeup;

use raddle_engine::dependence::Footprint;
use raddle_engine::happens::History;
use raddle_engine::op::{Access, ObjectId, TaskId};
use raddle_engine::strategy::{
    Answer, Cut, Finished, Needs, Options, Pending, Plan, Point, Step, Strategy, Stuck, Taken,
    Timer,
};
use raddle_trace::{Covered, Outcome, Progress};

use self::wakeup::{Branch, Found, LeftOut, Link, Way};

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

#[derive(Clone, Debug)]
enum What {
    /// A task moved. `options`: who could have, if it was a decision.
    Step { task: TaskId, options: Vec<TaskId> },
    /// A value was decided. `left`: options still to be tried. `ways`: what to try after it, by the
    /// values decided.
    Value { option: u32, left: Vec<u32>, during: bool, ways: Option<Vec<Way>> },
}

/// The later op of a race.
#[derive(Clone, Copy, Debug)]
struct Later {
    /// Its step, if it is one that can be chosen.
    step: Option<Footprint>,
    /// The event, or the one that came instead.
    index: usize,
    /// Whether it ran.
    ran: bool,
    /// If it is the timer's of the event's op.
    timer: Option<TaskId>,
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
    /// Steps heard of in this execution.
    heard: usize,
    cut: bool,
    started: bool,
    done: bool,
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
    /// Sequences whose branches turned out to lead nowhere.
    wanted: Vec<LeftOut>,
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
            heard: 0,
            cut: false,
            started: false,
            done: false,
            executions: 0,
            blocked: 0,
            timers: Vec::new(),
            stuck: Vec::new(),
            races: Vec::new(),
            found: Vec::new(),
            then: Vec::new(),
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
                What::Value { option, left, during, ways } if !left.is_empty() => {
                    *option = left.remove(0);
                    self.chosen = *during;
                    self.ways.clone_from(ways);
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
                        self.chosen = true;
                        self.ways = Some(branch.ways);
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
        let differs = |way: &Way| {
            way.values.as_ref().is_none_or(|known| known.iter().zip(&values).any(|(a, b)| a != b))
        };
        for way in ways.into_iter().filter(|way| !differs(way)) {
            way.give_up(&mut self.wanted);
        }
    }

    /// A task takes the next step without a question. The tree goes on below if it names this task,
    /// else it is void. `false` if the task sleeps.
    fn go_on_with(&mut self, task: TaskId) -> bool {
        self.go_on();
        self.chosen = true;
        let at = self.guide.iter().position(|branch| branch.step.task == task);
        let branch = at.map(|at| self.guide.swap_remove(at));
        for other in self.guide.drain(..) {
            other.give_up(&mut self.wanted);
        }
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
        let (mut then, mut begins) = (std::mem::take(&mut self.then), Vec::new());
        if !self.find_sequence(first, later.step.as_ref(), &mut then, &mut begins) {
            self.then = then;
            return;
        }
        if !self.is_covered(at, later, &then, &begins) {
            match self.reduction {
                Reduction::Optimal => self.open_optimal(at, &then, later),
                Reduction::Source => self.open_source(at, &begins, later),
                Reduction::Classic => self.open_classic(at, &then, later),
            }
        }
        self.then = then;
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
        node.sleep[from..].iter().any(covers)
    }

    /// The events after the one at `first` that do not depend on it: with `last` after them a
    /// sequence that reverses the race. And the tasks that can begin it: nothing before their steps
    /// in it do those depend on. `false` if there is no such sequence.
    fn find_sequence(
        &self,
        first: usize,
        last: Option<&Footprint>,
        then: &mut Vec<usize>,
        begins: &mut Vec<TaskId>,
    ) -> bool {
        then.clear();
        let after = first + 1..self.history.len();
        then.extend(after.filter(|&index| {
            !self.history.event(index).immediate && !self.history.before(first, index)
        }));
        while let Some(last) = last
            && let Some(other) = self.history.in_the_way(last, first, then)
        {
            if other < first {
                return false;
            }
            // It must come later, too.
            then.retain(|&index| !self.history.before(other, index));
        }
        // The first of each task.
        let mut firsts: Vec<usize> = Vec::new();
        let mut free_last = last;
        for &index in then.iter() {
            let event = self.history.event(index);
            let task = event.footprint.task;
            if firsts.iter().all(|&other| self.history.event(other).footprint.task != task) {
                firsts.push(index);
            }
            let free = |last: &&Footprint| !event.footprint.dependent(last);
            free_last = free_last.filter(|_| !self.history.leads(index)).filter(free);
        }
        let free = |&&index: &&usize| {
            firsts.iter().all(|&other| other == index || !self.history.before(other, index))
        };
        begins.extend(firsts.iter().filter(free).map(|&i| self.history.event(i).footprint.task));
        begins.extend(free_last.map(|last| last.task));
        true
    }

    fn open_optimal(&mut self, at: usize, then: &[usize], later: &Later) {
        let link = |&event: &usize| {
            let happened = self.history.event(event);
            let values = Some(self.values_of(event as u32));
            Link { step: happened.footprint, nth: happened.nth, values }
        };
        let mut sequence: Vec<Link> = then.iter().map(link).collect();
        if let Some(step) = later.step {
            let nth = if later.ran {
                self.history.event(later.index).nth
            } else {
                self.history.events_of(step.task) + 1
            };
            sequence.push(Link { step, nth, values: None });
        }
        let What::Step { options, .. } = &self.path[at].what else { return };
        if sequence.first().is_some_and(|first| options.contains(&first.step.task)) {
            self.insert(at, sequence);
        }
    }

    /// Adds a sequence of the last execution to the wakeup tree of a node.
    fn insert(&mut self, at: usize, sequence: Vec<Link>) {
        let node = &mut self.path[at];
        let touched = |task: TaskId, nth: u32| {
            let objects = |touched: &[(ObjectId, Access); 2]| touched.map(|(object, _)| object);
            if let Some(event) = self.history.event_of(task, nth) {
                return Some(objects(&event.footprint.touched));
            }
            let stuck = self.stuck.iter().find(|stuck| stuck.task == task)?;
            (nth == self.history.events_of(task) + 1).then(|| objects(&stuck.footprint))
        };
        let found = Found { objects: node.objects, touched: &touched };
        wakeup::insert(&mut node.wakeup, sequence, at as u32, &found);
    }

    /// Whoever can begin the sequence, unless somebody who can is opened already.
    fn open_source(&mut self, at: usize, begins: &[TaskId], later: &Later) {
        let node = &mut self.path[at];
        let What::Step { task, options } = &node.what else { return };
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

    /// The racing task, or one whose step must come before its step; all if there is none.
    fn open_classic(&mut self, at: usize, then: &[usize], later: &Later) {
        let history = &self.history;
        let before_last = |&event: &usize| {
            let dependent = |last: Footprint| history.event(event).footprint.dependent(&last);
            if later.ran {
                history.before(event, later.index)
            } else {
                history.leads(event) || later.step.is_some_and(dependent)
            }
        };
        let racing = |who: &TaskId| later.step.is_some_and(|step| step.task == *who);
        let leads = |who: &TaskId| {
            let own = |&event: &usize| history.event(event).footprint.task == *who;
            racing(who) || then.iter().any(|event| own(event) && before_last(event))
        };
        let node = &mut self.path[at];
        let What::Step { task, options } = &node.what else { return };
        let slept = &node.sleep[..node.slept as usize];
        let asleep = |who: &TaskId| slept.iter().any(|sleeper| sleeper.task == *who);
        let opened = |who: &TaskId| {
            *who == *task
                || node.sleep[slept.len()..].iter().any(|sleeper| sleeper.task == *who)
                || node.wakeup.iter().any(|branch| branch.step.task == *who)
        };
        let mut leaders: Vec<TaskId> = options.iter().copied().filter(leads).collect();
        if leaders.iter().any(opened) {
            return;
        }
        leaders.sort_by_key(|who| !racing(who));
        leaders.retain(|who| !asleep(who));
        leaders.truncate(1);
        if leaders.is_empty() {
            let rest = options.iter().copied();
            leaders.extend(rest.filter(|who| !asleep(who) && !opened(who)));
        }
        node.wakeup.extend(leaders.into_iter().map(Branch::free));
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
            for at in 0..self.found.len() {
                let (first, later) = self.found[at];
                self.history.order_of(later.index, later.timer);
                self.open_race(first as usize, &later);
            }
        }
        for index in self.kept..self.history.len() {
            let event = self.history.event(index);
            let step = (!event.immediate).then_some(event.footprint);
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
            let step = Footprint::new(stuck.task, &stuck.footprint, None);
            self.open_stuck(&races, step);
            if let Some(timer) = stuck.timer {
                self.history.races_of_stuck_timer(&stuck, timer.task, &mut races);
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

    /// Puts back what was left out in favour of branches that could not be followed.
    fn put_back(&mut self) {
        for (root, sequence) in std::mem::take(&mut self.wanted) {
            // They are of an execution of which nothing more is known.
            let Some(node) = self.path.get_mut(root as usize) else { continue };
            let found = Found { objects: node.objects, touched: &|_, _| None };
            wakeup::insert(&mut node.wakeup, sequence, root, &found);
        }
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
        self.started = true;
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
        self.kept = self.path.last().map_or(0, |node| node.event as usize);
        self.history.begin(self.kept);
        let kept = self.kept;
        self.found.retain(|(_, later)| later.index < kept);
        self.heard = 0;
        self.last = None;
        self.decided.clear();
        self.timers.clear();
        self.stuck.clear();
        self.cut = false;
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
                let what = What::Value { option, left, during, ways };
                let (sleep, event) = (self.sleep.clone(), self.history.len() as u32);
                let (slept, objects) = (sleep.len() as u32, point.objects);
                let wakeup = Vec::new();
                self.path.push(Node { event, what, sleep, slept, guided, objects, wakeup });
                return Answer::Take(option);
            }
        };
        self.go_on();
        let mut chosen = None;
        let mut wakeup = Vec::new();
        // Along the wakeup tree, as long as it can be followed.
        while !self.guide.is_empty() {
            let branch = self.guide.remove(0);
            if let Some(option) = point.option_of(branch.step.task) {
                self.sleep.retain(|sleeper| !branch.awake.contains(&sleeper.task));
                wakeup = std::mem::take(&mut self.guide);
                self.ways = Some(branch.ways);
                chosen = Some(option);
                break;
            }
            branch.give_up(&mut self.wanted);
        }
        let guided = chosen.is_some();
        self.chosen = true;
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
        self.path.push(Node { event, what, sleep, slept, guided, objects, wakeup });
        Answer::Take(option)
    }

    fn spawn(&mut self, parent: TaskId, child: TaskId) {
        if !self.cut {
            self.history.spawn(parent, child);
        }
    }

    fn value(&mut self, task: TaskId, taken: Taken, during: bool) {
        if self.cut {
            return;
        }
        self.history.value(task, taken.option);
        let step = if during { Some(self.heard as u32) } else { self.last };
        if let Some(step) = step {
            self.decided.push((step, taken.option));
        }
    }

    fn step(&mut self, step: &Step<'_>) -> Option<Cut> {
        if self.cut {
            return None;
        }
        let index = self.heard as u32;
        self.heard += 1;
        if self.heard <= self.kept {
            if !step.immediate {
                self.last = Some(index);
            }
            self.history.forget_values(step.task);
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

    fn end(&mut self, execution: &Finished<'_>) {
        self.executions += 1;
        self.blocked += u64::from(self.cut);
        if !self.cut {
            self.stuck.extend_from_slice(execution.stuck);
        }
        self.go_on();
        for branch in self.guide.drain(..) {
            branch.give_up(&mut self.wanted);
        }
        self.put_back();
        if !matches!(execution.outcome, Outcome::Limit { .. }) {
            self.open_races();
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
