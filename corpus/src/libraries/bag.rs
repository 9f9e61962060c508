//! A bag: a list for each thread, and who finds its own empty takes from another's.
//!
//! The shape is .NET's `ConcurrentBag`. What is promised: to take finds nothing only if there was a
//! moment at which the bag was empty.

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use super::{Library, Test, program};
use crate::program::{Expected, Parameter, Program, parameter};

/// The library.
pub const LIBRARY: Library = Library {
    name: "concurrent bag",
    line: "a list for each thread; who finds its own empty takes from another's",
    tests: &[
        Test {
            correct: of("bag-tickets", "n rounds; who has a ticket finds an item", |n, t| {
                tickets(Flaw::None, n, t);
            }),
            bugs: &[of("bag-false-empty", "to take looks at every list only once", |n, t| {
                tickets(Flaw::OneScan, n, t);
            })
            .bug(Expected::Panic, "missing recheck")],
        },
        Test {
            correct: of("bag-mixed", "t threads take and add n times each", |n, t| {
                mixed(Flaw::None, n, t);
            }),
            bugs: &[
                of("bag-steal-holding", "who steals holds on to its own list", |n, t| {
                    mixed(Flaw::StealHolding, n, t);
                })
                .bug(Expected::Deadlock, "locks in a circle"),
                of("bag-stale-index", "who steals takes the place that it saw before", |n, t| {
                    mixed(Flaw::StaleIndex, n, t);
                })
                .bug(Expected::Panic, "check-then-act"),
            ],
        },
    ],
};

const PARAMETERS: [Parameter; 2] = [parameter("n", 2, 1, 1_000), parameter("t", 2, 2, 8)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).two(body, &PARAMETERS).large(&[25, 3])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// A list that was empty when it was looked at may have an item when the last one is. If others
    /// take that one, the bag seems empty and never was.
    OneScan,
    /// A thief keeps its own list locked while it waits for its victim's. Two thieves can wait for
    /// each other.
    StealHolding,
    /// A thief learns how long its victim's list is, lets go, and takes the last item by its place.
    /// By then the list may be shorter.
    StaleIndex,
}

struct Bag {
    lists: Vec<Mutex<Vec<usize>>>,
    /// How many have been added, ever.
    added: AtomicUsize,
    flaw: Flaw,
}

impl Bag {
    fn new(flaw: Flaw, t: usize) -> Self {
        let lists = (0..t).map(|_| Mutex::new(Vec::new())).collect();
        Self { lists, added: AtomicUsize::new(0), flaw }
    }

    fn add(&self, me: usize, item: usize) {
        self.lists[me].lock().unwrap().push(item);
        self.added.fetch_add(1, SeqCst);
    }

    fn take(&self, me: usize) -> Option<usize> {
        loop {
            let added = self.added.load(SeqCst);
            let found = self.scan(me);
            if found.is_some() || self.flaw == Flaw::OneScan || self.added.load(SeqCst) == added {
                return found;
            }
        }
    }

    fn scan(&self, me: usize) -> Option<usize> {
        let mut mine = self.lists[me].lock().unwrap();
        if let Some(item) = mine.pop() {
            return Some(item);
        }
        let held = (self.flaw == Flaw::StealHolding).then_some(mine);
        let t = self.lists.len();
        let found = (1..t).find_map(|distance| self.steal((me + distance) % t));
        drop(held);
        found
    }

    fn steal(&self, victim: usize) -> Option<usize> {
        let list = &self.lists[victim];
        if self.flaw == Flaw::StaleIndex {
            let place = list.lock().unwrap().len().checked_sub(1)?;
            return Some(list.lock().unwrap().remove(place));
        }
        list.lock().unwrap().pop()
    }
}

/// Who adds issues a ticket. Who has a ticket takes, and must find something.
fn tickets(flaw: Flaw, n: usize, t: usize) {
    let (bag, issued) = (Bag::new(flaw, t), AtomicUsize::new(0));
    let (bag, issued) = (&bag, &issued);
    thread::scope(|scope| {
        for me in 0..t {
            scope.spawn(move || {
                for round in 0..n {
                    bag.add(me, round);
                    issued.fetch_add(1, SeqCst);
                }
            });
            scope.spawn(move || {
                let less = |n: usize| n.checked_sub(1);
                for _ in 0..n {
                    while issued.fetch_update(SeqCst, SeqCst, less).is_err() {
                        thread::yield_now();
                    }
                    assert!(bag.take(me).is_some(), "an item for each ticket");
                }
            });
        }
    });
}

/// Nothing is lost, and nothing taken twice.
fn mixed(flaw: Flaw, n: usize, t: usize) {
    let bag = Bag::new(flaw, t);
    let bag = &bag;
    let mut all = thread::scope(|scope| {
        let worker = move |me: usize| {
            let mut taken = Vec::new();
            for item in me * n..(me + 1) * n {
                taken.extend(bag.take(me));
                bag.add((me + 1) % bag.lists.len(), item);
            }
            taken
        };
        let workers: Vec<_> = (0..t).map(|me| scope.spawn(move || worker(me))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect::<Vec<_>>()
    });
    all.extend(std::iter::from_fn(|| bag.take(0)));
    all.sort_unstable();
    assert!(all.iter().copied().eq(0..n * t), "an item was lost or taken twice: {all:?}");
}
