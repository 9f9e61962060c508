//! `cargo xtask crates`: tests that crates of the registry wrote for loom, unchanged, under loom and under raddle.
//!
//! The sources are those of the registry, in pinned versions, copied below `target/crates`; nothing of them is kept in
//! this repository. Each crate is built twice with the same flags, once with the real loom and once with `raddle-loom` in its
//! place by one line of `[patch.crates-io]`. Every test then runs in a process of its own with a limit of CPU time.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::write_file;

/// A crate with tests for loom.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// Its name in the registry.
    pub name: &'static str,
    /// The version that is measured.
    pub version: &'static str,
    /// The flag under which it uses loom.
    cfg: &'static str,
    /// Which tests, as arguments of `cargo test`.
    tests: &'static str,
    /// Only tests whose names contain this.
    filter: &'static str,
    /// The bound on preemptions that its own instructions name, if any.
    bound: Option<u32>,
}

const fn subject(
    name: &'static str,
    version: &'static str,
    cfg: &'static str,
    (tests, filter): (&'static str, &'static str),
    bound: Option<u32>,
) -> Subject {
    Subject { name, version, cfg, tests, filter, bound }
}

/// The crates, in order.
pub const SUBJECTS: [Subject; 10] = [
    subject("parking", "2.2.1", "loom", ("--test loom --features loom", ""), None),
    subject("bytes", "1.12.1", "loom", ("--lib", "fuzz"), None),
    subject("oneshot", "0.2.1", "oneshot_loom", ("--test loom --features async", ""), None),
    subject("event-listener", "5.4.2", "loom", ("--test loom --features loom", ""), None),
    subject("concurrent-queue", "2.5.0", "loom", ("--test loom --features loom", ""), Some(2)),
    subject("diatomic-waker", "0.2.3", "diatomic_waker_loom", ("--lib", "loom"), None),
    subject("async-event", "0.2.1", "async_event_loom", ("--lib", "loom"), None),
    subject(
        "crossbeam-epoch",
        "0.9.21",
        "crossbeam_loom",
        ("--test loom --features loom", ""),
        None,
    ),
    subject("sharded-slab", "0.1.7", "loom", ("--lib", ""), Some(2)),
    subject("thingbuf", "0.1.6", "loom", ("--lib", ""), Some(2)),
];

/// What runs the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    Loom,
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

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Passed,
    Failed,
    /// At the limit of CPU time.
    Stopped,
}

/// What came of a test under one tool.
#[derive(Clone, Debug)]
struct Run {
    ended: Ended,
    seconds: f64,
    /// If the tool said how many.
    executions: Option<u64>,
    /// Whether everything was covered, as far as the tool says so.
    covered: bool,
}

/// A test under both.
#[derive(Clone, Debug)]
struct Row {
    test: String,
    runs: [Run; 2],
}

/// Measures the subjects and returns the page. `progress` hears what is being done.
///
/// # Errors
/// If a crate cannot be fetched or built, with what cargo said.
pub fn page(
    root: &Path,
    subjects: &[Subject],
    limit: u32,
    progress: &dyn Fn(&str),
) -> Result<String, String> {
    let work = root.join("target/crates");
    progress("fetching");
    let sources = fetch(&work, subjects)?;
    let mut measured = Vec::new();
    for (subject, source) in subjects.iter().zip(sources) {
        progress(&format!("{} {}", subject.name, subject.version));
        let mut binaries = Vec::new();
        for tool in [Tool::Loom, Tool::Raddle] {
            let copy = work.join(format!("{}-{}", subject.name, tool.name()));
            lay_out(root, &source, &copy, tool)?;
            binaries.push(build(&work, &copy, subject, tool)?);
        }
        let mut rows = Vec::new();
        for test in list(&binaries[0], subject)? {
            let runs = [Tool::Loom, Tool::Raddle]
                .map(|tool| run(&binaries[tool as usize], &test, subject, tool, limit));
            let [loom, raddle] = runs;
            rows.push(Row { test, runs: [loom?, raddle?] });
        }
        measured.push((*subject, rows));
    }
    Ok(written(&measured, limit))
}

fn command(program: &str, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(directory).stdin(Stdio::null());
    // What this process was given by cargo is of another build.
    for name in ["CARGO_TARGET_DIR", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER"] {
        command.env_remove(name);
    }
    command
}

fn output(mut command: Command, what: &str) -> Result<String, String> {
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
    let package = work.join("fetch");
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

/// Copies the sources anew, with the line that puts raddle in loom's place.
fn lay_out(root: &Path, source: &Path, copy: &Path, tool: Tool) -> Result<(), String> {
    if copy.exists() {
        fs::remove_dir_all(copy).map_err(|error| format!("{}: {error}", copy.display()))?;
    }
    let mut copying = command("cp", source);
    copying.arg("-r").arg(source).arg(copy);
    output(copying, "cp")?;
    // It pins what the crate was tested with, for either tool.
    let _ = fs::remove_file(copy.join("Cargo.lock"));
    let manifest = copy.join("Cargo.toml");
    let mut text = fs::read_to_string(&manifest).map_err(|error| error.to_string())?;
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
    write_file(&manifest, text.as_bytes())
}

/// Builds the tests. Returns the binary.
fn build(work: &Path, copy: &Path, subject: &Subject, tool: Tool) -> Result<PathBuf, String> {
    let mut cargo = command("cargo", copy);
    cargo
        .args(["test", "--release", "--no-run", "--message-format", "json-render-diagnostics"])
        .args(subject.tests.split_whitespace())
        .env("CARGO_TARGET_DIR", work.join(format!("build-{}", tool.name())))
        .env("RUSTFLAGS", format!("--cfg {} --cap-lints warn", subject.cfg));
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

fn list(binary: &Path, subject: &Subject) -> Result<Vec<String>, String> {
    let mut listing = Command::new(binary);
    listing.args(["--list", "--format", "terse"]);
    let listed = output(listing, subject.name)?;
    let tests = listed.lines().filter_map(|line| line.strip_suffix(": test"));
    Ok(tests.filter(|test| test.contains(subject.filter)).map(str::to_owned).collect())
}

/// Runs one test in a process of its own.
fn run(
    binary: &Path,
    test: &str,
    subject: &Subject,
    tool: Tool,
    limit: u32,
) -> Result<Run, String> {
    // The shell sets the limit and tells the CPU time of the process: std has neither.
    let script = "ulimit -t \"$1\"; shift; \"$@\" 2>&1; code=$?; echo; echo \"code $code\"; times";
    let mut shell = Command::new("bash");
    shell
        .args(["-c", script, "bash", &limit.to_string()])
        .arg(binary)
        .args([test, "--exact", "--nocapture", "--test-threads", "1"])
        .env("LOOM_LOG", "loom=info")
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    if let Some(bound) = subject.bound {
        shell.env("LOOM_MAX_PREEMPTIONS", bound.to_string());
    }
    let output = shell.output().map_err(|error| format!("bash: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let (before, after) = said.rsplit_once("\ncode ").unwrap_or((&said, ""));
    let code = after.lines().next().unwrap_or_default();
    // `times`: a line of the shell itself, then one of what it ran.
    let seconds = after.lines().nth(2).map_or(0.0, cpu_seconds);
    let ended = match code {
        "0" => Ended::Passed,
        _ if seconds >= f64::from(limit) - 1.0 => Ended::Stopped,
        _ => Ended::Failed,
    };
    let executions = match tool {
        Tool::Loom => sum_before(before, "Completed in ", " iterations"),
        Tool::Raddle => sum_executions(before),
    };
    let covered = match tool {
        Tool::Loom => ended == Ended::Passed && executions.is_some(),
        Tool::Raddle => ended == Ended::Passed && before.contains("every execution"),
    };
    Ok(Run { ended, seconds, executions, covered })
}

/// `0m1.234s 0m0.010s` as seconds.
fn cpu_seconds(line: &str) -> f64 {
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
    let numbers = said.split("searched with ").skip(1).filter_map(|rest| {
        let (head, _) = rest.split_once(" execution")?;
        head.rsplit(' ').next()?.replace(',', "").parse::<u64>().ok()
    });
    numbers.reduce(|one, other| one + other)
}

fn word(run: &Run, tool: Tool) -> String {
    let executions = run.executions.map_or("–".to_owned(), |n| n.to_string());
    let ended = match (run.ended, run.covered, tool) {
        (Ended::Failed, ..) => "**fails**",
        (Ended::Stopped, ..) => "stopped",
        (Ended::Passed, true, _) => "covered",
        (Ended::Passed, false, _) => "passes",
    };
    format!("{ended} | {executions} | {:.2}", run.seconds)
}

/// The page.
fn written(measured: &[(Subject, Vec<Row>)], limit: u32) -> String {
    let mut page = String::from(
        "# Tests of real crates, written for loom, under loom and under raddle\n\n`cargo xtask crates`",
    );
    let _ = write!(
        page,
        ": {} of the registry with their unchanged tests, built with loom 0.7 and with `raddle-loom` in its place \
         by one line of `[patch.crates-io]`, in release. Each test is a process of its own with a limit of {limit} s of CPU time \
         (*stopped*). *covered*: the tool says that it ran everything, with the bound on preemptions of the crate's own instructions where \
         it names one. loom also explores what weak memory allows a load to read, and raddle does not: fewer \
         executions are not the same work, and a test that passes here may have an error of that kind.\n\n",
        match measured.len() {
            1 => "a crate".to_owned(),
            n => format!("{n} crates"),
        },
    );
    page.push_str(
        "| crate | bound | tests | covered by loom, raddle | failing | CPU seconds, loom | raddle | same tests covered by both: loom | raddle |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for (subject, rows) in measured {
        let count = |holds: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| holds(row)).count();
        let sum = |tool: Tool, of: &dyn Fn(&Row) -> bool| -> f64 {
            rows.iter().filter(|row| of(row)).map(|row| row.runs[tool as usize].seconds).sum()
        };
        let both = |row: &Row| row.runs.iter().all(|run| run.covered);
        let _ = writeln!(
            page,
            "| {} {} | {} | {} | {}, {} | {}, {} | {:.2} | {:.2} | {:.2} | {:.2} |",
            subject.name,
            subject.version,
            subject.bound.map_or("none".to_owned(), |bound| bound.to_string()),
            rows.len(),
            count(&|row| row.runs[0].covered),
            count(&|row| row.runs[1].covered),
            count(&|row| row.runs[0].ended == Ended::Failed),
            count(&|row| row.runs[1].ended == Ended::Failed),
            sum(Tool::Loom, &|_| true),
            sum(Tool::Raddle, &|_| true),
            sum(Tool::Loom, &both),
            sum(Tool::Raddle, &both),
        );
    }
    for (subject, rows) in measured {
        let _ = write!(
            page,
            "\n## {} {}\n\n| test | loom | executions | CPU s | raddle | executions | CPU s |\n|---|---|---:|---:|---|---:|---:|\n",
            subject.name, subject.version
        );
        for Row { test, runs: [loom, raddle] } in rows {
            let (loom, raddle) = (word(loom, Tool::Loom), word(raddle, Tool::Raddle));
            let _ = writeln!(page, "| `{test}` | {loom} | {raddle} |");
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::{cpu_seconds, sum_before, sum_executions};

    #[test]
    fn what_tools_print_is_read() {
        assert!((cpu_seconds("0m1.250s 1m0.250s") - 61.5).abs() < 1e-9);
        let said = "Completed in 12 iterations\nand Completed in 3 iterations";
        assert_eq!(sum_before(said, "Completed in ", " iterations"), Some(15));
        assert_eq!(sum_before("nothing", "Completed in ", " iterations"), None);
        let said = "searched with dpor, seed 0: 7 executions, 1 step\nsearched with dpor, seed 0: 1 execution";
        assert_eq!(sum_executions(said), Some(8));
    }
}
