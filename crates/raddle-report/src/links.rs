//! Places in the source as links: the addresses that pages have, and that a terminal can follow by the OSC 8
//! sequence.
//!
//! A terminal that does not know it shows the text alone; a few old ones show the sequence. So the caller
//! says whether there are to be links, and [`Links::for_terminal`] has a guess.

use std::path::{Path, PathBuf};

use raddle_trace::{Missing, Outcome, Report, Site};

use crate::columns::place;

/// Where places in the source lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Links {
    /// What relative paths are relative to.
    pub root: PathBuf,
    /// The address, with `{path}`, `{line}` and `{column}`: [`FILE`](Self::FILE), or what an editor
    /// registers, such as `vscode://file{path}:{line}:{column}`.
    pub format: String,
}

impl Links {
    /// Addresses that every terminal with links can open.
    pub const FILE: &'static str = "file://{path}#{line}";
    /// Addresses that open an editor, where Visual Studio Code is installed.
    pub const EDITOR: &'static str = "vscode://file{path}:{line}:{column}";

    /// Links to files below `root`.
    #[must_use]
    pub fn to_files(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), format: Self::FILE.to_owned() }
    }

    /// Whether a terminal is known to follow links, by the environment that it sets. `variable` looks
    /// one up. `FORCE_HYPERLINK` decides if it is set: `0` is no.
    ///
    /// Misses: terminals that are not in the list.
    ///
    /// ```
    /// use raddle_report::Links;
    ///
    /// let kitty = |name: &str| (name == "KITTY_WINDOW_ID").then(|| "1".to_owned());
    /// assert!(Links::for_terminal(true, kitty));
    /// assert!(!Links::for_terminal(false, kitty));
    /// assert!(!Links::for_terminal(true, |_| None));
    /// ```
    #[must_use]
    pub fn for_terminal(is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
        if let Some(forced) = variable("FORCE_HYPERLINK").filter(|forced| !forced.is_empty()) {
            return forced != "0";
        }
        let is = |name: &str, known: &[&str]| {
            variable(name).is_some_and(|value| known.contains(&value.as_str()))
        };
        // Since 0.50 the library behind many terminals has links; earlier ones showed them.
        let vte = variable("VTE_VERSION").and_then(|version| version.parse::<u32>().ok());
        let programs =
            ["iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio", "zed", "WarpTerminal"];
        is_terminal
            && !is("TERM", &["dumb"])
            && (is("TERM_PROGRAM", &programs)
                || is("TERM", &["xterm-kitty", "alacritty", "foot", "xterm-ghostty"])
                || vte.is_some_and(|version| version >= 5_000)
                || ["KITTY_WINDOW_ID", "WT_SESSION", "KONSOLE_VERSION", "DOMTERM"]
                    .iter()
                    .any(|name| variable(name).is_some()))
    }

    /// The address of a place. Nothing in it would end an OSC 8 sequence.
    pub(crate) fn address(&self, site: &Site) -> String {
        let path = encoded(&self.root.join(Path::new(&site.file)).to_string_lossy());
        // Windows has a letter where other systems have the root.
        let path = if path.starts_with('/') { path } else { format!("/{path}") };
        let address = self
            .format
            .replace("{path}", &path)
            .replace("{line}", &site.line.to_string())
            .replace("{column}", &site.column.max(1).to_string());
        address.chars().filter(|letter| !letter.is_control()).collect()
    }

    /// The text of a place, as a link to it.
    pub(crate) fn wrap(&self, site: &Site, text: &str) -> String {
        if text.is_empty() || site.file.is_empty() {
            return text.to_owned();
        }
        let address = self.address(site);
        format!("\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\")
    }

    /// Text in which places stand as `file:line` or `file:line:column`, with links to them.
    pub(crate) fn within(&self, text: &str, sites: &[&Site]) -> String {
        let mut names: Vec<(String, &Site)> = Vec::new();
        for site in sites.iter().filter(|site| !site.file.is_empty()) {
            let name = place(site, usize::MAX);
            names.push((format!("{name}:{}", site.column), site));
            names.push((name, site));
        }
        // The longest first: `a.rs:1` is the beginning of `a.rs:12`.
        names.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        names.dedup_by(|(a, _), (b, _)| a == b);
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        let mut last = ' ';
        while let Some(letter) = rest.chars().next() {
            let begins = !last.is_alphanumeric() && !"/\\._-".contains(last);
            let found = names.iter().find(|(name, _)| {
                let after = rest.strip_prefix(name.as_str());
                begins
                    && after.is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric()))
            });
            let taken = if let Some((name, site)) = found {
                out.push_str(&self.wrap(site, name));
                name.as_str()
            } else {
                out.push(letter);
                &rest[..letter.len_utf8()]
            };
            last = taken.chars().next_back().unwrap_or(' ');
            rest = &rest[taken.len()..];
        }
        out
    }
}

/// A path as part of an address.
fn encoded(path: &str) -> String {
    let mut out = String::new();
    for byte in path.replace('\\', "/").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'~' | b':' => {
                out.push(char::from(byte));
            }
            _ => {
                use std::fmt::Write as _;
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// The sites of a failure: of its steps, and of how it ended.
pub(crate) fn sites(report: &Report) -> Vec<&Site> {
    let Some(failure) = &report.failure else { return Vec::new() };
    let trace = &failure.trace;
    let mut sites: Vec<&Site> = trace.events.iter().map(|event| &event.site).collect();
    let calls = trace.events.iter().flat_map(|event| &event.calls);
    sites.extend(calls.map(|call| &call.site));
    sites.extend(trace.objects.iter().map(|object| &object.created));
    sites.extend(trace.panics.iter().filter_map(|raised| raised.panic.site.as_ref()));
    match &failure.outcome {
        Outcome::Panicked { panics, .. } => {
            sites.extend(panics.iter().filter_map(|panic| panic.site.as_ref()));
        }
        Outcome::Deadlock { waiting } => {
            sites.extend(waiting.iter().map(|one| &one.site));
            let holders = waiting.iter().flat_map(|one| &one.held_by);
            sites.extend(holders.filter_map(|(_, since)| since.as_ref()));
        }
        Outcome::DataRace(race) => {
            sites.extend([&race.first.site, &race.second.site, &race.cell.created]);
            let locks = race.first.locks.iter().chain(&race.second.locks);
            sites.extend(locks.map(|lock| &lock.taken));
            if let Missing::Ordering { written, read, .. } = &race.missing {
                sites.extend([written, read]);
            }
        }
        Outcome::StackOverflow { site: Some(site), .. } => sites.push(site),
        _ => {}
    }
    sites
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(file: &str, line: u32) -> Site {
        Site { file: file.to_owned(), line, column: 9 }
    }

    /// The sequences in brackets, to be read.
    fn shown(text: &str) -> String {
        text.replace("\x1b]8;;\x1b\\", "]").replace("\x1b]8;;", "[").replace("\x1b\\", " ")
    }

    #[test]
    fn a_place_leads_to_its_file_and_line() {
        let links = Links::to_files("/work dir");
        let text = links.wrap(&site("src/lib.rs", 7), "lib.rs:7");
        assert_eq!(shown(&text), "[file:///work%20dir/src/lib.rs#7 lib.rs:7]");
        let text = links.wrap(&site("/else/where.rs", 7), "where.rs:7");
        assert_eq!(shown(&text), "[file:///else/where.rs#7 where.rs:7]");
        assert_eq!(links.wrap(&Site::default(), "nowhere"), "nowhere");
        let format = Links::EDITOR.to_owned();
        let text = Links { format, ..links }.wrap(&site("a.rs", 7), "a.rs:7");
        assert_eq!(shown(&text), "[vscode://file/work%20dir/a.rs:7:9 a.rs:7]");
        let windows = Links { root: "C:\\work".into(), format: Links::EDITOR.to_owned() };
        let address = windows.address(&site("C:\\work\\a.rs", 7));
        assert!(address.starts_with("vscode://file/C:/work"), "{address}");
    }

    #[test]
    fn what_would_end_the_sequence_is_not_in_it() {
        let links = Links::to_files("/");
        let text = links.wrap(&site("a\x1b\\\x07.rs", 1), "a");
        assert_eq!(shown(&text), "[file:///a%1B/%07.rs#1 a]");
        let text = Links { format: "x\x1b\\{line}".to_owned(), ..links }.wrap(&site("a", 1), "a");
        assert_eq!(shown(&text), "[x\\1 a]");
    }

    #[test]
    fn places_are_found_whole_in_text() {
        let links = Links { root: "/".into(), format: "{path}#{line}".to_owned() };
        let (first, second) = (site("a.rs", 1), site("a.rs", 12));
        let text = links.within("at a.rs:12, a.rs:1:9 and aa.rs:1, a.rs:123", &[&first, &second]);
        assert_eq!(shown(&text), "at [/a.rs#12 a.rs:12], [/a.rs#1 a.rs:1:9] and aa.rs:1, a.rs:123");
    }

    #[test]
    fn terminals_are_known_by_what_they_set() {
        let with = |set: &'static [(&str, &str)]| {
            move |name: &str| {
                set.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
            }
        };
        for (set, known) in [
            (&[("TERM_PROGRAM", "WezTerm")][..], true),
            (&[("TERM_PROGRAM", "Apple_Terminal")], false),
            (&[("VTE_VERSION", "4999")], false),
            (&[("VTE_VERSION", "7201")], true),
            (&[("VTE_VERSION", "7201"), ("TERM", "dumb")], false),
            (&[("WT_SESSION", "x"), ("FORCE_HYPERLINK", "0")], false),
        ] {
            assert_eq!(Links::for_terminal(true, with(set)), known, "{set:?}");
        }
        assert!(Links::for_terminal(false, with(&[("FORCE_HYPERLINK", "1")])));
    }
}
