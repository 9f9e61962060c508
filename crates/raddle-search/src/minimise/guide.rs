//! An order in which tasks should move, which an execution follows as far as it can.

use raddle_engine::op::TaskId;
use raddle_engine::strategy::{Finished, Options, Point};
use raddle_trace::Size;

/// Some moves of one task, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) task: TaskId,
    pub(crate) moves: u32,
}

/// What happened in one execution, as far as it can guide another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    /// Its decisions.
    pub(crate) options: Vec<u32>,
    /// Who moved.
    moves: Vec<TaskId>,
    /// The values that were decided, and the tasks that they were decided for.
    pub(crate) values: Vec<(TaskId, u32)>,
    last: Option<TaskId>,
    pub(crate) size: Size,
}

impl Run {
    /// Hears of a step. One that ran without a choice is not kept.
    pub(crate) fn step(&mut self, task: TaskId, immediate: bool) {
        if !immediate {
            self.moves.push(task);
        }
        let before = self.last.replace(task);
        self.size.switches += u32::from(before.is_some_and(|before| before != task));
    }

    pub(crate) fn value(&mut self, task: TaskId, value: u32) {
        self.values.push((task, value));
        self.size.values += u32::from(value > 0);
    }

    pub(crate) fn end(&mut self, execution: &Finished<'_>) {
        self.options.extend(execution.decisions.iter().map(|taken| taken.option));
        (self.size.steps, self.size.tasks) = (execution.steps, execution.tasks);
    }

    /// The tasks that moved, each with the number of steps that it took before another one did.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let same = |a: &TaskId, b: &TaskId| a == b;
        let chunks = self.moves.chunk_by(same);
        chunks.map(|chunk| Block { task: chunk[0], moves: chunk.len() as u32 }).collect()
    }
}

/// The order, and how far an execution is in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guide {
    /// By task: the places of its moves in the order, and how many it has made.
    lanes: Vec<Lane>,
}

#[derive(Clone, Debug, Default)]
struct Lane {
    places: Vec<u32>,
    moved: usize,
    values: Vec<u32>,
    asked: usize,
}

impl Guide {
    /// These blocks, one after the other, and each task's values.
    pub(crate) fn new(blocks: &[Block], values: &[(TaskId, u32)]) -> Self {
        let mut guide = Self::default();
        let mut place = 0;
        for block in blocks {
            let lane = guide.lane(block.task);
            lane.places.extend(place..place + block.moves);
            place += block.moves;
        }
        for &(task, value) in values {
            guide.lane(task).values.push(value);
        }
        guide
    }

    fn lane(&mut self, task: TaskId) -> &mut Lane {
        if self.lanes.len() <= task.index() {
            self.lanes.resize_with(task.index() + 1, Lane::default);
        }
        &mut self.lanes[task.index()]
    }

    /// A new execution begins.
    pub(crate) fn begin(&mut self) {
        for lane in &mut self.lanes {
            (lane.moved, lane.asked) = (0, 0);
        }
    }

    pub(crate) fn moved(&mut self, task: TaskId) {
        self.lane(task).moved += 1;
    }

    /// The task that comes next in the order and can move; where none does, the running task, or the first.
    pub(crate) fn option(&mut self, point: &Point<'_>) -> u32 {
        match point.options {
            Options::Schedule(choices) => {
                let place = |task: TaskId| {
                    let lane = self.lanes.get(task.index())?;
                    lane.places.get(lane.moved).copied()
                };
                let next = (0..choices.len() as u32)
                    .filter_map(|option| Some((place(choices[option as usize].task)?, option)))
                    .min();
                next.map(|(_, option)| option).or_else(|| point.running_option()).unwrap_or(0)
            }
            Options::Value { task, of, .. } => {
                let lane = self.lane(task);
                let value = lane.values.get(lane.asked).copied().unwrap_or(0);
                lane.asked += 1;
                if value < of { value } else { 0 }
            }
        }
    }
}
