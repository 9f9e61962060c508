//! A semaphore: a count of permits that is taken from without a lock as long as there are some.
//!
//! The shape is .NET's `SemaphoreSlim`.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex};
use raddle::thread;

use super::{Library, Test, program};
use crate::program::{Expected, Parameter, Program, parameter};

/// The library.
pub const LIBRARY: Library = Library {
    name: "slim semaphore",
    line: "a count of permits, a lock and a condition only if there are none",
    tests: &[
        Test {
            correct: of("semaphore", "t enter n times; there are two permits", |n, t| {
                sections(Flaw::None, n, t);
            }),
            bugs: &[
                of("semaphore-torn", "a permit is looked for and taken in two steps", |n, t| {
                    sections(Flaw::Torn, n, t);
                })
                .bug(Expected::Panic, "check-then-act"),
                of("semaphore-zero", "release notifies only if there was no permit", |n, t| {
                    sections(Flaw::OnlyIfZero, n, t);
                })
                .bug(Expected::Deadlock, "missing notification"),
            ],
        },
        Test {
            correct: of("semaphore-batch", "t wait n times; permits come two by two", |n, t| {
                batches(Flaw::None, n, t);
            }),
            bugs: &[
                of("semaphore-one", "release of two permits wakes one", |n, t| {
                    batches(Flaw::WakesOne, n, t);
                })
                .bug(Expected::Deadlock, "notify_one for notify_all"),
                of("semaphore-unlocked", "release notifies without the lock", |n, t| {
                    batches(Flaw::Unlocked, n, t);
                })
                .bug(Expected::Deadlock, "lost wake-up"),
            ],
        },
    ],
};

const PARAMETERS: [Parameter; 2] = [parameter("n", 1, 1, 1_000), parameter("t", 4, 1, 8)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).two(body, &PARAMETERS).large(&[20, 4])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// Two see the last permit, and both take it. The count goes below zero and is very large.
    Torn,
    /// With two releases in a row only the first notifies. The second of two who wait is never
    /// woken, though there is a permit.
    OnlyIfZero,
    /// Two permits come at once, one of those who wait is woken, and takes one.
    WakesOne,
    /// The notification can come after the other saw that there is no permit, and before it waits.
    Unlocked,
}

struct Semaphore {
    permits: AtomicUsize,
    lock: Mutex<()>,
    released: Condvar,
    flaw: Flaw,
}

impl Semaphore {
    fn new(flaw: Flaw, permits: usize) -> Self {
        let permits = AtomicUsize::new(permits);
        Self { permits, lock: Mutex::new(()), released: Condvar::new(), flaw }
    }

    fn try_wait(&self) -> bool {
        if self.flaw == Flaw::Torn {
            let some = self.permits.load(SeqCst) > 0;
            if some {
                self.permits.fetch_sub(1, SeqCst);
            }
            return some;
        }
        self.permits.fetch_update(SeqCst, SeqCst, |permits| permits.checked_sub(1)).is_ok()
    }

    fn wait(&self) {
        if self.try_wait() {
            return;
        }
        let mut lock = self.lock.lock().unwrap();
        while !self.try_wait() {
            lock = self.released.wait(lock).unwrap();
        }
    }

    fn release(&self, n: usize) {
        let before = self.permits.fetch_add(n, SeqCst);
        if self.flaw == Flaw::OnlyIfZero && before > 0 {
            return;
        }
        let lock = (self.flaw != Flaw::Unlocked).then(|| self.lock.lock().unwrap());
        if n == 1 || self.flaw == Flaw::WakesOne {
            self.released.notify_one();
        } else {
            self.released.notify_all();
        }
        drop(lock);
    }
}

/// Never are more than two inside.
fn sections(flaw: Flaw, n: usize, t: usize) {
    let (semaphore, inside) = (Semaphore::new(flaw, 2), AtomicUsize::new(0));
    let (semaphore, inside) = (&semaphore, &inside);
    let most = thread::scope(|scope| {
        let section = || {
            semaphore.wait();
            let now = inside.fetch_add(1, SeqCst) + 1;
            inside.fetch_sub(1, SeqCst);
            semaphore.release(1);
            now
        };
        let threads: Vec<_> =
            (0..t).map(|_| scope.spawn(move || (0..n).map(|_| section()).max())).collect();
        threads.into_iter().filter_map(|thread| thread.join().unwrap()).max()
    });
    assert!(most <= Some(2), "so many were inside: {most:?}");
}

/// Everybody gets its permits.
fn batches(flaw: Flaw, n: usize, t: usize) {
    let semaphore = Semaphore::new(flaw, 0);
    thread::scope(|scope| {
        for _ in 0..t {
            scope.spawn(|| (0..n).for_each(|_| semaphore.wait()));
        }
        for _ in 0..(n * t).div_ceil(2) {
            semaphore.release(2);
        }
    });
    assert_eq!(semaphore.permits.load(SeqCst), n * t % 2);
}
