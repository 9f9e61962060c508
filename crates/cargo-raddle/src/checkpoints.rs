//! Tests that were stopped before they were through: under `target/raddle/checkpoints/` there is a file for
//! each, from which `cargo raddle test --resume` goes on.
//!
//! A host writes the file of its test, and removes it when there is nothing left to do; the driver only says
//! where. A test that was not begun when a run was stopped has a mark there instead.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use raddle_trace::Note;
use raddle_trace::events::{Ending, TestId};
use raddle_trace::saved::file_stem;

use crate::check::Tested;
use crate::error::DriverError;
use crate::find::Test;

/// What earlier runs may have left of a test that was not through: the state of one host, the units of several, a mark.
const LEFT: [&str; 3] = ["checkpoint", "units", "waits"];

/// Where the checkpoints of a workspace are, and what is done with them.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    directory: PathBuf,
    /// Whether tests go on from them.
    resume: bool,
}

impl Checkpoints {
    pub(crate) fn new(target: &Path, resume: bool) -> Self {
        Self { directory: target.join("checkpoints"), resume }
    }

    fn file(&self, test: &TestId, extension: &str) -> PathBuf {
        self.directory.join(format!("{}.{extension}", stem(test)))
    }

    /// The mark of a test that did not pass when it was last run. It is none to go on from, so it lies elsewhere.
    fn failed_mark(&self, test: &TestId) -> PathBuf {
        self.directory.with_file_name("failed").join(stem(test))
    }

    /// What a host that searches is told.
    pub(crate) fn variables(&self, test: &TestId) -> [(String, String); 2] {
        let file = self.file(test, "checkpoint").to_string_lossy().into_owned();
        [
            ("RADDLE_CHECKPOINT".to_owned(), file),
            ("RADDLE_RESUME".to_owned(), self.resume.to_string()),
        ]
    }

    /// The file with the units of a search that several hosts share.
    pub(crate) fn units(&self, test: &TestId) -> PathBuf {
        self.file(test, "units")
    }

    /// Whether a test is to go on from what one host has left.
    pub(crate) fn has_checkpoint(&self, test: &TestId) -> bool {
        self.resume && self.file(test, "checkpoint").is_file()
    }

    /// Whether tests go on from what an earlier run has left.
    pub(crate) fn resumes(&self) -> bool {
        self.resume
    }

    /// Makes the directory.
    pub(crate) fn prepare(&self) -> io::Result<()> {
        fs::create_dir_all(&self.directory)
    }

    /// Whether there is something to go on from that was kept since then.
    pub(crate) fn is_newer(&self, test: &TestId, than: SystemTime) -> bool {
        let kept = fs::metadata(self.file(test, "checkpoint"));
        kept.and_then(|kept| kept.modified()).is_ok_and(|kept| kept >= than)
    }

    /// Of these tests, those that are to be run: all, or those that an earlier run has left.
    pub(crate) fn chosen(&self, tests: Vec<Test>) -> Result<Vec<Test>, DriverError> {
        if !self.resume {
            return Ok(tests);
        }
        let left = |test: &Test| LEFT.iter().any(|kind| self.file(&test.id, kind).is_file());
        let left: Vec<Test> = tests.into_iter().filter(left).collect();
        if left.is_empty() {
            return Err(DriverError::no_tests(
                "there is nothing to go on with: none of these tests was stopped before it was through; run \
                 them without --resume",
            ));
        }
        Ok(left)
    }

    /// Of these tests, those that did not pass when they were last run.
    pub(crate) fn failed(&self, tests: Vec<Test>) -> Result<Vec<Test>, DriverError> {
        let failed = |test: &Test| self.failed_mark(&test.id).is_file();
        let failed: Vec<Test> = tests.into_iter().filter(failed).collect();
        if failed.is_empty() {
            return Err(DriverError::no_tests(
                "none of these tests failed when it was last run; run them without --failed",
            ));
        }
        Ok(failed)
    }

    /// Removes what earlier runs of these tests have left to go on from.
    pub(crate) fn discard(&self, tests: &[Test]) -> io::Result<()> {
        for file in tests.iter().flat_map(|test| LEFT.map(|kind| self.file(&test.id, kind))) {
            match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Marks the tests that were not begun and those that did not pass, and takes the marks of the others away.
    pub(crate) fn mark(&self, tests: &[Test], tested: &[Tested]) -> io::Result<()> {
        for test in tests {
            let tested = tested.iter().find(|tested| tested.id == test.id);
            set_mark(&self.file(&test.id, "waits"), tested.is_none())?;
            // One that was not begun is as it was.
            if let Some(tested) = tested {
                set_mark(&self.failed_mark(&test.id), tested.ending != Ending::Passed)?;
            }
        }
        Ok(())
    }
}

/// What the files of a test are called.
fn stem(test: &TestId) -> String {
    let TestId { package, target, test } = test;
    file_stem(&format!("{package}.{target}.{test}"))
}

/// Makes an empty file, or removes it.
fn set_mark(mark: &Path, marked: bool) -> io::Result<()> {
    if marked {
        mark.parent().map_or(Ok(()), fs::create_dir_all)?;
        return fs::write(mark, "");
    }
    let _ = fs::remove_file(mark);
    Ok(())
}

/// The end of a run: what was stopped, and the command that goes on, which is this one's `arguments` once more.
pub(crate) fn said(tested: &[Tested], not_run: u64, arguments: &[String]) -> String {
    let mut out = String::new();
    let mut kept: Vec<&str> = Vec::new();
    for test in tested {
        let name = &test.id.test;
        let notes = test.report.iter().flat_map(|report| &report.notes);
        for note in notes {
            match note {
                Note::Kept { anew, .. } => {
                    kept.push(name);
                    for strategy in anew {
                        let _ = writeln!(
                            out,
                            "{name}: `{strategy}` cannot be saved, and would begin anew"
                        );
                    }
                }
                Note::NotKept { why } => {
                    let _ = writeln!(out, "{name} was stopped and cannot go on later: {why}");
                }
                _ => {}
            }
        }
    }
    // What a host says of a checkpoint that does not fit ends so: see `raddle_trace::checkpoint`.
    let unfit = |test: &&Tested| {
        let error = test.error.as_deref().unwrap_or_default();
        test.ending == Ending::Inconclusive && error.contains("begin anew")
    };
    let unfit = tested.iter().filter(unfit).count();
    if unfit > 0 {
        let (tests, them) = if unfit == 1 { ("1 test", "it") } else { ("tests", "them") };
        let command = again(arguments);
        let _ = writeln!(
            out,
            "{tests} cannot go on from what was kept; to begin {them} anew: {command} --discard-checkpoints"
        );
    }
    if kept.is_empty() && not_run == 0 {
        return out;
    }
    let mut what = match kept[..] {
        [] => Vec::new(),
        [one] => vec![format!("{one} was stopped before it was through")],
        _ => {
            vec![format!("{} tests were stopped before they were through", kept.len())]
        }
    };
    match not_run {
        0 => {}
        1 => what.push("1 test was not run".to_owned()),
        n => what.push(format!("{n} tests were not run")),
    }
    let command = again(arguments);
    let _ = writeln!(out, "{}; go on with: {command}", what.join(", "));
    out
}

/// The command that goes on.
fn again(arguments: &[String]) -> String {
    let mut command = "cargo raddle".to_owned();
    // What was thrown away once is not to be thrown away again.
    let once = ["--resume", "--discard-checkpoints", "--failed"];
    let more = arguments.iter().filter(|argument| !once.contains(&argument.as_str()));
    for argument in more.map(String::as_str).chain(["--resume"]) {
        let plain = |letter: char| letter.is_alphanumeric() || "/._-:+@%=,".contains(letter);
        command.push(' ');
        if !argument.is_empty() && argument.chars().all(plain) {
            command.push_str(argument);
        } else {
            let _ = write!(command, "'{}'", argument.replace('\'', "'\\''"));
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_goes_on_is_the_same_once_more() {
        let again = |arguments: &[&str]| {
            again(&arguments.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(
            again(&[
                "test",
                "--strategy",
                "dfs preemptions(2)",
                "--resume",
                "--time=1h",
                "--discard-checkpoints"
            ]),
            "cargo raddle test --strategy 'dfs preemptions(2)' --time=1h --resume"
        );
    }

    #[test]
    fn a_test_has_a_file_of_its_own() {
        let checkpoints = Checkpoints::new(Path::new("target/raddle"), true);
        let id = |target: &str| TestId {
            package: "tour".to_owned(),
            target: target.to_owned(),
            test: "orders::sold".to_owned(),
        };
        let [(_, file), (_, resume)] = checkpoints.variables(&id("tour"));
        assert!(file.ends_with("checkpoints/tour.tour.orders.sold.checkpoint"), "{file}");
        assert_eq!(resume, "true");
        assert_ne!(checkpoints.variables(&id("other"))[0].1, file);
    }
}
