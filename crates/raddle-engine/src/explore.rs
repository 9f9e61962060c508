//! Many executions: the loop, the counting, and the failure with its trace.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};

use raddle_trace::{
    Assumption, Carried, Counts, Divergence, Failure, Note, Outcome, Progress, Schedule, Settings,
    Trace, host::Told,
};

use crate::execution::{Ending, Execution, Seen};
use crate::failures::{Failures, Found};
use crate::host::{self, Ran};
use crate::isolation::{self, Isolation};
use crate::limits::{Lap, Limits, Stop, Teardown};
pub use crate::observer::Ended;
use crate::observer::{Audience, Observers};
use crate::panics;
use crate::pulse::Pulse;
use crate::recorder::Recorder;
use crate::script::Script;
use crate::strategy::{Cut, Finished, Strategy, Taken};
use crate::tape::Tape;

/// What a search is run with, besides its strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// What decides which decision points there are.
    pub settings: Settings,
    /// When to stop.
    pub limits: Limits,
    /// What happens to unfinished tasks.
    pub teardown: Teardown,
    /// Bytes of stack for each task.
    pub stack_size: usize,
    /// Whether panics are also printed by the hook that was there before.
    pub loud: bool,
    /// Whether the search goes on after a failure. Failures are then counted, by kind, and none
    /// is kept with its trace.
    pub keep_going: bool,
    /// Where the options of the running execution are left, for whoever comes after this process.
    pub tape: Option<Tape>,
    /// Whether each execution runs in a process of its own, forked from this one: statics start anew, and
    /// an execution that ends its process is a failure like others, after which the search goes on.
    pub isolation: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            limits: Limits::default(),
            teardown: Teardown::default(),
            stack_size: 1 << 20,
            loud: false,
            keep_going: false,
            tape: None,
            isolation: false,
        }
    }
}

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

/// The tool could not do its work.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EngineError {
    /// A search was started from inside an execution.
    Nested,
    /// Another OS thread used an object of the execution.
    Foreign,
    /// A schedule that cannot be one of this program's.
    Schedule(String),
    /// Executions cannot be run in processes of their own: why.
    Isolation(String),
    /// A search was to go on from what no engine carries.
    Carried,
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nested => f.write_str(
                "a search was started inside an execution of another search; call raddle::check \
                 and raddle::explore from an ordinary test, not from the closure they run",
            ),
            Self::Foreign => f.write_str(
                "another OS thread used an object of the running execution; start threads with \
                 raddle::thread::spawn, and create what a test shares inside the closure that \
                 raddle runs",
            ),
            Self::Carried => f.write_str(
                "what the search was to go on from is damaged, or of another version; begin anew",
            ),
            Self::Schedule(why) => write!(f, "the schedule cannot be replayed: {why}"),
            Self::Isolation(why) => {
                write!(f, "an execution could not be run in a process of its own: {why}")
            }
        }
    }
}

impl std::error::Error for EngineError {}

/// A search's place on this OS thread. Ends every execution state when dropped.
pub(crate) struct Search {
    /// None only while it is dropped.
    execution: Option<Box<Execution>>,
    /// Whether others may have its pulse and its allocations when it is over.
    reusable: bool,
}

thread_local! {
    /// The state of the last search of this OS thread, for its allocations.
    static SPARE: Cell<Option<Box<Execution>>> = const { Cell::new(None) };
}

impl Drop for Search {
    fn drop(&mut self) {
        if let Some(execution) = self.execution.take() {
            if !self.reusable {
                return;
            }
            execution.pulse.give_back();
            // The thread may be on its way out.
            let _ = SPARE.try_with(|spare| spare.set(Some(execution)));
        }
    }
}

impl Deref for Search {
    type Target = Execution;

    fn deref(&self) -> &Execution {
        self.execution.as_ref().expect("a search has its state")
    }
}

impl DerefMut for Search {
    fn deref_mut(&mut self) -> &mut Execution {
        self.execution.as_mut().expect("a search has its state")
    }
}

impl Search {
    fn new(setup: &Setup, pulse: &mut dyn FnMut(&'static Pulse)) -> Result<Self, EngineError> {
        if !Execution::current().is_null() {
            return Err(EngineError::Nested);
        }
        panics::install();
        crate::overflow::install();
        let own = if setup.isolation { isolation::pulse()? } else { Pulse::acquire() };
        pulse(own);
        let limits = Limits { tasks: setup.limits.tasks.max(1), ..setup.limits };
        let mut execution = SPARE.take().unwrap_or_else(|| Execution::new(own));
        execution.renew(setup, limits, own);
        Ok(Self { execution: Some(execution), reusable: !setup.isolation })
    }

    /// Puts questions to this strategy, which must outlive what is run from now on.
    pub(crate) fn ask(&mut self, strategy: &mut dyn Strategy) {
        let pointer: *mut (dyn Strategy + '_) = strategy;
        #[expect(clippy::transmute_ptr_to_ptr, reason = "a cast cannot change the lifetime")]
        // SAFETY: only the lifetime changes; the callers' strategies outlive their searches.
        let pointer = unsafe {
            std::mem::transmute::<*mut (dyn Strategy + '_), *mut (dyn Strategy + 'static)>(pointer)
        };
        self.strategy = pointer;
    }

    /// Begins with what another search ended with.
    fn take_over(&mut self, carried: &Carried) -> Result<(), EngineError> {
        let ex = &mut **self;
        let known = ex.names.take_over(&carried.tasks) && ex.seen.take_over(&carried.seen);
        if !known {
            return Err(EngineError::Carried);
        }
        ex.locks.take_over(&carried.notes);
        Ok(())
    }

    pub(crate) fn run(
        &mut self,
        body: &dyn Fn(),
        lap: &mut dyn FnMut(Lap) -> Stop,
        executions: u64,
    ) -> Ran {
        // SAFETY: no execution runs on this OS thread (checked in `new`, and `run` leaves none).
        unsafe { host::run(&raw mut **self, body, lap, executions) }
    }

    /// Runs the last execution once more, for its trace.
    pub(crate) fn repeat(&mut self, body: &dyn Fn()) -> (Ran, Schedule, Trace) {
        let ex = &mut **self;
        ex.plan.prefix.clear();
        ex.plan.prefix.extend(ex.taken.iter().map(|taken| taken.option));
        ex.strict = true;
        ex.recorder = Some(Box::default());
        let ran = self.run(body, &mut |_| Stop::No, 0);
        let (schedule, trace) = self.recorded();
        self.strict = false;
        (ran, schedule, trace)
    }

    /// A cell was used for the first time, so data races are looked for from now on. The execution
    /// in which that happened is run once more, so that none is missed in it; a race found there is
    /// how it ends. What was decided and counted stays: the strategy has seen all of it.
    pub(crate) fn watch_again(
        &mut self,
        ran: &mut Ran,
        body: &dyn Fn(),
        lap: &mut dyn FnMut(Lap) -> Stop,
        executions: u64,
    ) -> u64 {
        self.watch = true;
        if matches!(ran.ending, Ending::Stopped | Ending::Foreign | Ending::Diverged(_)) {
            return 0;
        }
        let ex = &mut **self;
        let (taken, n_steps, cut) = (ex.taken.clone(), ex.n_steps, ex.cut);
        let created = ex.created.clone();
        ex.plan.prefix.clear();
        ex.plan.prefix.extend(taken.iter().map(|taken| taken.option));
        ex.strict = true;
        let again = self.run(body, lap, executions);
        let ex = &mut **self;
        ex.strict = false;
        (ex.taken, ex.n_steps, ex.cut, ex.created) = (taken, n_steps, cut, created);
        let telling = matches!(
            again.ending,
            Ending::DataRace(_) | Ending::Diverged(_) | Ending::Stopped | Ending::Foreign
        );
        if telling {
            (ran.ending, ran.outcome) = (again.ending, again.outcome);
        }
        again.leaked
    }

    pub(crate) fn recorded(&mut self) -> (Schedule, Trace) {
        let ex = &mut **self;
        let recorder: Box<Recorder> = ex.recorder.take().expect("a recorder was set");
        (recorder.schedule(ex, ex.settings), recorder.trace(ex))
    }
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
    let mut search = Search::new(setup, pulse)?;
    search.take_over(carried)?;
    let audience = Audience::new(strategy, observers);
    search.needs = audience.needs();
    let mut exploration = Exploration {
        search,
        apart: if setup.isolation { Some(Isolation::new()?) } else { None },
        audience,
        setup,
        lap,
        body,
        counts: carried.counts,
        leaked: carried.leaked,
        failures: Failures::default(),
        kinds: BTreeMap::new(),
    };
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

/// A search in the middle of its work.
struct Exploration<'a, 'b> {
    search: Search,
    /// If executions run in processes of their own.
    apart: Option<Isolation>,
    audience: Audience<'a, 'b>,
    setup: &'a Setup,
    lap: &'a mut dyn FnMut(Lap) -> Stop,
    body: &'a dyn Fn(),
    counts: Counts,
    /// Tasks that could not be unwound.
    leaked: u64,
    failures: Failures,
    /// See [`Explored::kinds`].
    kinds: BTreeMap<&'static str, u64>,
}

impl Exploration<'_, '_> {
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
        if (self.lap)(Lap { executions, steps: 0 }) == Stop::Search {
            return Some(Ended::Stopped);
        }
        self.pause(None);
        let Execution { plan, taken, .. } = &mut *self.search;
        plan.renew(taken.iter().copied());
        if self.audience.begin(plan) {
            return None;
        }
        Some(self.audience.remarks().unfinished.map_or(Ended::Covered, Ended::Trouble))
    }

    /// Lets the observers look at the search, which may have ended.
    fn pause(&mut self, ended: Option<&Ended>) {
        let (search, counts, leaked) = (&self.search, self.counts, self.leaked);
        let carried = || Carried {
            counts,
            tasks: search.names.all().collect(),
            seen: search.seen.words(),
            leaked,
            notes: search.locks.notes.clone(),
        };
        self.audience.pause(counts, &carried, ended);
    }

    /// Runs the execution that was begun, to its end; or why that ends the search.
    fn execute(&mut self) -> Result<Option<Ended>, EngineError> {
        let Self { search, apart, audience, lap, body, counts, leaked, .. } = self;
        let (body, number) = (*body, counts.executions);
        let asked = audience.while_running();
        let mut ran = if let Some(apart) = apart {
            apart.run(search, asked, body, lap, number)?
        } else {
            search.ask(asked);
            search.run(body, lap, number)
        };
        *leaked += ran.leaked;
        if apart.is_none() && search.touched && !search.watch {
            *leaked += search.watch_again(&mut ran, body, lap, number);
        }
        match ran.ending {
            Ending::Stopped => Ok(Some(Ended::Stopped)),
            Ending::Foreign => Err(EngineError::Foreign),
            Ending::Diverged(divergence) => Ok(Some(Ended::Diverged(divergence))),
            _ => self.end(ran),
        }
    }

    /// Counts an execution and tells that it ended; or why that ends the search.
    fn end(&mut self, ran: Ran) -> Result<Option<Ended>, EngineError> {
        let (ex, counts) = (&*self.search, &mut self.counts);
        counts.executions += 1;
        counts.rejected += u64::from(matches!(ran.outcome, Outcome::Limit { .. }));
        counts.blocked += u64::from(ex.cut == Some(Cut::Redundant));
        counts.steps += ex.n_steps;
        counts.decisions += ex.taken.len() as u64;
        counts.max_steps = counts.max_steps.max(ex.n_steps);
        counts.max_depth = counts.max_depth.max(ex.taken.len() as u64);
        counts.max_tasks = counts.max_tasks.max(ex.created.len() as u64);
        self.audience.end(&Finished {
            outcome: &ran.outcome,
            decisions: &ex.taken,
            steps: ex.n_steps,
            tasks: ex.created.len() as u64,
            stuck: &ran.stuck,
            cut: ex.cut,
            irregular: ex.seen.held_back
                || ex.settings.spurious && ex.seen.spurious && ex.seen.timers,
        });
        if self.setup.keep_going {
            *self.kinds.entry(ran.outcome.kind()).or_insert(0) += 1;
        } else if ran.outcome.is_failure() {
            let Self { search, apart, lap, body, leaked, .. } = self;
            let found = Found { search, apart: apart.as_mut(), body, lap, leaked };
            if self.failures.hear(found, ran, self.counts.executions)? {
                return Ok(Some(Ended::Failed));
            }
        }
        Ok(None)
    }

    fn finish(mut self, ended: Ended) -> Explored {
        self.pause(Some(&ended));
        let Self { mut search, audience, setup, counts, leaked, failures, kinds, .. } = self;
        let mut notes = Vec::new();
        if let Ended::Diverged(divergence) = &ended {
            notes.push(Note::Diverged(divergence.clone()));
        }
        let (failure, deaths) = failures.end();
        if leaked > 0 {
            notes.push(Note::Leaked { tasks: leaked });
        }
        if counts.executions > 0 && counts.max_depth == 0 && failure.is_none() {
            notes.push(Note::NothingConcurrent);
        }
        // A deadlock shows its cycle itself.
        if !matches!(&failure, Some(Failure { outcome: Outcome::Deadlock { .. }, .. })) {
            notes.append(&mut search.locks.notes);
        }
        notes.append(&mut audience.remarks().notes);
        let assumptions = assumptions(search.seen, setup.settings);
        let progress = audience.progress();
        Explored { ended, counts, failure, deaths, kinds, assumptions, notes, progress }
    }
}

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
    let mut search = Search::new(&setup, pulse)?;
    let ex = &mut *search;
    ex.script = Some(Script::new(schedule, &mut ex.names));
    let (ran, again, trace) = if setup.isolation {
        let apart = Isolation::new()?.record(&mut search, body, lap, |_| {})?;
        (apart.ran, apart.schedule, apart.trace)
    } else {
        ex.watch = true;
        ex.strict = true;
        ex.recorder = Some(Box::default());
        let ran = search.run(body, lap, 0);
        let (again, trace) = search.recorded();
        (ran, again, trace)
    };
    if ran.ending == Ending::Foreign {
        return Err(EngineError::Foreign);
    }
    let divergence = match ran.ending {
        Ending::Diverged(divergence) => Some(divergence),
        _ => expected
            .and_then(|expected| first_difference(expected, &trace))
            .or_else(|| other_steps(schedule, &again, &trace)),
    };
    let ex = &*search;
    let counts = Counts {
        executions: 1,
        rejected: u64::from(matches!(ran.outcome, Outcome::Limit { .. })),
        blocked: 0,
        steps: ex.n_steps,
        decisions: ex.taken.len() as u64,
        max_steps: ex.n_steps,
        max_depth: ex.taken.len() as u64,
        max_tasks: ex.created.len() as u64,
    };
    let assumptions = assumptions(ex.seen, setup.settings);
    let (outcome, decisions) = (ran.outcome, ex.taken.clone());
    Ok(Replayed { outcome, schedule: again, decisions, trace, divergence, counts, assumptions })
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
    setup: &Setup,
    hear: Box<dyn FnMut(Told)>,
    lap: &mut dyn FnMut(Lap) -> Stop,
    pulse: &mut dyn FnMut(&'static Pulse),
    body: &dyn Fn(),
) -> Result<Outcome, EngineError> {
    let mut search = Search::new(setup, pulse)?;
    let ex = &mut *search;
    ex.plan.prefix.extend_from_slice(options);
    ex.watch = true;
    ex.strict = true;
    ex.recorder = Some(Box::new(Recorder::telling(hear)));
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

fn assumptions(seen: Seen, settings: Settings) -> Vec<Assumption> {
    let mut assumptions = vec![Assumption::SequentialConsistency];
    if seen.timers {
        assumptions.push(Assumption::Timeouts(settings.timeouts.into()));
    }
    if seen.held_back {
        assumptions.push(Assumption::FairYields);
        if seen.idle {
            assumptions.push(Assumption::FairSpins);
        }
    }
    if seen.spurious && !settings.spurious {
        assumptions.push(Assumption::NothingSpurious);
    }
    if seen.unwound {
        assumptions.push(Assumption::UndividedUnwinding);
    }
    if seen.seeded {
        assumptions.push(Assumption::SeededData);
    }
    assumptions
}
