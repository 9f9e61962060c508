//! How a thread is to be started.
#![expect(unsafe_code, reason = "a thread may be spawned without a check of what it borrows")]

use std::ffi::CString;
use std::io;
use std::sync::Arc;

use raddle_engine::rt;

use super::current::Thread;
use super::handle::{Inner, JoinHandle};
use super::scoped::{Scope, ScopedJoinHandle};

/// Like [`std::thread::Builder`].
#[derive(Debug, Default)]
pub struct Builder {
    name: Option<String>,
    stack_size: Option<usize>,
}

impl Builder {
    /// Of a thread without a name, with the usual stack.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The thread's name, which reports show.
    ///
    /// # Panics
    /// When the thread is spawned, if the name contains null bytes, as in std.
    #[must_use]
    pub fn name(mut self, name: String) -> Self {
        self.name = Some(name);
        self
    }

    /// The size of its stack in bytes. Inside an execution a least size.
    #[must_use]
    pub fn stack_size(mut self, size: usize) -> Self {
        self.stack_size = Some(size);
        self
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// Outside an execution, if the operating system has no thread to give.
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: closure and result are `'static`.
        unsafe { self.spawn_unchecked(f) }
    }

    /// Like [`spawn`](Self::spawn), of a closure and for a result that may borrow.
    ///
    /// # Errors
    /// As for [`spawn`](Self::spawn).
    ///
    /// # Safety
    /// As in std: the thread is joined before what the closure and the result borrow is gone.
    pub unsafe fn spawn_unchecked<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        if rt::inside() {
            let how = self.into_task();
            let name = how.label.clone();
            // SAFETY: by contract.
            let handle = unsafe { rt::spawn_borrowing(how, f) };
            let thread = Thread::of_task(handle.task(), name);
            Ok(JoinHandle { inner: Inner::Inside(handle), thread })
        } else {
            // SAFETY: by contract.
            let handle = unsafe { self.into_std().spawn_unchecked(f) }?;
            let thread = Thread::of_std(handle.thread().clone());
            Ok(JoinHandle { inner: Inner::Outside(handle), thread })
        }
    }

    /// Starts the thread in a scope.
    ///
    /// # Errors
    /// As for [`spawn`](Self::spawn).
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        scope.start(self, f)
    }

    #[inline]
    pub(super) fn into_task(self) -> rt::Spawn {
        let label = self.name.map(|name| {
            // As std does, for the same message.
            let checked = CString::new(&*name);
            checked.expect("thread name may not contain interior null bytes");
            Arc::from(name)
        });
        rt::Spawn { label, stack_size: self.stack_size.unwrap_or(0) }
    }

    pub(super) fn into_std(self) -> std::thread::Builder {
        let mut builder = std::thread::Builder::new();
        if let Some(name) = self.name {
            builder = builder.name(name);
        }
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        builder
    }
}
