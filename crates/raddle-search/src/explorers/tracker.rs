//! An explorer as the order of a search over executions.
//!
//! The engine speaks of tasks, an explorer of processes. A thread is a process, so is a timer, and so is an
//! actor; the lanes of an actor's mailbox are not. At a point between lanes there are two decisions in a row: which
//! process, by the explorer, then which of its messages, the one sent first first. Each costs its rank, and an
//! option costs the sum. Faults are one more process.
//!
//! # What the explorer hears, and when
//! All of every execution, from its first step on, so that its state is nowhere stored: a search that goes on in
//! another process, or at another branch, has it again when it gets there. So [`Plan::steps_to_skip`] stays 0 under
//! an explorer, and the engine tells of the points that the plan answers ([`Event::Passed`]), with the options
//! that there were. Steps are noted where they are told, on a task's small stack, and the explorer hears of them
//! at the next point, on the host's: no user code runs elsewhere.
//!
//! Which processes can move is known exactly: at a point they are its options, and a step that had no point
//! was the only one. What has changed since is told as [`Blocked`](ProcessEvent::Blocked) and
//! [`Woken`](ProcessEvent::Woken). A task that fairness holds back after yields counts as blocked.
//!
//! [`Plan::steps_to_skip`]: raddle_engine::strategy::Plan::steps_to_skip
//! [`Event::Passed`]: raddle_engine::strategy::Event::Passed

use std::sync::Arc;

use raddle_engine::explorer::{
    About, Explorer, Process, ProcessEvent, ProcessKind, Runnable, guarded,
};
use raddle_engine::op::{ObjectId, TaskId};
use raddle_engine::receive::{ActorNews, Content, Done, Effects, Order, Receive};
use raddle_engine::strategy::{Event, Lane, Needs, Options, Pending, Point};
use raddle_trace::hash::mix;

/// What happened since the last point.
#[derive(Clone, Debug)]
enum News {
    Spawn {
        parent: TaskId,
        child: TaskId,
    },
    /// A step; `alone` if nothing else could move. What it did, if it was an actor's.
    Step {
        task: TaskId,
        alone: bool,
        effects: Option<Box<Effects>>,
    },
    /// An actor was created, or the test sent it something.
    Actor(ActorNews),
}

impl News {
    /// Whether it is of something that this task created.
    fn is_created_by(&self, task: TaskId) -> bool {
        match self {
            Self::Spawn { parent, .. } => *parent == task,
            Self::Actor(news) => news.by == task && news.what == Done::Created,
            Self::Step { .. } => false,
        }
    }
}

/// Which process a task belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Unknown,
    Process(Process),
}

/// A process of the current execution.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The thread or timer that it is.
    task: Option<TaskId>,
    /// The actor that it is.
    object: Option<ObjectId>,
    /// The actor's identity, 0 as long as it is not known.
    identity: u64,
    kind: ProcessKind,
    finished: bool,
    runnable: bool,
}

/// An option of a point, by what it costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Offer {
    pub(crate) price: u32,
    pub(crate) option: u32,
    /// The process that moves, and the rank of its lane.
    pub(crate) process: Process,
    pub(crate) lane: u32,
}

/// What an actor handles first: the message that was sent first, then timers in the order in which they were set, then
/// its restart. Of equal ones that of the lane that was created first.
fn age(receive: Receive) -> (u8, u32, u32) {
    let kind = match receive.content {
        Content::Message | Content::Answer => 0,
        Content::Timer | Content::Nothing => 1,
        _ => 2,
    };
    (kind, receive.sent_after, receive.nth)
}

/// Lives through executions with an explorer.
#[derive(Clone, Debug)]
pub struct Tracker {
    name: Arc<str>,
    /// As it is before an execution.
    fresh: Explorer,
    explorer: Explorer,
    processes: Vec<Known>,
    /// By task.
    of_task: Vec<Of>,
    news: Vec<News>,
    /// Those that can move at the current point, ascending.
    runnable: Vec<Process>,
    ranks: Vec<Process>,
    /// The options of the current point, the cheapest first.
    offers: Vec<Offer>,
    /// What each costs, by option.
    prices: Vec<u32>,
    /// A hash of the explorer's state after the last point, once one was asked for.
    state: Option<u64>,
    /// Whether such hashes are asked for.
    hashes: bool,
    trouble: Option<String>,
}

impl Tracker {
    /// Before the first execution.
    #[must_use]
    pub fn new(explorer: Explorer) -> Self {
        Self {
            name: Arc::from(explorer.name()),
            fresh: explorer.clone(),
            explorer,
            processes: Vec::new(),
            of_task: Vec::new(),
            news: Vec::new(),
            runnable: Vec::new(),
            ranks: Vec::new(),
            offers: Vec::new(),
            prices: Vec::new(),
            state: None,
            hashes: false,
            trouble: None,
        }
    }

    /// What the engine must do for a search along an explorer.
    #[must_use]
    pub fn needs() -> Needs {
        Needs { steps: true, labels: true, on_host: true, messages: true, ..Needs::default() }
    }

    /// As reports call it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A hash of the explorer's state at a point. At a value nothing is asked of the explorer, whose code may not
    /// run there: it is the state at the last point between tasks, with what the explorer has not heard of yet.
    pub(crate) fn state_at(&mut self, point: &Point<'_>) -> u64 {
        if matches!(point.options, Options::Schedule(_)) {
            let state = self.ask(|this| {
                this.catch_up(point);
                this.state_now(point.pending)
            });
            self.state = state;
        }
        let state = self.state;
        let mut state = state.unwrap_or_default();
        for new in &self.news {
            let (kind, number) = match new {
                News::Spawn { child, .. } => (1, child.0),
                News::Step { task, alone, .. } => (2 + u64::from(*alone), task.0),
                News::Actor(news) => (4 + u64::from(news.what == Done::Sent), news.actor.0),
            };
            state = mix(state ^ mix(kind << 32 | u64::from(number)));
        }
        state
    }

    /// A hash of all that decides, besides the program's state, what options cost from here on: the explorer's state,
    /// which process each of its numbers is, and which messages are older than others. Numbers and ages are those of one
    /// of the executions that have the same partial order.
    fn state_now(&self, pending: &dyn Pending) -> u64 {
        let number = |known: &Known| match known.task {
            Some(task) => mix(u64::from(task.0) + 1),
            None => known.identity,
        };
        let numbers = self.processes.iter().fold(0, |hash, known| mix(hash ^ number(known)));
        mix(self.explorer.fingerprint() ^ mix(numbers ^ mix(pending.ages())))
    }

    /// Why the search cannot go on: the explorer panicked, or does not reach every option.
    pub(crate) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// The options of the point that was asked about last, the cheapest first.
    pub(crate) fn offers(&self) -> &[Offer] {
        &self.offers
    }

    /// What each option of this point costs, by option, after it was ranked.
    pub fn prices_at(&mut self, point: &Point<'_>) -> &[u32] {
        if let Options::Value { of, .. } = point.options {
            self.prices.clear();
            self.prices.extend(0..of);
        }
        &self.prices
    }

    /// Runs what may be a user's code.
    fn ask<R>(&mut self, ask: impl FnOnce(&mut Self) -> R) -> Option<R> {
        let name = Arc::clone(&self.name);
        match guarded(&name, || ask(self)) {
            Ok(result) => Some(result),
            Err(why) => {
                self.trouble.get_or_insert(why);
                None
            }
        }
    }

    /// An execution begins.
    pub fn begin(&mut self) {
        self.explorer = self.fresh.clone();
        self.processes.clear();
        self.of_task.clear();
        self.news.clear();
        self.state = None;
    }

    /// The state will be asked for.
    pub(crate) fn with_hashes(&mut self) {
        self.hashes = true;
    }

    /// Notes what happens. Code of the explorer runs only where the plan has answered a point, which is on the host's stack.
    pub fn heard(&mut self, event: &Event<'_>) {
        match *event {
            Event::Spawn { parent, child } => self.news.push(News::Spawn { parent, child }),
            Event::Step(ref step) if !step.immediate => {
                // Explorers hear of the messages of actors; a thread is a process whatever it receives.
                let effects = step.effects().map(Box::new);
                let effects = effects.filter(|effects| effects.receive.order != Order::Channel);
                self.news.push(News::Step {
                    task: step.task,
                    alone: step.point.is_none(),
                    effects,
                });
            }
            Event::Actor(news) => self.news.push(News::Actor(news)),
            Event::Passed { point, option } => self.take(point, option),
            Event::Step(_) | Event::Value { .. } | Event::Unasked { .. } => {}
        }
    }

    /// Ranks the options of a point between tasks; says which is free. None if the explorer is in trouble.
    pub fn rank(&mut self, point: &Point<'_>) -> Option<u32> {
        self.ask(|this| {
            this.catch_up(point);
            let runnable = Runnable::new(&this.runnable);
            this.explorer.rank(runnable, &mut this.ranks)
        })
        .and_then(|ranked| ranked.map_err(|why| self.set_trouble(why.to_string())).ok())?;
        let Options::Schedule(choices) = point.options else { return Some(0) };
        self.offers.clear();
        let mut ages = Vec::with_capacity(choices.len());
        for (option, choice) in choices.iter().enumerate() {
            let process = self.process_of(choice.task, point.pending);
            let rank = self.ranks.iter().position(|&other| other == process);
            let price = rank.unwrap_or(self.ranks.len()) as u32;
            let message = match self.processes[process.0 as usize].kind {
                ProcessKind::Actor => point.pending.delivery(choice.task),
                _ => None,
            };
            ages.push((message.map(age), option));
            self.offers.push(Offer { price, option: option as u32, process, lane: 0 });
        }
        for option in 0..choices.len() {
            let process = self.offers[option].process;
            let older =
                |other: usize| self.offers[other].process == process && ages[other] < ages[option];
            self.offers[option].lane =
                (0..choices.len()).filter(|&other| older(other)).count() as u32;
        }
        for offer in &mut self.offers {
            offer.price += offer.lane;
        }
        self.prices.clear();
        self.prices.extend(self.offers.iter().map(|offer| offer.price));
        self.offers.sort_unstable();
        Some(self.offers[0].option)
    }

    /// A point was answered with this option, by a plan or by the search: the explorer gives up what comes before
    /// it.
    pub fn take(&mut self, point: &Point<'_>, option: u32) {
        let Options::Schedule(choices) = point.options else { return };
        let task = choices[option as usize].task;
        let taken = self.ask(|this| {
            this.catch_up(point);
            let process = this.process_of(task, point.pending);
            let runnable = Runnable::new(&this.runnable);
            let taken = this.explorer.delay_until(process, runnable);
            this.state = this.hashes.then(|| this.state_now(point.pending));
            taken
        });
        if let Some(Err(why)) = taken {
            self.set_trouble(why.to_string());
        }
    }

    fn set_trouble(&mut self, why: String) {
        self.trouble.get_or_insert(why);
    }

    /// The process that a task belongs to. One that is not known yet is created now.
    fn process_of(&mut self, task: TaskId, pending: &dyn Pending) -> Process {
        self.process_by(task, None, pending)
    }

    /// The same; `by`: who created the task.
    fn process_by(&mut self, task: TaskId, by: Option<Process>, pending: &dyn Pending) -> Process {
        if self.of_task.len() <= task.index() {
            self.of_task.resize(task.index() + 1, Of::Unknown);
        }
        if let Of::Process(process) = self.of_task[task.index()] {
            return process;
        }
        let process = match pending.lane(task) {
            Lane::Thread => self.create(ProcessKind::Thread, Some(task), None, by, pending),
            Lane::Timer => self.create(ProcessKind::Timer, Some(task), None, by, pending),
            Lane::Mailbox(object) => self.actor(object, by, pending),
        };
        self.of_task[task.index()] = Of::Process(process);
        process
    }

    /// The process that is an actor, created by `by` if it is new; that of no object makes faults.
    fn actor(&mut self, object: ObjectId, by: Option<Process>, pending: &dyn Pending) -> Process {
        let known = self.processes.iter().position(|known| known.object == Some(object));
        match known {
            Some(number) => Process(number as u32),
            None => self.create(ProcessKind::Actor, None, Some(object), by, pending),
        }
    }

    fn create(
        &mut self,
        kind: ProcessKind,
        task: Option<TaskId>,
        object: Option<ObjectId>,
        by: Option<Process>,
        pending: &dyn Pending,
    ) -> Process {
        let process = Process(self.processes.len() as u32);
        let name = match (kind, task, object) {
            (ProcessKind::Thread, Some(task), _) => pending.name(task),
            (ProcessKind::Actor, _, Some(object)) => pending.object_name(object),
            _ => String::new(),
        };
        let (identity, finished, runnable) = (0, false, true);
        self.processes.push(Known { task, object, identity, kind, finished, runnable });
        self.explorer.start(process, &About::new(kind, &name, by));
        if let Some(by) = by {
            self.explorer.step(&ProcessEvent::Created { by, process });
        }
        process
    }

    /// Tells the explorer what has happened up to this point.
    fn catch_up(&mut self, point: &Point<'_>) {
        let pending = point.pending;
        if self.processes.is_empty() {
            self.process_of(TaskId::ROOT, pending);
        }
        let mut news = std::mem::take(&mut self.news);
        let mut at = 0;
        while let Some(new) = news.get(at) {
            at += 1;
            let News::Step { task, alone, effects } = new else {
                self.hear_of(new, pending);
                continue;
            };
            let process = self.process_of(*task, pending);
            if *alone {
                self.runnable.clear();
                self.runnable.push(process);
                self.tell_standing();
            }
            self.explorer.step(&ProcessEvent::Ran { process });
            let Some(effects) = effects else { continue };
            self.tell_received(process, effects);
            while let Some(new) = news.get(at).filter(|new| new.is_created_by(*task)) {
                self.hear_of(new, pending);
                at += 1;
            }
            self.tell_sent(process, effects);
        }
        news.clear();
        self.news = news;
        if let Some(names) = pending.order() {
            self.explorer.step(&ProcessEvent::Ordered { names });
        }
        self.finish_threads(pending);
        if let Options::Schedule(choices) = point.options {
            self.runnable.clear();
            for choice in choices {
                let process = self.process_of(choice.task, pending);
                if let Err(place) = self.runnable.binary_search(&process) {
                    self.runnable.insert(place, process);
                }
            }
            self.tell_standing();
        }
    }

    /// Tells the explorer of something that was created, or that the test has sent.
    fn hear_of(&mut self, new: &News, pending: &dyn Pending) {
        match *new {
            News::Spawn { parent, child } => {
                let by = self.process_of(parent, pending);
                self.process_by(child, Some(by), pending);
            }
            News::Actor(ActorNews { by, actor, identity, what }) => {
                let by = self.process_of(by, pending);
                let process = self.actor(actor, Some(by), pending);
                self.processes[process.0 as usize].identity = identity;
                if what == Done::Sent {
                    self.explorer.step(&ProcessEvent::Sent { by, to: process });
                }
            }
            News::Step { .. } => {}
        }
    }

    /// The process of the actor with this identity.
    fn identified(&self, identity: u64) -> Option<Process> {
        let known = self.processes.iter().position(|known| known.identity == identity)?;
        (identity != 0).then_some(Process(known as u32))
    }

    /// Tells what an actor's step received.
    fn tell_received(&mut self, process: Process, effects: &Effects) {
        let from = match effects.receive.sender {
            0 => Some(Process(0)),
            sender => self.identified(sender),
        };
        self.explorer.step(&ProcessEvent::Received { process, from });
    }

    /// Tells what it sent, and whether it became another.
    fn tell_sent(&mut self, process: Process, effects: &Effects) {
        for sent in effects.sent.iter().filter(|sent| sent.content != Content::Timer) {
            if let Some(to) = self.identified(sent.receiver) {
                self.explorer.step(&ProcessEvent::Sent { by: process, to });
            }
        }
        if effects.became {
            self.explorer.step(&ProcessEvent::Became { process });
        }
    }

    fn finish_threads(&mut self, pending: &dyn Pending) {
        for number in 0..self.processes.len() {
            let known = self.processes[number];
            let Some(task) = known.task.filter(|_| known.kind == ProcessKind::Thread) else {
                continue;
            };
            if !known.finished && pending.op(task).is_none() {
                self.processes[number].finished = true;
                self.explorer.finish(Process(number as u32));
            }
        }
    }

    /// Tells of processes that can move now and could not before, and the other way round.
    fn tell_standing(&mut self) {
        for number in 0..self.processes.len() {
            let process = Process(number as u32);
            let now = self.runnable.binary_search(&process).is_ok();
            let known = &mut self.processes[number];
            let before = std::mem::replace(&mut known.runnable, now);
            if before == now || known.finished {
                continue;
            }
            if !now {
                self.explorer.step(&ProcessEvent::Blocked { process });
            } else if known.kind == ProcessKind::Thread {
                self.explorer.step(&ProcessEvent::Woken { process });
            }
        }
    }
}
