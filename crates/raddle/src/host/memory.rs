//! What a host needs of the operating system: memory that outlives it, and its own end.
#![expect(unsafe_code, reason = "a mapped file, and a signal to the own process group")]

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd as _;
use std::ptr;
use std::sync::atomic::AtomicU32;

use raddle_engine::Tape;

/// Maps a file as the place where options are kept. It stays mapped until the process ends.
pub(super) fn map(path: &str) -> io::Result<Tape> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    let words = length / size_of::<AtomicU32>();
    if words == 0 {
        return Err(io::Error::other("the file is empty"));
    }
    // SAFETY: a new mapping of an open file, which stays valid after the file is closed.
    let memory = unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        libc::mmap(ptr::null_mut(), length, protection, libc::MAP_SHARED, file.as_raw_fd(), 0)
    };
    if memory == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the mapping begins on a page, has that many words, and is never unmapped. All access,
    // the driver's after this process is gone, is to whole words.
    let words: &'static [AtomicU32] =
        unsafe { std::slice::from_raw_parts(memory.cast::<AtomicU32>(), words) };
    Tape::new(words).ok_or_else(|| io::Error::other("the file is too short"))
}

/// Processor time of this process so far, in microseconds.
pub(super) fn busy_us() -> u64 {
    // SAFETY: all zeros are a time; the call fills it in or leaves it.
    let time = unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time);
        time
    };
    let whole = |part: i64| u64::try_from(part).unwrap_or(0);
    whole(time.tv_sec) * 1_000_000 + whole(time.tv_nsec) / 1000
}

/// Ends this process and whatever the test has started. The driver gave the host a process group of
/// its own; if it is in another's, only the process itself ends.
pub(super) fn end_group() {
    // SAFETY: plain calls.
    unsafe {
        if libc::getpgrp() == libc::getpid() {
            libc::kill(0, libc::SIGKILL);
        }
        libc::_exit(1);
    }
}
