//! Figures 2 to 5: the estimated size of the space over time.

use raddle_trace::Estimate;

use super::coverage::add_guide;
use super::tests::{Test, test};
use super::watched::{How, Look, Run, Sample, run};
use super::{Effort, Part, accuracy, large, seconds};
use crate::numbers::grouped;
use crate::plot::{Plot, Scale, Series, Style};
use crate::table::{Comparison, Table};

/// Those of them that have something left under reduction.
const REDUCED: [&str; 3] = ["Store(1,2,2,3)", "Phils(3)", "Scheduler"];
/// The tests that are plotted.
const PLOTTED: [&str; 4] = ["Store(1,1,1,3)", "Store(2,2,3,3)", "Phils(3)", "PingPong(15)"];
/// Points of a curve.
const POINTS: u64 = 200;
/// The estimate is judged from this part of the search on.
const FROM: f64 = 0.05;

/// One figure: a search.
struct Figure {
    number: u32,
    strategy: &'static str,
    seeds: &'static str,
    /// What the paper says of it.
    published: &'static str,
}

/// Figures 2 and 3: without reduction.
pub(super) fn figures23(effort: Effort, progress: &dyn Fn(&str)) -> Vec<Part> {
    let figures = [
        Figure {
            number: 2,
            strategy: "dfs random",
            seeds: "depth first",
            published: "off by a factor of up to 2, and jumpy; exact for PingPong",
        },
        Figure {
            number: 3,
            strategy: "all random random",
            seeds: "at random",
            published: "off by less than 50 %, and stable",
        },
    ];
    let mut parts: Vec<_> =
        figures.iter().map(|figure| unreduced(figure, effort, progress)).collect();
    parts.push(scheduler(effort, progress));
    parts
}

/// The one whose size is not known.
fn scheduler(effort: Effort, progress: &dyn Fn(&str)) -> Part {
    let header = ["strategy", "run", "time", "estimate", "with a chance of 90 %", ""];
    let test = test("Scheduler");
    let mut table = Table {
        title: "Scheduler: how many executions there may be".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        notes: vec![
            "`scheduler(3, 3, 2)`: three machines, three tasks, two failures. Published, for a \
             program of which only the name is known: about 10^17."
                .to_owned(),
        ],
        ..Table::default()
    };
    for strategy in ["dfs random", "all random random", "dfs random probes(1)"] {
        progress(&format!("estimate: Scheduler {strategy}"));
        let how = How::new(strategy, (effort.cap / 4).max(std::time::Duration::from_secs(2)));
        match run(test, how) {
            Ok(run) => {
                let estimate = run.last().estimate;
                // Where there are probes, theirs is the better one.
                let band = estimate.map(|e| e.probed.map_or(e.total, |probed| probed.total));
                let or_dash = |text: Option<String>| text.unwrap_or_else(|| "—".to_owned());
                table.rows.push(vec![
                    strategy.to_owned(),
                    grouped(run.last().executions),
                    seconds(run.last().seconds),
                    or_dash(band.map(|band| large(band.about))),
                    or_dash(band.map(|band| format!("{} … {}", large(band.low), large(band.high)))),
                    String::new(),
                ]);
            }
            Err(error) => table.failures.push(error),
        }
    }
    Part { table, plots: Vec::new() }
}

#[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
fn unreduced(figure: &Figure, effort: Effort, progress: &dyn Fn(&str)) -> Part {
    let header = [
        "test",
        "executions",
        "least estimate",
        "largest",
        "off by at most",
        "at half",
        "time",
        "",
    ];
    let mut table = Table {
        title: format!("Figure {}: estimates with seeds {}", figure.number, figure.seeds),
        header: header.map(str::to_owned).to_vec(),
        notes: vec![
            format!(
                "`{}`: after the decisions that were planned any task moves, as in Eta. Estimates \
                 after the first {:.0} % of the search; *off by* is max(y/x, x/y).",
                figure.strategy,
                100.0 * FROM
            ),
            format!("Published: {}.", figure.published),
        ],
        ..Table::default()
    };
    let mut plots = Vec::new();
    for test in PLOTTED.map(test) {
        progress(&format!("figure {}: {}", figure.number, test.name));
        let all = test.all.expect("plotted tests are known");
        let look = Look::Every(all.div_ceil(POINTS));
        let run = match run(test, How { look, ..How::new(figure.strategy, effort.long) }) {
            Ok(run) => run,
            Err(error) => {
                table.failures.push(error);
                continue;
            }
        };
        add_row(&mut table, figure, test, all, &run);
        let plot = curve(figure, test, &run, |_, sample| sample.executions as f64, all as f64);
        plots.push((format!("figure{}-{}", figure.number, test.slug()), plot));
    }
    Part { table, plots }
}

#[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
fn add_row(table: &mut Table, figure: &Figure, test: &Test, all: u64, run: &Run) {
    let late = |sample: &&Sample| sample.executions as f64 >= FROM * all as f64;
    let totals: Vec<_> =
        run.samples.iter().filter(late).filter_map(|s| Some(s.estimate?.total.about)).collect();
    let ends = (!totals.is_empty()).then(|| {
        let least = totals.iter().copied().fold(f64::INFINITY, f64::min);
        (least, totals.iter().copied().fold(0.0, f64::max))
    });
    let off = ends.map(|(least, most)| accuracy(all, least).max(accuracy(all, most)));
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "—".to_owned());
    let half = run.samples.iter().find(|sample| sample.executions >= all / 2);
    let half = half.and_then(|sample| sample.estimate).map(|estimate| estimate.total.about);
    let star = if run.is_whole { "" } else { "*" };
    table.rows.push(vec![
        test.name.to_owned(),
        grouped(run.last().executions) + star,
        or_dash(ends.map(|(least, _)| large(least))),
        or_dash(ends.map(|(_, most)| large(most))),
        or_dash(off.map(|off| format!("{off:.2}"))),
        or_dash(half.map(|half| format!("{:.2}", half / all as f64))),
        seconds(run.last().seconds),
        String::new(),
    ]);
    if !run.is_whole {
        table.notes.push(format!("* {} was given up before its end.", test.name));
    }
    table.comparisons.push(Comparison {
        table: if figure.number == 2 { "figure2" } else { "figure3" },
        row: test.name.to_owned(),
        column: "off by at most".to_owned(),
        ours: off,
        peer: None,
        ratio: None,
    });
}

/// The estimate, what is done of it, and the line to which it should come.
fn curve(
    figure: &Figure,
    test: &Test,
    run: &Run,
    done: impl Fn(&Estimate, &Sample) -> f64,
    line: f64,
) -> Plot {
    let estimated = |of: &dyn Fn(&Estimate, &Sample) -> f64| {
        let point = |sample: &Sample| Some((sample.seconds, of(&sample.estimate?, sample)));
        run.samples.iter().filter_map(point).collect()
    };
    let is_reduced = figure.number > 3;
    let series = |name: &str, points| Series { name: name.to_owned(), points, style: Style::Line };
    let name = if is_reduced { "executions estimated to be covered" } else { "executions run" };
    let mut plot = Plot {
        title: format!(
            "Figure {}: {}, seeds {}{}",
            figure.number,
            test.name,
            figure.seeds,
            if is_reduced { ", reduced" } else { "" }
        ),
        x: "seconds of CPU time".to_owned(),
        y: "executions".to_owned(),
        scales: [Scale::Linear; 2],
        series: vec![
            series(name, estimated(&|estimate, sample| done(estimate, sample))),
            series("estimate of all", estimated(&|estimate, _| estimate.total.about)),
        ],
    };
    let name = if is_reduced { "last estimate" } else { "all" };
    add_guide(&mut plot, format!("{name}: {}", large(line)), line);
    plot
}

/// Figures 4 and 5: with reduction.
pub(super) fn figures45(effort: Effort, progress: &dyn Fn(&str)) -> Vec<Part> {
    let figures = [
        Figure {
            number: 4,
            strategy: super::reduced::ETA,
            seeds: "depth first",
            published: "much like figure 2",
        },
        Figure {
            number: 5,
            strategy: super::reduced::ETA_AT_RANDOM,
            seeds: "at random",
            published: "much like figure 3",
        },
    ];
    figures.iter().map(|figure| reduced(figure, effort, progress)).collect()
}

fn reduced(figure: &Figure, effort: Effort, progress: &dyn Fn(&str)) -> Part {
    let header = ["test", "all", "run", "last estimate", "covered at half", "time", ""];
    let mut table = Table {
        title: format!(
            "Figure {}: estimates with reduction, seeds {}",
            figure.number, figure.seeds
        ),
        header: header.map(str::to_owned).to_vec(),
        notes: vec![
            format!(
                "`{}`. *Covered at half*: the part of the last estimate that was estimated to be \
                 covered after half of the time; 0.5 is best.",
                figure.strategy
            ),
            format!("Published: {}.", figure.published),
        ],
        ..Table::default()
    };
    let mut plots = Vec::new();
    for test in REDUCED.map(test) {
        progress(&format!("figure {}: {}", figure.number, test.name));
        // How long it is is not known: looked at often at first, then less often.
        let look = Look::Growing(2);
        let run = match run(test, How { look, ..How::new(figure.strategy, effort.cap) }) {
            Ok(run) => run,
            Err(error) => {
                table.notes.push(format!("Not measured: {error}."));
                break;
            }
        };
        let Some(last) = run.last().estimate else {
            table.notes.push(format!("{}: no estimate.", test.name));
            continue;
        };
        let total = last.total.about;
        let half = run.samples.iter().find(|sample| sample.seconds >= run.last().seconds / 2.0);
        let half = half.and_then(|sample| sample.estimate).map(|estimate| estimate.covered / total);
        let star = if run.is_whole { "" } else { "*" };
        table.rows.push(vec![
            test.name.to_owned(),
            test.all.map_or("—".to_owned(), grouped),
            grouped(run.last().executions) + star,
            large(total),
            half.map_or("—".to_owned(), |half| format!("{half:.2}")),
            seconds(run.last().seconds),
            String::new(),
        ]);
        // A handful of points is no curve.
        if run.samples.len() > 10 {
            let plot = curve(figure, test, &run, |estimate, _| estimate.covered, total);
            plots.push((format!("figure{}-{}", figure.number, test.slug()), plot));
        }
    }
    Part { table, plots }
}
