//! Runs one execution from the host's stack: starts the body, resumes the chosen task, ends it.
//!
//! # Why: Unwinding
//! A task that unwinds is not interrupted, but if it must wait (a destructor that joins a worker) the others run on in
//! turn, without decisions, until it can go on.
//!
//! # Why: After a failure nothing of the test runs on
//! To unwind the tasks that are left runs their destructors, and those of real code spin for a peer, panic, or abort
//! when they are dropped by a panic: the failure would be lost. So they are left where they are, on stacks that are
//! kept for good: others may have pointers to what is there, so a stack cannot be used again. A process keeps at most
//! `MOST_KEPT` of them, then it unwinds and says so; what makes a failure small stops earlier. Tasks of executions that
//! end early without a failure are unwound, or memory had no bound. `host.rs`, `fiber.rs`.

use std::any::Any;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::atomic::Ordering;

use raddle_trace::{Death, LimitKind, Outcome, Panic, TaskKind, Waiting};

use crate::execution::{Cancelled, Ending, Execution, Next, slow_path};
use crate::fiber::{self, Fiber};
use crate::last_words;
use crate::limits::{Lap, MOST_KEPT, Stop, Teardown};
use crate::op::{TaskId, site_of};
use crate::panics::Raised;
use crate::recorder::task_table;
use crate::script::Script;
use crate::strategy::Stuck;
use crate::tape::Tape;
use crate::task::{Job, NO_SLOT, State, Task};

/// What one execution came to.
#[derive(Debug)]
pub struct Ran {
    pub(crate) ending: Ending,
    pub(crate) outcome: Outcome,
    /// Tasks that could not be unwound.
    pub(crate) leaked: u64,
    pub(crate) stuck: Vec<Stuck>,
}

impl Ran {
    /// Of an execution that completed, as nearly all do.
    pub(crate) const COMPLETED: Self = Self {
        ending: Ending::Completed,
        outcome: Outcome::Completed,
        leaked: 0,
        stuck: Vec::new(),
    };

    /// What the program did.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// More is known of it: this.
    pub fn set_outcome(&mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

/// Runs one execution to its end. `None`: it came to [`Ran::COMPLETED`].
///
/// # Safety
/// `ex` is live and no execution runs on this OS thread; `body` outlives the call.
pub(crate) unsafe fn run(
    ex: *mut Execution,
    body: &dyn Fn(),
    lap: &mut dyn FnMut(Lap) -> Stop,
    executions: u64,
) -> Option<Box<Ran>> {
    // SAFETY: by contract; no borrow of the execution is held over `resume`.
    unsafe {
        (*ex).begin();
        Execution::set_current(ex);
        let (root, entry) = (*ex)
            .create(TaskId::ROOT, TaskKind::Thread, Location::caller())
            .expect("one task is allowed");
        #[expect(clippy::transmute_ptr_to_ptr, reason = "a cast cannot change the lifetime")]
        // SAFETY: only the lifetime changes; the job is gone when this function returns.
        let body = std::mem::transmute::<*const (dyn Fn() + '_), *const (dyn Fn() + 'static)>(body);
        if start(ex, entry, Job::Body(body), 0) {
            Execution::resume(ex, root, true);
        } else {
            (*ex).end(Ending::Limit(LimitKind::Tasks));
        }
        loop {
            Execution::run_targets(ex);
            if (*ex).ending.is_some() {
                break;
            }
            if (*ex).check_is_due() {
                (*ex).check_limits();
                let steps = (*ex).n_steps;
                match lap(Lap { executions, steps }) {
                    // The task that asked has come back.
                    Stop::No | Stop::Hang { .. } => {}
                    Stop::Execution => (*ex).end(Ending::Limit(LimitKind::Time)),
                    Stop::Search => (*ex).end(Ending::Stopped),
                }
                continue;
            }
            Execution::drain(ex, None);
            match Execution::ask(ex) {
                Next::Run(next) => (*ex).target = Some(next),
                Next::Host if (*ex).ending.is_some() || (*ex).check_is_due() => {}
                Next::Host if (*ex).enabled.count > 0 => {
                    unreachable!("engine bug: no task was chosen although some could move")
                }
                Next::Host => {
                    let left = (*ex).tasks.n_live > 0;
                    (*ex).end(if left { Ending::Deadlock } else { Ending::Completed });
                }
            }
        }
        let ran = if (*ex).is_plainly_complete() { None } else { Some(Box::new(conclude(ex))) };
        Execution::set_current(std::ptr::null_mut());
        (*ex).lasting.pulse.end();
        ran
    }
}

/// What an execution that has ended came to. Ends the tasks that are left.
///
/// # Safety
/// As for [`run`].
#[inline(never)]
unsafe fn conclude(ex: *mut Execution) -> Ran {
    // SAFETY: by contract; no borrow of the execution is held over `tear_down`.
    unsafe {
        let ending = (*ex).ending.clone().expect("the loop ends with a reason");
        let foreign = (*ex).lasting.pulse.foreign.swap(false, Ordering::Relaxed);
        let ending = if foreign { Ending::Foreign } else { (*ex).revise(ending) };
        (*ex).note_caught();
        let outcome = outcome(&*ex, &ending);
        if (*ex).listeners.recorder.is_some() && outcome.is_failure() {
            // Debuggers alone call it, and what is referred to nowhere is not linked.
            std::hint::black_box(crate::inspect::raddle_tasks as extern "C" fn() -> *const u8);
            crate::debug::raddle_failed((*ex).n_steps);
        }
        let stuck = if (*ex).listeners.needs.steps && (*ex).tasks.n_live > 0 {
            (*ex).stuck()
        } else {
            Vec::new()
        };
        let leaked = tear_down(ex, &outcome);
        if (*ex).tasks.n_panics > 0 {
            last_words::clear((*ex).lasting.pulse);
        }
        Ran { ending, outcome, leaked, stuck }
    }
}

impl Execution {
    /// Whether the execution completed, no task is left or has panicked, and all that was planned was done: then
    /// [`conclude`] has nothing to find out.
    #[inline]
    fn is_plainly_complete(&self) -> bool {
        matches!(self.ending, Some(Ending::Completed))
            && self.tasks.n_panics == 0
            && self.tasks.n_live == 0
            && self.decisions.script.is_none()
            && self.decisions.taken.len() >= self.decisions.plan.prefix.len()
            && !self.lasting.pulse.foreign.load(Ordering::Relaxed)
    }

    /// What an ending comes to once all is seen: panics that were not handled go first, and a planned
    /// execution that ended too early has diverged.
    fn revise(&mut self, ending: Ending) -> Ending {
        let untaken = |&task: &TaskId| {
            self.task(task).unwinding.panic.as_ref().is_some_and(|panic| panic.taken.is_none())
        };
        // A panic whose unwinding waits for ever, or overflows the stack, is what the test fails by, too. At a limit it
        // may still be caught.
        let held_up = |&task: &TaskId| self.task(task).unwinding.from().is_some();
        let forever =
            matches!(ending, Ending::Deadlock | Ending::Livelock { .. } | Ending::StackOverflow(_));
        let open = |task: &TaskId| untaken(task) || forever && held_up(task);
        let panicked = self.tasks.n_panics > 0 && self.tasks.created.iter().any(open);
        match ending {
            Ending::Completed | Ending::Deadlock => {}
            // A task that waited for what the panicking task would have done comes after it.
            Ending::Livelock { .. } | Ending::Limit(_) | Ending::StackOverflow(_) if panicked => {
                return Ending::PanickedThen(Box::new(ending));
            }
            other => return other,
        }
        let planned =
            self.decisions.script.as_ref().map_or(self.decisions.plan.prefix.len(), Script::len);
        if self.decisions.taken.len() < planned {
            return Ending::Diverged(Box::new(raddle_trace::Divergence {
                step: self.n_steps,
                decision: self.decisions.taken.len() as u32,
                expected: format!("{planned} decisions"),
                found: format!("the end of the execution after {}", self.decisions.taken.len()),
            }));
        }
        match ending {
            Ending::Completed if panicked => Ending::Panicked,
            other if panicked => Ending::PanickedThen(Box::new(other)),
            other => other,
        }
    }
}

/// Gives a task its fiber and its job. `false`: no stack can be had.
#[inline]
pub(crate) unsafe fn start(
    ex: *mut Execution,
    task: *mut Task,
    job: Job,
    stack_size: usize,
) -> bool {
    // SAFETY: `ex` is live, and the task is one of its; nothing here switches.
    unsafe {
        let stack_size = stack_size.max((*ex).lasting.stack_size);
        let Some(fiber) = Fiber::take(&mut (*ex).tasks.idlers, stack_size, task_main) else {
            return false;
        };
        (*task).fiber = fiber;
        (*task).floor = Fiber::floor(fiber);
        (*task).job = Some(job);
        true
    }
}

/// What every task runs, on its own stack. Does not unwind.
fn task_main() {
    let ex = Execution::current();
    // SAFETY: a fiber is resumed only by the current execution, with its task as the current one.
    // No borrow is held while user code runs.
    unsafe {
        let (me, task) = ((*ex).current, (*ex).me);
        let job = (*task).job.take().expect("a started task has a job");
        let result = catch_unwind(AssertUnwindSafe(|| match &job {
            Job::Body(body) => (**body)(),
            Job::Spawned(to_run) => to_run.run(),
        }));
        if result.is_err() || !(*task).locals.read().values.is_empty() {
            finish(ex, me, result, &job);
        }
        if let Job::Spawned(to_run) = job
            && let Some(remains) = to_run.give_back()
        {
            // The last owner of a result drops it here, as in std: user code once more.
            (*ex).task_mut(me).unwinding.finishing = true;
            let blocks = &raw mut (*ex).tasks.blocks;
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| remains.recycle(blocks)))
                && !payload.is::<Cancelled>()
            {
                (*ex).end_by_panic(me, &*payload);
            }
        }
        exit(ex, me);
    }
}

/// What is left to do for a task that has panicked, or has thread-locals.
#[cold]
unsafe fn finish(
    ex: *mut Execution,
    me: TaskId,
    result: Result<(), Box<dyn Any + Send>>,
    job: &Job,
) {
    // SAFETY: as in `task_main`.
    unsafe {
        (*ex).task_mut(me).unwinding.finishing = true;
        let ended = catch_unwind(AssertUnwindSafe(|| drop_locals(ex, me)));
        let failed = result.and(ended).err().filter(|payload| !payload.is::<Cancelled>());
        if let Some(payload) = failed {
            note_panic(ex, me, payload, job);
        }
    }
}

/// Runs the destructors of a task's thread-locals, the latest first. They are steps like others.
#[inline]
unsafe fn drop_locals(ex: *mut Execution, me: TaskId) {
    loop {
        // SAFETY: as in `task_main`; the borrow ends before the destructor runs.
        let local = unsafe {
            let task = (*ex).task_mut(me);
            let local = task.locals.values.pop();
            if let Some((key, _)) = &local {
                task.locals.gone.push(*key);
            }
            local
        };
        let Some((_, value)) = local else { return };
        drop(value);
    }
}

unsafe fn note_panic(ex: *mut Execution, me: TaskId, payload: Box<dyn Any + Send>, job: &Job) {
    // SAFETY: as in `task_main`.
    unsafe {
        (*ex).end_by_panic(me, &*payload);
        match job {
            Job::Body(_) if !(*ex).is_tearing() => (*ex).end(Ending::Panicked),
            Job::Body(_) => {}
            Job::Spawned(to_run) => to_run.fail(payload),
        }
    }
}

/// A task is over. Folded into its last step: not a scheduling point.
#[inline]
unsafe fn exit(ex: *mut Execution, me: TaskId) {
    // SAFETY: as in `task_main`.
    unsafe {
        let task = (*ex).me;
        if (*ex).slow_path & !slow_path::STARTING == 0 && (*task).op.announced.is_none() {
            // It runs, so it watches nothing, and it has no op: none is left behind but by unwinding.
            debug_assert!(!(*ex).enabled.watches(&*task));
            debug_assert_eq!((*task).op.queue.0, NO_SLOT);
            (*ex).set_enabled(me, false);
            if (*ex).waits.on {
                (*ex).forget_pending(me);
            }
        } else {
            (*ex).forget_pending(me);
        }
        (*task).state = State::Exited;
        (*ex).tasks.n_live -= 1;
        (*task).life.model_mut().exited = true;
        if let Some(slot) = (*task).life.claimed((*ex).stamp) {
            Execution::wake(ex, slot);
        }
        (*ex).target = None;
    }
}

impl Execution {
    /// Whether unfinished tasks are unwound now. After a failure they are not, as long as there is room for them:
    /// a destructor could hang, or end the process, before the failure is reported.
    fn unwinds_unfinished(&mut self, failed: bool) -> bool {
        match self.lasting.teardown {
            Teardown::Unwind => true,
            Teardown::Leak => false,
            Teardown::Auto if !failed => true,
            Teardown::Auto => {
                let full = fiber::kept() >= MOST_KEPT;
                self.lasting.kept_too_many |= full;
                full
            }
        }
    }
}

/// Ends the tasks that are left, children first, so that what they borrow is still there. How many were to be
/// unwound and could not, or were leaked by request.
unsafe fn tear_down(ex: *mut Execution, outcome: &Outcome) -> u64 {
    // SAFETY: as in `run`.
    unsafe {
        if (*ex).tasks.n_live == 0 {
            return 0;
        }
        (*ex).slow_path |= slow_path::TEARING;
        let failed = outcome.is_failure();
        let unwinds = (*ex).unwinds_unfinished(failed);
        if failed && unwinds && !(*ex).listeners.has_crash_log {
            let tasks = task_table(&(*ex).tasks);
            let what = outcome.summary(&tasks);
            last_words::clear((*ex).lasting.pulse);
            (*ex).keep_words(Some(&format!("  {what}\n  unfinished tasks were unwound\n")));
            (*ex).tasks.n_panics += 1;
        }
        let expected = !unwinds && (*ex).lasting.teardown == Teardown::Auto;
        let mut leaked = 0;
        for index in (0..(*ex).tasks.created.len()).rev() {
            let task = (&(*ex).tasks.created)[index];
            if (*ex).task(task).state != State::Live || (*ex).task(task).fiber.is_null() {
                continue;
            }
            if unwinds {
                (*ex).task_mut(task).unwinding.cancelled = true;
                Execution::resume(ex, task, false);
            }
            if (*ex).task(task).state == State::Live {
                // Its stack stays as it is, for good: whatever it borrows is still borrowed.
                let entry = (*ex).task_mut(task);
                entry.state = State::Absent;
                Fiber::keep(std::mem::replace(&mut entry.fiber, std::ptr::null_mut()));
                std::mem::forget(std::mem::take(&mut entry.locals.values));
                std::mem::forget(entry.job.take());
                leaked += u64::from(!expected);
            }
        }
        leaked
    }
}

/// The outcome, as data that names tasks by their place in the order of creation.
fn outcome(ex: &Execution, ending: &Ending) -> Outcome {
    let index = |task: TaskId| ex.task(task).lineage.seq;
    match ending {
        Ending::Completed | Ending::Diverged(_) | Ending::Stopped | Ending::Foreign => {
            Outcome::Completed
        }
        Ending::Died => Outcome::Died {
            death: ex.listeners.tape.map_or(Death::Exit { code: 0 }, Tape::death),
            task: None,
            site: None,
            panic: None,
        },
        Ending::Panicked => Outcome::Panicked { panics: panics_of(ex), then: None },
        Ending::PanickedThen(then) => {
            let then = Some(Box::new(self::outcome(ex, then)));
            Outcome::Panicked { panics: panics_of(ex), then }
        }
        Ending::Deadlock => Outcome::Deadlock { waiting: waiting(ex) },
        Ending::Livelock { steps } => Outcome::Livelock {
            spinning: spinning(ex).into_iter().map(index).collect(),
            steps: *steps,
        },
        Ending::StackOverflow(task) => Outcome::StackOverflow {
            task: index(*task),
            site: Some(site_of(ex.task(*task).op.site)),
        },
        Ending::DataRace(race) => Outcome::DataRace(race.clone()),
        Ending::Limit(limit) => Outcome::Limit { limit: *limit },
    }
}

/// The tasks that could move and got nowhere. While a destructor spins that a panic runs, no other task moves.
fn spinning(ex: &Execution) -> Vec<TaskId> {
    let waits = |task: &&TaskId| ex.task(**task).rounds.waits;
    let waiting = || ex.tasks.created.iter().filter(waits).copied();
    let options = || ex.options().chain(waiting());
    let held_up = options().find(|&task| ex.task(task).unwinding.held_up);
    held_up.map_or_else(|| options().collect(), |task| vec![task])
}

/// The panic to look at, then the others in the order in which they happened.
fn panics_of(ex: &Execution) -> Vec<Panic> {
    let entry = |task: TaskId, raised: &Raised| Panic {
        task: ex.task(task).lineage.seq,
        message: raised.message.clone(),
        site: raised.site.clone(),
    };
    let created = ex.tasks.created.iter();
    let open = created.clone().filter_map(|&task| {
        ex.task(task).unwinding.open().map(|(raised, taken)| (task, raised, taken))
    });
    let mut open: Vec<(TaskId, &Raised, Option<TaskId>)> = open.collect();
    open.sort_by_key(|(_, raised, _)| raised.nth);
    let mut panics: Vec<Panic> =
        open.iter().map(|(task, raised, _)| entry(*task, raised)).collect();
    // The first that was not handled decides that this is a failure.
    let decides = open.iter().position(|(_, _, taken)| taken.is_none()).unwrap_or(0);
    let Some(&(task, decisive, _)) = open.get(decides) else { return panics };
    // Raised again by the task that got it.
    let again = |(_, raised, taken): &(TaskId, &Raised, Option<TaskId>)| {
        *taken == Some(task) && raised.message == decisive.message
    };
    let passed_on = panics[decides].is_passed_on() || open[..decides].iter().any(again);
    if !passed_on {
        panics[..=decides].rotate_right(1);
        return panics;
    }
    // What it passes on may be a panic that was caught: that poisons locks too.
    let caught = created.filter_map(|&task| Some((task, ex.task(task).unwinding.raised.first()?)));
    let caught = caught.min_by_key(|(_, raised)| raised.nth);
    if let Some((task, raised)) = caught.filter(|(_, raised)| raised.nth < open[0].1.nth) {
        panics.insert(0, entry(task, raised));
    }
    panics
}

/// The first panic of an execution, caught or not, in words.
#[cold]
pub(crate) fn first_panic(ex: &Execution) -> Option<String> {
    let of = |&task: &TaskId| {
        let unwinding = &ex.task(task).unwinding;
        let ended = unwinding.panic.as_ref().map(|panic| &panic.raised);
        let first = unwinding.raised.first().into_iter().chain(ended);
        first.min_by_key(|raised| raised.nth).map(|raised| (task, raised))
    };
    let all = ex.tasks.created.iter().filter_map(of);
    let (task, Raised { message, site, .. }) = all.min_by_key(|(_, raised)| raised.nth)?;
    let place = site.as_ref().map(|site| format!(" at {site}")).unwrap_or_default();
    Some(format!("{} panicked{place}: {message}", ex.label(task)))
}

/// Who waits for what, and who holds it.
fn waiting(ex: &Execution) -> Vec<Waiting> {
    let stuck = |&&task: &&TaskId| {
        let entry = ex.task(task);
        entry.state == State::Live && !entry.fiber.is_null()
    };
    let entry = |&task: &TaskId| {
        let entry = ex.task(task);
        let (op, object, holders) = match entry.op.announced {
            // SAFETY: the op of a suspended task is valid, and touches models only.
            Some(what) => unsafe {
                let object = (*what).footprint(task)[0].0;
                ((*what).show(), Some(object), (*what).holders(task))
            },
            None => ("nothing".to_owned(), None, Vec::new()),
        };
        let held_by = holders
            .into_iter()
            .filter(|holder| holder.index() < ex.tasks.list.len())
            .map(|holder| {
                let since = object.zip(ex.listeners.recorder.as_ref());
                let since = since.and_then(|(object, r)| r.acquired(holder, object));
                (ex.task(holder).lineage.seq, since.map(site_of))
            })
            .collect();
        Waiting {
            task: entry.lineage.seq,
            op,
            object: object.filter(|o| *o != crate::op::ObjectId::NONE).map(|o| o.0),
            site: site_of(entry.op.site),
            held_by,
        }
    };
    ex.tasks.created.iter().filter(stuck).map(entry).collect()
}
