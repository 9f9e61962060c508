//! Searches in units: what there is to be run, one unit of it, and the report of all.
//!
//! A unit is run by a fresh engine that begins with the numbers which tasks had where the unit was cut, so it does what it would
//! have done there. What comes of it is of this run alone; [`raddle_trace::fold`] adds up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use raddle_engine::observer::Paused;
use raddle_engine::strategy::{Checkpoint, Unsupported};
use raddle_engine::{Ended, Explored, Known, Lap, Observer, Stop};
use raddle_search::hapset::Metric;
use raddle_search::{
    PairCoverage, Piece, ReceiveCoverage, TraceCounter, UnitSearch, build_unit, unit_method,
};
use raddle_trace::fold::Folded;
use raddle_trace::unit::{
    Bytes, Completed, PlannedSearch, Quota, ToJudge, Unit, UnitEnd, UnitId, UnitPlan, UnitResult,
    VERSION,
};
use raddle_trace::{Carried, Covered, Failure, Progress, ReceivesSeen, Report, TaskName};

use crate::check;
use crate::checkpoint;
use crate::conclusion;
use crate::config::EXECUTIONS;
use crate::cut_off;
use crate::error::Error;
use crate::job::{Body, Job};
use crate::plan::Plan;
use crate::search::{self, Asked, CALLS, Found, MAX_EXACT_TRACES};
use crate::supervisor::{self, Control};

/// What a job is to run.
pub(crate) fn plan(job: &Job) -> Result<UnitPlan, Error> {
    let plan = Plan::new(&job.config, job.explorer.as_ref())?;
    let mut searches = Vec::new();
    for (nth, member) in plan.members.iter().enumerate() {
        for (stage, line) in member.stages.iter().enumerate() {
            let environment = search::environment(job, member.seed, u64::MAX);
            let (method, why) =
                unit_method(line, environment).map_err(|error| search::refusal(line, &error))?;
            searches.push(PlannedSearch {
                member: nth as u32,
                follows: stage > 0,
                line: line.clone(),
                method,
                why: why.map(str::to_owned),
                seed: member.seed,
                weight: member.weight,
            });
        }
    }
    let config = &job.config;
    let usual = if config.time.is_none() && plan.samples { EXECUTIONS } else { u64::MAX };
    let host = |reason| Error::Host { reason };
    Ok(UnitPlan {
        version: VERSION,
        searches,
        executions: config.executions.unwrap_or(usual),
        time_ms: config.time.map(|time| time.as_millis().try_into().unwrap_or(u64::MAX)),
        listed: plan.listed,
        traces: config.traces,
        run: run_of(job, &plan, &checkpoint::binary().map_err(host)?),
    })
}

/// Which run it is: what must be the same for units to mean the same.
fn run_of(job: &Job, plan: &Plan, binary: &str) -> String {
    let mut text = format!("binary {binary}\n");
    let config = &job.config;
    let mut line = |name: &str, value: &str| text.push_str(&format!("{name} {value}\n"));
    line("test", config.test.as_deref().unwrap_or_default());
    line("package", config.env.package.as_deref().unwrap_or_default());
    for (strategy, seed) in plan.searches() {
        line("strategy", &format!("{strategy} seed {seed}"));
    }
    for (name, value) in checkpoint::settings(job) {
        line(&name, &value);
    }
    text
}

/// What a host has of a unit to run.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) unit: Unit,
    pub(crate) quota: Quota,
    /// Executions of the whole search, if it draws.
    pub(crate) samples: u64,
    /// Ways to keep from.
    pub(crate) avoid: Vec<Known>,
}

/// When a unit is to end before its time: how many pieces are wanted then.
#[derive(Clone, Debug, Default)]
pub(crate) struct Yields(pub(crate) Arc<std::sync::atomic::AtomicU32>);

/// Hears what tasks there were at the end, and whether enough is open.
struct Watch<'a> {
    control: &'a Control,
    tells: bool,
    /// End as soon as so many parts are open.
    enough: Option<u64>,
    is_enough: &'a AtomicBool,
    tasks: Vec<TaskName>,
}

impl Observer for Watch<'_> {
    fn between(&mut self, search: &mut Paused<'_, '_>) {
        let executions = search.counts().executions;
        if executions == 0 {
            return;
        }
        if let Some(enough) = self.enough
            && search.progress().pending >= enough
        {
            self.is_enough.store(true, Ordering::Relaxed);
        }
        if self.tells && self.control.progress_requested() {
            self.control.report_progress(&Progress { executions, ..search.progress() });
        }
    }

    fn finish(&mut self, search: &mut Paused<'_, '_>, _: &Ended) {
        self.tasks = search.carried().tasks;
    }
}

/// What came of running a unit, on the thread that ran it.
struct Ran {
    explored: Explored,
    claim: Covered,
    pieces: Result<Vec<Piece>, Unsupported>,
    tasks: Vec<TaskName>,
    traces: Option<raddle_trace::unit::TraceSet>,
    coverage: Option<raddle_trace::Coverage>,
    receives: Option<ReceivesSeen>,
    /// The part of it that is done, if that is known.
    done: Option<f64>,
}

/// Runs a unit. `busy_us`: what the process took so far.
pub(crate) fn run(
    job: &Job,
    task: Task,
    yields: &Yields,
    test: &Body,
    busy_us: fn() -> u64,
) -> Result<Completed, Error> {
    let (began, before) = (Instant::now(), busy_us());
    let Task { unit, quota, samples, avoid } = task;
    let mut job = job.clone();
    if let Some(hosted) = &mut job.hosted {
        hosted.units = true;
        if !avoid.is_empty() {
            hosted.tape = hosted.tape.map(|tape| tape.avoiding(avoid));
        }
    }
    let environment = search::environment(&job, unit.seed, job.setup().limits.frontier_bytes);
    let mut search = build_unit(&unit.line, unit.method, samples, environment)
        .map_err(|error| search::refusal(&unit.line, &error))?;
    let state = Checkpoint(unit.state.0.clone());
    let wrong = |why: Unsupported| Error::Host { reason: format!("the unit {}: {why}", unit.id) };
    search.adopt(&state).map_err(wrong)?;
    let mut asked = Asked::new(&job);
    asked.setup.run_twice = unit.id == UnitId::root(unit.search);
    asked.setup.settings = job.config.settings_of(search.reduces);
    asked.setup.limits.executions = quota.executions.max(1);
    let settings = asked.setup.settings;
    let carried = Carried { tasks: unit.tasks.clone(), ..Carried::default() };
    let (body, theirs) = (Arc::clone(test), yields.clone());
    let run = move |control: &Control| {
        run_here(search, &asked, &carried, quota, &theirs, control, &*body)
    };
    let time = Duration::from_millis(quota.time_ms);
    let ran = match supervisor::run_all(&job, Some(time), vec![Box::new(run)]) {
        Ok(mut results) => results.pop().expect("one search has one result")?,
        Err(Error::Hung(hang)) => {
            // If it follows from a panic, that is the failure.
            let report = cut_off::report(&job, hang, settings, began, test)?;
            return Ok(of_report(&unit, report));
        }
        Err(error) => return Err(error),
    };
    let mut completed = of_ran(&unit, ran)?;
    completed.result.busy_us = busy_us().saturating_sub(before);
    Ok(completed)
}

/// Runs a unit on this thread, and cuts what is left.
fn run_here(
    mut search: UnitSearch,
    asked: &Asked,
    carried: &Carried,
    quota: Quota,
    yields: &Yields,
    control: &Control,
    test: &dyn Fn(),
) -> Result<Ran, raddle_engine::EngineError> {
    if quota.spread {
        search.spread();
    }
    let needs = search.strategy.needs();
    let mut pairs = asked.pairs.then(|| {
        let pairs = PairCoverage::beside(needs, Metric::HapSet, CALLS);
        if asked.known.is_empty() { pairs } else { pairs.knowing(&asked.known) }
    });
    let mut receives = (asked.receives || needs.messages)
        .then(|| ReceiveCoverage::default().knowing(&asked.known_orders));
    let mut traces = asked.traces.then(|| TraceCounter::new(MAX_EXACT_TRACES));
    let is_enough = AtomicBool::new(false);
    let mut watch = Watch {
        control,
        tells: asked.tells,
        enough: quota.spread.then_some(quota.pieces.into()),
        is_enough: &is_enough,
        tasks: Vec::new(),
    };
    let mut observers: Vec<&mut dyn Observer> = vec![&mut watch];
    observers.extend(pairs.as_mut().map(|pairs| pairs as &mut dyn Observer));
    observers.extend(receives.as_mut().map(|receives| receives as &mut dyn Observer));
    observers.extend(traces.as_mut().map(|traces| traces as &mut dyn Observer));
    let mut lap = |lap: Lap| {
        let between = lap.steps == 0 && lap.executions > 0;
        let ends = yields.0.load(Ordering::Relaxed) > 0 || is_enough.load(Ordering::Relaxed);
        if between && ends { Stop::Search } else { control.should_stop(lap) }
    };
    let explored = raddle_engine::explore_from(
        carried,
        &mut *search.strategy,
        &mut observers,
        &asked.setup,
        &mut lap,
        &mut |pulse| control.attach(pulse),
        test,
    )?;
    let tasks = watch.tasks;
    let done = search.strategy.progress().covered;
    let wanted = yields.0.load(Ordering::Relaxed).max(quota.pieces).max(1);
    let stopped = matches!(explored.ended, Ended::Executions | Ended::Stopped);
    let claim = search.claim();
    let pieces = if stopped { search.cut(wanted as usize) } else { Ok(Vec::new()) };
    let (coverage, traces) =
        (pairs.map(|pairs| pairs.coverage()), traces.map(|traces| traces.set()));
    let receives = receives.map(|receives| receives.seen()).filter(|seen| seen.count.pr.pairs > 0);
    Ok(Ran { explored, claim, pieces, tasks, traces, coverage, receives, done })
}

fn of_ran(unit: &Unit, ran: Ran) -> Result<Completed, Error> {
    let Ran { explored, claim, pieces, tasks, traces, coverage, receives, done } = ran;
    let pieces = pieces.map_err(|why| Error::Host {
        reason: format!("the rest of the unit {} cannot be given back: {why}", unit.id),
    })?;
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
    };
    let leftovers = pieces.into_iter().enumerate().map(leftover).collect();
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
        busy_us: 0,
    };
    Ok(Completed { result, leftovers })
}

/// What came of a unit in which an execution panicked and did not come back.
fn of_report(unit: &Unit, report: Report) -> Completed {
    let result = UnitResult {
        version: VERSION,
        unit: unit.id,
        generation: unit.generation,
        search: unit.search,
        end: UnitEnd::Failed,
        counts: report.counts,
        claim: report.guarantee.covered,
        assumptions: report.guarantee.assumptions,
        failure: report.failure,
        deaths: report.others,
        notes: report.notes,
        traces: None,
        coverage: None,
        receives: None,
        busy_us: 0,
    };
    Completed { result, leftovers: Vec::new() }
}

/// The report of a test whose units came to this.
pub(crate) fn report(job: &mut Job, judged: ToJudge, test: &Body) -> Result<Report, Error> {
    let mut judged = Some(judged);
    check::with_learned_pairs(job, None, test, &mut |job| {
        conclude(job, judged.take().unwrap_or_default())
    })
}

fn conclude(job: &Job, judged: ToJudge) -> Result<Report, Error> {
    let ToJudge { searches, notes, elapsed_ms } = judged;
    let plan = Plan::new(&job.config, job.explorer.as_ref())?;
    let mut searches = searches.into_iter();
    let mut found = Vec::new();
    for member in &plan.members {
        let mut stages = Vec::new();
        for line in &member.stages {
            let folded = searches.next().flatten();
            if let Some(folded) = folded {
                stages.push(of_folded(job, line, folded));
            } else if stages.is_empty() {
                stages.push(of_folded(job, line, Folded::default()));
            }
        }
        found.push(conclusion::in_sequence(stages));
    }
    let failed_by = found.iter().position(|found| found.explored.failure.is_some());
    let known = job.known.as_ref();
    let mut report = conclusion::conclude(&job.config, known, &plan, found, failed_by, Vec::new());
    report.notes.extend(notes);
    report.elapsed_ms = elapsed_ms;
    Ok(report)
}

/// What a search found that was run in units.
fn of_folded(job: &Job, line: &str, folded: Folded) -> Found {
    let covered = folded.covered();
    let Folded { counts, over, failure, mut deaths, diverged, trouble, memory, .. } = folded;
    let ended = match (diverged, trouble) {
        _ if failure.is_some() => Ended::Failed,
        (Some(divergence), _) => Ended::Diverged(divergence),
        (None, Some(why)) => Ended::Trouble(why),
        (None, None) if memory => Ended::Memory,
        (None, None) if over => Ended::Covered,
        (None, None) => Ended::Stopped,
    };
    let failure: Option<Failure> =
        failure.or_else(|| (!deaths.is_empty()).then(|| deaths.remove(0)));
    let mut notes = folded.notes;
    if counts.executions > 0 && counts.max_depth == 0 && failure.is_none() {
        notes.push(raddle_trace::Note::NothingConcurrent);
    }
    if let Ended::Diverged(divergence) = &ended {
        notes.insert(0, raddle_trace::Note::Diverged(divergence.clone()));
    }
    let mut coverage = folded.coverage;
    if let (Some(coverage), Some(known)) = (&mut coverage, &job.known) {
        let before = known.len() as u64;
        coverage.pairs.merge(known);
        coverage.count.known = coverage.pairs.len() as u64;
        coverage.count.added = coverage.count.known.saturating_sub(before);
    }
    let receives = folded.receives.map(|seen| {
        // Counted again: what a part says of itself is not what all of them say.
        ReceiveCoverage::merged(&seen, &ReceivesSeen::default(), 0)
    });
    let traces = folded.traces.map(|traces| traces.count());
    let progress = Progress { traces, executions: counts.executions, ..Progress::default() };
    let assumptions = folded.assumptions;
    let explored = Explored {
        ended,
        counts,
        failure,
        deaths,
        kinds: std::collections::BTreeMap::new(),
        assumptions,
        notes,
        progress,
    };
    Found { name: line.to_owned(), explored, covered, traces, progress, coverage, receives }
}
