//! The execution that a memoryless search runs: follows its unit, then the default order, and notes what happens.

use raddle_engine::dependence::Footprint;
use raddle_engine::happens::History;
use raddle_engine::op::{Access, ObjectId, TaskId};
use raddle_engine::strategy::{
    Answer, Choice, Cut, Event, Options, Pending, Plan, Point, Step, Stuck, Timer, Waits,
};

use super::lineage::Lineage;
use super::units::{Guided, Head, Marks, Unit};

/// A decision of the execution.
#[derive(Debug)]
struct Decided {
    /// Events before it.
    event: usize,
    /// Its first option in [`Points::options`]: they end where those of the next decision begin.
    options: usize,
}

/// The decisions of the execution.
#[derive(Debug, Default)]
pub(super) struct Points {
    decided: Vec<Decided>,
    /// Of all of them: which tasks could move, and what they would have done. A value has none.
    options: Vec<(TaskId, Access)>,
}

impl Points {
    /// Events before the decision at this place, if there is one.
    fn event(&self, at: usize) -> Option<usize> {
        self.decided.get(at).map(|decided| decided.event)
    }

    fn truncate(&mut self, at: usize) {
        if let Some(first) = self.decided.get(at) {
            self.options.truncate(first.options);
            self.decided.truncate(at);
        }
    }

    /// Which tasks could move at a decision, and what they would have done; none for a value.
    pub(super) fn options(&self, at: usize) -> &[(TaskId, Access)] {
        let end = self.decided.get(at + 1).map_or(self.options.len(), |next| next.options);
        &self.options[self.decided[at].options..end]
    }
}

/// The values that were decided in the execution.
#[derive(Debug, Default)]
pub(super) struct Values {
    /// With the event to which each belongs.
    pub(super) of_events: Vec<(usize, u32)>,
    /// Events before each was decided.
    after: Vec<usize>,
}

impl Values {
    /// Leaves those that were decided before so many events.
    fn truncate(&mut self, events: usize) {
        self.after.truncate(self.after.partition_point(|&after| after < events));
        self.of_events.truncate(self.after.len());
    }
}

/// The execution that runs, or the last one.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts about an execution, independent of each other"
)]
pub(super) struct Run {
    /// Without its marks, which grow with the execution.
    pub(super) unit: Unit,
    pub(super) marks: Marks,
    pub(super) history: History,
    pub(super) lineage: Lineage,
    /// Which ops on what each event touched wait.
    pub(super) waits: Vec<[Waits; 2]>,
    pub(super) decisions: Vec<u32>,
    pub(super) points: Points,
    /// Events known from the execution before, of which the engine does not notify again; and all until now.
    kept: usize,
    heard: usize,
    last: Option<usize>,
    pub(super) values: Values,
    /// Steps of the schedule that have been chosen, and values of the last of them.
    next: usize,
    next_value: usize,
    /// Whether the next step has been chosen.
    chosen: bool,
    pub(super) cut: bool,
    /// Whether the unit could not be followed, or a step that was taken by default turned out to be for another unit: then what
    /// else could have come there is not seen.
    pub(super) lost: bool,
    /// Whether the last step was taken by default, though others could have been.
    by_default: bool,
    /// Whether a point did not have the option that the unit repeats.
    strayed: bool,
    pub(super) timers: Vec<(usize, Timer)>,
    pub(super) stuck: Vec<Stuck>,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            unit: Unit::default(),
            marks: Marks::default(),
            history: History::plain(),
            lineage: Lineage::default(),
            waits: Vec::new(),
            decisions: Vec::new(),
            points: Points::default(),
            kept: 0,
            heard: 0,
            last: None,
            values: Values::default(),
            next: 0,
            next_value: 0,
            chosen: false,
            cut: false,
            lost: false,
            by_default: false,
            strayed: false,
            timers: Vec::new(),
            stuck: Vec::new(),
        }
    }
}

impl Run {
    /// Begins with a unit. What it has in common with the execution before is planned; the rest of its decisions
    /// is answered point by point, so that the options there are known.
    pub(super) fn begin(&mut self, mut unit: Unit, plan: &mut Plan) {
        let pairs = unit.decisions.iter().zip(&self.decisions);
        let same =
            pairs.take_while(|(one, other)| one == other).count().min(self.points.decided.len());
        self.kept = self.points.event(same).map_or(0, |events| events.min(self.history.len()));
        plan.prefix.clear();
        plan.prefix.extend_from_slice(&unit.decisions[..same]);
        plan.steps_to_skip = self.kept as u64;
        self.decisions.truncate(same);
        self.points.truncate(same);
        self.history.begin(self.kept);
        self.waits.truncate(self.kept);
        self.marks = std::mem::take(&mut unit.marks);
        self.unit = unit;
        // The engine begins to notify after the events that are kept, with the values and tasks between them and the next.
        self.heard = self.kept;
        self.last = (0..self.kept).rev().find(|&event| !self.history.event(event).immediate);
        (self.next, self.next_value) = (0, 0);
        (self.chosen, self.cut, self.lost, self.strayed) = (false, false, false, false);
        self.by_default = false;
        self.values.truncate(self.kept);
        self.timers.truncate(self.timers.partition_point(|&(event, _)| event < self.kept));
        self.stuck.clear();
    }

    /// Whether the program did something else than what the unit repeats.
    pub(super) fn has_strayed(&self) -> bool {
        self.strayed || !self.cut && self.decisions.len() < self.unit.decisions.len()
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
            self.unit.fresh = Some(at);
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

    /// Whether a step that comes now could have been the head instead of one of a larger task.
    ///
    /// `past`: whether an event is before it.
    pub(super) fn is_for_another(
        heads: &[Head],
        (history, lineage): (&History, &Lineage),
        step: &Footprint,
        events: &(impl Iterator<Item = usize> + Clone),
        past: impl Fn(usize) -> bool,
    ) -> bool {
        heads.iter().any(|head| {
            let from = head.from as usize;
            let bears = |&event: &usize| {
                event >= from && history.event(event).footprint.dependent(&head.instead)
            };
            lineage.precedes(step.task, head.task)
                && step.task != head.instead.task
                && step.dependent(&head.instead)
                && !events.clone().filter(bears).any(&past)
        })
    }

    /// An op as it would be after these events: one that waits for a place in a queue, or for a value in it, could not be without
    /// the event that made it so.
    pub(super) fn after(
        &self,
        mut step: Footprint,
        events: impl Iterator<Item = usize>,
    ) -> Footprint {
        let (object, access) = step.touched[0];
        if !matches!(
            access,
            Access::BoundedPush(_) | Access::TryBoundedPush(_) | Access::Take | Access::TryTake
        ) {
            return step;
        }
        let (mut added, mut taken) = (Vec::new(), Vec::new());
        for event in events {
            match self.history.event(event).footprint.touched[0] {
                (other, Access::Append | Access::BoundedPush(_) | Access::TryBoundedPush(_))
                    if other == object =>
                {
                    added.push(event);
                }
                (other, Access::Take | Access::TryTake) if other == object => taken.push(event),
                _ => {}
            }
        }
        let by = match access {
            Access::BoundedPush(places) | Access::TryBoundedPush(places) => {
                added.len().checked_sub(places as usize).and_then(|at| taken.get(at))
            }
            _ => added.get(taken.len()),
        };
        if let Some(&by) = by {
            step.enabled_by(&self.history.event(by).footprint);
        }
        step
    }

    /// Whether the pending op of a task could have been a head.
    fn would_be_for_another(&self, task: TaskId, pending: &dyn Pending) -> bool {
        if !self.marks.heads.iter().any(|head| self.lineage.precedes(task, head.task)) {
            return false;
        }
        let Some(op) = pending.op(task) else { return false };
        let (history, len) = (&self.history, self.history.len());
        // What it takes besides counts as well: a task that was notified is kept from going on by the lock alone.
        let touched = [(op.object, op.access), op.second.unwrap_or((ObjectId::NONE, op.access))];
        let step = self.after(Footprint::new(task, &touched, None), 0..len);
        let own = history.index_of(task, history.events_of(task));
        let past = |event: usize| {
            own.is_some_and(|own| history.before(event, own))
                || (event..len).any(|other| {
                    history.before(event, other) && history.event(other).footprint.dependent(&step)
                })
        };
        let known = (history, &self.lineage);
        Self::is_for_another(&self.marks.heads, known, &step, &(0..len), past)
    }

    fn cut_at(&mut self, pending: &dyn Pending) {
        self.cut = true;
        self.stuck = pending.stuck();
    }

    fn give_up(&mut self) -> Answer {
        (self.cut, self.lost) = (true, true);
        self.unit.fresh = None;
        Answer::Cut(Cut::Redundant)
    }

    /// The values that were decided in an event, and after it.
    pub(super) fn values_of(&self, event: usize) -> Box<[u32]> {
        self.values
            .of_events
            .iter()
            .filter(|(at, _)| *at == event)
            .map(|(_, value)| *value)
            .collect()
    }

    /// Decides a value: the schedule's, or the first; then the others become units.
    fn decide_value(
        &mut self,
        task: TaskId,
        of: u32,
        during: bool,
        open: &mut Vec<Unit>,
    ) -> Option<u32> {
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
            let (events, instead) = (self.heard, self.unit.instead);
            let fresh = Some(self.heard);
            open.push(Unit { decisions, events, marks, schedule, instead, fresh });
        }
        Some(0)
    }

    /// Decides which task moves: the unit's, or the first that is not for another unit, the running one before
    /// the others. None if there is none.
    fn decide_task(&mut self, choices: &[Choice], point: &Point<'_>) -> Option<u32> {
        if self.next < self.unit.schedule.len() {
            let option = point.option_of(self.unit.schedule[self.next].task);
            if option.is_some() {
                self.follow();
            } else {
                self.give_up();
            }
            return option;
        }
        let own = |option: &u32| {
            !self.would_be_for_another(choices[*option as usize].task, point.pending)
        };
        let running = point.running_option().filter(own);
        let option = running.or_else(|| (0..choices.len() as u32).find(own));
        if option.is_some() {
            (self.chosen, self.by_default) = (true, true);
        } else {
            self.cut_at(point.pending);
        }
        option
    }

    pub(super) fn answer(&mut self, point: &Point<'_>, open: &mut Vec<Unit>) -> Answer {
        let planned = self.unit.decisions.get(self.decisions.len()).copied();
        if planned.is_some_and(|option| option >= point.arity()) {
            self.strayed = true;
            return self.give_up();
        }
        let first_option = self.points.options.len();
        let option = match point.options {
            Options::Value { task, of, during } => {
                match planned.or_else(|| self.decide_value(task, of, during, open)) {
                    Some(value) => value,
                    None => return self.give_up(),
                }
            }
            Options::Schedule(choices) => {
                let access = |task| point.pending.op(task).map_or(Access::Write, |op| op.access);
                let would = choices.iter().map(|choice| (choice.task, access(choice.task)));
                self.points.options.extend(would);
                self.chosen |= planned.is_some();
                let Some(option) = planned.or_else(|| self.decide_task(choices, point)) else {
                    self.points.options.truncate(first_option);
                    return Answer::Cut(Cut::Redundant);
                };
                option
            }
        };
        self.points.decided.push(Decided { event: self.heard, options: first_option });
        self.decisions.push(option);
        Answer::Take(option)
    }

    pub(super) fn hear(&mut self, event: &Event<'_>) -> Option<Cut> {
        match *event {
            Event::Step(ref step) => return self.stepped(step),
            _ if self.cut => {}
            Event::Spawn { parent, child } => {
                self.lineage.born(parent, child);
                self.history.spawn(parent, child);
            }
            Event::Value { taken, during, .. } => {
                let at = if during { Some(self.heard) } else { self.last };
                self.note_value(at, taken.option);
            }
            Event::Unasked { .. } => self.note_value(Some(self.heard), 0),
            Event::Passed { .. } | Event::Actor(_) => {}
        }
        None
    }

    fn note_value(&mut self, event: Option<usize>, value: u32) {
        if let Some(event) = event {
            self.values.of_events.push((event, value));
            self.values.after.push(self.heard);
        }
    }

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
        self.history.step(step);
        let waits = |at: usize| {
            let object = step.footprint.get(at).map(|(object, _)| *object);
            let object = object.filter(|object| *object != ObjectId::NONE);
            let label = object.and_then(|object| step.pending.label(object));
            label.map_or(Waits::Unknown, |label| label.waits)
        };
        self.waits.push([waits(0), waits(1)]);
        self.timers.extend(step.timer.map(|timer| (index, timer)));
        if step.immediate {
            return None;
        }
        let by_default = std::mem::take(&mut self.by_default);
        self.chosen = false;
        self.last = Some(index);
        let event = &self.history.event(index).footprint;
        let past = |other: usize| self.history.before(other, index);
        let known = (&self.history, &self.lineage);
        if index >= self.unit.events
            && Self::is_for_another(&self.marks.heads, known, event, &(0..index), past)
        {
            self.history.begin(index);
            self.waits.truncate(index);
            self.timers.truncate(self.timers.partition_point(|&(event, _)| event < index));
            self.cut_at(step.pending);
            self.stuck.retain(|stuck| stuck.task != step.task);
            self.lost |= by_default;
            return Some(Cut::Redundant);
        }
        None
    }

    /// The decision for the event at `first`; none if there was no choice.
    pub(super) fn point_of(&self, first: usize) -> Option<usize> {
        let decided = &self.points.decided;
        let at = decided.partition_point(|point| point.event < first);
        (at..decided.len())
            .take_while(|&at| decided[at].event == first)
            .find(|&at| !self.points.options(at).is_empty())
    }

    /// A step of a schedule that repeats an event.
    pub(super) fn guided(&self, event: usize) -> Guided {
        let task = self.history.event(event).footprint.task;
        Guided { task, values: self.values_of(event) }
    }
}
