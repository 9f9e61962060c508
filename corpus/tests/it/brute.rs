//! Every execution of a small program by the plainest search there is, and what a strategy did of
//! them. Shares nothing with `dfs`: it answers every point itself.

use std::collections::BTreeMap;

use raddle_engine::op::TaskId;
use raddle_engine::strategy::{Answer, Finished, Needs, Plan, Point, Step, Strategy, Taken};
use raddle_engine::{Ended, Limits, Setup, Stop, explore};
use raddle_trace::{Counts, Covered, Progress};

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
struct Watched<'a> {
    strategy: &'a mut dyn Strategy,
    executions: Vec<Options>,
}

impl Strategy for Watched<'_> {
    fn needs(&self) -> Needs {
        self.strategy.needs()
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        self.strategy.begin(plan)
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        self.strategy.decide(point)
    }

    fn spawn(&mut self, parent: TaskId, child: TaskId) {
        self.strategy.spawn(parent, child);
    }

    fn value(&mut self, task: TaskId, taken: Taken, during: bool) {
        self.strategy.value(task, taken, during);
    }

    fn step(&mut self, step: &Step<'_>) -> Option<raddle_engine::strategy::Cut> {
        self.strategy.step(step)
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.executions.push(execution.decisions.iter().map(|taken| taken.option).collect());
        self.strategy.end(execution);
    }

    fn covered(&self) -> Covered {
        self.strategy.covered()
    }

    fn progress(&self) -> Progress {
        self.strategy.progress()
    }
}

/// Runs a strategy until it ends, for at most so many executions.
pub(crate) fn search(strategy: &mut dyn Strategy, executions: u64, body: &dyn Fn()) -> Searched {
    let limits = Limits { executions, ..Limits::default() };
    search_with(strategy, &Setup { limits, ..Setup::default() }, body)
}

pub(crate) fn search_with(strategy: &mut dyn Strategy, setup: &Setup, body: &dyn Fn()) -> Searched {
    let mut watched = Watched { strategy, executions: Vec::new() };
    let explored = explore(&mut watched, setup, &mut |_| Stop::No, &mut |_| {}, body);
    let explored = explored.expect("a search can run here");
    assert!(explored.failure.is_none(), "the program has no bug");
    let Watched { strategy, executions } = watched;
    let covered = strategy.covered();
    Searched { executions, ended: explored.ended, counts: explored.counts, covered }
}
