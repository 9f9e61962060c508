//! A task that overflows its stack ends its execution, not the process, where that can be done.
//!
//! The guard page below a stack makes the overflow a fault. On x86-64 Linux a handler for it ends
//! the coroutine, so that the execution is reported with its schedule. What was on the stack is
//! lost: destructors do not run, locks of the allocator may stay held. Elsewhere, and for every
//! other fault, whatever handler was there before has its way.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) use linux::install;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub(crate) fn install() {}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod linux {
    use std::mem::{self, MaybeUninit};
    use std::sync::OnceLock;

    use crate::execution::Execution;
    use crate::fiber::Fiber;

    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    pub(crate) fn install() {
        BEFORE.get_or_init(|| {
            // SAFETY: plain calls with valid pointers. The handler runs on the alternate stack
            // that std gives to every thread it starts.
            unsafe {
                let mut action: libc::sigaction = mem::zeroed();
                action.sa_sigaction = on_fault as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
                let mut before = MaybeUninit::<libc::sigaction>::zeroed();
                libc::sigaction(libc::SIGSEGV, &raw const action, before.as_mut_ptr());
                before.assume_init()
            }
        });
    }

    unsafe extern "C" fn on_fault(
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        // SAFETY: the kernel passes valid pointers; nothing here allocates or locks.
        unsafe {
            if end_task(info, context.cast()) {
                return;
            }
            match BEFORE.get() {
                Some(before) if before.sa_sigaction > libc::SIG_IGN => {
                    type Handler =
                        unsafe extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
                    let handler: Handler = mem::transmute(before.sa_sigaction);
                    handler(signal, info, context);
                }
                _ => {
                    libc::signal(signal, libc::SIG_DFL);
                }
            }
        }
    }

    /// Ends the current task if the fault is an overflow of its stack.
    unsafe fn end_task(info: *mut libc::siginfo_t, context: *mut libc::ucontext_t) -> bool {
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
}
