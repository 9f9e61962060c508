//! A plot with logarithmic axes, as SVG.

use std::fmt::Write as _;

/// Points of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// Both axes are logarithmic, so that a power is a straight line.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) x: String,
    pub(crate) y: String,
    pub(crate) series: Vec<Series>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 116.0;
const BOTTOM: f64 = 56.0;
/// Okabe and Ito: told apart by all kinds of eyes, on light and on dark.
const COLOURS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];

/// Powers of ten around the values of one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Axis {
    low: i32,
    high: i32,
}

impl Axis {
    fn around(values: impl Iterator<Item = f64>) -> Self {
        let logarithms = values.filter(|value| *value > 0.0).map(f64::log10);
        let (low, high) = logarithms
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        if low > high {
            return Self { low: 0, high: 1 };
        }
        let (low, high) = (low.floor() as i32, high.ceil() as i32);
        Self { low, high: high.max(low + 1) }
    }

    /// From 0 at the low end to 1 at the high end.
    fn place(self, value: f64) -> f64 {
        (value.log10() - f64::from(self.low)) / f64::from(self.high - self.low)
    }

    fn powers(self) -> impl Iterator<Item = i32> {
        self.low..=self.high
    }
}

impl Plot {
    /// The whole file.
    pub(crate) fn svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x_axis = Axis::around(points().map(|point| point.0));
        let y_axis = Axis::around(points().map(|point| point.1));
        let x = |value: f64| LEFT + x_axis.place(value) * (WIDTH - LEFT - RIGHT);
        let y = |value: f64| HEIGHT - BOTTOM - y_axis.place(value) * (HEIGHT - TOP - BOTTOM);
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n\
             <text x=\"{LEFT}\" y=\"24\" font-size=\"15\">{}</text>\n",
            escaped(&self.title)
        );
        for power in x_axis.powers() {
            let at = x(10_f64.powi(power));
            let (bottom, below) = (HEIGHT - BOTTOM, HEIGHT - BOTTOM + 18.0);
            let _ = writeln!(
                text,
                "<path d=\"M{at:.1} {TOP}V{bottom}\" stroke=\"#ddd\"/>\
                 <text x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{}</text>",
                ten_to(power)
            );
        }
        for power in y_axis.powers() {
            let at = y(10_f64.powi(power));
            let (right, before, baseline) = (WIDTH - RIGHT, LEFT - 8.0, at + 4.0);
            let _ = writeln!(
                text,
                "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"#ddd\"/>\
                 <text x=\"{before}\" y=\"{baseline:.1}\" text-anchor=\"end\">{}</text>",
                ten_to(power)
            );
        }
        let (middle, low) = (f64::midpoint(LEFT, WIDTH - RIGHT), HEIGHT - 12.0);
        let height = f64::midpoint(TOP, HEIGHT - BOTTOM);
        let _ = writeln!(
            text,
            "<text x=\"{middle}\" y=\"{low}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(20 {height}) rotate(-90)\" \
             text-anchor=\"middle\">{}</text>",
            escaped(&self.x),
            escaped(&self.y)
        );
        for (nth, series) in self.series.iter().enumerate() {
            let colour = COLOURS[nth % COLOURS.len()];
            let places: Vec<_> =
                series.points.iter().map(|point| (x(point.0), y(point.1))).collect();
            let line: Vec<_> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let _ = writeln!(
                text,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                line.join(" ")
            );
            for (x, y) in places {
                let _ = writeln!(
                    text,
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>"
                );
            }
            let row = 46.0 + 18.0 * f64::from(nth as u32);
            let (swatch, label) = (row - 9.0, LEFT + 18.0);
            let _ = writeln!(
                text,
                "<rect x=\"{LEFT}\" y=\"{swatch}\" width=\"10\" height=\"10\" fill=\"{colour}\"/>\
                 <text x=\"{label}\" y=\"{row}\">{}</text>",
                escaped(&series.name)
            );
        }
        text + "</svg>\n"
    }
}

/// As it is read aloud: 1,000 and not 10³.
fn ten_to(power: i32) -> String {
    match u32::try_from(power) {
        Ok(power) => crate::numbers::grouped(10_u64.saturating_pow(power)),
        Err(_) => format!("{}", 10_f64.powi(power)),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_the_powers_of_ten_around_its_values() {
        assert_eq!(Axis::around([50.0, 5_000.0].into_iter()), Axis { low: 1, high: 4 });
        assert_eq!(Axis::around([10.0].into_iter()), Axis { low: 1, high: 2 });
        assert_eq!(Axis::around([].into_iter()), Axis { low: 0, high: 1 });
    }

    #[test]
    fn a_power_is_a_straight_line() {
        let axis = Axis { low: 0, high: 4 };
        for (value, place) in [(1.0, 0.0), (100.0, 0.5), (10_000.0, 1.0)] {
            assert!((axis.place(value) - place).abs() < 1e-12);
        }
    }

    #[test]
    fn every_point_is_drawn_and_names_are_escaped() {
        let series = |name: &str, n: u32| Series {
            name: name.to_owned(),
            points: (1..=n).map(|x| (f64::from(x), f64::from(x))).collect(),
        };
        let (title, x, y) = ("a < b".to_owned(), "x".to_owned(), "y".to_owned());
        let plot = Plot { title, x, y, series: vec![series("one", 3), series("two", 2)] };
        let svg = plot.svg();
        assert_eq!(svg.matches("<circle").count(), 5);
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains("a &lt; b"));
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    }
}
