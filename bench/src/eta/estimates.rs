//! Figures 2 to 5: the estimated size of the space over time.

use raddle_trace::{Band, Estimate};

use super::coverage::add_guide;
use super::exhaustive::repeat;
use super::tests::{TESTS, Test, test};
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

/// What figure 5 is of.
const AT_RANDOM: &str = "The search of this figure is the benchmark's own (`bench/src/eta/at_random.rs`), which opens the nearest race of a step alone, as the \
    paper does, and is no strategy of raddle: `dpor(eta) random` is refused. Raddle's reductions that take what they know of at random are \
    `dpor(source) random` and `dpor(classic) random`.";

/// One figure: a search.
struct Figure {
    number: u32,
    strategy: &'static str,
    seeds: &'static str,
    /// What the paper says of it.
    published: &'static str,
    /// What else there is to say of the search.
    remark: Option<&'static str>,
}

impl Figure {
    /// The search as a page names it: a strategy of raddle as one would write it.
    fn named(&self) -> String {
        if self.remark.is_some() {
            self.strategy.to_owned()
        } else {
            format!("`{}`", self.strategy)
        }
    }
}

/// Figures 2 and 3: without reduction.
pub(super) fn figures23(effort: Effort, progress: &dyn Fn(&str)) -> Vec<Part> {
    let figures = [
        Figure {
            number: 2,
            strategy: "dfs random",
            seeds: "depth first",
            published: "off by a factor of up to 2, and jumpy; exact for PingPong",
            remark: None,
        },
        Figure {
            number: 3,
            strategy: "all random random",
            seeds: "at random",
            published: "off by less than 50 %, and stable",
            remark: None,
        },
    ];
    let mut parts: Vec<_> =
        figures.iter().map(|figure| unreduced(figure, effort, progress)).collect();
    parts.push(searches(effort, progress));
    parts.push(scheduler(effort, progress));
    parts
}

/// Larger tests take too long for a table of many searches; figures 2 and 3 have them.
const MOST: u64 = 1_000_000;
/// Searches without reduction whose estimates are compared, depth first but for the last.
const SEARCHES: [&str; 5] =
    ["dfs", "dfs random", "dfs probes(5)", "dfs random probes(1)", "all random random"];

/// How good estimates are on all tests whose size is known.
fn searches(effort: Effort, progress: &dyn Fn(&str)) -> Part {
    let header = [
        "search",
        "test",
        "runs",
        "off by at most",
        "from the first execution on",
        "band holds",
        "widest band",
    ];
    let mut table = Table {
        title: "Estimates of other searches".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        notes: vec![
            "Columns as above, the worst of all runs, which have seeds of their own. Estimates and bands of `probes(n)` are those of its \
             random descents, one after every n executions, which count as executions. Phils(3) is in figures 2 and 3."
                .to_owned(),
        ],
        ..Table::default()
    };
    for strategy in SEARCHES {
        for test in &TESTS {
            let Some(all) = test.all.filter(|all| *all <= MOST) else { continue };
            progress(&format!("estimates: {} {strategy}", test.name));
            let look = Look::FromTheFirst(all.div_ceil(POINTS));
            let how = How { look, ..How::new(strategy, effort.long) };
            match repeat(test, how, effort) {
                Ok(runs) => add_search(&mut table, strategy, test, all, &runs),
                Err(error) => table.failures.push(error),
            }
        }
    }
    Part { table, plots: Vec::new() }
}

fn add_search(table: &mut Table, strategy: &str, test: &Test, all: u64, runs: &[Run]) {
    let judged: Vec<_> = runs.iter().map(|run| Judged::new(all, run)).collect();
    let worst = |of: fn(&Judged) -> Option<f64>| {
        let worst = judged.iter().filter_map(of).max_by(f64::total_cmp);
        worst.map_or("—".to_owned(), |worst| format!("{worst:.2}"))
    };
    let (held, samples) =
        judged.iter().fold((0, 0), |sum, one| (sum.0 + one.held, sum.1 + one.samples));
    #[expect(clippy::cast_precision_loss, reason = "there are a few hundred samples")]
    let held = 100.0 * held as f64 / samples.max(1) as f64;
    table.rows.push(vec![
        format!("`{strategy}`"),
        test.name.to_owned(),
        runs.len().to_string(),
        worst(|judged| judged.off),
        worst(|judged| judged.off_from_the_first),
        format!("{held:.0} %"),
        worst(|judged| judged.widest),
    ]);
}

/// How good the estimates of a search were.
struct Judged {
    /// The least and the largest.
    ends: Option<(f64, f64)>,
    /// The factor by which they were off at most, and the same with those before that.
    off: Option<f64>,
    off_from_the_first: Option<f64>,
    samples: usize,
    /// How many bands have the number in them.
    held: usize,
    /// How many times high is low, at most.
    widest: Option<f64>,
}

impl Judged {
    /// From the part of the search on at which estimates are judged, if nothing else is said.
    #[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
    fn new(all: u64, run: &Run) -> Self {
        // Where there are probes, theirs is the better one.
        let band = |sample: &Sample| {
            sample.estimate.map(|e| e.probed.map_or(e.total, |probed| probed.total))
        };
        let late = |sample: &&Sample| sample.executions as f64 >= FROM * all as f64;
        let bands: Vec<Band> = run.samples.iter().filter(late).filter_map(band).collect();
        let off = |band: Band| accuracy(all, band.about);
        let abouts = || bands.iter().map(|band| band.about);
        let holds = |band: &&Band| band.low <= all as f64 && all as f64 <= band.high;
        Self {
            ends: abouts().min_by(f64::total_cmp).zip(abouts().max_by(f64::total_cmp)),
            off: bands.iter().copied().map(off).max_by(f64::total_cmp),
            off_from_the_first: run.samples.iter().filter_map(band).map(off).max_by(f64::total_cmp),
            samples: bands.len(),
            held: bands.iter().filter(holds).count(),
            widest: bands.iter().map(|band| band.high / band.low).max_by(f64::total_cmp),
        }
    }
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
        "from the first execution on",
        "band holds",
        "widest band",
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
                 after the first {:.0} % of the search; *off by* is max(y/x, x/y), and beside it the same from the first \
                 execution on. *Band*: that in which the number should be with a chance of 90 %; in how many of the samples after \
                 the first {:.0} % it is, and how many times high is low at most.",
                figure.strategy,
                100.0 * FROM,
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
        let look = Look::FromTheFirst(all.div_ceil(POINTS));
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
    let Judged { ends, off, off_from_the_first, samples, held, widest } = Judged::new(all, run);
    let held = 100.0 * held as f64 / samples.max(1) as f64;
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
        or_dash(off_from_the_first.map(|off| format!("{off:.2}"))),
        or_dash(widest.map(|_| format!("{held:.0} %"))),
        or_dash(widest.map(|widest| format!("{widest:.1}"))),
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
            remark: None,
        },
        Figure {
            number: 5,
            strategy: super::reduced::ETA_AT_RANDOM,
            seeds: "at random",
            published: "much like figure 3",
            remark: Some(AT_RANDOM),
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
                "{}. *Covered at half*: the part of the last estimate that was estimated to be \
                 covered after half of the time; 0.5 is best.",
                figure.named()
            ),
            format!("Published: {}.", figure.published),
        ],
        ..Table::default()
    };
    table.notes.extend(figure.remark.map(str::to_owned));
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
