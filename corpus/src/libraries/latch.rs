//! A latch that opens when so many have signalled; meanwhile more can be added.
//!
//! The shape is .NET's `CountdownEvent` and Java's `CountDownLatch`.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex};
use raddle::thread;

use super::{Library, Test, program};
use crate::program::{Expected, Parameter, Program, parameter};

/// The library.
pub const LIBRARY: Library = Library {
    name: "countdown latch",
    line: "opens when so many have signalled; more can be added until then",
    tests: &[
        Test {
            correct: of("countdown", "t signal n times each, one waits", |n, t| {
                count(Flaw::None, n, t);
            }),
            bugs: &[
                of("countdown-lost", "a signal reads and writes the count in two steps", |n, t| {
                    count(Flaw::TwoSteps, n, t);
                })
                .bug(Expected::Deadlock, "lost update"),
                of("countdown-twice", "who signals looks afterwards who is the last", |n, t| {
                    count(Flaw::LateLook, n, t);
                })
                .bug(Expected::Panic, "double completion"),
            ],
        },
        Test {
            correct: of("countdown-add", "t add and signal n times, one waits", |n, t| {
                add(Flaw::None, n, t);
            }),
            bugs: &[of("countdown-reopened", "to add looks first and adds then", |n, t| {
                add(Flaw::LateAdd, n, t);
            })
            .bug(Expected::Panic, "check-then-act")],
        },
    ],
};

const PARAMETERS: [Parameter; 2] = [parameter("n", 2, 1, 1_000), parameter("t", 3, 1, 8)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).two(body, &PARAMETERS).large(&[60, 4])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// Two signal at once and count as one. The latch never opens.
    TwoSteps,
    /// Two signal, then both see that none is left. Both open the latch.
    LateLook,
    /// The latch opens between the look and the addition. What was added is not waited for.
    LateAdd,
}

struct Latch {
    left: AtomicUsize,
    /// How often it was opened.
    opened: Mutex<usize>,
    changed: Condvar,
    flaw: Flaw,
}

impl Latch {
    fn new(flaw: Flaw, left: usize) -> Self {
        let left = AtomicUsize::new(left);
        Self { left, opened: Mutex::new(0), changed: Condvar::new(), flaw }
    }

    fn signal(&self) {
        let last = match self.flaw {
            Flaw::TwoSteps => {
                let left = self.left.load(SeqCst);
                self.left.store(left - 1, SeqCst);
                left == 1
            }
            Flaw::LateLook => {
                self.left.fetch_sub(1, SeqCst);
                self.left.load(SeqCst) == 0
            }
            _ => self.left.fetch_sub(1, SeqCst) == 1,
        };
        if last {
            *self.opened.lock().unwrap() += 1;
            self.changed.notify_all();
        }
    }

    /// `false` if it is open.
    fn try_add(&self) -> bool {
        if self.flaw == Flaw::LateAdd {
            let closed = self.left.load(SeqCst) > 0;
            if closed {
                self.left.fetch_add(1, SeqCst);
            }
            return closed;
        }
        let more = |left| (left > 0).then_some(left + 1);
        self.left.fetch_update(SeqCst, SeqCst, more).is_ok()
    }

    fn wait(&self) {
        let opened = self.opened.lock().unwrap();
        drop(self.changed.wait_while(opened, |opened| *opened == 0).unwrap());
    }
}

/// It opens, once.
fn count(flaw: Flaw, n: usize, t: usize) {
    let latch = Latch::new(flaw, n * t);
    thread::scope(|scope| {
        for _ in 0..t {
            scope.spawn(|| (0..n).for_each(|_| latch.signal()));
        }
        latch.wait();
    });
    assert_eq!(*latch.opened.lock().unwrap(), 1, "it opens once");
}

/// Who is let in is waited for.
fn add(flaw: Flaw, n: usize, t: usize) {
    let (latch, finished) = (Latch::new(flaw, 1), AtomicUsize::new(0));
    let at_opening = thread::scope(|scope| {
        for _ in 0..t {
            scope.spawn(|| {
                for _ in 0..n {
                    if latch.try_add() {
                        finished.fetch_add(1, SeqCst);
                        latch.signal();
                    }
                }
            });
        }
        latch.signal();
        latch.wait();
        finished.load(SeqCst)
    });
    assert_eq!(at_opening, finished.load(SeqCst), "nobody was at work when it opened");
}
