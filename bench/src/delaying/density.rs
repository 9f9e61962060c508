//! How often samples with so many delays fail, beside executions drawn at random.

#![expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]

use raddle::explorer::Explorer;
use raddle_corpus::program::Program;
use raddle_corpus::protocols::PROTOCOLS;
use raddle_engine::strategy::{
    Answer, Cut, Event, Finished, Needs, Plan, Point, Remarks, Strategy,
};
use raddle_engine::{Setup, Stop, explore};
use raddle_search::explorers::Tracker;
use raddle_search::{Rng, StrataSample};
use raddle_trace::{Covered, Outcome};

use super::Asked;
use super::runs::{Limits, explorer, setup};
use crate::numbers::{grouped, median};
use crate::table::Table;

/// How many delays samples have.
const DELAYS: [u32; 6] = [1, 2, 4, 8, 16, 32];
const EXPLORERS: [&str; 2] = ["rr", "rtc"];

/// Draws every option with the same chance, and counts how many delays of an explorer that is.
struct RandomWithPrices {
    rng: Rng,
    tracker: Tracker,
    program: &'static Program,
    price: u64,
    /// Of each execution.
    prices: Vec<f64>,
    failures: u64,
}

impl Strategy for RandomWithPrices {
    fn needs(&self) -> Needs {
        Tracker::needs()
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        plan.prefix.clear();
        self.tracker.begin();
        self.price = 0;
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        let option = self.rng.below(point.arity());
        if self.tracker.rank(point).is_none() {
            return Answer::Cut(Cut::OutOfBound);
        }
        self.price += u64::from(self.tracker.prices_at(point)[option as usize]);
        self.tracker.take(point, option);
        Answer::Take(option)
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        self.tracker.heard(event);
        None
    }

    fn end(&mut self, execution: &Finished<'_>) {
        if fails(self.program, execution.outcome) {
            self.failures += 1;
        } else {
            // One that fails is shorter.
            self.prices.push(self.price as f64);
        }
    }

    fn covered(&self) -> Covered {
        Covered::Sample { executions: 0, bound: None }
    }
}

/// Samples, of which those are counted in which an execution fails.
struct FailingSamples {
    inner: StrataSample,
    program: &'static Program,
    /// Samples that were begun. One whose execution ends before its next delay has fewer executions than delays.
    samples: u64,
    /// Whether an execution of the present one has failed.
    failed: bool,
    failures: u64,
}

impl Strategy for FailingSamples {
    fn needs(&self) -> Needs {
        self.inner.needs()
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        let goes_on = self.inner.begin(plan);
        if goes_on && self.inner.delays() == 1 {
            (self.failed, self.samples) = (false, self.samples + 1);
        }
        goes_on
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        self.inner.decide(point)
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        self.inner.step(event)
    }

    fn end(&mut self, execution: &Finished<'_>) {
        let is_of_sample = self.samples > 0;
        if is_of_sample && !self.failed && fails(self.program, execution.outcome) {
            self.failed = true;
            self.failures += 1;
        }
        self.inner.end(execution);
    }

    fn covered(&self) -> Covered {
        self.inner.covered()
    }

    fn remarks(&self) -> Remarks {
        self.inner.remarks()
    }
}

fn fails(program: &Program, outcome: &Outcome) -> bool {
    outcome.is_failure() && program.expected.is_met_by(Some(outcome))
}

/// Runs so many executions, whether they fail or not. How many there were.
fn run(program: &Program, arguments: &[usize], strategy: &mut dyn Strategy, most: u64) -> u64 {
    let limits = Limits { executions: most, ..Limits::FULL };
    let setup = Setup { keep_going: true, ..setup(program, limits) };
    let body = || program.call(arguments);
    let explored = explore(strategy, &setup, &mut |_| Stop::No, &mut |_| {}, &body);
    explored.map_or(0, |explored| explored.counts.executions)
}

/// Failures in 1,000 of those that were run.
fn per_thousand(failures: u64, of: u64) -> String {
    let rate = 1_000.0 * failures as f64 / of.max(1) as f64;
    match rate {
        _ if failures == 0 => "0".to_owned(),
        rate if rate < 10.0 => format!("{rate:.1}"),
        rate => format!("{rate:.0}"),
    }
}

fn draw(program: &'static Program, arguments: &[usize], name: &str, n: u64) -> (String, f64) {
    let tracker = Tracker::new(explorer(name, 1));
    let (price, prices, failures) = (0, Vec::new(), 0);
    let mut random =
        RandomWithPrices { rng: Rng::new(1), tracker, program, price, prices, failures };
    let executions = run(program, arguments, &mut random, n);
    (per_thousand(random.failures, executions), median(random.prices))
}

fn sample(
    program: &'static Program,
    arguments: &[usize],
    explorer: Explorer,
    (delays, samples): (u32, u32),
) -> String {
    let inner = StrataSample::new(Tracker::new(explorer), 1, samples, 1).from_delays(delays);
    let mut strategy = FailingSamples { inner, program, samples: 0, failed: false, failures: 0 };
    // The execution without a delay comes first.
    let most = 1 + u64::from(samples) * u64::from(delays);
    run(program, arguments, &mut strategy, most);
    per_thousand(strategy.failures, strategy.samples)
}

/// All bugs that are asked for.
pub(crate) fn measure(asked: &Asked, progress: &dyn Fn(&str)) -> Table {
    let (draws, samples) = if asked.quick { (100, 5) } else { (2_000, 200) };
    let mut header: Vec<_> = ["bug", "explorer", "delays of RS", "RS"].map(str::to_owned).to_vec();
    header.extend(DELAYS.map(|delays| format!("{delays} delays")));
    let mut table = Table {
        title: format!(
            "{}: of 1,000 executions or samples, how many fail",
            super::tables::name(asked.size)
        ),
        header,
        ..Table::default()
    };
    let bugs = PROTOCOLS.iter().flat_map(|protocol| protocol.test.bugs);
    for bug in bugs.filter(|bug| asked.has(bug)) {
        progress(&format!("failures: {}", bug.name));
        let arguments = asked.size.of(bug);
        for name in EXPLORERS {
            let (rate, price) = draw(bug, &arguments, name, draws);
            let mut row = vec![bug.name.to_owned(), name.to_owned()];
            row.extend([format!("{price:.0}"), rate]);
            row.extend(
                DELAYS.map(|delays| sample(bug, &arguments, explorer(name, 1), (delays, samples))),
            );
            table.rows.push(row);
        }
    }
    table.notes.push(format!(
        "`RS`: of {} executions drawn at random. `delays of RS`: how many delays of the explorer such an execution is, \
         the median of those that do not fail. `n delays`: of {samples} samples or more with n delays each, at random places; a sample \
         counts once if one of its executions fails. It costs n executions, or fewer if one of them ends before its next delay, so \
         what it finds for its cost is about this by n.",
        grouped(draws)
    ));
    table.notes.push(
        "So this is why sampling by delays needs more executions than `random` where it does: samples with few delays are \
         close to the explorer's own execution, from which an execution at random is as many delays away as `delays of RS` says, \
         and seldom fail. More than four delays hardly help: a delay is drawn from the places after the one before, as in the \
         paper, so that on average each halves what is left, and the later ones are near the end of the execution or find it over."
            .to_owned(),
    );
    table
}
