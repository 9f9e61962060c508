//! What an OS thread has done, as Linux tells it: how long it ran, was kept from running, and waited.

#![expect(unsafe_code, reason = "the clock of a thread is asked of the C library")]

use std::fs;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use raddle_engine::{Reading, Stopwatch};

/// For searches: see [`Reading`].
pub(crate) const STOPWATCH: Stopwatch = Stopwatch { now_ns, reading };

fn now_ns() -> u64 {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGAN.elapsed().as_nanos().try_into().unwrap_or(u64::MAX)
}

/// None if the kernel does not say.
fn reading() -> Option<Reading> {
    static THREADS: AtomicU64 = AtomicU64::new(0);
    thread_local! {
        static THREAD: u64 = THREADS.fetch_add(1, Ordering::Relaxed);
    }
    // The second number: nanoseconds in which it could have run.
    let scheduled = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let queued_ns = scheduled.split_whitespace().nth(1)?.parse().ok()?;
    Some(Reading {
        thread: THREAD.with(|thread| *thread),
        wall_ns: now_ns(),
        ran_ns: ran_ns()?,
        queued_ns,
        waits: waits()?,
    })
}

fn ran_ns() -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes the time to where it is given room for it.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    let (seconds, ns) = (u64::try_from(time.tv_sec).ok()?, u64::try_from(time.tv_nsec).ok()?);
    (failed == 0).then_some(seconds * 1_000_000_000 + ns)
}

fn waits() -> Option<u64> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: it writes to where it is given room for it; zeroes are a value of that type.
    let (failed, usage) =
        unsafe { (libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()), usage.assume_init()) };
    (failed == 0).then(|| u64::try_from(usage.ru_nvcsw).ok())?
}
