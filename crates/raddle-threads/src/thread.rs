//! `std::thread`.

use std::any::Any;
use std::fmt;

use raddle_engine::rt;

/// Like [`std::thread::Result`].
pub type Result<T> = std::result::Result<T, Box<dyn Any + Send + 'static>>;

enum Inner<T> {
    Inside(rt::Handle<'static, T>),
    Outside(std::thread::JoinHandle<T>),
}

/// Like [`std::thread::JoinHandle`].
pub struct JoinHandle<T>(Inner<T>);

impl<T> JoinHandle<T> {
    /// Waits for the thread to finish. Not a scheduling point: the caller runs on at once.
    ///
    /// # Errors
    /// The payload of its panic, if it panicked.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        match self.0 {
            Inner::Inside(handle) => handle.join(),
            Inner::Outside(handle) => handle.join(),
        }
    }

    /// Whether the thread is finished.
    #[must_use]
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        match &self.0 {
            Inner::Inside(handle) => handle.task().is_finished(),
            Inner::Outside(handle) => handle.is_finished(),
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// Like [`std::thread::spawn`].
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    JoinHandle(if rt::inside() {
        Inner::Inside(rt::spawn(rt::Spawn::default(), f))
    } else {
        Inner::Outside(std::thread::spawn(f))
    })
}

/// Like [`std::thread::yield_now`].
#[track_caller]
pub fn yield_now() {
    if rt::inside() {
        rt::yield_now("yield_now");
    } else {
        std::thread::yield_now();
    }
}
