//! The settings of raddle, each written once.
//!
//! [`with_knobs!`] is the table. From an entry come a field of `raddle::Config` with its default, a key
//! of `#[raddle::test]`, a variable, a flag of `cargo raddle`, a key of `raddle.toml`, the check of a
//! given value, the sentence that says what it must be, and the reference documentation. To add a
//! setting is to add an entry, and the code that uses the field.
//!
//! The crate has no dependencies: the attribute macro, the library and the driver all use it, and a
//! procedural macro should not have to wait for serde.

mod reference;
pub mod spelling;
mod table;
pub mod units;
mod value;

pub use spelling::nearest;
pub use value::{Given, Value, Width, Word};

/// What all variables begin with.
pub const PREFIX: &str = "RADDLE_";

/// The variable that names a profile of `raddle.toml`.
pub const PROFILE: &str = "RADDLE_PROFILE";

/// Variables of raddle's own test suites. They configure no search, and are not refused as unknown.
pub const OF_OUR_TESTS: [&str; 4] = ["RADDLE_LONG", "RADDLE_FROM", "RADDLE_MOST", "RADDLE_BROWSER"];

/// One setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Knob {
    /// The field, and the key: `execution_time`.
    pub name: &'static str,
    /// The type of the field, without its path.
    pub ty: &'static str,
    /// What it may be set to.
    pub value: Value,
    /// What it is if nothing is said, as text.
    pub default: &'static str,
    /// Where it can be given.
    pub scope: Scope,
    /// What to do instead of giving it to `cargo raddle`, if that refuses it.
    pub instead: Option<&'static str>,
    /// Whether it decides which executions there are, so that a search can only be resumed with the same
    /// value.
    pub same_to_resume: bool,
    /// What it is, in one line.
    pub line: &'static str,
}

/// Where a setting can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scope {
    /// Everywhere: field, attribute, variable, flag and key of a profile.
    Search,
    /// Field and variable: it is about one run of one test.
    Run,
    /// Field and attribute: it is a property of the test.
    Test,
    /// Variable, flag and key of a profile: it is the driver's own.
    Driver,
}

impl Knob {
    /// The variable: `RADDLE_EXECUTION_TIME`.
    ///
    /// ```
    /// let knob = raddle_knobs::find("execution_time").expect("a knob");
    /// assert_eq!(knob.variable(), "RADDLE_EXECUTION_TIME");
    /// assert_eq!(knob.flag(), "execution-time");
    /// ```
    #[must_use]
    pub fn variable(&self) -> String {
        format!("{PREFIX}{}", self.name.to_ascii_uppercase())
    }

    /// The flag, without its dashes: `execution-time`.
    #[must_use]
    pub fn flag(&self) -> String {
        self.name.replace('_', "-")
    }

    /// Whether it is a key of `#[raddle::test]`.
    #[must_use]
    pub fn is_attribute(&self) -> bool {
        matches!(self.scope, Scope::Search | Scope::Test)
    }

    /// Whether it is a variable that the library reads.
    #[must_use]
    pub fn is_variable(&self) -> bool {
        matches!(self.scope, Scope::Search | Scope::Run)
    }

    /// Whether it is a flag of `cargo raddle` and a key of a profile.
    #[must_use]
    pub fn is_flag(&self) -> bool {
        matches!(self.scope, Scope::Search | Scope::Driver)
    }

    /// The setting that is taken back where this one is given: a bound belongs to the strategy that was
    /// there before.
    #[must_use]
    pub fn takes_back(&self) -> Option<&'static str> {
        (self.name == "strategy").then_some("preemptions")
    }

    /// What is wrong with a value that was given as `place` (a variable, a flag, a key).
    ///
    /// # Errors
    /// The sentence, if something is.
    pub fn check(&self, place: &str, text: &str) -> Result<(), String> {
        match self.value.parse(text) {
            Some(_) => Ok(()),
            None => Err(format!("{place} is `{text}`; it must be {}", self.value.expected())),
        }
    }
}

/// The knob of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Knob> {
    KNOBS.iter().find(|knob| knob.name == name)
}

/// All variables that any part of raddle reads, but for the one that starts a host.
pub fn variables() -> impl Iterator<Item = String> {
    let others = OF_OUR_TESTS.into_iter().chain([PROFILE]).map(str::to_owned);
    let is_one = |knob: &&Knob| knob.scope != Scope::Test;
    KNOBS.iter().filter(is_one).map(Knob::variable).chain(others)
}

macro_rules! list {
    (
        config { $($config:tt)* }
        driver { $($driver:tt)* }
    ) => {
        list! { @entries $($config)* $($driver)* }
    };
    (@entries $(
        $(#[$doc:meta])*
        $name:ident: $ty:ty {
            value: ($($value:tt)*),
            default: $default:literal,
            scope: $scope:ident,
            $(instead: $instead:literal,)?
            $(same_to_resume: $same:literal,)?
            line: $line:literal,
        }
    )*) => {
        /// Every setting, in the order in which they are documented and applied.
        pub const KNOBS: &[Knob] = &[$(
            Knob {
                name: stringify!($name),
                ty: stringify!($ty),
                value: $crate::value!($($value)*),
                default: $default,
                scope: Scope::$scope,
                instead: list!(@option $($instead)?),
                same_to_resume: list!(@flag $($same)?),
                line: $line,
            },
        )*];
    };
    (@option) => { None };
    (@option $text:literal) => { Some($text) };
    (@flag) => { false };
    (@flag $value:literal) => { $value };
}

with_knobs! { list }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_values() {
        for knob in KNOBS {
            assert!(knob.value.parse(knob.default).is_some(), "{}", knob.name);
        }
    }

    #[test]
    fn names_are_unique_and_the_strategy_comes_before_its_bound() {
        for (at, knob) in KNOBS.iter().enumerate() {
            assert_eq!(KNOBS.iter().position(|other| other.name == knob.name), Some(at));
        }
        let at = |name: &str| KNOBS.iter().position(|knob| knob.name == name);
        assert!(at("strategy") < at("preemptions"), "the first takes the second back");
    }

    #[test]
    fn values_are_accepted_or_not() {
        let accepts =
            |name: &str, text: &str| find(name).expect("a knob").value.parse(text).is_some();
        for (name, right, wrong) in [
            ("executions", ["10_000", "none"], ["many", "-1"]),
            ("tasks", ["4294967295", "0"], ["4294967296", "1k"]),
            ("time", ["500ms", "1h"], ["10", "1.5s"]),
            ("memory", ["512m", "none"], ["4t", "20000000000g"]),
            ("stack_size", ["64k", "65536"], ["none", ""]),
            ("timeouts", ["idle", "never"], ["always", ""]),
            ("traces", ["true", "false"], ["yes", "1"]),
            ("progress", ["auto", "500ms"], ["none", "10"]),
        ] {
            assert!(right.iter().all(|text| accepts(name, text)), "{name}");
            assert!(!wrong.iter().any(|text| accepts(name, text)), "{name}");
        }
    }
}
