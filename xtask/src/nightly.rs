//! `cargo xtask nightly`: the long comparisons, the count tables, the mutations and the pages of results,
//! bounded in time.
//!
//! A part is run as jobs, each a process of its own: a comparison of 12,000 programs is 24 jobs of 500. What a
//! job came to is kept by commit below `target/nightly/runs`, so that a run which is stopped, by its time or
//! otherwise, goes on with `--resume`. What was begun when the time was over is stopped and counts as not run. With
//! `--keep COMMIT` what passed in a run of an earlier commit is not run again. Of parts that were not asked for the page keeps
//! the rows that it had, if those say that they passed. It names the commit of each part.
//! All of it ends in `docs/results/nightly.md`, in which nothing passed that was not run.
//!
//! Everything is built in the profile `nightly` of the workspace: optimised, with debug assertions.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{tidy, write_file};

mod page;
mod parts;

pub use self::parts::{Comparison, How, Kind, PARTS, Page, Part, Tests};

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// After which everything is stopped.
    pub time: Duration,
    /// How many jobs at a time.
    pub jobs: usize,
    /// Whether what is finished of this commit is kept.
    pub resume: bool,
    /// Earlier commits, of whose runs what passed is not run again.
    pub keep: Vec<String>,
    /// How many of the programs are compared, in per cent.
    pub scale: u64,
    /// How pages are measured.
    pub pages: Pages,
    /// Only these parts; all if empty.
    pub only: Vec<&'static Part>,
    /// The file of the page.
    pub page: PathBuf,
}

/// How the pages of results are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// In the build that takes least, with fewer rounds: that they can be made.
    Quick,
    /// As they are made for the repository, below `target/nightly`.
    Full,
    /// Not at all.
    None,
}

const USAGE: &str = "nightly takes --time TIME (as 4h or 90m), --resume, --keep COMMIT, --jobs N, --scale PERCENT, \
                     --pages quick|full|none, --page FILE, and names of parts";

/// Reads the arguments.
///
/// # Errors
/// If one is unknown or has no value.
pub fn wanted(arguments: &[&str]) -> Result<Wanted, String> {
    let mut wanted = Wanted {
        time: Duration::from_hours(4),
        jobs: 2,
        resume: false,
        keep: Vec::new(),
        scale: 100,
        pages: Pages::Quick,
        only: Vec::new(),
        page: PathBuf::from("docs/results/nightly.md"),
    };
    let mut arguments = arguments.iter();
    while let Some(&argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value; {USAGE}"));
        match argument {
            "--resume" => wanted.resume = true,
            "--keep" => wanted.keep.push((*value()?).to_owned()),
            "--time" => wanted.time = time(value()?)?,
            "--jobs" => wanted.jobs = number(argument, value()?, 64)? as usize,
            "--scale" => wanted.scale = number(argument, value()?, 100)?,
            "--page" => wanted.page = PathBuf::from(value()?),
            "--pages" => {
                wanted.pages = match *value()? {
                    "quick" => Pages::Quick,
                    "full" => Pages::Full,
                    "none" => Pages::None,
                    other => return Err(format!("--pages is `{other}`; {USAGE}")),
                };
            }
            name => {
                let part = PARTS.iter().find(|part| part.name == name).ok_or_else(|| {
                    let known: Vec<_> = PARTS.iter().map(|part| part.name).collect();
                    format!("no part {name}; there are {}; {USAGE}", known.join(", "))
                })?;
                wanted.only.push(part);
            }
        }
    }
    Ok(wanted)
}

fn number(option: &str, text: &str, most: u64) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or(format!("{option} is `{text}`; it is a number from 1 to {most}"))
}

/// A time such as `90s`, `30m` or `4h`.
fn time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("--time is `{text}`; it is a time such as 90s, 30m or 4h");
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    Ok(Duration::from_secs(number * seconds))
}

/// One process of a part.
#[derive(Clone, Debug)]
struct Job {
    part: &'static Part,
    /// Which of the part's, from 0.
    at: u64,
}

/// What a job came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Done {
    passed: bool,
    seconds: u64,
    figures: BTreeMap<String, u64>,
    /// The end of what it said, if it failed.
    said: String,
    /// The commit at which it ran.
    commit: String,
}

impl Done {
    fn to_json(&self) -> Value {
        let Self { passed, seconds, figures, said, commit } = self;
        json!({"passed": passed, "seconds": seconds, "figures": figures, "said": said, "commit": commit})
    }

    fn from_json(value: &Value) -> Option<Self> {
        let figures = value["figures"].as_object()?;
        let figures = figures.iter().map(|(key, value)| Some((key.clone(), value.as_u64()?)));
        Some(Self {
            passed: value["passed"].as_bool()?,
            seconds: value["seconds"].as_u64()?,
            figures: figures.collect::<Option<_>>()?,
            said: value["said"].as_str()?.to_owned(),
            commit: value["commit"].as_str()?.to_owned(),
        })
    }
}

/// How many jobs a part is, and how many programs each of a comparison's compares.
fn shape(part: &Part, scale: u64) -> (u64, u64) {
    match part.kind {
        Kind::Comparison(Comparison { programs, chunk, .. }) => {
            let programs = (programs * scale / 100).max(1);
            let chunk = chunk.min(programs);
            (programs.div_ceil(chunk), chunk)
        }
        Kind::Tests(..) | Kind::Mutations | Kind::Page(_) => (1, 0),
    }
}

/// A run at work.
struct Run<'a> {
    root: &'a Path,
    wanted: &'a Wanted,
    commit: String,
    /// What is kept of this commit.
    state: PathBuf,
    /// What is kept of earlier ones.
    earlier: Vec<PathBuf>,
    began: Instant,
    /// Of the tests that a job has needed, by what cargo is told of them; an error if they do not build.
    executables: Mutex<BTreeMap<&'static str, Result<PathBuf, String>>>,
}

/// The test among what cargo says it has built, one JSON message a line. The commands of its package are built with it, and are told
/// of in any order.
fn test_executable(messages: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let tests = messages.filter(|message| message["profile"]["test"] == true);
    tests.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back()
}

/// Whether everything that was run passed and everything was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All of it passed.
    Passed,
    /// What was run passed, and some was not run.
    Cut,
    /// Something failed.
    Failed,
}

/// Runs what is wanted, tells `progress` of it, and writes the page.
///
/// # Errors
/// If files, git or cargo do not do what they should.
pub fn run(
    root: &Path,
    wanted: &Wanted,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Verdict, String> {
    let commit = commit(root)?;
    let metadata = tidy::metadata(root)?;
    let target = metadata["target_directory"].as_str().ok_or("no target directory")?;
    let runs = Path::new(target).join("nightly/runs");
    let of = |commit: &str| runs.join(format!("{commit}-{}", wanted.scale));
    let state = of(&commit);
    let earlier: Vec<_> = wanted.keep.iter().map(|commit| of(commit)).collect();
    if let Some(missing) = earlier.iter().find(|earlier| !earlier.exists()) {
        return Err(format!(
            "there is no run in {}; --keep takes a commit as its directory names it",
            missing.display()
        ));
    }
    if !wanted.resume && state.exists() {
        fs::remove_dir_all(&state).map_err(|e| format!("{}: {e}", state.display()))?;
    }
    fs::create_dir_all(&state).map_err(|e| format!("{}: {e}", state.display()))?;
    let lock = File::create(state.join("lock")).map_err(|e| e.to_string())?;
    lock.try_lock().map_err(|_| format!("another run is at work in {}", state.display()))?;
    let began = Instant::now();
    let executables = Mutex::default();
    let run = Run { root, wanted, commit, state, earlier, began, executables };
    let mut left = VecDeque::new();
    for part in PARTS {
        let jobs = (0..shape(part, wanted.scale).0).map(|at| Job { part, at });
        left.extend(jobs.filter(|job| run.kept(job).is_none() && !run.is_left_out(part)));
    }
    run.work(left, progress);
    let spent = run.spend();
    let results: Vec<_> = PARTS.iter().map(|part| run.result(part)).collect();
    let verdict = verdict(&results);
    let page = root.join(&wanted.page);
    let before = fs::read_to_string(&page).unwrap_or_default();
    let text = page::text(&results, wanted, &run.commit, spent, &before);
    write_file(&page, text.as_bytes())?;
    progress(&format!("written: {}", page.display()));
    Ok(verdict)
}

/// A part and what came of its jobs; none where one was not run to its end.
struct Outcome {
    part: &'static Part,
    jobs: Vec<Option<Done>>,
    /// It was not asked for.
    left_out: bool,
    /// What was finished of mutations that were not run to their end.
    begun: Option<Mutated>,
}

/// The file in which the mutation check notes what it has finished.
const MUTATED: &str = "mutations";

/// How many mutations were caught, and how many were not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mutated {
    caught: usize,
    survived: usize,
}

impl Mutated {
    /// From the file in which the mutation check notes what it has finished.
    fn of(file: &Path) -> Self {
        let done = fs::read_to_string(file).unwrap_or_default();
        let survived = done.lines().filter(|line| line.contains("\tNOTHING\t")).count();
        Self { caught: done.lines().count() - survived, survived }
    }
}

fn verdict(results: &[Outcome]) -> Verdict {
    let mut all = results.iter().filter(|result| !result.left_out).flat_map(|result| &result.jobs);
    let survived = |result: &Outcome| result.begun.is_some_and(|begun| begun.survived > 0);
    if results.iter().any(survived) || all.clone().flatten().any(|done| !done.passed) {
        Verdict::Failed
    } else if all.any(Option::is_none) {
        Verdict::Cut
    } else {
        Verdict::Passed
    }
}

impl Run<'_> {
    fn left(&self) -> Duration {
        self.wanted.time.saturating_sub(self.began.elapsed())
    }

    fn file(&self, job: &Job, ending: &str) -> PathBuf {
        self.state.join(format!("{}.{}.{ending}", job.part.name, job.at))
    }

    /// What a job came to before.
    fn kept(&self, job: &Job) -> Option<Done> {
        let read = |file: &Path| {
            let text = fs::read_to_string(file).ok()?;
            Done::from_json(&serde_json::from_str(&text).ok()?)
        };
        let file = self.file(job, "json");
        let passed =
            |earlier: &PathBuf| read(&earlier.join(file.file_name()?)).filter(|done| done.passed);
        read(&file).or_else(|| self.earlier.iter().rev().find_map(passed))
    }

    fn is_left_out(&self, part: &Part) -> bool {
        let is_page = matches!(part.kind, Kind::Page(_));
        let Wanted { only, pages, .. } = self.wanted;
        (is_page && *pages == Pages::None) || !(only.is_empty() || only.contains(&part))
    }

    fn result(&self, part: &'static Part) -> Outcome {
        let (jobs, _) = shape(part, self.wanted.scale);
        let jobs: Vec<_> = (0..jobs).map(|at| self.kept(&Job { part, at })).collect();
        let states = std::iter::once(&self.state).chain(self.earlier.iter().rev());
        let mut noted = states.map(|state| state.join(MUTATED)).filter(|file| file.exists());
        let is_cut = part.kind == Kind::Mutations && jobs == [None];
        let begun = noted.next().filter(|_| is_cut).map(|file| Mutated::of(&file));
        Outcome { part, jobs, left_out: self.is_left_out(part), begun }
    }

    /// The seconds that all runs of this commit have taken, this one among them.
    fn spend(&self) -> u64 {
        let file = self.state.join("seconds");
        let before = fs::read_to_string(&file).ok().and_then(|text| text.parse().ok());
        let seconds = before.unwrap_or(0) + self.began.elapsed().as_secs();
        let _ = fs::write(&file, seconds.to_string());
        seconds
    }

    /// Builds these tests, unless a job before has; none if the time was over first. Others that need tests
    /// wait meanwhile.
    fn built(&self, tests: Tests) -> Result<Option<PathBuf>, String> {
        let mut executables = self.executables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(built) = executables.get(tests.arguments()) {
            return built.clone().map(Some);
        }
        let (said, errors) = (self.state.join("build.messages"), self.state.join("build.log"));
        let mut command = plain(Path::new(env!("CARGO")));
        let arguments = "test --locked --profile nightly --no-run --message-format json";
        command.args(arguments.split(' ')).args(tests.arguments().split(' '));
        command.current_dir(self.root);
        let Some(success) = self.process(command, &said, &errors)? else { return Ok(None) };
        let text = fs::read_to_string(&said).map_err(|e| e.to_string())?;
        let built = test_executable(&text).filter(|_| success);
        let built = built.ok_or_else(|| tail(&errors));
        executables.insert(tests.arguments(), built.clone());
        built.map(Some)
    }

    /// Runs the jobs, so many at a time, until none is left or the time is over.
    fn work(&self, left: VecDeque<Job>, progress: &(dyn Fn(&str) + Sync)) {
        let left = Mutex::new(left);
        let next = || left.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        std::thread::scope(|scope| {
            for _ in 0..self.wanted.jobs {
                scope.spawn(|| {
                    while let Some(job) = next() {
                        if self.left().is_zero() {
                            break;
                        }
                        progress(&format!("{} {}", job.part.name, job.at + 1));
                        match self.job(&job) {
                            Ok(Some(done)) => self.keep(&job, &done, progress),
                            Ok(None) => progress(&format!("stopped: {}", job.part.name)),
                            Err(said) => {
                                let commit = self.commit.clone();
                                let done = Done { said, commit, ..Done::default() };
                                self.keep(&job, &done, progress);
                            }
                        }
                    }
                });
            }
        });
    }

    fn keep(&self, job: &Job, done: &Done, progress: &dyn Fn(&str)) {
        let how = if done.passed { "passed" } else { "FAILED" };
        progress(&format!("{} {}: {how}, {} s", job.part.name, job.at + 1, done.seconds));
        if let Err(why) = write_file(&self.file(job, "json"), done.to_json().to_string().as_bytes())
        {
            progress(&why);
        }
    }

    /// Runs a job; none if the time was over first.
    fn job(&self, job: &Job) -> Result<Option<Done>, String> {
        let figures = self.file(job, "figures");
        let _ = fs::remove_file(&figures);
        let log = self.file(job, "log");
        let Some(mut command) = self.command(job)? else { return Ok(None) };
        // Without the time in which its tests were built.
        let began = Instant::now();
        command.env("COMPARE_FIGURES", &figures);
        let Some(success) = self.process(command, &log, &log)? else { return Ok(None) };
        let said = fs::read_to_string(&log).unwrap_or_default();
        let mut found = counted(&fs::read_to_string(&figures).unwrap_or_default());
        let mut passed = success;
        match job.part.kind {
            Kind::Comparison(_) | Kind::Tests(..) => {
                let tests = passed_tests(&said);
                // A filter that no test has any more would pass all the same.
                passed &= tests > 0;
                if matches!(job.part.kind, Kind::Tests(..)) {
                    found.insert("tests".to_owned(), tests);
                }
            }
            Kind::Mutations => {
                let Mutated { caught, survived } = Mutated::of(&self.mutations());
                found.insert("caught".to_owned(), caught as u64);
                found.insert("survived".to_owned(), survived as u64);
            }
            Kind::Page(_) => {}
        }
        let said = if passed { String::new() } else { tail(&log) };
        let seconds = began.elapsed().as_secs();
        let commit = self.commit.clone();
        Ok(Some(Done { passed, seconds, figures: found, said, commit }))
    }

    /// Where the mutation check notes what it has finished.
    fn mutations(&self) -> PathBuf {
        self.state.join(MUTATED)
    }

    /// What a job runs; none if the time was over before its tests were built.
    fn command(&self, job: &Job) -> Result<Option<Command>, String> {
        let mut command = match job.part.kind {
            Kind::Comparison(comparison) => {
                let Some(mut command) = self.tests(comparison.tests)? else { return Ok(None) };
                let (jobs, chunk) = shape(job.part, self.wanted.scale);
                let last = comparison.programs * self.wanted.scale / 100 - (jobs - 1) * chunk;
                let programs = if job.at + 1 == jobs { last.max(1) } else { chunk };
                command.args(["--exact", comparison.test]).env("RADDLE_LONG", "1");
                command.env("COMPARE_PROGRAMS", programs.to_string());
                command.env("COMPARE_FROM", (job.at * comparison.stride).to_string());
                if let Some(most) = comparison.most {
                    command.env("COMPARE_MOST", most.to_string());
                }
                command
            }
            Kind::Tests(tests, filters) => {
                let Some(mut command) = self.tests(tests)? else { return Ok(None) };
                command.args(filters).env("RADDLE_LONG", "1");
                command
            }
            Kind::Mutations => {
                let program = std::env::current_exe().map_err(|error| error.to_string())?;
                let mut command = plain(&program);
                command.args(["mutate", "--done"]).arg(self.mutations()).current_dir(self.root);
                if self.wanted.scale < 100 {
                    let some =
                        (crate::mutate::MUTATIONS.len() as u64 * self.wanted.scale / 100).max(1);
                    let some = crate::mutate::MUTATIONS.iter().take(some as usize);
                    command.args(some.map(|mutation| mutation.name));
                }
                command
            }
            Kind::Page(page) => self.measuring(page)?,
        };
        command.stdin(Stdio::null());
        Ok(Some(command))
    }

    fn tests(&self, tests: Tests) -> Result<Option<Command>, String> {
        let Some(built) = self.built(tests)? else { return Ok(None) };
        let mut command = plain(&built);
        command.current_dir(self.root.join(tests.directory()));
        // Where cargo would say so: some tests write beside other files of the build.
        command.env("CARGO_MANIFEST_DIR", self.root.join(tests.directory()));
        Ok(Some(command))
    }

    fn measuring(&self, page: Page) -> Result<Command, String> {
        let mut command = plain(Path::new(env!("CARGO")));
        command.args(["run", "--locked", "--profile", "compare", "-p"]).current_dir(self.root);
        let full = self.wanted.pages == Pages::Full;
        match page.how {
            How::Bench { arguments, quick } => {
                command.args(["raddle-bench", "--"]);
                // The budget that is given last counts.
                let arguments = if full { arguments.to_owned() } else { checked(arguments, quick) };
                command.args(arguments.split(' '));
                let out = self.state.join("pages");
                fs::create_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
                if ["eta", "hapset", "gambit", "delaying"]
                    .iter()
                    .any(|with| arguments.starts_with(with))
                {
                    command.arg("--out").arg(out);
                }
            }
            How::Corpus { arguments } => {
                command.args(["raddle-corpus", "--"]).args(arguments.split(' '));
            }
        }
        if !full {
            command.env("CARGO_PROFILE_RELEASE_LTO", "off");
            command.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
        }
        Ok(command)
    }

    /// Runs a process to its end, with all that it has started; whether it succeeded, or none if the time was
    /// over first.
    fn process(
        &self,
        mut command: Command,
        out: &Path,
        err: &Path,
    ) -> Result<Option<bool>, String> {
        let open = |path: &Path| File::create(path).map_err(|e| format!("{}: {e}", path.display()));
        let stdout = open(out)?;
        let stderr =
            if out == err { stdout.try_clone().map_err(|e| e.to_string())? } else { open(err)? };
        command.stdout(stdout).stderr(stderr);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut process = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        loop {
            if let Some(status) = process.try_wait().map_err(|error| error.to_string())? {
                return Ok(Some(status.success()));
            }
            if self.left().is_zero() {
                // The group: a test may have forked, and cargo has compilers.
                let group = format!("-{}", process.id());
                let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
                let _ = process.kill();
                process.wait().map_err(|error| error.to_string())?;
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The arguments of a check: those of `quick` replace options of the same name.
fn checked(arguments: &str, quick: &str) -> String {
    let name = |option: &&str| quick.split(' ').any(|other| other == *option);
    let mut kept = Vec::new();
    let mut words = arguments.split(' ');
    while let Some(word) = words.next() {
        if word.starts_with("--") && name(&word) {
            words.next();
        } else {
            kept.push(word);
        }
    }
    format!("{} {quick}", kept.join(" "))
}

/// A command without variables of raddle or of a comparison.
fn plain(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("RADDLE_") || text.starts_with("COMPARE_") {
            command.env_remove(&name);
        }
    }
    command.env("RUST_BACKTRACE", "0");
    command
}

/// The figures of a job: of all its lines, by their keys.
fn counted(text: &str) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for word in text.lines().flat_map(|line| line.split(' ').skip(1)) {
        if let Some((key, value)) = word.split_once('=')
            && let Ok(value) = value.parse::<u64>()
        {
            *all.entry(key.to_owned()).or_insert(0) += value;
        }
    }
    all
}

/// How many tests a test program says have passed.
fn passed_tests(said: &str) -> u64 {
    let passed = |line: &str| {
        let rest = line.strip_prefix("test result: ")?.split_once(". ")?.1;
        rest.split_once(" passed")?.0.parse::<u64>().ok()
    };
    said.lines().filter_map(passed).sum()
}

/// The last lines of a file.
fn tail(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}

/// The commit of the work tree, and whether there are changes.
fn commit(root: &Path) -> Result<String, String> {
    let git = |arguments: &str| {
        let output = Command::new("git").args(arguments.split(' ')).current_dir(root).output();
        let output = output.map_err(|error| format!("could not run git: {error}"))?;
        Ok::<_, String>(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let head = git("rev-parse --short=12 HEAD")?;
    if head.is_empty() {
        return Err("there is no commit here".to_owned());
    }
    // The page itself may have been written before.
    let status = git("status --porcelain")?;
    let changed = status.lines().any(|line| !line.ends_with("docs/results/nightly.md"));
    Ok(if changed { format!("{head}-changed") } else { head })
}

#[cfg(test)]
mod tests;
