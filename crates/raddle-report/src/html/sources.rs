//! The text of source files, which a page shows beside a step, and where its links to them lead.

use std::collections::{BTreeMap, BTreeSet};

use raddle_trace::{Report, Site};

use crate::links::{Links, sites};

/// How many lines a page shows before and after the one of a step.
const AROUND: u32 = 5;
/// A longer line is cut: it is not read, and generated files have lines of megabytes.
const LONGEST_LINE: usize = 400;

/// Source files by their name in sites. The caller reads them: this crate reads no files.
///
/// ```
/// use raddle_report::html::Sources;
///
/// let mut sources = Sources::default();
/// sources.insert("src/lib.rs", "fn main() {}\n");
/// assert!(!sources.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    files: BTreeMap<String, Vec<String>>,
    links: Option<Links>,
}

impl Sources {
    /// The text of a file. `file` is as in [`Site::file`].
    pub fn insert(&mut self, file: impl Into<String>, text: &str) {
        let cut = |line: &str| line.chars().take(LONGEST_LINE).collect();
        self.files.insert(file.into(), text.lines().map(cut).collect());
    }

    /// Has places on a page lead to an editor, or wherever the links say.
    ///
    /// ```
    /// use raddle_report::{Links, html::Sources};
    ///
    /// let root = std::path::absolute(".")?;
    /// let mut sources = Sources::default();
    /// sources.link(Links { root, format: Links::EDITOR.to_owned() });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn link(&mut self, links: Links) {
        self.links = Some(links);
    }

    /// The address of a place, if there are to be links and it is known where it is.
    pub(crate) fn address(&self, site: &Site) -> Option<String> {
        self.links.as_ref().filter(|_| !site.file.is_empty()).map(|links| links.address(site))
    }

    /// Whether there is no file.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The files of which the page of a report shows lines, if it is given them.
    #[must_use]
    pub fn wanted(report: &Report) -> BTreeSet<&str> {
        let files = sites(report).into_iter().map(|site| site.file.as_str());
        files.filter(|file| !file.is_empty()).collect()
    }

    /// The lines around a site, with their numbers.
    pub(crate) fn around(&self, site: &Site) -> Vec<(u32, &str)> {
        let Some(lines) = self.files.get(&site.file) else { return Vec::new() };
        let from = site.line.saturating_sub(AROUND).max(1);
        let to = site.line.saturating_add(AROUND);
        let lines = (from..=to).filter_map(|at| {
            let line = lines.get(at as usize - 1)?;
            Some((at, line.as_str()))
        });
        lines.collect()
    }
}
