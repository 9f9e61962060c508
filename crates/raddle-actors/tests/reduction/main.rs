//! Reduction against exhaustive search, for actors: the same traces, each once, and the same final
//! states, whatever the mailboxes.

mod beside;
mod bita;
mod counts;
mod explorers;
#[path = "../../../raddle-threads/tests/reduction/in_units.rs"]
mod in_units;
mod prices;
mod random;
mod saving;
mod units;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use raddle_engine::Strategy;
use raddle_engine::{Ended, Limits, Setup, Stop, explore_observed};
use raddle_search::DepthFirst;
use raddle_search::traces::TraceCounter;
use raddle_search::{Dpor, Reduction};
use raddle_testing::SizeProbes;

/// What a whole search saw.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Saw {
    pub(crate) traces: BTreeSet<u64>,
    /// The program's results; an execution without one (a failure) gives its kind.
    pub(crate) results: BTreeSet<String>,
    pub(crate) executions: u64,
    pub(crate) blocked: u64,
    pub(crate) repeated: u64,
}

/// Runs a whole search. `None` if it does not end within `most` executions.
pub(crate) fn search<S: Strategy>(
    mut strategy: S,
    most: u64,
    program: &dyn Fn() -> String,
) -> Option<Saw> {
    let mut traces = TraceCounter::new(usize::MAX);
    let limits = Limits { executions: most, ..Limits::default() };
    let setup = Setup { limits, keep_going: true, ..Setup::default() };
    let results = Mutex::new(BTreeSet::new());
    let body = || {
        let result = program();
        results.lock().unwrap_or_else(PoisonError::into_inner).insert(result);
    };
    let (lap, pulse) = (&mut |_| Stop::No, &mut |_| {});
    let explored = explore_observed(&mut strategy, &mut [&mut traces], &setup, lap, pulse, &body)
        .expect("a search can run here");
    if explored.ended == Ended::Executions {
        return None;
    }
    assert_eq!(explored.ended, Ended::Covered);
    assert_eq!(explored.counts.rejected, 0);
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.extend(explored.kinds.keys().map(|kind| (*kind).to_owned()));
    Some(Saw {
        traces: traces.seen().clone(),
        results,
        executions: explored.counts.executions,
        blocked: explored.counts.blocked,
        repeated: traces.repeated(),
    })
}

pub(crate) fn by_eta(most: u64, program: &dyn Fn() -> String) -> Option<Saw> {
    search(raddle_search::Eta::new(), most, program)
}

/// Whether a program has too many interleavings, as a few random executions of it tell; most of the large ones are
/// known by them.
pub(crate) fn is_too_large(most: u64, program: &dyn Fn() -> String) -> bool {
    let mut probes = SizeProbes::new(most);
    let setup = Setup { keep_going: true, ..Setup::default() };
    let (lap, pulse) = (&mut |_| Stop::No, &mut |_| {});
    explore_observed(&mut probes, &mut [], &setup, lap, pulse, &|| drop(program()))
        .expect("a search can run here");
    probes.finds_too_many()
}

pub(crate) fn exhaustive(most: u64, program: &dyn Fn() -> String) -> Option<Saw> {
    search(DepthFirst::default(), most, program)
}

pub(crate) fn reduced(
    reduction: Reduction,
    most: u64,
    program: &dyn Fn() -> String,
) -> Option<Saw> {
    search(Dpor::new(reduction), most, program)
}
