//! Why a failure happens: which orders of two steps matter, and after which step all is lost.

use std::sync::Arc;

use raddle_engine::{EngineError, Setup, Stop};
use raddle_search::Explain;
use raddle_trace::{Explanation, Failure, Lost, Outcome, Pivot, Second, Trace};

use crate::config::{Config, Isolation};
use crate::error::Error;
use crate::job::{Body, Job};
use crate::minimise::with_room;
use crate::supervisor::{self, Control};

/// Steps of all executions for one failure.
const STEPS: u64 = 4_000_000;

/// Tells why a failure happens, by running executions that are like it.
///
/// Best after [`minimise`](crate::minimise()). None if replaying the failure does not fail in that way.
///
/// ```
/// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
///
/// fn test() {
///     let n = AtomicU32::new(0);
///     raddle::thread::scope(|scope| {
///         scope.spawn(|| n.store(n.load(SeqCst) + 1, SeqCst));
///         scope.spawn(|| n.store(n.load(SeqCst) + 1, SeqCst));
///     });
///     assert_eq!(n.load(SeqCst), 2);
/// }
/// let config = raddle::Config::default().strategy("dpor");
/// let failure = raddle::explore(config.clone(), test)?.failure.expect("a lost update");
/// let why = raddle::explain(&config, &failure, test)?.expect("it fails again");
/// // The first load came before the other thread's store: after it, nothing would have been lost.
/// assert_eq!((why.pivots.len(), why.pivots[0].first), (1, 0));
/// assert_eq!(why.pivots[0].otherwise, "completed");
/// # Ok::<(), raddle::Error>(())
/// ```
///
/// # Errors
/// If the executions cannot be run.
pub fn explain<F>(config: &Config, failure: &Failure, test: F) -> Result<Option<Explanation>, Error>
where
    F: Fn() + Send + Sync + 'static,
{
    let explained = explain_dyn(&config.clone().into(), failure, Arc::new(test))?;
    Ok(explained.map(|(why, _)| why))
}

/// Also hands out the trace of the failure with the functions that led to its steps.
pub(crate) fn explain_dyn(
    job: &Job,
    failure: &Failure,
    test: Body,
) -> Result<Option<(Explanation, Trace)>, Error> {
    let ends_its_process = matches!(failure.outcome, Outcome::Died { .. });
    if failure.outcome.hangs() || ends_its_process && job.config.isolation != Isolation::Process {
        return Ok(None);
    }
    let settings = failure.schedule.settings;
    let setup = Setup { settings, loud: false, calls: false, keep_going: true, ..job.setup() };
    let (given, seed) = (failure.clone(), job.config.seed_or_default());
    let quiet = job.quiet(job.config.minimise);
    supervisor::run(&quiet, move |control| why(&given, seed, &setup, control, &*test))
}

fn why(
    given: &Failure,
    seed: u64,
    setup: &Setup,
    control: &Control,
    test: &dyn Fn(),
) -> Result<Option<(Explanation, Trace)>, EngineError> {
    let lap = &mut with_room(setup, control);
    let pulse = &mut |pulse| control.attach(pulse);
    let replayed = raddle_engine::replay(&given.schedule, None, setup, lap, pulse, test)?;
    if replayed.divergence.is_some() || !replayed.outcome.is_like(&given.outcome) {
        return Ok(None);
    }
    let options = replayed.decisions.iter().map(|taken| taken.option).collect();
    let mut strategy = Explain::new(options, given.outcome.clone(), seed, STEPS);
    raddle_engine::explore(&mut strategy, setup, lap, pulse, test)?;
    let why = told(&strategy, &replayed.trace);
    // The time may be up, but this one is still needed: to find the names of functions takes a while.
    let (lap, with_calls) = (&mut |_| Stop::No, Setup { calls: true, ..*setup });
    let replayed = raddle_engine::replay(&given.schedule, None, &with_calls, lap, pulse, test)?;
    Ok(Some((why, replayed.trace)))
}

/// What was found out, in the words of the trace.
fn told(explain: &Explain, trace: &Trace) -> Explanation {
    let steps: Vec<_> = trace.steps().collect();
    let event = |step: u32| steps.get(step as usize).map(|(event, _)| *event);
    let task = |wanted| {
        let step = (0..steps.len() as u32).find(|step| explain.task_of(*step) == wanted)?;
        Some(steps[step as usize].1.task)
    };
    let pivot = |matters: &raddle_search::explain::Matters| {
        let second = match matters.race.second {
            Some(second) => Second::Step(event(second)?),
            None => Second::Waiting(task(matters.race.task)?),
        };
        let otherwise = matters.otherwise.summary(&trace.tasks);
        Some(Pivot { first: event(matters.race.first)?, second, otherwise })
    };
    let lost = explain.lost().map(|lost| {
        let by = lost.decisions.checked_sub(1);
        let step =
            by.and_then(|by| trace.events.iter().position(|event| event.decision == Some(by)));
        Lost { step: step.map(|step| step as u32), tried: lost.tried }
    });
    let pivots = explain.matters().iter().filter_map(pivot).collect();
    Explanation::new(pivots, explain.races() as u64, lost)
}
