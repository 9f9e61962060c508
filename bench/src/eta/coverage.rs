//! Figure 1: distinct executions over time, of the random manager and of the exploratory one; and how
//! long random needs to have seen all.

use super::tests::{TESTS, Test};
use super::watched::{How, Look, Run, run};
use super::{Effort, Part, large, seconds};
use crate::numbers::grouped;
use crate::plot::{Plot, Scale, Series, Style};
use crate::table::{Comparison, Table};

/// The tests that are plotted.
const PLOTTED: [&str; 4] = ["Store(1,1,1,3)", "Store(2,2,3,3)", "Phils(3)", "PingPong(15)"];
/// Above so many executions random is not run to its end.
const MAX_EXECUTIONS: u64 = 100_000;

/// Figure 1, and the table that its text has.
pub(super) fn figure1(effort: Effort, progress: &dyn Fn(&str)) -> Vec<Part> {
    let header = [
        "test",
        "executions",
        "random needs",
        "n·H(n)",
        "random",
        "exploratory",
        "÷",
        "Eta: random",
        "exploratory",
        "÷",
        "",
    ];
    let mut table = Table {
        title: "Figure 1: random against exploratory".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        notes: vec![
            "Random picks a mailbox, each with the same chance. *random needs*: executions until all \
             were seen, with seed 1. *n·H(n)*: what a sampler needs on the average that draws every \
             execution with the same chance (the coupon collector)."
                .to_owned(),
            format!(
                "CPU time. Random's has in it the comparison with all executions before, by a hash of \
                 its decisions. Given up after {} s (*).",
                effort.cap.as_secs()
            ),
            "Eta's times are those that section 3.2 compares; table 1 has others of the same searches.".to_owned(),
        ],
        ..Table::default()
    };
    let mut plots = Vec::new();
    for test in &TESTS {
        let Some(all) = test.all else { continue };
        let is_plotted = PLOTTED.contains(&test.name);
        if all > MAX_EXECUTIONS && !is_plotted {
            continue;
        }
        progress(&format!("figure 1: {}", test.name));
        let look = Look::Growing(10);
        let exploratory = run(test, How { look, ..How::new("dfs", effort.cap) });
        let until_distinct = Some(all);
        let random = run(test, How { look, until_distinct, ..How::new("random", effort.cap) });
        let (exploratory, random) = match (exploratory, random) {
            (Ok(exploratory), Ok(random)) => (exploratory, random),
            (Err(error), _) | (_, Err(error)) => {
                table.failures.push(error);
                continue;
            }
        };
        add_row(&mut table, test, all, &exploratory, &random);
        if is_plotted {
            let name = format!("figure1-{}", test.slug());
            plots.push((name, plot(test, all, &exploratory, &random)));
        }
    }
    vec![Part { table, plots }]
}

/// Executions until all of n were drawn, if each is drawn with the same chance: n(1 + 1/2 + … + 1/n).
#[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
fn collector(n: u64) -> f64 {
    (1..=n).map(|nth| n as f64 / nth as f64).sum()
}

fn add_row(table: &mut Table, test: &Test, all: u64, exploratory: &Run, random: &Run) {
    let star = |run: &Run| if run.is_whole { "" } else { "*" };
    let (theirs, ours) = (random.last(), exploratory.last());
    let ratio = theirs.seconds / ours.seconds;
    let published = test.random;
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "—".to_owned());
    table.rows.push(vec![
        test.name.to_owned(),
        grouped(all),
        if random.is_whole {
            grouped(theirs.executions)
        } else {
            format!("{} of {}*", grouped(theirs.distinct), grouped(theirs.executions))
        },
        large(collector(all)),
        seconds(theirs.seconds) + star(random),
        seconds(ours.seconds) + star(exploratory),
        if random.is_whole { format!("{ratio:.1}") } else { "—".to_owned() },
        or_dash(published.map(|(random, _)| seconds(random))),
        or_dash(published.map(|(_, exploratory)| seconds(exploratory))),
        or_dash(published.map(|(random, exploratory)| format!("{:.1}", random / exploratory))),
        String::new(),
    ]);
    table.comparisons.push(Comparison {
        table: "figure1",
        row: test.name.to_owned(),
        column: "random by exploratory".to_owned(),
        ours: random.is_whole.then_some(ratio),
        peer: published.map(|(random, exploratory)| random / exploratory),
        ratio: None,
    });
}

#[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
fn plot(test: &Test, all: u64, exploratory: &Run, random: &Run) -> Plot {
    let series = |name: &str, run: &Run| Series {
        name: name.to_owned(),
        points: run.samples.iter().map(|sample| (sample.seconds, sample.distinct as f64)).collect(),
        style: Style::Line,
    };
    let series = vec![series("exploratory (dfs)", exploratory), series("random", random)];
    let mut plot = Plot {
        title: format!("Figure 1: distinct executions of {} over time", test.name),
        x: "seconds of CPU time".to_owned(),
        y: "distinct executions".to_owned(),
        scales: [Scale::Logarithmic; 2],
        series,
    };
    add_guide(&mut plot, format!("all: {}", grouped(all)), all as f64);
    plot
}

/// A level line over the whole plot.
pub(super) fn add_guide(plot: &mut Plot, name: String, y: f64) {
    let xs = || plot.series.iter().flat_map(|series| &series.points).map(|point| point.0);
    let ends = [xs().fold(f64::INFINITY, f64::min), xs().fold(0.0, f64::max)];
    let points = ends.map(|x| (x, y)).to_vec();
    plot.series.push(Series { name, points, style: Style::Guide });
}

#[cfg(test)]
mod checks {
    use super::super::tests::test;
    use super::*;

    #[test]
    fn a_collector_of_two_coupons_needs_three() {
        assert!((collector(1) - 1.0).abs() < 1e-12);
        assert!((collector(2) - 3.0).abs() < 1e-12);
    }

    #[test]
    fn plotted_tests_are_there() {
        assert!(PLOTTED.iter().all(|name| test(name).all.is_some()));
    }
}
