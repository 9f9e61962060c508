//! Coroutines that run one task after another, pooled for the life of an OS thread.
//!
//! A fresh stack costs thousands of nanoseconds, a pooled one about ten. So a fiber's coroutine
//! never ends: it runs a job, suspends, and waits for the next one. A task that ends normally is
//! never unwound.
//!
//! Invariant: no reference into engine state lives across [`Fiber::suspend`] or
//! [`Fiber::resume`]; callers hold raw pointers and borrow afresh after each. Fibers are boxed and
//! never move while a coroutine exists.

use std::cell::RefCell;
use std::fmt;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};

/// A stack with a coroutine on it that runs jobs.
pub(crate) struct Fiber {
    coroutine: Coroutine<(), (), ()>,
    stack_size: usize,
    /// What to run when it is resumed next. Must not unwind.
    job: Option<fn()>,
    /// Set by the coroutine itself when it first runs; valid as long as the coroutine.
    yielder: *const Yielder<(), ()>,
}

impl fmt::Debug for Fiber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fiber").field("stack_size", &self.stack_size).finish_non_exhaustive()
    }
}

thread_local! {
    /// Fibers that wait for a job.
    static POOL: RefCell<Pool> = const { RefCell::new(Pool { idle: Vec::new() }) };
}

struct Pool {
    idle: Vec<*mut Fiber>,
}

impl Drop for Pool {
    fn drop(&mut self) {
        for fiber in self.idle.drain(..) {
            // SAFETY: pooled fibers were made by `Box::into_raw` and are owned by the pool alone.
            let mut fiber = unsafe { Box::from_raw(fiber) };
            // SAFETY: an idle fiber waits at the end of its loop, where nothing on its stack
            // needs dropping.
            unsafe { fiber.coroutine.force_reset() };
        }
    }
}

impl Fiber {
    /// A fiber that will run `job` when resumed. `None` if no stack can be had.
    pub(crate) fn take(stack_size: usize, job: fn()) -> Option<*mut Fiber> {
        let pooled = POOL.with_borrow_mut(|pool| {
            // Nearly always the last one fits: all tasks of a search have the same stack size.
            // SAFETY: the pool's pointers are live, and nobody else uses an idle fiber.
            let fits = |&fiber: &*mut Fiber| unsafe { (*fiber).stack_size >= stack_size };
            let at = pool.idle.iter().rposition(fits)?;
            Some(pool.idle.swap_remove(at))
        });
        let fiber = match pooled {
            Some(fiber) => fiber,
            None => Self::create(stack_size)?,
        };
        // SAFETY: live, and owned by the caller from here on.
        unsafe { (*fiber).job = Some(job) };
        Some(fiber)
    }

    fn create(stack_size: usize) -> Option<*mut Fiber> {
        let stack = DefaultStack::new(stack_size).ok()?;
        let this = Box::into_raw(Box::<Fiber>::new_uninit());
        let address = this as usize;
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            let fiber = address as *mut Fiber;
            loop {
                // SAFETY: whoever resumed this coroutine keeps the fiber alive and does not touch
                // it before the coroutine suspends. The borrow ends before the job runs.
                let job = unsafe {
                    (*fiber).yielder = yielder;
                    (*fiber).job.take()
                };
                if let Some(job) = job {
                    job();
                }
                yielder.suspend(());
            }
        });
        let fiber = Fiber { coroutine, stack_size, job: None, yielder: std::ptr::null() };
        // SAFETY: `this` is a fresh allocation of the right size.
        unsafe { (*this).write(fiber) };
        Some(this.cast())
    }

    /// Runs the fiber until it suspends.
    ///
    /// # Safety
    /// `fiber` is live and suspended or new, and its job's data outlives the run.
    #[inline]
    pub(crate) unsafe fn resume(fiber: *mut Fiber) {
        // SAFETY: by contract nobody else holds a reference to the coroutine; the code that runs
        // inside touches only `job` and `yielder`, which are other fields.
        let coroutine = unsafe { &mut *std::ptr::addr_of_mut!((*fiber).coroutine) };
        coroutine.resume(());
    }

    /// Goes back to whoever resumed this fiber.
    ///
    /// # Safety
    /// Called on the fiber's own stack.
    #[inline]
    pub(crate) unsafe fn suspend(fiber: *mut Fiber) {
        // SAFETY: the coroutine runs, so it has set its yielder.
        unsafe { (*(*fiber).yielder).suspend(()) };
    }

    /// Gives a fiber back whose job is done.
    pub(crate) fn recycle(fiber: *mut Fiber) {
        POOL.with_borrow_mut(|pool| pool.idle.push(fiber));
    }
}
