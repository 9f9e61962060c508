//! One execution: who can move, who is asked to, what came of it.
//!
//! The state of an execution is reached by raw pointer from whichever stack is running: the
//! host's, or a task's. Every function here takes that pointer, borrows for a few lines, and
//! holds no reference when it switches stacks.
//!
//! The life of an op: the task *arrives* with it (announces it, then asks who moves next, and
//! switches if it is another task), applies it once it is chosen, *commits* the step, and *wakes*
//! those whose ops on the same object may have changed.

mod arriving;
mod asking;
mod locking;
mod messages;
mod panicking;
mod passive;
mod spinning;
mod state;
mod steps;
mod timers;
mod view;
mod waiting;
mod yields;

pub(crate) use messages::Messages;
pub(crate) use spinning::number_of;
pub(crate) use state::{
    Decisions, Detectors, Enabled, Lasting, Listeners, Pace, Repeat, Shown, VirtualTime,
};

use std::cell::Cell;
use std::panic::Location;
use std::time::Duration;

use raddle_trace::{DataRace, Divergence, LimitKind, TaskKind};

use crate::announce::Announced;
use crate::crash_log::DecisionMark;
use crate::fiber::Fiber;
use crate::locks::Lock;
use crate::model::{Model, waits_of};
use crate::object::Object;
use crate::op::{Name, TaskId};
use crate::rounds::Spinning;
use crate::strategy::{Answer, Choice, Event, Label, Plan, Point, Strategy, Taken, Waits};
use crate::tape::Tape;
use crate::task::{State, Task};
use crate::tasks::TaskTable;

thread_local! {
    /// The execution that runs on this OS thread. Null outside.
    static CURRENT: Cell<*mut Execution> = const { Cell::new(std::ptr::null_mut()) };
}

/// How many steps pass between looks at limits and at the caller's clock.
const CHECK_EVERY: u64 = 4096;
/// How often user code may catch the unwinding of a cancelled task before the task is leaked.
const MAX_SWALLOWED: u32 = 100;

/// Reasons why an op cannot take the short way through [`Object::step`](crate::object::Object::step).
pub(crate) mod slow_path {
    /// The current task runs on to its next op only.
    pub(crate) const STARTING: u32 = 1;
    /// Some task can run on.
    pub(crate) const RUN_ON: u32 = 2;
    /// Some task waits for others to move, because it yielded.
    pub(crate) const UNFAIR: u32 = 4;
    /// A task that unwinds has to wait.
    pub(crate) const FORCED: u32 = 8;
    /// The execution is being ended.
    pub(crate) const TEARING: u32 = 16;
    /// The strategy is not asked: it repeats a known execution, is written down, or runs on after a cut.
    pub(crate) const NO_STRATEGY: u32 = 32;
    /// It is over.
    pub(crate) const ENDING: u32 = 64;
    /// The OS thread was unwinding already when the current task was resumed: another's panic.
    pub(crate) const FOREIGN_UNWIND: u32 = 128;
    /// The step of a passive task is being taken.
    pub(crate) const IN_PASSIVE_STEP: u32 = 256;
    /// The strategy asks from where ops are called.
    pub(crate) const CAPTURE_CONTEXT: u32 = 512;
    /// The strategy is asked on the host's stack.
    pub(crate) const ASK_ON_HOST: u32 = 1024;
    /// The next look of some task may have to wait for a change.
    pub(crate) const SPINS: u32 = 2048;
    /// Limits and the caller's clock are to be looked at.
    pub(crate) const CHECK_DUE: u32 = 4096;
    /// Those of the current task: they change with it.
    pub(crate) const OWN: u32 = STARTING | FOREIGN_UNWIND;
    /// Those for which a point is decided otherwise than by asking the strategy, or on another stack.
    pub(crate) const ANSWERED: u32 =
        UNFAIR | FORCED | TEARING | NO_STRATEGY | ENDING | ASK_ON_HOST | CAPTURE_CONTEXT;
}

/// What unwinds a task that is cancelled.
pub(crate) struct Cancelled;

/// How an op waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Step,
    /// Runs as soon as it is enabled; not a scheduling point.
    Wait,
    Timed(Duration),
}

/// Why an execution ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// No task is left.
    Completed,
    /// The test's body panicked, or a task did and the panic was not handled.
    Panicked,
    /// A task panicked, the panic was not handled, and then this was the end.
    PanickedThen(Box<Ending>),
    /// Some tasks are left and none can move.
    Deadlock,
    Livelock {
        steps: u64,
    },
    StackOverflow(TaskId),
    DataRace(Box<DataRace>),
    Limit(LimitKind),
    Diverged(Box<Divergence>),
    /// Going on is known to end the process, or has ended it.
    Died,
    /// The caller stopped the search.
    Stopped,
    /// Another OS thread used an object of this execution.
    Foreign,
}

/// Who moves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Run(TaskId),
    /// No task, or a limit is due: the host decides.
    Host,
}

/// One execution, and what lasts over all of a search.
pub struct Execution {
    pub(crate) lasting: Lasting,
    pub(crate) tasks: TaskTable,
    pub(crate) enabled: Enabled,
    pub(crate) decisions: Decisions,
    pub(crate) listeners: Listeners,
    pub(crate) detectors: Detectors,
    pub(crate) time: VirtualTime,
    pub(crate) pace: Pace,
    pub(crate) messages: Messages,
    pub(crate) waits: Spinning,
    // The rest is of one execution.
    pub(crate) stamp: u64,
    pub(crate) current: TaskId,
    /// The current task.
    pub(crate) me: *mut Task,
    /// See [`slow_path`]. 0: an op takes the short way.
    pub(crate) slow_path: u32,
    pub(crate) n_steps: u64,
    pub(crate) n_objects: u32,
    /// The task that the host is to resume.
    pub(crate) target: Option<TaskId>,
    /// See [`Pending::strayed`](crate::strategy::Pending::strayed).
    pub(crate) strayed: bool,
    pub(crate) ending: Option<Ending>,
}

impl std::fmt::Debug for Execution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Execution").field("n_steps", &self.n_steps).finish_non_exhaustive()
    }
}

impl Execution {
    /// The state for a search, to be [renewed](Self::renew) before it is used.
    pub(crate) fn new(lasting: Lasting) -> Box<Self> {
        Box::new(Self {
            lasting,
            tasks: TaskTable::new(),
            enabled: Enabled::new(),
            decisions: Decisions::new(),
            listeners: Listeners::new(),
            detectors: Detectors::default(),
            time: VirtualTime::new(),
            pace: Pace::default(),
            messages: Messages::default(),
            waits: Spinning::default(),
            stamp: 0,
            current: TaskId::ROOT,
            me: std::ptr::null_mut(),
            slow_path: 0,
            n_steps: 0,
            n_objects: 0,
            target: None,
            strayed: false,
            ending: None,
        })
    }

    /// Forgets the last search and prepares for another. Keeps every allocation.
    pub(crate) fn renew(&mut self, lasting: Lasting, tape: Option<Tape>) {
        self.lasting = lasting;
        self.tasks.renew();
        self.decisions.renew();
        self.listeners.renew(tape);
        self.detectors.renew();
    }

    /// Forgets the last execution and prepares for the next. Keeps every allocation.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.tasks.begin();
        self.enabled.begin();
        self.decisions.begin();
        let rounds = self.lasting.settings.rounds;
        self.listeners.begin(&self.decisions, rounds);
        self.detectors.begin();
        self.time.begin();
        self.pace.begin(&self.lasting.limits);
        self.messages.begin();
        self.waits.begin(self.lasting.settings.rounds.is_some());
        self.stamp = self.lasting.pulse.begin();
        let unasked = self.decisions.strict || self.listeners.recorder.is_some();
        self.slow_path = if unasked { slow_path::NO_STRATEGY } else { 0 };
        if self.listeners.needs.contexts > 0 && !self.decisions.strict {
            self.slow_path |= slow_path::CAPTURE_CONTEXT;
        }
        if self.listeners.needs.on_host && !self.decisions.strict {
            self.slow_path |= slow_path::ASK_ON_HOST;
            // What the execution before asked for in its last step.
            let _ = crate::explorer::take_order();
        }
        self.n_steps = 0;
        self.n_objects = 0;
        if self.check_is_due() {
            self.slow_path |= slow_path::CHECK_DUE;
        }
        self.set_carefree();
        self.target = None;
        self.strayed = false;
        self.ending = None;
    }

    /// The execution of this OS thread; null outside. Not inlined: in other crates a thread-local is reached by a
    /// pointer to a function, which costs twice as much.
    #[inline(never)]
    pub(crate) fn current() -> *mut Self {
        // `try_with` is marked to be inlined, `get` and `with` are not: without link-time optimisation they are calls. It
        // fails where a destructor has run, and this has none.
        CURRENT.try_with(Cell::get).unwrap_or(std::ptr::null_mut())
    }

    pub(crate) fn set_current(execution: *mut Self) {
        // As in `current`.
        let _ = CURRENT.try_with(|current| current.set(execution));
    }

    /// Takes over what an execution in another process decided.
    pub(crate) fn adopt(&mut self, names: &[Name], taken: Vec<Taken>, marks: &[DecisionMark]) {
        for name in names {
            self.tasks.names.intern(name.parent, name.nth, name.kind);
        }
        self.decisions.taken = taken;
        // What is beyond belongs to an earlier execution still, as it would without another process.
        let known = &mut self.decisions.marks;
        let kept = known.len().min(marks.len());
        known[..kept].copy_from_slice(&marks[..kept]);
        known.extend_from_slice(&marks[kept..]);
    }

    /// The execution is over, for this reason.
    pub(crate) fn end(&mut self, ending: Ending) {
        // What a task does while it unwinds from a race, or before it notices, comes of the race.
        if !matches!(self.ending, Some(Ending::DataRace(_))) {
            self.ending = Some(ending);
        }
        self.slow_path |= slow_path::ENDING;
    }

    /// Notes where the current task announces an op.
    #[inline]
    pub(crate) fn announce(&mut self, site: &'static Location<'static>) {
        if !self.listeners.needs.plans {
            return;
        }
        let place = std::ptr::from_ref(site) as u64 ^ u64::from(self.current.0) << 48;
        self.decisions.trail =
            (self.decisions.trail.rotate_left(23) ^ place).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.decisions.announced = (self.current, site);
    }

    pub(crate) fn is_tearing(&self) -> bool {
        self.slow_path & slow_path::TEARING != 0
    }

    #[inline]
    pub(crate) fn task(&self, task: TaskId) -> &Task {
        self.tasks.get(task)
    }

    #[inline]
    pub(crate) fn task_mut(&mut self, task: TaskId) -> &mut Task {
        self.tasks.get_mut(task)
    }

    /// A task of this execution that `parent` makes, by its number and its entry. `None`: there are too many.
    #[inline]
    pub(crate) fn create(
        &mut self,
        parent: TaskId,
        kind: TaskKind,
        site: &'static Location<'static>,
    ) -> Option<(TaskId, *mut Task)> {
        if self.tasks.created.len() >= self.lasting.limits.tasks as usize {
            return None;
        }
        let id = if self.tasks.created.is_empty() {
            TaskId::ROOT
        } else {
            let row = usize::from(kind == TaskKind::Environment);
            let spawned = &mut self.task_mut(parent).lineage.spawned[row];
            let nth = *spawned;
            *spawned += 1;
            self.tasks.names.intern(parent, nth, kind)
        };
        let entry = self.enter(parent, id, kind, site);
        if self.waits.on {
            self.task_mut(parent).rounds.forget();
        }
        Some((id, entry))
    }

    /// Makes a task part of the execution.
    #[inline]
    fn enter(
        &mut self,
        parent: TaskId,
        id: TaskId,
        kind: TaskKind,
        site: &'static Location<'static>,
    ) -> *mut Task {
        if self.tasks.list.len() <= id.index() {
            self.make_room(id);
        }
        let seq = self.tasks.created.len() as u32;
        let born = (parent, self.n_steps);
        let entry = self.task_mut(id);
        entry.begin(id, seq, born, site);
        let entry: *mut Task = entry;
        self.tasks.created.push(id);
        if kind == TaskKind::Thread {
            self.tasks.n_live += 1;
            if self.listeners.needs.messages {
                self.messages.spawn((seq > 0).then_some(parent), id);
            }
        }
        if seq > 0 && self.n_steps >= self.listeners.strategy_from_step {
            // SAFETY: the strategy outlives the search, and holds no way back to the execution.
            unsafe { (*self.listeners.strategy).step(&Event::Spawn { parent, child: id }) };
        }
        if let Some(recorder) = self.listeners.recorder.as_mut().filter(|_| seq > 0) {
            recorder.spawn(parent, id);
        }
        entry
    }

    /// Has an entry for a task that no execution of the search has had.
    #[cold]
    fn make_room(&mut self, id: TaskId) {
        while self.tasks.list.len() <= id.index() {
            self.tasks.list.push(Box::new(Task::absent()));
        }
    }

    /// Numbers an object at its first use.
    pub(crate) fn register(
        &mut self,
        kind: &'static str,
        created: &'static Location<'static>,
        name: Option<&'static str>,
        waits: Waits,
    ) -> u32 {
        if let Some(recorder) = &mut self.listeners.recorder {
            recorder.object(kind, created, name);
        }
        if self.listeners.needs.labels {
            self.listeners.labels.push(Label { kind, created, name, waits });
        }
        self.n_objects += 1;
        self.n_objects - 1
    }

    /// The number of an object in this execution; a new one at its first use.
    ///
    /// # Safety
    /// `ex` is the current execution.
    #[inline]
    pub(crate) unsafe fn claim<M: Model>(ex: *mut Self, object: &Object<M>) -> u32 {
        // SAFETY: by contract; the borrows end here.
        unsafe {
            match object.claimed((*ex).stamp) {
                Some(slot) => slot,
                None => (*ex).claim_new(object),
            }
        }
    }

    /// Overflows the stack of a task now if it has too little left for what the engine does at an op: to run out of it in the
    /// middle of that would lose the failure.
    ///
    /// # Safety
    /// The task is the current one.
    #[expect(clippy::inline_always, reason = "three instructions, for every op")]
    #[inline(always)]
    pub(crate) unsafe fn check_room(task: *const Task) {
        // SAFETY: by contract.
        unsafe {
            if Fiber::stack_pointer() < (*task).floor {
                Fiber::overflow((*task).fiber);
            }
        }
    }

    #[cold]
    fn claim_new<M: Model>(&mut self, object: &Object<M>) -> u32 {
        if !self.me.is_null() {
            // SAFETY: the current task.
            unsafe { Self::check_room(self.me) };
        }
        object.take_over(self.stamp);
        let (kind, created, name) = (M::KIND, object.created(), object.name());
        let slot = self.register(kind, created, name, waits_of::<M>());
        if M::LOCKS {
            self.detectors.locks.known.push(Lock { slot, kind, created, name });
        }
        object.set_slot(slot);
        slot
    }

    /// Makes a passive task an option, or none.
    pub(crate) fn enable(&mut self, task: TaskId, enabled: bool) {
        if self.ending.is_none() {
            self.set_enabled(task, enabled);
        }
    }

    #[inline]
    pub(crate) fn set_enabled(&mut self, task: TaskId, enabled: bool) {
        let (n_steps, current) = (self.n_steps, self.current);
        let entry = self.tasks.get_mut(task);
        let place = entry.lineage.seq;
        if enabled {
            if self.enabled.places.insert(place) {
                self.enabled.count += 1;
                self.enabled.change();
                entry.fair.enabled_since = n_steps;
            }
        } else if self.enabled.places.remove(place) {
            self.enabled.count -= 1;
            self.enabled.change();
            entry.fair.disabled = (current, n_steps);
        }
    }

    /// Whether a task of this execution is among the options.
    #[inline]
    pub(crate) fn is_enabled(&self, task: TaskId) -> bool {
        self.enabled.places.contains(self.task(task).lineage.seq)
    }

    /// Brings the list of options up to date.
    #[inline]
    fn list_options(&mut self) {
        if !self.enabled.is_listed {
            self.list_options_anew();
        }
    }

    #[inline(never)]
    fn list_options_anew(&mut self) {
        let Self { enabled, tasks, listeners, .. } = self;
        enabled.options.clear();
        enabled.options.reserve(enabled.count as usize);
        let options = &mut enabled.options;
        enabled.places.for_each(|place| {
            options.push(Choice { task: tasks.created[place as usize] });
        });
        (enabled.is_listed, enabled.is_counted) = (true, false);
        listeners.repeat.left = 0;
        debug_assert_eq!(enabled.options.len(), enabled.count as usize);
    }

    /// The task that moved last, if leaving it now is a preemption.
    #[inline]
    fn running(&self) -> Option<TaskId> {
        (!self.enabled.last_yielded && self.is_enabled(self.enabled.last))
            .then_some(self.enabled.last)
    }

    /// Lets every task that can run on do so, up to its next op. `true` if `me` is among them:
    /// it then runs on itself.
    ///
    /// # Safety
    /// As for [`ask`](Self::ask).
    #[inline]
    pub(crate) unsafe fn drain(ex: *mut Self, me: Option<TaskId>) -> bool {
        // SAFETY: by contract; no borrow is held over `resume`.
        unsafe {
            if (*ex).enabled.run_on.is_empty() {
                (*ex).slow_path &= !slow_path::RUN_ON;
                return false;
            }
            Self::drain_all(ex, me)
        }
    }

    #[inline(never)]
    unsafe fn drain_all(ex: *mut Self, me: Option<TaskId>) -> bool {
        // SAFETY: as in `drain`.
        unsafe {
            let mut found = false;
            while let Some(task) = (*ex).enabled.run_on.pop() {
                if (*ex).enabled.run_on.is_empty() {
                    // Nothing of this is unusual for the task that runs on now.
                    (*ex).slow_path &= !slow_path::RUN_ON;
                }
                if Some(task) == me {
                    found = true;
                } else {
                    Self::resume(ex, task, true);
                }
            }
            (*ex).slow_path &= !slow_path::RUN_ON;
            found
        }
    }

    /// Runs a task until it suspends, on top of the current stack. `starting`: only its local
    /// code, up to its next op.
    ///
    /// # Safety
    /// `task` is suspended or new, and not on a stack below this one.
    pub(crate) unsafe fn resume(ex: *mut Self, task: TaskId, starting: bool) {
        // SAFETY: by contract.
        unsafe {
            let entry: *mut Task = (*ex).task_mut(task);
            Self::switch_to(ex, task, entry, starting);
        }
    }

    /// [`resume`](Self::resume) of a task whose entry is at hand.
    ///
    /// # Safety
    /// As for `resume`.
    #[inline]
    pub(crate) unsafe fn switch_to(ex: *mut Self, task: TaskId, entry: *mut Task, starting: bool) {
        // SAFETY: by contract; no borrow is held over the switch.
        unsafe {
            const OWN: u32 = slow_path::OWN;
            let (current, me, own) = ((*ex).current, (*ex).me, (*ex).slow_path & OWN);
            let alien = if std::thread::panicking() { slow_path::FOREIGN_UNWIND } else { 0 };
            (*ex).current = task;
            (*ex).me = entry;
            let starting = if starting { slow_path::STARTING } else { 0 };
            (*ex).slow_path = (*ex).slow_path & !OWN | starting | alien;
            let fiber = (*entry).fiber;
            let alive = Fiber::resume(fiber);
            (*ex).current = current;
            (*ex).me = me;
            (*ex).slow_path = (*ex).slow_path & !OWN | own;
            if !alive || (*entry).state == State::Exited {
                Self::retire(ex, (task, entry), alive, alien != 0);
            }
        }
    }

    /// Runs the task that the host is to resume, and the one that it names when it suspends, and so on until one names
    /// none.
    ///
    /// # Safety
    /// Called on the host's stack. The target is suspended or new.
    #[inline]
    pub(crate) unsafe fn run_targets(ex: *mut Self) {
        // SAFETY: by contract; no borrow is held over the switch.
        unsafe {
            const OWN: u32 = slow_path::OWN;
            let Some(mut task) = (*ex).target.take() else { return };
            let current = (*ex).current;
            loop {
                debug_assert!((*ex).ending.is_none(), "a task that ends the execution names none");
                let is_alien = std::thread::panicking();
                if is_alien || (*ex).slow_path & OWN != 0 {
                    let alien = if is_alien { slow_path::FOREIGN_UNWIND } else { 0 };
                    (*ex).slow_path = (*ex).slow_path & !OWN | alien;
                }
                let entry: *mut Task = &raw mut *(&mut (*ex).tasks.list)[task.index()];
                (*ex).current = task;
                (*ex).me = entry;
                let alive = Fiber::resume((*entry).fiber);
                // Perhaps another one, to which it has handed over.
                let (task_now, entry) = ((*ex).current, (*ex).me);
                if !alive || (*entry).state == State::Exited {
                    // No task hands over while the thread panics.
                    Self::retire(ex, (task_now, entry), alive, is_alien && task_now == task);
                }
                match (*ex).target.take() {
                    Some(next) => task = next,
                    None => break,
                }
            }
            (*ex).current = current;
            (*ex).me = std::ptr::null_mut();
            (*ex).slow_path &= !OWN;
        }
    }

    /// A task that was resumed has come to its end, or has overflowed its stack. `is_alien`: another one unwound when
    /// it was resumed.
    #[inline]
    unsafe fn retire(
        ex: *mut Self,
        (task, entry): (TaskId, *mut Task),
        alive: bool,
        is_alien: bool,
    ) {
        // SAFETY: as in `resume`.
        unsafe {
            if alive {
                let fiber = std::mem::replace(&mut (*entry).fiber, std::ptr::null_mut());
                (*ex).tasks.idlers.keep(fiber);
            } else {
                // The unwinding of a task that overflows never ends, so its OS thread goes on counting it.
                (*entry).unwinding.change().held_up |= !is_alien && std::thread::panicking();
                Self::bury(ex, task);
            }
        }
    }

    /// A task overflowed its stack: what was on it is lost, and the execution is over.
    #[cold]
    unsafe fn bury(ex: *mut Self, task: TaskId) {
        // SAFETY: as in `resume`; the fiber has ended.
        unsafe {
            let fiber = std::mem::replace(&mut (*ex).task_mut(task).fiber, std::ptr::null_mut());
            Fiber::free(fiber);
            (*ex).forget_pending(task);
            let entry = (*ex).task_mut(task);
            entry.state = State::Absent;
            std::mem::forget(std::mem::take(&mut entry.locals.values));
            (*ex).tasks.n_live -= 1;
            (*ex).target = None;
            if !(*ex).is_tearing() {
                (*ex).end(Ending::StackOverflow(task));
            }
        }
    }

    // ---- for the host -----------------------------------------------------------------------

    /// Whether a limit is due; moves the next check on.
    pub(crate) fn check_limits(&mut self) {
        if self.lasting.pulse.foreign.swap(false, std::sync::atomic::Ordering::Relaxed) {
            self.end(Ending::Foreign);
        } else if self.n_steps >= self.lasting.limits.steps {
            let idle = self.n_steps - self.pace.last_change;
            // Half of the longest execution allowed, and everyone had a turn: that is no accident.
            let spins = idle > self.lasting.limits.steps / 2 && self.everyone_moved();
            self.end(if spins {
                Ending::Livelock { steps: idle }
            } else {
                Ending::Limit(LimitKind::Steps)
            });
        } else {
            self.pace.next_check = (self.n_steps + CHECK_EVERY).min(self.lasting.limits.steps);
            self.slow_path &= !slow_path::CHECK_DUE;
        }
    }

    pub(crate) fn check_is_due(&self) -> bool {
        self.n_steps >= self.pace.next_check
    }

    /// Those who can move.
    pub(crate) fn options(&self) -> impl Iterator<Item = TaskId> {
        self.enabled.places.iter().map(|place| self.tasks.created[place as usize])
    }
}

#[inline]
#[expect(clippy::transmute_ptr_to_ptr, reason = "a cast cannot change the lifetime")]
pub(crate) fn erase(what: &dyn Announced) -> *const dyn Announced {
    let what: *const (dyn Announced + '_) = what;
    // SAFETY: only the lifetime changes; the pointer is used while the frame that owns `what`
    // waits, and removed before that frame goes on.
    unsafe {
        std::mem::transmute::<*const (dyn Announced + '_), *const (dyn Announced + 'static)>(what)
    }
}

/// The type of a strategy that is not there: a replay has none, and never asks one.
struct NoStrategy;

impl Strategy for NoStrategy {
    fn begin(&mut self, _: &mut Plan) -> bool {
        false
    }

    fn decide(&mut self, _: &Point<'_>) -> Answer {
        Answer::Take(0)
    }

    fn covered(&self) -> raddle_trace::Covered {
        raddle_trace::Covered::Replay
    }
}
