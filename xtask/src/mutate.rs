//! `cargo xtask mutate`: the reductions broken on purpose, in one place at a time. Their tests must
//! notice.
//!
//! A mutation is a piece of text replaced in a copy of the workspace. All of them are put there at once, each behind a
//! test of a variable of the environment, and built once (mutant schemata: Untch, Offutt and Harrold, ISSTA 1993): to
//! build took most of the time when each had a build of its own. Then the tests of the reductions run once for each
//! mutation, as they are by default: those that `RADDLE_LONG` adds do not count. One that does not compile is an error
//! and not a catch, and without a mutation all tests must pass.
//!
//! Misses: what breaks in two places at once.
//! Overreports: a mutation after which everything is as correct as before survives, too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::tidy;

mod list;

pub use self::list::MUTATIONS;

/// One place that can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// What it is called on the command line.
    pub name: &'static str,
    /// Where, from the root of the workspace.
    pub file: &'static str,
    /// The text there, which occurs once.
    pub old: &'static str,
    /// What takes its place: `$ON` is whether the mutation is at work, `$OLD` the text that was there. Without the
    /// mutation it does what that text does.
    pub new: &'static str,
    /// What is broken then, as a sentence.
    pub what: &'static str,
}

impl Mutation {
    /// The tests that are to notice, as cargo is told of them: those of actors, or of threads.
    fn tests(&self) -> &'static str {
        if self.name.starts_with("actors-") {
            "-p raddle-actors --features check --test reduction"
        } else {
            "-p raddle-threads --test reduction"
        }
    }

    /// How often the mutation's text is there, if not once: the file has changed since the mutation was written.
    fn check(&self, text: &str) -> Result<(), String> {
        match text.matches(self.old).count() {
            1 => Ok(()),
            n => Err(format!(
                "the mutation {} is stale: its text is {n} times in {} instead of once",
                self.name, self.file
            )),
        }
    }
}

/// The variable that says which mutation is at work: its place in the list, from 1.
const CHOSEN: &str = "MUTATION";

/// What is added to a file with mutations.
const SWITCH: &str = "
/// The mutation that is at work; 0 if none is.
#[inline]
fn mutation_at_work() -> u32 {
    static AT_WORK: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *AT_WORK.get_or_init(|| {
        std::env::var(\"MUTATION\").ok().and_then(|number| number.parse().ok()).unwrap_or(0)
    })
}
";

/// A file's text with these mutations, each with its number, behind a switch.
///
/// # Errors
/// If it is not clear where a mutation goes.
fn with_switches(text: &str, mutations: &[(usize, &Mutation)]) -> Result<String, String> {
    let mut places: BTreeMap<&str, String> = BTreeMap::new();
    for &(number, mutation) in mutations {
        mutation.check(text)?;
        let place = places.entry(mutation.old).or_insert_with(|| mutation.old.to_owned());
        let on = format!("(mutation_at_work() == {number})");
        *place = mutation.new.replace("$ON", &on).replace("$OLD", place);
    }
    let mut text = text.to_owned();
    for (old, new) in places {
        text = text.replacen(old, &new, 1);
    }
    Ok(text + SWITCH)
}

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// In the order of the list.
    pub mutations: Vec<&'static Mutation>,
    /// Whether the table is for a document.
    pub markdown: bool,
    /// Whether all tests run for each mutation, and not only until one fails.
    pub every_test: bool,
    /// The file in which each mutation that is finished is noted. Those that it names are not run again.
    pub done: Option<PathBuf>,
}

/// A mutation that was finished in an earlier run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Before {
    /// Its name.
    pub name: String,
    /// Whether it went unnoticed.
    pub survived: bool,
}

impl Wanted {
    /// Those that the file of finished ones names: a line each, with name, what caught it, and seconds.
    #[must_use]
    pub fn done_before(&self) -> Vec<Before> {
        let text = self.done.as_ref().and_then(|file| fs::read_to_string(file).ok());
        let text = text.unwrap_or_default();
        let before = |line: &str| {
            let mut cells = line.split('\t');
            let name = cells.next()?.to_owned();
            Some(Before { name, survived: cells.next()? == Verdict::NOTHING })
        };
        text.lines().filter_map(before).collect()
    }

    fn note(&self, row: &Row) -> Result<(), String> {
        let Some(file) = &self.done else { return Ok(()) };
        let (name, caught, took) = (row.mutation.name, row.verdict.describe(), row.took.as_secs());
        let opened = File::options().create(true).append(true).open(file);
        let line = format!("{name}\t{caught}\t{took}\n");
        opened.and_then(|mut opened| opened.write_all(line.as_bytes())).map_err(|e| about(file, &e))
    }
}

/// Reads the arguments: names, or none for all, `--markdown`, `--every-test` and `--done FILE`.
///
/// # Errors
/// If there is no such mutation.
pub fn wanted(arguments: &[&str]) -> Result<Wanted, String> {
    let (mut markdown, mut every_test, mut done, mut names) = (false, false, None, Vec::new());
    let mut arguments = arguments.iter();
    while let Some(&argument) = arguments.next() {
        match argument {
            "--markdown" => markdown = true,
            "--every-test" => every_test = true,
            "--done" => {
                done = Some(PathBuf::from(arguments.next().ok_or("--done needs a file")?));
            }
            option if option.starts_with('-') => {
                return Err(format!(
                    "{option} is not an option; there are --markdown, --every-test and --done"
                ));
            }
            name => names.push(name),
        }
    }
    if let Some(name) = names.iter().find(|name| MUTATIONS.iter().all(|m| m.name != **name)) {
        let known: Vec<&str> = MUTATIONS.iter().map(|mutation| mutation.name).collect();
        return Err(format!("there is no mutation {name}; there are {}", known.join(", ")));
    }
    let chosen = |mutation: &&Mutation| names.is_empty() || names.contains(&mutation.name);
    let mutations = MUTATIONS.iter().filter(chosen).collect();
    Ok(Wanted { mutations, markdown, every_test, done })
}

/// How the tests took it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The tests that failed.
    pub failed: Vec<String>,
    /// How the run ended.
    pub ended: Ended,
}

/// How a run of the tests ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All of them passed.
    Passed,
    /// Some failed.
    Failed,
    /// It was stopped after so many seconds.
    Stopped(u64),
}

impl Verdict {
    /// What caught a mutation that survived.
    const NOTHING: &'static str = "NOTHING";

    /// Whether the mutation went unnoticed.
    #[must_use]
    pub fn survived(&self) -> bool {
        self.ended == Ended::Passed
    }

    /// As a cell of a table.
    #[must_use]
    pub fn describe(&self) -> String {
        let failed = self.failed.join(", ");
        match (self.ended, failed.as_str()) {
            (Ended::Passed, _) => Self::NOTHING.to_owned(),
            (Ended::Failed, "") => "the end of the process".to_owned(),
            (Ended::Failed, _) => failed,
            (Ended::Stopped(after), "") => format!("no end within {after} s"),
            (Ended::Stopped(after), _) => format!("{failed}; no end within {after} s"),
        }
    }
}

/// A mutation, what came of it, and how long that took to run.
#[derive(Clone, Debug)]
pub struct Row {
    /// Which.
    pub mutation: &'static Mutation,
    /// What came of it.
    pub verdict: Verdict,
    /// How long.
    pub took: Duration,
}

/// The rows as a table.
#[must_use]
pub fn table(rows: &[Row], markdown: bool) -> String {
    let mut text = String::new();
    if markdown {
        text.push_str("| mutation | what is broken | caught by | time |\n|---|---|---|--:|\n");
    }
    let name = rows.iter().map(|row| row.mutation.name.len()).max().unwrap_or(0);
    let line = |Row { mutation, verdict, took }: &Row| {
        let (caught, took) = (verdict.describe(), took.as_secs());
        if markdown {
            format!("| `{}` | {} | {caught} | {took} s |\n", mutation.name, mutation.what)
        } else {
            format!("{:name$}  {took:>4} s  {caught}\n", mutation.name)
        }
    };
    text.extend(rows.iter().map(line));
    text
}

/// Checks that the tests pass with no mutation at work, then breaks one thing after another. Tells `progress`
/// what it is about.
///
/// # Errors
/// If the tests fail without a mutation, if one is stale or does not compile, or if files or cargo
/// do not do what they should.
pub fn run(
    root: &Path,
    wanted: &Wanted,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Row>, String> {
    let before = wanted.done_before();
    let is_left = |mutation: &&&Mutation| before.iter().all(|done| done.name != mutation.name);
    let mutations: Vec<&'static Mutation> =
        wanted.mutations.iter().filter(is_left).copied().collect();
    if mutations.is_empty() {
        return Ok(Vec::new());
    }
    let broken = stale(root, &mutations);
    if !broken.is_empty() {
        return Err(broken.join("\n"));
    }
    let workshop = Workshop::open(root)?;
    progress("without a mutation");
    let mut ready: BTreeMap<&str, (PathBuf, Duration)> = BTreeMap::new();
    for tests in mutations.iter().map(|mutation| mutation.tests()) {
        if ready.contains_key(tests) {
            continue;
        }
        let built = workshop.built(tests)?;
        let started = Instant::now();
        let whole = workshop.test(&built, &Way { number: 0, limit: None, every_test: true })?;
        if !whole.survived() {
            return Err(format!("the tests fail without a mutation: {}", whole.describe()));
        }
        // A machine that is busy now may have been idle before.
        let limit = Duration::from_secs((5 * started.elapsed().as_secs()).max(60));
        ready.insert(tests, (built, limit));
    }
    let mut rows = Vec::new();
    for mutation in mutations {
        progress(mutation.name);
        let started = Instant::now();
        let (built, limit) = &ready[mutation.tests()];
        let number = number(mutation);
        let way = Way { number, limit: Some(*limit), every_test: wanted.every_test };
        let verdict = workshop.test(built, &way)?;
        let row = Row { mutation, verdict, took: started.elapsed() };
        wanted.note(&row)?;
        rows.push(row);
    }
    Ok(rows)
}

/// The mutation's place in the list, from 1.
fn number(mutation: &Mutation) -> usize {
    MUTATIONS.iter().position(|other| other == mutation).map_or(0, |at| at + 1)
}

/// What is wrong with mutations whose files have changed.
#[must_use]
pub fn stale(root: &Path, mutations: &[&'static Mutation]) -> Vec<String> {
    let complaint = |mutation: &&Mutation| {
        read(&root.join(mutation.file)).and_then(|text| mutation.check(&text)).err()
    };
    mutations.iter().filter_map(complaint).collect()
}

/// How tests are run.
struct Way {
    /// Which mutation is at work; 0 for none.
    number: usize,
    /// After which they are stopped.
    limit: Option<Duration>,
    /// Whether they go on after one that failed.
    every_test: bool,
}

/// A copy of the workspace with every mutation behind its switch, with its own build directory so that neither build
/// disturbs the other.
struct Workshop {
    tree: PathBuf,
    build: PathBuf,
    /// No other process may use it at the same time.
    _lock: File,
}

impl Workshop {
    fn open(root: &Path) -> Result<Self, String> {
        let metadata = tidy::metadata(root)?;
        let target = metadata["target_directory"].as_str().ok_or("no target directory")?;
        let home = Path::new(target).join("mutate");
        let (tree, build) = (home.join("tree"), home.join("build"));
        fs::create_dir_all(&tree).map_err(|e| about(&tree, &e))?;
        let lock = home.join("lock");
        let lock = File::create(&lock).map_err(|e| about(&lock, &e))?;
        lock.try_lock().map_err(|_| format!("another run is at work in {}", home.display()))?;
        let mut by_file: BTreeMap<PathBuf, Vec<(usize, &Mutation)>> = BTreeMap::new();
        for mutation in MUTATIONS {
            let there = by_file.entry(PathBuf::from(mutation.file)).or_default();
            there.push((number(mutation), mutation));
        }
        let change = |name: &Path, text: Vec<u8>| match by_file.get(name) {
            None => Ok(text),
            Some(mutations) => {
                let text = String::from_utf8(text).map_err(|e| e.to_string())?;
                with_switches(&text, mutations).map(String::into_bytes)
            }
        };
        copy(root, &tree, &packages(&metadata, root), &change)?;
        Ok(Self { tree, build, _lock: lock })
    }

    /// Runs tests that were built.
    fn test(&self, tests: &Path, way: &Way) -> Result<Verdict, String> {
        let said = self.build.join("said");
        let file = File::create(&said).map_err(|e| about(&said, &e))?;
        let mut command = Command::new(tests);
        command.current_dir(&self.tree).stdin(Stdio::null()).stdout(file).stderr(Stdio::null());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("RADDLE_") || text.starts_with("COMPARE_") {
                command.env_remove(&name);
            }
        }
        // A program that shows a mutation need not be made small.
        command.env(CHOSEN, way.number.to_string()).env("COMPARE_SHRINK", "0");
        let started = Instant::now();
        let mut process = command.spawn().map_err(|e| about(tests, &e))?;
        let stop = |process: &mut Child| {
            process.kill().and_then(|()| process.wait()).map_err(|e| about(tests, &e))
        };
        let ended = loop {
            if let Some(status) = process.try_wait().map_err(|e| about(tests, &e))? {
                break if status.success() { Ended::Passed } else { Ended::Failed };
            }
            if let Some(limit) = way.limit.filter(|limit| started.elapsed() >= *limit) {
                stop(&mut process)?;
                break Ended::Stopped(limit.as_secs());
            }
            if !way.every_test && !failed(&read(&said)?).is_empty() {
                stop(&mut process)?;
                break Ended::Failed;
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        Ok(Verdict { failed: failed(&read(&said)?), ended })
    }

    /// Builds the tests; where they are. Optimised: one build is for all mutations.
    fn built(&self, tests: &str) -> Result<PathBuf, String> {
        let arguments =
            format!("test --locked --no-run --message-format json --profile nightly {tests}");
        let output = Command::new(env!("CARGO"))
            .args(arguments.split_whitespace())
            .current_dir(&self.tree)
            .env("CARGO_TARGET_DIR", &self.build)
            .output()
            .map_err(|error| format!("could not run cargo: {error}"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let messages = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let executable = |message: Value| message["executable"].as_str().map(PathBuf::from);
        let executable = messages.filter_map(executable).next_back();
        executable.filter(|_| output.status.success()).ok_or_else(|| {
            let why = String::from_utf8_lossy(&output.stderr);
            format!("the tests do not compile: {why}{}", errors(&said))
        })
    }
}

/// The compiler's errors among cargo's messages.
fn errors(messages: &str) -> String {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let error = |message: Value| {
        let message = &message["message"];
        (message["level"] == "error").then(|| message["rendered"].as_str().map(str::to_owned))?
    };
    messages.filter_map(error).collect()
}

/// The tests that failed, from what the test program said.
fn failed(said: &str) -> Vec<String> {
    let name =
        |line: &str| Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.to_owned());
    let names: BTreeSet<String> = said.lines().filter_map(name).collect();
    names.into_iter().collect()
}

/// The directories of the workspace's packages, from its root.
fn packages(metadata: &Value, root: &Path) -> Vec<PathBuf> {
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    let manifests = packages.iter().filter_map(|package| package["manifest_path"].as_str());
    let directory =
        |manifest| Some(Path::new(manifest).parent()?.strip_prefix(root).ok()?.to_owned());
    manifests.filter_map(directory).collect()
}

/// Makes the tree a copy of the workspace with changes. Files that are the same stay as they are, so that they
/// are not built again.
fn copy(root: &Path, tree: &Path, packages: &[PathBuf], change: Change<'_>) -> Result<(), String> {
    let mut wanted: BTreeSet<PathBuf> = ["Cargo.toml", "Cargo.lock"].map(PathBuf::from).into();
    for package in packages {
        let files = files(&root.join(package))?;
        wanted
            .extend(files.iter().filter_map(|file| Some(file.strip_prefix(root).ok()?.to_owned())));
    }
    for old in files(tree)? {
        if !old.strip_prefix(tree).is_ok_and(|name| wanted.contains(name)) {
            fs::remove_file(&old).map_err(|e| about(&old, &e))?;
        }
    }
    for name in wanted {
        let (from, to) = (root.join(&name), tree.join(&name));
        let new = change(&name, fs::read(&from).map_err(|e| about(&from, &e))?)?;
        if fs::read(&to).is_ok_and(|known| known == new) {
            continue;
        }
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(|e| about(parent, &e))?;
        }
        write(&to, &new)?;
    }
    Ok(())
}

/// What becomes of a file, by its name and bytes.
type Change<'a> = &'a dyn Fn(&Path, Vec<u8>) -> Result<Vec<u8>, String>;

/// All files below a directory but for those of builds.
fn files(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).map_err(|e| about(&directory, &e))? {
            let path = entry.map_err(|e| about(&directory, &e))?.path();
            if !path.is_dir() {
                found.push(path);
            } else if path.file_name().is_none_or(|name| name != "target") {
                directories.push(path);
            }
        }
    }
    Ok(found)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| about(path, &e))
}

fn write(path: &Path, text: &[u8]) -> Result<(), String> {
    fs::write(path, text).map_err(|e| about(path, &e))
}

fn about(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_mutation_is_stale() {
        let all: Vec<_> = MUTATIONS.iter().collect();
        let stale = stale(&crate::root(), &all);
        assert!(stale.is_empty(), "{}", stale.join("\n"));
    }

    #[test]
    fn mutations_have_names_of_their_own_and_five_are_of_the_dependence_relation() {
        let names: BTreeSet<_> = MUTATIONS.iter().map(|mutation| mutation.name).collect();
        assert_eq!(names.len(), MUTATIONS.len());
        assert!(MUTATIONS.iter().all(|mutation| mutation.new.matches("$ON").count() == 1));
        // Where several change one text, each keeps what the others made of it.
        for mutation in MUTATIONS {
            let same = MUTATIONS
                .iter()
                .filter(|other| (other.file, other.old) == (mutation.file, mutation.old));
            let keeps = mutation.new.matches("$OLD").count() == 1;
            assert!(keeps || same.count() == 1, "{}", mutation.name);
        }
        let of_dependence = |mutation: &&Mutation| mutation.file.ends_with("/dependence.rs");
        assert!(MUTATIONS.iter().filter(of_dependence).count() >= 5);
    }

    const MUTATION: Mutation = Mutation {
        name: "m",
        file: "f.rs",
        old: "a+b",
        new: "if $ON { a } else { $OLD }",
        what: "No sum.",
    };

    #[test]
    fn a_text_that_is_not_there_once_is_stale() {
        let one = with_switches("x = a+b;", &[(3, &MUTATION)]).expect("it is there");
        let first = "if (mutation_at_work() == 3) { a } else { a+b }";
        assert_eq!(one, format!("x = {first};{SWITCH}"));
        let two = with_switches("x = a+b;", &[(3, &MUTATION), (4, &MUTATION)]).expect("both");
        let both = format!("if (mutation_at_work() == 4) {{ a }} else {{ {first} }}");
        assert_eq!(two, format!("x = {both};{SWITCH}"));
        for (text, times) in [("x = a + b;", 0), ("a+b+a+b", 2)] {
            let why = MUTATION.check(text).expect_err("it is stale");
            assert_eq!(
                why,
                format!(
                    "the mutation m is stale: its text is {times} times in f.rs instead of once"
                )
            );
        }
    }

    #[test]
    fn arguments_are_names_and_a_form() {
        let all = wanted(&[]).expect("all");
        assert_eq!((all.mutations.len(), all.markdown), (MUTATIONS.len(), false));
        let name = MUTATIONS[1].name;
        let one = wanted(&["--markdown", name]).expect("one");
        assert_eq!(
            one,
            Wanted {
                mutations: vec![&MUTATIONS[1]],
                markdown: true,
                every_test: false,
                done: None
            }
        );
        let noted = wanted(&["--done", "f"]).expect("all");
        assert_eq!(noted.done, Some(PathBuf::from("f")));
        assert!(wanted(&["sabotage"]).expect_err("unknown").starts_with("there is no mutation"));
        assert!(wanted(&["--fast"]).expect_err("unknown").contains("--markdown"));
    }

    #[test]
    fn what_caught_a_mutation_is_in_the_table() {
        let said = "running 3 tests\ntest b::two ... FAILED\ntest one ... ok\n\
                    test a::three ... FAILED\n\nfailures:\n    b::two\n";
        let failed = failed(said);
        assert_eq!(failed, ["a::three", "b::two"]);
        let verdict = |ended| Verdict { failed: failed.clone(), ended };
        assert_eq!(verdict(Ended::Failed).describe(), "a::three, b::two");
        let stopped = verdict(Ended::Stopped(60));
        assert_eq!(stopped.describe(), "a::three, b::two; no end within 60 s");
        assert!(!stopped.survived());
        let hung = Verdict { failed: Vec::new(), ended: Ended::Stopped(60) };
        assert_eq!(hung.describe(), "no end within 60 s");
        assert!(!hung.survived());
        let passed = Verdict { failed: Vec::new(), ended: Ended::Passed };
        assert!(passed.survived());

        let took = Duration::from_millis(2_900);
        let rows = [Row { mutation: &MUTATION, verdict: passed, took }];
        assert_eq!(table(&rows, false), "m     2 s  NOTHING\n");
        assert_eq!(
            table(&rows, true),
            "| mutation | what is broken | caught by | time |\n|---|---|---|--:|\n\
             | `m` | No sum. | NOTHING | 2 s |\n"
        );
    }
}
