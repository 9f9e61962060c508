//! `cargo xtask size`: how much code there is, and what has grown too large to read.
//!
//! Lines of code are lines outside tests that are neither blank nor comments. A file is read as text: strings,
//! characters and comments are blanked out, then braces are counted.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::tidy;

/// What one file has outside its tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FileSize {
    /// Lines that are neither blank nor comments.
    pub code: usize,
    /// Lines that are a comment and no documentation: those that say why.
    pub comments: usize,
    /// Every struct with named fields, and how many it has.
    pub structs: Vec<(String, usize)>,
    /// Every function, and how many lines it has from `fn` to its closing brace.
    pub functions: Vec<(String, usize)>,
}

/// The most fields of a struct, and lines of a function, in crates whose code is held to that.
pub const MOST_FIELDS: usize = 20;
/// See [`MOST_FIELDS`].
pub const MOST_LINES: usize = 80;

/// Crates whose structs and functions must not grow beyond [`MOST_FIELDS`] and [`MOST_LINES`].
pub const HELD: [&str; 2] = ["raddle-engine", "raddle-search"];

/// Where the hardest arguments are: these files are to say why, in [`LEAST_COMMENTS`] lines for each line of code.
pub const EXPLAINED: [&str; 11] = [
    "raddle-engine/src/fair.rs",
    "raddle-engine/src/happens.rs",
    "raddle-engine/src/happens/",
    "raddle-search/src/cache.rs",
    "raddle-search/src/expansion/reduced.rs",
    "raddle-search/src/expansion/reduced/",
    "raddle-search/src/races.rs",
    "raddle-search/src/sleep.rs",
    "raddle-search/src/tree.rs",
    "raddle-search/src/tree/",
    "raddle-search/src/wakeup.rs",
];
/// See [`EXPLAINED`].
pub const LEAST_COMMENTS: f64 = 0.06;

/// Comments for each line of code in the files that are to say why, those with the fewest first.
///
/// # Errors
/// If a source file cannot be read.
pub fn comments(root: &Path) -> Result<String, String> {
    let crates = root.join("crates");
    let mut found: Vec<(f64, String)> = Vec::new();
    for name in HELD {
        for (path, size) in files(&crates.join(name).join("src"))? {
            let short = path.strip_prefix(&format!("{}/", crates.display())).unwrap_or(&path);
            if EXPLAINED.iter().any(|one| short.starts_with(one)) && size.code > 0 {
                #[expect(clippy::cast_precision_loss, reason = "lines of a file")]
                let share = size.comments as f64 / size.code as f64;
                found.push((share, short.to_owned()));
            }
        }
    }
    found.sort_by(|one, other| one.0.total_cmp(&other.0).then_with(|| one.1.cmp(&other.1)));
    let mut table = String::from("| file | comments for each line of code |\n|---|---:|\n");
    for (share, file) in found {
        let few = if share < LEAST_COMMENTS { " (few)" } else { "" };
        let _ = writeln!(table, "| {file} | {share:.3}{few} |");
    }
    Ok(table)
}

/// What is too large, a line each.
///
/// # Errors
/// If a source file cannot be read.
pub fn check(root: &Path) -> Result<Vec<String>, String> {
    let mut complaints = Vec::new();
    for name in HELD {
        for (path, size) in files(&root.join("crates").join(name).join("src"))? {
            for (name, fields) in size.structs.iter().filter(|(_, fields)| *fields > MOST_FIELDS) {
                complaints
                    .push(format!("{path}: `{name}` has {fields} fields, more than {MOST_FIELDS}"));
            }
            for (name, lines) in size.functions.iter().filter(|(_, lines)| *lines > MOST_LINES) {
                complaints
                    .push(format!("{path}: `{name}` has {lines} lines, more than {MOST_LINES}"));
            }
        }
    }
    Ok(complaints)
}

/// Lines of code by crate, and the largest structs and functions of each, as a table.
///
/// # Errors
/// If a source file cannot be read.
pub fn table(root: &Path) -> Result<String, String> {
    let mut table = String::from(
        "| crate | lines of code | largest struct (fields) | longest function (lines) |\n|---|---:|---|---|\n",
    );
    let crates = root.join("crates");
    let entries =
        fs::read_dir(&crates).map_err(|error| format!("{}: {error}", crates.display()))?;
    let mut names: Vec<_> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let mut total = 0;
    for name in names {
        let mut all = FileSize::default();
        for (_, size) in files(&crates.join(&name).join("src"))? {
            all.code += size.code;
            all.structs.extend(size.structs);
            all.functions.extend(size.functions);
        }
        let largest = |all: &[(String, usize)]| {
            let found = all.iter().max_by_key(|(_, size)| *size);
            found.map_or_else(String::new, |(name, size)| format!("`{name}` ({size})"))
        };
        total += all.code;
        let (structs, functions) = (largest(&all.structs), largest(&all.functions));
        let _ = writeln!(table, "| {name} | {} | {structs} | {functions} |", all.code);
    }
    let _ = writeln!(table, "| all | {total} | | |");
    Ok(table)
}

/// The sources below a directory that are no tests, by their paths from there.
fn files(source: &Path) -> Result<Vec<(String, FileSize)>, String> {
    let mut found = Vec::new();
    for path in tidy::rust_files(source)? {
        let short = path.strip_prefix(source).unwrap_or(&path).display().to_string();
        let is_test = short.ends_with("tests.rs") || short.split('/').any(|part| part == "tests");
        if !is_test {
            let text = fs::read_to_string(&path).map_err(|error| format!("{short}: {error}"))?;
            found.push((path.display().to_string(), size(&text)));
        }
    }
    Ok(found)
}

/// Measures one file.
#[must_use]
pub fn size(text: &str) -> FileSize {
    let written: Vec<&str> = text.lines().collect();
    let text = blank(text);
    let lines: Vec<&str> = text.lines().collect();
    let mut size = FileSize::default();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at].trim();
        let next = lines.get(at + 1).map_or("", |next| next.trim());
        if line == "#[cfg(test)]" && next.starts_with("mod ") {
            at = if next.ends_with(';') { at + 2 } else { end_of_block(&lines, at + 1) + 1 };
            continue;
        }
        size.code += usize::from(!line.is_empty());
        size.comments += usize::from(written.get(at).is_some_and(|line| is_comment(line)));
        if let Some(name) = word_after(line, "struct ").filter(|_| line.ends_with('{')) {
            size.structs.push((name, fields(&lines, at)));
        }
        if let Some(name) = word_after(line, "fn ") {
            let end = end_of_block(&lines, at);
            size.functions.push((name, end + 1 - at));
        }
        at += 1;
    }
    size
}

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("//") && !line.starts_with("///") && !line.starts_with("//!")
}

/// The name after a keyword that begins an item on this line.
fn word_after(line: &str, keyword: &str) -> Option<String> {
    let at = line.find(keyword)?;
    let before = &line[..at];
    let item = before.is_empty()
        || before.ends_with(' ') && !before.contains(['(', '=', ':', '|'])
        || before.starts_with("pub(") && before.ends_with(' ') && before.matches('(').count() == 1;
    let name: String = line[at + keyword.len()..]
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    (item && !name.is_empty()).then_some(name)
}

/// The last line of the block that begins on or after a line; the line itself if it declares none.
fn end_of_block(lines: &[&str], from: usize) -> usize {
    let (mut depth, mut brackets) = (0_i32, 0_i32);
    for (at, line) in lines.iter().enumerate().skip(from) {
        for character in line.chars() {
            match character {
                '{' => depth += 1,
                '}' => depth -= 1,
                '(' | '[' => brackets += 1,
                ')' | ']' => brackets -= 1,
                ';' if depth == 0 && brackets == 0 => return at,
                _ => {}
            }
            if character == '}' && depth == 0 {
                return at;
            }
        }
    }
    lines.len().saturating_sub(1)
}

/// The named fields of a struct that begins on this line.
fn fields(lines: &[&str], from: usize) -> usize {
    let end = end_of_block(lines, from);
    let body = lines.get(from + 1..end).unwrap_or_default();
    let is_field = |line: &&&str| {
        let line = line.trim().trim_start_matches("pub ");
        let line = if line.starts_with("pub(") {
            line.split_once(") ").map_or("", |(_, rest)| rest)
        } else {
            line
        };
        let name = line.split(':').next().unwrap_or_default();
        line.contains(": ")
            && !name.is_empty()
            && name.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    body.iter().filter(is_field).count()
}

/// The text with comments, strings and characters blanked out, line by line.
fn blank(text: &str) -> String {
    let mut blanked = String::with_capacity(text.len());
    let characters: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < characters.len() {
        let (here, next) = (characters[at], characters.get(at + 1).copied().unwrap_or('\0'));
        let until = match (here, next) {
            ('/', '/') => line_end(&characters, at),
            ('/', '*') => find(&characters, at + 2, &['*', '/']) + 2,
            ('r', '"' | '#') if raw_end(&characters, at).is_some() => {
                raw_end(&characters, at).unwrap_or(at + 1)
            }
            ('"', _) => string_end(&characters, at),
            ('\'', '\\') => find(&characters, at + 3, &['\'']) + 1,
            ('\'', _) if characters.get(at + 2) == Some(&'\'') => at + 3,
            _ => {
                blanked.push(here);
                at += 1;
                continue;
            }
        };
        let until = until.min(characters.len());
        blanked.extend(characters[at..until].iter().filter(|c| **c == '\n'));
        if here == '"' || here == 'r' {
            blanked.push('_');
        }
        at = until;
    }
    blanked
}

fn line_end(characters: &[char], from: usize) -> usize {
    find(characters, from, &['\n'])
}

fn find(characters: &[char], from: usize, what: &[char]) -> usize {
    (from..characters.len())
        .find(|&at| characters[at..].starts_with(what))
        .unwrap_or(characters.len())
}

fn string_end(characters: &[char], from: usize) -> usize {
    let mut at = from + 1;
    while at < characters.len() && characters[at] != '"' {
        at += if characters[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// The end of a raw string that begins here, if one does.
fn raw_end(characters: &[char], from: usize) -> Option<usize> {
    let hashes = characters[from + 1..].iter().take_while(|c| **c == '#').count();
    if characters.get(from + 1 + hashes) != Some(&'"')
        || from > 0 && characters[from - 1].is_alphanumeric()
    {
        return None;
    }
    let mut end = vec!['"'];
    end.extend(std::iter::repeat_n('#', hashes));
    Some(find(characters, from + 2 + hashes, &end) + 1 + hashes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_outside_tests_is_counted() {
        let text = "//! Head.\n\nstruct Two {\n    /// One: a.\n    a: u32,\n    pub(crate) b: [u8; 2],\n}\n\nfn f() \
                    {\n    let brace = \"}\";\n    let c = '{';\n}\n\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\n";
        let size = size(text);
        assert_eq!(size.code, 8);
        assert_eq!(size.structs, [("Two".to_owned(), 2)]);
        assert_eq!(size.functions, [("f".to_owned(), 4)]);
    }

    #[test]
    fn a_declaration_without_a_body_is_one_line() {
        let size = size(
            "trait T {\n    fn f(&self);\n    fn g(&self) -> [u8; 2] {\n        [0; 2]\n    }\n}\n",
        );
        assert_eq!(size.functions, [("f".to_owned(), 1), ("g".to_owned(), 3)]);
    }
}
