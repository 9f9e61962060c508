//! Selectively uniform random walk: Zhao, Wolff, Mathur and Roychoudhury, ASPLOS 2025.
//!
//! A bug needs few steps in the right order, most often accesses to one object. For each execution
//! one object is drawn among those that several tasks use, and the order of the accesses to it is
//! drawn so that each has the same chance: who makes the next one is decided ahead, in proportion
//! to how many accesses each task, and all that it has yet to spawn, have left before it waits for
//! another to end; the others wait before theirs. All other steps are picked at random and do not change who that is, so every
//! interleaving stays possible.
//!
//! How many accesses there are comes from counting: the first three executions are random walks
//! that count (see `counted.rs`), and are executions as any other. Those after them go on counting: where a task does
//! more than was known of it, some orders of its accesses had too little chance. Such
//! an execution adds what it did to the counts, and the chances are those of the new counts from then on.
//!
//! What a task does only in some orders may be missing in the counts: of two tasks one looks at a
//! flag once more if the other has not set it, and all executions so far had it set at once. An access that a task has announced therefore
//! weighs as one even if none was counted, so that it may come before those of others. What no task announces unless accesses to other objects come in a
//! rare order is left to random walks: every eighth execution is one.
//!
//! Where it differs from the paper:
//! - An object is drawn for each execution, all with the same chance. The paper leaves the choice
//!   of the steps open.
//! - Who is meant to come next is drawn among the tasks that can move then. If that task can no
//!   longer move, and all others wait for it, another is drawn.
//! - If no object is shared all steps are picked at random.
//! - Values are drawn with equal chances.
//! - Counts grow while it runs, an announced access has a weight, and every eighth execution draws no object. The paper counts
//!   ahead.
//!
//! The promise is checked as it goes: the chances of the orders that were drawn are compared, and if
//! they are not all the same for an object, nothing is promised.
//!
//! Misses: bugs that need the accesses to several objects in a rare order, as often as `random`
//! does.
//! Overreports: the number of interleavings, if some have not been drawn yet that have other chances. What is said of
//! partial orders not seen yet takes the chances of all executions after the third for equal, also if counts grew.

use raddle_engine::op::{ObjectId, TaskId};
use raddle_engine::strategy::{
    Answer, Checkpoint, Choice, Cut, Event, Finished, Needs, Options, Plan, Point, Resumable,
    Strategy, Unsupported,
};
use raddle_trace::{Covered, SampleBound};

use crate::counted::{
    COUNTING, Chance, Counted, Evenness, Steps, Thing, below, by_weight, known_object, object_of,
};
use crate::rng::Rng;
use crate::state::{FOREIGN, Reader, Writer};

const NAME: &str = "surw";

/// One of so many executions is a random walk after the counting ones, too.
const WALK: u64 = 8;

/// Orders the accesses to one object, drawn anew for each execution, with equal chances.
#[derive(Clone, Debug)]
pub struct Surw {
    rng: Rng,
    /// What was known when the running execution began.
    counted: Counted,
    /// The same, to which the running execution adds.
    learning: Counted,
    /// Executions after which the counts last grew.
    learned: u64,
    /// What may be drawn, once counted.
    shared: Vec<Shared>,
    /// The one that is drawn now, as an index into `shared`.
    drawn: Option<usize>,
    /// Who makes the next access.
    next: Option<TaskId>,
    /// The last decision whose step has been counted though it has not been told.
    decided: Option<u32>,
    /// Scratch: the options that need not wait.
    free: Vec<u32>,
    /// Scratch: how many accesses each option's task has left.
    weights: Vec<u64>,
    /// That of the order so far.
    chance: Chance,
    executions: u64,
}

/// An object that several tasks use.
#[derive(Clone, Debug)]
struct Shared {
    thing: Thing,
    /// How often which task does.
    uses: Steps,
    evenness: Evenness,
}

impl Surw {
    /// The sampler of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            counted: Counted::default(),
            learning: Counted::default(),
            learned: COUNTING,
            shared: Vec::new(),
            drawn: None,
            next: None,
            decided: None,
            free: Vec::new(),
            weights: Vec::new(),
            chance: Chance::CERTAIN,
            executions: 0,
        }
    }

    fn counts(&self) -> bool {
        self.executions < COUNTING
    }

    /// Whether the running execution is a random walk whatever was counted.
    fn walks(&self) -> bool {
        self.executions % WALK == WALK - 1
    }

    fn weight(&self, task: TaskId) -> u64 {
        self.counted.left(task).into()
    }

    /// Whether the op that a task has announced is on the object.
    fn meets(&mut self, task: TaskId, thing: Thing, point: &Point<'_>) -> bool {
        let object = point.pending.thread_object(task).unwrap_or(ObjectId::NONE);
        let object = known_object(object, task, point);
        self.counted.touches(task, object) == Some(thing)
    }

    /// Draws who makes the next access, by weight; none if nothing is left. A task that has announced an access has at least that one
    /// left, whatever was counted: without this the access would come after all that were counted, in every execution.
    fn draw_next(&mut self, choices: &[Choice], thing: Thing, point: &Point<'_>) -> Option<TaskId> {
        let mut weights = std::mem::take(&mut self.weights);
        weights.clear();
        for choice in choices {
            let left = self.weight(choice.task);
            let is_uncounted = left == 0 && self.meets(choice.task, thing, point);
            weights.push(left + u64::from(is_uncounted));
        }
        let drawn = by_weight(&mut self.rng, &mut self.chance, weights.len(), |nth| weights[nth]);
        self.weights = weights;
        Some(choices[drawn?].task)
    }

    /// Any of those that need not wait for the next access to a thing; `None` if all must.
    fn pick(&mut self, choices: &[Choice], thing: Thing, point: &Point<'_>) -> Option<usize> {
        let mut free = std::mem::take(&mut self.free);
        free.clear();
        for (index, choice) in (0..).zip(choices) {
            if Some(choice.task) == self.next || !self.meets(choice.task, thing, point) {
                free.push(index);
            }
        }
        let nth = self.rng.below(free.len() as u32) as usize;
        let picked = free.get(nth).map(|&index| index as usize);
        self.free = free;
        picked
    }

    fn choose(&mut self, choices: &[Choice], point: &Point<'_>) -> usize {
        let Some(drawn) = self.drawn else {
            // Nothing weighs. The number is drawn that one who weighs more than others would take.
            self.rng.next();
            return self.rng.below(choices.len() as u32) as usize;
        };
        let thing = self.shared[drawn].thing;
        // One that is finished will not make an access, whatever was counted.
        let is_over =
            |task| point.pending.thread_object(task).is_none() && point.pending.op(task).is_none();
        if self.next.is_none_or(is_over) {
            self.next = self.draw_next(choices, thing, point);
        }
        if self.next.is_some() {
            if let Some(index) = self.pick(choices, thing, point) {
                return index;
            }
            self.next = self.draw_next(choices, thing, point);
            let next = choices.iter().position(|choice| Some(choice.task) == self.next);
            if let Some(index) = next {
                return index;
            }
        }
        // No task is known to have an access left.
        self.rng.below(choices.len() as u32) as usize
    }
}

impl Surw {
    /// A task was created.
    fn spawned(&mut self, parent: TaskId, child: TaskId) {
        self.learning.spawn(parent, child);
        self.counted.spawn(parent, child);
        // The next access was to be made by the parent or by what it spawns.
        if self.next == Some(parent) {
            let (own, its) = (self.weight(parent), self.weight(child));
            if below(&mut self.rng, own + its) >= own && its > 0 {
                self.next = Some(child);
            }
            let chosen = if self.next == Some(child) { its } else { own };
            if chosen > 0 {
                self.chance.draw(chosen, own + its);
            }
        }
    }

    /// A step that could be chosen was executed, or comes next.
    #[inline]
    fn executed(&mut self, task: TaskId, object: ObjectId) {
        self.learning.step(task, object);
        let thing = self.counted.step(task, object);
        let Some(drawn) = self.drawn else { return };
        if thing == Some(self.shared[drawn].thing) {
            self.counted.take(task);
            if self.next == Some(task) {
                self.next = None;
            }
        }
    }

    /// A task went on because another has ended.
    fn joined(&mut self, task: TaskId) {
        self.learning.join(task);
        self.counted.join(task);
    }
}

impl Strategy for Surw {
    fn needs(&self) -> Needs {
        Needs { steps: true, skip_decided: true, plans: false, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        plan.prefix.clear();
        (self.drawn, self.next, self.chance) = (None, None, Chance::CERTAIN);
        self.decided = None;
        self.learning.count();
        if self.counts() {
            self.counted.count();
            return true;
        }
        if !self.shared.is_empty() && !self.walks() {
            self.drawn = Some(self.rng.below(self.shared.len() as u32) as usize);
        }
        self.counted.weigh(self.drawn.map_or(&[], |drawn| &self.shared[drawn].uses));
        plan.memoryless = true;
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        let choices = match point.options {
            Options::Schedule(choices) => choices,
            Options::Value { of, .. } => return Answer::Take(self.rng.below(of)),
        };
        let index = if self.counts() {
            self.rng.below(choices.len() as u32) as usize
        } else {
            self.choose(choices, point)
        };
        let task = choices[index].task;
        // A task without a stack may create others in its step, which weigh by what was before it.
        if let Some(object) = point.pending.thread_object(task) {
            self.executed(task, known_object(object, task, point));
            self.decided = Some(point.index);
        }
        Answer::Take(index as u32)
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        match event {
            Event::Spawn { parent, child } => self.spawned(*parent, *child),
            Event::Value { .. }
            | Event::Unasked { .. }
            | Event::Passed { .. }
            | Event::Actor(_) => {}
            Event::Step(step) if step.immediate => self.joined(step.task),
            Event::Step(step) if step.point.is_some() && step.point == self.decided => {}
            Event::Step(step) => self.executed(step.task, object_of(step)),
        }
        None
    }

    fn end(&mut self, _: &Finished<'_>) {
        if let Some(drawn) = self.drawn {
            self.shared[drawn].evenness.note(self.chance.bits());
        }
        self.executions += 1;
        let has_grown = self.learning.end();
        if self.executions >= COUNTING && (has_grown || self.executions == COUNTING) {
            self.learned = self.executions;
            self.counted = self.learning.clone();
            self.counted.freeze();
            let shared = |(thing, uses)| Shared { thing, uses, evenness: Evenness::default() };
            self.shared = self.counted.shared().into_iter().map(shared).collect();
        }
    }

    fn covered(&self) -> Covered {
        // Those that have not been drawn yet have nothing to say.
        let drawn = self.shared.iter().filter(|shared| shared.evenness.is_noted());
        let interleavings = drawn.map(|shared| shared.evenness.of()).max_by_key(|of| match of {
            None => (1, 0),
            Some(n) => (0, *n),
        });
        let bound = interleavings.flatten().map(|interleavings| SampleBound::Selected {
            objects: self.shared.len() as u64,
            interleavings,
            counting: self.learned + self.executions / WALK - self.learned / WALK,
        });
        Covered::Sample { executions: self.executions, bound }
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }
}

impl Resumable for Surw {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        let mut writer = Writer::new(NAME);
        writer.number(self.rng.state());
        writer.number(self.executions);
        writer.number(self.learned);
        // Between two executions both tables are the same, but that one has its phases numbered.
        self.learning.save(&mut writer);
        writer.number(self.shared.len() as u64);
        for shared in &self.shared {
            shared.evenness.save(&mut writer);
        }
        Ok(writer.finish())
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let mut reader = Reader::new(state, NAME)?;
        let (rng, executions) = (Rng::from_state(reader.number()?), reader.number()?);
        let learned = reader.number()?;
        let counted = Counted::restore(&mut reader)?;
        let mut shared = Vec::new();
        let things = if executions < COUNTING { Vec::new() } else { counted.shared() };
        if reader.length()? != things.len() {
            return Err(FOREIGN);
        }
        for (thing, uses) in things {
            shared.push(Shared { thing, uses, evenness: Evenness::restore(&mut reader)? });
        }
        reader.finish()?;
        let learning = counted.clone();
        *self = Self { rng, counted, learning, learned, shared, executions, ..Self::new(0) };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::random::Random;
    use crate::toy::{self, Op, Toy};

    /// The order in which tasks write the object: those of their steps with these numbers.
    fn order(toy: &Toy, moves: &toy::Moves, object: u32) -> Vec<u32> {
        let mut at = vec![0; toy.tasks.len()];
        let mut order = Vec::new();
        for &(task, _) in moves {
            let op = toy.tasks[task as usize][at[task as usize]];
            at[task as usize] += 1;
            if op == Op::Write(object) {
                order.push(task);
            }
        }
        order
    }

    /// Of so many executions those that are no random walks.
    fn drawn(surw: &mut Surw, toy: &Toy, n: u64) -> Vec<toy::Moves> {
        let begin = surw.executions;
        let all = (begin..).zip(toy::first(surw, toy, n as usize));
        all.filter(|(at, _)| at % WALK != WALK - 1).map(|(_, moves)| moves).collect()
    }

    // One object is shared. Task 0 writes it twice, with many steps before and between; task 1 does
    // at once, three times. C(5, 2) = 10 orders; seven eighths of 10,000 executions are drawn, and the deviation of 8,750 draws in
    // 10 cells is 28.
    #[test]
    fn every_order_of_the_accesses_to_the_object_comes_up_equally_often() {
        let mut slow = vec![Op::Step; 5];
        slow.push(Op::Write(0));
        let toy = Toy::new(vec![[slow.clone(), slow].concat(), vec![Op::Write(0); 3]]);
        let mut surw = Surw::new(1);
        toy::first(&mut surw, &toy, COUNTING as usize);
        let mut counts = BTreeMap::new();
        for moves in drawn(&mut surw, &toy, 10_000) {
            *counts.entry(order(&toy, &moves, 0)).or_insert(0_i32) += 1;
        }
        assert_eq!(counts.len(), 10);
        assert!(counts.values().all(|n| (n - 875).abs() < 168), "{counts:?}");
        let executions = COUNTING + 10_000;
        let counting = COUNTING + executions / WALK;
        let bound = SampleBound::Selected { objects: 1, interleavings: 10, counting };
        assert_eq!(surw.covered(), Covered::Sample { executions, bound: Some(bound) });
    }

    // C(4, 2) orders of one object, C(3, 1) of the other.
    #[test]
    fn each_shared_object_has_its_turn() {
        let writes = |a: usize, b: usize| [vec![Op::Write(0); a], vec![Op::Write(1); b]].concat();
        let toy = Toy::new(vec![writes(2, 1), writes(2, 2)]);
        let mut surw = Surw::new(1);
        let all = toy::first(&mut surw, &toy, 5_000);
        let counting = COUNTING + 5_000 / WALK;
        let bound = SampleBound::Selected { objects: 2, interleavings: 6, counting };
        assert_eq!(surw.covered(), Covered::Sample { executions: 5_000, bound: Some(bound) });
        // C(7, 3), every one of them.
        assert_eq!(all.into_iter().collect::<BTreeSet<_>>().len(), 35);
    }

    #[test]
    fn without_a_shared_object_it_is_random() {
        let mut surw = Surw::new(1);
        let all = toy::first(&mut surw, &Toy::independent(&[2, 2]), 500);
        assert_eq!(all.into_iter().collect::<BTreeSet<_>>().len(), 6);
        assert_eq!(surw.covered(), Covered::Sample { executions: 500, bound: None });
    }

    // Task 1 was counted with one access and makes three. With counts that stay, its second would always come
    // after both of task 0.
    #[test]
    fn what_was_counted_wrong_is_learned() {
        let of = |own: usize| Toy::new(vec![vec![Op::Write(0); 2], vec![Op::Write(0); own]]);
        let mut surw = Surw::new(1);
        toy::first(&mut surw, &of(1), COUNTING as usize);
        let toy = of(3);
        toy::first(&mut surw, &toy, 1);
        let mut counts = BTreeMap::new();
        for moves in drawn(&mut surw, &toy, 10_000) {
            *counts.entry(order(&toy, &moves, 0)).or_insert(0_i32) += 1;
        }
        // C(5, 2), as if it had been known from the beginning.
        assert_eq!(counts.len(), 10);
        assert!(counts.values().all(|n| (n - 875).abs() < 168), "{counts:?}");
        let executions = COUNTING + 10_001;
        let counting = COUNTING + 1 + executions / WALK;
        let bound = SampleBound::Selected { objects: 1, interleavings: 10, counting };
        assert_eq!(surw.covered(), Covered::Sample { executions, bound: Some(bound) });
    }

    // Task 1 was counted with one access and makes two. With the weights that were counted its second would come after both of task 0
    // in the first execution that is drawn, with every seed.
    #[test]
    fn an_announced_access_that_was_not_counted_may_come_early() {
        let of = |own: usize| Toy::new(vec![vec![Op::Write(0); 2], vec![Op::Write(0); own]]);
        let mut orders = BTreeSet::new();
        for seed in 0..200 {
            let mut surw = Surw::new(seed);
            toy::first(&mut surw, &of(1), COUNTING as usize);
            orders.insert(order(&of(2), &toy::first(&mut surw, &of(2), 1)[0], 0));
        }
        // C(4, 2).
        assert_eq!(orders.len(), 6, "{orders:?}");
    }

    #[test]
    fn wrong_counts_keep_nobody_from_moving() {
        let writers = |n: &[usize]| Toy::new(n.iter().map(|&n| vec![Op::Write(0); n]).collect());
        for (counted, other) in [(&[1, 1][..], &[4, 4, 4][..]), (&[50, 1, 9], &[1, 1])] {
            let mut surw = Surw::new(1);
            toy::first(&mut surw, &writers(counted), COUNTING as usize);
            let all = toy::first(&mut surw, &writers(other), 1_000);
            // One of which nothing is known waits for those that are meant to be next.
            for task in 0..other.len().min(counted.len()) as u32 {
                assert!(all.iter().any(|moves| moves[0].0 == task), "{task} never comes first");
            }
        }
    }

    #[test]
    fn a_restored_sampler_goes_on_where_it_was() {
        let toy = Toy::new(vec![
            vec![Op::Write(0); 3],
            vec![Op::Yield, Op::Value(3), Op::Write(0), Op::Write(1)],
            vec![Op::Write(1); 2],
        ]);
        for before in [1, 9] {
            let mut surw = Surw::new(6);
            toy::first(&mut surw, &toy, before);
            let mut other = Surw::new(99);
            other.restore(&surw.save().unwrap()).unwrap();
            assert_eq!(other.covered(), surw.covered());
            assert_eq!(toy::first(&mut other, &toy, 9), toy::first(&mut surw, &toy, 9));
            other.restore(&Random::new(1).save().unwrap()).unwrap_err();
        }
    }
}
