//! `cargo xtask instructions`: what a step of a search costs, counted by valgrind's callgrind, beside another
//! checkout.
//!
//! Measured is `one-search` of `raddle-bench`, in release without link-time optimisation, built alike in both
//! checkouts. It runs twice, with few executions and with many; the difference is free of what a process costs.
//! Counts do not hang on how busy the machine is, but on the compiler, so both checkouts are measured every time.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::write_file;

/// A program of the corpus, a search, and how many executions: few and many.
struct Case {
    program: &'static str,
    search: &'static str,
    lengths: [u64; 2],
}

const fn case(program: &'static str, search: &'static str, lengths: [u64; 2]) -> Case {
    Case { program, search, lengths }
}

/// Atomics, long executions, locks, a reduction with many races, and actors.
const CASES: [Case; 9] = [
    case("inc(4)", "random", [200, 1_000]),
    case("inc(4)", "dfs", [200, 1_000]),
    case("independent(2,500)", "random", [5, 25]),
    case("filesystem(4)", "random", [200, 1_000]),
    case("filesystem(4)", "dfs", [200, 1_000]),
    case("lastzero(10)", "dpor", [100, 400]),
    case("inc(4)", "dpor", [100, 500]),
    case("three-actors", "random", [200, 1_000]),
    case("actor-senders", "random", [200, 1_000]),
];

/// A checkout, by its commit and where its binary is.
struct Built {
    commit: String,
    binary: PathBuf,
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
        let name = format!("`{}`, `{}`", case.program, case.search);
        progress(&name);
        rows.push((name, cost(&before, case)?, cost(&after, case)?));
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

fn text(before: &str, after: &str, rows: &[(String, f64, f64)]) -> String {
    let mut text = format!(
        "{HEADING}`cargo xtask instructions CHECKOUT`: instructions by callgrind, without link-time optimisation; \
         before: {before}, after: {after}.\n\
         Per step: the difference of two run lengths, by the difference of their steps.\n\n\
         | program of the corpus, search | before | after | after / before |\n|---|---:|---:|---:|\n"
    );
    for (name, before, after) in rows {
        let ratio = after / before;
        let _ = writeln!(text, "| {name} | {before:.1} | {after:.1} | {ratio:.3} |");
    }
    text
}

/// Builds the measured binary of a checkout.
fn build(checkout: &Path) -> Result<Built, String> {
    let binary = binary(checkout, "-p raddle-bench --bin one-search")?;
    let head = Command::new("git")
        .args(["rev-parse", "--short", "HEAD"])
        .current_dir(checkout)
        .output()
        .map_err(|error| format!("could not run git: {error}"))?;
    let commit = String::from_utf8_lossy(&head.stdout).trim().to_owned();
    Ok(Built { commit, binary })
}

/// Builds a binary of a checkout in release without link-time optimisation, and says where it is.
pub(crate) fn binary(checkout: &Path, which: &str) -> Result<PathBuf, String> {
    let output = Command::new(env!("CARGO"))
        .args("build --locked --release --message-format json-render-diagnostics".split(' '))
        .args(which.split(' '))
        .current_dir(checkout)
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
        // An incremental build is cut into more pieces, and takes up to a third more instructions.
        .env("CARGO_INCREMENTAL", "0")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("could not run cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("{} does not build", checkout.display()));
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let messages = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let path = |message: Value| message["executable"].as_str().map(PathBuf::from);
    messages.filter_map(path).next_back().ok_or_else(|| format!("cargo built nothing for {which}"))
}

/// The instructions of a step.
fn cost(built: &Built, case: &Case) -> Result<f64, String> {
    let [few, many] = case.lengths;
    let (few, many) = (count(&built.binary, case, few)?, count(&built.binary, case, many)?);
    Ok((many.instructions - few.instructions) / (many.steps - few.steps))
}

/// What one process did.
struct Counted {
    instructions: f64,
    steps: f64,
}

fn count(binary: &Path, case: &Case, executions: u64) -> Result<Counted, String> {
    let (did, instructions) = run(binary, [case.program, case.search, &executions.to_string()])?;
    let steps = steps(&did).ok_or_else(|| format!("no number of steps in `{did}`"))?;
    Ok(Counted { instructions, steps })
}

/// Runs a search under valgrind: what it printed, and its instructions.
pub(crate) fn run(binary: &Path, arguments: [&str; 3]) -> Result<(String, f64), String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(binary);
    command.args(arguments);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("RADDLE_") {
            command.env_remove(&name);
        }
    }
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("could not run valgrind: {error}"))?;
    let (did, said) = (text_of(&output.stdout), text_of(&output.stderr));
    let collected = collected(&said).filter(|_| output.status.success());
    let collected = collected.ok_or_else(|| format!("{command:?}: {did}{said}"))?;
    Ok((did, collected))
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Of what the search printed: `executions blocked steps why`.
fn steps(did: &str) -> Option<f64> {
    did.split(' ').nth(2)?.parse().ok()
}

/// Of what valgrind printed.
fn collected(said: &str) -> Option<f64> {
    let collected = said.lines().find_map(|line| line.split_once("Collected : "))?.1;
    collected.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_section_takes_the_place_of_the_one_before() {
        let section = text("0ld", "new", &[("a search".to_owned(), 400.44, 300.0)]);
        assert!(section.contains("| a search | 400.4 | 300.0 | 0.749 |"), "{section}");
        let page = replaced("# Page\n\n## Cost\nold\n", &section);
        assert_eq!(page, format!("# Page\n\n{section}"));
    }

    #[test]
    fn steps_and_instructions_are_read_from_what_is_printed() {
        assert_eq!(steps("200 0 1800 Executions\n"), Some(1_800.0));
        assert_eq!(collected("==1== Events : Ir\n==1== Collected : 42\n"), Some(42.0));
        assert_eq!(steps("one-search: no program\n"), None);
        assert_eq!(collected(""), None);
    }
}
