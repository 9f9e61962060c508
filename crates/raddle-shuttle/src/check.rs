//! `shuttle::check` and the like: a test with one scheduler.

use std::path::Path;

use crate::scheduler::{
    DfsScheduler, PctScheduler, RandomScheduler, ReplayScheduler, Scheduler, UrwRandomScheduler,
};
use crate::{Config, Runner};

#[track_caller]
fn run<F>(scheduler: impl Scheduler + 'static, test: F)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(scheduler, Config::default()).run(test);
}

/// Runs the test once, one step of each task in turn.
///
/// # Panics
/// If the execution fails, with the whole report.
#[track_caller]
pub fn check<F>(f: F)
where
    F: Fn() + Send + Sync + 'static,
{
    run(crate::scheduler::RoundRobinScheduler::new(1), f);
}

/// Runs so many executions at random.
///
/// # Panics
/// If one fails, with the whole report.
#[track_caller]
pub fn check_random<F>(f: F, iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    run(RandomScheduler::new(iterations), f);
}

/// Runs so many executions at random, drawn from a seed.
///
/// # Panics
/// If one fails, with the whole report.
#[track_caller]
pub fn check_random_with_seed<F>(f: F, seed: u64, iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    run(RandomScheduler::new_from_seed(seed, iterations), f);
}

/// Runs so many executions with random priorities and so many changes of them.
///
/// # Panics
/// If one fails, with the whole report.
#[track_caller]
pub fn check_pct<F>(f: F, iterations: usize, depth: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    run(PctScheduler::new(depth, iterations), f);
}

/// Runs so many executions, each interleaving about as likely as any other.
///
/// # Panics
/// If one fails, with the whole report.
#[track_caller]
pub fn check_urw<F>(f: F, iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    run(UrwRandomScheduler::new(iterations), f);
}

/// Runs every execution, or the first so many.
///
/// # Panics
/// If one fails, with the whole report.
#[track_caller]
pub fn check_dfs<F>(f: F, max_iterations: Option<usize>)
where
    F: Fn() + Send + Sync + 'static,
{
    run(DfsScheduler::new(max_iterations, false), f);
}

/// Runs so many executions depth first, each of which repeats a prefix of the one before it: that it goes another way is
/// noticed and named.
///
/// # Panics
/// If an execution fails, or does something else when it is repeated.
#[track_caller]
pub fn check_uncontrolled_nondeterminism<F>(f: F, max_iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    run(DfsScheduler::new(Some(max_iterations), true), f);
}

/// Runs one execution again: a token that raddle printed. Those of shuttle mean nothing here.
///
/// # Panics
/// If it fails, or cannot be replayed.
#[track_caller]
pub fn replay<F>(f: F, encoded_schedule: &str)
where
    F: Fn() + Send + Sync + 'static,
{
    run(ReplayScheduler::new_from_encoded(encoded_schedule), f);
}

/// Runs one execution again, of a file with such a token.
///
/// # Panics
/// If it fails, or cannot be replayed; or if there is no such file.
#[track_caller]
pub fn replay_from_file<F, P>(f: F, path: P)
where
    F: Fn() + Send + Sync + 'static,
    P: AsRef<Path>,
{
    let scheduler = match ReplayScheduler::new_from_file(&path) {
        Ok(scheduler) => scheduler,
        Err(error) => panic!("{} cannot be read: {error}", path.as_ref().display()),
    };
    run(scheduler, f);
}

/// [`replay`]: no annotated schedule is written, which the report says.
///
/// # Panics
/// As `replay`.
#[cfg(feature = "annotation")]
#[track_caller]
pub fn annotate_replay<F>(f: F, encoded_schedule: &str)
where
    F: Fn() + Send + Sync + 'static,
{
    let scheduler = ReplayScheduler::new_from_encoded(encoded_schedule);
    run(crate::scheduler::AnnotationScheduler::new(scheduler), f);
}
