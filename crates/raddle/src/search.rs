//! One call, one report: picks the strategies, runs them one after another, and says what came of
//! it.

use std::sync::Arc;
use std::time::Instant;

use raddle_engine::{Ended, EngineError, Explored, Limits, Setup, Strategy};
use raddle_search::hapset::Metric;
use raddle_search::{Traces, Watched};
use raddle_trace::{
    Counts, Coverage, Covered, Guarantee, Note, PairCount, PairSet, Probed, Progress, Report,
    TraceCount, Verdict, report,
};

use crate::config::{AUTO, Config, EXECUTIONS, Pairs};
use crate::error::Error;
use crate::progress::Telling;
use crate::recording::{self, Recording};
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

pub(crate) fn explore_dyn(config: Config, test: Body) -> Result<Report, Error> {
    if let Some(given) = &config.replay {
        let recording = Recording::try_from(given)?;
        return recording::replay_dyn(config, recording, test);
    }
    let began = Instant::now();
    let searches = searches(&config)?;
    let setup = config.setup();
    let (turns, traces) = (searches[0].turn, config.traces);
    let tells = !config.observers().is_empty();
    let pairs = config.pairs != Pairs::Off;
    let known = config.known.clone().unwrap_or_default();
    let found = watch::run(&config, turns, move |orders| {
        run(searches, &Asked { setup, traces, pairs, known, tells }, orders, &*test)
    })?;
    let mut report = conclude(config, found);
    report.elapsed_ms = began.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
    Ok(report)
}

/// A strategy with its part of the budget.
struct Search {
    strategy: Box<dyn Strategy>,
    name: String,
    executions: u64,
    turn: Turn,
}

/// What one strategy found.
struct Found {
    name: String,
    explored: Explored,
    covered: Covered,
    traces: Option<TraceCount>,
    progress: Progress,
    coverage: Option<Coverage>,
}

/// By how many of the innermost calls statements are told apart where pairs are only counted. None: to
/// walk the stack before each step costs more than all the rest.
const CALLS: u8 = 0;

/// Partial orders that are counted one by one: some 50 MB.
const TRACES: usize = 1_000_000;

fn searches(config: &Config) -> Result<Vec<Search>, Error> {
    let build = |text: &str| {
        let strategy = text.to_owned();
        match raddle_search::build(text, config.seed()) {
            Err(error) => Err(Error::Strategy { strategy, reason: with_sources(&error) }),
            Ok(built) => match built.strategy.refuses(&config.setup().settings) {
                Some(reason) => Err(Error::Strategy { strategy, reason: reason.to_owned() }),
                None => Ok(built),
            },
        }
    };
    let usual = if config.time.is_some() { u64::MAX } else { EXECUTIONS };
    let Some(composition) = config.composition() else {
        let (dfs, random) = (build("dfs")?, build("random")?);
        let all = config.executions.unwrap_or(usual);
        let half = if all == u64::MAX { all } else { all.div_ceil(2) };
        let (first, last) = (Turn::First, Turn::Last);
        return Ok(vec![
            Search { strategy: dfs.strategy, name: dfs.name, executions: half, turn: first },
            Search { strategy: random.strategy, name: random.name, executions: all, turn: last },
        ]);
    };
    let raddle_search::Built { strategy, name } = build(&composition)?;
    let samples = matches!(strategy.covered(), Covered::Sample { .. });
    let executions = config.executions.unwrap_or(if samples { usual } else { u64::MAX });
    Ok(vec![Search { strategy, name, executions, turn: Turn::Last }])
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
struct Asked {
    setup: Setup,
    /// Whether distinct partial orders are counted.
    traces: bool,
    /// Whether pairs of statements are learned, and which are known.
    pairs: bool,
    known: PairSet,
    /// Whether somebody hears how far the search is.
    tells: bool,
}

/// Runs one search after another until one of them has an answer.
fn run(
    searches: Vec<Search>,
    asked: &Asked,
    orders: &Orders,
    test: &dyn Fn(),
) -> Result<Vec<Found>, EngineError> {
    let mut all: Vec<Found> = Vec::new();
    let mut known = asked.known.clone();
    for Search { strategy, name, executions, turn } in searches {
        let done: u64 = all.iter().map(|found| found.explored.counts.executions).sum();
        let executions = executions.saturating_sub(done);
        let limits = Limits { executions, ..asked.setup.limits };
        let setup = Setup { limits, ..asked.setup };
        let began = Instant::now();
        let explore = |strategy: &mut dyn Strategy| {
            let mut lap = |lap| orders.lap(turn, lap);
            let mut pulse = |pulse| orders.begin(pulse);
            if asked.tells {
                let mut telling = Telling { inner: strategy, orders, executions: 0 };
                raddle_engine::explore(&mut telling, &setup, &mut lap, &mut pulse, test)
            } else {
                raddle_engine::explore(strategy, &setup, &mut lap, &mut pulse, test)
            }
        };
        let mut coverage = None;
        let (explored, covered, progress) = if asked.pairs {
            let mut watched = Watched::new(strategy, Metric::HapSet, CALLS);
            if !known.is_empty() {
                watched.know(&known);
            }
            let (ran, watched) = run_one(watched, asked.traces, explore);
            let found = watched.coverage();
            known.clone_from(&found.pairs);
            coverage = Some(found);
            ran?
        } else {
            run_one(strategy, asked.traces, explore).0?
        };
        let elapsed_ms = began.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
        let progress = progress.timed(explored.counts.executions, elapsed_ms);
        let traces = progress.traces;
        let found = Found { name, explored, covered, traces, progress, coverage };
        let ended = &found.explored.ended;
        let more = matches!(ended, Ended::Executions | Ended::Memory | Ended::Stopped);
        all.push(found);
        if !more {
            break;
        }
    }
    Ok(all)
}

/// Explores with one strategy, whose partial orders are counted or not; gives it back.
fn run_one<S: Strategy>(
    mut strategy: S,
    traces: bool,
    explore: impl FnOnce(&mut dyn Strategy) -> Result<Explored, EngineError>,
) -> (Result<(Explored, Covered, Progress), EngineError>, S) {
    if traces {
        let mut counted = Traces::new(strategy, TRACES);
        let explored = explore(&mut counted);
        let (covered, progress) = (counted.covered(), counted.progress());
        (explored.map(|explored| (explored, covered, progress)), counted.into_inner())
    } else {
        let explored = explore(&mut strategy);
        let (covered, progress) = (strategy.covered(), strategy.progress());
        (explored.map(|explored| (explored, covered, progress)), strategy)
    }
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
    let Explored { ended, counts: more, failure, assumptions: also, notes: others, .. } =
        last.explored;
    add(&mut counts, &more);
    assumptions.extend(also);
    assumptions.sort_unstable();
    assumptions.dedup();
    for note in others {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    let failure = failure.map(|mut failure| {
        failure.execution += before;
        failure
    });
    let probes = progress.and_then(|progress| progress.estimate?.probed);
    if let Some(Probed { probes, .. }) = probes {
        notes.push(text(format!(
            "{probes} of the executions were random probes, run for the estimate alone"
        )));
    }
    let stopped = matches!(ended, Ended::Executions | Ended::Memory | Ended::Stopped);
    let progress = progress.filter(|_| stopped && failure.is_none());
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
    } else if ended == Ended::Covered
        && counts.rejected == 0
        && matches!(
            guarantee.covered,
            Covered::Everything
                | Covered::Equivalence
                | Covered::Preemptions(_)
                | Covered::Cached { .. }
        )
    {
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
        notes,
        progress,
        coverage,
        elapsed_ms: 0,
    }
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

fn add(counts: &mut Counts, more: &Counts) {
    counts.executions += more.executions;
    counts.rejected += more.rejected;
    counts.blocked += more.blocked;
    counts.steps += more.steps;
    counts.decisions += more.decisions;
    counts.max_steps = counts.max_steps.max(more.max_steps);
    counts.max_depth = counts.max_depth.max(more.max_depth);
    counts.max_tasks = counts.max_tasks.max(more.max_tasks);
}
