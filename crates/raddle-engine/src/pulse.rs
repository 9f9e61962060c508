//! What other OS threads may know of a search: whether it moves, and which objects are its own.
//!
//! An object remembers in which execution it was last used, as a *stamp*: the number of the
//! searching thread and of its execution. From a stamp anyone can find out whether that execution
//! still runs, so two searches, or a search and a stray thread, never share an object unnoticed.

use std::panic::Location;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::at_fork;

const EXECUTION_BITS: u32 = 44;

/// The vital signs of one searching OS thread.
#[derive(Debug)]
pub struct Pulse {
    id: u64,
    /// The stamp of the execution that runs now; 0 between executions.
    live: AtomicU64,
    /// Executions begun on this pulse, over all its searches.
    executions: AtomicU64,
    /// How many of them are the second time of one that was counted.
    repetitions: AtomicU64,
    steps: AtomicU64,
    task: AtomicU32,
    site: AtomicPtr<Location<'static>>,
    /// Another OS thread touched an object of the running execution.
    pub(crate) foreign: AtomicBool,
    /// Whether another OS thread looks at this all the time.
    watched: AtomicBool,
    /// Whether the OS thread of the search aborts: one of the constants below.
    aborts: AtomicU32,
}

const NO_ABORT: u32 = 0;
const ABORTS: u32 = 1;
/// The thread that watches it knows.
const HEARD: u32 = 2;

/// How often a thread that aborts looks whether that was heard, and how many microseconds lie between two looks:
/// together longer than a busy machine keeps the one that watches from running.
#[cfg(unix)]
const LOOKS: (u32, u32) = (1_000, 10_000);

/// All pulses ever made, and those that no search uses now.
struct Registry {
    all: Vec<&'static Pulse>,
    free: Vec<&'static Pulse>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { all: Vec::new(), free: Vec::new() });

/// A look at a pulse: where the search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    /// Whether an execution runs.
    pub running: bool,
    /// Executions begun so far. With `steps`, changes whenever the search moves.
    pub executions: u64,
    /// Steps of the execution that runs.
    pub steps: u64,
    /// The task that moved last.
    pub task: u32,
    /// From where.
    pub site: Option<&'static Location<'static>>,
}

impl Pulse {
    /// A pulse for one search. Reuses one that was given back.
    pub(crate) fn acquire() -> &'static Pulse {
        let mut registry = at_fork::lock(&REGISTRY);
        if let Some(pulse) = registry.free.pop() {
            pulse.foreign.store(false, Ordering::Relaxed);
            pulse.watched.store(false, Ordering::Relaxed);
            return pulse;
        }
        let pulse: &'static Pulse = Box::leak(Box::new(Pulse::new(registry.all.len())));
        registry.all.push(pulse);
        pulse
    }

    /// The same in memory that is given for good.
    ///
    /// # Safety
    /// There is room for a pulse, aligned, which nothing else ever uses.
    pub unsafe fn place(memory: *mut Pulse) -> &'static Pulse {
        let mut registry = at_fork::lock(&REGISTRY);
        // SAFETY: by contract.
        let pulse: &'static Pulse = unsafe {
            memory.write(Pulse::new(registry.all.len()));
            &*memory
        };
        registry.all.push(pulse);
        pulse
    }

    /// The pulse after so many others.
    fn new(others: usize) -> Pulse {
        Pulse {
            id: others as u64 + 1,
            live: AtomicU64::new(0),
            executions: AtomicU64::new(0),
            repetitions: AtomicU64::new(0),
            steps: AtomicU64::new(0),
            task: AtomicU32::new(0),
            site: AtomicPtr::new(ptr::null_mut()),
            foreign: AtomicBool::new(false),
            watched: AtomicBool::new(false),
            aborts: AtomicU32::new(NO_ABORT),
        }
    }

    /// From now on the calling thread, or one that it stands for, asks [`has_aborted`](Self::has_aborted) all the time.
    pub fn watch(&self) {
        self.watched.store(true, Ordering::Relaxed);
    }

    /// Whether the search was ended by a call of `abort` while a panic unwound. Its OS thread waits for ever when it
    /// knows that it was heard.
    #[must_use]
    pub fn has_aborted(&self) -> bool {
        let (aborts, relaxed) = (&self.aborts, Ordering::Relaxed);
        aborts.load(relaxed) != NO_ABORT
            && aborts.compare_exchange(ABORTS, HEARD, Ordering::AcqRel, relaxed).is_ok()
    }

    /// The calling thread, which is that of the search, aborts. Whether that was heard. Called by a handler of a signal.
    #[cfg(unix)]
    pub(crate) fn abort(&self) -> bool {
        if !self.watched.load(Ordering::Relaxed) {
            return false;
        }
        self.aborts.store(ABORTS, Ordering::Release);
        let (looks, between) = LOOKS;
        for _ in 0..looks {
            // SAFETY: a plain call.
            unsafe { libc::usleep(between) };
            if self.aborts.load(Ordering::Acquire) == HEARD {
                return true;
            }
        }
        false
    }

    pub(crate) fn give_back(&'static self) {
        self.live.store(0, Ordering::Release);
        at_fork::lock(&REGISTRY).free.push(self);
    }

    /// Begins an execution and returns its stamp, which is never 0.
    pub(crate) fn begin(&self) -> u64 {
        let number = self.executions.load(Ordering::Relaxed) + 1;
        self.executions.store(number, Ordering::Relaxed);
        // No task has moved in it yet.
        self.steps.store(0, Ordering::Relaxed);
        self.task.store(0, Ordering::Relaxed);
        self.site.store(ptr::null_mut(), Ordering::Relaxed);
        let stamp = self.id << EXECUTION_BITS | number;
        self.live.store(stamp, Ordering::Release);
        stamp
    }

    /// The next execution is the second time of the last one.
    pub(crate) fn repeat(&self) {
        self.repetitions.fetch_add(1, Ordering::Relaxed);
    }

    /// How many executions were begun that count, over all searches.
    #[must_use]
    pub fn counted(&self) -> u64 {
        let repetitions = self.repetitions.load(Ordering::Relaxed);
        self.executions.load(Ordering::Relaxed).saturating_sub(repetitions)
    }

    /// No execution runs any more.
    pub fn end(&self) {
        self.live.store(0, Ordering::Release);
    }

    #[inline]
    pub(crate) fn step(&self, steps: u64, task: u32, site: &'static Location<'static>) {
        // Plain stores: one thread writes, and a watcher only asks whether they changed.
        self.steps.store(steps, Ordering::Relaxed);
        self.task.store(task, Ordering::Relaxed);
        self.site.store(ptr::from_ref(site).cast_mut(), Ordering::Relaxed);
    }

    /// Where the search is.
    #[must_use]
    pub fn beat(&self) -> Beat {
        let site = self.site.load(Ordering::Relaxed);
        Beat {
            running: self.live.load(Ordering::Relaxed) != 0,
            executions: self.executions.load(Ordering::Relaxed),
            steps: self.steps.load(Ordering::Relaxed),
            task: self.task.load(Ordering::Relaxed),
            // SAFETY: only ever set from a `&'static Location`.
            site: unsafe { site.cast_const().as_ref() },
        }
    }

    /// The pulse of the execution with this stamp, if it runs now.
    pub(crate) fn of_live(stamp: u64) -> Option<&'static Pulse> {
        let id = stamp >> EXECUTION_BITS;
        let registry = at_fork::lock(&REGISTRY);
        let pulse = *registry.all.get((id as usize).checked_sub(1)?)?;
        (pulse.live.load(Ordering::Acquire) == stamp).then_some(pulse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_its_first_step_an_execution_has_nothing_of_the_last() {
        let pulse = Pulse::acquire();
        pulse.begin();
        pulse.step(3, 2, Location::caller());
        let Beat { running, steps, task, site, .. } = pulse.beat();
        assert_eq!((running, steps, task, site.is_some()), (true, 3, 2, true));
        pulse.end();
        pulse.begin();
        let Beat { running, steps, task, site, .. } = pulse.beat();
        assert_eq!((running, steps, task, site), (true, 0, 0, None));
        pulse.give_back();
    }
}
