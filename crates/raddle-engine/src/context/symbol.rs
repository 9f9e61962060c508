//! The names of the functions on the stack, as a person writes them.
//!
//! std can name functions but does not hand the names out: it writes a backtrace as text, which is read here.
//! In its long form each line has the address, so what was found can be kept by address and is asked for
//! once. Where the text is not as expected nothing has a name, and contexts are scopes alone.
//!
//! # Why: Names of functions come from the text of std's backtraces
//! Names of functions come from the text of std's backtraces (`context/symbol.rs`), whose form is not promised; a test
//! fails where it changes, and contexts are then scopes alone. The `backtrace` crate hands names out, but users' tests
//! would compile 7 more crates, past the limit that tidy sets, which takes 15 s of CPU time on top of 79 s; and it
//! would be compiled without optimisations, as tests are, where std's own copy of it has them: to name the functions of
//! a first stack took 0.57 s of CPU time instead of 0.06 s, in a binary of 11 MB. A feature cannot leave it to those
//! who ask for contexts: which strategy runs is known only when the test runs.

use std::backtrace::Backtrace;
use std::collections::BTreeMap;

use raddle_trace::{Call, Site};

use crate::at_fork;

/// Crates whose functions are not the program's.
const CRATES: [&str; 11] = [
    "raddle",
    "raddle_engine",
    "raddle_threads",
    "raddle_actors",
    "raddle_search",
    "corosensei",
    "std",
    "core",
    "alloc",
    "test",
    "__rustc",
];

/// The directories of those that are not std's, as they are in a path: with a version perhaps.
const PACKAGES: [&str; 6] =
    ["raddle", "raddle-engine", "raddle-threads", "raddle-actors", "raddle-search", "corosensei"];

/// What `#[raddle::test]` calls the function that it puts the body of a test into.
const TEST_BODY: &str = "raddle_test_body";

/// A line of a backtrace: a function, or one that was inlined there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line<'a> {
    address: usize,
    symbol: &'a str,
    file: Option<&'a str>,
    /// The line and the column in it; 0 if they are not known.
    position: (u32, u32),
}

/// The text of a backtrace. std locks while it names the functions.
fn backtrace() -> String {
    let _inside = at_fork::enter();
    format!("{:#}", Backtrace::force_capture())
}

/// The names at the addresses of the calling stack, of each the innermost first. None where a function is
/// left out.
pub(super) fn resolve() -> BTreeMap<usize, Vec<String>> {
    let text = backtrace();
    let mut found = BTreeMap::<usize, Vec<String>>::new();
    let lines = lines(&text);
    for (nth, line) in lines.iter().enumerate() {
        found.entry(line.address).or_default().extend(name_of(&lines, nth));
    }
    found
}

/// The addresses of the calling stack that are in the function which drops the value of a `std::sync::Arc`: one for
/// each call of it.
pub(super) fn last_drops() -> Vec<usize> {
    let text = backtrace();
    let is = |line: &Line<'_>| is_last_drop(line.symbol, line.file);
    lines(&text).into_iter().filter(is).map(|line| line.address).collect()
}

/// The same with the places of the calls.
pub(super) fn calls() -> BTreeMap<usize, Vec<Call>> {
    let text = backtrace();
    let mut found = BTreeMap::<usize, Vec<Call>>::new();
    let lines = lines(&text);
    for (nth, line) in lines.iter().enumerate() {
        found.entry(line.address).or_default().extend(call(&lines, nth));
    }
    found
}

/// The functions of the program on the calling stack, the innermost first.
pub(super) fn stack() -> Vec<Call> {
    let text = backtrace();
    let lines = lines(&text);
    (0..lines.len()).filter_map(|nth| call(&lines, nth)).collect()
}

/// How the function of a line is called, if it is the program's.
fn name_of(lines: &[Line<'_>], nth: usize) -> Option<String> {
    let line = lines[nth];
    // Line tables alone do not say of which test it is the body: its caller does.
    let is_body = line.symbol.split(['<', ':']).next() == Some(TEST_BODY);
    let of = if is_body { &lines[nth + 1..] } else { &lines[nth..=nth] };
    of.iter().find_map(|line| name(line.symbol, line.file))
}

/// A call of a function of the program.
fn call(lines: &[Line<'_>], nth: usize) -> Option<Call> {
    let function = name_of(lines, nth)?;
    let line = lines[nth];
    let (number, column) = line.position;
    let site = line.file.map(|file| Site { file: file.to_owned(), line: number, column });
    Some(Call { function, site: site.unwrap_or_default() })
}

/// Whether this is `Arc::drop_slow` of std.
fn is_last_drop(symbol: &str, file: Option<&str>) -> bool {
    let path = match symbol.strip_prefix('<') {
        Some(rest) => of_type(rest).map_or_else(String::new, |(path, _)| path),
        None => plain(symbol),
    };
    // Line tables alone: no path, and one must go by the file.
    let by_file = || {
        let is_file = |file: &str| file.replace('\\', "/").ends_with("library/alloc/src/sync.rs");
        path == "drop_slow" && file.is_some_and(is_file)
    };
    path == "alloc::sync::Arc::drop_slow" || by_file()
}

/// Reads `12:     0x55d0f3a1 - name` and the `at file:line:column` that may follow.
fn lines(text: &str) -> Vec<Line<'_>> {
    let mut found: Vec<Line<'_>> = Vec::new();
    for line in text.lines().map(str::trim_start) {
        if let (Some(at), Some(last)) = (line.strip_prefix("at "), found.last_mut()) {
            let (file, position) = place_of(at);
            (last.file, last.position) = (Some(file), position);
            continue;
        }
        let numbered = line.split_once(": ").filter(|(n, _)| n.bytes().all(|b| b.is_ascii_digit()));
        let Some((address, symbol)) = numbered.and_then(|(_, rest)| rest.split_once(" - ")) else {
            continue;
        };
        let address = address.trim_start().strip_prefix("0x");
        if let Some(Ok(address)) = address.map(|digits| usize::from_str_radix(digits, 16)) {
            found.push(Line { address, symbol, file: None, position: (0, 0) });
        }
    }
    found
}

/// A file with the line and the column that follow it.
fn place_of(place: &str) -> (&str, (u32, u32)) {
    let mut file = place;
    let mut numbers = Vec::new();
    while let Some((rest, last)) = file.rsplit_once(':')
        && let Ok(number) = last.parse::<u32>()
    {
        numbers.push(number);
        file = rest;
    }
    let (line, column) = match numbers[..] {
        [line] => (line, 0),
        [column, line, ..] => (line, column),
        [] => (0, 0),
    };
    (file, (line, column))
}

/// How a function is called, if it is the program's.
fn name(symbol: &str, file: Option<&str>) -> Option<String> {
    let (path, ours) = if let Some(rest) = symbol.strip_prefix('<') {
        of_type(rest)?
    } else {
        let path = plain(symbol);
        let ours = crate_of(&path).is_some_and(is_program);
        (path, ours)
    };
    if path.contains("::") {
        return ours.then_some(path);
    }
    // Line tables alone: no path, and one must go by the file.
    let file = file.filter(|file| is_program_file(file))?;
    let stem = file.rsplit(['/', '\\']).next()?.strip_suffix(".rs")?;
    let path = if path.is_empty() { "{closure}" } else { &path };
    Some(format!("{stem}::{path}"))
}

/// Of `Type as Trait>::method` the type and the method, and whether one of the two is the program's: an
/// implementation belongs to the crate of the type or to that of the trait.
fn of_type(rest: &str) -> Option<(String, bool)> {
    let end = closing(rest)?;
    let (inside, after) = (&rest[..end], &rest[end + 1..]);
    let (of, implements) = split_as(inside);
    let bare = |mut text: &str| {
        let marks = ["&", "*", "[", "(", "mut ", "const ", "dyn "];
        while let Some(rest) = marks.iter().find_map(|mark| text.strip_prefix(mark)) {
            text = rest;
        }
        plain(text)
    };
    let (of, implements) = (bare(of), implements.map(bare));
    let local = |path: &str| crate_of(path).is_some_and(is_program);
    let ours = local(&of) || implements.as_deref().is_some_and(local);
    let method = plain(after);
    let method = method.trim_start_matches("::");
    // A parameter or a primitive says less than the trait.
    let owner = if of.contains("::") { of } else { implements.unwrap_or(of) };
    Some(if method.is_empty() { (owner, ours) } else { (format!("{owner}::{method}"), ours) })
}

/// Where the `>` is that closes a `<` before the text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1_u32;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if before != '-' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
        before = c;
    }
    None
}

/// Splits `Type as Trait`, whatever is in their brackets.
fn split_as(text: &str) -> (&str, Option<&str>) {
    let mut depth = 0_u32;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '>' if before != '-' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 && text[at..].starts_with(" as ") => {
                return (&text[..at], Some(&text[at + 4..]));
            }
            _ => {}
        }
        before = c;
    }
    (text, None)
}

/// A path without generic arguments, numbers of crates, closures, shims and hashes.
fn plain(symbol: &str) -> String {
    let mut kept = String::with_capacity(symbol.len());
    let mut depth = 0_u32;
    let mut before = ' ';
    for c in symbol.chars() {
        match c {
            '<' | '[' | '{' | '(' => depth += 1,
            '>' if before == '-' => {}
            '>' | ']' | '}' | ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => kept.push(c),
            _ => {}
        }
        before = c;
    }
    let is_hash = |part: &str| {
        part.len() == 17
            && part.starts_with('h')
            && part[1..].bytes().all(|b| b.is_ascii_hexdigit())
    };
    let parts = kept.split("::").map(str::trim);
    let is_name = |part: &&str| !part.is_empty() && !is_hash(part) && *part != TEST_BODY;
    let parts: Vec<_> = parts.filter(is_name).collect();
    parts.join("::")
}

fn crate_of(path: &str) -> Option<&str> {
    path.split_once("::").map(|(first, _)| first)
}

fn is_program(name: &str) -> bool {
    !CRATES.contains(&name)
}

fn is_program_file(file: &str) -> bool {
    let is_std = file.starts_with("/rustc/") || file.contains("rustlib/src/rust/library");
    let parts: Vec<&str> = file.split(['/', '\\']).collect();
    let is_package = |part: &str| {
        let version = |rest: &str| {
            rest.strip_prefix('-').is_some_and(|v| v.starts_with(|c: char| c.is_ascii_digit()))
        };
        PACKAGES.iter().any(|package| {
            part.strip_prefix(package).is_some_and(|rest| rest.is_empty() || version(rest))
        })
    };
    !is_std && !parts.windows(2).any(|pair| is_package(pair[0]) && pair[1] == "src")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_called_by_its_path() {
        for (symbol, expected) in [
            ("app::main::h1854dee5fd9945b4", "app::main"),
            ("app::deque::Deque<T>::push::ha95e6d5289506f3d", "app::deque::Deque::push"),
            ("<app[d3f4a5]::deque::Deque<u8>>::push", "app::deque::Deque::push"),
            ("<app::S<T> as app::Queue<fn(u8) -> u8>>::pop::h06bcda52755169bf", "app::S::pop"),
            ("<alloc::vec::Vec<T> as app::Queue>::pop", "alloc::vec::Vec::pop"),
            ("<T as app::Queue>::pop", "app::Queue::pop"),
            ("<app::Guard as core::ops::drop::Drop>::drop", "app::Guard::drop"),
            ("app::fill::{{closure}}::{{closure}}::hb8433085b5fd8239", "app::fill"),
            ("app[0f]::fill::<u8, fn() -> u8>::{closure#0}", "app::fill"),
            ("<app::S as app::Q>::pop::{{closure}}", "app::S::pop"),
            ("app::tests::it_works::raddle_test_body::{{closure}}", "app::tests::it_works"),
            ("raddle_corpus::libraries::deque::push", "raddle_corpus::libraries::deque::push"),
        ] {
            assert_eq!(name(symbol, None).as_deref(), Some(expected), "{symbol}");
        }
    }

    #[test]
    fn what_is_not_the_programs_has_no_name() {
        for symbol in [
            "std[e28293b1aa0f68bd]::panicking::catch_unwind::<isize, app::main::{closure#0}>",
            "core::ops::function::FnOnce::call_once{{vtable.shim}}::h387696a3df2a7259",
            "<alloc::boxed::Box<F,A> as core::ops::function::FnOnce<Args>>::call_once",
            "<&dyn core[c1f1]::ops::function::Fn<()> as core[c1f1]::ops::FnOnce<()>>::call_once",
            "<T as core::convert::Into<U>>::into::h387696a3df2a7259",
            "raddle_threads::sync::mutex::Mutex<T>::lock",
            "<raddle_engine[12]::object::Object<M>>::step_at",
            "__libc_start_main_impl",
            "<unknown>",
        ] {
            assert_eq!(name(symbol, None), None, "{symbol}");
        }
    }

    #[test]
    fn with_line_tables_alone_a_function_is_called_by_its_file() {
        let of = |symbol, file| name(symbol, Some(file));
        assert_eq!(of("push<u8>", "/home/me/app/src/deque.rs"), Some("deque::push".to_owned()));
        assert_eq!(of("{closure#0}<u8>", "/a/tests/it.rs"), Some("it::{closure}".to_owned()));
        for (symbol, file) in [
            ("call_once<fn(), ()>", "/rustc/5980/library/core/src/ops/function.rs"),
            ("step_at<Atomic>", "/a/crates/raddle-engine/src/object.rs"),
            ("lock<u8>", "/home/me/.cargo/registry/src/x/raddle-threads-0.1.0/src/sync/mutex.rs"),
            ("__libc_start_call_main", "./csu/../sysdeps/nptl/libc_start_call_main.h"),
        ] {
            assert_eq!(of(symbol, file), None, "{symbol}");
        }
        assert!(is_program_file("/a/crates/raddle-threads/tests/it/contexts.rs"));
        assert!(is_program_file("/a/raddle-corpus/src/deque.rs"));
    }

    #[test]
    fn with_line_tables_alone_the_body_of_a_test_is_called_as_the_test() {
        let text = "   4:     0x55ef0fff - raddle_test_body\n              at /a/tests/it.rs:9:5\n\
                    \x20  5:     0x55ef0fd3 - core::ops::FnOnce::call_once\n\
                    \x20  6:     0x55ef0fa1 - it::it_works::{{closure}}\n              at /a/tests/it.rs:3:1\n";
        let lines = lines(text);
        assert_eq!(name_of(&lines, 0).as_deref(), Some("it::it_works"));
        let call = call(&lines, 0).unwrap();
        assert_eq!((call.function.as_str(), call.site.line), ("it::it_works", 9));
        assert_eq!(name_of(&lines, 1), None);
    }

    #[test]
    fn the_drop_of_the_last_arc_is_known_by_its_function() {
        let std = "/rustc/5980/library/alloc/src/sync.rs";
        for (symbol, file, expected) in [
            ("alloc::sync::Arc<T,A>::drop_slow::h06bcda52755169bf", None, true),
            ("<alloc[0f]::sync::Arc<app[d3]::Owned>>::drop_slow", None, true),
            ("<alloc::sync::Arc<dyn core::ops::Fn() -> u8>>::drop_slow", Some(std), true),
            ("drop_slow<app::Owned, alloc::alloc::Global>", Some(std), true),
            ("drop_slow<app::Owned>", Some("/home/me/app/src/sync.rs"), false),
            ("app::sync::Arc<T>::drop_slow", None, false),
            ("<alloc::sync::Arc<T> as core::ops::drop::Drop>::drop", Some(std), false),
            ("alloc::rc::Rc<T,A>::drop_slow", None, false),
        ] {
            assert_eq!(is_last_drop(symbol, file), expected, "{symbol}");
        }
    }

    #[test]
    fn the_text_of_a_backtrace_is_read() {
        let text = "   4:     0x55ef0fff - a::push::{{closure}}\n              at /a/b.rs:2:114\n\
                    \x20  5:     0x55ef0fd3 - a::push\n  26:                0x0 - <unknown>\n";
        let [first, second, last] = lines(text)[..] else { panic!("{:?}", lines(text)) };
        let (symbol, file) = ("a::push::{{closure}}", Some("/a/b.rs"));
        let expected = Line { address: 0x55ef_0fff, symbol, file, position: (2, 114) };
        assert_eq!(first, expected);
        assert_eq!((second.symbol, second.file, last.address), ("a::push", None, 0));
    }

    // This very function is raddle's, so what is looked for is only that its stack could be read.
    #[test]
    fn std_still_writes_backtraces_in_this_way() {
        let text = backtrace();
        let found = lines(&text);
        assert!(found.iter().any(|line| line.symbol.contains("std_still_writes")), "{text}");
    }
}
