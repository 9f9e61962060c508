//! Which tests are raddle's: by the marks in their binary, and by what the test harness lists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Stdio;
use std::sync::Arc;

use memchr::memmem;
use raddle_trace::events::TestId;
use raddle_trace::host::{MARK, TestMark};

use crate::cli::Chosen;
use crate::error::DriverError;
use crate::expression::Expression;
use crate::project::Binary;

/// A raddle test.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    pub(crate) id: TestId,
    /// Where it is in the source, as `file:line`.
    pub(crate) site: String,
    /// Whether it is marked `#[ignore]`.
    pub(crate) ignored: bool,
    pub(crate) binary: Arc<Binary>,
}

/// The raddle tests of these binaries, by package, target and name.
pub(crate) fn all(binaries: Vec<Binary>) -> Result<Vec<Test>, DriverError> {
    let mut tests = Vec::new();
    for binary in binaries {
        let bytes = fs::read(&binary.path)
            .map_err(|error| DriverError::build(format!("{}: {error}", binary.path.display())))?;
        let marks = marks(&bytes);
        if marks.is_empty() {
            continue;
        }
        let listed = listed(&binary, &["--list"])?;
        let ignored = listed_ignored(&binary)?;
        let binary = Arc::new(binary);
        // A mark without a test is that of a function which was compiled and is none.
        for (test, site) in marks.into_iter().filter(|(test, _)| listed.contains(test)) {
            let (package, target) = (binary.package.name.clone(), binary.target.clone());
            let ignored = ignored.contains(&test);
            let id = TestId { package, target, test };
            tests.push(Test { id, site, ignored, binary: Arc::clone(&binary) });
        }
    }
    tests.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(tests)
}

/// The tests that were asked for, and how many of them are left out as ignored.
pub(crate) fn chosen(tests: Vec<Test>, chosen: &Chosen) -> Result<(Vec<Test>, u64), DriverError> {
    if tests.is_empty() {
        return Err(DriverError::no_tests(
            "there is no raddle test: mark functions with #[raddle::test], and see that \
             dev-dependencies have raddle with the feature `check`",
        ));
    }
    let all = tests.len();
    let Chosen { filters, skip, expressions, exact, include_ignored } = chosen;
    let hit = |test: &Test, words: &[String]| {
        let name = &test.id.test;
        words.iter().any(|word| if *exact { name == word } else { name.contains(word) })
    };
    let named = |test: &Test| filters.is_empty() || hit(test, filters);
    let known: Vec<&str> = tests.iter().map(|test| test.id.test.as_str()).collect();
    if !tests.iter().any(named) {
        let near =
            filters.iter().find_map(|filter| raddle_knobs::nearest(filter, known.iter().copied()));
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let filters = filters.join("`, `");
        let what = if *exact {
            format!("is called `{filters}`")
        } else {
            format!("has `{filters}` in its name")
        };
        return Err(DriverError::no_tests(format!(
            "none of the {all} raddle tests {what}{near}; cargo raddle list shows them"
        )));
    }
    let meant = |test: &Test| {
        let holds = |expression: &Expression| expression.holds(&test.id);
        expressions.is_empty() || expressions.iter().any(holds)
    };
    let wanted = |test: &Test| named(test) && meant(test) && !hit(test, skip);
    let named: Vec<Test> = tests.into_iter().filter(wanted).collect();
    if named.is_empty() {
        return Err(DriverError::no_tests(format!(
            "the filters, -E and --skip together leave none of the {all} raddle tests; cargo raddle list shows \
             what they leave"
        )));
    }
    let (ignored, run): (Vec<_>, Vec<_>) =
        named.into_iter().partition(|test| test.ignored && !include_ignored);
    Ok((run, ignored.len() as u64))
}

/// Words after `--` that begin with a dash are meant for the test harness, which is not asked: a host is told by the driver
/// what to do. What does the same here is named.
pub(crate) fn refuse_flags(chosen: &Chosen) -> Result<(), DriverError> {
    let Some(flag) = chosen.filters.iter().find(|filter| filter.starts_with('-')) else {
        return Ok(());
    };
    let name = flag.split('=').next().unwrap_or(flag);
    let instead = match name {
        "--nocapture" | "--no-capture" | "--show-output" => "--no-capture shows what tests print",
        "--exact" => "--exact makes filters whole names",
        "--ignored" | "--include-ignored" => {
            "--include-ignored also runs tests that are marked `ignore`"
        }
        "--skip" => "--skip WORD leaves tests out",
        "--test-threads" => "--jobs N runs so many hosts at a time",
        "--format" | "--logfile" => "--format json and --junit FILE are for programs",
        "--list" => "cargo raddle list says which tests there are",
        _ => "cargo raddle test --help has the flags that there are",
    };
    Err(DriverError::usage(format!(
        "`{flag}` stands after `--`, where only names of tests do: nothing is passed on to the test harness. \
         {instead}; write flags before `--`"
    )))
}

/// The marks in a binary: tests, and where they are.
fn marks(bytes: &[u8]) -> BTreeMap<String, String> {
    let found = memmem::find_iter(bytes, MARK.as_bytes());
    let read = |at: usize| TestMark::read(&bytes[at + MARK.len()..]);
    found.filter_map(read).map(|TestMark { test, site }| (test, site)).collect()
}

fn listed_ignored(binary: &Binary) -> Result<BTreeSet<String>, DriverError> {
    listed(binary, &["--list", "--ignored"])
}

/// What the test harness lists.
fn listed(binary: &Binary, arguments: &[&str]) -> Result<BTreeSet<String>, DriverError> {
    let output = binary.command().args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| {
        DriverError::tool(format!("{} could not be run: {error}", binary.path.display()))
    })?;
    let said = String::from_utf8_lossy(&output.stdout);
    let test = |line: &str| line.strip_suffix(": test").map(str::to_owned);
    Ok(said.lines().filter_map(test).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_among_other_bytes() {
        let mark = |path: &str| format!("{MARK}{path}\u{1}src/a.rs:3\u{1}");
        let mut bytes = vec![0, 1, 2];
        bytes.extend(mark("a::b::c").bytes());
        // The driver's own binary has the beginning of a mark, and no more.
        bytes.extend(MARK.bytes());
        bytes.extend(mark("a::d").bytes());
        let found = marks(&bytes);
        let names: Vec<_> = found.keys().map(String::as_str).collect();
        assert_eq!(names, ["b::c", "d"]);
    }
}
