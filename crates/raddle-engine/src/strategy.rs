//! The boundary between the engine and the search.
//!
//! Every source of nondeterminism reaches a strategy as the same question: "pick one of these".
//! So a strategy that enumerates all answers is exhaustive, and a list of answers is a replay.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use raddle_trace::unit::{Sibling, Upwards};
use raddle_trace::{Covered, Gaps, Note, Outcome, Progress};

use crate::context::Context;
use crate::op::{Access, ObjectId, Op, TaskId};
use crate::receive::{ActorNews, Effects, Receive, ReceiveName};
use crate::rng::Rng;
use crate::states::StateSpace;

/// One option of a [`Options::Schedule`] point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The task that would move.
    pub task: TaskId,
}

/// The options of a decision point.
#[derive(Clone, Copy, Debug)]
pub enum Options<'a> {
    /// One of these takes the next step. In order of creation, which is the same in every
    /// execution that shares the decisions so far. At least two.
    Schedule(&'a [Choice]),
    /// The running step of this task needs a value below `of`, which is at least two.
    Value {
        /// Whose step it is.
        task: TaskId,
        /// The number of options.
        of: u32,
        /// Whether it bears on what the step does, which the strategy hears of next; else it is asked
        /// for by the code after the step.
        during: bool,
    },
}

/// What the tasks are about to do, at a decision point.
pub trait Pending: fmt::Debug {
    /// The announced op of a task that is not finished.
    fn op(&self, task: TaskId) -> Option<Op>;
    /// The object of a thread's announced op, or [`ObjectId::NONE`] if it depends on other things than an object: less
    /// to ask than [`op`](Self::op). None of a task that has no stack, such as a timer or a lane of a mailbox: what
    /// those have announced may become another op without a step of theirs.
    fn thread_object(&self, task: TaskId) -> Option<ObjectId> {
        self.op(task).map(|op| op.access.object_alone(op.object))
    }
    /// Whether a task has announced to yield: less to ask than [`op`](Self::op).
    fn yields(&self, task: TaskId) -> bool {
        self.op(task).is_some_and(|op| op.access == Access::Yield)
    }
    /// From where a task's announced op was called, if [`Needs::contexts`].
    fn context(&self, task: TaskId) -> Context {
        let _ = task;
        Context::NONE
    }
    /// What an object is called, if [`Needs::labels`].
    fn label(&self, object: ObjectId) -> Option<Label> {
        let _ = object;
        None
    }
    /// The name that the test gave a task; empty if it gave none.
    fn name(&self, task: TaskId) -> String {
        let _ = task;
        String::new()
    }
    /// What a task has announced, as a trace would have it, but for its object and its result. None of a
    /// passive task: what it does is learned by running it.
    fn says(&self, task: TaskId) -> Option<String> {
        let _ = task;
        None
    }
    /// The receive that a step of this task would be, if [`Needs::messages`]: what it would deliver, its sender
    /// and its receiver. None if it would be none, and while a value is decided within a step.
    fn delivery(&self, task: TaskId) -> Option<Receive> {
        let _ = task;
        None
    }
    /// A hash of which messages are older than which others that wait for the same actor, if [`Needs::messages`]. The
    /// partial order of the steps does not decide that where the order of sending is not promised to the receiver. 0
    /// while a value is decided within a step.
    fn ages(&self) -> u64 {
        0
    }
    /// The receive that the message will be which a step of this task would put into a channel, if [`Needs::messages`].
    /// None if it would send nothing; of an actor, whose sends are parts of its receives.
    fn sending(&self, task: TaskId) -> Option<Receive> {
        let _ = task;
        None
    }
    /// See [`Step::sent`].
    fn sent(&self, task: TaskId) -> Option<Receive> {
        let _ = task;
        None
    }
    /// See [`Step::effects`].
    fn effects(&self, task: TaskId) -> Option<Effects> {
        let _ = task;
        None
    }
    /// See [`Step::receive_name`].
    fn receive_name(&self, task: TaskId) -> ReceiveName {
        let _ = task;
        ReceiveName::default()
    }
    /// The tasks that have announced an op which cannot run now.
    fn blocked(&self) -> Vec<TaskId>;
    /// The ops that have been announced and cannot run now.
    fn stuck(&self) -> Vec<Stuck>;
    /// A task's place in the order of creation, finished or not. The same in every execution that
    /// shares the decisions so far, in every process.
    fn place(&self, task: TaskId) -> u32;
    /// Whether what can follow may depend on more than the partial order of the steps so far: a
    /// task yielded, a timeout fired, or the clock was read. Before that, executions whose steps
    /// have the same partial order, and whose tasks were created in the same order, can go on in
    /// the same ways.
    fn strayed(&self) -> bool {
        false
    }
    /// Whether nothing can move by itself: the options of a schedule are then timers that are due at the same time and
    /// fire only in such a state ([`Timeouts::Idle`](raddle_trace::Timeouts::Idle)).
    fn idle(&self) -> bool {
        false
    }
    /// How a person calls an object that is no model's, such as an actor, if [`Needs::labels`]; else empty.
    fn object_name(&self, object: ObjectId) -> String {
        let _ = object;
        String::new()
    }
    /// What a task is a lane of: of itself, or of an actor's mailbox.
    fn lane(&self, task: TaskId) -> Lane {
        let _ = task;
        Lane::Thread
    }
    /// What the program has asked of the explorer by
    /// [`change_order`](crate::explorer::change_order) since this was asked before.
    fn order(&self) -> Option<Arc<[String]>> {
        None
    }
}

/// What the steps of a task are steps of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lane {
    /// A thread: the task itself.
    #[default]
    Thread,
    /// The timeouts of a thread's ops.
    Timer,
    /// The actor with this object: the task is one lane of its mailbox. No object if it is of no actor, as a
    /// fault.
    Mailbox(ObjectId),
}

/// A place where an execution can continue in more than one way.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    /// Its position in the schedule: only points with two or more options count.
    pub index: u32,
    /// What there is to pick from.
    pub options: Options<'a>,
    /// The task that moved last, if it could move again and did not just yield: to pick another
    /// one is a preemption.
    pub running: Option<TaskId>,
    /// The task that moved last.
    pub last: TaskId,
    /// Objects announced so far: those with a smaller number mean the same in every execution
    /// that shares the decisions so far.
    pub objects: u32,
    /// The pending ops, for strategies that look ahead.
    pub pending: &'a dyn Pending,
}

impl Point<'_> {
    /// The number of options: at least two.
    #[inline]
    #[must_use]
    pub fn arity(&self) -> u32 {
        match self.options {
            Options::Schedule(choices) => choices.len() as u32,
            Options::Value { of, .. } => of,
        }
    }

    /// The index of the option that moves `task`, if there is one.
    #[inline]
    #[must_use]
    pub fn option_of(&self, task: TaskId) -> Option<u32> {
        let Options::Schedule(choices) = self.options else { return None };
        choices.iter().position(|choice| choice.task == task).map(|index| index as u32)
    }

    /// The index of the option of [`running`](Self::running).
    #[inline]
    #[must_use]
    pub fn running_option(&self) -> Option<u32> {
        self.option_of(self.running?)
    }
}

/// Why a strategy does not want to see the rest of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cut {
    /// All that could follow is covered from elsewhere.
    Redundant,
    /// What follows is out of the bound.
    OutOfBound,
}

/// The answer at a decision point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The option with this index, below [`Point::arity`].
    Take(u32),
    /// The engine runs the execution to its end by a fair order and asks no more. A failure in
    /// that part is real, and reported.
    Cut(Cut),
}

/// A set of tasks. Of those from the 64th on it has all or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Tasks(u64);

impl Tasks {
    /// All tasks.
    pub const ALL: Self = Self(u64::MAX);

    fn bit(task: TaskId) -> u64 {
        1 << task.index().min(63)
    }

    /// Adds one.
    pub fn insert(&mut self, task: TaskId) {
        self.0 |= Self::bit(task);
    }

    /// Whether it is one of them.
    #[must_use]
    pub fn contains(self, task: TaskId) -> bool {
        self.0 & Self::bit(task) != 0
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What a step watches: objects of which one had to change before it could come. See `rounds.rs`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Watch {
    /// The objects, each as a bit, by its number modulo 64. So two may share one, which makes steps dependent that
    /// are not.
    pub objects: u64,
    /// One more than the largest number of them.
    pub end: u32,
    /// It looked at them in the so many steps of its task before this one; 0: it watches nothing.
    pub steps: u32,
}

impl Watch {
    /// Adds an object, if it is one.
    pub fn add(&mut self, object: ObjectId) {
        if object != ObjectId::NONE {
            self.objects |= Self::bit(object);
            self.end = self.end.max(object.0 + 1);
        }
    }

    /// Whether an object is one of them, or shares its bit with one.
    #[must_use]
    pub fn contains(&self, object: ObjectId) -> bool {
        object != ObjectId::NONE && self.objects & Self::bit(object) != 0
    }

    fn bit(object: ObjectId) -> u64 {
        1 << (object.0 % 64)
    }
}

/// What an object is called: the same in every execution, whatever its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// The name of its type, such as `Mutex`.
    pub kind: &'static str,
    /// Where it was made.
    pub created: &'static Location<'static>,
    /// The name that the program gave it.
    pub name: Option<&'static str>,
    /// Which of its ops wait.
    pub waits: Waits,
}

/// Which ops on an object wait, as far as that can be told from their accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waits {
    /// None: it is a word, a count or a clock.
    Never,
    /// It is a lock that one task has at a time: an op that acquires it waits while it is taken, others do not.
    Lock,
    /// That depends on its state in ways that accesses do not show.
    #[default]
    Unknown,
}

/// What the values that were decided in a step say of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Decided {
    /// With other values it might have touched other things besides: see [`Step::shared_resources`].
    pub touches_others: bool,
    /// One of them was taken from a budget that steps share: so many steps may have it, whichever they are. What such
    /// a step touches is not the budget, since where one may have it and another may not is no order of the two. But
    /// both can have it only if enough is left.
    pub spent: bool,
    /// In its system messages may be lost or handled twice, or actors crash.
    pub has_faults: bool,
}

/// One executed step.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Step<'a> {
    /// Who moved.
    pub task: TaskId,
    /// What it touched, the first entry being the op it had announced.
    pub footprint: &'a [(ObjectId, Access)],
    /// Where it stands in the source.
    pub site: &'static Location<'static>,
    /// From where it was called, if [`Needs::contexts`].
    pub context: Context,
    /// What it touched besides, each thing a bit: any two steps that touch one depend on each other.
    pub shared_resources: u128,
    /// Whether what it touched besides was learned by running it: in another state it may be something
    /// else.
    pub learned: bool,
    /// What the values decided in it say of it.
    pub decided: Decided,
    /// What it watches: objects that its task had looked at in vain, of which one had to change first.
    pub watch: Watch,
    /// No task could move: it is a timer's that fires only then, or its task would have waited for others to change
    /// something. It depends on every step before it, and could not have come before any.
    pub last_resort: bool,
    /// The step without which it could not have been, by its number, from 1: the one that sent the
    /// message which this one handles.
    pub sent_by: Option<u64>,
    /// The decision that led here; none where there was one option.
    pub point: Option<u32>,
    /// Whether the decision came from the plan.
    pub replayed: bool,
    /// It was no scheduling point: it ran as soon as it was enabled.
    pub immediate: bool,
    /// Of a timer's step: whose timer it is. The step belongs to the lane of that task too.
    pub partner: Option<TaskId>,
    /// The number of steps before the op could run, without a break since; of an op on two objects,
    /// before the first part could.
    pub enabled_since: u64,
    /// The op had a timeout, which will not fire now.
    pub timer: Option<Timer>,
    /// Of a timer's step: what its owner's op would have touched, if that could have run instead (its first part, of
    /// an op on two objects).
    pub ended: Option<[(ObjectId, Access); 2]>,
    /// It looked whether a task is finished, and that one waits for these, with whose steps it will
    /// run on.
    pub waited_for: Tasks,
    /// The pending ops. Whether they can run is as before the step.
    pub pending: &'a dyn Pending,
}

impl Step<'_> {
    /// What it received and what it did, if it was a receive and [`Needs::messages`]. None of a step that panicked
    /// before it had received anything.
    #[must_use]
    pub fn effects(&self) -> Option<Effects> {
        self.pending.effects(self.task)
    }

    /// The receive that the message will be which it put into a channel of threads, if it did and [`Needs::messages`].
    #[must_use]
    pub fn sent(&self) -> Option<Receive> {
        self.pending.sent(self.task)
    }

    /// How a person calls the receive that it was, if it was one and [`Needs::messages`].
    #[must_use]
    pub fn receive_name(&self) -> ReceiveName {
        self.pending.receive_name(self.task)
    }

    /// The ops that could not run when it did, as [`Pending::stuck`]. A timer's step has ended the op of its owner, which
    /// is among them if it waited for its second part only.
    #[must_use]
    pub fn stuck(&self) -> Vec<Stuck> {
        let ended = self.partner.zip(self.ended).map(|(task, footprint)| {
            let Self { site, context, .. } = *self;
            Stuck { task, footprint, site, context, enabled_since: None, timer: None }
        });
        self.pending.stuck().into_iter().chain(ended).collect()
    }
}

/// What happens in an execution, in the order in which it happens.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A step was executed: planned, forced or decided.
    Step(Step<'a>),
    /// A value was decided, planned or asked for.
    Value {
        /// Whose step, or whose code after a step, asked for it.
        task: TaskId,
        /// What was decided.
        taken: Taken,
        /// Whether it is part of the step whose event comes next; else of the code after one.
        during: bool,
    },
    /// A value that other executions ask for in this step is known here, because nothing is left of a budget: it is 0.
    /// Told so that the step is the same as where 0 was decided.
    Unasked {
        /// Whose step, whose event comes next.
        task: TaskId,
    },
    /// A task was created, or a task's first timer.
    Spawn {
        /// By which task.
        parent: TaskId,
        /// The new task.
        child: TaskId,
    },
    /// The plan has answered a point between tasks, if [`Needs::on_host`]. Observers are not told.
    Passed {
        /// The point.
        point: &'a Point<'a>,
        /// The option that the plan has.
        option: u32,
    },
    /// An actor was created, or the test sent it something, if [`Needs::on_host`] and [`Needs::messages`]. Observers are
    /// not told.
    Actor(ActorNews),
}

/// What a strategy can say of its answers before it is asked.
#[derive(Debug)]
pub enum Shortcut<'a> {
    /// It answers every point with [`Rng::below`] of the number of options and asks nothing else of the point. The
    /// engine then draws itself, from a copy that it gives back before [`Strategy::end`], and need not call
    /// [`Strategy::decide`].
    Draws(&'a mut Rng),
    /// It often takes the same option several times in a row.
    Repeats(&'a mut dyn Repeating),
}

/// A strategy that knows for how long its last answer holds.
pub trait Repeating: fmt::Debug {
    /// At how many of the points between tasks that come next it would take the option that it took last, as long as the
    /// options stay the same and the task that was taken does not yield. The engine takes it there without asking, and
    /// tells how often it did ([`repeated`](Self::repeated)) before it asks again and before [`Strategy::end`].
    fn repeats(&self) -> u32;

    /// The option that was taken last has been taken at so many points more.
    fn repeated(&mut self, times: u32);
}

/// An op that has been announced and cannot run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Whose op it is.
    pub task: TaskId,
    /// What it would have touched; unused entries name no object.
    pub footprint: [(ObjectId, Access); 2],
    /// As [`Step::site`].
    pub site: &'static Location<'static>,
    /// As [`Step::context`].
    pub context: Context,
    /// As [`Step::enabled_since`]; none if it could not run, or its first part could not.
    pub enabled_since: Option<u64>,
    /// The op has a timeout, which cannot fire any more.
    pub timer: Option<Timer>,
}

/// The timer of an op with a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timer {
    /// The task of the environment whose step it would be.
    pub task: TaskId,
    /// What it would touch, of which the first is the op's own object.
    pub footprint: [(ObjectId, Access); 2],
    /// The number of steps after which it could not fire any more, because the last of them let the op go on;
    /// none if it could fire until the op ran.
    pub disabled_since: Option<u64>,
}

/// A decision that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The option, as an index.
    pub option: u32,
    /// The number of options.
    pub of: u32,
}

/// What the engine must do beyond asking. Each costs, so ask for the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that costs")]
pub struct Needs {
    /// [`Strategy::step`] is called with every [`Event`].
    pub steps: bool,
    /// Of [`steps`](Self::steps) those need not be told which [`Strategy::decide`] has chosen, if they are of tasks with a
    /// stack ([`Pending::thread_object`]): that they come next is known. They are told all the same where an observer
    /// listens too; [`Step::point`] tells them from others.
    pub skip_decided: bool,
    /// The strategy plans executions that repeat a part of the one before. The engine then notes
    /// enough of each to see whether the repeated part is the same.
    pub plans: bool,
    /// So many of the innermost calls that led to each op are captured as its [`Context`]; 0: none.
    pub contexts: u8,
    /// What objects and passive tasks are called is kept, for [`Pending::label`] and [`Pending::name`].
    pub labels: bool,
    /// At points between tasks [`Strategy::decide`] is called on the host's stack, where user code may run, and
    /// those that the plan answers are told ([`Event::Passed`]). Each op then switches to the host and back.
    pub on_host: bool,
    /// Messages have identities: [`Pending::delivery`], [`Pending::sending`], [`Step::effects`] and [`Step::sent`] answer.
    pub messages: bool,
}

impl Default for Needs {
    fn default() -> Self {
        Self {
            steps: false,
            skip_decided: false,
            plans: true,
            contexts: 0,
            labels: false,
            on_host: false,
            messages: false,
        }
    }
}

/// How the next execution begins, and what the strategy says of it.
///
/// Holds the last execution's decisions when [`Strategy::begin`] is called, so that a depth-first
/// search only truncates it and changes its last entry; none of them without [`Needs::plans`]. The other fields are as in
/// `Default` then.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Options, as indexes. Taken without asking.
    pub prefix: Vec<u32>,
    /// The strategy is not notified of so many steps at the beginning, nor of the values and tasks before
    /// and within them: they are those of the execution before.
    pub steps_to_skip: u64,
    /// Whether this execution, and all after it, are drawn with the same chances, whatever came before.
    /// Only then can what has been seen say how likely something new is.
    pub memoryless: bool,
}

impl Plan {
    /// Prepares for [`Strategy::begin`] after an execution with these decisions.
    pub fn renew(&mut self, taken: impl IntoIterator<Item = Taken>) {
        self.prefix.clear();
        self.prefix.extend(taken.into_iter().map(|taken| taken.option));
        (self.steps_to_skip, self.memoryless) = (0, false);
    }

    /// The same for a strategy that has no use for what was decided before.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.prefix.clear();
        (self.steps_to_skip, self.memoryless) = (0, false);
    }
}

/// A finished execution, as a strategy sees it.
#[derive(Debug)]
pub struct Finished<'a> {
    /// How it ended.
    pub outcome: &'a Outcome,
    /// The decisions, planned and asked for.
    pub decisions: &'a [Taken],
    /// The number of steps.
    pub steps: u64,
    /// The number of tasks.
    pub tasks: u64,
    /// Ops that could not run at the end. Only if [`Needs::steps`].
    pub stuck: &'a [Stuck],
    /// Whether the strategy cut it.
    pub cut: Option<Cut>,
    /// Whether in this or an earlier execution a task yielded, or went on while nothing had changed for long.
    pub yielded: bool,
    /// What happened in this or an earlier execution that no reduction sees through.
    pub gaps: Gaps,
}

/// A part of a search for another worker: the decisions that lead to it.
///
/// Option indexes follow the order of creation, so they mean the same in every process that runs
/// the same binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPart {
    /// Every execution of the part begins so.
    pub prefix: Vec<Taken>,
    /// What the part's strategy needs to go on from there.
    pub state: Checkpoint,
    /// What the prefix costs under the bound of the search; 0 if there is none.
    pub spent: u32,
}

/// A strategy's state, from which the registry entry that made it can go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint(pub Vec<u8>);

/// What a strategy cannot do: fits after "this strategy cannot".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported(pub &'static str);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this strategy cannot {}", self.0)
    }
}

impl std::error::Error for Unsupported {}

/// What a strategy has to say besides what it covered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    /// What the user should know of how the search was asked for, when it has ended.
    pub notes: Vec<Note>,
    /// Why the strategy ended the search though something is left: a sentence, with what to do.
    pub unfinished: Option<String>,
    /// That is so because something that the search was given is wrong, such as an explorer of the user's: then what was
    /// run says nothing of the test, and the search is an error.
    pub mistaken: bool,
}

/// Decides which executions are explored, and in what order.
///
/// For each execution the engine calls [`begin`](Self::begin) once, [`decide`](Self::decide) at
/// every point with more than one option that the plan does not answer, then [`end`](Self::end)
/// once. A strategy holds no budget and does no input or output: the engine stops the search.
///
/// Answers must depend only on the strategy's own state and on the arguments, or a recorded
/// failure cannot be replayed. `decide` and `step` run on a task's small stack: no recursion, no
/// user code; but for [`Needs::on_host`].
///
/// What only listens to a search is no strategy but an [`Observer`](crate::observer::Observer), and needs
/// no strategy to wrap.
pub trait Strategy: Send {
    /// What the engine must do for this strategy. Asked once, before the first execution.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Starts an execution. `false` ends the search: the space is covered, unless
    /// [`Remarks::unfinished`] says otherwise.
    ///
    /// `plan` holds the decisions of this strategy's last execution, those after a cut included;
    /// at the first call it is empty.
    fn begin(&mut self, plan: &mut Plan) -> bool;

    /// Picks an option at a point that the plan does not answer.
    fn decide(&mut self, point: &Point<'_>) -> Answer;

    /// Is notified of what happens, if [`Needs::steps`], but for [`Plan::steps_to_skip`]. Only the answer
    /// to a [step](Event::Step) can cut the execution; what is answered to others is not looked at.
    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        let _ = event;
        None
    }

    /// The execution ended.
    fn end(&mut self, execution: &Finished<'_>) {
        let _ = execution;
    }

    /// What has been covered so far.
    fn covered(&self) -> Covered;

    /// What else there is to say.
    fn remarks(&self) -> Remarks {
        Remarks::default()
    }

    /// What it can say of its answers before it is asked. Not to be forwarded by a strategy that decides something itself.
    fn shortcut(&mut self) -> Option<Shortcut<'_>> {
        None
    }

    /// Itself, if it can be saved and restored.
    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        None
    }

    /// Itself, if parts of it can be given to others.
    fn divisible(&mut self) -> Option<&mut dyn Divisible> {
        None
    }

    /// Itself, if it can say how far it is.
    fn estimating(&self) -> Option<&dyn Estimating> {
        None
    }

    /// Itself, if it searches states where a frontend offers them.
    fn stateful(&mut self) -> Option<&mut dyn Stateful> {
        None
    }
}

/// A strategy that searches states where a frontend offers them: see [`states`](crate::states).
pub trait Stateful {
    /// In the execution that runs, what can be searched begins, after so many decisions. On a task's small stack.
    fn offered(&mut self, space: Arc<dyn StateSpace>, decisions: usize);

    /// It is over, after so many decisions. On a task's small stack.
    fn over(&mut self, decisions: usize);

    /// Between two executions: does some of its work besides them. `true` if more is left before the next
    /// execution can begin; the caller may stop it then.
    fn work(&mut self) -> bool;

    /// Before the first execution: it will be [saved](Resumable::save), so it is to keep what that takes.
    fn expect_saving(&mut self);

    /// Before the first execution: each runs in a process of its own, so that nothing can be offered.
    fn executions_are_apart(&mut self);

    /// Whether it was restored and has to be offered again what can be searched, in an execution that does not count.
    fn wants_offer(&self) -> bool;

    /// That execution has ended, after so many decisions.
    fn offered_again(&mut self, decisions: usize);
}

/// What can be saved between two executions, and go on in another process.
pub trait Resumable {
    /// The state between two executions. Tasks are in it by their numbers, which mean the same in another
    /// process if its engine begins with what this one [carries](crate::observer::Paused::carried).
    ///
    /// # Errors
    /// If this one cannot be saved, or not while an execution runs.
    fn save(&mut self) -> Result<Checkpoint, Unsupported>;

    /// Goes on from a state that [`save`](Self::save) gave, or takes over a part that
    /// [`Divisible::split`] gave.
    ///
    /// # Errors
    /// If the state is not one of its own.
    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported>;
}

/// A strategy whose work can be divided among several.
pub trait Divisible {
    /// Gives away up to `n` disjoint parts of what is left; what stays and what is given away
    /// together are what there was.
    ///
    /// # Errors
    /// If this one cannot be split, or not now.
    fn split(&mut self, n: usize) -> Result<Vec<SearchPart>, Unsupported>;

    /// Into how many parts all that is left could be divided now; 0 if nothing is left.
    fn parts(&self) -> usize;

    /// What this part and all others cover together, if each of them is run to its end and says the same.
    fn claim(&self) -> Covered;

    /// Every execution of what is left begins with these decisions.
    fn prefix(&self) -> Vec<Taken> {
        Vec::new()
    }

    /// Of a part whose races reach above it: what it has to say of the points there. It says that once, after it was split.
    fn upwards(&mut self) -> Upwards {
        Upwards::default()
    }

    /// A part that was restored begins with this option of its last point.
    ///
    /// # Errors
    /// If it cannot be.
    fn begin_with(&mut self, sibling: &Sibling) -> Result<(), Unsupported> {
        let _ = sibling;
        Err(Unsupported("begin with one option of a point"))
    }

    /// From now on, runs what opens many parts before what ends soon. What is run in the end is the same.
    fn spread(&mut self) {}

    /// Gives away all that is left, as prefixes: everything that begins so and is within the bound is to be run.
    /// The states are of no use to others than this strategy.
    ///
    /// # Errors
    /// If what is left is not of that kind.
    fn dissolve(&mut self) -> Result<Vec<SearchPart>, Unsupported> {
        Err(Unsupported("be taken apart into prefixes"))
    }
}

/// A strategy that knows how far it is.
pub trait Estimating {
    /// How far the search is, and how much memory it holds.
    fn progress(&self) -> Progress;
}

/// What only some strategies can, with what is answered for the others.
impl dyn Strategy + '_ {
    /// See [`Resumable::save`].
    ///
    /// # Errors
    /// As there; and if this strategy is not [resumable](Strategy::resumable).
    pub fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        self.resumable().ok_or(Unsupported("be saved yet"))?.save()
    }

    /// See [`Resumable::restore`].
    ///
    /// # Errors
    /// As there; and if this strategy is not [resumable](Strategy::resumable).
    pub fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        self.resumable().ok_or(Unsupported("be restored yet"))?.restore(state)
    }

    /// See [`Divisible::split`].
    ///
    /// # Errors
    /// As there; and if this strategy is not [divisible](Strategy::divisible).
    pub fn split(&mut self, n: usize) -> Result<Vec<SearchPart>, Unsupported> {
        self.divisible().ok_or(Unsupported("be split yet"))?.split(n)
    }

    /// See [`Estimating::progress`]. Nothing is known of a strategy that is not
    /// [estimating](Strategy::estimating).
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.estimating().map(Estimating::progress).unwrap_or_default()
    }
}

impl<S: Strategy + ?Sized> Strategy for Box<S> {
    fn needs(&self) -> Needs {
        (**self).needs()
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        (**self).begin(plan)
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        (**self).decide(point)
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        (**self).step(event)
    }

    fn end(&mut self, execution: &Finished<'_>) {
        (**self).end(execution);
    }

    fn covered(&self) -> Covered {
        (**self).covered()
    }

    fn remarks(&self) -> Remarks {
        (**self).remarks()
    }

    fn shortcut(&mut self) -> Option<Shortcut<'_>> {
        (**self).shortcut()
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        (**self).resumable()
    }

    fn divisible(&mut self) -> Option<&mut dyn Divisible> {
        (**self).divisible()
    }

    fn estimating(&self) -> Option<&dyn Estimating> {
        (**self).estimating()
    }

    fn stateful(&mut self) -> Option<&mut dyn Stateful> {
        (**self).stateful()
    }
}
