//! How an execution is compared with others: its races, and which steps sleep along it.
//!
//! Sleep sets (Godefroid 1996) in a search that goes in any order: siblings sleep in the order in which
//! they were *started*. A sibling that was started before this one need not have been explored to its end:
//! what follows it will have been run when the search ends, and that is when a sleep set must be right. What
//! sleeps at a point follows from what was started before each branch of the path, so it is computed again
//! when a prefix is repeated, and only the current path has it.
//!
//! With the expansion `all` nothing depends on it until an execution has ended, so events are written down
//! first ([`Noted`]), and gone through only if the execution makes others known. The races of the rest would
//! move up candidates elsewhere; on the bugs of the libraries that made the search no better, and most
//! executions within a bound are such.
//!
//! An option whose step was given a value does not sleep: with another value, which may not have been
//! tried yet, it may do something else.
//!
//! # Why: Best first compares what makes others known
//! With `all` nothing hangs on races and sleep sets before an execution has ended. Those that open nothing, most within
//! a bound, are not compared: on the bugs of the libraries no bug was lost for it, and a few per cent fewer executions
//! were run.

use std::panic::Location;

use raddle_engine::dependence::Footprint;
use raddle_engine::happens::{History, StepRecord};
use raddle_engine::op::TaskId;
use raddle_engine::strategy::{Step, Stuck, Taken};

use super::footprints::Footprints;
use super::nodes::{Link, NONE, Nodes};
use super::openings::Openings;
use super::path_points::{PathPoint, PathPoints, PointState};
use super::siblings::Sibling;
use crate::races::Instead;

/// Where a step stands in the source.
pub(super) type Site = &'static Location<'static>;

/// A step, as far as it matters.
#[derive(Clone, Copy, Debug)]
struct StepNote {
    told: StepRecord,
    task: TaskId,
    point: Option<u32>,
    immediate: bool,
    instead: Option<Instead>,
    site: Site,
}

impl From<&Step<'_>> for StepNote {
    #[inline]
    fn from(step: &Step<'_>) -> Self {
        let Step { task, point, immediate, site, .. } = *step;
        let instead = Instead::of(step);
        Self { told: StepRecord::from(step), task, point, immediate, instead, site }
    }
}

/// A new point.
#[derive(Clone, Copy, Debug)]
pub(super) struct PointNote {
    /// Whose value is decided there, and whether that is during a step.
    pub(super) value: Option<(TaskId, bool)>,
    /// The option of the running task, or none.
    pub(super) running: u32,
    /// Preemptions before it.
    pub(super) preemptions: u32,
    /// The tasks that can move there, among those of all new points: from here on, so many.
    pub(super) tasks: (u32, u32),
}

/// What happened in an execution, to be gone through at its end.
#[derive(Clone, Copy, Debug)]
enum Noted {
    Spawn(TaskId, TaskId),
    Value { during: bool },
    Point(PointNote),
    Step(StepNote),
}

/// What is compared.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Compares {
    /// Whether races are looked for.
    pub(super) races: bool,
    /// Whether sleep sets are kept.
    pub(super) sleep: bool,
    /// Whether an execution is cut where all tasks that can move sleep, as reductions do. Then every event
    /// is gone through as it happens.
    pub(super) cuts: bool,
}

impl Compares {
    /// Whether nodes keep what they did at their points: siblings of all of it may be started there, when
    /// it cannot be told any more. A reduction notes it where a race asks for a sibling.
    pub(super) fn keeps_firsts(self) -> bool {
        self.sleep && !self.cuts
    }
}

/// The sleep sets of the current path.
#[derive(Debug, Default)]
struct Sleep {
    /// Those of all points, one after the other.
    along: Vec<Footprint>,
    /// What sleeps in the state that comes next.
    now: Vec<Footprint>,
    /// Whether a step that slept was taken.
    redundant: bool,
}

impl Sleep {
    /// Notes what sleeps now as the sleep set of a point.
    fn note(&mut self) -> (u32, u32) {
        let from = self.along.len() as u32;
        self.along.extend_from_slice(&self.now);
        (from, self.now.len() as u32)
    }

    fn of(&self, point: &PathPoint) -> &[Footprint] {
        &self.along[point.sleep.0 as usize..][..point.sleep.1 as usize]
    }

    /// Goes back to the state before `point`, or to the beginning.
    fn go_back(&mut self, point: Option<&PathPoint>) {
        self.now.clear();
        let from = point.map_or(0, |point| point.sleep.0);
        if let Some(point) = point {
            let n = point.sleep.1 as usize;
            self.now.extend_from_slice(&self.along[from as usize..][..n]);
        }
        // Once a sleeper was taken, all that follows is covered elsewhere, up to the decision that is taken anew.
        self.redundant = point.is_some_and(|point| point.redundant);
        self.along.truncate(from as usize);
    }
}

/// How far the current execution has been followed.
#[derive(Debug, Default)]
struct Followed {
    /// Events that are known from the last execution.
    kept: usize,
    steps: usize,
    /// Decisions that are those of the last execution.
    shared: usize,
    /// Decisions of the plan, and how many of them were met.
    planned: usize,
    entered: usize,
    /// Whether the next step was chosen.
    chosen: bool,
}

/// The comparison of the current execution with others.
#[derive(Debug)]
pub(super) struct Comparison {
    pub(super) compares: Compares,
    pub(super) history: History,
    /// Where the events of the history stand in the source.
    sites: Vec<Site>,
    pub(super) path: PathPoints,
    /// What siblings did.
    pub(super) footprints: Footprints,
    pub(super) openings: Openings,
    sleep: Sleep,
    followed: Followed,
    /// Whether the execution was cut.
    pub(super) cut: bool,
    log: Vec<Noted>,
    /// Steps that were no scheduling points and after which there was none yet: if that stays so they
    /// matter little.
    waiting: Vec<(StepRecord, Site)>,
    instead: Vec<(u32, Instead)>,
    pub(super) stuck: Vec<Stuck>,
}

impl Comparison {
    pub(super) fn new(compares: Compares) -> Self {
        Self {
            compares,
            history: History::plain(),
            sites: Vec::new(),
            path: PathPoints::default(),
            footprints: Footprints::default(),
            openings: Openings::default(),
            sleep: Sleep::default(),
            followed: Followed::default(),
            cut: false,
            log: Vec::new(),
            waiting: Vec::new(),
            instead: Vec::new(),
            stuck: Vec::new(),
        }
    }

    /// Begins an execution that shares its first `shared` decisions with the last one and goes on along
    /// `chain` with those of `path`.
    pub(super) fn begin(&mut self, shared: usize, path: &[Taken], chain: &[Link], nodes: &Nodes) {
        // As far as it was gone through.
        // One less than there are, so that there is a point at `shared` whose state can be gone back to.
        let shared = shared.min(self.path.len().saturating_sub(1));
        let first = self.path.points().get(shared).copied();
        // A leaf was gone through only up to its own decision, so the history may be shorter than the path.
        let kept = first.map_or(0, |point| point.event as usize).min(self.history.len());
        self.sleep.go_back(first.as_ref());
        // If nothing is known, all from the beginning.
        let shared = if first.is_some() { shared } else { 0 };
        self.path.truncate(shared);
        self.path.follow(chain, nodes, path, self.compares.keeps_firsts());
        let planned = path.len();
        debug_assert_eq!(self.path.len(), planned, "every planned decision is known");
        self.history.begin(kept);
        self.sites.truncate(kept);
        self.followed = Followed { kept, shared, planned, ..Followed::default() };
        self.cut = false;
        self.log.clear();
        self.waiting.clear();
        self.instead.retain(|(index, _)| (*index as usize) < kept);
        self.stuck.clear();
    }

    /// Of the steps that are known already no notification comes: so many.
    pub(super) fn skip_known(&mut self) -> u64 {
        let Followed { kept, shared, .. } = self.followed;
        self.followed.steps = kept;
        // Of values that were decided after the last of them one comes.
        let known = self.path.points().partition_point(|point| (point.event as usize) < kept);
        self.followed.entered = known.min(shared);
        kept as u64
    }

    /// What sleeps at a decision of the current path.
    pub(super) fn sleeping(&self, point: &PathPoint) -> &[Footprint] {
        self.sleep.of(point)
    }

    /// The next decision of the plan is met. `path`: all of them.
    fn enter(&mut self, path: &[Taken], nodes: &Nodes) {
        let at = self.followed.entered;
        self.followed.entered += 1;
        // What sleeps there was noted by the execution before and has not changed: siblings start in one order only.
        if at < self.followed.shared {
            return;
        }
        let sleep = if self.compares.sleep { self.sleep.note() } else { (0, 0) };
        let point = self.path.point_mut(at);
        (point.sleep, point.redundant) = (sleep, self.sleep.redundant);
        let point = *point;
        if !point.branches || point.value || !self.compares.sleep {
            return;
        }
        // Those who were started before the one that is taken.
        let option = path[at].option;
        let started = nodes.node(point.owner).siblings().started(point.place);
        let Some(n) = started.iter().position(|sibling| sibling.option == option) else { return };
        let before = started[..n].iter().filter_map(Sibling::footprint);
        // `first` is what the owner of the point took itself, before any sibling was started. Siblings that were started later
        // than this one do not sleep: it sleeps for them.
        let numbers = std::iter::once(point.first).chain(before);
        self.sleep.now.extend(numbers.filter_map(|number| self.footprints.get(number)));
    }

    fn enter_all(&mut self, path: &[Taken], nodes: &Nodes) {
        while self.followed.entered < self.followed.planned {
            self.enter(path, nodes);
        }
    }

    pub(super) fn is_asleep(&self, task: TaskId) -> bool {
        self.sleep.now.iter().any(|sleeper| sleeper.task == task)
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
        // A value within a step shows the step before it is told of. If there was no point for the step, this is the first
        // place at which it can be found to sleep.
        if let Some((task, true)) = value {
            if !self.followed.chosen && self.is_asleep(task) {
                self.sleep.redundant = true;
                if self.compares.cuts {
                    return false;
                }
            }
            self.followed.chosen = true;
        }
        true
    }

    /// The point is one of this execution: something is taken there. `tasks`: those of all new points.
    pub(super) fn note(&mut self, new: PointNote, tasks: &[TaskId]) {
        if self.compares.cuts {
            self.arrive(new, tasks);
        } else {
            // Written down, to be gone through at the end if the execution makes others known: see the head of the file.
            self.log.push(Noted::Point(new));
        }
    }

    fn arrive(&mut self, new: PointNote, tasks: &[TaskId]) {
        let PointNote { value, running, preemptions, tasks: (from, n) } = new;
        let value = value.is_some();
        if !value {
            self.followed.chosen = true;
        }
        let sleep = if self.compares.sleep { self.sleep.note() } else { (0, 0) };
        let event = self.history.len() as u32;
        let can = tasks[from as usize..][..n as usize].iter().copied();
        self.path.push(PointState { owner: NONE, event, running, preemptions, value }, can);
        let point = self.path.point_mut(self.path.len() - 1);
        (point.sleep, point.redundant) = (sleep, self.sleep.redundant);
    }

    /// The execution need not go on. Ops that wait, which are `stuck`, race all the same.
    pub(super) fn cut_at(&mut self, stuck: Vec<Stuck>) {
        self.cut = true;
        self.stuck = stuck;
    }

    pub(super) fn spawn(&mut self, parent: TaskId, child: TaskId) {
        if !self.compares.cuts {
            self.log.push(Noted::Spawn(parent, child));
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
        if !self.compares.cuts {
            self.log.push(Noted::Value { during });
        } else if !self.cut {
            self.decide(during, path, nodes);
        }
    }

    fn decide(&mut self, during: bool, path: &[Taken], nodes: &Nodes) {
        while self.followed.entered < self.followed.planned {
            let value = self.path.points()[self.followed.entered].value;
            self.enter(path, nodes);
            if value {
                // A value after a step says nothing of the next step; one within it belongs to a step that was chosen.
                self.followed.chosen |= during;
                break;
            }
            self.followed.chosen = true;
        }
    }

    /// A step was taken. `true` if the execution need not go on.
    pub(super) fn step(&mut self, step: &Step<'_>, path: &[Taken], nodes: &Nodes) -> bool {
        if !self.compares.cuts {
            self.log.push(Noted::Step(StepNote::from(step)));
            return false;
        }
        if self.cut || !self.go(&StepNote::from(step), path, nodes) {
            return false;
        }
        self.cut_at(step.stuck());
        true
    }

    /// A step was taken. `true` if it was one of a task which sleeps, and was not chosen.
    fn go(&mut self, step: &StepNote, path: &[Taken], nodes: &Nodes) -> bool {
        if let Some(point) = step.point {
            while self.followed.entered < self.followed.planned
                && self.followed.entered <= point as usize
            {
                self.enter(path, nodes);
            }
        }
        self.followed.steps += 1;
        if self.followed.steps <= self.followed.kept {
            if !step.immediate {
                self.followed.chosen = false;
            }
            return false;
        }
        let chosen = self.followed.chosen || step.point.is_some();
        if self.compares.sleep && !step.immediate && self.is_asleep(step.task) {
            // A task that sleeps and was chosen is one that the plan asks for: a race wants it there. One that nothing was asked
            // about goes on by itself, and what follows is covered.
            if self.compares.cuts && !chosen {
                return true;
            }
            self.sleep.redundant = true;
        }
        if self.compares.sleep && !self.sleep.now.is_empty() {
            // Without `sleep::wake`: steps that were given a value do not sleep here, so a task has at most one entry.
            self.sleep.now.retain(|sleeper| !sleeper.dependent(step.told.footprint()));
        }
        if step.immediate {
            self.history.runs_on(step.task);
            // Joins are many and race with nothing but `is_finished`. They enter the history with the next chosen step, or at the
            // end if something may race with them.
            self.waiting.push((step.told, step.site));
            return false;
        }
        self.catch_up();
        let index = self.history.len() as u32;
        self.history.tell(&step.told);
        self.sites.push(step.site);
        self.instead.extend(step.instead.map(|instead| (index, instead)));
        self.followed.chosen = false;
        false
    }

    /// The execution has ended: goes through what was noted of it. Of a `leaf`, which makes nothing known,
    /// only what it did at its own decision is needed, because that sleeps, and what came before, which the
    /// next execution may share. `tasks`: those that could move at its new points.
    pub(super) fn go_through(
        &mut self,
        leaf: bool,
        path: &[Taken],
        nodes: &Nodes,
        tasks: &[TaskId],
    ) {
        let own = self.own_event();
        for at in 0..self.log.len() {
            let noted = self.log[at];
            // A leaf opens nothing: what it did after its own decision is in no sleep set and in no race that is looked for.
            let is_done = self.followed.entered == self.followed.planned
                && own.is_none_or(|own| own < self.history.len());
            if leaf && (is_done || matches!(noted, Noted::Point(_))) {
                break;
            }
            match noted {
                Noted::Spawn(parent, child) => self.begin_task(parent, child),
                Noted::Value { during } => self.decide(during, path, nodes),
                Noted::Point(new) => {
                    self.meet(new.value, path, nodes);
                    self.arrive(new, tasks);
                }
                Noted::Step(step) => {
                    self.go(&step, path, nodes);
                }
            }
        }
        // The next execution may share all of its plan, and what sleeps there.
        if leaf {
            self.enter_all(path, nodes);
        }
    }

    /// Enters steps that wait into the history.
    fn catch_up(&mut self) {
        for (told, site) in self.waiting.drain(..) {
            self.history.tell(&told);
            self.sites.push(site);
        }
    }

    /// The number of what the step did that was decided at a point of the path; 0 if it is not known, or if
    /// it was given a value.
    pub(super) fn done_at(&mut self, at: usize) -> u32 {
        let points = self.path.points();
        let point = points[at];
        // With another value the step may touch something else, and then it must not sleep as what it was here.
        let valued = points.get(at + 1).is_some_and(|next| next.value && next.event == point.event);
        let ran = !point.value && !valued && (point.event as usize) < self.history.len();
        if !ran {
            return 0;
        }
        self.footprints.number(&self.history.event(point.event as usize).footprint)
    }

    /// Writes the execution's own points.
    pub(super) fn write(&mut self, bytes: &mut Vec<u8>) {
        let firsts = self.compares.keeps_firsts();
        let planned = self.followed.planned;
        if firsts {
            for at in planned..self.path.len() {
                self.path.point_mut(at).first = self.done_at(at);
            }
        }
        self.path.write(planned, self.path.len(), firsts, bytes);
    }

    /// The event of the execution's own decision; none of the first one.
    fn own_event(&self) -> Option<usize> {
        let own = self.followed.planned.checked_sub(1)?;
        Some(self.path.points()[own].event as usize)
    }

    /// Finds what the races of the execution's own part ask for. `sequences`: as [`Openings::find`].
    pub(super) fn find_openings(&mut self, sequences: bool) {
        // An op that is stuck, or a look whether a task is finished, may race with a join that is still waiting to be entered.
        if !self.stuck.is_empty() || self.history.has_looks() {
            self.catch_up();
        }
        debug_assert_eq!(self.sites.len(), self.history.len(), "every event has its place");
        let ops = (self.own_event().unwrap_or(0), &*self.instead, &*self.stuck);
        let known = (self.path.points(), &*self.sites);
        self.openings.find(&mut self.history, known, ops, sequences);
    }

    /// The last execution is not one to share decisions with.
    pub(super) fn forget(&mut self) {
        self.path.truncate(0);
        self.sleep.along.clear();
    }

    pub(super) fn bytes(&self) -> usize {
        let log = self.log.capacity() * size_of::<Noted>();
        self.path.bytes() + log + self.sleep.along.capacity() * size_of::<Footprint>()
    }
}
