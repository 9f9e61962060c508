//! Every execution of a small program by the plainest search there is, and what a strategy did of
//! them. Shares nothing with `dfs`: it answers every point itself.

use std::collections::{BTreeMap, BTreeSet};

use raddle_engine::happens::History;
use raddle_engine::observer::ObserverNeeds;
use raddle_engine::strategy::{
    Answer, Cut, Event, Finished, Options as Offered, Plan, Point, Strategy,
};
use raddle_engine::{Ended, Limits, Observer, Setup, Stop, explore, explore_observed};
use raddle_search::TraceCounter;
use raddle_testing::{Rule, WithinDelays};
use raddle_trace::{Counts, Covered};

/// The decisions of an execution, as the options taken.
pub(crate) type Options = Vec<u32>;

/// Counts in a number system whose digits are the decisions.
#[derive(Debug, Default)]
struct Brute {
    /// The options taken, and how many there were.
    digits: Vec<(u32, u32)>,
    at: usize,
    cost: Cost,
    all: BTreeMap<Options, Cost>,
}

/// What an execution needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) preemptions: u32,
    /// After so many decisions it goes on as searches do by themselves.
    pub(crate) depth: u32,
}

/// Where a search goes on by itself: with the task that moved last, else with the next one; with the first value.
fn by_itself(point: &Point<'_>) -> u32 {
    let Offered::Schedule(choices) = point.options else { return 0 };
    if let Some(running) = point.running {
        return point.option_of(running).expect("it can go on");
    }
    let place = |task| point.pending.place(task);
    let next = choices.iter().position(|choice| place(choice.task) > place(point.last));
    next.unwrap_or(0) as u32
}

impl Strategy for Brute {
    fn begin(&mut self, plan: &mut Plan) -> bool {
        plan.prefix.clear();
        (self.at, self.cost) = (0, Cost::default());
        if self.all.is_empty() {
            return true;
        }
        while self.digits.pop_if(|(option, of)| *option + 1 == *of).is_some() {}
        self.digits.last_mut().map(|(option, _)| *option += 1).is_some()
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        if self.at == self.digits.len() {
            self.digits.push((0, point.arity()));
        }
        let (option, of) = self.digits[self.at];
        assert_eq!(of, point.arity(), "the program does the same under the same decisions");
        self.at += 1;
        // The programs here do not yield: who moved last and could again is left, or not.
        let preempts = point.option_of(point.last).is_some_and(|on| on != option);
        self.cost.preemptions += u32::from(preempts);
        if option != by_itself(point) {
            self.cost.depth = point.index + 1;
        }
        Answer::Take(option)
    }

    fn end(&mut self, execution: &Finished<'_>) {
        let options = execution.decisions.iter().map(|taken| taken.option).collect();
        let before = self.all.insert(options, self.cost);
        assert_eq!(before, None, "each execution is run once");
    }

    fn covered(&self) -> Covered {
        Covered::Everything
    }
}

/// Every execution of `body`, with what it needs.
pub(crate) fn every_execution(body: &dyn Fn()) -> BTreeMap<Options, Cost> {
    let mut brute = Brute::default();
    let explored = explore(&mut brute, &Setup::default(), &mut |_| Stop::No, &mut |_| {}, body);
    assert_eq!(explored.expect("a search can run here").ended, Ended::Covered);
    brute.all
}

/// The traces of `body` that have an execution with at most so many preemptions.
pub(crate) fn traces_within_preemptions(body: &dyn Fn(), most: u32) -> BTreeSet<u64> {
    let (mut brute, mut prints) = (Brute::default(), Prints::default());
    let (lap, pulse) = (&mut |_| Stop::No, &mut |_| {});
    let setup = Setup::default();
    let explored = explore_observed(&mut brute, &mut [&mut prints], &setup, lap, pulse, body);
    assert_eq!(explored.expect("a search can run here").ended, Ended::Covered);
    let within = |(one, _): &&(Options, u64)| brute.all[one].preemptions <= most;
    prints.all.iter().filter(within).map(|(_, trace)| *trace).collect()
}

/// The trace of each execution.
#[derive(Default)]
struct Prints {
    history: History,
    all: Vec<(Options, u64)>,
}

impl Observer for Prints {
    fn needs(&self) -> ObserverNeeds {
        ObserverNeeds { steps: true, ..ObserverNeeds::default() }
    }

    fn begin(&mut self, _: &Plan) {
        self.history.begin(0);
    }

    fn event(&mut self, event: &Event<'_>, _: Option<Cut>) {
        self.history.hear(event);
    }

    fn end(&mut self, execution: &Finished<'_>) {
        let options = execution.decisions.iter().map(|taken| taken.option).collect();
        self.all.push((options, self.history.fingerprint()));
    }
}

/// The executions of `body` that need at most so many delays of `rr`, with how many, and their traces.
pub(crate) fn within_delays(body: &dyn Fn(), most: u32) -> (BTreeMap<Options, u32>, BTreeSet<u64>) {
    let mut reference = WithinDelays::new(Rule::RoundRobin, most);
    let mut traces = TraceCounter::new(usize::MAX);
    let (lap, pulse) = (&mut |_| Stop::No, &mut |_| {});
    let setup = Setup::default();
    let explored = explore_observed(&mut reference, &mut [&mut traces], &setup, lap, pulse, body);
    assert_eq!(explored.expect("a search can run here").ended, Ended::Covered);
    (reference.executions().iter().cloned().collect(), traces.seen().clone())
}

/// What a strategy did, and what it says of it.
#[derive(Debug)]
pub(crate) struct Searched {
    /// Those that were not cut, in the order in which they were run.
    pub(crate) executions: Vec<Options>,
    /// How many were cut, because what follows was run before.
    pub(crate) cut: u64,
    pub(crate) traces: BTreeSet<u64>,
    pub(crate) ended: Ended,
    pub(crate) counts: Counts,
    pub(crate) covered: Covered,
}

/// Writes down what a strategy does.
#[derive(Default)]
struct Executions(Vec<Options>, u64);

impl Observer for Executions {
    fn end(&mut self, execution: &Finished<'_>) {
        if execution.cut.is_some() {
            self.1 += 1;
            return;
        }
        self.0.push(execution.decisions.iter().map(|taken| taken.option).collect());
    }
}

/// Runs a strategy until it ends, for at most so many executions.
pub(crate) fn search(strategy: &mut dyn Strategy, executions: u64, body: &dyn Fn()) -> Searched {
    let limits = Limits { executions, ..Limits::default() };
    search_with(strategy, &Setup { limits, ..Setup::default() }, body)
}

pub(crate) fn search_with(strategy: &mut dyn Strategy, setup: &Setup, body: &dyn Fn()) -> Searched {
    let mut executions = Executions::default();
    let (lap, pulse) = (&mut |_| Stop::No, &mut |_| {});
    let mut traces = TraceCounter::new(usize::MAX);
    let observers: raddle_engine::observer::Observers<'_, '_> = &mut [&mut executions, &mut traces];
    let explored = explore_observed(strategy, observers, setup, lap, pulse, body);
    let explored = explored.expect("a search can run here");
    assert!(explored.failure.is_none(), "the program has no bug");
    let covered = strategy.covered();
    let Executions(executions, cut) = executions;
    let traces = traces.seen().clone();
    let (ended, counts) = (explored.ended, explored.counts);
    Searched { executions, cut, traces, ended, counts, covered }
}
