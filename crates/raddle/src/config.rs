//! What a search is run with. Fields, defaults and variables come from the table of `raddle_knobs`.

use std::time::Duration;

use raddle_engine::Teardown;
use raddle_knobs::Value;
use raddle_trace::{Note, Outcome, Settings, Timeouts};

use crate::error::Error;
use crate::progress::{ProgressListener, ShowProgress};
use crate::tree::Tree;

mod field;
mod setters;
mod vars;

use field::{Field, words};

/// Executions of a sampler, or of [`AUTO`] in all, if neither executions nor time are given.
pub(crate) const EXECUTIONS: u64 = 10_000;

/// [`Config::rounds`] of a reduction. Few, because each multiplies what there is to run; and more than one, because a
/// method that is called twice looks twice at the same place.
pub(crate) const ROUNDS: u32 = 2;

/// The strategy that is used if none is named.
pub(crate) const AUTO: &str = "auto";

/// Whether the values of [`rng`](crate::rng()) are decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Data {
    /// Every value is a decision, so a systematic search tries them all.
    #[default]
    Decisions,
    /// Every value is drawn from the seed, the same in every execution. The report says so.
    Seeded,
}

/// Whether it is learned which statement directly preceded which.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pairs {
    /// No, but by strategies that need it.
    #[default]
    Off,
    /// Yes, and the report says how many pairs there are and how they grew.
    Count,
    /// Also, [`check`](crate::check()) leaves what was learned under `target/raddle/` if the test passes,
    /// begins with what the last run left there, and says what is new. A guided search (`hapset(dpor)`)
    /// then goes on where the last one stopped. Lines that were changed drop their pairs.
    Keep,
}

/// Whether it is learned in which orders actors receive their messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Receives {
    /// No, but by strategies that need it.
    #[default]
    Off,
    /// Yes, and the report says of how many pairs of receives both orders were seen, and names others.
    Count,
    /// Also, [`check`](crate::check()) leaves what was learned under `target/raddle/` if the test passes, and begins
    /// with what the last run left there.
    Keep,
}

/// Whether executions share a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Isolation {
    /// All executions run in the process of the test: some hundred thousand a second. What they leave in
    /// statics is there in the next one.
    #[default]
    None,
    /// Each execution runs in a fork of a process that has run none: about a thousand a second. Statics start
    /// anew, and one that ends its process is a failure like others, after which the search goes on. Not on
    /// Windows. What the test prints is not caught by the test harness.
    Process,
}

/// How [`check`](crate::check()) expects a test to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Expect {
    /// Without a failure.
    #[default]
    Pass,
    /// With a panic that was not caught.
    Panic,
    /// With a deadlock.
    Deadlock,
    /// With a livelock.
    Livelock,
    /// With a stack overflow.
    StackOverflow,
    /// With a data race.
    DataRace,
}

impl Expect {
    /// With an article, as in a message.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pass => "a pass",
            Self::Panic => "a panic",
            Self::Deadlock => "a deadlock",
            Self::Livelock => "a livelock",
            Self::StackOverflow => "a stack overflow",
            Self::DataRace => "a data race",
        }
    }

    pub(crate) fn is_met_by(self, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::Panicked { .. } | Outcome::Died { panic: Some(_), .. } => self == Self::Panic,
            Outcome::Deadlock { .. } => self == Self::Deadlock,
            Outcome::Livelock { .. } => self == Self::Livelock,
            Outcome::StackOverflow { .. } => self == Self::StackOverflow,
            Outcome::DataRace(_) => self == Self::DataRace,
            _ => false,
        }
    }
}

/// What the environment says that is no knob; nothing, if it was not read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Env {
    /// Whether the variable `CI` is set; `None` if the environment was not read.
    pub(crate) ci: Option<bool>,
    /// The job of `cargo raddle`, as it stands in the variable.
    pub(crate) host: Option<String>,
    /// The package of the test, for the command that replays it.
    pub(crate) package: Option<String>,
    /// Whether it is a `#[raddle::test]`: `cargo raddle` finds those, and no others.
    pub(crate) is_marked: bool,
    /// Where the package is, to find the directory for saved failures.
    pub(crate) manifest_dir: Option<String>,
    /// The build directory, if it is not the usual one.
    pub(crate) target_dir: Option<String>,
    /// Differences that every report names, from a package that stands in for another tool.
    pub(crate) differences: Vec<String>,
}

/// The configuration and what follows from the table: fields, defaults, texts.
macro_rules! config {
    (config { $(
        $(#[$doc:meta])*
        $name:ident: $ty:ty {
            value: ($($value:tt)*),
            default: $default:literal,
            scope: $scope:ident,
            $(instead: $instead:literal,)?
            $(same_to_resume: $same:literal,)?
            line: $line:literal,
        }
    )* } $($driver:tt)*) => {
        /// What a search is run with.
        ///
        /// The fields are also the knobs of [`#[raddle::test]`](macro@crate::test), and each has an
        /// environment variable, `RADDLE_` and the field's name, that [`with_env`](Self::with_env) reads.
        /// A budget that is `None` is not limited, except as said.
        ///
        /// ```
        /// let mut config = raddle::Config::default().strategy("pct(3)").executions(1_000);
        /// // The fields are public: to take a limit back, assign to its field.
        /// config.executions = None;
        /// ```
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Config {
            $($(#[$doc])* pub $name: $ty,)*
            /// What the test is called in reports. `None`: as its OS thread, if the test harness named it.
            pub test: Option<String>,
            /// Hears how far the search is. No variable and no knob.
            pub observer: Option<ProgressListener>,
            /// Keeps the decisions of the first executions, to look at. No variable and no knob; `cargo raddle test
            /// --tree` sets it.
            pub tree: Option<Tree>,
            /// What the environment says besides.
            pub(crate) env: Env,
        }

        impl Default for Config {
            /// As in the table of [`with_env`](Self::with_env), under "if not set"; a pass is expected; what is no
            /// knob is `None`.
            fn default() -> Self {
                Self {
                    $($name: default(const { raddle_knobs::value!($($value)*) }, $default),)*
                    test: None,
                    observer: None,
                    tree: None,
                    env: Env::default(),
                }
            }
        }

        impl Config {
            /// Sets a knob from text. `None` if it is no value of the knob, or there is no such knob.
            fn set(&mut self, knob: &str, text: &str) -> Option<()> {
                match knob {
                    $(stringify!($name) => {
                        self.$name = field::parse(const { raddle_knobs::value!($($value)*) }, text)?;
                    })*
                    _ => return None,
                }
                Some(())
            }

            /// The knobs that decide which executions there are, besides strategy and seed, as text.
            pub(crate) fn same_to_resume(&self) -> Vec<(&'static str, String)> {
                let knobs = [$((stringify!($name), self.$name.text(), [$($same)?].contains(&true))),*];
                knobs.into_iter().filter(|knob| knob.2).map(|(name, text, _)| (name, text)).collect()
            }
        }

        $(words! { $ty: $($value)* })*
    };
}

raddle_knobs::with_knobs! { config }

/// The default of a field, which the table has as text.
fn default<T: Field>(value: Value, text: &str) -> T {
    field::parse(value, text).expect("the table has defaults of the fields' types")
}

impl Config {
    /// This configuration, with one more note for every report: for a package that stands in for another tool, which says
    /// how it differs from that.
    #[doc(hidden)]
    #[must_use]
    pub fn with_difference(mut self, text: impl Into<String>) -> Self {
        self.env.differences.push(text.into());
        self
    }

    /// Those notes.
    pub(crate) fn differences(&self) -> impl Iterator<Item = Note> {
        self.env.differences.iter().map(|text| Note::Difference { text: text.clone() })
    }

    /// The defaults, changed by the environment: see [`with_env`](Self::with_env).
    ///
    /// # Errors
    /// As for `with_env`.
    pub fn from_env() -> Result<Self, Error> {
        Self::default().with_env()
    }

    /// This configuration, changed by the environment.
    ///
    /// A variable is `RADDLE_` and the name of the field in capital letters:
    #[doc = raddle_knobs::variables_table!()]
    ///
    /// An empty value is as if the variable were not set. `RADDLE_STRATEGY` also takes back the
    /// field `preemptions`, which belongs to the strategy that was there. Of other variables `CI` is
    /// read, for [`progress`](Self::progress), and where cargo builds; `RADDLE_HOST` is set by `cargo raddle`.
    /// Nothing else in raddle reads the environment.
    ///
    /// # Errors
    /// If a value does not parse, or if a variable begins with `RADDLE_` and is none of these.
    pub fn with_env(self) -> Result<Self, Error> {
        vars::apply(self, &vars::of_process()?)
    }

    /// The seed of all that is drawn.
    pub(crate) fn seed_or_default(&self) -> u64 {
        self.seed.unwrap_or(0)
    }

    /// The composition to build; `None` for `auto`.
    pub(crate) fn composition(&self) -> Option<String> {
        let auto = self.strategy.trim() == AUTO;
        match self.preemptions {
            None if auto => None,
            None => Some(self.strategy.clone()),
            Some(k) => {
                let strategy = if auto { "dfs" } else { self.strategy.trim() };
                Some(format!("{strategy} preemptions({k})"))
            }
        }
    }

    /// What decides which decision points executions have.
    pub(crate) fn settings(&self) -> Settings {
        let data_seed = match self.data {
            Data::Decisions => None,
            Data::Seeded => Some(self.seed_or_default()),
        };
        let rounds = self.rounds.filter(|&most| most > 0);
        Settings { timeouts: self.timeouts, spurious: self.spurious, data_seed, rounds }
    }

    /// The same for one search: a reduction cannot cover tasks that spin for ever.
    pub(crate) fn settings_of(&self, reduces: bool) -> Settings {
        let rounds = if reduces && self.rounds.is_none() { Some(ROUNDS) } else { None };
        let settings = self.settings();
        Settings { rounds: settings.rounds.or(rounds), ..settings }
    }
}
