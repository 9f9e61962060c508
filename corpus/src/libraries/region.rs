//! Regions of memory, each of which belongs to one thread at a time.
//!
//! The shape is that of region-based memory management with ownership: a thread claims a region,
//! hands it to another, or merges one into another, after which both are one.

use raddle::cell::Tracked;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use super::{Library, Test, program};
use crate::program::{Expected, Parameter, Program, parameter};

/// The library.
pub const LIBRARY: Library = Library {
    name: "region ownership",
    line: "regions that belong to one thread at a time; hand over, merge",
    tests: &[
        Test {
            correct: of("regions", "t claim a region n times and change what is in it", |n, t| {
                claim(Flaw::None, n, t);
            }),
            bugs: &[of("regions-claim", "a region is claimed in two steps", |n, t| {
                claim(Flaw::TwoSteps, n, t);
            })
            .bug(Expected::Panic, "check-then-act")],
        },
        Test {
            correct: of(
                "regions-merge",
                "t use regions n times; meanwhile they are merged",
                |n, t| {
                    merge(Flaw::None, n, t);
                },
            ),
            bugs: &[of(
                "regions-merged",
                "who claims does not look whether it was merged",
                |n, t| {
                    merge(Flaw::NoRecheck, n, t);
                },
            )
            .bug(Expected::Panic, "missing recheck after wait")],
        },
        Test {
            correct: of("regions-hand", "a region goes n times round t threads", |n, t| {
                hand_over(Flaw::None, n, t);
            }),
            bugs: &[of(
                "regions-handed",
                "a region is handed over before the last write",
                |n, t| {
                    hand_over(Flaw::EarlyHand, n, t);
                },
            )
            .bug(Expected::DataRace, "use after release")],
        },
    ],
};

const PARAMETERS: [Parameter; 2] = [parameter("n", 2, 1, 1_000), parameter("t", 2, 2, 8)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).two(body, &PARAMETERS).large(&[40, 3])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// Two see that a region is free, and both write their name on it.
    TwoSteps,
    /// A region is merged into another between being found and being claimed. What is put into it
    /// then is never seen again.
    NoRecheck,
    /// The name of the next owner is on the region, and the last one still writes.
    EarlyHand,
}

/// The owner of a region that has none.
const NOBODY: usize = usize::MAX;

struct Region {
    owner: AtomicUsize,
    /// The region that it was merged into, or itself.
    into: AtomicUsize,
    value: AtomicUsize,
}

struct Regions {
    all: Vec<Region>,
    flaw: Flaw,
}

impl Regions {
    fn new(flaw: Flaw, n: usize) -> Self {
        let region = |index| Region {
            owner: AtomicUsize::new(NOBODY),
            into: AtomicUsize::new(index),
            value: AtomicUsize::new(0),
        };
        Self { all: (0..n).map(region).collect(), flaw }
    }

    fn claim(&self, index: usize, me: usize) {
        let owner = &self.all[index].owner;
        if self.flaw == Flaw::TwoSteps {
            while owner.load(SeqCst) != NOBODY {
                thread::yield_now();
            }
            owner.store(me, SeqCst);
            return;
        }
        while owner.compare_exchange(NOBODY, me, SeqCst, SeqCst).is_err() {
            thread::yield_now();
        }
    }

    fn release(&self, index: usize) {
        self.all[index].owner.store(NOBODY, SeqCst);
    }

    /// Claims what this region has been merged into.
    fn claim_root(&self, mut index: usize, me: usize) -> usize {
        loop {
            while self.all[index].into.load(SeqCst) != index {
                index = self.all[index].into.load(SeqCst);
            }
            self.claim(index, me);
            if self.flaw == Flaw::NoRecheck || self.all[index].into.load(SeqCst) == index {
                return index;
            }
            self.release(index);
        }
    }

    /// Only the owner may.
    fn increment(&self, index: usize) {
        let value = &self.all[index].value;
        value.store(value.load(SeqCst) + 1, SeqCst);
    }

    /// Merges a region into one of a lower number.
    fn merge(&self, from: usize, into: usize, me: usize) {
        self.claim(into, me);
        self.claim(from, me);
        let moved = self.all[from].value.swap(0, SeqCst);
        let value = &self.all[into].value;
        value.store(value.load(SeqCst) + moved, SeqCst);
        self.all[from].into.store(into, SeqCst);
        self.release(from);
        self.release(into);
    }
}

/// No change is lost.
fn claim(flaw: Flaw, n: usize, t: usize) {
    let regions = Regions::new(flaw, 1);
    let regions = &regions;
    thread::scope(|scope| {
        for me in 0..t {
            scope.spawn(move || {
                for _ in 0..n {
                    regions.claim(0, me);
                    regions.increment(0);
                    regions.release(0);
                }
            });
        }
    });
    assert_eq!(regions.all[0].value.load(SeqCst), n * t, "a change was lost");
}

/// No change is lost on the way from region to region, down to the first.
fn merge(flaw: Flaw, n: usize, t: usize) {
    let regions = Regions::new(flaw, t);
    let regions = &regions;
    thread::scope(|scope| {
        for me in 0..t {
            scope.spawn(move || {
                for _ in 0..n {
                    let root = regions.claim_root(me, me);
                    regions.increment(root);
                    regions.release(root);
                }
            });
        }
        for from in (1..t).rev() {
            regions.merge(from, from - 1, t);
        }
    });
    assert_eq!(regions.all[0].value.load(SeqCst), n * t, "a change was lost");
}

/// What is in the region needs no lock of its own.
fn hand_over(flaw: Flaw, n: usize, t: usize) {
    let (owner, rounds, total) = (AtomicUsize::new(0), Tracked::new(0), Tracked::new(0));
    let (owner, rounds, total) = (&owner, &rounds, &total);
    thread::scope(|scope| {
        for me in 0..t {
            scope.spawn(move || {
                for _ in 0..n {
                    while owner.load(SeqCst) != me {
                        thread::yield_now();
                    }
                    rounds.set(rounds.get() + 1);
                    if flaw == Flaw::EarlyHand {
                        owner.store((me + 1) % t, SeqCst);
                        total.set(total.get() + me);
                    } else {
                        total.set(total.get() + me);
                        owner.store((me + 1) % t, SeqCst);
                    }
                }
            });
        }
    });
    assert_eq!((rounds.get(), total.get()), (n * t, n * t * (t - 1) / 2));
}
