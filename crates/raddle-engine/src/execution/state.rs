//! The state of an execution in parts, each with its lifetime: a part is renewed for a search (`renew`), for an
//! execution (`begin`), or both.

use std::panic::Location;
use std::rc::Rc;

use raddle_trace::Settings;

use super::{CHECK_EVERY, NoStrategy};
use crate::bits::Bits;
use crate::clock::Clock;
use crate::crash_log::{CrashLog, DecisionMark};
use crate::limits::{Limits, Teardown};
use crate::locks::LockOrder;
use crate::object::Object;
use crate::op::{ObjectId, TaskId};
use crate::pulse::Pulse;
use crate::race::Detector;
use crate::recorder::Recorder;
use crate::rng::Rng;
use crate::script::Script;
use crate::seen::Seen;
use crate::strategy::{Choice, Cut, Label, Needs, Plan, Shortcut, Strategy, Taken};
use crate::tape::Tape;
use crate::task::{NO_SLOT, Task};
use crate::witness::Witness;

/// What lives for the whole search.
#[derive(Debug)]
pub(crate) struct Lasting {
    pub(crate) pulse: &'static Pulse,
    pub(crate) settings: Settings,
    pub(crate) limits: Limits,
    pub(crate) teardown: Teardown,
    pub(crate) stack_size: usize,
    /// Tasks were unwound after a failure, because too many had been kept.
    pub(crate) kept_too_many: bool,
    pub(crate) shown: Shown,
    /// What any execution did that the guarantee must speak of.
    pub(crate) seen: Seen,
    /// What is said if the process ends while an execution runs.
    pub(crate) at_death: Option<&'static str>,
}

/// How much of an execution is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// Panics are printed as they happen, not only reported.
    pub(crate) loud: bool,
    /// Traces say which functions led to a step.
    pub(crate) calls: bool,
    /// Panics are printed with the functions that led to them where one of the two is so.
    pub(crate) backtraces: bool,
}

/// Who can move, and who moved last. For one execution.
#[derive(Debug)]
pub(crate) struct Enabled {
    /// Enabled tasks, by their places in the order of creation.
    pub(crate) places: Bits,
    /// How many they are.
    pub(crate) count: u32,
    /// The same as a list, if it is up to date.
    pub(crate) options: Vec<Choice>,
    pub(crate) is_listed: bool,
    /// If it is not: an option was taken since it was.
    pub(crate) is_counted: bool,
    /// Those of them that need not wait for another to move.
    pub(crate) fair_options: Vec<Choice>,
    /// By object: who looks again when it has changed.
    pub(crate) queues: Vec<Queue>,
    /// How many tasks are in all of them.
    pub(crate) n_queued: u32,
    /// Tasks whose immediate op has become enabled.
    pub(crate) run_on: Vec<TaskId>,
    /// A task that unwinds and has to wait: the others run without questions until it can go on.
    pub(crate) forced: Option<TaskId>,
    /// The task that moved last.
    pub(crate) last: TaskId,
    pub(crate) last_yielded: bool,
}

/// The tasks that look again when an object has changed.
///
/// Those that have announced to take a lock which one task has at a time are its members: they can move while it is
/// free, and none of them can otherwise, so they are enabled and disabled together.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// Those whose ops are others, and are asked each by itself. By place.
    pub(crate) watchers: Bits,
    /// By place.
    pub(crate) members: Bits,
    pub(crate) count: u32,
    /// Whether they can move.
    pub(crate) is_free: bool,
    /// How often that changed.
    pub(crate) flips: u64,
    /// When they could last move again: after which step, and the number of that flip.
    pub(crate) enabled: (u64, u64),
    /// The step after which they last could not, the task that took it, and the number of that flip.
    pub(crate) disabled: (u64, TaskId, u64),
}

impl Enabled {
    pub(super) fn new() -> Self {
        Self {
            places: Bits::new(),
            count: 0,
            options: Vec::new(),
            is_listed: true,
            is_counted: false,
            fair_options: Vec::new(),
            queues: Vec::new(),
            n_queued: 0,
            run_on: Vec::new(),
            forced: None,
            last: TaskId::ROOT,
            last_yielded: false,
        }
    }

    /// The list of options is out of date.
    #[inline]
    pub(super) fn change(&mut self) {
        (self.is_listed, self.is_counted) = (false, false);
    }

    /// The queue of an object.
    #[inline]
    pub(super) fn queue(&mut self, slot: u32) -> &mut Queue {
        let at = slot as usize;
        if self.queues.len() <= at {
            self.make_queue(at);
        }
        &mut self.queues[at]
    }

    #[cold]
    fn make_queue(&mut self, at: usize) {
        self.queues.resize_with(at + 1, Default::default);
    }

    /// Whether a task looks again when one of the objects of its pending op has changed, by itself.
    pub(crate) fn watches(&self, task: &Task) -> bool {
        let watches = |slot: u32| {
            let queue = self.queues.get(slot as usize);
            queue.is_some_and(|queue| queue.watchers.contains(task.lineage.seq))
        };
        task.op.slots.into_iter().any(watches)
    }

    #[inline]
    pub(super) fn begin(&mut self) {
        self.places.clear();
        self.count = 0;
        self.options.clear();
        self.is_listed = true;
        if self.n_queued > 0 {
            // The last execution ended before they had moved.
            self.n_queued = 0;
            for queue in &mut self.queues {
                queue.watchers.clear();
                queue.members.clear();
                queue.count = 0;
            }
        }
        self.run_on.clear();
        self.forced = None;
        self.last = TaskId::ROOT;
        self.last_yielded = false;
    }
}

/// What is to be decided, what was, and how it compares with the execution before.
#[derive(Debug)]
pub(crate) struct Decisions {
    /// What the strategy has decided beforehand.
    pub(crate) plan: Plan,
    /// What a saved schedule says, instead of a plan.
    pub(crate) script: Option<Script>,
    /// It repeats a known execution to its end; the strategy hears nothing of it.
    pub(crate) strict: bool,
    pub(crate) taken: Vec<Taken>,
    /// What the decisions were about, also of the execution before.
    pub(crate) marks: Vec<DecisionMark>,
    /// Decisions that this execution shares with the one before.
    pub(crate) shared: usize,
    /// Who has announced an op where, folded into a number.
    pub(crate) trail: u64,
    /// The latest announcement.
    pub(crate) announced: (TaskId, &'static Location<'static>),
    /// The strategy does not want to see the rest.
    pub(crate) cut: Option<Cut>,
    /// The decision that leads to the next step.
    pub(crate) point: Option<u32>,
    /// Whether that is a preemption. Only while the execution is recorded.
    pub(crate) preempting: bool,
}

impl Decisions {
    pub(super) fn new() -> Self {
        Self {
            plan: Plan::default(),
            script: None,
            strict: false,
            taken: Vec::new(),
            marks: Vec::new(),
            shared: 0,
            trail: 0,
            announced: (TaskId::ROOT, Location::caller()),
            cut: None,
            point: None,
            preempting: false,
        }
    }

    pub(super) fn renew(&mut self) {
        self.plan.prefix.clear();
        self.script = None;
        self.strict = false;
        self.taken.clear();
        self.marks.clear();
    }

    #[inline]
    pub(super) fn begin(&mut self) {
        // How much of the plan repeats the last execution: that much must repeat exactly.
        self.shared = if self.plan.prefix.is_empty() {
            0
        } else {
            let pairs = self.plan.prefix.iter().zip(&self.taken);
            pairs.take_while(|(planned, taken)| **planned == taken.option).count()
        };
        self.taken.clear();
        self.trail = 0;
        self.cut = None;
        self.point = None;
        self.preempting = false;
    }
}

/// The option that the strategy took last, and how often it is taken again without asking: see
/// [`Shortcut::Repeats`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repeat {
    pub(crate) option: u32,
    /// The task that it moves.
    pub(crate) task: TaskId,
    /// At how many points more, if the options are the same there.
    pub(crate) left: u32,
    /// How often that was done since the strategy was told.
    pub(crate) untold: u32,
}

impl Repeat {
    const NONE: Self = Self { option: 0, task: TaskId::ROOT, left: 0, untold: 0 };
}

/// Who hears of what happens. For the search, but for the counts.
pub(crate) struct Listeners {
    pub(crate) strategy: *mut dyn Strategy,
    pub(crate) needs: Needs,
    /// What the strategy draws from, if that is all it does: then the engine draws in its place.
    pub(crate) generator: Option<Rng>,
    /// Whether that is all that is done at a point, on the short way.
    pub(crate) draws: bool,
    pub(crate) repeat: Repeat,
    /// Whether the strategy is asked for repetitions.
    pub(crate) asks_repeats: bool,
    /// Only in an execution that is run for its trace.
    pub(crate) recorder: Option<Box<Recorder>>,
    /// Only in an execution that is run twice.
    pub(crate) witness: Option<Box<Witness>>,
    /// What objects are called, if the strategy asks. Of one execution.
    pub(crate) labels: Vec<Label>,
    /// What objects without a label of their own are called, on the same condition.
    pub(crate) object_names: Vec<(ObjectId, String)>,
    /// Where options are written for the process that goes on if this one dies.
    pub(crate) tape: Option<Tape>,
    /// Where the process that forked this one finds what happens.
    pub(crate) log: Option<Rc<dyn CrashLog>>,
    /// Whether `tape` or `log` is set.
    pub(crate) has_crash_log: bool,
    /// Steps after this one are told, to the strategy, the recorder or the witness.
    pub(crate) notify_from_step: u64,
    /// Steps after this one are told to the strategy.
    pub(crate) strategy_from_step: u64,
}

impl Listeners {
    pub(super) fn new() -> Self {
        let strategy: *mut dyn Strategy = std::ptr::null_mut::<NoStrategy>();
        Self {
            strategy,
            needs: Needs::default(),
            generator: None,
            draws: false,
            repeat: Repeat::NONE,
            asks_repeats: false,
            recorder: None,
            witness: None,
            labels: Vec::new(),
            object_names: Vec::new(),
            tape: None,
            log: None,
            has_crash_log: false,
            notify_from_step: u64::MAX,
            strategy_from_step: u64::MAX,
        }
    }

    pub(super) fn renew(&mut self, tape: Option<Tape>) {
        self.strategy = std::ptr::null_mut::<NoStrategy>();
        self.needs = Needs::default();
        self.generator = None;
        self.recorder = None;
        self.witness = None;
        self.tape = tape;
        self.log = None;
    }

    /// Whether steps are told with their text.
    pub(crate) fn takes_text(&self) -> bool {
        self.recorder.is_some() || self.witness.as_ref().is_some_and(|witness| !witness.is_full())
    }

    /// Tells the strategy how often its last option was taken without asking.
    #[cold]
    pub(crate) fn tell_repeated(&mut self) {
        let times = std::mem::take(&mut self.repeat.untold);
        // SAFETY: the strategy outlives the search, and holds no way back to the execution.
        if let Some(Shortcut::Repeats(strategy)) = unsafe { (*self.strategy).shortcut() } {
            strategy.repeated(times);
        }
    }

    /// The witness needs to hear no more.
    pub(super) fn dismiss_witness(&mut self) {
        if self.recorder.is_none() {
            self.notify_from_step = self.strategy_from_step;
        }
    }

    #[inline]
    pub(super) fn begin(&mut self, decisions: &Decisions, rounds: Option<u32>) {
        self.labels.clear();
        self.object_names.clear();
        self.has_crash_log = self.tape.is_some() || self.log.is_some();
        if let Some(tape) = self.tape {
            tape.begin(rounds);
        }
        self.draws = self.generator.is_some()
            && !self.needs.plans
            && !self.has_crash_log
            && decisions.plan.prefix.is_empty();
        self.repeat = Repeat::NONE;
        let repeats = || {
            // SAFETY: the strategy outlives the search, and holds no way back to the execution.
            matches!(unsafe { (*self.strategy).shortcut() }, Some(Shortcut::Repeats(_)))
        };
        self.asks_repeats = !self.needs.plans
            && !self.has_crash_log
            && decisions.plan.prefix.is_empty()
            && self.generator.is_none()
            && repeats();
        let asked = self.needs.steps && !decisions.strict;
        self.strategy_from_step = if asked { decisions.plan.steps_to_skip } else { u64::MAX };
        self.notify_from_step = if self.takes_text() { 0 } else { self.strategy_from_step };
    }
}

/// Who looks for what else may be wrong: data races, and orders of locks.
#[derive(Debug, Default)]
pub(crate) struct Detectors {
    /// A cell has been used: data races are looked for from the next execution on.
    pub(crate) track_races_next: bool,
    /// Data races are looked for in this execution.
    pub(crate) track_races: bool,
    /// A cell has been used in this execution.
    pub(crate) cell_used: bool,
    pub(crate) race: Box<Detector>,
    pub(crate) locks: Box<LockOrder>,
}

impl Detectors {
    pub(super) fn renew(&mut self) {
        self.track_races_next = false;
        self.locks.renew();
    }

    #[inline]
    pub(super) fn begin(&mut self) {
        if self.cell_used || self.track_races {
            self.race.begin();
        }
        self.track_races = self.track_races_next;
        self.cell_used = false;
        self.locks.begin();
    }
}

/// Virtual time.
#[derive(Debug)]
pub(crate) struct VirtualTime {
    pub(crate) clock: Box<Object<Clock>>,
    /// The clock's number among the objects, once it has one.
    pub(crate) slot: u32,
}

impl VirtualTime {
    pub(super) fn new() -> Self {
        Self { clock: Box::new(Object::new(Clock::default())), slot: NO_SLOT }
    }

    #[inline]
    pub(super) fn begin(&mut self) {
        self.clock.renew(Location::caller());
        self.slot = NO_SLOT;
    }
}

/// Whether the execution gets on, and when that is looked at next. In numbers of steps.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// The step at which something other than the clock last changed.
    pub(crate) last_change: u64,
    /// Yields since then.
    pub(crate) fruitless: u64,
    /// When limits and the caller's clock are looked at next.
    pub(crate) next_check: u64,
    /// Steps up to this one need no attention: none is told, nothing idles, no limit is due. No later than it must be.
    pub(crate) carefree: u64,
    /// The same for steps of which the strategy need not be told.
    pub(crate) undisturbed: u64,
}

impl Pace {
    #[inline]
    pub(super) fn begin(&mut self, limits: &Limits) {
        let next_check = CHECK_EVERY.min(limits.steps);
        *self = Self { last_change: 0, fruitless: 0, next_check, carefree: 0, undisturbed: 0 };
    }
}
