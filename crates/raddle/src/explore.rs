//! One call, one report: a search, a portfolio or a replay, as the configuration says.

use std::sync::Arc;

use raddle_trace::Report;

use crate::config::Config;
use crate::error::Error;
use crate::job::{Body, Job};
use crate::partial;
use crate::plan::Plan;
use crate::portfolio;
use crate::recording::{self, Recording};

/// Runs `test` under one schedule after another, and reports.
///
/// What the test does is never an error: a failure is part of the report. The test is run on an
/// OS thread of its own, so that a hang can be told; what it uses of raddle must be created inside
/// the closure, anew in each execution. If `config.replay` is set, that is replayed instead.
///
/// ```
/// use raddle::sync::atomic::{AtomicU32, Ordering};
/// use raddle::sync::Arc;
/// use raddle::{Config, Verdict, explore};
///
/// let report = explore(Config::default(), || {
///     let n = Arc::new(AtomicU32::new(0));
///     let theirs = Arc::clone(&n);
///     let thread = raddle::thread::spawn(move || theirs.fetch_add(1, Ordering::Relaxed));
///     n.fetch_add(1, Ordering::Relaxed);
///     thread.join().unwrap();
///     assert_eq!(n.load(Ordering::Relaxed), 2);
/// })?;
/// assert_eq!(report.verdict, Verdict::Covered);
/// assert_eq!(report.counts.executions, 2);
/// # Ok::<(), raddle::Error>(())
/// ```
///
/// # Errors
/// If the tool could not do its work: an unknown strategy, a search inside an execution, a hang.
pub fn explore<F>(config: Config, test: F) -> Result<Report, Error>
where
    F: Fn() + Send + Sync + 'static,
{
    explore_dyn(config.into(), &(Arc::new(test) as Body))
}

pub(crate) fn explore_dyn(job: Job, test: &Body) -> Result<Report, Error> {
    if let Some(given) = &job.config.replay {
        if let Some(schedule) = partial::given(given)? {
            return partial::force(&job, schedule, test);
        }
        let recording = Recording::try_from(given)?;
        return recording::replay_dyn(&job, recording, test);
    }
    let plan = Plan::new(&job.config)?;
    portfolio::explore(job, &plan, test)
}
