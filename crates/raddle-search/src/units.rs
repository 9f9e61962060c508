//! Runs one unit of a search, and cuts what is left of it into others.
//!
//! A unit is run by a fresh engine that begins with the numbers which tasks had where the unit was cut, so it does what it would
//! have done there. What comes of it is of this run alone; [`raddle_trace::fold`] adds up.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use raddle_engine::observer::{Observer, Paused};
use raddle_engine::strategy::{Checkpoint, Unsupported};
use raddle_engine::{Ended, EngineError, Explored, Lap, Pulse, Setup, Stop};
use raddle_trace::unit::{
    Bytes, Completed, Quota, TraceSet, Unit, UnitEnd, UnitResult, Upwards, VERSION,
};
use raddle_trace::{
    Band, Carried, Coverage, Covered, Estimate, OrderSet, PairSet, Progress, ReceivesSeen, TaskName,
};

use crate::coverage::PairCoverage;
use crate::hapset::Metric;
use crate::receives::ReceiveCoverage;
use crate::registry::{Piece, UnitSearch};
use crate::traces::TraceCounter;

/// The process that runs a unit.
pub trait Host: Sync {
    /// Whether to go on, as the engine asks.
    fn lap(&self, lap: Lap) -> Stop;
    /// In how many pieces what is left is wanted at once; 0: it is not.
    fn wanted(&self) -> u32;
    /// Takes the pulse of the search.
    fn attach(&self, pulse: &'static Pulse);
    /// Between two executions.
    fn between(&self, search: &mut Paused<'_, '_>);
}

/// What is listened to beside a unit.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// Traces, of which up to so many are kept one by one.
    pub traces: Option<usize>,
    /// Pairs of statements, with those that are known, told apart by so many calls.
    pub pairs: Option<(PairSet, u8)>,
    /// Orders of receives, with those that are known.
    pub receives: Option<OrderSet>,
}

/// Why a unit could not be run.
#[derive(Debug)]
pub enum UnitError {
    /// The engine could not run it.
    Engine(EngineError),
    /// Its state is of another search, or what is left of it cannot be given back.
    Unit(String),
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => error.fmt(f),
            Self::Unit(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for UnitError {}

/// Hears what tasks there were at the end, and whether enough is open.
struct Watch<'a> {
    host: &'a dyn Host,
    /// End as soon as so many parts are open.
    enough: Option<u64>,
    is_enough: &'a AtomicBool,
    tasks: Vec<TaskName>,
}

impl Observer for Watch<'_> {
    fn between(&mut self, search: &mut Paused<'_, '_>) {
        if search.counts().executions == 0 {
            return;
        }
        if let Some(enough) = self.enough
            && search.progress().pending >= enough
        {
            self.is_enough.store(true, Ordering::Relaxed);
        }
        self.host.between(search);
    }

    fn finish(&mut self, search: &mut Paused<'_, '_>, _: &Ended) {
        self.tasks = search.carried().tasks;
    }
}

/// What came of running a unit.
struct Ran {
    explored: Explored,
    claim: Covered,
    pieces: Result<Vec<Piece>, Unsupported>,
    tasks: Vec<TaskName>,
    traces: Option<TraceSet>,
    coverage: Option<Coverage>,
    receives: Option<ReceivesSeen>,
    upwards: Upwards,
    estimate: Option<Estimate>,
    /// The part of it that is done, if that is known.
    done: Option<f64>,
}

/// Runs a unit with the search that was built for it, until nothing is left of it or its quota is used up. The quota's time is the
/// host's business.
///
/// # Errors
/// If it cannot be run here. What the program does is never an error.
pub fn run(
    mut search: UnitSearch,
    unit: &Unit,
    quota: Quota,
    setup: &Setup,
    heard: &Heard,
    host: &dyn Host,
    test: &dyn Fn(),
) -> Result<Completed, UnitError> {
    if let Some(stateful) = search.strategy.stateful() {
        stateful.expect_saving();
    }
    search
        .adopt(&Checkpoint(unit.state.0.clone()))
        .and_then(|()| match &unit.sibling {
            Some(sibling) => search.begin_with(sibling),
            None => Ok(()),
        })
        .map_err(|why| UnitError::Unit(format!("the unit {}: {why}", unit.id)))?;
    let mut setup = *setup;
    setup.limits.executions = quota.executions.max(1);
    let carried = Carried { tasks: unit.tasks.clone(), ..Carried::default() };
    let ran = run_here(search, &setup, &carried, quota, heard, host, test);
    completed(unit, ran.map_err(UnitError::Engine)?)
}

/// Runs a unit on this thread, and cuts what is left.
fn run_here(
    mut search: UnitSearch,
    setup: &Setup,
    carried: &Carried,
    quota: Quota,
    heard: &Heard,
    host: &dyn Host,
    test: &dyn Fn(),
) -> Result<Ran, EngineError> {
    if quota.spread {
        search.spread();
    }
    let needs = search.strategy.needs();
    let mut pairs = heard.pairs.as_ref().map(|(known, calls)| {
        let pairs = PairCoverage::beside(needs, Metric::HapSet, *calls);
        if known.is_empty() { pairs } else { pairs.knowing(known) }
    });
    let none = OrderSet::default();
    let known = heard.receives.as_ref().or_else(|| needs.messages.then_some(&none));
    let mut receives = known.map(|known| ReceiveCoverage::default().knowing(known));
    let mut traces = heard.traces.map(TraceCounter::new);
    let is_enough = AtomicBool::new(false);
    let enough = quota.spread.then_some(quota.pieces.into());
    let mut watch = Watch { host, enough, is_enough: &is_enough, tasks: Vec::new() };
    let mut observers: Vec<&mut dyn Observer> = vec![&mut watch];
    observers.extend(pairs.as_mut().map(|pairs| pairs as &mut dyn Observer));
    observers.extend(receives.as_mut().map(|receives| receives as &mut dyn Observer));
    observers.extend(traces.as_mut().map(|traces| traces as &mut dyn Observer));
    let mut lap = |lap: Lap| {
        let between = lap.steps == 0 && lap.executions > 0;
        let ends = host.wanted() > 0 || is_enough.load(Ordering::Relaxed);
        if between && ends { Stop::Search } else { host.lap(lap) }
    };
    // Of what is left of another unit: what that had covered.
    let before = search.strategy.progress().estimate.map_or(0.0, |estimate| estimate.covered);
    let explored = raddle_engine::explore_from(
        carried,
        &mut *search.strategy,
        &mut observers,
        setup,
        &mut lap,
        &mut |pulse| host.attach(pulse),
        test,
    )?;
    let tasks = watch.tasks;
    let Progress { covered: done, estimate, .. } = search.strategy.progress();
    let estimate =
        estimate.map(|estimate| of_this_run(estimate, before, explored.counts.executions));
    let wanted = host.wanted().max(quota.pieces).max(1);
    let stopped = matches!(explored.ended, Ended::Executions | Ended::Stopped);
    let claim = search.claim();
    let pieces = if stopped { search.cut(wanted as usize) } else { Ok(Vec::new()) };
    let upwards = search.upwards();
    let (coverage, traces) =
        (pairs.map(|pairs| pairs.coverage()), traces.map(|traces| traces.set()));
    let receives = receives.map(|receives| receives.seen()).filter(|seen| seen.count.pr.pairs > 0);
    Ok(Ran { explored, claim, pieces, tasks, traces, coverage, receives, upwards, estimate, done })
}

/// An estimate without what was covered before this run, which had so many executions.
#[expect(clippy::cast_precision_loss, reason = "estimates have few digits")]
fn of_this_run(estimate: Estimate, before: f64, executions: u64) -> Estimate {
    let run = executions as f64;
    let covered = (estimate.covered - before).max(run);
    let (space, search) = estimate.left();
    let (total, search) = (Band::exact(covered).and(space), Band::exact(run).and(search));
    Estimate { total, covered, search, weighted: None, probed: None }
}

/// The record of a unit that was run.
fn completed(unit: &Unit, ran: Ran) -> Result<Completed, UnitError> {
    let Ran {
        explored,
        claim,
        pieces,
        tasks,
        traces,
        coverage,
        receives,
        mut upwards,
        estimate,
        done,
    } = ran;
    let lost = |why| format!("the rest of the unit {} cannot be given back: {why}", unit.id);
    let pieces = pieces.map_err(|why| UnitError::Unit(lost(why)))?;
    let Explored { ended, counts, failure, deaths, assumptions, notes, .. } = explored;
    let end = match ended {
        Ended::Covered | Ended::Executions | Ended::Stopped => UnitEnd::Done,
        Ended::Failed => UnitEnd::Failed,
        Ended::Diverged(divergence) => UnitEnd::Diverged { divergence },
        Ended::Trouble(why) => UnitEnd::Trouble { why },
        Ended::Memory => UnitEnd::Memory,
        other => UnitEnd::Trouble {
            why: format!("the search ended in a way that units do not know: {other:?}"),
        },
    };
    // Of a search that went on after deaths the first of them is its failure.
    let (failure, mut more) = match (failure, &end) {
        (Some(failure), UnitEnd::Failed) => (Some(failure), Vec::new()),
        (failure, _) => (None, failure.into_iter().collect()),
    };
    more.extend(deaths);
    let share = done.map_or(0.0, |done| unit.share * (1.0 - done).max(0.0));
    #[expect(clippy::cast_precision_loss, reason = "a share has few digits")]
    let each = share / pieces.len().max(1) as f64;
    let leftover = |(nth, piece): (usize, Piece)| Unit {
        version: VERSION,
        id: unit.id.leftover(nth as u32),
        generation: 0,
        search: unit.search,
        line: piece.line,
        method: piece.method,
        seed: unit.seed,
        prefix: piece.prefix.iter().map(|taken| (taken.option, taken.of)).collect(),
        spare: claim.preemptions().map(|bound| bound.saturating_sub(piece.spent)),
        share: each,
        state: Bytes(piece.state.0),
        tasks: tasks.clone(),
        sibling: None,
    };
    let leftovers = pieces.into_iter().enumerate().map(leftover).collect();
    for request in &mut upwards.requests {
        (request.line, request.seed) = (unit.line.clone(), unit.seed);
    }
    if !upwards.requests.is_empty() {
        upwards.tasks = tasks;
    }
    let result = UnitResult {
        version: VERSION,
        unit: unit.id,
        generation: unit.generation,
        search: unit.search,
        end,
        counts,
        claim,
        assumptions,
        failure,
        deaths: more,
        notes,
        traces,
        coverage,
        receives,
        estimate,
        upwards,
        busy_us: 0,
    };
    Ok(Completed { result, leftovers })
}
