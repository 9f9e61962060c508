//! What an execution is compared by: its races, and what sleeps along it.
//!
//! Sleep sets (Godefroid 1996) in a search that goes in any order: siblings sleep in the order in which
//! they were *started*. A sibling that was started before this one need not be done: what follows it will
//! have been run when the search ends, and that is when a sleep set must be right. What sleeps at a point
//! follows from what was started before each branch on the way, so it is found again when a prefix is
//! repeated, and only the current path has it.
//!
//! With `all` nothing hangs on it until an execution has ended, so what is heard is written down first
//! ([`Heard`]), and gone through only if the execution makes others known. The races of those that do not
//! would move up candidates elsewhere; on the bugs of the libraries that made the search no better, and
//! most executions within a bound are such.
//!
//! An option whose step was given a value does not sleep: with another value, which may not have been
//! tried yet, it may do something else.

use raddle_engine::dependence::Footprint;
use raddle_engine::happens::{History, Told};
use raddle_engine::op::{Access, ObjectId, TaskId};
use raddle_engine::strategy::{Pending, Step, Stuck, Taken, Tasks, Timer};

use super::footprints::Footprints;
use super::nodes::{Link, NONE, Nodes};
use super::road::{Passed, Road, Stop};
use super::siblings::Sibling;
use crate::races::{Later, Reversal};

/// What a race asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    /// The decision which led to the first step.
    pub(super) stop: u32,
    /// The task of the second one; none if nobody chose it.
    pub(super) racing: Option<TaskId>,
    /// The first step gave a lock back, and that is all that it had in common with the second.
    pub(super) releases: bool,
    /// Who can begin a sequence that reverses the race: from here on, so many.
    begins: (u32, u32),
}

/// A step, as far as it matters.
#[derive(Clone, Copy, Debug)]
struct Moved {
    told: Told,
    task: TaskId,
    point: Option<u32>,
    immediate: bool,
    timer: Option<Timer>,
}

impl From<&Step<'_>> for Moved {
    #[inline]
    fn from(step: &Step<'_>) -> Self {
        let Step { task, point, immediate, timer, .. } = *step;
        Self { told: Told::from(step), task, point, immediate, timer }
    }
}

/// A new point.
#[derive(Clone, Copy, Debug)]
pub(super) struct New {
    /// Whose value is decided there, and whether that is during a step.
    pub(super) value: Option<(TaskId, bool)>,
    /// The option of the running task, or none.
    pub(super) running: u32,
    /// Preemptions before it.
    pub(super) preemptions: u32,
    /// Who can move there: from here on, so many.
    pub(super) tasks: (u32, u32),
}

/// What an execution did, to be gone through later.
#[derive(Clone, Copy, Debug)]
enum Heard {
    Spawn(TaskId, TaskId),
    Value(bool),
    Point(New),
    Step(Moved),
}

/// The comparison.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub(super) struct Analysis {
    pub(super) history: History,
    /// Whether an execution ends where all who can move sleep.
    pub(super) cuts: bool,
    /// Whether races are looked for.
    pub(super) races: bool,
    /// Whether sleep sets are kept.
    pub(super) sleeps: bool,
    pub(super) road: Road,
    /// What siblings did.
    pub(super) footprints: Footprints,
    sleepers: Vec<Footprint>,
    /// What sleeps in the state that comes next.
    sleep: Vec<Footprint>,
    redundant: bool,
    /// Events that are known from the last execution.
    kept: usize,
    heard: usize,
    /// Decisions that are those of the last execution.
    shared: usize,
    /// Decisions of the plan, and how many of them were met.
    planned: usize,
    entered: usize,
    /// Whether the next step was chosen.
    chosen: bool,
    pub(super) cut: bool,
    log: Vec<Heard>,
    /// Steps that nobody chose and after which nothing was chosen yet: if that stays so they matter little.
    waiting: Vec<Told>,
    timers: Vec<(u32, Timer)>,
    pub(super) stuck: Vec<Stuck>,
    raced: Vec<u32>,
    reversal: Reversal,
    pub(super) openings: Vec<Opening>,
    begins: Vec<TaskId>,
}

impl Analysis {
    /// For priorities: looks for races, keeps sleep sets, or both.
    pub(super) fn new(races: bool, sleeps: bool) -> Self {
        Self { races, sleeps, history: History::plain(), ..Self::default() }
    }

    /// For a reduction.
    pub(super) fn reducing() -> Self {
        Self { cuts: true, ..Self::new(true, true) }
    }

    /// Whether nodes keep what they did at their points: siblings of all of it may be started there, and
    /// by then nobody could tell. A reduction notes it where a race asks for a sibling.
    pub(super) fn firsts(&self) -> bool {
        self.sleeps && !self.cuts
    }

    /// Begins an execution that shares its first `shared` decisions with the last one and goes on along
    /// `chain` with those of `path`.
    pub(super) fn begin(&mut self, shared: usize, path: &[Taken], chain: &[Link], nodes: &Nodes) {
        // As far as it was gone through.
        let mut shared = shared.min(self.road.len().saturating_sub(1));
        let first = self.road.stops().get(shared).copied();
        self.kept = first.map_or(0, |stop| stop.event as usize).min(self.history.len());
        self.sleep.clear();
        self.redundant = false;
        if let Some(stop) = first {
            let (from, n) = (stop.sleep.0 as usize, stop.sleep.1 as usize);
            self.sleep.extend_from_slice(&self.sleepers[from..][..n]);
            self.redundant = stop.redundant;
            self.sleepers.truncate(stop.sleep.0 as usize);
        } else {
            // Nothing is known: all from the beginning.
            shared = 0;
            self.sleepers.clear();
        }
        self.road.truncate(shared);
        self.road.follow(chain, nodes, path, self.firsts());
        let planned = path.len();
        debug_assert_eq!(self.road.len(), planned, "every planned decision is known");
        self.history.begin(self.kept);
        self.heard = 0;
        self.planned = planned;
        self.shared = shared;
        self.entered = 0;
        self.chosen = false;
        self.cut = false;
        self.log.clear();
        self.waiting.clear();
        self.timers.clear();
        self.stuck.clear();
    }

    /// Of the steps that are known already nothing is told: so many.
    pub(super) fn hush(&mut self) -> u64 {
        self.heard = self.kept;
        // Values that were decided after the last of them are told.
        let kept = self.kept;
        let known = self.road.stops().partition_point(|stop| (stop.event as usize) < kept);
        self.entered = known.min(self.shared);
        self.kept as u64
    }

    /// What sleeps at a decision of the current path.
    pub(super) fn sleeping(&self, stop: &Stop) -> &[Footprint] {
        &self.sleepers[stop.sleep.0 as usize..][..stop.sleep.1 as usize]
    }

    pub(super) fn begins(&self, opening: &Opening) -> &[TaskId] {
        &self.begins[opening.begins.0 as usize..][..opening.begins.1 as usize]
    }

    /// Notes what sleeps now.
    fn note_sleep(&mut self) -> (u32, u32) {
        let from = self.sleepers.len() as u32;
        self.sleepers.extend_from_slice(&self.sleep);
        (from, self.sleep.len() as u32)
    }

    /// The next decision of the plan is met. `path`: all of them.
    fn enter(&mut self, path: &[Taken], nodes: &Nodes) {
        let at = self.entered;
        self.entered += 1;
        if at < self.shared {
            return;
        }
        let sleep = if self.sleeps { self.note_sleep() } else { (0, 0) };
        let redundant = self.redundant;
        let stop = self.road.stop_mut(at);
        (stop.sleep, stop.redundant) = (sleep, redundant);
        let stop = *stop;
        if !stop.branches || stop.value || !self.sleeps {
            return;
        }
        // Those who were started before the one that is taken.
        let option = path[at].option;
        let started = nodes.node(stop.owner).siblings().started(stop.place);
        let Some(n) = started.iter().position(|sibling| sibling.option == option) else { return };
        let before = started[..n].iter().filter_map(Sibling::footprint);
        let numbers = std::iter::once(stop.first).chain(before);
        self.sleep.extend(numbers.filter_map(|number| self.footprints.get(number)));
    }

    fn enter_all(&mut self, path: &[Taken], nodes: &Nodes) {
        while self.entered < self.planned {
            self.enter(path, nodes);
        }
    }

    pub(super) fn is_asleep(&self, task: TaskId) -> bool {
        self.sleep.iter().any(|sleeper| sleeper.task == task)
    }

    /// A new point is met. `false` if the step that needs the value is one of a task that sleeps.
    pub(super) fn meet(
        &mut self,
        value: Option<(TaskId, bool)>,
        path: &[Taken],
        nodes: &Nodes,
    ) -> bool {
        self.catch_up();
        self.enter_all(path, nodes);
        if let Some((task, true)) = value {
            if !self.chosen && self.is_asleep(task) {
                self.redundant = true;
                if self.cuts {
                    return false;
                }
            }
            self.chosen = true;
        }
        true
    }

    /// The point is one of this execution: something is taken there. `tasks`: who can move at all points.
    pub(super) fn note(&mut self, new: New, tasks: &[TaskId]) {
        if !self.cuts {
            self.log.push(Heard::Point(new));
            return;
        }
        self.pass(new, tasks);
    }

    fn pass(&mut self, new: New, tasks: &[TaskId]) {
        let New { value, running, preemptions, tasks: (from, n) } = new;
        let value = value.is_some();
        if !value {
            self.chosen = true;
        }
        let sleep = if self.sleeps { self.note_sleep() } else { (0, 0) };
        let event = self.history.len() as u32;
        let can = tasks[from as usize..][..n as usize].iter().copied();
        self.road.push(Passed { owner: NONE, event, running, preemptions, value }, can);
        let stop = self.road.stop_mut(self.road.len() - 1);
        (stop.sleep, stop.redundant) = (sleep, self.redundant);
    }

    /// The execution need not go on. Those who wait race all the same.
    pub(super) fn cut_at(&mut self, pending: &dyn Pending) {
        self.cut = true;
        self.stuck = pending.stuck();
    }

    pub(super) fn spawn(&mut self, parent: TaskId, child: TaskId) {
        if !self.cuts {
            self.log.push(Heard::Spawn(parent, child));
        } else if !self.cut {
            self.begin_task(parent, child);
        }
    }

    fn begin_task(&mut self, parent: TaskId, child: TaskId) {
        self.catch_up();
        self.history.spawn(parent, child);
    }

    /// A value was decided.
    pub(super) fn value(&mut self, during: bool, path: &[Taken], nodes: &Nodes) {
        if !self.cuts {
            self.log.push(Heard::Value(during));
        } else if !self.cut {
            self.decide(during, path, nodes);
        }
    }

    fn decide(&mut self, during: bool, path: &[Taken], nodes: &Nodes) {
        while self.entered < self.planned {
            let value = self.road.stops()[self.entered].value;
            self.enter(path, nodes);
            if value {
                self.chosen |= during;
                break;
            }
            self.chosen = true;
        }
    }

    /// A step was taken. `true` if the execution need not go on.
    pub(super) fn step(&mut self, step: &Step<'_>, path: &[Taken], nodes: &Nodes) -> bool {
        if !self.cuts {
            self.log.push(Heard::Step(Moved::from(step)));
            return false;
        }
        if self.cut || !self.go(&Moved::from(step), path, nodes) {
            return false;
        }
        self.cut_at(step.pending);
        true
    }

    /// A step was taken. `true` if that was one of a task which sleeps, and nobody chose it.
    fn go(&mut self, step: &Moved, path: &[Taken], nodes: &Nodes) -> bool {
        if let Some(point) = step.point {
            while self.entered < self.planned && self.entered <= point as usize {
                self.enter(path, nodes);
            }
        }
        self.heard += 1;
        if self.heard <= self.kept {
            if !step.immediate {
                self.chosen = false;
            }
            return false;
        }
        let chosen = self.chosen || step.point.is_some();
        if self.sleeps && !step.immediate && self.is_asleep(step.task) {
            if self.cuts && !chosen {
                return true;
            }
            self.redundant = true;
        }
        if self.sleeps && !self.sleep.is_empty() {
            self.sleep.retain(|sleeper| !sleeper.dependent(step.told.footprint()));
        }
        if step.immediate {
            self.history.runs_on(step.task);
            self.waiting.push(step.told);
            return false;
        }
        self.catch_up();
        let index = self.history.len() as u32;
        self.history.tell(&step.told);
        self.timers.extend(step.timer.map(|timer| (index, timer)));
        self.chosen = false;
        false
    }

    /// The execution has ended: goes through what was heard of it. Of a `leaf`, which makes nothing known, no
    /// more is asked than what it did at its own decision, because that sleeps, and the next one has what came
    /// before in common with it. `tasks`: who could move at its new points.
    pub(super) fn go_through(
        &mut self,
        leaf: bool,
        path: &[Taken],
        nodes: &Nodes,
        tasks: &[TaskId],
    ) {
        let own = self.planned.checked_sub(1).map(|own| self.road.stops()[own].event as usize);
        let log = std::mem::take(&mut self.log);
        for heard in &log {
            let is_done = self.entered == self.planned && own < Some(self.history.len());
            if leaf && (is_done || matches!(heard, Heard::Point(_))) {
                break;
            }
            match *heard {
                Heard::Spawn(parent, child) => self.begin_task(parent, child),
                Heard::Value(during) => self.decide(during, path, nodes),
                Heard::Point(new) => {
                    self.meet(new.value, path, nodes);
                    self.pass(new, tasks);
                }
                Heard::Step(ref step) => {
                    self.go(step, path, nodes);
                }
            }
        }
        self.log = log;
        if leaf {
            self.enter_all(path, nodes);
        }
    }

    /// Tells the history of the steps that wait.
    fn catch_up(&mut self) {
        for told in self.waiting.drain(..) {
            self.history.tell(&told);
        }
    }

    /// The number of what the step did that was decided at a stop of the path; 0 if it is not known, or if
    /// it was given a value.
    pub(super) fn done_at(&mut self, at: usize) -> u32 {
        let stops = self.road.stops();
        let stop = stops[at];
        let valued = stops.get(at + 1).is_some_and(|next| next.value && next.event == stop.event);
        let ran = !stop.value && !valued && (stop.event as usize) < self.history.len();
        if !ran {
            return 0;
        }
        self.footprints.number(&self.history.event(stop.event as usize).footprint)
    }

    /// Writes the execution's own points.
    pub(super) fn write(&mut self, bytes: &mut Vec<u8>) {
        if self.firsts() {
            for at in self.planned..self.road.len() {
                self.road.stop_mut(at).first = self.done_at(at);
            }
        }
        self.road.write(self.planned, self.road.len(), self.firsts(), bytes);
    }

    /// Where the execution's own part begins.
    fn own_from(&self) -> usize {
        match self.planned.checked_sub(1) {
            None => 0,
            Some(own) => self.road.stops()[own].event as usize,
        }
    }

    /// Finds what the races of the execution's own part ask for. `sequences`: who can begin them, too.
    pub(super) fn find_openings(&mut self, sequences: bool) {
        self.openings.clear();
        self.begins.clear();
        if !self.stuck.is_empty() || self.history.has_looks() {
            self.catch_up();
        }
        let own = self.own_from();
        for index in own..self.history.len() {
            if !self.history.contends(index) {
                continue;
            }
            let event = self.history.event(index);
            let mut step = (!event.immediate).then_some(event.footprint);
            if let Some(step) = &mut step
                && let Access::Observe(_) = step.touched[0].1
            {
                // Whom the task waited for that it looked at, if it had come earlier, is not known.
                step.waited_for = Tasks::ALL;
            }
            let mut raced = std::mem::take(&mut self.raced);
            self.history.races(index, &mut raced);
            self.raced = raced;
            self.open(&Later { step, index, ran: true, timer: None }, sequences);
        }
        for at in 0..self.timers.len() {
            let (index, timer) = self.timers[at];
            let index = index as usize;
            if index < own {
                continue;
            }
            let owner = self.history.event(index).footprint.task;
            let step = Some(Footprint::new(timer.task, &timer.footprint, Some(owner)));
            let mut raced = std::mem::take(&mut self.raced);
            self.history.races_of_timer(index, timer.task, &mut raced);
            self.raced = raced;
            self.open(&Later { step, index, ran: false, timer: Some(timer.task) }, sequences);
        }
        for at in 0..self.stuck.len() {
            let stuck = self.stuck[at];
            let mut raced = std::mem::take(&mut self.raced);
            self.history.races_of_stuck(&stuck, &mut raced);
            self.raced = raced;
            self.open_stuck(Footprint::new(stuck.task, &stuck.footprint, None), sequences);
            if let Some(timer) = stuck.timer {
                let mut raced = std::mem::take(&mut self.raced);
                self.history.races_of_stuck_timer(&stuck, timer.task, &mut raced);
                self.raced = raced;
                let step = Footprint::new(timer.task, &timer.footprint, Some(stuck.task));
                self.open_stuck(step, sequences);
            }
        }
    }

    fn open_stuck(&mut self, step: Footprint, sequences: bool) {
        let index = self.history.len();
        self.open(&Later { step: Some(step), index, ran: false, timer: None }, sequences);
    }

    /// What the races that were just found ask for.
    fn open(&mut self, later: &Later, sequences: bool) {
        for at in 0..self.raced.len() {
            let first = self.raced[at] as usize;
            let Some(stop) = self.stop_of(first) else { continue };
            let from = self.begins.len() as u32;
            if sequences && !self.find_begins(first, later) {
                continue;
            }
            let begins = (from, self.begins.len() as u32 - from);
            let racing = later.step.map(|step| step.task);
            let releases = is_about_release(&self.history.event(first).footprint, later);
            self.openings.push(Opening { stop, racing, releases, begins });
        }
    }

    /// Adds those who can begin a sequence that reverses a race. `false` if there is none.
    fn find_begins(&mut self, first: usize, later: &Later) -> bool {
        let mut later = *later;
        if !self.reversal.find(&self.history, first, &mut later, |_, _| None) {
            return false;
        }
        self.begins.extend_from_slice(&self.reversal.initials);
        true
    }

    /// The decision which led to an event; none if there was no choice.
    fn stop_of(&self, event: usize) -> Option<u32> {
        let stops = self.road.stops();
        let at = stops.partition_point(|stop| (stop.event as usize) < event);
        // Values decided before the step stand at the same event.
        (at..stops.len())
            .take_while(|&at| stops[at].event as usize == event)
            .find(|&at| !stops[at].value)
            .map(|at| at as u32)
    }

    /// The last execution is not one to share decisions with.
    pub(super) fn forget(&mut self) {
        self.road.truncate(0);
        self.sleepers.clear();
    }

    pub(super) fn bytes(&self) -> usize {
        let log = self.log.capacity() * size_of::<Heard>();
        self.road.bytes() + log + self.sleepers.capacity() * size_of::<Footprint>()
    }
}

/// Whether all that the first step of a race has in common with the second is that it gave a lock back. One
/// that waits on a condition does that too, and a race for the notification is another matter.
fn is_about_release(first: &Footprint, later: &Later) -> bool {
    let meets = |object: ObjectId| match &later.step {
        Some(step) => step.touched.iter().any(|(other, _)| *other == object),
        None => true,
    };
    let common =
        first.touched.iter().filter(|(object, _)| *object != ObjectId::NONE && meets(*object));
    let mut gives_back =
        common.map(|(_, access)| matches!(access, Access::Release | Access::Unshare)).peekable();
    gives_back.peek().is_some() && gives_back.all(|gives_back| gives_back)
}
