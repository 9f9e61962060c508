//! How a composition is written: `dpor best-first(mdpor, pb)`, `dfs preemptions(2)`, `pct(3)`.
//!
//! Terms separated by spaces; a term is a name, or a name and arguments in brackets; an argument
//! is a term, a number, or a word of the program's own, such as `Deque::push` or `deque.rs:42`. That
//! is all this file knows: what the names mean is the registry's business, so that one can write down
//! what is not there yet and be told so.
//!
//! ```text
//! composition = term { " " term }
//! term        = name [ "(" argument { "," argument } ")" ]
//! argument    = term | number | word
//! name        = letter { letter | digit | "-" }        (lowercase)
//! word        = (letter | "_") { letter | digit | "-" | "_" | "." | ":" | "/" }, if it is no name
//! ```

use std::fmt;
use std::str::FromStr;

/// How deep brackets may nest: deeper than any sense, and shallow enough for any stack.
const MAX_DEPTH: usize = 8;

/// A composition, as written.
///
/// [`Display`](fmt::Display) writes it in one canonical way, which parses to the same composition.
///
/// ```
/// use raddle_search::Composition;
///
/// let composition: Composition = " dpor  best-first( mdpor,pb )".parse()?;
/// assert_eq!(composition.terms[1].name, "best-first");
/// assert_eq!(composition.to_string(), "dpor best-first(mdpor, pb)");
///
/// let error = "pct(3".parse::<Composition>().unwrap_err();
/// assert_eq!(error.column(), 6);
/// # Ok::<(), raddle_search::ParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Composition {
    /// Never empty when parsed.
    pub terms: Vec<Term>,
}

/// A name with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// Lowercase letters, digits and hyphens.
    pub name: String,
    /// In brackets; none if there are no brackets.
    pub args: Vec<Arg>,
}

/// An argument of a term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg {
    /// Such as `mdpor` in `best-first(mdpor)`.
    Term(Term),
    /// Such as `3` in `pct(3)`.
    Number(u32),
    /// Such as `Deque::push` in `method(Deque::push)`. One that could be a term's name, such as `push`, is
    /// a term.
    Word(String),
}

/// A text that is not a composition: where, what is there, and what should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    column: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Empty,
    Found { found: Option<char>, expected: Expected },
    TooLarge,
    TooDeep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Name,
    Argument,
    CommaOrEnd,
    Space,
}

impl ParseError {
    /// Where, in characters from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        self.column
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (found, expected) = match self.kind {
            Kind::Empty => {
                return f.write_str("nothing is named; write a strategy, such as `random`");
            }
            Kind::Found { found, expected } => (found, expected),
            Kind::TooLarge => {
                return write!(
                    f,
                    "the number at column {} is too large; write one up to {}",
                    self.column,
                    u32::MAX
                );
            }
            Kind::TooDeep => {
                return write!(
                    f,
                    "brackets are nested too deep at column {}; write at most {MAX_DEPTH} levels",
                    self.column
                );
            }
        };
        match found {
            Some(found) => write!(f, "found {found:?} at column {}", self.column)?,
            None => write!(f, "the text ends at column {}", self.column)?,
        }
        f.write_str(match expected {
            Expected::Name => "; write a name in lowercase here, such as `random`",
            Expected::Argument => "; write a name or a number here, as in `pct(3)`",
            Expected::CommaOrEnd => "; write `,` and another argument here, or `)`",
            Expected::Space => "; write a space here, and then the next name",
        })
    }
}

impl std::error::Error for ParseError {}

impl fmt::Display for Composition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        separated(f, &self.terms, " ")
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.args.is_empty() {
            return Ok(());
        }
        f.write_str("(")?;
        separated(f, &self.args, ", ")?;
        f.write_str(")")
    }
}

impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Term(term) => term.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Word(word) => f.write_str(word),
        }
    }
}

fn separated(f: &mut fmt::Formatter<'_>, items: &[impl fmt::Display], by: &str) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(by)?;
        }
        item.fmt(f)?;
    }
    Ok(())
}

impl FromStr for Composition {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut parser = Parser { chars: text.chars().collect(), at: 0 };
        parser.skip_spaces();
        if parser.peek().is_none() {
            return Err(parser.error(Kind::Empty));
        }
        let mut terms = Vec::new();
        loop {
            terms.push(parser.term(0)?);
            let spaces = parser.skip_spaces();
            if parser.peek().is_none() {
                return Ok(Self { terms });
            }
            if spaces == 0 {
                return Err(parser.expected(Expected::Space));
            }
        }
    }
}

struct Parser {
    chars: Vec<char>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn error(&self, kind: Kind) -> ParseError {
        ParseError { column: self.at + 1, kind }
    }

    fn expected(&self, expected: Expected) -> ParseError {
        self.error(Kind::Found { found: self.peek(), expected })
    }

    /// Takes what satisfies `wanted`, and says how much that was.
    fn skip(&mut self, wanted: impl Fn(char) -> bool) -> usize {
        let rest = &self.chars[self.at..];
        let length = rest.iter().position(|&c| !wanted(c)).unwrap_or(rest.len());
        self.at += length;
        length
    }

    fn skip_spaces(&mut self) -> usize {
        self.skip(char::is_whitespace)
    }

    fn term(&mut self, depth: usize) -> Result<Term, ParseError> {
        if !self.peek().is_some_and(|c| c.is_ascii_lowercase()) {
            return Err(self.expected(Expected::Name));
        }
        let start = self.at;
        self.skip(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        let name = self.chars[start..self.at].iter().collect();
        let mut args = Vec::new();
        if self.peek() == Some('(') {
            if depth == MAX_DEPTH {
                return Err(self.error(Kind::TooDeep));
            }
            loop {
                self.at += 1;
                self.skip_spaces();
                args.push(self.arg(depth + 1)?);
                self.skip_spaces();
                match self.peek() {
                    Some(',') => {}
                    Some(')') => break,
                    _ => return Err(self.expected(Expected::CommaOrEnd)),
                }
            }
            self.at += 1;
        }
        Ok(Term { name, args })
    }

    fn arg(&mut self, depth: usize) -> Result<Arg, ParseError> {
        match self.peek() {
            Some('0'..='9') => self.number().map(Arg::Number),
            Some('a'..='z' | 'A'..='Z' | '_') => match self.word() {
                Some(word) => Ok(Arg::Word(word)),
                None => self.term(depth).map(Arg::Term),
            },
            _ => Err(self.expected(Expected::Argument)),
        }
    }

    /// Takes a word, unless it is a name.
    fn word(&mut self) -> Option<String> {
        let start = self.at;
        self.skip(|c| c.is_ascii_alphanumeric() || "-_.:/".contains(c));
        let word = &self.chars[start..self.at];
        if word.iter().all(|&c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
            self.at = start;
            return None;
        }
        Some(word.iter().collect())
    }

    fn number(&mut self) -> Result<u32, ParseError> {
        let start = self.at;
        let mut number = 0_u32;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            let next = number.checked_mul(10).and_then(|tens| tens.checked_add(digit));
            let too_large = ParseError { column: start + 1, kind: Kind::TooLarge };
            number = next.ok_or(too_large)?;
            self.at += 1;
        }
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, Strategy, prop, prop_assert_eq, prop_oneof, proptest};

    use super::*;

    fn parse(text: &str) -> Result<Composition, ParseError> {
        text.parse()
    }

    #[test]
    fn every_composition_of_the_design_can_be_written() {
        for text in [
            "dpor best-first(mdpor, pb)",
            "ses(rtc)",
            "pct(3)",
            "hapset(dpor)",
            "bita",
            "dfs preemptions(2)",
            "all depth-first preemptions(2) round-robin",
            "all best-first(ss, mdpor) preemptions(2) non-preemptive",
            "hapset(dpor(classic), 7)",
            "all best-first(method(push, Deque::steal_half), var(queue.head, deque.rs:42), pb)",
        ] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn spaces_do_not_matter_between_terms_and_arguments() {
        let loose = parse("\t dpor   best-first( mdpor ,pb )\n").unwrap();
        assert_eq!(loose, parse("dpor best-first(mdpor,pb)").unwrap());
    }

    #[test]
    fn an_error_says_where_what_and_what_to_do() {
        for (text, message) in [
            ("", "nothing is named; write a strategy, such as `random`"),
            ("  ", "nothing is named; write a strategy, such as `random`"),
            ("DFS", "found 'D' at column 1; write a name in lowercase here, such as `random`"),
            ("dfs 2", "found '2' at column 5; write a name in lowercase here, such as `random`"),
            ("pct(3", "the text ends at column 6; write `,` and another argument here, or `)`"),
            ("pct()", "found ')' at column 5; write a name or a number here, as in `pct(3)`"),
            ("pct(3,)", "found ')' at column 7; write a name or a number here, as in `pct(3)`"),
            ("pct(", "the text ends at column 5; write a name or a number here, as in `pct(3)`"),
            ("pct(3)x", "found 'x' at column 7; write a space here, and then the next name"),
            ("dfs,all", "found ',' at column 4; write a space here, and then the next name"),
            ("pct (3)", "found '(' at column 5; write a name in lowercase here, such as `random`"),
            ("pct(3a)", "found 'a' at column 6; write `,` and another argument here, or `)`"),
            ("pct(-1)", "found '-' at column 5; write a name or a number here, as in `pct(3)`"),
            ("pct(4294967296)", "the number at column 5 is too large; write one up to 4294967295"),
            ("é", "found 'é' at column 1; write a name in lowercase here, such as `random`"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), message, "for {text:?}");
        }
    }

    #[test]
    fn endless_nesting_is_refused() {
        let error = parse(&"a(".repeat(100_000)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "brackets are nested too deep at column 18; write at most 8 levels"
        );
    }

    fn term() -> impl Strategy<Value = Term> {
        let name = "[a-z][a-z0-9-]{0,8}";
        let leaf = name.prop_map(|name| Term { name, args: Vec::new() });
        leaf.prop_recursive(3, 16, 3, move |inner| {
            let arg = prop_oneof![
                inner.prop_map(Arg::Term),
                "[A-Z_][a-zA-Z0-9_.:/-]{0,8}".prop_map(Arg::Word),
                "[a-z][a-z0-9-]{0,3}[.:_][a-zA-Z0-9.:]{0,8}".prop_map(Arg::Word),
                (0..=u32::MAX).prop_map(Arg::Number),
                Just(Arg::Number(0)),
            ];
            (name, prop::collection::vec(arg, 0..3)).prop_map(|(name, args)| Term { name, args })
        })
    }

    proptest! {
        #![proptest_config(crate::toy::fixed_seed())]

        #[test]
        fn no_text_makes_it_panic(text: String) {
            let _ = parse(&text);
        }

        #[test]
        fn no_text_of_the_right_letters_makes_it_panic(text in "[a-cA_.:(),0-9 -]{0,40}") {
            if let Ok(composition) = parse(&text) {
                prop_assert_eq!(parse(&composition.to_string()), Ok(composition));
            }
        }

        #[test]
        fn compositions_are_read_back_as_written(terms in prop::collection::vec(term(), 1..5)) {
            let composition = Composition { terms };
            prop_assert_eq!(parse(&composition.to_string()), Ok(composition));
        }
    }
}
