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
mod passive;
mod seen;
mod steps;
mod timers;
mod view;
mod yields;

pub(crate) use passive::Passive;
pub use passive::{Work, Worked};
pub(crate) use seen::Seen;

use std::cell::Cell;
use std::panic::Location;
use std::time::Duration;

use raddle_trace::{DataRace, Divergence, LimitKind, Settings, TaskKind};

use crate::announce::Announced;
use crate::clock::Clock;
use crate::explore::Setup;
use crate::fiber::Fiber;
use crate::isolation::Log;
use crate::limits::{Limits, Teardown};
use crate::locks::LockOrder;
use crate::names::{Name, Names};
use crate::object::Object;
use crate::op::TaskId;
use crate::pulse::Pulse;
use crate::race::Detector;
use crate::recorder::Recorder;
use crate::script::Script;
use crate::strategy::{Answer, Choice, Cut, Event, Label, Needs, Plan, Point, Strategy, Taken};
use crate::tape::Tape;
use crate::task::{NO_SLOT, State, Task};

thread_local! {
    /// The execution that runs on this OS thread. Null outside.
    static CURRENT: Cell<*mut Execution> = const { Cell::new(std::ptr::null_mut()) };
}

/// How many steps pass between looks at limits and at the caller's clock.
const CHECK_EVERY: u64 = 4096;
/// How often user code may catch the unwinding of a cancelled task before the task is leaked.
const MAX_SWALLOWED: u32 = 100;

/// Reasons why an op cannot take the short way through [`Object::step`].
pub(crate) mod busy {
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
    /// It repeats a known execution, is written down, or runs on after a cut.
    pub(crate) const UNASKED: u32 = 32;
    /// It is over.
    pub(crate) const ENDING: u32 = 64;
    /// The OS thread was unwinding already when the current task was resumed: another's panic.
    pub(crate) const ALIEN: u32 = 128;
    /// The step of a passive task is being taken.
    pub(crate) const WORKING: u32 = 256;
    /// The strategy asks from where ops are called.
    pub(crate) const CALLED: u32 = 512;
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
    /// The test's body panicked.
    BodyPanicked,
    /// Some tasks are left and none can move.
    Deadlock,
    Livelock {
        steps: u64,
    },
    StackOverflow(TaskId),
    DataRace(Box<DataRace>),
    Limit(LimitKind),
    Diverged(Divergence),
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
    /// Nobody, or a limit is due: the host decides.
    Host,
}

/// What a decision was about, to notice when a replayed prefix goes another way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    of: u32,
    task: TaskId,
    site: &'static Location<'static>,
    /// Who had announced an op where before it, folded into a number.
    trail: u64,
}

#[expect(clippy::struct_excessive_bools, reason = "the state of one execution, in one place")]
pub(crate) struct Execution {
    // For the whole search.
    pub(crate) names: Names,
    /// By task id. Boxed: tasks do not move while others are created.
    #[expect(clippy::vec_box, reason = "pending ops point into tasks, which must not move")]
    pub(crate) tasks: Vec<Box<Task>>,
    pub(crate) pulse: &'static Pulse,
    pub(crate) strategy: *mut dyn Strategy,
    pub(crate) needs: Needs,
    pub(crate) settings: Settings,
    pub(crate) limits: Limits,
    pub(crate) teardown: Teardown,
    pub(crate) stack_size: usize,
    pub(crate) seen: Seen,
    pub(crate) clock: Box<Object<Clock>>,
    pub(crate) plan: Plan,
    marks: Vec<Mark>,
    /// Decisions that this execution shares with the one before.
    shared: usize,
    /// A cell has been used: data races are looked for from the next execution on.
    pub(crate) watch: bool,
    pub(crate) locks: Box<LockOrder>,
    /// Where options are left for whoever comes after this process.
    pub(crate) tape: Option<Tape>,
    /// Where the process that forked this one finds what happens.
    pub(crate) log: Option<Log>,
    /// One of them is there.
    witnessed: bool,

    // For one execution.
    pub(crate) stamp: u64,
    pub(crate) current: TaskId,
    /// The current task.
    pub(crate) me: *mut Task,
    /// See [`busy`]. 0: an op takes the short way.
    pub(crate) busy: u32,
    /// Nobody wants to hear of this many steps.
    pub(crate) untold: u64,
    /// Data races are looked for.
    pub(crate) watching: bool,
    /// A cell has been used in this execution.
    pub(crate) touched: bool,
    pub(crate) race: Box<Detector>,
    clock_slot: u32,
    last: TaskId,
    /// The latest announcement.
    announced: (TaskId, &'static Location<'static>),
    last_yielded: bool,
    /// See [`Pending::strayed`](crate::strategy::Pending::strayed).
    pub(crate) strayed: bool,
    trail: u64,
    /// In order of creation.
    pub(crate) created: Vec<TaskId>,
    /// Enabled tasks, in order of creation.
    options: Vec<Choice>,
    fair_options: Vec<Choice>,
    /// The objects of pending ops, by task id.
    pub(crate) slots: Vec<[u32; 2]>,
    /// Tasks whose immediate op has become enabled.
    run_on: Vec<TaskId>,
    /// Whom the host is to resume.
    pub(crate) target: Option<TaskId>,
    pub(crate) taken: Vec<Taken>,
    pub(crate) script: Option<Script>,
    /// It repeats a known execution to its end; the strategy hears nothing of it.
    pub(crate) strict: bool,
    pub(crate) cut: Option<Cut>,
    pub(crate) n_steps: u64,
    last_change: u64,
    fruitless: u64,
    next_check: u64,
    n_objects: u32,
    /// What they are called, if the strategy asks.
    labels: Vec<Label>,
    pub(crate) n_live: u32,
    /// A task that unwinds and has to wait: the others run without questions until it can go on.
    forced: Option<TaskId>,
    pub(crate) ending: Option<Ending>,
    /// The decision that leads to the next step.
    point: Option<u32>,
    preempting: bool,
    pub(crate) recorder: Option<Box<Recorder>>,
    /// Panics are printed as they happen, not only reported.
    pub(crate) loud: bool,
}

impl std::fmt::Debug for Execution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Execution").field("n_steps", &self.n_steps).finish_non_exhaustive()
    }
}

impl Execution {
    /// The state for a search, to be [renewed](Self::renew) before it is used.
    pub(crate) fn new(pulse: &'static Pulse) -> Box<Self> {
        let Setup { settings, limits, teardown, stack_size, .. } = Setup::default();
        let strategy: *mut dyn Strategy = std::ptr::null_mut::<Nobody>();
        Box::new(Self {
            names: Names::new(),
            tasks: vec![Box::new(Task::absent())],
            pulse,
            strategy,
            needs: Needs::default(),
            settings,
            limits,
            teardown,
            stack_size,
            seen: Seen::default(),
            clock: Box::new(Object::new(Clock::default())),
            plan: Plan::default(),
            marks: Vec::new(),
            shared: 0,
            watch: false,
            locks: Box::default(),
            tape: None,
            log: None,
            witnessed: false,
            stamp: 0,
            current: TaskId::ROOT,
            me: std::ptr::null_mut(),
            busy: 0,
            untold: u64::MAX,
            watching: false,
            touched: false,
            race: Box::default(),
            clock_slot: NO_SLOT,
            last: TaskId::ROOT,
            announced: (TaskId::ROOT, Location::caller()),
            last_yielded: false,
            strayed: false,
            trail: 0,
            created: Vec::new(),
            options: Vec::new(),
            fair_options: Vec::new(),
            slots: vec![[NO_SLOT; 2]],
            run_on: Vec::new(),
            target: None,
            taken: Vec::new(),
            script: None,
            strict: false,
            cut: None,
            n_steps: 0,
            last_change: 0,
            fruitless: 0,
            next_check: 0,
            n_objects: 0,
            labels: Vec::new(),
            n_live: 0,
            forced: None,
            ending: None,
            point: None,
            preempting: false,
            recorder: None,
            loud: false,
        })
    }

    /// Forgets the last search and prepares for another. Keeps every allocation.
    pub(crate) fn renew(&mut self, setup: &Setup, limits: Limits, pulse: &'static Pulse) {
        self.names = Names::new();
        for task in &mut self.tasks {
            task.state = State::Absent;
        }
        self.strategy = std::ptr::null_mut::<Nobody>();
        self.pulse = pulse;
        self.needs = Needs::default();
        self.settings = setup.settings;
        self.limits = limits;
        self.teardown = setup.teardown;
        self.stack_size = setup.stack_size;
        self.loud = setup.loud;
        self.tape = setup.tape;
        self.log = None;
        self.seen = Seen::default();
        self.watch = false;
        self.locks.renew();
        self.plan.prefix.clear();
        self.taken.clear();
        self.marks.clear();
        self.script = None;
        self.strict = false;
        self.recorder = None;
    }

    /// The execution of this OS thread; null outside.
    #[inline]
    pub(crate) fn current() -> *mut Self {
        CURRENT.get()
    }

    pub(crate) fn set_current(execution: *mut Self) {
        CURRENT.set(execution);
    }

    /// Forgets the last execution and prepares for the next. Keeps every allocation.
    pub(crate) fn begin(&mut self) {
        // How much of the plan repeats the last execution: that much must repeat exactly.
        let pairs = self.plan.prefix.iter().zip(&self.taken);
        self.shared = pairs.take_while(|(planned, taken)| **planned == taken.option).count();
        self.stamp = self.pulse.begin();
        self.witnessed = self.tape.is_some() || self.log.is_some();
        if let Some(tape) = self.tape {
            tape.begin();
        }
        self.clock.renew(Location::caller());
        self.last = TaskId::ROOT;
        self.last_yielded = false;
        self.strayed = false;
        self.trail = 0;
        let unasked = self.strict || self.recorder.is_some();
        self.busy = if unasked { busy::UNASKED } else { 0 };
        if self.needs.contexts > 0 && !self.strict {
            self.busy |= busy::CALLED;
        }
        self.untold = match self.recorder {
            Some(_) => 0,
            None if self.needs.steps && !self.strict => self.plan.steps_to_skip,
            None => u64::MAX,
        };
        if self.touched || self.watching {
            self.race.begin();
        }
        self.watching = self.watch;
        self.touched = false;
        self.locks.begin();
        self.clock_slot = NO_SLOT;
        self.created.clear();
        self.options.clear();
        self.run_on.clear();
        self.target = None;
        self.taken.clear();
        self.cut = None;
        self.n_steps = 0;
        self.last_change = 0;
        self.fruitless = 0;
        self.next_check = CHECK_EVERY.min(self.limits.steps);
        self.n_objects = 0;
        self.labels.clear();
        self.n_live = 0;
        self.forced = None;
        self.ending = None;
        self.point = None;
        self.preempting = false;
    }

    /// Takes over what an execution in another process decided.
    pub(crate) fn adopt(&mut self, names: &[Name], taken: Vec<Taken>, marks: &[Mark]) {
        for name in names {
            self.names.intern(name.parent, name.nth, name.kind);
        }
        self.taken = taken;
        // What is beyond belongs to an earlier execution still, as it would without another process.
        let kept = self.marks.len().min(marks.len());
        self.marks[..kept].copy_from_slice(&marks[..kept]);
        self.marks.extend_from_slice(&marks[kept..]);
    }

    /// The execution is over, for this reason.
    pub(crate) fn end(&mut self, ending: Ending) {
        // What a task does while it unwinds from a race, or before it notices, comes of the race.
        if !matches!(self.ending, Some(Ending::DataRace(_))) {
            self.ending = Some(ending);
        }
        self.busy |= busy::ENDING;
    }

    /// Notes where the current task announces an op.
    #[inline]
    pub(crate) fn announce(&mut self, site: &'static Location<'static>) {
        if !self.needs.plans {
            return;
        }
        let place = std::ptr::from_ref(site) as u64 ^ u64::from(self.current.0) << 48;
        self.trail = (self.trail.rotate_left(23) ^ place).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.announced = (self.current, site);
    }

    pub(crate) fn is_tearing(&self) -> bool {
        self.busy & busy::TEARING != 0
    }

    #[inline]
    pub(crate) fn task(&self, task: TaskId) -> &Task {
        &self.tasks[task.index()]
    }

    #[inline]
    pub(crate) fn task_mut(&mut self, task: TaskId) -> &mut Task {
        &mut self.tasks[task.index()]
    }

    /// A task of this execution that `parent` makes. `None`: there are too many.
    #[track_caller]
    pub(crate) fn create(&mut self, parent: TaskId, kind: TaskKind) -> Option<TaskId> {
        if self.created.len() >= self.limits.tasks as usize {
            return None;
        }
        let id = if self.created.is_empty() {
            TaskId::ROOT
        } else {
            let row = usize::from(kind == TaskKind::Environment);
            let nth = self.task(parent).spawned[row];
            self.task_mut(parent).spawned[row] += 1;
            self.names.intern(parent, nth, kind)
        };
        self.enter(parent, id, kind);
        Some(id)
    }

    /// Makes a task part of the execution.
    #[track_caller]
    fn enter(&mut self, parent: TaskId, id: TaskId, kind: TaskKind) {
        while self.tasks.len() <= id.index() {
            self.tasks.push(Box::new(Task::absent()));
            self.slots.push([NO_SLOT; 2]);
        }
        self.slots[id.index()] = [NO_SLOT; 2];
        let seq = self.created.len() as u32;
        self.task_mut(id).begin(seq, Location::caller());
        self.task_mut(id).born = (parent, self.n_steps);
        self.task_mut(id).life.get_mut().task = id;
        self.created.push(id);
        if kind == TaskKind::Thread {
            self.n_live += 1;
        }
        if self.needs.steps && !self.strict && seq > 0 && self.n_steps >= self.untold {
            // SAFETY: the strategy outlives the search, and holds no way back to the execution.
            unsafe { (*self.strategy).step(&Event::Spawn { parent, child: id }) };
        }
        if let Some(recorder) = self.recorder.as_mut().filter(|_| seq > 0) {
            recorder.spawn(parent, id);
        }
    }

    /// Numbers an object at its first use.
    pub(crate) fn register(
        &mut self,
        kind: &'static str,
        created: &'static Location<'static>,
        name: Option<&'static str>,
    ) -> u32 {
        if let Some(recorder) = &mut self.recorder {
            recorder.object(kind, created, name);
        }
        if self.needs.labels {
            self.labels.push(Label { kind, created, name });
        }
        self.n_objects += 1;
        self.n_objects - 1
    }

    /// Makes a passive task an option, or none.
    pub(crate) fn enable(&mut self, task: TaskId, enabled: bool) {
        if self.ending.is_none() {
            self.set_enabled(task, enabled);
        }
    }

    fn set_enabled(&mut self, task: TaskId, enabled: bool) {
        let entry = self.task(task);
        if entry.enabled == enabled {
            return;
        }
        let seq = entry.seq;
        let n_steps = self.n_steps;
        let current = self.current;
        if enabled {
            let later = |choice: &Choice| self.task(choice.task).seq > seq;
            let at = self.options.iter().position(later).unwrap_or(self.options.len());
            self.options.insert(at, Choice { task });
            self.task_mut(task).fair.enabled_since = n_steps;
        } else {
            self.options.retain(|choice| choice.task != task);
            self.task_mut(task).fair.disabled = (current, n_steps);
        }
        self.task_mut(task).enabled = enabled;
    }

    /// The task that moved last, if leaving it now is a preemption.
    fn running(&self) -> Option<TaskId> {
        (!self.last_yielded && self.task(self.last).enabled).then_some(self.last)
    }

    /// Lets every task that can run on do so, up to its next op. `true` if `me` is among them:
    /// it then runs on itself.
    ///
    /// # Safety
    /// As for [`ask`](Self::ask).
    pub(crate) unsafe fn drain(ex: *mut Self, me: Option<TaskId>) -> bool {
        // SAFETY: by contract; no borrow is held over `resume`.
        unsafe {
            let mut found = false;
            while let Some(task) = (*ex).run_on.pop() {
                if Some(task) == me {
                    found = true;
                } else {
                    Self::resume(ex, task, true);
                }
            }
            (*ex).busy &= !busy::RUN_ON;
            found
        }
    }

    /// Runs a task until it suspends, on top of the current stack. `starting`: only its local
    /// code, up to its next op.
    ///
    /// # Safety
    /// `task` is suspended or new, and not on a stack below this one.
    #[inline(always)]
    pub(crate) unsafe fn resume(ex: *mut Self, task: TaskId, starting: bool) {
        // SAFETY: by contract; no borrow is held over the switch.
        unsafe {
            const OWN: u32 = busy::STARTING | busy::ALIEN;
            let (current, me, own) = ((*ex).current, (*ex).me, (*ex).busy & OWN);
            let alien = if std::thread::panicking() { busy::ALIEN } else { 0 };
            let entry: *mut Task = &raw mut *(&mut (*ex).tasks)[task.index()];
            (*ex).current = task;
            (*ex).me = entry;
            let starting = if starting { busy::STARTING } else { 0 };
            (*ex).busy = (*ex).busy & !OWN | starting | alien;
            let fiber = (*entry).fiber;
            let alive = Fiber::resume(fiber);
            (*ex).current = current;
            (*ex).me = me;
            (*ex).busy = (*ex).busy & !OWN | own;
            if !alive {
                Self::bury(ex, task);
            } else if (*entry).state == State::Exited {
                (*entry).fiber = std::ptr::null_mut();
                Fiber::recycle(fiber);
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
            std::mem::forget(std::mem::take(&mut entry.locals));
            (*ex).n_live -= 1;
            (*ex).target = None;
            if !(*ex).is_tearing() {
                (*ex).end(Ending::StackOverflow(task));
            }
        }
    }

    // ---- for the host -----------------------------------------------------------------------

    /// Whether a limit is due; moves the next check on.
    pub(crate) fn check_limits(&mut self) {
        if self.pulse.foreign.swap(false, std::sync::atomic::Ordering::Relaxed) {
            self.end(Ending::Foreign);
        } else if self.n_steps >= self.limits.steps {
            let idle = self.n_steps - self.last_change;
            // Half of the longest execution allowed, and everyone had a turn: that is no accident.
            let spins = idle > self.limits.steps / 2 && self.everyone_moved();
            self.end(if spins {
                Ending::Livelock { steps: idle }
            } else {
                Ending::Limit(LimitKind::Steps)
            });
        } else {
            self.next_check = (self.n_steps + CHECK_EVERY).min(self.limits.steps);
        }
    }

    pub(crate) fn check_is_due(&self) -> bool {
        self.n_steps >= self.next_check
    }

    /// Those who can move.
    pub(crate) fn options(&self) -> &[Choice] {
        &self.options
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
struct Nobody;

impl Strategy for Nobody {
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
