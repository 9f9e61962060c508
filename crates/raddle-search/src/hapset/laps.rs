//! Tasks that spin: a task that comes to the same statement again and again while no other
//! moves. A search that goes on with the running task would never leave a loop that waits for another
//! task without yielding.
//!
//! # Why: A task that goes round in circles makes way
//! Executions of guided searches go on with the running task, which never leaves a loop that waits without yielding;
//! after eight rounds in which no other task moved the next task does (`hapset/laps.rs`).

use raddle_engine::op::TaskId;
use raddle_engine::strategy::{Options, Point};

use super::statements::StatementId;
use crate::order::after_last;

/// How often a task may come to a statement before the others are asked.
const MAX_VISITS: u32 = 8;

/// Counts how often the running task has come to each statement since it began to run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Laps {
    task: Option<TaskId>,
    /// Its stretch of steps without another task's, by number.
    stretch: u32,
    /// By statement: the stretch in which it was counted, and how often.
    visits: Vec<(u32, u32)>,
    dizzy: bool,
}

impl Laps {
    /// An execution begins.
    pub(crate) fn begin(&mut self) {
        self.task = None;
        self.dizzy = false;
    }

    /// A task moved.
    #[inline]
    pub(crate) fn step(&mut self, task: TaskId, statement: StatementId) {
        if self.task != Some(task) {
            self.task = Some(task);
            self.stretch = self.stretch.wrapping_add(1);
            self.dizzy = false;
        }
        if self.visits.len() <= statement.index() {
            self.visits.resize(statement.index() + 1, (0, 0));
        }
        let (stretch, visits) = &mut self.visits[statement.index()];
        if *stretch != self.stretch {
            (*stretch, *visits) = (self.stretch, 0);
        }
        *visits += 1;
        self.dizzy |= *visits >= MAX_VISITS;
    }

    /// The task that should make way, if there is one.
    #[inline]
    pub(crate) fn makes_way(&self) -> Option<TaskId> {
        self.task.filter(|_| self.dizzy)
    }

    /// Who is to move instead of `chosen`: the next who may after the one that should make way.
    #[inline]
    pub(crate) fn make_way(
        &self,
        point: &Point<'_>,
        chosen: Option<u32>,
        may: impl Fn(&u32) -> bool,
    ) -> Option<u32> {
        let (Some(dizzy), Options::Schedule(choices)) = (self.makes_way(), point.options) else {
            return chosen;
        };
        if chosen.is_none_or(|chosen| choices[chosen as usize].task != dizzy) {
            return chosen;
        }
        let (from, of) = (after_last(point), choices.len() as u32);
        let round = (0..of).map(|next| (from + next) % of);
        round.into_iter().find(may).or(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_to_a_statement_too_often_makes_way_until_another_moves() {
        let mut laps = Laps::default();
        laps.begin();
        for lap in 1..=MAX_VISITS {
            assert_eq!(laps.makes_way(), None);
            laps.step(TaskId(1), StatementId(4));
            laps.step(TaskId(1), StatementId(lap + 10));
        }
        assert_eq!(laps.makes_way(), Some(TaskId(1)));
        laps.step(TaskId(2), StatementId(4));
        assert_eq!(laps.makes_way(), None);
        laps.step(TaskId(1), StatementId(4));
        assert_eq!(laps.makes_way(), None);
    }
}
