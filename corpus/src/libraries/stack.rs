//! A lock-free stack of free places, from which threads take and to which they give back.
//!
//! The shape is Treiber's stack (1986) with a counted pointer: the head is an index and a count of
//! changes in one word, so that a head that is the same again is told from one that stayed.

use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use super::{Library, Test, program};
use crate::program::{Expected, Parameter, Program, parameter};

/// The library.
pub const LIBRARY: Library = Library {
    name: "Treiber stack",
    line: "free places in a lock-free stack with a counted pointer",
    tests: &[Test {
        correct: of("stack", "t take two places n times and give them back", |n, t| {
            test(Flaw::None, n, t);
        }),
        bugs: &[
            of("stack-aba", "changes of the head are not counted", |n, t| {
                test(Flaw::Uncounted, n, t);
            })
            .bug(Expected::Panic, "ABA"),
            of("stack-late-link", "a place is on the stack before it is linked", |n, t| {
                test(Flaw::LateLink, n, t);
            })
            .bug(Expected::Panic, "wrong order of flag and data"),
        ],
    }],
};

const PARAMETERS: [Parameter; 2] = [parameter("n", 1, 1, 1_000), parameter("t", 2, 2, 8)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).two(body, &PARAMETERS).large(&[40, 3])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// One reads the head and what is below it. Others take both and give the first back. The head
    /// is the same, and what was below it is not.
    Uncounted,
    /// The head names the place before the place names what is below it. Who takes it in between
    /// sees what was below it the last time.
    LateLink,
}

/// A word with an index, from 1, and a count of changes.
const INDEX: usize = 0xffff;

struct Stack {
    head: AtomicUsize,
    /// What is below each place; 0 if nothing is.
    below: Vec<AtomicUsize>,
    flaw: Flaw,
}

impl Stack {
    fn new(flaw: Flaw, places: usize) -> Self {
        let below = (0..=places).map(|index| AtomicUsize::new(index.saturating_sub(1))).collect();
        Self { head: AtomicUsize::new(places), below, flaw }
    }

    fn with_index(&self, head: usize, index: usize) -> usize {
        let count = if self.flaw == Flaw::Uncounted { 0 } else { (head & !INDEX) + INDEX + 1 };
        count | index
    }

    fn pop(&self) -> Option<usize> {
        loop {
            let head = self.head.load(SeqCst);
            let index = head & INDEX;
            if index == 0 {
                return None;
            }
            let new = self.with_index(head, self.below[index].load(SeqCst));
            if self.head.compare_exchange(head, new, SeqCst, SeqCst).is_ok() {
                return Some(index);
            }
        }
    }

    fn push(&self, index: usize) {
        loop {
            let head = self.head.load(SeqCst);
            let link = || self.below[index].store(head & INDEX, SeqCst);
            if self.flaw != Flaw::LateLink {
                link();
            }
            let new = self.with_index(head, index);
            if self.head.compare_exchange(head, new, SeqCst, SeqCst).is_ok() {
                if self.flaw == Flaw::LateLink {
                    link();
                }
                return;
            }
        }
    }
}

/// No thread gets a place that another has, and in the end all are there.
fn test(flaw: Flaw, n: usize, t: usize) {
    const PLACES: usize = 3;
    let stack = Stack::new(flaw, PLACES);
    let taken: Vec<_> = (0..=PLACES).map(|_| AtomicBool::new(false)).collect();
    let (stack, taken) = (&stack, &taken);
    let shared: usize = thread::scope(|scope| {
        let round = move || {
            let mine: Vec<_> = (0..2).filter_map(|_| stack.pop()).collect();
            let shared = mine.iter().filter(|&&place| taken[place].swap(true, SeqCst)).count();
            for place in mine {
                taken[place].store(false, SeqCst);
                stack.push(place);
            }
            shared
        };
        let threads: Vec<_> =
            (0..t).map(|_| scope.spawn(move || (0..n).map(|_| round()).sum::<usize>())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(shared, 0, "a place was taken by two");
    let mut left: Vec<_> = (0..=PLACES).filter_map(|_| stack.pop()).collect();
    left.sort_unstable();
    assert_eq!(left, [1, 2, 3], "all places are there");
}
