//! Every execution that needs at most so many delays, by a second implementation of explorers and of their prices.
//!
//! It shares nothing with the searches of `raddle-search` and with the explorers there. It answers every point itself,
//! keeps no state between executions, and has the queue of processes written out once more from the rules:
//!
//! - A process is a thread, a timer or an actor; all that crashes actors is one more. They are in a queue in the order of
//!   creation; a thread that has ended leaves it.
//! - A process costs as many delays as processes come before it in the queue that can move, too. Those go to the end.
//! - Of what one actor can handle the oldest message is first, then come timers, then its restart; the n-th costs n.
//! - The value n costs n delays.

use std::collections::{BTreeMap, BTreeSet};

use raddle_engine::op::{ObjectId, TaskId};
use raddle_engine::receive::{ActorNews, Content, Done};
use raddle_engine::strategy::{
    Answer, Cut, Event, Finished, Lane, Needs, Options, Pending, Plan, Point, Strategy,
};
use raddle_trace::Covered;
use raddle_trace::hash::mix;

/// What moves processes within the queue besides delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// When one moves, or is given up, those before it in the queue go to the end: they cannot move: `rr`.
    RoundRobin,
    /// The same, but a new one begins at a random place: `prr` with this seed. Which place that is for the n-th process is a
    /// matter of definition: the hash of the seed and n, modulo the number of places.
    Random(u64),
    /// Those that the last step sent to or woke come first, in this order: `rtc`.
    RunToCompletion,
    /// Each that is sent to or woken comes first: `rtc-latest`.
    LatestFirst,
    /// Nothing: `ordered`, where no order is asked for.
    Creation,
}

impl Rule {
    fn takes_turns(self) -> bool {
        matches!(self, Self::RoundRobin | Self::Random(_))
    }
}

/// A process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Thread(u32),
    Timer(u32),
    Actor(u32),
    Crashes,
}

/// What happened since the last point.
#[derive(Debug)]
enum Note {
    Spawned(TaskId),
    Actor(ActorNews),
    Ran { task: TaskId, alone: bool, created: Vec<u64>, sent_to: Vec<u64> },
}

/// The queue in the course of one execution.
#[derive(Debug, Default)]
struct Queue {
    /// In the order of creation, and whether each can move.
    all: Vec<(Who, bool)>,
    order: Vec<Who>,
    /// The processes that the last step sent to or woke.
    recent: Vec<Who>,
    actors: BTreeMap<u64, Who>,
}

impl Queue {
    fn create(&mut self, who: Who, rule: Rule) {
        if self.all.iter().all(|(other, _)| *other != who) {
            let place = match rule {
                Rule::Random(seed) => {
                    let drawn = mix(seed ^ mix(self.all.len() as u64));
                    (drawn % (self.order.len() as u64 + 1)) as usize
                }
                _ => self.order.len(),
            };
            self.all.push((who, true));
            self.order.insert(place, who);
        }
    }

    /// Threads that have ended leave the queue.
    fn leave(&mut self, pending: &dyn Pending) {
        let ended = |who: &Who| match *who {
            Who::Thread(task) => pending.op(TaskId(task)).is_none(),
            Who::Timer(_) | Who::Actor(_) | Who::Crashes => false,
        };
        self.order.retain(|who| !ended(who));
        self.recent.retain(|who| !ended(who));
    }

    fn put_last(&mut self, who: Who) {
        self.order.retain(|&other| other != who);
        self.order.push(who);
        self.recent.retain(|&other| other != who);
    }

    /// The first one is this one from now on.
    fn turn_to(&mut self, who: Who) {
        let at = self.order.iter().position(|&other| other == who).expect("it was created");
        self.order.rotate_left(at);
    }

    fn give_up(&mut self, who: Who, rule: Rule) {
        if rule.takes_turns() {
            self.turn_to(who);
        }
        self.put_last(who);
    }

    fn called(&mut self, who: Who, rule: Rule) {
        match rule {
            Rule::RoundRobin | Rule::Random(_) | Rule::Creation => return,
            Rule::LatestFirst => self.recent.clear(),
            Rule::RunToCompletion => self.recent.retain(|&other| other != who),
        }
        self.recent.push(who);
        let rest = self.order.iter().copied().filter(|other| !self.recent.contains(other));
        self.order = self.recent.iter().copied().chain(rest).collect();
    }

    /// These can move now, and no others.
    fn now_able(&mut self, able: &BTreeSet<Who>, rule: Rule) {
        for at in 0..self.all.len() {
            let (who, before) = self.all[at];
            let now = able.contains(&who);
            self.all[at].1 = now;
            if !before && now && matches!(who, Who::Thread(_)) {
                self.called(who, rule);
            }
        }
    }
}

/// Runs every execution that needs at most so many delays, each once.
#[derive(Debug)]
pub struct WithinDelays {
    rule: Rule,
    most: u32,
    /// At each point, which of the affordable options was taken, and how many there were.
    digits: Vec<(usize, usize)>,
    at: usize,
    spent: u32,
    queue: Queue,
    notes: Vec<Note>,
    executions: Vec<(Vec<u32>, u32)>,
}

impl WithinDelays {
    /// With at most so many delays.
    #[must_use]
    pub fn new(rule: Rule, most: u32) -> Self {
        let (queue, digits, notes) = (Queue::default(), Vec::new(), Vec::new());
        Self { rule, most, digits, at: 0, spent: 0, queue, notes, executions: Vec::new() }
    }

    /// The executions that were run: the options that each took, and how many delays it needs.
    #[must_use]
    pub fn executions(&self) -> &[(Vec<u32>, u32)] {
        &self.executions
    }

    /// Follows what has happened.
    fn catch_up(&mut self, pending: &dyn Pending) {
        self.queue.create(Who::Thread(0), self.rule);
        let notes = std::mem::take(&mut self.notes);
        for note in &notes {
            if let Note::Actor(ActorNews { actor, identity, .. }) = note {
                self.queue.actors.insert(*identity, Who::Actor(actor.0));
            }
        }
        for note in notes {
            match note {
                Note::Spawned(child) => self.queue.create(who(child, pending), self.rule),
                Note::Actor(ActorNews { actor, what, .. }) => {
                    self.queue.create(Who::Actor(actor.0), self.rule);
                    if what == Done::Sent {
                        self.queue.called(Who::Actor(actor.0), self.rule);
                    }
                }
                Note::Ran { task, alone, created, sent_to } => {
                    if alone {
                        let able = BTreeSet::from([who(task, pending)]);
                        self.queue.now_able(&able, self.rule);
                    }
                    self.queue.recent.clear();
                    if self.rule.takes_turns() {
                        self.queue.create(who(task, pending), self.rule);
                        self.queue.turn_to(who(task, pending));
                    }
                    let known = |actor: &u64| self.queue.actors.get(actor).copied();
                    let created: Vec<_> = created.iter().filter_map(known).collect();
                    let sent_to: Vec<_> = sent_to.iter().filter_map(known).collect();
                    for who in created {
                        self.queue.create(who, self.rule);
                    }
                    for who in sent_to {
                        self.queue.called(who, self.rule);
                    }
                }
            }
        }
    }

    /// What each option of a point costs; before it, the processes that are given up.
    fn prices(&mut self, point: &Point<'_>) -> Vec<(u32, Vec<Who>)> {
        let choices = match point.options {
            Options::Value { of, .. } => return (0..of).map(|value| (value, Vec::new())).collect(),
            Options::Schedule(choices) => choices,
        };
        self.catch_up(point.pending);
        self.queue.leave(point.pending);
        let of: Vec<_> = choices.iter().map(|choice| who(choice.task, point.pending)).collect();
        let able: BTreeSet<_> = of.iter().copied().collect();
        self.queue.now_able(&able, self.rule);
        let ages: Vec<_> =
            choices.iter().map(|choice| age(choice.task, point.pending)).enumerate().collect();
        let before = |option: usize| {
            let waiting = self.queue.order.iter().copied().take_while(|&who| who != of[option]);
            let given_up: Vec<_> = waiting.filter(|who| able.contains(who)).collect();
            let older = ages.iter().filter(|(other, age)| {
                of[*other] == of[option] && (*age, *other) < (ages[option].1, option)
            });
            (given_up.len() as u32 + older.count() as u32, given_up)
        };
        (0..choices.len()).map(before).collect()
    }
}

fn who(task: TaskId, pending: &dyn Pending) -> Who {
    match pending.lane(task) {
        Lane::Thread => Who::Thread(task.0),
        Lane::Timer => Who::Timer(task.0),
        Lane::Mailbox(ObjectId::NONE) => Who::Crashes,
        Lane::Mailbox(object) => Who::Actor(object.0),
    }
}

fn age(task: TaskId, pending: &dyn Pending) -> (u32, u32, u32) {
    let Some(receive) = pending.delivery(task) else { return (0, 0, 0) };
    let kind = match receive.content {
        Content::Message | Content::Answer => 0,
        Content::Timer | Content::Nothing => 1,
        _ => 2,
    };
    (kind, receive.sent_after, receive.nth)
}

impl Strategy for WithinDelays {
    fn needs(&self) -> Needs {
        Needs { steps: true, messages: true, on_host: true, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        plan.prefix.clear();
        (self.at, self.spent) = (0, 0);
        self.queue = Queue::default();
        self.notes.clear();
        if self.executions.is_empty() {
            return true;
        }
        while self.digits.pop_if(|(taken, of)| *taken + 1 == *of).is_some() {}
        self.digits.last_mut().map(|(taken, _)| *taken += 1).is_some()
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        let prices = self.prices(point);
        let spare = self.most - self.spent;
        let affordable: Vec<_> = (0..prices.len()).filter(|&at| prices[at].0 <= spare).collect();
        if self.at == self.digits.len() {
            self.digits.push((0, affordable.len()));
        }
        let (taken, of) = self.digits[self.at];
        assert_eq!(of, affordable.len(), "the program does the same under the same decisions");
        self.at += 1;
        let option = affordable[taken];
        let (price, given_up) = &prices[option];
        self.spent += price;
        for &who in given_up {
            self.queue.give_up(who, self.rule);
        }
        Answer::Take(option as u32)
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        match event {
            Event::Spawn { child, .. } => self.notes.push(Note::Spawned(*child)),
            Event::Actor(news) => self.notes.push(Note::Actor(*news)),
            Event::Step(step) if !step.immediate => {
                let effects = step.effects();
                let created = effects.iter().flat_map(|did| did.created.iter());
                let created = created.map(|new| new.actor).collect();
                let sent = effects.iter().flat_map(|did| did.sent.iter());
                let sent_to = sent.filter(|sent| sent.content != Content::Timer);
                let sent_to = sent_to.map(|sent| sent.receiver).collect();
                let (task, alone) = (step.task, step.point.is_none());
                self.notes.push(Note::Ran { task, alone, created, sent_to });
            }
            Event::Step(_) | Event::Value { .. } | Event::Unasked { .. } | Event::Passed { .. } => {
            }
        }
        None
    }

    fn end(&mut self, execution: &Finished<'_>) {
        let options = execution.decisions.iter().map(|taken| taken.option).collect();
        self.executions.push((options, self.spent));
    }

    fn covered(&self) -> Covered {
        Covered::Delays(self.most)
    }
}
