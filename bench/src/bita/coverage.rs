//! Table III and figure 6: which orders of receives the versions that are right have shown, over executions and over time.

use std::time::{Duration, Instant};

use raddle_corpus::actors::systems::SUBJECTS;
use raddle_corpus::program::Program;

use super::orders::{Criterion, Listener, Log, Point, Seen, add_point};
use super::runs::{Size, explored};
use super::statistics::{geometric, mean};
use super::{Effort, threads};
use crate::numbers::{duration, grouped};
use crate::part::Part;
use crate::plot::{Plot, Scale, Series, Style};
use crate::table::{Comparison, Table};

/// The largest delay of the baseline in real time: the paper's best.
const MAX_DELAY: Duration = Duration::from_millis(300);
/// So often in the paper.
const REPETITIONS: u64 = 5;
/// How many times the coverage of random delays in the same time the paper reports for PR.
const THEIRS: f64 = 3.0;

/// A program at a size.
#[derive(Clone, Debug)]
struct Subject {
    program: &'static Program,
    size: Size,
    arguments: Vec<usize>,
}

/// One program by one criterion, a curve for each repetition.
struct Row {
    subject: Subject,
    criterion: Criterion,
    bita: Vec<Vec<Point>>,
    random: Vec<Vec<Point>>,
    delays: Vec<Vec<Point>>,
}

/// The tables, and the curves of two programs.
pub(crate) fn tables(effort: Effort, progress: &dyn Fn(&str)) -> Vec<Part> {
    let repetitions = effort.repetitions.min(REPETITIONS);
    let subjects: Vec<_> = Size::ALL
        .into_iter()
        .flat_map(|size| {
            SUBJECTS.iter().map(move |subject| {
                let program = &subject.test.correct;
                Subject { program, size, arguments: size.arguments(program) }
            })
        })
        .collect();
    progress("coverage with delays");
    let delayed = with_delays(&subjects, effort, repetitions);
    let mut failures = Vec::new();
    let mut rows = Vec::new();
    for (nth, subject) in subjects.iter().enumerate() {
        progress(&format!("coverage of {} ({})", subject.program.name, subject.size.name()));
        for (at, criterion) in Criterion::ALL.into_iter().enumerate() {
            let mut search = |strategy: &str, budget: u64| -> Vec<Vec<Point>> {
                let run = |seed| curve(subject, criterion, strategy, seed, budget, effort);
                let curves = (1..=repetitions).map(run).collect::<Result<_, _>>();
                curves.unwrap_or_else(|error| {
                    failures.push(format!("{}: {error}", subject.program.name));
                    Vec::new()
                })
            };
            let bita = search(criterion.strategy(), effort.schedules);
            let most = bita.iter().map(Vec::len).max().unwrap_or(0) as u64;
            let random = search("random", most.max(1));
            let delays = delayed[nth][at].clone();
            rows.push(Row { subject: subject.clone(), criterion, bita, random, delays });
        }
    }
    let mut parts: Vec<Part> = Criterion::ALL
        .into_iter()
        .map(|criterion| table(criterion, &rows, effort).into())
        .collect();
    if let Some(first) = parts.first_mut() {
        first.table.failures = failures;
        first.plots = plots(&rows);
    }
    parts
}

fn curve(
    subject: &Subject,
    criterion: Criterion,
    strategy: &str,
    seed: u64,
    budget: u64,
    effort: Effort,
) -> Result<Vec<Point>, String> {
    let mut listener = Listener::new(criterion);
    let body = || subject.program.call(&subject.arguments);
    let ended = explored(strategy, seed, (budget, effort.cap), &mut [&mut listener], &body)?;
    match &ended.failure {
        Some(failure) => Err(format!("{strategy}: {:?}", failure.outcome)),
        None => Ok(listener.curve),
    }
}

/// For each subject, criterion and repetition a curve on threads, within the time limit.
fn with_delays(
    subjects: &[Subject],
    effort: Effort,
    repetitions: u64,
) -> Vec<[Vec<Vec<Point>>; 3]> {
    let asked: Vec<_> = subjects
        .iter()
        .flat_map(|subject| (1..=repetitions).map(move |seed| (subject.clone(), seed)))
        .collect();
    let run = |(subject, seed): &(Subject, u64)| {
        let mut seen = Criterion::ALL.map(Seen::new);
        let mut curves = [Vec::new(), Vec::new(), Vec::new()];
        let begin = Instant::now();
        while begin.elapsed() < effort.time_limit {
            let nth = curves[0].len() as u64;
            let log = Log::new(MAX_DELAY, seed.wrapping_mul(1 << 20).wrapping_add(nth));
            threads::once(subject.program, &subject.arguments, Some(log.clone()));
            let log = log.take();
            for (seen, curve) in seen.iter_mut().zip(&mut curves) {
                add_point(seen, curve, begin, &log);
            }
        }
        // What had not ended when time was over.
        for curve in &mut curves {
            curve.retain(|point| point.time <= effort.time_limit);
        }
        curves
    };
    let all = threads::silently(|| threads::all(&asked, run));
    let n = usize::try_from(repetitions).unwrap_or(usize::MAX);
    let of_one = |curves: &[[Vec<Point>; 3]]| {
        [0, 1, 2].map(|at| curves.iter().map(|curves| curves[at].clone()).collect())
    };
    all.chunks(n).map(of_one).collect()
}

#[expect(clippy::cast_precision_loss, reason = "pairs are far below 2^52")]
fn covered(point: Option<&Point>) -> f64 {
    point.map_or(0.0, |point| point.covered as f64)
}

/// The mean of what was covered at the end of each curve, or after so many executions.
fn at(curves: &[Vec<Point>], executions: Option<u64>) -> Option<f64> {
    let within = |point: &&Point| executions.is_none_or(|most| point.executions <= most);
    let last = |curve: &Vec<Point>| covered(curve.iter().rfind(within));
    (!curves.is_empty()).then(|| mean(&curves.iter().map(last).collect::<Vec<_>>()).value)
}

/// The most pairs that any of the ways has covered in a repetition.
fn possible(row: &Row) -> f64 {
    let curves = row.bita.iter().chain(&row.random).chain(&row.delays);
    curves.map(|curve| covered(curve.last())).fold(0.0, f64::max)
}

fn length(curves: &[Vec<Point>]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "there are some hundred executions")]
    let lengths: Vec<_> = curves.iter().map(|curve| curve.len() as f64).collect();
    if lengths.is_empty() { 0.0 } else { mean(&lengths).value }
}

fn table(criterion: Criterion, rows: &[Row], effort: Effort) -> Table {
    let header = [
        "program",
        "schedules",
        "time",
        "covered",
        "random, same executions",
        "ratio",
        "delays, executions",
        "delays, covered",
        "ratio",
        "bita after as many",
        "ratio",
        "most possible",
    ];
    let mut table = Table {
        title: format!("Pairs of receives covered by {}", criterion.name()),
        header: header.map(str::to_owned).to_vec(),
        ..Table::default()
    };
    let mut ratios: [Vec<f64>; 3] = [Vec::new(), Vec::new(), Vec::new()];
    let mut ceilings = Vec::new();
    for row in rows.iter().filter(|row| row.criterion == criterion) {
        let (program, size) = (row.subject.program, row.subject.size.name());
        let (Some(ours), Some(random)) = (at(&row.bita, None), at(&row.random, None)) else {
            continue;
        };
        let delays = at(&row.delays, None).unwrap_or(0.0);
        if criterion == Criterion::Pbr && ours + random + delays <= 0.0 {
            // Its actors do not become others, or never in another order.
            continue;
        }
        let steps = length(&row.delays).round();
        #[expect(clippy::cast_sign_loss, reason = "a length")]
        let equal = at(&row.bita, Some(steps as u64)).unwrap_or(0.0);
        let time = row.bita.iter().filter_map(|curve| Some(curve.last()?.time.as_secs_f64()));
        let time = mean(&time.collect::<Vec<_>>()).value;
        let pairs = [(ours, random), (ours, delays), (equal, delays)];
        let shown = pairs.map(|(ours, theirs)| ratio(ours, theirs));
        for (ratios, (ours, theirs)) in ratios.iter_mut().zip(pairs) {
            if ours > 0.0 && theirs > 0.0 {
                ratios.push(ours / theirs);
            }
        }
        table.comparisons.push(Comparison {
            table: "bita-coverage",
            row: format!("{} ({size})", program.name),
            column: criterion.name().to_owned(),
            ours: Some(ours),
            peer: Some(random),
            ratio: (random > 0.0).then(|| ours / random),
        });
        let [same, in_time, per_schedule] = shown;
        let possible = possible(row);
        if equal > 0.0 && delays > 0.0 {
            ceilings.push(possible / delays);
        }
        table.rows.push(vec![
            format!("{} ({size})", program.name),
            format!("{:.0}", length(&row.bita)),
            duration(time * 1e9),
            format!("{ours:.1}"),
            format!("{random:.1}"),
            same,
            format!("{steps:.0}"),
            format!("{delays:.1}"),
            in_time,
            format!("{equal:.1}"),
            per_schedule,
            ratio(possible, delays),
        ]);
    }
    let [same, in_time, per_schedule] =
        ratios.map(|of| geometric(of).map_or("—".to_owned(), |mean| format!("{mean:.2}")));
    let mut row = vec!["geometric mean".to_owned()];
    row.extend(["", "", "", ""].map(str::to_owned));
    row.extend([same, String::new(), String::new(), in_time, String::new(), per_schedule]);
    row.push(geometric(ceilings.clone()).map_or("—".to_owned(), |mean| format!("{mean:.2}")));
    table.rows.push(row);
    if criterion == Criterion::Pr {
        notes(&mut table, &ceilings, effort);
    }
    table
}

fn notes(table: &mut Table, ceilings: &[f64], effort: Effort) {
    table.notes.push(format!(
        "Means over repetitions. `schedules`: executions of `bita` with this criterion until it has nothing left to try, at \
         most {}; `time`: its CPU time. `random`: the strategy `random`, as many executions.",
        grouped(effort.schedules)
    ));
    table.notes.push(format!(
        "`delays`: on threads with random delays of at most {} ms for {} of real time, in which `bita` was over long before; \
         then `bita` after as many executions as that has run. The paper reports {THEIRS} × for PR in the same time.",
        MAX_DELAY.as_millis(),
        duration(effort.time_limit.as_secs_f64() * 1e9)
    ));
    let below = ceilings.iter().filter(|ceiling| **ceiling < THEIRS).count();
    table.notes.push(format!(
        "`most possible`: the most pairs that any repetition of any of the three ways covered in all of its executions, taken for all \
         that there are, for one that delays covered. No way covers more than there are, so this bounds the ratio to its left: \
         it is below {THEIRS} in {below} of the {} rows that have both. The more executions delays have, the nearer to 1 it \
         comes, so the ratio for as many executions says something only while both have few.",
        ceilings.len()
    ));
    table.notes.push(
        "Rows in which one of the two has covered nothing are left out of the geometric means, whichever it is (`∞`: the \
         other one). Delays draw other orders than a schedule of single steps can: what both cover is not the same set."
            .to_owned(),
    );
}

fn ratio(ours: f64, theirs: f64) -> String {
    match (ours > 0.0, theirs > 0.0) {
        (_, true) => format!("{:.2}", ours / theirs),
        (true, false) => "∞".to_owned(),
        (false, false) => "n/a".to_owned(),
    }
}

/// Figure 6: a program by PR and one by PCR, over executions and over time.
fn plots(rows: &[Row]) -> Vec<(String, Plot)> {
    let wanted = [("graph", Criterion::Pr), ("load", Criterion::Pcr)];
    let find = |(name, criterion): (&str, Criterion)| {
        rows.iter().find(|row| {
            let subject = &row.subject;
            subject.program.name == name
                && subject.size == Size::Large
                && row.criterion == criterion
        })
    };
    let mut plots = Vec::new();
    for row in wanted.into_iter().filter_map(find) {
        let name = format!("{} by {}", row.subject.program.name, row.criterion.name());
        let file = format!("coverage-{}-{}", row.subject.program.name, row.criterion.name());
        let file = file.to_lowercase();
        let curves =
            [("bita", &row.bita), ("random", &row.random), ("delays ≤ 300 ms", &row.delays)];
        plots.push((file.clone(), plot(&name, "executions", &curves, executions_of)));
        plots.push((file + "-time", plot(&name, "seconds", &curves, seconds_of)));
    }
    plots
}

#[expect(clippy::cast_precision_loss, reason = "there are some hundred executions")]
fn executions_of(point: &Point) -> f64 {
    point.executions as f64
}

fn seconds_of(point: &Point) -> f64 {
    point.time.as_secs_f64()
}

/// The first repetition of each.
fn plot(
    name: &str,
    x: &str,
    curves: &[(&str, &Vec<Vec<Point>>); 3],
    of: fn(&Point) -> f64,
) -> Plot {
    let series = curves.iter().map(|(name, curves)| {
        let points = curves.first().into_iter().flatten();
        let points = points.map(|point| (of(point), covered(Some(point)))).collect();
        Series { name: (*name).to_owned(), points, style: Style::Line }
    });
    Plot {
        title: format!("Pairs covered of {name}, over {x}"),
        x: x.to_owned(),
        y: "pairs covered".to_owned(),
        scales: [Scale::Logarithmic, Scale::Linear],
        series: series.collect(),
    }
}
