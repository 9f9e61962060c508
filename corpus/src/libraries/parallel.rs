//! A loop whose iterations are run by several threads, in chunks, and which can be broken off.
//!
//! The shape is .NET's `Parallel.For`: to break in iteration `i` means that all before it are run
//! and the loop tells the lowest iteration that broke.

use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use super::{Library, Test, program};
use crate::program::{Expected, Parameter, Program, parameter};

/// The library.
pub const LIBRARY: Library = Library {
    name: "parallel loop",
    line: "iterations in chunks, a sum of all, and a way to break off",
    tests: &[
        Test {
            correct: of("parallel-sum", "the sum of n iterations by t threads", |n, t| {
                sum(Flaw::None, n, t);
            }),
            bugs: &[
                of("parallel-claim", "a chunk is claimed in two steps", |n, t| {
                    sum(Flaw::TwoSteps, n, t);
                })
                .bug(Expected::Panic, "check-then-act"),
                of("parallel-early-end", "a thread leaves before it has added its sum", |n, t| {
                    sum(Flaw::EarlyEnd, n, t);
                })
                .bug(Expected::Panic, "wrong order of flag and data"),
            ],
        },
        Test {
            correct: of("parallel-break", "n iterations by t threads, broken halfway", |n, t| {
                broken(Flaw::None, n, t);
            }),
            bugs: &[
                of("parallel-raised", "the lowest break is compared, then stored", |n, t| {
                    broken(Flaw::RaisedBreak, n, t);
                })
                .bug(Expected::Panic, "check-then-act"),
                of("parallel-skipped", "who hears of a break leaves what is before it", |n, t| {
                    broken(Flaw::SkipsBefore, n, t);
                })
                .bug(Expected::Panic, "non-atomic cancel"),
            ],
        },
    ],
};

const PARAMETERS: [Parameter; 2] = [parameter("n", 6, 2, 10_000), parameter("t", 2, 1, 8)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).two(body, &PARAMETERS).large(&[200, 4])
}

/// Iterations that a thread claims at once.
const CHUNK: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// Two threads read the same next chunk, and both run it.
    TwoSteps,
    /// The last thread says that it has ended, and then adds what it has. Who waits has a sum
    /// without that.
    EarlyEnd,
    /// Two break; the one that is later compared before the other stored. It raises the lowest
    /// break.
    RaisedBreak,
    /// A break is a flag for everybody, also for who has iterations before it still to run.
    SkipsBefore,
}

struct Loop {
    n: usize,
    next: AtomicUsize,
    /// The lowest iteration that broke; `n` if none did.
    lowest: AtomicUsize,
    is_broken: AtomicBool,
    flaw: Flaw,
}

impl Loop {
    fn new(flaw: Flaw, n: usize) -> Self {
        Self {
            n,
            next: AtomicUsize::new(0),
            lowest: AtomicUsize::new(n),
            is_broken: AtomicBool::new(false),
            flaw,
        }
    }

    fn claim(&self) -> usize {
        if self.flaw == Flaw::TwoSteps {
            let start = self.next.load(SeqCst);
            self.next.store(start + CHUNK, SeqCst);
            return start;
        }
        self.next.fetch_add(CHUNK, SeqCst)
    }

    fn break_at(&self, i: usize) {
        if self.flaw != Flaw::RaisedBreak {
            self.lowest.fetch_min(i, SeqCst);
        } else if i < self.lowest.load(SeqCst) {
            self.lowest.store(i, SeqCst);
        }
        if self.flaw == Flaw::SkipsBefore {
            self.is_broken.store(true, SeqCst);
        }
    }

    /// The part of one thread.
    fn run(&self, mut body: impl FnMut(usize)) {
        loop {
            let start = self.claim();
            for i in start..(start + CHUNK).min(self.n) {
                let skips = self.flaw == Flaw::SkipsBefore && self.is_broken.load(SeqCst);
                if skips || i > self.lowest.load(SeqCst) {
                    return;
                }
                body(i);
            }
            if start >= self.n {
                return;
            }
        }
    }
}

/// Each iteration is run once, and the sum is that of all.
fn sum(flaw: Flaw, n: usize, t: usize) {
    let (all, total, running) = (Loop::new(flaw, n), AtomicUsize::new(0), AtomicUsize::new(t));
    let sum = thread::scope(|scope| {
        for _ in 0..t {
            scope.spawn(|| {
                let mut mine = 0;
                all.run(|i| mine += i + 1);
                if flaw == Flaw::EarlyEnd {
                    running.fetch_sub(1, SeqCst);
                    total.fetch_add(mine, SeqCst);
                } else {
                    total.fetch_add(mine, SeqCst);
                    running.fetch_sub(1, SeqCst);
                }
            });
        }
        while running.load(SeqCst) > 0 {
            thread::yield_now();
        }
        total.load(SeqCst)
    });
    assert_eq!(sum, n * (n + 1) / 2, "the sum of all iterations");
}

/// Every iteration from the middle on breaks: all before it are run, and it is the lowest.
fn broken(flaw: Flaw, n: usize, t: usize) {
    let all = Loop::new(flaw, n);
    let ran: Vec<_> = (0..n).map(|_| AtomicBool::new(false)).collect();
    thread::scope(|scope| {
        for _ in 0..t {
            scope.spawn(|| {
                all.run(|i| {
                    if i >= n / 2 {
                        all.break_at(i);
                    }
                    ran[i].store(true, SeqCst);
                });
            });
        }
    });
    let lowest = all.lowest.load(SeqCst);
    assert_eq!(lowest, n / 2, "the lowest that broke");
    assert!(ran[..lowest].iter().all(|ran| ran.load(SeqCst)), "all before it are run");
}
