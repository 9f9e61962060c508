//! Executions that fail: run once more for their trace; and those that end their process, after which a
//! search goes on.

use raddle_trace::{Death, Divergence, Failure, Outcome, Schedule, Trace};

use crate::error::EngineError;
use crate::execution::Ending;
use crate::host::Ran;
use crate::limits::{Lap, Stop};
use crate::pulse::Beat;
use crate::search::{Isolate, Recorded, Search};

/// After so many executions that ended their process there is little to learn from more.
const MOST_DEATHS: u64 = 32;

/// What a search has found so far.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    failure: Option<Failure>,
    /// Of executions that ended their process: one for each way of doing so at each place.
    deaths: Vec<Failure>,
    died: u64,
    /// How, and after which step of which task.
    known: Vec<(Death, Beat)>,
}

/// A search whose last execution failed.
pub(crate) struct FailedSearch<'a> {
    pub(crate) search: &'a mut Search,
    pub(crate) apart: Option<&'a mut (dyn Isolate + 'static)>,
    pub(crate) body: &'a dyn Fn(),
    pub(crate) lap: &'a mut dyn FnMut(Lap) -> Stop,
    /// Tasks that could not be unwound.
    pub(crate) leaked: &'a mut u64,
}

impl Failures {
    /// Hears of a failing execution with this number. Whether that ends the search.
    pub(crate) fn hear(
        &mut self,
        found: FailedSearch<'_>,
        ran: Ran,
        number: u64,
    ) -> Result<bool, EngineError> {
        let Outcome::Died { death, .. } = &ran.outcome else {
            self.failure = Some(found.record(ran, number)?);
            return Ok(true);
        };
        if found.apart.is_none() {
            // The panic was caught by code that knows of it; it only kept the process from dying.
            return Ok(false);
        }
        self.died += 1;
        let place = Beat { executions: 0, steps: 0, ..found.search.lasting.pulse.beat() };
        let new = (death.clone(), place);
        if !self.known.contains(&new) {
            self.known.push(new);
            self.deaths.push(found.record(ran, number)?);
        }
        Ok(self.died >= MOST_DEATHS)
    }

    /// The failure, and the others. If there were only such as ended their process, the first of them.
    pub(crate) fn end(mut self) -> (Option<Failure>, Vec<Failure>) {
        if self.failure.is_none() && !self.deaths.is_empty() {
            self.failure = Some(self.deaths.remove(0));
        }
        (self.failure, self.deaths)
    }
}

impl FailedSearch<'_> {
    /// Runs the execution once more and writes down what happens.
    fn record(self, found: Ran, execution: u64) -> Result<Failure, EngineError> {
        let Self { search, apart, body, lap, leaked } = self;
        let (again, schedule, trace) = match apart {
            None => search.repeat(body),
            Some(apart) => {
                // What the search goes on from is the execution that was found, not this one.
                let before = (
                    search.decisions.taken.clone(),
                    search.n_steps,
                    search.decisions.cut,
                    search.tasks.created.clone(),
                );
                let Recorded { ran, schedule, trace } = apart.repeat(search, body, lap)?;
                (
                    search.decisions.taken,
                    search.n_steps,
                    search.decisions.cut,
                    search.tasks.created,
                ) = before;
                (ran, schedule, trace)
            }
        };
        *leaked += again.leaked;
        Ok(failure(found, again, schedule, trace, execution))
    }
}

/// The failure of an execution that was run once more.
fn failure(found: Ran, again: Ran, schedule: Schedule, trace: Trace, execution: u64) -> Failure {
    let unstable = match &again.ending {
        Ending::Diverged(divergence) => Some((**divergence).clone()),
        _ if again.outcome.kind() != found.outcome.kind() => Some(Divergence {
            step: trace.events.len() as u64,
            decision: schedule.decisions.len() as u32,
            expected: found.outcome.kind().to_owned(),
            found: again.outcome.kind().to_owned(),
        }),
        _ => None,
    };
    // The repeated outcome knows more: where locks were taken. If it is another one, keep ours.
    let outcome = if unstable.is_none() { again.outcome } else { found.outcome };
    let mut failure = Failure::new(outcome, schedule, trace, execution);
    failure.unstable = unstable;
    failure
}
