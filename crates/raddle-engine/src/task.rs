//! One task of an execution, in parts: where it came from, what it is about to do, what it did, how it ends.

use std::any::Any;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

use crate::announce::Announced;
use crate::context::{Context, Opened};
use crate::fair::Fair;
use crate::fiber::Fiber;
use crate::join_park::{JoinPark, Parker};
use crate::object::Object;
use crate::op::{Access, Held, ObjectId, TaskId};
use crate::packet::ToRun;
use crate::panics::{AllRaised, Raised};
use crate::passive::Passive;
use crate::renewed::Renewed;
use crate::rounds::Rounds;
use crate::strategy::Decided;

/// Of a pending op that touches fewer than two objects.
pub(crate) const NO_SLOT: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not part of this execution.
    Absent,
    Live,
    Exited,
}

#[derive(Debug)]
pub(crate) enum Job {
    /// The test's body. Outlives the execution.
    Body(*const (dyn Fn() + 'static)),
    Spawned(ToRun),
}

/// A panic that ended a task.
#[derive(Clone, Debug)]
pub(crate) struct TaskPanic {
    pub(crate) raised: Raised,
    /// The task that has it, from a `join` or as the one with the scope.
    pub(crate) taken: Option<TaskId>,
}

/// A value of a `thread_local!`: its key is the address of the static.
pub(crate) type Local = (usize, Rc<dyn Any>);

/// Where a task came from, and who has seen it end.
#[derive(Debug, Default)]
pub(crate) struct Lineage {
    /// Position in the order of creation.
    pub(crate) seq: u32,
    pub(crate) label: Option<Arc<str>>,
    /// Threads and timers spawned so far.
    pub(crate) spawned: [u32; 2],
    /// Who spawned it, after which step.
    pub(crate) born: (TaskId, u64),
    /// Who waited for its end first, in which step.
    pub(crate) joined: Option<(TaskId, u64)>,
}

impl Lineage {
    /// Field by field: this is done for every task of every execution.
    #[inline]
    fn begin(&mut self, seq: u32, born: (TaskId, u64)) {
        self.seq = seq;
        if self.label.is_some() {
            self.label = None;
        }
        self.spawned = [0, 0];
        self.born = born;
        self.joined = None;
    }
}

/// What a task is about to do.
#[derive(Debug)]
pub(crate) struct PendingOp {
    /// Points into the task's own stack, where it stays valid as long as the task is suspended in it.
    pub(crate) announced: Option<*const dyn Announced>,
    pub(crate) site: &'static Location<'static>,
    /// From where it was called, if the strategy asks.
    pub(crate) context: Context,
    /// It is no scheduling point: the task runs on as soon as it is enabled.
    pub(crate) immediate: bool,
    /// The number of steps before an op could run that is no scheduling point, or the first
    /// part of one on two objects.
    pub(crate) first_since: Option<u64>,
    /// The lock in whose queue it is, and how often that had flipped when it came.
    pub(crate) queue: (u32, u64),
    /// If it is in no queue: the objects after whose changes it is looked at again.
    pub(crate) slots: [u32; 2],
}

impl PendingOp {
    fn none(site: &'static Location<'static>) -> Self {
        let (context, queue, slots) = (Context::NONE, (NO_SLOT, 0), [NO_SLOT; 2]);
        Self { announced: None, site, context, immediate: false, first_since: None, queue, slots }
    }
}

/// What a task did last. Steps are by their number in the execution, from 1; 0: none.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// Its last step that was a move: not a wait that ran on.
    pub(crate) last_move: u64,
    /// Its last step of any kind.
    pub(crate) last: u64,
    /// The resources that its running step shares with others, by their bits.
    pub(crate) shared_resources: u128,
    /// The step that sent the message which its running step handles.
    pub(crate) sent_by: Option<u64>,
    /// What the values decided in its running step say of that.
    pub(crate) decided: Decided,
}

/// Timeouts: of a task whose op has one, and of the timer, which is a task too.
#[derive(Debug, Default)]
pub(crate) struct Timing {
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
    /// Of a timer: it may fire while others can move.
    pub(crate) by_itself: bool,
    /// Of a timer that is set: as [`Timer::disabled_since`](crate::strategy::Timer::disabled_since).
    pub(crate) disabled_since: Option<u64>,
    /// Of a timer that fires: as [`Step::ended`](crate::strategy::Step::ended).
    pub(crate) ended: Option<[(ObjectId, Access); 2]>,
    /// Fruitless readings of the clock in a row, and the change count at the last one.
    pub(crate) clock_reads: (u32, u64),
}

/// How a task comes to its end.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Unwinding {
    /// It is being unwound because the execution is over.
    pub(crate) cancelled: bool,
    /// How often user code caught that.
    pub(crate) swallowed: u32,
    /// Its code is done; destructors of its thread-locals run.
    pub(crate) finishing: bool,
    /// A scope has caught its panic, and raises it again when its threads have ended.
    pub(crate) raises_again: bool,
    /// It waits, or spins, in a destructor that its panic runs.
    pub(crate) held_up: bool,
    /// The panics that it has caught, or unwinds from.
    pub(crate) raised: AllRaised,
    /// The one that ended it.
    pub(crate) panic: Option<TaskPanic>,
}

impl Unwinding {
    /// The panic from which the task still unwinds, and by which it will end unless it is caught.
    pub(crate) fn from(&self) -> Option<&Raised> {
        self.raised.last().filter(|_| self.held_up || self.raises_again)
    }

    /// The panic that ended the task or from which it unwinds, and the task that has taken it.
    pub(crate) fn open(&self) -> Option<(&Raised, Option<TaskId>)> {
        let ended = self.panic.as_ref().map(|panic| (&panic.raised, panic.taken));
        ended.or_else(|| self.from().map(|raised| (raised, None)))
    }
}

/// What belongs to a task alone.
#[derive(Debug, Default)]
pub(crate) struct Locals {
    pub(crate) values: Vec<Local>,
    /// Keys whose destructors have run.
    pub(crate) gone: Vec<usize>,
    /// Values drawn from the search's seed so far.
    pub(crate) draws: u64,
}

impl Locals {
    fn begin(&mut self) {
        self.gone.clear();
        self.draws = 0;
    }
}

#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) state: State,
    /// Null for the environment, which has no code.
    pub(crate) fiber: *mut Fiber,
    /// The stack pointer below which it overflows at its next op: see [`Fiber::floor`].
    pub(crate) floor: usize,
    pub(crate) job: Option<Job>,
    /// Of a task whose steps others run.
    pub(crate) passive: Option<Passive>,
    pub(crate) fair: Fair,
    pub(crate) rounds: Renewed<Rounds>,
    pub(crate) op: PendingOp,
    pub(crate) lineage: Lineage,
    pub(crate) steps: Steps,
    pub(crate) timing: Renewed<Timing>,
    pub(crate) unwinding: Renewed<Unwinding>,
    pub(crate) locals: Renewed<Locals>,
    /// The scopes it is in, the outermost first.
    pub(crate) scopes: Vec<Opened>,
    /// The locks it holds, in the order in which it took them.
    pub(crate) held: Vec<Held>,
    /// How many destructors it is in that the last owner runs of a value whose count is under control.
    pub(crate) counted_drops: u32,
    pub(crate) life: Object<JoinPark>,
    pub(crate) parker: Object<Parker>,
}

impl Task {
    pub(crate) fn absent() -> Self {
        let site = Location::caller();
        Self {
            state: State::Absent,
            fiber: std::ptr::null_mut(),
            floor: 0,
            job: None,
            passive: None,
            fair: Fair::default(),
            rounds: Renewed::default(),
            op: PendingOp::none(site),
            lineage: Lineage::default(),
            steps: Steps::default(),
            timing: Renewed::default(),
            unwinding: Renewed::default(),
            locals: Renewed::default(),
            scopes: Vec::new(),
            held: Vec::new(),
            counted_drops: 0,
            life: Object::new(JoinPark::default()),
            parker: Object::new(Parker::default()),
        }
    }

    /// Makes it a task of a new execution. Keeps its allocations.
    #[inline]
    pub(crate) fn begin(
        &mut self,
        id: TaskId,
        seq: u32,
        born: (TaskId, u64),
        site: &'static Location<'static>,
    ) {
        self.state = State::Live;
        self.counted_drops = 0;
        // It may have had a stack in an execution before, and have none in this one.
        self.floor = 0;
        debug_assert!(self.job.is_none(), "a job is taken as soon as it is there");
        self.passive = None;
        self.fair.begin();
        self.rounds.renew(Rounds::begin);
        self.op = PendingOp::none(site);
        self.lineage.begin(seq, born);
        self.steps = Steps::default();
        self.timing.renew(|timing| *timing = Timing::default());
        self.unwinding.renew(|unwinding| *unwinding = Unwinding::default());
        self.locals.renew(Locals::begin);
        self.scopes.clear();
        self.held.clear();
        self.life.renew(site);
        self.life.get_mut().task = id;
        self.parker.renew(site);
    }

    /// Whether it is a timer: it has neither code of its own nor work that others do.
    pub(crate) fn is_timer(&self) -> bool {
        self.fiber.is_null() && self.passive.is_none()
    }
}
