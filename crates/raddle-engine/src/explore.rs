//! Many executions: the loop, the counting, and the failure with its trace.

use std::collections::BTreeMap;

use raddle_trace::{
    Assumption, Carried, Counts, Divergence, Failure, Note, Outcome, Progress, Trace,
};

use crate::error::EngineError;
use crate::execution::{Decisions, Ending, Execution};
use crate::failures::{FailedSearch, Failures};
use crate::host::{self, Ran};
use crate::limits::{Lap, MOST_KEPT, Stop};
use crate::observer::{Audience, Ended, Observers};
use crate::pulse::Pulse;
use crate::search::{Isolate, Recorded, Search, Setup};
use crate::strategy::{Cut, Finished, Shortcut, Stateful, Strategy, Stuck};
use crate::witness::Witness;

/// What a search found.
#[derive(Debug)]
pub struct Explored {
    /// Why it ended.
    pub ended: Ended,
    /// How much was done.
    pub counts: Counts,
    /// The failure. If the search went on after executions that ended their process and found nothing
    /// else: the first of them.
    pub failure: Option<Failure>,
    /// Further executions that ended their process, one for each way of doing so at each place.
    pub deaths: Vec<Failure>,
    /// How many executions ended in which way, by [`Outcome::kind`]; only with
    /// [`Setup::keep_going`].
    pub kinds: BTreeMap<&'static str, u64>,
    /// What holds for what was covered, besides the strategy's own word.
    pub assumptions: Vec<Assumption>,
    /// What else there is to say.
    pub notes: Vec<Note>,
    /// How far the search came, by the strategy and the observers.
    pub progress: Progress,
}

/// Runs `body` under one schedule after another until the strategy has nothing left, a failure is
/// found, or a limit is reached.
///
/// `lap` is asked between executions, and every few thousand steps, whether to go on: the caller
/// has the clock. `pulse` is given the vital signs of this search before it begins, for a
/// watchdog on another OS thread.
///
/// # Errors
/// If a search cannot be run here. What the program does is never an error.
pub fn explore(
    strategy: &mut dyn Strategy,
    setup: &Setup,
    lap: &mut dyn FnMut(Lap) -> Stop,
    pulse: &mut dyn FnMut(&'static Pulse),
    body: &dyn Fn(),
) -> Result<Explored, EngineError> {
    explore_observed(strategy, &mut [], setup, lap, pulse, body)
}

/// [`explore`] with observers.
///
/// # Errors
/// As for `explore`.
pub fn explore_observed(
    strategy: &mut dyn Strategy,
    observers: Observers<'_, '_>,
    setup: &Setup,
    lap: &mut dyn FnMut(Lap) -> Stop,
    pulse: &mut dyn FnMut(&'static Pulse),
    body: &dyn Fn(),
) -> Result<Explored, EngineError> {
    explore_from(&Carried::default(), strategy, observers, setup, lap, pulse, body)
}

/// [`explore`] with observers, that may go on where another search stopped: with a strategy and observers
/// that were [restored](crate::observer::restore) from what that one saved, and with what its engine
/// [carried](crate::observer::Paused::carried). Counts, limits and notes are of both together.
///
/// # Errors
/// As for `explore`; and if what was carried cannot be an engine's.
pub fn explore_from(
    carried: &Carried,
    strategy: &mut dyn Strategy,
    observers: Observers<'_, '_>,
    setup: &Setup,
    lap: &mut dyn FnMut(Lap) -> Stop,
    pulse: &mut dyn FnMut(&'static Pulse),
    body: &dyn Fn(),
) -> Result<Explored, EngineError> {
    let (mut search, apart) = Search::new(setup, pulse)?;
    search.go_on_from(carried)?;
    let audience = Audience::new(strategy, observers);
    search.listeners.needs = audience.needs();
    let mut exploration = Exploration {
        search,
        apart,
        audience,
        setup,
        lap,
        body,
        first: carried.counts.executions,
        counts: carried.counts,
        leaked: carried.leaked,
        difference: None,
        waits: None,
        before_limit: None,
        failures: Failures::default(),
        kinds: BTreeMap::new(),
    };
    if let Some(ended) = exploration.offer_again()? {
        return Ok(exploration.finish(ended));
    }
    loop {
        let ended = match exploration.begin() {
            None => exploration.execute()?,
            ended => ended,
        };
        if let Some(ended) = ended {
            return Ok(exploration.finish(ended));
        }
    }
}

/// With [`Setup::run_twice`], the first execution is run twice, and from this one on those whose number is a
/// power of two: what a search costs does not change by that.
const TWICE_AGAIN: u64 = 1024;

/// A search in the middle of its work.
struct Exploration<'a, 'b> {
    search: Search,
    /// If executions run in processes of their own.
    apart: Option<Box<dyn Isolate>>,
    audience: Audience<'a, 'b>,
    setup: &'a Setup,
    lap: &'a mut dyn FnMut(Lap) -> Stop,
    body: &'a dyn Fn(),
    /// How many executions an earlier search had run.
    first: u64,
    counts: Counts,
    /// Tasks that could not be unwound.
    leaked: u64,
    /// Where an execution that was run twice was not the same both times.
    difference: Option<Divergence>,
    /// Where an execution that was run twice waited for something outside, both times.
    waits: Option<Note>,
    /// The panic that came before a limit, in the first execution that had both.
    before_limit: Option<String>,
    failures: Failures,
    /// See [`Explored::kinds`].
    kinds: BTreeMap<&'static str, u64>,
}

impl Exploration<'_, '_> {
    /// Runs an execution that counts for nothing, if a strategy that was restored has to be offered its states again; or
    /// why that ends the search.
    fn offer_again(&mut self) -> Result<Option<Ended>, EngineError> {
        let Self { search, apart, audience, lap, body, counts, leaked, .. } = self;
        let Some(strategy) = audience.stateful() else { return Ok(None) };
        if apart.is_some() {
            strategy.executions_are_apart();
        }
        if !strategy.wants_offer() {
            return Ok(None);
        }
        let mut decisions = 0;
        if apart.is_none() {
            search.ask(audience.strategy_alone());
            let ran = search.keeping(|search| {
                search.decisions.plan.renew([]);
                let ran = search.run(*body, lap, counts.executions);
                decisions = search.decisions.taken.len();
                ran
            });
            *leaked += ran.leaked;
            match ran.ending {
                Ending::Stopped => return Ok(Some(Ended::Stopped)),
                Ending::Foreign => return Err(EngineError::Foreign),
                _ => {}
            }
        }
        if let Some(strategy) = audience.stateful() {
            strategy.offered_again(decisions);
        }
        Ok(None)
    }

    /// Begins the next execution; or why there is none.
    fn begin(&mut self) -> Option<Ended> {
        let (executions, limits) = (self.counts.executions, &self.setup.limits);
        if executions >= limits.executions {
            return Some(Ended::Executions);
        }
        if executions.is_multiple_of(1024) && self.audience.frontier_bytes() > limits.frontier_bytes
        {
            return Some(Ended::Memory);
        }
        loop {
            if (self.lap)(Lap { executions, steps: 0 }) == Stop::Search {
                return Some(Ended::Stopped);
            }
            self.pause(None);
            // What it does besides executions may take long, and is asked about like those.
            if !self.audience.stateful().is_some_and(Stateful::work) {
                break;
            }
        }
        let Execution { decisions, listeners, .. } = &mut *self.search;
        let Decisions { plan, taken, .. } = decisions;
        if listeners.needs.plans {
            plan.renew(taken.iter().copied());
        } else {
            plan.clear();
        }
        if self.audience.begin(plan) {
            return None;
        }
        Some(self.audience.remarks().unfinished.map_or(Ended::Covered, Ended::Trouble))
    }

    /// Lets the observers look at the search, which may have ended.
    #[inline]
    fn pause(&mut self, ended: Option<&Ended>) {
        if self.audience.has_observers() {
            self.pause_for_observers(ended);
        }
    }

    fn pause_for_observers(&mut self, ended: Option<&Ended>) {
        let (search, counts, leaked) = (&self.search, self.counts, self.leaked);
        let carried = || Carried {
            counts,
            tasks: search.tasks.names.all().collect(),
            seen: search.lasting.seen.words(),
            leaked,
            notes: search.detectors.locks.notes.clone(),
        };
        self.audience.pause(counts, &carried, ended);
    }

    /// Runs the execution that was begun, to its end; or why that ends the search.
    #[inline]
    fn execute(&mut self) -> Result<Option<Ended>, EngineError> {
        let twice = self.is_run_twice();
        let Self { search, apart, audience, lap, body, counts, .. } = self;
        let (body, number) = (*body, counts.executions);
        let asked = audience.while_running();
        if twice && apart.is_none() {
            search.listeners.witness = Some(Box::new(Witness::new(self.setup.stopwatch)));
        }
        let ran = if let Some(apart) = apart {
            Some(Box::new(apart.run(search, asked, body, lap, number)?))
        } else {
            search.listeners.generator = match asked.shortcut() {
                Some(Shortcut::Draws(rng)) => Some(rng.clone()),
                _ => None,
            };
            search.ask(asked);
            let ran = search.run_next(body, lap, number);
            if search.listeners.repeat.untold > 0 {
                search.listeners.tell_repeated();
            }
            ran
        };
        if let Some(drawn) = search.listeners.generator.take()
            && let Some(Shortcut::Draws(own)) = audience.while_running().shortcut()
        {
            // A stack may overflow between the two.
            let overflowed =
                ran.as_ref().is_some_and(|ran| matches!(ran.ending, Ending::StackOverflow(_)));
            debug_assert!(
                overflowed || *own == drawn,
                "the strategy has drawn as often as the engine"
            );
            *own = drawn;
        }
        let is_watched_again =
            apart.is_none() && search.detectors.cell_used && !search.detectors.track_races_next;
        if ran.is_none() && !twice && !is_watched_again {
            // Nearly always. What a completed execution came to is not moved about: it is large.
            self.count(&Outcome::Completed, &[]);
            return Ok(None);
        }
        let ran = ran.map_or(Ran::COMPLETED, |ran| *ran);
        self.look_into(ran, twice, is_watched_again)
    }

    /// The part of [`execute`](Self::execute) for an execution that did not complete, or is run once more.
    #[inline(never)]
    fn look_into(
        &mut self,
        mut ran: Ran,
        twice: bool,
        is_watched_again: bool,
    ) -> Result<Option<Ended>, EngineError> {
        self.leaked += ran.leaked;
        if twice || is_watched_again {
            self.run_once_more(&mut ran, twice, is_watched_again)?;
        }
        match &ran.ending {
            Ending::Stopped => Ok(Some(Ended::Stopped)),
            Ending::Foreign => Err(EngineError::Foreign),
            Ending::Diverged(divergence) => Ok(Some(Ended::Diverged((**divergence).clone()))),
            _ => match self.end(ran)? {
                None if self.difference.is_some() => {
                    Ok(self.difference.clone().map(Ended::Diverged))
                }
                ended => Ok(ended),
            },
        }
    }

    /// After an execution that is to be run twice, or in which a cell was used for the first time.
    #[cold]
    fn run_once_more(
        &mut self,
        ran: &mut Ran,
        twice: bool,
        is_watched_again: bool,
    ) -> Result<(), EngineError> {
        let Self { search, lap, body, counts, leaked, .. } = self;
        // What fails is run once more for its trace anyway.
        let twice = twice && matches!(ran.outcome, Outcome::Completed);
        if let Some(witness) = &mut search.listeners.witness {
            witness.compare();
        }
        let completed = ran.ending == Ending::Completed;
        if is_watched_again {
            *leaked += search.watch_again(ran, *body, lap, counts.executions);
        } else if twice && completed {
            self.run_second_time(ran)?;
        }
        let witness = self.search.listeners.witness.take().filter(|_| twice && completed);
        self.compare(ran, witness);
        Ok(())
    }

    /// Whether the execution that was begun is run twice.
    fn is_run_twice(&self) -> bool {
        let number = self.counts.executions + 1;
        let again = number >= TWICE_AGAIN && number.is_power_of_two();
        self.setup.run_twice && (again || self.counts.executions == self.first)
    }

    /// Runs an execution that completed a second time. If that one fails, it is how the execution ended.
    fn run_second_time(&mut self, ran: &mut Ran) -> Result<(), EngineError> {
        let Self { search, apart, lap, body, counts, leaked, difference, .. } = self;
        let (again, other) = match apart {
            None => (search.run_again(*body, lap, counts.executions), None),
            Some(apart) => {
                let before = search.n_steps;
                search.keeping(|search| {
                    let Recorded { ran, trace, .. } = apart.repeat(search, *body, lap)?;
                    let completed = matches!(ran.outcome, Outcome::Completed);
                    let other = completed.then(|| other_length(before, search.n_steps, &trace));
                    Ok::<_, EngineError>((ran, other.flatten()))
                })?
            }
        };
        *leaked += again.leaked;
        *difference = other;
        if matches!(again.ending, Ending::Diverged(_) | Ending::Foreign)
            || again.outcome.is_failure()
        {
            (ran.ending, ran.outcome) = (again.ending, again.outcome);
        }
        Ok(())
    }

    /// Notes where the second time was not like the first, which had completed.
    fn compare(&mut self, ran: &mut Ran, witness: Option<Box<Witness>>) {
        let Some(mut witness) = witness else { return };
        if matches!(ran.outcome, Outcome::Completed) && self.waits.is_none() {
            self.waits = witness.waited();
        }
        let (step, decision) = (self.search.n_steps, self.search.decisions.taken.len());
        match &mut ran.ending {
            Ending::Diverged(divergence) => {
                if let Some(named) = witness.difference() {
                    **divergence = named;
                }
            }
            Ending::Completed if matches!(ran.outcome, Outcome::Completed) => {
                self.difference = witness.end(decision);
            }
            Ending::Stopped | Ending::Foreign | Ending::DataRace(_) => {}
            _ => {
                let found = ran.outcome.kind().to_owned();
                let (decision, expected) = (decision as u32, Outcome::Completed.kind().to_owned());
                self.difference = Some(Divergence { step, decision, expected, found });
            }
        }
    }

    /// Counts an execution and tells that it ended; or why that ends the search.
    fn end(&mut self, ran: Ran) -> Result<Option<Ended>, EngineError> {
        if matches!(ran.outcome, Outcome::Limit { .. }) {
            self.counts.rejected += 1;
            if self.search.tasks.n_panics > 0 && self.before_limit.is_none() {
                self.before_limit = host::first_panic(&self.search);
            }
        }
        self.count(&ran.outcome, &ran.stuck);
        if !self.setup.keep_going && ran.outcome.is_failure() {
            let Self { search, apart, lap, body, leaked, .. } = self;
            let found = FailedSearch { search, apart: apart.as_deref_mut(), body, lap, leaked };
            if self.failures.hear(found, ran, self.counts.executions)? {
                return Ok(Some(Ended::Failed));
            }
        }
        Ok(None)
    }

    /// Counts an execution that came to this, and tells that it ended.
    #[inline]
    fn count(&mut self, outcome: &Outcome, stuck: &[Stuck]) {
        let (ex, counts) = (&*self.search, &mut self.counts);
        counts.executions += 1;
        counts.blocked += u64::from(ex.decisions.cut == Some(Cut::Redundant));
        counts.steps += ex.n_steps;
        counts.decisions += ex.decisions.taken.len() as u64;
        counts.max_steps = counts.max_steps.max(ex.n_steps);
        counts.max_depth = counts.max_depth.max(ex.decisions.taken.len() as u64);
        counts.max_tasks = counts.max_tasks.max(ex.tasks.created.len() as u64);
        self.audience.end(&Finished {
            outcome,
            decisions: &ex.decisions.taken,
            steps: ex.n_steps,
            tasks: ex.tasks.created.len() as u64,
            stuck,
            cut: ex.decisions.cut,
            yielded: ex.lasting.seen.yielded,
            gaps: ex.lasting.seen.gaps(),
        });
        if self.setup.keep_going {
            *self.kinds.entry(outcome.kind()).or_insert(0) += 1;
        }
    }

    fn finish(mut self, ended: Ended) -> Explored {
        self.pause(Some(&ended));
        let Self { mut search, audience, setup, counts, leaked, .. } = self;
        let Self { difference, before_limit, failures, kinds, waits, .. } = self;
        let mut notes = Vec::new();
        if let Ended::Diverged(divergence) = &ended {
            notes.push(Note::Diverged(divergence.clone()));
        }
        let (mut failure, deaths) = failures.end();
        if let Some(failure) = &mut failure {
            failure.unstable = failure.unstable.take().or(difference);
        }
        if let Some(panicked) = before_limit.filter(|_| failure.is_none()) {
            notes.push(Note::Text {
                text: format!(
                    "before an execution was cut off by a limit, {panicked}. The panic was caught, or might have \
                     been; what came after may follow from it"
                ),
            });
        }
        notes.extend(waits);
        if leaked > 0 {
            notes.push(Note::Leaked { tasks: leaked });
        }
        if search.lasting.kept_too_many {
            notes.push(Note::Text { text: kept_too_many() });
        }
        if counts.executions > 0 && counts.max_depth == 0 && failure.is_none() {
            notes.push(Note::NothingConcurrent);
        }
        // A deadlock shows its cycle itself.
        let deadlock = matches!(&failure, Some(Failure { outcome: Outcome::Deadlock { .. }, .. }));
        let shown = |note: &Note| !(deadlock && matches!(note, Note::LockOrder { .. }));
        notes.extend(search.detectors.locks.notes.drain(..).filter(shown));
        notes.append(&mut audience.remarks().notes);
        let assumptions = search.lasting.seen.assumptions(setup.settings);
        let progress = audience.progress();
        Explored { ended, counts, failure, deaths, kinds, assumptions, notes, progress }
    }
}

/// What is said when no more unfinished tasks are kept.
fn kept_too_many() -> String {
    format!(
        "executions that fail leave their unfinished tasks as they are, so that no destructor can hide the \
         failure. {MOST_KEPT} of them are kept by now, the most that a process keeps: from then on they were \
         unwound, and their destructors ran"
    )
}

/// An execution that had so many steps has another number of them the second time.
fn other_length(before: u64, steps: u64, trace: &Trace) -> Option<Divergence> {
    let last = trace.events.last().map_or(String::new(), |event| {
        let (who, op, site) = (trace.task_label(event.task), &event.op, &event.site);
        format!(", the last of them {who}: {op} at {site}")
    });
    let decision = trace.events.iter().filter_map(|event| event.decision).max();
    (before != steps).then(|| Divergence {
        step: before.min(steps),
        decision: decision.map_or(0, |last| last + 1),
        expected: format!("an execution of {before} steps"),
        found: format!("one of {steps} steps{last}"),
    })
}
