//! Stacks that are switched by `corosensei`, wherever `switch.rs` does not: from the code that resumes a fiber to it and back.

use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::{Fiber, Staggered};

/// Whether a fiber can be left for another one.
pub(crate) const IS_DIRECT: bool = false;

/// A stack with a coroutine on it.
pub(super) struct Strand {
    coroutine: Coroutine<usize, (), (), Staggered>,
    /// Set by the coroutine itself when it first runs; valid as long as the coroutine.
    yielder: *const Yielder<usize, ()>,
}

/// See [`Fiber::stack_pointer`].
#[inline]
pub(super) fn stack_pointer() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}

/// Not called: see [`Strand::left_at`].
pub(super) unsafe fn goes_on_with(_: usize) -> [usize; 3] {
    [0; 3]
}

impl Strand {
    /// 0: how `corosensei` leaves a stack is its own affair.
    #[expect(clippy::unused_self, reason = "elsewhere it is known")]
    pub(super) fn left_at(&self) -> usize {
        0
    }

    /// See [`left_at`](Self::left_at).
    #[expect(clippy::unused_self, reason = "elsewhere it is known")]
    pub(super) fn resumed_at(&self) -> usize {
        0
    }

    /// On its first resumption it calls `start` with the fiber. That does not return.
    pub(super) fn new(stack: Staggered, start: extern "C" fn(*mut Fiber) -> !) -> Self {
        let main = move |yielder: &Yielder<usize, ()>, fiber: usize| {
            let fiber: *mut Fiber = std::ptr::with_exposed_provenance_mut(fiber);
            // SAFETY: the code that resumed this coroutine keeps the fiber alive and does not touch it before the coroutine
            // suspends.
            unsafe { (*fiber).strand.yielder = yielder };
            start(fiber)
        };
        Self { coroutine: Coroutine::with_stack(stack, main), yielder: std::ptr::null() }
    }

    /// See [`Fiber::resume`].
    #[inline]
    pub(super) unsafe fn resume(fiber: *mut Fiber) -> bool {
        // SAFETY: by contract of the caller there is no other reference to the coroutine; the code that runs inside
        // touches other fields.
        let coroutine = unsafe { &mut *(&raw mut (*fiber).strand.coroutine) };
        match coroutine.resume(fiber.expose_provenance()) {
            CoroutineResult::Yield(()) => true,
            CoroutineResult::Return(()) => false,
        }
    }

    /// See [`Fiber::suspend`].
    #[inline]
    pub(super) unsafe fn suspend(fiber: *mut Fiber) {
        // SAFETY: the coroutine runs, so it has set its yielder.
        unsafe { (*(*fiber).strand.yielder).suspend(()) };
    }

    /// See [`Fiber::end`].
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(super) unsafe fn end(
        fiber: *const Fiber,
        stack_pointer: usize,
    ) -> Option<super::Registers> {
        // SAFETY: by contract of the caller; the handler is used once, while the coroutine runs.
        unsafe {
            let handler = (*fiber).strand.coroutine.trap_handler();
            let regs = handler
                .stack_ptr_in_bounds(stack_pointer)
                .then(|| handler.setup_trap_handler(|| ()))?;
            let corosensei::trap::TrapHandlerRegs { rip, rsp, rbp, rdi, rsi } = regs;
            Some(super::Registers { rip, rsp, rbp, rdi, rsi })
        }
    }

    /// Not called: see [`IS_DIRECT`].
    pub(super) unsafe fn hand_over(_: *mut Fiber, _: *mut Fiber) {
        unreachable!("engine bug: a coroutine can only be left for the code that resumed it")
    }
}

impl Drop for Strand {
    fn drop(&mut self) {
        // SAFETY: a fiber is freed while it waits for a job, where nothing on its stack needs dropping.
        unsafe { self.coroutine.force_reset() };
    }
}
