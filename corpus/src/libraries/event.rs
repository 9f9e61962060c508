//! An event that stays set once it is, with a short way for those who need not wait.
//!
//! The shape is .NET's `ManualResetEventSlim`: a flag, a count of those who wait, and a lock with a
//! condition that is used only if a thread does.

use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex};
use raddle::thread;

use super::{Library, Test, program};
use crate::program::{Expected, Parameter, Program, parameter};

/// The library.
pub const LIBRARY: Library = Library {
    name: "manual-reset event",
    line: "a flag, a count of those who wait, a lock only if one does",
    tests: &[Test {
        correct: of("event", "n times one sets, t wait, the last of them answers", |n, t| {
            test(Flaw::None, n, t);
        }),
        bugs: &[
            of("event-waiters-first", "set looks who waits before it sets the flag", |n, t| {
                test(Flaw::WaitersFirst, n, t);
            })
            .bug(Expected::Deadlock, "wrong order of announce and look"),
            of("event-unlocked", "set notifies without the lock", |n, t| {
                test(Flaw::Unlocked, n, t);
            })
            .bug(Expected::Deadlock, "lost wake-up"),
            of("event-late-count", "who waits is counted after its last look", |n, t| {
                test(Flaw::LateCount, n, t);
            })
            .bug(Expected::Deadlock, "missing recheck"),
        ],
    }],
};

const PARAMETERS: [Parameter; 2] = [parameter("n", 2, 1, 1_000), parameter("t", 2, 1, 8)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).two(body, &PARAMETERS).large(&[40, 3])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// No thread waits yet when set looks, and the flag is not up yet when the other does. It waits
    /// for a notification that is not sent.
    WaitersFirst,
    /// The notification can come after the other looked at the flag for the last time, and before
    /// it waits.
    Unlocked,
    /// Between the look at the flag and the count of waiters the event is set, and no thread is there
    /// to be notified.
    LateCount,
}

struct Event {
    is_set: AtomicBool,
    waiters: AtomicUsize,
    lock: Mutex<()>,
    changed: Condvar,
    flaw: Flaw,
}

impl Event {
    fn new(flaw: Flaw) -> Self {
        Self {
            is_set: AtomicBool::new(false),
            waiters: AtomicUsize::new(0),
            lock: Mutex::new(()),
            changed: Condvar::new(),
            flaw,
        }
    }

    fn set(&self) {
        let early = self.flaw == Flaw::WaitersFirst && self.waiters.load(SeqCst) > 0;
        self.is_set.store(true, SeqCst);
        if early || self.flaw != Flaw::WaitersFirst && self.waiters.load(SeqCst) > 0 {
            let lock = (self.flaw != Flaw::Unlocked).then(|| self.lock.lock().unwrap());
            self.changed.notify_all();
            drop(lock);
        }
    }

    fn wait(&self) {
        if self.is_set.load(SeqCst) {
            return;
        }
        let mut lock = self.lock.lock().unwrap();
        if self.flaw != Flaw::LateCount {
            self.waiters.fetch_add(1, SeqCst);
        }
        while !self.is_set.load(SeqCst) {
            if self.flaw == Flaw::LateCount {
                self.waiters.fetch_add(1, SeqCst);
            }
            lock = self.changed.wait(lock).unwrap();
            if self.flaw == Flaw::LateCount {
                self.waiters.fetch_sub(1, SeqCst);
            }
        }
        if self.flaw != Flaw::LateCount {
            self.waiters.fetch_sub(1, SeqCst);
        }
    }
}

/// A ball that goes to and fro: one serves, and waits until all have seen it.
fn test(flaw: Flaw, n: usize, t: usize) {
    let events = || (0..n).map(|_| Event::new(flaw)).collect::<Vec<_>>();
    let (there, back) = (events(), events());
    let seen: Vec<_> = (0..n).map(|_| AtomicUsize::new(0)).collect();
    thread::scope(|scope| {
        for _ in 0..t {
            scope.spawn(|| {
                for round in 0..n {
                    there[round].wait();
                    if seen[round].fetch_add(1, SeqCst) == t - 1 {
                        back[round].set();
                    }
                }
            });
        }
        for round in 0..n {
            there[round].set();
            back[round].wait();
        }
    });
}
