//! Every bug under every strategy, within limits.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "counts are far below 2^52"
)]

use std::panic::{set_hook, take_hook};
use std::time::Duration;

use peer::cpu_time;
use raddle::Config;
use raddle::actors::{States, Stopped};
use raddle::explorer::Explorer;
use raddle_corpus::program::{Program, Visit};
use raddle_corpus::protocols::PROTOCOLS;
use raddle_engine::{Ended, Explored, Lap, Setup, Stop, Strategy, explore};
use raddle_search::explorers::{
    Ordered, QueueOfProcesses, RandomRoundRobin, RunToCompletion, Tracker,
};
use raddle_search::{Environment, StrataSample};
use raddle_trace::Covered;

use super::columns::{COLUMNS, Column, How};
use super::{Asked, priorities};
use crate::numbers::median;

/// Which arguments the programs have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    Small,
    Large,
}

impl Size {
    pub(crate) fn of(self, program: &Program) -> Vec<usize> {
        match self {
            Self::Small => program.defaults(),
            Self::Large => program.large.to_vec(),
        }
    }
}

/// After which a search counts as one that has not found the bug, and how often it is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) executions: u64,
    pub(crate) states: u64,
    /// CPU time, in case a search is far slower than others: a cell that it has stopped says so.
    pub(crate) cpu: Duration,
    pub(crate) bytes: u64,
    /// How often a strategy that draws is run.
    pub(crate) runs: usize,
}

impl Limits {
    /// Of the page of small programs.
    pub(crate) const FULL: Self = Self {
        executions: 10_000,
        states: 300_000,
        cpu: Duration::from_mins(5),
        bytes: 4 << 30,
        runs: 5,
    };
    /// Of the page of large ones, whose executions and states take several times as long.
    pub(crate) const LARGE: Self = Self { executions: 1_500, states: 120_000, ..Self::FULL };
    /// That all of it works.
    pub(crate) const QUICK: Self = Self {
        executions: 100,
        states: 1_000,
        cpu: Duration::from_mins(1),
        bytes: 1 << 28,
        runs: 1,
    };
}

/// What stopped a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// It has run so many executions, or visited so many states.
    Count,
    /// Depends on the machine.
    Time,
    Memory,
}

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It showed the bug.
    Found,
    /// It showed a failure of another kind.
    Other(&'static str),
    /// A limit stopped it.
    Limit(Limit),
    /// It had nothing left.
    Covered,
    /// It cannot be run: why.
    Refused(String),
}

/// One search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Try {
    pub(crate) end: End,
    /// Executions or states, up to and with the one that showed it.
    pub(crate) n: u64,
    pub(crate) cpu: Duration,
    /// Steps of the execution that showed it.
    pub(crate) depth: Option<u64>,
    /// Delays, or preemptions, of the execution that showed it.
    pub(crate) departures: Option<u32>,
    /// Of a stratified sampling: the most places for a delay in an execution.
    pub(crate) places: Option<u64>,
}

impl Try {
    fn refused(why: &impl ToString) -> Self {
        Self::ended(End::Refused(why.to_string()), 0)
    }

    fn ended(end: End, n: u64) -> Self {
        Self { end, n, cpu: Duration::ZERO, depth: None, departures: None, places: None }
    }
}

/// What a column came to on one bug.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) tries: Vec<Try>,
    /// How many searches the median is of.
    wanted: usize,
}

impl Cell {
    /// Of a column that was not asked for.
    fn left_out() -> Self {
        Self { tries: vec![Try::refused(&"it was not asked for")], wanted: 1 }
    }

    /// The search in the middle: those that have not found the bug come last.
    pub(crate) fn middle(&self) -> &Try {
        let mut sorted: Vec<_> = self.tries.iter().collect();
        sorted.sort_by_key(|one| (one.end != End::Found, one.n));
        // After as many misses as make the middle one a miss no more were run.
        sorted[(self.wanted / 2).min(sorted.len() - 1)]
    }

    /// Executions or states to the bug, if the median is that it was found.
    pub(crate) fn found(&self) -> Option<u64> {
        let middle = self.middle();
        (middle.end == End::Found).then_some(middle.n)
    }
}

/// A bug with its cells, one for each column.
#[derive(Debug)]
pub(crate) struct Bug {
    pub(crate) program: &'static Program,
    pub(crate) arguments: Vec<usize>,
    /// Steps of an execution of the program without the bug, drawn at random: the median of five.
    pub(crate) steps: u64,
    pub(crate) cells: Vec<Cell>,
}

/// All that was measured of one size.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) size: Size,
    pub(crate) limits: Limits,
    pub(crate) bugs: Vec<Bug>,
    pub(crate) cpu: Duration,
}

/// Runs everything.
pub(crate) fn all(asked: &Asked, progress: &dyn Fn(&str)) -> Measured {
    let begin = cpu_time();
    let &Asked { size, limits, .. } = asked;
    let mut measured = Vec::new();
    for protocol in PROTOCOLS {
        let bugs = protocol.test.bugs.iter();
        for program in bugs.filter(|bug| asked.has(bug)) {
            progress(&format!("{size:?}: {}", program.name));
            let arguments = size.of(program);
            let steps = steps(&protocol.test.correct, &arguments);
            let cell = |column| {
                if asked.runs(column) {
                    cell(program, &arguments, column, limits)
                } else {
                    Cell::left_out()
                }
            };
            let cells = COLUMNS.iter().map(cell).collect();
            measured.push(Bug { program, arguments, steps, cells });
        }
    }
    Measured { size, limits, bugs: measured, cpu: cpu_time().saturating_sub(begin) }
}

fn steps(correct: &'static Program, arguments: &[usize]) -> u64 {
    let one = |seed| {
        let setup = setup(correct, Limits { executions: 1, ..Limits::FULL });
        let built = raddle_search::build("random", seed);
        let mut strategy = built.expect("it is a strategy").strategy;
        let body = || correct.call(arguments);
        let explored = explore(&mut *strategy, &setup, &mut |_| Stop::No, &mut |_| {}, &body);
        explored.map_or(f64::NAN, |explored| explored.counts.steps as f64)
    };
    median((1..=5).map(one).collect()) as u64
}

/// One column on one bug.
pub(crate) fn cell(
    program: &'static Program,
    arguments: &[usize],
    column: &Column,
    limits: Limits,
) -> Cell {
    let wanted = if column.draws { limits.runs.max(1) } else { 1 };
    let mut tries = Vec::new();
    for seed in 1..=wanted as u64 {
        tries.push(search(program, arguments, column.how, seed, limits));
        let misses = tries.iter().filter(|one| one.end != End::Found).count();
        if misses > wanted / 2 {
            break;
        }
    }
    Cell { tries, wanted }
}

/// One search.
fn search(
    program: &'static Program,
    arguments: &[usize],
    how: How,
    seed: u64,
    limits: Limits,
) -> Try {
    let begin = cpu_time();
    let mut done = match how {
        How::Strategy(strategy) => by_executions(program, arguments, strategy, seed, limits),
        How::Sampling(name) => by_samples(program, arguments, explorer(name, seed), seed, limits),
        How::PreemptionBounds => by_preemptions(program, arguments, limits),
        How::Strata(name) => {
            by_states(program, arguments, States::strata(explorer(name, seed)), limits)
        }
        How::Priorities => match priorities::known(program, arguments) {
            Some(phases) => priorities::search(program, arguments, phases, limits),
            None => Try::refused(&"no priorities are written for it, as stock explorers reach it"),
        },
        How::BreadthFirst => by_states(program, arguments, States::breadth_first(), limits),
        How::Default => by_default(program, arguments, seed, limits),
    };
    done.cpu = cpu_time().saturating_sub(begin);
    done
}

pub(crate) fn setup(program: &Program, limits: Limits) -> Setup {
    let usual = raddle_engine::Limits::default();
    let limits = raddle_engine::Limits {
        executions: limits.executions,
        steps: program.steps.unwrap_or(usual.steps),
        frontier_bytes: limits.bytes,
        ..usual
    };
    Setup { limits, ..Setup::default() }
}

/// Runs executions until the bug shows.
pub(crate) fn by_executions(
    program: &'static Program,
    arguments: &[usize],
    strategy: &str,
    seed: u64,
    limits: Limits,
) -> Try {
    let environment = Environment { seed, ..Environment::default() };
    let mut strategy = match raddle_search::build(strategy, environment) {
        Ok(built) => built.strategy,
        Err(why) => return Try::refused(&why),
    };
    let done = run(program, arguments, &mut *strategy, limits);
    let departures = match strategy.covered() {
        Covered::SomeStrata { delays, .. } => Some(delays),
        _ => None,
    };
    Try { departures, ..done }
}

/// As many samples with n delays as raddle takes if nothing else is asked for: 10 * 3^n.
const SAMPLES: (u32, u32) = (10, 3);

/// Samples until the bug shows.
fn by_samples(
    program: &'static Program,
    arguments: &[usize],
    explorer: Explorer,
    seed: u64,
    limits: Limits,
) -> Try {
    let mut strategy = StrataSample::new(Tracker::new(explorer), seed, SAMPLES.0, SAMPLES.1);
    let done = run(program, arguments, &mut strategy, limits);
    let departures = (done.end == End::Found).then(|| strategy.delays());
    Try { departures, places: Some(strategy.places()), ..done }
}

/// Runs executions of a strategy until the bug shows.
fn run(
    program: &'static Program,
    arguments: &[usize],
    strategy: &mut dyn Strategy,
    limits: Limits,
) -> Try {
    let begin = cpu_time();
    let mut lap = |lap: Lap| {
        // A search over states may take all of its time between two executions.
        let is_between = lap.steps == 0;
        let looks = is_between && (lap.executions < 64 || lap.executions.is_multiple_of(64));
        let is_over = looks && cpu_time().saturating_sub(begin) > limits.cpu;
        if is_over { Stop::Search } else { Stop::No }
    };
    let body = || program.call(arguments);
    let setup = setup(program, limits);
    match explore(strategy, &setup, &mut lap, &mut |_| {}, &body) {
        Ok(search) => judge(program, &search),
        Err(why) => Try::refused(&why),
    }
}

fn judge(program: &Program, explored: &Explored) -> Try {
    let n = explored.counts.executions;
    let end = match (&explored.failure, &explored.ended) {
        (Some(failure), _) if program.expected.is_met_by(Some(&failure.outcome)) => End::Found,
        (Some(failure), _) => End::Other(failure.outcome.kind()),
        (None, Ended::Executions) => End::Limit(Limit::Count),
        (None, Ended::Memory) => End::Limit(Limit::Memory),
        (None, Ended::Stopped) => End::Limit(Limit::Time),
        (None, Ended::Covered) => End::Covered,
        (None, other) => End::Refused(format!("{other:?}")),
    };
    let depth = explored.failure.as_ref().map(|failure| failure.trace.events.len() as u64);
    Try { depth, ..Try::ended(end, n) }
}

/// Iterative preemption bounding: within 0, 1, 2, … preemptions, all of whose executions are counted.
fn by_preemptions(program: &'static Program, arguments: &[usize], limits: Limits) -> Try {
    let begin = cpu_time();
    let mut n = 0;
    for bound in 0.. {
        let left = Limits {
            executions: limits.executions.saturating_sub(n),
            cpu: limits.cpu.saturating_sub(cpu_time().saturating_sub(begin)),
            ..limits
        };
        if left.executions == 0 {
            break;
        }
        if left.cpu.is_zero() {
            return Try::ended(End::Limit(Limit::Time), n);
        }
        let strategy = format!("dfs preemptions({bound}) cache");
        let one = by_executions(program, arguments, &strategy, 0, left);
        n += one.n;
        if one.end != End::Covered {
            let departures = (one.end == End::Found).then_some(bound);
            return Try { n, departures, ..one };
        }
    }
    Try::ended(End::Limit(Limit::Count), n)
}

/// An explorer by its name.
pub(crate) fn explorer(name: &str, seed: u64) -> Explorer {
    match name {
        "rr" => Explorer::new(name, QueueOfProcesses::default()),
        "rtc" => Explorer::new(name, RunToCompletion::default()),
        "rtc-latest" => Explorer::new(name, RunToCompletion::latest_first()),
        "prr" => Explorer::new(name, RandomRoundRobin::new(seed)),
        "ordered" => Explorer::new(name, Ordered::default()),
        "custom" => super::custom::explorer(),
        _ => unreachable!("a column has one of these"),
    }
}

/// Visits states until the bug shows.
pub(crate) fn by_states(
    program: &Program,
    arguments: &[usize],
    states: States,
    limits: Limits,
) -> Try {
    let states = states.states(limits.states).bytes(limits.bytes as usize);
    let begin = cpu_time();
    let mut go_on = |_| cpu_time().saturating_sub(begin) < limits.cpu;
    // A step that panics is what is looked for: nothing is to be printed of it.
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    let searched = program.visit(arguments, Visit::new(states, &mut go_on));
    set_hook(hook);
    match searched {
        None => Try::refused(&"it has no states"),
        Some(Err(why)) => Try::refused(&why),
        Some(Ok(searched)) => {
            let end = match (&searched.violation, searched.stopped) {
                (Some(_), _) => End::Found,
                (None, Stopped::Covered | Stopped::Delays) => End::Covered,
                (None, Stopped::Bytes) => End::Limit(Limit::Memory),
                (None, Stopped::Caller) => End::Limit(Limit::Time),
                (None, _) => End::Limit(Limit::Count),
            };
            let violation = searched.violation.as_ref();
            let depth = violation.map(|violation| violation.steps.len() as u64);
            let departures = violation.and_then(|violation| violation.delays);
            Try { depth, departures, ..Try::ended(end, searched.unique) }
        }
    }
}

/// As a user runs it who names no strategy.
fn by_default(program: &'static Program, arguments: &[usize], seed: u64, limits: Limits) -> Try {
    let mut config = Config::default();
    config.executions = Some(limits.executions);
    config.time = Some(limits.cpu);
    config.seed = Some(seed);
    config.steps = program.steps;
    let arguments = arguments.to_vec();
    let report = match raddle::explore(config, move || program.call(&arguments)) {
        Ok(report) => report,
        Err(why) => return Try::refused(&why),
    };
    match &report.failure {
        Some(failure) => {
            let is_it = program.expected.is_met_by(Some(&failure.outcome));
            let end = if is_it { End::Found } else { End::Other(failure.outcome.kind()) };
            let depth = Some(failure.trace.events.len() as u64);
            // `Failure::execution` counts only those of the member that found it.
            Try { depth, ..Try::ended(end, report.counts.executions) }
        }
        None if report.verdict == raddle::Verdict::Covered => {
            Try::ended(End::Covered, report.counts.executions)
        }
        None => {
            let all = report.counts.executions >= limits.executions;
            let limit = if all { Limit::Count } else { Limit::Time };
            Try::ended(End::Limit(limit), report.counts.executions)
        }
    }
}

#[cfg(test)]
mod checks {
    use super::*;

    fn one(end: End, n: u64) -> Try {
        Try::ended(end, n)
    }

    #[test]
    fn the_middle_of_five_is_a_miss_if_three_are() {
        let found = |n| one(End::Found, n);
        let all = Cell { tries: vec![found(9), found(1), found(5), found(7), found(3)], wanted: 5 };
        assert_eq!(all.found(), Some(5));
        let miss = || one(End::Limit(Limit::Count), 100);
        let some = [found(9), miss(), miss(), found(7), found(3)];
        assert_eq!(Cell { tries: some.to_vec(), wanted: 5 }.found(), Some(9));
        let none = Cell { tries: vec![miss(); 3], wanted: 5 };
        assert_eq!(none.found(), None);
    }
}
