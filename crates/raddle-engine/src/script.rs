//! A schedule by names, resolved against the options as they come up.

use raddle_trace::{Decision, Key, Schedule};

use crate::names::Names;
use crate::op::TaskId;
use crate::strategy::Options;
use crate::tasks::TaskTable;

#[derive(Clone, Copy, Debug)]
enum Entry {
    Run(TaskId),
    Value { task: TaskId, key: KeyId, of: u32 },
}

#[derive(Clone, Copy, Debug)]
enum KeyId {
    Index(u32),
    Task(TaskId),
}

/// The decisions to take, with this process's numbers for their tasks.
#[derive(Debug)]
pub(crate) struct Script {
    entries: Vec<Entry>,
    /// The tasks that the options of the running step stand for, if they do.
    pub(crate) option_tasks: Vec<TaskId>,
}

impl Script {
    /// `schedule` has been validated.
    pub(crate) fn new(schedule: &Schedule, names: &mut Names) -> Self {
        let mut ids = vec![TaskId::ROOT];
        for name in &schedule.tasks[1..] {
            ids.push(names.intern(ids[name.parent as usize], name.nth, name.kind));
        }
        let id = |task: u32| ids[task as usize];
        let entry = |decision: &Decision| match *decision {
            Decision::Run(task) => Entry::Run(id(task)),
            Decision::Value { task, key, of } => {
                let key = match key {
                    Key::Index(value) => KeyId::Index(value),
                    Key::Task(other) => KeyId::Task(id(other)),
                    _ => KeyId::Index(u32::MAX),
                };
                Entry::Value { task: id(task), key, of }
            }
            _ => Entry::Run(TaskId(u32::MAX)),
        };
        let entries = schedule.decisions.iter().map(entry).collect();
        Self { entries, option_tasks: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The option to take, or what was expected and what was found.
    pub(crate) fn answer(
        &self,
        tasks: &TaskTable,
        index: usize,
        options: Options<'_>,
    ) -> Result<u32, (String, String)> {
        let found = || match options {
            Options::Schedule(choices) => {
                let who: Vec<_> = choices.iter().map(|c| tasks.label(c.task)).collect();
                format!("a choice between {}", who.join(", "))
            }
            Options::Value { task, of, .. } => {
                let (who, site) = (tasks.label(task), tasks.get(task).op.site);
                format!("{who} asking for one of {of} values at {site}")
            }
        };
        let Some(&entry) = self.entries.get(index) else {
            return Err(("the end of the schedule".to_owned(), found()));
        };
        let option = match (entry, options) {
            (Entry::Run(task), Options::Schedule(choices)) => {
                choices.iter().position(|choice| choice.task == task).map(|at| at as u32)
            }
            (Entry::Value { task, key, of }, Options::Value { task: asking, of: have, .. }) => {
                let option = match key {
                    KeyId::Index(value) => Some(value),
                    KeyId::Task(other) => {
                        self.option_tasks.iter().position(|&t| t == other).map(|at| at as u32)
                    }
                };
                option.filter(|&option| task == asking && of == have && option < of)
            }
            _ => None,
        };
        option.ok_or_else(|| {
            let expected = match entry {
                Entry::Run(task) => format!("{} to move", tasks.label(task)),
                Entry::Value { task, of, .. } => {
                    format!("{} asking for one of {of} values", tasks.label(task))
                }
            };
            (expected, found())
        })
    }
}
