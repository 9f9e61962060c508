//! `cargo xtask instructions`: what an execution or a step costs, counted by valgrind's callgrind, beside another
//! checkout.
//!
//! The measured binaries are those of `raddle-bench`, in release without link-time optimisation, built alike in both
//! checkouts. Each runs twice, with few executions and with many; the difference is free of what a process costs.
//! A search of states runs once: its number has the process in it. Counts do not hang on how busy the machine is, but on the compiler, so
//! both are measured every time.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::write_file;

/// One number.
struct Case {
    name: &'static str,
    binary: &'static str,
    arguments: &'static str,
    /// How many executions, few and many; none for a search of states.
    lengths: Option<[u32; 2]>,
    /// By how much the cost of an execution is divided.
    steps: u32,
}

const fn threads(name: &'static str, arguments: &'static str, lengths: [u32; 2]) -> Case {
    Case { name, binary: "peer-raddle", arguments, lengths: Some(lengths), steps: 1 }
}

const fn states(name: &'static str, arguments: &'static str) -> Case {
    Case { name, binary: "peer-raddle-states", arguments, lengths: None, steps: 1 }
}

const CASES: [Case; 8] = [
    Case { steps: 2_000, ..threads("long random, per step", "long random", [20, 120]) },
    threads("tiny random, per execution", "tiny random", [1_000, 5_000]),
    threads("tiny dfs, per execution", "tiny dfs", [1_000, 5_000]),
    threads("locks random, per execution", "locks random", [1_000, 5_000]),
    threads("locks dfs, per execution", "locks dfs", [1_000, 5_000]),
    threads(
        "lastzero(10) dpor, per execution",
        "lastzero-10x10 exhaust --reduction optimal",
        [100, 500],
    ),
    states(
        "states of two-phase commit, depth first, whole search",
        "two-phase-commit unordered dfs --at-least 0",
    ),
    states("states of paxos, breadth first, whole search", "paxos unordered bfs --at-least 0"),
];

/// A checkout, by its commit and where its binaries are.
struct Built {
    commit: String,
    binaries: Vec<PathBuf>,
}

/// Measures this checkout and another, tells `progress` of it, and returns the section of `docs/results/core.md`.
///
/// # Errors
/// If one of them does not build, or valgrind is missing.
pub fn section(root: &Path, before: &Path, progress: &dyn Fn(&str)) -> Result<String, String> {
    let built = [before, root].map(|checkout| {
        progress(&format!("building in {}", checkout.display()));
        build(checkout)
    });
    let [before, after] = built;
    let (before, after) = (before?, after?);
    let mut rows = Vec::new();
    for case in &CASES {
        progress(case.name);
        rows.push((case.name, cost(&before, case)?, cost(&after, case)?));
    }
    Ok(text(&before.commit, &after.commit, &rows))
}

/// Puts the section in the place of the one that the page has; it is its last.
///
/// # Errors
/// If the page cannot be read or written.
pub fn write(page: &Path, section: &str) -> Result<(), String> {
    let text = fs::read_to_string(page).map_err(|e| format!("{}: {e}", page.display()))?;
    write_file(page, replaced(&text, section).as_bytes())
}

const HEADING: &str = "## Cost\n";

fn replaced(page: &str, section: &str) -> String {
    let kept = page.split_once(HEADING).map_or(page, |(kept, _)| kept);
    format!("{kept}{section}")
}

fn text(before: &str, after: &str, rows: &[(&str, f64, f64)]) -> String {
    let mut text = format!(
        "{HEADING}`cargo xtask instructions CHECKOUT`: instructions by callgrind, without link-time optimisation; \
         before: {before}, after: {after}. Per\nexecution or step: the difference of two run lengths.\n\n\
         | | before | after | after / before |\n|---|---:|---:|---:|\n"
    );
    for (name, before, after) in rows {
        let digits = usize::from(*before < 1_000.0);
        let _ = writeln!(
            text,
            "| {name} | {before:.digits$} | {after:.digits$} | {:.3} |",
            after / before
        );
    }
    text
}

/// Builds the measured binaries of a checkout.
fn build(checkout: &Path) -> Result<Built, String> {
    let arguments = "build --locked --release -p raddle-bench --bin peer-raddle --bin peer-raddle-states \
                     --message-format json-render-diagnostics";
    let output = Command::new(env!("CARGO"))
        .args(arguments.split_whitespace())
        .current_dir(checkout)
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("could not run cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("{} does not build", checkout.display()));
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let messages = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let binaries =
        messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).collect();
    let head = Command::new("git")
        .args(["rev-parse", "--short", "HEAD"])
        .current_dir(checkout)
        .output()
        .map_err(|error| format!("could not run git: {error}"))?;
    let commit = String::from_utf8_lossy(&head.stdout).trim().to_owned();
    Ok(Built { commit, binaries })
}

/// The instructions of a case.
fn cost(built: &Built, case: &Case) -> Result<f64, String> {
    let is_meant = |path: &&PathBuf| path.file_stem().is_some_and(|name| name == case.binary);
    let binary = built.binaries.iter().find(is_meant);
    let binary = binary.ok_or_else(|| format!("cargo built no {}", case.binary))?;
    let Some([few, many]) = case.lengths else { return instructions(binary, case, None) };
    let difference =
        instructions(binary, case, Some(many))? - instructions(binary, case, Some(few))?;
    Ok(difference / (made(case, many) - made(case, few)) / f64::from(case.steps))
}

/// How many executions a peer makes that is asked for `executions`: those that warm it up are counted, too.
fn made(case: &Case, executions: u32) -> f64 {
    let is_whole = case.arguments.contains("exhaust");
    let warm_up = if is_whole { 0 } else { executions.div_ceil(10).min(1_000) };
    f64::from(executions + warm_up)
}

/// All instructions of a process.
fn instructions(binary: &Path, case: &Case, executions: Option<u32>) -> Result<f64, String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(binary);
    command.args(case.arguments.split(' '));
    if let Some(executions) = executions {
        command.args(["--executions", &executions.to_string()]);
    }
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("RADDLE_") {
            command.env_remove(&name);
        }
    }
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("could not run valgrind: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let counted =
        said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    counted.filter(|_| output.status.success()).ok_or_else(|| format!("{command:?}: {said}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_section_takes_the_place_of_the_one_before() {
        let rows = [("a step", 400.44, 300.0), ("an execution", 8_000.4, 8_800.0)];
        let section = text("0ld", "new", &rows);
        assert!(section.contains("| a step | 400.4 | 300.0 | 0.749 |"), "{section}");
        assert!(section.contains("| an execution | 8000 | 8800 | 1.100 |"), "{section}");
        let page = replaced("# Page\n\n## Cost\nold\n", &section);
        assert_eq!(page, format!("# Page\n\n{section}"));
    }

    #[test]
    fn executions_that_warm_up_are_counted() {
        assert_eq!((made(&CASES[1], 1_000), made(&CASES[5], 1_000)), (1_100.0, 1_000.0));
    }
}
