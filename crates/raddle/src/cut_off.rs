//! An execution that panicked and never came back, because what the panic unwound aborts or hangs: run again, for its trace.
//!
//! What it had decided when the panic was raised is known, since the panic hook runs before anything is unwound. So
//! another OS thread goes the same way and tells each step and each panic as it happens. It comes back no more than the
//! first did, and need not.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use raddle_engine::{AfterOptions, Setup, Teardown};
use raddle_trace::host::Retraced;
use raddle_trace::{
    Counts, Covered, Death, Failure, Guarantee, Note, Outcome, Report, Settings, Verdict,
};

use crate::conclusion::note;
use crate::config::Config;
use crate::error::{Error, Hang};
use crate::job::{Body, Job};
use crate::supervisor;

/// The number of `SIGABRT`, everywhere.
const ABORT: i32 = 6;

/// The report of a search, or of a replay, that ended with an execution that was cut off.
///
/// # Errors
/// The hang itself, if it does not follow from a panic, or if that was not seen again.
pub(crate) fn report(
    job: &Job,
    hang: Box<Hang>,
    settings: Settings,
    began: Instant,
    test: &Body,
) -> Result<Report, Error> {
    let failure = match &hang.cut_off {
        Some(cut_off) => {
            let rounds = settings.rounds.or(cut_off.rounds);
            let settings = Settings { rounds, ..settings };
            retraced(job, cut_off.options.clone(), &hang, settings, test)?
        }
        None => None,
    };
    let Some(failure) = failure else { return Err(Error::Hung(hang)) };
    let (steps, decisions) = (failure.trace.events.len(), failure.schedule.decisions.len());
    let mut counts = Counts::default();
    counts.executions = hang.execution;
    (counts.steps, counts.decisions) = (steps as u64, decisions as u64);
    (counts.max_steps, counts.max_depth) = (counts.steps, counts.decisions);
    counts.max_tasks = failure.trace.tasks.len() as u64;
    let Config { replay, test, .. } = &job.config;
    let covered = match replay {
        Some(_) => Covered::Replay,
        None => Covered::Part { executions: hang.execution, preemptions: None },
    };
    let named = || job.config.composition().unwrap_or_else(|| job.config.strategy.clone());
    let strategy = if replay.is_some() { "replay".to_owned() } else { named() };
    let mut report = Report::new(strategy, Verdict::Failed, Guarantee::new(covered), counts);
    report.test.clone_from(test);
    report.seed = settings.data_seed.unwrap_or_else(|| job.config.seed_or_default());
    report.notes = notes(&failure.outcome);
    report.failure = Some(failure);
    report.elapsed_ms = began.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
    Ok(report)
}

fn notes(outcome: &Outcome) -> Vec<Note> {
    let mut notes = vec![note(
        "the execution did not come to its end, and the search ended with it: steps and decisions are those of this \
         execution alone",
    )];
    if let Outcome::Died { death, .. } = outcome {
        let what = match death {
            Death::Signal { .. } => {
                "aborts; the process was kept alive for this report, and the OS thread"
            }
            _ => "hangs; its OS thread",
        };
        notes.push(note(format!(
            "what the panic unwinds {what} is left behind: what it holds stays held. RADDLE_ISOLATION=process runs \
             each execution in a process of its own; then such a failure is made small, too"
        )));
    }
    notes
}

/// Goes the same way once more. None: the panic was not seen.
fn retraced(
    job: &Job,
    options: Vec<u32>,
    hang: &Hang,
    settings: Settings,
    test: &Body,
) -> Result<Option<Failure>, Error> {
    let mut job = job.quiet(None);
    (job.config.execution_time, job.config.checkpoint) = (None, None);
    // It was found to hang in the whole time already.
    job.config.watchdog = job.config.watchdog.map(|time| time / 2);
    // A task that was to be unwound after a failure is not: then the failure is seen, and nothing aborts.
    let (loud, calls, teardown) = (false, false, Teardown::Leak);
    let setup = Setup { settings, loud, calls, teardown, ..job.setup() };
    let heard = Arc::new(Mutex::new(Retraced::new()));
    let (theirs, test) = (Arc::clone(&heard), Arc::clone(test));
    let again = supervisor::run(&job, move |control| {
        raddle_engine::retrace(
            &options,
            AfterOptions::InTurn,
            &setup,
            Box::new(move |told| {
                theirs.lock().unwrap_or_else(PoisonError::into_inner).hear(told);
            }),
            &mut |lap| control.should_stop(lap),
            &mut |pulse| control.attach(pulse),
            &*test,
        )
    });
    let heard = heard.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let execution = hang.execution;
    Ok(match again {
        Ok(outcome) if outcome.is_failure() => Some(heard.failure(outcome, execution)),
        Err(Error::Hung(again)) if heard.trace.panics.iter().any(|raised| !raised.handled) => {
            let death = match &again.cut_off {
                Some(cut_off) if cut_off.aborted => Death::signal(ABORT),
                _ => Death::Hang { after_ms: milliseconds(hang.after) },
            };
            Some(heard.died(death, execution))
        }
        Ok(_) | Err(Error::Hung(_)) => None,
        Err(error) => return Err(error),
    })
}

fn milliseconds(time: Duration) -> u64 {
    time.as_millis().try_into().unwrap_or(u64::MAX)
}
