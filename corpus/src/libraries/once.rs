//! A value that is made by the first who wants it; an attempt that fails is left to the next.
//!
//! The shape is that of `Lazy` and `once_cell`'s `get_or_try_init`. Who comes while it is being made
//! spins.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use super::{Library, Test, program};
use crate::program::{Expected, Parameter, Program, parameter};

/// The library.
pub const LIBRARY: Library = Library {
    name: "once",
    line: "a value made by the first who wants it, or by the next if that fails",
    tests: &[Test {
        correct: of("once", "t want n values, each of which fails to be made once", |n, t| {
            test(Flaw::None, n, t);
        }),
        bugs: &[
            of("once-twice", "who makes it is decided in two steps", |n, t| {
                test(Flaw::TwoSteps, n, t);
            })
            .bug(Expected::Panic, "check-then-act"),
            of("once-early", "it is said to be there before it is", |n, t| {
                test(Flaw::EarlyDone, n, t);
            })
            .bug(Expected::Panic, "wrong order of flag and data"),
            of("once-failed", "who waits does not hear that an attempt failed", |n, t| {
                test(Flaw::WaitsForDone, n, t);
            })
            .bug(Expected::Livelock, "missing recheck after wait"),
        ],
    }],
};

const PARAMETERS: [Parameter; 2] = [parameter("n", 1, 1, 1_000), parameter("t", 3, 2, 8)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).two(body, &PARAMETERS).large(&[40, 4])
}

const NEW: usize = 0;
const RUNNING: usize = 1;
const DONE: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// Two threads see that none is at it, and both say that they are. It is made twice.
    TwoSteps,
    /// The state says that the value is there before it is stored. Another reads what is no value.
    EarlyDone,
    /// Who waits looks only for success. After a failure no thread makes it, and it waits on.
    WaitsForDone,
}

struct Once {
    state: AtomicUsize,
    value: AtomicUsize,
    flaw: Flaw,
}

impl Once {
    fn new(flaw: Flaw) -> Self {
        Self { state: AtomicUsize::new(NEW), value: AtomicUsize::new(0), flaw }
    }

    fn begin(&self) -> bool {
        if self.flaw == Flaw::TwoSteps {
            let new = self.state.load(SeqCst) == NEW;
            if new {
                self.state.store(RUNNING, SeqCst);
            }
            return new;
        }
        self.state.compare_exchange(NEW, RUNNING, SeqCst, SeqCst).is_ok()
    }

    /// `None` if the caller tried to make it and failed.
    fn get(&self, make: impl Fn() -> Option<usize>) -> Option<usize> {
        loop {
            if self.state.load(SeqCst) == DONE {
                return Some(self.value.load(SeqCst));
            }
            if self.begin() {
                return self.fill(make());
            }
            let waits = |state| match self.flaw {
                Flaw::WaitsForDone => state != DONE,
                _ => state == RUNNING,
            };
            while waits(self.state.load(SeqCst)) {
                thread::yield_now();
            }
        }
    }

    fn fill(&self, made: Option<usize>) -> Option<usize> {
        let Some(value) = made else {
            self.state.store(NEW, SeqCst);
            return None;
        };
        if self.flaw == Flaw::EarlyDone {
            self.state.store(DONE, SeqCst);
            self.value.store(value, SeqCst);
        } else {
            self.value.store(value, SeqCst);
            self.state.store(DONE, SeqCst);
        }
        Some(value)
    }
}

/// The first attempt at each value fails, the second makes it, and there is no third.
fn test(flaw: Flaw, n: usize, t: usize) {
    let values: Vec<_> = (0..n).map(|_| (Once::new(flaw), AtomicUsize::new(0))).collect();
    let values = &values;
    let seen: Vec<Vec<_>> = thread::scope(|scope| {
        let get = |(once, attempts): &(Once, AtomicUsize)| {
            once.get(|| (attempts.fetch_add(1, SeqCst) > 0).then_some(7))
        };
        let threads: Vec<_> =
            (0..t).map(|_| scope.spawn(move || values.iter().map(get).collect())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (index, (_, attempts)) in values.iter().enumerate() {
        assert_eq!(attempts.load(SeqCst), 2, "made once, after one failure");
        let right = seen.iter().filter(|seen| seen[index] == Some(7)).count();
        assert_eq!(right, t - 1, "all but who failed have the value");
    }
}
