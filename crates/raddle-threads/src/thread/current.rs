//! Threads as values, and their parking tokens.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use raddle_engine::TaskId;
use raddle_engine::rt::{self, TaskRef};

/// Like [`std::thread::Thread`].
#[derive(Clone)]
pub struct Thread(Inner);

#[derive(Clone)]
enum Inner {
    Task { task: TaskRef, name: Option<Arc<str>> },
    Std(std::thread::Thread),
}

impl Thread {
    #[inline]
    pub(super) fn of_task(task: TaskRef, name: Option<Arc<str>>) -> Self {
        Self(Inner::Task { task, name })
    }

    pub(super) fn of_std(thread: std::thread::Thread) -> Self {
        Self(Inner::Std(thread))
    }

    /// What tells it from all other threads.
    #[must_use]
    pub fn id(&self) -> ThreadId {
        ThreadId(match &self.0 {
            Inner::Task { task, .. } => Id::Task(*task),
            Inner::Std(thread) => Id::Std(thread.id()),
        })
    }

    /// Its name. The body of a test is `main`.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            Inner::Task { name: Some(name), .. } => Some(name),
            Inner::Task { task, .. } => (task.id() == TaskId::ROOT).then_some("main"),
            Inner::Std(thread) => thread.name(),
        }
    }

    /// Gives the thread its parking token.
    #[track_caller]
    pub fn unpark(&self) {
        match &self.0 {
            Inner::Task { task, .. } => task.unpark(),
            Inner::Std(thread) => thread.unpark(),
        }
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread")
            .field("id", &self.id())
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

/// Like [`std::thread::ThreadId`].
///
/// Printed it is the same in every execution of a search; as a value it differs, as threads do.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThreadId(Id);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Id {
    Task(TaskRef),
    Std(std::thread::ThreadId),
}

impl fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Id::Task(task) => write!(f, "ThreadId({})", u64::from(task.id().0) + 1),
            Id::Std(id) => id.fmt(f),
        }
    }
}

/// Like [`std::thread::current`].
#[must_use]
pub fn current() -> Thread {
    match TaskRef::current() {
        Some(task) => Thread::of_task(task, task.label()),
        None => Thread::of_std(std::thread::current()),
    }
}

/// Like [`std::thread::park`].
///
/// Misses: std allows it to return without a token, which is not explored.
#[track_caller]
pub fn park() {
    match TaskRef::current() {
        Some(task) => {
            rt::note_spurious();
            task.park(None);
        }
        None => std::thread::park(),
    }
}

/// Like [`std::thread::park_timeout`].
///
/// Misses: as for [`park`].
#[track_caller]
pub fn park_timeout(dur: Duration) {
    match TaskRef::current() {
        Some(task) => {
            rt::note_spurious();
            task.park(Some(dur));
        }
        None => std::thread::park_timeout(dur),
    }
}

/// Like [`std::thread::park_timeout_ms`].
#[deprecated(note = "as in std: use `park_timeout`")]
#[track_caller]
pub fn park_timeout_ms(ms: u32) {
    park_timeout(Duration::from_millis(u64::from(ms)));
}
