//! What each task does, as counted in the first executions: how many steps, on which objects, and
//! which tasks it spawns. For samplers that weigh tasks by what is left of them.
//!
//! Nothing in the table depends on the schedule or on the process. A task is (parent, n-th spawn),
//! and an object is named by the steps that touch it: a number is looked up by the first step that
//! is about to use it, and means what it meant when that step was counted.
//!
//! A task that took different numbers of steps is counted with the most.
//! Misses: tasks that no counting execution had. They are known to take no steps, and so is a task
//! that goes beyond its count: who weighs by this must not let either wait for ever.

use raddle_engine::op::{ObjectId, TaskId};
use raddle_engine::strategy::{Step, Unsupported};

use crate::state::{FOREIGN, Reader, Writer};

const NONE: u32 = u32::MAX;

/// How many executions count.
pub(crate) const COUNTING: u64 = 3;

/// An object, as the counting executions know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thing(u32);

/// A task, as the counting executions know it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Kin {
    parent: u32,
    /// The n-th spawn.
    children: Vec<u32>,
    /// What each step touches; [`NONE`] for a yield.
    steps: Vec<u32>,
}

/// The table, and where the running execution is in it.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    /// The root first, parents before their children.
    kin: Vec<Kin>,
    things: u32,
    /// Whether the running execution counts.
    counting: bool,
    /// By task id: who that is. [`NONE`] if it is not in the table.
    who: Vec<u32>,
    /// By kin: steps and spawns so far.
    done: Vec<u32>,
    spawned: Vec<u32>,
    /// By object number: which thing that is.
    thing: Vec<u32>,
}

impl Default for Counted {
    fn default() -> Self {
        Self {
            kin: vec![Kin { parent: NONE, ..Kin::default() }],
            things: 0,
            counting: false,
            who: Vec::new(),
            done: Vec::new(),
            spawned: Vec::new(),
            thing: Vec::new(),
        }
    }
}

impl Counted {
    /// Begins an execution, which counts or does not.
    pub(crate) fn begin(&mut self, counting: bool) {
        self.counting = counting;
        self.who.clear();
        self.who.push(0);
        self.done.clear();
        self.done.resize(self.kin.len(), 0);
        self.spawned.clear();
        self.spawned.resize(self.kin.len(), 0);
        self.thing.clear();
    }

    /// Who a task is, as an index into what [`weigh`](Self::weigh) fills.
    pub(crate) fn who(&self, task: TaskId) -> Option<usize> {
        self.who.get(task.index()).filter(|who| **who != NONE).map(|who| *who as usize)
    }

    /// A task begins. Who it is, if that is known.
    pub(crate) fn spawn(&mut self, parent: TaskId, child: TaskId) -> Option<usize> {
        let mut found = NONE;
        if let Some(parent) = self.who(parent) {
            let nth = self.spawned[parent] as usize;
            self.spawned[parent] += 1;
            if self.counting && nth == self.kin[parent].children.len() {
                let own = self.kin.len() as u32;
                self.kin[parent].children.push(own);
                self.kin.push(Kin { parent: parent as u32, ..Kin::default() });
                self.done.push(0);
                self.spawned.push(0);
            }
            found = self.kin[parent].children.get(nth).copied().unwrap_or(NONE);
        }
        if self.who.len() <= child.index() {
            self.who.resize(child.index() + 1, NONE);
        }
        self.who[child.index()] = found;
        self.who(child)
    }

    /// What the next step of a task is about to touch.
    pub(crate) fn touches(&mut self, task: TaskId, object: ObjectId) -> Option<Thing> {
        if object == ObjectId::NONE {
            return None;
        }
        let slot = object.0 as usize;
        if self.thing.len() <= slot {
            self.thing.resize(slot + 1, NONE);
        }
        if self.thing[slot] == NONE {
            let counted = self
                .who(task)
                .and_then(|who| self.kin[who].steps.get(self.done[who] as usize).copied());
            self.thing[slot] = match counted {
                Some(thing) if thing != NONE => thing,
                _ if self.counting => {
                    self.things += 1;
                    self.things - 1
                }
                _ => return None,
            };
        }
        Some(Thing(self.thing[slot]))
    }

    /// A step was taken that could be chosen. Who took it, if that is known, and what it touched.
    pub(crate) fn step(&mut self, step: &Step<'_>) -> (Option<usize>, Option<Thing>) {
        let object = step.footprint.first().map_or(ObjectId::NONE, |&(object, _)| object);
        let thing = self.touches(step.task, object);
        let who = self.who(step.task);
        if let Some(who) = who {
            let done = &mut self.done[who];
            if self.counting && *done as usize == self.kin[who].steps.len() {
                self.kin[who].steps.push(thing.map_or(NONE, |Thing(thing)| thing));
            }
            *done = done.saturating_add(1);
        }
        (who, thing)
    }

    /// Fills `left` with the steps of each task and of all that it has yet to spawn, before the
    /// first step. `own` has those of each task alone.
    pub(crate) fn weigh(&self, own: &[(u32, u32)], left: &mut Vec<u32>) {
        left.clear();
        left.resize(self.kin.len(), 0);
        for &(who, steps) in own {
            left[who as usize] = steps;
        }
        for (index, kin) in self.kin.iter().enumerate().skip(1).rev() {
            let sum = left[kin.parent as usize].saturating_add(left[index]);
            left[kin.parent as usize] = sum;
        }
    }

    /// Of each task the number of its steps.
    pub(crate) fn steps(&self) -> Vec<(u32, u32)> {
        let steps = |(who, kin): (usize, &Kin)| (who as u32, kin.steps.len() as u32);
        self.kin.iter().enumerate().map(steps).collect()
    }

    /// The objects that two tasks or more touch, each with how often which task does.
    pub(crate) fn shared(&self) -> Vec<(Thing, Vec<(u32, u32)>)> {
        let mut by_thing = vec![Vec::<(u32, u32)>::new(); self.things as usize];
        for (who, kin) in self.kin.iter().enumerate() {
            for &thing in kin.steps.iter().filter(|thing| **thing != NONE) {
                let tasks = &mut by_thing[thing as usize];
                match tasks.last_mut() {
                    Some((last, steps)) if *last == who as u32 => *steps += 1,
                    _ => tasks.push((who as u32, 1)),
                }
            }
        }
        let things = (0..).map(Thing).zip(by_thing);
        things.filter(|(_, tasks)| tasks.len() > 1).collect()
    }

    pub(crate) fn save(&self, writer: &mut Writer) {
        writer.number(self.things.into());
        writer.number(self.kin.len() as u64 - 1);
        for kin in &self.kin[1..] {
            writer.number(kin.parent.into());
        }
        for kin in &self.kin {
            writer.number(kin.steps.len() as u64);
            for &thing in &kin.steps {
                writer.number(u64::from(thing.wrapping_add(1)));
            }
        }
    }

    pub(crate) fn restore(reader: &mut Reader<'_>) -> Result<Self, Unsupported> {
        let things = reader.small()?;
        let mut counted = Self { things, ..Self::default() };
        for index in 1..=reader.length()? {
            let parent = reader.small()?;
            let above = counted.kin.get_mut(parent as usize).ok_or(FOREIGN)?;
            above.children.push(index as u32);
            counted.kin.push(Kin { parent, ..Kin::default() });
        }
        for kin in &mut counted.kin {
            for _ in 0..reader.length()? {
                let thing = reader.small()?.wrapping_sub(1);
                if thing >= things && thing != NONE {
                    return Err(FOREIGN);
                }
                kin.steps.push(thing);
            }
        }
        // Objects without a step cannot have been counted.
        if u64::from(things) > counted.kin.iter().map(|kin| kin.steps.len() as u64).sum() {
            return Err(FOREIGN);
        }
        Ok(counted)
    }
}

/// Whether every execution that was drawn had the same chance, and which.
///
/// Invariant: `least <= most`, unless nothing was drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evenness {
    least: f64,
    most: f64,
}

impl Default for Evenness {
    fn default() -> Self {
        Self { least: f64::INFINITY, most: 0.0 }
    }
}

impl Evenness {
    /// An execution had a chance of `2^-bits`.
    pub(crate) fn note(&mut self, bits: f64) {
        self.least = self.least.min(bits);
        self.most = self.most.max(bits);
    }

    /// Whether anything was drawn.
    pub(crate) fn is_noted(&self) -> bool {
        self.least.is_finite()
    }

    /// The number of executions, if all have the same chance; [`u64::MAX`] if there are more.
    pub(crate) fn of(&self) -> Option<u64> {
        // Rounding errors of a million additions stay below this.
        let even = self.most - self.least < 1e-6 * (1.0 + self.most);
        (self.is_noted() && even).then(|| self.most.exp2().round() as u64)
    }

    pub(crate) fn save(&self, writer: &mut Writer) {
        writer.number(self.least.to_bits());
        writer.number(self.most.to_bits());
    }

    pub(crate) fn restore(reader: &mut Reader<'_>) -> Result<Self, Unsupported> {
        let least = f64::from_bits(reader.number()?);
        Ok(Self { least, most: f64::from_bits(reader.number()?) })
    }
}
