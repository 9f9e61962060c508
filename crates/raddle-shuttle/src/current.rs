//! `shuttle::current`: what is known of tasks, and labels that a test gives them.
//!
//! A thread begins with the labels of the thread that spawned it, as with shuttle; one of a [scope](crate::thread::scope)
//! begins without.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use raddle::extend;
use raddle::thread::{self, ThreadId};

/// A task, by number: 0 is the test's body.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(usize);

impl From<TaskId> for usize {
    fn from(id: TaskId) -> Self {
        id.0
    }
}

impl From<usize> for TaskId {
    fn from(id: usize) -> Self {
        Self(id)
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match get_name_for_task(*self) {
            Some(name) => write!(f, "{name:?}({})", self.0),
            None => f.debug_tuple("TaskId").field(&self.0).finish(),
        }
    }
}

/// The label that names a task.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskName(String);

impl fmt::Debug for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for TaskName {
    fn from(name: String) -> Self {
        Self(name)
    }
}

impl From<&str> for TaskName {
    fn from(name: &str) -> Self {
        Self(name.to_owned())
    }
}

impl From<TaskName> for String {
    fn from(name: TaskName) -> Self {
        name.0
    }
}

/// A value of any type that can be cloned.
trait AnyLabel: Any {
    fn clone_label(&self) -> Box<dyn AnyLabel>;
}

impl<T: Any + Clone> AnyLabel for T {
    fn clone_label(&self) -> Box<dyn AnyLabel> {
        Box::new(self.clone())
    }
}

fn as_type<T: 'static>(label: &dyn AnyLabel) -> Option<&T> {
    let label: &dyn Any = label;
    label.downcast_ref()
}

/// The labels of a task: at most one of each type.
#[derive(Default)]
pub struct Labels(BTreeMap<TypeId, Box<dyn AnyLabel>>);

impl Clone for Labels {
    fn clone(&self) -> Self {
        // Through the box: the box itself could be a label, too.
        Self(self.0.iter().map(|(&of, label)| (of, (**label).clone_label())).collect())
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Labels").field("len", &self.len()).finish()
    }
}

impl Labels {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the label of a type. Returns the one that was there.
    pub fn insert<T: Clone + 'static>(&mut self, value: T) -> Option<T> {
        let before = self.0.insert(TypeId::of::<T>(), Box::new(value));
        before.and_then(|before| as_type(&*before).cloned())
    }

    /// The label of a type.
    #[must_use]
    pub fn get<T: 'static>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>()).and_then(|label| as_type(&**label))
    }

    /// The label of a type.
    pub fn get_mut<T: 'static>(&mut self) -> Option<&mut T> {
        let label: &mut dyn Any = &mut **self.0.get_mut(&TypeId::of::<T>())?;
        label.downcast_mut()
    }

    /// The label of a type, which becomes `value` if there is none.
    pub fn get_or_insert<T: Clone + 'static>(&mut self, value: T) -> &mut T {
        self.get_or_insert_with(|| value)
    }

    /// The label of a type, which becomes its default if there is none.
    pub fn get_or_insert_default<T: Default + Clone + 'static>(&mut self) -> &mut T {
        self.get_or_insert_with(T::default)
    }

    /// The label of a type, which `make` makes if there is none.
    ///
    /// # Panics
    /// Never: what is kept under a type is of that type.
    pub fn get_or_insert_with<T: Clone + 'static, F: FnOnce() -> T>(&mut self, make: F) -> &mut T {
        let label = self.0.entry(TypeId::of::<T>()).or_insert_with(|| Box::new(make()));
        let label: &mut dyn Any = &mut **label;
        label.downcast_mut().expect("what is kept under a type is of that type")
    }

    /// Removes the label of a type.
    pub fn remove<T: 'static>(&mut self) -> Option<T> {
        let label: Box<dyn Any> = self.0.remove(&TypeId::of::<T>())?;
        label.downcast().ok().map(|label| *label)
    }

    /// Takes over the labels of another task, in the place of those of the same types.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// The tasks of the execution that runs on this OS thread.
#[derive(Default)]
struct Tasks {
    numbers: HashMap<ThreadId, usize>,
    labels: Vec<Rc<RefCell<Labels>>>,
}

std::thread_local! {
    /// All tasks of an execution are coroutines of one OS thread, and executions follow each other there.
    static TASKS: RefCell<Tasks> = RefCell::default();
}

/// An execution begins: its tasks are yet to come.
pub(crate) fn begin() {
    let body = thread::current().id();
    TASKS.with_borrow_mut(|tasks| {
        *tasks = Tasks::default();
        tasks.number(body);
    });
}

impl Tasks {
    fn number(&mut self, thread: ThreadId) -> usize {
        let next = self.labels.len();
        let number = *self.numbers.entry(thread).or_insert(next);
        if number == next {
            self.labels.push(Rc::default());
        }
        number
    }
}

/// The labels of a task, which may not be there yet.
fn labels(id: TaskId) -> Option<Rc<RefCell<Labels>>> {
    TASKS.with_borrow(|tasks| tasks.labels.get(id.0).cloned())
}

/// The labels that a thread which is spawned now begins with.
pub(crate) fn to_inherit() -> Labels {
    labels(me()).map(|labels| labels.borrow().clone()).unwrap_or_default()
}

/// The thread that runs has begun, with the labels of the one that spawned it, or what that has made of them for it.
pub(crate) fn inherit(mut from_parent: Labels) {
    if let Some(ChildLabelFn(make)) = from_parent.get().cloned() {
        make(me(), &mut from_parent);
    }
    if let Some(labels) = labels(me()) {
        *labels.borrow_mut() = from_parent;
    }
}

/// A label that makes the labels of the threads and tasks which its owner spawns, from those of the owner.
#[derive(Clone)]
#[expect(clippy::type_complexity, reason = "shuttle's type")]
pub struct ChildLabelFn(pub Arc<dyn Fn(TaskId, &mut Labels) + 'static>);

impl fmt::Debug for ChildLabelFn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChildLabelFn")
    }
}

/// How many steps the execution has made: a time that only grows.
///
/// # Panics
/// Outside an execution.
#[must_use]
pub fn context_switches() -> usize {
    assert!(extend::inside(), "current::context_switches is called outside of an execution");
    extend::step_now().unwrap_or(0) as usize
}

/// Changes nothing: the limit of steps is one of the whole execution, and the report says so.
pub fn reset_step_count() {
    extend::tell_difference(
        "current::reset_step_count changes nothing here: the limit of steps (max_steps) is one of a whole execution",
    );
}

/// The task that runs.
#[must_use]
pub fn me() -> TaskId {
    let thread = thread::current().id();
    TaskId(TASKS.with_borrow_mut(|tasks| tasks.number(thread)))
}

/// The task that runs.
#[must_use]
pub fn get_current_task() -> Option<TaskId> {
    Some(me())
}

/// The task that runs; none outside of an execution.
#[must_use]
pub fn try_get_current_task() -> Option<TaskId> {
    extend::inside().then(me)
}

/// Looks at, or changes, the labels of a task.
///
/// # Panics
/// If there is no such task.
pub fn with_labels_for_task<F, T>(task_id: TaskId, f: F) -> T
where
    F: FnOnce(&mut Labels) -> T,
{
    let Some(labels) = labels(task_id) else { panic!("there is no task {}", task_id.0) };
    f(&mut labels.borrow_mut())
}

/// The label of a type.
#[must_use]
pub fn get_label_for_task<T: Clone + fmt::Debug + 'static>(task_id: TaskId) -> Option<T> {
    labels(task_id)?.borrow().get().cloned()
}

/// Sets the label of a type. Returns the one that was there.
pub fn set_label_for_task<T: Clone + fmt::Debug + 'static>(task_id: TaskId, value: T) -> Option<T> {
    with_labels_for_task(task_id, |labels| labels.insert(value))
}

/// Removes the label of a type.
pub fn remove_label_for_task<T: Clone + fmt::Debug + 'static>(task_id: TaskId) -> Option<T> {
    with_labels_for_task(task_id, Labels::remove)
}

/// The name that a task was given here.
#[must_use]
pub fn get_name_for_task(task_id: TaskId) -> Option<TaskName> {
    get_label_for_task(task_id)
}

/// Names a task. Reports have the names of threads: see [`Builder::name`](crate::thread::Builder::name).
pub fn set_name_for_task(task_id: TaskId, task_name: impl Into<TaskName>) -> Option<TaskName> {
    set_label_for_task(task_id, task_name.into())
}

/// What a test attaches to a task: see [`Taggable`].
#[deprecated(note = "as in shuttle: use labels")]
#[expect(deprecated, reason = "as in shuttle")]
pub trait Tag: Taggable {
    /// The tag, to be taken for what it is.
    fn as_any(&self) -> &dyn Any;
}

/// A type whose values can be tags.
#[deprecated(note = "as in shuttle: use labels")]
pub trait Taggable: fmt::Debug {}

#[expect(deprecated, reason = "as in shuttle")]
impl<T: Taggable + Any> Tag for T {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The tag of a task, as one of its labels.
#[derive(Clone, Debug)]
#[expect(deprecated, reason = "as in shuttle")]
struct TagOf(Arc<dyn Tag>);

/// Sets the tag of the task that runs. Returns the one that was there.
#[deprecated(note = "as in shuttle: use labels")]
#[expect(deprecated, reason = "as in shuttle")]
pub fn set_tag_for_current_task(tag: Arc<dyn Tag>) -> Option<Arc<dyn Tag>> {
    set_tag_for_task(me(), tag)
}

/// The tag of the task that runs.
#[deprecated(note = "as in shuttle: use labels")]
#[expect(deprecated, reason = "as in shuttle")]
#[must_use]
pub fn get_tag_for_current_task() -> Option<Arc<dyn Tag>> {
    get_tag_for_task(me())
}

/// The tag of a task.
#[deprecated(note = "as in shuttle: use labels")]
#[expect(deprecated, reason = "as in shuttle")]
#[must_use]
pub fn get_tag_for_task(task_id: TaskId) -> Option<Arc<dyn Tag>> {
    get_label_for_task(task_id).map(|TagOf(tag)| tag)
}

/// Sets the tag of a task. Returns the one that was there.
#[deprecated(note = "as in shuttle: use labels")]
#[expect(deprecated, reason = "as in shuttle")]
pub fn set_tag_for_task(task: TaskId, tag: Arc<dyn Tag>) -> Option<Arc<dyn Tag>> {
    set_label_for_task(task, TagOf(tag)).map(|TagOf(tag)| tag)
}
