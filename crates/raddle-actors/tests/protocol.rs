//! The protocol of the threads, checked by raddle: the very files of the crate, mounted over raddle's
//! locks, condition variables and atomics.
//!
//! What is looked for: messages that are not handled (a lost wake-up is a deadlock here), actors that
//! two workers run at once (a data race of their state), and anything that is left after shutdown.
//!
//! Misses: the watch, which needs a clock; it is not needed for any of this. Memory is sequentially
//! consistent here; in the crate whatever matters is done under locks.

#[path = "../src/concurrent/backpressure.rs"]
mod backpressure;
#[path = "../src/concurrent/inbox.rs"]
#[expect(dead_code, reason = "a test does not use everything")]
mod inbox;
#[path = "../src/concurrent/run_queues.rs"]
#[expect(dead_code, reason = "a test does not use everything")]
mod run_queues;

/// In place of `src/concurrent/sync.rs`.
mod sync {
    pub(crate) use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    pub(crate) use raddle::sync::{Condvar, Mutex, MutexGuard};
    pub(crate) use std::sync::PoisonError;

    pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

use std::collections::VecDeque;
use std::sync::Arc;

use raddle::Config;
use raddle::cell::Cell;
use raddle::thread;

use backpressure::Backpressure;
use inbox::Inbox;
use run_queues::RunQueues;

/// Actors that count, and send on what is left of a message to others.
struct Pool {
    run_queues: RunQueues<usize>,
    backpressure: Backpressure<usize>,
    actors: Vec<Counter>,
    /// What a handler may take before others have their turn.
    most: usize,
}

struct Counter {
    inbox: Inbox<u32>,
    body: Body,
    /// The actors to which it sends, and how many messages for each that it takes.
    next: usize,
    sends: u32,
}

/// What belongs to the worker that runs the actor. Without a lock here, so that data races are found.
struct Body {
    handled: Cell<u32>,
    taken: Cell<VecDeque<u32>>,
}

#[expect(unsafe_code, reason = "whether this is so is what the tests are about")]
// SAFETY: at most one worker has the claim on an actor. If two had, raddle would end the test at the
// second access, before it is made: an execution has one OS thread.
unsafe impl Sync for Body {}

// As the mailbox does it, without panics and timers.
impl Pool {
    fn new(workers: usize, capacity: Option<usize>, next: &[(usize, u32)]) -> Arc<Self> {
        let actor = |&(next, sends): &(usize, u32)| Counter {
            inbox: Inbox::new(capacity),
            body: Body { handled: Cell::new(0), taken: Cell::new(VecDeque::new()) },
            next,
            sends,
        };
        let actors: Vec<_> = next.iter().map(actor).collect();
        for actor in &actors {
            // An inbox is claimed while its actor starts.
            assert!(!actor.inbox.take(&mut VecDeque::new(), &mut VecDeque::new()).more);
        }
        Arc::new(Self {
            run_queues: RunQueues::new(workers, None),
            backpressure: Backpressure::new(),
            actors,
            most: 2,
        })
    }

    fn start(self: &Arc<Self>, workers: usize) -> Vec<thread::JoinHandle<()>> {
        let worker = |worker| {
            let pool = Arc::clone(self);
            thread::spawn(move || {
                let mut tick = 0;
                while let Some(actor) = pool.run_queues.next(worker, &mut tick) {
                    pool.run(worker, actor);
                }
            })
        };
        (0..workers).map(worker).collect()
    }

    fn send(&self, to: usize, message: u32) {
        if let Ok(pushed) = self.actors[to].inbox.push_when_room(message)
            && pushed.claimed
        {
            self.run_queues.push(None, to);
        }
    }

    fn unjam(&self, of: usize) {
        for (_, waiter) in self.backpressure.release(of) {
            self.run_queues.push(None, waiter);
        }
    }

    fn run(&self, worker: usize, me: usize) {
        let actor = &self.actors[me];
        let mut taken = actor.body.taken.take();
        let mut full = None;
        let mut budget = self.most;
        loop {
            let Some(message) = taken.pop_front() else {
                let more = actor.inbox.take(&mut taken, &mut VecDeque::new());
                if more.unjam {
                    self.unjam(me);
                }
                if more.more {
                    continue;
                }
                return;
            };
            actor.body.handled.set(actor.body.handled.get() + 1);
            for _ in 0..if message > 0 { actor.sends } else { 0 } {
                let Ok(pushed) = self.actors[actor.next].inbox.push(message - 1) else { continue };
                if pushed.claimed {
                    self.run_queues.push(Some(worker), actor.next);
                }
                if pushed.overfull {
                    full = Some(actor.next);
                }
            }
            budget -= 1;
            if budget == 0 || full.is_some() || self.run_queues.is_closed() {
                break;
            }
        }
        let left = taken.len();
        actor.body.taken.set(taken);
        if actor.inbox.handled(left) {
            self.unjam(me);
        }
        let waits = full.map_or(Err(me), |full| {
            self.backpressure.wait(me, me, full, || self.actors[full].inbox.must_wait())
        });
        if let Err(me) = waits {
            self.run_queues.push(Some(worker), me);
        }
    }

    /// Waits until all is handled and ends the workers.
    fn finish(&self, workers: Vec<thread::JoinHandle<()>>) -> Vec<u32> {
        self.run_queues.wait_quiet(|| true, || false);
        let handled = self.actors.iter().map(|actor| actor.body.handled.get()).collect();
        self.run_queues.close();
        for worker in workers {
            worker.join().expect("a worker ends");
        }
        assert!(self.run_queues.drain().is_empty(), "something was to be run when all was quiet");
        handled
    }
}

/// Every schedule, if they are few; else some, by DPOR and at random. With `RADDLE_LONG=1` many more.
fn check(test: fn()) {
    let times = if raddle_testing::long() { 100 } else { 1 };
    for (strategy, executions) in [("dpor", 500), ("random", 300), ("pct(3)", 300)] {
        let mut config = Config::default();
        strategy.clone_into(&mut config.strategy);
        config.executions = Some(executions * times);
        raddle::check_with(config, test);
    }
}

#[test]
fn a_worker_that_falls_asleep_is_woken() {
    check(|| {
        let pool = Pool::new(1, None, &[(0, 0)]);
        let workers = pool.start(1);
        pool.send(0, 0);
        assert_eq!(pool.finish(workers), [1]);
    });
}

#[test]
fn messages_of_two_outsiders_are_all_handled() {
    check(|| {
        let pool = Pool::new(1, None, &[(0, 0)]);
        let workers = pool.start(1);
        let theirs = Arc::clone(&pool);
        let other = thread::spawn(move || theirs.send(0, 0));
        pool.send(0, 0);
        other.join().expect("it is sent");
        assert_eq!(pool.finish(workers), [2]);
    });
}

#[test]
fn two_workers_do_not_run_one_actor() {
    check(|| {
        let pool = Pool::new(2, None, &[(1, 2), (0, 1)]);
        let workers = pool.start(2);
        pool.send(0, 1);
        pool.send(1, 1);
        // 1 + 1 from the other, 1 + 2 from the other.
        assert_eq!(pool.finish(workers), [2, 3]);
    });
}

#[test]
fn an_outsider_that_waits_for_room_goes_on() {
    check(|| {
        let pool = Pool::new(1, Some(1), &[(0, 0)]);
        let workers = pool.start(1);
        let theirs = Arc::clone(&pool);
        let other = thread::spawn(move || theirs.send(0, 0));
        pool.send(0, 0);
        pool.send(0, 0);
        other.join().expect("it is sent");
        assert_eq!(pool.finish(workers), [3]);
    });
}

#[test]
fn actors_that_fill_each_other_go_on() {
    check(|| {
        let pool = Pool::new(2, Some(1), &[(1, 2), (0, 2)]);
        let workers = pool.start(2);
        pool.send(0, 2);
        pool.send(1, 2);
        // Of each: 1, and 2 and 4 of the other's and its own.
        assert_eq!(pool.finish(workers), [1 + 2 + 4, 1 + 2 + 4]);
    });
}

#[test]
fn a_chain_of_actors_that_wait_goes_on() {
    check(|| {
        let pool = Pool::new(2, Some(1), &[(1, 3), (2, 2), (2, 0)]);
        let workers = pool.start(2);
        pool.send(0, 3);
        assert_eq!(pool.finish(workers), [1, 3, 6]);
    });
}

#[test]
fn shutdown_leaves_nothing_behind() {
    check(|| {
        let pool = Pool::new(1, Some(1), &[(1, 2), (1, 0)]);
        let workers = pool.start(1);
        let theirs = Arc::clone(&pool);
        let other = thread::spawn(move || {
            theirs.send(0, 1);
            theirs.send(0, 1);
        });
        pool.run_queues.close();
        for worker in workers {
            worker.join().expect("a worker ends");
        }
        // As the last worker does it. Who waits for room must not wait for good.
        for actor in &pool.actors {
            actor.inbox.close();
        }
        drop((pool.run_queues.drain(), pool.backpressure.drain()));
        other.join().expect("it goes on");
        assert!(pool.run_queues.drain().is_empty(), "a queue was filled after it was emptied");
        assert!(pool.backpressure.drain().is_empty());
    });
}
