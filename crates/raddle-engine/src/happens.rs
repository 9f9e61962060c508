//! Happens-before of one execution: events with vector clocks, races, and a fingerprint.
//!
//! A [`History`] is told of every step. It can be cut back to a prefix, so that a search which
//! repeats a prefix need not compute it again. Clocks are rows of one arena. Each object has its
//! events as a chain through the events themselves, so that cutting back undoes it.

use crate::dependence::{Footprint, conflict, dominates, reversible};
use crate::op::{Access, ObjectId, TaskId};
use crate::strategy::{Step, Stuck};

const NONE: u32 = u32::MAX;

/// One executed step.
#[derive(Clone, Copy, Debug)]
pub struct Happened {
    /// What it touched, and whose it was.
    pub footprint: Footprint,
    /// Its number among the events of its task, from 1.
    pub nth: u32,
    /// It ran as soon as it was enabled: nobody chose it.
    pub immediate: bool,
    enabled_since: u64,
    partner: Option<TaskId>,
    /// The event before it on each object it touched.
    before_on: [u32; 2],
    fingerprint: u64,
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
    /// The last event; [`NONE`] if there is none.
    fn last(&self) -> u32 {
        self.events.last().copied().unwrap_or(NONE)
    }
}

#[derive(Clone, Debug)]
struct Chain {
    last: u32,
    /// Events that added to the queue, and how many were taken.
    appended: Vec<u32>,
    taken: u32,
}

impl Default for Chain {
    fn default() -> Self {
        Self { last: NONE, appended: Vec::new(), taken: 0 }
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
    scratch: Vec<u32>,
    /// The fingerprints of all events, added up.
    sum: u64,
}

fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

fn shares_or_is_refused(access: Access) -> bool {
    matches!(access, Access::Refused | Access::Share | Access::TryShare)
}

fn kind(access: Access) -> u64 {
    match access {
        Access::Read => 1,
        Access::Write => 2,
        Access::Acquire => 3,
        Access::Release => 4,
        Access::Append => 5,
        Access::Take => 6,
        Access::Observe(_) => 7,
        Access::Yield => 8,
        Access::TryAcquire => 9,
        Access::Refused => 10,
        Access::Share => 11,
        Access::Unshare => 12,
        Access::TryShare => 13,
        Access::TryTake => 14,
    }
}

impl History {
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

    /// Whether `first` happened before `second`, or is it.
    #[must_use]
    pub fn before(&self, first: usize, second: usize) -> bool {
        let event = &self.events[first];
        self.clock(second)[event.footprint.task.index()] >= event.nth
    }

    /// Prepares for an execution that repeats the first `kept` events.
    ///
    /// # Panics
    /// Never: it only takes back what it had noted.
    pub fn begin(&mut self, kept: usize) {
        while self.events.len() > kept {
            let index = self.events.len() as u32 - 1;
            let event = self.events.pop().expect("longer than kept");
            let task = event.footprint.task;
            self.sum = self.sum.wrapping_sub(mix(event.fingerprint));
            for (at, &(object, access)) in event.footprint.touched.iter().enumerate() {
                if let Access::Observe(other) = access {
                    let looks = &mut self.lanes[other.index()].looks;
                    if looks.last() == Some(&index) {
                        looks.pop();
                    }
                }
                if object == ObjectId::NONE {
                    continue;
                }
                let chain = &mut self.chains[object.0 as usize];
                chain.last = event.before_on[at];
                match access {
                    Access::Append => {
                        chain.appended.pop();
                    }
                    Access::Take | Access::TryTake => chain.taken -= 1,
                    _ => {}
                }
            }
            if let Some(partner) = event.partner {
                self.lanes[partner.index()].fired.pop();
            }
            self.lanes[task.index()].events.pop();
        }
        self.clocks.truncate(kept * self.width);
        for lane in &mut self.lanes {
            lane.children = 0;
            lane.values = 0;
            if lane.born.is_some_and(|(_, events)| events as usize > kept) {
                lane.born = None;
            }
        }
    }

    /// A task begins. Known ones of a repeated prefix are left as they are.
    pub fn spawn(&mut self, parent: TaskId, child: TaskId) {
        self.widen(parent.index().max(child.index()) + 1);
        let lane = &mut self.lanes[parent.index()];
        lane.children += 1;
        let name = mix(lane.name ^ mix(lane.children));
        let born = (lane.last(), self.events.len() as u32);
        let lane = &mut self.lanes[child.index()];
        lane.name = name;
        lane.born.get_or_insert(born);
    }

    /// A value was decided.
    pub fn value(&mut self, task: TaskId, option: u32) {
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

    fn widen(&mut self, tasks: usize) {
        if self.lanes.len() < tasks {
            self.lanes.resize_with(tasks, Lane::default);
        }
        if self.width >= tasks {
            return;
        }
        let width = tasks.next_power_of_two().max(4);
        let mut clocks = vec![0; self.events.len() * width];
        for (index, row) in clocks.chunks_mut(width).enumerate() {
            row[..self.width].copy_from_slice(&self.clocks[index * self.width..][..self.width]);
        }
        (self.clocks, self.width) = (clocks, width);
    }

    /// A step happened.
    pub fn step(&mut self, step: &Step<'_>) {
        let mut footprint = Footprint::new(step.task, step.footprint, step.partner);
        let task = step.task.index();
        self.widen(task + 1);
        let index = self.events.len() as u32;
        let row = self.clocks.len();
        let mut predecessors = self.begin_row(step.task);
        if let Some(partner) = step.partner {
            self.widen(partner.index() + 1);
            predecessors = predecessors
                .wrapping_add(self.join_if_new(row, self.lanes[partner.index()].last()));
        }
        let mut before_on = [NONE; 2];
        for (at, &(object, access)) in footprint.touched.iter().enumerate() {
            if let Access::Observe(other) = access {
                self.widen(other.index() + 1);
                for event in self.follows(other, index as usize) {
                    predecessors = predecessors.wrapping_add(self.join_if_new(row, event));
                }
                if !step.immediate {
                    self.lanes[other.index()].looks.push(index);
                }
            }
            if object == ObjectId::NONE {
                continue;
            }
            let slot = object.0 as usize;
            if self.chains.len() <= slot {
                self.chains.resize_with(slot + 1, Chain::default);
            }
            before_on[at] = self.chains[slot].last;
            predecessors = predecessors.wrapping_add(self.join_conflicts(row, object, access));
            let chain = &mut self.chains[slot];
            chain.last = index;
            match access {
                Access::Append => chain.appended.push(index),
                Access::Take | Access::TryTake => {
                    let sent = chain.appended.get(chain.taken as usize).copied();
                    chain.taken += 1;
                    if let Some(sent) = sent {
                        predecessors = predecessors.wrapping_add(self.join_if_new(row, sent));
                    }
                }
                _ => {}
            }
        }
        for at in 0..self.lanes[task].looks.len() {
            let look = self.lanes[task].looks[at];
            predecessors = predecessors.wrapping_add(self.join_if_new(row, look));
        }
        // Whoever made the op possible came before it.
        if let Some(enabler) = self.enabler(step.enabled_since, &footprint) {
            predecessors = predecessors.wrapping_add(self.join_if_new(row, enabler));
        }
        let lane = &mut self.lanes[task];
        lane.events.push(index);
        let nth = lane.events.len() as u32;
        self.clocks[row + task] = nth;
        let kinds = kind(footprint.touched[0].1) << 8 | kind(footprint.touched[1].1);
        let values = std::mem::take(&mut lane.values);
        footprint.values = values;
        let own = mix(lane.name ^ mix(u64::from(nth) << 16 | kinds)).wrapping_add(mix(values));
        let fingerprint = mix(own ^ predecessors);
        self.sum = self.sum.wrapping_add(mix(fingerprint));
        self.events.push(Happened {
            footprint,
            nth,
            immediate: step.immediate,
            enabled_since: step.enabled_since,
            partner: step.partner,
            before_on,
            fingerprint,
        });
        // A timer's step is one of its owner's too.
        if let Some(partner) = step.partner {
            self.lanes[partner.index()].fired.push(index);
        }
    }

    /// Begins the clock of a task's next event; returns the fingerprint of what it follows.
    fn begin_row(&mut self, task: TaskId) -> u64 {
        let row = self.clocks.len();
        let [last, fired] = self.follows(task, self.events.len());
        self.clocks.resize(row + self.width, 0);
        let first = self.join_if_new(row, last);
        mix(first ^ 1).wrapping_add(self.join_if_new(row, fired))
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

    /// Joins the clock of `event` into the row, unless it is known there. Returns its part of the
    /// fingerprint.
    fn join_if_new(&mut self, row: usize, event: u32) -> u64 {
        if event == NONE {
            return 0;
        }
        let happened = self.events[event as usize];
        if self.clocks[row + happened.footprint.task.index()] >= happened.nth {
            return 0;
        }
        let from = event as usize * self.width;
        for lane in 0..self.width {
            self.clocks[row + lane] = self.clocks[row + lane].max(self.clocks[from + lane]);
        }
        mix(happened.fingerprint)
    }

    fn join_conflicts(&mut self, row: usize, object: ObjectId, access: Access) -> u64 {
        let mut predecessors = 0u64;
        let mut next = self.chains[object.0 as usize].last;
        while next != NONE {
            let (theirs, before) = self.on(next, object);
            if conflict(theirs, access) {
                predecessors = predecessors.wrapping_add(self.join_if_new(row, next));
                if dominates(theirs) {
                    break;
                }
            }
            next = before;
        }
        predecessors
    }

    /// What an event did to an object, and the event before it there.
    fn on(&self, event: u32, object: ObjectId) -> (Access, u32) {
        let happened = &self.events[event as usize];
        let at = usize::from(happened.footprint.touched[0].0 != object);
        (happened.footprint.touched[at].1, happened.before_on[at])
    }

    /// The event that made an op possible, if it acted on an object of the op.
    fn enabler(&self, enabled_since: u64, footprint: &Footprint) -> Option<u32> {
        let event = u32::try_from(enabled_since.checked_sub(1)?).ok()?;
        let theirs = &self.events.get(event as usize)?.footprint;
        let shares = |(object, _): &(ObjectId, Access)| {
            *object != ObjectId::NONE && theirs.touched.iter().any(|(o, _)| o == object)
        };
        (theirs.task != footprint.task && footprint.touched.iter().any(shares)).then_some(event)
    }

    /// The events with which an event races: dependent, not ordered otherwise, and such that the
    /// later one could have come first.
    pub fn races(&mut self, index: usize, races: &mut Vec<u32>) {
        races.clear();
        let happened = self.events[index];
        if happened.immediate {
            return;
        }
        self.begin_scratch(happened.footprint.task, index);
        if let Some(partner) = happened.partner {
            self.add_order(self.last_before(partner, index));
        }
        let enabler = self.enabler(happened.enabled_since, &happened.footprint);
        for (at, &(object, access)) in happened.footprint.touched.iter().enumerate() {
            if let Access::Observe(other) = access {
                for event in self.follows(other, index) {
                    self.add_race(event, races);
                }
            }
            if object != ObjectId::NONE {
                self.races_on(happened.before_on[at], object, access, enabler, races);
            }
        }
        let task = happened.footprint.task.index();
        for at in 0..self.lanes[task].looks.len() {
            let look = self.lanes[task].looks[at];
            if (look as usize) < index {
                self.add_race(look, races);
            }
        }
    }

    /// The events with which an op that never ran would have raced.
    pub fn races_of_stuck(&mut self, stuck: &Stuck, races: &mut Vec<u32>) {
        races.clear();
        self.widen(stuck.task.index() + 1);
        self.begin_scratch(stuck.task, self.events.len());
        if let Some(partner) = stuck.partner {
            self.add_order(self.last_before(partner, self.events.len()));
        }
        for &(object, access) in &stuck.footprint {
            if object != ObjectId::NONE
                && let Some(chain) = self.chains.get(object.0 as usize)
            {
                self.races_on(chain.last, object, access, None, races);
            }
        }
    }

    fn races_on(
        &mut self,
        newest: u32,
        object: ObjectId,
        access: Access,
        enabler: Option<u32>,
        races: &mut Vec<u32>,
    ) {
        let mut next = newest;
        while next != NONE {
            let (theirs, before) = self.on(next, object);
            if conflict(theirs, access) {
                let possible = reversible(theirs, access) && enabler != Some(next);
                if self.is_ordered(next) {
                    if dominates(theirs) {
                        return;
                    }
                } else if possible && shares_or_is_refused(theirs) {
                    // What came before may be what the op really races with: the lock was held
                    // when this was refused, and may have been shared before this shared it.
                    races.push(next);
                } else if possible {
                    self.add_race(next, races);
                    if dominates(theirs) {
                        return;
                    }
                }
            }
            next = before;
        }
    }

    fn is_ordered(&self, event: u32) -> bool {
        let happened = &self.events[event as usize];
        self.scratch[happened.footprint.task.index()] >= happened.nth
    }

    fn add_race(&mut self, event: u32, races: &mut Vec<u32>) {
        if event == NONE || self.is_ordered(event) {
            return;
        }
        if !self.events[event as usize].immediate {
            races.push(event);
        }
        self.add_order(event);
    }

    /// The scratch clock: what is before an event of `task` at `index` in any case.
    fn begin_scratch(&mut self, task: TaskId, index: usize) {
        self.scratch.clear();
        self.scratch.resize(self.width, 0);
        for event in self.follows(task, index) {
            self.add_order(event);
        }
    }

    fn add_order(&mut self, event: u32) {
        if event == NONE {
            return;
        }
        let from = event as usize * self.width;
        for lane in 0..self.width {
            self.scratch[lane] = self.scratch[lane].max(self.clocks[from + lane]);
        }
    }

    /// The last event of `task` before the event at `index`.
    fn last_before(&self, task: TaskId, index: usize) -> u32 {
        let Some(lane) = self.lanes.get(task.index()) else { return NONE };
        let known = lane.events.partition_point(|&event| (event as usize) < index);
        if known == 0 { NONE } else { lane.events[known - 1] }
    }

    /// How many events a task has.
    #[must_use]
    pub fn events_of(&self, task: TaskId) -> u32 {
        self.lanes.get(task.index()).map_or(0, |lane| lane.events.len() as u32)
    }

    /// The `nth` event of a task, from 1.
    #[must_use]
    pub fn event_of(&self, task: TaskId, nth: u32) -> Option<&Happened> {
        let lane = self.lanes.get(task.index())?;
        let index = *lane.events.get(nth.checked_sub(1)? as usize)?;
        self.events.get(index as usize)
    }

    /// A number for the partial order: equal for executions with the same events in the same
    /// order of dependence, different for others, but for collisions of 64 bits.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let left = self.lanes.iter().filter(|lane| lane.values != 0);
        let left = left.map(|lane| mix(lane.values ^ lane.name));
        self.sum ^ mix(left.fold(0, u64::wrapping_add))
    }
}
