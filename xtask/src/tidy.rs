//! What no compiler checks: headers, unfinished work, strategies that hold others, which crate may know
//! which, and which module.

mod strategies;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{layers, size};

/// What a crate may depend on, in all: nothing else than these.
const ONLY: &[(&str, &[&str])] = &[
    ("raddle-trace", &["serde"]),
    ("raddle-knobs", &[]),
    ("raddle-engine", &["raddle-trace", "corosensei", "libc", "serde"]),
    // JSON is how a fork tells what has no fixed size.
    ("raddle-isolate", &["raddle-engine", "raddle-trace", "libc", "serde", "serde_json"]),
    ("raddle-search", &["raddle-engine", "raddle-knobs", "raddle-trace", "postcard", "serde"]),
    ("raddle-threads", &["raddle-engine", "raddle-trace"]),
    ("raddle-report", &["raddle-trace", "serde_json"]),
    (
        "raddle-fleet",
        &[
            "async-nats",
            "data-encoding",
            "futures-util",
            "nkeys",
            "postcard",
            "redb",
            "ring",
            "serde",
            "serde_json",
            "tokio",
        ],
    ),
    ("raddle-macros", &["proc-macro2", "quote", "raddle-knobs", "syn"]),
    (
        "cargo-raddle",
        &[
            "raddle-fleet",
            "raddle-knobs",
            "raddle-report",
            "raddle-trace",
            "clap",
            "clap_complete",
            "clap_mangen",
            "indicatif",
            "libc",
            "memchr",
            "quick-junit",
            "serde",
            "serde_json",
            "toml",
        ],
    ),
];

/// More crates than this are a burden on users who test with raddle.
const MOST_CRATES: usize = 28;

/// Directories without our sources.
const SKIPPED: [&str; 3] = ["target", ".git", "node_modules"];

/// Everything that is wrong, a line each.
///
/// # Errors
/// If the tree cannot be read, or cargo not be run.
pub fn check(root: &Path) -> Result<Vec<String>, String> {
    let mut complaints = sources(root)?;
    complaints.extend(dependencies(&metadata(root)?));
    complaints.extend(crates(root)?);
    complaints.extend(size::check(root)?);
    complaints.extend(layers::check(root)?);
    Ok(complaints)
}

/// What is wrong with source files.
///
/// # Errors
/// If one cannot be read.
pub fn sources(root: &Path) -> Result<Vec<String>, String> {
    let mut complaints = Vec::new();
    let mut files = BTreeSet::new();
    for path in rust_files(root)? {
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let name = path.strip_prefix(root).unwrap_or(&path);
        let complain = |(line, what): (usize, &str)| format!("{}:{line}: {what}", name.display());
        complaints.extend(source(&text, has_no_header(name)).into_iter().map(complain));
        let known = name.to_string_lossy().replace('\\', "/");
        if known != "xtask/src/tidy/strategies.rs" {
            complaints.extend(strategies::check(&known, &text));
        }
        files.insert(known);
    }
    complaints.extend(strategies::missing(&files));
    Ok(complaints)
}

/// Programs that must not compile, whose columns matter; and files that are included in others, where no
/// header can be.
fn has_no_header(path: &Path) -> bool {
    let inside = |directory: &str| path.parent().is_some_and(|parent| parent.ends_with(directory));
    inside("tests/ui") || inside("tests/moved")
}

/// What is wrong with one file, by line.
fn source(text: &str, headless: bool) -> Vec<(usize, &'static str)> {
    let mut complaints = Vec::new();
    if !headless && !text.starts_with("//!") {
        complaints.push((1, "a file begins with `//!` and says what it is"));
    }
    // Put together here, so that this file has neither of them.
    let (unfinished, skipped) = (concat!("TO", "DO"), concat!("#[ig", "nore"));
    for (index, line) in text.lines().enumerate() {
        let mut rest = line;
        while let Some(at) = rest.find(unfinished) {
            rest = &rest[at + unfinished.len()..];
            if !rest.starts_with("(#") {
                complaints.push((index + 1, "unfinished work names its issue: `(#n)`"));
            }
        }
        if line.trim_start().starts_with(skipped) {
            complaints.push((index + 1, "a test that is not run says nothing"));
        }
    }
    complaints
}

pub(crate) fn rust_files(root: &Path) -> Result<Vec<PathBuf>, String> {
    files_with(root, "rs")
}

/// The files below a directory that have this extension, sources of others apart.
pub(crate) fn files_with(root: &Path, wanted: &str) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        let entries =
            fs::read_dir(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
        for entry in entries {
            let path = entry.map_err(|error| error.to_string())?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if !SKIPPED.contains(&name.as_str()) {
                    directories.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == wanted) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Which crates depend on what they must not know.
#[must_use]
pub fn dependencies(metadata: &Value) -> Vec<String> {
    let mut complaints = Vec::new();
    let none = Vec::new();
    for package in metadata["packages"].as_array().unwrap_or(&none) {
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, allowed)) = ONLY.iter().find(|(known, _)| *known == name) else { continue };
        for dependency in package["dependencies"].as_array().unwrap_or(&none) {
            let on = dependency["name"].as_str().unwrap_or_default();
            // A kind is given for dev- and build-dependencies only.
            if dependency["kind"].is_null() && !allowed.contains(&on) {
                complaints.push(format!(
                    "{name} depends on {on}; it may depend on {} only",
                    allowed.join(", ")
                ));
            }
        }
    }
    complaints
}

/// Whether users compile too much.
fn crates(root: &Path) -> Result<Vec<String>, String> {
    let tree = "tree --locked -e normal --prefix none --no-dedupe -p raddle --features check";
    let tree = cargo(root, tree)?;
    let crates: BTreeSet<&str> = tree.lines().filter(|line| !line.is_empty()).collect();
    if crates.len() <= MOST_CRATES {
        return Ok(Vec::new());
    }
    let names: Vec<_> = crates.iter().filter_map(|line| line.split(' ').next()).collect();
    Ok(vec![format!(
        "raddle compiles {} crates, and at most {MOST_CRATES} are wanted: {}",
        crates.len(),
        names.join(", ")
    )])
}

/// What cargo knows of the workspace.
///
/// # Errors
/// If cargo cannot be run.
pub fn metadata(root: &Path) -> Result<Value, String> {
    let text = cargo(root, "metadata --format-version 1 --no-deps")?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

fn cargo(root: &Path, arguments: &str) -> Result<String, String> {
    let output = Command::new(env!("CARGO"))
        .args(arguments.split(' '))
        .current_dir(root)
        .output()
        .map_err(|error| format!("could not run cargo: {error}"))?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    if output.status.success() {
        Ok(text(output.stdout))
    } else {
        Err(format!("cargo {arguments} failed: {}", text(output.stderr)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_file_is_found() {
        assert_eq!(source("//! Fine.\n", false), []);
        assert_eq!(source("fn main() {}\n", true), []);
        let wrong =
            concat!("fn f() {}\n// TO", "DO: later\n// TO", "DO(#7): later\n  #[ig", "nore]");
        let lines: Vec<_> = source(wrong, false).into_iter().map(|(line, _)| line).collect();
        assert_eq!(lines, [1, 2, 4]);
    }

    #[test]
    fn a_wrong_dependency_is_found() {
        let metadata = serde_json::json!({"packages": [{
            "name": "raddle-report",
            "dependencies": [
                {"name": "raddle-engine", "kind": null},
                {"name": "insta", "kind": "dev"},
            ],
        }]});
        assert_eq!(
            dependencies(&metadata),
            ["raddle-report depends on raddle-engine; it may depend on raddle-trace, serde_json \
              only"]
        );
    }
}
