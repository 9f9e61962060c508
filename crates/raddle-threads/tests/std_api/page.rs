//! `book/src/std-api.md` against the file that is compiled: both name the same items.

use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../../book/src/std-api.md");
const ASKED: &str = include_str!("same.rs");

/// Paths in the compiled file that are not asked for, but used to ask.
const HELPERS: [&str; 13] = [
    "Arc", "Cell", "Pointer", "RefCell", "Sub", "Weak", "clippy", "fmt", "lib", "ptr", "std",
    "super", "sync",
];

/// What a row is called, and what stands in its place in the compiled file.
const GROUPS: [(&str, &str); 2] = [("every atomic", "A"), ("integers", "$atomic")];

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

fn last_name(text: &str) -> &str {
    text.rsplit(|c| !is_part(c)).next().unwrap_or_default()
}

fn first_name(text: &str) -> &str {
    text.split(|c| !is_part(c)).next().unwrap_or_default()
}

/// The text before arguments of types that it ends with: `LocalKey` of `LocalKey::<Cell<T>>`.
fn without_arguments(text: &str) -> &str {
    let mut open = 0;
    for (at, c) in text.char_indices().rev() {
        match c {
            '>' => open += 1,
            '<' => open -= 1,
            _ => {}
        }
        if open == 0 {
            let rest = if c == '<' { &text[..at] } else { text };
            return rest.strip_suffix("::").unwrap_or(rest);
        }
    }
    text
}

/// Every `Owner::item` with an item in lower case: methods and functions.
fn asked() -> BTreeSet<(String, String)> {
    let (signatures, _) = ASKED.split_once("// ---- what runs").expect("the mark is there");
    let code: Vec<&str> =
        signatures.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let mut found = BTreeSet::new();
    for (at, mark) in code.match_indices("::") {
        let owner = last_name(without_arguments(&code[..at]));
        let item = first_name(&code[at + mark.len()..]);
        let is_method = item.starts_with(|c: char| c.is_lowercase());
        if is_method && !owner.is_empty() && !HELPERS.contains(&owner) {
            found.insert((owner.to_owned(), item.to_owned()));
        }
    }
    found
}

/// What stands in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The items in the column "same", under the first name of their row.
fn listed() -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for line in PAGE.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, row, same, _, _, _] = cells[..] else { continue };
        let group = GROUPS.iter().find(|(name, _)| row.starts_with(name)).map(|(_, owner)| *owner);
        let Some(owner) = group.or_else(|| quoted(row).next()) else { continue };
        let items = quoted(same).filter(|item| item.chars().all(|c| c.is_lowercase() || c == '_'));
        found.extend(items.map(|item| (owner.to_owned(), item.to_owned())));
    }
    found
}

#[test]
fn the_page_lists_what_the_compiler_checked() {
    let (asked, listed) = (asked(), listed());
    assert_eq!(asked.difference(&listed).collect::<Vec<_>>(), Vec::<&(String, String)>::new());
    assert_eq!(listed.difference(&asked).collect::<Vec<_>>(), Vec::<&(String, String)>::new());
    assert!(asked.len() > 100);
}
