//! A condition variable for threads.
//!
//! To wait is two steps. The first joins the queue and gives the lock back, at once. The second
//! leaves the queue and takes the lock again: it can run when the task has been notified *and*
//! the lock is free, so waking up is no point of its own. No test could tell if it were: between
//! waking and locking a task does nothing, and one that is notified is no candidate any more.
//!
//! Which waiter `notify_one` wakes is a decision of its step. A timeout that fires takes the
//! waiter out of the queue at once, so it cannot swallow a notification meant for another.

use std::fmt;
use std::sync::{LockResult, PoisonError};
use std::time::{Duration, Instant};

use raddle_engine::rt;

use super::mutex::{LockOp, MutexGuard};
use super::small_list::SmallList;
use crate::Named;
use crate::prelude::*;

/// Those who wait, in the order in which they came.
#[derive(Debug)]
struct Queue {
    waiters: SmallList<Waiter>,
    /// Tasks that have woken spuriously, or will, and have not been notified since.
    spent: SmallList<TaskId>,
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    task: TaskId,
    notified: bool,
    /// Wakes whether it is notified or not.
    spurious: bool,
}

#[derive(Clone, Copy, Debug)]
enum QueueOp {
    /// Begins to wait. Goes with an unlock.
    Enter,
    /// Ends to wait. Goes with a lock.
    Wake,
    NotifyOne,
    NotifyAll,
}

impl Queue {
    const fn new() -> Self {
        Self { waiters: SmallList::new(), spent: SmallList::new() }
    }

    fn waiter(&self, task: TaskId) -> Option<Waiter> {
        self.waiters.iter().find(|waiter| waiter.task == task)
    }

    /// The waiters that a notification could still wake.
    fn candidates(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.waiters.iter().filter(|waiter| !waiter.notified).map(|waiter| waiter.task)
    }

    fn candidate(&self, nth: u32) -> Option<TaskId> {
        self.candidates().nth(nth as usize)
    }

    fn notify(&mut self, task: TaskId) {
        let mine = |waiter: &&mut Waiter| waiter.task == task;
        self.waiters.iter_mut().find(mine).expect("candidates wait").notified = true;
        self.spent.remove_first(|spent| spent == task);
    }
}

impl Model for Queue {
    type Op = QueueOp;
    /// How many a notification woke.
    type Reply = usize;
    const KIND: &'static str = "Condvar";

    fn enabled(&self, task: TaskId, op: QueueOp) -> bool {
        match op {
            QueueOp::Wake => {
                self.waiter(task).is_some_and(|waiter| waiter.notified || waiter.spurious)
            }
            QueueOp::Enter | QueueOp::NotifyOne | QueueOp::NotifyAll => true,
        }
    }

    fn access(&self, task: TaskId, op: QueueOp) -> Access {
        match op {
            QueueOp::Enter => Access::Write,
            // Only the notified task sees that it has been notified: that it leaves changes nothing
            // for the others. Who may wake spuriously is a candidate until then.
            QueueOp::Wake => match self.waiter(task) {
                Some(waiter) if waiter.spurious => Access::Write,
                _ => Access::Woken,
            },
            QueueOp::NotifyOne | QueueOp::NotifyAll => {
                if self.candidates().next().is_some() {
                    Access::Write
                } else {
                    Access::FailedUpdate
                }
            }
        }
    }

    // Spurious wake-ups are decided when a wait begins: 1 is "will wake unless notified before".
    // When it wakes is then a matter of scheduling, and until it does a notification may pick it
    // or another, so this covers a spurious wake-up at every moment of the wait. A task that has
    // woken so does not again before it has been notified, or a loop around the wait would never
    // end. Misses: a second spurious wake-up in a row. A loop that finds its condition as it was
    // waits again and has changed nothing, so only the first can matter to it.
    fn options(&self, task: TaskId, op: QueueOp, settings: &Settings) -> u32 {
        match op {
            QueueOp::Enter if settings.spurious => {
                if self.spent.iter().any(|spent| spent == task) {
                    1
                } else {
                    2
                }
            }
            QueueOp::NotifyOne => self.candidates().count().max(1) as u32,
            _ => 1,
        }
    }

    fn option_task(&self, _: TaskId, op: QueueOp, option: u32) -> Option<TaskId> {
        match op {
            QueueOp::NotifyOne => self.candidate(option),
            _ => None,
        }
    }

    // Who is woken knows what was done before it was notified. Misses: std does not promise that,
    // only that the lock orders what was done under it.
    fn synchronise(&self, task: TaskId, op: QueueOp, option: u32, edges: &mut Edges<'_>) {
        match op {
            QueueOp::Enter => {}
            QueueOp::Wake => {
                if self.waiter(task).is_some_and(|waiter| waiter.notified) {
                    edges.acquire(task.0);
                }
            }
            QueueOp::NotifyOne => self.candidate(option).iter().for_each(|w| edges.publish(w.0)),
            QueueOp::NotifyAll => self.candidates().for_each(|woken| edges.publish(woken.0)),
        }
    }

    fn apply(&mut self, task: TaskId, op: QueueOp, option: u32) -> usize {
        match op {
            QueueOp::Enter => {
                let spurious = option == 1;
                self.waiters.push(Waiter { task, notified: false, spurious });
                if spurious {
                    self.spent.push(task);
                }
                0
            }
            QueueOp::Wake => {
                self.waiters.remove_first(|waiter| waiter.task == task);
                0
            }
            QueueOp::NotifyOne => match self.candidate(option) {
                Some(woken) => {
                    self.notify(woken);
                    1
                }
                None => 0,
            },
            QueueOp::NotifyAll => {
                let mut woken = 0;
                while let Some(next) = self.candidate(0) {
                    self.notify(next);
                    woken += 1;
                }
                woken
            }
        }
    }

    // Who has been notified wakes, even if it must still wait for the lock.
    fn may_expire(&self, task: TaskId, _: QueueOp) -> bool {
        self.waiter(task).is_some_and(|waiter| !waiter.notified)
    }

    fn expire(&mut self, task: TaskId, _: QueueOp) {
        self.waiters.remove_first(|waiter| waiter.task == task);
    }

    fn reset(&mut self) {
        self.waiters.clear();
        self.spent.clear();
    }

    fn show(op: QueueOp, reply: Option<&usize>) -> String {
        match (op, reply) {
            // A task that is stuck here "waits", as the program says.
            (QueueOp::Enter, _) | (QueueOp::Wake, None) => "wait".to_owned(),
            (QueueOp::Wake, Some(_)) => "wake".to_owned(),
            (QueueOp::NotifyOne, Some(0)) => "notify_one -> wakes nobody".to_owned(),
            (QueueOp::NotifyOne, _) => "notify_one".to_owned(),
            (QueueOp::NotifyAll, Some(0)) => "notify_all -> wakes nobody".to_owned(),
            (QueueOp::NotifyAll, Some(woken)) => format!("notify_all -> wakes {woken}"),
            (QueueOp::NotifyAll, None) => "notify_all".to_owned(),
        }
    }
}

/// Like [`std::sync::WaitTimeoutResult`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the wait ended by its timeout.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

/// Like [`std::sync::Condvar`].
///
/// Spurious wake-ups are explored if the settings say so.
pub struct Condvar {
    queue: Object<Queue>,
}

impl Condvar {
    /// A condition variable on which no thread waits.
    #[must_use]
    #[track_caller]
    pub const fn new() -> Self {
        Self { queue: Object::new(Queue::new()) }
    }

    /// Gives the lock back and waits for a notification, then takes the lock again.
    ///
    /// # Errors
    /// If the mutex is poisoned when the lock is taken again, as in std.
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let mutex = guard.mutex;
        self.enter(guard);
        rt::step_both((&self.queue, QueueOp::Wake), (&mutex.lock, LockOp::Lock));
        mutex.guard()
    }

    /// Waits as long as `condition` holds.
    ///
    /// # Errors
    /// If the mutex is poisoned when the lock is taken again, as in std.
    #[track_caller]
    pub fn wait_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut *guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Gives the lock back and waits for a notification or for the timeout, then takes the lock
    /// again.
    ///
    /// # Errors
    /// If the mutex is poisoned when the lock is taken again, as in std.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        dur: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let mutex = guard.mutex;
        self.enter(guard);
        let wake = (&self.queue, QueueOp::Wake);
        let woken = rt::step_both_timeout(wake, (&mutex.lock, LockOp::Lock), dur).is_some();
        if !woken {
            mutex.lock.step(LockOp::Lock);
        }
        let result = WaitTimeoutResult(!woken);
        match mutex.guard() {
            Ok(guard) => Ok((guard, result)),
            Err(poisoned) => Err(PoisonError::new((poisoned.into_inner(), result))),
        }
    }

    /// Like [`wait_timeout`](Self::wait_timeout), with milliseconds. Whether it was notified, and not
    /// ended by the timeout.
    ///
    /// # Errors
    /// If the mutex is poisoned when the lock is taken again, as in std.
    #[deprecated(note = "as in std: use `wait_timeout`")]
    #[track_caller]
    pub fn wait_timeout_ms<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        ms: u32,
    ) -> LockResult<(MutexGuard<'a, T>, bool)> {
        match self.wait_timeout(guard, Duration::from_millis(u64::from(ms))) {
            Ok((guard, result)) => Ok((guard, !result.timed_out())),
            Err(poisoned) => {
                let (guard, result) = poisoned.into_inner();
                Err(PoisonError::new((guard, !result.timed_out())))
            }
        }
    }

    /// Waits as long as `condition` holds, or until the timeout. Inside an execution a
    /// notification that leaves `condition` true starts the timeout anew: to read the clock would
    /// be one more step of each wait.
    ///
    /// # Errors
    /// If the mutex is poisoned when the lock is taken again, as in std.
    #[track_caller]
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        dur: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        F: FnMut(&mut T) -> bool,
    {
        #[expect(clippy::disallowed_methods, reason = "outside an execution time is real")]
        let start = (!rt::inside()).then(Instant::now);
        let mut timed_out = false;
        loop {
            if !condition(&mut *guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            let passed = start.map_or(Duration::ZERO, |start| start.elapsed());
            let left = dur.checked_sub(passed).filter(|_| !timed_out);
            let Some(left) = left else { return Ok((guard, WaitTimeoutResult(true))) };
            let (again, result) = self.wait_timeout(guard, left)?;
            guard = again;
            timed_out = result.timed_out();
        }
    }

    /// Wakes one waiter, if there is any. Which one is a decision.
    #[track_caller]
    pub fn notify_one(&self) {
        self.queue.step(QueueOp::NotifyOne);
    }

    /// Wakes all waiters.
    #[track_caller]
    pub fn notify_all(&self) {
        self.queue.step(QueueOp::NotifyAll);
    }

    /// Joins the queue and gives the lock back, in one step.
    #[track_caller]
    fn enter<T>(&self, mut guard: MutexGuard<'_, T>) {
        rt::note_spurious();
        // The value first: the task that the model lets in next must find it free. The guard, without
        // it, does nothing more.
        guard.release_value();
        rt::step_both((&self.queue, QueueOp::Enter), (&guard.mutex.lock, LockOp::Unlock));
    }
}

impl Named for Condvar {
    fn named(mut self, name: &'static str) -> Self {
        self.queue.set_name(name);
        self
    }
}

impl Default for Condvar {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: TaskId = TaskId(0);
    const B: TaskId = TaskId(1);
    const C: TaskId = TaskId(2);

    fn settings(spurious: bool) -> Settings {
        Settings { spurious, ..Settings::default() }
    }

    #[test]
    fn a_notification_wakes_those_who_wait_and_is_lost_on_others() {
        let mut queue = Queue::new();
        assert_eq!(queue.access(C, QueueOp::NotifyOne), Access::FailedUpdate);
        assert_eq!(queue.apply(C, QueueOp::NotifyOne, 0), 0);
        queue.apply(A, QueueOp::Enter, 0);
        assert!(!queue.enabled(A, QueueOp::Wake));
        assert_eq!(queue.access(C, QueueOp::NotifyOne), Access::Write);
        assert_eq!(queue.apply(C, QueueOp::NotifyOne, 0), 1);
        assert!(queue.enabled(A, QueueOp::Wake));
        assert_eq!(queue.apply(C, QueueOp::NotifyAll, 0), 0);
        assert_eq!(queue.access(A, QueueOp::Wake), Access::Woken);
        queue.apply(A, QueueOp::Wake, 0);
        assert!(!queue.enabled(A, QueueOp::Wake));
    }

    #[test]
    fn the_woken_one_is_an_option_among_those_not_yet_notified() {
        let mut queue = Queue::new();
        for task in [A, B, C] {
            queue.apply(task, QueueOp::Enter, 0);
        }
        assert_eq!(queue.options(A, QueueOp::NotifyOne, &settings(false)), 3);
        assert_eq!(queue.option_task(A, QueueOp::NotifyOne, 1), Some(B));
        queue.apply(A, QueueOp::NotifyOne, 1);
        assert!(queue.enabled(B, QueueOp::Wake));
        assert_eq!(queue.options(A, QueueOp::NotifyOne, &settings(false)), 2);
        assert_eq!(queue.option_task(A, QueueOp::NotifyOne, 1), Some(C));
        assert_eq!(queue.apply(A, QueueOp::NotifyAll, 0), 2);
        assert_eq!(queue.options(A, QueueOp::NotifyOne, &settings(false)), 1);
    }

    #[test]
    fn a_timeout_takes_the_waiter_out_unless_it_was_notified() {
        let mut queue = Queue::new();
        queue.apply(A, QueueOp::Enter, 0);
        queue.apply(B, QueueOp::Enter, 0);
        assert!(queue.may_expire(A, QueueOp::Wake));
        queue.expire(A, QueueOp::Wake);
        assert_eq!(queue.apply(C, QueueOp::NotifyOne, 0), 1);
        assert!(queue.enabled(B, QueueOp::Wake));
        assert!(!queue.may_expire(B, QueueOp::Wake));
    }

    #[test]
    fn a_spurious_wake_up_needs_the_setting_and_does_not_repeat() {
        let mut queue = Queue::new();
        assert_eq!(queue.options(A, QueueOp::Enter, &settings(false)), 1);
        assert_eq!(queue.options(A, QueueOp::Enter, &settings(true)), 2);
        queue.apply(A, QueueOp::Enter, 1);
        assert!(queue.enabled(A, QueueOp::Wake));
        assert_eq!(queue.access(A, QueueOp::Wake), Access::Write);
        queue.apply(A, QueueOp::Wake, 0);
        assert_eq!(queue.options(A, QueueOp::Enter, &settings(true)), 1);
        queue.apply(A, QueueOp::Enter, 0);
        queue.apply(B, QueueOp::NotifyOne, 0);
        queue.apply(A, QueueOp::Wake, 0);
        assert_eq!(queue.options(A, QueueOp::Enter, &settings(true)), 2);
    }
}
