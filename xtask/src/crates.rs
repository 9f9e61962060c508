//! `cargo xtask crates`: tests that crates of the registry wrote for loom, unchanged, under loom and under raddle.
//!
//! The sources are those of the registry, in pinned versions, copied below `target/crates`; nothing of them is kept in
//! this repository. Each crate is built twice with the same flags, once with the real loom and once with `raddle-loom` in its
//! place by one line of `[patch.crates-io]`. Every test then runs in a process of its own with a limit of CPU time.

pub mod mutants;

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
    /// The flags under which it uses loom.
    cfg: &'static str,
    /// Which tests, as arguments of `cargo test`.
    tests: &'static str,
    /// Only tests whose names contain this.
    filter: &'static str,
    /// The bound on preemptions that its own instructions name, if any.
    bound: Option<u32>,
    /// Dependencies of its tests that these tests do without, and that do not build with these flags.
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

/// The crates, in order.
pub const SUBJECTS: [Subject; 16] = [
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
    subject("st3", "0.4.1", "st3_loom", ("--test loom", ""), None),
    subject("tachyonix", "0.3.1", "tachyonix_loom", ("--lib", "loom"), None),
    subject("multishot", "0.3.2", "multishot_loom", ("--lib", "loom"), None),
    subject("cordyceps", "0.3.5", "loom", ("--lib", "loom"), Some(2)),
    subject("left-right", "0.11.8", "loom", ("--test loom", ""), Some(2)),
    subject("tokio", "1.54.1", "loom tokio_unstable", ("--lib --features full", "loom"), Some(2))
        .without(&["tokio-test", "tokio-stream", "mockall", "tracing-mock", "async-stream"]),
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
        let rows = measure(root, &work, (subject, &source), limit, progress);
        // What one crate lacks must not lose what the others have shown.
        if let Err(why) = &rows {
            progress(why);
        }
        measured.push((*subject, rows));
    }
    Ok(written(&measured, limit))
}

/// The tests of one crate under both tools.
fn measure(
    root: &Path,
    work: &Path,
    (subject, source): (&Subject, &Path),
    limit: u32,
    progress: &dyn Fn(&str),
) -> Result<Vec<Row>, String> {
    let mut binaries = Vec::new();
    for tool in [Tool::Loom, Tool::Raddle] {
        let copy = work.join(format!("{}-{}", subject.name, tool.name()));
        lay_out(root, source, &copy, subject, tool)?;
        binaries.push(build(work, &copy, subject, tool)?);
    }
    let mut rows = Vec::new();
    for test in list(&binaries[0], subject)? {
        let [loom, raddle] = [Tool::Loom, Tool::Raddle]
            .map(|tool| run(&binaries[tool as usize], &test, subject, tool, limit));
        let row = Row { test, runs: [loom?, raddle?] };
        let [loom, raddle] = &row.runs;
        progress(&format!(
            "  {}: {}; {}",
            row.test,
            word(loom, Tool::Loom),
            word(raddle, Tool::Raddle)
        ));
        rows.push(row);
    }
    Ok(rows)
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
fn lay_out(
    root: &Path,
    source: &Path,
    copy: &Path,
    subject: &Subject,
    tool: Tool,
) -> Result<(), String> {
    if copy.exists() {
        fs::remove_dir_all(copy).map_err(|error| format!("{}: {error}", copy.display()))?;
    }
    let mut copying = command("cp", source);
    copying.arg("-r").arg(source).arg(copy);
    output(copying, "cp")?;
    // It pins what the crate was tested with, for either tool.
    let _ = fs::remove_file(copy.join("Cargo.lock"));
    let manifest = copy.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).map_err(|error| error.to_string())?;
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
    let mut cargo = command("cargo", copy);
    cargo
        .args(["test", "--release", "--no-run", "--message-format", "json-render-diagnostics"])
        .args(subject.tests.split_whitespace())
        .env("CARGO_TARGET_DIR", work.join(format!("build-{}", tool.name())))
        .env("RUSTFLAGS", flags(subject.cfg));
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

fn flags(cfg: &str) -> String {
    let cfgs: Vec<_> = cfg.split(' ').map(|cfg| format!("--cfg {cfg}")).collect();
    cfgs.join(" ") + " --cap-lints warn"
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

/// The tests of a crate, or why there are none.
type Measured = (Subject, Result<Vec<Row>, String>);

const HEAD: &str = "\
| crate | bound | tests | covered by loom, raddle | failing | CPU seconds, loom | raddle | covered by both: loom | raddle |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
";

/// The page.
fn written(measured: &[Measured], limit: u32) -> String {
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
    let all: Vec<&Row> = measured.iter().flat_map(|(_, rows)| rows.iter().flatten()).collect();
    page.push_str(&summary(&all));
    page.push_str(HEAD);
    for (subject, rows) in measured {
        match rows {
            Ok(rows) => page.push_str(&line(subject, rows)),
            Err(why) => {
                let why = why.lines().next().unwrap_or_default();
                let _ = writeln!(
                    page,
                    "| {} {} | | not measured: {why} | | | | | | |",
                    subject.name, subject.version
                );
            }
        }
    }
    for (subject, rows) in measured {
        let Ok(rows) = rows else { continue };
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

/// What the tests that take loom long come to.
fn summary(all: &[&Row]) -> String {
    let failing = |tool: Tool| {
        let fails = |row: &&&Row| row.runs[tool as usize].ended == Ended::Failed;
        let names: Vec<String> =
            all.iter().filter(fails).map(|row| format!("`{}`", row.test)).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let mut text = format!(
        "Failing under loom: {}. Failing under raddle: {}.\n\n",
        failing(Tool::Loom),
        failing(Tool::Raddle)
    );
    // One that was stopped took loom at least this long.
    let long = all.iter().filter(|row| row.runs[0].seconds > 1.0);
    let (ended, others): (Vec<&&Row>, Vec<&&Row>) =
        long.partition(|row| row.runs[1].ended == Ended::Passed);
    let mut parts: Vec<f64> =
        ended.iter().map(|row| row.runs[1].seconds / row.runs[0].seconds).collect();
    parts.sort_by(f64::total_cmp);
    if let Some(median) = parts.get(parts.len() / 2) {
        let few = parts.iter().filter(|part| **part <= 0.2).count();
        let left: Vec<String> = others.iter().map(|row| format!("`{}`", row.test)).collect();
        let _ = write!(
            text,
            "Tests that take loom more than a second, or on which it was stopped: {}. raddle ends {} of them, {few} in at most a fifth of \
             that time; the median is 1/{:.0}.",
            ended.len() + others.len(),
            ended.len(),
            1.0 / median.max(1e-4)
        );
        if !left.is_empty() {
            let _ = write!(text, " It does not end {}.", left.join(", "));
        }
        text.push_str("\n\n");
    }
    text
}

/// The row of a crate in the first table.
fn line(subject: &Subject, rows: &[Row]) -> String {
    let count = |holds: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| holds(row)).count();
    let sum = |tool: Tool, of: &dyn Fn(&Row) -> bool| -> f64 {
        rows.iter().filter(|row| of(row)).map(|row| row.runs[tool as usize].seconds).sum()
    };
    let both = |row: &Row| row.runs.iter().all(|run| run.covered);
    format!(
        "| {} {} | {} | {} | {}, {} | {}, {} | {:.2} | {:.2} | {:.2} | {:.2} |\n",
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
    )
}

#[cfg(test)]
mod tests {
    use super::{cpu_seconds, flags, less, sum_before, sum_executions};

    #[test]
    fn a_manifest_loses_only_what_it_is_told_to() {
        let manifest = "[dependencies.a]\nversion = \"1\"\n[target.x.dev-dependencies.b]\nversion = \"2\"\n[lib]\n";
        assert_eq!(less(manifest, &["b"]), "[dependencies.a]\nversion = \"1\"\n[lib]\n");
        assert_eq!(less(manifest, &["a"]), manifest);
        assert_eq!(flags("loom x"), "--cfg loom --cfg x --cap-lints warn");
    }

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
