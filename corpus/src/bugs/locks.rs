//! Locks taken in the wrong order, twice, or not the right ones.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Mutex, RwLock};
use raddle::thread;

use crate::program::{Expected, Group, Program, parameter};

const SCTBENCH: &str = "SCTBench: Thomson, Donaldson, Betts, PPoPP 2014";

/// `abba`.
pub const ABBA: Program =
    Program::new("abba", Group::Bugs, "two take two locks in opposite orders")
        .plain(abba)
        .fails(Expected::Deadlock, |_| 1);

/// lock a; lock b ‖ lock b; lock a.
pub fn abba() {
    let (a, b) = (Mutex::new(()), Mutex::new(()));
    thread::scope(|scope| {
        for (first, second) in [(&a, &b), (&b, &a)] {
            scope.spawn(|| {
                let _first = first.lock().unwrap();
                let _second = second.lock().unwrap();
            });
        }
    });
}

/// `abba-fixed`.
pub const ABBA_FIXED: Program =
    Program::new("abba-fixed", Group::Bugs, "two take two locks in one order").plain(abba_fixed);

/// lock a; lock b ‖ lock a; lock b.
pub fn abba_fixed() {
    let (a, b) = (Mutex::new(()), Mutex::new(()));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let _first = a.lock().unwrap();
                let _second = b.lock().unwrap();
            });
        }
    });
}

/// `philosophers`.
///
/// One is left with one fork in hand. The others come in such an order that each takes its first
/// fork and then cannot go on.
pub const PHILOSOPHERS: Program = Program::new(
    "philosophers",
    Group::Bugs,
    "n at a table take the left fork, then the right one",
)
.source("Dijkstra, EWD 310, 1971")
.one(philosophers, &[parameter("n", 3, 2, 5)])
.fails(Expected::Deadlock, |_| 1);

/// n philosophers, each of whom takes the left fork first.
pub fn philosophers(n: usize) {
    dine(n, |left, right| (left, right));
}

/// `philosophers-fixed`.
pub const PHILOSOPHERS_FIXED: Program =
    Program::new("philosophers-fixed", Group::Bugs, "n take the fork with the lower number first")
        .source("Dijkstra, EWD 310, 1971")
        .one(philosophers_fixed, &[parameter("n", 2, 2, 5)]);

/// [`philosophers`], each of whom takes the fork with the lower number first.
pub fn philosophers_fixed(n: usize) {
    dine(n, |left, right| (left.min(right), left.max(right)));
}

fn dine(n: usize, order: fn(usize, usize) -> (usize, usize)) {
    let forks: Vec<_> = (0..n).map(|_| Mutex::new(())).collect();
    thread::scope(|scope| {
        for i in 0..n {
            let forks = &forks;
            scope.spawn(move || {
                let (first, second) = order(i, (i + 1) % n);
                let _first = forks[first].lock().unwrap();
                let _second = forks[second].lock().unwrap();
            });
        }
    });
}

/// `upgrade`.
///
/// The one who reads waits for itself. It is enough that it comes first.
pub const UPGRADE: Program =
    Program::new("upgrade", Group::Bugs, "one writes; one reads, and writes while it still reads")
        .plain(upgrade)
        .fails(Expected::Deadlock, |_| 0);

/// One fills a cell. The other fills it if it is empty, and holds on to its view of it meanwhile.
pub fn upgrade() {
    let cell = RwLock::new(0);
    thread::scope(|scope| {
        scope.spawn(|| *cell.write().unwrap() = 1);
        scope.spawn(|| {
            let seen = cell.read().unwrap();
            if *seen == 0 {
                *cell.write().unwrap() = 1;
            }
        });
    });
}

/// `upgrade-fixed`.
pub const UPGRADE_FIXED: Program =
    Program::new("upgrade-fixed", Group::Bugs, "one writes; one reads, lets go, and then writes")
        .plain(upgrade_fixed);

/// [`upgrade`], with the view dropped and the cell looked at again.
pub fn upgrade_fixed() {
    let cell = RwLock::new(0);
    thread::scope(|scope| {
        scope.spawn(|| *cell.write().unwrap() = 1);
        scope.spawn(|| {
            let seen = *cell.read().unwrap();
            if seen == 0 {
                let mut cell = cell.write().unwrap();
                if *cell == 0 {
                    *cell = 2;
                }
            }
        });
    });
    assert!(matches!(*cell.read().unwrap(), 1 | 2));
}

/// `two-stage`.
pub const TWO_STAGE: Program =
    Program::new("two-stage", Group::Bugs, "n set two values in two sections; one reads both")
        .source(SCTBENCH)
        .one(two_stage, &[parameter("n", 1, 1, 100)])
        .fails(Expected::Panic, |_| 1);

/// n set a value under a lock and one that follows from it under another; one reads in between.
pub fn two_stage(n: usize) {
    let (first, second) = (Mutex::new(0), Mutex::new(0));
    thread::scope(|scope| {
        for _ in 0..n {
            scope.spawn(|| {
                *first.lock().unwrap() = 1;
                *second.lock().unwrap() = 2;
            });
        }
        scope.spawn(|| {
            let seen = *first.lock().unwrap();
            if seen != 0 {
                assert_eq!(*second.lock().unwrap(), seen + 1);
            }
        });
    });
}

/// `wrong-lock`.
pub const WRONG_LOCK: Program =
    Program::new("wrong-lock", Group::Bugs, "one has the lock; n others have another one")
        .source(SCTBENCH)
        .one(wrong_lock, &[parameter("n", 1, 1, 7)])
        .fails(Expected::Panic, |_| 1);

/// One increments a value and looks at it again, under a lock; n others increment it under another.
pub fn wrong_lock(n: usize) {
    let (lock, other_lock) = (Mutex::new(()), Mutex::new(()));
    let x = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _held = lock.lock().unwrap();
            let before = x.fetch_add(1, SeqCst);
            assert_eq!(x.load(SeqCst), before + 1);
        });
        for _ in 0..n {
            scope.spawn(|| {
                let _held = other_lock.lock().unwrap();
                x.fetch_add(1, SeqCst);
            });
        }
    });
}
