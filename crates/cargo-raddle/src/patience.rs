//! How long a host may take to do what it was told: by the clock, less the time in which it waited for a processor.
//!
//! On a machine with more to run than it has cores, a host that was told to stop may get no turn for seconds. To kill it then
//! would lose what it has found.

use std::time::{Duration, Instant};

use crate::os;

/// How long a host may take to end, or to give back its unit, after it was told to.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// What is left of a host's time.
#[derive(Debug)]
pub(crate) struct Patience {
    process: u32,
    left: Duration,
    /// When it was looked at last, and how long its threads had waited for a processor by then.
    seen: (Instant, Duration),
}

impl Patience {
    /// The whole time, from now on.
    pub(crate) fn new(process: u32) -> Self {
        Self::within(GRACE, process)
    }

    /// Another time, from now on.
    pub(crate) fn within(left: Duration, process: u32) -> Self {
        Self { process, left, seen: (Instant::now(), waited(process)) }
    }

    /// Whether the time is over. To be asked every few milliseconds: of the time between two questions no more is left
    /// out than that time.
    pub(crate) fn is_over(&mut self) -> bool {
        let (now, waited) = (Instant::now(), waited(self.process));
        let (then, before) = self.seen;
        self.spend(now - then, waited.saturating_sub(before));
        self.seen = (now, waited);
        self.left.is_zero()
    }

    fn spend(&mut self, passed: Duration, waited: Duration) {
        self.left = self.left.saturating_sub(passed.saturating_sub(waited));
    }
}

/// Since when a process is stopped (SIGSTOP), if it is. Its own watchdog stands still with it, so nothing else ends it.
#[derive(Debug, Default)]
pub(crate) struct Standstill(Option<Instant>);

impl Standstill {
    /// Whether it has been stopped for long.
    pub(crate) fn is_over(&mut self, process: u32) -> bool {
        if !os::is_stopped(process) {
            self.0 = None;
            return false;
        }
        self.0.get_or_insert_with(Instant::now).elapsed() >= GRACE
    }
}

/// How long the threads of a process were ready to run and had no processor, together. Nothing where the system does not say.
fn waited(process: u32) -> Duration {
    let threads =
        std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let of = |thread: std::fs::DirEntry| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        // Nanoseconds on a processor, nanoseconds of waiting for one, and how often it had one.
        text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
    };
    threads.filter_map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_without_a_processor_does_not_count() {
        let mut patience = Patience::new(std::process::id());
        for _ in 0..100 {
            patience.spend(Duration::from_secs(1), Duration::from_secs(1));
        }
        assert_eq!(patience.left, GRACE);
        // Two threads that wait at the same time do not make time go back.
        patience.spend(Duration::from_secs(1), Duration::from_secs(2));
        assert_eq!(patience.left, GRACE);
        patience.spend(Duration::from_secs(4), Duration::from_secs(1));
        assert_eq!(patience.left + Duration::from_secs(3), GRACE);
        patience.spend(Duration::from_secs(4), Duration::ZERO);
        assert!(patience.is_over());
    }

    #[test]
    fn the_time_of_a_process_that_is_gone_goes_on() {
        assert_eq!(waited(u32::MAX), Duration::ZERO);
    }
}
