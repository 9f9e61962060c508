//! The book and the other pages: links lead somewhere, and what is printed is what is printed.

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn links_and_includes_of_all_pages_lead_somewhere() {
    let complaints = xtask::links::check(&xtask::root()).expect("the pages can be read");
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn the_first_chapter_shows_what_its_test_prints() {
    let root = xtask::root();
    let build = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("cargo's own");
    let mut command = Command::new(env!("CARGO"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("RADDLE_") {
            command.env_remove(name);
        }
    }
    let output = command
        // Of the whole workspace, though one package has it: with the features of all of them, nothing is built again.
        .args(["test", "--locked", "--workspace", "--exclude", "xtask", "--lib"])
        .arg("tests::both_visitors_are_counted")
        .current_dir(&root)
        .env("CARGO_TARGET_DIR", build)
        .env("RUST_BACKTRACE", "0")
        // However busy the machine is, the failure is made as small as on an idle one.
        .env("RADDLE_MINIMISE", "10m")
        .output()
        .expect("cargo can be run");
    let said = String::from_utf8_lossy(&output.stdout);
    let page = fs::read_to_string(root.join("book/src/first-test.md")).expect("there is one");
    let (shown, printed) = (report(&page), report(&said));
    let printed = printed.unwrap_or_else(|| {
        panic!("it does not fail:\n{said}\n{}", String::from_utf8_lossy(&output.stderr))
    });
    assert_eq!(shown.expect("the page has a report"), printed);
}

/// A report word by word: its places are as in a package of its own, and no time or token of a build is in it.
fn report(text: &str) -> Option<Vec<String>> {
    let (_, rest) = text.split_once("FAILED tests::both_visitors_are_counted")?;
    let (rest, _) = rest.split_once("the whole trace:")?;
    let is_line = |word: &str| word.chars().all(|c| "─┼│".contains(c));
    let place = |word: &str| match word.split_once("src/lib.rs") {
        Some((_, line)) => format!("src/lib.rs{line}"),
        None => word.to_owned(),
    };
    let rest = rest.split_whitespace().collect::<Vec<_>>().join(" ");
    let (before, time) = rest.split_once(" decisions in ")?;
    let (_, after) = time.split_once(';')?;
    let words = before.split(' ').chain(after.split(' '));
    Some(words.filter(|word| !is_line(word)).map(place).collect())
}
