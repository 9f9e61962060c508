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
use raddle_trace::checkpoint::OTHER_BUILD;
use raddle_trace::events::{Ending, TestId};
use raddle_trace::saved::file_stem;

use crate::check::Tested;
use crate::error::DriverError;
use crate::find::Test;
use crate::kept_deaths::KeptDeaths;

/// What earlier runs may have left of a test that was not through: the state of one host, the units of several, what their
/// hosts died of, a mark.
const LEFT: [&str; 4] = ["checkpoint", "units", "deaths", "waits"];

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

    /// Removes the units of all searches of a test: those of searches after the first are in files beside (`.units.1`).
    pub(crate) fn remove_units(&self, test: &TestId) -> io::Result<()> {
        let first = self.units(test);
        let first = first.file_name().unwrap_or_default().to_string_lossy();
        let is_of_it = |name: &str| {
            let more = name.strip_prefix(first.as_ref());
            more.is_some_and(|more| more.is_empty() || more.starts_with('.'))
        };
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            if is_of_it(&entry.file_name().to_string_lossy()) {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }

    /// The file with what hosts of a test died of.
    pub(crate) fn deaths(&self, test: &TestId) -> PathBuf {
        self.file(test, "deaths")
    }

    /// What hosts of this binary died of in the run that a test goes on from. A test that begins anew has none.
    pub(crate) fn known_deaths(
        &self,
        test: &TestId,
        binary: impl FnOnce() -> io::Result<String>,
    ) -> Result<KeptDeaths, String> {
        let path = self.deaths(test);
        if !self.resume {
            let _ = fs::remove_file(&path);
        }
        if !path.is_file() {
            return Ok(KeptDeaths::default());
        }
        KeptDeaths::read(&path, &binary().map_err(|error| error.to_string())?)
    }

    /// Where nothing is left to go on from, what hosts died of has been reported.
    pub(crate) fn forget_deaths_of_what_is_through(&self, test: &TestId) {
        if !self.file(test, "checkpoint").is_file() && !self.units(test).is_file() {
            let _ = fs::remove_file(self.deaths(test));
        }
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

    /// What has changed since a test was stopped, if its build is another one. None if nothing was kept.
    pub(crate) fn changed(&self, test: &Test, root: &Path) -> Option<String> {
        let written = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
        let kept =
            ["checkpoint", "units"].iter().filter_map(|kind| written(&self.file(&test.id, kind)));
        let kept = kept.max()?;
        let rules = fs::read_to_string(test.binary.path.with_extension("d")).unwrap_or_default();
        let is_newer = |file: &PathBuf| written(&root.join(file)).is_some_and(|then| then > kept);
        let newer: Vec<String> = sources(&rules)
            .into_iter()
            .filter(is_newer)
            .map(|file| file.strip_prefix(root).unwrap_or(&file).display().to_string())
            .collect();
        Some(match &newer[..] {
            [] => "it was built anew since it was stopped, though none of its own files has changed: with other \
                   dependencies, features or flags"
                .to_owned(),
            files => format!("changed since it was stopped: {}", files.join(", ")),
        })
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
        for test in tests {
            self.remove_units(&test.id)?;
            LEFT.iter().try_for_each(|kind| remove(&self.file(&test.id, kind)))?;
        }
        Ok(())
    }

    /// Marks the tests that were not begun and those that did not pass, and takes the marks of the others away.
    pub(crate) fn mark(&self, tests: &[Test], tested: &[Tested]) -> io::Result<()> {
        for test in tests {
            let tested = tested.iter().find(|tested| tested.id == test.id);
            set_mark(&self.file(&test.id, "waits"), tested.is_none())?;
            // One that was not begun, or not run to its end, is as it was.
            if let Some(tested) = tested.filter(|tested| tested.ending != Ending::Interrupted) {
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

/// Removes a file, if it is there.
fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
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

/// The end of a run: what was stopped, and the command that goes on, which is this one's `arguments` once more. `changed` says
/// what has changed since a test was stopped.
pub(crate) fn said(
    tested: &[Tested],
    not_run: u64,
    arguments: &[String],
    changed: impl Fn(&TestId) -> Option<String>,
) -> String {
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
    out.push_str(&unfit(tested, arguments, changed));
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

/// Of tests that cannot go on from what was kept: what has changed, and the command that begins them anew.
fn unfit(
    tested: &[Tested],
    arguments: &[String],
    changed: impl Fn(&TestId) -> Option<String>,
) -> String {
    let mut out = String::new();
    // What a host says of a checkpoint that does not fit ends so: see `raddle_trace::checkpoint`.
    let unfit = |test: &&Tested| {
        let error = test.error.as_deref().unwrap_or_default();
        test.ending == Ending::Inconclusive && error.contains("begin anew")
    };
    let unfit: Vec<&Tested> = tested.iter().filter(unfit).collect();
    for test in &unfit {
        let error = test.error.as_deref().unwrap_or_default();
        // A queue of units says so in its own words.
        let built = error.contains(OTHER_BUILD) || error.contains("is of another search");
        if let Some(what) = Some(&test.id).filter(|_| built).and_then(&changed) {
            let _ = writeln!(out, "{}: {what}", test.id.test);
        }
    }
    if !unfit.is_empty() {
        let (tests, them) = match unfit.len() {
            1 => ("1 test".to_owned(), "it"),
            n => (format!("{n} tests"), "them"),
        };
        let command = again(arguments);
        let _ = writeln!(
            out,
            "{tests} cannot go on from what was kept; to begin {them} anew: {command} --discard-checkpoints"
        );
    }
    out
}

/// The sources that cargo says a binary is made of: the first rule of the file beside it. From the root of the workspace, or
/// whole.
fn sources(rules: &str) -> Vec<PathBuf> {
    let first = rules.lines().next().unwrap_or_default();
    let (_, files) = first.split_once(": ").unwrap_or_default();
    // A space in a name stands after a backslash.
    let files = files.replace("\\ ", "\0");
    files.split_whitespace().map(|file| PathBuf::from(file.replace('\0', " "))).collect()
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
    fn the_sources_of_a_binary_are_read_from_the_rules_of_cargo() {
        let rules = "/t/deps/it-1: tests/it.rs tests/it/a\\ b.rs\n\ntests/it.rs:\n";
        assert_eq!(sources(rules), ["tests/it.rs", "tests/it/a b.rs"].map(PathBuf::from));
        assert!(sources("").is_empty());
    }

    #[test]
    fn the_units_of_all_searches_of_a_test_are_removed_and_no_others() {
        let target = std::env::temp_dir().join(format!("raddle-units-{}", std::process::id()));
        let checkpoints = Checkpoints::new(&target, true);
        let id = |test: &str| TestId {
            package: "tour".to_owned(),
            target: "tour".to_owned(),
            test: test.to_owned(),
        };
        checkpoints.remove_units(&id("sold")).expect("there is no directory yet");
        checkpoints.prepare().expect("a directory");
        let (sold, other) = (checkpoints.units(&id("sold")), checkpoints.units(&id("sold_out")));
        let second = sold.with_extension("units.1");
        for file in [&sold, &second, &other] {
            fs::write(file, "").expect("a file");
        }
        checkpoints.remove_units(&id("sold")).expect("they are removed");
        let left = [&sold, &second, &other].map(|file| file.exists());
        let _ = fs::remove_dir_all(&target);
        assert_eq!(left, [false, false, true]);
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
