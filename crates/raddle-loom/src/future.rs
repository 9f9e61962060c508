//! `loom::future`: a future driven by one thread, and a place for one waker.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use raddle::sync::atomic::{AtomicBool, Ordering};
use raddle::sync::{Mutex, PoisonError};
use raddle::thread::{self, Thread};

use crate::sync::wakes_early;

/// Wakes the thread that drives a future.
struct Woken {
    woken: AtomicBool,
    thread: Thread,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // The flag, because the future itself may park this thread and use up what `unpark` left.
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Polls a future until it is ready, each time after it was woken; and, as with loom, once without a reason.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let woken = Arc::new(Woken { woken: AtomicBool::new(false), thread: thread::current() });
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    let mut woke_early = false;
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        if !woke_early && wakes_early() {
            woke_early = true;
            continue;
        }
        while !woken.woken.swap(false, Ordering::Acquire) {
            thread::park();
        }
    }
}

/// A place for the waker of one task.
#[derive(Debug, Default)]
pub struct AtomicWaker {
    waker: Mutex<Option<Waker>>,
}

impl AtomicWaker {
    /// Without a waker.
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        Self { waker: Mutex::new(None) }
    }

    /// Puts a waker in the place of the one that was there.
    #[track_caller]
    pub fn register(&self, waker: Waker) {
        let before = self.waker.lock().unwrap_or_else(PoisonError::into_inner).replace(waker);
        // A waker is the program's code, so it is dropped after the lock is free.
        drop(before);
    }

    /// Puts a clone of a waker in the place of the one that was there.
    #[track_caller]
    pub fn register_by_ref(&self, waker: &Waker) {
        self.register(waker.clone());
    }

    /// Wakes and takes the waker.
    #[track_caller]
    pub fn wake(&self) {
        if let Some(waker) = self.take_waker() {
            waker.wake();
        }
    }

    /// Takes the waker.
    #[must_use]
    #[track_caller]
    pub fn take_waker(&self) -> Option<Waker> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
