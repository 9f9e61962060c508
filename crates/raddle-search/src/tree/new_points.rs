//! What is recorded of the current execution: the points that its plan does not answer, which tasks could move
//! there, and what the priorities ask of them.

use raddle_engine::context::Context;
use raddle_engine::op::{Op, TaskId};
use raddle_engine::strategy::{Label, Options, Point};

use super::priority::{Candidate, Reversal, Sees, Window};
use super::windows::Windows;

/// A point met for the first time.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewPoint {
    pub(super) of: u32,
    pub(super) default: u32,
    /// The option of the running task, or none.
    pub(super) running: u32,
    /// Where its tasks begin among those of all points; none if they are not recorded.
    pub(super) tasks: u32,
    pub(super) value: bool,
    /// Where the prices of its options begin among those of all points; none if preemptions are counted.
    prices: u32,
}

impl NewPoint {
    pub(super) fn preempts(self, option: u32) -> u32 {
        // Without a running task among the options its op could not go on: to leave it costs nothing.
        u32::from(self.running != u32::MAX && option != self.running)
    }
}

/// The new points of the current execution.
#[derive(Debug)]
pub(super) struct NewPoints {
    sees: Sees,
    records_tasks: bool,
    pub(super) all: Vec<NewPoint>,
    /// The tasks that could move at all of them, by option.
    pub(super) tasks: Vec<TaskId>,
    ops: Vec<Option<Op>>,
    /// From where they are called, and what their objects are called; if a priority asks.
    contexts: Vec<Context>,
    labels: Vec<Option<Label>>,
    pub(super) windows: Option<Box<Windows>>,
    /// Why their options are to be run, by the races of the execution.
    pub(super) reversals: Vec<Reversal>,
    /// What options cost in delays, if the search goes along an explorer.
    prices: Vec<u32>,
}

impl NewPoints {
    /// `compares`: whether executions are compared.
    pub(super) fn new(sees: Sees, compares: bool) -> Self {
        Self {
            sees,
            // Who could move is what all three look up by option.
            records_tasks: compares || sees.ops || sees.windows,
            all: Vec::new(),
            tasks: Vec::new(),
            ops: Vec::new(),
            contexts: Vec::new(),
            labels: Vec::new(),
            windows: sees.windows.then(Box::default),
            reversals: Vec::new(),
            prices: Vec::new(),
        }
    }

    /// What an option of a new point costs: preemptions, or delays along an explorer.
    pub(super) fn price(&self, new: NewPoint, option: u32) -> u32 {
        if new.prices == u32::MAX {
            new.preempts(option)
        } else {
            self.prices[(new.prices + option) as usize]
        }
    }

    /// The options of a new point that are not taken and are within `limit`, after so much was spent.
    pub(super) fn others(
        &self,
        new: NewPoint,
        before: u32,
        limit: u32,
    ) -> impl DoubleEndedIterator<Item = u32> {
        // Saturating: without a bound the limit is the largest number.
        let within = move |option: u32| before.saturating_add(self.price(new, option)) <= limit;
        (0..new.of).filter(move |&option| option != new.default && within(option))
    }

    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.tasks.clear();
        self.ops.clear();
        self.contexts.clear();
        self.labels.clear();
        self.prices.clear();
        if let Some(windows) = &mut self.windows {
            windows.begin();
        }
    }

    /// Records a point. `prices`: what its options cost, if the search goes along an explorer.
    pub(super) fn push(
        &mut self,
        point: &Point<'_>,
        default: u32,
        prices: Option<&[u32]>,
    ) -> NewPoint {
        let value = matches!(point.options, Options::Value { .. });
        // No value preempts: the step that needs it goes on.
        let running = if value { None } else { point.running_option() };
        let tasks = if self.records_tasks { self.tasks.len() as u32 } else { u32::MAX };
        // Before the point is pushed: it begins where the lists end now.
        if self.records_tasks {
            self.record(point);
        }
        let running = running.unwrap_or(u32::MAX);
        let from = if prices.is_some() { self.prices.len() as u32 } else { u32::MAX };
        self.prices.extend(prices.into_iter().flatten());
        let new = NewPoint { of: point.arity(), default, running, tasks, value, prices: from };
        self.all.push(new);
        new
    }

    /// Notes which tasks could move at a new point, and what the priorities ask of them.
    fn record(&mut self, point: &Point<'_>) {
        let sees = self.sees;
        if let Some(windows) = &mut self.windows {
            windows.point();
        }
        let choices = match point.options {
            Options::Schedule(choices) => choices,
            Options::Value { task, of, .. } => {
                let of = of as usize;
                // One entry for each option, as at a point of tasks, so that a place in these lists is the point's first plus the option.
                self.tasks.extend(std::iter::repeat_n(task, of));
                self.ops.extend(std::iter::repeat_n(None, if sees.ops { of } else { 0 }));
                let contexts = if sees.contexts > 0 { of } else { 0 };
                self.contexts.extend(std::iter::repeat_n(Context::NONE, contexts));
                self.labels.extend(std::iter::repeat_n(None, if sees.labels { of } else { 0 }));
                return;
            }
        };
        let tasks = choices.iter().map(|choice| choice.task);
        self.tasks.extend(tasks.clone());
        if sees.ops {
            self.ops.extend(tasks.clone().map(|task| point.pending.op(task)));
        }
        if sees.contexts > 0 {
            self.contexts.extend(tasks.clone().map(|task| point.pending.context(task)));
        }
        if sees.labels {
            let label = |task| point.pending.label(point.pending.op(task)?.object);
            self.labels.extend(tasks.map(label));
        }
    }

    /// The execution has ended after so many of them: a limit may end it at a point that was asked about.
    pub(super) fn end(&mut self, length: usize) {
        // Its decision is not among those of the execution then.
        self.all.truncate(length);
        if let Some(windows) = &mut self.windows {
            windows.find();
        }
    }

    /// Whether one has an option that is within the bound and was not taken, after so much was spent.
    pub(super) fn open_any(&self, spent: u32, limit: u32) -> bool {
        let mut before = spent;
        self.all.iter().any(|new| {
            let opens = before < limit || self.others(*new, before, limit).next().is_some();
            // What the default option itself cost is gone for all later points.
            before += self.price(*new, new.default);
            opens
        })
    }

    /// How many options of each are within the bound, after so much was spent.
    pub(super) fn widths(&self, spent: u32, limit: u32) -> impl Iterator<Item = u32> {
        let mut before = spent;
        self.all.iter().map(move |new| {
            // The option that was taken is within the bound, or the execution would not be.
            let width = 1 + self.others(*new, before, limit).count() as u32;
            before += self.price(*new, new.default);
            width
        })
    }

    /// A candidate at one of them. `point`: its number in the schedule.
    pub(super) fn candidate(
        &self,
        at: usize,
        point: u32,
        option: u32,
        (cost, departures): (u32, u32),
    ) -> Candidate {
        let new = self.all[at];
        // At a value all options are of one task, and none of them is an op that it could do instead.
        let seen = (new.tasks != u32::MAX && !new.value).then_some(new.tasks as usize);
        let of = |option: u32| seen.map(|from| from + option as usize);
        let op = |option: u32| of(option).and_then(|at| self.ops.get(at).copied().flatten());
        let context = |option: u32| of(option).and_then(|at| self.contexts.get(at).copied());
        let label = |option: u32| of(option).and_then(|at| self.labels.get(at).copied().flatten());
        let task = of(option).map(|at| self.tasks[at]);
        let window = self.windows.as_ref().zip(task);
        Candidate {
            point,
            option,
            of: new.of,
            // A search counts either preemptions or delays; a priority for the other one finds nothing to put in order.
            preemptions: if new.prices == u32::MAX { cost } else { 0 },
            departures,
            delays: if new.prices == u32::MAX { 0 } else { cost },
            preempts: new.preempts(option) > 0,
            task,
            op: op(option),
            instead: op(new.default),
            context: context(option).unwrap_or_default(),
            instead_context: context(new.default).unwrap_or_default(),
            label: label(option),
            instead_label: label(new.default),
            reversal: Reversal::None,
            race: None,
            asleep: false,
            window: window.map_or(Window::None, |(windows, task)| windows.broken(at, task)),
        }
    }
}
