//! `shuttle::thread`: threads under control, which begin with the labels of the thread that spawns them.

use std::io;
use std::mem::ManuallyDrop;

pub use std::thread::panicking;

pub use raddle::thread::{
    AccessError, JoinHandle, LocalKey, Result, Scope, ScopedJoinHandle, Thread, ThreadId, current,
    park, park_timeout, scope, sleep, yield_now,
};

use crate::current::{Labels, inherit, to_inherit};

/// Like [`std::thread::spawn`].
///
/// # Panics
/// Outside an execution, if the operating system has no thread to give.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    match Builder::new().spawn(f) {
        Ok(thread) => thread,
        Err(error) => panic!("the thread could not be started: {error}"),
    }
}

/// Like [`std::thread::Builder`].
#[derive(Debug)]
pub struct Builder(raddle::thread::Builder);

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// Without a name.
    #[must_use]
    pub fn new() -> Self {
        Self(raddle::thread::Builder::new())
    }

    /// The thread's name, as reports have it.
    #[must_use]
    pub fn name(self, name: String) -> Self {
        Self(self.0.name(name))
    }

    /// The size of the thread's stack.
    #[must_use]
    pub fn stack_size(self, stack_size: usize) -> Self {
        Self(self.0.stack_size(stack_size))
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// As in std, outside of an execution.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let labels = Labelled::new(to_inherit());
        self.0.spawn(move || {
            labels.arrive();
            f()
        })
    }
}

/// Labels on their way to another thread of the same execution.
pub(crate) struct Labelled {
    labels: ManuallyDrop<Labels>,
    /// The OS thread that they come from.
    from: std::thread::ThreadId,
}

impl Labelled {
    pub(crate) fn new(labels: Labels) -> Self {
        Self { labels: ManuallyDrop::new(labels), from: std::thread::current().id() }
    }

    /// The thread that runs has these labels, if it belongs to the same execution.
    pub(crate) fn arrive(self) {
        if std::thread::current().id() == self.from {
            inherit(ManuallyDrop::into_inner(self.labels));
        }
    }
}

#[expect(unsafe_code, reason = "labels need not be Send, as with shuttle")]
// SAFETY: the threads of an execution are coroutines of one OS thread. On another OS thread, where a thread that was
// spawned outside of an execution runs, the labels are neither looked at nor dropped.
unsafe impl Send for Labelled {}
