//! One call, one report: a search, a portfolio or a replay, as the configuration says.

use std::sync::{Arc, Mutex};

use raddle_engine::explorer::{DelayingExplorer, Explorer};
use raddle_engine::{Observer, Strategy};
use raddle_search::bita::Start;
use raddle_trace::Report;

use crate::config::{AUTO, Config};
use crate::custom::{Custom, Listener};
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
/// let report = explore(Config::default().strategy("dpor"), || {
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

/// Runs `test` along a delaying explorer of your own, which says what executions are worth running early.
///
/// In `config.strategy` the explorer is called `custom`: `strata(custom)`, `strata(custom, exact)`,
/// `strata-sample(custom)`, `dfs delays(2) custom`. If the strategy is left at its default, it is `strata(custom)`:
/// every execution, those that need few delays of the explorer first. The rest is as in [`explore()`]; a panic in the
/// explorer, or a place at which it does not reach every process that can move, ends the search and is
/// told in the report.
///
/// Here what was created last moves first, so a bug that needs the writer to come last shows in the first
/// execution:
///
/// ```
/// use raddle::explorer::{About, DelayingExplorer, Process, Runnable};
/// use raddle::sync::Arc;
/// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
/// use raddle::{Config, Verdict, explore_by, thread};
///
/// #[derive(Clone, Debug, Default, Hash)]
/// struct YoungestFirst {
///     order: Vec<Process>,
/// }
///
/// impl DelayingExplorer for YoungestFirst {
///     fn start(&mut self, process: Process, _: &About<'_>) {
///         self.order.insert(0, process);
///     }
///
///     fn finish(&mut self, process: Process) {
///         self.order.retain(|&other| other != process);
///     }
///
///     fn next(&self, runnable: Runnable<'_>) -> Process {
///         let mut order = self.order.iter().copied();
///         order.find(|&process| runnable.contains(process)).expect("every process was started")
///     }
///
///     fn delay(&mut self, process: Process) {
///         self.finish(process);
///         self.order.push(process);
///     }
/// }
///
/// let report = explore_by(YoungestFirst::default(), Config::default(), || {
///     let flag = Arc::new(AtomicU32::new(0));
///     let (writes, reads) = (Arc::clone(&flag), Arc::clone(&flag));
///     let writer = thread::spawn(move || writes.store(1, SeqCst));
///     let reader = thread::spawn(move || assert_eq!(reads.load(SeqCst), 1));
///     writer.join().unwrap();
///     reader.join().unwrap();
/// })?;
/// assert_eq!(report.verdict, Verdict::Failed);
/// assert_eq!(report.counts.executions, 1);
/// # Ok::<(), raddle::Error>(())
/// ```
///
/// # Errors
/// As [`explore()`].
pub fn explore_by<E, F>(explorer: E, mut config: Config, test: F) -> Result<Report, Error>
where
    E: DelayingExplorer,
    F: Fn() + Send + Sync + 'static,
{
    if config.strategy.trim() == AUTO {
        "strata(custom)".clone_into(&mut config.strategy);
    }
    let explorer = Some(Explorer::new("custom", explorer));
    explore_dyn(Job { explorer, ..config.into() }, &(Arc::new(test) as Body))
}

/// Runs `test` under a strategy of your own: see [`extend`](crate::extend).
///
/// `config.strategy` stays at its default, since it has nothing to name; reports name the type of `strategy`. All
/// else is as in [`explore()`]: limits, replay, checkpoints if the strategy is
/// [resumable](crate::extend::Resumable), and the guarantee, which comes from what the strategy says it
/// [covered](crate::extend::Strategy::covered).
///
/// This one takes the option that was created last, in one execution:
///
/// ```
/// use raddle::extend::{Answer, Plan, Point, Strategy};
/// use raddle::sync::Arc;
/// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
/// use raddle::{Config, Covered, Verdict, explore_with, thread};
///
/// #[derive(Debug, Default)]
/// struct YoungestFirst {
///     begun: bool,
/// }
///
/// impl Strategy for YoungestFirst {
///     fn begin(&mut self, _: &mut Plan) -> bool {
///         !std::mem::replace(&mut self.begun, true)
///     }
///
///     fn decide(&mut self, point: &Point<'_>) -> Answer {
///         Answer::Take(point.arity() - 1)
///     }
///
///     fn covered(&self) -> Covered {
///         Covered::Sample { executions: self.begun.into(), bound: None }
///     }
/// }
///
/// let report = explore_with(Config::default(), YoungestFirst::default(), || {
///     let flag = Arc::new(AtomicU32::new(0));
///     let (writes, reads) = (Arc::clone(&flag), Arc::clone(&flag));
///     let writer = thread::spawn(move || writes.store(1, SeqCst));
///     let reader = thread::spawn(move || assert_eq!(reads.load(SeqCst), 1));
///     writer.join().unwrap();
///     reader.join().unwrap();
/// })?;
/// assert_eq!((report.strategy.as_str(), report.verdict), ("YoungestFirst", Verdict::Failed));
/// # Ok::<(), raddle::Error>(())
/// ```
///
/// # Errors
/// As [`explore()`]; and if `config` names a strategy, a bound on preemptions or an execution to start with, which
/// are of strategies with a name.
pub fn explore_with<S, F>(mut config: Config, strategy: S, test: F) -> Result<Report, Error>
where
    S: Strategy + 'static,
    F: Fn() + Send + Sync + 'static,
{
    let custom = Custom::new(strategy);
    let given = [
        (config.strategy.trim() != AUTO, "strategy"),
        (config.preemptions.is_some(), "preemptions"),
        (config.start_with.is_some(), "start_with"),
    ];
    if let Some((_, field)) = given.into_iter().find(|(given, _)| *given) {
        let reason = format!(
            "it was given to `explore_with`, so `{field}` of the configuration has nothing to say; leave it at its \
             default"
        );
        return Err(Error::Strategy { strategy: custom.name, reason });
    }
    config.strategy.clone_from(&custom.name);
    explore_dyn(Job { custom: Some(custom), ..config.into() }, &(Arc::new(test) as Body))
}

/// [`explore()`], with an observer of your own, which hears all that happens and decides nothing: see
/// [`extend`](crate::extend).
///
/// The observer is shared, so that the caller has what it learned, also of a search that was given up.
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use raddle::extend::{Cut, Event, Observer, ObserverNeeds};
/// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
/// use raddle::{Config, explore_observed};
///
/// /// Counts steps by the line of the source on which they are.
/// #[derive(Debug, Default)]
/// struct Lines(std::collections::BTreeMap<u32, u64>);
///
/// impl Observer for Lines {
///     fn needs(&self) -> ObserverNeeds {
///         ObserverNeeds { steps: true, ..ObserverNeeds::default() }
///     }
///
///     fn event(&mut self, event: &Event<'_>, _: Option<Cut>) {
///         if let Event::Step(step) = event {
///             *self.0.entry(step.site.line()).or_default() += 1;
///         }
///     }
/// }
///
/// let lines = Arc::new(Mutex::new(Lines::default()));
/// let report = explore_observed(Config::default().strategy("dfs"), &lines, || {
///     let n = AtomicU32::new(0);
///     raddle::thread::scope(|scope| {
///         scope.spawn(|| n.fetch_add(1, SeqCst));
///         n.fetch_add(2, SeqCst);
///     });
/// })?;
/// let counted = lines.lock().unwrap().0.values().sum::<u64>();
/// assert_eq!(counted, report.counts.steps);
/// # Ok::<(), raddle::Error>(())
/// ```
///
/// # Errors
/// As [`explore()`]; and if the strategy is a list of several, as `auto` is.
pub fn explore_observed<O, F>(
    config: Config,
    observer: &Arc<Mutex<O>>,
    test: F,
) -> Result<Report, Error>
where
    O: Observer + 'static,
    F: Fn() + Send + Sync + 'static,
{
    let listener = Some(Listener::new(observer));
    explore_dyn(Job { listener, ..config.into() }, &(Arc::new(test) as Body))
}

pub(crate) fn explore_dyn(job: Job, test: &Body) -> Result<Report, Error> {
    if let Some(given) = &job.config.replay {
        if let Some(schedule) = partial::given(given)? {
            return partial::force(&job, schedule, test);
        }
        let recording = Recording::try_from(given)?;
        return recording::replay_dyn(&job, recording, test);
    }
    let plan = match &job.custom {
        Some(custom) => Plan::of_custom(&job.config, custom),
        None => Plan::new(&job.config, job.explorer.as_ref())?,
    };
    if job.listener.is_some() && plan.listed {
        let reason = "an observer listens to one search, and this is a list of several; name one strategy, as in \
                      `dpor` or `pos`";
        let strategy = job.config.strategy.trim().to_owned();
        return Err(Error::Strategy { strategy, reason: reason.to_owned() });
    }
    let start = start(&job, &plan, test)?;
    portfolio::explore(Job { start, ..job }, &plan, test)
}

/// The execution that `bita` begins with.
fn start(job: &Job, plan: &Plan, test: &Body) -> Result<Start, Error> {
    let Some(given) = &job.config.start_with else { return Ok(Start::Drawn) };
    let mut names = plan.members.iter().flat_map(|member| &member.stages);
    if !names.any(|name| name.starts_with("bita")) {
        let reason = "`start_with` is the execution that `bita` begins with, and `bita` is not asked for; choose it as the \
                      strategy, or leave `start_with` out";
        let strategy = job.config.strategy.trim().to_owned();
        return Err(Error::Strategy { strategy, reason: reason.to_owned() });
    }
    match partial::given(given)? {
        Some(schedule) => Ok(Start::Receives(schedule)),
        None => recording::options(job, given, test).map(Start::Options),
    }
}
