//! How the time of an execution grows with its steps, under `dpor`.
//!
//! *Few races*: the accesses are to a variable of the thread's own, but for three of each of the
//! first two threads, at a quarter, a half and three quarters of their way, to one that both share:
//! C(6, 3) = 20 traces, whatever the length. With two threads, and with a third one that races
//! with neither. *One variable*: all accesses of two threads are to one variable. As `dpor` goes, depth
//! first and staying with a task, the first executions of that have few races each (all later accesses
//! are ordered by the one race where the tasks change). So it is also measured with an order in which
//! the tasks *take turns*: then each step races with the one before.

use peer::cpu_time;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;
use raddle_engine::strategy::{self, Answer, Cut, Event, Finished, Needs, Options, Plan, Strategy};
use raddle_search::{Dpor, Reduction};
use raddle_trace::Covered;

use super::steps::{calls_for, time};
use super::{Effort, run};
use crate::numbers::{duration, exponent, grouped, median, shown};
use crate::plot::{Plot, Scale, Series, Style};
use crate::table::{Comparison, Table};

/// Accesses of one execution.
const SIZES: [usize; 7] = [50, 100, 200, 500, 1_000, 2_000, 5_000];
/// From here on the exponent is also fitted alone.
const TAIL: usize = 1_000;
/// The traces of the programs with few races.
const TRACES: u64 = 20;
/// How much longer the next size may take than an exponent of three says.
const CAUTION: f64 = 1.5;
/// Accesses to the shared variable are at these quarters of a thread's way.
const QUARTERS: [usize; 3] = [1, 2, 3];

/// A program and how it is searched.
#[derive(Debug)]
struct Kind {
    name: &'static str,
    body: fn(usize),
    /// Executions of a search: all that there are, or where it is cut off.
    executions: u64,
    /// Whether a step of another task is preferred to one of the task that moved last.
    turns: bool,
    /// Whether it has constantly many races, and so shall grow linearly.
    linear: bool,
}

const KINDS: [Kind; 4] = [
    Kind {
        name: "few races",
        body: |steps| few_races(steps, 2),
        executions: TRACES,
        turns: false,
        linear: true,
    },
    Kind {
        name: "few races, 3 threads",
        body: |steps| few_races(steps, 3),
        executions: TRACES,
        turns: false,
        linear: true,
    },
    Kind {
        name: "one variable",
        body: one_variable,
        executions: TRACES,
        turns: false,
        linear: false,
    },
    Kind {
        name: "one variable, in turns",
        body: one_variable,
        executions: 1,
        turns: true,
        linear: false,
    },
];

impl Kind {
    fn search(&self, steps: usize) -> u64 {
        let body = || (self.body)(steps);
        let dpor = Dpor::new(Reduction::Optimal);
        // One more than there shall be shows if there are more.
        let limit = self.executions + u64::from(self.linear);
        let mut strategy: Box<dyn Strategy> =
            if self.turns { Box::new(Turns(dpor)) } else { Box::new(dpor) };
        run(&mut *strategy, limit, &body).counts.executions
    }
}

fn few_races(steps: usize, threads: usize) {
    let shared = AtomicUsize::new(0);
    let own: Vec<_> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
    thread::scope(|scope| {
        for (thread, own) in own.iter().enumerate() {
            let shared = &shared;
            scope.spawn(move || {
                let accesses = steps * (thread + 1) / threads - steps * thread / threads;
                for nth in 0..accesses {
                    let is_quarter = QUARTERS.iter().any(|quarter| nth == accesses * quarter / 4);
                    let meets = thread < 2 && is_quarter;
                    if meets { shared } else { own }.fetch_add(1, SeqCst);
                }
            });
        }
    });
}

fn one_variable(steps: usize) {
    let shared = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..steps / 2 {
                    shared.fetch_add(1, SeqCst);
                }
            });
        }
    });
}

/// `dpor`, told at every point that a task was running which did not move last.
#[derive(Debug)]
struct Turns(Dpor);

impl Strategy for Turns {
    fn needs(&self) -> Needs {
        self.0.needs()
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        self.0.begin(plan)
    }

    fn decide(&mut self, point: &strategy::Point<'_>) -> Answer {
        let running = match point.options {
            Options::Schedule(choices) => {
                choices.iter().map(|choice| choice.task).find(|task| *task != point.last)
            }
            Options::Value { .. } => point.running,
        };
        self.0.decide(&strategy::Point { running, ..*point })
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        self.0.step(event)
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.0.end(execution);
    }

    fn covered(&self) -> Covered {
        self.0.covered()
    }
}

/// Time of one execution at one size.
#[derive(Clone, Copy, Debug)]
struct Point {
    steps: usize,
    executions: u64,
    ns: f64,
}

pub(super) fn measure(effort: Effort, progress: &impl Fn(&str)) -> (Table, Plot) {
    let curves = KINDS.each_ref().map(|kind| {
        curve(effort, kind, |steps| progress(&format!("growth of {}, {steps} steps", kind.name)))
    });
    (table(effort, &curves), plot(&curves))
}

/// Measures size after size, until the next would take longer than the cap.
fn curve(effort: Effort, kind: &Kind, progress: impl Fn(usize)) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    for steps in SIZES {
        if points.last().is_some_and(|last| too_long(last, steps, effort)) {
            break;
        }
        progress(steps);
        let mut executions = 0;
        let mut search = || executions = kind.search(steps);
        let start = cpu_time();
        search();
        let first = cpu_time().saturating_sub(start);
        let ns = if first > effort.round {
            first.as_secs_f64() * 1e9
        } else {
            let calls = calls_for(effort.round / 4, &mut search);
            median((0..effort.rounds).map(|_| time(calls, &mut search)).collect())
        };
        points.push(Point { steps, executions, ns: per_execution(ns, executions) });
    }
    points
}

#[expect(clippy::cast_precision_loss, reason = "there are a few executions")]
fn per_execution(ns: f64, executions: u64) -> f64 {
    ns / executions as f64
}

/// Whether a search of so many steps would take longer than the cap, if it grew with the third
/// power.
#[expect(clippy::cast_precision_loss, reason = "sizes are small")]
fn too_long(last: &Point, steps: usize, effort: Effort) -> bool {
    let growth = (steps as f64 / last.steps as f64).powi(3);
    last.ns * last.executions as f64 * growth > CAUTION * effort.cap.as_nanos() as f64
}

/// The points of the largest sizes, where what grows fastest shows.
fn tail(points: &[Point]) -> Vec<Point> {
    points.iter().copied().filter(|point| point.steps >= TAIL).collect()
}

#[expect(clippy::cast_precision_loss, reason = "sizes are small")]
fn fitted(points: &[Point]) -> Option<f64> {
    let points: Vec<_> = points.iter().map(|point| (point.steps as f64, point.ns)).collect();
    exponent(&points)
}

fn table(effort: Effort, curves: &[Vec<Point>; KINDS.len()]) -> Table {
    let header = ["steps"].into_iter().chain(KINDS.map(|kind| kind.name)).chain([""]);
    let mut table = Table {
        title: "Growth: CPU time of one execution under dpor by its steps".to_owned(),
        header: header.map(str::to_owned).collect(),
        notes: vec![
            format!(
                "few races: two threads access their own variables, but for {} accesses of each, at \
                 fixed parts of its way, to one that they share: {TRACES} traces at every length \
                 (a row in which the search made another number of executions says so). The third thread shares nothing. The time is \
                 the mean over the whole search.",
                QUARTERS.len()
            ),
            format!(
                "one variable: all accesses of two threads are to one variable. The mean over the \
                 first {TRACES} executions, which have few races each since dpor stays with a task; \
                 and the first execution alone if the tasks take turns, so that each step races with \
                 the one before."
            ),
            format!(
                "The exponent is the slope of the least-squares line through the logarithms: 1 is \
                 linear growth, and times of a shared machine tell it to about 0.15. The last row \
                 is the same for the largest sizes, where what grows fastest shows. A size is left out \
                 where it would take more than {} s if the time grew with the third power.",
                (effort.cap.as_secs_f64() * CAUTION).round()
            ),
        ],
        ..Table::default()
    };
    for steps in SIZES {
        let mut cells = vec![grouped(steps as u64)];
        let mut differs = false;
        for (kind, points) in KINDS.iter().zip(curves) {
            let point = points.iter().find(|point| point.steps == steps);
            cells.push(point.map_or("—".to_owned(), |point| duration(point.ns)));
            differs |= point.is_some_and(|point| point.executions != kind.executions);
        }
        cells.push(if differs { "other executions" } else { "" }.to_owned());
        table.rows.push(cells);
    }
    let exponents = curves.each_ref().map(|points| fitted(points));
    let mut cells = vec!["exponent".to_owned()];
    cells.extend(exponents.map(|found| shown(found, 2)));
    cells.push(String::new());
    table.rows.push(cells);
    let mut cells = vec![format!("from {} on", grouped(TAIL as u64))];
    cells.extend(curves.each_ref().map(|points| shown(fitted(&tail(points)), 2)));
    cells.push(String::new());
    table.rows.push(cells);
    table.comparisons = KINDS
        .iter()
        .zip(exponents)
        .map(|(kind, ours)| Comparison {
            table: "growth",
            row: "exponent".to_owned(),
            column: kind.name.to_owned(),
            ours,
            peer: None,
            ratio: None,
        })
        .collect();
    table
}

#[expect(clippy::cast_precision_loss, reason = "sizes are small")]
fn plot(curves: &[Vec<Point>; KINDS.len()]) -> Plot {
    let series = |(kind, points): (&Kind, &Vec<Point>)| Series {
        name: match fitted(points) {
            Some(exponent) => format!("{}: exponent {exponent:.2}", kind.name),
            None => kind.name.to_owned(),
        },
        points: points.iter().map(|point| (point.steps as f64, point.ns / 1e3)).collect(),
        style: Style::Marks,
    };
    Plot {
        title: "Time of one execution under dpor by its steps".to_owned(),
        x: "steps of one execution".to_owned(),
        y: "µs of CPU time".to_owned(),
        scales: [Scale::Logarithmic; 2],
        series: KINDS.iter().zip(curves).map(series).collect(),
    }
}

#[cfg(test)]
mod tests {
    use raddle_engine::strategy::Estimating as _;

    use std::time::Duration;

    use super::*;

    #[expect(clippy::cast_precision_loss, reason = "sizes are small")]
    fn points(kind: &Kind, exponent: f64) -> Vec<Point> {
        let point = |&steps: &usize| {
            let ns = 100.0 * (steps as f64).powf(exponent);
            Point { steps, executions: kind.executions, ns }
        };
        SIZES.iter().map(point).collect()
    }

    #[test]
    fn exponents_are_fitted_to_each_curve_and_to_its_tail() {
        let mut exponents = [1.0, 1.1, 1.5, 2.5].into_iter();
        let mut curves =
            KINDS.each_ref().map(|kind| points(kind, exponents.next().expect("one for each")));
        curves[3].truncate(3);
        let table = table(Effort::QUICK, &curves);
        let [.., all, tail] = &table.rows[..] else { panic!("two rows of exponents") };
        assert_eq!(all[1..], ["1.00", "1.10", "1.50", "2.50", ""]);
        assert_eq!((tail[3].as_str(), tail[4].as_str()), ("1.50", "—"));
        assert_eq!((table.rows.len(), table.rows[3][4].as_str()), (SIZES.len() + 2, "—"));
        assert_eq!(plot(&curves).svg().matches("<circle").count(), 3 * SIZES.len() + 3);
    }

    #[test]
    fn another_number_of_executions_is_said() {
        let mut curves = KINDS.each_ref().map(|kind| points(kind, 1.0));
        curves[0][2].executions += 1;
        let table = table(Effort::QUICK, &curves);
        assert_eq!(
            (table.rows[1][5].as_str(), table.rows[2][5].as_str()),
            ("", "other executions")
        );
    }

    #[test]
    fn a_size_is_left_out_if_the_third_power_would_exceed_the_cap() {
        let last = Point { steps: 100, executions: 20, ns: 5e6 };
        let effort = |seconds| Effort { cap: Duration::from_secs(seconds), ..Effort::QUICK };
        // 0.1 s for 100 steps, so 0.8 s for 200 and 100 s for 1,000.
        assert!(!too_long(&last, 200, effort(1)));
        assert!(too_long(&last, 1_000, effort(60)));
        assert!(!too_long(&last, 1_000, effort(70)));
    }

    #[test]
    fn threads_with_few_races_have_so_many_traces_at_every_length() {
        for (steps, threads) in [(8, 2), (30, 2), (45, 3)] {
            let mut source = Dpor::new(Reduction::Source);
            let explored = run(&mut source, 1_000, &|| few_races(steps, threads));
            assert_eq!(explored.counts.executions - explored.counts.blocked, TRACES);
            // The accesses, and a join for each thread.
            assert_eq!(explored.counts.max_steps, (steps + threads) as u64);
        }
    }

    #[test]
    fn in_turns_each_step_races_with_the_one_before() {
        let steps = 10;
        let mut turns = Turns(Dpor::new(Reduction::Optimal));
        run(&mut turns, 1, &|| one_variable(steps));
        // Each race opens a branch.
        assert_eq!(turns.0.progress().pending, steps as u64 - 1);
    }
}
