//! Whether an execution waits for something outside of raddle: a real sleep, a file, a socket.
//!
//! Such a wait is of no use to a search, which has a clock of its own, and every execution takes as long. The
//! engine reads no clock, so whoever runs a search lends it a [`Stopwatch`]; it is looked at only in an
//! execution that is run twice (`witness.rs`). The first time tells the longest gap between two steps; the
//! second time it is measured what the OS thread did in that gap. A gap that was long but once, because
//! something was initialised or the machine had other things to do, is none.

/// How time is measured.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    /// Wall time in nanoseconds. Asked at every step of a few executions.
    pub now_ns: fn() -> u64,
    /// What the OS thread has done so far, if that can be told. Asked a few times in a search.
    pub reading: fn() -> Option<Reading>,
}

/// Whether they are the same functions.
impl PartialEq for Stopwatch {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.now_ns, other.now_ns)
            && std::ptr::fn_addr_eq(self.reading, other.reading)
    }
}

impl Eq for Stopwatch {}

/// What an OS thread has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Which thread.
    pub thread: u64,
    /// Wall time.
    pub wall_ns: u64,
    /// For how long it ran.
    pub ran_ns: u64,
    /// For how long it could have run, but others did.
    pub queued_ns: u64,
    /// How often it gave up its processor by itself, in order to wait.
    pub waits: u64,
}

impl Reading {
    /// For how long the thread waited since then; none if it is another one, or never did.
    fn waited_since(&self, then: &Self) -> Option<u64> {
        if self.thread != then.thread || self.waits == then.waits {
            return None;
        }
        let wall = self.wall_ns.checked_sub(then.wall_ns)?;
        let busy = self.ran_ns.saturating_sub(then.ran_ns);
        let queued = self.queued_ns.saturating_sub(then.queued_ns);
        wall.checked_sub(busy + queued)
    }
}

/// A gap between two steps that is shorter is not worth a word.
const LEAST_NS: u64 = 1_000_000;

/// Measures an execution and its repetition.
#[derive(Debug)]
pub(crate) struct Timing {
    watch: Stopwatch,
    /// When the last step was, the first time.
    last_ns: u64,
    /// The longest gap of the first time: how many steps came before it, and how long it was.
    longest: (usize, u64),
    /// The second time: at the beginning of that gap, and how long was waited in it.
    begun: Option<Reading>,
    waited_ns: Option<u64>,
}

impl Timing {
    /// An execution begins.
    pub(crate) fn new(watch: Stopwatch) -> Self {
        let last_ns = (watch.now_ns)();
        Self { watch, last_ns, longest: (0, 0), begun: None, waited_ns: None }
    }

    /// In the first execution, after so many steps: another step, or the end.
    pub(crate) fn first(&mut self, steps: usize) {
        let now = (self.watch.now_ns)();
        let gap = now.saturating_sub(self.last_ns);
        self.last_ns = now;
        if gap > self.longest.1 {
            self.longest = (steps, gap);
        }
    }

    /// In the second one, after so many steps: another step, or the end.
    pub(crate) fn second(&mut self, steps: usize) {
        let (gap, ns) = self.longest;
        if ns < LEAST_NS {
            return;
        }
        if steps == gap
            && let (Some(begun), Some(now)) = (self.begun, (self.watch.reading)())
        {
            self.waited_ns = now.waited_since(&begun);
        }
        if steps + 1 == gap {
            self.begun = (self.watch.reading)();
        }
    }

    /// The first execution is over, and the second begins.
    pub(crate) fn again(&mut self) {
        if self.longest.0 == 0 && self.longest.1 >= LEAST_NS {
            self.begun = (self.watch.reading)();
        }
    }

    /// How many steps came before a gap in which both executions waited, and for how many nanoseconds.
    pub(crate) fn waited(&self) -> Option<(usize, u64)> {
        let (steps, gap_ns) = self.longest;
        let waited = self.waited_ns?.min(gap_ns);
        (waited >= LEAST_NS).then_some((steps, waited))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static NOW: Cell<Reading> = const {
            Cell::new(Reading { thread: 1, wall_ns: 0, ran_ns: 0, queued_ns: 0, waits: 0 })
        };
    }

    const WATCH: Stopwatch =
        Stopwatch { now_ns: || NOW.get().wall_ns, reading: || Some(NOW.get()) };

    /// Milliseconds in which the thread waits, runs, and is kept from running.
    #[derive(Clone, Copy)]
    struct Pass(u64, u64, u64);

    fn pass(Pass(waits, runs, queued): Pass) {
        let mut now = NOW.get();
        now.wall_ns += (waits + runs + queued) * 1_000_000;
        now.ran_ns += runs * 1_000_000;
        now.queued_ns += queued * 1_000_000;
        now.waits += u64::from(waits > 0);
        NOW.set(now);
    }

    /// What is said of an execution with these gaps, and then those: one before each step, and one after the last.
    fn measured(first: &[Pass], second: &[Pass]) -> Option<(usize, u64)> {
        let mut timing = Timing::new(WATCH);
        for (steps, gap) in first.iter().enumerate() {
            pass(*gap);
            timing.first(steps);
        }
        timing.again();
        for (steps, gap) in second.iter().enumerate() {
            pass(*gap);
            timing.second(steps);
        }
        timing.waited().map(|(steps, ns)| (steps, ns / 1_000_000))
    }

    const NOTHING: Pass = Pass(0, 0, 0);

    #[test]
    fn a_gap_in_which_both_waited_is_told() {
        let waits = |n: usize| {
            let mut gaps = [NOTHING; 4];
            gaps[n] = Pass(5, 1, 0);
            gaps
        };
        for n in 0..4 {
            assert_eq!(measured(&waits(n), &waits(n)), Some((n, 5)), "after {n} steps");
        }
        assert_eq!(measured(&waits(1), &waits(2)), None, "another gap");
        assert_eq!(measured(&waits(1), &[NOTHING; 4]), None, "only the first time");
        assert_eq!(measured(&[NOTHING; 4], &waits(1)), None, "only the second time");
    }

    #[test]
    fn a_gap_in_which_the_thread_ran_or_could_have_run_is_not() {
        for busy in [Pass(0, 50, 0), Pass(0, 1, 50), Pass(0, 20, 30)] {
            assert_eq!(measured(&[busy, NOTHING], &[busy, NOTHING]), None);
        }
    }

    #[test]
    fn readings_of_two_threads_say_nothing() {
        let now = NOW.get();
        let later = Reading { thread: 2, wall_ns: now.wall_ns + 9_000_000, waits: 9, ..now };
        assert_eq!(later.waited_since(&now), None);
        assert_eq!(Reading { thread: 1, ..later }.waited_since(&now), Some(9_000_000));
    }
}
