//! The only place that writes to the terminal.

use std::io::{self, IsTerminal as _, Write as _};

use raddle_report::Colour;

/// Whether every step of a failure is shown: by a flag, or by the variable that `cargo test` knows too.
pub(crate) fn full(flag: bool) -> bool {
    flag || std::env::var("RADDLE_FULL").is_ok_and(|value| value.trim() == "true")
}

/// To standard output. If it is closed, that is no reason to fail.
pub(crate) fn out(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
    let _ = io::stdout().flush();
}

/// To standard error.
pub(crate) fn err(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Whether text on standard output may be coloured: a terminal, and not switched off
/// (<https://no-color.org>).
pub(crate) fn colour() -> Colour {
    Colour::for_terminal(io::stdout().is_terminal(), |name| std::env::var(name).ok())
}

/// Columns for text with a layout of its own, as lanes: those of the terminal if it is neither too narrow
/// for them nor too wide to read; 100 if there is none.
pub(crate) fn width() -> usize {
    crate::os::columns().unwrap_or(100).clamp(60, 200)
}

/// Columns of a log or a file, where no terminal says how many there are.
const COLUMNS: usize = 120;

/// Columns that a line on standard output may have: those of the terminal.
pub(crate) fn columns() -> usize {
    let columns = crate::os::columns().filter(|_| io::stdout().is_terminal());
    columns.map_or(COLUMNS, |columns| columns.max(20))
}

/// Whether the terminal shows more than ASCII.
pub(crate) fn unicode() -> bool {
    raddle_report::CurveOptions::unicode_for(|name| std::env::var(name).ok())
}

/// A line for a terminal that shows nothing but ASCII, as long as it was.
pub(crate) fn ascii(line: &str) -> String {
    let plain = |letter: char| match letter {
        '·' => '|',
        '…' => '.',
        '×' => 'x',
        '–' | '─' => '-',
        '≤' => '<',
        _ if letter.is_ascii() => letter,
        _ => '?',
    };
    line.chars().map(plain).collect()
}

/// `text` in a colour, if there are colours.
pub(crate) fn paint(colour: Colour, code: &str, text: &str) -> String {
    match colour {
        Colour::Always => format!("\x1b[{code}m{text}\x1b[0m"),
        Colour::Never => text.to_owned(),
    }
}

/// With a comma after each three digits.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Text in lines of at most `width` columns. The first begins `first` columns from the left, where the
/// caller has written something; the others are indented by `rest`.
pub(crate) fn wrapped(text: &str, first: usize, rest: usize, width: usize) -> String {
    let mut out = String::new();
    let mut at = first;
    for (index, word) in text.split_whitespace().enumerate() {
        let n_chars = word.chars().count();
        if index > 0 && at + 1 + n_chars > width {
            out.push('\n');
            out.push_str(&" ".repeat(rest));
            at = rest;
        } else if index > 0 {
            out.push(' ');
            at += 1;
        }
        out.push_str(word);
        at += n_chars;
    }
    out
}

/// A table: columns as wide as their widest entry, the first left, numbers right.
pub(crate) fn table(head: &[(&str, Side)], rows: &[Vec<String>]) -> String {
    let width = |text: &str| text.chars().count();
    let mut widths: Vec<usize> = head.iter().map(|(name, _)| width(name)).collect();
    for row in rows {
        for (column, text) in widths.iter_mut().zip(row) {
            *column = (*column).max(width(text));
        }
    }
    let mut out = String::new();
    let head_row: Vec<String> = head.iter().map(|(name, _)| (*name).to_owned()).collect();
    for row in std::iter::once(&head_row).chain(rows) {
        let mut line = String::new();
        for ((text, (_, side)), column) in row.iter().zip(head).zip(&widths) {
            let space = " ".repeat(column - width(text));
            match side {
                Side::Left => line.extend([text, space.as_str(), "  "]),
                Side::Right => line.extend([space.as_str(), text, "  "]),
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The same with lines that fit.
pub(crate) fn fitted(text: &str) -> String {
    let width = columns();
    text.lines().map(|line| cut(line, width) + "\n").collect()
}

/// At most `width` columns of a line.
pub(crate) fn cut(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let head: String = line.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", head.trim_end())
}

/// On which side a column is straight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_straight() {
        let rows = [vec!["a".to_owned(), grouped(1_234_567)], vec!["bcd".to_owned(), grouped(7)]];
        insta::assert_snapshot!(table(&[("x", Side::Left), ("n", Side::Right)], &rows), @r"
        x            n
        a    1,234,567
        bcd          7
        ");
    }
}
