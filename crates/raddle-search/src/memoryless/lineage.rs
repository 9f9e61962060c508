//! An order of tasks that is the same in every process.
//!
//! Numbers of tasks are given as executions show them, so two workers that begin with the same numbers may give others to
//! what each of them meets first. Which of several heads counts must not hang on that: if two workers disagree, each leaves
//! an execution to the other. Children of one task have numbers in the order of their creation in every process;
//! tasks of different parents are in the order of those.

use raddle_engine::op::TaskId;

/// Who created which task, as far as it is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Lineage {
    /// By number: the parent, and how many ancestors there are.
    parents: Vec<(TaskId, u32)>,
}

impl Lineage {
    /// A task was created.
    pub(super) fn born(&mut self, parent: TaskId, child: TaskId) {
        let depth = self.of(parent).1 + 1;
        if self.parents.len() <= child.index() {
            self.parents.resize(child.index() + 1, (TaskId::ROOT, 0));
        }
        self.parents[child.index()] = (parent, depth);
    }

    fn of(&self, task: TaskId) -> (TaskId, u32) {
        self.parents.get(task.index()).copied().unwrap_or((TaskId::ROOT, 0))
    }

    /// Whether one task is before another: its ancestors are before its descendants, and of two that are neither, those
    /// two decide that have the same parent.
    pub(super) fn precedes(&self, one: TaskId, other: TaskId) -> bool {
        let (mut one, mut other) = (one, other);
        let ((mut parent, depth), (mut others, depths)) = (self.of(one), self.of(other));
        if depth == depths && parent == others {
            return one < other;
        }
        for _ in depths..depth {
            one = parent;
            parent = self.of(one).0;
        }
        for _ in depth..depths {
            other = others;
            others = self.of(other).0;
        }
        if one == other {
            return depth < depths;
        }
        while parent != others {
            (one, other) = (parent, others);
            (parent, others) = (self.of(one).0, self.of(other).0);
        }
        one < other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_names_and_not_of_numbers() {
        // The same tasks, met in two orders: names by the way from the root.
        let names: [&[u32]; 6] = [&[], &[0], &[1], &[0, 0], &[0, 1], &[1, 0]];
        for numbers in [[0, 1, 2, 3, 4, 5], [0, 1, 2, 4, 5, 3], [0, 1, 3, 2, 4, 5]] {
            let id = |nth: usize| TaskId(numbers[nth]);
            let mut lineage = Lineage::default();
            let parents = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)];
            for (parent, child) in parents {
                lineage.born(id(parent), id(child));
            }
            for one in 0..6 {
                for other in 0..6 {
                    let wanted = names[one] < names[other];
                    assert_eq!(lineage.precedes(id(one), id(other)), wanted, "{one} {other}");
                }
            }
        }
    }
}
