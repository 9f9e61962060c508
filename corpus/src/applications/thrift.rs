//! A thread-pool and task library in the shape of the concurrency package of Thrift's C++ library: a
//! manager of worker threads, monitors, a timer.
//!
//! The test is the one that comes with it, made small: w workers and t tasks for each of them, of
//! which every third is given to the timer first. When all are done the pool gives one worker back,
//! then it is joined. The paper does not say which deadlock it found. The first of the three here has the
//! shape of `ThreadManager.cpp` of the 0.9 series, where workers are counted off under another lock than
//! the one under which they decide to leave; the other two are of the kind that such pools have. These two
//! were changed once after a search had seen them, because as first written they could not show: there was
//! room for as many tasks as workers, and the timer was told to stop in the section in which one waits.

mod manager;
mod timer;

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex};

use self::manager::Manager;
use self::timer::Timer;
use super::{Application, program};
use crate::libraries::Test;
use crate::program::{Expected, Parameter, Program, parameter};

/// The application.
pub const APPLICATION: Application = Application {
    name: "thrift",
    line: "a pool of workers that grows and shrinks, a bounded queue of tasks, a timer",
    tests: &[Test {
        correct: of("thrift", "w workers, t tasks each; one worker leaves, then all", |w, t| {
            test(Flaw::None, w, t);
        }),
        bugs: &[
            of("thrift-leave", "a worker decides to leave, and is counted off later", |w, t| {
                test(Flaw::LateCount, w, t);
            })
            .bug(Expected::Deadlock, "check-then-act over two locks"),
            of(
                "thrift-room",
                "who waits for room and who waits for tasks share signals",
                |w, t| {
                    test(Flaw::OneMonitor, w, t);
                },
            )
            .bug(Expected::Deadlock, "notify_one for the wrong waiter"),
            of("thrift-timer", "the timer's thread says that it ended without the lock", |w, t| {
                test(Flaw::UnlockedEnd, w, t);
            })
            .bug(Expected::Deadlock, "lost wake-up"),
        ],
    }],
};

const PARAMETERS: [Parameter; 2] = [parameter("w", 2, 2, 8), parameter("t", 2, 1, 100)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).two(body, &PARAMETERS).large(&[5, 5])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// A worker sees under one lock that there are too many, and takes itself off the count under
    /// another one. Two can see it where one should leave; then there are too few, and who waits
    /// until there are as many as wanted waits for ever.
    LateCount,
    /// One condition for "there is a task" and "there is room". A worker that makes room wakes
    /// another worker, which finds nothing and waits on; who waits for room does not hear of it.
    OneMonitor,
    /// Between the look of who stops the timer and its wait the timer's thread ends and says so.
    UnlockedEnd,
}

/// Counts tasks that are done, and lets one wait for all of them.
struct Tally {
    left: Mutex<usize>,
    none_left: Condvar,
    /// What the tasks computed.
    sum: AtomicUsize,
}

impl Tally {
    fn task(self: &Arc<Self>, n: usize) -> Task {
        let tally = Arc::clone(self);
        Box::new(move || {
            tally.sum.fetch_add(n * n, SeqCst);
            let mut left = tally.left.lock().unwrap();
            *left -= 1;
            if *left == 0 {
                tally.none_left.notify_one();
            }
        })
    }

    fn wait(&self) {
        let left = self.left.lock().unwrap();
        drop(self.none_left.wait_while(left, |left| *left > 0).unwrap());
    }
}

type Task = Box<dyn FnOnce() + Send>;

/// Every task is run once, and everybody goes home.
fn test(flaw: Flaw, w: usize, t: usize) {
    let n = w * t;
    let (sum, none_left) = (AtomicUsize::new(0), Condvar::new());
    let tally = Arc::new(Tally { left: Mutex::new(n), none_left, sum });
    let manager = Arc::new(Manager::new(flaw, w / 2));
    manager.add_workers(w);
    let timer = Timer::start(flaw, Arc::clone(&manager));
    for i in 0..n {
        if i % 3 == 2 {
            timer.add(tally.task(i), 1);
        } else {
            manager.add(tally.task(i));
        }
    }
    timer.tick();
    tally.wait();
    manager.remove_workers(1);
    timer.stop();
    manager.join();
    assert_eq!(tally.sum.load(SeqCst), (0..n).map(|i| i * i).sum::<usize>(), "a task was lost");
}
