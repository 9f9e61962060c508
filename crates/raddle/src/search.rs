//! One search: a strategy that is run to its end, and what listens to it meanwhile.

use std::time::Instant;

use raddle_engine::{EngineError, Explored, Lap, Setup, Stop, Strategy};
use raddle_search::hapset::Metric;
use raddle_search::{Traces, Walk, Walked, Watched};
use raddle_trace::{Carried, Coverage, Covered, PairSet, Progress, TraceCount};

use crate::checkpoint::Place;
use crate::config::Pairs;
use crate::error::Error;
use crate::job::Job;
use crate::reporter::Telling;
use crate::supervisor::Control;
use crate::tree::Tree;

/// By how many of the innermost calls statements are told apart where pairs are only counted. None: to
/// walk the stack before each step costs more than all the rest.
const CALLS: u8 = 0;

/// Partial orders that are counted one by one: some 50 MB.
const MAX_EXACT_TRACES: usize = 1_000_000;

/// What every search of a job is run with.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) setup: Setup,
    /// Whether distinct partial orders are counted.
    pub(crate) traces: bool,
    /// Whether pairs of statements are learned, and which are known.
    pub(crate) pairs: bool,
    pub(crate) known: PairSet,
    /// Whether the job has observers of its progress.
    pub(crate) tells: bool,
    /// Where decisions are kept, if they are.
    pub(crate) walk: Option<Walk>,
}

impl Asked {
    pub(crate) fn new(job: &Job) -> Self {
        Self {
            setup: job.setup(),
            traces: job.config.traces,
            pairs: job.config.pairs != Pairs::Off,
            known: job.known.clone().unwrap_or_default(),
            tells: !job.observers().is_empty(),
            walk: job.config.tree.as_ref().map(Tree::walk),
        }
    }
}

/// What one search found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) name: String,
    pub(crate) explored: Explored,
    pub(crate) covered: Covered,
    pub(crate) traces: Option<TraceCount>,
    pub(crate) progress: Progress,
    pub(crate) coverage: Option<Coverage>,
}

/// What a line names, or what is wrong with the line.
pub(crate) fn build(text: &str, seed: u64) -> Result<raddle_search::Built, Error> {
    raddle_search::build(text, seed).map_err(|error| Error::Strategy {
        strategy: text.to_owned(),
        reason: with_sources(&error),
    })
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
    strategy: Box<dyn Strategy>,
    name: String,
    asked: &Asked,
    kept: Option<&Place>,
    control: &Control,
    lap: &mut dyn FnMut(Lap) -> Stop,
    test: &dyn Fn(),
) -> Result<Found, EngineError> {
    let began = Instant::now();
    let before = kept.and_then(Place::before);
    let strategy = match &asked.walk {
        Some(walk) => Box::new(Walked::new(strategy, walk.clone())),
        None => strategy,
    };
    let explore = |strategy: &mut dyn Strategy| {
        let mut pulse = |pulse| control.attach(pulse);
        let carried = before.map_or_else(Carried::default, |before| before.carried.clone());
        if let Some(before) = before {
            strategy.restore(&before.state).map_err(|_| EngineError::Carried)?;
        }
        if asked.tells || kept.is_some() {
            let executions = carried.counts.executions;
            let mut telling = Telling { inner: strategy, control, executions, kept };
            raddle_engine::explore_from(&carried, &mut telling, &asked.setup, lap, &mut pulse, test)
        } else {
            raddle_engine::explore(strategy, &asked.setup, lap, &mut pulse, test)
        }
    };
    let mut coverage = None;
    let (explored, covered, progress) = if asked.pairs {
        let mut watched = Watched::new(strategy, Metric::HapSet, CALLS);
        if !asked.known.is_empty() {
            watched.know(&asked.known);
        }
        let (ran, watched) = counting(watched, asked.traces, explore);
        coverage = Some(watched.coverage());
        ran?
    } else {
        counting(strategy, asked.traces, explore).0?
    };
    let elapsed = kept.map_or_else(|| began.elapsed(), |place| place.keeper.elapsed());
    let elapsed_ms = elapsed.as_millis().try_into().unwrap_or(u64::MAX);
    let progress = progress.timed(explored.counts.executions, elapsed_ms);
    Ok(Found { name, explored, covered, traces: progress.traces, progress, coverage })
}

/// Explores with one strategy, whose partial orders are counted or not; gives it back.
fn counting<S: Strategy>(
    mut strategy: S,
    traces: bool,
    explore: impl FnOnce(&mut dyn Strategy) -> Result<Explored, EngineError>,
) -> (Result<(Explored, Covered, Progress), EngineError>, S) {
    if traces {
        let mut counted = Traces::new(strategy, MAX_EXACT_TRACES);
        let explored = explore(&mut counted);
        let (covered, progress) = (counted.covered(), counted.progress());
        (explored.map(|explored| (explored, covered, progress)), counted.into_inner())
    } else {
        let explored = explore(&mut strategy);
        let (covered, progress) = (strategy.covered(), strategy.progress());
        (explored.map(|explored| (explored, covered, progress)), strategy)
    }
}
