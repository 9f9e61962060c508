//! Depth-first search that opens a point only if a race asks for it: `HaPSet` over `all`, and within a bound
//! on preemptions.
//!
//! Wang, Said and Gupta, ICSE 2011: their baseline and their PCB. A new execution goes along the default
//! order. Then for each of its steps the latest earlier one is looked for with which it races, and before
//! which it has not been seen: there all options within the bound are tried. Without a filter this runs at
//! least one execution of each partial order, if there is no bound.
//!
//! Where it differs: races are found by happens-before, so that steps which could not have come in another
//! order open nothing. If there is nothing left to spend where a race asks for an option, the last point
//! before it is opened at which somebody else could have moved for free. A task that goes round in circles
//! (`laps.rs`) is left for free.
//!
//! Memory: one frame for each decision of the current path.
//!
//! Misses: what `hapset.rs` says; with a bound, orders which need it to be spent elsewhere (no reduction
//! within a bound keeps them all).
//! Overreports: nothing.

use raddle_engine::dependence::Footprint;
use raddle_engine::happens::History;
use raddle_engine::strategy::{
    Answer, Checkpoint, Cut, Estimating, Event, Finished, Needs, Options, Plan, Point, Remarks,
    Resumable, Step, Strategy, Timer, Unsupported,
};
use raddle_trace::{Covered, Outcome, Progress};

use super::Filter;
use crate::bound::{Bound, Price};
use crate::dpor::reversal::Later;
use crate::order::{NonPreemptive, Order as _};
use crate::state::{FOREIGN, RUNNING, Reader, STRAYED, Writer};

const NAME: &str = "guided";

/// One decision of the current path.
#[derive(Clone, Copy, Debug)]
struct Frame {
    of: u32,
    /// The default option.
    default: u32,
    /// Which option is taken, in the order of trying: the default one, then the others ascending.
    rank: u32,
    /// Events before it.
    event: u32,
    price: Price,
    value: bool,
    /// Whether the others are to be tried.
    open: bool,
}

impl Frame {
    fn option(self) -> u32 {
        match self.rank {
            0 => self.default,
            rank if rank <= self.default => rank - 1,
            rank => rank,
        }
    }
}

/// Runs executions within a bound that would show orders of statements not seen before.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts about a search, in one place")]
pub(crate) struct Guided {
    bound: Bound,
    filter: Filter,
    history: History,
    frames: Vec<Frame>,
    /// What the options taken on the stack cost.
    spent: u32,
    /// Decisions and events that are those of the last execution.
    planned: usize,
    kept: usize,
    heard: usize,
    timers: Vec<(u32, Timer)>,
    races: Vec<u32>,
    started: bool,
    /// An execution was begun and has not ended.
    running: bool,
    done: bool,
    /// The execution after a search was restored is not the one that was planned.
    strayed: bool,
}

impl Guided {
    /// Searches within a bound.
    pub(crate) fn new(bound: Bound, filter: Filter) -> Self {
        Self {
            bound,
            filter,
            history: History::default(),
            frames: Vec::new(),
            spent: 0,
            planned: 0,
            kept: 0,
            heard: 0,
            timers: Vec::new(),
            races: Vec::new(),
            started: false,
            running: false,
            done: false,
            strayed: false,
        }
    }

    pub(crate) fn filter(&self) -> &Filter {
        &self.filter
    }

    pub(crate) fn filter_mut(&mut self) -> &mut Filter {
        &mut self.filter
    }

    /// Goes to the next path; false if there is none.
    fn advance(&mut self) -> bool {
        while let Some(frame) = self.frames.last_mut() {
            self.spent -= frame.price.cost(frame.rank);
            let width = frame.price.within(self.bound.limit() - self.spent, frame.of);
            if frame.open && frame.rank + 1 < width {
                frame.rank += 1;
                self.spent += frame.price.cost(frame.rank);
                return true;
            }
            self.frames.pop();
        }
        false
    }

    /// The frame at which an event was decided; none if there was no choice.
    fn frame_of(&self, event: usize) -> Option<usize> {
        let at = self.frames.partition_point(|frame| (frame.event as usize) < event);
        (at..self.frames.len())
            .take_while(|&at| self.frames[at].event as usize == event)
            .find(|&at| !self.frames[at].value)
    }

    /// Something else is to come before the event at `first`.
    fn open(&mut self, first: usize) {
        let Some(mut at) = self.frame_of(first) else { return };
        if self.frames[at].price == Price::One {
            let before = |at: usize| -> u32 {
                self.frames[..at].iter().map(|frame| frame.price.cost(frame.rank)).sum()
            };
            if before(at) == self.bound.limit() {
                let free = |at: &usize| {
                    let frame = self.frames[*at];
                    !frame.value && frame.price == Price::Free
                };
                let Some(earlier) = (0..at).rev().find(free) else { return };
                at = earlier;
            }
        }
        self.frames[at].open = true;
    }

    /// Opens what the races found last ask for.
    fn open_all(&mut self) {
        for at in 0..self.races.len() {
            self.open(self.races[at] as usize);
        }
    }

    fn open_races(&mut self, execution: &Finished<'_>) {
        for index in self.kept..self.history.len() {
            let event = self.history.event(index);
            let step = (!event.immediate).then_some(event.footprint);
            self.history.races(index, &mut self.races);
            let later = Later { step, index, ran: true, timer: None };
            self.filter.keep_new(&self.history, &later, &mut self.races);
            self.open_all();
        }
        for (index, timer) in std::mem::take(&mut self.timers) {
            let index = index as usize;
            let owner = self.history.event(index).footprint.task;
            let step = Some(Footprint::new(timer.task, &timer.footprint, Some(owner)));
            self.history.races_of_timer(index, timer.task, &mut self.races);
            let later = Later { step, index, ran: false, timer: Some(timer.task) };
            self.filter.keep_new(&self.history, &later, &mut self.races);
            self.open_all();
        }
        for stuck in execution.stuck {
            self.history.races_of_stuck(stuck, &mut self.races);
            self.filter.keep_new_of_stuck(stuck, &mut self.races);
            self.open_all();
            if let Some(timer) = stuck.timer {
                self.history.races_of_stuck_timer(stuck, timer.task, &mut self.races);
                self.filter.keep_new_of_stuck(stuck, &mut self.races);
                self.open_all();
            }
        }
    }
}

impl Guided {
    /// A step was executed.
    fn executed(&mut self, step: &Step<'_>) {
        self.filter.step(step);
        let index = self.heard as u32;
        self.heard += 1;
        if self.heard <= self.kept {
            // After a search was restored they are all new.
            if self.history.len() < self.heard {
                self.history.step(step);
            } else {
                self.history.forget_values(step.task);
            }
            return;
        }
        self.history.step(step);
        self.timers.extend(step.timer.map(|timer| (index, timer)));
    }
}

impl Strategy for Guided {
    fn needs(&self) -> Needs {
        Needs { steps: true, contexts: self.filter.contexts(), ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        if self.strayed {
            return false;
        }
        if self.done || self.started && !self.advance() {
            self.done = true;
            return false;
        }
        (self.started, self.running) = (true, true);
        plan.prefix.clear();
        plan.prefix.extend(self.frames.iter().map(|frame| frame.option()));
        self.planned = self.frames.len();
        self.kept = self.frames.last().map_or(0, |frame| frame.event as usize);
        self.heard = 0;
        self.timers.clear();
        self.history.begin(self.kept);
        self.filter.begin();
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        let of = point.arity();
        let (mut default, mut price, mut value) = (0, Price::Free, true);
        if let Options::Schedule(_) = point.options {
            let usual = NonPreemptive.next(point);
            price = self.bound.price(point, usual);
            value = false;
            default = self.filter.laps.make_way(point, Some(usual), |_| true).unwrap_or(usual);
            if default != usual {
                price = Price::Free;
            }
        }
        let event = self.history.len() as u32;
        let open = value;
        self.frames.push(Frame { of, default, rank: 0, event, price, value, open });
        Answer::Take(default)
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        match event {
            Event::Spawn { parent, child } => self.history.spawn(*parent, *child),
            Event::Value { task, taken, .. } => self.history.value(*task, taken.option),
            Event::Step(step) => self.executed(step),
        }
        None
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.filter.end(execution);
        self.running = false;
        self.strayed |= self.history.len() < self.kept;
        // A limit may cut the plan itself, or end at a point that was asked about.
        let met = execution.decisions.len().max(self.planned.min(self.frames.len()));
        while self.frames.len() > met {
            self.frames.pop();
        }
        self.spent = self.frames.iter().map(|frame| frame.price.cost(frame.rank)).sum();
        if !matches!(execution.outcome, Outcome::Limit { .. }) && !self.strayed {
            self.open_races(execution);
        }
    }

    fn covered(&self) -> Covered {
        self.filter.covered(self.done, self.bound.preemptions())
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

impl Resumable for Guided {
    /// The events of the path are not in it: the next execution has them again.
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        if self.running {
            return Err(RUNNING);
        }
        let mut writer = Writer::new(NAME);
        writer.number(self.bound.preemptions().map_or(0, |k| u64::from(k) + 1));
        writer.flag(self.started);
        writer.flag(self.done);
        writer.number(self.frames.len() as u64);
        for frame in &self.frames {
            for number in [frame.of, frame.default, frame.rank, frame.event] {
                writer.number(number.into());
            }
            for flag in [frame.price == Price::One, frame.value, frame.open] {
                writer.flag(flag);
            }
        }
        self.filter.save(&mut writer);
        Ok(writer.finish())
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let mut reader = Reader::new(state, NAME)?;
        if reader.number()? != self.bound.preemptions().map_or(0, |k| u64::from(k) + 1) {
            return Err(FOREIGN);
        }
        let (started, done) = (reader.flag()?, reader.flag()?);
        let mut frames: Vec<Frame> = Vec::new();
        for _ in 0..reader.length()? {
            let mut small = || reader.small();
            let (of, default, rank, event) = (small()?, small()?, small()?, small()?);
            let price = if reader.flag()? { Price::One } else { Price::Free };
            let (value, open) = (reader.flag()?, reader.flag()?);
            let earlier = frames.last().is_some_and(|above| above.event > event);
            if default >= of || rank >= of || earlier {
                return Err(FOREIGN);
            }
            frames.push(Frame { of, default, rank, event, price, value, open });
        }
        let filter = self.filter.restored(&mut reader)?;
        reader.finish()?;
        let cost = |frame: &Frame| u64::from(frame.price.cost(frame.rank));
        let spent = frames.iter().map(cost).sum::<u64>();
        let spent = u32::try_from(spent).ok().filter(|spent| *spent <= self.bound.limit());
        let mut new = Self::new(self.bound, filter);
        (new.started, new.done, new.spent) = (started, done, spent.ok_or(FOREIGN)?);
        new.planned = frames.len();
        new.frames = frames;
        *self = new;
        Ok(())
    }
}

impl Estimating for Guided {
    fn progress(&self) -> Progress {
        let pending = self.frames.iter().filter(|frame| frame.open);
        let pending = pending.map(|frame| u64::from(frame.of - frame.rank - 1)).sum();
        let frontier_bytes = (self.frames.capacity() * size_of::<Frame>()) as u64;
        let covered = self.done.then_some(1.0);
        let pairs = Some(self.filter.count());
        Progress { covered, pending, frontier_bytes, pairs, ..Progress::default() }
    }
}
