//! Lines over time, or by executions, as SVG, drawn here so that a page needs no library to show them.
//!
//! Series differ in dashes as well as in colour. What a plot shows is also a table below it, for
//! those who cannot see it and for those who want the numbers.
//!
//! # Why: Two functions draw plots
//! That of `raddle-report` draws curves into a page, whose styles it uses, with bands, crosses where failures were
//! found and a table below; that of `bench` draws files that stand alone, with marks, guides and axes that end at round
//! numbers. They share how text is escaped.

use std::fmt::Write as _;

use crate::html::escape;
use crate::progress::rounded;

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 190.0;
/// Left, right, top and bottom of the area in which lines are drawn.
const AREA: (f64, f64, f64, f64) = (58.0, 410.0, 10.0, 160.0);
/// More points than this are thinned out: they could not be told apart.
const MOST_POINTS: usize = 240;
/// Rows of the table below.
const TABLE_ROWS: usize = 12;
/// From this ratio of the largest number to the smallest the scale is logarithmic.
const LOGARITHMIC: f64 = 500.0;

/// What is on the axis below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Across {
    /// Milliseconds.
    Time,
    Executions,
}

impl Across {
    /// A place on the axis, in the unit of the last one.
    fn tick(self, at: f64, last: f64) -> String {
        match self {
            Self::Time => time(at, last),
            Self::Executions => short(at),
        }
    }

    /// A place in a sentence.
    fn told(self, at: f64) -> String {
        match self {
            Self::Time => time(at, at),
            Self::Executions => format!("{} executions", rounded(at)),
        }
    }
}

/// One number over time, or by executions.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    pub(super) name: String,
    /// Milliseconds or executions, and the number, in order.
    pub(super) points: Vec<(f64, f64)>,
    /// Whether it ends because a failure was found.
    pub(super) found: bool,
    /// The band around it, lower and upper end, for each point; or none.
    pub(super) band: Vec<(f64, f64)>,
}

impl Series {
    /// At most so many points: always the first and the last.
    fn thinned(&self, most: usize) -> Self {
        let n = self.points.len();
        if n <= most {
            return self.clone();
        }
        let at: Vec<usize> = (0..most).map(|index| index * (n - 1) / (most - 1)).collect();
        let points = at.iter().map(|&index| self.points[index]).collect();
        let band = at.iter().filter_map(|&index| self.band.get(index).copied()).collect();
        Self { name: self.name.clone(), points, found: self.found, band }
    }
}

/// A scale from numbers to places.
struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    logarithmic: bool,
}

impl Scale {
    fn place(&self, number: f64) -> f64 {
        let map = |n: f64| if self.logarithmic { n.max(self.low).log10() } else { n };
        let (low, high) = (map(self.low), map(self.high));
        let part = (map(number.clamp(self.low, self.high)) - low) / (high - low);
        self.from + part * (self.to - self.from)
    }

    /// Round numbers within the scale.
    fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let (first, last) = (self.low.log10().ceil(), self.high.log10().floor());
            let every = ((last - first) / 4.0).ceil().max(1.0);
            let mut ticks = Vec::new();
            let mut power = first;
            while power <= last {
                ticks.push(10_f64.powf(power));
                power += every;
            }
            return ticks;
        }
        let rough = (self.high - self.low) / 4.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].iter().map(|by| by * power).find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let mut ticks = Vec::new();
        let mut tick = (self.low / step).ceil() * step;
        while tick <= self.high * (1.0 + 1e-9) && ticks.len() < 8 {
            ticks.push(tick);
            tick += step;
        }
        ticks
    }
}

fn finite(number: f64) -> bool {
    number.is_finite() && number >= 0.0
}

/// A time on the axis, in the unit of the longest.
fn time(ms: f64, longest: f64) -> String {
    let (unit, scale) = match longest {
        t if t < 2_000.0 => ("ms", 1.0),
        t if t < 120_000.0 => ("s", 1e3),
        t if t < 7_200_000.0 => ("min", 60e3),
        _ => ("h", 3_600e3),
    };
    let number = format!("{:.1}", ms / scale);
    format!("{} {unit}", number.strip_suffix(".0").unwrap_or(&number))
}

/// A number with two digits, also if it is less than one.
fn told(number: f64) -> String {
    if number <= 0.0 || number >= 1.0 {
        return rounded(number);
    }
    let power = number.log10().floor();
    format!("{:.1} × 10^{power}", number / 10_f64.powf(power))
}

/// A short number for an axis: `12k`, `3.4M`.
pub(crate) fn short(number: f64) -> String {
    let (by, unit) = match number {
        n if n > 0.0 && n < 0.05 => return format!("10^{:.0}", n.log10()),
        n if n < 10_000.0 => (1.0, ""),
        n if n < 1e6 => (1e3, "k"),
        n if n < 1e9 => (1e6, "M"),
        n => return format!("10^{:.0}", n.log10()),
    };
    let digits = format!("{:.1}", number / by);
    format!("{}{unit}", digits.strip_suffix(".0").unwrap_or(&digits))
}

/// A plot with its legend and table. Empty if no series has two points.
pub(super) fn plot(title: &str, unit: &str, across: Across, series: &[Series]) -> String {
    let clean = |one: &Series| {
        let mut one = one.clone();
        let keep: Vec<bool> = one.points.iter().map(|&(t, n)| finite(t) && finite(n)).collect();
        let mut at = keep.iter();
        one.points.retain(|_| *at.next().unwrap_or(&false));
        let mut at = keep.iter();
        one.band.retain(|_| *at.next().unwrap_or(&false));
        one.thinned(MOST_POINTS)
    };
    let series: Vec<Series> = series.iter().map(clean).collect();
    if series.iter().all(|one| one.points.len() < 2) {
        return String::new();
    }
    let points = || series.iter().flat_map(|one| &one.points);
    let longest = points().map(|&(t, _)| t).fold(1.0, f64::max);
    let numbers = points().map(|&(_, n)| n);
    // Bands may be as wide as there are numbers: the plot is for the lines.
    let most = numbers.clone().fold(1.0, f64::max);
    let tops = series.iter().flat_map(|one| &one.band).map(|&(_, high)| high);
    let most = tops.filter(|high| *high <= most * 20.0).fold(most, f64::max);
    // A line that begins at nothing is no reason: where the lines come to is.
    let settled = series.iter().flat_map(|one| &one.points[one.points.len() / 2..]);
    let settled = settled.map(|&(_, n)| n).filter(|n| *n > 0.0).fold(most, f64::min);
    let least = numbers.filter(|n| *n > 0.0).fold(most, f64::min).max(1e-30);
    let logarithmic = most / settled >= LOGARITHMIC;
    let (left, right, top, bottom) = AREA;
    let low = if logarithmic { 10_f64.powf(least.log10().floor()) } else { 0.0 };
    let y = Scale { low, high: most * 1.04, from: bottom, to: top, logarithmic };
    // Executions of one search may be a thousand times those of another. A logarithm needs a beginning.
    let ends = series.iter().filter_map(|one| one.points.last()).map(|&(t, _)| t);
    let shortest = ends.filter(|t| *t > 0.0).fold(longest, f64::min);
    let far = across == Across::Executions && longest / shortest >= LOGARITHMIC;
    let low = if far { 1.0 } else { 0.0 };
    let x = Scale { low, high: longest, from: left, to: right, logarithmic: far };

    let mut svg = String::new();
    for tick in y.ticks() {
        let at = y.place(tick);
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{left} {at:.1}H{right}\"/><text class=\"quiet\" x=\"{}\" \
             y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left - 6.0,
            at + 4.0,
            short(tick)
        );
    }
    for tick in x.ticks() {
        let at = x.place(tick);
        let _ = write!(
            svg,
            "<text class=\"quiet\" x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 17.0,
            across.tick(tick, longest)
        );
    }
    for (index, one) in series.iter().enumerate() {
        let place = |t: f64, n: f64| format!("{:.1} {:.1}", x.place(t), y.place(n));
        if one.band.len() == one.points.len() && !one.band.is_empty() {
            let ends = || one.points.iter().zip(&one.band);
            let upper = ends().map(|(&(t, _), &(_, high))| place(t, high));
            let lower = ends().rev().map(|(&(t, _), &(low, _))| place(t, low));
            let area: Vec<_> = upper.chain(lower).collect();
            let _ = write!(svg, "<path class=\"band s{}\" d=\"M{}z\"/>", index % 8, area.join("L"));
        }
        let line: Vec<_> = one.points.iter().map(|&(t, n)| place(t, n)).collect();
        let _ = write!(svg, "<path class=\"line s{}\" d=\"M{}\"/>", index % 8, line.join("L"));
        if let Some(&(t, n)) = one.points.last().filter(|_| one.found) {
            let (x, y) = (x.place(t), y.place(n));
            let (a, b) = ((x - 4.0, x + 4.0), (y - 4.0, y + 4.0));
            let _ = write!(
                svg,
                "<path class=\"found\" d=\"M{:.1} {:.1}L{:.1} {:.1}M{:.1} {:.1}L{:.1} {:.1}\"/>",
                a.0, b.0, a.1, b.1, a.0, b.1, a.1, b.0
            );
        }
    }
    let ended = |one: &Series| {
        let &(t, n) = one.points.last()?;
        let found = if one.found { ", where it found a failure" } else { "" };
        Some(format!("{}: {} after {}{found}", one.name, told(n), across.told(t)))
    };
    let told: Vec<String> = series.iter().filter_map(ended).collect();
    let scale = if logarithmic { ", logarithmic" } else { "" };
    let mut out = format!(
        "<figure class=\"plot\"><figcaption>{title} <span class=\"quiet\">{unit}{scale}</span>\
         </figcaption><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}. {}\">\
         {svg}</svg>",
        escape(&told.join(". ")),
        title = escape(title),
        unit = escape(unit),
    );
    out.push_str(&legend(&series));
    out.push_str(&numbers_table(&series, unit, across));
    out.push_str("</figure>\n");
    out
}

/// Which line is which search, and what a cross is; empty if there is nothing to tell apart.
fn legend(series: &[Series]) -> String {
    let found = series.iter().any(|one| one.found);
    if series.len() < 2 && !found {
        return String::new();
    }
    let mut out = String::from("<ul class=\"legend\">");
    for (index, one) in series.iter().enumerate() {
        let _ = write!(
            out,
            "<li><svg viewBox=\"0 0 26 8\" aria-hidden=\"true\"><path class=\"line s{}\" \
             d=\"M0 4H26\"/></svg>{}</li>",
            index % 8,
            escape(&one.name)
        );
    }
    if found {
        out.push_str(
            "<li><svg viewBox=\"0 0 26 8\" aria-hidden=\"true\"><path class=\"found\" \
             d=\"M9 0L17 8M9 8L17 0\"/></svg>found a failure</li>",
        );
    }
    out.push_str("</ul>");
    out
}

fn numbers_table(series: &[Series], unit: &str, across: Across) -> String {
    let mut out = format!(
        "<details><summary>Numbers</summary><table><thead><tr><th>search</th><th>after</th>\
         <th>{}</th></tr></thead><tbody>",
        escape(unit)
    );
    for one in series {
        let rows = one.thinned(TABLE_ROWS);
        for (index, &(t, n)) in rows.points.iter().enumerate() {
            let band = rows.band.get(index).filter(|(low, high)| low < high);
            let band = band.map(|&(low, high)| format!(" ({}–{})", told(low), told(high)));
            let _ = write!(
                out,
                "<tr><td>{}</td><td>{}</td><td>{}{}</td></tr>",
                escape(&one.name),
                across.told(t),
                told(n),
                band.unwrap_or_default()
            );
        }
    }
    out.push_str("</tbody></table></details>");
    out
}
