//! A task that overflows its stack ends its execution, not the process, where that can be done.
//!
//! The guard page below a stack makes the overflow a fault. On x86-64 Linux the handler of faults (`faults.rs`) ends
//! the coroutine, so that the execution is reported with its schedule. What was on the stack is
//! lost: destructors do not run, locks of the allocator may stay held. Elsewhere it is a fault like others.

/// Ends the current task if the fault is an overflow of its stack.
///
/// # Safety
/// In a handler of `SIGSEGV`, with what the kernel passed to it.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) unsafe fn end_task(info: *mut libc::siginfo_t, context: *mut libc::c_void) -> bool {
    use crate::execution::Execution;
    use crate::fiber::Fiber;

    let context: *mut libc::ucontext_t = context.cast();
    // SAFETY: by contract of the caller. The execution is that of this thread, interrupted
    // in user code or in an op; only the registers of the interrupted task are changed.
    unsafe {
        let execution = Execution::current();
        if execution.is_null() || (*execution).me.is_null() {
            return false;
        }
        let fiber = (*(*execution).me).fiber;
        if fiber.is_null() {
            return false;
        }
        let registers = &mut (*context).uc_mcontext.gregs;
        let stack = registers[libc::REG_RSP as usize].cast_unsigned() as usize;
        let fault = (*info).si_addr() as usize;
        if !Fiber::guard(fiber).contains(&fault) {
            return false;
        }
        let Some(regs) = Fiber::end(fiber, stack) else { return false };
        registers[libc::REG_RIP as usize] = regs.rip.cast_signed();
        registers[libc::REG_RSP as usize] = regs.rsp.cast_signed();
        registers[libc::REG_RBP as usize] = regs.rbp.cast_signed();
        registers[libc::REG_RDI as usize] = regs.rdi.cast_signed();
        registers[libc::REG_RSI as usize] = regs.rsi.cast_signed();
        true
    }
}

#[cfg(all(unix, not(all(target_os = "linux", target_arch = "x86_64"))))]
pub(crate) unsafe fn end_task(_: *mut libc::siginfo_t, _: *mut libc::c_void) -> bool {
    false
}
