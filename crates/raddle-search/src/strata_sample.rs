//! Stratified sampling: delays at random places, stratum by stratum. Desai, Qadeer and Seshia, FSE 2015.
//!
//! A sample with `n` delays: the execution without a delay is run, one of its places for a delay is drawn, the
//! execution with a delay there is run, one of the places from there on is drawn, and so on, `n` times. So any
//! execution that needs `n` delays of the explorer is drawn with a chance of at least `1 / L^n`, if it and those
//! on the way to it have at most `L` places: exponential in the delays, not in the length.
//!
//! A *place* is a decision at which one more delay leads to another option: a point between processes, the choice
//! of a message after it, or a value. The decision that was delayed last is one again, if it has options left.
//! Where the paper counts steps this counts places, which are fewer: a delay where one process can move does
//! nothing.
//!
//! For `n = 0, 1, 2, …` there are `c1 * c2^n` samples. There is one execution without a delay, so it is run once,
//! and a sample with `n` delays runs `n` more. All of them count as executions.
//!
//! With a base other than the empty one, the samples begin there (`then_sample.rs`).
//!
//! Misses: executions with many delays, with the chance that the guarantee names.
//! Overreports: nothing.

use raddle_engine::strategy::{
    Answer, Checkpoint, Cut, Event, Finished, Needs, Options, Plan, Point, Remarks, Resumable,
    Strategy, Unsupported,
};
use raddle_trace::{Covered, SampleBound};
use serde::{Deserialize, Serialize};

use crate::explorers::Tracker;
use crate::rng::Rng;
use crate::state::{self, FOREIGN};

const NAME: &str = "strata-sample";

/// A decision with the options that delays lead to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct DelayPoint {
    /// Its number in the schedule.
    index: u32,
    /// (rank of the process or value, rank of the message, option).
    options: Vec<(u32, u32, u32)>,
    /// The ranks that are taken.
    at: (u32, u32),
}

impl DelayPoint {
    fn option(&self, ranks: (u32, u32)) -> Option<u32> {
        let found = self.options.iter().find(|(rank, lane, _)| (*rank, *lane) == ranks);
        found.map(|(.., option)| *option)
    }

    /// Where one more delay leads: of the process, unless a message was delayed; of the message.
    fn delays(&self) -> impl Iterator<Item = (u32, u32)> {
        let (rank, lane) = self.at;
        let process = (lane == 0).then_some((rank + 1, 0));
        let ways = [process, Some((rank, lane + 1))];
        ways.into_iter().flatten().filter(|ranks| self.option(*ranks).is_some())
    }
}

/// An execution that was run: its decisions, and its places from the last delay on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Run {
    decisions: Vec<u32>,
    places: Vec<DelayPoint>,
}

impl Run {
    /// How many delays could be put in.
    fn width(&self) -> u64 {
        self.places.iter().map(|place| place.delays().count() as u64).sum()
    }

    /// The execution with the n-th of them: its plan, and the place at which it was put.
    fn delayed(&self, nth: u64) -> Option<(Vec<u32>, DelayPoint)> {
        let mut all =
            self.places.iter().flat_map(|place| place.delays().map(move |at| (place, at)));
        let (place, at) = all.nth(usize::try_from(nth).ok()?)?;
        let mut plan = self.decisions.get(..place.index as usize)?.to_vec();
        plan.push(place.option(at)?);
        Some((plan, DelayPoint { at, ..place.clone() }))
    }
}

/// Draws places for delays, more and more of them.
#[derive(Clone, Debug)]
pub struct StrataSample {
    tracker: Tracker,
    c1: u32,
    c2: u32,
    /// Delays of the samples that come first, after the execution without one.
    first: u32,
    state: State,
}

/// All that a saved sampler must have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    rng: u64,
    /// The execution without a delay, once it was run.
    base: Option<Run>,
    /// The one that runs, or was run last.
    run: Run,
    /// Delays of the samples that are taken now.
    delays: u32,
    /// Samples with so many delays that were taken.
    samples: u64,
    /// Delays of the execution that runs, or was run last.
    placed: u32,
    /// Where the next sample begins, if samples do not begin with the execution without a delay.
    start: Option<Vec<u32>>,
    /// The most places of an execution.
    longest: u64,
    executions: u64,
}

impl StrataSample {
    /// Takes `c1 * c2^n` samples with `n` delays, for n = 0, 1, 2, …; 0 counts as 1.
    #[must_use]
    pub fn new(tracker: Tracker, seed: u64, c1: u32, c2: u32) -> Self {
        let state = State {
            rng: Rng::new(seed).state(),
            base: None,
            run: Run::default(),
            delays: 0,
            samples: 0,
            placed: 0,
            start: None,
            longest: 0,
            executions: 0,
        };
        Self { tracker, c1: c1.max(1), c2: c2.max(1), first: 0, state }
    }

    /// Leaves out the samples with fewer delays.
    #[must_use]
    pub fn from_delays(mut self, delays: u32) -> Self {
        self.first = delays;
        self
    }

    /// How many delays the execution has that runs, or was run last.
    #[must_use]
    #[expect(clippy::misnamed_getters, reason = "the state has the bound under that name")]
    pub fn delays(&self) -> u32 {
        self.state.placed
    }

    /// The most places for a delay that an execution had so far.
    #[must_use]
    pub fn places(&self) -> u64 {
        self.state.longest
    }

    /// How many samples there are with so many delays.
    fn wanted(&self, delays: u32) -> u64 {
        let power = u64::from(self.c2).saturating_pow(delays);
        if delays == 0 { 1 } else { power.saturating_mul(self.c1.into()) }
    }

    /// Whether the next execution begins a sample.
    pub(crate) fn wants_start(&self) -> bool {
        self.state.placed >= self.state.delays || self.state.run.width() == 0
    }

    /// The next sample begins with these decisions, and its delays come after them.
    pub(crate) fn start_at(&mut self, start: Vec<u32>) {
        self.state.start = Some(start);
    }

    /// Plans the next execution: one more delay in the current sample, or the first one of the next.
    fn plan(&mut self) -> Vec<u32> {
        if self.wants_start() && (self.state.base.is_some() || self.state.start.is_some()) {
            self.state.samples += 1;
            if self.state.samples >= self.wanted(self.state.delays) {
                let next = self.state.delays.saturating_add(1).max(self.first);
                (self.state.delays, self.state.samples) = (next, 0);
            }
            self.state.placed = 0;
            if let Some(start) = self.state.start.take() {
                self.state.run = Run::default();
                return start;
            }
        }
        let Some(base) = self.state.base.clone() else { return Vec::new() };
        if self.state.placed == 0 {
            self.state.run = base;
        }
        let width = self.state.run.width();
        if width == 0 {
            // Nothing can be delayed: the one execution that there is, again.
            self.state.run.places.clear();
            return std::mem::take(&mut self.state.run.decisions);
        }
        let mut rng = Rng::from_state(self.state.rng);
        let nth = rng.below(u32::try_from(width).unwrap_or(u32::MAX));
        self.state.rng = rng.state();
        let drawn = self.state.run.delayed(nth.into());
        let (plan, place) = drawn.expect("it is below the number of places");
        self.state.placed += 1;
        self.state.run = Run { decisions: Vec::new(), places: vec![place] };
        plan
    }
}

impl Strategy for StrataSample {
    fn needs(&self) -> Needs {
        Tracker::needs()
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        if self.tracker.trouble().is_some() {
            return false;
        }
        self.tracker.begin();
        plan.prefix = self.plan();
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        let options = match point.options {
            Options::Value { of, .. } => (0..of).map(|value| (value, 0, value)).collect(),
            Options::Schedule(_) => {
                if self.tracker.rank(point).is_none() {
                    return Answer::Cut(Cut::OutOfBound);
                }
                let offers = self.tracker.offers().iter();
                offers.map(|offer| (offer.price - offer.lane, offer.lane, offer.option)).collect()
            }
        };
        let place = DelayPoint { index: point.index, options, at: (0, 0) };
        let option = place.option((0, 0)).expect("an option is free");
        self.state.run.places.push(place);
        Answer::Take(option)
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        self.tracker.heard(event);
        None
    }

    fn end(&mut self, execution: &Finished<'_>) {
        let state = &mut self.state;
        state.executions += 1;
        state.run.decisions = execution.decisions.iter().map(|taken| taken.option).collect();
        // A limit may end an execution at a point that was asked about, or before the plan's end.
        let met = state.run.decisions.len() as u32;
        state.run.places.retain(|place| place.index < met);
        state.longest = state.longest.max(state.run.width());
        if state.base.is_none() && state.placed == 0 {
            state.base = Some(state.run.clone());
        }
    }

    fn covered(&self) -> Covered {
        let state = &self.state;
        let bound = state.delays.checked_sub(1).filter(|delays| *delays > 0).map(|delays| {
            SampleBound::Strata { delays, steps: state.longest, samples: self.wanted(delays) }
        });
        Covered::Sample { executions: state.executions, bound }
    }

    fn remarks(&self) -> Remarks {
        let unfinished = self.tracker.trouble().map(str::to_owned);
        Remarks { mistaken: unfinished.is_some(), unfinished, ..Remarks::default() }
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }
}

impl StrataSample {
    fn identity(&self) -> String {
        let first = if self.first == 0 { String::new() } else { format!(" from {}", self.first) };
        format!("{NAME} {} {} {}{first}", self.tracker.name(), self.c1, self.c2)
    }
}

impl Resumable for StrataSample {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        Ok(state::write(&self.identity(), &self.state))
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let state: State = state::read(&self.identity(), state)?;
        let fits = |run: &Run| {
            run.places.iter().all(|place| {
                place.option(place.at).is_some()
                    && place.at.0.checked_add(1).is_some()
                    && place.at.1.checked_add(1).is_some()
                    && (place.index as usize) < run.decisions.len()
            })
        };
        let has_runs = state.base.iter().all(fits) && fits(&state.run);
        let most = state.executions.max(state.samples).max(state.delays.into());
        if !has_runs || most > u64::from(u32::MAX) << 16 {
            return Err(FOREIGN);
        }
        self.state = state;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
