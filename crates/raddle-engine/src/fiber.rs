//! Stacks that run one task after another, pooled for the life of an OS thread.
//!
//! A fresh stack costs thousands of nanoseconds, a pooled one about ten. So what a fiber runs
//! never ends: it runs a job, suspends, and waits for the next one. A task that ends normally is
//! never unwound.
//!
//! Invariant: no reference into engine state lives across [`Fiber::suspend`], [`Fiber::hand_over`] or
//! [`Fiber::resume`]; callers hold raw pointers and borrow afresh after each. Fibers are boxed and
//! never move while they have a stack.
//!
//! How stacks are switched is in `switch.rs`, for x86-64 Linux, and in `coroutine.rs` for all others. Built with
//! `--cfg raddle_coroutines` the latter is used everywhere.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use corosensei::stack::{DefaultStack, Stack, StackPointer};

#[cfg(not(all(
    target_os = "linux",
    target_arch = "x86_64",
    target_pointer_width = "64",
    not(raddle_coroutines)
)))]
#[path = "fiber/coroutine.rs"]
mod strand;
#[cfg(all(
    target_os = "linux",
    target_arch = "x86_64",
    target_pointer_width = "64",
    not(raddle_coroutines)
))]
#[path = "fiber/switch.rs"]
mod strand;

use self::strand::Strand;
use crate::at_fork;

/// A stack that runs jobs.
pub(crate) struct Fiber {
    strand: Strand,
    stack_size: usize,
    /// The lowest address of the stack: that of its guard page.
    limit: usize,
    /// The address above the stack.
    base: usize,
    /// What to run when it is resumed next. Must not unwind.
    job: Option<fn()>,
}

impl fmt::Debug for Fiber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fiber").field("stack_size", &self.stack_size).finish_non_exhaustive()
    }
}

/// A stack that does not begin where its neighbours do.
///
/// Stacks are aligned to pages and tasks are at similar depths, so their frames would fall on the
/// same cache lines of every page.
struct Staggered {
    stack: DefaultStack,
    /// Where it begins: some bytes are left free at the top.
    base: StackPointer,
}

/// At least one page is guarded; a fault further up is not an overflow.
const GUARD: usize = 4096;
/// Bytes of each stack that are left for the engine.
const ROOM: usize = if CATCHES_OVERFLOW { 64 << 10 } else { 0 };
/// See `overflow.rs`.
const CATCHES_OVERFLOW: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));
const STAGGER: usize = 320;
const STAGGERS: usize = 12;

// SAFETY: the same stack, with its guard page, only a little shorter at the top.
unsafe impl Stack for Staggered {
    #[inline]
    fn base(&self) -> StackPointer {
        self.base
    }

    fn limit(&self) -> StackPointer {
        self.stack.limit()
    }

    #[cfg(windows)]
    fn teb_fields(&self) -> corosensei::stack::StackTebFields {
        self.stack.teb_fields()
    }

    #[cfg(windows)]
    fn update_teb_fields(&mut self, stack_limit: usize, guaranteed_stack_bytes: usize) {
        self.stack.update_teb_fields(stack_limit, guaranteed_stack_bytes);
    }
}

/// What a fiber runs: one job each time it is resumed after the one before.
extern "C" fn run_jobs(fiber: *mut Fiber) -> ! {
    loop {
        // SAFETY: the code that resumed this fiber keeps it alive and does not touch it before it suspends. The borrow
        // ends before the job runs.
        let job = unsafe { (*fiber).job.take() };
        if let Some(job) = job {
            job();
        }
        // SAFETY: on the fiber's own stack.
        unsafe { Fiber::suspend(fiber) };
    }
}

/// The registers of the code that resumed a fiber.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registers {
    pub(crate) rip: u64,
    pub(crate) rsp: u64,
    pub(crate) rbp: u64,
    pub(crate) rdi: u64,
    pub(crate) rsi: u64,
}

thread_local! {
    /// Fibers that wait for a job.
    static POOL: RefCell<Pool> = const { RefCell::new(Pool { idle: Vec::new(), created: 0 }) };
}

struct Pool {
    idle: Vec<*mut Fiber>,
    created: usize,
}

/// Fibers without a job that a search has at hand: the pool of its OS thread is further away. It gives them back when
/// it is over.
#[derive(Debug, Default)]
pub(crate) struct Idlers(Vec<*mut Fiber>);

impl Idlers {
    /// Keeps a fiber whose job is done.
    #[inline]
    pub(crate) fn keep(&mut self, fiber: *mut Fiber) {
        self.0.push(fiber);
    }

    /// Gives all of them to the pool of the calling OS thread.
    pub(crate) fn give_back(&mut self) {
        self.0.drain(..).for_each(Fiber::recycle);
    }
}

/// Fibers that an OS thread left behind for others, at most [`MAX_LEFT`].
static LEFT: Mutex<Vec<Idle>> = Mutex::new(Vec::new());
const MAX_LEFT: usize = 256;

/// Stacks of this process that are kept for good: see [`Fiber::keep`].
static KEPT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Those of them that this OS thread has kept.
    static KEPT_HERE: Cell<u64> = const { Cell::new(0) };
}

/// How many stacks of unfinished tasks this process has kept. They are never freed: what is on them may be borrowed.
#[must_use]
pub fn kept() -> u64 {
    KEPT.load(Ordering::Relaxed)
}

/// How many of them this OS thread has kept: those of other searches, on other threads, do not count.
#[must_use]
pub fn kept_here() -> u64 {
    KEPT_HERE.get()
}

/// Adds what another OS thread has kept that ran an execution of this one's search.
pub(crate) fn count_kept(more: u64) {
    KEPT_HERE.set(KEPT_HERE.get() + more);
}

/// A fiber that waits for a job, on its way to another OS thread.
struct Idle(*mut Fiber);

// SAFETY: an idle fiber waits at the end of its loop: nothing on its stack belongs to the OS
// thread that ran it last.
unsafe impl Send for Idle {}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut left = at_fork::lock(&LEFT);
        for fiber in self.idle.drain(..) {
            if left.len() < MAX_LEFT {
                left.push(Idle(fiber));
                continue;
            }
            // SAFETY: pooled fibers were made by `Box::into_raw` and are owned by the pool alone. An idle fiber waits at
            // the end of its loop, where nothing on its stack needs dropping.
            drop(unsafe { Box::from_raw(fiber) });
        }
    }
}

impl Fiber {
    /// A fiber that will run `job` when resumed, one of those at hand if it fits. `None` if no stack can be had.
    #[inline]
    pub(crate) fn take(idle: &mut Idlers, stack_size: usize, job: fn()) -> Option<*mut Fiber> {
        let fiber = match idle.0.pop() {
            // SAFETY: live, and without another user.
            Some(fiber) if unsafe { (*fiber).stack_size >= stack_size } => fiber,
            Some(fiber) => {
                Self::recycle(fiber);
                Self::find(stack_size)?
            }
            None => Self::find(stack_size)?,
        };
        // SAFETY: live, and owned by the caller from here on.
        unsafe { (*fiber).job = Some(job) };
        Some(fiber)
    }

    /// A fiber of the pool, one that another OS thread has left, or a new one.
    #[cold]
    fn find(stack_size: usize) -> Option<*mut Fiber> {
        let pooled = POOL.with_borrow_mut(|pool| {
            // Nearly always the last one fits: all tasks of a search have the same stack size.
            // SAFETY: the pool's pointers are live, and an idle fiber has no other user.
            let fits = |&fiber: &*mut Fiber| unsafe { (*fiber).stack_size >= stack_size };
            let at = pool.idle.iter().rposition(fits)?;
            Some(pool.idle.swap_remove(at))
        });
        let left = || {
            let mut left = at_fork::lock(&LEFT);
            // SAFETY: as above.
            let fits = |idle: &Idle| unsafe { (*idle.0).stack_size >= stack_size };
            let at = left.iter().rposition(fits)?;
            Some(left.swap_remove(at).0)
        };
        pooled.or_else(left).or_else(|| Self::create(stack_size))
    }

    fn create(stack_size: usize) -> Option<*mut Fiber> {
        let nth = POOL.with_borrow_mut(|pool| {
            pool.created += 1;
            pool.created % STAGGERS
        });
        let stack = DefaultStack::new(stack_size + ROOM + STAGGERS * STAGGER).ok()?;
        let base = StackPointer::new(stack.base().get() - nth * STAGGER).expect("inside the stack");
        let stack = Staggered { stack, base };
        let (limit, base) = (stack.limit().get(), stack.base().get());
        let strand = Strand::new(stack, run_jobs);
        Some(Box::into_raw(Box::new(Fiber { strand, stack_size, limit, base, job: None })))
    }

    /// Whether [`hand_over`](Self::hand_over) can be called.
    pub(crate) const IS_DIRECT: bool = strand::IS_DIRECT;

    /// Runs the fiber until it suspends, or one to which it has handed over. `false`: it, or that one, overflowed its
    /// stack and is no more.
    ///
    /// # Safety
    /// `fiber` is live and suspended or new, and its job's data outlives the run.
    #[inline]
    pub(crate) unsafe fn resume(fiber: *mut Fiber) -> bool {
        // SAFETY: by contract.
        unsafe { Strand::resume(fiber) }
    }

    /// The stack pointer below which there is too little room for what the engine does at an op. What the program asked for
    /// is above it. 0 where an overflow cannot be caught.
    ///
    /// # Safety
    /// `fiber` is live.
    #[inline]
    pub(crate) unsafe fn floor(fiber: *const Fiber) -> usize {
        if !CATCHES_OVERFLOW {
            return 0;
        }
        // SAFETY: by contract; `limit` is written once.
        unsafe { (*fiber).limit + GUARD + ROOM }
    }

    /// Where the stack ends on which this is called, about.
    #[expect(clippy::inline_always, reason = "one instruction")]
    #[inline(always)]
    pub(crate) fn stack_pointer() -> usize {
        strand::stack_pointer()
    }

    /// Overflows the running stack. In the middle of the engine's work that would leave its state half changed.
    ///
    /// # Safety
    /// Called on the stack of `fiber`.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn overflow(fiber: *const Fiber) -> ! {
        // SAFETY: by contract. The guard page faults, and the handler does not come back.
        unsafe { std::ptr::with_exposed_provenance::<u8>((*fiber).limit).read_volatile() };
        unreachable!("engine bug: a guard page that does not fault")
    }

    /// Leaves this fiber for another one, which goes back to the code that resumed this one when it suspends. Comes back
    /// when it is resumed, or another is left for it.
    ///
    /// # Safety
    /// Called on the stack of `fiber`; `to` is live, suspended, and another one. See [`IS_DIRECT`](Self::IS_DIRECT).
    #[inline]
    pub(crate) unsafe fn hand_over(fiber: *mut Fiber, to: *mut Fiber) {
        // SAFETY: by contract.
        unsafe { Strand::hand_over(fiber, to) };
    }

    /// The registers with which the running fiber, whose stack overflowed, goes back to the code that resumed it; none if
    /// this stack pointer is not on its stack. It is not resumed again. For a handler of a signal.
    ///
    /// # Safety
    /// `fiber` is live and runs.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(crate) unsafe fn end(fiber: *const Fiber, stack_pointer: usize) -> Option<Registers> {
        // SAFETY: by contract.
        unsafe { Strand::end(fiber, stack_pointer) }
    }

    /// The addresses below the stack that fault.
    ///
    /// # Safety
    /// `fiber` is live.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "overflow is caught there"))]
    pub(crate) unsafe fn guard(fiber: *const Fiber) -> std::ops::Range<usize> {
        // SAFETY: by contract; `limit` is written once.
        let limit = unsafe { (*fiber).limit };
        limit..limit + GUARD
    }

    /// The addresses of the stack.
    ///
    /// # Safety
    /// `fiber` is live.
    pub(crate) unsafe fn stack(fiber: *const Fiber) -> std::ops::Range<usize> {
        // SAFETY: by contract; both are written once.
        unsafe { (*fiber).limit..(*fiber).base }
    }

    /// The stack pointer with which the fiber was left last; 0 where that is not known. For a debugger.
    ///
    /// # Safety
    /// `fiber` is live.
    pub(crate) unsafe fn left_at(fiber: *const Fiber) -> usize {
        // SAFETY: by contract.
        unsafe { (*fiber).strand.left_at() }
    }

    /// The stack pointer of the code that resumed the fiber; 0 where that is not known. For a debugger.
    ///
    /// # Safety
    /// `fiber` is live and runs, or has resumed another that does.
    pub(crate) unsafe fn resumed_at(fiber: *const Fiber) -> usize {
        // SAFETY: by contract.
        unsafe { (*fiber).strand.resumed_at() }
    }

    /// The instruction, stack and frame pointers with which code goes on that was left with this stack pointer; zeros if that
    /// is 0.
    ///
    /// # Safety
    /// It has not been gone back to.
    pub(crate) unsafe fn goes_on_with(stack_pointer: usize) -> [usize; 3] {
        // SAFETY: by contract.
        if stack_pointer == 0 { [0; 3] } else { unsafe { strand::goes_on_with(stack_pointer) } }
    }

    /// Frees a fiber whose stack overflowed.
    ///
    /// # Safety
    /// `fiber` is live, ended, and not used again.
    pub(crate) unsafe fn free(fiber: *mut Fiber) {
        // SAFETY: by contract.
        drop(unsafe { Box::from_raw(fiber) });
    }

    /// Goes back to the code that resumed this fiber.
    ///
    /// # Safety
    /// Called on the fiber's own stack.
    #[inline]
    pub(crate) unsafe fn suspend(fiber: *mut Fiber) {
        // SAFETY: by contract.
        unsafe { Strand::suspend(fiber) };
    }

    /// Leaves a fiber where it is, with all that is on its stack. It is never resumed nor freed: others may have
    /// pointers to what is there.
    pub(crate) fn keep(_: *mut Fiber) {
        KEPT.fetch_add(1, Ordering::Relaxed);
        KEPT_HERE.set(KEPT_HERE.get() + 1);
    }

    /// Gives a fiber back whose job is done.
    pub(crate) fn recycle(fiber: *mut Fiber) {
        let pooled = POOL.try_with(|pool| pool.borrow_mut().idle.push(fiber));
        if pooled.is_err() {
            // The OS thread is on its way out, and its pool has gone already.
            let mut left = at_fork::lock(&LEFT);
            left.push(Idle(fiber));
        }
    }
}
