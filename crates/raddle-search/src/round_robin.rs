//! One fair execution: the tasks take turns, one step each, in order of creation.
//!
//! The cheapest look at a program: does it end at all when everybody gets a turn? It follows no
//! paper; as a default order it is the round-robin explorer of Desai et al., FSE 2015.
//!
//! Misses: nearly everything. It is one execution.
//! Overreports: nothing.

use raddle_engine::strategy::{
    Answer, Checkpoint, Finished, Needs, Options, Plan, Point, Resumable, Strategy, Unsupported,
};
use raddle_trace::Covered;

use crate::order::after_last;
use crate::state::{Reader, Writer};

const NAME: &str = "round-robin";

/// Runs one execution in which the tasks take turns. Values are 0.
#[derive(Clone, Debug, Default)]
pub struct RoundRobin {
    ended: bool,
}

impl RoundRobin {
    /// The strategy before its execution.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Strategy for RoundRobin {
    fn needs(&self) -> Needs {
        Needs { plans: false, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        plan.prefix.clear();
        !self.ended
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        Answer::Take(match point.options {
            Options::Schedule(_) => after_last(point),
            Options::Value { .. } => 0,
        })
    }

    fn end(&mut self, _: &Finished<'_>) {
        self.ended = true;
    }

    fn covered(&self) -> Covered {
        Covered::Sample { executions: u64::from(self.ended), bound: None }
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }
}

impl Resumable for RoundRobin {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        let mut writer = Writer::new(NAME);
        writer.number(u64::from(self.ended));
        Ok(writer.finish())
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let mut reader = Reader::new(state, NAME)?;
        let ended = reader.flag()?;
        reader.finish()?;
        *self = Self { ended };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::{self, Op, Toy};

    fn tasks(toy: &Toy) -> Vec<u32> {
        let mut strategy = RoundRobin::new();
        let executions = toy::all(&mut strategy, toy);
        assert_eq!(executions.len(), 1);
        assert_eq!(strategy.covered(), Covered::Sample { executions: 1, bound: None });
        executions[0].iter().map(|&(task, _)| task).collect()
    }

    #[test]
    fn tasks_take_turns_in_order_of_creation() {
        assert_eq!(tasks(&Toy::independent(&[2, 2, 2])), [0, 1, 2, 0, 1, 2]);
        assert_eq!(tasks(&Toy::independent(&[1, 3, 2])), [0, 1, 2, 1, 2, 1]);
    }

    // Ids in the opposite order of creation: turns still follow creation while `last` can move.
    #[test]
    fn turns_follow_creation_and_not_ids() {
        let toy = Toy { ids: vec![9, 6, 3], ..Toy::independent(&[2, 2, 2]) };
        assert_eq!(tasks(&toy)[..4], [0, 1, 2, 0]);
    }

    // Task 1 spins; it needs task 0, which waits for the lock of task 2.
    #[test]
    fn a_task_that_cannot_move_is_passed_over() {
        let toy = Toy::new(vec![
            vec![Op::Step, Op::Lock, Op::Unlock],
            vec![Op::Step; 3],
            vec![Op::Lock, Op::Step, Op::Unlock],
        ]);
        assert_eq!(tasks(&toy), [0, 1, 2, 1, 2, 1, 2, 0, 0]);
    }

    #[test]
    fn a_finished_strategy_stays_finished_when_restored() {
        let toy = Toy::independent(&[1, 1]);
        let mut strategy = RoundRobin::new();
        toy::all(&mut strategy, &toy);
        let mut other = RoundRobin::new();
        other.restore(&strategy.save().unwrap()).unwrap();
        assert!(toy::all(&mut other, &toy).is_empty());
    }
}
