//! Every option of the points where a race asks for one: `HaPSet` over `all`, and within a bound on preemptions.
//!
//! Wang, Said and Gupta, ICSE 2011: their baseline and their PCB. A new execution goes along the default
//! order. Then for each of its steps the latest earlier one is looked for with which it races, and before
//! which it has not been seen: there all options within the bound are tried. Without a filter this runs at
//! least one execution of each partial order, if there is no bound.
//!
//! Where it differs: races are found by happens-before, so that steps which could not have come in another
//! order open nothing. If there is nothing left to spend where a race asks for an option, the last point
//! before it is opened at which another task could have moved for free. A task that goes round in circles
//! (`laps.rs`) is left for free.
//!
//! Memory: one point for each decision of the current path.
//!
//! Misses: what `hapset.rs` says; with a bound, orders which need it to be spent elsewhere (no reduction
//! within a bound keeps them all).
//! Overreports: nothing.

use raddle_engine::happens::History;
use raddle_engine::strategy::{Cut, Event, Finished, Needs, Options, Point, Step, Unsupported};
use raddle_trace::{Covered, Outcome, PairCount};
use serde::{Deserialize, Serialize};

use super::ranked::Ranked;
use crate::bound::{Bound, Price};
use crate::estimate::{Children, Kind};
use crate::hapset::{Filter, SavedFilter};
use crate::order::{NonPreemptive, Order as _};
use crate::path::{Advance, Decision, Expansion, Path, PathSearch, Standing};
use crate::races::{Instead, Ops, RaceFinder};
use crate::state::FOREIGN;

/// One decision of the current path.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Frame {
    options: Ranked,
    /// Events before it.
    event: u32,
    value: bool,
    /// Whether the other options are to be tried.
    open: bool,
}

impl Decision for Frame {
    fn of(&self) -> u32 {
        self.options.of()
    }

    fn option(&self) -> u32 {
        self.options.option()
    }

    fn is_valid(&self) -> bool {
        self.options.is_valid()
    }
}

/// Opens every option within a bound where a race asks for an order of statements not seen before.
#[derive(Debug)]
pub(crate) struct Raced {
    bound: Bound,
    filter: Filter,
    history: History,
    finder: RaceFinder,
    /// What the options taken on the path cost.
    spent: u32,
    /// Events that are those of the last execution.
    kept: usize,
    heard: usize,
    instead: Vec<(u32, Instead)>,
    strayed: bool,
}

impl PathSearch<Raced> {
    /// Searches within a bound.
    pub(crate) fn new(bound: Bound, filter: Filter) -> Self {
        Self::with(Raced {
            bound,
            filter,
            history: History::default(),
            finder: RaceFinder::default(),
            spent: 0,
            kept: 0,
            heard: 0,
            instead: Vec::new(),
            strayed: false,
        })
    }

    pub(crate) fn filter(&self) -> &Filter {
        &self.expansion.filter
    }

    pub(crate) fn filter_mut(&mut self) -> &mut Filter {
        &mut self.expansion.filter
    }
}

/// The point at which an event was decided; none if there was no choice.
fn point_of(path: &[Frame], event: usize) -> Option<usize> {
    let at = path.partition_point(|frame| (frame.event as usize) < event);
    (at..path.len()).take_while(|&at| path[at].event as usize == event).find(|&at| !path[at].value)
}

/// Something else is to come before the event at `first`.
fn open(path: &mut [Frame], first: usize, bound: Bound) {
    let Some(mut at) = point_of(path, first) else { return };
    if !path[at].options.is_free() {
        let spent: u32 = path[..at].iter().map(|frame| frame.options.cost()).sum();
        if spent == bound.limit() {
            let free = |at: &usize| !path[*at].value && path[*at].options.is_free();
            let Some(earlier) = (0..at).rev().find(free) else { return };
            at = earlier;
        }
    }
    path[at].open = true;
}

impl Raced {
    fn stepped(&mut self, step: &Step<'_>) {
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
        self.instead.extend(Instead::of(step).map(|instead| (index, instead)));
    }
}

impl Expansion for Raced {
    type Point = Frame;
    type Saved = SavedFilter;

    fn name(&self) -> String {
        format!("all {:?} filtered", self.bound)
    }

    fn needs(&self) -> Needs {
        Needs { steps: true, contexts: self.filter.contexts(), ..Needs::default() }
    }

    fn begin(&mut self, path: &[Frame], _: bool) {
        self.kept = path.last().map_or(0, |frame| frame.event as usize);
        self.heard = 0;
        self.instead.clear();
        self.history.begin(self.kept);
        self.filter.begin();
    }

    fn arrive(&mut self, point: &Point<'_>) -> Result<Frame, Cut> {
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
        let options = Ranked::new(point.arity(), default, price);
        Ok(Frame { options, event: self.history.len() as u32, value, open: value })
    }

    fn heard(&mut self, event: &Event<'_>, _: &[Frame]) -> Option<Cut> {
        match *event {
            Event::Step(ref step) => self.stepped(step),
            Event::Spawn { parent, child } => self.history.spawn(parent, child),
            Event::Value { task, taken, .. } => self.history.value(task, taken.option),
            Event::Unasked { task } => self.history.value(task, 0),
            Event::Passed { .. } | Event::Actor(_) => {}
        }
        None
    }

    fn end(&mut self, path: &mut Path<Frame>, execution: &Finished<'_>) {
        self.filter.end(execution);
        self.strayed |= self.history.len() < self.kept;
        // A limit may cut the plan itself, or end at a point that was asked about.
        let met = execution.decisions.len().max(path.planned());
        while path.points().len() > met
            && let Some(point) = path.pop()
        {
            self.leave(point, false);
        }
        if matches!(execution.outcome, Outcome::Limit { .. }) || self.strayed {
            return;
        }
        let ops = Ops { from: self.kept, instead: &self.instead, stuck: execution.stuck };
        let bound = self.bound;
        self.finder.find(&mut self.history, ops, Some(&mut self.filter), |_, first, _| {
            open(path.points_mut(), first, bound);
        });
    }

    fn advance(&mut self, _: usize, frame: &mut Frame) -> Advance {
        let options = &mut frame.options;
        let spent = self.spent - options.cost();
        if frame.open && options.rank() + 1 < options.within(self.bound.limit() - spent) {
            options.set_rank(options.rank() + 1);
            self.spent = spent + options.cost();
            return Advance::Taken;
        }
        Advance::Done { of: options.of() }
    }

    fn leave(&mut self, frame: Frame, _: bool) {
        self.spent -= frame.options.cost();
    }

    fn children(&self, path: &[Frame]) -> Vec<Children> {
        let children = |frame: &Frame| {
            let of = frame.of();
            let pending = if frame.open { of - frame.options.rank() - 1 } else { 0 };
            Children { of, pending, dearer: None }
        };
        path.iter().map(children).collect()
    }

    /// What a filter leaves out changes as it learns: nothing is estimated.
    fn estimate_kind(&self) -> Option<Kind> {
        None
    }

    fn covered(&self, standing: Standing) -> Covered {
        self.filter.covered(standing.ended, self.bound.preemptions())
    }

    fn pairs(&self) -> Option<PairCount> {
        Some(self.filter.count())
    }

    fn has_strayed(&self) -> bool {
        self.strayed
    }

    fn save(&self, _: &[Frame]) -> Result<SavedFilter, Unsupported> {
        Ok(self.filter.save())
    }

    fn restore(&mut self, saved: SavedFilter, path: &[Frame]) -> Result<(), Unsupported> {
        let spent = path.iter().map(|frame| u64::from(frame.options.cost())).sum::<u64>();
        let spent = u32::try_from(spent).ok().filter(|spent| *spent <= self.bound.limit());
        if !path.is_sorted_by_key(|frame| frame.event) {
            return Err(FOREIGN);
        }
        let filter = self.filter.restored(saved)?;
        let PathSearch { expansion: new, .. } = PathSearch::<Self>::new(self.bound, filter);
        *self = Self { spent: spent.ok_or(FOREIGN)?, ..new };
        Ok(())
    }
}
