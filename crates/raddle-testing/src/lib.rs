//! How large the tests of this workspace are, which programs are too large for them, and where they write down what
//! they compared.
//!
//! Only dev-dependencies name this crate: it is no part of what users compile. Its variables:
//!
//! - `RADDLE_LONG`: `1` makes the long tests long; unset, empty or `0` does not. Anything else is refused.
//! - `COMPARE_PROGRAMS`, `COMPARE_FROM`, `COMPARE_MOST`: how many random programs a comparison looks at,
//!   how far behind its first seed it begins, and how many interleavings a program may have.
//! - `COMPARE_SHRINK`: `0` leaves a random program that fails as large as it is.
//! - `COMPARE_FIGURES`: the file to which a comparison appends its figures, a line each. By it
//!   `cargo xtask nightly` knows them.
//!
//! Those of the second kind do not begin with `RADDLE_`, because every test under raddle refuses such a
//! variable that it does not know.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;

pub use self::delays::{Rule, WithinDelays};
pub use self::size::SizeProbes;

mod delays;
mod size;

/// Whether the tests that take minutes are wanted: `RADDLE_LONG=1`.
///
/// # Panics
/// If `RADDLE_LONG` is neither `0` nor `1`.
#[must_use]
pub fn long() -> bool {
    means_long(&variable("RADDLE_LONG").unwrap_or_default())
}

fn means_long(value: &str) -> bool {
    match value {
        "" | "0" => false,
        "1" => true,
        other => panic!("RADDLE_LONG is `{other}`; it is 0 or 1"),
    }
}

/// Which random programs a comparison looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// How many it compares.
    pub programs: u64,
    /// How many interleavings, or executions, of one program are too many.
    pub most: u64,
    /// The first seed, counted from the comparison's own.
    pub from: u64,
    /// Whether this is the sample of a plain `cargo test`, whose figures are pinned.
    pub default: bool,
}

impl Sample {
    /// `(programs, most)` by default and of the long tests, unless the environment says otherwise.
    ///
    /// # Panics
    /// If a variable is not a number.
    #[must_use]
    pub fn new(short: (u64, u64), long: (u64, u64)) -> Self {
        Self::chosen(short, long, self::long(), &variable)
    }

    fn chosen(
        short: (u64, u64),
        long: (u64, u64),
        is_long: bool,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let number = |name: &str| {
            let text = variable(name)?;
            Some(text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`; it is a number")))
        };
        let [programs, most, from] =
            ["COMPARE_PROGRAMS", "COMPARE_MOST", "COMPARE_FROM"].map(number);
        let default = !is_long && programs.is_none() && most.is_none() && from.is_none();
        let usual = if is_long { long } else { short };
        Self {
            programs: programs.unwrap_or(usual.0),
            most: most.unwrap_or(usual.1),
            from: from.unwrap_or(0),
            default,
        }
    }
}

/// Whether a program that fails is to be made small: unless `COMPARE_SHRINK=0`.
#[must_use]
pub fn shrinks() -> bool {
    variable("COMPARE_SHRINK").is_none_or(|value| value != "0")
}

/// Notes what a comparison came to, for `cargo xtask nightly`: `name key=value …`.
///
/// # Panics
/// If the file cannot be written.
pub fn figures(name: &str, figures: &[(&str, u64)]) {
    let Some(file) = variable("COMPARE_FIGURES") else { return };
    let mut line = name.to_owned();
    for (key, value) in figures {
        let _ = write!(line, " {key}={value}");
    }
    line.push('\n');
    let opened = OpenOptions::new().create(true).append(true).open(&file);
    let written = opened.and_then(|mut opened| opened.write_all(line.as_bytes()));
    written.unwrap_or_else(|error| panic!("{file}: {error}"));
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_not_long() {
        assert!(!means_long("") && !means_long("0") && means_long("1"));
        assert!(std::panic::catch_unwind(|| means_long("yes")).is_err());
    }

    #[test]
    fn the_environment_has_the_last_word_on_a_sample() {
        let sample = |is_long, set: &[(&str, &str)]| {
            let variable = |name: &str| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            Sample::chosen((10, 100), (20, 200), is_long, &variable)
        };
        let short = Sample { programs: 10, most: 100, from: 0, default: true };
        assert_eq!(sample(false, &[]), short);
        let long = Sample { programs: 20, most: 200, from: 0, default: false };
        assert_eq!(sample(true, &[]), long);
        let some = sample(true, &[("COMPARE_PROGRAMS", "3"), ("COMPARE_FROM", "7")]);
        assert_eq!(some, Sample { programs: 3, from: 7, ..long });
        let few = sample(false, &[("COMPARE_MOST", "50")]);
        assert_eq!(few, Sample { most: 50, default: false, ..short });
    }
}
