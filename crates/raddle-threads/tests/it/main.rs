//! Every primitive in programs: outcome sets compared for equality, counts pinned.
//!
//! One function here knows how a program is run; the tests are data.

#![allow(
    clippy::incompatible_msrv,
    reason = "parts are compiled with the std of the compiler that is there"
)]

mod atomics;
mod barriers;
mod cells;
mod channels;
mod condvars;
mod contexts;
mod counted;
mod executions;
mod explorers;
mod locals;
mod lock_orders;
mod mutexes;
mod onces;
mod panics;
mod rwlocks;
mod samplers;
mod threads;
mod times;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use raddle_engine::{Ended, Explored, Setup, Stop, explore, replay};
use raddle_trace::{Outcome, Settings};

/// Runs every execution of `program` (up to the given settings).
pub(crate) fn explore_all(settings: Settings, program: &dyn Fn()) -> Explored {
    let mut strategy = raddle_search::build("dfs", 0).expect("dfs is known").strategy;
    let setup = Setup { settings, ..Setup::default() };
    explore(&mut *strategy, &setup, &mut |_| Stop::No, &mut |_| {}, program)
        .expect("a search can run here")
}

/// The values that a program can return, over every execution, and the number of executions.
///
/// Fails if an execution fails, if the search does not end, or if one is rejected.
#[track_caller]
pub(crate) fn outcomes_with<T: Ord + Debug + Send + 'static>(
    settings: Settings,
    program: impl Fn() -> T,
) -> (BTreeSet<T>, u64) {
    let seen = Mutex::new(BTreeSet::new());
    let explored = explore_all(settings, &|| {
        let value = program();
        seen.lock().unwrap_or_else(PoisonError::into_inner).insert(value);
    });
    if let Some(failure) = explored.failure {
        panic!("{}", failure.outcome.summary(&failure.trace.tasks));
    }
    assert_eq!(explored.ended, Ended::Covered);
    assert_eq!(explored.counts.rejected, 0);
    (seen.into_inner().unwrap_or_else(PoisonError::into_inner), explored.counts.executions)
}

/// [`outcomes_with`] the default settings.
#[track_caller]
pub(crate) fn outcomes<T: Ord + Debug + Send + 'static>(
    program: impl Fn() -> T,
) -> (BTreeSet<T>, u64) {
    outcomes_with(Settings::default(), program)
}

/// The first failure of a program, after checking that it replays to the same trace from its
/// token.
#[track_caller]
pub(crate) fn failure(settings: Settings, program: &dyn Fn()) -> Outcome {
    let explored = explore_all(settings, program);
    let failure = explored.failure.expect("the program has a bug");
    assert_eq!(failure.unstable, None);
    let token = failure.schedule.to_string();
    let schedule = token.parse().expect("a token can be read");
    let setup = Setup::default();
    let again =
        replay(&schedule, Some(&failure.trace), &setup, &mut |_| Stop::No, &mut |_| {}, program)
            .expect("a replay can run here");
    assert_eq!(again.divergence, None);
    assert_eq!(again.outcome, failure.outcome);
    assert_eq!(again.trace.events, failure.trace.events);
    failure.outcome
}

/// What a panicking program said.
#[track_caller]
pub(crate) fn panic_message(program: &dyn Fn()) -> String {
    match failure(Settings::default(), program) {
        Outcome::Panicked { panics, .. } => panics[0].message.clone(),
        other => panic!("expected a panic, found {}", other.kind()),
    }
}

/// `n` clones.
pub(crate) fn shared<T>(value: T) -> (Arc<T>, Arc<T>) {
    let value = Arc::new(value);
    (Arc::clone(&value), value)
}
