//! What each task does, as counted in the first executions: how many steps, on which objects, and
//! which tasks it spawns. For samplers that weigh tasks by what is left of them.
//!
//! Nothing in the table depends on the schedule or on the process. A task is (parent, n-th spawn),
//! and an object is named by the steps that touch it: a number is looked up by the first step that
//! is about to use it, and means what it meant when that step was counted.
//!
//! What a task does after it has joined another cannot be done before, so it must not weigh before.
//! The steps of a task are therefore counted in *phases*, which end where it joins. What is left
//! of a task are the steps of its phase, and all steps of the tasks that it has yet to spawn in it.
//!
//! A task that took different numbers of steps is counted with the most.
//! Misses: tasks that no counting execution had. They are known to take no steps, and so is a task
//! that goes beyond its count: who weighs by this must not let either wait for ever.
//!
//! # Why: What is counted has names
//! `urw` and `surw` weigh tasks by steps counted in their first executions. Object numbers mean nothing in another
//! execution, so an object is named by the steps that touch it, and a task by (parent, n-th spawn).

use raddle_engine::op::{ObjectId, TaskId};
use raddle_engine::strategy::{Point, Step, Unsupported};

use crate::rng::Rng;
use crate::state::{FOREIGN, Reader, Writer};

const NONE: u32 = u32::MAX;

/// How many executions count.
pub(crate) const COUNTING: u64 = 3;

/// An object, as the counting executions know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thing(u32);

/// How many steps there are in which phase of which task. Phases are numbered through.
pub(crate) type Steps = Vec<(u32, u32)>;

/// A task, as the counting executions know it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Kin {
    parent: u32,
    /// In which phase of the parent it is spawned.
    born: u32,
    /// The n-th spawn.
    children: Vec<u32>,
    /// What each step touches; [`NONE`] for a yield.
    steps: Vec<u32>,
    /// How many steps came before each join.
    joins: Vec<u32>,
    /// The number of its first phase.
    phase: u32,
}

impl Kin {
    /// The numbers of its phases.
    fn phases(&self) -> std::ops::Range<usize> {
        self.phase as usize..self.phase as usize + self.joins.len() + 1
    }
}

/// Where a task of the running execution is in the table.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Who that is. [`NONE`] if it is not in the table.
    who: u32,
    steps: u32,
    /// How many steps the table has of it.
    known: u32,
    spawns: u32,
    joins: u32,
}

impl Place {
    const NOWHERE: Self = Self { who: NONE, steps: 0, known: 0, spawns: 0, joins: 0 };
}

/// The table, and where the running execution is in it.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    /// The root first, parents before their children.
    kin: Vec<Kin>,
    things: u32,
    /// Whether the running execution counts.
    counting: bool,
    /// Whether it has added to the table.
    has_grown: bool,
    /// How many things there were before it.
    before: u32,
    /// By task id.
    places: Vec<Place>,
    /// By object number: which thing that is.
    thing: Vec<u32>,
    /// By phase: what is left of it, unless a task is in it. Empty while counting.
    left: Vec<u32>,
    /// By task id: what is left of the phase in which it is. Empty while counting.
    now: Vec<u32>,
}

impl Default for Counted {
    fn default() -> Self {
        Self {
            kin: vec![Kin { parent: NONE, ..Kin::default() }],
            things: 0,
            counting: false,
            has_grown: false,
            before: 0,
            places: Vec::new(),
            thing: Vec::new(),
            left: Vec::new(),
            now: Vec::new(),
        }
    }
}

impl Counted {
    /// Where one is that begins now.
    fn place_of(&self, who: u32) -> Place {
        let known = self.kin.get(who as usize).map_or(0, |kin| kin.steps.len() as u32);
        Place { who, known, ..Place::NOWHERE }
    }

    fn begin(&mut self, counting: bool) {
        self.counting = counting;
        self.places.clear();
        self.places.push(self.place_of(0));
        self.thing.clear();
        self.left.clear();
        self.now.clear();
    }

    /// Begins an execution that counts.
    pub(crate) fn count(&mut self) {
        self.begin(true);
        (self.before, self.has_grown) = (self.things, false);
    }

    /// Ends an execution that counts. Whether it added to the table.
    pub(crate) fn end(&mut self) -> bool {
        if !self.has_grown {
            // Objects that were first met where the table has another step are named by nothing in it.
            self.things = self.before;
        }
        self.has_grown
    }

    /// Begins an execution in which tasks weigh by these steps.
    pub(crate) fn weigh(&mut self, steps: &[(u32, u32)]) {
        self.begin(false);
        let phases = self.kin.last().map_or(0, |kin| kin.phases().end);
        self.left.resize(phases, 0);
        for &(phase, steps) in steps {
            self.left[phase as usize] = steps;
        }
        for index in (1..self.kin.len()).rev() {
            let whole = self.whole(index);
            let phase = self.phase(self.kin[index].parent as usize, self.kin[index].born);
            self.left[phase] = self.left[phase].saturating_add(whole);
        }
        self.now.push(self.left[self.phase(0, 0)]);
    }

    /// Ends the counting: numbers the phases.
    pub(crate) fn freeze(&mut self) {
        let mut phase = 0;
        for kin in &mut self.kin {
            kin.phase = phase;
            phase = kin.phases().end as u32;
        }
    }

    /// Where a task is, if it is in the table.
    #[inline]
    fn place(&mut self, task: TaskId) -> Option<&mut Place> {
        self.places.get_mut(task.index()).filter(|place| place.who != NONE)
    }

    /// The number of a task's n-th phase; of the last if it has fewer.
    #[inline]
    fn phase(&self, who: usize, nth: u32) -> usize {
        let phases = self.kin[who].phases();
        (phases.start + nth as usize).min(phases.end - 1)
    }

    /// All that is left of a task.
    fn whole(&self, who: usize) -> u32 {
        self.left[self.kin[who].phases()].iter().fold(0, |sum, &left| sum.saturating_add(left))
    }

    /// What is left of a task up to its next join, and of all that it spawns before.
    #[inline]
    pub(crate) fn left(&self, task: TaskId) -> u32 {
        self.now.get(task.index()).copied().unwrap_or(0)
    }

    /// A step that weighed was taken.
    #[inline]
    pub(crate) fn take(&mut self, task: TaskId) {
        if let Some(left) = self.now.get_mut(task.index()) {
            *left = left.saturating_sub(1);
        }
    }

    /// A task begins.
    pub(crate) fn spawn(&mut self, parent: TaskId, child: TaskId) {
        let mut found = NONE;
        if let Some(place) = self.place(parent) {
            let Place { who, spawns, joins, .. } = *place;
            place.spawns += 1;
            let above = who as usize;
            if self.counting && spawns as usize == self.kin[above].children.len() {
                self.has_grown = true;
                let own = self.kin.len() as u32;
                self.kin[above].children.push(own);
                self.kin.push(Kin { parent: who, born: joins, ..Kin::default() });
            }
            found = self.kin[above].children.get(spawns as usize).copied().unwrap_or(NONE);
            if !self.counting && found != NONE {
                let whole = self.whole(found as usize);
                let born = self.phase(above, self.kin[found as usize].born);
                let left = if born == self.phase(above, joins) {
                    &mut self.now[parent.index()]
                } else {
                    &mut self.left[born]
                };
                *left = left.saturating_sub(whole);
            }
        }
        if self.places.len() <= child.index() {
            self.places.resize(child.index() + 1, Place::NOWHERE);
        }
        self.places[child.index()] = self.place_of(found);
        if !self.counting {
            if self.now.len() <= child.index() {
                self.now.resize(child.index() + 1, 0);
            }
            let left = if found == NONE { 0 } else { self.left[self.phase(found as usize, 0)] };
            self.now[child.index()] = left;
        }
    }

    /// What the next step of a task is about to touch.
    #[inline]
    pub(crate) fn touches(&mut self, task: TaskId, object: ObjectId) -> Option<Thing> {
        match self.thing.get(object.0 as usize) {
            Some(&thing) if thing != NONE => Some(Thing(thing)),
            _ => self.name(task, object),
        }
    }

    /// The same where that has not been touched yet in this execution.
    fn name(&mut self, task: TaskId, object: ObjectId) -> Option<Thing> {
        if object == ObjectId::NONE {
            return None;
        }
        let slot = object.0 as usize;
        if self.thing.len() <= slot {
            self.thing.resize(slot + 1, NONE);
        }
        let place = self.places.get(task.index()).filter(|place| place.who != NONE);
        let counted =
            place.and_then(|place| self.kin[place.who as usize].steps.get(place.steps as usize));
        self.thing[slot] = match counted.copied() {
            Some(thing) if thing != NONE => thing,
            _ if self.counting => {
                self.things += 1;
                self.things - 1
            }
            _ => return None,
        };
        Some(Thing(self.thing[slot]))
    }

    /// A step that could be chosen was taken, or is taken next. What it touches.
    #[inline]
    pub(crate) fn step(&mut self, task: TaskId, object: ObjectId) -> Option<Thing> {
        if let Some(place) = self.places.get_mut(task.index())
            && place.steps < place.known
            && let Some(&thing) = self.thing.get(object.0 as usize)
            && thing != NONE
        {
            // Nearly always: nothing is new.
            place.steps += 1;
            return Some(Thing(thing));
        }
        self.new_step(task, object)
    }

    /// The same where the step or its object may be new.
    #[inline(never)]
    fn new_step(&mut self, task: TaskId, object: ObjectId) -> Option<Thing> {
        let thing = self.touches(task, object);
        let (counting, mut grown) = (self.counting, None);
        if let Some(place) = self.place(task) {
            if counting && place.steps == place.known {
                place.known += 1;
                grown = Some(place.who);
            }
            place.steps = place.steps.saturating_add(1);
        }
        if let Some(who) = grown {
            self.has_grown = true;
            self.kin[who as usize].steps.push(thing.map_or(NONE, |Thing(thing)| thing));
        }
        thing
    }

    /// A step was taken that could not be chosen: a task went on because another has ended.
    pub(crate) fn join(&mut self, task: TaskId) {
        let Some(place) = self.place(task) else { return };
        let Place { who, steps, joins, .. } = *place;
        place.joins = joins.saturating_add(1);
        let who = who as usize;
        if !self.counting {
            let (before, after) =
                (self.phase(who, joins), self.phase(who, joins.saturating_add(1)));
            self.left[before] = self.now[task.index()];
            self.now[task.index()] = self.left[after];
        } else if joins as usize == self.kin[who].joins.len() {
            self.kin[who].joins.push(steps);
            self.has_grown = true;
        }
    }

    /// Who takes a step that touches what in which phase.
    fn each(&self) -> impl Iterator<Item = (u32, u32, u32)> {
        self.kin.iter().zip(0..).flat_map(|(kin, who)| {
            kin.steps.iter().zip(0..).map(move |(&thing, nth)| {
                let joins = kin.joins.iter().filter(|join| **join <= nth).count();
                (who, thing, kin.phase + joins as u32)
            })
        })
    }

    /// All steps.
    pub(crate) fn steps(&self) -> Steps {
        let mut steps = Steps::new();
        self.each().for_each(|(_, _, phase)| add(&mut steps, phase));
        steps
    }

    /// The objects that two tasks or more touch, each with the steps that do.
    pub(crate) fn shared(&self) -> Vec<(Thing, Steps)> {
        let mut by_thing = vec![(NONE, false, Steps::new()); self.things as usize];
        for (who, thing, phase) in self.each().filter(|(_, thing, _)| *thing != NONE) {
            let (first, shared, steps) = &mut by_thing[thing as usize];
            *shared |= *first != NONE && *first != who;
            *first = who;
            add(steps, phase);
        }
        let things = (0..).map(Thing).zip(by_thing);
        let shared = things.filter(|(_, (_, shared, _))| *shared);
        shared.map(|(thing, (_, _, steps))| (thing, steps)).collect()
    }

    pub(crate) fn save(&self, writer: &mut Writer) {
        writer.number(self.things.into());
        writer.number(self.kin.len() as u64 - 1);
        for kin in &self.kin[1..] {
            writer.number(kin.parent.into());
            writer.number(kin.born.into());
        }
        for kin in &self.kin {
            writer.number(kin.steps.len() as u64);
            for &thing in &kin.steps {
                writer.number(u64::from(thing.wrapping_add(1)));
            }
            writer.number(kin.joins.len() as u64);
            for &join in &kin.joins {
                writer.number(join.into());
            }
        }
    }

    pub(crate) fn restore(reader: &mut Reader<'_>) -> Result<Self, Unsupported> {
        // More than the steps that are kept: those of an earlier execution may have touched others.
        let things = reader.small()?;
        if things > MOST_THINGS {
            return Err(FOREIGN);
        }
        let mut counted = Self { things, ..Self::default() };
        for index in 1..=reader.length()? {
            let (parent, born) = (reader.small()?, reader.small()?);
            let above = counted.kin.get_mut(parent as usize).ok_or(FOREIGN)?;
            above.children.push(index as u32);
            counted.kin.push(Kin { parent, born, ..Kin::default() });
        }
        for kin in &mut counted.kin {
            for _ in 0..reader.length()? {
                let thing = reader.small()?.wrapping_sub(1);
                if thing >= things && thing != NONE {
                    return Err(FOREIGN);
                }
                kin.steps.push(thing);
            }
            for _ in 0..reader.length()? {
                kin.joins.push(reader.small()?);
            }
        }
        counted.freeze();
        Ok(counted)
    }
}

/// The object of a task's announced op, of which [`Pending::thread_object`](raddle_engine::strategy::Pending::thread_object)
/// says this.
#[inline]
pub(crate) fn known_object(object: ObjectId, task: TaskId, point: &Point<'_>) -> ObjectId {
    if object != ObjectId::NONE {
        return object;
    }
    point.pending.op(task).map_or(ObjectId::NONE, |op| op.object)
}

/// The object of the op that a step had announced.
pub(crate) fn object_of(step: &Step<'_>) -> ObjectId {
    step.footprint.first().map_or(ObjectId::NONE, |&(object, _)| object)
}

/// More objects than this no three executions touch; a table of them is made when a state is read.
const MOST_THINGS: u32 = 1 << 20;

/// One step more in a phase, which is that of the step before or a later one.
fn add(steps: &mut Steps, phase: u32) {
    match steps.last_mut() {
        Some((last, n)) if *last == phase => *n += 1,
        _ => steps.push((phase, 1)),
    }
}

/// The chance of an execution, of which each draw takes a part. A logarithm for each would cost as much as the draw, so
/// that of their product is taken, in parts as large as a number can hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance {
    /// One in so many, of the draws whose logarithm has not been taken.
    one_in: f64,
    /// The others: two to the minus this.
    bits: f64,
}

impl Chance {
    /// Before the first draw.
    pub(crate) const CERTAIN: Self = Self { one_in: 1.0, bits: 0.0 };

    /// What was drawn had a chance of `weight` in `total`.
    #[expect(clippy::cast_precision_loss, reason = "compared with an allowance for it")]
    #[inline]
    pub(crate) fn draw(&mut self, weight: u64, total: u64) {
        // Both are below 2^63, and signed numbers are converted by one instruction.
        self.one_in *= total.cast_signed() as f64 / weight.cast_signed() as f64;
        // A draw is of less than 2^64, so the product stays far below the largest number, which is above 10^308.
        if self.one_in > 1e250 {
            *self = Self { one_in: 1.0, bits: self.bits() };
        }
    }

    /// It is two to the minus this.
    pub(crate) fn bits(self) -> f64 {
        self.bits + self.one_in.log2()
    }
}

/// A number below `n`, which is below 2^64 divided by the number of tasks; 0 if `n` is 0.
pub(crate) fn below(rng: &mut Rng, n: u64) -> u64 {
    ((u128::from(rng.next()) * u128::from(n)) >> 64) as u64
}

/// A number below `count`, drawn with a chance in proportion to its weight, which becomes a part of `chance`. `None` if all weights
/// are 0.
#[inline]
pub(crate) fn by_weight(
    rng: &mut Rng,
    chance: &mut Chance,
    count: usize,
    weight: impl Fn(usize) -> u64,
) -> Option<usize> {
    let total: u64 = (0..count).map(&weight).sum();
    let mut drawn = below(rng, total);
    for index in 0..count {
        let weight = weight(index);
        if drawn < weight {
            chance.draw(weight, total);
            return Some(index);
        }
        drawn -= weight;
    }
    None
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
        #[expect(clippy::cast_sign_loss, reason = "a power of two is positive")]
        let number = || self.most.exp2().round() as u64;
        (self.is_noted() && even).then(number)
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
