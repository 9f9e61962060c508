//! CPU time, which unlike wall time does not count what other processes did meanwhile.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The CPU time of this process so far, user and system, over all its threads.
///
/// # Panics
/// Never: CPU time is not negative.
#[must_use]
pub fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).expect("CPU time is never negative")
}
