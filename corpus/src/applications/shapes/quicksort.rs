//! Quicksort with threads that wait to be handed a part: the shape of `qsort_mt`.
//!
//! Each thread has a place of its own with a lock and a condition. Who has split its part looks for
//! an idle worker, hands over one half and goes on with the other. The last one that is done tells who
//! waits for the whole.

use raddle::sync::atomic::{AtomicBool, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex};
use raddle::thread;

use super::super::program;
use crate::libraries::Test;
use crate::program::{Expected, Parameter, Program, parameter};

pub(super) const TEST: Test = Test {
    correct: of("quicksort", "t threads sort n numbers and hand parts over", |n, t| {
        test(Flaw::None, n, t);
    }),
    bugs: &[
        of("quicksort-lost", "a part is handed over without the lock", |n, t| {
            test(Flaw::Unlocked, n, t);
        })
        .bug(Expected::Deadlock, "lost wake-up"),
        of("quicksort-both", "two who hand over find the same thread idle", |n, t| {
            test(Flaw::EarlyLook, n, t);
        })
        .bug(Expected::Deadlock, "check-then-act"),
    ],
};

const PARAMETERS: [Parameter; 2] = [parameter("n", 7, 2, 1_000), parameter("t", 2, 1, 8)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).source("SCTBench").two(body, &PARAMETERS).large(&[50, 4])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// Between the look of the idle thread and its wait the part comes, with a notification that
    /// no thread hears.
    Unlocked,
    /// Two see that a thread is idle before one of them says that it is not. Both parts go to it, and
    /// the first of them is never sorted.
    EarlyLook,
}

type Part = (usize, usize);

/// Where one thread is handed what it is to do.
struct Place {
    part: Mutex<Option<Part>>,
    changed: Condvar,
    /// The thread waits, and has been handed nothing yet.
    idle: AtomicBool,
    /// A part is in `part`. Set under its lock.
    filled: AtomicBool,
}

struct Sort {
    numbers: Mutex<Vec<usize>>,
    places: Vec<Place>,
    /// Parts that are not sorted yet.
    open: Mutex<usize>,
    sorted: Condvar,
    over: AtomicBool,
    flaw: Flaw,
}

impl Sort {
    /// Splits a part until it is sorted, and hands over what it can.
    fn sort(&self, (from, mut to): Part) {
        while to - from > 1 {
            let middle = self.split(from, to);
            if middle + 1 < to {
                self.hand_over((middle + 1, to));
            }
            to = middle.max(from + 1);
        }
        let mut open = self.open.lock().unwrap();
        *open -= 1;
        if *open == 0 {
            self.sorted.notify_one();
        }
    }

    /// What is smaller than the first number comes before it. Where that is afterwards.
    fn split(&self, from: usize, to: usize) -> usize {
        let mut numbers = self.numbers.lock().unwrap();
        let pivot = numbers[from];
        let mut part = numbers[from..to].to_vec();
        part.sort_by_key(|number| (*number >= pivot, *number > pivot));
        numbers[from..to].copy_from_slice(&part);
        from + part.iter().filter(|number| **number < pivot).count()
    }

    /// To an idle thread, or else it is sorted here.
    fn hand_over(&self, part: Part) {
        *self.open.lock().unwrap() += 1;
        for place in &self.places {
            if self.flaw == Flaw::EarlyLook {
                if place.idle.load(SeqCst) {
                    place.idle.store(false, SeqCst);
                    self.put(place, part);
                    return;
                }
            } else if place.idle.swap(false, SeqCst) {
                self.put(place, part);
                return;
            }
        }
        self.sort(part);
    }

    fn put(&self, place: &Place, part: Part) {
        let mut held = place.part.lock().unwrap();
        *held = Some(part);
        let held = (self.flaw != Flaw::Unlocked).then_some(held);
        place.filled.store(true, SeqCst);
        place.changed.notify_one();
        drop(held);
    }

    /// What each thread does.
    fn work(&self, place: &Place) {
        loop {
            place.idle.store(true, SeqCst);
            let mut held = place.part.lock().unwrap();
            while !place.filled.load(SeqCst) {
                if self.over.load(SeqCst) {
                    return;
                }
                held = place.changed.wait(held).unwrap();
            }
            place.filled.store(false, SeqCst);
            let part = held.take();
            drop(held);
            if let Some(part) = part {
                self.sort(part);
            }
        }
    }
}

/// The numbers below n so that the first of each part is its middle one.
fn halves(from: usize, to: usize) -> Vec<usize> {
    if from == to {
        return Vec::new();
    }
    let middle = from.midpoint(to);
    let mut numbers = vec![middle];
    numbers.extend(halves(from, middle));
    numbers.extend(halves(middle + 1, to));
    numbers
}

/// The numbers are in order, and everybody goes home.
fn test(flaw: Flaw, n: usize, t: usize) {
    let place = || Place {
        part: Mutex::new(None),
        changed: Condvar::new(),
        idle: AtomicBool::new(false),
        filled: AtomicBool::new(false),
    };
    let sort = Sort {
        numbers: Mutex::new(halves(0, n)),
        places: std::iter::repeat_with(place).take(t).collect(),
        open: Mutex::new(1),
        sorted: Condvar::new(),
        over: AtomicBool::new(false),
        flaw,
    };
    thread::scope(|scope| {
        for place in &sort.places {
            scope.spawn(|| sort.work(place));
        }
        sort.sort((0, n));
        let open = sort.open.lock().unwrap();
        drop(sort.sorted.wait_while(open, |open| *open > 0).unwrap());
        for place in &sort.places {
            let held = place.part.lock().unwrap();
            sort.over.store(true, SeqCst);
            place.changed.notify_one();
            drop(held);
        }
    });
    assert!(sort.numbers.lock().unwrap().iter().copied().eq(0..n), "not in order");
}
