//! One execution again, with decisions that are known.

use raddle_trace::{Assumption, Counts, Divergence, Outcome, Schedule, Trace, host::RetracedEvent};

use crate::error::EngineError;
use crate::execution::Ending;
use crate::limits::{Lap, Stop};
use crate::pulse::Pulse;
use crate::recorder::Recorder;
use crate::script::Script;
use crate::search::{Recorded, Search, Setup};
use crate::strategy::Taken;

/// One execution, as recorded.
#[derive(Debug)]
pub struct Replayed {
    /// How it ended.
    pub outcome: Outcome,
    /// The decisions, as far as it came.
    pub schedule: Schedule,
    /// The same as indexes, for a strategy of this process.
    pub decisions: Vec<Taken>,
    /// What happened.
    pub trace: Trace,
    /// If it did not do what was recorded: where.
    pub divergence: Option<Divergence>,
    /// How much was done.
    pub counts: Counts,
    /// What holds for it.
    pub assumptions: Vec<Assumption>,
}

/// Runs one execution with the decisions of `schedule`, and compares it with `expected` if given.
///
/// # Errors
/// If the schedule cannot be one of any program, or a search runs here already.
pub fn replay(
    schedule: &Schedule,
    expected: Option<&Trace>,
    setup: &Setup,
    lap: &mut dyn FnMut(Lap) -> Stop,
    pulse: &mut dyn FnMut(&'static Pulse),
    body: &dyn Fn(),
) -> Result<Replayed, EngineError> {
    schedule.validate().map_err(EngineError::Schedule)?;
    let setup = Setup { settings: schedule.settings, ..*setup };
    let (mut search, apart) = Search::new(&setup, pulse)?;
    let ex = &mut *search;
    ex.decisions.script = Some(Script::new(schedule, &mut ex.tasks.names));
    let (ran, again, trace) = if let Some(mut apart) = apart {
        let Recorded { ran, schedule, trace } = apart.record(&mut search, body, lap)?;
        (ran, schedule, trace)
    } else {
        ex.detectors.track_races_next = true;
        ex.decisions.strict = true;
        ex.listeners.recorder = Some(Box::default());
        let ran = search.run(body, lap, 0);
        let (again, trace) = search.recorded();
        (ran, again, trace)
    };
    if ran.ending == Ending::Foreign {
        return Err(EngineError::Foreign);
    }
    let divergence = match ran.ending {
        Ending::Diverged(divergence) => Some(*divergence),
        _ => expected
            .and_then(|expected| first_difference(expected, &trace))
            .or_else(|| other_steps(schedule, &again, &trace)),
    };
    let ex = &*search;
    let mut counts = Counts::default();
    counts.executions = 1;
    counts.rejected = u64::from(matches!(ran.outcome, Outcome::Limit { .. }));
    (counts.steps, counts.decisions) = (ex.n_steps, ex.decisions.taken.len() as u64);
    (counts.max_steps, counts.max_depth) = (counts.steps, counts.decisions);
    counts.max_tasks = ex.tasks.created.len() as u64;
    let assumptions = ex.lasting.seen.assumptions(setup.settings);
    let (outcome, decisions) = (ran.outcome, ex.decisions.taken.clone());
    Ok(Replayed { outcome, schedule: again, decisions, trace, divergence, counts, assumptions })
}

/// What an execution does after the options that it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterOptions {
    /// There must be nothing left to decide: else it is another execution than the options are of.
    Nothing,
    /// Tasks move in turn.
    InTurn,
}

/// Takes these options in one execution, and tells each thing that happens in it before the next
/// does: for executions that end their process.
///
/// How it ends is returned if it comes to its end after all.
///
/// # Errors
/// If a search runs here already, or another OS thread used an object of the execution.
pub fn retrace(
    options: &[u32],
    after: AfterOptions,
    setup: &Setup,
    hear: Box<dyn FnMut(RetracedEvent)>,
    lap: &mut dyn FnMut(Lap) -> Stop,
    pulse: &mut dyn FnMut(&'static Pulse),
    body: &dyn Fn(),
) -> Result<Outcome, EngineError> {
    let (mut search, _) = Search::new(setup, pulse)?;
    let ex = &mut *search;
    ex.decisions.plan.prefix.extend_from_slice(options);
    ex.detectors.track_races_next = true;
    ex.decisions.strict = after == AfterOptions::Nothing;
    ex.listeners.recorder = Some(Box::new(Recorder::telling(hear)));
    let ran = search.run(body, lap, 0);
    // Tasks that came to be after the last step.
    search.recount();
    if ran.ending == Ending::Foreign {
        return Err(EngineError::Foreign);
    }
    Ok(ran.outcome)
}

/// The first step that two traces do not share.
fn first_difference(expected: &Trace, found: &Trace) -> Option<Divergence> {
    let say = |trace: &Trace, step: usize| match trace.events.get(step) {
        None => "the end of the execution".to_owned(),
        Some(event) => {
            let (who, op, site) = (trace.task_label(event.task), &event.op, &event.site);
            format!("{who}: {op} at {site}")
        }
    };
    let longest = expected.events.len().max(found.events.len());
    let differs = |&step: &usize| match (expected.events.get(step), found.events.get(step)) {
        (Some(a), Some(b)) => (a.task, &a.op, &a.site) != (b.task, &b.op, &b.site),
        _ => true,
    };
    let step = (0..longest).find(differs)?;
    let decisions = found.events.iter().take(step).filter_map(|event| event.decision);
    Some(Divergence {
        step: step as u64,
        decision: decisions.max().map_or(0, |last| last + 1),
        expected: say(expected, step),
        found: say(found, step),
    })
}

/// The same decisions, but other steps than when the schedule was recorded.
fn other_steps(recorded: &Schedule, again: &Schedule, trace: &Trace) -> Option<Divergence> {
    let same = recorded.steps_hash == 0 || recorded.steps_hash == again.steps_hash;
    (!same).then(|| Divergence {
        step: trace.events.len() as u64,
        decision: again.decisions.len() as u32,
        expected: "the steps that were recorded".to_owned(),
        found: "other steps under the same decisions; the saved trace file tells which".to_owned(),
    })
}
