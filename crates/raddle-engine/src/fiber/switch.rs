//! Switches between stacks on x86-64 Linux: to a fiber, back to the code that resumed it, and straight to another fiber.
//!
//! A stack that does not run is known by one number: its stack pointer. There lies the address at which it goes on, and
//! above that the two registers that no compiler lets assembly clobber. All others are spilled by the compiler, as far
//! as they are in use.
//!
//! # Why: a switch of our own
//! A coroutine of `corosensei` goes back to the code that resumed it, and nowhere else. Of two tasks that take turns each step
//! then costs two switches, and returns that the processor predicts wrongly. Here a task goes straight to the next, by
//! jumps. Elsewhere `coroutine.rs` does the same by way of the host.

use std::arch::asm;

use corosensei::stack::Stack as _;

use super::{Fiber, Registers, Staggered};

/// Whether a fiber can be left for another one.
pub(crate) const IS_DIRECT: bool = true;

/// What a switch hands over.
const SUSPENDED: usize = 1;
const OVERFLOWED: usize = 0;

/// A stack that code runs on, and where the code that resumed it goes on.
pub(super) struct Strand {
    stack: Staggered,
    /// Its stack pointer, while it does not run.
    own: usize,
    /// The stack pointer of the code that resumed it, while it runs.
    resumer: usize,
}

/// Leaves the running stack for another one. Its stack pointer is stored at `from`. What comes back is the value of the
/// switch that leads here again.
///
/// # Safety
/// `to` was stored by a switch that has not been gone back to, or made by [`Strand::new`]. `from` is valid and no
/// reference to it lives. What runs on the other stack keeps to the rules of the caller.
#[expect(
    clippy::inline_always,
    reason = "after a switch every return is mispredicted: keep them few"
)]
#[inline(always)]
unsafe fn switch(from: *mut usize, to: usize, value: usize) -> usize {
    let came;
    // SAFETY: by contract. Stack pointer, rbx and rbp are restored where the other stack switches back; all other
    // registers are declared as clobbered. The stack is used, so the compiler keeps nothing below its pointer.
    unsafe {
        asm!(
            "push rbp",
            "push rbx",
            "lea rax, [rip + 2f]",
            "push rax",
            "mov [rsi], rsp",
            "mov rsp, rdx",
            "pop rax",
            // No return: the processor would predict that of the stack which is left.
            "jmp rax",
            "2:",
            "pop rbx",
            "pop rbp",
            inout("rdi") value => came,
            in("rsi") from,
            in("rdx") to,
            lateout("r12") _, lateout("r13") _, lateout("r14") _, lateout("r15") _,
            clobber_abi("sysv64"),
        );
    }
    came
}

/// See [`Fiber::stack_pointer`].
#[expect(clippy::inline_always, reason = "one instruction")]
#[inline(always)]
pub(super) fn stack_pointer() -> usize {
    let pointer;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, rsp", out(reg) pointer, options(nostack, nomem, preserves_flags)) };
    pointer
}

/// See [`Fiber::goes_on_with`].
pub(super) unsafe fn goes_on_with(stack_pointer: usize) -> [usize; 3] {
    // SAFETY: by contract of the caller: what `switch` has pushed.
    let [instruction, _rbx, rbp] =
        unsafe { *std::ptr::with_exposed_provenance::<[usize; 3]>(stack_pointer) };
    // Whatever walks the stack knows nothing of the words that were pushed, so this is where it was before.
    [instruction, stack_pointer + size_of::<[usize; 3]>(), rbp]
}

impl Strand {
    /// See [`Fiber::left_at`].
    pub(super) fn left_at(&self) -> usize {
        self.own
    }

    /// See [`Fiber::resumed_at`].
    pub(super) fn resumed_at(&self) -> usize {
        self.resumer
    }

    /// On its first resumption it calls `start` with the fiber. That does not return.
    pub(super) fn new(stack: Staggered, start: extern "C" fn(*mut Fiber) -> !) -> Self {
        // A function begins with its stack pointer 8 bytes below a multiple of 16, at the address to which it returns.
        // There is none: 0 tells whatever walks the stack that it ends, also from where `goes_on_with` has it begin.
        let words = [start as *const () as usize, 0, 0, 0];
        let own = (stack.base().get() & !15) - size_of_val(&words);
        // SAFETY: at the upper end of a stack that is not in use.
        unsafe { std::ptr::with_exposed_provenance_mut::<[usize; 4]>(own).write(words) };
        Self { stack, own, resumer: 0 }
    }

    /// See [`Fiber::resume`].
    #[expect(clippy::inline_always, reason = "as for `switch`")]
    #[inline(always)]
    pub(super) unsafe fn resume(fiber: *mut Fiber) -> bool {
        // SAFETY: by contract of the caller.
        unsafe {
            let this = &raw mut (*fiber).strand;
            switch(&raw mut (*this).resumer, (*this).own, fiber.expose_provenance()) != OVERFLOWED
        }
    }

    /// See [`Fiber::suspend`].
    #[expect(clippy::inline_always, reason = "as for `switch`")]
    #[inline(always)]
    pub(super) unsafe fn suspend(fiber: *mut Fiber) {
        // SAFETY: by contract of the caller.
        unsafe {
            let this = &raw mut (*fiber).strand;
            switch(&raw mut (*this).own, (*this).resumer, SUSPENDED);
        }
    }

    /// See [`Fiber::hand_over`].
    #[expect(clippy::inline_always, reason = "as for `switch`")]
    #[inline(always)]
    pub(super) unsafe fn hand_over(fiber: *mut Fiber, to: *mut Fiber) {
        // SAFETY: by contract of the caller.
        unsafe {
            let (this, other) = (&raw mut (*fiber).strand, &raw mut (*to).strand);
            (*other).resumer = (*this).resumer;
            switch(&raw mut (*this).own, (*other).own, to.expose_provenance());
        }
    }

    /// See [`Fiber::end`].
    pub(super) unsafe fn end(fiber: *const Fiber, stack_pointer: usize) -> Option<Registers> {
        // SAFETY: by contract of the caller; where the resumer goes on lies at its stack pointer.
        unsafe {
            let this = &(*fiber).strand;
            if !(this.stack.limit().get()..this.stack.base().get()).contains(&stack_pointer) {
                return None;
            }
            let rip = *std::ptr::with_exposed_provenance::<u64>(this.resumer);
            let rsp = (this.resumer + size_of::<usize>()) as u64;
            // The resumer restores rbp itself.
            Some(Registers { rip, rsp, rbp: 0, rdi: OVERFLOWED as u64, rsi: 0 })
        }
    }
}
