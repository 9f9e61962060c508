//! Text that has to fit: cleaning, shortening, wrapping and colour.
//!
//! Widths are counted in `char`s. Misses: characters that a terminal draws two columns wide, or
//! none, shift the border of their row.

use raddle_trace::Site;

/// Whether text carries ANSI colours. The caller decides: it knows the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Colour {
    /// Plain text.
    #[default]
    Never,
    /// A few ANSI sequences.
    Always,
}

/// A verb is not cut shorter than this for the sake of its object.
const LEGIBLE_VERB: usize = 4;

/// A space at which no line is broken.
pub(crate) const NO_BREAK: &str = "\u{a0}";

/// What a colour is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ink {
    Bad,
    Good,
    Doubtful,
    Faint,
    Strong,
    /// The lane with this index. None is red or green: these mean something.
    Lane(usize),
}

/// Cyan, magenta, blue and yellow, then their bright forms.
const LANES: [&str; 8] = ["36", "35", "34", "33", "96", "95", "94", "93"];

impl Colour {
    /// What suits a terminal, by the environment; `variable` looks one up. Nothing is coloured that is
    /// no terminal, where `NO_COLOR` is set (see no-color.org), or where `TERM` is `dumb`;
    /// `CLICOLOR_FORCE` colours whatever it is, unless `NO_COLOR` forbids it.
    ///
    /// ```
    /// use raddle_report::Colour;
    ///
    /// let none = |_: &str| None;
    /// assert_eq!(Colour::for_terminal(true, none), Colour::Always);
    /// assert_eq!(Colour::for_terminal(false, none), Colour::Never);
    /// let asked_not_to = |name: &str| (name == "NO_COLOR").then(|| "1".to_owned());
    /// assert_eq!(Colour::for_terminal(true, asked_not_to), Colour::Never);
    /// ```
    #[must_use]
    pub fn for_terminal(is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> Self {
        let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
        let forced = variable("CLICOLOR_FORCE").is_some_and(|value| !matches!(&*value, "" | "0"));
        let dumb = variable("TERM").is_some_and(|value| value == "dumb");
        if is_set("NO_COLOR") || !forced && (!is_terminal || dumb) {
            Self::Never
        } else {
            Self::Always
        }
    }

    pub(crate) fn paint(self, ink: Ink, text: &str) -> String {
        if self == Self::Never || text.is_empty() {
            return text.to_owned();
        }
        let code = match ink {
            Ink::Bad => "1;31",
            Ink::Good => "32",
            Ink::Doubtful => "33",
            Ink::Faint => "2",
            Ink::Strong => "1",
            Ink::Lane(index) => LANES[index % LANES.len()],
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}

/// Without what would move the cursor or colour the terminal. A tab is two spaces.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\t' => out.push_str("  "),
            _ if letter.is_control() => out.extend(letter.escape_default()),
            _ => out.push(letter),
        }
    }
    out
}

/// The same on one line, with single spaces.
pub(crate) fn clean(text: &str) -> String {
    printable(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// At most `limit` characters. Keeps the result of an op (`… -> 3`) where there is room for it.
pub(crate) fn fit(text: &str, limit: usize) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    let result = text.rfind(" -> ").map_or("", |at| &text[at..]);
    let tail = if width(result) + 6 <= limit { result } else { "" };
    let head: String = text.chars().take(limit.saturating_sub(width(tail) + 1)).collect();
    if limit == 0 { head } else { format!("{}…{tail}", head.trim_end()) }
}

/// `verb object rest` in at most `limit` characters. The object is what tells steps apart, so it is kept
/// longer than the verb, and its number longer than its name.
pub(crate) fn fit_op(verb: &str, object: &str, rest: &str, limit: usize) -> String {
    let whole = clean(&format!("{verb} {object} {rest}"));
    if width(&whole) <= limit || object.is_empty() {
        return fit(&whole, limit);
    }
    let result = rest.rfind("-> ").map_or(String::new(), |at| format!(" {}", clean(&rest[at..])));
    let tail = if width(&result) + 6 <= limit { result } else { String::new() };
    let room = limit.saturating_sub(width(&tail));
    let number = object.rfind('#').map_or("", |at| &object[at..]);
    let head = [object, number].into_iter().find_map(|object| {
        let for_verb = room.checked_sub(width(object) + 1).filter(|_| !object.is_empty())?;
        let verb = if width(verb) <= for_verb { verb.to_owned() } else { fit(verb, for_verb) };
        let cut = format!("{verb} {object}");
        (for_verb >= LEGIBLE_VERB).then_some(cut)
    });
    let Some(mut head) = head else {
        // Some of both, if that leaves anything of the object.
        let verb = fit(verb, LEGIBLE_VERB);
        let for_object = room.saturating_sub(width(&verb) + 1);
        let head = if for_object < LEGIBLE_VERB {
            fit(&whole, room)
        } else {
            format!("{verb} {}", fit(object, for_object))
        };
        return format!("{head}{tail}");
    };
    let left_out = width(&clean(rest)) > width(tail.trim_start());
    if left_out && width(&head) < room {
        head.push('…');
    }
    format!("{head}{tail}")
}

/// `file:line`, where a path that is too long loses its first parts.
pub(crate) fn place(site: &Site, limit: usize) -> String {
    if site.file.is_empty() {
        return String::new();
    }
    let whole = format!("{}:{}", clean(&site.file), site.line);
    let n_chars = width(&whole);
    if n_chars <= limit {
        return whole;
    }
    let tail: String = whole.chars().skip(n_chars + 1 - limit.max(1)).collect();
    // Cut between two parts of the path if any part fits.
    let from = tail.find(['/', '\\']).unwrap_or(0);
    format!("…{}", &tail[from..])
}

/// Lines of at most `limit` characters, broken at spaces only: a path or token stays whole, and so
/// do words with a [`NO_BREAK`] between them.
pub(crate) fn wrap(text: &str, limit: usize) -> Vec<String> {
    wrap_after_first(text, limit, limit)
}

fn wrap_after_first(text: &str, first: usize, rest: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let limit = if lines.len() <= 1 { first } else { rest };
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= limit => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| line.replace(NO_BREAK, " ")).collect()
}

/// Wrapped text, each line after the first indented two columns more.
pub(crate) fn paragraph(indent: &str, text: &str, limit: usize) -> String {
    let first = limit.saturating_sub(width(indent));
    let lines = wrap_after_first(text, first, first.saturating_sub(2));
    format!("{indent}{}\n", lines.join(&format!("\n{indent}  ")))
}

/// Wrapped text, each line after the first indented to stand below the first word after `lead`.
pub(crate) fn hang(lead: &str, text: &str, limit: usize) -> String {
    let indent = " ".repeat(width(lead));
    let lines = wrap(text, limit.saturating_sub(width(lead)));
    format!("{lead}{}\n", lines.join(&format!("\n{indent}")))
}

/// `1 step`, `2 steps`.
pub(crate) fn count(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Text as part of HTML, XML or SVG, or of an attribute in quotes. Control characters are written out.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' => out.push(letter),
            // Neither HTML nor SVG can hold these.
            _ if letter.is_control() => out.extend(letter.escape_default()),
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortening_counts_characters_and_keeps_results() {
        assert_eq!(fit("lock", 4), "lock");
        assert_eq!(fit("unlock", 4), "unl…");
        assert_eq!(fit("größer als µ", 6), "größe…");
        assert_eq!(
            fit("compare_exchange counter (0, 1) -> Err(2)", 24),
            "compare_excha… -> Err(2)"
        );
        assert_eq!(fit("load x -> 12345678", 10), "load x ->…");
        for limit in 0..12 {
            assert!(width(&fit("load µ -> größer", limit)) <= limit);
        }
    }

    #[test]
    fn an_op_keeps_its_object_longer_than_its_verb() {
        assert_eq!(fit_op("wait", "Condvar#1", "", 20), "wait Condvar#1");
        assert_eq!(fit_op("wait", "Condvar#1", "", 11), "wait #1");
        assert_eq!(fit_op("notify_one", "Condvar#2", "", 15), "noti… Condvar#2");
        assert_eq!(fit_op("notify_one", "Condvar#2", "", 11), "notify_… #2");
        assert_eq!(fit_op("notify_one", "ready", "", 11), "noti… ready");
        assert_eq!(fit_op("fetch_add", "AtomicUsize#1", "(1) -> 0", 20), "fetch_add #1… -> 0");
        assert_eq!(fit_op("fetch_add", "hits", "(1) -> 0", 20), "fetch_add hits… -> 0");
        assert_eq!(fit_op("swap", "a_very_long_name", "(1)", 11), "swap a_ver…");
        assert_eq!(fit_op("notify_one", "not_empty", "", 12), "not… not_em…");
        for limit in 0..40 {
            let shown = fit_op("compare_exchange", "AtomicU8#12", "(0, 1) -> Err(2)", limit);
            assert!(width(&shown) <= limit, "{shown}");
        }
    }

    #[test]
    fn a_long_path_loses_its_first_parts() {
        let site = Site { file: "/home/me/.cargo/queue/src/ring.rs".into(), line: 7, column: 1 };
        assert_eq!(place(&site, 40), "/home/me/.cargo/queue/src/ring.rs:7");
        assert_eq!(place(&site, 20), "…/src/ring.rs:7");
        assert_eq!(place(&site, 8), "…ng.rs:7");
        for limit in 1..40 {
            assert!(width(&place(&site, limit)) <= limit);
        }
    }

    #[test]
    fn control_characters_are_shown_not_sent() {
        assert_eq!(printable("  a\tb\r"), "  a  b\\r");
        assert_eq!(clean("a\n  b\x1b[31mc\u{7}"), "a b\\u{1b}[31mc\\u{7}");
    }

    #[test]
    fn lines_break_at_spaces_only() {
        assert_eq!(wrap("one two three-and-more", 8), ["one two", "three-and-more"]);
        assert_eq!(wrap(&format!("join thread{NO_BREAK}1"), 11), ["join", "thread 1"]);
        assert_eq!(paragraph(" ", "one two 3 4 5", 8), " one two\n   3 4 5\n");
        assert_eq!(hang("note: ", "one two", 10), "note: one\n      two\n");
    }
}
