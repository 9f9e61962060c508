//! What frontends call: tasks, values, time, and where they are.

use std::any::Any;
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{Location, RefUnwindSafe, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use raddle_trace::hash::mix;
use raddle_trace::{LimitKind, Note, TaskKind};

pub use crate::act::{step_both, step_both_timeout};
use crate::announce::{Sleep, Yield};
use crate::clock::ClockOp;
use crate::execution::{Cancelled, Ending, Execution, How, slow_path};
use crate::fiber::Fiber;
use crate::host;
use crate::join_park::{LifeOp, ParkOp};
pub use crate::object::Object;
use crate::op::{NOTHING, ObjectId, TaskId, site_of};
use crate::packet::{ToCome, ToRun, pack};
use crate::passive::Passive;
pub use crate::passive::{PassiveWork, Worked};
use crate::receive::{ActorNews, Done, Letter, Posting};
use crate::states::StateSpace;
use crate::strategy::{Event, Stateful, Waits};
use crate::task::{Job, NO_SLOT, State};

/// Whether the caller is a task of an execution.
#[inline]
#[must_use]
pub fn inside() -> bool {
    !Execution::current().is_null()
}

/// Whether the calling task unwinds from a panic, or is being ended with its execution.
///
/// Like [`std::thread::panicking`], but of the task, not of the OS thread that all tasks share.
#[must_use]
pub fn unwinding() -> bool {
    let ex = Execution::current();
    // SAFETY: the current execution, read for a moment.
    if ex.is_null() { std::thread::panicking() } else { unsafe { (*ex).unwinds((*ex).current) } }
}

/// Whether the execution is over and its tasks are being ended: nothing waits any more.
#[must_use]
pub fn tearing_down() -> bool {
    let ex = Execution::current();
    // SAFETY: the current execution, read for a moment.
    !ex.is_null() && unsafe { (*ex).is_tearing() }
}

/// Whether the execution has ended, even if its tasks have not noticed.
#[must_use]
pub fn execution_ended() -> bool {
    let ex = Execution::current();
    // SAFETY: the current execution, read for a moment.
    !ex.is_null() && unsafe { (*ex).ending.is_some() }
}

/// A task of the running execution, as frontends hold on to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaskRef {
    id: TaskId,
    stamp: u64,
}

impl TaskRef {
    /// The calling task; none outside.
    #[must_use]
    pub fn current() -> Option<Self> {
        let ex = Execution::current();
        if ex.is_null() {
            return None;
        }
        // SAFETY: the current execution, read for a moment.
        Some(unsafe { Self { id: (*ex).current, stamp: (*ex).stamp } })
    }

    /// Its number, the same in every execution of a search.
    #[must_use]
    pub fn id(self) -> TaskId {
        self.id
    }

    /// The name it was given.
    #[must_use]
    pub fn label(self) -> Option<Arc<str>> {
        let ex = self.execution();
        // SAFETY: the current execution, read for a moment.
        unsafe { (*ex).task(self.id).lineage.label.clone() }
    }

    fn execution(self) -> *mut Execution {
        let ex = Execution::current();
        // SAFETY: the current execution, read for a moment.
        let ours = !ex.is_null() && unsafe { (*ex).stamp } == self.stamp;
        assert!(
            ours,
            "raddle: a handle of a thread is used outside the execution that the thread belongs \
             to. Create threads inside the closure that raddle runs, and do not keep their \
             handles in statics"
        );
        ex
    }

    /// Waits until the task is finished. Not a scheduling point: the caller runs on at once.
    #[track_caller]
    pub fn join(self) {
        let ex = self.execution();
        // SAFETY: tasks are boxed and live as long as the search.
        let life = unsafe { &(*ex).task(self.id).life };
        life.wait_in(ex, LifeOp::Join, Location::caller());
        // SAFETY: the current execution, changed for a moment.
        unsafe { (*ex).joined(self.id) };
    }

    /// Whether the task is finished. Depends on all that it does; once it has exited the answer
    /// is a decision until a task has seen it.
    #[track_caller]
    #[must_use]
    pub fn is_finished(self) -> bool {
        let ex = self.execution();
        // SAFETY: as in `join`.
        let life = unsafe { &(*ex).task(self.id).life };
        life.step(LifeOp::IsFinished)
    }

    /// Gives the task its parking token.
    #[track_caller]
    pub fn unpark(self) {
        let ex = self.execution();
        // SAFETY: as in `join`.
        let parker = unsafe { &(*ex).task(self.id).parker };
        parker.step(ParkOp::Unpark);
    }

    /// Waits for the parking token, or for the timeout. For the calling task only.
    #[track_caller]
    pub fn park(self, timeout: Option<Duration>) {
        let ex = self.execution();
        // SAFETY: as in `join`.
        let parker = unsafe { &(*ex).task(self.id).parker };
        note_spurious();
        // SAFETY: the current execution, on the stack of its current task.
        if unsafe { (*ex).lasting.settings.spurious && Execution::value(ex, 2, false) == 1 } {
            return;
        }
        match timeout {
            None => parker.step(ParkOp::Park),
            Some(timeout) => {
                parker.step_timeout(ParkOp::Park, timeout);
            }
        }
    }
}

// ---- spawning -----------------------------------------------------------------------------------

/// How to spawn a task.
#[derive(Clone, Debug, Default)]
pub struct Spawn {
    /// What the program calls it.
    pub label: Option<Arc<str>>,
    /// The least stack it needs, in bytes; 0 for the search's setting.
    pub stack_size: usize,
}

/// A spawned task and its result.
pub struct Handle<'scope, T> {
    task: TaskRef,
    came: ToCome<T>,
    /// A closure that never ran is dropped with the handle.
    scope: PhantomData<dyn Send + Sync + Unpin + 'scope>,
}

impl<T> Drop for Handle<'_, T> {
    fn drop(&mut self) {
        // SAFETY: once. The blocks are those of the current execution, which outlives what runs in it; what drops a
        // handle is code of the program, and borrows nothing of it.
        unsafe {
            if let Some(remains) = self.came.give_back() {
                let ex = Execution::current();
                let none = std::ptr::null_mut();
                remains.recycle(if ex.is_null() { none } else { &raw mut (*ex).tasks.blocks });
            }
        }
    }
}

impl<T> fmt::Debug for Handle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("task", &self.task).finish_non_exhaustive()
    }
}

impl<T> Handle<'_, T> {
    /// The task.
    #[must_use]
    pub fn task(&self) -> TaskRef {
        self.task
    }

    /// Waits for the task and takes its value, or the payload of its panic.
    ///
    /// # Errors
    /// The payload, if the task panicked.
    #[inline]
    #[track_caller]
    pub fn join(mut self) -> Result<T, Box<dyn Any + Send>> {
        self.task.join();
        let Some(result) = self.came.take() else {
            // The task was cancelled, so its execution is over and the caller is being unwound.
            // There is no value to return, and a panic would abort: stay here for good.
            let ex = self.task.execution();
            // SAFETY: the current execution, on the stack of its current task.
            unsafe { Execution::leak(ex, (*ex).current) }
        };
        if result.is_err() {
            // SAFETY: the current execution, changed for a moment.
            unsafe { (*self.task.execution()).take_panic(self.task.id) };
        }
        result
    }
}

/// Waits until every other task that runs code of the test has ended, those too that are started meanwhile. `site` is where
/// reports say that it waits. Like a join, this is not a scheduling point. Takes no panic from a task.
pub fn join_others(site: &'static Location<'static>) {
    let ex = Execution::current();
    let mut index = 0;
    // SAFETY: the current execution, on the stack of its current task; tasks are boxed and live as long as the search, and no
    // borrow of their list is held over the wait.
    unsafe {
        while !ex.is_null() && !(*ex).is_tearing() && index < (*ex).tasks.created.len() {
            let id = (&(*ex).tasks.created)[index];
            index += 1;
            let entry = (*ex).task(id);
            let live = entry.state == State::Live;
            if id == (*ex).current || live && entry.fiber.is_null() {
                continue;
            }
            if live {
                entry.life.wait_in(ex, LifeOp::Join, site);
            }
            (*ex).joined(id);
        }
    }
}

/// Whether a task of this execution has panicked, even if that was caught.
#[must_use]
pub fn has_panicked() -> bool {
    let ex = Execution::current();
    // SAFETY: the current execution, read for a moment.
    !ex.is_null() && unsafe { (*ex).tasks.n_panics } > 0
}

/// Adds a [difference](Note::Difference) to the report of the search, once: for a package that stands in for another tool, of
/// something that the test has just asked for and that raddle does not do. Outside an execution nothing is said.
pub fn tell_difference(text: &str) {
    let ex = Execution::current();
    if ex.is_null() {
        return;
    }
    // SAFETY: the current execution, changed for a moment.
    let notes = unsafe { &mut (*ex).detectors.locks.notes };
    let told = |note: &Note| matches!(note, Note::Difference { text: told } if told == text);
    if !notes.iter().any(told) {
        notes.push(Note::Difference { text: text.to_owned() });
    }
}

/// Panics with this message as if it were at this place.
///
/// # Panics
/// Always.
pub fn panic_at(site: &'static Location<'static>, message: String) -> ! {
    let ex = Execution::current();
    assert!(!ex.is_null(), "{site}: {message}");
    // SAFETY: the current execution, changed for a moment.
    unsafe { (*ex).raise_panic(message.clone(), Some(site_of(site))) };
    resume_unwind(Box::new(message))
}

/// Starts a task. It runs as itself up to its first op before this returns.
///
/// # Panics
/// Outside an execution.
#[track_caller]
pub fn spawn<F, T>(how: Spawn, closure: F) -> Handle<'static, T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    // SAFETY: closure and result are `'static`.
    unsafe { spawn_unchecked(how, closure) }
}

/// Like [`spawn`], of a closure and for a result that may borrow.
///
/// # Panics
/// Outside an execution.
///
/// # Safety
/// What the closure and the result borrow outlives the task and the handle.
#[inline]
#[track_caller]
pub unsafe fn spawn_borrowing<F, T>(how: Spawn, closure: F) -> Handle<'static, T>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    // SAFETY: by contract.
    let handle: Handle<'_, T> = unsafe { spawn_unchecked(how, closure) };
    // SAFETY: only the lifetime changes; by contract what is borrowed outlives the handle.
    unsafe { std::mem::transmute(handle) }
}

/// # Safety
/// What `F` and `T` borrow outlives the task.
#[inline]
#[track_caller]
unsafe fn spawn_unchecked<'scope, F, T>(how: Spawn, closure: F) -> Handle<'scope, T>
where
    F: FnOnce() -> T + Send + 'scope,
    T: Send + 'scope,
{
    let ex = Execution::current();
    assert!(!ex.is_null(), "engine bug: spawned a task outside an execution");
    // SAFETY: the current execution. What is borrowed outlives the task by contract, and the engine gives its half of the
    // packet back when the task ends.
    unsafe {
        let (to_run, came) = pack(&mut (*ex).tasks.blocks, closure);
        let task = start_task(ex, how, to_run, Location::caller());
        Handle { task: TaskRef { id: task, stamp: (*ex).stamp }, came, scope: PhantomData }
    }
}

/// The part of [`spawn_unchecked`] that is the same for all closures.
#[inline(never)]
unsafe fn start_task(
    ex: *mut Execution,
    how: Spawn,
    to_run: ToRun,
    site: &'static Location<'static>,
) -> TaskId {
    // SAFETY: the current execution; no borrow is held over `resume`.
    unsafe {
        if (*ex).is_tearing() {
            resume_unwind(Box::new(Cancelled));
        }
        if (*ex).slow_path & slow_path::IN_PASSIVE_STEP != 0 {
            Execution::refuse_at_work(site);
        }
        let parent = (*ex).current;
        if !(*ex).me.is_null() {
            Execution::check_room((*ex).me);
        }
        let Some((task, entry)) = (*ex).create(parent, TaskKind::Thread, site) else {
            drop(to_run);
            give_up_spawning(ex, parent);
        };
        if (*ex).detectors.track_races {
            (*ex).detectors.race.fork(parent, task);
        }
        if how.label.is_some() {
            (*entry).lineage.label = how.label;
        }
        if !host::start(ex, entry, Job::Spawned(to_run), how.stack_size) {
            give_up_spawning(ex, parent);
        }
        Execution::switch_to(ex, task, entry, true);
        task
    }
}

/// There are too many tasks.
#[cold]
unsafe fn give_up_spawning(ex: *mut Execution, parent: TaskId) -> ! {
    // SAFETY: the current execution, on the stack of its current task.
    unsafe {
        (*ex).end(Ending::Limit(LimitKind::Tasks));
        give_up(ex, parent)
    }
}

impl Execution {
    /// The current task has waited for the end of another.
    #[expect(
        clippy::inline_always,
        reason = "after a switch every return is mispredicted: keep them few"
    )]
    #[inline(always)]
    fn joined(&mut self, child: TaskId) {
        if self.is_tearing() {
            return;
        }
        let (me, step) = (self.current, self.n_steps);
        self.task_mut(child).lineage.joined.get_or_insert((me, step));
        if self.detectors.track_races {
            self.detectors.race.join(me, child);
        }
    }
}

/// A fence of the calling task: what it passes on and takes over. Not a step: memory is
/// sequentially consistent, and only the order of plain data hangs on it. Does nothing outside.
pub fn fence(order: Ordering) {
    let ex = Execution::current();
    // SAFETY: the current execution, changed for a moment.
    unsafe {
        if !ex.is_null() && (*ex).detectors.track_races && !(*ex).is_tearing() {
            let me = (*ex).current;
            (*ex).detectors.race.fence(me, order);
        }
    }
}

/// Leaves the calling task where it is, for good: for one that can neither go on nor panic, because
/// the execution is over or the task unwinds already.
///
/// # Panics
/// Outside an execution.
pub fn abandon() -> ! {
    let ex = Execution::current();
    assert!(!ex.is_null(), "engine bug: abandoned a task outside an execution");
    // SAFETY: the current execution, on the stack of its current task.
    unsafe {
        let me = (*ex).current;
        if !(*ex).is_tearing() {
            // Resumed once more when the execution is torn down.
            (*ex).target = None;
            Fiber::suspend((*ex).task(me).fiber);
        }
        Execution::leak(ex, me)
    }
}

/// The execution has ended under the feet of the current task.
unsafe fn give_up(ex: *mut Execution, me: TaskId) -> ! {
    // SAFETY: the current execution, on the stack of its current task.
    unsafe {
        (*ex).target = None;
        Fiber::suspend((*ex).task(me).fiber);
    }
    resume_unwind(Box::new(Cancelled))
}

/// Tasks that borrow from the caller's frame, all of which end before [`scope`] returns.
pub struct Scope<'scope, 'env: 'scope> {
    tasks: UnsafeCell<Vec<TaskRef>>,
    lifetime: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

// SAFETY: tasks of one execution run on one OS thread, one at a time, and no switch happens while
// the list is borrowed.
unsafe impl Sync for Scope<'_, '_> {}
// SAFETY: as above.
unsafe impl Send for Scope<'_, '_> {}
// The list is whole whenever user code runs, also while that unwinds.
impl RefUnwindSafe for Scope<'_, '_> {}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scope")
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Starts a task that may borrow what lives as long as the scope.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, how: Spawn, closure: F) -> Handle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        // SAFETY: `scope` waits for every task in the list before it returns or unwinds; if the
        // execution is ended meanwhile, children are ended before their parents.
        let handle = unsafe { spawn_unchecked(how, closure) };
        // SAFETY: see `Sync`.
        unsafe { (*self.tasks.get()).push(handle.task) };
        handle
    }
}

/// Runs `body` with a scope, then waits for all tasks that were started in it.
///
/// # Panics
/// If a task of the scope panicked and was not joined, as in std.
#[track_caller]
pub fn scope<'env, F, T>(body: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let scope =
        Scope { tasks: UnsafeCell::new(Vec::new()), lifetime: PhantomData, env: PhantomData };
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| body(&scope)));
    set_raises_again(result.is_err());
    let mut panicked = false;
    let mut next = 0;
    loop {
        // SAFETY: see `Sync`; a task of the scope may add to the list while we wait.
        let task = unsafe { (&*scope.tasks.get()).get(next).copied() };
        let Some(task) = task else { break };
        next += 1;
        if tearing_down() {
            continue;
        }
        task.join();
        // SAFETY: the current execution, changed for a moment.
        panicked |= unsafe { (*task.execution()).take_panic(task.id) };
    }
    set_raises_again(false);
    match result {
        Err(payload) => resume_unwind(payload),
        Ok(_) if panicked => panic!("a scoped thread panicked"),
        Ok(value) => value,
    }
}

/// Whether the current task has a panic that a scope raises again.
fn set_raises_again(raises_again: bool) {
    let ex = Execution::current();
    if !ex.is_null() {
        // SAFETY: the current execution, changed for a moment.
        unsafe { (*(*ex).me).unwinding.change().raises_again = raises_again };
    }
}

// ---- values -------------------------------------------------------------------------------------

/// A value below `n`: a decision of the running step. Not a scheduling point.
///
/// # Panics
/// If `n` is 0, or outside an execution.
#[must_use]
#[track_caller]
pub fn choose(n: u32) -> u32 {
    let site = Location::caller();
    assert!(n > 0, "raddle::choose(0): there is nothing to choose from");
    let ex = Execution::current();
    assert!(
        !ex.is_null(),
        "raddle::choose is only known inside an execution: call it from a #[raddle::test], \
         raddle::check or raddle::explore"
    );
    // SAFETY: the current execution, on the stack of its current task.
    unsafe {
        let me = (*ex).current;
        if !(*ex).me.is_null() {
            Execution::check_room((*ex).me);
        }
        (*ex).task_mut(me).op.site = site;
        let value = Execution::value(ex, n, (*ex).slow_path & slow_path::IN_PASSIVE_STEP != 0);
        if let Some(recorder) = &mut (*ex).listeners.recorder
            && n > 1
        {
            let decision = Some((*ex).decisions.taken.len().saturating_sub(1) as u32);
            recorder.event(me, format!("choose({n}) -> {value}"), &[], site, decision, false);
            (*ex).recount();
        }
        value
    }
}

/// Tells the strategy that the value which this step asks for in other executions is known in this one, and 0: see
/// [`Event::Unasked`]. Only in a step of a passive task.
pub fn unasked() {
    let ex = Execution::current();
    // SAFETY: the current execution; the strategy outlives the search, and holds no way back to the execution.
    unsafe {
        if !ex.is_null() && (*ex).n_steps >= (*ex).listeners.strategy_from_step {
            let task = (*ex).current;
            (*(*ex).listeners.strategy).step(&Event::Unasked { task });
        }
    }
}

/// A number drawn from the search's seed for data, if data is drawn; `None` if it is decided.
#[must_use]
pub fn seeded_u64() -> Option<u64> {
    let ex = Execution::current();
    if ex.is_null() {
        return None;
    }
    // SAFETY: the current execution, changed for a moment.
    unsafe {
        let seed = (*ex).lasting.settings.data_seed?;
        (*ex).lasting.seen.seeded = true;
        let me = (*ex).current;
        let path = name_hash(&*ex, me);
        let task = (*ex).task_mut(me);
        task.locals.draws += 1;
        task.rounds.forget();
        Some(mix(seed ^ mix(path ^ mix(task.locals.draws))))
    }
}

/// A hash of a task's path of spawns: the same in every execution and process.
fn name_hash(ex: &Execution, task: TaskId) -> u64 {
    if task == TaskId::ROOT {
        return 1;
    }
    let name = ex.tasks.names.get(task);
    mix(name_hash(ex, name.parent) ^ u64::from(name.nth) << 1)
}

/// Notes that the program has an op that could be spurious, so that the guarantee says whether
/// that was explored.
pub fn note_spurious() {
    let ex = Execution::current();
    if !ex.is_null() {
        // SAFETY: the current execution, changed for a moment.
        unsafe { (*ex).lasting.seen.spurious = true };
    }
}

// ---- yields and time ----------------------------------------------------------------------------

/// Asks the others to move: a step that touches nothing.
///
/// # Panics
/// Outside an execution.
#[track_caller]
pub fn yield_now(name: &'static str) {
    let site = Location::caller();
    let ex = Execution::current();
    assert!(!ex.is_null(), "engine bug: yielded outside an execution");
    let what = Yield(name);
    // SAFETY: the current execution, on the stack of its current task; `what` outlives the wait.
    unsafe {
        Execution::arrive(ex, &what, [NO_SLOT; 2], site, How::Step);
        let me = (*ex).current;
        let task = (*ex).me;
        Execution::commit(ex, (me, task), &[NOTHING], site, How::Step, || name.to_owned());
        if !(*ex).is_tearing() {
            (*ex).yielded(me);
        }
    }
}

/// Waits until a condition holds, which only looks at objects: where it is evaluated again, nothing that it looked
/// at before has changed in vain. See `rounds.rs`.
///
/// # Panics
/// Outside an execution.
#[track_caller]
pub fn await_until(mut condition: impl FnMut() -> bool) {
    let ex = Execution::current();
    assert!(!ex.is_null(), "engine bug: waited for a condition outside an execution");
    // SAFETY: the current execution, on the stack of its current task; no borrow is held while the condition runs.
    unsafe {
        let me = (*ex).current;
        (*ex).begin_await(me);
        while !condition() {
            if !(*ex).await_change(me) {
                yield_now("await_until");
                (*ex).begin_await(me);
            }
        }
    }
}

/// Waits until virtual time has advanced by `duration`.
///
/// # Panics
/// Outside an execution.
#[track_caller]
pub fn sleep(duration: Duration) {
    let site = Location::caller();
    let ex = Execution::current();
    assert!(!ex.is_null(), "engine bug: slept outside an execution");
    let what = Sleep;
    // SAFETY: as in `yield_now`.
    unsafe {
        if !(*ex).is_tearing() && !std::thread::panicking() {
            Execution::arrive(ex, &what, [NO_SLOT; 2], site, How::Timed(duration));
        }
    }
}

/// The virtual time since the execution began. Reading it is a step on the clock; see the
/// engine's clock for when time advances.
///
/// # Panics
/// Outside an execution.
#[must_use]
#[track_caller]
pub fn now() -> Duration {
    let ex = Execution::current();
    assert!(!ex.is_null(), "engine bug: read the clock outside an execution");
    // SAFETY: the clock is boxed and lives as long as the search; changed for a moment while
    // no other task runs.
    unsafe {
        Execution::clock_slot(ex);
        let clock = &*(*ex).time.clock;
        clock.step(ClockOp::Now);
        // Whether anything changed between two readings is not part of the partial order.
        (*ex).strayed = true;
        let changes = (*ex).last_change();
        let me = (*ex).current;
        let task = (*ex).task_mut(me);
        let (reads, since) = task.timing.clock_reads;
        let reads = if since == changes { reads + 1 } else { 0 };
        task.timing.clock_reads = (reads, changes);
        let model = clock.model_mut();
        if reads > 0 {
            model.now_ns = model.now_ns.saturating_add(1000 << reads.min(40));
        }
        Duration::from_nanos(model.now_ns)
    }
}

// ---- passive tasks ------------------------------------------------------------------------------

/// A passive task: a lane whose steps are [work](PassiveWork) that the task which asks for the next move does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link(TaskId);

impl Link {
    /// A new one, not enabled. `key` names it: the same in every execution and process. Its steps act
    /// on `object` first of all, and it is a lane of `mailbox`, the object of an actor, or none. None if there are too
    /// many tasks: then the execution is over.
    ///
    /// # Panics
    /// Outside an execution.
    pub fn new(
        key: u64,
        label: impl FnOnce() -> Arc<str>,
        work: Arc<dyn PassiveWork>,
        token: u32,
        object: ObjectId,
        mailbox: ObjectId,
        site: &'static Location<'static>,
    ) -> Option<Self> {
        let ex = Execution::current();
        assert!(!ex.is_null(), "engine bug: made a passive task outside an execution");
        let passive = Passive { work, token, object, mailbox };
        // SAFETY: the current execution, changed for a moment.
        unsafe { (*ex).create_passive(key, label, passive, site).map(Self) }
    }

    /// Its number, the same in every execution of a search.
    #[must_use]
    pub fn task(self) -> TaskId {
        self.0
    }

    /// From now on it can be chosen, or no more. Not within its [work](PassiveWork::work), but
    /// [after](PassiveWork::worked) it.
    pub fn enable(self, enabled: bool, site: &'static Location<'static>) {
        let ex = Execution::current();
        if ex.is_null() {
            return;
        }
        // SAFETY: the current execution, changed for a moment.
        unsafe {
            if (*ex).is_tearing() {
                return;
            }
            (*ex).task_mut(self.0).op.site = site;
            (*ex).enable(self.0, enabled);
        }
    }

    /// It has no more steps, and lets go of its work.
    pub fn retire(self) {
        let ex = Execution::current();
        if ex.is_null() {
            return;
        }
        // SAFETY: the current execution; the work is dropped when the borrow has ended.
        let work = unsafe {
            (*ex).enable(self.0, false);
            (*ex).task_mut(self.0).passive.take()
        };
        drop(work);
    }
}

/// Numbers something that steps act on and that is no [`Object`].
///
/// # Panics
/// Outside an execution.
#[must_use]
pub fn number(kind: &'static str, created: &'static Location<'static>) -> ObjectId {
    let ex = Execution::current();
    assert!(!ex.is_null(), "engine bug: numbered an object outside an execution");
    // SAFETY: the current execution, changed for a moment.
    ObjectId(unsafe { (*ex).register(kind, created, None, Waits::Unknown) })
}

/// A name for an object that was [numbered](number), made only if it is asked for: see
/// [`Pending::object_name`](crate::strategy::Pending::object_name).
pub fn name_object(object: ObjectId, name: impl FnOnce() -> String) {
    let ex = Execution::current();
    // SAFETY: the current execution, changed for a moment; making a name does not come back here.
    unsafe {
        if !ex.is_null() && (*ex).listeners.needs.labels {
            let name = name();
            (*ex).listeners.object_names.push((object, name));
        }
    }
}

/// Tells the strategy what the calling code did to an actor, if it asks for that.
pub fn dealt_with(actor: ObjectId, identity: u64, what: Done) {
    let ex = Execution::current();
    // SAFETY: the current execution, read for a moment; the strategy outlives the search, and holds no way back to
    // the execution.
    unsafe {
        if !ex.is_null() && (*ex).listeners.needs.on_host && (*ex).listeners.needs.messages {
            let news = ActorNews { by: (*ex).current, actor, identity, what };
            (*(*ex).listeners.strategy).step(&Event::Actor(news));
        }
    }
}

/// What a task does for which there is no step, such as to create an actor, and when that was.
#[derive(Clone, Copy, Debug)]
pub struct Act {
    task: TaskId,
    /// Tasks that had been created.
    created: u32,
}

impl Act {
    /// What the running task does now.
    ///
    /// # Panics
    /// Outside an execution.
    #[must_use]
    pub fn now() -> Self {
        let ex = Execution::current();
        assert!(!ex.is_null(), "engine bug: there are acts inside executions only");
        // SAFETY: the current execution, read for a moment.
        unsafe { Self { task: (*ex).current, created: (*ex).tasks.created.len() as u32 } }
    }

    /// Whether it is of the same task.
    #[must_use]
    pub fn is_of_same_task(self, other: Self) -> bool {
        self.task == other.task
    }

    /// Whether it comes before a later one in every execution, because a task was joined or created in between.
    ///
    /// # Panics
    /// Outside an execution.
    #[must_use]
    pub fn is_before(self, later: Self) -> bool {
        let ex = Execution::current();
        assert!(!ex.is_null(), "engine bug: there are acts inside executions only");
        // SAFETY: the current execution, read for a moment.
        let tasks = unsafe { &(*ex).tasks };
        let lineage = |task: TaskId| &tasks.list[task.index()].lineage;
        // The act itself, then the joins through which its end became known: by whom, in which step.
        let (mut known_to, mut joined_at) = (self.task, None);
        loop {
            // The later task, then those that created it: of those only what came before.
            let (mut task, mut child) = (later.task, None);
            loop {
                let is_before = match (child, joined_at) {
                    (None, _) => true,
                    (Some(child), None) => lineage(child).seq >= self.created,
                    (Some(child), Some(step)) => lineage(child).born.1 >= step,
                };
                if task == known_to {
                    if is_before {
                        return true;
                    }
                    break;
                }
                if task == TaskId::ROOT {
                    break;
                }
                child = Some(task);
                task = lineage(task).born.0;
            }
            let Some((joiner, step)) = lineage(known_to).joined else { return false };
            (known_to, joined_at) = (joiner, Some(step));
        }
    }
}

/// Notes that two acts were in no order, and that no step stands for one of them: the guarantee says so.
pub fn note_unordered_acts() {
    let ex = Execution::current();
    if !ex.is_null() {
        // SAFETY: the current execution, written for a moment.
        unsafe { (*ex).lasting.seen.unordered = true };
    }
}

/// The number of the step to which the calling code belongs, from 1; none before the first.
#[must_use]
pub fn step_now() -> Option<u64> {
    let ex = Execution::current();
    // SAFETY: the current execution, read for a moment.
    if ex.is_null() { None } else { unsafe { (*ex).step_now() } }
}

/// The calling task's name as a number: the same in every execution and process.
///
/// # Panics
/// Outside an execution.
#[must_use]
pub fn task_key() -> u64 {
    let ex = Execution::current();
    assert!(!ex.is_null(), "engine bug: asked for a task's name outside an execution");
    // SAFETY: the current execution, read for a moment.
    unsafe { name_hash(&*ex, (*ex).current) }
}

/// Whether the strategy or an observer hears of every step, and so of what they touch.
#[must_use]
pub fn steps_are_observed() -> bool {
    let ex = Execution::current();
    // SAFETY: as above.
    !ex.is_null() && unsafe { (*ex).listeners.needs.steps }
}

/// Whether messages are observed: see [`Needs::messages`](crate::strategy::Needs::messages).
#[must_use]
pub fn messages_are_observed() -> bool {
    let ex = Execution::current();
    // SAFETY: as above.
    !ex.is_null() && unsafe { (*ex).listeners.needs.messages }
}

/// The identity of a channel that the calling task makes: the n-th of what the receive has made that it is in. 0 if messages
/// are not observed.
#[must_use]
pub fn mailbox(type_hash: u64) -> u64 {
    let ex = Execution::current();
    if !messages_are_observed() {
        return 0;
    }
    // SAFETY: the current execution, changed for a moment.
    unsafe { (*ex).messages.mailbox((*ex).current, type_hash) }
}

/// The calling task is about to send a message into a channel: its identity. [`Letter::NONE`] if messages are not
/// observed, and if the channel was made where they were not.
#[must_use]
pub fn stamp(posting: &Posting) -> Letter {
    let ex = Execution::current();
    if posting.receiver == 0 || !messages_are_observed() {
        return Letter::NONE;
    }
    // SAFETY: the current execution, changed for a moment.
    unsafe { (*ex).messages.stamp((*ex).current, posting) }
}

/// Whether the execution is written down, so that texts are wanted.
#[must_use]
pub fn is_recorded() -> bool {
    let ex = Execution::current();
    // SAFETY: as above.
    !ex.is_null() && unsafe { (*ex).listeners.recorder.is_some() }
}

/// Sets what the next step of the calling task touches besides its object, until it is set again.
pub fn touch_shared_resources(bits: u128) {
    let ex = Execution::current();
    if !ex.is_null() {
        // SAFETY: the current execution, changed for a moment.
        unsafe {
            let me = (*ex).current;
            (*ex).task_mut(me).steps.shared_resources = bits;
        }
    }
}

/// Offers the states of what the calling task begins to run, if the strategy wants some: see
/// [`states`](crate::states). `false` if it does not, and outside of executions. To be followed by [`states_over`].
pub fn offer_states(space: impl FnOnce() -> Arc<dyn StateSpace>) -> bool {
    with_stateful(|strategy, decisions| strategy.offered(space(), decisions)).is_some()
}

/// What was offered last has come to its end in this execution.
pub fn states_over() {
    let _ = with_stateful(|strategy, decisions| strategy.over(decisions));
}

fn with_stateful<T>(ask: impl FnOnce(&mut dyn Stateful, usize) -> T) -> Option<T> {
    let ex = Execution::current();
    if ex.is_null() {
        return None;
    }
    // SAFETY: the current execution; its strategy outlives it and is not asked from elsewhere meanwhile. A repetition
    // is of no strategy.
    unsafe {
        if (*ex).decisions.strict || (*ex).listeners.strategy.is_null() {
            return None;
        }
        let decisions = (*ex).decisions.taken.len();
        (*(*ex).listeners.strategy).stateful().map(|strategy| ask(strategy, decisions))
    }
}

// ---- thread-locals ------------------------------------------------------------------------------

/// The calling task's value for `key`, made by `init` at its first use. `None` once its
/// destructor has run.
///
/// # Panics
/// Outside an execution.
pub fn local<T: 'static>(key: usize, init: impl FnOnce() -> T) -> Option<Rc<T>> {
    let ex = Execution::current();
    assert!(!ex.is_null(), "engine bug: used a task's local outside an execution");
    // SAFETY: the current execution; no borrow is held while `init` runs.
    unsafe {
        let me = (*ex).current;
        let task = (*ex).task(me);
        if let Some((_, value)) = task.locals.values.iter().find(|(known, _)| *known == key) {
            return Rc::clone(value).downcast().ok();
        }
        if task.locals.gone.contains(&key) {
            return None;
        }
        let value = Rc::new(init());
        (*ex).task_mut(me).locals.values.push((key, Rc::clone(&value) as Rc<dyn Any>));
        Some(value)
    }
}

/// The stamp of the running execution; none outside. Differs from that of any other execution.
#[must_use]
pub fn epoch() -> Option<u64> {
    let ex = Execution::current();
    // SAFETY: the current execution, read for a moment.
    if ex.is_null() { None } else { Some(unsafe { (*ex).stamp }) }
}
