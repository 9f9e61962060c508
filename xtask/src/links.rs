//! Pages for people: their links lead somewhere, and what the book includes is there.
//!
//! Only what is in this repository is looked at: an address of another host is not asked for.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::tidy::files_with;

/// Where the book's pages are. Its links must stay there, because it is built without the rest.
const BOOK: &str = "book/src";

/// What runs write down: they name pages that they would have made.
const LOGS: [&str; 1] = ["docs/results/nightly.md"];

/// Everything that is wrong with the pages of the repository, a line each.
///
/// # Errors
/// If a page cannot be read.
pub fn check(root: &Path) -> Result<Vec<String>, String> {
    let mut complaints = Vec::new();
    for path in files_with(root, "md")? {
        let text = read(&path)?;
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        if LOGS.contains(&name.as_str()) {
            continue;
        }
        let complain = |what: String| format!("{name}: {what}");
        complaints.extend(links(root, &path, &text)?.into_iter().map(complain));
        complaints.extend(includes(&path, &text)?.into_iter().map(complain));
    }
    complaints.extend(contents(root)?);
    Ok(complaints)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Links of a page that lead nowhere.
fn links(root: &Path, page: &Path, text: &str) -> Result<Vec<String>, String> {
    let here = page.parent().unwrap_or(root);
    let in_book = page.starts_with(root.join(BOOK));
    let mut complaints = Vec::new();
    for target in targets(text) {
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
        let to = if file.is_empty() { page.to_owned() } else { here.join(file) };
        if !to.exists() {
            complaints.push(format!("the link to {target} leads nowhere"));
        } else if in_book && !normal(&to).starts_with(root.join(BOOK)) {
            complaints.push(format!("{target} is not in the book, which is built without it"));
        } else if !anchor.is_empty() && to.extension().is_some_and(|it| it == "md") {
            let text = if file.is_empty() { text.to_owned() } else { read(&to)? };
            if !headings(&text).contains(anchor) {
                complaints.push(format!("{target} is no heading of that page"));
            }
        }
    }
    Ok(complaints)
}

/// A path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        if part.as_os_str() == ".." {
            normal.pop();
        } else {
            normal.push(part);
        }
    }
    normal
}

/// What the links of a page lead to. Code is no link.
fn targets(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in prose(text) {
        let mut rest = line;
        while let Some(at) = rest.find("](") {
            let is_code = rest[..at].matches('`').count() % 2 == 1;
            rest = &rest[at + 2..];
            if let (Some(end), false) = (rest.find(')'), is_code) {
                found.push(rest[..end].split(' ').next().unwrap_or_default());
            }
        }
    }
    found
}

/// The lines of a page that are not in a block of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !in_code && !fence
    })
}

/// The anchors of a page's headings, as renderers make them.
fn headings(text: &str) -> BTreeSet<String> {
    let anchor = |line: &str| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    prose(text).filter(|line| line.starts_with('#')).map(anchor).collect()
}

/// Files, or parts of files, that a page of the book includes and that are not there.
fn includes(page: &Path, text: &str) -> Result<Vec<String>, String> {
    let mut complaints = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("{{#include ") {
        rest = &rest[at + "{{#include ".len()..];
        let Some(end) = rest.find("}}") else {
            complaints.push("an include does not end".to_owned());
            break;
        };
        let (file, anchor) = rest[..end].split_once(':').unwrap_or((&rest[..end], ""));
        let path = page.parent().unwrap_or(page).join(file);
        if !path.exists() {
            complaints.push(format!("{file}, which it includes, is not there"));
        } else if !anchor.is_empty() {
            let text = read(&path)?;
            let is_marked = |mark: &str| {
                text.lines().any(|line| line.trim().ends_with(&format!("// {mark}: {anchor}")))
            };
            if !is_marked("ANCHOR") || !is_marked("ANCHOR_END") {
                complaints.push(format!("{file} has no part {anchor}"));
            }
        }
    }
    Ok(complaints)
}

/// Pages that are not in the table of contents, or twice.
fn contents(root: &Path) -> Result<Vec<String>, String> {
    let book = root.join(BOOK);
    let summary = read(&book.join("SUMMARY.md"))?;
    let listed = targets(&summary);
    let mut complaints = Vec::new();
    for path in files_with(&book, "md")? {
        let name = path.strip_prefix(&book).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        let times = listed.iter().filter(|listed| **listed == name).count();
        if name != "SUMMARY.md" && times != 1 {
            complaints.push(format!("{BOOK}/{name} is in SUMMARY.md {times} times, not once"));
        }
    }
    Ok(complaints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_in_prose_and_not_in_code() {
        let text = "[a](b.md#c) and `[x](y)` and\n```\n[d](e)\n```\n[f](g.md \"title\") [h](i)";
        assert_eq!(targets(text), ["b.md#c", "g.md", "i"]);
    }

    #[test]
    fn headings_have_the_anchors_of_renderers() {
        let text = "# `cargo raddle`: commands\n```\n# no heading\n```\n## Exit codes\n";
        let expected = ["cargo-raddle-commands", "exit-codes"].map(str::to_owned);
        assert_eq!(headings(text), BTreeSet::from(expected));
    }

    #[test]
    fn a_path_goes_up_and_down() {
        assert_eq!(normal(Path::new("/a/b/../c/./d")), Path::new("/a/c/d"));
    }
}
