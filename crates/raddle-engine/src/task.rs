//! One task of an execution: its pending op, its place in the order, what it waits for.

use std::any::Any;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

use raddle_trace::Site;

use crate::announce::Announced;
use crate::context::{Context, Opened};
use crate::execution::Passive;
use crate::fiber::Fiber;
use crate::life::{Life, Parker};

use crate::object::Object;
use crate::op::{Held, TaskId};

/// Of a pending op that touches fewer than two objects.
pub(crate) const NO_SLOT: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not part of this execution.
    Absent,
    Live,
    Exited,
}

/// What a spawned task runs, and where its result goes.
pub(crate) trait Run: Send + Sync {
    /// Runs the closure and keeps its value. May unwind.
    fn run(&self);
    /// Keeps a panic's payload instead.
    fn fail(&self, payload: Box<dyn Any + Send>);
}

#[derive(Debug)]
pub(crate) enum Job {
    /// The test's body. Outlives the execution.
    Body(*const (dyn Fn() + 'static)),
    Spawned(Arc<dyn Run>),
}

impl std::fmt::Debug for dyn Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Run")
    }
}

/// A panic that ended a task.
#[derive(Clone, Debug)]
pub(crate) struct TaskPanic {
    pub(crate) message: String,
    pub(crate) site: Option<Site>,
    /// Somebody has it: a `join` returned it, a scope raised it again.
    pub(crate) taken: bool,
    /// When, to put several in order.
    pub(crate) step: u64,
}

/// A value of a `thread_local!`: its key is the address of the static.
pub(crate) type Local = (usize, Rc<dyn Any>);

#[expect(clippy::struct_excessive_bools, reason = "independent facts about one task")]
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) state: State,
    /// Null for the environment, which has no code.
    pub(crate) fiber: *mut Fiber,
    pub(crate) job: Option<Job>,
    /// What it is about to do. Points into the task's own stack, where it stays valid as long as
    /// the task is suspended in it.
    pub(crate) pending: Option<*const dyn Announced>,
    pub(crate) site: &'static Location<'static>,
    /// From where that op was called, if the strategy asks.
    pub(crate) context: Context,
    /// The scopes it is in, the outermost first.
    pub(crate) scopes: Vec<Opened>,
    /// Whether it is among the options.
    pub(crate) enabled: bool,
    /// The number of steps before a pending op could run that is no scheduling point, or the first
    /// part of one on two objects.
    pub(crate) first_since: Option<u64>,
    /// The pending op is no scheduling point: the task runs on as soon as it is enabled.
    pub(crate) immediate: bool,
    /// Position in the order of creation.
    pub(crate) seq: u32,
    pub(crate) label: Option<Arc<str>>,
    /// Threads and timers spawned so far.
    pub(crate) spawned: [u32; 2],

    /// The locks it holds, in the order in which it took them.
    pub(crate) held: Vec<Held>,
    /// Who spawned it, after which step.
    pub(crate) born: (TaskId, u64),
    /// Who waited for its end first, in which step.
    pub(crate) joined: Option<(TaskId, u64)>,

    /// The step at which it last moved; 0: never.
    pub(crate) last_step: u64,
    pub(crate) fair: crate::fair::Fair,

    /// The timeout of its pending op fired.
    pub(crate) timed_out: bool,
    /// Its timer, once it has had one.
    pub(crate) timer: Option<TaskId>,
    /// Of a timer: whose it is.
    pub(crate) owner: TaskId,
    /// Of a timer: when it is due.
    pub(crate) deadline_ns: u64,
    /// Of a timer: its owner's pending op is the one it was set for.
    pub(crate) armed: bool,

    /// It is being unwound because the execution is over.
    pub(crate) cancelled: bool,
    /// How often user code caught that.
    pub(crate) swallowed: u32,
    /// Its code is done; destructors of its thread-locals run.
    pub(crate) finishing: bool,
    pub(crate) panic: Option<TaskPanic>,
    pub(crate) locals: Vec<Local>,
    /// Keys whose destructors have run.
    pub(crate) locals_gone: Vec<usize>,
    /// Draws of `rng` so far.
    pub(crate) drawn: u64,
    /// Fruitless readings of the clock in a row, and the change count at the last one.
    pub(crate) clock_reads: (u32, u64),

    /// The number of its last event, nobody's choice or not; 0: none.
    pub(crate) last_event: u64,
    /// What its running step touches besides, and what it came of.
    pub(crate) also: u64,
    pub(crate) sent_by: Option<u64>,
    /// Of a task whose steps others run.
    pub(crate) passive: Option<Passive>,

    pub(crate) life: Object<Life>,
    pub(crate) parker: Object<Parker>,
}

impl Task {
    pub(crate) fn absent() -> Self {
        Self {
            state: State::Absent,
            fiber: std::ptr::null_mut(),
            job: None,
            pending: None,
            site: Location::caller(),
            context: Context::NONE,
            scopes: Vec::new(),
            enabled: false,
            first_since: None,
            immediate: false,
            seq: 0,
            label: None,
            spawned: [0, 0],
            held: Vec::new(),
            born: (TaskId::ROOT, 0),
            joined: None,
            last_step: 0,
            fair: crate::fair::Fair::default(),
            timed_out: false,
            timer: None,
            owner: TaskId::ROOT,
            deadline_ns: 0,
            armed: false,
            cancelled: false,
            swallowed: 0,
            finishing: false,
            panic: None,
            locals: Vec::new(),
            locals_gone: Vec::new(),
            drawn: 0,
            clock_reads: (0, 0),
            last_event: 0,
            also: 0,
            sent_by: None,
            passive: None,
            life: Object::new(Life::default()),
            parker: Object::new(Parker::default()),
        }
    }

    /// Makes it a task of a new execution. Keeps its allocations.
    pub(crate) fn begin(&mut self, seq: u32, created: &'static Location<'static>) {
        self.state = State::Live;
        self.job = None;
        self.pending = None;
        self.enabled = false;
        self.first_since = None;
        self.immediate = false;
        self.seq = seq;
        self.label = None;
        self.spawned = [0, 0];
        self.held.clear();
        self.joined = None;
        self.last_step = 0;
        self.fair.begin();
        self.timed_out = false;
        self.timer = None;
        self.armed = false;
        self.cancelled = false;
        self.swallowed = 0;
        self.finishing = false;
        self.panic = None;
        self.locals_gone.clear();
        self.drawn = 0;
        self.clock_reads = (0, 0);
        self.last_event = 0;
        self.also = 0;
        self.sent_by = None;
        self.passive = None;
        self.life.renew(created);
        self.parker.renew(created);
        self.site = created;
        self.context = Context::NONE;
        self.scopes.clear();
    }
}
