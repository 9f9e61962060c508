//! What happened in one execution, step by step, for reports and for replays that compare.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::outcome::Panic;
use crate::schedule::{TaskName, task_label};

/// A place in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Site {
    /// As the compiler names it: relative to the package or workspace, absolute for dependencies.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// From 1.
    pub column: u32,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// What an operation acts on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ObjectName {
    /// The type, as the program writes it: `Mutex`, `AtomicUsize`.
    pub kind: String,
    /// Where it was created.
    pub created: Site,
    /// The name given by `named`, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Tells apart the objects of one kind created at one place: 0 for the first that was used.
    pub nth: u32,
    /// The variable or field that it was created for, if the source was read and says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
}

impl ObjectName {
    /// The name given by `named`, else that of its variable, else its kind.
    fn called(&self) -> &str {
        self.name.as_deref().or(self.variable.as_deref()).unwrap_or(&self.kind)
    }
}

/// A function of the program that led to a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Call {
    /// Its path, without generic arguments and closures: `cache::Cache::get`.
    pub function: String,
    /// Where in it the step is, or the call that leads there. Without a file if that is not known.
    #[serde(default)]
    pub site: Site,
}

impl Call {
    /// The function without its modules, with its type if it is a method: `Cache::get`.
    ///
    /// ```
    /// use raddle_trace::Call;
    ///
    /// let named = |path: &str| Call { function: path.to_owned(), ..Call::default() }.name();
    /// assert_eq!(named("app::cache::Cache::get"), "Cache::get");
    /// assert_eq!(named("app::cache::fill"), "fill");
    /// ```
    #[must_use]
    pub fn name(&self) -> String {
        let mut parts = self.function.rsplit("::");
        let last = parts.next().unwrap_or_default();
        match parts.next().filter(|owner| owner.starts_with(char::is_uppercase)) {
            Some(owner) => format!("{owner}::{last}"),
            None => last.to_owned(),
        }
    }
}

/// One executed step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Who moved: an index into [`Trace::tasks`].
    pub task: u32,
    /// What it did, with its result: `lock`, `load -> 3`, `compare_exchange(0, 1) -> Err(2)`.
    pub op: String,
    /// On what: an index into [`Trace::objects`]. None for a yield or a value chosen.
    pub object: Option<u32>,
    /// From where.
    pub site: Site,
    /// The decision that led here, as an index into the schedule. None where there was no choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<u32>,
    /// Whether the task that moved before could have gone on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preempts: bool,
    /// The steps of other tasks that had to come before this one, ascending: those from which nothing
    /// leads here but a step of this list or the task's own step before. With the order of each task
    /// they are the whole happens-before relation. None: it was not written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Vec<u32>>,
    /// The step that sent the message which this one handles, if it handles one that a step sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_by: Option<u32>,
    /// The innermost functions of the program that led here, the innermost first. Empty if they are not
    /// known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
}

/// The steps of one execution in the order in which they happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Every task there was. The first is the test's body.
    pub tasks: Vec<TaskName>,
    /// Every object that was used.
    pub objects: Vec<ObjectName>,
    /// The steps.
    pub events: Vec<Event>,
    /// The panics, in the order in which they happened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub panics: Vec<Raised>,
}

/// A panic at its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raised {
    /// Whose, where and why.
    #[serde(flatten)]
    pub panic: Panic,
    /// How many events came before it.
    pub step: u32,
    /// Whether its task caught it and went on, or another took it from a `join`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub handled: bool,
}

impl Trace {
    /// How a person calls a task.
    #[must_use]
    pub fn task_label(&self, task: u32) -> String {
        task_label(&self.tasks, task)
    }

    /// How a person calls an object: the name it was given, or the variable it was created for, or its
    /// kind.
    ///
    /// Objects that would be called alike are numbered in order of first use.
    #[must_use]
    pub fn object_label(&self, object: u32) -> String {
        let Some(entry) = self.objects.get(object as usize) else {
            return format!("object {object}");
        };
        let name = entry.called();
        let alike = |other: &&ObjectName| other.called() == name;
        if self.objects.iter().filter(alike).count() == 1 {
            return name.to_owned();
        }
        let before = self.objects[..object as usize].iter().filter(alike).count();
        format!("{name}#{}", before + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(kind: &str, name: Option<&str>) -> ObjectName {
        let (kind, name) = (kind.to_owned(), name.map(str::to_owned));
        ObjectName { kind, created: Site::default(), name, nth: 0, variable: None }
    }

    #[test]
    fn objects_are_numbered_only_where_it_tells_them_apart() {
        let objects = vec![
            object("Mutex", None),
            object("Condvar", None),
            object("Mutex", Some("queue")),
            object("Mutex", None),
        ];
        let trace = Trace { objects, ..Trace::default() };
        let labels: Vec<_> = (0..4).map(|index| trace.object_label(index)).collect();
        assert_eq!(labels, ["Mutex#1", "Condvar", "queue", "Mutex#2"]);
    }

    #[test]
    fn an_object_is_called_after_its_variable_if_it_was_given_no_name() {
        let of = |variable: &str, name| ObjectName {
            variable: Some(variable.to_owned()),
            ..object("Mutex", name)
        };
        let objects =
            vec![of("items", None), of("m", Some("queue")), of("items", None), of("q", None)];
        let trace = Trace { objects, ..Trace::default() };
        let labels: Vec<_> = (0..4).map(|index| trace.object_label(index)).collect();
        assert_eq!(labels, ["items#1", "queue", "items#2", "q"]);
    }
}
