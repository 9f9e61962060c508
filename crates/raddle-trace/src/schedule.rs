//! The decisions of one execution: enough to replay it in the same binary.
//!
//! A decision names the task it moves, and a task is named by its parent and by the number of the
//! spawn that made it. So a schedule that meets a changed program is noticed at the first decision
//! that names a task which cannot move there.

use serde::{Deserialize, Serialize};

/// The version of [`Schedule`] that this crate writes, as JSON and as a token.
pub const VERSION: u32 = 1;

/// What a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum TaskKind {
    /// A thread, the test's own body among them.
    Thread,
    /// Something outside the program that moves by itself: a timer.
    Environment,
}

/// The name of a task, the same in every execution and process.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TaskName {
    /// The spawning task, as an index into the table that holds this name. The first entry of a
    /// table is the test's body, and its own parent.
    pub parent: u32,
    /// How many tasks of this kind the parent had spawned before.
    pub nth: u32,
    /// What the task is.
    pub kind: TaskKind,
    /// What the program calls it, if anything. Not part of its identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

impl TaskName {
    /// The name of the test's own body.
    #[must_use]
    pub fn root() -> Self {
        Self { parent: 0, nth: 0, kind: TaskKind::Thread, label: None }
    }
}

/// What tells the options of one decision point apart, besides their task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Key {
    /// The value itself, as for `raddle::choose`.
    Index(u32),
    /// Another task, as for the waiter that `notify_one` wakes; an index into the task table.
    Task(u32),
}

/// The answer at one decision point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Decision {
    /// This task, an index into [`Schedule::tasks`], took its next step.
    Run(u32),
    /// The running step of `task` got the option `key`, one of `of`.
    Value {
        /// An index into [`Schedule::tasks`].
        task: u32,
        /// Which option.
        key: Key,
        /// How many options there were.
        of: u32,
    },
}

/// When a timed wait may end by its timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timeouts {
    /// Whenever it is pending: each timer is one more thing that can move.
    #[default]
    Any,
    /// Only when no task can move; then the earliest deadline fires.
    Idle,
    /// Never: a timed wait is a wait. A sleep ends whenever it is pending, and so does a wait of no time, which asks
    /// and does not wait.
    Never,
}

/// What, besides the program, decides which decision points an execution has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// When timed waits may fire.
    pub timeouts: Timeouts,
    /// Whether a condition variable may wake, and a weak compare-exchange fail, for no reason.
    pub spurious: bool,
    /// The seed of `raddle::rng`, if its values are drawn instead of decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_seed: Option<u64>,
    /// A task that has looked around in vain so often, and would again, waits for what it saw to change; none: it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
}

/// The decisions of one execution.
///
/// As text a schedule is a token, a single word that can be pasted: see [`crate::token`].
///
/// ```
/// use raddle_trace::{Decision, Schedule, TaskKind, TaskName};
///
/// let mut schedule = Schedule::default();
/// schedule.tasks.push(TaskName { parent: 0, nth: 0, kind: TaskKind::Thread, label: None });
/// schedule.decisions = vec![Decision::Run(1), Decision::Run(0)];
/// let token = schedule.to_string();
/// assert_eq!(token.parse::<Schedule>()?.decisions, schedule.decisions);
/// # Ok::<(), raddle_trace::TokenError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// The version of this format: [`VERSION`].
    pub version: u32,
    /// What the execution was run with; a replay runs with the same.
    #[serde(default)]
    pub settings: Settings,
    /// The tasks that decisions name. The first is the test's body.
    pub tasks: Vec<TaskName>,
    /// One entry for each decision point, in order.
    pub decisions: Vec<Decision>,
    /// A hash of the steps (task, operation, source line), to notice a replay that took the same
    /// decisions in a program that does something else. 0: not known.
    #[serde(default)]
    pub steps_hash: u64,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            version: VERSION,
            settings: Settings::default(),
            tasks: vec![TaskName::root()],
            decisions: Vec::new(),
            steps_hash: 0,
        }
    }
}

impl Schedule {
    /// How a person calls the task at `index` of the table: its label, or its path of spawns.
    ///
    /// ```
    /// let schedule = raddle_trace::Schedule::default();
    /// assert_eq!(schedule.task_label(0), "main");
    /// ```
    #[must_use]
    pub fn task_label(&self, index: u32) -> String {
        task_label(&self.tasks, index)
    }

    /// Checks what a reader may rely on: every index is within its table, every parent comes
    /// before its child, and the version is known.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn validate(&self) -> Result<(), String> {
        if self.version != VERSION {
            return Err(format!(
                "the schedule has format version {}, this build reads version {VERSION}",
                self.version
            ));
        }
        if self.tasks.is_empty() {
            return Err("the schedule names no tasks".to_owned());
        }
        for (index, task) in self.tasks.iter().enumerate().skip(1) {
            if task.parent as usize >= index {
                return Err(format!("task {index} of the schedule comes before its parent"));
            }
        }
        let known = |task: u32| (task as usize) < self.tasks.len();
        for (index, decision) in self.decisions.iter().enumerate() {
            let fits = match *decision {
                Decision::Run(task) => known(task),
                Decision::Value { task, key: Key::Task(other), of } => {
                    known(task) && known(other) && of > 1
                }
                Decision::Value { task, key: Key::Index(value), of } => known(task) && value < of,
            };
            if !fits {
                return Err(format!("decision {index} of the schedule is out of range"));
            }
        }
        Ok(())
    }
}

/// How a person calls the task at `index` of `tasks`. Threads of one name are numbered in order of creation.
#[must_use]
pub fn task_label(tasks: &[TaskName], index: u32) -> String {
    let Some(task) = tasks.get(index as usize) else { return format!("task {index}") };
    if let Some(label) = &task.label {
        // Threads may have one name; links between actors are told apart by what they carry.
        let alike = |other: &&TaskName| other.kind == TaskKind::Thread && other.label == task.label;
        if task.kind != TaskKind::Thread || tasks.iter().filter(alike).count() == 1 {
            return label.clone();
        }
        let before = tasks[..index as usize].iter().filter(alike).count();
        return format!("{label}#{}", before + 1);
    }
    if index == 0 {
        return "main".to_owned();
    }
    match task.kind {
        TaskKind::Environment => format!("timer of {}", task_label(tasks, task.parent)),
        TaskKind::Thread if task.parent == 0 => format!("thread {}", task.nth + 1),
        TaskKind::Thread => {
            let parent = task_label(tasks, task.parent);
            match parent.strip_prefix("thread ") {
                Some(path) => format!("thread {path}.{}", task.nth + 1),
                None => format!("{parent}.{}", task.nth + 1),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(parent: u32, nth: u32) -> TaskName {
        TaskName { parent, nth, kind: TaskKind::Thread, label: None }
    }

    #[test]
    fn tasks_are_called_by_their_path_of_spawns() {
        let mut tasks = vec![TaskName::root(), thread(0, 0), thread(1, 1)];
        tasks.push(TaskName { parent: 2, nth: 0, kind: TaskKind::Environment, label: None });
        let labels: Vec<_> = (0..4).map(|index| task_label(&tasks, index)).collect();
        assert_eq!(labels, ["main", "thread 1", "thread 1.2", "timer of thread 1.2"]);
    }

    #[test]
    fn threads_of_one_name_are_numbered() {
        let worker = |nth| TaskName { label: Some("worker".to_owned()), ..thread(0, nth) };
        let tasks = [TaskName::root(), worker(0), thread(0, 1), worker(2), thread(3, 0)];
        let labels: Vec<_> = (0..5).map(|index| task_label(&tasks, index)).collect();
        assert_eq!(labels, ["main", "worker#1", "thread 2", "worker#2", "worker#2.1"]);
    }

    #[test]
    fn an_index_out_of_range_is_refused() {
        let schedule = Schedule { decisions: vec![Decision::Run(1)], ..Schedule::default() };
        assert_eq!(schedule.validate(), Err("decision 0 of the schedule is out of range".into()));
    }
}
