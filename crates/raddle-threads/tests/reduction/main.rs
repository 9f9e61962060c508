//! Reduction against exhaustive search: the same traces, each once, and the same final states.

mod agreement;
mod best_first;
mod bounded;
mod cache;
mod counts;
mod explorers;
mod hapset;
mod idle;
mod in_units;
#[cfg(unix)]
mod isolation;
mod programs;
mod random;
mod receives;
mod saving;
mod spins;
mod units;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use raddle_engine::observer::{Observer, Observers};
use raddle_engine::strategy::{Finished, Strategy};
use raddle_engine::{Ended, Explored, Limits, Setup, Stop, explore_observed};
use raddle_search::DepthFirst;
use raddle_search::traces::TraceCounter;
use raddle_search::{Dpor, Reduction};
use raddle_testing::SizeProbes;
use raddle_trace::{Assumption, Covered, Settings};

/// What a whole search saw.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Saw {
    pub(crate) traces: BTreeSet<u64>,
    /// The program's results; an execution without one (a deadlock) gives its kind.
    pub(crate) results: BTreeSet<String>,
    pub(crate) executions: u64,
    pub(crate) blocked: u64,
    pub(crate) repeated: u64,
}

/// Keeps the schedules of a search, in order.
#[derive(Debug, Default)]
pub(crate) struct Schedules(pub(crate) Vec<Vec<u32>>);

impl Observer for Schedules {
    fn end(&mut self, execution: &Finished<'_>) {
        self.0.push(execution.decisions.iter().map(|taken| taken.option).collect());
    }
}

/// Explores until nothing is left or a limit is reached, with observers.
pub(crate) fn observed(
    strategy: &mut dyn Strategy,
    observers: Observers<'_, '_>,
    setup: &Setup,
    body: &dyn Fn(),
) -> Explored {
    explore_observed(strategy, observers, setup, &mut |_| Stop::No, &mut |_| {}, body)
        .expect("a search can run here")
}

/// Runs a whole search. `None` if it does not end within `most` executions.
pub(crate) fn search<S: Strategy>(
    strategy: S,
    most: u64,
    settings: Settings,
    program: &dyn Fn() -> String,
) -> Option<Saw> {
    let (saw, covered) = search_to_its_end(strategy, most, settings, program)?;
    let claims = !matches!(covered, Covered::Part { .. } | Covered::Reduced { .. });
    assert!(claims, "it has ended and claims {covered:?}");
    Some(saw)
}

/// The same, with what the search claims.
pub(crate) fn search_to_its_end<S: Strategy>(
    mut strategy: S,
    most: u64,
    settings: Settings,
    program: &dyn Fn() -> String,
) -> Option<(Saw, Covered)> {
    let mut traces = TraceCounter::new(usize::MAX);
    // A loop that never ends is run to this limit in every execution that has it.
    let fruitless = settings.rounds.map_or(Limits::default().fruitless, |_| 60);
    let limits = Limits { executions: most, fruitless, ..Limits::default() };
    let setup = Setup { limits, keep_going: true, settings, ..Setup::default() };
    let results = Mutex::new(BTreeSet::new());
    let body = || {
        let result = program();
        results.lock().unwrap_or_else(PoisonError::into_inner).insert(result);
    };
    let explored = observed(&mut strategy, &mut [&mut traces], &setup, &body);
    // A task that was held back after yields makes equivalent executions differ.
    let held_back = explored.assumptions.contains(&Assumption::FairYields);
    if explored.ended == Ended::Executions || held_back {
        return None;
    }
    assert_eq!(explored.ended, Ended::Covered);
    assert_eq!(explored.counts.rejected, 0);
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.extend(explored.kinds.keys().map(|kind| (*kind).to_owned()));
    let saw = Saw {
        traces: traces.seen().clone(),
        results,
        executions: explored.counts.executions,
        blocked: explored.counts.blocked,
        repeated: traces.repeated(),
    };
    Some((saw, strategy.covered()))
}

/// Whether a program cannot be compared, as a few random executions of it tell; most that cannot are known by them.
pub(crate) fn is_out_of_reach(
    most: u64,
    settings: Settings,
    program: &dyn Fn() -> String,
) -> Option<OutOfReach> {
    let mut probes = SizeProbes::new(most);
    let setup = Setup { keep_going: true, settings, ..Setup::default() };
    let explored = observed(&mut probes, &mut [], &setup, &|| drop(program()));
    if probes.finds_too_many() {
        Some(OutOfReach::TooLarge)
    } else if explored.assumptions.contains(&Assumption::FairYields) {
        Some(OutOfReach::HoldsBack)
    } else {
        None
    }
}

/// Why a program cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutOfReach {
    /// It has too many interleavings.
    TooLarge,
    /// A task is held back after yields: no reduction has the executions of another search then.
    HoldsBack,
}

/// Every interleaving.
pub(crate) fn exhaustive(
    most: u64,
    settings: Settings,
    program: &dyn Fn() -> String,
) -> Option<Saw> {
    search(DepthFirst::default(), most, settings, program)
}

/// One execution for each trace.
pub(crate) fn reduced(
    reduction: Reduction,
    most: u64,
    settings: Settings,
    program: &dyn Fn() -> String,
) -> Option<Saw> {
    search(Dpor::new(reduction), most, settings, program)
}
