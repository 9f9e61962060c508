//! Partial order sampling: Yuan, Yang and Gu, CAV 2018.
//!
//! Every pending op has a random priority, and the highest that can move does. Whatever races with
//! it draws again. So ops that meet are ordered by fresh draws, and how the others are ordered
//! among each other costs nothing: the fewer races a partial order has, the likelier it is.
//!
//! The paper shows that each partial order of `k` steps of `n` tasks has a chance of at least
//! `n^-k`, which is the bound of random search too, times a factor that grows exponentially with
//! the steps that do not race. Only the first is computed here: the factor differs from one partial
//! order to the next.
//!
//! Where it differs from the paper:
//! - Two ops race if, by what each would do in this state, they depend on each other. An op on two
//!   objects (waiting on a condition variable gives its lock back) is compared by the first.
//! - Values are drawn with equal chances.
//!
//! Misses: bugs that need many races to go one way, with a chance that shrinks exponentially in
//! their number.
//! Overreports: its bound, for programs that need certain values too: the chance to draw those
//! comes on top.

use raddle_engine::strategy::{
    Answer, Checkpoint, Cut, Event, Finished, Needs, Options, Plan, Point, Resumable, Strategy,
    Unsupported,
};
use raddle_trace::{Covered, SampleBound};

use crate::priorities::Priorities;
use crate::rng::Rng;
use crate::state::{Reader, Writer};

const NAME: &str = "pos";

/// Runs the op of highest priority, and draws anew for those that race with it.
#[derive(Clone, Debug)]
pub struct Pos {
    rng: Rng,
    priorities: Priorities,
    /// The most tasks in any execution.
    tasks: u64,
    /// The most steps in any execution.
    steps: u64,
    executions: u64,
}

impl Pos {
    /// The sampler of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let rng = Rng::new(seed);
        Self { rng, priorities: Priorities::default(), tasks: 0, steps: 0, executions: 0 }
    }
}

impl Strategy for Pos {
    fn needs(&self) -> Needs {
        Needs { steps: true, skip_decided: true, plans: false, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        plan.prefix.clear();
        self.priorities.clear();
        plan.memoryless = true;
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        let choices = match point.options {
            Options::Schedule(choices) => choices,
            Options::Value { of, .. } => return Answer::Take(self.rng.below(of)),
        };
        let (mut best, mut highest) = (0, 0);
        for (index, choice) in choices.iter().enumerate() {
            let priority = self.priorities.of(choice.task, &mut self.rng);
            if priority > highest {
                (best, highest) = (index, priority);
            }
        }
        self.priorities.take(choices[best].task, point);
        Answer::Take(best as u32)
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        // Whether or not this step was decided: if it was, there is nothing left to forget.
        if let Event::Step(step) = event {
            self.priorities.stepped(step);
        }
        None
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.executions += 1;
        self.tasks = self.tasks.max(execution.tasks);
        self.steps = self.steps.max(execution.steps);
    }

    fn covered(&self) -> Covered {
        let bound = SampleBound::Pos { tasks: self.tasks, steps: self.steps };
        Covered::Sample {
            executions: self.executions,
            bound: (self.executions > 0).then_some(bound),
        }
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }
}

impl Resumable for Pos {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        let mut writer = Writer::new(NAME);
        for number in [self.rng.state(), self.tasks, self.steps, self.executions] {
            writer.number(number);
        }
        Ok(writer.finish())
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let mut reader = Reader::new(state, NAME)?;
        let rng = Rng::from_state(reader.number()?);
        let (tasks, steps, executions) = (reader.number()?, reader.number()?, reader.number()?);
        reader.finish()?;
        *self = Self { rng, priorities: Priorities::default(), tasks, steps, executions };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::random::Random;
    use crate::toy::{self, Moves, Op, Toy};

    /// How often each order of tasks comes up.
    fn orders(strategy: &mut dyn Strategy, toy: &Toy, n: usize) -> BTreeMap<Vec<u32>, i32> {
        let mut counts = BTreeMap::new();
        for moves in toy::first(strategy, toy, n) {
            let tasks: Vec<_> = moves.iter().map(|&(task, _)| task).collect();
            *counts.entry(tasks).or_insert(0) += 1;
        }
        counts
    }

    // One write each: whichever is first, the other two race with it and draw anew. 6 orders with
    // the same chance; the deviation of 6,000 draws in 6 cells is 29.
    #[test]
    fn ops_that_race_come_in_every_order_equally_often() {
        let toy = Toy::new(vec![vec![Op::Write(0)]; 3]);
        let counts = orders(&mut Pos::new(1), &toy, 6_000);
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|n| (n - 1_000).abs() < 180), "{counts:?}");
    }

    // Task 0 takes a steps that race with nothing and then writes what task 1 writes at once. Task 1
    // is last if its draw is below the a + 1 of task 0: 1 in a + 2. Under random 1 in 2^(a + 1).
    #[test]
    fn steps_that_do_not_race_cost_little() {
        for (a, expected) in [(1, 2_333), (2, 1_750), (3, 1_400), (4, 1_167), (5, 1_000)] {
            let mut late = vec![Op::Step; a];
            late.push(Op::Write(0));
            let toy = Toy::new(vec![late, vec![Op::Write(0)]]);
            let mut last = vec![0; a + 1];
            last.push(1);
            let found = orders(&mut Pos::new(2), &toy, 7_000)[&last];
            assert!((found - expected).abs() < 220, "{found} for {expected}");
        }
    }

    /// The pairs of steps that depend on each other, in their order.
    fn trace(toy: &Toy, moves: &Moves) -> Vec<[(u32, usize); 2]> {
        let mut at = vec![0; toy.tasks.len()];
        let mut steps = Vec::new();
        let mut pairs = Vec::new();
        for &(task, _) in moves {
            let nth = at[task as usize];
            at[task as usize] += 1;
            let op = toy.tasks[task as usize][nth];
            for &(before, other) in &steps {
                let depend = match (op, other) {
                    (Op::Write(a), Op::Read(b) | Op::Write(b)) | (Op::Read(a), Op::Write(b)) => {
                        a == b
                    }
                    _ => false,
                };
                if depend {
                    pairs.push([before, (task, nth)]);
                }
            }
            steps.push(((task, nth), op));
        }
        pairs.sort_unstable();
        pairs
    }

    // Two and three tasks of up to five steps in all, of which some race. At the bound a trace would
    // show 40 times; half of that or less has a chance of 1 in 3,000.
    #[test]
    fn every_trace_shows_as_often_as_promised() {
        let (read, write, step) = (Op::Read(0), Op::Write(0), Op::Step);
        for tasks in [
            vec![vec![read, write], vec![read, write]],
            vec![vec![step, step, write], vec![write, write]],
            vec![vec![write, write, write], vec![step, write]],
            vec![vec![step, write, step, write], vec![write]],
            vec![vec![write, write], vec![write], vec![step, write]],
            vec![vec![read, write], vec![Op::Write(1), write], vec![Op::Read(1)]],
            vec![vec![step, write], vec![step, write], vec![write]],
        ] {
            let toy = Toy::new(tasks);
            let steps: usize = toy.tasks.iter().map(Vec::len).sum();
            let one_in = toy.tasks.len().pow(steps as u32);
            let all = toy::interleavings(&toy, u32::MAX);
            let mut shown: BTreeMap<_, u32> = all.iter().map(|m| (trace(&toy, m), 0)).collect();
            let mut pos = Pos::new(3);
            for moves in toy::first(&mut pos, &toy, 40 * one_in) {
                *shown.get_mut(&trace(&toy, &moves)).unwrap() += 1;
            }
            assert!(shown.values().all(|&n| n > 20), "{:?}: {shown:?}", toy.tasks);
            let bound = SampleBound::Pos { tasks: toy.tasks.len() as u64, steps: steps as u64 };
            let executions = 40 * one_in as u64;
            assert_eq!(pos.covered(), Covered::Sample { executions, bound: Some(bound) });
        }
    }

    // `reorder(3)`: three set a and then b, one must not see only one of them set.
    #[test]
    fn it_finds_a_reordering_sooner_than_random() {
        let set = vec![Op::Write(0), Op::Write(1)];
        let toy = Toy::new(vec![set.clone(), set.clone(), set, vec![Op::Read(0), Op::Read(1)]]);
        let shows = |moves: &Moves| {
            let at = |nth| moves.iter().enumerate().filter(|(_, m)| m.0 == 3).nth(nth).unwrap().0;
            let sets = |end: usize, nth: usize| {
                (0..3).any(|task| moves[..end].iter().filter(|m| m.0 == task).count() > nth)
            };
            sets(at(0), 0) != sets(at(1), 1)
        };
        let mean = |make: &dyn Fn(u64) -> Box<dyn Strategy>| {
            let until = |seed| {
                let mut strategy = make(seed);
                let mut n = 1;
                while !shows(&toy::first(&mut *strategy, &toy, 1)[0]) {
                    n += 1;
                }
                n
            };
            (0..200).map(until).sum::<u32>() / 2
        };
        let pos = mean(&|seed| Box::new(Pos::new(seed)));
        let random = mean(&|seed| Box::new(Random::new(seed)));
        assert!(pos < random, "{pos} and {random} hundredths");
    }

    #[test]
    fn a_restored_sampler_goes_on_where_it_was() {
        let toy = Toy::new(vec![vec![Op::Write(0); 3], vec![Op::Yield, Op::Value(3)]]);
        let mut pos = Pos::new(6);
        toy::first(&mut pos, &toy, 9);
        let mut other = Pos::new(99);
        other.restore(&pos.save().unwrap()).unwrap();
        assert_eq!(other.covered(), pos.covered());
        assert_eq!(toy::first(&mut other, &toy, 9), toy::first(&mut pos, &toy, 9));
        other.restore(&Random::new(1).save().unwrap()).unwrap_err();
    }

    #[test]
    fn nothing_is_promised_before_the_first_execution() {
        assert_eq!(Pos::new(1).covered(), Covered::Sample { executions: 0, bound: None });
    }
}
