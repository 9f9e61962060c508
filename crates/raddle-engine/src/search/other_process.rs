//! Executions that run in another process: what passes between the two, and who sees to it.
//!
//! The other process has a copy of the search as it is before the execution. It calls
//! [`run_there`](Search::run_there) or [`record_there`](Search::record_there); the process that stays makes its own
//! search what it would be had the execution run in it ([`take_over`](Search::take_over)), or as much of it as is
//! known if the other one did not come to the end ([`take_over_cut_off`](Search::take_over_cut_off)).

use std::fmt;
use std::rc::Rc;

use raddle_trace::host::RetracedEvent;
use raddle_trace::{Death, Divergence, LimitKind, Note, Outcome, Schedule, Trace};

use super::Search;
use crate::crash_log::{CrashLog, DecisionMark};
use crate::error::EngineError;
use crate::execution::Ending;
use crate::host::Ran;
use crate::limits::{Lap, Stop};
use crate::op::{Name, TaskId};
use crate::pulse::Pulse;
use crate::recorder::Recorder;
use crate::seen::Seen;
use crate::strategy::{Cut, Strategy, Stuck, Taken};

/// Runs executions of one search in other processes.
pub trait Isolate: fmt::Debug {
    /// Vital signs that those processes and this one share.
    fn pulse(&self) -> &'static Pulse;

    /// Runs the execution that was begun, with a copy of the strategy, and has the strategy live through it.
    ///
    /// # Errors
    /// If there is no other process to be had.
    fn run(
        &mut self,
        search: &mut Search,
        strategy: &mut dyn Strategy,
        body: &dyn Fn(),
        lap: &mut dyn FnMut(Lap) -> Stop,
        executions: u64,
    ) -> Result<Ran, EngineError>;

    /// Runs the last execution once more, for its trace: to its end, also if the search is to end, but not if
    /// it does not move.
    ///
    /// # Errors
    /// As for `run`.
    fn repeat(
        &mut self,
        search: &mut Search,
        body: &dyn Fn(),
        lap: &mut dyn FnMut(Lap) -> Stop,
    ) -> Result<Recorded, EngineError>;

    /// Runs the execution that the search is to replay, for its trace.
    ///
    /// # Errors
    /// As for `run`.
    fn record(
        &mut self,
        search: &mut Search,
        body: &dyn Fn(),
        lap: &mut dyn FnMut(Lap) -> Stop,
    ) -> Result<Recorded, EngineError>;
}

/// Makes what runs the executions of a search in other processes.
#[derive(Clone, Copy, Debug)]
pub struct Isolator(pub fn() -> Result<Box<dyn Isolate>, EngineError>);

impl Isolator {
    pub(crate) fn make(self) -> Result<Box<dyn Isolate>, EngineError> {
        (self.0)()
    }
}

/// Whether they are made by the same function.
impl PartialEq for Isolator {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for Isolator {}

/// An execution that was run for its trace.
#[derive(Debug)]
pub struct Recorded {
    /// How it ended.
    pub ran: Ran,
    /// Its decisions.
    pub schedule: Schedule,
    /// What happened.
    pub trace: Trace,
}

/// What was heard of an execution while it ran: the process that ran it may not have lived to tell more.
#[derive(Debug, Default)]
pub struct Heard {
    /// Tasks that were named for the first time.
    pub names: Vec<Name>,
    /// The decisions.
    pub taken: Vec<Taken>,
    /// What they were about.
    pub marks: Vec<DecisionMark>,
}

/// An execution that came to its end.
#[derive(Debug)]
pub struct Concluded {
    /// What has a fixed size.
    pub numbers: Numbers,
    /// The ops that were stuck.
    pub stuck: Vec<Stuck>,
    /// The tasks, in order of creation.
    pub tasks: Vec<TaskId>,
    /// How it ended.
    pub kind: EndKind,
    /// What the program did.
    pub outcome: Outcome,
    /// Tasks that could not be unwound.
    pub leaked: u64,
    /// Orders of locks.
    pub notes: Vec<Note>,
}

/// The part of [`Concluded`] that has no pointer.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    steps: u64,
    cut: Option<Cut>,
    seen: Seen,
    track_races_next: bool,
}

/// How an execution ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndKind {
    /// As its outcome says.
    Outcome,
    /// A replayed prefix did something else.
    Diverged(Divergence),
    /// The caller stopped the search.
    Stopped,
    /// Another OS thread used an object of it.
    Foreign,
}

impl EndKind {
    fn of(ending: &Ending) -> Self {
        match ending {
            Ending::Diverged(divergence) => Self::Diverged((**divergence).clone()),
            Ending::Stopped => Self::Stopped,
            Ending::Foreign => Self::Foreign,
            Ending::Completed
            | Ending::Panicked
            | Ending::PanickedThen(_)
            | Ending::Deadlock
            | Ending::Livelock { .. }
            | Ending::StackOverflow(_)
            | Ending::DataRace(_)
            | Ending::Limit(_)
            | Ending::Died => Self::Outcome,
        }
    }

    fn ending(self) -> Ending {
        match self {
            Self::Outcome => Ending::Completed,
            Self::Diverged(divergence) => Ending::Diverged(Box::new(divergence)),
            Self::Stopped => Ending::Stopped,
            Self::Foreign => Ending::Foreign,
        }
    }
}

/// Why an execution did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CutOff {
    /// It reached this limit.
    Limit(LimitKind),
    /// The caller stopped the search.
    Stopped,
    /// It ended its process.
    Died(Death),
}

impl Search {
    /// The vital signs of the search.
    #[must_use]
    pub fn pulse(&self) -> &'static Pulse {
        self.lasting.pulse
    }

    /// The options that the last execution took.
    #[must_use]
    pub fn options(&self) -> Vec<u32> {
        self.decisions.taken.iter().map(|taken| taken.option).collect()
    }

    /// In the other process: runs the execution that was begun, with this strategy, and tells `log` what must
    /// be known if the process does not live to the end of it.
    pub fn run_there(
        &mut self,
        strategy: &mut dyn Strategy,
        log: Rc<dyn CrashLog>,
        body: &dyn Fn(),
        executions: u64,
    ) -> Concluded {
        self.ask(strategy);
        self.tell_into(log);
        let mut ran = self.run(body, &mut |_| Stop::No, 0);
        if self.detectors.cell_used && !self.detectors.track_races_next {
            self.listeners.log = None;
            ran.leaked += self.watch_again(&mut ran, body, &mut |_| Stop::No, executions);
        }
        self.conclude(ran)
    }

    /// In the other process: runs the execution with these options, or else the one that the search is to
    /// replay, and tells `hear` each thing that happens before the next does.
    pub fn record_there(
        &mut self,
        options: Option<&[u32]>,
        log: Rc<dyn CrashLog>,
        hear: Box<dyn FnMut(RetracedEvent)>,
        body: &dyn Fn(),
    ) -> (Concluded, Schedule, Trace) {
        if let Some(options) = options {
            self.decisions.plan.prefix.clear();
            self.decisions.plan.prefix.extend_from_slice(options);
        }
        self.decisions.strict = true;
        self.detectors.track_races_next = true;
        self.listeners.recorder = Some(Box::new(Recorder::telling(hear)));
        self.tell_into(log);
        let ran = self.run(body, &mut |_| Stop::No, 0);
        // Tasks that came to be after the last step.
        self.recount();
        let (schedule, trace) = self.recorded();
        (self.conclude(ran), schedule, trace)
    }

    /// In the process that stays: makes the state of the search what it would be if the execution had run
    /// here.
    pub fn take_over(&mut self, heard: Heard, concluded: Concluded) -> Ran {
        let Concluded { numbers, stuck, tasks, kind, outcome, leaked, notes } = concluded;
        self.adopt(&heard.names, heard.taken, &heard.marks);
        (self.n_steps, self.decisions.cut, self.tasks.created) =
            (numbers.steps, numbers.cut, tasks);
        self.lasting.seen = numbers.seen;
        self.detectors.track_races_next = numbers.track_races_next;
        for note in notes {
            if !self.detectors.locks.notes.contains(&note) {
                self.detectors.locks.notes.push(note);
            }
        }
        Ran { ending: kind.ending(), outcome, leaked, stuck }
    }

    /// The same for an execution that did not come to its end.
    pub fn take_over_cut_off(&mut self, heard: Heard, cause: CutOff) -> Ran {
        self.adopt(&heard.names, heard.taken, &heard.marks);
        self.n_steps = self.lasting.pulse.beat().steps;
        self.decisions.cut = None;
        let (ending, outcome) = match cause {
            CutOff::Limit(limit) => (Ending::Limit(limit), Outcome::Limit { limit }),
            CutOff::Stopped => (Ending::Stopped, Outcome::Completed),
            CutOff::Died(death) => {
                (Ending::Died, Outcome::Died { death, task: None, site: None, panic: None })
            }
        };
        Ran { ending, outcome, leaked: 0, stuck: Vec::new() }
    }

    /// Tells `log` from now on what the other side must know.
    fn tell_into(&mut self, log: Rc<dyn CrashLog>) {
        self.tasks.names.tell(Rc::clone(&log));
        self.listeners.log = Some(log);
    }

    fn conclude(&mut self, ran: Ran) -> Concluded {
        let Ran { ending, outcome, leaked, stuck } = ran;
        let numbers = Numbers {
            steps: self.n_steps,
            cut: self.decisions.cut,
            seen: self.lasting.seen,
            track_races_next: self.detectors.track_races_next,
        };
        let notes = std::mem::take(&mut self.detectors.locks.notes);
        let (tasks, kind) = (self.tasks.created.clone(), EndKind::of(&ending));
        Concluded { numbers, stuck, tasks, kind, outcome, leaked, notes }
    }
}
