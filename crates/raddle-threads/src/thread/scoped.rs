//! Threads that borrow from the frame that started them.

use std::fmt;
use std::io;
use std::panic::RefUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use raddle_engine::rt;

use super::Result;
use super::builder::Builder;
use super::current::Thread;

/// Like [`std::thread::Scope`]. Not a struct but the common face of the engine's and of std's,
/// because both are made elsewhere and handed out by reference for exactly `'scope`.
pub type Scope<'scope, 'env> = dyn Starts<'scope, 'env> + 'scope;

/// What starts threads of a scope.
pub trait Starts<'scope, 'env: 'scope>: fmt::Debug + Send + Sync + Unpin + RefUnwindSafe {
    #[doc(hidden)]
    fn start_boxed(
        &'scope self,
        how: Builder,
        run: Box<dyn FnOnce() + Send + 'scope>,
    ) -> io::Result<Started<'scope>>;
}

/// A thread of a scope.
pub struct Started<'scope> {
    inner: Inner<'scope>,
    thread: Thread,
}

enum Inner<'scope> {
    Inside(rt::Handle<'scope, ()>),
    Outside(std::thread::ScopedJoinHandle<'scope, ()>),
}

impl<'scope, 'env> Starts<'scope, 'env> for rt::Scope<'scope, 'env> {
    fn start_boxed(
        &'scope self,
        how: Builder,
        run: Box<dyn FnOnce() + Send + 'scope>,
    ) -> io::Result<Started<'scope>> {
        let how = how.into_task();
        let name = how.label.clone();
        let handle = self.spawn(how, run);
        let thread = Thread::of_task(handle.task(), name);
        Ok(Started { inner: Inner::Inside(handle), thread })
    }
}

impl<'scope, 'env> Starts<'scope, 'env> for std::thread::Scope<'scope, 'env> {
    fn start_boxed(
        &'scope self,
        how: Builder,
        run: Box<dyn FnOnce() + Send + 'scope>,
    ) -> io::Result<Started<'scope>> {
        let handle = how.into_std().spawn_scoped(self, run)?;
        let thread = Thread::of_std(handle.thread().clone());
        Ok(Started { inner: Inner::Outside(handle), thread })
    }
}

impl<'scope> dyn Starts<'scope, '_> + 'scope {
    /// Starts a thread that may borrow what lives as long as the scope.
    ///
    /// # Panics
    /// Outside an execution, if the operating system has no thread to give.
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.start(Builder::new(), f).expect("failed to spawn thread")
    }

    pub(super) fn start<F, T>(
        &'scope self,
        how: Builder,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let value = Arc::new(Mutex::new(None));
        let result = Arc::clone(&value);
        let run = move || {
            let value = f();
            *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        };
        let started = self.start_boxed(how, Box::new(run))?;
        Ok(ScopedJoinHandle { started, value })
    }
}

/// Like [`std::thread::scope`]. Its end is not a scheduling point.
///
/// # Panics
/// If a thread of the scope panicked and was not joined, as in std.
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    if rt::inside() {
        rt::scope(|scope: &rt::Scope<'_, 'env>| f(scope))
    } else {
        std::thread::scope(|scope| f(scope))
    }
}

/// Like [`std::thread::ScopedJoinHandle`].
pub struct ScopedJoinHandle<'scope, T> {
    started: Started<'scope>,
    value: Arc<Mutex<Option<T>>>,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for the thread to finish. Not a scheduling point: the caller runs on at once.
    ///
    /// # Errors
    /// The payload of its panic, if it panicked.
    ///
    /// # Panics
    /// Never: a thread that did not panic has left its value.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        match self.started.inner {
            Inner::Inside(handle) => handle.join()?,
            Inner::Outside(handle) => handle.join()?,
        }
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(value.expect("a thread that did not panic has left its value"))
    }

    /// Whether the thread is finished, as
    /// [`JoinHandle::is_finished`](super::JoinHandle::is_finished) says it.
    #[must_use]
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        match &self.started.inner {
            Inner::Inside(handle) => handle.task().is_finished(),
            Inner::Outside(handle) => handle.is_finished(),
        }
    }

    /// The thread.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        &self.started.thread
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}

impl fmt::Debug for Started<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Started").field("thread", &self.thread).finish_non_exhaustive()
    }
}
