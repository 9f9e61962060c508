//! A plot with linear or logarithmic axes, as SVG that can be read on light and on dark.

use std::fmt::Write as _;

use raddle_report::html::escape;

/// Points of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
    pub(crate) style: Style,
}

/// How points are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// A line with a mark at each point.
    Marks,
    /// A line alone, for many points.
    Line,
    /// A thin broken line: something to compare with.
    Guide,
    /// Marks without a line.
    Dots,
}

/// What distances on an axis mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    /// A power is a straight line if both axes are logarithmic.
    Logarithmic,
}

/// A plot.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) x: String,
    pub(crate) y: String,
    /// Of x and of y.
    pub(crate) scales: [Scale; 2],
    pub(crate) series: Vec<Series>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 96.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 116.0;
const BOTTOM: f64 = 56.0;
/// Okabe and Ito's colours, told apart by all kinds of eyes; brighter ones on dark.
const STYLE: &str = "<style>\
.paper{fill:#fff}.ink{fill:#222}.grid{stroke:#ddd;fill:none}.guide{stroke-dasharray:6 4}\
.c0{stroke:#0072b2;fill:#0072b2}.c1{stroke:#d55e00;fill:#d55e00}\
.c2{stroke:#009e73;fill:#009e73}.c3{stroke:#cc79a7;fill:#cc79a7}\
@media (prefers-color-scheme:dark){.paper{fill:#161b22}.ink{fill:#e6edf3}.grid{stroke:#30363d}\
.c0{stroke:#56b4e9;fill:#56b4e9}.c1{stroke:#e69f00;fill:#e69f00}\
.c2{stroke:#2fbf95;fill:#2fbf95}.c3{stroke:#e3a3c6;fill:#e3a3c6}}</style>";
const COLOURS: usize = 4;
/// So many lines on a linear axis, or a few more.
const LINES: f64 = 5.0;

/// An axis: its ends, and where it has lines.
#[derive(Clone, Debug, PartialEq)]
struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    lines: Vec<f64>,
}

impl Axis {
    fn around(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        match scale {
            Scale::Linear => Self::linear(values),
            Scale::Logarithmic => Self::logarithmic(values),
        }
    }

    /// Powers of ten around the values.
    fn logarithmic(values: impl Iterator<Item = f64>) -> Self {
        let logarithms = values.filter(|value| *value > 0.0).map(f64::log10);
        let (low, high) = ends(logarithms).unwrap_or((0.0, 1.0));
        let (low, high) = (low.floor() as i32, high.ceil() as i32);
        let high = high.max(low + 1);
        let lines = (low..=high).map(|power| 10_f64.powi(power)).collect();
        let (low, high) = (f64::from(low), f64::from(high));
        Self { scale: Scale::Logarithmic, low, high, lines }
    }

    /// From 0, in steps of 1, 2 or 5 times a power of ten.
    fn linear(values: impl Iterator<Item = f64>) -> Self {
        let most = ends(values).map_or(1.0, |(_, high)| high);
        let most = if most > 0.0 { most } else { 1.0 };
        let power = 10_f64.powf((most / LINES).log10().floor());
        let fits = |factor: &f64| most / (power * factor) <= LINES + 1.0;
        let step = power * [1.0, 2.0, 5.0].into_iter().find(fits).unwrap_or(10.0);
        let n = (most / step).ceil() as i32;
        let lines = (0..=n).map(|nth| f64::from(nth) * step).collect();
        Self { scale: Scale::Linear, low: 0.0, high: f64::from(n) * step, lines }
    }

    /// From 0 at the low end to 1 at the high end.
    fn place(&self, value: f64) -> f64 {
        let value = match self.scale {
            Scale::Linear => value,
            Scale::Logarithmic => value.log10().max(self.low),
        };
        (value - self.low) / (self.high - self.low)
    }
}

/// The smallest and the largest.
fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |ends, value| match ends {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

impl Plot {
    /// The whole file.
    pub(crate) fn svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x_axis = Axis::around(self.scales[0], points().map(|point| point.0));
        let y_axis = Axis::around(self.scales[1], points().map(|point| point.1));
        let x = |value: f64| LEFT + x_axis.place(value) * (WIDTH - LEFT - RIGHT);
        let y = |value: f64| HEIGHT - BOTTOM - y_axis.place(value) * (HEIGHT - TOP - BOTTOM);
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"13\">\n{STYLE}\n\
             <rect class=\"paper\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\n\
             <text class=\"ink\" x=\"{LEFT}\" y=\"24\" font-size=\"15\">{}</text>\n",
            escape(&self.title)
        );
        for value in &x_axis.lines {
            let at = x(*value);
            let (bottom, below) = (HEIGHT - BOTTOM, HEIGHT - BOTTOM + 18.0);
            let _ = writeln!(
                text,
                "<path class=\"grid\" d=\"M{at:.1} {TOP}V{bottom}\"/>\
                 <text class=\"ink\" x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{}</text>",
                written(*value)
            );
        }
        for value in &y_axis.lines {
            let at = y(*value);
            let (right, before, baseline) = (WIDTH - RIGHT, LEFT - 8.0, at + 4.0);
            let _ = writeln!(
                text,
                "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{right}\"/>\
                 <text class=\"ink\" x=\"{before}\" y=\"{baseline:.1}\" text-anchor=\"end\">{}</text>",
                written(*value)
            );
        }
        let (middle, low) = (f64::midpoint(LEFT, WIDTH - RIGHT), HEIGHT - 12.0);
        let height = f64::midpoint(TOP, HEIGHT - BOTTOM);
        let _ = writeln!(
            text,
            "<text class=\"ink\" x=\"{middle}\" y=\"{low}\" text-anchor=\"middle\">{}</text>\n\
             <text class=\"ink\" transform=\"translate(12 {height}) rotate(-90)\" \
             text-anchor=\"middle\">{}</text>",
            escape(&self.x),
            escape(&self.y)
        );
        for (nth, series) in self.series.iter().enumerate() {
            let places: Vec<_> =
                series.points.iter().map(|point| (x(point.0), y(point.1))).collect();
            draw(&mut text, nth, series, &places);
        }
        text + "</svg>\n"
    }
}

/// One series, and its line of the legend.
fn draw(text: &mut String, nth: usize, series: &Series, places: &[(f64, f64)]) {
    let colour = nth % COLOURS;
    let (guide, width) = match series.style {
        Style::Guide => (" guide", 1.5),
        Style::Marks | Style::Line | Style::Dots => ("", 2.0),
    };
    let line: Vec<_> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    if series.style != Style::Dots {
        let _ = writeln!(
            text,
            "<polyline class=\"c{colour}{guide}\" points=\"{}\" style=\"fill:none\" \
         stroke-width=\"{width}\"/>",
            line.join(" ")
        );
    }
    if matches!(series.style, Style::Marks | Style::Dots) {
        for (x, y) in places {
            let _ = writeln!(
                text,
                "<circle class=\"c{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" stroke-width=\"0\"/>"
            );
        }
    }
    let row = 46.0 + 18.0 * f64::from(nth as u32);
    let (middle, end, label) = (row - 4.5, LEFT + 20.0, LEFT + 28.0);
    let _ = writeln!(
        text,
        "<path class=\"c{colour}{guide}\" d=\"M{LEFT} {middle}H{end}\" style=\"fill:none\" \
         stroke-width=\"3\"/><text class=\"ink\" x=\"{label}\" y=\"{row}\">{}</text>",
        escape(&series.name)
    );
}

/// As it is read aloud, 1,000 and not 10³; but what is very large by its power.
#[expect(clippy::cast_sign_loss, reason = "what is written so is positive")]
fn written(value: f64) -> String {
    if value >= 1e9 {
        format!("{value:.0e}")
    } else if value >= 1.0 && value.fract() == 0.0 {
        crate::numbers::grouped(value as u64)
    } else {
        let text = format!("{value:.9}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithmic_axis_has_the_powers_of_ten_around_its_values() {
        let ends = |values: &[f64]| {
            let axis = Axis::around(Scale::Logarithmic, values.iter().copied());
            (axis.low, axis.high, axis.lines.len())
        };
        assert_eq!(ends(&[50.0, 5_000.0]), (1.0, 4.0, 4));
        assert_eq!(ends(&[10.0]), (1.0, 2.0, 2));
        assert_eq!(ends(&[]), (0.0, 1.0, 2));
    }

    #[test]
    fn a_linear_axis_has_a_few_round_numbers_from_0_on() {
        let lines = |most: f64| Axis::around(Scale::Linear, [0.5, most].into_iter()).lines;
        assert_eq!(lines(1_946.0), [0.0, 500.0, 1_000.0, 1_500.0, 2_000.0]);
        assert_eq!(lines(10.0), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        let none = Axis::around(Scale::Linear, [0.0].into_iter()).lines;
        assert_eq!(none, lines(1.0));
    }

    #[test]
    fn a_power_is_a_straight_line() {
        let axis = Axis::around(Scale::Logarithmic, [1.0, 10_000.0].into_iter());
        for (value, place) in [(1.0, 0.0), (100.0, 0.5), (10_000.0, 1.0), (0.0, 0.0)] {
            assert!((axis.place(value) - place).abs() < 1e-12);
        }
    }

    #[test]
    fn numbers_are_written_as_they_are_read() {
        for (value, text) in [(0.0, "0"), (0.01, "0.01"), (1e3, "1,000"), (1e17, "1e17")] {
            assert_eq!(written(value), text);
        }
    }

    #[test]
    fn every_point_is_drawn_and_names_are_escape() {
        let series = |name: &str, n: u32, style| Series {
            name: name.to_owned(),
            points: (1..=n).map(|x| (f64::from(x), f64::from(x))).collect(),
            style,
        };
        let (title, x, y) = ("a < b".to_owned(), "x".to_owned(), "y".to_owned());
        let series = vec![
            series("one", 3, Style::Marks),
            series("two", 2, Style::Marks),
            series("three", 9, Style::Line),
            series("four", 4, Style::Dots),
        ];
        let plot = Plot { title, x, y, scales: [Scale::Logarithmic; 2], series };
        let svg = plot.svg();
        assert_eq!(svg.matches("<circle").count(), 9);
        assert_eq!(svg.matches("<polyline").count(), 3);
        assert!(svg.contains("a &lt; b"));
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    }
}
