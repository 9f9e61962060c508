//! Every execution of a small program by the plainest search there is, and what a strategy did of
//! them. Shares nothing with `dfs`: it answers every point itself.

use std::collections::BTreeMap;

use raddle_engine::strategy::{Answer, Finished, Plan, Point, Strategy};
use raddle_engine::{Ended, Limits, Observer, Setup, Stop, explore, explore_observed};
use raddle_trace::{Counts, Covered};

/// The decisions of an execution, as the options taken.
pub(crate) type Options = Vec<u32>;

/// Counts in a number system whose digits are the decisions.
#[derive(Debug, Default)]
struct Brute {
    /// The options taken, and how many there were.
    digits: Vec<(u32, u32)>,
    at: usize,
    preemptions: u32,
    all: BTreeMap<Options, u32>,
}

impl Strategy for Brute {
    fn begin(&mut self, plan: &mut Plan) -> bool {
        plan.prefix.clear();
        (self.at, self.preemptions) = (0, 0);
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
        self.preemptions += u32::from(point.option_of(point.last).is_some_and(|on| on != option));
        Answer::Take(option)
    }

    fn end(&mut self, execution: &Finished<'_>) {
        let options = execution.decisions.iter().map(|taken| taken.option).collect();
        let before = self.all.insert(options, self.preemptions);
        assert_eq!(before, None, "each execution is run once");
    }

    fn covered(&self) -> Covered {
        Covered::Everything
    }
}

/// Every execution of `body`, with its preemptions.
pub(crate) fn every_execution(body: &dyn Fn()) -> BTreeMap<Options, u32> {
    let mut brute = Brute::default();
    let explored = explore(&mut brute, &Setup::default(), &mut |_| Stop::No, &mut |_| {}, body);
    assert_eq!(explored.expect("a search can run here").ended, Ended::Covered);
    brute.all
}

/// What a strategy did, and what it says of it.
#[derive(Debug)]
pub(crate) struct Searched {
    /// In the order in which they were run.
    pub(crate) executions: Vec<Options>,
    pub(crate) ended: Ended,
    pub(crate) counts: Counts,
    pub(crate) covered: Covered,
}

/// Writes down what a strategy does.
#[derive(Default)]
struct Executions(Vec<Options>);

impl Observer for Executions {
    fn end(&mut self, execution: &Finished<'_>) {
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
    let explored = explore_observed(strategy, &mut [&mut executions], setup, lap, pulse, body);
    let explored = explored.expect("a search can run here");
    assert!(explored.failure.is_none(), "the program has no bug");
    let covered = strategy.covered();
    Searched { executions: executions.0, ended: explored.ended, counts: explored.counts, covered }
}
