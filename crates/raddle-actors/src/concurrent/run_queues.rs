//! Run queues of the workers, and how workers sleep and are woken.
//!
//! Each worker has a queue; what comes from outside is in one more. A worker whose queue is empty takes
//! from that one, then half of another worker's, then it sleeps. A thread that puts something into a queue
//! looks afterwards whether a worker sleeps, and wakes one.
//!
//! # No wake-up is lost
//! A worker that is about to sleep says so first (`idle`) and then looks at the queues once more;
//! a thread that adds something adds it first and then looks at `idle`. Both take the lock of the queue,
//! so one of them sees what the other did.
//!
//! # One actor in a queue is left to its worker
//! A handler that sends one message makes one actor runnable, which its own worker runs next: to
//! wake another for it would cost more than most handlers do. So workers are woken, and take
//! from others, where two or more wait. A handler that runs for long must not hold up that one for long,
//! though: while some workers run, one of the sleeping ones is the *watch*. It looks every now and then
//! and takes from workers that have been with the same actor since it looked last.

use std::collections::VecDeque;
use std::time::Duration;

use super::sync::{
    AtomicBool, AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, PoisonError, lock,
};

/// A worker looks at what comes from outside at least once in so many turns.
const OUTSIDE_EVERY: u32 = 61;

/// The run queues of all workers, and which workers sleep.
pub(crate) struct RunQueues<T> {
    lanes: Vec<Lane<T>>,
    outside: Mutex<VecDeque<T>>,
    sleep: Mutex<Sleep>,
    /// For workers.
    wake: Condvar,
    /// For threads that wait until all is done.
    quiet: Condvar,
    /// Workers that sleep and have not been woken. Written under `sleep`.
    idle: AtomicUsize,
    /// Whether one of the sleepers is the watch. Written under `sleep`.
    watched: AtomicBool,
    closed: AtomicBool,
    /// How often the watch looks. `None`: there is none.
    watch: Option<Duration>,
}

/// A worker's own. Aligned so that no two share a cache line.
#[repr(align(128))]
struct Lane<T> {
    queue: Mutex<VecDeque<T>>,
    turns: AtomicUsize,
}

struct Sleep {
    /// Workers that sleep, woken or not.
    asleep: usize,
    /// How many of them are woken. Invariant: at most `asleep`.
    woken: usize,
}

impl<T> RunQueues<T> {
    pub(crate) fn new(workers: usize, watch: Option<Duration>) -> Self {
        let lane = || Lane { queue: Mutex::new(VecDeque::new()), turns: AtomicUsize::new(0) };
        Self {
            lanes: (0..workers).map(|_| lane()).collect(),
            outside: Mutex::new(VecDeque::new()),
            sleep: Mutex::new(Sleep { asleep: 0, woken: 0 }),
            wake: Condvar::new(),
            quiet: Condvar::new(),
            idle: AtomicUsize::new(0),
            watched: AtomicBool::new(watch.is_none()),
            closed: AtomicBool::new(false),
            watch,
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Adds something to run: by the worker with this number, or from outside.
    pub(crate) fn push(&self, worker: Option<usize>, task: T) {
        let queue = worker.map_or(&self.outside, |worker| &self.lanes[worker].queue);
        let mut queue = lock(queue);
        if self.closed.load(Ordering::SeqCst) {
            // The queues may have been drained already.
            drop(queue);
            drop(task);
            return;
        }
        queue.push_back(task);
        let alone = worker.is_some() && queue.len() < 2;
        drop(queue);
        if self.idle.load(Ordering::SeqCst) > 0 && !(alone && self.watched.load(Ordering::Relaxed))
        {
            self.wake_one();
        }
    }

    fn wake_one(&self) {
        let mut sleep = lock(&self.sleep);
        if sleep.woken < sleep.asleep {
            sleep.woken += 1;
            self.count(&sleep);
            self.wake.notify_one();
        }
    }

    /// What the worker runs next; waits for it. `None`: all is over. `tick` is the worker's own.
    pub(crate) fn next(&self, worker: usize, tick: &mut u32) -> Option<T> {
        let lane = &self.lanes[worker];
        loop {
            if self.is_closed() {
                return None;
            }
            *tick = tick.wrapping_add(1);
            if self.watch.is_some() {
                lane.turns.store(*tick as usize, Ordering::Relaxed);
            }
            if tick.is_multiple_of(OUTSIDE_EVERY)
                && let Some(task) = self.take_outside(worker)
            {
                return Some(task);
            }
            let own = lock(&lane.queue).pop_front();
            if let Some(task) = own
                .or_else(|| self.take_outside(worker))
                .or_else(|| self.steal(worker))
                .or_else(|| self.sleep(worker))
            {
                return Some(task);
            }
        }
    }

    fn take_outside(&self, worker: usize) -> Option<T> {
        let mut outside = lock(&self.outside);
        let share = outside.len().div_ceil(self.lanes.len());
        let mut taken = outside.drain(..share).collect::<VecDeque<_>>();
        drop(outside);
        let first = taken.pop_front()?;
        self.keep(worker, taken);
        Some(first)
    }

    /// Half of what another worker has, if that is two or more.
    fn steal(&self, worker: usize) -> Option<T> {
        let others = (1..self.lanes.len()).map(|n| (worker + n) % self.lanes.len());
        for other in others {
            let mut queue = lock(&self.lanes[other].queue);
            if queue.len() < 2 {
                continue;
            }
            let half = queue.len() / 2;
            let mut taken = queue.drain(..half).collect::<VecDeque<_>>();
            drop(queue);
            let first = taken.pop_front();
            self.keep(worker, taken);
            return first;
        }
        None
    }

    fn keep(&self, worker: usize, mut tasks: VecDeque<T>) {
        if tasks.is_empty() {
            return;
        }
        lock(&self.lanes[worker].queue).append(&mut tasks);
        // While they were on their way no other worker could see them.
        if self.idle.load(Ordering::SeqCst) > 0 {
            self.wake_one();
        }
    }

    /// Whether a worker without anything to do can find something.
    fn has_work(&self, worker: usize) -> bool {
        let enough = |n: usize| if n == worker { 1 } else { 2 };
        !lock(&self.outside).is_empty()
            || self.lanes.iter().enumerate().any(|(n, lane)| lock(&lane.queue).len() >= enough(n))
    }

    fn is_empty(&self) -> bool {
        lock(&self.outside).is_empty() && self.lanes.iter().all(|lane| lock(&lane.queue).is_empty())
    }

    fn count(&self, sleep: &MutexGuard<'_, Sleep>) {
        self.idle.store(sleep.asleep - sleep.woken, Ordering::SeqCst);
    }

    /// Sleeps until this worker is woken. The watch may find something to run.
    fn sleep(&self, worker: usize) -> Option<T> {
        let mut watches = false;
        let mut seen = Vec::new();
        let mut sleep = lock(&self.sleep);
        sleep.asleep += 1;
        self.count(&sleep);
        if sleep.asleep == self.lanes.len() {
            self.quiet.notify_all();
        }
        if !self.has_work(worker) {
            while !self.closed.load(Ordering::SeqCst) {
                if sleep.woken > 0 {
                    sleep.woken -= 1;
                    break;
                }
                let busy = sleep.asleep < self.lanes.len();
                let due = self
                    .watch
                    .filter(|_| busy && (watches || !self.watched.load(Ordering::Relaxed)));
                let Some(every) = due else {
                    if std::mem::take(&mut watches) {
                        self.watched.store(false, Ordering::Relaxed);
                    }
                    sleep = self.wake.wait(sleep).unwrap_or_else(PoisonError::into_inner);
                    continue;
                };
                if !std::mem::replace(&mut watches, true) {
                    self.watched.store(true, Ordering::Relaxed);
                    seen = self.turns();
                }
                let waited = self.wake.wait_timeout(sleep, every);
                let timed_out;
                (sleep, timed_out) = waited.unwrap_or_else(PoisonError::into_inner);
                if timed_out.timed_out() && sleep.woken == 0 {
                    let task = self.take_stuck(&seen);
                    if task.is_some() {
                        self.watched.store(false, Ordering::Relaxed);
                        sleep.asleep -= 1;
                        self.count(&sleep);
                        return task;
                    }
                    seen = self.turns();
                }
            }
        }
        if watches {
            self.watched.store(false, Ordering::Relaxed);
        }
        sleep.asleep -= 1;
        // After `close` a worker may leave that was woken and did not notice.
        sleep.woken = sleep.woken.min(sleep.asleep);
        self.count(&sleep);
        None
    }

    fn turns(&self) -> Vec<usize> {
        self.lanes.iter().map(|lane| lane.turns.load(Ordering::Relaxed)).collect()
    }

    /// Takes from a worker that is still with the actor it was with when `seen` was noted.
    fn take_stuck(&self, seen: &[usize]) -> Option<T> {
        let stuck = self.lanes.iter().zip(seen);
        let mut stuck = stuck.filter(|(lane, seen)| lane.turns.load(Ordering::Relaxed) == **seen);
        stuck.find_map(|(lane, _)| lock(&lane.queue).pop_front())
    }

    /// Waits until all workers sleep and nothing is to be run, and `is_done`; or until `is_enough`, or
    /// until all is over. A change of what those say is to be followed by
    /// [`notify_quiet`](Self::notify_quiet).
    pub(crate) fn wait_quiet(&self, is_done: impl Fn() -> bool, is_enough: impl Fn() -> bool) {
        let mut sleep = lock(&self.sleep);
        while !(self.closed.load(Ordering::SeqCst)
            || is_enough()
            || sleep.asleep == self.lanes.len() && self.is_empty() && is_done())
        {
            sleep = self.quiet.wait(sleep).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Has threads in [`wait_quiet`](Self::wait_quiet) look again.
    pub(crate) fn notify_quiet(&self) {
        let _sleep = lock(&self.sleep);
        self.quiet.notify_all();
    }

    /// Ends all workers.
    pub(crate) fn close(&self) {
        let _sleep = lock(&self.sleep);
        self.closed.store(true, Ordering::SeqCst);
        self.wake.notify_all();
        self.quiet.notify_all();
    }

    /// What was to be run. After [`close`](Self::close); nothing is taken in any more.
    pub(crate) fn drain(&self) -> Vec<T> {
        let queues = self.lanes.iter().map(|lane| &lane.queue).chain([&self.outside]);
        queues.flat_map(|queue| std::mem::take(&mut *lock(queue))).collect()
    }
}
