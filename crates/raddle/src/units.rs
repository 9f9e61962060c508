//! Searches in units: what there is to be run, one unit of it, and the report of all.
//!
//! A unit is run by a fresh engine that begins with the numbers which tasks had where the unit was cut, so it does what it would
//! have done there. What comes of it is of this run alone; [`raddle_trace::fold`] adds up.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use raddle_engine::observer::Paused;
use raddle_engine::{Ended, Explored, KnownDeath, Lap, Pulse, Stop};
use raddle_search::units::{self, Heard, UnitError};
use raddle_search::{ReceiveCoverage, build_unit, unit_method};
use raddle_trace::fold::Folded;
use raddle_trace::unit::{
    Completed, PlannedSearch, Quota, ToJudge, Unit, UnitEnd, UnitId, UnitPlan, UnitResult, Upwards,
    VERSION,
};
use raddle_trace::{Failure, Note, Progress, ReceivesSeen, Report};

use crate::check;
use crate::checkpoint;
use crate::conclusion;
use crate::config::EXECUTIONS;
use crate::cut_off;
use crate::error::Error;
use crate::job::{Body, Job};
use crate::plan::Plan;
use crate::portfolio::AFTER_REDUCTION;
use crate::search::{self, Asked, CALLS_OF_PAIRS, MAX_EXACT_TRACES, SearchResult};
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
                pace: member.pace,
            });
        }
    }
    let config = &job.config;
    let usual = if config.time.is_none() && plan.samples { EXECUTIONS } else { u64::MAX };
    Ok(UnitPlan {
        version: VERSION,
        searches,
        executions: config.executions.unwrap_or(usual),
        time_ms: config.time.map(|time| time.as_millis().try_into().unwrap_or(u64::MAX)),
        listed: plan.listed,
        after_reduction: AFTER_REDUCTION,
        run: run_of(job, &plan),
    })
}

/// Which run it is: what must be the same for units to mean the same.
fn run_of(job: &Job, plan: &Plan) -> String {
    let mut text = String::new();
    let config = &job.config;
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name} {value}");
    };
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
    pub(crate) avoid: Vec<KnownDeath>,
}

/// When a unit is to end before its time: how many pieces are wanted then.
#[derive(Clone, Debug, Default)]
pub(crate) struct Yields(pub(crate) Arc<AtomicU32>);

/// The thread that runs a unit, and what it asks.
struct Here<'a> {
    control: &'a Control,
    yields: &'a Yields,
    /// Whether progress is reported to a listener.
    tells: bool,
}

impl units::Host for Here<'_> {
    fn lap(&self, lap: Lap) -> Stop {
        self.control.should_stop(lap)
    }

    fn wanted(&self) -> u32 {
        self.yields.0.load(Ordering::Relaxed)
    }

    fn attach(&self, pulse: &'static Pulse) {
        self.control.attach(pulse);
    }

    fn between(&self, search: &mut Paused<'_, '_>) {
        if self.tells && self.control.progress_requested() {
            let executions = search.counts().executions;
            self.control.report_progress(&Progress { executions, ..search.progress() });
        }
    }
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
    let search = build_unit(&unit.line, unit.method, samples, environment)
        .map_err(|error| search::refusal(&unit.line, &error))?;
    let asked = Asked::new(&job);
    let mut setup = asked.setup;
    // Those of other units are compared with what is repeated.
    setup.run_twice = unit.id == UnitId::root(unit.search);
    setup.settings = job.config.settings_of(search.reduces);
    let heard = Heard {
        traces: asked.traces.then_some(MAX_EXACT_TRACES),
        pairs: asked.pairs.then_some((asked.known, CALLS_OF_PAIRS)),
        receives: asked.receives.then_some(asked.known_orders),
    };
    let (body, theirs, own) = (Arc::clone(test), yields.clone(), unit.clone());
    let (settings, tells) = (setup.settings, asked.tells);
    let run = move |control: &Control| {
        let here = Here { control, yields: &theirs, tells };
        match units::run(search, &own, quota, &setup, &heard, &here, &*body) {
            Ok(completed) => Ok(Ok(completed)),
            Err(UnitError::Unit(reason)) => Ok(Err(reason)),
            Err(UnitError::Engine(error)) => Err(error),
        }
    };
    let time = Duration::from_millis(quota.time_ms);
    let mut completed = match supervisor::run_all(&job, Some(time), vec![Box::new(run)]) {
        Ok(mut results) => {
            let ran = results.pop().expect("one search has one result")?;
            ran.map_err(|reason| Error::Host { reason })?
        }
        Err(Error::Hung(hang)) => {
            // If it follows from a panic, that is the failure.
            of_report(&unit, cut_off::report(&job, hang, settings, began, test)?)
        }
        Err(error) => return Err(error),
    };
    completed.result.busy_us = busy_us().saturating_sub(before);
    Ok(completed)
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
        estimate: None,
        upwards: Upwards::default(),
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
    report.notes.extend(job.config.differences().chain(notes));
    report.elapsed_ms = elapsed_ms;
    Ok(report)
}

/// What a search found that was run in units.
fn of_folded(job: &Job, line: &str, folded: Folded) -> SearchResult {
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
        notes.push(Note::NothingConcurrent);
    }
    if let Ended::Diverged(divergence) = &ended {
        notes.insert(0, Note::Diverged(divergence.clone()));
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
    let estimate = folded.estimate;
    let share = estimate.map(|estimate| estimate.covered / estimate.total.about);
    let executions = counts.executions;
    let progress = Progress { traces, executions, estimate, covered: share, ..Progress::default() };
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
    SearchResult { name: line.to_owned(), explored, covered, traces, progress, coverage, receives }
}
