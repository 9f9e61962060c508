//! A failure made small: the same failure with fewer preemptions, then fewer steps, then fewer tasks.

use std::sync::Arc;
use std::time::Duration;

use raddle_engine::{EngineError, Lap, Setup, Stop, Teardown, kept_here};
use raddle_search::{Minimise, Replay};
use raddle_trace::{Failure, Minimised, Outcome};

use crate::config::{Config, Isolation};
use crate::error::Error;
use crate::job::{Body, Job};
use crate::supervisor::{self, Control};

/// Steps of all executions for one failure.
const STEPS: u64 = 4_000_000;
/// Stacks that the executions for one failure may leave behind, with tasks that are not unwound.
const MOST_KEPT_FOR_ONE: u64 = 2_048;

/// Makes a failure small, in about four million steps and the time of `config.minimise`.
///
/// The failure that comes back is the same one ([`Outcome::is_like`](crate::Outcome::is_like)), with a
/// schedule of its own and, in [`Failure::minimised`], how it was made. None if replaying the given one
/// does not fail in that way. [`check`](crate::check()) does this by itself.
///
/// ```
/// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
///
/// fn test() {
///     let n = AtomicU32::new(0);
///     raddle::thread::scope(|scope| {
///         for _ in 0..3 {
///             scope.spawn(|| n.store(n.load(SeqCst) + 1, SeqCst));
///         }
///     });
///     assert_eq!(n.load(SeqCst), 3);
/// }
/// let mut config = raddle::Config::default();
/// config.strategy = "random".into();
/// let failure = raddle::explore(config.clone(), test)?.failure.expect("a lost update");
/// let small = raddle::minimise(&config, &failure, test)?.expect("it fails again");
/// let minimised = small.minimised.expect("says how");
/// assert_eq!((minimised.to.preemptions, minimised.least), (1, true));
/// # Ok::<(), raddle::Error>(())
/// ```
///
/// # Errors
/// If the executions cannot be run.
pub fn minimise<F>(config: &Config, failure: &Failure, test: F) -> Result<Option<Failure>, Error>
where
    F: Fn() + Send + Sync + 'static,
{
    let time = config.minimise.unwrap_or(Duration::MAX);
    minimise_dyn(&config.clone().into(), time, failure, Arc::new(test))
}

pub(crate) fn minimise_dyn(
    job: &Job,
    time: Duration,
    failure: &Failure,
    test: Body,
) -> Result<Option<Failure>, Error> {
    let ends_its_process = matches!(failure.outcome, Outcome::Died { .. });
    if failure.outcome.hangs() || ends_its_process && job.config.isolation != Isolation::Process {
        return Ok(None);
    }
    let settings = failure.schedule.settings;
    let setup = Setup { settings, loud: false, calls: false, ..job.setup() };
    let time = Some(time).filter(|time| *time < Duration::MAX);
    let given = failure.clone();
    supervisor::run(&job.quiet(time), move |control| smaller(&given, &setup, control, &*test))
}

/// Whether to go on: by the clock, and as long as few unfinished tasks had to be kept. Once the process keeps as
/// many as it may, tasks are unwound and no more are kept, so that this does not end the work: the failure has
/// been saved, and is shown if a destructor aborts.
pub(crate) fn with_room<'a>(
    setup: &Setup,
    control: &'a Control,
) -> impl FnMut(Lap) -> Stop + use<'a> {
    let most = match setup.teardown {
        Teardown::Auto => kept_here() + MOST_KEPT_FOR_ONE,
        _ => u64::MAX,
    };
    move |lap| {
        if lap.steps == 0 && kept_here() >= most { Stop::Search } else { control.should_stop(lap) }
    }
}

fn smaller(
    given: &Failure,
    setup: &Setup,
    control: &Control,
    test: &dyn Fn(),
) -> Result<Option<Failure>, EngineError> {
    let lap = &mut with_room(setup, control);
    let pulse = &mut |pulse| control.attach(pulse);
    let replayed = raddle_engine::replay(&given.schedule, None, setup, lap, pulse, test)?;
    if replayed.divergence.is_some() {
        return Ok(None);
    }
    let options = replayed.decisions.iter().map(|taken| taken.option).collect();
    let mut strategy = Minimise::new(options, given.outcome.clone(), STEPS);
    let all = Setup { keep_going: true, ..*setup };
    raddle_engine::explore(&mut strategy, &all, lap, pulse, test)?;
    let (Some(best), Some((from, to))) = (strategy.best(), strategy.sizes()) else {
        return Ok(None);
    };
    let (executions, least) = (strategy.executions(), strategy.is_least());
    let minimised = Some(Minimised::new(from, to, executions, least));
    // The time may be up, but this one is still needed.
    let (lap, mut replay) = (&mut |_| Stop::No, Replay::new(best.to_vec()));
    let explored = raddle_engine::explore(&mut replay, setup, lap, pulse, test)?;
    let same = |failure: &Failure| failure.outcome.is_like(&given.outcome);
    let found = explored.failure.filter(same);
    Ok(found.map(|mut found| {
        (found.execution, found.minimised) = (given.execution, minimised);
        found
    }))
}
