//! What a setting may be set to: how its text is read, and the words for what it must be.

use std::time::Duration;

use crate::units;

/// What a setting may be set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// The line of a strategy. Only that it is not empty is checked here: the registry of strategies,
    /// which neither the driver nor the macro links, knows the rest.
    Strategy,
    /// A whole number, or `none`.
    Number(Width),
    /// A number with a unit of time, or `none`.
    Time,
    /// A number of bytes, or `none`.
    Memory,
    /// A number of bytes.
    Size,
    /// `true` or `false`.
    Flag,
    /// `true` or `false`; if it is not given, neither.
    MaybeFlag,
    /// One of these.
    Word(&'static [Word]),
    /// One of these, or a number with a unit of time.
    WordOrTime(&'static [Word]),
    /// The path of a file.
    File,
    /// A token, or the path of a file that raddle wrote.
    Recording,
    /// The address of a place in the source, with `{path}` in it; or `none`.
    Address,
}

/// The type of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// `u32`.
    U32,
    /// `u64`.
    U64,
}

/// A word for a variant of an enum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Word {
    /// As it is given.
    pub text: &'static str,
    /// The variant.
    pub variant: &'static str,
}

/// A value that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Given<'a> {
    /// `none`, where that is a value.
    None,
    /// A number, also of bytes.
    Number(u64),
    /// A time.
    Time(Duration),
    /// `true` or `false`.
    Flag(bool),
    /// A word, by its place in the list.
    Word(usize),
    /// A strategy, a path or a token.
    Text(&'a str),
}

/// The [`Value`] that an entry of the table describes.
#[doc(hidden)]
#[macro_export]
macro_rules! value {
    (Number u32) => { $crate::Value::Number($crate::Width::U32) };
    (Number u64) => { $crate::Value::Number($crate::Width::U64) };
    (Word $($text:literal => $variant:ident),*) => {
        $crate::Value::Word(&[$($crate::Word::new($text, stringify!($variant))),*])
    };
    (WordOrTime $time:ident $(, $text:literal => $variant:ident)*) => {
        $crate::Value::WordOrTime(&[$($crate::Word::new($text, stringify!($variant))),*])
    };
    ($kind:ident) => { $crate::Value::$kind };
}

impl Word {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(text: &'static str, variant: &'static str) -> Self {
        Self { text, variant }
    }
}

impl Width {
    /// The largest number.
    #[must_use]
    pub fn max(self) -> u64 {
        match self {
            Self::U32 => u32::MAX.into(),
            Self::U64 => u64::MAX,
        }
    }

    /// The type.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::U32 => "u32",
            Self::U64 => "u64",
        }
    }
}

impl Value {
    /// Reads a value; `None` if the text is none.
    #[must_use]
    pub fn parse<'a>(&self, text: &'a str) -> Option<Given<'a>> {
        let word = |words: &[Word]| words.iter().position(|word| word.text == text);
        let or_none =
            |given: Option<Given<'a>>| if text == "none" { Some(Given::None) } else { given };
        match self {
            Self::Strategy => (!text.is_empty()).then_some(Given::Text(text)),
            Self::File | Self::Recording => {
                or_none((!text.is_empty()).then_some(Given::Text(text)))
            }
            Self::Address => or_none(text.contains("{path}").then_some(Given::Text(text))),
            Self::Number(width) => {
                let number = units::number(text).filter(|n| *n <= width.max());
                or_none(number.map(Given::Number))
            }
            Self::Time => or_none(units::time(text).map(Given::Time)),
            Self::Memory => or_none(units::bytes(text).map(Given::Number)),
            Self::Size => units::bytes(text).map(Given::Number),
            Self::Flag => text.parse().ok().map(Given::Flag),
            Self::MaybeFlag => or_none(text.parse().ok().map(Given::Flag)),
            Self::Word(words) => word(words).map(Given::Word),
            Self::WordOrTime(words) => {
                word(words).map(Given::Word).or_else(|| units::time(text).map(Given::Time))
            }
        }
    }

    /// What a value must be, to stand after "it must be".
    #[must_use]
    pub fn expected(&self) -> String {
        match self {
            Self::Strategy => "a strategy such as auto, random or dfs".to_owned(),
            Self::Number(_) => "a whole number such as 5000, or none".to_owned(),
            Self::Time => "a time such as 500ms, 10s, 2m or 1h, or none".to_owned(),
            Self::Memory => "a number of bytes such as 512m or 4g, or none".to_owned(),
            Self::Size => "a number of bytes such as 262144, 256k or 2m".to_owned(),
            Self::Flag | Self::MaybeFlag => "true or false".to_owned(),
            Self::Word(words) => match words.split_last() {
                Some((last, rest)) if !rest.is_empty() => {
                    format!("{} or {}", list(rest), last.text)
                }
                _ => list(words),
            },
            Self::WordOrTime(words) => format!("{}, or a time such as 500ms", list(words)),
            Self::File => "the path of a file".to_owned(),
            Self::Recording => "a token (rd1…), or the path of a file that raddle wrote".to_owned(),
            Self::Address => {
                "an address such as vscode://file{path}:{line}:{column}, or none".to_owned()
            }
        }
    }
}

fn list(words: &[Word]) -> String {
    let words: Vec<_> = words.iter().map(|word| word.text).collect();
    words.join(", ")
}
