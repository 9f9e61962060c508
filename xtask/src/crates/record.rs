//! What was measured of one crate at one bound, kept in a file of `docs/results/crates`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::{Settings, Subject};
use crate::write_file;

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Passed,
    Failed,
    /// At the limit of CPU time.
    Stopped,
    /// At the limit of wall time, with CPU time left.
    Hung,
}

const ENDED: [(Ended, &str); 4] = [
    (Ended::Passed, "passed"),
    (Ended::Failed, "failed"),
    (Ended::Stopped, "stopped"),
    (Ended::Hung, "hung"),
];

/// What came of a test under one tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) ended: Ended,
    pub(super) seconds: f64,
    /// If the tool said how many; if it was stopped, how many it had said by then.
    pub(super) executions: Option<u64>,
    /// Whether everything was covered, as far as the tool says so.
    pub(super) covered: bool,
    pub(super) made: Made,
}

/// A test under the tools that ran it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) test: String,
    pub(super) loom: Option<Run>,
    pub(super) raddle: Option<Run>,
}

/// When and how a run was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    /// CPU seconds.
    pub(super) limit: u64,
    pub(super) commit: String,
    pub(super) date: String,
}

/// A crate at one bound.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) bound: Option<u64>,
    /// Only tests with this in their names were run, if it is not empty.
    pub(super) tests: String,
    /// What else is to be known of the rows.
    pub(super) note: Option<String>,
    /// Why there are no rows.
    pub(super) error: Option<String>,
    pub(super) rows: Vec<Row>,
}

impl Record {
    /// What is kept of this crate at this bound, or an empty record.
    pub(super) fn of(
        root: &Path,
        subject: &Subject,
        settings: &Settings<'_>,
    ) -> Result<Self, String> {
        let empty = Self {
            name: subject.name.to_owned(),
            version: subject.version.to_owned(),
            bound: subject.bound.map(u64::from),
            tests: settings.tests.to_owned(),
            note: None,
            error: None,
            rows: Vec::new(),
        };
        let is_it = |record: &Self| {
            record.name == empty.name
                && record.version == empty.version
                && record.bound == empty.bound
        };
        // Some tests of a crate that is kept as a whole are rows of it.
        let mut fitting: Vec<Self> = kept(root)?.into_iter().filter(is_it).collect();
        fitting.retain(|record| record.tests.is_empty() || record.tests == empty.tests);
        fitting.sort_by_key(|record| record.tests.len());
        Ok(fitting.into_iter().next().unwrap_or(empty))
    }

    /// Puts a row in: the run under a tool that made none now stays as it is.
    pub(super) fn merge(&mut self, new: Row) {
        match self.rows.iter_mut().find(|row| row.test == new.test) {
            Some(row) => {
                row.loom = new.loom.or(row.loom.take());
                row.raddle = new.raddle.or(row.raddle.take());
            }
            None => self.rows.push(new),
        }
    }

    /// Writes it in the place of what was measured before of this crate, this bound and these tests.
    pub(super) fn keep(&self, root: &Path) -> Result<(), String> {
        let directory = directory(root);
        fs::create_dir_all(&directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
        let bound = self.bound.map_or("none".to_owned(), |bound| bound.to_string());
        let tests = if self.tests.is_empty() {
            String::new()
        } else {
            format!("-{}", self.tests.replace("::", "-"))
        };
        let file = directory.join(format!("{}-bound-{bound}{tests}.json", self.name));
        let text = serde_json::to_string_pretty(&self.json()).map_err(|error| error.to_string())?;
        write_file(&file, (text + "\n").as_bytes())
    }

    fn json(&self) -> Value {
        let run = |run: &Option<Run>| match run {
            Some(run) => json!({
                "ended": ENDED.iter().find(|(ended, _)| *ended == run.ended).map(|(_, word)| word),
                "seconds": run.seconds,
                "executions": run.executions,
                "covered": run.covered,
                "limit": run.made.limit,
                "commit": run.made.commit,
                "date": run.made.date,
            }),
            None => Value::Null,
        };
        let row = |row: &Row| json!({ "test": row.test, "loom": run(&row.loom), "raddle": run(&row.raddle) });
        json!({
            "crate": self.name,
            "version": self.version,
            "bound": self.bound,
            "tests": self.tests,
            "note": self.note,
            "error": self.error,
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }

    fn read(value: &Value) -> Option<Self> {
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        let row = |row: &Value| {
            Some(Row {
                test: row["test"].as_str()?.to_owned(),
                loom: run(&row["loom"]),
                raddle: run(&row["raddle"]),
            })
        };
        Some(Self {
            name: text("crate")?,
            version: text("version")?,
            bound: value["bound"].as_u64(),
            tests: text("tests")?,
            note: text("note"),
            error: text("error"),
            rows: value["rows"].as_array()?.iter().map(row).collect::<Option<_>>()?,
        })
    }
}

fn run(value: &Value) -> Option<Run> {
    let word = value["ended"].as_str()?;
    Some(Run {
        ended: ENDED.iter().find(|(_, known)| *known == word)?.0,
        seconds: value["seconds"].as_f64()?,
        executions: value["executions"].as_u64(),
        covered: value["covered"].as_bool()?,
        made: Made {
            limit: value["limit"].as_u64()?,
            commit: value["commit"].as_str()?.to_owned(),
            date: value["date"].as_str()?.to_owned(),
        },
    })
}

fn directory(root: &Path) -> PathBuf {
    root.join("docs/results/crates")
}

/// Everything that is kept, in the order of the names.
pub(super) fn kept(root: &Path) -> Result<Vec<Record>, String> {
    let mut records = Vec::new();
    let Ok(files) = fs::read_dir(directory(root)) else { return Ok(records) };
    let mut files: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
    files.sort();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "json")) {
        if file.file_name().is_some_and(|name| name == super::mutants::KEPT) {
            continue;
        }
        let broken = |why: &str| format!("{}: {why}", file.display());
        let text = fs::read_to_string(file).map_err(|error| broken(&error.to_string()))?;
        let value = serde_json::from_str(&text).map_err(|error| broken(&error.to_string()))?;
        records.push(Record::read(&value).ok_or_else(|| broken("not what this tool writes"))?);
    }
    Ok(records)
}

/// The commit of the work tree, marked if more than pages of results has changed since, and the date.
pub(super) fn now(root: &Path) -> Result<(String, String), String> {
    let said = |program: &str, arguments: &str| {
        let output = Command::new(program).args(arguments.split(' ')).current_dir(root).output();
        let output = output.map_err(|error| format!("could not run {program}: {error}"))?;
        Ok::<_, String>(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    };
    let head = said("git", "rev-parse --short=12 HEAD")?;
    let status = said("git", "status --porcelain")?;
    let changed = status.lines().any(|line| !line.contains("docs/results/"));
    let commit = if changed { format!("{head}-changed") } else { head };
    Ok((commit, said("date", "-u +%F")?))
}

#[cfg(test)]
mod tests {
    use super::{Ended, Made, Record, Row, Run};

    #[test]
    fn what_is_kept_is_read_again() {
        let made = Made { limit: 20, commit: "abc".to_owned(), date: "2026-01-01".to_owned() };
        let run =
            Run { ended: Ended::Stopped, seconds: 1.5, executions: None, covered: false, made };
        let record = Record {
            name: "a".to_owned(),
            version: "1.0.0".to_owned(),
            bound: Some(2),
            tests: String::new(),
            note: None,
            error: None,
            rows: vec![Row { test: "t".to_owned(), loom: Some(run), raddle: None }],
        };
        assert_eq!(Record::read(&record.json()), Some(record));
    }
}
