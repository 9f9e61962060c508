//! One execution: who can move, who is asked to, what came of it.
//!
//! The state of an execution is reached by raw pointer from whichever stack is running: the
//! host's, or a task's. Every function here takes that pointer, borrows for a few lines, and
//! holds no reference when it switches stacks.
//!
//! The life of an op: the task *arrives* with it (announces it, then asks who moves next, and
//! switches if it is another task), applies it once it is chosen, *commits* the step, and *wakes*
//! those whose ops on the same object may have changed.

use std::cell::Cell;
use std::panic::{Location, resume_unwind};
use std::time::Duration;

use raddle_trace::{Divergence, LimitKind, Settings, TaskKind, Timeouts};

use crate::announce::Announced;
use crate::clock::Clock;
use crate::explore::Setup;
use crate::fiber::Fiber;
use crate::limits::{Limits, Teardown};
use crate::model::Model;
use crate::names::Names;
use crate::object::Object;
use crate::op::{Access, ObjectId, Op, TaskId};
use crate::pulse::Pulse;
use crate::recorder::Recorder;
use crate::script::Script;
use crate::strategy::{
    Answer, Choice, Cut, Needs, Options, Pending, Plan, Point, Step, Strategy, Stuck, Taken,
};
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
    Limit(LimitKind),
    Diverged(Divergence),
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
struct Mark {
    of: u32,
    task: TaskId,
    site: &'static Location<'static>,
    /// Who had announced an op where before it, folded into a number.
    trail: u64,
}

/// Things that the program did and that the guarantee must speak of. Over the whole search.
#[expect(clippy::struct_excessive_bools, reason = "a list of facts")]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) timers: bool,
    /// A task that yielded had to wait for others to move.
    pub(crate) held_back: bool,
    pub(crate) spurious: bool,
    pub(crate) unwound: bool,
    pub(crate) seeded: bool,
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

    // For one execution.
    pub(crate) stamp: u64,
    pub(crate) current: TaskId,
    /// The current task.
    pub(crate) me: *mut Task,
    /// See [`busy`]. 0: an op takes the short way.
    pub(crate) busy: u32,
    /// Somebody wants to hear of every step.
    watched: bool,
    clock_slot: u32,
    last: TaskId,
    /// The latest announcement.
    announced: (TaskId, &'static Location<'static>),
    last_yielded: bool,
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
            stamp: 0,
            current: TaskId::ROOT,
            me: std::ptr::null_mut(),
            busy: 0,
            watched: false,
            clock_slot: NO_SLOT,
            last: TaskId::ROOT,
            announced: (TaskId::ROOT, Location::caller()),
            last_yielded: false,
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
        self.seen = Seen::default();
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
        self.clock.renew(Location::caller());
        self.last = TaskId::ROOT;
        self.last_yielded = false;
        self.trail = 0;
        let unasked = self.strict || self.recorder.is_some();
        self.busy = if unasked { busy::UNASKED } else { 0 };
        self.watched = self.recorder.is_some() || self.needs.steps && !self.strict;
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
        self.n_live = 0;
        self.forced = None;
        self.ending = None;
        self.point = None;
        self.preempting = false;
    }

    /// The execution is over, for this reason.
    pub(crate) fn end(&mut self, ending: Ending) {
        self.ending = Some(ending);
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
        while self.tasks.len() <= id.index() {
            self.tasks.push(Box::new(Task::absent()));
            self.slots.push([NO_SLOT; 2]);
        }
        self.slots[id.index()] = [NO_SLOT; 2];
        let seq = self.created.len() as u32;
        self.task_mut(id).begin(seq, Location::caller());
        self.task_mut(id).life.get_mut().task = id;
        self.created.push(id);
        if kind == TaskKind::Thread {
            self.n_live += 1;
        }
        if self.needs.steps && !self.strict && seq > 0 {
            // SAFETY: the strategy outlives the search, and holds no way back to the execution.
            unsafe { (*self.strategy).spawn(parent, id) };
        }
        Some(id)
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
        self.n_objects += 1;
        self.n_objects - 1
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

    // ---- arriving ---------------------------------------------------------------------------

    /// The short way, for an op that just waits for its turn: nothing unusual is going on, and
    /// the caller has announced it.
    ///
    /// # Safety
    /// `ex` is the current execution with nothing busy, called on the stack of its current task.
    #[expect(
        clippy::inline_always,
        reason = "after a switch every return is mispredicted: keep them few"
    )]
    #[inline(always)]
    pub(crate) unsafe fn turn(ex: *mut Self, enabled: bool) {
        // SAFETY: by contract; no borrow is held over the switch.
        unsafe {
            if enabled && (*ex).options.len() == 1 && (*ex).n_steps < (*ex).next_check {
                (*ex).point = None;
                (*ex).preempting = false;
            } else {
                Self::take_turns(ex, enabled);
            }
        }
    }

    #[expect(
        clippy::inline_always,
        reason = "after a switch every return is mispredicted: keep them few"
    )]
    #[inline(always)]
    unsafe fn take_turns(ex: *mut Self, enabled: bool) {
        // SAFETY: as in `turn`.
        unsafe {
            let (me, task) = ((*ex).current, (*ex).me);
            if !enabled {
                (*ex).set_enabled(me, false);
            }
            let chosen = if (*ex).options.len() > 1 && (*ex).n_steps < (*ex).next_check {
                Self::decide_turn(ex)
            } else {
                None
            };
            match chosen {
                Some(chosen) if chosen == me => return,
                Some(chosen) => {
                    (*ex).target = Some(chosen);
                    Fiber::suspend((*task).fiber);
                }
                None => Self::pass(ex, me, task),
            }
            if (*task).cancelled {
                Self::cancel(me, task);
            }
        }
    }

    /// The execution is over. Whoever was about to give a lock back still does, or others could
    /// not be unwound; everybody else is unwound from here.
    #[cold]
    unsafe fn cancel(me: TaskId, task: *mut Task) {
        // SAFETY: as in `arrive`; the op is the caller's own and still waits.
        let access = unsafe { (*task).pending.map(|what| (*what).footprint(me)[0].1) };
        if !matches!(access, Some(Access::Release | Access::Unshare)) {
            Self::raise();
        }
    }

    /// Decides between tasks when nothing is busy. `None`: somebody must look more closely. What
    /// [`choose`](Self::choose) and [`decide`](Self::decide) do, without the exceptions.
    #[inline]
    unsafe fn decide_turn(ex: *mut Self) -> Option<TaskId> {
        // SAFETY: as in `decide`.
        unsafe {
            let this = &mut *ex;
            let index = this.taken.len();
            let of = this.options.len() as u32;
            let option = if index < this.plan.prefix.len() {
                this.plan.prefix[index]
            } else {
                let choices: *const [Choice] = this.options.as_slice();
                let view = View(ex);
                let point = Point {
                    index: index as u32,
                    options: Options::Schedule(&*choices),
                    running: this.running(),
                    last: this.last,
                    objects: this.n_objects,
                    pending: &view,
                };
                match (*this.strategy).decide(&point) {
                    Answer::Take(option) => option,
                    Answer::Cut(cut) => return Self::cut_short(ex, cut),
                }
            };
            let this = &mut *ex;
            let Some(&Choice { task }) = this.options.get(option as usize) else {
                return Self::no_such_option(ex, index, option);
            };
            let entry: *const Task = &raw const *this.tasks[task.index()];
            if this.needs.plans {
                let mark = Mark { of, task, site: (*entry).site, trail: this.trail };
                if !this.remember(index, option, mark) {
                    return None;
                }
            }
            this.taken.push(Taken { option, of });
            this.point = Some(index as u32);
            if (*entry).fiber.is_null() { Self::fire_turn(ex, task) } else { Some(task) }
        }
    }

    #[cold]
    unsafe fn cut_short(ex: *mut Self, cut: Cut) -> Option<TaskId> {
        // SAFETY: as in `decide`. The caller then asks again, and nobody answers but the engine.
        unsafe {
            (*ex).cut = Some(cut);
            (*ex).busy |= busy::UNASKED;
        }
        None
    }

    #[cold]
    unsafe fn no_such_option(ex: *mut Self, index: usize, option: u32) -> Option<TaskId> {
        // SAFETY: as in `decide`.
        unsafe {
            let of = (*ex).options.len();
            let planned = index < (*ex).plan.prefix.len();
            assert!(planned, "engine bug: a strategy took option {option} of {of}");
            (*ex).diverge_unless_known(option, of as u32);
        }
        None
    }

    /// The chosen one is a timer: it fires, and the question is put again.
    #[cold]
    unsafe fn fire_turn(ex: *mut Self, timer: TaskId) -> Option<TaskId> {
        // SAFETY: as in `ask`.
        unsafe {
            let me = (*ex).current;
            Self::fire(ex, timer);
            Self::drain(ex, Some(me)).then_some(me)
        }
    }

    /// Asks who moves, and comes back when it is the caller's turn.
    #[inline]
    unsafe fn pass(ex: *mut Self, me: TaskId, task: *mut Task) {
        // SAFETY: as in `arrive`.
        unsafe {
            match Self::ask(ex, Some(me)) {
                Next::Run(next) if next == me => return,
                Next::Run(next) => (*ex).target = Some(next),
                Next::Host => (*ex).target = None,
            }
            Fiber::suspend((*task).fiber);
        }
    }

    /// Announces an op and comes back when it is to run: `true`; or when it timed out: `false`.
    ///
    /// # Safety
    /// `ex` is the current execution, called on the stack of its current task; `what` stays valid
    /// until this returns.
    pub(crate) unsafe fn arrive(
        ex: *mut Self,
        what: &dyn Announced,
        slots: [u32; 2],
        site: &'static Location<'static>,
        how: How,
    ) -> bool {
        // SAFETY: by contract; each borrow ends before the next switch, and `what` is only kept
        // while this frame waits.
        unsafe {
            let (me, task) = ((*ex).current, (*ex).me);
            if (*ex).is_tearing() {
                return Self::arrive_torn(ex, what, me);
            }
            if how == How::Wait && what.enabled(me) {
                return true;
            }
            (*task).site = site;
            (*ex).announce(site);
            let starting = (*ex).busy & busy::STARTING != 0;
            if (*ex).unwinds(me) {
                return Self::arrive_unwinding(ex, what, slots, me, how);
            }
            (*task).pending = Some(erase(what));
            (&mut (*ex).slots)[me.index()] = slots;
            (*task).immediate = how == How::Wait;
            (*ex).set_enabled(me, what.enabled(me) && how != How::Wait);
            if let How::Timed(timeout) = how {
                // The timer's step acts on the clock, so the clock is announced with it.
                Self::clock_slot(ex);
                (*ex).arm(me, what, timeout);
            }
            if starting {
                (*ex).busy &= !busy::STARTING;
                Fiber::suspend((*task).fiber);
            } else if !(*ex).run_on.is_empty() && Self::drain(ex, Some(me)) {
                // This very op has become enabled: run on.
            } else {
                Self::pass(ex, me, task);
            }
            if (*task).cancelled {
                Self::cancel(me, task);
            }
            if (*ex).busy & busy::STARTING == 0 {
                // Invariant: a task that runs is among the options until it announces an op that
                // is not enabled. One that ran on by itself is not yet.
                (*ex).set_enabled(me, true);
            }
            (*task).pending = None;
            (*task).immediate = false;
            (&mut (*ex).slots)[me.index()] = [NO_SLOT; 2];
            if let How::Timed(_) = how {
                (*ex).disarm(me);
                if (*task).timed_out {
                    (*task).timed_out = false;
                    return false;
                }
                Self::tell_withdrawn(ex, me, what.footprint(me)[0].0);
            }
            true
        }
    }

    /// An op of a task that unwinds: runs without a question, so that no switch happens. If it
    /// must wait, the others run on in turn, without decisions, until it can.
    ///
    /// Misses: interleavings with the ops of destructors that run during a panic.
    #[cold]
    unsafe fn arrive_unwinding(
        ex: *mut Self,
        what: &dyn Announced,
        slots: [u32; 2],
        me: TaskId,
        how: How,
    ) -> bool {
        // SAFETY: as in `arrive`.
        unsafe {
            (*ex).seen.unwound = true;
            if what.enabled(me) {
                return true;
            }
            if let How::Timed(_) = how {
                // Nobody moves while it unwinds, so its time is up first.
                what.expire(me);
                return false;
            }
            let task: *mut Task = &raw mut *(&mut (*ex).tasks)[me.index()];
            (*task).pending = Some(erase(what));
            (*task).immediate = false;
            (&mut (*ex).slots)[me.index()] = slots;
            (*ex).set_enabled(me, false);
            (*ex).forced = Some(me);
            (*ex).busy |= busy::FORCED;
            (*ex).target = None;
            Fiber::suspend((*task).fiber);
            if (*task).cancelled {
                // It unwinds already; a second panic would abort. Nothing can be done but leave
                // the task where it is.
                Self::leak(ex, me);
            }
            (*ex).forced = None;
            (*ex).busy &= !(busy::FORCED | busy::ALIEN);
            (*task).pending = None;
            (&mut (*ex).slots)[me.index()] = [NO_SLOT; 2];
            true
        }
    }

    /// An op of a task that is being cancelled: releases happen, nothing waits.
    #[cold]
    unsafe fn arrive_torn(ex: *mut Self, what: &dyn Announced, me: TaskId) -> bool {
        // SAFETY: as in `arrive`.
        unsafe {
            let task: *mut Task = &raw mut *(&mut (*ex).tasks)[me.index()];
            if !std::thread::panicking() && !(*task).finishing {
                // User code caught the unwinding and goes on. It must not.
                (*task).swallowed += 1;
                if (*task).swallowed < MAX_SWALLOWED {
                    Self::raise();
                }
                Self::leak(ex, me);
            }
            if !what.enabled(me) {
                Self::leak(ex, me);
            }
            true
        }
    }

    /// Whether it is this task, and not another one of this OS thread, that unwinds.
    pub(crate) fn unwinds(&self, me: TaskId) -> bool {
        std::thread::panicking()
            && self.busy & busy::ALIEN == 0
            && self.forced.is_none_or(|forced| forced == me)
    }

    fn raise() -> ! {
        // Does not call the panic hook.
        resume_unwind(Box::new(Cancelled))
    }

    /// Leaves a task where it is, for good.
    pub(crate) unsafe fn leak(ex: *mut Self, me: TaskId) -> ! {
        // SAFETY: as in `arrive`; the fiber is never resumed.
        unsafe {
            (*ex).target = None;
            let fiber = (*ex).task(me).fiber;
            Fiber::suspend(fiber);
        }
        unreachable!("engine bug: a leaked task was resumed")
    }

    // ---- asking -----------------------------------------------------------------------------

    /// Who moves next? `me` is the task on whose stack this runs, if any.
    ///
    /// # Safety
    /// `ex` is live; called on the stack of `me`, or on the host's.
    pub(crate) unsafe fn ask(ex: *mut Self, me: Option<TaskId>) -> Next {
        // SAFETY: by contract; no borrow is held over `fire` and `drain`, which switch.
        unsafe {
            loop {
                if (*ex).ending.is_some() || (*ex).n_steps >= (*ex).next_check {
                    return Next::Host;
                }
                let Some(chosen) = Self::choose(ex) else { return Next::Host };
                if !(*ex).task(chosen).fiber.is_null() {
                    return Next::Run(chosen);
                }
                Self::fire(ex, chosen);
                if Self::drain(ex, me) {
                    return Next::Run(me.expect("drain found the caller"));
                }
            }
        }
    }

    #[inline]
    unsafe fn choose(ex: *mut Self) -> Option<TaskId> {
        // SAFETY: as in `ask`; nothing here switches.
        unsafe {
            let this = &mut *ex;
            this.point = None;
            if let Some(forced) = this.forced {
                return this.choose_forced(forced);
            }
            let unfair = this.busy & busy::UNFAIR != 0;
            if unfair {
                this.keep_fair();
            }
            let options = if unfair { &this.fair_options } else { &this.options };
            let chosen = match options.as_slice() {
                [] => return this.due_timer(),
                [one] => one.task,
                many => {
                    let many: *const [Choice] = many;
                    let option = Self::decide(ex, Options::Schedule(&*many))?;
                    (&*many)[option as usize].task
                }
            };
            let this = &mut *ex;
            if this.recorder.is_some() {
                this.preempting = this.running().is_some_and(|running| running != chosen);
            }
            Some(chosen)
        }
    }

    /// The next in turn, or the task that unwinds as soon as it can go on.
    fn choose_forced(&mut self, forced: TaskId) -> Option<TaskId> {
        if self.task(forced).enabled {
            return Some(forced);
        }
        let after = self.task(self.last).seq;
        let later = |choice: &&Choice| self.task(choice.task).seq > after;
        let next = self.options.iter().find(later).or(self.options.first()).map(|c| c.task);
        next.or_else(|| self.due_timer())
    }

    /// The one place where something is decided.
    #[inline]
    unsafe fn decide(ex: *mut Self, options: Options<'_>) -> Option<u32> {
        // SAFETY: as in `ask`; the strategy does not reach the execution but through `Pending`,
        // which only reads, and the borrows of `options` are reads too.
        unsafe {
            let index = (*ex).taken.len();
            let of = match options {
                Options::Schedule(choices) => choices.len() as u32,
                Options::Value { of, .. } => of,
            };
            let option = if index < (*ex).plan.prefix.len() {
                (&(*ex).plan.prefix)[index]
            } else if (*ex).strict || (*ex).cut.is_some() {
                Self::decide_alone(ex, index, options)?
            } else {
                let view = View(ex);
                let point = Point {
                    index: index as u32,
                    options,
                    running: (*ex).running(),
                    last: (*ex).last,
                    objects: (*ex).n_objects,
                    pending: &view,
                };
                match (*(*ex).strategy).decide(&point) {
                    Answer::Take(option) => {
                        assert!(option < of, "engine bug: a strategy took option {option} of {of}");
                        option
                    }
                    Answer::Cut(cut) => {
                        Self::cut_short(ex, cut);
                        (*ex).in_turn(options)
                    }
                }
            };
            let this = &mut *ex;
            let task = match options {
                Options::Schedule(choices) => choices.get(option as usize).map(|c| c.task),
                Options::Value { task, .. } => Some(task),
            };
            let task = task.unwrap_or(TaskId::ROOT);
            let mark = Mark { of, task, site: this.task(task).site, trail: this.trail };
            if option >= of || this.needs.plans && !this.remember(index, option, mark) {
                this.diverge_unless_known(option, of);
                return None;
            }
            this.taken.push(Taken { option, of });
            let is_value = matches!(options, Options::Value { .. });
            if !is_value {
                this.point = Some(index as u32);
            }
            if let Some(recorder) = &mut this.recorder {
                recorder.decision(task, is_value.then_some((option, of)));
            }
            Some(option)
        }
    }

    /// The answer where no strategy is asked.
    #[cold]
    unsafe fn decide_alone(ex: *mut Self, index: usize, options: Options<'_>) -> Option<u32> {
        // SAFETY: as in `decide`.
        unsafe {
            if let Some(script) = &(*ex).script {
                match script.answer(&*ex, index, options) {
                    Ok(option) => return Some(option),
                    Err((expected, found)) => (*ex).diverge(expected, found),
                }
            } else if (*ex).strict {
                let found = "a choice between several options".to_owned();
                (*ex).diverge("the end of the recorded decisions".to_owned(), found);
            } else {
                return Some((*ex).in_turn(options));
            }
            None
        }
    }

    /// Keeps what the decision was about, after comparing it with the last execution where this
    /// one repeats it. `false`: it differs.
    #[inline]
    fn remember(&mut self, index: usize, option: u32, mark: Mark) -> bool {
        if index >= self.marks.len() {
            self.marks.push(mark);
            return true;
        }
        let repeats = index <= self.shared && index < self.plan.prefix.len();
        if repeats && self.script.is_none() {
            let before = self.marks[index];
            let changed = index == self.shared;
            let same = before.of == mark.of
                && before.trail == mark.trail
                && (changed || before.task == mark.task && std::ptr::eq(before.site, mark.site));
            if !same || option >= mark.of {
                self.diverge_marks(before, mark);
                return false;
            }
        }
        self.marks[index] = mark;
        true
    }

    /// A planned option that is not there, if that has not been said yet.
    #[cold]
    fn diverge_unless_known(&mut self, option: u32, of: u32) {
        if self.ending.is_none() {
            self.diverge(format!("more than {option} options"), format!("{of} options"));
        }
    }

    #[cold]
    fn diverge_marks(&mut self, before: Mark, mark: Mark) {
        let say = |mark: &Mark| {
            format!("{} options, taking {} at {}", mark.of, self.label(mark.task), mark.site)
        };
        let expected = say(&before);
        let found = if before.trail == mark.trail {
            say(&mark)
        } else {
            let (who, site) = self.announced;
            format!(
                "other ops before this point, the last announced by {} at {site}",
                self.label(who)
            )
        };
        self.diverge(expected, found);
    }

    fn diverge(&mut self, expected: String, found: String) {
        let (step, decision) = (self.n_steps, self.taken.len() as u32);
        self.end(Ending::Diverged(Divergence { step, decision, expected, found }));
    }

    /// The answer where nobody is asked any more: the next in turn.
    fn in_turn(&self, options: Options<'_>) -> u32 {
        let Options::Schedule(choices) = options else { return 0 };
        let after = self.task(self.last).seq;
        choices.iter().position(|choice| self.task(choice.task).seq > after).unwrap_or(0) as u32
    }

    /// A value for the running step.
    ///
    /// # Safety
    /// `ex` is the current execution.
    pub(crate) unsafe fn value(ex: *mut Self, of: u32) -> u32 {
        // SAFETY: as in `ask`; nothing here switches.
        unsafe {
            if of < 2 || (*ex).is_tearing() || (*ex).ending.is_some() || (*ex).forced.is_some() {
                return 0;
            }
            let task = (*ex).current;
            let point = (*ex).point;
            let option = Self::decide(ex, Options::Value { task, of }).unwrap_or(0);
            (*ex).point = point;
            if (*ex).needs.steps && !(*ex).strict {
                (*(*ex).strategy).value(task, Taken { option, of });
            }
            option
        }
    }

    /// Which way a step goes, if its model has several.
    pub(crate) unsafe fn option_of_step<M: Model>(
        ex: *mut Self,
        model: &M,
        op: M::Op,
        site: &'static Location<'static>,
    ) -> u32 {
        // SAFETY: as in `value`.
        unsafe {
            let me = (*ex).current;
            let of = model.options(me, op, &(*ex).settings);
            if of < 2 {
                return 0;
            }
            (*ex).task_mut(me).site = site;
            if let Some(script) = &mut (*ex).script {
                script.option_tasks.clear();
                script.option_tasks.extend((0..of).map_while(|o| model.option_task(me, op, o)));
            }
            let decided = (*ex).taken.len();
            let option = Self::value(ex, of);
            if let Some(script) = &mut (*ex).script {
                script.option_tasks.clear();
            }
            if (*ex).taken.len() > decided
                && let Some(recorder) = &mut (*ex).recorder
            {
                recorder.value_task(model.option_task(me, op, option));
            }
            option
        }
    }

    // ---- after a step -----------------------------------------------------------------------

    /// Counts a step and tells whoever wants to know.
    ///
    /// # Safety
    /// `ex` is the current execution; `task` has just applied its op.
    #[inline]
    pub(crate) unsafe fn commit(
        ex: *mut Self,
        task: TaskId,
        footprint: &[(ObjectId, Access)],
        site: &'static Location<'static>,
        how: How,
        show: impl FnOnce() -> String,
    ) {
        // SAFETY: by contract; nothing here switches.
        unsafe {
            let this = &mut *ex;
            if this.is_tearing() {
                return;
            }
            this.n_steps += 1;
            this.pulse.step(this.n_steps, task.0, site);
            if how != How::Wait {
                // A wait that runs on is not a move: it must not look like a preemption.
                this.last = task;
                this.last_yielded = false;
                this.task_mut(task).last_step = this.n_steps;
            }
            // Time that passes is no change: a task that only watches the clock does not get on.
            if footprint.iter().any(|(id, access)| access.changes() && id.0 != this.clock_slot) {
                this.last_change = this.n_steps;
                this.fruitless = 0;
            }
            if this.watched {
                let text = if this.recorder.is_some() { show() } else { String::new() };
                this.tell(task, footprint, site, how, text);
            }
        }
    }

    #[cold]
    fn tell(
        &mut self,
        task: TaskId,
        footprint: &[(ObjectId, Access)],
        site: &'static Location<'static>,
        how: How,
        text: String,
    ) {
        let point = if how == How::Wait { None } else { self.point };
        if let Some(recorder) = &mut self.recorder {
            let preempts = how != How::Wait && self.preempting;
            recorder.event(task, text, footprint, site, point, preempts);
        }
        if self.needs.steps && !self.strict {
            let replayed = point.is_some_and(|point| (point as usize) < self.plan.prefix.len());
            let entry = self.task(task);
            let partner = entry.fiber.is_null().then_some(entry.owner);
            let enabled_since = entry.fair.enabled_since;
            let immediate = how == How::Wait;
            let view = View(self);
            let step = Step {
                task,
                footprint,
                point,
                replayed,
                immediate,
                partner,
                enabled_since,
                pending: &view,
            };
            // SAFETY: the strategy outlives the search, and holds no way back to the execution.
            if let Some(cut) = unsafe { (*self.strategy).step(&step) } {
                self.cut = Some(cut);
                self.busy |= busy::UNASKED;
            }
        }
    }

    /// Looks again at the ops that are pending on an object whose state may have changed.
    ///
    /// # Safety
    /// `ex` is the current execution.
    pub(crate) unsafe fn wake(ex: *mut Self, slot: u32) {
        // SAFETY: by contract; nothing here switches. Announced ops of suspended tasks are valid,
        // and they touch models only.
        unsafe {
            let this = &mut *ex;
            if this.is_tearing() {
                return;
            }
            for index in 0..this.created.len() {
                let task = this.created[index];
                if !this.slots[task.index()].contains(&slot) {
                    continue;
                }
                let Some(what) = this.task(task).pending else { continue };
                let enabled = (*what).enabled(task);
                if !this.task(task).immediate {
                    this.set_enabled(task, enabled);
                    this.rearm(task);
                } else if enabled {
                    this.task_mut(task).pending = None;
                    this.slots[task.index()] = [NO_SLOT; 2];
                    this.run_on.push(task);
                    this.busy |= busy::RUN_ON;
                }
            }
        }
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

    // ---- yields -----------------------------------------------------------------------------

    /// A task, or a timer that fired, says that it cannot get on by itself. See [`crate::fair`].
    pub(crate) fn yielded(&mut self, task: TaskId) {
        self.last_yielded = true;
        self.fruitless += 1;
        if self.fruitless >= self.limits.fruitless && self.everyone_moved() {
            self.end(Ending::Livelock { steps: self.n_steps - self.last_change });
        }
        let now = self.n_steps;
        if let Some(before) = self.task_mut(task).fair.yielded.replace(now) {
            let mut waits_for = std::mem::take(&mut self.task_mut(task).fair.waits_for.1);
            waits_for.clear();
            // What the owner of a timer does after it fired counts as the timer's doing.
            let timer = self.task(task).fiber.is_null();
            let owner = if timer { self.task(task).owner } else { task };
            waits_for.extend(self.created.iter().copied().filter(|&other| {
                let entry = self.task(other);
                let starved = entry.enabled && entry.fair.enabled_since <= before;
                let by = entry.fair.disabled.0;
                let pushed = (by == task || by == owner) && entry.fair.disabled.1 > before;
                let live = entry.state == State::Live;
                other != task && live && (starved || pushed) && entry.last_step <= before
            }));
            if !waits_for.is_empty() {
                self.busy |= busy::UNFAIR;
            }
            self.task_mut(task).fair.waits_for = (now, waits_for);
        }
    }

    /// Leaves in `fair_options` those who need not wait for another to move.
    fn keep_fair(&mut self) {
        let mut fair = std::mem::take(&mut self.fair_options);
        fair.clear();
        let may_move = |choice: &Choice| {
            let (since, waits_for) = &self.task(choice.task).fair.waits_for;
            !waits_for.iter().any(|&other| {
                let other = self.task(other);
                other.enabled && other.last_step <= *since
            })
        };
        fair.extend(self.options.iter().copied().filter(may_move));
        self.seen.held_back |= fair.len() < self.options.len();
        assert!(
            !fair.is_empty() || self.options.is_empty(),
            "engine bug: every task waits for another to move"
        );
        self.fair_options = fair;
    }

    /// Whether every task that can move has moved lately, in the second half of the time since
    /// something changed, and none is about to change something. If not, it was only unlucky.
    fn everyone_moved(&self) -> bool {
        let lately = self.last_change.midpoint(self.n_steps);
        self.options.iter().all(|choice| {
            let changes = self.op_of(choice.task).is_some_and(|op| op.access.changes());
            let timer = self.task(choice.task).fiber.is_null();
            self.task(choice.task).last_step > lately && (timer || !changes)
        })
    }

    // ---- timers -----------------------------------------------------------------------------

    /// Gives a pending timed op its timer: one more task, of the environment, with one op.
    fn arm(&mut self, task: TaskId, what: &dyn Announced, timeout: Duration) {
        self.seen.timers = true;
        let known = self.task(task).timer;
        let Some(lane) = known.or_else(|| self.create(task, TaskKind::Environment)) else {
            self.end(Ending::Limit(LimitKind::Tasks));
            return;
        };
        self.task_mut(task).timer = Some(lane);
        let timeout_ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        let deadline_ns = self.clock.model().now_ns.saturating_add(timeout_ns);
        let site = self.task(task).site;
        let entry = self.task_mut(lane);
        entry.owner = task;
        entry.deadline_ns = deadline_ns;
        entry.armed = true;
        entry.fiber = std::ptr::null_mut();
        entry.site = site;
        self.set_enabled(lane, self.settings.timeouts == Timeouts::Any && what.may_expire(task));
    }

    /// Looks again whether the timer of a pending timed op can fire.
    fn rearm(&mut self, task: TaskId) {
        let Some(lane) = self.task(task).timer else { return };
        let Some(what) = self.task(task).pending else { return };
        if self.settings.timeouts == Timeouts::Any && self.task(lane).armed {
            // SAFETY: the op of a suspended task is valid, and touches models only.
            let may_expire = unsafe { (*what).may_expire(task) };
            self.set_enabled(lane, may_expire);
        }
    }

    fn disarm(&mut self, task: TaskId) {
        if let Some(lane) = self.task(task).timer {
            self.set_enabled(lane, false);
            self.task_mut(lane).armed = false;
        }
    }

    /// The timer of an op that runs now could have fired before.
    unsafe fn tell_withdrawn(ex: *mut Self, owner: TaskId, object: ObjectId) {
        // SAFETY: as in `arrive`; nothing here switches.
        unsafe {
            if !(*ex).needs.steps || (*ex).strict {
                return;
            }
            let Some(timer) = (*ex).task(owner).timer else { return };
            let clock = Self::clock_slot(ex);
            let footprint = [(object, Access::Write), (ObjectId(clock), Access::Write)];
            let stuck = Stuck { task: timer, footprint, partner: Some(owner) };
            (*(*ex).strategy).withdrawn(&stuck);
        }
    }

    /// With [`Timeouts::Idle`]: the timer that fires because nothing else can move.
    fn due_timer(&self) -> Option<TaskId> {
        if self.settings.timeouts != Timeouts::Idle || !self.seen.timers {
            return None;
        }
        let due = |&&lane: &&TaskId| {
            let owner = self.task(lane).owner;
            let entry = self.task(owner);
            entry.timer == Some(lane)
                && entry.state == State::Live
                && self.task(lane).armed
                // SAFETY: the op of a suspended task is valid, and touches models only.
                && entry.pending.is_some_and(|what| unsafe { (*what).may_expire(owner) })
        };
        let by_deadline = |&&lane: &&TaskId| (self.task(lane).deadline_ns, self.task(lane).seq);
        self.created.iter().filter(due).min_by_key(by_deadline).copied()
    }

    /// A timer fires: time advances to its deadline, and its owner's op is over.
    unsafe fn fire(ex: *mut Self, lane: TaskId) {
        // SAFETY: as in `ask`; nothing here switches.
        unsafe {
            let clock_slot = Self::clock_slot(ex);
            let this = &mut *ex;
            let owner = this.task(lane).owner;
            let what = this.task(owner).pending.expect("an armed timer has a pending op");
            let object = (*what).footprint(owner)[0].0;
            let shown = (*what).show();
            (*what).expire(owner);
            let clock = this.clock.model_mut();
            clock.now_ns = clock.now_ns.max(this.tasks[lane.index()].deadline_ns);
            this.set_enabled(lane, false);
            this.set_enabled(owner, false);
            this.disarm(owner);
            let entry = this.task_mut(owner);
            entry.timed_out = true;
            entry.pending = None;
            let site = entry.site;
            this.slots[owner.index()] = [NO_SLOT; 2];
            this.run_on.push(owner);
            this.busy |= busy::RUN_ON;
            let change = this.last_change;
            let fruitless = this.fruitless;
            let footprint = [(object, Access::Write), (ObjectId(clock_slot), Access::Write)];
            let show = || format!("timeout of {shown}");
            Self::commit(ex, lane, &footprint, site, How::Step, show);
            // To fire is to yield: a loop of timeouts in which nothing else happens is fruitless.
            (*ex).last_change = change;
            (*ex).fruitless = fruitless;
            (*ex).yielded(lane);
        }
    }

    /// The step at which something other than the clock last changed.
    pub(crate) fn last_change(&self) -> u64 {
        self.last_change
    }

    /// The clock's number, so that its passing is not taken for a change.
    pub(crate) unsafe fn clock_slot(ex: *mut Self) -> u32 {
        // SAFETY: `ex` is the current execution.
        unsafe {
            let slot = (*ex).clock.claim(ex);
            (*ex).clock_slot = slot;
            slot
        }
    }

    /// A task is over: it has no op any more.
    pub(crate) fn forget_pending(&mut self, task: TaskId) {
        self.set_enabled(task, false);
        self.slots[task.index()] = [NO_SLOT; 2];
        self.task_mut(task).pending = None;
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

    /// How a person calls a task.
    pub(crate) fn label(&self, task: TaskId) -> String {
        if let Some(label) = self.tasks.get(task.index()).and_then(|task| task.label.as_ref()) {
            return label.to_string();
        }
        if task == TaskId::ROOT {
            return "main".to_owned();
        }
        let name = self.names.get(task);
        let parent = self.label(name.parent);
        match name.kind {
            TaskKind::Environment => format!("timer of {parent}"),
            _ if name.parent == TaskId::ROOT => format!("thread {}", name.nth + 1),
            _ => format!("{parent}.{}", name.nth + 1),
        }
    }

    /// The ops that have been announced and cannot run now.
    pub(crate) fn stuck(&self) -> Vec<Stuck> {
        let stuck = |&task: &TaskId| {
            let entry = self.task(task);
            let waits = entry.state == State::Live && !entry.enabled && !entry.immediate;
            let what = entry.pending.filter(|_| waits && !entry.fiber.is_null())?;
            // SAFETY: the op of a suspended task is valid, and touches models only.
            Some(Stuck { task, footprint: unsafe { (*what).waits_for(task) }, partner: None })
        };
        self.created.iter().filter_map(stuck).collect()
    }

    /// Those who can move.
    pub(crate) fn options(&self) -> &[Choice] {
        &self.options
    }

    fn op_of(&self, task: TaskId) -> Option<Op> {
        let entry = self.tasks.get(task.index())?;
        if entry.state != State::Live {
            return None;
        }
        if entry.fiber.is_null() {
            let owner = entry.owner;
            let what = self.task(owner).pending?;
            // SAFETY: the op of a suspended task is valid, and touches models only.
            let object = unsafe { (*what).footprint(owner)[0].0 };
            return Some(Op { object, access: Access::Write, site: entry.site });
        }
        // SAFETY: as above.
        let (object, access) = unsafe { (*entry.pending?).footprint(task)[0] };
        Some(Op { object, access, site: entry.site })
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

/// What a strategy may look at while it decides.
struct View(*const Execution);

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("View")
    }
}

impl Pending for View {
    fn stuck(&self) -> Vec<Stuck> {
        // SAFETY: as in `op`.
        unsafe { (*self.0).stuck() }
    }

    fn place(&self, task: TaskId) -> u32 {
        // SAFETY: as in `op`.
        unsafe { (*self.0).task(task).seq }
    }

    fn op(&self, task: TaskId) -> Option<Op> {
        // SAFETY: a view lives only during `decide`, where the execution is only read.
        unsafe { (*self.0).op_of(task) }
    }

    fn blocked(&self) -> Vec<TaskId> {
        // SAFETY: as above.
        let execution = unsafe { &*self.0 };
        let blocked = |&task: &TaskId| {
            let entry = execution.task(task);
            entry.state == State::Live && !entry.enabled && entry.pending.is_some()
        };
        execution.created.iter().copied().filter(blocked).collect()
    }
}
