//! One program under one strategy: to its first failure, or to the end of the search.

use std::time::Duration;

use peer::cpu_time;
use raddle_corpus::Program;
use raddle_engine::observer::{Observer, Paused};
use raddle_engine::strategy::Strategy as _;
use raddle_engine::{Ended, Lap, Limits, Setup, Stop, explore_observed};
use raddle_search::PairCoverage;
use raddle_search::hapset::{DEFAULT_CALLS, Metric};
use raddle_trace::Progress;

use super::Effort;
use crate::numbers::{duration, grouped};

/// What came of a search.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Result {
    /// The bug, in this execution.
    Found(f64, Duration),
    /// Nothing left to run after so many.
    Ended(u64, Duration),
    /// Given up after so many.
    GaveUp(u64, Duration),
    /// Another failure than the one that is known, or none where there is one.
    Wrong(String),
    /// This version has no such strategy.
    Missing,
}

impl Result {
    /// The execution that showed the bug.
    pub(crate) fn found(&self) -> Option<f64> {
        match self {
            Self::Found(at, _) => Some(*at),
            _ => None,
        }
    }

    /// Executions that were run, whatever came of them.
    pub(crate) fn run(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
        match self {
            Self::Found(at, _) => Some(*at),
            Self::Ended(n, _) | Self::GaveUp(n, _) => Some(*n as f64),
            Self::Wrong(_) | Self::Missing => None,
        }
    }

    /// As a cell of a table: executions, and CPU time.
    pub(crate) fn cell(&self) -> String {
        let time = |time: &Duration| duration(time.as_secs_f64() * 1e9);
        match self {
            Self::Found(at, after) => format!("{} · {}", mean(*at), time(after)),
            Self::Ended(n, after) => format!("{} · {}", grouped(*n), time(after)),
            Self::GaveUp(n, after) => format!("> {} · {}", grouped(*n), time(after)),
            Self::Wrong(what) => what.clone(),
            Self::Missing => "—".to_owned(),
        }
    }

    /// The same where a bug is looked for: a search that ends without it is no success.
    pub(crate) fn hunt(&self) -> String {
        match self {
            Self::Ended(..) => format!("none in {}", self.cell()),
            _ => self.cell(),
        }
    }
}

/// A mean without decimals that say nothing.
pub(crate) fn mean(mean: f64) -> String {
    #[expect(clippy::cast_sign_loss, reason = "executions are counted from 1")]
    if mean < 20.0 && mean.fract() > 0.05 {
        format!("{mean:.1}")
    } else {
        grouped(mean.round() as u64)
    }
}

/// A program with its arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) program: &'static Program,
    pub(crate) arguments: &'static [usize],
}

/// How to search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How<'a> {
    pub(crate) strategy: &'a str,
    pub(crate) seed: u64,
    pub(crate) executions: u64,
    pub(crate) cap: Duration,
    /// Whether it goes on after a failure.
    pub(crate) to_the_end: bool,
    /// The limit on steps, if not that of the program.
    pub(crate) steps: Option<u64>,
    /// Whether pairs of statements are learned of it, whatever the strategy does with them.
    pub(crate) pairs: bool,
}

impl<'a> How<'a> {
    pub(crate) fn new(strategy: &'a str, effort: Effort) -> Self {
        let Effort { executions, cap, .. } = effort;
        Self { strategy, seed: 1, executions, cap, to_the_end: false, steps: None, pairs: false }
    }

    pub(crate) fn to_the_end(self) -> Self {
        Self { to_the_end: true, ..self }
    }
}

/// Sees how far a search is after each execution, with the number of that.
pub(crate) type Look<'a> = dyn FnMut(u64, &Progress) + Send + 'a;

/// Runs a search. `look` is shown how far it is after each execution.
pub(crate) fn search(
    program: &'static Program,
    arguments: &[usize],
    how: How<'_>,
    look: Option<&mut Look<'_>>,
) -> Result {
    let Ok(built) = raddle_search::build(how.strategy, how.seed) else { return Result::Missing };
    let mut strategy = built.strategy;
    let pairs = || PairCoverage::beside(strategy.needs(), Metric::HapSet, DEFAULT_CALLS);
    let mut pairs = how.pairs.then(pairs);
    let mut looking = Looking { look, seen: 0 };
    let mut observers: Vec<&mut dyn Observer> = vec![&mut looking];
    observers.extend(pairs.as_mut().map(|pairs| pairs as &mut dyn Observer));
    let usual = Limits::default();
    let steps = how.steps.or(program.steps).unwrap_or(usual.steps);
    let limits = Limits { executions: how.executions, steps, ..usual };
    let setup = Setup { limits, keep_going: how.to_the_end, ..Setup::default() };
    let begin = cpu_time();
    let mut lap = |_: Lap| {
        if cpu_time().saturating_sub(begin) > how.cap { Stop::Search } else { Stop::No }
    };
    let body = || program.call(arguments);
    let (lap, pulse) = (&mut lap, &mut |_| {});
    let explored = explore_observed(&mut *strategy, &mut observers, &setup, lap, pulse, &body);
    let after = cpu_time().saturating_sub(begin);
    let explored = match explored {
        Ok(explored) => explored,
        Err(error) => return Result::Wrong(error.to_string()),
    };
    let n = explored.counts.executions;
    match (explored.failure, explored.ended) {
        (Some(failure), _) if program.expected.is_met_by(Some(&failure.outcome)) =>
        {
            #[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
            Result::Found(failure.execution as f64, after)
        }
        (Some(failure), _) => Result::Wrong(format!("{} instead", failure.outcome.kind())),
        (None, Ended::Covered) => Result::Ended(n, after),
        (None, _) => Result::GaveUp(n, after),
    }
}

/// To the first failure.
pub(crate) fn until_bug(case: Case, how: How<'_>) -> Result {
    search(case.program, case.arguments, how, None)
}

/// The mean over some seeds; given up if one of them was.
pub(crate) fn mean_until_bug(case: Case, how: How<'_>, seeds: u64) -> Result {
    let (mut sum, mut time) = (0.0, Duration::ZERO);
    for seed in 0..seeds {
        match until_bug(case, How { seed, ..how }) {
            Result::Found(at, after) => (sum, time) = (sum + at, time + after),
            other => return other,
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "there are a few seeds")]
    Result::Found(sum / seeds as f64, time / u32::try_from(seeds).unwrap_or(u32::MAX))
}

/// Shows how far a search is after each execution.
struct Looking<'a, 'b> {
    look: Option<&'a mut Look<'b>>,
    seen: u64,
}

impl Looking<'_, '_> {
    fn see(&mut self, search: &Paused<'_, '_>) {
        let executions = search.counts().executions;
        if let Some(look) = &mut self.look
            && executions > self.seen
        {
            self.seen = executions;
            look(executions, &search.progress());
        }
    }
}

impl Observer for Looking<'_, '_> {
    fn between(&mut self, search: &mut Paused<'_, '_>) {
        self.see(search);
    }

    fn finish(&mut self, search: &mut Paused<'_, '_>, _: &Ended) {
        self.see(search);
    }
}

#[cfg(test)]
mod checks {
    use super::*;

    fn case(name: &str) -> Case {
        let (program, _) = raddle_corpus::find(name, &[]).expect("it is in the corpus");
        Case { program, arguments: &[] }
    }

    const EFFORT: Effort = Effort { executions: 1_000, cap: Duration::from_secs(20), seeds: 3 };

    #[test]
    fn a_bug_is_found_and_a_search_goes_on_to_its_end() {
        let how = How::new("dfs", EFFORT);
        let found = until_bug(case("abba"), how);
        assert!(found.found().is_some_and(|at| at > 1.0), "{found:?}");
        let ended = until_bug(case("abba"), how.to_the_end());
        assert!(matches!(ended, Result::Ended(n, _) if n > 1), "{ended:?}");
    }

    #[test]
    fn a_search_is_given_up_after_its_executions() {
        let how = How { executions: 7, ..How::new("random", EFFORT) };
        let given_up = until_bug(case("abba-fixed"), how);
        assert!(matches!(given_up, Result::GaveUp(7, _)), "{given_up:?}");
    }

    #[test]
    fn a_strategy_that_is_not_here_is_missing() {
        assert_eq!(until_bug(case("abba"), How::new("no-such-strategy", EFFORT)), Result::Missing);
        assert_eq!(Result::Missing.cell(), "—");
    }

    #[test]
    fn a_mean_has_decimals_where_they_say_something() {
        assert_eq!([3.0, 3.25, 1_234.5].map(mean), ["3", "3.2", "1,235"]);
    }
}
