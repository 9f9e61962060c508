//! What a strategy is asked and told in a forked process, and the same once more in the one that stays.
//!
//! The fork has a copy of the strategy and asks it; so no question has to wait for another process. Since
//! answers depend on the strategy's state and on the arguments alone, the original comes to the same state
//! when it is asked the same afterwards. What it looks up while it answers was written down too: it gets the
//! same answers in the same order.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use raddle_engine::context::{self, Context};
use raddle_engine::op::{ObjectId, Op, TaskId};
use raddle_engine::receive::{Effects, Receive, ReceiveName};
use raddle_engine::search::{Heard, Numbers};
use raddle_engine::strategy::{
    Answer, Cut, Event, Label, Lane, Needs, Options, Pending, Plan, Point, Step, Strategy, Stuck,
};
use raddle_trace::Covered;

use crate::log::{Entry, Labelled, Log, LoggedStep, Offered, Read, ReceiveEffects};

/// In the fork: writes down what passes between the engine and the strategy with its observers.
///
/// Not an observer: what they and the strategy look up is written down too.
pub(crate) struct ForkTranscript<'a> {
    inner: &'a mut dyn Strategy,
    log: Log,
    /// Contexts whose calls are known on the other side.
    contexts: u32,
}

impl<'a> ForkTranscript<'a> {
    pub(crate) fn new(inner: &'a mut dyn Strategy, log: Log) -> Self {
        Self { inner, log, contexts: context::count() }
    }

    /// Writes down a step, and what is answered to it.
    fn executed(&mut self, step: &Step<'_>) -> Option<Cut> {
        self.explain();
        let told = LoggedStep {
            task: step.task,
            touched: step.footprint.len() as u32,
            site: step.site,
            context: step.context,
            shared_resources: step.shared_resources,
            learned: step.learned,
            decided: step.decided,
            watch: step.watch,
            last_resort: step.last_resort,
            sent_by: step.sent_by,
            point: step.point,
            replayed: step.replayed,
            immediate: step.immediate,
            partner: step.partner,
            enabled_since: step.enabled_since,
            timer: step.timer,
            ended: step.ended,
            waited_for: step.waited_for,
        };
        self.log.with(Entry::Step(told), |write| write.all(step.footprint));
        let pending = Noting { inner: step.pending, log: self.log };
        let cut = self.inner.step(&Event::Step(Step { pending: &pending, ..*step }));
        self.log.put(Entry::Went(cut));
        cut
    }

    /// Writes down a point; what is looked up there is written down too.
    fn offer<'b>(&self, point: &Point<'b>) -> Noting<'b> {
        let &Point { index, options, running, last, objects, pending } = point;
        let (offered, choices) = match options {
            Options::Schedule(choices) => (Offered::Tasks(choices.len() as u32), choices),
            Options::Value { task, of, during } => (Offered::Value { task, of, during }, &[][..]),
        };
        let entry = Entry::Decide { index, running, last, objects, options: offered };
        self.log.with(entry, |write| write.all(choices));
        Noting { inner: pending, log: self.log }
    }

    /// Explains contexts that are new.
    fn explain(&mut self) {
        while self.contexts < context::count() {
            let number = Context(self.contexts);
            let names = context::names(number);
            self.log.put(Entry::Calls { number, names: names.len() as u32 });
            for name in &names {
                self.log.text(name);
            }
            self.contexts += 1;
        }
    }
}

impl ForkTranscript<'_> {
    /// The plan has answered a point.
    fn passed(&mut self, point: &Point<'_>, option: u32) -> Option<Cut> {
        self.explain();
        self.log.put(Entry::Passed(option));
        let pending = self.offer(point);
        let point = Point { pending: &pending, ..*point };
        self.inner.step(&Event::Passed { point: &point, option })
    }
}

impl Strategy for ForkTranscript<'_> {
    fn needs(&self) -> Needs {
        self.inner.needs()
    }

    fn begin(&mut self, _: &mut Plan) -> bool {
        unreachable!("engine bug: a fork runs one execution, which was begun before")
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        self.explain();
        let pending = self.offer(point);
        let answer = self.inner.decide(&Point { pending: &pending, ..*point });
        self.log.put(Entry::Answered(answer));
        answer
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        match event {
            Event::Step(step) => return self.executed(step),
            &Event::Spawn { parent, child } => self.log.put(Entry::Spawn(parent, child)),
            &Event::Value { task, taken, during } => {
                self.log.put(Entry::Value(task, taken, during));
            }
            &Event::Unasked { task } => self.log.put(Entry::Unasked(task)),
            &Event::Actor(news) => self.log.put(Entry::Actor(news)),
            &Event::Passed { point, option } => return self.passed(point, option),
        }
        self.inner.step(event)
    }

    fn covered(&self) -> Covered {
        self.inner.covered()
    }
}

/// Writes down what a strategy looks up.
#[derive(Debug)]
struct Noting<'a> {
    inner: &'a dyn Pending,
    log: Log,
}

impl Pending for Noting<'_> {
    fn op(&self, task: TaskId) -> Option<Op> {
        let op = self.inner.op(task);
        self.log.put(Entry::Op(op));
        op
    }

    fn thread_object(&self, task: TaskId) -> Option<ObjectId> {
        let object = self.inner.thread_object(task);
        self.log.put(Entry::ThreadObject(object));
        object
    }

    fn context(&self, task: TaskId) -> Context {
        let context = self.inner.context(task);
        self.log.put(Entry::Called(context));
        context
    }

    fn label(&self, object: ObjectId) -> Option<Label> {
        let label = self.inner.label(object);
        let short = |label: Label| {
            let Label { created, name, waits, .. } = label;
            Labelled { created, named: name.is_some(), waits }
        };
        self.log.put(Entry::Label(label.map(short)));
        if let Some(Label { kind, name, .. }) = label {
            self.log.text(kind);
            if let Some(name) = name {
                self.log.text(name);
            }
        }
        label
    }

    fn name(&self, task: TaskId) -> String {
        let name = self.inner.name(task);
        self.log.text(&name);
        name
    }

    fn says(&self, task: TaskId) -> Option<String> {
        let says = self.inner.says(task);
        self.log.put(Entry::Says(says.is_some()));
        if let Some(says) = &says {
            self.log.text(says);
        }
        says
    }

    fn object_name(&self, object: ObjectId) -> String {
        let name = self.inner.object_name(object);
        self.log.text(&name);
        name
    }

    fn lane(&self, task: TaskId) -> Lane {
        let lane = self.inner.lane(task);
        self.log.put(Entry::Lane(lane));
        lane
    }

    fn order(&self) -> Option<Arc<[String]>> {
        let order = self.inner.order();
        self.log.put(Entry::Order(order.as_ref().map(|names| names.len() as u32)));
        for name in order.iter().flat_map(|names| names.iter()) {
            self.log.text(name);
        }
        order
    }

    fn delivery(&self, task: TaskId) -> Option<Receive> {
        let delivery = self.inner.delivery(task);
        self.log.put(Entry::Delivery(delivery));
        delivery
    }

    fn ages(&self) -> u64 {
        let ages = self.inner.ages();
        self.log.put(Entry::Ages(ages));
        ages
    }

    fn sending(&self, task: TaskId) -> Option<Receive> {
        let sending = self.inner.sending(task);
        self.log.put(Entry::Delivery(sending));
        sending
    }

    fn sent(&self, task: TaskId) -> Option<Receive> {
        let sent = self.inner.sent(task);
        self.log.put(Entry::Delivery(sent));
        sent
    }

    fn effects(&self, task: TaskId) -> Option<Effects> {
        let effects = self.inner.effects(task);
        let short = |effects: &Effects| ReceiveEffects {
            receive: effects.receive,
            reception: effects.reception,
            by: effects.by,
            sent: effects.sent.len() as u32,
            created: effects.created.len() as u32,
            became: effects.became,
            stopped: effects.stopped,
            answered_test: effects.answered_test,
        };
        self.log.with(Entry::Effects(effects.as_ref().map(short)), |write| {
            if let Some(effects) = &effects {
                write.all(&effects.sent);
                write.all(&effects.created);
            }
        });
        effects
    }

    fn receive_name(&self, task: TaskId) -> ReceiveName {
        let name = self.inner.receive_name(task);
        for text in [&name.receiver, &name.sender, &name.message] {
            self.log.text(text);
        }
        name
    }

    fn blocked(&self) -> Vec<TaskId> {
        let tasks = self.inner.blocked();
        self.log.with(Entry::Blocked(tasks.len() as u32), |write| write.all(&tasks));
        tasks
    }

    fn stuck(&self) -> Vec<Stuck> {
        let stuck = self.inner.stuck();
        self.log.with(Entry::Stuck(stuck.len() as u32), |write| write.all(&stuck));
        stuck
    }

    fn place(&self, task: TaskId) -> u32 {
        let place = self.inner.place(task);
        self.log.put(Entry::Place(place));
        place
    }

    fn strayed(&self) -> bool {
        let strayed = self.inner.strayed();
        self.log.put(Entry::Strayed(strayed));
        strayed
    }

    fn idle(&self) -> bool {
        let idle = self.inner.idle();
        self.log.put(Entry::Idle(idle));
        idle
    }
}

/// What was read of an execution in a fork.
#[derive(Debug, Default)]
pub(crate) struct Account {
    pub(crate) heard: Heard,
    /// If it came to its end.
    pub(crate) end: Option<ExecutionEnd>,
}

/// The end of an execution.
#[derive(Debug)]
pub(crate) struct ExecutionEnd {
    pub(crate) numbers: Numbers,
    pub(crate) stuck: Vec<Stuck>,
    pub(crate) tasks: Vec<TaskId>,
    /// The rest, as JSON.
    pub(crate) text: String,
}

/// Texts that labels are made of: few, and the same in every execution.
#[derive(Debug, Default)]
pub(crate) struct Texts(BTreeSet<&'static str>);

impl Texts {
    fn keep(&mut self, text: &str) -> &'static str {
        if let Some(known) = self.0.get(text) {
            return known;
        }
        let kept: &'static str = Box::leak(text.into());
        self.0.insert(kept);
        kept
    }
}

/// In the process that stays: has the strategy live through what the fork wrote down.
///
/// # Panics
/// If the strategy does not answer as its copy did: then it has read something that no strategy may.
pub(crate) fn hear(log: Log, strategy: &mut dyn Strategy, texts: &mut Texts) -> Account {
    let mut account = Account::default();
    let hearing = RefCell::new(Hearing { read: log.read(), contexts: BTreeMap::new(), texts });
    // What the plan has answered at the point that comes next.
    let mut planned = None;
    loop {
        let entry = hearing.borrow_mut().entry();
        match entry {
            None => return account,
            Some(Entry::Name(name)) => account.heard.names.push(name),
            Some(Entry::Taken(taken, mark)) => {
                account.heard.taken.push(taken);
                account.heard.marks.push(mark);
            }
            Some(Entry::Decide { index, running, last, objects, options }) => {
                let choices: Vec<_>;
                let options = match options {
                    Offered::Tasks(count) => {
                        // SAFETY: so many follow.
                        choices = unsafe { hearing.borrow_mut().read.all(count) };
                        Options::Schedule(&choices)
                    }
                    Offered::Value { task, of, during } => Options::Value { task, of, during },
                };
                let pending = &Again(&hearing);
                let point = Point { index, options, running, last, objects, pending };
                if let Some(option) = planned.take() {
                    strategy.step(&Event::Passed { point: &point, option });
                    continue;
                }
                let answer = strategy.decide(&point);
                match hearing.borrow_mut().entry() {
                    Some(Entry::Answered(before)) => {
                        assert!(before == answer, "{}", changed(&before, &answer));
                    }
                    // The fork died while it asked.
                    _ => return account,
                }
            }
            Some(Entry::Passed(option)) => planned = Some(option),
            Some(Entry::Spawn(parent, child)) => {
                strategy.step(&Event::Spawn { parent, child });
            }
            Some(Entry::Actor(news)) => {
                strategy.step(&Event::Actor(news));
            }
            Some(Entry::Value(task, taken, during)) => {
                strategy.step(&Event::Value { task, taken, during });
            }
            Some(Entry::Unasked(task)) => {
                strategy.step(&Event::Unasked { task });
            }
            Some(Entry::Step(told)) => {
                if !step_again(&hearing, strategy, &told) {
                    return account;
                }
            }
            Some(Entry::Over { numbers, stuck, tasks }) => {
                let mut hearing = hearing.borrow_mut();
                // SAFETY: so many follow, in this order.
                let (mut stuck, tasks) =
                    unsafe { (hearing.read.all::<Stuck>(stuck), hearing.read.all(tasks)) };
                for stuck in &mut stuck {
                    stuck.context = hearing.translate(stuck.context);
                }
                let text = hearing.read.text().unwrap_or_default();
                account.end = Some(ExecutionEnd { numbers, stuck, tasks, text });
                return account;
            }
            Some(other) => unreachable!("engine bug: a log goes on with {other:?}"),
        }
    }
}

/// Tells the strategy of a step. `false`: the fork died before it had answered.
fn step_again(
    hearing: &RefCell<Hearing<'_>>,
    strategy: &mut dyn Strategy,
    told: &LoggedStep,
) -> bool {
    // SAFETY: so much was touched.
    let footprint: Vec<_> = unsafe { hearing.borrow_mut().read.all(told.touched) };
    let context = hearing.borrow().translate(told.context);
    let cut = strategy.step(&Event::Step(Step {
        task: told.task,
        footprint: &footprint,
        site: told.site,
        context,
        shared_resources: told.shared_resources,
        learned: told.learned,
        decided: told.decided,
        watch: told.watch,
        last_resort: told.last_resort,
        sent_by: told.sent_by,
        point: told.point,
        replayed: told.replayed,
        immediate: told.immediate,
        partner: told.partner,
        enabled_since: told.enabled_since,
        timer: told.timer,
        ended: told.ended,
        waited_for: told.waited_for,
        pending: &Again(hearing),
    }));
    let Some(Entry::Went(before)) = hearing.borrow_mut().entry() else { return false };
    assert!(before == cut, "{}", changed(&before, &cut));
    true
}

fn changed(before: &dyn std::fmt::Debug, now: &dyn std::fmt::Debug) -> String {
    format!("engine bug: a strategy answered {before:?} in a fork, and {now:?} when asked the same")
}

/// Where in the log the strategy is.
struct Hearing<'a> {
    read: Read<'a>,
    /// Numbers that are others here.
    contexts: BTreeMap<Context, Context>,
    texts: &'a mut Texts,
}

impl std::fmt::Debug for Hearing<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hearing").field("read", &self.read).finish_non_exhaustive()
    }
}

impl Hearing<'_> {
    /// The next entry that is not an explanation.
    fn entry(&mut self) -> Option<Entry> {
        loop {
            match self.read.entry()? {
                Entry::Calls { number, names } => {
                    let names: Option<Vec<String>> = (0..names).map(|_| self.read.text()).collect();
                    let names = names?;
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    self.contexts.insert(number, context::of(&names));
                }
                entry => return Some(entry),
            }
        }
    }

    fn translate(&self, context: Context) -> Context {
        self.contexts.get(&context).copied().unwrap_or(context)
    }
}

/// Answers what a strategy looks up as it was answered in the fork. If the fork died in the middle of that,
/// the answers after it do not matter: nothing comes of them.
#[derive(Debug)]
struct Again<'a, 'b>(&'a RefCell<Hearing<'b>>);

impl Pending for Again<'_, '_> {
    fn op(&self, _: TaskId) -> Option<Op> {
        match self.0.borrow_mut().entry() {
            Some(Entry::Op(op)) => op,
            other => lost("op", other.as_ref()),
        }
    }

    fn thread_object(&self, _: TaskId) -> Option<ObjectId> {
        match self.0.borrow_mut().entry() {
            Some(Entry::ThreadObject(object)) => object,
            other => lost("thread_object", other.as_ref()),
        }
    }

    fn context(&self, _: TaskId) -> Context {
        let mut hearing = self.0.borrow_mut();
        match hearing.entry() {
            Some(Entry::Called(context)) => hearing.translate(context),
            other => lost("context", other.as_ref()),
        }
    }

    fn label(&self, _: ObjectId) -> Option<Label> {
        let mut hearing = self.0.borrow_mut();
        match hearing.entry() {
            Some(Entry::Label(label)) => {
                let Labelled { created, named, waits } = label?;
                let kind = hearing.read.text()?;
                let kind = hearing.texts.keep(&kind);
                let name = if named { hearing.read.text() } else { None };
                let name = name.map(|name| hearing.texts.keep(&name));
                Some(Label { kind, created, name, waits })
            }
            other => lost("label", other.as_ref()),
        }
    }

    fn name(&self, _: TaskId) -> String {
        self.0.borrow_mut().read.text().unwrap_or_default()
    }

    fn says(&self, _: TaskId) -> Option<String> {
        let mut hearing = self.0.borrow_mut();
        match hearing.entry() {
            Some(Entry::Says(true)) => hearing.read.text(),
            Some(Entry::Says(false)) => None,
            other => lost("says", other.as_ref()),
        }
    }

    fn object_name(&self, _: ObjectId) -> String {
        self.0.borrow_mut().read.text().unwrap_or_default()
    }

    fn lane(&self, _: TaskId) -> Lane {
        match self.0.borrow_mut().entry() {
            Some(Entry::Lane(lane)) => lane,
            other => lost("lane", other.as_ref()),
        }
    }

    fn order(&self) -> Option<Arc<[String]>> {
        let mut hearing = self.0.borrow_mut();
        match hearing.entry() {
            Some(Entry::Order(names)) => (0..names?).map(|_| hearing.read.text()).collect(),
            other => lost("order", other.as_ref()),
        }
    }

    fn delivery(&self, _: TaskId) -> Option<Receive> {
        match self.0.borrow_mut().entry() {
            Some(Entry::Delivery(delivery)) => delivery,
            other => lost("delivery", other.as_ref()),
        }
    }

    fn sending(&self, task: TaskId) -> Option<Receive> {
        self.delivery(task)
    }

    fn sent(&self, task: TaskId) -> Option<Receive> {
        self.delivery(task)
    }

    fn effects(&self, _: TaskId) -> Option<Effects> {
        let mut hearing = self.0.borrow_mut();
        match hearing.entry() {
            Some(Entry::Effects(effects)) => {
                let ReceiveEffects { receive, reception, by, sent, created, .. } = effects?;
                let ReceiveEffects { became, stopped, answered_test, .. } = effects?;
                // SAFETY: so many follow, in this order.
                let (sent, created) =
                    unsafe { (hearing.read.all(sent), hearing.read.all(created)) };
                Some(Effects {
                    receive,
                    reception,
                    by,
                    sent,
                    created,
                    became,
                    stopped,
                    answered_test,
                })
            }
            other => lost("effects", other.as_ref()),
        }
    }

    fn receive_name(&self, _: TaskId) -> ReceiveName {
        let mut hearing = self.0.borrow_mut();
        let mut text = || hearing.read.text().unwrap_or_default();
        ReceiveName { receiver: text(), sender: text(), message: text() }
    }

    fn blocked(&self) -> Vec<TaskId> {
        let mut hearing = self.0.borrow_mut();
        match hearing.entry() {
            // SAFETY: so many follow.
            Some(Entry::Blocked(count)) => unsafe { hearing.read.all(count) },
            other => lost("blocked", other.as_ref()),
        }
    }

    fn stuck(&self) -> Vec<Stuck> {
        let mut hearing = self.0.borrow_mut();
        match hearing.entry() {
            Some(Entry::Stuck(count)) => {
                // SAFETY: so many follow.
                let mut stuck: Vec<Stuck> = unsafe { hearing.read.all(count) };
                for stuck in &mut stuck {
                    stuck.context = hearing.translate(stuck.context);
                }
                stuck
            }
            other => lost("stuck", other.as_ref()),
        }
    }

    fn ages(&self) -> u64 {
        match self.0.borrow_mut().entry() {
            Some(Entry::Ages(ages)) => ages,
            other => lost("ages", other.as_ref()),
        }
    }

    fn place(&self, _: TaskId) -> u32 {
        match self.0.borrow_mut().entry() {
            Some(Entry::Place(place)) => place,
            other => lost("place", other.as_ref()),
        }
    }

    fn strayed(&self) -> bool {
        match self.0.borrow_mut().entry() {
            Some(Entry::Strayed(strayed)) => strayed,
            other => lost("strayed", other.as_ref()),
        }
    }

    fn idle(&self) -> bool {
        match self.0.borrow_mut().entry() {
            Some(Entry::Idle(idle)) => idle,
            other => lost("idle", other.as_ref()),
        }
    }
}

/// There is no such answer: the fork died before it came so far, or the strategy asks something else.
fn lost<T: Default>(what: &str, found: Option<&Entry>) -> T {
    assert!(
        found.is_none(),
        "engine bug: a strategy looks up '{what}' where its copy in a fork did not: {found:?}"
    );
    T::default()
}
