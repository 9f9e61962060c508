//! A field of the configuration from the text of its knob, and back.

use std::time::Duration;

use raddle_knobs::{Given, Value, units};

/// The type of a field that is a knob.
pub(super) trait Field: Sized {
    /// The value that was read; `None` if it is not of this type.
    fn from_given(given: Given<'_>) -> Option<Self>;

    /// As text that would be read as the same.
    fn text(&self) -> String;
}

/// Reads a field; `None` if the text is no such value.
pub(super) fn parse<T: Field>(value: Value, text: &str) -> Option<T> {
    T::from_given(value.parse(text)?)
}

impl Field for u64 {
    fn from_given(given: Given<'_>) -> Option<Self> {
        if let Given::Number(n) = given { Some(n) } else { None }
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

impl Field for u32 {
    fn from_given(given: Given<'_>) -> Option<Self> {
        u64::from_given(given)?.try_into().ok()
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

impl Field for usize {
    fn from_given(given: Given<'_>) -> Option<Self> {
        u64::from_given(given)?.try_into().ok()
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

impl Field for Duration {
    fn from_given(given: Given<'_>) -> Option<Self> {
        if let Given::Time(time) = given { Some(time) } else { None }
    }

    fn text(&self) -> String {
        units::time_text(*self)
    }
}

impl Field for bool {
    fn from_given(given: Given<'_>) -> Option<Self> {
        if let Given::Flag(flag) = given { Some(flag) } else { None }
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

impl Field for String {
    fn from_given(given: Given<'_>) -> Option<Self> {
        if let Given::Text(text) = given { Some(text.to_owned()) } else { None }
    }

    fn text(&self) -> String {
        self.clone()
    }
}

impl<T: Field> Field for Option<T> {
    fn from_given(given: Given<'_>) -> Option<Self> {
        if given == Given::None { Some(None) } else { T::from_given(given).map(Some) }
    }

    fn text(&self) -> String {
        self.as_ref().map_or_else(|| "none".to_owned(), T::text)
    }
}

/// A type whose values are words of the table; with a time, those that are not are a variant of it.
macro_rules! words {
    ($ty:ty: Word $($text:literal => $variant:ident),*) => {
        impl $crate::config::field::Field for $ty {
            fn from_given(given: raddle_knobs::Given<'_>) -> Option<Self> {
                let raddle_knobs::Given::Word(at) = given else { return None };
                [$(Self::$variant),*].get(at).copied()
            }

            fn text(&self) -> String {
                match self {
                    $(Self::$variant => $text.to_owned(),)*
                }
            }
        }
    };
    ($ty:ty: WordOrTime $time:ident $(, $text:literal => $variant:ident)*) => {
        impl $crate::config::field::Field for $ty {
            fn from_given(given: raddle_knobs::Given<'_>) -> Option<Self> {
                match given {
                    raddle_knobs::Given::Time(time) => Some(Self::$time(time)),
                    raddle_knobs::Given::Word(at) => [$(Self::$variant),*].get(at).copied(),
                    _ => None,
                }
            }

            fn text(&self) -> String {
                match self {
                    Self::$time(time) => raddle_knobs::units::time_text(*time),
                    $(Self::$variant => $text.to_owned(),)*
                }
            }
        }
    };
    ($ty:ty: $($other:tt)*) => {};
}
pub(super) use words;
