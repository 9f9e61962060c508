//! A search on its OS thread: what runs its executions, one after the other.

mod other_process;

use std::cell::Cell;
use std::fmt;
use std::ops::{Deref, DerefMut};

use raddle_trace::{Carried, Schedule, Settings, Trace};

pub use self::other_process::{
    Concluded, CutOff, EndKind, Heard, Isolate, Isolator, Numbers, Recorded,
};
pub use crate::crash_log::{CrashLog, DecisionMark};
use crate::error::EngineError;
use crate::execution::{Decisions, Ending, Execution, Lasting, Shown};
use crate::host;
pub use crate::host::Ran;
use crate::limits::{Lap, Limits, Stop, Teardown};
pub use crate::op::Name;
use crate::pulse::Pulse;
use crate::recorder::Recorder;
use crate::seen::Seen;
use crate::stopwatch::Stopwatch;
use crate::strategy::Strategy;
use crate::tape::Tape;
use crate::{faults, fiber, last_words, object, panic_hook};

/// What a search is run with, besides its strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
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
    /// Whether a few executions are run twice, the first among them: if they do not do the same both times the
    /// search ends with a divergence. The second time counts for nothing.
    pub run_twice: bool,
    /// What measures the executions that are run twice: if one waits for something outside of raddle, both times and at the
    /// same step, there is a note that says where.
    pub stopwatch: Option<Stopwatch>,
    /// Whether the steps of a trace are recorded with the functions that led to them. To find their names takes
    /// some hundred milliseconds the first time.
    pub calls: bool,
    /// Whether panics of a replay are printed with the functions of the program that led to them, and with no others.
    pub backtraces: bool,
    /// Whether the search goes on after a failure. Failures are then counted, by kind, and none
    /// is kept with its trace.
    pub keep_going: bool,
    /// Where the options of the running execution are written, for the process that goes on if this one dies.
    pub tape: Option<Tape>,
    /// Whether each execution runs in a process of its own, and who sees to that: statics start anew, and
    /// an execution that ends its process is a failure like others, after which the search goes on.
    pub isolation: Option<Isolator>,
    /// What is written to standard error if the process ends in the middle of an execution, by a fault, an abort or `exit`.
    pub at_death: Option<&'static str>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            limits: Limits::default(),
            teardown: Teardown::default(),
            stack_size: 1 << 20,
            loud: false,
            run_twice: false,
            stopwatch: None,
            calls: false,
            backtraces: false,
            keep_going: false,
            tape: None,
            isolation: None,
            at_death: None,
        }
    }
}

/// A search's place on this OS thread. Ends every execution state when dropped.
pub struct Search {
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
        if let Some(mut execution) = self.execution.take() {
            execution.tasks.idlers.give_back();
            if !self.reusable {
                return;
            }
            execution.lasting.pulse.give_back();
            // The thread may be on its way out.
            let _ = SPARE.try_with(|spare| spare.set(Some(execution)));
        }
    }
}

impl Deref for Search {
    type Target = Execution;

    #[inline]
    fn deref(&self) -> &Execution {
        self.execution.as_ref().expect("a search has its state")
    }
}

impl DerefMut for Search {
    #[inline]
    fn deref_mut(&mut self) -> &mut Execution {
        self.execution.as_mut().expect("a search has its state")
    }
}

impl fmt::Debug for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Search").field("execution", &self.execution).finish_non_exhaustive()
    }
}

/// What goes to another OS thread and back, while this one waits.
struct Lent<T>(T);

// SAFETY: the lender waits, so there is one user at a time.
unsafe impl<T> Send for Lent<T> {}

impl<T> Lent<T> {
    fn get(self) -> T {
        self.0
    }
}

/// Runs one execution on an OS thread of its own.
///
/// A task that was left in the middle of its unwinding leaves its OS thread panicking for good, as std counts it. There
/// code of the test that asks for that would take another way, and tasks that unwind could not be told from others.
#[cold]
fn run_apart(
    ex: *mut Execution,
    body: &dyn Fn(),
    lap: &mut dyn FnMut(Lap) -> Stop,
    executions: u64,
) -> Option<Box<Ran>> {
    let lap: *mut (dyn FnMut(Lap) -> Stop + '_) = lap;
    // SAFETY: no execution runs on the thread that calls this, and what it uses is lent to one at a time.
    let run = move |lent: Lent<_>| unsafe {
        let (ex, body, lap): (*mut Execution, &dyn Fn(), *mut (dyn FnMut(Lap) -> Stop + '_)) =
            lent.get();
        host::run(ex, body, &mut *lap, executions)
    };
    let lent = || Lent((ex, body, lap));
    std::thread::scope(|scope| {
        let (thread, theirs) = (std::thread::Builder::new().name("raddle".to_owned()), lent());
        let work = move || Lent((run(theirs), fiber::kept_here(), object::clashes()));
        match thread.spawn_scoped(scope, work).map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(Lent((ran, kept, clashes)))) => {
                fiber::count_kept(kept);
                object::count_clashes(clashes);
                ran
            }
            Ok(Err(payload)) => std::panic::resume_unwind(payload),
            // No thread can be had.
            Err(_) => run(lent()),
        }
    })
}

/// What is to be said if the process ends while an execution runs on this OS thread.
fn line_of_what_runs() -> Option<&'static str> {
    let execution = Execution::current();
    if execution.is_null() {
        return None;
    }
    // SAFETY: the current execution is live, and this is read by its own OS thread, which may be interrupted anywhere in it:
    // what is read was written before it became the current one.
    unsafe { (*execution).lasting.at_death }
}

impl Search {
    /// A search, and what runs its executions elsewhere, if anything does.
    pub(crate) fn new(
        setup: &Setup,
        pulse: &mut dyn FnMut(&'static Pulse),
    ) -> Result<(Self, Option<Box<dyn Isolate>>), EngineError> {
        if !Execution::current().is_null() {
            return Err(EngineError::Nested);
        }
        panic_hook::install();
        faults::install();
        last_words::install(line_of_what_runs);
        let apart = setup.isolation.map(Isolator::make).transpose()?;
        let own = match &apart {
            Some(apart) => apart.pulse(),
            None => Pulse::acquire(),
        };
        pulse(own);
        let limits = Limits { tasks: setup.limits.tasks.max(1), ..setup.limits };
        let Setup { settings, teardown, stack_size, tape, at_death, .. } = *setup;
        let Setup { loud, calls, backtraces, .. } = *setup;
        let lasting = || {
            let seen = Seen::default();
            let shown = Shown { loud, calls, backtraces };
            let kept_too_many = false;
            Lasting {
                pulse: own,
                settings,
                limits,
                teardown,
                stack_size,
                kept_too_many,
                shown,
                seen,
                at_death,
            }
        };
        let mut execution = SPARE.take().unwrap_or_else(|| Execution::new(lasting()));
        execution.renew(lasting(), tape);
        let reusable = apart.is_none();
        Ok((Self { execution: Some(execution), reusable }, apart))
    }

    /// Puts questions to this strategy, which must outlive what is run from now on.
    #[inline]
    pub(crate) fn ask(&mut self, strategy: &mut dyn Strategy) {
        let pointer: *mut (dyn Strategy + '_) = strategy;
        #[expect(clippy::transmute_ptr_to_ptr, reason = "a cast cannot change the lifetime")]
        // SAFETY: only the lifetime changes; the callers' strategies outlive their searches.
        let pointer = unsafe {
            std::mem::transmute::<*mut (dyn Strategy + '_), *mut (dyn Strategy + 'static)>(pointer)
        };
        self.listeners.strategy = pointer;
    }

    /// Begins with what another search ended with.
    pub(crate) fn go_on_from(&mut self, carried: &Carried) -> Result<(), EngineError> {
        let ex = &mut **self;
        let known =
            ex.tasks.names.take_over(&carried.tasks) && ex.lasting.seen.take_over(&carried.seen);
        if !known {
            return Err(EngineError::Carried);
        }
        ex.detectors.locks.take_over(&carried.notes);
        Ok(())
    }

    /// Runs one execution.
    pub(crate) fn run(
        &mut self,
        body: &dyn Fn(),
        lap: &mut dyn FnMut(Lap) -> Stop,
        executions: u64,
    ) -> Ran {
        self.run_next(body, lap, executions).map_or(Ran::COMPLETED, |ran| *ran)
    }

    /// The same; `None`: it completed, as nearly all do.
    #[inline]
    pub(crate) fn run_next(
        &mut self,
        body: &dyn Fn(),
        lap: &mut dyn FnMut(Lap) -> Stop,
        executions: u64,
    ) -> Option<Box<Ran>> {
        let ex: *mut Execution = &raw mut **self;
        if std::thread::panicking() {
            return run_apart(ex, body, lap, executions);
        }
        // SAFETY: no execution runs on this OS thread (checked in `new`, and `run` leaves none).
        unsafe { host::run(ex, body, lap, executions) }
    }

    /// Runs the last execution once more, for its trace.
    pub(crate) fn repeat(&mut self, body: &dyn Fn()) -> (Ran, Schedule, Trace) {
        let ex = &mut **self;
        ex.decisions.plan.prefix.clear();
        ex.decisions.plan.prefix.extend(ex.decisions.taken.iter().map(|taken| taken.option));
        ex.decisions.strict = true;
        ex.listeners.recorder = Some(Box::default());
        let ran = self.run(body, &mut |_| Stop::No, 0);
        let (schedule, trace) = self.recorded();
        self.decisions.strict = false;
        (ran, schedule, trace)
    }

    /// Runs the last execution once more. What was decided and counted stays.
    pub(crate) fn run_again(
        &mut self,
        body: &dyn Fn(),
        lap: &mut dyn FnMut(Lap) -> Stop,
        executions: u64,
    ) -> Ran {
        self.keeping(|search| {
            let Decisions { plan, taken, strict, .. } = &mut search.decisions;
            plan.prefix.clear();
            plan.prefix.extend(taken.iter().map(|taken| taken.option));
            *strict = true;
            search.lasting.pulse.repeat();
            if let Some(tape) = search.listeners.tape {
                tape.repeat();
            }
            let again = search.run(body, lap, executions);
            search.decisions.strict = false;
            again
        })
    }

    /// Runs something that is not of the search, which goes on from the execution before.
    pub(crate) fn keeping<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let (taken, n_steps, cut) =
            (self.decisions.taken.clone(), self.n_steps, self.decisions.cut);
        let created = self.tasks.created.clone();
        let came_of_it = run(self);
        (self.decisions.taken, self.n_steps, self.decisions.cut, self.tasks.created) =
            (taken, n_steps, cut, created);
        came_of_it
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
        self.detectors.track_races_next = true;
        if matches!(ran.ending, Ending::Stopped | Ending::Foreign | Ending::Diverged(_)) {
            return 0;
        }
        let again = self.run_again(body, lap, executions);
        let telling = matches!(
            again.ending,
            Ending::DataRace(_) | Ending::Diverged(_) | Ending::Stopped | Ending::Foreign
        );
        if telling || again.outcome.is_failure() && !ran.outcome.is_failure() {
            (ran.ending, ran.outcome) = (again.ending, again.outcome);
        }
        again.leaked
    }

    pub(crate) fn recorded(&mut self) -> (Schedule, Trace) {
        let ex = &mut **self;
        let recorder: Box<Recorder> = ex.listeners.recorder.take().expect("a recorder was set");
        (recorder.schedule(&ex.tasks, ex.lasting.settings), recorder.trace(&ex.tasks))
    }
}
