//! One call, one report: picks the strategies, runs them one after another, and says what came of
//! it.

use std::sync::Arc;
use std::time::Instant;

use raddle_engine::{
    Ended, EngineError, Explored, Lap, Limits, Observer, Setup, Stop, Strategy, observer,
};
use raddle_search::hapset::Metric;
use raddle_search::registry;
use raddle_search::{
    BuildError, Built, Environment, PairCoverage, RecordedTree, TraceCounter, TreeRecorder,
};
use raddle_trace::{
    Carried, Counts, Coverage, Covered, Failure, Guarantee, Note, PairCount, PairSet, Probed,
    Progress, Report, TraceCount, Verdict, report,
};

use crate::checkpoint::{self, How, Place};
use crate::config::{AUTO, Config, EXECUTIONS, Pairs};
use crate::error::Error;
use crate::portfolio;
use crate::progress::ProgressReporter;
use crate::recording::{self, Recording};
use crate::spill;
use crate::watch::{self, Orders, Turn};

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
    explore_dyn(config, Arc::new(test))
}

/// What is run: once in each execution.
pub(crate) type Body = Arc<dyn Fn() + Send + Sync>;

pub(crate) fn explore_dyn(mut config: Config, test: Body) -> Result<Report, Error> {
    if let Some(given) = &config.replay {
        let recording = Recording::try_from(given)?;
        return recording::replay_dyn(config, recording, test);
    }
    if let Some(members) = portfolio::members(&config)? {
        return portfolio::explore(config, &members, &test);
    }
    let began = Instant::now();
    let mut searches = searches(&config)?;
    let names: Vec<_> =
        searches.iter().map(|search| (search.name.clone(), config.seed())).collect();
    let keeper = checkpoint::open(&config, &names)?;
    config.searched = keeper.as_ref().map(|keeper| keeper.elapsed()).unwrap_or_default();
    for (at, search) in searches.iter_mut().enumerate() {
        let place = |keeper| Place { keeper, search: at };
        search.place = keeper.clone().map(place);
    }
    let setup = config.setup();
    let (turns, traces) = (searches[0].turn, config.traces);
    let tells = !config.observers().is_empty();
    let pairs = config.pairs != Pairs::Off;
    let known = config.known.clone().unwrap_or_default();
    let tree = config.recorded_tree();
    let found = watch::run(&config, turns, move |orders| {
        run(searches, &Asked { setup, traces, pairs, known, tells, tree }, orders, &*test)
    });
    let found = found.map_err(|error| checkpoint::named(&config, error))?;
    let gave = config.executions.is_some();
    let how = found.last().map_or(How::Over, |last| How::of(&last.explored.ended, gave));
    let mut report = conclude(config, found);
    let mut elapsed = began.elapsed();
    if let Some(keeper) = keeper {
        elapsed = keeper.elapsed();
        report.notes.append(&mut keeper.end(how));
    }
    report.elapsed_ms = elapsed.as_millis().try_into().unwrap_or(u64::MAX);
    Ok(report)
}

/// Whether a configuration names strategies that there are. Whether they go with the rest of it is
/// known when they are run.
pub(crate) fn known(config: &Config) -> Result<(), Error> {
    let text = config.strategy.trim();
    if !text.contains('|') && registry::CHOICES.iter().any(|choice| choice.name == text) {
        return Ok(());
    }
    text.split('|').try_for_each(|name| build(name.trim(), config.seed().into()).map(drop))
}

/// A strategy with its part of the budget.
struct Search {
    strategy: Box<dyn Strategy>,
    name: String,
    executions: u64,
    turn: Turn,
    /// Where what it needs to go on is kept.
    place: Option<Place>,
}

/// What one strategy found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) name: String,
    pub(crate) explored: Explored,
    pub(crate) covered: Covered,
    pub(crate) traces: Option<TraceCount>,
    pub(crate) progress: Progress,
    pub(crate) coverage: Option<Coverage>,
}

/// By how many of the innermost calls statements are told apart where pairs are only counted. None: to
/// walk the stack before each step costs more than all the rest.
const CALLS: u8 = 0;

/// Partial orders that are counted one by one: some 50 MB.
const TRACES: usize = 1_000_000;

fn searches(config: &Config) -> Result<Vec<Search>, Error> {
    let build = |text: &str| {
        let setup = config.setup();
        build(text, environment(config, config.seed(), setup.limits.frontier_bytes))
    };
    let usual = if config.time.is_some() { u64::MAX } else { EXECUTIONS };
    let Some(composition) = config.composition() else {
        let (dfs, random) = (build("dfs")?, build("random")?);
        let all = config.executions.unwrap_or(usual);
        let half = if all == u64::MAX { all } else { all.div_ceil(2) };
        let search = |built: Built, executions, turn| {
            let Built { strategy, name } = built;
            Search { strategy, name, executions, turn, place: None }
        };
        return Ok(vec![search(dfs, half, Turn::First), search(random, all, Turn::Last)]);
    };
    let Built { strategy, name } = build(&composition)?;
    let samples = matches!(strategy.covered(), Covered::Sample { .. });
    let executions = config.executions.unwrap_or(if samples { usual } else { u64::MAX });
    Ok(vec![Search { strategy, name, executions, turn: Turn::Last, place: None }])
}

/// What strategies of this configuration are built with.
pub(crate) fn environment(config: &Config, seed: u64, frontier_bytes: u64) -> Environment {
    let known = config.known.as_ref().filter(|_| config.pairs != Pairs::Off);
    Environment {
        seed,
        known: known.cloned().unwrap_or_default(),
        memory: spill::memory(config, frontier_bytes),
        settings: config.setup().settings,
    }
}

/// What a line names, or what is wrong with the line.
pub(crate) fn build(text: &str, environment: Environment) -> Result<Built, Error> {
    raddle_search::build(text, environment).map_err(|error| refusal(text, &error))
}

/// The error of a line that names no strategy.
pub(crate) fn refusal(text: &str, error: &BuildError) -> Error {
    Error::Strategy { strategy: text.to_owned(), reason: with_sources(error) }
}

/// An error and what caused it, on one line.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

/// What every search is run with.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) setup: Setup,
    /// Whether distinct partial orders are counted.
    pub(crate) traces: bool,
    /// Whether pairs of statements are learned, and which are known.
    pub(crate) pairs: bool,
    pub(crate) known: PairSet,
    /// Whether somebody hears how far the search is.
    pub(crate) tells: bool,
    /// Where decisions are kept, if they are.
    pub(crate) tree: Option<RecordedTree>,
}

/// Runs one search after another until one of them has an answer.
fn run(
    searches: Vec<Search>,
    asked: &Asked,
    orders: &Orders,
    test: &dyn Fn(),
) -> Result<Vec<Found>, EngineError> {
    let mut all: Vec<Found> = Vec::new();
    let mut asked = asked.clone();
    let limits = asked.setup.limits;
    for Search { strategy, name, executions, turn, place } in searches {
        let done: u64 = all.iter().map(|found| found.explored.counts.executions).sum();
        let executions = executions.saturating_sub(done);
        asked.setup.limits = Limits { executions, ..limits };
        let mut lap = |lap| orders.lap(turn, lap);
        let found = run_one(strategy, name, &asked, place.as_ref(), orders, &mut lap, test)?;
        if let Some(coverage) = &found.coverage {
            asked.known.clone_from(&coverage.pairs);
        }
        let ended = &found.explored.ended;
        let more = matches!(ended, Ended::Executions | Ended::Memory | Ended::Stopped);
        all.push(found);
        if !more {
            break;
        }
    }
    Ok(all)
}

/// Runs one search to its end.
pub(crate) fn run_one(
    mut strategy: Box<dyn Strategy>,
    name: String,
    asked: &Asked,
    kept: Option<&Place>,
    orders: &Orders,
    lap: &mut dyn FnMut(Lap) -> Stop,
    test: &dyn Fn(),
) -> Result<Found, EngineError> {
    let began = Instant::now();
    let mut tree = asked.tree.clone().map(TreeRecorder::new);
    let mut pairs = asked.pairs.then(|| {
        let pairs = PairCoverage::beside(strategy.needs(), Metric::HapSet, CALLS);
        if asked.known.is_empty() { pairs } else { pairs.knowing(&asked.known) }
    });
    let mut traces = asked.traces.then(|| TraceCounter::new(TRACES));
    let mut reporter = (asked.tells || kept.is_some()).then_some(ProgressReporter { orders, kept });
    let mut observers: Vec<&mut dyn Observer> = Vec::new();
    observers.extend(tree.as_mut().map(|tree| tree as &mut dyn Observer));
    observers.extend(pairs.as_mut().map(|pairs| pairs as &mut dyn Observer));
    observers.extend(traces.as_mut().map(|traces| traces as &mut dyn Observer));
    observers.extend(reporter.as_mut().map(|reporter| reporter as &mut dyn Observer));
    let mut carried = Carried::default();
    if let Some(before) = kept.and_then(Place::before) {
        observer::restore(&mut *strategy, &mut observers, &before.state)
            .map_err(|_| EngineError::Carried)?;
        carried = before.carried.clone();
    }
    let mut pulse = |pulse| orders.begin(pulse);
    let explored = raddle_engine::explore_from(
        &carried,
        &mut *strategy,
        &mut observers,
        &asked.setup,
        lap,
        &mut pulse,
        test,
    )?;
    let elapsed = kept.map_or_else(|| began.elapsed(), |place| place.keeper.elapsed());
    let elapsed_ms = elapsed.as_millis().try_into().unwrap_or(u64::MAX);
    let progress = explored.progress.timed(explored.counts.executions, elapsed_ms);
    let (covered, coverage) = (strategy.covered(), pairs.map(|pairs| pairs.coverage()));
    Ok(Found { name, explored, covered, traces: progress.traces, progress, coverage })
}

/// What two searches have learned, one after the other.
fn then(before: Option<Coverage>, executions: u64, after: Option<Coverage>) -> Option<Coverage> {
    let (Some(before), Some(after)) = (&before, &after) else { return after.or(before) };
    let (first, second) = (before.count, after.count);
    let last = if second.last > 0 { second.last + executions } else { first.last };
    let count = PairCount { added: first.added + second.added, last, ..second };
    let later = after.series.iter().map(|(at, pairs)| (at + executions, *pairs));
    let series = before.series.iter().copied().chain(later).collect();
    Some(Coverage { count, series, pairs: after.pairs.clone(), new: PairSet::default() })
}

/// The report of what one strategy, or two of them, found.
fn conclude(config: Config, mut all: Vec<Found>) -> Report {
    // Who came too late to run anything has nothing to say.
    if all.len() > 1 && all.last().is_some_and(|last| last.explored.counts.executions == 0) {
        all.pop();
    }
    let auto = config.composition().is_none();
    let names: Vec<_> = all.iter().map(|found| found.name.clone()).collect();
    let names = names.join(", then ");
    let strategy = if auto { format!("{AUTO} ({names})") } else { names };

    // Of two searches the first has the estimate, if the second is a sampler.
    let estimated = |found: &&Found| found.progress.estimate.is_some();
    let progress = all.iter().rev().find(estimated).map(|found| found.progress);
    let last = all.pop().expect("a search was run");
    let mut counts = Counts::default();
    let mut assumptions = Vec::new();
    let mut notes = Vec::new();
    let mut coverage = None;
    for Found { name, explored, coverage: learned, .. } in &all {
        coverage = then(coverage, counts.executions, learned.clone());
        add(&mut counts, &explored.counts);
        assumptions.extend_from_slice(&explored.assumptions);
        notes.extend_from_slice(&explored.notes);
        notes.push(text(format!(
            "{name} came first and did not cover every execution with its share of {}; the \
             guarantee is that of {} alone",
            explored.counts.executions, last.name,
        )));
    }
    let before = counts.executions;
    let mut coverage = then(coverage, before, last.coverage);
    if let Some(coverage) = &mut coverage {
        // Of two searches the second begins with what the first has learned: that is not new.
        let known = config.known.as_ref();
        coverage.new =
            known.map_or_else(PairSet::default, |known| coverage.pairs.difference(known));
    }
    let Explored { ended, counts: more, failure, deaths, assumptions: also, notes: told, .. } =
        last.explored;
    add(&mut counts, &more);
    assumptions.extend(also);
    assumptions.sort_unstable();
    assumptions.dedup();
    for note in told {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    let later = |mut failure: Failure| {
        failure.execution += before;
        failure
    };
    let failure = failure.map(later);
    let others = deaths.into_iter().map(later).collect();
    let probes = progress.and_then(|progress| progress.estimate?.probed);
    if let Some(Probed { probes, .. }) = probes {
        notes.push(text(format!(
            "{probes} of the executions were random probes, run for the estimate alone"
        )));
    }
    let stopped =
        matches!(ended, Ended::Executions | Ended::Memory | Ended::Stopped | Ended::Trouble(_));
    let progress = progress.filter(|_| stopped && failure.is_none());
    if let Ended::Trouble(why) = &ended {
        notes.push(text(format!("the search stopped before its end: {why}")));
    }
    if ended == Ended::Memory {
        notes.push(text(
            "the search stopped because it knows of more alternatives than it may keep; set \
             RADDLE_MEMORY, or bound the search with RADDLE_PREEMPTIONS"
                .to_owned(),
        ));
    }
    let Found { covered, traces, .. } = last;
    let guarantee = Guarantee { covered, traces, rejected: counts.rejected, assumptions };
    let verdict = if failure.is_some() {
        Verdict::Failed
    } else if matches!(ended, Ended::Diverged(_)) {
        Verdict::Inconclusive
    } else if let Some(why) = nothing_seen(&counts) {
        notes.push(text(why));
        Verdict::Inconclusive
    } else if is_covered(&ended, &counts, &guarantee.covered) {
        Verdict::Covered
    } else {
        Verdict::Passed
    };
    Report {
        version: report::VERSION,
        strategy,
        seed: config.seed(),
        test: config.test,
        verdict,
        guarantee,
        counts,
        failure,
        others,
        notes,
        progress,
        coverage,
        members: Vec::new(),
        elapsed_ms: 0,
    }
}

/// Whether a search has run all that it set out to.
pub(crate) fn is_covered(ended: &Ended, counts: &Counts, covered: &Covered) -> bool {
    *ended == Ended::Covered
        && counts.rejected == 0
        && matches!(
            covered,
            Covered::Everything
                | Covered::Equivalence
                | Covered::Preemptions(_)
                | Covered::Cached { .. }
        )
}

/// Why a search without a failure has nothing to say of the test.
pub(crate) fn nothing_seen(counts: &Counts) -> Option<String> {
    if counts.executions == 0 {
        return Some("no execution was run: the budget of executions or time is too small".into());
    }
    (counts.rejected == counts.executions).then(|| {
        "every execution was cut off by a limit, so no end of the test was seen; raise \
         RADDLE_STEPS, RADDLE_TASKS or RADDLE_EXECUTION_TIME, or make the test smaller"
            .to_owned()
    })
}

pub(crate) fn text(text: String) -> Note {
    Note::Text { text }
}

pub(crate) fn add(counts: &mut Counts, more: &Counts) {
    counts.executions += more.executions;
    counts.rejected += more.rejected;
    counts.blocked += more.blocked;
    counts.steps += more.steps;
    counts.decisions += more.decisions;
    counts.max_steps = counts.max_steps.max(more.max_steps);
    counts.max_depth = counts.max_depth.max(more.max_depth);
    counts.max_tasks = counts.max_tasks.max(more.max_tasks);
}
