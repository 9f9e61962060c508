//! The right to wait for a thread.

use std::fmt;

use raddle_engine::rt;

use super::Result;
use super::current::Thread;

pub(super) enum Inner<T> {
    Inside(rt::Handle<'static, T>),
    Outside(std::thread::JoinHandle<T>),
}

/// Like [`std::thread::JoinHandle`].
pub struct JoinHandle<T> {
    pub(super) inner: Inner<T>,
    pub(super) thread: Thread,
}

impl<T> JoinHandle<T> {
    /// Waits for the thread to finish. Not a scheduling point: the caller runs on at once.
    ///
    /// # Errors
    /// The payload of its panic, if it panicked.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        match self.inner {
            Inner::Inside(handle) => handle.join(),
            Inner::Outside(handle) => handle.join(),
        }
    }

    /// Whether the thread is finished.
    ///
    /// A thread that has done its last step may still be on its way out, so both answers are
    /// explored until one has been "yes".
    #[must_use]
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        match &self.inner {
            Inner::Inside(handle) => handle.task().is_finished(),
            Inner::Outside(handle) => handle.is_finished(),
        }
    }

    /// The thread.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        &self.thread
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}
