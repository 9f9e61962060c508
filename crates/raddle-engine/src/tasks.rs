//! The tasks of a search by number, and which of them are part of the running execution.

use std::fmt::Write as _;

use raddle_trace::{TaskKind, TaskName};

use crate::fiber::{Fiber, Idlers};
use crate::names::Names;
use crate::op::{Name, TaskId};
use crate::packet::Blocks;
use crate::task::{State, Task};

/// All tasks that a search has met, and their order of creation in this execution.
#[derive(Debug)]
pub(crate) struct TaskTable {
    /// By task id. Boxed: tasks do not move while others are created.
    #[expect(clippy::vec_box, reason = "pending ops point into tasks, which must not move")]
    pub(crate) list: Vec<Box<Task>>,
    pub(crate) names: Names,
    /// The tasks of this execution, in order of creation.
    pub(crate) created: Vec<TaskId>,
    /// Those of them that have code and have not exited.
    pub(crate) n_live: u32,
    /// Panics of this execution, of all tasks.
    pub(crate) n_panics: u32,
    /// Stacks for tasks to come.
    pub(crate) idlers: Idlers,
    /// Memory for what they run.
    pub(crate) blocks: Blocks,
}

impl TaskTable {
    pub(crate) fn new() -> Self {
        let list = vec![Box::new(Task::absent())];
        let (names, idlers, blocks) = (Names::new(), Idlers::default(), Blocks::default());
        Self { list, names, created: Vec::new(), n_live: 0, n_panics: 0, idlers, blocks }
    }

    /// Forgets the last search. Keeps every allocation.
    pub(crate) fn renew(&mut self) {
        self.names = Names::new();
        for task in &mut self.list {
            task.state = State::Absent;
        }
    }

    /// Forgets the last execution.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.created.clear();
        self.n_live = 0;
        self.n_panics = 0;
    }

    #[inline]
    pub(crate) fn get(&self, task: TaskId) -> &Task {
        &self.list[task.index()]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, task: TaskId) -> &mut Task {
        &mut self.list[task.index()]
    }

    /// Its place in the order of creation.
    pub(crate) fn seq(&self, task: TaskId) -> u32 {
        self.get(task).lineage.seq
    }

    /// The task with this key that is not part of the execution yet.
    pub(crate) fn intern_key(&mut self, key: u64) -> TaskId {
        let Self { list, names, created, .. } = self;
        let is_part = |task: TaskId| {
            list.get(task.index()).is_some_and(|entry| {
                entry.state != State::Absent
                    && created.get(entry.lineage.seq as usize).is_some_and(|&known| known == task)
            })
        };
        names.intern_key(key, is_part)
    }

    /// How a person calls a task.
    pub(crate) fn label(&self, task: TaskId) -> String {
        if let Some(label) =
            self.list.get(task.index()).and_then(|task| task.lineage.label.as_ref())
        {
            return label.to_string();
        }
        if task == TaskId::ROOT {
            return "main".to_owned();
        }
        let name = self.names.get(task);
        let parent = self.label(name.parent);
        match name.kind {
            TaskKind::Environment if name.nth > i32::MAX as u32 => format!("link {:08x}", name.nth),
            TaskKind::Environment => format!("timer of {parent}"),
            _ if name.parent == TaskId::ROOT => format!("thread {}", name.nth + 1),
            _ => format!("{parent}.{}", name.nth + 1),
        }
    }

    /// What a debugger needs to show the stack of each task: see [`raddle_tasks`](crate::inspect::raddle_tasks).
    pub(crate) fn stacks(&self) -> String {
        let fibers: Vec<(TaskId, *mut Fiber)> = self
            .created
            .iter()
            .map(|&task| (task, self.get(task)))
            .filter(|(_, entry)| entry.state == State::Live && !entry.fiber.is_null())
            .map(|(task, entry)| (task, entry.fiber))
            .collect();
        let mut left: Vec<usize> =
            // SAFETY: a task that has not exited has a live fiber.
            fibers.iter().map(|&(_, fiber)| unsafe { Fiber::left_at(fiber) }).collect();
        // A task that runs has not been left, nor has one that waits for another to begin, which it runs itself: that one knows
        // where.
        let mut at = Fiber::stack_pointer();
        let on = |at: usize| {
            // SAFETY: as above.
            let is_its =
                |&(_, fiber): &(TaskId, *mut Fiber)| unsafe { Fiber::stack(fiber) }.contains(&at);
            fibers.iter().position(is_its)
        };
        for depth in 0..fibers.len() {
            let Some(nth) = on(at) else { break };
            left[nth] = if depth == 0 { 0 } else { at };
            // SAFETY: as above; it runs, or has resumed one that does.
            at = unsafe { Fiber::resumed_at(fibers[nth].1) };
        }
        let mut text = String::new();
        for (&(task, _), left) in fibers.iter().zip(left) {
            // SAFETY: code was left there and has not been gone back to.
            let [instruction, stack, frame] = unsafe { Fiber::goes_on_with(left) };
            let state = match left {
                _ if !Fiber::IS_DIRECT => "unknown",
                0 => "runs",
                _ => "left",
            };
            let name = self.label(task);
            let _ = writeln!(text, "{state} {instruction:#x} {stack:#x} {frame:#x} {name}");
        }
        text
    }

    /// A task of this execution as data: by its place in the order of creation.
    pub(crate) fn name(&self, task: TaskId) -> TaskName {
        let Name { parent, nth, kind } = self.names.get(task);
        let label = self.get(task).lineage.label.as_ref().map(ToString::to_string);
        TaskName { parent: self.seq(parent), nth, kind, label }
    }

    /// Whether spawns and joins alone put the step of one task before that of another.
    pub(crate) fn is_before(&self, first: (TaskId, u64), second: (TaskId, u64)) -> bool {
        // By task: from which step on it is known to be after the first.
        let mut after = vec![u64::MAX; self.list.len()];
        after[first.0.index()] = first.1;
        loop {
            let mut changed = false;
            for &task in &self.created {
                let (parent, born) = self.get(task).lineage.born;
                if task != TaskId::ROOT && after[parent.index()] <= born && after[task.index()] > 0
                {
                    after[task.index()] = 0;
                    changed = true;
                }
                if let Some((joiner, step)) = self.get(task).lineage.joined
                    && after[task.index()] != u64::MAX
                    && after[joiner.index()] > step
                {
                    after[joiner.index()] = step;
                    changed = true;
                }
            }
            if !changed {
                return after[second.0.index()] <= second.1;
            }
        }
    }
}
