//! Pairs of statements: which directly preceded which, in executions that passed.
//!
//! The *history-aware predecessor sets* of Wang, Said and Gupta, ICSE 2011, as data: saved between runs of
//! a test, merged between workers, compared, printed. A statement is named by its place and by the calls
//! that led to it, so it means the same in another process. Of a pair the later statement is of the task at
//! hand, the earlier of another task; only where pairs say what was read may it be of the same.
//!
//! A saved set has a hash of the text of each line it names, so that a line that was changed drops its
//! pairs: what is known of it is known of another program.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::hash::fnv1a;
use crate::trace::Site;

/// The version of [`PairSet`] that this crate writes.
pub const VERSION: u32 = 1;

/// How many pairs were learned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairCount {
    /// Different pairs, those that were known before the search among them.
    pub known: u64,
    /// Of these, how many the search has added.
    pub added: u64,
    /// The execution that added the last of them, from 1; 0 if none did.
    pub last: u64,
}

/// A place in the source, and the innermost calls that led to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Statement {
    /// The place. Of what was there before any statement: no file.
    pub site: Site,
    /// The names of the calls, the innermost first. None if contexts were not asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
}

impl Statement {
    /// What was there before any statement: the initial value of an object.
    #[must_use]
    pub fn beginning() -> Self {
        Self::default()
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.site.file.is_empty() {
            return f.write_str("the beginning");
        }
        self.site.fmt(f)?;
        if self.calls.is_empty() { Ok(()) } else { write!(f, " in {}", self.calls.join(" < ")) }
    }
}

/// Pairs of statements, by the later one.
///
/// ```
/// use raddle_trace::{PairSet, Site, Statement};
///
/// let at = |line| Statement {
///     site: Site { file: "a.rs".into(), line, column: 5 },
///     calls: vec![],
/// };
/// let mut seen = PairSet::default();
/// assert!(seen.insert(at(7), at(3)));
/// let mut more = seen.clone();
/// more.insert(at(3), at(7));
/// assert_eq!(more.difference(&seen).to_string(), "a.rs:3:5 ← a.rs:7:5\n");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "SavedPairs", try_from = "SavedPairs")]
pub struct PairSet {
    sets: BTreeMap<Statement, BTreeSet<Statement>>,
    /// Of the text of lines, by file and line.
    hashes: BTreeMap<(String, u32), u64>,
}

impl PairSet {
    /// The number of pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sets.values().map(BTreeSet::len).sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Adds a pair; says whether it is new.
    pub fn insert(&mut self, later: Statement, earlier: Statement) -> bool {
        self.sets.entry(later).or_default().insert(earlier)
    }

    /// Whether a pair is there.
    #[must_use]
    pub fn contains(&self, later: &Statement, earlier: &Statement) -> bool {
        self.sets.get(later).is_some_and(|set| set.contains(earlier))
    }

    /// All pairs, the later statement first, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Statement, &Statement)> {
        self.sets.iter().flat_map(|(later, set)| set.iter().map(move |earlier| (later, earlier)))
    }

    /// Each later statement with those that directly preceded it, in order.
    pub fn sets(&self) -> impl Iterator<Item = (&Statement, &BTreeSet<Statement>)> {
        self.sets.iter()
    }

    /// Adds all pairs of another set.
    pub fn merge(&mut self, other: &Self) {
        for (later, set) in &other.sets {
            self.sets.entry(later.clone()).or_default().extend(set.iter().cloned());
        }
        for (line, hash) in &other.hashes {
            self.hashes.insert(line.clone(), *hash);
        }
    }

    /// The pairs that are not in another set.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let mut new = Self::default();
        for (later, earlier) in self.iter().filter(|(l, e)| !other.contains(l, e)) {
            new.insert(later.clone(), earlier.clone());
        }
        new
    }

    /// Notes the text of each line that is named. `text` gives a line of a file, from 1, if it can be read.
    pub fn note_lines(&mut self, mut text: impl FnMut(&str, u32) -> Option<String>) {
        for (file, line) in self.lines() {
            if let Some(text) = text(&file, line) {
                self.hashes.insert((file, line), hash(&text));
            }
        }
    }

    /// Drops the pairs of lines whose text is another one than was noted.
    pub fn drop_changed(&mut self, mut text: impl FnMut(&str, u32) -> Option<String>) -> Dropped {
        let mut changed = BTreeSet::new();
        let mut dropped = Dropped::default();
        for (file, line) in self.lines() {
            let noted = self.hashes.get(&(file.clone(), line));
            match (noted, text(&file, line)) {
                (Some(noted), Some(text)) if *noted != hash(&text) => {
                    changed.insert((file, line));
                }
                (Some(_), Some(_)) => {}
                _ => dropped.unread += 1,
            }
        }
        let before = self.len() as u64;
        let is_same = |statement: &Statement| {
            !changed.contains(&(statement.site.file.clone(), statement.site.line))
        };
        self.sets.retain(|later, set| {
            set.retain(is_same);
            is_same(later) && !set.is_empty()
        });
        self.hashes.retain(|line, _| !changed.contains(line));
        dropped.lines = changed.len() as u64;
        dropped.pairs = before - self.len() as u64;
        dropped
    }

    /// The lines that are named.
    fn lines(&self) -> BTreeSet<(String, u32)> {
        let statements = self.iter().flat_map(|(later, earlier)| [later, earlier]);
        let named = statements.filter(|statement| !statement.site.file.is_empty());
        named.map(|statement| (statement.site.file.clone(), statement.site.line)).collect()
    }
}

/// As lines: `statement ← predecessor, predecessor`.
impl fmt::Display for PairSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (later, set) in &self.sets {
            let earlier: Vec<_> = set.iter().map(Statement::to_string).collect();
            writeln!(f, "{later} ← {}", earlier.join(", "))?;
        }
        Ok(())
    }
}

/// What became of a set whose program was changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Lines with another text than before.
    pub lines: u64,
    /// Pairs that named one of them.
    pub pairs: u64,
    /// Lines of which the text is not known, then or now: their pairs are kept.
    pub unread: u64,
}

/// The text of a line as a number: FNV-1a over what is left without spaces at its ends.
fn hash(text: &str) -> u64 {
    fnv1a(text.trim().as_bytes())
}

/// How a set is written: statements once, pairs by their numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedPairs {
    version: u32,
    statements: Vec<Statement>,
    /// Of each later statement, those before it.
    sets: Vec<(u32, Vec<u32>)>,
    lines: Vec<Noted>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Noted {
    file: String,
    line: u32,
    /// As text: not every reader of JSON keeps 64 bits.
    hash: String,
}

impl From<PairSet> for SavedPairs {
    fn from(set: PairSet) -> Self {
        let statements: BTreeSet<_> = set.iter().flat_map(|(l, e)| [l, e]).cloned().collect();
        let statements: Vec<_> = statements.into_iter().collect();
        let number = |statement: &Statement| {
            statements.binary_search(statement).map_or(u32::MAX, |at| at as u32)
        };
        let sets = set.sets.iter();
        let sets = sets.map(|(l, set)| (number(l), set.iter().map(number).collect())).collect();
        let line = |((file, line), hash): (&(String, u32), &u64)| Noted {
            file: file.clone(),
            line: *line,
            hash: format!("{hash:016x}"),
        };
        let lines = set.hashes.iter().map(line).collect();
        Self { version: VERSION, statements, sets, lines }
    }
}

impl TryFrom<SavedPairs> for PairSet {
    type Error = String;

    fn try_from(saved: SavedPairs) -> Result<Self, String> {
        if saved.version != VERSION {
            let version = saved.version;
            return Err(format!("pairs of version {version}; this is for version {VERSION}"));
        }
        let statement = |number: u32| {
            let found = saved.statements.get(number as usize).cloned();
            found.ok_or_else(|| format!("there is no statement {number}"))
        };
        let mut set = Self::default();
        for (later, before) in saved.sets {
            for earlier in before {
                set.insert(statement(later)?, statement(earlier)?);
            }
        }
        for Noted { file, line, hash } in saved.lines {
            let number = u64::from_str_radix(&hash, 16);
            let number = number.map_err(|_| format!("`{hash}` is not a hash of a line"))?;
            set.hashes.insert((file, line), number);
        }
        Ok(set)
    }
}

/// What a search has shown of orders of statements.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// How many pairs there are.
    pub count: PairCount,
    /// How they grew: executions, and pairs known after so many of them. The first and the last
    /// execution are there; in between fewer and fewer.
    pub series: Vec<(u64, u64)>,
    /// What is known now.
    pub pairs: PairSet,
    /// What was not known before the search. Empty if nothing was known.
    pub new: PairSet,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32) -> Statement {
        Statement { site: Site { file: "a.rs".into(), line, column: 1 }, calls: vec![] }
    }

    fn set(pairs: &[(u32, u32)]) -> PairSet {
        let mut set = PairSet::default();
        for &(later, earlier) in pairs {
            set.insert(at(later), at(earlier));
        }
        set
    }

    #[test]
    fn sets_are_merged_and_compared() {
        let (mut one, other) = (set(&[(1, 2), (3, 4)]), set(&[(1, 2), (1, 5)]));
        assert_eq!(other.difference(&one), set(&[(1, 5)]));
        one.merge(&other);
        assert_eq!(one, set(&[(1, 2), (1, 5), (3, 4)]));
        assert_eq!((one.len(), one.is_empty()), (3, false));
    }

    #[test]
    fn a_set_is_printed_in_order() {
        let mut set = set(&[(7, 3), (2, 9), (7, 1)]);
        let calls = vec!["push".to_owned(), "run".to_owned()];
        set.insert(at(2), Statement { calls, ..at(4) });
        set.insert(at(8), Statement::beginning());
        let text = "a.rs:2:1 ← a.rs:4:1 in push < run, a.rs:9:1\n\
                    a.rs:7:1 ← a.rs:1:1, a.rs:3:1\n\
                    a.rs:8:1 ← the beginning\n";
        assert_eq!(set.to_string(), text);
    }

    #[test]
    fn a_set_of_pairs_is_read_back_as_written() {
        let mut set = set(&[(7, 3), (2, 9)]);
        set.note_lines(|_, line| (line != 9).then(|| format!("line {line}")));
        let json = serde_json::to_string(&set).expect("it can be written");
        assert_eq!(serde_json::from_str::<PairSet>(&json).expect("as written"), set);
        let later = json.replace("\"version\":1", "\"version\":2");
        let error = serde_json::from_str::<PairSet>(&later).expect_err("refused").to_string();
        assert!(error.contains("pairs of version 2; this is for version 1"), "{error}");
        let wrong = json.replace("[0,[", "[9,[");
        assert!(serde_json::from_str::<PairSet>(&wrong).is_err());
    }

    #[test]
    fn a_line_that_was_changed_drops_its_pairs() {
        let mut pairs = set(&[(1, 2), (3, 4), (2, 5)]);
        pairs.note_lines(|_, line| (line != 4).then(|| format!("  line {line}")));
        let text = |_: &str, line: u32| {
            Some(if line == 2 { "other".to_owned() } else { format!("line {line} ") })
        };
        let dropped = pairs.drop_changed(text);
        // Of line 4 the text was not known.
        assert_eq!(dropped, Dropped { lines: 1, pairs: 2, unread: 1 });
        assert_eq!(pairs.iter().count(), 1);
        assert!(pairs.contains(&at(3), &at(4)));
    }
}
