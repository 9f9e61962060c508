//! A small plot in a terminal: one number by another, a line for each search.
//!
//! Drawn with Braille dots where there are colours to tell lines apart and a terminal that can show
//! them, with a cross where something was found; elsewhere with a letter for each line, in plain ASCII, a
//! capital where it ends.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::columns::{Colour, Ink, clean, fit, width};
use crate::html::short;

/// From this ratio of the longest line to the shortest the axis is logarithmic.
const LOGARITHMIC: f64 = 50.0;
/// Columns for the numbers on the left.
const LEFT: usize = 8;
/// Names of lines that are longer are cut.
const NAME: usize = 40;

/// One line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// What the legend calls it.
    pub name: String,
    /// In order of the first number. None is less than zero.
    pub points: Vec<(f64, f64)>,
    /// Whether it ends because something was found there.
    pub found: bool,
}

/// How curves are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CurveOptions {
    /// Columns of the whole.
    pub width: usize,
    /// Rows for the lines.
    pub height: usize,
    /// Whether lines are told apart by colours.
    pub colour: Colour,
    /// Whether the terminal shows more than ASCII.
    pub unicode: bool,
}

impl Default for CurveOptions {
    /// 72 columns, 8 rows, ASCII.
    fn default() -> Self {
        Self { width: 72, height: 8, colour: Colour::Never, unicode: false }
    }
}

impl CurveOptions {
    /// Whether a terminal shows more than ASCII, by the environment; `variable` looks one up. The first of
    /// `LC_ALL`, `LC_CTYPE` and `LANG` that is set names the encoding.
    ///
    /// ```
    /// use raddle_report::CurveOptions;
    ///
    /// let utf_8 = |name: &str| (name == "LANG").then(|| "en_GB.UTF-8".to_owned());
    /// assert!(CurveOptions::unicode_for(utf_8));
    /// let posix = |name: &str| (name == "LC_ALL").then(|| "C".to_owned());
    /// assert!(!CurveOptions::unicode_for(posix));
    /// ```
    #[must_use]
    pub fn unicode_for(variable: impl Fn(&str) -> Option<String>) -> bool {
        let set = |name: &&str| variable(name).filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set).unwrap_or_default();
        let locale = locale.to_ascii_lowercase();
        let dumb = variable("TERM").is_some_and(|term| term == "dumb");
        !dumb && (locale.contains("utf-8") || locale.contains("utf8"))
    }
}

/// Curves as text, with axes and a legend; empty if no curve has two points.
///
/// ```
/// use raddle_report::{Curve, CurveOptions, curves};
///
/// let line = |name: &str, n: f64| Curve {
///     name: name.into(),
///     points: vec![(0.0, 0.0), (10.0, n)],
///     found: false,
/// };
/// let mut options = CurveOptions::default();
/// (options.width, options.height) = (40, 4);
/// let text = curves("traces", "executions", &[line("dfs", 4.0), line("pos", 8.0)], &options);
/// assert!(text.contains("a dfs") && text.contains("b pos"));
/// ```
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "columns of a terminal")]
pub fn curves(title: &str, unit: &str, all: &[Curve], options: &CurveOptions) -> String {
    let CurveOptions { height, colour, unicode, .. } = *options;
    let across = options.width.saturating_sub(LEFT + 2).max(16);
    let drawn: Vec<&Curve> = all.iter().filter(|curve| curve.points.len() > 1).collect();
    if drawn.is_empty() || height == 0 {
        return String::new();
    }
    let x = Axis::new(drawn.iter().map(|curve| curve.points.iter().map(|point| point.0)));
    let y = Axis::new(drawn.iter().map(|curve| curve.points.iter().map(|point| point.1)));
    let dots = unicode && (colour == Colour::Always || drawn.len() == 1);
    // Dots of a cell: Braille has two by four.
    let (wide, high) = if dots { (2, 4) } else { (1, 1) };
    let mut grid = Grid::new(across, height);
    let place = |&(a, b): &(f64, f64)| {
        let at = |part: f64, cells: usize| part.clamp(0.0, 1.0) * (cells - 1) as f64;
        (at(x.part(a), across * wide), at(y.part(b), height * high))
    };
    for (index, curve) in drawn.iter().enumerate() {
        for pair in curve.points.windows(2) {
            grid.line(index, place(&pair[0]), place(&pair[1]), dots);
        }
    }
    // Over all lines: where each ends.
    for (index, curve) in drawn.iter().enumerate() {
        let mark = if dots { '×' } else { letter(index).to_ascii_uppercase() };
        if let Some(end) = curve.points.last().filter(|_| curve.found || !dots) {
            grid.mark(index, place(end), (wide, high), mark);
        }
    }
    let (bar, corner, floor, tick) =
        if unicode { ("│", "└", "─", "┤") } else { ("|", "+", "-", "+") };
    let scale = match (x.logarithmic, y.logarithmic) {
        (true, true) => ", both logarithmic",
        (true, false) => ", logarithmic across",
        (false, true) => ", logarithmic upwards",
        (false, false) => "",
    };
    let mut out = format!("{} by {}{scale}\n", clean(title), clean(unit));
    for row in (0..height).rev() {
        let top = row + 1 == height;
        let label = if top { short(y.most) } else { String::new() };
        let bar = if top { tick } else { bar };
        let _ = writeln!(out, "{label:>LEFT$} {bar}{}", grid.row(row, dots, colour).trim_end());
    }
    let _ = writeln!(out, "{:>LEFT$} {corner}{}", "0", floor.repeat(across));
    let last = short(x.most);
    let _ = writeln!(out, "{:LEFT$}  0{last:>w$}", "", w = across - 1);
    let legend = drawn.iter().enumerate().map(|(index, curve)| {
        let mark = if dots { "──".to_owned() } else { letter(index).to_string() };
        let name = fit(&clean(&curve.name), NAME);
        let found = if curve.found { " (failure)" } else { "" };
        (format!("{mark} {name}{found}"), colour.paint(Ink::Lane(index), &mark), name, found)
    });
    let mut at = 0;
    for (plain, mark, name, found) in legend {
        let columns = width(&plain);
        if at == 0 || at + 3 + columns > options.width {
            out.push_str(if at == 0 { "" } else { "\n" });
            let _ = write!(out, "{:LEFT$}  ", "");
            at = LEFT + 2;
        } else {
            out.push_str("   ");
            at += 3;
        }
        let _ = write!(out, "{mark} {name}{found}");
        at += columns;
    }
    out.push('\n');
    out
}

/// From numbers to parts of the way along.
struct Axis {
    most: f64,
    logarithmic: bool,
}

impl Axis {
    /// For lines with these numbers.
    fn new<L: Iterator<Item = f64>>(lines: impl Iterator<Item = L>) -> Self {
        let ends: Vec<f64> = lines.map(|line| line.fold(0.0, f64::max)).collect();
        let most = ends.iter().copied().fold(1.0, f64::max);
        let least = ends.iter().copied().filter(|end| *end > 0.0).fold(most, f64::min);
        Self { most, logarithmic: most / least >= LOGARITHMIC }
    }

    fn part(&self, number: f64) -> f64 {
        if self.logarithmic {
            (number + 1.0).ln() / (self.most + 1.0).ln()
        } else {
            number / self.most
        }
    }
}

fn letter(index: usize) -> char {
    char::from(b'a' + (index % 26) as u8)
}

/// Cells, the lowest row first.
struct Grid {
    across: usize,
    /// Dots of each cell, and whose they are.
    cells: Vec<(u8, usize)>,
    /// What is written over cells.
    marks: BTreeMap<usize, (usize, char)>,
}

impl Grid {
    fn new(across: usize, height: usize) -> Self {
        Self { across, cells: vec![(0, 0); across * height], marks: BTreeMap::new() }
    }

    /// A straight line between two places, in dots.
    #[expect(clippy::cast_sign_loss, reason = "places on the grid")]
    fn line(&mut self, index: usize, from: (f64, f64), to: (f64, f64), dots: bool) {
        let n = (to.0 - from.0).abs().max((to.1 - from.1).abs()).ceil().max(1.0);
        let mut step = 0.0;
        while step <= n {
            let part = step / n;
            let x = (from.0 + (to.0 - from.0) * part).round() as usize;
            let y = (from.1 + (to.1 - from.1) * part).round() as usize;
            self.dot(index, x, y, dots);
            step += 1.0;
        }
    }

    fn dot(&mut self, index: usize, x: usize, y: usize, dots: bool) {
        // The dots of a Braille cell, by column and from below.
        const BITS: [[u8; 4]; 2] = [[0x40, 0x04, 0x02, 0x01], [0x80, 0x20, 0x10, 0x08]];
        let (column, row, bit) = if dots { (x / 2, y / 4, BITS[x % 2][y % 4]) } else { (x, y, 1) };
        if let Some(cell) = self.cells.get_mut(row * self.across + column) {
            // Two lines in one cell: the dots of both where there are dots, else the later one.
            *cell = (if dots { cell.0 | bit } else { 1 }, index);
        }
    }

    /// Writes over the cell at a place, in dots.
    #[expect(clippy::cast_sign_loss, reason = "places on the grid")]
    fn mark(&mut self, index: usize, at: (f64, f64), (wide, high): (usize, usize), mark: char) {
        let (x, y) = (at.0.round() as usize / wide, at.1.round() as usize / high);
        self.marks.insert(y * self.across + x, (index, mark));
    }

    fn row(&self, row: usize, dots: bool, colour: Colour) -> String {
        let cells = &self.cells[row * self.across..(row + 1) * self.across];
        let mut out = String::new();
        for (at, &(bits, index)) in (row * self.across..).zip(cells) {
            let (index, mark) = match (self.marks.get(&at), bits) {
                (Some(&over), _) => over,
                (None, 0) => (index, ' '),
                _ if dots => (index, char::from_u32(0x2800 + u32::from(bits)).unwrap_or('*')),
                _ => (index, letter(index)),
            };
            if mark == ' ' {
                out.push(mark);
            } else {
                out.push_str(&colour.paint(Ink::Lane(index), &mark.to_string()));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn lines() -> [Curve; 2] {
        let square = (0..=20).map(|x| (f64::from(x), f64::from(x * x))).collect();
        let root = (0..=20).map(|x| (f64::from(x), 90.0 * f64::from(x).sqrt())).collect();
        [
            Curve { name: "dfs".to_owned(), points: square, found: true },
            Curve { name: "all best-first(pb)".to_owned(), points: root, found: false },
        ]
    }

    fn options(colour: Colour, unicode: bool) -> CurveOptions {
        CurveOptions { width: 50, height: 6, colour, unicode }
    }

    #[test]
    fn without_colours_each_line_has_a_letter() {
        assert_snapshot!(curves("traces", "executions", &lines(), &options(Colour::Never, false)), @"
        traces by executions
           402.5 +                                bbbbbbbB
                 |                    bbbbbbbbbbbb aaaaa
                 |          bbbbbbbbbb        aaaaa
                 |    bbbbbb           aaaaaaa
                 | bbb         aaaaaaaa
                 |baaaaaaaaaaaa
               0 +----------------------------------------
                  0                                     20
                  a dfs (failure)   b all best-first(pb)
        ");
    }

    #[test]
    fn with_colours_lines_are_dots() {
        let text = curves("traces", "executions", &lines(), &options(Colour::Always, true));
        let plain: String =
            text.split("\x1b[")
                .enumerate()
                .map(|(index, part)| {
                    if index == 0 {
                        part
                    } else {
                        part.split_once('m').map_or("", |(_, rest)| rest)
                    }
                })
                .collect();
        assert_snapshot!(plain, @"
        traces by executions
           402.5 ┤                            ⢀⣀⣀⡠⠤⠤⠔⠒⢒⡲⠝×
                 │                  ⢀⣀⡠⠤⠤⠒⠒⠊⠉⠉⠁   ⢀⡠⠔⠊⠁
                 │          ⣀⣀⠤⠤⠒⠒⠉⠉⠁         ⣀⡠⠔⠊⠁
                 │    ⢀⣀⠤⠒⠊⠉            ⢀⣀⠤⠔⠒⠉
                 │ ⢀⠔⠊⠁           ⣀⣀⠤⠤⠒⠉⠁
                 │⣰⣉⣀⣀⣀⣀⠤⠤⠤⠤⠔⠒⠒⠊⠉⠉
               0 └────────────────────────────────────────
                  0                                     20
                  ── dfs (failure)   ── all best-first(pb)
        ");
        assert!(text.lines().all(|line| line.matches("\x1b[").count() % 2 == 0));
    }

    #[test]
    fn lines_of_very_different_lengths_share_a_logarithmic_axis() {
        let line = |name: &str, n: f64| Curve {
            name: name.to_owned(),
            points: vec![(0.0, 0.0), (n, n.sqrt())],
            found: false,
        };
        let all = [line("dpor", 20.0), line("random", 10_000.0)];
        assert_snapshot!(curves("traces", "executions", &all, &options(Colour::Never, true)), @"
        traces by executions, logarithmic across
             100 ┤                                    bbbB
                 │                            bbbbbbbb
                 │                    bbbbbbbb
                 │            bbbbbbbb
                 │    bbbbbbbb
                 │bbbbaaaaaaaaaA
               0 └────────────────────────────────────────
                  0                                    10k
                  a dpor   b random
        ");
    }

    #[test]
    fn no_line_is_no_plot() {
        assert_eq!(curves("traces", "executions", &[], &CurveOptions::default()), "");
        let point = Curve { points: vec![(1.0, 1.0)], ..Curve::default() };
        assert_eq!(curves("traces", "executions", &[point], &CurveOptions::default()), "");
    }

    #[test]
    fn no_line_is_wider_than_asked() {
        for width in [20, 40, 72, 200] {
            let options = CurveOptions { width, ..options(Colour::Never, true) };
            let text = curves("traces", "executions", &lines(), &options);
            let widest = text.lines().map(super::width).max().expect("lines");
            assert!(widest <= width.max(NAME), "{width}: {widest}\n{text}");
        }
    }
}
