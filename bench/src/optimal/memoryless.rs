//! An optimal reduction without wakeup trees and sleep sets: a prototype.
//!
//! After POP (Abdulla, Atig, Das, Jonsson, Sagonas, CAV 2024), on our dependence, blocking ops and values.
//! What is left to do is a stack of *units*. A unit is a repeated part, then a *schedule*: what must come
//! before the later step of a race, then that step, its *head*. A race is reversed once, in the one
//! execution in which all that was chosen between its two steps and is not in the new schedule was
//! chosen by default: no head and no other value than the first is left behind. A step of a schedule
//! is never the earlier step of a race that is reversed.
//!
//! Several steps could be the head of what reverses the same step: if no two of them depend on each
//! other, an execution with all of them would be reached by each. POP remembers the schedules that
//! were tried. Here the one of the smallest task counts: whatever comes after a head must not be a
//! step of a smaller task that could have been the head instead. That needs no memory at all, so a
//! unit is all that a worker has to know.
//!
//! Misses, on purpose: `is_finished` and yields. Overreports: nothing.

use raddle_engine::dependence::Footprint;
use raddle_engine::happens::History;
use raddle_engine::op::{Access, TaskId};
use raddle_engine::strategy::{
    Answer, Cut, Event, Finished, Needs, Options, Pending, Plan, Point, Step, Strategy, Stuck,
    Timer,
};
use raddle_search::rng::Rng;
use raddle_trace::{Covered, Outcome};

/// What is known of the events of an execution besides the events.
#[derive(Clone, Debug, Default)]
struct Marks {
    /// Whether each event was part of a schedule.
    scheduled: Vec<bool>,
    heads: Vec<Head>,
    /// Events with another value than the first.
    valued: Vec<u32>,
}

impl Marks {
    /// Of the first so many events.
    fn of_first(&self, events: usize) -> Self {
        let heads = self.heads.iter().filter(|head| (head.at as usize) < events).copied();
        let valued = self.valued.iter().filter(|&&at| (at as usize) < events).copied();
        let scheduled = self.scheduled[..events.min(self.scheduled.len())].to_vec();
        Self { scheduled, heads: heads.collect(), valued: valued.collect() }
    }
}

/// The last step of a schedule.
#[derive(Clone, Copy, Debug)]
struct Head {
    at: u32,
    task: TaskId,
    /// Events before the schedule.
    from: u32,
    /// What came there instead.
    instead: Footprint,
}

/// A step of a schedule, with the values that were decided in it and after it.
#[derive(Clone, Debug)]
struct Guided {
    task: TaskId,
    values: Box<[u32]>,
}

/// A part of the search: all that is needed to run it.
#[derive(Clone, Debug, Default)]
struct Unit {
    /// The decisions of the repeated part, and its events.
    decisions: Vec<u32>,
    events: usize,
    marks: Marks,
    schedule: Vec<Guided>,
    instead: Option<Footprint>,
    /// The first event whose races are to be looked at; of a schedule, its head.
    fresh: usize,
}

/// A decision of the current execution.
#[derive(Debug)]
struct Decided {
    /// Events before it.
    event: usize,
    /// Who could move, and what they would have done; empty for a value.
    options: Vec<(TaskId, Access)>,
}

/// The later op of a race.
#[derive(Clone, Copy, Debug)]
struct Later {
    /// Its event, or the one that came instead; the number of events if it did not run.
    index: usize,
    step: Option<Footprint>,
    ran: bool,
}

/// What a search did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Effort {
    /// Races that were looked at, and those that became units.
    pub(crate) races: u64,
    pub(crate) units: u64,
    /// Schedules that could not be followed.
    pub(crate) impossible: u64,
    /// Most units at a time, and most bytes in them.
    pub(crate) most: usize,
    pub(crate) bytes: usize,
}

/// The strategy.
#[derive(Debug, Default)]
pub(crate) struct Memoryless {
    left: Vec<Unit>,
    unit: Unit,
    marks: Marks,
    history: History,
    decisions: Vec<u32>,
    points: Vec<Decided>,
    /// Events known from the execution before, and heard of in this one.
    kept: usize,
    heard: usize,
    last: Option<usize>,
    /// Values with the event to which they belong.
    values: Vec<(usize, u32)>,
    /// Steps of the schedule that have been chosen, and values of the last of them.
    next: usize,
    next_value: usize,
    /// Whether the next step has been chosen.
    chosen: bool,
    cut: bool,
    over: bool,
    timers: Vec<(usize, Timer)>,
    stuck: Vec<Stuck>,
    /// Takes units in any order instead of the last first.
    at_random: Option<Rng>,
    pub(crate) effort: Effort,
}

impl Memoryless {
    pub(crate) fn new() -> Self {
        let (left, history) = (vec![Unit::default()], History::plain());
        Self { left, history, ..Self::default() }
    }

    pub(crate) fn at_random(seed: u64) -> Self {
        Self { at_random: Some(Rng::new(seed)), ..Self::new() }
    }

    fn push(&mut self, unit: Unit) {
        self.left.push(unit);
        self.effort.units += 1;
        if self.left.len() > self.effort.most {
            self.effort.most = self.left.len();
            let bytes = |unit: &Unit| {
                size_of::<Unit>()
                    + 4 * unit.decisions.capacity()
                    + unit.marks.scheduled.capacity()
                    + size_of::<Head>() * unit.marks.heads.capacity()
                    + size_of::<Guided>() * unit.schedule.capacity()
            };
            self.effort.bytes = self.left.iter().map(bytes).sum();
        }
    }

    /// The next step is the schedule's next.
    fn follow(&mut self) {
        let at = self.heard;
        self.marks.scheduled.resize(at, false);
        self.marks.scheduled.push(true);
        let task = self.unit.schedule[self.next].task;
        self.next += 1;
        self.next_value = 0;
        self.chosen = true;
        if self.next == self.unit.schedule.len() {
            self.unit.fresh = at;
            if let Some(instead) = self.unit.instead {
                let (at, from) = (at as u32, self.unit.events as u32);
                self.marks.heads.push(Head { at, task, from, instead });
            }
        }
    }

    /// A task takes the next step without a question. `false` if the schedule says otherwise.
    fn goes_on(&mut self, task: TaskId) -> bool {
        if self.chosen || self.heard < self.unit.events {
            return true;
        }
        match self.unit.schedule.get(self.next) {
            Some(guided) if guided.task != task => return false,
            Some(_) => self.follow(),
            None => {}
        }
        true
    }

    fn is_following(&self) -> bool {
        self.next < self.unit.schedule.len()
    }

    /// Whether a step that comes now could have been the head instead of one of a larger task.
    ///
    /// `past`: whether an event is before it.
    fn is_for_another(
        heads: &[Head],
        history: &History,
        step: &Footprint,
        events: &(impl Iterator<Item = usize> + Clone),
        past: impl Fn(usize) -> bool,
    ) -> bool {
        heads.iter().any(|head| {
            let from = head.from as usize;
            let bears = |&event: &usize| {
                event >= from && history.event(event).footprint.dependent(&head.instead)
            };
            step.task < head.task
                && step.task != head.instead.task
                && step.dependent(&head.instead)
                && !events.clone().filter(bears).any(&past)
        })
    }

    /// Whether the pending op of a task could have been a head.
    fn would_be_for_another(&self, task: TaskId, pending: &dyn Pending) -> bool {
        if self.marks.heads.iter().all(|head| task >= head.task) {
            return false;
        }
        let Some(op) = pending.op(task) else { return false };
        let step = Footprint::new(task, &[(op.object, op.access)], None);
        let (history, len) = (&self.history, self.history.len());
        let own = history.index_of(task, history.events_of(task));
        let past = |event: usize| {
            own.is_some_and(|own| history.before(event, own))
                || (event..len).any(|other| {
                    history.before(event, other) && history.event(other).footprint.dependent(&step)
                })
        };
        Self::is_for_another(&self.marks.heads, history, &step, &(0..len), past)
    }

    fn cut_at(&mut self, pending: &dyn Pending) {
        self.cut = true;
        self.stuck = pending.stuck();
    }

    fn give_up(&mut self) {
        self.cut = true;
        self.effort.impossible += 1;
        self.unit.fresh = usize::MAX;
    }

    fn values_of(&self, event: usize) -> Box<[u32]> {
        self.values.iter().filter(|(at, _)| *at == event).map(|(_, value)| *value).collect()
    }

    /// Decides a value: the schedule's, or the first; then the others become units.
    fn decide_value(&mut self, task: TaskId, of: u32, during: bool) -> Option<u32> {
        if during && !self.goes_on(task) {
            return None;
        }
        let guided = self.next.checked_sub(1).filter(|_| self.next < self.unit.schedule.len());
        if let Some(at) = guided
            && let Some(&value) = self.unit.schedule[at].values.get(self.next_value)
        {
            self.next_value += 1;
            return Some(value.min(of - 1));
        }
        for option in 1..of {
            let mut decisions = self.decisions.clone();
            decisions.push(option);
            let mut marks = self.marks.clone();
            let at = if during { Some(self.heard) } else { self.last };
            marks.valued.extend(at.map(|at| at as u32));
            let schedule = self.unit.schedule[self.next..].to_vec();
            let (events, fresh, instead) = (self.heard, self.heard, self.unit.instead);
            self.push(Unit { decisions, events, marks, schedule, instead, fresh });
        }
        Some(0)
    }

    /// The decision for the event at `first`; none if there was no choice.
    fn point_of(&self, first: usize) -> Option<usize> {
        let at = self.points.partition_point(|point| point.event < first);
        (at..self.points.len())
            .take_while(|&at| self.points[at].event == first)
            .find(|&at| !self.points[at].options.is_empty())
    }

    /// Whether an event was part of a schedule.
    fn is_scheduled(&self, event: usize) -> bool {
        self.marks.scheduled.get(event).copied().unwrap_or(false)
    }

    /// Reverses the races of an op with these events.
    fn reverse_all(&mut self, races: &[u32], later: &Later) {
        for &first in races {
            self.effort.races += 1;
            if self.is_scheduled(first as usize) {
                continue;
            }
            // Another one between them is to be reversed before.
            let nearer = |&other: &u32| {
                other != first
                    && self.history.before(first as usize, other as usize)
                    && self.point_of(other as usize).is_some()
                    && {
                        let met = self.met(other as usize, later);
                        self.before(other as usize, later, &met).is_some()
                    }
            };
            if !races.iter().any(nearer) {
                self.reverse(first as usize, later);
            }
        }
    }

    /// What the later op does where it comes before the event at `first` and after those in `before`, if
    /// that is known.
    fn access_at(
        &self,
        at: usize,
        first: usize,
        before: &[usize],
        step: &Footprint,
    ) -> Option<Footprint> {
        let object = step.touched[0].0;
        let changes = |event: usize| {
            let touched = &self.history.event(event).footprint.touched;
            touched.iter().any(|(other, access)| *other == object && access.changes())
        };
        let moves = |&event: &usize| self.history.event(event).footprint.task == step.task;
        let mut step = *step;
        let same_anywhere = matches!(
            step.touched[0].1,
            Access::Read | Access::Acquire | Access::Share | Access::Release | Access::Unshare
        );
        if changes(first) && !same_anywhere {
            let own = self.points[at].options.iter().find(|(task, _)| *task == step.task);
            let (_, access) =
                own.filter(|_| !before.iter().any(|event| changes(*event) || moves(event)))?;
            step.touched[0].1 = *access;
        }
        Some(step)
    }

    /// Reverses the race of the event at `first` with a later op, if this is the execution to do so.
    fn reverse(&mut self, first: usize, later: &Later) {
        let Some(at) = self.point_of(first) else { return };
        let met = self.met(first, later);
        // One that ran could also have come before those, which is a race of its own.
        for n in if later.ran { met.len() } else { 0 }..=met.len() {
            if let Some(before) = self.before(first, later, &met[..n]) {
                self.reverse_after(first, at, later, &before);
            }
        }
    }

    /// Reverses a race with these events before its later op, if this is the execution to do so.
    fn reverse_after(&mut self, first: usize, at: usize, later: &Later, before: &[usize]) {
        let left_behind = |&event: &u32| {
            let event = event as usize;
            let inside = event >= first && !(later.ran && event == later.index);
            inside && before.binary_search(&event).is_err()
        };
        if self.marks.heads.iter().any(|head| left_behind(&head.at))
            || self.marks.valued.iter().any(left_behind)
            || later.ran && self.marks.valued.contains(&(later.index as u32))
        {
            return;
        }
        let step = |event: &usize| &self.history.event(*event).footprint;
        let begins = before.first().map(step).or(later.step.as_ref());
        if !begins.is_some_and(|begins| {
            self.points[at].options.iter().any(|(task, _)| *task == begins.task)
        }) {
            return;
        }
        let marks = self.marks.of_first(first);
        if let Some(last) = &later.step.and_then(|last| self.access_at(at, first, before, &last)) {
            let events = (0..first).chain(before.iter().copied());
            let past = |event: usize| {
                self.history.happens_before_op(event)
                    || events.clone().any(|other| {
                        other >= event
                            && self.history.before(event, other)
                            && step(&other).dependent(last)
                    })
            };
            if Self::is_for_another(&marks.heads, &self.history, last, &events, past) {
                return;
            }
        }
        let guided =
            |&event: &usize| Guided { task: step(&event).task, values: self.values_of(event) };
        let mut schedule: Vec<_> = before.iter().map(guided).collect();
        schedule.extend(later.step.map(|step| Guided { task: step.task, values: Box::default() }));
        let decisions = self.decisions[..at].to_vec();
        let instead = Some(*step(&first));
        self.push(Unit { decisions, events: first, marks, schedule, instead, fresh: usize::MAX });
    }

    /// The events after the one at `first` that do not depend on it, but on the later op of a race.
    fn met(&self, first: usize, later: &Later) -> Vec<usize> {
        let Some(step) = &later.step else { return Vec::new() };
        // What let it go on there need not come before it here.
        let mut plain = Footprint::new(step.task, &step.touched, step.partner);
        (plain.also, plain.nth) = (step.also, step.nth);
        (plain.waited_for, plain.ran_on) = (step.waited_for, step.ran_on);
        let history = &self.history;
        let end = if later.ran { later.index } else { history.len() };
        let meets = |&event: &usize| {
            let happened = history.event(event);
            !happened.immediate
                && !history.before(first, event)
                && !history.happens_before_op(event)
                && plain.dependent(&happened.footprint)
        };
        (first + 1..end).filter(meets).collect()
    }

    /// What must come before the later op of a race where it comes before the event at `first` and
    /// after those in `met`; none if it cannot.
    fn before(&self, first: usize, later: &Later, met: &[usize]) -> Option<Vec<usize>> {
        let history = &self.history;
        let end = if later.ran { later.index } else { history.len() };
        let free =
            |event: &usize| !history.event(*event).immediate && !history.before(first, *event);
        let past = |event: &usize| {
            history.happens_before_op(*event)
                || met.iter().any(|&other| history.before(*event, other))
        };
        let mut before: Vec<usize> = (first + 1..end).filter(free).filter(past).collect();
        let Some(step) = &later.step else { return Some(before) };
        let mut widened = !later.ran;
        while let Some(other) = history.in_the_way(step, first, &before) {
            if other >= first {
                if history.happens_before_op(other) {
                    return None;
                }
                before.retain(|&event| !history.before(other, event));
            } else if widened {
                return None;
            } else {
                // Those who had it before must have given it back.
                widened = true;
                let gave = |&event: &usize| past(&event) || history.before(event, later.index);
                before = (first + 1..end).filter(free).filter(gave).collect();
            }
        }
        Some(before)
    }

    fn open_races(&mut self) {
        let mut races = Vec::new();
        for index in self.unit.fresh..self.history.len() {
            self.history.races(index, &mut races);
            let event = self.history.event(index);
            let step = (!event.immediate).then_some(event.footprint);
            self.reverse_all(&races, &Later { index, step, ran: true });
        }
        for (index, timer) in std::mem::take(&mut self.timers) {
            if index < self.unit.fresh {
                continue;
            }
            let owner = self.history.event(index).footprint.task;
            let step = Some(Footprint::new(timer.task, &timer.footprint, Some(owner)));
            self.history.races_of_timer(index, &timer, &mut races);
            self.reverse_all(&races, &Later { index, step, ran: false });
        }
        let index = self.history.len();
        for stuck in std::mem::take(&mut self.stuck) {
            self.history.races_of_stuck(&stuck, &mut races);
            let step = Some(Footprint::new(stuck.task, &stuck.footprint, None));
            self.reverse_all(&races, &Later { index, step, ran: false });
            let Some(timer) = stuck.timer else { continue };
            self.history.races_of_stuck_timer(&stuck, &timer, &mut races);
            let step = Some(Footprint::new(timer.task, &timer.footprint, Some(stuck.task)));
            self.reverse_all(&races, &Later { index, step, ran: false });
        }
    }
}

impl Memoryless {
    /// A step was taken.
    fn stepped(&mut self, step: &Step<'_>) -> Option<Cut> {
        if self.cut {
            return None;
        }
        let index = self.heard;
        if !step.immediate && !self.goes_on(step.task) {
            self.give_up();
            return Some(Cut::Redundant);
        }
        self.heard += 1;
        if index >= self.kept {
            self.history.step(step);
        }
        self.timers.extend(step.timer.map(|timer| (index, timer)));
        if !step.immediate {
            self.chosen = false;
            self.last = Some(index);
            let event = &self.history.event(index).footprint;
            let past = |other: usize| self.history.before(other, index);
            if index >= self.unit.events
                && Self::is_for_another(&self.marks.heads, &self.history, event, &(0..index), past)
            {
                self.history.begin(index);
                self.cut_at(step.pending);
                self.stuck.retain(|stuck| stuck.task != step.task);
                return Some(Cut::Redundant);
            }
        }
        None
    }
}

impl Strategy for Memoryless {
    fn needs(&self) -> Needs {
        Needs { steps: true, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        if let Some(rng) = self.at_random.as_mut().filter(|_| !self.left.is_empty()) {
            let (at, last) = (rng.below(self.left.len() as u32) as usize, self.left.len() - 1);
            self.left.swap(at, last);
        }
        let Some(unit) = self.left.pop() else {
            self.over = true;
            return false;
        };
        let pairs = unit.decisions.iter().zip(&self.decisions);
        let same = pairs.take_while(|(one, other)| one == other).count();
        self.kept = self.points.get(same).map_or(0, |point| point.event).min(self.history.len());
        plan.prefix.clear();
        plan.prefix.extend_from_slice(&unit.decisions[..same]);
        self.decisions.truncate(same);
        self.points.truncate(same);
        self.history.begin(self.kept);
        self.marks.clone_from(&unit.marks);
        self.unit = unit;
        (self.heard, self.last, self.next, self.next_value) = (0, None, 0, 0);
        (self.chosen, self.cut) = (false, false);
        self.values.clear();
        self.timers.clear();
        self.stuck.clear();
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        let planned = self.unit.decisions.get(self.decisions.len()).copied();
        let mut options = Vec::new();
        let option = match point.options {
            Options::Value { task, of, during } => {
                let value = planned.or_else(|| self.decide_value(task, of, during));
                let Some(value) = value else {
                    self.give_up();
                    return Answer::Cut(Cut::Redundant);
                };
                value
            }
            Options::Schedule(choices) => {
                let access = |task| point.pending.op(task).map_or(Access::Write, |op| op.access);
                options.extend(choices.iter().map(|choice| (choice.task, access(choice.task))));
                if let Some(option) = planned {
                    self.chosen = true;
                    option
                } else if self.is_following() {
                    let task = self.unit.schedule[self.next].task;
                    let Some(option) = point.option_of(task) else {
                        self.give_up();
                        return Answer::Cut(Cut::Redundant);
                    };
                    self.follow();
                    option
                } else {
                    let own = |option: &u32| {
                        !self.would_be_for_another(choices[*option as usize].task, point.pending)
                    };
                    let running = point.running_option().filter(own);
                    let Some(option) = running.or_else(|| (0..choices.len() as u32).find(own))
                    else {
                        self.cut_at(point.pending);
                        return Answer::Cut(Cut::Redundant);
                    };
                    self.chosen = true;
                    option
                }
            }
        };
        self.points.push(Decided { event: self.heard, options });
        self.decisions.push(option);
        Answer::Take(option)
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        match *event {
            Event::Step(ref step) => return self.stepped(step),
            _ if self.cut => {}
            Event::Spawn { parent, child } => self.history.spawn(parent, child),
            Event::Value { taken, during, .. } => {
                let at = if during { Some(self.heard) } else { self.last };
                self.values.extend(at.map(|at| (at, taken.option)));
            }
        }
        None
    }

    fn end(&mut self, execution: &Finished<'_>) {
        if !self.cut {
            self.stuck.extend_from_slice(execution.stuck);
        }
        if !matches!(execution.outcome, Outcome::Limit { .. }) && self.unit.fresh != usize::MAX {
            self.open_races();
        }
    }

    fn covered(&self) -> Covered {
        if self.over {
            Covered::Equivalence
        } else {
            Covered::Part { executions: 0, preemptions: None }
        }
    }
}
