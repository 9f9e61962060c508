//! Default orders: who moves where the plan is silent.
//!
//! A search runs every new execution along its default order and takes the other options later, so
//! the order says which executions come first, and what a bound counts from. Each order here but
//! those that draw ([`AnyTask`], [`ByRaces`], [`Mixed`]) and those by a delaying explorer is a pure function of the
//! point. An explorer
//! ([`Tracker`]) has a state of any size and ranks all options: what an option costs is the number of delays
//! that reach it.

use std::fmt;

use raddle_engine::strategy::{Options, Point};

use crate::explorers::Tracker;
use crate::priorities::Priorities;
use crate::rng::Rng;

/// Picks the option that a search takes first at a point between tasks.
///
/// Called at [`Options::Schedule`] points that the plan does not answer; values begin with 0.
pub trait Order: Send + fmt::Debug {
    /// As the registry names it. Part of a saved search.
    fn name(&self) -> String;

    /// Whether it may leave a task that could go on. Such an order has preemptions of its own, so
    /// no search along it can bound them.
    fn preempts(&self) -> bool;

    /// The default option, below the point's arity.
    fn next(&mut self, point: &Point<'_>) -> u32;

    /// The default option of a reduction, which may take only some: what sleeps is covered elsewhere. None if it may
    /// take none.
    fn next_of(&mut self, point: &Point<'_>, may: &dyn Fn(u32) -> bool) -> Option<u32> {
        // As the depth-first reductions do.
        let running = point.running_option().filter(|option| may(*option));
        running.or_else(|| (0..point.arity()).find(|option| may(*option)))
    }

    /// An execution begins.
    fn begin(&mut self) {}

    /// The explorer that it goes by, if it does. Then the search has it begin with every execution, hear all
    /// events, and pass the points that the plan answers.
    fn explorer(&mut self) -> Option<&mut Tracker> {
        None
    }

    /// Why no more executions can be run along it, if that is so: a sentence.
    fn trouble(&self) -> Option<&str> {
        None
    }

    /// Whether it goes by an explorer: see [`explorer`](Self::explorer).
    fn explores(&self) -> bool {
        false
    }

    /// What it needs to go on from here, if it is not a pure function of the point.
    fn state(&self) -> u64 {
        0
    }

    /// Goes on from a [`state`](Self::state).
    fn set_state(&mut self, state: u64) {
        let _ = state;
    }
}

/// The running task if it can go on, else the next one: Musuvathi and Qadeer, PLDI 2007 (CHESS).
///
/// A task that yields cannot go on, for this purpose.
#[derive(Clone, Copy, Debug, Default)]
pub struct NonPreemptive;

impl Order for NonPreemptive {
    fn name(&self) -> String {
        "non-preemptive".to_owned()
    }

    fn preempts(&self) -> bool {
        false
    }

    fn next(&mut self, point: &Point<'_>) -> u32 {
        point.running_option().unwrap_or_else(|| after_last(point))
    }
}

/// The tasks take turns, one step each.
#[derive(Clone, Copy, Debug, Default)]
pub struct TakeTurns;

impl Order for TakeTurns {
    fn name(&self) -> String {
        "in-turns".to_owned()
    }

    fn preempts(&self) -> bool {
        true
    }

    fn next(&mut self, point: &Point<'_>) -> u32 {
        after_last(point)
    }
}

/// Any task with the same chance, as Eta goes on after a seed.
///
/// What it took is part of the search that asked, so every execution is still run once.
#[derive(Clone, Debug)]
pub struct AnyTask {
    rng: Rng,
}

impl AnyTask {
    /// Draws from this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed) }
    }
}

impl Order for AnyTask {
    fn name(&self) -> String {
        "random".to_owned()
    }

    fn preempts(&self) -> bool {
        true
    }

    fn next(&mut self, point: &Point<'_>) -> u32 {
        self.rng.below(point.arity())
    }

    fn next_of(&mut self, point: &Point<'_>, may: &dyn Fn(u32) -> bool) -> Option<u32> {
        let n = (0..point.arity()).filter(|option| may(*option)).count() as u32;
        let nth = (n > 0).then(|| self.rng.below(n))?;
        (0..point.arity()).filter(|option| may(*option)).nth(nth as usize)
    }

    fn state(&self) -> u64 {
        self.rng.state()
    }

    fn set_state(&mut self, state: u64) {
        self.rng = Rng::from_state(state);
    }
}

/// The op of highest random priority, drawn anew after each race, as `pos.rs` samples.
///
/// What it took is part of the search that asked, so every execution is still run once.
#[derive(Clone, Debug)]
pub struct ByRaces {
    rng: Rng,
    priorities: Priorities,
}

impl ByRaces {
    /// Draws from this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed), priorities: Priorities::default() }
    }
}

impl Order for ByRaces {
    fn name(&self) -> String {
        "pos".to_owned()
    }

    fn preempts(&self) -> bool {
        true
    }

    fn begin(&mut self) {
        // Between executions there is nothing to keep but what is drawn next.
        self.priorities.clear();
    }

    fn next(&mut self, point: &Point<'_>) -> u32 {
        self.next_of(point, &|_| true).unwrap_or(0)
    }

    fn next_of(&mut self, point: &Point<'_>, may: &dyn Fn(u32) -> bool) -> Option<u32> {
        let Options::Schedule(choices) = point.options else { return Some(0) };
        // What moved last has another op now. Of steps between two points an order does not hear; their tasks keep what
        // they drew, which is a draw as good as another.
        self.priorities.forget(point.last);
        let (mut best, mut highest) = (None, 0);
        for (option, choice) in (0..).zip(choices) {
            let priority = self.priorities.of(choice.task, &mut self.rng);
            if priority > highest && may(option) {
                (best, highest) = (Some(option), priority);
            }
        }
        let task = choices[best? as usize].task;
        self.priorities.take(task, point);
        best
    }

    fn state(&self) -> u64 {
        self.rng.state()
    }

    fn set_state(&mut self, state: u64) {
        self.rng = Rng::from_state(state);
        self.priorities.clear();
    }
}

/// Executions take turns: one as [`ByRaces`], the next without preemption.
///
/// Without preemption tasks hardly meet, and what needs many switches is far from any execution; at random they meet
/// everywhere, and what needs one task to go far alone is. A search that has both finds what is near either.
#[derive(Clone, Debug)]
pub struct Mixed {
    seed: u64,
    executions: u64,
    by_races: ByRaces,
}

impl Mixed {
    /// Draws from this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, executions: 0, by_races: ByRaces::new(seed) }
    }
}

impl Order for Mixed {
    fn name(&self) -> String {
        "mixed".to_owned()
    }

    fn preempts(&self) -> bool {
        true
    }

    fn begin(&mut self) {
        // Each draws from a seed of its own, so that their number is all that a saved search needs.
        self.executions = self.executions.wrapping_add(1);
        let spread = self.executions.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.by_races = ByRaces::new(self.seed ^ spread);
    }

    fn next(&mut self, point: &Point<'_>) -> u32 {
        if self.executions % 2 == 1 { self.by_races.next(point) } else { NonPreemptive.next(point) }
    }

    fn next_of(&mut self, point: &Point<'_>, may: &dyn Fn(u32) -> bool) -> Option<u32> {
        if self.executions % 2 == 1 {
            self.by_races.next_of(point, may)
        } else {
            NonPreemptive.next_of(point, may)
        }
    }

    fn state(&self) -> u64 {
        self.executions
    }

    fn set_state(&mut self, state: u64) {
        self.executions = state;
    }
}

/// An order that can be named in a composition.
#[derive(Clone, Debug, Default)]
pub enum StockOrder {
    /// See [`NonPreemptive`].
    #[default]
    NonPreemptive,
    /// See [`TakeTurns`].
    TakeTurns,
    /// See [`AnyTask`].
    AnyTask(AnyTask),
    /// See [`ByRaces`].
    ByRaces(ByRaces),
    /// See [`Mixed`].
    Mixed(Mixed),
    /// By an explorer.
    Explorer(Box<Tracker>),
}

impl StockOrder {
    /// As it stands at the end of a composition; the default one is left out.
    pub(crate) fn suffix(&self) -> String {
        match self {
            Self::NonPreemptive => String::new(),
            _ => format!(" {}", self.name()),
        }
    }
}

impl Order for StockOrder {
    fn name(&self) -> String {
        match self {
            Self::NonPreemptive => NonPreemptive.name(),
            Self::TakeTurns => TakeTurns.name(),
            Self::AnyTask(order) => order.name(),
            Self::ByRaces(order) => order.name(),
            Self::Mixed(order) => order.name(),
            Self::Explorer(tracker) => tracker.name().to_owned(),
        }
    }

    fn preempts(&self) -> bool {
        !matches!(self, Self::NonPreemptive)
    }

    #[inline]
    fn next(&mut self, point: &Point<'_>) -> u32 {
        match self {
            Self::NonPreemptive => NonPreemptive.next(point),
            Self::TakeTurns => TakeTurns.next(point),
            Self::AnyTask(order) => order.next(point),
            Self::ByRaces(order) => order.next(point),
            Self::Mixed(order) => order.next(point),
            // An explorer in trouble ends the search; until then any option will do.
            Self::Explorer(tracker) => tracker.rank(point).unwrap_or(0),
        }
    }

    fn next_of(&mut self, point: &Point<'_>, may: &dyn Fn(u32) -> bool) -> Option<u32> {
        match self {
            Self::AnyTask(order) => order.next_of(point, may),
            Self::ByRaces(order) => order.next_of(point, may),
            Self::Mixed(order) => order.next_of(point, may),
            Self::NonPreemptive | Self::TakeTurns | Self::Explorer(_) => {
                NonPreemptive.next_of(point, may)
            }
        }
    }

    fn begin(&mut self) {
        match self {
            Self::ByRaces(order) => order.begin(),
            Self::Mixed(order) => order.begin(),
            Self::NonPreemptive | Self::TakeTurns | Self::AnyTask(_) | Self::Explorer(_) => {}
        }
    }

    fn explorer(&mut self) -> Option<&mut Tracker> {
        match self {
            Self::Explorer(tracker) => Some(tracker),
            _ => None,
        }
    }

    fn trouble(&self) -> Option<&str> {
        match self {
            Self::Explorer(tracker) => tracker.trouble(),
            _ => None,
        }
    }

    fn explores(&self) -> bool {
        matches!(self, Self::Explorer(_))
    }

    fn state(&self) -> u64 {
        match self {
            Self::AnyTask(order) => order.state(),
            Self::ByRaces(order) => order.state(),
            Self::Mixed(order) => order.state(),
            Self::NonPreemptive | Self::TakeTurns | Self::Explorer(_) => 0,
        }
    }

    fn set_state(&mut self, state: u64) {
        match self {
            Self::AnyTask(order) => order.set_state(state),
            Self::ByRaces(order) => order.set_state(state),
            Self::Mixed(order) => order.set_state(state),
            Self::NonPreemptive | Self::TakeTurns | Self::Explorer(_) => {}
        }
    }
}

/// The option created next after the task that moved last, round the circle; 0 among values.
pub(crate) fn after_last(point: &Point<'_>) -> u32 {
    let Options::Schedule(choices) = point.options else { return 0 };
    let last = choices.iter().position(|choice| choice.task == point.last);
    let next = last.map_or_else(
        || {
            let place = |task| point.pending.place(task);
            let after = place(point.last);
            choices.iter().position(|choice| place(choice.task) > after).unwrap_or(0)
        },
        |last| last + 1,
    );
    if next < choices.len() { next as u32 } else { 0 }
}

#[cfg(test)]
mod tests {
    use raddle_engine::op::TaskId;
    use raddle_engine::strategy::Choice;

    use super::*;
    use crate::toy::Nothing;

    fn next(mut order: impl Order, tasks: &[u32], last: u32, running: Option<u32>) -> u32 {
        take(&mut order, tasks, last, running)
    }

    fn take(order: &mut dyn Order, tasks: &[u32], last: u32, running: Option<u32>) -> u32 {
        let choices: Vec<_> = tasks.iter().map(|&task| Choice { task: TaskId(task) }).collect();
        order.next(&Point {
            index: 0,
            options: Options::Schedule(&choices),
            running: running.map(TaskId),
            last: TaskId(last),
            objects: 0,
            pending: &Nothing,
        })
    }

    #[test]
    fn mixed_executions_take_turns_and_go_on_from_their_number() {
        let takes = |order: &mut Mixed| {
            order.begin();
            (0..8).map(|_| take(order, &[1, 2, 3], 2, Some(2))).collect::<Vec<_>>()
        };
        let mut order = Mixed::new(7);
        let first = takes(&mut order);
        assert_ne!(first, [1; 8]);
        assert_eq!(takes(&mut order), [1; 8], "the second goes on with the running task");
        let (mut other, state) = (Mixed::new(7), order.state());
        other.set_state(state);
        assert_eq!(takes(&mut other), takes(&mut order));
        assert_eq!(takes(&mut Mixed::new(7)), first);
    }

    #[test]
    fn what_draws_takes_only_what_it_may() {
        let choices: Vec<_> = (1..=3).map(|task| Choice { task: TaskId(task) }).collect();
        let point = Point {
            index: 0,
            options: Options::Schedule(&choices),
            running: None,
            last: TaskId(1),
            objects: 0,
            pending: &Nothing,
        };
        let orders: [Box<dyn Order>; 3] =
            [Box::new(AnyTask::new(3)), Box::new(ByRaces::new(3)), Box::new(Mixed::new(3))];
        for mut order in orders {
            order.begin();
            for _ in 0..20 {
                assert_eq!(order.next_of(&point, &|option| option == 1), Some(1));
                assert_eq!(order.next_of(&point, &|_| false), None, "{}", order.name());
            }
        }
    }

    #[test]
    fn the_running_task_goes_on() {
        assert_eq!(next(NonPreemptive, &[1, 2, 3], 2, Some(2)), 1);
    }

    #[test]
    fn a_task_that_yielded_makes_way_for_the_next() {
        assert_eq!(next(NonPreemptive, &[1, 2, 3], 2, None), 2);
        assert_eq!(next(NonPreemptive, &[1, 2, 3], 3, None), 0);
    }

    #[test]
    fn turns_go_round() {
        assert_eq!(next(TakeTurns, &[1, 2, 3], 1, Some(1)), 1);
        assert_eq!(next(TakeTurns, &[1, 2, 3], 3, Some(3)), 0);
    }

    #[test]
    fn turns_follow_the_order_of_options() {
        assert_eq!(next(TakeTurns, &[7, 2, 5], 7, Some(7)), 1);
        assert_eq!(next(TakeTurns, &[7, 2, 5], 5, Some(5)), 0);
    }

    #[test]
    fn a_task_that_cannot_move_keeps_its_place_in_the_circle() {
        for last in [0, 2, 4, 6] {
            let expected = [0, 1, 2, 0][last as usize / 2];
            assert_eq!(next(TakeTurns, &[1, 3, 5], last, None), expected, "after {last}");
            assert_eq!(next(NonPreemptive, &[1, 3, 5], last, None), expected, "after {last}");
        }
    }
}
