//! Pairs of statements between runs of a test: a file under `target/raddle/`.
//!
//! A file that cannot be read is an error and not a fresh start: a user who keeps what a nightly job has
//! learned wants to know that it is gone. Only a search that passes leaves something. If a failing one
//! did, the next might leave out the way to the failure.
//!
//! # Why: What was learned is left only by a search that passed
//! The pairs of a failing one are not wrong, but the next run might leave out the way to the failure.
//! `raddle/src/learned.rs`.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use raddle_trace::{Dropped, OrderSet, PairSet};

use crate::files::{find, write};

/// What the last run left, if it left something, and what is to be said of it.
pub(crate) fn load(path: Option<&Path>) -> Result<(Option<PairSet>, Option<String>), String> {
    let Some(path) = path else { return Ok((None, None)) };
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((None, None)),
        Err(error) => return Err(format!("{}: {error}", path.display())),
    };
    let read = raddle_report::pairs_from_json(&text);
    let mut pairs = read.map_err(|error| format!("{}: {error}", path.display()))?;
    let mut files = Files::default();
    let dropped = pairs.drop_changed(|file, line| files.line(file, line));
    Ok((Some(pairs), say(dropped)))
}

/// A sentence about lines that were changed, or cannot be compared.
fn say(dropped: Dropped) -> Option<String> {
    let Dropped { lines, pairs, unread } = dropped;
    let changed = (lines > 0).then(|| {
        format!("{pairs} of the pairs learned before name one of {lines} changed lines: dropped")
    });
    let unread = (unread > 0).then(|| {
        format!(
            "the source of {unread} lines was not found, so pairs learned before are kept by the \
             numbers of these lines alone"
        )
    });
    let said: Vec<_> = changed.into_iter().chain(unread).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// The orders of receives that the last run left, if it left some.
pub(crate) fn load_orders(path: Option<&Path>) -> Result<Option<OrderSet>, String> {
    let Some(path) = path else { return Ok(None) };
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{}: {error}", path.display())),
    };
    let orders = raddle_report::orders_from_json(&text);
    orders.map(Some).map_err(|error| format!("{}: {error}", path.display()))
}

/// Leaves orders of receives for the next run. If that cannot be, a sentence that says why.
pub(crate) fn save_orders(path: Option<&Path>, orders: &OrderSet) -> Result<(), String> {
    let Some(path) = path else {
        return Err(
            "the orders of receives were not saved: no target directory was found".to_owned()
        );
    };
    let written = write(path, &raddle_report::orders_to_json(orders));
    written.map_err(|error| format!("the orders of receives could not be saved: {error}"))
}

/// Leaves what was learned for the next run. If that cannot be, a sentence that says why.
pub(crate) fn save(path: Option<&Path>, mut pairs: PairSet) -> Result<(), String> {
    let Some(path) = path else {
        return Err("the pairs learned were not saved: no target directory was found".to_owned());
    };
    let mut files = Files::default();
    pairs.note_lines(|file, line| files.line(file, line));
    let written = write(path, &raddle_report::pairs_to_json(&pairs));
    written.map_err(|error| format!("the pairs learned could not be saved: {error}"))
}

/// The lines of source files, each read once.
#[derive(Debug, Default)]
struct Files(BTreeMap<String, Option<Vec<String>>>);

impl Files {
    /// A line, from 1. None if the file is not there, or shorter.
    fn line(&mut self, file: &str, line: u32) -> Option<String> {
        let lines = self.0.entry(file.to_owned()).or_insert_with(|| {
            let text = fs::read_to_string(find(Path::new(file))?).ok()?;
            Some(text.lines().map(str::to_owned).collect())
        });
        lines.as_ref()?.get(line.checked_sub(1)? as usize).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_dropped_is_said() {
        assert_eq!(say(Dropped::default()), None);
        let said = say(Dropped { lines: 2, pairs: 3, unread: 0 });
        let expected = "3 of the pairs learned before name one of 2 changed lines: dropped";
        assert_eq!(said.as_deref(), Some(expected));
        assert!(
            say(Dropped { lines: 2, pairs: 3, unread: 1 }).is_some_and(|s| s.contains("; the"))
        );
    }

    #[test]
    fn lines_are_those_of_the_file() {
        let mut files = Files::default();
        let first = files.line(file!(), 1);
        assert!(first.is_some_and(|line| line.starts_with("//! Pairs of statements")));
        assert_eq!(files.line(file!(), 0), None);
        assert_eq!(files.line("no/such/file.rs", 1), None);
    }
}
