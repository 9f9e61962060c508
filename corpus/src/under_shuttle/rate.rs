//! Searches by shuttle's random scheduler.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use peer::RateSearch;
use shuttle::scheduler::RandomScheduler;
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

use crate::program::Program;

/// How many executions there were up to the first that failed or to the limits, and whether one failed.
pub(crate) fn search(program: &'static Program, asked: RateSearch) -> (u64, bool) {
    // Every failure is a panic. That there was one is all that is asked for.
    panic::set_hook(Box::new(|_| {}));
    let run = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&run);
    let mut config = Config::default();
    config.max_time = Some(asked.within);
    config.failure_persistence = FailurePersistence::None;
    if let Some(steps) = program.steps {
        config.max_steps = MaxSteps::FailAfter(steps as usize);
    }
    let scheduler = RandomScheduler::new_from_seed(asked.seed, asked.executions as usize);
    let ended = panic::catch_unwind(AssertUnwindSafe(|| {
        Runner::new(scheduler, config).run(move || {
            counted.fetch_add(1, Relaxed);
            program.call();
        })
    }));
    (run.load(Relaxed), ended.is_err())
}
