//! `cargo xtask crates`: tests that crates of the registry wrote for loom, unchanged, under loom and under raddle.
//!
//! The sources are those of the registry, in pinned versions, copied below `target/crates`; nothing of them is kept in
//! this repository. Each crate is built twice with the same flags, once with the real loom and once with `raddle-loom` in its
//! place by one line of `[patch.crates-io]`. Every test then runs in a process of its own with a limit of CPU time.
//!
//! What was measured is kept per crate and bound in `docs/results/crates/*.json`, with commit, date and limit, and the page
//! is written from all of these files: a run of one crate replaces the rows of this crate only.

pub mod mutants;
mod page;
mod record;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use self::record::{Ended, Made, Record, Row, Run};
use crate::write_file;

/// A crate with tests for loom.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// Its name in the registry.
    pub name: &'static str,
    /// The version that is measured.
    pub version: &'static str,
    /// The flags under which it uses loom.
    cfg: &'static str,
    /// Which tests, as arguments of `cargo test`.
    tests: &'static str,
    /// Only tests whose names contain this, or one of several with `|` between them.
    filter: &'static str,
    /// The bound on preemptions that its own instructions name, if any.
    bound: Option<u32>,
    /// Dependencies of its tests that these tests do without: some do not build with these flags, all cost time.
    without: &'static [&'static str],
}

impl Subject {
    const fn without(self, without: &'static [&'static str]) -> Self {
        Self { without, ..self }
    }
}

const fn subject(
    name: &'static str,
    version: &'static str,
    cfg: &'static str,
    (tests, filter): (&'static str, &'static str),
    bound: Option<u32>,
) -> Subject {
    Subject { name, version, cfg, tests, filter, bound, without: &[] }
}

/// The crates, in order. The bounds are those of the crate's own continuous integration.
pub const SUBJECTS: [Subject; 16] = [
    subject("parking", "2.2.1", "loom", ("--test loom --features loom", ""), None),
    subject("bytes", "1.12.1", "loom", ("--lib", "fuzz"), None),
    subject(
        "oneshot",
        "0.2.1",
        "oneshot_loom",
        ("--test loom --features loom,async,std", ""),
        None,
    )
    .without(&["async-std", "tokio", "criterion"]),
    subject("event-listener", "5.4.2", "loom", ("--test loom --features loom", ""), None)
        .without(&["criterion"]),
    subject("concurrent-queue", "2.5.0", "loom", ("--test loom --features loom", ""), Some(2))
        .without(&["criterion"]),
    subject("diatomic-waker", "0.2.3", "diatomic_waker_loom", ("--lib", "loom"), Some(2)),
    subject("async-event", "0.2.1", "async_event_loom", ("--lib", "loom"), Some(2))
        .without(&["tokio"]),
    subject(
        "crossbeam-epoch",
        "0.9.21",
        "crossbeam_loom",
        ("--test loom --features loom", ""),
        None,
    ),
    subject("sharded-slab", "0.1.7", "loom", ("--lib", "loom"), Some(2)).without(&["criterion"]),
    subject("thingbuf", "0.1.6", "loom debug_assertions", ("--lib", ""), Some(2))
        .without(&["tokio"]),
    subject("st3", "0.4.1", "st3_loom", ("--test integration", "loom"), Some(3)).without(&[
        "criterion",
        "crossbeam-deque",
        "num_cpus",
        "oorandom",
    ]),
    subject("tachyonix", "0.3.1", "tachyonix_loom", ("--lib", "loom"), None).without(&[
        "futures-executor",
        "futures-task",
        "futures-time",
        "futures-util",
    ]),
    subject("multishot", "0.3.2", "multishot_loom", ("--lib", "loom"), None),
    subject("cordyceps", "0.3.5", "loom", ("--lib", "loom"), Some(2)),
    subject("left-right", "0.11.8", "loom", ("--test loom", ""), Some(3)),
    subject(
        "tokio",
        "1.54.1",
        "loom tokio_unstable debug_assertions",
        ("--lib --features full,test-util", "loom|runtime::time"),
        Some(2),
    )
    .without(&["tokio-stream", "tracing-mock", "async-stream", "futures-concurrency"]),
];

/// What runs the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The original.
    Loom,
    /// With `raddle-loom` in its place.
    Raddle,
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Self::Loom => "loom",
            Self::Raddle => "raddle",
        }
    }
}

/// How the tests are run.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// CPU seconds for each test under each tool.
    pub limit: u32,
    /// In place of the bounds of the crates: `Some(None)` is none.
    pub bound: Option<Option<u32>>,
    /// Only tests whose names contain this.
    pub tests: &'a str,
    /// Only under this one: what is kept of the other stays.
    pub tool: Option<Tool>,
}

/// Measures the subjects, keeps what came out and returns the page of everything that is kept.
///
/// # Errors
/// If a crate cannot be fetched, or what is kept cannot be read or written.
pub fn page(
    root: &Path,
    subjects: &[Subject],
    settings: &Settings<'_>,
    progress: &dyn Fn(&str),
) -> Result<String, String> {
    let work = root.join("target/crates");
    progress("fetching");
    let sources = fetch(&work, subjects)?;
    for (subject, source) in subjects.iter().zip(sources) {
        let mut subject = *subject;
        subject.bound = settings.bound.unwrap_or(subject.bound);
        progress(&format!("{} {}", subject.name, subject.version));
        // Kept after every test: a run of hours may be ended at any time. Read anew each time: the runs under the other tool may
        // have been kept meanwhile.
        let keep = |row: Row| {
            let mut record = Record::of(root, &subject, settings)?;
            record.error = None;
            record.merge(row);
            record.keep(root)
        };
        if let Err(why) = measure(root, &work, (&subject, &source), settings, &keep, progress) {
            // What one crate lacks must not lose what the others have shown.
            progress(&why);
            let mut record = Record::of(root, &subject, settings)?;
            record.error = why.lines().next().map(str::to_owned);
            record.keep(root)?;
        }
    }
    Ok(page::written(&record::kept(root)?))
}

/// The page of everything that is kept, without measuring anything.
///
/// # Errors
/// If what is kept cannot be read.
pub fn page_of_kept(root: &Path) -> Result<String, String> {
    Ok(page::written(&record::kept(root)?))
}

fn tools(settings: &Settings<'_>) -> Vec<Tool> {
    settings.tool.map_or(vec![Tool::Loom, Tool::Raddle], |tool| vec![tool])
}

/// The tests of one crate under the tools that are asked for.
fn measure(
    root: &Path,
    work: &Path,
    (subject, source): (&Subject, &Path),
    settings: &Settings<'_>,
    keep: &dyn Fn(Row) -> Result<(), String>,
    progress: &dyn Fn(&str),
) -> Result<(), String> {
    let (commit, date) = record::now(root)?;
    let made = Made { limit: u64::from(settings.limit), commit, date };
    let mut binaries = Vec::new();
    let tools = tools(settings);
    for &tool in &tools {
        let copy = work.join(format!("{}-{}", subject.name, tool.name()));
        lay_out(root, source, &copy, subject, tool)?;
        binaries.push(build(work, &copy, subject, tool)?);
    }
    let logs = work.join("logs");
    fs::create_dir_all(&logs).map_err(|error| format!("{}: {error}", logs.display()))?;
    for test in
        list(&binaries[0], subject)?.into_iter().filter(|test| test.contains(settings.tests))
    {
        let mut row = Row { test, loom: None, raddle: None };
        for (&tool, binary) in tools.iter().zip(&binaries) {
            let (run, said) = run(binary, &row.test, subject, tool, &made)?;
            if run.ended != Ended::Passed {
                let name =
                    format!("{}-{}-{}", subject.name, row.test.replace("::", "-"), tool.name());
                write_file(&logs.join(name), said.as_bytes())?;
            }
            progress(&format!("  {}: {}: {}", row.test, tool.name(), page::word(Some(&run))));
            match tool {
                Tool::Loom => row.loom = Some(run),
                Tool::Raddle => row.raddle = Some(run),
            }
        }
        keep(row)?;
    }
    Ok(())
}

pub(crate) fn command(program: &str, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(directory).stdin(Stdio::null());
    // What this process was given by cargo is of another build.
    for name in ["CARGO_TARGET_DIR", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER"] {
        command.env_remove(name);
    }
    command
}

pub(crate) fn output(mut command: Command, what: &str) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{what}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last: Vec<&str> = said.lines().rev().take(30).collect();
    Err(format!("{what}:\n{}", last.into_iter().rev().collect::<Vec<_>>().join("\n")))
}

/// Has cargo fetch the crates. Returns where their sources are.
fn fetch(work: &Path, subjects: &[Subject]) -> Result<Vec<PathBuf>, String> {
    // Two runs may be made at once.
    let package = work.join(format!("fetch-{}", std::process::id()));
    let create = |path: &Path| fs::create_dir_all(path).map_err(|error| error.to_string());
    create(&package.join("src"))?;
    let mut manifest = String::from(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n",
    );
    for Subject { name, version, .. } in subjects {
        let _ = writeln!(manifest, "{name} = \"={version}\"");
    }
    write_file(&package.join("Cargo.toml"), manifest.as_bytes())?;
    write_file(&package.join("src/lib.rs"), b"")?;
    let mut metadata = command("cargo", &package);
    metadata.args(["metadata", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&output(metadata, "cargo metadata")?)
        .map_err(|error| format!("cargo metadata: {error}"))?;
    let _ = fs::remove_dir_all(&package);
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let place = |subject: &Subject| {
        let found = packages
            .iter()
            .find(|one| one["name"] == subject.name && one["version"] == subject.version);
        let manifest = found.and_then(|one| one["manifest_path"].as_str()).map(Path::new);
        let directory = manifest.and_then(Path::parent).map(Path::to_owned);
        directory.ok_or(format!("{} {} was not fetched", subject.name, subject.version))
    };
    subjects.iter().map(place).collect()
}

/// Copies the sources, with the line that puts raddle in loom's place. A copy that is there and has the same manifest stays,
/// and with it what was built of it.
fn lay_out(
    root: &Path,
    source: &Path,
    copy: &Path,
    subject: &Subject,
    tool: Tool,
) -> Result<(), String> {
    let original = source.join("Cargo.toml");
    let text = fs::read_to_string(&original).map_err(|error| error.to_string())?;
    let mut text = less(&text, subject.without);
    text.push_str("\n[workspace]\n");
    if tool == Tool::Raddle {
        // Both lines of versions that crates use: cargo takes the one that fits.
        let patch = root.join("crates/raddle-loom/patch");
        let _ = write!(
            text,
            "[patch.crates-io]\nloom = {{ path = \"{}\" }}\nloom-05 = {{ package = \"loom\", path = \"{}\" }}\n",
            patch.join("0.7").display(),
            patch.join("0.5").display(),
        );
    }
    let manifest = copy.join("Cargo.toml");
    if fs::read_to_string(&manifest).is_ok_and(|before| before == text) {
        return Ok(());
    }
    if copy.exists() {
        fs::remove_dir_all(copy).map_err(|error| format!("{}: {error}", copy.display()))?;
    }
    let mut copying = command("cp", source);
    copying.arg("-r").arg(source).arg(copy);
    output(copying, "cp")?;
    // It pins what the crate was tested with, for either tool.
    let _ = fs::remove_file(copy.join("Cargo.lock"));
    write_file(&manifest, text.as_bytes())
}

/// A manifest, as the registry has it, less some dependencies of tests.
fn less(manifest: &str, without: &[&str]) -> String {
    let mut kept = String::new();
    let mut is_out = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            let name = line.trim_end_matches(']').rsplit_once("dev-dependencies.");
            is_out = name.is_some_and(|(_, name)| without.contains(&name));
        }
        if !is_out {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// Builds the tests. Returns the binary.
fn build(work: &Path, copy: &Path, subject: &Subject, tool: Tool) -> Result<PathBuf, String> {
    let (all, own) = flags(subject.cfg);
    let mut cargo = command("cargo", copy);
    cargo
        .args(["test", "--release", "--no-run", "--message-format", "json-render-diagnostics"])
        .args(subject.tests.split_whitespace())
        .env("CARGO_TARGET_DIR", work.join(format!("build-{}", tool.name())))
        .env("RUSTFLAGS", all);
    if !own.is_empty() {
        cargo.env("RUSTC_WORKSPACE_WRAPPER", wrapper(work, subject.name, &own)?);
    }
    let what = format!("{} with {}", subject.name, tool.name());
    let said = output(cargo, &what)?;
    let binary = said
        .lines()
        .rev()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["profile"]["test"] == true)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from));
    binary.ok_or(format!("{what}: cargo built no test"))
}

/// The flags for everything, and those for the crate alone.
///
/// A cfg that only the crate itself looks at is given to it alone, so that the tool is built once for all crates of this kind.
fn flags(cfg: &str) -> (String, String) {
    // These have meaning for dependencies, too: event-listener's queue, crossbeam-epoch's utilities.
    let (all, own): (Vec<&str>, Vec<&str>) =
        cfg.split(' ').partition(|cfg| ["loom", "crossbeam_loom"].contains(cfg));
    let text = |cfgs: Vec<&str>| -> String {
        let flag = |cfg: &str| match cfg {
            // The compiler sets it itself.
            "debug_assertions" => "-C debug-assertions=on ".to_owned(),
            _ => format!("--cfg {cfg} "),
        };
        cfgs.into_iter().map(flag).collect()
    };
    (text(all) + "--cap-lints warn", text(own).trim_end().to_owned())
}

/// A program that runs the compiler with more flags, for the crate itself.
fn wrapper(work: &Path, name: &str, flags: &str) -> Result<PathBuf, String> {
    let file = work.join(format!("rustc-for-{name}"));
    write_file(&file, format!("#!/bin/sh\nexec \"$@\" {flags}\n").as_bytes())?;
    let mut executable = command("chmod", work);
    executable.arg("+x").arg(&file);
    output(executable, "chmod")?;
    Ok(file)
}

fn list(binary: &Path, subject: &Subject) -> Result<Vec<String>, String> {
    let mut listing = Command::new(binary);
    listing.args(["--list", "--format", "terse"]);
    let listed = output(listing, subject.name)?;
    let tests = listed.lines().filter_map(|line| line.strip_suffix(": test"));
    let is_one = |test: &&str| subject.filter.split('|').any(|part| test.contains(part));
    Ok(tests.filter(is_one).map(str::to_owned).collect())
}

/// Runs one test in a process of its own. Also gives what it printed.
fn run(
    binary: &Path,
    test: &str,
    subject: &Subject,
    tool: Tool,
    made: &Made,
) -> Result<(Run, String), String> {
    let limit = made.limit;
    // The shell sets the limit and tells the CPU time of the process: std has neither. What waits without using the CPU ends, too.
    let script = "ulimit -t \"$1\"; wall=$2; shift 2; timeout \"$wall\" \"$@\" 2>&1; code=$?; echo; echo \"code $code\"; times";
    let mut shell = Command::new("bash");
    shell
        .args(["-c", script, "bash", &limit.to_string(), &(limit * 20).to_string()])
        .arg(binary)
        .args([test, "--exact", "--nocapture", "--test-threads", "1"])
        .env("LOOM_LOG", "loom=info")
        .env("LOOM_MAX_BRANCHES", "100000")
        // How far it has come is told this often.
        .env("LOOM_CHECKPOINT_INTERVAL", "1000")
        .env("RADDLE_PROGRESS", "true")
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    if let Some(bound) = subject.bound {
        shell.env("LOOM_MAX_PREEMPTIONS", bound.to_string());
    }
    let output = shell.output().map_err(|error| format!("bash: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok((ended(&said, tool, made), said))
}

/// What the output of a run says.
fn ended(said: &str, tool: Tool, made: &Made) -> Run {
    let (before, after) = said.rsplit_once("\ncode ").unwrap_or((said, ""));
    let code = after.lines().next().unwrap_or_default();
    // `times`: a line of the shell itself, then one of what it ran.
    let seconds = after.lines().nth(2).map_or(0.0, cpu_seconds);
    let ended = match code {
        "0" => Ended::Passed,
        "124" => Ended::Hung,
        // By SIGKILL or SIGXCPU. The kernel counts for its limit by ticks, so `times` may say a little more or less.
        "137" | "152" => Ended::Stopped,
        _ => Ended::Failed,
    };
    let done = match tool {
        Tool::Loom => sum_before(before, "Completed in ", " iterations"),
        Tool::Raddle => sum_executions(before),
    };
    // Each model of the test tells for itself. The harness may have begun the line.
    let covers = |word: &str| {
        let mut verdicts = before.lines().map(|line| line.rsplit(" ... ").next().unwrap_or(line));
        verdicts.any(|line| line.split_whitespace().next() == Some(word))
    };
    // loom ends without a failure only when it has run everything, or at limits that the test itself sets; it tells how many
    // executions only where the test lets it write its log.
    let covered =
        ended == Ended::Passed && (tool == Tool::Loom || covers("COVERED") && !covers("PASSED"));
    let executions = match (ended, tool) {
        (Ended::Stopped | Ended::Hung, Tool::Loom) => {
            last_before(before, " Iteration ", " =").or(done)
        }
        (Ended::Stopped | Ended::Hung, Tool::Raddle) => last_progress(before).or(done),
        _ => done,
    };
    Run { ended, seconds, executions, covered, made: made.clone() }
}

/// `0m1.234s 0m0.010s` as seconds.
pub(crate) fn cpu_seconds(line: &str) -> f64 {
    let part = |text: &str| {
        let (minutes, seconds) = text.trim_end_matches('s').split_once('m')?;
        Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
    };
    line.split_whitespace().filter_map(part).sum()
}

/// The sum of all numbers between two texts. A test may have several models.
fn sum_before(said: &str, before: &str, after: &str) -> Option<u64> {
    let numbers = said.split(before).skip(1).filter_map(|rest| {
        rest.split_once(after).and_then(|(number, _)| number.trim().parse::<u64>().ok())
    });
    numbers.reduce(|one, other| one + other)
}

/// The sum of what raddle's lines `searched with dpor, seed 0: 12 executions, …` say.
fn sum_executions(said: &str) -> Option<u64> {
    // Lines are broken where they are too long.
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let numbers = said.split("searched with ").skip(1).filter_map(|rest| {
        let (head, _) = rest.split_once(" execution")?;
        head.rsplit(' ').next()?.replace(',', "").parse::<u64>().ok()
    });
    numbers.reduce(|one, other| one + other)
}

/// The last number between two texts.
fn last_before(said: &str, before: &str, after: &str) -> Option<u64> {
    let (_, rest) = said.rsplit_once(before)?;
    rest.split_once(after)?.0.trim().parse().ok()
}

/// How many executions raddle's last line of progress tells: `test: 12,345 executions, 620/s`.
fn last_progress(said: &str) -> Option<u64> {
    let number = |line: &str| {
        let (head, _) = line.split_once(" executions, ")?;
        head.rsplit(' ').next()?.replace(',', "").parse().ok()
    };
    said.lines().rev().find_map(number)
}

#[cfg(test)]
mod tests {
    use super::{cpu_seconds, flags, last_before, last_progress, less, sum_before, sum_executions};

    #[test]
    fn a_manifest_loses_only_what_it_is_told_to() {
        let manifest = "[dependencies.a]\nversion = \"1\"\n[target.x.dev-dependencies.b]\nversion = \"2\"\n[lib]\n";
        assert_eq!(less(manifest, &["b"]), "[dependencies.a]\nversion = \"1\"\n[lib]\n");
        assert_eq!(less(manifest, &["a"]), manifest);
        let (all, own) = flags("loom x debug_assertions");
        assert_eq!(all, "--cfg loom --cap-lints warn");
        assert_eq!(own, "--cfg x -C debug-assertions=on");
    }

    #[test]
    fn what_tools_print_is_read() {
        assert!((cpu_seconds("0m1.250s 1m0.250s") - 61.5).abs() < 1e-9);
        let said = "Completed in 12 iterations\nand Completed in 3 iterations";
        assert_eq!(sum_before(said, "Completed in ", " iterations"), Some(15));
        assert_eq!(sum_before("nothing", "Completed in ", " iterations"), None);
        let said = "searched with dpor, seed 0: 7 executions, 1 step\nsearched with dpor, seed 0: 1 execution";
        assert_eq!(sum_executions(said), Some(8));
        let said = " == Iteration 1000 ==\n == Iteration 2000 ==\n";
        assert_eq!(last_before(said, " Iteration ", " ="), Some(2_000));
        assert_eq!(
            last_progress("a: 1,200 executions, 10/s\na: 2,400 executions, 9/s: more\nx"),
            Some(2_400)
        );
    }
}
