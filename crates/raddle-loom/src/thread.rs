//! `loom::thread`: threads whose closures need not be `Send`.
#![expect(unsafe_code, reason = "what is not Send crosses between threads of one execution")]

use std::fmt;
use std::io;

pub use std::thread::panicking;

pub use raddle::thread::{
    AccessError, LocalKey, Thread, ThreadId, current, park, park_timeout, scope, sleep, yield_now,
};

use crate::leaks;

/// A value that may cross to another thread of the same execution.
struct Crosses<T>(T);

// SAFETY: the threads of an execution are coroutines of one OS thread, of which one runs at a time. What is not
// `Send` because of thread-locals of the OS or unsynchronised counts is therefore never used at the same time.
unsafe impl<T> Send for Crosses<T> {}

impl<T> Crosses<T> {
    fn into_inner(self) -> T {
        self.0
    }
}

/// A thread that can be waited for.
pub struct JoinHandle<T>(raddle::thread::JoinHandle<Crosses<T>>);

impl<T> JoinHandle<T> {
    /// Waits until the thread has ended.
    ///
    /// # Errors
    /// If it panicked, what it panicked with.
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        self.0.join().map(Crosses::into_inner)
    }

    /// The thread.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        self.0.thread()
    }

    /// Whether it has ended.
    #[must_use]
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// Starts a thread.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    leaks::count_thread();
    let f = Crosses(f);
    JoinHandle(raddle::thread::spawn(move || Crosses(leaks::run(f.into_inner()))))
}

/// A thread that is yet to be started.
#[derive(Debug, Default)]
pub struct Builder {
    name: Option<String>,
    stack_size: Option<usize>,
}

impl Builder {
    /// Without a name.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The thread's name, as reports have it.
    #[must_use]
    pub fn name(mut self, name: String) -> Self {
        self.name = Some(name);
        self
    }

    /// The size of the thread's stack.
    #[must_use]
    pub fn stack_size(mut self, size: usize) -> Self {
        self.stack_size = Some(size);
        self
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// As in std, outside of an execution.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + 'static,
        T: 'static,
    {
        let mut builder = raddle::thread::Builder::new();
        if let Some(name) = self.name {
            builder = builder.name(name);
        }
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        leaks::count_thread();
        let f = Crosses(f);
        builder.spawn(move || Crosses(leaks::run(f.into_inner()))).map(JoinHandle)
    }
}
