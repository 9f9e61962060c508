//! What `dpor` costs for each new step, with the engine and without it.
//!
//! A depth-first search repeats the beginning of the execution before, takes another option at one
//! decision, and goes on from there. The step of that decision and all after it are *new*; those
//! before it are replayed. A first run counts them and writes down the decisions of every
//! execution. Then two searches take turns: `dpor`, and one that only replays those decisions and
//! hears of nothing. The difference is what `dpor` itself costs.
//!
//! Errs: what the engine does because `dpor` asks to hear of steps and repeats prefixes is in the
//! difference. So is whatever a shared machine does meanwhile, up to the median over the rounds.

use std::hint::black_box;
use std::time::Duration;

use peer::cpu_time;
use raddle_engine::Ended;
use raddle_engine::observer::{Observer, ObserverNeeds};
use raddle_engine::strategy::{Answer, Cut, Event, Finished, Needs, Plan, Point, Strategy};
use raddle_search::{Dpor, Reduction};
use raddle_trace::Covered;

use super::{Effort, run, run_observed};
use crate::numbers::{grouped, median, shown};
use crate::table::{Comparison, Table};

const PROGRAMS: [(&str, usize); 6] = [
    ("readers", 8),
    ("lastzero", 8),
    ("inc", 4),
    ("circular-buffer", 5),
    ("filesystem", 16),
    ("indexer", 12),
];

pub(super) fn measure(effort: Effort, progress: &impl Fn(&str)) -> Table {
    let header = [
        "program",
        "traces",
        "executions",
        "longest",
        "steps",
        "new steps",
        "ns per step",
        "ns per new step",
        "of it dpor",
    ];
    let mut table = Table {
        title: format!("Cost of a new step under dpor, median of {} rounds", effort.rounds),
        header: header.map(str::to_owned).to_vec(),
        notes: vec![
            "A new step is the one of the decision that is taken anew in an execution, or one \
             after it: the steps before it repeat the execution before. ns per new step is the \
             CPU time of the whole search, replayed steps and the program's own work included, by \
             its new steps. Joins are steps."
                .to_owned(),
            "of it dpor: the same without the time that a search takes which replays exactly the \
             same executions, decision by decision, and does nothing else."
                .to_owned(),
        ],
        ..Table::default()
    };
    for (name, n) in PROGRAMS {
        let (program, arguments) =
            raddle_corpus::find(name, &[n]).expect("the corpus has the program");
        progress(&format!("measuring steps of {name}({n})"));
        let traces = program.traces.and_then(|traces| traces(&arguments));
        let cost = Cost::measure(effort, &|| program.call(&arguments));
        add(&mut table, &format!("{name}({n})"), traces, &cost);
    }
    table
}

/// What a whole search does and takes.
#[derive(Clone, Copy, Debug)]
struct Cost {
    executions: u64,
    longest: u64,
    steps: u64,
    new_steps: u64,
    dpor_ns: f64,
    replay_ns: f64,
}

impl Cost {
    fn measure(effort: Effort, body: &dyn Fn()) -> Self {
        let (mut search, mut counting) = (Dpor::new(Reduction::Optimal), Counting::default());
        let explored = run_observed(&mut search, &mut [&mut counting], u64::MAX, body);
        assert_eq!(explored.ended, Ended::Covered);
        let mut dpor = || {
            let explored = run(&mut Dpor::new(Reduction::Optimal), u64::MAX, body);
            assert_eq!(explored.counts.executions, counting.decisions.len() as u64);
        };
        let mut replay = || {
            run(&mut Again { executions: &counting.decisions, next: 0 }, u64::MAX, body);
        };
        let (dpor_ns, replay_ns) = in_turn(effort, &mut dpor, &mut replay);
        Self {
            executions: explored.counts.executions,
            longest: explored.counts.max_steps,
            steps: explored.counts.steps,
            new_steps: counting.new_steps,
            dpor_ns,
            replay_ns,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "steps are far below 2^52")]
fn add(table: &mut Table, name: &str, traces: Option<u64>, cost: &Cost) {
    let by_new = |ns: f64| ns / cost.new_steps as f64;
    let (total, own) = (by_new(cost.dpor_ns), by_new(cost.dpor_ns - cost.replay_ns));
    table.rows.push(vec![
        name.to_owned(),
        traces.map_or("—".to_owned(), grouped),
        grouped(cost.executions),
        grouped(cost.longest),
        grouped(cost.steps),
        grouped(cost.new_steps),
        shown(Some(cost.dpor_ns / cost.steps as f64), 0),
        shown(Some(total), 0),
        shown(Some(own), 0),
    ]);
    for (column, ns) in [("total", total), ("dpor", own)] {
        table.comparisons.push(Comparison {
            table: "new-step-ns",
            row: name.to_owned(),
            column: column.to_owned(),
            ours: Some(ns),
            peer: None,
            ratio: None,
        });
    }
}

/// CPU time in ns of one call of each, measured in turn so that a change of the machine's speed
/// meets both.
pub(super) fn in_turn(
    effort: Effort,
    first: &mut dyn FnMut(),
    second: &mut dyn FnMut(),
) -> (f64, f64) {
    let calls = [calls_for(effort.round, first), calls_for(effort.round, second)];
    let mut samples = [Vec::new(), Vec::new()];
    for _ in 0..effort.rounds {
        samples[0].push(time(calls[0], first));
        samples[1].push(time(calls[1], second));
    }
    let [first, second] = samples.map(median);
    (first, second)
}

/// How many calls take that long; also the warm-up.
#[expect(clippy::cast_sign_loss, reason = "times are positive")]
pub(super) fn calls_for(round: Duration, call: &mut dyn FnMut()) -> u32 {
    let mut calls = 1;
    loop {
        let total = time(calls, call) * f64::from(calls);
        let wanted = round.as_secs_f64() * 1e9;
        if total >= wanted / 10.0 {
            return (wanted * f64::from(calls) / total).ceil() as u32;
        }
        calls *= 4;
    }
}

/// CPU time of one call in ns, the mean over these.
pub(super) fn time(calls: u32, call: &mut dyn FnMut()) -> f64 {
    let start = cpu_time();
    for _ in 0..calls {
        call();
    }
    cpu_time().saturating_sub(start).as_secs_f64() * 1e9 / f64::from(calls)
}

/// Counts the new steps of a search, and writes down its decisions.
#[derive(Debug, Default)]
struct Counting {
    /// Decisions of the plan.
    planned: usize,
    is_new: bool,
    new_steps: u64,
    /// Of each execution.
    decisions: Vec<Vec<u32>>,
}

impl Observer for Counting {
    fn needs(&self) -> ObserverNeeds {
        ObserverNeeds { steps: true, ..ObserverNeeds::default() }
    }

    fn begin(&mut self, plan: &Plan) {
        self.planned = plan.prefix.len();
        self.is_new = self.planned == 0;
    }

    fn event(&mut self, event: &Event<'_>, _: Option<Cut>) {
        let Event::Step(step) = event else { return };
        // The last decision of the plan is the one that is taken anew. Steps without a decision
        // go with the one before.
        self.is_new |= step.point.is_some_and(|point| point as usize + 1 >= self.planned);
        self.new_steps += u64::from(self.is_new);
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.decisions.push(execution.decisions.iter().map(|taken| taken.option).collect());
    }
}

/// Makes the same executions again, and nothing else.
#[derive(Debug)]
struct Again<'a> {
    executions: &'a [Vec<u32>],
    next: usize,
}

impl Strategy for Again<'_> {
    fn needs(&self) -> Needs {
        Needs { plans: false, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        let Some(decisions) = self.executions.get(self.next) else { return false };
        plan.prefix.clone_from(decisions);
        self.next += 1;
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        // The plan answers all questions: the program is the same.
        black_box(point);
        Answer::Take(0)
    }

    fn covered(&self) -> Covered {
        Covered::Sample { executions: self.next as u64, bound: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_new_from_the_decision_on_that_is_taken_anew() {
        for (n, executions, steps, new_steps) in [
            // Both executions of two accesses and two joins are new from the first step on.
            (1, 2, 2 * 4, 2 * 4),
            // Each node of the tree of prefixes is new once: 2 of one access, 4 of two, 6 of three,
            // 6 of four, and two joins for each of the C(4, 2) executions.
            (2, 6, 6 * 6, 2 + 4 + 6 + 6 + 2 * 6),
        ] {
            let (program, arguments) =
                raddle_corpus::find("steps", &[n, n]).expect("the corpus has it");
            let body = || program.call(&arguments);
            let mut counting = Counting::default();
            let mut search = raddle_search::DepthFirst::default();
            let explored = run_observed(&mut search, &mut [&mut counting], u64::MAX, &body);
            assert_eq!((explored.counts.executions, explored.counts.steps), (executions, steps));
            assert_eq!(counting.new_steps, new_steps);
        }
    }

    #[test]
    fn the_replaying_search_makes_the_same_executions() {
        let (program, arguments) = raddle_corpus::find("inc", &[3]).expect("the corpus has it");
        let body = || program.call(&arguments);
        let (mut search, mut counting) = (Dpor::new(Reduction::Optimal), Counting::default());
        let explored = run_observed(&mut search, &mut [&mut counting], u64::MAX, &body);
        assert_eq!(explored.counts.executions, 36);
        let mut again = Again { executions: &counting.decisions, next: 0 };
        let mut checking = Counting::default();
        let replayed = run_observed(&mut again, &mut [&mut checking], u64::MAX, &body);
        assert_eq!(replayed.counts.steps, explored.counts.steps);
        assert_eq!(checking.decisions, counting.decisions);
    }

    #[test]
    fn a_cost_is_given_in_all_and_without_the_replay() {
        let cost = |dpor_ns, replay_ns| Cost {
            executions: 2,
            longest: 5,
            steps: 10,
            new_steps: 8,
            dpor_ns,
            replay_ns,
        };
        let mut table = Table::default();
        add(&mut table, "program", Some(2), &cost(800.0, 400.0));
        // 800 ns by 10 steps, by 8 new ones, and 400 ns of it by 8.
        assert_eq!(table.rows[0][6..], ["80", "100", "50"]);
    }

    #[test]
    fn a_round_has_as_many_calls_as_fit() {
        let mut calls = 0_u32;
        // Long, since the time of the process has that of other tests in it.
        let asked = calls_for(Duration::from_secs(1), &mut || {
            calls += 1;
            black_box((0..2_000_u64).map(black_box).sum::<u64>());
        });
        assert!(asked > 1 && calls >= 1, "{asked} calls, {calls} to find out");
    }
}
