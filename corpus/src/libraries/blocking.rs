//! A blocking collection of bounded size that is completed when nothing is added any more.
//!
//! The shape is .NET's `BlockingCollection`. To add fails after completion; to take gives what is
//! left, and then says that it is the end.

use std::collections::VecDeque;

use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex};
use raddle::thread;

use super::{Library, Test, program};
use crate::program::{Expected, Parameter, Program, parameter};

/// The library.
pub const LIBRARY: Library = Library {
    name: "blocking collection",
    line: "add waits for room, take for an item, and both hear of completion",
    tests: &[Test {
        correct: of("blocking", "t add up to n each, t take; it is completed halfway", |n, t| {
            test(Flaw::None, n, t);
        }),
        bugs: &[
            of("blocking-complete", "completion wakes one of those who wait", |n, t| {
                test(Flaw::CompleteWakesOne, n, t);
            })
            .bug(Expected::Deadlock, "notify_one for notify_all"),
            of("blocking-room", "completion does not wake who waits for room", |n, t| {
                test(Flaw::RoomNotWoken, n, t);
            })
            .bug(Expected::Deadlock, "missing notification"),
            of("blocking-recheck", "take looks once and does not look again", |n, t| {
                test(Flaw::NoRecheck, n, t);
            })
            .bug(Expected::Panic, "missing recheck after wait"),
            of("blocking-late-add", "add looks for completion before it locks", |n, t| {
                test(Flaw::LateAdd, n, t);
            })
            .bug(Expected::Panic, "check-then-act"),
        ],
    }],
};

const PARAMETERS: [Parameter; 2] = [parameter("n", 2, 1, 1_000), parameter("t", 2, 1, 8)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).two(body, &PARAMETERS).large(&[30, 3])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// Everybody must hear of completion. Only one does, and does not pass it on.
    CompleteWakesOne,
    /// Who waits for room must hear of completion too. The takers make room, but wake as many as
    /// there were items.
    RoomNotWoken,
    /// Between the notification and the lock another may take the item. `if` where `while` should
    /// be; what is returned is no item.
    NoRecheck,
    /// Completion is looked for without the lock, and then the item added. It can come after the
    /// last taker has left.
    LateAdd,
}

struct Collection {
    items: Mutex<VecDeque<usize>>,
    most: usize,
    /// Set under the lock of `items`.
    completed: AtomicBool,
    added: Condvar,
    taken: Condvar,
    flaw: Flaw,
}

impl Collection {
    fn new(flaw: Flaw, most: usize) -> Self {
        Self {
            items: Mutex::default(),
            most,
            completed: AtomicBool::new(false),
            added: Condvar::new(),
            taken: Condvar::new(),
            flaw,
        }
    }

    fn completed(&self) -> bool {
        self.completed.load(SeqCst)
    }

    /// `false` if it is completed.
    fn add(&self, item: usize) -> bool {
        let early = self.flaw == Flaw::LateAdd && self.completed();
        let mut items = self.items.lock().unwrap();
        while items.len() >= self.most && !self.completed() {
            items = self.taken.wait(items).unwrap();
        }
        let late = self.flaw != Flaw::LateAdd && self.completed();
        if early || late {
            return false;
        }
        items.push_back(item);
        self.added.notify_one();
        true
    }

    /// `None` if it is completed and empty.
    fn take(&self) -> Option<usize> {
        let mut items = self.items.lock().unwrap();
        if self.flaw == Flaw::NoRecheck {
            if items.is_empty() && !self.completed() {
                items = self.added.wait(items).unwrap();
            }
            if items.is_empty() && !self.completed() {
                return Some(usize::MAX);
            }
        }
        while items.is_empty() && !self.completed() {
            items = self.added.wait(items).unwrap();
        }
        let item = items.pop_front()?;
        self.taken.notify_one();
        Some(item)
    }

    fn complete(&self) {
        let items = self.items.lock().unwrap();
        self.completed.store(true, SeqCst);
        match self.flaw {
            Flaw::CompleteWakesOne => {
                self.added.notify_one();
                self.taken.notify_one();
            }
            Flaw::RoomNotWoken => self.added.notify_all(),
            _ => {
                self.added.notify_all();
                self.taken.notify_all();
            }
        }
        drop(items);
    }
}

/// What was added is what was taken. It is completed when everybody has added half.
fn test(flaw: Flaw, n: usize, t: usize) {
    let (collection, halfway) = (Collection::new(flaw, 1), AtomicUsize::new(0));
    let (collection, halfway) = (&collection, &halfway);
    let (mut added, mut taken) = thread::scope(|scope| {
        let takers: Vec<_> = (0..t)
            .map(|_| scope.spawn(|| std::iter::from_fn(|| collection.take()).collect::<Vec<_>>()))
            .collect();
        let add = move |me: usize| {
            let mut added = Vec::new();
            for item in me * n..(me + 1) * n {
                if added.len() == n / 2 {
                    halfway.fetch_add(1, SeqCst);
                }
                if !collection.add(item) {
                    break;
                }
                added.push(item);
            }
            added
        };
        let adders: Vec<_> = (0..t).map(|me| scope.spawn(move || add(me))).collect();
        while halfway.load(SeqCst) < t {
            thread::yield_now();
        }
        collection.complete();
        let added: Vec<_> = adders.into_iter().flat_map(|adder| adder.join().unwrap()).collect();
        let taken: Vec<_> = takers.into_iter().flat_map(|taker| taker.join().unwrap()).collect();
        (added, taken)
    });
    added.sort_unstable();
    taken.sort_unstable();
    assert_eq!(added, taken, "what was added is what was taken");
}
