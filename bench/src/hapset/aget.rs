//! Table 4: aget with 2 to 10 threads.

use super::searched::{How, Result, mean, until_bug};
use super::tables::case;
use super::{Effort, Part};
use crate::numbers::exponent;
use crate::plot::{Plot, Scale, Series, Style};
use crate::table::{Comparison, Table};

const SIZES: [&[usize]; 9] =
    [&[2, 2], &[3, 2], &[4, 2], &[5, 2], &[6, 2], &[7, 2], &[8, 2], &[9, 2], &[10, 2]];

const STRATEGIES: [&str; 4] =
    ["hapset(dpor)", "hapset(preemptions(2))", "dpor(classic)", "dfs preemptions(2)"];

pub(crate) fn table4(effort: Effort, progress: &dyn Fn(&str)) -> Vec<Part> {
    let parts = ["aget-count", "aget-save"].map(|name| growth(name, effort, progress));
    parts.into()
}

fn growth(name: &'static str, effort: Effort, progress: &dyn Fn(&str)) -> Part {
    let columns = |to: &str| STRATEGIES.map(|strategy| format!("{strategy}, {to}"));
    let mut table = Table {
        title: format!("Table 4, {name} with 2 to 10 threads of 2 chunks"),
        header: ["threads".to_owned()]
            .into_iter()
            .chain(columns("bug"))
            .chain([format!("{}, end", STRATEGIES[0]), "hapset(dpor)".to_owned()])
            .collect(),
        ..Table::default()
    };
    let mut series = STRATEGIES.map(|strategy| Series {
        name: format!("{strategy}, to the bug"),
        points: Vec::new(),
        style: Style::Marks,
    });
    let mut to_the_end = Vec::new();
    for size in SIZES {
        let case = case(name, size);
        progress(&format!("table4: {name} with {} threads", size[0]));
        #[expect(clippy::cast_precision_loss, reason = "a few threads")]
        let threads = size[0] as f64;
        let bugs = STRATEGIES.map(|strategy| until_bug(case, How::new(strategy, effort)));
        for (series, bug) in series.iter_mut().zip(&bugs) {
            series.points.extend(bug.found().map(|at| (threads, at)));
        }
        let end = until_bug(case, How::new(STRATEGIES[0], effort).to_the_end());
        if let Result::Ended(..) = end {
            to_the_end.extend(end.run().map(|n| (threads, n)));
        }
        let verdict = if bugs[0].found().is_some() { "found" } else { "not found" };
        table.rows.push(
            [size[0].to_string()]
                .into_iter()
                .chain(bugs.iter().map(Result::hunt))
                .chain([end.cell(), verdict.to_owned()])
                .collect(),
        );
    }
    let mut all: Vec<Series> = series.into();
    for (what, points) in [("to the bug", ours(&all)), ("to the end", to_the_end)] {
        let (note, comparison) = fitted(name, what, &points);
        table.notes.push(note);
        table.comparisons.push(comparison);
        if what == "to the end" {
            let style = Style::Guide;
            all.push(Series { name: "hapset(dpor), to the end".to_owned(), points, style });
        }
    }
    let plot = Plot {
        title: format!("{name}: executions over threads"),
        x: "threads".to_owned(),
        y: "executions".to_owned(),
        scales: [Scale::Linear, Scale::Logarithmic],
        series: all.into_iter().filter(|series| !series.points.is_empty()).collect(),
    };
    Part { table, plots: vec![(format!("growth-{name}"), plot)] }
}

fn ours(series: &[Series]) -> Vec<(f64, f64)> {
    series.first().map(|series| series.points.clone()).unwrap_or_default()
}

/// Whether it grows faster than the number of threads.
fn fitted(name: &str, what: &str, points: &[(f64, f64)]) -> (String, Comparison) {
    let power = exponent(points);
    let fit = line(points).map_or(String::new(), |(base, slope)| {
        format!(
            ", {} {} {} for each thread",
            mean(base.abs()),
            if base < 0.0 { "less than" } else { "and" },
            mean(slope.max(0.0))
        )
    });
    let (first, last) = (points.first(), points.last());
    let ends = first.zip(last).map_or(String::new(), |((n, few), (m, many))| {
        format!("{} executions with {n} threads, {} with {m}", mean(*few), mean(*many))
    });
    let verdict = match power {
        Some(power) if power <= 1.0 => "at most linear",
        Some(_) => "more than linear",
        None => "not measured",
    };
    let power_text = power.map_or("—".to_owned(), |power| format!("{power:.2}"));
    let note = format!(
        "hapset(dpor) {what}: {ends}; by least squares a power of {power_text}{fit}: {verdict}."
    );
    let comparison = Comparison {
        table: "table4",
        row: name.to_owned(),
        column: format!("power of the growth, {what}"),
        ours: power,
        peer: None,
        ratio: None,
    };
    (note, comparison)
}

/// The line that fits best: where it begins, and how it rises.
#[expect(clippy::cast_precision_loss, reason = "there are a few points")]
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / n;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / n;
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let together: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    (spread > 0.0).then(|| (mean_y - together / spread * mean_x, together / spread))
}

#[cfg(test)]
mod checks {
    use super::*;

    #[test]
    fn a_line_is_found() {
        let (base, slope) = line(&[(2.0, 7.0), (3.0, 9.0), (10.0, 23.0)]).expect("three points");
        assert!((base - 3.0).abs() < 1e-9 && (slope - 2.0).abs() < 1e-9, "{base} {slope}");
        assert_eq!(line(&[(2.0, 7.0)]), None);
    }

    #[test]
    fn growth_is_judged_by_its_power() {
        let of = |power: f64| {
            let points = [2.0, 4.0, 8.0_f64].map(|x| (x, 3.0 * x.powf(power)));
            fitted("aget", "to the bug", &points).0
        };
        assert!(of(0.5).ends_with("at most linear."));
        assert!(of(2.0).ends_with("more than linear."));
    }
}
