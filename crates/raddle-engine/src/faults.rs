//! Faults of the program under test: `SIGSEGV`, `SIGBUS`, `SIGILL`, `SIGFPE`.
//!
//! An overflow of a task's stack ends its execution (`overflow.rs`). Every other fault is for whatever handler was there before,
//! std's or the program's own. If the process does not survive it, it first says how to find out which schedule leads
//! there (`last_words.rs`).
//!
//! # Why: After the handler that was there before
//! A program may go on after a fault: a handler that maps the page, or one of a runtime that turns the fault into an
//! exception. So nothing is said before it had its way. One that gives up as std's does sets the default action and returns:
//! then the fault comes again and ends the process. One that ends the process itself is not improved on.

#[cfg(unix)]
pub(crate) use unix::install;

#[cfg(not(unix))]
pub(crate) fn install() {}

#[cfg(unix)]
mod unix {
    use std::mem;
    use std::ptr;
    use std::sync::{Once, OnceLock};

    use crate::{last_words, overflow};

    const SIGNALS: [libc::c_int; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];

    /// What was there before, in the order of `SIGNALS`.
    static BEFORE: [OnceLock<libc::sigaction>; SIGNALS.len()] =
        [const { OnceLock::new() }; SIGNALS.len()];

    pub(crate) fn install() {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| {
            for (signal, before) in SIGNALS.into_iter().zip(&BEFORE) {
                // Known before the handler is, which looks at it.
                before.get_or_init(|| action(signal));
                // SAFETY: plain calls with valid pointers. The handler runs on the alternate stack that std gives to every
                // thread it starts.
                unsafe {
                    let mut ours: libc::sigaction = mem::zeroed();
                    ours.sa_sigaction = on_fault as *const () as usize;
                    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
                    libc::sigaction(signal, &raw const ours, ptr::null_mut());
                }
            }
        });
    }

    /// What is done now about a signal.
    fn action(signal: libc::c_int) -> libc::sigaction {
        // SAFETY: a valid pointer for the time of the call; zeros are an action.
        unsafe {
            let mut now: libc::sigaction = mem::zeroed();
            libc::sigaction(signal, ptr::null(), &raw mut now);
            now
        }
    }

    unsafe extern "C" fn on_fault(
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        // SAFETY: the kernel passes valid pointers; nothing here allocates or locks.
        unsafe {
            if signal == libc::SIGSEGV && overflow::end_task(info, context) {
                return;
            }
            let before = SIGNALS.iter().position(|known| *known == signal);
            let before = before.and_then(|index| BEFORE[index].get());
            // Sent by a process, not by an instruction, which would be repeated when this returns.
            let sent = (*info).si_code <= 0;
            match before {
                Some(before) if before.sa_sigaction > libc::SIG_IGN => {
                    last_words::call(before, signal, info, context);
                    if action(signal).sa_sigaction == libc::SIG_DFL {
                        last_words::say_what_runs();
                    }
                }
                Some(before) if before.sa_sigaction == libc::SIG_IGN && sent => {}
                _ => {
                    last_words::say_what_runs();
                    libc::signal(signal, libc::SIG_DFL);
                    if sent {
                        libc::raise(signal);
                    }
                }
            }
        }
    }
}
