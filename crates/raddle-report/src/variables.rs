//! What the source calls an object: the variable or field that it is created for.
//!
//! The text before the place of its creation is read backwards, out of calls that only wrap it
//! (`Arc::new(..)`), to the `let`, `static` or field of which it is the value. Where that is not plain to
//! see the object has no name, and is called by its kind.

use std::collections::BTreeMap;

use raddle_trace::{Note, ObjectName, Outcome, Report, Site, Trace};

/// How many lines before the creation are looked at.
const LINES: usize = 12;
/// Functions that hand on what they are given, by their last names.
const WRAPPERS: [&str; 10] =
    ["new", "from", "pin", "Some", "Ok", "map", "from_fn", "leak", "repeat_with", "get_or_init"];

/// Names the objects of a failure after the variables and fields that they were created for. `read` gives
/// the text of a source file by its name in sites, if it can be had.
///
/// An object that the program has named keeps that name, and so does everything of which the source says
/// nothing.
///
/// ```
/// use raddle_trace::{ObjectName, Site, Trace};
///
/// let created = Site { file: "src/lib.rs".into(), line: 1, column: 22 };
/// let lock = ObjectName { kind: "Mutex".into(), created, name: None, nth: 0, variable: None };
/// let mut trace = Trace { objects: vec![lock], ..Trace::default() };
/// raddle_report::name_trace(&mut trace, &mut |_| Some("let queue = Arc::new(Mutex::new(0));".into()));
/// assert_eq!(trace.object_label(0), "queue");
/// ```
pub fn name_trace(trace: &mut Trace, read: &mut dyn FnMut(&str) -> Option<String>) {
    let mut source = Source { read, files: BTreeMap::new() };
    for object in &mut trace.objects {
        source.name(object);
    }
}

/// [`name_trace`] for all that a report shows.
pub fn name_objects(report: &mut Report, read: &mut dyn FnMut(&str) -> Option<String>) {
    let mut source = Source { read, files: BTreeMap::new() };
    for failure in report.failure.iter_mut().chain(&mut report.others) {
        for object in &mut failure.trace.objects {
            source.name(object);
        }
        if let Outcome::DataRace(race) = &mut failure.outcome {
            source.name(&mut race.cell);
        }
    }
    for note in &mut report.notes {
        if let Note::LockOrder { cycle } = note {
            for nested in cycle {
                source.name(&mut nested.held);
                source.name(&mut nested.taken);
            }
        }
    }
}

struct Source<'a> {
    read: &'a mut dyn FnMut(&str) -> Option<String>,
    files: BTreeMap<String, Option<String>>,
}

impl Source<'_> {
    fn name(&mut self, object: &mut ObjectName) {
        if object.name.is_some() || object.variable.is_some() {
            return;
        }
        let Site { file, line, column } = &object.created;
        if !self.files.contains_key(file) {
            self.files.insert(file.clone(), (self.read)(file));
        }
        let text = self.files.get(file).and_then(Option::as_deref);
        object.variable = text.and_then(|text| variable(text, *line, *column));
    }
}

/// What is created at this place is called, as far as the text says.
fn variable(text: &str, line: u32, column: u32) -> Option<String> {
    let line = (line as usize).checked_sub(1)?;
    let skipped = line.saturating_sub(LINES);
    let mut lines = text.lines().skip(skipped);
    let mut before = String::new();
    for earlier in lines.by_ref().take(line - skipped) {
        before.push_str(without_comment(earlier));
        before.push('\n');
    }
    let last = lines.next()?;
    let at = (column as usize).checked_sub(1)?;
    let at = last.char_indices().nth(at).map_or(last.len(), |(at, _)| at);
    let mut after = last[at..].to_owned();
    for later in lines.take(LINES) {
        after.push('\n');
        after.push_str(without_comment(later));
    }
    // A derived `Default` stands at the field itself.
    let field = leading(&after);
    if !field.is_empty() && is_field(after[field.len()..].trim_start()) {
        return Some(field.to_owned());
    }
    before.push_str(&last[..at]);
    Reader { before: &before, after: &after, suffix: String::new(), nth: 0 }.name()
}

/// Whether this follows the name of a field: one colon.
fn is_field(rest: &str) -> bool {
    rest.starts_with(':') && !rest.starts_with("::")
}

fn without_comment(line: &str) -> &str {
    // A `//` in a string is taken for one: what follows it is no code of interest.
    line.find("//").map_or(line, |at| &line[..at])
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn leading(text: &str) -> &str {
    let end = text.find(|letter| !is_word(letter)).unwrap_or(text.len());
    &text[..end]
}

fn trailing(text: &str) -> &str {
    let from = text.rfind(|letter| !is_word(letter));
    let from = from.map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    &text[from..]
}

/// Reads backwards from a creation.
struct Reader<'a> {
    /// What has not been read.
    before: &'a str,
    /// From the creation on.
    after: &'a str,
    /// Where in the variable it is: `.1`, `[0]`.
    suffix: String,
    /// How many values stand before it in its list.
    nth: usize,
}

impl<'a> Reader<'a> {
    fn name(mut self) -> Option<String> {
        loop {
            let letter = self.before.chars().next_back()?;
            let rest = &self.before[..self.before.len() - letter.len_utf8()];
            match letter {
                ')' | ']' | '}' => self.before = opening(self.before)?,
                '(' => self.call(rest)?,
                '[' => {
                    if self.nth > 0 || self.is_listed() {
                        self.suffix = format!("[{}]{}", self.nth, self.suffix);
                    }
                    (self.before, self.nth) = (rest.strip_suffix("vec!").unwrap_or(rest), 0);
                }
                '{' => {
                    let outside = rest.trim_end();
                    if trailing(outside) != "const" {
                        return None;
                    }
                    self.before = &outside[..outside.len() - "const".len()];
                }
                ',' => (self.before, self.nth) = (rest, self.nth + 1),
                // The parameters of a closure.
                '|' => self.before = &rest[..rest.rfind('|')?],
                ';' => return None,
                '=' if rest.ends_with(['=', '<', '>', '!', '+', '-', '|', '&', '^', '*', '/']) => {
                    return None;
                }
                '=' => return self.assigned(rest),
                '>' if rest.ends_with(['=', '-']) => return None,
                ':' if rest.ends_with(':') => self.before = &rest[..rest.len() - 1],
                ':' => {
                    let field = trailing(rest.trim_end());
                    return (!field.is_empty()).then(|| format!("{field}{}", self.suffix));
                }
                _ => self.before = rest,
            }
        }
    }

    /// Out of the brackets of a call or of a tuple.
    fn call(&mut self, rest: &'a str) -> Option<()> {
        let outside = rest.trim_end();
        if outside.ends_with('>') {
            return None;
        }
        let called = trailing(outside);
        let is_type = called.starts_with(char::is_uppercase) && !WRAPPERS.contains(&called);
        if called.is_empty() || is_type {
            self.suffix = format!(".{}{}", self.nth, self.suffix);
        } else if !WRAPPERS.contains(&called) {
            return None;
        }
        (self.before, self.nth) = (&outside[..outside.len() - called.len()], 0);
        Some(())
    }

    /// Whether a comma follows it: then it is one of several.
    fn is_listed(&self) -> bool {
        let mut depth = 0_usize;
        for letter in self.after.chars() {
            match letter {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' | ';' if depth == 0 => return false,
                ')' | ']' | '}' => depth -= 1,
                ',' if depth == 0 => return true,
                _ => {}
            }
        }
        false
    }

    /// The left side of a `=`.
    fn assigned(&self, rest: &str) -> Option<String> {
        let from = rest.rfind([';', '{', '}']).map_or(0, |at| at + 1);
        let statement = rest[from..].trim();
        let words = ["let", "static", "const"];
        let start = words.iter().filter_map(|word| {
            let at = statement.rfind(&format!("{word} "))?;
            let alone = !statement[..at].ends_with(is_word);
            alone.then_some(at + word.len())
        });
        let Some(start) = start.max() else {
            // `self.items = …`
            let name = trailing(statement);
            let plain = |letter: char| is_word(letter) || letter == '.';
            let is_place = !name.is_empty() && statement.chars().all(plain);
            return is_place.then(|| format!("{name}{}", self.suffix));
        };
        let mut pattern = statement[start..].trim();
        for word in ["mut ", "ref "] {
            pattern = pattern.strip_prefix(word).unwrap_or(pattern).trim_start();
        }
        if let Some(tuple) = pattern.strip_prefix('(') {
            return self.of_tuple(tuple);
        }
        let name = leading(pattern);
        let follows = pattern[name.len()..].trim_start();
        let is_name = !name.is_empty() && (follows.is_empty() || is_field(follows));
        is_name.then(|| format!("{name}{}", self.suffix))
    }

    /// `let (a, b) = (…, …)`: the one at its place; of `let (tx, rx) = channel()` both.
    fn of_tuple(&self, pattern: &str) -> Option<String> {
        let inside = &pattern[..pattern.find(')')?];
        let names = inside.split(',').map(|name| name.trim().trim_start_matches("mut ").trim());
        let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        if names.iter().any(|name| !name.chars().all(is_word)) {
            return None;
        }
        let Some(nth) = self.suffix.strip_prefix('.') else {
            return self.suffix.is_empty().then(|| names.join("/"));
        };
        let digits = nth.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(nth.len());
        let name = names.get(nth[..digits].parse::<usize>().ok()?)?;
        Some(format!("{name}{}", &nth[digits..]))
    }
}

/// What is before the bracket that opens the one at the end of the text.
fn opening(text: &str) -> Option<&str> {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices().rev() {
        match letter {
            ')' | ']' | '}' => depth += 1,
            '(' | '[' | '{' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(&text[..at]);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is created at `Mutex`, or at the mark.
    fn named(text: &str) -> Option<String> {
        let mark = text.find('§').unwrap_or_else(|| text.find("Mutex").expect("a creation"));
        let text = text.replace('§', "");
        let line = text[..mark].matches('\n').count() as u32 + 1;
        let begins = text[..mark].rfind('\n').map_or(0, |at| at + 1);
        variable(&text, line, text[begins..mark].chars().count() as u32 + 1)
    }

    #[test]
    fn an_object_is_called_after_its_variable_or_field() {
        for (text, expected) in [
            ("let queue = Mutex::new(0);", "queue"),
            ("let queue = Arc::new(Mutex::new(0));", "queue"),
            ("let mut queue: Arc<_> = Arc::new(CachePadded::new(§Mutex::new(0)));", "queue"),
            ("let größe = Mutex::new(0);", "größe"),
            ("static FLAG: AtomicBool = §AtomicBool::new(false);", "FLAG"),
            ("pub(crate) static FLAG: AtomicBool =\n    §AtomicBool::new(false);", "FLAG"),
            ("fn new() -> Self {\n    Queue {\n        items: Mutex::new(vec![]),", "items"),
            ("Queue { a: vec![(1, 2)], items: Mutex::new(0) }", "items"),
            ("Queue { items: std::sync::§Mutex::new(0) }", "items"),
            ("#[derive(Default)]\nstruct Queue {\n    §items: Mutex<u8>,", "items"),
            ("self.items = Mutex::new(0);", "items"),
            ("let a = 1; // it's\nlet b = Mutex::new(0);", "b"),
            ("let locks: Vec<_> = (0..3).map(|_| Mutex::new(0)).collect();", "locks"),
            ("let locks: Vec<_> = all.map(|n: usize| Mutex::new(n)).collect();", "locks"),
            ("let lock = CELL.get_or_init(|| Mutex::new(0));", "lock"),
            ("let (tx, rx) = §mpsc::channel();", "tx/rx"),
            ("let slots = [const { Mutex::new(0) }; 4];", "slots"),
        ] {
            assert_eq!(named(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn one_of_several_values_is_called_by_its_place() {
        for (text, expected) in [
            ("let (a, mut b) = (Mutex::new(0), §Mutex::new(1));", "b"),
            ("let pair = Arc::new((Mutex::new(0), §Condvar::new()));", "pair.1"),
            ("let (pair, n) = (Arc::new((0, §Condvar::new())), 1);", "pair.1"),
            ("let locks = [§Mutex::new(0), Mutex::new(1)];", "locks[0]"),
            ("let locks = vec![Mutex::new(0), §Mutex::new(1)];", "locks[1]"),
            ("let lock = vec![Mutex::new(0)];", "lock"),
            ("let shared = Arc::new(Shared(0, §Mutex::new(1)));", "shared.1"),
        ] {
            assert_eq!(named(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn where_the_source_does_not_say_there_is_no_name() {
        for text in [
            "let handle = thread::spawn(move || work(Mutex::new(0)));",
            "fn lock() -> Mutex<u8> {\n    §Mutex::new(0)\n}",
            "if n == Mutex::new(0) {",
            "Some(n) => Mutex::new(0),",
            "work();\nMutex::new(0);",
            "let handle = work::<u8>(Mutex::new(0));",
            "let Pair { a, b } = pair(Mutex::new(0));",
        ] {
            assert_eq!(named(text), None, "{text}");
        }
        assert_eq!(variable("let a = 1;", 7, 1), None, "no such line");
        assert_eq!(variable("", 0, 0), None, "not a place");
    }
}
