//! Writes down what happens in one execution, and on request tells it step by step. Only used when
//! an execution is run for its trace.

use std::panic::Location;

use raddle_trace::hash::Fnv1a;
use raddle_trace::host::RetracedEvent;
use raddle_trace::schedule::task_label;
use raddle_trace::{
    Call, Decision, Event, Key, ObjectName, Panic, Raised, Schedule, Settings, Site, TaskName,
    Trace,
};

use crate::debug;
use crate::happens::History;
use crate::op::{Access, NOTHING, ObjectId, TaskId, site_of};
use crate::strategy::Step;
use crate::tasks::TaskTable;

/// Happens-before is written down until its clocks have this many entries: 64 MiB.
const MOST_CLOCKS: usize = 1 << 24;
/// The calls of so many steps are written down: to walk a stack takes some ten microseconds.
const MOST_WITH_CALLS: usize = 20_000;

/// How many panics are written down.
const MOST_PANICS: usize = 256;

#[derive(Debug)]
struct RawEvent {
    task: TaskId,
    op: String,
    object: ObjectId,
    access: Access,
    /// The second object of the step, if it touched two.
    second: Option<(ObjectId, Access)>,
    site: &'static Location<'static>,
    decision: Option<u32>,
    preempts: bool,
    /// Its place in the history, if it is a step there.
    happened: Option<u32>,
    /// The place of the step that sent its message.
    sent_by: Option<u32>,
    calls: Vec<Call>,
}

#[derive(Debug)]
enum RawDecision {
    Run(TaskId),
    Value { task: TaskId, option: u32, of: u32, stands_for: Option<TaskId> },
}

type RawObject = (&'static str, &'static Location<'static>, Option<&'static str>);

#[derive(Debug, Default)]
pub(crate) struct Recorder {
    objects: Vec<RawObject>,
    events: Vec<RawEvent>,
    decisions: Vec<RawDecision>,
    /// Which steps happened before which.
    history: History,
    /// The events that are steps of the history, in order: values that were decided are none.
    steps: Vec<u32>,
    /// There was no room for that.
    crowded: bool,
    /// The last decision is a value that stands for a task, which has not been told.
    late_key: bool,
    /// With the task of each.
    panics: Vec<(TaskId, Raised)>,
    /// Steps of which a debugger has heard.
    shown: usize,
    teller: Option<Teller>,
}

/// Who hears of everything at once, and how much of it they have heard.
struct Teller {
    hear: Box<dyn FnMut(RetracedEvent)>,
    tasks: usize,
    objects: usize,
    events: usize,
    decisions: usize,
    /// For each panic, whether they know that it was handled.
    panics: Vec<bool>,
}

impl std::fmt::Debug for Teller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Teller").field("events", &self.events).finish_non_exhaustive()
    }
}

impl Recorder {
    /// One that tells what it writes down.
    pub(crate) fn telling(hear: Box<dyn FnMut(RetracedEvent)>) -> Self {
        let panics = Vec::new();
        let teller = Teller { hear, tasks: 0, objects: 0, events: 0, decisions: 0, panics };
        Self { teller: Some(teller), ..Self::default() }
    }

    /// Passes on what has been written down since the last time.
    pub(crate) fn recount(&mut self, tasks: &TaskTable, settings: Settings) {
        for event in &self.events[self.shown..] {
            debug::raddle_step(self.shown as u64, tasks.seq(event.task));
            self.shown += 1;
        }
        let Some(mut teller) = self.teller.take() else { return };
        if teller.tasks == 0 {
            (teller.hear)(RetracedEvent::Settings { settings });
        }
        for &task in &tasks.created[teller.tasks..] {
            (teller.hear)(RetracedEvent::Task { task: tasks.name(task) });
        }
        for object in object_names(&self.objects).skip(teller.objects) {
            (teller.hear)(RetracedEvent::Object { object });
        }
        for raw in &self.decisions[teller.decisions..] {
            (teller.hear)(RetracedEvent::Decision { decision: raw.named(tasks) });
        }
        if let Some(RawDecision::Value { stands_for: Some(other), .. }) = self.decisions.last()
            && std::mem::take(&mut self.late_key)
        {
            (teller.hear)(RetracedEvent::Key { task: tasks.seq(*other) });
        }
        for raw in &self.events[teller.events..] {
            (teller.hear)(RetracedEvent::Step { event: self.named(raw, tasks) });
        }
        self.recount_panics(&mut teller, tasks);
        teller.tasks = tasks.created.len();
        teller.objects = self.objects.len();
        teller.decisions = self.decisions.len();
        teller.events = self.events.len();
        self.teller = Some(teller);
    }

    fn recount_panics(&self, teller: &mut Teller, tasks: &TaskTable) {
        for (nth, (task, raised)) in self.panics.iter().enumerate() {
            let known = teller.panics.get(nth).copied();
            if known.is_none() {
                let panic = Raised { handled: false, ..at_task(raised, tasks.seq(*task)) };
                (teller.hear)(RetracedEvent::Panicked { panic });
                teller.panics.push(false);
            }
            if raised.handled && known != Some(true) {
                (teller.hear)(RetracedEvent::Handled { panic: nth as u32 });
                teller.panics[nth] = true;
            }
        }
    }

    /// A task panics: in the step that is written down next, or after the last one.
    pub(crate) fn panicked(
        &mut self,
        task: TaskId,
        message: String,
        site: Option<Site>,
        in_next_step: bool,
    ) {
        if self.panics.len() == MOST_PANICS {
            return;
        }
        let step = self.events.len() as u32 + u32::from(in_next_step);
        // The number of the task in the trace is known when that is made.
        let panic = Panic { task: 0, message, site };
        self.panics.push((task, Raised { panic, step, handled: false }));
    }

    /// All panics of this task were caught, or the one that ended it was taken.
    pub(crate) fn handled(&mut self, task: TaskId) {
        let its = self.panics.iter_mut().filter(|(other, _)| *other == task);
        its.for_each(|(_, raised)| raised.handled = true);
    }

    pub(crate) fn object(
        &mut self,
        kind: &'static str,
        created: &'static Location<'static>,
        name: Option<&'static str>,
    ) {
        self.objects.push((kind, created, name));
    }

    pub(crate) fn decision(&mut self, task: TaskId, value: Option<(u32, u32)>) {
        self.decisions.push(match value {
            None => RawDecision::Run(task),
            Some((option, of)) => RawDecision::Value { task, option, of, stands_for: None },
        });
    }

    /// The last value decided stands for a task.
    pub(crate) fn value_task(&mut self, other: Option<TaskId>) {
        if let Some(RawDecision::Value { stands_for, .. }) = self.decisions.last_mut() {
            *stands_for = other;
            self.late_key = other.is_some();
        }
    }

    pub(crate) fn event(
        &mut self,
        task: TaskId,
        op: String,
        footprint: &[(ObjectId, Access)],
        site: &'static Location<'static>,
        decision: Option<u32>,
        preempts: bool,
    ) {
        let (object, access) = footprint.first().copied().unwrap_or(NOTHING);
        let second = footprint.get(1).copied();
        self.events.push(RawEvent {
            task,
            op,
            object,
            access,
            second,
            site,
            decision,
            preempts,
            happened: None,
            sent_by: None,
            calls: Vec::new(),
        });
    }

    /// Whether the calls that led to the last event are still written down.
    pub(crate) fn has_room_for_calls(&self) -> bool {
        self.events.len() <= MOST_WITH_CALLS
    }

    /// From where the last event was called.
    pub(crate) fn called(&mut self, calls: Vec<Call>) {
        if let Some(event) = self.events.last_mut() {
            event.calls = calls;
        }
    }

    /// A task begins.
    pub(crate) fn spawn(&mut self, parent: TaskId, child: TaskId) {
        if !self.crowded {
            self.history.spawn(parent, child);
        }
    }

    /// How the last event was a step.
    pub(crate) fn step(&mut self, step: &Step<'_>) {
        self.crowded |= self.history.len() * self.history.width() > MOST_CLOCKS;
        let place = self.history.len() as u32;
        if let Some(event) = self.events.last_mut() {
            event.happened = Some(place).filter(|_| !self.crowded);
            event.sent_by = step.sent_by.and_then(|number| u32::try_from(number - 1).ok());
            if event.happened.is_some() {
                self.steps.push(self.events.len() as u32 - 1);
            }
        }
        if self.crowded {
            self.history = History::default();
        } else {
            self.history.step(step);
        }
    }

    /// An event, with the steps that had to come before it.
    fn named(&self, raw: &RawEvent, tasks: &TaskTable) -> Event {
        let event_of = |place: u32| self.steps.get(place as usize).copied();
        let after = || {
            let places = raw.happened.map(|place| self.history.directly_before(place as usize));
            places.unwrap_or_default().into_iter().filter_map(event_of).collect()
        };
        Event {
            task: tasks.seq(raw.task),
            op: raw.op.clone(),
            object: (raw.object != ObjectId::NONE).then_some(raw.object.0),
            site: site_of(raw.site),
            decision: raw.decision,
            preempts: raw.preempts,
            after: (!self.crowded).then(after),
            sent_by: raw.sent_by.and_then(event_of),
            calls: raw.calls.clone(),
        }
    }

    /// Where `task` last took `object` without having given it back.
    pub(crate) fn acquired(
        &self,
        task: TaskId,
        object: ObjectId,
    ) -> Option<&'static Location<'static>> {
        let hit = |&(o, access): &(ObjectId, Access)| o == object && takes_lock(access);
        let is_it = |event: &&RawEvent| {
            let first = hit(&(event.object, event.access));
            event.task == task && (first || event.second.as_ref().is_some_and(hit))
        };
        self.events.iter().rev().find(is_it).map(|event| event.site)
    }

    pub(crate) fn trace(&self, tasks: &TaskTable) -> Trace {
        let mut objects: Vec<ObjectName> = object_names(&self.objects).collect();
        let names = task_table(tasks);
        for raw in &self.events {
            if let Access::Observe(task) = raw.access
                && let Some(object) = objects.get_mut(raw.object.0 as usize)
            {
                object.name = Some(task_label(&names, tasks.seq(task)));
            }
        }
        let events = self.events.iter().map(|raw| self.named(raw, tasks)).collect();
        let panics = self.panics.iter().map(|(task, raised)| at_task(raised, tasks.seq(*task)));
        Trace { tasks: names, objects, events, panics: panics.collect() }
    }

    pub(crate) fn schedule(&self, tasks: &TaskTable, settings: Settings) -> Schedule {
        Schedule {
            settings,
            tasks: task_table(tasks),
            decisions: self.decisions.iter().map(|raw| raw.named(tasks)).collect(),
            steps_hash: self.steps_hash(tasks),
            ..Schedule::default()
        }
    }

    /// FNV-1a over who did what at which line. Never 0.
    fn steps_hash(&self, tasks: &TaskTable) -> u64 {
        let mut hash = Fnv1a::new();
        for event in &self.events {
            hash.add(&tasks.seq(event.task).to_le_bytes());
            hash.add(event.op.as_bytes());
            hash.add(&event.site.line().to_le_bytes());
        }
        hash.value().max(1)
    }
}

fn at_task(raised: &Raised, task: u32) -> Raised {
    let panic = Panic { task, ..raised.panic.clone() };
    Raised { panic, ..*raised }
}

fn takes_lock(access: Access) -> bool {
    matches!(access, Access::Acquire | Access::TryAcquire | Access::Share | Access::TryShare)
}

/// The tasks of an execution in order of creation, so that parents come first.
pub(crate) fn task_table(tasks: &TaskTable) -> Vec<TaskName> {
    tasks.created.iter().map(|&task| tasks.name(task)).collect()
}

/// Objects in order of first use.
fn object_names(objects: &[RawObject]) -> impl Iterator<Item = ObjectName> {
    objects.iter().enumerate().map(|(index, &(kind, created, name))| {
        let alike = |other: &&RawObject| other.0 == kind && same_place(other.1, created);
        ObjectName {
            kind: kind.to_owned(),
            created: site_of(created),
            name: name.map(str::to_owned),
            nth: objects[..index].iter().filter(alike).count() as u32,
            variable: None,
        }
    })
}

fn same_place(a: &Location<'_>, b: &Location<'_>) -> bool {
    (a.file(), a.line(), a.column()) == (b.file(), b.line(), b.column())
}

impl RawDecision {
    fn named(&self, tasks: &TaskTable) -> Decision {
        let index = |task: TaskId| tasks.seq(task);
        match *self {
            Self::Run(task) => Decision::Run(index(task)),
            Self::Value { task, option, of, stands_for } => {
                let key = stands_for.map_or(Key::Index(option), |other| Key::Task(index(other)));
                Decision::Value { task: index(task), key, of }
            }
        }
    }
}
