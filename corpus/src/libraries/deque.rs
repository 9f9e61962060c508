//! A work-stealing deque: the owner pushes and pops at one end, thieves steal at the other.
//!
//! The shape is that of Chase and Lev (SPAA 2005) with a ring of fixed size, as in the thread pools
//! of Java, .NET and Rust. All orderings are sequentially consistent.

use raddle::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering::SeqCst};
use raddle::thread;

use super::{Library, Test, program};
use crate::program::{Expected, Parameter, Program, parameter};

/// The library.
pub const LIBRARY: Library = Library {
    name: "work-stealing deque",
    line: "push and pop at one end, steal at the other; a ring of two slots",
    tests: &[Test {
        correct: of("deque", "an owner works through n items, t thieves steal", |n, t| {
            test(Flaw::None, n, t);
        }),
        bugs: &[
            of("deque-last-item", "pop takes the last item without competing for it", |n, t| {
                test(Flaw::LastItem, n, t);
            })
            .bug(Expected::Panic, "check-then-act"),
            of("deque-early-top", "pop looks at the thieves' end before it claims", |n, t| {
                test(Flaw::EarlyTop, n, t);
            })
            .bug(Expected::Panic, "wrong order of announce and look"),
            of("deque-late-read", "steal claims an item first and reads it then", |n, t| {
                test(Flaw::LateRead, n, t);
            })
            .bug(Expected::Panic, "use after release"),
        ],
    }],
};

const PARAMETERS: [Parameter; 2] = [parameter("n", 4, 1, 1_000), parameter("t", 2, 1, 8)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).two(body, &PARAMETERS).large(&[60, 3])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// With one item left the owner takes it as it takes all others. A thief that has seen it too
    /// takes it as well.
    LastItem,
    /// The owner looks how far thieves are before it lowers its own end. Thieves that come in
    /// between take the item that it then believes to be its own.
    EarlyTop,
    /// A thief moves its end before it reads the slot. The owner, who now has room, may have filled
    /// that slot again.
    LateRead,
}

struct Deque {
    /// Where thieves steal.
    top: AtomicIsize,
    /// Where the owner pushes. Only the owner moves it.
    bottom: AtomicIsize,
    ring: [AtomicUsize; 2],
    flaw: Flaw,
}

impl Deque {
    fn new(flaw: Flaw) -> Self {
        let ring = [AtomicUsize::new(usize::MAX), AtomicUsize::new(usize::MAX)];
        Self { top: AtomicIsize::new(0), bottom: AtomicIsize::new(0), ring, flaw }
    }

    fn slot(&self, at: isize) -> &AtomicUsize {
        &self.ring[at.cast_unsigned() % self.ring.len()]
    }

    /// By the owner. `false` if there is no room.
    fn push(&self, item: usize) -> bool {
        let bottom = self.bottom.load(SeqCst);
        if bottom - self.top.load(SeqCst) >= self.ring.len().cast_signed() {
            return false;
        }
        self.slot(bottom).store(item, SeqCst);
        self.bottom.store(bottom + 1, SeqCst);
        true
    }

    /// By the owner.
    fn pop(&self) -> Option<usize> {
        let early = (self.flaw == Flaw::EarlyTop).then(|| self.top.load(SeqCst));
        let bottom = self.bottom.load(SeqCst) - 1;
        self.bottom.store(bottom, SeqCst);
        let top = early.unwrap_or_else(|| self.top.load(SeqCst));
        if top > bottom {
            self.bottom.store(bottom + 1, SeqCst);
            return None;
        }
        let item = self.slot(bottom).load(SeqCst);
        if top < bottom {
            return Some(item);
        }
        let won = if self.flaw == Flaw::LastItem {
            self.top.store(top + 1, SeqCst);
            true
        } else {
            self.top.compare_exchange(top, top + 1, SeqCst, SeqCst).is_ok()
        };
        self.bottom.store(bottom + 1, SeqCst);
        won.then_some(item)
    }

    /// By anybody. `None` if there is nothing, or another was faster.
    fn steal(&self) -> Option<usize> {
        let top = self.top.load(SeqCst);
        if top >= self.bottom.load(SeqCst) {
            return None;
        }
        let read = || self.slot(top).load(SeqCst);
        let early = (self.flaw != Flaw::LateRead).then(read);
        self.top.compare_exchange(top, top + 1, SeqCst, SeqCst).ok()?;
        Some(early.unwrap_or_else(read))
    }
}

/// Each item is taken once, by whichever thread.
fn test(flaw: Flaw, n: usize, t: usize) {
    let (deque, done) = (Deque::new(flaw), AtomicBool::new(false));
    let mut taken = thread::scope(|scope| {
        let thieves: Vec<_> = (0..t)
            .map(|_| {
                scope.spawn(|| {
                    let mut mine = Vec::new();
                    while !done.load(SeqCst) {
                        match deque.steal() {
                            Some(item) => mine.push(item),
                            None => thread::yield_now(),
                        }
                    }
                    mine
                })
            })
            .collect();
        let mut taken = Vec::new();
        for item in 0..n {
            while !deque.push(item) {
                taken.extend(deque.pop());
            }
        }
        while let Some(item) = deque.pop() {
            taken.push(item);
        }
        done.store(true, SeqCst);
        taken.extend(thieves.into_iter().flat_map(|thief| thief.join().unwrap()));
        taken
    });
    taken.sort_unstable();
    assert!(taken.iter().copied().eq(0..n), "an item was lost or taken twice: {taken:?}");
}
