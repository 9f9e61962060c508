//! The lists of places in `docs/ARCHITECTURE.md` are true: they name files that are there, and for the example of each
//! row all files that name it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

fn page() -> String {
    fs::read_to_string(xtask::root().join("docs/ARCHITECTURE.md")).expect("there is one")
}

/// The part of the page that says what to touch.
fn to_add(page: &str) -> &str {
    let (_, rest) = page.split_once("\n## To add something\n").expect("the page has it");
    rest.split("\n## ").next().unwrap_or(rest)
}

/// What stands between backquotes.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

fn cells(row: &str) -> Vec<&str> {
    row.trim_matches('|').split(" | ").map(str::trim).collect()
}

fn is_path(word: &str) -> bool {
    word.contains('/') && !word.contains(' ')
}

#[test]
fn every_place_is_there() {
    let root = xtask::root();
    let page = page();
    let gone: Vec<&str> = quoted(to_add(&page))
        .into_iter()
        .filter(|word| is_path(word))
        .filter(|word| !root.join("crates").join(word).exists() && !root.join(word).exists())
        .collect();
    assert!(gone.is_empty(), "named in ARCHITECTURE.md and not there: {gone:?}");
}

#[test]
fn the_places_of_each_example_are_those_of_its_row() {
    let page = page();
    let rows = to_add(&page).lines().filter(|line| line.starts_with("| a"));
    let mut seen = 0;
    for row in rows {
        let [_, places, example] = cells(row)[..] else { continue };
        let names = quoted(example);
        let listed: BTreeSet<String> = quoted(places)
            .into_iter()
            .filter(|word| is_path(word))
            .map(|path| format!("crates/{path}"))
            .collect();
        assert_eq!(listed, sources_with(&names), "the places of its row, and where {example} is");
        seen += 1;
    }
    assert_eq!(seen, 7, "rows with an example");
}

/// The rows of the walk with the crates that they go through.
const WALKED: [(&str, &[&str]); 6] = [
    ("| `raddle` | `harness::test`", &["raddle"]),
    ("| `raddle-search` |", &["raddle-search"]),
    ("| `raddle-engine` |", &["raddle-engine", "raddle-search"]),
    ("| an op of the test |", &["raddle-engine", "raddle-search"]),
    ("| its end |", &["raddle-engine", "raddle-search"]),
    ("| `raddle` | `conclusion::conclude`", &["raddle"]),
];

#[test]
fn the_functions_of_the_walk_are_there_and_as_many_as_are_said() {
    let (root, page) = (xtask::root(), page());
    let (_, walk) = page.split_once("\n## The walk of one execution\n").expect("the page has it");
    let mut n = 0;
    for (begins, crates) in WALKED {
        let row = walk.lines().find(|line| line.starts_with(begins)).expect(begins);
        let (_, walked) = row[1..].split_once(" | ").expect(begins);
        // What stands in brackets is called besides, or only sometimes.
        let besides: String =
            walked.split('(').skip(1).filter_map(|part| part.split(')').next()).collect();
        for function in quoted(walked) {
            let name = function.rsplit("::").next().unwrap_or(function);
            let wanted = [format!("fn {name}("), format!("fn {name}<")];
            let has = |file: &std::path::PathBuf| {
                let text = fs::read_to_string(file).unwrap_or_default();
                wanted.iter().any(|wanted| text.contains(wanted))
            };
            let there = crates.iter().any(|name| {
                let files = Command::new("git")
                    .args(["ls-files", &format!("crates/{name}/src")])
                    .current_dir(&root)
                    .output()
                    .expect("git can be run");
                let files = String::from_utf8(files.stdout).expect("names of ours");
                files.lines().any(|file| has(&root.join(file)))
            });
            assert!(there, "{function} of the row `{begins}` is in none of {crates:?}");
            n += usize::from(!besides.contains(&format!("`{function}`")));
        }
    }
    assert!(page.contains(&format!("These are {n} functions")), "the walk has {n} functions");
}

/// The sources, without tests and comments, that have one of these names.
fn sources_with(names: &[&str]) -> BTreeSet<String> {
    let root = xtask::root();
    let files = Command::new("git").args(["ls-files", "crates"]).current_dir(&root).output();
    let files = String::from_utf8(files.expect("git can be run").stdout).expect("names of ours");
    let is_source = |file: &&str| {
        Path::new(file).extension().is_some_and(|extension| extension == "rs")
            && file.contains("/src/")
            && !file.ends_with("tests.rs")
            && !file.contains("raddle-testing")
    };
    files
        .lines()
        .filter(is_source)
        .filter(|file| has_one(&root.join(file), names))
        .map(str::to_owned)
        .collect()
}

fn has_one(file: &Path, names: &[&str]) -> bool {
    let Ok(text) = fs::read_to_string(file) else { return false };
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(&text);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .any(|line| line.split(|c| !is_word(c)).any(|word| names.contains(&word)))
}

/// Words that need no entry are better.
#[test]
fn the_glossary_is_short_and_has_each_word_once() {
    let text = fs::read_to_string(xtask::root().join("docs/GLOSSARY.md")).expect("there is one");
    let words: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("| **"))
        .flat_map(|line| line.split("**").skip(1).step_by(2))
        .map(str::trim)
        .collect();
    let entries = text.lines().filter(|line| line.starts_with("| **")).count();
    assert!(entries <= 50, "{entries} entries, and at most 50 are wanted");
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    for (at, word) in lower.iter().enumerate() {
        assert!(!lower[..at].contains(word), "`{word}` is explained twice");
    }
}
