//! What the driver needs of the operating system: hosts that cannot outlive it, limits, signals.
#![expect(unsafe_code, reason = "calls into libc, each with its argument")]

use std::io;
use std::mem;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// How often Ctrl-C was pressed.
static INTERRUPTS: AtomicU32 = AtomicU32::new(0);

/// From now on Ctrl-C is counted instead of ending the process.
pub(crate) fn catch_interrupts() {
    extern "C" fn count(_signal: libc::c_int) {
        INTERRUPTS.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the handler touches an atomic and nothing else.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = count as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        for signal in [libc::SIGINT, libc::SIGTERM] {
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// How often Ctrl-C was pressed.
pub(crate) fn interrupts() -> u32 {
    INTERRUPTS.load(Ordering::Relaxed)
}

/// Makes a command a host: a process group of its own, which Ctrl-C does not reach; killed if the
/// driver dies; no core files, since a crash is a finding; at most so many bytes of address space.
pub(crate) fn prepare(command: &mut Command, memory: Option<u64>) {
    command.process_group(0);
    let prepare = move || {
        let limit = |resource, bytes: u64| {
            let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
            // SAFETY: a valid pointer for the time of the call.
            match unsafe { libc::setrlimit(resource, &raw const limit) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        };
        limit(libc::RLIMIT_CORE, 0)?;
        if let Some(bytes) = memory {
            limit(libc::RLIMIT_AS, bytes)?;
        }
        #[cfg(target_os = "linux")]
        // SAFETY: a plain call. The signal comes when the thread that starts the host ends; that
        // thread waits for it.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        }
        Ok(())
    };
    // SAFETY: only calls that are safe between fork and exec: no allocation, no locks.
    unsafe { command.pre_exec(prepare) };
}

/// Kills a host and whatever it has started.
pub(crate) fn kill_group(pid: u32) {
    if let Ok(pid) = libc::pid_t::try_from(pid)
        && pid > 1
    {
        // SAFETY: a plain call. The host was made the leader of a group of this number, and is not
        // waited for before, so that the number is still its own.
        unsafe { libc::kill(-pid, libc::SIGKILL) };
    }
}

/// Columns of the terminal on standard output or standard error.
pub(crate) fn columns() -> Option<usize> {
    window().map(|size| usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

/// Rows of the terminal, as it is now.
pub(crate) fn rows() -> Option<usize> {
    window().map(|size| usize::from(size.ws_row)).filter(|&rows| rows > 0)
}

fn window() -> Option<libc::winsize> {
    let of = |fd| {
        // SAFETY: a valid pointer for the time of the call.
        unsafe {
            let mut size: libc::winsize = mem::zeroed();
            (libc::ioctl(fd, libc::TIOCGWINSZ, &raw mut size) == 0).then_some(size)
        }
    };
    of(libc::STDOUT_FILENO).or_else(|| of(libc::STDERR_FILENO))
}

/// Whether a process was stopped by a signal. A debugger that holds it is something else. Where the system does not say: no.
pub(crate) fn is_stopped(pid: u32) -> bool {
    let about = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name before it may have any letters.
    about.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

/// Whether a child has ended. It is left to be waited for, so its number stays its own until then.
pub(crate) fn has_ended(pid: u32) -> io::Result<bool> {
    // SAFETY: a valid pointer for the time of the call; a zeroed siginfo is a valid one.
    unsafe {
        let mut info: libc::siginfo_t = mem::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        match libc::waitid(libc::P_PID, pid, &raw mut info, options) {
            0 => Ok(info.si_pid() != 0),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
