//! Who could have moved at a point, and what each would have done there.
//!
//! A path has as many of these lists as points. Most are short, and are part of their node: a list of its own for each
//! would cost as much as all else that is done at a point.

use std::ops::Deref;

use raddle_engine::op::{Access, TaskId};
use serde::{Deserialize, Serialize};

/// A task that could move.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Movable {
    pub(super) task: TaskId,
    /// What it would have done to its object, if that is kept.
    pub(super) access: Option<Access>,
}

/// So many are part of the node.
const FEW: usize = 4;

const UNUSED: Movable = Movable { task: TaskId::ROOT, access: None };

/// The tasks that could move at a point, in order of creation.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Vec<Movable>", into = "Vec<Movable>")]
pub(super) enum MovableTasks {
    Few { len: u8, tasks: [Movable; FEW] },
    Many(Vec<Movable>),
}

impl MovableTasks {
    /// A list of these. `spare`: lists that are not used any more.
    #[inline]
    pub(super) fn new(
        movable: impl ExactSizeIterator<Item = Movable>,
        spare: &mut Vec<Vec<Movable>>,
    ) -> Self {
        let len = movable.len();
        if len > FEW {
            let mut tasks = spare.pop().unwrap_or_default();
            tasks.clear();
            tasks.extend(movable);
            return Self::Many(tasks);
        }
        let mut tasks = [UNUSED; FEW];
        for (place, movable) in tasks.iter_mut().zip(movable) {
            *place = movable;
        }
        Self::Few { len: len as u8, tasks }
    }

    /// Gives its allocation to others, if it has one.
    #[inline]
    pub(super) fn leave(self, spare: &mut Vec<Vec<Movable>>) {
        if let Self::Many(tasks) = self {
            spare.push(tasks);
        }
    }

    pub(super) fn contains(&self, task: TaskId) -> bool {
        self.place_of(task).is_some()
    }

    #[inline]
    pub(super) fn place_of(&self, task: TaskId) -> Option<usize> {
        self.iter().position(|movable| movable.task == task)
    }
}

impl Deref for MovableTasks {
    type Target = [Movable];

    #[inline]
    fn deref(&self) -> &[Movable] {
        match self {
            Self::Few { len, tasks } => &tasks[..usize::from(*len)],
            Self::Many(tasks) => tasks,
        }
    }
}

impl From<Vec<Movable>> for MovableTasks {
    fn from(tasks: Vec<Movable>) -> Self {
        Self::new(tasks.into_iter(), &mut Vec::new())
    }
}

impl From<MovableTasks> for Vec<Movable> {
    fn from(tasks: MovableTasks) -> Self {
        tasks.to_vec()
    }
}
