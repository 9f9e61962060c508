//! shuttle's schedulers, each as the strategy of raddle that does the same.

use std::io;
use std::path::Path;

mod sealed {
    /// How a test is searched, in raddle's words.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Search {
        /// The strategy.
        pub strategy: String,
        /// At most so many executions; all if that is left out.
        pub executions: Option<usize>,
        /// The seed of all that is drawn.
        pub seed: Option<u64>,
        /// Values of `rand` are drawn from the seed instead of being decided.
        pub seeded_values: bool,
        /// The one execution to run again.
        pub replay: Option<String>,
        /// What the scheduler is asked for and does not do here.
        pub differences: Vec<&'static str>,
    }

    /// Schedulers of this crate only: raddle asks a `Strategy`.
    pub trait Sealed {
        fn search(&self) -> Search;
    }
}

pub(crate) use sealed::{Sealed, Search};

impl Search {
    fn new(strategy: impl Into<String>, executions: Option<usize>) -> Self {
        let strategy = strategy.into();
        Self {
            strategy,
            executions,
            seed: None,
            seeded_values: false,
            replay: None,
            differences: Vec::new(),
        }
    }

    /// With this seed, unless `SHUTTLE_RANDOM_SEED` has another.
    fn seeded(self, seed: Option<u64>) -> Self {
        let said = std::env::var("SHUTTLE_RANDOM_SEED").ok();
        let said = said.map(|text| {
            text.parse().unwrap_or_else(|error| {
                panic!("SHUTTLE_RANDOM_SEED is {text:?} ({error}): make it a number, or unset it")
            })
        });
        Self { seed: said.or(seed), ..self }
    }

    fn different(mut self, what: &'static str) -> Self {
        self.differences.push(what);
        self
    }
}

pub use crate::current::TaskId;

/// One of the schedulers of this module.
///
/// With shuttle this is what users implement. Here an own scheduler is a `Strategy` of raddle.
pub trait Scheduler: Sealed {}

macro_rules! schedulers {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name(Search);

        impl Sealed for $name {
            fn search(&self) -> Search {
                self.0.clone()
            }
        }

        impl Scheduler for $name {}
    )*};
}

schedulers! {
    /// At every point any task with the same chance: `random`.
    RandomScheduler;
    /// Random priorities, changed at a few random steps: `pct(d)`.
    PctScheduler;
    /// Every execution, depth first: `dfs`.
    DfsScheduler;
    /// Every interleaving with about the same chance: `urw`.
    UrwRandomScheduler;
    /// One step of each task in turn: `round-robin`.
    RoundRobinScheduler;
    /// One execution again.
    ReplayScheduler;
}

impl RandomScheduler {
    /// At most so many executions.
    #[must_use]
    pub fn new(max_iterations: usize) -> Self {
        Self(Search::new("random", Some(max_iterations)).seeded(None))
    }

    /// With this seed.
    #[must_use]
    pub fn new_from_seed(seed: u64, max_iterations: usize) -> Self {
        Self(Search::new("random", Some(max_iterations)).seeded(Some(seed)))
    }
}

impl PctScheduler {
    /// Bugs of this depth with a known chance; at most so many executions.
    #[must_use]
    pub fn new(max_depth: usize, max_iterations: usize) -> Self {
        Self(Search::new(format!("pct({max_depth})"), Some(max_iterations)).seeded(None))
    }

    /// With this seed.
    #[must_use]
    pub fn new_from_seed(seed: u64, max_depth: usize, max_iterations: usize) -> Self {
        Self(Search::new(format!("pct({max_depth})"), Some(max_iterations)).seeded(Some(seed)))
    }
}

impl DfsScheduler {
    /// At most so many executions, or all. Values of [`rand`](crate::rand) are drawn from one seed if they are allowed, and
    /// otherwise decisions like all others: every value is tried.
    #[must_use]
    pub fn new(max_iterations: Option<usize>, allow_random_data: bool) -> Self {
        let search = Search::new("dfs", max_iterations);
        Self(Search { seeded_values: allow_random_data, ..search })
    }
}

impl UrwRandomScheduler {
    /// At most so many executions.
    #[must_use]
    pub fn new(max_iterations: usize) -> Self {
        Self(Search::new("urw", Some(max_iterations)).seeded(None))
    }

    /// With this seed.
    #[must_use]
    pub fn new_from_seed(seed: u64, max_iterations: usize) -> Self {
        Self(Search::new("urw", Some(max_iterations)).seeded(Some(seed)))
    }
}

impl RoundRobinScheduler {
    /// The one execution that there is, at most so often.
    #[must_use]
    pub fn new(max_iterations: usize) -> Self {
        Self(Search::new("round-robin", Some(max_iterations)))
    }
}

impl Default for RoundRobinScheduler {
    fn default() -> Self {
        Self::new(1)
    }
}

impl ReplayScheduler {
    /// The execution of a token that raddle printed (`rd1…`).
    #[must_use]
    pub fn new_from_encoded(encoded_schedule: &str) -> Self {
        let search = Search::new("random", None);
        Self(Search { replay: Some(encoded_schedule.trim().to_owned()), ..search })
    }

    /// The execution of a file with such a token, or of one that raddle wrote.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn new_from_file<P: AsRef<Path>>(path: P) -> io::Result<Self> {
        let text = std::fs::read_to_string(&path)?;
        // A report of raddle's own is found by its path.
        if text.trim_start().starts_with('{') {
            return Ok(Self::new_from_encoded(&path.as_ref().to_string_lossy()));
        }
        Ok(Self::new_from_encoded(&text))
    }

    /// Changes nothing: a test that goes on after the end of a recording, or ends before, is told so in its report.
    pub fn set_allow_incomplete(&mut self) {
        let search = self.0.clone();
        self.0 = search.different(
            "ReplayScheduler::set_allow_incomplete changes nothing here: a test that does not end where the recording does is \
             reported as one that did not repeat it",
        );
    }
}

/// Looks for nondeterminism that is not under control. raddle does so with every strategy: it compares each
/// repeated prefix, so this is the scheduler that it is given.
#[derive(Clone, Debug)]
pub struct UncontrolledNondeterminismCheckScheduler<S>(S);

impl<S: Scheduler> UncontrolledNondeterminismCheckScheduler<S> {
    /// Like `scheduler`.
    #[must_use]
    pub fn new(scheduler: S) -> Self {
        Self(scheduler)
    }
}

impl<S: Scheduler> Sealed for UncontrolledNondeterminismCheckScheduler<S> {
    fn search(&self) -> Search {
        self.0.search()
    }
}

impl<S: Scheduler> Scheduler for UncontrolledNondeterminismCheckScheduler<S> {}

/// Writes what happens to a file, with shuttle. Here it is the scheduler that it is given: the report has the steps.
#[derive(Clone, Debug)]
pub struct AnnotationScheduler<S>(S);

impl<S: Scheduler> AnnotationScheduler<S> {
    /// Like `scheduler`.
    #[must_use]
    pub fn new(scheduler: S) -> Self {
        Self(scheduler)
    }
}

impl<S: Scheduler> Sealed for AnnotationScheduler<S> {
    fn search(&self) -> Search {
        self.0.search().different(
            "no annotated schedule is written here: the report has the steps, and `cargo raddle` makes a page of it",
        )
    }
}

impl<S: Scheduler> Scheduler for AnnotationScheduler<S> {}

impl Sealed for Box<dyn Scheduler + Send> {
    fn search(&self) -> Search {
        (**self).search()
    }
}

impl Scheduler for Box<dyn Scheduler + Send> {}
