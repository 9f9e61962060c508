//! Expressions that choose tests: `package(x) & test(y) & !test(z)`, a part of nextest's language, in which they mean the
//! same.
//!
//! ```text
//! either = both { ("|" | "+" | "or") both }
//! both   = one { ("&" | "-" | "and") one }          a - b is a & !b
//! one    = ("!" | "not") one | "(" either ")" | name "(" pattern ")"
//! ```
//!
//! A pattern is `=whole`, `~part` or `#glob`, where `*` stands for any letters and `?` for one. Without such a sign that of a
//! test is a part of its name, and that of a package or of a binary a glob. Regular expressions are not understood.

use std::str::FromStr;

use raddle_trace::events::TestId;

/// What is said of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expression {
    Everything,
    Of(Part, Pattern),
    Not(Box<Self>),
    Both(Box<Self>, Box<Self>),
    Either(Box<Self>, Box<Self>),
}

/// What a pattern is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Package,
    Binary,
    Test,
}

/// What a name is to be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    Whole(String),
    Contains(String),
    Glob(String),
}

impl Expression {
    pub(crate) fn holds(&self, test: &TestId) -> bool {
        match self {
            Self::Everything => true,
            Self::Of(Part::Package, pattern) => pattern.fits(&test.package),
            Self::Of(Part::Binary, pattern) => pattern.fits(&test.target),
            Self::Of(Part::Test, pattern) => pattern.fits(&test.test),
            Self::Not(one) => !one.holds(test),
            Self::Both(a, b) => a.holds(test) && b.holds(test),
            Self::Either(a, b) => a.holds(test) || b.holds(test),
        }
    }
}

impl Pattern {
    fn fits(&self, name: &str) -> bool {
        match self {
            Self::Whole(whole) => name == whole,
            Self::Contains(part) => name.contains(part.as_str()),
            Self::Glob(glob) => {
                let (glob, name): (Vec<char>, Vec<char>) =
                    (glob.chars().collect(), name.chars().collect());
                fits_glob(&glob, &name)
            }
        }
    }
}

fn fits_glob(glob: &[char], name: &[char]) -> bool {
    // The last `*`, and how much of the name it stands for.
    let (mut star, mut g, mut n) = (None, 0, 0);
    while n < name.len() {
        match glob.get(g) {
            Some('*') => {
                star = Some((g, n));
                g += 1;
            }
            Some(letter) if *letter == '?' || *letter == name[n] => {
                g += 1;
                n += 1;
            }
            _ => {
                let Some((at, from)) = star else { return false };
                star = Some((at, from + 1));
                g = at + 1;
                n = from + 1;
            }
        }
    }
    glob[g..].iter().all(|letter| *letter == '*')
}

/// What is wrong, and at which letter.
struct Wrong(usize, String);

impl FromStr for Expression {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut reader = Reader { letters: text.chars().collect(), at: 0 };
        let read = reader.either().and_then(|expression| match reader.peek() {
            None => Ok(expression),
            Some(')') => Err(reader.wrong("there is no `(` for this `)`")),
            Some(_) => Err(reader.wrong("`&`, `|` or the end is expected here")),
        });
        // On one line each, so that the caret is where it belongs.
        let shown: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        read.map_err(|Wrong(at, why)| format!("{why}\n  {shown}\n  {}^", " ".repeat(at)))
    }
}

/// The names before brackets.
const NAMES: [&str; 5] = ["package", "binary", "test", "all", "none"];

struct Reader {
    letters: Vec<char>,
    at: usize,
}

impl Reader {
    fn wrong(&self, why: &str) -> Wrong {
        Wrong(self.at, why.to_owned())
    }

    /// The next letter that is no space.
    fn peek(&mut self) -> Option<char> {
        while self.letters.get(self.at).is_some_and(|letter| letter.is_whitespace()) {
            self.at += 1;
        }
        self.letters.get(self.at).copied()
    }

    /// Reads this sign if it is next.
    fn sign(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(sign);
        self.at += usize::from(found);
        found
    }

    /// The word that is next. It is not read.
    fn word(&mut self) -> String {
        self.peek();
        let rest = self.letters[self.at..].iter();
        rest.take_while(|letter| letter.is_alphanumeric() || **letter == '_').collect()
    }

    /// Reads this word if it is next.
    fn is_word(&mut self, word: &str) -> bool {
        let found = self.word() == word;
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn either(&mut self) -> Result<Expression, Wrong> {
        let mut all = self.both()?;
        while self.sign('|') || self.sign('+') || self.is_word("or") {
            all = Expression::Either(Box::new(all), Box::new(self.both()?));
        }
        Ok(all)
    }

    fn both(&mut self) -> Result<Expression, Wrong> {
        let mut all = self.one()?;
        loop {
            let next = if self.sign('&') || self.is_word("and") {
                self.one()?
            } else if self.sign('-') {
                Expression::Not(Box::new(self.one()?))
            } else {
                return Ok(all);
            };
            all = Expression::Both(Box::new(all), Box::new(next));
        }
    }

    fn one(&mut self) -> Result<Expression, Wrong> {
        if self.sign('!') || self.is_word("not") {
            return Ok(Expression::Not(Box::new(self.one()?)));
        }
        if self.sign('(') {
            let opened = self.at - 1;
            let within = self.either()?;
            return match self.peek() {
                Some(')') => {
                    self.at += 1;
                    Ok(within)
                }
                None => Err(Wrong(opened, "this `(` is not closed".to_owned())),
                Some(_) => Err(self.wrong("`&`, `|` or `)` is expected here")),
            };
        }
        let name = self.word();
        let part = match name.as_str() {
            "package" => Some(Part::Package),
            "binary" => Some(Part::Binary),
            "test" => Some(Part::Test),
            "all" | "none" => None,
            _ => return Err(self.unknown(&name)),
        };
        self.at += name.len();
        if !self.sign('(') {
            return Err(self.wrong(&format!("`(` is expected here, as in `{name}(...)`")));
        }
        let Some(part) = part else {
            if !self.sign(')') {
                return Err(
                    self.wrong(&format!("`{name}` has nothing in its brackets: `{name}()`"))
                );
            }
            let everything = Expression::Everything;
            return Ok(if name == "all" {
                everything
            } else {
                Expression::Not(Box::new(everything))
            });
        };
        Ok(Expression::Of(part, self.pattern(part)?))
    }

    fn unknown(&self, name: &str) -> Wrong {
        let names = "package(..), binary(..), test(..), all() and none()";
        if name.is_empty() {
            return self.wrong(&format!(
                "something that says which tests is expected here: {names}, `!` or `(`"
            ));
        }
        let near = raddle_knobs::nearest(name, NAMES);
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        self.wrong(&format!("`{name}` is not known here; there are {names}{near}"))
    }

    /// The rest up to the bracket. After `\` a letter stands for itself.
    fn pattern(&mut self, part: Part) -> Result<Pattern, Wrong> {
        let opened = self.at - 1;
        let sign = self.peek();
        if sign == Some('/') {
            return Err(self.wrong(
                "regular expressions are not understood here; write `~part`, `=whole` or `#glob`",
            ));
        }
        let signed = sign.filter(|sign| "=~#".contains(*sign));
        self.at += usize::from(signed.is_some());
        let begin = self.at;
        let mut text = String::new();
        loop {
            let letter = self.letters.get(self.at).copied();
            self.at += 1;
            match letter {
                Some(')') => break,
                Some('\\') => {
                    text.extend(self.letters.get(self.at));
                    self.at += 1;
                }
                Some(letter) => text.push(letter),
                None => return Err(Wrong(opened, "this `(` is not closed".to_owned())),
            }
        }
        let text = text.trim().to_owned();
        if text.is_empty() {
            return Err(Wrong(begin, "a name, or a part of one, is expected here".to_owned()));
        }
        Ok(match (signed, part) {
            (Some('='), _) => Pattern::Whole(text),
            (Some('~'), _) | (None, Part::Test) => Pattern::Contains(text),
            _ => Pattern::Glob(text),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(expression: &str, package: &str, test: &str) -> bool {
        let (package, target) = (package.to_owned(), "it".to_owned());
        let id = TestId { package, target, test: test.to_owned() };
        expression.parse::<Expression>().expect("an expression").holds(&id)
    }

    #[test]
    fn a_test_is_chosen_by_its_package_its_binary_and_its_name() {
        assert!(holds("package(queue) & test(fifo) & !test(slow)", "queue", "tests::is_fifo"));
        assert!(!holds("package(queue) & test(fifo) & !test(slow)", "queue", "slow_fifo"));
        assert!(!holds("package(queue)", "queue-core", "a"), "a package is named whole");
        assert!(
            holds("package(queue*)", "queue-core", "a")
                && holds("package(~core)", "queue-core", "a")
        );
        assert!(holds("test(=a::b)", "p", "a::b") && !holds("test(=a)", "p", "a::b"));
        assert!(holds("test(#a*c?e)", "p", "abbcde") && !holds("test(#a*c?e)", "p", "abbcdef"));
        assert!(holds("binary(it)", "p", "a") && !holds("binary(lib)", "p", "a"));
        assert!(holds(r"test(f\(x\))", "p", "f(x)"));
    }

    #[test]
    fn not_binds_more_than_and_which_binds_more_than_or() {
        assert!(holds("test(a) | test(b) & test(c)", "p", "a"));
        assert!(!holds("(test(a) | test(b)) & test(c)", "p", "a"));
        assert!(!holds("!test(a) & all()", "p", "a") && holds("!(test(a) & none())", "p", "a"));
        assert!(holds("not test(b) and (test(a) or none())", "p", "a"));
        assert!(holds("all() - test(b)", "p", "a") && !holds("all() - test(a)", "p", "a"));
        assert!(holds("none() + test(a)", "p", "a"));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let wrong = |text: &str| text.parse::<Expression>().expect_err("refused");
        insta::assert_snapshot!(wrong("package(x) & tset(y)"), @r"
        `tset` is not known here; there are package(..), binary(..), test(..), all() and none(); did you mean `test`?
          package(x) & tset(y)
                       ^
        ");
        insta::assert_snapshot!(wrong("test(a) test(b)"), @r"
        `&`, `|` or the end is expected here
          test(a) test(b)
                  ^
        ");
        insta::assert_snapshot!(wrong("(test(a) | !"), @r"
        something that says which tests is expected here: package(..), binary(..), test(..), all() and none(), `!` or `(`
          (test(a) | !
                      ^
        ");
        insta::assert_snapshot!(wrong("test(/a.*/)"), @r"
        regular expressions are not understood here; write `~part`, `=whole` or `#glob`
          test(/a.*/)
               ^
        ");
        for text in
            ["", "test", "test(", "test()", "(all()", "all())", "all(x)", "test(a) &", "!", "a b"]
        {
            assert!(wrong(text).contains('^'), "{text}");
        }
    }
}
