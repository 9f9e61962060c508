//! Happens-before of one execution: events with vector clocks, and a fingerprint. `races` finds what
//! could have come in another order.
//!
//! A [`History`] is told of every step. It can be cut back to a prefix, so that a search which
//! repeats a prefix need not compute it again. Clocks are rows of one arena. Each object has its
//! events as a chain through the events themselves, so that cutting back undoes it.

mod races;

use raddle_trace::hash::mix;

use crate::dependence::{Footprint, conflict, disturbs, dominates};
use crate::op::{Access, ObjectId, TaskId};
use crate::strategy::{Event, Step};
use crate::vector_clock::{self, VectorClock};

const NONE: u32 = u32::MAX;

/// One executed step.
#[derive(Clone, Copy, Debug)]
pub struct Happened {
    /// What it touched, and whose it was.
    pub footprint: Footprint,
    /// Its number among the events of its task, from 1.
    pub nth: u32,
    /// It ran as soon as it was enabled: it was not chosen.
    pub immediate: bool,
    partner: Option<TaskId>,
    /// The event that made it possible, and without which it could not have been.
    enabler: u32,
    /// The event before it on each object it touched.
    before_on: [u32; 2],
    /// A message came to be by its enabler, which is before it in any case.
    sent: bool,
    /// Something it depends on is not before it in any case: only then can it race.
    may_race: bool,
    /// A number for it and all that is before it, if the history makes fingerprints: in two executions the same only
    /// if the same steps are before both, in the same order of dependence and with the same values.
    pub fingerprint: u64,
    /// A number for its op as it was announced: for its place in its task, and all that the task knew then. Where
    /// two executions have the same, the task was about to do the same to the same objects, whatever their numbers.
    pub announced: u64,
}

/// What a history hears of a step.
#[derive(Clone, Copy, Debug)]
pub struct StepRecord {
    footprint: Footprint,
    immediate: bool,
    enabled_since: u64,
    sent_by: Option<u64>,
}

impl From<&Step<'_>> for StepRecord {
    #[inline]
    fn from(step: &Step<'_>) -> Self {
        let Step { immediate, enabled_since, sent_by, .. } = *step;
        Self { footprint: Footprint::of(step), immediate, enabled_since, sent_by }
    }
}

impl StepRecord {
    /// Whether it touches one object in a way in which nothing but that object's events matter, and is nothing special
    /// besides.
    #[inline]
    fn is_plain(&self) -> bool {
        let Self { footprint, sent_by, .. } = self;
        let [(object, access), (second, other)] = footprint.touched;
        object != ObjectId::NONE
            && second == ObjectId::NONE
            && other == Access::Yield
            && matches!(
                access,
                Access::Read
                    | Access::FailedUpdate
                    | Access::Write
                    | Access::Acquire
                    | Access::TryAcquire
                    | Access::Refused
                    | Access::Release
                    | Access::Share
                    | Access::TryShare
                    | Access::Unshare
            )
            && footprint.partner.is_none()
            && footprint.watch.objects == 0
            && !footprint.last_resort
            && footprint.shared_resources == 0
            && sent_by.is_none()
    }

    /// What it touched, and whose it was.
    #[must_use]
    pub fn footprint(&self) -> &Footprint {
        &self.footprint
    }
}

#[derive(Clone, Debug, Default)]
struct Lane {
    /// Its events.
    events: Vec<u32>,
    /// The parent's last event when it was spawned, and how many events there were then.
    born: Option<(u32, u32)>,
    name: u64,
    children: u64,
    /// Looks at whether it is finished, by others.
    looks: Vec<u32>,
    /// Steps of its timer: they happened before whatever it did next.
    fired: Vec<u32>,
    /// Values decided since its last event.
    values: u64,
}

impl Lane {
    /// Its last event, or else the one at which it was spawned.
    fn last_or_birth(&self) -> u32 {
        let birth = || self.born.map_or(NONE, |(last, _)| last);
        self.events.last().copied().unwrap_or_else(birth)
    }
}

#[derive(Clone, Debug)]
struct Chain {
    last: u32,
    /// Events that added to the queue, and those that took from it.
    appended: Vec<u32>,
    taken: Vec<u32>,
}

impl Default for Chain {
    fn default() -> Self {
        Self { last: NONE, appended: Vec::new(), taken: Vec::new() }
    }
}

impl Chain {
    /// Adds an event; returns the one that made it possible, if that is a matter of places in the
    /// queue.
    fn extend(&mut self, index: u32, access: Access) -> u32 {
        self.last = index;
        let by = |events: &[u32], at: Option<usize>| {
            at.and_then(|at| events.get(at)).copied().unwrap_or(NONE)
        };
        match access {
            Access::Append => {
                self.appended.push(index);
                NONE
            }
            Access::BoundedPush(places) | Access::TryBoundedPush(places) => {
                // The n-th push into a queue of k places needs the (n - k)-th take: the queue is first in, first out, so which take
                // made room does not depend on the order of the others.
                let at = self.appended.len().checked_sub(places as usize);
                self.appended.push(index);
                by(&self.taken, at)
            }
            Access::Take | Access::TryTake => {
                // The n-th take gets what the n-th push put in.
                let at = self.taken.len();
                self.taken.push(index);
                by(&self.appended, Some(at))
            }
            _ => NONE,
        }
    }

    /// Takes the last event back, after which `last` is the last again.
    fn shorten(&mut self, last: u32, access: Access) {
        self.last = last;
        match access {
            Access::Append | Access::BoundedPush(_) | Access::TryBoundedPush(_) => {
                self.appended.pop();
            }
            Access::Take | Access::TryTake => {
                self.taken.pop();
            }
            _ => {}
        }
    }
}

/// The events of an execution, with their order.
#[derive(Clone, Debug, Default)]
pub struct History {
    events: Vec<Happened>,
    /// `width` entries for each event: how many events of each task happened before it or are it.
    clocks: Vec<u32>,
    width: usize,
    lanes: Vec<Lane>,
    chains: Vec<Chain>,
    /// The events that [watch](crate::strategy::Watch) objects.
    watchers: Vec<u32>,
    /// The events that touched a shared resource ([`Footprint::shared_resources`]), by its bit.
    resource_events: Vec<Vec<u32>>,
    /// What is before the op that was last asked about in any case.
    order: VectorClock,
    /// That, and what is before what it races with.
    scratch: VectorClock,
    /// The fingerprints of all events, added up.
    sum: u64,
    /// No fingerprints are made.
    without_fingerprints: bool,
    /// There was a step that [may depend on more](Footprint::may_depend_on_more).
    has_varying_steps: bool,
}

/// What was joined into the clock of an event.
#[derive(Clone, Copy, Debug, Default)]
struct Joined {
    /// Its part of the fingerprint.
    sum: u64,
    /// Whether there was anything.
    any: bool,
}

impl Joined {
    fn add(&mut self, other: Self) {
        self.sum = self.sum.wrapping_add(other.sum);
        self.any |= other.any;
    }
}

/// The numbers of the bits that are set.
fn bits(mut set: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(bit)
    })
}

impl History {
    /// One that has no fingerprint, which is cheaper. It need not hear again of tasks, values and steps of a
    /// repeated prefix.
    #[must_use]
    pub fn plain() -> Self {
        Self { without_fingerprints: true, ..Self::default() }
    }

    /// The number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether nothing has happened.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// An event.
    #[must_use]
    pub fn event(&self, index: usize) -> &Happened {
        &self.events[index]
    }

    /// How many events of each task happened before an event, or are it.
    #[must_use]
    pub fn clock(&self, index: usize) -> &[u32] {
        &self.clocks[index * self.width..][..self.width]
    }

    /// Whether an event may race with one before it: something it depends on is not before it in any case.
    #[must_use]
    pub fn may_race(&self, index: usize) -> bool {
        self.events[index].may_race
    }

    /// Whether `first` happened before `second`, or is it.
    #[must_use]
    pub fn before(&self, first: usize, second: usize) -> bool {
        let event = &self.events[first];
        self.clock(second)[event.footprint.task.index()] >= event.nth
    }

    /// The events of other tasks that happened before an event, without those that another of them
    /// or its own task's event before it follows. Ascending.
    #[must_use]
    pub fn directly_before(&self, index: usize) -> Vec<u32> {
        let event = &self.events[index];
        let own = event.footprint.task;
        // What the task's own event before already knew came with that one: an edge for it would be drawn twice. Of the rest
        // each task's last event stands for the earlier ones, which are before it by program order.
        let previous = self.index_of(own, event.nth - 1);
        let known = |task: usize| previous.map_or(0, |previous| self.clock(previous)[task]);
        let clock = self.clock(index).iter().enumerate();
        let new = clock.filter(|&(task, &nth)| task != own.index() && nth > known(task));
        let mut last: Vec<usize> =
            new.filter_map(|(task, &nth)| self.index_of(TaskId(task as u32), nth)).collect();
        last.sort_unstable();
        let is_direct =
            |&&one: &&usize| !last.iter().any(|&other| other != one && self.before(one, other));
        last.iter().filter(is_direct).map(|&place| place as u32).collect()
    }

    /// How many events of each task happened before all events from `from` on.
    pub fn seen_since(&self, from: usize, seen: &mut Vec<u32>) {
        seen.clear();
        seen.resize(self.width, u32::MAX);
        // By slices: an iterator over rows that skips some divides by the width.
        let mut rows = self.clocks.get(from * self.width..).unwrap_or_default();
        for event in self.events.get(from..).unwrap_or_default() {
            let (row, rest) = rows.split_at(self.width);
            rows = rest;
            // An event that was not chosen ran on with the one before it, so it is no place at which another could have come.
            if !event.immediate {
                for (seen, known) in seen.iter_mut().zip(row) {
                    *seen = (*seen).min(*known);
                }
            }
        }
    }

    /// The events after the one at `first` that were chosen and did not have it before them, ascending.
    pub fn independent_after(&self, first: usize, then: &mut Vec<usize>) {
        then.clear();
        let event = &self.events[first];
        let (lane, nth) = (event.footprint.task.index(), event.nth);
        let mut at = (first + 1) * self.width + lane;
        for (event, index) in self.events[first + 1..].iter().zip(first + 1..) {
            if self.clocks[at] < nth && !event.immediate {
                then.push(index);
            }
            at += self.width;
        }
    }

    /// Whether, of the tasks' events from these numbers on, an event knows its own alone: it does not depend on those of
    /// other tasks. By task; none: [`u32::MAX`].
    #[must_use]
    pub fn knows_only_its_own(&self, index: usize, firsts: &[u32]) -> bool {
        let known = |(known, first): (&u32, &u32)| u32::from(known >= first);
        self.clock(index).iter().zip(firsts).map(known).sum::<u32>() <= 1
    }

    /// Prepares for an execution that repeats the first `kept` events.
    ///
    /// # Panics
    /// Never: it only takes back what it had noted.
    pub fn begin(&mut self, kept: usize) {
        while self.events.len() > kept {
            self.take_back();
        }
        self.clocks.truncate(kept * self.width);
        for lane in &mut self.lanes {
            lane.children = 0;
            lane.values = 0;
            // Who was born right after the last of them is told of again, or is not there this time.
            if lane.born.is_some_and(|(_, events)| events as usize >= kept) {
                lane.born = None;
            }
        }
    }

    /// A task begins. Known ones of a repeated prefix are left as they are.
    pub fn spawn(&mut self, parent: TaskId, child: TaskId) {
        self.widen(parent.index().max(child.index()) + 1);
        // Without fingerprints a repeated prefix need not be told again, and a child that is told again is the same one.
        // With them the call is not skipped: `begin` has reset the count of children, by which the next child gets its name.
        if self.without_fingerprints && self.lanes[child.index()].born.is_some() {
            return;
        }
        let lane = &mut self.lanes[parent.index()];
        lane.children += 1;
        // What the parent decided since its last event the child may know.
        let decided = if lane.values == 0 { 0 } else { mix(lane.values) };
        let name = mix(lane.name ^ mix(lane.children)).wrapping_add(decided);
        // A parent's timer may have fired since its last event; one that has done nothing yet was
        // itself spawned at some event.
        let last = lane.events.last().max(lane.fired.last()).copied();
        let last = last.unwrap_or_else(|| lane.born.map_or(NONE, |(at, _)| at));
        let born = (last, self.events.len() as u32);
        let lane = &mut self.lanes[child.index()];
        lane.name = name;
        // A child of the repeated prefix keeps where it was born: the parent may have later events by now, on which
        // the child does not depend.
        lane.born.get_or_insert(born);
    }

    /// A value was decided.
    pub fn value(&mut self, task: TaskId, option: u32) {
        if self.without_fingerprints {
            return;
        }
        self.widen(task.index() + 1);
        let lane = &mut self.lanes[task.index()];
        lane.values = mix(lane.values ^ (u64::from(option) + 1));
    }

    /// Forgets values decided in a repeated prefix: they are in its events.
    pub fn forget_values(&mut self, task: TaskId) {
        if let Some(lane) = self.lanes.get_mut(task.index()) {
            lane.values = 0;
        }
    }

    #[inline]
    fn widen(&mut self, tasks: usize) {
        if self.lanes.len() < tasks || self.width < tasks {
            self.make_room(tasks);
        }
    }

    #[cold]
    fn make_room(&mut self, tasks: usize) {
        if self.lanes.len() < tasks {
            self.lanes.resize_with(tasks, Lane::default);
        }
        if self.width >= tasks {
            return;
        }
        // Doubled, so that a program which spawns n tasks copies each clock O(log n) times.
        let width = tasks.next_power_of_two().max(4);
        let mut clocks = vec![0; self.events.len() * width];
        for (index, row) in clocks.chunks_mut(width).enumerate() {
            row[..self.width].copy_from_slice(&self.clocks[index * self.width..][..self.width]);
        }
        (self.clocks, self.width) = (clocks, width);
    }

    /// A step happened.
    pub fn step(&mut self, step: &Step<'_>) {
        self.tell(&StepRecord::from(step));
    }

    /// Something happened.
    pub fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::Step(step) => self.step(step),
            Event::Value { task, taken, .. } => self.value(*task, taken.option),
            Event::Unasked { task } => self.value(*task, 0),
            Event::Spawn { parent, child } => self.spawn(*parent, *child),
            // Neither is a step.
            Event::Passed { .. } | Event::Actor(_) => {}
        }
    }

    /// A step happened of which the history hears later.
    pub fn tell(&mut self, step: &StepRecord) {
        let plain = step.is_plain() && self.watchers.is_empty();
        let Footprint { learned, decided, .. } = step.footprint;
        // The accesses of plain steps are the same anywhere.
        self.has_varying_steps |=
            learned || decided.touches_others || !plain && step.footprint.may_depend_on_more();
        match (self.without_fingerprints, plain) {
            (true, true) => self.happen::<false, true>(step),
            (true, false) => self.happen::<false, false>(step),
            (false, true) => self.happen::<true, true>(step),
            (false, false) => self.happen::<true, false>(step),
        }
    }

    /// A step ran on with the last that was chosen: its own event may be told later.
    pub fn runs_on(&mut self, task: TaskId) {
        if let Some(last) = self.events.iter_mut().rfind(|event| !event.immediate) {
            last.footprint.ran_on.insert(task);
        }
    }

    /// Whether there has been a step that [may depend on more](Footprint::may_depend_on_more) where it comes earlier, in this execution
    /// or in one before.
    #[must_use]
    pub fn has_varying_steps(&self) -> bool {
        self.has_varying_steps
    }

    /// Whether some task looked if another is finished.
    #[must_use]
    pub fn has_looks(&self) -> bool {
        self.lanes.iter().any(|lane| !lane.looks.is_empty())
    }

    /// Adds an event. [`take_back`](Self::take_back) undoes it: what one adds to, the other takes from.
    ///
    /// `PLAIN`: nothing watches anything, and the step [`is_plain`](StepRecord::is_plain). Then the compiler leaves most of
    /// this out.
    fn happen<const PRINTS: bool, const PLAIN: bool>(&mut self, step: &StepRecord) {
        let mut footprint = step.footprint;
        let (own, partner) = (footprint.task, footprint.partner);
        let task = own.index();
        self.widen(task + 1);
        let index = self.events.len() as u32;
        let row = self.clocks.len();
        let mut predecessors = self.begin_row::<PRINTS>(own);
        if let Some(partner) = partner.filter(|_| !PLAIN) {
            self.widen(partner.index() + 1);
            // The step of a timer and the wait that it ends are about the same task: whatever that task did is before it,
            // by program order, and cannot be reversed.
            let last = self.lanes[partner.index()].events.last().copied().unwrap_or(NONE);
            predecessors.add(self.join_if_new::<PRINTS>(row, last));
        }
        let known = predecessors.sum;
        // What follows depends on other things than what it is after in any case.
        predecessors.any = false;
        // Before the loop below, which links this event into the chains of its objects although it is not among the events
        // yet, where a walk along a chain would look it up.
        if !PLAIN {
            self.add_watched::<PRINTS>(row, index, &footprint, &mut predecessors);
        }
        let (mut before_on, mut enabler, mut sent) = ([NONE; 2], NONE, None);
        if PLAIN {
            let (object, access) = footprint.touched[0];
            before_on[0] = self.chain(object).last;
            predecessors.add(self.join_conflicts::<PRINTS>(row, object, access));
            self.chains[object.0 as usize].last = index;
        } else {
            let joined;
            (joined, before_on, enabler) = self.join_touched::<PRINTS>(row, step);
            predecessors.add(joined);
            sent = step.sent_by.and_then(|number| self.rouser(number));
            // A message names the step that sent it: that one is before its receipt in any execution, whatever the places
            // in a queue suggest.
            enabler = sent.unwrap_or(enabler);
            predecessors.add(self.join_if_new::<PRINTS>(row, enabler));
            for bit in bits(footprint.shared_resources) {
                predecessors.add(self.join_resource::<PRINTS>(row, bit, index));
            }
        }
        predecessors.add(self.join_looks::<PRINTS>(row, own));
        if let Some(partner) = partner.filter(|_| !PLAIN) {
            predecessors.add(self.join_looks::<PRINTS>(row, partner));
            // A timer's step is one of its owner's too.
            self.lanes[partner.index()].fired.push(index);
        }
        let lane = &mut self.lanes[task];
        lane.events.push(index);
        let nth = lane.events.len() as u32;
        self.clocks[row + task] = nth;
        // By `known`, not by all predecessors: the op was announced before the steps of other tasks that it turned out to
        // depend on.
        let announced = if PRINTS { self.announcement(task, nth, known) } else { 0 };
        let fingerprint =
            if PRINTS { self.fingerprint_of(&footprint, nth, predecessors.sum) } else { 0 };
        footprint.nth = nth;
        if !PLAIN && enabler != NONE {
            footprint.enabled_by(&self.events[enabler as usize].footprint);
        }
        self.events.push(Happened {
            footprint,
            nth,
            immediate: step.immediate,
            partner,
            enabler,
            before_on,
            sent: sent.is_some(),
            // A step that others had to end before could not have come earlier.
            may_race: predecessors.any && (PLAIN || !footprint.last_resort),
            fingerprint,
            announced,
        });
        if step.immediate {
            self.runs_on(own);
        }
    }

    /// Joins what a step conflicts with on all that it touches. Also returns the event before it on each object, and the one
    /// that made it possible, if one is known.
    fn join_touched<const PRINTS: bool>(
        &mut self,
        row: usize,
        step: &StepRecord,
    ) -> (Joined, [u32; 2], u32) {
        let (mut all, mut before_on, mut enabler) = (Joined::default(), [NONE; 2], NONE);
        for (at, &(object, access)) in step.footprint.touched.iter().enumerate() {
            if let Access::Observe(other) = access {
                all.add(self.join_observed::<PRINTS>(row, step, other));
            }
            if object != ObjectId::NONE {
                before_on[at] = self.chain(object).last;
                let (joined, by) = self.join_object::<PRINTS>(row, step, object, access);
                all.add(joined);
                enabler = if by == NONE { enabler } else { by };
            }
        }
        (all, before_on, enabler)
    }

    /// Takes the last event back, all but its clock: undoes [`happen`](Self::happen).
    fn take_back(&mut self) {
        let index = self.events.len() as u32 - 1;
        let event = self.events.pop().expect("an event is left to be taken back");
        // Every list below is ascending, and this event is the last of the history: if it is in a list, it is its last.
        self.watchers.pop_if(|watcher| *watcher == index);
        for bit in bits(event.footprint.shared_resources) {
            self.resource_events[bit].pop();
        }
        self.sum = self.sum.wrapping_sub(mix(event.fingerprint));
        for (at, &(object, access)) in event.footprint.touched.iter().enumerate() {
            if let Access::Observe(_) = access {
                for lane in &mut self.lanes {
                    if lane.looks.last() == Some(&index) {
                        lane.looks.pop();
                    }
                }
            }
            if object != ObjectId::NONE {
                self.chains[object.0 as usize].shorten(event.before_on[at], access);
            }
        }
        if let Some(partner) = event.partner {
            self.lanes[partner.index()].fired.pop();
        }
        self.lanes[event.footprint.task.index()].events.pop();
    }

    /// The events on an object.
    #[inline]
    fn chain(&mut self, object: ObjectId) -> &mut Chain {
        let slot = object.0 as usize;
        if self.chains.len() <= slot {
            self.chains.resize_with(slot + 1, Chain::default);
        }
        &mut self.chains[slot]
    }

    /// Joins what a step conflicts with on an object, and adds it to the events there. Also returns the
    /// event that made it possible, if one is known.
    #[inline]
    fn join_object<const PRINTS: bool>(
        &mut self,
        row: usize,
        step: &StepRecord,
        object: ObjectId,
        access: Access,
    ) -> (Joined, u32) {
        let mut joined = self.join_conflicts::<PRINTS>(row, object, access);
        match access {
            // A task that waits for the end of all work looks at each task's last piece. To keep them
            // in the chain would make every step walk through all others.
            Access::DoWork => return (joined, NONE),
            Access::AwaitQuiescence => {
                joined.add(self.join_work::<PRINTS>(row, object));
                joined.any = true;
            }
            _ => {}
        }
        let index = self.events.len() as u32;
        let by = self.chains[object.0 as usize].extend(index, access);
        if access == Access::Woken {
            return (joined, self.rouser(step.enabled_since).unwrap_or(NONE));
        }
        (joined, by)
    }

    /// Joins all that the tasks did whose end a step looks for, and keeps that it looked.
    fn join_observed<const PRINTS: bool>(
        &mut self,
        row: usize,
        step: &StepRecord,
        other: TaskId,
    ) -> Joined {
        self.widen(other.index() + 1);
        let index = self.events.len() as u32;
        let mut joined = Joined::default();
        for lane in self.seen_by(&step.footprint, other) {
            for event in self.follows(lane, index as usize) {
                joined.add(self.join_if_new::<PRINTS>(row, event));
            }
            // Who joins a task knows what that decided after its last event.
            let Lane { values, name, .. } = self.lanes[lane.index()];
            if PRINTS && values != 0 {
                joined.sum = joined.sum.wrapping_add(mix(values ^ name));
            }
            if !step.immediate {
                self.lanes[lane.index()].looks.push(index);
            }
        }
        joined
    }

    /// Joins the last event on a shared resource, after which comes the one at `index`.
    fn join_resource<const PRINTS: bool>(&mut self, row: usize, bit: usize, index: u32) -> Joined {
        if self.resource_events.len() <= bit {
            self.resource_events.resize_with(bit + 1, Vec::new);
        }
        let before = self.resource_events[bit].last().copied().unwrap_or(NONE);
        self.resource_events[bit].push(index);
        self.join_if_new::<PRINTS>(row, before)
    }

    /// The number of an op that a task announces as its `nth`, after what adds up to `known`.
    #[inline]
    fn announcement(&self, task: usize, nth: u32, known: u64) -> u64 {
        let lane = &self.lanes[task];
        mix(lane.name ^ mix(u64::from(nth)) ^ mix(known)).wrapping_add(mix(lane.values))
    }

    /// The same of the op that a task has announced and not done, as if it were done now. A timer has none.
    #[must_use]
    pub fn next_announcement(&self, task: TaskId) -> Option<u64> {
        let lane = self.lanes.get(task.index()).filter(|_| !self.without_fingerprints)?;
        let last = lane.last_or_birth();
        let mut known = self.begin_sum(last);
        if let Some(&fired) = lane.fired.last()
            && (last == NONE || !self.before(fired as usize, last as usize))
        {
            known = known.wrapping_add(mix(self.events[fired as usize].fingerprint));
        }
        Some(self.announcement(task.index(), lane.events.len() as u32 + 1, known))
    }

    /// What the event at `last` gives to the fingerprint of its task's next one.
    fn begin_sum(&self, last: u32) -> u64 {
        mix(self.events.get(last as usize).map_or(0, |last| mix(last.fingerprint)) ^ 1)
    }

    /// Makes the fingerprint of a task's `nth` event, which follows what adds up to `predecessors`.
    #[expect(
        clippy::inline_always,
        reason = "four kinds of steps call it, and each folds a part of it"
    )]
    #[inline(always)]
    fn fingerprint_of(&mut self, footprint: &Footprint, nth: u32, predecessors: u64) -> u64 {
        let lane = &mut self.lanes[footprint.task.index()];
        let kinds = footprint.touched[0].1.kind() << 8 | footprint.touched[1].1.kind();
        let values = std::mem::take(&mut lane.values);
        // By the task's name and not by its number, and without the objects' numbers: both may depend on the order in which
        // independent steps came. Which objects they are follows from what the task had seen, since its code is deterministic.
        let own = mix(lane.name ^ mix(u64::from(nth) << 16 | kinds)).wrapping_add(mix(values));
        let fingerprint = mix(own ^ predecessors);
        // A sum, so that the order of independent events does not count, and the last can be taken out again.
        self.sum = self.sum.wrapping_add(mix(fingerprint));
        fingerprint
    }

    /// The tasks whose steps matter to a task that looks whether one is finished.
    fn seen_by(&self, look: &Footprint, other: TaskId) -> impl Iterator<Item = TaskId> + use<> {
        let Footprint { task: own, waited_for, .. } = *look;
        // A target that only waits for other tasks ends by itself when these do, so their steps change the answer, too.
        let lanes = if waited_for.is_empty() { 0 } else { self.lanes.len() as u32 };
        let waited =
            move |task: &TaskId| *task != other && *task != own && waited_for.contains(*task);
        std::iter::once(other).chain((0..lanes).map(TaskId).filter(waited))
    }

    /// Adds what a step that watches objects follows, and notes that it watches; the other way round too.
    fn add_watched<const PRINTS: bool>(
        &mut self,
        row: usize,
        index: u32,
        footprint: &Footprint,
        predecessors: &mut Joined,
    ) {
        // Before it is one of the events on its objects.
        if footprint.watch.objects != 0 {
            predecessors.add(self.join_watched::<PRINTS>(row, footprint));
        }
        if !self.watchers.is_empty() {
            predecessors.add(self.join_watchers::<PRINTS>(row, footprint));
        }
        if footprint.last_resort {
            predecessors.add(self.join_all::<PRINTS>(row));
        }
        if footprint.watch.objects != 0 {
            self.watchers.push(index);
        }
    }

    /// Begins the clock of a task's next event; returns what it follows.
    #[expect(
        clippy::inline_always,
        reason = "four kinds of steps call it, and each folds a part of it"
    )]
    #[inline(always)]
    fn begin_row<const PRINTS: bool>(&mut self, task: TaskId) -> Joined {
        let row = self.clocks.len();
        // All events are before it.
        let lane = &self.lanes[task.index()];
        let last = lane.last_or_birth();
        let fired = lane.fired.last().copied().unwrap_or(NONE);
        // Program order: the new clock begins as that of the task's event before, or of the one at which it was spawned.
        if last == NONE {
            self.clocks.resize(row + self.width, 0);
        } else {
            let from = last as usize * self.width;
            self.clocks.extend_from_within(from..from + self.width);
        }
        let mut joined = Joined::default();
        if PRINTS {
            joined.sum = self.begin_sum(last);
        }
        joined.add(self.join_if_new::<PRINTS>(row, fired));
        joined
    }

    /// What an event of `task` at `index` follows in its own lane: the task's event before, or
    /// the one at which it was spawned; and the last step of its timer.
    fn follows(&self, task: TaskId, index: usize) -> [u32; 2] {
        let lane = &self.lanes[task.index()];
        let mut last = self.last_before(task, index);
        if last == NONE {
            last = lane.born.map_or(NONE, |(last, _)| last);
        }
        let fired = lane.fired.iter().rev().find(|&&event| (event as usize) < index);
        [last, fired.copied().unwrap_or(NONE)]
    }

    /// Whether an event is known in a row.
    fn knows(&self, row: usize, event: u32) -> bool {
        let happened = &self.events[event as usize];
        self.clocks[row + happened.footprint.task.index()] >= happened.nth
    }

    /// Joins the clock of `event` into the row, unless it is known there.
    #[inline]
    fn join_if_new<const PRINTS: bool>(&mut self, row: usize, event: u32) -> Joined {
        if event == NONE || self.knows(row, event) {
            return Joined::default();
        }
        let happened = &self.events[event as usize];
        let from = event as usize * self.width;
        // Its row is an earlier one.
        let (earlier, own) = self.clocks.split_at_mut(row);
        vector_clock::join(own, &earlier[from..from + self.width]);
        Joined { sum: if PRINTS { mix(happened.fingerprint) } else { 0 }, any: true }
    }

    #[expect(
        clippy::inline_always,
        reason = "four kinds of steps call it, and each folds a part of it"
    )]
    #[inline(always)]
    fn join_conflicts<const PRINTS: bool>(
        &mut self,
        row: usize,
        object: ObjectId,
        access: Access,
    ) -> Joined {
        let mut predecessors = Joined::default();
        let mut next = self.chains[object.0 as usize].last;
        while next != NONE {
            let (theirs, before) = self.on(next, object);
            if conflict(theirs, access) {
                predecessors.add(self.join_if_new::<PRINTS>(row, next));
                // All that conflicts further back conflicts with this event too, so it is before it and was joined with it.
                if dominates(theirs) {
                    break;
                }
            } else if theirs == access && self.knows(row, next) {
                // What conflicts with this access conflicts with the same one there, so all of it is
                // before that event, and known with it. A task that looks again and again would walk
                // through all its looks.
                break;
            }
            next = before;
        }
        predecessors
    }

    /// Joins those who looked whether a task is finished.
    #[inline]
    fn join_looks<const PRINTS: bool>(&mut self, row: usize, task: TaskId) -> Joined {
        let mut joined = Joined::default();
        for at in 0..self.lanes[task.index()].looks.len() {
            let look = self.lanes[task.index()].looks[at];
            joined.add(self.join_if_new::<PRINTS>(row, look));
        }
        joined
    }

    /// Joins the changes of objects that a step watches.
    #[cold]
    fn join_watched<const PRINTS: bool>(&mut self, row: usize, footprint: &Footprint) -> Joined {
        let mut joined = Joined::default();
        // The later ones first, as in `join_work`.
        for event in self.changes_of(footprint, self.events.len()) {
            joined.add(self.join_if_new::<PRINTS>(row, event));
        }
        joined
    }

    /// The events before the one at `index` that changed what a step watches, without those that others of them
    /// follow on the same object. The latest first.
    fn changes_of(&self, footprint: &Footprint, index: usize) -> Vec<u32> {
        let mut changes = Vec::new();
        for object in (0..self.chains.len() as u32).map(ObjectId) {
            if !footprint.watch.contains(object) {
                continue;
            }
            let mut next = self.chains[object.0 as usize].last;
            while next != NONE {
                let (access, before) = self.on(next, object);
                if (next as usize) < index && disturbs(access) {
                    changes.push(next);
                    if dominates(access) {
                        break;
                    }
                }
                next = before;
            }
        }
        changes.sort_unstable_by(|a, b| b.cmp(a));
        changes.dedup();
        changes
    }

    /// Joins the events that watch what a step changes.
    #[cold]
    fn join_watchers<const PRINTS: bool>(&mut self, row: usize, footprint: &Footprint) -> Joined {
        let mut joined = Joined::default();
        for at in (0..self.watchers.len()).rev() {
            let watcher = self.watchers[at];
            // Unlike a chain this list does not end at the first that is found: watchers do not conflict with each other.
            if self.is_watched_by(footprint, watcher) {
                joined.add(self.join_if_new::<PRINTS>(row, watcher));
            }
        }
        joined
    }

    /// Whether a step changes what an earlier event watches.
    fn is_watched_by(&self, footprint: &Footprint, watcher: u32) -> bool {
        let Some(watcher) = self.events.get(watcher as usize) else { return false };
        let watch = watcher.footprint.watch;
        footprint.touched.iter().any(|&(object, access)| watch.contains(object) && disturbs(access))
    }

    /// Joins the last event of every task.
    #[cold]
    fn join_all<const PRINTS: bool>(&mut self, row: usize) -> Joined {
        let lasts = self.lanes.iter().filter_map(|lane| lane.events.last().copied());
        let mut lasts: Vec<u32> = lasts.collect();
        lasts.sort_unstable_by(|a, b| b.cmp(a));
        let mut joined = Joined::default();
        for last in lasts {
            joined.add(self.join_if_new::<PRINTS>(row, last));
        }
        joined
    }

    /// Whether a step that watches could come after the events before `first` and those in `then`: one of
    /// them changed something since its task last looked at it. `index`: where it was, or would be.
    #[must_use]
    pub fn can_go_on(&self, step: &Footprint, index: usize, first: usize, then: &[usize]) -> bool {
        let Some(lane) = self.lanes.get(step.task.index()) else { return true };
        // One round of the loop is `steps` looks of the task. If nothing that they saw has changed since, the next
        // round would do the same again, and the step that watches stands for waiting until something does.
        let own = lane.events.partition_point(|&event| (event as usize) < index);
        let looks = &lane.events[own.saturating_sub(step.watch.steps as usize)..own];
        looks.iter().any(|&look| {
            let (object, _) = self.events[look as usize].footprint.touched[0];
            if object == ObjectId::NONE {
                return false;
            }
            let mut next = self.chains[object.0 as usize].last;
            // Later looks at the same object are among `looks`, too: a change before one of those is not one after it.
            while next != NONE && next > look {
                let (access, before) = self.on(next, object);
                let at = next as usize;
                let is_there = at < first || then.binary_search(&at).is_ok();
                if is_there && disturbs(access) && !self.looks_again(looks, object, next) {
                    return true;
                }
                next = before;
            }
            false
        })
    }

    /// Whether one of these events is about an object and comes after an event.
    fn looks_again(&self, looks: &[u32], object: ObjectId, after: u32) -> bool {
        looks.iter().any(|&look| {
            look > after && self.events[look as usize].footprint.touched[0].0 == object
        })
    }

    /// Joins the last piece of work of every task.
    fn join_work<const PRINTS: bool>(&mut self, row: usize, object: ObjectId) -> Joined {
        let works = |&last: &u32| {
            self.events[last as usize].footprint.touched.contains(&(object, Access::DoWork))
        };
        let lasts = self.lanes.iter().filter_map(|lane| lane.events.last().copied());
        let mut lasts: Vec<u32> = lasts.filter(works).collect();
        // The later ones first: then those count that no other follows, in whichever order they came.
        lasts.sort_unstable_by(|a, b| b.cmp(a));
        let mut joined = Joined::default();
        for last in lasts {
            joined.add(self.join_if_new::<PRINTS>(row, last));
        }
        joined
    }

    /// What an event did to an object, and the event before it there.
    fn on(&self, event: u32, object: ObjectId) -> (Access, u32) {
        let happened = &self.events[event as usize];
        // An event touches at most two objects: if it is not the first, it is the second.
        let at = usize::from(happened.footprint.touched[0].0 != object);
        (happened.footprint.touched[at].1, happened.before_on[at])
    }

    /// The event that let an op go on which could run since then.
    fn rouser(&self, enabled_since: u64) -> Option<u32> {
        let event = u32::try_from(enabled_since.checked_sub(1)?).ok()?;
        ((event as usize) < self.events.len()).then_some(event)
    }

    /// The last event of `task` before the event at `index`.
    fn last_before(&self, task: TaskId, index: usize) -> u32 {
        let Some(lane) = self.lanes.get(task.index()) else { return NONE };
        let known = match self.events.get(index) {
            // Nearly always it is asked of an event's own task.
            Some(event) if event.footprint.task == task => event.nth as usize - 1,
            _ => lane.events.partition_point(|&event| (event as usize) < index),
        };
        if known == 0 { NONE } else { lane.events[known - 1] }
    }

    /// How many events a task has.
    #[must_use]
    pub fn events_of(&self, task: TaskId) -> u32 {
        self.lanes.get(task.index()).map_or(0, |lane| lane.events.len() as u32)
    }

    /// How many of them are before the event at `index`.
    #[must_use]
    pub fn events_before(&self, task: TaskId, index: usize) -> u32 {
        let Some(lane) = self.lanes.get(task.index()) else { return 0 };
        lane.events.partition_point(|&event| (event as usize) < index) as u32
    }

    /// The `nth` event of a task, from 1.
    #[must_use]
    pub fn event_of(&self, task: TaskId, nth: u32) -> Option<&Happened> {
        self.events.get(self.index_of(task, nth)?)
    }

    /// Where the `nth` event of a task is, from 1.
    #[must_use]
    pub fn index_of(&self, task: TaskId, nth: u32) -> Option<usize> {
        let lane = self.lanes.get(task.index())?;
        lane.events.get(nth.checked_sub(1)? as usize).map(|&index| index as usize)
    }

    /// How many tasks a clock has room for.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// A number for the partial order: equal for executions with the same events in the same
    /// order of dependence, different for others, but for collisions of 64 bits.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        // Values decided since a task's last event are in no event yet, and two prefixes that differ in them go on differently.
        let left = self.lanes.iter().filter(|lane| lane.values != 0);
        let left = left.map(|lane| mix(lane.values ^ lane.name));
        self.sum ^ mix(left.fold(0, u64::wrapping_add))
    }
}
