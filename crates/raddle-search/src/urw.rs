//! Uniform random walk: Zhao, Wolff, Mathur and Roychoudhury, ASPLOS 2025.
//!
//! A task moves next with a chance in proportion to the steps that it, and all that it has yet to
//! spawn, have left before it waits for another to end. So every interleaving has the same chance, where under `random` one in which
//! a task stays behind is exponentially rarer than others. How many steps that is comes from
//! counting: the first three executions are random walks that count (see `counted.rs`), and are
//! executions as any other. After them the counts stay.
//!
//! Where it differs from the paper:
//! - The counts are by task, whichever schedule they come from. A task that goes beyond its count
//!   counts as one with one step left, so it is never forgotten.
//! - To join is no step. What a task does after it has joined another does not weigh before: the
//!   chances stay the same if it joins all that run beside it.
//! - Values are drawn with equal chances.
//!
//! The promise is checked as it goes: the chances of the executions that were drawn are compared,
//! and if they are not all the same, nothing is promised.
//!
//! Misses: interleavings that are one of very many. Uniform over interleavings is not uniform over
//! partial orders.
//! Overreports: the number of interleavings, if some have not been drawn yet that have other chances.

use raddle_engine::op::TaskId;
use raddle_engine::strategy::{
    Answer, Checkpoint, Choice, Cut, Event, Finished, Needs, Options, Plan, Point, Resumable,
    Strategy, Unsupported,
};
use raddle_trace::{Covered, SampleBound};

use crate::counted::{
    COUNTING, Chance, Counted, Evenness, Steps, by_weight, known_object, object_of,
};
use crate::rng::Rng;
use crate::state::{Reader, Writer};

const NAME: &str = "urw";

/// Picks a task by the number of steps that it has left.
#[derive(Clone, Debug)]
pub struct Urw {
    rng: Rng,
    counted: Counted,
    steps: Steps,
    /// Of the running execution.
    chance: Chance,
    /// The last decision whose step has been counted though it has not been told.
    decided: Option<u32>,
    evenness: Evenness,
    executions: u64,
}

impl Urw {
    /// The sampler of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            counted: Counted::default(),
            steps: Steps::new(),
            chance: Chance::CERTAIN,
            decided: None,
            evenness: Evenness::default(),
            executions: 0,
        }
    }

    fn counts(&self) -> bool {
        self.executions < COUNTING
    }

    fn pick(&mut self, choices: &[Choice]) -> usize {
        // At least 1, so that every task that can move is picked some time, however wrong the counts are.
        let weight = |nth: usize| self.counted.left(choices[nth].task).max(1).into();
        by_weight(&mut self.rng, &mut self.chance, choices.len(), weight)
            .expect("every weight is above 0")
    }

    /// The task was chosen that moves next: counts its step, unless that has to be told first.
    #[inline]
    fn take(&mut self, task: TaskId, point: &Point<'_>) {
        if !self.counts() {
            self.counted.take(task);
        } else if let Some(object) = point.pending.thread_object(task) {
            self.counted.step(task, known_object(object, task, point));
        } else {
            return;
        }
        self.decided = Some(point.index);
    }
}

impl Strategy for Urw {
    fn needs(&self) -> Needs {
        Needs { steps: true, skip_decided: true, plans: false, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        plan.prefix.clear();
        (self.chance, self.decided) = (Chance::CERTAIN, None);
        if self.counts() {
            self.counted.count();
        } else {
            self.counted.weigh(&self.steps);
        }
        plan.memoryless = !self.counts();
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
            self.pick(choices)
        };
        self.take(choices[index].task, point);
        Answer::Take(index as u32)
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        match event {
            Event::Spawn { parent, child } => self.counted.spawn(*parent, *child),
            Event::Value { .. }
            | Event::Unasked { .. }
            | Event::Passed { .. }
            | Event::Actor(_) => {}
            Event::Step(step) if step.immediate => self.counted.join(step.task),
            Event::Step(step) if step.point.is_some() && step.point == self.decided => {}
            Event::Step(step) if self.counts() => {
                self.counted.step(step.task, object_of(step));
            }
            Event::Step(step) => self.counted.take(step.task),
        }
        None
    }

    fn end(&mut self, _: &Finished<'_>) {
        if !self.counts() {
            self.evenness.note(self.chance.bits());
        }
        self.executions += 1;
        if self.executions == COUNTING {
            self.counted.freeze();
            self.steps = self.counted.steps();
        }
    }

    fn covered(&self) -> Covered {
        let uniform = |interleavings| SampleBound::Uniform { interleavings, counting: COUNTING };
        Covered::Sample { executions: self.executions, bound: self.evenness.of().map(uniform) }
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }
}

impl Resumable for Urw {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        let mut writer = Writer::new(NAME);
        writer.number(self.rng.state());
        writer.number(self.executions);
        self.evenness.save(&mut writer);
        self.counted.save(&mut writer);
        Ok(writer.finish())
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let mut reader = Reader::new(state, NAME)?;
        let (rng, executions) = (Rng::from_state(reader.number()?), reader.number()?);
        let evenness = Evenness::restore(&mut reader)?;
        let counted = Counted::restore(&mut reader)?;
        reader.finish()?;
        let steps = counted.steps();
        *self = Self { rng, counted, steps, evenness, executions, ..Self::new(0) };
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::random::Random;
    use crate::toy::{self, Op, Toy};

    fn binomial(n: u64, k: u64) -> u64 {
        (1..=k).fold(1, |product, i| product * (n - k + i) / i)
    }

    /// The executions after counting, and how often each came up.
    fn counts(urw: &mut Urw, toy: &Toy, n: usize) -> BTreeMap<toy::Moves, u64> {
        toy::first(urw, toy, COUNTING as usize);
        let mut counts = BTreeMap::new();
        for moves in toy::first(urw, toy, n) {
            *counts.entry(moves).or_insert(0) += 1;
        }
        counts
    }

    // Chi-square with f degrees of freedom has the mean f and the deviation sqrt(2 f): five of them
    // are exceeded with a chance of less than 1e-5.
    #[test]
    fn every_interleaving_of_two_tasks_comes_up_equally_often() {
        for (a, b) in [(1, 1), (2, 2), (1, 6), (3, 4), (5, 2)] {
            let cells = binomial(a + b, a);
            let n = 200 * cells;
            let mut urw = Urw::new(a);
            let toy = Toy::independent(&[a as usize, b as usize]);
            let counts = counts(&mut urw, &toy, n as usize);
            assert_eq!(counts.len() as u64, cells);
            let square = |&count: &u64| (count as f64 - 200.0).powi(2) / 200.0;
            let (sum, free) = (counts.values().map(square).sum::<f64>(), (cells - 1) as f64);
            assert!(sum < free + 5.0 * (2.0 * free).sqrt(), "{a}, {b}: {sum} for {free}");
            let bound = SampleBound::Uniform { interleavings: cells, counting: COUNTING };
            let executions = COUNTING + n;
            assert_eq!(urw.covered(), Covered::Sample { executions, bound: Some(bound) });
        }
    }

    // 9! / (2! 3! 4!) = 1260. Under random the one in which the longest goes last is rarer.
    #[test]
    fn urw_draws_every_interleaving_of_three_tasks_alike() {
        let mut urw = Urw::new(1);
        let counts = counts(&mut urw, &Toy::independent(&[2, 3, 4]), 126_000);
        assert_eq!(counts.len(), 1_260);
        let square = |&count: &u64| (count as f64 - 100.0).powi(2) / 100.0;
        let sum: f64 = counts.values().map(square).sum();
        assert!(sum < 1_259.0 + 5.0 * 2_518_f64.sqrt(), "{sum}");
    }

    // The second task finds the lock held or not: the chances differ, and nothing is promised.
    #[test]
    fn nothing_is_promised_where_tasks_wait() {
        let locked = vec![Op::Lock, Op::Step, Op::Unlock];
        let mut urw = Urw::new(1);
        toy::first(
            &mut urw,
            &Toy::new(vec![locked.clone(), [locked, vec![Op::Step]].concat()]),
            99,
        );
        assert_eq!(urw.covered(), Covered::Sample { executions: 99, bound: None });
    }

    #[test]
    fn nothing_is_promised_while_it_counts() {
        let mut urw = Urw::new(1);
        toy::first(&mut urw, &Toy::independent(&[2, 2]), COUNTING as usize);
        assert_eq!(urw.covered(), Covered::Sample { executions: COUNTING, bound: None });
        assert!(toy::is_memoryless(&mut urw));
    }

    // It counted another program: more tasks and more steps than it knows, and fewer.
    #[test]
    fn wrong_counts_keep_nobody_from_moving() {
        for (counted, other) in [(&[1, 1][..], &[4, 4, 4][..]), (&[50, 1, 9], &[1, 1])] {
            let mut urw = Urw::new(1);
            toy::first(&mut urw, &Toy::independent(counted), COUNTING as usize);
            let firsts = toy::first(&mut urw, &Toy::independent(other), 1_000);
            for task in 0..other.len() as u32 {
                assert!(firsts.iter().any(|moves| moves[0].0 == task), "{task} never comes first");
            }
        }
    }

    #[test]
    fn a_restored_sampler_goes_on_where_it_was() {
        let toy = Toy::new(vec![vec![Op::Write(0); 3], vec![Op::Yield, Op::Value(3)]]);
        for before in [1, 9] {
            let mut urw = Urw::new(6);
            toy::first(&mut urw, &toy, before);
            let mut other = Urw::new(99);
            other.restore(&urw.save().unwrap()).unwrap();
            assert_eq!(other.covered(), urw.covered());
            assert_eq!(toy::first(&mut other, &toy, 9), toy::first(&mut urw, &toy, 9));
            other.restore(&Random::new(1).save().unwrap()).unwrap_err();
        }
    }
}
