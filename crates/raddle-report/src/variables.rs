//! What the source calls an object: the variable or field that it is created for.
//!
//! The text before the place of its creation is read backwards, out of calls that only wrap it
//! (`Arc::new(..)`), to the `let`, `static` or field of which it is the value. Where that is not plain to
//! see the object has no name, and is called by its kind.
//!
//! All that a derived `Default` creates has one place, that of the derive. There the places at which an object is
//! used say which field it is: `self.items.lock()` is the field `items`, if the struct has one of that kind.
//!
//! Overreports: a field of another struct that is called alike and refers to an object of this one.

use std::collections::{BTreeMap, BTreeSet};

use raddle_trace::{DataRace, Note, ObjectName, Outcome, Report, Site, Trace};

/// How many lines before the creation are looked at.
const LINES: usize = 12;
/// How many lines a struct may have.
const STRUCT_LINES: usize = 120;
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
    Source { read, files: BTreeMap::new() }.name_all(trace);
}

/// [`name_trace`] for all that a report shows.
pub fn name_objects(report: &mut Report, read: &mut dyn FnMut(&str) -> Option<String>) {
    let mut source = Source { read, files: BTreeMap::new() };
    for failure in report.failure.iter_mut().chain(&mut report.others) {
        source.name_all(&mut failure.trace);
        if let Outcome::DataRace(race) = &mut failure.outcome {
            let DataRace { cell, first, second, .. } = &mut **race;
            source.name(cell, &[&first.site, &second.site]);
        }
    }
    for note in &mut report.notes {
        if let Note::LockOrder { cycle } = note {
            for nested in cycle {
                source.name(&mut nested.held, &[&nested.held_at]);
                source.name(&mut nested.taken, &[&nested.taken_at]);
            }
        }
    }
}

struct Source<'a> {
    read: &'a mut dyn FnMut(&str) -> Option<String>,
    files: BTreeMap<String, Option<String>>,
}

impl Source<'_> {
    fn name_all(&mut self, trace: &mut Trace) {
        let mut uses: BTreeMap<u32, BTreeSet<&Site>> = BTreeMap::new();
        for event in &trace.events {
            if let Some(object) = event.object {
                uses.entry(object).or_default().insert(&event.site);
            }
        }
        for (index, object) in (0..).zip(&mut trace.objects) {
            let uses = uses.remove(&index).unwrap_or_default();
            self.name(object, &uses.into_iter().collect::<Vec<_>>());
        }
    }

    /// Names an object after the place where it was created, or where it is used.
    fn name(&mut self, object: &mut ObjectName, uses: &[&Site]) {
        if object.name.is_some() || object.variable.is_some() {
            return;
        }
        let Some(text) = self.text(&object.created.file) else { return };
        let Site { line, column, .. } = object.created;
        object.variable = variable(text, line, column);
        if object.variable.is_some() {
            return;
        }
        let mut fields = derived_fields(text, line, column);
        fields.retain(|(_, ty)| words(ty).any(|word| word == object.kind));
        if fields.is_empty() {
            return;
        }
        let mut found: BTreeSet<String> = BTreeSet::new();
        for site in uses {
            let field =
                self.text(&site.file).and_then(|text| used_as(text, site.line, site.column));
            found.extend(field.filter(|field| fields.iter().any(|(name, _)| name == field)));
        }
        // Where uses disagree nothing is known.
        if found.len() == 1 {
            object.variable = found.pop_first();
        }
    }

    fn text(&mut self, file: &str) -> Option<&str> {
        if !self.files.contains_key(file) {
            self.files.insert(file.to_owned(), (self.read)(file));
        }
        self.files.get(file).and_then(Option::as_deref)
    }
}

/// The text up to a place and from there on, a few lines of each, without comments.
fn around(text: &str, line: u32, column: u32, lines_after: usize) -> Option<(String, String)> {
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
    for later in lines.take(lines_after) {
        after.push('\n');
        after.push_str(without_comment(later));
    }
    before.push_str(&last[..at]);
    Some((before, after))
}

/// The named fields of the struct whose derived `Default` is at this place, with their types.
fn derived_fields(text: &str, line: u32, column: u32) -> Vec<(String, String)> {
    let read = || {
        let (before, after) = around(text, line, column, STRUCT_LINES)?;
        let attribute = &before[before.rfind("#[")?..];
        if !attribute.contains("derive") || attribute.contains(']') || leading(&after) != "Default"
        {
            return None;
        }
        let body = &after[after.find('{')?..];
        // What comes before the fields is the head of a struct, and no end of one without fields.
        let head = &after[..after.len() - body.len()];
        (words(head).any(|word| word == "struct") && !head.contains(';')).then(|| fields(body))
    };
    read().unwrap_or_default()
}

/// The fields in the braces with which this begins.
fn fields(body: &str) -> Vec<(String, String)> {
    let mut parts = vec![String::new()];
    let mut depth = 0_usize;
    for letter in body.chars() {
        match letter {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match (letter, depth) {
            (_, 0) => break,
            ('{', 1) => {}
            (',', 1) => parts.push(String::new()),
            _ => parts.last_mut().expect("there is one").push(letter),
        }
    }
    let field = |part: &String| {
        let colon = part
            .match_indices(':')
            .map(|(at, _)| at)
            .find(|&at| !part[at + 1..].starts_with(':') && !part[..at].ends_with(':'))?;
        let name = trailing(part[..colon].trim_end());
        (!name.is_empty()).then(|| (name.to_owned(), part[colon + 1..].trim().to_owned()))
    };
    parts.iter().filter_map(field).collect()
}

/// The field on which a method is called at this place: `items` of `self.items.lock()`.
fn used_as(text: &str, line: u32, column: u32) -> Option<String> {
    let (before, _) = around(text, line, column, 0)?;
    let mut receiver = before.trim_end().strip_suffix('.')?.trim_end();
    while receiver.ends_with(']') {
        receiver = opening(receiver)?.trim_end();
    }
    let name = trailing(receiver);
    let is_field = receiver[..receiver.len() - name.len()].trim_end().ends_with('.');
    let is_name = name.starts_with(|letter: char| letter.is_alphabetic() || letter == '_');
    (is_field && is_name).then(|| name.to_owned())
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !is_word(letter)).filter(|word| !word.is_empty())
}

/// What is created at this place is called, as far as the text says.
fn variable(text: &str, line: u32, column: u32) -> Option<String> {
    let (before, after) = around(text, line, column, LINES)?;
    // A derived `Default` stands at the field itself.
    let field = leading(&after);
    if !field.is_empty() && is_field(after[field.len()..].trim_start()) {
        return Some(field.to_owned());
    }
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

    const CACHE: &str = "\
#[derive(Debug, Default)]
struct Cache {
    /// Locked first: always.
    entries: Mutex<BTreeMap<u32, String>>,
    pub(crate) used: sync::Mutex<VecDeque<u32>>,
    #[allow(unused)]
    hits: AtomicUsize,
    shards: [Mutex<u8>; 2],
}
fn f(cache: &Cache) {
    cache.entries.lock();
    cache
        .used // its order
        .lock();
    used.lock();
    other.used.hits.load(SeqCst);
    cache.shards[cache.n()].lock();
}
";

    /// What an object of this kind is called that the derive creates, and on which these methods are called.
    fn used(kind: &str, marks: &[&str]) -> Option<String> {
        let place = |mark: &str| {
            let method = mark.rfind('.').map_or(0, |dot| dot + 1);
            let at = CACHE.find(mark).expect("it is there") + method;
            let line = CACHE[..at].matches('\n').count() as u32 + 1;
            let begins = CACHE[..at].rfind('\n').map_or(0, |at| at + 1);
            Site { file: "a.rs".to_owned(), line, column: (at - begins) as u32 + 1 }
        };
        let created = place("Default");
        let mut object =
            ObjectName { kind: kind.to_owned(), created, name: None, nth: 0, variable: None };
        let sites: Vec<Site> = marks.iter().map(|mark| place(mark)).collect();
        let mut read = |_: &str| Some(CACHE.to_owned());
        let mut source = Source { read: &mut read, files: BTreeMap::new() };
        source.name(&mut object, &sites.iter().collect::<Vec<_>>());
        object.variable
    }

    #[test]
    fn what_a_derived_default_creates_is_called_after_the_field_by_which_it_is_used() {
        assert_eq!(used("Mutex", &["cache.entries.lock"]).as_deref(), Some("entries"));
        assert_eq!(used("Mutex", &[".used // its order\n        .lock"]).as_deref(), Some("used"));
        assert_eq!(used("AtomicUsize", &["other.used.hits.load"]).as_deref(), Some("hits"));
        assert_eq!(used("Mutex", &["cache.shards[cache.n()].lock"]).as_deref(), Some("shards"));
    }

    #[test]
    fn uses_that_do_not_say_a_field_of_that_kind_name_nothing() {
        assert_eq!(used("Mutex", &["    used.lock"]), None, "a variable may be anything");
        assert_eq!(used("Condvar", &["cache.entries.lock"]), None, "no field of this kind");
        let (one, other) = ("cache.entries.lock", ".used // its order\n        .lock");
        assert_eq!(used("Mutex", &[one, other]), None, "they disagree");
        assert_eq!(used("Mutex", &[]), None);
    }

    #[test]
    fn fields_are_those_of_the_struct_that_is_derived() {
        let at = |text: &str| {
            let column = text.find("Default").expect("a derive") as u32 + 1;
            let names = derived_fields(text, 1, column).into_iter().map(|(name, _)| name);
            names.collect::<Vec<_>>()
        };
        assert_eq!(
            at("#[derive(Default)] struct A<T: Copy> { a: Mutex<T>, b: Vec<(u8, u8)> }"),
            ["a", "b"]
        );
        assert!(at("#[derive(Default)] struct A(Mutex<u8>); struct B { a: Mutex<u8> }").is_empty());
        assert!(at("#[derive(Default)] enum A { #[default] B { a: Mutex<u8> } }").is_empty());
        assert!(at("let a = Default::default(); struct B { a: Mutex<u8> }").is_empty());
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
