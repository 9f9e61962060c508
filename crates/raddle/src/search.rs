//! One search: a strategy that is run to its end, and what listens to it meanwhile.

use std::time::Instant;

use raddle_engine::{Ended, EngineError, Explored, Lap, Observer, Setup, Stop, Strategy, observer};
use raddle_search::bita::Given;
use raddle_search::hapset::Metric;
use raddle_search::{
    BuildError, Built, Environment, PairCoverage, ReceiveCoverage, RecordedTree, TraceCounter,
    TreeRecorder,
};
use raddle_trace::{
    Carried, Coverage, Covered, OrderSet, PairSet, PartialSchedule, Progress, ReceivesSeen,
    TraceCount,
};

use crate::checkpoint::CheckpointSlot;
use crate::config::{Pairs, Receives};
use crate::custom::{Custom, Listener};
use crate::error::Error;
use crate::job::Job;
use crate::reporter::ProgressReporter;
use crate::spill;
use crate::supervisor::Control;
use crate::tree::Tree;

/// By how many of the innermost calls statements are told apart where pairs are only counted. None: to
/// walk the stack before each step costs more than all the rest.
pub(crate) const CALLS_OF_PAIRS: u8 = 0;

/// Partial orders that are counted one by one: some 50 MB.
pub(crate) const MAX_EXACT_TRACES: usize = 1_000_000;

/// What every search of a job is run with.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is one thing to listen to")]
pub(crate) struct Asked {
    pub(crate) setup: Setup,
    /// Whether distinct partial orders are counted.
    pub(crate) traces: bool,
    /// Whether pairs of statements are learned, and which are known.
    pub(crate) pairs: bool,
    pub(crate) known: PairSet,
    /// Whether orders of receives are looked at, and which are known. They are with a strategy that goes by them.
    pub(crate) receives: bool,
    pub(crate) known_orders: OrderSet,
    /// Whether the job has observers of its progress.
    pub(crate) tells: bool,
    /// Where decisions are kept, if they are.
    pub(crate) tree: Option<RecordedTree>,
    /// The caller's own observer.
    pub(crate) listener: Option<Listener>,
}

impl Asked {
    pub(crate) fn new(job: &Job) -> Self {
        Self {
            setup: Setup { run_twice: true, ..job.setup() },
            traces: job.config.traces,
            pairs: job.config.pairs != Pairs::Off,
            known: job.known.clone().unwrap_or_default(),
            receives: job.config.receives != Receives::Off,
            known_orders: job.known_orders.clone().unwrap_or_default(),
            tells: !job.observers().is_empty(),
            tree: job.config.tree.as_ref().map(Tree::recorded),
            listener: job.listener.clone(),
        }
    }
}

/// What one search found.
#[derive(Debug)]
pub(crate) struct SearchResult {
    pub(crate) name: String,
    pub(crate) explored: Explored,
    pub(crate) covered: Covered,
    pub(crate) traces: Option<TraceCount>,
    pub(crate) progress: Progress,
    pub(crate) coverage: Option<Coverage>,
    pub(crate) receives: Option<ReceivesSeen>,
}

/// What the strategies of a job are built with.
pub(crate) fn environment(job: &Job, seed: u64, frontier_bytes: u64) -> Environment {
    let known = job.known.as_ref().filter(|_| job.config.pairs != Pairs::Off);
    Environment {
        seed,
        known: known.cloned().unwrap_or_default(),
        memory: spill::memory(job, frontier_bytes),
        settings: job.config.settings(),
        explorer: job.explorer.clone(),
        start: job.start.clone(),
    }
}

/// What a line names, or what is wrong with the line.
pub(crate) fn build(text: &str, environment: Environment) -> Result<Built, Error> {
    raddle_search::build(text, environment).map_err(|error| refusal(text, &error))
}

/// What forces executions along a schedule.
pub(crate) fn forced(schedule: &PartialSchedule, seed: u64) -> Built {
    let strategy = Box::new(Given::new(schedule.clone(), seed));
    Built {
        strategy,
        name: format!("the schedule `{}`", schedule.name),
        reduces: false,
        draws: false,
    }
}

/// The caller's own strategy.
///
/// # Panics
/// The second time: a plan with such a strategy has one search, and that is never begun anew.
pub(crate) fn custom(custom: &Custom) -> Built {
    let strategy = custom.take().expect("a search by itself is run once");
    Built { strategy, name: custom.name.clone(), reduces: false, draws: false }
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

/// Runs one search to its end.
pub(crate) fn run_one(
    mut strategy: Box<dyn Strategy>,
    name: String,
    asked: &Asked,
    kept: Option<&CheckpointSlot>,
    control: &Control,
    lap: &mut dyn FnMut(Lap) -> Stop,
    test: &dyn Fn(),
) -> Result<SearchResult, EngineError> {
    let began = Instant::now();
    let mut tree = asked.tree.clone().map(TreeRecorder::new);
    let mut pairs = asked.pairs.then(|| {
        let pairs = PairCoverage::beside(strategy.needs(), Metric::HapSet, CALLS_OF_PAIRS);
        if asked.known.is_empty() { pairs } else { pairs.knowing(&asked.known) }
    });
    let mut receives = (asked.receives || strategy.needs().messages)
        .then(|| ReceiveCoverage::default().knowing(&asked.known_orders));
    let mut traces = asked.traces.then(|| TraceCounter::new(MAX_EXACT_TRACES));
    let mut reporter =
        (asked.tells || kept.is_some()).then_some(ProgressReporter { control, kept });
    let mut listener = asked.listener.clone();
    let mut observers: Vec<&mut dyn Observer> = Vec::new();
    observers.extend(tree.as_mut().map(|tree| tree as &mut dyn Observer));
    observers.extend(pairs.as_mut().map(|pairs| pairs as &mut dyn Observer));
    observers.extend(receives.as_mut().map(|receives| receives as &mut dyn Observer));
    observers.extend(traces.as_mut().map(|traces| traces as &mut dyn Observer));
    observers.extend(listener.as_mut().map(|listener| listener as &mut dyn Observer));
    observers.extend(reporter.as_mut().map(|reporter| reporter as &mut dyn Observer));
    let mut carried = Carried::default();
    if kept.is_some()
        && let Some(stateful) = strategy.stateful()
    {
        stateful.expect_saving();
    }
    if let Some(before) = kept.and_then(CheckpointSlot::before) {
        observer::restore(&mut *strategy, &mut observers, &before.state)
            .map_err(|_| EngineError::Carried)?;
        carried = before.carried.clone();
    }
    let mut pulse = |pulse| control.attach(pulse);
    let explored = raddle_engine::explore_from(
        &carried,
        &mut *strategy,
        &mut observers,
        &asked.setup,
        lap,
        &mut pulse,
        test,
    )?;
    // A failure is real whatever the explorer did before. Without one, what was run says nothing.
    if let (Ended::Trouble(why), None) = (&explored.ended, &explored.failure)
        && strategy.remarks().mistaken
    {
        return Err(EngineError::Explorer(why.clone()));
    }
    let elapsed = kept.map_or_else(|| began.elapsed(), |place| place.keeper.elapsed());
    let elapsed_ms = elapsed.as_millis().try_into().unwrap_or(u64::MAX);
    let progress = explored.progress.timed(explored.counts.executions, elapsed_ms);
    let (covered, coverage) = (strategy.covered(), pairs.map(|pairs| pairs.coverage()));
    let receives = receives.map(|receives| receives.seen()).filter(|seen| seen.count.pr.pairs > 0);
    Ok(SearchResult {
        name,
        explored,
        covered,
        traces: progress.traces,
        progress,
        coverage,
        receives,
    })
}
