//! A lock for many readers or one writer, in which writers go first.
//!
//! The shape is that of .NET's `ReaderWriterLockSlim` and of the textbooks: counts under a lock, a
//! condition for readers and one for writers, and a way from reading to writing.

use raddle::cell::Tracked;
use raddle::sync::{Condvar, Mutex};
use raddle::thread;

use super::{Library, Test, program};
use crate::program::{Expected, Parameter, Program, parameter};

/// The library.
pub const LIBRARY: Library = Library {
    name: "reader-writer lock",
    line: "many readers or one writer; writers first; try to write; upgrade",
    tests: &[
        Test {
            correct: of("shared-lock", "t threads read and write n times each", |n, t| {
                mixed(Flaw::None, n, t);
            }),
            bugs: &[
                of("shared-lock-try", "who fails to write stays counted as waiting", |n, t| {
                    mixed(Flaw::LeakedWaiter, n, t);
                })
                .bug(Expected::Deadlock, "missing undo on a path"),
                of("shared-lock-wake", "who has written wakes one reader", |n, t| {
                    mixed(Flaw::WakesOne, n, t);
                })
                .bug(Expected::Deadlock, "notify_one for notify_all"),
            ],
        },
        Test {
            correct: of("upgrade-lock", "t increment n times, from reading to writing", |n, t| {
                upgrades(Flaw::None, n, t);
            }),
            bugs: &[of(
                "upgrade-lock-stale",
                "to upgrade does not say that others wrote",
                |n, t| {
                    upgrades(Flaw::SilentUpgrade, n, t);
                },
            )
            .bug(Expected::Panic, "missing recheck")],
        },
    ],
};

const PARAMETERS: [Parameter; 2] = [parameter("n", 1, 1, 1_000), parameter("t", 3, 1, 8)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).two(body, &PARAMETERS).large(&[20, 4])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// An attempt to write counts itself among those who wait, and forgets to take that back when
    /// it fails. Readers let it go first for ever.
    LeakedWaiter,
    /// All readers that wait may go on when no thread writes. One is woken.
    WakesOne,
    /// To upgrade lets go and comes back. What was read before may have changed.
    SilentUpgrade,
}

#[derive(Default)]
struct State {
    readers: usize,
    writing: bool,
    /// Writers that wait.
    waiting: usize,
    /// How often it was locked for writing.
    writes: usize,
}

struct Lock {
    state: Mutex<State>,
    for_readers: Condvar,
    for_writers: Condvar,
    flaw: Flaw,
}

impl Lock {
    fn new(flaw: Flaw) -> Self {
        let (for_readers, for_writers) = (Condvar::new(), Condvar::new());
        Self { state: Mutex::default(), for_readers, for_writers, flaw }
    }

    fn read(&self) {
        let state = self.state.lock().unwrap();
        let busy = |state: &mut State| state.writing || state.waiting > 0;
        self.for_readers.wait_while(state, busy).unwrap().readers += 1;
    }

    fn end_read(&self) {
        let mut state = self.state.lock().unwrap();
        state.readers -= 1;
        if state.readers == 0 {
            self.for_writers.notify_one();
        }
    }

    /// How often others wrote before.
    fn write(&self) -> usize {
        let mut state = self.state.lock().unwrap();
        state.waiting += 1;
        let busy = |state: &mut State| state.writing || state.readers > 0;
        let mut state = self.for_writers.wait_while(state, busy).unwrap();
        state.waiting -= 1;
        state.writing = true;
        state.writes += 1;
        state.writes - 1
    }

    fn try_write(&self) -> bool {
        let mut state = self.state.lock().unwrap();
        state.waiting += 1;
        let free = !state.writing && state.readers == 0;
        if free || self.flaw != Flaw::LeakedWaiter {
            state.waiting -= 1;
        }
        state.writing |= free;
        state.writes += usize::from(free);
        free
    }

    fn end_write(&self) {
        let mut state = self.state.lock().unwrap();
        state.writing = false;
        if state.waiting > 0 {
            self.for_writers.notify_one();
        } else if self.flaw == Flaw::WakesOne {
            self.for_readers.notify_one();
        } else {
            self.for_readers.notify_all();
        }
    }

    /// From reading to writing. `false` if others wrote on the way.
    fn upgrade(&self) -> bool {
        let before = self.state.lock().unwrap().writes;
        self.end_read();
        let alone = self.write() == before;
        alone || self.flaw == Flaw::SilentUpgrade
    }
}

/// Who reads sees two values that belong together.
fn mixed(flaw: Flaw, n: usize, t: usize) {
    let (lock, pair) = (Lock::new(flaw), [Tracked::new(0), Tracked::new(0)]);
    let (lock, pair) = (&lock, &pair);
    let torn = thread::scope(|scope| {
        let round = move || {
            if !lock.try_write() {
                lock.write();
            }
            for half in pair {
                half.set(half.get() + 1);
            }
            lock.end_write();
            lock.read();
            let torn = pair[0].get() != pair[1].get();
            lock.end_read();
            torn
        };
        let threads: Vec<_> =
            (0..t).map(|_| scope.spawn(move || (0..n).filter(|_| round()).count())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
    });
    assert_eq!((torn, pair[0].get()), (0, n * t));
}

/// No increment is lost.
fn upgrades(flaw: Flaw, n: usize, t: usize) {
    let (lock, total) = (Lock::new(flaw), Tracked::new(0));
    thread::scope(|scope| {
        for _ in 0..t {
            scope.spawn(|| {
                for _ in 0..n {
                    lock.read();
                    let mut seen = total.get();
                    if !lock.upgrade() {
                        seen = total.get();
                    }
                    total.set(seen + 1);
                    lock.end_write();
                }
            });
        }
    });
    assert_eq!(total.get(), n * t, "an increment was lost");
}
